//! What goes wrong between here and a server, in words that people can act on.

use std::error::Error as StdError;
use std::fmt;
use std::io::ErrorKind;

use rustls::CertificateError;

/// What the verifier calls a certificate that may sign others and is shown by a server.
pub(super) const CA_AS_SERVER: &str = "CaUsedAsEndEntity";

/// Why there is no whole answer. `host` is `host:port`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NetError {
    #[error("the host name of {host} cannot be resolved; check its spelling and the network")]
    UnknownHost { host: String },
    #[error("{host} refuses the connection: no server listens on this port")]
    Refused { host: String },
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("no TLS connection to {host}: {fault}")]
    Tls { host: String, fault: String },
    #[error(
        "this machine has no CA certificates to verify {host} with; install them (often the package \
             `ca-certificates`), or set `ca_file` or SSL_CERT_FILE to a file of certificates"
    )]
    NoAuthorities { host: String },
    #[error("{host} closed the connection without an answer")]
    NoAnswer { host: String },
    #[error("{host} closed the connection after {received} bytes of the body")]
    CutOff { host: String, received: u64 },
    #[error("the response of {host} is not HTTP: {why}")]
    NotHttp { host: String, why: String },
    #[error("the compressed response of {host} cannot be decompressed: {why}")]
    BadCompression { host: String, why: String },
    #[error("{host} redirects in a circle")]
    RedirectLoop { host: String },
    #[error("{host} exceeds the limit of {limit} redirects")]
    TooManyRedirects { host: String, limit: u32 },
    #[error("{host} redirects to an address that is not HTTP")]
    BadRedirect { host: String },
    #[error("{host} redirects to another host, port or scheme")]
    RedirectElsewhere { host: String },
    #[error("{host} {phase} within {seconds} s")]
    TimedOut {
        host: String,
        seconds: f64,
        phase: TimeoutStage,
    },
    /// The request itself can't be sent to anybody.
    #[error("{0}")]
    Unsendable(String),
    /// Settings of the client that don't work here, such as a file of certificates that is gone.
    #[error("{0}")]
    Settings(String),
    #[error("the call of {host} failed: {why}")]
    Other { host: String, why: String },
}

/// What a call was doing when its time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutStage {
    Connecting,
    Waiting,
    Body { received: u64 },
}

impl fmt::Display for TimeoutStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeoutStage::Connecting => f.write_str("did not accept a connection"),
            TimeoutStage::Waiting => f.write_str("did not answer"),
            TimeoutStage::Body { received } => {
                write!(
                    f,
                    "did not complete its answer ({received} bytes of the body were received)"
                )
            }
        }
    }
}

impl NetError {
    /// True when nobody has carried the call out, and another try may get through.
    pub fn never_arrived(&self) -> bool {
        match self {
            NetError::UnknownHost { .. }
            | NetError::Refused { .. }
            | NetError::Unreachable { .. } => true,
            NetError::TimedOut { phase, .. } => *phase == TimeoutStage::Connecting,
            _ => false,
        }
    }
}

/// What an error of the transport means; `received` are the bytes of the body so far, `None` before
/// the answer began.
pub(super) fn classify(error: &reqwest::Error, host: &str, received: Option<u64>) -> NetError {
    let host = host.to_owned();
    let causes = causes(error);
    let tls = causes
        .iter()
        .find_map(|cause| cause.downcast_ref::<rustls::Error>());
    if let Some(fault) = tls {
        return NetError::Tls {
            host,
            fault: tls_fault(fault),
        };
    }
    if error.is_dns() {
        return NetError::UnknownHost { host };
    }
    let kinds: Vec<ErrorKind> = causes
        .iter()
        .filter_map(|cause| Some(cause.downcast_ref::<std::io::Error>()?.kind()))
        .collect();
    // The last is the innermost; the first is the client's own sentence.
    let why = causes
        .last()
        .map(|cause| cause.to_string())
        .unwrap_or_default();
    if error.is_connect() {
        return match kinds.contains(&ErrorKind::ConnectionRefused) {
            true => NetError::Refused { host },
            false => NetError::Unreachable { host, why },
        };
    }
    let gone = [
        ErrorKind::UnexpectedEof,
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
        ErrorKind::NotConnected,
    ];
    let said = |words: &str| causes.iter().any(|cause| cause.to_string().contains(words));
    // The transport speaks of its connection; who unpacks what came over it does not.
    if received.is_some()
        && !kinds.is_empty()
        && !said("connection")
        && !kinds.contains(&ErrorKind::ConnectionReset)
    {
        return NetError::BadCompression { host, why };
    }
    let ended = kinds.iter().any(|kind| gone.contains(kind))
        || said("connection closed before message completed")
        || said("end of file before message length reached");
    match (received, ended) {
        (Some(received), true) => NetError::CutOff { host, received },
        (None, true) => NetError::NoAnswer { host },
        // The parser says what it met; nothing of the answer is repeated.
        (_, false)
            if said("parsed") || said("message head") || said("chunk") || said("invalid") =>
        {
            NetError::NotHttp { host, why }
        }
        (_, false) => NetError::Other { host, why },
    }
}

/// The error and what is below it, also what stands in the errors of I/O, which don't show it by
/// themselves. Never the outermost, whose words hold the whole address.
fn causes(error: &reqwest::Error) -> Vec<&(dyn StdError + 'static)> {
    let mut found = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        found.push(cause);
        let inner = cause
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner as &(dyn StdError + 'static)),
            None => cause.source(),
        };
    }
    found.retain(|cause| !cause.is::<reqwest::Error>());
    found
}

/// Why there is no TLS.
fn tls_fault(error: &rustls::Error) -> String {
    let certificate = match error {
        rustls::Error::InvalidCertificate(certificate) => certificate,
        rustls::Error::InvalidMessage(_) => {
            return "it does not use TLS; if it speaks plain HTTP, write `http://`".to_owned();
        }
        other => return other.to_string(),
    };
    let why = match certificate {
        // An authority of the same name with another key is another authority.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "is signed by an authority that this machine does not trust; set `ca_file` to the authority's \
                 certificate"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet; check the clock of this machine"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for a different host name"
        }
        CertificateError::Other(why) if why.to_string() == CA_AS_SERVER => {
            "is self-signed and is not in `ca_file`; set `ca_file` to this certificate"
        }
        other => return format!("its certificate is not accepted: {other}"),
    };
    format!("its certificate {why}")
}
