//! Which of the reported tests have to pass: ids, or globs in which only `*` and `?` are special,
//! since the ids of parametrised tests contain brackets.

use std::collections::{BTreeMap, BTreeSet};

use super::reports::{ReportedTest, TestStatus};
use eval_base::globs::{GlobMatcher, id_glob};

pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// A glob in which brackets and braces mean themselves.
pub(super) fn plain_brackets(text: &str) -> String {
    let mut glob = String::new();
    for letter in text.chars() {
        if matches!(letter, '[' | ']' | '{' | '}' | '\\' | '!') {
            glob.push('\\');
        }
        glob.push(letter);
    }
    glob
}

/// The results by id: of several with one id, the worst.
pub(super) type TestsById<'r> = BTreeMap<&'r str, &'r ReportedTest>;

/// A test counts as the worst of its results.
pub(super) fn by_id(tests: &[ReportedTest]) -> TestsById<'_> {
    let mut all = TestsById::new();
    for test in tests {
        let kept = all.entry(&test.id).or_insert(test);
        if test.status > kept.status {
            *kept = test;
        }
    }
    all
}

/// Ids and globs of one list.
pub(super) struct TestPatterns<'p> {
    patterns: Vec<(&'p str, Option<GlobMatcher>)>,
}

impl<'p> TestPatterns<'p> {
    pub fn new(patterns: &'p [String]) -> TestPatterns<'p> {
        let glob = |text: &'p String| {
            // It was checked when it was loaded.
            let glob = is_pattern(text)
                .then(|| id_glob(&plain_brackets(text)).ok())
                .flatten();
            (text.as_str(), glob)
        };
        TestPatterns {
            patterns: patterns.iter().map(glob).collect(),
        }
    }

    /// The ids that are meant, where `known` are those of all reported tests. Ids are meant whether
    /// they are known or not; a glob that fits none of them is itself among the result.
    pub fn selected(&self, known: &BTreeSet<&'p str>) -> BTreeSet<&'p str> {
        let mut selected = BTreeSet::new();
        for (text, glob) in &self.patterns {
            let fitting: Vec<&str> = match glob {
                Some(glob) if !known.contains(text) => known
                    .iter()
                    .copied()
                    .filter(|id| glob.is_match(id))
                    .collect(),
                _ => vec![text],
            };
            if fitting.is_empty() {
                selected.insert(*text);
            }
            selected.extend(fitting);
        }
        selected
    }
}

/// The status of a test that has to pass, with its message.
pub(super) fn status_of(id: &str, tests: &TestsById) -> (TestStatus, String) {
    match tests.get(id) {
        Some(test) => (test.status, test.message.clone()),
        None if is_pattern(id) => (TestStatus::Missing, "no test matches it".to_owned()),
        None => (TestStatus::Missing, "it did not run".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_of_ids_are_plain_and_stars_cross_everything() {
        let known = BTreeSet::from(["a/t.py::x[1-{y}]", "a/t.py::x[2]", "a/t.py::z"]);
        let selected = |patterns: &'static [&'static str]| {
            let patterns: &'static [String] =
                Vec::leak(patterns.iter().map(|&p| p.to_owned()).collect());
            let all = TestPatterns::new(patterns).selected(&known);
            all.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(selected(&["a/t.py::x[*]"]), "a/t.py::x[1-{y}] a/t.py::x[2]");
        assert_eq!(
            selected(&["*::z", "a/t.py::x[2]"]),
            "a/t.py::x[2] a/t.py::z"
        );
        assert_eq!(selected(&["gone", "b*"]), "b* gone");
    }
}
