//! Filters: which cases of a plan are meant.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

use super::problem::{Code, Problem, Problems, did_you_mean};
use super::request::Filters;
use crate::model::{Eval, EvalType, Outline};

impl Filters {
    /// Each kind of filter in words, for the journal and reports; empty when nothing is filtered.
    pub fn describe(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |kind: &str, values: Vec<String>| {
            if !values.is_empty() {
                words.push(format!("{kind} {}", values.join(" or ")));
            }
        };
        say("category", self.category.clone());
        say("tag", self.tag.clone());
        say("eval", self.eval.clone());
        say("case", self.case.clone());
        say("difficulty", self.difficulty.iter().map(word).collect());
        say("criticality", self.criticality.iter().map(word).collect());
        if let Some(only) = &self.only {
            words.push(format!("{} named cases", only.len()));
        }
        words
    }
}

/// A word of a closed list as authors write it.
fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

struct Globs(Vec<(String, GlobMatcher)>);

impl Globs {
    /// An id may hold slashes, so `*` crosses them. A pattern that is exactly an id means that id.
    fn new(patterns: &[String], flag: &str, problems: &mut Problems) -> Globs {
        let mut globs = Vec::new();
        for pattern in patterns {
            match GlobBuilder::new(pattern).literal_separator(false).backslash_escape(true).build() {
                Ok(glob) => globs.push((pattern.clone(), glob.compile_matcher())),
                Err(error) => {
                    let message = format!("`--{flag} {pattern}` is not a glob: {}", error.kind());
                    problems.push(Problem::general(Code::BadGlob, message));
                }
            }
        }
        Globs(globs)
    }

    fn fit(&self, id: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|(text, glob)| text == id || glob.is_match(id))
    }
}

/// The evals with the cases that fit; an error when none does, and a hint for every word that fits nothing.
pub(super) fn select(evals: Vec<Arc<Eval>>, filters: &Filters, problems: &mut Problems) -> Vec<Arc<Eval>> {
    if filters.is_empty() {
        return evals;
    }
    let before = problems.error_count();
    let eval_globs = Globs::new(&filters.eval, "eval", problems);
    let case_globs = Globs::new(&filters.case, "case", problems);
    if problems.error_count() > before {
        return evals;
    }
    let strangers = strangers(&evals, filters, &eval_globs, &case_globs);
    let mut selected = Vec::new();
    for eval in &evals {
        if !eval_fits(eval, filters, &eval_globs) {
            continue;
        }
        let cases = eval.cases.select(|case| case_fits(eval, case, filters, &case_globs));
        if cases.len() == eval.cases.len() {
            selected.push(eval.clone());
        } else if !cases.is_empty() {
            selected.push(Arc::new(Eval { info: eval.info.clone(), parallel: eval.parallel, cases }));
        }
    }
    let nothing = selected.is_empty() && !evals.is_empty();
    for problem in strangers {
        problems.push(problem.maybe_warning(!nothing));
    }
    if nothing && problems.error_count() == before {
        let words = filters.describe().join(", ");
        problems.push(
            Problem::general(Code::EmptyCases, format!("no case fits the filters: {words}"))
                .hint("filters of different kinds must all fit; `list` shows what there is"),
        );
    }
    selected
}

fn eval_fits(eval: &Eval, filters: &Filters, globs: &Globs) -> bool {
    let category = |wanted: &String| {
        let kind = match eval.info.kind {
            EvalType::Capability => "capability",
            EvalType::Regression => "regression",
        };
        wanted == kind || eval.info.category.as_ref() == Some(wanted)
    };
    (filters.category.is_empty() || filters.category.iter().any(category))
        && globs.fit(&eval.info.id)
        && (filters.criticality.is_empty()
            || eval.info.criticality.is_some_and(|c| filters.criticality.contains(&c)))
}

fn case_fits(eval: &Eval, case: Outline<'_>, filters: &Filters, globs: &Globs) -> bool {
    let tag = |wanted: &String| eval.info.tags.contains(wanted) || case.profile.tags.contains(wanted);
    let difficulty = case.profile.difficulty.or(eval.info.difficulty);
    (filters.tag.is_empty() || filters.tag.iter().any(tag))
        && globs.fit(case.id)
        && (filters.difficulty.is_empty() || difficulty.is_some_and(|d| filters.difficulty.contains(&d)))
        && filters.only.as_ref().is_none_or(|only| only.contains(&(eval.info.id.clone(), case.id.to_owned())))
}

/// A problem for each word that nothing in the suite has.
fn strangers(evals: &[Arc<Eval>], filters: &Filters, eval_globs: &Globs, case_globs: &Globs) -> Vec<Problem> {
    let cases = || evals.iter().flat_map(|e| e.cases.outlines());
    let profiles = || evals.iter().flat_map(|e| e.cases.profiles());
    let mut categories: Vec<&str> = vec!["capability", "regression"];
    categories.extend(evals.iter().filter_map(|e| e.info.category.as_deref()));
    let mut tags: Vec<&str> = evals.iter().flat_map(|e| &e.info.tags).map(String::as_str).collect();
    tags.extend(profiles().flat_map(|p| &p.tags).map(String::as_str));
    let mut found = Vec::new();
    let mut look = |flag: &str, word: &str, known: &[&str], fits: bool| {
        if fits {
            return;
        }
        let hint = match did_you_mean(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`list` shows what there is".to_owned(),
        };
        let message = format!("`--{flag} {word}` fits nothing in this suite");
        found.push(Problem::general(Code::EmptyCases, message).hint(hint));
    };
    for word in &filters.category {
        look("category", word, &categories, categories.contains(&word.as_str()));
    }
    for word in &filters.tag {
        look("tag", word, &tags, tags.contains(&word.as_str()));
    }
    let ids: Vec<&str> = evals.iter().map(|e| e.info.id.as_str()).collect();
    for (word, glob) in &eval_globs.0 {
        look("eval", word, &ids, ids.iter().any(|id| id == word || glob.is_match(id)));
    }
    let ids: Vec<&str> = cases().map(|c| c.id).collect();
    for (word, glob) in &case_globs.0 {
        look("case", word, &ids, ids.iter().any(|id| id == word || glob.is_match(id)));
    }
    found
}
