//! `gemini --output-format stream-json`: pieces of messages, calls, results, and sums at the end.

use serde_json::{Value, json};

use super::{AgentReading, EventParser, NO_END, StreamLosses, trajectory_of};
use crate::build::{StepBuilder, ToolResult, content_of, number_at, text_at, time_of};
use crate::trajectory::{FinalMetrics, MessageContent, StepSource};

/// Tools that start subagents: by any name, and the built-in ones by theirs.
const SUBAGENT_TOOLS: &[&str] = &[
    "browser_agent",
    "cli_help",
    "codebase_investigator",
    "delegate_to_agent",
    "generalist",
    "invoke_agent",
];

const SHELL_TOOL: &str = "run_shell_command";

#[derive(Default)]
pub(super) struct GeminiCliParser {
    steps: StepBuilder,
    session: Option<String>,
    model: Option<String>,
    result: Option<Value>,
    error: Option<String>,
}

impl EventParser for GeminiCliParser {
    fn event(&mut self, event: Value, losses: &mut StreamLosses) {
        let time = time_of(event.get("timestamp"));
        match text_at(&event, "type") {
            Some("init") => {
                self.session = text_at(&event, "session_id").map(str::to_owned);
                self.model = text_at(&event, "model").map(str::to_owned);
            }
            Some("message") => {
                let text = text_at(&event, "content").unwrap_or_default();
                if text_at(&event, "role") == Some("user") {
                    self.steps.begin(StepSource::User, time).message = text.into();
                } else {
                    // Messages come in pieces. The model speaks before it calls tools.
                    let step = self
                        .steps
                        .agent_step(time, |step| step.tool_calls.is_empty());
                    step.say("", text);
                }
            }
            Some("tool_use") => {
                let id = text_at(&event, "tool_id");
                let step = self.steps.agent_step(time, |step| {
                    !step.has_results() && !id.is_some_and(|id| step.has_call(id))
                });
                let name = text_at(&event, "tool_name").unwrap_or("?");
                step.call(id, name, event.get("parameters").unwrap_or(&Value::Null));
            }
            Some("tool_result") => {
                let id = text_at(&event, "tool_id");
                let is_shell = id
                    .and_then(|id| self.steps.step_with_call(id)?.call_with(id))
                    .is_some_and(|call| call.function_name == SHELL_TOOL);
                // A command that failed is a success of the shell tool.
                let is_error = text_at(&event, "status")
                    .map(|status| status != "success")
                    .filter(|is_error| *is_error || !is_shell);
                let message = event.pointer("/error/message");
                let output = event
                    .get("output")
                    .filter(|output| !output.is_null())
                    .or(message);
                let result = ToolResult {
                    content: output.map_or_else(MessageContent::default, content_of),
                    is_error,
                    exit_code: None,
                };
                self.steps.result(id, result, time);
            }
            Some("error") => {
                let message = text_at(&event, "message").unwrap_or("an error without a message");
                if text_at(&event, "severity") != Some("warning") {
                    self.error = Some(message.to_owned());
                }
                self.steps.begin(StepSource::System, time).message = message.into();
            }
            // One that a command prints later does not undo an error.
            Some("result") if self.result.as_ref().is_some_and(is_failure) => {}
            Some("result") => self.result = Some(event),
            other => losses.unknown(other.unwrap_or("?")),
        }
    }

    fn finish(self: Box<Self>, losses: &mut StreamLosses) -> AgentReading {
        let reported = self.error;
        let mut trajectory = trajectory_of("gemini-cli", self.steps);
        trajectory.session_id = self.session;
        trajectory.agent.model_name = self.model;
        losses.lose_hidden_subagents(&trajectory, SUBAGENT_TOOLS);
        let Some(result) = self.result else {
            losses.lose_end(NO_END);
            return AgentReading {
                text: trajectory.final_message(),
                error: reported,
                trajectory,
            };
        };
        let at = |name: &str| number_at(&result, &format!("/stats/{name}"));
        if result.get("stats").is_some_and(Value::is_object) {
            let (total, input) = (at("total_tokens"), at("input_tokens"));
            let mut extra = crate::trajectory::ExtraFields::new();
            if let Some(duration) = at("duration_ms") {
                extra.insert("duration_ms".to_owned(), json!(duration));
            }
            trajectory.final_metrics = Some(FinalMetrics {
                total_prompt_tokens: input,
                // `output_tokens` is without reasoning, which the total has.
                total_completion_tokens: total.zip(input).and_then(|(all, of)| all.checked_sub(of)),
                total_cached_tokens: at("cached"),
                extra: (!extra.is_empty()).then_some(extra),
                ..FinalMetrics::default()
            });
        }
        let failed = is_failure(&result);
        let message = result
            .pointer("/error/message")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let error = failed.then(|| {
            let no_message = || "an error without a message".to_owned();
            message.or(reported).unwrap_or_else(no_message)
        });
        AgentReading {
            text: trajectory.final_message(),
            error,
            trajectory,
        }
    }
}

/// Whether a final event reports an error.
fn is_failure(result: &Value) -> bool {
    text_at(result, "status").is_some_and(|status| status != "success")
}
