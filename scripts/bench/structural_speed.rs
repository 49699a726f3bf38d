//! What a structural comparison costs beside parsing the two documents.
//!
//! `cargo run --release --example structural_speed [MEGABYTES]` prints, for each kind of
//! comparison, the wall time and its ratio to that of parsing both documents.

use std::time::Instant;

use eval_harness::internals::StructuralOptions;
use eval_match::structural::compare;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let megabytes: usize = std::env::args()
        .nth(1)
        .map_or(Ok(10), |text| text.parse())?;
    let user = |n: usize| {
        json!({"id": n, "name": format!("user {n}"), "email": format!("u{n}@x.example"), "active": n.is_multiple_of(3),
            "score": n as f64 / 7.0, "tags": ["a", "b", n % 10], "address": {"city": "Bern", "zip": n % 9000}})
    };
    let one = user(123_456).to_string().len() + 1;
    let users: Vec<Value> = (0..megabytes * 1_000_000 / one).map(user).collect();
    let mut backward = users.clone();
    backward.reverse();
    let count = users.len();
    let document = json!({"status": 200, "headers": {}, "body": {"users": users}}).to_string();

    let start = Instant::now();
    let (expected, actual): (Value, Value) = (
        serde_json::from_str(&document)?,
        serde_json::from_str(&document)?,
    );
    let parsing = start.elapsed();
    println!(
        "{count} elements, {} bytes each; parsing both: {parsing:?}",
        document.len()
    );

    let rule = |expected: &Value, any_order: bool| StructuralOptions {
        expected: expected.clone(),
        allow_additional_fields: true,
        allow_field_reordering: any_order,
        ignore_fields: Vec::new(),
        ignore_values: Vec::new(),
        require_keys: Vec::new(),
        tolerance: Default::default(),
        likeness: None,
    };
    let with_users =
        |users: Vec<Value>| json!({"status": 200, "headers": {}, "body": {"users": users}});
    let mut one_differs = backward.clone();
    one_differs[count / 2]["name"] = json!("somebody else");
    let shifted: Vec<Value> = users_with_new_ids(&backward);
    let patterns = |n: usize| (0..n).map(|i| format!("users.*.k{i}")).collect::<Vec<_>>();
    let template =
        json!({"id": "{{any_number}}", "name": "{{any_string}}", "email": "{{any_email}}"});
    let cases: Vec<(&str, StructuralOptions, Value)> = vec![
        ("equal", rule(&expected, false), actual.clone()),
        (
            "equal, strict",
            StructuralOptions {
                allow_additional_fields: false,
                ..rule(&expected, false)
            },
            actual.clone(),
        ),
        ("equal, any order", rule(&expected, true), actual.clone()),
        (
            "another order",
            rule(&expected, true),
            with_users(backward.clone()),
        ),
        (
            "another order, one differs",
            rule(&expected, true),
            with_users(one_differs),
        ),
        (
            "another order, ids ignored",
            StructuralOptions {
                ignore_fields: vec!["users.*.id".to_owned()],
                ..rule(&expected, true)
            },
            with_users(shifted),
        ),
        (
            "1,000 ignored paths",
            StructuralOptions {
                ignore_fields: patterns(1_000),
                ..rule(&expected, false)
            },
            actual.clone(),
        ),
        ("template", rule(&with_users(vec![template]), false), actual),
        ("all differ", rule(&expected, false), with_users(backward)),
    ];
    for (name, rule, actual) in &cases {
        let start = Instant::now();
        let result = compare(rule, actual);
        let took = start.elapsed();
        let ratio = took.as_secs_f64() / parsing.as_secs_f64();
        let verdict = if result.undecided.is_some() {
            "undecided"
        } else if result.matched {
            "matched"
        } else {
            "differs"
        };
        println!(
            "{name:30} {took:>12.1?} {ratio:>6.2} x parsing  {verdict}, {} differences",
            result.total
        );
    }
    Ok(())
}

fn users_with_new_ids(users: &[Value]) -> Vec<Value> {
    let mut users = users.to_vec();
    for (at, user) in users.iter_mut().enumerate() {
        user["id"] = json!(at + 1_000_000);
    }
    users
}
