//! What crosses to the page is what the other formats tell.

use serde_json::Value;

use crate::model::{Decision, PastRate, Summary};
use crate::report::tests::{HOSTILE, green, rich, unsandboxed};
use crate::report::{figures, html};

fn data(summary: &Summary) -> Value {
    serde_json::to_value(super::of(summary)).expect("JSON")
}

fn text(value: &Value) -> String {
    serde_json::to_string(value).expect("JSON")
}

#[test]
fn the_overview_of_a_rich_run() {
    let data = data(&rich());
    insta::assert_snapshot!(text(&data["gate"]["thresholds"]), @"");
    insta::assert_snapshot!(text(&data["counts"]), @"");
    insta::assert_snapshot!(text(&data["unknown"]), @"");
    insta::assert_snapshot!(text(&data["metrics"]["rows"][0]), @"");
    insta::assert_snapshot!(text(&data["groups"][0]), @"");
    insta::assert_snapshot!(text(&data["causes"]), @"");
    insta::assert_snapshot!(text(&data["failures"]["first"][0]), @"");
    insta::assert_snapshot!(text(&data["evals"]["rows"][0]), @"");
    insta::assert_snapshot!(text(&data["environment"]), @"");
}

/// Whatever metric, threshold or notice the Markdown tells stands on the page in the same words.
#[test]
fn figures_are_those_of_the_other_formats() {
    for summary in [rich(), unsandboxed(), green(3)] {
        let page = data(&summary);
        for (row, shown) in
            figures::metric_rows(&summary).iter().zip(page["metrics"]["rows"].as_array().expect("rows"))
        {
            let cells = [&row.name, &row.value, &row.interval, &row.range, &row.cases, &row.undefined];
            let names = ["name", "value", "interval", "range", "cases", "undefined"];
            assert_eq!(names.map(|name| shown[name].as_str().expect("text")), cells.map(String::as_str));
        }
        for (threshold, shown) in
            summary.gate.thresholds.iter().zip(page["gate"]["thresholds"].as_array().expect("rows"))
        {
            let row = figures::threshold_row(threshold);
            assert_eq!(shown["value"], row.value.as_str());
            assert_eq!(shown["label"], figures::decision_label(row.status));
        }
        assert_eq!(page["gate"]["reasons"].as_array().map(Vec::len), Some(summary.gate.reasons.len()));
        let notices = crate::report::notices::notices(&summary);
        let headlines: Vec<&str> = page["notices"]
            .as_array()
            .expect("list")
            .iter()
            .filter_map(|notice| notice["headline"].as_str())
            .collect();
        assert_eq!(headlines, notices.iter().map(|notice| notice.headline.as_str()).collect::<Vec<_>>());
    }
}

/// A pass that was not earned in every sample is not told as one of everything: what has no grade is said beside the decision.
#[test]
fn a_run_without_gaps_says_nothing_of_the_unknown() {
    assert_eq!(data(&green(3))["unknown"], Value::Null);
    assert_eq!(data(&green(3))["gate"]["meaning"], "The gate passed.");
    let mut open = green(3);
    open.summary.samples.errored = 1;
    assert_eq!(data(&open)["unknown"]["groups"][0]["outcome"], "errored");
    assert_ne!(data(&open)["gate"]["meaning"], "The gate passed.");
}

/// Evals have one verdict each, so their share has Wilson's interval; that of cases which belong together has none.
#[test]
fn intervals_of_groups_only_where_they_are_right() {
    let mut summary = rich();
    summary.summary.by_grader = [("code".to_owned(), summary.summary.cases)].into();
    let intervals = |summary: &Summary| -> Vec<bool> {
        data(summary)["groups"]
            .as_array()
            .expect("groups")
            .iter()
            .map(|group| !group["rows"][0]["low"].is_null())
            .collect()
    };
    assert_eq!(intervals(&summary), [true, false, true]);
    let known = summary.estimates["pass_at_1"].clone();
    summary.estimates.insert("case_pass_rate".to_owned(), known);
    assert_eq!(intervals(&summary), [true, true, true]);
}

#[test]
fn earlier_runs_come_before_this_one() {
    let mut summary = green(3);
    assert_eq!(data(&summary)["history"], Value::Null);
    let past = |decision, passed, graded| PastRate {
        run_id: "eval-20260101-120000".to_owned(),
        timestamp: "2026-01-01T12:00:00Z".to_owned(),
        commit: None,
        decision,
        passed,
        graded,
    };
    summary.history = vec![past(Some(Decision::Fail), 1_999, 2_000), past(None, 0, 0)];
    let data = data(&summary);
    let texts: Vec<&str> =
        data["history"].as_array().expect("runs").iter().filter_map(|run| run["text"].as_str()).collect();
    assert_eq!(texts, [">99.9 % (1999 of 2000 cases)", "no case was graded", "100 % (3 of 3 cases)"]);
}

#[test]
fn hostile_texts_stay_data_and_pages_are_the_same_twice() {
    let page = || {
        let mut out = Vec::new();
        html::render(&rich(), &mut out).expect("written");
        String::from_utf8(out).expect("UTF-8")
    };
    let page_ = page();
    assert_eq!(page_, page());
    assert!(!page_.contains("<img"));
    assert!(
        data(&rich())["gate"]["reasons"].as_array().expect("list").iter().any(|reason| reason == HOSTILE)
    );
}

#[test]
fn many_evals_and_groups_are_bounded() {
    let mut summary = green(2_500);
    summary.summary.by_category = (0..600).map(|n| (format!("c{n}"), summary.summary.cases)).collect();
    let data = data(&summary);
    assert_eq!(data["evals"]["rows"].as_array().map(Vec::len), Some(2_000));
    assert_eq!(data["evals"]["more"], 500);
    assert_eq!(data["groups"][0]["rows"].as_array().map(Vec::len), Some(500));
    assert_eq!(data["groups"][0]["more"], 100);
}
