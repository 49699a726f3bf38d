//! Score baselines on disk: `scores/` in the folder of baselines, one file a suite and target, and
//! what is pending beside it.
//!
//! Files are written whole and in one form, a case a line, so that a diff of git shows what changed
//! and nothing else.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::lock::{FolderLock, NoLock, lock};
use super::replace;
use crate::load::{BrokenDocument, parse_scores, scores_file_name};
use crate::model::{BaselineStage, Fingerprint, Outcome, private_case_id};
use crate::spec::{CaseRecord, EvalRecord, ScoreBaselineFile};
use eval_base::files::read_text;
use eval_base::git::{self, GitError};

/// The longest that a writer waits for another one.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// No score baseline is larger.
const LARGEST: u64 = 256 << 20;

/// What pending scores say they replace when nothing was accepted yet.
const NOTHING: &str = "none";

#[derive(Debug, thiserror::Error)]
pub enum ScoresError {
    #[error("another process is writing in {}", .dir.display())]
    Busy { dir: PathBuf },
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("the score baseline {} cannot be used: {broken}", .path.display())]
    Broken {
        path: PathBuf,
        broken: Box<BrokenDocument>,
    },
    #[error("{} contains the scores of suite `{suite}` against target `{target}`", .path.display())]
    Other {
        path: PathBuf,
        suite: String,
        target: String,
    },
    #[error("no scores of suite `{suite}` against target `{target}` are pending")]
    NoPending { suite: String, target: String },
    #[error("the accepted scores changed after the pending ones were captured")]
    AtOdds,
    #[error("the score baseline can't be read at `{rev}`: {source}")]
    Git { rev: String, source: GitError },
}

impl ScoresError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ScoresError::Busy { .. } => Some(format!(
                "it was still writing after {} s: wait for it, or stop it",
                LONGEST_WAIT.as_secs()
            )),
            ScoresError::Broken { broken, .. } => broken.hint(),
            ScoresError::Other { .. } => {
                Some("the file was renamed or edited: capture it again".to_owned())
            }
            ScoresError::NoPending { .. } => Some(
                "`eval-harness baseline capture --scores --run latest` captures pending scores"
                    .to_owned(),
            ),
            ScoresError::AtOdds => {
                Some("capture again and check the difference, or accept with --force".to_owned())
            }
            ScoresError::Git { source, .. } => source.hint(),
            ScoresError::Io { .. } => None,
        }
    }

    /// True when a file or a word is wrong; else something could not be had just now.
    pub fn is_definition(&self) -> bool {
        !matches!(self, ScoresError::Busy { .. } | ScoresError::Io { .. })
    }
}

/// Whose scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoresOf<'a> {
    pub suite: &'a str,
    pub target: &'a str,
}

/// The folder of score baselines, which need not exist.
#[derive(Debug, Clone)]
pub struct ScoreStore {
    dir: PathBuf,
}

/// What the folder holds of one target.
#[derive(Debug)]
pub struct ScoresEntry {
    pub target: String,
    pub accepted: Option<Result<ScoreBaselineFile, ScoresError>>,
    pub pending: Option<Result<ScoreBaselineFile, ScoresError>>,
}

impl ScoreStore {
    /// The scores in a folder of baselines (absolute).
    pub fn new(baselines: &Path) -> ScoreStore {
        ScoreStore {
            dir: baselines.join("scores"),
        }
    }

    pub fn path(&self, of: ScoresOf<'_>, standing: BaselineStage) -> PathBuf {
        self.dir
            .join(scores_file_name(of.suite, of.target, standing))
    }

    /// What is there; `None` when there is no such file.
    ///
    /// # Errors
    /// When the file can't be read, is broken, or holds other scores than its name says.
    pub fn read(
        &self,
        of: ScoresOf<'_>,
        standing: BaselineStage,
    ) -> Result<Option<ScoreBaselineFile>, ScoresError> {
        let path = self.path(of, standing);
        let Some(text) = self.text(&path)? else {
            return Ok(None);
        };
        checked(&path, &text, of).map(Some)
    }

    /// The accepted scores as they were at a git revision; `None` when there were none.
    ///
    /// # Errors
    /// Also when git does not know the revision.
    pub fn at(
        &self,
        of: ScoresOf<'_>,
        rev: &str,
    ) -> Result<Option<ScoreBaselineFile>, ScoresError> {
        let path = self.path(of, BaselineStage::Accepted);
        let fail = |source| ScoresError::Git {
            rev: rev.to_owned(),
            source,
        };
        let there = self
            .dir
            .ancestors()
            .find(|dir| dir.is_dir())
            .unwrap_or(Path::new("/"));
        let commit = git::commit_of(there, rev).map_err(fail)?;
        let Some(bytes) = git::file(&path, &commit).map_err(fail)? else {
            return Ok(None);
        };
        checked(&path, &String::from_utf8_lossy(&bytes), of).map(Some)
    }

    /// Scores of any suite and target in a file of one's own.
    pub fn read_file(path: &Path) -> Result<ScoreBaselineFile, ScoresError> {
        let text = read_text(path).map_err(|source| ScoresError::Io {
            what: "read",
            path: path.to_owned(),
            source,
        })?;
        parsed(path, &text)
    }

    /// Everything that is kept of a suite, ascending by target. Of a file that can't be used nobody
    /// knows the suite, so that every such file is told.
    pub fn of_suite(&self, suite: &str) -> Result<Vec<ScoresEntry>, ScoresError> {
        let mut entries: Vec<ScoresEntry> = Vec::new();
        let names = match self.dir.read_dir() {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entries),
            Err(source) => return Err(self.io("list", source)),
        };
        let mut names: Vec<PathBuf> = names
            .filter_map(|name| Some(name.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect();
        names.sort();
        for path in names {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let read = Self::read_file(&path);
            let target = match &read {
                Ok(file) if file.suite != suite => continue,
                Ok(file) => file.target.name.clone(),
                Err(_) => name.clone(),
            };
            let entry = match entries.iter_mut().find(|entry| entry.target == target) {
                Some(entry) => entry,
                None => {
                    entries.push(ScoresEntry {
                        target,
                        accepted: None,
                        pending: None,
                    });
                    let last = entries.len() - 1;
                    &mut entries[last]
                }
            };
            let place = if name.ends_with(".pending.json") {
                &mut entry.pending
            } else {
                &mut entry.accepted
            };
            *place = Some(read);
        }
        entries.sort_by(|a, b| a.target.cmp(&b.target));
        Ok(entries)
    }

    /// Writes scores as pending beside the accepted ones, which don't change. Returns the file.
    pub fn capture(&self, mut file: ScoreBaselineFile) -> Result<PathBuf, ScoresError> {
        let _lock = self.lock()?;
        let (suite, target) = (file.suite.clone(), file.target.name.clone());
        let of = ScoresOf {
            suite: &suite,
            target: &target,
        };
        let accepted = self.text(&self.path(of, BaselineStage::Accepted))?;
        file.replaces = Some(
            accepted
                .as_deref()
                .map_or_else(|| NOTHING.to_owned(), fingerprint),
        );
        let path = self.path(of, BaselineStage::Pending);
        self.write(&path, &emit(&file))?;
        Ok(path)
    }

    /// Makes the pending scores the accepted ones. Returns the file.
    ///
    /// # Errors
    /// When nothing is pending, or when it was captured beside other accepted scores (unless
    /// `force`).
    pub fn accept(&self, of: ScoresOf<'_>, force: bool) -> Result<PathBuf, ScoresError> {
        let _lock = self.lock()?;
        let Some(mut file) = self.read(of, BaselineStage::Pending)? else {
            return Err(no_pending(of));
        };
        let path = self.path(of, BaselineStage::Accepted);
        let accepted = self
            .text(&path)?
            .as_deref()
            .map_or_else(|| NOTHING.to_owned(), fingerprint);
        let replaces = file.replaces.take();
        let text = emit(&file);
        // Accepted already, by one who was killed before the pending file went.
        let done = accepted == fingerprint(&text);
        if !done && !force && replaces.is_some_and(|replaces| replaces != accepted) {
            return Err(ScoresError::AtOdds);
        }
        self.write(&path, &text)?;
        self.remove(of)?;
        Ok(path)
    }

    /// Throws the pending scores away; false when there are none.
    pub fn reject(&self, of: ScoresOf<'_>) -> Result<bool, ScoresError> {
        if !self.path(of, BaselineStage::Pending).exists() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        self.remove(of)
    }

    fn remove(&self, of: ScoresOf<'_>) -> Result<bool, ScoresError> {
        let name = scores_file_name(of.suite, of.target, BaselineStage::Pending);
        replace::remove(&self.dir, &name)
            .map_err(|source| self.io("remove the pending scores in", source))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), ScoresError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        replace::replace(&self.dir, &name, text.as_bytes()).map_err(|source| ScoresError::Io {
            what: "write",
            path: path.to_owned(),
            source,
        })
    }

    fn text(&self, path: &Path) -> Result<Option<String>, ScoresError> {
        let fail = |source| ScoresError::Io {
            what: "read",
            path: path.to_owned(),
            source,
        };
        match path.metadata() {
            Ok(file) if file.len() > LARGEST => {
                return Err(fail(io::Error::other(
                    "it is too large for a score baseline",
                )));
            }
            _ => {}
        }
        match read_text(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fail(error)),
        }
    }

    fn lock(&self) -> Result<FolderLock, ScoresError> {
        std::fs::create_dir_all(&self.dir)
            .map_err(|source| self.io("create the folder", source))?;
        let held = lock(&self.dir, LONGEST_WAIT).map_err(|why| match why {
            NoLock::Busy(_) => ScoresError::Busy {
                dir: self.dir.clone(),
            },
            NoLock::Io(source) => self.io("lock", source),
        })?;
        if held.exclusive {
            replace::clear(&self.dir);
        }
        Ok(held)
    }

    fn io(&self, what: &'static str, source: io::Error) -> ScoresError {
        ScoresError::Io {
            what,
            path: self.dir.clone(),
            source,
        }
    }
}

fn no_pending(of: ScoresOf<'_>) -> ScoresError {
    ScoresError::NoPending {
        suite: of.suite.to_owned(),
        target: of.target.to_owned(),
    }
}

fn parsed(path: &Path, text: &str) -> Result<ScoreBaselineFile, ScoresError> {
    parse_scores(path, text).map_err(|broken| ScoresError::Broken {
        path: path.to_owned(),
        broken,
    })
}

fn checked(path: &Path, text: &str, of: ScoresOf<'_>) -> Result<ScoreBaselineFile, ScoresError> {
    let file = parsed(path, text)?;
    if file.suite == of.suite && file.target.name == of.target {
        return Ok(file);
    }
    let (suite, target) = (file.suite, file.target.name);
    Err(ScoresError::Other {
        path: path.to_owned(),
        suite,
        target,
    })
}

/// Over the text as git keeps it, whatever line ends the checkout has.
fn fingerprint(text: &str) -> String {
    Fingerprint::of_bytes(text.replace("\r\n", "\n").as_bytes()).to_string()
}

/// What accepting pending scores would change. Cases are named by eval and case.
#[derive(Debug, Default, PartialEq)]
pub struct ScoreChanges {
    /// Metrics that differ: name, accepted and pending value.
    pub metrics: Vec<(String, Option<f64>, Option<f64>)>,
    pub fixed: Vec<(String, String)>,
    pub broken: Vec<(String, String)>,
    pub new: Vec<(String, String)>,
    pub gone: Vec<(String, String)>,
    /// The data or the grading is no longer what it was, so that no outcome flipped.
    pub changed: Vec<(String, String)>,
    /// The outcome is the same, but not how many of how many samples passed.
    pub shifted: Vec<(String, String)>,
    /// Number of cases of private datasets that would be in one of the lists.
    pub private: usize,
}

impl ScoreChanges {
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty()
            && self.private == 0
            && self.lists().iter().all(|(_, cases)| cases.is_empty())
    }

    /// The lists of cases with their words.
    pub fn lists(&self) -> [(&'static str, &[(String, String)]); 6] {
        [
            ("broken", &self.broken),
            ("fixed", &self.fixed),
            ("new", &self.new),
            ("gone", &self.gone),
            ("changed", &self.changed),
            ("shifted", &self.shifted),
        ]
    }
}

/// Compares accepted scores with pending ones.
pub fn score_changes(accepted: &ScoreBaselineFile, pending: &ScoreBaselineFile) -> ScoreChanges {
    let mut changes = ScoreChanges::default();
    let names: BTreeSet<&String> = accepted
        .metrics
        .keys()
        .chain(pending.metrics.keys())
        .collect();
    for name in names {
        let of = |file: &ScoreBaselineFile| file.metrics.get(name).map(|metric| metric.value);
        let (before, after) = (of(accepted), of(pending));
        if before.map(f64::to_bits) != after.map(f64::to_bits) {
            changes.metrics.push((name.clone(), before, after));
        }
    }
    let evals = accepted.evals.iter().chain(&pending.evals);
    let private = evals.filter(|eval| eval.private);
    let private: BTreeSet<&str> = private.map(|eval| eval.id.as_str()).collect();
    let (before, after) = (cases(accepted, &private), cases(pending, &private));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).cloned().collect();
    for place in names {
        let list = match (before.get(&place), after.get(&place)) {
            (None, _) => &mut changes.new,
            (_, None) => &mut changes.gone,
            (Some(before), Some(after)) if is_other(before, after) => &mut changes.changed,
            (Some(before), Some(after)) => match (before.outcome, after.outcome) {
                (Some(Outcome::Failed), Some(Outcome::Passed)) => &mut changes.fixed,
                (Some(Outcome::Passed), Some(Outcome::Failed)) => &mut changes.broken,
                _ if (before.n, before.c) != (after.n, after.c) => &mut changes.shifted,
                _ => continue,
            },
        };
        let (eval, id) = place;
        if private.contains(eval) {
            changes.private += 1;
        } else {
            list.push((eval.to_owned(), id.into_owned()));
        }
    }
    changes
}

/// True when both say what the case is, and it is not the same.
fn is_other(before: &CaseRecord, after: &CaseRecord) -> bool {
    if let (Some(before), Some(after)) = (before.content, after.content) {
        return !before.is_task_of(&after);
    }
    before
        .fingerprint
        .as_ref()
        .zip(after.fingerprint.as_ref())
        .is_some_and(|(before, after)| before != after)
}

/// Every case, by eval and case; those of `private` evals by the hash of their id, also where the
/// file is from before they became private.
fn cases<'f>(
    file: &'f ScoreBaselineFile,
    private: &BTreeSet<&str>,
) -> BTreeMap<(&'f str, Cow<'f, str>), &'f CaseRecord> {
    let evals = file.evals.iter();
    let cases = evals.flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)));
    cases
        .map(|(eval, case)| {
            let id = match private.contains(eval.id.as_str()) && !eval.private {
                true => Cow::Owned(private_case_id(&eval.id, &case.id)),
                false => Cow::Borrowed(case.id.as_str()),
            };
            ((eval.id.as_str(), id), case)
        })
        .collect()
}

/// The one form of a score baseline: pretty, sorted, a metric and a case a line.
pub fn emit(file: &ScoreBaselineFile) -> String {
    let mut out = String::from("{\n");
    let head = ScoreBaselineFile {
        metrics: Default::default(),
        evals: Default::default(),
        ..file.clone()
    };
    // The order of the fields is that of the type, so that `format_version` comes first.
    for key in ORDER {
        let value = serde_json::to_value(&head)
            .ok()
            .and_then(|mut head| head.get_mut(key).map(Value::take));
        if let Some(value) = value.filter(|value| !value.is_null()) {
            let _ = writeln!(out, "  {}: {},", text(&key), text(&value));
        }
    }
    out.push_str("  \"metrics\": {");
    rows(&mut out, "    ", file.metrics.iter());
    out.push_str("},\n  \"evals\": {");
    let mut evals: Vec<&EvalRecord> = file.evals.iter().collect();
    evals.sort_by_key(|eval| &eval.id);
    for (at, eval) in evals.into_iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        let about = head_of(eval);
        let _ = write!(
            out,
            "    {}: {{\n      {about}\n      \"cases\": {{",
            text(&eval.id)
        );
        let mut cases: Vec<&CaseRecord> = eval.cases.iter().collect();
        cases.sort_by_key(|case| &case.id);
        let cases = cases.into_iter().map(|case| (&case.id, case));
        rows(&mut out, "        ", cases);
        out.push_str("}\n    }");
    }
    out.push_str(if file.evals.is_empty() {
        "}\n}\n"
    } else {
        "\n  }\n}\n"
    });
    out
}

/// What an eval says of itself, on one line that ends with a comma.
fn head_of(eval: &EvalRecord) -> String {
    fn add(line: &mut String, name: &str, value: Option<&(impl Serialize + ?Sized)>) {
        if let Some(value) = value {
            let before = if line.is_empty() { "" } else { " " };
            let _ = write!(line, "{before}\"{name}\": {},", text(value));
        }
    }

    let mut line = String::new();
    add(&mut line, "outcome", Some(&eval.outcome));
    add(&mut line, "score", eval.score.as_ref());
    add(&mut line, "weight", eval.weight.as_ref());
    add(&mut line, "score_threshold", eval.score_threshold.as_ref());
    add(&mut line, "type", eval.kind.as_ref());
    add(&mut line, "category", eval.category.as_ref());
    add(
        &mut line,
        "tags",
        Some(&eval.tags).filter(|tags| !tags.is_empty()),
    );
    add(&mut line, "difficulty", eval.difficulty.as_ref());
    add(&mut line, "criticality", eval.criticality.as_ref());
    add(&mut line, "private", Some(&true).filter(|_| eval.private));
    line
}

/// The keys before the long parts.
const ORDER: [&str; 13] = [
    "format_version",
    "suite",
    "suite_version",
    "target",
    "captured_at",
    "run_id",
    "commit",
    "dirty",
    "harness_version",
    "environment",
    "ks",
    "seed",
    "replaces",
];

/// An entry a line, behind an opening brace; the closing one comes next.
fn rows<'a, T: Serialize + 'a>(
    out: &mut String,
    indent: &str,
    entries: impl Iterator<Item = (&'a String, &'a T)>,
) {
    let mut any = false;
    for (name, value) in entries {
        let _ = write!(
            out,
            "{}\n{indent}{}: {}",
            if any { "," } else { "" },
            text(name),
            text(value)
        );
        any = true;
    }
    if any {
        let _ = write!(out, "\n{}", indent.get(2..).unwrap_or_default());
    }
}

/// A value on one line, with a blank behind each colon and comma.
fn text(value: &(impl Serialize + ?Sized)) -> String {
    let mut out = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut out, OneLine);
    if value.serialize(&mut writer).is_err() {
        return "null".to_owned();
    }
    String::from_utf8(out).unwrap_or_else(|_| "null".to_owned())
}

/// JSON on one line, as people write it.
struct OneLine;

impl serde_json::ser::Formatter for OneLine {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
#[path = "scores_tests.rs"]
mod tests;
