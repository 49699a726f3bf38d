//! What samples said, for the pages of cases: in blocks of some cases each, which a page reads when
//! one of them is opened.
//!
//! All of it shares one budget of bytes. Where it does not suffice, texts are cut: those of cases
//! that passed before those of others, and of all cases of a kind at the same length, so that no
//! case is told at the cost of another. Only when even the shortest texts are too many, cases are
//! left out, the last ones of the plan first.

mod grade;
mod judged;
mod sample;
mod shown;
#[cfg(test)]
mod tests;

pub(super) use sample::unlisted_passes;

use std::io::Write;

use serde::Serialize;

use super::cases::PlacedCase;
use super::embed;
use crate::model::{CaseResult, Outcome};
use crate::report::{ReportError, commands};

/// Bytes of all blocks of details together.
pub const BUDGET: usize = 14 << 20;
/// Cases in a block.
const CHUNK: usize = 100;
/// Bytes that texts are cut to, from the best to the least.
const LADDER: [usize; 6] = [32 << 10, 8 << 10, 2 << 10, 640, 200, 60];
/// Bytes of one case, beyond which its own texts are cut shorter.
const CASE: usize = 1 << 20;
/// What a case without details takes.
const NOTHING: &[u8] = b"null";
/// The comma after an item.
const COMMA: usize = 1;

pub(super) fn write(
    held: &[PlacedCase<'_>],
    budget: usize,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    for (at, chunk) in details(held, budget)?.chunks(CHUNK).enumerate() {
        embed::list(&format!("details-{at}"), chunk, out)?;
    }
    Ok(())
}

/// What a page knows of each case, as JSON; `null` where there was no room. Together with their
/// commas at most `budget` bytes, if there is room for a `null` each.
fn details(held: &[PlacedCase<'_>], budget: usize) -> Result<Vec<Vec<u8>>, ReportError> {
    let mut all: Vec<Vec<u8>> = vec![NOTHING.to_vec(); held.len()];
    let mut room = budget.saturating_sub(held.len() * (NOTHING.len() + COMMA));
    let (matters, passed): (Vec<usize>, Vec<usize>) =
        (0..held.len()).partition(|at| held.get(*at).is_some_and(PlacedCase::matters));
    // What passed is never pushed out by long texts alone.
    let floor = LADDER.len() - 1;
    let reserved = match fit(held, &passed, floor, room / 4)? {
        FittedCases::All(told) => size(&told),
        FittedCases::First(_) => room / 4,
    };
    for (group, kept_free) in [(matters, reserved), (passed, 0)] {
        let mut told = Vec::new();
        for level in 0..LADDER.len() {
            match fit(held, &group, level, room - kept_free.min(room))? {
                FittedCases::All(all) => {
                    told = all;
                    break;
                }
                FittedCases::First(some) => told = some,
            }
        }
        room -= size(&told).min(room);
        for (at, json) in group.into_iter().zip(told) {
            if let Some(place) = all.get_mut(at) {
                *place = json;
            }
        }
    }
    Ok(all)
}

/// What cases take beyond the `null` that stands for them.
fn size(told: &[Vec<u8>]) -> usize {
    told.iter().map(|json| beyond(json)).sum()
}

fn beyond(json: &[u8]) -> usize {
    embed::length(json).saturating_sub(NOTHING.len())
}

enum FittedCases {
    All(Vec<Vec<u8>>),
    /// Of the first ones, when there is no room for all.
    First(Vec<Vec<u8>>),
}

/// Cases with their texts cut to a step of the ladder.
fn fit(
    held: &[PlacedCase<'_>],
    group: &[usize],
    level: usize,
    room: usize,
) -> Result<FittedCases, ReportError> {
    let mut told = Vec::with_capacity(group.len());
    let mut used = 0;
    for held in group.iter().filter_map(|at| held.get(*at)) {
        let json = one(held, level)?;
        used += beyond(&json);
        if used > room {
            return Ok(FittedCases::First(told));
        }
        told.push(json);
    }
    Ok(FittedCases::All(told))
}

/// A case; one that is too large by itself on a lower step than others.
fn one(held: &PlacedCase<'_>, level: usize) -> Result<Vec<u8>, ReportError> {
    let mut json = Vec::new();
    for limit in LADDER.iter().skip(level) {
        json = serde_json::to_vec(&CaseShown::of(held, *limit)).map_err(ReportError::Json)?;
        if embed::length(&json) <= CASE {
            break;
        }
    }
    Ok(json)
}

#[derive(Serialize)]
struct CaseShown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<sample::InputTold<'a>>,
    samples: Vec<sample::SampleTold<'a>>,
    /// Samples that are not listed here.
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
    /// True when no sample is listed because none ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    never_ran: bool,
    /// What follows `run` for this case alone.
    rerun: Option<String>,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// True when all samples of a case were skipped: such samples are in no list.
pub(super) fn never_ran(case: &CaseResult) -> bool {
    case.outcome == Outcome::Skipped && case.samples.is_empty() && case.first_graded == 0
}

impl<'a> CaseShown<'a> {
    fn of(held: &PlacedCase<'a>, limit: usize) -> CaseShown<'a> {
        let case = held.case;
        let (samples, more) = sample::told(case, limit);
        CaseShown {
            input: case
                .input
                .as_deref()
                .map(|input| sample::input(input, limit)),
            samples,
            more,
            never_ran: never_ran(case),
            rerun: commands::only(&[("--eval", &held.eval.id), ("--case", &case.id)]),
        }
    }
}
