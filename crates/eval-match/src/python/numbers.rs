//! Python's numbers as exact fractions, so that integers, floats, decimals and fractions compare
//! without rounding.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use super::{Decimal, Object};
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
pub(super) enum Real {
    /// Numerator and a denominator above zero, in lowest terms.
    Finite(BigInt, BigInt),
    Infinite {
        negative: bool,
    },
    Nan,
}

/// What number a value is.
pub(super) enum Numeric {
    Real(Real),
    /// With an imaginary part that isn't zero.
    Complex(f64, f64),
    /// Too wide to be worked with here.
    TooWide,
    NotANumber,
}

pub(super) fn numeric(object: &Object) -> Numeric {
    let real = match object {
        Object::Bool(b) => Some(Real::Finite(BigInt::from(u8::from(*b)), one())),
        Object::Int(i) => Some(Real::Finite(i.clone(), one())),
        Object::Float(f) => Some(from_float(*f)),
        Object::Complex(re, im) if *im == 0.0 => Some(from_float(*re)),
        Object::Complex(re, im) => return Numeric::Complex(*re, *im),
        Object::Fraction(n, d) => lowest_terms(n.clone(), d.clone()),
        Object::Decimal(Decimal::Nan) => Some(Real::Nan),
        Object::Decimal(Decimal::Infinite { negative }) => Some(Real::Infinite {
            negative: *negative,
        }),
        Object::Decimal(Decimal::Finite { digits, exponent }) => from_decimal(digits, *exponent),
        _ => return Numeric::NotANumber,
    };
    real.map_or(Numeric::TooWide, Numeric::Real)
}

fn one() -> BigInt {
    BigInt::from(1u8)
}

pub(super) fn from_float(f: f64) -> Real {
    if f.is_nan() {
        return Real::Nan;
    }
    if f.is_infinite() {
        return Real::Infinite { negative: f < 0.0 };
    }
    if let Some(int) = whole(f) {
        return Real::Finite(int, one());
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
    Real::Finite(if f < 0.0 { -numerator } else { numerator }, one() << shift)
}

fn from_decimal(digits: &BigInt, exponent: i64) -> Option<Real> {
    if digits.sign() == Sign::NoSign {
        return Some(Real::Finite(BigInt::ZERO, one()));
    }
    if exponent.unsigned_abs() > MOST_EXPONENT || digits.bits() > MOST_BITS {
        return None;
    }
    let power = BigInt::from(10u8).pow(exponent.unsigned_abs() as u32);
    if exponent >= 0 {
        Some(Real::Finite(digits * power, one()))
    } else {
        lowest_terms(digits.clone(), power)
    }
}

fn lowest_terms(n: BigInt, d: BigInt) -> Option<Real> {
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
    Some(Real::Finite(n / &gcd, d / gcd))
}

/// `None` when one of them is NaN, which is neither less nor more than anything.
pub(super) fn compare(a: &Real, b: &Real) -> Option<Ordering> {
    let rank = |r: &Real| match r {
        Real::Nan => None,
        Real::Infinite { negative } => Some(if *negative { -1 } else { 1 }),
        Real::Finite(..) => Some(0),
    };
    match (a, b) {
        (Real::Finite(n, d), Real::Finite(m, e)) => Some((n * e).cmp(&(m * d))),
        _ => Some(rank(a)?.cmp(&rank(b)?)),
    }
}
