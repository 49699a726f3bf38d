//! The test of samples that are dealt to the sides anew, for cases that have more samples on one side than on the other.

use rayon::prelude::*;

use super::Dealt;
use crate::stats::bootstrap::Draws;
use crate::stats::interval::normal_cdf;

/// Resamples that share a stream of the generator.
const CHUNK: usize = 256;
/// Streams of the generator from here on are those of this test.
const FIRST_STREAM: u64 = 1 << 33;
/// Draws of all resamples together from which on the normal limit stands in.
const MOST_DRAWS: usize = 20_000_000;
/// Different sums of all cases up to which the chance of each is computed, and nothing drawn.
const FEW_SUMS: usize = 1_024;
/// Share of the sum of all sizes within which sums count as equal.
const SLACK: f64 = 1e-11;

/// Chances of a sum of differences at most, and at least, as large as `observed`, if the samples of each pair could as well have come
/// from the other side: exact where there are few different sums, else (1 + how many resamples) / (1 + resamples). Where no resample was as extreme and Hoeffding's bound is lower
/// still, it is that bound.
///
/// Signs would not do: of one sample against ten a case that mostly passes has a small difference mostly, and a large one of the other
/// sign seldom.
///
/// Source: R. A. Fisher, "The Design of Experiments" (1935), section 21, for samples in place of pairs; W. Hoeffding, JASA 58 (1963),
/// theorem 2.
pub(super) fn dealt(dealt: &Dealt<'_>, observed: f64, resamples: usize, seed: u64) -> (f64, f64) {
    let tables: Vec<Table> = dealt.tables.iter().map(|table| Table::new(table)).collect();
    // What can only come to one difference needs no draw.
    let all: Vec<&Table> = dealt.of.iter().filter_map(|of| tables.get(*of as usize)).collect();
    let open: Vec<&Table> = all.iter().copied().filter(|table| table.differences.len() > 1).collect();
    let fixed: f64 = all.iter().filter(|t| t.differences.len() == 1).map(|table| table.mean).sum();
    let sum = |of: fn(&Table) -> f64| open.iter().map(|table| of(table)).sum::<f64>();
    let away = observed - fixed - sum(|table| table.mean);
    if open.is_empty() {
        return (1.0, 1.0);
    }
    let slack = SLACK * (sum(|table| table.range) + observed.abs());
    if let Some(sums) = all_sums(&open, slack) {
        let chance = |is: &dyn Fn(f64) -> bool| {
            let these = sums.iter().filter(|(sum, _)| is(sum + fixed)).map(|(_, chance)| chance);
            these.sum::<f64>().clamp(f64::MIN_POSITIVE, 1.0)
        };
        return (chance(&|sum| sum <= observed + slack), chance(&|sum| sum >= observed - slack));
    }
    let error = sum(|table| table.variance).sqrt();
    if open.len().saturating_mul(resamples) > MOST_DRAWS {
        let tail = |z: f64| normal_cdf(z).clamp(f64::MIN_POSITIVE, 1.0);
        return (tail(away / error), tail(-away / error));
    }
    let squares = sum(|table| table.range.powi(2));
    let of_chunk = |chunk: usize| {
        let mut draws = Draws::stream(seed, FIRST_STREAM + chunk as u64);
        let these = CHUNK.min(resamples - chunk * CHUNK);
        (0..these).fold((0u64, 0u64), |(low, high), _| {
            let sum = fixed + open.iter().map(|table| table.draw(&mut draws)).sum::<f64>();
            (low + u64::from(sum <= observed + slack), high + u64::from(sum >= observed - slack))
        })
    };
    let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
    let (low, high) = (0..resamples.div_ceil(CHUNK)).into_par_iter().map(of_chunk).reduce(|| (0, 0), add);
    let total = resamples as f64 + 1.0;
    let p = |count: u64, away: f64| match count {
        0 if away < 0.0 => (1.0 / total).min((-2.0 * away * away / squares).exp()).max(f64::MIN_POSITIVE),
        count => (count + 1) as f64 / total,
    };
    (p(low, away), p(high, -away))
}

/// Every sum that the tables can come to, with its chance; `None` when there are too many different ones.
fn all_sums(tables: &[&Table], slack: f64) -> Option<Vec<(f64, f64)>> {
    let mut sums = vec![(0.0, 1.0)];
    for table in tables {
        let mut more: Vec<(f64, f64)> = Vec::with_capacity(sums.len() * table.differences.len());
        let mut before = 0.0;
        for (difference, up_to) in table.differences.iter().zip(&table.up_to) {
            more.extend(sums.iter().map(|(sum, chance)| (sum + difference, chance * (up_to - before))));
            before = *up_to;
        }
        more.sort_by(|a, b| a.0.total_cmp(&b.0));
        more.dedup_by(|next, kept| {
            let same = next.0 - kept.0 <= slack;
            if same {
                kept.1 += next.1;
            }
            same
        });
        if more.len() > FEW_SUMS {
            return None;
        }
        sums = more;
    }
    Some(sums)
}

/// What one pair's difference may come to.
struct Table {
    differences: Vec<f64>,
    /// The chance of so far up.
    up_to: Vec<f64>,
    mean: f64,
    variance: f64,
    range: f64,
}

impl Table {
    fn new(table: &[(f64, f64)]) -> Table {
        let mut so_far = 0.0;
        let up_to = table.iter().map(|(_, chance)| {
            so_far += chance;
            so_far
        });
        let up_to = up_to.collect();
        let mean: f64 = table.iter().map(|(difference, chance)| difference * chance).sum();
        let variance = table.iter().map(|(difference, chance)| chance * (difference - mean).powi(2)).sum();
        let end = |of: fn(f64, f64) -> f64, from: f64| table.iter().map(|(d, _)| *d).fold(from, of);
        let range = end(f64::max, f64::NEG_INFINITY) - end(f64::min, f64::INFINITY);
        Table { differences: table.iter().map(|(d, _)| *d).collect(), up_to, mean, variance, range }
    }

    fn draw(&self, draws: &mut Draws) -> f64 {
        let u = draws.unit();
        let at = self.up_to.iter().position(|up_to| u < *up_to).unwrap_or(self.differences.len() - 1);
        self.differences.get(at).copied().unwrap_or(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_sum_over_all_deals() {
        // One sample against three, of which three passed in all: the failure is dealt to the one with chance 1/4 (-1), else it is one
        // of the three (1 - 2/3).
        let one = vec![(-1.0, 0.25), (1.0 / 3.0, 0.75)];
        let never = vec![(0.0, 1.0)];
        let tables = [one, never];
        let of = [0, 1, 0, 0, 1];
        let cases = Dealt { tables: &tables, of: &of };
        // Three open cases: -1 three times 1/64; at most -1 - 1 + 1/3: 1/64 + 3 x 3/64.
        for (observed, low, high) in
            [(-3.0, 1.0 / 64.0, 1.0), (-5.0 / 3.0, 10.0 / 64.0, 63.0 / 64.0), (1.0, 1.0, 27.0 / 64.0)]
        {
            let found = dealt(&cases, observed, 100, 1);
            assert!((found.0 - low).abs() < 1e-12 && (found.1 - high).abs() < 1e-12, "{observed} {found:?}");
        }
        assert_eq!(dealt(&Dealt { tables: &tables, of: &[1, 1] }, 0.0, 1_000, 1), (1.0, 1.0));
    }

    /// Differences with a jitter of no size have too many sums, and are drawn.
    fn jittered(cases: usize) -> (Vec<Vec<(f64, f64)>>, Vec<u32>) {
        let table = |at: usize| {
            let jitter = ((at * 7_919) % 10_007) as f64 * 1e-8;
            vec![(-1.0 - jitter, 0.25), (1.0 / 3.0 + jitter / 3.0, 0.75)]
        };
        ((0..cases).map(table).collect(), (0..cases as u32).collect())
    }

    #[test]
    fn drawn_deals_tend_to_the_exact_chance() {
        let same = [vec![(-1.0, 0.25), (1.0 / 3.0, 0.75)]];
        let exact = dealt(&Dealt { tables: &same, of: &[0; 40] }, -4.0, 100, 1);
        let (tables, of) = jittered(40);
        let at = |observed: f64| dealt(&Dealt { tables: &tables, of: &of }, observed, 100_000, 1);
        // The jitter moves a sum by less than this.
        let (low, high) = (at(-4.0 + 2e-3).0, at(-4.0 - 2e-3).1);
        assert!((exact.0 - low).abs() < 0.006 && (exact.1 - high).abs() < 0.006, "{exact:?} {low} {high}");
    }

    #[test]
    fn far_away_it_is_small_and_never_0_and_many_cases_have_the_limit() {
        let at = |cases: usize, observed: f64| {
            let (tables, of) = jittered(cases);
            dealt(&Dealt { tables: &tables, of: &of }, observed, 10_000, 1)
        };
        // Hoeffding: 2 x 40² / (40 x (4/3)²) = 45.
        let low = at(40, -40.01).0;
        assert!(low > 0.0 && (low.ln() + 45.0).abs() < 0.1, "{low}");
        assert_eq!(at(1_500, -1_501.0).0, f64::MIN_POSITIVE);
        // The variance of one is 1/3: 100 is one standard error of 30,000.
        let (low, high) = at(30_000, -100.0);
        assert!((low - 0.158655).abs() < 1e-3 && (low + high - 1.0).abs() < 1e-9, "{low} {high}");
    }
}
