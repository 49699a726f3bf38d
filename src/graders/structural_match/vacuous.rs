//! Comparisons that hardly any output can fail, because nothing of the baseline is left to be
//! compared.

use serde_json::Value;

use crate::load::{Code, Problem, Span, SuiteDesk};
use eval_match::StructuralOptions;
use eval_match::paths::{PathPattern, PathStep, PlaceStep};

/// Warns where only the type of the output is looked at.
pub(crate) fn warn_of_vacuous(desk: &mut SuiteDesk, structural: &StructuralOptions, at: Span) {
    // What must exist can be missing.
    if !structural.require_keys.is_empty() || !structural.ignore_values.is_empty() {
        return;
    }
    let parsed = structural
        .ignore_fields
        .iter()
        .map(|path| PathPattern::parse(path));
    let ignored: Vec<PathPattern> = parsed
        .map(|path| path.within(&structural.expected))
        .collect();
    let look = VacuityCheck {
        ignored,
        further_are_fine: structural.allow_additional_fields,
    };
    if look.counts(&structural.expected, &mut Vec::new()) {
        return;
    }
    let (message, hint) = if structural.ignore_fields.is_empty() {
        (
            "the baseline holds no value, and further fields are fine, so that nearly any output passes",
            "`options: {strict: true}` forbids further fields; `require_keys` asks for some",
        )
    } else {
        (
            "`ignore_fields` leaves no value of the baseline to compare, so that nearly any output passes",
            "name only what may differ; `ignore_values` and `require_keys` ask that a field exists",
        )
    };
    desk.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
}

struct VacuityCheck {
    ignored: Vec<PathPattern>,
    further_are_fine: bool,
}

impl VacuityCheck {
    /// Whether some output of the same type differs here.
    fn counts(&self, value: &Value, place: &mut Vec<PlaceStep>) -> bool {
        if self.ignored.iter().any(|path| path.names(place)) {
            return false;
        }
        match value {
            Value::Object(_) | Value::Array(_) if self.all_ignored_below(place) => false,
            Value::Object(map) => {
                !self.further_are_fine
                    || map
                        .iter()
                        .any(|(key, inner)| self.below(PlaceStep::Key(key.clone()), inner, place))
            }
            Value::Array(items) => {
                items.is_empty()
                    || items
                        .iter()
                        .enumerate()
                        .any(|(i, inner)| self.below(PlaceStep::Index(i), inner, place))
            }
            _ => true,
        }
    }

    fn below(&self, step: PlaceStep, inner: &Value, place: &mut Vec<PlaceStep>) -> bool {
        place.push(step);
        let counts = self.counts(inner, place);
        place.pop();
        counts
    }

    fn all_ignored_below(&self, place: &[PlaceStep]) -> bool {
        self.ignored.iter().any(|path| {
            matches!(path.0.split_last(), Some((PathStep::Any, parent)) if PathPattern(parent.to_vec()).names(place))
        })
    }
}
