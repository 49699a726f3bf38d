//! The page and the JSON of a small history.

use std::sync::Arc;

use super::*;
use crate::model::{Counts, Criticality, Decision, EvalType, GitState, Outcome};
use crate::run::history::PastCase;

const P: Outcome = Outcome::Passed;
const F: Outcome = Outcome::Failed;

fn eval(id: &str, kind: EvalType, cases: &[(&str, Outcome)]) -> PastEval {
    let mut counts = Counts::default();
    cases.iter().for_each(|(_, outcome)| counts.add(*outcome));
    let outcome = cases
        .iter()
        .map(|(_, outcome)| *outcome)
        .find(|outcome| *outcome != P)
        .unwrap_or(P);
    let case = |(id, outcome): &(&str, Outcome)| {
        PastCase::new(
            id,
            *outcome,
            (*outcome == F).then_some(Cause::WrongAnswer),
            vec![120.0],
        )
    };
    PastEval {
        private: false,
        id: Arc::from(id),
        name: Arc::from("A name\u{1b}[31m"),
        kind,
        criticality: (kind == EvalType::Regression).then_some(Criticality::Critical),
        outcome,
        score: counts.pass_rate,
        partial: false,
        counts,
        cases: cases.iter().map(case).collect(),
    }
}

fn run(n: usize, commit: &str, dirty: bool, outcomes: [Outcome; 3]) -> PastRun {
    let evals = vec![
        eval(
            "cap-a-capability-with-a-long-name",
            EvalType::Capability,
            &[("1", outcomes[0]), ("2", outcomes[1])],
        ),
        eval(
            "reg-users",
            EvalType::Regression,
            &[("reg-users", outcomes[2])],
        ),
    ];
    let mut counts = Counts::default();
    evals.iter().for_each(|eval| counts.add(eval.outcome));
    let git = GitState {
        commit: commit.repeat(8),
        dirty,
    };
    PastRun::new(
        &format!("eval-20260301-0{n}0000"),
        &format!("2026-03-01T0{n}:00:00.000Z"),
        Some(git),
        evals,
    )
    .with(counts, Decision::Fail)
}

fn history() -> RunHistory {
    let runs = vec![
        run(0, "a1b2", false, [P, P, F]),
        run(1, "a1b2", false, [P, F, P]),
        run(2, "c3d4", true, [P, P, Outcome::Errored]),
        run(3, "c3d4", false, [P, P, P]),
    ];
    let group = HistoryGroup {
        suite: "The suite".into(),
        target: "solver".into(),
        target_type: "command".into(),
        runs,
    };
    let left_out = crate::run::history::LeftOut {
        captures: 1,
        other_suites: BTreeMap::from([("Other".to_owned(), 2)]),
        ..Default::default()
    };
    RunHistory {
        groups: vec![group],
        warnings: vec!["a warning".into()],
        left_out,
    }
}

fn page(shown: HistoryFilter<'_>, options: &TerminalOptions) -> String {
    let mut out = Vec::new();
    render(&history(), shown, options, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains('\u{1b}'), "{text}");
    for line in text.lines() {
        assert!(eval_base::text::width(line) <= options.width, "{line}");
    }
    text
}

fn only(id: &str) -> IdGlobs {
    IdGlobs::new(&[id.to_owned()]).expect("a glob")
}

#[test]
fn the_page_of_a_suite() {
    insta::assert_snapshot!(page(HistoryFilter::default(), &TerminalOptions::default()), @"
    The suite
      target solver (command) · 4 runs on 2026-03-01

      Pass rate   ▄▄██
      first 50.0 %, last 100 %, lowest 50.0 %, highest 100 %
      of evals, over 4 whole runs
      Last run  eval-20260301-030000  c3d4c3d  2 of 2 evals passed  gate fail

                                        Last runs    Rate  Last passed         Fails
    Regressions, critical
      reg-users                              ✗●!●  66.7 %  2026-03-01 c3d4c3d      1
    Capabilities
      cap-a-capability-with-a-long-na…       ●✗●●  75.0 %  2026-03-01 c3d4c3d      1
      ● passed   ✗ failed   ! errored   · skipped   ? pending

    Flaky                                    Passed  Failed  At commit
      cap-a-capability-with-a-long-name › 2       1       1  a1b2a1b
      reg-users                                   1       1  a1b2a1b
      2 cases both passed and failed at one commit, with the same input and grading

    Slowest                                  Median latency  Samples
      cap-a-capability-with-a-long-name › 1          120 ms        4
      cap-a-capability-with-a-long-name › 2          120 ms        4
      reg-users                                      120 ms        4
      * the checkout had uncommitted changes

      not shown: 2 runs of other suites (Other); --all-suites shows them
      not shown: 1 run made to capture baselines
    ");
}

#[test]
fn the_page_of_one_eval() {
    let shown = HistoryFilter {
        evals: Some(&only("reg-users")),
    };
    let options = TerminalOptions {
        unicode: false,
        ..TerminalOptions::default()
    };
    insta::assert_snapshot!(page(shown, &options), @"
    The suite
      target solver (command), 4 runs on 2026-03-01

    reg-users  A name
      regression, critical; 4 runs: 2 passed, 1 failed, 1 errored, pass rate 66.7 %
      last passed  2026-03-01 03:00:00  c3d4c3d
      last failed  2026-03-01 00:00:00  a1b2a1b

      Run                   Commit    Outcome         Cases  Score  Latency
      eval-20260301-030000  c3d4c3d   + passed          1/1  1.000   120 ms
      eval-20260301-020000  c3d4c3d*  ! errored         0/1      -   120 ms
      eval-20260301-010000  a1b2a1b   + passed          1/1  1.000   120 ms
      eval-20260301-000000  a1b2a1b   x wrong_answer    0/1  0.000   120 ms

    Flaky        Passed  Failed  At commit
      reg-users       1       1  a1b2a1b
      1 case both passed and failed at one commit, with the same input and grading
      * the checkout had uncommitted changes

      not shown: 2 runs of other suites (Other); --all-suites shows them
      not shown: 1 run made to capture baselines
    ");
}

#[test]
fn a_narrow_page_is_no_wider_than_it_may_be() {
    for width in [40, 60, 71, 72, 100, 160] {
        let options = TerminalOptions {
            width,
            ..TerminalOptions::default()
        };
        page(HistoryFilter::default(), &options);
        page(
            HistoryFilter {
                evals: Some(&only("cap-a-capability-with-a-long-name")),
            },
            &options,
        );
    }
}

#[test]
fn the_json_names_everything_and_undefined_is_null() {
    let mut out = Vec::new();
    json(&history(), HistoryFilter::default(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    let group = &value["history"]["groups"][0];
    assert_eq!(group["pass_rate"]["highest"].to_string(), "1.0");
    assert_eq!(group["pass_rate"]["lowest"].to_string(), "0.5");
    assert_eq!(group["runs"][2]["dirty"], true);
    assert_eq!(group["runs"][0]["gate"], "fail");
    let eval = &group["evals"][1];
    assert_eq!(eval["id"], "reg-users");
    assert_eq!(eval["failure_count"].to_string(), "1");
    assert_eq!(eval["last_passed"]["run_id"], "eval-20260301-030000");
    assert_eq!(eval["outcomes"][0]["cause"], "wrong_answer");
    assert_eq!(eval["outcomes"][2]["score"], Value::Null);
    assert!(eval["outcomes"][0].get("case_outcomes").is_none());
    let flaky = &group["flaky"][0];
    assert_eq!(
        (&flaky["eval_id"], &flaky["commits"][0]["commit"]),
        (
            &Value::from("cap-a-capability-with-a-long-name"),
            &Value::from("a1b2".repeat(8))
        )
    );
    assert_eq!(group["slowest"][0]["latency_p50_ms"].to_string(), "120.0");
    assert_eq!(value["history"]["warnings"][0], "a warning");
    assert_eq!(
        value["history"]["left_out"]["other_suites"]["Other"].to_string(),
        "2"
    );

    let mut out = Vec::new();
    json(
        &history(),
        HistoryFilter {
            evals: Some(&only("reg-users")),
        },
        &mut out,
    )
    .unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    let group = &value["history"]["groups"][0];
    assert_eq!(group["evals"].as_array().unwrap().len(), 1);
    assert_eq!(
        group["evals"][0]["outcomes"][0]["case_outcomes"][0]["outcome"],
        "failed"
    );
}
