//! HTTP targets: a request is made of the input, and the answer is the output, whatever its status.
//!
//! The output is `{status, headers, body}`: names of headers in lower case, several values of one joined by `, `; the body
//! is data when its type is JSON and it parses (with each key of an object once), else a text, else `{"base64": "..."}`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::input::RenderedInput;
use crate::model::{
    Case, CaseInput, Cause, CommandTarget, HttpCall, HttpTarget, Output, OutputValue, limits,
};
use crate::workspace::{SampleWorkspace, ServiceAnswer, ServiceFault, WorkspaceProgram};
use eval_base::json::is_deeper;
use eval_base::ordered::OrderedValue;
use eval_base::percent;
use eval_base::placeholders::{fill, lone};
use eval_base::redact::REDACTED;
use eval_base::unique_keys;
use eval_models::net::{self, ClientSettings, HttpClients, NetError, NetworkRequest, TimeoutStage};
use eval_sandbox::process_tree::{SandboxStop, TreeCommand, TreeEnd, printable, signal_name};

use super::{TargetAnswer, TargetFailure};

/// Levels of a body that is data. The output around it is one more, and a reader of JSON takes 127.
const DEEPEST_BODY: usize = 126;

/// A request apart from where it goes.
struct HttpRequest {
    method: String,
    endpoint: String,
    headers: BTreeMap<String, String>,
    body: Option<OrderedValue>,
}

/// Makes the request once.
pub(super) async fn ask(
    target: &HttpTarget,
    case: &Case,
    clients: &HttpClients,
) -> Result<TargetAnswer, TargetFailure> {
    let call = call_of(target, &case.input).await?;
    let request = request(target, call, case)?;
    let settings = ClientSettings {
        connect_timeout: target.connect_timeout,
        ca_file: target.ca_file.clone(),
        insecure: target.insecure,
        // Else a service without a network would use that of the harness.
        same_origin: target.serve.is_some(),
        gzip: false,
    };
    let started = Instant::now();
    let result = exchange(clients, &settings, &request, target.max_body_bytes).await;
    Ok(TargetAnswer {
        result,
        latency: Some(started.elapsed()),
        call: None,
        exit_code: None,
    })
}

/// How long a service may take beyond the time limits of its start and of the request.
const SLACK: Duration = Duration::from_secs(10);

/// Starts the service in the workspace, makes the request once, and ends the service.
pub(super) async fn call_service(
    target: &HttpTarget,
    service: &CommandTarget,
    case: &Case,
    workspace: Option<&SampleWorkspace>,
) -> Result<TargetAnswer, TargetFailure> {
    let name = service.argv.first().map_or("", String::as_str);
    let failed = |fault| service_failure(name, target.ready_within, fault);
    let Some(workspace) = workspace else {
        let why = "a target with `serve` needs a workspace";
        return Err(TargetFailure::new(Cause::Harness, why));
    };
    let port = workspace.service_port().await.map_err(failed)?;
    let number = port.number.to_string();
    let mut env = service.env_file.environment_of(&service.env);
    env.push(("PORT".to_owned(), number.clone().into()));
    let filled = |word: &String| {
        let filled = fill(word, |name| (name == "port").then(|| number.clone()));
        filled.unwrap_or_else(|| word.clone())
    };
    let command = TreeCommand {
        argv: service.argv.iter().map(filled).collect(),
        dir: service.dir.clone(),
        env,
        stdin: Vec::new(),
        timeout: target.ready_within + target.timeout.unwrap_or(case.timeout) + SLACK,
        keep_stdout: 0,
        stdout_file: None,
        keep_stderr: limits::TARGET_STDERR,
    };
    let own = HttpTarget {
        base_url: format!("{}:{number}", target.base_url),
        ..target.clone()
    };
    let program = WorkspaceProgram {
        command: &command,
        named: &command.argv,
        private: Vec::new(),
        keeps_variables: false,
    };
    // Connections to a service that ends are not kept.
    let clients = HttpClients::default();
    let request = async {
        let asked = ask(&own, case, &clients).await;
        match asked.as_ref().is_ok_and(is_whole) {
            true => ServiceAnswer::Whole(asked),
            false => ServiceAnswer::Doubtful(asked),
        }
    };
    let served = workspace.serve(program, &port, target.ready_within, request);
    served.await.map_err(failed)?
}

/// Whether an answer is known to have come to its end: one without a length ends with its connection.
fn is_whole(answer: &TargetAnswer) -> bool {
    let output = answer.result.as_ref().ok();
    let headers = output.and_then(|output| match &output.value {
        OutputValue::Json(value) => value.get("headers"),
        _ => None,
    });
    let has = |name| headers.is_some_and(|headers| headers.get(name).is_some());
    has("content-length") || has("transfer-encoding")
}

fn service_failure(name: &str, ready_within: Duration, fault: ServiceFault) -> TargetFailure {
    let (why, ended) = match fault {
        ServiceFault::NoNetwork => {
            let why = "a service in the sandbox needs network namespaces, which are not available here; \
                       `isolation: workspace` of `serve` runs it outside of the sandbox";
            return TargetFailure::new(Cause::SandboxUnavailable, why);
        }
        ServiceFault::PortVariable => {
            let why = "`env` of the workspace contains PORT, which is the port of the service";
            return TargetFailure::new(Cause::Harness, why);
        }
        ServiceFault::Port(error) => {
            let why = format!("cannot use a port of 127.0.0.1 for the service {name}: {error}");
            return TargetFailure::new(Cause::Harness, why);
        }
        ServiceFault::NotStarted(error) => {
            return TargetFailure::new(Cause::TargetUnreachable, error.reason);
        }
        ServiceFault::Ended(ended) => {
            let how = match ended.end {
                TreeEnd::Exited(code) => format!("exited with code {code}"),
                TreeEnd::Signaled(signal) => format!("was ended by {}", signal_name(signal)),
                TreeEnd::TimedOut => "exceeded its time limit".to_owned(),
                TreeEnd::Stopped(why) => format!("was stopped: {why}"),
            };
            let why = format!("the service {name} did not answer and {how}");
            (why, ended)
        }
        ServiceFault::Silent(ended) => {
            let seconds = ready_within.as_secs_f64();
            let why = format!("the service {name} did not listen on its PORT within {seconds} s");
            (why, ended)
        }
    };
    let stderr = printable(&ended.stderr_tail);
    let stderr = match stderr.is_empty() {
        true => String::new(),
        false => format!(": {stderr}"),
    };
    let cause = match ended.end {
        TreeEnd::Stopped(SandboxStop::Disk(_)) => Cause::OutputLimit,
        _ => Cause::TargetFailed,
    };
    TargetFailure::new(cause, why + &stderr)
}

async fn exchange(
    clients: &HttpClients,
    settings: &ClientSettings,
    request: &NetworkRequest,
    limit: u64,
) -> Result<Output, TargetFailure> {
    let mut answer = clients
        .open(settings, request)
        .await
        .map_err(|error| failure(error, &request.method))?;
    let (status, headers) = (answer.status(), headers(answer.headers()));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut body = Vec::new();
    let read = answer.read(&mut body, limit).await;
    let kind = headers.get("content-type").map_or("", String::as_str);
    let whole = json!({ "status": status, "headers": headers, "body": read_body(kind, &body) });
    let output = |truncated| Output {
        truncated,
        ..Output::json(whole)
    };
    match read {
        Ok(truncated) => Ok(output(truncated)),
        Err(error) => Err(TargetFailure {
            output: Some(Box::new(output(true))),
            ..failure(error, &request.method)
        }),
    }
}

/// What the input asks for: a request of its own, or the target's, filled with it.
async fn call_of(target: &HttpTarget, input: &CaseInput) -> Result<HttpRequest, TargetFailure> {
    if let CaseInput::ApiCall {
        method,
        endpoint,
        headers,
        body,
    } = input
    {
        let (method, endpoint, body) = (method.clone(), endpoint.clone(), body.clone());
        return Ok(HttpRequest {
            method,
            endpoint,
            headers: headers.clone(),
            body,
        });
    }
    let Some(HttpCall {
        method,
        endpoint,
        body,
    }) = &target.call
    else {
        let why = "the target is an HTTP service, but has no `endpoint` for inputs that are not API calls";
        return Err(TargetFailure::new(Cause::Harness, why));
    };
    let rendered = RenderedInput::of(input).await?;
    let encoded = |name: &str| Some(percent::encode(&filling(&rendered, name)?));
    let endpoint = fill(endpoint, encoded).unwrap_or_else(|| endpoint.clone());
    let body = body
        .as_ref()
        .map(|body| filled(body, &rendered))
        .transpose()?;
    Ok(HttpRequest {
        method: method.clone(),
        endpoint,
        headers: BTreeMap::new(),
        body,
    })
}

/// What a placeholder stands for.
fn value_of(input: &RenderedInput, name: &str) -> Option<Value> {
    match name {
        "prompt" => input.text.clone().map(Value::String),
        "input" => Some(input.whole.clone()),
        "messages" | "context" => input.whole.get(name).cloned(),
        _ => None,
    }
}

/// The same within a text.
fn filling(input: &RenderedInput, name: &str) -> Option<String> {
    Some(match value_of(input, name)? {
        Value::String(text) => text,
        data => data.to_string(),
    })
}

/// The body with its placeholders filled; one that this input has nothing for is a fault of the eval.
fn filled(body: &OrderedValue, input: &RenderedInput) -> Result<OrderedValue, TargetFailure> {
    let lacking = |name: &str| {
        TargetFailure::new(
            Cause::Harness,
            format!("the request needs `{name}`, which this input does not have"),
        )
    };
    Ok(match body {
        OrderedValue::Plain(Value::String(text)) => match lone(text) {
            Some(name) => value_of(input, name).ok_or_else(|| lacking(name))?.into(),
            None => {
                let mut lack = None;
                let value = fill(text, |name| {
                    let value = filling(input, name);
                    if value.is_none() {
                        lack = Some(lacking(name));
                    }
                    value
                });
                match lack {
                    Some(lack) => return Err(lack),
                    None => Value::String(value.unwrap_or_else(|| text.clone())).into(),
                }
            }
        },
        OrderedValue::List(items) => OrderedValue::List(
            items
                .iter()
                .map(|item| filled(item, input))
                .collect::<Result<_, _>>()?,
        ),
        OrderedValue::Map(entries) => {
            let fields = entries
                .iter()
                .map(|(key, value)| Ok((key.clone(), filled(value, input)?)));
            OrderedValue::Map(fields.collect::<Result<_, TargetFailure>>()?)
        }
        other => other.clone(),
    })
}

fn request(
    target: &HttpTarget,
    call: HttpRequest,
    case: &Case,
) -> Result<NetworkRequest, TargetFailure> {
    let url = net::join(&target.base_url, &call.endpoint)
        .map_err(|error| TargetFailure::new(Cause::Harness, error.to_string()))?;
    let own = |name: &str| {
        call.headers
            .keys()
            .any(|known| known.eq_ignore_ascii_case(name))
    };
    let mut headers: Vec<(String, String)> = target
        .headers
        .iter()
        .filter(|(name, _)| !own(name))
        .chain(&call.headers)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let typed = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let (body, usual) = match call.body {
        None => (None, None),
        Some(OrderedValue::Plain(Value::String(text))) => {
            (Some(text.into_bytes()), Some("text/plain; charset=utf-8"))
        }
        Some(data) => (
            Some(data.to_string().into_bytes()),
            Some("application/json"),
        ),
    };
    if let Some(usual) = usual.filter(|_| !typed) {
        headers.push(("content-type".to_owned(), usual.to_owned()));
    }
    Ok(NetworkRequest {
        method: call.method,
        url,
        headers,
        body: body.map(Into::into),
        timeout: target.timeout.unwrap_or(case.timeout),
        first_byte: None,
        redirects: target.redirects,
    })
}

/// What an error of the call means for the sample. What nobody has carried out may be tried again; so may a call that got no
/// answer, if carrying it out twice is as good as once (RFC 9110, section 9.2.2).
fn failure(error: NetError, method: &str) -> TargetFailure {
    let repeatable = matches!(
        method,
        "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
    );
    let mut reason = error.to_string();
    let (cause, again) = match &error {
        _ if error.never_arrived() => (Cause::TargetUnreachable, true),
        NetError::NoAnswer { .. } if repeatable => (Cause::TargetUnreachable, true),
        NetError::NoAnswer { .. } => {
            reason.push_str(&format!(
                "; the {method} request may have been processed, so it is not retried"
            ));
            (Cause::TargetFailed, false)
        }
        NetError::TimedOut {
            phase: TimeoutStage::Waiting | TimeoutStage::Body { .. },
            ..
        } => (Cause::TargetTimeout, false),
        NetError::Tls { .. } | NetError::NoAuthorities { .. } => (Cause::TargetUnreachable, false),
        NetError::Unsendable(_) | NetError::Settings(_) => (Cause::Harness, false),
        _ => (Cause::TargetFailed, false),
    };
    TargetFailure {
        retryable: again,
        ..TargetFailure::new(cause, reason)
    }
}

fn headers<'a>(all: impl Iterator<Item = (&'a str, &'a [u8])>) -> BTreeMap<String, String> {
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in all {
        // They identify whoever sends them back.
        let cookie = matches!(name, "set-cookie" | "set-cookie2");
        let value = match cookie {
            true => REDACTED.to_owned(),
            false => text_of(value).unwrap_or_else(|| latin1(value)),
        };
        match named.get_mut(name) {
            None => _ = named.insert(name.to_owned(), value),
            Some(_) if cookie => {}
            Some(known) => {
                known.push_str(", ");
                known.push_str(&value);
            }
        }
    }
    named
}

/// `application/json`, and what ends in `+json` (RFC 6839).
fn is_json(media: &str) -> bool {
    let media = media.to_ascii_lowercase();
    media == "application/json" || media == "text/json" || media.ends_with("+json")
}

fn read_body(content_type: &str, bytes: &[u8]) -> Value {
    let mut parts = content_type.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    let charset = parts.find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    });
    let plain = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_json(media)
        && let Ok(Ok(value)) = std::str::from_utf8(plain).map(unique_keys::from_str)
        && !is_deeper(&value, DEEPEST_BODY)
    {
        return value;
    }
    let western = matches!(charset.as_deref(), Some("iso-8859-1" | "latin1"));
    match text_of(bytes) {
        Some(text) => Value::String(text),
        None if western && !bytes.contains(&0) => Value::String(latin1(bytes)),
        None => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

/// Bytes as text, when they are one: UTF-8 without NUL.
fn text_of(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
        .map(str::to_owned)
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_data_where_it_says_so_else_a_text_else_bytes() {
        let mut told = String::new();
        for (kind, body) in [
            (
                "application/json",
                "{\"a\": 12345678901234567890123}".as_bytes(),
            ),
            (
                "application/problem+json; charset=utf-8",
                b"\xef\xbb\xbf[1]",
            ),
            ("application/json", b"{\"a\": 1"),
            ("application/json", b""),
            ("text/html", b"{\"a\": 1}"),
            ("", b"plain"),
            ("text/plain; charset=\"ISO-8859-1\"", b"caf\xe9"),
            ("text/plain", b"caf\xe9"),
            ("image/png", b"\x89PNG\0"),
            ("text/plain", b"a\0b"),
        ] {
            told.push_str(&format!("{kind}: {}\n", read_body(kind, body)));
        }
        insta::assert_snapshot!(told, @r##"
        application/json: {"a":12345678901234567890123}
        application/problem+json; charset=utf-8: [1]
        application/json: "{\"a\": 1"
        application/json: ""
        text/html: "{\"a\": 1}"
        : "plain"
        text/plain; charset="ISO-8859-1": "café"
        text/plain: {"base64":"Y2Fm6Q=="}
        image/png: {"base64":"iVBORwA="}
        text/plain: {"base64":"YQBi"}
        "##);
    }

    #[test]
    fn headers_are_joined_and_cookies_are_not_kept() {
        let all: [(&str, &[u8]); 7] = [
            ("vary", b"accept"),
            ("set-cookie", b"sid=1"),
            ("vary", b"origin"),
            ("vary", b"[redacted]"),
            ("set-cookie", b"sid=2"),
            ("x-name", b"caf\xe9"),
            ("x-utf8", "é".as_bytes()),
        ];
        insta::assert_snapshot!(json!(headers(all.into_iter())), @r##"{"set-cookie":"[redacted]","vary":"accept, origin, [redacted]","x-name":"café","x-utf8":"é"}"##);
    }

    #[test]
    fn an_input_fills_the_request_of_the_target() {
        let input = RenderedInput {
            text: Some("say \"hi\" {{ input }}".into()),
            whole: json!({"k": [1]}),
        };
        let body = json!({"p": "{{ prompt }}", "all": "{{input}}", "text": "<{{ prompt }}> {{ input }}", "n": 1});
        insta::assert_snapshot!(filled(&body.into(), &input).unwrap(), @r##"{"all":{"k":[1]},"n":1,"p":"say \"hi\" {{ input }}","text":"<say \"hi\" {{ input }}> {\"k\":[1]}"}"##);
        let lack = filled(&json!(["{{ messages }}"]).into(), &input).unwrap_err();
        assert_eq!(
            lack.reason,
            "the request needs `messages`, which this input does not have"
        );
        assert!(filled(&"x {{ context }}".into(), &input).is_err());
    }
}
