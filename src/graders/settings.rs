//! What the settings of several methods need to become graders: what the case expects, and problems
//! that methods have in common.

use serde_json::Value;

use super::known_methods;
use crate::load::{Code, Node, Problem, Span, SuiteDesk};
use crate::model::{CaseWorkspace, Target};
use crate::spec::{ExpectedSpec, ToleranceSpec};
use eval_match::{Tolerance, without_literals};

/// What a case expects, with its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlacedExpectation<'a> {
    pub spec: &'a ExpectedSpec,
    pub span: Span,
    /// Where it is written.
    pub node: Option<&'a Node>,
}

impl PlacedExpectation<'_> {
    /// The word after `expected.type`.
    pub fn kind(&self) -> &'static str {
        match self.spec {
            ExpectedSpec::Exact(_) => "exact",
            ExpectedSpec::Contains(_) => "contains",
            ExpectedSpec::Pattern(_) => "pattern",
            ExpectedSpec::Semantic(_) => "semantic",
            ExpectedSpec::Functional(_) => "functional",
            ExpectedSpec::Numeric(_) => "numeric",
            ExpectedSpec::Json(_) => "json",
            ExpectedSpec::Structural(_) => "structural",
        }
    }

    /// The value and its alternatives, of kinds that have any; for reports the first stands for
    /// all.
    pub fn values(&self) -> Vec<Value> {
        let with = |value: &Value, alternatives: &[Value]| {
            std::iter::once(value)
                .chain(alternatives)
                .cloned()
                .collect::<Vec<_>>()
        };
        match self.spec {
            ExpectedSpec::Exact(e) => with(&e.value, &e.alternatives),
            ExpectedSpec::Semantic(e) => with(&e.value, &e.alternatives),
            ExpectedSpec::Numeric(e) => e.value.iter().chain(&e.alternatives).cloned().collect(),
            ExpectedSpec::Json(e) => e.value.iter().chain(&e.alternatives).cloned().collect(),
            ExpectedSpec::Structural(e) => vec![e.value.clone()],
            ExpectedSpec::Pattern(e) => std::iter::once(&e.value)
                .chain(&e.alternatives)
                .map(|p| Value::from(p.as_str()))
                .collect(),
            ExpectedSpec::Contains(e) => serde_json::to_value(&e.value)
                .map(without_nulls)
                .into_iter()
                .collect(),
            ExpectedSpec::Functional(e) => serde_json::to_value(&e.value).into_iter().collect(),
        }
    }
}

/// What a grader may compare an output with besides its settings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CaseExpectation<'a> {
    pub expected: Option<PlacedExpectation<'a>>,
    pub baseline: Option<&'a Value>,
    /// The workspace of the case, merged from all levels. `None` also where graders are checked
    /// without a case, which drops problems of [`Code::GraderIncomplete`].
    pub workspace: Option<&'a CaseWorkspace>,
    /// Whose outputs are graded, where that is known.
    pub target: Option<&'a Target>,
}

impl CaseExpectation<'_> {
    /// The place of what is expected; without it, of the settings.
    pub fn span_or(&self, node: &Node) -> Span {
        self.expected.map_or(node.span, |expected| expected.span)
    }

    /// What a judge or a program is shown: the expectation as written, else the baseline.
    pub fn reference(&self) -> Option<Value> {
        let Some(expected) = self.expected else {
            return self.baseline.map(without_literals);
        };
        let values = expected.values();
        if values.len() > 1 {
            Some(Value::Array(values))
        } else {
            values.into_iter().next()
        }
    }

    /// Warns of a reader of trajectories for a target that has none.
    pub fn warn_without_trajectory(&self, desk: &mut SuiteDesk, reader: &str, at: Span) {
        let without =
            |target: &&Target| !matches!(target, Target::Agent(_) | Target::Recorded { .. });
        let Some(target) = self.target.filter(without) else {
            return;
        };
        let message = format!(
            "`{reader}` needs a trajectory, but a target of type `{}` has none, so every grade is errored",
            target.kind()
        );
        let hint = "use a target of type `agent`, or recorded outputs with a `trajectory`";
        desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
    }

    /// `None` after reporting that a method needs a workspace, and the case has none. A suite that
    /// is not known may define one.
    pub fn require_workspace(&self, desk: &mut SuiteDesk, method: &str, at: Span) -> Option<()> {
        if self.workspace.is_some() || desk.may_define_more() {
            return Some(());
        }
        let message = format!("`{method}` needs a workspace, but the case has none");
        let hint = "add `workspace:` to the suite, the eval or the case";
        desk.refuse(incomplete(at, &message, hint))
    }
}

/// An error about an expectation that a method cannot read.
pub(crate) fn misfit(method: &str, expected: PlacedExpectation) -> Problem {
    let kind = expected.kind();
    let message = format!("`{method}` cannot grade an expectation of type `{kind}`");
    let problem = Problem::error(Code::GraderConflict, expected.span, message);
    match method_of_expectation(kind) {
        Some(fitting) if fitting != method => problem.hint(format!(
            "`method: {fitting}` grades it, or change `expected.type`"
        )),
        _ => problem.hint("a judge (`type: model`) grades it"),
    }
}

/// The problem of settings that lack something.
pub(crate) fn incomplete(at: Span, message: &str, hint: &str) -> Problem {
    Problem::error(Code::GraderIncomplete, at, message).hint(hint)
}

/// The expected values: of the case, of the grader's `value`, or the baseline. Two that differ are
/// a conflict.
pub(crate) fn wanted(
    desk: &mut SuiteDesk,
    method: &str,
    own: Option<&Value>,
    node: &Node,
    case: CaseExpectation,
) -> Option<Vec<Value>> {
    let CaseExpectation {
        expected, baseline, ..
    } = case;
    let from_case = match expected {
        Some(e) => match e.spec {
            ExpectedSpec::Exact(_) | ExpectedSpec::Json(_) | ExpectedSpec::Numeric(_) => e.values(),
            ExpectedSpec::Structural(_) if method != "numeric" => e.values(),
            ExpectedSpec::Semantic(s) if own.is_none() && s.value.is_string() => e.values(),
            _ if own.is_some() => Vec::new(),
            _ => {
                return desk.refuse(misfit(method, e));
            }
        },
        // A structural comparison reads literals itself.
        None if method == "structural_match" => baseline.into_iter().cloned().collect(),
        None => baseline.into_iter().map(without_literals).collect(),
    };
    match (own, from_case.is_empty()) {
        (Some(own), true) => Some(vec![own.clone()]),
        (Some(own), false) if from_case.first() == Some(own) => Some(from_case),
        (Some(_), false) => {
            let at = node.key_span("/value");
            let message =
                "the grader's `value` and the case's expectation are two different answers";
            let problem = Problem::error(Code::GraderConflict, at, message);
            desk.refuse(match expected {
                Some(e) => problem.related(e.span, "the other one"),
                None => problem,
            })
        }
        (None, _) => Some(from_case),
    }
}

pub(crate) fn tolerance(spec: ToleranceSpec) -> Tolerance {
    Tolerance {
        absolute: spec.absolute,
        relative: spec.relative,
        min_delta: spec.min_delta,
        max_delta: spec.max_delta,
    }
}

/// Drops what was not written, so that hashes and journals hold only settings.
pub(crate) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k, without_nulls(v)))
                .collect(),
        ),
        other => other,
    }
}

/// The method that grades an expectation; a judge's has none.
pub(crate) fn method_of_expectation(kind: &str) -> Option<&'static str> {
    known_methods()
        .iter()
        .find(|method| method.expectation == Some(kind))
        .map(|method| method.name)
}
