//! Variables in authored texts: minijinja, strict, bounded, with the place of what is wrong.
//!
//! Only what people wrote is rendered. Model output, and texts that came out of a template, never
//! are.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value as Jinja};
use serde_json::Value;

use super::problem::{Code, Problem, Problems};
use super::source::{SourceFiles, Span};
use super::tree::{Node, NodeValue};
use eval_base::nearest::did_you_mean;

/// Steps that one text may take; a loop over a million elements is no prompt.
const FUEL: u64 = 1_000_000;

/// What templates may read.
#[derive(Debug, Clone, Default)]
pub(super) struct TemplateScope {
    pub vars: BTreeMap<String, Value>,
    /// Listed environment variables that are set.
    pub env: BTreeMap<String, String>,
    /// Listed names, set or not.
    pub env_listed: BTreeSet<String>,
    /// True when a suite may still define more: an unknown name is then only a warning.
    pub open: bool,
    /// True when no model is called: headers of models and judges may read environment variables
    /// that are not set.
    pub keyless: bool,
    /// True when nothing is called or graded: an environment variable that is not set is only a
    /// warning.
    pub idle: bool,
}

/// Compiles and renders texts against a scope.
#[derive(Debug)]
pub(super) struct TemplateEngine<'s> {
    environment: Environment<'static>,
    pub scope: &'s TemplateScope,
    globals: BTreeMap<String, Jinja>,
}

/// True when a text has something for the template engine.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// The expression of a text that is exactly one `{{ expression }}`.
pub(super) fn lone_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then(|| inner.trim_matches('-').trim())
}

/// An engine without variables, as datasets and skills use it too.
pub(crate) fn environment(debug: bool) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(debug);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    environment
}

/// JSON to the engine's values. Integers beyond 128 bits stay exact as text.
pub(crate) fn to_jinja(value: &Value) -> Jinja {
    match value {
        Value::Null => Jinja::from(()),
        Value::Bool(b) => Jinja::from(*b),
        Value::Number(n) => number(n),
        Value::String(s) => Jinja::from(s.as_str()),
        Value::Array(items) => Jinja::from(items.iter().map(to_jinja).collect::<Vec<_>>()),
        Value::Object(map) => Jinja::from_pairs(map.iter().map(|(k, v)| (k.as_str(), to_jinja(v)))),
    }
}

fn number(n: &serde_json::Number) -> Jinja {
    let text = n.as_str();
    if let Ok(i) = text.parse::<i64>() {
        Jinja::from(i)
    } else if let Ok(i) = text.parse::<i128>() {
        Jinja::from(i)
    } else if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        Jinja::from(text)
    } else {
        n.as_f64().map_or_else(|| Jinja::from(text), Jinja::from)
    }
}

impl<'s> TemplateEngine<'s> {
    pub fn new(scope: &'s TemplateScope) -> TemplateEngine<'s> {
        let mut globals: BTreeMap<String, Jinja> = scope
            .vars
            .iter()
            .map(|(name, value)| (name.clone(), to_jinja(value)))
            .collect();
        let pairs = |map: &BTreeMap<String, Jinja>| {
            Jinja::from_pairs(map.iter().map(|(k, v)| (k.as_str(), v.clone())))
        };
        let vars = pairs(&globals);
        let env = Jinja::from_pairs(
            scope
                .env
                .iter()
                .map(|(k, v)| (k.as_str(), Jinja::from(v.as_str()))),
        );
        globals.insert("vars".to_owned(), vars);
        globals.insert("env".to_owned(), env);
        TemplateEngine {
            environment: environment(true),
            scope,
            globals,
        }
    }

    /// The scope as a template's context, with further names.
    pub fn context(&self, extra: &[(&str, Jinja)]) -> Jinja {
        let known = self.globals.iter().map(|(k, v)| (k.as_str(), v.clone()));
        Jinja::from_pairs(known.chain(extra.iter().map(|(k, v)| (*k, v.clone()))))
    }

    /// An environment in which every template may read the scope.
    pub fn environment(&self, debug: bool) -> Environment<'static> {
        let mut environment = environment(debug);
        for (name, value) in &self.globals {
            environment.add_global(name.clone(), value.clone());
        }
        environment
    }

    /// The names that a template reads, without what is behind their first dot; empty also for what
    /// is no template.
    pub fn names(&self, text: &str) -> BTreeSet<String> {
        let template = self.environment.template_from_named_str("text", text);
        template
            .map(|template| template.undeclared_variables(false).into_iter().collect())
            .unwrap_or_default()
    }

    /// The names that a template reads, such as `vars.tone`; empty also for what is no template.
    pub fn paths(&self, text: &str) -> BTreeSet<String> {
        let template = self.environment.template_from_named_str("text", text);
        template
            .map(|template| template.undeclared_variables(true).into_iter().collect())
            .unwrap_or_default()
    }

    /// True when a text reads listed environment variables that are not set, and lacks nothing
    /// else. What is below `later` is known later.
    pub fn lacks_only_environment(&self, text: &str, later: &[&str]) -> bool {
        let unset = |name: &String| {
            name.strip_prefix("env.")
                .is_some_and(|variable| self.scope.env_listed.contains(variable))
        };
        let missing = self.missing_before(text, later);
        !missing.is_empty() && missing.iter().all(unset)
    }

    /// Names that are not defined, but for those below `later`.
    fn missing_before(&self, text: &str, later: &[&str]) -> Vec<String> {
        let known_later = |name: &String| {
            let root = name.split('.').next();
            root.is_some_and(|root| later.contains(&root))
        };
        let mut missing = self.missing_names(text, &[]);
        missing.retain(|name| !known_later(name));
        missing
    }

    /// Checks a text that is rendered later: its syntax, and all names but those below `later`.
    pub fn check(
        &self,
        text: &str,
        span: Span,
        later: &[&str],
        sources: &SourceFiles,
        problems: &mut Problems,
    ) -> bool {
        if let Err(error) = self.environment.template_from_named_str("text", text) {
            let at = error
                .range()
                .map_or(span, |range| place_in(sources, span, text, range));
            problems.push(bad_template(&error, at));
            return false;
        }
        let missing = self.missing_before(text, later);
        for name in &missing {
            problems.push(self.undefined(name, text, span, &[], sources));
        }
        missing.is_empty()
    }

    /// Renders every text at or below `node` that is a template; what fails stays as it is.
    pub fn render(
        &self,
        node: &mut Node,
        extra: &[(&str, Jinja)],
        sources: &SourceFiles,
        problems: &mut Problems,
    ) {
        if !has_template(node) {
            return;
        }
        let context = self.context(extra);
        node.each_text_mut(&mut |text, span| {
            if is_template(text) {
                match self.environment.render_str(text, &context) {
                    Ok(rendered) => *text = rendered.into(),
                    Err(error) => self.explain(&error, text, span, extra, sources, problems),
                }
            }
        });
    }

    fn explain(
        &self,
        error: &minijinja::Error,
        text: &str,
        span: Span,
        extra: &[(&str, Jinja)],
        sources: &SourceFiles,
        problems: &mut Problems,
    ) {
        if error.kind() == ErrorKind::UndefinedError {
            let mut names = self.missing_names(text, extra);
            if names.is_empty() {
                names = error
                    .range()
                    .and_then(|r| text.get(r))
                    .map(str::to_owned)
                    .into_iter()
                    .collect();
            }
            for name in names {
                problems.push(self.undefined(&name, text, span, extra, sources));
            }
            return;
        }
        let at = error
            .range()
            .map_or(span, |range| place_in(sources, span, text, range));
        problems.push(bad_template(error, at));
    }

    /// The names that a template uses and nothing defines, as `vars.x` or `x`, in order.
    fn missing_names(&self, text: &str, extra: &[(&str, Jinja)]) -> Vec<String> {
        let Ok(template) = self.environment.template_from_named_str("text", text) else {
            return Vec::new();
        };
        let context = self.context(extra);
        let builtin: BTreeSet<&str> = self.environment.globals().map(|(name, _)| name).collect();
        let mut missing: Vec<(usize, String)> = template
            .undeclared_variables(true)
            .into_iter()
            .filter(|name| !builtin.contains(name.as_str()) && !resolves(&context, name))
            .map(|name| (text.find(&name).unwrap_or(usize::MAX), name))
            .collect();
        missing.sort();
        missing.into_iter().map(|(_, name)| name).collect()
    }

    fn undefined(
        &self,
        name: &str,
        text: &str,
        span: Span,
        extra: &[(&str, Jinja)],
        sources: &SourceFiles,
    ) -> Problem {
        let at = text.find(name).map_or(span, |start| {
            place_in(sources, span, text, start..start + name.len())
        });
        if let Some(variable) = name.strip_prefix("env.") {
            return self.undefined_env(variable, at);
        }
        let problem = Problem::error(
            Code::UndefinedVariable,
            at,
            format!("`{name}` is not defined"),
        );
        let hint = self.hint_for(name, extra);
        let about_suite =
            matches!(name.split('.').next(), Some(root) if !extra.iter().any(|(n, _)| *n == root));
        if self.scope.open && about_suite {
            let hint = hint.unwrap_or_else(|| {
                "a suite that uses this file must define it under `vars:`".to_owned()
            });
            problem.as_warning().hint(hint)
        } else {
            problem.maybe_hint(hint)
        }
    }

    fn undefined_env(&self, variable: &str, at: Span) -> Problem {
        if self.scope.env_listed.contains(variable) {
            let message = format!("the environment variable `{variable}` is not set");
            return Problem::error(Code::UndefinedVariable, at, message)
                .maybe_hint(Some(format!("set `{variable}` before the run")))
                .maybe_warning(self.scope.open || self.scope.idle);
        }
        let message = format!(
            "`env.{variable}` is read, but the suite does not list `{variable}` under `env:`"
        );
        Problem::error(Code::SecretNotListed, at, message)
            .hint(format!("add `env: [{variable}]` to the suite"))
            .maybe_warning(self.scope.open)
    }

    fn hint_for(&self, name: &str, extra: &[(&str, Jinja)]) -> Option<String> {
        let (parent, last) = name.rsplit_once('.').unwrap_or(("", name));
        let context = self.context(extra);
        let holder = if parent.is_empty() {
            Some(context)
        } else {
            lookup(&context, parent)
        };
        let known: Vec<String> = holder
            .and_then(|v| v.try_iter().ok())
            .map(|keys| keys.filter_map(|k| k.as_str().map(str::to_owned)).collect())
            .unwrap_or_default();
        if let Some(near) = did_you_mean(last, known.iter().map(String::as_str)) {
            let full = if parent.is_empty() {
                near.to_owned()
            } else {
                format!("{parent}.{near}")
            };
            return Some(format!("did you mean `{full}`?"));
        }
        match (parent, name) {
            ("", _) if extra.iter().any(|(name, _)| *name == "input") => Some(
                "`{{ input }}` is the text of the case's input; define other names under `vars:` in \
                 the suite, or pass `--var`"
                    .to_owned(),
            ),
            ("" | "vars", _) => Some(
                "define it under `vars:` in the suite, or pass `--var`; \
                 write `{% raw %}{{ ... }}{% endraw %}` for literal braces"
                    .to_owned(),
            ),
            _ if known.is_empty() => None,
            _ => Some(format!(
                "known names: {}",
                known
                    .iter()
                    .take(12)
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        }
    }
}

/// A template that is not well formed, or fails for another reason than a missing name.
pub(super) fn bad_template(error: &minijinja::Error, at: Span) -> Problem {
    let reason = match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => "it takes too many steps".to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    };
    let problem = Problem::error(
        Code::BadTemplate,
        at,
        format!("the template cannot be rendered: {reason}"),
    );
    if error.kind() == ErrorKind::SyntaxError {
        problem.hint("write `{% raw %}...{% endraw %}` around braces that are not a template")
    } else {
        problem
    }
}

/// Where a part of a rendered text stands in the file: the same words, the same time they occur.
pub(super) fn place_in(sources: &SourceFiles, span: Span, text: &str, range: Range<usize>) -> Span {
    let Some(words) = text.get(range.clone()).filter(|w| !w.trim().is_empty()) else {
        return span;
    };
    let written = sources.slice(span);
    let before = text
        .get(..range.start)
        .map_or(0, |head| head.matches(words).count());
    match written.match_indices(words).nth(before) {
        Some((at, _)) => {
            let start = span.start as usize + at;
            Span::new(span.file, start, start + words.len())
        }
        None => span,
    }
}

/// True when some text at or below the node is a template.
pub(super) fn has_template(node: &Node) -> bool {
    match &node.value {
        NodeValue::Text(text) => is_template(text),
        NodeValue::Seq(items) => items.iter().any(has_template),
        NodeValue::Map(entries) => entries.iter().any(|(_, v)| has_template(v)),
        _ => false,
    }
}

fn lookup(context: &Jinja, path: &str) -> Option<Jinja> {
    path.split('.').try_fold(context.clone(), |value, part| {
        value.get_attr(part).ok().filter(|v| !v.is_undefined())
    })
}

fn resolves(context: &Jinja, path: &str) -> bool {
    lookup(context, path).is_some()
}
