//! Holm's adjustment.

/// Holm's adjustment of p-values that are looked at together, in the given order: the chance of any
/// false alarm among them is at most as large as the level that they are held against, however they
/// depend on each other.
///
/// Source: S. Holm, Scandinavian Journal of Statistics 6:65-70 (1979).
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least = 0.0f64;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max((p_values[at] * (p_values.len() - rank) as f64).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Holm's own procedure: hypotheses are rejected from the smallest p-value on, until one is
    /// above alpha / (how many are left).
    fn rejected(p_values: &[f64], alpha: f64) -> Vec<bool> {
        let mut rejected = vec![false; p_values.len()];
        while let Some(at) = (0..p_values.len())
            .filter(|at| !rejected[*at])
            .min_by(|a, b| p_values[*a].total_cmp(&p_values[*b]))
        {
            let left = rejected.iter().filter(|done| !**done).count();
            if p_values[at] > alpha / left as f64 {
                break;
            }
            rejected[at] = true;
        }
        rejected
    }

    /// S. P. Wright, "Adjusted P-values for simultaneous inference", Biometrics 48 (1992), and R's
    /// help of p.adjust: of m p-values in ascending order the i-th is multiplied by m - i + 1, and
    /// none is below one before it.
    #[test]
    fn adjusts_in_steps() {
        let close = |p: &[f64], want: &[f64]| {
            assert!(
                holm(p).iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12),
                "{:?}",
                holm(p)
            );
        };
        close(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]);
        close(&[0.5, 0.6], &[1.0, 1.0]);
        close(&[0.2], &[0.2]);
        close(&[], &[]);
    }

    proptest! {
        #[test]
        fn what_is_adjusted_below_alpha_is_what_the_procedure_rejects(
            p_values in prop::collection::vec(0.0f64..0.2, 1..8), alpha in 0.01f64..0.2,
        ) {
            let adjusted: Vec<bool> = holm(&p_values).iter().map(|p| *p <= alpha).collect();
            prop_assert_eq!(adjusted, rejected(&p_values, alpha));
        }
    }
}
