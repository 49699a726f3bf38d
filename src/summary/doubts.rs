//! Reasons why the figures of a run may be wrong: records that were lost, and verdicts that
//! contradict their grades.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use crate::grade::{Contradiction, contradiction};
use crate::model::{
    CasePlanned, CombineRule, LostRecords, RunStarted, RunWarning, RunWarningKind, Verdict,
};
use eval_base::text::{listed, plural, sanitize, truncate_bytes};

/// Samples, and lines, that a sentence names.
const NAMED: usize = 5;

/// Bytes of an id in a sentence.
const ID: usize = 120;

/// Number of the eval, place of the case in its whole eval, and sample: joined shards have the
/// order of the whole run.
type SampleKey = (u32, u32, u32);

/// A passed sample that contradicts itself.
#[derive(Debug, Clone, Copy)]
struct ContradictedSample {
    /// Number of the case.
    case: u32,
    found: Contradiction,
}

#[derive(Debug, Default)]
pub(super) struct RunDoubts {
    /// By recording, what the last session that read it said.
    lost: BTreeMap<PathBuf, LostRecords>,
    /// Of cases whose grades must not all pass, by numbers of eval and case. Few rules serve many
    /// cases.
    rules: HashMap<(u32, u32), usize>,
    known: Vec<CombineRule>,
    /// Places in `known`, by what a rule says.
    known_places: HashMap<String, usize>,
    contradictions: BTreeMap<SampleKey, ContradictedSample>,
}

impl RunDoubts {
    pub fn started(&mut self, started: &RunStarted) {
        for read in &started.recordings {
            match &read.lost {
                Some(lost) => _ = self.lost.insert(read.path.clone(), lost.clone()),
                None => _ = self.lost.remove(&read.path),
            }
        }
    }

    /// True when a case that is planned again may have had a rule.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    pub fn planned(&mut self, eval: usize, case: usize, planned: &CasePlanned) {
        let key = (eval as u32, case as u32);
        let Some(rule) = planned.combine.as_deref() else {
            self.rules.remove(&key);
            return;
        };
        let next = self.known.len();
        let place = *self.known_places.entry(format!("{rule:?}")).or_insert(next);
        if place == next {
            self.known.push(rule.clone());
        }
        self.rules.insert(key, place);
    }

    /// How the grades of a case are combined, if not all of them must pass.
    pub fn rule(&self, eval: usize, case: usize) -> Option<&CombineRule> {
        let place = self.rules.get(&(eval as u32, case as u32))?;
        self.known.get(*place)
    }

    /// A later event of a sample takes the place of an earlier one.
    pub fn finished(&mut self, key: SampleKey, case: usize, verdict: &Verdict) {
        let found = contradiction(verdict, self.rule(key.0 as usize, case));
        let case = case as u32;
        match found {
            Some(found) => {
                _ = self
                    .contradictions
                    .insert(key, ContradictedSample { case, found })
            }
            None => _ = self.contradictions.remove(&key),
        }
    }

    /// One warning for each recording, one for all contradictions. `name` gives the ids of an eval
    /// and its case.
    pub fn warnings<'a>(
        &self,
        name: impl Fn(usize, usize) -> Option<(&'a str, &'a str)>,
    ) -> Vec<RunWarning> {
        let lost = self.lost.iter().map(|(path, lost)| {
            let rest = if lost.count == 1 {
                "its case is unknown"
            } else {
                "their cases are unknown"
            };
            let message = format!(
                "{} in {} can't be read, and {rest} (number {}): samples may be missing",
                plural(lost.count, "record"),
                sanitize(&path.display().to_string()),
                listed(&lost.first, NAMED, lost.count, ", ")
            );
            RunWarning {
                kind: RunWarningKind::LostRecords,
                count: lost.count,
                message,
            }
        });
        lost.chain(self.contradicted(name)).collect()
    }

    fn contradicted<'a>(
        &self,
        name: impl Fn(usize, usize) -> Option<(&'a str, &'a str)>,
    ) -> Option<RunWarning> {
        let count = self.contradictions.len();
        if count == 0 {
            return None;
        }
        let shown = |text: &str| sanitize(truncate_bytes(text, ID)).into_owned();
        let named = self.contradictions.iter().map(
            |((eval, _, sample), ContradictedSample { case, found })| {
                let (eval, case) = name(*eval as usize, *case as usize).unwrap_or_default();
                format!(
                    "{} › {} (sample {}): {}",
                    shown(eval),
                    shown(case),
                    sample + 1,
                    found.words()
                )
            },
        );
        let message = format!(
            "{} recorded as passed, but the record contradicts itself: {}",
            plural(count, "sample") + if count == 1 { " is" } else { " are" },
            listed(named, NAMED, count, "; ")
        );
        Some(RunWarning {
            kind: RunWarningKind::Contradiction,
            count,
            message,
        })
    }
}
