//! Cases by type, category, tag, difficulty and eval.

use std::collections::BTreeMap;

use super::pairing::SidePairing;
use super::values::MeasureUnit;
use crate::model::limits;
use crate::model::{CaseRecord, Difficulty, EvalType, Grouping, Outcome, RELEASED_TAG};

/// Pairs from which on a group is tested.
pub(super) const TESTED: usize = 2;

const ALL: [Grouping; 5] = [
    Grouping::Type,
    Grouping::Category,
    Grouping::Tag,
    Grouping::Difficulty,
    Grouping::Eval,
];

/// Cases (or evals) that have something in common.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CaseGroup {
    pub by: Grouping,
    pub name: String,
    /// Numbers of pairs of cases, or of evals, ascending.
    pub members: Vec<u32>,
    pub broken: usize,
    pub fixed: usize,
}

/// The groups of the pairs of a unit, grouping by grouping; and those groupings that have too many
/// groups to list.
pub(super) fn groups(
    pairing: &SidePairing<'_>,
    unit: MeasureUnit,
    by: &[Grouping],
) -> (Vec<CaseGroup>, Vec<Grouping>) {
    let (mut groups, mut left_out) = (Vec::new(), Vec::new());
    let total = match unit {
        MeasureUnit::Case => pairing.pairs.len(),
        MeasureUnit::Eval => pairing.evals.len(),
    };
    for grouping in ALL {
        let asked = by.contains(&grouping);
        if !asked && grouping == Grouping::Eval && pairing.evals.len() > limits::COMPARED_GROUPS {
            left_out.push(grouping);
            continue;
        }
        let found = match unit {
            MeasureUnit::Case => of_cases(pairing, grouping),
            MeasureUnit::Eval => of_evals(pairing, grouping),
        };
        // One group of all says nothing that the whole does not.
        if !asked && found.iter().all(|group| group.members.len() == total) {
            continue;
        }
        if !asked && found.len() > limits::COMPARED_GROUPS {
            left_out.push(grouping);
            continue;
        }
        groups.extend(found);
    }
    (groups, left_out)
}

fn of_cases(pairing: &SidePairing<'_>, by: Grouping) -> Vec<CaseGroup> {
    let mut found = GroupBuilder::default();
    for (at, pair) in pairing.pairs.iter().enumerate() {
        let flip = flip(pair.reference, pair.candidate);
        each_name(pairing, pair.eval as usize, by, |name| {
            found.add(by, name, at as u32, flip)
        });
        if by == Grouping::Tag {
            let own = if pair.candidate.tags.is_empty() {
                &pair.reference.tags
            } else {
                &pair.candidate.tags
            };
            // Days are too many for groups; their months are tags, too.
            own.iter()
                .filter(|tag| !tag.starts_with(RELEASED_TAG))
                .for_each(|tag| found.add(by, GroupName::Text(tag), at as u32, flip));
        }
    }
    found.finish()
}

fn of_evals(pairing: &SidePairing<'_>, by: Grouping) -> Vec<CaseGroup> {
    let mut found = GroupBuilder::default();
    for at in 0..pairing.evals.len() {
        each_name(pairing, at, by, |name| {
            found.add(by, name, at as u32, [0, 0])
        });
    }
    for pair in &pairing.pairs {
        let flip = flip(pair.reference, pair.candidate);
        if flip != [0, 0] {
            each_name(pairing, pair.eval as usize, by, |name| {
                found.count(name, flip)
            });
        }
    }
    found.finish()
}

/// Broken and fixed.
fn flip(reference: &CaseRecord, candidate: &CaseRecord) -> [usize; 2] {
    match (reference.outcome, candidate.outcome) {
        (Some(Outcome::Passed), Some(Outcome::Failed)) => [1, 0],
        (Some(Outcome::Failed), Some(Outcome::Passed)) => [0, 1],
        _ => [0, 0],
    }
}

/// The name of a group, in the order in which groups are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GroupName<'a> {
    Kind(EvalType),
    Difficulty(Difficulty),
    Text(&'a str),
    /// By its place in the plan.
    Eval(usize, &'a str),
}

impl GroupName<'_> {
    fn text(self) -> String {
        match self {
            GroupName::Kind(EvalType::Capability) => "capability".to_owned(),
            GroupName::Kind(EvalType::Regression) => "regression".to_owned(),
            GroupName::Difficulty(Difficulty::Easy) => "easy".to_owned(),
            GroupName::Difficulty(Difficulty::Medium) => "medium".to_owned(),
            GroupName::Difficulty(Difficulty::Hard) => "hard".to_owned(),
            GroupName::Text(text) | GroupName::Eval(_, text) => text.to_owned(),
        }
    }
}

/// What the candidate says of an eval, else what the reference does.
fn each_name<'a>(
    pairing: &SidePairing<'a>,
    eval: usize,
    by: Grouping,
    mut add: impl FnMut(GroupName<'a>),
) {
    let Some(pair) = pairing.evals.get(eval) else {
        return;
    };
    let (a, b) = (pair.reference, pair.candidate);
    match by {
        Grouping::Type => b
            .kind
            .or(a.kind)
            .into_iter()
            .for_each(|kind| add(GroupName::Kind(kind))),
        Grouping::Difficulty => {
            b.difficulty
                .or(a.difficulty)
                .into_iter()
                .for_each(|difficulty| add(GroupName::Difficulty(difficulty)));
        }
        Grouping::Category => {
            b.category
                .as_deref()
                .or(a.category.as_deref())
                .into_iter()
                .for_each(|name| add(GroupName::Text(name)));
        }
        Grouping::Tag => {
            let tags = if b.tags.is_empty() { &a.tags } else { &b.tags };
            tags.iter().for_each(|tag| add(GroupName::Text(tag)));
        }
        Grouping::Eval => add(GroupName::Eval(eval, &b.id)),
    }
}

#[derive(Default)]
struct GroupBuilder<'a> {
    groups: BTreeMap<GroupName<'a>, CaseGroup>,
}

impl<'a> GroupBuilder<'a> {
    fn add(&mut self, by: Grouping, name: GroupName<'a>, member: u32, flip: [usize; 2]) {
        let group = self.groups.entry(name).or_insert_with(|| CaseGroup {
            by,
            name: name.text(),
            members: Vec::new(),
            broken: 0,
            fixed: 0,
        });
        // A tag may stand twice, or on the eval and on its case.
        if group.members.last() != Some(&member) {
            group.members.push(member);
            group.broken += flip[0];
            group.fixed += flip[1];
        }
    }

    fn count(&mut self, name: GroupName<'a>, flip: [usize; 2]) {
        if let Some(group) = self.groups.get_mut(&name) {
            group.broken += flip[0];
            group.fixed += flip[1];
        }
    }

    fn finish(self) -> Vec<CaseGroup> {
        self.groups.into_values().collect()
    }
}
