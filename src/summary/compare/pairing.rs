//! Which case of one side is which of the other, and how each flipped.

use std::collections::HashMap;

use super::CompareSettings;
use crate::model::{
    CaseChanges, CaseFlip, CasePart, CaseRecord, Criticality, EvalRecord, FlipList, IntervalScope,
    Outcome, RunScores,
};

/// Two sides, paired by eval id and case id.
pub(super) struct SidePairing<'a> {
    pub reference: &'a RunScores,
    pub candidate: &'a RunScores,
    /// The cases of both sides that are the same on both, in the candidate's order.
    pub pairs: Vec<CasePair<'a>>,
    /// The evals of both sides, in the candidate's order.
    pub evals: Vec<EvalPair<'a>>,
    pub changes: CaseChanges,
}

pub(super) struct CasePair<'a> {
    /// Its place in `evals`.
    pub eval: u32,
    pub reference: &'a CaseRecord,
    pub candidate: &'a CaseRecord,
}

pub(super) struct EvalPair<'a> {
    pub reference: &'a EvalRecord,
    pub candidate: &'a EvalRecord,
    /// Both sides have the same cases, none of which changed.
    pub whole: bool,
    /// Each of its cases has as many samples on both sides.
    pub same_samples: bool,
    /// It counts otherwise: another weight or score threshold, where both tell.
    pub reweighed: bool,
}

impl EvalPair<'_> {
    pub fn is_critical(&self) -> bool {
        is_critical(self.reference) || is_critical(self.candidate)
    }
}

fn is_critical(eval: &EvalRecord) -> bool {
    eval.criticality == Some(Criticality::Critical)
}

impl CasePair<'_> {
    /// True when some sample of either side has no grade, at its first attempt or in the end.
    pub fn is_open(&self) -> bool {
        let open = |case: &CaseRecord| case.n < case.planned() || case.ungraded > 0;
        open(self.reference) || open(self.candidate)
    }

    pub fn same_samples(&self) -> bool {
        self.reference.planned() == self.candidate.planned()
    }
}

impl<'a> SidePairing<'a> {
    /// What the candidate's suite says that figures speak about.
    pub fn scope(&self) -> IntervalScope {
        self.candidate.interval_scope
    }

    /// Pairs. Lists of cases hold the first of `settings.listed`.
    pub fn new(
        reference: &'a RunScores,
        candidate: &'a RunScores,
        settings: &CompareSettings,
    ) -> SidePairing<'a> {
        let listed = settings.listed;
        let mut pairing = SidePairing {
            reference,
            candidate,
            pairs: Vec::new(),
            evals: Vec::new(),
            changes: CaseChanges::default(),
        };
        // An id that another suite has, too, names another case.
        let same = reference.side.suite == candidate.side.suite;
        let known: HashMap<&str, &EvalRecord> = reference
            .evals
            .iter()
            .filter(|_| same)
            .map(|eval| (eval.id.as_str(), eval))
            .collect();
        let mut seen: HashMap<&str, Vec<bool>> = HashMap::new();
        let parts = PartialSides {
            reference: is_part(reference),
            candidate: is_part(candidate),
        };
        for eval in &candidate.evals {
            match known.get(eval.id.as_str()) {
                Some(before) => {
                    let marks = pairing.eval(before, eval, parts, settings);
                    seen.insert(&before.id, marks);
                }
                None => eval
                    .cases
                    .iter()
                    .for_each(|case| pairing.new_case(eval, case, parts, listed)),
            }
        }
        for eval in &reference.evals {
            let marks = seen.get(eval.id.as_str());
            if marks.is_none() && is_critical(eval) {
                pairing.changes.reference_critical += eval.cases.len();
            }
            let gone = |at: &usize| {
                !marks.is_some_and(|marks| marks.get(*at).copied().unwrap_or_default())
            };
            for case in (0..eval.cases.len())
                .filter(gone)
                .filter_map(|at| eval.cases.get(at))
            {
                if parts.candidate {
                    pairing.changes.not_selected += 1;
                } else {
                    add(
                        &mut pairing.changes.gone,
                        listed,
                        eval,
                        (Some(case), None),
                        is_critical(eval),
                    );
                }
            }
        }
        pairing
    }

    fn new_case(
        &mut self,
        eval: &EvalRecord,
        case: &CaseRecord,
        parts: PartialSides,
        listed: usize,
    ) {
        if parts.reference {
            self.changes.not_selected += 1;
        } else {
            add(
                &mut self.changes.new,
                listed,
                eval,
                (None, Some(case)),
                is_critical(eval),
            );
        }
    }

    /// Pairs the cases of an eval of both sides; says which of the reference's are there.
    fn eval(
        &mut self,
        before: &'a EvalRecord,
        now: &'a EvalRecord,
        parts: PartialSides,
        settings: &CompareSettings,
    ) -> Vec<bool> {
        let listed = settings.listed;
        let number = self.evals.len() as u32;
        let from = self.pairs.len();
        let mut marks = vec![false; before.cases.len()];
        let mut finder = CaseFinder::new(&before.cases);
        let mut eval = EvalPair {
            reference: before,
            candidate: now,
            whole: before.cases.len() == now.cases.len(),
            same_samples: true,
            reweighed: is_reweighed(before, now),
        };
        let critical = eval.is_critical();
        if critical {
            self.changes.reference_critical += before.cases.len();
        }
        for case in &now.cases {
            let Some((at, old)) = finder.find(&case.id) else {
                eval.whole = false;
                self.new_case(now, case, parts, listed);
                continue;
            };
            if let Some(mark) = marks.get_mut(at) {
                *mark = true;
            }
            let changed = changed_parts(old, case);
            if changed.iter().any(|part| part.defines_task()) {
                if !settings.allow_changed {
                    eval.whole = false;
                    add(
                        &mut self.changes.changed,
                        listed,
                        now,
                        (Some(old), Some(case)),
                        critical,
                    );
                    continue;
                }
                self.changes.allowed += 1;
            }
            self.changes.changed_input += usize::from(changed.contains(&CasePart::Input));
            self.changes.changed_target += usize::from(changed.contains(&CasePart::Target));
            eval.same_samples &= old.planned() == case.planned();
            self.pairs.push(CasePair {
                eval: number,
                reference: old,
                candidate: case,
            });
            self.flip(now, (old, case), critical, listed);
        }
        eval.whole &= self.pairs.len() - from == before.cases.len();
        self.evals.push(eval);
        marks
    }

    /// What became of a case of both sides.
    fn flip(
        &mut self,
        eval: &EvalRecord,
        (old, case): (&CaseRecord, &CaseRecord),
        critical: bool,
        listed: usize,
    ) {
        let changes = &mut self.changes;
        changes.ungraded_samples_reference += old.ungraded as usize;
        changes.ungraded_samples_candidate += case.ungraded as usize;
        let graded = |case: &CaseRecord| case.outcome.filter(|outcome| outcome.is_graded());
        let both = (Some(old), Some(case));
        let (before, now) = (graded(old), graded(case));
        if let (Some(before), Some(now)) = (before, now) {
            changes.compared += 1;
            changes.compared_critical += usize::from(critical);
            changes.other_samples += usize::from(old.n != case.n);
            match (before, now) {
                (Outcome::Passed, Outcome::Passed) => changes.still_passing += 1,
                (Outcome::Passed, _) => {
                    changes.broken_critical += usize::from(critical);
                    add(&mut changes.broken, listed, eval, both, critical);
                }
                (_, Outcome::Passed) => add(&mut changes.fixed, listed, eval, both, critical),
                _ => add(&mut changes.still_failing, listed, eval, both, critical),
            }
            return;
        }
        if before != Some(Outcome::Failed) && now != Some(Outcome::Passed) {
            changes.may_be_broken += 1;
            changes.may_be_broken_critical += usize::from(critical);
        }
        add(&mut changes.ungraded, listed, eval, both, critical);
    }

    /// True when something that has no grade could change a figure.
    pub fn is_open(&self) -> bool {
        self.pairs.iter().any(CasePair::is_open)
    }
}

/// Which sides are not the whole suite.
#[derive(Clone, Copy)]
struct PartialSides {
    reference: bool,
    candidate: bool,
}

fn is_part(run: &RunScores) -> bool {
    let side = &run.side;
    // All cases are planned before the first sample; a run that broke off before that may have
    // planned a part of them.
    let unheard = |eval: &EvalRecord| {
        eval.cases
            .iter()
            .all(|case| case.n == 0 && case.ungraded == case.planned())
    };
    !side.filters.is_empty()
        || !side.shards.is_empty()
        || side.interrupted && run.evals.iter().all(unheard)
}

fn is_reweighed(before: &EvalRecord, now: &EvalRecord) -> bool {
    // Where no weight is told, thresholds aren't, either.
    let told = before.weight.is_some() && now.weight.is_some();
    told && (before.weight != now.weight || before.score_threshold != now.score_threshold)
}

/// What is not the same in a case of both sides, as far as both say it. Data are a part of the
/// input, so that other data are not named as another input, too.
fn changed_parts(before: &CaseRecord, now: &CaseRecord) -> Vec<CasePart> {
    let (Some(old), Some(new)) = (&before.content, &now.content) else {
        let differ = before.fingerprint.is_some() && now.fingerprint.is_some();
        let differ = differ && before.fingerprint != now.fingerprint;
        return if differ {
            vec![CasePart::InputOrGrading]
        } else {
            Vec::new()
        };
    };
    let parts = [
        (
            CasePart::Input,
            old.input != new.input && old.data == new.data,
        ),
        (CasePart::Data, old.data != new.data),
        (CasePart::Grading, old.grading != new.grading),
        (CasePart::Target, old.target != new.target),
    ];
    parts
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(part, _)| part)
        .collect()
}

fn add(
    list: &mut FlipList,
    listed: usize,
    eval: &EvalRecord,
    (reference, candidate): (Option<&CaseRecord>, Option<&CaseRecord>),
    critical: bool,
) {
    list.count += 1;
    let Some(case) = candidate.or(reference) else {
        return;
    };
    if eval.private {
        list.private += 1;
        return;
    }
    if list.cases.len() >= listed {
        // What no cut may hide takes the place of another.
        let other = list
            .cases
            .iter()
            .rposition(|case| case.criticality != Some(Criticality::Critical));
        match other.filter(|_| critical) {
            Some(at) => list.cases.remove(at),
            None => return,
        };
    }
    let tries = |case: Option<&CaseRecord>| case.map(|case| [case.c, case.n]);
    list.cases.push(CaseFlip {
        eval_id: eval.id.clone(),
        case_id: case.id.clone(),
        criticality: if critical {
            Some(Criticality::Critical)
        } else {
            eval.criticality
        },
        reference: tries(reference),
        candidate: tries(candidate),
        changed: reference
            .zip(candidate)
            .map_or_else(Vec::new, |(old, new)| changed_parts(old, new)),
    });
}

/// Cases by id. Mostly they come in the same order, so that the one that is looked for is the next
/// one; a map is made only when it is not.
struct CaseFinder<'a> {
    cases: &'a [CaseRecord],
    next: usize,
    map: Option<HashMap<&'a str, usize>>,
}

impl<'a> CaseFinder<'a> {
    fn new(cases: &'a [CaseRecord]) -> CaseFinder<'a> {
        CaseFinder {
            cases,
            next: 0,
            map: None,
        }
    }

    fn find(&mut self, id: &str) -> Option<(usize, &'a CaseRecord)> {
        let at = match self.cases.get(self.next) {
            Some(case) if case.id == id => self.next,
            _ => {
                let cases = self.cases;
                let map = self.map.get_or_insert_with(|| {
                    cases
                        .iter()
                        .enumerate()
                        .map(|(at, case)| (case.id.as_str(), at))
                        .collect()
                });
                *map.get(id)?
            }
        };
        self.next = at + 1;
        Some((at, self.cases.get(at)?))
    }
}
