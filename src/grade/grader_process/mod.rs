//! The entrance of everything that looks at an output's text: what may take long is done by a
//! process that can be ended.
//!
//! A search by backtracking can't be interrupted, so it must not run on a thread of this process.
//! Work whose cost is linear in a small output is done in place (`in_place` has the rule); all else
//! goes to a grader process, which is this program again. It is ended at `grade_timeout_seconds` or
//! at its memory limit, and the grade is then errored, whatever the grader would have said.

mod in_place;
mod pool;
mod serve;
mod task;

use std::borrow::Cow;
use std::time::Duration;

use crate::model::{Cause, CodeGrader, ExtractMethod, Grade, GraderType, Outcome, OutputValue};

use super::extract::ExtractFailure;
use crate::graders::TextGrader;
use crate::graders::patterns::PatternCache;
use crate::graders::programs::BoxedFuture;
use pool::GraderPool;
use task::{GraderTask, TaskAnswer};

pub use pool::PoolConfig;
pub use serve::grader_process_main;

/// The hidden first argument that makes this program a grader process.
pub const GRADER_ARGUMENT: &str = "__grader";

/// MiB of private memory that a grader process may hold.
const MEMORY_MIB: u64 = 2048;

/// Why work on an output gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TaskFailure {
    /// This limit was reached.
    TimedOut(Duration),
    /// Two processes ended without an answer; how the second one did.
    Ended(String),
    /// A process could not be started.
    NotStarted(String),
    /// The request or the reply could not be written or read.
    Unreadable(String),
    /// The run is being ended.
    Interrupted,
}

impl TaskFailure {
    /// The cause of the outcome, and a sentence.
    pub fn explain(&self) -> (Cause, String) {
        match self {
            TaskFailure::TimedOut(limit) => (
                Cause::GraderTimeout,
                format!(
                    "the grader did not end within {} s (`grade_timeout_seconds`)",
                    limit.as_secs_f64()
                ),
            ),
            TaskFailure::Ended(why) => (
                Cause::Harness,
                format!("the grader process ended without a grade: {why}"),
            ),
            TaskFailure::NotStarted(why) => (
                Cause::Harness,
                format!(
                    "no grader process can be started: {why} (restart the run if the executable was replaced or deleted \
                     while it ran)"
                ),
            ),
            TaskFailure::Unreadable(why) => (
                Cause::Harness,
                format!(
                    "the output or its grade can't be passed to or from a grader process: {why}"
                ),
            ),
            TaskFailure::Interrupted => (Cause::Interrupted, "the run was interrupted".to_owned()),
        }
    }

    /// The grade of a code grader; of an interrupted one it is skipped, and never recorded.
    pub fn grade(&self, method: &str) -> Grade {
        let (cause, reason) = self.explain();
        match cause.outcome() {
            Outcome::Errored => Grade::errored(GraderType::Code, method, cause, reason),
            outcome => Grade {
                outcome,
                cause: Some(cause),
                ..Grade::errored(GraderType::Code, method, Cause::Harness, reason)
            },
        }
    }
}

/// Work on outputs, in place or in grader processes.
#[derive(Debug)]
pub(super) struct TextWork {
    patterns: PatternCache,
    pool: GraderPool,
}

impl TextWork {
    pub fn new(config: PoolConfig) -> TextWork {
        TextWork {
            patterns: PatternCache::default(),
            pool: GraderPool::new(config),
        }
    }

    /// Half a second from the first call on, work is given up.
    pub fn interrupt(&self) {
        self.pool.interrupt.interrupt();
    }

    pub fn is_interrupted(&self) -> bool {
        self.pool.interrupt.is_interrupted()
    }

    /// Performs other work of a grader, which is given up like that on outputs.
    pub async fn until_interrupted<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, TaskFailure> {
        self.pool.interrupt.bound(work).await
    }

    /// What the graders see of an output.
    pub async fn extract(
        &self,
        steps: &[ExtractMethod],
        value: &OutputValue,
    ) -> Result<OutputValue, ExtractFailure> {
        if steps.is_empty() {
            return Ok(value.clone());
        }
        let here = in_place::extracts(steps, value, &self.patterns);
        match self
            .done(here, GraderTask::Extract(Cow::Borrowed(steps)), value)
            .await
        {
            Ok(TaskAnswer::Extracted(found)) => found,
            Ok(_) => Err(ExtractFailure::Unfinished(mismatched())),
            Err(unfinished) => Err(ExtractFailure::Unfinished(unfinished)),
        }
    }

    /// The grade of a grader that only looks; `None` for the others.
    pub async fn grade(&self, grader: &CodeGrader, value: &OutputValue) -> Option<Grade> {
        grader.as_method().check()?;
        let here = in_place::grades(grader, value, &self.patterns);
        Some(
            match self
                .done(here, GraderTask::Grade(Cow::Borrowed(grader)), value)
                .await
            {
                Ok(TaskAnswer::Graded(grade)) => *grade,
                Ok(_) => mismatched().grade(grader.method()),
                Err(unfinished) => unfinished.grade(grader.method()),
            },
        )
    }

    /// The program that a grader is to run, or why there is none in the output.
    pub async fn program(
        &self,
        grader: &CodeGrader,
        value: &OutputValue,
    ) -> Result<Result<String, String>, TaskFailure> {
        let here = in_place::reads_program(grader, value);
        match self
            .done(here, GraderTask::Program(Cow::Borrowed(grader)), value)
            .await?
        {
            TaskAnswer::Program(program) => Ok(program),
            _ => Err(mismatched()),
        }
    }

    async fn done(
        &self,
        here: bool,
        task: GraderTask<'_>,
        value: &OutputValue,
    ) -> Result<TaskAnswer, TaskFailure> {
        if here {
            Ok(task.perform(value, &self.patterns))
        } else {
            self.pool.call(&task, value).await
        }
    }
}

impl TextGrader for TextWork {
    fn grade<'g>(
        &'g self,
        grader: &'g CodeGrader,
        value: &'g OutputValue,
    ) -> BoxedFuture<'g, Grade> {
        Box::pin(async move {
            let grade = TextWork::grade(self, grader, value).await;
            grade.unwrap_or_else(|| {
                let why = "this grader does not check text";
                Grade::errored(GraderType::Code, grader.method(), Cause::Harness, why)
            })
        })
    }
}

fn mismatched() -> TaskFailure {
    TaskFailure::Unreadable("the reply does not match the request".to_owned())
}
