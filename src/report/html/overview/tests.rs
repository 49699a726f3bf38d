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
    insta::assert_snapshot!(text(&data["gate"]["thresholds"]), @r#"[{"interval":"[0.117, 0.769]","label":"FAIL","metric":"pass@1","needs":">= 0.850","status":"fail","value":"0.400"},{"interval":"","label":"PASS","metric":"latency p95","needs":"<= 2.00 s","status":"pass","value":"1.23 s"}]"#);
    insta::assert_snapshot!(text(&data["counts"]), @r#"{"cases":{"errored":1,"failed":3,"passed":2,"pending":1,"rate":"40.0 %","skipped":1,"total":8},"evals":{"errored":1,"failed":2,"passed":1,"pending":1,"rate":"33.3 %","skipped":1,"total":6},"remarks":["Pass rates are over what was graded: passed / (passed + failed).","1 sample passed only on a later attempt (flaky).","2 samples timed out and had to be run again, alone, to confirm the timeout."],"samples":{"errored":1,"failed":3,"passed":2,"pending":1,"rate":"40.0 %","skipped":1,"total":8},"single_eval":false}"#);
    insta::assert_snapshot!(text(&data["unknown"]), @r#"{"groups":[{"cases":1,"causes":[],"outcome":"errored","samples":1},{"cases":1,"causes":[],"outcome":"skipped","samples":1},{"cases":1,"causes":[],"outcome":"pending","samples":1}],"ranges":[{"metric":"pass@1","range":"[0.250, 0.625]","value":"0.400"}]}"#);
    insta::assert_snapshot!(text(&data["metrics"]["rows"][0]), @r#"{"at":{"high":0.769,"low":0.117,"range":[0.25,0.625],"value":0.4},"cases":"6","drawn":true,"interval":"[0.117, 0.769]","limits":[{"at":0.85,"needs":">= 0.850","status":"fail","title":"pass@1 needs >= 0.850"}],"method":"empirical likelihood","name":"pass@1","range":"[0.250, 0.625]","status":"fail","undefined":"","value":"0.400"}"#);
    insta::assert_snapshot!(text(&data["groups"][0]), @r#"{"by":"type","intervals":true,"more":0,"rows":[{"counts":{"errored":0,"failed":1,"passed":0,"pending":0,"rate":"0 %","skipped":1,"total":2},"high":0.9448463172264346,"interval":"[0 %, 94.5 %]","low":0.0,"name":"regression","value":0.0},{"counts":{"errored":1,"failed":1,"passed":1,"pending":1,"rate":"50.0 %","skipped":0,"total":4},"high":0.9722596469930328,"interval":"[2.8 %, 97.2 %]","low":0.027740353006967183,"name":"capability","value":0.5}],"unit":"evals"}"#);
    insta::assert_snapshot!(text(&data["causes"]), @r#"[{"cause":"wrong_answer","outcome":"failed","samples":2},{"cause":"timeout","outcome":"failed","samples":1}]"#);
    insta::assert_snapshot!(text(&data["failures"]["failed"]["first"][0]), @r#"{"actual":{"text":"def parse(s):\n    return [1, 3]  \n\nprint('done')"},"case":"lists","cause":"wrong_answer","eval":"cap-code-002","expected":{"text":"def parse(s):\n    return [1, 2]\n\nprint('done')"},"name":"A list of items","outcome":"failed","reason":"the output differs from what was expected in line 2","samples":1}"#);
    insta::assert_snapshot!(text(&data["evals"]["rows"][0]), @r#"{"category":"code | gen","counts":{"errored":0,"failed":2,"passed":1,"pending":0,"rate":"33.3 %","skipped":0,"total":3},"criticality":null,"id":"cap-code-002","name":"Writes a parser for configuration files with comments and escapes","outcome":"failed","score":"0.333","source":null,"type":"capability"}"#);
    insta::assert_snapshot!(text(&data["environment"]), @r#"{"against":null,"arguments":[],"cpus":8,"filters":[],"git":{"commit":"0123456789ab","dirty":true,"whole":"0123456789abcdef0123"},"interpreters":{},"joined":[],"model":null,"model_address":null,"os":"linux/x86_64","regrade_of":null,"sandbox":{"cgroup":"v2","enforced":true,"landlock_abi":null,"notes":[],"tier":"userns"},"shard":null,"suite_path":"evals/eval-suite.yaml","target":"solver","target_type":"command","unsandboxed":false}"#);
}

/// Whatever metric, threshold or notice the Markdown tells stands on the page in the same words.
#[test]
fn figures_are_those_of_the_other_formats() {
    for summary in [rich(), unsandboxed(), green(3)] {
        let page = data(&summary);
        for (row, shown) in figures::metric_rows(&summary)
            .iter()
            .zip(page["metrics"]["rows"].as_array().expect("rows"))
        {
            let cells = [
                &row.name,
                &row.value,
                &row.interval,
                &row.range,
                &row.cases,
                &row.undefined,
            ];
            let names = ["name", "value", "interval", "range", "cases", "undefined"];
            assert_eq!(
                names.map(|name| shown[name].as_str().expect("text")),
                cells.map(String::as_str)
            );
        }
        for (threshold, shown) in summary
            .gate
            .thresholds
            .iter()
            .zip(page["gate"]["thresholds"].as_array().expect("rows"))
        {
            let row = figures::threshold_row(threshold);
            assert_eq!(shown["value"], row.value.as_str());
            assert_eq!(shown["label"], figures::decision_label(row.status));
        }
        assert_eq!(
            page["gate"]["reasons"].as_array().map(Vec::len),
            Some(summary.gate.reasons.len())
        );
        let notices = crate::report::notices::notices(&summary);
        let headlines: Vec<&str> = page["notices"]
            .as_array()
            .expect("list")
            .iter()
            .filter_map(|notice| notice["headline"].as_str())
            .collect();
        assert_eq!(
            headlines,
            notices
                .iter()
                .map(|notice| notice.headline.as_str())
                .collect::<Vec<_>>()
        );
    }
}

/// A pass that was not earned in every sample is not told as one of everything: what has no grade
/// is said beside the decision.
#[test]
fn a_run_without_gaps_says_nothing_of_the_unknown() {
    assert_eq!(data(&green(3))["unknown"], Value::Null);
    assert_eq!(data(&green(3))["gate"]["meaning"], "The gate passed.");
    let mut open = green(3);
    open.summary.samples.errored = 1;
    assert_eq!(data(&open)["unknown"]["groups"][0]["outcome"], "errored");
    assert_ne!(data(&open)["gate"]["meaning"], "The gate passed.");
}

/// Evals have one verdict each, so that their share has an interval; that of cases has none for
/// evals like these.
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
    assert_eq!(intervals(&summary), [true, true, true]);
    summary.metadata.interval_scope = crate::model::IntervalScope::SimilarEvals;
    assert_eq!(intervals(&summary), [true, false, true]);
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
    let texts: Vec<&str> = data["history"]
        .as_array()
        .expect("runs")
        .iter()
        .filter_map(|run| run["text"].as_str())
        .collect();
    assert_eq!(
        texts,
        [
            ">99.9 % (1,999 of 2,000 cases)",
            "no case was graded",
            "100 % (3 of 3 cases)"
        ]
    );
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
        data(&rich())["gate"]["reasons"]
            .as_array()
            .expect("list")
            .iter()
            .any(|reason| reason == HOSTILE)
    );
}

#[test]
fn many_evals_and_groups_are_bounded() {
    let mut summary = green(2_500);
    summary.summary.by_category = (0..600)
        .map(|n| (format!("c{n}"), summary.summary.cases))
        .collect();
    let data = data(&summary);
    assert_eq!(data["evals"]["rows"].as_array().map(Vec::len), Some(2_000));
    assert_eq!(data["evals"]["more"], 500);
    assert_eq!(
        data["groups"][0]["rows"].as_array().map(Vec::len),
        Some(500)
    );
    assert_eq!(data["groups"][0]["more"], 100);
}

/// Lists that are cut hold the failures: their latencies and scores would be taken for those of the
/// run.
#[test]
fn no_picture_is_drawn_of_the_failures_alone() {
    let mut summary = green(8);
    for (at, eval) in summary.evals.iter_mut().enumerate() {
        let mut sample = crate::report::tests::sample(crate::model::Outcome::Passed, None, "");
        sample.latency_ms = Some(10.0 + at as f64);
        for case in &mut eval.cases {
            case.score = Some(0.5);
            case.samples = vec![sample.clone()];
        }
    }
    let pictures = data(&summary)["distributions"].clone();
    assert!(
        pictures["latency"].is_object() && pictures["scores"].is_object(),
        "{pictures}"
    );
    summary.truncated = true;
    summary.omitted = Some(crate::model::Omitted {
        samples: 40_000,
        ..Default::default()
    });
    let pictures = data(&summary)["distributions"].clone();
    assert!(
        pictures["latency"].is_null() && pictures["scores"].is_null(),
        "{pictures}"
    );
}

/// A case with failed and with errored samples has two failures.
#[test]
fn failures_are_counted_by_case() {
    let mut summary = rich();
    let mut second = summary.failures[0].clone();
    second.outcome = crate::model::Outcome::Errored;
    summary.failures.push(second);
    let data = data(&summary);
    let failed = &data["failures"]["failed"];
    assert_eq!(failed["first"].as_array().map(Vec::len), Some(5));
    assert_eq!(failed["total"], 4);
    assert_eq!(failed["more"], 0);
}
