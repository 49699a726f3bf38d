//! The command that tests a workspace. What a target could have put into the workspace to steer a
//! test runner is pinned: configuration, plugins, interpreter options, the files of results.

use std::collections::BTreeMap;

use super::restore::{self, PytestConfig, RestoredFiles};
use super::{TestsFormat, WorkspaceTests};
use crate::graders::diff::TEST_GLOBS;
use crate::graders::show::{bounded_text, in_reason};
use crate::model::{Grade, Outcome, Trust};
use crate::workspace::{
    BESIDE, CODE_ENDINGS, FinishedWorkspace, WorkspaceFault, WorkspaceTestJob, WorkspaceTestRun,
};
use eval_sandbox::{RESULTS_FOLDER, WORKSPACE_HOME};

const LAUNCH: &str = include_str!("launch.py");
const CANARY: &str = include_str!("canary.py");
const REPORTER: &str = include_str!("reporter.mjs");
const JUNIT: &str = include_str!("EvalJunit.java");
/// In the words of a command, the runner for JUnit 4.
const JUNIT_WORDS: [&str; 2] = ["{{ junit }}", "{{junit}}"];

/// Bytes of stdout, where results are read from it, and otherwise.
const STDOUT_RESULTS: u64 = 32 << 20;
const STDOUT_SHOWN: u64 = 1 << 20;

/// Names the folder where Python keeps bytecode, and looks for it.
pub(in crate::graders) const PYTHON_CACHE: &str = "PYTHONPYCACHEPREFIX";

/// A folder that no target could have filled: Python loads bytecode instead of sources.
pub(in crate::graders) fn bytecode_folder(name: &str) -> String {
    format!("{WORKSPACE_HOME}/.cache/{name}")
}

/// What a target can't have known: names and a key, drawn for each run of tests.
pub(super) struct TestNonce {
    /// Proves that a line of results was written by who had it.
    pub key: String,
    /// Of the file of results and of the canaries' file.
    name: String,
    /// Of the canaries that must pass and fail.
    pub passing: String,
    pub failing: String,
}

impl TestNonce {
    pub fn new(random: [u64; 4]) -> TestNonce {
        let [a, b, c, d] = random;
        TestNonce {
            key: format!("{a:016x}{b:016x}"),
            name: format!("{c:016x}"),
            passing: format!("{d:016x}"),
            failing: format!("{:016x}", d.rotate_left(32) ^ 0x5a5a_a5a5_0f0f_f0f0),
        }
    }

    /// The file of results, relative to the folder for them.
    pub fn file(&self) -> String {
        format!("{}.jsonl", self.name)
    }

    fn fill(&self, text: &str) -> Vec<u8> {
        let filled = text
            .replace("@KEY@", &self.key)
            .replace("@CANARY@", &self.canary())
            .replace("@FILE@", &self.file())
            .replace("@CACHE@", &format!("/tmp/{}", self.name))
            .replace("@PASSING@", &self.passing)
            .replace("@FAILING@", &self.failing);
        filled.into_bytes()
    }

    fn canary(&self) -> String {
        format!("test_{}.py", self.name)
    }
}

/// How a command starts a runner.
enum RunnerCall<'c> {
    /// The interpreter, its options, and the arguments of the module.
    Python {
        interpreter: String,
        options: &'c [String],
        args: &'c [String],
    },
    Other,
}

/// The runner that a command starts itself.
pub(super) fn runner_of(command: &[String]) -> Option<TestsFormat> {
    let (program, args) = command.split_first()?;
    let first = args.first().map(String::as_str);
    match name_of(program) {
        "pytest" | "py.test" => Some(TestsFormat::Pytest),
        "go" if first == Some("test") => Some(TestsFormat::Go),
        "cargo" if first == Some("test") => Some(TestsFormat::Cargo),
        "node" if args.iter().any(|arg| arg == "--test") => Some(TestsFormat::Node),
        name if is_python(name) => match args.get(module_at(args)? + 1)?.as_str() {
            "pytest" => Some(TestsFormat::Pytest),
            "unittest" => Some(TestsFormat::Unittest),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a command starts the harness's runner for JUnit.
pub(super) fn uses_junit_runner(command: &[String]) -> bool {
    let names = |part: &String| JUNIT_WORDS.iter().any(|word| part.contains(word));
    command.iter().any(names)
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

pub(super) fn is_python(name: &str) -> bool {
    let rest = name.strip_prefix("python");
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Where `-m` is among the options of an interpreter.
fn module_at(args: &[String]) -> Option<usize> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        match arg.as_str() {
            "-m" => return Some(at),
            "-W" | "-X" => at += 2,
            option if option.starts_with('-') && option.len() > 1 => at += 1,
            _ => return None,
        }
    }
    None
}

fn call_of(command: &[String]) -> RunnerCall<'_> {
    let Some((program, args)) = command.split_first() else {
        return RunnerCall::Other;
    };
    let name = name_of(program);
    if is_python(name)
        && let Some(at) = module_at(args)
    {
        return RunnerCall::Python {
            interpreter: program.clone(),
            options: args.get(..at).unwrap_or_default(),
            args: args.get(at + 2..).unwrap_or_default(),
        };
    }
    if matches!(name, "pytest" | "py.test") {
        // The interpreter beside it: that of the same environment.
        let folder = program.strip_suffix(name).unwrap_or_default();
        return RunnerCall::Python {
            interpreter: format!("{folder}python3"),
            options: &[],
            args,
        };
    }
    RunnerCall::Other
}

/// A glob of files of tests, without their data, which tests may well write.
fn of_code(glob: &str) -> String {
    match glob.ends_with("/**") {
        true => format!("{glob}/*.{{{}}}", CODE_ENDINGS.join(",")),
        false => glob.to_owned(),
    }
}

/// Makes the jobs of one grading.
pub(super) struct JobMaker<'t> {
    tests: &'t WorkspaceTests,
    /// Of a command for pytest.
    pytest: PytestConfig,
    /// In words, files that the command names and the target changed.
    changed_files: Vec<String>,
    /// What the author set for all programs of the workspace.
    workspace_env: BTreeMap<String, String>,
}

impl<'t> JobMaker<'t> {
    pub async fn new(
        tests: &'t WorkspaceTests,
        workspace: &FinishedWorkspace,
    ) -> Result<JobMaker<'t>, WorkspaceFault> {
        let pytest = match tests.results {
            TestsFormat::Pytest => PytestConfig::find(tests, workspace).await?,
            _ => PytestConfig::default(),
        };
        Ok(JobMaker {
            tests,
            pytest,
            changed_files: restore::changed_words(&tests.command, &tests.cwd, workspace),
            workspace_env: workspace.definition().env.clone(),
        })
    }

    /// `restored`: files that are laid on the workspace besides those of the grader.
    pub fn job(&self, nonce: &TestNonce, restored: &RestoredFiles) -> WorkspaceTestJob {
        let tests = self.tests;
        let mut job = WorkspaceTestJob {
            argv: tests.command.iter().map(|part| filled(part)).collect(),
            stdin: Vec::new(),
            given_once: None,
            verdict: None,
            env: tests
                .env
                .iter()
                .map(|(name, value)| (name.clone(), filled(value)))
                .collect(),
            cwd: tests.cwd.clone(),
            files: Vec::new(),
            beside: Vec::new(),
            timeout: tests.timeout,
            memory_mb: tests.memory_mb,
            output_bytes: match tests.results {
                TestsFormat::Go | TestsFormat::Cargo | TestsFormat::Tap => STDOUT_RESULTS,
                _ => STDOUT_SHOWN,
            },
            watched: match tests.allow_weakened_tests {
                true => Vec::new(),
                false => TEST_GLOBS.map(of_code).to_vec(),
            },
            steering: restore::steering_files(tests),
            put_back: Vec::new(),
            stderr_tail: false,
        };
        let program = tests.command.first().map_or("", String::as_str);
        if matches!(program.rsplit('/').next(), Some("make" | "gmake")) {
            // A file with the name of a goal, or of what it depends on, is no result of its rule.
            job.argv.insert(1, "--always-make".to_owned());
        }
        if let (Some(place), Some(content)) = (self.pytest_place(nonce), &self.pytest.before) {
            let path = restore::joined(&tests.cwd, &place);
            job.files.push((path, content.clone()));
        }
        job.files.extend_from_slice(&restored.files);
        job.put_back = restored.paths.paths.iter().cloned().collect();
        let given = tests.files.iter();
        job.files
            .extend(given.map(|file| (file.path.clone(), file.content.to_vec())));
        // What the author wrote for the workspace is no choice of the target.
        let written = self.workspace_env.iter();
        for (name, value) in written {
            set_unless_written(&mut job.env, name, value);
        }
        set_unless_written(&mut job.env, "EVAL_RESULTS_DIR", RESULTS_FOLDER);
        let bytecode = bytecode_folder(&nonce.name);
        set_unless_written(&mut job.env, PYTHON_CACHE, &bytecode);
        match tests.results {
            TestsFormat::Pytest => self.pytest(&mut job, nonce),
            TestsFormat::Unittest => launch(&mut job, nonce, "unittest", Vec::new()),
            TestsFormat::Node => node(&mut job, nonce),
            TestsFormat::Go => go(&mut job),
            TestsFormat::Cargo => cargo(&mut job),
            TestsFormat::Junit if uses_junit_runner(&tests.command) => {
                let runner = ("EvalJunit.java".to_owned(), nonce.fill(JUNIT));
                job.beside.push(runner);
            }
            TestsFormat::Junit => junit(&mut job, nonce),
            TestsFormat::Tap | TestsFormat::ExitCode => {}
        }
        job
    }

    /// The file with pytest's configuration.
    fn pytest_place(&self, nonce: &TestNonce) -> Option<String> {
        self.pytest.place(&format!("pytest-{}", nonce.name))
    }

    fn pytest(&self, job: &mut WorkspaceTestJob, nonce: &TestNonce) {
        let mut options: Vec<String> = Vec::new();
        match self.pytest_place(nonce) {
            Some(path) => options.extend(["-c".to_owned(), path]),
            None => {
                job.beside
                    .push(("pytest.ini".to_owned(), b"[pytest]\n".to_vec()));
                options.extend(["-c".to_owned(), format!("{BESIDE}/pytest.ini")]);
            }
        }
        options.extend([
            format!("--rootdir={}", self.pytest.root),
            "-p".to_owned(),
            "no:cacheprovider".to_owned(),
            "--continue-on-collection-errors".to_owned(),
        ]);
        set_unless_written(&mut job.env, "PYTEST_ADDOPTS", "");
        set_unless_written(&mut job.env, "PYTEST_PLUGINS", "");
        set_unless_written(&mut job.env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1");
        launch(job, nonce, "pytest", options);
    }

    /// What is pinned, and what is not.
    fn pinned(&self, restored: &RestoredFiles) -> (Vec<&'static str>, Vec<String>) {
        let shared = "code of the workspace that changes its tests in memory, or looks for the key of the results, in the process that they share";
        let (pinned, not_defended): (&[&str], &[&str]) = match self.tests.results {
            TestsFormat::Pytest => (
                &[
                    "the configuration of pytest and `conftest.py` as before the target ran",
                    "isolated interpreter: no `sitecustomize` and no bytecode of the workspace; the runner is loaded before any folder of the workspace is searched",
                    "results in a file with a random name, each line with a digest over a random key",
                    "tests with random names, of which some must fail",
                ],
                &[
                    shared,
                    "objects that claim to equal every other",
                    "plugins that modules of the target name",
                ],
            ),
            TestsFormat::Unittest => (
                &[
                    "isolated interpreter: no `sitecustomize` and no bytecode of the workspace; the runner is loaded before any folder of the workspace is searched",
                    "a test runner of the harness instead of that of unittest",
                    "results in a file with a random name, each line with a digest over a random key",
                    "tests with random names, of which some must fail",
                ],
                &[shared, "objects that claim to equal every other"],
            ),
            TestsFormat::Node => (
                &[
                    "results from the process that starts the test files, in a file with a random name, each line with a digest over a random key",
                    "no NODE_OPTIONS and NODE_PATH",
                ],
                &[
                    "code of the workspace that changes `node:test` and `node:assert` in its own process",
                ],
            ),
            TestsFormat::Go => (
                &["no GOFLAGS, no cached results"],
                &[
                    "code of the workspace that prints what `go test` prints, also in `TestMain`",
                    "modules that `go.mod` replaces, and `vendor/`",
                ],
            ),
            TestsFormat::Cargo => (
                &[
                    "`.cargo/config.toml` as before the target ran",
                    "all tests are run",
                ],
                &[
                    "code of the workspace that prints what the test program prints",
                    "build scripts",
                ],
            ),
            TestsFormat::Junit if uses_junit_runner(&self.tests.command) => (
                &[
                    "a runner of the harness, and no second copy of JUnit in folders of the class path",
                    "results in a file with a random name, each line with a digest over a random key",
                    "tests with random names, of which some must fail",
                ],
                &[
                    shared,
                    "objects that claim to equal every other",
                    "what compiles the tests, and the order of the class path",
                ],
            ),
            TestsFormat::Junit | TestsFormat::Tap => (
                &["a folder for results that is empty before"],
                &["programs of the workspace that write files of results"],
            ),
            TestsFormat::ExitCode => (
                &[],
                &["code of the workspace that ends the command with exit code 0"],
            ),
        };
        let mut not_defended: Vec<String> =
            not_defended.iter().map(|&text| text.to_owned()).collect();
        not_defended.push(
            "code of the workspace that reads the tests while they run, and answers what they expect"
                .to_owned(),
        );
        if !self.tests.allow_weakened_tests {
            let data =
                "data of the tests that code rewrites while they run, and puts back with its times";
            not_defended.push(data.to_owned());
        }
        let script = restored
            .paths
            .script
            .as_ref()
            .map(|path| format!("`{path}`"));
        let changed = self.changed_files.iter();
        not_defended.extend(
            changed
                .filter(|words| !script.as_ref().is_some_and(|script| words.contains(script)))
                .cloned(),
        );
        not_defended.extend(restored.paths.not_defended.iter().cloned());
        let of_all = [
            "files of tests and those that decide how they run, which must not change while they run",
            "no caches of the target",
        ];
        let own =
            "tests that were there also pass without what the target changed and added among them";
        let of_all = of_all
            .into_iter()
            .chain((!self.tests.allow_weakened_tests).then_some(own));
        (of_all.chain(pinned.iter().copied()).collect(), not_defended)
    }

    /// The grade with what was pinned and, where it did not pass, the end of the output.
    pub fn explain(&self, grade: Grade, restored: &RestoredFiles, run: &WorkspaceTestRun) -> Grade {
        let (pinned, not_defended) = self.pinned(restored);
        let mut grade = grade
            .with_detail("pinned", pinned)
            .with_detail("not_defended", not_defended)
            .with_trust(Trust::InProcess);
        if let (Some(path), Some(_)) = (&self.pytest.path, &self.pytest.before) {
            let path = in_reason(&restore::joined(&self.tests.cwd, path));
            grade = grade.with_detail("pytest_configuration_of_before", path);
        }
        if grade.outcome == Outcome::Passed {
            return grade;
        }
        for (key, stream) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            let text = String::from_utf8_lossy(tail(stream));
            if !text.trim().is_empty() {
                grade = grade.with_detail(key, bounded_text(text.trim()));
            }
        }
        grade
    }
}

/// The end of a stream: what a runner prints last says most.
fn tail(stream: &[u8]) -> &[u8] {
    let most = crate::model::limits::GRADE_VALUE;
    stream
        .get(stream.len().saturating_sub(most)..)
        .unwrap_or(stream)
}

/// With the folder for results and the runner for JUnit filled in.
fn filled(text: &str) -> String {
    let text = text
        .replace("{{ results }}", RESULTS_FOLDER)
        .replace("{{results}}", RESULTS_FOLDER);
    JUNIT_WORDS.iter().fold(text, |text, word| {
        text.replace(word, &format!("{BESIDE}/EvalJunit.java"))
    })
}

fn set_unless_written(env: &mut Vec<(String, String)>, name: &str, value: &str) {
    if !env.iter().any(|(written, _)| written == name) {
        env.push((name.to_owned(), value.to_owned()));
    }
}

/// Starts the launcher in place of the module that the command names.
fn launch(job: &mut WorkspaceTestJob, nonce: &TestNonce, mode: &str, options: Vec<String>) {
    let RunnerCall::Python {
        interpreter,
        options: own,
        args,
    } = call_of(&job.argv)
    else {
        return;
    };
    let mut argv = vec![interpreter];
    argv.extend(["-I", "-B"].map(str::to_owned));
    argv.extend(own.iter().cloned());
    argv.extend([format!("{BESIDE}/launch.py"), mode.to_owned()]);
    // An argument by itself, which the sandbox may replace by where the folder is.
    argv.push(format!("{RESULTS_FOLDER}/{}", nonce.file()));
    argv.extend(options);
    argv.extend(args.iter().cloned());
    job.argv = argv;
    job.beside
        .push(("launch.py".to_owned(), nonce.fill(LAUNCH)));
    job.beside.push((nonce.canary(), nonce.fill(CANARY)));
}

fn node(job: &mut WorkspaceTestJob, nonce: &TestNonce) {
    job.beside
        .push(("reporter.mjs".to_owned(), nonce.fill(REPORTER)));
    let options = [
        "--test-reporter".to_owned(),
        format!("{BESIDE}/reporter.mjs"),
        "--test-reporter-destination".to_owned(),
        format!("{RESULTS_FOLDER}/{}", nonce.file()),
        "--test-reporter=tap".to_owned(),
        "--test-reporter-destination=stdout".to_owned(),
    ];
    job.argv.splice(1..1, options);
    set_unless_written(&mut job.env, "NODE_OPTIONS", "");
    set_unless_written(&mut job.env, "NODE_PATH", "");
}

fn go(job: &mut WorkspaceTestJob) {
    let own = |option: &str| job.argv.iter().any(|arg| arg.starts_with(option));
    let mut options = Vec::new();
    if !own("-json") {
        options.push("-json".to_owned());
    }
    if !own("-count") {
        options.push("-count=1".to_owned());
    }
    job.argv.splice(2..2, options);
    set_unless_written(&mut job.env, "GOFLAGS", "");
}

fn cargo(job: &mut WorkspaceTestJob) {
    if !job.argv.iter().any(|arg| arg == "--no-fail-fast") {
        job.argv.splice(2..2, ["--no-fail-fast".to_owned()]);
    }
}

/// A pytest that is asked for a JUnit file writes one.
fn junit(job: &mut WorkspaceTestJob, nonce: &TestNonce) {
    let writes = job.argv.iter().any(|arg| arg.contains("junit"));
    if runner_of(&job.argv) == Some(TestsFormat::Pytest) && !writes {
        job.argv.extend([
            "--junitxml".to_owned(),
            format!("{RESULTS_FOLDER}/{}.xml", nonce.name),
            "-p".to_owned(),
            "no:cacheprovider".to_owned(),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn argv(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn runner_is_recognised_by_the_command() {
        let table = [
            ("pytest -q tests", Some(TestsFormat::Pytest)),
            (".venv/bin/pytest", Some(TestsFormat::Pytest)),
            ("python3 -m pytest -x", Some(TestsFormat::Pytest)),
            (
                "python3.11 -W error -B -m unittest discover",
                Some(TestsFormat::Unittest),
            ),
            ("/usr/bin/python -m unittest", Some(TestsFormat::Unittest)),
            ("python3 run_tests.py -m pytest", None),
            ("python3 -m mypkg", None),
            ("go test ./...", Some(TestsFormat::Go)),
            ("go vet ./...", None),
            ("cargo test", Some(TestsFormat::Cargo)),
            ("node --test tests/", Some(TestsFormat::Node)),
            ("node run.js", None),
            ("make test", None),
        ];
        for (line, runner) in table {
            assert_eq!(runner_of(&argv(line)), runner, "{line}");
        }
    }

    fn launched(line: &str) -> WorkspaceTestJob {
        let mut job = WorkspaceTestJob {
            argv: argv(line),
            stdin: Vec::new(),
            given_once: None,
            verdict: None,
            env: Vec::new(),
            cwd: String::new(),
            files: Vec::new(),
            beside: Vec::new(),
            timeout: Duration::from_secs(1),
            memory_mb: 1,
            output_bytes: 1,
            watched: Vec::new(),
            steering: Vec::new(),
            put_back: Vec::new(),
            stderr_tail: false,
        };
        let nonce = TestNonce::new([1, 2, 3, 4]);
        launch(&mut job, &nonce, "m", vec!["-o".to_owned()]);
        job
    }

    #[test]
    fn python_starts_the_launcher_in_isolation() {
        let options = "-I -B";
        let launcher = "/tmp/tests/launch.py m /results/0000000000000003.jsonl -o";
        let table = [
            ("pytest -q a", format!("python3 {options} {launcher} -q a")),
            (
                ".venv/bin/pytest",
                format!(".venv/bin/python3 {options} {launcher}"),
            ),
            (
                "python3.11 -W error -m pytest a",
                format!("python3.11 {options} -W error {launcher} a"),
            ),
        ];
        for (line, expected) in table {
            assert_eq!(launched(line).argv.join(" "), expected, "{line}");
        }
    }

    #[test]
    fn runners_are_made_to_report_every_test() {
        let with = |line: &str, pin: fn(&mut WorkspaceTestJob)| {
            let mut job = launched(line);
            job.argv = argv(line);
            pin(&mut job);
            job.argv.join(" ")
        };
        assert_eq!(with("go test ./...", go), "go test -json -count=1 ./...");
        assert_eq!(
            with("go test -json -count=2 -run A ./...", go),
            "go test -json -count=2 -run A ./..."
        );
        assert_eq!(
            with("cargo test --lib -- a", cargo),
            "cargo test --no-fail-fast --lib -- a"
        );
        assert_eq!(
            with("node --test a.js", |job| node(
                job,
                &TestNonce::new([1, 2, 3, 4])
            )),
            "node --test-reporter /tmp/tests/reporter.mjs --test-reporter-destination /results/0000000000000003.jsonl \
             --test-reporter=tap --test-reporter-destination=stdout --test a.js"
        );
    }

    #[test]
    fn nothing_of_the_launcher_stays_open() {
        for (name, content) in launched("pytest").beside {
            let text = String::from_utf8(content).unwrap();
            let open = text
                .split('@')
                .any(|part| part.len() > 2 && part.chars().all(|c| c.is_ascii_uppercase()));
            assert!(!open, "{name}");
        }
    }
}
