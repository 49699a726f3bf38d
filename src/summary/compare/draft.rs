//! A comparison before its tests are adjusted for one another.

use rayon::prelude::*;

use super::super::outcomes::Reading;
use super::CompareSettings;
use super::groups::{self, Group};
use super::metrics::{Columns, Row, Sided, row};
use super::pairing::Pairing;
use super::values::{Measure, both_have};
use crate::model::{Grouping, RunScores};

/// The three readings, in the order in which tests are held.
pub(super) const READINGS: [Reading; 3] = [Reading::Graded, Reading::Worst, Reading::Best];

/// Everything that is known of one candidate.
pub(super) struct Draft<'a> {
    pub pairing: Pairing<'a>,
    /// Something without a grade could change a figure.
    pub open: bool,
    /// Tested ones first.
    pub measures: Vec<Measure>,
    pub rows: Vec<Row>,
    /// Of the first tested metric.
    pub groups: Vec<(Group, Row)>,
    /// Groupings that have too many groups to list.
    pub left_out: Vec<Grouping>,
    pub tests: Vec<Test>,
}

/// One test that the verdict rests on, under each of [`READINGS`].
pub(super) struct Test {
    pub of: Tested,
    pub p: [Option<Sided>; 3],
}

/// What a test is of, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tested {
    Metric(usize),
    Group(usize),
}

impl<'a> Draft<'a> {
    pub fn new(
        reference: &'a RunScores,
        candidate: &'a RunScores,
        tested: &[Measure],
        settings: &CompareSettings,
    ) -> Draft<'a> {
        let how = settings.resampling();
        let pairing = Pairing::new(reference, candidate, settings);
        let open = pairing.is_open();
        let others = both_have(&pairing)
            .iter()
            .filter_map(|metric| Measure::of(metric, [reference, candidate]).ok())
            .filter(|measure| !tested.iter().any(|tested| tested.name() == measure.name()))
            .collect::<Vec<_>>();
        let mut measures = tested.to_vec();
        measures.extend(others);
        let mut rows: Vec<Row> = measures
            .par_iter()
            .map(|measure| row(&pairing, measure, None, open, how))
            .collect();
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
        let mut draft = Draft {
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

    fn add_groups(&mut self, settings: &CompareSettings) {
        let Some(first) = self.measures.first() else {
            return;
        };
        let how = settings.resampling();
        let (found, left_out) = groups::groups(&self.pairing, first.unit, &settings.by);
        let (pairing, open) = (&self.pairing, self.open);
        self.groups = found
            .into_par_iter()
            .map(|group| {
                let mut row = row(pairing, first, Some(&group.members), open, how);
                if row.difference.n < groups::TESTED {
                    (row.difference.test, row.difference.ci) = (None, None);
                    row.difference.method = "none".to_owned();
                }
                (group, row)
            })
            .collect();
        self.left_out = left_out;
    }

    fn add_tests(&mut self, tested: usize, settings: &CompareSettings) {
        let of_groups = self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, (group, _))| settings.by.contains(&group.by));
        let all: Vec<Tested> = (0..tested)
            .map(Tested::Metric)
            .chain(of_groups.map(|(at, _)| Tested::Group(at)))
            .collect();
        let tests: Vec<Test> = all
            .into_par_iter()
            .filter_map(|of| self.test(of, settings))
            .collect();
        self.tests = tests;
    }

    /// `None` when there is nothing to test under any reading.
    fn test(&self, of: Tested, settings: &CompareSettings) -> Option<Test> {
        let (measure, row, members) = match of {
            Tested::Metric(at) => (self.measures.get(at)?, self.rows.get(at)?, None),
            Tested::Group(at) => {
                let (group, row) = self.groups.get(at)?;
                (self.measures.first()?, row, Some(group.members.as_slice()))
            }
        };
        let known = |row: &Row| {
            row.difference.test.as_ref().map(|test| Sided {
                p_worse: test.p_worse,
                p_better: test.p_better,
            })
        };
        let p = READINGS.map(|reading| match (reading, self.open, measure.is_bounded()) {
            (Reading::Graded, ..) | (_, false, _) => known(row),
            // Nothing bounds how bad, or good, it may have been.
            (Reading::Worst, _, false) => Some(Sided {
                p_worse: 0.0,
                p_better: 1.0,
            }),
            (Reading::Best, _, false) => Some(Sided {
                p_worse: 1.0,
                p_better: 0.0,
            }),
            (reading, ..) => self.test_under(reading, measure, members, settings),
        });
        p.iter().any(Option::is_some).then_some(Test { of, p })
    }

    fn test_under(
        &self,
        reading: Reading,
        measure: &Measure,
        members: Option<&[u32]>,
        settings: &CompareSettings,
    ) -> Option<Sided> {
        let columns = Columns::new(&self.pairing, measure, reading, members);
        if members.is_some() && columns.len() < groups::TESTED {
            return None;
        }
        let test = columns.compare(settings.resampling()).ok()?.test.ok()?;
        Some(Sided::new(&test, measure.higher_is_better?))
    }
}
