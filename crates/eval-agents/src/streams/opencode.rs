//! `opencode run --format json`: the parts of messages, with tokens and cost at the end of each step.

use serde_json::{Value, json};

use super::{AgentReading, EventParser, NO_END, StreamLosses, trajectory_of};
use crate::build::{StepBuilder, ToolResult, dollars_at, number_at, text_at, time_of};
use crate::trajectory::{MessageContent, StepMetrics, StepSource};

#[derive(Default)]
pub(super) struct OpencodeParser {
    steps: StepBuilder,
    session: Option<String>,
    /// The message that the last step is of.
    message: Option<String>,
    /// The last event ended a step after which the model is not called again.
    ended: bool,
    error: Option<String>,
}

impl EventParser for OpencodeParser {
    fn event(&mut self, event: Value, losses: &mut StreamLosses) {
        let part = event.get("part").unwrap_or(&Value::Null);
        let time = time_of(event.get("timestamp"));
        if let Some(session) = text_at(&event, "sessionID") {
            self.session.get_or_insert_with(|| session.to_owned());
        }
        let kind = text_at(&event, "type").unwrap_or("?");
        match kind {
            "error" => {
                let error = event.get("error").unwrap_or(&Value::Null);
                let message = error.pointer("/data/message").and_then(Value::as_str);
                let message = message
                    .or_else(|| text_at(error, "message"))
                    .or_else(|| text_at(error, "name"))
                    .unwrap_or("an error without a message");
                self.error = Some(message.to_owned());
                self.steps.begin(StepSource::System, time).message = message.into();
                (self.ended, self.message) = (true, None);
                return;
            }
            "step_start" | "step_finish" | "text" | "reasoning" | "tool_use" => {}
            other => return losses.unknown(other),
        }
        self.ended = false;
        let message = text_at(part, "messageID");
        let same = message.is_some() && self.message.as_deref() == message;
        self.message = message.map(str::to_owned);
        let step = self.steps.agent_step(time.clone(), |_| same);
        match kind {
            "text" => step.say("\n\n", text_at(part, "text").unwrap_or_default()),
            "reasoning" => step.think(text_at(part, "text").unwrap_or_default()),
            "tool_use" => {
                let state = part.get("state").unwrap_or(&Value::Null);
                let name = text_at(part, "tool").unwrap_or("?");
                step.call(
                    text_at(part, "callID"),
                    name,
                    state.get("input").unwrap_or(&Value::Null),
                );
                let id = step.tool_calls.last().map(|call| call.tool_call_id.clone());
                self.steps.result(id.as_deref(), result_of(state), time);
            }
            "step_finish" => {
                step.metrics = metrics_of(part);
                self.ended = text_at(part, "reason") != Some("tool-calls");
                self.message = None;
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, losses: &mut StreamLosses) -> AgentReading {
        if !self.ended {
            losses.lose_end(NO_END);
        }
        let mut trajectory = trajectory_of("opencode", self.steps);
        trajectory.session_id = self.session;
        losses.lose_hidden_subagents(&trajectory, &["task"]);
        AgentReading {
            text: trajectory.final_message(),
            error: self.error,
            trajectory,
        }
    }
}

fn result_of(state: &Value) -> ToolResult {
    let is_error = match text_at(state, "status") {
        Some("error") => Some(true),
        Some("completed") => Some(false),
        _ => None,
    };
    ToolResult {
        content: MessageContent::from(
            text_at(state, "output")
                .or_else(|| text_at(state, "error"))
                .unwrap_or_default(),
        ),
        is_error,
        exit_code: state.pointer("/metadata/exit").and_then(Value::as_i64),
    }
}

/// `input` is without what caches held. What is not input of a total is output, with reasoning.
fn metrics_of(part: &Value) -> Option<StepMetrics> {
    let tokens = part.get("tokens")?;
    let at = |pointer: &str| number_at(tokens, pointer);
    let (read, written) = (
        at("/cache/read").unwrap_or(0),
        at("/cache/write").unwrap_or(0),
    );
    let prompt = at("/input")?.checked_add(read)?.checked_add(written)?;
    let completion = match at("/total") {
        Some(total) => total.checked_sub(prompt),
        None => at("/output").map(|output| output.saturating_add(at("/reasoning").unwrap_or(0))),
    };
    let mut metrics = StepMetrics {
        prompt_tokens: Some(prompt),
        completion_tokens: completion,
        cached_tokens: Some(read),
        // 0 is what it reports of models without a price.
        cost_usd: dollars_at(part, "/cost").filter(|cost| *cost > 0.0),
        ..StepMetrics::default()
    };
    if written > 0 {
        let extra = metrics.extra.get_or_insert_default();
        extra.insert("cache_write_tokens".to_owned(), json!(written));
    }
    Some(metrics)
}
