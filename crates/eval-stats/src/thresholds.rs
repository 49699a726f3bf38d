//! Holding a figure against a bound, one way for cases, evals, graders and gates.

/// Share of a bound by which rounding may miss it: a score that was summed up to 0.7 must not miss
/// 0.7 by the last bit. It is a share, not a distance, so that nothing reaches a bound above 0 by
/// being 0.
const ROUNDING: f64 = 1e-9;

/// True when `value` is at least `bound`.
pub fn reaches(value: f64, bound: f64) -> bool {
    value >= bound - bound.abs() * ROUNDING
}

/// True when `value` is at most `bound`.
pub fn stays_within(value: f64, bound: f64) -> bool {
    value <= bound + bound.abs() * ROUNDING
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_does_not_miss_a_bound() {
        assert!(reaches(0.1 + 0.2 + 0.4, 0.7) && reaches(0.7, 0.1 + 0.2 + 0.4));
        assert!(stays_within(0.1 + 0.2, 0.3) && !stays_within(0.31, 0.3) && !reaches(0.69, 0.7));
    }

    #[test]
    fn a_negative_bound_is_met_by_itself() {
        assert!(reaches(-5.0, -5.0) && stays_within(-5.0, -5.0));
        assert!(!reaches(-5.1, -5.0) && !stays_within(-4.9, -5.0));
    }

    #[test]
    fn zero_reaches_no_bound_above_it() {
        for bound in [1e-12, 1e-9, f64::MIN_POSITIVE] {
            assert!(!reaches(0.0, bound), "{bound}");
            assert!(!stays_within(bound, 0.0), "{bound}");
        }
        assert!(reaches(0.0, 0.0) && stays_within(0.0, 0.0));
    }
}
