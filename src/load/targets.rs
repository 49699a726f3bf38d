//! Targets: paths made absolute, programs looked for, the one target of a run chosen.

mod agent;
mod http;
mod skill;

pub(super) use http::{
    authorities, check_base, check_call, check_headers, check_input, check_method, collect_texts,
    unfilled,
};

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::depends;
use super::models;
use super::problem::{Code, Problem};
use super::reach::{InheritedKind, MissingValues, SparePart};
use super::refs::lexical;
use super::scope::{SuiteDesk, SuiteScope, seconds};
use super::source::Span;
use super::tree::Node;
use crate::model::{CommandTarget, HttpTarget, Target};
use crate::spec::words::{TargetIsolation, ThoughtsMode};
use crate::spec::{CommandSpec, ModelSpec, SkillSpec, TargetSpec};
use eval_base::files::check_stream;

/// A target with everything in place; `dir` is the folder of the file that says it.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    spec: &TargetSpec,
    node: &Node,
    dir: &Path,
) -> Option<Target> {
    Some(match spec {
        TargetSpec::Recorded(r) => {
            let path = lexical(&dir.join(&r.path));
            recorded(desk, &path, &r.path, node.locate("/path"))?;
            Target::Recorded {
                path,
                separate_thoughts: r.thoughts == Some(ThoughtsMode::Separate),
            }
        }
        TargetSpec::Command(c) => {
            check_program(desk, &c.command, node.locate("/command"))?;
            check_isolation(desk, c, node)?;
            Target::Command(CommandTarget {
                argv: c.command.clone(),
                dir: desk.suite.dir.clone(),
                env: c.env.clone(),
                env_file: desk.env_file_for(&c.env),
                timeout: if desk.suite.timeout.is_some() {
                    None
                } else {
                    c.timeout_seconds.map(seconds)
                },
                on_error: c.on_error,
                output: c.output,
                sandbox: c.sandbox,
                isolation: c.isolation,
                separate_thoughts: c.thoughts == Some(ThoughtsMode::Separate),
                depends_on: depends::declared(
                    desk,
                    c.depends_on.as_ref(),
                    node.get("depends_on"),
                    dir,
                ),
            })
        }
        TargetSpec::Echo(_) => Target::Echo,
        TargetSpec::Model(m) => Target::Model(Box::new(models::resolve(desk, m, node, dir)?)),
        TargetSpec::Http(h) => Target::Http(Box::new(http::resolve(desk, h, node, dir)?)),
        TargetSpec::Skill(s) => Target::Skill(Box::new(skill::resolve(desk, s, node, dir)?)),
        TargetSpec::Agent(a) => Target::Agent(Box::new(agent::resolve(desk, a, node, dir)?)),
    })
}

/// `sandbox: true` is for cases without a workspace, `isolation` for those with one; a target that is
/// inside the sandbox only for some cases is a mistake.
fn check_isolation(desk: &mut SuiteDesk, spec: &CommandSpec, node: &Node) -> Option<()> {
    let word = match spec.isolation {
        Some(TargetIsolation::Workspace) if spec.sandbox => "workspace",
        Some(TargetIsolation::None) if spec.sandbox => "none",
        _ => return Some(()),
    };
    let at = node.key_span("/isolation");
    let message = format!("`isolation: {word}` and `sandbox: true` contradict each other");
    desk.refuse(
        Problem::error(Code::WorkspaceSetting, at, message)
            .hint("remove one of them: with `isolation: sandbox`, the program is in the sandbox in a workspace, too")
            .related(node.key_span("/sandbox"), "the other one"),
    )
}

/// Whether a recording can be opened: a file, or a folder with a folder of programs for each task.
fn check_recording(path: &Path) -> std::io::Result<()> {
    match path.is_dir() {
        true => Ok(()),
        false => check_stream(path),
    }
}

/// A recording that a run needs must be there; while files are only looked at, its lack warns.
fn recorded(desk: &mut SuiteDesk, path: &Path, written: &str, at: Span) -> Option<()> {
    desk.suite.fence.note(path);
    let message = match check_recording(path) {
        Ok(()) => return Some(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            format!("the file `{written}` of recorded outputs does not exist")
        }
        Err(error) => format!("cannot read the recorded outputs `{written}`: {error}"),
    };
    desk.push_lenient(
        Problem::error(Code::MissingRef, at, message)
            .hint("the path is relative to the file that contains it"),
    );
    desk.suite.lenient.then_some(())
}

/// Refuses a command without a program; one that is not there is an error for a run.
pub(crate) fn check_program(desk: &mut SuiteDesk, argv: &[String], at: Span) -> Option<()> {
    let program = check_words(desk, argv, at)?;
    if find_program(desk.suite, program, |_| true).is_none()
        && !super::template::is_template(program)
    {
        let hint = if program.contains('/') {
            "a path with a slash is relative to the suite's folder"
        } else {
            "install it, or give its path"
        };
        let message = format!("the program `{program}` cannot be found");
        desk.push_lenient(Problem::error(Code::BadCommand, at, message).hint(hint));
        return desk.suite.lenient.then_some(());
    }
    Some(())
}

/// The program of a command; notes the files that the command names.
pub(crate) fn check_words<'a>(
    desk: &mut SuiteDesk,
    argv: &'a [String],
    at: Span,
) -> Option<&'a String> {
    let Some(program) = argv.first().filter(|p| !p.trim().is_empty()) else {
        return desk.refuse(Problem::error(
            Code::BadCommand,
            at,
            "the command has no program",
        ));
    };
    if argv.iter().any(|part| part.contains('\0')) {
        return desk.refuse(Problem::error(
            Code::BadCommand,
            at,
            "the command contains a NUL character",
        ));
    }
    depends::note_named_files(desk.suite, argv);
    Some(program)
}

/// The first fitting file of a program: below the suite's folder, or in the folders where programs
/// are looked for.
pub(super) fn find_program(
    suite: &SuiteScope,
    program: &str,
    fits: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let fits = |file: &PathBuf| file.is_file() && fits(file);
    if program.contains('/') {
        return Some(suite.dir.join(program)).filter(fits);
    }
    let path = suite.search_path.as_deref();
    let folders = path.unwrap_or("/usr/local/bin:/usr/bin:/bin").split(':');
    folders
        .map(|folder| Path::new(folder).join(program))
        .find(fits)
}

/// The targets that a suite defines, by name, with their nodes.
pub(super) type WrittenTargets = BTreeMap<String, (TargetSpec, Node)>;

/// What the command line says of the target.
pub(super) struct TargetChoice<'a> {
    pub name: Option<&'a str>,
    /// Absolute.
    pub outputs: Option<PathBuf>,
}

/// The target of a run.
#[derive(Debug, Default)]
pub(super) struct ChosenTarget {
    pub name: String,
    /// `None` when there is none, after reporting its problems, and for a target that is not called
    /// and lacks a variable.
    pub target: Option<Target>,
    /// Why there is none: a problem for suites with a case that has no target of its own.
    pub lack: Option<Problem>,
}

/// The name and the target of a run: `--outputs`, else `--target`, else `default`, else the only
/// one.
pub(super) fn choose(
    desk: &mut SuiteDesk,
    targets: &WrittenTargets,
    choice: TargetChoice,
    suite_at: Span,
) -> ChosenTarget {
    if let Some(path) = choice.outputs {
        desk.suite.fence.note(&path);
        if let Err(error) = check_recording(&path) {
            let message = match error.kind() {
                ErrorKind::NotFound => {
                    format!("`--outputs`: the file `{}` does not exist", path.display())
                }
                _ => format!("`--outputs`: cannot read `{}`: {error}", path.display()),
            };
            desk.push(Problem::general(Code::MissingRef, message));
            return ChosenTarget::default();
        }
        let target = Some(Target::Recorded {
            path,
            separate_thoughts: false,
        });
        return ChosenTarget {
            name: "recorded".to_owned(),
            target,
            lack: None,
        };
    }
    let picked = match choice.name {
        Some(name) => match targets.get_key_value(name) {
            Some(found) => Some(found),
            None => {
                let known: Vec<&str> = targets.keys().map(String::as_str).collect();
                let all = match known.as_slice() {
                    [] => "the suite defines no targets".to_owned(),
                    known => format!("the suite's targets are {}", known.join(", ")),
                };
                let message = format!("`--target`: the suite has no target `{name}`");
                let problem = Problem::general(Code::UnknownTarget, message);
                desk.push(problem.near(name, known).or_hint(all));
                return ChosenTarget::default();
            }
        },
        None => targets
            .get_key_value("default")
            .or_else(|| match targets.len() {
                1 => targets.first_key_value(),
                _ => None,
            }),
    };
    let Some((name, (spec, node))) = picked else {
        let names: Vec<&str> = targets.keys().map(String::as_str).collect();
        let problem = if targets.is_empty() {
            Problem::error(Code::NoTarget, suite_at, "the suite has no target")
                .hint("add `target:`, or run with `--outputs FILE`")
        } else {
            Problem::error(
                Code::NoTarget,
                suite_at,
                "the suite has several targets, and none has the name `default`",
            )
            .hint(format!(
                "select one with `--target`: {}; or call one `default`",
                names.join(", ")
            ))
        };
        return ChosenTarget {
            lack: Some(problem),
            ..ChosenTarget::default()
        };
    };
    let dir = desk.suite.dir.clone();
    // One that is not called may lack something.
    let is_whole = !desk
        .suite
        .missing
        .contains_key(&SparePart::Target(name.clone()));
    let target = is_whole.then(|| resolve(desk, spec, node, &dir)).flatten();
    ChosenTarget {
        name: name.clone(),
        target,
        lack: None,
    }
}

/// What evals may take from the targets of their suite.
pub(super) struct TargetOffer {
    pub http: Option<HttpTarget>,
    pub model: Option<(ModelSpec, Node)>,
    pub skill: Option<(SkillSpec, Node)>,
    /// What the targets lack that would be among these.
    pub missing: MissingValues,
}

/// The HTTP target, the model and the way to run skills that executions stand on: of the chosen
/// target, else of the only one of its kind; of skills first what the suite says under `skill:`.
/// One that lacks something is not offered.
pub(super) fn offer(
    desk: &mut SuiteDesk,
    targets: &WrittenTargets,
    chosen: &str,
    target: Option<&Target>,
) -> TargetOffer {
    let mut missing = MissingValues::new();
    let suite = desk.suite;
    let kinds = |wanted: fn(&TargetSpec) -> bool| {
        let mut all = targets.iter().filter(|(_, (spec, _))| wanted(spec));
        let own = all.clone().find(|(name, _)| name.as_str() == chosen);
        own.or_else(|| all.next().filter(|_| all.next().is_none()))
    };
    let mut whole = |kind: InheritedKind, wanted: fn(&TargetSpec) -> bool| {
        let (name, found) = kinds(wanted)?;
        match suite.missing.get(&SparePart::Target(name.clone())) {
            Some(lacks) => {
                missing.insert(SparePart::Inherited(kind), lacks.clone());
                None
            }
            None => Some(found),
        }
    };
    let http = match target {
        Some(Target::Http(http)) => Some((**http).clone()),
        _ => whole(InheritedKind::Http, |spec| {
            matches!(spec, TargetSpec::Http(_))
        })
        .and_then(|(spec, node)| {
            let dir = desk.suite.dir.clone();
            match resolve(desk, spec, node, &dir) {
                Some(Target::Http(http)) => Some(*http),
                _ => None,
            }
        }),
    };
    let skill = desk.suite.skill.clone().or_else(|| {
        let (spec, node) = whole(InheritedKind::Skill, |spec| {
            matches!(spec, TargetSpec::Skill(_))
        })?;
        let TargetSpec::Skill(skill) = spec else {
            return None;
        };
        Some((skill.clone(), node.clone()))
    });
    let model = whole(InheritedKind::Model, |spec| {
        matches!(spec, TargetSpec::Model(_))
    })
    .and_then(|(spec, node)| {
        let TargetSpec::Model(model) = spec else {
            return None;
        };
        let absolute = |path: &String| {
            lexical(&desk.suite.dir.join(path))
                .to_string_lossy()
                .into_owned()
        };
        let mut model = model.clone();
        // An eval's own file may lie elsewhere.
        model.ca_file = model.ca_file.as_ref().map(absolute);
        model.replay = model.replay.as_ref().map(absolute);
        Some((model, node.clone()))
    });
    TargetOffer {
        http,
        model,
        skill,
        missing,
    }
}
