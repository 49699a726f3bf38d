//! TAP (versions 12 to 14): lines `ok 1 - name` and a plan `1..N`. Indented subtests count by the
//! line of their parent. What is marked `TODO` counts as skipped.

use super::reports::{ReportedTest, ReportedTests, TestStatus};
use crate::model::Cause;
use eval_base::text::plural;

pub(super) fn read(text: &str) -> ReportedTests {
    let mut reported = ReportedTests::default();
    let mut plan = None;
    let mut doubt = |why: String| reported.doubts.push((Cause::Exited, why));
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(count) = planned(line) {
            if plan.replace(count).is_some() {
                doubt("the results have more than one plan".to_owned());
            }
        } else if let Some(why) = line.strip_prefix("Bail out!") {
            doubt(format!("the tests bailed out: {}", why.trim()));
        } else if let Some(test) = test(line, reported.tests.len() + 1) {
            reported.tests.push(test);
        }
    }
    let ran = reported.tests.len();
    match plan {
        None => doubt("the results have no plan (`1..N`), so they may be truncated".to_owned()),
        Some(count) if count != ran => {
            doubt(format!(
                "the plan is {}, but {ran} ran",
                plural(count, "test")
            ));
        }
        Some(_) => {}
    }
    reported
}

/// 3 of `1..3`; 0 of `1..0 # SKIP no database`.
fn planned(line: &str) -> Option<usize> {
    let count = line.strip_prefix("1..")?;
    count.split_whitespace().next()?.parse().ok()
}

fn test(line: &str, number: usize) -> Option<ReportedTest> {
    let (ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let (description, directive) = directive(rest.trim());
    let digits = description
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(description.len());
    let (own, name) = description.split_at(digits);
    // A description that begins with digits has no number before it.
    let name = match name.starts_with(char::is_whitespace) || name.is_empty() {
        true => name.trim().trim_start_matches('-').trim(),
        false => description,
    };
    let own = if own.is_empty() {
        number.to_string()
    } else {
        own.to_owned()
    };
    let id = if name.is_empty() { &own } else { name };
    let status = match (directive, ok) {
        (Some(_), _) => TestStatus::Skipped,
        (None, true) => TestStatus::Passed,
        (None, false) => TestStatus::Failed,
    };
    Some(ReportedTest::new(id, status, directive.unwrap_or_default()))
}

/// The description, and what follows `# SKIP` or `# TODO`.
fn directive(text: &str) -> (&str, Option<&str>) {
    for (at, _) in text.match_indices('#') {
        let escaped = text[..at].ends_with('\\');
        let after = text[at + 1..].trim_start();
        let word = after.get(..4).unwrap_or_default();
        if !escaped && (word.eq_ignore_ascii_case("skip") || word.eq_ignore_ascii_case("todo")) {
            return (text[..at].trim_end(), Some(after));
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let reported = read(text);
        let tests = reported.tests.iter();
        let tests = tests.map(|test| format!("{} {}", test.id, test.status.name()));
        let doubts = reported.doubts.iter().map(|(_, why)| format!("? {why}"));
        tests.chain(doubts).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn lines_become_tests() {
        let text = "TAP version 14\nok 1 - adds\nnot ok 2 - subtracts\n  ---\n  message: no\n  ...\n    ok 1 - inner\n\
                    ok 3 # SKIP no network\nnot ok 4 later # TODO write\nok\nok 5px wide \\# not a directive\n1..6\n";
        assert_eq!(
            shown(text),
            "adds passed; subtracts failed; 3 skipped; later skipped; 5 passed; 5px wide \\# not a directive passed"
        );
    }

    #[test]
    fn results_that_are_not_whole_are_doubted() {
        assert_eq!(
            shown("ok 1 - a\n"),
            "a passed; ? the results have no plan (`1..N`), so they may be truncated"
        );
        assert_eq!(
            shown("1..2\nok 1 - a\n"),
            "a passed; ? the plan is 2 tests, but 1 ran"
        );
        assert_eq!(
            shown("1..1\nBail out! no disk\nok 1 - a\n"),
            "a passed; ? the tests bailed out: no disk"
        );
        assert_eq!(shown("1..0 # SKIP all\nokay\n"), "");
    }
}
