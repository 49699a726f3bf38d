use std::fmt::Write;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn exchange<'a>(api: MessageApi, request: &'a Value, answer: &'a Value) -> ApiExchange<'a> {
    ApiExchange {
        api,
        at: None,
        conversation: 0,
        model: None,
        request,
        answer,
        cost_usd: None,
    }
}

fn outline(trajectory: &Trajectory) -> String {
    let mut out = String::new();
    for step in &trajectory.steps {
        let _ = writeln!(
            out,
            "{} {:?} {:?} {:?}",
            step.step_id,
            step.source,
            step.message.text(),
            step.reasoning_content
        );
        for call in &step.tool_calls {
            let arguments = Value::Object(call.arguments.clone());
            let _ = writeln!(
                out,
                "  call {} {} {arguments}",
                call.tool_call_id, call.function_name
            );
        }
        for result in step.results() {
            let _ = writeln!(
                out,
                "  result {:?} {:?} {:?}",
                result.source_call_id,
                result.text(),
                result.is_error()
            );
        }
        if let Some(metrics) = &step.metrics {
            let _ = writeln!(out, "  {}", serde_json::to_string(metrics).unwrap());
        }
    }
    out
}

/// Two calls of one conversation in each API: the model calls two tools, sees their results, answers.
fn conversations() -> Vec<(MessageApi, [Value; 4])> {
    let chat_call = |id: &str, n: u64| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": format!("{{\"n\":{n}}}")}});
    let chat_answer = json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [chat_call("a", 1), chat_call("b", 2)]});
    let chat_start = [
        json!({"role": "system", "content": "s"}),
        json!({"role": "user", "content": [{"type": "text", "text": "p"}]}),
    ];
    let chat_end = [
        json!({"role": "tool", "tool_call_id": "a", "content": "1"}),
        json!({"role": "tool", "tool_call_id": "b", "content": "2"}),
    ];
    let chat = [
        json!({"messages": chat_start}),
        json!({"model": "m", "choices": [{"message": chat_answer}], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}}),
        json!({"messages": [chat_start[0], chat_start[1], chat_answer, chat_end[0], chat_end[1]]}),
        json!({"model": "m", "choices": [{"message": {"role": "assistant", "content": "3"}}], "usage": {"prompt_tokens": 20, "completion_tokens": 1}}),
    ];
    let responses_answer = [
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
        json!({"type": "function_call", "call_id": "a", "name": "add", "arguments": "{\"n\":1}"}),
        json!({"type": "function_call", "call_id": "b", "name": "add", "arguments": "{\"n\":2}"}),
    ];
    let responses_start = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "p"}]});
    let responses = [
        json!({"instructions": "s", "input": [responses_start]}),
        json!({"model": "m", "output": responses_answer, "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 5}}),
        json!({"instructions": "s", "input": [responses_start, responses_answer[0], responses_answer[1], responses_answer[2],
            {"type": "function_call_output", "call_id": "a", "output": "1"}, {"type": "function_call_output", "call_id": "b", "output": "2"}]}),
        json!({"model": "m", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3"}]}], "usage": {"input_tokens": 20, "output_tokens": 1}}),
    ];
    let anthropic_answer = json!([{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "a", "name": "add", "input": {"n": 1}}, {"type": "tool_use", "id": "b", "name": "add", "input": {"n": 2}}]);
    let anthropic = [
        json!({"system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}], "messages": [{"role": "user", "content": "p"}]}),
        json!({"model": "m", "content": anthropic_answer, "usage": {"input_tokens": 7, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 5}}),
        json!({"system": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "p"}]}, {"role": "assistant", "content": anthropic_answer},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}, {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "2"}]}]}]}),
        json!({"model": "m", "content": [{"type": "text", "text": "3"}], "usage": {"input_tokens": 20, "output_tokens": 1}}),
    ];
    let gemini_answer = json!({"role": "model", "parts": [{"text": "hm", "thought": true}, {"functionCall": {"name": "add", "args": {"n": 1}}}, {"functionCall": {"name": "add", "args": {"n": 2}}}]});
    let gemini_start = json!({"role": "user", "parts": [{"text": "p"}]});
    let gemini = [
        json!({"systemInstruction": {"parts": [{"text": "s"}]}, "contents": [gemini_start]}),
        json!({"modelVersion": "m", "candidates": [{"content": gemini_answer}], "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 3, "candidatesTokenCount": 4, "thoughtsTokenCount": 1}}),
        json!({"systemInstruction": {"parts": [{"text": "s"}]}, "contents": [gemini_start, gemini_answer, {"role": "user", "parts": [
            {"functionResponse": {"name": "add", "response": {"output": "1"}}}, {"functionResponse": {"name": "add", "response": {"output": "2"}}}]}]}),
        json!({"modelVersion": "m", "candidates": [{"content": {"parts": [{"text": "3"}]}}], "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 1}}),
    ];
    vec![
        (MessageApi::OpenaiChat, chat),
        (MessageApi::OpenaiResponses, responses),
        (MessageApi::AnthropicMessages, anthropic),
        (MessageApi::Gemini, gemini),
    ]
}

#[test]
fn the_same_conversation_gives_the_same_steps_in_every_api() {
    for (api, [first, calls, second, end]) in conversations() {
        let mut reader = ConversationReader::new("a", "1");
        reader.add(&exchange(api, &first, &calls));
        // A request that is sent again adds nothing but its answer.
        reader.add(&exchange(api, &second, &Value::Null));
        reader.add(&exchange(api, &second, &end));
        let trajectory = reader.finish().unwrap();
        let [a, b] = if api == MessageApi::Gemini {
            ["call_1", "call_2"]
        } else {
            ["a", "b"]
        };
        // Anthropic leaves out `is_error` where it is false; the others never report it.
        let error = match api {
            MessageApi::AnthropicMessages => "Some(false)",
            _ => "None",
        };
        assert_eq!(
            outline(&trajectory),
            format!(
                "1 System \"s\" None\n2 User \"p\" None\n3 Agent \"\" Some(\"hm\")\n  call {a} add {{\"n\":1}}\n  call {b} add {{\"n\":2}}\n  \
                 result Some({a:?}) \"1\" {error}\n  result Some({b:?}) \"2\" {error}\n  \
                 {{\"prompt_tokens\":10,\"completion_tokens\":5,\"cached_tokens\":3}}\n4 Agent \"3\" None\n  {{\"prompt_tokens\":20,\"completion_tokens\":1}}\n"
            ),
            "{api:?}"
        );
        assert_eq!(trajectory.agent.model_name.as_deref(), Some("m"));
        let again = Trajectory::from_value(serde_json::to_value(&trajectory).unwrap());
        assert_eq!(again.unwrap(), trajectory);
    }
}

#[test]
fn other_conversations_are_embedded() {
    let request = |text: &str| json!({"messages": [{"role": "user", "content": text}]});
    let answer = json!({"content": [{"type": "text", "text": "ok"}]});
    let (title, main) = (request("title"), request("main"));
    let mut reader = ConversationReader::new("a", "1");
    let of = |request, conversation| ApiExchange {
        conversation,
        cost_usd: Some(0.5),
        ..exchange(MessageApi::AnthropicMessages, request, &answer)
    };
    reader.add(&of(&title, 0));
    reader.add(&of(&main, 1));
    reader.add(&of(&main, 1));
    let trajectory = reader.finish().unwrap();
    assert_eq!(
        outline(&trajectory).lines().next(),
        Some("1 User \"main\" None")
    );
    assert_eq!(trajectory.subagent_trajectories.len(), 1);
    assert_eq!(
        trajectory.subagent_trajectories[0].trajectory_id.as_deref(),
        Some("conversation-0")
    );
    assert_eq!(trajectory.totals().cost_usd, Some(1.5));
}

/// Any JSON with the names that matter.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "messages",
        "input",
        "contents",
        "content",
        "role",
        "type",
        "parts",
        "tool_calls",
        "function",
        "arguments",
        "output",
        "choices",
        "message",
        "text",
        "usage",
        "functionCall",
        "functionResponse",
        "system",
        "candidates",
        "id",
        "call_id",
        "name",
    ]);
    let word = prop::sample::select(vec![
        "user",
        "assistant",
        "tool",
        "model",
        "function_call",
        "function_call_output",
        "tool_use",
        "tool_result",
        "{}",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from)
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_gives_a_trajectory_that_can_be_read_back(
        bodies in prop::collection::vec((0..4usize, any_json(), any_json()), 1..4),
    ) {
        let apis = [MessageApi::OpenaiChat, MessageApi::OpenaiResponses, MessageApi::AnthropicMessages, MessageApi::Gemini];
        let mut reader = ConversationReader::new("a", "1");
        for (api, request, answer) in &bodies {
            reader.add(&exchange(apis[*api], request, answer));
        }
        if let Some(trajectory) = reader.finish() {
            let json = serde_json::to_vec(&trajectory).unwrap();
            prop_assert_eq!(Trajectory::from_json(&json).unwrap(), trajectory);
        }
    }
}
