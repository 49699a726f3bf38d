//! Every shape of the seed documents loads, into the same model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eval_harness::load::render::{HumanOptions, human};
use eval_harness::load::{CheckRequest, LoadRequest, Loaded, Overrides, Purpose, check_files, load};

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seeds")
}

fn request() -> LoadRequest {
    LoadRequest {
        suite: "evals/eval-suite.yaml".into(),
        purpose: Purpose::Validate,
        overrides: Overrides::default(),
        env: BTreeMap::new(),
        cwd: seeds(),
        cpus: 2,
    }
}

fn shown(loaded: &Loaded) -> String {
    human(&loaded.problems, &loaded.sources, HumanOptions { limit: 100, ..HumanOptions::default() })
}

#[test]
fn the_suite_of_the_seeds_becomes_a_plan() {
    let loaded = load(&request());
    assert_eq!(shown(&loaded), "");
    let plan = loaded.plan.expect("a plan");
    println!("{plan:#?}");
}

#[test]
fn every_seed_file_is_valid_alone() {
    let checked = check_files(&CheckRequest { paths: vec![".".into()], cwd: seeds(), ..CheckRequest::default() });
    println!("{}", human(&checked.problems, &checked.sources, HumanOptions::default()));
    assert_eq!(checked.problems.error_count(), 0);
}
