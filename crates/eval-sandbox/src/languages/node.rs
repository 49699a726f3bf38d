//! Programs in JavaScript: node started with our runners.
//!
//! Each candidate gets a node of its own. A node that stays and serves several would have to tell
//! their programs apart inside one process, and nothing there does: contexts of `vm` and worker
//! threads share descriptors, native addons and V8's flags.

use std::os::fd::{BorrowedFd, OwnedFd};

use serde_json::{Value, json};

use super::super::channel::{sealed_file, stream_pair};
use super::super::error::SandboxError;
use super::super::functions::{ReadAnswer, StartProcess, call_functions};
use super::super::launch::{ProcessLaunch, process_limits as usual_limits};
use super::super::pool::SandboxWorker;
use super::super::programs::{prepare, run, run_program};
use super::super::protocol::ProcessLimits;
use super::super::types::*;
use super::LanguageRuntime;

const VALUES: &str = include_str!("javascript/values.js");
const CANDIDATE: &str = include_str!("javascript/candidate.js");
const TESTS: &str = include_str!("javascript/tests.js");
const TRANSPILE: &str = include_str!("javascript/transpile.js");

/// What V8 says when it has no more memory; it then aborts.
const OUT_OF_MEMORY: [&[u8]; 3] = [
    b"heap out of memory",
    b"process out of memory",
    b"Fatal JavaScript out of memory",
];

/// What node needs beside its heap.
const BESIDE_HEAP_BYTES: u64 = 128 << 20;

/// Reading a compiler takes longer than most programs, and is not what their limits are about.
const TRANSPILE_MEMORY_MB: u64 = 1024;
const TRANSPILE_SECONDS: u64 = 30;

/// Node and its flags; its own configuration of OpenSSL and certificates costs more than a test
/// does.
fn argv(node: &LanguageRuntime, limits: &ProgramLimits) -> Vec<String> {
    vec![
        node.path.to_string_lossy().into_owned(),
        format!("--max-old-space-size={}", limits.memory_mb),
    ]
}

/// V8 keeps the limit itself and then says so. The kernel's lies above it: when that is met first,
/// V8 dies without a word.
fn process_limits(limits: &ProgramLimits) -> ProcessLimits {
    let mut all = usual_limits(limits);
    all.data_bytes = all.data_bytes.saturating_add(BESIDE_HEAP_BYTES);
    all
}

pub(super) fn environment() -> Vec<(String, String)> {
    vec![("OPENSSL_CONF".to_owned(), "/dev/null".to_owned())]
}

/// A runner with its request on descriptor 3; `extra` become 4, 5, ...
pub(super) fn runner(
    node: &LanguageRuntime,
    main: &str,
    request: &[u8],
    extra: Vec<OwnedFd>,
    limits: &ProgramLimits,
) -> Result<ProcessLaunch, SandboxError> {
    let mut argv = argv(node, limits);
    // In a function of its own: a program may declare any name, and sees none of the runner's.
    argv.extend(["-e".to_owned(), format!("(() => {{{VALUES}{main}}})();")]);
    let mut launch = ProcessLaunch::new(argv, &environment(), process_limits(limits));
    launch.extra.push(sealed_file(request)?);
    launch.extra.extend(extra);
    Ok(launch)
}

pub(super) fn tests_runner(
    node: &LanguageRuntime,
    request: &[u8],
    channel: OwnedFd,
    limits: &ProgramLimits,
) -> Result<ProcessLaunch, SandboxError> {
    runner(node, TESTS, request, vec![channel], limits)
}

/// Calls functions of a JavaScript program.
pub(crate) fn call<T>(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    node: &LanguageRuntime,
    job: &FunctionJob,
    read: &ReadAnswer<'_, T>,
) -> Result<FunctionReport<T>, SandboxError> {
    let head = job.entry_point.split('.').next().unwrap_or_default();
    let request =
        json!({"code": job.code, "entry": head, "most": job.limits.return_bytes}).to_string();
    let start: &StartProcess<'_> = &|worker, cancel| {
        let (ours, theirs) = stream_pair()?;
        let launch = runner(
            node,
            CANDIDATE,
            request.as_bytes(),
            vec![theirs],
            &job.limits,
        )?;
        Ok((worker.run(cancel, vec![launch], &job.limits)?, ours))
    };
    let mut report = call_functions(worker, cancel, start, job, read)?;
    if ran_out_of_memory(&report.streams.stderr) {
        let limit = RunFailure::Ended(ProgramEnding::MemoryLimit);
        let crashed = |f: &RunFailure| matches!(f, RunFailure::Ended(ProgramEnding::Signaled(_)));
        for call in &mut report.calls {
            if matches!(&call.outcome, CallOutcome::Failed(failure) if crashed(failure)) {
                call.outcome = CallOutcome::Failed(limit.clone());
            }
        }
        report.load_failure = report
            .load_failure
            .map(|f| if crashed(&f) { limit } else { f });
    }
    Ok(report)
}

/// Whether the end of a node was V8's lack of memory. Only a program that failed is asked, so it
/// can't gain by saying so.
pub(super) fn ran_out_of_memory(stderr: &[u8]) -> bool {
    OUT_OF_MEMORY
        .iter()
        .any(|words| stderr.windows(words.len()).any(|part| part == *words))
}

/// Runs a whole program, `main.js` or, when it is an ES module, `main.mjs`.
pub(crate) fn run_script(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    node: &LanguageRuntime,
    script: ScriptJob,
) -> Result<ProgramResult, SandboxError> {
    let file = if is_module(&script.code) {
        "main.mjs"
    } else {
        "main.js"
    };
    let mut argv = argv(node, &script.limits);
    argv.push(file.to_owned());
    argv.extend(script.args);
    let program = ProgramJob {
        argv,
        stdin: script.stdin,
        env: environment(),
        files: vec![(file.to_owned(), script.code.into_bytes())],
        limits: script.limits.clone(),
        ..ProgramJob::default()
    };
    let (mut launch, shown) = prepare(program)?;
    launch.spec.limits = process_limits(&script.limits);
    let mut result = run(worker, cancel, launch, &shown, &script.limits)?;
    if matches!(result.ending, ProgramEnding::Signaled(_))
        && ran_out_of_memory(&result.streams.stderr)
    {
        result.ending = ProgramEnding::MemoryLimit;
    }
    Ok(result)
}

/// By `import` or `export` at the beginning of a line, unless the text is written for CommonJS.
fn is_module(code: &str) -> bool {
    let marks = |line: &str, word: &str| {
        line.strip_prefix(word)
            .is_some_and(|rest| rest.starts_with([' ', '{', '*', '"', '\'']))
    };
    code.lines()
        .any(|line| marks(line, "import") || marks(line, "export"))
        && !code.contains("require(")
        && !code.contains("module.exports")
}

/// TypeScript to JavaScript, each text for itself.
pub(crate) fn transpile(
    worker: &mut SandboxWorker,
    cancel: BorrowedFd<'_>,
    node: &LanguageRuntime,
    texts: &[String],
) -> Result<Result<Vec<String>, RunFailure>, SandboxError> {
    let limits = ProgramLimits {
        wall: std::time::Duration::from_secs(TRANSPILE_SECONDS),
        memory_mb: TRANSPILE_MEMORY_MB,
        output_bytes: 16 << 20,
        ..ProgramLimits::default()
    };
    let mut argv = argv(node, &limits);
    argv.extend(["-e".to_owned(), TRANSPILE.to_owned()]);
    let request = json!({"library": node.library, "texts": texts});
    let program = ProgramJob {
        argv,
        stdin: request.to_string().into_bytes(),
        env: environment(),
        limits,
        ..ProgramJob::default()
    };
    let result = run_program(worker, cancel, program)?;
    if result.ending != ProgramEnding::Exited(0) {
        return match result.ending {
            limit @ (ProgramEnding::TimedOut
            | ProgramEnding::MemoryLimit
            | ProgramEnding::OutputLimit) => Ok(Err(RunFailure::Ended(limit))),
            other => {
                let stderr = String::from_utf8_lossy(&result.streams.stderr).into_owned();
                Err(SandboxError::lost(format!(
                    "the TypeScript compiler {other}: {}",
                    stderr.trim()
                )))
            }
        };
    }
    let answer: Value = serde_json::from_slice(&result.streams.stdout)?;
    if let Some(failed) = answer.get("failed") {
        let message = failed
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let line = failed.get("line").and_then(Value::as_u64);
        return Ok(Err(RunFailure::SyntaxError { message, line }));
    }
    let made = answer
        .get("texts")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let made: Vec<String> = made
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if made.len() != texts.len() {
        return Err(SandboxError::lost(
            "the TypeScript compiler answered strangely",
        ));
    }
    Ok(Ok(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_known_by_their_first_words() {
        for code in [
            "import fs from 'fs'\n",
            "import'fs'",
            "x\nexport function f() {}",
            "export {f}",
        ] {
            assert!(is_module(code), "{code}");
        }
        for code in [
            "importantThing()",
            "const x = require('fs') // \nexport default 1",
            "  import('x')",
            "exports.f = 1",
        ] {
            assert!(!is_module(code), "{code}");
        }
    }
}
