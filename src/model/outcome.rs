//! How a sample ended and why.

use serde::{Deserialize, Serialize};

pub use crate::spec::words::Outcome;

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal in $outcome:ident),* $(,)?) => {
        /// The label of an outcome other than `passed` and `pending`. Each label belongs to one
        /// outcome.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum Cause { $($(#[$doc])* #[serde(rename = $name)] $variant),* }

        impl Cause {
            pub const ALL: &'static [Cause] = &[$(Cause::$variant),*];

            /// The label as written in journals and reports.
            pub fn name(self) -> &'static str {
                match self { $(Cause::$variant => $name),* }
            }

            /// The outcome that this label explains.
            pub fn outcome(self) -> Outcome {
                match self { $(Cause::$variant => Outcome::$outcome),* }
            }
        }
    };
}

causes! {
    /// The output was judged and is not what was expected.
    WrongAnswer = "wrong_answer" in Failed,
    /// The candidate program raised.
    Exception = "exception" in Failed,
    /// The candidate program does not parse.
    SyntaxError = "syntax_error" in Failed,
    /// The candidate program ran out of its time.
    Timeout = "timeout" in Failed,
    /// The candidate program ran out of its memory.
    MemoryLimit = "memory_limit" in Failed,
    /// The candidate wrote more than it may.
    OutputLimit = "output_limit" in Failed,
    /// The candidate program was ended by a signal, which the reason names.
    Crashed = "crashed" in Failed,
    /// The candidate tried what the sandbox forbids.
    SandboxViolation = "sandbox_violation" in Failed,
    /// The program ended before its tests did.
    Exited = "exited" in Failed,
    /// Evidence of tampering with the verdict channel.
    Forged = "forged" in Failed,
    /// There was nothing to run in the output.
    NoCode = "no_code" in Failed,
    /// The target declined to answer.
    Refused = "refused" in Failed,
    /// A score below, or a latency above, what was asked.
    Threshold = "threshold" in Failed,
    TargetUnreachable = "target_unreachable" in Errored,
    /// A command target ended with a non-zero exit code.
    TargetFailed = "target_failed" in Errored,
    TargetTimeout = "target_timeout" in Errored,
    /// No recorded output for this sample. (An output in which `extract` finds nothing has failed.)
    MissingOutput = "missing_output" in Errored,
    JudgeUnreachable = "judge_unreachable" in Errored,
    JudgeUnparseable = "judge_unparseable" in Errored,
    /// The interpreter or program that a grader needs is not on this machine.
    ExecutorMissing = "executor_missing" in Errored,
    SandboxUnavailable = "sandbox_unavailable" in Errored,
    NoBaseline = "no_baseline" in Errored,
    /// A grader did not end within its time, so that nothing is known of the output.
    GraderTimeout = "grader_timeout" in Errored,
    /// A fault of the harness or of the eval's own tests, not of the output.
    Harness = "harness" in Errored,
    Budget = "budget" in Skipped,
    MaxFail = "max_fail" in Skipped,
    GlobalTimeout = "global_timeout" in Skipped,
    Interrupted = "interrupted" in Skipped,
    Filtered = "filtered" in Skipped,
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
