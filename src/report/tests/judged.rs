//! What reports say of judges: of each verdict, and of how the judges did.

use insta::assert_snapshot;

use super::*;
use crate::model::testing::{judged, judged_grade, vote};
use crate::model::{JudgeHealth, JudgeVotes, Judged, JudgedCheck, JudgedCriterion, ReplyFault};

fn criterion(
    name: &str,
    weight: f64,
    score: Value,
    share: f64,
    spread: Option<[Value; 2]>,
) -> JudgedCriterion {
    JudgedCriterion {
        name: name.to_owned(),
        weight,
        score,
        share,
        scale: Some([1.0, 5.0]),
        spread,
    }
}

/// A panel of three votes, of which one was lost, that finds too little.
fn panel() -> Judged {
    let mut lost = vote("local:llama", Err(ReplyFault::NoJson));
    lost.replies[0].text = "I would say it is\nfine | `really` </details>".to_owned();
    lost.replies[0].repair = "There is no JSON object in your answer.".to_owned();
    let second = lost.replies[0].clone();
    lost.replies.push(crate::model::JudgeReply {
        text: "{\"scores\": {\"Correctness\": 9}}".to_owned(),
        fault: Some(ReplyFault::OffScale),
        why: "Correctness is 9, which is not on its scale of 1-5".to_owned(),
        repair: String::new(),
        ..second
    });
    let mut low = vote("openai:judge", Ok(0.5));
    (low.said_passed, low.unknown) = (Some(true), vec!["Style".to_owned()]);
    Judged {
        criteria: vec![
            criterion("Correctness", 0.6, json!(3), 0.5, Some([json!(3), json!(4)])),
            criterion("Readability of names and comments, and of all else", 0.4, json!(4), 0.75, None),
        ],
        checks: vec![
            JudgedCheck { text: "PostgreSQL 14+".to_owned(), wanted: true, met: false },
            JudgedCheck { text: "/api/v1/users".to_owned(), wanted: true, met: true },
            JudgedCheck { text: "deprecated".to_owned(), wanted: false, met: true },
            JudgedCheck { text: "legacy".to_owned(), wanted: false, met: false },
        ],
        score: Some(3.4),
        justification:
            "It names the endpoints but not the version of the database, on which everything else rests."
                .to_owned(),
        feedback: vec!["Name the version.".to_owned(), "Leave out what is gone.".to_owned()],
        panel: "median of 3 votes, of which 1 could not be used".to_owned(),
        votes: vec![vote("openai:judge", Ok(0.75)), low, lost],
        notices: vec!["output: 2 control tokens of chat templates made harmless".to_owned()],
        ..judged()
    }
}

fn summary_of(cases: Vec<CaseResult>) -> Summary {
    let outcome = if cases.iter().all(|case| case.outcome == Outcome::Passed) {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    let mut summary = green(1);
    summary.failures = cases
        .iter()
        .filter(|case| case.outcome != Outcome::Passed)
        .map(|case| {
            let cause = case.cause.expect("it did not pass");
            failure(
                ("cap-doc", &case.id),
                "",
                cause,
                &case.samples[0].reason,
                None,
                None,
            )
        })
        .collect();
    summary.evals = vec![eval(
        "cap-doc",
        "Documents",
        EvalType::Capability,
        outcome,
        cases,
    )];
    summary.judges = Some(JudgeHealth {
        samples: 3,
        ..JudgeHealth::default()
    });
    summary
}

fn judged_case(
    id: &str,
    judged: Judged,
    outcome: Outcome,
    cause: Option<Cause>,
    reason: &str,
) -> CaseResult {
    let mut case = case(id, outcome, cause, reason);
    let mut grade = judged_grade(judged, outcome, cause);
    grade.grader = Some("documentation_rubric".to_owned());
    case.samples[0].grades = vec![grade];
    case
}

fn three() -> Summary {
    let lost = Judged {
        criteria: Vec::new(),
        checks: Vec::new(),
        score: None,
        justification: String::new(),
        feedback: Vec::new(),
        notices: Vec::new(),
        panel: String::new(),
        votes: vec![panel().votes[2].clone()],
        ..panel()
    };
    let why = "the judge's answers could not be used (off_scale), after 1 repair request";
    summary_of(vec![
        judged_case(
            "spec",
            panel(),
            Outcome::Failed,
            Some(Cause::WrongAnswer),
            "does not say \"PostgreSQL 14+\"",
        ),
        judged_case(
            "lost",
            lost,
            Outcome::Errored,
            Some(Cause::JudgeUnparseable),
            why,
        ),
        judged_case("good", judged(), Outcome::Passed, None, ""),
    ])
}

fn from<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let rest = &page[page.find(start).expect("the part is there")..];
    rest[..rest.find(end).unwrap_or(rest.len())].trim_end()
}

fn all() -> TerminalOptions {
    TerminalOptions {
        verbose: true,
        ..TerminalOptions::default()
    }
}

#[test]
fn the_terminal_shows_criteria_checks_and_why() {
    let page = terminal_text(&three(), &TerminalOptions::default());
    assert_snapshot!(from(&page, "Not passed", "         total"), @r#"
    Not passed (2)

      ✗ cap-doc › spec  wrong_answer
        does not say "PostgreSQL 14+"
        Judged by documentation_rubric: failed; 3.4 of 1-5, needs 3.8; median of 3
        votes, of which 1 could not be used

        Criterion                                Weight  Score  Scale  Share   Votes
        Correctness                              60.0 %      3    1-5  0.500  3 to 4
        Readability of names and comments, and…  40.0 %      4    1-5  0.750
        ✗ does not say: PostgreSQL 14+
        ✓ says: /api/v1/users
        ✓ does not say, as required: deprecated
        ✗ says, but must not: legacy
        Why       It names the endpoints but not the version of the database, on
                  which everything else rests.
        Feedback  Name the version.
        Feedback  Leave out what is gone.
        Note      output: 2 control tokens of chat templates made harmless

        Vote          Outcome    Share
        openai:judge  ✓ passed   0.750
        openai:judge  ✗ failed   0.500  its stated verdict (passed) does not count;
                                        scored criteria that are not in the rubric:
                                        Style
        local:llama   ! errored  judge_unparseable: its answers could not be used
                                 (no_json); after 1 repair request

      ! cap-doc › lost  judge_unparseable  the judge's answers could not be used (o…

    GATE PASS
    more     eval-harness report --suite evals/eval-suite.yaml --run eval-20260102-120000 --verbose
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    "#);
}

/// Numbers may be cut with a mark, outcomes and why may not.
#[test]
fn a_narrow_terminal_shows_outcomes_and_why() {
    let page = terminal_text(
        &three(),
        &TerminalOptions {
            width: 40,
            ..TerminalOptions::default()
        },
    );
    let told = from(&page, "Judged by", "\nGATE");
    assert!(
        told.lines().all(|line| eval_base::text::width(line) <= 40),
        "{page}"
    );
    for words in [
        "Judged by documentation_rubric:",
        "failed; 3.4 of 1-5, needs 3.8;",
        "✓ passed",
        "✗ failed",
        "! errored",
    ] {
        assert!(told.contains(words), "{words}: {page}");
    }
}

#[test]
fn all_of_it_is_shown_when_asked_for() {
    let options = TerminalOptions {
        verbose: true,
        unicode: false,
        ..TerminalOptions::default()
    };
    let page = terminal_text(&three(), &options);
    assert_snapshot!(from(&page, "  ! cap-doc > lost", "         total"), @r#"
      ! cap-doc > lost  judge_unparseable
        the judge's answers could not be used (off_scale), after 1 repair request
        Judged by documentation_rubric: errored

        Vote         Outcome
        local:llama  ! errored  judge_unparseable: its answers could not be used
                                (no_json); after 1 repair request
        Reply 1 of 2, vote 1: no_json (there is no whole JSON object in it)
        | I would say it is
        | fine | `really` </details>
        repair request: There is no JSON object in your answer.
        Reply 2 of 2, vote 1: off_scale (Correctness is 9, which is not on its scale
        of 1-5)
        | {"scores": {"Correctness": 9}}

    GATE PASS
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    "#);
}

#[test]
fn markdown_shows_it_of_every_case() {
    let page = rendered(ReportFormat::Markdown, &three());
    assert_snapshot!(from(&page, "## Not passed", "\0"), @r#"
    ## Not passed (2)

    ### ❌ cap-doc › spec  wrong_answer

    does not say "PostgreSQL 14+"

    Judged by documentation_rubric: failed; 3.4 of 1-5, needs 3.8; median of 3 votes, of which 1 could not be used

    | Criterion | Weight | Score | Scale | Share | Votes |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | Correctness | 60.0 % | 3 | 1-5 | 0.500 | 3 to 4 |
    | Readability of names and comments, and of all else | 40.0 % | 4 | 1-5 | 0.750 |  |

    - ❌ does not say: PostgreSQL 14+
    - ✅ says: /api/v1/users
    - ✅ does not say, as required: deprecated
    - ❌ says, but must not: legacy

    <!-- -->

    - Why: It names the endpoints but not the version of the database, on which everything else rests.
    - Feedback: Name the version.
    - Feedback: Leave out what is gone.
    - Note: output: 2 control tokens of chat templates made harmless

    | Vote | Outcome | Share | Remark |
    | --- | --- | ---: | --- |
    | openai:judge | ✅ passed | 0.750 |  |
    | openai:judge | ❌ failed | 0.500 | its stated verdict (passed) does not count; scored criteria that are not in the rubric: Style |
    | local:llama | ⚠️ errored |  | judge_unparseable: its answers could not be used (no_json); after 1 repair request |

    Reply 1 of 2, vote 3: no_json (there is no whole JSON object in it):

    ```text
    I would say it is
    fine | `really` </details>
    ```

    repair request: There is no JSON object in your answer.

    Reply 2 of 2, vote 3: off_scale (Correctness is 9, which is not on its scale of 1-5):

    ```text
    {"scores": {"Correctness": 9}}
    ```

    ### ⚠️ cap-doc › lost  judge_unparseable

    the judge's answers could not be used (off_scale), after 1 repair request

    Judged by documentation_rubric: errored

    | Vote | Outcome | Remark |
    | --- | --- | --- |
    | local:llama | ⚠️ errored | judge_unparseable: its answers could not be used (no_json); after 1 repair request |

    Reply 1 of 2, vote 1: no_json (there is no whole JSON object in it):

    ```text
    I would say it is
    fine | `really` </details>
    ```

    repair request: There is no JSON object in your answer.

    Reply 2 of 2, vote 1: off_scale (Correctness is 9, which is not on its scale of 1-5):

    ```text
    {"scores": {"Correctness": 9}}
    ```

    ## Evals

    | Eval | Name | Type | Cases | Score | Latency |
    | --- | --- | --- | ---: | ---: | ---: |
    | ❌ cap-doc | Documents | capability | 1/3 | 0.500 | 12 ms |

    ## Metrics

    | Metric | Value | 95 % CI | Cases | Remark |
    | --- | ---: | --- | ---: | --- |
    | pass@1 | 0.400 | [0.117, 0.769] | 6 |  |
    | pass@3 | n/a |  |  | 3 samples per case are needed; there is 1 |
    | pass@10 | n/a |  |  | 10 samples per case are needed; there is 1 |
    | latency p95 | 1.23 s |  | 6 |  |

    Intervals are for cases like these, in these evals.

    ## Judged

    <details><summary>Judge verdicts on 1 case that did not fail</summary>

    ### ✅ cap-doc › good

    Judged by documentation_rubric: passed; 4 of 1-5, needs 3.8

    | Criterion | Weight | Score | Scale | Share |
    | --- | ---: | ---: | ---: | ---: |
    | clarity | 100 % | 4 | 1-5 | 0.750 |

    - Why: It is clear where it matters.

    </details>

    ## Judges

    - verdicts: 3 samples judged
    "#);
    let without = Summary {
        judges: None,
        ..three()
    };
    assert!(!rendered(ReportFormat::Markdown, &without).contains("Judged by"));
}

#[test]
fn categories_and_verdicts_without_criteria_have_no_scale() {
    let mut by_category = judged();
    by_category.scale = None;
    by_category.score = Some(0.5);
    by_category.criteria = vec![JudgedCriterion {
        scale: None,
        ..criterion(
            "tone",
            1.0,
            json!("fair"),
            0.5,
            Some([json!("poor"), json!("good")]),
        )
    }];
    let whole = Judged {
        criteria: Vec::new(),
        score: Some(1.0),
        scale: None,
        ..judged()
    };
    let summary = summary_of(vec![
        judged_case("a", by_category, Outcome::Passed, None, ""),
        judged_case("b", whole, Outcome::Passed, None, ""),
    ]);
    let page = terminal_text(
        &summary,
        &TerminalOptions {
            verbose: true,
            ..TerminalOptions::default()
        },
    );
    assert_snapshot!(from(&page, "Judged\n", "         total"), @"
    Judged

      Judge verdicts on 2 cases that did not fail

        ✓ cap-doc › a
          Judged by documentation_rubric: passed; 0.5, needs 0.7

          Criterion  Weight  Score  Share        Votes
          tone        100 %   fair  0.500  poor / good
          Why  It is clear where it matters.

          Vote          Outcome   Share
          openai:judge  ✓ passed  0.750

        ✓ cap-doc › b
          Judged by documentation_rubric: passed
          Why  It is clear where it matters.

          Vote          Outcome   Share
          openai:judge  ✓ passed  0.750

    Summary  Total  Pass rate  Passed
      Cases      1      100 %       1

    Metrics         Value  95 % CI         Cases
      pass@1        0.400  [0.117, 0.769]      6
      pass@3          n/a  3 samples per case are needed; there is 1
      pass@10         n/a  10 samples per case are needed; there is 1
      latency p95  1.23 s                      6
      Intervals are for cases like these, in these evals.

    Judges
      verdicts  3 samples judged

    GATE PASS
    reports  results/2026-01-02/run-120000.json
             results/2026-01-02/run-120000.md
    ");
}

#[test]
fn how_the_judges_did_is_told_in_a_few_lines() {
    let quiet = JudgeVotes {
        votes: 40,
        passed: 30,
        failed: 10,
        replied: 40,
        ..JudgeVotes::default()
    };
    let mut summary = green(1);
    summary.judges = Some(JudgeHealth {
        samples: 40,
        total: quiet.clone(),
        by_model: [("openai:judge".to_owned(), quiet.clone())].into(),
        ..JudgeHealth::default()
    });
    let page = terminal_text(&summary, &all());
    assert_snapshot!(from(&page, "Judges\n", "\nGATE"), @"
    Judges
      verdicts  40 samples judged
      - openai:judge
        votes  40: 30 pass, 10 fail
    ");
    let busy = JudgeVotes {
        errored: [
            ("judge_unparseable".to_owned(), 2),
            ("judge_unreachable".to_owned(), 3),
        ]
        .into(),
        replied: 42,
        faults: [("no_json".to_owned(), 2), ("cut".to_owned(), 5)].into(),
        repairs: 6,
        pairs: 120,
        agreeing_pairs: 118,
        said_otherwise: 2,
        votes: 45,
        ..quiet.clone()
    };
    let constant = JudgeVotes {
        constant_score: Some(1.0),
        failed: 0,
        votes: 30,
        ..quiet
    };
    summary.judges = Some(JudgeHealth {
        samples: 45,
        errored: 3,
        errored_by_cause: [
            ("judge_unparseable".to_owned(), 2),
            ("judge_unreachable".to_owned(), 1),
        ]
        .into(),
        not_judged: 2,
        panels: 40,
        disagreeing: 4,
        cut: 1,
        neutralised: 3,
        by_model: [
            ("openai:judge".to_owned(), busy),
            ("local:llama | `x`\x1b[2J".to_owned(), constant),
        ]
        .into(),
        ..JudgeHealth::default()
    });
    let page = terminal_text(&summary, &all());
    assert_snapshot!(from(&page, "Judges\n", "\nGATE"), @"
    Judges
      verdicts  45 samples judged, 3 without a verdict (judge_unparseable: 2,
                judge_unreachable: 1)
      panels    40 with several votes: in 4 (10.0 %) the votes disagree on whether
                it passes
      ! 2 samples were not judged, though their cases have a judge
      ! 3 verdicts on texts with prompt markers or hidden characters, which were
        made harmless
      ! 1 verdict on texts that were truncated in the middle
      - local:llama | `x`
        votes  30: 30 pass, 0 fail
        ! all 30 usable votes gave the same score (1.000 of the scale): check that
          the judge can distinguish good outputs from bad ones
      - openai:judge
        votes    45: 30 pass, 10 fail, 5 not usable (judge_unreachable: 3,
                 judge_unparseable: 2)
        replies  7 of 42 first replies not usable (cut: 5, no_json: 2); 6 repair
                 requests
        repeats  118 of 120 pairs of votes on the same question agree (98.3 %)
        ! 2 votes stated a verdict that differs from the result of their scores; the
          scores count
    ");
    let page = rendered(ReportFormat::Markdown, &summary);
    assert_snapshot!(from(&page, "## Judges", "\n## "), @r"
    ## Judges

    - verdicts: 45 samples judged, 3 without a verdict (judge_unparseable: 2, judge_unreachable: 1)
    - panels: 40 with several votes: in 4 (10.0 %) the votes disagree on whether it passes

    <!-- -->

    - ⚠️ 2 samples were not judged, though their cases have a judge
    - ⚠️ 3 verdicts on texts with prompt markers or hidden characters, which were made harmless
    - ⚠️ 1 verdict on texts that were truncated in the middle

    <!-- -->

    - **local:llama &#124; \`x\`**
      - votes: 30: 30 pass, 0 fail
      - ⚠️ all 30 usable votes gave the same score (1.000 of the scale): check that the judge can distinguish good outputs from bad ones
    - **openai:judge**
      - votes: 45: 30 pass, 10 fail, 5 not usable (judge_unreachable: 3, judge_unparseable: 2)
      - replies: 7 of 42 first replies not usable (cut: 5, no_json: 2); 6 repair requests
      - repeats: 118 of 120 pairs of votes on the same question agree (98.3 %)
      - ⚠️ 2 votes stated a verdict that differs from the result of their scores; the scores count
    ");
}
