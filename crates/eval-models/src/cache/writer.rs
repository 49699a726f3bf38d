//! The one who writes: a thread that commits what has gathered, many answers in one transaction.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use super::SharedWarnings;
use super::open::is_damage;
use crate::key::QuestionKey;
use eval_base::sync::lock;

/// Answers that may wait; further ones wait where they were given.
const QUEUE: usize = 4096;

/// Answers of one transaction at most.
const BATCH: usize = 1024;

const PUT: &str = "
    INSERT INTO answers(key, model, answered_at, used_day, bytes, digest, answer)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT(key) DO UPDATE SET
        model = excluded.model, answered_at = excluded.answered_at, used_day = excluded.used_day,
        bytes = excluded.bytes, digest = excluded.digest, answer = excluded.answer
    WHERE answers.answered_at < ?8";

/// An answer to keep.
#[derive(Debug)]
pub(super) struct CacheRow {
    pub key: QuestionKey,
    pub model: String,
    pub answered_at: String,
    pub day: i64,
    pub digest: Vec<u8>,
    pub answer: Vec<u8>,
    /// Replaces an answer that was given before; empty: none.
    pub before: String,
}

#[derive(Debug)]
enum CacheJob {
    Put(CacheRow, oneshot::Sender<()>),
    Used(QuestionKey, i64),
    Forget(QuestionKey, oneshot::Sender<()>),
}

#[derive(Debug)]
pub(super) struct CacheWriter {
    jobs: mpsc::Sender<CacheJob>,
    thread: JoinHandle<bool>,
}

impl CacheWriter {
    /// What goes wrong is added to `warnings`.
    pub fn start(connection: Connection, file: &Path, warnings: SharedWarnings) -> CacheWriter {
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let work = CacheWriterThread {
            connection,
            file: file.to_owned(),
            warnings,
            told: false,
            damaged: false,
        };
        CacheWriter {
            jobs,
            thread: std::thread::spawn(move || work.run(waiting)),
        }
    }

    /// Returns when the row is committed, or can't be.
    pub async fn put(&self, row: CacheRow) {
        self.finished(|done| CacheJob::Put(row, done)).await;
    }

    /// Returns when the row is gone, or can't be removed.
    pub async fn forget(&self, key: QuestionKey) {
        self.finished(|done| CacheJob::Forget(key, done)).await;
    }

    async fn finished(&self, job: impl FnOnce(oneshot::Sender<()>) -> CacheJob) {
        let (done, finished) = oneshot::channel();
        if self.jobs.send(job(done)).await.is_ok() {
            let _ = finished.await;
        }
    }

    /// Notes a use; when too much waits it is not noted, which costs an answer nothing but some
    /// days of its life.
    pub fn used(&self, key: QuestionKey, day: i64) {
        let _ = self.jobs.try_send(CacheJob::Used(key, day));
    }

    /// Removes what can't be used, when there is room to note it: whoever reads it again notes it
    /// again.
    pub fn forget_soon(&self, key: QuestionKey) {
        let (done, _) = oneshot::channel();
        let _ = self.jobs.try_send(CacheJob::Forget(key, done));
    }

    /// Waits until everything is written. True when the file turned out to be damaged.
    pub fn finish(self) -> bool {
        drop(self.jobs);
        self.thread.join().unwrap_or(false)
    }
}

struct CacheWriterThread {
    connection: Connection,
    file: PathBuf,
    warnings: SharedWarnings,
    told: bool,
    damaged: bool,
}

impl CacheWriterThread {
    fn run(mut self, mut waiting: mpsc::Receiver<CacheJob>) -> bool {
        while let Some(first) = waiting.blocking_recv() {
            let mut jobs = vec![first];
            while jobs.len() < BATCH
                && let Ok(job) = waiting.try_recv()
            {
                jobs.push(job);
            }
            // In a damaged file an answer would not be kept, whatever a commit says.
            if !self.damaged
                && let Err(error) = self.commit(&jobs)
            {
                self.trouble(&error);
            }
            for job in jobs {
                if let CacheJob::Put(_, done) | CacheJob::Forget(_, done) = job {
                    let _ = done.send(());
                }
            }
        }
        self.damaged
    }

    fn commit(&mut self, jobs: &[CacheJob]) -> rusqlite::Result<()> {
        // Immediate: a transaction that first reads could not wait for another process' commit.
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut put = transaction.prepare(PUT)?;
            let mut used = transaction
                .prepare("UPDATE answers SET used_day = ?2 WHERE key = ?1 AND used_day < ?2")?;
            let mut forget = transaction.prepare("DELETE FROM answers WHERE key = ?1")?;
            for job in jobs {
                match job {
                    CacheJob::Put(row, _) => put.execute(params![
                        row.key.bytes(),
                        row.model,
                        row.answered_at,
                        row.day,
                        i64::try_from(row.answer.len()).unwrap_or(i64::MAX),
                        row.digest,
                        row.answer,
                        row.before,
                    ])?,
                    CacheJob::Used(key, day) => used.execute(params![key.bytes(), day])?,
                    CacheJob::Forget(key, _) => forget.execute(params![key.bytes()])?,
                };
            }
        }
        transaction.commit()
    }

    /// Tells of it once. The next answers are tried again: a disk may be full for a while only.
    fn trouble(&mut self, error: &rusqlite::Error) {
        self.damaged |= is_damage(error);
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        let why = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
            Some(ErrorCode::DatabaseBusy) => "another process holds it".to_owned(),
            _ => error.to_string(),
        };
        lock(&self.warnings).push(format!(
            "the cache {} does not take answers: {why}",
            self.file.display()
        ));
    }
}
