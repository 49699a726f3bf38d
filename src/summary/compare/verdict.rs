//! The verdict: tests adjusted for one another, under three readings.

use super::ALPHA;
use super::detectable;
use super::draft::{ComparisonDraft, READINGS, TestSubject};
use super::figures::speaks_about;
use super::metrics::MetricFigures;
use super::notes;
use super::words::{self, VerdictBasis};
use crate::model::{
    Comparison, ComparisonSettings, ComparisonVerdict, DifferenceTest, GroupDifference, Grouping,
    IntervalScope,
};
use eval_stats::holm;

/// A test's p-values after adjustment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AdjustedTest {
    pub of: TestSubject,
    pub p_worse: f64,
    pub p_better: f64,
}

/// Adjusts the tests of all candidates together, and says what comes of it.
pub(super) fn settle(
    drafts: Vec<ComparisonDraft<'_>>,
    settings: &ComparisonSettings,
    pairs: usize,
) -> Vec<Comparison> {
    let families: [Vec<Vec<AdjustedTest>>; 3] =
        std::array::from_fn(|reading| family(&drafts, reading));
    let size = families[0].iter().map(Vec::len).sum();
    let mut settled = Vec::with_capacity(drafts.len());
    for (at, draft) in drafts.into_iter().enumerate() {
        let of = |reading: usize| families[reading].get(at).map_or(&[][..], Vec::as_slice);
        settled.push(one(draft, [of(0), of(1), of(2)], size, settings, pairs));
    }
    settled
}

/// The tests of a reading, by candidate.
fn family(drafts: &[ComparisonDraft<'_>], reading: usize) -> Vec<Vec<AdjustedTest>> {
    let tests = || {
        drafts.iter().enumerate().flat_map(|(at, draft)| {
            draft.tests.iter().filter_map(move |test| {
                Some((at, test.of, test.p.get(reading).copied().flatten()?))
            })
        })
    };
    let worse = holm(&tests().map(|(.., p)| p.p_worse).collect::<Vec<_>>());
    let better = holm(&tests().map(|(.., p)| p.p_better).collect::<Vec<_>>());
    let mut by_draft = vec![Vec::new(); drafts.len()];
    for (((at, of, _), p_worse), p_better) in tests().zip(worse).zip(better) {
        if let Some(own) = by_draft.get_mut(at) {
            own.push(AdjustedTest {
                of,
                p_worse,
                p_better,
            });
        }
    }
    by_draft
}

fn verdict(tests: &[AdjustedTest]) -> ComparisonVerdict {
    if tests.iter().any(|test| test.p_worse < ALPHA) {
        ComparisonVerdict::Regression
    } else if tests.iter().any(|test| test.p_better < ALPHA) {
        ComparisonVerdict::Improvement
    } else {
        ComparisonVerdict::None
    }
}

fn one(
    mut draft: ComparisonDraft<'_>,
    readings: [&[AdjustedTest]; 3],
    family: usize,
    settings: &ComparisonSettings,
    pairs: usize,
) -> Comparison {
    debug_assert_eq!(READINGS.len(), readings.len());
    for test in readings[0] {
        let row = match test.of {
            TestSubject::Metric(at) => draft.rows.get_mut(at),
            TestSubject::Group(at) => draft.groups.get_mut(at).map(|(_, row)| row),
        };
        if let Some(found) = row.and_then(|row| row.difference.test.as_mut()) {
            found.p_worse_adjusted = Some(test.p_worse);
            found.p_better_adjusted = Some(test.p_better);
            found.decides = true;
        }
    }
    adjust_informing(&mut draft, &settings.by);
    let [verdict, verdict_worst, verdict_best] = readings.map(verdict);
    let detectable = detectable::detectable(&draft, verdict, family, settings, pairs);
    let deciding = VerdictBasis {
        verdicts: [verdict, verdict_worst, verdict_best],
        tests: readings[0],
        family,
        detectable: detectable.as_ref(),
    };
    let scope = draft.rows.first().map_or(IntervalScope::TheseCases, |row| {
        speaks_about(&row.difference, draft.pairing.scope())
    });
    let sentences = words::sentences(&draft, &deciding);
    let notes = notes::notes(&draft);
    let groups = draft
        .groups
        .into_iter()
        .map(|(group, row)| GroupDifference {
            by: group.by,
            group: group.name,
            verdict: row
                .difference
                .test
                .as_ref()
                .map_or(ComparisonVerdict::None, of_group),
            metric: row.difference,
            broken: group.broken,
            fixed: group.fixed,
        })
        .collect();
    Comparison {
        reference: draft.pairing.reference.side.clone(),
        candidate: draft.pairing.candidate.side.clone(),
        verdict,
        verdict_worst,
        verdict_best,
        scope,
        sentences,
        metrics: draft.rows.into_iter().map(|row| row.difference).collect(),
        groups,
        cases: draft.pairing.changes,
        detectable: detectable.map(|(detectable, _)| detectable),
        notes,
        settings: settings.clone(),
    }
}

/// What the test of a group says, adjusted.
pub(super) fn of_group(test: &DifferenceTest) -> ComparisonVerdict {
    let below = |p: Option<f64>| p.is_some_and(|p| p < ALPHA);
    if below(test.p_worse_adjusted) {
        ComparisonVerdict::Regression
    } else if below(test.p_better_adjusted) {
        ComparisonVerdict::Improvement
    } else {
        ComparisonVerdict::None
    }
}

/// Groups that only inform are adjusted among those of their grouping.
fn adjust_informing(draft: &mut ComparisonDraft<'_>, deciding: &[Grouping]) {
    let mut groupings: Vec<Grouping> = draft.groups.iter().map(|(group, _)| group.by).collect();
    groupings.dedup();
    for by in groupings.into_iter().filter(|by| !deciding.contains(by)) {
        let mut rows: Vec<&mut MetricFigures> = draft
            .groups
            .iter_mut()
            .filter(|(group, _)| group.by == by)
            .map(|(_, row)| row)
            .collect();
        let mut tests: Vec<&mut DifferenceTest> = rows
            .iter_mut()
            .filter_map(|row| row.difference.test.as_mut())
            .collect();
        let worse = holm(&tests.iter().map(|test| test.p_worse).collect::<Vec<_>>());
        let better = holm(&tests.iter().map(|test| test.p_better).collect::<Vec<_>>());
        for ((test, p_worse), p_better) in tests.iter_mut().zip(worse).zip(better) {
            test.p_worse_adjusted = Some(p_worse);
            test.p_better_adjusted = Some(p_better);
        }
    }
}
