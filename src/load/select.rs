//! Filters: which cases of a plan are meant.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::problem::{Code, Problem, Problems};
use super::request::CaseFilters;
use crate::model::{CaseOutline, Eval, EvalType, Shard};
use eval_base::globs::IdGlobs;

/// Tags or categories that a hint names at most.
const MOST_NAMED: usize = 12;

impl CaseFilters {
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
pub(super) fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

/// The globs of a flag; those that are not globs are reported.
fn globs_of(patterns: &[String], flag: &str, problems: &mut Problems) -> IdGlobs {
    for pattern in patterns {
        if let Err(why) = IdGlobs::new(&[pattern]) {
            let message = format!("`--{flag} {pattern}` is not a glob: {why}");
            problems.push(Problem::general(Code::BadGlob, message));
        }
    }
    IdGlobs::new(patterns).unwrap_or_default()
}

/// The evals with the cases that fit; an error when none does, and a hint for every word that fits
/// nothing.
pub(super) fn select(
    evals: Vec<Arc<Eval>>,
    filters: &CaseFilters,
    problems: &mut Problems,
) -> Vec<Arc<Eval>> {
    if filters.is_empty() {
        return evals;
    }
    let before = problems.error_count();
    let eval_globs = globs_of(&filters.eval, "eval", problems);
    let case_globs = globs_of(&filters.case, "case", problems);
    if problems.error_count() > before {
        return evals;
    }
    let strangers = strangers(&evals, filters, &eval_globs, &case_globs);
    let mut selected = Vec::new();
    for eval in &evals {
        if !eval_fits(eval, filters, &eval_globs) {
            continue;
        }
        let cases = eval
            .cases
            .select(|case| case_fits(eval, case, filters, &case_globs));
        if cases.len() == eval.cases.len() {
            selected.push(eval.clone());
        } else if !cases.is_empty() {
            selected.push(Arc::new(Eval {
                info: eval.info.clone(),
                parallel: eval.parallel,
                prompts: eval.prompts.clone(),
                cases,
            }));
        }
    }
    let nothing = selected.is_empty() && !evals.is_empty();
    for problem in strangers {
        problems.push(problem.maybe_warning(!nothing));
    }
    if nothing && problems.error_count() == before {
        let words = filters.describe().join(", ");
        problems.push(
            Problem::general(
                Code::EmptyCases,
                format!("no case matches the filters: {words}"),
            )
            .hint(
                "filters of different kinds must all match; `eval-harness list --verbose` shows what exists",
            ),
        );
    }
    selected
}

/// The cases of one part of the suite: a case's part depends on its eval's id and its own alone, so
/// that it stays whatever else the suite holds and in whatever order. All evals stay, those without
/// a case of this part too, so that joined parts know of all.
pub(super) fn part_of(
    evals: Vec<Arc<Eval>>,
    shard: Shard,
    problems: &mut Problems,
) -> Vec<Arc<Eval>> {
    let Shard { index, of } = shard;
    if index == 0 || index > of {
        let message =
            format!("`--shard {index}/{of}`: there is no such shard; shards are numbered from 1");
        problems.push(Problem::general(Code::EmptyCases, message));
        return evals;
    }
    let ours = |eval: &Eval, case: CaseOutline<'_>| part(&eval.info.id, case.id, of) == index;
    let part = |eval: &Arc<Eval>| {
        let cases = eval.cases.select(|case| ours(eval, case));
        Arc::new(Eval {
            info: eval.info.clone(),
            parallel: eval.parallel,
            prompts: eval.prompts.clone(),
            cases,
        })
    };
    // Of few cases a part may have none: it is a run of nothing, without which its union would not
    // be whole.
    evals.iter().map(part).collect()
}

/// The part of a case, from 1: the first 8 bytes of the SHA-256 over eval id, NUL and case id as a
/// number, modulo `of`.
fn part(eval: &str, case: &str, of: u32) -> u32 {
    let digest = Sha256::new()
        .chain_update(eval)
        .chain_update([0])
        .chain_update(case)
        .finalize();
    let number = digest
        .iter()
        .take(8)
        .fold(0, |number: u64, byte| (number << 8) | u64::from(*byte));
    u32::try_from(number % u64::from(of.max(1))).map_or(1, |part| part + 1)
}

fn eval_fits(eval: &Eval, filters: &CaseFilters, globs: &IdGlobs) -> bool {
    let category = |wanted: &String| {
        let kind = match eval.info.kind {
            EvalType::Capability => "capability",
            EvalType::Regression => "regression",
        };
        wanted == kind || eval.info.category.as_ref() == Some(wanted)
    };
    (filters.category.is_empty() || filters.category.iter().any(category))
        && globs.fit_or_empty(&eval.info.id)
        && (filters.criticality.is_empty()
            || eval
                .info
                .criticality
                .is_some_and(|c| filters.criticality.contains(&c)))
}

fn case_fits(eval: &Eval, case: CaseOutline<'_>, filters: &CaseFilters, globs: &IdGlobs) -> bool {
    let tag =
        |wanted: &String| eval.info.tags.contains(wanted) || case.profile.tags.contains(wanted);
    let difficulty = case.profile.difficulty.or(eval.info.difficulty);
    (filters.tag.is_empty() || filters.tag.iter().any(tag))
        && globs.fit_or_empty(case.id)
        && (filters.difficulty.is_empty()
            || difficulty.is_some_and(|d| filters.difficulty.contains(&d)))
        && filters
            .only
            .as_ref()
            .is_none_or(|only| only.contains(&(eval.info.id.clone(), case.id.to_owned())))
}

/// A problem for each word that nothing in the suite has.
fn strangers(
    evals: &[Arc<Eval>],
    filters: &CaseFilters,
    eval_globs: &IdGlobs,
    case_globs: &IdGlobs,
) -> Vec<Problem> {
    let cases = || evals.iter().flat_map(|e| e.cases.outlines());
    let profiles = || evals.iter().flat_map(|e| e.cases.profiles());
    let mut categories: Vec<&str> = vec!["capability", "regression"];
    categories.extend(evals.iter().filter_map(|e| e.info.category.as_deref()));
    let mut tags: Vec<&str> = evals
        .iter()
        .flat_map(|e| &e.info.tags)
        .map(String::as_str)
        .collect();
    tags.extend(profiles().flat_map(|p| &p.tags).map(String::as_str));
    let mut found = Vec::new();
    let mut look = |flag: &str, word: &str, known: &[&str], fits: bool| {
        if fits {
            return;
        }
        let message = format!("`--{flag} {word}` matches nothing in this suite");
        let problem = Problem::general(Code::EmptyCases, message)
            .near(word, known.iter().copied())
            .or_hint(existing(flag, known));
        found.push(problem);
    };
    for word in &filters.category {
        look(
            "category",
            word,
            &categories,
            categories.contains(&word.as_str()),
        );
    }
    for word in &filters.tag {
        look("tag", word, &tags, tags.contains(&word.as_str()));
    }
    let ids: Vec<&str> = evals.iter().map(|e| e.info.id.as_str()).collect();
    for word in eval_globs.unmatched(&ids) {
        look("eval", word, &ids, false);
    }
    let ids: Vec<&str> = cases().map(|c| c.id).collect();
    let shown = evals.iter().filter(|eval| !eval.info.is_private());
    let shown: Vec<&str> = shown
        .flat_map(|eval| eval.cases.outlines().map(|case| case.id))
        .collect();
    for word in case_globs.unmatched(&ids) {
        look("case", word, &shown, false);
    }
    found
}

/// The tags or categories that exist, where they are few; ids are in the list of evals.
fn existing(flag: &str, known: &[&str]) -> String {
    let kinds = match flag {
        "category" => "categories",
        "tag" => "tags",
        _ => return "`eval-harness list --verbose` shows what exists".to_owned(),
    };
    let names: BTreeSet<&str> = known.iter().copied().collect();
    match names.len() {
        0 => format!("this suite has no {kinds}"),
        1..=MOST_NAMED => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("{kinds} of this suite: {}", names.join(", "))
        }
        _ => format!("`eval-harness list --verbose` shows the {kinds} of this suite"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EvalCases, testing};

    fn eval(id: &str, cases: &[String]) -> Arc<Eval> {
        let cases: EvalCases = cases.iter().map(|id| Arc::new(testing::case(id))).collect();
        Arc::new(testing::eval(id, cases))
    }

    fn ids(evals: &[Arc<Eval>]) -> Vec<(String, String, usize)> {
        let of = |eval: &Arc<Eval>| {
            let cases = (0..eval.cases.len()).filter_map(|at| {
                let id = eval.cases.outline(at)?.id.to_owned();
                Some((eval.info.id.clone(), id, eval.cases.position(at)?))
            });
            cases.collect::<Vec<_>>()
        };
        evals.iter().flat_map(of).collect()
    }

    #[test]
    fn few_tags_are_named() {
        assert_eq!(
            existing("tag", &["slow", "fast", "slow"]),
            "tags of this suite: `fast`, `slow`"
        );
        assert_eq!(existing("tag", &[]), "this suite has no tags");
        let many: Vec<String> = (0..=MOST_NAMED).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(
            existing("category", &many),
            "`eval-harness list --verbose` shows the categories of this suite"
        );
    }

    proptest::proptest! {
        #[test]
        fn parts_are_disjoint_and_together_the_whole(
            evals in proptest::collection::btree_map("[a-c]{1,2}", proptest::collection::btree_set("[a-d/ ]{1,3}", 0..12), 1..4),
            of in 1u32..6,
        ) {
            let evals: Vec<Arc<Eval>> = evals.iter()
                .map(|(id, cases)| eval(id, &cases.iter().cloned().collect::<Vec<_>>()))
                .collect();
            let mut joined = Vec::new();
            for index in 1..=of {
                let selected = part_of(evals.clone(), Shard { index, of }, &mut Problems::new());
                proptest::prop_assert_eq!(selected.len(), evals.len());
                joined.extend(ids(&selected));
                for eval in &selected {
                    let whole = evals.iter().find(|other| other.info.id == eval.info.id).unwrap();
                    for (at, case) in eval.cases.all().unwrap().iter().enumerate() {
                        let position = eval.cases.position(at).unwrap();
                        proptest::prop_assert_eq!(&whole.cases.get(position).unwrap().unwrap().id, &case.id);
                    }
                }
            }
            let mut whole = ids(&evals);
            joined.sort();
            whole.sort();
            proptest::prop_assert_eq!(joined, whole);
        }
    }

    #[test]
    fn a_part_is_the_same_for_all_time() {
        // The number is 0x7fbbe98d4145bd6f, see `printf 'e\0case-7' | sha256sum`.
        assert_eq!(part("e", "case-7", u32::MAX), 3238110973);
        let few = vec![eval("e", &["a".to_owned()])];
        let mut problems = Problems::new();
        let empty = (1..=9).find(|index| part("e", "a", 9) != *index).unwrap();
        // A part without a case is a part.
        let nothing = part_of(
            few.clone(),
            Shard {
                index: empty,
                of: 9,
            },
            &mut problems,
        );
        assert_eq!((nothing.len(), ids(&nothing).len()), (1, 0));
        part_of(few, Shard { index: 3, of: 2 }, &mut problems);
        let told: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(
            told,
            ["`--shard 3/2`: there is no such shard; shards are numbered from 1"]
        );
    }
}
