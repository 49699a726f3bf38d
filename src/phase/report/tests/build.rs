//! Runs that were counted and decided by the real fold and the real gate, for reports to be made
//! of.

use serde_json::Value;

use crate::gate;
use crate::model::testing::run_started;
use crate::model::*;
use crate::spec::{FailureAction, StepType};
use crate::summary::SummaryFold;

/// A case to be: its samples' attempts.
pub struct RunCase {
    pub id: String,
    pub samples: Vec<Attempt>,
}

pub struct RunEval {
    pub info: EvalInfo,
    pub cases: Vec<RunCase>,
}

pub fn info(id: &str, name: &str, kind: EvalType) -> EvalInfo {
    EvalInfo {
        id: id.to_owned(),
        name: name.to_owned(),
        description: None,
        kind,
        category: None,
        tags: Vec::new(),
        weight: 1.0,
        difficulty: None,
        criticality: None,
        pass_rate_threshold: 1.0,
        score_threshold: None,
        source: None,
        dependencies: None,
        dataset: None,
    }
}

/// An attempt with one grade.
pub fn attempt(grade: Grade) -> Attempt {
    let verdict = Verdict {
        outcome: grade.outcome,
        score: grade.score,
        cause: grade.cause,
        reason: grade.reason.clone(),
        grades: vec![grade],
        not_run: Vec::new(),
    };
    Attempt {
        output: Some(Output::text("out")),
        latency_ms: Some(10.0),
        duration_ms: 11.0,
        ..testing::attempt(verdict)
    }
}

pub fn passed() -> Attempt {
    attempt(Grade::passed(GraderType::Code, "exact_match"))
}

pub fn wrong(expected: impl Into<Value>, actual: impl Into<Value>) -> Attempt {
    let grade = Grade::failed(
        GraderType::Code,
        "exact_match",
        Cause::WrongAnswer,
        "the output differs",
    );
    attempt(
        grade
            .with_expected(expected.into())
            .with_actual(actual.into()),
    )
}

pub fn errored(cause: Cause, reason: &str) -> Attempt {
    attempt(Grade::errored(
        GraderType::Code,
        "code_execution",
        cause,
        reason,
    ))
}

pub fn pending() -> Attempt {
    attempt(Grade::pending(
        GraderType::Human,
        "human",
        "waits for a human grade",
    ))
}

/// An eval of one case with its id.
pub fn eval(info: EvalInfo, samples: Vec<Attempt>) -> RunEval {
    let case = RunCase {
        id: info.id.clone(),
        samples,
    };
    RunEval {
        info,
        cases: vec![case],
    }
}

pub fn at_least(metric: &str, value: f64) -> Threshold {
    Threshold {
        metric: metric.to_owned(),
        bound: Bound::Min,
        value,
        on: Figure::Value,
    }
}

fn started(gate: GateSpec, ks: &[u32]) -> RunStarted {
    let mut started = run_started();
    started.run.suite_name = "Authentication".into();
    started.suite_path = "/home/somebody/project/evals/auth.yaml".into();
    (started.config.gate, started.config.ks) = (gate, ks.to_vec());
    started
}

/// Plans, runs, counts and decides.
pub fn summary(evals: Vec<RunEval>, thresholds: Vec<Threshold>, ks: &[u32]) -> Summary {
    let spec = GateSpec {
        thresholds,
        ..GateSpec::default()
    };
    let mut events = vec![Event::RunStarted(Box::new(started(spec, ks)))];
    for RunEval { info, cases } in &evals {
        events.push(Event::EvalPlanned(EvalPlanned {
            eval: info.clone(),
            cases: cases.len(),
        }));
        let planned = cases
            .iter()
            .map(|case| testing::planned_case(&case.id, case.samples.len() as u32));
        events.push(Event::CasesPlanned(CasesPlanned {
            eval: info.id.clone(),
            cases: planned.collect(),
        }));
    }
    for RunEval { info, cases } in evals {
        for case in cases {
            for (sample, attempt) in case.samples.into_iter().enumerate() {
                events.push(Event::SampleFinished(Box::new(SampleFinished {
                    eval: info.id.clone(),
                    case: case.id.clone(),
                    sample: sample as u32,
                    attempts: vec![attempt],
                    finished_at: "2026-03-04T05:06:08.000Z".into(),
                    reused_from: None,
                })));
            }
        }
    }
    events.push(Event::RunFinished(RunFinished {
        timestamp: "2026-03-04T05:06:09.000Z".into(),
        duration_seconds: 2.0,
        interrupted: false,
        history: Vec::new(),
        expired_graces: None,
        changed_files: Vec::new(),
    }));
    let mut fold = SummaryFold::new();
    events.iter().for_each(|event| fold.push(event).unwrap());
    let report = fold.finish().unwrap();
    let gate = gate::decide(
        report.gate_spec(),
        &report.tallies,
        report.interrupted,
        &report.shards,
    );
    report.with_gate(gate)
}

/// As the verb keeps it: samples are left out of cases.
pub fn eval_step(name: &str, summary: Summary, metrics: &[&str]) -> StepResult {
    let mut summary = summary;
    for case in summary.evals.iter_mut().flat_map(|eval| &mut eval.cases) {
        case.samples.clear();
    }
    let decision = summary.gate.decision;
    StepResult {
        status: StepStatus::of(decision),
        reason: summary.gate.reasons.join("; "),
        eval: Some(Box::new(EvalStepResult {
            suite: "./evals/auth.yaml".into(),
            journal: "results/2026-03-04/run-050607.journal.jsonl".into(),
            metrics: metrics.iter().map(|metric| (*metric).to_owned()).collect(),
            eval_report: summary,
        })),
        ..step(StepType::Eval, name, StepStatus::Passed)
    }
}

pub fn step(kind: StepType, name: &str, status: StepStatus) -> StepResult {
    StepResult {
        copy_of: None,
        kind,
        name: name.to_owned(),
        action: FailureAction::Block,
        status,
        reason: String::new(),
        duration_seconds: 1.5,
        exit_code: None,
        output_tail: String::new(),
        tests: None,
        eval: None,
    }
}

pub fn tests(name: &str, passed: usize, failures: Vec<TestFailure>) -> StepResult {
    let failed = failures.len();
    let status = if failed == 0 {
        StepStatus::Passed
    } else {
        StepStatus::Failed
    };
    StepResult {
        exit_code: Some(i32::from(failed > 0)),
        tests: Some(TestResults {
            total: passed + failed,
            passed,
            failed,
            skipped: 0,
            source: "junit".into(),
            files: vec!["target/junit.xml".into()],
            failures,
            omitted_failures: 0,
            notes: Vec::new(),
        }),
        ..step(StepType::Test, name, status)
    }
}

pub fn report(steps: Vec<StepResult>) -> PhaseReport {
    let rank = |status: StepStatus| match status {
        StepStatus::Failed => 3,
        StepStatus::Incomplete => 2,
        StepStatus::Pending => 1,
        _ => 0,
    };
    let blocking = steps
        .iter()
        .filter(|step| step.action == FailureAction::Block);
    let worst = blocking
        .max_by_key(|step| rank(step.status))
        .map_or(0, |step| rank(step.status));
    let (decision, exit_code) = [
        (Decision::Pass, 0),
        (Decision::Pending, 4),
        (Decision::Incomplete, 3),
        (Decision::Fail, 1),
    ][worst];
    let told = steps
        .iter()
        .filter(|step| rank(step.status) > 0 && !step.reason.is_empty());
    let reasons = told
        .map(|step| format!("{}: {}", step.name, step.reason))
        .collect();
    PhaseReport {
        metadata: PhaseMetadata {
            phase_id: "auth".into(),
            name: "Implement user authentication".into(),
            description: None,
            file: "plans/auth.yaml".into(),
            when: None,
            timestamp: "2026-03-04T05:06:07.000Z".into(),
            duration_seconds: 12.5,
            harness_version: "0.1.0".into(),
            git: Some(GitState {
                commit: "0123456789abcdef0123456789abcdef01234567".into(),
                dirty: true,
            }),
        },
        gate: PhaseGate {
            decision,
            exit_code,
            reasons,
            interrupted: false,
        },
        implementation: Some(Implementation {
            base: "main".into(),
            base_commit: "89abcdef0123456789abcdef0123456789abcdef".into(),
            files_modified: 5,
            lines_added: 234,
            lines_removed: 45,
            files: Vec::new(),
            omitted_files: 0,
        }),
        recommendations: super::super::recommendations(&steps),
        notes: Vec::new(),
        steps,
    }
}
