//! Text, redaction, time: what every module may use, and what knows no module.

pub mod base64;
pub mod blocks;
pub mod clock;
pub mod files;
pub mod git;
pub mod json;
pub mod names;
pub mod ordered;
pub mod percent;
pub mod placeholders;
pub mod redact;
pub mod shell;
pub mod text;
pub mod unique_keys;
pub mod whole_file;
