//! What an agent did, as samples carry it: the whole trajectory while a sample is graded, in journals
//! its digest and a timeline for reports. The whole is in a file beside the journal.

use std::sync::Arc;

use eval_agents::trajectory::{PerformedCall, Trajectory, TrajectoryStep};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::limits;
use eval_base::redact::Redactor;
use eval_base::text::{hex, plural, shortened};

/// The trajectory of a sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrajectoryRecord {
    /// SHA-256 (hex) of the trajectory's JSON (ATIF); its file beside the journal is
    /// `<run>.outputs/<sha256>.trajectory.json.gz`.
    pub sha256: String,
    /// Bytes of the JSON.
    pub bytes: u64,
    /// Name and version of the agent.
    pub agent: String,
    /// Number of steps; steps of subagents are not counted.
    pub steps: usize,
    /// Number of tool calls, with those of subagents.
    pub tool_calls: usize,
    /// Reasons why the trajectory does not contain everything that the agent did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// Hosts and requests that the agent's proxy refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// The steps with their texts shortened, for reports; those of subagents follow. Of many steps,
    /// the first and the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<TimelineStep>,
    /// Number of steps that `timeline` omits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// All of it, unless it was read from a journal.
    #[serde(skip)]
    pub content: Option<Arc<Trajectory>>,
}

/// A step of a timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineStep {
    /// From 1.
    pub step: u64,
    /// `system`, `user` or `agent`.
    pub source: String,
    /// The id of the subagent that made the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// Milliseconds since the first step with a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<TimelineCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A tool call of a timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineCall {
    /// The tool; empty for a result without a call.
    pub tool: String,
    /// Arguments as JSON.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// Whether the tool failed, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// In `extra` of a trajectory: answers of the model that report no usage are not part of the sums that
/// were counted.
pub const USAGE_IS_LOWER_BOUND: &str = "usage_is_lower_bound";

/// In `extra` of a trajectory: what the proxy of the agent refused.
pub const DENIED: &str = "denied";

impl TrajectoryRecord {
    /// Before its digest is known ([`TrajectoryRecord::seal`]).
    pub fn new(trajectory: Trajectory) -> Self {
        TrajectoryRecord {
            content: Some(Arc::new(trajectory)),
            ..TrajectoryRecord::default()
        }
    }

    /// Redacts secrets and then sets all that is recorded, so that graders of this run and of a
    /// later one see the same. A second call changes nothing.
    pub fn seal(&mut self, redactor: &Redactor) {
        let Some(content) = self.content.as_mut().filter(|_| self.sha256.is_empty()) else {
            return;
        };
        let trajectory = Arc::make_mut(content);
        trajectory.redact(redactor);
        let json = json_of(trajectory);
        self.sha256 = hex(&Sha256::digest(&json));
        self.bytes = json.len() as u64;
        self.agent = format!("{} {}", trajectory.agent.name, trajectory.agent.version);
        self.agent = shortened(&self.agent, limits::EXCERPT).into_owned();
        self.steps = trajectory.steps.len();
        let calls: Vec<PerformedCall<'_>> = trajectory.tool_calls();
        self.tool_calls = calls.len();
        let reasons = trajectory
            .incomplete()
            .into_iter()
            .take(limits::GRADE_ENTRIES);
        self.incomplete = reasons
            .map(|reason| shortened(reason, limits::EXCERPT).into_owned())
            .collect();
        let denied = trajectory
            .extra
            .as_ref()
            .and_then(|extra| extra.get(DENIED));
        let denied = denied.and_then(Value::as_array).into_iter().flatten();
        self.denied = denied
            .filter_map(Value::as_str)
            .take(limits::DENIED)
            .map(|what| shortened(what, limits::EXCERPT).into_owned())
            .collect();
        (self.timeline, self.omitted) = timeline(trajectory);
    }

    /// The trajectory, where it is at hand.
    pub fn content(&self) -> Option<&Trajectory> {
        self.content.as_deref()
    }

    /// In a few words.
    pub fn summary(&self) -> String {
        let counts = format!(
            "{}, {}",
            plural(self.steps, "step"),
            plural(self.tool_calls, "tool call")
        );
        match self.incomplete.is_empty() {
            true => counts,
            false => format!("{counts}, incomplete"),
        }
    }

    /// The timeline as text.
    pub fn timeline_text(&self) -> String {
        let mut lines = vec![self.agent.clone()];
        lines.extend(
            self.incomplete
                .iter()
                .map(|reason| format!("Incomplete: {reason}")),
        );
        if self.omitted > 0 {
            lines.push(format!("{} omitted", plural(self.omitted, "step")));
        }
        for step in &self.timeline {
            let subagent = step.subagent.iter().map(|id| format!(" of subagent {id}"));
            let subagent: String = subagent.collect();
            lines.push(format!("\n## {} {}{subagent}", step.step, step.source));
            lines.extend((!step.text.is_empty()).then(|| step.text.clone()));
            if !step.reasoning.is_empty() {
                lines.push(format!("[reasoning] {}", step.reasoning));
            }
            for call in &step.calls {
                if !call.tool.is_empty() {
                    lines.push(format!("[call] {} {}", call.tool, call.arguments));
                }
                let error = if call.failed == Some(true) {
                    ", error"
                } else {
                    ""
                };
                lines.push(format!("[result{error}] {}", call.result));
            }
        }
        lines.join("\n")
    }

    /// About how many bytes it takes in a summary.
    pub fn bytes_in_summary(&self) -> usize {
        let call = |call: &TimelineCall| {
            size_of::<TimelineCall>() + call.tool.len() + call.arguments.len() + call.result.len()
        };
        let step = |step: &TimelineStep| {
            let texts = step.text.len() + step.reasoning.len();
            size_of::<TimelineStep>() + texts + step.calls.iter().map(call).sum::<usize>()
        };
        let reasons = self.incomplete.iter().chain(&self.denied);
        let reasons: usize = reasons.map(String::len).sum();
        size_of::<Self>() + reasons + self.timeline.iter().map(step).sum::<usize>()
    }
}

/// The JSON that is stored; what is hashed.
pub fn json_of(trajectory: &Trajectory) -> Vec<u8> {
    // Names and plain values, which are always written.
    serde_json::to_vec(trajectory).unwrap_or_default()
}

fn timeline(trajectory: &Trajectory) -> (Vec<TimelineStep>, usize) {
    let mut all: Vec<(Option<&str>, &TrajectoryStep)> = Vec::new();
    collect(trajectory, None, &mut all);
    let first = all.iter().find_map(|(_, step)| step.time());
    let omitted = all.len().saturating_sub(limits::TIMELINE_STEPS);
    let head = limits::TIMELINE_STEPS * 2 / 3;
    if omitted > 0 {
        all.drain(head..head + omitted);
    }
    let texts: usize = all
        .iter()
        .map(|(_, step)| 2 + 2 * step.tool_calls.len())
        .sum();
    let limit = (limits::TIMELINE_BYTES / texts.max(1)).clamp(16, limits::EXCERPT);
    let mut room = limits::TIMELINE_BYTES;
    let mut steps = Vec::with_capacity(all.len());
    for (subagent, step) in all {
        steps.push(timeline_step(step, subagent, first, limit, &mut room));
    }
    (steps, omitted)
}

fn collect<'a>(
    trajectory: &'a Trajectory,
    subagent: Option<&'a str>,
    all: &mut Vec<(Option<&'a str>, &'a TrajectoryStep)>,
) {
    all.extend(trajectory.steps.iter().map(|step| (subagent, step)));
    for one in &trajectory.subagent_trajectories {
        collect(one, Some(one.trajectory_id.as_deref().unwrap_or("?")), all);
    }
}

fn timeline_step(
    step: &TrajectoryStep,
    subagent: Option<&str>,
    first: Option<jiff::Timestamp>,
    limit: usize,
    room: &mut usize,
) -> TimelineStep {
    let mut short = |text: &str| {
        let text = shortened(text.trim(), limit.min(*room)).into_owned();
        *room -= text.len().min(*room);
        text
    };
    let at_ms = first.zip(step.time()).and_then(|(first, at)| {
        let millis = at.as_millisecond().checked_sub(first.as_millisecond())?;
        u64::try_from(millis).ok()
    });
    let mut calls = Vec::new();
    for call in step.tool_calls.iter().take(limits::GRADE_ENTRIES) {
        let results: Vec<_> = step.results_of(&call.tool_call_id).collect();
        let texts: Vec<_> = results.iter().map(|result| result.text()).collect();
        let mut failed = None;
        for error in results.iter().filter_map(|result| result.is_error()) {
            failed = Some(failed.unwrap_or(false) || error);
        }
        calls.push(TimelineCall {
            tool: short(&call.function_name),
            arguments: short(&call.arguments_text()),
            result: short(&texts.join("\n")),
            failed,
        });
    }
    if step.tool_calls.len() > calls.len() {
        let more = plural(step.tool_calls.len() - calls.len(), "more call");
        calls.push(TimelineCall {
            result: format!("({more})"),
            ..TimelineCall::default()
        });
    }
    let others = step
        .results()
        .filter(|result| result.source_call_id.is_none());
    for result in others.take(limits::GRADE_ENTRIES) {
        calls.push(TimelineCall {
            result: short(&result.text()),
            failed: result.is_error(),
            ..TimelineCall::default()
        });
    }
    TimelineStep {
        step: step.step_id,
        source: step.source.name().to_owned(),
        subagent: subagent.map(&mut short),
        at_ms,
        text: short(&step.message.text()),
        reasoning: step
            .reasoning_content
            .as_deref()
            .map(&mut short)
            .unwrap_or_default(),
        calls,
        input_tokens: step
            .metrics
            .as_ref()
            .and_then(|metrics| metrics.prompt_tokens),
        output_tokens: step
            .metrics
            .as_ref()
            .and_then(|metrics| metrics.completion_tokens),
        cost_usd: step.metrics.as_ref().and_then(|metrics| metrics.cost_usd),
    }
}
