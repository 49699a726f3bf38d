//! The inside of a grader process: this program again with the hidden argument `__grader`.
//!
//! It reads requests on stdin and answers on stdout, one at a time, and keeps what it compiled. A
//! separate thread reads, so that the process ends with its parent even in the middle of a search.

use std::io;
use std::sync::mpsc;
use std::thread;

use super::frames::{self, KeptTasks, READY, RequestFrames};
use super::{MEMORY_MIB, Patterns};
use eval_sandbox::{end_helper, limit_own_memory};

/// What `eval-harness __grader` does.
pub fn grader_process_main() -> ! {
    end_helper(if serve().is_ok() { 0 } else { 97 })
}

fn serve() -> io::Result<()> {
    limit_own_memory(MEMORY_MIB << 20)?;
    let (sender, requests) = mpsc::sync_channel::<RequestFrames>(0);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(request) = frames::read(&mut input) {
            if sender.send(request).is_err() {
                break;
            }
        }
        // The parent is gone, whatever is being done for it.
        end_helper(0);
    });
    let patterns = Patterns::default();
    let mut kept = KeptTasks::default();
    let mut out = io::stdout().lock();
    frames::write(&mut out, &[READY])?;
    for request in requests {
        let reply = frames::read_request(request, &mut kept)
            .and_then(|(task, value)| frames::reply(task.perform(&value, &patterns)));
        frames::write(
            &mut out,
            &reply.or_else(|error| frames::unreadable(&error))?,
        )?;
    }
    Ok(())
}
