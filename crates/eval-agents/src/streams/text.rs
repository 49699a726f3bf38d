//! Output without a structure: one step of the agent. Of aider, the version and the model are read;
//! what it reports of edits and tokens is prose and rounded, and the model can print the same.

use serde_json::Value;

use super::{AgentReading, EventParser, StreamLosses, trajectory_of};
use crate::build::StepBuilder;
use crate::trajectory::StepSource;

pub(super) struct TextParser {
    name: &'static str,
    text: String,
}

impl TextParser {
    pub fn aider() -> Self {
        Self {
            name: "aider",
            text: String::new(),
        }
    }

    pub fn text() -> Self {
        Self {
            name: "command",
            text: String::new(),
        }
    }
}

impl EventParser for TextParser {
    fn event(&mut self, _event: Value, _losses: &mut StreamLosses) {}

    fn is_whole(&self) -> bool {
        true
    }

    fn whole(&mut self, text: &[u8], _losses: &mut StreamLosses) {
        self.text = String::from_utf8_lossy(text).into_owned();
    }

    fn finish(self: Box<Self>, losses: &mut StreamLosses) -> AgentReading {
        // Tool calls, if there were any, are not in it.
        losses.lose("the agent prints text without its tool calls");
        let mut steps = StepBuilder::default();
        if !self.text.trim().is_empty() {
            steps.begin(StepSource::Agent, None).message = self.text.as_str().into();
        }
        let mut trajectory = trajectory_of(self.name, steps);
        if self.name == "aider" {
            let word = |head: &str| {
                let mut lines = self.text.lines().take(50);
                let rest = lines.find_map(|line| line.strip_prefix(head))?;
                rest.split_whitespace().next().map(str::to_owned)
            };
            if let Some(version) = word("Aider v") {
                trajectory.agent.version = version;
            }
            trajectory.agent.model_name = word("Main model: ").or_else(|| word("Model: "));
        }
        let text = (!self.text.trim().is_empty()).then_some(self.text);
        AgentReading {
            trajectory,
            text,
            error: None,
        }
    }
}
