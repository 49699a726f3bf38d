use super::*;
use crate::spec::words;

async fn told(input: CaseInput, show: bool) -> String {
    let messages = messages_of(&input, show).await.unwrap();
    let lines = messages.iter().map(|message| match &message.content {
        Value::String(text) => format!("{}: {text}", message.role),
        parts => format!("{}: {parts}", message.role),
    });
    lines.collect::<Vec<_>>().join("\n--\n")
}

fn said(role: &str, content: &str) -> words::Message {
    words::Message {
        role: role.into(),
        content: content.into(),
    }
}

#[tokio::test]
async fn a_context_stands_before_the_prompt() {
    let prompt = |context| CaseInput::Prompt {
        text: "Write {{ it }}.\n".into(),
        context,
    };
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
    for nothing in [
        None,
        Some(json!(null)),
        Some(json!({})),
        Some(json!(" ")),
        Some(json!([])),
    ] {
        assert_eq!(told(prompt(nothing), true).await, "user: Write {{ it }}.\n");
    }
    assert_eq!(
        told(prompt(Some(json!("hidden"))), false).await,
        "user: Write {{ it }}.\n"
    );
}

#[tokio::test]
async fn a_file_is_inlined_and_what_is_no_text_is_shown_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spec.md");
    std::fs::write(&path, "# Title\n{{ raw }}\n").unwrap();
    let file = CaseInput::File {
        path,
        context: Some(json!({"targets": ["endpoints"]})),
    };
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
    assert_eq!(
        told(
            CaseInput::Data {
                value: json!("plain")
            },
            true
        )
        .await,
        "user: plain"
    );
    insta::assert_snapshot!(told(CaseInput::Data { value: json!({"a": [1]}) }, true).await, @r#"
    user: {
      "a": [
        1
      ]
    }
    "#);
    let call = CaseInput::ApiCall {
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
    let gone = CaseInput::File {
        path: dir.path().join("gone"),
        context: None,
    };
    let error = messages_of(&gone, true).await.unwrap_err();
    assert!(
        error.to_string().starts_with("cannot read the input file "),
        "{error}"
    );
}

#[tokio::test]
async fn messages_stay_as_they_are_and_the_context_goes_to_the_first_of_the_user() {
    let messages = vec![
        said("system", "s"),
        said("user", "a"),
        said("assistant", "b"),
        said("user", "c"),
    ];
    let input = |context| CaseInput::Messages {
        messages: messages.clone(),
        context,
    };
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
    assert!(
        told(input(None), true)
            .await
            .starts_with("system: s\n--\nuser: a\n--")
    );
    let only = CaseInput::Messages {
        messages: vec![said("system", "s"), said("assistant", "x")],
        context: Some(json!("k")),
    };
    assert_eq!(
        told(only, true).await,
        "system: s\n--\nuser: Context:\n\nk\n--\nassistant: x"
    );
}

#[tokio::test]
async fn as_one_text_an_input_says_what_was_asked_and_nothing_that_authorises() {
    let messages = vec![said("system", "s"), said("user", "a\nb")];
    let conversation = CaseInput::Messages {
        messages,
        context: Some(json!({"k": 1})),
    };
    let shown = InputText::of(&conversation).await.unwrap();
    assert_eq!(shown.text, "system: s\n\nuser: a\nb");
    assert_eq!(shown.context.as_deref(), Some("{\n  \"k\": 1\n}"));
    let prompt = CaseInput::Prompt {
        text: "Write {{ it }}.\n".into(),
        context: Some(json!(" ")),
    };
    let shown = InputText::of(&prompt).await.unwrap();
    assert_eq!(
        (shown.text.as_str(), shown.context),
        ("Write {{ it }}.\n", None)
    );
    let call = CaseInput::ApiCall {
        method: "GET".into(),
        endpoint: "/x?api_key=hidden1&n=1".into(),
        headers: [
            ("Authorization", "Bearer hidden2"),
            ("Accept", "text/plain"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        body: Some(json!({"n": 1}).into()),
    };
    insta::assert_snapshot!(InputText::of(&call).await.unwrap().text, @r#"
    {
      "body": {
        "n": 1
      },
      "endpoint": "/x?api_key=&n=1",
      "headers": {
        "Accept": "text/plain",
        "Authorization": "[redacted]"
      },
      "method": "GET"
    }
    "#);
}
