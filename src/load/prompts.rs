//! Prompts of suites and evals: files read, templates checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::kinds::{DocumentPart, parts};
use super::problem::{Code, Problem, Problems};
use super::refs::existing_file;
use super::scope::SuiteDesk;
use super::session::LoadSession;
use super::source::Span;
use super::template::{TemplateEngine, TemplateScope};
use super::tree::{Node, NodeValue};
use crate::model::{Eval, Fingerprint, PromptTemplate, Target};
use crate::spec::{NameOr, SuitePrompts};

/// Prompts by name.
pub(super) type LoadedPrompts = Arc<BTreeMap<String, PromptTemplate>>;

/// What a case gives to a prompt.
const OF_CASES: [&str; 2] = ["input", "context"];

/// Puts the content of prompt files in the place of their names, for every eval of a document.
pub(super) fn read_files_of_evals(session: &mut LoadSession, document: &mut Node, dir: &Path) {
    for part in parts(document) {
        let (DocumentPart::Capability(node)
        | DocumentPart::Regression(node)
        | DocumentPart::File(node)
        | DocumentPart::Document(node)) = part;
        read_files(session, node, dir);
    }
}

/// The same for the prompts of one map. `dir` is the folder of its file.
pub(super) fn read_files(session: &mut LoadSession, holder: &mut Node, dir: &Path) {
    for (_, prompt) in holder.map_mut("prompts") {
        let Some(written) = prompt.get("file").and_then(Node::as_text) else {
            continue;
        };
        let at = prompt.locate("/file");
        let path = existing_file(dir, written, &session.fence, at);
        let Some(path) = session.problems.take(path) else {
            continue;
        };
        let display = session.display(&path);
        let file = session.sources.read(&path, display);
        let file = file.map_err(|problem| problem.at(at));
        let Some(file) = session.problems.take(file) else {
            continue;
        };
        session.files.insert(file);
        let text: Arc<str> = session.sources.text(file).into();
        *prompt = Node {
            span: Span::new(file, 0, text.len()),
            value: NodeValue::Text(text),
        };
    }
}

/// The prompts of a map, those that are in order. `node` is the map's.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    prompts: &SuitePrompts,
    node: Option<&Node>,
) -> BTreeMap<String, PromptTemplate> {
    let mut resolved = BTreeMap::new();
    for (name, prompt) in prompts {
        // A file that could not be read is reported where it was to be read.
        let (NameOr::Name(text), Some(at)) = (prompt, node.and_then(|node| node.get(name))) else {
            continue;
        };
        if let Some(template) = template(desk, name, text, at.span) {
            resolved.insert(name.clone(), template);
        }
    }
    resolved
}

/// The prompts of an eval: its own, and those of the suite that it does not replace.
pub(super) fn of_eval(desk: &mut SuiteDesk, own: &SuitePrompts, node: &Node) -> LoadedPrompts {
    let of_suite = Arc::clone(&desk.suite.prompts);
    if own.is_empty() {
        return of_suite;
    }
    let mut all = (*of_suite).clone();
    all.extend(resolve(desk, own, node.get("prompts")));
    Arc::new(all)
}

fn template(desk: &mut SuiteDesk, name: &str, text: &str, at: Span) -> Option<PromptTemplate> {
    if name.trim().is_empty() {
        return desk.refuse(Problem::error(
            Code::BadShape,
            at,
            "the name of a prompt is empty",
        ));
    }
    if text.trim().is_empty() {
        let message = format!("the prompt `{name}` is empty");
        return desk.refuse(Problem::error(Code::SuspiciousValue, at, message));
    }
    let scope = &desk.suite.templates;
    let engine = TemplateEngine::new(scope);
    if !engine.check(text, at, &OF_CASES, desk.sources, desk.problems) {
        return None;
    }
    let paths = engine.paths(text);
    let reads = |wanted: &str| paths.iter().any(|path| root(path) == wanted);
    if !reads("input") {
        let message = format!("the prompt `{name}` does not contain `{{{{ input }}}}`");
        desk.problems.push(
            Problem::warning(Code::SuspiciousValue, at, message)
                .hint("the text of a case's input is then not part of the question"),
        );
    }
    Some(PromptTemplate {
        reads_context: reads("context"),
        fingerprint: Fingerprint::of(&(text, values_read(scope, &paths))),
        values: Arc::new(values(scope)),
        text: text.to_owned(),
    })
}

fn root(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// All that a template of the suite may read by itself.
fn values(scope: &TemplateScope) -> BTreeMap<String, Value> {
    let env = scope.env.iter();
    let env: Map<String, Value> = env.map(|(k, v)| (k.clone(), v.as_str().into())).collect();
    let vars: Map<String, Value> = scope.vars.clone().into_iter().collect();
    let mut values = scope.vars.clone();
    values.insert("vars".to_owned(), Value::Object(vars));
    values.insert("env".to_owned(), Value::Object(env));
    values
}

/// The variables at these paths. The environment is left out: a new token makes no new prompt.
fn values_read<'a>(
    scope: &'a TemplateScope,
    paths: &BTreeSet<String>,
) -> BTreeMap<&'a str, &'a Value> {
    let all = paths.contains("vars");
    let is_read = |name: &str| {
        let mut named = paths
            .iter()
            .map(|path| root(path.strip_prefix("vars.").unwrap_or(path)));
        all || named.any(|read| read == name)
    };
    let vars = scope.vars.iter();
    vars.filter(|(name, _)| is_read(name))
        .map(|(name, value)| (name.as_str(), value))
        .collect()
}

/// The prompt of a run: the one that the command line names, else the only one. Recorded outputs
/// were asked for before.
pub(super) fn choose(
    named: Option<&str>,
    target: Option<&Target>,
    evals: &[Arc<Eval>],
    problems: &mut Problems,
) -> Option<String> {
    let is_recorded = matches!(target, Some(Target::Recorded { .. }));
    let known: BTreeSet<&str> = evals
        .iter()
        .flat_map(|eval| eval.prompts.keys())
        .map(String::as_str)
        .collect();
    let Some(name) = named else {
        let only = known.first().filter(|_| known.len() == 1 && !is_recorded);
        return only.map(|name| (*name).to_owned());
    };
    if is_recorded {
        let message = "`--prompt` has no effect on recorded outputs";
        problems.push(Problem::general(Code::UnknownPrompt, message));
    } else if !known.contains(name) {
        let all = if known.is_empty() {
            "the suite defines no prompts".to_owned()
        } else {
            let known: Vec<&str> = known.iter().copied().collect();
            format!("the suite's prompts are {}", known.join(", "))
        };
        let message = format!("`--prompt`: the suite has no prompt `{name}`");
        let problem = Problem::general(Code::UnknownPrompt, message);
        problems.push(problem.near(name, known).or_hint(all));
    }
    Some(name.to_owned())
}

/// What a run on a target under a prompt is called: `small [v2]`.
pub(super) fn label(target: &str, prompt: Option<&str>) -> String {
    match prompt {
        Some(prompt) => format!("{target} [{prompt}]"),
        None => target.to_owned(),
    }
}

/// What tells the settings of a run's prompt from those of another; `None` without a prompt.
pub(super) fn fingerprint(prompt: Option<&str>, evals: &[Arc<Eval>]) -> Option<Fingerprint> {
    let name = prompt?;
    let all: BTreeMap<&str, String> = evals
        .iter()
        .filter_map(|eval| {
            let prompt = eval.prompts.get(name)?;
            Some((eval.info.id.as_str(), prompt.fingerprint.to_string()))
        })
        .collect();
    Some(Fingerprint::of(&all))
}
