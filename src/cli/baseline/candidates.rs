//! Outputs as baselines of a suite, tried as a later run would: by loading it with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::load::{self, LoadRequest, Severity};
use crate::model::{Case, OutputValue};

/// The cases of the evals (by id) as they are with these outputs as their baselines; a reason where
/// the eval can't take its output for one.
pub fn with_baselines(
    request: &LoadRequest,
    outputs: &BTreeMap<String, OutputValue>,
) -> BTreeMap<String, Result<Arc<Case>, String>> {
    let mut cases = BTreeMap::new();
    if !outputs.is_empty() {
        let all: Vec<(&String, &OutputValue)> = outputs.iter().collect();
        load_with(request, &all, &mut cases);
    }
    cases
}

/// One output that an eval can't take must not cost the others theirs: halves are tried until it is
/// alone.
fn load_with(
    request: &LoadRequest,
    outputs: &[(&String, &OutputValue)],
    cases: &mut BTreeMap<String, Result<Arc<Case>, String>>,
) {
    let mut known = BTreeMap::clone(&request.overrides.known_good);
    known.extend(
        outputs
            .iter()
            .map(|(id, output)| ((*id).clone(), (*output).clone())),
    );
    let mut with_them = request.clone();
    with_them.overrides.known_good = Arc::new(known);
    let loaded = load::load(&with_them);
    let plan = loaded.plan.filter(|_| loaded.problems.error_count() == 0);
    match (plan, outputs) {
        (Some(plan), _) => {
            let wanted: BTreeMap<&str, ()> =
                outputs.iter().map(|(id, _)| (id.as_str(), ())).collect();
            for eval in plan
                .evals
                .iter()
                .filter(|eval| wanted.contains_key(eval.info.id.as_str()))
            {
                let case = match eval.cases.get(0) {
                    Some(case) => case.map_err(|fault| fault.to_string()),
                    None => continue,
                };
                cases.insert(eval.info.id.clone(), case);
            }
        }
        (None, [(id, _)]) => {
            let first = loaded
                .problems
                .iter()
                .find(|problem| problem.severity == Severity::Error);
            let why = first.map_or_else(
                || "the suite can't be loaded".to_owned(),
                |p| p.message.clone(),
            );
            cases.insert((*id).clone(), Err(why));
        }
        (None, several) => {
            let (front, back) = several.split_at(several.len() / 2);
            load_with(request, front, cases);
            load_with(request, back, cases);
        }
    }
}
