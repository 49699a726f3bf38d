//! Verdicts of a judge beside labels of people.

use crate::UndefinedReason;
use crate::distributions::beta_quantile;
use crate::interval::{Interval, IntervalMethod, two_sided_quantile};

/// Different weights up to which each is a group; more are cut into as many groups.
const WEIGHT_GROUPS: usize = 4;
const MOST_LABELS: u64 = 10_000_000;

/// How often a judge and people passed and failed the same items.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgeConfusion {
    cells: Vec<ConfusionCell>,
}

/// Items of the same verdict, label and weight.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ConfusionCell {
    judged: bool,
    labelled: bool,
    weight: f64,
    count: f64,
}

/// A share of labelled items, by groups of about equal weight.
///
/// Where few items have large weights and none of these counts, a weighted variance would miss that
/// some could: each group therefore has an interval of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledShare {
    groups: Vec<ShareGroup>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct ShareGroup {
    /// Its part of all weights.
    part: f64,
    share: f64,
    /// L. Kish's effective number, the squared sum of weights by the sum of their squares ("Survey
    /// Sampling", 1965, section 11.7).
    n: f64,
}

/// A figure with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareEstimate {
    pub value: f64,
    pub interval: Interval,
}

impl JudgeConfusion {
    /// Of labels of equal weight: true passes, false fails (people pass), true fails, and false
    /// passes (people fail).
    pub fn of_counts(passes: u64, false_fails: u64, fails: u64, false_passes: u64) -> Self {
        let mut confusion = JudgeConfusion::default();
        for (judged, labelled, count) in [
            (true, true, passes),
            (false, true, false_fails),
            (false, false, fails),
            (true, false, false_passes),
        ] {
            confusion.add(judged, labelled, 1.0, count as f64);
        }
        confusion
    }

    /// Adds an item, whose weight is 1 by its chance of having been drawn.
    ///
    /// # Errors
    /// For a weight that is not above 0.
    pub fn push(
        &mut self,
        judged: bool,
        labelled: bool,
        weight: f64,
    ) -> Result<(), UndefinedReason> {
        self.push_many(judged, labelled, weight, 1)
    }

    /// Adds `count` items of the same weight.
    ///
    /// # Errors
    /// For a weight that is not above 0.
    pub fn push_many(
        &mut self,
        judged: bool,
        labelled: bool,
        weight: f64,
        count: u64,
    ) -> Result<(), UndefinedReason> {
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(UndefinedReason::Weights);
        }
        self.add(judged, labelled, weight, count as f64);
        Ok(())
    }

    fn add(&mut self, judged: bool, labelled: bool, weight: f64, count: f64) {
        let same = |cell: &&mut ConfusionCell| {
            (cell.judged, cell.labelled, cell.weight) == (judged, labelled, weight)
        };
        match self.cells.iter_mut().find(same) {
            Some(cell) => cell.count += count,
            None => self.cells.push(ConfusionCell {
                judged,
                labelled,
                weight,
                count,
            }),
        }
    }

    /// Items with this verdict and label.
    pub fn count(&self, judged: bool, labelled: bool) -> u64 {
        let of = |cell: &&ConfusionCell| (cell.judged, cell.labelled) == (judged, labelled);
        self.cells
            .iter()
            .filter(of)
            .map(|cell| cell.count)
            .sum::<f64>() as u64
    }

    /// All items.
    pub fn labels(&self) -> u64 {
        self.cells.iter().map(|cell| cell.count).sum::<f64>() as u64
    }

    /// The same with so many times the labels.
    pub(super) fn times(&self, times: f64) -> JudgeConfusion {
        let mut more = self.clone();
        more.cells.iter_mut().for_each(|cell| cell.count *= times);
        more
    }

    /// The share of items that `hits` takes among those that `of` takes.
    fn share(
        &self,
        of: impl Fn(&ConfusionCell) -> bool,
        hits: impl Fn(&ConfusionCell) -> bool,
    ) -> Result<LabelledShare, UndefinedReason> {
        let mut cells: Vec<&ConfusionCell> = self
            .cells
            .iter()
            .filter(|cell| of(cell) && cell.count > 0.0)
            .collect();
        cells.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        let total: f64 = cells.iter().map(|cell| cell.count * cell.weight).sum();
        if total <= 0.0 {
            return Err(UndefinedReason::NoData);
        }
        let mut weights: Vec<f64> = cells.iter().map(|cell| cell.weight).collect();
        weights.dedup();
        let in_group = weights.len().div_ceil(WEIGHT_GROUPS);
        let group = |weights: &[f64]| {
            let (mut sum, mut squares, mut hit) = (0.0, 0.0, 0.0);
            for cell in cells.iter().filter(|cell| weights.contains(&cell.weight)) {
                let weight = cell.count * cell.weight;
                sum += weight;
                squares += weight * cell.weight;
                hit += if hits(cell) { weight } else { 0.0 };
            }
            ShareGroup {
                part: sum / total,
                share: hit / sum,
                n: sum * sum / squares,
            }
        };
        Ok(LabelledShare {
            groups: weights.chunks(in_group).map(group).collect(),
        })
    }

    /// How often the judge passes what people pass.
    pub fn sensitivity(&self) -> Result<LabelledShare, UndefinedReason> {
        self.share(|cell| cell.labelled, |cell| cell.judged)
    }

    /// How often the judge fails what people fail.
    pub fn specificity(&self) -> Result<LabelledShare, UndefinedReason> {
        self.share(|cell| !cell.labelled, |cell| !cell.judged)
    }

    /// How often people pass what the judge passes (`true`), or what it fails (`false`).
    pub fn passed_of(&self, judged: bool) -> Result<LabelledShare, UndefinedReason> {
        self.share(|cell| cell.judged == judged, |cell| cell.labelled)
    }

    /// Sensitivity + specificity - 1: 0 of a coin, whatever its rate of passes, and 1 of a perfect
    /// judge (W. J. Youden, Cancer 3:32-35, 1950).
    pub fn informedness(&self, level: f64) -> Result<ShareEstimate, UndefinedReason> {
        let (sensitivity, specificity) = (self.sensitivity()?, self.specificity()?);
        let (first, second) = (sensitivity.interval(level)?, specificity.interval(level)?);
        let (sensitivity, specificity) = (sensitivity.value(), specificity.value());
        let value = sensitivity + specificity - 1.0;
        let low = value - (sensitivity - first.low).hypot(specificity - second.low);
        let high = value + (first.high - sensitivity).hypot(second.high - specificity);
        let interval = Interval {
            low: low.max(-1.0),
            high: high.min(1.0),
            level,
            method: IntervalMethod::Mover,
        };
        Ok(ShareEstimate { value, interval })
    }

    /// Fails where the judge can't be told from a coin: where the lower bound of
    /// [`informedness`](JudgeConfusion::informedness), of a one-sided confidence of `level`, is at
    /// or below 0.
    pub fn better_than_chance(&self, level: f64) -> Result<(), UndefinedReason> {
        let unknown = |reason| match reason {
            UndefinedReason::NoData if self.labels() > 0 => UndefinedReason::LikeChance,
            reason => reason,
        };
        let two_sided = 2.0 * level - 1.0;
        let informedness = self.informedness(two_sided).map_err(unknown)?;
        match informedness.interval.low > 0.0 {
            true => Ok(()),
            false => Err(UndefinedReason::LikeChance),
        }
    }
}

impl LabelledShare {
    /// `share` of `n` items of equal weight.
    pub fn of(share: f64, n: f64) -> LabelledShare {
        LabelledShare {
            groups: vec![ShareGroup {
                part: 1.0,
                share,
                n,
            }],
        }
    }

    pub fn value(&self) -> f64 {
        self.groups
            .iter()
            .map(|group| group.part * group.share)
            .sum()
    }

    /// Jeffreys' interval, which keeps 0 and 1 where no item, or every one, counts: L. D. Brown, T.
    /// T. Cai & A. DasGupta, Statistical Science 16:101-133 (2001), section 4.1. Of several groups
    /// it is made of theirs: G. Y. Zou & A. Donner, Statistics in Medicine 27:1693-1702 (2008).
    pub fn interval(&self, level: f64) -> Result<Interval, UndefinedReason> {
        let (value, z) = (self.value(), two_sided_quantile(level)?);
        let (mut below, mut above) = (0.0f64, 0.0f64);
        for group in &self.groups {
            let [low, high] = group.ends(level)?;
            // How many items of a group there are was drawn, too.
            let drawn = z * group.part * (group.share - value) / group.n.sqrt();
            below = below.hypot(group.part * (group.share - low)).hypot(drawn);
            above = above.hypot(group.part * (high - group.share)).hypot(drawn);
        }
        Ok(Interval {
            low: (value - below).max(0.0),
            high: (value + above).min(1.0),
            level,
            method: IntervalMethod::Jeffreys,
        })
    }

    /// About how many such items an interval of this width takes; `None` beyond ten million.
    pub fn needed(&self, width: f64, level: f64) -> Result<Option<u64>, UndefinedReason> {
        let all: f64 = self.groups.iter().map(|group| group.n).sum();
        super::rate::least_number(MOST_LABELS, |n| {
            let mut more = self.clone();
            more.groups.iter_mut().for_each(|group| group.n *= n / all);
            let interval = more.interval(level)?;
            Ok(interval.high - interval.low <= width)
        })
    }
}

impl ShareGroup {
    fn ends(self, level: f64) -> Result<[f64; 2], UndefinedReason> {
        let ShareGroup { share, n, .. } = self;
        if !(n > 0.0 && n.is_finite() && (0.0..=1.0).contains(&share)) {
            return Err(UndefinedReason::NoData);
        }
        let (hits, misses) = (share * n, n - share * n);
        let at = |p: f64| beta_quantile(p, hits + 0.5, misses + 0.5);
        let tail = (1.0 - level) / 2.0;
        let low = if share <= 0.0 {
            0.0
        } else {
            at(tail).min(share)
        };
        let high = if share >= 1.0 {
            1.0
        } else {
            at(1.0 - tail).max(share)
        };
        Ok([low, high])
    }
}
