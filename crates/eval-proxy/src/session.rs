//! The proxy of a run and the sessions of its samples.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use eval_base::redact::{Redactor, secrets_of_header};
use eval_base::sync::lock;
use eval_base::text::hex;
use eval_models::net::{
    ClientSettings, HttpClients, certificates, check_header, read_base, secrets_of_address,
};
use eval_models::{TokenPrice, cost_of};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::answer_reading::AnswerReader;
use crate::assemble::{gemini, whole_body};
use crate::bodies::{RunBodies, SessionBodies};
use crate::keeper::{ArrivedRequest, KeptBytes, LogEntry, LogSender, OpenRecord, keep};
use crate::ledger::SessionLedger;
use crate::normalize::Normalization;
use crate::passing::UsageRequests;
use crate::recording::{ExchangeLog, FinishedLog, RecordedExchange};
use crate::replay::ReplayIndex;
use crate::routes::digest;
use crate::serve::serve;
use crate::sse::SseBlock;
use crate::{
    AgentApi, AllowedHosts, ApiProtocol, ApiUpstream, Exchange, ProxySettings, ReachedLimit,
    RecordingPlan, SessionEnd, SessionReport, SessionSettings,
};

/// Why a proxy or a session cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// An upstream's address, header or certificate.
    #[error("the {api} API: {why}")]
    Upstream { api: &'static str, why: String },
    /// The token would be guessed or match by chance.
    #[error("the token of a session needs at least 16 characters of letters, digits, `-` and `_`")]
    Token,
    #[error("{}: {why}", path.display())]
    Recording { path: PathBuf, why: String },
}

/// A token for [`SessionSettings::token`]: 64 hex digits from the system's random numbers.
///
/// # Errors
/// When the system has none.
pub fn new_token() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Characters of a token.
const SHORTEST_TOKEN: usize = 16;

/// Calls of a session at once that are no turns.
const MOST_SIDE_CALLS: usize = 8;
/// Requests and answers of a whole run that are taken into logs at once.
const MOST_KEEPING: usize = 2;
/// How long calls that the agent left behind may take once it has ended, if they are recorded.
const LAST_CALLS: Duration = Duration::from_secs(5);
/// Look-ups of names at once, of a whole run.
const MOST_LOOKUPS: usize = 8;
/// Open connections of one session; further ones wait.
const CONNECTIONS: usize = 64;
/// Bytes of the headers of a request.
const HEADERS: usize = 64 << 10;
/// How long an agent may take for the headers of a request, and keep an idle connection.
const HEADER_PATIENCE: Duration = Duration::from_secs(90);
/// After a failure to accept, such as for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The server of one API, and how it is called.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub settings: ApiUpstream,
    pub client: ClientSettings,
    pub usage: UsageRequests,
}

#[derive(Debug)]
struct ProxyCore {
    upstreams: Vec<Arc<Upstream>>,
    prices: BTreeMap<String, TokenPrice>,
    redactor: Redactor,
    clients: HttpClients,
    bodies: RunBodies,
    /// Places to take requests and answers into logs.
    keeping: Arc<Semaphore>,
    /// Bytes that logs keep in memory.
    kept: Arc<AtomicUsize>,
    /// Places of look-ups of names, which nothing can end.
    lookups: Arc<Semaphore>,
}

/// The proxy of a run: connections to the APIs, keys and prices, shared by its sessions. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct AgentProxy(Arc<ProxyCore>);

impl AgentProxy {
    /// # Errors
    /// When the address, a header or the certificates of an upstream cannot be used.
    pub fn new(settings: ProxySettings) -> Result<AgentProxy, ProxyError> {
        let mut upstreams: Vec<Arc<Upstream>> = Vec::new();
        for upstream in settings.upstreams {
            let bad = |why: String| ProxyError::Upstream {
                api: upstream.api.name(),
                why,
            };
            if upstreams
                .iter()
                .any(|other| other.settings.api == upstream.api)
            {
                return Err(bad("it has two servers".to_owned()));
            }
            read_base(&upstream.base_url).map_err(|error| bad(error.to_string()))?;
            for (name, value) in &upstream.headers {
                check_header(name, value).map_err(|error| bad(error.to_string()))?;
            }
            if let Some(file) = &upstream.ca_file {
                certificates(file).map_err(bad)?;
            }
            let client = ClientSettings {
                ca_file: upstream.ca_file.clone(),
                insecure: upstream.insecure,
                ..ClientSettings::default()
            };
            upstreams.push(Arc::new(Upstream {
                settings: upstream,
                client,
                usage: UsageRequests::default(),
            }));
        }
        Ok(AgentProxy(Arc::new(ProxyCore {
            upstreams,
            prices: settings.prices,
            redactor: settings.redactor,
            clients: HttpClients::default(),
            bodies: RunBodies::default(),
            keeping: Arc::new(Semaphore::new(MOST_KEEPING)),
            kept: Arc::default(),
            lookups: Arc::new(Semaphore::new(MOST_LOOKUPS)),
        })))
    }

    /// Begins to serve the connections of `listener`, within a tokio runtime, until the session is
    /// finished or dropped. In a replay the recording is read here. Keys that are set later are not
    /// redacted in this session.
    ///
    /// # Errors
    /// When the token is too short, the recording cannot be read, or its place cannot be written.
    pub fn start(
        &self,
        listener: TcpListener,
        settings: SessionSettings,
    ) -> Result<ProxySession, ProxyError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if settings.token.len() < SHORTEST_TOKEN || !settings.token.chars().all(is_plain) {
            return Err(ProxyError::Token);
        }
        let port = listener.local_addr()?.port();
        let rules = Normalization::new(&settings.agent, &settings.folders);
        let unusable = |path: &Path, why: String| ProxyError::Recording {
            path: path.to_owned(),
            why,
        };
        let shared = || KeptBytes::of_run(&self.0.kept);
        let mut log = None;
        let mut replay = None;
        match &settings.recording {
            RecordingPlan::Off => {}
            RecordingPlan::Write(path) => {
                let (agent, fingerprint) = (&settings.agent, &settings.fingerprint);
                let folders = &settings.folders;
                let made = ExchangeLog::create(path, agent, fingerprint, folders, shared());
                log = Some(made.map_err(|error| unusable(path, error.to_string()))?);
            }
            RecordingPlan::Read(path) => {
                let index = ReplayIndex::open(path, &rules, &settings.fingerprint)
                    .map_err(|why| unusable(path, why))?;
                replay = Some(Mutex::new(index));
            }
        }
        let keys = self.0.upstreams.iter().flat_map(|upstream| {
            let own = &upstream.settings;
            let key = own
                .key
                .as_ref()
                .and_then(|key| key.get())
                .map(str::to_owned);
            let headers = own.headers.iter();
            let headers = headers.flat_map(|(name, value)| secrets_of_header(name, value));
            let address = secrets_of_address(&own.base_url);
            key.into_iter()
                .chain(headers)
                .chain(address)
                .collect::<Vec<_>>()
        });
        let secrets = keys.chain([settings.token.clone()]);
        let (sender, entries) = mpsc::unbounded_channel();
        let state = Arc::new(SessionState {
            core: Arc::clone(&self.0),
            token: digest(settings.token.as_bytes()),
            redactor: Redactor::new(secrets),
            rules,
            hosts: settings.hosts,
            provider_tools: settings.provider_tools,
            port,
            ledger: Mutex::new(SessionLedger::new(settings.limits)),
            turn_ended: Notify::new(),
            end: watch::Sender::new(None),
            log: Mutex::new(Some(sender)),
            is_recorded: log.is_some(),
            records: AtomicU64::new(0),
            replay,
            bodies: SessionBodies::default(),
            side_calls: Arc::new(Semaphore::new(MOST_SIDE_CALLS)),
            tasks: Mutex::new(JoinSet::new()),
            calls: Mutex::new(JoinSet::new()),
            is_closed: AtomicBool::new(false),
        });
        let log = log.unwrap_or_else(|| ExchangeLog::new(shared()));
        let keeping = tokio::spawn(keep(log, entries, Arc::clone(&state)));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(ProxySession {
            state,
            accepting,
            keeping,
        })
    }
}

/// What the connections of a session share.
#[derive(Debug)]
pub(crate) struct SessionState {
    core: Arc<ProxyCore>,
    /// The token's digest.
    pub token: [u8; 32],
    redactor: Redactor,
    pub rules: Normalization,
    pub hosts: AllowedHosts,
    pub provider_tools: bool,
    /// That the agent connects to.
    pub port: u16,
    pub ledger: Mutex<SessionLedger>,
    pub turn_ended: Notify,
    end: watch::Sender<Option<SessionEnd>>,
    /// To the keeper of the log; `None` once nothing more is recorded.
    log: Mutex<Option<LogSender>>,
    /// To a file.
    is_recorded: bool,
    /// Requests that the log has.
    records: AtomicU64,
    pub replay: Option<Mutex<ReplayIndex>>,
    pub bodies: SessionBodies,
    /// Places of calls that are no turns.
    pub side_calls: Arc<Semaphore>,
    /// Connections and tunnels.
    tasks: Mutex<JoinSet<()>>,
    /// Calls, which may outlive their connections.
    calls: Mutex<JoinSet<()>>,
    is_closed: AtomicBool,
}

impl SessionState {
    pub fn upstream(&self, api: AgentApi) -> Option<Arc<Upstream>> {
        let mut all = self.core.upstreams.iter();
        all.find(|upstream| upstream.settings.api == api).cloned()
    }

    pub fn clients(&self) -> &HttpClients {
        &self.core.clients
    }

    pub fn lookups(&self) -> Arc<Semaphore> {
        Arc::clone(&self.core.lookups)
    }

    pub fn run_bodies(&self) -> &RunBodies {
        &self.core.bodies
    }

    pub fn keeping(&self) -> Arc<Semaphore> {
        Arc::clone(&self.core.keeping)
    }

    pub fn log(&self, entry: LogEntry) {
        if let Some(sender) = &*lock(&self.log) {
            // The keeper ends with the session.
            let _ = sender.send(entry);
        }
    }

    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// Takes a request into the log.
    pub fn record(self: &Arc<Self>, request: ArrivedRequest) -> OpenRecord {
        let number = self.records.fetch_add(1, Ordering::Relaxed);
        OpenRecord::new(Arc::clone(self), number, request)
    }

    pub fn price_of(&self, model: Option<&str>) -> Option<TokenPrice> {
        self.core.prices.get(model?).copied()
    }

    pub fn end(&self) -> Option<SessionEnd> {
        self.end.borrow().clone()
    }

    pub fn watch_end(&self) -> watch::Receiver<Option<SessionEnd>> {
        self.end.subscribe()
    }

    pub async fn wait_for_end(&self) {
        let mut end = self.end.subscribe();
        // The sender is part of the state.
        let _ = end.wait_for(Option::is_some).await;
    }

    /// Ends the session; the first reason counts.
    pub fn finish_with(&self, end: SessionEnd) {
        self.end.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(end);
            is_first
        });
    }

    pub fn reach(&self, limit: Option<ReachedLimit>) {
        if let Some(limit) = limit {
            self.finish_with(SessionEnd::Limit(limit));
        }
    }

    /// A text without secrets.
    pub fn redact(&self, text: String) -> String {
        let text = self.redactor.redact(&text).unwrap_or(text);
        self.core.redactor.redact(&text).unwrap_or(text)
    }

    pub fn redact_value(&self, value: &mut Value) {
        self.redactor.redact_value(value);
        if !self.core.redactor.is_empty() {
            self.core.redactor.redact_value(value);
        }
    }

    /// Runs a part of the session that ends with it.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        spawn_in(&self.tasks, task);
    }

    /// Runs a call, which the end of its connection does not end.
    pub fn spawn_call(&self, call: impl Future<Output = ()> + Send + 'static) {
        if !self.is_closed.load(Ordering::Relaxed) {
            spawn_in(&self.calls, call);
        }
    }
}

fn spawn_in(tasks: &Mutex<JoinSet<()>>, task: impl Future<Output = ()> + Send + 'static) {
    let mut tasks = lock(tasks);
    // Those that ended are let go.
    while tasks.try_join_next().is_some() {}
    tasks.spawn(task);
}

/// The proxy of one attempt at a sample. Dropping it ends its connections and leaves no recording.
#[derive(Debug)]
pub struct ProxySession {
    state: Arc<SessionState>,
    accepting: JoinHandle<()>,
    keeping: JoinHandle<Option<ExchangeLog>>,
}

impl ProxySession {
    /// Waits until a limit is reached or the replay diverges; then the agent must be stopped, as
    /// every further call is refused. Never returns when neither happens. May be called often.
    pub async fn ended(&self) -> SessionEnd {
        let mut end = self.state.end.subscribe();
        match end.wait_for(Option::is_some).await.map(|end| end.clone()) {
            Ok(Some(end)) => end,
            // The sender is part of the state.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Why the session ended, if it did.
    pub fn end(&self) -> Option<SessionEnd> {
        self.state.end()
    }

    /// Ends all connections, puts the recording in its place, and returns what was counted. Call it
    /// once the agent has ended: calls under way are cut off, those that are recorded a little later.
    pub async fn finish(mut self) -> SessionReport {
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
        let mut tasks = std::mem::take(&mut *lock(&self.state.tasks));
        tasks.shutdown().await;
        self.end_calls().await;
        // The keeper ends when it has all.
        drop(lock(&self.state.log).take());
        let log = (&mut self.keeping).await.ok().flatten();
        let state = Arc::clone(&self.state);
        let finished = tokio::task::spawn_blocking(move || {
            let mut log = log?;
            let mut log = log.finish();
            let exchanges = std::mem::take(&mut log.exchanges).into_iter();
            let exchanges: Vec<Exchange> =
                exchanges.filter_map(|line| state.exchange(line)).collect();
            Some((log, exchanges))
        });
        let unknown = || FinishedLog {
            fault: Some("the exchanges cannot be recorded".to_owned()),
            ..FinishedLog::default()
        };
        let finished = finished.await.ok().flatten();
        let (log, exchanges) = finished.unwrap_or_else(|| (unknown(), Vec::new()));
        let mut report = lock(&self.state.ledger).report();
        // An agent chooses the names of models that it requests.
        for name in report.models.iter_mut().chain(&mut report.unpriced) {
            *name = self.state.redact(std::mem::take(name));
        }
        report.exchanges_left_out = log.left_out;
        report.recording_fault = log.fault;
        let replay = self.state.replay.as_ref();
        report.unused = replay.map_or(0, |replay| lock(replay).unused());
        match self.state.end() {
            Some(SessionEnd::Limit(limit)) => report.limit = Some(limit),
            Some(SessionEnd::Diverged(divergence)) => report.divergence = Some(divergence),
            None => {}
        }
        report.exchanges = exchanges;
        report
    }

    /// Ends the calls that the agent left behind.
    async fn end_calls(&self) {
        let patience = match self.state.end() {
            None if self.state.is_recorded => LAST_CALLS,
            _ => Duration::ZERO,
        };
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let mut calls = std::mem::take(&mut *lock(&self.state.calls));
            if calls.is_empty() {
                break;
            }
            // One that ends may leave its answer behind.
            let all = async { while calls.join_next().await.is_some() {} };
            if tokio::time::timeout_at(deadline, all).await.is_err() {
                self.state.is_closed.store(true, Ordering::Relaxed);
                calls.shutdown().await;
            }
        }
    }
}

impl SessionState {
    /// A recorded line as it is reported.
    fn exchange(&self, line: RecordedExchange) -> Option<Exchange> {
        let protocol = line.protocol?;
        let is_whole = !line.answer.is_last_resort();
        let mut reader = AnswerReader::new(protocol);
        let mut answer = match (line.answer.events, line.answer.body, line.answer.text) {
            (Some(events), ..) => {
                for event in &events {
                    reader.event(&SseBlock::of_text(event));
                }
                whole_body(protocol, events.iter().map(String::as_str))
            }
            (_, Some(body), _) => {
                let body = body.to_value();
                reader.body(&body);
                match body {
                    Value::Array(pieces) if protocol == ApiProtocol::Gemini => {
                        gemini(pieces.into_iter())
                    }
                    body => body,
                }
            }
            (.., text) => text.map_or(Value::Null, Value::String),
        };
        if let Some(usage) = &line.answer.usage {
            reader.add_report(usage);
        }
        // Pieces of a stream may have been harmless one by one.
        self.redact_value(&mut answer);
        let named = line.request.get("model").and_then(Value::as_str);
        let model = named.or(reader.model());
        let usage = reader.usage().map(|usage| usage.tokens);
        let price = self.price_of(named);
        let price = price.or(self.price_of(reader.model()));
        Some(Exchange {
            protocol,
            at: line.at.parse().unwrap_or_default(),
            duration_ms: line.duration_ms,
            conversation: line.conversation.unwrap_or_default(),
            model: model.map(str::to_owned),
            request: line.request,
            continues: line.continues,
            status: line.answer.status,
            is_whole,
            answer,
            usage,
            cost_usd: price
                .zip(usage)
                .map(|(price, usage)| cost_of(&price, usage)),
        })
    }
}

impl Drop for ProxySession {
    fn drop(&mut self) {
        self.state.is_closed.store(true, Ordering::Relaxed);
        self.accepting.abort();
        self.keeping.abort();
        lock(&self.state.tasks).abort_all();
        lock(&self.state.calls).abort_all();
    }
}

/// Serves connections until it is aborted.
async fn accept(listener: TcpListener, state: Arc<SessionState>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(HEADERS);
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Never closed.
        let permit = Arc::clone(&permits)
            .acquire_owned()
            .await
            .ok()
            .map(Arc::new);
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&state);
        let held = permit.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            // A tunnel keeps the place of the connection that it was.
            if let Some(permit) = &held {
                request.extensions_mut().insert(Arc::clone(permit));
            }
            let answer = serve(Arc::clone(&shared), request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let connection = http
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        state.spawn(async move {
            // A connection that breaks concerns no other one.
            let _ = connection.await;
            drop(permit);
        });
    }
}
