//! Intervals of metrics by the program: they never rise with a failure, and speak about what `config.intervals` names.

mod support;

#[path = "support/compared.rs"]
mod compared;

use compared::{Desk, Way, number};
use serde_json::Value;

/// A desk whose suite has these lines, too.
fn desk(evals: usize, cases: usize, head: &str) -> Desk {
    let desk = Desk::new(evals, cases);
    let text = std::fs::read_to_string(desk.project.path().join("eval-suite.yaml")).expect("a suite");
    desk.project.write("eval-suite.yaml", &text.replace("  evals:\n", &format!("{head}  evals:\n")));
    desk
}

/// The report of 20 cases of 5 samples, of which the first so many fail, each in a case of its own.
fn reported(failed: usize, head: &str) -> Value {
    let desk = desk(1, 20, head);
    desk.run(5, |_, c, s| if c < failed && s == 0 { Way::Fail } else { Way::Pass }, &[]);
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
        assert_eq!(report["gate"]["thresholds"][0]["status"], decision, "{ends:?}");
        assert_eq!(report["estimates"]["pass_at_1"]["method"], "empirical_likelihood");
    }
    for (failed, end) in ends.iter().enumerate() {
        let of_these = reported(failed, &format!("{these}{gate}"));
        assert!(lower(&of_these) > *end, "{failed}: {} {end}", lower(&of_these));
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
    for args in [&["run", "--dry-run"][..], &["run", "--samples", "2", "--progress", "none"]] {
        let call = refused.project.call(args).expect(2);
        let words = call.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("needs at least 5 evals to speak about evals like these"),
            "{args:?}: {words}"
        );
        assert!(words.contains("there are 4 evals"), "{args:?}: {words}");
    }
    let without = desk(4, 5, scope);
    without.run(2, pass, &[]);
    let report = without.project.report();
    let estimate = &report["estimates"]["pass_at_1"];
    assert_eq!((estimate["value"].as_f64(), estimate["ci"].is_null()), (Some(0.8), true));
    assert_eq!(
        estimate["note"],
        "no interval: 4 evals are too few to speak about evals like these (at least 5 are needed)"
    );
    let page = without.project.call(&["report"]).expect(1).stdout;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("No interval: 4 evals are too few to speak about evals like these"), "{page}");
    let enough = desk(5, 5, &format!("{scope}{gate}"));
    enough.run(2, pass, &[]);
    assert!(lower(&enough.project.report()) > 0.4);
}
