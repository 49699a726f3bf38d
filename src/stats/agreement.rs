//! Paired yes/no outcomes: do two runs differ, do two raters agree.

use super::Undefined;

/// McNemar's exact test over cases that were judged in two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct McNemar {
    /// Cases that passed before and fail now.
    pub lost: u64,
    /// Cases that failed before and pass now.
    pub gained: u64,
    /// Two-sided; 1 when nothing flipped.
    pub p_value: f64,
}

/// Exact two-sided test that losses and gains are equally likely: twice the binomial(lost + gained, 1/2) tail, at most 1.
///
/// Source: McNemar (1947), exact form, as in R's `exact2x2::mcnemar.exact`. Cases that didn't flip carry no information.
pub fn mcnemar_exact(lost: u64, gained: u64) -> McNemar {
    let (flips, fewer) = (lost + gained, lost.min(gained));
    // Logarithms, so that thousands of flips don't underflow: ln C(n, i) by its recurrence.
    let mut log_term = -(flips as f64) * std::f64::consts::LN_2;
    let mut tail = log_term.exp();
    for i in 0..fewer {
        log_term += ((flips - i) as f64).ln() - ((i + 1) as f64).ln();
        tail += log_term.exp();
    }
    McNemar { lost, gained, p_value: (2.0 * tail).min(1.0) }
}

/// How far two raters agree beyond chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Share of items with equal labels.
    pub observed: f64,
    /// The share that raters with these habits would reach blindly.
    pub by_chance: f64,
    /// (observed - by_chance) / (1 - by_chance).
    pub kappa: f64,
}

/// Cohen's kappa of two raters' labels, one pair an item. Source: Cohen (1960).
///
/// Undefined when there are no items, or when both raters gave one label only (0/0).
pub fn cohen_kappa<L: Ord>(pairs: &[(L, L)]) -> Result<Agreement, Undefined> {
    if pairs.is_empty() {
        return Err(Undefined::NoData);
    }
    let n = pairs.len() as f64;
    let mut counts = std::collections::BTreeMap::<&L, (f64, f64)>::new();
    for (left, right) in pairs {
        counts.entry(left).or_default().0 += 1.0;
        counts.entry(right).or_default().1 += 1.0;
    }
    if counts.len() == 1 {
        return Err(Undefined::OneLabel);
    }
    let observed = pairs.iter().filter(|(left, right)| left == right).count() as f64 / n;
    let by_chance = counts.values().map(|(left, right)| left * right).sum::<f64>() / (n * n);
    Ok(Agreement { observed, by_chance, kappa: (observed - by_chance) / (1.0 - by_chance) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcnemar_counts_only_flips() {
        // 2 · (1 + 10) / 2^10
        assert!((mcnemar_exact(1, 9).p_value - 0.021484375).abs() < 1e-12);
        assert_eq!(mcnemar_exact(9, 1).p_value, mcnemar_exact(1, 9).p_value);
        assert!((mcnemar_exact(0, 5).p_value - 0.0625).abs() < 1e-12);
        assert_eq!(mcnemar_exact(0, 0).p_value, 1.0);
        assert_eq!(mcnemar_exact(4, 4).p_value, 1.0);
        let many = mcnemar_exact(4_000, 6_000).p_value;
        assert!(many > 0.0 && many < 1e-80, "{many}");
        // 2 · P(B(9998, 1/2) <= 4900): about 0.048 by the normal approximation with continuity correction.
        let close = mcnemar_exact(4_900, 5_098).p_value;
        assert!((close - 0.0487).abs() < 0.001, "{close}");
    }

    #[test]
    fn kappa_of_a_textbook_table() {
        // 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, by chance 0.5, kappa 0.4.
        let mut pairs = vec![(true, true); 20];
        pairs.extend([(true, false); 5]);
        pairs.extend([(false, true); 10]);
        pairs.extend([(false, false); 15]);
        let agreement = cohen_kappa(&pairs).unwrap();
        assert!((agreement.observed - 0.7).abs() < 1e-12);
        assert!((agreement.by_chance - 0.5).abs() < 1e-12);
        assert!((agreement.kappa - 0.4).abs() < 1e-12);
        assert_eq!(cohen_kappa::<bool>(&[]), Err(Undefined::NoData));
        assert_eq!(cohen_kappa(&[("a", "a"), ("a", "a")]), Err(Undefined::OneLabel));
    }
}
