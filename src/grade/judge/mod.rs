//! Judges: a rubric and an output go to a model, a typed verdict comes back, or the word that there is none.

use crate::model::{Case, Cause, Grade, GraderType, Judge, OutputValue};

use super::{Asked, GradersConfig};

/// Asks the panel.
pub(super) async fn grade(
    _judge: &Judge,
    _asked: Asked,
    _case: &Case,
    _value: &OutputValue,
    _config: &GradersConfig,
) -> Grade {
    Grade::errored(GraderType::Model, "model", Cause::JudgeUnreachable, "no judge was asked")
}
