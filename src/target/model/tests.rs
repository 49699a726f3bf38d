use super::*;
use crate::spec::words;

async fn told(input: Input, show: bool) -> String {
    let messages = messages(&input, show).await.unwrap();
    let lines = messages.iter().map(|message| match &message.content {
        Value::String(text) => format!("{}: {text}", message.role),
        parts => format!("{}: {parts}", message.role),
    });
    lines.collect::<Vec<_>>().join("\n--\n")
}

fn said(role: &str, content: &str) -> words::Message {
    words::Message { role: role.into(), content: content.into() }
}

#[tokio::test]
async fn a_context_stands_before_the_prompt() {
    let prompt = |context| Input::Prompt { text: "Write {{ it }}.\n".into(), context };
    let data = json!({"language": "python", "n": 1});
    insta::assert_snapshot!(told(prompt(Some(data)), true).await, @r#"
    user: Context:

    ```json
    {
      "language": "python",
      "n": 1
    }
    ```

    Write {{ it }}.
    "#);
    insta::assert_snapshot!(told(prompt(Some(json!("Be brief.\n"))), true).await, @r"
    user: Context:

    Be brief.

    Write {{ it }}.
    ");
    for nothing in [None, Some(json!(null)), Some(json!({})), Some(json!(" ")), Some(json!([]))] {
        assert_eq!(told(prompt(nothing), true).await, "user: Write {{ it }}.\n");
    }
    assert_eq!(told(prompt(Some(json!("hidden"))), false).await, "user: Write {{ it }}.\n");
}

#[tokio::test]
async fn a_file_is_inlined_and_what_is_no_text_is_shown_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spec.md");
    std::fs::write(&path, "# Title\n{{ raw }}\n").unwrap();
    let file = Input::File { path, context: Some(json!({"targets": ["endpoints"]})) };
    insta::assert_snapshot!(told(file, true).await, @r##"
    user: Context:

    ```json
    {
      "targets": [
        "endpoints"
      ]
    }
    ```

    # Title
    {{ raw }}
    "##);
    assert_eq!(told(Input::Data { value: json!("plain") }, true).await, "user: plain");
    insta::assert_snapshot!(told(Input::Data { value: json!({"a": [1]}) }, true).await, @r#"
    user: {
      "a": [
        1
      ]
    }
    "#);
    let call = Input::ApiCall {
        method: "GET".into(),
        endpoint: "/x".into(),
        headers: Default::default(),
        body: None,
    };
    insta::assert_snapshot!(told(call, true).await, @r#"
    user: {
      "endpoint": "/x",
      "headers": {},
      "method": "GET",
      "type": "api_call"
    }
    "#);
    let gone = Input::File { path: dir.path().join("gone"), context: None };
    let failure = messages(&gone, true).await.unwrap_err();
    assert_eq!((failure.cause, failure.retryable), (Cause::Harness, false));
}

#[tokio::test]
async fn messages_stay_as_they_are_and_the_context_goes_to_the_first_of_the_user() {
    let messages = vec![said("system", "s"), said("user", "a"), said("assistant", "b"), said("user", "c")];
    let input = |context| Input::Messages { messages: messages.clone(), context };
    insta::assert_snapshot!(told(input(Some(json!("k"))), true).await, @r"
    system: s
    --
    user: Context:

    k

    a
    --
    assistant: b
    --
    user: c
    ");
    assert!(told(input(None), true).await.starts_with("system: s\n--\nuser: a\n--"));
    let only = Input::Messages {
        messages: vec![said("system", "s"), said("assistant", "x")],
        context: Some(json!("k")),
    };
    assert_eq!(told(only, true).await, "system: s\n--\nuser: Context:\n\nk\n--\nassistant: x");
}

fn completion(text: &str, finish: Finish) -> Completion {
    Completion { text: text.into(), tool_calls: None, finish, tokens: None, model: Some("m-1".into()) }
}

#[test]
fn what_a_model_says_becomes_an_output_or_the_reason_why_there_is_none() {
    let usage = Usage { input_tokens: 7, output_tokens: 2, ..Usage::default() };
    let told = |completion: Completion| match output(completion, Some(usage)) {
        Ok(output) => {
            assert_eq!((output.usage, output.model.as_deref()), (Some(usage), Some("m-1")));
            format!("{:?} {:?}", output.finish.unwrap(), output.value)
        }
        Err(failure) => {
            assert!(!failure.retryable);
            let kept = failure.output.is_some_and(|output| output.usage == Some(usage));
            format!("{} {} usage kept: {kept}", failure.cause, failure.reason)
        }
    };
    let calls = Completion { tool_calls: Some(json!([{"name": "f"}])), ..completion("", Finish::ToolCalls) };
    let all = [
        completion("4", Finish::Stop),
        completion(" 4\n", Finish::Length),
        completion("I can't.", Finish::Refused),
        completion("\n", Finish::Refused),
        completion("", Finish::Stop),
        completion("", Finish::Length),
        completion("x", Finish::Other),
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
