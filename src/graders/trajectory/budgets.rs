//! How many steps, calls, errors, tokens, dollars and seconds there were, and whether the agent
//! recovered from errors. What is not reported is unknown, never 0.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::TrajectoryRules;
use super::rules::{RuleFinding, RuleState, SeenTrajectory};
use crate::model::{Grade, USAGE_IS_LOWER_BOUND};
use eval_agents::trajectory::{PerformedCall, REPLAYED, Trajectory};
use eval_base::text::plural;
use eval_stats::stays_within;

/// Answers of the model.
pub(super) const AGENT_STEPS: &str = "agent_steps";
pub(super) const TOOL_CALLS: &str = "tool_calls";
/// Tool calls that failed.
pub(super) const TOOL_ERRORS: &str = "tool_errors";

/// Bounds of what an agent uses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Budgets {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<f64>,
}

impl Budgets {
    pub(super) fn findings(&self, seen: &SeenTrajectory<'_>) -> Vec<RuleFinding> {
        let steps = agent_steps(seen.trajectory, None);
        let count_of_steps = count_of_steps(seen.trajectory);
        let calls = seen
            .calls
            .iter()
            .map(|made| seen.step_of(made))
            .collect::<Vec<_>>();
        let mut findings = Vec::new();
        if let Some(min) = self.min_steps {
            findings.push(RuleFinding {
                rule: "min_steps",
                expected: format!("at least {}", count(min, "step")),
                actual: plural(count_of_steps, "step"),
                state: seen.at_least(count_of_steps as u64 >= min),
                steps: Vec::new(),
            });
        }
        if let Some(max) = self.max_steps {
            let most = usize::try_from(max).unwrap_or(usize::MAX);
            let mut so_far = 0usize;
            let beyond = steps.into_iter().filter_map(|(step, n)| {
                so_far = so_far.saturating_add(n);
                (n > 0 && so_far > most).then_some(step)
            });
            findings.push(RuleFinding {
                rule: "max_steps",
                expected: format!("at most {}", count(max, "step")),
                actual: plural(count_of_steps, "step"),
                state: seen.at_most(count_of_steps <= most),
                steps: beyond.collect(),
            });
        }
        if let Some(max) = self.max_tool_calls {
            findings.push(at_most("max_tool_calls", "tool call", max, calls, seen));
        }
        if let Some(max) = self.max_errors {
            let mut finding = at_most(
                "max_errors",
                "failed tool call",
                max,
                failed_calls(seen),
                seen,
            );
            if finding.state == RuleState::Met
                && let Some(silent) = silent_call(seen)
            {
                finding.state = silent;
            }
            findings.push(finding);
        }
        if let Some(max) = self.max_tokens {
            let tokens = tokens(seen.trajectory).map(|n| n as f64);
            findings.push(bound("max_tokens", "tokens", max as f64, tokens, seen));
        }
        if let Some(max) = self.max_cost_usd {
            let cost = seen.trajectory.totals().cost_usd;
            findings.push(bound("max_cost_usd", "US dollars", max, cost, seen));
        }
        if let Some(max) = self.max_seconds {
            let seconds = seen.seconds.or_else(|| duration(seen.trajectory));
            let mut finding = bound("max_seconds", "seconds", max, seconds, seen);
            // What was measured is known of a trajectory that is not whole, too.
            if seen
                .seconds
                .is_some_and(|seconds| stays_within(seconds, max))
            {
                finding.state = RuleState::Met;
            }
            findings.push(finding);
        }
        findings
    }
}

impl TrajectoryRules {
    /// Numbers of a trajectory that is whole; of others they are unknown.
    pub(super) fn add_numbers(&self, seen: &SeenTrajectory<'_>, grade: &mut Grade) {
        if !seen.gaps.is_empty() {
            return;
        }
        let mut add = |name: &str, n: usize| grade.metrics.insert(name.to_owned(), n as f64);
        add(AGENT_STEPS, count_of_steps(seen.trajectory));
        add(TOOL_CALLS, seen.calls.len());
        if silent_call(seen).is_none() {
            add(TOOL_ERRORS, failed_calls(seen).len());
        }
    }
}

fn count(n: u64, noun: &str) -> String {
    plural(usize::try_from(n).unwrap_or(usize::MAX), noun)
}

/// Answers of the model: as many as were counted, else as the agent reports.
fn count_of_steps(trajectory: &Trajectory) -> usize {
    trajectory.counted_answers().unwrap_or_else(|| {
        let steps = agent_steps(trajectory, None);
        steps.iter().map(|(_, n)| *n).fold(0, usize::saturating_add)
    })
}

/// The steps of the agent and its subagents, by their numbers, each with the answers of the model that
/// it stands for. `id`: of a subagent.
fn agent_steps(trajectory: &Trajectory, id: Option<&str>) -> Vec<(String, usize)> {
    let label = |n: u64| id.map_or(n.to_string(), |id| format!("{id}/{n}"));
    let own = trajectory.agent_steps();
    let mut steps: Vec<_> = own
        .map(|step| (label(step.step_id), step.model_calls()))
        .collect();
    for subagent in &trajectory.subagent_trajectories {
        steps.extend(agent_steps(
            subagent,
            subagent.trajectory_id.as_deref().or(Some("subagent")),
        ));
    }
    steps
}

/// `things`: the step of each. Reported are those beyond the bound.
fn at_most(
    rule: &'static str,
    noun: &str,
    max: u64,
    things: Vec<String>,
    seen: &SeenTrajectory<'_>,
) -> RuleFinding {
    let actual = plural(things.len(), noun);
    let most = usize::try_from(max).unwrap_or(usize::MAX);
    RuleFinding {
        rule,
        expected: format!("at most {}", count(max, noun)),
        actual,
        state: seen.at_most(things.len() <= most),
        steps: things.into_iter().skip(most).collect(),
    }
}

fn bound(
    rule: &'static str,
    unit: &str,
    max: f64,
    actual: Option<f64>,
    seen: &SeenTrajectory<'_>,
) -> RuleFinding {
    let extra = seen.trajectory.extra.as_ref();
    let is_lower_bound =
        unit != "seconds" && extra.is_some_and(|extra| extra.contains_key(USAGE_IS_LOWER_BOUND));
    RuleFinding {
        rule,
        expected: format!("at most {max} {unit}"),
        actual: actual.map_or("unknown".to_owned(), |n| format!("{n} {unit}")),
        state: match actual {
            None => RuleState::Unknown(format!("the trajectory does not report {unit}")),
            Some(n) if stays_within(n, max) && is_lower_bound => RuleState::Unknown(format!(
                "at least {n} {unit} were used, and the exact number is not known"
            )),
            Some(n) => seen.at_most(stays_within(n, max)),
        },
        steps: Vec::new(),
    }
}

fn tokens(trajectory: &Trajectory) -> Option<u64> {
    let totals = trajectory.totals();
    totals.prompt_tokens?.checked_add(totals.completion_tokens?)
}

/// From the first step to the last, where both have times. A replay does not take that of the model.
fn duration(trajectory: &Trajectory) -> Option<f64> {
    let extra = trajectory.extra.as_ref();
    if extra.is_some_and(|extra| extra.contains_key(REPLAYED)) {
        return None;
    }
    let mut own = trajectory.steps.iter().filter(|step| !step.is_copied());
    let first = own.next()?;
    let last = own.next_back().unwrap_or(first).time()?;
    let first = first.time()?;
    let seconds = last.duration_since(first).as_secs_f64();
    (seconds >= 0.0).then_some(seconds)
}

fn failed_calls(seen: &SeenTrajectory<'_>) -> Vec<String> {
    let failed = seen
        .calls
        .iter()
        .filter(|made| made.is_error() == Some(true));
    failed.map(|made| seen.step_of(made)).collect()
}

/// Why the number of errors is not known, if a call does not report whether it failed.
fn silent_call(seen: &SeenTrajectory<'_>) -> Option<RuleState> {
    let silent = seen.calls.iter().find(|made| made.is_error().is_none())?;
    Some(silence(silent, seen))
}

fn silence(call: &PerformedCall<'_>, seen: &SeenTrajectory<'_>) -> RuleState {
    RuleState::Unknown(format!(
        "the trajectory does not report whether `{}` failed (step {})",
        call.call.function_name,
        seen.step_of(call)
    ))
}

/// What is known of the calls of a tool after one of them.
#[derive(Default)]
struct LaterCalls {
    succeeded: bool,
    /// Why a success could have been missed.
    silence: Option<RuleState>,
}

/// Whether a successful call of the same tool follows each call that failed.
pub(super) fn recovery(seen: &SeenTrajectory<'_>) -> RuleFinding {
    let mut later: HashMap<&str, LaterCalls> = HashMap::new();
    let mut unknown = None;
    let mut broken = Vec::new();
    for made in seen.calls.iter().rev() {
        let name = made.call.function_name.as_str();
        let after = later.entry(name).or_default();
        match (made.is_error(), after.succeeded) {
            (Some(false), _) => after.succeeded |= !made.call.is_unsupported(),
            (_, true) => {}
            (Some(true), false) => match &after.silence {
                Some(silence) => unknown = Some(silence.clone()),
                None => broken.push((name, seen.step_of(made))),
            },
            // It may have failed, and it may be the success after an earlier failure.
            (None, false) => {
                let silence = silence(made, seen);
                unknown = Some(silence.clone());
                after.silence = Some(silence);
            }
        }
    }
    broken.reverse();
    let failed = failed_calls(seen).len();
    let (state, actual) = match (broken.first(), unknown) {
        (Some((name, _)), _) => (
            seen.in_order(seen.at_least(false)),
            format!("`{name}` failed and did not succeed later"),
        ),
        (None, Some(unknown)) => (unknown, "unknown".to_owned()),
        (None, None) if failed == 0 => (seen.at_most(true), "no call failed".to_owned()),
        (None, None) => (
            seen.in_order(seen.at_most(true)),
            format!(
                "{}, each followed by a successful one",
                plural(failed, "failed call")
            ),
        ),
    };
    RuleFinding {
        rule: "recovers_from_errors",
        expected: "each failed tool call followed by a successful call of the same tool".to_owned(),
        actual,
        state,
        steps: broken.into_iter().map(|(_, step)| step).collect(),
    }
}
