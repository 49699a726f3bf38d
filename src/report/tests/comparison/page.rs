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
    let comparisons = of(
        vec![regression()],
        Decision::Fail,
        &["regression: pass@1 fell"],
    );
    let mut whole = data(&comparisons);
    // The version changes with each release.
    let _ = (whole["candidates"].take(), whole["harness_version"].take());
    assert_snapshot!(lines_of(&whole), @r#"
candidates: null
decision: {"exit_code":1,"label":"FAIL","name":"fail"}
fail_on: {"means":"a regression fails the gate","name":"significant"}
harness_version: null
kind: "comparison"
method: "tested: pass@1 at 5 %, one-sided, and by category; intervals at 95 %, 10,000 resamples, seed 7"
overview: null
reasons: ["regression: pass@1 fell"]
reference: {"extent":[],"facts":[["Run","eval-20260101-120000"],["Target","solver (model)"],["Model","openai:gpt-4o-mini"],["Commit","0123456789ab"],["Began","2026-01-02T12:00:00Z"],["Suite","Parser suite 1.2.0"],["Harness","0.1.0"]],"label":"main"}
subject: "Parser suite"
"#);
    assert_snapshot!(told(&comparisons), @r#"
candidate: {"extent":[],"facts":[["Run","eval-20260103-093000"],["Target","solver (model)"],["Model","openai:gpt-4o-mini"],["Commit","fedcba987654 with changes"],["Began","2026-01-03T09:30:00Z"],["Suite","Parser suite 1.2.0"],["Harness","0.1.0"]],"label":"latest"}
cases: {"compared":398,"flips":[[0,"cap-code-002","case-20","5/5 → 1/5",1],[1,"cap-code-002","case-00","0/5 → 5/5",0],[2,"cap-code-002","case-00","5/5 → 4/5",0],[3,"cap-code-002","case-00","now 3/5",0],[4,"cap-code-002","case-00","was 5/5",0],[5,"cap-code-002","case-00","0/5 → 0/5",0]],"kinds":[{"count":24,"listed":24,"name":"broken","title":"Broken: passed before, fail now"},{"count":12,"listed":12,"name":"fixed","title":"Fixed: failed before, pass now"},{"count":2,"listed":2,"name":"changed","title":"Changed: different data or grading, not compared"},{"count":1,"listed":1,"name":"new","title":"New: not in the reference"},{"count":7,"listed":7,"name":"gone","title":"Gone: not in the candidate"},{"count":61,"listed":61,"name":"still failing","title":"Still failing"}],"sentences":["398 cases compared: 24 broken, 12 fixed, 61 still failing, 301 still passing","not compared: 2 changed (different data or grading), 1 new, 7 gone, 4 omitted from one side by filters or shards"],"still_passing":301}
could_have_found: "4.1 points"
first: "pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9], p = 0.0004 (one-sided, sign flips, 400 cases)"
further: ["A true drop of 4.1 points would have been found with 80 % chance."]
groups: [{"by":"category","decides":true,"metric":"pass@1","plot":{"max":0.1348,"min":-0.2248,"rows":[{"decides":true,"high":-0.092,"leaning":"worse","low":-0.19,"name":"code","range":null,"said":"","text":"-14.0 points [-19.0, -9.2]","value":-0.14},{"decides":true,"high":0.06,"leaning":null,"low":-0.02,"name":"math and everything else that counts","range":null,"said":"","text":"+2.0 points [-2.0, +6.0]","value":0.019999999999999907},{"decides":false,"high":0.1,"leaning":null,"low":-0.1,"name":"chat","range":null,"said":"","text":"= [-10.0, +10.0]","value":0.0}],"ticks":[{"at":-0.2,"text":"-20"},{"at":-0.1,"text":"-10"},{"at":0.0,"text":"0"},{"at":0.1,"text":"+10"}],"title":"Difference in percentage points, case by case","worse":"left"},"rows":[{"broken":22,"fixed":4,"line":{"candidate":"0.760","decides":true,"difference":"-14.0 points","interval":"[-19.0, -9.2]","leaning":"worse","moved":true,"n":"200 cases","name":"code","p":"<0.0001","range":"","reference":"0.900","undefined":""},"verdict":"regression"},{"broken":2,"fixed":8,"line":{"candidate":"0.830","decides":true,"difference":"+2.0 points","interval":"[-2.0, +6.0]","leaning":"better","moved":false,"n":"190 cases","name":"math and everything else that counts","p":"0.57","range":"","reference":"0.810","undefined":""},"verdict":"none"},{"broken":0,"fixed":0,"line":{"candidate":"0.700","decides":false,"difference":"=","interval":"[-10.0, +10.0]","leaning":null,"moved":false,"n":"10 cases","name":"chat","p":"","range":"","reference":"0.700","undefined":""},"verdict":"none"}],"telling":2}]
headline: {"name":"regression","title":"Regression","words":"regression"}
label: "latest"
legend: "* the verdict depends on it. ▼ ▲ more than chance, each metric taken alone. p: one-sided, in the direction of the difference; several tests are adjusted by Holm, other metrics are not."
level: "95 %"
metrics: [{"candidate":"0.790","decides":true,"difference":"-6.0 points","interval":"[-9.1, -2.9]","leaning":"worse","moved":true,"n":"400 cases","name":"pass@1","p":"0.0004","range":"","reference":"0.850","undefined":""},{"candidate":"934 ms","decides":false,"difference":"+122 ms","interval":"[+80 ms, +164 ms]","leaning":"worse","moved":true,"n":"400 cases","name":"latency mean","p":"<0.0001","range":"","reference":"812 ms","undefined":""},{"candidate":"0.950","decides":false,"difference":"-0.04 points","interval":"[-1.0, +0.9]","leaning":"worse","moved":false,"n":"400 cases","name":"pass@5","p":"0.46","range":"","reference":"0.950","undefined":""},{"candidate":"0.541","decides":false,"difference":"-7.3 points","interval":"[-12.0, -2.6]","leaning":"worse","moved":true,"n":"400 cases","name":"pass^5 (unbiased)","p":"0.001","range":"","reference":"0.614","undefined":""},{"candidate":"n/a","decides":false,"difference":"","interval":"","leaning":null,"moved":false,"n":"0 cases","name":"pass@10","p":"","range":"","reference":"n/a","undefined":"10 samples of a case are needed; there are 5"},{"candidate":"0.500","decides":false,"difference":"=","interval":"[-10.0, +10.0]","leaning":null,"moved":false,"n":"38 evals","name":"pass rate","p":"0.50","range":"","reference":"0.500","undefined":""},{"candidate":"3.250","decides":false,"difference":"+0.0004","interval":"[-0.200, +0.210]","leaning":null,"moved":false,"n":"400 cases","name":"edits","p":"0.50","range":"","reference":"3.250","undefined":""}]
notes: ["the suite had version 1.1.0 and has 1.2.0"]
plots: [{"max":0.024480000000000002,"min":-0.13548,"rows":[{"decides":true,"high":-0.029,"leaning":"worse","low":-0.091,"name":"pass@1","range":null,"said":"","text":"-6.0 points [-9.1, -2.9]","value":-0.05999999999999994},{"decides":false,"high":0.009,"leaning":null,"low":-0.01,"name":"pass@5","range":null,"said":"","text":"-0.04 points [-1.0, +0.9]","value":-0.00039999999999995595},{"decides":false,"high":-0.026,"leaning":"worse","low":-0.12,"name":"pass^5 (unbiased)","range":null,"said":"","text":"-7.3 points [-12.0, -2.6]","value":-0.07299999999999995}],"ticks":[{"at":-0.1,"text":"-10"},{"at":-0.05,"text":"-5"},{"at":0.0,"text":"0"}],"title":"Difference in percentage points, case by case","worse":"left"},{"max":0.22620689655172413,"min":-0.024236453201970442,"rows":[{"decides":false,"high":0.2019704433497537,"leaning":"worse","low":0.09852216748768473,"name":"latency mean","range":null,"said":"","text":"+122 ms [+80 ms, +164 ms]","value":0.15024630541871922}],"ticks":[{"at":0.0,"text":"0"},{"at":0.1,"text":"+10 %"},{"at":0.2,"text":"+20 %"}],"title":"Difference in per cent of the reference, case by case","worse":"right"},{"max":0.124,"min":-0.124,"rows":[{"decides":false,"high":0.1,"leaning":null,"low":-0.1,"name":"pass rate","range":null,"said":"","text":"= [-10.0, +10.0]","value":0.0}],"ticks":[{"at":-0.1,"text":"-10"},{"at":-0.05,"text":"-5"},{"at":0.0,"text":"0"},{"at":0.05,"text":"+5"},{"at":0.1,"text":"+10"}],"title":"Difference in percentage points, eval by eval","worse":"left"},{"max":0.07975384615384616,"min":-0.07667692307692309,"rows":[{"decides":false,"high":0.06461538461538462,"leaning":null,"low":-0.06153846153846154,"name":"edits","range":null,"said":"","text":"+0.0004 [-0.200, +0.210]","value":0.00012307692307690952}],"ticks":[{"at":-0.05,"text":"-5 %"},{"at":0.0,"text":"0"},{"at":0.05,"text":"+5 %"}],"title":"Difference in per cent of the reference, case by case","worse":null}]
readings: []
reference: {"extent":[],"facts":[["Run","eval-20260101-120000"],["Target","solver (model)"],["Model","openai:gpt-4o-mini"],["Commit","0123456789ab"],["Began","2026-01-02T12:00:00Z"],["Suite","Parser suite 1.2.0"],["Harness","0.1.0"]],"label":"main"}
undecided: null
"#);
}

#[test]
fn readings_of_what_has_no_grade_are_told() {
    let comparisons = of(vec![undecided()], Decision::Incomplete, &[]);
    let whole = data(&comparisons);
    let candidate = &whole["candidates"][0];
    let told =
        ["headline", "undecided", "readings", "first", "plots"].map(|key| (key, &candidate[key]));
    let told: Vec<String> = told
        .into_iter()
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
headline: {"name":"undecided","title":"Undecided","words":"undecided"}
undecided: "samples without a grade leave it open: at worst a regression, at best an improvement"
readings: [["if all samples without a grade had counted against the candidate","regression","regression"],["over what was graded","none","no evidence of a difference"],["if all samples without a grade had counted for the candidate","improvement","improvement"]]
first: "over what was graded: no evidence of a difference: pass@1 fell from 0.900 to 0.800, -10.0 points [-41.0, +22.0], p = 0.31 (one-sided, McNemar with mid-p, 10 cases)"
plots: [{"max":0.3852,"min":-0.4952,"rows":[{"decides":true,"high":0.22,"leaning":null,"low":-0.41,"name":"pass@1","range":[-0.4,0.3],"said":"[-40.0, +30.0]","text":"-10.0 points [-41.0, +22.0]","value":-0.09999999999999998}],"ticks":[{"at":-0.4,"text":"-40"},{"at":-0.2,"text":"-20"},{"at":0.0,"text":"0"},{"at":0.2,"text":"+20"}],"title":"Difference in percentage points, case by case","worse":"left"}]
"#);
}

#[test]
fn candidates_stand_beside_each_other() {
    let whole = data(&several());
    assert_eq!(whole["candidates"].as_array().unwrap().len(), 4);
    assert_snapshot!(lines_of(&whole["overview"]), @r#"
    plots: [{"max":0.3852,"min":-0.4952,"rows":[{"decides":true,"high":-0.029,"leaning":"worse","low":-0.091,"name":"small","range":null,"said":"","text":"-6.0 points [-9.1, -2.9]","value":-0.05999999999999994},{"decides":true,"high":0.091,"leaning":"better","low":0.029,"name":"results/2026-01-03/run-093000","range":null,"said":"","text":"+6.0 points [+2.9, +9.1]","value":0.05999999999999994},{"decides":true,"high":0.22,"leaning":null,"low":-0.41,"name":"eval-20260103-093001","range":[-0.4,0.3],"said":"[-40.0, +30.0]","text":"-10.0 points [-41.0, +22.0]","value":-0.09999999999999998},{"decides":true,"high":0.01,"leaning":null,"low":-0.011,"name":"v2","range":null,"said":"","text":"-0.04 points [-1.1, +1.0]","value":-0.00039999999999995595}],"ticks":[{"at":-0.4,"text":"-40"},{"at":-0.2,"text":"-20"},{"at":0.0,"text":"0"},{"at":0.2,"text":"+20"}],"title":"pass@1: difference in percentage points","worse":"left"}]
    rows: [{"cells":[{"candidate":"0.790","decides":true,"difference":"-6.0 points","interval":"[-9.1, -2.9]","leaning":"worse","moved":true,"n":"400 cases","name":"pass@1","p":"0.0004","range":"","reference":"0.850","undefined":""},{"candidate":"0.850","decides":true,"difference":"+6.0 points","interval":"[+2.9, +9.1]","leaning":"better","moved":true,"n":"400 cases","name":"pass@1","p":"0.0004","range":"","reference":"0.790","undefined":""},{"candidate":"0.800","decides":true,"difference":"-10.0 points","interval":"[-41.0, +22.0]","leaning":"worse","moved":false,"n":"10 cases","name":"pass@1","p":"0.31","range":"[-40.0, +30.0]","reference":"0.900","undefined":""},{"candidate":"0.850","decides":true,"difference":"-0.04 points","interval":"[-1.1, +1.0]","leaning":"worse","moved":false,"n":"4,000 cases","name":"pass@1","p":"0.47","range":"","reference":"0.850","undefined":""}],"decides":true,"name":"pass@1"},{"cells":[{"candidate":"934 ms","decides":false,"difference":"+122 ms","interval":"[+80 ms, +164 ms]","leaning":"worse","moved":true,"n":"400 cases","name":"latency mean","p":"<0.0001","range":"","reference":"812 ms","undefined":""},null,null,null],"decides":false,"name":"latency mean"},{"cells":[{"candidate":"0.950","decides":false,"difference":"-0.04 points","interval":"[-1.0, +0.9]","leaning":"worse","moved":false,"n":"400 cases","name":"pass@5","p":"0.46","range":"","reference":"0.950","undefined":""},null,null,null],"decides":false,"name":"pass@5"},{"cells":[{"candidate":"0.541","decides":false,"difference":"-7.3 points","interval":"[-12.0, -2.6]","leaning":"worse","moved":true,"n":"400 cases","name":"pass^5 (unbiased)","p":"0.001","range":"","reference":"0.614","undefined":""},null,null,null],"decides":false,"name":"pass^5 (unbiased)"},{"cells":[{"candidate":"n/a","decides":false,"difference":"","interval":"","leaning":null,"moved":false,"n":"0 cases","name":"pass@10","p":"","range":"","reference":"n/a","undefined":"10 samples of a case are needed; there are 5"},null,null,null],"decides":false,"name":"pass@10"},{"cells":[{"candidate":"0.500","decides":false,"difference":"=","interval":"[-10.0, +10.0]","leaning":null,"moved":false,"n":"38 evals","name":"pass rate","p":"0.50","range":"","reference":"0.500","undefined":""},null,null,null],"decides":false,"name":"pass rate"},{"cells":[{"candidate":"3.250","decides":false,"difference":"+0.0004","interval":"[-0.200, +0.210]","leaning":null,"moved":false,"n":"400 cases","name":"edits","p":"0.50","range":"","reference":"3.250","undefined":""},null,null,null],"decides":false,"name":"edits"}]
    "#);
    // One candidate has no need of it.
    assert_eq!(
        data(&of(vec![improvement()], Decision::Pass, &[]))["overview"],
        Value::Null
    );
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
    assert_snapshot!(lines_of(&section), @r#"
bearing: "The gate uses it (--fail-on any): any broken case fails the gate."
cut: "eval-harness compare lists all"
method: "tested: pass@1 at 5 %, one-sided, and by category; intervals at 95 %, 10,000 resamples, seed 7"
shown: null
"#);
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
