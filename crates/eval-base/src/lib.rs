//! Texts, JSON, files, redaction, time: what every crate may use, and what knows nothing of evals.
//!
//! ```
//! use eval_base::redact::Redactor;
//!
//! let redactor = Redactor::new(["a-key-of-mine".to_owned()]);
//! assert_eq!(redactor.redact("key=a-key-of-mine").as_deref(), Some("key=[redacted]"));
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

pub mod blocks;
pub mod clock;
pub mod files;
pub mod git;
pub mod globs;
pub mod json;
pub mod names;
pub mod nearest;
pub mod ordered;
pub mod percent;
pub mod placeholders;
pub mod redact;
pub mod shell;
pub mod text;
pub mod unique_keys;
pub mod whole_file;
