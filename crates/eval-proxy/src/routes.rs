//! Which requests of an agent are calls of a model API, where its token is, and errors in the form
//! of each API.

use eval_base::percent;
use eval_models::UsageForm;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::AgentApi;

/// The form of a call's request and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiProtocol {
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini `generateContent` and `streamGenerateContent`.
    Gemini,
}

impl ApiProtocol {
    /// The word in recordings.
    pub fn name(self) -> &'static str {
        match self {
            ApiProtocol::AnthropicMessages => "anthropic_messages",
            ApiProtocol::OpenaiChat => "openai_chat",
            ApiProtocol::OpenaiResponses => "openai_responses",
            ApiProtocol::Gemini => "gemini",
        }
    }

    pub(crate) fn usage_form(self) -> UsageForm {
        match self {
            ApiProtocol::AnthropicMessages => UsageForm::AnthropicMessages,
            ApiProtocol::OpenaiChat => UsageForm::OpenaiChat,
            ApiProtocol::OpenaiResponses => UsageForm::OpenaiResponses,
            ApiProtocol::Gemini => UsageForm::Gemini,
        }
    }
}

/// What a request wants of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteKind {
    /// An answer of a model: a turn.
    Model(ApiProtocol),
    /// A count of tokens, or a list of models: nothing is charged.
    Side,
}

/// A request to an API that is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiRoute {
    pub api: AgentApi,
    pub kind: RouteKind,
    /// Below the upstream's base URL, with the harmless part of its query.
    pub path: String,
    /// Of a path that names a model.
    pub model: Option<String>,
}

/// The API whose base path a path is below.
pub(crate) fn api_of(path: &str) -> Option<AgentApi> {
    AgentApi::ALL.into_iter().find(|api| {
        let first = format!("/{}", api.name());
        path.strip_prefix(&first)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

impl ApiRoute {
    /// `None` for a path or method that is not passed on.
    pub fn of(api: AgentApi, method: &Method, uri: &Uri) -> Option<ApiRoute> {
        let path = uri.path();
        // Google's library puts a version behind the base URL, Anthropic's a `/v1`; an agent whose
        // base URL has it already doubles it.
        let below = path.strip_prefix(api.replaced_path())?;
        let (post, get) = (*method == Method::POST, *method == Method::GET);
        let is_list = |prefix: &str| {
            get && below
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.strip_prefix('/').is_some_and(is_model))
        };
        let mut model = None;
        let kind = match api {
            AgentApi::Anthropic => match below {
                "/messages" if post => RouteKind::Model(ApiProtocol::AnthropicMessages),
                "/messages/count_tokens" if post => RouteKind::Side,
                _ if is_list("/models") => RouteKind::Side,
                _ => return None,
            },
            AgentApi::Openai => match below {
                "/chat/completions" if post => RouteKind::Model(ApiProtocol::OpenaiChat),
                "/responses" | "/responses/compact" if post => {
                    RouteKind::Model(ApiProtocol::OpenaiResponses)
                }
                _ if is_list("/models") => RouteKind::Side,
                _ => return None,
            },
            AgentApi::Gemini => {
                let (version, rest) = below.strip_prefix('/')?.split_once('/')?;
                if !matches!(version, "v1" | "v1beta" | "v1alpha") {
                    return None;
                }
                match rest
                    .strip_prefix("models/")
                    .and_then(|rest| rest.rsplit_once(':'))
                {
                    Some((name, action)) if post && is_model(name) && !name.contains(':') => {
                        model = Some(name.to_owned());
                        match action {
                            "generateContent" | "streamGenerateContent" => {
                                RouteKind::Model(ApiProtocol::Gemini)
                            }
                            "countTokens" => RouteKind::Side,
                            _ => return None,
                        }
                    }
                    _ if get
                        && rest.strip_prefix("models").is_some_and(|rest| {
                            rest.is_empty() || rest.strip_prefix('/').is_some_and(is_model)
                        }) =>
                    {
                        RouteKind::Side
                    }
                    _ => return None,
                }
            }
        };
        let query = harmless_query(uri.query().unwrap_or_default());
        let path = match query.is_empty() {
            true => below.to_owned(),
            false => format!("{below}?{query}"),
        };
        Some(ApiRoute {
            api,
            kind,
            path,
            model,
        })
    }
}

/// The name of a model in a path: no dots that lead upwards, and nothing that is decoded.
fn is_model(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:@/".contains(&byte);
    !name.is_empty()
        && name.bytes().all(known)
        && name
            .split('/')
            .all(|part| !part.trim_matches('.').is_empty())
}

/// Parameters that don't change the form of an answer to one that cannot be counted.
fn harmless_query(query: &str) -> String {
    let is_kept = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match name {
            "alt" => value == "sse",
            "beta" | "api-version" | "pageSize" | "pageToken" | "limit" | "after_id"
            | "before_id" => true,
            _ => false,
        }
    };
    let kept = query.split('&').filter(is_kept);
    kept.collect::<Vec<_>>().join("&")
}

/// A token's digest, so that the time of a comparison shows nothing of the token.
pub(crate) fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Whether a request has the token: all keys that it has must be it.
pub(crate) fn is_authorized(headers: &HeaderMap, uri: &Uri, token: &[u8; 32]) -> bool {
    let bearer = |value: &HeaderValue| {
        let value = value.as_bytes();
        let (scheme, rest) = value.split_at_checked(7)?;
        scheme
            .eq_ignore_ascii_case(b"bearer ")
            .then(|| rest.trim_ascii().to_vec())
    };
    let bearers = headers
        .get_all(AUTHORIZATION)
        .iter()
        .map(|value| bearer(value).unwrap_or_default());
    let keys = ["x-api-key", "x-goog-api-key", "api-key"]
        .into_iter()
        .flat_map(|name| headers.get_all(name))
        .map(|value| value.as_bytes().to_vec());
    let parameters = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.strip_prefix("key="))
        .map(|value| percent::decode(value).into_bytes());
    let mut any = false;
    for key in bearers.chain(keys).chain(parameters) {
        if digest(&key) != *token {
            return false;
        }
        any = true;
    }
    any
}

/// The body of an error in the form of an API; of no API: OpenAI's, which most programs print.
pub(crate) fn error_body(api: Option<AgentApi>, status: StatusCode, message: &str) -> Value {
    let code = status.as_u16();
    match api {
        Some(AgentApi::Anthropic) => {
            let kind = match code {
                400 => "invalid_request_error",
                401 => "authentication_error",
                403 => "permission_error",
                404 => "not_found_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                _ => "api_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Some(AgentApi::Gemini) => {
            let kind = match code {
                400 | 413 => "INVALID_ARGUMENT",
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                _ => "UNAVAILABLE",
            };
            json!({"error": {"code": code, "message": message, "status": kind}})
        }
        Some(AgentApi::Openai) | None => {
            let kind = match code {
                401 => "authentication_error",
                403 => "permission_error",
                429 => "rate_limit_error",
                400..500 => "invalid_request_error",
                _ => "server_error",
            };
            json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
        }
    }
}
