//! One candidate against its reference: everything that is said of it.

use serde_json::{Value, json};

use super::plots;
use crate::model::{
    CaseChanges, CaseFlip, ComparedSide, Comparison, ComparisonVerdict, FlipList, GroupDifference,
};
use crate::report::comparison::words::{self, ComparisonHeadline, ComparisonRow, FlipKind};
use crate::report::figures;
use eval_base::text;

pub fn of(comparison: &Comparison) -> Value {
    let headline = ComparisonHeadline::of(comparison);
    let metrics = words::telling(comparison);
    let rows = metrics.iter().map(|metric| words::row(metric, comparison));
    let could_have_found = comparison
        .detectable
        .as_ref()
        .and_then(|found| Some(words::size(&found.metric, found.drop?)));
    json!({
        "label": words::label(&comparison.candidate),
        "headline": { "name": headline_name(headline), "title": headline.title(), "words": headline.words() },
        "undecided": words::undecided(comparison),
        "readings": readings(comparison),
        "first": words::first_sentence(comparison),
        "further": words::further_sentences(comparison).collect::<Vec<_>>(),
        "notes": comparison.notes,
        "reference": side(&comparison.reference),
        "candidate": side(&comparison.candidate),
        "level": figures::percent(comparison.settings.level).replace(".0 ", " "),
        "metrics": rows.collect::<Vec<ComparisonRow>>(),
        "plots": plots::of_metrics(&metrics, comparison),
        "legend": words::legend(comparison, ["▼", "▲"]),
        "groups": groups(comparison),
        "cases": cases(&comparison.cases),
        "could_have_found": could_have_found,
    })
}

/// True when a list does not hold all cases of its kind.
pub fn is_cut(cases: &CaseChanges) -> bool {
    let lists = FlipKind::ALL.map(|kind| kind.of(cases));
    lists.iter().any(|list| list.unlisted() > 0)
}

/// The name of a headline in the page: what it is drawn by.
fn headline_name(headline: ComparisonHeadline) -> &'static str {
    match headline {
        ComparisonHeadline::Regression => "regression",
        ComparisonHeadline::Improvement => "improvement",
        ComparisonHeadline::NoEvidence => "none",
        ComparisonHeadline::Undecided => "undecided",
        ComparisonHeadline::Untested => "untested",
    }
}

/// The three readings of the verdict, where samples without a grade make them differ.
fn readings(comparison: &Comparison) -> Vec<(&'static str, ComparisonVerdict, &'static str)> {
    if ComparisonHeadline::of(comparison) != ComparisonHeadline::Undecided {
        return Vec::new();
    }
    let readings = [
        (
            "if all samples without a grade had counted against the candidate",
            comparison.verdict_worst,
        ),
        ("over what was graded", comparison.verdict),
        (
            "if all samples without a grade had counted for the candidate",
            comparison.verdict_best,
        ),
    ];
    let reading = |(name, verdict)| (name, verdict, words::verdict_words(verdict));
    readings.into_iter().map(reading).collect()
}

/// Who is on a side, what it was read from and what it is only a part of.
pub fn side(side: &ComparedSide) -> Value {
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
    let mut facts = vec![
        ("Run", Some(side.run_id.clone())),
        ("Target", Some(target)),
        ("Model", side.model.clone()),
        ("Commit", commit),
        ("Began", Some(side.timestamp.clone())),
        ("Suite", Some(suite)),
        ("Harness", Some(side.harness_version.clone())),
    ];
    facts.retain(|(_, fact)| fact.as_ref().is_some_and(|fact| !fact.is_empty()));
    json!({ "label": words::label(side), "facts": facts, "extent": words::extent(side) })
}

/// Every group: those that the other forms show, the most telling first, then the others.
fn groups(comparison: &Comparison) -> Vec<Value> {
    let telling = words::groups(comparison, false);
    let all = words::groups(comparison, true);
    let of_kind = |(telling, all): (words::ShownGroups<'_>, words::ShownGroups<'_>)| {
        let mut ordered = telling.shown.clone();
        let is_told =
            |group: &GroupDifference| telling.shown.iter().any(|told| std::ptr::eq(*told, group));
        ordered.extend(all.shown.into_iter().filter(|group| !is_told(group)));
        let first = ordered.first()?;
        let row = |group: &&GroupDifference| {
            let line = ComparisonRow {
                name: text::one_line(&group.group),
                moved: group.verdict != ComparisonVerdict::None,
                ..words::row(&group.metric, comparison)
            };
            json!({ "line": line, "verdict": group.verdict, "broken": group.broken, "fixed": group.fixed })
        };
        Some(json!({
            "by": telling.by.name(),
            "metric": figures::shown_metric(&first.metric.name),
            "decides": telling.decides,
            "rows": ordered.iter().map(row).collect::<Vec<_>>(),
            "telling": telling.shown.len(),
            "plot": plots::of_groups(&ordered, comparison),
        }))
    };
    telling.into_iter().zip(all).filter_map(of_kind).collect()
}

/// The kinds of flips that there are.
fn kinds(cases: &CaseChanges) -> impl Iterator<Item = (FlipKind, &FlipList)> {
    let kinds = FlipKind::ALL.map(|kind| (kind, kind.of(cases)));
    kinds.into_iter().filter(|(_, list)| list.count > 0)
}

/// The flips in the order of the page.
pub fn flips(cases: &CaseChanges) -> impl Iterator<Item = (FlipKind, &CaseFlip)> {
    kinds(cases).flat_map(|(kind, list)| {
        let flips = words::critical_first(list).into_iter();
        flips.map(move |flip| (kind, flip))
    })
}

/// Kinds of flips and the cases of each: the place of the kind, eval, case, samples that passed of
/// those that were graded, and whether it is critical; of each kind the critical ones first.
fn cases(cases: &CaseChanges) -> Value {
    let (mut shown, mut flips) = (Vec::new(), Vec::new());
    for (at, (kind, list)) in kinds(cases).enumerate() {
        shown.push(json!({
            "name": kind.name(), "title": kind.title(list), "count": list.count, "listed": list.cases.len(),
        }));
        flips.extend(words::critical_first(list).into_iter().map(|flip| {
            let critical = u8::from(words::is_critical(flip));
            (
                at,
                &flip.eval_id,
                &flip.case_id,
                words::passes(flip, "→"),
                critical,
            )
        }));
    }
    json!({
        "sentences": words::case_sentences(cases),
        "compared": cases.compared,
        "still_passing": cases.still_passing,
        "kinds": shown,
        "flips": flips,
    })
}
