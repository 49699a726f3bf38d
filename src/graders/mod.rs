//! Code graders, one file or folder each: the settings as people write them, what becomes of them
//! in a plan, and the grading with what a report shows of it.
//!
//! `methods!` lists them. Beside them is what several of them use: `settings` (expectations and
//! problems), `output` (an output as text or JSON, and what is quick on it), `show` (values cut for
//! reports), `patterns` (compiled once) and `programs` (the candidate's code). How a run grades,
//! with extraction, judges and combined verdicts, is in `grade`.

pub(crate) mod code_execution;
mod command;
mod contains;
mod diff;
mod exact_match;
mod files;
mod function_output;
mod instructions;
mod json;
mod numeric;
pub(crate) mod output;
pub(crate) mod packed_files;
pub(crate) mod patterns;
pub(crate) mod programs;
mod regex;
pub(crate) mod sample_view;
pub(crate) mod settings;
pub(crate) mod show;
mod similarity;
pub(crate) mod structural_match;
#[cfg(test)]
mod tests;
mod tool_calls;
mod trajectory;
mod weakened;
mod workspace_tests;

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::load::{Node, SuiteDesk};
use crate::model::{Case, Cause, Grade, GraderType, NumberKind, Output, OutputValue};
use crate::spec::schema_of;
use crate::spec::tagged;
use crate::workspace::FinishedWorkspace;
use eval_match::StructuralOptions;
use output::SmallOutput;
use patterns::PatternCache;
use programs::{BoxedFuture, CandidateCode};
use settings::CaseExpectation;

pub use code_execution::*;
pub use command::*;
pub use contains::*;
pub use diff::*;
pub use exact_match::*;
pub use files::*;
pub use function_output::*;
pub use instructions::*;
pub use json::*;
pub use numeric::*;
pub use programs::{CodeLimits, ReferenceSolution};
pub use regex::*;
pub use similarity::*;
pub use structural_match::*;
pub use tool_calls::*;
pub use trajectory::*;
pub use workspace_tests::*;

/// The graders that some settings mean, several where any of them is as good; `None` after reporting
/// what is wrong.
type ResolvedGraders = Option<Vec<CodeGrader>>;

/// The settings of a code grader as people write them.
pub(crate) trait MethodSettings: JsonSchema {
    /// Keys that no other method has: one of them says which method is meant.
    const OWN_KEYS: &'static [&'static str] = &[];
    /// The `expected.type` that it grades where no grader is written.
    const EXPECTATION: Option<&'static str> = None;
    /// Whether settings that fit no other method mean this one.
    const FROM_SETTINGS: bool = Self::EXPECTATION.is_some();

    /// `node` is where the settings are written.
    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders;

    /// Whether the settings hold nothing that an output could be compared with.
    fn needs_expectation(&self) -> bool {
        false
    }
}

/// A code grader with everything that it needs.
pub(crate) trait CodeMethod {
    /// The check, if it looks at the output and runs nothing.
    fn check(&self) -> Option<&dyn OutputCheck> {
        None
    }

    /// What is run, if it runs the candidate's code.
    fn candidate_code(&self) -> Option<&dyn CandidateCode> {
        None
    }

    /// What looks at the workspace, if it does.
    fn workspace_check(&self) -> Option<&dyn WorkspaceCheck> {
        None
    }

    /// The number that it measures; `metric:` names it otherwise.
    fn number(&self) -> Option<(&'static str, NumberKind)> {
        None
    }

    /// Numbers that are 1 for an output that passes and 0 for one that fails, where its grades say
    /// nothing else.
    fn pass_numbers(&self) -> &[&'static str] {
        &[]
    }

    /// Further numbers that it measures.
    fn further_numbers(&self) -> Vec<(&str, NumberKind)> {
        Vec::new()
    }
}

/// Grading by looking at an output.
pub(crate) trait OutputCheck {
    fn grade(&self, value: &OutputValue, patterns: &PatternCache) -> Grade;

    /// Whether the work on this output is linear and small, so that it needs no process that can be
    /// ended.
    fn is_quick(&self, _output: &SmallOutput, _patterns: &PatternCache) -> bool {
        false
    }

    /// Whether it looks at the trajectory, too: the value that it grades is a
    /// [`sample_view::SampleView`].
    fn looks_at_trajectory(&self) -> bool {
        false
    }

    /// See [`CodeMethod::number`].
    fn number(&self) -> Option<(&'static str, NumberKind)> {
        None
    }

    /// See [`CodeMethod::further_numbers`].
    fn further_numbers(&self) -> Vec<(&str, NumberKind)> {
        Vec::new()
    }
}

/// Grading by what a target left in its workspace.
pub(crate) trait WorkspaceCheck: Sync {
    fn grade<'g>(&'g self, bench: &'g WorkspaceBench<'g>) -> BoxedFuture<'g, Grade>;
}

/// An output with what programs that judge it may know of its sample.
#[derive(Clone, Copy)]
pub(crate) struct GradedSample<'s> {
    pub case: &'s Case,
    pub output: &'s Output,
    /// The output after extraction.
    pub value: &'s OutputValue,
    /// Wall time of the target's call, where it is known.
    pub latency: Option<Duration>,
    pub workspace: Option<&'s FinishedWorkspace>,
}

/// What a workspace is graded with.
pub(crate) struct WorkspaceBench<'b> {
    pub workspace: &'b FinishedWorkspace,
    pub sample: GradedSample<'b>,
    pub texts: &'b dyn TextGrader,
}

/// Grading of texts by graders that only look: what may take long is done where it can be ended.
pub(crate) trait TextGrader: Sync {
    fn grade<'g>(
        &'g self,
        grader: &'g CodeGrader,
        value: &'g OutputValue,
    ) -> BoxedFuture<'g, Grade>;
}

impl<T: OutputCheck> CodeMethod for T {
    fn check(&self) -> Option<&dyn OutputCheck> {
        Some(self)
    }

    fn number(&self) -> Option<(&'static str, NumberKind)> {
        OutputCheck::number(self)
    }

    fn further_numbers(&self) -> Vec<(&str, NumberKind)> {
        OutputCheck::further_numbers(self)
    }
}

/// A method with the keys that its settings may have.
pub(crate) struct KnownMethod {
    pub name: &'static str,
    pub own_keys: &'static [&'static str],
    pub expectation: Option<&'static str>,
    pub from_settings: bool,
    pub keys: BTreeSet<String>,
}

impl KnownMethod {
    fn of<T: MethodSettings>(name: &'static str) -> KnownMethod {
        let schema = schema_of::<T>();
        let mut keys = BTreeSet::new();
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            keys.insert(key.clone());
            let aliases = property["x-aliases"].as_array().into_iter().flatten();
            keys.extend(aliases.filter_map(Value::as_str).map(str::to_owned));
        }
        KnownMethod {
            name,
            own_keys: T::OWN_KEYS,
            expectation: T::EXPECTATION,
            from_settings: T::FROM_SETTINGS,
            keys,
        }
    }
}

/// The one list of methods: variant, name, settings as written, and the grader that they become.
macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $settings:ident => $grader:ident;)*) => {
        /// Settings of a code grader, by method.
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        #[serde(tag = "method", rename_all = "snake_case")]
        #[schemars(extend("x-optional-tag" = true))]
        #[allow(clippy::large_enum_variant)] // read once, one at a time
        pub enum CodeConfig { $($(#[$doc])* $variant($settings),)* }

        tagged!(CodeConfig by "method" { $($variant = $name),* });

        impl CodeConfig {
            pub(crate) fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
                match self { $(CodeConfig::$variant(settings) => settings.resolve(desk, node, case),)* }
            }

            pub(crate) fn needs_expectation(&self) -> bool {
                match self { $(CodeConfig::$variant(settings) => settings.needs_expectation(),)* }
            }
        }

        /// Every method, in the order of the documentation.
        pub(crate) fn known_methods() -> &'static [KnownMethod] {
            static METHODS: OnceLock<Vec<KnownMethod>> = OnceLock::new();
            METHODS.get_or_init(|| vec![$(KnownMethod::of::<$settings>($name)),*])
        }

        /// Graders that decide by code.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum CodeGrader {
            $($variant($grader),)*
            /// There is no baseline to compare with yet: every grade is `errored: no_baseline`.
            NoBaseline,
        }

        impl CodeGrader {
            pub fn method(&self) -> &'static str {
                match self {
                    $(CodeGrader::$variant(_) => $name,)*
                    CodeGrader::NoBaseline => NO_BASELINE,
                }
            }

            pub(crate) fn as_method(&self) -> &dyn CodeMethod {
                match self {
                    $(CodeGrader::$variant(grader) => grader,)*
                    CodeGrader::NoBaseline => &MissingBaseline,
                }
            }
        }
    };
}

methods! {
    /// The output equals the expected value.
    ExactMatch = "exact_match" ExactMatchSpec => ExactMatch;
    /// The output contains the required texts and none of the forbidden ones.
    Contains = "contains" ContainsSpec => ContainsMatch;
    /// The output matches a regular expression (Python's semantics).
    Regex = "regex" RegexSpec => RegexMatch;
    /// The output is a number close to the expected one.
    Numeric = "numeric" NumericSpec => NumericMatch;
    /// The output is JSON: valid, equal to a value, or matching a JSON Schema.
    Json = "json" JsonSpec => JsonMatch;
    /// The output's structure equals the expected one, with matchers and ignored paths.
    StructuralMatch = "structural_match" StructuralSpec => StructuralOptions;
    /// The output's code defines a function; its results are compared.
    FunctionOutput = "function_output" FunctionOutputSpec => FunctionOutput;
    /// The output's code passes tests.
    CodeExecution = "code_execution" CodeExecutionSpec => CodeExecution;
    /// The output is similar enough to a reference text.
    Similarity = "similarity" SimilaritySpec => Similarity;
    /// The output follows instructions that code can verify (those of IFEval).
    Instructions = "instructions" InstructionsSpec => InstructionList;
    /// What the target changed in its workspace: which files, and how much.
    Diff = "diff" DiffSpec => WorkspaceDiff;
    /// Files that the target left in its workspace.
    Files = "files" FilesSpec => WorkspaceFiles;
    /// Tests of the workspace that the target left.
    WorkspaceTests = "workspace_tests" WorkspaceTestsSpec => WorkspaceTests;
    /// What an agent did: which tools it called, in which order, and what it used up.
    Trajectory = "trajectory" TrajectorySpec => TrajectoryRules;
    /// The output's tool calls are valid, and the expected ones.
    ToolCalls = "tool_calls" ToolCallsSpec => ToolCallsMatch;
    /// A custom program decides.
    Command = "command" CommandGraderSpec => CommandGrader;
}

impl CodeGrader {
    /// True when the grader runs the candidate's code.
    pub fn runs_candidate(&self) -> bool {
        self.as_method().candidate_code().is_some()
    }

    /// True when the grader starts no process.
    pub fn only_looks(&self) -> bool {
        !self.runs_candidate()
            && self.as_method().workspace_check().is_none()
            && !matches!(self, CodeGrader::Command(_))
    }
}

pub(crate) use trajectory::METHOD as TRAJECTORY;

pub(crate) const NO_BASELINE: &str = "no_baseline";

struct MissingBaseline;

impl CodeMethod for MissingBaseline {}

/// The grade of a regression that has nothing to be compared with yet.
pub(crate) fn no_baseline(eval: &str) -> Grade {
    let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let id = if !eval.is_empty() && eval.chars().all(plain) && !eval.starts_with('-') {
        eval.to_owned()
    } else {
        format!("'{}'", eval.replace('\'', r"'\''"))
    };
    let why = format!(
        "there is no baseline to compare with; `eval-harness baseline capture {id}` captures one"
    );
    Grade::errored(GraderType::Code, NO_BASELINE, Cause::NoBaseline, why)
}
