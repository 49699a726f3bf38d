//! Values, their tagged form, their equality and the comparators of function cases.

use insta::assert_snapshot;
use num_bigint::BigInt;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::equality::equals;
use super::{Datum, MAX_DEPTH, TaggedError, compare};
use crate::options::{Comparator, Tolerance};

fn tagged(value: Value) -> Datum {
    Datum::from_tagged(&value).unwrap()
}

fn authored(value: Value) -> Datum {
    Datum::from_json(&value).unwrap()
}

fn text(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn yaml(actual: Value, expected: Value) -> bool {
    equals(&tagged(actual), &authored(expected))
}

fn both_sent(a: Value, b: Value) -> bool {
    equals(&tagged(a), &tagged(b))
}

#[test]
fn authored_numbers_keep_their_kind() {
    assert!(matches!(authored(json!(1)), Datum::Int(_)));
    assert!(matches!(authored(text("1.0")), Datum::Float(_)));
    assert!(matches!(authored(text("1e3")), Datum::Float(f) if f == 1000.0));
    let big = authored(text("265252859812191058636308480000000"));
    assert_snapshot!(big, @"265252859812191058636308480000000");
    assert!(matches!(authored(json!({"$float": "nan"})), Datum::Float(f) if f.is_nan()));
    assert!(matches!(authored(json!({"$set": [1]})), Datum::Dict(_)));
    assert_snapshot!(Datum::from_json(&text("1e999")).unwrap_err(), @"1e+999 is not a number that can be held");
}

#[test]
fn authored_integers_have_any_number_of_digits() {
    // 10^n - 1 in sixteen is known without reading decimals: `nines + 1` has n factors of ten.
    let nines = |n: usize| authored(text(&"9".repeat(n)));
    for n in [4_000, 4_001, 30_000, 100_003] {
        let Datum::Int(int) = nines(n) else {
            panic!("no integer")
        };
        assert_eq!(
            int + 1,
            num_bigint::BigInt::from(10).pow(n as u32),
            "{n} digits"
        );
    }
    let Datum::Int(negative) = authored(text(&format!("-{}", "9".repeat(9_000)))) else {
        panic!("no integer")
    };
    assert_eq!(negative - 1, -num_bigint::BigInt::from(10).pow(9_000));
    // What a candidate sends is bounded: its runner writes such integers in hexadecimal.
    let long = text(&"1".repeat(30_000));
    assert_eq!(
        Datum::from_tagged(&long).unwrap_err(),
        TaggedError::LongInteger { digits: 30_000 }
    );
}

#[test]
fn numbers_are_equal_by_value() {
    assert!(
        yaml(json!(1), text("1.0")) && yaml(text("1.0"), json!(1)) && yaml(text("-0.0"), json!(0))
    );
    assert!(yaml(json!({"$float": "nan"}), json!({"$float": "nan"})));
    assert!(
        !yaml(json!(true), json!(1))
            && !yaml(json!(1), json!(true))
            && !yaml(json!(0), json!(false))
    );
    assert!(!yaml(json!("1"), json!(1)) && !yaml(json!(null), json!(0)));
    // 2^53 + 1 is no double; 1e23 is the double 99999999999999991611392.
    assert!(!yaml(
        json!({"$int": "0x20000000000001"}),
        text("9007199254740992.0")
    ));
    assert!(!yaml(text("1e23"), text("100000000000000000000000")));
    assert!(yaml(text("1e23"), text("99999999999999991611392")));
    assert!(both_sent(
        json!({"$complex": [text("2.0"), text("0.0")]}),
        json!(2)
    ));
    assert!(!both_sent(
        json!({"$complex": [text("2.0"), text("1.0")]}),
        json!(2)
    ));
}

#[test]
fn containers() {
    assert!(yaml(json!({"$tuple": [1, 2]}), json!([1, 2])));
    assert!(!yaml(json!({"$set": [1, 2]}), json!([1, 2])));
    assert!(both_sent(
        json!({"$set": [1, 2]}),
        json!({"$set": [2, 1, 1]})
    ));
    assert!(yaml(
        json!({"a": 1, "b": [2]}),
        json!({"b": [text("2.0")], "a": 1})
    ));
    assert!(!yaml(json!({"a": 1}), json!({"a": 1, "b": 2})));
    assert!(yaml(
        json!({"$dict": [[1, "a"], [true, "b"], [null, "c"], [text("1.5"), "d"]]}),
        json!({"1": "a", "true": "b", "null": "c", "1.5": "d"})
    ));
    assert!(!yaml(
        json!({"$dict": [[1, "a"], ["1", "a"]]}),
        json!({"1": "a"})
    ));
    assert!(both_sent(
        json!({"$range": [0, 3, 2]}),
        json!({"$range": [0, 4, 2]})
    ));
    assert!(both_sent(
        json!({"$range": [0, 0, 1]}),
        json!({"$range": [5, 1, 2]})
    ));
    assert!(!both_sent(json!({"$range": [0, 3, 1]}), json!([0, 1, 2])));
    assert!(!yaml(json!({"$bytes": "6162"}), json!("ab")));
}

#[test]
fn an_opaque_value_equals_nothing() {
    let opaque = json!({"$opaque": "Liar", "repr": "120"});
    let liar = tagged(opaque.clone());
    assert!(!equals(&liar, &liar));
    let inside = tagged(json!([1, {"a": opaque.clone()}]));
    assert!(!equals(&inside, &inside));
    let verdict = |comparator| {
        compare(
            comparator,
            &tagged(opaque.clone()),
            &authored(json!(120)),
            None,
        )
        .unwrap()
    };
    assert_snapshot!(verdict(Comparator::Equals).reason, @"expected 120, got 120 (a Liar object equals no plain value)");
    assert_snapshot!(verdict(Comparator::NotEquals).reason, @"returned a Liar object, of which it can't be known what it equals");
    for comparator in [Comparator::Approx, Comparator::Contains, Comparator::Regex] {
        let expected = if comparator == Comparator::Regex {
            json!(".*")
        } else {
            json!(120)
        };
        assert!(
            !compare(
                comparator,
                &tagged(opaque.clone()),
                &authored(expected),
                None
            )
            .unwrap()
            .matched
        );
    }
}

#[test]
fn malformed_tags_are_errors() {
    let why = |value: Value| Datum::from_tagged(&value).unwrap_err().to_string();
    assert_snapshot!(why(json!({"$int": "12"})), @r#"malformed $int: "12""#);
    assert_snapshot!(why(json!({"$int": "0x"})), @r#"malformed $int: "0x""#);
    assert_snapshot!(why(json!({"$int": "0x-1"})), @r#"malformed $int: "0x-1""#);
    assert_snapshot!(why(json!({"$float": "1"})), @r#"malformed $float: "1""#);
    assert_snapshot!(why(json!({"$bytes": "abc"})), @r#"malformed $bytes: "abc""#);
    assert_snapshot!(why(json!({"$dict": [[1]]})), @"malformed $dict: [[1]]");
    assert_snapshot!(why(json!({"$range": [0, 1, 0]})), @"malformed $range: [0,1,0]");
    assert_snapshot!(why(json!({"$tuple": [], "x": 1})), @"malformed tag: 2 keys");
    assert_snapshot!(why(json!({"$eval": "1"})), @r#"unknown tag "$eval""#);
    assert_snapshot!(why(text("1e999")), @"1e+999 is not a number that can be held");
}

#[test]
fn hostile_nesting_is_an_error() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    assert!(
        Datum::from_tagged(&nested(MAX_DEPTH)).is_ok()
            && Datum::from_json(&nested(MAX_DEPTH)).is_ok()
    );
    assert_eq!(
        Datum::from_tagged(&nested(MAX_DEPTH + 1)).unwrap_err(),
        TaggedError::TooDeep
    );
    assert_eq!(
        Datum::from_json(&nested(MAX_DEPTH + 1)).unwrap_err(),
        TaggedError::TooDeep
    );
    let tuples = (0..=MAX_DEPTH).fold(json!(1), |inner, _| json!({"$tuple": [inner]}));
    assert_snapshot!(Datum::from_tagged(&tuples).unwrap_err(), @"values are nested more than 100 deep");
}

#[test]
fn is_shown_as_python_would() {
    let all = json!([null, true, 1, text("1.0"), "it's\n", {"$tuple": [1]}, {"$tuple": []}, {"$set": []}, {"$set": [1]},
        {"a": {"$bytes": "00ff61"}}, {"$float": "-inf"}, {"$range": [0, 3, 1]}]);
    assert_snapshot!(tagged(all), @r#"[None, True, 1, 1.0, "it's\n", (1,), (), set(), {1}, {'a': b'\x00\xffa'}, -inf, range(0, 3, 1)]"#);
    let long = tagged(json!(vec![7; 1000])).to_string();
    assert_eq!(long.chars().count(), 201);
    assert!(long.ends_with('…'));
    let huge = Datum::Int(BigInt::from(1) << 1_000_000u32);
    assert_snapshot!(huge, @"<int of 1000001 bits>");
    assert_snapshot!(huge.to_json(), @r#""<int of 1000001 bits>""#);
    assert_snapshot!(tagged(json!({"$dict": [[1, 2]]})).to_json(), @r#""{1: 2}""#);
    assert_snapshot!(tagged(json!({"$tuple": [1, {"$wtf8": "eda080"}]})), @r"(1, '���')");
}

#[test]
fn equals_tells_where_and_why() {
    let why = |actual: Value, expected: Value| {
        compare(
            Comparator::Equals,
            &tagged(actual),
            &authored(expected),
            None,
        )
        .unwrap()
        .reason
    };
    assert_snapshot!(why(json!(5), json!(6)), @"expected 6, got 5");
    assert_snapshot!(why(json!(true), json!(1)), @"expected 1, got True (a bool where a int is expected)");
    assert_snapshot!(why(json!([1, {"a": [2, "3"]}]), json!([1, {"a": [2, 3]}])), @"at [1]['a'][1]: expected 3, got '3' (a str where a int is expected)");
    assert_snapshot!(why(json!([1, 2]), json!([1, 2, 3])), @"at [2]: 3 is missing");
    assert_snapshot!(why(json!({"a": 1, "b": 2}), json!({"a": 1})), @"at ['b']: 2 is one too many");
    assert_snapshot!(why(json!({"$set": [1]}), json!([1])), @"expected [1], got {1} (a set has no order: `comparator: unordered` compares it with a list)");
}

#[test]
fn the_other_comparators() {
    let run = |comparator, actual: Value, expected: Value| {
        compare(comparator, &tagged(actual), &authored(expected), None).map(|c| c.matched)
    };
    use Comparator::{Approx, Contains, NotEquals, Regex, Unordered};
    assert_eq!(run(NotEquals, json!(1), json!(2)), Ok(true));
    assert_eq!(run(NotEquals, json!(1), text("1.0")), Ok(false));

    assert_eq!(
        run(
            Approx,
            json!([text("0.30000000000000004"), {"a": 1}]),
            json!([text("0.3"), {"a": text("1.0000000001")}])
        ),
        Ok(true)
    );
    assert_eq!(
        run(Approx, json!([text("0.31")]), json!([text("0.3")])),
        Ok(false)
    );
    assert_eq!(run(Approx, json!(true), json!(1)), Ok(false));
    assert_eq!(run(Approx, json!([1]), json!([1, 2])), Ok(false));
    assert_eq!(run(Approx, json!({"$float": "inf"}), json!(1)), Ok(false));
    assert_eq!(
        run(
            Approx,
            json!({"$dict": [[1, text("0.1")], [2, "x"]]}),
            json!({"1": text("0.1"), "2": "x"})
        ),
        Ok(true)
    );
    let wide = Tolerance {
        absolute: Some(0.5),
        ..Tolerance::default()
    };
    assert!(
        compare(
            Approx,
            &tagged(json!({"$tuple": [1, 2]})),
            &authored(json!([text("1.5"), 2])),
            Some(&wide)
        )
        .unwrap()
        .matched
    );

    assert_eq!(run(Contains, json!("hello"), json!("ell")), Ok(true));
    assert_eq!(run(Contains, json!([1, 2]), text("2.0")), Ok(true));
    assert_eq!(run(Contains, json!([1, 2]), json!([1, 2])), Ok(false));
    assert_eq!(run(Contains, json!({"$set": [1]}), json!(true)), Ok(false));
    assert_eq!(
        run(Contains, json!({"a": 1, "b": 2}), json!({"a": 1})),
        Ok(true)
    );
    assert_eq!(run(Contains, json!({"a": 1}), json!({"a": 2})), Ok(false));
    assert_eq!(run(Contains, json!({"a": 1}), json!("a")), Ok(true));
    assert_eq!(
        run(Contains, json!({"$range": [10, 0, -3]}), json!(4)),
        Ok(true)
    );
    assert_eq!(
        run(Contains, json!({"$range": [10, 0, -3]}), json!(13)),
        Ok(false)
    );
    assert_eq!(
        run(Contains, json!({"$range": [0, 10, 3]}), json!(10)),
        Ok(false)
    );
    assert_eq!(run(Contains, json!(12), json!(1)), Ok(false));

    assert_eq!(run(Regex, json!("abc\n"), json!("c$")), Ok(true));
    assert_eq!(run(Regex, json!(5), json!("5")), Ok(false));
    assert!(
        run(Regex, json!("x"), json!(5)).is_err() && run(Regex, json!("x"), json!("(")).is_err()
    );

    assert_eq!(
        run(Unordered, json!([3, 1, text("1.0")]), json!([1, 1, 3])),
        Ok(true)
    );
    assert_eq!(
        run(Unordered, json!([3, 1, 3]), json!([1, 1, 3])),
        Ok(false)
    );
    assert_eq!(run(Unordered, json!([1, 1]), json!([1])), Ok(false));
    assert_eq!(
        run(Unordered, json!({"$set": [2, 1]}), json!([1, 2])),
        Ok(true)
    );
    assert_eq!(
        run(Unordered, json!({"$set": [2, 1]}), json!([1, 2, 2])),
        Ok(false)
    );
    assert_eq!(run(Unordered, json!([[1, 2]]), json!([[2, 1]])), Ok(false));
    assert!(run(Unordered, json!([1]), json!(1)).is_err());
}

/// What the candidate's runner says of the standard library's types (`sandbox/python/values.py`).
#[test]
fn containers_and_numbers_of_the_standard_library_compare_as_what_they_are() {
    for (returned, expected) in [
        (
            json!({"$counter": [["a", 2], ["b", 1]]}),
            json!({"a": 2, "b": 1}),
        ),
        (json!({"$defaultdict": [["a", [1]]]}), json!({"a": [1]})),
        (json!({"$odict": [[1, "x"]]}), json!({"1": "x"})),
        (json!({"$deque": [[1, 2], 5]}), json!([1, 2])),
        (json!({"$decimal": "1.50"}), json!(1.5)),
        (json!({"$decimal": "1E+2"}), json!(100)),
        (json!({"$decimal": "0.1"}), json!(0.1)),
        (json!({"$fraction": [3, 1]}), json!(3)),
        (json!({"$fraction": [-1, 4]}), json!(-0.25)),
    ] {
        assert!(yaml(returned.clone(), expected), "{returned}");
    }
    assert!(both_sent(
        json!({"$frozenset": [1, 2]}),
        json!({"$set": [2, 1]})
    ));
    assert!(both_sent(
        json!({"$dict_keys": [1, 2]}),
        json!({"$set": [2, 1]})
    ));
    assert!(both_sent(
        json!({"$bytearray": "00ff"}),
        json!({"$bytes": "00ff"})
    ));
    for (returned, expected) in [
        (json!({"$decimal": "0.10000000000000000000001"}), json!(0.1)),
        (json!({"$fraction": [1, 3]}), json!(1.0 / 3.0)),
        (json!({"$iter": [1, 2]}), json!([1, 2])),
        (json!({"$dict_values": [1, 2]}), json!([1, 2])),
        (json!({"$type": "int"}), json!("int")),
    ] {
        assert!(!yaml(returned.clone(), expected), "{returned}");
    }
    for nonsense in [
        json!({"$deque": [1]}),
        json!({"$fraction": [1, 0]}),
        json!({"$decimal": 1}),
        json!({"$counter": 1}),
    ] {
        assert!(Datum::from_tagged(&nonsense).is_err(), "{nonsense}");
    }
}

fn any_datum() -> impl Strategy<Value = Datum> {
    let leaf = prop_oneof![
        Just(Datum::None),
        any::<bool>().prop_map(Datum::Bool),
        (-2i64..3).prop_map(|i| Datum::Int(i.into())),
        any::<i128>().prop_map(|i| Datum::Int(i.into())),
        (-4i32..5).prop_map(|i| Datum::Float(f64::from(i) / 2.0)),
        any::<f64>().prop_map(Datum::Float),
        "[$a-c]{0,3}".prop_map(Datum::Text),
        Just(Datum::WtfText(vec![0xed, 0xa0, 0x80])),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(Datum::Bytes),
        (-2i32..3, -1i32..2).prop_map(|(a, b)| Datum::Complex(a.into(), b.into())),
        (-3i64..4, -3i64..4, 1i64..3).prop_map(|(a, b, c)| Datum::Range {
            start: a.into(),
            stop: b.into(),
            step: c.into()
        }),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let many = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            many.clone().prop_map(Datum::List),
            many.clone().prop_map(Datum::Tuple),
            many.prop_map(Datum::Set),
            prop::collection::vec((inner.clone(), inner), 0..3).prop_map(Datum::Dict),
        ]
    })
}

/// Equality spelled out the long way, element by element.
fn naive(a: &Datum, b: &Datum) -> bool {
    let subset = |x: &[Datum], y: &[Datum]| x.iter().all(|i| y.iter().any(|j| naive(i, j)));
    match (a, b) {
        (Datum::None, Datum::None) => true,
        (Datum::Text(a), Datum::Text(b)) => a == b,
        (Datum::WtfText(a), Datum::WtfText(b)) | (Datum::Bytes(a), Datum::Bytes(b)) => a == b,
        (Datum::Bool(a), Datum::Bool(b)) => a == b,
        (Datum::List(a) | Datum::Tuple(a), Datum::List(b) | Datum::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| naive(a, b))
        }
        (Datum::Set(a), Datum::Set(b)) => subset(a, b) && subset(b, a),
        (Datum::Range { .. }, Datum::Range { .. }) => listed(a) == listed(b),
        _ => match (real(a), real(b)) {
            (Some((x, None)), Some((y, None))) => x == y,
            (Some((_, Some(x))), Some((_, Some(y)))) => x == y || x.is_nan() && y.is_nan(),
            _ => match (a, b) {
                (Datum::Complex(a, b), Datum::Complex(c, d)) => a == c && b == d,
                _ => false,
            },
        },
    }
}

/// A number as an integer, or as a float that is none.
fn real(datum: &Datum) -> Option<(BigInt, Option<f64>)> {
    let float = |f: f64| match super::equality::whole(f) {
        Some(int) => (int, None),
        None => (BigInt::ZERO, Some(f)),
    };
    match datum {
        Datum::Int(i) => Some((i.clone(), None)),
        Datum::Float(f) => Some(float(*f)),
        Datum::Complex(re, 0.0) => Some(float(*re)),
        _ => None,
    }
}

fn listed(range: &Datum) -> Vec<BigInt> {
    let Datum::Range { start, stop, step } = range else {
        return Vec::new();
    };
    std::iter::successors(Some(start.clone()), |i| Some(i + step))
        .take_while(|i| i < stop)
        .collect()
}

fn has_dict(datum: &Datum) -> bool {
    format!("{datum:?}").contains("Dict")
}

proptest! {
    #[test]
    fn tagged_json_round_trips(datum in any_datum()) {
        let there = datum.to_tagged();
        let wire: Value = serde_json::from_str(&there.to_string()).unwrap();
        prop_assert_eq!(format!("{:?}", Datum::from_tagged(&wire).unwrap()), format!("{:?}", datum));
    }

    #[test]
    fn equality_is_reflexive(datum in any_datum()) {
        prop_assert!(equals(&datum, &datum));
        let verdict = compare(Comparator::Equals, &datum, &datum, None).unwrap();
        prop_assert!(verdict.matched && verdict.reason.is_empty());
        prop_assert!(!compare(Comparator::NotEquals, &datum, &datum, None).unwrap().matched);
    }

    #[test]
    fn equality_agrees_with_the_long_way(a in any_datum(), b in any_datum()) {
        prop_assume!(!has_dict(&a) && !has_dict(&b));
        prop_assert_eq!(equals(&a, &b), naive(&a, &b));
    }

    #[test]
    fn what_differs_has_a_reason(a in any_datum(), b in any_datum()) {
        let verdict = compare(Comparator::Equals, &a, &b, None).unwrap();
        prop_assert_eq!(verdict.matched, equals(&a, &b));
        prop_assert_eq!(verdict.matched, equals(&b, &a));
        prop_assert_eq!(verdict.matched, verdict.reason.is_empty());
    }

    /// Floats against integers, with the integer's exact value as oracle.
    #[test]
    fn whole_floats_are_their_integers(mantissa in -(1i64 << 53)..(1i64 << 53), shift in 0u32..60) {
        let float = mantissa as f64 * 2f64.powi(shift as i32);
        let exact = BigInt::from(mantissa) << shift;
        prop_assert!(equals(&Datum::Float(float), &Datum::Int(exact.clone())));
        prop_assert!(!equals(&Datum::Float(float), &Datum::Int(exact + 1)));
    }
}

#[test]
fn wide_integers_are_shown_by_their_width_wherever_they_are() {
    let wide = || BigInt::from(1u8) << 28_000_000u64;
    let range = |start: BigInt, stop: BigInt, step: BigInt| Datum::Range { start, stop, step };
    let one = || BigInt::from(1u8);
    assert_snapshot!(range(BigInt::ZERO, wide(), one()), @"range(0, <int of 28000001 bits>, 1)");
    assert_snapshot!(range(-wide(), one(), wide()), @"range(<int of 28000001 bits>, 1, <int of 28000001 bits>)");
    assert_snapshot!(Datum::List(vec![range(one(), one(), -wide())]), @"[range(1, 1, <int of 28000001 bits>)]");
    assert_snapshot!(Datum::Dict(vec![(Datum::Int(wide()), Datum::Tuple(vec![Datum::Int(-wide())]))]), @"{<int of 28000001 bits>: (<int of 28000001 bits>,)}");
    assert_eq!(
        range(BigInt::ZERO, wide(), one()).to_json(),
        json!("range(0, <int of 28000001 bits>, 1)")
    );
}

#[test]
fn wide_ranges_are_refused_where_they_are_read() {
    let hex = |digits: usize| json!({"$int": format!("0x{}", "f".repeat(digits))});
    for parts in [
        json!([0, hex(4_700_000), hex(2_300_000)]),
        json!([hex(5_001), 1, 1]),
        json!([0, 1, hex(5_001)]),
        json!([0, {"$int": format!("-0x{}", "f".repeat(5_001))}, 1]),
    ] {
        let range = json!({"$range": parts});
        assert_eq!(
            Datum::from_tagged(&range).unwrap_err(),
            TaggedError::WideRange
        );
        assert!(crate::python::PythonObject::from_tagged(&range).is_none());
    }
    assert_snapshot!(TaggedError::WideRange, @"the parts of a range are wider than 20000 bits");
    assert!(Datum::from_tagged(&json!({"$range": [0, hex(5_000), 3]})).is_ok());
}

#[test]
fn decimals_are_not_written_out_beyond_their_text() {
    let read = |text: &str| Datum::from_tagged(&json!({"$decimal": text})).unwrap();
    for (text, shown) in [
        ("1E+3", "1000"),
        ("2.50", "2.5"),
        ("0E-19", "0"),
        ("1E+19999", "1E+19999"),
        ("1E-19999", "1E-19999"),
        ("1E+999999999999999", "1E+999999999999999"),
    ] {
        assert_eq!(read(text).to_string(), shown);
    }
    // Written out they would be gigabytes.
    let many = json!(vec![json!({"$decimal": "1E+19999"}); 300_000]);
    let Ok(Datum::List(items)) = Datum::from_tagged(&many) else {
        panic!("no list")
    };
    assert!(
        items
            .iter()
            .all(|item| matches!(item, Datum::Opaque { .. }))
    );
    assert!(read(&"1".repeat(3_000_000)).to_string().starts_with("111"));
    let fraction =
        json!({"$fraction": [{"$int": format!("0x{}", "f".repeat(3_500_000))}, {"$int": "0x3"}]});
    assert_snapshot!(Datum::from_tagged(&fraction).unwrap(), @"Fraction(<int of 14000000 bits>, 3)");
}

#[test]
fn tiny_numbers_among_many_are_known_by_their_magnitude() {
    use crate::decimal::DecimalNumber;
    let n = |text: &str| DecimalNumber::parse(text).unwrap();
    for _ in 0..200_000 {
        assert!(!n("1e-19999").same(&n("2e-19999")));
    }
    assert!(
        n("1.50").same(&n("1.5")) && n("0.0").same(&n("0e-19999")) && !n("0.5").same(&n("0.25"))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Values that take minutes to be written out in decimals.
    #[test]
    fn any_wide_value_is_shown_in_few_characters(bits in 1_000_000u64..40_000_000, negative: bool, nested in 0..8usize) {
        let int = BigInt::from(1u8) << bits;
        let int = if negative { -int } else { int };
        let parts = (BigInt::ZERO, int.clone(), BigInt::from(1u8));
        let range = Datum::Range { start: parts.0, stop: parts.1, step: parts.2 };
        let wrapped = |inner: Datum| (0..nested).fold(inner, |inner, _| Datum::List(vec![inner]));
        let shown = wrapped(range).to_string();
        prop_assert!(shown.contains(&format!("range(0, <int of {} bits>, 1)", bits + 1)), "{}", shown);
        let shown = wrapped(Datum::Int(int)).to_string();
        prop_assert_eq!(shown.trim_matches(['[', ']']), format!("<int of {} bits>", bits + 1));
    }
}
