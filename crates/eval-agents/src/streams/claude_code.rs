//! `claude -p --output-format stream-json --verbose`: one event for each block of a message, one for
//! each result, and a `result` at the end.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{AgentReading, EventParser, NO_END, StreamLosses, trajectory_of};
use crate::build::{
    StepBuilder, ToolResult, content_of, dollars_at, is_block_error, number_at, text_at, time_of,
    usage_metrics,
};
use crate::trajectory::{
    FinalMetrics, INCLUDES_SUBAGENTS, MessageContent, StepMetrics, StepSource, SubagentReference,
    Trajectory,
};

const NAME: &str = "claude-code";

/// Tools that start subagents.
const SUBAGENT_TOOLS: &[&str] = &["Agent", "Task"];

/// Subagents that are read.
const SUBAGENTS: usize = 256;

/// Types of events that repeat or announce what other events have.
const HARMLESS: &[&str] = &[
    "auth_status",
    "keep_alive",
    "prompt_suggestion",
    "rate_limit_event",
    "stream_event",
    "tool_progress",
    "tool_use_summary",
];

/// Of events of the type `system`.
const HARMLESS_SYSTEM: &[&str] = &[
    "api_retry",
    "files_persisted",
    "hook_progress",
    "hook_response",
    "hook_started",
    "status",
    "task_notification",
    "task_progress",
    "task_started",
    "task_updated",
    "thinking_tokens",
];

#[derive(Default)]
pub(super) struct ClaudeCodeParser {
    main: AgentThread,
    /// By the call that started them.
    subagents: BTreeMap<String, AgentThread>,
    session: Option<String>,
    version: Option<String>,
    model: Option<String>,
    result: Option<Value>,
}

/// The messages of the agent, or of a subagent.
#[derive(Default)]
struct AgentThread {
    steps: StepBuilder,
    /// The message that the last step is of.
    message: Option<String>,
}

impl EventParser for ClaudeCodeParser {
    fn event(&mut self, event: Value, losses: &mut StreamLosses) {
        let known = self.subagents.len();
        let thread = match text_at(&event, "parent_tool_use_id") {
            Some(parent) if known >= SUBAGENTS && !self.subagents.contains_key(parent) => {
                return losses.lose(format!("only the first {SUBAGENTS} subagents are read"));
            }
            Some(parent) => self.subagents.entry(parent.to_owned()).or_default(),
            None => &mut self.main,
        };
        match text_at(&event, "type") {
            Some("system") => match text_at(&event, "subtype") {
                Some("init") => {
                    self.session = text_at(&event, "session_id").map(str::to_owned);
                    self.version = text_at(&event, "claude_code_version").map(str::to_owned);
                    self.model = text_at(&event, "model").map(str::to_owned);
                }
                Some("compact_boundary") => {
                    let step = thread.steps.begin(StepSource::System, None);
                    step.message = "The conversation was summarized.".into();
                }
                Some(kind) if HARMLESS_SYSTEM.contains(&kind) => {
                    losses.harmless(&format!("system/{kind}"));
                }
                other => losses.unknown(&format!("system/{}", other.unwrap_or("?"))),
            },
            Some("assistant") => thread.assistant(&event, losses),
            Some("user") => thread.user(&event, losses),
            // One that a command prints later does not undo an error.
            Some("result") if self.result.as_ref().is_some_and(is_failure) => {}
            Some("result") => self.result = Some(event),
            Some(kind) if HARMLESS.contains(&kind) => losses.harmless(kind),
            other => losses.unknown(other.unwrap_or("?")),
        }
    }

    fn finish(self: Box<Self>, losses: &mut StreamLosses) -> AgentReading {
        let mut trajectory = trajectory_of(NAME, self.main.steps);
        trajectory.session_id = self.session;
        trajectory.agent.model_name = self.model;
        if let Some(version) = self.version {
            trajectory.agent.version = version;
        }
        for (parent, thread) in self.subagents {
            if thread.steps.steps.is_empty() {
                continue;
            }
            let mut subagent = trajectory_of(NAME, thread.steps);
            subagent.agent.clone_from(&trajectory.agent);
            subagent.trajectory_id = Some(parent);
            trajectory.subagent_trajectories.push(subagent);
        }
        refer_to_subagents(&mut trajectory);
        losses.lose_hidden_subagents(&trajectory, SUBAGENT_TOOLS);
        let result = self.result.unwrap_or_else(|| {
            losses.lose_end(NO_END);
            Value::Null
        });
        if !result.is_null() {
            trajectory.final_metrics = Some(totals(&result));
        }
        let text = text_at(&result, "result").map(str::to_owned);
        let failed = is_failure(&result);
        let reason = || {
            let errors = result
                .get("errors")
                .map(|errors| content_of(errors).text().into_owned());
            let kind = text_at(&result, "subtype").filter(|kind| *kind != "success");
            text.clone()
                .or(errors)
                .or_else(|| kind.map(str::to_owned))
                .unwrap_or_else(|| "an error without a message".to_owned())
        };
        AgentReading {
            error: failed.then(reason),
            text: text.or_else(|| trajectory.final_message()),
            trajectory,
        }
    }
}

impl AgentThread {
    fn assistant(&mut self, event: &Value, losses: &mut StreamLosses) {
        let Some(message) = event.get("message") else {
            return losses.lose("an assistant event has no message");
        };
        let id = text_at(message, "id");
        let same = id.is_some() && self.message.as_deref() == id;
        let mut begun = false;
        let text = [Value::from(
            message
                .get("content")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        )];
        let blocks = match message.get("content") {
            Some(Value::Array(blocks)) => blocks.as_slice(),
            Some(Value::String(_)) => &text,
            _ => return losses.lose("an assistant event has no content"),
        };
        for block in blocks {
            let kind = text_at(block, "type").unwrap_or("text");
            let call =
                (kind == "tool_use" || kind.ends_with("_tool_use")).then(|| text_at(block, "id"));
            // Results may come between the calls of one message, but a text then is of the next.
            let new = self.steps.steps.len();
            let step = self
                .steps
                .agent_step(time_of(event.get("timestamp")), |step| {
                    begun
                        || same
                            && match call {
                                Some(id) => !id.is_some_and(|id| step.has_call(id)),
                                None => !step.has_results(),
                            }
                });
            begun = true;
            match kind {
                "text" => {
                    step.say(
                        "\n\n",
                        block
                            .as_str()
                            .or_else(|| text_at(block, "text"))
                            .unwrap_or_default(),
                    );
                }
                "thinking" => step.think(text_at(block, "thinking").unwrap_or_default()),
                "redacted_thinking" => step.think("[reasoning that the API does not show]"),
                _ if call.is_some() => {
                    let input = block.get("input").unwrap_or(&Value::Null);
                    step.call(
                        text_at(block, "id"),
                        text_at(block, "name").unwrap_or("?"),
                        input,
                    );
                }
                _ if kind.ends_with("_tool_result") => {
                    let result = result_of(block);
                    self.steps
                        .result(text_at(block, "tool_use_id"), result, None);
                    continue;
                }
                other => losses.unknown(&format!("assistant/{other}")),
            }
            if self.steps.steps.len() > new {
                self.message = id.map(str::to_owned);
                if let Some(step) = self.steps.last() {
                    step.model_name = text_at(message, "model").map(str::to_owned);
                    step.metrics = message.get("usage").and_then(usage_metrics);
                    // Events come before the message has ended: its output is not counted yet.
                    if text_at(message, "stop_reason").is_none()
                        && let Some(metrics) = &mut step.metrics
                    {
                        metrics.completion_tokens = None;
                    }
                }
            }
        }
    }

    fn user(&mut self, event: &Value, losses: &mut StreamLosses) {
        let time = time_of(event.get("timestamp"));
        let content = event.pointer("/message/content").unwrap_or(&Value::Null);
        let Value::Array(blocks) = content else {
            let step = self.steps.begin(StepSource::User, time);
            step.message = content_of(content);
            return;
        };
        let mut said = Vec::new();
        for block in blocks {
            match text_at(block, "type") {
                Some("tool_result") => {
                    let id = text_at(block, "tool_use_id");
                    self.steps.result(id, result_of(block), time.clone());
                }
                Some("text" | "image" | "document") => said.push(block.clone()),
                other => losses.unknown(&format!("user/{}", other.unwrap_or("?"))),
            }
        }
        if !said.is_empty() {
            self.steps.begin(StepSource::User, time).message = content_of(&Value::Array(said));
        }
    }
}

fn result_of(block: &Value) -> ToolResult {
    ToolResult {
        content: block
            .get("content")
            .map_or_else(MessageContent::default, content_of),
        is_error: Some(is_block_error(block)),
        exit_code: None,
    }
}

/// Whether a final event reports an error.
fn is_failure(result: &Value) -> bool {
    result.get("is_error") == Some(&Value::Bool(true))
        || text_at(result, "subtype").is_some_and(|kind| kind != "success")
}

/// Results of the calls that started subagents refer to their trajectories.
fn refer_to_subagents(trajectory: &mut Trajectory) {
    let ids: Vec<_> = trajectory
        .subagent_trajectories
        .iter()
        .filter_map(|one| one.trajectory_id.clone())
        .collect();
    let nested = trajectory
        .subagent_trajectories
        .iter_mut()
        .flat_map(|one| &mut one.steps);
    for step in trajectory.steps.iter_mut().chain(nested) {
        for result in step.observation.iter_mut().flat_map(|all| &mut all.results) {
            let call = result.source_call_id.as_ref();
            if let Some(id) = call.filter(|call| ids.contains(call)) {
                result.subagent_trajectory_ref = vec![SubagentReference {
                    trajectory_id: Some(id.clone()),
                    ..SubagentReference::default()
                }];
            }
        }
    }
}

/// `modelUsage` has the calls of subagents, too; `usage` is of programs before it.
fn totals(result: &Value) -> FinalMetrics {
    let mut sums = StepMetrics::default();
    let mut written = 0u64;
    let models = result.get("modelUsage").and_then(Value::as_object);
    for usage in models.iter().flat_map(|models| models.values()) {
        let at = |name: &str| number_at(usage, name).unwrap_or(0);
        let read = at("/cacheReadInputTokens");
        let input = [at("/inputTokens"), read, at("/cacheCreationInputTokens")];
        let add = |sum: &mut Option<u64>, n: u64| {
            *sum = Some(sum.unwrap_or(0).saturating_add(n));
        };
        add(
            &mut sums.prompt_tokens,
            input.into_iter().fold(0, u64::saturating_add),
        );
        add(&mut sums.completion_tokens, at("/outputTokens"));
        add(&mut sums.cached_tokens, read);
        written = written.saturating_add(at("/cacheCreationInputTokens"));
    }
    if models.is_none_or(serde_json::Map::is_empty) {
        sums = result
            .get("usage")
            .and_then(usage_metrics)
            .unwrap_or_default();
    }
    let mut extra = sums.extra.take().unwrap_or_default();
    if models.is_some_and(|models| !models.is_empty()) {
        extra.insert(INCLUDES_SUBAGENTS.to_owned(), json!(true));
    }
    if written > 0 {
        extra.insert("cache_write_tokens".to_owned(), json!(written));
    }
    for name in ["num_turns", "duration_ms"] {
        if let Some(number) = number_at(result, &format!("/{name}")) {
            extra.insert(name.to_owned(), json!(number));
        }
    }
    FinalMetrics {
        total_prompt_tokens: sums.prompt_tokens,
        total_completion_tokens: sums.completion_tokens,
        total_cached_tokens: sums.cached_tokens,
        total_cost_usd: dollars_at(result, "/total_cost_usd"),
        total_steps: None,
        extra: (!extra.is_empty()).then_some(extra),
    }
}
