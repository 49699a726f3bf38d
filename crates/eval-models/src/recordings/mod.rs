//! Exchanges with models as readable files, one each: written by a run that asks, read by one that
//! has no key and no network.

mod exchange;
mod index;
mod recorder;

pub use index::{RecordingIndex, RecordingsError};
pub use recorder::ExchangeRecorder;

#[cfg(test)]
mod tests;
