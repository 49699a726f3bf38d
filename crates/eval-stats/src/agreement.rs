//! Labels of two raters: how far they agree.

use super::UndefinedReason;

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
pub fn cohen_kappa<L: Ord>(pairs: &[(L, L)]) -> Result<Agreement, UndefinedReason> {
    if pairs.is_empty() {
        return Err(UndefinedReason::NoData);
    }
    let n = pairs.len() as f64;
    let mut counts = std::collections::BTreeMap::<&L, (f64, f64)>::new();
    for (left, right) in pairs {
        counts.entry(left).or_default().0 += 1.0;
        counts.entry(right).or_default().1 += 1.0;
    }
    if counts.len() == 1 {
        return Err(UndefinedReason::OneLabel);
    }
    let observed = pairs.iter().filter(|(left, right)| left == right).count() as f64 / n;
    let by_chance = counts
        .values()
        .map(|(left, right)| left * right)
        .sum::<f64>()
        / (n * n);
    Ok(Agreement {
        observed,
        by_chance,
        kappa: (observed - by_chance) / (1.0 - by_chance),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(cohen_kappa::<bool>(&[]), Err(UndefinedReason::NoData));
        assert_eq!(
            cohen_kappa(&[("a", "a"), ("a", "a")]),
            Err(UndefinedReason::OneLabel)
        );
    }
}
