//! What an agent did: its own report, joined with its conversation with the model.

use eval_agents::joined::{answers_in, has_open_call, join, read_agent_texts, submit};
use eval_agents::messages::{ApiExchange, ConversationReader, MessageApi};
use eval_agents::streams::{AgentReading, StreamFormat};
use eval_agents::trajectory::{MODEL_ANSWERS, REPLAYED, Trajectory};
use eval_proxy::{ApiProtocol, Exchange, SessionReport};
use serde_json::{Value, json};

use crate::model::{DENIED, USAGE_IS_LOWER_BOUND};

/// The agent that ran.
#[derive(Debug, Clone)]
pub(super) struct RanProgram {
    pub name: String,
    pub version: Option<String>,
    /// It is one of those that are known to call their model for themselves, such as for a title.
    pub is_known: bool,
    pub form: StreamFormat,
    /// Its model was replayed.
    pub is_replay: bool,
}

/// Joins the agent's report with its conversation with the model, which takes the report's place
/// where that has no tool calls, or is a file that the model's commands can write. What neither has
/// makes the result incomplete.
pub(super) fn complete(reading: &mut AgentReading, agent: RanProgram, report: &SessionReport) {
    let form = agent.form;
    let is_cut = reading.is_cut();
    let printed = &mut reading.trajectory;
    let mut reader = ConversationReader::new(&agent.name, "unknown");
    let mut read = 0;
    let requests = report.whole_requests();
    let is_answer =
        |exchange: &Exchange| exchange.is_whole && (200..300).contains(&exchange.status);
    for (exchange, request) in requests.filter(|(exchange, _)| is_answer(exchange)) {
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
    let mut answers = usize::try_from(lost).unwrap_or(usize::MAX);
    let mut has_submitted = false;
    if let Some(mut made) = reader.finish() {
        read_agent_texts(&mut made, form);
        answers = answers.saturating_add(answers_in(&made, agent.is_known));
        // These end when an answer of their model calls no tool.
        let ends_with_text = match form {
            StreamFormat::ClaudeCode
            | StreamFormat::Codex
            | StreamFormat::GeminiCli
            | StreamFormat::Opencode => agent.is_known,
            StreamFormat::MiniSweAgent | StreamFormat::Aider | StreamFormat::Text => false,
        };
        if ends_with_text && has_open_call(&made) {
            reasons.push(
                "the agent ended before its model got the result of the last call".to_owned(),
            );
        }
        has_submitted = submit(&mut made);
        let has_calls = !printed.tool_calls().is_empty();
        let replaces = !has_calls || form == StreamFormat::MiniSweAgent;
        if replaces && !made.tool_calls().is_empty() {
            *printed = made;
        } else {
            reasons.extend(made.incomplete().into_iter().map(str::to_owned));
            reasons.extend(join(printed, &made, form));
        }
    }
    if report.turns > 0 {
        let extra = printed.extra.get_or_insert_default();
        extra.insert(MODEL_ANSWERS.to_owned(), json!(answers));
        if report.models.len() > 1 {
            extra.insert("models".to_owned(), json!(report.models));
        }
    }
    if !report.unpriced.is_empty() {
        forget_costs(printed);
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
    if agent.is_replay {
        let extra = printed.extra.get_or_insert_default();
        extra.insert(REPLAYED.to_owned(), json!(true));
    }
    if report.is_lower_bound {
        let extra = printed.extra.get_or_insert_default();
        extra.insert(USAGE_IS_LOWER_BOUND.to_owned(), json!(true));
    }
    if !report.denied.is_empty() {
        let extra = printed.extra.get_or_insert_default();
        extra.insert(DENIED.to_owned(), json!(report.denied));
    }
    if let Some(version) = agent.version {
        printed.agent.version = version;
    }
    // The model's commands can write the file that says how the session ended.
    let says_submitted = reading.error.is_none() && !is_cut;
    let is_file = form == StreamFormat::MiniSweAgent && read > 0;
    if is_file && says_submitted && !has_submitted {
        let why = "its trajectory file says `Submitted`, but the model's last call does not submit";
        reading.error = Some(why.to_owned());
    }
}

/// What an agent reports for answers without a price is not their cost.
fn forget_costs(trajectory: &mut Trajectory) {
    if let Some(sums) = &mut trajectory.final_metrics {
        sums.total_cost_usd = None;
    }
    for metrics in trajectory
        .steps
        .iter_mut()
        .flat_map(|step| &mut step.metrics)
    {
        metrics.cost_usd = None;
    }
    trajectory
        .subagent_trajectories
        .iter_mut()
        .for_each(forget_costs);
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_agents::streams::read_stream;

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
            is_whole: true,
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
    fn stream(calls: &[[&str; 3]]) -> AgentReading {
        let mut text = String::new();
        for one in calls {
            let message = json!({"id": one[0], "content": call(*one)});
            text += &format!("{}\n", json!({"type": "assistant", "message": message}));
        }
        text += r#"{"type":"result","subtype":"success","result":"done"}"#;
        read_stream(StreamFormat::ClaudeCode, text.as_bytes())
    }

    fn program(form: StreamFormat) -> RanProgram {
        RanProgram {
            name: "a".to_owned(),
            version: None,
            is_known: false,
            form,
            is_replay: false,
        }
    }

    fn completed(calls: &[[&str; 3]], report: &SessionReport) -> (Vec<String>, Vec<String>) {
        let mut reading = stream(calls);
        complete(&mut reading, program(StreamFormat::ClaudeCode), report);
        let trajectory = reading.trajectory;
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
        let (names, reasons) = completed(&[["fake", "Bash", "ls"]], &made);
        assert_eq!(names, ["fake", "t1"]);
        assert_eq!(
            reasons,
            [
                "the agent printed a call of `Bash` (`fake`) that is not in its conversation with the model"
            ]
        );
        let (names, reasons) = completed(&[], &made);
        assert_eq!((names, reasons), (vec!["t1".to_owned()], Vec::new()));
    }

    #[test]
    fn call_whose_result_the_model_never_got_makes_it_incomplete() {
        let first = exchange(json!([user("p")]), call(CALL));
        let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]);
        let asked = json!({"role": "assistant", "content": call(CALL)});
        let messages = json!([user("p"), asked, user(result)]);
        let last = exchange(messages, json!([{"type": "text", "text": "a"}]));
        let reason = "the agent ended before its model got the result of the last call";
        for (exchanges, reasons) in [
            (vec![first.clone()], &[reason][..]),
            (vec![first, last], &[]),
        ] {
            let mut reading = stream(&[CALL]);
            let known = RanProgram {
                is_known: true,
                ..program(StreamFormat::ClaudeCode)
            };
            complete(&mut reading, known, &report(exchanges));
            assert_eq!(reading.trajectory.incomplete(), reasons);
        }
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

    #[test]
    fn answers_are_those_that_the_proxy_counted() {
        let answer = || exchange(json!([user("p")]), json!([{"type": "text", "text": "a"}]));
        let mut made = report((0..7).map(|_| answer()).collect());
        made.turns = 9;
        let mut reading = stream(&[]);
        complete(&mut reading, program(StreamFormat::ClaudeCode), &made);
        assert_eq!(reading.trajectory.totals().agent_steps, 9);
    }

    #[test]
    fn costs_that_an_agent_reports_for_answers_without_a_price_are_unknown() {
        let printed =
            br#"{"type":"result","subtype":"success","result":"done","total_cost_usd":0.0}"#;
        let mut made = report(vec![exchange(json!([user("p")]), json!([]))]);
        for (unpriced, cost) in [(vec![], Some(0.0)), (vec!["m".to_owned()], None)] {
            made.unpriced = unpriced;
            let mut reading = read_stream(StreamFormat::ClaudeCode, printed);
            complete(&mut reading, program(StreamFormat::ClaudeCode), &made);
            assert_eq!(reading.trajectory.totals().cost_usd, cost);
        }
    }

    /// The model's commands can write the file in any way.
    #[test]
    fn trajectory_file_counts_only_for_what_the_conversation_does_not_have() {
        let run = |command: &str| {
            json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": json!({"command": command}).to_string()}}]}}]})
        };
        let made = |command: &str| {
            let mut one = exchange(json!([user("p")]), Value::Null);
            (one.protocol, one.answer) = (ApiProtocol::OpenaiChat, run(command));
            report(vec![one])
        };
        let file = json!({"info": {"exit_status": "Submitted"}, "messages": [
            {"role": "assistant", "content": "", "extra": {"actions": [{"command": "ls"}]}}]});
        let read = |made: &SessionReport| {
            let mut reading = read_stream(StreamFormat::MiniSweAgent, file.to_string().as_bytes());
            complete(&mut reading, program(StreamFormat::MiniSweAgent), made);
            let calls = reading.trajectory.tool_calls().into_iter();
            let calls: Vec<Value> = calls
                .map(|made| made.call.arguments["command"].clone())
                .collect();
            (calls, reading.error)
        };
        let (calls, error) = read(&made("rm -rf data"));
        assert_eq!(calls, ["rm -rf data"]);
        assert!(error.is_some_and(|why| why.contains("does not submit")));
        let end = "rm -rf data; echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";
        let (calls, error) = read(&made(end));
        assert_eq!((calls, error), (vec![json!(end)], None));
    }
}
