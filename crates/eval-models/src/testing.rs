//! Endpoints and calls for tests.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Call, CallIndex, Completion, Message, Tokens};
use crate::{Api, Endpoint, Finish, Limits, Patience, Sampling};

pub(super) fn endpoint(model: &str) -> Endpoint {
    Endpoint {
        api: Api::Openai,
        provider: "openai".to_owned(),
        model: model.to_owned(),
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        headers: BTreeMap::new(),
        dialect: None,
        key: None,
        limits: Limits {
            lane: "openai".to_owned(),
            ..Limits::default()
        },
        patience: Patience::default(),
        ca_file: None,
        insecure: false,
        price: None,
        replay: None,
    }
}

pub(super) fn call(prompt: &str) -> Call {
    Call {
        system: None,
        messages: vec![Message::user(prompt)],
        sampling: Sampling::default(),
        index: CallIndex::default(),
        timeout: Duration::from_secs(60),
    }
}

pub(super) fn completion(text: &str, tokens: Option<Tokens>) -> Completion {
    Completion {
        tokens,
        ..Completion::new(text, Finish::Stop)
    }
}
