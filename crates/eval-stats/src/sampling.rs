//! Which items people should label next, and what each label then weighs.

use super::UndefinedReason;
use super::draws::IndexDraws;

/// The order in which items should be labelled: however many of its first ones are labelled, they
/// are a random draw with the chances of [`inclusion_weights`].
///
/// `doubts` has one number an item, at least 0: how much a label is expected to show, such as how
/// far the votes of a judge differ. A share `at_random` of the draw ignores it, so that every item
/// may be drawn. It is sequential Poisson sampling (E. Ohlsson, Journal of Official Statistics
/// 14:149-162, 1998).
pub fn label_order(
    doubts: &[f64],
    at_random: f64,
    seed: u64,
) -> Result<Vec<usize>, UndefinedReason> {
    let sizes = sizes(doubts, at_random)?;
    let mut draws = IndexDraws::new(seed);
    let mut ranks: Vec<(f64, usize)> = sizes
        .iter()
        .enumerate()
        .map(|(at, size)| (draws.unit() / size, at))
        .collect();
    ranks.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    Ok(ranks.into_iter().map(|(_, at)| at).collect())
}

/// 1 by the chance of each item to be among the first `n` of [`label_order`].
pub fn inclusion_weights(
    doubts: &[f64],
    at_random: f64,
    n: usize,
) -> Result<Vec<f64>, UndefinedReason> {
    let sizes = sizes(doubts, at_random)?;
    if n == 0 || n > sizes.len() {
        return Err(UndefinedReason::NoData);
    }
    // The largest ones are certain; the others share the rest in proportion.
    let mut descending = sizes.clone();
    descending.sort_by(|a, b| b.total_cmp(a));
    let mut rest: f64 = descending.iter().sum();
    let mut times = f64::INFINITY;
    for (certain, size) in descending.iter().enumerate() {
        if certain >= n {
            break;
        }
        times = (n - certain) as f64 / rest;
        if times * size <= 1.0 {
            break;
        }
        rest -= size;
        times = f64::INFINITY;
    }
    Ok(sizes
        .iter()
        .map(|size| 1.0 / (times * size).min(1.0))
        .collect())
}

/// Expected shares of the draw.
fn sizes(doubts: &[f64], at_random: f64) -> Result<Vec<f64>, UndefinedReason> {
    let total: f64 = doubts.iter().sum();
    let wrong = doubts.iter().any(|doubt| *doubt < 0.0) || !total.is_finite();
    if doubts.is_empty() {
        return Err(UndefinedReason::NoData);
    }
    if wrong || !(at_random > 0.0 && at_random <= 1.0) {
        return Err(UndefinedReason::Weights);
    }
    let n = doubts.len() as f64;
    Ok(doubts
        .iter()
        .map(|doubt| match total > 0.0 {
            true => at_random / n + (1.0 - at_random) * doubt / total,
            false => 1.0 / n,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn first_items_are_drawn_with_the_stated_chances() {
        // Of 60 items a third is doubtful, and one by far.
        let mut doubts = [0.0, 0.0, 0.4].repeat(20);
        doubts[0] = 9.0;
        let n = 15;
        let weights = inclusion_weights(&doubts, 0.5, n).unwrap();
        let mut drawn = [0u32; 60];
        const SEEDS: u32 = 10_000;
        for seed in 0..SEEDS {
            for at in &label_order(&doubts, 0.5, u64::from(seed)).unwrap()[..n] {
                drawn[*at] += 1;
            }
        }
        for (drawn, weight) in drawn.iter().zip(&weights) {
            let share = f64::from(*drawn) / f64::from(SEEDS);
            // Sequential Poisson sampling keeps chances nearly, not exactly.
            assert!((share * weight - 1.0).abs() < 0.08, "{share} {weight}");
        }
        assert_eq!(weights[0], 1.0);
        assert!(weights[1] > 2.0 * weights[2]);
    }

    #[test]
    fn equal_doubts_weigh_all_alike() {
        let weights = inclusion_weights(&[0.3; 8], 0.5, 2).unwrap();
        assert!(weights.iter().all(|weight| (weight - 4.0).abs() < 1e-12));
        assert_eq!(inclusion_weights(&[0.0; 3], 0.5, 3), Ok(vec![1.0; 3]));
        assert_eq!(
            inclusion_weights(&[0.0; 3], 0.5, 4),
            Err(UndefinedReason::NoData)
        );
        assert_eq!(label_order(&[-1.0], 0.5, 1), Err(UndefinedReason::Weights));
        assert_eq!(label_order(&[1.0], 0.0, 1), Err(UndefinedReason::Weights));
    }

    proptest! {
        #[test]
        fn chances_add_up_to_the_number_of_labels(
            doubts in proptest::collection::vec(0.0f64..5.0, 1..40),
            at_random in 0.05f64..=1.0,
            part in 0.0f64..1.0,
        ) {
            let n = 1 + ((doubts.len() - 1) as f64 * part) as usize;
            let weights = inclusion_weights(&doubts, at_random, n).unwrap();
            let sum: f64 = weights.iter().map(|weight| 1.0 / weight).sum();
            prop_assert!((sum - n as f64).abs() < 1e-9, "{sum} {n}");
            prop_assert!(weights.iter().all(|weight| *weight >= 1.0));
        }
    }
}
