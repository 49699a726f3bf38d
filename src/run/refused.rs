//! Why a run can't go on (or be graded again, or be joined) with what is asked: in words, and
//! nothing was done.

use std::fmt;

use crate::model::EvalInfo;

/// Names that a sentence lists; the others are counted.
const NAMED: usize = 5;

/// All reasons at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRefusal {
    /// What can't be done, such as ``run `eval-1` can't be resumed``.
    pub what: String,
    /// One sentence each, without a full stop. Not empty.
    pub reasons: Vec<String>,
    pub hint: Option<String>,
}

impl std::error::Error for RunRefusal {}

impl fmt::Display for RunRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reasons.as_slice() {
            [reason] => write!(f, "{}: {reason}", self.what),
            reasons => {
                write!(f, "{}:", self.what)?;
                reasons
                    .iter()
                    .try_for_each(|reason| write!(f, "\n  {reason}"))
            }
        }
    }
}

/// Cases that something is wrong with: the first one's name, and how many there are.
#[derive(Debug, Default)]
pub(super) struct RefusedCases {
    first: Option<String>,
    pub count: usize,
}

impl RefusedCases {
    pub fn add(&mut self, eval: &EvalInfo, case: &str) {
        self.count += 1;
        let name = || format!("{}/{}", eval.id, eval.shown_case(case));
        self.first.get_or_insert_with(name);
    }

    /// The sentence, if there is any case: `of(n)` begins it.
    pub fn say(&self, sentence: impl Fn(&str) -> String) -> Option<String> {
        let first = self.first.as_ref()?;
        let cases = if self.count == 1 {
            "case".to_owned()
        } else {
            format!("{} cases", self.count)
        };
        let named = if self.count == 1 {
            first.clone()
        } else {
            format!("(first: {first})")
        };
        Some(sentence(&format!("{cases} {named}")))
    }
}

/// Names in a sentence: the first few, and how many more.
pub(super) fn listed(mut names: Vec<String>) -> String {
    names.sort();
    eval_base::text::listed(&names, NAMED, names.len(), ", ")
}
