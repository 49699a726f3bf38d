//! What a file is, told from its keys; and the places in it where definitions and cases stand.

use super::problem::{Code, Problem};
use super::tree::{Node, NodeValue};
use crate::spec::{EvalShape, SchemaKind, ShapeName};

/// Top-level keys by which files that are not evals are known, the surest first.
const SIGNS: [(&str, SchemaKind); 14] = [
    ("eval_suite", SchemaKind::Suite),
    ("eval_trigger", SchemaKind::Trigger),
    ("phase", SchemaKind::Phase),
    ("phases", SchemaKind::Phase),
    ("eval_id", SchemaKind::Baseline),
    ("graders", SchemaKind::Graders),
    ("rubrics", SchemaKind::Graders),
    ("defaults", SchemaKind::Graders),
    ("executors", SchemaKind::Executors),
    ("prices", SchemaKind::Prices),
    ("presets", SchemaKind::Thresholds),
    ("thresholds", SchemaKind::Thresholds),
    ("completion", SchemaKind::Recorded),
    ("solution", SchemaKind::Recorded),
];

/// Keys that only evals have at their top; they win over [`SIGNS`], since an eval file may hold
/// `graders:` too.
const EVAL_SIGNS: [&str; 9] = [
    "capability_eval",
    "regression_eval",
    "metadata",
    "test_cases",
    "dataset",
    "baseline",
    "test_case",
    "current",
    "input",
];

/// The kind of a document; `None` when it has none of the known shapes.
pub(super) fn detect(node: &Node) -> Option<SchemaKind> {
    match &node.value {
        NodeValue::Seq(_) => Some(SchemaKind::Eval),
        NodeValue::Map(_) if node.get("eval_suite").is_some() => Some(SchemaKind::Suite),
        NodeValue::Map(_)
            if ["format_version", "eval_id"]
                .iter()
                .all(|key| node.get(key).is_some()) =>
        {
            Some(SchemaKind::Baseline)
        }
        NodeValue::Map(_)
            if ["format_version", "evals", "metrics"]
                .iter()
                .all(|key| node.get(key).is_some()) =>
        {
            Some(SchemaKind::Scores)
        }
        NodeValue::Map(_)
            if ["format_version", "confusion", "fingerprint"]
                .iter()
                .all(|key| node.get(key).is_some()) =>
        {
            Some(SchemaKind::Calibration)
        }
        NodeValue::Map(_) if EVAL_SIGNS.iter().any(|key| node.get(key).is_some()) => {
            Some(SchemaKind::Eval)
        }
        // The keys of a suite that are not under `eval_suite:`, whatever is beside them.
        NodeValue::Map(_) if node.get("evals").is_some() && node.get("id").is_none() => None,
        NodeValue::Map(_) => SIGNS
            .iter()
            .find(|(key, _)| node.get(key).is_some())
            .map(|(_, kind)| *kind)
            .or_else(|| {
                let keys = ["id", "prompt", "asserts"];
                let is_eval = keys.iter().any(|key| node.get(key).is_some());
                is_eval.then_some(SchemaKind::Eval)
            }),
        _ => None,
    }
}

/// The problem of a document that [`detect`] does not know.
pub(super) fn unknown_kind(node: &Node) -> Problem {
    let has = |keys: &[&str]| keys.iter().any(|key| node.get(key).is_some());
    let known = SIGNS.iter().map(|(key, _)| *key).take(12).chain(EVAL_SIGNS);
    let (message, hint) = if has(&["eval_report"]) {
        (
            "this is a report of a run, which eval-harness writes and does not read",
            "`eval-harness report --run RUN` prints a report again, from the run's journal"
                .to_owned(),
        )
    } else if has(&["evals"]) {
        (
            "this looks like a suite without `eval_suite:`",
            "begin the file with `eval_suite:`, and indent the rest of the file below it"
                .to_owned(),
        )
    } else if has(&["tests", "providers", "prompts"]) {
        (
            "this looks like the configuration of another tool",
            "a suite begins with `eval_suite:`; in it, `target:` is the model under test, and each element of `evals:` has an `id`, a \
             `prompt` and one of `expected`, `asserts` and `grader`"
                .to_owned(),
        )
    } else {
        (
            "eval-harness does not know this kind of file",
            format!(
                "a suite begins with `eval_suite:`; other files have one of these top-level keys: {}",
                known.collect::<Vec<_>>().join(", ")
            ),
        )
    };
    Problem::error(Code::UnknownShape, node.span.at_start(), message).hint(hint)
}

/// A part of an eval document that becomes one eval.
#[derive(Debug)]
pub(super) enum DocumentPart<'a> {
    Capability(&'a mut Node),
    Regression(&'a mut Node),
    File(&'a mut Node),
    Document(&'a mut Node),
}

impl DocumentPart<'_> {
    pub fn node(&self) -> &Node {
        let (DocumentPart::Capability(node)
        | DocumentPart::Regression(node)
        | DocumentPart::File(node)
        | DocumentPart::Document(node)) = self;
        node
    }

    /// What the eval says of itself: a definition at its top, a file under `metadata`.
    pub fn head(&self) -> Option<&Node> {
        match self {
            DocumentPart::Capability(node) | DocumentPart::Regression(node) => Some(node),
            DocumentPart::File(node) | DocumentPart::Document(node) => node.get("metadata"),
        }
    }

    /// The id of the eval, where it is written as a text.
    pub fn id(&self) -> Option<&str> {
        self.head()?.get("id")?.as_text()
    }
}

/// The parts of an eval document (or of an inline eval of a suite), in order.
pub(super) fn parts(node: &mut Node) -> Vec<DocumentPart<'_>> {
    let is_list = node.as_seq().is_some();
    if !is_list && node.as_map().is_none() {
        return Vec::new();
    }
    match EvalShape::name_of(is_list, |key| node.get(key).is_some()) {
        ShapeName::List => match &mut node.value {
            NodeValue::Seq(items) => items.iter_mut().filter_map(definition).collect(),
            _ => Vec::new(),
        },
        ShapeName::Single => definition(node).into_iter().collect(),
        ShapeName::Capability => under(node, "capability_eval")
            .into_iter()
            .map(DocumentPart::Capability)
            .collect(),
        ShapeName::Regression => under(node, "regression_eval")
            .into_iter()
            .map(DocumentPart::Regression)
            .collect(),
        ShapeName::File => vec![DocumentPart::File(node)],
        ShapeName::Document => vec![DocumentPart::Document(node)],
    }
}

fn definition(node: &mut Node) -> Option<DocumentPart<'_>> {
    node.as_map()?;
    let regression = ["baseline", "current", "test_case", "comparison"]
        .iter()
        .any(|k| node.get(k).is_some());
    Some(if regression {
        DocumentPart::Regression(node)
    } else {
        DocumentPart::Capability(node)
    })
}

/// One definition or a list of them under a key.
fn under<'a>(node: &'a mut Node, key: &str) -> Vec<&'a mut Node> {
    match node.get_mut(key) {
        Some(Node {
            value: NodeValue::Seq(items),
            ..
        }) => items
            .iter_mut()
            .filter(|item| item.as_map().is_some())
            .collect(),
        Some(one) if one.as_map().is_some() => vec![one],
        _ => Vec::new(),
    }
}

/// The evals that stand inline in a suite's document.
pub(super) fn inline_evals(suite: &mut Node) -> Vec<&mut Node> {
    let suite = suite.get_mut("eval_suite");
    let evals = suite.map_or(&mut [][..], |suite| suite.seq_mut("evals"));
    let is_inline = |eval: &&mut Node| eval.get("$ref").is_none();
    evals.iter_mut().filter(is_inline).collect()
}
