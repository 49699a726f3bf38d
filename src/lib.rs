//! `eval-harness`: author evals of AI output as YAML, run them, and let the result gate work.
//!
//! The program is this package. It uses these crates: `eval-base` (texts, files, redaction),
//! `eval-stats`, `eval-match` (comparisons), `eval-workspace` (folders of samples, diffs),
//! `eval-agents` (trajectories), `eval-models` (calls of model APIs), `eval-proxy` (the proxy of
//! agents) and `eval-sandbox`. The modules here are in layers. Each may use only the modules in the
//! rows below it (`tests/rules` fails on a violation). The exception is `graders`: one file of it
//! contains what `spec`, `load`, `model` and `grade` need for one code grader, and these modules may
//! use it.
//!
//! ```text
//! cli
//! view  review_page
//! review
//! phase
//! report  notify
//! check
//! run
//! baseline  gate  summary
//! calibration
//! grade  target
//! graders
//! workspace
//! ratings
//! isolation  input  journal  load  test_results
//! model
//! spec  server
//! ```

// A server that tests start resets its connections by a system call.
#![cfg_attr(not(test), forbid(unsafe_code))]
#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

mod baseline;
mod calibration;
mod check;
#[allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "the program speaks and ends here"
)]
pub mod cli;
mod gate;
mod grade;
mod graders;
mod input;
mod isolation;
mod journal;
mod load;
mod model;
mod notify;
mod phase;
mod ratings;
mod report;
mod review;
mod review_page;
mod run;
mod server;
mod spec;
mod summary;
mod target;
mod test_results;
mod view;
mod workspace;

/// What the integration tests of this package use of the program's insides. Everything else is
/// private, so that the compiler names what nothing uses.
#[doc(hidden)]
pub mod internals {
    pub use crate::baseline::{BaselineStore, ScoreStore, ScoresOf, StoreError};
    pub use crate::grade::{GradedOutput, GradersConfig, RunGraders, SampleAttempt};
    pub use crate::journal::{find_run, read};
    pub use crate::load::render::{self, HumanOptions, human};
    pub use crate::load::{
        CaseFilters, CheckRequest, Code, LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose,
        Problem, Problems, Severity, SourceFiles, check_files, load, tree,
    };
    pub use crate::model::{
        ApiKey, BaselineStage, CallExpectation, CallLimits, Case, CaseGrading, CaseInput,
        CaseRecord, Cause, CodeExecution, CodeGrader, CodeLimits, CodeTests, Combine,
        CommandGrader, CommandVerdict, Comparator, ComparedSide, Comparison, ComparisonVerdict,
        ConfiguredExecutor, Endpoint, EvalRecord, Event, Executor, Fingerprint, FunctionCase,
        FunctionOutput, Grader, GraderKind, GraderType, IntervalScope, KeySource, KeyValue,
        LaneLimits, Metric, ModelSettings, Outcome, Output, OutputValue, Plan, PlanSettings,
        ProviderApi, RowsTest, RunScores, SamplingOptions, SandboxDemand, StdioCase,
        StdoutComparison, StructuralOptions, Trust, WantedRows,
    };
    pub use crate::run::{
        CancelSwitch, RunInvocation, RunRequest, ScoreBaselineResult, prepare, reread, run, scores,
    };
    pub use crate::spec::words::CacheMode;
    pub use crate::spec::{BASELINE_VERSION, BaselineFile};
    pub use crate::summary::compare::{CompareSettings, PAIRS, compare};
    pub use crate::summary::{CaseSamples, OverCases};
    pub use crate::target::{RunTargets, TargetAnswer};
}
