use std::collections::BTreeMap;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::options::Tolerance;

fn lenient(expected: Value) -> StructuralOptions {
    StructuralOptions {
        expected,
        allow_additional_fields: true,
        allow_field_reordering: true,
        ignore_fields: Vec::new(),
        ignore_values: Vec::new(),
        require_keys: Vec::new(),
        tolerance: BTreeMap::new(),
        likeness: None,
    }
}

fn strict(expected: Value) -> StructuralOptions {
    StructuralOptions {
        allow_additional_fields: false,
        allow_field_reordering: false,
        ..lenient(expected)
    }
}

fn paths(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// All that a person would read of a result.
fn told(structural: &StructuralOptions, actual: Value) -> String {
    let result = compare(structural, &actual);
    assert_eq!(result.matched, result.differences.is_empty());
    assert_eq!(result.matched, result.score == 1.0, "{}", result.score);
    let differences = result
        .differences
        .iter()
        .map(|d| format!("{}: {d}", d.kind.name()));
    let warnings = result.warnings.iter().map(|w| format!("warning: {w}"));
    let lines: Vec<String> = differences.chain(warnings).collect();
    if lines.is_empty() {
        "matches".to_owned()
    } else {
        lines.join("\n")
    }
}

const ID: &str = "123e4567-e89b-12d3-a456-426614174000";

fn seed_user(id: Value) -> Value {
    json!({"id": id, "name": "Ann", "email": "ann@x.example", "created_at": "2024-01-15T10:30:00Z"})
}

/// Example 1 of the seeds' regression evals.
fn seed_users() -> StructuralOptions {
    let expected = json!({
        "status": 200,
        "body": {
            "users": [{"id": "{{any_uuid}}", "name": "{{any_string}}", "email": "{{any_email}}", "created_at": "{{any_iso_datetime}}"}],
            "pagination": {"page": 1, "per_page": 20, "total": "{{any_number}}"},
        },
    });
    StructuralOptions {
        ignore_fields: paths(&["users.*.id", "users.*.created_at", "pagination.total"]),
        ..lenient(expected)
    }
}

#[test]
fn the_seeds_users_endpoint() {
    let answer = |users: Value| json!({"status": 200, "headers": {}, "body": {"users": users, "pagination": {"page": 1, "per_page": 20}}});
    let good = answer(json!([
        seed_user(json!("not a uuid, but ignored")),
        seed_user(json!(ID))
    ]));
    assert_snapshot!(told(&seed_users(), good), @"matches");
    let bad = answer(json!([seed_user(json!(ID)), {"name": 7, "email": "nobody"}]));
    assert_snapshot!(told(&seed_users(), bad), @r#"
    matcher: body.users[1].email: expected an e-mail address ({{any_email}}), got "nobody"
    matcher: body.users[1].name: expected a string ({{any_string}}), got 7
    "#);
    assert_snapshot!(told(&seed_users(), answer(json!([]))), @r#"missing: body.users[0] is missing (expected {"created_at":"{{any_iso_datetime}}","email":"{{any_email}}","id":"{{any_uuid}}","name":"{{any_string}}"})"#);
    assert_snapshot!(told(&seed_users(), json!({"status": 500, "body": "oops"})), @r#"
    type: body: expected object {"pagination":{"page":1,"per_page":20,"total":"{{any_number}}"},"users":[{"created_at":"{{any_iso_datetime}}","email":"{{any_email}}","id":"{{any_uuid}}","name":"{{any_string}}"}]}, got "oops"
    value: status: expected 200, got 500
    "#);
}

/// The seeds' JSON regression: a captured empty list whose content is ignored, and a value that the
/// baseline lacks.
#[test]
fn the_seeds_json_regression() {
    let expected = json!({"status": 200, "headers": {"content-type": "application/json"},
        "body": {"data": [], "meta": {"page": 1, "per_page": 20}}});
    let structural = StructuralOptions {
        ignore_values: paths(&["data.*", "meta.total"]),
        require_keys: paths(&["data", "meta.page", "meta.per_page"]),
        ..lenient(expected)
    };
    let answer = |data: Value, meta: Value| json!({"status": 200, "headers": {"Content-Type": "application/json", "date": "x"}, "body": {"data": data, "meta": meta}});
    let meta = json!({"page": 1, "per_page": 20, "total": 9});
    assert_snapshot!(told(&structural, answer(json!([]), meta.clone())), @"matches");
    assert_snapshot!(told(&structural, answer(json!([{"id": 1}, 2]), meta.clone())), @"matches");
    assert_snapshot!(told(&structural, answer(json!([]), json!({"page": 1, "total": null}))), @"missing: body.meta.per_page is missing (expected a required key)");
    assert_snapshot!(told(&structural, answer(json!([]), json!({"page": 1, "per_page": 20}))), @"missing: body.meta.total is missing (expected any value)");
    assert_snapshot!(told(&structural, json!({"status": 200, "headers": {"content-type": "application/json"}, "body": {"meta": meta}})), @"
    missing: body.data is missing (expected any value)
    ");
    assert_snapshot!(told(&structural, answer(json!("none"), meta)), @r#"
    missing: body.data.* is missing (expected any value)
    type: body.data: expected array [], got "none"
    "#);
    // Strict: a value that may hold anything is no surprise when the baseline lacks it.
    let strict = StructuralOptions {
        allow_additional_fields: false,
        ..structural
    };
    let exact = json!({"status": 200, "headers": {"content-type": "application/json"}, "body": {"data": [1], "meta": {"page": 1, "per_page": 20, "total": 9}}});
    assert_snapshot!(told(&strict, exact), @"matches");
}

#[test]
fn ignored_fields_may_be_absent_and_ignored_values_not() {
    let fields = StructuralOptions {
        ignore_fields: paths(&["a.b"]),
        ..strict(json!({"a": {"b": 1, "c": 2}}))
    };
    assert_snapshot!(told(&fields, json!({"a": {"c": 2}})), @"matches");
    assert_snapshot!(told(&fields, json!({"a": {"b": [3], "c": 2}})), @"matches");
    let values = StructuralOptions {
        ignore_fields: Vec::new(),
        ignore_values: paths(&["a.b"]),
        ..fields
    };
    assert_snapshot!(told(&values, json!({"a": {"b": [3], "c": 2}})), @"matches");
    assert_snapshot!(told(&values, json!({"a": {"c": 2}})), @"missing: a.b is missing (expected any value)");
}

#[test]
fn a_path_that_leads_nowhere_is_a_warning() {
    let structural = StructuralOptions {
        ignore_fields: paths(&["usres.*.id"]),
        tolerance: BTreeMap::from([("scroe".to_owned(), Tolerance::default())]),
        ..lenient(json!({"status": 200, "body": {"users": [{"id": 1}]}}))
    };
    let same = structural.expected.clone();
    assert_snapshot!(told(&structural, same), @"
    warning: ignore_fields: usres.*.id matches nothing
    warning: tolerance: scroe matches nothing
    ");
    // `status` isn't in the body, so the whole output is meant; `body.users` works from the top as
    // well.
    let whole = StructuralOptions {
        ignore_fields: paths(&["status", "body.users.*.id"]),
        tolerance: BTreeMap::new(),
        ..structural
    };
    assert_snapshot!(told(&whole, json!({"status": 404, "body": {"users": [{"id": 2}]}})), @"matches");
}

#[test]
fn strict_forbids_additional_fields_and_reordering() {
    let expected = json!({"a": [1, 2, 3], "b": {"x": null}});
    let moved = json!({"b": {"x": null, "y": 0}, "a": [3, 1, 2]});
    assert_snapshot!(told(&lenient(expected.clone()), moved.clone()), @"matches");
    assert_snapshot!(told(&strict(expected), moved), @"
    order: a: expected the order [1,2,3], got [3,1,2]
    unexpected: b.y is not expected (got 0)
    ");
}

#[test]
fn arrays_are_of_equal_length_whatever_the_order() {
    let expected = lenient(json!({"a": [1, 2, 2]}));
    assert_snapshot!(told(&expected, json!({"a": [2, 2, 1]})), @"matches");
    assert_snapshot!(told(&expected, json!({"a": [2, 1, 1]})), @"value: a[2]: expected 2, got 1");
    assert_snapshot!(told(&expected, json!({"a": [2, 1]})), @"missing: a[2] is missing (expected 2)");
    assert_snapshot!(told(&expected, json!({"a": [2, 1, 2, 9]})), @"unexpected: a[3] is not expected (got 9)");
    assert_snapshot!(told(&lenient(json!([])), json!([1])), @"unexpected: [0] is not expected (got 1)");
    assert_snapshot!(told(&lenient(json!([])), json!([])), @"matches");
}

#[test]
fn any_order_finds_the_one_pairing_that_works() {
    // The matcher fits both; only by leaving "a" to the text does everything fit.
    let expected = lenient(json!(["{{any_string}}", "a", 1]));
    assert_snapshot!(told(&expected, json!(["a", 1, "b"])), @"matches");
    assert_snapshot!(told(&expected, json!(["b", 1, "c"])), @r#"value: [1]: expected "a", got "c""#);
    let nested = lenient(json!([[1, 2], [1, "{{any_number}}"]]));
    assert_snapshot!(told(&nested, json!([[3, 1], [2, 1]])), @"matches");
    assert!(!compare(&nested, &json!([[3, 1], [3, 1]])).matched);
}

#[test]
fn long_arrays_in_another_order_are_quick() {
    let forward: Vec<Value> = (0..3_000).map(|i| json!({"id": i, "on": true})).collect();
    let mut backward = forward.clone();
    backward.reverse();
    let expected = lenient(Value::Array(forward.clone()));
    assert!(compare(&expected, &Value::Array(backward.clone())).matched);
    // Elements that aren't spelled alike find each other by what counts.
    let floats: Vec<Value> = (0..3_000)
        .rev()
        .map(|i| json!({"id": f64::from(i), "on": true, "more": i}))
        .collect();
    assert!(compare(&expected, &Value::Array(floats)).matched);
    backward[7]["on"] = json!(false);
    assert_snapshot!(told(&expected, Value::Array(backward.clone())), @"value: [2992].on: expected true, got false");
    // Where what changes is ignored, too.
    let ignoring = StructuralOptions {
        ignore_fields: paths(&["*.on"]),
        ..expected.clone()
    };
    for (at, item) in backward.iter_mut().enumerate() {
        item["on"] = json!(at);
    }
    assert!(compare(&ignoring, &Value::Array(backward.clone())).matched);
    backward[8]["id"] = json!(-1);
    assert_snapshot!(told(&ignoring, Value::Array(backward)), @"value: [2991].id: expected 2991, got -1");
    // Equal ones are one class.
    let same = vec![json!({"k": "x"}); 3_000];
    let mut other = same.clone();
    other[1_500] = json!({"k": "y"});
    assert_snapshot!(told(&lenient(json!(same)), json!(other)), @r#"value: [2999].k: expected "x", got "y""#);
}

#[test]
fn a_search_that_would_not_end_is_given_up() {
    let wanted: Vec<Value> = (0..2_500)
        .map(|i| json!(format!("{{{{any_regex('{i}')}}}}")))
        .collect();
    let items: Vec<Value> = (0..2_500).rev().map(|i| json!(i.to_string())).collect();
    let result = compare(
        &lenient(Value::Array(wanted.clone())),
        &Value::Array(items.clone()),
    );
    assert!(!result.matched);
    assert_snapshot!(result.undecided.unwrap(), @"arrays of the output are too large to be compared in every order, so it is not known whether it matches");
    assert_snapshot!(result.warnings[0], @"the arrays are too large to be compared in any order; some were compared in their own");
    // Of different lengths no order fits.
    let longer = compare(
        &lenient(Value::Array(wanted)),
        &Value::Array(items[1..].to_vec()),
    );
    assert!(!longer.matched && longer.undecided.is_none());
}

#[test]
fn one_difference_that_is_certain_decides() {
    let wanted: Vec<Value> = (0..700)
        .map(|i| json!(format!("{{{{any_regex('{i}')}}}}")))
        .collect();
    let items: Vec<Value> = (0..700).rev().map(|i| json!(i.to_string())).collect();
    let expected = lenient(json!({"all": wanted, "n": 1}));
    let told = |n: u8| {
        let result = compare(&expected, &json!({"all": items, "n": n}));
        (result.matched, result.undecided.is_some())
    };
    assert_eq!([told(1), told(2)], [(false, true), (false, false)]);
}

#[test]
fn a_pattern_that_gives_up_leaves_it_open() {
    let expected = strict(json!({"a": "{{any_regex('(a*)*(?!x)b\\1')}}", "n": 1}));
    let hostile = "a".repeat(400);
    let result = compare(&expected, &json!({"a": hostile, "n": 1}));
    assert!(!result.matched);
    assert_snapshot!(result.undecided.unwrap(), @"the pattern needs too much backtracking on this text, so it is not known whether it matches");
    let worse = compare(&expected, &json!({"a": hostile, "n": 2}));
    assert_eq!((worse.matched, worse.undecided), (false, None));
}

#[test]
fn no_output_gives_a_path_another_meaning() {
    let structural = StructuralOptions {
        tolerance: BTreeMap::from([(
            "latency".to_owned(),
            Tolerance {
                absolute: Some(2.0),
                ..Tolerance::default()
            },
        )]),
        ..lenient(json!({"status": 200, "latency": 10, "body": {"n": 1}}))
    };
    let answer =
        |latency: u8| json!({"status": 200, "latency": latency, "body": {"n": 1, "latency": 0}});
    assert_snapshot!(told(&structural, answer(12)), @"matches");
    assert_snapshot!(told(&structural, answer(13)), @"tolerance: latency: expected 10 (± 2), got 13");
}

#[test]
fn what_paths_ask_for_opens_nothing_else() {
    let asks = |paths_: &[&str], expected| StructuralOptions {
        require_keys: paths(paths_),
        ..strict(expected)
    };
    let every = asks(&["*.id"], json!({"a": {"id": 1}}));
    assert_snapshot!(told(&every, json!({"a": {"id": 1}, "b": {"id": 2}})), @r#"unexpected: b is not expected (got {"id":2})"#);
    let deep = asks(&["meta.total", "users.*.id"], json!({"a": 1}));
    assert_snapshot!(told(&deep, json!({"a": 1, "meta": {"total": [9]}, "users": [{"id": 1}, {"id": 2}]})), @"matches");
    assert_snapshot!(told(&deep, json!({"a": 1, "meta": {"total": 9, "debug": true}, "users": [{"id": 1, "password": "x"}]})), @r#"
    unexpected: meta.debug is not expected (got true)
    unexpected: users[0].password is not expected (got "x")
    "#);
}

#[test]
fn elements_that_are_short_of_partners_are_counted_once() {
    let of = |kind: fn(usize) -> &'static str| -> Value {
        (0..200)
            .map(|i| json!({"id": i, "kind": kind(i), "tags": ["{{any_string}}", i % 2]}))
            .collect()
    };
    let items: Value = (0..200)
        .map(|i| json!({"id": -i, "kind": "x", "tags": ["t", 0]}))
        .collect();
    let structural = StructuralOptions {
        ignore_fields: paths(&["*.id"]),
        ..lenient(of(|_| "x"))
    };
    assert_eq!(compare(&structural, &items).total, 100);
    let structural = StructuralOptions {
        expected: of(|i| if i < 2 { "y" } else { "x" }),
        ..structural
    };
    assert_eq!(compare(&structural, &items).total, 102);
}

#[test]
fn a_single_element_without_matcher_is_no_template() {
    assert!(!compare(&lenient(json!([{"a": 1}])), &json!([{"a": 1}, {"a": 1}])).matched);
    assert!(
        compare(
            &lenient(json!([{"a": "{{any_number}}"}])),
            &json!([{"a": 1}, {"a": 2}])
        )
        .matched
    );
    assert!(
        !compare(
            &lenient(json!(["{{any_string}}", "x"])),
            &json!(["a", "x", "b"])
        )
        .matched
    );
}

#[test]
fn numbers_by_value_and_within_tolerance() {
    let big: Value = serde_json::from_str("[265252859812191058636308480000000, 1.0, 0.1]").unwrap();
    let same: Value = serde_json::from_str("[265252859812191058636308480000000, 1, 0.10]").unwrap();
    assert_snapshot!(told(&strict(big.clone()), same), @"matches");
    let other: Value =
        serde_json::from_str("[265252859812191058636308480000001, true, 0.1]").unwrap();
    assert_snapshot!(told(&strict(big), other), @"
    value: [0]: expected 265252859812191058636308480000000, got 265252859812191058636308480000001
    type: [1]: expected number 1.0, got true
    ");
}

/// Example 2 of the seeds' regression evals: down by at most 0.3, up without bound.
#[test]
fn the_seeds_quality_scores() {
    let structural = StructuralOptions {
        tolerance: BTreeMap::from([(
            "quality_scores".to_owned(),
            Tolerance {
                min_delta: Some(-0.3),
                ..Tolerance::default()
            },
        )]),
        ..lenient(json!({"quality_scores": {"specificity": 4.2, "tone": 4.6}, "n": 3}))
    };
    assert_snapshot!(told(&structural, json!({"quality_scores": {"specificity": 3.9, "tone": 9.0}, "n": 3})), @"matches");
    assert_snapshot!(told(&structural, json!({"quality_scores": {"specificity": 3.89, "tone": "4.6"}, "n": 2.9})), @r#"
    value: n: expected 3, got 2.9
    tolerance: quality_scores.specificity: expected 4.2 (at least -0.3), got 3.89
    type: quality_scores.tone: expected number 4.6, got "4.6"
    "#);
}

#[test]
fn the_longest_tolerance_path_counts() {
    let wide = Tolerance {
        absolute: Some(10.0),
        ..Tolerance::default()
    };
    let narrow = Tolerance {
        absolute: Some(0.5),
        ..Tolerance::default()
    };
    let structural = StructuralOptions {
        tolerance: BTreeMap::from([(String::new(), wide), ("a.*".to_owned(), narrow)]),
        ..lenient(json!({"a": [1, 2], "b": 3}))
    };
    assert_snapshot!(told(&structural, json!({"a": [1.5, 2.6], "b": 13})), @"tolerance: a[1]: expected 2 (± 0.5), got 2.6");
}

#[test]
fn required_keys_must_exist() {
    let structural = StructuralOptions {
        require_keys: paths(&["users.*.id", "meta"]),
        ..lenient(json!({"users": "{{any_regex('x')}}"}))
    };
    assert_snapshot!(told(&structural, json!({"users": "x", "meta": null})), @"missing: users.* is missing (expected a required key)");
    let structural = StructuralOptions {
        require_keys: paths(&["users.*.id"]),
        ..lenient(json!({}))
    };
    assert_snapshot!(told(&structural, json!({"users": [{"id": 1}, {"x": 1}]})), @"missing: users[1].id is missing (expected a required key)");
    assert_snapshot!(told(&structural, json!({"users": []})), @"missing: users.* is missing (expected a required key)");
}

#[test]
fn an_unknown_matcher_never_passes() {
    let structural = lenient(json!({"id": "{{any_uid}}"}));
    assert_snapshot!(told(&structural, json!({"id": "{{any_uid}}"})), @r#"matcher: id: expected unknown matcher any_uid; did you mean any_uuid?, got "{{any_uid}}""#);
}

#[test]
fn the_list_of_differences_is_bounded() {
    let ones = Value::Array(vec![json!(1); 500]);
    let twos = Value::Array(vec![json!(2); 500]);
    let result = compare(&strict(ones), &twos);
    assert_eq!(result.differences.len(), MAX_DIFFERENCES);
    assert_snapshot!(result.warnings.join("\n"), @"400 more differences are not listed");
    assert_eq!(result.total, 500);
    assert_eq!(result.score, 0.0);
}

#[test]
fn hostile_nesting_ends() {
    let mut deep = json!(1);
    for _ in 0..400 {
        deep = json!([deep, 2]);
    }
    assert!(!compare(&lenient(deep.clone()), &deep).matched);
    let mut left = json!([1, 2]);
    let mut right = json!([3, 4]);
    for _ in 0..40 {
        left = json!([left, left.get(0).cloned().map_or(json!(0), |_| json!(0))]);
        right = json!([json!(0), right]);
    }
    assert!(!compare(&lenient(left), &right).matched);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        (-3i64..4).prop_map(|x| json!(x as f64 / 2.0)),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// All leaves' places.
fn leaves(value: &Value, place: &mut Vec<PlaceStep>, found: &mut Vec<Vec<PlaceStep>>) {
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                place.push(PlaceStep::Index(i));
                leaves(item, place, found);
                place.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                place.push(PlaceStep::Key(key.clone()));
                leaves(item, place, found);
                place.pop();
            }
        }
        _ => found.push(place.clone()),
    }
}

fn at<'v>(value: &'v mut Value, place: &[PlaceStep]) -> &'v mut Value {
    place.iter().fold(value, |value, step| match step {
        PlaceStep::Key(key) => &mut value[key.as_str()],
        PlaceStep::Index(index) => &mut value[*index],
    })
}

/// All permutations, for arrays in any order, by brute force.
fn naive(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Array(e), Value::Array(a)) => {
            e.len() == a.len()
                && match e.split_first() {
                    None => true,
                    Some((first, rest)) => (0..a.len()).any(|i| {
                        let mut others = a.clone();
                        let one = others.remove(i);
                        naive(first, &one)
                            && naive(&Value::Array(rest.to_vec()), &Value::Array(others))
                    }),
                }
        }
        (Value::Object(e), Value::Object(a)) => e
            .iter()
            .all(|(key, value)| a.get(key).is_some_and(|other| naive(value, other))),
        (Value::Number(e), Value::Number(a)) => e.as_f64() == a.as_f64(),
        _ => expected == actual,
    }
}

proptest! {
    #[test]
    fn a_value_matches_itself(value in any_json()) {
        prop_assert!(compare(&strict(value.clone()), &value).matched);
        prop_assert!(compare(&lenient(value.clone()), &value).matched);
    }

    #[test]
    fn a_changed_leaf_is_found_where_it_is(value in any_json(), pick: prop::sample::Index) {
        let mut places = Vec::new();
        leaves(&value, &mut Vec::new(), &mut places);
        prop_assume!(!places.is_empty());
        let place = &places[pick.index(places.len())];
        let mut changed = value.clone();
        *at(&mut changed, place) = json!("something else");
        let structural = strict(value);
        let result = compare(&structural, &changed);
        prop_assert!(!result.matched);
        let listed: Vec<&str> = result.differences.iter().map(|d| d.path.as_str()).collect();
        let wanted = ShownPath(place).to_string();
        prop_assert_eq!(listed, vec![wanted.as_str()]);
        // Ignoring that place by its path makes them match.
        let path = if wanted == "(root)" { String::new() } else { wanted };
        let ignoring = StructuralOptions { ignore_values: vec![path], ..structural };
        prop_assert!(compare(&ignoring, &changed).matched);
    }

    #[test]
    fn any_order_agrees_with_trying_all_permutations(a in any_json(), b in any_json(), shuffle in prop::collection::vec(any_json(), 0..5)) {
        prop_assert_eq!(compare(&lenient(a.clone()), &b).matched, naive(&a, &b));
        let forward = Value::Array(shuffle.clone());
        let backward = Value::Array(shuffle.into_iter().rev().collect());
        prop_assert!(compare(&lenient(forward), &backward).matched);
    }
}
