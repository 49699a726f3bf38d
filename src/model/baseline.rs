//! Where known-good outputs lie and where they come from.

use std::path::PathBuf;

use super::fingerprint::Fingerprint;

/// How a suite keeps its baselines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BaselineSettings {
    /// Absolute.
    pub dir: PathBuf,
    pub redact: Vec<Redaction>,
    /// Outputs of more bytes go into a file beside.
    pub inline_bytes: u64,
    /// Names of HTTP response headers that a capture keeps, in lower case.
    pub keep_headers: Vec<String>,
}

/// What a capture replaces in texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// A regular expression that compiles.
    pub pattern: String,
    /// A matcher, such as `{{any_uuid}}`.
    pub placeholder: String,
}

/// Where the known-good output of a regression comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineOrigin {
    pub place: BaselinePlace,
    /// RFC 3339.
    pub captured_at: Option<String>,
    /// What the target was given at capture; `None` when the baseline does not say.
    pub input_hash: Option<String>,
    /// Over the known-good output as written.
    pub fingerprint: Fingerprint,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaselinePlace {
    /// Written beside the eval.
    Inline,
    /// A file of the suite's folder of baselines.
    Store {
        path: PathBuf,
        /// The eval has one of its own, too, which does not count.
        overrides_inline: bool,
    },
}
