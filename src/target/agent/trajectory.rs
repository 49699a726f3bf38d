//! What an agent did: its own report, or else its conversation with the model.

use std::collections::BTreeMap;

use eval_agents::messages::{ApiExchange, ConversationReader, MessageApi};
use eval_agents::streams::StreamFormat;
use eval_agents::trajectory::{PerformedCall, Trajectory};
use eval_proxy::{ApiProtocol, SessionReport};
use serde_json::{Value, json};

use crate::model::{DENIED, USAGE_IS_LOWER_BOUND};

/// Adds the version of the agent, of which `agent` is the name; where it prints no tool calls, but
/// made some, the conversation with its model takes the place. Calls of either that the result does
/// not have make it incomplete.
pub(super) fn complete(
    printed: &mut Trajectory,
    (agent, version): (String, Option<String>),
    form: StreamFormat,
    report: &SessionReport,
) {
    let mut reader = ConversationReader::new(&agent, "unknown");
    let mut read = 0;
    let requests = report.whole_requests();
    for (exchange, request) in
        requests.filter(|(exchange, _)| (200..300).contains(&exchange.status))
    {
        read += 1;
        reader.add(&ApiExchange {
            api: match exchange.protocol {
                ApiProtocol::AnthropicMessages => MessageApi::AnthropicMessages,
                ApiProtocol::OpenaiChat => MessageApi::OpenaiChat,
                ApiProtocol::OpenaiResponses => MessageApi::OpenaiResponses,
                ApiProtocol::Gemini => MessageApi::Gemini,
            },
            at: Some(exchange.at),
            conversation: exchange.conversation,
            model: exchange.model.as_deref(),
            request: &request,
            answer: &exchange.answer,
            cost_usd: exchange.cost_usd,
        });
    }
    let mut reasons = Vec::new();
    // Also those that the agent did not read to their end.
    let lost = report.turns.saturating_sub(read);
    if lost > 0 || report.exchanges_left_out > 0 {
        let lost = lost.max(report.exchanges_left_out);
        reasons.push(format!(
            "not known in full: {lost} of {} answers of the model",
            report.turns
        ));
    }
    if let Some(made) = reader.finish() {
        if printed.tool_calls().is_empty() && !made.tool_calls().is_empty() {
            *printed = made;
        } else {
            reasons.extend(made.incomplete().into_iter().map(str::to_owned));
            reasons.extend(unprinted(printed, &made, form));
        }
    }
    if !reasons.is_empty() {
        let extra = printed.extra.get_or_insert_default();
        let known = extra
            .entry("incomplete")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(known) = known {
            known.extend(reasons.into_iter().map(Value::String));
        }
    }
    if report.is_lower_bound {
        let extra = printed.extra.get_or_insert_default();
        extra.insert(USAGE_IS_LOWER_BOUND.to_owned(), json!(true));
    }
    if !report.denied.is_empty() {
        let extra = printed.extra.get_or_insert_default();
        extra.insert(DENIED.to_owned(), json!(report.denied));
    }
    if let Some(version) = version {
        printed.agent.version = version;
    }
}

/// Why the agent's report lacks a call that the model made.
fn unprinted(printed: &Trajectory, made: &Trajectory, form: StreamFormat) -> Option<String> {
    let has_ids = matches!(
        form,
        StreamFormat::ClaudeCode | StreamFormat::Opencode | StreamFormat::MiniSweAgent
    );
    let key = |made: &PerformedCall<'_>| match form {
        _ if has_ids => {
            let call = made.call;
            format!("{} {}", call.tool_call_id, call.function_name)
        }
        // It names the kinds of calls as it likes.
        StreamFormat::Codex => String::new(),
        _ => made.call.function_name.clone(),
    };
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for call in printed.tool_calls() {
        *known.entry(key(&call)).or_default() += 1;
    }
    let calls = made.tool_calls();
    let lacking = calls.iter().find(|call| match known.get_mut(&key(call)) {
        // An answer that was requested again has its calls twice.
        Some(_) if has_ids => false,
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    })?;
    Some(format!(
        "the model called `{}` (`{}`), which the agent did not print",
        lacking.call.function_name, lacking.call.tool_call_id
    ))
}

#[cfg(test)]
mod tests {
    use eval_agents::streams::read_stream;
    use eval_proxy::Exchange;

    use super::*;

    const CALL: [&str; 3] = ["t1", "Bash", "rm -rf /"];

    fn exchange(messages: Value, content: Value) -> Exchange {
        Exchange {
            protocol: ApiProtocol::AnthropicMessages,
            at: jiff::Timestamp::UNIX_EPOCH,
            duration_ms: 1,
            conversation: 0,
            model: None,
            request: json!({ "messages": messages }),
            continues: None,
            status: 200,
            answer: json!({ "content": content }),
            usage: None,
            cost_usd: None,
        }
    }

    fn call([id, name, command]: [&str; 3]) -> Value {
        json!([{"type": "tool_use", "id": id, "name": name, "input": {"command": command}}])
    }

    fn user(content: impl Into<Value>) -> Value {
        json!({"role": "user", "content": content.into()})
    }

    /// Claude Code's stream with these calls.
    fn stream(calls: &[[&str; 3]]) -> Trajectory {
        let mut text = String::new();
        for one in calls {
            let message = json!({"id": one[0], "content": call(*one)});
            text += &format!("{}\n", json!({"type": "assistant", "message": message}));
        }
        text += r#"{"type":"result","subtype":"success","result":"done"}"#;
        read_stream(StreamFormat::ClaudeCode, text.as_bytes()).trajectory
    }

    fn completed(calls: &[[&str; 3]], report: &SessionReport) -> (Vec<String>, Vec<String>) {
        let mut trajectory = stream(calls);
        let agent = ("a".to_owned(), None);
        complete(&mut trajectory, agent, StreamFormat::ClaudeCode, report);
        let names = trajectory.tool_calls().into_iter();
        let names = names.map(|made| made.call.tool_call_id.clone()).collect();
        let reasons = trajectory.incomplete().into_iter().map(str::to_owned);
        (names, reasons.collect())
    }

    fn report(exchanges: Vec<Exchange>) -> SessionReport {
        SessionReport {
            turns: exchanges.len() as u64,
            exchanges,
            ..SessionReport::default()
        }
    }

    #[test]
    fn printed_calls_are_whole_only_if_they_have_those_of_the_model() {
        let made = report(vec![exchange(json!([user("p")]), call(CALL))]);
        let (names, reasons) = completed(&[CALL], &made);
        assert_eq!((names, reasons), (vec!["t1".to_owned()], Vec::new()));
        let (_, reasons) = completed(&[["fake", "Bash", "ls"]], &made);
        assert_eq!(
            reasons,
            ["the model called `Bash` (`t1`), which the agent did not print"]
        );
        let (names, reasons) = completed(&[], &made);
        assert_eq!((names, reasons), (vec!["t1".to_owned()], Vec::new()));
    }

    #[test]
    fn lost_calls_of_the_model_make_it_incomplete() {
        let known = exchange(json!([user("p")]), call(CALL));
        let mut without_answer = known.clone();
        without_answer.answer = json!({"odd": true});
        let mut torn = known.clone();
        torn.continues = Some(eval_proxy::ContinuedRequest {
            exchange: 7,
            ..Default::default()
        });
        let mut more_turns = report(vec![known.clone()]);
        more_turns.turns = 3;
        let mut left_out = report(vec![known.clone()]);
        (left_out.turns, left_out.exchanges_left_out) = (2, 1);
        for (report, reason) in [
            (
                report(vec![known.clone(), without_answer]),
                "1 calls of the model have an answer without a message",
            ),
            (
                report(vec![known.clone(), torn]),
                "not known in full: 1 of 2 answers of the model",
            ),
            (more_turns, "not known in full: 2 of 3 answers of the model"),
            (left_out, "not known in full: 1 of 2 answers of the model"),
        ] {
            for printed in [&[CALL][..], &[]] {
                let (_, reasons) = completed(printed, &report);
                assert_eq!(reasons, [reason], "{printed:?}");
            }
        }
        // What the model refused is no answer of it.
        let mut refused = known.clone();
        (refused.status, refused.answer) = (400, json!({"error": "too long"}));
        let mut report = report(vec![refused, known]);
        report.turns = 1;
        assert_eq!(completed(&[CALL], &report).1, [""; 0]);
    }

    #[test]
    fn examples_of_the_first_request_are_not_performed() {
        let example = json!({"role": "assistant", "content": call(["example", "Bash", "ls"])});
        let result = json!([{"type": "tool_result", "tool_use_id": "example", "content": "a"}]);
        let messages = json!([user("p"), example, user(result), user("now")]);
        let made = report(vec![exchange(messages, call(CALL))]);
        for printed in [&[CALL][..], &[]] {
            let (names, reasons) = completed(printed, &made);
            assert_eq!((names, reasons), (vec!["t1".to_owned()], Vec::new()));
        }
    }
}
