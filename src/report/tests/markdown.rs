//! The Markdown report.

use insta::assert_snapshot;

use super::*;

#[test]
fn markdown_shows_the_whole_picture() {
    assert_snapshot!(rendered(ReportFormat::Markdown, &unsandboxed()), @r"
    # ❌ FAIL: Parser suite 1.2.0 (SANDBOX NOT ENFORCED)

    > [!CAUTION]
    > **SANDBOX NOT ENFORCED: code ran, or may have run, without isolation (tier: none)**
    >
    > - programs can read the network

    target `solver` (command) · run `eval-20260102-120000` · 12.3 s · sandbox none (**not enforced**) · 2026-01-02T12:00:00Z · commit `0123456789ab` (with uncommitted changes) · eval-harness 0.1.0 · linux/x86_64

    ## Gate

    **FAIL** (exit code 1)

    - pass@1 is 0.400 and must be at least 0.850
    - &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩ # GATE PASS

    | Threshold | Value | 95 % CI | Needs | Status |
    | --- | ---: | --- | --- | --- |
    | pass@1 | 0.400 | [0.117, 0.769] | >= 0.850 | ❌ FAIL |
    | latency p95 | 1.23 s |  | &lt;= 2.00 s | ✅ PASS |

    ## Summary

    |  | Total | Pass rate | Passed | Failed | Errored | Skipped | Pending |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | **Evals** | 6 | 33.3 % | 1 | 2 | 1 | 1 | 1 |
    | **Cases** | 8 | 40.0 % | 2 | 3 | 1 | 1 | 1 |

    Pass rates are over what was graded: passed / (passed + failed).

    Weighted score: 0.444.

    1 sample passed only on a later attempt (flaky)

    2 samples timed out and had to be run again, alone, to confirm the timeout

    ## Recommendations

    1. Fix the parser (cap-code-002)
    2. Start the judge and run with --resume latest

    ## Not passed (4)

    Run these again:

    ```sh
    eval-harness run --suite evals/eval-suite.yaml --failed-in eval-20260102-120000
    ```

    ### ❌ cap-code-002 › lists  wrong_answer

    A list of items

    the output differs from what was expected in line 2

    Expected (`-`) and actual (`+`):

    ```diff
     def parse(s):
    -    return [1, 2]
    +    return [1, 3]··
     
     print('done')
    ```

    ### ❌ cap-code-002 › 日本語の長い名前のケース  timeout

    no answer within 10 s

    ### ⚠️ cap-judge-003  judge_unreachable

    the judge did not answer: connection refused

    ### ❌ reg-api-001  wrong_answer

    &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩<br># GATE PASS

    Expected (`-`) and actual (`+`):

    `````diff
    -ok
    +```
    +</script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
    +# GATE PASS
    +````
    `````

    ## Evals

    | Eval | Name | Type | Cases | Score | Latency |
    | --- | --- | --- | ---: | ---: | ---: |
    | ✅ cap-add-001 | Adds two numbers | capability | 1/1 | 1.000 | 12 ms |
    | ❌ cap-code-002 | Writes a parser for configuration files with comments and escapes | capability | 1/3 | 0.333 | 12 ms |
    | ⚠️ cap-judge-003 | 数学の問題を解く 🧮 | capability | 0/1 | - | 12 ms |
    | ⏳ cap-human-004 | Tone of the reply | capability | 0/1 | - | 12 ms |
    | ❌ reg-api-001 | Orders stay as they are | regression | 0/1 | 0.000 | 12 ms |
    | ➖ reg-skip-002 | &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩ # GATE PASS | regression | 0/1 | - | 12 ms |

    ### By type and category

    | Group | Total | Pass rate | Passed | Failed | Errored | Skipped | Pending |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | type: capability | 4 | 50.0 % | 1 | 1 | 1 | 0 | 1 |
    | type: regression | 2 | 0 % | 0 | 1 | 0 | 1 | 0 |
    | category: code &#124; gen | 8 | 40.0 % | 2 | 3 | 1 | 1 | 1 |

    ### By cause

    | Cause | Samples |
    | --- | ---: |
    | timeout | 1 |
    | wrong_answer | 2 |

    ### By trust

    | Trust | Samples | Grades | What it means |
    | --- | ---: | ---: | --- |
    | harness | 1,200 | 1,300 | results were compared in the harness |
    | split | 44 | 44 | the tests ran in a process without the candidate's code |

    ## Metrics

    | Metric | Value | 95 % CI | Cases | Worst, best | Remark |
    | --- | ---: | --- | ---: | --- | --- |
    | pass@1 | 0.400 | [0.117, 0.769] | 6 | [0.250, 0.625] |  |
    | pass@3 | n/a |  |  |  | 3 samples per case are needed; there is 1 |
    | pass@10 | n/a |  |  |  | 10 samples per case are needed; there is 1 |
    | latency p95 | 1.23 s |  | 6 |  |  |

    Intervals are for cases like these, in these evals.

    Worst, best: the value if all samples without a grade had failed, or had passed.
    ");
}

#[test]
fn markdown_of_many_failures_tells_some_names_more_and_counts_the_rest() {
    for (summary, evals) in [(red(20_000, false), 1), (red(10_000, true), 10_000)] {
        let shown = rendered(ReportFormat::Markdown, &summary);
        assert_eq!(shown.matches("\n### ❌ ").count(), 50);
        assert!(
            shown.contains("### More cases")
                && shown.contains("| cap-0 | case-60 |") == (evals == 1)
        );
        let more = if evals == 1 {
            "... and 19,750 more cases; the JSON report lists all"
        } else {
            "... and 9,750 more cases"
        };
        assert!(shown.contains(more), "{}", shown.len());
        assert!(shown.contains("not listed: ❌ 9,900 evals failed") == (evals == 10_000));
        assert!(shown.len() < 250_000, "{}", shown.len());
    }
    let many = rendered(ReportFormat::Markdown, &green(101));
    assert!(
        many.contains("## Evals\n\n✅ 101 evals passed; the JSON report lists all\n"),
        "{many}"
    );
}

#[test]
fn markdown_tells_flaky_samples_apart_from_calls_made_again() {
    let shown = rendered(ReportFormat::Markdown, &flaky());
    assert_snapshot!(&shown[shown.find("## Flaky").unwrap()..], @r"
    ## Flaky

    These passed on a later attempt only; pass@k and pass^k count first attempts.

    | Case | Sample | Attempts | First attempt |
    | --- | ---: | ---: | --- |
    | cap-000 | 1 | 3 | expected 4, got &#124; 5 |
    | cap-000 › &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩ # GATE PASS | 1 | 3 | expected 4, got &#124; 5 |
    | cap-001 |  |  |  |

    ## Evals

    | Eval | Name | Type | Cases | Score | Latency |
    | --- | --- | --- | ---: | ---: | ---: |
    | ✅ cap-000 | Adds | capability | 1/1 | 1.000 | 12 ms |
    | ✅ cap-001 | Adds | capability | 1/1 | 1.000 |  |

    ## Metrics

    | Metric | Value | 95 % CI | Cases | Remark |
    | --- | ---: | --- | ---: | --- |
    | pass@1 | 0.400 | [0.117, 0.769] | 6 |  |
    | pass@3 | n/a |  |  | 3 samples per case are needed; there is 1 |
    | pass@10 | n/a |  |  | 10 samples per case are needed; there is 1 |
    | latency p95 | 1.23 s |  | 6 |  |

    Intervals are for cases like these, in these evals.
    ");
    assert!(shown.contains(
        "3 samples passed only on a later attempt (flaky)\n\n4 calls to the target did not get through and had to be \
         retried\n"
    ));
}

#[test]
fn markdown_offers_to_go_on_with_what_was_ended_early() {
    let mut summary = green(1);
    summary.metadata.interrupted = true;
    let shown = rendered(ReportFormat::Markdown, &summary);
    assert_snapshot!(&shown[..shown.find("target `").unwrap()], @"
    # ✅ PASS: Parser suite 1.2.0

    > [!CAUTION]
    > **INTERRUPTED: the run ended early; samples that did not run are skipped, not failed**
    >
    > `eval-harness run --resume eval-20260102-120000 --suite evals/eval-suite.yaml`
    ");
}

#[test]
fn markdown_names_a_path_where_two_documents_would_begin_alike() {
    let mut summary = red(1, false);
    let failure = summary.failures.first_mut().unwrap();
    failure.expected = Some(json!({"id": 1, "total": 13.5}));
    failure.actual = Some(json!({"id": 1, "total": 14}));
    failure.reason = "total: expected 13.5, got 14".into();
    let listed = json!([{"path": "total", "kind": "value", "expected": "13.5", "actual": "14"}]);
    failure.details.insert("differences".into(), listed);
    let shown = rendered(ReportFormat::Markdown, &summary);
    let failed = &shown[shown.find("\n## Not passed").unwrap()..];
    assert!(failed.contains("@@ total @@\n- 13.5\n+ 14\n"), "{failed}");
    assert!(
        !failed.contains("Expected:") && !failed.contains("\"id\""),
        "{failed}"
    );
}
