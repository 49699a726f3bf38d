//! Programs that are run as they are: stdin in, stdout and exit code out.

use std::os::fd::BorrowedFd;
use std::path::Path;

use super::artifacts;
use super::channel::memory_file;
use super::ending::EndedProcess;
use super::error::SandboxError;
use super::languages::SEARCH;
use super::launch::{ProcessLaunch, check_files, process_limits};
use super::pool::SandboxWorker;
use super::python::{PythonJob, PythonRuntime};
use super::running::RunningJob;
use super::types::{
    BuildResult, ProgramEnding, ProgramJob, ProgramLimits, ProgramResult, ScriptJob,
};

pub(super) fn run_program(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    program: ProgramJob,
) -> Result<ProgramResult, SandboxError> {
    let limits = program.limits.clone();
    let (launch, shown) = prepare(program)?;
    run(worker, cancel, launch, &shown, &limits)
}

/// A program as a process to start, and its name as the caller wrote it.
pub(super) fn prepare(program: ProgramJob) -> Result<(ProcessLaunch, String), SandboxError> {
    check_files(&program.files)?;
    let mut argv = program.argv;
    let name = argv
        .first_mut()
        .ok_or_else(|| SandboxError::BadRequest("the command is empty".to_owned()))?;
    let shown = name.clone();
    if !name.contains('/') {
        let found = SEARCH
            .iter()
            .map(|dir| format!("{dir}/{name}"))
            .find(|p| Path::new(p).exists());
        let reason = || format!("it is not in {}", SEARCH.join(":"));
        *name = found.ok_or_else(|| SandboxError::CannotStart {
            program: shown.clone(),
            reason: reason(),
        })?;
    }
    let dir = match &program.dir {
        Some(dir) => Some(dir.to_str().map(str::to_owned).ok_or_else(|| {
            SandboxError::BadRequest(format!("the path {} is not UTF-8", dir.display()))
        })?),
        None => None,
    };
    let mut launch = ProcessLaunch::new(argv, &program.env, process_limits(&program.limits));
    for (path, content) in program.files {
        launch.add_file(path, content);
    }
    launch.stdin = program.stdin;
    let spec = &mut launch.spec;
    spec.executables = program.executables;
    spec.dir = dir;
    if program.whole_env {
        spec.env = program.env;
        // A command of the author's may use every core; its time is bounded by the clock alone.
        spec.limits.cpu_seconds = spec.limits.cpu_seconds.saturating_mul(64);
    }
    Ok((launch, shown))
}

/// Runs what [`prepare`] made.
pub(super) fn run(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    launch: ProcessLaunch,
    program: &str,
    limits: &ProgramLimits,
) -> Result<ProgramResult, SandboxError> {
    let running = worker.run(cancel, vec![launch], limits)?;
    conclude(running, program)
}

/// Runs a program and keeps the files that it leaves.
pub(super) fn build(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    program: ProgramJob,
) -> Result<BuildResult, SandboxError> {
    let limits = program.limits.clone();
    let (mut launch, shown) = prepare(program)?;
    let kept = memory_file()?;
    launch.spec.collect = true;
    launch.extra.push(kept.try_clone()?);
    let result = run(worker, cancel, launch, &shown, &limits)?;
    let mut built = BuildResult {
        result,
        files: Vec::new(),
        executables: Vec::new(),
    };
    if built.result.ending == ProgramEnding::Exited(0) {
        let artifacts = artifacts::read(kept)
            .ok_or_else(|| SandboxError::lost("the list of built files is incomplete"))?;
        for artifact in artifacts.files {
            if artifact.executable {
                built.executables.push(artifact.path.clone());
            }
            built.files.push((artifact.path, artifact.content));
        }
    }
    Ok(built)
}

pub(super) fn run_script(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    python: &PythonRuntime,
    script: ScriptJob,
) -> Result<ProgramResult, SandboxError> {
    let job = || PythonJob::script(&script.code, &script.stdin, &script.args);
    if !script.args.is_empty() {
        let launch = python.launch(job(), &script.limits)?;
        return of_memory(run(worker, cancel, launch, "python", &script.limits)?);
    }
    let (running, ()) = worker.start(python, cancel, &script.limits, || Ok((vec![job()], ())))?;
    of_memory(conclude(running, "python")?)
}

fn of_memory(mut result: ProgramResult) -> Result<ProgramResult, SandboxError> {
    // The kernel's limit reaches a Python program as an exception that it may even survive.
    if result.ending == ProgramEnding::Exited(1) && ends_with_memory_error(&result.streams.stderr) {
        result.ending = ProgramEnding::MemoryLimit;
    }
    Ok(result)
}

pub(super) fn conclude(
    running: RunningJob<'_>,
    program: &str,
) -> Result<ProgramResult, SandboxError> {
    let started = running.started;
    let ended = only(running.finish()?)?;
    let ending = ended.ending.map_err(|reason| SandboxError::CannotStart {
        program: program.to_owned(),
        reason,
    })?;
    if let Some(reason) = ended.unwritten {
        return Err(SandboxError::OutputUnwritten(reason));
    }
    Ok(ProgramResult {
        ending,
        streams: ended.streams,
        wall: started.elapsed(),
        cpu: ended.cpu,
        adjudicated: false,
    })
}

/// The one process of a job that has one.
pub(super) fn only(ended: Vec<EndedProcess>) -> Result<EndedProcess, SandboxError> {
    ended
        .into_iter()
        .next()
        .ok_or_else(|| SandboxError::lost("the job has no process"))
}

fn ends_with_memory_error(stderr: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stderr);
    text.trim_end()
        .lines()
        .last()
        .is_some_and(|l| l == "MemoryError" || l.starts_with("MemoryError:"))
}
