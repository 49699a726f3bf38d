//! Intervals of metrics by the program: they never rise with a failure, and speak about what
//! `config.intervals` names.

use crate::compared::{Desk, Way, number};
use serde_json::Value;

/// A desk whose suite has these lines, too.
fn desk(evals: usize, cases: usize, head: &str) -> Desk {
    let desk = Desk::new(evals, cases);
    let text =
        std::fs::read_to_string(desk.project.path().join("eval-suite.yaml")).expect("a suite");
    desk.project.write(
        "eval-suite.yaml",
        &text.replace("  evals:\n", &format!("{head}  evals:\n")),
    );
    desk
}

/// The report of 20 cases of 5 samples, of which the first so many fail, each in a case of its own.
fn reported(failed: usize, head: &str) -> Value {
    let desk = desk(1, 20, head);
    desk.run(
        5,
        |_, c, s| {
            if c < failed && s == 0 {
                Way::Fail
            } else {
                Way::Pass
            }
        },
        &[],
    );
    desk.project.report()
}

fn lower(report: &Value) -> f64 {
    number(&report["estimates"]["pass_at_1"]["ci"][0])
}

#[test]
fn lower_end_of_ever_fewer_passes_never_rises() {
    let gate = "  thresholds: {pass@1: {min: 0.84, bound: lower}}\n";
    let these = "  config: {intervals: these_cases}\n";
    let reports: Vec<Value> = (0..4).map(|failed| reported(failed, gate)).collect();
    let ends: Vec<f64> = reports.iter().map(lower).collect();
    // 20 cases that all pass: 20 ln(L 20.55 / 20) + 0.55 ln((1 - L) 20.55 / 0.55) = -1.96² / 2.
    assert!((ends[0] - 0.841983).abs() < 1e-5, "{ends:?}");
    assert!(ends.windows(2).all(|two| two[1] <= two[0]), "{ends:?}");
    for (report, end) in reports.iter().zip(&ends) {
        let decision = if *end >= 0.84 { "pass" } else { "fail" };
        assert_eq!(
            report["gate"]["thresholds"][0]["status"], decision,
            "{ends:?}"
        );
        assert_eq!(
            report["estimates"]["pass_at_1"]["method"],
            "empirical_likelihood"
        );
    }
    for (failed, end) in ends.iter().enumerate() {
        let of_these = reported(failed, &format!("{these}{gate}"));
        assert!(
            lower(&of_these) > *end,
            "{failed}: {} {end}",
            lower(&of_these)
        );
        assert_eq!(of_these["metadata"]["interval_scope"], "these_cases");
    }
}

#[test]
fn few_evals_have_no_interval_of_evals_like_these() {
    let scope = "  config: {intervals: similar_evals}\n";
    let gate = "  thresholds: {pass@1: {min: 0.5, bound: lower}}\n";
    let pass = |_: usize, c: usize, _: usize| if c == 0 { Way::Fail } else { Way::Pass };
    let refused = desk(4, 5, &format!("{scope}{gate}"));
    refused.record("none.jsonl", 2, pass);
    for args in [
        &["run", "--dry-run"][..],
        &["run", "--samples", "2", "--progress", "none"],
    ] {
        let call = refused.project.call(args).expect(2);
        let said = words(&call.stderr.replace('│', " "));
        let refused = "`pass@1` has no interval: 4 evals are too few to speak about evals like these; at least 5 are needed";
        assert!(said.contains(refused), "{args:?}: {said}");
    }
    let without = desk(4, 5, scope);
    without.run(2, pass, &[]);
    let report = without.project.report();
    let estimate = &report["estimates"]["pass_at_1"];
    assert_eq!(
        (estimate["value"].as_f64(), estimate["ci"].is_null()),
        (Some(0.8), true)
    );
    assert_eq!(
        estimate["note"],
        "no interval: 4 evals are too few to generalize to evals like these (at least 5 are needed)"
    );
    let page = without
        .project
        .call(&["report", "--verbose"])
        .expect(1)
        .stdout;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        page.contains("No interval: 4 evals are too few to generalize to evals like these"),
        "{page}"
    );
    let enough = desk(5, 5, &format!("{scope}{gate}"));
    enough.run(2, pass, &[]);
    assert!(lower(&enough.project.report()) > 0.4);
    // Of five only one is selected.
    let call = enough
        .project
        .call(&[
            "run",
            "--outputs",
            "outputs.jsonl",
            "--eval",
            "e0",
            "--progress",
            "none",
        ])
        .expect(2);
    assert!(
        call.stderr
            .contains("`pass@1` has no interval: 1 eval is too few"),
        "{}",
        call.stderr
    );
}

/// The words of a text, blanks as one.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The warning before a run and the reason after it.
#[test]
fn what_is_lacking_is_the_same_before_and_after_a_run() {
    let pass = |_: usize, _: usize, _: usize| Way::Pass;
    for (evals, cases, samples, head, before, after) in [
        (
            3,
            2,
            1,
            "  thresholds: {pass@1: {min: 0.8, bound: lower}}\n",
            "it takes 18 cases",
            "about 12 more cases like these",
        ),
        (
            1,
            1,
            50,
            "  config: {intervals: these_cases}\n  thresholds: {pass@1: {min: 0.97, bound: lower}}\n",
            "50 samples are planned: even if all pass, the interval ends at 0.933; it takes 115 samples",
            "about 2.3 times as many samples of each case",
        ),
        // Samples too few to show how pass@3 of a case varies.
        (
            1,
            20,
            5,
            "  config: {intervals: these_cases, k: [1, 3]}\n  thresholds: {pass@3: {min: 0.9, bound: lower}}\n",
            "20 cases are planned: even if all pass, the interval ends at 0.842; it takes 33 cases",
            "13 more cases",
        ),
    ] {
        let desk = desk(evals, cases, head);
        desk.record("outputs.jsonl", samples, pass);
        let count = samples.to_string();
        let call = desk.project.call(&[
            "run",
            "--outputs",
            "outputs.jsonl",
            "--samples",
            &count,
            "--progress",
            "none",
        ]);
        let call = call.expect(1);
        assert!(
            words(&call.stderr).contains(before),
            "{before}: {}",
            call.stderr
        );
        let reason = words(
            desk.project.report()["gate"]["reasons"][0]
                .as_str()
                .expect("a reason"),
        );
        assert!(reason.contains(after), "{after}: {reason}");
    }
}

/// A sample that is lost does not rearrange the whole interval.
#[test]
fn a_lost_sample_costs_an_interval_little() {
    let head = "  config: {intervals: these_cases, k: [1, 3]}\n";
    let end = |lost: bool| {
        let desk = desk(1, 20, head);
        let way = |_: usize, c: usize, s: usize| {
            if lost && c == 0 && s == 0 {
                Way::Lost
            } else {
                Way::Pass
            }
        };
        desk.run(10, way, &[]);
        number(&desk.project.report()["estimates"]["pass_at_3"]["ci"][0])
    };
    let (whole, lost) = (end(false), end(true));
    assert!(
        whole > 0.97 && (whole - lost).abs() < 0.01,
        "{whole} {lost}"
    );
}

/// Only the evals that a metric is over count: those of a weight above 0, say.
#[test]
fn evals_without_weight_do_not_make_an_interval_of_evals_like_these() {
    let gate = |on: &str| {
        format!(
            "  config: {{intervals: similar_evals}}\n  thresholds: {{{on}: {{min: 0.1, bound: lower}}}}\n"
        )
    };
    let weighed = |on: &str| {
        let desk = desk(6, 1, &gate(on));
        for e in 2..6 {
            let file = format!("e{e}.yaml");
            let text = std::fs::read_to_string(desk.project.path().join(&file)).expect("an eval");
            desk.project
                .write(&file, &text.replacen("{id:", "{weight: 0, id:", 1));
        }
        desk.record("none.jsonl", 1, |_, _, _| Way::Pass);
        desk
    };
    let refused = weighed("weighted_score")
        .project
        .call(&["validate"])
        .expect(2);
    assert!(
        refused
            .stderr
            .contains("`weighted_score` has no interval: 2 evals are too few"),
        "{}",
        refused.stderr
    );
    weighed("pass@1").project.call(&["validate"]).expect(0);
}
