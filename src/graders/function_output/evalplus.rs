//! How EvalPlus compares what a function returned with what the canonical solution returned:
//! `evalplus/eval/__init__.py` and `_special_oracle.py` of evalplus 0.3.1, whose order of steps is
//! kept.
//!
//! Stricter in two places, where a verdict would prove nothing: objects that are no values never
//! pass (an object whose `==` is always true would), and neither does `None` in `are_equivalent`,
//! for which any value passes there.

use num_bigint::BigInt;
use serde::{Deserialize, Serialize};

use eval_match::{Datum, python_equals};

/// `rtol` of NumPy's `assert_allclose`.
const RELATIVE: f64 = 1e-7;
/// The tolerance of floats where the record sets none.
const FLOATS: f64 = 1e-6;

/// The comparison of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalplusOracle {
    pub rule: EvalplusRule,
    /// `atol` of the record, at least 0.
    pub tolerance: f64,
}

/// What decides beside equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalplusRule {
    /// Nothing.
    Equal,
    /// A root of the polynomial that is the argument (HumanEval/32).
    Root,
    /// Any value (Mbpp/164).
    AnyValue,
    /// 0 is right, too (Mbpp/295).
    OrZero,
    /// The surface of a pyramid of this perpendicular height (Mbpp/581).
    PyramidSurface,
    /// Digits are compared after padding with zeros (Mbpp/558).
    DigitDistance,
    /// The same elements.
    SameElements,
    /// Whether there is a result: `None` against anything else.
    NotNone,
}

impl EvalplusRule {
    pub fn of_humaneval(entry_point: &str) -> EvalplusRule {
        match entry_point {
            "find_zero" => EvalplusRule::Root,
            _ => EvalplusRule::Equal,
        }
    }

    pub fn of_mbpp(entry_point: &str) -> EvalplusRule {
        match entry_point {
            "are_equivalent" => EvalplusRule::AnyValue,
            "sum_div" => EvalplusRule::OrZero,
            "surface_Area" => EvalplusRule::PyramidSurface,
            "digit_distance_nums" => EvalplusRule::DigitDistance,
            "similar_elements"
            | "find_char_long"
            | "common_in_nested_lists"
            | "extract_singly"
            | "larg_nnum"
            | "intersection_array"
            | "find_dissimilar"
            | "Diff" => EvalplusRule::SameElements,
            "check_str" | "text_match_three" | "text_starta_endb" => EvalplusRule::NotNone,
            _ => EvalplusRule::Equal,
        }
    }
}

impl EvalplusOracle {
    /// The tolerance of each call. The first expected value that is a float, or a list or a tuple of
    /// floats only, raises a tolerance of 0 for itself and for all calls after it: the original
    /// keeps it in a variable of the loop. `floats`: which expected values are such ones.
    pub fn tolerances(&self, floats: impl Iterator<Item = bool>) -> Vec<f64> {
        let mut tolerance = self.tolerance;
        floats
            .map(|is_floats| {
                if tolerance == 0.0 && is_floats && self.rule != EvalplusRule::NotNone {
                    tolerance = FLOATS;
                }
                tolerance
            })
            .collect()
    }

    /// Whether a returned value is right. `tolerance`: that of the call.
    pub fn accepts(&self, args: &[Datum], out: &Datum, expected: &Datum, tolerance: f64) -> bool {
        let equal = || python_equals(out, expected);
        let right = match self.rule {
            EvalplusRule::Root => {
                return root_distance(args, out).is_some_and(|far| far <= self.tolerance);
            }
            EvalplusRule::NotNone => return not_none(out, !matches!(expected, Datum::None)),
            EvalplusRule::Equal => equal(),
            EvalplusRule::AnyValue => !matches!(out, Datum::None | Datum::Opaque { .. }),
            EvalplusRule::OrZero => equal() || python_equals(out, &Datum::Int(BigInt::ZERO)),
            EvalplusRule::PyramidSurface => {
                equal()
                    || pyramid_surface(args)
                        .zip(real(out))
                        .is_some_and(|(surface, out)| (out - surface).abs() <= tolerance)
            }
            EvalplusRule::DigitDistance => {
                equal()
                    || digit_distance(args)
                        .is_some_and(|distance| python_equals(out, &Datum::Int(distance.into())))
            }
            EvalplusRule::SameElements => same_elements(out, expected),
        };
        right || tolerance != 0.0 && all_close(out, expected, tolerance)
    }
}

/// Whether the original calls a value floats.
pub(super) fn is_floats(value: &Datum) -> bool {
    match value {
        Datum::Float(_) => true,
        Datum::List(items) | Datum::Tuple(items) => {
            !items.is_empty() && items.iter().all(|item| matches!(item, Datum::Float(_)))
        }
        _ => false,
    }
}

/// The distance from 0 of the polynomial with the coefficients `args[0]` at `out`.
fn root_distance(args: &[Datum], out: &Datum) -> Option<f64> {
    let [Datum::List(coefficients)] = args else {
        return None;
    };
    let at = real(out)?;
    let mut sum = 0.0;
    for (power, coefficient) in (0u32..).zip(coefficients) {
        let raised = at.powf(f64::from(power));
        // `math.pow` raises where the result is too large.
        if raised.is_infinite() && at.is_finite() {
            return None;
        }
        sum += real(coefficient)? * raised;
    }
    Some(sum.abs())
}

fn not_none(out: &Datum, expected: bool) -> bool {
    match out {
        Datum::Bool(out) => *out == expected,
        Datum::None => !expected,
        // A match of the module `re`, which does not cross.
        Datum::Opaque { type_name, .. } => expected && type_name == "Match",
        _ => expected,
    }
}

fn pyramid_surface(args: &[Datum]) -> Option<f64> {
    let [edge, height] = args else {
        return None;
    };
    let (edge, height) = (real(edge)?, real(height)?);
    let slant = ((edge / 2.0).powi(2) + height.powi(2)).sqrt();
    // Python's `round` takes the even one of two.
    Some((edge.powi(2) + 4.0 * (edge * slant) / 2.0).round_ties_even())
}

fn digit_distance(args: &[Datum]) -> Option<u64> {
    let [Datum::Int(a), Datum::Int(b)] = args else {
        return None;
    };
    let (a, b) = (a.to_string(), b.to_string());
    let width = a.len().max(b.len());
    let digits = |text: &str| -> Option<Vec<u32>> {
        format!("{text:0>width$}")
            .chars()
            .map(|c| c.to_digit(10))
            .collect()
    };
    let pairs = digits(&a)?.into_iter().zip(digits(&b)?);
    Some(pairs.map(|(a, b)| u64::from(a.abs_diff(b))).sum())
}

/// `set(a) == set(b)`.
fn same_elements(a: &Datum, b: &Datum) -> bool {
    match (elements(a), elements(b)) {
        (Some(a), Some(b)) => python_equals(&Datum::Set(a), &Datum::Set(b)),
        _ => false,
    }
}

/// What `set` makes of a value; `None` where it raises.
fn elements(value: &Datum) -> Option<Vec<Datum>> {
    let items: Vec<Datum> = match value {
        Datum::List(items) | Datum::Tuple(items) | Datum::Set(items) => items.clone(),
        Datum::Dict(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
        Datum::Text(text) => text.chars().map(|c| Datum::Text(c.into())).collect(),
        _ => return None,
    };
    let hashable = |item: &Datum| !matches!(item, Datum::List(_) | Datum::Dict(_));
    items.iter().all(hashable).then_some(items)
}

/// A number that is real.
fn real(value: &Datum) -> Option<f64> {
    match value {
        Datum::Bool(b) => Some(f64::from(u8::from(*b))),
        Datum::Int(i) => i.to_string().parse().ok().filter(|f: &f64| f.is_finite()),
        Datum::Float(f) => Some(*f),
        _ => None,
    }
}

/// `np.allclose(out, expected)` for values of one type and, of lists and tuples, one length. Where
/// NumPy would broadcast (`[1, 1]` against `1` inside of lists), the values differ here.
fn all_close(out: &Datum, expected: &Datum, tolerance: f64) -> bool {
    out.type_name() == expected.type_name() && close(out, expected, tolerance)
}

fn close(out: &Datum, expected: &Datum, tolerance: f64) -> bool {
    match (out, expected) {
        (Datum::List(a) | Datum::Tuple(a), Datum::List(b) | Datum::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b, tolerance))
        }
        _ => match (parts(out), parts(expected)) {
            (Some(a), Some(b)) if a == b => true,
            (Some((re, im)), Some((expected_re, expected_im))) => {
                let size = expected_re.hypot(expected_im);
                let far = (re - expected_re).hypot(im - expected_im);
                size.is_finite() && far <= tolerance + RELATIVE * size
            }
            _ => false,
        },
    }
}

/// A number of an array: integers of more than 64 bits make it one of objects, which have no
/// distance.
fn parts(value: &Datum) -> Option<(f64, f64)> {
    match value {
        Datum::Complex(re, im) => Some((*re, *im)),
        Datum::Int(i) if i64::try_from(i).is_err() && u64::try_from(i).is_err() => None,
        other => Some((real(other)?, 0.0)),
    }
}

#[cfg(test)]
#[path = "evalplus_tests.rs"]
mod tests;
