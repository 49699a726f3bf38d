//! What is done with an output, wherever it is done.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::grade::extract::{Nothing, extract};
use crate::graders::patterns::Patterns;
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
                let grade = grader.as_method().check().map_or_else(
                    || {
                        let why = "it looks at no text";
                        Grade::errored(GraderType::Code, grader.method(), Cause::Harness, why)
                    },
                    |check| check.grade(value, patterns),
                );
                TaskAnswer::Graded(Box::new(grade))
            }
            GraderTask::Program(grader) => {
                TaskAnswer::Program(match grader.as_method().candidate_code() {
                    Some(code) => code.program(value),
                    None => Err(format!("{} runs no program", grader.method())),
                })
            }
        }
    }
}
