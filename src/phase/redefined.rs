//! What a suite that a command of the phase changed demands less, or otherwise, than when the phase
//! began. Pure.
//!
//! Commands may write evals: that is how work begins here. That they took some away, or eased them,
//! has to be told.

use std::collections::HashMap;

use crate::model::Plan;
use eval_base::text::plural;

/// A sentence about what is gone or graded otherwise; `None` when all that was asked for still is.
/// `shown`: the suite as the phase file names it.
pub(super) fn redefined(shown: &str, before: &Plan, now: &Plan) -> Option<String> {
    let cases = |plan: &Plan| {
        let mut cases = HashMap::new();
        for eval in &plan.evals {
            for case in eval.cases.outlines() {
                cases.insert(
                    (eval.info.id.clone(), case.id.to_owned()),
                    (case.input_hash, case.grading_hash),
                );
            }
        }
        cases
    };
    let kept = cases(now);
    let (mut gone, mut other) = (0, 0);
    for (id, was) in cases(before) {
        match kept.get(&id) {
            None => gone += 1,
            Some(is) if *is != was => other += 1,
            Some(_) => {}
        }
    }
    let mut said = Vec::new();
    if gone > 0 {
        said.push(format!("{} removed", plural(gone, "case")));
    }
    if other > 0 {
        said.push(format!("{} changed", plural(other, "case")));
    }
    if before.gate != now.gate {
        said.push("different thresholds".to_owned());
    }
    let said = said.join(", ");
    (!said.is_empty()).then(|| {
        format!("`{shown}` changed while the phase ran; its new version was judged: {said}")
    })
}
