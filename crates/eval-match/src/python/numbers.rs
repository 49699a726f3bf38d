//! Python's numbers as exact fractions, so that integers, floats, decimals and fractions compare
//! without rounding.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use super::{PythonDecimal, PythonObject};
use crate::equality::whole;

/// Wider numbers are left to an interpreter.
const MOST_BITS: u64 = 1 << 17;
/// Powers of ten beyond are not multiplied out.
const MOST_EXPONENT: u64 = 300;
/// Fractions of wider numbers are not brought to lowest terms: that takes time by the square of
/// their width, of which an answer could hold megabytes.
const MOST_BITS_OF_FRACTIONS: u64 = 1 << 10;

/// A real number.
#[derive(Debug, Clone)]
pub(super) enum RealNumber {
    /// Numerator and a denominator above zero, in lowest terms.
    Finite(BigInt, BigInt),
    Infinite {
        negative: bool,
    },
    Nan,
}

/// What number a value is.
pub(super) enum NumericValue {
    Real(RealNumber),
    /// With an imaginary part that isn't zero.
    Complex(f64, f64),
    /// Too wide to be worked with here.
    TooWide,
    NotANumber,
}

pub(super) fn numeric(object: &PythonObject) -> NumericValue {
    let real = match object {
        PythonObject::Bool(b) => Some(RealNumber::Finite(BigInt::from(u8::from(*b)), one())),
        PythonObject::Int(i) => Some(RealNumber::Finite(i.clone(), one())),
        PythonObject::Float(f) => Some(from_float(*f)),
        PythonObject::Complex(re, im) if *im == 0.0 => Some(from_float(*re)),
        PythonObject::Complex(re, im) => return NumericValue::Complex(*re, *im),
        PythonObject::Fraction(n, d) => lowest_terms(n.clone(), d.clone()),
        PythonObject::Decimal(PythonDecimal::Nan) => Some(RealNumber::Nan),
        PythonObject::Decimal(PythonDecimal::Infinite { negative }) => Some(RealNumber::Infinite {
            negative: *negative,
        }),
        PythonObject::Decimal(PythonDecimal::Finite { digits, exponent }) => {
            from_decimal(digits, *exponent)
        }
        _ => return NumericValue::NotANumber,
    };
    real.map_or(NumericValue::TooWide, NumericValue::Real)
}

fn one() -> BigInt {
    BigInt::from(1u8)
}

pub(super) fn from_float(f: f64) -> RealNumber {
    if f.is_nan() {
        return RealNumber::Nan;
    }
    if f.is_infinite() {
        return RealNumber::Infinite { negative: f < 0.0 };
    }
    if let Some(int) = whole(f) {
        return RealNumber::Finite(int, one());
    }
    let bits = f.abs().to_bits();
    let raw_exponent = bits >> 52;
    let fraction = bits & ((1 << 52) - 1);
    // Subnormal numbers have no implicit leading one.
    let (mantissa, exponent) = if raw_exponent == 0 {
        (fraction, -1074)
    } else {
        (fraction | 1 << 52, raw_exponent as i64 - 1075)
    };
    let spare = mantissa.trailing_zeros();
    let numerator = BigInt::from(mantissa >> spare);
    let shift = (-exponent) as u64 - u64::from(spare);
    RealNumber::Finite(if f < 0.0 { -numerator } else { numerator }, one() << shift)
}

fn from_decimal(digits: &BigInt, exponent: i64) -> Option<RealNumber> {
    if digits.sign() == Sign::NoSign {
        return Some(RealNumber::Finite(BigInt::ZERO, one()));
    }
    if exponent.unsigned_abs() > MOST_EXPONENT || digits.bits() > MOST_BITS {
        return None;
    }
    let power = BigInt::from(10u8).pow(exponent.unsigned_abs() as u32);
    if exponent >= 0 {
        Some(RealNumber::Finite(digits * power, one()))
    } else {
        lowest_terms(digits.clone(), power)
    }
}

fn lowest_terms(n: BigInt, d: BigInt) -> Option<RealNumber> {
    if n.bits().max(d.bits()) > MOST_BITS_OF_FRACTIONS || d == BigInt::ZERO {
        return None;
    }
    let (mut a, mut b) = (n.clone(), d.clone());
    while b != BigInt::ZERO {
        let rest = &a % &b;
        (a, b) = (b, rest);
    }
    let gcd = if (a < BigInt::ZERO) == (d < BigInt::ZERO) {
        a
    } else {
        -a
    };
    Some(RealNumber::Finite(n / &gcd, d / gcd))
}

/// `None` when one of them is NaN, which is neither less nor more than anything.
pub(super) fn compare(a: &RealNumber, b: &RealNumber) -> Option<Ordering> {
    let rank = |r: &RealNumber| match r {
        RealNumber::Nan => None,
        RealNumber::Infinite { negative } => Some(if *negative { -1 } else { 1 }),
        RealNumber::Finite(..) => Some(0),
    };
    match (a, b) {
        (RealNumber::Finite(n, d), RealNumber::Finite(m, e)) => Some((n * e).cmp(&(m * d))),
        _ => Some(rank(a)?.cmp(&rank(b)?)),
    }
}
