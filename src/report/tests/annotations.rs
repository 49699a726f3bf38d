//! Annotations of files.

use insta::assert_snapshot;

use super::*;
use crate::model::Place;
use crate::report::annotations::{as_commands, of_run, without_commands};

#[test]
fn what_did_not_pass_is_shown_at_its_definition() {
    let mut summary = unsandboxed();
    for (at, eval) in summary.evals.iter_mut().enumerate() {
        let file = ["evals/a.yaml", "evals/ö, 100%: b\n.yaml"][at % 2].to_owned();
        eval.source = Some(Place {
            file,
            line: 3 + at as u32,
        });
    }
    assert_snapshot!(as_commands(&of_run(&summary)), @"
    ::error title=Parser suite%3A threshold on pass@1 missed::0.400 (>= 0.850)
    ::error file=evals/ö%2C 100%25%3A b%0A.yaml,line=4,title=cap-code-002 failed::1 of 3 cases passed%0Alists wrong_answer: the output differs from what was expected in line 2%0A日本語の長い名前のケース timeout: no answer within 10 s
    ::error file=evals/a.yaml,line=7,title=reg-api-001 failed::wrong_answer: </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS
    ::warning file=evals/a.yaml,line=5,title=cap-judge-003 errored::judge_unreachable: the judge did not answer: connection refused
    ::warning file=evals/ö%2C 100%25%3A b%0A.yaml,line=6,title=cap-human-004 pending::pending
    ::warning file=evals/ö%2C 100%25%3A b%0A.yaml,line=8,title=reg-skip-002 skipped::skipped
    ");
}

#[test]
fn a_pass_has_nothing_to_say_and_a_gate_that_no_eval_explains_speaks_for_itself() {
    assert_eq!(of_run(&green(3)), []);
    let mut summary = green(2);
    summary.gate.decision = Decision::Fail;
    summary.gate.reasons = vec!["1 regression and at most 0 are allowed".to_owned()];
    assert_snapshot!(as_commands(&of_run(&summary)), @"::error title=Parser suite%3A the gate failed::1 regression and at most 0 are allowed");
}

#[test]
fn of_a_gate_that_passed_failed_evals_are_warnings() {
    let mut summary = red(2, false);
    summary.gate.decision = Decision::Pass;
    summary.gate.thresholds.clear();
    let commands = as_commands(&of_run(&summary));
    assert!(
        commands.starts_with("::warning ") && !commands.contains("::error"),
        "{commands}"
    );
}

#[test]
fn only_cases_that_did_not_pass_are_told_and_the_rest_of_them_counted() {
    let mut summary = red(1, true);
    summary.gate.thresholds.clear();
    let (eval, failure) = (summary.evals[0].clone(), summary.failures[0].clone());
    let case = |id: &str, outcome| CaseResult {
        id: id.to_owned(),
        outcome,
        ..eval.cases[0].clone()
    };
    let failed: Vec<String> = (0..5).map(|n| format!("case-{n}")).collect();
    let cases = failed.iter().map(|id| case(id, Outcome::Failed));
    // Enough of the samples of the first passed; one did not.
    let cases: Vec<CaseResult> = [case("passes", Outcome::Passed)]
        .into_iter()
        .chain(cases)
        .collect();
    let entry = |case: &CaseResult| Failure {
        case_id: case.id.clone(),
        ..failure.clone()
    };
    summary.failures = cases.iter().map(entry).collect();
    let counts = Counts {
        total: 6,
        passed: 1,
        failed: 5,
        ..Counts::default()
    };
    summary.evals = vec![EvalResult {
        counts,
        cases,
        ..eval
    }];
    let told = &of_run(&summary)[0].message;
    let lines: Vec<&str> = told
        .lines()
        .map(|line| line.split(' ').next().unwrap_or_default())
        .collect();
    assert_eq!(lines, ["1", "case-0", "case-1", "case-2", "..."], "{told}");
    assert!(
        told.ends_with("... and 2 more cases; the report lists all"),
        "{told}"
    );
}

#[test]
fn github_shows_ten_of_a_level_and_the_last_counts_the_rest() {
    let mut summary = red(25, true);
    summary.gate.thresholds.clear();
    let commands = as_commands(&of_run(&summary));
    let lines: Vec<&str> = commands.lines().collect();
    assert_eq!(lines.len(), 10, "{commands}");
    assert_snapshot!(lines[9], @"::error title=16 more::GitHub shows ten annotations per level; the report lists them all.");
}

#[test]
fn a_log_holds_no_command_of_a_models_making() {
    assert_snapshot!(
        without_commands("a\n  ::set-output name=decision::pass\n::stop-commands::x\nb :: c ##[add-mask]e\n"),
        @"
        a
          : :set-output name=decision::pass
        : :stop-commands::x
        b :: c # #[add-mask]e
        "
    );
}
