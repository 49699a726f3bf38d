//! Limits of time relative to a reference solution: what the author's own solution takes, on this
//! machine and in this sandbox, times a factor.
//!
//! The reference is graded as a candidate is, once for each grader and run, while no other program
//! of the run is graded. It must pass: tests that refuse their own solution say nothing of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OnceCell, RwLock, RwLockReadGuard};

use crate::graders::code_execution::SLOWEST;
use crate::graders::programs::{BoxedFuture, CandidateCode};
use crate::model::{
    Cause, CodeGrader, CodeLimits, Fingerprint, Grade, GraderType, NamedPython, Outcome,
    OutputValue, ReferenceSolution,
};

/// No candidate gets less: a start of the interpreter on a busy machine is no fault of its own.
const FLOOR: Duration = Duration::from_millis(500);

/// A reference that takes longer than this is not measured a second time.
const LONG: Duration = Duration::from_secs(1);

/// The references of a run that were measured.
#[derive(Default)]
pub(super) struct ReferenceTimes {
    measured: Mutex<HashMap<ReferenceKey, Arc<OnceCell<ReferenceTime>>>>,
    /// Held by everything that runs programs; by a measurement alone.
    quiet: RwLock<()>,
}

/// A grader, and what runs Python for it in place of the suite's interpreter.
type ReferenceKey = (Fingerprint, Option<NamedPython>);

/// How long the reference took, or the grade of all samples when it is of no use.
type ReferenceTime = Result<Duration, Box<Grade>>;

impl ReferenceTimes {
    /// The place of an ordinary program, which waits while a reference is measured.
    pub async fn place(&self) -> RwLockReadGuard<'_, ()> {
        self.quiet.read().await
    }

    /// The grader with the limit that its reference gives; `None` when it has none. `grade` grades
    /// an output with the grader as it is, in Python by `python`. The caller must hold no place.
    pub async fn limited<'g>(
        &self,
        grader: &CodeGrader,
        python: Option<&NamedPython>,
        grade: &(dyn Fn(OutputValue) -> BoxedFuture<'g, Grade> + Sync),
    ) -> Option<Result<CodeGrader, Grade>> {
        let code = grader.as_method().candidate_code()?;
        let reference = code.settings().reference?;
        let cell = {
            let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(
                measured
                    .entry((Fingerprint::of(grader), python.cloned()))
                    .or_default(),
            )
        };
        let measured = cell
            .get_or_try_init(|| async {
                let _alone = self.quiet.write().await;
                match measure(grader.method(), code, reference, grade).await {
                    // An interrupt says nothing about the reference, so it is not kept.
                    Err(grade) if grade.cause == Some(Cause::Interrupted) => Err(grade),
                    measured => Ok(measured),
                }
            })
            .await;
        Some(match measured {
            Ok(Ok(time)) => Ok(with_limit(code, *time, reference.factor)),
            Ok(Err(grade)) => Err((**grade).clone()),
            Err(interrupted) => Err(*interrupted),
        })
    }
}

async fn measure<'g>(
    method: &str,
    code: &dyn CandidateCode,
    reference: &ReferenceSolution,
    grade: &(dyn Fn(OutputValue) -> BoxedFuture<'g, Grade> + Sync),
) -> ReferenceTime {
    // As a model would have answered: a completion continues the case's prefix, a whole program
    // does not.
    let output = if code.continues_prefix() {
        OutputValue::Text(reference.code.clone())
    } else {
        OutputValue::Program(reference.code.clone())
    };
    let mut best = Duration::MAX;
    // The first time something may have to be built that later programs find ready.
    for _ in 0..2 {
        let started = Instant::now();
        let graded = grade(output.clone()).await;
        let elapsed = started.elapsed();
        if graded.outcome != Outcome::Passed {
            return Err(Box::new(useless(method, &graded)));
        }
        best = best.min(slowest_run(&graded).unwrap_or(elapsed));
        if elapsed > LONG {
            break;
        }
    }
    Ok(best)
}

/// Of a program that is run once for each input: every run has the whole limit, and the compiler
/// one of its own.
fn slowest_run(graded: &Grade) -> Option<Duration> {
    let ms = graded.details.get(SLOWEST)?.as_f64()?;
    Duration::try_from_secs_f64(ms / 1e3).ok()
}

fn useless(method: &str, graded: &Grade) -> Grade {
    if graded.cause == Some(Cause::Interrupted) {
        return graded.clone();
    }
    let (cause, what) = match (graded.outcome, graded.cause) {
        (Outcome::Errored, Some(cause)) => (cause, "could not be run"),
        _ => (Cause::Harness, "fails its tests"),
    };
    let reason = format!("the reference solution {what}: {}", graded.reason);
    Grade::errored(GraderType::Code, method, cause, reason)
}

/// `factor` times what the reference took, at least [`FLOOR`], and never more than the limit that
/// was set.
fn with_limit(code: &dyn CandidateCode, time: Duration, factor: f64) -> CodeGrader {
    let relative =
        Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX);
    let limits = code.settings().limits;
    code.with_limits(CodeLimits {
        wall: limits.wall.min(relative.max(FLOOR)),
        ..limits
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::grade::grader_process::TaskFailure;
    use crate::model::{CodeExecution, CodeLimits, CodeTests, ExactMatch, Executor};

    fn grader(wall: u64, factor: f64) -> CodeGrader {
        CodeGrader::CodeExecution(CodeExecution {
            in_process: false,
            executor: Executor::Python,
            prefix: String::new(),
            tests: CodeTests::Asserts {
                asserts: vec!["assert f() == 1".into()],
            },
            setup: String::new(),
            suffix: String::new(),
            entry_point: None,
            limits: CodeLimits {
                wall: Duration::from_secs(wall),
                ..CodeLimits::default()
            },
            sandbox: true,
            reference: Some(ReferenceSolution {
                code: "def f(): return 1".into(),
                factor,
            }),
        })
    }

    fn answer<'g>(grade: Grade) -> BoxedFuture<'g, Grade> {
        Box::pin(std::future::ready(grade))
    }

    fn wall(code: &CodeGrader) -> Duration {
        match code {
            CodeGrader::CodeExecution(execution) => execution.limits.wall,
            _ => unreachable!(),
        }
    }

    #[test]
    fn the_limit_is_the_references_time_within_bounds() {
        let of = |ms, factor, limit| {
            let grader = grader(limit, factor);
            wall(&with_limit(
                grader.as_method().candidate_code().unwrap(),
                Duration::from_millis(ms),
                factor,
            ))
        };
        assert_eq!(of(300, 10.0, 10), Duration::from_secs(3));
        assert_eq!(of(1, 10.0, 10), FLOOR);
        assert_eq!(of(3_000, 10.0, 10), Duration::from_secs(10));
        assert_eq!(of(3_000, f64::MAX, 10), Duration::from_secs(10));
        let short = CodeLimits {
            wall: Duration::from_millis(100),
            ..CodeLimits::default()
        };
        let CodeGrader::CodeExecution(mut execution) = grader(1, 2.0) else {
            unreachable!()
        };
        execution.limits = short;
        assert_eq!(
            wall(&with_limit(&execution, FLOOR, 2.0)),
            Duration::from_millis(100)
        );
    }

    #[tokio::test]
    async fn a_reference_is_measured_once_for_a_grader() {
        let (references, asked) = (ReferenceTimes::default(), AtomicUsize::new(0));
        let passes = |output: OutputValue| {
            assert_eq!(output, OutputValue::Program("def f(): return 1".into()));
            asked.fetch_add(1, Ordering::Relaxed);
            answer(Grade::passed(GraderType::Code, "code_execution"))
        };
        for _ in 0..5 {
            let limited = references
                .limited(&grader(10, 3.0), None, &passes)
                .await
                .unwrap()
                .unwrap();
            assert_eq!(wall(&limited), FLOOR);
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        let plain = CodeGrader::ExactMatch(ExactMatch {
            any_of: vec![],
            case_sensitive: true,
            trim_whitespace: true,
            normalize_newlines: true,
        });
        assert!(references.limited(&plain, None, &passes).await.is_none());
    }

    #[tokio::test]
    async fn the_slowest_run_counts_where_each_run_has_the_limit_to_itself() {
        let references = ReferenceTimes::default();
        let graded = |_: OutputValue| {
            answer(Grade::passed(GraderType::Code, "code_execution").with_detail(SLOWEST, 700.5))
        };
        let limited = references
            .limited(&grader(10, 2.0), None, &graded)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(wall(&limited), Duration::from_millis(1401));
    }

    #[tokio::test]
    async fn a_reference_that_does_not_pass_says_nothing_of_candidates() {
        let references = ReferenceTimes::default();
        let told = async |grade: Grade, wall: u64| {
            let graded = |_: OutputValue| answer(grade.clone());
            let grade = references
                .limited(&grader(wall, 3.0), None, &graded)
                .await
                .unwrap()
                .unwrap_err();
            format!("{:?} {:?} {}", grade.outcome, grade.cause, grade.reason)
        };
        let fails = Grade::failed(
            GraderType::Code,
            "code_execution",
            Cause::WrongAnswer,
            "the test does not hold",
        );
        insta::assert_snapshot!(told(fails, 1).await, @"Errored Some(Harness) the reference solution fails its tests: the test does not hold");
        let lost = Grade::errored(
            GraderType::Code,
            "code_execution",
            Cause::SandboxUnavailable,
            "it broke down",
        );
        insta::assert_snapshot!(told(lost, 2).await, @"Errored Some(SandboxUnavailable) the reference solution could not be run: it broke down");
    }

    #[tokio::test]
    async fn interrupted_reference_is_skipped_and_measured_again() {
        let references = ReferenceTimes::default();
        let skipped = |_: OutputValue| answer(TaskFailure::Interrupted.grade("code_execution"));
        let grade = references
            .limited(&grader(10, 3.0), None, &skipped)
            .await
            .unwrap()
            .unwrap_err();
        assert_eq!(
            (grade.outcome, grade.cause),
            (Outcome::Skipped, Some(Cause::Interrupted))
        );
        assert_eq!(grade.reason, "the run was interrupted");
        let passes = |_: OutputValue| answer(Grade::passed(GraderType::Code, "code_execution"));
        let limited = references
            .limited(&grader(10, 3.0), None, &passes)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(wall(&limited), FLOOR);
    }

    #[tokio::test]
    async fn no_program_runs_while_a_reference_is_measured() {
        let references = ReferenceTimes::default();
        let place = references.place().await;
        let waits = |_: OutputValue| {
            assert!(references.quiet.try_read().is_err());
            answer(Grade::passed(GraderType::Code, "code_execution"))
        };
        let code = grader(10, 2.0);
        let measured = references.limited(&code, None, &waits);
        tokio::pin!(measured);
        tokio::select! {
            biased;
            _ = &mut measured => panic!("it did not wait for the place"),
            () = std::future::ready(()) => {}
        }
        drop(place);
        assert!(measured.await.unwrap().is_ok());
    }
}
