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
    object.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n")
}

/// A phase of which little is as it should be.
fn open() -> PhaseReport {
    let evals = vec![
        eval(info("human", "Human", EvalType::Capability), vec![pending()]),
        eval(
            info("lost", "Lost", EvalType::Regression),
            vec![errored(Cause::TargetUnreachable, "connection refused")],
        ),
        eval(
            info("wrong", "Wrong", EvalType::Capability),
            vec![wrong(json!({"a": 1, "b": [1, 2]}), json!({"a": 2, "b": [1]}))],
        ),
    ];
    let run = summary(evals, vec![at_least("pass_at_1", 0.85)], &[1, 3]);
    let failure =
        TestFailure { suite: "auth".into(), name: "expires".into(), message: "left: 3, right: 4".into() };
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
            FileChange { path: "src/auth.rs".into(), added: Some(1234), removed: Some(0) },
            FileChange { path: "logo.png".into(), added: None, removed: None },
        ];
        changed.omitted_files = 3;
    }
    report
}

#[test]
fn a_page_holds_all_that_is_said_of_a_phase() {
    let mut whole = data(&open());
    let steps = whole["steps"].take();
    assert_snapshot!(lines(&whole), @"");
    let mut steps: Vec<Value> = steps.as_array().unwrap().clone();
    let suite = steps[3]["eval"].take();
    let told: Vec<String> = steps.iter().map(Value::to_string).collect();
    assert_snapshot!(told.join("\n"), @"");
    assert_snapshot!(lines(&suite), @"");
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
    assert_snapshot!(lines(&told), @"");
}

#[test]
fn values_that_fill_a_page_are_left_out() {
    let long = "x".repeat(5_000);
    let evals = (0..200).map(|n| {
        let samples = vec![wrong(format!("{long}{n}"), format!("{n}{long}"))];
        eval(info(&format!("cap-{n}"), "Long", EvalType::Capability), samples)
    });
    let page = page(&report(vec![eval_step("Evals", summary(evals.collect(), vec![], &[1]), &[])]));
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
