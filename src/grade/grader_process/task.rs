//! What is done with an output, wherever it is done.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::grade::extract::{Nothing, extract};
use crate::grade::patterns::Patterns;
use crate::grade::{answers, execution, functions};
use crate::model::{Cause, CodeGrader, Extract, Grade, GraderType, OutputValue};

/// One piece of work on one output.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum GraderTask<'a> {
    Extract(Cow<'a, [Extract]>),
    /// By a grader that only looks.
    Grade(Cow<'a, CodeGrader>),
    /// Find the program that a grader runs.
    Program(Cow<'a, CodeGrader>),
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub(super) enum TaskAnswer {
    Extracted(Result<OutputValue, Nothing>),
    Graded(Box<Grade>),
    Program(Result<String, String>),
}

impl GraderTask<'_> {
    pub fn perform(&self, value: &OutputValue, patterns: &Patterns) -> TaskAnswer {
        match self {
            GraderTask::Extract(steps) => TaskAnswer::Extracted(extract(steps, value, patterns)),
            GraderTask::Grade(grader) => {
                let grade = answers::grade(grader, value, patterns);
                let other = || {
                    Grade::errored(
                        GraderType::Code,
                        grader.method(),
                        Cause::Harness,
                        "it looks at no text",
                    )
                };
                TaskAnswer::Graded(Box::new(grade.unwrap_or_else(other)))
            }
            GraderTask::Program(grader) => TaskAnswer::Program(match grader.as_ref() {
                CodeGrader::FunctionOutput(function) => functions::program(function, value),
                CodeGrader::CodeExecution(execution) => execution::program(execution, value),
                other => Err(format!("{} runs no program", other.method())),
            }),
        }
    }
}
