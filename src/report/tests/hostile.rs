//! Texts of an attacker wherever text may stand.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::report::{annotations, limits};
use eval_base::text;

/// Texts of an attacker, and of everyone else.
pub(super) fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(|c| c.to_string()),
        prop::sample::select(vec![
            "\x1b[2J",
            "\x1b]0;x\x07",
            "\u{9b}31m",
            "\r",
            "\n",
            "\t",
            "|",
            "\\",
            "`",
            "```",
            "~~~",
            "<b>",
            "</details>",
            "# ",
            "- [x] ",
            "](",
            "https://x",
            "👩\u{200d}💻",
            "日本語",
            "❤\u{fe0f}",
            "e\u{301}",
            "\u{202e}",
            "word ",
            "GATE PASS",
            "]]>",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

/// The rich summary with texts of an attacker wherever text may stand.
fn hostile_summary() -> impl Strategy<Value = Summary> {
    prop::collection::vec(hostile_text(), 8).prop_map(|texts| {
        let mut summary = unsandboxed();
        let text = |at: usize| texts[at % texts.len()].clone();
        summary.metadata.suite_name = text(0);
        summary.metadata.run_id = text(1);
        summary.metadata.environment.target = text(2);
        summary.metadata.filters = vec![text(3)];
        for (at, eval) in summary.evals.iter_mut().enumerate() {
            eval.id = text(at);
            eval.name = text(at + 1);
            eval.category = Some(text(at + 2));
            for case in &mut eval.cases {
                case.id = text(at + 3);
                case.samples[0].reason = text(at + 4);
            }
        }
        for (at, failure) in summary.failures.iter_mut().enumerate() {
            failure.eval_id = text(at);
            failure.case_id = text(at + 3);
            failure.name = text(at + 1);
            failure.reason = text(at + 4);
            failure.expected = Some(json!(text(at + 5)));
            failure.actual = Some(json!(text(at + 6)));
            failure
                .details
                .insert(text(at + 7), json!({"stderr": text(at)}));
        }
        let counts = summary.summary.cases;
        summary.summary.by_category.insert(text(4), counts);
        summary.summary.by_cause.insert(text(5), 3);
        summary
            .estimates
            .insert(text(6), estimate(None, None, None, Some(&text(7))));
        summary.gate.reasons = vec![text(0), text(1)];
        summary.gate.thresholds[0].metric = text(6);
        summary.recommendations = vec![text(2)];
        let mut used = super::models::busy();
        used.faults.insert(text(3), 4);
        used.oldest_answer = Some(text(5));
        let by_model = [4, 5].map(|at| (text(at), used.clone())).into();
        summary.models = Some(crate::model::ModelsUsed {
            judges: [6, 7].map(|at| (text(at), used.clone())).into(),
            by_model,
            total: used,
        });
        summary.judges = Some(hostile_health(&text));
        for (at, case) in summary
            .evals
            .iter_mut()
            .flat_map(|eval| &mut eval.cases)
            .enumerate()
        {
            let mut grade = crate::model::testing::judged_grade(
                hostile_judged(at, &text),
                Outcome::Passed,
                None,
            );
            grade.grader = Some(text(at));
            case.samples[0].grades = vec![grade];
        }
        summary
    })
}

fn hostile_health(text: &dyn Fn(usize) -> String) -> crate::model::JudgeHealth {
    let votes = crate::model::JudgeVotes {
        votes: 9,
        errored: [(text(1), 2)].into(),
        faults: [(text(2), 3)].into(),
        said_otherwise: 1,
        constant_score: Some(0.5),
        ..Default::default()
    };
    crate::model::JudgeHealth {
        samples: 9,
        errored: 2,
        errored_by_cause: [(text(3), 2)].into(),
        by_model: [(text(4), votes)].into(),
        ..Default::default()
    }
}

/// Everything that a judge, or an author, has a word in.
fn hostile_judged(at: usize, text: &dyn Fn(usize) -> String) -> crate::model::Judged {
    use crate::model::{JudgedCheck, JudgedCriterion, ReplyFault, testing};
    let mut judged = testing::judged();
    judged.criteria = (0..3)
        .map(|n| JudgedCriterion {
            name: text(at + n),
            score: if n == 0 {
                json!(text(at + 1))
            } else {
                json!(3.333_333_3)
            },
            spread: Some([json!(text(at + 2)), json!(5)]),
            ..judged.criteria[0].clone()
        })
        .collect();
    judged.checks = vec![JudgedCheck {
        text: text(at + 3),
        wanted: at.is_multiple_of(2),
        met: at.is_multiple_of(3),
    }];
    (judged.justification, judged.panel) = (text(at + 4), text(at + 5));
    (judged.feedback, judged.notices) = (vec![text(at + 6)], vec![text(at + 7)]);
    let mut lost = testing::vote(&text(at), Err(ReplyFault::NoJson));
    (lost.reason, lost.unknown) = (text(at + 1), vec![text(at + 2)]);
    let reply = &mut lost.replies[0];
    (reply.text, reply.why, reply.repair) = (text(at + 3), text(at + 4), text(at + 5));
    judged.votes.push(lost);
    judged
}

/// Without the colours that we write ourselves.
pub(super) fn without_colour(text: &str) -> String {
    regex::Regex::new("\x1b\\[[0-9;]*m")
        .unwrap()
        .replace_all(text, "")
        .into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn terminal_lines_keep_to_the_width(summary in hostile_summary(), width in 20usize..120, unicode: bool, verbose: bool) {
        let options = TerminalOptions { width, color: false, verbose, unicode };
        let mut out = Vec::new();
        screen(&summary, &options, &[], &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        // Commands to copy are never cut.
        for line in shown.lines().filter(|line| !["rerun ", "more "].iter().any(|label| line.starts_with(label))) {
            prop_assert!(text::width(line) <= width, "{} > {width}: {line:?}", text::width(line));
            prop_assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
        }
        // The first line is the suite's name.
        prop_assert_eq!(shown.lines().skip(1).filter(|line| line.starts_with("GATE")).count(), 1);
        let mut again = Vec::new();
        screen(&summary, &TerminalOptions { color: true, ..options }, &[], &mut again).unwrap();
        prop_assert_eq!(without_colour(&String::from_utf8(again).unwrap()), shown);
    }

    #[test]
    fn markdown_structure_is_ours_alone(summary in hostile_summary()) {
        let shown = rendered(ReportFormat::Markdown, &summary);
        let mut fence: Option<&str> = None;
        let mut columns: Option<usize> = None;
        for line in shown.lines() {
            prop_assert!(line.chars().all(|c| !c.is_control() || c == '\t'), "{line:?}");
            if let Some(ticks) = fence {
                fence = Some(ticks).filter(|ticks| line != *ticks);
                continue;
            }
            if line.starts_with("```") {
                fence = Some(line.trim_end_matches(|c: char| c.is_ascii_lowercase()));
                continue;
            }
            let pipes = line.matches('|').count();
            columns = line.starts_with("| ").then(|| columns.unwrap_or(pipes));
            prop_assert!(columns.is_none_or(|columns| columns == pipes), "{line:?}");
            let ours = ["# ❌ FAIL: ", "## ", "### By ", "### More cases", "### ❌", "### ⚠️", "### ✅", "### ⏳", "### ➖"];
            prop_assert!(!line.starts_with('#') || ours.iter().any(|heading| line.starts_with(heading)), "{line:?}");
            let folds = ["<details><summary>Details</summary>", "<details><summary>Judge verdicts on "];
            let html = folds.iter().any(|fold| line.starts_with(fold)) || line == "</details>";
            let spans = line.contains('`');
            prop_assert!(html || spans || !line.replace("<!-- -->", "").replace("<br>", "").contains('<'), "{line:?}");
        }
        prop_assert!(fence.is_none());
    }

    #[test]
    fn a_comment_is_bounded_and_its_structure_is_ours_alone(summary in hostile_summary()) {
        let shown = rendered(ReportFormat::Comment, &summary);
        prop_assert!(shown.len() <= limits::comment::LARGEST);
        let (mut fence, mut details): (Option<String>, i32) = (None, 0);
        for (at, line) in shown.lines().enumerate() {
            prop_assert!(line.chars().all(|c| !c.is_control() || c == '\t'), "{line:?}");
            if let Some(ticks) = &fence {
                fence = Some(ticks.clone()).filter(|ticks| line != ticks);
                continue;
            }
            if line.starts_with("```") {
                fence = Some(line.chars().take_while(|c| *c == '`').collect());
                continue;
            }
            let opens = line.starts_with("<details><summary>") && line.ends_with("</summary>");
            details += i32::from(opens) - i32::from(line == "</details>");
            prop_assert!((0..=1).contains(&details));
            prop_assert_eq!(at == 0, line.starts_with("<!-- eval-harness: "), "{:?}", line);
            let html = opens || line == "</details>" || at == 0;
            prop_assert!(html || line.contains('`') || !line.replace("<!-- -->", "").replace("<br>", "").contains('<'), "{line:?}");
            let within = line.strip_prefix("<details><summary>").and_then(|rest| rest.split_once("<code>"));
            let within = within.and_then(|(_, rest)| rest.split_once("</code>")).map(|(name, _)| name);
            prop_assert!(within.is_none_or(|name| !name.contains('<')), "{line:?}");
        }
        prop_assert!(fence.is_none() && details == 0);
    }

    #[test]
    fn workflow_commands_are_ours_alone(summary in hostile_summary(), file in hostile_text()) {
        let mut summary = summary;
        for eval in &mut summary.evals {
            eval.source = Some(crate::model::Place { file: file.clone(), line: 7 });
        }
        let commands = annotations::as_commands(&annotations::of_run(&summary));
        let line = regex::Regex::new(r"^::(error|warning) (file=[^:,\r\n]+,line=7,|file=,line=7,)?title=[^:,\r\n]*::[^\r\n]*$").unwrap();
        for command in commands.lines() {
            prop_assert!(line.is_match(command), "{command:?}");
        }
    }

    #[test]
    fn no_line_of_a_log_is_a_command(pieces in prop::collection::vec(prop::sample::select(vec![
        "::", ":", "##[", "##", "[", "\n", " ", "\t", "set-output name=a::b", "é",
    ]), 0..30)) {
        let page = annotations::without_commands(&pieces.concat());
        for line in page.lines() {
            prop_assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{line:?}");
        }
    }

    #[test]
    fn junit_is_always_well_formed(summary in hostile_summary()) {
        let written = rendered(ReportFormat::Junit, &summary);
        let report = quick_junit::Report::deserialize_from_str(&written).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(report.tests, 8);
        super::junit_rules::check(&written);
        prop_assert!(written.chars().all(|c| !c.is_control() || c == '\n'));
    }
}
