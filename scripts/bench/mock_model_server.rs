//! A model that always says the same after the same time, for many connections at little cost; and
//! a bare client of it.
//!
//! `mock_model_server --serve MS` prints its address and answers until it is killed.
//! `mock_model_server --client URL CALLS AT_ONCE` asks it as often, with so many calls in flight
//! and nothing else around them: what a harness is held against. Asked as a judge it gives a
//! verdict with the token of the question.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn Error + Send + Sync>;

const WORDS: &str = "right, and here are as many further words as a short answer of a model usually has, so that it is not too easy";

fn answer(text: &str) -> Vec<u8> {
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "mock",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 31, "completion_tokens": 24, "total_tokens": 55},
    })
    .to_string();
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// The verdict that a judge is asked for; `None` when no judge is asked.
fn verdict(question: &[u8]) -> Option<Vec<u8>> {
    // As it stands in the JSON of the request.
    let mark = br#"\"token\": \""#;
    let at = question
        .windows(mark.len())
        .rposition(|bytes| bytes == mark)?
        + mark.len();
    let token: Vec<u8> = question
        .get(at..)?
        .iter()
        .copied()
        .take_while(u8::is_ascii_hexdigit)
        .collect();
    let token = String::from_utf8(token).ok()?;
    let said =
        json!({"token": token, "justification": WORDS, "scores": {"overall": 5}, "passed": true});
    Some(answer(&said.to_string()))
}

/// The end of the head and the length of the body, once the head is there.
fn frame(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    Some((end, length.unwrap_or(0)))
}

async fn converse(
    mut stream: TcpStream,
    delay: Duration,
    answer: Arc<Vec<u8>>,
) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut bytes: Vec<u8> = Vec::with_capacity(4096);
    loop {
        let whole = frame(&bytes)
            .map(|(head, body)| head + body)
            .filter(|whole| bytes.len() >= *whole);
        let Some(whole) = whole else {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
            continue;
        };
        let judged = verdict(bytes.get(..whole).unwrap_or_default());
        bytes.drain(..whole);
        tokio::time::sleep(delay).await;
        stream.write_all(judged.as_ref().unwrap_or(&answer)).await?;
    }
}

async fn serve(delay: Duration) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/v1", listener.local_addr()?);
    let answer = Arc::new(answer(WORDS));
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(converse(stream, delay, Arc::clone(&answer)));
    }
}

/// Asks like a harness that does nothing else: the same request, the answer read and understood.
async fn ask(client: &reqwest::Client, url: &str, n: usize) -> Result<(), Failure> {
    let question =
        json!({"model": "mock", "messages": [{"role": "user", "content": format!("case {n}")}]});
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .body(question.to_string());
    let answer: Value =
        serde_json::from_slice(&request.send().await?.error_for_status()?.bytes().await?)?;
    match answer["choices"][0]["message"]["content"].as_str() {
        Some(text) if text.starts_with("right") => Ok(()),
        _ => Err("another answer".into()),
    }
}

async fn calls(url: &str, all: usize, at_once: usize) -> Result<(), Failure> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .tcp_nodelay(true)
        .build()?;
    let url = format!("{url}/chat/completions");
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    let (next, url, client) = (Arc::new(next), Arc::new(url), client);
    let workers: Vec<_> = (0..at_once)
        .map(|_| {
            let (next, url, client) = (Arc::clone(&next), Arc::clone(&url), client.clone());
            tokio::spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= all {
                        return Ok::<(), Failure>(());
                    }
                    ask(&client, &url, n).await?;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await??;
    }
    println!("{:.3}", start.elapsed().as_secs_f64());
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--serve", ms] => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(serve(Duration::from_millis(ms.parse()?)))
        }
        ["--client", url, all, at_once] => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?;
            runtime.block_on(calls(url, all.parse()?, at_once.parse()?))
        }
        _ => Err("mock_model_server --serve MS | --client URL CALLS AT_ONCE".into()),
    }
}
