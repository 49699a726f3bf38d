//! The least of plans, evals and cases, for tests to change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::*;

pub fn case(id: &str) -> Case {
    let input = CaseInput::Prompt {
        text: String::new(),
        context: None,
    };
    let grading = CaseGrading {
        python: None,
        graders: Vec::new(),
        combine: Combine::All,
        demands: None,
    };
    Case {
        id: id.to_owned(),
        name: None,
        input_hash: Fingerprint::of(&input),
        grading_hash: Fingerprint::of(&grading),
        data_hash: Fingerprint::default(),
        input,
        context_told: false,
        grading,
        extract: Vec::new(),
        samples: None,
        timeout: Duration::from_secs(1),
        retries: None,
        max_latency: None,
        target: None,
        expected: None,
        solution: None,
        solution_work: None,
        dataset_format: None,
        baseline: None,
        workspace: None,
        tags: Vec::new(),
        difficulty: None,
        origin: format!("{id}.yaml:1:1"),
    }
}

/// A case as a plan has it, graded by code.
pub fn planned_case(id: &str, samples: u32) -> CasePlanned {
    CasePlanned {
        id: id.to_owned(),
        name: None,
        samples,
        graders: vec![GraderType::Code],
        input_hash: String::new(),
        grading_hash: String::new(),
        data_hash: None,
        target_hash: None,
        call_hash: None,
        tags: Vec::new(),
        position: None,
        input: None,
        combine: None,
    }
}

/// An attempt without an output.
pub fn attempt(verdict: Verdict) -> Attempt {
    Attempt {
        output: None,
        stored: None,
        extracted: None,
        verdict,
        latency_ms: None,
        duration_ms: 1.0,
        infrastructure_retries: 0,
        call: None,
        unanswered: false,
        redacted: false,
    }
}

/// The beginning of a run of suite `Suite`.
pub fn run_started() -> RunStarted {
    RunStarted {
        journal_version: JOURNAL_VERSION,
        run: RunIdentity {
            suite_name: "Suite".into(),
            run_id: "eval-20260304-050607".into(),
            timestamp: "2026-03-04T05:06:07.000Z".into(),
            harness_version: "0.1.0".into(),
            ..RunIdentity::default()
        },
        config: RunConfig {
            ks: vec![1],
            seed: 7,
            include_details: true,
            ..RunConfig::default()
        },
        suite_path: "s.yaml".into(),
        ..RunStarted::default()
    }
}

/// A model behind an API of OpenAI's kind, without key and price.
pub fn endpoint() -> Endpoint {
    Endpoint {
        address_variable: None,
        api: ProviderApi::Openai,
        provider: "openai".to_owned(),
        model: "m".to_owned(),
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        headers: BTreeMap::new(),
        dialect: None,
        key: None,
        limits: LaneLimits::default(),
        patience: CallLimits::default(),
        ca_file: None,
        insecure: false,
        price: None,
        replay: None,
    }
}

/// A judge of one criterion on [1, 5], asked once without repairs.
pub fn judge() -> Judge {
    let model = ModelTarget {
        endpoint: endpoint(),
        system: None,
        sampling: SamplingOptions::default(),
        show_context: true,
        keep_thoughts: false,
        training_cutoff: None,
    };
    Judge {
        models: vec![model],
        votes: 1,
        panel: PanelRule::Median,
        rubric: "Is it clear?".to_owned(),
        criteria: vec![Criterion {
            name: "clarity".to_owned(),
            description: String::new(),
            weight: 1.0,
            scale: Some(Judge::RANGE),
            levels: BTreeMap::new(),
        }],
        scoring: JudgeScoring::Numeric {
            range: Judge::RANGE,
        },
        pass_threshold: Judge::PASS_THRESHOLD,
        examples: Vec::new(),
        prompt: None,
        reference: None,
        alternatives: Vec::new(),
        must_include: Vec::new(),
        must_not_include: Vec::new(),
        max_chars: Judge::MAX_CHARS,
        shown: ShownParts::default(),
        repairs: 0,
        structured: true,
        timeout: Judge::TIMEOUT,
    }
}

pub fn eval(id: &str, cases: EvalCases) -> Eval {
    let info = EvalInfo {
        id: id.to_owned(),
        name: id.to_owned(),
        description: None,
        kind: EvalType::Capability,
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
    };
    Eval {
        info,
        parallel: true,
        prompts: Default::default(),
        cases,
    }
}

pub fn plan(evals: Vec<Arc<Eval>>) -> Plan {
    Plan {
        suite: SuiteInfo {
            name: String::new(),
            version: None,
            description: None,
            path: "s.yaml".into(),
            dir: "/".into(),
            root: "/".into(),
        },
        target_name: String::new(),
        target: None,
        target_hash: String::new(),
        dependencies: Default::default(),
        excuses: Vec::new(),
        unread_vars: Default::default(),
        whole_hash: String::new(),
        prompt: None,
        evals,
        whole: Vec::new(),
        shard: None,
        settings: PlanSettings {
            max_workers: 4,
            in_flight: 4,
            ks: vec![1],
            interval_scope: IntervalScope::default(),
            seed: 0,
            timeout_global: None,
            grade_timeout: PlanSettings::GRADE_TIMEOUT,
            retry_failed: 0,
            max_fail: None,
            allow_unsandboxed: false,
            sandbox: SandboxDemand::default(),
            models: Default::default(),
        },
        gate: GateSpec::default(),
        composites: Vec::new(),
        score_metrics: Vec::new(),
        again: false,
        reporting: ReportSettings {
            formats: Vec::new(),
            output_dir: "/".into(),
            include_details: true,
            notify_on_failure: false,
            channels: Vec::new(),
        },
        baselines: Default::default(),
        against: None,
        readable: Vec::new(),
        secrets: Vec::new(),
    }
}

/// A verdict of one judge that passed, by the criterion of [`judge`]: 4 of 1 to 5.
pub fn judged() -> Judged {
    let vote = vote("openai:judge", Ok(0.75));
    Judged {
        criteria: vec![JudgedCriterion {
            name: "clarity".to_owned(),
            weight: 1.0,
            score: 4.into(),
            share: 0.75,
            scale: Some(Judge::RANGE),
            spread: None,
        }],
        score: Some(4.0),
        scale: Some(Judge::RANGE),
        pass_threshold: Judge::PASS_THRESHOLD,
        justification: vote.justification.clone(),
        votes: vec![vote],
        asked: JudgeQuestion {
            id: "00112233445566778899aabbccddeeff".to_owned(),
            system: "You judge.".to_owned(),
            prompt: "Is it clear?".to_owned(),
        },
        ..Judged::default()
    }
}

/// A vote with a share of the scale, or why it could not be used.
pub fn vote(model: &str, share: Result<f64, ReplyFault>) -> JudgeVote {
    let passed = share.map(|share| share >= Judge::PASS_THRESHOLD);
    let errored = share
        .err()
        .map(|fault| format!("its answers could not be used ({})", fault.name()));
    JudgeVote {
        model: model.to_owned(),
        index: 0,
        outcome: match passed {
            Ok(true) => Outcome::Passed,
            Ok(false) => Outcome::Failed,
            Err(_) => Outcome::Errored,
        },
        cause: share.err().map(|_| Cause::JudgeUnparseable),
        reason: errored.unwrap_or_default(),
        score: share.ok(),
        scores: share
            .ok()
            .map(|share| ("clarity".to_owned(), (1.0 + 4.0 * share).into()))
            .into_iter()
            .collect(),
        said_passed: passed.ok(),
        said_score: None,
        justification: if share.is_ok() {
            "It is clear where it matters.".to_owned()
        } else {
            String::new()
        },
        unknown: Vec::new(),
        replies: vec![JudgeReply {
            text: "{}".to_owned(),
            finish: Some(FinishReason::Stop),
            fault: share.err(),
            why: share.err().map_or(String::new(), |_| {
                "there is no whole JSON object in it".to_owned()
            }),
            repair: String::new(),
        }],
        calls: vec![JudgeCall {
            call: ModelCall {
                model: model.to_owned(),
                requests: 1,
                ..ModelCall::default()
            },
            usage: Some(Usage {
                input_tokens: 100,
                output_tokens: 20,
                cost_usd: Some(0.001),
            }),
            answered: true,
            finish: Some(FinishReason::Stop),
            latency_ms: Some(500.0),
        }],
    }
}

/// A grade by judges.
pub fn judged_grade(judged: Judged, outcome: Outcome, cause: Option<Cause>) -> Grade {
    let mut grade = Grade::passed(GraderType::Model, "model");
    (grade.outcome, grade.cause) = (outcome, cause);
    grade.score = judged
        .criteria
        .first()
        .map(|criterion| criterion.share)
        .filter(|_| outcome.is_graded());
    grade.judged = Some(Box::new(judged));
    grade
}

/// A run of suite `S`.
pub fn compared_side(label: &str) -> ComparedSide {
    ComparedSide {
        label: label.into(),
        source: ScoresSource::Journals(vec![format!("results/{label}.journal.jsonl")]),
        suite: "S".into(),
        suite_version: None,
        target: "t".into(),
        target_type: "recorded".into(),
        target_hash: None,
        model: None,
        run_id: label.into(),
        timestamp: "2026-03-04T05:06:07.000Z".into(),
        commit: None,
        dirty: false,
        harness_version: "0.1.0".into(),
        filters: vec![],
        shards: vec![],
        interrupted: false,
        regrade_of: None,
        changed_since: None,
        reused_from: vec![],
        capture: false,
    }
}

/// Two runs that do not differ, and of which nothing was tested.
pub fn comparison() -> Comparison {
    Comparison {
        scope: IntervalScope::TheseCases,
        reference: compared_side("a"),
        candidate: compared_side("b"),
        verdict: ComparisonVerdict::None,
        verdict_worst: ComparisonVerdict::None,
        verdict_best: ComparisonVerdict::None,
        sentences: vec![],
        metrics: vec![MetricDifference {
            name: "pass_at_1".into(),
            n: 10,
            unit: "case".into(),
            reference: Some(0.5),
            candidate: Some(0.5),
            difference: Some(0.0),
            ci: None,
            method: "none".into(),
            higher_is_better: Some(true),
            test: None,
            worst: None,
            best: None,
            undefined: None,
        }],
        groups: vec![],
        cases: CaseChanges::default(),
        detectable: None,
        notes: vec![],
        settings: ComparisonSettings {
            alpha: 0.05,
            level: 0.95,
            power: 0.8,
            resamples: 10_000,
            seed: 7,
            metrics: vec!["pass_at_1".into()],
            by: vec![],
            effect: None,
            candidates: 1,
            allow_changed: false,
        },
    }
}
