//! The files of ratings: read as a whole, appended line by line.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::{RATING_VERSION, RatingError, RatingLine};
use crate::model::{QuestionDigests, Rating};
use eval_base::files::{LockState, lock, read_bytes};
use eval_base::text::{escape_path_component, hex};

/// How long another writer of the same file is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(2);

const EXTENSION: &str = "jsonl";

/// A line that can't be used. The others count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatingProblem {
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    pub message: String,
}

impl std::fmt::Display for RatingProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RatingProblem {
            path,
            line,
            message,
        } = self;
        write!(f, "{}:{line}: {message}", path.display())
    }
}

/// The ratings of a suite.
#[derive(Debug, Clone, Default)]
pub struct RatingStore {
    /// Ascending by time.
    standing: Vec<RatingLine>,
    /// Places in `standing`.
    places: HashMap<QuestionDigests, Vec<usize>>,
    /// Places of rankings, by the digests of input and rubric.
    rankings: HashMap<(String, String), Vec<usize>>,
    problems: Vec<RatingProblem>,
    /// Of all lines that can be used.
    ids: HashSet<String>,
}

impl RatingStore {
    /// Reads all files of a folder; one that does not exist has none.
    pub fn read(dir: &Path) -> Result<RatingStore, RatingError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| RatingError::Read { path, source }
        };
        let mut files = Vec::new();
        match fs::read_dir(dir) {
            Ok(entries) => {
                for entry in entries {
                    let path = entry.map_err(fail(dir))?.path();
                    if path
                        .extension()
                        .is_some_and(|extension| extension == EXTENSION)
                    {
                        files.push(path);
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fail(dir)(error)),
        }
        files.sort();
        let (mut lines, mut problems) = (Vec::new(), Vec::new());
        for path in files {
            let bytes = read_bytes(&path).map_err(fail(&path))?;
            read_lines(&path, &bytes, &mut lines, &mut problems);
        }
        Ok(RatingStore::of(lines, problems))
    }

    fn of(lines: Vec<PlacedLine>, mut problems: Vec<RatingProblem>) -> RatingStore {
        let mut by_id: HashMap<String, PlacedLine> = HashMap::new();
        for line in lines {
            match by_id.get(&line.line.id) {
                Some(known) if known.line == line.line => {}
                Some(_) => problems.push(RatingProblem {
                    message: format!("a different line has the same id {}", line.line.id),
                    ..line.place
                }),
                None => {
                    by_id.insert(line.line.id.clone(), line);
                }
            }
        }
        let ids = by_id.keys().cloned().collect();
        // A line replaces lines of the same reviewer, only.
        let replaced: HashSet<(String, String)> = by_id
            .values()
            .filter_map(|placed| {
                let line = &placed.line;
                Some((line.reviewer.clone(), line.replaces.clone()?))
            })
            .collect();
        let mut newest: HashMap<(QuestionDigests, String, bool), (Timestamp, RatingLine)> =
            HashMap::new();
        for PlacedLine { at, line, .. } in by_id.into_values() {
            if line.rating.is_none() || replaced.contains(&(line.reviewer.clone(), line.id.clone()))
            {
                continue;
            }
            let key = (line.digests(), line.reviewer.clone(), line.repeat);
            let later = newest
                .get(&key)
                .is_none_or(|(known, other)| (*known, &other.id) < (at, &line.id));
            if later {
                newest.insert(key, (at, line));
            }
        }
        let mut standing: Vec<(Timestamp, RatingLine)> = newest.into_values().collect();
        standing.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
        let standing: Vec<RatingLine> = standing.into_iter().map(|(_, line)| line).collect();
        let mut places: HashMap<QuestionDigests, Vec<usize>> = HashMap::new();
        let mut rankings: HashMap<(String, String), Vec<usize>> = HashMap::new();
        for (at, line) in standing.iter().enumerate() {
            places.entry(line.digests()).or_default().push(at);
            if matches!(line.rating, Some(Rating::Ranking { .. })) {
                let key = (line.input.clone(), line.rubric.clone());
                rankings.entry(key).or_default().push(at);
            }
        }
        problems.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        RatingStore {
            standing,
            places,
            rankings,
            problems,
            ids,
        }
    }

    /// Whether a line has this id, also one that was replaced.
    pub fn has_line(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// The newest line of each reviewer and question that was not withdrawn, oldest first.
    pub fn standing(&self) -> impl Iterator<Item = &RatingLine> {
        self.standing.iter()
    }

    /// The standing ratings of a question, oldest first. A rating that was skipped is among them.
    pub fn of_question(&self, question: &QuestionDigests) -> Vec<&RatingLine> {
        let places = self.places.get(question).into_iter().flatten();
        places.filter_map(|at| self.standing.get(*at)).collect()
    }

    /// The newest standing ranking of each reviewer that an output with this digest is a part of,
    /// oldest first: a reviewer may have ranked it beside several sets of others.
    pub fn rankings_of(&self, input: &str, rubric: &str, output: &str) -> Vec<&RatingLine> {
        let key = (input.to_owned(), rubric.to_owned());
        let places = self.rankings.get(&key).into_iter().flatten();
        let lines = places.filter_map(|at| self.standing.get(*at));
        let contains = |line: &&RatingLine| match &line.rating {
            Some(Rating::Ranking { order }) => {
                order.iter().flatten().any(|ranked| ranked == output)
            }
            _ => false,
        };
        let all: Vec<&RatingLine> = lines.filter(contains).collect();
        let is_newest = |(at, line): &(usize, &&RatingLine)| {
            let mut later = all.iter().skip(at + 1);
            !later.any(|other| other.reviewer == line.reviewer && other.repeat == line.repeat)
        };
        let newest = all.iter().enumerate().filter(is_newest);
        newest.map(|(_, line)| *line).collect()
    }

    /// Lines that can't be used.
    pub fn problems(&self) -> &[RatingProblem] {
        &self.problems
    }
}

/// A line, when it was decided, and where it is.
struct PlacedLine {
    line: RatingLine,
    at: Timestamp,
    /// With an empty message.
    place: RatingProblem,
}

fn read_lines(
    path: &Path,
    bytes: &[u8],
    lines: &mut Vec<PlacedLine>,
    problems: &mut Vec<RatingProblem>,
) {
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let place = |message: String| RatingProblem {
            path: path.to_owned(),
            line: number,
            message,
        };
        match parsed(line) {
            Ok((line, at)) => lines.push(PlacedLine {
                line,
                at,
                place: place(String::new()),
            }),
            Err(_) if line.last() != Some(&b'\n') => problems.push(place(
                "the line is incomplete, so the rating in it was never recorded; the next rating removes it"
                    .to_owned(),
            )),
            Err(message) => problems.push(place(message)),
        }
    }
}

fn parsed(line: &[u8]) -> Result<(RatingLine, Timestamp), String> {
    let line: RatingLine = serde_json::from_slice(line).map_err(|error| {
        // The place within the line is of no use: the file's line is named.
        format!("not a rating: {error}")
    })?;
    if line.version > RATING_VERSION {
        let version = line.version;
        return Err(format!(
            "written by a later version of eval-harness (version {version} of the format)"
        ));
    }
    let at = line.at.parse();
    let at = at.map_err(|_| format!("not a rating: `at` is not a time: {}", line.at))?;
    Ok((line, at))
}

/// Appends the ratings of one reviewer.
#[derive(Debug, Clone)]
pub struct RatingWriter {
    dir: PathBuf,
    path: PathBuf,
}

impl RatingWriter {
    /// Writes nothing yet.
    pub fn new(dir: &Path, reviewer: &str) -> Result<RatingWriter, RatingError> {
        if reviewer.trim().is_empty() {
            return Err(RatingError::NoReviewer);
        }
        Ok(RatingWriter {
            dir: dir.to_owned(),
            path: dir.join(format!("{}.{EXTENSION}", escape_path_component(reviewer))),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line and syncs it. If it fails, the file is as it was before.
    pub fn append(&self, line: &RatingLine) -> Result<(), RatingError> {
        let fail = |source| RatingError::Write {
            path: self.path.clone(),
            source,
        };
        let mut bytes = serde_json::to_vec(line).map_err(|error| fail(error.into()))?;
        bytes.push(b'\n');
        fs::create_dir_all(&self.dir).map_err(fail)?;
        let is_new = !self.path.exists();
        // Opened for each line: git may have replaced the file.
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&self.path)
            .map_err(fail)?;
        if lock(&file, LOCK_PATIENCE, LOCK_PAUSE).map_err(fail)? == LockState::Busy {
            return Err(RatingError::Locked {
                path: self.path.clone(),
            });
        }
        let end = sound_end(&mut file).map_err(fail)?;
        let kept = written(&mut file, &end, &bytes).and_then(|()| match is_new {
            true => self.sync_name(),
            false => Ok(()),
        });
        kept.map_err(|error| {
            // Half a line is not left behind.
            let _ = file.set_len(end.length);
            fail(error)
        })
    }

    /// Makes the name of a new file survive a loss of power.
    fn sync_name(&self) -> io::Result<()> {
        let dirs = [Some(self.dir.as_path()), self.dir.parent()];
        dirs.into_iter()
            .flatten()
            .try_for_each(|dir| File::open(dir)?.sync_all())
    }
}

/// Where a file of ratings ends without an incomplete last line.
struct SoundEnd {
    length: u64,
    /// The last line is complete but for its line break, which an editor may have removed.
    lacks_break: bool,
}

fn written(file: &mut File, end: &SoundEnd, line: &[u8]) -> io::Result<()> {
    if file.metadata()?.len() != end.length {
        file.set_len(end.length)?;
    }
    let mut bytes = Vec::with_capacity(line.len() + 1);
    bytes.extend(end.lacks_break.then_some(b'\n'));
    bytes.extend_from_slice(line);
    file.write_all(&bytes)?;
    file.sync_data()
}

fn sound_end(file: &mut File) -> io::Result<SoundEnd> {
    let length = file.metadata()?.len();
    let mut tail = Vec::new();
    let mut start = length;
    // Backwards to the last line break.
    while start > 0 && !tail.contains(&b'\n') {
        let from = start.saturating_sub(4096);
        let mut part = vec![0; usize::try_from(start - from).unwrap_or(0)];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut part)?;
        part.append(&mut tail);
        (tail, start) = (part, from);
    }
    let last = match tail.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => tail.get(at + 1..).unwrap_or_default(),
        None => tail.as_slice(),
    };
    let lacks_break = !last.is_empty() && parsed(last).is_ok();
    let cut = if lacks_break { 0 } else { last.len() as u64 };
    Ok(SoundEnd {
        length: length - cut,
        lacks_break,
    })
}

/// A random id: 128 bits in hex.
pub fn new_rating_id() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}
