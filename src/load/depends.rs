//! What outputs depend on besides inputs and settings: `depends_on:`, the files that a command
//! names, and the values of its environment variables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::env_file::SuiteEnvironment;
use super::inputs::file_hash;
use super::refs::{existing, expand};
use super::scope::{SuiteDesk, SuiteScope};
use super::targets::find_program;
use super::tree::Node;
use super::workspace::WorkspaceInputs;
use crate::model::{
    CommandTarget, Dependencies, Dependency, DependsOn, DependsOnEntry, FileStamp, FileStamps,
    Fingerprint, Plan, Target, UnseenDependencies,
};
use eval_base::globs::is_glob;

/// Digests of the values of variables are digested so often, so that trying all short secrets
/// takes long.
const ENV_ROUNDS: u32 = 10_000;

/// The folder in which Python keeps what it compiled: it changes when the sources run.
const PYTHON_CACHE: &str = "__pycache__";

/// Characters at which a word of a command is cut to look for the names of files: `sh -c` has all
/// of them in one word, and an option may hold one behind `=`.
const CUTS: [char; 12] = ['=', ';', '|', '&', '<', '>', '(', ')', '"', '\'', '`', ','];

/// A `depends_on:` list with its files; what is missing is reported, and left out while files are
/// only looked at. Paths start in the folder of the file that is being read.
pub(super) fn declared(
    desk: &mut SuiteDesk,
    list: Option<&Vec<String>>,
    node: Option<&Node>,
    dir: &Path,
) -> Option<DependsOn> {
    let (list, node) = (list?, node?);
    let mut depends_on = DependsOn::default();
    let places = node.as_seq().unwrap_or_default();
    for (at, text) in list.iter().enumerate() {
        let span = places.get(at).unwrap_or(node).span;
        let fence = &desk.suite.fence;
        let found = if is_glob(text) && !dir.join(text).exists() {
            expand(dir, text, fence, span)
        } else {
            existing(dir, text, fence, span).and_then(|(path, real)| match real.is_dir() {
                true => expand(&path, "**", fence, span),
                false => Ok(vec![path]),
            })
        };
        match found {
            Ok(mut files) => {
                files.retain(|file| !file.iter().any(|part| part == PYTHON_CACHE));
                depends_on.entries.push(DependsOnEntry {
                    text: shown_path(&desk.suite.root, &dir.join(text)),
                    files,
                });
            }
            Err(problem) => desk.push_lenient(problem),
        }
    }
    Some(depends_on)
}

/// Of the suite's target.
pub(super) fn of_target(target: &Target, suite: &SuiteScope) -> Dependencies {
    let (command, depends_on) = match target {
        Target::Command(command) => (Some(command), &command.depends_on),
        Target::Skill(skill) => (Some(&skill.command), &skill.command.depends_on),
        Target::Agent(agent) => (Some(&agent.command), &agent.command.depends_on),
        Target::Http(http) => (http.serve.as_deref(), &http.depends_on),
        // Recordings are recorded by their content; of a model nothing more can be known.
        Target::Recorded { .. } | Target::Echo | Target::Model(_) => {
            return Dependencies::default();
        }
    };
    let argv = command.map_or(&[][..], |command| &command.argv);
    let mut stamps = stamps(files_of(argv, suite));
    stamps.extend(listed_stamps(depends_on.as_ref(), suite));
    let named = command.map_or_else(Vec::new, |command| named_files(command, suite));
    let unseen = match (depends_on, target) {
        (Some(_), _) => UnseenDependencies::Nothing,
        (None, Target::Command(_) | Target::Http(_)) if !named.is_empty() => {
            UnseenDependencies::MoreFiles
        }
        // The command of a skill names the agent, and not what the skill says; what the model of
        // an agent says is not known either.
        (None, _) => UnseenDependencies::Everything,
    };
    let mut found = named;
    found.extend(command.and_then(|command| program(command, suite)));
    found.extend(command.and_then(|command| variables(&command.env, &suite.environment)));
    found.extend(entries(depends_on.as_ref(), suite));
    Dependencies {
        found,
        declared: depends_on.is_some(),
        unseen,
        stamps: FileStamps(stamps),
    }
}

/// Of an eval: its `depends_on`, its own target, and what its workspaces are made of; `None` when it
/// has none of these.
pub(super) fn of_eval(
    depends_on: Option<&DependsOn>,
    target: Option<&Target>,
    inputs: &WorkspaceInputs,
    suite: &SuiteScope,
) -> Option<Box<Dependencies>> {
    if suite.lenient || depends_on.is_none() && target.is_none() && inputs.is_empty() {
        return None;
    }
    let mut all = target.map_or_else(Dependencies::default, |target| of_target(target, suite));
    all.stamps.0.extend(listed_stamps(depends_on, suite));
    all.found.extend(entries(depends_on, suite));
    all.found.retain(|found| !inputs.has(&found.name));
    all.found.extend(inputs.dependencies(suite));
    if depends_on.is_some() {
        all.declared = true;
        all.unseen = UnseenDependencies::Nothing;
    }
    Some(Box::new(all))
}

/// A path as it is the same wherever the project lies.
pub(super) fn shown_path(root: &Path, path: &Path) -> String {
    let path = super::refs::lexical(path);
    path.strip_prefix(root)
        .unwrap_or(&path)
        .display()
        .to_string()
}

/// Without what runs write: it changes with every run.
fn entries(depends_on: Option<&DependsOn>, suite: &SuiteScope) -> Vec<Dependency> {
    let entries = depends_on.map_or(&[][..], |depends_on| &depends_on.entries);
    let hash = |entry: &DependsOnEntry| {
        let files = entry.files.iter();
        let files = files.filter(|file| !file.starts_with(&suite.output_dir));
        Dependency {
            name: entry.text.clone(),
            hash: hash_of(files, suite),
            workspace: false,
        }
    };
    entries.iter().map(hash).collect()
}

pub(super) fn stamp(file: &Path) -> FileStamp {
    let metadata = file.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}

fn stamps(files: impl Iterator<Item = PathBuf>) -> Vec<(PathBuf, FileStamp)> {
    files.map(|file| (file.clone(), stamp(&file))).collect()
}

fn listed_stamps(depends_on: Option<&DependsOn>, suite: &SuiteScope) -> Vec<(PathBuf, FileStamp)> {
    let entries = depends_on.map_or(&[][..], |depends_on| &depends_on.entries);
    let files = entries.iter().flat_map(|entry| &entry.files);
    let files = files.filter(|file| !file.starts_with(&suite.output_dir));
    stamps(files.cloned())
}

/// The files on which outputs of a plan depend that are not as they were when it was loaded.
pub fn files_changed_since_load(plan: &Plan) -> Vec<String> {
    let of_evals = plan.evals.iter();
    let of_evals = of_evals.filter_map(|eval| eval.info.dependencies.as_deref());
    let all = std::iter::once(&plan.dependencies).chain(of_evals);
    let files = all.flat_map(|dependencies| &dependencies.stamps.0);
    let changed = files.filter(|(file, then)| stamp(file) != *then);
    let names: BTreeSet<String> = changed
        .map(|(file, _)| shown_path(&plan.suite.root, file))
        .collect();
    names.into_iter().collect()
}

/// Over names and contents; empty, which equals nothing, when one can't be read.
fn hash_of<'a>(files: impl Iterator<Item = &'a PathBuf>, suite: &SuiteScope) -> String {
    let mut digest = Sha256::new();
    for file in files {
        let Some(content) = file_hash(file) else {
            return String::new();
        };
        let name = shown_path(&suite.root, file);
        digest.update(format!("{} {name} {content}\n", name.len()));
    }
    Fingerprint::of_digest(&digest.finalize()).to_string()
}

/// Files that words of the command name: of the project, or by relative paths.
fn named_files(command: &CommandTarget, suite: &SuiteScope) -> Vec<Dependency> {
    let dependency = |path: PathBuf| Dependency {
        hash: hash_of(std::iter::once(&path), suite),
        name: shown_path(&suite.root, &path),
        workspace: false,
    };
    files_of(&command.argv, suite).map(dependency).collect()
}

fn files_of(argv: &[String], suite: &SuiteScope) -> impl Iterator<Item = PathBuf> + use<> {
    let pieces = argv.iter().flat_map(|word| {
        let parts = word.split(|c: char| c.is_whitespace() || CUTS.contains(&c));
        std::iter::once(word.as_str()).chain(parts)
    });
    let file = |piece: &str| {
        let path = super::refs::lexical(&suite.dir.join(piece));
        let is_own = !piece.starts_with('/') || path.starts_with(&suite.root);
        (is_own && path.is_file()).then_some(path)
    };
    let pieces = pieces.filter(|piece| !piece.is_empty() && !piece.contains('\0'));
    pieces.filter_map(file).collect::<BTreeSet<_>>().into_iter()
}

/// Notes the files that a command names as read.
pub(super) fn note_named_files(suite: &SuiteScope, argv: &[String]) {
    files_of(argv, suite).for_each(|file| suite.fence.note(&file));
}

/// The file that the name of a program refers to: a different file is a different program.
fn program(command: &CommandTarget, suite: &SuiteScope) -> Option<Dependency> {
    let name = command.argv.first().filter(|name| !name.contains('/'))?;
    let path = find_program(suite, name, |_| true);
    Some(Dependency {
        name: format!("program {name}"),
        hash: path.map_or_else(String::new, |path| {
            Fingerprint::of(&path.display().to_string()).to_string()
        }),
        workspace: false,
    })
}

/// Over the values of all of them together.
fn variables(names: &[String], environment: &SuiteEnvironment) -> Option<Dependency> {
    let mut names: Vec<&String> = names.iter().collect();
    names.sort_unstable();
    names.dedup();
    let values: Vec<(&String, Option<&str>)> = names
        .iter()
        .map(|name| (*name, environment.get(name)))
        .collect();
    let mut digest = Sha256::digest(format!("{values:?}"));
    for _ in 0..ENV_ROUNDS {
        digest = Sha256::digest(digest);
    }
    let list: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    (!list.is_empty()).then(|| Dependency {
        name: format!("env {}", list.join(", ")),
        hash: Fingerprint::of_digest(&digest).to_string(),
        workspace: false,
    })
}
