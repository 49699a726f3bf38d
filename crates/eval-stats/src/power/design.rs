//! Runs that are compared, by the samples of their cases, and all that a case may come out as.

use std::collections::BTreeMap;

use crate::paired::CaseDeal;

/// Samples of a case in the reference and in the candidate.
pub type SamplePair = [u32; 2];

/// Runs that are compared: the samples of their cases, by eval.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleDesign {
    pub evals: Vec<Vec<SamplePair>>,
    /// Whether whole evals are tested, not samples within cases.
    pub whole_evals: bool,
}

/// A figure of a case by its samples and those that passed; `None` where it has none.
pub type CaseFigure<'a> = &'a (dyn Fn(u32, u32) -> Option<f64> + Sync);

impl SampleDesign {
    pub(super) fn cases(&self) -> usize {
        self.evals.iter().map(Vec::len).sum()
    }

    pub(super) fn samples(&self) -> impl Iterator<Item = SamplePair> {
        self.evals.iter().flatten().copied()
    }

    /// As many cases as that, like these: evals repeat, the last one in part.
    pub(super) fn of_cases(&self, cases: usize) -> SampleDesign {
        let mut evals = Vec::new();
        let mut left = cases;
        for eval in self.evals.iter().filter(|eval| !eval.is_empty()).cycle() {
            if left == 0 {
                break;
            }
            let some: Vec<SamplePair> = eval.iter().copied().take(left).collect();
            left -= some.len();
            evals.push(some);
        }
        SampleDesign {
            evals,
            whole_evals: self.whole_evals,
        }
    }

    pub(super) fn with_samples(&self, samples: u32) -> SampleDesign {
        let each = |eval: &Vec<SamplePair>| vec![[samples; 2]; eval.len()];
        SampleDesign {
            evals: self.evals.iter().map(each).collect(),
            whole_evals: self.whole_evals,
        }
    }
}

/// Cases by their numbers of samples, with all that each may come out as.
pub(super) struct CaseKinds {
    pub test: PowerTest,
    all: Vec<CaseKind>,
    /// The kind of each case, by eval.
    pub of: Vec<Vec<usize>>,
}

/// What comparisons test.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum PowerTest {
    /// Samples within cases.
    Cases,
    /// Whole evals.
    Evals,
    /// Whole evals where the sides have different numbers of samples: both tests have to find it.
    UnlikeEvals,
}

impl PowerTest {
    fn of(design: &SampleDesign) -> PowerTest {
        match design.whole_evals {
            true if design.samples().any(|[before, after]| before != after) => {
                PowerTest::UnlikeEvals
            }
            true => PowerTest::Evals,
            false => PowerTest::Cases,
        }
    }
}

pub(super) struct CaseKind {
    /// The figure by passes, of each side.
    pub figures: [Vec<Option<f64>>; 2],
    /// By passes of both sides together.
    deals: Vec<CaseDeal>,
}

impl CaseKind {
    pub fn figure(&self, side: usize, passed: u32) -> Option<f64> {
        self.figures
            .get(side)?
            .get(passed as usize)
            .copied()
            .flatten()
    }

    /// The mean of a side's figure when samples pass with the chance `p`; `None` when it has none
    /// for some number of passes.
    pub fn expected(&self, side: usize, p: f64) -> Option<f64> {
        let figures = self.figures.get(side)?;
        let n = figures.len() - 1;
        // Away from the end that may be too unlikely for a number.
        let upwards = p <= 0.5;
        let (rare, odds) = if upwards {
            (p, p / (1.0 - p))
        } else {
            (1.0 - p, (1.0 - p) / p)
        };
        let (mut chance, mut sum) = ((1.0 - rare).powi(n as i32), 0.0);
        for at in 0..=n {
            let figure = figures
                .get(if upwards { at } else { n - at })
                .copied()
                .flatten()?;
            sum += chance * figure;
            chance *= odds * (n - at) as f64 / (at + 1) as f64;
        }
        Some(sum)
    }
}

impl CaseKinds {
    pub fn new(design: &SampleDesign, figure: CaseFigure<'_>) -> CaseKinds {
        let test = PowerTest::of(design);
        let deals = test != PowerTest::Evals;
        let mut known: BTreeMap<SamplePair, usize> = BTreeMap::new();
        let mut all = Vec::new();
        let mut kind = |samples: &SamplePair| {
            *known.entry(*samples).or_insert_with(|| {
                let figures = samples.map(|n| (0..=n).map(|c| figure(n, c)).collect());
                let deal = |passed: u32| {
                    if deals {
                        CaseDeal::new(*samples, passed, figure)
                    } else {
                        CaseDeal::default()
                    }
                };
                all.push(CaseKind {
                    figures,
                    deals: (0..=samples[0] + samples[1]).map(deal).collect(),
                });
                all.len() - 1
            })
        };
        let of = design
            .evals
            .iter()
            .map(|eval| eval.iter().map(&mut kind).collect())
            .collect();
        CaseKinds { test, of, all }
    }

    pub fn deal(&self, kind: usize, passed: u32) -> Option<(&CaseKind, &CaseDeal)> {
        let kind = self.all.get(kind)?;
        Some((kind, kind.deals.get(passed as usize)?))
    }
}
