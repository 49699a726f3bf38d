//! The client: kept connections, TLS, proxies, redirects, time-outs and bounds.
//!
//! Redirects are followed here and not by the library below, which would send `X-Api-Key` on to a
//! stranger.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE, HOST, HeaderMap, LOCATION,
};
use reqwest::{Method, Response, StatusCode, Url};
use tokio::time::Instant;

use super::address::{host_of, is_local, with_userinfo_of};
use super::error::{NetError, TimeoutStage, classify};
use super::request::{NetworkRequest, PreparedRequest};
use super::trust::tls_with;
use eval_base::redact::is_sensitive_header;
use eval_base::sync::lock;

/// Seconds to a connection when nobody says.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Of the time of a short call at most this part goes into connecting, so that the two time-outs
/// can be told apart.
const CONNECTING_SHARE: f64 = 0.9;

/// Longer than any run.
const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// What tells clients apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientSettings {
    pub connect_timeout: Duration,
    /// Certificates of further authorities, in PEM.
    pub ca_file: Option<PathBuf>,
    /// `true` takes any certificate.
    pub insecure: bool,
    /// Redirects to another host, port or scheme are an error.
    pub same_origin: bool,
    /// Asks for compressed answers and unpacks them; what is read is then the unpacked body.
    pub gzip: bool,
}

impl Default for ClientSettings {
    fn default() -> Self {
        ClientSettings {
            connect_timeout: CONNECT_TIMEOUT,
            ca_file: None,
            insecure: false,
            same_origin: false,
            gzip: false,
        }
    }
}

/// The clients of a run, each made once: what a client knows of authorities takes milliseconds to
/// read. Connections are kept and used again.
#[derive(Debug, Default)]
pub struct HttpClients {
    built: Mutex<HashMap<(ClientSettings, ClientKind), reqwest::Client>>,
}

/// What the library's own clients are made for. One without TLS needs no authorities, and one for
/// this machine no proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ClientKind {
    secure: bool,
    local: bool,
    connect_timeout: Duration,
}

/// How long a call is waited for, its redirects included.
struct ResponseDeadlines {
    whole: Instant,
    head: Instant,
    for_head: Duration,
}

impl ResponseDeadlines {
    fn from_now(request: &NetworkRequest) -> ResponseDeadlines {
        let now = Instant::now();
        // A time that no clock can show is one that never comes.
        let after = |time: Duration| now.checked_add(time).unwrap_or(now + NEVER);
        let for_head = request
            .first_byte
            .unwrap_or(request.timeout)
            .min(request.timeout);
        ResponseDeadlines {
            whole: after(request.timeout),
            head: after(for_head),
            for_head,
        }
    }
}

impl HttpClients {
    /// Makes the call up to the beginning of its answer. Any status is an answer.
    ///
    /// # Errors
    /// When there is no answer, or redirects lead nowhere. The call may have been carried out even
    /// so, unless [`NetError::never_arrived`].
    pub async fn open(
        &self,
        settings: &ClientSettings,
        request: &NetworkRequest,
    ) -> Result<HttpResponse, NetError> {
        let waits = ResponseDeadlines::from_now(request);
        let (deadline, seconds) = (waits.whole, request.timeout.as_secs_f64());
        let mut call = PreparedRequest::new(request)?;
        let first = host_of(&call.url);
        let mut seen: Vec<Url> = Vec::new();
        loop {
            let host = host_of(&call.url);
            let response = self.send(settings, &call, &waits, &host).await?;
            let target = match request.redirects {
                0 => None,
                _ => redirect_of(&response),
            };
            let Some(location) = target else {
                let asked_anew = call.method.as_str() != request.method;
                return Ok(HttpResponse {
                    response,
                    deadline,
                    seconds,
                    host,
                    received: 0,
                    asked_anew,
                });
            };
            let known = seen.contains(&call.url);
            if seen.len() >= request.redirects as usize {
                return Err(match known {
                    true => NetError::RedirectLoop { host: first },
                    false => NetError::TooManyRedirects {
                        host: first,
                        limit: request.redirects,
                    },
                });
            }
            let next = call
                .url
                .join(&location)
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https"));
            let next = next.ok_or_else(|| NetError::BadRedirect { host: host.clone() })?;
            if settings.same_origin && next.origin() != call.url.origin() {
                return Err(NetError::RedirectElsewhere { host });
            }
            seen.push(call.url.clone());
            follow(&mut call, response.status(), next);
        }
    }

    async fn send(
        &self,
        settings: &ClientSettings,
        call: &PreparedRequest,
        waits: &ResponseDeadlines,
        host: &str,
    ) -> Result<Response, NetError> {
        let connect = settings
            .connect_timeout
            .min(waits.for_head.mul_f64(CONNECTING_SHARE));
        let kind = ClientKind {
            secure: call.url.scheme() == "https",
            local: is_local(&call.url),
            connect_timeout: connect.max(Duration::from_millis(1)),
        };
        let client = self.built(settings, kind, host)?;
        let mut request = client
            .request(call.method.clone(), call.url.clone())
            .headers(call.headers.clone());
        if let Some(body) = &call.body {
            request = request.body(body.clone());
        }
        let timed_out = |seconds, phase| NetError::TimedOut {
            host: host.to_owned(),
            seconds,
            phase,
        };
        match tokio::time::timeout_at(waits.head, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() && error.is_timeout() => Err(timed_out(
                kind.connect_timeout.as_secs_f64(),
                TimeoutStage::Connecting,
            )),
            Ok(Err(error)) => Err(classify(&error, host, None)),
            Err(_) => Err(timed_out(
                waits.for_head.as_secs_f64(),
                TimeoutStage::Waiting,
            )),
        }
    }

    fn built(
        &self,
        settings: &ClientSettings,
        kind: ClientKind,
        host: &str,
    ) -> Result<reqwest::Client, NetError> {
        let mut built = lock(&self.built);
        match built.entry((settings.clone(), kind)) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(place) => Ok(place.insert(build(settings, kind, host)?).clone()),
        }
    }
}

fn build(
    settings: &ClientSettings,
    kind: ClientKind,
    host: &str,
) -> Result<reqwest::Client, NetError> {
    // Also a client that will never speak TLS asks for a provider. An error says that there is
    // one already.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("eval-harness/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(kind.connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .gzip(settings.gzip);
    if kind.local {
        builder = builder.no_proxy();
    }
    let own = settings
        .ca_file
        .as_ref()
        .filter(|_| kind.secure && !settings.insecure);
    builder = match (kind.secure, own) {
        (false, _) => builder.tls_certs_only([]),
        (true, Some(file)) => {
            builder.tls_backend_preconfigured(tls_with(file).map_err(NetError::Settings)?)
        }
        (true, None) if settings.insecure => builder.tls_danger_accept_invalid_certs(true),
        (true, None) => builder,
    };
    builder
        .build()
        .map_err(|_| match kind.secure && own.is_none() {
            // Nothing else can fail in it: the rest of the settings are constants.
            true => NetError::NoAuthorities {
                host: host.to_owned(),
            },
            false => NetError::Settings(
                "the HTTP client cannot be created with these settings".to_owned(),
            ),
        })
}

/// Where an answer sends its reader, if it does.
fn redirect_of(response: &Response) -> Option<String> {
    let redirects = [301, 302, 303, 307, 308].contains(&response.status().as_u16());
    let location = response.headers().get(LOCATION).filter(|_| redirects)?;
    // As browsers read it: the bytes, whatever they are.
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

/// The next call of a redirect (RFC 9110, section 15.4): 303 asks with GET, as 301 and 302 do after
/// a POST. To another host, port or scheme nothing goes that may be a secret.
fn follow(call: &mut PreparedRequest, status: StatusCode, mut next: Url) {
    let asks_anew = match status {
        StatusCode::SEE_OTHER => call.method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => call.method == Method::POST,
        _ => false,
    };
    if asks_anew {
        call.method = Method::GET;
        call.body = None;
        for name in [
            CONTENT_TYPE,
            CONTENT_ENCODING,
            CONTENT_LANGUAGE,
            CONTENT_LOCATION,
        ] {
            call.headers.remove(name);
        }
    }
    if next.origin() != call.url.origin() {
        let kept: HeaderMap = call
            .headers
            .iter()
            .filter(|(name, _)| !is_sensitive_header(name.as_str()) && *name != HOST)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        call.headers = kept;
    } else if next.username().is_empty() && next.password().is_none() {
        // At home the address goes on with the user and the password that it began with, however it
        // was told.
        next = with_userinfo_of(next, &call.url);
    }
    call.url = next;
}

/// An answer whose body is still to be read.
#[derive(Debug)]
pub struct HttpResponse {
    response: Response,
    deadline: Instant,
    seconds: f64,
    host: String,
    received: u64,
    asked_anew: bool,
}

impl HttpResponse {
    /// True when a redirect on the way made a GET of the call, without its body.
    pub fn was_asked_anew(&self) -> bool {
        self.asked_anew
    }

    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// In the order in which they came; names in lower case, values as bytes.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// When the connection ends before the body, or the time of the call is up.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        match tokio::time::timeout_at(self.deadline, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                self.received += bytes.len() as u64;
                Ok(Some(bytes.into()))
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Err(error)) => Err(classify(&error, &self.host, Some(self.received))),
            Err(_) => Err(NetError::TimedOut {
                host: self.host.clone(),
                seconds: self.seconds,
                phase: TimeoutStage::Body {
                    received: self.received,
                },
            }),
        }
    }

    /// Reads the body into `kept`, up to `limit` bytes; true when there was more, which is then not
    /// read.
    ///
    /// # Errors
    /// As [`HttpResponse::chunk`]; what came before is in `kept`.
    pub async fn read(&mut self, kept: &mut Vec<u8>, limit: usize) -> Result<bool, NetError> {
        while let Some(piece) = self.chunk().await? {
            let room = limit.saturating_sub(kept.len());
            kept.extend_from_slice(piece.get(..room).unwrap_or(&piece));
            if piece.len() > room {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
