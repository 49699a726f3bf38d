//! The page of a comparison: what it holds as data.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;

use super::hostile::hostile_comparison;
use super::*;
use crate::report::html;
use crate::report::tests::{block_of, green, lines_of, markup_of};

fn page(comparisons: &Comparisons) -> String {
    let mut out = Vec::new();
    html::comparison(comparisons, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn data(comparisons: &Comparisons) -> Value {
    block_of(&page(comparisons), "report")
}

/// Each fact of a candidate on a line, of flips the first of each kind.
fn told(comparisons: &Comparisons) -> String {
    let mut candidate = data(comparisons)["candidates"][0].take();
    let flips = candidate["cases"]["flips"].as_array_mut().unwrap();
    flips.dedup_by(|a, b| a[0] == b[0]);
    lines_of(&candidate)
}

#[test]
fn a_page_holds_all_that_is_said_of_a_regression() {
    let comparisons = of(vec![regression()], Decision::Fail, &["regression: pass@1 fell"]);
    let mut whole = data(&comparisons);
    whole["candidates"].take();
    assert_snapshot!(lines_of(&whole), @"");
    assert_snapshot!(told(&comparisons), @"");
}

#[test]
fn readings_of_what_has_no_grade_are_told() {
    let comparisons = of(vec![undecided()], Decision::Incomplete, &[]);
    let whole = data(&comparisons);
    let candidate = &whole["candidates"][0];
    let told = ["headline", "undecided", "readings", "first", "plots"].map(|key| (key, &candidate[key]));
    let told: Vec<String> = told.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
    assert_snapshot!(told.join("\n"), @"");
}

#[test]
fn candidates_stand_beside_each_other() {
    let whole = data(&several());
    assert_eq!(whole["candidates"].as_array().unwrap().len(), 4);
    assert_snapshot!(lines_of(&whole["overview"]), @"");
    // One candidate has no need of it.
    assert_eq!(data(&of(vec![improvement()], Decision::Pass, &[]))["overview"], Value::Null);
}

#[test]
fn the_page_of_a_run_has_a_section_of_it() {
    let mut summary = green(1);
    let report = |summary: &crate::model::Summary| {
        let mut out = Vec::new();
        html::render(summary, &mut out).unwrap();
        block_of(&String::from_utf8(out).unwrap(), "report")
    };
    assert_eq!(report(&summary)["comparison"], Value::Null);
    let mut comparison = improvement();
    comparison.cases.fixed.count = 300;
    summary.comparison = Some(Box::new(comparison));
    summary.fail_on = Some(FailOn::Any);
    let mut section = report(&summary)["comparison"].take();
    assert_eq!(section["shown"].take()["headline"]["name"], "improvement");
    assert_snapshot!(lines_of(&section), @"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn texts_stay_texts(comparisons in hostile_comparison()) {
        let whole = page(&comparisons);
        let harmless = page(&of(vec![regression()], Decision::Fail, &["", ""]));
        prop_assert_eq!(markup_of(&whole), markup_of(&harmless));
        prop_assert_eq!(&whole, &page(&comparisons));
        let data = block_of(&whole, "report");
        prop_assert_eq!(&data["reasons"][0], &comparisons.reasons[0]);
        for (told, one) in data["candidates"].as_array().unwrap().iter().zip(&comparisons.candidates) {
            prop_assert_eq!(&told["cases"]["flips"][1][1], &one.cases.broken.cases[0].eval_id);
            prop_assert_eq!(&told["notes"][0], &one.notes[0]);
        }
    }
}
