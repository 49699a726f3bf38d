//! Baseline files as YAML that people like to review: a header in a fixed order, and the output
//! last, with sorted keys. [`crate::load`] reads back the same value.

use std::fmt::Write as _;

use serde_json::Value;

use crate::load::yaml::entry;
use crate::spec::BaselineFile;

/// The text of a baseline file: the header in the order of [`BaselineFile`], the output last.
pub fn emit(file: &BaselineFile) -> String {
    let mut out = String::with_capacity(1024);
    let text = |value: &Option<String>| value.as_ref().map(|text| Value::String(text.clone()));
    let target = file.target.as_ref().map(|target| {
        let name = target
            .name
            .as_ref()
            .map(|name| ("name", Value::String(name.clone())));
        name.into_iter()
            .chain([("type", Value::String(target.kind.clone()))])
            .collect::<Vec<_>>()
    });
    let beside = file.output_file.as_ref().map(|beside| {
        vec![
            ("name", Value::from(beside.name.as_str())),
            ("fingerprint", Value::from(beside.fingerprint.as_str())),
        ]
    });
    let header = [
        ("format_version", Some(Value::from(file.format_version))),
        ("eval_id", Some(Value::from(file.eval_id.as_str()))),
        ("baseline_version", text(&file.baseline_version)),
        ("captured_at", text(&file.captured_at)),
        ("suite", text(&file.suite)),
    ];
    let scalars = |out: &mut String, pairs: Vec<(&str, Option<Value>)>| {
        for (key, value) in pairs {
            if let Some(value) = value {
                entry(out, key, &value, 0);
            }
        }
    };
    scalars(&mut out, header.into());
    section(&mut out, "target", target);
    scalars(
        &mut out,
        vec![
            ("commit", text(&file.commit)),
            ("dirty", file.dirty.then_some(Value::Bool(true))),
            ("harness_version", text(&file.harness_version)),
            (
                "environment",
                (!file.environment.is_empty())
                    .then(|| Value::Object(file.environment.clone().into_iter().collect())),
            ),
            ("input_hash", text(&file.input_hash)),
            ("replaces", text(&file.replaces)),
        ],
    );
    section(&mut out, "output_file", beside);
    if let Some(output) = &file.output {
        entry(&mut out, "output", output, 0);
    }
    out
}

/// A map whose keys have an order of their own.
fn section(out: &mut String, name: &str, pairs: Option<Vec<(&str, Value)>>) {
    let Some(pairs) = pairs else { return };
    let _ = writeln!(out, "{name}:");
    for (key, value) in pairs {
        out.push_str("  ");
        entry(out, key, &value, 1);
    }
}

#[cfg(test)]
mod tests;
