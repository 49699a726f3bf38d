//! `codex exec --json`: events of items (messages, commands, changes of files, calls of MCP tools).

use serde_json::{Value, json};

use super::{AgentReading, EventParser, NO_END, StreamLosses, trajectory_of};
use crate::build::{StepBuilder, ToolResult, content_of, number_at, text_at, usage_metrics};
use crate::trajectory::{FinalMetrics, MessageContent, StepSource};

#[derive(Default)]
pub(super) struct CodexParser {
    steps: StepBuilder,
    thread: Option<String>,
    usage: Option<Value>,
    /// An error that a later turn may overcome.
    error: Option<String>,
    /// Why a turn failed, which nothing that a command prints later undoes.
    failure: Option<String>,
    ended: bool,
}

/// Fields of items that are no arguments.
const NO_ARGUMENTS: &[&str] = &[
    "id",
    "type",
    "aggregated_output",
    "exit_code",
    "status",
    "result",
    "error",
    "server",
    "tool",
];

impl EventParser for CodexParser {
    fn event(&mut self, event: Value, losses: &mut StreamLosses) {
        match text_at(&event, "type") {
            Some("thread.started") => {
                self.thread = text_at(&event, "thread_id").map(str::to_owned);
            }
            Some("turn.started") => self.ended = false,
            Some("turn.completed") => {
                // The sum over the thread, not over the turn.
                self.usage = event.get("usage").cloned().or(self.usage.take());
                (self.ended, self.error) = (true, None);
            }
            Some("turn.failed") => {
                let message = event.pointer("/error/message").and_then(Value::as_str);
                let message = message.unwrap_or("an error without a message");
                self.failure.get_or_insert_with(|| message.to_owned());
                self.ended = true;
            }
            Some("error") => {
                let message = text_at(&event, "message").unwrap_or("an error without a message");
                losses.note(message);
                self.error = Some(message.to_owned());
            }
            Some(kind @ ("item.started" | "item.updated" | "item.completed")) => {
                match event.get("item") {
                    // A plan is no work, and no answer of the model of its own.
                    Some(item) if kind_of(item) == "todo_list" => losses.harmless("todo_list"),
                    Some(item) => self.item(item, kind == "item.completed"),
                    None => losses.lose("an item event has no item"),
                }
            }
            other => losses.unknown(other.unwrap_or("?")),
        }
    }

    fn finish(self: Box<Self>, losses: &mut StreamLosses) -> AgentReading {
        if !self.ended {
            losses.lose_end(NO_END);
        }
        let mut trajectory = trajectory_of("codex", self.steps);
        trajectory.session_id = self.thread;
        losses.lose_hidden_subagents(&trajectory, &["collab_tool_call", "spawn_agent"]);
        let usage = self.usage.as_ref();
        trajectory.final_metrics = usage.and_then(usage_metrics).map(|sums| {
            let mut extra = sums.extra.unwrap_or_default();
            let reasoning = usage.and_then(|usage| number_at(usage, "/reasoning_output_tokens"));
            if let Some(tokens) = reasoning {
                extra.insert("reasoning_tokens".to_owned(), json!(tokens));
            }
            FinalMetrics {
                total_prompt_tokens: sums.prompt_tokens,
                total_completion_tokens: sums.completion_tokens,
                total_cached_tokens: sums.cached_tokens,
                extra: (!extra.is_empty()).then_some(extra),
                ..FinalMetrics::default()
            }
        });
        AgentReading {
            text: trajectory.final_message(),
            error: self.failure.or(self.error),
            trajectory,
        }
    }
}

impl CodexParser {
    fn item(&mut self, item: &Value, completed: bool) {
        let text = || text_at(item, "text").unwrap_or_default();
        // Reasoning comes before what it leads to, and shares its step.
        let is_open = |step: &crate::trajectory::TrajectoryStep| {
            step.message.is_empty() && step.tool_calls.is_empty()
        };
        match kind_of(item) {
            "agent_message" if completed => self.steps.agent_step(None, is_open).say("", text()),
            "reasoning" if completed => self.steps.agent_step(None, is_open).think(text()),
            "error" if completed => {
                let message = text_at(item, "message").unwrap_or_default();
                self.steps.begin(StepSource::System, None).message = message.into();
            }
            "agent_message" | "reasoning" | "error" => {}
            kind => {
                let id = text_at(item, "id").unwrap_or(kind);
                let known = self.steps.step_with_call(id);
                match known {
                    // Plans and web searches are known whole only when they end.
                    Some(step) => {
                        let call = step
                            .tool_calls
                            .iter_mut()
                            .find(|call| call.tool_call_id == id);
                        if let Some(call) = call {
                            let mut again =
                                crate::trajectory::TrajectoryStep::new(1, StepSource::Agent);
                            again.call(Some(id), &call.function_name, &arguments(item));
                            if let Some(whole) = again.tool_calls.pop() {
                                *call = whole;
                            }
                        }
                    }
                    None => {
                        let step = self.steps.agent_step(None, is_open);
                        step.call(Some(id), &name(item, kind), &arguments(item));
                    }
                }
                if completed {
                    self.steps.result(Some(id), result_of(item), None);
                }
            }
        }
    }
}

fn kind_of(item: &Value) -> &str {
    text_at(item, "type")
        .or_else(|| text_at(item, "item_type"))
        .unwrap_or("?")
}

/// Tools of MCP servers have the names that Claude Code gives them; other items that of their type.
fn name(item: &Value, kind: &str) -> String {
    match (kind, text_at(item, "server"), text_at(item, "tool")) {
        ("mcp_tool_call", Some(server), Some(tool)) => format!("mcp__{server}__{tool}"),
        (_, None, Some(tool)) => tool.to_owned(),
        _ => kind.to_owned(),
    }
}

fn arguments(item: &Value) -> Value {
    if let Some(arguments) = item.get("arguments") {
        return arguments.clone();
    }
    let fields = item.as_object().into_iter().flatten();
    let given = fields.filter(|(name, value)| {
        !NO_ARGUMENTS.contains(&name.as_str()) && *name != "item_type" && !value.is_null()
    });
    Value::Object(
        given
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

fn result_of(item: &Value) -> ToolResult {
    let status = text_at(item, "status");
    let is_error = match status {
        Some("failed" | "declined") => Some(true),
        Some("completed") => Some(false),
        _ => None,
    };
    let error = item.get("error").filter(|error| !error.is_null());
    let content = text_at(item, "aggregated_output")
        .map(MessageContent::from)
        .or_else(|| {
            let error = error.map(|error| error.get("message").unwrap_or(error));
            let result = item.get("result").filter(|result| !result.is_null());
            error
                .or(result.map(|result| result.get("content").unwrap_or(result)))
                .map(content_of)
        });
    ToolResult {
        content: content.unwrap_or_default(),
        is_error,
        exit_code: item.get("exit_code").and_then(Value::as_i64),
    }
}
