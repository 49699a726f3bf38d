//! Endpoints and calls for tests.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{CallIndex, ChatMessage, Completion, ModelRequest, TokenCounts};
use crate::{CallLimits, Endpoint, FinishReason, LaneLimits, ProviderApi, SamplingOptions};

pub(super) fn endpoint(model: &str) -> Endpoint {
    Endpoint {
        address_variable: None,
        api: ProviderApi::Openai,
        provider: "openai".to_owned(),
        model: model.to_owned(),
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        headers: BTreeMap::new(),
        dialect: None,
        key: None,
        limits: LaneLimits {
            lane: "openai".to_owned(),
            ..LaneLimits::default()
        },
        patience: CallLimits::default(),
        ca_file: None,
        insecure: false,
        price: None,
        replay: None,
    }
}

pub(super) fn call(prompt: &str) -> ModelRequest {
    ModelRequest {
        system: None,
        messages: vec![ChatMessage::user(prompt)],
        sampling: SamplingOptions::default(),
        index: CallIndex::default(),
        timeout: Duration::from_secs(60),
    }
}

pub(super) fn completion(text: &str, tokens: Option<TokenCounts>) -> Completion {
    Completion {
        tokens,
        ..Completion::new(text, FinishReason::Stop)
    }
}
