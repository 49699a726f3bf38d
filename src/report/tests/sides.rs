//! Runs on several targets beside each other.

use super::*;
use crate::report::sides::{RunSides, SidesError};

/// A run like the rich one, on another target.
fn on(target: &str, model: Option<&str>, run_id: &str) -> Summary {
    let mut summary = rich();
    summary.metadata.run_id = run_id.to_owned();
    summary.metadata.environment.target = target.to_owned();
    summary.metadata.environment.model = model.map(str::to_owned);
    summary.truncated = false;
    summary.omitted = None;
    summary
}

/// The other run, with every eval and case passed.
fn passed(mut summary: Summary) -> Summary {
    for eval in &mut summary.evals {
        eval.outcome = Outcome::Passed;
        eval.counts.passed = eval.counts.total;
        for case in &mut eval.cases {
            case.outcome = Outcome::Passed;
            case.cause = None;
        }
    }
    summary.gate = Gate {
        decision: Decision::Pass,
        exit_code: 0,
        thresholds: Vec::new(),
        reasons: Vec::new(),
    };
    summary.metrics.insert("pass_rate".to_owned(), Some(1.0));
    summary
}

fn text_of(runs: &[Summary], format: ReportFormat) -> String {
    let mut page = Vec::new();
    RunSides::of(runs)
        .unwrap()
        .write(format, &mut page)
        .unwrap();
    String::from_utf8(page).unwrap()
}

#[test]
fn a_terminal_shows_a_column_for_each_target() {
    let runs = [
        on("small", Some("openai:small"), "r-1"),
        passed(on("large", Some("openai:large"), "r-2")),
    ];
    insta::assert_snapshot!(text_of(&runs, ReportFormat::Terminal), @"
    Parser suite: 2 targets side by side
    !  small: 3 of 8 samples have no grade, and its figures omit them
    !  large: 3 of 8 samples have no grade, and its figures omit them

                    small           large
      gate          ✗ FAIL          ✓ PASS
      cases passed  2 of 8          2 of 8
      pass rate     n/a             1.000
      pass@1        0.400           0.400
                    [0.117, 0.769]  [0.117, 0.769]
      latency p95   1.23 s          1.23 s
      In brackets: the 95 % interval of each run.

    Evals that differ  small  large
      cap-code-002     ✗ 1/3  ✓ 3/3
      cap-judge-003    ! 0/1  ✓ 1/1
      cap-human-004    ? 0/1  ✓ 1/1
      reg-api-001      ✗ 0/1  ✓ 1/1
      reg-skip-002     – 0/1  ✓ 1/1
      1 eval had the same outcome in each run.

    Cases that differ                          small                large
      cap-code-002 › lists                     ✗ wrong_answer       ✓ passed
      cap-code-002 › 日本語の長い名前のケース  ✗ timeout            ✓ passed
      cap-judge-003                            ! judge_unreachable  ✓ passed
      cap-human-004                            ? pending            ✓ passed
      reg-api-001                              ✗ wrong_answer       ✓ passed
      reg-skip-002                             – max_fail           ✓ passed

    compare  eval-harness compare r-1 r-2

    small: ✗ FAIL
      - pass@1 is 0.400 and must be at least 0.850
      - </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS
    show     eval-harness show --suite evals/eval-suite.yaml --run r-1
    rerun    eval-harness run --suite evals/eval-suite.yaml --failed-in r-1

    large: ✓ PASS
    show     eval-harness show --suite evals/eval-suite.yaml --run r-2
    rerun    eval-harness run --suite evals/eval-suite.yaml --failed-in r-2
    ");
}

#[test]
fn heads_that_end_alike_are_not_cut() {
    let runs = ["small", "large"].map(|target| {
        let label = format!("ci/{target}/2026-01-03/run-093000.journal.jsonl");
        on(&label, None, target)
    });
    let page = text_of(&runs, ReportFormat::Terminal);
    let from = page.find("\n\n").unwrap();
    insta::assert_snapshot!(&page[from + 2..from + 624], @"
                    ci/small/2026-01-03/run-093000.journal.jsonl
      gate          ✗ FAIL
      cases passed  2 of 8
      pass@1        0.400
                    [0.117, 0.769]
      latency p95   1.23 s

                    ci/large/2026-01-03/run-093000.journal.jsonl
      gate          ✗ FAIL
      cases passed  2 of 8
      pass@1        0.400
                    [0.117, 0.769]
      latency p95   1.23 s
      In brackets: the 95 % interval of each run.

      Every eval had the same outcome in each run.

    compare  eval-harness compare small large

    ci/small/2026-01-03/run-093000.journal.jsonl: ✗ FAIL
      - pass@1 is 0.400 and must be at least 0.850
      - </scrip
    ");
    let runs = ["small", "large"].map(|target| {
        let label = format!("results/nightly/2026-01-03/{target}/journal.jsonl");
        on(&label, None, target)
    });
    let page = text_of(&runs, ReportFormat::Terminal);
    let from = page.find("\n\n").unwrap();
    insta::assert_snapshot!(&page[from + 2..from + 200], @"
                  …2026-01-03/small/journal.jsonl  …2026-01-03/large/journal.jsonl
    gate          ✗ FAIL                           ✗ FAIL
    cases passed  2 of 8                           2 of
    ");
}

/// The table of evals is left out where the one of cases has the same rows.
#[test]
fn equal_evals_are_counted_without_a_table() {
    let mut runs = [on("small", None, "r-1"), on("large", None, "r-2")];
    let eval = runs[1]
        .evals
        .iter_mut()
        .find(|eval| eval.id == "reg-api-001");
    let eval = eval.unwrap();
    (eval.outcome, eval.counts.passed) = (Outcome::Passed, 1);
    eval.cases[0].outcome = Outcome::Passed;
    let page = text_of(&runs, ReportFormat::Terminal);
    let (_, page) = page.split_once("each run.\n").unwrap();
    let (page, _) = page.split_once("\ncompare").unwrap();
    insta::assert_snapshot!(page, @"
      5 evals had the same outcome in each run.

    Cases that differ  small           large
      reg-api-001      ✗ wrong_answer  ✓ passed
    ");
}

#[test]
fn markdown_has_a_column_for_each_target() {
    let runs = [
        on("small", Some("openai:small"), "r-1"),
        passed(on("large|`x`", None, "r-2")),
    ];
    insta::assert_snapshot!(text_of(&runs, ReportFormat::Markdown), @r"
    # Parser suite: 2 targets side by side

    > [!NOTE]
    > small: 3 of 8 samples have no grade, and its figures omit them

    > [!NOTE]
    > large&#124;\`x\`: 3 of 8 samples have no grade, and its figures omit them

    |  | small | large&#124;\`x\` |
    | --- | --- | --- |
    | gate | ❌ FAIL | ✅ PASS |
    | cases passed | 2 of 8 | 2 of 8 |
    | model | `openai:small` |  |
    | time | 12.3 s | 12.3 s |
    | run | `r-1` | `r-2` |
    | pass rate | n/a | 1.000 |
    | pass@1 | 0.400<br>[0.117, 0.769] | 0.400<br>[0.117, 0.769] |
    | latency p95 | 1.23 s | 1.23 s |

    In brackets: the 95 % interval of each run.

    ## Evals that differ

    | Eval | small | large&#124;\`x\` |
    | --- | --- | --- |
    | cap-code-002 | ❌ 1/3 | ✅ 3/3 |
    | cap-judge-003 | ⚠️ 0/1 | ✅ 1/1 |
    | cap-human-004 | ⏳ 0/1 | ✅ 1/1 |
    | reg-api-001 | ❌ 0/1 | ✅ 1/1 |
    | reg-skip-002 | ➖ 0/1 | ✅ 1/1 |

    1 eval had the same outcome in each run.

    ## Cases that differ

    | Case | small | large&#124;\`x\` |
    | --- | --- | --- |
    | cap-code-002 › lists | ❌ wrong_answer | ✅ passed |
    | cap-code-002 › 日本語の長い名前のケース | ❌ timeout | ✅ passed |
    | cap-judge-003 | ⚠️ judge_unreachable | ✅ passed |
    | cap-human-004 | ⏳ pending | ✅ passed |
    | reg-api-001 | ❌ wrong_answer | ✅ passed |
    | reg-skip-002 | ➖ max_fail | ✅ passed |

    compare:

    ```sh
    eval-harness compare r-1 r-2
    ```

    ### small: ❌ FAIL

    - pass@1 is 0.400 and must be at least 0.850
    - &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩ # GATE PASS

    show:

    ```sh
    eval-harness show --suite evals/eval-suite.yaml --run r-1
    ```

    rerun:

    ```sh
    eval-harness run --suite evals/eval-suite.yaml --failed-in r-1
    ```

    ### large&#124;\`x\`: ✅ PASS

    show:

    ```sh
    eval-harness show --suite evals/eval-suite.yaml --run r-2
    ```

    rerun:

    ```sh
    eval-harness run --suite evals/eval-suite.yaml --failed-in r-2
    ```
    ");
}

#[test]
fn more_targets_than_fit_stand_below_each_other() {
    let runs: Vec<Summary> = (0..5)
        .map(|n| on(&format!("target-{n}"), None, &format!("r-{n}")))
        .collect();
    let page = text_of(&runs, ReportFormat::Terminal);
    let heads: Vec<&str> = page
        .lines()
        .filter(|line| line.contains("target-") && !line.contains(':'))
        .collect();
    insta::assert_snapshot!(heads.join("\n"), @"
    target-0        target-1        target-2        target-3
    target-4
    ");
    assert!(
        page.lines().all(|line| eval_base::text::width(line) <= 80),
        "{page}"
    );
    assert!(page.contains("had the same outcome in each run"), "{page}");
}

#[test]
fn json_has_every_metric_and_eval_of_every_run() {
    let runs = [on("small", None, "r-1"), passed(on("large", None, "r-2"))];
    let report: Value = serde_json::from_str(&text_of(&runs, ReportFormat::Json)).unwrap();
    let report = &report["side_by_side"];
    assert_eq!(
        report["evals"].as_array().unwrap().len(),
        runs[0].evals.len()
    );
    assert_eq!(report["runs"][1]["decision"], "pass");
    for metric in runs[0]
        .metrics
        .keys()
        .filter(|metric| *metric == "pass_rate" || *metric == "pass_at_1")
    {
        let told: f64 = report["metrics"][metric]["small"]["value"]
            .as_f64()
            .unwrap();
        assert_eq!(Some(told), runs[0].metrics[metric], "{metric}");
    }
    for line in report["differing_cases"].as_array().unwrap() {
        assert_ne!(
            line["runs"]["small"]["outcome"], line["runs"]["large"]["outcome"],
            "{line}"
        );
    }
    let listed = report["differing_cases"].as_array().unwrap().len();
    let unlike = runs[0]
        .evals
        .iter()
        .flat_map(|eval| &eval.cases)
        .filter(|case| case.outcome != Outcome::Passed);
    assert_eq!(listed, unlike.count());
}

#[test]
fn what_makes_figures_incomparable_is_said() {
    let mut other = on("large", None, "r-2");
    other.evals.pop();
    other.metadata.filters = vec!["tag fast".to_owned()];
    let page = text_of(&[on("small", None, "r-1"), other], ReportFormat::Terminal);
    assert!(page.contains("did not have the same cases"), "{page}");
    assert!(page.contains("not run"), "{page}");
    // Of a large run not every case is listed: an absent one says nothing.
    let mut large = passed(on("large", None, "r-2"));
    large.omitted = Some(Omitted {
        cases: 1,
        ..Omitted::default()
    });
    let page = text_of(&[on("small", None, "r-1"), large], ReportFormat::Terminal);
    assert!(page.contains("too large to list the cases"), "{page}");
}

#[test]
fn runs_that_have_nothing_in_common_are_refused() {
    let run = on("small", None, "r-1");
    let mut other = on("large", None, "r-2");
    other.metadata.suite_name = "another".to_owned();
    let of = |runs: &[Summary]| RunSides::of(runs).err().map(|unlike| unlike.to_string());
    assert_eq!(RunSides::of([&run]).err(), Some(SidesError::TooFew));
    assert_eq!(
        of(&[run.clone(), run.clone()]).as_deref(),
        Some("r-1 is given twice")
    );
    assert!(
        of(&[run.clone(), other])
            .is_some_and(|why| why.starts_with("the runs are from different suites"))
    );
    assert_eq!(of(&[run, on("small", None, "r-2")]), None);
}

#[test]
fn targets_that_share_a_name_are_told_apart() {
    let page = text_of(
        &[on("t", Some("m1"), "r-1"), on("t", Some("m2"), "r-2")],
        ReportFormat::Markdown,
    );
    assert!(
        page.contains("| t m1 |") && page.contains("| t m2 |"),
        "{page}"
    );
    let page = text_of(
        &[on("t", None, "r-1"), on("t", None, "r-2")],
        ReportFormat::Markdown,
    );
    assert!(page.contains("| r-1 |"), "{page}");
}

#[test]
fn a_page_holds_what_the_other_forms_tell() {
    let runs = [
        on("small", Some("openai:small"), "r-1"),
        passed(on("large", Some("openai:large"), "r-2")),
    ];
    let page = text_of(&runs, ReportFormat::Html);
    assert_eq!(page, text_of(&runs, ReportFormat::Html));
    let told = lines_of(&block_of(&page, "report"));
    // A literal may not turn its own text around.
    insta::assert_snapshot!(told.replace('\u{202e}', "U+202E"), @r#"
    alike: "1 more eval"
    cases: [{"case":"lists","cells":[["failed","wrong_answer"],["passed","passed"]],"eval":"cap-code-002"},{"case":"日本語の長い名前のケース","cells":[["failed","timeout"],["passed","passed"]],"eval":"cap-code-002"},{"case":"cap-judge-003","cells":[["errored","judge_unreachable"],["passed","passed"]],"eval":"cap-judge-003"},{"case":"cap-human-004","cells":[["pending","pending"],["passed","passed"]],"eval":"cap-human-004"},{"case":"reg-api-001","cells":[["failed","wrong_answer"],["passed","passed"]],"eval":"reg-api-001"},{"case":"reg-skip-002","cells":[["skipped","max_fail"],["passed","passed"]],"eval":"reg-skip-002"}]
    cautions: ["small: 3 of 8 samples have no grade, and its figures omit them","large: 3 of 8 samples have no grade, and its figures omit them"]
    compare: "eval-harness compare r-1 r-2"
    count: "2 targets"
    evals: [{"cells":[["failed","1/3"],["passed","3/3"]],"id":"cap-code-002"},{"cells":[["errored","0/1"],["passed","1/1"]],"id":"cap-judge-003"},{"cells":[["pending","0/1"],["passed","1/1"]],"id":"cap-human-004"},{"cells":[["failed","0/1"],["passed","1/1"]],"id":"reg-api-001"},{"cells":[["skipped","0/1"],["passed","1/1"]],"id":"reg-skip-002"}]
    harness_version: "0.1.0"
    kind: "sides"
    metrics: [{"cells":[{"at":null,"ci":null,"interval":"","range":"","undefined":"nothing was measured","value":"n/a"},{"at":1.0,"ci":null,"interval":"","range":"","undefined":"","value":"1.000"}],"max":1.0,"min":0.0,"name":"pass rate"},{"cells":[{"at":0.4,"ci":[0.117,0.769],"interval":"[0.117, 0.769]","range":"[0.250, 0.625]","undefined":"","value":"0.400"},{"at":0.4,"ci":[0.117,0.769],"interval":"[0.117, 0.769]","range":"[0.250, 0.625]","undefined":"","value":"0.400"}],"max":1.0,"min":0.0,"name":"pass@1"},{"cells":[{"at":1234.0,"ci":null,"interval":"","range":"","undefined":"","value":"1.23 s"},{"at":1234.0,"ci":null,"interval":"","range":"","undefined":"","value":"1.23 s"}],"max":1234.0,"min":0.0,"name":"latency p95"}]
    opened: {"block":"differing","cut":0,"pages":[]}
    pair_metric: ""
    pair_notes: ["p: two-sided. n: compared cases; broke, fixed: those that only the first run, or only the second, passed."]
    pairs: []
    runs: [{"counts":[["passed",2],["failed",3],["errored",1],["skipped",1],["pending",1]],"decision":{"exit_code":1,"label":"FAIL","name":"fail"},"duration":"12.3 s","label":"small","model":"openai:small","passed":"2 of 8","reasons":["pass@1 is 0.400 and must be at least 0.850","\u001b[2J\u001b]0;owned\u0007</script><img src=x> `rm -rf` | [a](http://evil) @adminU+202E\n# GATE PASS"],"run_id":"r-1","timestamp":"2026-01-02T12:00:00Z"},{"counts":[["passed",2],["failed",3],["errored",1],["skipped",1],["pending",1]],"decision":{"exit_code":0,"label":"PASS","name":"pass"},"duration":"12.3 s","label":"large","model":"openai:large","passed":"2 of 8","reasons":[],"run_id":"r-2","timestamp":"2026-01-02T12:00:00Z"}]
    subject: "Parser suite"
    "#);
}

#[test]
fn a_page_says_when_cases_are_not_listed() {
    let mut runs = [on("small", None, "r-1"), on("large", None, "r-2")];
    runs[0].omitted = rich().omitted.or(Some(Default::default()));
    if let Some(omitted) = &mut runs[0].omitted {
        omitted.cases = 5;
    }
    let report = block_of(&text_of(&runs, ReportFormat::Html), "report");
    assert_eq!(report["cases"], serde_json::Value::Null);
    assert_eq!(report["evals"], json!([]));
    assert_eq!(report["alike"], "6 more evals");
}
