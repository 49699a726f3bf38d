use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::model::{CodeLimits, Comparator, Executor};
use eval_sandbox::{CallReport, ProgramEnding, ProgramStreams, RunFailure};

fn case(args: Value, expected: CallExpectation) -> FunctionCase {
    FunctionCase {
        args: args.as_array().cloned().unwrap_or_default(),
        kwargs: BTreeMap::new(),
        expected,
        comparator: Comparator::Equals,
        tolerance: None,
    }
}

fn value(expected: Value) -> CallExpectation {
    CallExpectation::Value(expected)
}

fn grader(cases: Vec<FunctionCase>) -> FunctionOutput {
    FunctionOutput {
        prefix: String::new(),
        executor: Executor::Python,
        function_name: "solve".into(),
        cases,
        timeout_per_case: Duration::from_secs(2),
        limits: CodeLimits::default(),
        sandbox: true,
        reference: None,
        expected_by: None,
        evalplus: None,
        tagged_args: false,
    }
}

/// The grade of these outcomes, each read as the sandbox has it read.
fn graded(
    grader: &FunctionOutput,
    outcomes: Vec<CallOutcome>,
    load_failure: Option<RunFailure>,
) -> Grade {
    let calls: Vec<ExpectedReturn> = grader
        .cases
        .iter()
        .map(|c| ExpectedReturn::of(grader, c, None).unwrap().0)
        .collect();
    let read = |(call, outcome): (&ExpectedReturn, CallOutcome)| match outcome {
        CallOutcome::Value(tagged) => CallOutcome::Value(judge_returned(call, &tagged)),
        CallOutcome::Raised(raised) => CallOutcome::Raised(raised),
        CallOutcome::Failed(failure) => CallOutcome::Failed(failure),
        CallOutcome::NotRun => CallOutcome::NotRun,
    };
    let answers = calls.iter().zip(outcomes).map(read);
    let report = FunctionReport {
        load_failure,
        calls: answers
            .map(|outcome| CallReport {
                outcome,
                wall: Duration::ZERO,
            })
            .collect(),
        streams: ProgramStreams::default(),
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        processes: 1,
        adjudicated: false,
    };
    judge(grader, &calls, report)
}

fn raised(type_name: &str, mro: &[&str], message: &str) -> CallOutcome {
    CallOutcome::Raised(RaisedException {
        type_name: type_name.into(),
        mro: mro.iter().map(|n| (*n).to_owned()).collect(),
        message: message.into(),
        traceback: String::new(),
    })
}

fn told(expected: CallExpectation, outcome: CallOutcome) -> String {
    let grader = grader(vec![case(json!([1, "a"]), expected)]);
    let load = match &outcome {
        CallOutcome::Failed(f @ RunFailure::SyntaxError { .. }) => Some(f.clone()),
        _ => None,
    };
    let g = graded(&grader, vec![outcome], load);
    let actual = g.actual.map(|v| format!(" actual={v}")).unwrap_or_default();
    format!(
        "{} {:?} {} {}{actual}",
        g.outcome,
        g.score,
        g.cause.map_or("-", Cause::name),
        g.reason
    )
    .trim_end()
    .to_owned()
}

#[test]
fn every_end_of_a_call_has_its_cause_and_sentence() {
    let failed = CallOutcome::Failed;
    let lines = [
        told(value(json!(3)), CallOutcome::Value(json!(3.0))),
        told(
            value(json!([1, 2])),
            CallOutcome::Value(json!({"$tuple": [1, 2]})),
        ),
        told(value(json!(3)), CallOutcome::Value(json!(4))),
        told(value(json!(1)), CallOutcome::Value(json!(true))),
        told(
            value(json!(3)),
            CallOutcome::Value(json!({"$opaque": "Liar", "truth": true})),
        ),
        told(value(json!(3)), CallOutcome::Value(json!({"$nonsense": 1}))),
        told(
            value(json!(3)),
            raised(
                "ZeroDivisionError",
                &["ZeroDivisionError", "ArithmeticError"],
                "division by zero",
            ),
        ),
        told(
            CallExpectation::Raises("ArithmeticError".into()),
            raised(
                "ZeroDivisionError",
                &["ZeroDivisionError", "ArithmeticError"],
                "x",
            ),
        ),
        told(
            CallExpectation::Raises("ValueError".into()),
            raised("KeyError", &["KeyError", "LookupError"], "'k'"),
        ),
        told(
            CallExpectation::Raises("ValueError".into()),
            CallOutcome::Value(json!(null)),
        ),
        told(
            value(json!(3)),
            failed(RunFailure::Ended(ProgramEnding::TimedOut)),
        ),
        told(
            value(json!(3)),
            failed(RunFailure::Ended(ProgramEnding::MemoryLimit)),
        ),
        told(
            value(json!(3)),
            failed(RunFailure::Ended(ProgramEnding::OutputLimit)),
        ),
        told(value(json!(3)), failed(RunFailure::ReturnLimit)),
        told(
            value(json!(3)),
            failed(RunFailure::Ended(ProgramEnding::Signaled(11))),
        ),
        told(
            value(json!(3)),
            failed(RunFailure::Ended(ProgramEnding::Violation("ptrace".into()))),
        ),
        told(
            value(json!(3)),
            failed(RunFailure::Exited { code: Some(0) }),
        ),
        told(
            value(json!(3)),
            failed(RunFailure::Forged {
                evidence: "two answers".into(),
            }),
        ),
        told(
            value(json!(3)),
            failed(RunFailure::SyntaxError {
                message: "invalid syntax".into(),
                line: Some(2),
            }),
        ),
        told(value(json!(3)), CallOutcome::NotRun),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r##"
    passed Some(1.0) -
    passed Some(1.0) -
    failed Some(0.0) wrong_answer solve(1, 'a') returned 4, expected 3 actual=4
    failed Some(0.0) wrong_answer solve(1, 'a') returned True, expected 1 actual=true
    failed Some(0.0) wrong_answer solve(1, 'a') returned <Liar object>, expected 3 actual="<Liar object>"
    failed Some(0.0) wrong_answer solve(1, 'a') returned a value that can't be read: unknown tag "$nonsense"
    failed Some(0.0) exception solve(1, 'a') raised ZeroDivisionError: division by zero, expected 3
    passed Some(1.0) -
    failed Some(0.0) exception solve(1, 'a') raised KeyError: 'k', expected it to raise ValueError
    failed Some(0.0) wrong_answer solve(1, 'a') returned None, expected it to raise ValueError actual=null
    failed Some(0.0) timeout solve(1, 'a'): the program did not end within 2 s
    failed Some(0.0) memory_limit solve(1, 'a'): the program used more than 256 MB of memory
    failed Some(0.0) output_limit solve(1, 'a'): the program exceeded the output limit
    failed Some(0.0) output_limit solve(1, 'a'): the returned value takes more than 16 MB as text or 64 MB as values; if a correct answer does, raise `max_return_mb`
    failed Some(0.0) crashed solve(1, 'a'): the program was ended by SIGSEGV
    failed Some(0.0) sandbox_violation solve(1, 'a'): the sandbox forbids what the program tried: ptrace
    failed Some(0.0) exited solve(1, 'a'): the program ended with exit code 0 before its tests did
    failed Some(0.0) forged solve(1, 'a'): the program tampered with the verdict: two answers
    failed Some(0.0) syntax_error the code does not parse: invalid syntax (line 2)
    failed Some(0.0) timeout solve(1, 'a') was not run: the earlier calls took too long
    "##);
}

#[test]
fn a_function_that_is_missing_raises_nothing() {
    let missing = |function: &str| {
        let mro = ["NameError", "Exception", "BaseException"];
        told(
            CallExpectation::Raises("Exception".into()),
            raised(
                "NameError",
                &mro,
                &format!("name '{function}' is not defined"),
            ),
        )
    };
    insta::assert_snapshot!(missing("solve"), @"failed Some(0.0) exception there is no solve to call (NameError: name 'solve' is not defined), expected it to raise Exception");
    assert_eq!(missing("helper"), "passed Some(1.0) -");
    let lacks = |message: &str| RaisedException {
        type_name: "AttributeError".into(),
        message: message.into(),
        ..RaisedException::default()
    };
    let message = "type object 'Solution' has no attribute 'solve'";
    assert!(is_undefined(&lacks(message), "Solution.solve"));
    assert!(
        !is_undefined(&lacks(message), "Solution.other") && !is_undefined(&lacks(message), "solve")
    );
}

#[test]
fn the_score_is_the_share_of_calls_and_the_first_failure_speaks() {
    let grader = grader(vec![
        case(json!([1]), value(json!(1))),
        case(json!([2]), value(json!(2))),
        case(json!([3]), value(json!(3))),
        case(json!([4]), value(json!(4))),
    ]);
    let outcomes = vec![
        CallOutcome::Value(json!(1)),
        CallOutcome::Value(json!(0)),
        raised("E", &[], ""),
    ];
    let g = graded(&grader, outcomes, None);
    assert_eq!((g.score, g.cause), (Some(0.25), Some(Cause::WrongAnswer)));
    assert_eq!(
        g.reason,
        "solve(2) returned 0, expected 2 (3 of 4 calls failed)"
    );
    insta::assert_snapshot!(Value::Object(g.details), @r##"
    {"calls":[{"actual":1,"args":[1],"expected":1,"ms":0.0,"passed":true},{"actual":0,"args":[2],"expected":2,"ms":0.0,"passed":false},{"args":[3],"error":"E","expected":3,"ms":0.0,"passed":false},{"args":[4],"error":"solve(4) was not run: the earlier calls took too long","expected":4,"passed":false}],"passed":1,"total":4}
    "##);
}

#[test]
fn an_expectation_that_cannot_be_used_is_the_authors_fault() {
    let mut bad = case(json!([1]), value(json!("(")));
    bad.comparator = Comparator::Regex;
    let grader = grader(vec![bad]);
    let g = graded(&grader, vec![CallOutcome::Value(json!("x"))], None);
    assert_eq!(g.cause, Some(Cause::Harness));
}
