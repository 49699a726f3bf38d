//! Builds cases out of a data file a little ahead of those who run them, in a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::vec::IntoIter;

use super::prepare::PreparedRun;
use super::remaining::RemainingSamples;
use crate::model::{Case, CaseFault, Eval, StreamedCase};

/// Cases that are handed over at once, unless they are big.
const CHUNK: usize = 256;
/// Bytes of cases that are handed over at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks that wait.
const AHEAD: usize = 2;

/// The cases of one eval in order, those that still have samples to run.
pub(super) struct CaseFeed {
    chunk: IntoIter<StreamedCase>,
    chunks: Result<Receiver<Vec<StreamedCase>>, String>,
}

impl CaseFeed {
    /// Begins to build the cases from the place `from` on. `index` is the eval's place in the plan.
    pub fn open(
        eval: Arc<Eval>,
        index: usize,
        from: usize,
        remaining: Arc<RemainingSamples>,
    ) -> CaseFeed {
        let (sender, receiver) = sync_channel(AHEAD);
        let build = move || {
            let wanted = |at: usize| {
                let samples = eval.cases.outline(at).map_or(0, PreparedRun::samples);
                at >= from && (0..samples).any(|sample| remaining.wants(index, at, sample))
            };
            deliver(eval.cases.stream(wanted), &sender);
        };
        let thread = std::thread::Builder::new()
            .name("cases".to_owned())
            .spawn(build);
        CaseFeed {
            chunk: Vec::new().into_iter(),
            chunks: thread.map(|_| receiver).map_err(|error| error.to_string()),
        }
    }

    /// The case at a place, which must be asked for in order.
    pub fn next(&mut self, at: usize) -> Result<Arc<Case>, CaseFault> {
        let fault = |reason: &str| CaseFault::Unreadable {
            file: "the data file".to_owned(),
            reason: reason.to_owned(),
        };
        let chunks = self.chunks.as_ref().map_err(|error| fault(error))?;
        loop {
            match self.chunk.next() {
                Some(streamed) if streamed.at == at => return streamed.case,
                Some(_) => {}
                None => {
                    self.chunk = chunks
                        .recv()
                        .map_err(|_| fault("the thread that reads it ended"))?
                        .into_iter();
                }
            }
        }
    }
}

/// Hands cases over in chunks until nobody takes them any more.
fn deliver(cases: impl Iterator<Item = StreamedCase>, to: &SyncSender<Vec<StreamedCase>>) {
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut bytes = 0usize;
    for case in cases {
        bytes = bytes.saturating_add(case.bytes);
        chunk.push(case);
        if chunk.len() >= CHUNK || bytes >= CHUNK_BYTES {
            if to
                .send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK)))
                .is_err()
            {
                return;
            }
            bytes = 0;
        }
    }
    // Whoever went away needs none of it.
    let _ = to.send(chunk);
}
