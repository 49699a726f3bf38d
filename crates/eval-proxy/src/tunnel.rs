//! Requests for other hosts, where these are allowed: tunnels (`CONNECT`) and requests with a whole
//! address. Names are resolved here, and a connection goes to an address that was checked.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use eval_base::sync::lock;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::bodies::{ReplyBody, refusal};
use crate::client_hello::{FirstBytes, first_bytes};
use crate::headers::{connection_names, is_hop_by_hop};
use crate::hosts::{HostAccess, is_link_local, is_public};
use crate::session::SessionState;

/// Until a name is resolved, and until there is a connection.
const PATIENCE: Duration = Duration::from_secs(15);

/// Bytes of the first message of TLS.
const LONGEST_HELLO: usize = 32 << 10;

/// Opens a tunnel.
pub(crate) async fn connect(
    session: Arc<SessionState>,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    let target = request.uri().authority().map(|authority| {
        let port = authority.port_u16();
        (authority.host().to_owned(), port.unwrap_or(443))
    });
    let Some((host, port)) = target else {
        let why = "CONNECT requires a host and a port";
        return refusal(None, StatusCode::BAD_REQUEST, why);
    };
    let is_allowed = session.hosts.access(&host, port) != HostAccess::Refused;
    if port == 80 && is_allowed && !session.hosts.names_port(&host, port) {
        let target = format!("{host}:{port}");
        let why = format!("{target} is reached through a tunnel only when its port is allowed");
        return session.deny(None, &target, &why);
    }
    let mut there = match reach(&session, &host, port).await {
        Ok(there) => there,
        Err(response) => return response,
    };
    let permit = request
        .extensions()
        .get::<Arc<OwnedSemaphorePermit>>()
        .cloned();
    let upgrade = hyper::upgrade::on(request);
    let state = Arc::clone(&session);
    session.spawn(async move {
        let _permit = permit;
        if let Ok(upgraded) = upgrade.await {
            let mut here = TokioIo::new(upgraded);
            if !begin(&state, &host, port, &mut here, &mut there).await {
                return;
            }
            // A tunnel that breaks concerns nothing else.
            let _ = tokio::io::copy_bidirectional(&mut here, &mut there).await;
        }
    });
    Response::new(ReplyBody::Whole(None))
}

/// Passes on the first bytes of a tunnel. They name the server that is meant, where one address has many:
/// it must be the one that is allowed. False when the tunnel is not to go on.
async fn begin(
    session: &SessionState,
    host: &str,
    port: u16,
    here: &mut (impl AsyncRead + Unpin),
    there: &mut TcpStream,
) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    if plain.parse::<std::net::IpAddr>().is_ok() {
        return true;
    }
    let mut first = Vec::new();
    loop {
        let read = tokio::select! {
            read = here.read_buf(&mut first) => read,
            // In TLS the client begins.
            _ = there.readable(), if first.is_empty() && port != 443 => return true,
            () = tokio::time::sleep(PATIENCE) => return false,
        };
        let is_end = !matches!(read, Ok(1..));
        let named = match first_bytes(&first) {
            FirstBytes::More if is_end || first.len() > LONGEST_HELLO => return false,
            FirstBytes::More => continue,
            FirstBytes::Other if port != 443 => break,
            FirstBytes::Other => "no TLS".to_owned(),
            FirstBytes::Tls { name } if name.as_ref() == Some(&host) => break,
            FirstBytes::Tls { name } => name.unwrap_or_else(|| "no name".to_owned()),
        };
        let what = session.redact(format!("{host}:{port} ({named})"));
        lock(&session.ledger).add_denied(&what);
        return false;
    }
    there.write_all(&first).await.is_ok()
}

/// Passes on a request with a whole address.
pub(crate) async fn forward(
    session: Arc<SessionState>,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    let uri = request.uri().clone();
    let host = uri.host().unwrap_or_default();
    if uri.scheme_str() != Some("http") {
        let why = "only http:// URLs are forwarded; use CONNECT for others";
        return refusal(None, StatusCode::BAD_REQUEST, why);
    }
    let there = match reach(&session, host, uri.port_u16().unwrap_or(80)).await {
        Ok(there) => there,
        Err(response) => return response,
    };
    match send(there, request, &uri).await {
        Ok(response) => response,
        Err(_) => {
            let why = format!("{host} did not answer");
            refusal(None, StatusCode::BAD_GATEWAY, &why)
        }
    }
}

async fn send(
    there: TcpStream,
    request: Request<Incoming>,
    uri: &Uri,
) -> io::Result<Response<ReplyBody>> {
    let shaken = hyper::client::conn::http1::handshake(TokioIo::new(there)).await;
    let (mut sender, connection) = shaken.map_err(io::Error::other)?;
    let connection = tokio::spawn(async move {
        let _ = connection.await;
    });
    let (mut parts, body) = request.into_parts();
    parts.headers = end_to_end(&parts.headers);
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    // A user and a password are not part of the host.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = HeaderValue::from_str(host).map_err(io::Error::other)?;
    parts.headers.insert(HOST, host);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse().map_err(io::Error::other)?;
    parts.version = Version::HTTP_11;
    let sent = sender.send_request(Request::from_parts(parts, body)).await;
    let (mut parts, body) = sent.map_err(io::Error::other)?.into_parts();
    parts.headers = end_to_end(&parts.headers);
    // Ended with the answer.
    Ok(Response::from_parts(
        parts,
        ReplyBody::Other(body, connection),
    ))
}

/// Headers without those of one connection. Bodies are framed again.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named = connection_names(headers);
    let kept = headers
        .iter()
        .filter(|(name, _)| !is_hop_by_hop(name, &named));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A connection to a host that is allowed.
async fn reach(
    session: &SessionState,
    host: &str,
    port: u16,
) -> Result<TcpStream, Response<ReplyBody>> {
    let target = format!("{host}:{port}");
    if session.replay.is_some() {
        let why = format!("{target} is not reached while a recording is replayed");
        return Err(session.deny(None, &target, &why));
    }
    if let Some(end) = session.end() {
        return Err(refusal(None, StatusCode::FORBIDDEN, &end.to_string()));
    }
    let access = session.hosts.access(host, port);
    if access == HostAccess::Refused {
        let why = format!("{target} is not among the allowed hosts");
        return Err(session.deny(None, &target, &why));
    }
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let looked = tokio::time::timeout(PATIENCE, look_up(session, name.to_owned(), port)).await;
    let found = looked.unwrap_or_default();
    if found.is_empty() {
        lock(&session.ledger).add_fault("dns");
        let why = format!("{host} has no address");
        return Err(refusal(None, StatusCode::BAD_GATEWAY, &why));
    }
    let is_name = name.parse::<std::net::IpAddr>().is_err();
    let allowed = allowed_addresses(access, is_name, found);
    if allowed.is_empty() {
        let why = format!("{target} is an address of a private network; allow its exact name");
        return Err(session.deny(None, &target, &why));
    }
    for address in allowed {
        let connected = tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await;
        if let Ok(Ok(stream)) = connected {
            let _ = stream.set_nodelay(true);
            return Ok(stream);
        }
    }
    let why = format!("{target} cannot be reached");
    Err(refusal(None, StatusCode::BAD_GATEWAY, &why))
}

/// The addresses of a name. A look-up that outlives its patience keeps its place until it ends.
async fn look_up(session: &SessionState, name: String, port: u16) -> Vec<SocketAddr> {
    let Ok(place) = session.lookups().acquire_owned().await else {
        return Vec::new();
    };
    let looked = tokio::task::spawn_blocking(move || {
        let _place = place;
        let found = (name.as_str(), port).to_socket_addrs();
        found.map(Iterator::collect).unwrap_or_default()
    });
    looked.await.unwrap_or_default()
}

/// Of what a name resolves to, what may be reached.
fn allowed_addresses(access: HostAccess, is_name: bool, found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let is_allowed = |address: &SocketAddr| match access {
        HostAccess::Literal => !(is_name && is_link_local(address.ip())),
        HostAccess::Public => is_public(address.ip()),
        HostAccess::Refused => false,
    };
    found.into_iter().filter(is_allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_pattern_never_leads_to_a_private_address() {
        let found = [
            "127.0.0.1:80",
            "1.1.1.1:80",
            "[fd00::1]:80",
            "169.254.169.254:80",
        ];
        let found = found.map(|address| address.parse().unwrap()).to_vec();
        let shown = |access| allowed_addresses(access, true, found.clone()).len();
        assert_eq!(shown(HostAccess::Literal), 3);
        assert_eq!(shown(HostAccess::Public), 1);
        assert_eq!(shown(HostAccess::Refused), 0);
        let written = allowed_addresses(HostAccess::Literal, false, found.clone());
        assert_eq!(written.len(), 4);
    }
}
