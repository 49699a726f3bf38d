//! Score baselines read: which file they lie in, and what is wrong with one.

use std::path::Path;

use super::problem::{Code, Problem, Problems, Severity};
use super::session::read_or_explain;
use super::source::SourceFiles;
use super::stored::{conflict, unknown_version};
use super::tree::{self, Node};
use crate::model::{BaselineStage, Fingerprint, Outcome};
use crate::spec::{CaseRecord, SCORES_VERSION, SchemaKind, ScoreBaselineFile};
use eval_base::text::escape_path_component;

/// The longest name of a suite or target in a file's name, in bytes: both and what follows fit into
/// 255.
const LONGEST: usize = 110;

/// The name of a score baseline in its folder: `<suite>.<target>.json` or
/// `<suite>.<target>.pending.json`. The two names hold no dot, so that no two suites and targets
/// share a file.
pub fn scores_file_name(suite: &str, target: &str, standing: BaselineStage) -> String {
    let mark = match standing {
        BaselineStage::Accepted => "",
        BaselineStage::Pending => ".pending",
    };
    format!("{}.{}{mark}.json", part(suite), part(target))
}

fn part(name: &str) -> String {
    let escaped = escape_path_component(name).replace('.', "%2E");
    if escaped.len() <= LONGEST {
        return escaped;
    }
    // `~` stands in no escaped name but a cut one.
    let cut = escaped.get(..LONGEST - 33).unwrap_or_default();
    format!("{cut}~{}", Fingerprint::of_bytes(name.as_bytes()))
}

/// A file of the program that can't be used, with everything that is wrong with it.
#[derive(Debug)]
pub struct BrokenDocument {
    pub problems: Problems,
    pub sources: SourceFiles,
}

impl std::fmt::Display for BrokenDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = self
            .problems
            .iter()
            .find(|problem| problem.severity == Severity::Error);
        match first {
            Some(Problem {
                span: Some(span),
                message,
                ..
            }) => {
                write!(f, "{}: {message}", self.sources.place(*span))
            }
            Some(problem) => f.write_str(&problem.message),
            None => f.write_str("it cannot be read"),
        }
    }
}

impl BrokenDocument {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        self.problems
            .iter()
            .find_map(|problem| problem.hint.clone())
    }
}

/// The score baseline that a text holds; `path` is how messages name it.
pub fn parse_scores(path: &Path, text: &str) -> Result<ScoreBaselineFile, Box<BrokenDocument>> {
    if let Ok(file) = serde_json::from_str::<ScoreBaselineFile>(text)
        && file.format_version == SCORES_VERSION
        && fault(&file).is_none()
    {
        return Ok(file);
    }
    // Read again, this time with places.
    let mut broken = BrokenDocument {
        problems: Problems::new(),
        sources: SourceFiles::new(),
    };
    let BrokenDocument { problems, sources } = &mut broken;
    let id = sources.add(path.display().to_string(), text);
    if let Some(problem) = conflict(sources, id) {
        problems.push(problem);
    } else if let Some(node) = tree::parse(sources, id, problems)
        && problems.error_count() == 0
        && let Some(file) = judge(&node, problems)
    {
        // As YAML it would do: a person's edit, which the writer would not have made.
        return Ok(file);
    }
    Err(Box::new(broken))
}

/// Judges a document; `None` after saying what is wrong with it.
pub(super) fn judge(node: &Node, problems: &mut Problems) -> Option<ScoreBaselineFile> {
    if let Some(problem) = unknown_version(node, "score ", SCORES_VERSION) {
        problems.push(problem);
        return None;
    }
    let file: ScoreBaselineFile =
        read_or_explain(SchemaKind::Scores, node.to_json(), node, problems)?;
    match fault(&file) {
        None => Some(file),
        Some((pointer, message)) => {
            problems.push(Problem::error(
                Code::BadBaseline,
                node.locate(&pointer),
                message,
            ));
            None
        }
    }
}

const NOT_GRADED: &str = "the outcome in accepted scores must be `passed` or `failed`";

/// What the shape allows and cannot be: where, and in words.
fn fault(file: &ScoreBaselineFile) -> Option<(String, String)> {
    let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
    for eval in &file.evals {
        let at = format!("/evals/{}", escape(&eval.id));
        if !eval.outcome.is_graded() {
            return Some((format!("{at}/outcome"), NOT_GRADED.to_owned()));
        }
        for case in &eval.cases {
            let at = format!("{at}/cases/{}", escape(&case.id));
            if !case.outcome.is_some_and(Outcome::is_graded) {
                return Some((format!("{at}/outcome"), NOT_GRADED.to_owned()));
            }
            if let Some(key) = measured(case) {
                return Some((
                    format!("{at}/{key}"),
                    format!("accepted scores can't have `{key}`, which each run measures"),
                ));
            }
            if case.c > case.n {
                let (c, n) = (case.c, case.n);
                return Some((
                    format!("{at}/c"),
                    format!("{c} of {n} samples passed, which is impossible"),
                ));
            }
        }
    }
    None
}

/// A key of a case that records of runs have and accepted scores do not.
fn measured(case: &CaseRecord) -> Option<&'static str> {
    let keys = [
        ("ungraded", case.ungraded > 0),
        ("latency_ms", case.latency_ms.is_some()),
        ("tokens", case.tokens.is_some()),
        ("cost_usd", case.cost_usd.is_some()),
        ("metrics", !case.metrics.is_empty()),
    ];
    keys.into_iter()
        .find(|(_, is_there)| *is_there)
        .map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn different_suites_and_targets_have_different_files() {
        let long = "x".repeat(300);
        let longer = format!("{long}x");
        let names = [
            "a",
            "a.b",
            "b",
            "b.pending",
            "pending",
            "",
            "..",
            "a/b",
            "é",
            "CON",
            &long,
            &longer,
            "a%2Eb",
        ];
        let mut files = BTreeSet::new();
        for suite in names {
            for target in names {
                for standing in [BaselineStage::Accepted, BaselineStage::Pending] {
                    let file = scores_file_name(suite, target, standing);
                    assert!(
                        file.len() <= 255
                            && file.is_ascii()
                            && !file.starts_with('.')
                            && !file.contains('/'),
                        "{file}"
                    );
                    assert!(files.insert(file.clone()), "{suite} {target}: {file}");
                }
            }
        }
        assert_eq!(
            scores_file_name("My suite", "gpt-4.1", BaselineStage::Accepted),
            "My%20suite.gpt-4%2E1.json"
        );
        assert_eq!(
            scores_file_name("s", "t", BaselineStage::Pending),
            "s.t.pending.json"
        );
    }

    const GOOD: &str = r#"{
  "format_version": 1, "suite": "S", "target": {"name": "t", "type": "echo"},
  "captured_at": "2026-03-01T00:00:00.000Z", "run_id": "r", "harness_version": "0.1.0",
  "ks": [1], "seed": 18446744073709551615, "metrics": {"pass_at_1": {"value": 0.5, "ci": [0.1, 0.9], "n_cases": 1}},
  "evals": {"e": {"outcome": "failed", "score": 0.5, "cases": {"c/d": {"n": 2, "c": 1, "outcome": "failed", "score": 0.5}}}}
}"#;

    fn said(text: &str) -> String {
        let broken = parse_scores(Path::new("baselines/scores/S.t.json"), text).unwrap_err();
        let hint = broken
            .hint()
            .map(|hint| format!(" ({hint})"))
            .unwrap_or_default();
        format!("{broken}{hint}")
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let file = parse_scores(Path::new("x"), GOOD).unwrap();
        assert_eq!((file.seed, file.evals[0].cases[0].n), (u64::MAX, 2));
        assert_eq!(
            parse_scores(Path::new("x"), &GOOD.replace('\n', "\r\n")).unwrap(),
            file
        );
        let merge = GOOD.replacen("  \"ks\"", "<<<<<<< HEAD\n  \"ks\"", 1);
        let all = [
            said(&merge),
            said(&GOOD.replace("\"format_version\": 1", "\"format_version\": 7")),
            said(&GOOD.replace("\"n\": 2, \"c\": 1", "\"n\": 1, \"c\": 2")),
            said(&GOOD.replace(
                "\"outcome\": \"failed\", \"score\": 0.5, \"cases\"",
                "\"outcom\": \"failed\", \"cases\"",
            )),
            said(&GOOD.replace("\"n\": 2", "\"n\": -2")),
            said(&GOOD.replace(
                "\"cases\": {",
                "\"cases\": {\"c/d\": {\"n\": 2, \"c\": 2, \"outcome\": \"passed\"}, ",
            )),
            said("{\"format_version\": 1"),
            said(""),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        baselines/scores/S.t.json:4:1: this file contains the conflict markers of an unfinished merge (edit the file, or take one side: `git checkout --ours -- baselines/scores/S.t.json` or `git checkout --theirs -- baselines/scores/S.t.json`, then `git add`)
        baselines/scores/S.t.json:2:21: this score baseline was written by a newer eval-harness: its format version is 7, but this program supports versions up to 1 (update eval-harness)
        baselines/scores/S.t.json:5:85: 2 of 1 samples passed, which is impossible
        baselines/scores/S.t.json:5:19: unknown key `outcom` (did you mean `outcome`?)
        baselines/scores/S.t.json:5:77: `n` must be at least 0, found `-2`
        baselines/scores/S.t.json:5:110: duplicate key `c/d`: first on line 5 (remove one of the two)
        baselines/scores/S.t.json:1:1: this `{` is not closed (add the `}`)
        baselines/scores/S.t.json:1:1: the file contains nothing but comments
        ");
    }

    #[test]
    fn measured_keys_are_refused_in_accepted_scores() {
        for (key, value) in [
            ("ungraded", "1"),
            ("latency_ms", "1.5"),
            ("tokens", "3"),
            ("cost_usd", "0.1"),
            ("metrics", "{\"bleu\": 0.5}"),
        ] {
            let text = GOOD.replace("\"n\": 2", &format!("\"{key}\": {value}, \"n\": 2"));
            let said = said(&text);
            assert!(
                said.contains(&format!("accepted scores can't have `{key}`")),
                "{said}"
            );
        }
    }
}
