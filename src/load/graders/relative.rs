//! Limits of time that are relative to a solution of the author's.

use super::super::problem::{Code, Problem};
use super::super::scope::Desk;
use super::super::tree::Node;
use super::code::lacks;
use crate::model::Reference;

/// `reference_solution` and `timeout_factor`, which belong together; `None` after saying what is
/// wrong.
pub(super) fn reference(
    desk: &mut Desk,
    written: (&Option<String>, Option<f64>),
    node: &Node,
) -> Option<Option<Reference>> {
    match written {
        (None, None) => Some(None),
        (Some(code), Some(factor)) if !code.trim().is_empty() && factor > 1.0 => {
            Some(Some(Reference {
                code: code.clone(),
                factor,
            }))
        }
        (Some(code), _) if code.trim().is_empty() => {
            lacks(
                desk,
                node.locate("/reference_solution"),
                "the reference solution is empty",
                "write a program that passes",
            );
            None
        }
        (Some(_), Some(_)) => {
            let message =
                "`timeout_factor` must be above 1: the reference itself takes its time once";
            desk.push(Problem::error(
                Code::OutOfRange,
                node.locate("/timeout_factor"),
                message,
            ));
            None
        }
        (Some(_), None) => {
            let at = node.key_span("/reference_solution");
            lacks(
                desk,
                at,
                "`reference_solution` only serves to limit the time",
                "add `timeout_factor: 10`",
            );
            None
        }
        (None, Some(_)) => {
            let at = node.key_span("/timeout_factor");
            lacks(
                desk,
                at,
                "`timeout_factor` needs something to multiply",
                "add `reference_solution:` with a program that passes",
            );
            None
        }
    }
}
