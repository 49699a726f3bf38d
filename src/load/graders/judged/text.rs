//! Texts of judges: rubrics and prompts, written out or named.

use std::collections::BTreeMap;

use minijinja::Value as Jinja;

use crate::load::problem::{Code, Problem};
use crate::load::scope::SuiteDesk;
use crate::load::source::Span;
use crate::load::template::{bad_template, environment, is_template, place_in};
use eval_base::nearest::did_you_mean;

/// What a judge's prompt may name.
pub(super) const NAMES: [&str; 8] = [
    "input", "output", "expected", "rubric", "criteria", "examples", "context", "format",
];

/// An output that no filter leaves as it is.
const OUTPUT: &str = "<<<Output>>>\n  of \"one\" & 'another'\n\n<<<END Output>>>";

/// A text of which one was written in place of its name, or its name.
struct NamedTextKind<'a> {
    /// As people say it.
    word: &'static str,
    named: &'a BTreeMap<String, String>,
    /// What is written here when it is no name.
    own: &'static str,
}

/// A rubric's text: a single word is a name, anything longer the rubric itself.
pub(super) fn rubric(desk: &mut SuiteDesk, written: &str, at: Span) -> Option<String> {
    let suite = desk.suite;
    let text = look_up(
        desk,
        &NamedTextKind {
            word: "rubric",
            named: &suite.shelf.rubrics,
            own: "criteria",
        },
        written,
        at,
    )?;
    if text.trim().is_empty() {
        return desk.refuse(Problem::error(
            Code::GraderIncomplete,
            at,
            "the rubric is empty: a judge needs criteria",
        ));
    }
    Some(text)
}

fn look_up(desk: &mut SuiteDesk, kind: &NamedTextKind, written: &str, at: Span) -> Option<String> {
    // A name in a block of YAML ends with a line break.
    let name = written.trim();
    if let Some(text) = kind.named.get(name) {
        return Some(text.clone());
    }
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.".contains(c));
    if !is_name {
        return Some(written.to_owned());
    }
    let NamedTextKind { word, named, own } = kind;
    let hint = format!(
        "define it under `graders: {{{word}s: ...}}` in the suite, or write the {own} here"
    );
    let open = desk.suite.shelf.open && !desk.suite.shelf.texts_known;
    let message = format!("no {word} is named `{name}`");
    desk.push(
        Problem::error(Code::UnknownRubric, at, message)
            .near(name, named.keys().map(String::as_str))
            .or_hint(hint)
            .maybe_warning(open),
    );
    open.then(|| name.to_owned())
}

/// An author's own prompt: it must show the output, and name nothing that a prompt has not.
pub(super) fn prompt(desk: &mut SuiteDesk, written: &str, at: Span) -> Option<String> {
    let suite = desk.suite;
    let text = look_up(
        desk,
        &NamedTextKind {
            word: "prompt",
            named: &suite.shelf.prompts,
            own: "prompt",
        },
        written,
        at,
    )?;
    // A name that only a suite knows.
    if text == written.trim()
        && suite.shelf.open
        && !text.contains(['{', ' ', '\n'])
        && !text.is_empty()
    {
        return Some(text);
    }
    let shown = |name: &str| {
        if is_template(&text) {
            format!("`{{{{ {name} }}}}`")
        } else {
            format!("`{{{name}}}`")
        }
    };
    let names = if is_template(&text) {
        of_template(desk, &text, at)?
    } else {
        of_braces(desk, &text, at)
    };
    if !names.iter().any(|name| name == "output") {
        let message = "the prompt does not show the output that is to be judged";
        return desk.refuse(
            Problem::error(Code::GraderIncomplete, at, message)
                .hint(format!("write {} where it belongs", shown("output"))),
        );
    }
    if !names
        .iter()
        .any(|name| name == "rubric" || name == "criteria")
    {
        let message = "the prompt shows neither the rubric nor the criteria";
        let hint = format!("write {} where they belong", shown("rubric"));
        desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
    }
    Some(text)
}

/// Whether a prompt, which was found good, has a name. One that is itself only named here may have
/// all.
pub(super) fn shows(prompt: &str, name: &str) -> bool {
    if !is_template(prompt) {
        return prompt.contains(&format!("{{{name}}}")) || !prompt.contains('{');
    }
    let environment = environment(true);
    let template = environment.template_from_named_str("prompt", prompt);
    template.is_ok_and(|template| template.undeclared_variables(false).contains(name))
}

/// The names that a template reads; `None` after saying what is wrong with it.
fn of_template(desk: &mut SuiteDesk, text: &str, at: Span) -> Option<Vec<String>> {
    let environment = environment(true);
    let place = |desk: &SuiteDesk, range| place_in(desk.sources, at, text, range);
    let template = match environment.template_from_named_str("prompt", text) {
        Ok(template) => template,
        Err(error) => {
            let at = error.range().map_or(at, |range| place(desk, range));
            return desk.refuse(bad_template(&error, at));
        }
    };
    let builtin: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
    let mut names: Vec<String> = template.undeclared_variables(false).into_iter().collect();
    names.retain(|name| !builtin.contains(&name.as_str()));
    names.sort_by_key(|name| (text.find(name.as_str()), name.clone()));
    let mut whole = true;
    for name in names.iter().filter(|name| !NAMES.contains(&name.as_str())) {
        let at = text
            .find(name.as_str())
            .map_or(at, |start| place(desk, start..start + name.len()));
        let message = format!("a prompt has no `{name}`");
        let problem = Problem::error(Code::UndefinedVariable, at, message).near(name, NAMES);
        desk.push(problem.or_hint(format!(
            "a judge's prompt has {}; write `{{% raw %}}{{{{ ... }}}}{{% endraw %}}` for literal braces",
            NAMES.join(", ")
        )));
        whole = false;
    }
    // Filters and functions are looked for only when the template runs. Whatever it shows is a
    // text.
    let sample = NAMES.map(|name| {
        (
            name,
            Jinja::from(if name == "output" { OUTPUT } else { name }),
        )
    });
    match template.render(Jinja::from_pairs(sample)) {
        _ if !whole => {}
        Ok(shown) if names.iter().any(|name| name == "output") && !shown.contains(OUTPUT) => {
            let message = "the prompt does not show the output as it is";
            let hint = "write `{{ output }}` without a filter: it comes quoted, between marks";
            desk.push(Problem::error(Code::GraderIncomplete, at, message).hint(hint));
            whole = false;
        }
        Ok(_) => {}
        Err(error) => {
            let at = error.range().map_or(at, |range| place(desk, range));
            desk.push(bad_template(&error, at));
            whole = false;
        }
    }
    whole.then_some(names)
}

/// The names in single braces that a text has, of those that are filled. Other braces stay as they
/// are.
fn of_braces(desk: &mut SuiteDesk, text: &str, at: Span) -> Vec<String> {
    let mut names = Vec::new();
    for (start, _) in text.match_indices('{') {
        let Some(inner) = text
            .get(start + 1..)
            .and_then(|rest| rest.split_once('}'))
            .map(|(inner, _)| inner)
        else {
            continue;
        };
        if NAMES.contains(&inner) {
            names.push(inner.to_owned());
        } else if inner.len() <= 20
            && inner.chars().all(|c| c.is_alphanumeric() || c == '_')
            && let Some(near) = did_you_mean(inner, NAMES)
        {
            let message = format!("`{{{inner}}}` is no name of a prompt and stays as it is");
            let at = place_in(desk.sources, at, text, start..start + inner.len() + 2);
            let hint = format!("did you mean `{{{near}}}`?");
            desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
        }
    }
    names
}
