//! Which cases a recording is asked for: each has a number, its slot.

use std::collections::{HashMap, HashSet};

use crate::target::line::shown_id;
use eval_base::names::InternedTexts;

/// The cases that a plan asks of one recording, each with a number (its slot) from 0. Some forty bytes a case beside its id.
#[derive(Debug, Default)]
pub(in crate::target) struct RecordedCases {
    evals: InternedTexts,
    cases: InternedTexts,
    /// By number of a case's id: the first eval that has such a case. The slot is the id's number.
    first: Vec<u32>,
    /// Cases whose id an earlier eval has, too, by numbers of case id and eval. Their slots follow those of `first`.
    further: HashMap<(u32, u32), u32>,
    /// The second eval with a case of this id, for messages.
    second: HashMap<u32, u32>,
    /// Ids of the cases with a workspace.
    pub in_workspaces: HashSet<String>,
    /// Some of the cases are of a private dataset: messages name none.
    pub private: bool,
}

/// The case that a record fits.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::target) enum RecordFit<'a> {
    /// The plan has no such case.
    None,
    Slot(u32),
    /// The record names no eval, and these have such a case (and maybe others).
    Several(&'a str, &'a str),
}

impl RecordedCases {
    /// The id of a case, for messages.
    pub fn shown(&self, case: &str) -> String {
        match self.private {
            true => "(private)".to_owned(),
            false => shown_id(case),
        }
    }

    /// All cases are added before any is looked up. False when there are more than can be numbered (2^31).
    pub fn add(&mut self, eval: &str, case: &str) -> bool {
        let last = u32::try_from(self.evals.len())
            .unwrap_or(u32::MAX)
            .saturating_sub(1);
        let eval = match self.evals.number_near(eval, last) {
            Some(number) => Some(number),
            None => self.evals.add(eval),
        };
        let (Some(eval), Some(case)) = (eval, self.cases.add(case)) else {
            return false;
        };
        match self.first.get(case as usize) {
            None => self.first.push(eval),
            Some(first) if *first == eval => {}
            Some(_) => {
                let next = u32::try_from(self.further.len()).unwrap_or(u32::MAX);
                self.further.entry((case, eval)).or_insert(next);
                self.second.entry(case).or_insert(eval);
            }
        }
        self.slots() <= 1 << 31
    }

    pub fn slots(&self) -> usize {
        self.first.len() + self.further.len()
    }

    /// The slot of a case of the plan.
    pub fn slot(&self, eval: &str, case: &str) -> Option<u32> {
        let number = self.cases.number(case)?;
        self.slot_in(eval, number)
    }

    fn slot_in(&self, eval: &str, case: u32) -> Option<u32> {
        let first = *self.first.get(case as usize)?;
        if self.evals.get(first) == Some(eval) {
            return Some(case);
        }
        if self.further.is_empty() {
            return None;
        }
        let eval = self.evals.number(eval)?;
        let further = self.further.get(&(case, eval))?;
        u32::try_from(self.first.len()).ok()?.checked_add(*further)
    }

    /// The case that a record means. `last` is the number of the case that the record before it named, since records
    /// mostly lie in the plan's order.
    pub fn fit(&self, eval: Option<&str>, case: &str, last: &mut u32) -> RecordFit<'_> {
        let known = if self.cases.get(*last) == Some(case) {
            Some(*last)
        } else {
            self.cases.number_near(case, last.saturating_add(1))
        };
        let Some(case) = known else {
            return RecordFit::None;
        };
        *last = case;
        let Some(eval) = eval else {
            let name = |number: u32| self.evals.get(number).unwrap_or_default();
            let second = if self.second.is_empty() {
                None
            } else {
                self.second.get(&case)
            };
            return match second {
                None => RecordFit::Slot(case),
                Some(second) => RecordFit::Several(
                    name(self.first.get(case as usize).copied().unwrap_or_default()),
                    name(*second),
                ),
            };
        };
        self.slot_in(eval, case)
            .map_or(RecordFit::None, RecordFit::Slot)
    }

    /// The case id of a slot, for messages.
    pub fn case_of(&self, slot: u32) -> &str {
        let number = (slot as usize)
            .checked_sub(self.first.len())
            .map_or(Some(slot), |further| {
                self.further
                    .iter()
                    .find(|(_, n)| **n as usize == further)
                    .map(|((case, _), _)| *case)
            });
        number
            .and_then(|number| self.cases.get(number))
            .unwrap_or_default()
    }

    /// The distinct ids of cases.
    pub fn cases(&self) -> &InternedTexts {
        &self.cases
    }
}
