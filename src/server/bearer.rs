//! A server for several people or programs: bearer tokens, each of which names its caller, and TLS
//! beyond this machine.
//!
//! Browsers add no token on their own, so a request of another site never has one; what a browser
//! says about its sender is compared nevertheless.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::{access, bounded, connections, headed};

/// Whose token a request has; handlers get it as an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerName(pub Arc<str>);

/// A certificate chain and its private key, in PEM files.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    pub chain: PathBuf,
    pub key: PathBuf,
}

/// Why an address can't be served.
#[derive(Debug, Error)]
pub enum ApiServerError {
    #[error(
        "{0} can be reached from other machines, which requires encryption: give a certificate and its key, or use an \
         address of this machine such as 127.0.0.1:8470"
    )]
    Unencrypted(SocketAddr),
    #[error("{}: {reason}", path.display())]
    Certificate { path: PathBuf, reason: String },
    #[error("cannot listen on {address}: {error}")]
    Listen {
        address: SocketAddr,
        error: io::Error,
    },
}

/// A server that listens and does not answer yet.
pub struct ApiServer {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    rules: BearerRules,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer")
            .field("address", &self.address)
            .field("encrypted", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

/// What requests must have.
#[derive(Clone)]
struct BearerRules {
    /// Digests of tokens, so that the time of a comparison says nothing about a token.
    tokens: Arc<[([u8; 32], CallerName)]>,
    scheme: &'static str,
    /// Only names of this machine are hosts.
    is_local: bool,
}

impl ApiServer {
    /// Listens on an address; `tokens` are the callers' names and their tokens.
    ///
    /// # Errors
    /// When the address is beyond this machine and there is no certificate, when the certificate
    /// can't be used, or when the port is taken.
    pub async fn bind(
        address: SocketAddr,
        certificate: Option<&CertificateFiles>,
        tokens: &[(String, String)],
    ) -> Result<ApiServer, ApiServerError> {
        let is_local = address.ip().is_loopback();
        if !is_local && certificate.is_none() {
            return Err(ApiServerError::Unencrypted(address));
        }
        let tls = certificate.map(acceptor).transpose()?;
        let listen = |error| ApiServerError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let digest = |(name, token): &(String, String)| {
            let name = CallerName(name.as_str().into());
            (Sha256::digest(token).into(), name)
        };
        let rules = BearerRules {
            tokens: tokens.iter().map(digest).collect(),
            scheme: if tls.is_some() { "https://" } else { "http://" },
            is_local,
        };
        Ok(ApiServer {
            listener,
            address,
            tls,
            rules,
        })
    }

    /// The address of its pages, without a slash at the end.
    pub fn url(&self) -> String {
        format!("{}{}", self.rules.scheme, self.address)
    }

    /// Answers until `stop` is over. `open` needs no token, `guarded` does.
    pub async fn serve(
        self,
        open: Router,
        guarded: Router,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let guarded = guarded.layer(from_fn_with_state(self.rules.clone(), guard_token));
        let pages =
            bounded(open.merge(guarded)).layer(from_fn_with_state(self.rules, guard_sender));
        let stops = watch::Sender::new(false);
        connections::accept(self.listener, self.tls, headed(pages), stops, stop).await
    }
}

fn acceptor(files: &CertificateFiles) -> Result<TlsAcceptor, ApiServerError> {
    let unusable = |path: &PathBuf, reason: String| ApiServerError::Certificate {
        path: path.clone(),
        reason,
    };
    let chain = CertificateDer::pem_file_iter(&files.chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(&files.chain, error.to_string()))?;
    if chain.is_empty() {
        let reason = "there is no certificate in this file".to_owned();
        return Err(unusable(&files.chain, reason));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| unusable(&files.key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|versions| versions.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, key))
        .map_err(|error| unusable(&files.chain, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

impl BearerRules {
    fn caller(&self, request: &Request) -> Option<CallerName> {
        let header = access::only(request, &header::AUTHORIZATION)
            .ok()
            .flatten()?;
        let (scheme, token) = header.split_once(' ')?;
        let digest: [u8; 32] = Sha256::digest(token.trim()).into();
        let mut tokens = self.tokens.iter();
        let found = tokens.find(|(of, _)| *of == digest)?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then(|| found.1.clone())
    }

    /// Whether the request may come from where it comes from.
    fn is_own_sender(&self, request: &Request) -> bool {
        let is_host = match self.is_local {
            true => access::is_own_host(request),
            false => matches!(access::only(request, &header::HOST), Ok(Some(_))),
        };
        is_host && access::has_own_origin(request, self.scheme) != Some(false)
    }
}

async fn guard_sender(State(rules): State<BearerRules>, request: Request, next: Next) -> Response {
    match rules.is_own_sender(&request) {
        true => next.run(request).await,
        false => json_error(
            StatusCode::FORBIDDEN,
            "foreign_request",
            "requests of other sites and for other host names are not answered",
        ),
    }
}

async fn guard_token(
    State(rules): State<BearerRules>,
    mut request: Request,
    next: Next,
) -> Response {
    match rules.caller(&request) {
        Some(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        None => {
            let words =
                "send the header `Authorization: Bearer TOKEN` with the token of a reviewer";
            let mut response = json_error(StatusCode::UNAUTHORIZED, "unauthorized", words);
            let kind = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, kind);
            response
        }
    }
}

/// An error as JSON: what it is as a word for programs, and as a sentence for people.
pub fn json_error(status: StatusCode, error: &str, message: &str) -> Response {
    let body = serde_json::json!({"error": error, "message": message});
    let kind = HeaderValue::from_static("application/json");
    let body = format!("{body}\n");
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
