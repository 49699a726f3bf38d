//! Exact decimal numbers: what a text such as `-1.5e3` denotes, and distances between them without
//! rounding.
//!
//! Tolerances are stated in decimals, so they are checked in decimals: 3.9 is within -0.3 of 4.2,
//! whatever binary floating point thinks of 3.9 - 4.2.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use crate::options::Tolerance;

/// Longest number that is read, in characters; turning digits into a number takes quadratic time.
const MAX_DIGITS: usize = 20_000;
/// Widest exponent that is read; beyond lies nothing that a float or a sensible integer holds.
const MAX_EXPONENT: i64 = 20_000;

/// A number as written, or one of the three that have no digits.
#[derive(Debug, Clone)]
pub enum DecimalNumber {
    Finite(DecimalDigits),
    Infinite { negative: bool },
    Nan,
}

/// `digits` times ten to the power of `exponent`.
#[derive(Debug, Clone)]
pub struct DecimalDigits {
    digits: BigInt,
    exponent: i64,
    /// The text has a point or an exponent, so its writer probably had a float in mind.
    float: bool,
}

impl DecimalNumber {
    /// Reads `[+-]digits[.digits][e[+-]digits]` with at least one digit before the exponent, or
    /// Python's spellings of NaN and the infinities in any case. `None` when the text isn't a
    /// number, or is absurdly long.
    pub fn parse(text: &str) -> Option<DecimalNumber> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        match unsigned
            .trim_start_matches('.')
            .to_ascii_lowercase()
            .as_str()
        {
            "nan" => return Some(DecimalNumber::Nan),
            "inf" | "infinity" => return Some(DecimalNumber::Infinite { negative }),
            _ => {}
        }
        DecimalDigits::parse(negative, unsigned).map(DecimalNumber::Finite)
    }

    pub fn from_json(number: &serde_json::Number) -> Option<DecimalNumber> {
        DecimalNumber::parse(number.as_str())
    }

    /// The shortest decimal that reads back as this float: what it was most likely written as.
    pub fn from_f64(value: f64) -> DecimalNumber {
        if value.is_nan() {
            DecimalNumber::Nan
        } else if value.is_infinite() {
            DecimalNumber::Infinite {
                negative: value < 0.0,
            }
        } else {
            DecimalNumber::parse(&format!("{value:e}")).unwrap_or(DecimalNumber::Nan)
        }
    }

    pub fn from_int(value: &BigInt) -> DecimalNumber {
        DecimalNumber::Finite(DecimalDigits {
            digits: value.clone(),
            exponent: 0,
            float: false,
        })
    }

    /// Whether writing it out takes at most this many digits more than it was written with.
    pub(super) fn is_near_its_text(&self, digits: i64) -> bool {
        !matches!(self, DecimalNumber::Finite(decimal) if decimal.exponent.abs() > digits)
    }

    /// The integer that it is, if it is one.
    pub fn to_int(&self) -> Option<BigInt> {
        match self {
            DecimalNumber::Finite(decimal) if decimal.is_whole() => {
                Some(match u32::try_from(decimal.exponent) {
                    Ok(power) => &decimal.digits * ten_to(power),
                    Err(_) => &decimal.digits / ten_to((-decimal.exponent) as u32),
                })
            }
            _ => None,
        }
    }

    /// Equal by value: 1 is 1.0 is 1e0, integers of any size exactly, NaN equals NaN.
    ///
    /// Two spellings of one double are equal too if one of them is its shortest (0.1 and
    /// 0.10000000000000001), except between whole numbers, where every digit counts.
    pub fn same(&self, other: &DecimalNumber) -> bool {
        match (self, other) {
            (DecimalNumber::Nan, DecimalNumber::Nan) => true,
            (DecimalNumber::Infinite { negative: a }, DecimalNumber::Infinite { negative: b }) => {
                a == b
            }
            (DecimalNumber::Finite(a), DecimalNumber::Finite(b)) => {
                a.compare(b) == Ordering::Equal || a.same_double(b) || b.same_double(a)
            }
            _ => false,
        }
    }

    /// NaN compares with nothing.
    pub fn compare(&self, other: &DecimalNumber) -> Option<Ordering> {
        let rank = |n: &DecimalNumber| match n {
            DecimalNumber::Nan => None,
            DecimalNumber::Infinite { negative } => Some(if *negative { -1 } else { 1 }),
            DecimalNumber::Finite(_) => Some(0),
        };
        match (self, other) {
            (DecimalNumber::Finite(a), DecimalNumber::Finite(b)) => Some(a.compare(b)),
            _ => Some(rank(self)?.cmp(&rank(other)?)),
        }
    }

    /// Whether `self` may stand for `expected`. Equal numbers always may. Else `absolute` and
    /// `relative` (of the expected magnitude) allow the wider of the two, and every delta bound
    /// that is set must hold too; all bounds are inclusive. A tolerance that sets nothing allows
    /// nothing; NaN and infinities are near nothing.
    pub fn within(&self, expected: &DecimalNumber, tolerance: &Tolerance) -> bool {
        if self.same(expected) {
            return true;
        }
        let (DecimalNumber::Finite(actual), DecimalNumber::Finite(wanted)) = (self, expected)
        else {
            return false;
        };
        let delta = actual.minus(wanted);
        let mut bounded = false;
        if tolerance.absolute.is_some() || tolerance.relative.is_some() {
            bounded = true;
            let near = |limit: Option<DecimalDigits>| {
                limit.is_some_and(|l| delta.abs().compare(&l) != Ordering::Greater)
            };
            let absolute = tolerance.absolute.and_then(DecimalDigits::from_f64);
            let relative = tolerance
                .relative
                .and_then(DecimalDigits::from_f64)
                .map(|r| r.times(&wanted.abs()));
            if !near(absolute) && !near(relative) {
                return false;
            }
        }
        for (bound, wrong) in [
            (tolerance.min_delta, Ordering::Less),
            (tolerance.max_delta, Ordering::Greater),
        ] {
            let Some(bound) = bound else { continue };
            bounded = true;
            match DecimalNumber::from_f64(bound) {
                DecimalNumber::Finite(bound) if delta.compare(&bound) != wrong => {}
                DecimalNumber::Infinite { negative } if negative == (wrong == Ordering::Less) => {}
                _ => return false,
            }
        }
        bounded
    }
}

/// Whether two JSON numbers are the same number; those that are too long to be read are only when
/// spelled alike.
pub(super) fn same_number(a: &serde_json::Number, b: &serde_json::Number) -> bool {
    a.as_str() == b.as_str()
        || matches!((DecimalNumber::from_json(a), DecimalNumber::from_json(b)), (Some(a), Some(b)) if a.same(&b))
}

impl DecimalDigits {
    fn parse(negative: bool, unsigned: &str) -> Option<DecimalDigits> {
        if unsigned.len() > MAX_DIGITS {
            return None;
        }
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if !all_digits(whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty())
        {
            return None;
        }
        let power: i64 = match exponent {
            None => 0,
            Some(text) => {
                let magnitude = text.strip_prefix(['+', '-']).unwrap_or(text);
                if magnitude.is_empty() || !all_digits(magnitude) {
                    return None;
                }
                text.parse().ok()?
            }
        };
        if !(-MAX_EXPONENT..=MAX_EXPONENT).contains(&power) {
            return None;
        }
        let digits: BigInt = format!("{whole}{fraction}").parse().ok()?;
        Some(DecimalDigits {
            digits: if negative { -digits } else { digits },
            exponent: power - fraction.len() as i64,
            float: mantissa.contains('.') || exponent.is_some(),
        })
    }

    fn from_f64(value: f64) -> Option<DecimalDigits> {
        match DecimalNumber::from_f64(value) {
            DecimalNumber::Finite(decimal) => Some(decimal),
            _ => None,
        }
    }

    /// Both numbers' digits at the lower of the two exponents.
    fn aligned(&self, other: &DecimalDigits) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |d: &DecimalDigits| match d.digits.sign() {
            Sign::NoSign => BigInt::ZERO,
            _ => &d.digits * ten_to((d.exponent - exponent) as u32),
        };
        (scaled(self), scaled(other), exponent)
    }

    fn compare(&self, other: &DecimalDigits) -> Ordering {
        // Zeros are not written out where the signs or the magnitudes tell.
        let signs = self.digits.sign().cmp(&other.digits.sign());
        if signs != Ordering::Equal || self.digits.sign() == Sign::NoSign {
            return signs;
        }
        let ((least, most), (other_least, other_most)) = (self.magnitude(), other.magnitude());
        let larger = if self.digits.sign() == Sign::Minus {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        if least > other_most {
            return larger;
        }
        if other_least > most {
            return larger.reverse();
        }
        let (a, b, _) = self.aligned(other);
        a.cmp(&b)
    }

    /// Between which powers of ten the magnitude of what is not zero lies.
    fn magnitude(&self) -> (i64, i64) {
        // A power of two is one of ten times a number between 0.30102 and 0.30103.
        let bits = i64::try_from(self.digits.bits()).unwrap_or(i64::MAX / 40_000);
        (
            (bits - 1) * 30_102 / 100_000 + self.exponent,
            bits * 30_103 / 100_000 + 1 + self.exponent,
        )
    }

    fn minus(&self, other: &DecimalDigits) -> DecimalDigits {
        let (a, b, exponent) = self.aligned(other);
        DecimalDigits {
            digits: a - b,
            exponent,
            float: false,
        }
    }

    fn times(&self, other: &DecimalDigits) -> DecimalDigits {
        DecimalDigits {
            digits: &self.digits * &other.digits,
            exponent: self.exponent + other.exponent,
            float: false,
        }
    }

    fn abs(&self) -> DecimalDigits {
        let digits = if self.digits.sign() == Sign::Minus {
            -&self.digits
        } else {
            self.digits.clone()
        };
        DecimalDigits { digits, ..*self }
    }

    fn is_whole(&self) -> bool {
        if self.exponent >= 0 || self.digits.sign() == Sign::NoSign {
            return true;
        }
        // What is less than 1 is known by its magnitude: a power of ten is written out only for a
        // number as long as it.
        self.magnitude().1 > 0 && &self.digits % ten_to((-self.exponent) as u32) == BigInt::ZERO
    }

    /// True when `self` is the shortest spelling of the double that `other` also denotes.
    fn same_double(&self, other: &DecimalDigits) -> bool {
        if !(self.float && other.float) || self.is_whole() || other.is_whole() {
            return false;
        }
        let double = |d: &DecimalDigits| format!("{}e{}", d.digits, d.exponent).parse::<f64>().ok();
        match (double(self), double(other)) {
            (Some(a), Some(b)) if a.is_finite() && a == b => DecimalDigits::from_f64(a)
                .is_some_and(|shortest| shortest.compare(self) == Ordering::Equal),
            _ => false,
        }
    }
}

fn ten_to(power: u32) -> BigInt {
    BigInt::from(10u8).pow(power)
}

/// As digits, shortened in the middle of nowhere only by the caller.
impl std::fmt::Display for DecimalNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DecimalNumber::Nan => f.write_str("nan"),
            DecimalNumber::Infinite { negative } => {
                f.write_str(if *negative { "-inf" } else { "inf" })
            }
            DecimalNumber::Finite(d) if d.exponent == 0 => write!(f, "{}", d.digits),
            DecimalNumber::Finite(d) if d.exponent > 0 => write!(f, "{}e{}", d.digits, d.exponent),
            DecimalNumber::Finite(d) => {
                let places = (-d.exponent) as usize;
                let digits = format!("{:0>width$}", d.digits.magnitude(), width = places + 1);
                let (whole, fraction) = digits.split_at(digits.len() - places);
                let sign = if d.digits.sign() == Sign::Minus {
                    "-"
                } else {
                    ""
                };
                write!(f, "{sign}{whole}.{fraction}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn n(text: &str) -> DecimalNumber {
        DecimalNumber::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn equal_by_value_not_by_spelling() {
        for (a, b) in [
            ("1", "1.0"),
            ("1", "1e0"),
            ("1000", "1e3"),
            ("-0", "0.0"),
            ("0.10", "0.1"),
            ("0.1", "0.10000000000000001"),
            ("9007199254740993", "9007199254740993.0"),
            ("nan", "NaN"),
            (".inf", "Infinity"),
        ] {
            assert!(n(a).same(&n(b)) && n(b).same(&n(a)), "{a} {b}");
        }
        for (a, b) in [
            ("9007199254740993", "9007199254740992.0"),
            ("12345678901234567.89", "12345678901234567.90"),
            ("0.1", "0.1000000001"),
            ("inf", "-inf"),
            ("nan", "0"),
            ("1e400", "1e401"),
        ] {
            assert!(!n(a).same(&n(b)) && !n(b).same(&n(a)), "{a} {b}");
        }
    }

    #[test]
    fn what_is_not_a_number() {
        for text in [
            "",
            "-",
            ".",
            "e5",
            "1e",
            "1e+",
            "1_000",
            "0x10",
            "1 2",
            "--1",
            "1.2.3",
            "٣",
            "1e99999999",
        ] {
            assert!(DecimalNumber::parse(text).is_none(), "{text}");
        }
        // The lowest i64 has no magnitude of its own.
        for power in [
            "-9223372036854775808",
            "9223372036854775807",
            "-20001",
            "99999999999999999999",
        ] {
            assert!(
                DecimalNumber::parse(&format!("1e{power}")).is_none(),
                "{power}"
            );
        }
        assert!(DecimalNumber::parse(&"9".repeat(MAX_DIGITS + 1)).is_none());
    }

    #[test]
    fn tolerances_are_inclusive_in_decimals() {
        let delta = Tolerance {
            min_delta: Some(-0.3),
            ..Tolerance::default()
        };
        assert!(n("3.9").within(&n("4.2"), &delta));
        assert!(n("5").within(&n("4.2"), &delta));
        assert!(!n("3.89999999999999").within(&n("4.2"), &delta));
        let absolute = Tolerance {
            absolute: Some(0.1),
            ..Tolerance::default()
        };
        assert!(n("0.4").within(&n("0.3"), &absolute));
        assert!(!n("0.41").within(&n("0.3"), &absolute));
        let relative = Tolerance {
            relative: Some(0.01),
            ..Tolerance::default()
        };
        assert!(n("-101").within(&n("-100"), &relative));
        assert!(!n("-101.1").within(&n("-100"), &relative));
        assert!(!n("0.0001").within(&n("0"), &relative));
        let both = Tolerance {
            absolute: Some(0.5),
            relative: Some(1e-9),
            ..Tolerance::default()
        };
        assert!(n("100.5").within(&n("100"), &both));
        assert!(!n("1").within(&n("2"), &Tolerance::default()));
        for odd in ["nan", "inf", "-inf"] {
            let wide = Tolerance {
                absolute: Some(f64::MAX),
                max_delta: Some(f64::INFINITY),
                ..both
            };
            assert!(!n(odd).within(&n("1"), &wide), "{odd}");
            assert!(n(odd).within(&n(odd), &wide), "{odd}");
        }
    }

    #[test]
    fn shows_plain_digits() {
        let shown: Vec<String> = ["-1.50", "0.05", "1e3", "42", "-0.5", "inf"]
            .iter()
            .map(|t| n(t).to_string())
            .collect();
        assert_eq!(shown.join(" "), "-1.50 0.05 1e3 42 -0.5 inf");
    }

    proptest! {
        /// Integers with a few decimals, against 128-bit arithmetic in thousandths.
        #[test]
        fn agrees_with_scaled_integers(a in -100_000i128..100_000, b in -100_000i128..100_000, t in 0i128..3000) {
            let text = |x: i128| format!("{}{}.{:03}", if x < 0 { "-" } else { "" }, x.abs() / 1000, x.abs() % 1000);
            let (left, right) = (n(&text(a)), n(&text(b)));
            prop_assert_eq!(left.same(&right), a == b);
            prop_assert_eq!(left.compare(&right), Some(a.cmp(&b)));
            let tolerance = Tolerance { absolute: text(t).parse().ok(), ..Tolerance::default() };
            prop_assert_eq!(left.within(&right, &tolerance), (a - b).abs() <= t);
        }

        /// Against what is written out in full.
        #[test]
        fn magnitudes_tell_the_same(a in "-?[0-9]{1,30}e-?[0-9]{1,2}", b in "-?[0-9]{1,30}e-?[0-9]{1,2}") {
            let (DecimalNumber::Finite(left), DecimalNumber::Finite(right)) = (n(&a), n(&b)) else { panic!("{a} {b}") };
            let (x, y, _) = left.aligned(&right);
            prop_assert_eq!(left.compare(&right), x.cmp(&y));
            prop_assert_eq!(left.compare(&left), Ordering::Equal);
        }

        #[test]
        fn floats_survive(value: f64) {
            prop_assume!(value.is_finite());
            prop_assert_eq!(DecimalNumber::from_f64(value).to_string().parse::<f64>().unwrap().to_bits() << 1, value.to_bits() << 1);
        }
    }
}
