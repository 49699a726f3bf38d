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
    /// The output was graded and is not the expected one.
    WrongAnswer = "wrong_answer" in Failed,
    /// The candidate program raised an exception.
    Exception = "exception" in Failed,
    /// The candidate program does not parse.
    SyntaxError = "syntax_error" in Failed,
    /// The candidate program exceeded its time limit.
    Timeout = "timeout" in Failed,
    /// The candidate program exceeded its memory limit.
    MemoryLimit = "memory_limit" in Failed,
    /// The candidate exceeded its output limit.
    OutputLimit = "output_limit" in Failed,
    /// An agent exceeded its limit of turns, tokens or dollars.
    Limit = "limit" in Failed,
    /// The candidate program was killed by the signal that the reason names.
    Crashed = "crashed" in Failed,
    /// The candidate tried an operation that the sandbox forbids.
    SandboxViolation = "sandbox_violation" in Failed,
    /// The program ended before its tests did.
    Exited = "exited" in Failed,
    /// Evidence of tampering with the verdict channel.
    Forged = "forged" in Failed,
    /// The output contains no code to run.
    NoCode = "no_code" in Failed,
    /// The target refused to answer.
    Refused = "refused" in Failed,
    /// A score is below, or a latency above, its threshold.
    Threshold = "threshold" in Failed,
    TargetUnreachable = "target_unreachable" in Errored,
    /// A command target ended with a non-zero exit code.
    TargetFailed = "target_failed" in Errored,
    TargetTimeout = "target_timeout" in Errored,
    /// There is no recorded output for this sample. (An output in which `extract` finds nothing has
    /// failed.)
    MissingOutput = "missing_output" in Errored,
    /// An agent requested something that the recording of its model has no answer to.
    ReplayDiverged = "replay_diverged" in Errored,
    JudgeUnreachable = "judge_unreachable" in Errored,
    JudgeUnparseable = "judge_unparseable" in Errored,
    /// The interpreter or program that a grader needs is not on this machine.
    ExecutorMissing = "executor_missing" in Errored,
    SandboxUnavailable = "sandbox_unavailable" in Errored,
    NoBaseline = "no_baseline" in Errored,
    /// A grader exceeded its time limit, so the output is not graded.
    GraderTimeout = "grader_timeout" in Errored,
    /// A command of `setup` failed, or the workspace could not be made.
    SetupFailed = "setup_failed" in Errored,
    /// The tests of a workspace do not fail, or do not pass, before the target ran as the case
    /// requires.
    BrokenTask = "broken_task" in Errored,
    /// A recorded patch does not apply to the workspace.
    PatchRejected = "patch_rejected" in Errored,
    /// An error in the harness or in the eval's own tests, not in the output.
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
