//! Exchanges with models as readable files, one each: written by a run that asks, read by one that
//! has no key and no network.

mod exchange;
mod index;
mod recorder;

pub use index::{Recordings, RecordingsError};
pub use recorder::Recorder;

#[cfg(test)]
mod tests;
