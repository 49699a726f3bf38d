//! Text, redaction, time: what every module may use, and what knows no module.

pub mod clock;
pub mod redact;
pub mod text;
