//! Runs, and what is recommended after them.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::{
    Bound, Counts, Figure, Grade, GraderType, ReplyFault, SampleResult, ThresholdResult, Usage,
};
use crate::spec::words::Difficulty;
use Outcome::{Errored, Failed, Passed, Pending, Skipped};

/// A run, put together case by case.
struct Run {
    evals: Vec<EvalResult>,
    failures: Vec<Failure>,
    causes: BTreeMap<String, usize>,
    gate: Gate,
    omitted: Omitted,
    suite: Option<&'static str>,
    judges: Option<JudgeHealth>,
    regrade_of: Option<&'static str>,
}

fn run() -> Run {
    let gate = Gate {
        decision: Decision::Fail,
        exit_code: 1,
        thresholds: Vec::new(),
        reasons: Vec::new(),
    };
    let (evals, failures) = (Vec::new(), Vec::new());
    let omitted = Omitted::default();
    Run {
        evals,
        failures,
        causes: BTreeMap::new(),
        gate,
        omitted,
        suite: None,
        judges: None,
        regrade_of: None,
    }
}

fn sample(outcome: Outcome) -> SampleResult {
    SampleResult {
        reused_from: None,
        index: 0,
        outcome,
        score: None,
        cause: None,
        reason: String::new(),
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
        latency_ms: None,
        duration_ms: 1.0,
        usage: None,
        finish: None,
        call: None,
        not_run: Vec::new(),
    }
}

impl Run {
    /// One more eval; its cases follow.
    fn eval(mut self, id: &str, name: &str) -> Self {
        let regression = id.starts_with("reg-");
        self.evals.push(EvalResult {
            private: false,
            id: id.to_owned(),
            name: name.to_owned(),
            kind: if regression {
                EvalType::Regression
            } else {
                EvalType::Capability
            },
            category: None,
            tags: Vec::new(),
            weight: 1.0,
            difficulty: None,
            criticality: None,
            source: None,
            outcome: Passed,
            score: None,
            counts: Counts::default(),
            cases: Vec::new(),
        });
        self
    }

    fn with(mut self, change: impl FnOnce(&mut EvalResult)) -> Self {
        change(self.evals.last_mut().unwrap());
        self
    }

    fn tagged(self, tag: &str) -> Self {
        self.with(|eval| eval.tags.push(tag.to_owned()))
    }

    fn case(mut self, id: &str, outcome: Outcome, score: Option<f64>) -> Self {
        let eval = self.evals.last_mut().unwrap();
        eval.cases.push(CaseResult {
            id: id.to_owned(),
            name: None,
            outcome,
            score,
            cause: None,
            flaky: false,
            first_passes: 0,
            first_graded: 1,
            tags: Vec::new(),
            input: None,
            samples: vec![sample(outcome)],
        });
        eval.counts.add(outcome);
        let worse = [Passed, Pending, Skipped, Errored, Failed];
        let rank = |outcome| worse.iter().position(|o| *o == outcome);
        eval.outcome = if rank(outcome) > rank(eval.outcome) {
            outcome
        } else {
            eval.outcome
        };
        let scores: Vec<f64> = eval.cases.iter().filter_map(|case| case.score).collect();
        eval.score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
        self
    }

    fn pass(self, id: &str) -> Self {
        self.case(id, Passed, Some(1.0))
    }

    fn lost(self, id: &str, cause: Cause, reason: &str) -> Self {
        self.lost_with(
            id,
            cause,
            reason,
            (cause.outcome() == Failed).then_some(0.0),
        )
    }

    fn lost_with(self, id: &str, cause: Cause, reason: &str, score: Option<f64>) -> Self {
        let mut run = self.case(id, cause.outcome(), score);
        let eval = run.evals.last_mut().unwrap();
        eval.cases.last_mut().unwrap().cause = Some(cause);
        if cause.outcome() != Skipped {
            run.failures.push(Failure {
                eval_id: eval.id.clone(),
                case_id: id.to_owned(),
                name: eval.name.clone(),
                outcome: cause.outcome(),
                cause: Some(cause),
                reason: reason.to_owned(),
                expected: None,
                actual: None,
                details: serde_json::Map::new(),
                samples: 1,
            });
        }
        *run.causes.entry(cause.name().to_owned()).or_default() += 1;
        run
    }

    /// The sample of the case that came last.
    fn sampled(self, change: impl FnOnce(&mut SampleResult)) -> Self {
        self.with(|eval| change(&mut eval.cases.last_mut().unwrap().samples[0]))
    }

    /// So many evals of one case that passed, so that nothing is said of too little data.
    fn passes(self, from: usize, n: usize) -> Self {
        (from..from + n).fold(self, |run, at| {
            let id = format!("cap-{at:03}");
            run.eval(&id, &id).pass(&id)
        })
    }

    fn wrong(self, id: &str) -> Self {
        self.eval(id, id)
            .lost(id, Cause::WrongAnswer, "expected 4, got 5")
    }

    fn missed(mut self, metric: &str, bound: Bound, threshold: f64) -> Self {
        let (status, on) = (Decision::Fail, Figure::Value);
        let metric = metric.to_owned();
        self.gate.thresholds.push(ThresholdResult {
            metric,
            value: Some(0.5),
            bound,
            threshold,
            on,
            status,
        });
        self
    }

    fn advice(&self) -> Vec<String> {
        let mut totals = Totals {
            by_cause: self.causes.clone(),
            ..Totals::default()
        };
        let mut evals = Counts::default();
        for eval in &self.evals {
            evals.add(eval.outcome);
            for case in &eval.cases {
                totals.cases.add(case.outcome);
                totals.samples.add(case.outcome);
                totals.flaky += usize::from(case.flaky);
            }
        }
        (totals.total_evals, totals.passed, totals.failed) =
            (evals.total, evals.passed, evals.failed);
        recommend(&RunFindings {
            evals: &self.evals,
            totals: &totals,
            failures: &self.failures,
            gate: &self.gate,
            judges: self.judges.as_ref(),
            omitted: self.omitted,
            regrade_of: self.regrade_of,
            suite: self.suite,
        })
    }

    fn text(&self) -> String {
        self.advice().join("\n")
    }
}

#[test]
fn single_failures_are_named_with_their_reasons() {
    let said = run()
        .passes(0, 30)
        .eval("cap-auth-003", "Session timeout")
        .lost(
            "cap-auth-003",
            Cause::WrongAnswer,
            "expected `expired`, got `alive`.",
        )
        .eval("cap-many", "cap-many")
        .pass("a")
        .lost("b", Cause::Exception, "ValueError: no")
        .eval("reg-1", "Orders stay")
        .lost("reg-1", Cause::WrongAnswer, "total: expected 13.5, got 14");
    assert_snapshot!(said.text(), @"
    Fix Orders stay (reg-1): total: expected 13.5, got 14
    Fix Session timeout (cap-auth-003): expected `expired`, got `alive`
    Fix cap-many: 1 of 2 cases failed, first b: ValueError: no
    ");
}

#[test]
fn many_failures_are_one_sentence_and_critical_regressions_come_first() {
    let said = (0..6)
        .fold(run().passes(0, 30), |run, n| {
            run.wrong(&format!("cap-bad-{n}"))
        })
        .wrong("reg-orders")
        .with(|eval| eval.criticality = Some(Criticality::Critical));
    assert_snapshot!(said.text(), @"
    Fix reg-orders first, a critical regression, which fails the gate whatever the thresholds are: expected 4, got 5
    Fix the 6 other failed evals: cap-bad-0, cap-bad-1, cap-bad-2 and 3 more evals
    ");
}

#[test]
fn what_failures_share_and_passes_do_not_is_said_with_its_counts() {
    let tagged = |run: Run, n: usize, tag: &str| {
        run.wrong(&format!("cap-bad-{n}")).tagged(tag).tagged("all")
    };
    let mut said = run().passes(0, 30);
    said.evals
        .iter_mut()
        .for_each(|eval| eval.tags.push("all".to_owned()));
    said.evals[0].tags.push("auth".to_owned());
    let said = (0..5).fold(said, |run, n| tagged(run, n, "auth"));
    let said = tagged(said, 5, "other");
    assert_snapshot!(said.advice()[0], @"Look at tag `auth` first: 5 of the 6 failed evals have it, and 1 of the 30 that passed");
    // Nothing shared, too few failures, or a mark that most passes have, too: nothing is said.
    let scattered = (0..6).fold(run().passes(0, 30), |run, n| {
        tagged(run, n, &format!("t{n}"))
    });
    let two = (0..2).fold(run().passes(0, 30), |run, n| tagged(run, n, "auth"));
    let mut common = (0..6).fold(run().passes(0, 30), |run, n| tagged(run, n, "auth"));
    common
        .evals
        .iter_mut()
        .take(20)
        .for_each(|eval| eval.tags.extend(["auth".to_owned(), "all".to_owned()]));
    for said in [two, common] {
        assert!(!said.text().contains("Look at"), "{}", said.text());
    }
    assert!(
        scattered.text().contains("tag `all`"),
        "{}",
        scattered.text()
    );
    let hard = (0..3).fold(run().passes(0, 30), |run, n| {
        run.wrong(&format!("x{n}"))
            .with(|eval| eval.difficulty = Some(Difficulty::Hard))
    });
    assert_snapshot!(hard.advice()[0], @"Look at difficulty hard first: all 3 failed evals have it, and none of the 30 that passed");
}

#[test]
fn time_outs_tell_their_limit_and_how_near_to_it_others_came() {
    let ran = |ms: f64| {
        move |sample: &mut SampleResult| {
            let grade = Grade::passed(GraderType::Code, "function_output");
            sample.grades = vec![grade.with_detail("calls", json!([{"ms": 1.0}, {"ms": ms}]))];
        }
    };
    let said = |ms: Option<f64>| {
        let run = run()
            .passes(0, 30)
            .eval("cap-sort", "Sorting")
            .pass("small");
        let run = match ms {
            Some(ms) => run.sampled(ran(ms)),
            None => run,
        };
        run.lost(
            "large",
            Cause::Timeout,
            "the program did not end within 10 s",
        )
        .text()
    };
    assert_snapshot!([said(Some(9_700.0)), said(Some(6_000.0)), said(Some(1_500.0)), said(Some(12.0)), said(None)].join("\n"), @"
    1 sample of cap-sort › large timed out (limit 10 s), and the slowest program that passed took over four fifths of the limit: raise `timeout_seconds`, or make them faster
    1 sample of cap-sort › large timed out (limit 10 s), and the slowest program that passed took over half of the limit: raise `timeout_seconds`, or make them faster
    1 sample of cap-sort › large timed out (limit 10 s), but no program that passed took half of the limit: look for endless loops
    1 sample of cap-sort › large timed out (limit 10 s), but no program that passed took a tenth of the limit: look for endless loops
    1 sample of cap-sort › large timed out (limit 10 s): look for endless loops, or raise `timeout_seconds`
    ");
    let target = run()
        .passes(0, 30)
        .eval("cap-slow", "cap-slow")
        .pass("a")
        .sampled(|sample| sample.latency_ms = Some(29_000.0))
        .lost(
            "b",
            Cause::TargetTimeout,
            "./solve.sh did not end within 30 s; it and all processes that it started were stopped",
        );
    assert_snapshot!(target.text(), @"1 sample of cap-slow › b timed out (limit 30 s), and the slowest target that passed took over four fifths of the limit: raise `timeout_seconds`, or make them faster");
}

#[test]
fn of_time_outs_with_different_limits_no_limit_is_told() {
    let limit = |seconds: u32| format!("the program did not end within {seconds} s");
    let said = run()
        .passes(0, 30)
        .eval("cap-a", "A")
        .lost("x", Cause::Timeout, &limit(1))
        .eval("cap-b", "B")
        .lost("y", Cause::Timeout, &limit(60));
    assert_snapshot!(said.text(), @"2 samples of cap-a › x and cap-b › y timed out: look for endless loops, or raise `timeout_seconds`");
}

#[test]
fn samples_are_told_of_the_cases_that_they_are_of() {
    // The first sample of `late` was wrong, and that is what its failure tells; its second ran out
    // of time.
    let mut said = run()
        .passes(0, 30)
        .eval("cap-a", "A")
        .lost(
            "early",
            Cause::Timeout,
            "the program did not end within 1 s",
        )
        .sampled(|sample| sample.cause = Some(Cause::Timeout))
        .lost("late", Cause::WrongAnswer, "no")
        .with(|eval| {
            let mut second = sample(Failed);
            second.cause = Some(Cause::Timeout);
            eval.cases[1].samples.push(second);
        });
    said.causes.insert("timeout".to_owned(), 2);
    assert!(
        said.text()
            .contains("2 samples of cap-a › early (and 1 more) timed out (limit 1 s)"),
        "{}",
        said.text()
    );
    // Without the samples nobody knows whose the other one was.
    said.evals
        .last_mut()
        .unwrap()
        .cases
        .iter_mut()
        .for_each(|case| case.samples.clear());
    assert!(
        said.text()
            .contains("2 samples of cap-a › early and others timed out"),
        "{}",
        said.text()
    );
}

#[test]
fn of_samples_that_are_not_listed_nothing_is_said() {
    let mut said = run()
        .passes(0, 30)
        .eval("cap-a", "A")
        .pass("quick")
        .sampled(|sample| {
            let grade = Grade::passed(GraderType::Code, "function_output");
            sample.grades = vec![grade.with_detail("ms", json!(3.0))];
            sample.latency_ms = Some(3.0);
        })
        .lost(
            "endless",
            Cause::Timeout,
            "the program did not end within 10 s",
        )
        .missed("latency_p95_ms", Bound::Max, 1.0);
    assert!(
        said.text().contains("no program that passed took a tenth")
            && said.text().contains("Start with")
    );
    said.omitted.samples = 1;
    assert!(
        !said.text().contains("no program") && !said.text().contains("Start with"),
        "{}",
        said.text()
    );
}

#[test]
fn what_could_not_be_found_out_names_what_to_do() {
    let said = |cause: Cause, reason: &str| {
        run()
            .passes(0, 30)
            .eval("cap-x", "X")
            .lost("a", cause, reason)
            .lost("b", cause, reason)
            .text()
    };
    let all = [
        said(
            Cause::ExecutorMissing,
            "javascript can't be run here: node is not in PATH; install Node.js 18 or newer",
        ),
        said(
            Cause::SandboxUnavailable,
            "no isolation is available: userns: not permitted",
        ),
        said(
            Cause::TargetUnreachable,
            "127.0.0.1:8000 refuses the connection: no server listens on this port",
        ),
        said(Cause::TargetFailed, "./solve.sh exited with code 3"),
        said(Cause::MissingOutput, "samples.jsonl has no line for it"),
        said(Cause::JudgeUnreachable, "no judge was called"),
        said(Cause::JudgeUnparseable, "no JSON in the answer"),
        said(Cause::Harness, "the grader ./grade did not end within 1 s"),
        said(Cause::NoCode, "extract: no code in the output"),
        said(
            Cause::SyntaxError,
            "the code does not parse: invalid syntax (line 1)",
        ),
        said(
            Cause::Forged,
            "the program tampered with the verdict: a second token",
        ),
        said(
            Cause::Exited,
            "the program ended with exit code 0 before its tests did",
        ),
        said(
            Cause::Exited,
            "the tests pass only with what the target changed in `tests/a.py`",
        ),
        said(Cause::Crashed, "the program was ended by SIGSEGV"),
        said(
            Cause::MemoryLimit,
            "the program used more than 256 MB of memory",
        ),
        said(Cause::MaxFail, ""),
    ];
    assert_snapshot!(all.join("\n"), @"
    Install what 2 samples of cap-x › a (and 1 more) need: javascript can't be run here: node is not in PATH; install Node.js 18 or newer; `eval-harness doctor` shows what is installed
    Run `eval-harness doctor` to see why there was no sandbox for 2 samples of cap-x › a (and 1 more): no isolation is available: userns: not permitted
    Start the target, or correct its address: it could not be reached for 2 samples of cap-x › a (and 1 more): 127.0.0.1:8000 refuses the connection: no server listens on this port
    Repair the target, which failed on 2 samples of cap-x › a (and 1 more): ./solve.sh exited with code 3
    Record outputs for 2 samples of cap-x › a (and 1 more), or exclude them with a filter: samples.jsonl has no line for it
    Check the judge, which gave no answer for 2 samples of cap-x › a (and 1 more): no judge was called
    Look at the judge's answers for 2 samples of cap-x › a (and 1 more), which could not be parsed: allow `repairs`, describe the format more clearly, or use a judge that follows it
    Correct the tests or settings of 2 samples of cap-x › a (and 1 more), not the output: the grader ./grade did not end within 1 s
    Look at the prompt of 2 samples of cap-x › a (and 1 more), or at `extract`, which found nothing to run: extract: no code in the output
    Look for prose around the code of 2 samples of cap-x › a (and 1 more), or set `extract: code`: the code does not parse: invalid syntax (line 1)
    Read the programs of 2 samples of cap-x › a (and 1 more) before you trust their author: the program tampered with the verdict: a second token
    Find why a program of 2 samples of cap-x › a (and 1 more) ended with an error, or before its tests did: the program ended with exit code 0 before its tests did
    Look at the tests that the target changed in 2 samples of cap-x › a (and 1 more); where the task is to change them, set `allow_weakened_tests: true` in the grader: the tests pass only with what the target changed in `tests/a.py`
    Find what crashed 2 samples of cap-x › a (and 1 more): the program was ended by SIGSEGV
    Find what uses the memory in 2 samples of cap-x › a (and 1 more), or raise `memory_mb`: the program used more than 256 MB of memory
    2 samples did not run because of `--max-fail`: raise it to see them
    ");
}

#[test]
fn each_missing_executor_is_named_once() {
    let said = run()
        .passes(0, 30)
        .eval("cap-js", "JS")
        .lost(
            "a",
            Cause::ExecutorMissing,
            "javascript can't be run here: install Node.js",
        )
        .lost(
            "b",
            Cause::ExecutorMissing,
            "javascript can't be run here: install Node.js",
        )
        .eval("cap-c", "C")
        .lost(
            "c",
            Cause::ExecutorMissing,
            "the compiler of `c` can't be run: cc; apt install gcc",
        );
    assert_snapshot!(said.text(), @"
    Install what 2 of 3 samples need: javascript can't be run here: install Node.js; `eval-harness doctor` shows what is installed
    Install what 1 of 3 samples needs: the compiler of `c` can't be run: cc; apt install gcc; `eval-harness doctor` shows what is installed
    ");
}

#[test]
fn baselines_are_captured_with_a_command() {
    let lacks = |run: Run, id: &str| {
        run.eval(id, "Orders")
            .lost(id, Cause::NoBaseline, "there is no baseline")
    };
    let mut few = lacks(lacks(run().passes(0, 30), "reg-orders"), "reg 'two'");
    few.suite = Some("evals/my suite.yaml");
    let mut many = (0..6).fold(run().passes(0, 30), |run, n| {
        lacks(run, &format!("reg-{n}"))
    });
    many.suite = Some("evals/s.yaml");
    let hostile = lacks(run().passes(0, 30), "reg\n\x1b[2J`rm`");
    assert_snapshot!([few.text(), many.text(), hostile.text()].join("\n"), @r"
    Capture the missing baselines of reg-orders and reg 'two': `eval-harness baseline capture --suite 'evals/my suite.yaml' reg-orders 'reg '\''two'\'''`, then review and accept them
    Capture the missing baselines of reg-0, reg-1, reg-2 and 3 more evals: `eval-harness baseline capture --suite evals/s.yaml`, then review and accept them
    Capture the missing baseline of reg `rm`: `eval-harness baseline capture`, then review and accept it
    ");
}

#[test]
fn a_threshold_that_one_more_pass_meets_names_the_nearest() {
    let near = |rate: f64| {
        run()
            .passes(0, 17)
            .eval("cap-low", "Low")
            .lost_with("cap-low", Cause::Threshold, "too low", Some(0.2))
            .eval("cap-high", "High")
            .lost_with(
                "cap-high",
                Cause::Threshold,
                "score 0.9996, 1 was asked",
                Some(0.9996),
            )
            .eval("cap-mid", "Mid")
            .lost_with("cap-mid", Cause::Threshold, "too low", Some(0.5))
            .missed("pass_rate", Bound::Min, rate)
    };
    assert_snapshot!(near(0.9).text(), @"
    Fix High (cap-high) first: of the 3 failed evals it scored highest (0.999), and one more pass would meet pass_rate >= 0.9
    Fix Low (cap-low): too low
    Fix Mid (cap-mid): too low
    ");
    assert!(!near(0.95).text().contains("scored highest"));
    let none =
        run()
            .passes(0, 18)
            .wrong("cap-a")
            .wrong("cap-b")
            .missed("pass_rate", Bound::Min, 0.95);
    assert!(!none.text().contains("scored highest"), "{}", none.text());
    let cases = run()
        .passes(0, 30)
        .eval("cap-x", "X")
        .lost_with("a", Cause::Threshold, "low", Some(0.1))
        .lost_with("b", Cause::Threshold, "low", Some(0.4))
        .missed("case_pass_rate", Bound::Min, 0.96);
    assert_snapshot!(cases.advice()[0], @"Fix cap-x › b first: of the 2 failed cases it scored highest (0.4), and one more pass would meet case_pass_rate >= 0.96");
}

#[test]
fn what_takes_most_is_named_where_a_threshold_on_it_is_missed() {
    let timed = |run: Run, id: &str, ms: f64, cost: f64| {
        run.pass(id).sampled(|sample| {
            sample.latency_ms = Some(ms);
            sample.usage = Some(Usage {
                input_tokens: 1,
                output_tokens: 1,
                cost_usd: Some(cost),
            });
        })
    };
    let said = timed(
        timed(
            timed(
                timed(run().passes(0, 30).eval("cap-x", "X"), "a", 10.0, 0.4),
                "b",
                900.0,
                0.1,
            ),
            "c",
            20.0,
            0.3,
        ),
        "d",
        30.0,
        0.2,
    );
    let mut said = said
        .missed("latency_p95_ms", Bound::Max, 5.0)
        .missed("latency_mean_ms", Bound::Max, 5.0)
        .missed("cost_usd", Bound::Max, 0.1);
    assert_snapshot!(said.text(), @"
    Start with the slowest cases to lower latency_p95_ms: cap-x › b, cap-x › d and cap-x › c
    Start with the most expensive cases to lower cost_usd: cap-x › a, cap-x › c and cap-x › d
    ");
    // Where not every case is listed nobody knows which is slowest.
    said.omitted.cases = 1;
    assert_eq!(said.text(), "");
}

#[test]
fn flaky_and_pending_ones_are_named() {
    let said = run()
        .passes(0, 30)
        .with(|eval| eval.cases[0].flaky = true)
        .eval("cap-tone", "Tone")
        .case("mail", Pending, None)
        .case("chat", Pending, None);
    let mut waits = said;
    assert_snapshot!(waits.text(), @"
    2 samples of cap-tone › mail (and 1 more) wait for a human grade: review them with `eval-harness review`, then `eval-harness regrade --people`
    1 sample of cap-029 passed on a later attempt only: find out what varies before you raise retries; pass@k and pass^k count first attempts
    ");
    waits.gate.decision = Decision::Pending;
    assert!(
        waits.advice()[0].ends_with("regrade --people`; the gate is pending until then"),
        "{}",
        waits.text()
    );
    assert_snapshot!(run().passes(0, 3).missed("score", Bound::Min, 0.9).text(), @"Do not rely on small differences between these figures: with 3 samples graded the intervals are wide");
}

const CAUSES: [Cause; 12] = [
    Cause::WrongAnswer,
    Cause::Exception,
    Cause::Timeout,
    Cause::NoCode,
    Cause::Forged,
    Cause::Harness,
    Cause::NoBaseline,
    Cause::ExecutorMissing,
    Cause::TargetTimeout,
    Cause::JudgeUnparseable,
    Cause::SyntaxError,
    Cause::MaxFail,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever ids and reasons say, advice stays on its line, short, clean, without repeats, and
    /// few.
    #[test]
    fn hostile_texts_stay_within_their_sentence(
        lost in prop::collection::vec((0usize..CAUSES.len(), "(?s)[\\x00-\\x7f\u{202e}\u{85}\u{2028}日👩]{0,80}", "(?s).{0,300}"), 0..14),
    ) {
        let said = lost.iter().fold(run(), |run, (cause, id, reason)| {
            let run = run.eval(id, reason).tagged(id);
            run.lost(id, CAUSES[*cause], reason)
        });
        let advice = said.missed("pass_rate", Bound::Min, 0.1).advice();
        prop_assert!(advice.len() <= limits::RECOMMENDATIONS);
        for text in &advice {
            prop_assert!(!text.chars().any(char::is_control) && !text.contains('\u{202e}'), "{text:?}");
            prop_assert!(eval_base::text::width(text) < 700, "{}", text);
        }
        let distinct: std::collections::HashSet<&String> = advice.iter().collect();
        prop_assert_eq!(distinct.len(), advice.len());
    }
}

#[test]
fn what_a_judge_got_wrong_says_what_helps() {
    let said_after = |faults: &[(ReplyFault, u64)], repairs: u64| {
        let mut health = JudgeHealth::default();
        health.total.repairs = repairs;
        health.total.faults = faults
            .iter()
            .map(|(fault, n)| (fault.name().to_owned(), *n))
            .collect();
        let why = "its answers could not be used";
        let mut lost =
            run()
                .passes(0, 40)
                .eval("cap-a", "cap-a")
                .lost("cap-a", Cause::JudgeUnparseable, why);
        lost.judges = Some(health);
        lost.text()
    };
    let said = |faults: &[(ReplyFault, u64)]| said_after(faults, 0);
    assert_snapshot!(said_after(&[(ReplyFault::NoJson, 2)], 4), @"Look at the judge's answers for 1 sample of cap-a, which could not be parsed (no_json 2): resume the run to call the judge again, describe the format more clearly, or use a judge that follows it");
    assert_snapshot!(said(&[(ReplyFault::Cut, 3), (ReplyFault::NoJson, 1)]), @"Look at the judge's answers for 1 sample of cap-a, which could not be parsed (cut 3, no_json 1): raise the judge's `max_tokens`");
    assert_snapshot!(said(&[(ReplyFault::Refused, 1)]), @"Look at the judge's answers for 1 sample of cap-a, which could not be parsed (refused 1): the judge refused: reword the rubric, or use a different judge");
    assert_snapshot!(said(&[(ReplyFault::Copied, 2)]), @"Look at the judge's answers for 1 sample of cap-a, which could not be parsed (copied 2): check whether the outputs try to steer the judge; if not, use a different judge");
    assert_snapshot!(said(&[(ReplyFault::OffScale, 2)]), @"Look at the judge's answers for 1 sample of cap-a, which could not be parsed (off_scale 2): allow `repairs`, describe the format more clearly, or use a judge that follows it");
    assert_snapshot!(said(&[]), @"Look at the judge's answers for 1 sample of cap-a, which could not be parsed: allow `repairs`, describe the format more clearly, or use a judge that follows it");
    let lost = run().passes(0, 40).eval("cap-a", "cap-a").lost(
        "cap-a",
        Cause::JudgeUnreachable,
        "no route to it",
    );
    assert_snapshot!(lost.text(), @"Check the judge, which gave no answer for 1 sample of cap-a: no route to it");
}
