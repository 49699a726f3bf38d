//! A reviewer's session: the items of a queue in the reviewer's order, and the decisions on them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::item::{input_text, pretty, text_of};
use super::queue::{
    OutputPlace, Question, ReviewQueue, ReviewedRun, graded_value, question_key, questions, queued,
    rank, shown_name,
};
use super::{
    Decision, FiledDecision, OtherRating, Recorded, ReviewContext, ReviewError, ReviewItem,
    ReviewProgress, ShownOutput, ShownVerdict,
};
use crate::journal::{self, RunPaths};
use crate::model::{Attempt, GraderType, RankedSide, Rating, SampleFinished};
use crate::ratings::{
    PeopleVerdict, RATING_VERSION, RatingLine, RatingProblem, RatingStore, RatingWriter,
    new_rating_id,
};
use crate::spec::{RatingKind, RatingScale};
use eval_base::clock::{Clock, rfc3339};

/// What a session is about.
pub struct SessionOptions {
    /// The results folder.
    pub results: PathBuf,
    /// `latest`, a run id, or the path of a journal.
    pub run: String,
    /// Further runs, whose outputs are ranked or reviewed beside those of `run`.
    pub beside: Vec<String>,
    /// The folder of the ratings of the suite.
    pub store: PathBuf,
    pub reviewer: String,
    pub queue: ReviewQueue,
    /// Hides target, model, verdicts and names of others; `None` does so where the grader says it.
    pub blind: Option<bool>,
    /// Of the order.
    pub seed: u64,
    /// Share of the items that are asked twice.
    pub repeats: f64,
    pub clock: Arc<dyn Clock>,
    /// Version of the program, for the ratings.
    pub tool: String,
}

/// A place in a session.
struct SessionItem {
    /// The number of the question.
    question: usize,
    repeat: bool,
    adjudicates: bool,
    decided: Option<DecidedItem>,
}

/// The standing decision on an item.
struct DecidedItem {
    line: String,
    rating: Rating,
    comment: Option<String>,
    seconds: f64,
}

/// One reviewer, one run with the others of its command, one queue.
pub struct ReviewSession {
    options: SessionOptions,
    runs: Vec<ReviewedRun>,
    questions: Vec<Question>,
    items: Vec<SessionItem>,
    writer: RatingWriter,
    problems: Vec<RatingProblem>,
    /// Decisions of this session, the last one at the end.
    made: Vec<usize>,
    private: usize,
}

impl ReviewSession {
    /// Reads runs and ratings. A question that the reviewer has already answered is in its place of
    /// the queue and decided; one that was skipped is open again.
    pub fn open(options: SessionOptions) -> Result<ReviewSession, ReviewError> {
        let writer = RatingWriter::new(&options.store, &options.reviewer)?;
        let store = RatingStore::read(&options.store)?;
        let runs = opened(&options)?;
        let judged = options.queue != ReviewQueue::Pending;
        let found = questions(&runs, judged)?;
        let run = || {
            runs.first()
                .map(|run| run.paths.run_id.clone())
                .unwrap_or_default()
        };
        if found.questions.is_empty() {
            if found.private > 0 {
                return Err(ReviewError::Private { run: run() });
            }
            let reason = match (found.old, judged) {
                (0, true) => "no case has a human grader or a judge",
                (0, false) => {
                    "no case has a human grader; `--queue all` offers outputs that judges graded"
                }
                _ => "an earlier version recorded it; `eval-harness regrade` makes it reviewable",
            };
            let reason = reason.to_owned();
            return Err(ReviewError::Nothing { run: run(), reason });
        }
        let reviewer = options.reviewer.as_str();
        let questions = queued(
            found.questions,
            options.queue,
            &store,
            reviewer,
            options.seed,
        );
        let items = laid_out(&questions, &store, &options);
        Ok(ReviewSession {
            runs,
            questions,
            items,
            writer,
            problems: store.problems().to_vec(),
            made: Vec::new(),
            private: found.private,
            options,
        })
    }

    /// The run that was named.
    pub fn run(&self) -> &str {
        self.runs
            .first()
            .map_or("", |run| run.paths.run_id.as_str())
    }

    pub fn suite(&self) -> &str {
        self.runs
            .first()
            .map_or("", |run| run.started.run.suite_name.as_str())
    }

    pub fn reviewer(&self) -> &str {
        &self.options.reviewer
    }

    /// The file of the reviewer's ratings.
    pub fn file(&self) -> &Path {
        self.writer.path()
    }

    /// Lines of the reviews that can't be used.
    pub fn problems(&self) -> &[RatingProblem] {
        &self.problems
    }

    /// Samples of private datasets, which are not shown.
    pub fn private_samples(&self) -> usize {
        self.private
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn progress(&self) -> ReviewProgress {
        let decided = || self.items.iter().filter_map(|item| item.decided.as_ref());
        let timed: Vec<f64> = decided().map(|decided| decided.seconds).collect();
        let mean = timed.iter().sum::<f64>() / timed.len() as f64;
        ReviewProgress {
            done: timed.len(),
            total: self.items.len(),
            skipped: decided()
                .filter(|decided| decided.rating == Rating::Skip)
                .count(),
            mean_seconds: (!timed.is_empty()).then_some(mean),
        }
    }

    /// The items with a decision.
    pub fn decided(&self) -> Vec<usize> {
        let items = self.items.iter().enumerate();
        let decided = items.filter(|(_, item)| item.decided.is_some());
        decided.map(|(index, _)| index).collect()
    }

    /// The first item without a decision.
    pub fn position(&self) -> Option<usize> {
        self.items.iter().position(|item| item.decided.is_none())
    }

    /// What the reviewer sees. Reads the outputs from the journals.
    pub fn item(&self, index: usize) -> Result<ReviewItem, ReviewError> {
        let (item, question) = self.at(index)?;
        let samples = self.outputs(question)?;
        let first = samples.first().ok_or_else(|| self.gone(question))?;
        let rubric = &question.digests.rubric;
        let mut grades = first.attempt()?.verdict.grades.iter();
        let grade = grades.find(|grade| match (&grade.review, &grade.judged) {
            (Some(review), _) => review.digests.rubric == *rubric,
            (None, Some(_)) => shown_name(grade) == question.grader,
            (None, None) => false,
        });
        let review = grade.and_then(|grade| grade.review.as_deref());
        let judged = grade.and_then(|grade| grade.judged.as_deref());
        let blind = self.options.blind.unwrap_or(question.policy.blind);
        let mut outputs = Vec::with_capacity(samples.len());
        for (number, sample) in samples.iter().enumerate() {
            outputs.push(sample.shown(number, samples.len(), blind)?);
        }
        let expected = || judged.and(grade).and_then(|grade| grade.expected.as_ref());
        let reference = review
            .and_then(|review| review.reference.as_ref())
            .or_else(expected);
        let rubric = match (review, judged) {
            (Some(review), _) => review.rubric.clone(),
            (None, Some(judged)) => judged.rubric.clone(),
            (None, None) => String::new(),
        };
        let run = first.run;
        let input = run
            .inputs
            .get(&(question.eval.clone(), question.case.clone()));
        Ok(ReviewItem {
            key: question_key(&question.digests),
            eval: question.eval.clone(),
            case: question.case.clone(),
            input: input_text(input.map(|input| &**input)),
            outputs,
            reference: reference.map(pretty),
            rubric,
            scale: shown_scale(question),
            time_limit_minutes: question.policy.time_limit_minutes,
            blind,
            adjudication: item.adjudicates,
            others: match item.adjudicates {
                true => self.others(question, blind)?,
                false => Vec::new(),
            },
            context: match blind || question.policy.is_ranking() {
                true => None,
                false => Some(first.context()?),
            },
            decided: item.decided.as_ref().map(|decided| decided.rating.clone()),
            comment: item
                .decided
                .as_ref()
                .and_then(|decided| decided.comment.clone()),
        })
    }

    /// Records a decision; it is appended and synced when this returns. If it fails, nothing has
    /// changed.
    pub fn decide(&mut self, index: usize, decision: Decision) -> Result<Recorded, ReviewError> {
        let (item, question) = self.at(index)?;
        let Decision {
            rating,
            comment,
            seconds,
        } = decision;
        check(question, &rating)?;
        let shown = match question.policy.is_ranking() {
            true => self
                .order(question)
                .into_iter()
                .map(|output| self.side(output))
                .collect(),
            false => Vec::new(),
        };
        // To the millisecond.
        let seconds = match seconds.is_finite() {
            true => (seconds.max(0.0) * 1e3).round() / 1e3,
            false => 0.0,
        };
        let limit = question.policy.time_limit_minutes;
        let over_time = limit.is_some_and(|minutes| seconds > minutes * 60.0);
        let comment = comment.filter(|comment| !comment.trim().is_empty());
        let line = RatingLine {
            rating: Some(rating.clone()),
            comment: comment.clone(),
            seconds,
            over_time,
            shown,
            replaces: item.decided.as_ref().map(|decided| decided.line.clone()),
            ..self.line(item, question)?
        };
        self.writer.append(&line)?;
        let decided = DecidedItem {
            line: line.id.clone(),
            rating,
            comment,
            seconds,
        };
        if let Some(item) = self.items.get_mut(index) {
            item.decided = Some(decided);
        }
        self.made.push(index);
        Ok(Recorded {
            id: line.id,
            at: line.at,
            over_time,
            progress: self.progress(),
        })
    }

    /// Withdraws the last decision of this session that stands. The index of the item that is open
    /// again; `None` if there is no decision.
    pub fn undo(&mut self) -> Result<Option<usize>, ReviewError> {
        while let Some(index) = self.made.last().copied() {
            let (item, question) = self.at(index)?;
            let Some(decided) = &item.decided else {
                self.made.pop();
                continue;
            };
            let line = RatingLine {
                replaces: Some(decided.line.clone()),
                ..self.line(item, question)?
            };
            self.writer.append(&line)?;
            self.made.pop();
            if let Some(item) = self.items.get_mut(index) {
                item.decided = None;
            }
            return Ok(Some(index));
        }
        Ok(None)
    }

    /// Records decisions that were taken elsewhere; returns how many were new. All are checked before
    /// the first is recorded. If writing fails in between, the same file can be imported again.
    pub fn import(&self, decisions: &[FiledDecision]) -> Result<usize, ReviewError> {
        let items = self.items.iter().filter(|item| !item.repeat);
        let questions = items.filter_map(|item| Some((item, self.questions.get(item.question)?)));
        let by_key: HashMap<String, (&SessionItem, &Question)> = questions
            .map(|found| (question_key(&found.1.digests), found))
            .collect();
        let store = RatingStore::read(&self.options.store)?;
        let (mut lines, mut unknown) = (Vec::new(), 0);
        for (number, decision) in (1..).zip(decisions) {
            let Some((item, question)) = by_key.get(&decision.key) else {
                unknown += 1;
                continue;
            };
            let unfit = |why: String| ReviewError::Unfit(format!("decision {number}: {why}"));
            check(question, &decision.rating).map_err(|error| unfit(error.to_string()))?;
            let is_id =
                decision.id.len() == 32 && decision.id.bytes().all(|b| b.is_ascii_hexdigit());
            if !is_id || decision.at.parse::<Timestamp>().is_err() {
                return Err(unfit("`id` or `at` is not valid".to_owned()));
            }
            if store.has_line(&decision.id) {
                continue;
            }
            let limit = question.policy.time_limit_minutes;
            let shown = decision.shown.iter().filter_map(|digest| {
                let mut outputs = question.outputs.iter();
                Some(self.side(outputs.find(|output| output.digest == *digest)?))
            });
            lines.push(RatingLine {
                id: decision.id.clone(),
                at: decision.at.clone(),
                rating: Some(decision.rating.clone()),
                comment: decision
                    .comment
                    .clone()
                    .filter(|comment| !comment.trim().is_empty()),
                seconds: decision.seconds.max(0.0),
                over_time: limit.is_some_and(|minutes| decision.seconds > minutes * 60.0),
                blind: decision.blind,
                adjudicates: decision.adjudicates,
                shown: shown.collect(),
                ..self.line(item, question)?
            });
        }
        if unknown > 0 {
            let (all, run) = (decisions.len(), self.run());
            return Err(ReviewError::Unfit(format!(
                "{unknown} of {all} decisions are on items that run {run} does not have, so none is imported"
            )));
        }
        for line in &lines {
            self.writer.append(line)?;
        }
        Ok(lines.len())
    }

    fn at(&self, index: usize) -> Result<(&SessionItem, &Question), ReviewError> {
        let item = self.items.get(index);
        item.and_then(|item| Some((item, self.questions.get(item.question)?)))
            .ok_or(ReviewError::NoItem {
                index,
                length: self.items.len(),
            })
    }

    fn gone(&self, question: &Question) -> ReviewError {
        let case = question.case.clone();
        ReviewError::Gone { case }
    }

    /// A line of now without a rating.
    fn line(&self, item: &SessionItem, question: &Question) -> Result<RatingLine, ReviewError> {
        Ok(RatingLine {
            version: RATING_VERSION,
            id: new_rating_id().map_err(ReviewError::Random)?,
            at: rfc3339(self.options.clock.now()),
            reviewer: self.options.reviewer.clone(),
            suite: self.suite().to_owned(),
            eval: question.eval.clone(),
            case: question.case.clone(),
            grader: question.grader.clone(),
            input: question.digests.input.clone(),
            output: question.digests.output.clone(),
            rubric: question.digests.rubric.clone(),
            rating: None,
            comment: None,
            seconds: 0.0,
            over_time: false,
            blind: self.options.blind.unwrap_or(question.policy.blind),
            repeat: item.repeat,
            adjudicates: item.adjudicates,
            shown: Vec::new(),
            tool: self.options.tool.clone(),
            replaces: None,
        })
    }

    /// The outputs of a question in the order in which this reviewer sees them.
    fn order<'q>(&self, question: &'q Question) -> Vec<&'q OutputPlace> {
        let key = question_key(&question.digests);
        let mut outputs: Vec<&OutputPlace> = question.outputs.iter().collect();
        outputs.sort_by_cached_key(|output| {
            let words = ["side", &self.options.reviewer, &key, &output.digest];
            rank(self.options.seed, &words)
        });
        outputs
    }

    fn side(&self, output: &OutputPlace) -> RankedSide {
        let run = self.runs.get(output.run);
        RankedSide {
            output: output.digest.clone(),
            target: run
                .map(|run| run.started.run.environment.target.clone())
                .unwrap_or_default(),
        }
    }

    fn outputs(&self, question: &Question) -> Result<Vec<ReviewedSample<'_>>, ReviewError> {
        let order = self.order(question).into_iter();
        let read = order.map(|place| {
            let run = self
                .runs
                .get(place.run)
                .ok_or_else(|| self.gone(question))?;
            let sample = run
                .samples
                .get(&question.eval, &question.case, place.sample);
            let sample = sample.ok_or_else(|| self.gone(question))??;
            Ok(ReviewedSample {
                run,
                sample,
                digest: place.digest.clone(),
            })
        });
        read.collect()
    }

    /// What others said; names are letters if the review is blind.
    fn others(&self, question: &Question, blind: bool) -> Result<Vec<OtherRating>, ReviewError> {
        let store = RatingStore::read(&self.options.store)?;
        let (review, _) = question.verdict(&store, Some(&self.options.reviewer));
        let others = review
            .ratings
            .into_iter()
            .enumerate()
            .map(|(at, counted)| OtherRating {
                reviewer: match blind {
                    true => format!("reviewer {}", label(at)),
                    false => counted.reviewer,
                },
                rating: counted.rating,
                comment: counted.comment,
            });
        Ok(others.collect())
    }
}

/// The named run and the others of its command, in the order of time.
fn opened(options: &SessionOptions) -> Result<Vec<ReviewedRun>, ReviewError> {
    let results = &options.results;
    let named = journal::find_run(results, &options.run)?;
    let mut paths: Vec<RunPaths> = vec![named.clone()];
    for run in &options.beside {
        paths.push(journal::find_run(results, run)?);
    }
    let started = journal::started(&named.journal())?;
    let siblings = started.siblings.iter();
    paths.extend(siblings.filter_map(|run| journal::find_run(results, run).ok()));
    // Runs that the same command made later have this one among their siblings.
    let later = journal::list_runs(results)
        .into_iter()
        .skip_while(|run| run.run_id != named.run_id);
    for run in later.skip(1) {
        match journal::started(&run.journal()) {
            Ok(started) if started.siblings.contains(&named.run_id) => paths.push(run),
            _ => break,
        }
    }
    let mut runs: Vec<ReviewedRun> = Vec::new();
    for path in paths {
        if !runs.iter().any(|known| known.paths == path) {
            runs.push(ReviewedRun::open(path)?);
        }
    }
    Ok(runs)
}

/// The items of a queue, with repetitions, and what the reviewer has decided before.
fn laid_out(
    questions: &[Question],
    store: &RatingStore,
    options: &SessionOptions,
) -> Vec<SessionItem> {
    let reviewer = options.reviewer.as_str();
    let item = |number: usize, question: &Question, repeat: bool| {
        let own = question.own(store, reviewer, repeat);
        let decided = own.and_then(|line| {
            let rating = line
                .rating
                .clone()
                .filter(|rating| *rating != Rating::Skip)?;
            Some(DecidedItem {
                line: line.id.clone(),
                rating,
                comment: line.comment.clone(),
                seconds: line.seconds,
            })
        });
        let others = question.verdict(store, Some(reviewer)).1;
        // Who gave one of the ratings that differ does not decide between them.
        let is_rater = own.is_some_and(|line| !line.adjudicates && line.counted().is_some());
        SessionItem {
            question: number,
            repeat,
            adjudicates: !repeat && !is_rater && others == PeopleVerdict::Adjudication,
            decided,
        }
    };
    // Where each item goes: repetitions behind the first half, from which they are.
    let mut places: Vec<(f64, SessionItem)> = Vec::new();
    let count = questions.len() as f64;
    let wanted = (options.repeats.clamp(0.0, 0.5) * count).round() as usize;
    let mut first_half: Vec<(usize, &Question)> = questions
        .iter()
        .enumerate()
        .take(questions.len().div_ceil(2))
        .collect();
    let by = |word: &str, question: &Question| {
        rank(
            options.seed,
            &[word, reviewer, &question_key(&question.digests)],
        )
    };
    first_half.sort_by_cached_key(|(_, question)| by("repeated", question));
    for (number, question) in first_half.into_iter().take(wanted) {
        let random = by("place", question)
            .first()
            .map_or(0.5, |byte| f64::from(*byte) / 256.0);
        let place = count * (0.5 + random / 2.0);
        places.push((place, item(number, question, true)));
    }
    for (number, question) in questions.iter().enumerate() {
        places.push((number as f64, item(number, question, false)));
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places.into_iter().map(|(_, item)| item).collect()
}

/// The scale with what is not set filled in.
fn shown_scale(question: &Question) -> RatingScale {
    let mut scale = question.policy.scale.clone();
    if scale.kind == RatingKind::Likert {
        scale.range = Some(question.policy.range());
    }
    scale
}

/// Checks that a rating is one of the scale.
fn check(question: &Question, rating: &Rating) -> Result<(), ReviewError> {
    let unfit = |why: String| Err(ReviewError::Unfit(why));
    let policy = &question.policy;
    match (policy.scale.kind, rating) {
        (_, Rating::Skip) | (RatingKind::Binary, Rating::Binary { .. }) => Ok(()),
        (RatingKind::Likert, Rating::Likert { scores }) => {
            let [low, high] = policy.range();
            let criteria = policy.criteria();
            if let Some(unknown) = scores.keys().find(|name| !criteria.contains(name)) {
                return unfit(format!("the scale has no criterion `{unknown}`"));
            }
            for criterion in &criteria {
                let of = match criterion.as_str() {
                    "" => String::new(),
                    name => format!(" for `{name}`"),
                };
                match scores.get(criterion) {
                    Some(score) if (low..=high).contains(score) => {}
                    Some(score) => {
                        return unfit(format!("{score}{of} is not between {low} and {high}"));
                    }
                    None => return unfit(format!("a score{of} is missing")),
                }
            }
            Ok(())
        }
        (RatingKind::Ranking, Rating::Ranking { order }) => {
            let mut ranked: Vec<&str> = order.iter().flatten().map(String::as_str).collect();
            let mut outputs: Vec<&str> = question
                .outputs
                .iter()
                .map(|output| output.digest.as_str())
                .collect();
            ranked.sort_unstable();
            outputs.sort_unstable();
            if ranked != outputs || order.iter().any(Vec::is_empty) {
                return unfit("a ranking must contain each output once".to_owned());
            }
            if !policy.scale.tie_allowed.unwrap_or(false)
                && order.iter().any(|group| group.len() > 1)
            {
                return unfit("this ranking allows no ties".to_owned());
            }
            Ok(())
        }
        (kind, _) => {
            let kind = match kind {
                RatingKind::Likert => "likert",
                RatingKind::Binary => "binary",
                RatingKind::Ranking => "ranking",
            };
            unfit(format!("the scale is `{kind}`, but the rating is not"))
        }
    }
}

/// An output with its sample.
struct ReviewedSample<'a> {
    run: &'a ReviewedRun,
    sample: SampleFinished,
    digest: String,
}

impl ReviewedSample<'_> {
    fn attempt(&self) -> Result<&Attempt, ReviewError> {
        self.sample
            .attempts
            .last()
            .ok_or_else(|| ReviewError::Gone {
                case: self.sample.case.clone(),
            })
    }

    fn shown(&self, number: usize, of: usize, blind: bool) -> Result<ShownOutput, ReviewError> {
        let attempt = self.attempt()?;
        let value = graded_value(&self.run.paths, attempt)?;
        let value = value.ok_or_else(|| ReviewError::Gone {
            case: self.sample.case.clone(),
        })?;
        let (text, json) = text_of(&value);
        let left = attempt.output.as_ref().map(|output| &output.workspace);
        let left = left.or(attempt.stored.as_ref().map(|stored| &stored.workspace));
        let diff = left
            .and_then(Option::as_ref)
            .map(|left| left.diff.text.clone());
        let target = &self.run.started.run.environment.target;
        Ok(ShownOutput {
            label: if of > 1 { label(number) } else { String::new() },
            digest: self.digest.clone(),
            text,
            json,
            diff: diff.filter(|diff| !diff.is_empty()),
            target: (!blind).then(|| target.clone()),
        })
    }

    fn context(&self) -> Result<ReviewContext, ReviewError> {
        let environment = &self.run.started.run.environment;
        let attempt = self.attempt()?;
        let grades = attempt.verdict.grades.iter();
        let others = grades.filter(|grade| grade.grader_type != GraderType::Human);
        let answered = attempt
            .output
            .as_ref()
            .and_then(|output| output.model.clone());
        Ok(ReviewContext {
            target: environment.target.clone(),
            model: answered.or_else(|| environment.model.clone()),
            verdicts: others
                .map(|grade| ShownVerdict {
                    grader: shown_name(grade),
                    outcome: grade.outcome.to_string(),
                    score: grade.score,
                    reason: grade.reason.clone(),
                })
                .collect(),
        })
    }
}

/// `A` to `Z`, then `27` and so on.
fn label(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number) if number < 26 => char::from(b'A' + number).to_string(),
        _ => (number + 1).to_string(),
    }
}
