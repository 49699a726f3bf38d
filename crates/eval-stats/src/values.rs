//! The mean of values without bounds that come eval by eval, with its interval; in bounded memory
//! and time however many they are.

use super::UndefinedReason;
use super::interval::{Interval, normal_of_mean};
use super::likelihood::{ValueLevel, of_values};
use super::quantile::finite;

/// Values up to which each is kept; of more the interval is normal.
pub const KEPT_VALUES: usize = 5_000;

/// Values in the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct ValueSeries {
    n: usize,
    sum: f64,
    /// All of them, while they are at most [`KEPT_VALUES`].
    few: Vec<f64>,
    /// Sum and number by eval.
    evals: Vec<(usize, f64, u64)>,
    moments: Option<ValueMoments>,
}

/// Sums of the distances from the first value, which lose no digits where all values are large and
/// alike.
#[derive(Debug, Clone, Copy)]
struct ValueMoments {
    first: f64,
    sum: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl ValueSeries {
    pub fn new() -> Self {
        ValueSeries::default()
    }

    /// A value of a case of the eval.
    #[inline]
    pub fn push(&mut self, eval: usize, value: f64) {
        self.n += 1;
        self.sum += value;
        if self.n <= KEPT_VALUES {
            self.few.push(value);
        } else if !self.few.is_empty() {
            self.few = Vec::new();
        }
        match self.evals.last_mut().filter(|(last, ..)| *last == eval) {
            Some((_, sum, count)) => (*sum, *count) = (*sum + value, *count + 1),
            None => self.evals.push((eval, value, 1)),
        }
        let moments = self.moments.get_or_insert(ValueMoments {
            first: value,
            sum: 0.0,
            squares: 0.0,
            least: value,
            most: value,
        });
        let distance = value - moments.first;
        moments.sum += distance;
        moments.squares += distance * distance;
        moments.least = moments.least.min(value);
        moments.most = moments.most.max(value);
    }

    pub fn len(&self) -> usize {
        self.n
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// How many evals they are of.
    pub fn evals(&self) -> usize {
        self.evals.len()
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> Result<f64, UndefinedReason> {
        if self.n == 0 {
            Err(UndefinedReason::NoData)
        } else {
            finite(self.sum / self.n as f64)
        }
    }

    /// The interval of the mean when there are `times` as many values like these: of whole evals
    /// that are drawn (`of_evals`), or of cases that are independent. Beyond [`KEPT_VALUES`] cases
    /// it is normal around the mean, which at that size is what the likelihood tends to (Owen 2001,
    /// section 2.3).
    pub fn interval(
        &self,
        of_evals: bool,
        times: f64,
        level: f64,
    ) -> Result<Interval, UndefinedReason> {
        if of_evals {
            let of_eval = |(_, sum, cases): &(usize, f64, u64)| ValueLevel {
                sum: *sum,
                size: *cases as f64,
                count: times,
            };
            return of_values(&self.evals.iter().map(of_eval).collect::<Vec<_>>(), level);
        }
        if self.n <= KEPT_VALUES {
            let levels: Vec<ValueLevel> = self
                .few
                .iter()
                .map(|value| ValueLevel::of(*value, times))
                .collect();
            return of_values(&levels, level);
        }
        let moments = self.moments.ok_or(UndefinedReason::NoData)?;
        let n = self.n as f64;
        let variance = ((moments.squares - moments.sum * moments.sum / n) / (n - 1.0)).max(0.0);
        if variance == 0.0 {
            return Err(UndefinedReason::NoVariation);
        }
        normal_of_mean(
            self.mean()?,
            (variance / (n * times)).sqrt(),
            (moments.least, moments.most),
            level,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> ValueSeries {
        let mut all = ValueSeries::new();
        values.into_iter().for_each(|value| all.push(0, value));
        all
    }

    #[test]
    fn many_values_get_a_normal_interval_of_the_right_width() {
        let value = |i: u32| (f64::from(i * 7919 % 6_007) / 6_007.0).powi(2);
        let kept = of((0..5_000).map(value))
            .interval(false, 1.0, 0.95)
            .unwrap();
        let normal = of((0..6_000).map(value))
            .interval(false, 1.0, 0.95)
            .unwrap();
        assert_eq!(
            (kept.method.name(), normal.method.name()),
            ("empirical_likelihood", "normal")
        );
        let ratio = (kept.high - kept.low) / (normal.high - normal.low);
        assert!(
            (ratio / (6_000f64 / 5_000.0).sqrt() - 1.0).abs() < 0.01,
            "{ratio}"
        );
        // Large and alike: no digits are lost.
        let shifted = of((0..6_000).map(|i| value(i) + 1e9))
            .interval(false, 1.0, 0.95)
            .unwrap();
        assert!((shifted.high - shifted.low - (normal.high - normal.low)).abs() < 1e-6);
        assert_eq!(
            of((0..20_000).map(|_| 7.0)).interval(false, 1.0, 0.95),
            Err(UndefinedReason::NoVariation)
        );
    }

    #[test]
    fn whole_evals_are_as_wide_as_their_means_differ() {
        let mut values = ValueSeries::new();
        for eval in 0..12 {
            (0..10).for_each(|_| values.push(eval, f64::from((eval * 5 % 12) as u32)));
        }
        let (cases, evals) = (
            values.interval(false, 1.0, 0.95).unwrap(),
            values.interval(true, 1.0, 0.95).unwrap(),
        );
        let ratio = (evals.high - evals.low) / (cases.high - cases.low);
        // The root of 10 cases an eval, and Student's t of 12 units.
        assert!((3.2..4.0).contains(&ratio), "{ratio}");
    }
}
