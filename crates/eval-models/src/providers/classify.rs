//! What kind of trouble an answer is, or the lack of one.

use super::words::{ErrorReply, broken_off, finish};
use crate::net::{NetError, TimeoutStage};
use crate::{Completion, FaultKind, FinishReason, ModelFault};

/// What an answer with the status of an error comes to. Nearly always a fault: a provider's filter
/// that declines the question says so with a 400, and that is a refusal.
pub(super) fn of_status(
    host: &str,
    status: u16,
    said: &ErrorReply,
) -> Result<Completion, ModelFault> {
    if status == 400 && is_filtered(said) {
        return Ok(Completion::new("", FinishReason::Refused));
    }
    let kind = kind_of_status(status, said);
    let mut reason = sentence(&format!("{host} answered {status}"), said);
    // An API that does not know a model says so in words of its own.
    if kind == FaultKind::UnknownModel && said.words.is_empty() {
        reason.push_str("; check that `base_url` ends where the API's own path begins");
    }
    Err(ModelFault {
        status: Some(status),
        retry_after: said.retry_after,
        ..ModelFault::new(kind, reason)
    })
}

/// What an error means that stands in an answer with a good status.
pub(super) fn of_error_body(host: &str, said: &ErrorReply) -> ModelFault {
    let kind = match said.status {
        Some(status) => match kind_of_status(status, said) {
            FaultKind::ServerError => FaultKind::ErrorBody,
            kind => kind,
        },
        None => kind_of_words(said).unwrap_or(FaultKind::ErrorBody),
    };
    let begin = format!("{host} answered with an error, although the HTTP status is a success");
    ModelFault {
        retry_after: said.retry_after,
        ..ModelFault::new(kind, sentence(&begin, said))
    }
}

/// Why the model ended; a fault when the server says that it broke its own answer off.
pub(super) fn of_end(host: &str, word: Option<&str>) -> Result<FinishReason, ModelFault> {
    match word.and_then(broken_off) {
        None => Ok(word.map_or(FinishReason::Other, finish)),
        Some((word, kind)) => {
            let why = format!("{host} stopped before its answer was complete (`{word}`)");
            Err(ModelFault::new(kind, why))
        }
    }
}

fn sentence(begin: &str, said: &ErrorReply) -> String {
    let end = said.message.clone().or_else(|| said.words.first().cloned());
    let why = match said.mentions(&["tokens per min", "tokens per day"]) {
        true => {
            "one request exceeds the token limit; shorten it, lower `max_tokens`, or raise the limit"
        }
        false => "the request does not fit the model's context",
    };
    match (end, is_too_long(said)) {
        (Some(words), true) => format!("{begin}: {why}: {words}"),
        (None, true) => format!("{begin}: {why}"),
        (Some(words), false) => format!("{begin}: {words}"),
        (None, false) => begin.to_owned(),
    }
}

fn is_filtered(said: &ErrorReply) -> bool {
    said.is_one_of(&[
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
    ])
}

fn is_too_long(said: &ErrorReply) -> bool {
    said.is_one_of(&[
        "context_length_exceeded",
        "request_too_large",
        "exceed_context_size_error",
    ]) || said.mentions(&[
        "maximum context length",
        "prompt is too long",
        "input is too long",
        "exceeds the available context size",
        "exceed context limit",
        "exceeds the context window",
        "request too large",
    ])
}

fn kind_of_status(status: u16, said: &ErrorReply) -> FaultKind {
    let by_words = kind_of_words(said);
    match status {
        402 => FaultKind::NoCredit,
        // Used-up quotas come as 429, and unknown models and bad keys as 400.
        400..=499 if by_words == Some(FaultKind::NoCredit) => FaultKind::NoCredit,
        401 | 403 | 407 => FaultKind::Unauthorized,
        404 | 405 | 410 => FaultKind::UnknownModel,
        408 | 409 | 425 => FaultKind::ServerError,
        // One question that exceeds a whole minute's tokens never fits.
        429 if is_too_long(said) => FaultKind::BadRequest,
        429 => FaultKind::RateLimited,
        400..=499 => by_words.unwrap_or(FaultKind::BadRequest),
        503 | 529 => FaultKind::Overloaded,
        500..=599 => match by_words {
            Some(kind) if kind.is_overload() => kind,
            _ => FaultKind::ServerError,
        },
        // A redirect that leads nowhere, or what nobody asked for: this is not where the API is.
        300..=399 => FaultKind::UnknownModel,
        _ => FaultKind::Unreadable,
    }
}

fn kind_of_words(said: &ErrorReply) -> Option<FaultKind> {
    const NO_CREDIT: [&str; 5] = [
        "insufficient_quota",
        "insufficient_balance",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
    ];
    const OVERLOADED: [&str; 5] = [
        "overloaded_error",
        "overloaded",
        "engine_overloaded",
        "server_overloaded",
        "unavailable",
    ];
    const UNAUTHORIZED: [&str; 6] = [
        "authentication_error",
        "invalid_api_key",
        "permission_error",
        "unauthorized",
        "unauthenticated",
        "permission_denied",
    ];
    const UNKNOWN_MODEL: [&str; 4] = [
        "model_not_found",
        "invalid_model",
        "not_found_error",
        "not_found",
    ];
    const BAD_REQUEST: [&str; 4] = [
        "invalid_request_error",
        "context_length_exceeded",
        "bad_request",
        "invalid_argument",
    ];
    let credit = [
        "credit balance is too low",
        "insufficient balance",
        "insufficient credits",
    ];
    if said.is_one_of(&NO_CREDIT) || said.mentions(&credit) {
        Some(FaultKind::NoCredit)
    } else if said.begins("rate_limit")
        || said.is_one_of(&["resource_exhausted", "too_many_requests"])
    {
        Some(FaultKind::RateLimited)
    } else if said.is_one_of(&OVERLOADED) {
        Some(FaultKind::Overloaded)
    } else if said.is_one_of(&UNAUTHORIZED) || said.mentions(&["api key not valid"]) {
        Some(FaultKind::Unauthorized)
    } else if said.is_one_of(&UNKNOWN_MODEL) {
        Some(FaultKind::UnknownModel)
    } else if said.is_one_of(&BAD_REQUEST) || is_too_long(said) {
        Some(FaultKind::BadRequest)
    } else {
        None
    }
}

/// What it means that there is no whole answer, and whether a server can have got the request.
pub(super) fn of_net(error: &NetError) -> (ModelFault, bool) {
    let kind = match error {
        NetError::UnknownHost { .. } | NetError::Refused { .. } | NetError::Unreachable { .. } => {
            FaultKind::Unreachable
        }
        NetError::TimedOut {
            phase: TimeoutStage::Connecting,
            ..
        } => FaultKind::Unreachable,
        NetError::TimedOut { .. } => FaultKind::TimedOut,
        NetError::Tls { .. } | NetError::NoAuthorities { .. } => FaultKind::Tls,
        // Also on a connection that was kept from an earlier call and that the server had just
        // closed.
        NetError::NoAnswer { .. } | NetError::CutOff { .. } | NetError::Other { .. } => {
            FaultKind::Reset
        }
        NetError::NotHttp { .. } | NetError::BadCompression { .. } => FaultKind::Unreadable,
        NetError::RedirectLoop { .. }
        | NetError::TooManyRedirects { .. }
        | NetError::BadRedirect { .. }
        | NetError::RedirectElsewhere { .. } => FaultKind::UnknownModel,
        NetError::Unsendable(_) | NetError::Settings(_) => FaultKind::Settings,
    };
    let sent = !matches!(
        kind,
        FaultKind::Unreachable | FaultKind::Tls | FaultKind::Settings
    );
    (ModelFault::new(kind, error.to_string()), sent)
}

/// A completion that says something, or why it is none.
pub(super) fn settled(host: &str, mut completion: Completion) -> Result<Completion, ModelFault> {
    completion.finish = match (completion.finish, &completion.tool_calls) {
        (finish @ (FinishReason::Refused | FinishReason::Length), _) => finish,
        (_, Some(_)) => FinishReason::ToolCalls,
        (FinishReason::ToolCalls, None) => FinishReason::Other,
        (finish, None) => finish,
    };
    if completion.finish == FinishReason::Refused
        || completion.tool_calls.is_some()
        || !completion.is_silent()
    {
        return Ok(completion);
    }
    let (kind, why) = match (&completion.thoughts, completion.finish) {
        (Some(_), _) => {
            let taken = completion
                .tokens
                .map(|tokens| format!(" ({} output tokens)", tokens.output));
            let taken = taken.unwrap_or_default();
            (
                FaultKind::OnlyThoughts,
                format!(
                    "{host} answered with reasoning{taken} and no text; raise `max_tokens`, or lower the model's reasoning effort"
                ),
            )
        }
        (None, FinishReason::Length) => (
            FaultKind::Cut,
            format!(
                "{host} reached the token limit before the answer had any text; raise `max_tokens`"
            ),
        ),
        _ => (
            FaultKind::Empty,
            format!("{host} answered with an empty text"),
        ),
    };
    Err(ModelFault::new(kind, why))
}
