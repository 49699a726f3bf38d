//! What samples said, for the pages of cases and the rows of comparisons: in blocks of some cases
//! each, which a page reads when one of them is opened.
//!
//! All of it shares one budget of bytes. Where it does not suffice, texts are cut: those of cases
//! that passed before those of others, and of all cases of a kind at the same length, so that no
//! case is told at the cost of another. Only when even the shortest texts are too many, cases are
//! left out, the last ones of the plan first.

mod grade;
mod judged;
mod sample;
mod several;
mod shown;
#[cfg(test)]
mod tests;
mod trajectory;

pub(super) use sample::unlisted_passes;
pub(in crate::report) use sample::{facts_of_sample, parts_of_input};
pub(super) use several::{CaseInRuns, RunOfCase, typical};
pub(super) use shown::{ShownText, compact};

use std::io::Write;

use serde::Serialize;

use super::cases::PlacedCase;
use super::embed;
use crate::model::{CaseResult, Outcome};
use crate::report::limits::html as limits;
use crate::report::{ReportError, commands};

/// Cases in a block.
const CHUNK: usize = 100;
/// Bytes that texts are cut to, from the best to the least.
const LADDER: [usize; 6] = [32 << 10, 8 << 10, 2 << 10, 640, 200, 60];
/// What an item without details takes.
pub(super) const NOTHING: &[u8] = b"null";
/// The comma after an item.
const COMMA: usize = 1;

pub(super) fn write(
    held: &[PlacedCase<'_>],
    budget: usize,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    write_chunks("details", &details(held, budget)?, out)
}

/// The blocks `name-0`, `name-1`, ..., of [`CHUNK`] items each; none where no item has details.
pub(super) fn write_chunks(
    name: &str,
    items: &[Vec<u8>],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    if items.iter().all(|item| item.as_slice() == NOTHING) {
        return Ok(());
    }
    for (at, chunk) in items.chunks(CHUNK).enumerate() {
        embed::list(&format!("{name}-{at}"), chunk, out)?;
    }
    Ok(())
}

fn details(held: &[PlacedCase<'_>], budget: usize) -> Result<Vec<Vec<u8>>, ReportError> {
    let json = |held: &PlacedCase<'_>, limit| serde_json::to_vec(&CaseShown::of(held, limit));
    fitted(held, budget, PlacedCase::matters, json)
}

/// What a page knows of each item, as JSON; [`NOTHING`] where there was no room. Together with
/// their commas at most `budget` bytes, if there is room for a `null` each. `json` writes an item
/// with its texts cut to a number of bytes.
pub(super) fn fitted<T>(
    items: &[T],
    budget: usize,
    matters: impl Fn(&T) -> bool,
    json: impl Fn(&T, usize) -> serde_json::Result<Vec<u8>>,
) -> Result<Vec<Vec<u8>>, ReportError> {
    let mut all: Vec<Vec<u8>> = vec![NOTHING.to_vec(); items.len()];
    let mut room = budget.saturating_sub(items.len() * (NOTHING.len() + COMMA));
    let (first, rest): (Vec<usize>, Vec<usize>) =
        (0..items.len()).partition(|at| items.get(*at).is_some_and(&matters));
    // What comes last is never pushed out by long texts alone.
    let floor = LADDER.len() - 1;
    let fit = |group: &[usize], level, room| fit(items, group, level, room, &json);
    let reserved = match fit(&rest, floor, room / 4)? {
        FittedItems::All(told) => size(&told),
        FittedItems::First(_) => room / 4,
    };
    for (group, kept_free) in [(first, reserved), (rest, 0)] {
        let mut told = Vec::new();
        for level in 0..LADDER.len() {
            match fit(&group, level, room - kept_free.min(room))? {
                FittedItems::All(all) => {
                    told = all;
                    break;
                }
                FittedItems::First(some) => told = some,
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

/// What items take beyond the `null` that stands for them.
fn size(told: &[Vec<u8>]) -> usize {
    told.iter().map(|json| beyond(json)).sum()
}

fn beyond(json: &[u8]) -> usize {
    embed::length(json).saturating_sub(NOTHING.len())
}

enum FittedItems {
    All(Vec<Vec<u8>>),
    /// Of the first ones, when there is no room for all.
    First(Vec<Vec<u8>>),
}

/// Items with their texts cut to a step of the ladder.
fn fit<T>(
    items: &[T],
    group: &[usize],
    level: usize,
    room: usize,
    json: &impl Fn(&T, usize) -> serde_json::Result<Vec<u8>>,
) -> Result<FittedItems, ReportError> {
    let mut told = Vec::with_capacity(group.len());
    let mut used = 0;
    for item in group.iter().filter_map(|at| items.get(*at)) {
        let json = one(item, level, json)?;
        used += beyond(&json);
        if used > room {
            return Ok(FittedItems::First(told));
        }
        told.push(json);
    }
    Ok(FittedItems::All(told))
}

/// An item; one that is too large by itself on a lower step than others.
fn one<T>(
    item: &T,
    level: usize,
    json: &impl Fn(&T, usize) -> serde_json::Result<Vec<u8>>,
) -> Result<Vec<u8>, ReportError> {
    let mut written = Vec::new();
    for limit in LADDER.iter().skip(level) {
        written = json(item, *limit).map_err(ReportError::Json)?;
        if embed::length(&written) <= limits::CASE {
            break;
        }
    }
    Ok(written)
}

#[derive(Serialize)]
struct CaseShown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<sample::InputOnPage<'a>>,
    samples: Vec<sample::SampleOnPage<'a>>,
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
        let (samples, more) = sample::sample_details(case, limit);
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
