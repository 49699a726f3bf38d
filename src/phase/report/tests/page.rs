//! The page of a phase: what it holds as data.

use super::*;

fn page(report: &PhaseReport) -> String {
    let mut out = Vec::new();
    crate::phase::report::html(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The block `report`.
fn data(report: &PhaseReport) -> Value {
    let page = page(report);
    let (_, rest) = page.split_once("id=\"report\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

/// Each name of an object on a line, with its value.
fn lines(object: &Value) -> String {
    let object = object.as_object().unwrap();
    object
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect::<Vec<_>>()
        .join("\n")
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
fn a_page_holds_all_that_is_said_of_a_phase() {
    let mut whole = data(&open());
    let steps = whole["steps"].take();
    assert_snapshot!(lines(&whole), @r#"
    decision: {"exit_code":1,"label":"FAIL","name":"fail"}
    description: null
    facts: [["File","plans/auth.yaml"],["When",null],["Began","2026-03-04T05:06:07.000Z"],["Took","12.5 s"],["Commit","0123456789ab with changes"],["Exit code","1"]]
    harness_version: "0.1.0"
    id: "auth"
    implementation: {"added":"234","base":"main","commit":"89abcdef0123","files":[["src/auth.rs","1234","0"],["logo.png","binary","binary"]],"files_modified":"5 files","omitted":"3 more files","removed":"45"}
    interrupted: false
    kind: "phase"
    notes: ["the archive could not be written"]
    pending: {"cases":[["human","human","Human"]],"words":"1 sample waits for a person's grade."}
    reasons: ["clippy: it ended with exit code 2","Evals: pass_at_1 is 0, but at least 0.85 is required"]
    recommendations: ["Fix 1 failed test of Unit tests, auth / expires: left: 3, right: 4","Start the target, or correct its address: it could not be reached for 1 sample of lost: connection refused","Fix Wrong (wrong): the output differs","1 sample of human waits for a human grade: have them graded","Fix clippy: it ended with exit code 2","Check Review yourself, or give it a `command`: nothing was run for it","Do not rely on small differences between these figures: with 1 sample graded the intervals are wide"]
    steps: null
    subject: "Implement user authentication"
    unsandboxed: null
    "#);
    let mut steps: Vec<Value> = steps.as_array().unwrap().clone();
    let suite = steps[3]["eval"].take();
    let told: Vec<String> = steps.iter().map(Value::to_string).collect();
    assert_snapshot!(told.join("\n"), @r#"
    {"action":"block","blocks":true,"counted":"tests: 3/4 passed, 1 failed","duration":"1.50 s","eval":null,"exit_code":"1","kind":"test","means":"","name":"Unit tests","reason":"","status":"failed","tail":"","tests":{"failures":[["auth","expires","left: 3, right: 4"]],"files":["target/junit.xml"],"more":null,"notes":[],"source":"junit"},"tone":"failed"}
    {"action":"warn","blocks":false,"counted":null,"duration":"1.50 s","eval":null,"exit_code":"2","kind":"check","means":"","name":"clippy","reason":"it ended with exit code 2","status":"failed","tail":"compiling\nerror: no\n</script>","tests":null,"tone":"failed"}
    {"action":"block","blocks":true,"counted":null,"duration":null,"eval":null,"exit_code":null,"kind":"code-review","means":"nothing was run for it","name":"Review","reason":"","status":"not checked","tail":"","tests":null,"tone":"errored"}
    {"action":"block","blocks":true,"counted":"0/3 evals passed","duration":"1.50 s","eval":null,"exit_code":null,"kind":"eval","means":"","name":"Evals","reason":"pass_at_1 is 0, but at least 0.85 is required","status":"failed","tail":"","tests":null,"tone":"failed"}
    {"action":"block","blocks":true,"counted":null,"duration":null,"eval":null,"exit_code":null,"kind":"check","means":"the phase ended before it","name":"Build","reason":"","status":"not reached","tail":"","tests":null,"tone":"skipped"}
    "#);
    assert_snapshot!(lines(&suite), @r#"
    decision: {"label":"FAIL","name":"fail"}
    interval_notes: ["Intervals are for cases like these, in these evals."]
    journal: "results/2026-03-04/run-050607.journal.jsonl"
    kinds: [{"evals":[{"cases":null,"id":"human","more":null,"name":"Human","outcome":"pending","told":[{"case":null,"cause":null,"what":null}]},{"cases":null,"id":"wrong","more":null,"name":"Wrong","outcome":"failed","told":[{"case":null,"cause":"wrong_answer","what":{"actual":"{\"a\":2,\"b\":[1]}","diff":null,"expected":"{\"a\":1,\"b\":[1,2]}","more":null,"reason":null}}]}],"title":"Capability evals (0/2 passed)"},{"evals":[{"cases":null,"id":"lost","more":null,"name":"Lost","outcome":"errored","told":[{"case":null,"cause":"target_unreachable","what":{"actual":"out","diff":null,"expected":null,"more":null,"reason":"connection refused"}}]}],"title":"Regression evals (0/1 passed)"}]
    level: "95 % interval"
    metrics: [{"drawn":{"ci":[0.0,0.9448463172264346],"limit":0.85,"on":"value","value":0.0},"interval":"[0.000, 0.945]","name":"pass@1","status":"FAIL","threshold":"≥ 0.85","tone":"fail","undefined":null,"value":"0.00"},{"drawn":null,"interval":"","name":"pass@3","status":"-","threshold":"-","tone":null,"undefined":"needs 3 samples per case, but found 1","value":"n/a"}]
    notices: []
    reasons: ["pass_at_1 is 0, but at least 0.85 is required"]
    run_id: "eval-20260304-050607"
    suite: "./evals/auth.yaml"
    ungraded: "Without a grade (of 3 samples): 1 errored, 1 pending. They count neither as passed nor as failed."
    "#);
}

#[test]
fn what_passed_is_short() {
    let whole = data(&seeds_report());
    let suite = &whole["steps"][2]["eval"];
    let told = json!({
        "decision": suite["decision"], "reasons": suite["reasons"], "notices": suite["notices"],
        "kinds": [suite["kinds"][0]["title"], suite["kinds"][1]["title"]],
        "failed": suite["kinds"][0]["evals"][2], "passed": suite["kinds"][0]["evals"][0],
        "pending": whole["pending"], "interrupted": whole["interrupted"],
    });
    assert_snapshot!(lines(&told), @r#"
decision: {"label":"PASS","name":"pass"}
failed: {"cases":null,"id":"cap-auth-003","more":null,"name":"Session timeout","outcome":"failed","told":[{"case":null,"cause":"wrong_answer","what":{"actual":"Session persists indefinitely","diff":null,"expected":"Session expires after 30 min","more":null,"reason":null}}]}
interrupted: false
kinds: ["Capability evals (12/13 passed)","Regression evals (8/8 passed)"]
notices: []
passed: {"cases":null,"id":"cap-auth-001","more":null,"name":"Login flow","outcome":"passed","told":[]}
pending: null
reasons: []
"#);
}

#[test]
fn values_that_fill_a_page_are_left_out() {
    let long = "x".repeat(5_000);
    let evals = (0..200).map(|n| {
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
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(page.contains("\"left_out\":true"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn texts_stay_texts(text in "(</script>|<!--|<img src=x onerror=alert\\(1\\)>|\u{202e}|\\x1b|.){0,12}") {
        let mut report = open();
        report.metadata.name = text.clone();
        report.metadata.description = Some(format!("d{text}"));
        report.gate.reasons = vec![text.clone()];
        for step in &mut report.steps {
            step.name = text.clone();
            step.reason = text.clone();
            for failure in step.tests.iter_mut().flat_map(|tests| &mut tests.failures) {
                (failure.suite, failure.name, failure.message) = (text.clone(), text.clone(), text.clone());
            }
        }
        let whole = page(&report);
        // The page's own, and that of the data.
        prop_assert_eq!(whole.matches("<script").count(), 2);
        prop_assert_eq!(whole.matches("<img").count(), 0);
        prop_assert_eq!(whole.matches("<!--").count(), 0);
        prop_assert_eq!(&whole, &page(&report));
        let data = data(&report);
        prop_assert_eq!(&data["subject"], &text);
        prop_assert_eq!(&data["steps"][0]["tests"]["failures"][0][1], &text);
    }
}
