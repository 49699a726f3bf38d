//! Asks the device to keep what was written, every few seconds and beside the writing: a lost power
//! then costs little.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct DurableFile {
    file: Arc<File>,
    last: Instant,
    thread: Option<JoinHandle<()>>,
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl DurableFile {
    pub fn new(file: Arc<File>) -> Self {
        DurableFile {
            file,
            last: Instant::now(),
            thread: None,
            failed: Arc::default(),
        }
    }

    /// Called after each write. Fails when an earlier call could not keep what it should.
    pub fn written(&mut self) -> io::Result<()> {
        if self.last.elapsed() < PAUSE
            || self
                .thread
                .as_ref()
                .is_some_and(|thread| !thread.is_finished())
        {
            return Ok(());
        }
        self.last = Instant::now();
        let (file, failed) = (Arc::clone(&self.file), Arc::clone(&self.failed));
        // Without a thread to spare the end of the run is soon enough.
        self.thread = std::thread::Builder::new()
            .name("journal sync".to_owned())
            .spawn(move || {
                if let Err(error) = file.sync_data() {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            })
            .ok();
        self.earlier()
    }

    /// Keeps everything that was written so far.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.earlier()?;
        self.file.sync_data()
    }

    fn earlier(&self) -> io::Result<()> {
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .map_or(Ok(()), Err)
    }
}
