//! Secrets in what an agent said and did.

use eval_base::redact::Redactor;
use serde_json::Value;

use super::{ContentPart, ExtraFields, MessageContent, StepObservation, Trajectory};

/// Redacts texts; field names of the format are not among them, and stay.
struct TextRedaction<'a>(&'a Redactor);

impl Trajectory {
    /// Redacts secrets in all texts: messages, names, ids, arguments, results, and what producers add.
    pub fn redact(&mut self, redactor: &Redactor) {
        if !redactor.is_empty() {
            TextRedaction(redactor).trajectory(self);
        }
    }
}

impl TextRedaction<'_> {
    fn text(&self, text: &mut String) {
        if let Some(clean) = self.0.redact(text) {
            *text = clean;
        }
    }

    fn texts<'t>(&self, texts: impl IntoIterator<Item = &'t mut Option<String>>) {
        texts.into_iter().flatten().for_each(|text| self.text(text));
    }

    fn fields(&self, fields: &mut ExtraFields) {
        let mut value = Value::Object(std::mem::take(fields));
        self.0.redact_value(&mut value);
        if let Value::Object(clean) = value {
            *fields = clean;
        }
    }

    /// The beginning of a secret whose rest was left out for the size of the result.
    fn end_of_cut(&self, content: &mut MessageContent) {
        let end = |text: &mut String| text.truncate(self.0.without_begun(text).len());
        match content {
            MessageContent::Text(text) => end(text),
            MessageContent::Parts(parts) => {
                for part in parts {
                    if let ContentPart::Text { text } = part {
                        end(text);
                    }
                }
            }
        }
    }

    fn content(&self, content: &mut MessageContent) {
        match content {
            MessageContent::Text(text) => self.text(text),
            MessageContent::Parts(parts) => {
                for part in parts {
                    match part {
                        ContentPart::Text { text } => self.text(text),
                        ContentPart::Image { source } | ContentPart::Audio { source } => {
                            self.text(&mut source.path);
                            self.text(&mut source.media_type);
                        }
                    }
                }
            }
        }
    }

    fn observation(&self, observation: &mut StepObservation) {
        for result in &mut observation.results {
            let is_cut = |extra: &ExtraFields| extra.contains_key("omitted_bytes");
            if result.extra.as_ref().is_some_and(is_cut) {
                result
                    .content
                    .iter_mut()
                    .for_each(|content| self.end_of_cut(content));
            }
            self.texts([&mut result.source_call_id]);
            result
                .content
                .iter_mut()
                .for_each(|content| self.content(content));
            result.extra.iter_mut().for_each(|extra| self.fields(extra));
            for one in &mut result.subagent_trajectory_ref {
                self.texts([
                    &mut one.trajectory_id,
                    &mut one.session_id,
                    &mut one.trajectory_path,
                ]);
                one.extra.iter_mut().for_each(|extra| self.fields(extra));
            }
        }
    }

    fn trajectory(&self, trajectory: &mut Trajectory) {
        self.texts([
            &mut trajectory.session_id,
            &mut trajectory.trajectory_id,
            &mut trajectory.notes,
            &mut trajectory.continued_trajectory_ref,
            &mut trajectory.agent.model_name,
        ]);
        self.text(&mut trajectory.agent.name);
        self.text(&mut trajectory.agent.version);
        let agent = &mut trajectory.agent;
        let totals = trajectory
            .final_metrics
            .iter_mut()
            .flat_map(|all| &mut all.extra);
        let fields = agent.tool_definitions.iter_mut().chain(&mut agent.extra);
        fields
            .chain(&mut trajectory.extra)
            .chain(totals)
            .for_each(|extra| self.fields(extra));
        for step in &mut trajectory.steps {
            self.texts([
                &mut step.timestamp,
                &mut step.model_name,
                &mut step.reasoning_content,
            ]);
            step.reasoning_effort
                .iter_mut()
                .for_each(|effort| self.0.redact_value(effort));
            self.content(&mut step.message);
            for call in &mut step.tool_calls {
                self.text(&mut call.tool_call_id);
                self.text(&mut call.function_name);
                self.fields(&mut call.arguments);
                call.extra.iter_mut().for_each(|extra| self.fields(extra));
            }
            step.observation
                .iter_mut()
                .for_each(|observation| self.observation(observation));
            let metrics = step
                .metrics
                .iter_mut()
                .flat_map(|metrics| &mut metrics.extra);
            metrics
                .chain(&mut step.extra)
                .for_each(|extra| self.fields(extra));
        }
        trajectory
            .subagent_trajectories
            .iter_mut()
            .for_each(|one| self.trajectory(one));
    }
}
