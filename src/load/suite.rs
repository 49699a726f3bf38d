//! A suite to a plan: its files are read, each once, its evals gathered, its settings resolved against the command line.

mod documents;
mod gather;
mod overview;
mod plan;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::baselines;
use super::demands;
use super::evals::Built;
use super::executors::{ExecutorShelf, executors_file};
use super::infer::{infer_evals, infer_named};
use super::kinds::{detect, inline_evals, known_keys};
use super::problem::{Code, Problem};
use super::refs::{self, Fence, lexical, project_root};
use super::render_pass::RenderPass;
use super::request::{Counts, LoadRequest, Loaded};
use super::scope::{Desk, GraderShelf, SuiteScope, seconds};
use super::session::{Broken, Session, read, validator};
use super::source::Span;
use super::stored::{Folder, Revision};
use super::targets::{self, Chosen, Targets};
use super::template::{Engine, Scope};
use super::thresholds::{self, Resolved, WrittenSet};
use super::tree::{Node, NodeValue};
pub(super) use documents::{eval_document, graders_file, shelf};
use documents::{render_named, sets};
use gather::Gathered;
pub(super) use overview::overview;
use plan::Parts;

use crate::model::{Eval, Plan, Target};
use crate::spec::{BaselineTarget, RefOr, SchemaKind, SuiteSpec, TargetSpec, ThresholdsFile};

/// See [`super::load`].
pub(super) fn load(request: &LoadRequest) -> Loaded {
    let mut session = Session { purpose: request.purpose, cwd: request.cwd.clone(), ..Session::default() };
    let (plan, total, selected) = load_into(request, &mut session);
    let plan = plan.filter(|_| !session.problems.has_errors());
    let Session { problems, sources, .. } = session;
    Loaded { plan, problems, sources, total, selected }
}

/// Loads a suite among other files: into their texts and problems.
pub(super) fn load_into(request: &LoadRequest, session: &mut Session) -> (Option<Plan>, Counts, Counts) {
    let path = lexical(&request.cwd.join(&request.suite));
    let dir = path.parent().map_or_else(|| request.cwd.clone(), Path::to_path_buf);
    let root = project_root(&dir);
    session.fence = Fence::new([root.as_path(), dir.as_path()]);
    Loader { request, path, dir, root, session, files: HashMap::new() }.run()
}

struct Loader<'a> {
    request: &'a LoadRequest,
    path: PathBuf,
    dir: PathBuf,
    root: PathBuf,
    session: &'a mut Session,
    /// Eval files that were read, by path.
    files: HashMap<PathBuf, Vec<Built>>,
}

/// What a suite's document says, apart from its evals.
struct Head {
    spec: Option<SuiteSpec>,
    node: Node,
    evals: Vec<Node>,
}

impl Loader<'_> {
    fn run(&mut self) -> (Option<Plan>, Counts, Counts) {
        let nothing = (None, Counts::default(), Counts::default());
        let path = self.path.clone();
        let Some(mut node) = self.session.parse(&path, None) else { return nothing };
        match detect(&node) {
            Some(SchemaKind::Suite) => {
                let head = self.suite_head(&mut node);
                self.finish(head)
            }
            Some(SchemaKind::Eval) => self.eval_as_suite(node),
            other => {
                let message = match other {
                    Some(kind) => format!("this is a file of kind `{}`, not a suite", kind.name()),
                    None => "this is neither a suite nor an eval".to_owned(),
                };
                let hint =
                    format!("a suite begins with `eval_suite:`; known keys are {}", join(known_keys()));
                self.session
                    .problems
                    .push(Problem::error(Code::UnknownShape, node.span.at_start(), message).hint(hint));
                nothing
            }
        }
    }

    /// Prepares and checks the suite's document; its evals are kept apart.
    fn suite_head(&mut self, node: &mut Node) -> Head {
        let Session { sources, problems, .. } = &mut *self.session;
        for eval in inline_evals(node) {
            infer_evals(eval, problems);
        }
        if let Some(graders) = node.get_mut("eval_suite").and_then(|s| s.get_mut("graders")) {
            infer_named(graders, problems);
        }
        let validator = validator(SchemaKind::Suite);
        if let Some(validator) = validator {
            validator.normalise(sources, node, problems);
        }
        let scope = self.templates(node);
        let Session { sources, problems, .. } = &mut *self.session;
        {
            let engine = Engine::new(&scope);
            let mut pass = RenderPass { engine: &engine, sources, problems };
            for eval in inline_evals(node) {
                pass.evals(eval);
            }
            if let Some(suite) = node.get_mut("eval_suite") {
                if let Some(sandbox) = suite.get_mut("sandbox") {
                    pass.sandbox(sandbox);
                }
                if let Some(target) = suite.get_mut("target") {
                    pass.target(target);
                }
                if let Some(Node { value: NodeValue::Map(entries), .. }) = suite.get_mut("targets") {
                    entries.iter_mut().for_each(|(_, target)| pass.target(target));
                }
                if let Some(skill) = suite.get_mut("skill") {
                    pass.skill(skill);
                }
                render_named(&mut pass, suite.get_mut("graders"));
            }
        }
        if let Some(validator) = validator {
            validator.validate(node, problems);
        }
        let broken = Broken::of(problems);
        let mut head = node.get("eval_suite").cloned().unwrap_or_else(|| node.clone());
        let mut evals = Vec::new();
        if let NodeValue::Map(entries) = &mut head.value {
            for (key, value) in entries.iter_mut().filter(|(key, _)| &*key.name == "evals") {
                let empty = NodeValue::Seq(Vec::new());
                if let NodeValue::Seq(items) = std::mem::replace(&mut value.value, empty) {
                    evals = items;
                }
                // The span must not reach over the evals, whose faults are their own.
                value.span = key.span.at_start();
            }
        }
        Head { spec: read(&head, &broken, problems), node: head, evals }
    }

    /// The variables of the suite and the command line, and the environment that the suite lists.
    fn templates(&mut self, node: &Node) -> Scope {
        let suite = node.get("eval_suite");
        let entries = suite.and_then(|s| s.get("vars")).and_then(Node::as_map).unwrap_or(&[]);
        let mut vars: BTreeMap<String, Value> =
            entries.iter().map(|(key, value)| (key.name.to_string(), value.to_json())).collect();
        for (name, text) in &self.request.overrides.vars {
            let value = like(vars.get(name), text);
            vars.insert(name.clone(), value);
        }
        let listed = suite.and_then(|s| s.get("env")).and_then(Node::as_seq).unwrap_or(&[]);
        let env_listed: BTreeSet<String> =
            listed.iter().filter_map(Node::as_text).map(str::to_owned).collect();
        let env = env_listed
            .iter()
            .filter_map(|name| self.request.env.get(name).map(|value| (name.clone(), value.clone())))
            .collect();
        Scope { vars, env, env_listed, open: false }
    }

    /// An eval file given in place of a suite.
    fn eval_as_suite(&mut self, node: Node) -> (Option<Plan>, Counts, Counts) {
        let mut scope = self.base_scope(None);
        scope.templates = self.templates(&node);
        let lenient = self.session.lenient();
        scope.templates.open = lenient;
        scope.shelf.open = lenient;
        scope.executors.open = lenient;
        let name = self.path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let at = node.span.at_start();
        let chosen = {
            let Session { sources, problems, .. } = &mut *self.session;
            let mut desk = Desk { sources, problems, suite: &scope, dir: &self.dir };
            let choice = choice(self.request);
            targets::choose(&mut desk, &Targets::new(), choice, at)
        };
        scope.target = self.asked(&chosen.name, chosen.target.as_ref());
        self.baselines(&mut scope, &node);
        let built = self.eval_document(node, &scope, &self.dir.clone());
        let gathered = built.into_iter().map(|built| Gathered { built, by: at }).collect();
        let evals = self.unique(gathered);
        self.lacks_target(chosen.lack, &evals);
        let name = match evals.as_slice() {
            [only] => only.info.name.clone(),
            _ => name,
        };
        let sources = thresholds::Sources {
            chosen: self.request.overrides.preset.as_deref(),
            overrides: &self.request.overrides.thresholds,
            ..thresholds::Sources::default()
        };
        let demands = thresholds::resolve(&sources, &mut self.session.problems);
        let parts = Parts {
            info: (name, None, None),
            config: crate::spec::SuiteConfig::default(),
            reporting: crate::spec::ReportingSpec::default(),
            max_regressions: None,
            metrics: (BTreeMap::new(), None),
            demands,
            evals,
            target_name: chosen.name,
            target: chosen.target,
            scope,
        };
        self.plan(parts)
    }

    fn base_scope(&self, spec: Option<&SuiteSpec>) -> SuiteScope {
        let overrides = &self.request.overrides;
        let config = spec.map(|s| s.config.clone()).unwrap_or_default();
        let written = spec.and_then(|s| s.baselines.as_ref());
        SuiteScope {
            dir: self.dir.clone(),
            baselines: baselines::settings(written, &self.dir, &self.root),
            known_good: Arc::clone(&overrides.known_good),
            fence: self.session.fence.clone(),
            timeout: overrides.timeout.map(seconds),
            suite_timeout: config.timeout_seconds.map(seconds),
            samples: overrides.samples,
            suite_samples: config.samples,
            grader_type: overrides.grader_type,
            allow_unsandboxed: overrides.allow_unsandboxed,
            search_path: self.request.env.get("PATH").cloned(),
            lenient: self.session.lenient(),
            recorded: overrides.outputs.is_some(),
            ..SuiteScope::default()
        }
    }

    fn finish(&mut self, head: Head) -> (Option<Plan>, Counts, Counts) {
        let Head { spec, node, evals } = head;
        if let Some(folders) = spec.as_ref().map(|s| &s.allow_paths) {
            let allowed: Vec<PathBuf> = folders.iter().map(|f| lexical(&self.dir.join(f))).collect();
            let all = [self.root.as_path(), self.dir.as_path()].into_iter();
            self.session.fence = Fence::new(all.chain(allowed.iter().map(PathBuf::as_path)));
        }
        let mut scope = self.base_scope(spec.as_ref());
        let wrapped = wrap(&node);
        scope.templates = self.templates(&wrapped);
        scope.executors = self.executors(spec.as_ref(), &node);
        scope.demands = {
            let Session { sources, problems, .. } = &mut *self.session;
            let mut desk = Desk { sources, problems, suite: &scope, dir: &self.dir };
            demands::resolve(&mut desk, spec.as_ref().and_then(|s| s.sandbox.as_ref()), &node)
        };
        scope.shelf = self.graders(spec.as_ref(), &node, &scope);
        // What a broken head would have defined is not held against its evals.
        scope.templates.open |= spec.is_none();
        scope.shelf.open |= spec.is_none();
        scope.executors.open |= spec.is_none();
        let demands = self.demands(spec.as_ref(), &node);
        let chosen = self.target(spec.as_ref(), &node, &mut scope);
        scope.target = self.asked(&chosen.name, chosen.target.as_ref());
        self.baselines(&mut scope, &node);
        let gathered = self.gather(evals, &scope);
        let evals = self.unique(gathered);
        self.lacks_target(chosen.lack, &evals);
        let Some(spec) = spec else {
            let counts = count(&evals);
            return (None, counts, counts);
        };
        let parts = Parts {
            info: (spec.name, spec.version, spec.description),
            config: spec.config,
            reporting: spec.reporting,
            max_regressions: spec.max_regressions,
            metrics: (spec.metrics, node.get("metrics").cloned()),
            demands,
            evals,
            target_name: chosen.name,
            target: chosen.target,
            scope,
        };
        self.check_ks(&parts, &node);
        self.plan(parts)
    }

    /// The target by which baselines are told apart. Recordings stand for whatever gave them.
    fn asked(&self, name: &str, target: Option<&Target>) -> Option<BaselineTarget> {
        let target = target.filter(|_| self.request.overrides.outputs.is_none())?;
        Some(BaselineTarget { name: Some(name.to_owned()), kind: target.kind().to_owned() })
    }

    /// Judges the settings of baselines, and finds where accepted ones are read from.
    fn baselines(&mut self, scope: &mut SuiteScope, node: &Node) {
        let overrides = &self.request.overrides;
        if let Some(at) = node.get("baselines") {
            baselines::check_settings(self.session, at, &scope.baselines.dir);
        }
        let dir = scope.baselines.dir.clone();
        scope.store = match &overrides.against {
            _ if overrides.without_store => return,
            None => Folder::Disk(dir),
            Some(rev) => match Revision::read(&dir, rev) {
                Ok(revision) => Folder::Revision(Arc::new(revision)),
                Err(error) => {
                    let message = format!("cannot read the baselines of `{rev}`: {error}");
                    let problem =
                        Problem::general(Code::RevisionUnreadable, message).maybe_hint(error.hint());
                    return self.session.problems.push(problem);
                }
            },
        };
        baselines::check_names(self.session, &scope.store);
    }

    /// The target of the run. What evals may take from the suite's targets is put into the scope.
    fn target(&mut self, spec: Option<&SuiteSpec>, node: &Node, scope: &mut SuiteScope) -> Chosen {
        let Some(spec) = spec else { return Chosen::default() };
        let mut all = Targets::new();
        for (name, target) in &spec.targets {
            let at = node.get("targets").and_then(|n| n.get(name)).unwrap_or(node);
            all.insert(name.clone(), (target.clone(), at.clone()));
        }
        scope.skill = spec.skill.clone().zip(node.get("skill").cloned());
        let Session { sources, problems, .. } = &mut *self.session;
        if let (Some(target), Some(at)) = (&spec.target, node.get("target")) {
            let name = if all.is_empty() { kind_word(target) } else { "default" };
            if let Some((_, other)) = all.insert(name.to_owned(), (target.clone(), at.clone())) {
                problems.push(
                    Problem::error(
                        Code::BothSpellings,
                        node.key_span("/target"),
                        "`target` and `targets.default` stand side by side",
                    )
                    .related(other.span, "the other one"),
                );
            }
        }
        let mut desk = Desk { sources, problems, suite: scope, dir: &self.dir };
        // Every target is checked, also those that this run does not use.
        let overridden = self.request.overrides.outputs.is_some();
        if !overridden && desk.suite.lenient {
            for (target, at) in all.values() {
                targets::resolve(&mut desk, target, at, &self.dir);
            }
        }
        let at = node.key_span("/name");
        let chosen = targets::choose(&mut desk, &all, choice(self.request), at);
        let offer = targets::offer(&mut desk, &all, &chosen.name, chosen.target.as_ref());
        (scope.http, scope.skill) = (offer.http, offer.skill);
        scope.asks = chosen.target.clone();
        chosen
    }

    /// A suite whose cases all have targets of their own needs none.
    fn lacks_target(&mut self, lack: Option<Problem>, evals: &[Arc<Eval>]) {
        let needed = |eval: &Arc<Eval>| eval.cases.profiles().iter().any(|profile| profile.target.is_none());
        if let Some(problem) = lack.filter(|_| evals.iter().any(needed)) {
            let lenient = self.session.lenient();
            self.session.problems.push(problem.maybe_warning(lenient));
        }
    }

    /// The named graders: written in the suite, or in the file that it refers to.
    fn graders(&mut self, spec: Option<&SuiteSpec>, node: &Node, scope: &SuiteScope) -> GraderShelf {
        let (file, node) = match spec.and_then(|s| s.graders.as_ref()) {
            None => return GraderShelf::default(),
            Some(RefOr::Inline(file)) => {
                (file.clone(), node.get("graders").cloned().unwrap_or_else(|| node.clone()))
            }
            Some(RefOr::Ref(path)) => {
                let at = node.locate("/graders/$ref");
                let Some(mut document) = self.document(path, at, SchemaKind::Graders) else {
                    return GraderShelf { open: true, ..GraderShelf::default() };
                };
                let Session { sources, problems, .. } = &mut *self.session;
                let Some(file) = graders_file(&mut document, sources, problems, &scope.templates) else {
                    return GraderShelf { open: true, ..GraderShelf::default() };
                };
                (file, document)
            }
        };
        shelf(file, &node, &mut self.session.problems)
    }

    /// The languages that the suite describes, or the file that it refers to.
    fn executors(&mut self, spec: Option<&SuiteSpec>, node: &Node) -> ExecutorShelf {
        let broken = ExecutorShelf::unknown();
        match spec.and_then(|s| s.executors.as_ref()) {
            None => ExecutorShelf::default(),
            Some(RefOr::Inline(all)) => {
                let at = node.get("executors").unwrap_or(node);
                ExecutorShelf::of(all.clone(), at, &self.dir, &mut self.session.problems)
            }
            Some(RefOr::Ref(path)) => {
                let at = node.locate("/executors/$ref");
                let Some(mut document) = self.document(path, at, SchemaKind::Executors) else {
                    return broken;
                };
                let Session { sources, problems, .. } = &mut *self.session;
                let Some((all, at)) = executors_file(&mut document, sources, problems) else { return broken };
                let dir = lexical(&self.dir.join(path))
                    .parent()
                    .map_or_else(|| self.dir.clone(), Path::to_path_buf);
                ExecutorShelf::of(all, &at, &dir, problems)
            }
        }
    }

    /// Reads and parses the one file of a `$ref` that must be of a kind.
    fn document(&mut self, path: &str, at: Span, kind: SchemaKind) -> Option<Node> {
        let file = match refs::existing_file(&self.dir, path, &self.session.fence, at) {
            Ok(file) => file,
            Err(problem) => {
                self.session.problems.push(problem);
                return None;
            }
        };
        if file == self.path {
            self.session.problems.push(circular(path, at));
            return None;
        }
        let node = self.session.parse(&file, Some(at))?;
        match detect(&node) {
            Some(found) if found != kind => {
                let message =
                    format!("`{path}` is a file of kind `{}`, not of kind `{}`", found.name(), kind.name());
                self.session.problems.push(Problem::error(Code::UnknownShape, at, message));
                None
            }
            _ => Some(node),
        }
    }

    fn demands(&mut self, spec: Option<&SuiteSpec>, node: &Node) -> Resolved {
        let Some(spec) = spec else { return Resolved::default() };
        let mut presets: BTreeMap<String, WrittenSet> = BTreeMap::new();
        let mut own: WrittenSet = (BTreeMap::new(), None);
        match &spec.thresholds {
            Some(RefOr::Inline(set)) => own = (set.clone(), node.get("thresholds").cloned()),
            Some(RefOr::Ref(path)) => {
                let at = node.locate("/thresholds/$ref");
                if let Some(mut document) = self.document(path, at, SchemaKind::Thresholds)
                    && let Some(file) = self.thresholds_file(&mut document)
                {
                    own = (file.thresholds, document.get("thresholds").cloned());
                    presets.extend(sets(file.presets, document.get("presets")));
                }
            }
            None => {}
        }
        presets.extend(sets(spec.presets.clone(), node.get("presets")));
        let sources = thresholds::Sources {
            own,
            presets,
            preset: spec.preset.clone().map(|name| (name, node.locate("/preset"))),
            chosen: self.request.overrides.preset.as_deref(),
            overrides: &self.request.overrides.thresholds,
            ks: &spec.config.k.0,
        };
        thresholds::resolve(&sources, &mut self.session.problems)
    }

    fn thresholds_file(&mut self, document: &mut Node) -> Option<ThresholdsFile> {
        let Session { sources, problems, .. } = &mut *self.session;
        let json = validator(SchemaKind::Thresholds)?.check(sources, document, problems)?;
        serde_json::from_value(json).ok()
    }
}

fn choice(request: &LoadRequest) -> targets::Choice<'_> {
    targets::Choice {
        name: request.overrides.target.as_deref(),
        outputs: request.overrides.outputs.as_ref().map(|path| lexical(&request.cwd.join(path))),
    }
}

fn kind_word(target: &TargetSpec) -> &'static str {
    match target {
        TargetSpec::Recorded(_) => "recorded",
        TargetSpec::Command(_) => "command",
        TargetSpec::Echo(_) => "echo",
        TargetSpec::Model(_) => "model",
        TargetSpec::Http(_) => "http",
        TargetSpec::Skill(_) => "skill",
    }
}

fn circular(text: &str, at: Span) -> Problem {
    Problem::error(Code::CircularRef, at, format!("`{text}` leads back to the file that it stands in"))
}

/// The suite's node under its key again, for what reads whole documents.
fn wrap(node: &Node) -> Node {
    let key = super::tree::Key { name: "eval_suite".into(), span: node.span.at_start() };
    Node { span: node.span, value: NodeValue::Map(vec![(key, node.clone())]) }
}

/// A command-line text as a value of the kind that the suite gave the variable, when it reads as one.
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

fn count(evals: &[Arc<Eval>]) -> Counts {
    Counts { evals: evals.len(), cases: evals.iter().map(|e| e.cases.len()).sum() }
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
