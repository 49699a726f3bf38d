//! Trajectories in Harbor's Agent Trajectory Interchange Format (ATIF): the types and questions
//! that graders and reports put to them.
//!
//! Field names and shapes are those of ATIF 1.8 (`harbor.models.trajectories` of Harbor 0.26). Every
//! version from 1.0 can be read; 1.8 is written. Reading is in `read`.

mod content;
mod read;
mod redact;
mod render;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use content::{ContentPart, MediaSource, MessageContent};
pub use read::TrajectoryError;
pub use render::TrajectoryText;

/// The version that is written.
pub const SCHEMA_VERSION: &str = "ATIF-v1.8";

/// Fields that a producer adds to an object of its own accord.
pub type ExtraFields = Map<String, Value>;

/// What an agent did in one session, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// `ATIF-v1.N`. Reading brings every version to [`SCHEMA_VERSION`].
    #[serde(default = "newest")]
    pub schema_version: String,
    /// Of the run; several trajectories may share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Of this trajectory. Embedded trajectories have one, and it is unique among their siblings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_id: Option<String>,
    pub agent: TrajectoryAgent,
    /// `step_id` counts from 1.
    pub steps: Vec<TrajectoryStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_metrics: Option<FinalMetrics>,
    /// The file of the trajectory that continues this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_trajectory_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraFields>,
    /// Trajectories of subagents, which results refer to by `trajectory_id`.
    #[serde(
        default,
        deserialize_with = "read::null_or",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub subagent_trajectories: Vec<Trajectory>,
}

/// The program that acted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryAgent {
    pub name: String,
    /// `unknown` where the program reports none.
    pub version: String,
    /// The model of every step that names no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// In the shape of OpenAI's function calling.
    #[serde(
        default,
        deserialize_with = "read::null_or",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tool_definitions: Vec<ExtraFields>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraFields>,
}

/// Who a step is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepSource {
    /// Instructions of the harness or the agent program, and events of its own.
    System,
    /// Prompts.
    User,
    /// The model: a message, tool calls, or both, with the results of the calls.
    Agent,
}

/// One message, with the tool calls that it makes and their results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryStep {
    /// From 1, without gaps.
    pub step_id: u64,
    /// RFC 3339 with a zone; ISO 8601 without one can be read, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    pub source: StepSource,
    /// Only of agent steps, as are `reasoning_effort`, `reasoning_content`, `tool_calls` and `metrics`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// A word or a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Value>,
    /// Empty where the agent only calls tools.
    pub message: MessageContent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    #[serde(
        default,
        deserialize_with = "read::null_or",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<StepObservation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<StepMetrics>,
    /// The step repeats one of an earlier trajectory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_copied_context: Option<bool>,
    /// Calls of the model that the step stands for; 0 where the program acted without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm_call_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraFields>,
}

/// A tool that the model called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in its step.
    pub tool_call_id: String,
    pub function_name: String,
    /// Empty where the model gave no JSON object; `extra.raw_arguments` has what it gave.
    pub arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraFields>,
}

/// What came back from the tools of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepObservation {
    pub results: Vec<ObservationResult>,
}

/// What came back from one tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservationResult {
    /// The `tool_call_id` of a call of the same step; none for what no call asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<MessageContent>,
    #[serde(
        default,
        deserialize_with = "read::null_or",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub subagent_trajectory_ref: Vec<SubagentReference>,
    /// `is_error` and `exit_code` where the agent reports them ([`ObservationResult::is_error`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraFields>,
}

/// The trajectory of a subagent: embedded under `trajectory_id`, or a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubagentReference {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_id: Option<String>,
    /// For people; it finds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraFields>,
}

/// Tokens and cost of one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepMetrics {
    /// All input, with what a cache held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// All output, with reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// Of `prompt_tokens`: what was read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(
        default,
        deserialize_with = "read::null_or",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub prompt_token_ids: Vec<u64>,
    #[serde(
        default,
        deserialize_with = "read::null_or",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub completion_token_ids: Vec<u64>,
    #[serde(
        default,
        deserialize_with = "read::null_or",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub logprobs: Vec<f64>,
    /// `cache_write_tokens` where the agent reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraFields>,
}

/// Tokens and cost of a whole trajectory, as the agent reports them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FinalMetrics {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_prompt_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_completion_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cached_tokens: Option<u64>,
    /// US dollars, with those of subagents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_steps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<ExtraFields>,
}

/// A tool call with what came back, and where it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct PerformedCall<'a> {
    /// Of the trajectory that has the step; the outer one's is `None` unless it has an id.
    pub trajectory_id: Option<&'a str>,
    pub step: &'a TrajectoryStep,
    pub call: &'a ToolCall,
    /// In order; empty where nothing came back.
    pub results: Vec<&'a ObservationResult>,
}

/// Sums over a trajectory. `None` is unknown, never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TrajectoryTotals {
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    /// Steps of every source, subagents' not counted.
    pub steps: usize,
    /// Of them, those of the agent.
    pub agent_steps: usize,
    /// With those of embedded subagents.
    pub tool_calls: usize,
}

fn has_mark(extra: Option<&ExtraFields>, name: &str) -> bool {
    extra.and_then(|extra| extra.get(name)) == Some(&Value::Bool(true))
}

fn mark(extra: &mut Option<ExtraFields>, name: &str) {
    extra
        .get_or_insert_default()
        .insert(name.to_owned(), Value::Bool(true));
}

/// Collects the calls of the subagents that results refer to. Each is taken out of `left`, so that two
/// references do not count its calls twice.
fn follow<'a>(
    results: &[&'a ObservationResult],
    calls: &mut Vec<PerformedCall<'a>>,
    left: &mut Vec<&'a Trajectory>,
) {
    for reference in results
        .iter()
        .flat_map(|result| &result.subagent_trajectory_ref)
    {
        let Some(id) = &reference.trajectory_id else {
            continue;
        };
        if let Some(at) = left
            .iter()
            .position(|one| one.trajectory_id.as_ref() == Some(id))
        {
            left.remove(at).collect_calls(calls, left);
        }
    }
}

/// In `extra` of final metrics: their tokens contain those of embedded subagents.
pub const INCLUDES_SUBAGENTS: &str = "includes_subagents";

/// In `extra` of a trajectory: the answers of the model that were counted, which takes the place of
/// a sum over its steps.
pub const MODEL_ANSWERS: &str = "model_answers";

/// In `extra` of a trajectory: its model was replayed, so that its times are not those of the agent
/// with its model.
pub const REPLAYED: &str = "replayed";

/// In `extra` of a call: the agent reports it, but its conversation with the model does not have it.
const UNSUPPORTED: &str = "not_in_conversation";

/// In `extra` of a call: name and arguments of the same call in the other record, where they differ.
const OTHER_RECORD: &str = "other_record";

/// In `extra` of a step: its calls are from the conversation with the model alone, so that their
/// place among the others is not known.
const UNPRINTED: &str = "not_printed";

fn newest() -> String {
    SCHEMA_VERSION.to_owned()
}

impl Trajectory {
    /// Without steps.
    pub fn new(agent: TrajectoryAgent) -> Self {
        Self {
            schema_version: newest(),
            session_id: None,
            trajectory_id: None,
            agent,
            steps: Vec::new(),
            notes: None,
            final_metrics: None,
            continued_trajectory_ref: None,
            extra: None,
            subagent_trajectories: Vec::new(),
        }
    }

    /// Every tool call with its results, in order. The calls of an embedded subagent follow the
    /// call whose result refers to it; those of subagents that nothing refers to are last.
    pub fn tool_calls(&self) -> Vec<PerformedCall<'_>> {
        let (mut calls, mut left) = (Vec::new(), Vec::new());
        self.collect_calls(&mut calls, &mut left);
        while !left.is_empty() {
            left.remove(0).collect_calls(&mut calls, &mut left);
        }
        calls
    }

    /// `left` are the subagents that no reference led to yet, of this trajectory and of outer ones.
    fn collect_calls<'a>(
        &'a self,
        calls: &mut Vec<PerformedCall<'a>>,
        left: &mut Vec<&'a Trajectory>,
    ) {
        left.extend(&self.subagent_trajectories);
        for step in self.steps.iter().filter(|step| !step.is_copied()) {
            for call in &step.tool_calls {
                let results: Vec<_> = step.results_of(&call.tool_call_id).collect();
                calls.push(PerformedCall {
                    trajectory_id: self.trajectory_id.as_deref(),
                    step,
                    call,
                    results: results.clone(),
                });
                follow(&results, calls, left);
            }
            let others = step
                .results()
                .filter(|result| result.source_call_id.is_none());
            follow(&others.collect::<Vec<_>>(), calls, left);
        }
    }

    /// Why the trajectory does not have all that was done: what could not be read, was left out for
    /// its size, or never came. Nothing may be concluded from what such a trajectory lacks. Kept in
    /// `extra.incomplete`.
    pub fn incomplete(&self) -> Vec<&str> {
        let reasons = self
            .extra
            .as_ref()
            .and_then(|extra| extra.get("incomplete"));
        match reasons {
            Some(Value::Array(reasons)) => reasons.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(reason)) => vec![reason],
            _ => Vec::new(),
        }
    }

    /// Puts the prompt before the agent's first step, unless a user's step is there.
    pub fn add_prompt(&mut self, prompt: &str) {
        let before = self
            .steps
            .iter()
            .take_while(|step| step.source != StepSource::Agent);
        if before.clone().any(|step| step.source == StepSource::User) {
            return;
        }
        let mut step = TrajectoryStep::new(1, StepSource::User);
        step.message = prompt.into();
        self.steps.insert(0, step);
        for (id, step) in (1..).zip(&mut self.steps) {
            step.step_id = id;
        }
    }

    /// What `final_metrics` reports, else the sums over agent steps, those of embedded subagents
    /// included. A sum is unknown as soon as one call of the model did not report its part.
    pub fn totals(&self) -> TrajectoryTotals {
        let reported = self.final_metrics.as_ref();
        let has_all = reported
            .and_then(|all| all.extra.as_ref()?.get(INCLUDES_SUBAGENTS))
            .is_some_and(|mark| *mark == Value::Bool(true));
        let with_subagents = |own: Option<u64>, part: fn(&TrajectoryTotals) -> Option<u64>| {
            own.map(|own| {
                let below = self.subagent_trajectories.iter().filter(|_| !has_all);
                below
                    .map(|one| part(&one.totals()))
                    .try_fold(own, |sum, part| sum.checked_add(part?))
            })
        };
        let sum = |part: fn(&StepMetrics) -> Option<u64>| {
            self.sum(&|metrics| part(metrics), &|sum: u64, n| sum.checked_add(n))
        };
        TrajectoryTotals {
            prompt_tokens: with_subagents(
                reported.and_then(|all| all.total_prompt_tokens),
                |all| all.prompt_tokens,
            )
            .unwrap_or_else(|| sum(|one| one.prompt_tokens)),
            completion_tokens: with_subagents(
                reported.and_then(|all| all.total_completion_tokens),
                |all| all.completion_tokens,
            )
            .unwrap_or_else(|| sum(|one| one.completion_tokens)),
            cached_tokens: with_subagents(
                reported.and_then(|all| all.total_cached_tokens),
                |all| all.cached_tokens,
            )
            .unwrap_or_else(|| sum(|one| one.cached_tokens)),
            cost_usd: reported
                .and_then(|all| all.total_cost_usd)
                .or_else(|| self.sum(&|one| one.cost_usd, &|sum: f64, n| Some(sum + n))),
            steps: self.steps.iter().filter(|step| !step.is_copied()).count(),
            agent_steps: self.counted_answers().unwrap_or_else(|| {
                self.agent_steps()
                    .map(TrajectoryStep::model_calls)
                    .fold(0, usize::saturating_add)
            }),
            tool_calls: self.tool_calls().len(),
        }
    }

    fn sum<T: Copy + Default>(
        &self,
        part: &dyn Fn(&StepMetrics) -> Option<T>,
        add: &dyn Fn(T, T) -> Option<T>,
    ) -> Option<T> {
        let mut counted = false;
        let mut sum = T::default();
        for step in self
            .agent_steps()
            .filter(|step| step.llm_call_count != Some(0))
        {
            sum = add(sum, part(step.metrics.as_ref()?)?)?;
            counted = true;
        }
        for subagent in &self.subagent_trajectories {
            sum = add(sum, subagent.sum(part, add)?)?;
        }
        counted.then_some(sum)
    }

    /// Answers of the model, those to subagents included, where somebody else than the agent counted
    /// them.
    pub fn counted_answers(&self) -> Option<usize> {
        let counted = self.extra.as_ref()?.get(MODEL_ANSWERS)?.as_u64()?;
        Some(usize::try_from(counted).unwrap_or(usize::MAX))
    }

    /// Without those that were copied from another trajectory.
    pub fn agent_steps(&self) -> impl Iterator<Item = &TrajectoryStep> {
        self.steps
            .iter()
            .filter(|step| step.source == StepSource::Agent && !step.is_copied())
    }

    /// The text of the last agent step that has one.
    pub fn final_message(&self) -> Option<String> {
        let texts = self.steps.iter().rev();
        texts
            .filter(|step| step.source == StepSource::Agent)
            .map(|step| step.message.text())
            .find(|text| !text.trim().is_empty())
            .map(|text| text.into_owned())
    }
}

impl TrajectoryStep {
    /// With an empty message. `step_id` is the caller's to count.
    pub fn new(step_id: u64, source: StepSource) -> Self {
        Self {
            step_id,
            timestamp: None,
            source,
            model_name: None,
            reasoning_effort: None,
            message: MessageContent::default(),
            reasoning_content: None,
            tool_calls: Vec::new(),
            observation: None,
            metrics: None,
            is_copied_context: None,
            llm_call_count: None,
            extra: None,
        }
    }

    pub fn results(&self) -> impl Iterator<Item = &ObservationResult> {
        self.observation
            .iter()
            .flat_map(|observation| &observation.results)
    }

    /// Whether it is of another trajectory, whose context this one continues.
    pub fn is_copied(&self) -> bool {
        self.is_copied_context == Some(true)
    }

    /// Answers of the model that an agent step stands for.
    pub fn model_calls(&self) -> usize {
        let calls = self.llm_call_count.unwrap_or(1);
        usize::try_from(calls).unwrap_or(usize::MAX)
    }

    /// Results of one of its calls.
    pub fn results_of(&self, tool_call_id: &str) -> impl Iterator<Item = &ObservationResult> {
        self.results()
            .filter(move |one| one.source_call_id.as_deref() == Some(tool_call_id))
    }

    /// Whether its calls are from the conversation with the model alone.
    pub fn is_unprinted(&self) -> bool {
        has_mark(self.extra.as_ref(), UNPRINTED)
    }

    /// Marks it as one whose calls are from the conversation with the model alone.
    pub fn mark_unprinted(&mut self) {
        mark(&mut self.extra, UNPRINTED);
    }

    /// The instant, where the timestamp has a zone.
    pub fn time(&self) -> Option<jiff::Timestamp> {
        self.timestamp.as_deref()?.parse().ok()
    }
}

impl ToolCall {
    /// Whether the agent reports it, but its conversation with the model does not have it.
    pub fn is_unsupported(&self) -> bool {
        has_mark(self.extra.as_ref(), UNSUPPORTED)
    }

    /// Marks it as a call that the conversation with the model does not have.
    pub fn mark_unsupported(&mut self) {
        mark(&mut self.extra, UNSUPPORTED);
    }

    /// The same call as the other record has it, where they differ: the agent's report, or the
    /// conversation with the model.
    pub fn other_record(&self) -> Option<ToolCall> {
        let other = self.extra.as_ref()?.get(OTHER_RECORD)?;
        ToolCall::deserialize(other).ok()
    }

    pub fn set_other_record(&mut self, mut other: ToolCall) {
        other.extra.iter_mut().for_each(|extra| {
            extra.remove(OTHER_RECORD);
        });
        if let Ok(other) = serde_json::to_value(other) {
            self.extra
                .get_or_insert_default()
                .insert(OTHER_RECORD.to_owned(), other);
        }
    }

    /// What the model gave for arguments where it was no JSON object.
    pub fn raw_arguments(&self) -> Option<&Value> {
        self.extra.as_ref()?.get("raw_arguments")
    }
}

impl ObservationResult {
    /// Whether the tool failed, where the agent reports it: by a flag (`is_error`,
    /// `tool_result_is_error` of Harbor's converters) or an exit code. A command with an exit code
    /// other than 0 failed also if the flag reports that the tool worked.
    pub fn is_error(&self) -> Option<bool> {
        let extra = self.extra.as_ref()?;
        let flag = |name: &str| extra.get(name).and_then(Value::as_bool);
        let by_code = self.exit_code().map(|code| code != 0);
        match flag("is_error").or_else(|| flag("tool_result_is_error")) {
            Some(false) => Some(by_code.unwrap_or(false)),
            flag => flag.or(by_code),
        }
    }

    /// The exit code of a command, where the agent reports it.
    pub fn exit_code(&self) -> Option<i64> {
        self.extra.as_ref()?.get("exit_code")?.as_i64()
    }

    pub fn text(&self) -> String {
        self.content
            .as_ref()
            .map(|content| content.text().into_owned())
            .unwrap_or_default()
    }
}

impl PerformedCall<'_> {
    /// Whether the call failed: true if any of its results reports an error, `None` if no result
    /// reports either.
    pub fn is_error(&self) -> Option<bool> {
        let mut reported = self.results.iter().filter_map(|result| result.is_error());
        let first = reported.next()?;
        Some(first || reported.any(|error| error))
    }
}
