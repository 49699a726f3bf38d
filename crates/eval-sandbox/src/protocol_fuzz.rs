//! A doorway for tests and the fuzzer: bytes as if a child had written them, through the very parts
//! that read a child. Not an interface; it may change at any time.

use std::io::Write;

use super::capture::{ChannelLine, ChannelLines};
use super::channel::pipe;
use super::messages::{number, object};
use super::types::{CallOutcome, FunctionCall};

/// What the harness makes of a channel: the whole lines, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct ChannelReading {
    pub lines: Vec<Vec<u8>>,
    /// The end cut a line off.
    pub cut: bool,
    /// A line was longer than any may be, and nothing behind it was read.
    pub too_long: bool,
}

/// Reads `chunks`, each written and looked at before the next one comes. A chunk may hold 64 KiB,
/// as a pipe does.
pub fn channel(chunks: &[&[u8]]) -> std::io::Result<ChannelReading> {
    let (read, write) = pipe()?;
    let mut write = Some(std::fs::File::from(write));
    let mut lines = ChannelLines::new(read)?;
    let mut channel = ChannelReading {
        lines: Vec::new(),
        cut: false,
        too_long: false,
    };
    let mut chunks = chunks.iter();
    loop {
        match lines.next() {
            ChannelLine::Whole(line) => channel.lines.push(line),
            ChannelLine::TooLong => {
                channel.too_long = true;
                return Ok(channel);
            }
            ChannelLine::End(cut) => {
                channel.cut = cut;
                return Ok(channel);
            }
            ChannelLine::Waiting => match (chunks.next(), &mut write) {
                (Some(chunk), Some(file)) => {
                    file.write_all(chunk.get(..1 << 16).unwrap_or(chunk))?
                }
                _ => write = None,
            },
        }
    }
}

/// What a line means as the answer to call `index`; `None`: tampering.
pub fn answer(line: &[u8], index: u64, call: &FunctionCall) -> Option<CallOutcome> {
    let map = object(line).filter(|map| number(map, "i") == Some(index))?;
    Some(super::functions::outcome(map, call, |value| value))
}
