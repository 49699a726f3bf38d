//! The JUnit report, for CI servers: a suite per eval, a test case per case, and one suite for the run with its metrics.
//!
//! Servers look at test cases only. A gate that no case explains (a missed threshold) is therefore a test case of the
//! run's suite, so that such a run is not shown as passed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use quick_junit::{
    NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite, XmlString,
};

use crate::base::text;
use crate::model::{CaseResult, Decision, EvalResult, Failure, Outcome, Summary};
use crate::report::ReportError;
use crate::report::differences;
use crate::report::values::{self, Comparison, Limits, LineKind};
use crate::report::{figures, notices};

/// Places that differ, and columns of a side.
const PLACES: usize = 40;
const COLUMNS: usize = 160;
const LIMITS: Limits = Limits { lines: 60, bytes: 8_000, context: 3, unicode: true };
/// Earlier attempts of a case that are listed.
const RERUNS: usize = 20;
/// Columns of a `message`.
const MAX_MESSAGE: usize = 500;

pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let unsandboxed = notices::is_unsandboxed(summary);
    let suffix = if unsandboxed { format!(" [{}]", notices::NOT_SANDBOXED) } else { String::new() };
    let mut report = Report::new(xml(&format!("{}{suffix}", summary.metadata.suite_name)));
    report.timestamp = summary.metadata.timestamp.parse().ok();
    report.time = seconds(summary.metadata.duration_seconds);
    report.add_test_suite(run_suite(summary));
    let failures: Failures = summary.failures.iter().rev().map(|failure| (key(failure), failure)).collect();
    for eval in &summary.evals {
        let mut suite = eval_suite(eval, &failures);
        if unsandboxed {
            not_sandboxed(&mut suite);
        }
        report.add_test_suite(suite);
    }
    report.serialize(out)?;
    Ok(())
}

/// Failures by eval, case and outcome: a case that failed may have errored samples too.
type Failures<'a> = HashMap<(&'a str, &'a str, Outcome), &'a Failure>;

fn key(failure: &Failure) -> (&str, &str, Outcome) {
    (&failure.eval_id, &failure.case_id, failure.outcome)
}

/// Sanitised, with blanks for tabs, which the XML writer would drop.
fn xml(raw: &str) -> XmlString {
    XmlString::new(text::sanitize(raw).replace('\t', "    "))
}

fn line(raw: &str) -> XmlString {
    XmlString::new(text::truncate_width(&text::one_line(raw), MAX_MESSAGE))
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

fn property(suite: &mut TestSuite, name: &str, value: &str) {
    suite.add_property(Property::new(line(name), line(value)));
}

/// What is true of the whole run.
fn run_suite(summary: &Summary) -> TestSuite {
    let metadata = &summary.metadata;
    let mut suite = TestSuite::new(line(&format!("{} (run)", metadata.suite_name)));
    property(&mut suite, "run_id", &metadata.run_id);
    if let Some(shard) = metadata.shard {
        property(&mut suite, "shard", &format!("{}/{}", shard.index, shard.of));
    }
    if let Some(against) = &metadata.against {
        property(&mut suite, "against", &against.to_string());
    }
    if let Some(run) = &metadata.regrade_of {
        property(&mut suite, "regrade_of", run);
    }
    if metadata.interrupted {
        property(&mut suite, "interrupted", "true");
    }
    for (name, n) in [
        ("flaky_samples", summary.summary.flaky),
        ("omitted_cases", summary.omitted.map_or(0, |omitted| omitted.cases)),
        ("infrastructure_retries", summary.summary.infrastructure_retries),
        ("adjudicated_samples", summary.summary.adjudicated),
    ] {
        if n > 0 {
            property(&mut suite, name, &n.to_string());
        }
    }
    property(&mut suite, "target", &metadata.environment.target);
    if let Some(model) = &metadata.environment.model {
        property(&mut suite, "model", model);
    }
    if let Some(sandbox) = &metadata.environment.sandbox {
        property(&mut suite, "sandbox.tier", &sandbox.tier);
    }
    if notices::is_unsandboxed(summary) {
        not_sandboxed(&mut suite);
    }
    for (level, counts) in &summary.summary.by_trust {
        property(&mut suite, &format!("trust.{}", level.name()), &counts.samples.to_string());
    }
    property(&mut suite, "gate.decision", summary.gate.decision.name());
    property(&mut suite, "gate.exit_code", &summary.gate.exit_code.to_string());
    for (at, reason) in summary.gate.reasons.iter().enumerate() {
        property(&mut suite, &format!("gate.reason.{}", at + 1), reason);
    }
    for threshold in &summary.gate.thresholds {
        let row = figures::threshold_row(threshold);
        let words = format!("{} ({} {})", row.status.name(), row.value, row.needs);
        property(&mut suite, &format!("threshold.{}", threshold.metric), &words);
    }
    for metric in figures::metrics_in_order(summary) {
        let value = summary.metrics.get(metric).copied().flatten();
        property(
            &mut suite,
            &format!("metric.{metric}"),
            &value.map_or_else(|| "null".to_owned(), |v| v.to_string()),
        );
    }
    if let Some(case) = unexplained_gate(summary) {
        suite.add_test_case(case);
    }
    let notices = notices::notices(summary);
    if !notices.is_empty() {
        let mut lines = String::new();
        for notice in notices {
            let _ = writeln!(lines, "{}", text::one_line(&notice.headline));
            for note in notice.notes.iter().chain(&notice.command) {
                let _ = writeln!(lines, "- {}", text::one_line(note));
            }
        }
        suite.set_system_err(xml(&lines));
    }
    suite
}

fn not_sandboxed(suite: &mut TestSuite) {
    property(suite, "sandbox.enforced", "false");
    property(suite, "warning", notices::NOT_SANDBOXED);
}

/// The gate as a test case, when it did not pass although no case says so.
fn unexplained_gate(summary: &Summary) -> Option<TestCase> {
    // Of a large run not every case is listed.
    let says =
        |outcome| summary.evals.iter().flat_map(|eval| &eval.cases).any(|case| case.outcome == outcome);
    let mut status = match summary.gate.decision {
        Decision::Fail if !says(Outcome::Failed) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Decision::Incomplete if !says(Outcome::Errored) => TestCaseStatus::non_success(NonSuccessKind::Error),
        Decision::Pending if !says(Outcome::Pending) => TestCaseStatus::skipped(),
        _ => return None,
    };
    status.set_type(format!("gate_{}", summary.gate.decision.name()));
    let reasons = summary.gate.reasons.join("; ");
    status.set_message(line(&format!("gate {}: {reasons}", summary.gate.decision.name())));
    let mut case = TestCase::new("gate", status);
    case.set_classname("gate");
    Some(case)
}

fn eval_suite(eval: &EvalResult, failures: &Failures) -> TestSuite {
    let mut suite = TestSuite::new(line(&eval.id));
    property(&mut suite, "eval.name", &eval.name);
    property(&mut suite, "eval.outcome", eval.outcome.name());
    property(&mut suite, "eval.weight", &eval.weight.to_string());
    if let Some(score) = eval.score {
        property(&mut suite, "eval.score", &score.to_string());
    }
    if let Some(category) = &eval.category {
        property(&mut suite, "eval.category", category);
    }
    if !eval.tags.is_empty() {
        property(&mut suite, "eval.tags", &eval.tags.join(", "));
    }
    let mut total = Duration::ZERO;
    for case in &eval.cases {
        let test =
            test_case(eval, case, failures.get(&(eval.id.as_str(), case.id.as_str(), case.outcome)).copied());
        total = total.saturating_add(test.time.unwrap_or_default());
        suite.add_test_case(test);
    }
    suite.set_time(total);
    suite
}

fn test_case(eval: &EvalResult, case: &CaseResult, failure: Option<&Failure>) -> TestCase {
    let mut status = match case.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::Errored => TestCaseStatus::non_success(NonSuccessKind::Error),
        Outcome::Skipped | Outcome::Pending => TestCaseStatus::skipped(),
    };
    status.set_type(case.cause.map_or(case.outcome.name(), |cause| cause.name()));
    status.set_message(line(&message(case, failure)));
    if let Some(body) = failure.and_then(description) {
        status.set_description(xml(&body));
    }
    status.add_reruns(earlier_attempts(case));
    let mut test = TestCase::new(line(&case.id), status);
    test.set_classname(line(&eval.id));
    if !case.samples.is_empty() {
        test.time = seconds(case.samples.iter().map(|sample| sample.duration_ms).sum::<f64>() / 1000.0);
    }
    let mut add = |name: &str, value: &str| {
        test.add_property(Property::new(line(name), line(value)));
    };
    if let Some(name) = &case.name {
        add("case.name", name);
    }
    if let Some(score) = case.score {
        add("case.score", &score.to_string());
    }
    if case.flaky {
        add("case.flaky", "true");
    }
    let retries: u64 = case.samples.iter().map(|sample| u64::from(sample.infrastructure_retries)).sum();
    if retries > 0 {
        add("case.infrastructure_retries", &retries.to_string());
    }
    test
}

/// The attempts before the one that passed, of the flaky samples of a case that passed: `flakyFailure` and `flakyError` elements.
fn earlier_attempts(case: &CaseResult) -> Vec<TestRerun> {
    if case.outcome != Outcome::Passed {
        // Servers would read them as further tries of the failure that is shown.
        return Vec::new();
    }
    let flaky = case.samples.iter().filter(|sample| sample.flaky);
    let attempts =
        flaky.flat_map(|sample| sample.earlier.iter().enumerate().map(move |(at, e)| (sample, at, e)));
    attempts
        .take(RERUNS)
        .map(|(sample, at, earlier)| {
            let errored = earlier.outcome == Outcome::Errored;
            let kind = if errored { NonSuccessKind::Error } else { NonSuccessKind::Failure };
            let mut rerun = TestRerun::new(kind);
            rerun.set_type(earlier.cause.map_or(earlier.outcome.name(), |cause| cause.name()));
            let (index, attempt, of) = (sample.index, at + 1, sample.attempts);
            rerun
                .set_message(line(&format!("sample {index}, attempt {attempt} of {of}: {}", earlier.reason)));
            rerun
        })
        .collect()
}

fn message(case: &CaseResult, failure: Option<&Failure>) -> String {
    if let Some(reason) =
        failure.map(|failure| failure.reason.as_str()).filter(|reason| !reason.trim().is_empty())
    {
        return reason.to_owned();
    }
    let of_sample = case
        .samples
        .iter()
        .find(|sample| sample.outcome == case.outcome)
        .map(|sample| sample.reason.as_str());
    match of_sample.filter(|reason| !reason.trim().is_empty()) {
        Some(reason) => reason.to_owned(),
        None if case.outcome == Outcome::Pending => "pending: waits for a human grade".to_owned(),
        None => match case.cause {
            Some(cause) => format!("{}: {cause}", case.outcome),
            None => case.outcome.name().to_owned(),
        },
    }
}

/// Where both sides differ, or both sides.
fn description(failure: &Failure) -> Option<String> {
    let limits = differences::Limits { rows: PLACES, columns: COLUMNS, unicode: true };
    if let Some(rows) = differences::of_details(&failure.details, limits) {
        let mut body = format!("--- expected\n+++ actual\n{}", differences::as_diff(&rows, COLUMNS));
        if rows.more > 0 {
            let _ = writeln!(body, "... and {}", text::plural(rows.more, "more difference"));
        }
        return Some(body);
    }
    let mut body = String::new();
    match values::compare(failure.expected.as_ref(), failure.actual.as_ref(), LIMITS) {
        Comparison::Nothing => return None,
        Comparison::Sides { expected, actual } => {
            for (label, side) in [("expected", expected), ("actual", actual)] {
                let Some(side) = side else { continue };
                let _ = writeln!(body, "{label}:\n{}", side.text);
                left_out(&mut body, side.more);
            }
        }
        Comparison::Diff { lines, more } => {
            let _ = writeln!(body, "--- expected\n+++ actual");
            for line in lines {
                let _ = match line.kind {
                    LineKind::Gap => writeln!(body, "@@ {} @@", line.text),
                    kind => writeln!(body, "{}{}", kind.sign(), line.text),
                };
            }
            left_out(&mut body, more);
        }
    }
    Some(body)
}

fn left_out(body: &mut String, more: usize) {
    if more > 0 {
        let _ = writeln!(body, "... {}", text::plural(more, "more line"));
    }
}
