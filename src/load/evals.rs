//! Evals from the parts of a document: headers, cases, and the rules that hold between them.

use std::sync::Arc;
use std::time::Duration;

use super::baselines::{self, BaselineShelf};
use super::cases::UniqueCases;
use super::dataset;
use super::demands::EvalPython;
use super::depends;
use super::graders::{self, GradedCase, WrittenGraders};
use super::inputs;
use super::kinds::{DocumentPart, parts};
use super::problem::{Code, Problem};
use super::prompts::{self, LoadedPrompts};
use super::reach::within_reach;
use super::regressions;
use super::scope::{DEFAULT_TIMEOUT, SuiteDesk, SuiteScope, seconds};
use super::session::{BrokenPlaces, read};
use super::source::Span;
use super::targets;
use super::tree::{MappingKey, Node, NodeValue};
use super::workspace::{self, LevelWorkspace, WorkspaceInputs};
use crate::graders::settings::PlacedExpectation;
use crate::graders::structural_match::check_matchers;
use crate::model::{
    self, Case, CaseGrading, CaseInput, CaseWorkspace, DependsOn, Eval, EvalInfo, EvalType,
    ExtractMethod, Fingerprint, OutputValue, Target,
};
use crate::spec::{
    CaseSpec, EvalConfig, EvalFile, EvalMetadata, ExactExpected, ExpectedRef, ExpectedSpec, NameOr,
    RegressionDocument,
};

/// An eval and where its id stands.
#[derive(Debug, Clone)]
pub(super) struct BuiltEval {
    pub eval: Arc<Eval>,
    pub at: Span,
}

/// What cases take from their eval.
#[derive(Debug, Clone, Default)]
pub(super) struct EvalHeader {
    pub written: WrittenGraders,
    pub extract: Vec<ExtractMethod>,
    pub max_latency_ms: Option<f64>,
    pub timeout: Option<Duration>,
    pub samples: Option<u32>,
    pub retries: Option<u32>,
    pub python: Option<EvalPython>,
    pub workspace: Option<Arc<LevelWorkspace>>,
}

/// The evals of a document whose tree was prepared; parts that are broken are left out.
pub(super) fn build(
    desk: &mut SuiteDesk,
    document: &mut Node,
    broken: &BrokenPlaces,
    mut shelf: BaselineShelf,
) -> Vec<BuiltEval> {
    let mut evals = Vec::new();
    for part in parts(document) {
        evals.extend(within_reach(desk, part, |desk, part| match part {
            // Of a broken definition nothing is looked at.
            DocumentPart::Capability(node) | DocumentPart::Regression(node)
                if broken.holds(node) =>
            {
                None
            }
            DocumentPart::Capability(node) => {
                let built = file(desk, &mut with_one_case(node), broken);
                built.filter(|built| !built.eval.cases.is_empty())
            }
            DocumentPart::Regression(node) => {
                put_into_metadata(node);
                regression(desk, node, broken, &mut shelf)
            }
            DocumentPart::Document(node) => regression(desk, node, broken, &mut shelf),
            DocumentPart::File(node) => file(desk, node, broken),
        }));
    }
    evals
}

/// What a definition says of itself at its top, and a file under `metadata`.
const HEAD_KEYS: [&str; 4] = ["id", "name", "description", "category"];

/// Gives a definition the shape of a file: what it says of itself goes under `metadata`. Everything
/// keeps its place.
fn put_into_metadata(node: &mut Node) {
    let at = node.span.at_start();
    let NodeValue::Map(entries) = &mut node.value else {
        return;
    };
    let (mut head, mut rest): (Vec<_>, Vec<_>) = std::mem::take(entries)
        .into_iter()
        .partition(|(key, _)| HEAD_KEYS.contains(&&*key.name));
    match rest.iter_mut().find(|(key, _)| &*key.name == "metadata") {
        Some((_, metadata)) => {
            if let NodeValue::Map(entries) = &mut metadata.value {
                entries.append(&mut head);
            }
        }
        None => {
            let name = Arc::from("metadata");
            let value = NodeValue::Map(head);
            rest.push((MappingKey { name, span: at }, Node { span: at, value }));
        }
    }
    *entries = rest;
}

/// A capability with one case as a file: all but `config`, `metadata` and `prompts` is of the
/// case.
fn with_one_case(node: &mut Node) -> Node {
    let of_case = |(key, _): &&(MappingKey, Node)| ["id", "name"].contains(&&*key.name);
    let mut case: Vec<_> = node
        .as_map()
        .unwrap_or(&[])
        .iter()
        .filter(of_case)
        .cloned()
        .collect();
    put_into_metadata(node);
    let mut head = Vec::new();
    if let NodeValue::Map(entries) = std::mem::replace(&mut node.value, NodeValue::Null) {
        for entry in entries {
            let of_file = ["config", "metadata", "prompts"].contains(&&*entry.0.name);
            if of_file { &mut head } else { &mut case }.push(entry);
        }
    }
    let (span, at) = (node.span, node.span.at_start());
    let value = NodeValue::Map(case);
    let value = NodeValue::Seq(vec![Node { span, value }]);
    let cases = Node { span: at, value };
    let value = NodeValue::Map(head);
    let mut file = Node { span, value };
    file.insert("test_cases", cases);
    file
}

fn info_of(
    desk: &mut SuiteDesk,
    node: &Node,
    kind: EvalType,
    metadata: &EvalMetadata,
    config: &EvalConfig,
) -> Option<EvalInfo> {
    check_shares(desk, config, node)?;
    Some(EvalInfo {
        id: metadata.id.clone(),
        name: metadata.name.clone().unwrap_or_else(|| metadata.id.clone()),
        description: metadata.description.clone(),
        kind,
        category: metadata.category.clone(),
        tags: metadata.tags.clone(),
        weight: metadata.weight.unwrap_or(1.0),
        difficulty: metadata.difficulty,
        criticality: metadata.criticality,
        pass_rate_threshold: config.pass_rate_threshold.unwrap_or(1.0),
        score_threshold: config.score_threshold,
        source: desk.line_of(node.locate("/metadata/id")),
        dependencies: None,
        dataset: None,
    })
}

/// The eval's `depends_on`.
fn declared_dependencies(
    desk: &mut SuiteDesk,
    node: &Node,
    config: &EvalConfig,
) -> Option<DependsOn> {
    let written = node
        .get("config")
        .and_then(|config| config.get("depends_on"));
    let dir = desk.dir.to_path_buf();
    depends::declared(desk, config.depends_on.as_ref(), written, &dir)
}

/// A share of 0 would let an eval pass that never passed anything.
fn check_shares(desk: &mut SuiteDesk, config: &EvalConfig, node: &Node) -> Option<()> {
    let shares = [
        ("pass_rate_threshold", config.pass_rate_threshold),
        ("score_threshold", config.score_threshold),
    ];
    let mut whole = true;
    for (key, _) in shares.into_iter().filter(|(_, share)| *share == Some(0.0)) {
        let at = node.locate(&format!("/config/{key}"));
        let message = format!("with `{key}: 0`, the eval would pass even if nothing passes");
        desk.push(
            Problem::error(Code::SuspiciousValue, at, message)
                .hint("write a share above 0, at most 1"),
        );
        whole = false;
    }
    whole.then_some(())
}

fn built(
    info: EvalInfo,
    config: &EvalConfig,
    prompts: LoadedPrompts,
    cases: model::EvalCases,
    head: &Node,
) -> BuiltEval {
    BuiltEval {
        eval: Arc::new(Eval {
            info,
            parallel: config.parallel.unwrap_or(true),
            prompts,
            cases,
        }),
        at: head.locate("/metadata/id"),
    }
}

/// The settings that `config` and `metadata` may both hold; different values are an error that
/// names both lines.
fn header(
    desk: &mut SuiteDesk,
    node: &Node,
    config: &EvalConfig,
    metadata: &EvalMetadata,
) -> EvalHeader {
    let mut both = |key: &str, differ: bool| {
        if differ {
            let (first, second) = (
                node.key_span(&format!("/config/{key}")),
                node.key_span(&format!("/metadata/{key}")),
            );
            let line = |span: Span| desk.sources.position(span).line;
            let message = format!(
                "`config.{key}` (line {}) and `metadata.{key}` (line {}) differ",
                line(first),
                line(second)
            );
            desk.problems.push(
                Problem::error(Code::BothSpellings, first.max(second), message)
                    .hint(format!("keep one of them, preferably `config.{key}`"))
                    .related(first.min(second), "the other one"),
            );
        }
    };
    let clash =
        |a: Option<f64>, b: Option<f64>| a.zip(b).is_some_and(|(a, b)| a.total_cmp(&b).is_ne());
    both(
        "timeout_seconds",
        clash(config.timeout_seconds, metadata.timeout_seconds),
    );
    both(
        "retries",
        config
            .retries
            .zip(metadata.retries)
            .is_some_and(|(a, b)| a != b),
    );
    EvalHeader {
        timeout: config
            .timeout_seconds
            .or(metadata.timeout_seconds)
            .map(seconds),
        retries: config.retries.or(metadata.retries),
        samples: config.samples,
        python: EvalPython::resolve(desk, config.sandbox.as_ref(), node),
        ..EvalHeader::default()
    }
}

fn file(desk: &mut SuiteDesk, node: &mut Node, broken: &BrokenPlaces) -> Option<BuiltEval> {
    let (head, cases_node, mut dataset_node) = split(node);
    let spec: Option<EvalFile> = read(&head, broken, desk.problems);
    let mut header = EvalHeader::default();
    let (mut info, mut depends_on) = (None, None);
    if let Some(spec) = &spec {
        header = self::header(desk, &head, &spec.config, &spec.metadata);
        header.written = WrittenGraders::of(
            desk,
            &head,
            spec.grader.clone(),
            spec.graders.clone(),
            spec.combine.clone(),
        );
        header.extract =
            inputs::extract(desk, &spec.extract.0, head.get("extract")).unwrap_or_default();
        header.max_latency_ms = spec.max_latency_ms;
        let of_suite = desk.suite.workspace.as_ref();
        header.workspace = workspace::of_level(desk, &spec.workspace, &head, of_suite);
        let kind = spec.eval_type.unwrap_or(EvalType::Capability);
        info = info_of(desk, &head, kind, &spec.metadata, &spec.config);
        depends_on = declared_dependencies(desk, &head, &spec.config);
    }
    let mut cases = UniqueCases::default();
    let written = cases_node.as_ref().and_then(Node::as_seq);
    for case in written.into_iter().flatten() {
        let at = case.locate("/id");
        if let Some(id) = case.get("id").and_then(Node::as_text) {
            cases.claim(desk, id, at);
        }
        if let Some(spec) = read::<CaseSpec>(case, broken, desk.problems) {
            let origin = desk.place(case.span);
            if let Some(case) = finish(desk, spec, case, origin, &header) {
                cases.add(case);
            }
        }
    }
    let written = cases.claimed();
    let mut from_data = 0;
    if let Some(dataset) = dataset_node.as_mut().filter(|d| !broken.holds(d)) {
        let loaded = dataset::load(desk, dataset, &header, &mut cases);
        from_data = loaded.rows;
        if let Some(info) = &mut info {
            info.dataset = loaded.read.map(Box::new);
        }
    }
    if let Some(info) = &mut info {
        info.dependencies = depends::of_eval(depends_on.as_ref(), None, &cases.inputs, desk.suite);
    }
    if spec.is_some() && written == 0 && from_data == 0 && dataset_node.is_none() {
        let at = cases_node
            .as_ref()
            .map_or(head.locate("/metadata/id"), |n| n.span);
        let message = "the eval has no cases, so it would pass without a test";
        return desk.refuse(
            Problem::error(Code::EmptyCases, at, message).hint("add `test_cases:` or a `dataset:`"),
        );
    }
    let spec = spec?;
    let prompts = prompts::of_eval(desk, &spec.prompts, &head);
    Some(built(info?, &spec.config, prompts, cases.whole(), &head))
}

/// A file's tree without its cases, its cases, and its dataset.
fn split(node: &mut Node) -> (Node, Option<Node>, Option<Node>) {
    let (mut cases, mut dataset, mut head) = (None, None, Vec::new());
    if let NodeValue::Map(entries) = std::mem::replace(&mut node.value, NodeValue::Null) {
        for (key, value) in entries {
            match &*key.name {
                "test_cases" => cases = Some(value),
                "dataset" => dataset = Some(value),
                _ => head.push((key, value)),
            }
        }
    }
    (
        Node {
            span: node.span,
            value: NodeValue::Map(head),
        },
        cases,
        dataset,
    )
}

fn regression(
    desk: &mut SuiteDesk,
    node: &Node,
    broken: &BrokenPlaces,
    shelf: &mut BaselineShelf,
) -> Option<BuiltEval> {
    let spec: RegressionDocument = read(node, broken, desk.problems)?;
    let header = header(desk, node, &spec.config, &spec.metadata);
    let kind = spec.eval_type.unwrap_or(EvalType::Regression);
    let info = info_of(desk, node, kind, &spec.metadata, &spec.config);
    let case = regression_case(desk, node, &spec, &header, shelf)?;
    let depends_on = declared_dependencies(desk, node, &spec.config);
    let mut inputs = WorkspaceInputs::default();
    inputs.extend_of(case.workspace.as_deref());
    let target = case.target.as_ref();
    let dependencies = depends::of_eval(depends_on.as_ref(), target, &inputs, desk.suite);
    let info = EvalInfo {
        dependencies,
        ..info?
    };
    let cases = model::EvalCases::written(vec![Arc::new(case)]);
    let prompts = prompts::of_eval(desk, &spec.prompts, node);
    Some(built(info, &spec.config, prompts, cases, node))
}

fn regression_case(
    desk: &mut SuiteDesk,
    node: &Node,
    spec: &RegressionDocument,
    header: &EvalHeader,
    shelf: &mut BaselineShelf,
) -> Option<Case> {
    let (id, id_at) = (&spec.metadata.id, node.locate("/metadata/id"));
    let written = WrittenGraders::of(
        desk,
        node,
        spec.grader.clone(),
        spec.graders.clone(),
        spec.combine.clone(),
    );
    let current = node.get("current").unwrap_or(node);
    let input_node = current.get("input").unwrap_or(current);
    let input = inputs::regression_input(desk, &spec.current.input, input_node);
    let execution = current.get("execution").unwrap_or(current);
    let target = match &spec.current.execution {
        // Recorded outputs take the place of any target.
        Some(target) if !desk.suite.recorded => {
            let dir = desk.dir.to_path_buf();
            Some(targets::resolve(desk, target, execution, &dir))
        }
        _ => None,
    };
    let comparison = regressions::comparison(desk, spec.comparison.as_ref(), &spec.current, node);
    let known = match desk.suite.known_good.get(id) {
        Some(output) => Some(baselines::of_output(
            output,
            comparison.map(|(comparison, _)| comparison.kind),
        )),
        None => baselines::known_good(desk, id, spec.baseline.as_ref(), node, shelf).ok()?,
    };
    let baseline = known.as_ref().map(|known| &known.output);
    let of_suite = desk.suite.workspace.as_ref();
    let mut workspace = workspace::of_level(desk, &spec.workspace, node, of_suite);
    let is_agent = matches!(target, Some(Some(Target::Agent(_))));
    if workspace.is_none() && is_agent && spec.workspace.is_inherited() {
        workspace = Some(workspace::empty(desk, execution.span));
    }
    let settled = workspace.as_ref().map(|workspace| &workspace.settled);
    let graded = GradedCase {
        workspace: settled.map(|settled| &**settled),
        target: match &target {
            Some(own) => own.as_ref(),
            None => desk.suite.asks.as_ref(),
        }
        .filter(|_| desk.suite.asks_targets),
        ..GradedCase::default()
    };
    let grading = regressions::grading(desk, written, comparison, (baseline, graded), id_at);
    let extract = inputs::extract(desk, &spec.extract.0, node.get("extract"));
    let origin = desk.place(node.span);
    let made = ResolvedCase {
        input: input?,
        grading: grading?,
        extract: extract?,
        target: match target {
            Some(found) => Some(found?),
            None => None,
        },
        workspace: settled.cloned(),
    };
    let own = made.target.as_ref().map(|target| (target, execution.span));
    targets::check_input(desk, &made.input, own, input_node)?;
    workspace::check_target(
        desk,
        workspace.map(|workspace| workspace.at),
        own,
        input_node.span,
    )?;
    let mut case = assemble(desk.suite, id.clone(), made, header, origin);
    case.context_told = inputs::tells_context(desk, input_node);
    if let Some(known) = known {
        baselines::check_target(desk, id_at, known.target.as_ref(), case.target.as_ref());
        case.expected = Some(known.output);
        case.baseline = Some(Box::new(known.origin));
    }
    set_latency(&mut case, spec.max_latency_ms);
    Some(case)
}

/// What a case is made of, resolved.
pub(super) struct ResolvedCase {
    pub input: CaseInput,
    pub grading: CaseGrading,
    pub extract: Vec<ExtractMethod>,
    pub target: Option<Target>,
    pub workspace: Option<Arc<CaseWorkspace>>,
}

/// A case with the settings of its eval and its suite, which is not hashed for grading yet.
pub(super) fn assemble(
    suite: &SuiteScope,
    id: String,
    mut made: ResolvedCase,
    header: &EvalHeader,
    origin: String,
) -> Case {
    let timeout = suite
        .timeout
        .or(header.timeout)
        .or(suite.suite_timeout)
        .unwrap_or(DEFAULT_TIMEOUT);
    if let CaseInput::ApiCall {
        headers, endpoint, ..
    } = &made.input
    {
        suite.secrets.of_headers(headers);
        suite.secrets.of_endpoint(endpoint);
    }
    if let Some(python) = &header.python {
        python.apply(&mut made.grading);
    }
    Case {
        id,
        name: None,
        input_hash: match &made.workspace {
            Some(workspace) => inputs::input_hash_in(&made.input, workspace),
            None => inputs::input_hash(&made.input),
        },
        grading_hash: Fingerprint::default(),
        data_hash: inputs::data_hash(&made.input),
        input: made.input,
        context_told: false,
        grading: made.grading,
        extract: made.extract,
        samples: suite.samples.or(header.samples).or(suite.suite_samples),
        timeout,
        retries: header.retries,
        max_latency: None,
        target: made.target,
        expected: None,
        solution: None,
        solution_work: None,
        dataset_format: None,
        baseline: None,
        workspace: made.workspace,
        tags: Vec::new(),
        difficulty: None,
        origin,
    }
}

pub(super) fn set_latency(case: &mut Case, max_latency_ms: Option<f64>) {
    case.max_latency = max_latency_ms.map(|ms| seconds(ms / 1000.0));
    case.grading_hash = inputs::grading_hash(&case.grading, &case.extract, max_latency_ms);
}

/// A case with everything resolved; `None` after saying what is wrong.
pub(super) fn finish(
    desk: &mut SuiteDesk,
    spec: CaseSpec,
    node: &Node,
    origin: String,
    header: &EvalHeader,
) -> Option<Case> {
    let input_node = node.get("input").unwrap_or(node);
    let input = inputs::input(desk, spec.input, input_node);
    let extract = if spec.extract.0.is_empty() {
        Some(header.extract.clone())
    } else {
        inputs::extract(desk, &spec.extract.0, node.get("extract"))
    };
    let expected_spec = spec.expected.map(expectation);
    let expected_node = node.get("expected");
    let expected = expected_spec.as_ref().map(|spec| PlacedExpectation {
        spec,
        span: expected_node.map_or(node.span, |n| n.span),
        node: expected_node,
    });
    if let (Some(ExpectedSpec::Structural(_)), Some(value)) =
        (&expected_spec, expected_node.and_then(|n| n.get("value")))
    {
        check_matchers(desk, value);
    }
    let own = WrittenGraders::of(desk, node, spec.grader, spec.graders, spec.combine);
    let written = if own.is_empty() {
        &header.written
    } else {
        &own
    };
    let workspace = workspace::of_level(desk, &spec.workspace, node, header.workspace.as_ref());
    let settled = workspace.as_ref().map(|workspace| &workspace.settled);
    let graded = GradedCase {
        expected,
        workspace: settled.map(|settled| &**settled),
        target: desk.suite.asks.as_ref().filter(|_| desk.suite.asks_targets),
        ..GradedCase::default()
    };
    let grading = graders::resolve(desk, written, graded, node.locate("/id"));
    let made = ResolvedCase {
        input: input?,
        grading: grading?,
        extract: extract?,
        target: None,
        workspace: settled.cloned(),
    };
    targets::check_input(desk, &made.input, None, input_node)?;
    workspace::check_target(
        desk,
        workspace.map(|workspace| workspace.at),
        None,
        input_node.span,
    )?;
    let mut case = assemble(desk.suite, spec.id, made, header, origin);
    case.context_told = inputs::tells_context(desk, input_node);
    case.name = spec.name;
    case.tags = spec.tags;
    case.difficulty = spec.difficulty;
    case.expected = expected.and_then(|e| e.values().into_iter().next());
    if case.workspace.is_some() {
        let is_judged_alone = case.grading.is_of_workspace();
        let work = workspace::solution(desk, node, is_judged_alone)?;
        case.solution_work = work.map(Arc::new);
    }
    case.solution = spec.solution.map(|value| match value {
        serde_json::Value::String(text) => OutputValue::Text(text),
        json => OutputValue::Json(json),
    });
    case.samples = desk.suite.samples.or(spec.samples).or(case.samples);
    case.retries = spec.retries.or(case.retries);
    if let (Some(own), None) = (spec.timeout_seconds, desk.suite.timeout) {
        case.timeout = seconds(own);
    }
    set_latency(&mut case, spec.max_latency_ms.or(header.max_latency_ms));
    Some(case)
}

/// A bare text is an exact expectation.
fn expectation(written: ExpectedRef) -> ExpectedSpec {
    match written {
        NameOr::Inline(spec) => spec,
        NameOr::Name(text) => ExpectedSpec::Exact(ExactExpected {
            value: serde_json::Value::String(text),
            alternatives: Vec::new(),
        }),
    }
}
