//! Means and percentiles of plain lists.

use super::UndefinedReason;

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> Result<f64, UndefinedReason> {
    if values.is_empty() {
        return Err(UndefinedReason::NoData);
    }
    finite(values.iter().sum::<f64>() / values.len() as f64)
}

/// Sum of weight x value over the sum of weights; pairs are (value, weight), weights at least 0 and
/// not all 0.
pub fn weighted_mean(pairs: &[(f64, f64)]) -> Result<f64, UndefinedReason> {
    if pairs.is_empty() {
        return Err(UndefinedReason::NoData);
    }
    let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
    if pairs.iter().any(|(_, weight)| *weight < 0.0) || total == 0.0 {
        return Err(UndefinedReason::Weights);
    }
    finite(
        pairs
            .iter()
            .map(|(value, weight)| value * weight)
            .sum::<f64>()
            / total,
    )
}

/// The value below which a share `p` (in 0..=1) of the ascending `sorted` values lies, interpolated
/// linearly between neighbours: type 7 of Hyndman & Fan (1996), the default of R, NumPy and Excel.
pub fn percentile(sorted: &[f64], p: f64) -> Result<f64, UndefinedReason> {
    if !(0.0..=1.0).contains(&p) {
        return Err(UndefinedReason::Percentile);
    }
    let position = p * sorted.len().saturating_sub(1) as f64;
    let below = position.floor();
    let (Some(low), Some(high)) = (
        sorted.get(below as usize),
        sorted.get(position.ceil() as usize),
    ) else {
        return Err(UndefinedReason::NoData);
    };
    finite(low + (high - low) * (position - below))
}

pub(super) fn finite(value: f64) -> Result<f64, UndefinedReason> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(UndefinedReason::NotFinite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_numpy() {
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        assert_eq!(percentile(&values, 0.4), Ok(29.0)); // numpy.percentile([...], 40)
        assert_eq!(percentile(&values, 0.0), Ok(15.0));
        assert_eq!(percentile(&values, 1.0), Ok(50.0));
        assert_eq!(percentile(&values, 0.5), Ok(35.0));
        assert_eq!(percentile(&[7.0], 0.95), Ok(7.0));
        assert_eq!(percentile(&[], 0.95), Err(UndefinedReason::NoData));
        assert_eq!(percentile(&values, 1.5), Err(UndefinedReason::Percentile));
        assert_eq!(
            percentile(&values, f64::NAN),
            Err(UndefinedReason::Percentile)
        );
    }

    #[test]
    fn means_need_data_and_weights() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Ok(3.0));
        assert_eq!(mean(&[]), Err(UndefinedReason::NoData));
        assert_eq!(mean(&[f64::NAN]), Err(UndefinedReason::NotFinite));
        assert_eq!(weighted_mean(&[(1.0, 1.0), (0.0, 3.0)]), Ok(0.25));
        assert_eq!(weighted_mean(&[(1.0, 0.0)]), Err(UndefinedReason::Weights));
        assert_eq!(
            weighted_mean(&[(1.0, -1.0), (1.0, 3.0)]),
            Err(UndefinedReason::Weights)
        );
        assert_eq!(weighted_mean(&[]), Err(UndefinedReason::NoData));
    }
}
