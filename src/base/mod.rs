//! Text, redaction, time and seeds: what every module may use, and what knows no module.

pub mod text;
