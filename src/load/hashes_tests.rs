//! The hashes of inputs and of grading that are already in people's baselines, journals and caches.

use std::fmt::Write as _;
use std::path::Path;

use super::{LoadRequest, load};

/// Renaming a field of a grader or of an input in [`crate::model`] changes hashes, and every
/// baseline and every paired case of a comparison with them. A hash that changes on purpose is a
/// line of the CHANGELOG.
#[test]
fn hashes_of_inputs_and_grading_are_those_of_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hashes");
    let loaded = load(&LoadRequest {
        suite: "eval-suite.yaml".into(),
        cwd: folder,
        cpus: 1,
        ..LoadRequest::default()
    });
    let wrong: Vec<&str> = loaded
        .problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    let plan = loaded.plan.as_ref().unwrap_or_else(|| panic!("{wrong:#?}"));
    let mut hashes = String::new();
    for eval in &plan.evals {
        for case in eval.cases.all().expect("cases") {
            let (input, grading) = (case.input_hash, case.grading_hash);
            writeln!(hashes, "{}/{} {input} {grading}", eval.info.id, case.id).expect("written");
        }
    }
    assert_eq!(
        hashes,
        include_str!("../../tests/fixtures/hashes/hashes.txt")
    );
}
