//! Prompts of suites and evals: files read, templates checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::kinds::{DocumentPart, parts};
use super::problem::{Code, Problem, Problems};
use super::refs::existing_file;
use super::request::LoadOverrides;
use super::scope::SuiteDesk;
use super::session::LoadSession;
use super::source::Span;
use super::template::{TemplateEngine, TemplateScope};
use super::tree::{Node, NodeValue};
use crate::model::{Fingerprint, Plan, PromptTemplate};
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
    is_of_suite: bool,
) -> BTreeMap<String, PromptTemplate> {
    let mut resolved = BTreeMap::new();
    for (name, prompt) in prompts {
        let entries = node.and_then(Node::as_map).unwrap_or_default();
        let position = entries.iter().position(|(key, _)| *key.name == **name);
        // A file that could not be read is reported where it was to be read.
        let (NameOr::Name(text), Some(position)) = (prompt, position) else {
            continue;
        };
        let at = &entries[position].1;
        if let Some(template) = template(desk, name, text, at.span) {
            let template = PromptTemplate {
                is_of_suite,
                position,
                ..template
            };
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
    all.extend(resolve(desk, own, node.get("prompts"), false));
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
    let mut found = Problems::new();
    let is_complete = engine.check(text, at, &OF_CASES, desk.sources, &mut found);
    // One that this run does not use may lack a variable.
    let is_used = desk.suite.uses_prompt(name);
    let lacks_environment = !is_complete && engine.lacks_only_environment(text, &OF_CASES);
    if is_used || !lacks_environment {
        desk.problems.extend(found);
    }
    if !is_complete && !lacks_environment {
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
        is_of_suite: true,
        position: 0,
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

/// What a template reads of variables and the environment, by its path.
fn values_read<'a>(
    scope: &'a TemplateScope,
    paths: &'a BTreeSet<String>,
) -> BTreeMap<&'a str, Value> {
    let read = |path: &'a String| {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = match (first, root(rest)) {
            ("vars", "") => scope.vars.clone().into_iter().collect::<Map<_, _>>().into(),
            ("vars", name) => scope.vars.get(name)?.clone(),
            ("env", "") => json!(scope.env),
            ("env", name) => scope.env.get(name)?.as_str().into(),
            (name, _) => scope.vars.get(name)?.clone(),
        };
        Some((path.as_str(), value))
    };
    paths.iter().filter_map(read).collect()
}

/// The prompt of a run: the one that the command line names, else the only one. Stored outputs need
/// none.
pub(super) fn choose(
    overrides: &LoadOverrides,
    plan: &Plan,
    problems: &mut Problems,
) -> Option<String> {
    if overrides.asks_only_judges {
        return None;
    }
    let Some(name) = &overrides.prompt else {
        let open = plan.open_prompts();
        let only = open.first().filter(|_| open.len() == 1);
        return only.map(|name| (*name).to_owned());
    };
    let all = if plan.whole.is_empty() {
        &plan.evals
    } else {
        &plan.whole
    };
    let is_asked = all.iter().any(|eval| eval.is_asked(plan.target.as_ref()));
    let known: BTreeSet<&str> = all
        .iter()
        .flat_map(|eval| eval.prompts.keys())
        .map(String::as_str)
        .collect();
    if !is_asked && !all.is_empty() {
        let message = format!("the prompt `{name}` has no effect on recorded outputs");
        problems.push(Problem::general(Code::UnknownPrompt, message));
    } else if !known.contains(name.as_str()) {
        let all = if known.is_empty() {
            "the suite defines no prompts".to_owned()
        } else {
            let known: Vec<&str> = known.iter().copied().collect();
            format!("the suite's prompts are {}", known.join(", "))
        };
        let message = format!("the suite has no prompt `{name}`");
        let problem = Problem::general(Code::UnknownPrompt, message);
        problems.push(problem.near(name, known).or_hint(all));
    }
    Some(name.clone())
}
