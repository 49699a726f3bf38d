//! What a comparison says, in words and cells: one place, so that every form says the same.
//!
//! Nothing here is escaped; texts from outside are on one line.

use crate::base::text;
use crate::model::{
    CaseChanges, CaseFlip, ComparedSide, Comparison, ComparisonVerdict, Decision, DifferenceTest, FlipList,
    GroupDifference, Metric, MetricDifference, split_part,
};
use crate::report::figures;
use crate::spec::words::{Criticality, FailOn, Grouping};

/// What a reader is told first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headline {
    Regression,
    Improvement,
    NoEvidence,
    /// What has no grade could turn the verdict.
    Undecided,
    /// Nothing could be tested: no pairs.
    Untested,
}

impl Headline {
    pub fn of(comparison: &Comparison) -> Headline {
        let verdict = comparison.verdict;
        if comparison.verdict_worst != verdict || comparison.verdict_best != verdict {
            return Headline::Undecided;
        }
        match verdict {
            ComparisonVerdict::Regression => Headline::Regression,
            ComparisonVerdict::Improvement => Headline::Improvement,
            ComparisonVerdict::None if !is_tested(comparison) => Headline::Untested,
            ComparisonVerdict::None => Headline::NoEvidence,
        }
    }

    /// Within a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Headline::Regression => "regression",
            Headline::Improvement => "improvement",
            Headline::NoEvidence => "no evidence of a difference",
            Headline::Undecided => "undecided",
            Headline::Untested => "nothing could be tested",
        }
    }

    /// At the beginning of a title.
    pub fn title(self) -> &'static str {
        match self {
            Headline::Regression => "Regression",
            Headline::Improvement => "Improvement",
            Headline::NoEvidence => "No evidence of a difference",
            Headline::Undecided => "Undecided",
            Headline::Untested => "Nothing could be tested",
        }
    }
}

pub fn verdict_words(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Regression => Headline::Regression.words(),
        ComparisonVerdict::Improvement => Headline::Improvement.words(),
        ComparisonVerdict::None => Headline::NoEvidence.words(),
    }
}

/// True when there is a test that the verdict rests on.
fn is_tested(comparison: &Comparison) -> bool {
    let groups = comparison.groups.iter().map(|group| &group.metric);
    let mut tests = comparison.metrics.iter().chain(groups).filter_map(|metric| metric.test.as_ref());
    tests.any(|test| test.decides)
}

/// The first sentence without the verdict that it begins with, which stands before it in letters of its own.
pub fn first_sentence(comparison: &Comparison) -> String {
    let sentence = comparison.sentences.first().map(|words| text::one_line(words)).unwrap_or_default();
    let begins = match Headline::of(comparison) {
        Headline::Untested => "no verdict",
        _ => verdict_words(comparison.verdict),
    };
    let rest = sentence.strip_prefix(begins).and_then(|rest| rest.strip_prefix(": "));
    match (Headline::of(comparison), rest) {
        (Headline::Undecided, _) if !sentence.is_empty() => format!("over what was graded: {sentence}"),
        (Headline::Undecided, _) | (_, None) => sentence,
        (_, Some(rest)) => rest.to_owned(),
    }
}

/// What the verdict rests on.
pub fn further_sentences(comparison: &Comparison) -> impl Iterator<Item = String> + '_ {
    comparison.sentences.iter().skip(1).map(|words| text::one_line(words))
}

/// What samples without a grade could make of the verdict; `None` when nothing else.
pub fn undecided(comparison: &Comparison) -> Option<String> {
    if Headline::of(comparison) != Headline::Undecided {
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
    facts.extend(side.model.as_deref().map(|model| format!("model {}", text::one_line(model))));
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
    match &side.source {
        crate::model::ScoresSource::ScoreBaseline { path, rev } => {
            let at = rev.as_deref().map(|rev| format!(" at {}", text::one_line(rev))).unwrap_or_default();
            facts.push(format!("accepted scores {}{at}", text::one_line(path)));
        }
        crate::model::ScoresSource::Journals(paths) if paths.len() > 1 => {
            facts.push(format!("{} joined", text::plural(paths.len(), "shard")));
        }
        crate::model::ScoresSource::Journals(_) => {}
    }
    let shards: Vec<String> =
        side.shards.iter().map(|shard| format!("{}/{}", shard.index, shard.of)).collect();
    if !shards.is_empty() {
        let noun = if shards.len() == 1 { "shard" } else { "shards" };
        facts.push(format!("only {noun} {}", shards.join(", ")));
    }
    facts.extend(side.regrade_of.as_deref().map(|run| format!("graded again from {}", text::one_line(run))));
    if !side.filters.is_empty() {
        let filters: Vec<String> = side.filters.iter().map(|words| text::one_line(words)).collect();
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
    if reference == candidate { reference } else { format!("{reference} and {candidate}") }
}

/// How a metric's difference is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// In percentage points.
    Points,
    /// As the metric itself.
    Own,
}

/// Only what is known to be a share is written in points: an author's own number may have any size.
fn scale(metric: &str) -> Scale {
    let (name, _) = split_part(metric);
    match name.parse::<Metric>() {
        Ok(Metric::Named(_)) | Err(_) => Scale::Own,
        Ok(metric) if figures::Unit::of_metric(&metric.to_string()) != figures::Unit::Rate => Scale::Own,
        Ok(_) => Scale::Points,
    }
}

/// A difference with its sign and unit: `-6.0 points`, `+120 ms`, `=`. Nothing that is not 0 is written as 0.
pub fn difference(metric: &str, difference: f64) -> String {
    match scale(metric) {
        Scale::Points => match points(difference).as_str() {
            "0" => "=".to_owned(),
            figures::NO_VALUE => figures::NO_VALUE.to_owned(),
            written => format!("{written} points"),
        },
        Scale::Own => match own(metric, difference).as_str() {
            "0" => "=".to_owned(),
            written => written.to_owned(),
        },
    }
}

/// An interval of differences in brackets, in the unit of [`difference`], or empty.
pub fn interval(metric: &str, ci: Option<[f64; 2]>) -> String {
    let Some([low, high]) = ci else { return String::new() };
    let end = |value: f64| match scale(metric) {
        Scale::Points => points(value),
        Scale::Own => own(metric, value),
    };
    format!("[{}, {}]", end(low), end(high))
}

/// A difference of shares in percentage points: one decimal, more when it would be 0 otherwise.
pub fn points(share: f64) -> String {
    let points = share * 100.0;
    if !points.is_finite() {
        return figures::NO_VALUE.to_owned();
    }
    // Sums of shares differ in their last bits though they are the same.
    if points.abs() < 1e-9 {
        return "0".to_owned();
    }
    decimals(points, 1, true)
}

fn own(metric: &str, value: f64) -> String {
    if !value.is_finite() {
        return figures::NO_VALUE.to_owned();
    }
    if value.abs() < 1e-12 {
        return "0".to_owned();
    }
    let sign = if value > 0.0 { '+' } else { '-' };
    let size = value.abs();
    let written = match figures::Unit::of_metric(metric) {
        // A difference has no bound at 1, and how small it is tells something.
        figures::Unit::Rate if size < 1.0 => decimals(size, 3, false),
        unit => unit.format(size),
    };
    match written.strip_prefix('<') {
        Some(limit) => format!("{sign}<{limit}"),
        None => format!("{sign}{written}"),
    }
}

/// A number with at least so many decimals, more when it would be written as 0 otherwise.
fn decimals(value: f64, least: usize, signed: bool) -> String {
    let write = |decimals: usize| match signed {
        true => format!("{value:+.decimals$}"),
        false => format!("{value:.decimals$}"),
    };
    let is_zero = |written: &String| written.trim_matches(['+', '-', '0', '.']).is_empty();
    (least..=15).map(write).find(|written| !is_zero(written)).unwrap_or_else(|| format!("{value:e}"))
}

/// The chance of an error, never rounded to 0 or 1, nor over the level that it is held against: `0.0004`, `<0.0001`.
pub fn p_value(p: f64, alpha: f64) -> String {
    if !p.is_finite() {
        return figures::NO_VALUE.to_owned();
    }
    if p < 0.000_1 {
        return "<0.0001".to_owned();
    }
    if (0.995..1.0).contains(&p) {
        return ">0.99".to_owned();
    }
    let least = match p {
        _ if p >= 0.1 => 2,
        _ if p >= 0.001 => 3,
        _ => 4,
    };
    let stands_right = |text: &String| text.parse::<f64>().is_ok_and(|shown| (shown < alpha) == (p < alpha));
    (least..=12)
        .map(|decimals| format!("{p:.decimals$}"))
        .find(stands_right)
        .unwrap_or_else(|| format!("{p}"))
}

/// Where a difference points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaning {
    Worse,
    Better,
    /// The same, or nobody said which way is better.
    Neither,
}

pub fn leaning(metric: &MetricDifference) -> Leaning {
    let higher = match metric.higher_is_better {
        Some(higher) => higher,
        None => return Leaning::Neither,
    };
    match metric.difference {
        Some(difference) if difference.abs() >= 1e-12 => {
            if (difference > 0.0) == higher {
                Leaning::Better
            } else {
                Leaning::Worse
            }
        }
        _ => Leaning::Neither,
    }
}

/// The p of the side to which the difference points; of none, that of the question "is it worse?". Adjusted where the verdict
/// rests on it.
pub fn p_of(test: &DifferenceTest, metric: &MetricDifference) -> f64 {
    let points_up = metric.difference.is_some_and(|difference| difference > 0.0);
    let is_better = match metric.higher_is_better {
        Some(true) | None => points_up,
        Some(false) => metric.difference.is_some_and(|difference| difference < 0.0),
    };
    match is_better {
        true => test.p_better_adjusted.unwrap_or(test.p_better),
        false => test.p_worse_adjusted.unwrap_or(test.p_worse),
    }
}

/// True when a metric, alone, has moved by more than chance explains: by its test where the verdict rests on it, else by its
/// interval.
pub fn has_moved(metric: &MetricDifference, alpha: f64) -> bool {
    match metric.test.as_ref().filter(|test| test.p_worse_adjusted.is_some()) {
        Some(test) => p_of(test, metric) < alpha,
        None => metric.ci.is_some_and(|[low, high]| low > 0.0 || high < 0.0),
    }
}

/// A metric as every form shows it; empty where there is nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: String,
    pub decides: bool,
    pub leaning: Leaning,
    pub moved: bool,
    pub n: String,
    pub reference: String,
    pub candidate: String,
    pub difference: String,
    pub interval: String,
    pub p: String,
    /// The differences if everything without a grade had gone against, or for, the candidate.
    pub range: String,
    /// Why there is no difference.
    pub undefined: String,
}

pub fn row(metric: &MetricDifference, alpha: f64) -> Row {
    let range = match (metric.worst, metric.best, metric.difference) {
        (Some(worst), Some(best), Some(at)) if differ(worst, at) || differ(best, at) => {
            interval(&metric.name, Some([worst, best]))
        }
        _ => String::new(),
    };
    Row {
        name: figures::metric_name(&metric.name),
        decides: metric.test.as_ref().is_some_and(|test| test.decides),
        leaning: leaning(metric),
        moved: has_moved(metric, alpha),
        n: text::plural(metric.n, &text::one_line(&metric.unit)),
        reference: figures::figure_or_none(&metric.name, metric.reference),
        candidate: figures::figure_or_none(&metric.name, metric.candidate),
        difference: metric.difference.map(|d| difference(&metric.name, d)).unwrap_or_default(),
        interval: interval(&metric.name, metric.ci),
        p: metric.test.as_ref().map(|test| p_value(p_of(test, metric), alpha)).unwrap_or_default(),
        range,
        undefined: match metric.difference {
            Some(_) => String::new(),
            None => metric
                .undefined
                .as_deref()
                .map_or_else(|| "not measured on both sides".to_owned(), text::one_line),
        },
    }
}

fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() >= 1e-12
}

/// The metrics that tell something, those that the verdict rests on first.
pub fn rows(comparison: &Comparison) -> Vec<Row> {
    let alpha = comparison.settings.alpha;
    let mut metrics: Vec<&MetricDifference> = comparison.metrics.iter().filter(|m| is_telling(m)).collect();
    metrics.sort_by_key(|metric| !metric.test.as_ref().is_some_and(|test| test.decides));
    metrics.into_iter().map(|metric| row(metric, alpha)).collect()
}

/// False for what would only fill the page: pass^1, which is pass@1; what nobody measured on either side.
fn is_telling(metric: &MetricDifference) -> bool {
    if metric.test.as_ref().is_some_and(|test| test.decides) {
        return true;
    }
    match metric.name.parse::<Metric>() {
        Ok(Metric::PassHat(1) | Metric::PassHatUnbiased(1)) => false,
        Ok(Metric::PassAt(_) | Metric::PassHat(_) | Metric::PassHatUnbiased(_)) => true,
        _ => metric.reference.is_some() || metric.candidate.is_some(),
    }
}

/// What the columns mean, in sentences for the foot of the table.
pub fn legend(comparison: &Comparison, [worse, better]: [&str; 2]) -> String {
    let tests = comparison.metrics.iter().chain(comparison.groups.iter().map(|group| &group.metric));
    let decides = |metric: &&MetricDifference| metric.test.as_ref().is_some_and(|test| test.decides);
    let adjusted = |metric: &MetricDifference| {
        metric.test.as_ref().is_some_and(|test| {
            test.p_worse_adjusted.is_some_and(|p| p != test.p_worse)
                || test.p_better_adjusted.is_some_and(|p| p != test.p_better)
        })
    };
    let mut words = String::new();
    if comparison.metrics.iter().any(|metric| decides(&metric)) {
        words.push_str("* the verdict rests on it. ");
    }
    if comparison.metrics.iter().any(|metric| has_moved(metric, comparison.settings.alpha)) {
        words.push_str(&format!("{worse} {better} more than chance, each metric taken alone. "));
    }
    if tests.clone().all(|metric| metric.test.is_none()) {
        return words.trim_end().to_owned();
    }
    words.push_str("p: one-sided, the way the difference points");
    words.push_str(match tests.clone().any(adjusted) {
        true => "; of several tests adjusted by Holm, those of other metrics not.",
        false => ".",
    });
    words
}

/// The groups of one kind.
pub struct Groups<'a> {
    pub by: Grouping,
    /// True when the verdict rests on them.
    pub decides: bool,
    /// Those that are shown: the most telling first.
    pub shown: Vec<&'a GroupDifference>,
    pub others: usize,
}

/// Groups in the order of the comparison; `all`, or only those that tell something: of a grouping that was asked for those that
/// differ or are tested, of others those that differ by more than chance.
pub fn groups(comparison: &Comparison, all: bool) -> Vec<Groups<'_>> {
    let mut of_kinds: Vec<Groups<'_>> = Vec::new();
    for group in &comparison.groups {
        let decides = comparison.settings.by.contains(&group.by);
        if of_kinds.last().is_none_or(|last| last.by != group.by) {
            of_kinds.push(Groups { by: group.by, decides, shown: Vec::new(), others: 0 });
        }
        let Some(last) = of_kinds.last_mut() else { continue };
        let tells = group.verdict != ComparisonVerdict::None || (decides && differs(group));
        if all || tells { last.shown.push(group) } else { last.others += 1 }
    }
    let rank = |group: &GroupDifference| match group.verdict {
        ComparisonVerdict::Regression => 0,
        ComparisonVerdict::Improvement => 1,
        ComparisonVerdict::None => 2,
    };
    let size = |group: &GroupDifference| group.metric.difference.map_or(0.0, f64::abs);
    for kind in &mut of_kinds {
        kind.shown.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| size(b).total_cmp(&size(a))));
    }
    of_kinds
}

fn differs(group: &GroupDifference) -> bool {
    group.metric.test.as_ref().is_some_and(|test| test.decides)
        || group.metric.difference.is_some_and(|difference| differ(difference, 0.0))
        || group.broken + group.fixed > 0
}

/// What a flip is, and whether it is a matter of concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Broken,
    Fixed,
    StillFailing,
    Ungraded,
    Changed,
    New,
    Gone,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Broken, Kind::Fixed, Kind::Ungraded, Kind::Changed, Kind::New, Kind::Gone, Kind::StillFailing];

    pub fn of(self, cases: &CaseChanges) -> &FlipList {
        match self {
            Kind::Broken => &cases.broken,
            Kind::Fixed => &cases.fixed,
            Kind::StillFailing => &cases.still_failing,
            Kind::Ungraded => &cases.ungraded,
            Kind::Changed => &cases.changed,
            Kind::New => &cases.new,
            Kind::Gone => &cases.gone,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Kind::Broken => "Broken: passed before, fail now",
            Kind::Fixed => "Fixed: failed before, pass now",
            Kind::StillFailing => "Still failing",
            Kind::Ungraded => "Without a grade on a side",
            Kind::Changed => "Changed: another input or grading, not compared",
            Kind::New => "New: not in the reference",
            Kind::Gone => "Gone: not in the candidate",
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

/// `eval / case`, or the one name of both.
pub fn case_name(case: &CaseFlip) -> String {
    match case.eval_id == case.case_id {
        true => text::one_line(&case.eval_id),
        false => text::one_line(&format!("{} / {}", case.eval_id, case.case_id)),
    }
}

/// `3/5 -> 1/5`: samples that passed at their first attempt, of those that were graded.
pub fn passes(case: &CaseFlip, arrow: &str) -> String {
    let side = |counts: [u32; 2]| match counts {
        [_, 0] => "no grade".to_owned(),
        [passed, graded] => format!("{passed}/{graded}"),
    };
    match (case.reference, case.candidate) {
        (Some(reference), Some(candidate)) => format!("{} {arrow} {}", side(reference), side(candidate)),
        (None, Some(candidate)) => format!("now {}", side(candidate)),
        (Some(reference), None) => format!("was {}", side(reference)),
        (None, None) => String::new(),
    }
}

/// What became of the cases that were compared, and how many were not.
pub fn case_sentences(cases: &CaseChanges) -> Vec<String> {
    let counted = |n: usize, what: &str| (n > 0).then(|| format!("{} {what}", text::group_digits(n)));
    let listed =
        |parts: Vec<Option<String>>| -> String { parts.into_iter().flatten().collect::<Vec<_>>().join(", ") };
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
    let apart = listed(vec![
        counted(cases.ungraded.count, "without a grade on a side"),
        counted(cases.changed.count, "changed (another input or grading)"),
        counted(cases.new.count, "new"),
        counted(cases.gone.count, "gone"),
        counted(cases.not_selected, "left out of a side by filters or shards"),
    ]);
    if !apart.is_empty() {
        said.push(format!("not compared: {apart}"));
    }
    said
}

/// How it was computed: what makes the figures come out the same again.
pub fn method(comparison: &Comparison) -> String {
    let settings = &comparison.settings;
    let metrics: Vec<String> = settings.metrics.iter().map(|name| figures::metric_name(name)).collect();
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
        words.push_str(&format!(", {} at once", text::plural(settings.candidates, "candidate")));
    }
    let level = figures::percent(settings.level).replace(".0 ", " ");
    let resamples = text::plural(settings.resamples, "resample");
    words.push_str(&format!("; intervals at {level}, {resamples}, seed {}", settings.seed));
    words
}

/// Whether a run's gate looks at it.
pub fn bearing(fail_on: Option<FailOn>) -> String {
    match fail_on {
        None | Some(FailOn::Never) => "It informs: the gate does not look at it.".to_owned(),
        Some(word) => format!("The gate looks at it (--fail-on {}): {}.", word.name(), what_fails(word)),
    }
}

/// What each word of `--fail-on` asks for.
pub fn what_fails(word: FailOn) -> &'static str {
    match word {
        FailOn::Significant => "a regression fails it",
        FailOn::Any => "any broken case fails it",
        FailOn::Critical => "a broken case of a critical eval fails it",
        FailOn::Never => "nothing here fails it",
    }
}

/// `PASS (--fail-on significant)`.
pub fn decision(decision: Decision, word: FailOn) -> String {
    format!("{} (--fail-on {})", figures::decision_label(decision), word.name())
}

/// Where cases are that a list of this report leaves out.
pub const ALL_LISTED_BY: &str = "eval-harness compare lists all";

/// A size without a sign: `4.1 points`.
pub fn size(metric: &str, size: f64) -> String {
    difference(metric, size.abs()).trim_start_matches('+').to_owned()
}

/// What a server that knows names and values is told.
pub fn properties(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let cases = &comparison.cases;
    let mut all = vec![
        ("comparison.reference", label(&comparison.reference)),
        ("comparison.reference.run_id", comparison.reference.run_id.clone()),
        ("comparison.verdict", Headline::of(comparison).words().to_owned()),
    ];
    all.extend(comparison.sentences.first().map(|sentence| ("comparison.sentence", sentence.clone())));
    all.push(("comparison.cases.compared", cases.compared.to_string()));
    all.push(("comparison.cases.broken", cases.broken.count.to_string()));
    all.push(("comparison.cases.fixed", cases.fixed.count.to_string()));
    all
}
