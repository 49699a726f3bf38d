//! The workers: threads with a cell each. A thread lives as long as the sandbox, because the kernel
//! ends a cell with the thread that started it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::adjudicate::CpuShortage;
use super::channel::{CellLink, SharedValue, pipe, send};
use super::error::SandboxError;
use super::host::{CellSettings, SandboxCell, request};
use super::launch::ProcessLaunch;
use super::listener::CallListener;
use super::ports::CellPorts;
use super::protocol::OPEN_PORTS;
use super::python::server::ForkServer;
use super::python::{PythonJob, PythonRuntime};
use super::running::{RunningJob, StartedJob, begin};
use super::same_core::SameCore;
use super::settings::ServerReport;
use super::types::{ProgramLimits, Tier};

type WorkerTask = Box<dyn FnOnce(&mut SandboxWorker) + Send>;

/// How often in a row a fork server may fail before its worker does without.
const MOST_FAILURES: u32 = 3;

/// What the fork servers of a sandbox did.
#[derive(Default)]
pub(super) struct ServerCounts {
    pub started: AtomicU64,
    pub jobs: AtomicU64,
    /// See [`ServerReport::expired_graces`].
    pub expired_graces: AtomicU64,
    /// Why some worker starts an interpreter for each job.
    pub given_up: Mutex<Option<String>>,
}

impl ServerCounts {
    pub fn report(&self) -> ServerReport {
        ServerReport {
            started: self.started.load(Ordering::Relaxed),
            jobs: self.jobs.load(Ordering::Relaxed),
            expired_graces: self.expired_graces.load(Ordering::Relaxed),
            given_up: self
                .given_up
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }
}

/// What a job gets: a cell, and in it a fork server for Python.
pub(super) struct SandboxWorker {
    settings: Arc<CellSettings>,
    cell: Option<SandboxCell>,
    server: Option<ForkServer>,
    /// Failures of fork servers since the last that worked.
    failures: u32,
    counts: Arc<ServerCounts>,
}

impl SandboxWorker {
    fn new(settings: Arc<CellSettings>, counts: Arc<ServerCounts>) -> Self {
        SandboxWorker {
            settings,
            cell: None,
            server: None,
            failures: 0,
            counts,
        }
    }

    /// The cell, made when there is none that works.
    fn cell(&mut self) -> Result<&mut SandboxCell, SandboxError> {
        if self.cell.as_ref().is_some_and(|cell| cell.link.broken) {
            self.lose_cell();
        }
        match &mut self.cell {
            Some(cell) => Ok(cell),
            none => Ok(none.insert(SandboxCell::open(&self.settings)?)),
        }
    }

    /// With the cell everything in it ends.
    fn lose_cell(&mut self) {
        self.server = None;
        self.cell = None;
    }

    /// Starts programs.
    pub fn run<'w>(
        &'w mut self,
        cancel: BorrowedFd<'w>,
        launches: Vec<ProcessLaunch>,
        limits: &ProgramLimits,
    ) -> Result<RunningJob<'w>, SandboxError> {
        self.run_with_files(cancel, launches, limits, 0)
    }

    /// The same for programs whose private folders may take `files_mb` more MiB of memory than
    /// usual.
    pub fn run_with_files<'w>(
        &'w mut self,
        cancel: BorrowedFd<'w>,
        launches: Vec<ProcessLaunch>,
        limits: &ProgramLimits,
        files_mb: u64,
    ) -> Result<RunningJob<'w>, SandboxError> {
        let cell = self.cell()?;
        let of_group = ProgramLimits {
            memory_mb: limits.memory_mb.saturating_add(files_mb),
            ..limits.clone()
        };
        let started = begin(&mut cell.link, &of_group, |link| request(link, launches))?;
        RunningJob::new(&mut cell.link, cancel, started, limits, SameCore::default())
    }

    /// Where the folders of its cell's jobs are, and what its jobs are confined by.
    pub fn place(&mut self) -> Result<(Tier, Option<PathBuf>), SandboxError> {
        let tier = self.settings.tier;
        Ok((tier, self.cell()?.scratch()))
    }

    /// Lets `ports` reach those of the next job.
    pub fn open_ports(&mut self, ports: &CellPorts) -> Result<(), SandboxError> {
        let cell = self.cell()?;
        let theirs = ports.open()?;
        send(cell.link.socket.as_fd(), OPEN_PORTS, &[theirs.as_fd()])?;
        drop(theirs);
        Ok(ports.listen()?)
    }

    /// Starts a program whose system calls `listener` makes known to the harness, once the program
    /// runs.
    pub fn run_observed<'w>(
        &'w mut self,
        cancel: BorrowedFd<'w>,
        launch: ProcessLaunch,
        limits: &ProgramLimits,
        listener: impl FnOnce() -> Result<Option<SharedValue<CallListener>>, SandboxError>,
    ) -> Result<RunningJob<'w>, SandboxError> {
        let cell = self.cell()?;
        let started = begin(&mut cell.link, limits, |link| request(link, vec![launch]))?;
        cell.link.listener = listener()?;
        RunningJob::new(&mut cell.link, cancel, started, limits, SameCore::default())
    }

    /// Starts the processes of a Python job: as forks of the server, or each with an interpreter of
    /// its own where there can be no server. `make` makes them, and whatever of theirs stays here;
    /// it is asked again when a server was lost before any of them ran.
    pub fn start<'w, T>(
        &'w mut self,
        python: &PythonRuntime,
        cancel: BorrowedFd<'w>,
        limits: &ProgramLimits,
        make: impl Fn() -> Result<(Vec<PythonJob>, T), SandboxError>,
    ) -> Result<(RunningJob<'w>, T), SandboxError> {
        let mut begun = None;
        let mut same_core = SameCore::default();
        for _ in 0..2 {
            if !self.has_server(python)? {
                break;
            }
            if same_core.core().is_none() {
                same_core = SameCore::bind();
            }
            let (jobs, rest) = make()?;
            match self.fork(jobs, limits, &same_core) {
                Ok(started) => {
                    begun = Some((started, rest));
                    break;
                }
                Err(reason) => {
                    // What is built next must not inherit the core.
                    same_core = SameCore::default();
                    self.blame_server(&reason.to_string());
                }
            }
        }
        let Some((started, rest)) = begun else {
            drop(same_core);
            let (jobs, rest) = make()?;
            let launches = jobs
                .into_iter()
                .map(|job| python.launch(job, limits))
                .collect::<Result<_, _>>()?;
            return Ok((self.run(cancel, launches, limits)?, rest));
        };
        let server = self
            .server
            .as_mut()
            .ok_or_else(|| SandboxError::lost("the fork server does not run"))?;
        Ok((
            RunningJob::new(&mut server.link, cancel, started, limits, same_core)?,
            rest,
        ))
    }

    fn fork(
        &mut self,
        jobs: Vec<PythonJob>,
        limits: &ProgramLimits,
        same_core: &SameCore,
    ) -> Result<StartedJob, SandboxError> {
        let server = self
            .server
            .as_mut()
            .ok_or_else(|| SandboxError::lost("the fork server does not run"))?;
        server.follow(same_core);
        let started = server.begin(jobs, limits)?;
        self.failures = 0;
        self.counts.jobs.fetch_add(1, Ordering::Relaxed);
        Ok(started)
    }

    /// Makes a server when there is none that works. False: this worker does without.
    fn has_server(&mut self, python: &PythonRuntime) -> Result<bool, SandboxError> {
        if python.cold().is_some() || !matches!(self.settings.tier, Tier::Userns | Tier::Rootns) {
            return Ok(false);
        }
        // Only a minder takes the store away.
        if self.settings.workspaces.is_some() {
            return Ok(false);
        }
        if self
            .server
            .as_ref()
            .is_some_and(|server| server.link.broken)
        {
            // Nobody knows what still runs there.
            self.lose_cell();
        }
        let most_jobs = self.settings.jobs_per_server;
        if self
            .server
            .as_ref()
            .is_some_and(|server| server.is_spent(most_jobs) || !server.serves(python))
        {
            self.server = None;
        }
        while self.server.is_none() && self.failures < MOST_FAILURES {
            let cell = self.cell()?;
            cell.link.broken = true;
            match ForkServer::open(cell, python) {
                Ok(server) => {
                    cell.link.broken = false;
                    self.server = Some(server);
                    self.counts.started.fetch_add(1, Ordering::Relaxed);
                }
                Err(reason) => self.blame_server(&reason.to_string()),
            }
        }
        Ok(self.server.is_some())
    }

    fn blame_server(&mut self, reason: &str) {
        self.lose_cell();
        self.failures += 1;
        if self.failures == MOST_FAILURES {
            let mut given_up = self
                .counts
                .given_up
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            given_up.get_or_insert_with(|| reason.to_owned());
        }
    }
}

impl SandboxWorker {
    fn links(&mut self) -> impl Iterator<Item = &mut CellLink> {
        let cell = self.cell.as_mut().map(|cell| &mut cell.link);
        cell.into_iter()
            .chain(self.server.as_mut().map(|server| &mut server.link))
    }

    /// What late processes had of the processors, since the last call.
    pub fn take_late(&mut self) -> Vec<CpuShortage> {
        self.links()
            .flat_map(|link| std::mem::take(&mut link.late))
            .collect()
    }

    /// Adds the grace periods that expired to what the pool reports.
    fn count_graces(&mut self) {
        let expired: u64 = self
            .links()
            .map(|link| std::mem::take(&mut link.expired_graces))
            .sum();
        if expired > 0 {
            self.counts
                .expired_graces
                .fetch_add(expired, Ordering::Relaxed);
        }
    }
}

pub(super) struct WorkerPool {
    /// `None` only while it is dropped.
    queue: Option<Sender<WorkerTask>>,
    pub counts: Arc<ServerCounts>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for WorkerPool {
    /// Waits until the workers have ended their cells, which is soon: whoever drops the pool waits
    /// for no job any more.
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl WorkerPool {
    /// Starts the threads; cells are made when the first job of a worker comes.
    pub fn start(settings: CellSettings, workers: usize) -> Result<WorkerPool, SandboxError> {
        let (queue, tasks) = channel::<WorkerTask>();
        let tasks = Arc::new(Mutex::new(tasks));
        let settings = Arc::new(settings);
        let counts = Arc::new(ServerCounts::default());
        let mut pool = WorkerPool {
            queue: Some(queue),
            counts: Arc::clone(&counts),
            threads: Vec::new(),
        };
        for i in 0..workers.max(1) {
            let tasks = Arc::clone(&tasks);
            let worker = SandboxWorker::new(Arc::clone(&settings), Arc::clone(&counts));
            let thread = std::thread::Builder::new()
                .name(format!("sandbox-{i}"))
                .spawn(move || work(worker, &tasks))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Runs a job on some worker. Dropping the future kills the job.
    pub async fn run<T, F>(&self, job: F) -> Result<T, SandboxError>
    where
        T: Send + 'static,
        F: FnOnce(&mut SandboxWorker, BorrowedFd<'_>) -> Result<T, SandboxError> + Send + 'static,
    {
        self.run_until(std::future::pending(), job).await
    }

    /// The same for a job that is killed once it is not needed any more. Its answer comes when
    /// nothing of it is left.
    pub async fn run_until<T, F>(
        &self,
        unneeded: impl Future<Output = ()>,
        job: F,
    ) -> Result<T, SandboxError>
    where
        T: Send + 'static,
        F: FnOnce(&mut SandboxWorker, BorrowedFd<'_>) -> Result<T, SandboxError> + Send + 'static,
    {
        let (cancelled, cancel) = pipe()?;
        let (answer, mut result) = tokio::sync::oneshot::channel();
        let task = move |worker: &mut SandboxWorker| {
            let cancelled: OwnedFd = cancelled;
            if !answer.is_closed() {
                let result = job(worker, cancelled.as_fd());
                worker.count_graces();
                let _ = answer.send(result);
            }
        };
        let sent = self
            .queue
            .as_ref()
            .is_some_and(|queue| queue.send(Box::new(task)).is_ok());
        if !sent {
            return Err(SandboxError::lost("the sandbox's workers ended"));
        }
        let ended = tokio::select! {
            outcome = &mut result => Some(outcome),
            () = unneeded => None,
        };
        drop(cancel);
        let outcome = match ended {
            Some(outcome) => outcome,
            None => result.await,
        };
        outcome.map_err(|_| SandboxError::lost("a worker ended unexpectedly"))?
    }
}

fn work(mut worker: SandboxWorker, tasks: &Mutex<Receiver<WorkerTask>>) {
    loop {
        let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match task {
            Ok(task) => task(&mut worker),
            Err(_) => return, // the sandbox was dropped
        }
    }
}
