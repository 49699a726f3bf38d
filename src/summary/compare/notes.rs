//! What else differs between the two sides than their outcomes, in sentences.

use super::draft::ComparisonDraft;
use super::metrics::tests_whole_evals;
use super::pairing::CasePair;
use crate::model::limits;
use crate::model::{
    CaseFlip, CasePart, ComparedSide, Grouping, IntervalScope, RunScores, ScoresSource, Shard,
};
use eval_base::text::plural;

pub(super) fn notes(draft: &ComparisonDraft<'_>) -> Vec<String> {
    let pairing = &draft.pairing;
    let (a, b) = (&pairing.reference.side, &pairing.candidate.side);
    let mut notes = Vec::new();
    if a.suite != b.suite {
        notes.push(format!(
            "the reference is from suite `{}` and the candidate from suite `{}`: no case is the same",
            a.suite, b.suite
        ));
        return notes;
    }
    // Ids tell the second in which a run began: those of two machines may be the same.
    if (&a.run_id, &a.timestamp) == (&b.run_id, &b.timestamp) {
        notes.push(format!(
            "both sides are run {}: a run does not differ from itself",
            a.run_id
        ));
    }
    let evals = pairing.pairs.chunk_by(|a, b| a.eval == b.eval).count();
    if pairing.scope() == IntervalScope::SimilarEvals
        && evals > 0
        && !tests_whole_evals(pairing.scope(), evals)
    {
        notes.push(format!(
            "{} {} too few to test evals like these: cases are tested instead, and the verdict applies to these cases only",
            plural(evals, "eval"),
            if evals == 1 { "is" } else { "are" }
        ));
    }
    versions(pairing.reference, pairing.candidate, &mut notes);
    sides(a, b, &mut notes);
    cases(draft, &mut notes);
    for by in &draft.left_out {
        let words = match by {
            Grouping::Eval => "evals are not listed one by one",
            Grouping::Tag => "tags are not listed",
            Grouping::Category => "categories are not listed",
            Grouping::Type | Grouping::Difficulty => continue,
        };
        notes.push(format!(
            "{words} because there are more than {}; use `--by {}`",
            limits::COMPARED_GROUPS,
            by.name()
        ));
    }
    notes
}

fn versions(reference: &RunScores, candidate: &RunScores, notes: &mut Vec<String>) {
    let (a, b) = (&reference.side, &candidate.side);
    let version = |side: &ComparedSide| {
        side.suite_version
            .as_ref()
            .map_or("no version".to_owned(), |version| {
                format!("version {version}")
            })
    };
    if a.suite_version != b.suite_version {
        notes.push(format!(
            "the suite had {} and has {}",
            version(a),
            version(b)
        ));
    }
    if a.target != b.target {
        notes.push(format!(
            "the reference called target {}, and the candidate {}",
            a.target, b.target
        ));
    }
    if a.target_type != b.target_type {
        notes.push(format!(
            "the target's type was {} and is {}",
            a.target_type, b.target_type
        ));
    }
    if let (Some(then), Some(now)) = (&a.model, &b.model)
        && then != now
    {
        notes.push(format!("the model was {then} and is {now}"));
    }
    if reference.ks != candidate.ks {
        let list = |ks: &[u32]| ks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        notes.push(format!(
            "k was {} and is {}",
            list(&reference.ks),
            list(&candidate.ks)
        ));
    }
    if a.harness_version != b.harness_version {
        notes.push(format!(
            "the eval-harness version was {} and is {}",
            a.harness_version, b.harness_version
        ));
    }
}

/// What each side is, when it is no whole run of the suite.
fn sides(a: &ComparedSide, b: &ComparedSide, notes: &mut Vec<String>) {
    if a.filters != b.filters {
        let part = |side: &ComparedSide| match side.filters.as_slice() {
            [] => "the whole suite".to_owned(),
            filters => format!("a part of the suite ({})", filters.join(", ")),
        };
        notes.push(format!(
            "the reference ran {}, and the candidate {}: only cases of both are compared",
            part(a),
            part(b)
        ));
    }
    for (side, name) in [(a, "reference"), (b, "candidate")] {
        if !side.shards.is_empty() {
            let (noun, of) = shards(&side.shards);
            notes.push(format!(
                "the {name} is {noun} of {of}: only cases of both are compared"
            ));
        }
        if side.interrupted {
            notes.push(format!(
                "the {name} ended early, or its journal is truncated: samples that did not run have no grade"
            ));
        }
        if side.capture {
            notes.push(format!(
                "the {name} captured baselines, so its outcomes are not a verdict"
            ));
        }
    }
    reused_samples(a, b, notes);
    match (&a.regrade_of, &b.regrade_of) {
        (None, Some(of)) if *of == a.run_id => {
            notes.push(
                "the candidate regraded the reference's outputs: the target was not called"
                    .to_owned(),
            );
        }
        (Some(of), None) if *of == b.run_id => {
            notes.push(
                "the reference regraded the candidate's outputs: the target was not called"
                    .to_owned(),
            );
        }
        (then, now) => {
            for (of, name) in [(then, "reference"), (now, "candidate")] {
                notes.extend(
                    of.as_ref()
                        .map(|of| format!("the {name} regraded the outputs of run {of}")),
                );
            }
        }
    }
}

/// From which runs the sides reused samples: each run is named once.
fn reused_samples(a: &ComparedSide, b: &ComparedSide, notes: &mut Vec<String>) {
    for (side, other, name) in [(a, b, "reference"), (b, a, "candidate")] {
        if side.reused_from.contains(&other.run_id) {
            notes.push(format!(
                "the {name} reused unchanged samples of the other run: these samples have equal outputs"
            ));
        }
        let own = side.reused_from.iter();
        let own = own.filter(|run| **run != other.run_id && !other.reused_from.contains(run));
        let runs = run_list(own);
        notes.extend(runs.map(|runs| format!("the {name} reused unchanged samples of {runs}")));
    }
    let both = a.reused_from.iter();
    let runs = run_list(both.filter(|run| b.reused_from.contains(run)));
    notes.extend(runs.map(|runs| {
        format!(
            "both runs reused unchanged samples of {runs}: samples that both reused have equal outputs"
        )
    }));
}

/// Runs in words; `None` if there are none.
fn run_list<'a>(ids: impl Iterator<Item = &'a String>) -> Option<String> {
    let ids: Vec<&str> = ids.map(String::as_str).collect();
    match ids.as_slice() {
        [] => None,
        [id] => Some(format!("run {id}")),
        [a, b, c, more @ ..] if !more.is_empty() => {
            Some(format!("runs {a}, {b}, {c} and {} more", more.len()))
        }
        ids => Some(format!("runs {}", ids.join(", "))),
    }
}

fn shards(shards: &[Shard]) -> (String, u32) {
    let indices: Vec<String> = shards.iter().map(|shard| shard.index.to_string()).collect();
    let noun = if shards.len() == 1 { "shard" } else { "shards" };
    (
        format!("{noun} {}", indices.join(", ")),
        shards.first().map_or(0, |shard| shard.of),
    )
}

/// What keeps cases or evals of both from being compared, or makes them harder to.
fn cases(draft: &ComparisonDraft<'_>, notes: &mut Vec<String>) {
    let pairing = &draft.pairing;
    let changed = pairing.changes.changed.count;
    if pairing.changes.changed.only_input_or_grading() {
        let (is, it) = if changed == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        notes.push(format!(
            "{} changed in input or grading and {is} not compared: one of the sides was recorded by an earlier version, which does \
             not record which of them changed; run or accept that side again, or pass `--allow-changed` to compare {it} anyway",
            plural(changed, "case")
        ));
    } else if changed > 0 {
        let (is, what) = if changed == 1 {
            ("is", "it is a different task")
        } else {
            ("are", "they are different tasks")
        };
        notes.push(format!(
            "{} changed in data or grading and {is} not compared: {what} than in the reference; `--allow-changed` compares \
             {} anyway",
            plural(changed, "case"),
            if changed == 1 { "it" } else { "them" }
        ));
        let unknown = |flip: &CaseFlip| flip.changed.contains(&CasePart::InputOrGrading);
        if pairing.changes.changed.cases.iter().any(unknown) {
            notes.push(
                "one of the sides was recorded by an earlier version, which does not distinguish a changed prompt from \
                 changed data or grading: run it again to compare prompts"
                    .to_owned(),
            );
        }
    }
    let other = pairing
        .pairs
        .iter()
        .filter(|pair| !pair.same_samples())
        .count();
    if other > 0 {
        let have = if other == 1 { "has" } else { "have" };
        notes.push(format!(
            "{} {have} a different number of samples than in the reference: this affects whether a case passes as a whole, \
             so rates of whole cases and evals, and pass^k, omit such cases",
            plural(other, "case")
        ));
    }
    let reweighed = pairing.evals.iter().filter(|eval| eval.reweighed).count();
    if reweighed > 0 {
        let have = if reweighed == 1 {
            "eval has"
        } else {
            "evals have"
        };
        notes.push(format!(
            "{reweighed} {have} a different weight or score threshold: figures over evals omit {}",
            if reweighed == 1 { "it" } else { "them" }
        ));
    }
    let untold = |pair: &CasePair<'_>| {
        pair.reference.fingerprint.is_none() || pair.candidate.fingerprint.is_none()
    };
    if pairing.pairs.iter().any(untold) {
        let what = match pairing.reference.side.source {
            ScoresSource::ScoreBaseline { .. } => "the accepted scores do not record",
            ScoresSource::Journals(_) => "one of the sides does not record",
        };
        notes.push(format!(
            "{what} the definition of every case: cases that changed since are compared anyway"
        ));
    }
}
