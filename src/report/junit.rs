//! The JUnit report, for CI servers: a suite per eval, a test case per case, and one suite for the
//! run with its metrics.
//!
//! There is no one format. What is written here fits both of the schemas that servers hold against
//! it: the one of Maven's Surefire, which knows no properties of test cases and no type of what was
//! skipped, and the one of Jenkins' xUnit plugin, which knows neither a time stamp nor skipped ones
//! at the root (`tests/junit_rules.rs` beside this has their rules).
//!
//! Servers look at test cases only. A gate that no case explains (a missed threshold) is therefore
//! a test case of the run's suite, so that such a run is not shown as passed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use quick_junit::{
    NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite, XmlString,
};

use crate::model::{CaseResult, Decision, EvalResult, Failure, ModelUsed, Outcome, Summary};
use crate::report::ReportError;
use crate::report::annotations::without_commands;
use crate::report::comparison::words;
use crate::report::limits::junit as limits;
use crate::report::page::FailureEvidence;
use crate::report::values::ShownValues;
use crate::report::{FailureIndex, figures, notices};
use eval_base::text;

pub fn render(summary: &Summary, out: &mut dyn Write) -> Result<(), ReportError> {
    let unsandboxed = notices::is_unsandboxed(summary);
    let suffix = if unsandboxed {
        format!(" [{}]", notices::NOT_SANDBOXED)
    } else {
        String::new()
    };
    let mut report = Report::new(xml(&format!("{}{suffix}", summary.metadata.suite_name)));
    report.time = seconds(summary.metadata.duration_seconds);
    let mut names = UniqueNames::default();
    let mut of_run = run_suite(summary);
    of_run.name = names.unique(of_run.name.as_str());
    report.add_test_suite(of_run);
    let failures = super::failures(summary);
    let tolerates = summary.gate.decision == Decision::Pass && !summary.metadata.interrupted;
    for eval in &summary.evals {
        let mut suite = eval_suite(eval, names.unique(&eval.id), &failures, tolerates);
        if unsandboxed {
            not_sandboxed(&mut suite);
        }
        report.add_test_suite(suite);
    }
    let mut written = Vec::new();
    report.serialize(&mut written)?;
    let written = without_commands(&without_skipped(&String::from_utf8_lossy(&written)));
    Ok(out.write_all(written.as_bytes())?)
}

/// The report without the attribute `skipped` of its root, which stands after the name. In values
/// `>` and quotes are escaped.
fn without_skipped(report: &str) -> Cow<'_, str> {
    let begins = report.find("<testsuites").unwrap_or_default();
    let ends = report[begins..]
        .find('>')
        .map_or(report.len(), |at| begins + at);
    match report[..ends].split_once(" skipped=\"") {
        None => Cow::Borrowed(report),
        Some((before, value)) => {
            let after = value
                .find('"')
                .map_or(ends, |at| before.len() + 10 + at + 1);
            Cow::Owned(format!("{before}{}", &report[after..]))
        }
    }
}

/// A name that no other has: servers take two of one name for one.
#[derive(Default)]
struct UniqueNames(HashMap<String, usize>);

impl UniqueNames {
    fn unique(&mut self, raw: &str) -> XmlString {
        let name = line(raw);
        let mut seen = |name: &str| {
            let n = self.0.entry(name.to_owned()).or_default();
            *n += 1;
            *n
        };
        let mut n = seen(name.as_str());
        let mut fresh = name.as_str().to_owned();
        while n > 1 {
            let next = format!("{} ({n})", name.as_str());
            n = if seen(&next) == 1 { 1 } else { n + 1 };
            fresh = next;
        }
        XmlString::new(fresh)
    }
}

/// Sanitised, with blanks for tabs, which the XML writer would drop.
fn xml(raw: &str) -> XmlString {
    XmlString::new(text::sanitize(raw).replace('\t', "    "))
}

fn line(raw: &str) -> XmlString {
    XmlString::new(text::truncate_width(&text::one_line(raw), limits::MESSAGE))
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

fn property(suite: &mut TestSuite, name: &str, value: &str) {
    suite.add_property(Property::new(line(name), line(value)));
}

/// What all models together took.
fn models_used(suite: &mut TestSuite, used: &ModelUsed) {
    let counts = [
        ("answers", used.all_answers()),
        ("answers.cache", used.answers.cache),
        ("answers.recording", used.answers.recording),
        ("unanswered", used.unanswered),
        ("requests", used.requests),
        ("retries", used.retries),
        ("spent.tokens", used.spent.tokens),
    ];
    for (name, n) in counts {
        property(suite, &format!("models.{name}"), &n.to_string());
    }
    // What is not wholly known is no number.
    let known = |usd: Option<f64>, unknown: u64| match usd.filter(|_| unknown == 0) {
        Some(usd) => usd.to_string(),
        None => "unknown".to_owned(),
    };
    property(
        suite,
        "models.cost_usd",
        &known(used.cost_usd, used.unpriced + used.lower_bounds),
    );
    property(
        suite,
        "models.spent.usd",
        &known(used.spent.usd, used.spent.unpriced + used.lower_bounds),
    );
}

/// What is true of the whole run.
fn run_suite(summary: &Summary) -> TestSuite {
    let metadata = &summary.metadata;
    let mut suite = TestSuite::new(line(&format!("{} (run)", metadata.suite_name)));
    property(&mut suite, "run_id", &metadata.run_id);
    property(&mut suite, "timestamp", &metadata.timestamp);
    if let Some(shard) = metadata.shard {
        property(
            &mut suite,
            "shard",
            &format!("{}/{}", shard.index, shard.of),
        );
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
        (
            "omitted_cases",
            summary.omitted.map_or(0, |omitted| omitted.cases),
        ),
        (
            "infrastructure_retries",
            summary.summary.infrastructure_retries,
        ),
        ("adjudicated_samples", summary.summary.adjudicated),
    ] {
        if n > 0 {
            property(&mut suite, name, &n.to_string());
        }
    }
    if let Some(models) = &summary.models {
        models_used(&mut suite, &models.total);
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
        property(
            &mut suite,
            &format!("trust.{}", level.name()),
            &counts.samples.to_string(),
        );
    }
    property(&mut suite, "gate.decision", summary.gate.decision.name());
    property(
        &mut suite,
        "gate.exit_code",
        &summary.gate.exit_code.to_string(),
    );
    for (at, reason) in summary.gate.reasons.iter().enumerate() {
        property(&mut suite, &format!("gate.reason.{}", at + 1), reason);
    }
    for threshold in &summary.gate.thresholds {
        let row = figures::threshold_row(threshold);
        let words = format!("{} ({} {})", row.status.name(), row.value, row.needs);
        property(
            &mut suite,
            &format!("threshold.{}", threshold.metric),
            &words,
        );
    }
    for (name, value) in summary
        .comparison
        .iter()
        .flat_map(|comparison| words::properties(comparison))
    {
        property(&mut suite, name, &value);
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
    let mut at = 0;
    for notice in notices::notices(summary) {
        for words in [&notice.headline]
            .into_iter()
            .chain(&notice.notes)
            .chain(&notice.command)
        {
            at += 1;
            property(&mut suite, &format!("notice.{at}"), words);
        }
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
    let says = |outcome| {
        summary
            .evals
            .iter()
            .flat_map(|eval| &eval.cases)
            .any(|case| case.outcome == outcome)
            || summary
                .evals
                .iter()
                .any(|eval| eval.private && eval.outcome == outcome)
    };
    let mut status = match summary.gate.decision {
        Decision::Fail if !says(Outcome::Failed) => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        Decision::Incomplete if !says(Outcome::Errored) => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
        Decision::Pending if !says(Outcome::Pending) => TestCaseStatus::skipped(),
        _ => return None,
    };
    if summary.gate.decision != Decision::Pending {
        status.set_type(format!("gate_{}", summary.gate.decision.name()));
    }
    let reasons = summary.gate.reasons.join("; ");
    status.set_message(line(&format!(
        "gate {}: {reasons}",
        summary.gate.decision.name()
    )));
    let mut case = TestCase::new("gate", status);
    case.set_classname("gate");
    case.set_time(Duration::ZERO);
    Some(case)
}

fn eval_suite(
    eval: &EvalResult,
    name: XmlString,
    failures: &FailureIndex,
    tolerates: bool,
) -> TestSuite {
    let mut names = UniqueNames::default();
    let mut suite = TestSuite::new(name.clone());
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
    if eval.private {
        let names = (name.clone(), names.unique(&eval.id));
        suite.add_test_case(private_cases(names, eval, tolerates));
    }
    for case in &eval.cases {
        let names = (name.clone(), names.unique(&case.id));
        let test = test_case(
            names,
            case,
            failures
                .get(&(eval.id.as_str(), case.id.as_str(), case.outcome))
                .copied(),
            tolerates,
        );
        total = total.saturating_add(test.time.unwrap_or_default());
        suite.add_test_case(test);
    }
    suite.set_time(total);
    suite
}

/// All cases of a private dataset as one.
fn private_cases(names: (XmlString, XmlString), eval: &EvalResult, tolerates: bool) -> TestCase {
    let counts = &eval.counts;
    let whole = CaseResult {
        id: eval.id.clone(),
        name: None,
        outcome: eval.outcome,
        score: eval.score,
        cause: None,
        flaky: false,
        first_passes: 0,
        first_graded: 0,
        tags: Vec::new(),
        input: None,
        samples: Vec::new(),
    };
    let failure = Failure {
        eval_id: eval.id.clone(),
        case_id: eval.id.clone(),
        name: eval.name.clone(),
        outcome: eval.outcome,
        cause: None,
        reason: format!(
            "{} passed of {}",
            counts.passed,
            crate::model::private_cases(counts.total)
        ),
        expected: None,
        actual: None,
        details: serde_json::Map::new(),
        samples: 0,
    };
    test_case(names, &whole, Some(&failure), tolerates)
}

/// `names`: of the eval and of the case. `tolerates`: the gate passed, so that a case which did not
/// pass must not turn a server's page red; it is skipped, with its reason.
fn test_case(
    names: (XmlString, XmlString),
    case: &CaseResult,
    failure: Option<&Failure>,
    tolerates: bool,
) -> TestCase {
    let tolerated = tolerates && matches!(case.outcome, Outcome::Failed | Outcome::Errored);
    let mut status = match case.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        _ if tolerated => TestCaseStatus::skipped(),
        Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::Errored => TestCaseStatus::non_success(NonSuccessKind::Error),
        Outcome::Skipped | Outcome::Pending => TestCaseStatus::skipped(),
    };
    let cause = case.cause.map_or(case.outcome.name(), |cause| cause.name());
    if !tolerated && !matches!(case.outcome, Outcome::Skipped | Outcome::Pending) {
        status.set_type(cause);
    }
    let message = message(case, failure);
    let body = failure.and_then(description);
    match (tolerated, body) {
        // The xUnit plugin of Jenkins refuses a skipped test with attributes.
        (true, body) => {
            let said = format!("{}, but the gate passed: {cause}: {message}", case.outcome);
            let said = [Some(said), body].into_iter().flatten();
            status.set_description(xml(&said.collect::<Vec<_>>().join("\n")));
        }
        (false, body) => {
            status.set_message(line(&message));
            if let Some(body) = body {
                status.set_description(xml(&body));
            }
        }
    }
    status.add_reruns(earlier_attempts(case));
    let mut test = TestCase::new(names.1, status);
    test.set_classname(names.0);
    test.time = seconds(
        case.samples
            .iter()
            .map(|sample| sample.duration_ms)
            .sum::<f64>()
            / 1000.0,
    );
    if let Some(about) = about(case) {
        test.set_system_out(xml(&about));
    }
    test
}

/// What is known of a case besides its outcome, a line each.
fn about(case: &CaseResult) -> Option<String> {
    let mut lines = String::new();
    let mut add = |name: &str, value: &str| _ = writeln!(lines, "{name}: {}", line(value).as_str());
    if let Some(name) = &case.name {
        add("name", name);
    }
    if let Some(score) = case.score {
        add("score", &score.to_string());
    }
    if case.flaky {
        add("flaky", "true");
    }
    let retries: u64 = case
        .samples
        .iter()
        .map(|sample| u64::from(sample.infrastructure_retries))
        .sum();
    if retries > 0 {
        add("infrastructure retries", &retries.to_string());
    }
    let earlier = case.samples.iter().filter(|sample| sample.flaky);
    let earlier: usize = earlier.map(|sample| sample.earlier.len()).sum();
    if case.outcome == Outcome::Passed && earlier > limits::RERUNS {
        let more = text::plural(earlier - limits::RERUNS, "more earlier attempt");
        add("omitted", &format!("{more}; {REST}"));
    }
    (!lines.is_empty()).then_some(lines)
}

/// The attempts before the one that passed, of the flaky samples of a case that passed:
/// `flakyFailure` and `flakyError` elements.
fn earlier_attempts(case: &CaseResult) -> Vec<TestRerun> {
    if case.outcome != Outcome::Passed {
        // Servers would read them as further tries of the failure that is shown.
        return Vec::new();
    }
    let flaky = case.samples.iter().filter(|sample| sample.flaky);
    let attempts = flaky.flat_map(|sample| {
        sample
            .earlier
            .iter()
            .enumerate()
            .map(move |(at, e)| (sample, at, e))
    });
    let mut all: Vec<TestRerun> = attempts
        .take(limits::RERUNS)
        .map(|(sample, at, earlier)| {
            let errored = earlier.outcome == Outcome::Errored;
            let kind = if errored {
                NonSuccessKind::Error
            } else {
                NonSuccessKind::Failure
            };
            let mut rerun = TestRerun::new(kind);
            rerun.set_type(
                earlier
                    .cause
                    .map_or(earlier.outcome.name(), |cause| cause.name()),
            );
            let (number, attempt, of) = (sample.index + 1, at + 1, sample.attempts);
            let place = format!("sample {number}, attempt {attempt} of {of}");
            rerun.set_message(line(&format!("{place}: {}", earlier.reason)));
            rerun.set_stack_trace(line(&place));
            rerun
        })
        .collect();
    // The schemas want the failures first.
    all.sort_by_key(|rerun| rerun.kind == NonSuccessKind::Error);
    all
}

fn message(case: &CaseResult, failure: Option<&Failure>) -> String {
    if let Some(reason) = failure
        .map(|failure| failure.reason.as_str())
        .filter(|reason| !reason.trim().is_empty())
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
    let mut body = String::new();
    let reason = failure.reason.trim();
    if reason.contains('\n') {
        let _ = writeln!(body, "{reason}\n");
    }
    let Some(evidence) = FailureEvidence::of(failure, limits::VALUES) else {
        return (!body.is_empty()).then_some(body);
    };
    if let FailureEvidence::Values(ShownValues::Sides { expected, actual }) = &evidence {
        for (label, side) in [("expected", expected), ("actual", actual)] {
            let Some(side) = side else { continue };
            let _ = writeln!(body, "{label}:\n{}", side.text);
            left_out(&mut body, side.more);
        }
        return Some(body);
    }
    let Some((diff, more)) = evidence.as_diff(limits::VALUES.columns) else {
        return Some(body);
    };
    let _ = write!(body, "--- expected\n+++ actual\n{diff}");
    if let Some(more) = more {
        let and = match evidence {
            FailureEvidence::ByPath(_) => "and ",
            FailureEvidence::Values(_) => "",
        };
        let _ = writeln!(body, "... {and}{more}; {REST}");
    }
    Some(body)
}

/// Where what is left out is.
const REST: &str = "the JSON report contains everything";

fn left_out(body: &mut String, more: usize) {
    if more > 0 {
        let _ = writeln!(body, "... {}; {REST}", text::plural(more, "more line"));
    }
}
