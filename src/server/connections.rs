//! Connections: a bounded number, each with bounded headers and time to send them.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// Open connections; further ones wait.
const CONNECTIONS: usize = 64;
/// Bytes of the headers of a request.
const HEADERS: usize = 32 << 10;
/// How long a browser may take for the headers of a request, and keep an idle connection.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// How long a client may take to agree on encryption.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// How long responses may still take once the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// After a failure to accept, such as for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until `stop` is over; encrypted with `tls`.
pub(super) async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    pages: Router,
    stops: watch::Sender<bool>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(HEADERS);
    let connections = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut stop = pin!(stop);
    loop {
        let next = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            next = next => next,
            () = &mut stop => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Without it an answer in two packets waits for the acknowledgement of the first.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(pages.clone());
        let (http, watcher, tls) = (http.clone(), connections.watcher(), tls.clone());
        tokio::spawn(async move {
            // A connection that breaks concerns no other one.
            match tls {
                None => {
                    let connection = http.serve_connection(TokioIo::new(stream), service);
                    let _ = watcher.watch(connection).await;
                }
                Some(tls) => {
                    let agreed = tokio::time::timeout(HANDSHAKE_PATIENCE, tls.accept(stream));
                    if let Ok(Ok(stream)) = agreed.await {
                        let connection = http.serve_connection(TokioIo::new(stream), service);
                        let _ = watcher.watch(connection).await;
                    }
                }
            }
            drop(permit);
        });
    }
    drop(listener);
    let _ = stops.send(true);
    // What is still open then is cut off.
    let _ = tokio::time::timeout(STOP_PATIENCE, connections.shutdown()).await;
    Ok(())
}
