//! The code grader `trajectory`: what an agent did, step by step. Here are its settings; `rules` judges.

mod arguments;
mod budgets;
mod calls;
mod commands;
mod rules;
mod skills;
#[cfg(test)]
pub(super) mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::patterns::PatternCache;
use super::sample_view::SampleView;
use super::settings::{CaseExpectation, incomplete};
use super::structural_match::check_matchers;
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, SuiteDesk};
use crate::model::{Cause, Grade, GraderType, NumberKind, OutputValue, RegexFlags};
use crate::spec::{NameOr, OneOrMany};
pub(super) use arguments::ArgumentsVerdict;
pub use arguments::{ArgumentRule, ArgumentsMode};
pub use budgets::Budgets;
use budgets::{AGENT_STEPS, TOOL_CALLS, TOOL_ERRORS};
pub use calls::{CallCount, CallOrder, OrderMode};
pub use commands::DeniedCommand;
use eval_base::globs::id_glob;
pub(crate) use rules::trajectory_gap;
pub(super) use rules::{RuleState, SeenTrajectory};

pub(crate) const METHOD: &str = "trajectory";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrajectorySpec {
    /// Tools that must be called, each by its name or a glob, or with a number of calls.
    #[serde(default)]
    pub used: OneOrMany<NameOr<CountSpec>>,
    /// Names or globs of tools that must not be called.
    #[serde(default)]
    pub not_used: OneOrMany<String>,
    /// Names or globs of tools in the order in which they must be called.
    pub order: Option<OrderShape>,
    /// Arguments that calls must have.
    #[serde(default)]
    pub arguments: OneOrMany<ArgumentsSpec>,
    /// Least steps of the agent. A step is one answer of the model, with the tool calls that it makes.
    pub min_steps: Option<u64>,
    /// Most steps of the agent.
    pub max_steps: Option<u64>,
    /// Most tool calls.
    pub max_tool_calls: Option<u64>,
    /// Most tool calls that fail.
    pub max_errors: Option<u64>,
    /// Most tokens, input and output together.
    pub max_tokens: Option<u64>,
    /// Highest cost in US dollars.
    #[schemars(range(min = 0.0))]
    pub max_cost_usd: Option<f64>,
    /// Longest time of the agent, in seconds.
    #[schemars(range(min = 0.0))]
    pub max_seconds: Option<f64>,
    /// `true`: every tool call that fails is followed by a successful call of the same tool. Default
    /// false.
    #[serde(default)]
    pub recovers_from_errors: bool,
    /// Commands that must not be run: globs over the program's name and its arguments, or
    /// `{regex: PATTERN}`.
    #[serde(default)]
    pub denied_commands: OneOrMany<NameOr<CommandRegex>>,
    /// Skills that must be used, each by its name or a glob, or with a number of uses.
    #[serde(default)]
    pub skill_used: OneOrMany<NameOr<CountSpec>>,
    /// Names or globs of skills that must not be used, not even in vain.
    #[serde(default)]
    pub skill_not_used: OneOrMany<String>,
}

/// How often a tool or a skill must be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountSpec {
    /// Name or glob.
    #[schemars(extend("x-aliases" = ["pattern"]))]
    pub name: String,
    /// Least uses. Default 1.
    pub min: Option<u64>,
    /// Most uses. Default: no limit.
    pub max: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderSpec {
    /// `in_order` (default): other calls may come between. `exact`: there are no other calls.
    #[serde(default)]
    pub mode: OrderMode,
    /// Names or globs of tools.
    pub steps: Vec<NameOr<StepName>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepName {
    /// Name or glob.
    #[schemars(extend("x-aliases" = ["pattern"]))]
    pub name: String,
}

/// Arguments that calls of a tool must have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentsSpec {
    /// Name or glob of the tool.
    #[schemars(extend("x-aliases" = ["pattern"]))]
    pub name: String,
    /// The expected arguments; texts may be matchers.
    #[schemars(extend("x-aliases" = ["arguments"]))]
    pub args: Map<String, Value>,
    /// `partial` (default): further arguments are allowed. `exact`: they are not.
    #[serde(default)]
    pub mode: ArgumentsMode,
    /// Names or globs of arguments that are not compared.
    #[serde(default)]
    pub ignore: OneOrMany<String>,
    /// Values of arguments that a call leaves out; a call may also give them.
    #[serde(default)]
    pub defaults: Map<String, Value>,
    /// `any` (default): one call of the tool has the arguments. `all`: every call has them, and there
    /// is one at least.
    #[serde(default)]
    pub calls: WhichCalls,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhichCalls {
    #[default]
    Any,
    All,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandRegex {
    /// A regular expression that is looked for in the text of each command (Python's semantics).
    pub regex: String,
}

/// A list of tools, or `{mode, steps}`.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderShape(pub OrderSpec);

/// What an agent did follows these rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryRules {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<CallCount>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_used: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<CallOrder>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentRule>,
    #[serde(default)]
    pub budgets: Budgets,
    #[serde(default)]
    pub recovers_from_errors: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_commands: Vec<DeniedCommand>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skill_used: Vec<CallCount>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skill_not_used: Vec<String>,
}

impl MethodSettings for TrajectorySpec {
    const OWN_KEYS: &'static [&'static str] = &[
        "used",
        "not_used",
        "order",
        "arguments",
        "min_steps",
        "max_steps",
        "max_tool_calls",
        "max_errors",
        "max_tokens",
        "max_cost_usd",
        "max_seconds",
        "recovers_from_errors",
        "denied_commands",
        "skill_used",
        "skill_not_used",
    ];

    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        case.warn_without_trajectory(desk, "trajectory", node.span);
        let mut place = SettingPlace { desk, node };
        let rules = TrajectoryRules {
            used: place.counts("used", &self.used, |_| 1)?,
            not_used: place.names("not_used", &self.not_used)?,
            order: self.order(&mut place)?,
            arguments: place.arguments("arguments", &self.arguments.0)?,
            budgets: self.budgets(&mut place)?,
            recovers_from_errors: self.recovers_from_errors,
            denied_commands: place.denied(&self.denied_commands.0)?,
            skill_used: place.counts("skill_used", &self.skill_used, |max| {
                u64::from(max.is_none())
            })?,
            skill_not_used: place.names("skill_not_used", &self.skill_not_used)?,
        };
        if rules == TrajectoryRules::default() {
            return desk.refuse(incomplete(
                node.span,
                "`trajectory` has no rule, so everything that an agent does would pass",
                "add `used:`, `not_used:`, `order:`, `arguments:`, `max_steps:`, `denied_commands:` or another rule",
            ));
        }
        if let Some(name) = rules.contradiction() {
            let message = format!(
                "no agent can pass: `{name}` must be used, but a rule says that it must not"
            );
            return desk.refuse(Problem::error(Code::GraderConflict, node.span, message));
        }
        Some(vec![CodeGrader::Trajectory(rules)])
    }
}

impl TrajectorySpec {
    fn order(&self, place: &mut SettingPlace<'_, '_>) -> Option<Option<CallOrder>> {
        let Some(OrderShape(written)) = &self.order else {
            return Some(None);
        };
        if written.steps.is_empty() {
            let (message, hint) = match written.mode {
                OrderMode::InOrder => (
                    "`order` is empty, so every trajectory would pass",
                    "list the tools in the order in which they must be called",
                ),
                OrderMode::Exact => (
                    "`order` lists no tool",
                    "`max_tool_calls: 0` requires that no tool is called",
                ),
            };
            let at = place.node.locate("/order");
            return place.desk.refuse(incomplete(at, message, hint));
        }
        let mut steps = Vec::new();
        for step in &written.steps {
            let name = match step {
                NameOr::Name(name) => name,
                NameOr::Inline(step) => &step.name,
            };
            place.check_name("order", name)?;
            steps.push(name.clone());
        }
        let mode = written.mode;
        Some(Some(CallOrder { mode, steps }))
    }

    fn budgets(&self, place: &mut SettingPlace<'_, '_>) -> Option<Budgets> {
        if let (Some(min), Some(max)) = (self.min_steps, self.max_steps)
            && min > max
        {
            let message = format!("`min_steps` ({min}) is greater than `max_steps` ({max})");
            return place.conflict("max_steps", message);
        }
        if self.min_steps == Some(0) {
            let message = "`min_steps: 0` passes every trajectory";
            let at = place.node.locate("/min_steps");
            return place.desk.refuse(incomplete(at, message, "remove it"));
        }
        for (key, bound) in [
            ("max_cost_usd", self.max_cost_usd),
            ("max_seconds", self.max_seconds),
        ] {
            if bound.is_some_and(|bound| !bound.is_finite() || bound < 0.0) {
                let at = place.node.locate(&format!("/{key}"));
                let message = format!("`{key}` must be a number of at least 0");
                return place
                    .desk
                    .refuse(Problem::error(Code::OutOfRange, at, message));
            }
        }
        Some(Budgets {
            min_steps: self.min_steps,
            max_steps: self.max_steps,
            max_tool_calls: self.max_tool_calls,
            max_errors: self.max_errors,
            max_tokens: self.max_tokens,
            max_cost_usd: self.max_cost_usd,
            max_seconds: self.max_seconds,
        })
    }
}

/// Settings with the place where they are written; reports what is wrong with them.
pub(super) struct SettingPlace<'p, 'd> {
    pub desk: &'p mut SuiteDesk<'d>,
    pub node: &'p Node,
}

impl SettingPlace<'_, '_> {
    fn conflict<T>(&mut self, key: &str, message: String) -> Option<T> {
        let at = self.node.locate(&format!("/{key}"));
        self.desk
            .refuse(Problem::error(Code::GraderConflict, at, message))
    }

    /// Reports a text that is not a name or a glob.
    fn check_name(&mut self, key: &str, name: &str) -> Option<()> {
        let why = match id_glob(name) {
            _ if name.trim().is_empty() => "it is empty".to_owned(),
            Ok(_) => return Some(()),
            Err(why) => why,
        };
        let at = self.node.locate(&format!("/{key}"));
        let message = format!("`{name}` is not a name or a glob: {why}");
        self.desk.refuse(Problem::error(Code::BadGlob, at, message))
    }

    /// Reports a list that is written and empty.
    pub fn check_length(&mut self, key: &str, length: usize) -> Option<()> {
        if length > 0 || self.node.get(key).is_none_or(Node::is_null) {
            return Some(());
        }
        let at = self.node.locate(&format!("/{key}"));
        let message = format!("`{key}` is empty, so every trajectory would pass");
        self.desk
            .refuse(incomplete(at, &message, "remove it, or add an entry"))
    }

    fn names(&mut self, key: &str, names: &OneOrMany<String>) -> Option<Vec<String>> {
        self.check_length(key, names.0.len())?;
        for name in &names.0 {
            self.check_name(key, name)?;
        }
        Some(names.0.clone())
    }

    /// `least`: of uses where there is a greatest number of them, or none.
    fn counts(
        &mut self,
        key: &str,
        written: &OneOrMany<NameOr<CountSpec>>,
        least: impl Fn(Option<u64>) -> u64,
    ) -> Option<Vec<CallCount>> {
        self.check_length(key, written.0.len())?;
        let mut counts = Vec::new();
        for one in &written.0 {
            let count = match one {
                NameOr::Name(name) => CallCount {
                    name: name.clone(),
                    min: 1,
                    max: None,
                },
                NameOr::Inline(count) => CallCount {
                    name: count.name.clone(),
                    min: count.min.unwrap_or_else(|| least(count.max)),
                    max: count.max,
                },
            };
            self.check_name(key, &count.name)?;
            let name = &count.name;
            if count.min == 0 && count.max.is_none() {
                let at = self.node.locate(&format!("/{key}"));
                let message = format!("every number of uses of `{name}` passes");
                return self
                    .desk
                    .refuse(incomplete(at, &message, "set `min` above 0, or `max`"));
            }
            if count.max.is_some_and(|max| max < count.min) {
                let message = format!(
                    "no number of uses of `{name}` is at least {} and at most {}",
                    count.min,
                    count.max.unwrap_or_default()
                );
                return self.conflict(key, message);
            }
            counts.push(count);
        }
        Some(counts)
    }

    fn arguments(&mut self, key: &str, written: &[ArgumentsSpec]) -> Option<Vec<ArgumentRule>> {
        self.check_length(key, written.len())?;
        let mut rules = Vec::new();
        for (at, one) in written.iter().enumerate() {
            self.check_name(key, &one.name)?;
            let listed = self.node.at_pointer(&format!("/{key}/{at}"));
            let own = listed.or_else(|| self.node.get(key)).unwrap_or(self.node);
            rules.push(self.argument_rule(one, own)?);
        }
        Some(rules)
    }

    /// `own`: where the rule is written.
    pub fn argument_rule(&mut self, written: &ArgumentsSpec, own: &Node) -> Option<ArgumentRule> {
        for name in &written.ignore.0 {
            self.check_name("ignore", name)?;
        }
        if let Some(args) = own.get("args") {
            check_matchers(self.desk, args);
        }
        let rule = ArgumentRule::new(written);
        let ignores_all = |glob: &String| glob.trim().chars().all(|c| c == '*');
        let compares_none =
            rule.mode == ArgumentsMode::Partial || rule.ignore.iter().any(ignores_all);
        if rule.args.is_empty() && compares_none {
            let name = &written.name;
            let message =
                format!("no argument of `{name}` is compared, so every call of it passes");
            let hint = "add an argument under `args`, set `mode: exact`, or require the tool by its name alone";
            return self.desk.refuse(incomplete(own.span, &message, hint));
        }
        Some(rule)
    }

    fn denied(&mut self, written: &[NameOr<CommandRegex>]) -> Option<Vec<DeniedCommand>> {
        self.check_length("denied_commands", written.len())?;
        let mut denied = Vec::new();
        for one in written {
            match one {
                NameOr::Name(glob) => {
                    self.check_name("denied_commands", glob)?;
                    denied.push(DeniedCommand::Glob(glob.trim().to_owned()));
                }
                NameOr::Inline(CommandRegex { regex }) => {
                    let compiled = PatternCache::default().get(regex, RegexFlags::default());
                    let why = match compiled {
                        Ok(_) if !regex.is_empty() => None,
                        Ok(_) => Some("the empty pattern matches every command".to_owned()),
                        Err(why) => Some(why),
                    };
                    if let Some(why) = why {
                        let at = self.node.locate("/denied_commands");
                        return self.desk.refuse(Problem::error(Code::BadRegex, at, why));
                    }
                    denied.push(DeniedCommand::Regex(regex.clone()));
                }
            }
        }
        Some(denied)
    }
}

impl TrajectoryRules {
    /// A name that must be used and must not.
    fn contradiction(&self) -> Option<&str> {
        let both = |used: &'_ [CallCount], not: &[String]| {
            let same =
                |one: &str, other: &str| one.trim().to_lowercase() == other.trim().to_lowercase();
            let denied = |count: &&CallCount| {
                count.min > 0 && not.iter().any(|name| same(name, &count.name))
            };
            used.iter().position(|count| denied(&count))
        };
        let tool = both(&self.used, &self.not_used).and_then(|at| self.used.get(at));
        let skill =
            || both(&self.skill_used, &self.skill_not_used).and_then(|at| self.skill_used.get(at));
        tool.or_else(skill).map(|count| count.name.as_str())
    }
}

impl OutputCheck for TrajectoryRules {
    fn grade(&self, value: &OutputValue, patterns: &PatternCache) -> Grade {
        let view = match SampleView::decode(value) {
            Ok(view) => view,
            Err(why) => return Grade::errored(GraderType::Code, METHOD, Cause::Harness, why),
        };
        let Some(trajectory) = &view.trajectory else {
            let why = "the sample has no trajectory (agents have one; a recorded output needs `trajectory`)";
            return Grade::errored(GraderType::Code, METHOD, Cause::MissingOutput, why);
        };
        self.judge(&SeenTrajectory::of(trajectory, view.seconds), patterns)
    }

    fn looks_at_trajectory(&self) -> bool {
        true
    }

    fn further_numbers(&self) -> Vec<(&str, NumberKind)> {
        vec![
            (AGENT_STEPS, NumberKind::Number),
            (TOOL_CALLS, NumberKind::Number),
            (TOOL_ERRORS, NumberKind::Number),
        ]
    }
}
