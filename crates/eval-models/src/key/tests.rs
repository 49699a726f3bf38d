use std::time::Duration;

use serde_json::json;

use super::*;
use crate::{ApiKey, CallIndex, CallLimits, KeySource, LaneLimits, TokenPrice};
use eval_base::ordered::OrderedValue;

pub fn endpoint() -> Endpoint {
    Endpoint {
        address_variable: None,
        api: ProviderApi::Openai,
        provider: "openai".into(),
        model: "small-1".into(),
        base_url: "https://api.example.org/v1".into(),
        headers: BTreeMap::from([("X-Team".into(), "evals".into())]),
        dialect: None,
        key: None,
        limits: LaneLimits::default(),
        patience: CallLimits::default(),
        ca_file: None,
        insecure: false,
        price: None,
        replay: None,
    }
}

fn key_of(endpoint: &Endpoint, call: &ModelRequest) -> QuestionKey {
    KeyedQuestion::of(endpoint, call).key()
}

fn call() -> ModelRequest {
    ModelRequest {
        system: Some("Be brief.".into()),
        messages: vec![ChatMessage::user("What is 2 + 2?")],
        sampling: SamplingOptions {
            temperature: Some(0.0),
            max_tokens: Some(16),
            options: BTreeMap::from([("top_k".to_owned(), json!(4).into())]),
            ..SamplingOptions::default()
        },
        index: CallIndex::default(),
        timeout: Duration::from_secs(60),
    }
}

fn dialect() -> HttpDialect {
    HttpDialect {
        method: "POST".into(),
        path: "/generate?lang=en".into(),
        body: json!({"prompt": "{{ prompt }}"}).into(),
        answer: "$.text".into(),
        input_tokens: None,
        output_tokens: None,
        error: None,
        finish: None,
    }
}

/// Whoever changes these makes everybody ask everything again: raise `VERSION` and say so in the
/// changelog.
#[test]
fn keys_are_those_of_yesterday() {
    insta::assert_snapshot!(key_of(&endpoint(), &call()), @"6890d3e79d20ea07397b440be0f347778c790a2f05a9fb2cfb176777806000ac");
    let plain = ModelRequest {
        system: None,
        sampling: SamplingOptions::default(),
        ..call()
    };
    insta::assert_snapshot!(key_of(&endpoint(), &plain), @"ffa497e47d9b669bb70ec3688842ac579d834d32f6f4cba5049c2c62edafcfed");
    let http = Endpoint {
        address_variable: None,
        api: ProviderApi::Http,
        dialect: Some(Box::new(dialect())),
        ..endpoint()
    };
    insta::assert_snapshot!(key_of(&http, &call()), @"5ad3d660c9c488a3dd00a577c6273212a905d3a1edd51ff4cd6e5fdf171a6267");
}

/// Kept answers are found again, whatever the order in which keys are sent.
#[test]
fn order_of_keys_does_not_change_a_question() {
    let schema = |first: &str, second: &str| {
        let kind = || OrderedValue::map([("type", "string".into())]);
        let fields = OrderedValue::map([(first, kind()), (second, kind())]);
        OrderedValue::map([("type", "object".into()), ("properties", fields)])
    };
    let asked = |schema: OrderedValue| {
        let mut call = call();
        call.sampling.json_schema = Some(schema.clone());
        call.sampling
            .options
            .insert("tools".to_owned(), OrderedValue::List(vec![schema]));
        key_of(&endpoint(), &call)
    };
    let sorted = json!({"properties": {"answer": {"type": "string"}, "reasoning": {"type": "string"}}, "type": "object"});
    assert_eq!(
        asked(schema("reasoning", "answer")),
        asked(sorted.clone().into())
    );
    let text = concat!(
        "eval-harness question 1\n",
        r#"{"api":"openai","base_url":"https://api.example.org/v1","headers":{"x-team":"evals"},"#,
        r#""messages":[{"content":"What is 2 + 2?","role":"user"}],"model":"small-1","sampling":{"json_schema":"#,
    );
    let rest = format!(
        r#"{sorted},"max_tokens":16,"options":{{"tools":[{sorted}],"top_k":4}},"temperature":0.0}},"system":"Be brief."}}"#
    );
    let digest = Sha256::digest(format!("{text}{rest}"));
    let expected: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(asked(schema("reasoning", "answer")).to_string(), expected);
}

#[test]
fn a_key_is_the_digest_of_canonical_json() {
    let question = KeyedQuestion::of(
        &endpoint(),
        &ModelRequest {
            index: CallIndex {
                sample: 2,
                attempt: 0,
                vote: 0,
            },
            ..call()
        },
    );
    let text = concat!(
        "eval-harness question 1\n",
        r#"{"api":"openai","base_url":"https://api.example.org/v1","headers":{"x-team":"evals"},"#,
        r#""messages":[{"content":"What is 2 + 2?","role":"user"}],"model":"small-1","#,
        r#""sample":2,"sampling":{"max_tokens":16,"options":{"top_k":4},"temperature":0.0},"system":"Be brief."}"#,
    );
    let expected: String = Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(question.key().to_string(), expected);
    assert_eq!(QuestionKey::parse(&expected), Some(question.key()));
}

#[test]
fn everything_that_changes_an_answer_changes_the_key() {
    let mut keys = vec![("nothing", key_of(&endpoint(), &call()))];
    let mut ways = |name: &'static str, change: &dyn Fn(&mut Endpoint, &mut ModelRequest)| {
        let (mut endpoint, mut call) = (endpoint(), call());
        change(&mut endpoint, &mut call);
        keys.push((name, key_of(&endpoint, &call)));
    };
    ways("api", &|e, _| e.api = ProviderApi::Anthropic);
    ways("base_url", &|e, _| {
        e.base_url = "https://api.example.org/v2".into()
    });
    ways("model", &|e, _| e.model = "small-2".into());
    ways("header", &|e, _| {
        drop(e.headers.insert("X-Team".into(), "others".into()))
    });
    ways("another header", &|e, _| {
        drop(e.headers.insert("X-Region".into(), "eu".into()))
    });
    ways("no header", &|e, _| e.headers.clear());
    ways("dialect", &|e, _| e.dialect = Some(Box::new(dialect())));
    ways("dialect.method", &|e, _| {
        e.dialect = Some(Box::new(HttpDialect {
            method: "PUT".into(),
            ..dialect()
        }))
    });
    ways("dialect.path", &|e, _| {
        e.dialect = Some(Box::new(HttpDialect {
            path: "/other".into(),
            ..dialect()
        }))
    });
    ways("dialect.body", &|e, _| {
        e.dialect = Some(Box::new(HttpDialect {
            body: json!({}).into(),
            ..dialect()
        }))
    });
    ways("dialect.answer", &|e, _| {
        e.dialect = Some(Box::new(HttpDialect {
            answer: "$.t".into(),
            ..dialect()
        }))
    });
    ways("dialect.error", &|e, _| {
        e.dialect = Some(Box::new(HttpDialect {
            error: Some("$.e".into()),
            ..dialect()
        }));
    });
    ways("no system", &|_, c| c.system = None);
    ways("empty system", &|_, c| c.system = Some(String::new()));
    ways("text", &|_, c| {
        c.messages = vec![ChatMessage::user("What is 2 + 3?")]
    });
    ways("role", &|_, c| {
        c.messages = vec![ChatMessage {
            role: "tool".into(),
            ..ChatMessage::user("What is 2 + 2?")
        }]
    });
    ways("a turn more", &|_, c| {
        c.messages.push(ChatMessage::user("Well?"))
    });
    ways("two turns the other way", &|_, c| {
        c.messages.insert(0, ChatMessage::user("Well?"))
    });
    ways("parts", &|_, c| {
        c.messages = vec![ChatMessage {
            role: "user".into(),
            content: json!([{"type": "text"}]),
        }]
    });
    ways("no temperature", &|_, c| c.sampling.temperature = None);
    ways("temperature", &|_, c| c.sampling.temperature = Some(0.1));
    ways("top_p", &|_, c| c.sampling.top_p = Some(0.5));
    ways("max_tokens", &|_, c| c.sampling.max_tokens = Some(17));
    ways("stop", &|_, c| c.sampling.stop = vec!["\n".into()]);
    ways("two stops", &|_, c| {
        c.sampling.stop = vec!["\n".into(), ";".into()]
    });
    ways("two stops the other way", &|_, c| {
        c.sampling.stop = vec![";".into(), "\n".into()]
    });
    ways("seed", &|_, c| c.sampling.seed = Some(1));
    ways("json_schema", &|_, c| {
        c.sampling.json_schema = Some(json!({"type": "object"}).into())
    });
    ways("option", &|_, c| {
        drop(c.sampling.options.insert("top_k".into(), json!(5).into()))
    });
    ways("option of another spelling", &|_, c| {
        let number = serde_json::from_str("4.0").expect("a number");
        c.sampling.options.insert("top_k".into(), number);
    });
    ways("sample", &|_, c| c.index.sample = 1);
    ways("attempt", &|_, c| c.index.attempt = 1);
    let mut distinct: BTreeMap<QuestionKey, &str> = BTreeMap::new();
    for (name, key) in &keys {
        if let Some(other) = distinct.insert(*key, name) {
            panic!("`{name}` has the key of `{other}`");
        }
    }
    assert_eq!(distinct.len(), keys.len());
}

#[test]
fn what_does_not_change_an_answer_does_not_change_the_key() {
    let same = key_of(&endpoint(), &call());
    let ways = |name: &'static str, change: &dyn Fn(&mut Endpoint, &mut ModelRequest)| {
        let (mut endpoint, mut call) = (endpoint(), call());
        change(&mut endpoint, &mut call);
        assert_eq!(key_of(&endpoint, &call), same, "{name}");
    };
    ways("provider", &|e, _| e.provider = "gateway".into());
    ways("key", &|e, _| {
        e.key = Some(ApiKey {
            source: KeySource::Variable("K".to_owned()),
            value: "sk-1234567890".to_owned().into(),
        })
    });
    ways("secret header", &|e, _| {
        drop(
            e.headers
                .insert("Authorization".into(), "Bearer abcdef".into()),
        )
    });
    ways("case of a header", &|e, _| {
        e.headers = BTreeMap::from([("x-TEAM".into(), "evals".into())])
    });
    ways("userinfo", &|e, _| {
        e.base_url = "https://me:secret@api.example.org/v1".into()
    });
    ways("final slash", &|e, _| {
        e.base_url = "https://api.example.org/v1/".into()
    });
    ways("limits", &|e, _| {
        e.limits = LaneLimits {
            lane: "x".into(),
            max_concurrency: 3,
            requests_per_minute: Some(5),
            tokens_per_minute: Some(6),
        };
    });
    ways("patience", &|e, _| {
        e.patience = CallLimits {
            retries: 9,
            ..CallLimits::default()
        }
    });
    ways("ca_file", &|e, _| e.ca_file = Some("/etc/ca.pem".into()));
    ways("insecure", &|e, _| e.insecure = true);
    ways("price", &|e, _| {
        e.price = Some(TokenPrice {
            input: 1.0,
            output: 2.0,
            cached_input: None,
            cache_write: None,
        });
    });
    ways("replay", &|e, _| e.replay = Some("/recordings".into()));
    ways("timeout", &|_, c| c.timeout = Duration::from_secs(1));
}

#[test]
fn the_order_of_keys_does_not_matter_at_any_depth() {
    let with = |schema: &str| {
        let schema = serde_json::from_str(schema).expect("a schema");
        let sampling = SamplingOptions {
            json_schema: Some(schema),
            ..SamplingOptions::default()
        };
        key_of(&endpoint(), &ModelRequest { sampling, ..call() })
    };
    assert_eq!(
        with(
            r#"{"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "b": {}}}"#
        ),
        with(
            r#"{"properties": {"b": {}, "a": {"maxLength": 3, "type": "string"}}, "type": "object"}"#
        ),
    );
    assert_ne!(
        with(r#"{"enum": ["a", "b"]}"#),
        with(r#"{"enum": ["b", "a"]}"#)
    );
    assert_ne!(with(r#"{"a": {"b": 1}}"#), with(r#"{"a": {}, "b": 1}"#));
}

#[test]
fn a_question_comes_back_from_its_file_with_its_key() {
    let mut endpoint = Endpoint {
        address_variable: None,
        api: ProviderApi::Http,
        dialect: Some(Box::new(dialect())),
        ..endpoint()
    };
    endpoint.base_url = "https://u:p@h.example/v1".into();
    let mut call = call();
    call.sampling.json_schema =
        serde_json::from_str(r#"{"maximum": 123456789012345678901234567890}"#).ok();
    call.sampling.temperature = Some(0.1 + 0.2);
    let question = KeyedQuestion::of(&endpoint, &call);
    let text = serde_json::to_string_pretty(&question).expect("JSON");
    let again: KeyedQuestion = serde_json::from_str(&text).expect("a question");
    assert_eq!((again.key(), &again), (question.key(), &question), "{text}");
}

#[test]
fn only_64_hex_digits_are_a_key() {
    let key = QuestionKey::of_byte(0xa7);
    assert_eq!(QuestionKey::parse(&key.to_string()), Some(key));
    for wrong in [
        "",
        "a7",
        &"A7".repeat(32),
        &"a7".repeat(33),
        &"g7".repeat(32),
        &"é".repeat(32),
    ] {
        assert_eq!(QuestionKey::parse(wrong), None, "{wrong}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    /// Two lists of turns that differ anywhere are two questions, also when their texts together
    /// are the same.
    #[test]
    fn turns_are_told_apart(a in proptest::collection::vec("[ab\"\\\\]{0,3}", 0..4), b in proptest::collection::vec("[ab\"\\\\]{0,3}", 0..4)) {
        let key = |texts: &[String]| {
            key_of(&endpoint(), &ModelRequest { messages: texts.iter().map(ChatMessage::user).collect(), ..call() })
        };
        proptest::prop_assert_eq!(key(&a) == key(&b), a == b);
    }
}
