//! One candidate against its reference: everything that is said of it.

use serde::Serialize;

use super::headline_name;
use super::plots::{self, Plot};
use crate::model::{ComparedSide, Comparison, ComparisonVerdict, GroupDifference};
use crate::report::comparison::words::{self, Headline, Kind, Leaning, Row};
use crate::report::figures;
use eval_base::text;

#[derive(Debug, Clone, Serialize)]
pub struct Candidate {
    label: String,
    headline: HeadlineShown,
    /// What samples without a grade could make of the verdict.
    undecided: Option<String>,
    /// The three readings of the verdict, where samples without a grade make them differ.
    readings: Vec<(&'static str, &'static str, &'static str)>,
    /// The verdict in words.
    first: String,
    further: Vec<String>,
    notes: Vec<String>,
    reference: Side,
    candidate: Side,
    level: String,
    metrics: Vec<Line>,
    plots: Vec<Plot>,
    legend: String,
    groups: Vec<Groups>,
    cases: Cases,
    /// The smallest drop that would have been found.
    could_have_found: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
struct HeadlineShown {
    name: &'static str,
    title: &'static str,
    words: &'static str,
}

/// Who stands on a side.
#[derive(Debug, Clone, Serialize)]
pub struct Side {
    label: String,
    facts: Vec<(&'static str, String)>,
    /// What it was read from and is only a part of, in words.
    extent: Vec<String>,
}

/// A metric, or that of a group, as every form shows it.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    name: String,
    decides: bool,
    /// `worse`, `better`, or nothing.
    leaning: Option<&'static str>,
    moved: bool,
    n: String,
    reference: String,
    candidate: String,
    difference: String,
    interval: String,
    p: String,
    range: String,
    undefined: String,
}

#[derive(Debug, Clone, Serialize)]
struct Groups {
    by: &'static str,
    metric: String,
    /// True when the verdict rests on them.
    decides: bool,
    /// The most telling first.
    rows: Vec<Group>,
    /// How many of `rows`, from the beginning, tell something.
    telling: usize,
    plot: Option<Plot>,
}

#[derive(Debug, Clone, Serialize)]
struct Group {
    line: Line,
    verdict: ComparisonVerdict,
    broken: usize,
    fixed: usize,
}

#[derive(Debug, Clone, Serialize)]
struct Cases {
    sentences: Vec<String>,
    compared: usize,
    still_passing: usize,
    kinds: Vec<Flips>,
    /// Kind (its place in `kinds`), eval, case, samples that passed of those that were graded, and
    /// whether it is critical; of each kind the critical ones first.
    flips: Vec<(usize, String, String, String, u8)>,
}

#[derive(Debug, Clone, Serialize)]
struct Flips {
    name: &'static str,
    title: &'static str,
    count: usize,
    /// How many of them are in `flips`.
    listed: usize,
}

impl Candidate {
    pub fn of(comparison: &Comparison) -> Candidate {
        let headline = Headline::of(comparison);
        let metrics = words::telling(comparison);
        let settings = &comparison.settings;
        Candidate {
            label: words::label(&comparison.candidate),
            headline: HeadlineShown {
                name: headline_name(headline),
                title: headline.title(),
                words: headline.words(),
            },
            undecided: words::undecided(comparison),
            readings: readings(comparison),
            first: words::first_sentence(comparison),
            further: words::further_sentences(comparison).collect(),
            notes: comparison.notes.clone(),
            reference: side(&comparison.reference),
            candidate: side(&comparison.candidate),
            level: figures::percent(settings.level).replace(".0 ", " "),
            metrics: metrics
                .iter()
                .map(|metric| Line::of(&words::row(metric, comparison)))
                .collect(),
            plots: plots::of_metrics(&metrics, comparison),
            legend: words::legend(comparison, ["▼", "▲"]),
            groups: groups(comparison),
            cases: Cases::of(comparison),
            could_have_found: comparison
                .detectable
                .as_ref()
                .and_then(|found| Some(words::size(&found.metric, found.drop?))),
        }
    }

    /// True when a list does not hold all cases of its kind.
    pub fn is_cut(&self) -> bool {
        self.cases.kinds.iter().any(|kind| kind.listed < kind.count)
    }
}

fn readings(comparison: &Comparison) -> Vec<(&'static str, &'static str, &'static str)> {
    if Headline::of(comparison) != Headline::Undecided {
        return Vec::new();
    }
    let reading = |name, verdict| {
        let tone = match verdict {
            ComparisonVerdict::Regression => "regression",
            ComparisonVerdict::Improvement => "improvement",
            ComparisonVerdict::None => "none",
        };
        (name, tone, words::verdict_words(verdict))
    };
    vec![
        reading(
            "if all without a grade had gone against the candidate",
            comparison.verdict_worst,
        ),
        reading("over what was graded", comparison.verdict),
        reading(
            "if all without a grade had gone for the candidate",
            comparison.verdict_best,
        ),
    ]
}

pub fn side(side: &ComparedSide) -> Side {
    let target = match side.target_type.is_empty() || side.target_type == side.target {
        true => side.target.clone(),
        false => format!("{} ({})", side.target, side.target_type),
    };
    let commit = side.commit.as_ref().map(|commit| {
        let short = text::short_commit(commit);
        if side.dirty {
            format!("{short} with changes")
        } else {
            short.to_owned()
        }
    });
    let suite = match &side.suite_version {
        Some(version) => format!("{} {version}", side.suite),
        None => side.suite.clone(),
    };
    let facts = [
        ("Run", Some(side.run_id.clone())),
        ("Target", Some(target)),
        ("Model", side.model.clone()),
        ("Commit", commit),
        ("Began", Some(side.timestamp.clone())),
        ("Suite", Some(suite)),
        ("Harness", Some(side.harness_version.clone())),
    ];
    let known = |(name, fact): (&'static str, Option<String>)| {
        Some((name, fact.filter(|fact| !fact.is_empty())?))
    };
    Side {
        label: words::label(side),
        facts: facts.into_iter().filter_map(known).collect(),
        extent: words::extent(side),
    }
}

impl Line {
    pub fn of(row: &Row) -> Line {
        let row = row.clone();
        Line {
            name: row.name,
            decides: row.decides,
            leaning: leaning_name(row.leaning),
            moved: row.moved,
            n: row.n,
            reference: row.reference,
            candidate: row.candidate,
            difference: row.difference,
            interval: row.interval,
            p: row.p,
            range: row.range,
            undefined: row.undefined,
        }
    }
}

pub fn leaning_name(leaning: Leaning) -> Option<&'static str> {
    match leaning {
        Leaning::Worse => Some("worse"),
        Leaning::Better => Some("better"),
        Leaning::Neither => None,
    }
}

/// Every group: those that the other forms show, then the others.
fn groups(comparison: &Comparison) -> Vec<Groups> {
    let telling = words::groups(comparison, false);
    let all = words::groups(comparison, true);
    let of_kind = |(telling, all): (words::Groups<'_>, words::Groups<'_>)| {
        let is_told =
            |group: &&GroupDifference| telling.shown.iter().any(|told| std::ptr::eq(*told, *group));
        let others: Vec<&GroupDifference> = all
            .shown
            .iter()
            .copied()
            .filter(|group| !is_told(group))
            .collect();
        let ordered: Vec<&GroupDifference> = telling.shown.iter().copied().chain(others).collect();
        let first = ordered.first()?;
        let line = |group: &GroupDifference| {
            let row = words::row(&group.metric, comparison);
            let moved = group.verdict != ComparisonVerdict::None;
            Group {
                line: Line {
                    name: text::one_line(&group.group),
                    moved,
                    ..Line::of(&row)
                },
                verdict: group.verdict,
                broken: group.broken,
                fixed: group.fixed,
            }
        };
        Some(Groups {
            by: telling.by.name(),
            metric: figures::metric_name(&first.metric.name),
            decides: telling.decides,
            rows: ordered.iter().map(|group| line(group)).collect(),
            telling: telling.shown.len(),
            plot: plots::of_groups(&ordered, comparison),
        })
    };
    telling.into_iter().zip(all).filter_map(of_kind).collect()
}

impl Cases {
    fn of(comparison: &Comparison) -> Cases {
        let cases = &comparison.cases;
        let kinds: Vec<Kind> = Kind::ALL
            .into_iter()
            .filter(|kind| kind.of(cases).count > 0)
            .collect();
        let flips = kinds.iter().enumerate().flat_map(|(at, kind)| {
            words::critical_first(kind.of(cases))
                .into_iter()
                .map(move |flip| {
                    let critical = u8::from(words::is_critical(flip));
                    (
                        at,
                        flip.eval_id.clone(),
                        flip.case_id.clone(),
                        words::passes(flip, "→"),
                        critical,
                    )
                })
        });
        let shown = |kind: &Kind| {
            let list = kind.of(cases);
            Flips {
                name: kind_name(*kind),
                title: kind.title(list),
                count: list.count,
                listed: list.cases.len(),
            }
        };
        Cases {
            sentences: words::case_sentences(cases),
            compared: cases.compared,
            still_passing: cases.still_passing,
            flips: flips.collect(),
            kinds: kinds.iter().map(shown).collect(),
        }
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Broken => "broken",
        Kind::Fixed => "fixed",
        Kind::StillFailing => "still failing",
        Kind::Ungraded => "without a grade",
        Kind::Changed => "changed",
        Kind::New => "new",
        Kind::Gone => "gone",
    }
}
