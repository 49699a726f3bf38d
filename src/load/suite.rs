//! A suite to a plan: its files are read, each once, its evals gathered, its settings resolved
//! against the command line.

mod chosen;
mod documents;
mod gather;
mod overview;
mod plan;
mod referred;
mod variables;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::baselines;
use super::demands;
use super::env_file::SuiteEnvironment;
use super::evals::BuiltEval;
use super::infer::{infer_evals, infer_named};
use super::kinds::{detect, inline_evals, unknown_kind};
use super::notify;
use super::problem::{Code, Problem, Severity};
use super::prompts;
use super::reach::{FilterReach, InheritedKind, MissingValues, SparePart, text};
use super::refs::{PathFence, lexical, project_root};
use super::render_pass::RenderPass;
use super::request::{LoadRequest, LoadedPlan, PlanPurpose, SuiteCounts};
use super::scope::{SuiteScope, seconds};
use super::session::{BrokenPlaces, LoadSession, read, validator};
use super::stored::{BaselineFolder, RevisionFolder};
use super::targets::ChosenTarget;
use super::template::TemplateEngine;
use super::thresholds::ResolvedDemands;
use super::tree::{Node, NodeValue};
use super::workspace;
use documents::render_named;
pub(super) use documents::{eval_document, graders_file, sets, shelf};
pub use overview::overview;
use plan::PlanParts;
pub(super) use variables::check_vars;

use crate::model::{Eval, Plan, Target};
use crate::spec::{BaselineTarget, SchemaKind, SuiteSpec, TargetSpec};

/// Loads a suite (or an eval file as a suite of one): a plan, or every problem of every file that it
/// reaches.
pub fn load(request: &LoadRequest) -> LoadedPlan {
    let mut session = LoadSession {
        purpose: request.purpose,
        cwd: request.cwd.clone(),
        ..LoadSession::default()
    };
    for (path, text) in request.overrides.texts.iter() {
        let path = lexical(path);
        let display = session.display(&path);
        session.sources.preset(&path, display, text);
    }
    let (plan, total, selected) = load_into(request, &mut session);
    if !request.overrides.shared_vars {
        check_vars(&request.overrides.vars, &mut session, Severity::Error);
    }
    let plan = plan.filter(|_| !session.problems.has_errors());
    let LoadSession {
        problems,
        sources,
        fence,
        ..
    } = session;
    LoadedPlan {
        read: fence.read_files(),
        plan,
        problems,
        sources,
        total,
        selected,
    }
}

/// Loads a suite among other files: into their texts and problems.
pub(super) fn load_into(
    request: &LoadRequest,
    session: &mut LoadSession,
) -> (Option<Plan>, SuiteCounts, SuiteCounts) {
    let of_others = std::mem::take(&mut session.vars);
    session.files.clear();
    let loaded = SuiteLoader::new(request, session).run();
    session.vars.extend(of_others);
    loaded
}

struct SuiteLoader<'a> {
    request: &'a LoadRequest,
    path: PathBuf,
    dir: PathBuf,
    root: PathBuf,
    environment: SuiteEnvironment,
    session: &'a mut LoadSession,
    /// Eval files that were read, by path.
    files: HashMap<PathBuf, Vec<BuiltEval>>,
    /// Evals of those files that could not be built, by path and id.
    unbuilt: HashSet<(PathBuf, String)>,
}

/// What a suite's document says, apart from its evals.
struct SuiteHead {
    spec: Option<SuiteSpec>,
    node: Node,
    evals: HeadEvals,
    missing: MissingValues,
}

/// The evals of a suite, as its document has them.
enum HeadEvals {
    /// Written in it, or referred to: checked with it.
    Listed(Vec<Node>),
    /// The document of an eval file in place of a suite.
    Alone(Node),
}

impl<'a> SuiteLoader<'a> {
    /// Of a suite that nothing is read of yet.
    fn new(request: &'a LoadRequest, session: &'a mut LoadSession) -> SuiteLoader<'a> {
        let path = lexical(&request.cwd.join(&request.suite));
        let dir = path
            .parent()
            .map_or_else(|| request.cwd.clone(), Path::to_path_buf);
        let root = project_root(&dir);
        session.fence = PathFence::new([root.as_path(), dir.as_path()]);
        SuiteLoader {
            environment: SuiteEnvironment::read(&request.env, &dir, session),
            request,
            path,
            dir,
            root,
            session,
            files: HashMap::new(),
            unbuilt: HashSet::new(),
        }
    }
}

impl SuiteLoader<'_> {
    fn run(&mut self) -> (Option<Plan>, SuiteCounts, SuiteCounts) {
        let nothing = (None, SuiteCounts::default(), SuiteCounts::default());
        let path = self.path.clone();
        let Some(mut node) = self.session.parse(&path, None) else {
            return nothing;
        };
        match detect(&node) {
            Some(SchemaKind::Suite) => {
                let head = self.suite_head(&mut node);
                self.finish(head)
            }
            Some(SchemaKind::Eval) => {
                let head = self.eval_as_suite(node);
                self.finish(head)
            }
            Some(kind) => {
                let message = format!("this is a file of kind `{}`, not a suite", kind.name());
                let at = node.span.at_start();
                self.session.problems.push(
                    Problem::error(Code::UnknownShape, at, message)
                        .hint("a suite begins with `eval_suite:`"),
                );
                nothing
            }
            None => {
                self.session.problems.push(unknown_kind(&node));
                nothing
            }
        }
    }

    /// Prepares and checks the suite's document; its evals are kept apart.
    fn suite_head(&mut self, node: &mut Node) -> SuiteHead {
        let LoadSession {
            sources, problems, ..
        } = &mut *self.session;
        for eval in inline_evals(node) {
            infer_evals(eval, problems);
        }
        if let Some(graders) = node
            .get_mut("eval_suite")
            .and_then(|s| s.get_mut("graders"))
        {
            infer_named(graders, problems);
        }
        let validator = validator(SchemaKind::Suite);
        if let Some(validator) = validator {
            validator.normalise(sources, node, problems);
        }
        let allowed = node.get("eval_suite").map(|suite| suite.seq("allow_paths"));
        let allowed = allowed.into_iter().flatten().filter_map(Node::as_text);
        let allowed: Vec<PathBuf> = allowed
            .map(|folder| lexical(&self.dir.join(folder)))
            .collect();
        let all = [self.root.as_path(), self.dir.as_path()].into_iter();
        let folders = all.chain(allowed.iter().map(PathBuf::as_path));
        self.session.fence = self.session.fence.around(folders);
        let dir = self.dir.clone();
        for eval in inline_evals(node) {
            prompts::read_files_of_evals(self.session, eval, &dir);
        }
        if let Some(suite) = node.get_mut("eval_suite") {
            prompts::read_files(self.session, suite, &dir);
        }
        let scope = self.templates(node.get("eval_suite"));
        let reach = FilterReach::of(&self.request.overrides.filters);
        let overrides = &self.request.overrides;
        let named = overrides
            .target
            .as_deref()
            .or_else(|| has_default(node).then_some("default"));
        // A run uses one target, and none where outputs are there already. Without a name or a
        // default it is the only one.
        let calls_target = overrides.outputs.is_none() && !overrides.asks_only_judges;
        let is_used = |name: &str| calls_target && named.is_none_or(|named| named == name);
        let is_run = self.session.purpose == PlanPurpose::Run;
        let mut missing = MissingValues::new();
        let LoadSession {
            sources, problems, ..
        } = &mut *self.session;
        {
            let engine = TemplateEngine::new(&scope);
            let mut pass = RenderPass {
                engine: &engine,
                sources,
                problems,
            };
            for eval in inline_evals(node) {
                pass.evals(eval, reach.as_ref());
            }
            if let Some(suite) = node.get_mut("eval_suite") {
                if let Some(sandbox) = suite.get_mut("sandbox") {
                    pass.sandbox(sandbox);
                }
                pass.workspace(suite);
                let mut render =
                    |part,
                     is_used: bool,
                     node: &mut Node,
                     fill: fn(&mut RenderPass<'_>, &mut Node)| {
                        if is_run && !is_used {
                            pass.spare(part, &mut missing, |pass| fill(pass, node));
                        } else {
                            fill(&mut pass, node);
                        }
                    };
                let is_lone = suite
                    .get("targets")
                    .is_none_or(|all| all.as_map().is_none_or(<[_]>::is_empty));
                if let Some(node) = suite.get_mut("target") {
                    let kind = text(Some(node), "type")
                        .filter(|_| is_lone)
                        .unwrap_or("default")
                        .to_owned();
                    let is_used = is_used(&kind);
                    render(SparePart::Target(kind), is_used, node, |pass, node| {
                        pass.target(node)
                    });
                }
                for (key, node) in suite.map_mut("targets") {
                    let part = SparePart::Target(key.name.to_string());
                    render(part, is_used(&key.name), node, |pass, node| {
                        pass.target(node)
                    });
                }
                for (key, node) in suite.map_mut("providers") {
                    let part = SparePart::Provider(key.name.to_string());
                    render(part, false, node, |pass, node| pass.model(node));
                }
                if let Some(node) = suite.get_mut("skill") {
                    let part = SparePart::Inherited(InheritedKind::Skill);
                    render(part, false, node, |pass, node| pass.skill(node));
                }
                render_named(
                    &mut pass,
                    suite.get_mut("graders"),
                    reach.is_some().then_some(&mut missing),
                );
            }
        }
        if let Some(validator) = validator {
            validator.validate_filled(node, problems);
        }
        let broken = BrokenPlaces::of(problems);
        let mut head = node
            .get("eval_suite")
            .cloned()
            .unwrap_or_else(|| node.clone());
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
        SuiteHead {
            spec: read(&head, &broken, problems),
            node: head,
            evals: HeadEvals::Listed(evals),
            missing,
        }
    }

    /// An eval file given in place of a suite, as the suite that says nothing but its evals.
    fn eval_as_suite(&self, document: Node) -> SuiteHead {
        let name = self.path.file_stem().unwrap_or_default();
        SuiteHead {
            spec: Some(SuiteSpec {
                name: name.to_string_lossy().into_owned(),
                ..SuiteSpec::default()
            }),
            node: Node {
                span: document.span,
                value: NodeValue::Map(Vec::new()),
            },
            evals: HeadEvals::Alone(document),
            missing: MissingValues::new(),
        }
    }

    fn output_dir(&self, spec: &SuiteSpec) -> PathBuf {
        match (
            &self.request.overrides.output_dir,
            &spec.reporting.output_dir,
        ) {
            (Some(dir), _) => lexical(&self.request.cwd.join(dir)),
            (None, Some(dir)) => lexical(&self.dir.join(dir)),
            (None, None) => self.root.join("results"),
        }
    }

    fn base_scope(&self, spec: &SuiteSpec) -> SuiteScope {
        let (overrides, config) = (&self.request.overrides, &spec.config);
        SuiteScope {
            dir: self.dir.clone(),
            root: self.root.clone(),
            output_dir: self.output_dir(spec),
            cwd: self.session.cwd.clone(),
            baselines: baselines::settings(spec.baselines.as_ref(), &self.dir, &self.root),
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
            prompt: overrides.prompt.clone(),
            asks_targets: overrides.outputs.is_none() && !overrides.asks_only_judges,
            environment: self.environment.clone(),
            key_values: self.request.keys.clone(),
            workers: config.max_workers,
            reach: FilterReach::of(&overrides.filters).map(Arc::new),
            ..SuiteScope::default()
        }
    }

    fn finish(&mut self, head: SuiteHead) -> (Option<Plan>, SuiteCounts, SuiteCounts) {
        let SuiteHead {
            spec,
            node,
            evals,
            mut missing,
        } = head;
        let is_broken = spec.is_none();
        let mut spec = spec.unwrap_or_default();
        // What a broken head would have defined is not held against its evals, nor what the suite
        // of an eval file that is looked at alone may define.
        let is_alone = matches!(evals, HeadEvals::Alone(_));
        let is_open = is_broken || (is_alone && self.session.lenient());
        let mut scope = self.base_scope(&spec);
        scope.templates = self.templates(Some(&node));
        scope.executors = self.executors(&spec, &node);
        scope.prices = self.prices(&spec, &node);
        let mut desk = self.session.desk(&scope, &self.dir);
        scope.demands = demands::resolve(&mut desk, spec.sandbox.as_ref(), &node);
        scope.shelf = self.graders(&spec, &node, &scope, &mut missing);
        scope.missing = Arc::new(missing);
        scope.templates.open |= is_open;
        scope.shelf.open |= is_open;
        scope.executors.open |= is_open;
        let (mut demands, mut chosen) = (ResolvedDemands::default(), ChosenTarget::default());
        if !is_broken {
            demands = self.demands(&spec, &node);
            chosen = self.target(&spec, &node, &mut scope);
        }
        scope.target = self.asked(&chosen.name, chosen.target.as_ref());
        let mut desk = self.session.desk(&scope, &self.dir);
        scope.prompts =
            prompts::resolve(&mut desk, &spec.prompts, node.get("prompts"), true).into();
        let mut desk = self.session.desk(&scope, &self.dir);
        let above = self.request.overrides.workspace.as_ref();
        let above = above
            .map(|outer| workspace::above_suite(outer, &scope.output_dir, node.span.at_start()));
        let own = workspace::of_level(&mut desk, &spec.workspace, &node, above.as_ref());
        if let (Some(above), Some(own)) = (&above, &own) {
            workspace::check_suite_is_left_out(&mut desk, above, own, &self.path, node.span);
        }
        let is_agent = match &scope.asks {
            Some(target) => matches!(target, Target::Agent(_)),
            // One of several, or with a problem that is reported already.
            None => {
                let mut written = spec.target.iter().chain(spec.targets.values());
                written.any(|target| matches!(target, TargetSpec::Agent(_)))
            }
        };
        scope.workspace = own.or_else(|| is_agent.then(|| workspace::empty(&desk, node.span)));
        self.baselines(&mut scope, &node);
        let gathered = self.gather(evals, &scope);
        let evals = self.unique(gathered);
        self.lacks_target(chosen.lack.take(), &evals);
        if is_broken {
            let counts = count(&evals);
            return (None, counts, counts);
        }
        if let ([only], true) = (evals.as_slice(), is_alone) {
            spec.name.clone_from(&only.info.name);
        }
        let mut desk = self.session.desk(&scope, &self.dir);
        let channels = notify::channels(&mut desk, &spec, &node);
        self.plan(PlanParts {
            spec,
            node,
            channels,
            demands,
            evals,
            chosen,
            scope,
        })
    }

    /// The target by which baselines are told apart. Recordings stand for whatever gave them.
    fn asked(&self, name: &str, target: Option<&Target>) -> Option<BaselineTarget> {
        let target = target.filter(|_| self.request.overrides.outputs.is_none())?;
        Some(BaselineTarget {
            name: Some(name.to_owned()),
            kind: target.kind().to_owned(),
        })
    }

    /// Judges the settings of baselines, and finds where accepted ones are read from.
    fn baselines(&mut self, scope: &mut SuiteScope, node: &Node) {
        if let Some(at) = node.get("baselines") {
            baselines::check_settings(self.session, at, &scope.baselines.dir);
        }
        let dir = scope.baselines.dir.clone();
        scope.store = match &self.request.overrides.against {
            _ if self.request.overrides.without_store => return,
            None => BaselineFolder::Disk(dir),
            Some(rev) => match RevisionFolder::read(&dir, rev) {
                Ok(revision) => BaselineFolder::Revision(Arc::new(revision)),
                Err(error) => {
                    let message = format!("cannot read the baselines of `{rev}`: {error}");
                    let problem = Problem::general(Code::RevisionUnreadable, message)
                        .maybe_hint(error.hint());
                    return self.session.problems.push(problem);
                }
            },
        };
        baselines::check_names(self.session, &scope.store);
    }
}

/// True when a suite has a target that a run without `--target` uses, whatever others it has.
fn has_default(document: &Node) -> bool {
    let suite = document.get("eval_suite").unwrap_or(document);
    let targets = suite
        .get("targets")
        .filter(|targets| targets.as_map().is_some_and(|all| !all.is_empty()));
    targets.is_some_and(|targets| targets.get("default").is_some() || suite.get("target").is_some())
}

fn count(evals: &[Arc<Eval>]) -> SuiteCounts {
    SuiteCounts {
        evals: evals.len(),
        cases: evals.iter().map(|e| e.cases.len()).sum(),
    }
}
