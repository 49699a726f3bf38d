//! One step of a phase: what its type has to say, and what it may not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::asked;
use super::{PhaseDesk, StepPlace};
use crate::load::problem::{Code, Problem};
use crate::load::refs::lexical;
use crate::load::scope::seconds;
use crate::load::source::Span;
use crate::load::tree::Node;
use crate::load::workspace::{self, LevelWorkspace};
use crate::model::{PhaseStep, StepCommand, StepPlacement, StepWork};
use crate::spec::{FailureAction, StepConfig, StepSpec, StepType, WorkspaceSetting};
use eval_base::globs::{is_glob, path_glob};

/// Seconds that a command may take when its step does not say.
const DEFAULT_TIMEOUT: f64 = 3600.0;

/// Keys of `config` that only an eval step has.
const OF_EVALS: [&str; 10] = [
    "suite",
    "required_pass_rate",
    "metrics",
    "thresholds",
    "preset",
    "filters",
    "target",
    "prompt",
    "samples",
    "vars",
];

/// A step with the places of what an eval step says; `None` when there is nothing to go on with,
/// which is told. What is told of other steps does not stop it: all problems are to be seen at
/// once.
pub(super) fn read(
    desk: &mut PhaseDesk,
    spec: StepSpec,
    node: &Node,
    notification: Option<Span>,
    of_phase: Option<&Arc<LevelWorkspace>>,
) -> Option<(PhaseStep, Option<StepPlace>)> {
    fitting(desk, &spec, node);
    let StepSpec {
        kind,
        name,
        description,
        command,
        dir,
        workspace,
        timeout_seconds,
        config,
    } = spec;
    let workspace = match kind {
        StepType::Implement => None,
        _ => desk.workspace(&workspace, node, of_phase),
    };
    let config = config.unwrap_or_default();
    let name = [name, description]
        .into_iter()
        .flatten()
        .find(|text| !text.trim().is_empty());
    let name = name.unwrap_or_else(|| kind.name().to_owned());
    let action = match config.blocking {
        Some(false) => FailureAction::Warn,
        _ => FailureAction::Block,
    };
    let mut place = None;
    let work = match (kind, command) {
        (StepType::Eval, _) => {
            let config_at = node.get("config")?;
            let (eval, at) =
                asked::eval_step(desk, config, config_at, notification, workspace.as_deref())?;
            place = Some(at);
            eval
        }
        (_, Some(argv)) if let Some(level) = workspace => {
            let cwd = dir.as_deref().and_then(|dir| {
                desk.in_suite(|desk| workspace::inner_folder(desk, dir, node.locate("/dir")))
            });
            let mut definition = workspace::of_command(&level, cwd);
            let junit = inner_globs(desk, &config, &definition.cwd, node);
            // What is there already is not a result of the command.
            let written = junit.iter().filter(|glob| !is_glob(glob)).cloned();
            definition.exclude.extend(written);
            StepWork::Command(StepCommand {
                argv,
                place: StepPlacement::Copy(Arc::new(definition)),
                timeout: seconds(timeout_seconds.unwrap_or(DEFAULT_TIMEOUT)),
                junit,
            })
        }
        (_, command) => {
            let folder = folder(desk, dir.as_deref(), node);
            let junit = junit(desk, &config, &folder, node);
            match command {
                Some(argv) => StepWork::Command(StepCommand {
                    argv,
                    place: StepPlacement::InPlace(folder),
                    timeout: seconds(timeout_seconds.unwrap_or(DEFAULT_TIMEOUT)),
                    junit,
                }),
                None if junit.is_empty() => StepWork::Unchecked,
                None => StepWork::Junit(junit),
            }
        }
    };
    Some((
        PhaseStep {
            kind,
            name,
            action,
            work,
        },
        place,
    ))
}

/// Keys that the type of the step has no use for: somebody expects something of them.
fn fitting(desk: &mut PhaseDesk, spec: &StepSpec, node: &Node) {
    let (kind, word) = (spec.kind, spec.kind.name());
    let mut refuse = |pointer: &str, message: String, hint: &str| {
        let at = node.key_span(pointer);
        let problem = Problem::error(Code::PhaseSetting, at, message);
        desk.problem(problem.maybe_hint(Some(hint).filter(|hint| !hint.is_empty())));
    };
    let own = match &spec.workspace {
        WorkspaceSetting::Own(own) => Some(own),
        WorkspaceSetting::Inherited | WorkspaceSetting::Ended => None,
    };
    if let Some(own) = own {
        if kind == StepType::Implement {
            refuse(
                "/workspace",
                "a step of type `implement` has no `workspace`: it changes the working tree"
                    .to_owned(),
                "remove it; steps that judge the work may have one",
            );
        } else if kind != StepType::Eval {
            if spec.command.is_none() {
                refuse(
                    "/workspace",
                    "`workspace` has no effect without a `command`".to_owned(),
                    "",
                );
            }
            for (key, is_set) in [
                ("hidden", !own.hidden.is_empty()),
                ("protected", !own.protected.is_empty()),
                ("keep", own.keep.is_some()),
            ] {
                if is_set {
                    let message = format!(
                        "`{key}` is for steps of type `eval`, but this step has the type `{word}`"
                    );
                    refuse(
                        &format!("/workspace/{key}"),
                        message,
                        "the command of a step sees all files; `workspace` of the phase may have this key, for its eval steps",
                    );
                }
            }
        }
    }
    let config = node.get("config");
    let has = |key: &str| config.is_some_and(|config| config.get(key).is_some());
    if kind == StepType::Eval {
        for key in ["command", "dir", "timeout_seconds"] {
            if node.get(key).is_some() {
                let hint =
                    "an eval step runs its suite; put a command into a separate step before it";
                refuse(
                    &format!("/{key}"),
                    format!("a step of type `eval` has no `{key}`"),
                    hint,
                );
            }
        }
        if !has("suite") {
            let at = if config.is_some() { "/config" } else { "/type" };
            let at = node.key_span(at);
            let problem = Problem::error(
                Code::MissingKey,
                at,
                "a step of type `eval` needs `config.suite`",
            );
            desk.problem(problem.hint(
                "add `config: {suite: ./evals/eval-suite.yaml}`; the path is relative to this file",
            ));
        } else if has("junit") {
            refuse(
                "/config/junit",
                "a step of type `eval` has no `junit`".to_owned(),
                "",
            );
        }
        return;
    }
    for key in OF_EVALS.into_iter().filter(|key| has(key)) {
        let message =
            format!("`{key}` is for steps of type `eval`, but this step has the type `{word}`");
        refuse(&format!("/config/{key}"), message, "");
    }
    let has_junit = has("junit");
    if has_junit && kind != StepType::Test {
        let message =
            format!("`junit` is for steps of type `test`, but this step has the type `{word}`");
        refuse("/config/junit", message, "");
    }
    let has_command = spec.command.is_some();
    if !has_command && spec.timeout_seconds.is_some() {
        let message = "`timeout_seconds` has no effect without a `command`".to_owned();
        refuse("/timeout_seconds", message, "");
    }
    if !has_command && !has_junit && spec.dir.is_some() {
        refuse(
            "/dir",
            "`dir` has no effect without a `command`".to_owned(),
            "",
        );
    }
    let blank = spec
        .command
        .as_ref()
        .and_then(|argv| argv.first())
        .is_some_and(|name| name.trim().is_empty());
    if blank {
        let at = node.locate("/command/0");
        desk.problem(Problem::error(
            Code::BadCommand,
            at,
            "the name of the program is empty",
        ));
    }
}

/// The folder of a command. Absolute.
fn folder(desk: &mut PhaseDesk, dir: Option<&str>, node: &Node) -> PathBuf {
    let folder = lexical(&desk.dir.join(dir.unwrap_or(".")));
    if let Some(text) = dir {
        let at = node.locate("/dir");
        if folder.is_file() {
            desk.problem(Problem::error(
                Code::BadPath,
                at,
                format!("`{text}` is a file, not a folder"),
            ));
        } else if !folder.exists() {
            let problem = Problem::warning(
                Code::BadPath,
                at,
                format!("the folder `{text}` does not exist yet"),
            );
            desk.problem(
                problem.hint("it is relative to this file; an earlier step may create it"),
            );
        }
    }
    folder
}

/// Globs of JUnit files, absolute.
fn junit(desk: &mut PhaseDesk, config: &StepConfig, folder: &Path, node: &Node) -> Vec<String> {
    let mut globs = Vec::new();
    let at = node.locate("/config/junit");
    for text in &config.junit.0 {
        if let Err(reason) = path_glob(text) {
            desk.problem(Problem::error(
                Code::BadGlob,
                at,
                format!("`{text}` is not a glob: {reason}"),
            ));
        } else if text.trim().is_empty() {
            desk.problem(Problem::error(Code::BadGlob, at, "the glob is empty"));
        } else {
            globs.push(absolute_glob(folder, text));
        }
    }
    globs
}

/// Globs of JUnit files in a workspace, relative to its top; those of the step start in `cwd`.
fn inner_globs(desk: &mut PhaseDesk, config: &StepConfig, cwd: &str, node: &Node) -> Vec<String> {
    let at = node.locate("/config/junit");
    let mut globs = Vec::new();
    for text in &config.junit.0 {
        let relative = text.trim_start_matches("./");
        let is_odd = |part| matches!(part, "" | "." | "..");
        let message = match path_glob(text) {
            Err(reason) => format!("`{text}` is not a glob: {reason}"),
            Ok(_) if relative.split('/').any(is_odd) => {
                format!("`{text}` is not a path in the workspace of the step")
            }
            Ok(_) if cwd.is_empty() => {
                globs.push(relative.to_owned());
                continue;
            }
            Ok(_) => {
                globs.push(absolute_glob(Path::new(cwd), relative));
                continue;
            }
        };
        let problem = Problem::error(Code::BadGlob, at, message);
        desk.problem(problem.hint("write it relative to the folder in which the command runs"));
    }
    globs
}

/// A glob that starts in a folder whose own name is no pattern.
pub(crate) fn absolute_glob(folder: &Path, text: &str) -> String {
    if text.starts_with('/') {
        return text.to_owned();
    }
    let literal: String = folder
        .to_string_lossy()
        .chars()
        .fold(String::new(), |mut out, c| {
            if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
                out.push('\\');
            }
            out.push(c);
            out
        });
    let mut text = text;
    while let Some(rest) = text.strip_prefix("./") {
        text = rest;
    }
    format!("{}/{text}", literal.trim_end_matches('/'))
}
