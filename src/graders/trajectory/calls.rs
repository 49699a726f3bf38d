//! Which tools were called, how often, and in which order.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

use super::rules::{RuleFinding, RuleState, SeenTrajectory, listed};
use super::{OrderShape, OrderSpec};
use eval_agents::trajectory::PerformedCall;
use eval_base::globs::IdGlobs;
use eval_base::text::plural;

/// How often a tool or a skill is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    /// Name or glob.
    pub name: String,
    pub min: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderMode {
    /// Other calls may come between.
    #[default]
    InOrder,
    /// There are no other calls.
    Exact,
}

/// Tools in the order of their calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOrder {
    pub mode: OrderMode,
    /// Names or globs, at least one.
    pub steps: Vec<String>,
}

/// Names that were checked when they were loaded; what is not a glob fits only itself.
pub(super) fn name_globs(names: &[String]) -> IdGlobs {
    IdGlobs::new(names).unwrap_or_default()
}

/// Names of tools or skills; like promptfoo, without regard to case.
pub(super) struct NameMatcher(IdGlobs);

impl NameMatcher {
    pub fn new(name: &str) -> NameMatcher {
        NameMatcher(name_globs(&[name.trim().to_lowercase()]))
    }

    pub fn fits(&self, name: &str) -> bool {
        self.0.fit(&name.trim().to_lowercase())
    }
}

/// Calls of a tool that may fulfil a rule.
pub(super) fn calls_of<'s, 't>(
    name: &str,
    seen: &'s SeenTrajectory<'t>,
) -> Vec<&'s PerformedCall<'t>> {
    let matcher = NameMatcher::new(name);
    let calls = seen.supported();
    calls
        .filter(|made| matcher.fits(&made.call.function_name))
        .collect()
}

/// Calls of a tool that may break a rule: in either record.
fn recorded_calls_of<'s, 't>(
    name: &str,
    seen: &'s SeenTrajectory<'t>,
) -> Vec<&'s PerformedCall<'t>> {
    let matcher = NameMatcher::new(name);
    let fits = |made: &&PerformedCall<'_>| {
        let other = made.call.other_record();
        matcher.fits(&made.call.function_name)
            || other.is_some_and(|other| matcher.fits(&other.function_name))
    };
    seen.calls.iter().filter(fits).collect()
}

impl CallCount {
    pub(super) fn of_tools(&self, seen: &SeenTrajectory<'_>) -> RuleFinding {
        let calls = calls_of(&self.name, seen);
        let steps = calls.iter().map(|made| seen.step_of(made)).collect();
        let most = recorded_calls_of(&self.name, seen).len();
        let mut finding = self.finding("used", "called", (steps, most), seen);
        if calls.is_empty() {
            finding.actual = format!("{}; calls: {}", finding.actual, seen.tools_called());
        }
        finding
    }

    /// `steps`: one of each use; `most`: uses in either record.
    pub(super) fn finding(
        &self,
        rule: &'static str,
        verb: &str,
        (steps, most): (Vec<String>, usize),
        seen: &SeenTrajectory<'_>,
    ) -> RuleFinding {
        let count = steps.len() as u64;
        let times = |n: u64| plural(usize::try_from(n).unwrap_or(usize::MAX), "time");
        let expected = match self.max {
            None => format!("`{}` {verb} at least {}", self.name, times(self.min)),
            Some(max) if self.min == max => format!("`{}` {verb} {}", self.name, times(max)),
            Some(max) if self.min == 0 => format!("`{}` {verb} at most {}", self.name, times(max)),
            Some(max) => format!("`{}` {verb} {} to {max} times", self.name, self.min),
        };
        let is_within = self.max.is_none_or(|max| count.max(most as u64) <= max);
        let state = match self.max {
            _ if !is_within => seen.at_most(false),
            Some(_) if count >= self.min => seen.at_most(true),
            _ => seen.at_least(count >= self.min),
        };
        let noun = if verb == "called" { "call" } else { "use" };
        let actual = match count {
            0 => format!("no {noun}"),
            _ => plural(steps.len(), noun),
        };
        RuleFinding {
            rule,
            expected,
            actual,
            state,
            steps,
        }
    }
}

pub(super) fn not_used(name: &str, seen: &SeenTrajectory<'_>) -> RuleFinding {
    let calls = recorded_calls_of(name, seen);
    let names = calls.iter().map(|made| made.call.function_name.clone());
    RuleFinding {
        rule: "not_used",
        expected: format!("`{name}` not called"),
        actual: match calls.as_slice() {
            [] => "no call".to_owned(),
            calls => format!(
                "{}: {}",
                plural(calls.len(), "call"),
                listed(names.collect())
            ),
        },
        state: seen.at_most(calls.is_empty()),
        steps: calls.iter().map(|made| seen.step_of(made)).collect(),
    }
}

impl CallOrder {
    pub(super) fn finding(&self, seen: &SeenTrajectory<'_>) -> RuleFinding {
        // Those that may fulfil the rule, unless there are to be no others.
        let calls: Vec<&PerformedCall<'_>> = match self.mode {
            OrderMode::InOrder => seen.supported().collect(),
            OrderMode::Exact => seen.calls.iter().collect(),
        };
        let names: Vec<&str> = calls
            .iter()
            .map(|made| made.call.function_name.as_str())
            .collect();
        let fits = self.places(&names);
        let whole = fits.len() == self.steps.len();
        let (expected, state) = match self.mode {
            OrderMode::InOrder => (
                format!("calls in this order: {}", listed(self.steps.clone())),
                seen.in_order(seen.at_least(whole)),
            ),
            OrderMode::Exact => {
                let is_exact = whole && names.len() == self.steps.len();
                (
                    format!("exactly these calls: {}", listed(self.steps.clone())),
                    seen.in_order(seen.exactly(is_exact)),
                )
            }
        };
        let next = self
            .steps
            .get(fits.len())
            .filter(|_| self.mode == OrderMode::InOrder && !whole);
        let actual = match next {
            Some(next) => format!(
                "no `{next}` after {}; calls: {}",
                plural(fits.len(), "fitting call"),
                seen.tools_called()
            ),
            None => format!("calls: {}", seen.tools_called()),
        };
        // Where it was seen; of what differs, the first call that does.
        let shown: Vec<usize> = match (self.mode, &state) {
            (_, RuleState::Met) => fits,
            (OrderMode::Exact, _) => vec![fits.len()],
            (OrderMode::InOrder, _) => Vec::new(),
        };
        let steps = shown.iter().filter_map(|&at| calls.get(at));
        RuleFinding {
            rule: "order",
            expected,
            actual,
            state,
            steps: steps.map(|made| seen.step_of(made)).collect(),
        }
    }

    /// The places of the calls that fit the steps, as far as all steps before have one. The first
    /// call that fits a step is as good as any later one.
    pub(super) fn places(&self, names: &[&str]) -> Vec<usize> {
        let globs: Vec<NameMatcher> = self
            .steps
            .iter()
            .map(|step| NameMatcher::new(step))
            .collect();
        let mut places = Vec::new();
        for (at, name) in names.iter().enumerate() {
            match (globs.get(places.len()), self.mode) {
                (Some(glob), _) if glob.fits(name) => places.push(at),
                (Some(_), OrderMode::InOrder) => {}
                (None, _) | (Some(_), OrderMode::Exact) => break,
            }
        }
        places
    }
}

impl Serialize for OrderShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OrderShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spec = match Value::deserialize(deserializer)? {
            object @ Value::Object(_) => serde_json::from_value(object),
            list => serde_json::from_value(list).map(|steps| OrderSpec {
                steps,
                ..OrderSpec::default()
            }),
        };
        spec.map(OrderShape).map_err(D::Error::custom)
    }
}

impl JsonSchema for OrderShape {
    fn schema_name() -> Cow<'static, str> {
        "CallOrder".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let object = generator.subschema_for::<OrderSpec>();
        let step = generator.subschema_for::<super::NameOr<super::StepName>>();
        json_schema!({
            "description": "A list of tools, or `mode` and `steps`.",
            "if": { "type": "object" },
            "then": object,
            "else": { "type": "array", "items": step, "minItems": 1 }
        })
    }
}
