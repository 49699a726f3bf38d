use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::model::{SecretText, SecretValue};

fn message() -> NotifyMessage {
    NotifyMessage {
        suite: Some("support".to_owned()),
        phase: None,
        decision: Decision::Fail,
        exit_code: 1,
        reasons: vec!["pass@1 is 60.0% and must be at least 90.0%".to_owned()],
        failures: vec![
            NotifyFailure {
                kind: "case",
                id: "cap-1/a".to_owned(),
                name: "a".to_owned(),
                outcome: "failed",
            },
            NotifyFailure {
                kind: "case",
                id: "cap-1/b".to_owned(),
                name: "<!channel> *read* <http://evil|me> @here".to_owned(),
                outcome: "errored",
            },
        ],
        more_failures: 3,
        metrics: [
            ("pass_at_1".to_owned(), Some(0.6)),
            ("pass_at_3".to_owned(), None),
        ]
        .into(),
        run_id: Some("eval-20260304-101500".to_owned()),
        report: Some("results/2026-03-04/run-101500.md".to_owned()),
    }
}

fn hook(format: NotifyFormat, body: Option<Value>) -> Webhook {
    Webhook {
        url: SecretValue::Value(SecretText::new("http://127.0.0.1:1/x")),
        format,
        body,
        headers: Vec::new(),
        timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(1),
        retries: 0,
        ca_file: None,
    }
}

fn sent(format: NotifyFormat, body: Option<Value>) -> (Value, Vec<String>) {
    let (bytes, faults) = of(&hook(format, body), &message());
    (serde_json::from_slice(&bytes).unwrap(), faults)
}

#[test]
fn slack_is_told_in_its_own_markup_and_no_name_is_any() {
    let (body, faults) = sent(NotifyFormat::Slack, None);
    assert!(faults.is_empty());
    insta::assert_snapshot!(body["text"].as_str().unwrap(), @"
    ❌ *FAIL* suite `support` (exit code 1)
    • `pass@1 is 60.0% and must be at least 90.0%`
    • failed case `cap-1/a`
    • errored case `cap-1/b` `&lt;!channel&gt; ∗read∗ &lt;http:/∕evil|me&gt; ＠here`
    ... and 3 more items that did not pass
    Run `eval-20260304-101500`
    Report `results/2026-03-04/run-101500.md`
    ");
}

#[test]
fn json_is_the_message_as_it_is() {
    let (bytes, _) = of(&hook(NotifyFormat::Json, None), &message());
    insta::assert_snapshot!(String::from_utf8(bytes).unwrap(), @r#"{"suite":"support","phase":null,"decision":"fail","exit_code":1,"reasons":["pass@1 is 60.0% and must be at least 90.0%"],"failures":[{"kind":"case","id":"cap-1/a","name":"a","outcome":"failed"},{"kind":"case","id":"cap-1/b","name":"<!channel> *read* <http://evil|me> @here","outcome":"errored"}],"more_failures":3,"metrics":{"pass_at_1":0.6,"pass_at_3":null},"run_id":"eval-20260304-101500","report":"results/2026-03-04/run-101500.md"}"#);
}

#[test]
fn a_body_of_ones_own_is_filled_and_what_fills_it_is_never_a_template_or_markup() {
    let body = json!({
        "text": "{{ suite }}: {{ decision | upper }}, {% for f in failures %}[{{ f.name }}]{% endfor %}",
        "all": "{{ failures }}",
        "code": "{{ exit_code }}",
        "list": [1, true, null, "as it is"],
    });
    let (filled, faults) = sent(NotifyFormat::Slack, Some(body.clone()));
    assert!(faults.is_empty());
    insta::assert_snapshot!(filled.to_string(), @r#"{"all":[{"id":"cap-1/a","kind":"case","name":"a","outcome":"failed"},{"id":"cap-1/b","kind":"case","name":"&lt;!channel&gt; ∗read∗ &lt;http:/∕evil|me&gt; ＠here","outcome":"errored"}],"code":1,"list":[1,true,null,"as it is"],"text":"support: FAIL, [a][&lt;!channel&gt; ∗read∗ &lt;http:/∕evil|me&gt; ＠here]"}"#);
    let (filled, _) = sent(NotifyFormat::Json, Some(json!("{{ failures[1].name }}")));
    assert_eq!(filled, json!("<!channel> *read* <http://evil|me> @here"));
    let mut hostile = message();
    hostile.suite = Some("{{ run_id }}{% raw %}\"}".to_owned());
    let (bytes, _) = of(
        &hook(NotifyFormat::Json, Some(json!({"text": "<{{ suite }}>"}))),
        &hostile,
    );
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        r#"{"text":"<{{ run_id }}{% raw %}\"}>"}"#
    );
}

#[test]
fn a_body_that_cannot_be_filled_is_replaced_and_told() {
    let (body, faults) = sent(
        NotifyFormat::Slack,
        Some(json!({"text": "{{ failures[7].name }}"})),
    );
    assert!(body["text"].as_str().unwrap().starts_with("❌ *FAIL*"));
    insta::assert_snapshot!(faults.join("\n"), @"its `body` cannot be filled (undefined value (in <string>:1)); the default body was sent");
    let endless = json!("{% for a in range(100000) %}{{ suite }}{% endfor %}");
    let (_, faults) = sent(NotifyFormat::Slack, Some(endless));
    insta::assert_snapshot!(faults.join("\n"), @"its `body` exceeds 256 KiB; the default body was sent");
}

#[test]
fn a_long_message_is_cut_and_what_is_cut_is_counted() {
    let mut long = message();
    long.failures = (0..20)
        .map(|n| NotifyFailure {
            kind: "case",
            id: format!("{n}{}", "x".repeat(190)),
            name: "y".repeat(200),
            outcome: "failed",
        })
        .collect();
    let text = slack(&long);
    assert!(
        text.chars().count() <= limits::SLACK_TEXT,
        "{}",
        text.chars().count()
    );
    let shown = text.matches("failed case").count();
    assert!((5..20).contains(&shown), "{text}");
    let more = format!(
        "\n... and {} more items that did not pass\nRun `eval-",
        20 - shown + 3
    );
    assert!(text.contains(&more), "{text}");
}

proptest! {
    #[test]
    fn nothing_in_slack_is_a_mention_a_link_or_markup(raw in "[<>&!@#|*_~`/:a-z \u{200b}]{0,40}") {
        let escaped = harmless(&raw);
        prop_assert!(!escaped.contains(['<', '>', '`', '*', '~']) && !escaped.contains("//"), "{}", escaped);
        prop_assert!(!escaped.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").contains('&'));
    }
}
