//! The last look before anything runs: targets are opened, the base of the phase is found, the
//! report's place is tried.

use std::io;
use std::path::PathBuf;

use super::written::{ReportFiles, ReportWriteError};
use crate::load::{LoadRequest, StepSuite};
use crate::model::{NotifyChannel, Phase};
use crate::run::{self, PreparedRun, RunError};
use eval_base::git::{self, GitError};
use eval_base::whole_file::WholeFile;

/// A phase that can be worked off.
pub struct ReadyPhase {
    pub phase: Phase,
    /// The suites of the eval steps, in their order.
    pub suites: Vec<ReadySuite>,
    /// The folder of results. Absolute.
    pub results: PathBuf,
    pub files: ReportFiles,
    /// Where a comment goes, if one was asked for. Relative to the working folder.
    pub comment: Option<PathBuf>,
    pub begun: Option<BaseCommit>,
    /// Who is told, each once.
    pub channels: Vec<NotifyChannel>,
    /// Sentences for people, before anything runs.
    pub warnings: Vec<String>,
}

pub struct ReadySuite {
    pub prepared: PreparedRun,
    pub request: LoadRequest,
}

/// The commit that a phase is measured from, which no step can move any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseCommit {
    /// As it was asked for; `HEAD` when nobody asked.
    pub base: String,
    pub commit: String,
}

/// Why a phase can't begin; nothing ran.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("the changes since `{base}` are unknown: {error}")]
    Base { base: String, error: GitError },
    #[error(transparent)]
    Report(#[from] ReportWriteError),
    #[error("cannot write results to {}: {error}", .dir.display())]
    Results { dir: PathBuf, error: io::Error },
}

impl NotReady {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            NotReady::Run(error) => error.hint(),
            NotReady::Base { error, .. } => error.hint(),
            NotReady::Report(_) | NotReady::Results { .. } => {
                Some("nothing ran; make the folder writable, or name another place".to_owned())
            }
        }
    }
}

impl ReadyPhase {
    /// Makes the folders of reports and results and tries them, and the place of a comment: nobody
    /// should learn after an hour of tests that nothing can be written there.
    ///
    /// # Errors
    /// The first place that can't be written.
    pub fn try_places(&self) -> Result<(), NotReady> {
        self.files.try_place()?;
        if let Some(comment) = &self.comment {
            self.files.try_comment(comment)?;
        }
        for suite in &self.suites {
            let dir = &suite.prepared.plan.reporting.output_dir;
            let tried =
                std::fs::create_dir_all(dir).and_then(|()| WholeFile::create(&dir.join("try")));
            tried.map_err(|error| NotReady::Results {
                dir: dir.clone(),
                error,
            })?;
        }
        Ok(())
    }
}

/// Opens what the phase needs.
///
/// # Errors
/// A target that can't be opened, thresholds that the samples can't answer, a base that is not
/// there, a report that could not be written.
pub fn ready(
    phase: Phase,
    suites: Vec<StepSuite>,
    results: PathBuf,
) -> Result<ReadyPhase, NotReady> {
    let begun = begun(&phase)?;
    let mut warnings = Vec::new();
    let mut ready = Vec::new();
    let mut channels: Vec<NotifyChannel> = Vec::new();
    for StepSuite { plan, request } in suites {
        for channel in &plan.reporting.channels {
            if !channels.contains(channel) {
                channels.push(channel.clone());
            }
        }
        let prepared = run::prepare(plan)?;
        warnings.extend(prepared.warnings.iter().cloned());
        ready.push(ReadySuite { prepared, request });
    }
    let files = ReportFiles::of(&phase, &results);
    Ok(ReadyPhase {
        phase,
        suites: ready,
        results,
        files,
        comment: None,
        begun,
        channels,
        warnings,
    })
}

fn begun(phase: &Phase) -> Result<Option<BaseCommit>, NotReady> {
    let base = phase.base.clone().unwrap_or_else(|| "HEAD".to_owned());
    match git::commit_of(&phase.root, &base) {
        Ok(commit) => Ok(Some(BaseCommit { base, commit })),
        // There is no git or no commit yet, and no base was required.
        Err(_) if phase.base.is_none() => Ok(None),
        Err(error) => Err(NotReady::Base { base, error }),
    }
}
