//! Programs of languages that are compiled: once by content, within a run and, where the result
//! depends on nothing but the program and its compiler, between runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::METHOD;
use super::stdio::{StdioBench, StdioProgram, hinted};
use crate::graders::packed_files::PackedFiles;
use crate::graders::programs::{self, not_run};
use crate::graders::show::{bounded_text, in_reason};
use crate::model::{Cause, CodeExecution, ConfiguredExecutor, Fingerprint, Grade, GraderType};
use eval_sandbox::{ProgramEnding, ProgramJob, ProgramLimits};

/// Part of every key: raised when files are written differently.
const VERSION: u32 = 1;
/// In a command, three quarters of the memory limit in MiB.
const HEAP: &str = "{heap_mb}";
/// Bytes of files that a run keeps in memory.
const MOST_KEPT: usize = 128 << 20;

/// What a compiler made.
#[derive(Debug, Default)]
pub(super) struct CompiledFiles {
    pub files: Vec<(String, Vec<u8>)>,
    pub executables: Vec<String>,
}

/// The compiled programs of a run.
#[derive(Debug, Default)]
pub(crate) struct CompiledPrograms {
    kept: PackedFiles,
    made: Mutex<HashMap<Fingerprint, Arc<OnceCell<CompileResult>>>>,
}

/// The files, or the grade of code that does not compile.
type CompileResult = Result<Arc<CompiledFiles>, Box<Grade>>;

impl CompiledPrograms {
    /// `cache`: the folder of the user's caches.
    pub fn new(cache: Option<&Path>) -> CompiledPrograms {
        CompiledPrograms {
            kept: PackedFiles::new(cache, "compiled", ".gz"),
            made: Mutex::default(),
        }
    }

    /// From the run, from the folder, or by `compile`. Of its failures those are kept for the run
    /// that the same code would have again.
    async fn get(
        &self,
        key: Fingerprint,
        between_runs: bool,
        compile: impl AsyncFnOnce() -> Result<CompiledFiles, Box<Grade>>,
    ) -> CompileResult {
        let cell = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            forget(&mut made, key);
            Arc::clone(made.entry(key).or_default())
        };
        let result = cell
            .get_or_try_init(async || {
                if between_runs && let Some(files) = self.kept.read(key).and_then(unpacked) {
                    return Ok(Ok(Arc::new(files)));
                }
                let files = match compile().await {
                    Ok(files) => files,
                    Err(grade) if grade.cause == Some(Cause::SyntaxError) => return Ok(Err(grade)),
                    Err(grade) => return Err(grade),
                };
                if between_runs {
                    self.kept.write(key, |to| packed(&files, to));
                }
                Ok(Ok(Arc::new(files)))
            })
            .await?;
        result.clone()
    }
}

/// Drops files beyond [`MOST_KEPT`]. Programs that are running keep theirs.
fn forget(made: &mut HashMap<Fingerprint, Arc<OnceCell<CompileResult>>>, wanted: Fingerprint) {
    let size = |cell: &Arc<OnceCell<CompileResult>>| match cell.get() {
        Some(Ok(compiled)) => {
            let contents = compiled.files.iter().map(|(_, content)| content.len());
            contents.sum()
        }
        _ => 0,
    };
    let kept: usize = made.values().map(size).sum();
    if kept > MOST_KEPT {
        made.retain(|key, cell| *key == wanted || size(cell) == 0);
    }
}

/// The first line of a kept file.
#[derive(Serialize, Deserialize)]
struct PackedList {
    /// Paths and sizes, in the order of the contents behind this line.
    files: Vec<(String, usize)>,
    executables: Vec<String>,
}

fn packed(compiled: &CompiledFiles, to: &mut dyn std::io::Write) -> std::io::Result<()> {
    let files = compiled.files.iter();
    let list = PackedList {
        files: files
            .map(|(path, content)| (path.clone(), content.len()))
            .collect(),
        executables: compiled.executables.clone(),
    };
    serde_json::to_writer(&mut *to, &list)?;
    to.write_all(b"\n")?;
    for (_, content) in &compiled.files {
        to.write_all(content)?;
    }
    Ok(())
}

fn unpacked(text: Vec<u8>) -> Option<CompiledFiles> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let list: PackedList = serde_json::from_slice(text.get(..end)?).ok()?;
    let mut rest = text.get(end + 1..)?;
    let mut files = Vec::with_capacity(list.files.len());
    for (path, size) in list.files {
        let (content, after) = rest.split_at_checked(size)?;
        files.push((path, content.to_vec()));
        rest = after;
    }
    rest.is_empty().then_some(CompiledFiles {
        files,
        executables: list.executables,
    })
}

/// The program's files, or what the compiler made of them.
pub(super) async fn compiled(
    own: &ConfiguredExecutor,
    (code, mut files): (String, Vec<(String, Vec<u8>)>),
    grader: &CodeExecution,
    bench: StdioBench<'_>,
) -> Result<StdioProgram, Box<Grade>> {
    files.push((own.file.clone(), code.into_bytes()));
    // A JVM takes a part of the machine's memory for its heap, whatever its limit is.
    let heap = (grader.limits.memory_mb / 4 * 3).to_string();
    let run = own.run.iter().map(|word| word.replace(HEAP, &heap));
    let run: Vec<String> = run.collect();
    let own_program = |made| StdioProgram::Own {
        own: Box::new(own.clone()),
        argv: bench.languages.argv(&run),
        made,
    };
    if own.compile.is_empty() {
        return Ok(own_program(Arc::new(CompiledFiles {
            files,
            ..CompiledFiles::default()
        })));
    }
    let argv = bench.languages.argv(&own.compile);
    let Some(programs) = bench.compiled else {
        let files = compile(own, argv, files, grader, bench).await?;
        return Ok(own_program(Arc::new(files)));
    };
    let compiler = compiler_state(argv.first().map(String::as_str).unwrap_or_default());
    let contents = files.iter();
    let contents: Vec<(&str, String)> = contents
        .map(|(path, content)| {
            let hash = Fingerprint::of_bytes(content).to_string();
            (path.as_str(), hash)
        })
        .collect();
    let isolated = bench.sandbox.state().enforced;
    let key = Fingerprint::of(&(VERSION, &argv, &own.env, &compiler, &contents, isolated));
    let between_runs = own.compiles_alone && compiler.is_some();
    let make = async || compile(own, argv, files, grader, bench).await;
    Ok(own_program(programs.get(key, between_runs, make).await?))
}

/// Where package managers list what is installed: it changes with every header and library.
const PACKAGE_LISTS: [&str; 4] = [
    "/var/lib/dpkg/status",
    "/var/lib/rpm/rpmdb.sqlite",
    "/var/lib/pacman/local",
    "/lib/apk/db/installed",
];

/// A file, its size, and its time of change in nanoseconds.
type FileState = (PathBuf, u64, u128);

/// What changes when a compiler or what it reads is replaced.
fn compiler_state(program: &str) -> Option<Vec<FileState>> {
    let mut states = vec![file_state(&programs::usual_place(program))?];
    states.extend(
        PACKAGE_LISTS
            .iter()
            .filter_map(|list| file_state(Path::new(list))),
    );
    Some(states)
}

fn file_state(path: &Path) -> Option<FileState> {
    let path = path.canonicalize().ok()?;
    let facts = path.metadata().ok()?;
    let changed = facts.modified().ok()?;
    let since = changed.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((path, facts.len(), since.as_nanos()))
}

async fn compile(
    own: &ConfiguredExecutor,
    argv: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
    grader: &CodeExecution,
    bench: StdioBench<'_>,
) -> Result<CompiledFiles, Box<Grade>> {
    let failed = |cause, why| Grade::failed(GraderType::Code, METHOD, cause, why);
    let usual = ProgramLimits::default();
    let limits = ProgramLimits {
        wall: own.compile_timeout,
        memory_mb: own.compile_memory_mb,
        file_mb: usual.file_mb * 4,
        output_bytes: grader.limits.output_bytes,
        ..usual
    };
    let program = ProgramJob {
        argv,
        env: own.env.clone().into_iter().collect(),
        files,
        limits,
        ..ProgramJob::default()
    };
    let built = match bench.sandbox.build(program).await {
        Ok(built) => built,
        Err(error) => return Err(Box::new(hinted(not_run(METHOD, &error), own))),
    };
    let streams = &built.result.streams;
    let said = String::from_utf8_lossy(if streams.stderr.is_empty() {
        &streams.stdout
    } else {
        &streams.stderr
    });
    let with_message = |grade: Grade| grade.with_detail("compiler", bounded_text(&said));
    Err(Box::new(match built.result.ending {
        ProgramEnding::Exited(0) => match lacking(own, &built.files) {
            Some(program) => {
                let why = format!(
                    "the compiler of `{}` did not create `{program}`, or it is larger than 64 MiB",
                    own.name
                );
                with_message(failed(Cause::SyntaxError, why))
            }
            None => {
                return Ok(CompiledFiles {
                    files: built.files,
                    executables: built.executables,
                });
            }
        },
        // As shells report a missing program. A probe says more, where there is one.
        ProgramEnding::Exited(126 | 127) if own.probe.is_none() => {
            let why = format!(
                "the compiler of `{}` can't be run: {}",
                own.name,
                in_reason(said.trim())
            );
            let grade = Grade::errored(GraderType::Code, METHOD, Cause::ExecutorMissing, why);
            with_message(hinted(grade, own))
        }
        ProgramEnding::Exited(_) => {
            let why = format!(
                "the code does not compile: {}",
                in_reason(first_message(&said))
            );
            with_message(failed(Cause::SyntaxError, why))
        }
        ProgramEnding::TimedOut => {
            let limit = own.compile_timeout.as_secs_f64();
            let why = format!("the code did not compile within {limit} s");
            failed(Cause::Timeout, why)
        }
        other => {
            let (cause, why) =
                programs::ending_of(&other, own.compile_timeout, own.compile_memory_mb);
            failed(cause, format!("the compiler: {why}"))
        }
    }))
}

/// The program in the working folder that `run` names and that the compiler did not write.
fn lacking<'o>(own: &'o ConfiguredExecutor, files: &[(String, Vec<u8>)]) -> Option<&'o str> {
    let program = own.run.first()?.strip_prefix("./")?;
    (!files.iter().any(|(path, _)| path == program)).then_some(program)
}

/// The first line that speaks of an error, else the first that says anything.
fn first_message(said: &str) -> &str {
    // Go begins with the package's name, behind a `#`.
    let lines = || {
        let lines = said.lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with("# "))
    };
    let is_error = |line: &&str| line.contains("error:") || line.starts_with("error");
    lines()
        .find(|line| line.contains("undefined reference"))
        .or_else(|| lines().find(is_error))
        .or_else(|| lines().next())
        .unwrap_or("the compiler gave no reason")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn first_error_of_a_compiler_is_the_message() {
        let gcc = "main.c: In function 'main':\nmain.c:2:3: warning: unused\nmain.c:3:5: error: expected ';'\n";
        assert_eq!(first_message(gcc), "main.c:3:5: error: expected ';'");
        assert_eq!(first_message("\nsomething\n"), "something");
        let go = "# command-line-arguments\n./main.go:3:1: syntax error: unexpected EOF\n";
        assert_eq!(
            first_message(go),
            "./main.go:3:1: syntax error: unexpected EOF"
        );
        assert_eq!(first_message(""), "the compiler gave no reason");
    }

    #[tokio::test]
    async fn a_program_is_compiled_once_by_content_and_kept_between_runs() {
        let (dir, made) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0));
        let files = || CompiledFiles {
            files: vec![
                ("prog".into(), vec![0, b'\n', 255]),
                ("empty".into(), vec![]),
            ],
            executables: vec!["prog".into()],
        };
        let get = async |programs: &CompiledPrograms, content: &str, between_runs| {
            let compile = async || {
                made.fetch_add(1, Ordering::Relaxed);
                Ok(files())
            };
            let key = Fingerprint::of(&content);
            let got = programs.get(key, between_runs, compile).await.unwrap();
            assert_eq!(got.files, files().files);
            assert_eq!(got.executables, files().executables);
        };
        for _ in 0..2 {
            let programs = CompiledPrograms::new(Some(dir.path()));
            get(&programs, "a", true).await;
            get(&programs, "a", true).await;
        }
        assert_eq!(made.load(Ordering::Relaxed), 1);
        for _ in 0..2 {
            let programs = CompiledPrograms::new(Some(dir.path()));
            get(&programs, "b", false).await;
            get(&programs, "b", false).await;
        }
        assert_eq!(made.load(Ordering::Relaxed), 3);

        // Only code that does not compile fails for the run, and a damaged file is made again.
        let programs = CompiledPrograms::new(Some(dir.path()));
        let fail = async || Err(Box::new(Grade::passed(GraderType::Code, METHOD)));
        let key = Fingerprint::of(&"c");
        assert!(programs.get(key, true, fail).await.is_err());
        get(&programs, "c", true).await;
        for file in std::fs::read_dir(dir.path().join("compiled")).unwrap() {
            let path = file.unwrap().path();
            let whole = std::fs::read(&path).unwrap();
            std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        }
        let before = made.load(Ordering::Relaxed);
        get(&CompiledPrograms::new(Some(dir.path())), "a", true).await;
        assert_eq!(made.load(Ordering::Relaxed), before + 1);
    }
}
