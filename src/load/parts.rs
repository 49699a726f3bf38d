//! What belongs to a part of a run. There is one rule, for plans and for journals: `[tag=x]` means
//! what `--tag x` selects, and so for evals; `type` and `category` are told apart, where
//! `--category` takes both.

use std::sync::Arc;

use crate::model::{Eval, EvalInfo, PartSelector, ReleasePart};
use eval_base::globs::IdGlobs;

/// A [`PartSelector`] ready to be asked.
#[derive(Debug, Clone)]
pub struct PartFilter {
    part: PartSelector,
    globs: IdGlobs,
    released: Option<ReleasePart>,
}

impl PartFilter {
    /// # Errors
    /// Why the glob of an `eval` part is none.
    pub fn new(part: &PartSelector) -> Result<PartFilter, String> {
        let globs = match part {
            PartSelector::Eval(glob) => IdGlobs::new(&[glob]).map_err(|error| error.reason)?,
            _ => IdGlobs::default(),
        };
        Ok(PartFilter {
            part: part.clone(),
            globs,
            released: match part {
                PartSelector::Released(value) => ReleasePart::read(value),
                _ => None,
            },
        })
    }

    /// True when all cases of the eval belong to the part.
    pub fn takes_eval(&self, info: &EvalInfo) -> bool {
        match &self.part {
            PartSelector::Type(kind) => info.kind == *kind,
            PartSelector::Category(name) => info.category.as_ref() == Some(name),
            PartSelector::Tag(tag) => info.tags.contains(tag),
            PartSelector::Eval(_) => self.globs.fit(&info.id),
            PartSelector::Released(_) => false,
        }
    }

    /// True when a case with these tags belongs to the part.
    pub fn takes_case(&self, tags: &[String]) -> bool {
        match &self.part {
            PartSelector::Tag(tag) => tags.contains(tag),
            PartSelector::Released(_) => self.released.is_some_and(|part| part.takes(tags)),
            _ => false,
        }
    }

    /// The evals that have a case in the part, with those cases.
    pub fn select(&self, evals: &[Arc<Eval>]) -> Vec<Arc<Eval>> {
        let mut selected = Vec::new();
        for eval in evals {
            if self.takes_eval(&eval.info) {
                selected.push(Arc::clone(eval));
                continue;
            }
            let has = |tags: &[String]| self.takes_case(tags);
            // Most evals have no such case, which their profiles tell without a look at each.
            if eval
                .cases
                .profiles()
                .iter()
                .any(|profile| has(&profile.tags))
            {
                let cases = eval.cases.select(|case| has(&case.profile.tags));
                selected.push(Arc::new(Eval {
                    info: eval.info.clone(),
                    parallel: eval.parallel,
                    prompts: eval.prompts.clone(),
                    cases,
                }));
            }
        }
        selected
    }
}

/// The cases of a part of a plan, by their evals; none when its glob is no glob.
pub fn part_of_plan(part: &PartSelector, evals: &[Arc<Eval>]) -> Vec<Arc<Eval>> {
    PartFilter::new(part)
        .map(|filter| filter.select(evals))
        .unwrap_or_default()
}
