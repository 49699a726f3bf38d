//! The trajectory file of mini-swe-agent: the messages of Chat Completions, with what the program
//! adds of its own in `extra`.

use serde_json::{Value, json};

use super::{AgentReading, EventParser, NO_STATUS, StreamLosses, trajectory_of};
use crate::build::{
    StepBuilder, ToolResult, content_of, dollars_at, text_at, time_of, usage_metrics,
};
use crate::trajectory::{FinalMetrics, MessageContent, StepSource};
use eval_base::json::is_heavier;

#[derive(Default)]
pub(super) struct MiniSweAgentParser {
    file: Option<Value>,
}

impl EventParser for MiniSweAgentParser {
    fn event(&mut self, _event: Value, _losses: &mut StreamLosses) {}

    fn is_whole(&self) -> bool {
        true
    }

    fn whole(&mut self, text: &[u8], losses: &mut StreamLosses) {
        if is_heavier(text, super::TRAJECTORY_BYTES) {
            return losses.lose("the trajectory file has too many values");
        }
        match serde_json::from_slice(text) {
            Ok(file) => self.file = Some(file),
            Err(error) => losses.lose(format!("the trajectory file is not JSON: {error}")),
        }
    }

    fn finish(self: Box<Self>, losses: &mut StreamLosses) -> AgentReading {
        let file = self.file.unwrap_or_default();
        let mut steps = StepBuilder::default();
        // Calls of the text form have no ids: their results are the next message of the user.
        let mut unanswered = None;
        match file.get("messages") {
            Some(Value::Array(messages)) => {
                for message in messages {
                    unanswered = add_message(&mut steps, message, unanswered, losses);
                }
            }
            _ if file.is_null() => {}
            _ => losses.lose("the trajectory file has no messages"),
        }
        let mut trajectory = trajectory_of("mini-swe-agent", steps);
        let at = |pointer: &str| {
            file.pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        if let Some(version) = at("/info/mini_version") {
            trajectory.agent.version = version;
        }
        trajectory.agent.model_name = at("/info/config/model/model_name");
        trajectory.final_metrics =
            dollars_at(&file, "/info/model_stats/instance_cost").map(|cost| FinalMetrics {
                // 0 is what it reports of models without a price.
                total_cost_usd: (cost > 0.0).then_some(cost),
                ..FinalMetrics::default()
            });
        let status = at("/info/exit_status").filter(|status| !status.is_empty());
        // The file is written after each step.
        if status.is_none() {
            losses.lose_end(NO_STATUS);
        }
        let submission = at("/info/submission").filter(|text| !text.trim().is_empty());
        let error = status
            .as_deref()
            .filter(|status| !matches!(*status, "Submitted" | "submitted"));
        AgentReading {
            text: submission.or_else(|| trajectory.final_message()),
            error: error.map(|status| format!("mini-swe-agent ended as `{status}`")),
            trajectory,
        }
    }
}

/// Adds a message; the id of a call that the next message of the user answers.
fn add_message(
    steps: &mut StepBuilder,
    message: &Value,
    unanswered: Option<String>,
    losses: &mut StreamLosses,
) -> Option<String> {
    let extra = message.get("extra").unwrap_or(&Value::Null);
    let time = time_of(extra.get("timestamp"));
    let content = message
        .get("content")
        .map_or_else(MessageContent::default, content_of);
    match text_at(message, "role") {
        Some("assistant") => {
            let step = steps.begin(StepSource::Agent, time);
            step.message = content;
            step.llm_call_count = Some(1);
            step.model_name = extra
                .pointer("/response/model")
                .and_then(Value::as_str)
                .map(str::to_owned);
            step.metrics = extra.pointer("/response/usage").and_then(usage_metrics);
            if let Some(cost) = dollars_at(extra, "/cost").filter(|cost| *cost > 0.0) {
                step.metrics.get_or_insert_default().cost_usd = Some(cost);
            }
            for call in message
                .get("tool_calls")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let function = call.get("function").unwrap_or(&Value::Null);
                let arguments = function.get("arguments").unwrap_or(&Value::Null);
                step.call(
                    text_at(call, "id"),
                    text_at(function, "name").unwrap_or("?"),
                    arguments,
                );
            }
            let actions = extra.get("actions").and_then(Value::as_array);
            if step.tool_calls.is_empty()
                && let Some(actions) = actions
            {
                for action in actions {
                    let command = action.get("command").unwrap_or(action);
                    step.call(None, "bash", &json!({ "command": command }));
                }
                return step
                    .tool_calls
                    .first()
                    .map(|call| call.tool_call_id.clone());
            }
        }
        Some(role @ ("tool" | "user")) => {
            let id = text_at(message, "tool_call_id")
                .map(str::to_owned)
                .or(unanswered);
            if id.is_none() && role == "user" {
                steps.begin(StepSource::User, time).message = content;
                return None;
            }
            // The command that ends the session is one that succeeded; those beside it are not run.
            let is_run = text_at(extra, "exception_info") != Some("action was not executed");
            let exit_code = extra.get("returncode").and_then(Value::as_i64);
            let exit_code = exit_code.filter(|_| is_run);
            let result = ToolResult {
                content,
                is_error: None,
                exit_code,
            };
            steps.result(id.as_deref(), result, time);
        }
        Some("system") => steps.begin(StepSource::System, time).message = content,
        Some("exit") => {
            let step = steps.begin(StepSource::System, time);
            step.message = content;
            if let Some(status) = extra.get("exit_status") {
                step.add_extra("exit_status", status.clone());
            }
        }
        other => losses.unknown(&format!("role {}", other.unwrap_or("?"))),
    }
    None
}
