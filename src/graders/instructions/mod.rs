//! The code grader `instructions`: whether an output follows instructions that code can verify, with
//! the rules of IFEval.

mod language;
mod python_text;
mod rules;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::output::{SmallOutput, as_text, compiled_size};
use super::patterns::PatternCache;
use super::settings::{CaseExpectation, incomplete};
use super::show::compared;
use super::{CodeGrader, MethodSettings, OutputCheck, ResolvedGraders};
use crate::load::{Code, Node, Problem, SuiteDesk};
use crate::model::{Cause, Grade, GraderType, NumberKind, OutputValue};
use python_text::{python_strip, without_first_and_last};
pub use rules::Instruction;
use rules::RuleFinding;

const METHOD: &str = "instructions";

/// Share of the instructions that the output follows.
const FOLLOWED: &str = "instructions_followed";
/// The same, by the loose rules.
const FOLLOWED_LOOSE: &str = "instructions_followed_loose";
/// 1 if the output follows all instructions by the loose rules, else 0.
const ALL_LOOSE: &str = "all_instructions_followed_loose";
/// How many instructions there are, and how many of them are followed: what rates over all
/// instructions of a suite are made of.
const GIVEN_COUNT: &str = "instructions_given_count";
const FOLLOWED_COUNT: &str = "instructions_followed_count";
const FOLLOWED_LOOSE_COUNT: &str = "instructions_followed_loose_count";

/// Texts that the loose rules try.
const LOOSE_TEXTS: usize = 8;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstructionsSpec {
    /// The instructions. The grade passes if the output follows all of them.
    #[schemars(length(min = 1))]
    pub instructions: Vec<InstructionSpec>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstructionSpec {
    /// The instruction's id in IFEval, such as `length_constraints:number_words`.
    pub id: String,
    /// Its arguments. Null values are ignored.
    #[serde(default)]
    pub kwargs: Map<String, Value>,
}

/// The output follows all of these instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstructionList {
    /// At least one.
    pub instructions: Vec<Instruction>,
}

impl MethodSettings for InstructionsSpec {
    const OWN_KEYS: &'static [&'static str] = &["instructions"];

    fn resolve(
        &self,
        desk: &mut SuiteDesk,
        node: &Node,
        _case: CaseExpectation,
    ) -> ResolvedGraders {
        if self.instructions.is_empty() {
            return desk.refuse(incomplete(
                node.span,
                "`instructions` is empty, so every output would pass",
                "add an instruction with `id` and `kwargs`",
            ));
        }
        let mut instructions = Vec::new();
        for (place, written) in self.instructions.iter().enumerate() {
            match Instruction::of(&written.id, &written.kwargs) {
                Ok(instruction) => instructions.push(instruction),
                Err(why) => {
                    let at = node.locate(&format!("/instructions/{place}"));
                    return desk.refuse(Problem::error(Code::BadShape, at, why));
                }
            }
        }
        let list = InstructionList { instructions };
        Some(vec![CodeGrader::Instructions(list)])
    }
}

/// Whether an instruction is followed by an output as it is, and by one of its variants.
struct InstructionVerdict {
    strict: RuleFinding,
    loose: bool,
}

impl OutputCheck for InstructionList {
    fn grade(&self, value: &OutputValue, patterns: &PatternCache) -> Grade {
        let output = as_text(value);
        let variants = loose_variants(&output);
        let mut verdicts = Vec::new();
        for instruction in &self.instructions {
            match verdict(instruction, &output, &variants, patterns) {
                Ok(verdict) => verdicts.push(verdict),
                Err(why) => {
                    let why = format!("`{}` can't be verified: {why}", instruction.id());
                    let grade = Grade::errored(GraderType::Code, METHOD, Cause::Harness, why);
                    return compared(grade, None, value);
                }
            }
        }
        let strict = verdicts.iter().filter(|v| v.strict.followed()).count();
        let loose = verdicts.iter().filter(|v| v.loose).count();
        let given = verdicts.len();
        let mut grade = if strict == given {
            Grade::passed(GraderType::Code, METHOD)
        } else {
            let broken: Vec<String> = self
                .instructions
                .iter()
                .zip(&verdicts)
                .filter(|(_, verdict)| !verdict.strict.followed())
                .map(|(instruction, verdict)| {
                    format!("`{}`{}", instruction.id(), verdict.strict.note())
                })
                .collect();
            let reason = format!(
                "{} of {given} instructions {} not followed: {}",
                broken.len(),
                if broken.len() == 1 { "is" } else { "are" },
                broken.join(", ")
            );
            Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, reason)
        };
        let share = |part: usize| part as f64 / given.max(1) as f64;
        grade.score = Some(share(strict));
        let all_loose = if loose == given { 1.0 } else { 0.0 };
        grade.metrics.extend([
            (FOLLOWED.to_owned(), share(strict)),
            (FOLLOWED_LOOSE.to_owned(), share(loose)),
            (ALL_LOOSE.to_owned(), all_loose),
            (GIVEN_COUNT.to_owned(), given as f64),
            (FOLLOWED_COUNT.to_owned(), strict as f64),
            (FOLLOWED_LOOSE_COUNT.to_owned(), loose as f64),
        ]);
        let listed = self.instructions.iter().zip(&verdicts);
        let listed: Vec<Value> = listed
            .map(|(instruction, verdict)| {
                json!({
                    "id": instruction.id(),
                    "followed": verdict.strict.followed(),
                    "followed_loose": verdict.loose,
                })
            })
            .collect();
        grade
            .details
            .insert("instructions".to_owned(), Value::from(listed));
        compared(grade, None, value)
    }

    fn is_quick(&self, output: &SmallOutput, patterns: &PatternCache) -> bool {
        let sizes = self.instructions.iter().flat_map(Instruction::patterns);
        let size: Option<usize> = sizes
            .map(|(source, flags)| compiled_size(&source, flags, patterns))
            .sum();
        output.is_searched_by(size.map(|size| size.saturating_mul(LOOSE_TEXTS)))
            && output.compares(self.instructions.len().saturating_mul(LOOSE_TEXTS))
    }

    fn number(&self) -> Option<(&'static str, NumberKind)> {
        Some((FOLLOWED, NumberKind::Score))
    }

    fn further_numbers(&self) -> Vec<(&str, NumberKind)> {
        vec![
            (FOLLOWED_LOOSE, NumberKind::Score),
            (ALL_LOOSE, NumberKind::Score),
            (GIVEN_COUNT, NumberKind::Number),
            (FOLLOWED_COUNT, NumberKind::Number),
            (FOLLOWED_LOOSE_COUNT, NumberKind::Number),
        ]
    }
}

/// An error says why it can't be found out.
fn verdict(
    instruction: &Instruction,
    output: &str,
    variants: &[String],
    patterns: &PatternCache,
) -> Result<InstructionVerdict, String> {
    let of = |text: &str| {
        if python_strip(text).is_empty() {
            Ok(RuleFinding::Empty)
        } else {
            instruction.finding(text, patterns)
        }
    };
    let strict = of(output)?;
    let mut loose = strict.followed();
    for variant in variants {
        if loose {
            break;
        }
        loose = of(variant)?.followed();
    }
    Ok(InstructionVerdict { strict, loose })
}

/// The output without its first line, its last line, or both; each also without asterisks.
fn loose_variants(output: &str) -> Vec<String> {
    let mut all = vec![output.replace('*', "")];
    for shorter in without_first_and_last(output) {
        all.push(shorter.replace('*', ""));
        all.push(shorter);
    }
    all
}
