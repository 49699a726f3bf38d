//! What the agents' proxy adds to a model's time, and the memory of many sessions at once.
//!
//! `cargo run --release -p eval-proxy --example proxy_speed -- [SESSIONS] [TURNS]`: every session
//! is an agent that sends a history of about 200 KB with each turn and reads a streamed answer. In
//! turns it calls the server itself and through the proxy, so that both see the same machine. Prints
//! the time to the first byte (p50, p99) of both, and the largest memory of the process, server and
//! agents included.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eval_models::net::{ClientSettings, HttpClients, NetworkRequest, read_url};
use eval_proxy::{AgentApi, AgentProxy, ApiUpstream, ProxySettings, SessionSettings};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type BenchError = Box<dyn Error + Send + Sync>;

const TOKEN: &str = "sample-token-0123456789";
/// Bytes of a request.
const HISTORY: usize = 200_000;
/// Pieces of an answer.
const PIECES: usize = 60;
/// Between two pieces.
const PAUSE: Duration = Duration::from_millis(15);

fn answer() -> Vec<String> {
    let start = json!({"type": "message_start", "message": {"model": "m", "content": [],
        "usage": {"input_tokens": 50_000, "output_tokens": 1}}});
    let piece = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": "some more of the answer "}});
    let end = json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 300}});
    let mut events = vec![start];
    events.extend(std::iter::repeat_n(piece, PIECES));
    events.extend([end, json!({"type": "message_stop"})]);
    let name = |event: &serde_json::Value| event["type"].as_str().unwrap_or_default().to_owned();
    let text = |event| format!("event: {}\ndata: {event}\n\n", name(&event));
    events.into_iter().map(text).collect()
}

async fn serve(mut stream: TcpStream, events: Arc<Vec<String>>) -> Result<(), BenchError> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).to_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next())
            .ok_or("no length")?
            .parse::<usize>()?;
        while buffer.len() < end + length {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        buffer.drain(..end + length);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        for event in events.iter() {
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            stream.write_all(chunk.as_bytes()).await?;
            tokio::time::sleep(PAUSE).await;
        }
        stream.write_all(b"0\r\n\r\n").await?;
    }
}

/// Milliseconds to the first byte of the body, which is read to its end.
async fn call(clients: &HttpClients, url: &str, body: String) -> Result<f64, BenchError> {
    let request = NetworkRequest {
        method: "POST".to_owned(),
        url: read_url(url)?,
        headers: vec![("x-api-key".to_owned(), TOKEN.to_owned())],
        body: Some(body.into()),
        timeout: Duration::from_secs(120),
        first_byte: None,
        redirects: 0,
    };
    let began = Instant::now();
    let mut response = clients.open(&ClientSettings::default(), &request).await?;
    response.chunk().await?;
    let first = began.elapsed();
    while response.chunk().await?.is_some() {}
    Ok(first.as_secs_f64() * 1000.0)
}

async fn agent(
    proxy: AgentProxy,
    direct: String,
    turns: usize,
) -> Result<(Vec<f64>, Vec<f64>), BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let through = format!("http://{}/anthropic/v1/messages", listener.local_addr()?);
    let session = proxy.start(listener, SessionSettings::new(TOKEN.to_owned()))?;
    let clients = HttpClients::default();
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let text = "a line of a file that the agent has read\n".repeat(20);
    let mut messages = vec![json!({"role": "user", "content": "the task"})];
    while messages.len() * text.len() < HISTORY {
        messages.push(json!({"role": "assistant", "content": text}));
        messages.push(json!({"role": "user", "content": text}));
    }
    for turn in 0..turns {
        messages.push(json!({"role": "assistant", "content": format!("{turn} {text}")}));
        messages.push(json!({"role": "user", "content": format!("{turn} {text}")}));
        let body = json!({"model": "m", "stream": true, "messages": messages}).to_string();
        without.push(call(&clients, &direct, body.clone()).await?);
        with.push(call(&clients, &through, body).await?);
    }
    let report = session.finish().await;
    let expected = turns as u64;
    if (report.turns, report.usage.output) != (expected, 300 * expected) {
        return Err(format!("miscounted: {report:?}").into());
    }
    Ok((without, with))
}

fn percentile(sorted: &[f64], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    sorted
        .get(at.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}

/// A field of `/proc/self/status` in MB.
fn memory(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    number.unwrap_or(f64::NAN) / 1024.0
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), BenchError> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: usize| arguments.next().map_or(Ok(usual), |text| text.parse());
    let (sessions, turns) = (number(64)?, number(10)?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}", listener.local_addr()?);
    let events = Arc::new(answer());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&events)));
        }
    });
    let mut settings = ProxySettings::default();
    settings.upstreams.push(ApiUpstream {
        base_url: base.clone(),
        key: Some("a-real-key-0123456789".to_owned().into()),
        ..ApiUpstream::new(AgentApi::Anthropic)
    });
    let proxy = AgentProxy::new(settings)?;
    let began = Instant::now();
    let agents: Vec<_> = (0..sessions)
        .map(|_| tokio::spawn(agent(proxy.clone(), format!("{base}/messages"), turns)))
        .collect();
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for agent in agents {
        let (a, b) = agent.await??;
        without.extend(a);
        with.extend(b);
    }
    without.sort_by(f64::total_cmp);
    with.sort_by(f64::total_cmp);
    println!(
        "{sessions} sessions, {turns} turns each, {:.1} s",
        began.elapsed().as_secs_f64()
    );
    for (name, times) in [("server itself", &without), ("through the proxy", &with)] {
        let (middle, late) = (percentile(times, 0.5), percentile(times, 0.99));
        println!("first byte, {name}: p50 {middle:.2} ms, p99 {late:.2} ms");
    }
    let (peak, now) = (memory("VmHWM"), memory("VmRSS"));
    println!("memory, with server and agents: at most {peak:.0} MB, {now:.0} MB now");
    Ok(())
}
