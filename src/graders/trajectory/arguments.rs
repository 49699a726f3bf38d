//! Which arguments calls have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::calls::{NameMatcher, calls_of, name_globs};
use super::rules::{RuleFinding, RuleState, SeenTrajectory};
use super::{ArgumentsSpec, WhichCalls};
use crate::graders::show::in_reason;
use crate::graders::structural_match::StructuralSpec;
use eval_base::text::plural;
use eval_match::{StructuralOptions, structural};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentsMode {
    /// Further arguments are allowed.
    #[default]
    Partial,
    /// There are no further arguments.
    Exact,
}

/// Arguments of calls of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArgumentRule {
    /// Name or glob.
    pub name: String,
    /// Without those that are ignored.
    pub args: Map<String, Value>,
    pub mode: ArgumentsMode,
    pub ignore: Vec<String>,
    pub defaults: Map<String, Value>,
    /// Every call must have them, not only one.
    pub every: bool,
}

/// Whether the arguments of a call are the expected ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ArgumentsVerdict {
    Equal,
    /// How, and how much of them agrees.
    Different(String, f64),
    /// It can't be known.
    Undecided(String),
}

impl ArgumentRule {
    pub(super) fn new(written: &ArgumentsSpec) -> ArgumentRule {
        let ignored = name_globs(&written.ignore.0);
        let args = written.args.iter().filter(|(name, _)| !ignored.fit(name));
        ArgumentRule {
            name: written.name.clone(),
            args: args
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            mode: written.mode,
            ignore: written.ignore.0.clone(),
            defaults: written.defaults.clone(),
            every: written.calls == WhichCalls::All,
        }
    }

    /// `arguments`: `None` where the model gave no JSON object.
    pub(crate) fn compare(&self, arguments: Option<&Map<String, Value>>) -> ArgumentsVerdict {
        let Some(arguments) = arguments else {
            return ArgumentsVerdict::Different(
                "the arguments are not a JSON object".to_owned(),
                0.0,
            );
        };
        let ignored = name_globs(&self.ignore);
        let mut given = arguments.clone();
        given.retain(|name, value| {
            let is_default = || {
                let same = |default: &Value| same_value(default, value);
                !self.args.contains_key(name) && self.defaults.get(name).is_some_and(same)
            };
            !ignored.fit(name) && !is_default()
        });
        for (name, value) in &self.defaults {
            if self.args.contains_key(name) && !given.contains_key(name) {
                given.insert(name.clone(), value.clone());
            }
        }
        let options = StructuralOptions {
            allow_additional_fields: self.mode == ArgumentsMode::Partial,
            ..StructuralSpec::default().against(Value::Object(self.args.clone()))
        };
        let result = structural::compare(&options, &Value::Object(given));
        if result.matched {
            return ArgumentsVerdict::Equal;
        }
        match result.undecided {
            Some(why) => ArgumentsVerdict::Undecided(why),
            None => {
                let first = result.differences.first();
                let how = first.map_or("the arguments differ".to_owned(), ToString::to_string);
                ArgumentsVerdict::Different(how, result.score)
            }
        }
    }

    pub(super) fn finding(&self, seen: &SeenTrajectory<'_>) -> RuleFinding {
        let matcher = NameMatcher::new(&self.name);
        let calls = match self.every {
            true => {
                let all = seen.calls.iter();
                all.filter(|made| matcher.fits(&made.call.function_name))
                    .collect()
            }
            false => calls_of(&self.name, seen),
        };
        let verdicts: Vec<(String, ArgumentsVerdict)> = calls
            .iter()
            .map(|made| {
                let object = made
                    .call
                    .raw_arguments()
                    .is_none()
                    .then_some(&made.call.arguments);
                (seen.step_of(made), self.compare(object))
            })
            .collect();
        let equal: Vec<&String> = verdicts
            .iter()
            .filter(|(_, verdict)| *verdict == ArgumentsVerdict::Equal)
            .map(|(step, _)| step)
            .collect();
        let undecided = verdicts.iter().find_map(|(_, verdict)| match verdict {
            ArgumentsVerdict::Undecided(why) => Some(why),
            _ => None,
        });
        let different = verdicts.iter().filter_map(|(step, verdict)| match verdict {
            ArgumentsVerdict::Different(how, score) => Some((step, how, *score)),
            _ => None,
        });
        // The first of the closest.
        let closest = different.reduce(|best, other| if other.2 > best.2 { other } else { best });
        let is_met = match self.every {
            true => !verdicts.is_empty() && equal.len() == verdicts.len(),
            false => !equal.is_empty(),
        };
        let state = match (undecided, closest) {
            (Some(why), None) if !is_met => RuleState::Unknown(why.clone()),
            (Some(why), Some(_)) if !is_met && !self.every => RuleState::Unknown(why.clone()),
            _ if self.every && closest.is_some() => RuleState::Broken,
            _ if self.every && is_met => seen.at_most(true),
            _ => seen.at_least(is_met),
        };
        let shown = in_reason(&Value::Object(self.args.clone()).to_string());
        let which = if self.every { "every call" } else { "a call" };
        let exactly = match self.mode {
            ArgumentsMode::Exact => "exactly ",
            ArgumentsMode::Partial => "",
        };
        let (actual, steps) = match (verdicts.len(), closest) {
            (0, _) => (
                format!("no call; calls: {}", seen.tools_called()),
                Vec::new(),
            ),
            (_, Some((step, how, _))) if !is_met => {
                let n = plural(verdicts.len(), "call");
                (
                    format!("{} of {n}, the closest other: {how}", equal.len()),
                    vec![step.clone()],
                )
            }
            (n, _) => (
                format!("{} of {}", equal.len(), plural(n, "call")),
                equal.into_iter().cloned().collect(),
            ),
        };
        RuleFinding {
            rule: "arguments",
            expected: format!("{which} of `{}` with {exactly}{shown}", self.name),
            actual,
            state,
            steps,
        }
    }
}

/// Equality of JSON values; numbers by value.
fn same_value(expected: &Value, actual: &Value) -> bool {
    structural::compare(&StructuralOptions::as_it_stands(expected.clone()), actual).matched
}
