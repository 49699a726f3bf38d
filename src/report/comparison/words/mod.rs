//! What a comparison says, in words and cells: one place, so that every form says the same.
//!
//! Nothing here is escaped; texts from outside are on one line.

mod numbers;
mod rows;

pub use numbers::*;
pub use rows::*;

use crate::model::{CaseChanges, CaseFlip, ComparedSide, Comparison, ComparisonVerdict, FlipList};
use crate::report::figures;
use crate::spec::words::{Criticality, FailOn};
use eval_base::text;

/// What a reader is told first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonHeadline {
    Regression,
    Improvement,
    NoEvidence,
    /// What has no grade could turn the verdict.
    Undecided,
    /// Nothing could be tested: no pairs.
    Untested,
}

impl ComparisonHeadline {
    pub fn of(comparison: &Comparison) -> ComparisonHeadline {
        let verdict = comparison.verdict;
        if comparison.verdict_worst != verdict || comparison.verdict_best != verdict {
            return ComparisonHeadline::Undecided;
        }
        match verdict {
            ComparisonVerdict::Regression => ComparisonHeadline::Regression,
            ComparisonVerdict::Improvement => ComparisonHeadline::Improvement,
            ComparisonVerdict::None if !is_tested(comparison) => ComparisonHeadline::Untested,
            ComparisonVerdict::None => ComparisonHeadline::NoEvidence,
        }
    }

    /// Within a sentence.
    pub fn words(self) -> &'static str {
        match self {
            ComparisonHeadline::Regression => "regression",
            ComparisonHeadline::Improvement => "improvement",
            ComparisonHeadline::NoEvidence => "no evidence of a difference",
            ComparisonHeadline::Undecided => "undecided",
            ComparisonHeadline::Untested => "nothing could be tested",
        }
    }

    /// At the beginning of a title.
    pub fn title(self) -> String {
        figures::capitalized(self.words())
    }
}

pub fn verdict_words(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Regression => ComparisonHeadline::Regression.words(),
        ComparisonVerdict::Improvement => ComparisonHeadline::Improvement.words(),
        ComparisonVerdict::None => ComparisonHeadline::NoEvidence.words(),
    }
}

/// True when there is a test that the verdict rests on.
fn is_tested(comparison: &Comparison) -> bool {
    let groups = comparison.groups.iter().map(|group| &group.metric);
    let mut tests = comparison
        .metrics
        .iter()
        .chain(groups)
        .filter_map(|metric| metric.test.as_ref());
    tests.any(|test| test.decides)
}

/// The first sentence without the verdict that it begins with, which stands before it in letters of
/// its own.
pub fn first_sentence(comparison: &Comparison) -> String {
    let sentence = comparison
        .sentences
        .first()
        .map(|words| text::one_line(words))
        .unwrap_or_default();
    let begins = match ComparisonHeadline::of(comparison) {
        ComparisonHeadline::Untested => "no verdict",
        _ => verdict_words(comparison.verdict),
    };
    let rest = sentence
        .strip_prefix(begins)
        .and_then(|rest| rest.strip_prefix(": "));
    match (ComparisonHeadline::of(comparison), rest) {
        (ComparisonHeadline::Undecided, _) if !sentence.is_empty() => {
            format!("over what was graded: {sentence}")
        }
        (ComparisonHeadline::Undecided, _) | (_, None) => sentence,
        (_, Some(rest)) => rest.to_owned(),
    }
}

/// What the verdict rests on.
pub fn further_sentences(comparison: &Comparison) -> impl Iterator<Item = String> + '_ {
    comparison
        .sentences
        .iter()
        .skip(1)
        .map(|words| text::one_line(words))
}

/// What samples without a grade could make of the verdict; `None` when nothing else.
pub fn undecided(comparison: &Comparison) -> Option<String> {
    if ComparisonHeadline::of(comparison) != ComparisonHeadline::Undecided {
        return None;
    }
    let reading = |verdict: ComparisonVerdict| match verdict {
        ComparisonVerdict::Regression => "a regression",
        ComparisonVerdict::Improvement => "an improvement",
        ComparisonVerdict::None => "no evidence of a difference",
    };
    Some(format!(
        "samples without a grade leave it open: at worst {}, at best {}",
        reading(comparison.verdict_worst),
        reading(comparison.verdict_best)
    ))
}

/// One side in facts: target, model, run, commit, day, and what it is a part of.
pub fn facts(side: &ComparedSide) -> Vec<String> {
    let mut facts = Vec::new();
    if !side.target.is_empty() {
        let kind = text::one_line(&side.target_type);
        let target = text::one_line(&side.target);
        facts.push(match kind.is_empty() || kind == target {
            true => format!("target {target}"),
            false => format!("target {target} ({kind})"),
        });
    }
    facts.extend(
        side.model
            .as_deref()
            .map(|model| format!("model {}", text::one_line(model))),
    );
    // Whoever named it by its id has read it.
    if side.run_id != side.label && !side.run_id.is_empty() {
        facts.push(format!("run {}", text::one_line(&side.run_id)));
    }
    if let Some(commit) = &side.commit {
        let short: String = text::one_line(commit).chars().take(7).collect();
        let dirty = if side.dirty { " with changes" } else { "" };
        facts.push(format!("commit {short}{dirty}"));
    }
    let day = text::one_line(&side.timestamp);
    facts.extend((!day.is_empty()).then(|| day.chars().take(10).collect::<String>()));
    facts.extend(extent(side));
    facts
}

/// What a side was read from, where that is no journal of one run, and what it is only a part of.
pub fn extent(side: &ComparedSide) -> Vec<String> {
    let mut facts = Vec::new();
    match &side.source {
        crate::model::ScoresSource::ScoreBaseline { path, rev } => {
            let at = rev
                .as_deref()
                .map(|rev| format!(" at {}", text::one_line(rev)))
                .unwrap_or_default();
            facts.push(format!("accepted scores {}{at}", text::one_line(path)));
        }
        crate::model::ScoresSource::Journals(paths) if paths.len() > 1 => {
            facts.push(format!("{} joined", text::plural(paths.len(), "shard")));
        }
        crate::model::ScoresSource::Journals(_) => {}
    }
    let shards: Vec<String> = side
        .shards
        .iter()
        .map(|shard| format!("{}/{}", shard.index, shard.of))
        .collect();
    if !shards.is_empty() {
        let noun = if shards.len() == 1 { "shard" } else { "shards" };
        facts.push(format!("only {noun} {}", shards.join(", ")));
    }
    facts.extend(
        side.regrade_of
            .as_deref()
            .map(|run| format!("regraded from {}", text::one_line(run))),
    );
    if !side.filters.is_empty() {
        let filters: Vec<String> = side
            .filters
            .iter()
            .map(|words| text::one_line(words))
            .collect();
        facts.push(format!("not the whole suite: {}", filters.join(", ")));
    }
    facts.extend(side.interrupted.then(|| "ended early".to_owned()));
    facts
}

/// The name that the command line gave, and what stands in its place when it gave none.
pub fn label(side: &ComparedSide) -> String {
    let label = text::one_line(&side.label);
    match label.is_empty() {
        true => text::one_line(&side.run_id),
        false => label,
    }
}

/// The suite of a comparison, or of both sides.
pub fn suite(comparison: &Comparison) -> String {
    let name = |side: &ComparedSide| text::one_line(&side.suite);
    let (reference, candidate) = (name(&comparison.reference), name(&comparison.candidate));
    if reference == candidate {
        reference
    } else {
        format!("{reference} and {candidate}")
    }
}

/// What a flip is, and whether it is a matter of concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlipKind {
    Broken,
    Fixed,
    StillFailing,
    Ungraded,
    Changed,
    New,
    Gone,
}

impl FlipKind {
    pub const ALL: [FlipKind; 7] = [
        FlipKind::Broken,
        FlipKind::Fixed,
        FlipKind::Ungraded,
        FlipKind::Changed,
        FlipKind::New,
        FlipKind::Gone,
        FlipKind::StillFailing,
    ];

    pub fn of(self, cases: &CaseChanges) -> &FlipList {
        match self {
            FlipKind::Broken => &cases.broken,
            FlipKind::Fixed => &cases.fixed,
            FlipKind::StillFailing => &cases.still_failing,
            FlipKind::Ungraded => &cases.ungraded,
            FlipKind::Changed => &cases.changed,
            FlipKind::New => &cases.new,
            FlipKind::Gone => &cases.gone,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            FlipKind::Broken => "broken",
            FlipKind::Fixed => "fixed",
            FlipKind::StillFailing => "still failing",
            FlipKind::Ungraded => "without a grade",
            FlipKind::Changed => "changed",
            FlipKind::New => "new",
            FlipKind::Gone => "gone",
        }
    }

    pub fn title(self, list: &FlipList) -> &'static str {
        match self {
            FlipKind::Changed if list.only_input_or_grading() => {
                "Changed: input or grading, not compared"
            }
            FlipKind::Broken => "Broken: passed before, fail now",
            FlipKind::Fixed => "Fixed: failed before, pass now",
            FlipKind::StillFailing => "Still failing",
            FlipKind::Ungraded => "Without a grade on one side",
            FlipKind::Changed => "Changed: different data or grading, not compared",
            FlipKind::New => "New: not in the reference",
            FlipKind::Gone => "Gone: not in the candidate",
        }
    }
}

/// A list with the critical cases first, which no cut may hide.
pub fn critical_first(list: &FlipList) -> Vec<&CaseFlip> {
    let mut cases: Vec<&CaseFlip> = list.cases.iter().collect();
    cases.sort_by_key(|case| !is_critical(case));
    cases
}

pub fn is_critical(case: &CaseFlip) -> bool {
    case.criticality == Some(Criticality::Critical)
}

/// `3/5 -> 1/5, input changed`: samples that passed at their first attempt, of those that were
/// graded, and what is not the same on both sides.
pub fn passes(case: &CaseFlip, arrow: &str) -> String {
    let side = |counts: [u32; 2]| match counts {
        [_, 0] => "no grade".to_owned(),
        [passed, graded] => format!("{passed}/{graded}"),
    };
    let parts: Vec<&str> = case.changed.iter().map(|part| part.name()).collect();
    let changed = if parts.is_empty() {
        String::new()
    } else {
        format!(", {} changed", parts.join(" and "))
    };
    match (case.reference, case.candidate) {
        (Some(reference), Some(candidate)) => {
            format!("{} {arrow} {}{changed}", side(reference), side(candidate))
        }
        (None, Some(candidate)) => format!("now {}", side(candidate)),
        (Some(reference), None) => format!("was {}", side(reference)),
        (None, None) => String::new(),
    }
}

/// What became of the cases that were compared, and how many were not.
pub fn case_sentences(cases: &CaseChanges) -> Vec<String> {
    let counted =
        |n: usize, what: &str| (n > 0).then(|| format!("{} {what}", text::group_digits(n)));
    let listed = |parts: Vec<Option<String>>| -> String {
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let compared = listed(vec![
        counted(cases.broken.count, "broken"),
        counted(cases.fixed.count, "fixed"),
        counted(cases.still_failing.count, "still failing"),
        counted(cases.still_passing, "still passing"),
    ]);
    let number = text::plural(cases.compared, "case");
    let mut said = vec![match (cases.compared, compared.is_empty()) {
        (0, _) => "no case could be compared".to_owned(),
        (_, true) => format!("{number} compared"),
        (_, false) => format!("{number} compared: {compared}"),
    }];
    let changed = match cases.changed.only_input_or_grading() {
        true => "changed (input or grading)",
        false => "changed (different data or grading)",
    };
    let apart = listed(vec![
        counted(cases.ungraded.count, "without a grade on one side"),
        counted(cases.changed.count, changed),
        counted(cases.new.count, "new"),
        counted(cases.gone.count, "gone"),
        counted(
            cases.not_selected,
            "omitted from one side by filters or shards",
        ),
    ]);
    if !apart.is_empty() {
        said.push(format!("not compared: {apart}"));
    }
    said
}

/// How it was computed: what makes the figures come out the same again.
pub fn method(comparison: &Comparison) -> String {
    let settings = &comparison.settings;
    let metrics: Vec<String> = settings
        .metrics
        .iter()
        .map(|name| figures::shown_metric(name))
        .collect();
    let mut words = format!(
        "tested: {} at {}, one-sided",
        metrics.join(", "),
        figures::percent(settings.alpha).replace(".0 ", " ")
    );
    if !settings.by.is_empty() {
        let by: Vec<&str> = settings.by.iter().map(|by| by.name()).collect();
        words.push_str(&format!(", and by {}", by.join(", ")));
    }
    if settings.candidates > 1 {
        words.push_str(&format!(
            ", {} at once",
            text::plural(settings.candidates, "candidate")
        ));
    }
    let level = figures::percent(settings.level).replace(".0 ", " ");
    let resamples = text::plural(settings.resamples, "resample");
    words.push_str(&format!(
        "; intervals at {level}, {resamples}, seed {}",
        settings.seed
    ));
    words
}

/// Whether a run's gate looks at it.
pub fn bearing(fail_on: Option<FailOn>) -> String {
    match fail_on {
        None | Some(FailOn::Never) => "For information only: the gate ignores it.".to_owned(),
        Some(word) => format!(
            "The gate uses it (--fail-on {}): {}.",
            word.name(),
            what_fails(word)
        ),
    }
}

/// What each word of `--fail-on` asks for.
pub fn what_fails(word: FailOn) -> &'static str {
    match word {
        FailOn::Significant => "a regression fails the gate",
        FailOn::Any => "any broken case fails the gate",
        FailOn::Critical => "a broken case of a critical eval fails the gate",
        FailOn::Never => "nothing here fails the gate",
    }
}

/// Where cases are that a page leaves out.
pub const ALL_LISTED_BY: &str = "eval-harness compare lists all";

/// What a server that knows names and values is told.
pub fn properties(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let cases = &comparison.cases;
    let mut all = vec![
        ("comparison.reference", label(&comparison.reference)),
        (
            "comparison.reference.run_id",
            comparison.reference.run_id.clone(),
        ),
        (
            "comparison.verdict",
            ComparisonHeadline::of(comparison).words().to_owned(),
        ),
    ];
    all.extend(
        comparison
            .sentences
            .first()
            .map(|sentence| ("comparison.sentence", sentence.clone())),
    );
    all.push(("comparison.cases.compared", cases.compared.to_string()));
    all.push(("comparison.cases.broken", cases.broken.count.to_string()));
    all.push(("comparison.cases.fixed", cases.fixed.count.to_string()));
    all
}
