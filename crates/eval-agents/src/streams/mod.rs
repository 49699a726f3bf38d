//! What agent programs print, read as it comes: a trajectory, the final text, tokens and cost.
//!
//! | format | what is read |
//! | --- | --- |
//! | `ClaudeCode` | `claude -p --output-format stream-json --verbose` |
//! | `Codex` | `codex exec --json` |
//! | `GeminiCli` | `gemini --output-format stream-json` |
//! | `Opencode` | `opencode run --format json` |
//! | `MiniSweAgent` | the trajectory file of `mini -o FILE` |
//! | `Aider` | the text of `aider --message`, with its version and model |
//! | `Text` | any text |
//!
//! Memory is bounded ([`LINE_BYTES`], [`TRAJECTORY_BYTES`]). What could not be read, was left out
//! for its size, or never came because the stream was cut, is a reason in
//! [`Trajectory::incomplete`]: such a trajectory does not prove that something was not done.

mod claude_code;
mod codex;
mod gemini_cli;
mod mini_swe_agent;
mod opencode;
mod results;
#[cfg(test)]
mod tests;
mod text;

pub use results::{SUBMIT_WORD, exit_code_in, written_command};

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::build::StepBuilder;
use crate::trajectory::{Trajectory, TrajectoryAgent};
use eval_base::json::weight;
use eval_base::text::shortened;

/// Bytes of one line, or of a file that is read as a whole; a longer line is left out.
pub const LINE_BYTES: usize = 16 << 20;

/// Bytes of memory that events may take together; those that come later are left out.
pub const TRAJECTORY_BYTES: usize = 64 << 20;

/// Reasons and notes that are kept, each.
const NOTES: usize = 20;

/// What an agent program prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamFormat {
    ClaudeCode,
    Codex,
    GeminiCli,
    Opencode,
    MiniSweAgent,
    Aider,
    Text,
}

/// What was read of an agent's output.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReading {
    /// May be without steps. The agent's version is `unknown` where the stream does not report it.
    pub trajectory: Trajectory,
    /// The final answer.
    pub text: Option<String>,
    /// The failure that the agent itself reports.
    pub error: Option<String>,
}

impl AgentReading {
    /// The output lacks its end, so that nothing in it is known to be the final answer.
    pub fn is_cut(&self) -> bool {
        let reasons = self.trajectory.incomplete();
        reasons.contains(&NO_END) || reasons.contains(&NO_STATUS)
    }
}

/// Reads a whole output.
///
/// ```
/// use eval_agents::streams::{StreamFormat, read_stream};
///
/// let printed = br#"{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"Done."}}
/// "#;
/// let reading = read_stream(StreamFormat::Codex, printed);
/// assert_eq!(reading.text.as_deref(), Some("Done."));
/// assert_eq!(reading.trajectory.incomplete(), ["the stream ends without its final event"]);
/// ```
pub fn read_stream(format: StreamFormat, bytes: &[u8]) -> AgentReading {
    let mut reader = StreamReader::new(format);
    reader.push(bytes);
    reader.finish()
}

/// Reads an output piece by piece.
pub struct StreamReader {
    parser: Box<dyn EventParser>,
    /// The line that has not ended; the whole output of a format without lines.
    buffer: Vec<u8>,
    /// The rest of the line is left out.
    skipping: bool,
    line: u64,
    /// Of [`TRAJECTORY_BYTES`].
    spent: usize,
    late: u64,
    losses: StreamLosses,
}

/// One format.
trait EventParser: Send {
    fn event(&mut self, event: Value, losses: &mut StreamLosses);

    /// A format that is one text.
    fn is_whole(&self) -> bool {
        false
    }

    fn whole(&mut self, _text: &[u8], _losses: &mut StreamLosses) {}

    fn finish(self: Box<Self>, losses: &mut StreamLosses) -> AgentReading;
}

/// What is missing, and what is worth a note.
#[derive(Debug, Default)]
struct StreamLosses {
    reasons: Vec<String>,
    more: usize,
    notes: Vec<String>,
    unknown: BTreeMap<String, u64>,
    harmless: BTreeMap<String, u64>,
    plain_lines: u64,
}

impl StreamLosses {
    fn lose(&mut self, reason: impl Into<String>) {
        if self.reasons.len() < NOTES {
            self.reasons.push(reason.into());
        } else {
            self.more += 1;
        }
    }

    /// The end is missing: kept however many reasons there are.
    fn lose_end(&mut self, reason: &str) {
        self.reasons.push(reason.to_owned());
    }

    fn note(&mut self, note: impl Into<String>) {
        if self.notes.len() < NOTES {
            self.notes.push(shortened(&note.into(), 2000).into_owned());
        }
    }

    /// An event that is not read, and may report something that was done.
    fn unknown(&mut self, kind: &str) {
        let kind = shortened(kind, 60).into_owned();
        if self.unknown.len() < NOTES || self.unknown.contains_key(&kind) {
            *self.unknown.entry(kind).or_default() += 1;
        } else {
            self.more += 1;
        }
    }

    /// An event that is not read, of a type that never reports what was done.
    fn harmless(&mut self, kind: &str) {
        let kind = shortened(kind, 60).into_owned();
        if self.harmless.len() < NOTES || self.harmless.contains_key(&kind) {
            *self.harmless.entry(kind).or_default() += 1;
        }
    }

    /// Calls of `tools` start subagents: their steps must be embedded.
    fn lose_hidden_subagents(&mut self, trajectory: &Trajectory, tools: &[&str]) {
        let is_shown = |id: &str| {
            let subagents = trajectory.subagent_trajectories.iter();
            subagents
                .filter_map(|one| one.trajectory_id.as_deref())
                .any(|one| one == id)
        };
        let calls = trajectory.tool_calls();
        let mut started = calls.iter().map(|made| made.call);
        if started.any(|call| {
            tools.contains(&call.function_name.as_str()) && !is_shown(&call.tool_call_id)
        }) {
            self.lose(NO_SUBAGENT);
        }
    }

    fn add_to(mut self, trajectory: &mut Trajectory) {
        for (kind, count) in std::mem::take(&mut self.unknown) {
            self.reasons
                .push(format!("not read: {count} × event `{kind}`"));
        }
        for (kind, count) in std::mem::take(&mut self.harmless) {
            self.notes
                .push(format!("not read: {count} × event `{kind}`"));
        }
        if self.plain_lines > 0 {
            self.notes
                .push(format!("not events: {} lines", self.plain_lines));
        }
        if self.more > 0 {
            self.reasons.push(format!("and {} more", self.more));
        }
        if !self.notes.is_empty() {
            trajectory.notes = Some(self.notes.join("\n"));
        }
        if !self.reasons.is_empty() {
            let extra = trajectory.extra.get_or_insert_default();
            extra.insert("incomplete".to_owned(), json!(self.reasons));
        }
    }
}

impl StreamReader {
    pub fn new(format: StreamFormat) -> Self {
        let parser: Box<dyn EventParser> = match format {
            StreamFormat::ClaudeCode => Box::new(claude_code::ClaudeCodeParser::default()),
            StreamFormat::Codex => Box::new(codex::CodexParser::default()),
            StreamFormat::GeminiCli => Box::new(gemini_cli::GeminiCliParser::default()),
            StreamFormat::Opencode => Box::new(opencode::OpencodeParser::default()),
            StreamFormat::MiniSweAgent => Box::new(mini_swe_agent::MiniSweAgentParser::default()),
            StreamFormat::Aider => Box::new(text::TextParser::aider()),
            StreamFormat::Text => Box::new(text::TextParser::text()),
        };
        Self {
            parser,
            buffer: Vec::new(),
            skipping: false,
            line: 1,
            spent: 0,
            late: 0,
            losses: StreamLosses::default(),
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.parser.is_whole() {
            self.keep(bytes);
            return;
        }
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = lines.next() {
            self.keep(piece);
            if lines.peek().is_some() {
                self.end_line(true);
            }
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = LINE_BYTES - self.buffer.len();
        if self.skipping || piece.len() > room {
            if !self.skipping && self.parser.is_whole() {
                self.buffer
                    .extend_from_slice(piece.get(..room).unwrap_or_default());
                self.losses
                    .lose(format!("only the first {LINE_BYTES} bytes are kept"));
            } else if !self.skipping {
                self.buffer = Vec::new();
                self.losses.lose(format!(
                    "line {} has more than {LINE_BYTES} bytes",
                    self.line
                ));
            }
            self.skipping = true;
        } else {
            self.buffer.extend_from_slice(piece);
        }
    }

    fn end_line(&mut self, ended: bool) {
        let line = std::mem::take(&mut self.buffer);
        let skipped = std::mem::replace(&mut self.skipping, false);
        let number = self.line;
        self.line += 1;
        let text = line.trim_ascii();
        if skipped || text.is_empty() {
            return;
        }
        if text.first() != Some(&b'{') {
            self.losses.plain_lines += 1;
            // Two writers of one output, for example: the line may hold an event.
            if text.windows(2).any(|two| two == br#"{""#) {
                self.losses
                    .lose(format!("line {number} has text before an event"));
            }
            return;
        }
        let cost = text.len().saturating_add(weight(text));
        if cost > TRAJECTORY_BYTES - self.spent {
            self.late += 1;
            return;
        }
        match serde_json::from_slice(text) {
            Ok(event) => {
                self.spent += cost;
                self.parser.event(event, &mut self.losses);
            }
            Err(_) if !ended => self.losses.lose("the last line is cut off"),
            Err(error) => self
                .losses
                .lose(format!("line {number} is not JSON: {error}")),
        }
        // Most lines are short: one that was long does not hold its memory.
        if line.capacity() < 64 << 10 {
            self.buffer = line;
            self.buffer.clear();
        }
    }

    pub fn finish(mut self) -> AgentReading {
        if self.parser.is_whole() {
            let text = std::mem::take(&mut self.buffer);
            self.parser.whole(&text, &mut self.losses);
        } else {
            self.end_line(false);
        }
        if self.late > 0 {
            self.losses.lose(format!(
                "{} later events are left out: the trajectory is limited to {TRAJECTORY_BYTES} bytes",
                self.late
            ));
        }
        let mut reading = self.parser.finish(&mut self.losses);
        self.losses.add_to(&mut reading.trajectory);
        reading
    }
}

/// A trajectory of steps, for parsers to complete.
fn trajectory_of(name: &str, steps: StepBuilder) -> Trajectory {
    let mut trajectory = Trajectory::new(TrajectoryAgent {
        name: name.to_owned(),
        version: "unknown".to_owned(),
        ..TrajectoryAgent::default()
    });
    trajectory.steps = steps.steps;
    trajectory
}

const NO_SUBAGENT: &str = "the steps of a subagent are not in the stream";
/// Of a trajectory file.
const NO_STATUS: &str = "the trajectory file has no exit status";

const NO_END: &str = "the stream ends without its final event";
