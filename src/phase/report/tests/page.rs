//! The page of a phase in the browser.

use super::*;

fn page(report: &PhaseReport) -> String {
    let mut out = Vec::new();
    crate::phase::report::html(report, &|_| None, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The tags after the head, in their order.
fn tags(page: &str) -> Vec<&str> {
    let (_, body) = page.split_once("<body>").unwrap();
    let tags = body.split('<').skip(1);
    tags.map(|tag| tag.split_once('>').unwrap().0).collect()
}

/// What people read, a line for each block.
fn shown(page: &str) -> String {
    let (_, main) = page.split_once("<main").unwrap();
    let (main, _) = main.split_once("</main>").unwrap();
    let (_, main) = main.split_once('>').unwrap();
    let mut text = String::new();
    for piece in main.split('<') {
        let (tag, words) = piece.split_once('>').unwrap_or(("", piece));
        let inline = ["bdi", "span", "strong", "code", "mark", "td", "th"];
        if !inline.contains(&tag.trim_start_matches('/').split(' ').next().unwrap()) {
            text.push('\n');
        } else if tag.starts_with("td") {
            text.push_str(" | ");
        }
        text.push_str(words);
    }
    let text = text
        .replace("&gt;", ">")
        .replace("&#39;", "'")
        .replace("&quot;", "\"");
    let lines = text.lines().map(str::trim_end);
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Evals lead to their cases in the page of their run, where there is one.
#[test]
fn page_links_to_the_pages_of_its_runs() {
    let mut out = Vec::new();
    let page_of = |journal: &str| Some(format!("../{}#x\"", journal.len()));
    crate::phase::report::html(&open(), &page_of, &mut out).unwrap();
    let linked = String::from_utf8(out).unwrap();
    let links: Vec<&str> = tags(&linked)
        .into_iter()
        .filter_map(|tag| tag.strip_prefix("a href="))
        .collect();
    insta::assert_snapshot!(links.join("\n"), @r##"
    "#main" class="skip"
    "../43#x&quot;#view=cases&amp;eval=human"
    "../43#x&quot;#view=cases&amp;eval=wrong"
    "../43#x&quot;#view=cases&amp;eval=lost"
    "../43#x&quot;"
    "##);
    assert!(!page(&open()).contains("<a href=\"../"));
}

/// A phase of which little is as it should be.
fn open() -> PhaseReport {
    let evals = vec![
        eval(
            info("human", "Human", EvalType::Capability),
            vec![pending()],
        ),
        eval(
            info("lost", "Lost", EvalType::Regression),
            vec![errored(Cause::TargetUnreachable, "connection refused")],
        ),
        eval(
            info("wrong", "Wrong", EvalType::Capability),
            vec![wrong(
                json!({"a": 1, "b": [1, 2]}),
                json!({"a": 2, "b": [1]}),
            )],
        ),
    ];
    let run = summary(evals, vec![at_least("pass_at_1", 0.85)], &[1, 3]);
    let failure = TestFailure {
        suite: "auth".into(),
        name: "expires".into(),
        message: "left: 3, right: 4".into(),
    };
    let mut report = report(vec![
        tests("Unit tests", 3, vec![failure]),
        StepResult {
            output_tail: "compiling\n\u{1b}[31merror\u{1b}[0m: no\n</script>".into(),
            exit_code: Some(2),
            reason: "it ended with exit code 2".into(),
            action: FailureAction::Warn,
            ..step(StepType::Check, "clippy", StepStatus::Failed)
        },
        step(StepType::CodeReview, "Review", StepStatus::NotChecked),
        eval_step("Evals", run, &["pass_at_1", "pass_at_3"]),
        step(StepType::Check, "Build", StepStatus::NotReached),
    ]);
    report.notes = vec!["the archive could not be written".into()];
    if let Some(changed) = &mut report.implementation {
        changed.files = vec![
            FileChange {
                path: "src/auth.rs".into(),
                added: Some(1234),
                removed: Some(0),
            },
            FileChange {
                path: "logo.png".into(),
                added: None,
                removed: None,
            },
        ];
        changed.omitted_files = 3;
    }
    report
}

#[test]
fn page_shows_all_that_is_known_of_a_phase() {
    assert_snapshot!(shown(&page(&open())), @r#"
    Implement user authentication (auth)
    ✗ FAIL
    clippy: it ended with exit code 2
    Evals: pass@1 is 0.000, but at least 0.85 is required
    Note: the archive could not be written
    File
    plans/auth.yaml
    Began
    2026-03-04 05:06:07 UTC
    Took
    12.5 s
    Commit
    0123456789ab with changes
    Exit code
    1
    Recommendations
    Fix 1 failed test of Unit tests, auth › expires: left: 3, right: 4
    Start the target, or correct its address: it could not be reached for 1 sample of lost: connection refused
    Fix Wrong (wrong): the output differs
    1 sample of human waits for a human grade: review them with `eval-harness review`, then `eval-harness regrade --people`
    Fix clippy: it ended with exit code 2
    Check Review yourself, or give it a `command`: nothing was run for it
    Do not rely on small differences between these figures: with 1 sample graded the intervals are wide
    Steps
    ✗
    Unit tests · test · failed · 3/4 tests · exit code 1 · 1.50 s
    ✗
    auth › expires: left: 3, right: 4
    Counted from
    junit: target/junit.xml
    ✗
    clippy · check · failed, which does not block · exit code 2 · 1.50 s
    Reason
    it ended with exit code 2
    Its output
    compiling
    error: no
    &lt;/script>
    ○
    Review · code-review · not checked: nothing was run for it
    ✗
    Evals · eval · failed · 0/3 evals · 1.50 s
    –
    Build · check · not reached: the phase ended before it
    Eval Results
    ✗ ./evals/auth.yaml: FAIL
    MetricValue95 % CI0 to 1 (dashed: threshold)ThresholdStatus
    pass@1 | 0.00 | [0.000, 0.945] |
     | >= 0.85 | FAIL
    pass@3 | n/a |  |  | - | -
    Intervals are for cases like these, in these evals.
    pass@3 has no value: needs 3 samples per case, but found 1.
    Without a grade (of 3 samples): 1 errored, 1 pending. They count neither as passed nor as failed.
    Capability Evals (0/2 passed)
    ?
    human: Human (PENDING)
    ✗
    wrong: Wrong (FAILED)
    Cause
    wrong_answer
    Reason
    the output differs
    Expected
    {"a":1,"b":[1,2]}
    Actual
    {"a":2,"b":[1]}
    Regression Evals (0/1 passed)
    !
    lost: Lost (ERRORED)
    Cause
    target_unreachable
    Reason
    connection refused
    Actual
    out
    Run
    eval-20260304-050607
    Journal
    results/2026-03-04/run-050607.journal.jsonl
    Pending Human Grades
    1 sample waits for a human grade.
    ☐
    human: Human
    Implementation Summary
    Files modified
    5
    Lines added
    234
    Lines removed
    45
    Counted since main (commit 89abcdef0123), uncommitted changes included.
    Files
    FileAddedRemoved
    src/auth.rs | 1,234 | 0
    logo.png | binary | binary
    ... and 3 more files; the JSON report lists all
    "#);
}

#[test]
fn passed_phase_has_a_short_page() {
    let page = shown(&page(&seeds_report()));
    for words in [
        "✓ PASS\nFile",
        "Unit tests · test · passed · 45/45 tests · 1.50 s",
        "pass@1 | 0.92 | [0.781, 0.934] |",
        "cap-auth-003: Session timeout (FAILED)\nCause\nwrong_answer\nReason\n",
        "✓\nreg-auth-008: Public routes",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!(page.matches("Expected").count(), 1, "{page}");
    assert!(!page.contains("Pending"), "{page}");
}

#[test]
fn values_that_fill_a_page_are_left_out() {
    let long = "x".repeat(5_000);
    let evals = (0..400).map(|n| {
        let samples = vec![wrong(format!("{long}{n}"), format!("{n}{long}"))];
        eval(
            info(&format!("cap-{n}"), "Long", EvalType::Capability),
            samples,
        )
    });
    let page = page(&report(vec![eval_step(
        "Evals",
        summary(evals.collect(), vec![], &[1]),
        &[],
    )]));
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(page.contains(
        "<p class=\"soft small\">Expected and actual values are omitted to keep this page small. The JSON report contains everything.</p>"
    ));
    assert!(page.contains("<summary>340 more evals that did not pass</summary>"));
}

#[test]
fn page_of_huge_names_is_bounded_and_says_so() {
    let name = "<long>".repeat(20_000);
    let evals = (0..1_000).map(|n| {
        let id = format!("cap-{n}");
        eval(
            info(&id, &name, EvalType::Capability),
            vec![errored(Cause::TargetUnreachable, &name)],
        )
    });
    let page = page(&report(vec![eval_step(
        "Evals",
        summary(evals.collect(), vec![], &[1]),
        &[],
    )]));
    assert!(
        (7_000_000..9_000_000).contains(&page.len()),
        "{}",
        page.len()
    );
    assert!(page.contains(
        "<bdi>This page is too large; the rest of it is omitted. The JSON report contains everything.</bdi>"
    ));
    assert!(
        page.contains("Texts that end with … are truncated. The JSON report contains everything.")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn texts_add_no_markup(text in "(</script>|</pre>|<!--|<img src=x onerror=alert\\(1\\)>|\u{202e}|\\x1b|&|'|.){0,12}") {
        let with = |text: &str| {
            let mut report = open();
            report.metadata.name = text.to_owned();
            report.metadata.description = Some(format!("d{text}"));
            report.gate.reasons = vec![text.to_owned()];
            for step in &mut report.steps {
                step.name = format!("s{text}");
                step.reason = format!("r{text}");
                if !step.output_tail.is_empty() {
                    step.output_tail = format!("t{text}");
                }
                for failure in step.tests.iter_mut().flat_map(|tests| &mut tests.failures) {
                    let text = format!("f{text}");
                    (failure.suite, failure.name, failure.message) = (text.clone(), text.clone(), text);
                }
                for failure in step.eval.iter_mut().flat_map(|eval| &mut eval.eval_report.failures) {
                    failure.reason = format!("r{text}");
                }
            }
            page(&report)
        };
        let hostile = with(&text);
        let plain = with("x");
        prop_assert_eq!(tags(&hostile), tags(&plain));
        prop_assert!(!hostile.contains("script-src") && hostile.contains("\"Content-Security-Policy\" content=\"default-src 'none'"));
    }
}
