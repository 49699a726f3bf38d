//! Runs beside score baselines, against a naive recount over the same outcomes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fold::{ListingLimits, SummaryFold};
use super::random_run::{Dice, RandomRun, a_run, report, summary};
use crate::model::*;
use crate::spec::words::FailOn;
use crate::spec::{SCORES_VERSION, ScoreBaselineFile, ScoredTarget};

fn blank() -> ScoreBaselineFile {
    ScoreBaselineFile {
        format_version: SCORES_VERSION,
        suite: "Suite".into(),
        suite_version: None,
        target: ScoredTarget {
            name: String::new(),
            kind: String::new(),
            fingerprint: None,
        },
        captured_at: "2026-03-01T00:00:00.000Z".into(),
        run_id: "before".into(),
        commit: None,
        dirty: false,
        harness_version: "0.1.0".into(),
        environment: BTreeMap::new(),
        ks: vec![1, 2, 3],
        seed: 7,
        replaces: None,
        metrics: BTreeMap::new(),
        evals: Vec::new(),
    }
}

fn scored(passed: bool, n: u32, c: u32) -> CaseRecord {
    let outcome = if passed {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    CaseRecord {
        n,
        c,
        outcome: Some(outcome),
        ..CaseRecord::default()
    }
}

fn passed(id: &str, cases: Vec<CaseRecord>) -> EvalRecord {
    EvalRecord {
        private: false,
        id: id.to_owned(),
        outcome: Outcome::Passed,
        score: None,
        weight: None,
        score_threshold: None,
        kind: None,
        category: None,
        tags: vec![],
        difficulty: None,
        criticality: None,
        cases,
    }
}

fn with(
    file: ScoreBaselineFile,
    mut events: Vec<Event>,
    change: impl FnOnce(&mut RunStarted),
) -> Vec<Event> {
    if let Some(Event::RunStarted(started)) = events.first_mut() {
        let path = "baselines/scores/Suite.t.json".to_owned();
        let read = ScoreBaselineRead {
            path,
            rev: None,
            file,
        };
        started.config.comparison.reference =
            Some(ComparisonReference::ScoreBaseline(Box::new(read)));
        change(started);
    }
    events
}

/// The events of a run with one sample a case, each passed or failed (`None`: it errored).
fn events(cases: &[(&str, &str, Option<bool>)]) -> Vec<Event> {
    let run = RandomRun {
        evals: Vec::new(),
        ks: vec![1, 2, 3],
        include_details: true,
    };
    let mut events = vec![run.started("now", None)];
    let mut ids: Vec<&str> = cases.iter().map(|(eval, _, _)| *eval).collect();
    ids.dedup();
    for id in ids {
        let of: Vec<_> = cases.iter().filter(|(eval, _, _)| *eval == id).collect();
        let info = testing::eval(id, EvalCases::written(Vec::new())).info;
        events.push(Event::EvalPlanned(EvalPlanned {
            eval: info,
            cases: of.len(),
        }));
        let planned = |(_, case, _): &&(&str, &str, Option<bool>)| testing::planned_case(case, 1);
        events.push(Event::CasesPlanned(CasesPlanned {
            eval: id.into(),
            cases: of.iter().map(planned).collect(),
        }));
        for (eval, case, passed) in of {
            let (outcome, cause) = match passed {
                Some(true) => (Outcome::Passed, None),
                Some(false) => (Outcome::Failed, Some(Cause::WrongAnswer)),
                None => (Outcome::Errored, Some(Cause::TargetTimeout)),
            };
            let score = passed.map(|passed| f64::from(u8::from(passed)));
            let verdict = Verdict {
                outcome,
                score,
                cause,
                reason: String::new(),
                grades: vec![],
                not_run: Vec::new(),
            };
            events.push(Event::SampleFinished(Box::new(SampleFinished {
                eval: (*eval).into(),
                case: (*case).into(),
                sample: 0,
                attempts: vec![testing::attempt(verdict)],
                finished_at: String::new(),
                reused_from: None,
            })));
        }
    }
    events.push(super::random_run::finished(1.0, false));
    events
}

fn of(cases: &[(&str, &str, CaseRecord)]) -> ScoreBaselineFile {
    let mut file = blank();
    for (eval, case, scored) in cases {
        let case = CaseRecord {
            id: (*case).to_owned(),
            ..scored.clone()
        };
        match file.evals.iter_mut().find(|known| known.id == *eval) {
            Some(eval) => eval.cases.push(case),
            None => file.evals.push(passed(eval, vec![case])),
        }
    }
    file
}

fn names(list: &FlipList) -> Vec<&str> {
    assert_eq!(list.count, list.cases.len());
    list.cases
        .iter()
        .map(|case| case.case_id.as_str())
        .collect()
}

#[test]
fn figures_of_other_cases_are_never_subtracted() {
    let file = of(&[
        ("e", "stays", scored(true, 2, 2)),
        ("e", "breaks", scored(true, 2, 2)),
        ("e", "mends", scored(false, 2, 1)),
        ("e", "errs", scored(true, 2, 2)),
        ("gone", "left", scored(false, 2, 0)),
    ]);
    let run = events(&[
        ("e", "stays", Some(true)),
        ("e", "breaks", Some(false)),
        ("e", "mends", Some(true)),
        ("e", "errs", None),
        ("e", "new", Some(true)),
    ]);
    let said = summary(
        &with(file.clone(), run.clone(), |_| ()),
        ListingLimits::default(),
    )
    .comparison
    .unwrap();
    let cases = &said.cases;
    assert_eq!(
        (names(&cases.broken), names(&cases.fixed)),
        (vec!["breaks"], vec!["mends"])
    );
    assert_eq!(
        (names(&cases.new), names(&cases.gone)),
        (vec!["new"], vec!["left"])
    );
    assert_eq!((names(&cases.ungraded), cases.compared), (vec!["errs"], 3));
    assert_eq!((cases.other_samples, cases.not_selected), (3, 0));
    // Over the three cases alone: (1 + 1 + 1/2) / 3 samples before, and 2 of 3 now.
    let row = said
        .metrics
        .iter()
        .find(|metric| metric.name == "pass_at_1")
        .unwrap();
    assert_eq!(
        (row.n, row.reference, row.candidate),
        (3, Some(2.5 / 3.0), Some(2.0 / 3.0))
    );
    assert_eq!(row.difference, Some(2.0 / 3.0 - 2.5 / 3.0));

    // Of a filtered run nobody says that cases are gone.
    let filtered = with(file, run, |started| {
        started.run.filters = vec!["eval e".into()]
    });
    let said = summary(&filtered, ListingLimits::default())
        .comparison
        .unwrap();
    assert_eq!((said.cases.gone.count, said.cases.not_selected), (0, 1));
}

#[test]
fn what_else_differs_is_said() {
    let mut file = of(&[
        ("e", "a", scored(true, 1, 1)),
        ("e", "b", scored(true, 1, 1)),
    ]);
    file.suite_version = Some("1.0".into());
    file.ks = vec![1];
    file.harness_version = "0.0.9".into();
    let run = with(
        file,
        events(&[("e", "a", Some(true)), ("e", "b", Some(false))]),
        |started| {
            started.run.suite_version = Some("2.0".into());
            started.config.comparison.fail_on = Some(FailOn::Any);
        },
    );
    let summary = summary(&run, ListingLimits::default());
    assert_eq!(summary.fail_on, Some(FailOn::Any));
    insta::assert_snapshot!(summary.comparison.unwrap().notes.join("\n"), @r"
    the suite had version 1.0 and has version 2.0
    k was 1 and is 1, 2, 3
    the eval-harness version was 0.0.9 and is 0.1.0
    the accepted scores do not record the definition of every case: cases that changed since are compared anyway
    ");
}

/// Scores as the same run would leave them, with the fingerprints of its cases.
fn own_fingerprints(file: &mut ScoreBaselineFile, run: &[Event]) {
    let mut fold = SummaryFold::scoring();
    run.iter().for_each(|event| fold.push(event).unwrap());
    for eval in fold.counted_evals() {
        let known = file
            .evals
            .iter_mut()
            .find(|known| known.id == eval.info().id);
        let cases = &mut known.unwrap().cases;
        for case in eval.cases() {
            let known = cases.iter_mut().find(|known| known.id == case.id());
            known.unwrap().fingerprint = Some(case.fingerprint().unwrap());
        }
    }
}

#[test]
fn a_case_that_changed_does_not_flip_and_enters_no_figure() {
    let mut file = of(&[
        ("e", "input", scored(true, 1, 1)),
        ("e", "grading", scored(false, 1, 0)),
        ("e", "same", scored(true, 1, 1)),
    ]);
    let mut run = events(&[
        ("e", "input", Some(false)),
        ("e", "grading", Some(true)),
        ("e", "same", Some(false)),
    ]);
    own_fingerprints(&mut file, &run);
    let compared = |run: &[Event], file: &ScoreBaselineFile| {
        summary(
            &with(file.clone(), run.to_vec(), |_| ()),
            ListingLimits::default(),
        )
        .comparison
        .unwrap()
    };
    let said = compared(&run, &file).cases;
    assert_eq!(
        (names(&said.broken), names(&said.fixed)),
        (vec!["input", "same"], vec!["grading"])
    );
    assert_eq!(said.changed.count, 0);
    for event in &mut run {
        if let Event::CasesPlanned(planned) = event {
            planned.cases[0].input_hash = "another".into();
            planned.cases[1].grading_hash = "another".into();
        }
    }
    let said = compared(&run, &file);
    assert_eq!(
        (names(&said.cases.broken), names(&said.cases.fixed)),
        (vec!["same"], vec![])
    );
    assert_eq!(
        (names(&said.cases.changed), said.cases.compared),
        (vec!["input", "grading"], 1)
    );
    assert_eq!(said.metrics[0].n, 1);
    // Another share of samples that must pass is another grading of every case.
    if let Event::EvalPlanned(planned) = &mut run[1] {
        planned.eval.pass_rate_threshold = 0.5;
    }
    assert_eq!(compared(&run, &file).cases.changed.count, 3);
}

#[test]
fn figures_over_evals_that_count_otherwise_are_not_subtracted() {
    let mut file = of(&[("e", "a", scored(true, 1, 1))]);
    let run = events(&[("e", "a", Some(false))]);
    own_fingerprints(&mut file, &run);
    for (weight, threshold, known) in [
        (1.0, None, true),
        (3.0, None, false),
        (1.0, Some(0.5), false),
    ] {
        let eval = &mut file.evals[0];
        (eval.weight, eval.score_threshold) = (Some(weight), threshold);
        let said = summary(
            &with(file.clone(), run.clone(), |_| ()),
            ListingLimits::default(),
        )
        .comparison
        .unwrap();
        let row = |name: &str| {
            said.metrics
                .iter()
                .find(|m| m.name == name)
                .and_then(|m| m.difference)
        };
        assert_eq!(
            row("pass_rate"),
            known.then_some(-1.0),
            "{:?}",
            said.metrics
        );
        assert_eq!(
            (row("pass_at_1"), said.notes.is_empty()),
            (Some(-1.0), known),
            "{:?}",
            said.notes
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Against the run's own scores nothing changed; against random ones the lists are those of a
    /// naive recount, and without a baseline every other figure is the same.
    #[test]
    fn lists_are_those_of_a_naive_recount(
        run in a_run(4),
        seed in any::<u64>(),
        dice in prop::collection::vec((any::<bool>(), any::<bool>(), 1u32..4), 40),
    ) {
        let events = run.whole(&mut Dice(seed));
        let plain = summary(&events, ListingLimits::default());
        let mut dice = dice.into_iter().cycle();
        let mut file = blank();
        let (mut fixed, mut broken, mut new, mut open, mut same) = (0, 0, 0, 0, 0);
        for eval in &plain.evals {
            let mut cases = Vec::new();
            for case in &eval.cases {
                let (there, has_passed, n) = dice.next().unwrap();
                match (there, case.outcome, has_passed) {
                    (false, _, _) => { new += 1; continue; }
                    (_, Outcome::Passed, false) => fixed += 1,
                    (_, Outcome::Failed, true) => broken += 1,
                    (_, Outcome::Passed | Outcome::Failed, _) => same += 1,
                    _ => open += 1,
                }
                let scored = scored(has_passed, n, if has_passed { n } else { 0 });
                cases.push(CaseRecord { id: case.id.clone(), ..scored });
            }
            file.evals.push(passed(&eval.id, cases));
        }
        let compared = report(&with(file, events, |_| ()), ListingLimits::default());
        let gate = Gate { decision: Decision::Pass, exit_code: 0, thresholds: vec![], reasons: vec![] };
        let mut compared = compared.with_gate(gate);
        let said = compared.comparison.take().unwrap().cases;
        prop_assert_eq!((said.fixed.count, said.broken.count), (fixed, broken));
        prop_assert_eq!((said.new.count, said.ungraded.count, said.gone.count), (new, open, 0));
        prop_assert_eq!(said.compared, fixed + broken + same);
        // As text, since a number that could not be measured is equal to nothing.
        let text = |summary: &Summary| serde_json::to_string(summary).unwrap();
        prop_assert_eq!(text(&compared), text(&plain));
    }
}
