//! One rich summary, and what each format makes of it.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::base::text;
use crate::model::{
    Bound, CaseResult, Cause, Counts, Decision, Environment, Estimate, EvalResult, EvalType, Failure, Figure,
    Gate, GitState, Metadata, Outcome, SampleResult, SandboxState, ThresholdResult, Totals,
};

fn sample(outcome: Outcome, cause: Option<Cause>, reason: &str) -> SampleResult {
    SampleResult {
        index: 0,
        outcome,
        score: outcome.is_graded().then(|| f64::from(u8::from(outcome == Outcome::Passed))),
        cause,
        reason: reason.to_owned(),
        output: None,
        extracted: None,
        grades: Vec::new(),
        metrics: BTreeMap::new(),
        attempts: 1,
        earlier: Vec::new(),
        flaky: false,
        infrastructure_retries: 0,
        latency_ms: Some(12.0),
        duration_ms: 250.0,
        usage: None,
    }
}

fn case(id: &str, outcome: Outcome, cause: Option<Cause>, reason: &str) -> CaseResult {
    CaseResult {
        id: id.to_owned(),
        name: None,
        outcome,
        score: outcome.is_graded().then(|| f64::from(u8::from(outcome == Outcome::Passed))),
        cause,
        flaky: false,
        first_passes: u32::from(outcome == Outcome::Passed),
        first_graded: u32::from(outcome.is_graded()),
        samples: vec![sample(outcome, cause, reason)],
    }
}

fn eval(id: &str, name: &str, kind: EvalType, outcome: Outcome, cases: Vec<CaseResult>) -> EvalResult {
    let mut counts = Counts::default();
    cases.iter().for_each(|case| counts.add(case.outcome));
    let scores: Vec<f64> = cases.iter().filter_map(|case| case.score).collect();
    EvalResult {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        category: Some("code | gen".to_owned()),
        tags: vec!["fast".to_owned()],
        weight: 1.0,
        difficulty: None,
        criticality: None,
        outcome,
        score: (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64),
        counts,
        cases,
    }
}

#[rustfmt::skip]
fn failure(ids: (&str, &str), name: &str, cause: Cause, reason: &str, expected: Option<Value>, actual: Option<Value>) -> Failure {
    Failure {
        eval_id: ids.0.to_owned(), case_id: ids.1.to_owned(), name: name.to_owned(), outcome: cause.outcome(),
        cause: Some(cause), reason: reason.to_owned(), expected, actual, details: serde_json::Map::new(), samples: 1,
    }
}

fn estimate(
    value: Option<f64>,
    ci: Option<[f64; 2]>,
    range: Option<[f64; 2]>,
    undefined: Option<&str>,
) -> Estimate {
    Estimate {
        value,
        ci,
        level: 0.95,
        method: "wilson".to_owned(),
        n_cases: 6,
        worst: range.map(|r| r[0]),
        best: range.map(|r| r[1]),
        undefined: undefined.map(str::to_owned),
    }
}

const HOSTILE: &str =
    "\x1b[2J\x1b]0;owned\x07</script><img src=x> `rm -rf` | [a](http://evil) @admin\u{202e}\n# GATE PASS";

/// Passes, failures of several causes, errored, pending, skipped, long, wide and hostile texts.
fn rich() -> Summary {
    use EvalType::{Capability, Regression};
    use Outcome::{Errored, Failed, Passed, Pending, Skipped};
    let evals = vec![
        eval(
            "cap-add-001",
            "Adds two numbers",
            Capability,
            Passed,
            vec![case("cap-add-001", Passed, None, "")],
        ),
        eval(
            "cap-code-002",
            "Writes a parser for configuration files with comments and escapes",
            Capability,
            Failed,
            vec![
                case(
                    "lists",
                    Failed,
                    Some(Cause::WrongAnswer),
                    "the output differs from what was expected in line 2",
                ),
                case("日本語の長い名前のケース", Failed, Some(Cause::Timeout), "no answer within 10 s"),
                case("maps", Passed, None, ""),
            ],
        ),
        eval(
            "cap-judge-003",
            "数学の問題を解く 🧮",
            Capability,
            Errored,
            vec![case(
                "cap-judge-003",
                Errored,
                Some(Cause::JudgeUnreachable),
                "the judge did not answer: connection refused",
            )],
        ),
        eval(
            "cap-human-004",
            "Tone of the reply",
            Capability,
            Pending,
            vec![case("cap-human-004", Pending, None, "")],
        ),
        eval(
            "reg-api-001",
            "Orders stay as they are",
            Regression,
            Failed,
            vec![case("reg-api-001", Failed, Some(Cause::WrongAnswer), HOSTILE)],
        ),
        eval(
            "reg-skip-002",
            HOSTILE,
            Regression,
            Skipped,
            vec![case("reg-skip-002", Skipped, Some(Cause::MaxFail), "")],
        ),
    ];
    let failures = vec![
        failure(
            ("cap-code-002", "lists"),
            "A list of items",
            Cause::WrongAnswer,
            "the output differs from what was expected in line 2",
            Some(json!("def parse(s):\n    return [1, 2]\n\nprint('done')")),
            Some(json!("def parse(s):\n    return [1, 3]  \n\nprint('done')")),
        ),
        failure(
            ("cap-code-002", "日本語の長い名前のケース"),
            "",
            Cause::Timeout,
            "no answer within 10 s",
            None,
            None,
        ),
        failure(
            ("cap-judge-003", "cap-judge-003"),
            "",
            Cause::JudgeUnreachable,
            "the judge did not answer: connection refused",
            None,
            None,
        ),
        failure(
            ("reg-api-001", "reg-api-001"),
            "Orders stay as they are",
            Cause::WrongAnswer,
            HOSTILE,
            Some(json!("ok")),
            Some(json!(format!("```\n{HOSTILE}\n````"))),
        ),
    ];
    let metrics: [(&str, Estimate); 6] = [
        ("pass_at_1", estimate(Some(0.4), Some([0.117, 0.769]), Some([0.25, 0.625]), None)),
        ("pass_at_10", estimate(None, None, None, Some("10 samples per case are needed; there is 1"))),
        ("pass_at_3", estimate(None, None, None, Some("3 samples per case are needed; there is 1"))),
        ("pass_hat_1", estimate(Some(0.4), Some([0.117, 0.769]), Some([0.25, 0.625]), None)),
        ("pass_hat_1_unbiased", estimate(Some(0.4), Some([0.117, 0.769]), Some([0.25, 0.625]), None)),
        ("latency_p95_ms", estimate(Some(1234.0), None, None, None)),
    ];
    let mut cases = Counts::default();
    evals.iter().flat_map(|eval| &eval.cases).for_each(|case| cases.add(case.outcome));
    let by_type = |kind: EvalType| {
        let mut counts = Counts::default();
        evals.iter().filter(|eval| eval.kind == kind).for_each(|eval| counts.add(eval.outcome));
        (kind, counts)
    };
    let summary = Totals {
        total_evals: 6,
        passed: 1,
        failed: 2,
        errored: 1,
        skipped: 1,
        pending: 1,
        pass_rate: Some(1.0 / 3.0),
        weighted_score: Some(0.4444),
        cases,
        samples: cases,
        flaky: 1,
        infrastructure_retries: 0,
        by_type: BTreeMap::from([by_type(Capability), by_type(Regression)]),
        by_category: BTreeMap::from([("code | gen".to_owned(), cases)]),
        by_tag: BTreeMap::new(),
        by_grader: BTreeMap::new(),
        by_cause: BTreeMap::from([("wrong_answer".to_owned(), 2), ("timeout".to_owned(), 1)]),
    };
    Summary {
        metadata: Metadata {
            suite_name: "Parser suite".to_owned(),
            suite_version: Some("1.2.0".to_owned()),
            run_id: "eval-20260102-120000".to_owned(),
            timestamp: "2026-01-02T12:00:00Z".to_owned(),
            duration_seconds: 12.34,
            harness_version: "0.1.0".to_owned(),
            environment: Environment {
                target: "solver".to_owned(),
                target_type: "command".to_owned(),
                model: None,
                git: Some(GitState { commit: "0123456789abcdef0123".to_owned(), dirty: true }),
                sandbox: Some(SandboxState { tier: "userns".to_owned(), enforced: true, notes: Vec::new() }),
                os: "linux".to_owned(),
                arch: "x86_64".to_owned(),
                cpus: 8,
                interpreters: BTreeMap::new(),
            },
            filters: Vec::new(),
            interrupted: false,
            shard: None,
            regrade_of: None,
            joined: Vec::new(),
        },
        summary,
        metrics: metrics.iter().map(|(name, estimate)| ((*name).to_owned(), estimate.value)).collect(),
        estimates: metrics.into_iter().map(|(name, estimate)| (name.to_owned(), estimate)).collect(),
        gate: Gate {
            decision: Decision::Fail,
            exit_code: 1,
            thresholds: vec![
                ThresholdResult {
                    metric: "pass_at_1".into(),
                    value: Some(0.4),
                    bound: Bound::Min,
                    threshold: 0.85,
                    on: Figure::Value,
                    status: Decision::Fail,
                },
                ThresholdResult {
                    metric: "latency_p95_ms".into(),
                    value: Some(1234.0),
                    bound: Bound::Max,
                    threshold: 2000.0,
                    on: Figure::Value,
                    status: Decision::Pass,
                },
            ],
            reasons: vec!["pass@1 is 0.400 and must be at least 0.850".to_owned(), HOSTILE.to_owned()],
        },
        evals,
        failures,
        recommendations: vec![
            "Fix the parser (cap-code-002)".to_owned(),
            "Start the judge and run with --resume latest".to_owned(),
        ],
        truncated: false,
        omitted: None,
    }
}

fn unsandboxed() -> Summary {
    let mut summary = rich();
    summary.metadata.environment.sandbox = Some(SandboxState {
        tier: "none".to_owned(),
        enforced: false,
        notes: vec!["programs can read the network".to_owned()],
    });
    summary
}

/// A run in which all passed.
fn green(evals: usize) -> Summary {
    let mut summary = rich();
    summary.evals = (0..evals)
        .map(|n| {
            let id = format!("cap-{n:03}");
            eval(
                &id,
                "Adds",
                EvalType::Capability,
                Outcome::Passed,
                vec![case(&id, Outcome::Passed, None, "")],
            )
        })
        .collect();
    let mut counts = Counts::default();
    (0..evals).for_each(|_| counts.add(Outcome::Passed));
    summary.summary = Totals {
        total_evals: evals,
        passed: evals,
        pass_rate: Some(1.0),
        cases: counts,
        samples: counts,
        ..Totals::default()
    };
    summary.failures.clear();
    summary.recommendations.clear();
    summary.gate =
        Gate { decision: Decision::Pass, exit_code: 0, thresholds: Vec::new(), reasons: Vec::new() };
    summary
}

fn terminal_text(summary: &Summary, options: &TerminalOptions) -> String {
    let mut out = Vec::new();
    let reports =
        ["results/2026-01-02/run-120000.json".to_owned(), "results/2026-01-02/run-120000.md".to_owned()];
    terminal::render(summary, options, &reports, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn rendered(format: ReportFormat, summary: &Summary) -> String {
    let mut out = Vec::new();
    render(format, summary, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn terminal_shows_the_whole_picture() {
    assert_snapshot!(terminal_text(&rich(), &TerminalOptions::default()), @r##"
    Parser suite 1.2.0
      target solver (command) · run eval-20260102-120000 · 12.3 s · sandbox userns

                                                               cases  score  latency
      ✓ cap-add-001    Adds two numbers                          1/1  1.000    12 ms
      ✗ cap-code-002   Writes a parser for configuration fil…    1/3  0.333    12 ms
      ! cap-judge-003  数学の問題を解く 🧮                       0/1      -    12 ms
      ? cap-human-004  Tone of the reply                         0/1      -    12 ms
      ✗ reg-api-001    Orders stay as they are                   0/1  0.000    12 ms
      – reg-skip-002   </script><img src=x> `rm -rf` | [a](h…    0/1      -    12 ms

    Not passed

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
        Orders stay as they are
        </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS
        - expected  + actual
        - ok
        + ```
        + </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
        + # GATE PASS
        + ````

                 total  pass rate   passed   failed  errored  skipped  pending
      Evals          6     33.3 %        1        2        1        1        1
      Cases          8     40.0 %        2        3        1        1        1
      1 sample passed only on a later attempt (flaky)

      Metric        value  95 % CI         cases  [worst, best]
      pass@1        0.400  [0.117, 0.769]      6  [0.250, 0.625]
      pass@3          n/a  3 samples per case are needed; there is 1
      pass@10         n/a  10 samples per case are needed; there is 1
      latency p95  1.23 s                      6
      [worst, best]: if all that errored, was skipped or is pending had failed, or
      had passed.

      Threshold     value  needs      status
      pass@1        0.400  >= 0.850   fail
      latency p95  1.23 s  <= 2.00 s  pass

    Next
      - Fix the parser (cap-code-002)
      - Start the judge and run with --resume latest

    GATE FAIL: 2 reasons
      - pass@1 is 0.400 and must be at least 0.850
      - </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    "##);
}

#[test]
fn terminal_is_short_when_all_is_well() {
    assert_snapshot!(terminal_text(&green(2), &TerminalOptions::default()), @r##"
    Parser suite 1.2.0
      target solver (command) · run eval-20260102-120000 · 12.3 s · sandbox userns

                                                               cases  score  latency
      ✓ cap-000  Adds                                            1/1  1.000    12 ms
      ✓ cap-001  Adds                                            1/1  1.000    12 ms

                 total  pass rate   passed
      Evals          2      100 %        2
      Cases          2      100 %        2

      Metric        value  95 % CI         cases
      pass@1        0.400  [0.117, 0.769]      6
      pass@3          n/a  3 samples per case are needed; there is 1
      pass@10         n/a  10 samples per case are needed; there is 1
      latency p95  1.23 s                      6

    GATE PASS
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    "##);
}

#[test]
fn terminal_without_unicode_or_sandbox() {
    let options = TerminalOptions { unicode: false, width: 60, ..TerminalOptions::default() };
    assert_snapshot!(terminal_text(&unsandboxed(), &options), @r##"
    Parser suite 1.2.0
      target solver (command), run eval-20260102-120000, 12.3 s
    !! SANDBOX NOT ENFORCED: code ran, or may have run, without
       isolation (tier: none)
       - programs can read the network

                                           cases  score  latency
      + cap-add-001    Adds two numbers      1/1  1.000    12 ms
      x cap-code-002   Writes a parser...    1/3  0.333    12 ms
      ! cap-judge-003  数学の問題を解...     0/1      -    12 ms
      ? cap-human-004  Tone of the reply     0/1      -    12 ms
      x reg-api-001    Orders stay as ...    0/1  0.000    12 ms
      - reg-skip-002   </script><img s...    0/1      -    12 ms

    Not passed

      x cap-code-002 > lists  wrong_answer
        A list of items
        the output differs from what was expected in line 2
        - expected  + actual
          def parse(s):
        -     return [1, 2]
        +     return [1, 3]··

      x cap-code-002 > 日本語の長い名前のケース  timeout
        no answer within 10 s

      ! cap-judge-003  judge_unreachable
        the judge did not answer: connection refused

      x reg-api-001  wrong_answer
        Orders stay as they are
        </script><img src=x> `rm -rf` | [a](http://evil)
        @admin⟨U+202E⟩ # GATE PASS
        - expected  + actual
        - ok
        + ```
        + </script><img src=x> `rm -rf` | [a](http://evil) @a...
        + # GATE PASS
        + ````

                 total  pass rate   passed   failed  errored ...
      Evals          6     33.3 %        1        2        1 ...
      Cases          8     40.0 %        2        3        1 ...
      1 sample passed only on a later attempt (flaky)

      Metric        value  95 % CI         cases  [worst, best]
      pass@1        0.400  [0.117, 0.769]      6  [0.250, 0.625]
      pass@3          n/a  3 samples per case are needed; there
                           is 1
      pass@10         n/a  10 samples per case are needed; there
                           is 1
      latency p95  1.23 s                      6
      [worst, best]: if all that errored, was skipped or is
      pending had failed, or had passed.

      Threshold     value  needs      status
      pass@1        0.400  >= 0.850   fail
      latency p95  1.23 s  <= 2.00 s  pass

    Next
      - Fix the parser (cap-code-002)
      - Start the judge and run with --resume latest

    !! SANDBOX NOT ENFORCED
    GATE FAIL: 2 reasons
      - pass@1 is 0.400 and must be at least 0.850
      - </script><img src=x> `rm -rf` | [a](http://evil)
        @admin⟨U+202E⟩ # GATE PASS
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    "##);
}

#[test]
fn markdown_shows_the_whole_picture() {
    assert_snapshot!(rendered(ReportFormat::Markdown, &unsandboxed()), @r##"
    # ❌ FAIL: Parser suite 1.2.0 (SANDBOX NOT ENFORCED)

    > [!CAUTION]
    > **SANDBOX NOT ENFORCED: code ran, or may have run, without isolation (tier: none)**
    >
    > - programs can read the network

    Run `eval-20260102-120000` · 2026-01-02T12:00:00Z · 12.3 s · target `solver` (command) · sandbox none (**not enforced**) · commit `0123456789ab` (with uncommitted changes) · eval-harness 0.1.0 · linux/x86_64

    ## Gate

    **FAIL** (exit code 1)

    - pass@1 is 0.400 and must be at least 0.850
    - &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩ # GATE PASS

    | Metric | Value | 95 % CI | Threshold | Status |
    | --- | ---: | --- | --- | --- |
    | pass@1 | 0.400 | [0.117, 0.769] | ≥ 0.850 | ❌ FAIL |
    | latency p95 | 1.23 s |  | ≤ 2.00 s | ✅ PASS |

    ## Summary

    |  | Total | Passed | Failed | Errored | Skipped | Pending | Pass rate |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | Evals | 6 | 1 | 2 | 1 | 1 | 1 | 33.3 % |
    | Cases | 8 | 2 | 3 | 1 | 1 | 1 | 40.0 % |
    | Samples | 8 | 2 | 3 | 1 | 1 | 1 | 40.0 % |

    Pass rates are over what was graded: passed / (passed + failed). Weighted score: 0.444. 1 sample passed only on a later attempt (flaky).

    ### By type and category

    | Group | Total | Passed | Failed | Errored | Skipped | Pending | Pass rate |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | type: capability | 4 | 1 | 1 | 1 | 0 | 1 | 50.0 % |
    | type: regression | 2 | 0 | 1 | 0 | 1 | 0 | 0 % |
    | category: code &#124; gen | 8 | 2 | 3 | 1 | 1 | 1 | 40.0 % |

    ### By cause

    | Cause | Samples |
    | --- | ---: |
    | timeout | 1 |
    | wrong_answer | 2 |

    ## Metrics

    | Metric | Value | 95 % CI | Cases | [worst, best] | Remark |
    | --- | ---: | --- | ---: | --- | --- |
    | pass@1 | 0.400 | [0.117, 0.769] | 6 | [0.250, 0.625] |  |
    | pass@3 | n/a |  | 6 |  | undefined: 3 samples per case are needed; there is 1 |
    | pass@10 | n/a |  | 6 |  | undefined: 10 samples per case are needed; there is 1 |
    | latency p95 | 1.23 s |  | 6 |  |  |

    [worst, best]: the value if all that errored, was skipped or is pending had failed, or had passed.

    ## Evals

    ### Capability evals (1/4 passed)

    - [x] cap-add-001: Adds two numbers
    - [ ] cap-code-002: Writes a parser for configuration files with comments and escapes (FAILED), 1 of 3 cases
      - lists (wrong_answer)
        - Expected: `def parse(s): return [1, 2] print('done')`
        - Actual: `def parse(s): return [1, 3] print('done')`
      - 日本語の長い名前のケース (timeout)
        - Reason: no answer within 10 s
    - [ ] cap-judge-003: 数学の問題を解く 🧮 (ERRORED)
      - Reason: the judge did not answer: connection refused
    - [ ] cap-human-004: Tone of the reply (PENDING)

    ### Regression evals (0/2 passed)

    - [ ] reg-api-001: Orders stay as they are (FAILED)
      - Expected: `ok`
      - Actual: ````` ``` </script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS ```` `````
    - [ ] reg-skip-002: &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩ # GATE PASS (SKIPPED)

    ## Not passed

    ### ❌ cap-code-002 › lists

    - Name: A list of items
    - Outcome: failed
    - Cause: `wrong_answer`
    - Reason: the output differs from what was expected in line 2

    Difference (`-` expected, `+` actual):

    ```diff
     def parse(s):
    -    return [1, 2]
    +    return [1, 3]··
     
     print('done')
    ```

    ### ❌ cap-code-002 › 日本語の長い名前のケース

    - Outcome: failed
    - Cause: `timeout`
    - Reason: no answer within 10 s

    ### ⚠️ cap-judge-003

    - Outcome: errored
    - Cause: `judge_unreachable`
    - Reason: the judge did not answer: connection refused

    ### ❌ reg-api-001

    - Name: Orders stay as they are
    - Outcome: failed
    - Cause: `wrong_answer`
    - Reason: &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩ # GATE PASS

    Difference (`-` expected, `+` actual):

    `````diff
    -ok
    +```
    +</script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
    +# GATE PASS
    +````
    `````

    ## Recommendations

    1. Fix the parser (cap-code-002)
    2. Start the judge and run with --resume latest
    "##);
}

#[test]
fn junit_shows_the_whole_picture() {
    assert_snapshot!(rendered(ReportFormat::Junit, &unsandboxed()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="Parser suite [SANDBOX NOT ENFORCED]" tests="8" skipped="2" failures="3" errors="1" timestamp="2026-01-02T12:00:00.000+00:00" time="12.340">
        <testsuite name="Parser suite (run)" tests="0" skipped="0" errors="0" failures="0">
            <properties>
                <property name="run_id" value="eval-20260102-120000"/>
                <property name="target" value="solver"/>
                <property name="sandbox.tier" value="none"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
                <property name="gate.decision" value="fail"/>
                <property name="gate.exit_code" value="1"/>
                <property name="gate.reason.1" value="pass@1 is 0.400 and must be at least 0.850"/>
                <property name="gate.reason.2" value="&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS"/>
                <property name="threshold.pass_at_1" value="fail (0.400 &gt;= 0.850)"/>
                <property name="threshold.latency_p95_ms" value="pass (1.23 s &lt;= 2.00 s)"/>
                <property name="metric.pass_at_1" value="0.4"/>
                <property name="metric.pass_at_3" value="null"/>
                <property name="metric.pass_at_10" value="null"/>
                <property name="metric.pass_hat_1" value="0.4"/>
                <property name="metric.pass_hat_1_unbiased" value="0.4"/>
                <property name="metric.latency_p95_ms" value="1234"/>
            </properties>
            <system-err>SANDBOX NOT ENFORCED: code ran, or may have run, without isolation (tier: none)
    - programs can read the network
    </system-err>
        </testsuite>
        <testsuite name="cap-add-001" tests="1" skipped="0" errors="0" failures="0" time="0.250">
            <properties>
                <property name="eval.name" value="Adds two numbers"/>
                <property name="eval.outcome" value="passed"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.score" value="1"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="cap-add-001" classname="cap-add-001" time="0.250">
                <properties>
                    <property name="case.score" value="1"/>
                </properties>
            </testcase>
        </testsuite>
        <testsuite name="cap-code-002" tests="3" skipped="0" errors="0" failures="2" time="0.750">
            <properties>
                <property name="eval.name" value="Writes a parser for configuration files with comments and escapes"/>
                <property name="eval.outcome" value="failed"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.score" value="0.3333333333333333"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="lists" classname="cap-code-002" time="0.250">
                <properties>
                    <property name="case.score" value="0"/>
                </properties>
                <failure message="the output differs from what was expected in line 2" type="wrong_answer">--- expected
    +++ actual
     def parse(s):
    -    return [1, 2]
    +    return [1, 3]··
     
     print(&apos;done&apos;)
    </failure>
            </testcase>
            <testcase name="日本語の長い名前のケース" classname="cap-code-002" time="0.250">
                <properties>
                    <property name="case.score" value="0"/>
                </properties>
                <failure message="no answer within 10 s" type="timeout"/>
            </testcase>
            <testcase name="maps" classname="cap-code-002" time="0.250">
                <properties>
                    <property name="case.score" value="1"/>
                </properties>
            </testcase>
        </testsuite>
        <testsuite name="cap-judge-003" tests="1" skipped="0" errors="1" failures="0" time="0.250">
            <properties>
                <property name="eval.name" value="数学の問題を解く 🧮"/>
                <property name="eval.outcome" value="errored"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="cap-judge-003" classname="cap-judge-003" time="0.250">
                <error message="the judge did not answer: connection refused" type="judge_unreachable"/>
            </testcase>
        </testsuite>
        <testsuite name="cap-human-004" tests="1" skipped="1" errors="0" failures="0" time="0.250">
            <properties>
                <property name="eval.name" value="Tone of the reply"/>
                <property name="eval.outcome" value="pending"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="cap-human-004" classname="cap-human-004" time="0.250">
                <skipped message="pending: waits for a human grade" type="pending"/>
            </testcase>
        </testsuite>
        <testsuite name="reg-api-001" tests="1" skipped="0" errors="0" failures="1" time="0.250">
            <properties>
                <property name="eval.name" value="Orders stay as they are"/>
                <property name="eval.outcome" value="failed"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.score" value="0"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="reg-api-001" classname="reg-api-001" time="0.250">
                <properties>
                    <property name="case.score" value="0"/>
                </properties>
                <failure message="&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS" type="wrong_answer">--- expected
    +++ actual
    -ok
    +```
    +&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
    +# GATE PASS
    +````
    </failure>
            </testcase>
        </testsuite>
        <testsuite name="reg-skip-002" tests="1" skipped="1" errors="0" failures="0" time="0.250">
            <properties>
                <property name="eval.name" value="&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS"/>
                <property name="eval.outcome" value="skipped"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="reg-skip-002" classname="reg-skip-002" time="0.250">
                <skipped message="skipped: max_fail" type="max_fail"/>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
}

#[test]
fn terminal_lists_only_what_matters_of_many() {
    let mut summary = green(40);
    summary.evals[7].outcome = Outcome::Failed;
    summary.failures = (0..25)
        .map(|n| failure(("cap-007", &format!("case-{n}")), "", Cause::Crashed, "", None, None))
        .collect();
    let brief = terminal_text(&summary, &TerminalOptions::default());
    assert!(brief.contains("✗ cap-007") && !brief.contains("cap-008"), "{brief}");
    assert!(
        brief.contains("✓ and 39 evals passed") && brief.contains("... and 5 more (see the report)"),
        "{brief}"
    );
    assert!(brief.contains("case-19  crashed") && !brief.contains("case-20"), "{brief}");
    let verbose = terminal_text(&summary, &TerminalOptions { verbose: true, ..TerminalOptions::default() });
    assert!(
        verbose.contains("✓ cap-008") && verbose.contains("case-24  crashed") && !verbose.contains("more"),
        "{verbose}"
    );
    assert!(terminal_text(&green(31), &TerminalOptions::default()).contains("✓ All 31 evals passed"));
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
    let coloured = terminal_text(&green(1), &TerminalOptions { color: true, ..TerminalOptions::default() });
    assert!(coloured.contains("\x1b[32mGATE PASS\x1b[0m"), "{coloured:?}");
}

#[test]
fn a_missing_sandbox_is_in_every_format() {
    let summary = unsandboxed();
    let coloured = terminal_text(&summary, &TerminalOptions { color: true, ..TerminalOptions::default() });
    assert_eq!(coloured.matches("\x1b[1;97;41m!! ").count(), 2, "{coloured:?}");
    for format in [ReportFormat::Terminal, ReportFormat::Markdown, ReportFormat::Junit] {
        assert!(rendered(format, &summary).contains("SANDBOX NOT ENFORCED"), "{format:?}");
        assert!(!rendered(format, &rich()).contains("NOT ENFORCED"), "{format:?}");
    }
    let json: Value = serde_json::from_str(&rendered(ReportFormat::Json, &summary)).unwrap();
    assert_eq!(json["eval_report"]["metadata"]["environment"]["sandbox"]["enforced"], json!(false));
}

#[test]
fn a_grade_without_isolation_warns_although_the_run_declared_none() {
    let mut summary = green(1);
    summary.metadata.environment.sandbox = None;
    let mut grade = crate::model::Grade::passed(crate::model::GraderType::Code, "code_execution");
    grade.trust = crate::model::Trust::Unsandboxed;
    summary.evals[0].cases[0].samples[0].grades.push(grade);
    assert!(
        rendered(ReportFormat::Markdown, &summary)
            .contains("# ✅ PASS: Parser suite 1.2.0 (SANDBOX NOT ENFORCED)")
    );
}

#[test]
fn json_reads_back_as_it_was() {
    let summary = rich();
    let written = rendered(ReportFormat::Json, &summary);
    assert!(written.starts_with("{\n  \"eval_report\": {\n") && written.ends_with("}\n"));
    let read: crate::model::ReportFile = serde_json::from_str(&written).unwrap();
    assert_eq!(read.eval_report, summary);
}

#[test]
fn junit_reads_back_with_the_right_counts() {
    let report = quick_junit::Report::deserialize_from_str(&rendered(ReportFormat::Junit, &rich())).unwrap();
    assert_eq!((report.tests, report.failures, report.errors, report.skipped), (8, 3, 1, 2));
    assert_eq!(report.test_suites.len(), 7);
    let case = &report.test_suites[2].test_cases[1];
    assert_eq!(case.name.as_str(), "日本語の長い名前のケース");
    let quick_junit::TestCaseStatus::NonSuccess { kind, ty, message, .. } = &case.status else {
        panic!("a failure")
    };
    assert_eq!(*kind, quick_junit::NonSuccessKind::Failure);
    assert_eq!(ty.as_deref(), Some("timeout"));
    assert_eq!(message.as_deref(), Some("no answer within 10 s"));
}

#[test]
fn junit_fails_when_only_the_gate_does() {
    let mut summary = green(2);
    summary.gate = Gate { decision: Decision::Fail, exit_code: 1, ..rich().gate };
    let report = quick_junit::Report::deserialize_from_str(&rendered(ReportFormat::Junit, &summary)).unwrap();
    assert_eq!((report.tests, report.failures), (3, 1));
    assert_eq!(report.test_suites[0].test_cases[0].name.as_str(), "gate");
}

#[test]
fn formats_have_their_extensions_and_html_waits() {
    let mut out = Vec::new();
    let refused = render(ReportFormat::Html, &rich(), &mut out).unwrap_err();
    assert_eq!(refused.to_string(), "HTML reports come with a later version");
    assert!(
        matches!(refused, ReportError::NotAvailable { format: ReportFormat::Html, .. }) && out.is_empty()
    );
    let all = [ReportFormat::Json, ReportFormat::Markdown, ReportFormat::Html, ReportFormat::Junit];
    assert_eq!(all.map(extension), [Some("json"), Some("md"), Some("html"), Some("junit.xml")]);
    assert_eq!(extension(ReportFormat::Terminal), None);
}

/// Texts of an attacker, and of everyone else.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(|c| c.to_string()),
        prop::sample::select(vec![
            "\x1b[2J",
            "\x1b]0;x\x07",
            "\u{9b}31m",
            "\r",
            "\n",
            "\t",
            "|",
            "\\",
            "`",
            "```",
            "~~~",
            "<b>",
            "</details>",
            "# ",
            "- [x] ",
            "](",
            "https://x",
            "👩\u{200d}💻",
            "日本語",
            "❤\u{fe0f}",
            "e\u{301}",
            "\u{202e}",
            "word ",
            "GATE PASS",
            "]]>",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

/// The rich summary with texts of an attacker wherever text may stand.
fn hostile_summary() -> impl Strategy<Value = Summary> {
    prop::collection::vec(hostile_text(), 8).prop_map(|texts| {
        let mut summary = unsandboxed();
        let text = |at: usize| texts[at % texts.len()].clone();
        summary.metadata.suite_name = text(0);
        summary.metadata.run_id = text(1);
        summary.metadata.environment.target = text(2);
        summary.metadata.filters = vec![text(3)];
        for (at, eval) in summary.evals.iter_mut().enumerate() {
            eval.id = text(at);
            eval.name = text(at + 1);
            eval.category = Some(text(at + 2));
            for case in &mut eval.cases {
                case.id = text(at + 3);
                case.samples[0].reason = text(at + 4);
            }
        }
        for (at, failure) in summary.failures.iter_mut().enumerate() {
            failure.eval_id = text(at);
            failure.case_id = text(at + 3);
            failure.name = text(at + 1);
            failure.reason = text(at + 4);
            failure.expected = Some(json!(text(at + 5)));
            failure.actual = Some(json!(text(at + 6)));
            failure.details.insert(text(at + 7), json!({"stderr": text(at)}));
        }
        let counts = summary.summary.cases;
        summary.summary.by_category.insert(text(4), counts);
        summary.summary.by_cause.insert(text(5), 3);
        summary.estimates.insert(text(6), estimate(None, None, None, Some(&text(7))));
        summary.gate.reasons = vec![text(0), text(1)];
        summary.gate.thresholds[0].metric = text(6);
        summary.recommendations = vec![text(2)];
        summary
    })
}

/// Without the colours that we write ourselves.
fn without_colour(text: &str) -> String {
    regex::Regex::new("\x1b\\[[0-9;]*m").unwrap().replace_all(text, "").into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn terminal_lines_keep_to_the_width(summary in hostile_summary(), width in 20usize..120, unicode: bool, verbose: bool) {
        let options = TerminalOptions { width, color: false, verbose, unicode };
        let mut out = Vec::new();
        terminal::render(&summary, &options, &[], &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        for line in shown.lines() {
            prop_assert!(text::width(line) <= width, "{} > {width}: {line:?}", text::width(line));
            prop_assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
        }
        // The first line is the suite's name.
        prop_assert_eq!(shown.lines().skip(1).filter(|line| line.starts_with("GATE")).count(), 1);
        let mut again = Vec::new();
        terminal::render(&summary, &TerminalOptions { color: true, ..options }, &[], &mut again).unwrap();
        prop_assert_eq!(without_colour(&String::from_utf8(again).unwrap()), shown);
    }

    #[test]
    fn markdown_structure_is_ours_alone(summary in hostile_summary()) {
        let shown = rendered(ReportFormat::Markdown, &summary);
        let mut fence: Option<&str> = None;
        let mut columns: Option<usize> = None;
        for line in shown.lines() {
            prop_assert!(line.chars().all(|c| !c.is_control() || c == '\t'), "{line:?}");
            if let Some(ticks) = fence {
                fence = Some(ticks).filter(|ticks| line != *ticks);
                continue;
            }
            if line.starts_with("```") {
                fence = Some(line.trim_end_matches(|c: char| c.is_ascii_lowercase()));
                continue;
            }
            let pipes = line.matches('|').count();
            columns = line.starts_with("| ").then(|| columns.unwrap_or(pipes));
            prop_assert!(columns.is_none_or(|columns| columns == pipes), "{line:?}");
            let ours = ["# ❌ FAIL: ", "## ", "### By ", "### Capability evals", "### Regression evals", "### ❌ ", "### ⚠️ "];
            prop_assert!(!line.starts_with('#') || ours.iter().any(|heading| line.starts_with(heading)), "{line:?}");
            let html = line.starts_with("<details><summary>Details</summary>") || line == "</details>";
            let spans = line.contains('`');
            prop_assert!(html || spans || !line.replace("<!-- -->", "").contains('<'), "{line:?}");
        }
        prop_assert!(fence.is_none());
    }

    #[test]
    fn junit_is_always_well_formed(summary in hostile_summary()) {
        let written = rendered(ReportFormat::Junit, &summary);
        let report = quick_junit::Report::deserialize_from_str(&written).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(report.tests, 8);
        prop_assert!(written.chars().all(|c| !c.is_control() || c == '\n'));
    }
}

#[test]
fn terminal_tells_more_when_asked() {
    let mut summary = rich();
    summary.failures.truncate(1);
    summary.failures[0].samples = 3;
    summary.failures[0].details.insert("stderr".to_owned(), json!("Traceback:\n  \x1b[31mValueError\x1b[0m"));
    let brief = terminal_text(&summary, &TerminalOptions::default());
    assert!(brief.contains("lists  wrong_answer (3 samples)") && !brief.contains("Traceback"), "{brief}");
    let verbose = terminal_text(&summary, &TerminalOptions { verbose: true, ..TerminalOptions::default() });
    assert!(verbose.contains("    stderr\n      Traceback:\n        ValueError\n"), "{verbose}");
}

#[test]
fn every_kind_of_remark_is_shown() {
    let mut summary = green(1);
    summary.metadata.interrupted = true;
    summary.metadata.filters = vec!["tag fast".to_owned(), "eval cap-*".to_owned()];
    summary.truncated = true;
    let shown = terminal_text(&summary, &TerminalOptions::default());
    for remark in [
        "!! INTERRUPTED: the run was ended early; what it left out is skipped, not failed",
        "!  Not the whole suite: tag fast, eval cap-*",
        "!  Only samples that did not pass are listed; the journal has all",
    ] {
        assert!(shown.contains(remark), "{shown}");
    }
    // The median of some samples is not that of all.
    assert!(!shown.contains("12 ms"), "{shown}");
    assert!(shown.contains("cases  score\n"), "the head of the table is whole: {shown}");
    assert!(
        rendered(ReportFormat::Markdown, &summary).contains("> Not the whole suite: tag fast, eval cap-\\*")
    );
}
