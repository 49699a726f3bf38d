//! Commands of a suite's author, run inside a sandbox of their own.
//!
//! Not in the one that candidates run in: these see the folder that they run in (read-only), where
//! tests and expected answers lie. Besides that, streams, exit codes and limits of time are those
//! of [`eval_sandbox::process_tree`].

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use tokio::sync::OnceCell;

use eval_sandbox::process_tree::{SandboxStop, StartError, TreeCommand, TreeEnd, TreeOutput};
use eval_sandbox::{
    ProgramEnding, ProgramJob, ProgramLimits, ProgramResult, Sandbox, SandboxError, SandboxReport,
};

use super::{SandboxRefusal, SandboxRequest};

/// Stands for the private folder in the words and the variables of a command; nothing that an author
/// writes can hold it.
pub const PRIVATE_FOLDER: &str = "\0";

/// MiB that a command's processes may hold when the suite does not say.
const MEMORY_MB: u64 = 1024;

/// The sandbox of commands, opened when it is first needed.
pub struct CommandSandbox {
    wanted: SandboxRequest,
    /// Where the commands run; absolute.
    dir: PathBuf,
    opened: OnceCell<Result<Sandbox, SandboxRefusal>>,
}

impl std::fmt::Debug for CommandSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandSandbox")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}

impl CommandSandbox {
    /// `wanted.readable` need not name `dir`.
    pub fn new(mut wanted: SandboxRequest, dir: PathBuf) -> CommandSandbox {
        wanted.readable.push(dir.clone());
        // A link is shown as a link: what it leads to must be there too.
        wanted
            .readable
            .extend(dir.canonicalize().ok().filter(|real| *real != dir));
        CommandSandbox {
            wanted,
            dir,
            opened: OnceCell::new(),
        }
    }

    /// Opens the sandbox; what it is.
    pub async fn prepare(&self) -> Result<SandboxReport, SandboxRefusal> {
        Ok(self.sandbox().await?.state().clone())
    }

    async fn sandbox(&self) -> Result<&Sandbox, SandboxRefusal> {
        let opened = self.opened.get_or_init(|| self.wanted.open()).await;
        opened.as_ref().map_err(Clone::clone)
    }

    /// Runs a command to its end or its time limit, with `files` in its private folder. When this
    /// future is dropped, all that it started is ended too. The command's own `dir` is not looked
    /// at.
    pub async fn run(
        &self,
        command: &TreeCommand,
        files: Vec<(String, Vec<u8>)>,
    ) -> Result<TreeOutput, StartError> {
        let refused = |refused: SandboxRefusal| StartError {
            reason: refused.to_string(),
        };
        let sandbox = self.sandbox().await.map_err(refused)?;
        let mut argv = command.argv.clone();
        let program = argv.first_mut().ok_or_else(|| StartError {
            reason: "the command is empty".to_owned(),
        })?;
        let path = command
            .env
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.as_os_str());
        let visible = |path: &Path| sandbox.shows(path);
        *program =
            find(program, &self.dir, path, &visible).map_err(|reason| StartError { reason })?;
        let env = command
            .env
            .iter()
            .filter(|(name, _)| name != "TMPDIR")
            .filter_map(|(name, value)| {
                // Names and values travel as text; what is no text is left out, as what is not
                // listed is.
                Some((name.clone(), value.to_str()?.to_owned()))
            });
        let job = ProgramJob {
            argv,
            stdin: command.stdin.clone(),
            env: env
                .chain([("TMPDIR".to_owned(), "/tmp".to_owned())])
                .collect(),
            whole_env: true,
            files,
            executables: Vec::new(),
            dir: Some(self.dir.clone()),
            once: true,
            limits: self.limits(command),
        };
        let result = match sandbox.run_program(job).await {
            Ok(result) => result,
            Err(error) => {
                return Err(StartError {
                    reason: explain(&command.argv, error),
                });
            }
        };
        let limits = self.limits(command);
        Ok(tree_output(
            result,
            command,
            (limits.memory_mb, limits.file_mb),
        ))
    }

    fn limits(&self, command: &TreeCommand) -> ProgramLimits {
        ProgramLimits {
            cpu: None,
            wall: command.timeout,
            memory_mb: self.wanted.demand.memory_mb.unwrap_or(MEMORY_MB),
            output_bytes: command.keep_stdout.max(command.keep_stderr) as u64,
            // What is beyond is read and dropped, as outside.
            output_end: u64::MAX,
            stderr_tail: true,
            processes: 256,
            open_files: 256,
            file_mb: 64,
            ..ProgramLimits::default()
        }
    }
}

/// What is left of a command that ran in a sandbox with these limits of memory and disk, in MB.
pub fn tree_output(result: ProgramResult, command: &TreeCommand, limits: (u64, u64)) -> TreeOutput {
    let mut stdout = result.streams.stdout;
    let stdout_truncated = result.streams.stdout_truncated || stdout.len() > command.keep_stdout;
    stdout.truncate(command.keep_stdout);
    let mut stderr = result.streams.stderr;
    stderr.drain(..stderr.len().saturating_sub(command.keep_stderr));
    TreeOutput {
        end: tree_end(&result.ending, limits),
        stdout,
        stdout_truncated,
        stderr_tail: stderr,
        elapsed: result.wall,
    }
}

/// How a command ended that ran in a sandbox.
fn tree_end(ending: &ProgramEnding, (memory_mb, disk_mb): (u64, u64)) -> TreeEnd {
    match *ending {
        ProgramEnding::Exited(code) => TreeEnd::Exited(code),
        ProgramEnding::Signaled(signal) => TreeEnd::Signaled(signal),
        ProgramEnding::TimedOut => TreeEnd::TimedOut,
        ProgramEnding::MemoryLimit => TreeEnd::Stopped(SandboxStop::Memory(memory_mb)),
        ProgramEnding::OutputLimit => TreeEnd::Stopped(SandboxStop::Output),
        ProgramEnding::DiskLimit => TreeEnd::Stopped(SandboxStop::Disk(disk_mb)),
        ProgramEnding::Violation(_) => TreeEnd::Stopped(SandboxStop::Forbidden),
    }
}

/// The absolute path of a program as it is found inside: with a slash relative to `dir`, else in
/// the folders of `path` that are shown. An error says in words why there is none.
fn find(
    argv0: &str,
    dir: &Path,
    path: Option<&OsStr>,
    visible: &dyn Fn(&Path) -> bool,
) -> Result<String, String> {
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| not_text(argv0))
    };
    if argv0.contains('/') {
        let file = plain(&dir.join(argv0));
        check(argv0, &file, visible)?;
        return text(&file);
    }
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let mut hidden = None;
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let file = folder.join(argv0);
        if !is_executable(&file) {
            continue;
        }
        match check(argv0, &file, visible) {
            Ok(()) => return text(&file),
            Err(reason) => _ = hidden.get_or_insert(reason),
        }
    }
    Err(hidden.unwrap_or_else(|| {
        format!(
            "`{argv0}` was not found in PATH; for a file in the suite's folder, write `./{argv0}`"
        )
    }))
}

fn not_text(argv0: &str) -> String {
    format!("cannot run `{argv0}` in the sandbox: its path is not UTF-8")
}

/// Without `.` components; `..` stays, since a link may stand before it.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}

/// Whether a program and what it is made of can be seen inside.
fn check(argv0: &str, file: &Path, visible: &dyn Fn(&Path) -> bool) -> Result<(), String> {
    let Ok(real) = file.canonicalize() else {
        return Err(format!(
            "`{argv0}` does not exist (looked for {})",
            file.display()
        ));
    };
    if real.is_dir() {
        return Err(format!("cannot run `{argv0}`: it is a folder"));
    }
    if !is_executable(&real) {
        return Err(format!(
            "cannot run `{argv0}`: it is not executable (`chmod +x {argv0}`)"
        ));
    }
    for place in [file, real.as_path()] {
        if !visible(place) {
            return Err(unseen(&format!("`{argv0}`"), place));
        }
    }
    match eval_sandbox::process_tree::shebang(&real)
        .as_deref()
        .and_then(interpreter)
    {
        Some(interpreter) if Path::new(&interpreter).exists() => {
            let target = Path::new(&interpreter).canonicalize().unwrap_or_default();
            if visible(Path::new(&interpreter)) && visible(&target) {
                return Ok(());
            }
            Err(unseen(
                &format!("the interpreter of `{argv0}`"),
                Path::new(&interpreter),
            ))
        }
        Some(interpreter) => Err(format!(
            "cannot run `{argv0}`: its interpreter `{interpreter}` was not found"
        )),
        None => Ok(()),
    }
}

fn unseen(what: &str, place: &Path) -> String {
    let folder = place.parent().unwrap_or(Path::new("/")).display();
    format!(
        "{what} is {}, which is not visible inside the sandbox: add {folder} to `readable:` under the suite's `sandbox:` \
         (and to `allow_paths:` if it is outside the project), or remove `sandbox: true`",
        place.display()
    )
}

/// The program that a `#!` line names.
fn interpreter(line: &str) -> Option<String> {
    line.strip_prefix("#!")?
        .split_whitespace()
        .next()
        .map(str::to_owned)
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn explain(argv: &[String], error: SandboxError) -> String {
    let argv0 = argv.first().map(String::as_str).unwrap_or_default();
    match error {
        SandboxError::CannotStart { reason, .. } => {
            // The harness of root has other rights than the sandbox's user.
            let who = if reason.contains("Permission denied") {
                "; when eval-harness runs as root, sandboxed programs run as a different user, which needs permission to read their files"
            } else {
                ""
            };
            format!("cannot run `{argv0}` in the sandbox: {reason}{who}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_is_looked_for_as_inside_and_a_hidden_one_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home", "usr", "suite"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        let put = |path: &str, text: &str, mode: u32| {
            std::fs::write(root.join(path), text).unwrap();
            std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(mode))
                .unwrap();
        };
        put("home/tool", "#!/bin/sh\n", 0o755);
        put("home/both", "", 0o755);
        put("usr/both", "", 0o755);
        put("usr/plain", "", 0o644);
        put("suite/grade", "#!/bin/sh -e\n", 0o755);
        put(
            "suite/odd",
            &format!("#! {}/home/tool\n", root.display()),
            0o755,
        );
        put("suite/lost", "#!/no/such/thing\n", 0o755);
        std::os::unix::fs::symlink("../home/tool", root.join("usr/link")).unwrap();
        let visible = |path: &Path| {
            [
                root.join("usr"),
                root.join("suite"),
                "/bin".into(),
                "/usr".into(),
            ]
            .iter()
            .any(|shown| path.starts_with(shown))
        };
        let path = std::env::join_paths([root.join("home"), root.join("usr")]).unwrap();
        let told = |argv0: &str| {
            let found = find(argv0, &root.join("suite"), Some(&path), &visible);
            found
                .unwrap_or_else(|reason| reason)
                .replace(root.to_str().unwrap(), "ROOT")
        };
        let words = [
            "both",
            "./grade",
            "../usr/both",
            "tool",
            "link",
            "plain",
            "none",
            "./none",
            "./odd",
            "./lost",
            "./",
        ];
        let all: Vec<String> = words.into_iter().map(told).collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        ROOT/usr/both
        ROOT/suite/grade
        ROOT/suite/../usr/both
        `tool` is ROOT/home/tool, which is not visible inside the sandbox: add ROOT/home to `readable:` under the suite's `sandbox:` (and to `allow_paths:` if it is outside the project), or remove `sandbox: true`
        `link` is ROOT/home/tool, which is not visible inside the sandbox: add ROOT/home to `readable:` under the suite's `sandbox:` (and to `allow_paths:` if it is outside the project), or remove `sandbox: true`
        `plain` was not found in PATH; for a file in the suite's folder, write `./plain`
        `none` was not found in PATH; for a file in the suite's folder, write `./none`
        `./none` does not exist (looked for ROOT/suite/none)
        the interpreter of `./odd` is ROOT/home/tool, which is not visible inside the sandbox: add ROOT/home to `readable:` under the suite's `sandbox:` (and to `allow_paths:` if it is outside the project), or remove `sandbox: true`
        cannot run `./lost`: its interpreter `/no/such/thing` was not found
        cannot run `./`: it is a folder
        ");
    }
}
