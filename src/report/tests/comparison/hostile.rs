//! Texts of an attacker wherever a text may stand.

use proptest::prelude::*;

use super::*;
use crate::report::tests::hostile::{hostile_text, without_colour};
use eval_base::text;

pub(super) fn hostile_comparison() -> impl Strategy<Value = Comparisons> {
    (prop::collection::vec(hostile_text(), 8), 1usize..4).prop_map(|(texts, candidates)| {
        let text = |at: usize| texts[at % texts.len()].clone();
        let mut one = regression();
        for (at, side) in [&mut one.reference, &mut one.candidate]
            .into_iter()
            .enumerate()
        {
            (side.label, side.suite, side.target) = (text(at), text(at + 1), text(at + 2));
            (side.target_type, side.run_id, side.timestamp) =
                (text(at + 3), text(at + 4), text(at + 5));
            (side.model, side.commit, side.regrade_of) =
                (Some(text(at)), Some(text(at + 6)), Some(text(at + 7)));
            side.filters = vec![text(at + 1), text(at + 2)];
        }
        one.reference.source = ScoresSource::ScoreBaseline {
            path: text(3),
            rev: Some(text(4)),
        };
        (one.sentences, one.notes) = (vec![text(0), text(1)], vec![text(2), text(3)]);
        for (at, metric) in one.metrics.iter_mut().enumerate().skip(2) {
            (metric.name, metric.unit) = (text(at), text(at + 1));
            metric.undefined = metric.undefined.as_ref().map(|_| text(at + 2));
        }
        for (at, group) in one.groups.iter_mut().enumerate() {
            group.group = text(at);
        }
        let cases = &mut one.cases;
        for list in [
            &mut cases.broken,
            &mut cases.fixed,
            &mut cases.new,
            &mut cases.gone,
            &mut cases.changed,
        ] {
            for (at, case) in list.cases.iter_mut().enumerate() {
                (case.eval_id, case.case_id) = (text(at), text(at + 1));
            }
        }
        one.settings.metrics = vec![text(5)];
        one.verdict_worst = if texts[0].len() % 2 == 0 {
            one.verdict
        } else {
            ComparisonVerdict::None
        };
        of(vec![one; candidates], Decision::Fail, &[&text(6), &text(7)])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn terminal_lines_keep_to_the_width(
        comparisons in hostile_comparison(), width in 20usize..120, unicode: bool, verbose: bool,
    ) {
        let options = TerminalOptions { width, color: false, verbose, unicode };
        let shown = on_terminal(&comparisons, &options);
        for line in shown.lines() {
            prop_assert!(text::width(line) <= width, "{} > {width}: {line:?}", text::width(line));
            prop_assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
        }
        // The first line is the suite's name, and a candidate's name stands above its verdict.
        let lines: Vec<&str> = shown.lines().skip(1).collect();
        let ours = lines.iter().filter(|line| line.starts_with("GATE FAIL (")).count();
        prop_assert!(ours >= 1 && (comparisons.candidates.len() > 1 || ours == 1), "{shown}");
        let coloured = on_terminal(&comparisons, &TerminalOptions { color: true, ..options });
        prop_assert_eq!(without_colour(&coloured), shown);
    }

    #[test]
    fn markdown_structure_is_ours_alone(comparisons in hostile_comparison()) {
        for shown in [as_markdown(&comparisons), as_comment(&comparisons)] {
            let mut columns: Option<usize> = None;
            let mut open = 0i32;
            for (at, line) in shown.lines().enumerate() {
                prop_assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
                let pipes = line.matches('|').count();
                columns = line.starts_with("| ").then(|| columns.unwrap_or(pipes));
                prop_assert!(columns.is_none_or(|columns| columns == pipes), "{line:?}");
                let ours = ["# ❌ Regression: ", "# ⚠️ Undecided: ", "## ❌ ", "## ⚠️ ", "### ❌ ", "### ⚠️ "];
                prop_assert!(!line.starts_with('#') || ours.iter().any(|heading| line.starts_with(heading)), "{line:?}");
                let opens = line.starts_with("<details><summary>") && line.ends_with("</summary>");
                open += i32::from(opens) - i32::from(line == "</details>");
                prop_assert!((0..=1).contains(&open), "{line:?}");
                let within = match line.strip_prefix("<details><summary>").and_then(|line| line.strip_suffix("</summary>")) {
                    Some(within) => within.replace("<code>", "").replace("</code>", ""),
                    None => line.replace("<!-- -->", "").replace("<br>", "").replace("<sub>", "").replace("</sub>", ""),
                };
                let marker = at == 0 && line.starts_with("<!-- eval-harness comparison: ");
                prop_assert!(marker || line == "</details>" || !within.contains('<'), "{line:?}");
            }
            prop_assert_eq!(open, 0);
        }
    }
}
