//! What a suite gives to its evals: named graders, defaults, folders, and what the command line
//! overrides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::contents::FileContents;
use super::demands::SuiteDemands;
use super::env_file::SuiteEnvironment;
use super::executors::ExecutorShelf;
use super::models::{KeyPlaces, KeyValues, WrittenProviders};
use super::prices::PriceShelf;
use super::problem::{Problem, Problems};
use super::prompts::LoadedPrompts;
use super::reach::{FilterReach, MissingValues, SparePart};
use super::refs::{PathFence, lexical};
use super::source::{SourceFiles, Span};
use super::stored::BaselineFolder;
use super::template::TemplateScope;
use super::tree::Node;
use super::workspace::{LevelWorkspace, WorkspaceHashes};
use crate::model::{BaselineSettings, EnvFile, GraderType, HttpTarget, OutputValue, Place, Target};
use crate::spec::{BaselineTarget, GraderSpec, ModelSpec, SkillSpec};
use eval_base::redact::secrets_of_header;
use eval_models::net::secrets_of_address;

/// Seconds for one call of a target when nobody says.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A grader under `graders:`, with its place.
#[derive(Debug, Clone)]
pub(super) struct NamedGrader {
    pub spec: GraderSpec,
    pub node: Node,
    /// The folder of the file that says it. Absolute.
    pub dir: PathBuf,
}

/// Whether the value of a variable is a folder or a setting of the system, which a report may show.
fn is_public_variable(name: &str) -> bool {
    name.starts_with("LC_")
        || matches!(
            name,
            "PATH"
                | "HOME"
                | "USER"
                | "LOGNAME"
                | "SHELL"
                | "LANG"
                | "LANGUAGE"
                | "TERM"
                | "TZ"
                | "PWD"
                | "TMPDIR"
                | "VIRTUAL_ENV"
                | "PYTHONPATH"
                | "NODE_PATH"
                | "GOPATH"
                | "CARGO_HOME"
                | "JAVA_HOME"
        )
}

/// Named graders, the default of each type, and rubrics.
#[derive(Debug, Clone, Default)]
pub(super) struct GraderShelf {
    pub graders: BTreeMap<String, NamedGrader>,
    pub defaults: BTreeMap<GraderType, String>,
    pub rubrics: BTreeMap<String, String>,
    pub prompts: BTreeMap<String, String>,
    /// True when a suite may still define more.
    pub open: bool,
    /// True when nobody defines further rubrics and prompts, even where `open` holds for all else.
    pub texts_known: bool,
}

/// What must not be written, noted wherever it is read. Cases of datasets are read again while a
/// run goes on; what they hold was noted when they were checked.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<Mutex<BTreeSet<String>>>);

impl Secrets {
    pub fn of_headers(&self, headers: &BTreeMap<String, String>) {
        for (name, value) in headers {
            self.add(secrets_of_header(name, value));
        }
    }

    /// Of an address, or of a path below one.
    pub fn of_endpoint(&self, endpoint: &str) {
        self.add(secrets_of_address(endpoint));
    }

    pub fn add(&self, secrets: impl IntoIterator<Item = String>) {
        let secrets = secrets.into_iter().filter(|secret| !secret.is_empty());
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(secrets);
    }

    pub fn all(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }
}

/// The suite as its evals see it.
#[derive(Debug, Clone, Default)]
pub(super) struct SuiteScope {
    pub templates: TemplateScope,
    pub prompts: LoadedPrompts,
    /// The prompt that the command line names.
    pub prompt: Option<String>,
    /// False when outputs are there already.
    pub asks_targets: bool,
    pub shelf: GraderShelf,
    pub demands: SuiteDemands,
    pub executors: ExecutorShelf,
    pub prices: PriceShelf,
    /// Where commands run. Absolute.
    pub dir: PathBuf,
    /// The project root. Absolute.
    pub root: PathBuf,
    /// The results folder. Absolute.
    pub output_dir: PathBuf,
    /// Where the paths of sources start, when they are not absolute.
    pub cwd: PathBuf,
    pub baselines: BaselineSettings,
    /// In place of what the store and the files say, by eval id.
    pub known_good: Arc<BTreeMap<String, OutputValue>>,
    /// What filters may select; `None` for all.
    pub reach: Option<Arc<FilterReach>>,
    pub missing: Arc<MissingValues>,
    /// Where accepted baselines are read from.
    pub store: BaselineFolder,
    /// `workspace:` of the suite.
    pub workspace: Option<Arc<LevelWorkspace>>,
    /// Shared by all evals.
    pub workspace_hashes: WorkspaceHashes,
    /// The target that evals without one of their own ask; `None` when recordings take its place,
    /// or nobody knows.
    pub target: Option<BaselineTarget>,
    pub fence: PathFence,
    pub contents: FileContents,
    /// What cases are put to that say no other; `None` also where it is not known yet.
    pub asks: Option<Target>,
    /// True when recorded outputs take the place of every target, those of evals included.
    pub recorded: bool,
    /// What `execution: {type: http}` without an address stands on.
    pub http: Option<HttpTarget>,
    /// What `execution: {type: model}` without a model stands on, and where that is written.
    pub model: Option<(ModelSpec, Node)>,
    /// Of the suite.
    pub providers: Arc<WrittenProviders>,
    /// The places where the sources of keys are named.
    pub key_places: KeyPlaces,
    pub key_values: KeyValues,
    /// Of which keys and what commands list are read here.
    pub environment: SuiteEnvironment,
    /// `config.max_workers`, where it is written.
    pub workers: Option<usize>,
    /// How skills are run, and where that is written.
    pub skill: Option<(SkillSpec, Node)>,
    pub secrets: Secrets,
    /// The command line's, which wins over everything.
    pub timeout: Option<Duration>,
    pub suite_timeout: Option<Duration>,
    pub samples: Option<u32>,
    pub suite_samples: Option<u32>,
    pub grader_type: Option<GraderType>,
    pub allow_unsandboxed: bool,
    /// Where programs are looked for.
    pub search_path: Option<String>,
    /// True when a lack that a run would mind only warns.
    pub lenient: bool,
}

impl SuiteScope {
    /// False for a prompt that this run does not give to a target.
    pub fn uses_prompt(&self, name: &str) -> bool {
        self.asks_targets && self.prompt.as_deref().is_none_or(|chosen| chosen == name)
    }
}

/// The texts, the problems and the suite, as everything that judges a part of a file needs them.
pub(crate) struct SuiteDesk<'a> {
    pub sources: &'a SourceFiles,
    pub problems: &'a mut Problems,
    pub(super) suite: &'a SuiteScope,
    /// The folder of the file that is being read.
    pub dir: &'a Path,
}

impl SuiteDesk<'_> {
    pub fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The same desk with another list of problems.
    pub fn aside<'a>(&'a self, problems: &'a mut Problems) -> SuiteDesk<'a> {
        SuiteDesk { problems, ..*self }
    }

    /// Reports what keeps a value from being had.
    pub fn refuse<T>(&mut self, problem: Problem) -> Option<T> {
        self.push(problem);
        None
    }

    /// An error for a run, a warning when files are only looked at.
    pub fn push_lenient(&mut self, problem: Problem) {
        self.problems
            .push(problem.maybe_warning(self.suite.lenient));
    }

    /// Reports what a part lacks that is used here; `None` when it lacks something.
    pub(super) fn require(&mut self, part: &SparePart) -> Option<()> {
        let suite = self.suite;
        let lacks = suite.missing.get(part);
        self.problems.extend(lacks.into_iter().flatten().cloned());
        lacks.is_none().then_some(())
    }

    /// What the suite demands of programs.
    pub fn demands(&self) -> &SuiteDemands {
        &self.suite.demands
    }

    /// Variables of the `.env` file beside the suite, for a command with the variables `names`,
    /// whose values are redacted.
    pub fn env_file_for(&self, names: &[String]) -> EnvFile {
        let file = self.suite.environment.file.clone();
        let values = file.environment_of(names).into_iter();
        let values = values.filter(|(name, _)| !is_public_variable(name));
        let values = values.filter_map(|(_, value)| value.into_string().ok());
        self.suite.secrets.add(values);
        file
    }

    /// The folder of the suite, where commands run.
    pub fn suite_dir(&self) -> &Path {
        &self.suite.dir
    }

    /// True when the suite is not known, so that it may define what a file lacks.
    pub fn may_define_more(&self) -> bool {
        self.suite.shelf.open
    }

    /// Whether the command line allows `sandbox: false`.
    pub fn allows_unsandboxed(&self) -> bool {
        self.suite.allow_unsandboxed
    }

    pub fn place(&self, span: Span) -> String {
        self.sources.place(span)
    }

    /// The line that a span begins on, its file as seen from the project root.
    pub fn line_of(&self, span: Span) -> Option<Place> {
        let path = lexical(&self.suite.cwd.join(self.sources.display(span.file)));
        let file = path
            .strip_prefix(&self.suite.root)
            .unwrap_or(&path)
            .display()
            .to_string();
        Some(Place {
            file,
            line: u32::try_from(self.sources.position(span).line).ok()?,
        })
    }
}

/// Seconds that passed the schema's range as a duration; nonsense is a day.
pub(crate) fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::from_secs(86_400))
}
