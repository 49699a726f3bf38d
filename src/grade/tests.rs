use serde_json::json;

use super::*;
use crate::model::*;
use eval_base::redact::Redactor;

fn graders() -> RunGraders {
    RunGraders::new(GradersConfig {
        allow_unsandboxed: false,
        helper: "/no/helper".into(),
        workers: 1,
        grade_timeout: PlanSettings::GRADE_TIMEOUT,
        demand: SandboxDemand::default(),
        dir: "/".into(),
        models: None,
        redactor: Redactor::default(),
        readable: vec![],
        agents: Vec::new(),
    })
}

fn exact(text: &str) -> Grader {
    grader(GraderKind::Code(CodeGrader::ExactMatch(ExactMatch {
        any_of: vec![json!(text)],
        case_sensitive: true,
        trim_whitespace: true,
        normalize_newlines: true,
    })))
}

fn grader(kind: GraderKind) -> Grader {
    Grader::of(kind)
}

fn function(sandbox: bool) -> Grader {
    grader(GraderKind::Code(CodeGrader::FunctionOutput(
        FunctionOutput {
            prefix: String::new(),
            executor: Executor::Python,
            function_name: "f".into(),
            cases: vec![],
            timeout_per_case: Duration::from_secs(1),
            limits: CodeLimits::default(),
            sandbox,
            reference: None,
            expected_by: None,
            evalplus: None,
            tagged_args: false,
        },
    )))
}

fn case(graders: Vec<Grader>, combine: Combine, extract: Vec<ExtractMethod>) -> Case {
    Case {
        grading: CaseGrading {
            python: None,
            graders,
            combine,
            demands: None,
        },
        extract,
        ..testing::case("c")
    }
}

async fn told(case: &Case, output: Output) -> String {
    let graded = graders()
        .grade(case, &output, SampleAttempt::default(), None)
        .await;
    let v = graded.verdict;
    let score = v.score.map_or("-".into(), |s| s.to_string());
    let extracted = graded
        .extracted
        .map(|e| format!(" extracted={e}"))
        .unwrap_or_default();
    let methods: Vec<&str> = v.grades.iter().map(|g| g.method.as_str()).collect();
    format!(
        "{} {score} {} [{}] {}{extracted}",
        v.outcome,
        v.cause.map_or("-", Cause::name),
        methods.join(","),
        v.reason
    )
    .trim_end()
    .to_owned()
}

#[tokio::test]
async fn outputs_become_verdicts() {
    let human = || {
        grader(GraderKind::Human {
            config: json!({}),
            expected: None,
        })
    };
    let model = || grader(GraderKind::Model(Box::new(testing::judge())));
    let negated = Grader {
        negate: true,
        ..exact("a")
    };
    let json_step = vec![ExtractMethod::Json {
        mode: JsonMode::Any,
    }];
    let block = vec![ExtractMethod::CodeBlock {
        language: Some("python".into()),
        which: Which::Last,
    }];
    let path = vec![ExtractMethod::JsonPath { path: "$[".into() }];
    let cut = Output {
        truncated: true,
        ..Output::text("a")
    };
    let lines = [
        told(
            &case(vec![exact("a")], Combine::All, vec![]),
            Output::text("a"),
        )
        .await,
        told(
            &case(vec![exact("a")], Combine::All, vec![ExtractMethod::Trim]),
            Output::text(" a "),
        )
        .await,
        told(&case(vec![exact("a")], Combine::All, vec![]), cut).await,
        told(
            &case(vec![negated], Combine::All, vec![]),
            Output::text("b"),
        )
        .await,
        told(
            &case(vec![exact("a"), human()], Combine::All, vec![]),
            Output::text("a"),
        )
        .await,
        told(
            &case(vec![human(), exact("a")], Combine::All, vec![]),
            Output::text("b"),
        )
        .await,
        told(
            &case(vec![model(), exact("a")], Combine::Any, vec![]),
            Output::text("a"),
        )
        .await,
        told(
            &case(vec![model(), exact("a")], Combine::All, vec![]),
            Output::text("a"),
        )
        .await,
        told(
            &case(vec![function(true), exact("a")], Combine::All, vec![]),
            Output::text("b"),
        )
        .await,
        told(
            &case(vec![function(false)], Combine::All, vec![]),
            Output::text("b"),
        )
        .await,
        told(
            &case(vec![exact("a")], Combine::All, json_step),
            Output::text("no"),
        )
        .await,
        told(
            &case(vec![function(true)], Combine::All, block.clone()),
            Output::text("no"),
        )
        .await,
        told(
            &case(vec![exact("a")], Combine::All, block),
            Output::text("no"),
        )
        .await,
        told(
            &case(vec![exact("a")], Combine::All, path),
            Output::text("{}"),
        )
        .await,
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    passed 1 - [exact_match]
    passed 1 - [exact_match]  extracted="a"
    failed 0 output_limit [] the output is longer than the limit, so it can't be judged in full
    passed 1 - [exact_match] negated: expected "a", got "b"
    pending - - [exact_match,human] human: waits for a review
    failed 0 wrong_answer [human,exact_match] exact_match: expected "a", got "b"
    passed 1 - [exact_match]
    errored - judge_unreachable [model,exact_match] model: no judge was called
    failed 0 wrong_answer [exact_match] exact_match: expected "a", got "b"
    errored - sandbox_unavailable [function_output] `sandbox: false` needs --allow-unsandboxed
    failed 0 wrong_answer [] extract: no JSON in the output
    failed 0 no_code [] extract: no code block of python in the output
    failed 0 wrong_answer [] extract: no code block of python in the output
    errored - harness [] extract: the path `$[`: at position 1, parser error
    "#);
}

fn command(argv: &[&str]) -> Grader {
    grader(GraderKind::Code(CodeGrader::Command(CommandGrader {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        dir: "/".into(),
        env: vec![],
        env_file: Default::default(),
        timeout: Duration::from_secs(20),
        verdict: CommandVerdict::ExitCode,
        metrics: vec![],
        expected: None,
        sandbox: false,
        workspace: None,
    })))
}

fn named(name: &str, grader: Grader) -> Grader {
    Grader {
        metric: Some(name.into()),
        ..grader
    }
}

/// The verdict's outcome, and of each grade its outcome, what it measured and what it could not.
async fn measured(case: &Case, output: Output) -> String {
    let verdict = graders()
        .grade(case, &output, SampleAttempt::default(), None)
        .await
        .verdict;
    let grades = verdict.grades.iter().map(|g| {
        let shown = if g.informative { "informative " } else { "" };
        format!(
            "{shown}{} {} {:?} {:?}",
            g.method, g.outcome, g.metrics, g.unmeasured
        )
    });
    format!(
        "{}: {}",
        verdict.outcome,
        grades.collect::<Vec<_>>().join("; ")
    )
}

#[tokio::test]
async fn graders_measure_whatever_the_others_say() {
    let likeness = |measure| {
        grader(GraderKind::Code(CodeGrader::Similarity(Similarity {
            references: vec!["abcd".into()],
            measure,
            unit: EditUnit::Chars,
            tokenizer: None,
            threshold: 0.5,
            case_sensitive: true,
            trim_whitespace: true,
            normalize_newlines: true,
        })))
    };
    let model = grader(GraderKind::Model(Box::new(testing::judge())));
    let shown = |grader: Grader| Grader {
        informative: true,
        ..grader
    };
    let all = |graders: Vec<Grader>| case(graders, Combine::All, vec![]);
    let rate = likeness(SimilarityMetric::EditRate);
    let decided = all(vec![
        exact("a"),
        command(&["true"]),
        Grader {
            name: Some("style".to_owned()),
            ..model.clone()
        },
    ]);
    let graded = graders()
        .grade(&decided, &Output::text("b"), SampleAttempt::default(), None)
        .await;
    assert_eq!(graded.verdict.not_run, ["command", "style"]);
    let lines = [
        // The program is asked although the verdict stands.
        measured(
            &all(vec![exact("a"), named("build_pass", command(&["true"]))]),
            Output::text("b"),
        )
        .await,
        measured(
            &all(vec![exact("a"), command(&["true"])]),
            Output::text("b"),
        )
        .await,
        measured(
            &all(vec![exact("b"), named("lint_pass", command(&["false"]))]),
            Output::text("b"),
        )
        .await,
        // What only measures decides nothing, whatever it says.
        measured(
            &all(vec![
                exact("b"),
                shown(named("lint_pass", command(&["false"]))),
            ]),
            Output::text("b"),
        )
        .await,
        measured(
            &all(vec![exact("b"), shown(named("style", model.clone()))]),
            Output::text("b"),
        )
        .await,
        measured(&all(vec![exact("a"), shown(exact("b"))]), Output::text("b")).await,
        // The score that counts, and the number that was measured.
        measured(
            &all(vec![Grader {
                negate: true,
                ..named("clean", exact("a"))
            }]),
            Output::text("b"),
        )
        .await,
        measured(
            &all(vec![Grader {
                negate: true,
                ..named("copied", likeness(SimilarityMetric::Levenshtein))
            }]),
            Output::text("abXX"),
        )
        .await,
        measured(
            &all(vec![named("effort", rate.clone()), rate.clone()]),
            Output::text("abcX"),
        )
        .await,
        measured(&all(vec![named("style", model)]), Output::text("b")).await,
        // An output that is not there scores 0; its edit rate is unknown.
        measured(
            &case(
                vec![named("exact", exact("a")), rate, exact("a")],
                Combine::All,
                vec![ExtractMethod::Json {
                    mode: JsonMode::Any,
                }],
            ),
            Output::text("no"),
        )
        .await,
        measured(
            &all(vec![named("exact", exact("a"))]),
            Output {
                truncated: true,
                ..Output::text("a")
            },
        )
        .await,
    ];
    insta::assert_snapshot!(lines.join("\n"), @r##"
    failed: exact_match failed {} []; command passed {"build_pass": 1.0} []
    failed: exact_match failed {} []
    failed: exact_match passed {} []; command failed {"lint_pass": 0.0} []
    passed: exact_match passed {} []; informative command failed {"lint_pass": 0.0} []
    passed: exact_match passed {} []; informative model errored {} ["style"]
    failed: exact_match failed {} []; informative exact_match passed {} []
    passed: exact_match passed {"clean": 1.0} []
    failed: similarity failed {"copied": 0.5} []
    passed: similarity passed {"effort": 0.25} []; similarity passed {"edit_rate": 0.25} []
    errored: model errored {} ["style"]
    failed: exact_match failed {"exact": 0.0} []; similarity failed {} ["edit_rate"]
    failed: exact_match failed {"exact": 0.0} []
    "##);
}

#[test]
fn a_target_that_failed_leaves_word_of_what_was_not_measured() {
    let case = case(
        vec![named("score_of_it", exact("a")), exact("b")],
        Combine::All,
        vec![],
    );
    let verdict = without_output(&case, Cause::TargetUnreachable, "no route");
    assert_eq!(
        (verdict.outcome, verdict.grades.len()),
        (Outcome::Errored, 1)
    );
    assert_eq!(verdict.grades[0].unmeasured, ["score_of_it"]);
    let verdict = without_output(&case, Cause::Crashed, "SIGSEGV");
    assert_eq!(
        (verdict.outcome, verdict.score),
        (Outcome::Failed, Some(0.0))
    );
    assert_eq!(verdict.grades[0].metrics["score_of_it"], 0.0);
}

#[test]
fn a_late_answer_fails_and_nothing_else_changes() {
    let verdict = |outcome, cause: Option<Cause>| Verdict {
        outcome,
        score: (outcome == Outcome::Passed).then_some(1.0),
        cause,
        reason: "r".into(),
        grades: vec![],
        not_run: Vec::new(),
    };
    let ms = |n| Some(Duration::from_millis(n));
    let late = apply_latency(verdict(Outcome::Passed, None), ms(1500), ms(1000));
    assert_eq!(
        (late.outcome, late.cause, late.score),
        (Outcome::Failed, Some(Cause::Threshold), Some(0.0))
    );
    assert_eq!(late.reason, "the answer took 1500 ms, 1000 ms are allowed");
    let errored = verdict(Outcome::Errored, Some(Cause::Harness));
    assert_eq!(apply_latency(errored.clone(), ms(1500), ms(1000)), errored);
    let passed = verdict(Outcome::Passed, None);
    assert_eq!(apply_latency(passed.clone(), ms(1000), ms(1000)), passed);
    assert_eq!(apply_latency(passed.clone(), None, ms(1000)), passed);
}

#[tokio::test(start_paused = true)]
async fn interrupt_skips_commands_that_run() {
    let case = case(vec![command(&["/bin/sleep", "3600"])], Combine::All, vec![]);
    let graders = graders();
    graders.interrupt();
    let graded = graders
        .grade(&case, &Output::text("x"), SampleAttempt::default(), None)
        .await;
    assert_eq!(
        (graded.verdict.outcome, graded.verdict.cause),
        (Outcome::Skipped, Some(Cause::Interrupted))
    );
    assert_eq!(graded.verdict.reason, "the run was interrupted");
}
