//! What graders that run the candidate's code have in common: how the program is found in an output,
//! its limits, what may run it, and how it ended.

mod candidate;
mod endings;
mod fences;
mod languages;
mod source;

use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::code_execution::demands::TestModes;
use super::code_execution::{CompiledPrograms, StdioBench};
use super::settings::incomplete;
use super::{CodeGrader, ExpectedValues};
use crate::load::{Code, Node, Problem, Span, SuiteDesk};
use crate::model::{Executor, Grade, OutputValue, SandboxDemand, Trust};
use eval_sandbox::Sandbox;

pub(crate) use candidate::{ProgramContext, candidate, prefixed};
pub(crate) use endings::*;
pub(crate) use fences::{fences, of_language};
pub(crate) use languages::{LanguageLookup, language_of, missing, usual_place};
pub(crate) use source::source;

/// What candidates' programs are run with.
pub(crate) struct TestBench<'b> {
    pub sandbox: &'b Sandbox,
    pub languages: &'b LanguageLookup,
    pub demand: &'b SandboxDemand,
    pub modes: &'b TestModes,
    /// What reference solutions return.
    pub expected: &'b ExpectedValues,
    pub compiled: &'b CompiledPrograms,
}

impl<'b> TestBench<'b> {
    pub fn programs(&self) -> StdioBench<'b> {
        StdioBench {
            sandbox: self.sandbox,
            languages: self.languages,
            compiled: Some(self.compiled),
        }
    }
}

pub(crate) type BoxedFuture<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// How the candidate's code is run.
pub(crate) struct RunSettings<'g> {
    pub executor: &'g Executor,
    pub limits: CodeLimits,
    pub sandboxed: bool,
    /// The solution by whose time the candidate's is limited.
    pub reference: Option<&'g ReferenceSolution>,
}

/// A grader that runs the candidate's code.
pub(crate) trait CandidateCode: Sync {
    fn settings(&self) -> RunSettings<'_>;
    fn with_limits(&self, limits: CodeLimits) -> CodeGrader;

    /// Whether a solution continues a text of the author's and is no program without it.
    fn continues_prefix(&self) -> bool {
        false
    }

    /// Whether some run of a program must end with another exit code than 0, as in a language that
    /// lacks something.
    fn expects_failure(&self) -> bool {
        false
    }

    /// Bytes of tests in which the names that the code defines are looked for.
    fn searched_tests(&self) -> usize {
        0
    }

    /// The program in an output, or why there is none.
    fn program(&self, value: &OutputValue) -> Result<String, String>;

    /// The grade of all candidates if the suite does not allow this grader to run code; else `None`.
    fn refuse<'g>(&'g self, _bench: &'g TestBench<'g>) -> BoxedFuture<'g, Option<Grade>> {
        Box::pin(async { None })
    }

    fn grade<'g>(&'g self, program: String, bench: &'g TestBench<'g>) -> BoxedFuture<'g, Grade>;
}

/// Limits of one candidate program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLimits {
    pub wall: Duration,
    pub memory_mb: u64,
    /// Bytes of stdout and of stderr that are kept, each.
    pub output_bytes: u64,
    /// MiB that what one call returns may take, if some key sets it: a default is no part of the
    /// hash of a grading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_mb: Option<u64>,
}

impl CodeLimits {
    /// The default is that of tests; for `function_output` see `grade::functions`.
    pub fn return_mb_or_default(&self) -> u64 {
        self.return_mb.unwrap_or(128)
    }
}

impl Default for CodeLimits {
    fn default() -> Self {
        CodeLimits {
            wall: Duration::from_secs(10),
            memory_mb: 256,
            output_bytes: 1 << 20,
            return_mb: None,
        }
    }
}

impl CodeLimits {
    /// What is written, the suite's where nothing is.
    pub(crate) fn resolve(
        desk: &SuiteDesk,
        wall: Duration,
        memory_mb: Option<u64>,
        (output_kb, return_mb): (Option<u64>, Option<u64>),
    ) -> CodeLimits {
        let usual = desk.demands().limits;
        CodeLimits {
            wall,
            memory_mb: memory_mb.unwrap_or(usual.memory_mb),
            output_bytes: output_kb.map_or(usual.output_bytes, |kb| kb.saturating_mul(1024)),
            return_mb: return_mb.or(desk.demands().return_mb),
        }
    }
}

/// A solution by whose own time a candidate's is limited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceSolution {
    /// As a model would have answered: after a prefix its continuation, else a whole program.
    pub code: String,
    /// Above 1.
    pub factor: f64,
}

/// `reference_solution` and `timeout_factor`, which belong together; `None` after saying what is
/// wrong.
pub(crate) fn resolve_reference(
    desk: &mut SuiteDesk,
    written: (&Option<String>, Option<f64>),
    node: &Node,
) -> Option<Option<ReferenceSolution>> {
    match written {
        (None, None) => Some(None),
        (Some(code), Some(factor)) if !code.trim().is_empty() && factor > 1.0 => {
            Some(Some(ReferenceSolution {
                code: code.clone(),
                factor,
            }))
        }
        (Some(code), _) if code.trim().is_empty() => desk.refuse(incomplete(
            node.locate("/reference_solution"),
            "the reference solution is empty",
            "write a program that passes",
        )),
        (Some(_), Some(_)) => {
            let message =
                "`timeout_factor` must be above 1, or the reference solution itself could time out";
            desk.refuse(Problem::error(
                Code::OutOfRange,
                node.locate("/timeout_factor"),
                message,
            ))
        }
        (Some(_), None) => {
            let at = node.key_span("/reference_solution");
            desk.refuse(incomplete(
                at,
                "`reference_solution` is used only to limit the time",
                "add `timeout_factor: 10`",
            ))
        }
        (None, Some(_)) => {
            let at = node.key_span("/timeout_factor");
            desk.refuse(incomplete(
                at,
                "`timeout_factor` multiplies the time of a reference solution, but there is none",
                "add `reference_solution:` with a program that passes",
            ))
        }
    }
}

/// Whether the suite accepts verdicts that the code could forge; says so if not.
pub(crate) fn allows_in_process(desk: &mut SuiteDesk, at: Span, what: &str) -> bool {
    let sandbox = &desk.demands().sandbox;
    let Some(demanded) = sandbox.trust.filter(|_| !sandbox.accepts(Trust::InProcess)) else {
        return true;
    };
    let message = format!(
        "{what} contradicts the suite's `sandbox: {{trust: {}}}`",
        demanded.name()
    );
    let problem = Problem::error(Code::GraderConflict, at, message);
    desk.push(
        problem.hint(
            "remove one of them: `sandbox.trust` sets the minimum for all graders of the suite",
        ),
    );
    false
}

/// Whether a name can be that of a function; says so if not.
pub(crate) fn is_callable(desk: &mut SuiteDesk, name: &str, executor: &Executor, at: Span) -> bool {
    // `$` is a letter of JavaScript's.
    let plain = if executor.is_node() {
        name.replace(['$', '#'], "_")
    } else {
        name.to_owned()
    };
    let callable = is_path(&plain) && !name.contains('#');
    if !callable {
        let message = format!(
            "`{name}` is not the name of a {} function",
            executor.language()
        );
        desk.push(Problem::error(Code::BadFormat, at, message));
    }
    callable
}

fn is_path(name: &str) -> bool {
    !name.is_empty()
        && name.split('.').all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
}

/// `sandbox: false` is a request that the command line must confirm.
pub(crate) fn resolve_sandbox(desk: &mut SuiteDesk, written: Option<bool>, node: &Node) -> bool {
    if written == Some(false) && desk.demands().sandbox.needs_isolation() {
        let at = node.key_span("/sandbox");
        let message =
            "`sandbox: false` contradicts the requirements that the suite sets under `sandbox:`";
        desk.push(Problem::error(Code::GraderConflict, at, message));
        return true;
    }
    if written == Some(false) && !desk.allows_unsandboxed() {
        let at = node.key_span("/sandbox");
        let message = "`sandbox: false` runs the output's code with your permissions";
        desk.push_lenient(
            Problem::error(Code::UnavailableHere, at, message)
                .hint("to allow this, pass `--allow-unsandboxed` to `run`"),
        );
    }
    written.unwrap_or(true)
}
