//! What templates of a suite may name: its variables, those of the command line, the environment
//! that it lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::SuiteLoader;
use crate::load::problem::{Code, Problem, Severity};
use crate::load::request::PlanPurpose;
use crate::load::session::LoadSession;
use crate::load::template::TemplateScope;
use crate::load::tree::Node;
use crate::spec::words::CacheMode;

impl SuiteLoader<'_> {
    /// The variables of the suite and the command line, and the environment that the suite lists.
    pub(super) fn templates(&mut self, suite: Option<&Node>) -> TemplateScope {
        let entries = suite
            .and_then(|s| s.get("vars"))
            .and_then(Node::as_map)
            .unwrap_or(&[]);
        let mut vars: BTreeMap<String, Value> = entries
            .iter()
            .map(|(key, value)| (key.name.to_string(), value.to_json()))
            .collect();
        self.session.vars.extend(vars.keys().cloned());
        for (name, text) in &self.request.overrides.vars {
            let value = like(vars.get(name), text);
            vars.insert(name.clone(), value);
        }
        let listed = suite.map_or(&[][..], |suite| suite.seq("env"));
        let env_listed: BTreeSet<String> = listed
            .iter()
            .filter_map(Node::as_text)
            .map(str::to_owned)
            .collect();
        let env: BTreeMap<String, String> = env_listed
            .iter()
            .filter_map(|name| {
                let value = self.environment.get(name)?;
                Some((name.clone(), value.to_owned()))
            })
            .collect();
        // Where the user stands is no secret, and paths say what is wrong.
        let here = |value: &str| self.request.cwd.starts_with(value);
        self.session
            .problems
            .hide(env.values().filter(|value| !here(value)).cloned());
        let idle = self.request.purpose != PlanPurpose::Run || self.request.overrides.asks_nobody;
        TemplateScope {
            vars,
            env,
            env_listed,
            open: false,
            keyless: idle || self.answers_are_stored(suite),
            idle,
        }
    }

    /// True when all answers of models come from recordings or the cache.
    fn answers_are_stored(&self, suite: Option<&Node>) -> bool {
        let overrides = &self.request.overrides;
        let cache = suite.and_then(|suite| suite.at_pointer("/config/cache"));
        let written = cache.and_then(|cache| cache.get("mode").unwrap_or(cache).as_text());
        let only = match overrides.models.cache {
            Some(mode) => mode == CacheMode::Only,
            None => written == Some("only"),
        };
        overrides.models.replay.is_some() || only
    }
}

/// The variables of the command line that no file of the suite that was loaded last defines or
/// reads.
pub(super) fn unread_vars(vars: &[(String, String)], session: &LoadSession) -> BTreeSet<String> {
    let texts = session.files.iter().map(|file| session.sources.text(*file));
    let Some(read) = all_names_read(texts) else {
        return BTreeSet::new();
    };
    let typed = vars.iter().map(|(name, _)| name);
    typed
        .filter(|name| !session.vars.contains(*name) && !read.contains(name.as_str()))
        .cloned()
        .collect()
}

/// Reports variables of the command line that no file defines or reads: nothing would come of them.
pub(in crate::load) fn check_vars(
    vars: &[(String, String)],
    session: &mut LoadSession,
    severity: Severity,
) {
    let typed: BTreeSet<&String> = vars
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !session.vars.contains(*name))
        .collect();
    // A file that could not be read may well read it.
    let unread = |problem: &Problem| {
        let group = problem.code.id();
        problem.severity == Severity::Error
            && (group.starts_with("EH01") || group.starts_with("EH03"))
    };
    if typed.is_empty() || session.problems.iter().any(unread) {
        return;
    }
    let Some(read) = all_names_read(session.sources.texts()) else {
        return;
    };
    let mut found = Vec::new();
    for name in typed
        .into_iter()
        .filter(|name| !read.contains(name.as_str()))
    {
        let known = session
            .vars
            .iter()
            .map(String::as_str)
            .chain(read.iter().copied());
        let own: Vec<&str> = session.vars.iter().map(String::as_str).collect();
        let all = match own.as_slice() {
            [] => "the suite has no `vars:`".to_owned(),
            own => format!("the suite's variables are {}", own.join(", ")),
        };
        let message = format!("`--var {name}=...`: no file of the suite reads a variable `{name}`");
        let problem = Problem::general(Code::UnreadVariable, message);
        found.push(Problem {
            severity,
            ..problem.near(name, known).or_hint(all)
        });
    }
    session.problems.extend(found);
}

/// The names that the templates of files read; `None` where the variables are read as a whole, and
/// so each of them.
fn all_names_read<'t>(texts: impl Iterator<Item = &'t str>) -> Option<BTreeSet<&'t str>> {
    let read: Option<Vec<Vec<&str>>> = texts.map(names_read).collect();
    Some(read?.into_iter().flatten().collect())
}

/// The names that the templates of a file read: every word there that is not an attribute of
/// something but `vars`. `None` where `vars` is read as a whole.
fn names_read(text: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        rest = rest.get(at + 2..).unwrap_or_default();
        let end = rest
            .find("}}")
            .into_iter()
            .chain(rest.find("%}"))
            .min()
            .unwrap_or(rest.len());
        let (inside, after) = rest.split_at(end);
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let (mut owner, mut start) = ("", 0);
        for word in inside.split_inclusive(|c: char| !is_part(c)) {
            let name = word.trim_end_matches(|c: char| !is_part(c));
            if !name.is_empty() && matches!(owner, "" | "vars") {
                names.push(name);
            }
            let rest = inside
                .get(inside.len().min(start + name.len())..)
                .unwrap_or_default();
            if name == "vars" && owner.is_empty() && !names_a_variable(rest) {
                return None;
            }
            start += word.len();
            owner = if word.ends_with('.') { name } else { "" };
        }
        rest = after;
    }
    Some(names)
}

/// True when what follows `vars` picks one variable by its name: `.name` or `["name"]`.
fn names_a_variable(rest: &str) -> bool {
    let rest = rest.trim_start();
    match (rest.strip_prefix('.'), rest.strip_prefix('[')) {
        (Some(_), _) => true,
        (_, Some(key)) => key.trim_start().starts_with(['"', '\'']),
        _ => false,
    }
}

/// A command-line text as a value of the kind that the suite gave the variable, when it reads as
/// one.
fn like(present: Option<&Value>, text: &str) -> Value {
    let parsed = serde_json::from_str::<Value>(text).ok();
    match (present, parsed) {
        (Some(Value::Number(_)), Some(number @ Value::Number(_))) => number,
        (Some(Value::Bool(_)), Some(truth @ Value::Bool(_))) => truth,
        (Some(Value::Array(_)), Some(list @ Value::Array(_))) => list,
        (Some(Value::Object(_)), Some(map @ Value::Object(_))) => map,
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::names_read;

    #[test]
    fn names_are_those_that_templates_read() {
        let text = "a: b {{ x }} {{ vars.y|upper }} {{ env.KEY }} {% if z %}{{ row.q }}{% endif %} {{ vars['w'] }}";
        let read = |text| names_read(text).map(|names| names.join(" "));
        assert_eq!(
            read(text).as_deref(),
            Some("x vars y upper env if z row endif vars w")
        );
        assert_eq!(read("no {{ end").as_deref(), Some("end"));
        assert_eq!(read("plain: text").as_deref(), Some(""));
        for whole in [
            "{% for k, v in vars|items %}{{ k }}{% endfor %}",
            "{{ vars | tojson }}",
            "{{ vars[name] }}",
            "{{vars}}",
        ] {
            assert_eq!(names_read(whole), None, "{whole}");
        }
    }
}
