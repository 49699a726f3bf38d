//! The workers: threads with a cell each. A thread lives as long as the sandbox, because the kernel ends a cell with the
//! thread that started it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::adjudicate::Shortage;
use super::channel::pipe;
use super::error::SandboxError;
use super::host::{Cell, CellSettings};

type Task = Box<dyn FnOnce(&mut Worker) + Send>;

/// What a job gets: a cell, and a descriptor that becomes readable when nobody waits for it any more.
pub(super) struct Worker {
    settings: Arc<CellSettings>,
    cell: Option<Cell>,
}

impl Worker {
    pub fn new(settings: Arc<CellSettings>) -> Self {
        Worker { settings, cell: None }
    }

    /// The cell, made when there is none that works.
    pub fn cell(&mut self) -> Result<&mut Cell, SandboxError> {
        if self.cell.as_ref().is_some_and(|cell| cell.broken) {
            self.cell = None;
        }
        match &mut self.cell {
            Some(cell) => Ok(cell),
            none => Ok(none.insert(Cell::open(&self.settings).map_err(SandboxError::lost)?)),
        }
    }
}

impl Worker {
    /// What late processes had of the processors since this was asked last.
    pub fn take_late(&mut self) -> Vec<Shortage> {
        self.cell.as_mut().map(|cell| std::mem::take(&mut cell.late)).unwrap_or_default()
    }
}

pub(super) struct Pool {
    /// `None` only while it is dropped.
    queue: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Pool {
    /// Waits until the workers have ended their cells, which is soon: whoever drops the pool waits for no job any more.
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Pool {
    /// Starts the threads; cells are made when the first job of a worker comes.
    pub fn start(settings: CellSettings, workers: usize) -> Result<Pool, SandboxError> {
        let (queue, tasks) = channel::<Task>();
        let tasks = Arc::new(Mutex::new(tasks));
        let settings = Arc::new(settings);
        let mut pool = Pool { queue: Some(queue), threads: Vec::new() };
        for i in 0..workers.max(1) {
            let tasks = Arc::clone(&tasks);
            let worker = Worker::new(Arc::clone(&settings));
            let thread = std::thread::Builder::new()
                .name(format!("sandbox-{i}"))
                .spawn(move || work(worker, &tasks))
                .map_err(SandboxError::lost)?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Runs a job on some worker. Dropping the future kills the job.
    pub async fn run<T, F>(&self, job: F) -> Result<T, SandboxError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Worker, BorrowedFd<'_>) -> Result<T, SandboxError> + Send + 'static,
    {
        let (cancelled, cancel) = pipe().map_err(SandboxError::lost)?;
        let (answer, result) = tokio::sync::oneshot::channel();
        let task = move |worker: &mut Worker| {
            let cancelled: OwnedFd = cancelled;
            if !answer.is_closed() {
                let _ = answer.send(job(worker, cancelled.as_fd()));
            }
        };
        let sent = self.queue.as_ref().is_some_and(|queue| queue.send(Box::new(task)).is_ok());
        if !sent {
            return Err(SandboxError::lost("its workers ended"));
        }
        let outcome = result.await;
        drop(cancel);
        outcome.map_err(|_| SandboxError::lost("a worker ended"))?
    }
}

fn work(mut worker: Worker, tasks: &Mutex<Receiver<Task>>) {
    loop {
        let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match task {
            Ok(task) => task(&mut worker),
            Err(_) => return, // the sandbox was dropped
        }
    }
}
