//! Skills of coding agents: a command whose words hold the skill's name, its parameters and, where the author put it, the
//! input.
//!
//! What the author wrote is the template; the input is only ever a value in it, so that no input is rendered. Each word
//! stays one argument.

use minijinja::Value as Jinja;

use crate::input::RenderedInput;
use crate::load::{environment, to_jinja};
use crate::model::{Case, Cause, SkillTarget};

use super::command::{self, CommandPlace};
use super::{TargetAnswer, TargetFailure};

/// Runs the skill once.
pub(super) async fn ask(
    target: &SkillTarget,
    case: &Case,
    place: CommandPlace<'_>,
) -> Result<TargetAnswer, TargetFailure> {
    let missing = match target {
        _ if target.skill_name.is_none() => "no skill is set",
        _ if target.command.argv.is_empty() => "the command that runs skills is not set",
        _ => return command::ask(&target.command, Some(target), case, place).await,
    };
    Err(TargetFailure::new(Cause::Harness, missing))
}

impl SkillTarget {
    /// True when some word of its own names the input file.
    pub(super) fn wants_file(&self) -> bool {
        let late = self
            .late
            .iter()
            .filter_map(|place| self.command.argv.get(*place));
        late.into_iter().any(|word| word.contains("input_file"))
    }

    /// Fills the words that are its own; the places of those are returned, and nobody fills them
    /// again.
    pub(super) fn fill(
        &self,
        argv: &mut [String],
        input: &RenderedInput,
        file: &str,
    ) -> Result<Vec<usize>, TargetFailure> {
        if self.late.is_empty() {
            return Ok(Vec::new());
        }
        let environment = environment(false);
        let of_input = |key: &str| input.whole.get(key).map(to_jinja);
        let parameters = self
            .parameters
            .iter()
            .map(|(key, value)| (key.as_str(), to_jinja(value)));
        let names = [
            ("skill_name", self.skill_name.as_deref().map(Jinja::from)),
            ("parameters", Some(Jinja::from_pairs(parameters))),
            ("input", Some(to_jinja(&input.whole))),
            ("prompt", input.text.as_deref().map(Jinja::from)),
            ("messages", of_input("messages")),
            ("context", of_input("context")),
            ("input_file", Some(Jinja::from(file))),
        ];
        let context = Jinja::from_pairs(
            names
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        for place in &self.late {
            let Some(word) = argv.get_mut(*place) else {
                continue;
            };
            *word = environment.render_str(word, &context).map_err(|error| {
                let why = format!(
                    "the argument `{word}` of the command can't be filled with this input: {error}"
                );
                TargetFailure::new(Cause::Harness, why)
            })?;
            if word.contains('\0') {
                let why = "the input contains a NUL character, which is not allowed in a command argument";
                return Err(TargetFailure::new(Cause::Harness, why));
            }
        }
        Ok(self.late.clone())
    }
}
