//! The code grader `tool_calls`: whether the tool calls in an output are valid, and are those that are
//! expected.

mod calls;
mod matching;
mod schemas;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::patterns::PatternCache;
use super::sample_view::SampleView;
use super::settings::{CaseExpectation, incomplete};
use super::show::{bounded, in_reason};
use super::trajectory::{
    ArgumentRule, ArgumentsMode, ArgumentsSpec, RuleState, SeenTrajectory, SettingPlace,
};
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, SuiteDesk};
use crate::model::limits;
use crate::model::{Cause, Grade, GraderType, NumberKind, OutputValue};
use crate::spec::{NameOr, OneOrMany};
use calls::{OutputCall, calls_in};
use eval_base::text::plural;
use eval_stats::reaches;
use matching::{score_arguments, score_names};
use schemas::ToolSchemas;

const METHOD: &str = "tool_calls";

/// Share of the calls that are expected, share of the expected calls that are made, and the harmonic
/// mean of both.
const PRECISION: &str = "tool_call_precision";
const RECALL: &str = "tool_call_recall";
const F1: &str = "tool_call_f1";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallsSpec {
    /// The tools that may be called, as in a request to a model (`function`, `input_schema`,
    /// `functionDeclarations`), or JSON Schemas of the arguments by the tools' names. Every call must
    /// be of one of them, with arguments that match its schema.
    pub tools: Option<Value>,
    /// The expected calls, in any order: names, or `{name, args}`.
    #[serde(default)]
    pub expected: OneOrMany<NameOr<ExpectedCallSpec>>,
    /// `names`: compare the set of names, as promptfoo does. `arguments`: compare each call with its
    /// arguments. Default: `arguments` if an expected call has `args`.
    #[serde(rename = "match")]
    pub compared: Option<CallComparison>,
    /// Required F1. Default 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: Option<f64>,
}

/// One expected call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCallSpec {
    /// The tool's name.
    pub name: String,
    /// The expected arguments; texts may be matchers. Default: any arguments.
    #[schemars(extend("x-aliases" = ["arguments"]))]
    pub args: Option<Map<String, Value>>,
    /// `partial` (default): further arguments are allowed. `exact`: they are not.
    #[serde(default)]
    pub mode: ArgumentsMode,
    /// Names or globs of arguments that are not compared.
    #[serde(default)]
    pub ignore: OneOrMany<String>,
    /// Values of arguments that a call leaves out; a call may also give them.
    #[serde(default)]
    pub defaults: Map<String, Value>,
}

/// What of calls is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallComparison {
    /// The set of names, however often each is called.
    #[default]
    Names,
    /// Each call with its arguments.
    Arguments,
}

/// The tool calls of an output are valid, and the expected ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallsMatch {
    /// JSON Schemas of arguments by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolSchemas>,
    /// Empty: any calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectedCall>,
    pub compared: CallComparison,
    pub threshold: f64,
}

/// A call with the arguments that it must have, if any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedCall {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<ArgumentRule>,
}

impl MethodSettings for ToolCallsSpec {
    const OWN_KEYS: &'static [&'static str] = &["tools"];

    fn resolve(
        &self,
        desk: &mut SuiteDesk,
        node: &Node,
        _case: CaseExpectation,
    ) -> ResolvedGraders {
        if self.tools.is_none() && self.expected.0.is_empty() {
            return desk.refuse(incomplete(
                node.span,
                "`tool_calls` has nothing to compare calls with",
                "add `tools:` with the schemas of the tools, or `expected:` with the expected calls",
            ));
        }
        let tools = match self.tools.as_ref().map(ToolSchemas::read) {
            None => None,
            Some(Ok(tools)) => Some(tools),
            Some(Err(why)) => {
                let at = node.locate("/tools");
                return desk.refuse(Problem::error(Code::BadSchema, at, why));
            }
        };
        let expected = self.expected_calls(desk, node)?;
        if let Some(unknown) = tools
            .as_ref()
            .and_then(|tools| expected.iter().find(|call| tools.get(&call.name).is_none()))
        {
            let message = format!(
                "no output can pass: `{}` is expected, but is not one of `tools`",
                unknown.name
            );
            let at = node.locate("/expected");
            return desk.refuse(Problem::error(Code::GraderConflict, at, message));
        }
        let has_arguments = expected.iter().any(|call| call.arguments.is_some());
        let compared = match self.compared {
            Some(CallComparison::Names) if has_arguments => {
                let message = "`match: names` ignores the `args` of expected calls";
                let at = node.locate("/match");
                return desk.refuse(Problem::error(Code::GraderConflict, at, message));
            }
            Some(compared) => compared,
            None if has_arguments => CallComparison::Arguments,
            None => CallComparison::Names,
        };
        let threshold = self.threshold(desk, node)?;
        Some(vec![CodeGrader::ToolCalls(ToolCallsMatch {
            tools,
            expected,
            compared,
            threshold,
        })])
    }
}

impl ToolCallsSpec {
    fn expected_calls(&self, desk: &mut SuiteDesk, node: &Node) -> Option<Vec<ExpectedCall>> {
        let mut place = SettingPlace { desk, node };
        place.check_length("expected", self.expected.0.len())?;
        let mut calls = Vec::new();
        for (at, written) in self.expected.0.iter().enumerate() {
            let (name, args) = match written {
                NameOr::Name(name) => (name, None),
                NameOr::Inline(call) => (&call.name, call.args.as_ref().map(|args| (call, args))),
            };
            if name.trim().is_empty() {
                let at = node.locate("/expected");
                return place.desk.refuse(incomplete(
                    at,
                    "the name of an expected call is empty",
                    "write the tool's name",
                ));
            }
            let arguments = match args {
                None => None,
                Some((call, args)) => {
                    let spec = ArgumentsSpec {
                        name: call.name.clone(),
                        args: args.clone(),
                        mode: call.mode,
                        ignore: call.ignore.clone(),
                        defaults: call.defaults.clone(),
                        ..ArgumentsSpec::default()
                    };
                    let own = node.at_pointer(&format!("/expected/{at}"));
                    let own = own.or_else(|| node.get("expected")).unwrap_or(node);
                    Some(place.argument_rule(&spec, own)?)
                }
            };
            calls.push(ExpectedCall {
                name: name.trim().to_owned(),
                arguments,
            });
        }
        Some(calls)
    }

    fn threshold(&self, desk: &mut SuiteDesk, node: &Node) -> Option<f64> {
        let at = node.locate("/threshold");
        match self.threshold {
            None => Some(1.0),
            Some(_) if self.expected.0.is_empty() => {
                let message = "`threshold` is compared with the F1 of `expected`, which is missing";
                desk.refuse(incomplete(at, message, "add `expected:`"))
            }
            Some(threshold) if threshold <= 0.0 || threshold.is_nan() => {
                let message = "`threshold: 0` passes every output";
                let problem = Problem::error(Code::SuspiciousValue, at, message);
                desk.refuse(problem.hint("set a threshold above 0; for a grader that only measures, set `informative: true` next to its type"))
            }
            Some(threshold) if threshold > 1.0 => {
                let message = format!("F1 is between 0 and 1, so none reaches {threshold}");
                desk.refuse(Problem::error(Code::OutOfRange, at, message))
            }
            Some(threshold) => Some(threshold),
        }
    }
}

impl OutputCheck for ToolCallsMatch {
    fn grade(&self, value: &OutputValue, patterns: &PatternCache) -> Grade {
        let view = match SampleView::decode(value) {
            Ok(view) => view,
            Err(why) => return Grade::errored(GraderType::Code, METHOD, Cause::Harness, why),
        };
        let seen = view
            .trajectory
            .as_ref()
            .map(|trajectory| SeenTrajectory::of(trajectory, None));
        // An agent's calls are in its trajectory: what its last message looks like was not called.
        let calls = match &seen {
            Some(seen) => seen
                .calls
                .iter()
                .map(|made| OutputCall::of(made.call))
                .collect(),
            None => calls_in(&view.output),
        };
        let gap = seen.as_ref().and_then(|seen| match seen.at_most(true) {
            RuleState::Unknown(why) => Some(why),
            RuleState::Met | RuleState::Broken => None,
        });
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        let actual = json!(
            calls
                .iter()
                .take(limits::GRADE_ENTRIES)
                .map(OutputCall::shown)
                .collect::<Vec<_>>()
        );
        let mut grade = self.judge(&calls, gap, patterns);
        grade = grade.with_detail(
            "calls",
            names
                .into_iter()
                .take(limits::GRADE_ENTRIES)
                .collect::<Vec<_>>(),
        );
        if !self.expected.is_empty() {
            let expected: Vec<Value> = self.expected.iter().map(ExpectedCall::shown).collect();
            grade = grade.with_expected(bounded(&Value::Array(expected)));
        }
        grade.with_actual(bounded(&actual))
    }

    fn looks_at_trajectory(&self) -> bool {
        true
    }

    fn number(&self) -> Option<(&'static str, NumberKind)> {
        (!self.expected.is_empty()).then_some((F1, NumberKind::Score))
    }

    fn further_numbers(&self) -> Vec<(&str, NumberKind)> {
        match self.expected.is_empty() {
            true => Vec::new(),
            false => vec![(PRECISION, NumberKind::Score), (RECALL, NumberKind::Score)],
        }
    }
}

impl ToolCallsMatch {
    /// `gap`: why there may have been further calls.
    fn judge(&self, calls: &[OutputCall], gap: Option<String>, patterns: &PatternCache) -> Grade {
        let failed =
            |reason: String| Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, reason);
        let invalid = match self
            .tools
            .as_ref()
            .map(|tools| tools.invalid(calls, patterns))
        {
            None => Vec::new(),
            Some(Ok(invalid)) => invalid,
            Some(Err(why)) => return Grade::errored(GraderType::Code, METHOD, Cause::Harness, why),
        };
        if let (true, Some(why)) = (invalid.is_empty(), &gap) {
            return Grade::errored(GraderType::Code, METHOD, Cause::MissingOutput, why.clone());
        }
        let score = match (self.expected.is_empty(), self.compared) {
            (true, _) => None,
            (false, CallComparison::Names) => Some(score_names(&self.expected, calls)),
            (false, CallComparison::Arguments) => match score_arguments(&self.expected, calls) {
                Ok(score) => Some(score),
                Err(why) => return Grade::errored(GraderType::Code, METHOD, Cause::Harness, why),
            },
        };
        let mut grade = match (invalid.first(), &score) {
            (Some(first), _) => {
                let more = match invalid.len() {
                    1 => String::new(),
                    n => format!("; and {} more", plural(n - 1, "call")),
                };
                failed(format!("{first}{more}")).with_detail(
                    "invalid",
                    invalid
                        .iter()
                        .take(limits::GRADE_ENTRIES)
                        .map(|why| in_reason(why))
                        .collect::<Vec<_>>(),
                )
            }
            (None, _) if calls.is_empty() => failed("the output has no tool calls".to_owned()),
            (None, None) => Grade::passed(GraderType::Code, METHOD),
            (None, Some(score)) if reaches(score.f1(), self.threshold) => {
                Grade::passed(GraderType::Code, METHOD).with_score(score.f1())
            }
            (None, Some(score)) => Grade::failed(
                GraderType::Code,
                METHOD,
                Cause::Threshold,
                score.reason(self.threshold),
            )
            .with_score(score.f1()),
        };
        if let Some(score) = score.filter(|_| gap.is_none()) {
            grade.metrics.extend([
                (F1.to_owned(), score.f1()),
                (PRECISION.to_owned(), score.precision()),
                (RECALL.to_owned(), score.recall()),
            ]);
            for (key, list) in [
                ("missing", &score.missing),
                ("unexpected", &score.unexpected),
            ] {
                if !list.is_empty() {
                    let list: Vec<String> = list
                        .iter()
                        .take(limits::GRADE_ENTRIES)
                        .map(|text| in_reason(text))
                        .collect();
                    grade = grade.with_detail(key, list);
                }
            }
        }
        grade
    }
}

impl ExpectedCall {
    fn shown(&self) -> Value {
        match &self.arguments {
            None => json!(self.name),
            Some(rule) => json!({"name": self.name, "args": rule.args}),
        }
    }
}
