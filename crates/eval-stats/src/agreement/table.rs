//! Ratings of items, and the coefficients of them.

use super::{Agreement, AgreementMeasure, RatingDistance, RatingWeights};
use crate::UndefinedReason;

/// How often each item was rated with each category of a scale.
#[derive(Debug, Clone, PartialEq)]
pub struct RatingTable {
    /// Ascending values of the categories; of nominal ones just their numbers.
    values: Vec<f64>,
    /// One row an item, one count a category.
    pub(super) items: Vec<Vec<u32>>,
}

impl RatingTable {
    /// A table without items over the categories of a scale, in ascending order of their values.
    ///
    /// # Errors
    /// For fewer than two categories, and values that are not finite and ascending.
    pub fn new(values: Vec<f64>) -> Result<RatingTable, UndefinedReason> {
        let ascend = values.windows(2).all(|pair| match pair {
            [low, high] => low < high,
            _ => true,
        });
        if values.len() < 2 || !ascend || values.iter().any(|value| !value.is_finite()) {
            return Err(UndefinedReason::Scale);
        }
        Ok(RatingTable {
            values,
            items: Vec::new(),
        })
    }

    /// A table over two categories, 0 and 1.
    pub fn binary() -> RatingTable {
        RatingTable {
            values: vec![0.0, 1.0],
            items: Vec::new(),
        }
    }

    /// Adds an item with the numbers of the categories that raters gave it.
    ///
    /// # Errors
    /// For a number that the scale does not have.
    pub fn push(&mut self, ratings: &[usize]) -> Result<(), UndefinedReason> {
        let mut counts = vec![0; self.values.len()];
        for rating in ratings {
            *counts.get_mut(*rating).ok_or(UndefinedReason::Scale)? += 1;
        }
        self.items.push(counts);
        Ok(())
    }

    /// Items with at least two ratings, which are the ones that show agreement.
    pub fn pairable(&self) -> usize {
        self.items.iter().filter(|item| raters(item) >= 2.0).count()
    }

    /// Categories with an item that two raters or more gave them.
    pub(super) fn agreed_categories(&self) -> usize {
        self.categories(2)
    }

    /// Categories that were used.
    pub(super) fn used_categories(&self) -> usize {
        self.categories(1)
    }

    /// Categories that some item got so often.
    fn categories(&self, times: u32) -> usize {
        let is_so = |at: &usize| {
            let mut items = self.items.iter();
            items.any(|item| item.get(*at).is_some_and(|count| *count >= times))
        };
        (0..self.values.len()).filter(is_so).count()
    }

    /// The coefficient of all items.
    pub fn agreement(&self, measure: AgreementMeasure) -> Result<Agreement, UndefinedReason> {
        self.of_items(measure, &mut self.items.iter())
    }

    /// The coefficient of a choice of items, which may hold one repeatedly.
    pub(super) fn of_items(
        &self,
        measure: AgreementMeasure,
        items: &mut dyn Iterator<Item = &Vec<u32>>,
    ) -> Result<Agreement, UndefinedReason> {
        match measure {
            AgreementMeasure::KrippendorffAlpha(distance) => self.alpha(distance, items),
            AgreementMeasure::Percent => {
                let sums = RatingSums::new(&Closeness::Equal, self.values.len(), items)?;
                Ok(Agreement {
                    observed: sums.observed,
                    by_chance: 0.0,
                    coefficient: sums.observed,
                })
            }
            AgreementMeasure::FleissKappa => {
                let sums = RatingSums::new(&Closeness::Equal, self.values.len(), items)?;
                let by_chance = sums.shares.iter().map(|share| share * share).sum();
                Agreement::new(sums.observed, by_chance)
            }
            AgreementMeasure::GwetAc1 => self.gwet(&Closeness::Equal, items),
            AgreementMeasure::GwetAc2(weights) => {
                self.gwet(&Closeness::Weighted(weights, &self.values), items)
            }
        }
    }

    /// Gwet (2014), equations 3.14 and 3.15 of chapter 3.
    fn gwet(
        &self,
        closeness: &Closeness<'_>,
        items: &mut dyn Iterator<Item = &Vec<u32>>,
    ) -> Result<Agreement, UndefinedReason> {
        let categories = self.values.len();
        let sums = RatingSums::new(closeness, categories, items)?;
        let all: f64 = (0..categories)
            .flat_map(|a| (0..categories).map(move |b| (a, b)))
            .map(|(a, b)| closeness.of(a, b))
            .sum();
        let spread: f64 = sums.shares.iter().map(|share| share * (1.0 - share)).sum();
        let q = categories as f64;
        Agreement::new(sums.observed, all * spread / (q * (q - 1.0)))
    }

    /// 1 - observed / expected disagreement over the matrix of coincidences: Krippendorff (2011),
    /// equation (2) and its metric differences. Distances are divided by that of the ends of the
    /// scale, which changes no alpha.
    fn alpha(
        &self,
        distance: RatingDistance,
        items: &mut dyn Iterator<Item = &Vec<u32>>,
    ) -> Result<Agreement, UndefinedReason> {
        let items: Vec<&Vec<u32>> = items.filter(|item| raters(item) >= 2.0).collect();
        if items.is_empty() {
            return Err(UndefinedReason::NoData);
        }
        let mut totals = vec![0.0; self.values.len()];
        for item in &items {
            for (total, count) in totals.iter_mut().zip(item.iter()) {
                *total += f64::from(*count);
            }
        }
        let n: f64 = totals.iter().sum();
        let apart = self.distances(distance, &totals);
        let mut observed = 0.0;
        for item in items {
            observed += disagreement(&apart, |at| f64::from(item.get(at).copied().unwrap_or(0)))
                / (raters(item) - 1.0);
        }
        let expected = disagreement(&apart, |at| totals.get(at).copied().unwrap_or(0.0));
        Agreement::new(1.0 - observed / n, 1.0 - expected / (n * (n - 1.0)))
    }

    /// (category, category, distance) of all pairs of different categories that were used.
    fn distances(&self, distance: RatingDistance, totals: &[f64]) -> Vec<(usize, usize, f64)> {
        // Ratings up to the middle of each category.
        let mut below = 0.0;
        let middles: Vec<f64> = totals
            .iter()
            .map(|total| {
                below += total;
                below - total / 2.0
            })
            .collect();
        let places: Vec<(usize, f64)> = match distance {
            RatingDistance::Ordinal => middles,
            _ => self.values.clone(),
        }
        .into_iter()
        .zip(totals)
        .enumerate()
        .filter(|(_, (_, total))| **total > 0.0)
        .map(|(at, (place, _))| (at, place))
        .collect();
        let span = match (places.first(), places.last()) {
            (Some((_, low)), Some((_, high))) if high > low => high - low,
            _ => 1.0,
        };
        let mut apart = Vec::new();
        for (at, (a, low)) in places.iter().enumerate() {
            for (b, high) in places.iter().skip(at + 1) {
                let far = match distance {
                    RatingDistance::Nominal => 1.0,
                    _ => ((high - low) / span).powi(2),
                };
                apart.push((*a, *b, far));
            }
        }
        apart
    }
}

/// Sum over ordered pairs of categories of the product of their counts and their distance.
fn disagreement(apart: &[(usize, usize, f64)], count: impl Fn(usize) -> f64) -> f64 {
    apart
        .iter()
        .map(|(a, b, far)| 2.0 * count(*a) * count(*b) * far)
        .sum()
}

fn raters(item: &[u32]) -> f64 {
    item.iter().map(|count| f64::from(*count)).sum()
}

/// How close two categories are, in [0, 1].
enum Closeness<'v> {
    Equal,
    Weighted(RatingWeights, &'v [f64]),
}

impl Closeness<'_> {
    fn of(&self, a: usize, b: usize) -> f64 {
        let Closeness::Weighted(weights, values) = self else {
            return f64::from(u8::from(a == b));
        };
        let far = |low: &f64, high: &f64| match (values.first(), values.last()) {
            (Some(first), Some(last)) => (high - low).abs() / (last - first),
            _ => 0.0,
        };
        let pairs = |categories: usize| categories as f64 * (categories as f64 - 1.0) / 2.0;
        match (weights, values.get(a), values.get(b)) {
            (RatingWeights::Linear, Some(a), Some(b)) => 1.0 - far(a, b),
            (RatingWeights::Quadratic, Some(a), Some(b)) => 1.0 - far(a, b).powi(2),
            (RatingWeights::Ordinal, ..) => 1.0 - pairs(a.abs_diff(b) + 1) / pairs(values.len()),
            _ => 0.0,
        }
    }
}

/// What Fleiss' and Gwet's coefficients are made of.
struct RatingSums {
    /// Mean closeness of pairs of ratings of an item, over items with two or more.
    observed: f64,
    /// Share of each category in an item, over items with one or more.
    shares: Vec<f64>,
}

impl RatingSums {
    fn new(
        closeness: &Closeness<'_>,
        categories: usize,
        items: &mut dyn Iterator<Item = &Vec<u32>>,
    ) -> Result<RatingSums, UndefinedReason> {
        let mut shares = vec![0.0; categories];
        let (mut rated, mut pairable, mut observed) = (0.0, 0.0, 0.0);
        for item in items {
            let raters = raters(item);
            if raters < 1.0 {
                continue;
            }
            rated += 1.0;
            for (share, count) in shares.iter_mut().zip(item) {
                *share += f64::from(*count) / raters;
            }
            if raters < 2.0 {
                continue;
            }
            pairable += 1.0;
            let used = || {
                item.iter()
                    .enumerate()
                    .filter(|(_, count)| **count > 0)
                    .map(|(at, count)| (at, f64::from(*count)))
            };
            let close: f64 = used()
                .map(|(a, count)| {
                    let near: f64 = used().map(|(b, other)| closeness.of(a, b) * other).sum();
                    count * (near - 1.0)
                })
                .sum();
            observed += close / (raters * (raters - 1.0));
        }
        if pairable == 0.0 {
            return Err(UndefinedReason::NoData);
        }
        shares.iter_mut().for_each(|share| *share /= rated);
        Ok(RatingSums {
            observed: observed / pairable,
            shares,
        })
    }
}
