//! The comment on a pull request.

use insta::assert_snapshot;

use super::*;
use crate::report::{comment, limits};

#[test]
fn a_comment_says_the_decision_the_thresholds_and_what_failed() {
    assert_snapshot!(rendered(ReportFormat::Comment, &unsandboxed()), @r"
    <!-- eval-harness: Parser%20suite -->
    ## ❌ FAIL: Parser suite 1.2.0 (SANDBOX NOT ENFORCED)

    > [!CAUTION]
    > **SANDBOX NOT ENFORCED: code ran, or may have run, without isolation (tier: none)**

    - pass@1 is 0.400 and must be at least 0.850
    - &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩ # GATE PASS

    | Threshold | Value | 95 % CI | Needs | Status |
    | --- | ---: | --- | --- | --- |
    | pass@1 | 0.400 | [0.117, 0.769] | >= 0.850 | ❌ FAIL |
    | latency p95 | 1.23 s |  | &lt;= 2.00 s | ✅ PASS |

    ### Summary

    |  | Total | Pass rate | Passed | Failed | Errored | Skipped | Pending |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | **Evals** | 6 | 33.3 % | 1 | 2 | 1 | 1 | 1 |
    | **Cases** | 8 | 40.0 % | 2 | 3 | 1 | 1 | 1 |

    ### Not passed (4)

    <details><summary>❌ <code>cap-code-002</code> › <code>lists</code>  wrong_answer</summary>

    the output differs from what was expected in line 2

    Expected (`-`) and actual (`+`):

    ```diff
     def parse(s):
    -    return [1, 2]
    +    return [1, 3]··
     
     print('done')
    ```

    </details>

    <details><summary>❌ <code>cap-code-002</code> › <code>日本語の長い名前のケース</code>  timeout</summary>

    no answer within 10 s

    </details>

    <details><summary>⚠️ <code>cap-judge-003</code>  judge_unreachable</summary>

    the judge did not answer: connection refused

    </details>

    <details><summary>❌ <code>reg-api-001</code>  wrong_answer</summary>

    &lt;/script&gt;&lt;img src=x&gt; \`rm -rf\` &#124; \[a\](http&#58;//evil) @<!-- -->admin⟨U+202E⟩<br># GATE PASS

    Expected (`-`) and actual (`+`):

    `````diff
    -ok
    +```
    +</script><img src=x> `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
    +# GATE PASS
    +````
    `````

    </details>

    Run these again:

    ```sh
    eval-harness run --suite evals/eval-suite.yaml --failed-in eval-20260102-120000
    ```

    run `eval-20260102-120000` · commit `0123456789ab` (with uncommitted changes) · eval-harness 0.1.0
    ");
}

#[test]
fn a_comment_of_a_pass_is_short() {
    assert_snapshot!(rendered(ReportFormat::Comment, &green(3)), @"
    <!-- eval-harness: Parser%20suite -->
    ## ✅ PASS: Parser suite 1.2.0

    ### Summary

    |  | Total | Pass rate | Passed |
    | --- | ---: | ---: | ---: |
    | **Evals** | 3 | 100 % | 3 |
    | **Cases** | 3 | 100 % | 3 |

    run `eval-20260102-120000` · commit `0123456789ab` (with uncommitted changes) · eval-harness 0.1.0
    ");
}

#[test]
fn no_run_is_too_large_for_a_comment() {
    for cases in [40, 400, 5_000] {
        let mut summary = red(cases, true);
        for failure in &mut summary.failures {
            failure.reason = "é".repeat(5_000);
            failure.expected = Some(json!("`".repeat(5_000)));
            failure.actual = Some(json!({"a": "<b>\n".repeat(3_000)}));
        }
        summary.gate.reasons = vec!["because ".repeat(1_000); 200];
        summary.metadata.suite_name = "日".repeat(4_000);
        let shown = rendered(ReportFormat::Comment, &summary);
        assert!(shown.len() <= limits::comment::LARGEST, "{}", shown.len());
        assert!(shown.contains("... and 190 more reasons"));
        let told = shown.matches("<details><summary>").count();
        assert!(told >= 4, "{told}");
        let more = eval_base::text::group_digits(summary.failures.len() - told);
        assert!(
            shown.contains(&format!(
                "... and {more} more cases; the report contains everything"
            )),
            "{told} of {cases}"
        );
        assert!(
            shown
                .lines()
                .last()
                .is_some_and(|line| line.starts_with("run `"))
        );
    }
}

#[test]
fn reasons_that_grow_when_they_are_escaped_fit_as_well() {
    for filler in ["|", "<", "a\u{301}\u{302}\u{303}\u{304}"] {
        let mut summary = red(40, true);
        summary.gate.reasons = vec![filler.repeat(5_000); 20];
        let shown = rendered(ReportFormat::Comment, &summary);
        assert!(shown.len() <= limits::comment::LARGEST, "{}", shown.len());
        assert!(shown.starts_with("<!-- eval-harness: "));
    }
}

#[test]
fn the_hidden_line_ends_where_we_end_it() {
    assert_eq!(
        comment::marker("eval-harness", "Support answers"),
        "<!-- eval-harness: Support%20answers -->\n"
    );
    assert_eq!(
        comment::marker("eval-harness", "--> <b>@all"),
        "<!-- eval-harness: %2D-%2D%3E%20%3Cb%3E%40all -->\n".replace("%2D-%2D", "%2D-")
    );
    assert_eq!(
        comment::marker("eval-harness phase", "a----b"),
        "<!-- eval-harness phase: a-%2D-%2Db -->\n"
    );
}

/// A case with failed and with errored samples has two failures.
#[test]
fn truncated_list_counts_cases_and_not_failures() {
    let mut summary = red(30, true);
    for at in [25, 3, 0] {
        let mut second = summary.failures[at].clone();
        (second.outcome, second.cause) = (Outcome::Errored, Some(Cause::TargetTimeout));
        summary.failures.insert(at + 1, second);
    }
    let shown = rendered(ReportFormat::Comment, &summary);
    assert_eq!(shown.matches("<details>").count(), 12);
    assert!(
        shown.contains("### Not passed (30)") && shown.contains("... and 20 more cases"),
        "{shown}"
    );
    let shown = terminal_text(&summary, &TerminalOptions::default());
    let is_title = |line: &&str| line.contains(" › ") && line.trim_start().starts_with('✗');
    let named = shown.lines().filter(is_title).count();
    let more = format!("... and {} more cases", 30 - named);
    assert!(named > 3 && shown.contains(&more), "{named}: {shown}");
}

#[test]
fn a_comment_shows_ten_cases() {
    let shown = rendered(ReportFormat::Comment, &red(30, true));
    assert_eq!(shown.matches("<details>").count(), 10);
    assert!(shown.contains("### Not passed (30)") && shown.contains("... and 20 more cases"));
    assert!(shown.chars().count() < 65_536);
}
