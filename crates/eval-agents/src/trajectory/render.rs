//! A trajectory as plain text, for people and judges.

use std::fmt::{self, Write};

use serde_json::Value;

use super::{ObservationResult, StepSource, ToolCall, Trajectory, TrajectoryStep};

impl StepSource {
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Agent => "agent",
        }
    }
}

impl ToolCall {
    /// The arguments as JSON on one line, or what the model gave in their place.
    pub fn arguments_text(&self) -> String {
        match self.raw_arguments() {
            Some(Value::String(raw)) => raw.clone(),
            Some(raw) => raw.to_string(),
            None => Value::Object(self.arguments.clone()).to_string(),
        }
    }
}

/// Before every line of what was said, called and returned, so that none looks like a step.
const INDENT: &str = "  ";

/// Lines after the first are indented; whatever a terminal or a model may take for the end of a line is
/// one.
fn indented(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let ends = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
    ];
    let lines: Vec<&str> = text.split(ends).collect();
    lines.join(&format!("\n{INDENT}"))
}

/// A trajectory as text; long results may be folded.
#[derive(Debug, Clone, Copy)]
pub struct TrajectoryText<'a> {
    pub trajectory: &'a Trajectory,
    /// Lines of each result that are shown; `None` for all.
    pub result_lines: Option<usize>,
}

/// Everything that was said, called and returned, step by step, whole.
impl fmt::Display for Trajectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = TrajectoryText {
            trajectory: self,
            result_lines: None,
        };
        text.fmt(f)
    }
}

/// Step by step; subagents follow. Control characters are as they are.
impl fmt::Display for TrajectoryText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trajectory {
            agent,
            steps,
            subagent_trajectories,
            ..
        } = self.trajectory;
        write!(f, "{} {}", indented(&agent.name), indented(&agent.version))?;
        if let Some(model) = &agent.model_name {
            write!(f, ", {}", indented(model))?;
        }
        f.write_char('\n')?;
        for reason in self.trajectory.incomplete() {
            writeln!(f, "Incomplete: {}", indented(reason))?;
        }
        for step in steps {
            self.step(f, step)?;
        }
        for trajectory in subagent_trajectories {
            let id = trajectory.trajectory_id.as_deref().unwrap_or_default();
            write!(
                f,
                "\n# Subagent {}: {}",
                indented(id),
                TrajectoryText {
                    trajectory,
                    ..*self
                }
            )?;
        }
        Ok(())
    }
}

impl TrajectoryText<'_> {
    fn step(&self, f: &mut fmt::Formatter<'_>, step: &TrajectoryStep) -> fmt::Result {
        write!(f, "\n## {} {}", step.step_id, step.source.name())?;
        if let Some(time) = &step.timestamp {
            write!(f, ", {}", indented(time))?;
        }
        f.write_char('\n')?;
        let message = step.message.text();
        if !message.trim().is_empty() {
            writeln!(f, "{INDENT}{}", indented(message.trim_end()))?;
        }
        if let Some(thoughts) = &step.reasoning_content {
            writeln!(f, "[reasoning] {}", indented(thoughts.trim_end()))?;
        }
        for call in &step.tool_calls {
            let (name, arguments) = (&call.function_name, call.arguments_text());
            writeln!(f, "[call] {} {}", indented(name), indented(&arguments))?;
            for result in step.results_of(&call.tool_call_id) {
                self.result(f, result)?;
            }
        }
        for result in step
            .results()
            .filter(|result| result.source_call_id.is_none())
        {
            self.result(f, result)?;
        }
        Ok(())
    }

    fn result(&self, f: &mut fmt::Formatter<'_>, result: &ObservationResult) -> fmt::Result {
        match (result.exit_code(), result.is_error()) {
            (Some(code), _) => write!(f, "[result, exit code {code}]")?,
            (None, Some(true)) => f.write_str("[result, error]")?,
            _ => f.write_str("[result]")?,
        }
        let text = result.text();
        let text = indented(text.trim_end());
        let lines = text.lines().count();
        match self
            .result_lines
            .filter(|most| lines > most.saturating_add(1))
        {
            None => writeln!(f, " {text}")?,
            Some(most) => {
                let kept: Vec<_> = text.lines().take(most).collect();
                writeln!(f, " {}", kept.join("\n"))?;
                writeln!(f, "[{} more lines]", lines - most)?;
            }
        }
        let omitted = result
            .extra
            .as_ref()
            .and_then(|extra| extra.get("omitted_bytes"));
        match omitted {
            Some(bytes) => writeln!(f, "[{bytes} more bytes were not kept]"),
            None => Ok(()),
        }
    }
}
