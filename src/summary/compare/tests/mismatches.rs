//! Sides that are not two whole runs of one suite.

use super::*;
use crate::spec::{CaseContent, ShortPrint};

fn notes(reference: &RunScores, candidate: &RunScores) -> String {
    one(reference, candidate).notes.join("\n")
}

fn names(list: &FlipList) -> Vec<&str> {
    assert_eq!(list.count, list.cases.len());
    list.cases
        .iter()
        .map(|case| case.case_id.as_str())
        .collect()
}

#[test]
fn other_suites_and_no_case_in_common_are_refused() {
    let a = of("a", "11");
    let mut b = of("b", "11");
    b.side.suite = "T".into();
    let error = compare(
        &a,
        &[&a, &b],
        &CompareSettings {
            pairs: 10,
            ..CompareSettings::default()
        },
    )
    .unwrap_err();
    let mut apart = of("b", "1");
    apart.evals[0].id = "other".into();
    let none = compare(
        &a,
        &[&apart],
        &CompareSettings {
            pairs: 10,
            ..CompareSettings::default()
        },
    )
    .unwrap_err();
    let told = |error: ComparisonError| format!("{error}\n  {}", error.hint().unwrap());
    insta::assert_snapshot!([told(error), told(none)].join("\n"), @r"
    b is from suite `T`, but the reference is from suite `S`
      use two runs of one suite; `eval-harness runs` lists them
    b and the reference have no case in common (1 and 2 cases)
      cases are matched by eval id and case id; were they renamed, or selected by different filters?
    ");
    // A report has to be made nevertheless.
    for other in [&b, &apart] {
        let compared = compare_anyway(
            &a,
            &[other],
            &CompareSettings {
                pairs: 10,
                ..CompareSettings::default()
            },
        )
        .unwrap()
        .remove(0);
        assert_eq!(
            (compared.verdict, compared.cases.compared),
            (ComparisonVerdict::None, 0)
        );
        assert!(
            compared.sentences[0].starts_with("no verdict: no case is the same on both sides"),
            "{compared:?}"
        );
    }
}

#[test]
fn suites_of_other_names_share_no_case_in_a_report_either() {
    let (a, mut b) = (of("a", "11"), of("b", "10"));
    b.side.suite = "T".into();
    let compared = compare_anyway(
        &a,
        &[&b],
        &CompareSettings {
            pairs: 10,
            ..CompareSettings::default()
        },
    )
    .unwrap()
    .remove(0);
    assert_eq!(
        (
            compared.cases.broken.count,
            compared.cases.new.count,
            compared.cases.gone.count
        ),
        (0, 2, 2)
    );
    insta::assert_snapshot!(compared.notes.join("\n"), @"the reference is from suite `S` and the candidate from suite `T`: no case is the same");
}

#[test]
fn a_changed_case_flips_nothing_and_enters_no_figure() {
    let a = of("a", "1111");
    let mut b = of("b", "0011");
    b.evals[0].cases[0].fingerprint = Some("another".into());
    let compared = one(&a, &b);
    assert_eq!(
        (
            names(&compared.cases.changed),
            names(&compared.cases.broken)
        ),
        (vec!["c0"], vec!["c1"])
    );
    assert_eq!((compared.metrics[0].n, compared.cases.compared), (3, 3));
    // Figures over evals are of whole evals.
    assert!(
        compared
            .metrics
            .iter()
            .all(|metric| metric.name != "pass_rate"),
        "{compared:?}"
    );
    insta::assert_snapshot!(compared.notes.join("\n"), @"1 case changed in input or grading and is not compared: one of the sides was recorded by an earlier version, which does not record which of them changed; run or accept that side again, or pass `--allow-changed` to compare it anyway");
    for case in &mut b.evals[0].cases {
        case.fingerprint = Some("another".into());
    }
    let all = one(&a, &b);
    assert_eq!(
        (all.verdict, all.cases.changed.count, all.cases.compared),
        (ComparisonVerdict::None, 4, 0)
    );
    assert_eq!(
        all.metrics[0].undefined.as_deref(),
        Some("no pair of cases has it on both sides")
    );
    insta::assert_snapshot!(all.sentences.join("\n"), @"no verdict: every case on both sides changed in input or grading, and the recorded fingerprints do not show which; run or accept the side of the earlier version again, or pass `--allow-changed`");
    // Where one side does not tell, nobody says that it changed.
    b.evals[0]
        .cases
        .iter_mut()
        .for_each(|case| case.fingerprint = None);
    assert_eq!(one(&a, &b).cases.changed.count, 0);
    assert_eq!(
        notes(&a, &b),
        "one of the sides does not record the definition of every case: cases that changed since are compared anyway"
    );
}

/// `input`, `data` and `grading` of a case.
fn content([input, data, grading]: [u64; 3], target: Option<u64>) -> Option<CaseContent> {
    let [input, data, grading] = [input, data, grading].map(ShortPrint);
    Some(CaseContent {
        input,
        data,
        grading,
        target: target.map(ShortPrint),
    })
}

#[test]
fn another_way_to_ask_is_compared_and_another_task_is_not() {
    let (mut a, mut b) = (of("a", "11111"), of("b", "00001"));
    for run in [&mut a, &mut b] {
        run.evals[0]
            .cases
            .iter_mut()
            .for_each(|case| case.content = content([1, 1, 1], None));
    }
    let cases = &mut b.evals[0].cases;
    cases[0].content = content([2, 1, 1], None);
    cases[1].content = content([2, 2, 1], None);
    cases[2].content = content([1, 1, 2], None);
    cases[3].content = content([1, 1, 1], Some(1));
    // What was recorded of the whole says nothing beside its parts.
    cases[0].fingerprint = Some("another".into());
    (a.side.target_hash, b.side.target_hash) = (Some("x".into()), Some("y".into()));
    let compared = one(&a, &b);
    assert_eq!(names(&compared.cases.changed), ["c1", "c2"]);
    assert_eq!(names(&compared.cases.broken), ["c0", "c3"]);
    let parts = |list: &FlipList| {
        list.cases
            .iter()
            .flat_map(|case| case.changed.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        parts(&compared.cases.changed),
        [CasePart::Data, CasePart::Grading]
    );
    assert_eq!(
        parts(&compared.cases.broken),
        [CasePart::Input, CasePart::Target]
    );
    assert_eq!(
        (
            compared.cases.changed_input,
            compared.cases.changed_target,
            compared.cases.allowed
        ),
        (1, 1, 0)
    );
    let said = [compared.sentences[1].clone(), compared.notes.join("\n")].join("\n");
    insta::assert_snapshot!(said, @r"
    Changed since the reference: the input of 1 of 3 cases, the target's settings, the target of 1 of 3 cases.
    2 cases changed in data or grading and are not compared: they are different tasks than in the reference; `--allow-changed` compares them anyway
    ");

    let settings = CompareSettings {
        allow_changed: true,
        pairs: 10,
        ..CompareSettings::default()
    };
    let allowed = compare(&a, &[&b], &settings).unwrap().remove(0);
    assert_eq!(names(&allowed.cases.broken), ["c0", "c1", "c2", "c3"]);
    assert_eq!(
        (
            allowed.cases.changed.count,
            allowed.cases.allowed,
            allowed.metrics[0].n
        ),
        (0, 2, 5)
    );
    assert!(allowed.settings.allow_changed);
    insta::assert_snapshot!(allowed.sentences[1], @"Changed since the reference: the input of 1 of 5 cases, the target's settings, the target of 1 of 5 cases, the data or grading of 2 of 5 cases (--allow-changed).");
}

#[test]
fn cases_of_one_side_are_new_or_gone_unless_a_side_is_a_part() {
    let (mut a, mut b) = (of("a", "111"), of("b", "11"));
    b.evals.push(eval("f", vec![case("x", 1, 1, 0)]));
    a.evals.push(eval("g", vec![case("y", 1, 1, 0)]));
    let compared = one(&a, &b);
    assert_eq!(
        (names(&compared.cases.new), names(&compared.cases.gone)),
        (vec!["x"], vec!["c2", "y"])
    );
    assert_eq!(compared.cases.new.cases[0].reference, None);
    assert_eq!(compared.cases.gone.cases[0].candidate, None);
    assert_eq!((compared.cases.not_selected, compared.metrics[0].n), (0, 2));
    // Of the suite's cases the candidate had only some.
    b.side.filters = vec!["eval e".into()];
    let part = one(&a, &b);
    assert_eq!(
        (
            part.cases.gone.count,
            part.cases.not_selected,
            names(&part.cases.new)
        ),
        (0, 2, vec!["x"])
    );
    a.side.shards = vec![Shard { index: 1, of: 3 }, Shard { index: 2, of: 3 }];
    let both = one(&a, &b);
    assert_eq!(
        (
            both.cases.gone.count,
            both.cases.new.count,
            both.cases.not_selected
        ),
        (0, 0, 3)
    );
    insta::assert_snapshot!(both.notes.join("\n"), @r"
    the reference ran the whole suite, and the candidate a part of the suite (eval e): only cases of both are compared
    the reference is shards 1, 2 of 3: only cases of both are compared
    ");
}

#[test]
fn other_numbers_of_samples_leave_out_what_moves_with_them() {
    let (mut a, mut b) = (of("a", "1111"), of("b", "1111"));
    (a.ks, b.ks) = (vec![1, 2, 3], vec![1, 2]);
    a.evals[0].cases = (0..4).map(|at| case(&format!("c{at}"), 4, 4, 3)).collect();
    b.evals[0].cases = (0..4).map(|at| case(&format!("c{at}"), 2, 2, 1)).collect();
    a.evals[0].cases[0] = case("c0", 2, 2, 2);
    let compared = one(&a, &b);
    let row = |name: &str| compared.metrics.iter().find(|metric| metric.name == name);
    let n = |name: &str| row(name).map(|row| row.n);
    assert_eq!(
        (n("pass_at_1"), n("pass_at_2"), n("pass_hat_2_unbiased")),
        (Some(4), Some(4), Some(4))
    );
    assert_eq!(
        (
            n("pass_at_3"),
            n("pass_hat_2"),
            n("case_pass_rate"),
            n("pass_rate")
        ),
        (None, Some(1), Some(1), None)
    );
    assert_eq!(
        row("pass_at_1").unwrap().reference,
        Some((1.0 + 3.0 * 0.75) / 4.0)
    );
    assert_eq!(compared.cases.other_samples, 3);
    insta::assert_snapshot!(compared.notes.join("\n"), @r"
    k was 1, 2, 3 and is 1, 2
    3 cases have a different number of samples than in the reference: this affects whether a case passes as a whole, so rates of whole cases and evals, and pass^k, omit such cases
    ");
}

#[test]
fn evals_that_count_otherwise_are_left_out_of_figures_over_evals() {
    for (weight, threshold, known) in [
        (1.0, None, true),
        (3.0, None, false),
        (1.0, Some(0.5), false),
    ] {
        let (mut a, b) = (of("a", "1"), of("b", "0"));
        (a.evals[0].weight, a.evals[0].score_threshold) = (Some(weight), threshold);
        let compared = one(&a, &b);
        let delta = |name: &str| {
            compared
                .metrics
                .iter()
                .find(|m| m.name == name)
                .and_then(|m| m.difference)
        };
        let of_evals = known.then_some(-1.0);
        assert_eq!(
            (delta("weighted_score"), delta("pass_rate")),
            (of_evals, of_evals)
        );
        assert_eq!(
            (delta("pass_at_1"), compared.notes.is_empty()),
            (Some(-1.0), known)
        );
    }
}

#[test]
fn what_else_differs_is_said() {
    let (mut a, mut b) = (of("a", "11"), of("b", "11"));
    assert_eq!(notes(&a, &b), "");
    a.side.suite_version = Some("1.0".into());
    b.side.suite_version = Some("2.0".into());
    (b.side.target, b.side.target_type) = ("u".into(), "model".into());
    (a.side.model, b.side.model) = (Some("openai:a".into()), Some("openai:b".into()));
    (a.ks, b.ks) = (vec![1], vec![1, 3]);
    a.side.harness_version = "0.0.9".into();
    a.side.interrupted = true;
    b.side.regrade_of = Some("a".into());
    b.side.capture = true;
    insta::assert_snapshot!(notes(&a, &b), @r"
    the suite had version 1.0 and has version 2.0
    the reference called target t, and the candidate u
    the target's type was recorded and is model
    the model was openai:a and is openai:b
    k was 1 and is 1, 3
    the eval-harness version was 0.0.9 and is 0.1.0
    the reference ended early, or its journal is truncated: samples that did not run have no grade
    the candidate captured baselines, so its outcomes are not a verdict
    the candidate regraded the reference's outputs: the target was not called
    ");
    let own = of("a", "11");
    assert_eq!(
        notes(&own, &own),
        "both sides are run a: a run does not differ from itself"
    );
    // Of another machine, in the same second.
    let mut elsewhere = own.clone();
    elsewhere.side.timestamp = own.side.timestamp.replace("Z", "1Z");
    assert_ne!(elsewhere, own);
    assert_eq!(notes(&own, &elsewhere), "");
}

/// What a cut journal never told has no grade, and so no part in the verdict as graded.
#[test]
fn a_cut_run_is_compared_over_what_it_got_to() {
    let (a, mut b) = (
        of("a", &"1".repeat(40)),
        of("b", &format!("{}{}", "1".repeat(10), "?".repeat(30))),
    );
    b.side.interrupted = true;
    for case in b.evals[0].cases.iter_mut().skip(10) {
        case.outcome = Some(Outcome::Skipped);
    }
    b.evals[0].outcome = Outcome::Skipped;
    let compared = one(&a, &b);
    assert_eq!(
        (
            compared.cases.compared,
            compared.cases.ungraded.count,
            compared.cases.gone.count
        ),
        (10, 30, 0)
    );
    assert_eq!(compared.cases.ungraded_samples_candidate, 30);
    assert_eq!(
        (compared.verdict, compared.verdict_worst),
        (ComparisonVerdict::None, ComparisonVerdict::Regression)
    );
}

/// A journal that breaks off in its plan does not say that the other cases are gone.
#[test]
fn a_run_that_was_cut_in_its_plan_has_lost_no_case() {
    let (a, mut b) = (of("a", "111"), of("b", "?"));
    assert_eq!(
        (one(&a, &b).cases.gone.count, one(&a, &b).cases.not_selected),
        (2, 0)
    );
    b.side.interrupted = true;
    assert_eq!(
        (one(&a, &b).cases.gone.count, one(&a, &b).cases.not_selected),
        (0, 2)
    );
    assert_eq!(
        (one(&b, &a).cases.new.count, one(&b, &a).cases.not_selected),
        (0, 2)
    );
}

#[test]
fn critical_cases_are_counted_by_either_sides_word() {
    let (mut a, mut b) = (of("a", "111"), of("b", "00?"));
    let more = |run: &mut RunScores, critical: bool| {
        let mut other = run.evals[0].clone();
        other.id = "f".into();
        other.criticality = critical.then_some(Criticality::Critical);
        run.evals.push(other);
    };
    more(&mut a, true);
    more(&mut b, false);
    let cases = one(&a, &b).cases;
    assert_eq!((cases.broken.count, cases.broken_critical), (4, 2));
    assert_eq!((cases.may_be_broken, cases.may_be_broken_critical), (2, 1));
    let marked: Vec<_> = cases
        .broken
        .cases
        .iter()
        .map(|case| case.criticality.is_some())
        .collect();
    assert_eq!(marked, [false, false, true, true]);
    assert_eq!((cases.reference_critical, cases.compared_critical), (3, 2));
    // Written anew, renamed, removed: none of them is compared.
    b.evals[1]
        .cases
        .iter_mut()
        .for_each(|case| case.fingerprint = Some("another".into()));
    let anew = one(&a, &b).cases;
    assert_eq!(
        (
            anew.reference_critical,
            anew.compared_critical,
            anew.broken_critical
        ),
        (3, 0, 0)
    );
    b.evals[1].id = "g".into();
    let renamed = one(&a, &b).cases;
    assert_eq!(
        (renamed.reference_critical, renamed.compared_critical),
        (3, 0)
    );
    // What is critical in the candidate alone is new.
    let added = one(&b, &a).cases;
    assert_eq!((added.reference_critical, added.compared_critical), (0, 0));
}

#[test]
fn lists_are_bounded_and_counts_are_not() {
    let (a, b) = (of("a", &"1".repeat(30)), of("b", &"0".repeat(30)));
    let settings = CompareSettings {
        listed: 7,
        ..CompareSettings {
            pairs: 10,
            ..CompareSettings::default()
        }
    };
    let cases = compare(&a, &[&b], &settings).unwrap().remove(0).cases;
    assert_eq!((cases.broken.count, cases.broken.cases.len()), (30, 7));
}

#[test]
fn a_cut_list_names_critical_cases_first() {
    let flipped = |passed: char| {
        let evals = ["e", "f", "g"].map(|id| EvalRecord {
            id: id.into(),
            criticality: (id == "f").then_some(Criticality::Critical),
            ..of("a", &passed.to_string().repeat(3)).evals[0].clone()
        });
        side("a", evals.into())
    };
    let (a, b) = (flipped('1'), flipped('0'));
    let broken = |listed: usize| {
        let settings = CompareSettings {
            listed,
            ..CompareSettings {
                pairs: 10,
                ..CompareSettings::default()
            }
        };
        let broken = compare(&a, &[&b], &settings).unwrap()[0]
            .cases
            .broken
            .clone();
        assert_eq!(broken.count, 9);
        broken
            .cases
            .iter()
            .map(|case| format!("{}{}", case.eval_id, case.case_id))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!([broken(0), broken(2)], ["", "fc0 fc1"]);
    assert_eq!(broken(4), "ec0 fc0 fc1 fc2");
}
