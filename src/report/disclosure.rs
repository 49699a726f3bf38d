//! What a report discloses of a benchmark, in words.

use serde_json::Value;

use crate::model::{DatasetRead, Disclosure, SamplingRead};
use eval_base::text::{group_digits, plural};

const NOT_GIVEN: &str = "not given";

/// Labels and what they say.
pub type DisclosedFacts = Vec<(&'static str, String)>;

/// What holds for the whole run.
pub fn of_run(disclosure: &Disclosure) -> DisclosedFacts {
    let cutoff = disclosure.training_cutoff.as_deref().unwrap_or(NOT_GIVEN);
    let budget = disclosure.budget.map(|budget| {
        let usd = budget.usd.map(|usd| format!("{usd} USD"));
        let tokens = budget.tokens.map(|tokens| {
            format!(
                "{} tokens",
                group_digits(usize::try_from(tokens).unwrap_or(usize::MAX))
            )
        });
        let parts: Vec<String> = [usd, tokens].into_iter().flatten().collect();
        parts.join(", ")
    });
    let faults = match disclosure.known_faults_left_out.as_slice() {
        [] => "none".to_owned(),
        faults => faults.join(", "),
    };
    vec![
        (
            "Harness",
            format!("{} {}", disclosure.harness, disclosure.harness_version),
        ),
        ("Model", non_empty(&disclosure.model)),
        (
            "Settings",
            disclosure
                .sampling
                .as_ref()
                .map_or_else(|| NOT_GIVEN.to_owned(), settings),
        ),
        ("Training cut-off", cutoff.to_owned()),
        ("Budget", budget.unwrap_or_else(|| "none".to_owned())),
        ("Known faults left out", faults),
    ]
}

/// Of the datasets, by eval.
pub fn of_datasets(disclosure: &Disclosure) -> Vec<(&str, DisclosedFacts)> {
    let datasets = disclosure.datasets.iter();
    let of = |disclosed: &crate::model::DisclosedDataset| {
        let DatasetRead {
            file,
            format,
            version,
            sha256,
            records_read,
            records_selected,
            private,
            settings,
            call_seconds,
            program,
        } = &disclosed.dataset;
        let given = |text: &Option<String>| text.as_deref().unwrap_or(NOT_GIVEN).to_owned();
        let settings: Vec<String> = settings
            .iter()
            .map(|(key, value)| named(key, value))
            .collect();
        let subset = format!(
            "{} read, {} selected, {} in this run",
            plural(*records_read, "record"),
            group_digits(*records_selected),
            plural(disclosed.cases, "case"),
        );
        let limits = [
            call_seconds.map(|seconds| format!("{seconds} s per call of the target")),
            program.map(|limits| {
                let memory = limits.memory_mb;
                format!("{} s and {memory} MB per program", limits.seconds)
            }),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        let samples = match disclosed.samples_per_case {
            [low, high] if low == high => low.to_string(),
            [low, high] => format!("{low} to {high}"),
        };
        vec![
            (
                "Dataset",
                match private {
                    true => format!("{file} ({format}, private)"),
                    false => format!("{file} ({format})"),
                },
            ),
            ("Version", given(version)),
            ("SHA-256", given(sha256)),
            ("Subset", subset),
            ("Selected by", or_none(settings.join("; "))),
            ("Samples per case", samples),
            ("Limits", or_none(limits.join(", "))),
        ]
    };
    datasets
        .map(|disclosed| (disclosed.eval.as_str(), of(disclosed)))
        .collect()
}

/// Settings that are not set are the defaults of the API.
fn settings(sampling: &SamplingRead) -> String {
    let temperature = match sampling.temperature {
        Some(temperature) => format!("temperature {temperature}"),
        None => "temperature not set (default of the API)".to_owned(),
    };
    let stop = (!sampling.stop.is_empty()).then(|| format!("stop {:?}", sampling.stop));
    let known = [
        Some(temperature),
        sampling.top_p.map(|top_p| format!("top_p {top_p}")),
        sampling.max_tokens.map(|most| format!("max_tokens {most}")),
        stop,
        sampling.seed.map(|seed| format!("seed {seed}")),
    ];
    let options = sampling
        .options
        .iter()
        .map(|(key, value)| named(key, value));
    let all: Vec<String> = known.into_iter().flatten().chain(options).collect();
    all.join(", ")
}

/// `limit 20`, `released after 2024-09-01, before 2025-01-01`.
fn named(key: &str, value: &Value) -> String {
    let words = match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> = fields.map(|(key, value)| named(key, value)).collect();
            fields.join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("{key} {words}")
}

fn or_none(words: String) -> String {
    match words.is_empty() {
        true => "none".to_owned(),
        false => words,
    }
}

fn non_empty(words: &str) -> String {
    match words.is_empty() {
        true => NOT_GIVEN.to_owned(),
        false => words.to_owned(),
    }
}
