//! A project in a temporary folder, and the built program to run in it.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A temporary project. Its `.git` marks the root, so that results stay inside.
pub struct Project {
    dir: tempfile::TempDir,
}

/// What a call of the program ended with.
pub struct Call {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// What `--exact` takes for a test of a module: `module_path!()` begins with the name of the test
/// program.
pub fn full_name(module: &str, test: &str) -> String {
    module.split_once("::").map_or_else(
        || test.to_owned(),
        |(_, module)| format!("{module}::{test}"),
    )
}

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_eval-harness");

impl Project {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join(".git")).expect("a folder");
        Project { dir }
    }

    /// A project with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let project = Project::new();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub fn command(&self, args: &[&str]) -> Command {
        // Another build of the program, such as a release build, when a script says so.
        let program = std::env::var_os("EVAL_HARNESS").unwrap_or_else(|| PROGRAM.into());
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null())
            // Where the tests run decides nothing: in CI the program writes no baselines, at GitHub
            // it tells its step.
            .env_remove("CI")
            .env_remove("GITHUB_ACTIONS")
            // Nor where their models are.
            .env_remove("OPENAI_BASE_URL")
            .env_remove("ANTHROPIC_BASE_URL")
            .env_remove("OPENAI_API_KEY_FILE")
            .env_remove("ANTHROPIC_API_KEY_FILE")
            // Never the cache of whoever runs the tests.
            .env("EVAL_HARNESS_CACHE_DIR", self.path().join("answers"))
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// A git command in the project's own repository, which `init` makes.
    pub fn git(&self, args: &[&str]) {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path())
            .args(["-c", "user.name=A", "-c", "user.email=a@example.com"])
            .args(["-c", "commit.gpgsign=false"])
            .args(args)
            .output()
            .expect("git");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
    }

    pub fn call(&self, args: &[&str]) -> Call {
        Call::of(self.command(args).output().expect("the program starts"))
    }

    /// The latest run's files with this ending.
    pub fn result(&self, ending: &str) -> PathBuf {
        let day = self.path().join("results/latest");
        let mut found: Vec<PathBuf> = std::fs::read_dir(&day)
            .expect("results")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.to_string_lossy().ends_with(ending))
            .collect();
        // Runs of one second differ by a suffix that does not sort.
        found.sort_by_key(|path| {
            path.metadata()
                .and_then(|data| data.modified())
                .expect("a file")
        });
        found
            .pop()
            .unwrap_or_else(|| panic!("no *{ending} in {}", day.display()))
    }

    /// The latest run's JSON report, from `eval_report` on.
    pub fn report(&self) -> Value {
        let call = self.call(&["report", "--run", "latest", "--format", "json"]);
        let mut report: Value = serde_json::from_str(&call.stdout).expect("JSON");
        report["eval_report"].take()
    }
}

impl Call {
    pub fn of(output: Output) -> Call {
        Call {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Asserts the exit code, and shows everything when it is another.
    pub fn expect(self, code: i32) -> Call {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

/// Waits until something holds, up to 30 seconds; what is waited for is bounded by the program, not
/// by this.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("never happened: {what}");
}
