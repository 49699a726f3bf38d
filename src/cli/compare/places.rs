//! Where runs and accepted scores lie: looked up when somebody asks, since two journals need no
//! suite.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use crate::baseline::ScoreStore;
use crate::cli::suite;
use crate::cli::{CliFailure, report};
use crate::load::{self, LoadOverrides, LoadRequest, PlanPurpose, render};
use crate::model::Plan;

/// The project at hand.
pub struct ProjectLocator {
    /// As the command line said it.
    suite: Option<PathBuf>,
    output_dir: Option<PathBuf>,
    cwd: PathBuf,
    results: OnceCell<PathBuf>,
    project: OnceCell<Option<ProjectSuite>>,
}

/// What a suite says of itself.
#[derive(Debug, Clone)]
pub struct ProjectSuite {
    pub suite: String,
    pub target: String,
    pub baselines: PathBuf,
    pub root: PathBuf,
}

impl ProjectSuite {
    pub fn of(plan: &Plan) -> ProjectSuite {
        ProjectSuite {
            suite: plan.suite.name.clone(),
            target: plan.target_name.clone(),
            baselines: plan.baselines.dir.clone(),
            root: plan.suite.root.clone(),
        }
    }
}

impl ProjectLocator {
    /// # Errors
    /// When the suite that is named is not there: whose results were meant?
    pub fn new(
        suite: Option<&Path>,
        output_dir: Option<&Path>,
    ) -> Result<ProjectLocator, CliFailure> {
        if let Some(suite) = suite.filter(|suite| !suite.is_file()) {
            return Err(CliFailure::wrong(format!(
                "there is no suite {}",
                suite.display()
            )));
        }
        Ok(ProjectLocator {
            suite: suite.map(Path::to_owned),
            output_dir: output_dir.map(Path::to_owned),
            cwd: suite::cwd()?,
            results: OnceCell::new(),
            project: OnceCell::new(),
        })
    }

    /// Those of a plan, which is at hand.
    pub fn of_plan(plan: &Plan) -> Result<ProjectLocator, CliFailure> {
        let places = ProjectLocator::new(None, None)?;
        let _ = places.results.set(plan.reporting.output_dir.clone());
        let _ = places.project.set(Some(ProjectSuite::of(plan)));
        Ok(places)
    }

    /// The folder of results, absolute.
    pub fn results(&self) -> Result<&Path, CliFailure> {
        if let Some(dir) = self.results.get() {
            return Ok(dir);
        }
        let dir = report::results_dir(self.suite.as_deref(), self.output_dir.as_deref())?;
        Ok(self.results.get_or_init(|| self.cwd.join(dir)))
    }

    /// The suite that is meant; `None` where there is none.
    ///
    /// # Errors
    /// When one is named and can't be loaded.
    pub fn project(&self) -> Result<Option<&ProjectSuite>, CliFailure> {
        if let Some(project) = self.project.get() {
            return Ok(project.as_ref());
        }
        let project = match &self.suite {
            Some(path) => Some(self.load(path)?),
            None => suite::suite_path(None)
                .ok()
                .and_then(|path| self.load(&path).ok()),
        };
        Ok(self.project.get_or_init(|| project).as_ref())
    }

    /// True when the command line named the suite.
    pub fn is_named(&self) -> bool {
        self.suite.is_some()
    }

    /// What a suite's file says.
    pub fn load(&self, path: &Path) -> Result<ProjectSuite, CliFailure> {
        let request = LoadRequest {
            suite: path.to_owned(),
            purpose: PlanPurpose::List,
            overrides: LoadOverrides {
                gateless: true,
                without_store: true,
                ..LoadOverrides::default()
            },
            env: suite::environment(),
            cwd: self.cwd.clone(),
            cpus: suite::cpus(),
            ..LoadRequest::default()
        };
        let loaded = load::load(&request);
        loaded.plan.as_ref().map(ProjectSuite::of).ok_or_else(|| {
            let options = render::HumanOptions {
                width: 100,
                colour: false,
                limit: 20,
                ..render::HumanOptions::default()
            };
            let problems = render::human(&loaded.problems, &loaded.sources, options);
            CliFailure::wrong(format!(
                "the suite {} can't be loaded\n{}",
                path.display(),
                problems.trim_end()
            ))
        })
    }

    /// The scores of a folder's project when no suite is at hand: where they lie unless a suite
    /// says otherwise.
    pub fn default_store(&self, dir: &Path) -> ScoreStore {
        ScoreStore::new(&root_of(dir).join("baselines"))
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// A path as reports show it: relative to the project's root when it lies below, else as it was
    /// named.
    pub fn shown(&self, path: &Path) -> String {
        let whole = self.cwd.join(path);
        let root = match self.project.get() {
            Some(Some(project)) => project.root.clone(),
            _ => root_of(&self.cwd).to_owned(),
        };
        let path = whole.strip_prefix(&root).unwrap_or(path);
        path.display().to_string()
    }
}

/// The nearest folder above with a `.git`, else the folder itself.
pub fn root_of(dir: &Path) -> &Path {
    dir.ancestors()
        .find(|dir| dir.join(".git").exists())
        .unwrap_or(dir)
}
