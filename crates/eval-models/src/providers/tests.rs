//! What is sent and what is read, without a network; `tests/models/providers.rs` has the network.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    ApiKey, CallIndex, CallLimits, ChatMessage, HttpDialect, KeySource, KeyValue, LaneLimits,
    SamplingOptions,
};

const KEY: &str = "sk-secret-0123456789";

fn endpoint(api: ProviderApi, base_url: &str) -> Endpoint {
    Endpoint {
        address_variable: None,
        api,
        provider: api.name().to_owned(),
        model: "small".to_owned(),
        base_url: base_url.to_owned(),
        headers: BTreeMap::new(),
        dialect: None,
        key: Some(ApiKey {
            source: KeySource::Variable("KEY".to_owned()),
            value: KEY.to_owned().into(),
        }),
        limits: LaneLimits::default(),
        patience: CallLimits::default(),
        ca_file: None,
        insecure: false,
        price: None,
        replay: None,
    }
}

fn call(messages: Vec<ChatMessage>, sampling: SamplingOptions) -> ModelRequest {
    ModelRequest {
        system: None,
        messages,
        sampling,
        index: CallIndex::default(),
        timeout: Duration::from_secs(30),
    }
}

fn all_sampling() -> SamplingOptions {
    SamplingOptions {
        temperature: Some(0.0),
        top_p: Some(0.9),
        max_tokens: Some(50),
        stop: vec!["END".to_owned()],
        seed: Some(7),
        json_schema: Some(json!({"type": "object"}).into()),
        options: BTreeMap::from([
            ("reasoning_effort".to_owned(), json!("low").into()),
            ("seed".to_owned(), Value::Null.into()),
            ("top_p".to_owned(), json!(0.5).into()),
        ]),
    }
}

fn conversation() -> Vec<ChatMessage> {
    vec![
        ChatMessage {
            role: "system".to_owned(),
            content: json!("Be terse."),
        },
        ChatMessage::user("Hi"),
        ChatMessage {
            role: "assistant".to_owned(),
            content: json!("Hello"),
        },
        ChatMessage {
            role: "user".to_owned(),
            content: json!([{"type": "text", "text": "Again"}]),
        },
    ]
}

/// The request as a person reads it.
fn sent(endpoint: &Endpoint, call: &ModelRequest) -> String {
    let request = match request(endpoint, call) {
        Ok(request) => request,
        Err(fault) => return format!("{}: {}\n", fault.kind.label(), fault.reason),
    };
    let mut out = format!("{} {}\n", request.method, request.url);
    for (name, value) in &request.headers {
        out.push_str(&format!("{name}: {value}\n"));
    }
    out.push_str(&String::from_utf8(request.body.unwrap_or_default().into()).unwrap());
    out.push('\n');
    out
}

fn told(result: Result<Completion, ModelFault>) -> String {
    match result {
        Ok(Completion {
            text,
            tool_calls,
            finish,
            tokens,
            model,
            thoughts,
        }) => {
            let tokens = tokens.map_or("unknown".to_owned(), |t| {
                format!(
                    "{}+{} ({} cached, {} written)",
                    t.input, t.output, t.cached_input, t.cache_write
                )
            });
            let calls = tool_calls
                .map(|calls| format!(" calls={calls}"))
                .unwrap_or_default();
            let model = model
                .map(|model| format!(" by {model}"))
                .unwrap_or_default();
            let thoughts = thoughts
                .map(|thoughts| format!(" thinking {thoughts:?}"))
                .unwrap_or_default();
            format!("{finish:?} {text:?} tokens {tokens}{calls}{model}{thoughts}")
        }
        Err(fault) => {
            let tokens = fault
                .tokens
                .map(|t| format!(" [tokens {}+{}]", t.input, t.output))
                .unwrap_or_default();
            format!("{}: {}{tokens}", fault.kind.label(), fault.reason)
        }
    }
}

fn readings(endpoint: &Endpoint, bodies: &[Value]) -> String {
    let lines = bodies
        .iter()
        .map(|body| told(read(endpoint, "host:1", body.to_string().as_bytes())) + "\n");
    lines.collect()
}

#[test]
fn chat_completions_are_asked_for() {
    let mut own = endpoint(ProviderApi::Openai, "http://127.0.0.1:8000/v1/");
    let plain = call(vec![ChatMessage::user("Hi")], SamplingOptions::default());
    let mut all = call(conversation(), all_sampling());
    let mut told = sent(&own, &plain);
    all.system = Some("You add.".to_owned());
    told.push_str(&sent(&own, &all));
    own.key = None;
    own.headers
        .insert("Authorization".to_owned(), "Bearer other".to_owned());
    told.push_str(&sent(&own, &plain));
    let limited = SamplingOptions {
        max_tokens: Some(5),
        ..SamplingOptions::default()
    };
    let themselves = endpoint(ProviderApi::Openai, "https://api.openai.com/v1");
    told.push_str(&sent(
        &themselves,
        &call(vec![ChatMessage::user("Hi")], limited),
    ));
    insta::assert_snapshot!(told, @r#"
    POST http://127.0.0.1:8000/v1/chat/completions
    content-type: application/json
    authorization: Bearer sk-secret-0123456789
    {"messages":[{"content":"Hi","role":"user"}],"model":"small"}
    POST http://127.0.0.1:8000/v1/chat/completions
    content-type: application/json
    authorization: Bearer sk-secret-0123456789
    {"max_tokens":50,"messages":[{"content":"You add.","role":"system"},{"content":"Be terse.","role":"system"},{"content":"Hi","role":"user"},{"content":"Hello","role":"assistant"},{"content":[{"text":"Again","type":"text"}],"role":"user"}],"model":"small","reasoning_effort":"low","response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":true}},"stop":["END"],"temperature":0.0,"top_p":0.5}
    POST http://127.0.0.1:8000/v1/chat/completions
    content-type: application/json
    Authorization: Bearer other
    {"messages":[{"content":"Hi","role":"user"}],"model":"small"}
    POST https://api.openai.com/v1/chat/completions
    content-type: application/json
    authorization: Bearer sk-secret-0123456789
    {"max_completion_tokens":5,"messages":[{"content":"Hi","role":"user"}],"model":"small"}
    "#);
}

#[test]
fn messages_are_asked_for() {
    let own = endpoint(ProviderApi::Anthropic, "https://api.anthropic.com/v1");
    let mut told = sent(
        &own,
        &call(vec![ChatMessage::user("Hi")], SamplingOptions::default()),
    );
    let mut all = call(conversation(), all_sampling());
    told.push_str(&sent(&own, &all));
    all.system = Some("You add.".to_owned());
    all.sampling = SamplingOptions::default();
    told.push_str(&sent(&own, &all));
    all.messages[0].content =
        json!([{"type": "text", "text": "Be terse.", "cache_control": {"type": "ephemeral"}}]);
    told.push_str(&sent(&own, &all));
    insta::assert_snapshot!(told, @r#"
    POST https://api.anthropic.com/v1/messages
    content-type: application/json
    anthropic-version: 2023-06-01
    x-api-key: sk-secret-0123456789
    {"max_tokens":4096,"messages":[{"content":"Hi","role":"user"}],"model":"small"}
    POST https://api.anthropic.com/v1/messages
    content-type: application/json
    anthropic-version: 2023-06-01
    x-api-key: sk-secret-0123456789
    {"max_tokens":50,"messages":[{"content":"Hi","role":"user"},{"content":"Hello","role":"assistant"},{"content":[{"text":"Again","type":"text"}],"role":"user"}],"model":"small","output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"reasoning_effort":"low","stop_sequences":["END"],"system":"Be terse.","temperature":0.0,"top_p":0.5}
    POST https://api.anthropic.com/v1/messages
    content-type: application/json
    anthropic-version: 2023-06-01
    x-api-key: sk-secret-0123456789
    {"max_tokens":4096,"messages":[{"content":"Hi","role":"user"},{"content":"Hello","role":"assistant"},{"content":[{"text":"Again","type":"text"}],"role":"user"}],"model":"small","system":"You add.\n\nBe terse."}
    POST https://api.anthropic.com/v1/messages
    content-type: application/json
    anthropic-version: 2023-06-01
    x-api-key: sk-secret-0123456789
    {"max_tokens":4096,"messages":[{"content":"Hi","role":"user"},{"content":"Hello","role":"assistant"},{"content":[{"text":"Again","type":"text"}],"role":"user"}],"model":"small","system":[{"text":"You add.","type":"text"},{"cache_control":{"type":"ephemeral"},"text":"Be terse.","type":"text"}]}
    "#);
}

fn dialect() -> HttpDialect {
    HttpDialect {
        method: "POST".to_owned(),
        path: "/models/{{ model }}:generate".to_owned(),
        body: json!({
            "q": "{{ prompt }}", "text": "<{{ prompt }}>", "t": "{{ temperature }}", "stop": "{{ stop }}",
            "deep": {"n": "{{ max_tokens }}", "s": "{{ system }}"}, "list": ["{{ seed }}", 1], "odd": "{{ unknown }}",
            "composed": "seed {{ seed }}", "m": "{{ messages }}",
        })
        .into(),
        answer: "$.candidates[0].content.parts[*].text".to_owned(),
        input_tokens: Some("$.usage.in".to_owned()),
        output_tokens: Some("$.usage.out".to_owned()),
        error: Some("$.problem".to_owned()),
        finish: Some("$.candidates[0].finishReason".to_owned()),
    }
}

#[test]
fn apis_of_ones_own_are_asked_as_they_want() {
    let mut own = endpoint(ProviderApi::Http, "http://127.0.0.1:9");
    let mut told = sent(
        &own,
        &call(vec![ChatMessage::user("Hi")], SamplingOptions::default()),
    );
    own.model = "a/b".to_owned();
    own.dialect = Some(Box::new(dialect()));
    told.push_str(&sent(
        &own,
        &call(
            vec![ChatMessage::user("say {{ model }}")],
            SamplingOptions::default(),
        ),
    ));
    let mut whole = call(vec![ChatMessage::user("Hi")], all_sampling());
    whole.sampling.options.clear();
    whole.system = Some("You add.".to_owned());
    told.push_str(&sent(&own, &whole));
    let only = |body: Value| {
        Some(Box::new(HttpDialect {
            body: body.into(),
            path: String::new(),
            ..dialect()
        }))
    };
    own.dialect = only(json!({"m": "{{ messages }}"}));
    whole.sampling = SamplingOptions {
        options: all_sampling().options,
        ..SamplingOptions::default()
    };
    told.push_str(&sent(&own, &whole));
    own.dialect = only(json!({"q": "{{ prompt }}"}));
    told.push_str(&sent(&own, &whole));
    told.push_str(&sent(
        &own,
        &call(conversation(), SamplingOptions::default()),
    ));
    own.dialect = only(json!({"q": "{{ prompt }}", "s": "{{ system }}", "m": "{{ messages }}"}));
    whole.messages = conversation();
    told.push_str(&sent(&own, &whole));
    own.dialect = only(json!({"q": "{{ prompt }}", "s": "{{ system }}"}));
    told.push_str(&sent(
        &own,
        &call(conversation()[..2].to_vec(), SamplingOptions::default()),
    ));
    own.dialect = only(json!("{{ prompt }}"));
    told.push_str(&sent(
        &own,
        &call(vec![ChatMessage::user("Hi")], SamplingOptions::default()),
    ));
    insta::assert_snapshot!(told, @r#"
    settings: the request format of http:small is not defined
    POST http://127.0.0.1:9/models/a%2Fb:generate
    content-type: application/json
    authorization: Bearer sk-secret-0123456789
    {"deep":{},"list":[1],"m":[{"content":"say {{ model }}","role":"user"}],"odd":"{{ unknown }}","q":"say {{ model }}","text":"<say {{ model }}>"}
    POST http://127.0.0.1:9/models/a%2Fb:generate
    content-type: application/json
    authorization: Bearer sk-secret-0123456789
    {"composed":"seed 7","deep":{"n":50,"s":"You add."},"list":[7,1],"m":[{"content":"Hi","role":"user"}],"odd":"{{ unknown }}","q":"Hi","stop":["END"],"t":0.0,"text":"<Hi>"}
    POST http://127.0.0.1:9/
    content-type: application/json
    authorization: Bearer sk-secret-0123456789
    {"m":[{"content":"You add.","role":"system"},{"content":"Hi","role":"user"}],"reasoning_effort":"low","top_p":0.5}
    bad_request: the input has a system message, but the request has no place for it: use `{{ system }}` or `{{ messages }}`
    bad_request: the input is a conversation, but the request has only one `prompt`: use `{{ messages }}`
    POST http://127.0.0.1:9/
    content-type: application/json
    authorization: Bearer sk-secret-0123456789
    {"m":[{"content":"Hi","role":"user"},{"content":"Hello","role":"assistant"},{"content":[{"text":"Again","type":"text"}],"role":"user"}],"q":"Again","s":"You add.\n\nBe terse.","reasoning_effort":"low","top_p":0.5}
    POST http://127.0.0.1:9/
    content-type: application/json
    authorization: Bearer sk-secret-0123456789
    {"q":"Hi","s":"Be terse."}
    POST http://127.0.0.1:9/
    content-type: text/plain; charset=utf-8
    authorization: Bearer sk-secret-0123456789
    Hi
    "#);
}

#[test]
fn a_key_that_is_not_set_is_named_by_its_variable() {
    let mut own = endpoint(ProviderApi::Openai, "http://127.0.0.1:9");
    own.key = Some(ApiKey {
        source: KeySource::Variable("MY_KEY".to_owned()),
        value: KeyValue::default(),
    });
    insta::assert_snapshot!(sent(&own, &call(vec![ChatMessage::user("Hi")], SamplingOptions::default())), @"unauthorized: the key of openai:small is not set: the variable MY_KEY");
}

#[test]
fn chat_completions_are_read() {
    let own = endpoint(ProviderApi::Openai, "http://127.0.0.1:9");
    let choice = |choice: Value| json!({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let message =
        |message: Value, finish: &str| choice(json!({"message": message, "finish_reason": finish}));
    let usage = |usage: Value| json!({"choices": [{"message": {"content": "x"}}], "usage": usage});
    let bodies = [
        json!({"model": "small-1", "choices": [{"message": {"role": "assistant", "content": "Hi", "reasoning_content": "hm"},
            "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11,
            "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 1}}}),
        message(
            json!({"content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "no"}, {"type": "text", "text": "b"}]}),
            "stop",
        ),
        message(
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]},
                {"type": "text", "text": "a"}]}),
            "stop",
        ),
        message(
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
            "length",
        ),
        message(
            json!({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}]}),
            "stop",
        ),
        message(json!({"content": "cut of"}), "length"),
        message(json!({"content": null}), "length"),
        message(json!({"content": ""}), "stop"),
        message(json!({"content": " \n"}), "stop"),
        message(json!({"content": "\u{200b}\u{feff}\0 "}), "stop"),
        message(json!({"content": null, "refusal": "I can't."}), "stop"),
        message(
            json!({"content": [{"type": "refusal", "refusal": "No."}]}),
            "stop",
        ),
        message(json!({"content": null}), "content_filter"),
        message(json!({"content": "par"}), "content_filter"),
        message(
            json!({"content": null, "tool_calls": [{"id": "c", "function": {"name": "f"}}]}),
            "tool_calls",
        ),
        message(
            json!({"content": "so", "function_call": {"name": "f"}}),
            "stop",
        ),
        message(json!({"content": "so", "tool_calls": []}), "tool_calls"),
        message(json!({"content": null}), "tool_calls"),
        choice(json!({"text": "old", "finish_reason": "eos"})),
        choice(json!({"message": {"content": "x"}, "finish_reason": null})),
        choice(json!({"message": {"content": 5}})),
        choice(json!({"message": "x"})),
        choice(json!({"error": {"code": 502, "message": "upstream"}, "finish_reason": "error"})),
        json!({"choices": []}),
        json!({"choices": null}),
        json!({"id": 1}),
        json!([]),
        json!("text"),
        json!(null),
        usage(Value::Null),
        usage(json!({"prompt_tokens": null, "completion_tokens": 2})),
        usage(json!({"prompt_tokens": "3", "completion_tokens": 2})),
        usage(json!({"prompt_tokens": -3, "completion_tokens": 2})),
        usage(json!({"prompt_tokens": 3.5, "completion_tokens": 2})),
        usage(json!({"prompt_tokens": 3.0, "completion_tokens": 2})),
        usage(json!({"prompt_tokens": 3})),
        usage(json!({"prompt_tokens": 18446744073709551615u64, "completion_tokens": 2})),
        usage(
            json!({"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}),
        ),
        usage(json!({"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": null})),
        json!({"error": {"message": "no", "type": "server_error"}, "usage": {"prompt_tokens": 3, "completion_tokens": 0}}),
        json!({"error": {"message": "slow down", "type": "rate_limit_error"}}),
        json!({"error": {"message": "full", "code": 503}}),
        json!({"error": {"message": "who?", "code": "invalid_api_key"}}),
        json!({"error": {"message": "what?", "type": "invalid_request_error"}}),
    ];
    insta::assert_snapshot!(readings(&own, &bodies), @r#"
    Stop "Hi" tokens 9+2 (4 cached, 0 written) by small-1 thinking "hm"
    Stop "ab" tokens 3+2 (0 cached, 0 written) thinking "no"
    Stop "a" tokens 3+2 (0 cached, 0 written) thinking "hm"
    only_reasoning: host:1 answered with reasoning (2 output tokens) and no text; raise `max_tokens`, or lower the model's reasoning effort [tokens 3+2]
    Stop "a" tokens 3+2 (0 cached, 0 written)
    Length "cut of" tokens 3+2 (0 cached, 0 written)
    cut: host:1 reached the token limit before the answer had any text; raise `max_tokens` [tokens 3+2]
    empty: host:1 answered with an empty text [tokens 3+2]
    empty: host:1 answered with an empty text [tokens 3+2]
    empty: host:1 answered with an empty text [tokens 3+2]
    Refused "I can't." tokens 3+2 (0 cached, 0 written)
    Refused "No." tokens 3+2 (0 cached, 0 written)
    Refused "" tokens 3+2 (0 cached, 0 written)
    Refused "par" tokens 3+2 (0 cached, 0 written)
    ToolCalls "" tokens 3+2 (0 cached, 0 written) calls=[{"function":{"name":"f"},"id":"c"}]
    ToolCalls "so" tokens 3+2 (0 cached, 0 written) calls=[{"function":{"name":"f"},"type":"function"}]
    Other "so" tokens 3+2 (0 cached, 0 written)
    empty: host:1 answered with an empty text [tokens 3+2]
    Stop "old" tokens 3+2 (0 cached, 0 written)
    Other "x" tokens 3+2 (0 cached, 0 written)
    unreadable: host:1 answered with JSON that is not an answer: the content of its message is not text [tokens 3+2]
    unreadable: host:1 answered with JSON that is not an answer: its first choice has no `message` [tokens 3+2]
    error_body: host:1 answered with an error, although the HTTP status is a success: upstream [tokens 3+2]
    empty: host:1 answered with an empty text
    unreadable: host:1 answered with JSON that is not an answer: it has no `choices`
    unreadable: host:1 answered with JSON that is not an answer: it has no `choices`
    unreadable: host:1 answered with JSON that is not an answer: it has no `choices`
    unreadable: host:1 answered with JSON that is not an answer: it has no `choices`
    unreadable: host:1 answered with JSON that is not an answer: it has no `choices`
    Other "x" tokens unknown
    Other "x" tokens unknown
    Other "x" tokens unknown
    Other "x" tokens unknown
    Other "x" tokens unknown
    Other "x" tokens 3+2 (0 cached, 0 written)
    Other "x" tokens unknown
    Other "x" tokens unknown
    Other "x" tokens unknown
    Other "x" tokens 3+2 (0 cached, 0 written)
    error_body: host:1 answered with an error, although the HTTP status is a success: no [tokens 3+0]
    429: host:1 answered with an error, although the HTTP status is a success: slow down
    503: host:1 answered with an error, although the HTTP status is a success: full
    unauthorized: host:1 answered with an error, although the HTTP status is a success: who?
    bad_request: host:1 answered with an error, although the HTTP status is a success: what?
    "#);
}

#[test]
fn messages_are_read() {
    let own = endpoint(ProviderApi::Anthropic, "http://127.0.0.1:9");
    let said = |content: Value, stop: &str| {
        json!({"type": "message", "role": "assistant", "model": "claude-x", "content": content, "stop_reason": stop,
            "usage": {"input_tokens": 5, "output_tokens": 3}})
    };
    let text = json!([{"type": "text", "text": "Hi"}]);
    let mut cached = said(text.clone(), "end_turn");
    cached["usage"] = json!({"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 3});
    let mut unknown = said(text.clone(), "end_turn");
    unknown["usage"]["cache_read_input_tokens"] = json!("many");
    let bodies = [
        said(text.clone(), "end_turn"),
        said(
            json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            "stop_sequence",
        ),
        said(text.clone(), "max_tokens"),
        said(
            json!([{"type": "thinking", "thinking": "hm"}]),
            "max_tokens",
        ),
        said(
            json!([{"type": "redacted_thinking", "data": "EmwK"}]),
            "max_tokens",
        ),
        said(
            json!([{"type": "thinking", "thinking": "", "signature": "EqQB"}]),
            "end_turn",
        ),
        said(
            json!([{"type": "redacted_thinking", "data": "EmwK"}, {"type": "redacted_thinking", "data": "EmwL"}, {"type": "text", "text": "a"}]),
            "end_turn",
        ),
        said(
            json!([{"type": "thinking", "thinking": ""}, {"type": "text", "text": "a"}]),
            "end_turn",
        ),
        said(json!([]), "refusal"),
        said(json!([]), "end_turn"),
        said(
            json!([{"type": "text", "text": "so"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]),
            "tool_use",
        ),
        said(text.clone(), "pause_turn"),
        cached,
        unknown,
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        json!({"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}),
        json!({"type": "message", "content": null}),
        json!({"content": [1, null, {"text": "x"}], "stop_reason": null, "usage": {}}),
    ];
    insta::assert_snapshot!(readings(&own, &bodies), @r#"
    Stop "Hi" tokens 5+3 (0 cached, 0 written) by claude-x
    Stop "ab" tokens 5+3 (0 cached, 0 written) by claude-x thinking "hm"
    Length "Hi" tokens 5+3 (0 cached, 0 written) by claude-x
    only_reasoning: host:1 answered with reasoning (3 output tokens) and no text; raise `max_tokens`, or lower the model's reasoning effort [tokens 5+3]
    only_reasoning: host:1 answered with reasoning (3 output tokens) and no text; raise `max_tokens`, or lower the model's reasoning effort [tokens 5+3]
    only_reasoning: host:1 answered with reasoning (3 output tokens) and no text; raise `max_tokens`, or lower the model's reasoning effort [tokens 5+3]
    Stop "a" tokens 5+3 (0 cached, 0 written) by claude-x thinking "[reasoning that the API does not show]"
    Stop "a" tokens 5+3 (0 cached, 0 written) by claude-x
    Refused "" tokens 5+3 (0 cached, 0 written) by claude-x
    empty: host:1 answered with an empty text [tokens 5+3]
    ToolCalls "so" tokens 5+3 (0 cached, 0 written) calls=[{"id":"t","input":{},"name":"f","type":"tool_use"}] by claude-x
    cut: host:1 paused before the answer was complete (`pause_turn`), and eval-harness does not continue a paused turn; remove tools that run on the server from `options.tools`, or lower their `max_uses` [tokens 5+3]
    Stop "Hi" tokens 125+3 (100 cached, 20 written) by claude-x
    Stop "Hi" tokens unknown by claude-x
    503: host:1 answered with an error, although the HTTP status is a success: Overloaded
    error_body: host:1 answered with an error, although the HTTP status is a success: Internal server error
    unreadable: host:1 answered with JSON that is not an answer: it has no `content`
    Other "x" tokens unknown
    "#);
}

#[test]
fn apis_of_ones_own_are_read_by_their_paths() {
    let mut own = endpoint(ProviderApi::Http, "http://127.0.0.1:9");
    own.dialect = Some(Box::new(dialect()));
    let said = |parts: Value, finish: &str| json!({"candidates": [{"content": {"parts": parts}, "finishReason": finish}], "usage": {"in": 5, "out": 3}});
    let mut told = readings(
        &own,
        &[
            said(json!([{"text": "a"}, {"text": "b"}]), "STOP"),
            said(json!([{"text": "a"}]), "MAX_TOKENS"),
            said(json!([]), "SAFETY"),
            said(json!([]), "STOP"),
            said(json!([{"text": null}]), "STOP"),
            json!({"problem": "it broke", "usage": {"in": 5, "out": 0}}),
            json!({"problem": null, "candidates": [{"content": {"parts": [{"text": "x"}]}}], "usage": {"in": "5", "out": 3}}),
            json!({"error": {"message": "slow down", "code": 429}}),
        ],
    );
    let at = |answer: &str| {
        Some(Box::new(HttpDialect {
            answer: answer.to_owned(),
            error: None,
            finish: None,
            ..dialect()
        }))
    };
    own.dialect = at("$.x");
    told.push_str(&readings(
        &own,
        &[
            json!({"x": 0.10}),
            json!({"x": true}),
            json!({"x": {"b": [1, 2]}}),
            json!({"x": ""}),
            json!({"y": 1}),
        ],
    ));
    own.dialect = at("$[");
    told.push_str(&readings(&own, &[json!({"x": 1})]));
    insta::assert_snapshot!(told, @r#"
    Stop "ab" tokens 5+3 (0 cached, 0 written)
    Length "a" tokens 5+3 (0 cached, 0 written)
    Refused "" tokens 5+3 (0 cached, 0 written)
    unreadable: host:1 answered with JSON that is not an answer: there is nothing at `$.candidates[0].content.parts[*].text` [tokens 5+3]
    empty: host:1 answered with an empty text [tokens 5+3]
    error_body: host:1 answered with an error, although the HTTP status is a success: it broke [tokens 5+0]
    Other "x" tokens unknown
    429: host:1 answered with an error, although the HTTP status is a success: slow down
    Other "0.1" tokens unknown
    Other "true" tokens unknown
    Other "{\"b\":[1,2]}" tokens unknown
    empty: host:1 answered with an empty text
    unreadable: host:1 answered with JSON that is not an answer: there is nothing at `$.x`
    settings: `$[` is not a JSON path (RFC 9535): at position 1, parser error
    "#);
}

#[test]
fn an_error_of_ones_own_api_is_where_its_path_says() {
    let own = HttpDialect {
        error: Some("$.problem.text".to_owned()),
        ..dialect()
    };
    let body = json!({"message": "see problem", "problem": {"text": "no such voice"}}).to_string();
    assert_eq!(
        dialect::error_of_status(&own, body.as_bytes()),
        Some(words::ErrorReply::new("no such voice"))
    );
    assert_eq!(
        dialect::error_of_status(&own, b"{\"message\": \"m\"}"),
        None
    );
    assert_eq!(dialect::error_of_status(&own, b"<html>"), None);
}

#[test]
fn what_is_no_json_is_told_apart() {
    let own = endpoint(ProviderApi::Openai, "http://127.0.0.1:9");
    let deep = "[".repeat(100_000);
    let mut said = String::new();
    for body in [
        &b""[..],
        b" \n",
        b"plain words",
        b"<html><head><title>Login</title>",
        b"{\"choices\": [{\"mess",
        b"{\"choices\": nope}",
        b"{\"choices\": []} more",
        b"data: {\"choices\": []}\n\n",
        b"{\"x\": \"\xff\"}",
        b"\xef\xbb\xbf{\"choices\": [{\"message\": {\"content\": \"marked\"}}]}",
        b"\x1f\x8b\x08",
        deep.as_bytes(),
    ] {
        said.push_str(&told(read(&own, "host:1", body)));
        said.push('\n');
    }
    insta::assert_snapshot!(said, @r#"
    empty: host:1 answered without a body
    empty: host:1 answered without a body
    unreadable: host:1 answered with text that is not JSON
    unreadable: host:1 answered with an HTML page titled `Login`
    unreadable: host:1 answered with JSON that ends early, after 19 bytes
    unreadable: host:1 answered with invalid JSON (expected ident at line 1 column 14)
    unreadable: host:1 answered with invalid JSON (trailing characters at line 1 column 17)
    unreadable: host:1 answered with a stream of events, which is not supported; remove `stream` from the options
    unreadable: host:1 answered with invalid JSON (invalid unicode code point at line 1 column 8)
    Other "marked" tokens unknown
    unreadable: host:1 answered with text that is not JSON
    unreadable: host:1 answered with invalid JSON (recursion limit exceeded at line 1 column 128)
    "#);
}

#[test]
fn statuses_and_what_is_said_with_them_tell_what_is_wrong() {
    let error = |kind: &str, message: &str| {
        json!({"error": {"type": kind, "message": message}}).to_string()
    };
    let code = |code: &str, message: &str| {
        json!({"error": {"code": code, "message": message}}).to_string()
    };
    let mut said = String::new();
    for (status, body) in [
        (401, code("invalid_api_key", "Incorrect API key provided")),
        (403, error("permission_error", "no")),
        (402, error("x", "Pay first")),
        (404, error("not_found_error", "model: claude-0")),
        (404, "<html><title>404 Not Found</title>".to_owned()),
        (405, String::new()),
        (400, error("invalid_request_error", "Your credit balance is too low to access the API")),
        (400, error("invalid_request_error", "temperature: at most 1")),
        (400, code("context_length_exceeded", "This model's maximum context length is 8192 tokens")),
        (400, error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")),
        (
            400,
            json!([{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}])
                .to_string(),
        ),
        (400, code("model_not_found", "no such model")),
        (400, code("content_filter", "The response was filtered")),
        (413, String::new()),
        (422, json!({"detail": [{"msg": "field required", "input": "the whole question"}]}).to_string()),
        (408, String::new()),
        (409, String::new()),
        (429, error("rate_limit_error", "slow down")),
        (429, code("insufficient_quota", "You exceeded your current quota")),
        (500, error("api_error", "Internal server error")),
        (500, error("overloaded_error", "Overloaded")),
        (502, "<!DOCTYPE html><title>502 Bad Gateway</title>".to_owned()),
        (503, "no healthy upstream".to_owned()),
        (529, error("overloaded_error", "Overloaded")),
        (301, String::new()),
        (304, String::new()),
    ] {
        said.push_str(&format!(
            "{}\n",
            told(classify::of_status("host:1", status, &words::error_of_status(body.as_bytes())))
        ));
    }
    insta::assert_snapshot!(said, @r#"
        unauthorized: host:1 answered 401: Incorrect API key provided
        unauthorized: host:1 answered 403: no
        no_credit: host:1 answered 402: Pay first
        unknown_model: host:1 answered 404: model: claude-0
        unknown_model: host:1 answered 404: an HTML page titled `404 Not Found`; check that `base_url` ends where the API's own path begins
        unknown_model: host:1 answered 405; check that `base_url` ends where the API's own path begins
        no_credit: host:1 answered 400: Your credit balance is too low to access the API
        bad_request: host:1 answered 400: temperature: at most 1
        bad_request: host:1 answered 400: the request does not fit the model's context: This model's maximum context length is 8192 tokens
        bad_request: host:1 answered 400: the request does not fit the model's context: prompt is too long: 210000 tokens > 200000 maximum
        unauthorized: host:1 answered 400: API key not valid.
        unknown_model: host:1 answered 400: no such model
        Refused "" tokens unknown
        bad_request: host:1 answered 413
        bad_request: host:1 answered 422: field required
        5xx: host:1 answered 408
        5xx: host:1 answered 409
        429: host:1 answered 429: slow down
        no_credit: host:1 answered 429: You exceeded your current quota
        5xx: host:1 answered 500: Internal server error
        503: host:1 answered 500: Overloaded
        5xx: host:1 answered 502: an HTML page titled `502 Bad Gateway`
        503: host:1 answered 503: no healthy upstream
        503: host:1 answered 529: Overloaded
        unknown_model: host:1 answered 301; check that `base_url` ends where the API's own path begins
        unknown_model: host:1 answered 304; check that `base_url` ends where the API's own path begins
        "#);
}

#[test]
fn a_key_that_a_server_sends_back_is_not_in_the_reason() {
    let mut own = endpoint(ProviderApi::Openai, "http://127.0.0.1:9");
    own.headers
        .insert("X-Team-Token".to_owned(), "team-0123456".to_owned());
    let body = json!({"error": {"message": format!("bad key {KEY} of team-0123456")}}).to_string();
    let fault =
        classify::of_status("host:1", 401, &words::error_of_status(body.as_bytes())).unwrap_err();
    assert_eq!(
        hidden(fault, &own, &call(Vec::new(), SamplingOptions::default())).reason,
        "host:1 answered 401: bad key [redacted] of [redacted]"
    );
}

#[test]
fn user_that_a_server_sends_back_is_not_in_the_reason() {
    let own = endpoint(ProviderApi::Openai, "http://token-0123@127.0.0.1:9");
    let fault = classify::of_status(
        "host:1",
        401,
        &words::error_of_status(b"bad user token-0123"),
    )
    .unwrap_err();
    let reason = hidden(fault, &own, &call(Vec::new(), SamplingOptions::default())).reason;
    assert_eq!(reason, "host:1 answered 401: bad user [redacted]");
}

#[test]
fn a_key_is_not_shown_in_part_either_where_a_servers_words_are_cut() {
    let own = endpoint(ProviderApi::Openai, "http://127.0.0.1:9");
    let mut asked = call(Vec::new(), SamplingOptions::default());
    asked.system = Some("You are the oracle of the house.".to_owned());
    for length in 200..420 {
        let filler = "x".repeat(length);
        let words = format!("{filler} {KEY} {}", "y ".repeat(300));
        let bodies = [
            json!({"error": {"message": words}}).to_string(),
            words.clone(),
            format!(
                "<html><title>{}</title>",
                words.split_at(length.saturating_sub(120)).1
            ),
        ];
        for body in bodies {
            let fault =
                classify::of_status("host:1", 400, &words::error_of_status(body.as_bytes()))
                    .unwrap_err();
            let reason = hidden(fault, &own, &asked).reason;
            assert!(!reason.contains("sk-s"), "{length}: {reason}");
            assert!(reason.chars().count() <= 450, "{reason}");
        }
    }
    // Nor are the secrets of its address.
    let base_url = format!("http://me:pass-{KEY}@127.0.0.1:9/v1?api-version=1&api-key=query-{KEY}");
    let own_address = Endpoint {
        key: None,
        ..endpoint(ProviderApi::Openai, &base_url)
    };
    for secret in ["pass-", "query-"] {
        for length in 200..420 {
            let words = format!("{} {secret}{KEY} {}", "x".repeat(length), "y ".repeat(300));
            let fault =
                classify::of_status("host:1", 400, &words::error_of_status(words.as_bytes()))
                    .unwrap_err();
            let reason = hidden(fault, &own_address, &asked).reason;
            assert!(
                !reason.contains(secret.trim_end_matches('-')),
                "{length}: {reason}"
            );
        }
    }
    // What is left out before the key makes room for no part of it.
    for length in 8_000..8_192 {
        asked.messages = vec![ChatMessage::user(
            "What is asked "
                .repeat(length)
                .get(..length)
                .unwrap_or_default(),
        )];
        let words = format!(
            "{} {KEY} and more",
            text_of(&asked.messages[0].content).unwrap()
        );
        let fault = classify::of_status("host:1", 400, &words::error_of_status(words.as_bytes()))
            .unwrap_err();
        let reason = hidden(fault, &own, &asked).reason;
        assert!(!reason.contains("sk-s"), "{length}: {reason}");
    }
    let said = json!({"error": {"message": "no `You are the oracle of the house.`"}}).to_string();
    let fault =
        classify::of_status("host:1", 400, &words::error_of_status(said.as_bytes())).unwrap_err();
    assert_eq!(
        hidden(fault, &own, &asked).reason,
        "host:1 answered 400: no `[the question]`"
    );
}

#[test]
fn an_answer_that_its_server_broke_off_is_none() {
    let own = endpoint(ProviderApi::Openai, "http://127.0.0.1:9");
    let of = |finish: &str| {
        json!({"choices": [{"message": {"content": "The capital of"}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    };
    let broken = [
        "error",
        "abort",
        "cancelled",
        "insufficient_system_resource",
    ];
    let mut said = readings(&own, &broken.map(of));
    let mut http = endpoint(ProviderApi::Http, "http://127.0.0.1:9");
    http.dialect = Some(Box::new(dialect()));
    let cohere =
        json!({"candidates": [{"content": {"parts": [{"text": "par"}]}, "finishReason": "ERROR"}]});
    said.push_str(&readings(&http, &[cohere]));
    insta::assert_snapshot!(said, @r#"
    error_body: host:1 stopped before its answer was complete (`error`) [tokens 3+2]
    error_body: host:1 stopped before its answer was complete (`abort`) [tokens 3+2]
    error_body: host:1 stopped before its answer was complete (`cancelled`) [tokens 3+2]
    503: host:1 stopped before its answer was complete (`insufficient_system_resource`) [tokens 3+2]
    error_body: host:1 stopped before its answer was complete (`error`)
    "#);
}

#[test]
fn tokens_are_all_that_were_taken_and_none_that_nobody_counted() {
    let own = endpoint(ProviderApi::Openai, "http://127.0.0.1:9");
    let usage = |usage: Value| json!({"choices": [{"message": {"content": "x"}}], "usage": usage});
    let bodies = [
        // Servers that count what is thought apart from what is said; the total has both.
        usage(
            json!({"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 399,
            "completion_tokens_details": {"reasoning_tokens": 386}}),
        ),
        usage(json!({"prompt_tokens": 20, "completion_tokens": 151, "total_tokens": 553})),
        usage(json!({"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81})),
        usage(
            json!({"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17,
            "completion_tokens_details": {"reasoning_tokens": 7}}),
        ),
        usage(json!({"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 10})),
        usage(json!({"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": "99"})),
        // No question takes nothing: such a server does not count.
        usage(json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})),
        usage(json!({"prompt_tokens": 0, "completion_tokens": 5, "total_tokens": 5})),
    ];
    insta::assert_snapshot!(readings(&own, &bodies), @r#"
    Other "x" tokens 12+387 (0 cached, 0 written)
    Other "x" tokens 20+533 (0 cached, 0 written)
    Other "x" tokens 21+60 (0 cached, 0 written)
    Other "x" tokens 9+8 (0 cached, 0 written)
    Other "x" tokens 9+8 (0 cached, 0 written)
    Other "x" tokens 9+8 (0 cached, 0 written)
    Other "x" tokens unknown
    Other "x" tokens unknown
    "#);
}

#[test]
fn the_name_that_a_model_calls_itself_is_one_short_line() {
    for api in [
        ProviderApi::Openai,
        ProviderApi::Anthropic,
        ProviderApi::Http,
    ] {
        let mut own = endpoint(api, "http://127.0.0.1:9");
        own.dialect = (api == ProviderApi::Http).then(|| Box::new(dialect()));
        let (_, mut body) = whole().into_iter().find(|(of, _)| *of == api).unwrap();
        body["model"] = json!(format!("m\n\u{1b}[31m{}", "x".repeat(10_000)));
        let model = read(&own, "host:1", body.to_string().as_bytes())
            .unwrap()
            .model
            .unwrap();
        assert!(model.starts_with("m x") && model.len() <= 200, "{model}");
    }
}

#[test]
fn the_limit_of_tokens_has_its_new_name_at_all_of_openais_hosts() {
    let limited = call(
        Vec::new(),
        SamplingOptions {
            max_tokens: Some(5),
            ..SamplingOptions::default()
        },
    );
    let named = |base_url: &str| {
        sent(&endpoint(ProviderApi::Openai, base_url), &limited).contains("max_completion_tokens")
    };
    for (base_url, new) in [
        ("https://api.openai.com/v1", true),
        ("https://EU.api.openai.com:443/v1", true),
        ("https://api.openai.com.example/v1", false),
        ("https://notapi.openai.com/v1", false),
    ] {
        assert_eq!(named(base_url), new, "{base_url}");
    }
}

/// Whole answers that are then damaged.
fn whole() -> Vec<(ProviderApi, Value)> {
    vec![
        (
            ProviderApi::Openai,
            json!({"model": "m", "choices": [{"message": {"content": "four", "tool_calls": null}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1234, "completion_tokens": 567, "prompt_tokens_details": {"cached_tokens": 89}}}),
        ),
        (
            ProviderApi::Anthropic,
            json!({"model": "m", "content": [{"type": "text", "text": "four"}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 1234, "output_tokens": 567, "cache_read_input_tokens": 89}}),
        ),
        (
            ProviderApi::Http,
            json!({"candidates": [{"content": {"parts": [{"text": "four"}]}, "finishReason": "STOP"}],
                "usage": {"in": 1234, "out": 567}}),
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damaged_answers_never_panic_and_tell_no_tokens_of_their_own(
        which in 0usize..3,
        cut in proptest::option::of(0usize..400),
        changes in proptest::collection::vec((0usize..400, any::<u8>()), 0..4),
    ) {
        let (api, body) = whole().swap_remove(which);
        let mut own = endpoint(api, "http://127.0.0.1:9");
        own.dialect = (api == ProviderApi::Http).then(|| Box::new(dialect()));
        let mut bytes = body.to_string().into_bytes();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let cut = cut.filter(|cut| *cut < bytes.len());
        if let Some(cut) = cut {
            bytes.truncate(cut);
        }
        let result = read(&own, "host:1", &bytes);
        if cut.is_some() {
            prop_assert!(result.is_err(), "{:?}", result);
        }
        let tokens = match &result {
            Ok(completion) => completion.tokens,
            Err(fault) => fault.tokens,
        };
        if let Some(tokens) = tokens {
            // Every count that is told stands in the body, as a number, in these digits.
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let plain = tokens.input - if api == ProviderApi::Anthropic { tokens.cached_input } else { 0 };
            for count in [plain, tokens.output] {
                prop_assert!(numbers(&text).contains(&count), "{count} in {text}");
            }
            prop_assert!(tokens.cached_input == 0 || numbers(&text).contains(&tokens.cached_input));
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..200), status in 100u16..1000) {
        for api in [ProviderApi::Openai, ProviderApi::Anthropic] {
            prop_assert!(read(&endpoint(api, "http://127.0.0.1:9"), "host:1", &body).is_err());
        }
        let _ = classify::of_status("host:1", status, &words::error_of_status(&body));
    }
}

/// All numbers that stand in a text, with and without an exponent.
fn numbers(text: &str) -> Vec<u64> {
    let parts =
        text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-')));
    parts
        .filter_map(|part| {
            part.parse::<u64>()
                .ok()
                .or_else(|| part.parse::<f64>().ok().map(|n| n as u64))
        })
        .collect()
}
