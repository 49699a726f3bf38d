//! A comparison before its tests are adjusted for one another.

use super::super::outcomes::OutcomeReading;
use super::CompareSettings;
use super::groups::{self, CaseGroup};
use super::metrics::{MetricFigures, OneSidedPValues, PairedColumns, row};
use super::pairing::SidePairing;
use super::values::{PairedMeasure, both_have};
use crate::model::{Grouping, RunScores};
use eval_stats::in_parallel;

/// The three readings, in the order in which tests are held.
pub(super) const READINGS: [OutcomeReading; 3] = [
    OutcomeReading::Graded,
    OutcomeReading::Worst,
    OutcomeReading::Best,
];

/// Everything that is known of one candidate.
pub(super) struct ComparisonDraft<'a> {
    pub pairing: SidePairing<'a>,
    /// Something without a grade could change a figure.
    pub open: bool,
    /// Tested ones first.
    pub measures: Vec<PairedMeasure>,
    pub rows: Vec<MetricFigures>,
    /// Of the first tested metric.
    pub groups: Vec<(CaseGroup, MetricFigures)>,
    /// Groupings that have too many groups to list.
    pub left_out: Vec<Grouping>,
    pub tests: Vec<VerdictTest>,
}

/// One test that the verdict rests on, under each of [`READINGS`].
pub(super) struct VerdictTest {
    pub of: TestSubject,
    pub p: [Option<OneSidedPValues>; 3],
}

/// What a test is of, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestSubject {
    Metric(usize),
    Group(usize),
}

impl<'a> ComparisonDraft<'a> {
    pub fn new(
        reference: &'a RunScores,
        candidate: &'a RunScores,
        tested: &[PairedMeasure],
        settings: &CompareSettings,
    ) -> ComparisonDraft<'a> {
        let how = settings.resampling();
        let pairing = SidePairing::new(reference, candidate, settings);
        let open = pairing.is_open();
        let others = both_have(&pairing)
            .iter()
            .filter_map(|metric| PairedMeasure::of(metric, [reference, candidate]).ok())
            .filter(|measure| !tested.iter().any(|tested| tested.name() == measure.name()))
            .collect::<Vec<_>>();
        let mut measures = tested.to_vec();
        measures.extend(others);
        let mut rows: Vec<MetricFigures> =
            in_parallel(&measures, |measure| row(&pairing, measure, None, open, how));
        // What nobody asked for and has no value is not worth a line.
        let keep: Vec<bool> = rows
            .iter()
            .enumerate()
            .map(|(at, row)| at < tested.len() || row.paired.is_some())
            .collect();
        let mut kept = keep.iter().copied();
        rows.retain(|_| kept.next().unwrap_or_default());
        let mut kept = keep.iter().copied();
        measures.retain(|_| kept.next().unwrap_or_default());
        let mut draft = ComparisonDraft {
            pairing,
            open,
            measures,
            rows,
            groups: Vec::new(),
            left_out: Vec::new(),
            tests: Vec::new(),
        };
        draft.add_groups(settings);
        draft.add_tests(tested.len(), settings);
        draft
    }

    /// Of what is tested alone: no other metrics and no groups.
    pub fn of_tested(
        reference: &'a RunScores,
        candidate: &'a RunScores,
        measures: Vec<PairedMeasure>,
        settings: &CompareSettings,
    ) -> ComparisonDraft<'a> {
        let pairing = SidePairing::new(reference, candidate, settings);
        let open = pairing.is_open();
        let how = settings.resampling();
        let rows = measures.iter();
        let rows = rows.map(|measure| row(&pairing, measure, None, open, how));
        let mut draft = ComparisonDraft {
            rows: rows.collect(),
            open,
            groups: Vec::new(),
            left_out: Vec::new(),
            tests: Vec::new(),
            measures,
            pairing,
        };
        draft.add_tests(draft.measures.len(), settings);
        draft
    }

    fn add_groups(&mut self, settings: &CompareSettings) {
        let Some(first) = self.measures.first() else {
            return;
        };
        let how = settings.resampling();
        let (found, left_out) = groups::groups(&self.pairing, first.unit, &settings.by);
        let (pairing, open) = (&self.pairing, self.open);
        self.groups = in_parallel(found, |group| {
            let mut row = row(pairing, first, Some(&group.members), open, how);
            if row.difference.n < groups::TESTED {
                (row.difference.test, row.difference.ci) = (None, None);
                row.difference.method = "none".to_owned();
            }
            (group, row)
        });
        self.left_out = left_out;
    }

    fn add_tests(&mut self, tested: usize, settings: &CompareSettings) {
        let of_groups = self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, (group, _))| settings.by.contains(&group.by));
        let all: Vec<TestSubject> = (0..tested)
            .map(TestSubject::Metric)
            .chain(of_groups.map(|(at, _)| TestSubject::Group(at)))
            .collect();
        let tests = in_parallel(all, |of| self.test(of, settings));
        self.tests = tests.into_iter().flatten().collect();
    }

    /// `None` when there is nothing to test under any reading.
    fn test(&self, of: TestSubject, settings: &CompareSettings) -> Option<VerdictTest> {
        let (measure, row, members) = match of {
            TestSubject::Metric(at) => (self.measures.get(at)?, self.rows.get(at)?, None),
            TestSubject::Group(at) => {
                let (group, row) = self.groups.get(at)?;
                (self.measures.first()?, row, Some(group.members.as_slice()))
            }
        };
        let known = |row: &MetricFigures| {
            row.difference.test.as_ref().map(|test| OneSidedPValues {
                p_worse: test.p_worse,
                p_better: test.p_better,
            })
        };
        let p = READINGS.map(|reading| match (reading, self.open, measure.is_bounded()) {
            (OutcomeReading::Graded, ..) | (_, false, _) => known(row),
            // Nothing bounds how bad, or good, it may have been.
            (OutcomeReading::Worst, _, false) => Some(OneSidedPValues {
                p_worse: 0.0,
                p_better: 1.0,
            }),
            (OutcomeReading::Best, _, false) => Some(OneSidedPValues {
                p_worse: 1.0,
                p_better: 0.0,
            }),
            (reading, ..) => self.test_under(reading, measure, members, settings),
        });
        p.iter()
            .any(Option::is_some)
            .then_some(VerdictTest { of, p })
    }

    fn test_under(
        &self,
        reading: OutcomeReading,
        measure: &PairedMeasure,
        members: Option<&[u32]>,
        settings: &CompareSettings,
    ) -> Option<OneSidedPValues> {
        let columns = PairedColumns::new(&self.pairing, measure, reading, members);
        if members.is_some() && columns.len() < groups::TESTED {
            return None;
        }
        let test = columns.compare(settings.resampling()).ok()?.test.ok()?;
        Some(OneSidedPValues::new(&test, measure.higher_is_better?))
    }
}
