use serde_json::{Value, json};

use super::*;

/// The arguments of a task, as tagged JSON.
fn read(task: u32, args: Value) -> Result<Value, String> {
    let args = args.as_array().unwrap().iter();
    let args = args.map(|value| Datum::from_json(value).unwrap()).collect();
    mbpp_arguments(task, args).map(|args| args.iter().map(Datum::to_tagged).collect())
}

fn tuple_of(items: Value) -> Value {
    json!({ "$tuple": items })
}

#[test]
fn arguments_become_what_their_task_takes() {
    let t = tuple_of;
    for (task, args, wanted) in [
        (1, json!([[1]]), json!([[1]])),
        (2, json!([[1], [2]]), json!([t(json!([1])), t(json!([2]))])),
        (
            63,
            json!([[[1, 2], [3, 4]]]),
            json!([[t(json!([1, 2])), t(json!([3, 4]))]]),
        ),
        (75, json!([[[1, 2]], 6]), json!([[t(json!([1, 2]))], 6])),
        (106, json!([[1], [2]]), json!([[1], t(json!([2]))])),
        (
            115,
            json!([[[1], [], {}]]),
            json!([[{"$set": [1]}, {}, {}]]),
        ),
        (
            124,
            json!([0, "1j"]),
            json!([0.0, {"$complex": [0.0, 1.0]}]),
        ),
        (250, json!([[1], 2]), json!([t(json!([1])), 2])),
        (252, json!(["(1-2j)"]), json!([{"$complex": [1.0, -2.0]}])),
        (
            259,
            json!([[[1, 3]], [[6, 7]]]),
            json!([t(json!([t(json!([1, 3]))])), t(json!([t(json!([6, 7]))]))]),
        ),
        (
            278,
            json!([[1, [2, 3]]]),
            json!([t(json!([1, t(json!([2, 3]))]))]),
        ),
        (
            307,
            json!([["a", []], 1, 2]),
            json!([t(json!(["a", []])), 1, 2]),
        ),
        (
            580,
            json!([[1, [2, [3]]]]),
            json!([t(json!([1, t(json!([2, t(json!([3]))]))]))]),
        ),
        (
            722,
            json!([{"a": [1, 2]}, 3]),
            json!([{"a": t(json!([1, 2]))}, 3]),
        ),
    ] {
        assert_eq!(read(task, args), Ok(wanted), "{task}");
    }
}

#[test]
fn complex_numbers_are_read_as_python_reads_them() {
    for (text, re, im) in [
        ("1j", 0.0, 1.0),
        ("j", 0.0, 1.0),
        ("-j", 0.0, -1.0),
        ("(3+4j)", 3.0, 4.0),
        ("3.5-2e-3j", 3.5, -0.002),
        ("1e+2+1j", 100.0, 1.0),
        ("7", 7.0, 0.0),
    ] {
        let read = complex(Datum::Text(text.into())).unwrap();
        assert!(
            matches!(read, Datum::Complex(a, b) if a == re && b == im),
            "{text}: {read}"
        );
    }
    assert!(complex(Datum::Text("x".into())).is_err());
}

#[test]
fn misfits_say_what_was_found() {
    assert_eq!(
        read(2, json!([1])).unwrap_err(),
        "an argument is int, not list"
    );
    assert_eq!(read(106, json!([[1]])).unwrap_err(), "it has 1 arguments");
    assert_eq!(
        read(252, json!(["i"])).unwrap_err(),
        "an argument is not a complex number"
    );
}
