//! Evals from the parts of a document: headers, cases, and the rules that hold between them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::baselines::{self, Shelf};
use super::cases::Cases;
use super::dataset;
use super::graders::{self, Known, Written};
use super::inputs;
use super::kinds::{Part, parts};
use super::problem::{Code, Problem};
use super::reach::within_reach;
use super::regressions;
use super::scope::{DEFAULT_TIMEOUT, Desk, seconds};
use super::session::{Broken, read};
use super::source::Span;
use super::targets;
use super::tree::{Node, NodeValue};
use crate::graders::settings::Expected;
use crate::graders::structural_match::check_matchers;
use crate::model::{self, Case, Eval, EvalInfo, EvalType, Extract, Fingerprint, Input, Target};
use crate::spec::{
    CapabilityDefinition, CaseSpec, DefinitionMetadata, EvalConfig, EvalFile, EvalMetadata,
    ExactExpected, ExpectedRef, ExpectedSpec, NameOr, RegressionDefinition, RegressionDocument,
};

/// An eval and where its id stands.
#[derive(Debug, Clone)]
pub(super) struct Built {
    pub eval: Arc<Eval>,
    pub at: Span,
}

/// What cases take from their eval.
#[derive(Debug, Clone, Default)]
pub(super) struct Header {
    pub written: Written,
    pub extract: Vec<Extract>,
    pub max_latency_ms: Option<f64>,
    pub timeout: Option<Duration>,
    pub samples: Option<u32>,
    pub retries: Option<u32>,
}

/// One case, apart from where its texts came from.
pub(super) struct Draft<'a> {
    pub spec: CaseSpec,
    pub node: &'a Node,
    pub origin: String,
}

/// The evals of a document whose tree was prepared; parts that are broken are left out. `json` is
/// the document's JSON where the schema check made it, so that its cases need not be made again.
pub(super) fn build(
    desk: &mut Desk,
    document: &mut Node,
    broken: &Broken,
    mut json: Option<Value>,
    mut shelf: Shelf,
) -> Vec<Built> {
    let mut values = match json
        .as_mut()
        .and_then(|j| j.get_mut("test_cases"))
        .map(Value::take)
    {
        Some(Value::Array(cases)) => cases,
        _ => Vec::new(),
    };

    let mut evals = Vec::new();
    for part in parts(document) {
        evals.extend(within_reach(desk, part, |desk, part| match part {
            Part::Capability(node) => capability(desk, node, broken),
            Part::Regression(node) => regression(desk, node, broken, &mut shelf),
            Part::Document(node) => regression_document(desk, node, broken, &mut shelf),
            Part::File(node) => file(desk, node, broken, &mut values),
        }));
    }
    evals
}

fn capability(desk: &mut Desk, node: &Node, broken: &Broken) -> Option<Built> {
    let spec: CapabilityDefinition = read(node, broken, desk.problems)?;
    let mut parallel = None;
    let header = header(desk, node, &spec.config, &spec.metadata, &mut parallel);
    let info = definition_info(
        desk,
        node,
        EvalType::Capability,
        &spec,
        &spec.metadata,
        &spec.config,
    );
    let case = CaseSpec {
        id: spec.id.clone(),
        name: spec.name,
        description: None,
        input: spec.input,
        expected: spec.expected,
        grader: spec.grader,
        graders: spec.graders,
        combine: spec.combine,
        extract: spec.extract,
        max_latency_ms: spec.max_latency_ms,
        timeout_seconds: None,
        retries: None,
        samples: None,
        difficulty: None,
        tags: Vec::new(),
    };
    let origin = desk.place(node.span);
    let case = finish(
        desk,
        Draft {
            spec: case,
            node,
            origin,
        },
        &header,
    )?;
    Some(built(
        info?,
        parallel,
        model::Cases::written(vec![Arc::new(case)]),
        node.locate("/id"),
    ))
}

/// What a definition of either type says of itself.
trait Definition {
    fn id(&self) -> &str;
    fn name(&self) -> Option<&String>;
    fn description(&self) -> Option<&String>;
    fn category(&self) -> Option<&String>;
}

macro_rules! definitions {
    ($($kind:ty),*) => {$(
        impl Definition for $kind {
            fn id(&self) -> &str {
                &self.id
            }
            fn name(&self) -> Option<&String> {
                self.name.as_ref()
            }
            fn description(&self) -> Option<&String> {
                self.description.as_ref()
            }
            fn category(&self) -> Option<&String> {
                self.category.as_ref()
            }
        }
    )*};
}
definitions!(CapabilityDefinition, RegressionDefinition, EvalMetadata);

fn definition_info(
    desk: &mut Desk,
    node: &Node,
    kind: EvalType,
    spec: &impl Definition,
    metadata: &DefinitionMetadata,
    config: &EvalConfig,
) -> Option<EvalInfo> {
    check_shares(desk, config, node)?;
    let id = if node.get("id").is_some() {
        "/id"
    } else {
        "/metadata/id"
    };
    Some(EvalInfo {
        id: spec.id().to_owned(),
        name: spec.name().cloned().unwrap_or_else(|| spec.id().to_owned()),
        description: spec.description().cloned(),
        kind,
        category: spec.category().cloned(),
        tags: metadata.tags.clone(),
        weight: metadata.weight.unwrap_or(1.0),
        difficulty: metadata.difficulty,
        criticality: metadata.criticality,
        pass_rate_threshold: config.pass_rate_threshold.unwrap_or(1.0),
        score_threshold: config.score_threshold,
        source: desk.line_of(node.locate(id)),
    })
}

fn file_info(
    desk: &mut Desk,
    node: &Node,
    kind: EvalType,
    metadata: &EvalMetadata,
    config: &EvalConfig,
) -> Option<EvalInfo> {
    let about = DefinitionMetadata {
        difficulty: metadata.difficulty,
        tags: metadata.tags.clone(),
        weight: metadata.weight,
        criticality: metadata.criticality,
        ..DefinitionMetadata::default()
    };
    definition_info(desk, node, kind, metadata, &about, config)
}

/// A share of 0 would let an eval pass that never passed anything.
fn check_shares(desk: &mut Desk, config: &EvalConfig, node: &Node) -> Option<()> {
    let shares = [
        ("pass_rate_threshold", config.pass_rate_threshold),
        ("score_threshold", config.score_threshold),
    ];
    let mut whole = true;
    for (key, _) in shares.into_iter().filter(|(_, share)| *share == Some(0.0)) {
        let at = node.locate(&format!("/config/{key}"));
        let message = format!("`{key}: 0` would pass without a single pass");
        desk.push(
            Problem::error(Code::SuspiciousValue, at, message).hint("a share above 0, at most 1"),
        );
        whole = false;
    }
    whole.then_some(())
}

fn built(info: EvalInfo, parallel: Option<bool>, cases: model::Cases, at: Span) -> Built {
    Built {
        eval: Arc::new(Eval {
            info,
            parallel: parallel.unwrap_or(true),
            cases,
        }),
        at,
    }
}

/// The settings that `config` and `metadata` may both hold; different values are an error that
/// names both lines.
fn header(
    desk: &mut Desk,
    node: &Node,
    config: &EvalConfig,
    metadata: &DefinitionMetadata,
    parallel: &mut Option<bool>,
) -> Header {
    *parallel = config.parallel;
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
                    .hint(format!("keep one of them, best `config.{key}`"))
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
    Header {
        timeout: config
            .timeout_seconds
            .or(metadata.timeout_seconds)
            .map(seconds),
        retries: config.retries.or(metadata.retries),
        samples: config.samples,
        ..Header::default()
    }
}

fn file(desk: &mut Desk, node: &mut Node, broken: &Broken, values: &mut [Value]) -> Option<Built> {
    let (head, mut cases_node, mut dataset_node) = split(node);
    let spec: Option<EvalFile> = read(&head, broken, desk.problems);
    let mut header = Header::default();
    let mut parallel = None;
    let mut info = None;
    if let Some(spec) = &spec {
        let about = DefinitionMetadata {
            timeout_seconds: spec.metadata.timeout_seconds,
            retries: spec.metadata.retries,
            ..DefinitionMetadata::default()
        };
        header = self::header(desk, &head, &spec.config, &about, &mut parallel);
        header.written = Written::of(
            desk,
            &head,
            spec.grader.clone(),
            spec.graders.clone(),
            spec.combine.clone(),
        );
        header.extract =
            inputs::extract(desk, &spec.extract.0, head.get("extract")).unwrap_or_default();
        header.max_latency_ms = spec.max_latency_ms;
        let kind = spec.eval_type.unwrap_or(EvalType::Capability);
        info = file_info(desk, &head, kind, &spec.metadata, &spec.config);
    }
    let mut cases = Cases::default();
    for (i, case) in cases_node
        .as_mut()
        .and_then(seq)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let at = case.locate("/id");
        if let Some(id) = case.get("id").and_then(Node::as_text) {
            cases.claim(desk, id, at);
        }
        let spec = match values.get_mut(i).map(Value::take) {
            Some(value) => serde_json::from_value::<CaseSpec>(value).ok(),
            None => None,
        };
        if let Some(spec) = spec.or_else(|| read::<CaseSpec>(case, broken, desk.problems)) {
            let origin = desk.place(case.span);
            if let Some(case) = finish(
                desk,
                Draft {
                    spec,
                    node: case,
                    origin,
                },
                &header,
            ) {
                cases.add(case);
            }
        }
    }
    let written = cases.claimed();
    let mut from_data = 0;
    if let Some(dataset) = dataset_node.as_mut().filter(|d| !broken.holds(d)) {
        from_data = dataset::load(desk, dataset, &header, &mut cases);
    }
    let at = head.locate("/metadata/id");
    if spec.is_some() && written == 0 && from_data == 0 && dataset_node.is_none() {
        let at = cases_node.as_ref().map_or(at, |n| n.span);
        let message = "the eval has no cases, so it would pass without a test";
        desk.push(
            Problem::error(Code::EmptyCases, at, message).hint("add `test_cases:` or a `dataset:`"),
        );
        return None;
    }
    Some(built(info?, parallel, cases.whole(), at))
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

fn seq(node: &mut Node) -> Option<&mut Vec<Node>> {
    match &mut node.value {
        NodeValue::Seq(items) => Some(items),
        _ => None,
    }
}

fn regression(desk: &mut Desk, node: &Node, broken: &Broken, shelf: &mut Shelf) -> Option<Built> {
    let spec: RegressionDefinition = read(node, broken, desk.problems)?;
    let mut parallel = None;
    let header = header(desk, node, &spec.config, &spec.metadata, &mut parallel);
    let info = definition_info(
        desk,
        node,
        EvalType::Regression,
        &spec,
        &spec.metadata,
        &spec.config,
    );
    let written = Written::of(desk, node, spec.grader, spec.graders, spec.combine);
    let parts = RegressionParts {
        id: &spec.id,
        id_at: node.locate("/id"),
        baseline: spec.baseline.as_ref(),
        current: &spec.current,
        comparison: spec.comparison.as_ref(),
        written,
        extract: &spec.extract.0,
        max_latency_ms: spec.max_latency_ms,
        shelf,
    };
    let case = regression_case(desk, node, parts, &header)?;
    Some(built(
        info?,
        parallel,
        model::Cases::written(vec![Arc::new(case)]),
        node.locate("/id"),
    ))
}

fn regression_document(
    desk: &mut Desk,
    node: &Node,
    broken: &Broken,
    shelf: &mut Shelf,
) -> Option<Built> {
    let spec: RegressionDocument = read(node, broken, desk.problems)?;
    let mut parallel = None;
    let about = DefinitionMetadata {
        timeout_seconds: spec.metadata.timeout_seconds,
        retries: spec.metadata.retries,
        ..DefinitionMetadata::default()
    };
    let header = header(desk, node, &spec.config, &about, &mut parallel);
    let kind = spec.eval_type.unwrap_or(EvalType::Regression);
    let info = file_info(desk, node, kind, &spec.metadata, &spec.config);
    let written = Written::of(desk, node, spec.grader, spec.graders, spec.combine);
    let parts = RegressionParts {
        id: &spec.metadata.id,
        id_at: node.locate("/metadata/id"),
        baseline: spec.baseline.as_ref(),
        current: &spec.current,
        comparison: spec.comparison.as_ref(),
        written,
        extract: &spec.extract.0,
        max_latency_ms: spec.max_latency_ms,
        shelf,
    };
    let case = regression_case(desk, node, parts, &header)?;
    Some(built(
        info?,
        parallel,
        model::Cases::written(vec![Arc::new(case)]),
        node.locate("/metadata/id"),
    ))
}

struct RegressionParts<'a> {
    id: &'a str,
    id_at: Span,
    baseline: Option<&'a crate::spec::BaselineSpec>,
    current: &'a crate::spec::CurrentSpec,
    comparison: Option<&'a crate::spec::ComparisonSpec>,
    written: Written,
    extract: &'a [crate::spec::ExtractSpec],
    max_latency_ms: Option<f64>,
    shelf: &'a mut Shelf,
}

fn regression_case(
    desk: &mut Desk,
    node: &Node,
    parts: RegressionParts,
    header: &Header,
) -> Option<Case> {
    let current = node.get("current").unwrap_or(node);
    let input_node = current.get("input").unwrap_or(current);
    let input = inputs::regression_input(desk, &parts.current.input, input_node);
    let target = match &parts.current.execution {
        // Recorded outputs take the place of any target.
        Some(spec) if !desk.suite.recorded => {
            let execution = current.get("execution").unwrap_or(current);
            let dir = desk.dir.to_path_buf();
            Some(targets::resolve(desk, spec, execution, &dir))
        }
        _ => None,
    };
    let comparison = regressions::comparison(desk, parts.comparison, parts.current, node);
    let known = match desk.suite.known_good.get(parts.id) {
        Some(output) => Some(baselines::of_output(
            output,
            comparison.map(|(comparison, _)| comparison.kind),
        )),
        None => baselines::known_good(desk, parts.id, parts.baseline, node, parts.shelf).ok()?,
    };
    let baseline = known.as_ref().map(|known| &known.output);
    let grading = regressions::grading(desk, parts.written, comparison, baseline, parts.id_at);
    let extract = inputs::extract(desk, parts.extract, node.get("extract"));
    let origin = desk.place(node.span);
    let made = Made {
        input: input?,
        grading: grading?,
        extract: extract?,
        target: transpose(target)?,
    };
    let own = made
        .target
        .as_ref()
        .map(|target| (target, current.get("execution").unwrap_or(current).span));
    targets::check_input(desk, &made.input, own, input_node)?;
    let mut case = assemble(desk, parts.id.to_owned(), made, header, origin);
    case.context_told = inputs::tells_context(desk, input_node);
    if let Some(known) = known {
        baselines::check_target(
            desk,
            parts.id_at,
            known.target.as_ref(),
            case.target.as_ref(),
        );
        case.expected = Some(known.output);
        case.baseline = Some(Box::new(known.origin));
    }
    set_latency(&mut case, parts.max_latency_ms.or(header.max_latency_ms));
    Some(case)
}

/// A target that is not given is fine, one that is given and broken is not.
fn transpose(target: Option<Option<Target>>) -> Option<Option<Target>> {
    match target {
        None => Some(None),
        Some(found) => found.map(Some),
    }
}

struct Made {
    input: Input,
    grading: crate::model::Grading,
    extract: Vec<Extract>,
    target: Option<Target>,
}

fn assemble(desk: &Desk, id: String, made: Made, header: &Header, origin: String) -> Case {
    let timeout = desk
        .suite
        .timeout
        .or(header.timeout)
        .or(desk.suite.suite_timeout)
        .unwrap_or(DEFAULT_TIMEOUT);
    if let Input::ApiCall {
        headers, endpoint, ..
    } = &made.input
    {
        desk.suite.secrets.of_headers(headers);
        desk.suite.secrets.of_endpoint(endpoint);
    }
    Case {
        id,
        name: None,
        input_hash: inputs::input_hash(&made.input),
        grading_hash: Fingerprint::default(),
        data_hash: inputs::data_hash(&made.input),
        input: made.input,
        context_told: false,
        grading: made.grading,
        extract: made.extract,
        samples: desk
            .suite
            .samples
            .or(header.samples)
            .or(desk.suite.suite_samples),
        timeout,
        retries: header.retries,
        max_latency: None,
        target: made.target,
        expected: None,
        baseline: None,
        tags: Vec::new(),
        difficulty: None,
        origin,
    }
}

fn set_latency(case: &mut Case, max_latency_ms: Option<f64>) {
    case.max_latency = max_latency_ms.map(|ms| seconds(ms / 1000.0));
    case.grading_hash = inputs::grading_hash(&case.grading, &case.extract, max_latency_ms);
}

/// A case with everything resolved; `None` after saying what is wrong.
pub(super) fn finish(desk: &mut Desk, draft: Draft, header: &Header) -> Option<Case> {
    let Draft { spec, node, origin } = draft;
    let input_node = node.get("input").unwrap_or(node);
    let input = inputs::input(desk, spec.input, input_node);
    let extract = if spec.extract.0.is_empty() {
        Some(header.extract.clone())
    } else {
        inputs::extract(desk, &spec.extract.0, node.get("extract"))
    };
    let expected_spec = spec.expected.map(expectation);
    let expected_node = node.get("expected");
    let expected = expected_spec.as_ref().map(|spec| Expected {
        spec,
        span: expected_node.map_or(node.span, |n| n.span),
        node: expected_node,
    });
    if let (Some(ExpectedSpec::Structural(_)), Some(value)) =
        (&expected_spec, expected_node.and_then(|n| n.get("value")))
    {
        check_matchers(desk, value);
    }
    let own = Written::of(desk, node, spec.grader, spec.graders, spec.combine);
    let written = if own.is_empty() {
        &header.written
    } else {
        &own
    };
    let grading = graders::resolve(desk, written, expected, Known::Nothing, node.locate("/id"));
    let made = Made {
        input: input?,
        grading: grading?,
        extract: extract?,
        target: None,
    };
    targets::check_input(desk, &made.input, None, input_node)?;
    let mut case = assemble(desk, spec.id, made, header, origin);
    case.context_told = inputs::tells_context(desk, input_node);
    case.name = spec.name;
    case.tags = spec.tags;
    case.difficulty = spec.difficulty;
    case.expected = expected.and_then(|e| e.values().into_iter().next());
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
