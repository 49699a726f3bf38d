//! Requests of an agent: who may ask for what, and where the answer is from.

use std::sync::Arc;
use std::time::{Duration, Instant};

use eval_base::sync::lock;
use eval_models::net::{HttpResponse, NetError, NetworkRequest, join};
use eval_models::{TokenCounts, about_tokens};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::answer_reading::AnswerReader;
use crate::bodies::{LONGEST_BODY, ReadBody, ReplayedEnd, ReplyBody, read_body, refusal};
use crate::headers::{answer_headers, upstream_headers};
use crate::keeper::{ArrivedRequest, OpenRecord, PassedBody};
use crate::ledger::{CallSpending, TurnAdmission};
use crate::passing::{BegunCall, GIVEN_UP, OpenTurn, PassingAnswer};
use crate::provider_tools;
use crate::recording::RecordedAnswer;
use crate::replay::ReplayedAnswer;
use crate::routes::{ApiRoute, RouteKind, api_of, error_body, is_authorized};
use crate::session::{SessionState, Upstream};
use crate::sse::SseBlock;
use crate::tunnel;
use crate::{AgentApi, ApiProtocol, SessionEnd};

/// An answer of a model may take this long; the sample's own limit of time is shorter.
const ANSWER_PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// Memory for the values of a request's JSON.
const HEAVIEST_BODY: usize = 96 << 20;

/// Tokens of a long answer, of a request that sets no bound.
const LONG_ANSWER: u64 = 16_384;

/// Bytes of an answer that may say that usage cannot be requested.
const REFUSAL_BYTES: usize = 64 << 10;

/// A recorded answer that is under way to the agent.
#[derive(Debug)]
pub(crate) struct ReplayUse {
    session: Arc<SessionState>,
    index: usize,
    is_delivered: bool,
}

impl ReplayUse {
    pub fn deliver(&mut self) {
        self.is_delivered = true;
    }
}

impl Drop for ReplayUse {
    fn drop(&mut self) {
        if let Some(replay) = &self.session.replay {
            lock(replay).settle(self.index, self.is_delivered);
        }
    }
}

/// Answers one request.
pub(crate) async fn serve(
    session: Arc<SessionState>,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    if *request.method() == Method::CONNECT {
        return tunnel::connect(session, request).await;
    }
    // A client that uses the proxy for all addresses sends the whole address of its base URL, too.
    if request.uri().authority().is_some() && !session.is_own_address(request.uri()) {
        return tunnel::forward(session, request).await;
    }
    let Some(api) = api_of(request.uri().path()) else {
        return session.deny(
            None,
            &described(&request),
            "this path is not part of a model API",
        );
    };
    let Some(route) = ApiRoute::of(api, request.method(), request.uri()) else {
        let why = "the proxy does not forward this method and path of the API";
        return session.deny(Some(api), &described(&request), why);
    };
    if !is_authorized(request.headers(), request.uri(), &session.token) {
        lock(&session.ledger).add_unauthorized();
        let why = "the API key is not the token of this sample";
        return refusal(Some(api), StatusCode::UNAUTHORIZED, why);
    }
    if let Some(end) = session.end() {
        return refusal(Some(api), StatusCode::FORBIDDEN, &end.to_string());
    }
    let upstream = session.upstream(api);
    if upstream.is_none() && session.replay.is_none() {
        return session.deny(
            Some(api),
            &described(&request),
            "no server is configured for this API",
        );
    }
    let reached = lock(&session.ledger).count_call();
    if let Some(limit) = reached {
        session.reach(Some(limit));
        let why = SessionEnd::Limit(limit).to_string();
        return refusal(Some(api), StatusCode::FORBIDDEN, &why);
    }
    let (parts, body) = request.into_parts();
    let body = match read_body(body, &session.bodies, session.run_bodies()).await {
        Ok(body) => Arc::new(body),
        Err(fault) => return refusal(Some(api), fault.status(), fault.message()),
    };
    let mut value = match parse(&parts.method, &body.bytes) {
        Ok(value) => value,
        Err(why) => return refusal(Some(api), StatusCode::BAD_REQUEST, why),
    };
    let mut bytes = body.bytes.clone();
    if !session.provider_tools {
        match provider_tools::strip(api, &value, &bytes) {
            Ok(None) => {}
            Ok(Some(stripped)) => {
                for tool in stripped.tools {
                    let what = session.redact(format!("the provider's tool {tool}"));
                    lock(&session.ledger).add_denied(&what);
                }
                value = serde_json::from_slice(&stripped.body).unwrap_or_default();
                bytes = stripped.body;
            }
            Err(why) => {
                session.deny(Some(api), &why, &why);
                return refusal(Some(api), StatusCode::BAD_REQUEST, &why);
            }
        }
    }
    let call = ApiCall {
        session,
        route,
        model: None,
        body: bytes,
        memory: body,
    };
    call.answer(parts, value, upstream).await
}

/// Method and path, without the query, which may have a key.
fn described(request: &Request<Incoming>) -> String {
    format!("{} {}", request.method(), request.uri().path())
}

/// The JSON of a body; `Null` for a request without one.
fn parse(method: &Method, body: &Bytes) -> Result<Value, &'static str> {
    if *method == Method::GET {
        return Ok(Value::Null);
    }
    if body.len() > LONGEST_BODY || eval_base::json::is_heavier(body, HEAVIEST_BODY) {
        return Err("the request body is too large to be read");
    }
    let text = std::str::from_utf8(body).unwrap_or_default();
    // Of a key that is there twice, a server may take the other one.
    match eval_base::unique_keys::from_str(text) {
        Ok(Value::Object(fields)) if fields.keys().any(|name| is_variant(name)) => {
            Err("the name of a field differs from the API's in upper or lower case")
        }
        Ok(value @ Value::Object(_)) => Ok(value),
        Err(error) if error.to_string().starts_with("duplicate key") => {
            Err("the request body has a duplicate key")
        }
        _ => Err("the request body is not a JSON object"),
    }
}

/// Whether some servers take a field for one that is read here, though its name is another.
fn is_variant(name: &str) -> bool {
    let read = [
        "model",
        "stream",
        "stream_options",
        "background",
        "tools",
        "mcp_servers",
        "web_search_options",
        "prompt",
    ];
    !read.contains(&name) && read.contains(&name.to_ascii_lowercase().as_str())
}

/// About what a call takes at most, and how many choices its answer has. Fields of other APIs are not
/// read, and the largest counts of fields that say the same.
fn most_tokens(protocol: ApiProtocol, value: &Value, bytes: usize) -> (TokenCounts, u64) {
    let largest = |value: &Value, names: &[&str]| {
        let numbers = names.iter().filter_map(|name| value.get(name)?.as_u64());
        numbers.max()
    };
    let (output, choices) = match protocol {
        ApiProtocol::AnthropicMessages => (largest(value, &["max_tokens"]), None),
        ApiProtocol::OpenaiChat => (
            largest(value, &["max_tokens", "max_completion_tokens"]),
            largest(value, &["n"]),
        ),
        ApiProtocol::OpenaiResponses => (largest(value, &["max_output_tokens"]), None),
        ApiProtocol::Gemini => {
            let settings = ["generationConfig", "generation_config"];
            let settings = settings.iter().filter_map(|name| value.get(name));
            let read = |names: &[&str]| {
                let numbers = settings.clone().filter_map(|part| largest(part, names));
                numbers.max()
            };
            (
                read(&["maxOutputTokens", "max_output_tokens"]),
                read(&["candidateCount", "candidate_count"]),
            )
        }
    };
    let choices = choices.unwrap_or(1).max(1);
    let most = TokenCounts {
        input: about_tokens(bytes),
        output: output.unwrap_or(LONG_ANSWER).saturating_mul(choices),
        ..TokenCounts::default()
    };
    (most, choices)
}

/// A call that is let in.
struct ApiCall {
    session: Arc<SessionState>,
    route: ApiRoute,
    model: Option<String>,
    body: Bytes,
    memory: Arc<ReadBody>,
}

/// What it takes to pass a call on.
struct PassedCall {
    parts: hyper::http::request::Parts,
    upstream: Arc<Upstream>,
    record: OpenRecord,
    turn: Option<OpenTurn>,
    /// Of a call that is no turn.
    place: Option<OwnedSemaphorePermit>,
    /// That the answer has.
    choices: u64,
    with_usage: Option<Bytes>,
}

impl ApiCall {
    fn protocol(&self) -> Option<ApiProtocol> {
        match self.route.kind {
            RouteKind::Model(protocol) => Some(protocol),
            RouteKind::Side => None,
        }
    }

    fn refuse(&self, status: StatusCode, why: &str) -> Response<ReplyBody> {
        refusal(Some(self.route.api), status, why)
    }

    async fn answer(
        mut self,
        parts: hyper::http::request::Parts,
        value: Value,
        upstream: Option<Arc<Upstream>>,
    ) -> Response<ReplyBody> {
        let named = value.get("model").and_then(Value::as_str);
        self.model = self.route.model.clone().or(named.map(str::to_owned));
        let (mut turn, mut place, mut choices) = (None, None, 1);
        if let Some(protocol) = self.protocol() {
            if value.get("background").is_some_and(|value| *value != false) {
                let why = "background responses are not supported, because their tokens cannot be counted";
                return self.session.deny(Some(self.route.api), why, why);
            }
            if let Some(why) = self.unpriced() {
                return self.session.deny(Some(self.route.api), &why, &why);
            }
            let most;
            (most, choices) = most_tokens(protocol, &value, self.body.len());
            match self.begin_turn(most).await {
                Ok(begun) => turn = Some(begun),
                Err(response) => return response,
            }
        } else {
            // Never closed.
            let side_calls = Arc::clone(&self.session.side_calls);
            place = side_calls.acquire_owned().await.ok();
        }
        // With the usage that only the proxy requests.
        let with_usage = upstream
            .as_ref()
            .and_then(|upstream| upstream.usage.add(self.protocol(), &value, &self.body));
        let path = format!("{}{}", self.route.api.replaced_path(), self.route.path);
        if let Some(replay) = &self.session.replay {
            let path = self.session.redact(path);
            let rules = &self.session.rules;
            let redact = |value: &mut Value| self.session.redact_value(value);
            let found = match self.protocol() {
                Some(protocol) => lock(replay).find(protocol, &path, &value, rules, &redact),
                None => {
                    let head = (parts.method.as_str(), path.as_str());
                    let found = lock(replay).find_side(head, &value, rules, &redact);
                    let Some(found) = found else {
                        let why = "the recording has no answer to this request";
                        return self.refuse(StatusCode::NOT_FOUND, why);
                    };
                    Ok(found)
                }
            };
            return match found {
                Ok(found) => {
                    // For the report.
                    let record = self.record(&parts, path);
                    record.answer(found.answer.clone(), PassedBody::Known, 0);
                    self.replayed(found, turn).await
                }
                Err(divergence) => {
                    if let Some(turn) = turn {
                        turn.cancel();
                    }
                    let end = SessionEnd::Diverged(divergence);
                    let why = end.to_string();
                    self.session.finish_with(end);
                    self.refuse(StatusCode::FORBIDDEN, &why)
                }
            };
        }
        drop(value);
        let Some(upstream) = upstream else {
            return self.refuse(
                StatusCode::FORBIDDEN,
                "no server is configured for this API",
            );
        };
        let record = self.record(&parts, path);
        let call = PassedCall {
            parts,
            upstream,
            record,
            turn,
            place,
            choices,
            with_usage,
        };
        let (mut sender, answer) = oneshot::channel();
        let session = Arc::clone(&self.session);
        let refused = self.refuse(StatusCode::SERVICE_UNAVAILABLE, "the sample has ended");
        session.clone().spawn_call(async move {
            let passed = self.pass(call);
            // In a replay the agent may request the same, so a call that it gives up is made all the
            // same if it is recorded.
            let given_up = async {
                sender.closed().await;
                if session.is_recorded() {
                    tokio::time::sleep(GIVEN_UP).await;
                }
            };
            let answer = tokio::select! {
                biased;
                answer = passed => answer,
                () = given_up => return,
                () = session.wait_for_end() => return,
            };
            let _ = sender.send(answer);
        });
        answer.await.unwrap_or(refused)
    }

    /// Takes the request into the log.
    fn record(&self, parts: &hyper::http::request::Parts, path: String) -> OpenRecord {
        self.session.record(ArrivedRequest {
            protocol: self.protocol(),
            method: parts.method.as_str().to_owned(),
            path,
            at: jiff::Timestamp::now(),
            body: self.body.clone(),
            _memory: Arc::clone(&self.memory),
        })
    }

    /// Why a model may not be called: its dollars could not be limited.
    fn unpriced(&self) -> Option<String> {
        let is_limited = lock(&self.session.ledger).limits().cost_usd.is_some();
        let model = self.model.as_deref();
        if !is_limited || self.session.price_of(model).is_some() {
            return None;
        }
        let model = model.unwrap_or("without a name");
        Some(format!(
            "the model {model} has no price, which the limit `cost_usd` requires"
        ))
    }

    async fn begin_turn(&self, most: TokenCounts) -> Result<OpenTurn, Response<ReplyBody>> {
        let price = self.session.price_of(self.model.as_deref());
        let reserved = CallSpending::of(most, price.as_ref());
        loop {
            let ended = self.session.turn_ended.notified();
            let mut ended = std::pin::pin!(ended);
            // Before the look at the ledger, so that no end is missed.
            ended.as_mut().enable();
            let admission = lock(&self.session.ledger).begin_turn(reserved);
            match admission {
                TurnAdmission::Admitted => {
                    let session = Arc::clone(&self.session);
                    return Ok(OpenTurn::new(session, self.model.clone(), most, reserved));
                }
                TurnAdmission::Wait => ended.await,
                TurnAdmission::Reached(limit) => {
                    let end = SessionEnd::Limit(limit);
                    let why = end.to_string();
                    self.session.finish_with(end);
                    return Err(self.refuse(StatusCode::FORBIDDEN, &why));
                }
            }
        }
    }

    /// Passes the call on, and its answer back as it arrives.
    async fn pass(self, call: PassedCall) -> Response<ReplyBody> {
        let PassedCall {
            parts,
            upstream,
            record,
            turn,
            place,
            choices,
            with_usage,
        } = call;
        let upstream = &*upstream;
        let began = Instant::now();
        let hides_usage = with_usage.is_some();
        let mut result = self.open(&parts, upstream, with_usage).await;
        if let Ok(response) = &mut result
            && hides_usage
            && matches!(response.status(), 400 | 422)
        {
            // A server that does not know the option: the agent's own request is made.
            let mut said = Vec::new();
            let _ = response.read(&mut said, REFUSAL_BYTES).await;
            result = self.open(&parts, upstream, None).await;
            let is_accepted = result
                .as_ref()
                .is_ok_and(|response| (200..300).contains(&response.status()));
            // Only then it was the option, and not the agent's own request, that was refused.
            if is_accepted && String::from_utf8_lossy(&said).contains("stream_options") {
                upstream.usage.refuse();
            }
        }
        let response = match result {
            Ok(response) => response,
            Err(why) => {
                let kind = match &why {
                    PassError::Net(_) => "network",
                    PassError::Settings(_) => "settings",
                };
                match turn {
                    Some(turn) => turn.fail(kind),
                    None => lock(&self.session.ledger).add_fault(kind),
                }
                let why = self.session.redact(why.to_string());
                let status = StatusCode::BAD_GATEWAY;
                let answer = RecordedAnswer {
                    status: status.as_u16(),
                    fault: Some(kind.to_owned()),
                    ..RecordedAnswer::default()
                };
                let body = error_body(Some(self.route.api), status, &why).to_string();
                record.answer(answer, PassedBody::Whole(body.into()), 0);
                return self.refuse(status, &why);
            }
        };
        let status = StatusCode::from_u16(response.status()).unwrap_or(StatusCode::BAD_GATEWAY);
        let headers = answer_headers(response.headers());
        let call = BegunCall {
            turn,
            record,
            place,
            protocol: self.protocol(),
            choices,
            began,
            hides_usage,
        };
        let passing = PassingAnswer::new(Arc::clone(&self.session), response, call);
        let mut reply = Response::new(ReplyBody::passing(passing));
        *reply.status_mut() = status;
        *reply.headers_mut() = headers;
        reply
    }

    async fn open(
        &self,
        parts: &hyper::http::request::Parts,
        upstream: &Upstream,
        body: Option<Bytes>,
    ) -> Result<HttpResponse, PassError> {
        let settings = &upstream.settings;
        if settings.key.as_ref().is_some_and(|key| key.get().is_none()) {
            return Err(PassError::Settings(
                "no key is configured for this API".to_owned(),
            ));
        }
        let url = join(&settings.base_url, &self.route.path)
            .map_err(|error| PassError::Settings(error.to_string()))?;
        let is_get = parts.method == Method::GET;
        let request = NetworkRequest {
            method: parts.method.as_str().to_owned(),
            url,
            headers: upstream_headers(&parts.headers, settings, &self.session.token),
            body: (!is_get).then(|| body.unwrap_or_else(|| self.body.clone())),
            timeout: ANSWER_PATIENCE,
            first_byte: None,
            // A redirect would carry the key elsewhere.
            redirects: 0,
        };
        let clients = self.session.clients();
        lock(&self.session.ledger).add_sent();
        let opened = clients.open(&upstream.client, &request).await;
        opened.map_err(PassError::Net)
    }

    /// Counts and sends a recorded answer.
    async fn replayed(self, found: ReplayedAnswer, turn: Option<OpenTurn>) -> Response<ReplyBody> {
        let ReplayedAnswer { index, answer } = found;
        if answer.status == 0 {
            // Until the agent closes the connection, as it did then.
            std::future::pending::<()>().await;
        }
        let end = match (answer.is_cut, answer.given_up) {
            (false, _) => ReplayedEnd::Whole,
            (true, false) => ReplayedEnd::Broken,
            (true, true) => ReplayedEnd::Never,
        };
        if let (Some(turn), Some(protocol)) = (turn, self.protocol()) {
            count_recorded(protocol, &answer, turn);
        }
        let kind = answer.content_type.as_deref();
        let kind = kind.and_then(|kind| HeaderValue::from_str(kind).ok());
        let body = match (answer.events, answer.body, answer.text) {
            (Some(events), ..) => {
                let texts = events.into_iter().map(|event| event + "\n\n");
                texts.collect::<String>()
            }
            (_, Some(body), _) => serde_json::to_string(&body).unwrap_or_default(),
            (.., text) => text.unwrap_or_default(),
        };
        let used = ReplayUse {
            session: self.session,
            index,
            is_delivered: false,
        };
        let mut reply = Response::new(ReplyBody::Replayed(Some(body.into()), used, end));
        *reply.status_mut() = StatusCode::from_u16(answer.status).unwrap_or_default();
        let kind = kind.unwrap_or(HeaderValue::from_static("application/json"));
        reply.headers_mut().insert(CONTENT_TYPE, kind);
        reply
    }
}

/// Counts a recorded answer as if it arrived now.
fn count_recorded(protocol: ApiProtocol, answer: &RecordedAnswer, turn: OpenTurn) {
    let status = (!(200..300).contains(&answer.status)).then(|| answer.status.to_string());
    if let Some(fault) = answer.fault.clone().or(status) {
        turn.fail(&fault);
        return;
    }
    let mut reader = AnswerReader::new(protocol);
    for event in answer.events.iter().flatten() {
        reader.event(&SseBlock::of_text(event));
    }
    if let Some(body) = &answer.body {
        reader.body(&body.to_value());
    }
    if let Some(usage) = &answer.usage {
        reader.add_report(usage);
    }
    turn.answer(&reader, 0);
}

/// Why a call was not passed on.
#[derive(Debug, thiserror::Error)]
enum PassError {
    #[error("{0}")]
    Net(NetError),
    #[error("{0}")]
    Settings(String),
}

impl SessionState {
    /// Refuses a request for what is not allowed, and lists it.
    pub(crate) fn deny(&self, api: Option<AgentApi>, what: &str, why: &str) -> Response<ReplyBody> {
        lock(&self.ledger).add_denied(&self.redact(what.to_owned()));
        refusal(api, StatusCode::FORBIDDEN, why)
    }

    fn is_own_address(&self, uri: &Uri) -> bool {
        let host = uri.host().unwrap_or_default();
        let is_own_host = matches!(host, "127.0.0.1" | "localhost");
        is_own_host && uri.scheme_str() == Some("http") && uri.port_u16() == Some(self.port)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_other_apis_do_not_lower_what_a_call_takes_at_most() {
        let output = |protocol, value| most_tokens(protocol, &value, 4).0.output;
        let chat = ApiProtocol::OpenaiChat;
        for foreign in ["generationConfig", "generation_config"] {
            let mut body = json!({"max_completion_tokens": 100_000, "max_tokens": 1, "n": 2});
            body[foreign] = json!({"max_tokens": 1, "maxOutputTokens": 1});
            assert_eq!(output(chat, body), 200_000);
        }
        assert_eq!(output(chat, json!({"max_output_tokens": 1})), LONG_ANSWER);
        let gemini = json!({"max_tokens": 1, "generationConfig": {"candidateCount": 3, "maxOutputTokens": 7}});
        assert_eq!(output(ApiProtocol::Gemini, gemini), 21);
        let claude = ApiProtocol::AnthropicMessages;
        assert_eq!(output(claude, json!({"max_tokens": 9, "n": 5})), 9);
        let responses = ApiProtocol::OpenaiResponses;
        assert_eq!(
            output(responses, json!({"max_output_tokens": 8, "max_tokens": 1})),
            8
        );
    }
}
