//! What is done with an output, wherever it is done.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::grade::extract::{Nothing, extract};
use crate::grade::patterns::Patterns;
use crate::grade::{answers, execution, functions};
use crate::model::{Cause, CodeGrader, Extract, Grade, GraderType, OutputValue};

/// One piece of work on one output.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Task<'a> {
    Extract(Cow<'a, [Extract]>),
    /// By a grader that only looks.
    Grade(Cow<'a, CodeGrader>),
    /// Find the program that a grader runs.
    Program(Cow<'a, CodeGrader>),
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Extracted(Result<OutputValue, Nothing>),
    Graded(Box<Grade>),
    Program(Result<String, String>),
}

impl Task<'_> {
    pub fn perform(&self, value: &OutputValue, patterns: &Patterns) -> Answer {
        match self {
            Task::Extract(steps) => Answer::Extracted(extract(steps, value, patterns)),
            Task::Grade(grader) => {
                let grade = answers::grade(grader, value, patterns);
                let other = || {
                    Grade::errored(GraderType::Code, grader.method(), Cause::Harness, "it looks at no text")
                };
                Answer::Graded(Box::new(grade.unwrap_or_else(other)))
            }
            Task::Program(grader) => Answer::Program(match grader.as_ref() {
                CodeGrader::FunctionOutput(function) => functions::program(function, value),
                CodeGrader::CodeExecution(execution) => execution::program(execution, value),
                other => Err(format!("{} runs no program", other.method())),
            }),
        }
    }
}
