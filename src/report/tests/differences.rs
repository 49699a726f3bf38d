//! What differs, path by path, as people read it.

use super::*;
use eval_match::{Difference, differences};

fn details(found: &[Difference], count: usize) -> serde_json::Map<String, Value> {
    let listed: Vec<Value> = found
        .iter()
        .map(|d| json!({"path": d.path, "kind": d.kind.name(), "expected": d.expected, "actual": d.actual}))
        .collect();
    serde_json::Map::from_iter([
        ("differences".to_owned(), json!(listed)),
        ("difference_count".to_owned(), json!(count)),
        (
            "warnings".to_owned(),
            json!(["ignore_fields: x matches nothing"]),
        ),
    ])
}

fn summary_with(details: serde_json::Map<String, Value>) -> Summary {
    let mut summary = red(1, false);
    let ids = ("cap-0", "case-0");
    let sides = (Some(json!({"status": 200})), Some(json!({"status": 500})));
    let reason = "body.page: expected 1, got 2; and 30 differences";
    summary.failures = vec![Failure {
        details,
        ..failure(ids, "Users", Cause::WrongAnswer, reason, sides.0, sides.1)
    }];
    summary
}

fn users() -> Summary {
    let user = |n: usize, email: &str| json!({"id": n, "email": email});
    let long = |word: &str| {
        format!(
            "Consider using `const` instead of `let`, since this value is never {word} in this function"
        )
    };
    let old: Vec<Value> = (0..20).map(|n| user(n, "ann@x.example")).collect();
    let new: Vec<Value> = (0..20).map(|n| user(n, "nobody")).collect();
    let found = differences(
        &json!({"body": {"page": 1, "users": old, "note": long("reassigned"), "next": null}}),
        &json!({"body": {"page": 2, "users": new, "note": long("reused"), "more": {"a": [1]}}}),
    );
    summary_with(details(&found, found.len() + 7))
}

fn section<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let start = text.find(from).unwrap_or_default();
    let end = text[start..].find(to).map_or(text.len(), |end| start + end);
    text[start..end].trim_end()
}

#[test]
fn a_terminal_shows_one_place_after_the_other() {
    let text = terminal_text(&users(), &TerminalOptions::default());
    insta::assert_snapshot!(section(&text, "Not passed", "\n\n   "), @r#"
    Not passed (1)

      ✗ cap-0 › case-0  wrong_answer
        Users
        body.page: expected 1, got 2; and 30 differences
        - expected  + actual
        body.next  missing
          - null
        body.note
          - …nstead of `let`, since this value is never reassigned in this function"
          + …nstead of `let`, since this value is never reused in this function"
        body.page
          - 1
          + 2
        body.users[*].email  20 elements, the first body.users[0].email
          - "ann@x.example"
          + "nobody"
        body.more  not expected
          + {"a":[1]}
          … 7 more differences; --verbose shows more

    GATE FAIL
    rerun    eval-harness run --suite evals/eval-suite.yaml --failed-in eval-20260102-120000
    more     eval-harness report --suite evals/eval-suite.yaml --run eval-20260102-120000 --verbose
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    "#);
    assert!(
        text.lines()
            .filter(|line| !line.starts_with("rerun") && !line.starts_with("more "))
            .all(|line| eval_base::text::width(line) <= 80),
        "{text}"
    );
    let verbose = terminal_text(
        &users(),
        &TerminalOptions {
            verbose: true,
            ..TerminalOptions::default()
        },
    );
    assert!(
        !verbose.contains("difference_count") && verbose.contains("warnings"),
        "{verbose}"
    );
}

#[test]
fn markdown_shows_one_place_after_the_other() {
    let text = rendered(ReportFormat::Markdown, &users());
    insta::assert_snapshot!(section(&text, "\n- Reason", "<details>").trim_start(), @r#"
    # ❌ FAIL: Parser suite 1.2.0

    target `solver` (command) · run `eval-20260102-120000` · 12.3 s · sandbox userns · 2026-01-02T12:00:00Z · commit `0123456789ab` (with uncommitted changes) · eval-harness 0.1.0 · linux/x86_64

    ## Gate

    **FAIL** (exit code 0)

    No thresholds are set: the gate passes when every eval passes.

    ## Summary

    |  | Total | Pass rate | Passed | Failed |
    | --- | ---: | ---: | ---: | ---: |
    | **Cases** | 1 | 0 % | 0 | 1 |

    Pass rates are over what was graded: passed / (passed + failed).

    ## Not passed (1)

    Run these again:

    ```sh
    eval-harness run --suite evals/eval-suite.yaml --failed-in eval-20260102-120000
    ```

    ### ❌ cap-0 › case-0  wrong_answer

    Users

    body.page: expected 1, got 2; and 30 differences

    Expected (`-`) and actual (`+`), and 7 more differences; the JSON report contains everything:

    ```diff
    @@ body.next: missing @@
    - null
    @@ body.note @@
    - "Consider using `const` instead of `let`, since this value is never reassigned in this function"
    + "Consider using `const` instead of `let`, since this value is never reused in this function"
    @@ body.page @@
    - 1
    + 2
    @@ body.users[*].email: 20 elements, the first body.users[0].email @@
    - "ann@x.example"
    + "nobody"
    @@ body.more: not expected @@
    + {"a":[1]}
    ```
    "#);
    // What no row tells stays among the details; what is told does not.
    assert!(text.contains("difference_count"));
    let mut all = users();
    all.failures[0]
        .details
        .insert("difference_count".to_owned(), json!(1));
    let text = rendered(ReportFormat::Markdown, &all);
    assert!(
        !text.contains("difference_count") && text.contains("matches nothing"),
        "{text}"
    );
}

#[test]
fn json_and_junit_carry_the_details() {
    let text = rendered(ReportFormat::Json, &users());
    assert!(
        text.contains("body.users[19].email") && text.contains("difference_count"),
        "{text}"
    );
    let text = rendered(ReportFormat::Junit, &users());
    insta::assert_snapshot!(section(&text, "@@ body.page", "@@ body.more"), @r#"
    @@ body.page @@
    - 1
    + 2
    @@ body.users[*].email: 20 elements, the first body.users[0].email @@
    - &quot;ann@x.example&quot;
    + &quot;nobody&quot;
    "#);
}

#[test]
fn hostile_paths_and_values_are_harmless() {
    let hostile = "a\u{1b}[2J\n```\n</details>\n# x @user | b\r\u{202e}";
    let found = differences(
        &json!({hostile: hostile, "k": 1}),
        &json!({hostile: [hostile], "other\n": hostile}),
    );
    let summary = summary_with(details(&found, found.len()));
    let text = terminal_text(&summary, &TerminalOptions::default());
    insta::assert_snapshot!(section(&text, "    - expected", "\n\n"), @r##"
    - expected  + actual
    ["a\u{1b}[2J\n```\n</details>\n# x @user | b\r\u{202e}"]
      - "a\u001b[2J\n```\n</details>\n# x @user | b\r⟨U+202E⟩"
      + ["a\u001b[2J\n```\n</details>\n# x @user | b\r⟨U+202E⟩"]
    k  missing
      - 1
    other  not expected
      + "a\u001b[2J\n```\n</details>\n# x @user | b\r⟨U+202E⟩"
"##);
    let text = rendered(ReportFormat::Markdown, &summary);
    insta::assert_snapshot!(section(&text, "Differences", "<details>"), @r#"
    # ❌ FAIL: Parser suite 1.2.0

    target `solver` (command) · run `eval-20260102-120000` · 12.3 s · sandbox userns · 2026-01-02T12:00:00Z · commit `0123456789ab` (with uncommitted changes) · eval-harness 0.1.0 · linux/x86_64

    ## Gate

    **FAIL** (exit code 0)

    No thresholds are set: the gate passes when every eval passes.

    ## Summary

    |  | Total | Pass rate | Passed | Failed |
    | --- | ---: | ---: | ---: | ---: |
    | **Cases** | 1 | 0 % | 0 | 1 |

    Pass rates are over what was graded: passed / (passed + failed).

    ## Not passed (1)

    Run these again:

    ```sh
    eval-harness run --suite evals/eval-suite.yaml --failed-in eval-20260102-120000
    ```

    ### ❌ cap-0 › case-0  wrong_answer

    Users

    body.page: expected 1, got 2; and 30 differences

    Expected (`-`) and actual (`+`):

    ````diff
    @@ ["a\u{1b}[2J\n```\n</details>\n# x @user | b\r\u{202e}"] @@
    - "a\u001b[2J\n```\n</details>\n# x @user | b\r⟨U+202E⟩"
    + ["a\u001b[2J\n```\n</details>\n# x @user | b\r⟨U+202E⟩"]
    @@ k: missing @@
    - 1
    @@ other: not expected @@
    + "a\u001b[2J\n```\n</details>\n# x @user | b\r⟨U+202E⟩"
    ````
    "#);
}
