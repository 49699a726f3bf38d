use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use serde_json::{Map, Value, json, to_value};

use super::{layered, ordered};
use crate::load::source::{SourceFiles, Span};
use crate::load::tree::{MappingKey, Node, NodeValue};
use crate::load::{LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose, Problem, load};
use crate::model::{ApiKey, Endpoint, KeySource, ModelTarget, Target};
use crate::spec::ModelSpec;
use eval_base::ordered::OrderedValue;

/// Keys that the environment of the tests holds.
fn environment() -> BTreeMap<String, String> {
    let all = [
        ("OPENAI_API_KEY", "sk-open-123456\n"),
        ("ANTHROPIC_API_KEY", "sk-ant-123456"),
        ("MINE", "sk-mine-123456"),
        ("EMPTY", " "),
        ("BROKEN", "sk-a\nb-123456"),
    ];
    all.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

fn load_with(
    suite: &str,
    purpose: PlanPurpose,
    overrides: LoadOverrides,
    env: BTreeMap<String, String>,
) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    fs::write(cwd.join("suite.yaml"), suite).expect("written");
    fs::create_dir(cwd.join("kept")).expect("made");
    load(&LoadRequest {
        suite: "suite.yaml".into(),
        purpose,
        overrides,
        env,
        cwd,
        cpus: 4,
        ..LoadRequest::default()
    })
}

/// A suite of a target and whatever else stands at its top.
fn suite(target: &str, more: &str) -> String {
    format!(
        "eval_suite:\n  name: s\n  target: {target}\n{more}  evals:\n    - {{id: e, input: x, expected: y}}\n"
    )
}

fn loaded(target: &str, more: &str) -> LoadedPlan {
    load_with(
        &suite(target, more),
        PlanPurpose::Run,
        LoadOverrides::default(),
        environment(),
    )
}

fn tell(loaded: &LoadedPlan) -> String {
    let one = |p: &Problem| {
        let at = p.span.map(|span| {
            let at = loaded.sources.position(span);
            format!("{}:{} ", at.line, at.column)
        });
        let hint = p
            .hint
            .as_ref()
            .map(|hint| format!(" | {hint}"))
            .unwrap_or_default();
        format!(
            "{}{}: {}{hint}",
            at.unwrap_or_default(),
            p.code.slug(),
            p.message
        )
    };
    loaded
        .problems
        .sorted()
        .into_iter()
        .map(one)
        .collect::<Vec<_>>()
        .join("\n")
}

fn said(target: &str, more: &str) -> String {
    tell(&loaded(target, more))
}

fn model(target: &str, more: &str) -> ModelTarget {
    let loaded = loaded(target, more);
    let words = tell(&loaded);
    match loaded
        .plan
        .unwrap_or_else(|| panic!("{target}: {words}"))
        .target
    {
        Some(Target::Model(model)) => *model,
        other => panic!("another target: {other:?}"),
    }
}

fn variable(key: &ApiKey) -> &str {
    match &key.source {
        KeySource::Variable(name) => name,
        other => panic!("no variable: {other}"),
    }
}

/// Where a target goes, and with which key.
fn way(target: &str, more: &str) -> String {
    let Endpoint {
        api,
        provider,
        model,
        base_url,
        key,
        limits,
        ..
    } = model(target, more).endpoint;
    let key = key.map(|key| {
        let value = key.value.get().unwrap_or("?");
        format!("{}={value}", variable(&key))
    });
    format!(
        "{} {provider} {model} {base_url} [{}] {}",
        api.name(),
        key.unwrap_or_default(),
        limits.lane
    )
}

#[test]
fn a_name_tells_who_is_asked_and_with_which_key() {
    let providers = "  providers:\n    ollama: {base_url: 'http://127.0.0.1:11434/v1/'}\n    work: {api: anthropic, api_key_env: MINE}\n    \
                     openai: {api_key_env: MINE}\n";
    let bare = [
        "{type: model, model: 'openai:gpt-4o-mini'}",
        "{type: model, model: gpt-4o-mini}",
        "{type: model, model: o3-mini}",
        "{type: model, model: 'anthropic:claude-x'}",
        "{type: model, model: claude-x}",
        "{type: model, model: 'llama3', base_url: 'http://127.0.0.1:8000/v1'}",
        "{type: model, model: 'openai:llama3:8b', base_url: 'http://127.0.0.1:8000/v1/'}",
        "{type: model, model: 'anthropic:x', base_url: 'http://127.0.0.1:8000/v1', api_key_env: MINE}",
        "{type: model, model: claude-x, base_url: 'http://127.0.0.1:8000/v1'}",
        "{type: model, model: gpt-x, base_url: 'https://api.openai.com/v1/'}",
        "{type: model, model: x, base_url: 'http://127.0.0.1:1', request: {body: {q: '{{ prompt }}'}, answer: $.a}}",
    ];
    let with = [
        "{type: model, model: 'ollama:llama3:8b'}",
        "{type: model, model: 'work:claude-x'}",
        "{type: model, model: 'openai:gpt-x'}",
        "{type: model, model: gpt-x}",
        // The key of a provider stays with its address.
        "{type: model, model: 'openai:gpt-x', base_url: 'http://127.0.0.1:8000/v1'}",
        "{type: model, model: 'ollama:llama3', base_url: 'http://127.0.0.1:11434/v1'}",
    ];
    let all = bare.map(|target| way(target, "")).join("\n");
    let all = format!(
        "{all}\n--\n{}",
        with.map(|target| way(target, providers)).join("\n")
    );
    insta::assert_snapshot!(all, @"
    openai openai gpt-4o-mini https://api.openai.com/v1 [OPENAI_API_KEY=sk-open-123456] openai
    openai openai gpt-4o-mini https://api.openai.com/v1 [OPENAI_API_KEY=sk-open-123456] openai
    openai openai o3-mini https://api.openai.com/v1 [OPENAI_API_KEY=sk-open-123456] openai
    anthropic anthropic claude-x https://api.anthropic.com/v1 [ANTHROPIC_API_KEY=sk-ant-123456] anthropic
    anthropic anthropic claude-x https://api.anthropic.com/v1 [ANTHROPIC_API_KEY=sk-ant-123456] anthropic
    openai openai llama3 http://127.0.0.1:8000/v1 [] openai at 127.0.0.1:8000
    openai openai llama3:8b http://127.0.0.1:8000/v1 [] openai at 127.0.0.1:8000
    anthropic anthropic x http://127.0.0.1:8000/v1 [MINE=sk-mine-123456] anthropic at 127.0.0.1:8000
    openai openai claude-x http://127.0.0.1:8000/v1 [] openai at 127.0.0.1:8000
    openai openai gpt-x https://api.openai.com/v1 [OPENAI_API_KEY=sk-open-123456] openai
    http http x http://127.0.0.1:1 [] http at 127.0.0.1:1
    --
    openai ollama llama3:8b http://127.0.0.1:11434/v1 [] ollama
    anthropic work claude-x https://api.anthropic.com/v1 [MINE=sk-mine-123456] work
    openai openai gpt-x https://api.openai.com/v1 [MINE=sk-mine-123456] openai
    openai openai gpt-x https://api.openai.com/v1 [MINE=sk-mine-123456] openai
    openai openai gpt-x http://127.0.0.1:8000/v1 [] openai at 127.0.0.1:8000
    openai ollama llama3 http://127.0.0.1:11434/v1 [] ollama
    ");
}

#[test]
fn names_that_tell_nothing_are_errors_that_say_what_to_write() {
    let providers = "  providers: {ollama: {base_url: 'http://127.0.0.1:11434/v1'}}\n";
    let all = [
        ("{type: model, model: 'olama:llama3'}", providers),
        ("{type: model, model: 'llama3:8b'}", ""),
        (
            "{type: model, model: 'llama3:8b', base_url: 'http://127.0.0.1:1/v1'}",
            "",
        ),
        ("{type: model, model: mistral-large}", ""),
        ("{type: model, model: mistral-large}", providers),
        ("{type: model, model: 'openai:'}", ""),
        ("{type: model, model: ':x'}", ""),
        ("{type: model, model: ' gpt-4'}", ""),
        ("{type: model, model: 'openai: gpt-4'}", ""),
        (
            "{type: model, model: 'a:b', base_url: 'http://127.0.0.1:1', request: {body: '{{ prompt }}', answer: $.a}}",
            "",
        ),
        ("{type: model, model: ''}", ""),
        ("{type: model}", ""),
        (
            "{type: model, model: 'http:x', base_url: 'http://127.0.0.1:1'}",
            "",
        ),
    ];
    let all = all.map(|(target, more)| said(target, more)).join("\n");
    insta::assert_snapshot!(all, @r#"
    3:32 unknown-provider: unknown provider `olama` | did you mean `ollama:llama3`?
    3:32 unknown-provider: unknown provider `llama3` | add it to the suite (`providers: {llama3: {base_url: "http://..."}}`); if the colon is part of the model's name, write `PROVIDER:llama3:8b`
    3:32 unknown-provider: unknown provider `llama3` | if the colon is part of the model's name, write `openai:llama3:8b` (`openai` is also for compatible servers)
    3:32 unknown-provider: the model `mistral-large` has no provider | write `PROVIDER:mistral-large` with `openai`, `anthropic` or a name under the suite's `providers:`, or set a `base_url`
    3:32 unknown-provider: the model `mistral-large` has no provider | write `ollama:mistral-large`
    3:32 bad-format: the name of the model is missing after the colon | write `PROVIDER:MODEL`, such as `openai:gpt-4o-mini`
    3:32 bad-format: the name of the provider is missing before the colon | write `PROVIDER:MODEL`, such as `openai:gpt-4o-mini`
    3:32 bad-format: the model's name begins or ends with a space, or contains a control character
    3:32 bad-format: the model's name begins or ends with a space, or contains a control character
    3:32 unknown-provider: unknown provider `a` | if the colon is part of the model's name, write `http:a:b`
    3:32 wrong-length: `model` must not be empty
    3:11 missing-key: no `model` is set | add `model: "openai:gpt-4o-mini"`, or add a target of type `model` to the suite; executions without a model use it
    3:32 bad-request: `request` is not set, so the API can't be called | add `request: {body: {prompt: "{{ prompt }}"}, answer: "$.text"}`
    "#);
}

#[test]
fn settings_that_cannot_be_meant_are_told_with_their_place() {
    let with = |more: &str| format!("{{type: model, model: gpt-x, {more}}}");
    let all = [
        "base_url: 'localhost:8000'",
        "base_url: 'http://127.0.0.1:8000/v1/chat/completions'",
        "base_url: 'http://127.0.0.1/v1?key=1'",
        "api_key_env: 'sk-secret-123'",
        "api_key_env: BROKEN",
        "headers: {'a b': c}",
        "headers: {Content-Length: '1'}",
        "json_schema: {type: nonsense}",
        "options: {stream: true, top_k: 5}",
        "options: {messages: []}",
        "stop: ['']",
        "ca_file: gone.pem",
        "replay: gone",
        "temperature: -1",
        "max_concurrency: 0",
        "request: {body: {q: '{{ prompt }}'}, answer: $.a}",
        "timeout: 3",
    ];
    let all = all.map(|more| said(&with(more), "")).join("\n");
    insta::assert_snapshot!(all, @r#"
    3:49 bad-request: `localhost:8000` is not an HTTP address | an HTTP address begins with `http://` or `https://` and a host, such as `http://127.0.0.1:8080/api`
    3:49 bad-request: `base_url` must not include the API's path `/chat/completions` | remove the path: it is added to the address

    3:52 bad-format: `api_key_env` is not a valid name of an environment variable | write the variable's name, such as `OPENAI_API_KEY`; the key itself belongs in the environment, not in a file
    3:52 bad-request: the key in `BROKEN` can't be sent: it contains a line break, or a character that is not allowed in a key
    3:49 bad-request: `a b` is not a header name; use letters, digits and `-`
    3:49 bad-request: the header `Content-Length` is computed from the request and can't be set | remove it
    3:52 bad-schema: not a valid JSON Schema: "nonsense" is not valid under any of the schemas listed in the 'anyOf' keyword
    3:49 bad-request: `stream` is not allowed under `options`: eval-harness sets it | remove it
    3:49 bad-request: `messages` is not allowed under `options`: eval-harness sets it | remove it
    3:45 bad-format: a text under `stop` must not be empty
    3:48 missing-ref: the file `gone.pem` does not exist | the path is relative to the file that contains it
    3:47 missing-ref: the folder `gone` of recorded exchanges does not exist | the path is relative to the file that contains it; `--record DIR` writes such a folder
    3:52 out-of-range: `temperature` must be at least 0.0, found `-1`
    3:56 out-of-range: `max_concurrency` must be at least 1, found `0`
    3:32 bad-request: `gpt-x` has no `base_url` | add `base_url: "http://..."`
    3:39 unknown-key: unknown key `timeout` | valid keys: `api_key_command`, `api_key_env`, `api_key_file`, `base_url`, `ca_file`, `connect_timeout_seconds`, `first_byte_timeout_seconds`, `headers`, `insecure`, `json_schema`, `max_answer_bytes`, `max_concurrency`, `max_tokens`, `model`, `options`, `price`, `replay`, `request`, `requests_per_minute`, `retries`, `seed`, `show_context`, `stop`, `system`, `temperature`, `thoughts`, `timeout_seconds`, `tokens_per_minute`, `top_p`, `training_cutoff`, `type`
    "#);
}

#[test]
fn a_request_of_ones_own_is_checked() {
    let with = |request: &str| {
        format!("{{type: model, model: x, base_url: 'http://127.0.0.1:1', request: {{{request}}}}}")
    };
    let all = [
        "body: {q: '{{ prompt }}'}, answer: '$..['",
        "body: {q: '{{ prompt | upper }}'}, answer: $.a",
        "body: {q: '{{ input }}'}, answer: $.a",
        "body: {q: hello}, answer: $.a",
        "body: {q: '{{ prompt }}'}, answer: $.a, method: GET",
        "body: {q: '{{ prompt }}'}, answer: $.a, input_tokens: nope, finish: '$['",
        "answer: $.a",
        "body: {q: '{{ prompt }}'}",
    ];
    let all = all.map(|request| said(&with(request), "")).join("\n");
    insta::assert_snapshot!(all, @"
    3:112 bad-json-path: `$..[` is not a JSON path (RFC 9535): at position 3, must start with lowercase alpha or '_'
    3:83 bad-template: `{{ PROMPT }}` can't be filled in when the request is made | use only `{{ prompt }}`, `{{ messages }}`, `{{ system }}`, `{{ model }}`, `{{ temperature }}`, `{{ top_p }}`, `{{ max_tokens }}`, `{{ stop }}`, `{{ seed }}`, `{{ json_schema }}`, without filters
    3:83 bad-request: the body contains neither `{{ prompt }}` nor `{{ messages }}`, so the model would not get the prompt | put one of them where the API expects the prompt
    3:91 undefined-variable: `input` is not defined | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces
    3:83 bad-request: the body contains neither `{{ prompt }}` nor `{{ messages }}`, so the model would not get the prompt | put one of them where the API expects the prompt
    3:125 bad-request: a GET request has no body | use POST, or set `body: null` and put the prompt into `path`
    3:131 bad-json-path: `nope` is not a JSON path (RFC 9535): at position 0, parser error
    3:145 bad-json-path: `$[` is not a JSON path (RFC 9535): at position 1, parser error
    3:67 missing-key: `request` lacks the key `body`
    3:67 missing-key: `request` lacks the key `answer` | add `answer`: a text
    ");
    let target = model(
        &with(
            "method: put, path: '/{{ model }}/ask', body: {q: ['{{ messages }}'], t: '{{ temperature }}', v: '{{ vars.v }}'}, answer: '$.a[0]', error: $.e",
        ),
        "  vars: {v: 7}\n",
    );
    let dialect = target.endpoint.dialect.unwrap();
    assert_eq!(
        (dialect.method.as_str(), dialect.path.as_str()),
        ("PUT", "/{{ model }}/ask")
    );
    insta::assert_snapshot!(dialect.body, @r#"{"q":["{{ messages }}"],"t":"{{ temperature }}","v":"7"}"#);
}

#[test]
fn providers_are_checked_whether_or_not_they_are_used() {
    let all = [
        "{a: {}}",
        "{a: {base_url: 'ftp://x'}}",
        "{a: {base_url: 'http://h/v1/messages', api: anthropic}}",
        "{'a:b': {base_url: 'http://h'}}",
        "{a: {base_url: 'http://h', headers: {'x y': z}}}",
        "{a: {api: openai, request: {body: '{{ prompt }}', answer: $.a}}}",
        "{a: {base_url: 'http://h', request: {body: '{{ prompt }}', answer: '$['}}}",
        "{a: {base_url: 'http://h', max_concurency: 3}}",
    ];
    let all = all
        .map(|providers| said("{type: echo}", &format!("  providers: {providers}\n")))
        .join("\n");
    insta::assert_snapshot!(all, @r#"
    4:18 bad-request: the provider `a` has no `base_url` | add `base_url: "http://..."`, or `api: openai` or `api: anthropic` to use that API's address
    4:29 bad-request: `ftp://x` is not an HTTP address | an HTTP address begins with `http://` or `https://` and a host, such as `http://127.0.0.1:8080/api`
    4:29 bad-request: `base_url` must not include the API's path `/messages` | remove the path: it is added to the address
    4:22 bad-format: a provider's name may contain only letters, digits, `-`, `_` and `.`
    4:51 bad-request: `x y` is not a header name; use letters, digits and `-`
    4:32 bad-request: `request` is for custom APIs, but the API of `openai` is fixed | remove `api` or `request`
    4:81 bad-json-path: `$[` is not a JSON path (RFC 9535): at position 1, parser error
    4:41 unknown-key: unknown key `max_concurency` | did you mean `max_concurrency`?
    "#);
}

#[test]
fn a_targets_own_word_wins_over_its_providers_and_limits_of_ones_own_are_a_lane_of_ones_own() {
    let providers = "  config: {max_workers: 7}\n  providers:\n    p: {base_url: 'http://127.0.0.1:9/v1', max_concurrency: 5, \
                     requests_per_minute: 60, timeout_seconds: 9, retries: 1, headers: {X-Team: a, Authorization: Bearer abcdef}}\n    \
                     q: {base_url: 'http://127.0.0.1:10/v1'}\n";
    let told = |target: &str| {
        let endpoint = model(target, providers).endpoint;
        let patience = &endpoint.patience;
        let l = &endpoint.limits;
        format!(
            "{} | {} {:?} {:?} | {:?} {:?} {} | {:?}",
            l.lane,
            l.max_concurrency,
            l.requests_per_minute,
            l.tokens_per_minute,
            patience.connect,
            patience.total,
            patience.retries,
            endpoint.headers,
        )
    };
    let all = [
        "{type: model, model: 'p:m'}",
        "{type: model, model: 'p:m', max_concurrency: 2, headers: {x-team: b}, timeout_seconds: 0.5, retries: 0}",
        "{type: model, model: 'p:m', base_url: 'http://127.0.0.1:11/v1', connect_timeout_seconds: 1}",
        "{type: model, model: 'p:m', tokens_per_minute: 1000}",
        "{type: model, model: 'q:m'}",
    ];
    insta::assert_snapshot!(all.map(told).join("\n"), @r#"
    p | 5 Some(60) None | 10s Some(9s) 1 | {"Authorization": "Bearer abcdef", "X-Team": "a"}
    p:m (2 at once, 60 requests a minute) | 2 Some(60) None | 10s Some(500ms) 0 | {"Authorization": "Bearer abcdef", "x-team": "b"}
    p at 127.0.0.1:11 | 7 None None | 1s Some(9s) 1 | {"X-Team": "a"}
    p:m (5 at once, 60 requests a minute, 1000 tokens a minute) | 5 Some(60) Some(1000) | 10s Some(9s) 1 | {"Authorization": "Bearer abcdef", "X-Team": "a"}
    q | 7 None None | 10s None 4 | {}
    "#);
}

#[test]
fn blind_trust_stays_with_the_address_it_was_written_for() {
    let providers = "  providers: {p: {base_url: 'https://127.0.0.1:9/v1', insecure: true}}\n";
    let insecure = |target: &str| model(target, providers).endpoint.insecure;
    assert!(insecure("{type: model, model: 'p:m'}"));
    assert!(!insecure(
        "{type: model, model: 'p:m', base_url: 'https://models.example/v1'}"
    ));
    assert!(insecure(
        "{type: model, model: 'p:m', base_url: 'https://models.example/v1', insecure: true}"
    ));
}

#[test]
fn templates_fill_what_people_vary_and_leave_alone_what_is_sent_as_it_is() {
    let target = model(
        "{type: model, model: 'openai:{{ m }}', base_url: 'http://{{ host }}/v1', system: 'You are {{ vars.who }}.', headers: {X-A: '{{ m }}'}, \
         stop: '{{', json_schema: {type: object, description: '{{ who }}'}, options: {user: '{{ who }}'}}",
        "  vars: {m: gpt-x, host: '127.0.0.1:80', who: terse}\n",
    );
    let endpoint = &target.endpoint;
    assert_eq!(
        (endpoint.model.as_str(), endpoint.base_url.as_str()),
        ("gpt-x", "http://127.0.0.1:80/v1")
    );
    assert_eq!(target.system.as_deref(), Some("You are terse."));
    assert_eq!(
        (target.sampling.stop, endpoint.headers["X-A"].as_str()),
        (vec!["{{".to_owned()], "gpt-x")
    );
    insta::assert_snapshot!(target.sampling.json_schema.unwrap(), @r#"{"type":"object","description":"{{ who }}"}"#);
    assert_eq!(target.sampling.options["user"], "terse".into());
    insta::assert_snapshot!(said("{type: model, model: gpt-x, system: '{{ nobody }}'}", ""), @"3:51 undefined-variable: `nobody` is not defined | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces");
}

#[test]
fn keys_keep_the_order_in_which_they_are_written() {
    let schema = "{type: object, properties: {reasoning: {type: string}, answer: {type: object, properties: {z: {}, a: {}}}}, required: [reasoning, answer]}";
    let target = model(
        &format!(
            "{{type: model, model: gpt-x, json_schema: {schema}, options: {{tools: [{{type: function, function: {{parameters: {schema}}}}}]}}}}"
        ),
        "",
    );
    let written = r#"{"type":"object","properties":{"reasoning":{"type":"string"},"answer":{"type":"object","properties":{"z":{},"a":{}}}},"required":["reasoning","answer"]}"#;
    assert_eq!(target.sampling.json_schema.unwrap().to_string(), written);
    assert_eq!(
        target.sampling.options["tools"].to_string(),
        format!(r#"[{{"type":"function","function":{{"parameters":{written}}}}}]"#)
    );
    let request = "{body: {schema: {z: 1, a: 2}, prompt: '{{ prompt }}'}, answer: $.a}";
    let target = model(
        &format!("{{type: model, model: 'http:x', base_url: 'http://h', request: {request}}}"),
        "",
    );
    assert_eq!(
        target.endpoint.dialect.unwrap().body.to_string(),
        r#"{"schema":{"z":1,"a":2},"prompt":"{{ prompt }}"}"#
    );
}

/// Comparing each key with each other would take hours.
#[test]
fn keys_of_a_large_map_keep_their_order() {
    let span = Span::new(SourceFiles::new().add("a", ""), 0, 0);
    let name = |at: u32| format!("{:06}", (at * 7) % 400_000);
    let node = |value| Node { span, value };
    let entries = (0..400_000).map(|at| {
        (
            MappingKey {
                name: name(at).into(),
                span,
            },
            node(NodeValue::Null),
        )
    });
    let map = node(NodeValue::Map(entries.collect()));
    let mut json = map.to_json();
    json["more"] = 1.into();
    let OrderedValue::Map(fields) = ordered(&json, Some(&map)) else {
        panic!("no map")
    };
    let names: Vec<String> = fields.into_iter().map(|(name, _)| name).collect();
    let expected: Vec<String> = (0..400_000).map(name).chain(["more".to_owned()]).collect();
    assert!(names == expected);
}

#[test]
fn a_key_is_needed_for_a_run_alone_and_only_where_it_would_be_sent() {
    let none = BTreeMap::new;
    let try_with =
        |text: &str, purpose, overrides| tell(&load_with(text, purpose, overrides, none()));
    let plain = suite("{type: model, model: gpt-x}", "");
    insta::assert_snapshot!(try_with(&plain, PlanPurpose::Run, LoadOverrides::default()), @"3:32 no-api-key: openai:gpt-x needs a key, and the environment variable `OPENAI_API_KEY` is not set | set `OPENAI_API_KEY`, or run without the network: `--replay DIR` with recordings, `--cache only` with a cache");
    assert_eq!(
        try_with(&plain, PlanPurpose::Validate, LoadOverrides::default()),
        ""
    );
    assert_eq!(
        try_with(&plain, PlanPurpose::List, LoadOverrides::default()),
        ""
    );
    let nobody = LoadOverrides {
        asks_nobody: true,
        ..LoadOverrides::default()
    };
    assert_eq!(try_with(&plain, PlanPurpose::Run, nobody), "");
    let replayed = suite("{type: model, model: gpt-x, replay: kept}", "");
    assert_eq!(
        try_with(&replayed, PlanPurpose::Run, LoadOverrides::default()),
        ""
    );
    let local = suite(
        "{type: model, model: x, base_url: 'http://127.0.0.1:1/v1'}",
        "",
    );
    assert_eq!(
        try_with(&local, PlanPurpose::Run, LoadOverrides::default()),
        ""
    );
    insta::assert_snapshot!(said("{type: model, model: gpt-x, api_key_env: EMPTY}", ""), @"3:52 no-api-key: openai:gpt-x needs a key, and the environment variable `EMPTY` is not set | set `EMPTY`, or run without the network: `--replay DIR` with recordings, `--cache only` with a cache");
    // A target that nothing asks needs none, nor does an eval that is not selected.
    let other = "eval_suite:\n  name: s\n  targets:\n    default: {type: echo}\n    far: {type: model, model: gpt-x}\n  evals:\n    \
                 - {id: e, input: x, expected: y}\n    - {id: r, baseline: {output: x}, current: {input: x, execution: {type: model}}}\n";
    let only = |eval: &str| {
        let filters = crate::load::CaseFilters {
            eval: vec![eval.to_owned()],
            ..Default::default()
        };
        LoadOverrides {
            filters,
            ..LoadOverrides::default()
        }
    };
    assert_eq!(try_with(other, PlanPurpose::Run, only("e")), "");
    insta::assert_snapshot!(try_with(other, PlanPurpose::Run, only("r")), @"5:31 no-api-key: openai:gpt-x needs a key, and the environment variable `OPENAI_API_KEY` is not set | set `OPENAI_API_KEY`, or run without the network: `--replay DIR` with recordings, `--cache only` with a cache");
}

#[test]
fn keys_are_trimmed_and_among_the_secrets() {
    let plan = loaded(
        "{type: model, model: gpt-x, headers: {X-Api-Key: headers-key-1}}",
        "",
    )
    .plan
    .unwrap();
    assert!(
        plan.secrets.contains(&"sk-open-123456".to_owned()),
        "{:?}",
        plan.secrets
    );
    assert!(plan.secrets.contains(&"headers-key-1".to_owned()));
    assert!(!format!("{:?}", plan.target).contains("sk-open"));
    let hash = |target: &str| loaded(target, "").plan.unwrap().target_hash;
    let usual = hash("{type: model, model: gpt-x}");
    for same in [
        "api_key_env: MINE",
        "max_concurrency: 3",
        "timeout_seconds: 1",
        "retries: 0",
        "replay: kept",
    ] {
        assert_eq!(
            hash(&format!("{{type: model, model: gpt-x, {same}}}")),
            usual,
            "{same}"
        );
    }
    for other in [
        "temperature: 0",
        "system: s",
        "max_tokens: 3",
        "show_context: false",
        "seed: 1",
    ] {
        assert_ne!(
            hash(&format!("{{type: model, model: gpt-x, {other}}}")),
            usual,
            "{other}"
        );
    }
}

#[test]
fn an_execution_without_a_model_stands_on_the_suites() {
    let suite = |execution: &str| {
        format!(
            "eval_suite:\n  name: s\n  targets:\n    default: {{type: echo}}\n    far: {{type: model, model: gpt-x, temperature: 0, system: s, api_key_env: MINE}}\n  \
             evals:\n    - {{id: r, baseline: {{output: x}}, current: {{input: x, execution: {execution}}}}}\n"
        )
    };
    let told = |execution: &str| {
        let loaded = load_with(
            &suite(execution),
            PlanPurpose::Run,
            LoadOverrides::default(),
            environment(),
        );
        let words = tell(&loaded);
        let plan = loaded.plan.unwrap_or_else(|| panic!("{words}"));
        let case = plan.evals[0].cases.get(0).unwrap().unwrap();
        let Some(Target::Model(target)) = &case.target else {
            panic!("{:?}", case.target)
        };
        let key = target.endpoint.key.as_ref().map(variable);
        format!(
            "{} {:?} {:?} {:?} {key:?}",
            target.endpoint.name(),
            target.system,
            target.sampling.temperature,
            target.sampling.seed
        )
    };
    let all = [
        "{type: model}",
        "{type: model, temperature: 1, seed: 3}",
        "{type: model, base_url: 'http://127.0.0.1:1/v1'}",
        "{type: model, model: 'openai:other', base_url: 'http://127.0.0.1:1/v1'}",
    ];
    insta::assert_snapshot!(all.map(told).join("\n"), @r#"
    openai:gpt-x Some("s") Some(0.0) None Some("MINE")
    openai:gpt-x Some("s") Some(1.0) Some(3) Some("MINE")
    openai:gpt-x Some("s") Some(0.0) None None
    openai:other None None None None
    "#);
}

#[test]
fn a_prompt_that_names_its_context_tells_it() {
    let text = "eval_suite:\n  name: s\n  target: {type: echo}\n  evals:\n    - metadata: {id: e}\n      test_cases:\n        \
                - {id: a, input: {type: prompt, content: 'Say {{ context.x }}', context: {x: 1}}, expected: y}\n        \
                - {id: b, input: {type: prompt, content: 'Say context', context: {x: 1}}, expected: y}\n        \
                - {id: c, input: {type: messages, messages: [{role: user, content: '{{ context.x }}'}], context: {x: 1}}, expected: y}\n        \
                - {id: d, input: {type: prompt, content: 'Say {{ 1 + 1 }} in this context', context: {x: 1}}, expected: y}\n        \
                - {id: e, input: 'no context', expected: y}\n";
    let loaded = load_with(
        text,
        PlanPurpose::Run,
        LoadOverrides::default(),
        environment(),
    );
    let words = tell(&loaded);
    let plan = loaded.plan.unwrap_or_else(|| panic!("{words}"));
    let told: Vec<bool> = (0..5)
        .map(|i| plan.evals[0].cases.get(i).unwrap().unwrap().context_told)
        .collect();
    assert_eq!(told, [true, false, true, false, false]);
}

#[test]
fn rows_tell_their_context_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    let rows: String = (0..9)
        .map(|i| format!("{{\"id\": \"{i}\", \"q\": \"q{i}\", \"k\": \"k{i}\"}}\n"))
        .collect();
    fs::write(cwd.join("rows.jsonl"), rows).expect("written");
    let told = |content: &str, value: &str| {
        let text = format!(
            "eval_suite:\n  name: s\n  target: {{type: echo}}\n  evals:\n    - metadata: {{id: e}}\n      dataset:\n        path: rows.jsonl\n        format: jsonl\n        \
             case: {{id: '{{{{ row.id }}}}', input: {{type: prompt, content: '{content}', context: {{k: '{value}'}}}}, expected: y}}\n"
        );
        fs::write(cwd.join("suite.yaml"), text).expect("written");
        let request = LoadRequest {
            suite: "suite.yaml".into(),
            purpose: PlanPurpose::Run,
            cwd: cwd.clone(),
            cpus: 1,
            ..LoadRequest::default()
        };
        let loaded = load(&request);
        let words = tell(&loaded);
        let plan = loaded.plan.unwrap_or_else(|| panic!("{words}"));
        // As a run reads them.
        let cases: Vec<_> = plan.evals[0]
            .cases
            .stream(|_| true)
            .map(|streamed| streamed.case.unwrap())
            .collect();
        assert_eq!(cases.len(), 9);
        assert!(
            cases
                .iter()
                .all(|case| case.context_told == cases[0].context_told)
        );
        cases[0].context_told
    };
    assert!(told("{{ context.k }} {{ row.q }}", "{{ row.k }}"));
    assert!(told("{{ context.k }} {{ row.q }}", "fixed"));
    assert!(!told("{{ row.q }} in context", "{{ row.k }}"));
    assert!(!told("{{ row.q }}", "fixed"));
}

#[test]
fn roles_are_checked_against_what_the_model_knows() {
    let with = |target: &str, role: &str| {
        let text = format!(
            "eval_suite:\n  name: s\n  target: {target}\n  evals:\n    - {{id: e, input: {{type: messages, messages: [{{role: user, content: a}}, {{role: {role}, content: b}}]}}, expected: y}}\n"
        );
        tell(&load_with(
            &text,
            PlanPurpose::Run,
            LoadOverrides::default(),
            environment(),
        ))
    };
    assert_eq!(with("{type: model, model: gpt-x}", "developer"), "");
    assert_eq!(with("{type: echo}", "bot"), "");
    let wrong = [
        with("{type: model, model: gpt-x}", "bot"),
        with("{type: model, model: claude-x}", "developer"),
    ];
    insta::assert_snapshot!(wrong.join("\n"), @"
    5:83 unknown-value: unknown role `bot` | valid roles: system, developer, user, assistant, tool
    5:83 unknown-value: unknown role `developer` | valid roles: system, user, assistant
    ");
}

#[test]
fn a_request_without_a_place_for_what_is_said_is_refused() {
    let target = "{type: model, model: x, base_url: 'http://127.0.0.1:1', system: s, request: {body: {q: '{{ prompt }}'}, answer: $.a}}";
    let talk = "eval_suite:\n  name: s\n  target: {type: model, model: x, base_url: 'http://127.0.0.1:1', request: {body: {q: '{{ prompt }}'}, answer: $.a}}\n  \
                evals:\n    - {id: e, input: {type: messages, messages: [{role: user, content: a}, {role: any, content: b}]}, expected: y}\n";
    let told = [
        said(target, ""),
        tell(&load_with(
            talk,
            PlanPurpose::Run,
            LoadOverrides::default(),
            environment(),
        )),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    3:75 bad-request: there is a system prompt, but the request has no place for it | put `{{ system }}` or `{{ messages }}` into its body
    5:49 bad-request: the input is a conversation, but the request has only one `prompt` | put `{{ messages }}` into its body
    "#);
    assert_eq!(
        said(
            &target.replace("'{{ prompt }}'", "['{{ prompt }}', '{{ system }}']"),
            ""
        ),
        ""
    );
    let both = talk.replace("'{{ prompt }}'", "'{{ messages }}'");
    assert_eq!(
        tell(&load_with(
            &both,
            PlanPurpose::Run,
            LoadOverrides::default(),
            environment()
        )),
        ""
    );
    let with_system = |body: &str| {
        let talk = talk
            .replace("role: any", "role: system")
            .replace("'{{ prompt }}'", body);
        tell(&load_with(
            &talk,
            PlanPurpose::Run,
            LoadOverrides::default(),
            environment(),
        ))
    };
    assert_eq!(with_system("['{{ prompt }}', '{{ system }}']"), "");
    insta::assert_snapshot!(with_system("'{{ prompt }}'"), @"5:49 bad-request: the input has a system message, but the request has no place for it | put `{{ messages }}` into its body");
    let set = |body: &str| {
        said(
            &format!(
                "{{type: model, model: x, base_url: 'http://127.0.0.1:1', temperature: 0, seed: 1, request: {{body: {body}, answer: $.a}}}}"
            ),
            "",
        )
    };
    insta::assert_snapshot!(set("{q: '{{ prompt }}', s: '{{ seed }}'}"), @"3:80 suspicious-value: `temperature` is never sent: the request has no place for it | put `{{ temperature }}` into its body");
    assert_eq!(
        set("{q: '{{ prompt }}', s: '{{ seed }}', t: '{{ temperature }}'}"),
        ""
    );
    let get = "{type: model, model: x, base_url: 'http://127.0.0.1:1', request: {method: get, path: '/q?t={{ prompt }}', body: null, answer: $.a}}";
    assert_eq!(said(get, ""), "");
}

#[test]
fn more_samples_are_under_way_than_are_graded_where_they_wait_for_models() {
    let in_flight = |target: &str, config: &str, jobs: Option<usize>| {
        let overrides = LoadOverrides {
            jobs,
            ..LoadOverrides::default()
        };
        let suite = suite(target, &format!("  config: {{{config}}}\n"));
        let plan = load_with(&suite, PlanPurpose::Run, overrides, environment())
            .plan
            .unwrap();
        (plan.settings.max_workers, plan.settings.in_flight)
    };
    let far = "{type: model, model: gpt-x}";
    let wide = "{type: model, model: gpt-x, max_concurrency: 64}";
    assert_eq!(in_flight(far, "", None), (4, 32 + 8));
    assert_eq!(in_flight(wide, "", None), (4, 64 + 8));
    assert_eq!(in_flight(far, "max_workers: 10", None), (10, 10 + 20));
    assert_eq!(in_flight(wide, "", Some(3)), (3, 3));
    assert_eq!(in_flight(wide, "parallel_execution: false", None), (1, 1));
    assert_eq!(in_flight("{type: echo}", "max_workers: 10", None), (10, 10));
}

#[test]
fn several_samples_at_temperature_0_are_warned_of() {
    let fixed = "{type: model, model: 'openai:x', temperature: 0}";
    let warm = fixed.replace(", temperature: 0", "");
    let several = "  config: {samples: 5}\n";
    assert_eq!(said(&warm, several), "");
    assert_eq!(said(fixed, ""), "");
    let call = |overrides| {
        tell(&load_with(
            &suite(fixed, several),
            PlanPurpose::Run,
            overrides,
            environment(),
        ))
    };
    assert_eq!(
        call(LoadOverrides {
            samples: Some(1),
            ..LoadOverrides::default()
        }),
        ""
    );
    let own = format!(
        "eval_suite:\n  name: s\n  target: {warm}\n  evals:\n    - {{id: r, baseline: {{output: y}}, current: {{input: x, execution: {fixed}}}}}\n  config: {{samples: 2}}\n"
    );
    // The samples serve another eval.
    let beside = own.replace(
        "  config:",
        "    - {id: e, input: x, expected: y}\n  config:",
    );
    assert_eq!(
        tell(&load_with(
            &beside,
            PlanPurpose::Run,
            LoadOverrides::default(),
            environment()
        )),
        ""
    );
    insta::assert_snapshot!([
        said(fixed, several),
        // Without samples of their own cases have the largest k.
        said(fixed, "  thresholds: {pass_hat_3: 0.5}\n"),
        said("{type: echo}", &format!("  targets: {{far: {fixed}}}\n{several}")),
        tell(&load_with(&own, PlanPurpose::Run, LoadOverrides::default(), environment())),
    ].join("\n--\n"), @"
    3:44 suspicious-value: 5 samples at `temperature: 0` are no better than one: the model repeats its answer | remove `temperature`, or set `samples: 1`
    --
    3:44 suspicious-value: 3 samples at `temperature: 0` are no better than one: the model repeats its answer | remove `temperature`, or set `samples: 1`
    --

    --
    suspicious-value: 2 samples of `r` at `temperature: 0` are no better than one: the model repeats its answer | remove `temperature`, or set `samples: 1`
    ");
}

/// Every setting of a model.
fn all_settings() -> Map<String, Value> {
    let all = json!({
        "model": "m", "base_url": "http://localhost", "api_key_env": "MINE",
        "api_key_file": "k", "api_key_command": ["c"], "system": "s",
        "temperature": 0.1, "top_p": 0.2, "max_tokens": 3, "stop": ["a", "b"], "seed": -4,
        "json_schema": {"type": "object"}, "options": {"a": {"b": null}}, "show_context": false,
        "training_cutoff": "2024-09",
        "price": {"input_per_million": 0.5, "output_per_million": 0.0}, "thoughts": "keep",
        "max_concurrency": 6, "requests_per_minute": 7, "tokens_per_minute": 8,
        "timeout_seconds": 0.9, "connect_timeout_seconds": 1.0, "first_byte_timeout_seconds": 1.1,
        "retries": 0, "headers": {"x": "y"}, "ca_file": "c", "insecure": false,
        "max_answer_bytes": 12, "replay": "r", "request": {"body": null, "answer": "$.a"},
    });
    let Value::Object(all) = all else {
        panic!("settings")
    };
    let of_default = to_value(ModelSpec::default()).unwrap();
    assert!(all.keys().eq(of_default.as_object().unwrap().keys()));
    all
}

proptest! {
    #[test]
    fn one_layer_of_settings_gives_itself(names in prop::sample::subsequence(all_settings().keys().cloned().collect::<Vec<_>>(), 0..=30)) {
        let mut settings = all_settings();
        settings.retain(|name, _| names.contains(name));
        let spec: ModelSpec = serde_json::from_value(settings.into()).unwrap();
        prop_assert_eq!(layered([to_value(&spec)]).unwrap(), spec);
    }
}

#[test]
fn settings_of_another_type_are_an_error() {
    assert!(layered([Ok(json!({"temperature": "hot"}))]).is_err());
}
