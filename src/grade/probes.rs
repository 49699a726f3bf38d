//! Whether a language is whole here: a probe program of each executor, which does nothing.
//!
//! A toolchain that lacks a part (a linker, a configuration file of the JVM) fails whatever it is
//! given, and that is no failure of the candidate's. So when a program failed, the probe of its
//! language is run in the same way with the same memory, once a run. Only the probe decides:
//! nothing is read out of what a candidate's program or its compiler printed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::graders::code_execution::{StdioBench, StdioTest, grade_stdio};
use crate::graders::programs::{CandidateCode, LanguageLookup, RunSettings};
use crate::load::language_of_executor;
use crate::model::{
    Cause, CodeExecution, CodeLimits, CodeTests, Executor, Grade, GraderType, Outcome, StdioCase,
    StdoutComparison,
};
use eval_sandbox::Sandbox;

/// A probe gets no less time, so that a tight limit of programs is not held against their language.
const LEAST_TIME: Duration = Duration::from_secs(10);

/// What is told apart: an executor, with the memory of its programs, inside the sandbox or not, and
/// the Python that an eval names.
type ProbeKey = (Executor, u64, bool, Option<PathBuf>);

/// The probes of a run.
#[derive(Default)]
pub(super) struct LanguageProbes(Mutex<HashMap<ProbeKey, Arc<OnceCell<ProbeResult>>>>);

/// Why the language can't be used, as a grade, if it can't.
type ProbeResult = Result<(), Box<Grade>>;

/// Why a probe shows nothing of its language.
enum ProbeFailure {
    Timeout,
    /// The sandbox could not run it.
    Lost(Box<Grade>),
}

impl LanguageProbes {
    /// The grade of a program; that of its language where it failed for want of a part of that.
    pub async fn check(
        &self,
        code: &dyn CandidateCode,
        grade: Grade,
        sandbox: &Sandbox,
        languages: &LanguageLookup,
    ) -> Grade {
        let RunSettings {
            executor, limits, ..
        } = code.settings();
        let Some(text) = probe_of(executor) else {
            return grade;
        };
        let key = (
            executor.clone(),
            limits.memory_mb,
            sandbox.state().enforced,
            sandbox.named_python().map(Path::to_owned),
        );
        if shows_that_the_language_works(code, &grade) {
            self.record_success(key);
            return grade;
        }
        if !may_be_the_languages(code, &grade) {
            return grade;
        }
        let cell = Arc::clone(self.cells().entry(key.clone()).or_default());
        match cell
            .get_or_try_init(|| probe(executor, &limits, text, sandbox, languages))
            .await
        {
            Ok(Ok(())) => grade,
            // A program may have passed while the probe ran.
            Ok(Err(_)) if self.works(&key) => grade,
            Ok(Err(broken)) => Grade {
                method: grade.method,
                ..(**broken).clone()
            },
            // A busy machine or a cold compiler: nothing is known, and the next failure runs the
            // probe again.
            Err(ProbeFailure::Timeout) => grade,
            // The sandbox could not run it, which says nothing of the language: the next one tries
            // again.
            Err(ProbeFailure::Lost(lost)) => Grade {
                method: grade.method,
                ..*lost
            },
        }
    }

    fn cells(&self) -> MutexGuard<'_, HashMap<ProbeKey, Arc<OnceCell<ProbeResult>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn works(&self, key: &ProbeKey) -> bool {
        matches!(
            self.cells().get(key).and_then(|cell| cell.get()),
            Some(Ok(()))
        )
    }

    /// A program that passed proves more than a probe that failed.
    fn record_success(&self, key: ProbeKey) {
        let mut cells = self.cells();
        let cell = cells.entry(key).or_default();
        if !matches!(cell.get(), Some(Ok(()))) {
            *cell = Arc::new(OnceCell::new_with(Some(Ok(()))));
        }
    }
}

fn shows_that_the_language_works(code: &dyn CandidateCode, grade: &Grade) -> bool {
    grade.outcome == Outcome::Passed && !code.expects_failure()
}

/// Whether a grade may be due to a language that lacks something: a program that ran to its end and
/// was wrong is not, unless the end that is expected of it is one that a broken language has, too.
fn may_be_the_languages(code: &dyn CandidateCode, grade: &Grade) -> bool {
    match (grade.outcome, grade.cause) {
        (Outcome::Passed, _) | (Outcome::Failed, Some(Cause::WrongAnswer)) => {
            code.expects_failure()
        }
        (Outcome::Failed, cause) => !matches!(cause, Some(Cause::NoCode | Cause::Forged)),
        _ => false,
    }
}

fn probe_of(executor: &Executor) -> Option<&str> {
    Some(match executor {
        Executor::Python => "probe = 0\n",
        Executor::Javascript => "const probe = 0;\n",
        Executor::Typescript => "const probe: number = 0;\n",
        Executor::Bash => "exit 0\n",
        // A part of this program.
        Executor::Sql => return None,
        Executor::Configured(own) => own.probe.as_deref()?,
    })
}

async fn probe(
    executor: &Executor,
    limits: &CodeLimits,
    text: &str,
    sandbox: &Sandbox,
    languages: &LanguageLookup,
) -> Result<ProbeResult, ProbeFailure> {
    let cases = vec![StdioCase::default()];
    let compare = StdoutComparison::ExitCode;
    let expected = StdioTest {
        cases: &cases,
        compare,
        tolerance: None,
    };
    let grader = CodeExecution {
        executor: executor.clone(),
        prefix: String::new(),
        tests: CodeTests::Stdio {
            cases: cases.clone(),
            compare,
            tolerance: None,
        },
        setup: String::new(),
        suffix: String::new(),
        entry_point: None,
        limits: CodeLimits {
            wall: limits.wall.max(LEAST_TIME),
            ..*limits
        },
        in_process: false,
        sandbox: true,
        reference: None,
    };
    let bench = StdioBench {
        sandbox,
        languages,
        compiled: None,
    };
    let graded = grade_stdio(&grader, text, &expected, bench).await;
    match (graded.outcome, graded.cause) {
        (Outcome::Passed, _) => Ok(Ok(())),
        (Outcome::Errored, Some(Cause::SandboxUnavailable)) => {
            Err(ProbeFailure::Lost(Box::new(graded)))
        }
        (_, Some(Cause::Timeout)) => Err(ProbeFailure::Timeout),
        _ => Ok(Err(Box::new(broken(executor, limits, &graded)))),
    }
}

fn broken(executor: &Executor, limits: &CodeLimits, graded: &Grade) -> Grade {
    let name = executor.name();
    let needs = match executor {
        Executor::Configured(own) => language_of_executor(own).and_then(|l| l.memory_mb()),
        _ => None,
    };
    let (hint, remedy) = match executor {
        _ if needs.is_some_and(|needs| limits.memory_mb < needs) => (
            String::new(),
            format!(
                "; its programs have {} MB: set `memory_mb` to {} or more",
                limits.memory_mb,
                needs.unwrap_or_default()
            ),
        ),
        Executor::Configured(own) => (
            own.hint
                .as_deref()
                .map(|hint| format!("; {hint}"))
                .unwrap_or_default(),
            format!("; to use a different program, set `probe` of the executor `{name}`"),
        ),
        _ => (String::new(), "; run `eval-harness doctor`".to_owned()),
    };
    let why = graded
        .reason
        .strip_prefix("given no input: ")
        .unwrap_or(&graded.reason);
    let reason = format!(
        "`{name}` can't be used here, since a program that does nothing fails: {why}{hint}{remedy}"
    );
    let grade = Grade::errored(
        GraderType::Code,
        &graded.method,
        Cause::ExecutorMissing,
        reason,
    );
    match graded.details.get("compiler") {
        Some(said) => grade.with_detail("compiler", said.clone()),
        None => grade,
    }
}
