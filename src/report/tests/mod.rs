//! One rich summary, and what each format makes of it.

mod annotations;
mod comment;
mod comparison;
mod differences;
mod formats;
mod hostile;
mod judged;
mod junit;
mod junit_rules;
mod markdown;
mod models;
mod sides;
mod terminal;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{TerminalOptions, extension, render, terminal as screen};
use crate::model::{
    Bound, CaseResult, Cause, Counts, Decision, EarlierAttempt, Environment, Estimate, EvalResult,
    EvalType, Failure, Figure, Gate, GitState, Metadata, Omitted, Outcome, ReportFormat,
    RunIdentity, SampleResult, SandboxState, Shard, Summary, ThresholdResult, Totals, Trust,
    TrustCounts,
};

pub(in crate::report) fn sample(
    outcome: Outcome,
    cause: Option<Cause>,
    reason: &str,
) -> SampleResult {
    SampleResult {
        reused_from: None,
        index: 0,
        outcome,
        score: outcome
            .is_graded()
            .then(|| f64::from(u8::from(outcome == Outcome::Passed))),
        cause,
        reason: reason.to_owned(),
        output: None,
        output_truncated: false,
        thoughts: None,
        workspace: None,
        trajectory: None,
        extracted: None,
        grades: Vec::new(),
        metrics: BTreeMap::new(),
        attempts: 1,
        earlier: Vec::new(),
        flaky: false,
        infrastructure_retries: 0,
        latency_ms: Some(12.0),
        duration_ms: 250.0,
        usage: None,
        finish: None,
        call: None,
        not_run: Vec::new(),
    }
}

fn case(id: &str, outcome: Outcome, cause: Option<Cause>, reason: &str) -> CaseResult {
    CaseResult {
        id: id.to_owned(),
        name: None,
        outcome,
        score: outcome
            .is_graded()
            .then(|| f64::from(u8::from(outcome == Outcome::Passed))),
        cause,
        flaky: false,
        first_passes: u32::from(outcome == Outcome::Passed),
        first_graded: u32::from(outcome.is_graded()),
        tags: Vec::new(),
        input: None,
        samples: vec![sample(outcome, cause, reason)],
    }
}

fn eval(
    id: &str,
    name: &str,
    kind: EvalType,
    outcome: Outcome,
    cases: Vec<CaseResult>,
) -> EvalResult {
    let mut counts = Counts::default();
    cases.iter().for_each(|case| counts.add(case.outcome));
    let scores: Vec<f64> = cases.iter().filter_map(|case| case.score).collect();
    EvalResult {
        private: false,
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        category: Some("code | gen".to_owned()),
        tags: vec!["fast".to_owned()],
        weight: 1.0,
        difficulty: None,
        criticality: None,
        source: None,
        outcome,
        score: (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64),
        counts,
        cases,
    }
}

#[rustfmt::skip]
fn failure(ids: (&str, &str), name: &str, cause: Cause, reason: &str, expected: Option<Value>, actual: Option<Value>) -> Failure {
    Failure {
        eval_id: ids.0.to_owned(), case_id: ids.1.to_owned(), name: name.to_owned(), outcome: cause.outcome(),
        cause: Some(cause), reason: reason.to_owned(), expected, actual, details: serde_json::Map::new(), samples: 1,
    }
}

fn estimate(
    value: Option<f64>,
    ci: Option<[f64; 2]>,
    range: Option<[f64; 2]>,
    undefined: Option<&str>,
) -> Estimate {
    Estimate {
        value,
        ci,
        level: 0.95,
        method: "empirical_likelihood".to_owned(),
        n_cases: 6,
        worst: range.map(|r| r[0]),
        best: range.map(|r| r[1]),
        undefined: undefined.map(str::to_owned),
        note: None,
    }
}

pub(super) const HOSTILE: &str = "\x1b[2J\x1b]0;owned\x07</script><img src=x> `rm -rf` | [a](http://evil) @admin\u{202e}\n# GATE PASS";

/// Passes, failures of several causes, errored, pending, skipped, long, wide and hostile texts.
pub(super) fn rich() -> Summary {
    use EvalType::{Capability, Regression};
    use Outcome::{Errored, Failed, Passed, Pending, Skipped};
    let evals = vec![
        eval(
            "cap-add-001",
            "Adds two numbers",
            Capability,
            Passed,
            vec![case("cap-add-001", Passed, None, "")],
        ),
        eval(
            "cap-code-002",
            "Writes a parser for configuration files with comments and escapes",
            Capability,
            Failed,
            vec![
                case(
                    "lists",
                    Failed,
                    Some(Cause::WrongAnswer),
                    "the output differs from what was expected in line 2",
                ),
                case(
                    "日本語の長い名前のケース",
                    Failed,
                    Some(Cause::Timeout),
                    "no answer within 10 s",
                ),
                case("maps", Passed, None, ""),
            ],
        ),
        eval(
            "cap-judge-003",
            "数学の問題を解く 🧮",
            Capability,
            Errored,
            vec![case(
                "cap-judge-003",
                Errored,
                Some(Cause::JudgeUnreachable),
                "the judge did not answer: connection refused",
            )],
        ),
        eval(
            "cap-human-004",
            "Tone of the reply",
            Capability,
            Pending,
            vec![case("cap-human-004", Pending, None, "")],
        ),
        eval(
            "reg-api-001",
            "Orders stay as they are",
            Regression,
            Failed,
            vec![case(
                "reg-api-001",
                Failed,
                Some(Cause::WrongAnswer),
                HOSTILE,
            )],
        ),
        eval(
            "reg-skip-002",
            HOSTILE,
            Regression,
            Skipped,
            vec![case("reg-skip-002", Skipped, Some(Cause::MaxFail), "")],
        ),
    ];
    let failures = vec![
        failure(
            ("cap-code-002", "lists"),
            "A list of items",
            Cause::WrongAnswer,
            "the output differs from what was expected in line 2",
            Some(json!("def parse(s):\n    return [1, 2]\n\nprint('done')")),
            Some(json!("def parse(s):\n    return [1, 3]  \n\nprint('done')")),
        ),
        failure(
            ("cap-code-002", "日本語の長い名前のケース"),
            "",
            Cause::Timeout,
            "no answer within 10 s",
            None,
            None,
        ),
        failure(
            ("cap-judge-003", "cap-judge-003"),
            "",
            Cause::JudgeUnreachable,
            "the judge did not answer: connection refused",
            None,
            None,
        ),
        failure(
            ("reg-api-001", "reg-api-001"),
            "Orders stay as they are",
            Cause::WrongAnswer,
            HOSTILE,
            Some(json!("ok")),
            Some(json!(format!("```\n{HOSTILE}\n````"))),
        ),
    ];
    let metrics: [(&str, Estimate); 6] = [
        (
            "pass_at_1",
            estimate(Some(0.4), Some([0.117, 0.769]), Some([0.25, 0.625]), None),
        ),
        (
            "pass_at_10",
            estimate(
                None,
                None,
                None,
                Some("10 samples per case are needed; there is 1"),
            ),
        ),
        (
            "pass_at_3",
            estimate(
                None,
                None,
                None,
                Some("3 samples per case are needed; there is 1"),
            ),
        ),
        (
            "pass_hat_1",
            estimate(Some(0.4), Some([0.117, 0.769]), Some([0.25, 0.625]), None),
        ),
        (
            "pass_hat_1_unbiased",
            estimate(Some(0.4), Some([0.117, 0.769]), Some([0.25, 0.625]), None),
        ),
        ("latency_p95_ms", estimate(Some(1234.0), None, None, None)),
    ];
    let mut cases = Counts::default();
    evals
        .iter()
        .flat_map(|eval| &eval.cases)
        .for_each(|case| cases.add(case.outcome));
    let by_type = |kind: EvalType| {
        let mut counts = Counts::default();
        evals
            .iter()
            .filter(|eval| eval.kind == kind)
            .for_each(|eval| counts.add(eval.outcome));
        (kind, counts)
    };
    let summary = Totals {
        total_evals: 6,
        passed: 1,
        failed: 2,
        errored: 1,
        skipped: 1,
        pending: 1,
        pass_rate: Some(1.0 / 3.0),
        weighted_score: Some(0.4444),
        cases,
        samples: cases,
        flaky: 1,
        infrastructure_retries: 0,
        by_type: BTreeMap::from([by_type(Capability), by_type(Regression)]),
        by_category: BTreeMap::from([("code | gen".to_owned(), cases)]),
        by_tag: BTreeMap::new(),
        by_grader: BTreeMap::new(),
        by_cause: BTreeMap::from([("wrong_answer".to_owned(), 2), ("timeout".to_owned(), 1)]),
        by_trust: BTreeMap::from([
            (
                Trust::Harness,
                TrustCounts {
                    samples: 1_200,
                    grades: 1_300,
                },
            ),
            (
                Trust::Split,
                TrustCounts {
                    samples: 44,
                    grades: 44,
                },
            ),
        ]),
        adjudicated: 2,
        repeated_cases: 0,
        empty_passes: 0,
    };
    Summary {
        warnings: Vec::new(),
        metadata: Metadata {
            reused: None,
            run: RunIdentity {
                suite_name: "Parser suite".to_owned(),
                suite_version: Some("1.2.0".to_owned()),
                run_id: "eval-20260102-120000".to_owned(),
                timestamp: "2026-01-02T12:00:00Z".to_owned(),
                harness_version: "0.1.0".to_owned(),
                environment: Environment {
                    target: "solver".to_owned(),
                    target_type: "command".to_owned(),
                    model: None,
                    model_address: None,
                    sampling: None,
                    budget: None,
                    prompt: None,
                    git: Some(GitState {
                        commit: "0123456789abcdef0123".to_owned(),
                        dirty: true,
                    }),
                    sandbox: Some(SandboxState {
                        tier: "userns".to_owned(),
                        enforced: true,
                        notes: Vec::new(),
                        workspaces: Vec::new(),
                        landlock_abi: None,
                        cgroup: Some("v2".to_owned()),
                    }),
                    os: "linux".to_owned(),
                    arch: "x86_64".to_owned(),
                    cpus: 8,
                    interpreters: BTreeMap::new(),
                },
                ..RunIdentity::default()
            },
            interval_scope: crate::model::IntervalScope::default(),
            duration_seconds: 12.34,
            interrupted: false,
            joined: Vec::new(),
            suite_path: Some("evals/eval-suite.yaml".to_owned()),
            rerun_arguments: Vec::new(),
        },
        summary,
        metrics: metrics
            .iter()
            .map(|(name, estimate)| ((*name).to_owned(), estimate.value))
            .collect(),
        estimates: metrics
            .into_iter()
            .map(|(name, estimate)| (name.to_owned(), estimate))
            .collect(),
        gate: Gate {
            decision: Decision::Fail,
            exit_code: 1,
            thresholds: vec![
                ThresholdResult {
                    metric: "pass_at_1".into(),
                    value: Some(0.4),
                    bound: Bound::Min,
                    threshold: 0.85,
                    on: Figure::Value,
                    status: Decision::Fail,
                },
                ThresholdResult {
                    metric: "latency_p95_ms".into(),
                    value: Some(1234.0),
                    bound: Bound::Max,
                    threshold: 2000.0,
                    on: Figure::Value,
                    status: Decision::Pass,
                },
            ],
            reasons: vec![
                "pass@1 is 0.400 and must be at least 0.850".to_owned(),
                HOSTILE.to_owned(),
            ],
        },
        disclosure: None,
        models: None,
        judges: None,
        people: None,
        comparison: None,
        history: Vec::new(),
        fail_on: None,
        evals,
        failures,
        recommendations: vec![
            "Fix the parser (cap-code-002)".to_owned(),
            "Start the judge and run with --resume latest".to_owned(),
        ],
        truncated: false,
        list_filters: Vec::new(),
        omitted: None,
    }
}

pub(super) fn unsandboxed() -> Summary {
    let mut summary = rich();
    summary.metadata.environment.sandbox = Some(SandboxState {
        tier: "none".to_owned(),
        enforced: false,
        notes: vec!["programs can read the network".to_owned()],
        workspaces: Vec::new(),
        landlock_abi: None,
        cgroup: None,
    });
    summary
}

/// A run in which all passed.
pub(super) fn green(evals: usize) -> Summary {
    let mut summary = rich();
    summary.evals = (0..evals)
        .map(|n| {
            let id = format!("cap-{n:03}");
            eval(
                &id,
                "Adds",
                EvalType::Capability,
                Outcome::Passed,
                vec![case(&id, Outcome::Passed, None, "")],
            )
        })
        .collect();
    let mut counts = Counts::default();
    (0..evals).for_each(|_| counts.add(Outcome::Passed));
    summary.summary = Totals {
        total_evals: evals,
        passed: evals,
        pass_rate: Some(1.0),
        cases: counts,
        samples: counts,
        ..Totals::default()
    };
    summary.failures.clear();
    summary.recommendations.clear();
    summary.gate = Gate {
        decision: Decision::Pass,
        exit_code: 0,
        thresholds: Vec::new(),
        reasons: Vec::new(),
    };
    summary
}

fn terminal_text(summary: &Summary, options: &TerminalOptions) -> String {
    let mut out = Vec::new();
    let reports = [
        "results/2026-01-02/run-120000.json".to_owned(),
        "results/2026-01-02/run-120000.md".to_owned(),
    ];
    screen(summary, options, &reports, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn rendered(format: ReportFormat, summary: &Summary) -> String {
    let mut out = Vec::new();
    render(format, summary, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A sample that passed only on its third attempt.
fn flaky_case(id: &str) -> CaseResult {
    let mut case = case(id, Outcome::Passed, None, "");
    case.flaky = true;
    case.first_passes = 0;
    let sample = &mut case.samples[0];
    (sample.attempts, sample.flaky, sample.infrastructure_retries) = (3, true, 2);
    let earlier = |cause: Cause, reason: &str| EarlierAttempt {
        outcome: cause.outcome(),
        cause: Some(cause),
        reason: reason.to_owned(),
    };
    sample.earlier = vec![
        earlier(Cause::WrongAnswer, "expected 4, got | 5"),
        earlier(Cause::JudgeUnreachable, "no answer"),
    ];
    case
}

/// Passed, with flaky samples in three cases (of one only the case is known), and calls that were
/// made again.
fn flaky() -> Summary {
    let mut summary = green(2);
    summary.evals[0].cases = vec![flaky_case("cap-000"), flaky_case(HOSTILE)];
    summary.evals[1].cases = vec![flaky_case("cap-001")];
    summary.evals[1].cases[0].samples.clear();
    summary.summary.flaky = 3;
    summary.summary.infrastructure_retries = 4;
    summary
}

/// So many failed cases, one to an eval when `spread`, else all in one.
fn red(cases: usize, spread: bool) -> Summary {
    let mut summary = green(0);
    let failed = |n: usize| {
        case(
            &format!("case-{n}"),
            Outcome::Failed,
            Some(Cause::WrongAnswer),
            "it is wrong",
        )
    };
    let of = |at: usize, cases| {
        eval(
            &format!("cap-{at}"),
            "Adds",
            EvalType::Capability,
            Outcome::Failed,
            cases,
        )
    };
    summary.evals = match spread {
        true => (0..cases).map(|n| of(n, vec![failed(n)])).collect(),
        false => vec![of(0, (0..cases).map(failed).collect())],
    };
    summary.failures = (0..cases)
        .map(|n| {
            let ids = (
                format!("cap-{}", if spread { n } else { 0 }),
                format!("case-{n}"),
            );
            let (expected, actual) = (json!("a\nb\nc".repeat(10)), json!("a\nx\nc".repeat(10)));
            failure(
                (&ids.0, &ids.1),
                "",
                Cause::WrongAnswer,
                "it is wrong",
                Some(expected),
                Some(actual),
            )
        })
        .collect();
    let evals = summary.evals.len();
    let counts = Counts {
        total: cases,
        failed: cases,
        pass_rate: Some(0.0),
        ..Counts::default()
    };
    summary.summary = Totals {
        total_evals: evals,
        failed: evals,
        pass_rate: Some(0.0),
        cases: counts,
        samples: counts,
        ..Totals::default()
    };
    summary.gate.decision = Decision::Fail;
    summary
}

/// The data of a page in the block of this name.
pub(crate) fn block_of(page: &str, id: &str) -> serde_json::Value {
    let begin = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, rest) = page
        .split_once(&begin)
        .unwrap_or_else(|| panic!("no block {id}"));
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

/// Each name of an object on a line, with its value.
pub(crate) fn lines_of(object: &serde_json::Value) -> String {
    let lines: Vec<String> = object
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    lines.join("\n")
}

/// The tags of a page in their order, with their attributes.
pub(crate) fn markup_of(page: &str) -> Vec<&str> {
    let head = page.find("<style>").unwrap();
    let script = page.find("<script type=\"module\">").unwrap();
    let data = page.find("</noscript>").unwrap();
    let mut found = Vec::new();
    for part in [
        &page[..head],
        &page[page.find("</style>").unwrap()..data],
        &page[data..script],
    ] {
        found.extend(
            part.split('<')
                .skip(1)
                .map(|tag| tag.split_once('>').map_or(tag, |(tag, _)| tag)),
        );
    }
    found
}
