use serde_json::{Value, json};

use super::*;

fn datum(tagged: Value) -> Datum {
    Datum::from_tagged(&tagged).unwrap()
}

fn accepts(rule: EvalplusRule, tolerance: f64, args: Value, out: Value, expected: Value) -> bool {
    let oracle = EvalplusOracle { rule, tolerance };
    let args: Vec<Datum> = args
        .as_array()
        .unwrap()
        .iter()
        .cloned()
        .map(datum)
        .collect();
    oracle.accepts(&args, &datum(out), &datum(expected), tolerance)
}

fn equal(tolerance: f64, out: Value, expected: Value) -> bool {
    accepts(EvalplusRule::Equal, tolerance, json!([]), out, expected)
}

#[test]
fn values_are_compared_as_python_compares_them() {
    let tuple = json!({"$tuple": [1, 2]});
    for (out, expected, same) in [
        (json!(1), json!(1.0), true),
        (json!(true), json!(1), true),
        (json!([1, 2]), tuple.clone(), false),
        (tuple.clone(), json!({"$tuple": [1, 2.0]}), true),
        (json!({"$float": "nan"}), json!({"$float": "nan"}), false),
        (json!({"$set": [1, 2]}), json!({"$set": [2, 1]}), true),
        (json!({"a": 1}), json!({"$dict": [["a", 1]]}), true),
        (json!({"1": 1}), json!({"$dict": [[1, 1]]}), false),
        (json!({"$opaque": "Always"}), json!(1), false),
        (json!("1"), json!(1), false),
    ] {
        assert_eq!(
            equal(0.0, out.clone(), expected.clone()),
            same,
            "{out} == {expected}"
        );
    }
}

#[test]
fn tolerances_need_equal_types_and_lengths() {
    for (out, expected, close) in [
        (json!(1.0), json!(1.0000005), true),
        (json!(1.0), json!(1.00001), false),
        (json!([1.0, 2.0]), json!([1.0000005, 2.0]), true),
        (json!([1.0, 2.0]), json!([1.0]), false),
        (json!({"$tuple": [1.0]}), json!([1.0000005]), false),
        (json!([[1.0], [2.0]]), json!([[1.0], [2.0000005]]), true),
        (json!([{"$tuple": [1.0]}]), json!([[1.0000005]]), true),
        (json!(3), json!(3.0000005), false),
        (json!(100_000_000), json!(100_000_001), true),
        (json!({"$float": "inf"}), json!({"$float": "inf"}), true),
        (json!(1.0), json!({"$float": "inf"}), false),
        (json!("a"), json!("b"), false),
        (json!({"a": 1.0}), json!({"a": 1.0000005}), false),
        (
            json!({"$int": "0xffffffffffffffffffff"}),
            json!({"$int": "0xfffffffffffffffffffe"}),
            false,
        ),
    ] {
        assert_eq!(
            equal(1e-6, out.clone(), expected.clone()),
            close,
            "{out} ~ {expected}"
        );
    }
}

#[test]
fn floats_raise_a_tolerance_of_zero_from_then_on() {
    let of = |tolerance| EvalplusOracle {
        rule: EvalplusRule::Equal,
        tolerance,
    };
    let floats = [false, true, false];
    assert_eq!(of(0.0).tolerances(floats.into_iter()), [0.0, 1e-6, 1e-6]);
    assert_eq!(of(1e-4).tolerances(floats.into_iter()), [1e-4; 3]);
    for (value, expected) in [
        (json!(1.5), true),
        (json!([1.5, 2.0]), true),
        (json!({"$tuple": [1.5]}), true),
        (json!([]), false),
        (json!([1.5, 2]), false),
        (json!([[1.5]]), false),
        (json!(1), false),
    ] {
        assert_eq!(is_floats(&datum(value.clone())), expected, "{value}");
    }
}

#[test]
fn a_root_is_any_value_near_a_zero_of_the_polynomial() {
    let root = |out: Value| {
        accepts(
            EvalplusRule::Root,
            1e-4,
            json!([[-6, 11, -6, 1]]),
            out,
            json!(1.0),
        )
    };
    for out in [json!(1.0), json!(2.0), json!(3), json!(1.00001)] {
        assert!(root(out.clone()), "{out}");
    }
    for out in [
        json!(1.1),
        json!(null),
        json!("1"),
        json!({"$float": "nan"}),
        json!(1e200),
        json!({"$opaque": "A"}),
    ] {
        assert!(!root(out.clone()), "{out}");
    }
}

#[test]
fn any_value_is_right_for_are_equivalent_but_none() {
    let any = |out| accepts(EvalplusRule::AnyValue, 0.0, json!([1, 2]), out, json!(true));
    assert!(any(json!(false)) && any(json!(7)));
    assert!(!any(json!(null)) && !any(json!({"$opaque": "A"})));
}

#[test]
fn zero_is_right_for_sum_div() {
    let or_zero = |out| accepts(EvalplusRule::OrZero, 0.0, json!([12]), out, json!(16));
    assert!(or_zero(json!(16)) && or_zero(json!(0)) && or_zero(json!(false)));
    assert!(!or_zero(json!(1)) && !or_zero(json!(null)));
}

#[test]
fn surfaces_are_those_of_either_height() {
    // Base 3, height 4: 9 + 2 * 3 * sqrt(1.5^2 + 4^2) = 34.6.
    let surface = |out| {
        accepts(
            EvalplusRule::PyramidSurface,
            0.0,
            json!([3, 4]),
            out,
            json!(33),
        )
    };
    assert!(surface(json!(33)) && surface(json!(35)) && surface(json!(35.0)));
    assert!(!surface(json!(34)) && !surface(json!(34.6)) && !surface(json!("35")));
}

#[test]
fn digit_distances_pad_the_shorter_number() {
    // Against every pair of short numbers, by another way to count.
    let naive = |mut a: u64, mut b: u64| {
        let mut sum = 0;
        while a + b > 0 {
            sum += (a % 10).abs_diff(b % 10);
            (a, b) = (a / 10, b / 10);
        }
        sum
    };
    for (a, b) in (0..120).flat_map(|a| (0..120).map(move |b| (a, b))) {
        let args = [Datum::Int(a.into()), Datum::Int(b.into())];
        assert_eq!(digit_distance(&args), Some(naive(a, b)), "{a} {b}");
    }
    let out = |out, args| accepts(EvalplusRule::DigitDistance, 0.0, args, out, json!(-1));
    assert!(out(json!(6), json!([123, 256])) == (naive(123, 256) == 6));
    assert!(!out(json!(6), json!([-1, 2])) && out(json!(-1), json!([-1, 2])));
}

#[test]
fn elements_are_compared_as_sets() {
    let same = |out, expected| accepts(EvalplusRule::SameElements, 0.0, json!([]), out, expected);
    let expected = || json!({"$tuple": [1, 2]});
    for out in [
        json!([2, 1]),
        json!({"$tuple": [2, 1, 1]}),
        json!({"$set": [1, 2]}),
        json!({"$dict": [[1, "a"], [2, "b"]]}),
    ] {
        assert!(same(out.clone(), expected()), "{out}");
    }
    for out in [
        json!([1]),
        json!([[1], [2]]),
        json!(null),
        json!(12),
        json!({"$opaque": "A"}),
    ] {
        assert!(!same(out.clone(), expected()), "{out}");
    }
    assert!(same(json!("ab"), json!(["b", "a"])));
}

#[test]
fn a_result_is_whatever_is_not_none() {
    let has = |out, expected| accepts(EvalplusRule::NotNone, 0.0, json!(["x"]), out, expected);
    let found = || json!({"$opaque": "Match", "truth": true});
    for (out, expected, right) in [
        (json!(true), found(), true),
        (json!(false), found(), false),
        (json!("x"), found(), true),
        (found(), found(), true),
        (json!(null), found(), false),
        (json!({"$opaque": "Always"}), found(), false),
        (json!(false), json!(null), true),
        (json!(null), json!(null), true),
        (found(), json!(null), false),
    ] {
        assert_eq!(
            has(out.clone(), expected.clone()),
            right,
            "{out} for {expected}"
        );
    }
}
