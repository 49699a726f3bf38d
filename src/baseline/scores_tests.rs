//! What is written of scores, how it is read back, and what differs between two of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::model::{Criticality, Difficulty, EvalType};
use crate::spec::{SCORES_VERSION, ScoredMetric, ScoredTarget};

fn case(id: &str, n: u32, c: u32) -> CaseRecord {
    let outcome = if n == c {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    CaseRecord {
        id: id.to_owned(),
        n,
        c,
        outcome: Some(outcome),
        score: Some(f64::from(c) / f64::from(n)),
        fingerprint: Some("0123456789abcdef".into()),
        ..CaseRecord::default()
    }
}

fn file(run: &str, cases: &[(&str, u32, u32)]) -> ScoreBaselineFile {
    let cases = cases.iter().map(|(id, n, c)| case(id, *n, *c)).collect();
    let eval = EvalRecord {
        private: false,
        id: "cap/a \"b\"".to_owned(),
        outcome: Outcome::Failed,
        score: Some(0.5),
        weight: Some(1.0),
        score_threshold: None,
        kind: None,
        category: None,
        tags: vec![],
        difficulty: None,
        criticality: None,
        cases,
    };
    let metric = ScoredMetric {
        value: 2.0 / 3.0,
        ci: Some([0.25, 0.875]),
        n_cases: 2,
    };
    ScoreBaselineFile {
        format_version: SCORES_VERSION,
        suite: "My suite".into(),
        suite_version: None,
        target: ScoredTarget {
            name: "solver".into(),
            kind: "command".into(),
            fingerprint: None,
        },
        captured_at: "2026-03-01T00:00:00.000Z".into(),
        run_id: run.into(),
        commit: Some("c0ffee".into()),
        dirty: false,
        harness_version: "0.1.0".into(),
        environment: BTreeMap::from([("os".to_owned(), "linux".into())]),
        ks: vec![1, 3],
        seed: u64::MAX,
        replaces: None,
        metrics: BTreeMap::from([("pass_at_1".to_owned(), metric)]),
        evals: vec![eval],
    }
}

fn id_of(c: u32) -> String {
    format!("tag {c}")
}

const OF: ScoresOf<'static> = ScoresOf {
    suite: "My suite",
    target: "solver",
};

#[test]
fn a_case_is_a_line_and_the_rest_is_sorted() {
    insta::assert_snapshot!(emit(&file("r", &[("two", 3, 1), ("one", 3, 3)])), @r#"
    {
      "format_version": 1,
      "suite": "My suite",
      "target": {"name": "solver", "type": "command"},
      "captured_at": "2026-03-01T00:00:00.000Z",
      "run_id": "r",
      "commit": "c0ffee",
      "harness_version": "0.1.0",
      "environment": {"os": "linux"},
      "ks": [1, 3],
      "seed": 18446744073709551615,
      "metrics": {
        "pass_at_1": {"value": 0.6666666666666666, "ci": [0.25, 0.875], "n_cases": 2}
      },
      "evals": {
        "cap/a \"b\"": {
          "outcome": "failed", "score": 0.5, "weight": 1.0,
          "cases": {
            "one": {"n": 3, "c": 3, "outcome": "passed", "score": 1.0, "fingerprint": "0123456789abcdef"},
            "two": {"n": 3, "c": 1, "outcome": "failed", "score": 0.3333333333333333, "fingerprint": "0123456789abcdef"}
          }
        }
      }
    }
    "#);
}

fn some_id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a\"\n\\é\u{0}".to_owned()),
        Just("%: {[".to_owned()),
        proptest::collection::vec(any::<char>(), 0..12).prop_map(String::from_iter),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_written_is_read_back(
        suite in some_id(),
        evals in proptest::collection::btree_map(
            some_id(),
            proptest::collection::btree_map(some_id(), (0u32..9, 0u32..9, proptest::option::of(0.0f64..1.0)), 0..4),
            0..4,
        ),
        value in any::<f64>().prop_filter("finite", |value| value.is_finite()),
        told in any::<bool>(),
    ) {
        let mut file = file("r", &[]);
        file.suite = suite;
        file.metrics.insert("x".into(), ScoredMetric { value, ci: None, n_cases: 1 });
        file.evals = evals
            .into_iter()
            .map(|(id, cases)| {
                let case = |(id, (n, c, score)): (String, (u32, u32, Option<f64>))| CaseRecord {
                    id,
                    n: n.max(c),
                    c,
                    outcome: Some(Outcome::Passed),
                    score,
                    fingerprint: score.map(|s| s.to_string()),
                    content: told.then_some(crate::spec::CaseContent {
                        input: crate::spec::ShortPrint(1),
                        data: crate::spec::ShortPrint(2),
                        grading: crate::spec::ShortPrint(u64::MAX),
                        target: None,
                    }),
                    samples: if told { n.max(c) + 1 } else { 0 },
                    tags: if told { vec!["a \"b\"".into(), id_of(c)] } else { vec![] },
                    ..CaseRecord::default()
                };
                let cases = cases.into_iter().map(case).collect();
                let (weight, score_threshold) = (Some(value), Some(0.5));
                EvalRecord {
                    private: false,
                    outcome: Outcome::Passed,
                    score: None,
                    weight,
                    score_threshold,
                    kind: told.then_some(EvalType::Regression),
                    category: told.then(|| id.clone()),
                    tags: if told { vec![id.clone()] } else { vec![] },
                    difficulty: told.then_some(Difficulty::Hard),
                    criticality: told.then_some(Criticality::Critical),
                    cases,
                    id,
                }
            })
            .collect();
        let text = emit(&file);
        prop_assert_eq!(parse_scores(Path::new("x"), &text).map_err(|broken| broken.to_string()), Ok(file));
    }
}

#[test]
fn what_is_accepted_changes_by_accept_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = ScoreStore::new(dir.path());
    assert_eq!(store.read(OF, BaselineStage::Accepted).unwrap(), None);
    assert!(matches!(
        store.accept(OF, false),
        Err(ScoresError::NoPending { .. })
    ));
    store.capture(file("first", &[("one", 1, 1)])).unwrap();
    assert_eq!(store.read(OF, BaselineStage::Accepted).unwrap(), None);
    let path = store.accept(OF, false).unwrap();
    assert_eq!(path.file_name().unwrap(), "My%20suite.solver.json");
    let accepted = store.read(OF, BaselineStage::Accepted).unwrap().unwrap();
    assert_eq!(
        accepted,
        file("first", &[("one", 1, 1)]),
        "nothing pending stays in it"
    );
    assert_eq!(store.read(OF, BaselineStage::Pending).unwrap(), None);

    store.capture(file("second", &[("one", 1, 0)])).unwrap();
    assert!(store.reject(OF).unwrap() && !store.reject(OF).unwrap());
    assert_eq!(
        store
            .read(OF, BaselineStage::Accepted)
            .unwrap()
            .unwrap()
            .run_id,
        "first"
    );

    // Somebody pulled other scores after the capture; the line ends of a checkout are no change.
    store.capture(file("third", &[("one", 1, 0)])).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("first", "pulled")).unwrap();
    assert!(matches!(store.accept(OF, false), Err(ScoresError::AtOdds)));
    std::fs::write(&path, text.replace('\n', "\r\n")).unwrap();
    store.accept(OF, false).unwrap();
    assert_eq!(
        store
            .read(OF, BaselineStage::Accepted)
            .unwrap()
            .unwrap()
            .run_id,
        "third"
    );
    assert_eq!(
        std::fs::read_dir(dir.path().join("scores"))
            .unwrap()
            .count(),
        1,
        "no temporary file is left"
    );
}

#[test]
fn scores_of_another_suite_under_this_name_are_refused_and_listed_apart() {
    let dir = tempfile::tempdir().unwrap();
    let store = ScoreStore::new(dir.path());
    store.capture(file("r", &[])).unwrap();
    let path = store.accept(OF, false).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("My suite", "Other")).unwrap();
    let error = store
        .read(OF, BaselineStage::Accepted)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("contains the scores of suite `Other` against target `solver`"),
        "{error}"
    );
    assert!(store.of_suite("My suite").unwrap().is_empty());
    std::fs::write(dir.path().join("scores/x.y.pending.json"), "{").unwrap();
    let entries = store.of_suite("Other").unwrap();
    let [ours, broken] = &entries[..] else {
        panic!("{entries:?}")
    };
    assert!(
        ours.target == "solver" && matches!(ours.accepted, Some(Ok(_))) && ours.pending.is_none()
    );
    assert!(broken.target == "x.y.pending.json" && matches!(broken.pending, Some(Err(_))));
}
