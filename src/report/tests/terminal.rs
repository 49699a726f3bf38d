//! The end of a run on a terminal.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::*;

fn in_full() -> TerminalOptions {
    TerminalOptions {
        verbose: true,
        ..TerminalOptions::default()
    }
}

#[test]
fn terminal_shows_the_whole_picture() {
    assert_snapshot!(terminal_text(&rich(), &TerminalOptions::default()), @"
    Parser suite 1.2.0
      target solver (command) · run eval-20260102-120000 · 12.3 s · sandbox userns

    Evals              Name                                    Cases  Score  Latency
      ✓ cap-add-001    Adds two numbers                          1/1  1.000    12 ms
      ✗ cap-code-002   Writes a parser for configuration fil…    1/3  0.333    12 ms
      ! cap-judge-003  数学の問題を解く 🧮                       0/1      -    12 ms
      ? cap-human-004  Tone of the reply                         0/1      -    12 ms
      ✗ reg-api-001    Orders stay as they are                   0/1  0.000    12 ms
      – reg-skip-002   </script><img src=x> `rm -rf` | [a](h…    0/1      -    12 ms

    Summary  Total  Pass rate  Passed  Failed  Errored  Skipped  Pending
      Evals      6     33.3 %       1       2        1        1        1
      Cases      8     40.0 %       2       3        1        1        1
      1 sample passed only on a later attempt (flaky)
      2 samples timed out and had to be run again, alone, to confirm the timeout

    Metrics    Value
      pass@3     n/a  3 samples per case are needed; there is 1
      pass@10    n/a  10 samples per case are needed; there is 1

    Thresholds      Value  95 % CI         Needs      Status
      pass@1        0.400  [0.117, 0.769]  >= 0.850   ✗ FAIL
      latency p95  1.23 s                  <= 2.00 s  ✓ PASS

    Recommendations
      1. Fix the parser (cap-code-002)
      2. Start the judge and run with --resume latest

    Not passed (4)

      ✗ cap-code-002 › lists  wrong_answer
        A list of items
        the output differs from what was expected in line 2
        - expected  + actual
          def parse(s):
        -     return [1, 2]
        +     return [1, 3]··

      ✗ cap-code-002 › 日本語の長い名前のケース  timeout
        no answer within 10 s

      ! cap-judge-003  judge_unreachable
        the judge did not answer: connection refused

      ✗ reg-api-001  wrong_answer
        </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
        # GATE PASS
        - expected  + actual
        - ok
        + ```
        + </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
        + # GATE PASS
        + ````

    GATE FAIL: 2 reasons
      - pass@1 is 0.400 and must be at least 0.850
      - </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS
    rerun    eval-harness run --suite evals/eval-suite.yaml --failed-in eval-20260102-120000
    more     eval-harness report --suite evals/eval-suite.yaml --run eval-20260102-120000 --verbose
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    ");
}

#[test]
fn terminal_cuts_the_long_name_of_a_metric_and_not_its_figures() {
    let mut summary = rich();
    let name = "m".repeat(64);
    let like = summary.estimates["pass_at_1"].clone();
    summary.estimates.insert(name.clone(), like);
    let mut threshold = summary.gate.thresholds[0].clone();
    threshold.metric = name;
    summary.gate.thresholds.push(threshold);
    let text = terminal_text(&summary, &in_full());
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("mmm")).collect();
    let [metric, threshold] = rows.as_slice() else {
        panic!("{text}")
    };
    assert!(metric.contains("mm…") && metric.contains("[0."), "{metric}");
    assert!(
        threshold.contains("mm…") && threshold.ends_with("PASS") | threshold.ends_with("FAIL"),
        "{threshold}"
    );
}

#[test]
fn terminal_is_short_when_all_is_well() {
    assert_snapshot!(terminal_text(&green(2), &TerminalOptions::default()), @"
    Parser suite 1.2.0
      target solver (command) · run eval-20260102-120000 · 12.3 s · sandbox userns

    Evals        Name  Cases  Score  Latency
      ✓ cap-000  Adds    1/1  1.000    12 ms
      ✓ cap-001  Adds    1/1  1.000    12 ms

    Summary  Total  Pass rate  Passed
      Evals      2      100 %       2
      Cases      2      100 %       2

    Metrics    Value  95 % CI         Cases
      pass@1   0.400  [0.117, 0.769]      6
      pass@3     n/a  3 samples per case are needed; there is 1
      pass@10    n/a  10 samples per case are needed; there is 1

    GATE PASS
    more     eval-harness report --suite evals/eval-suite.yaml --run eval-20260102-120000 --verbose
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    ");
}

#[test]
fn terminal_without_unicode_or_sandbox() {
    let options = TerminalOptions {
        unicode: false,
        width: 60,
        ..TerminalOptions::default()
    };
    assert_snapshot!(terminal_text(&unsandboxed(), &options), @"
    Parser suite 1.2.0
      target solver (command), run eval-20260102-120000, 12.3 s
    !! SANDBOX NOT ENFORCED: code ran, or may have run, without
       isolation (tier: none)
       - programs can read the network

    Evals              Name                Cases  Score  Latency
      + cap-add-001    Adds two numbers      1/1  1.000    12 ms
      x cap-code-002   Writes a parser...    1/3  0.333    12 ms
      ! cap-judge-003  数学の問題を解...     0/1      -    12 ms
      ? cap-human-004  Tone of the reply     0/1      -    12 ms
      x reg-api-001    Orders stay as ...    0/1  0.000    12 ms
      - reg-skip-002   </script><img s...    0/1      -    12 ms

    Summary
      Evals: total 6, pass rate 33.3 %, passed 1, failed 2,
        errored 1, skipped 1, pending 1
      Cases: total 8, pass rate 40.0 %, passed 2, failed 3,
        errored 1, skipped 1, pending 1
      1 sample passed only on a later attempt (flaky)
      2 samples timed out and had to be run again, alone, to
      confirm the timeout

    Metrics    Value
      pass@3     n/a  3 samples per case are needed; there is 1
      pass@10    n/a  10 samples per case are needed; there is 1

    Thresholds      Value  95 % CI         Needs      Status
      pass@1        0.400  [0.117, 0.769]  >= 0.850   x FAIL
      latency p95  1.23 s                  <= 2.00 s  + PASS

    Recommendations
      1. Fix the parser (cap-code-002)
      2. Start the judge and run with --resume latest

    Not passed (4)

      x cap-code-002 > lists  wrong_answer
        A list of items
        the output differs from what was expected in line 2
        - expected  + actual
          def parse(s):
        -     return [1, 2]
        +     return [1, 3]__

      x cap-code-002 > 日本語の長い名前のケース  timeout
        no answer within 10 s

      ! cap-judge-003  judge_unreachable
        the judge did not answer: connection refused

      x reg-api-001  wrong_answer  </script><img src=x> `rm -...

    !! SANDBOX NOT ENFORCED
    GATE FAIL: 2 reasons
      - pass@1 is 0.400 and must be at least 0.850
      - </script><img src=x> `rm -rf` | [a](http://evil)
        @admin⟨U+202E⟩ # GATE PASS
    rerun    eval-harness run --suite evals/eval-suite.yaml --failed-in eval-20260102-120000
    more     eval-harness report --suite evals/eval-suite.yaml --run eval-20260102-120000 --verbose
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    ");
}

#[test]
fn terminal_lists_only_what_matters_of_many() {
    let mut summary = green(50);
    summary.evals[7].outcome = Outcome::Failed;
    (summary.summary.passed, summary.summary.failed) = (49, 1);
    summary.failures = (0..25)
        .map(|n| {
            failure(
                ("cap-007", &format!("case-{n}")),
                "",
                Cause::Crashed,
                "",
                None,
                None,
            )
        })
        .collect();
    let brief = terminal_text(&summary, &TerminalOptions::default());
    assert!(
        brief.contains("✗ cap-007") && !brief.contains("cap-008"),
        "{brief}"
    );
    assert!(
        brief.contains("... and 3 more cases; --verbose shows more"),
        "{brief}"
    );
    assert!(
        brief.contains("case-21  crashed") && !brief.contains("case-22"),
        "{brief}"
    );
    let verbose = terminal_text(
        &summary,
        &TerminalOptions {
            verbose: true,
            ..TerminalOptions::default()
        },
    );
    assert!(
        verbose.contains("✓ cap-008")
            && verbose.contains("case-24  crashed")
            && !verbose.contains("more"),
        "{verbose}"
    );
    assert!(!terminal_text(&green(41), &TerminalOptions::default()).contains("cap-000"));
}

#[test]
fn terminal_tells_the_decision_and_why() {
    for (decision, words) in [
        (Decision::Incomplete, "GATE INCOMPLETE: the judge is down"),
        (Decision::Pending, "GATE PENDING: the judge is down"),
        (Decision::Fail, "GATE FAIL: the judge is down"),
    ] {
        let mut summary = green(1);
        summary.gate.decision = decision;
        summary.gate.reasons = vec!["the judge is down".to_owned()];
        let shown = terminal_text(&summary, &TerminalOptions::default());
        assert!(shown.contains(words), "{shown}");
    }
    let coloured = terminal_text(
        &green(1),
        &TerminalOptions {
            color: true,
            ..TerminalOptions::default()
        },
    );
    assert!(
        coloured.contains("\x1b[32mGATE PASS\x1b[0m"),
        "{coloured:?}"
    );
}

#[test]
fn terminal_tells_more_when_asked() {
    let mut summary = rich();
    summary.failures.truncate(1);
    summary.failures[0].samples = 3;
    summary.failures[0].details.insert(
        "stderr".to_owned(),
        json!("Traceback:\n  \x1b[31mValueError\x1b[0m"),
    );
    let brief = terminal_text(&summary, &TerminalOptions::default());
    assert!(
        brief.contains("lists  wrong_answer (3 samples)") && !brief.contains("Traceback"),
        "{brief}"
    );
    let verbose = terminal_text(
        &summary,
        &TerminalOptions {
            verbose: true,
            ..TerminalOptions::default()
        },
    );
    assert!(
        verbose.contains("    stderr\n    │ Traceback:\n    │   ValueError\n"),
        "{verbose}"
    );
}

/// The failures section alone, with colours as `^[`.
fn failures_in_colour(failures: Vec<Failure>, width: usize) -> String {
    let mut summary = red(0, false);
    summary.failures = failures;
    let shown = terminal_text(
        &summary,
        &TerminalOptions {
            color: true,
            width,
            ..TerminalOptions::default()
        },
    );
    let lines = shown
        .lines()
        .skip_while(|line| !line.contains("Not passed"))
        .skip(2);
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    lines
        .join("\n")
        .replace('\x1b', "^")
        .trim_start()
        .to_owned()
}

fn wrong(expected: Value, actual: Value) -> Failure {
    failure(
        ("math", "c1"),
        "",
        Cause::WrongAnswer,
        "it differs",
        Some(expected),
        Some(actual),
    )
}

#[test]
fn terminal_marks_what_differs_in_a_line() {
    let pair = wrong(json!("the answer is 42"), json!("the answer is 43"));
    assert_snapshot!(failures_in_colour(vec![pair], 80), @"
    ^[31m✗^[0m^[1m math › c1  ^[0m^[31mwrong_answer^[0m
        it differs
        ^[2mexpected  ^[0m^[32mthe answer is 4^[0m^[1;7;32m2^[0m
        ^[2mactual    ^[0m^[31mthe answer is 4^[0m^[1;7;31m3^[0m
    ");
    let short = wrong(json!(42), json!(43));
    assert_snapshot!(failures_in_colour(vec![short], 80), @"
    ^[31m✗^[0m^[1m math › c1  ^[0m^[31mwrong_answer^[0m
        it differs
        ^[2mexpected  ^[0m^[32m42^[0m
        ^[2mactual    ^[0m^[31m43^[0m
    ");
}

#[test]
fn terminal_marks_go_on_over_the_lines_of_a_long_text() {
    let text = |word: &str| {
        json!(format!(
            "one two three four {word} six seven eight nine ten"
        ))
    };
    assert_snapshot!(failures_in_colour(vec![wrong(text("alpha beta"), text("alpha gamma"))], 40), @"
    ^[31m✗^[0m^[1m math › c1  ^[0m^[31mwrong_answer^[0m
        it differs
        ^[2mexpected  ^[0m^[32mone two three four alpha^[0m
                  ^[1;7;32mbet^[0m^[32ma six seven eight nine^[0m
                  ^[32mten^[0m
        ^[2mactual    ^[0m^[31mone two three four alpha^[0m
                  ^[1;7;31mgamm^[0m^[31ma six seven eight nine^[0m
                  ^[31mten^[0m
    ");
}

#[test]
fn terminal_marks_pairs_of_lines_in_a_diff() {
    let code = |sign: &str| {
        json!(format!(
            "def f(a, b):\n    return a {sign} b  \n\nprint(f(1, 2))"
        ))
    };
    assert_snapshot!(failures_in_colour(vec![wrong(code("+"), code("-"))], 80), @"
    ^[31m✗^[0m^[1m math › c1  ^[0m^[31mwrong_answer^[0m
        it differs
        ^[32m- expected^[0m  ^[31m+ actual^[0m
          def f(a, b):
        ^[32m-     return a ^[0m^[1;7;32m+^[0m^[32m b··^[0m
        ^[31m+     return a ^[0m^[1;7;31m-^[0m^[31m b··^[0m
    ");
    let document = |n: u32| json!({"id": n, "items": ["a long first item", "a long second item"], "total": 10});
    assert_snapshot!(failures_in_colour(vec![wrong(document(1), document(2))], 80), @r#"
    ^[31m✗^[0m^[1m math › c1  ^[0m^[31mwrong_answer^[0m
        it differs
        ^[32m- expected^[0m  ^[31m+ actual^[0m
          {
        ^[32m-   "id": ^[0m^[1;7;32m1^[0m^[32m,^[0m
        ^[31m+   "id": ^[0m^[1;7;31m2^[0m^[31m,^[0m
            "items": [
    "#);
}

#[test]
fn terminal_counts_the_lines_of_a_diff_that_it_leaves_out() {
    let many = |first: u32| {
        json!(
            (first..first + 40)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .join("\n")
        )
    };
    let shown = failures_in_colour(vec![wrong(many(0), many(100))], 80);
    assert!(
        shown.lines().count() <= 16 && shown.contains("… 68 more lines"),
        "{shown}"
    );
}

#[test]
fn terminal_tells_flaky_samples_apart_from_calls_made_again() {
    let shown = terminal_text(&flaky(), &in_full());
    let from = shown.find("Summary").unwrap();
    let to = shown.find("Metric").unwrap();
    let flaky = &shown[shown.find("Flaky").unwrap()..shown.find("\nGATE").unwrap()];
    assert_snapshot!(format!("{flaky}\n{}", &shown[from..to]), @"
    Flaky                                            Sample  Attempts  First attempt
      cap-000                                             1         3  expected 4, …
      cap-000 › </script><img src=x> `rm -rf` | [a…       1         3  expected 4, …
      cap-001

    Summary  Total  Pass rate  Passed
      Evals      2      100 %       2
      Cases      2      100 %       2
      3 samples passed only on a later attempt (flaky)
      4 calls to the target did not get through and had to be retried
    ");
}

#[test]
fn terminal_offers_to_go_on_with_what_was_ended_early() {
    let mut summary = rich();
    summary.metadata.interrupted = true;
    summary.metadata.suite_path = Some("my evals/suite.yaml".to_owned());
    summary.metadata.rerun_arguments = vec!["--outputs".to_owned(), "o.jsonl".to_owned()];
    let shown = terminal_text(
        &summary,
        &TerminalOptions {
            width: 40,
            ..TerminalOptions::default()
        },
    );
    let last: Vec<&str> = shown.lines().rev().take(5).collect();
    assert_eq!(
        last[4],
        "resume   eval-harness run --resume eval-20260102-120000 --suite 'my evals/suite.yaml'"
    );
    assert_eq!(
        last[3],
        "rerun    eval-harness run --suite 'my evals/suite.yaml' --outputs o.jsonl --failed-in eval-20260102-120000"
    );
}

#[test]
fn terminal_of_ten_thousand_evals_is_a_page() {
    for (summary, words) in [
        (red(10_000, true), "more cases; --verbose"),
        (red(20_000, false), "more cases; --verbose"),
    ] {
        let shown = terminal_text(&summary, &TerminalOptions::default());
        assert!(shown.contains(words), "{shown}");
        assert!(shown.lines().count() < 75, "{}", shown.lines().count());
    }
    let verbose = TerminalOptions {
        verbose: true,
        ..TerminalOptions::default()
    };
    assert!(
        terminal_text(&red(3000, false), &verbose)
            .contains("... and 2,000 more cases; the JSON report lists all")
    );
}

#[test]
fn terminal_shows_failures_last_and_takes_a_screen() {
    let summary = red(30, true);
    let shown = terminal_text(&summary, &TerminalOptions::default());
    let [failures, gate] = ["\nNot passed (30)", "\nGATE FAIL"].map(|part| shown.find(part));
    assert!(failures < gate && failures.is_some(), "{shown}");
    assert!(shown.lines().count() <= 75, "{shown}");
    assert!(shown.contains("... and "), "{shown}");
    let evals = &shown[shown.find("\nEvals").unwrap()..shown.find("\nSummary").unwrap()];
    assert_eq!(evals.matches("cap-").count(), 10, "{evals}");
    assert!(
        shown.contains("\nmore     eval-harness report --suite "),
        "{shown}"
    );
    let long = terminal_text(&summary, &in_full());
    assert!(
        long.contains("cap-29") && !long.contains("\nmore     "),
        "{long}"
    );
}

/// A run that passed, with a failed sample in the first of its cases.
fn tolerant() -> Summary {
    let mut summary = green(2);
    let bad = sample(Outcome::Failed, Some(Cause::WrongAnswer), "it is wrong");
    summary.evals[0].cases[0].samples.push(bad);
    summary.failures = vec![failure(
        ("cap-000", "cap-000"),
        "",
        Cause::WrongAnswer,
        "it is wrong\nin two lines",
        None,
        None,
    )];
    summary
}

#[test]
fn cases_that_passed_with_a_failed_sample_are_told_apart() {
    let summary = tolerant();
    let brief = terminal_text(&summary, &TerminalOptions::default());
    assert!(
        brief.contains("Passed with failed samples (1): cap-000\n"),
        "{brief}"
    );
    assert!(
        !brief.contains("Not passed") && !brief.contains("\nrerun"),
        "{brief}"
    );
    let verbose = TerminalOptions {
        verbose: true,
        ..TerminalOptions::default()
    };
    let verbose = terminal_text(&summary, &verbose);
    let part = "  ✗ cap-000  wrong_answer (1 of 2 samples)\n    it is wrong\n    in two lines\n";
    assert!(verbose.contains(part), "{verbose}");
    let markdown = rendered(ReportFormat::Markdown, &summary);
    let part = "## Passed with failed samples (1)\n\n### ❌ cap-000  wrong_answer (1 of 2 samples)\n\nit is wrong<br>in two lines\n";
    assert!(
        markdown.contains(part) && !markdown.contains("## Not passed"),
        "{markdown}"
    );
}

#[test]
fn reasons_with_indented_lines_stay_as_they_are() {
    let mut summary = red(1, false);
    summary.failures[0].reason = "it raised\n  File \"x\"\n    y = 1".to_owned();
    let shown = terminal_text(&summary, &TerminalOptions::default());
    assert!(
        shown.contains("    it raised\n    │   File \"x\"\n    │     y = 1\n"),
        "{shown}"
    );
    let markdown = rendered(ReportFormat::Markdown, &summary);
    assert!(
        markdown.contains("it raised\n\n```text\n  File \"x\"\n    y = 1\n```\n"),
        "{markdown}"
    );
}

#[test]
fn a_suite_of_one_eval_leads_with_its_cases() {
    let mut summary = red(3, false);
    let rate = estimate(Some(0.0), None, None, None);
    summary
        .estimates
        .insert("pass_rate".to_owned(), rate.clone());
    summary.estimates.insert("case_pass_rate".to_owned(), rate);
    for verbose in [false, true] {
        let options = TerminalOptions {
            verbose,
            ..TerminalOptions::default()
        };
        let shown = terminal_text(&summary, &options);
        assert!(
            shown.contains("\n  Cases") && !shown.contains("\n  Evals "),
            "{shown}"
        );
        assert!(!shown.contains("\n  pass rate"), "{shown}");
    }
}
