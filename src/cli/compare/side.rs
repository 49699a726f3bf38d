//! From the words of a command line to the sides of a comparison.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::places::{ProjectLocator, ProjectSuite, root_of};
use super::previous::previous;
use crate::baseline::{ScoreStore, ScoresOf};
use crate::cli::console::Console;
use crate::cli::{CliFailure, scores};
use crate::journal;
use crate::model::{
    BaselineStage, ComparedSide, RunScores, RunStarted, RunWarning, ScoreBaselineRead, ScoresSource,
};
use crate::run;
use crate::summary::compare::of_baseline;
use eval_base::git::{self, GitError};
use eval_base::text::one_line;

const LATEST: &str = "latest";
const PREVIOUS: &str = "previous";
const ACCEPTED: &str = "accepted";

/// Runs that an unknown word is answered with.
const LISTED: usize = 3;

/// The other side of a comparison, as far as words refer to it.
#[derive(Debug, Clone, Default)]
pub struct OppositeSide {
    pub suite: String,
    pub target: String,
    /// `None` for a run that has not begun.
    pub run_id: Option<String>,
    pub timestamp: Option<String>,
    pub regrade_of: Option<String>,
    /// In words.
    pub filters: Vec<String>,
    /// The suite's file and folder, where a journal tells them.
    pub file: Option<(PathBuf, PathBuf)>,
}

impl OppositeSide {
    pub fn of(side: &ComparedSide) -> OppositeSide {
        OppositeSide {
            suite: side.suite.clone(),
            target: side.target.clone(),
            run_id: Some(side.run_id.clone()),
            timestamp: Some(side.timestamp.clone()),
            regrade_of: side.regrade_of.clone(),
            filters: side.filters.clone(),
            file: None,
        }
    }

    /// The same of what was read from journals.
    fn read(side: &LoadedSide) -> OppositeSide {
        let said = side
            .journals
            .first()
            .and_then(|journal| journal::started(journal).ok());
        let file = said.and_then(|said: RunStarted| Some((said.cwd?, said.suite_path)));
        OppositeSide {
            file,
            ..OppositeSide::of(&side.scores.side)
        }
    }
}

/// A side and what it was read from.
pub struct LoadedSide {
    pub scores: RunScores,
    pub journals: Vec<PathBuf>,
    /// Why a gate over the side does not pass.
    pub warnings: Vec<RunWarning>,
}

impl LoadedSide {
    fn of_baseline(word: &str, read: &ScoreBaselineRead) -> LoadedSide {
        LoadedSide {
            scores: of_baseline(word.to_owned(), read),
            journals: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// The sides that the words of a command line name.
pub struct NamedSides {
    pub reference: RunScores,
    pub candidates: Vec<RunScores>,
    /// The journals of each side, the reference's first; none of a score baseline.
    pub journals: Vec<Vec<PathBuf>>,
    /// Of all sides.
    pub warnings: Vec<RunWarning>,
}

/// Refuses journals beside themselves: they never differ, so that a script which named the wrong
/// run would take that for a pass. A copy is another file, and is compared: people look at a cut
/// journal beside its whole one.
fn not_the_same(reference: &LoadedSide, candidate: &LoadedSide) -> Result<(), CliFailure> {
    let files = |side: &LoadedSide| -> Option<BTreeSet<PathBuf>> {
        side.journals
            .iter()
            .map(|journal| journal.canonicalize().ok())
            .collect()
    };
    let (files, others) = (files(reference), files(candidate));
    if files.is_none() || files.as_ref().is_some_and(BTreeSet::is_empty) || files != others {
        return Ok(());
    }
    let words = (
        one_line(&reference.scores.side.label),
        one_line(&candidate.scores.side.label),
    );
    let failure = if words.0 == words.1 {
        CliFailure::wrong(format!("{} is both the reference and a candidate", words.0))
    } else {
        CliFailure::wrong(format!("{} and {} are the same run", words.0, words.1))
    };
    Err(failure.hint("compare two different runs; `eval-harness runs` lists them"))
}

/// Turns words into sides.
pub struct SideResolver<'a> {
    pub console: &'a Console,
    pub places: &'a ProjectLocator,
    /// Whose accepted scores are meant, in place of the other side's.
    pub target: Option<&'a str>,
}

impl SideResolver<'_> {
    /// The reference and the candidates. Words that refer to the other side are looked at last.
    pub fn sides(&self, reference: &str, candidates: &[String]) -> Result<NamedSides, CliFailure> {
        let mut found = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            if candidate == PREVIOUS {
                let failure = CliFailure::wrong(format!(
                    "`{PREVIOUS}` is the run before the candidate, so it can only be the reference"
                ));
                return Err(
                    failure.hint("pass the candidate's run id; `eval-harness runs` lists them")
                );
            }
            found.push(self.alone(candidate)?);
        }
        let mut known = self.alone(reference)?;
        for candidate in found.iter().flatten() {
            known
                .iter()
                .try_for_each(|known| not_the_same(known, candidate))?;
        }
        let earliest = found
            .iter()
            .flatten()
            .min_by(|a, b| a.scores.side.timestamp.cmp(&b.scores.side.timestamp));
        let beside = earliest.or(known.as_ref()).map(OppositeSide::read);
        let (mut sides, mut warnings) = (Vec::with_capacity(found.len()), Vec::new());
        let mut journals = Vec::with_capacity(found.len() + 1);
        for (side, word) in found.into_iter().zip(candidates) {
            let side = side.map_or_else(|| self.referring(word, beside.as_ref()), Ok)?;
            warnings.extend(side.warnings);
            journals.push(side.journals);
            sides.push(side.scores);
        }
        let reference = known
            .take()
            .map_or_else(|| self.referring(reference, beside.as_ref()), Ok)?;
        warnings.extend(reference.warnings);
        journals.insert(0, reference.journals);
        Ok(NamedSides {
            reference: reference.scores,
            candidates: sides,
            journals,
            warnings,
        })
    }

    /// What a run is compared with that has not begun, or that goes on.
    pub fn reference(&self, word: &str, beside: &OppositeSide) -> Result<RunScores, CliFailure> {
        match self.alone(word)? {
            Some(side) => Ok(side.scores),
            None => self.referring(word, Some(beside)).map(|side| side.scores),
        }
    }

    /// A run or a score baseline that refers to nothing else.
    pub fn run_alone(&self, word: &str) -> Result<RunScores, CliFailure> {
        if matches!(word, PREVIOUS | ACCEPTED) {
            let failure = CliFailure::wrong(format!(
                "`{word}` depends on a candidate, but this command has none"
            ));
            return Err(failure.hint("pass a run: `latest`, a run id, or the path of a journal"));
        }
        self.alone(word)?.map(|side| side.scores).ok_or_else(|| {
            let near = [LATEST];
            self.not_found(
                word,
                &[],
                &near,
                "pass a run: `latest`, a run id, or the path of a journal",
            )
        })
    }

    /// What a word means whatever stands beside it; `None` when it is no such word.
    fn alone(&self, word: &str) -> Result<Option<LoadedSide>, CliFailure> {
        if matches!(word, PREVIOUS | ACCEPTED) {
            return Ok(None);
        }
        if word != LATEST && Path::new(word).exists() {
            self.warn_of_revision(word);
            return self.file(word).map(Some);
        }
        if let Some(journal) = self.run(word)? {
            return self.journals(vec![journal], word).map(Some);
        }
        let parts: Vec<&str> = word.split('+').collect();
        if parts.len() < 2 {
            return Ok(None);
        }
        let mut journals = Vec::with_capacity(parts.len());
        let mut missing = Vec::new();
        for part in parts {
            let journal = if Path::new(part).is_file() {
                Some(PathBuf::from(part))
            } else {
                self.run(part)?
            };
            match journal {
                Some(journal) => journals.push(journal),
                None => missing.push(part),
            }
        }
        // A tag of git may hold a `+`, too.
        match (journals.is_empty(), missing.first()) {
            (true, _) => Ok(None),
            (false, None) => self.journals(journals, word).map(Some),
            (false, Some(part)) => Err(self.unknown(part, &[])),
        }
    }

    /// The journal of a run by its id, or of the latest.
    fn run(&self, word: &str) -> Result<Option<PathBuf>, CliFailure> {
        let results = self.places.results()?;
        if word == LATEST {
            return Ok(Some(journal::find_run(results, word)?.journal()));
        }
        let runs = journal::list_runs(results);
        Ok(runs
            .into_iter()
            .find(|run| run.run_id == word)
            .map(|run| run.journal()))
    }

    fn journals(&self, journals: Vec<PathBuf>, word: &str) -> Result<LoadedSide, CliFailure> {
        let shown = journals
            .iter()
            .map(|journal| self.places.shown(journal))
            .collect();
        let (scores, warnings) =
            run::run_scores(&journals, word.to_owned(), shown).map_err(|error| {
                let failure = CliFailure::wrong(&error);
                match error.hint() {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            })?;
        for warning in &warnings {
            self.console
                .warn(&format!("{}: {}", one_line(word), warning.message));
        }
        Ok(LoadedSide {
            scores,
            journals,
            warnings,
        })
    }

    /// A journal or a score baseline, by what it holds.
    fn file(&self, word: &str) -> Result<LoadedSide, CliFailure> {
        let path = Path::new(word);
        if path.is_dir() {
            let failure = CliFailure::wrong(format!("{} is a folder", one_line(word)));
            return Err(
                failure.hint("pass a journal in it (`run-....journal.jsonl`), or a score baseline")
            );
        }
        // A pipe waits for somebody who writes, and gives what it holds once.
        if is_stream(path) {
            let failure = CliFailure::wrong(format!(
                "{} is not a regular file, so it can't be read twice",
                one_line(word)
            ));
            return Err(failure.hint("write its contents to a file, and pass that file"));
        }
        let start = start_of(path)?;
        let first = |key: &str| {
            let object = start.trim_start().strip_prefix('{');
            object.is_some_and(|rest| rest.trim_start().starts_with(key))
        };
        let named = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(".journal.jsonl"));
        if named || first("\"run_started\"") {
            return self.journals(vec![path.to_owned()], word);
        }
        if first("\"eval_report\"") {
            let failure =
                CliFailure::wrong(format!("{} is a report, not a journal", one_line(word)));
            return Err(failure.hint("pass the journal in the same folder, or the run id"));
        }
        if !start.contains("format_version") {
            let failure = CliFailure::wrong(format!(
                "{} is neither a journal nor a score baseline",
                one_line(word)
            ));
            return Err(failure.hint(
                "a run writes its journal to the results folder (`run-....journal.jsonl`); `baseline accept \
                     --scores` writes a score baseline",
            ));
        }
        let file = ScoreStore::read_file(path).map_err(scores::named)?;
        let read = ScoreBaselineRead {
            path: self.places.shown(path),
            rev: None,
            file,
        };
        Ok(LoadedSide::of_baseline(word, &read))
    }

    /// A word that means something only beside another side: `previous`, `accepted` or a revision.
    fn referring(
        &self,
        word: &str,
        beside: Option<&OppositeSide>,
    ) -> Result<LoadedSide, CliFailure> {
        match word {
            PREVIOUS => {
                let beside = beside.ok_or_else(|| {
                    CliFailure::wrong(
                        "`previous` is the run before the candidate, but the candidate is not a run",
                    )
                    .hint("pass a run id; `eval-harness runs` lists the runs")
                })?;
                let results = self.places.results()?;
                let found = previous(self.console, results, beside)?;
                let run = found.ok_or_else(|| self.no_previous(results, beside))?;
                self.journals(vec![run.journal()], word)
            }
            ACCEPTED => self.accepted(word, None, beside),
            rev => {
                let at = self.repository()?;
                match git::commit_of(&at, rev) {
                    Ok(_) => self.accepted(word, Some(rev), beside),
                    Err(error) => Err(self.unknown(rev, &[no_revision(&error)])),
                }
            }
        }
    }

    /// The scores that were accepted of suite and target, in the folder or at a revision.
    fn accepted(
        &self,
        word: &str,
        rev: Option<&str>,
        beside: Option<&OppositeSide>,
    ) -> Result<LoadedSide, CliFailure> {
        let (store, suite, target) = self.whose(beside)?;
        let of = ScoresOf {
            suite: &suite,
            target: &target,
        };
        let path = store.path(of, BaselineStage::Accepted);
        let read = match rev {
            Some(rev) => store.at(of, rev),
            None => store.read(of, BaselineStage::Accepted),
        };
        let shown = self.places.shown(&path);
        match read.map_err(scores::failure)? {
            Some(file) => {
                let read = ScoreBaselineRead {
                    path: shown,
                    rev: rev.map(str::to_owned),
                    file,
                };
                Ok(LoadedSide::of_baseline(word, &read))
            }
            None => Err(scores::missing(of, &shown, rev)),
        }
    }

    /// The folder of score baselines, the suite and the target.
    fn whose(
        &self,
        beside: Option<&OppositeSide>,
    ) -> Result<(ScoreStore, String, String), CliFailure> {
        let project = self.places.project()?;
        let target = self.target.or(beside.map(|beside| beside.target.as_str()));
        let target = target
            .or(project.map(|project| project.target.as_str()))
            .unwrap_or_default()
            .to_owned();
        let is_meant = |project: &&ProjectSuite| {
            beside.is_none_or(|beside| self.places.is_named() || project.suite == beside.suite)
        };
        if let Some(project) = project.filter(is_meant) {
            let store = ScoreStore::new(&project.baselines);
            return Ok((store, project.suite.clone(), target));
        }
        let beside = beside.ok_or_else(|| {
            CliFailure::wrong("accepted scores need a suite, but there is none here")
                .hint("pass it with --suite")
        })?;
        // The candidate's own suite, where it lies on this machine.
        let own = beside
            .file
            .as_ref()
            .map(|(cwd, suite)| (cwd, cwd.join(suite)));
        let store = match own {
            Some((cwd, file)) if file.is_file() => match self.places.load(&file) {
                Ok(own) => ScoreStore::new(&own.baselines),
                Err(_) => self.places.default_store(cwd),
            },
            _ => self.places.default_store(self.places.cwd()),
        };
        Ok((store, beside.suite.clone(), target))
    }

    /// Where revisions are looked up.
    fn repository(&self) -> Result<PathBuf, CliFailure> {
        let project = self.places.project()?;
        Ok(project.map_or_else(
            || root_of(self.places.cwd()).to_owned(),
            |project| project.root.clone(),
        ))
    }

    /// A file's name that is a revision, too, is told: the file is what is read.
    fn warn_of_revision(&self, word: &str) {
        let is_plain = !word.starts_with(['/', '.']);
        if is_plain && git::commit_of(root_of(self.places.cwd()), word).is_ok() {
            self.console.note(&format!(
                "`{}` is both a file and a revision: the file is read (write the revision as `{}~0`)",
                one_line(word),
                one_line(word)
            ));
        }
    }

    fn no_previous(&self, results: &Path, beside: &OppositeSide) -> CliFailure {
        let (suite, target) = (one_line(&beside.suite), one_line(&beside.target));
        let before = beside
            .run_id
            .as_ref()
            .map(|id| format!(" before {id}"))
            .unwrap_or_default();
        CliFailure::wrong(format!(
            "there is no run of suite `{suite}` against target `{target}`{before} in {}",
            results.display()
        ))
        .hint(
            "runs with different filters, shards and captures are ignored; pass a run id or the path of a journal \
                 (`eval-harness history --all-suites` lists the runs)",
        )
    }

    fn unknown(&self, word: &str, more: &[String]) -> CliFailure {
        let near = [LATEST, PREVIOUS, ACCEPTED];
        let all = "write `latest`, `previous`, `accepted`, a run id, a path, or a git revision";
        self.not_found(word, more, &near, all)
    }

    /// Says what was tried, and which of `words` and run ids may have been meant, or all that there
    /// is.
    fn not_found(&self, word: &str, more: &[String], words: &[&str], all: &str) -> CliFailure {
        let mut tried = vec!["no file has this name".to_owned()];
        let mut ids = Vec::new();
        match self.places.results() {
            Ok(results) => {
                ids = journal::list_runs(results)
                    .into_iter()
                    .map(|run| run.run_id)
                    .collect();
                let latest: Vec<&str> = ids.iter().rev().take(LISTED).map(String::as_str).collect();
                let there = if latest.is_empty() {
                    "there is none".to_owned()
                } else {
                    format!("the latest: {}", latest.join(", "))
                };
                tried.push(format!(
                    "no run in {} has this id ({there})",
                    results.display()
                ));
            }
            Err(failure) => tried.push(format!("the results can't be read: {}", failure.message)),
        }
        tried.extend(more.iter().cloned());
        let why: String = tried
            .iter()
            .map(|reason| format!("\n  - {reason}"))
            .collect();
        let failure = CliFailure::wrong(format!("`{}` can't be found:{why}", one_line(word)));
        let words: Vec<&str> = words
            .iter()
            .copied()
            .chain(ids.iter().map(String::as_str))
            .collect();
        match eval_base::nearest::did_you_mean(word, words.iter().copied()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(all),
        }
    }
}

fn no_revision(error: &GitError) -> String {
    let hint = error.hint().filter(|_| {
        matches!(
            error,
            GitError::NoRevision { .. } | GitError::Ambiguous { .. }
        )
    });
    match hint {
        Some(hint) => format!("{error} ({hint})"),
        None => format!("git revisions can't be read: {error}"),
    }
}

/// True of pipes, terminals and sockets.
fn is_stream(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// The first bytes of a file, which show what it holds.
fn start_of(path: &Path) -> Result<String, CliFailure> {
    use std::io::Read;
    let cannot = |error| CliFailure::wrong(format!("cannot read {}: {error}", path.display()));
    let file = eval_base::files::open_file(path).map_err(cannot)?;
    let mut start = Vec::new();
    file.take(512).read_to_end(&mut start).map_err(cannot)?;
    Ok(String::from_utf8_lossy(&start).into_owned())
}

/// True when a comparison's side was read from this run.
pub fn is_of_run(scores: &RunScores, run_id: &str) -> bool {
    scores.side.run_id == run_id && matches!(scores.side.source, ScoresSource::Journals(_))
}
