//! Commands that judge the workspace that a target left: they run in a cell above it, like tests.
//!
//! Where the program runs code of the workspace, that code shares its cell: it can read the sample's
//! file and the environment, and could forge the verdict. The grade says so (`trust`).

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    CommandGrader, CommandGraderSpec, METHOD, SAMPLE_FILE, environment, errored, expected_text,
};
use super::{read_verdict, sample_file};
use crate::graders::code_execution::random;
use crate::graders::diff::fault_grade;
use crate::graders::output::as_text;
use crate::graders::programs::{BoxedFuture, allows_in_process, ending_of};
use crate::graders::settings::{CaseExpectation, incomplete};
use crate::graders::show::{bounded_text, compared};
use crate::graders::workspace_tests::put_back::{GraderCommand, PutBackPaths};
use crate::graders::workspace_tests::restore::{changed_words, is_changed_program, joined};
use crate::graders::workspace_tests::{PYTHON_CACHE, bytecode_folder};
use crate::graders::{GivenFile, TestFilesSpec, WorkspaceBench, WorkspaceCheck};
use crate::load::{Code, Node, Problem, SuiteDesk, check_program, check_words};
use crate::model::{Cause, CommandVerdict, Grade, GraderType, Trust, limits};
use crate::workspace::{BESIDE, CarriedFiles, WorkspaceFault, WorkspaceTestJob};
use eval_sandbox::process_tree::{TreeEnd, TreeOutput, printable};
use eval_sandbox::{ProgramEnding, RESULTS_FOLDER, WORKSPACE_FOLDER};

/// Names the descriptor with what is expected. Unlike a variable or a file, it can be read once.
const EXPECTED_FD: &str = "EVAL_EXPECTED_FD";

/// Bytes of a file of the suite that a command names.
const MOST_BYTES: u64 = 64 << 20;

/// What a command that judges a workspace needs besides its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandWorkspace {
    /// The command, with the places of the carried files in the cell.
    pub argv: Vec<String>,
    /// Where it runs, relative to the workspace; empty: there.
    pub cwd: String,
    /// Of all its processes together, in MiB.
    pub memory_mb: u64,
    /// Files of the suite's folder that words of the command name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<GivenFile>,
    /// Files that are written to the workspace before the program runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<GivenFile>,
}

/// Where the program finds a file of the suite's folder.
fn place_of(path: &str) -> String {
    format!("{BESIDE}/suite/{path}")
}

/// Refuses settings that need `workspace: true`.
pub(super) fn refuse_settings(
    spec: &CommandGraderSpec,
    desk: &mut SuiteDesk,
    node: &Node,
) -> Option<()> {
    let (key, message) = if spec.files != TestFilesSpec::default() {
        (
            "/files",
            "`files` are written to the workspace, but this grader does not run in it",
        )
    } else if spec.verdict == CommandVerdict::JsonFile {
        (
            "/verdict",
            "`verdict: json_file` is only for graders that run in the workspace",
        )
    } else {
        return Some(());
    };
    desk.refuse(incomplete(
        node.key_span(key),
        message,
        "add `workspace: true`",
    ))
}

impl CommandWorkspace {
    pub(super) fn resolve(
        spec: &CommandGraderSpec,
        desk: &mut SuiteDesk,
        node: &Node,
        case: CaseExpectation,
    ) -> Option<CommandWorkspace> {
        let key = node.key_span("/workspace");
        case.require_workspace(desk, "workspace: true", key)?;
        if spec.sandbox {
            let message = "`sandbox: true` and `workspace: true` contradict each other";
            let problem = Problem::error(Code::GraderConflict, node.key_span("/sandbox"), message);
            let hint =
                "remove `sandbox: true`: a grader that runs in a workspace is in the sandbox";
            return desk.refuse(problem.hint(hint).related(key, "the other one"));
        }
        if !allows_in_process(desk, key, "a `command` grader with `workspace: true`") {
            return None;
        }
        let at = node.locate("/command");
        let program = check_words(desk, &spec.command, at)?;
        // Whether the workspace has a program is known when it is made.
        if !program.starts_with(&format!("{WORKSPACE_FOLDER}/")) {
            check_program(desk, &spec.command, at)?;
        }
        let dir = desk.suite_dir().to_owned();
        let mut carried: Vec<GivenFile> = Vec::new();
        let words = CarriedFiles::of::<()>(&dir, &spec.command, |file| {
            let path = file.strip_prefix(&dir).unwrap_or(file);
            let path: PathBuf = path.components().collect();
            let path = path.to_string_lossy().into_owned();
            let content = desk.suite_file_content(&path, MOST_BYTES, at).ok_or(())?;
            let place = place_of(&path);
            if !carried.iter().any(|known| known.path == path) {
                carried.push(GivenFile::new(path, content));
            }
            Ok(place)
        });
        let words = words.ok()?;
        let limits = case.workspace.map(|workspace| workspace.limits);
        Some(CommandWorkspace {
            argv: words.words(&spec.command),
            cwd: case.workspace.map(|w| w.cwd.clone()).unwrap_or_default(),
            memory_mb: limits.unwrap_or_default().memory_mb,
            carried,
            files: spec.files.read(desk, node)?,
        })
    }
}

impl WorkspaceCheck for CommandGrader {
    fn grade<'g>(&'g self, bench: &'g WorkspaceBench<'g>) -> BoxedFuture<'g, Grade> {
        Box::pin(async move {
            let graded = self.graded_in_workspace(bench).await;
            let grade = graded.unwrap_or_else(|fault| fault_grade(METHOD, fault));
            compared(grade, self.expected.clone(), bench.sample.value)
        })
    }
}

impl CommandGrader {
    async fn graded_in_workspace(
        &self,
        bench: &WorkspaceBench<'_>,
    ) -> Result<Grade, WorkspaceFault> {
        let Some(own) = &self.workspace else {
            return Ok(errored(
                Cause::Harness,
                "the grader has no workspace to run in",
            ));
        };
        let workspace = bench.workspace;
        if let Some(why) = self.ambiguous_word(own, bench).await? {
            return Ok(errored(Cause::Harness, why));
        }
        let sample = sample_file::of(self, &bench.sample).await;
        let sample = sample.map_err(|why| WorkspaceFault::new(Cause::Harness, why))?;
        let command = GraderCommand {
            argv: &own.argv,
            cwd: &own.cwd,
            files: &own.files,
            tests: None,
        };
        let put_back = command.put_back(workspace).await?;
        // Nothing that ran before could know it.
        let verdict = format!("{:016x}{:016x}.json", random(), random());
        let run = match workspace
            .test(self.job(own, bench, sample, &verdict, &put_back))
            .await
        {
            Err(fault) if fault.cause == Cause::ExecutorMissing => {
                let program = self.argv.first().map_or("", String::as_str);
                if !is_changed_program(&own.cwd, program, workspace).await? {
                    return Err(fault);
                }
                let why = format!("`{program}` can no longer be started: {fault}");
                // A wrong answer would pass where the grader is negated.
                let grade = Grade::failed(GraderType::Code, METHOD, Cause::NoCode, why);
                return Ok(grade.with_trust(Trust::InProcess));
            }
            run => run?,
        };
        let file = run.results.iter().find(|(path, _)| *path == verdict);
        let file = file.map(|(_, content)| content.as_slice());
        let grade = match run.ending {
            ProgramEnding::Exited(code) => {
                let ended = TreeOutput {
                    end: TreeEnd::Exited(code),
                    stdout: run.stdout,
                    stdout_truncated: run.stdout_truncated,
                    stderr_tail: run.stderr,
                    elapsed: Duration::ZERO,
                };
                read_verdict(self, &ended, file, run.verdict_doubted)
            }
            // Code of the target may have run.
            ending => {
                let program = self.argv.first().map_or("", String::as_str);
                let (cause, why) = ending_of(&ending, self.timeout, own.memory_mb);
                let why = why.replacen("the program", &format!("the grader {program}"), 1);
                let grade = Grade::failed(GraderType::Code, METHOD, cause, why);
                match printable(&run.stderr) {
                    stderr if stderr.is_empty() => grade,
                    stderr => grade.with_detail("stderr", bounded_text(&stderr)),
                }
            }
        };
        let mut not_defended = changed_words(&own.argv, &own.cwd, workspace);
        let reads = "code of the workspace that the program loads or runs before it has read the expected value, and that reads this value";
        if self.expected.is_some() {
            not_defended.push(reads.to_owned());
        }
        not_defended.insert(
            0,
            match self.verdict {
                CommandVerdict::ExitCode => {
                    "code of the workspace that the program loads and that ends it with exit code 0"
                }
                CommandVerdict::Json => {
                    "code of the workspace that the program runs and that prints a verdict"
                }
                CommandVerdict::JsonFile => {
                    "code of the workspace that the program loads and that writes the file for the verdict"
                }
            }
            .to_owned(),
        );
        not_defended.extend(put_back.not_defended);
        let grade = grade.with_detail("not_defended", not_defended);
        let grade = match put_back.shown.is_empty() {
            true => grade,
            false => grade.with_detail("restored", put_back.shown),
        };
        Ok(grade.with_trust(Trust::InProcess))
    }

    /// A word that could mean a file of the suite or one of the target's. Taking the suite's could
    /// pass work that was not looked at.
    async fn ambiguous_word(
        &self,
        own: &CommandWorkspace,
        bench: &WorkspaceBench<'_>,
    ) -> Result<Option<String>, WorkspaceFault> {
        for (word, _) in self
            .argv
            .iter()
            .zip(&own.argv)
            .filter(|(was, is)| was != is)
        {
            let Ok(path) = joined(&own.cwd, word).parse() else {
                continue;
            };
            if !word.starts_with('/') && bench.workspace.is_in_hands_of_target(&path).await? {
                return Ok(Some(format!(
                    "`{word}` in the command is a file of the suite's folder and of the workspace; write \
                     `{WORKSPACE_FOLDER}/{path}` for the one in the workspace, else rename the other one or list it \
                     under `protected`"
                )));
            }
        }
        Ok(None)
    }

    fn job(
        &self,
        own: &CommandWorkspace,
        bench: &WorkspaceBench<'_>,
        sample: Vec<u8>,
        verdict: &str,
        put_back: &PutBackPaths,
    ) -> WorkspaceTestJob {
        let of_workspace = &bench.workspace.definition().env;
        let file = format!("{BESIDE}/{SAMPLE_FILE}");
        let env = environment(self, &bench.sample, &file).into_iter();
        let env = env.filter(|(name, _)| {
            let is_fixed = ["PATH", "HOME", "TMPDIR"].contains(&name.as_str());
            let is_ours = ["EVAL_CASE", "EVAL_CONTEXT"].contains(&name.as_str());
            is_ours || !is_fixed && !of_workspace.contains_key(name)
        });
        // What is no text is left out, as what is not listed is.
        let env = env.filter_map(|(name, value)| Some((name, value.into_string().ok()?)));
        let mut env: Vec<(String, String)> = env.collect();
        if self.verdict == CommandVerdict::JsonFile {
            let path = format!("{RESULTS_FOLDER}/{verdict}");
            env.push(("EVAL_VERDICT".to_owned(), path));
        }
        let expected = self.expected.as_ref().map(expected_text);
        if expected.is_some() {
            env.push((EXPECTED_FD.to_owned(), "3".to_owned()));
        }
        if !env.iter().any(|(name, _)| name == PYTHON_CACHE)
            && !of_workspace.contains_key(PYTHON_CACHE)
        {
            let name = format!("{:016x}", random());
            env.push((PYTHON_CACHE.to_owned(), bytecode_folder(&name)));
        }
        let contents = |file: &GivenFile, path: String| (path, file.content.to_vec());
        let carried = own.carried.iter();
        let carried = carried.map(|file| contents(file, format!("suite/{}", file.path)));
        let given = own.files.iter();
        WorkspaceTestJob {
            argv: own.argv.clone(),
            stdin: as_text(bench.sample.value).into_bytes(),
            given_once: expected.map(String::into_bytes),
            verdict: (self.verdict == CommandVerdict::JsonFile).then(|| verdict.to_owned()),
            env,
            cwd: own.cwd.clone(),
            files: given
                .map(|file| contents(file, file.path.clone()))
                .collect(),
            beside: carried.chain([(SAMPLE_FILE.to_owned(), sample)]).collect(),
            timeout: self.timeout,
            memory_mb: own.memory_mb,
            output_bytes: limits::GRADER_STDOUT.max(limits::GRADER_STDERR) as u64,
            watched: Vec::new(),
            steering: Vec::new(),
            put_back: put_back.paths.iter().cloned().collect(),
            stderr_tail: true,
        }
    }
}
