//! What the report of a run says of the run that it is compared with.

use insta::assert_snapshot;

use super::*;
use crate::model::{Place, ReportFormat, Summary};
use crate::report::annotations::{as_commands, of_run};
use crate::report::tests::{green, rendered};

/// A run that failed nothing, beside one that was better.
fn compared(fail_on: Option<FailOn>) -> Summary {
    let mut summary = green(1);
    let mut comparison = improvement();
    let worse = regression();
    (
        comparison.verdict,
        comparison.verdict_worst,
        comparison.verdict_best,
    ) = (worse.verdict, worse.verdict, worse.verdict);
    (comparison.sentences, comparison.notes) = (worse.sentences, worse.notes);
    comparison.metrics = vec![worse.metrics[1].clone()];
    comparison.cases.broken = flips(1, [Some([5, 5]), Some([1, 5])]);
    comparison.cases.broken.cases[0].criticality = Some(Criticality::Critical);
    comparison.reference.source = ScoresSource::ScoreBaseline {
        path: "baselines/scores/Parser.solver.json".to_owned(),
        rev: None,
    };
    summary.comparison = Some(Box::new(comparison));
    summary.fail_on = fail_on;
    summary
}

/// From this line on, up to the next section.
fn section(page: &str, from: &str, to: &str) -> String {
    let start = page
        .find(from)
        .unwrap_or_else(|| panic!("no {from:?} in {page}"));
    let end = page[start..].find(to).map_or(page.len(), |end| start + end);
    page[start..end].to_owned()
}

#[test]
fn the_terminal_has_a_section_of_it() {
    let shown = rendered(ReportFormat::Terminal, &compared(None));
    assert_snapshot!(section(&shown, "Compared with", "\nGATE"), @"
    Compared with main
      reference  main · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit 0123456 · 2026-01-02 · accepted
                 scores baselines/scores/Parser.solver.json
    ▼ REGRESSION
      pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9], p = 0.0004
      (one-sided, sign flips, 400 cases)
      A true drop of 4.1 points would have been found with 80 % chance.
      ! the suite had version 1.1.0 and has 1.2.0

      Metric     From     To     Difference  95 % interval       p
      pass@1 *  0.850  0.790  ▼ -6.0 points  [-9.1, -2.9]   0.0004
      paired: 400 cases
      * the verdict depends on it. ▼ ▲ more than chance, each metric taken alone. p:
      one-sided, in the direction of the difference.

      400 cases compared: 1 broken, 2 fixed, 397 still passing

      Broken: passed before, fail now (1)    Passed
        ✗ cap-code-002 › case-00 (critical)  5/5 → 1/5

      Fixed: failed before, pass now (2)  Passed
        ✓ cap-code-002 › case-00          0/1 → 1/1
        ✓ cap-code-002 › case-01          0/1 → 1/1

      For information only: the gate ignores it.
    ");
    let shown = rendered(ReportFormat::Terminal, &compared(Some(FailOn::Critical)));
    let words =
        "The gate uses it (--fail-on critical): a broken case of a critical eval fails the gate.";
    assert!(shown.replace("\n  ", " ").contains(words), "{shown}");
}

#[test]
fn markdown_has_a_section_of_it() {
    let shown = rendered(ReportFormat::Markdown, &compared(Some(FailOn::Significant)));
    assert_snapshot!(section(&shown, "## Compared with", "## Evals"), @r"
    ## Compared with main

    - reference: main · target solver (model) · model openai:gpt-4o-mini · run eval-20260101-120000 · commit 0123456 · 2026-01-02 · accepted scores baselines/scores/Parser.solver.json

    **❌ REGRESSION**

    **pass@1 fell from 0.850 to 0.790, -6.0 points \[-9.1, -2.9\], p = 0.0004 (one-sided, sign flips, 400 cases)**

    A true drop of 4.1 points would have been found with 80 % chance.

    - ⚠️ the suite had version 1.1.0 and has 1.2.0

    | Metric | From | To | Difference | 95 % interval | p | Paired |
    | --- | ---: | ---: | ---: | --- | ---: | --- |
    | **pass@1** * | 0.850 | 0.790 | ▼ -6.0 points | [-9.1, -2.9] | 0.0004 | 400 cases |

    \* the verdict depends on it. ▼ ▲ more than chance, each metric taken alone. p: one-sided, in the direction of the difference.

    **400 cases compared: 1 broken, 2 fixed, 397 still passing**

    <details><summary>Broken: passed before, fail now (1)</summary>

    | Case | Passed |
    | --- | --- |
    | ❌ cap-code-002 › case-00 (**critical**) | 5/5 → 1/5 |

    </details>

    <details><summary>Fixed: failed before, pass now (2)</summary>

    | Case | Passed |
    | --- | --- |
    | ✅ cap-code-002 › case-00 | 0/1 → 1/1 |
    | ✅ cap-code-002 › case-01 | 0/1 → 1/1 |

    </details>

    The gate uses it (--fail-on significant): a regression fails the gate.
    ");
}

#[test]
fn a_comment_has_a_section_of_it_that_leaves_room_for_the_failures() {
    let mut summary = compared(None);
    let shown = rendered(ReportFormat::Comment, &summary);
    assert!(
        shown.contains("## Compared with main\n") && shown.contains("**❌ REGRESSION**\n"),
        "{shown}"
    );
    assert!(
        shown.contains("For information only: the gate ignores it.\n"),
        "{shown}"
    );
    let red = crate::report::tests::red(40, true);
    (summary.evals, summary.failures, summary.summary) = (red.evals, red.failures, red.summary);
    if let Some(comparison) = &mut summary.comparison {
        comparison.notes = vec!["|".repeat(900); 40];
        comparison.cases.broken = flips(100, [Some([1, 1]), Some([0, 1])]);
        for case in &mut comparison.cases.broken.cases {
            case.case_id = "日本".repeat(400);
        }
        comparison.sentences = vec!["|".repeat(900); 9];
    }
    let shown = rendered(ReportFormat::Comment, &summary);
    assert!(shown.len() <= limits::comment::LARGEST, "{}", shown.len());
    assert!(
        shown.contains("For information only: the gate ignores it.\n"),
        "{shown}"
    );
    assert!(
        shown.matches("<details><summary>❌ <code>").count() == 10,
        "{shown}"
    );
}

#[test]
fn junit_has_properties_of_it() {
    let shown = rendered(ReportFormat::Junit, &compared(None));
    let properties: Vec<&str> = shown
        .lines()
        .map(str::trim)
        .filter(|line| line.contains("\"comparison."))
        .collect();
    assert_snapshot!(properties.join("\n"), @r#"
    <property name="comparison.reference" value="main"/>
    <property name="comparison.reference.run_id" value="eval-20260101-120000"/>
    <property name="comparison.verdict" value="regression"/>
    <property name="comparison.sentence" value="regression: pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9], p = 0.0004 (one-sided, sign flips, 400 cases)"/>
    <property name="comparison.cases.compared" value="400"/>
    <property name="comparison.cases.broken" value="1"/>
    <property name="comparison.cases.fixed" value="2"/>
    "#);
}

#[test]
fn json_has_the_comparison_and_reads_back() {
    let summary = compared(Some(FailOn::Any));
    let written = rendered(ReportFormat::Json, &summary);
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../schemas/report.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        value["eval_report"],
        serde_json::to_value(&summary).unwrap()
    );
    let faults: Vec<String> = validator
        .iter_errors(&value)
        .map(|fault| fault.to_string())
        .collect();
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn broken_cases_are_annotated_at_their_eval() {
    let mut summary = compared(Some(FailOn::Any));
    summary.evals[0].id = "cap-code-002".to_owned();
    summary.evals[0].source = Some(Place {
        file: "evals/a.yaml".to_owned(),
        line: 7,
    });
    if let Some(comparison) = &mut summary.comparison {
        comparison.cases.broken = flips(5, [Some([5, 5]), Some([1, 5])]);
        comparison.cases.broken.cases[4].eval_id = "gone-001".to_owned();
        comparison.cases.broken.cases[4].case_id = "a\n::error::b".to_owned();
    }
    summary.gate.decision = Decision::Fail;
    assert_snapshot!(as_commands(&of_run(&summary)), @"
    ::error file=evals/a.yaml,line=7,title=cap-code-002%3A 4 cases broken since main::case-00 5/5 -> 1/5%0Acase-01 5/5 -> 1/5%0Acase-02 5/5 -> 1/5%0A... and 1 more case; the report lists all
    ::error title=gone-001%3A 1 case broken since main::a ::error::b 5/5 -> 1/5
    ::warning title=Parser suite%3A regression against main::pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9], p = 0.0004 (one-sided, sign flips, 400 cases)
    ");
    // What only informs warns.
    summary.fail_on = None;
    summary.gate.decision = Decision::Pass;
    let commands = as_commands(&of_run(&summary));
    assert!(
        commands.matches("::warning ").count() == 3 && !commands.contains("::error "),
        "{commands}"
    );
}
