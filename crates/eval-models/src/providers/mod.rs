//! The languages of APIs: a call becomes a request, an answer becomes a completion or a fault.
//!
//! One try and no more: nothing here waits for a turn, tries again, or keeps anything. What an
//! API's own language is stands in its file (`openai`, `anthropic`, `dialect`); what servers say in
//! all of them in `words`, `classify` and `limits`.

mod anthropic;
mod classify;
mod dialect;
mod limits;
mod openai;
#[cfg(test)]
mod tests;
mod usage;
mod words;

pub(super) use anthropic::MAX_TOKENS as ANTHROPIC_MAX_TOKENS;
pub(super) use limits::ToldLimits;
pub use usage::UsageForm;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::thoughts::kept;
use super::{Completion, FaultKind, ModelFault, ModelRequest, PromptSupport, TokenCounts};
use crate::net::{self, ClientSettings, HttpClients, NetworkRequest};
use crate::{Endpoint, ProviderApi, SamplingOptions};
use eval_base::clock::Clock;
use eval_base::ordered::OrderedValue;
use eval_base::redact::{Redactor, secrets_of_header};

/// Bytes of an answer with the status of an error that are read.
const ERROR_BYTES: u64 = 256 << 10;

/// In place of reasoning that an API only gives encrypted.
const HIDDEN_THOUGHTS: &str = "[reasoning that the API does not show]";

/// Redirects that are followed; what is secret goes to no other host.
const REDIRECTS: u32 = 5;

/// What came of one try.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TryOutcome {
    pub result: Result<Completion, ModelFault>,
    /// Wall time from the connection to the last byte that was read, however it ended.
    pub latency: Duration,
    /// False when no server can have got the request: there was no connection, or it could not be
    /// made.
    pub sent: bool,
    /// Of answers with any status.
    pub limits: ToldLimits,
}

/// What of a question an endpoint has places for; what it has none for is refused, or would not be
/// heard.
pub fn places_of(endpoint: &Endpoint) -> PromptSupport {
    match (endpoint.api, &endpoint.dialect) {
        (ProviderApi::Http, Some(dialect)) => dialect::places(dialect),
        _ => PromptSupport {
            system: true,
            turns: true,
            schema: true,
        },
    }
}

/// Asks once. `clock` reads dates that servers name as a time to come again.
pub(super) async fn once(
    clients: &HttpClients,
    endpoint: &Endpoint,
    call: &ModelRequest,
    clock: &dyn Clock,
) -> TryOutcome {
    let started = Instant::now();
    let tried = |result, sent, limits| TryOutcome {
        result,
        latency: started.elapsed(),
        sent,
        limits,
    };
    let unanswered = |fault, sent| {
        let fault = hidden(fault, endpoint, call);
        tried(Err(fault), sent, ToldLimits::default())
    };
    let request = match request(endpoint, call) {
        Ok(request) => request,
        Err(fault) => return unanswered(fault, false),
    };
    let settings = ClientSettings {
        connect_timeout: endpoint.patience.connect,
        ca_file: endpoint.ca_file.clone(),
        insecure: endpoint.insecure,
        same_origin: false,
        gzip: true,
    };
    let mut answer = match clients.open(&settings, &request).await {
        Ok(answer) => answer,
        Err(error) => {
            let (fault, sent) = classify::of_net(&error);
            return unanswered(fault, sent);
        }
    };
    let limits = limits::read(answer.headers(), clock.now());
    let (status, host) = (answer.status(), net::host_of(&request.url));
    let most = endpoint.patience.max_answer_bytes;
    let mut body = Vec::new();
    let result = if answer.was_asked_anew() {
        let why = format!(
            "{host} redirects the request as GET, which drops its body; set `base_url` to the final address"
        );
        Err(ModelFault::new(FaultKind::UnknownModel, why))
    } else if (200..300).contains(&status) {
        match answer
            .read(&mut body, usize::try_from(most).unwrap_or(usize::MAX))
            .await
        {
            Ok(false) => read(endpoint, &host, &body),
            Ok(true) => {
                let why = format!("the answer of {host} exceeds the limit of {most} bytes");
                Err(ModelFault::new(FaultKind::TooLarge, why))
            }
            Err(error) => Err(classify::of_net(&error).0),
        }
    } else {
        // The status tells what happened, whatever becomes of the rest.
        let most = usize::try_from(most.min(ERROR_BYTES)).unwrap_or(usize::MAX);
        let _ = answer.read(&mut body, most).await;
        let own = endpoint
            .dialect
            .as_ref()
            .and_then(|dialect| dialect::error_of_status(dialect, &body));
        classify::of_status(
            &host,
            status,
            &own.unwrap_or_else(|| words::error_of_status(&body)),
        )
    };
    let result = result.map_err(|fault| {
        // Words count of who has more to do than it can; others may speak of anything.
        let said = fault.retry_after.filter(|_| fault.kind.is_overload());
        let retry_after = limits.retry_after.or(said);
        let fault = ModelFault {
            status: fault.status.or(Some(status)),
            retry_after,
            ..fault
        };
        hidden(fault, endpoint, call)
    });
    tried(result, true, limits)
}

/// The fault without what the endpoint keeps secret and without the question, should a server have
/// sent them back.
fn hidden(mut fault: ModelFault, endpoint: &Endpoint, call: &ModelRequest) -> ModelFault {
    let key = endpoint
        .key
        .iter()
        .filter_map(|key| Some(key.value.get()?.to_owned()));
    let headers = endpoint
        .headers
        .iter()
        .flat_map(|(name, value)| secrets_of_header(name, value));
    let paths = endpoint.dialect.iter().map(|dialect| &dialect.path);
    let addresses = paths.chain([&endpoint.base_url]).flat_map(|address| {
        net::secrets_of_address(address)
            .into_iter()
            .chain([net::lone_user(address)])
    });
    if let Some(reason) = Redactor::new(key.chain(headers).chain(addresses)).redact(&fault.reason) {
        fault.reason = reason;
    }
    call.system
        .iter()
        .for_each(|text| words::hide_question(&mut fault.reason, text));
    for message in &call.messages {
        words::hide_question(
            &mut fault.reason,
            &text_of(&message.content).unwrap_or_default(),
        );
    }
    // Only now: part of a key is not known to be one.
    words::shorten(&mut fault.reason);
    fault
}

/// What is said in an API's own words, apart from who is asked.
struct ApiRequest {
    method: String,
    /// Below the base address.
    path: String,
    /// The provider's own headers; those that somebody wrote win over them.
    headers: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
}

impl ApiRequest {
    /// A POST of JSON, its fields sorted by name; those of `options` win.
    fn post(
        path: &str,
        mut headers: Vec<(&'static str, String)>,
        mut fields: RequestFields,
        options: &BTreeMap<String, OrderedValue>,
    ) -> Result<ApiRequest, ModelFault> {
        with_options(&mut fields, options);
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        let body =
            serde_json::to_vec(&OrderedValue::Map(fields).as_written()).map_err(|error| {
                ModelFault::new(
                    FaultKind::Settings,
                    format!("the request cannot be written as JSON: {error}"),
                )
            })?;
        headers.insert(0, ("content-type", "application/json".to_owned()));
        Ok(ApiRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers,
            body: Some(body),
        })
    }
}

/// The header that most APIs read a key from.
fn bearer(key: Option<&str>) -> Vec<(&'static str, String)> {
    let header = |key| ("authorization", format!("Bearer {key}"));
    key.into_iter().map(header).collect()
}

fn request(endpoint: &Endpoint, call: &ModelRequest) -> Result<NetworkRequest, ModelFault> {
    let key = match &endpoint.key {
        None => None,
        Some(key) => match key.value.get() {
            Some(value) => Some(value),
            None => {
                let why = format!("the key of {} is not set: {}", endpoint.name(), key.source);
                return Err(ModelFault::new(FaultKind::Unauthorized, why));
            }
        },
    };
    let spoken = match (endpoint.api, &endpoint.dialect) {
        (ProviderApi::Openai, _) => openai::speak(endpoint, call, key)?,
        (ProviderApi::Anthropic, _) => anthropic::speak(endpoint, call, key)?,
        (ProviderApi::Http, Some(dialect)) => dialect::speak(dialect, endpoint, call, key)?,
        (ProviderApi::Http, None) => {
            let why = format!("the request format of {} is not defined", endpoint.name());
            return Err(ModelFault::new(FaultKind::Settings, why));
        }
    };
    let url = net::join(&endpoint.base_url, &spoken.path)
        .map_err(|error| ModelFault::new(FaultKind::Settings, error.to_string()))?;
    let headers = spoken.headers.into_iter();
    let headers = headers.map(|(name, value)| (name.to_owned(), value));
    Ok(NetworkRequest {
        method: spoken.method,
        url,
        headers: headers.chain(endpoint.headers.clone()).collect(),
        body: spoken.body.map(Into::into),
        timeout: endpoint.patience.total.unwrap_or(call.timeout),
        first_byte: endpoint.patience.first_byte,
        redirects: REDIRECTS,
    })
}

/// The whole body of an answer with a good status.
fn read(endpoint: &Endpoint, host: &str, body: &[u8]) -> Result<Completion, ModelFault> {
    let value = json(host, body)?;
    let (tokens, read) = match (endpoint.api, &endpoint.dialect) {
        (ProviderApi::Http, Some(dialect)) => (
            dialect::usage(dialect, &value)?,
            dialect::read(dialect, host, &value),
        ),
        (api, _) => {
            let is_anthropic = api == ProviderApi::Anthropic;
            let used = value.get("usage").and_then(match is_anthropic {
                true => anthropic::usage,
                false => openai::usage,
            });
            let read = match words::error_in(&value) {
                Some(said) => Err(classify::of_error_body(host, &said)),
                None if is_anthropic => anthropic::read(host, &value),
                None => openai::read(host, &value),
            };
            (used, read)
        }
    };
    read.and_then(|completion| {
        let model = words::model_of(&value);
        classify::settled(
            host,
            Completion {
                tokens,
                model,
                ..completion
            },
        )
    })
    .map_err(|fault| ModelFault { tokens, ..fault })
}

fn json(host: &str, body: &[u8]) -> Result<Value, ModelFault> {
    let body = words::without_mark(body);
    if body.trim_ascii().is_empty() {
        return Err(ModelFault::new(
            FaultKind::Empty,
            format!("{host} answered without a body"),
        ));
    }
    serde_json::from_slice(body).map_err(|error| {
        let text = String::from_utf8_lossy(body.get(..8 << 10).unwrap_or(body));
        let is_json = text.trim_start().starts_with(['{', '[']);
        let what = match words::page(&text) {
            Some(page) => page,
            None if text.starts_with("data:") || text.starts_with("event:") => {
                "a stream of events, which is not supported; remove `stream` from the options"
                    .to_owned()
            }
            None if is_json && error.is_eof() => {
                format!("JSON that ends early, after {} bytes", body.len())
            }
            None if is_json => format!("invalid JSON ({error})"),
            None => "text that is not JSON".to_owned(),
        };
        ModelFault::new(
            FaultKind::Unreadable,
            format!("{host} answered with {what}"),
        )
    })
}

/// Fields of a request.
type RequestFields = Vec<(String, OrderedValue)>;

/// The fields that have a value.
fn fields<const N: usize>(all: [(&str, Option<OrderedValue>); N]) -> RequestFields {
    let set = all.into_iter();
    set.filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn plain(value: Option<impl Into<Value>>) -> Option<OrderedValue> {
    value.map(|value| value.into().into())
}

fn stop(sampling: &SamplingOptions) -> Option<Vec<String>> {
    Some(sampling.stop.clone()).filter(|stop| !stop.is_empty())
}

/// Puts further fields of the request over those that are there; `null` takes one away.
fn with_options(fields: &mut RequestFields, options: &BTreeMap<String, OrderedValue>) {
    for (name, value) in options {
        let known = fields.iter().position(|(known, _)| known == name);
        match known.and_then(|at| fields.get_mut(at)) {
            None if value.is_null() => {}
            None => fields.push((name.clone(), value.clone())),
            Some(_) if value.is_null() => fields.retain(|(known, _)| known != name),
            Some((_, field)) => *field = value.clone(),
        }
    }
}

/// A fault of an answer that is not what the API answers with.
fn misshapen(host: &str, what: &str) -> ModelFault {
    ModelFault::new(
        FaultKind::Unreadable,
        format!("{host} answered with JSON that is not an answer: {what}"),
    )
}

/// A count of tokens. What is no count (a text, a negative number, a part) is not told.
fn count(value: Option<&Value>) -> Option<u64> {
    /// Up to here every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = value?.as_number()?;
    number.as_u64().or_else(|| {
        let float = number
            .as_f64()
            .filter(|n| n.fract() == 0.0 && (0.0..EXACT).contains(n))?;
        Some(float as u64)
    })
}

/// Counts that may be left out, and count nothing then; a count that is no count makes all of them
/// unknown.
fn count_or_none(value: Option<&Value>) -> Option<u64> {
    match value {
        None | Some(Value::Null) => Some(0),
        value => count(value),
    }
}

/// Tokens, if the counts can be true together. Every question takes some: who says 0 does not
/// count.
fn tokens(input: u64, output: u64, cached_input: u64, cache_write: u64) -> Option<TokenCounts> {
    let part = cached_input.checked_add(cache_write)?;
    input.checked_add(output)?;
    (input > 0 && part <= input).then_some(TokenCounts {
        input,
        output,
        cached_input,
        cache_write,
    })
}

/// The reasoning among the parts of a content: Anthropic's blocks and Mistral's chunks (a text, or
/// parts). `None` when it has none.
fn thoughts_of(content: &Value) -> Option<String> {
    let mut is_noted = false;
    let texts = content.as_array()?.iter().filter_map(|part| {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        let said = part
            .get("thinking")
            .filter(|_| kind == "thinking")
            .and_then(text_of);
        let signed = part
            .get("signature")
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty());
        match said.filter(|text| !text.trim().is_empty()) {
            None if kind == "redacted_thinking" || (kind == "thinking" && signed) => {
                (!std::mem::replace(&mut is_noted, true)).then(|| HIDDEN_THOUGHTS.to_owned())
            }
            said => said,
        }
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| kept(&texts.join("\n\n")))
}

/// The text of a content: a text, or the texts among its parts; `None` when it is neither.
fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                Value::String(text) => Some(text.as_str()),
                part => {
                    let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
                    matches!(kind, "text" | "output_text")
                        .then(|| part.get("text")?.as_str())
                        .flatten()
                }
            });
            Some(texts.collect())
        }
        _ => None,
    }
}
