//! Keys: where they are read from, and whether a run has those that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::layered;
use crate::load::problem::{Code, Problem, Problems};
use crate::load::refs::lexical;
use crate::load::scope::{Secrets, SuiteDesk};
use crate::load::source::Span;
use crate::load::tree::Node;
use crate::model::{ApiKey, Endpoint, Eval, KeySource, KeyValue, Target, judge_models};
use crate::spec::ModelSpec;
use eval_base::files::open_file;
use eval_base::redact::Redactor;
use eval_sandbox::process_tree::{self, TreeCommand, TreeEnd, printable};

/// Bytes that a file or a command may give as a key.
const MAX_KEY_BYTES: usize = 64 << 10;
/// Time limit of a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a command's stderr that a message shows.
const KEEP_STDERR: usize = 1 << 10;
/// Characters from which on an argument of a command is not shown in what it prints.
const MIN_ARGUMENT_CHARS: usize = 8;
/// Variables that usually contain keys, each with the one that names a file instead.
const FILE_VARIABLES: [(&str, &str); 2] = [
    ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE"),
    ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_FILE"),
];

/// The place where each source is named first, for problems about missing keys.
#[derive(Debug, Clone, Default)]
pub(in crate::load) struct KeyPlaces {
    spans: Arc<Mutex<BTreeMap<KeySource, Span>>>,
    /// Files that are written without a folder or an extension: perhaps the key itself.
    words: Arc<Mutex<BTreeSet<KeySource>>>,
}

impl KeyPlaces {
    fn note(&self, source: &KeySource, at: Span) {
        let mut places = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        places.entry(source.clone()).or_insert(at);
    }

    fn note_word(&self, source: &KeySource) {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.insert(source.clone());
    }

    fn of(&self, source: &KeySource) -> Option<Span> {
        let places = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(source).copied()
    }

    /// Whether the name of a file may be the key itself, so that no message shows it.
    fn may_be_key(&self, source: &KeySource) -> bool {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let is_missing = matches!(source, KeySource::File(path) if !path.exists());
        is_missing && words.contains(source)
    }
}

/// The keys of a run by their source. Clones share them, so that a command runs once.
#[derive(Debug, Clone, Default)]
pub struct KeyValues(Arc<Mutex<BTreeMap<KeySource, KeyValue>>>);

impl KeyValues {
    fn of(&self, source: &KeySource) -> KeyValue {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.entry(source.clone()).or_default().clone()
    }
}

/// The source of a key that is written in a node, and its place; `Some(None)` where none is. `dir`
/// is the folder of the file.
pub(super) fn written(
    desk: &mut SuiteDesk,
    spec: &ModelSpec,
    node: &Node,
    dir: &Path,
) -> Option<Option<(KeySource, Span)>> {
    let set = [
        spec.api_key_env.as_ref().map(|_| "api_key_env"),
        spec.api_key_file.as_ref().map(|_| "api_key_file"),
        spec.api_key_command.as_ref().map(|_| "api_key_command"),
    ];
    let set: Vec<&str> = set.into_iter().flatten().collect();
    if let [one, other, ..] = set.as_slice() {
        let message = format!("use `{one}` or `{other}`, not both");
        let at = node.key_span(&format!("/{other}"));
        return desk.refuse(Problem::error(Code::BothSpellings, at, message).hint("keep one"));
    }
    let Some(name) = set.first() else {
        return Some(None);
    };
    let at = node.locate(&format!("/{name}"));
    if let Some(path) = &spec.api_key_file {
        if path.trim().is_empty() {
            let message = "`api_key_file` names no file";
            return desk.refuse(Problem::error(Code::BadPath, at, message));
        }
        let source = KeySource::File(lexical(&dir.join(path)));
        if !path.contains(['/', '.', '\\']) {
            desk.suite.key_places.note_word(&source);
        }
        return Some(Some((source, at)));
    }
    if let Some(argv) = &spec.api_key_command {
        let is_empty = argv.first().is_none_or(|word| word.trim().is_empty());
        if is_empty || argv.iter().any(|word| word.contains('\0')) {
            let message = "`api_key_command` is not a command: a program and its arguments";
            return desk.refuse(Problem::error(Code::BadCommand, at, message));
        }
        let source = KeySource::Command {
            argv: argv.clone(),
            dir: desk.suite.dir.clone(),
        };
        return Some(Some((source, at)));
    }
    let name = spec.api_key_env.as_deref().unwrap_or_default();
    Some(Some((variable(desk, name, at)?, at)))
}

/// [`written`] for settings that have the same keys as a model.
pub(super) fn written_like_a_model(
    desk: &mut SuiteDesk,
    spec: &impl serde::Serialize,
    node: &Node,
) -> Option<Option<(KeySource, Span)>> {
    let spec = super::read(desk, node, layered([serde_json::to_value(spec)]))?;
    // Providers are written in the suite's file.
    let dir = desk.suite.dir.clone();
    written(desk, &spec, node, &dir)
}

/// The variable of that name, or the file that another one names if that comes first.
pub(super) fn variable(desk: &mut SuiteDesk, name: &str, at: Span) -> Option<KeySource> {
    let first = name
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        // Perhaps it is the key itself, so it is not shown.
        let message = "`api_key_env` is not a valid name of an environment variable";
        let hint = "write the variable's name, such as `OPENAI_API_KEY`; the key itself belongs in the environment, not in a file";
        let problem = Problem::error(Code::BadFormat, at, message).hint(hint);
        return desk.refuse(problem.hide_line());
    }
    let suite = desk.suite;
    let set = |name: &str| {
        let value = suite.environment.get(name).map(str::trim);
        value.filter(|value| !value.is_empty())
    };
    let is_of_process = |name: &str| suite.environment.process.contains_key(name);
    let file = FILE_VARIABLES.iter().find(|(key, _)| *key == name);
    // Each variable of the environment comes before those of `.env`.
    let file =
        file.filter(|(_, file)| set(name).is_none() || is_of_process(file) && !is_of_process(name));
    Some(match file.and_then(|(_, file)| Some((file, set(file)?))) {
        Some((file, path)) => {
            let dir = if is_of_process(file) {
                &suite.cwd
            } else {
                &suite.dir
            };
            KeySource::File(lexical(&dir.join(path)))
        }
        None => KeySource::Variable(name.to_owned()),
    })
}

/// The key of a source. Files and commands are read when a run needs them.
pub(super) fn read(desk: &mut SuiteDesk, source: KeySource, at: Span) -> Option<ApiKey> {
    let suite = desk.suite;
    suite.key_places.note(&source, at);
    let value = match &source {
        KeySource::Variable(name) => {
            let set = suite.environment.get(name).unwrap_or_default().trim();
            let value = KeyValue::default();
            if !set.is_empty() {
                if let Err(why) = check(set) {
                    let message = format!("the key in `{name}` can't be sent: {why}");
                    desk.push_lenient(Problem::error(Code::BadRequest, at, message));
                    return None;
                }
                suite.secrets.add([set.to_owned()]);
                value.set(set);
            }
            value
        }
        KeySource::File(_) | KeySource::Command { .. } => suite.key_values.of(&source),
    };
    Some(ApiKey { source, value })
}

fn check(key: &str) -> Result<(), &'static str> {
    match key.chars().any(|c| c.is_control() || !c.is_ascii()) {
        true => Err("it contains a line break, or a character that is not allowed in a key"),
        false => Ok(()),
    }
}

/// Reads the keys that a run needs from files and commands, and refuses a run that lacks one.
/// Recorded answers need none.
pub(in crate::load) fn check_keys(
    asked: &[&Endpoint],
    places: &KeyPlaces,
    secrets: &Secrets,
    problems: &mut Problems,
) {
    let mut refused = BTreeSet::new();
    for endpoint in asked.iter().filter(|endpoint| endpoint.replay.is_none()) {
        let Some(key) = &endpoint.key else { continue };
        let name = endpoint.name();
        let (why, hint) = match &key.source {
            source if refused.contains(source) => continue,
            KeySource::Variable(variable) if key.value.get().is_none() => (
                format!("the environment variable `{variable}` is not set"),
                format!(
                    "set `{variable}`, or run without the network: `--replay DIR` with recordings, `--cache only` with a cache"
                ),
            ),
            KeySource::Variable(_) => continue,
            source => {
                let given = match key.value.get() {
                    Some(known) => Ok(known.to_owned()),
                    None => read_key(source),
                };
                match given {
                    Ok(value) => {
                        secrets.add([value.clone()]);
                        key.value.set(value);
                        continue;
                    }
                    Err(why) => (
                        match places.may_be_key(source) {
                            true => "the file that `api_key_file` names does not exist".to_owned(),
                            false => why,
                        },
                        "runs with `--replay DIR` or `--cache only` need no key".to_owned(),
                    ),
                }
            }
        };
        // A variable is reported for each model.
        if !matches!(key.source, KeySource::Variable(_)) {
            refused.insert(key.source.clone());
        }
        let message = format!("{name} needs a key, and {why}");
        let problem = Problem::error(Code::NoApiKey, places.of(&key.source), message).hint(hint);
        problems.push(match places.may_be_key(&key.source) {
            true => problem.hide_line(),
            false => problem,
        });
    }
}

/// The key that a file or a command gives; else why it gives none.
fn read_key(source: &KeySource) -> Result<String, String> {
    let (bytes, what) = match source {
        KeySource::Variable(_) => (Vec::new(), String::new()),
        KeySource::File(path) => {
            let what = format!("the file `{}`", path.display());
            let mut bytes = Vec::new();
            let read = open_file(path).and_then(|file| {
                let most = MAX_KEY_BYTES as u64 + 1;
                file.take(most).read_to_end(&mut bytes)
            });
            read.map_err(|error| format!("{what} cannot be read: {error}"))?;
            (bytes, what)
        }
        KeySource::Command { argv, dir } => {
            let name = argv.first().map(String::as_str).unwrap_or_default();
            let what = format!("the output of the command `{name}`");
            (stdout_of(argv, dir)?, what)
        }
    };
    if bytes.len() > MAX_KEY_BYTES {
        return Err(format!("{what} has more than {} KiB", MAX_KEY_BYTES >> 10));
    }
    let text = String::from_utf8_lossy(&bytes);
    match text.trim() {
        "" => Err(format!("{what} is empty")),
        key => match check(key) {
            Ok(()) => Ok(key.to_owned()),
            Err(why) => Err(format!("{what} is not a key: {why}")),
        },
    }
}

/// What a command prints to stdout, run to its end.
fn stdout_of(argv: &[String], dir: &Path) -> Result<Vec<u8>, String> {
    let environment: Vec<_> = std::env::vars_os().collect();
    let name = argv.first().map(String::as_str).unwrap_or_default();
    let command = TreeCommand {
        argv: argv.to_vec(),
        dir: PathBuf::from(dir),
        env: environment
            .iter()
            .filter_map(|(name, value)| Some((name.clone().into_string().ok()?, value.clone())))
            .collect(),
        stdin: Vec::new(),
        timeout: COMMAND_TIMEOUT,
        keep_stdout: MAX_KEY_BYTES + 1,
        stdout_file: None,
        keep_stderr: KEEP_STDERR,
    };
    // A suite may be loaded by a task, where nothing else may block on one.
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_all().build();
            let runtime = runtime.map_err(|error| error.to_string())?;
            let ran = runtime.block_on(process_tree::run(&command));
            ran.map_err(|error| error.to_string())
        });
        run.join()
            .unwrap_or_else(|_| Err("it could not be run".to_owned()))
    });
    let ended = ran.map_err(|why| format!("the command for it cannot run: {why}"))?;
    let end = match ended.end {
        TreeEnd::Exited(0) => return Ok(ended.stdout),
        TreeEnd::Exited(code) => format!("exited with code {code}"),
        TreeEnd::TimedOut => format!("did not end within {} s", COMMAND_TIMEOUT.as_secs()),
        TreeEnd::Signaled(signal) => format!("was ended by {}", process_tree::signal_name(signal)),
        TreeEnd::Stopped(why) => format!("was stopped: {why}"),
    };
    // What it printed may be the key, or what opens the way to it.
    let stdout = String::from_utf8_lossy(&ended.stdout);
    let own = stdout.split_whitespace().map(str::to_owned);
    let arguments = argv.iter().skip(1).flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value.to_owned());
        [Some(word.clone()), value]
    });
    let arguments = arguments
        .flatten()
        .filter(|word| word.chars().count() >= MIN_ARGUMENT_CHARS);
    // The first word of a cut text may be the end of a secret.
    let is_cut = ended.stderr_tail.len() >= KEEP_STDERR;
    let first = ended.stderr_tail.iter().position(u8::is_ascii_whitespace);
    let first = first.unwrap_or(ended.stderr_tail.len());
    let stderr = printable(&ended.stderr_tail[if is_cut { first } else { 0 }..]);
    let stderr = Redactor::new(own.chain(arguments))
        .redact(&stderr)
        .unwrap_or(stderr);
    let stderr = Redactor::of_environment(&environment)
        .redact(&stderr)
        .unwrap_or(stderr);
    Err(match stderr.trim() {
        "" if is_cut => {
            format!("the command `{name}` {end}; its stderr is one long word, which is not shown")
        }
        "" => format!("the command `{name}` {end}, and printed nothing to stderr"),
        said => format!("the command `{name}` {end}: {said}"),
    })
}

/// Every model that may be asked: those that give outputs to the cases of these evals, and those
/// that judge them.
pub(crate) struct AskedModels<'a> {
    pub targets: Vec<&'a Endpoint>,
    pub judges: Vec<&'a Endpoint>,
}

impl<'a> AskedModels<'a> {
    pub fn of(evals: &'a [Arc<Eval>], target: Option<&'a Target>) -> AskedModels<'a> {
        let profiles = || evals.iter().flat_map(|eval| eval.cases.profiles());
        let main = target.filter(|_| profiles().any(|profile| profile.target.is_none()));
        let own = profiles().filter_map(|profile| profile.target.as_ref());
        let targets = main.into_iter().chain(own).filter_map(Target::endpoint);
        let judges = judge_models(evals).into_iter().map(|model| &model.endpoint);
        AskedModels {
            targets: targets.collect(),
            judges: judges.collect(),
        }
    }

    /// Both, the targets first.
    pub fn all(&self) -> Vec<&'a Endpoint> {
        self.targets.iter().chain(&self.judges).copied().collect()
    }

    /// The most calls that one of them may have in flight; `None` when nobody is asked.
    pub fn most_at_once(&self) -> Option<usize> {
        self.all()
            .iter()
            .map(|endpoint| endpoint.limits.max_concurrency)
            .max()
    }
}
