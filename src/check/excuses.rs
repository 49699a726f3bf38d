//! Which probes may pass in a case, each with its reason: those that the suite excuses, and known
//! faults of public datasets. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fold::CheckedCase;
use super::known::{KnownFault, shipped};
use crate::model::{CheckFinding, Eval, FindingKind, ProbeExcuse};

/// The reasons of one case, by the name of the probe.
pub(super) type CaseExcuses = BTreeMap<String, String>;

/// All excuses, and which of them were of use.
#[derive(Debug)]
pub(super) struct ExcuseBook {
    suite: Vec<ExcuseUse>,
    known: Vec<KnownFault>,
}

#[derive(Debug)]
struct ExcuseUse {
    excuse: ProbeExcuse,
    /// A case that it is about was checked.
    was_tried: bool,
    /// The probes that it excused.
    used: BTreeSet<String>,
}

impl ExcuseBook {
    /// # Errors
    /// When the file of known faults is broken.
    pub fn new(suite: &[ProbeExcuse]) -> Result<ExcuseBook, serde_json::Error> {
        let unused = |excuse: &ProbeExcuse| ExcuseUse {
            excuse: excuse.clone(),
            was_tried: false,
            used: BTreeSet::new(),
        };
        Ok(ExcuseBook {
            suite: suite.iter().map(unused).collect(),
            known: shipped()?,
        })
    }

    /// The excuses of a case that is checked. What the suite says comes before known faults.
    pub fn of(&mut self, case: &CheckedCase) -> CaseExcuses {
        let mut excuses = CaseExcuses::new();
        let mut add = |probes: &[String], reason: &str| {
            for probe in probes {
                let entry = excuses.entry(probe.clone());
                entry.or_insert_with(|| reason.to_owned());
            }
        };
        for own in &mut self.suite {
            if own.excuse.is_of(&case.eval, &case.case) {
                own.was_tried = true;
                add(&own.excuse.probes, &own.excuse.reason);
            }
        }
        if let Some(record) = &case.record {
            for fault in self
                .known
                .iter()
                .filter(|fault| fault.is_of(record, &case.case))
            {
                add(&fault.probes, &fault.reason);
            }
        }
        excuses
    }

    /// Notes that probes of a case were excused.
    pub fn used(&mut self, case: &CheckedCase, probes: &[&str]) {
        let own = self.suite.iter_mut();
        for one in own.filter(|one| one.excuse.is_of(&case.eval, &case.case)) {
            let named = |probe: &&&str| one.excuse.probes.iter().any(|own| own == **probe);
            let used: Vec<String> = probes
                .iter()
                .filter(named)
                .map(|&probe| probe.to_owned())
                .collect();
            one.used.extend(used);
        }
    }

    /// Excuses of the suite that excused nothing: of cases that were checked, or that `whole` has
    /// not. Where only a part of `whole` is checked, an excuse of an eval may be of use elsewhere.
    pub fn unused(&self, whole: &[Arc<Eval>], is_part: bool) -> Vec<CheckFinding> {
        let mut found = Vec::new();
        for ExcuseUse {
            excuse,
            was_tried,
            used,
        } in &self.suite
        {
            let probes: Vec<String> = excuse
                .probes
                .iter()
                .filter(|probe| !used.contains(*probe))
                .cloned()
                .collect();
            let why = match (was_tried, probes.is_empty()) {
                (true, false) if excuse.case.is_some() || !is_part => {
                    "no finding of these cases needs this excuse of `check.excused`"
                }
                (false, false) if !exists(excuse, whole) => {
                    "`check.excused` names a case that the suite does not have"
                }
                _ => continue,
            };
            found.push(CheckFinding {
                kind: FindingKind::UnusedExcuse,
                level: FindingKind::UnusedExcuse.level(),
                eval: excuse.eval.clone(),
                case: excuse.case.clone().unwrap_or_default(),
                probes,
                reason: why.to_owned(),
                excused: None,
            });
        }
        found
    }
}

fn exists(excuse: &ProbeExcuse, evals: &[Arc<Eval>]) -> bool {
    evals.iter().any(|eval| {
        let mut cases = eval.cases.outlines();
        cases.any(|case| excuse.is_of(&eval.info.id, case.id))
    })
}
