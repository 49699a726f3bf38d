use super::*;

fn completion(text: &str, finish: FinishReason) -> Completion {
    Completion {
        text: text.into(),
        tool_calls: None,
        finish,
        tokens: None,
        model: Some("m-1".into()),
        thoughts: None,
    }
}

#[test]
fn what_a_model_says_becomes_an_output_or_the_reason_why_there_is_none() {
    let usage = Usage {
        input_tokens: 7,
        output_tokens: 2,
        ..Usage::default()
    };
    let told = |completion: Completion| match output(completion, Some(usage), false) {
        Ok(output) => {
            assert_eq!(
                (output.usage, output.model.as_deref()),
                (Some(usage), Some("m-1"))
            );
            format!("{:?} {:?}", output.finish.unwrap(), output.value)
        }
        Err(failure) => {
            assert!(!failure.retryable);
            let kept = failure
                .output
                .is_some_and(|output| output.usage == Some(usage));
            format!("{} {} usage kept: {kept}", failure.cause, failure.reason)
        }
    };
    let calls = Completion {
        tool_calls: Some(json!([{"name": "f"}])),
        ..completion("", FinishReason::ToolCalls)
    };
    let all = [
        completion("4", FinishReason::Stop),
        completion(" 4\n", FinishReason::Length),
        completion("I can't.", FinishReason::Refused),
        completion("\n", FinishReason::Refused),
        completion("", FinishReason::Stop),
        completion("", FinishReason::Length),
        completion("x", FinishReason::Other),
        calls,
    ];
    insta::assert_snapshot!(all.map(told).join("\n"), @r#"
    Stop Text("4")
    Length Text(" 4\n")
    Refused Text("I can't.")
    refused the model declined to answer, and gave no text usage kept: true
    target_failed the model answered with an empty text usage kept: true
    target_failed the answer was cut at its limit of tokens before its first word (`max_tokens` may be too low) usage kept: true
    Other Text("x")
    ToolCalls Json(Object {"text": String(""), "tool_calls": Array [Object {"name": String("f")}]})
    "#);
}

#[test]
fn every_fault_of_a_call_has_its_cause() {
    let causes = FaultKind::ALL
        .iter()
        .map(|kind| format!("{} {:?}\n", kind.label(), cause_of(*kind)));
    insta::assert_snapshot!(causes.collect::<String>(), @r"
    429 TargetUnreachable
    503 TargetUnreachable
    5xx TargetUnreachable
    unreachable TargetUnreachable
    reset TargetUnreachable
    timeout TargetTimeout
    tls TargetUnreachable
    unreadable TargetFailed
    error_body TargetFailed
    empty TargetFailed
    cut TargetFailed
    only_reasoning TargetFailed
    too_large TargetFailed
    unauthorized TargetUnreachable
    unknown_model TargetUnreachable
    no_credit TargetUnreachable
    bad_request TargetFailed
    not_recorded MissingOutput
    budget Budget
    given_up TargetUnreachable
    settings Harness
    ");
}
