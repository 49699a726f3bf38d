//! The inside of a grader process: this program again with the hidden argument `__grader`.
//!
//! It reads requests on stdin and answers on stdout, one at a time, and keeps what it compiled. A
//! separate thread reads, so that the process ends with its parent even in the middle of a search.

use std::io::{self, Write as _};
use std::sync::mpsc;
use std::thread;

use super::task::{READY, answer};
use super::{MEMORY_MIB, PatternCache};
use eval_sandbox::{end_helper, limit_own_memory};

/// What `eval-harness __grader` does.
pub fn grader_process_main() -> ! {
    end_helper(if serve().is_ok() { 0 } else { 97 })
}

fn serve() -> io::Result<()> {
    limit_own_memory(MEMORY_MIB << 20)?;
    let (sender, requests) = mpsc::sync_channel::<String>(0);
    thread::spawn(move || {
        for request in io::stdin().lines().map_while(Result::ok) {
            if sender.send(request).is_err() {
                break;
            }
        }
        // The parent is gone, whatever is being done for it.
        end_helper(0);
    });
    let patterns = PatternCache::default();
    let mut out = io::stdout().lock();
    out.write_all(format!("{READY}\n").as_bytes())?;
    out.flush()?;
    for request in requests {
        out.write_all(answer(&request, &patterns)?.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}
