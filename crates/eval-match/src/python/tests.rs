//! Python's equality and operators, against a table and against Python itself.

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::{PythonObject, python_equal, sorted, truth};

fn object(tagged: &Value) -> PythonObject {
    PythonObject::from_tagged(tagged).unwrap_or_else(|| panic!("unreadable: {tagged}"))
}

fn equal(a: &Value, b: &Value) -> Option<bool> {
    let (a, b) = (object(a), object(b));
    let known = python_equal(&a, &b).known();
    assert_eq!(
        known,
        python_equal(&b, &a).known(),
        "{a:?} {b:?}: the other way round"
    );
    known
}

fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Hundreds of such in one answer would keep the harness busy for minutes.
#[test]
fn wide_fractions_are_left_to_an_interpreter() {
    let wide = |last: &str| json!({"$int": format!("0x{}{last}", "9b7".repeat(10_000))});
    let fraction = json!({"$fraction": [wide("1"), wide("3")]});
    assert!(PythonObject::from_tagged(&json!({"$set": [fraction]})).is_none());
    assert!(PythonObject::from_tagged(&json!({"$dict": [[fraction, 1]]})).is_none());
    assert_eq!(equal(&fraction, &json!(1)), None);
    let decimal = json!({"$decimal": "7".repeat(15_000) + "E-4000"});
    assert!(PythonObject::from_tagged(&json!({"$set": [decimal]})).is_none());
    assert_eq!(
        equal(
            &json!({"$decimal": "1E-300"}),
            &json!({"$decimal": "10E-301"})
        ),
        None
    );
    assert_eq!(
        equal(
            &json!({"$decimal": "1E-299"}),
            &json!({"$decimal": "10E-300"})
        ),
        Some(true)
    );
}

#[test]
fn what_python_says() {
    let equals = [
        (json!(1), number("1.0")),
        (json!(true), json!(1)),
        (json!(false), number("-0.0")),
        (json!([true]), json!([1])),
        (
            json!({"$complex": [number("2.0"), number("-0.0")]}),
            json!(2),
        ),
        (json!({"$set": [1]}), json!({"$frozenset": [true]})),
        (json!({"$dict_keys": [1, 2]}), json!({"$set": [2, 1]})),
        (
            json!({"$dict": [[1, "a"], [true, "b"]]}),
            json!({"$dict": [[number("1.0"), "b"]]}),
        ),
        (json!({"$counter": [["a", 1]]}), json!({"a": 1})),
        (
            json!({"$odict": [["a", 1], ["b", 2]]}),
            json!({"$dict": [["b", 2], ["a", 1]]}),
        ),
        (
            json!({"$defaultdict": [[1, []]]}),
            json!({"$dict": [[1, []]]}),
        ),
        (json!({"$bytes": "61"}), json!({"$bytearray": "61"})),
        (json!({"$range": [0, 3, 2]}), json!({"$range": [0, 4, 2]})),
        (json!({"$range": [0, 0, 1]}), json!({"$range": [5, 1, 2]})),
        (json!({"$decimal": "1.50"}), json!({"$fraction": [3, 2]})),
        (json!({"$decimal": "1.5"}), number("1.5")),
        (json!({"$decimal": "-Infinity"}), json!({"$float": "-inf"})),
        (json!({"$fraction": [4, 2]}), json!(2)),
        (json!({"$deque": [[1], null]}), json!({"$deque": [[1], 5]})),
        (json!({"$wtf8": "eda080"}), json!({"$wtf8": "eda080"})),
        (
            json!({"$timedelta": [0, 1, 0]}),
            json!({"$timedelta": [0, 1, 0]}),
        ),
        (
            json!({"$date": "2024-01-02"}),
            json!({"$date": "2024-01-02"}),
        ),
        (json!({"$type": "int"}), json!({"$type": "int"})),
    ];
    for (a, b) in &equals {
        assert_eq!(equal(a, b), Some(true), "{a} == {b}");
    }
    let differ = [
        (
            json!({"$int": "0x20000000000001"}),
            number("9007199254740992.0"),
        ),
        (number("0.1"), json!({"$decimal": "0.1"})),
        (number("0.1"), json!({"$fraction": [1, 10]})),
        (json!({"$float": "nan"}), json!({"$float": "nan"})),
        (json!([{"$float": "nan"}]), json!([{"$float": "nan"}])),
        (json!({"$decimal": "NaN"}), json!({"$decimal": "NaN"})),
        (
            json!({"$complex": [number("2.0"), number("1.0")]}),
            json!(2),
        ),
        (json!([1]), json!({"$tuple": [1]})),
        (json!([1]), json!({"$deque": [[1], null]})),
        (json!({"$set": [1]}), json!({"$dict_values": [1]})),
        (json!({"$set": [1]}), json!([1])),
        (
            json!({"$odict": [["a", 1], ["b", 2]]}),
            json!({"$odict": [["b", 2], ["a", 1]]}),
        ),
        (json!({"$iter": [1]}), json!({"$iter": [1]})),
        (json!({"$iter": [1]}), json!([1])),
        (json!("a"), json!({"$bytes": "61"})),
        (json!(null), json!(0)),
        (json!({"$range": [0, 3, 1]}), json!([0, 1, 2])),
        (
            json!({"$date": "2024-01-02"}),
            json!({"$datetime": "2024-01-02T00:00:00"}),
        ),
        (json!([1, {"$opaque": "A"}]), json!([2, 1])),
        (json!([{"$opaque": "A"}]), json!([1, 2])),
        (json!([{"$opaque": "A"}]), json!("a")),
        (json!({"$opaque": "Match", "truth": true}), json!(true)),
    ];
    for (a, b) in &differ {
        assert_eq!(equal(a, b), Some(false), "{a} != {b}");
    }
    let unknown = [
        (json!({"$opaque": "A"}), json!(1)),
        (
            json!({"$opaque": "PurePath", "only_truth": true}),
            json!(true),
        ),
        (json!([1, {"$opaque": "A"}]), json!([1, 1])),
        (
            json!({"a": {"$opaque": "A"}, "b": 1}),
            json!({"a": 1, "b": 2}),
        ),
        (json!({"$counter": [["a", 0]]}), json!({"$counter": []})),
    ];
    for (a, b) in &unknown {
        assert_eq!(equal(a, b), None, "{a} and {b}");
    }
}

#[test]
fn what_the_decoder_might_read_otherwise_is_not_read() {
    for value in [
        json!({"$what": 1}),
        json!({"$tuple": [1], "x": 1}),
        json!({"$tuple": [1], "$set": [1]}),
        json!({"$set": [[1]]}),
        json!({"$dict": [[[1], 2]]}),
        json!({"$dict": [[{"$set": [1]}, 2]]}),
        json!({"$dict": [[1]]}),
        json!({"$set": [{"$opaque": "A"}]}),
        json!({"$float": "1"}),
        json!({"$int": "12"}),
        json!({"$range": [0, 1, 0]}),
        json!({"$range": [0, true, 1]}),
        json!({"$fraction": [1, 0]}),
        json!({"$decimal": "sNaN"}),
        json!({"$decimal": "1e5x"}),
        json!({"$deque": [[1, 2], 1]}),
        json!({"$wtf8": "ff"}),
        json!({"$wtf8": "eda0"}),
        json!({"$date": "2024-W01-1"}),
        json!({"$datetime": "2024-01-02T00:00:00+01:00"}),
        json!({"$timedelta": [0, 86400, 0]}),
        json!({"$dict_items": []}),
        number("1e999"),
        number(&"1".repeat(50)),
    ] {
        assert!(PythonObject::from_tagged(&value).is_none(), "{value}");
    }
    // Three keys make a dict of it, whatever they are called.
    assert!(matches!(
        object(&json!({"$a": 1, "b": 2, "c": 3})),
        PythonObject::Dict { .. }
    ));
}

/// Values of every kind, in tagged form, chosen so that equal ones are common.
fn values() -> impl Strategy<Value = Value> {
    let floats = [
        "0.0",
        "-0.0",
        "1.0",
        "0.5",
        "1.5",
        "9007199254740992.0",
        "1e+300",
        "5e-324",
        "-1.0",
    ];
    let leaves = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        (-3i64..3).prop_map(|i| json!(i)),
        prop::sample::select(floats.to_vec()).prop_map(number),
        prop::sample::select(vec!["nan", "inf", "-inf"]).prop_map(|f| json!({"$float": f})),
        prop::sample::select(vec!["0x20000000000000", "0x20000000000001", "-0x1", "0x1"])
            .prop_map(|i| json!({"$int": i})),
        prop::sample::select(vec!["", "a", "é", "$a"]).prop_map(|s| json!(s)),
        Just(json!({"$wtf8": "eda080"})),
        prop::sample::select(vec!["", "61"]).prop_map(|b| json!({"$bytes": b})),
        prop::sample::select(vec!["", "61"]).prop_map(|b| json!({"$bytearray": b})),
        (-1i64..2, 0u8..2).prop_map(
            |(re, im)| json!({"$complex": [number(&format!("{re}.0")), number(&format!("{im}.0"))]})
        ),
        prop::sample::select(vec![
            "1", "1.0", "0.5", "0E+3", "1E+2", "NaN", "Infinity", "-1", "0.1"
        ])
        .prop_map(|d| json!({"$decimal": d})),
        (-2i64..3, 1i64..4).prop_map(|(n, d)| json!({"$fraction": [n, d]})),
        (0i64..3, 0i64..4, 1i64..3).prop_map(|(a, b, c)| json!({"$range": [a, b, c]})),
        Just(json!({"$ellipsis": true})),
        prop::sample::select(vec!["int", "str"]).prop_map(|t| json!({"$type": t})),
        (0i64..2).prop_map(|s| json!({"$timedelta": [0, s, 0]})),
        Just(json!({"$date": "2024-01-02"})),
        Just(json!({"$datetime": "2024-01-02T00:00:00"})),
    ];
    leaves.prop_recursive(3, 12, 3, |inner| {
        let items = || prop::collection::vec(inner.clone(), 0..3);
        let pairs = || prop::collection::vec((inner.clone(), inner.clone()), 0..3);
        prop_oneof![
            items().prop_map(|v| json!(v)),
            items().prop_map(|v| json!({"$tuple": v})),
            items().prop_map(|v| json!({"$set": v})),
            items().prop_map(|v| json!({"$frozenset": v})),
            items().prop_map(|v| json!({"$deque": [v, null]})),
            items().prop_map(|v| json!({"$dict_keys": v})),
            items().prop_map(|v| json!({"$dict_values": v})),
            items().prop_map(|v| json!({"$iter": v})),
            pairs().prop_map(|v| json!({"$dict": v})),
            pairs().prop_map(|v| json!({"$odict": v})),
            pairs().prop_map(|v| json!({"$counter": v})),
            pairs().prop_map(|v| json!({"$defaultdict": v})),
        ]
    })
}

const ORACLE: &str = r#"
import collections, decimal, fractions, datetime, uuid
def said(f):
    try:
        return f()
    except Exception:
        return 'raises'
for line in sys.stdin:
    a, b = from_json(line)
    try:
        x, y = dec(a), dec(b)
    except Exception:
        print('unreadable')
        continue
    def order():
        return to_json(enc(sorted(x)))
    print(to_json([said(lambda: bool(x == y)), said(lambda: bool(x)), said(lambda: [x < y, x >= y]), said(order)]))
"#;

/// What Python answers to each pair, by the decoder that judges use.
fn ask_python(pairs: &[(Value, Value)]) -> Option<Vec<String>> {
    let source = [
        include_str!("../../../eval-sandbox/src/python/values.py"),
        ORACLE,
    ]
    .concat();
    let mut child = Command::new("python3")
        .args(["-I", "-c", &source])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let lines: String = pairs
        .iter()
        .map(|(a, b)| format!("{}\n", json!([a, b])))
        .collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().ok()?;
    let _ = writer.join();
    Some(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn python_itself_agrees() {
    let mut runner = TestRunner::deterministic();
    let strategy = (values(), values());
    let mut pairs = Vec::new();
    for i in 0..3_000 {
        let (a, b) = strategy.new_tree(&mut runner).unwrap().current();
        // A fair share of pairs that are equal.
        pairs.push(if i % 4 == 0 { (a.clone(), a) } else { (a, b) });
    }
    let Some(said) = ask_python(&pairs) else {
        println!("SKIPPED python_itself_agrees: there is no python3");
        return;
    };
    assert_eq!(said.len(), pairs.len());
    let (mut known, mut readable) = (0, 0);
    for ((a, b), said) in pairs.iter().zip(&said) {
        let read = PythonObject::from_tagged(a).zip(PythonObject::from_tagged(b));
        if said == "unreadable" {
            assert!(read.is_none(), "{a} or {b} is refused by the decoder");
            continue;
        }
        let (x, y) = read.unwrap_or_else(|| panic!("{a} or {b} is not read"));
        readable += 1;
        let said: Value = serde_json::from_str(said).unwrap();
        let place = format!("{a} and {b}: {said}");
        if let Some(equal) = python_equal(&x, &y).known() {
            assert_eq!(json!(equal), said[0], "{place}");
            known += 1;
        }
        if let Some(truth) = truth(&x) {
            assert_eq!(json!(truth), said[1], "{place}");
        }
        if let Some(order) = super::ordered(&x, &y) {
            let less = order.is_some_and(std::cmp::Ordering::is_lt);
            let at_least = order.is_some_and(std::cmp::Ordering::is_ge);
            assert_eq!(json!([less, at_least]), said[2], "{place}");
        }
        if let (Some(ours), Some(theirs)) =
            (sorted(&x), said[3].as_str().filter(|s| *s != "raises"))
        {
            let theirs = object(&serde_json::from_str(theirs).unwrap());
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{place}");
        } else if sorted(&x).is_some() {
            panic!("Python can't sort {place}");
        }
    }
    // Only corners may be left open.
    assert!(
        readable > 2_000 && known * 100 >= readable * 95,
        "{known} of {readable}"
    );
}
