//! What it takes to find a drop: how large it has to be, how many cases, how many samples.

use super::MANY;
use super::chances::CaseChances;
use super::design::{CaseFigure, CaseKinds, SampleDesign};
use super::normal::{CaseSpread, DifferenceSpread};
use super::simulated::{MOST_CASES, OutcomeRates, PowerAim, TestedUnit};
use super::threshold::halved;

/// Samples of a case up to which a number is looked for.
pub const MOST_SAMPLES: u32 = 256;

impl PowerAim {
    /// The smallest drop that is found with the chance `power`; `None` when not even the loss of
    /// all that passes is.
    pub fn detectable(
        &self,
        design: &SampleDesign,
        chances: &CaseChances,
        figure: CaseFigure<'_>,
    ) -> Option<f64> {
        smallest(chances.rate(), |drop| {
            self.pairs(design, chances, figure, drop).reach(self.power)
        })
    }

    /// Cases like these that find the drop, about; `least` is the smallest drop that the design
    /// finds. `None`: more than [`MANY`], or no number would.
    pub fn cases(
        &self,
        design: &SampleDesign,
        chances: &CaseChances,
        figure: CaseFigure<'_>,
        drop: f64,
        least: Option<f64>,
    ) -> Option<u64> {
        if drop.is_nan() || drop <= 0.0 || drop > chances.rate() {
            return None;
        }
        if !design.whole_evals && design.samples().all(|samples| samples == [1, 1]) {
            return self.outcomes(chances.outcomes(), design.cases(), drop, least);
        }
        let kinds = CaseKinds::new(design, figure);
        let cases = CaseSpread::new(design, &kinds, chances, drop / chances.rate());
        let (spread, each) = cases.tested(design, kinds.test);
        let needed = spread.needed(self) * each;
        if needed > MOST_CASES as f64 && cases.are_many(needed, each, kinds.test) {
            return whole(needed);
        }
        let finds = |n: usize| {
            self.pairs(&design.of_cases(n), chances, figure, drop)
                .reach(self.power)
        };
        fewest(guessed(design.cases(), drop, least), MOST_CASES, finds)
            .or_else(|| whole(needed.max(MOST_CASES as f64)))
    }

    /// The same of outcomes, from `n` of which `least` is found.
    pub fn outcomes(
        &self,
        outcomes: OutcomeRates,
        n: usize,
        drop: f64,
        least: Option<f64>,
    ) -> Option<u64> {
        if drop.is_nan() || drop <= 0.0 || drop > outcomes.rate {
            return None;
        }
        let finds = |n: usize| self.pairs_of_outcomes(outcomes, drop, n).reach(self.power);
        fewest(guessed(n, drop, least), MANY as usize, finds)
    }

    /// The same of units, as many as there are of which `least` is found.
    pub fn units(
        &self,
        units: &[TestedUnit],
        even: bool,
        drop: f64,
        least: Option<f64>,
    ) -> Option<u64> {
        let needed = DifferenceSpread::of_units(units, even, drop).needed(self);
        if needed > MOST_CASES as f64 {
            return whole(needed);
        }
        let finds = |n: usize| self.pairs_of_units(units, even, drop, n).reach(self.power);
        fewest(guessed(units.len(), drop, least), MOST_CASES, finds)
    }

    /// The fewest samples of each case, on both sides, that find the drop; `None` when
    /// [`MOST_SAMPLES`] do not.
    pub fn samples(
        &self,
        design: &SampleDesign,
        chances: &CaseChances,
        figure: CaseFigure<'_>,
        drop: f64,
    ) -> Option<u32> {
        let does = |samples: u64| {
            self.pairs(&design.with_samples(samples as u32), chances, figure, drop)
                .reach(self.power)
        };
        let (mut not, mut yes) = (0, 1);
        while !does(yes) {
            if yes >= u64::from(MOST_SAMPLES) {
                return None;
            }
            (not, yes) = (yes, yes * 2);
        }
        Some(halved(not, yes, |yes| (yes / 16).max(1), does) as u32)
    }
}

/// The smallest value up to `most` that does, of a property that stays once it is there; to 1 %.
pub fn smallest(most: f64, does: impl Fn(f64) -> bool) -> Option<f64> {
    if most.is_nan() || most <= 0.0 || !does(most) {
        return None;
    }
    let (mut not, mut yes) = (0.0, most);
    while yes - not > yes / 100.0 && yes > most * 1e-6 {
        let middle = f64::midpoint(not, yes);
        if does(middle) {
            yes = middle
        } else {
            not = middle
        }
    }
    Some(yes)
}

/// As many cases as find a drop, from the smallest that some number of cases finds: what is found
/// falls with the root of their number.
pub fn guessed(cases: usize, drop: f64, least: Option<f64>) -> f64 {
    let times = least.map_or(4.0, |least| (least / drop).powi(2));
    (cases as f64 * times).max(1.0)
}

/// The same where what many cases would find has to be computed: `beyond` says how many it takes
/// when [`MOST_CASES`] are not enough.
pub fn fewest_cases(
    guess: f64,
    finds: impl Fn(usize) -> bool,
    beyond: impl FnOnce() -> Option<f64>,
) -> Option<u64> {
    fewest(guess, MOST_CASES, finds).or_else(|| whole(beyond()?.max(MOST_CASES as f64)))
}

/// The number up to `most` from which on enough is found, to 5 %, from a first guess.
fn fewest(guess: f64, most: usize, finds: impl Fn(usize) -> bool) -> Option<u64> {
    let mut cases = guess.clamp(1.0, most as f64) as usize;
    let (mut not, mut yes) = (0, None);
    loop {
        if finds(cases) {
            yes = Some(cases);
        } else {
            not = cases;
        }
        cases = match yes {
            None if not >= most => return None,
            None => most.min(2 * not),
            Some(yes) if yes - not <= (yes / 20).max(1) => return Some(yes as u64),
            Some(yes) => not.midpoint(yes),
        };
    }
}

/// `None`: more than [`MANY`].
fn whole(cases: f64) -> Option<u64> {
    (cases <= MANY as f64).then_some(cases.ceil() as u64)
}
