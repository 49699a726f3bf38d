//! The chance that a drop is found, by simulated pairs of runs and the test that comparisons use.
//!
//! Every number of a question is decided with the same random numbers, so that a larger drop is found in no fewer pairs but for ties,
//! and the same question has the same answer.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::MANY;
use crate::stats::binomial::binomial;
use crate::stats::draws::Draws;
use crate::stats::paired::{Deal, mcnemar_mid_p, of_deals, of_signs};

/// A question has at least its pairs by this, however large they are.
const FEWEST: usize = 10;
/// Cases of all pairs together that a question simulates about.
const CASES: usize = 800_000;
/// Streams of the generator from here on are those of simulated pairs.
const FIRST_STREAM: u64 = 1 << 34;
/// Cases beyond which a plan is not simulated: its chance follows from a smaller one.
pub const MOST_CASES: usize = 1_500;
/// Parts of all pairs after which it may be clear whether enough of them find a drop.
const BLOCKS: usize = 20;
/// Standard errors from which on it is clear.
const CLEAR: f64 = 4.0;
/// Chances that are drawn of a population.
const CHANCES: u32 = 1 << 16;
/// Samples of a case up to which a number is looked for.
pub const MOST_SAMPLES: u32 = 256;

/// What is asked: a one-sided test of level `alpha` shall find a drop with the chance `power`; both in (0, 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    pub alpha: f64,
    pub power: f64,
    /// Of what is drawn from observed differences.
    pub seed: u64,
    /// Pairs of runs a question, while they are small: 4,000 have a standard error of 0.6 points at 80 %.
    pub pairs: usize,
}

/// Chances of cases: Beta(rate x s, (1 - rate) x s).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Population {
    pub rate: f64,
    /// The mean over cases of p (1 - p), as a share of rate (1 - rate): 1 when all cases are alike, 0 when each always passes or never
    /// does, 1/2 for Beta(rate, 1 - rate).
    pub within: f64,
}

/// The chance that k samples of a case all pass, or that any does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    AllOf(u32),
    AnyOf(u32),
}

impl Population {
    /// Of a rate and a mean of p (1 - p).
    pub fn of(rate: f64, within: f64) -> Population {
        let most = rate * (1.0 - rate);
        Population { rate, within: if most > 0.0 { (within / most).clamp(0.0, 1.0) } else { 1.0 } }
    }

    /// The variance of the difference of a case's shares under a drop of the rate, by its samples on both sides.
    fn variance(&self, samples: Samples, drop: f64) -> f64 {
        let Population { rate, within } = *self;
        let left = 1.0 - drop / rate;
        let squares = rate - within * rate * (1.0 - rate);
        let [before, after] = samples.map(|n| f64::from(n.max(1)));
        (rate - squares) / before + (left * rate - left * left * squares) / after
    }
}

/// Chances of cases, drawn from a population once for all questions.
#[derive(Debug)]
pub struct Chances {
    population: Population,
    drawn: Vec<f64>,
    seed: u64,
}

impl Chances {
    pub fn of(population: Population, seed: u64) -> Chances {
        let mut draws = Draws::stream(seed, FIRST_STREAM - 1);
        let drawn = (0..CHANCES).map(|_| draw_beta(&mut draws, population)).collect();
        Chances { population, drawn, seed }
    }

    /// The mean over cases of a moment, when each case's chance is multiplied by `times`, at most 1.
    pub fn expected(&self, moment: Moment, times: f64) -> f64 {
        let of = |p: f64| match moment {
            Moment::AllOf(k) => p.powi(k as i32),
            Moment::AnyOf(k) => 1.0 - (1.0 - p).powi(k as i32),
        };
        self.drawn.iter().map(|p| of(p * times)).sum::<f64>() / f64::from(CHANCES)
    }

    fn draw(&self, draws: &mut Draws) -> f64 {
        self.drawn.get(draws.below(CHANCES) as usize).copied().unwrap_or(self.population.rate)
    }

    fn draws(&self, number: usize) -> Draws {
        Draws::stream(self.seed, FIRST_STREAM + number as u64)
    }

    /// Passes of cases with so many samples, in the simulated run of that number.
    pub fn run(&self, samples: impl Iterator<Item = u32>, number: usize) -> Vec<u32> {
        let mut draws = self.draws(number);
        samples
            .map(|n| {
                let p = self.draw(&mut draws);
                count(&mut draws, n, p)
            })
            .collect()
    }
}

/// Samples of a case in the reference and in the candidate.
pub type Samples = [u32; 2];

/// Runs that are compared: the samples of their cases, by eval.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    pub evals: Vec<Vec<Samples>>,
    /// Whether whole evals are tested, not samples within cases.
    pub whole_evals: bool,
}

/// A figure of a case by its samples and those that passed; `None` where it has none.
pub type CaseFigure<'a> = &'a (dyn Fn(u32, u32) -> Option<f64> + Sync);

impl Design {
    fn cases(&self) -> usize {
        self.evals.iter().map(Vec::len).sum()
    }

    /// As many cases as that, like these: evals repeat, the last one in part.
    fn of_cases(&self, cases: usize) -> Design {
        let mut evals = Vec::new();
        let mut left = cases;
        for eval in self.evals.iter().filter(|eval| !eval.is_empty()).cycle() {
            if left == 0 {
                break;
            }
            let some: Vec<Samples> = eval.iter().copied().take(left).collect();
            left -= some.len();
            evals.push(some);
        }
        Design { evals, whole_evals: self.whole_evals }
    }

    fn with_samples(&self, samples: u32) -> Design {
        let each = |eval: &Vec<Samples>| vec![[samples; 2]; eval.len()];
        Design { evals: self.evals.iter().map(each).collect(), whole_evals: self.whole_evals }
    }
}

impl Aim {
    fn pairs_of(&self, cases: usize) -> usize {
        (CASES / cases.max(1)).clamp(self.pairs / FEWEST, self.pairs).max(1)
    }

    /// Pairs of runs whose candidate has lost so much of the rate, by the same share of each case's chance.
    pub fn pairs<'a>(
        &'a self,
        design: &'a Design,
        chances: &'a Chances,
        figure: CaseFigure<'_>,
        drop: f64,
    ) -> Pairs<impl Fn(usize) -> bool + Sync + 'a> {
        let cases = design.cases();
        let none = cases == 0 || drop.is_nan() || drop <= 0.0 || drop > chances.population.rate;
        let kinds = Kinds::new(design, figure);
        let finds = move |at: usize| {
            self.finds(design, &kinds, chances, drop / chances.population.rate, &mut chances.draws(at))
        };
        Pairs { number: if none { 0 } else { self.pairs_of(cases) }, finds }
    }

    /// The chance that such a drop is found.
    pub fn chance(&self, design: &Design, chances: &Chances, figure: CaseFigure<'_>, drop: f64) -> f64 {
        self.pairs(design, chances, figure, drop).chance()
    }

    /// One pair of runs.
    fn finds(
        &self,
        design: &Design,
        kinds: &Kinds,
        chances: &Chances,
        share: f64,
        draws: &mut Draws,
    ) -> bool {
        let (mut lost, mut gained) = (0u64, 0u64);
        let mut dealt: Vec<&Deal> = Vec::with_capacity(design.cases());
        let mut evals: Vec<f64> = Vec::with_capacity(design.evals.len());
        for (eval, of) in design.evals.iter().zip(&kinds.of) {
            let mut difference = 0.0;
            for ([before, after], kind) in eval.iter().zip(of) {
                let p = chances.draw(draws);
                let (a, b) = (count(draws, *before, p), count(draws, *after, p * (1.0 - share)));
                let Some((kind, deal)) = kinds.deal(*kind, a + b) else { continue };
                let (Some(a), Some(b)) = (kind.figure(0, a), kind.figure(1, b)) else { continue };
                difference += b - a;
                lost += u64::from(b < a);
                gained += u64::from(b > a);
                dealt.push(deal);
            }
            evals.push(difference);
        }
        let by_cases = || of_deals(&dealt, evals.iter().sum());
        let p = match kinds.test {
            Test::Flips => mcnemar_mid_p(lost, gained).p_lower,
            Test::Cases => by_cases(),
            Test::Evals => of_signs(&evals),
            Test::UnlikeEvals => of_signs(&evals).max(by_cases()),
        };
        p < self.alpha
    }

    /// The smallest drop that is found with the chance `power`; `None` when not even the loss of all that passes is.
    pub fn detectable(&self, design: &Design, chances: &Chances, figure: CaseFigure<'_>) -> Option<f64> {
        smallest(chances.population.rate, |drop| self.pairs(design, chances, figure, drop).reach(self.power))
    }

    /// Cases like these that find the drop, about; `least` is the smallest drop that the design finds. `None`: more than [`MANY`], or no
    /// number would.
    pub fn cases(
        &self,
        design: &Design,
        chances: &Chances,
        figure: CaseFigure<'_>,
        drop: f64,
        least: Option<f64>,
    ) -> Option<u64> {
        let finds =
            |cases: usize| self.pairs(&design.of_cases(cases), chances, figure, drop).reach(self.power);
        let beyond = || {
            // Of whole evals too few may be simulated.
            if design.whole_evals {
                return least.map(|_| guessed(design.cases(), drop, least));
            }
            let least = self.detectable(&design.of_cases(MOST_CASES), chances, figure)?;
            let samples = design.evals.iter().flatten().next()?;
            Some(cases_beyond(drop, least, |drop| chances.population.variance(*samples, drop)))
        };
        fewest_cases(guessed(design.cases(), drop, least), finds, beyond)
    }

    /// The fewest samples of each case, on both sides, that find the drop; `None` when [`MOST_SAMPLES`] do not.
    pub fn samples(
        &self,
        design: &Design,
        chances: &Chances,
        figure: CaseFigure<'_>,
        drop: f64,
    ) -> Option<u32> {
        let does =
            |samples: u32| self.pairs(&design.with_samples(samples), chances, figure, drop).reach(self.power);
        let (mut not, mut yes) = (0, 1);
        while !does(yes) {
            if yes >= MOST_SAMPLES {
                return None;
            }
            (not, yes) = (yes, yes * 2);
        }
        while yes - not > (yes / 16).max(1) {
            let middle = not.midpoint(yes);
            if does(middle) { yes = middle } else { not = middle }
        }
        Some(yes)
    }

    /// Pairs of runs of `n` outcomes, of which the candidate has lost a drop of those that pass.
    pub fn pairs_of_outcomes(
        &self,
        outcomes: Outcomes,
        drop: f64,
        n: usize,
    ) -> Pairs<impl Fn(usize) -> bool + Sync + '_> {
        let Outcomes { rate, flips } = outcomes;
        let none = n == 0 || drop.is_nan() || drop <= 0.0 || drop > rate;
        let share = drop / rate;
        let (lost, gained) = (flips + (rate - flips) * share, flips * (1.0 - share));
        let finds = move |at: usize| {
            let mut draws = Draws::stream(self.seed, FIRST_STREAM + at as u64);
            let lost_ones = binomial(&mut draws, n as u64, lost);
            let gained_ones =
                binomial(&mut draws, n as u64 - lost_ones, (gained / (1.0 - lost).max(1e-12)).min(1.0));
            mcnemar_mid_p(lost_ones, gained_ones).p_lower < self.alpha
        };
        Pairs { number: if none { 0 } else { self.pairs }, finds }
    }

    /// Pairs of runs of `n` units that are drawn from these with replacement, each difference with a sign of its own, of which the
    /// candidate has lost a drop of the mean: that share of the units loses all of its value, or every unit that share of it (`even`).
    /// Tested by the signs of the differences.
    pub fn pairs_of_units<'a>(
        &'a self,
        units: &'a [Unit],
        even: bool,
        drop: f64,
        n: usize,
    ) -> Pairs<impl Fn(usize) -> bool + Sync + 'a> {
        let share = drop / mean(units);
        let known = u32::try_from(units.len()).unwrap_or(0);
        let none = known == 0 || n == 0 || !share.is_finite() || share <= 0.0 || !even && share > 1.0;
        let finds = move |at: usize| {
            let mut draws = Draws::stream(self.seed, FIRST_STREAM + at as u64);
            let differences: Vec<f64> = (0..n)
                .filter_map(|_| {
                    let unit = units.get(draws.below(known) as usize)?;
                    let sign = if draws.unit() < 0.5 { -1.0 } else { 1.0 };
                    let lost = match even {
                        true => share,
                        false => f64::from(u8::from(draws.unit() < share)),
                    };
                    Some(sign * unit.difference - lost * unit.value)
                })
                .collect();
            of_signs(&differences) < self.alpha
        };
        Pairs { number: if none { 0 } else { self.pairs_of(n) }, finds }
    }
}

/// Outcomes of cases or evals on two sides: the share that passes, and the share that passes on the one side alone (as many on the other).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcomes {
    pub rate: f64,
    pub flips: f64,
}

/// What is tested by its sign: a case or an eval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// Weighted.
    pub difference: f64,
    /// Of both sides, in the mean, weighted.
    pub value: f64,
    pub weight: f64,
}

/// The mean of units.
pub fn mean(units: &[Unit]) -> f64 {
    units.iter().map(|unit| unit.value).sum::<f64>() / units.iter().map(|unit| unit.weight).sum::<f64>()
}

/// Simulated pairs of runs, and whether the drop is found in the one of a number.
pub struct Pairs<F> {
    number: usize,
    finds: F,
}

impl<F: Fn(usize) -> bool + Sync> Pairs<F> {
    fn found(&self, among: Range<usize>) -> usize {
        among.into_par_iter().filter(|at| (self.finds)(*at)).count()
    }

    /// The share that finds it.
    pub fn chance(&self) -> f64 {
        if self.number == 0 { 0.0 } else { self.found(0..self.number) as f64 / self.number as f64 }
    }

    /// Whether at least this share finds it. Ends as soon as that is clear.
    pub fn reach(&self, power: f64) -> bool {
        let block = self.number.div_ceil(BLOCKS);
        let (mut found, mut done) = (0, 0);
        while done < self.number {
            let until = self.number.min(done + block);
            found += self.found(done..until);
            done = until;
            let error = (power * (1.0 - power) / done as f64).sqrt();
            if (found as f64 / done as f64 - power).abs() > CLEAR * error {
                break;
            }
        }
        done > 0 && found as f64 >= power * done as f64
    }
}

/// Cases by their numbers of samples, with all that each may come out as.
struct Kinds {
    test: Test,
    all: Vec<Kind>,
    /// The kind of each case, by eval.
    of: Vec<Vec<usize>>,
}

/// What comparisons test.
#[derive(Clone, Copy, PartialEq)]
enum Test {
    /// Single samples.
    Flips,
    /// Samples within cases.
    Cases,
    /// Whole evals.
    Evals,
    /// Whole evals where the sides have different numbers of samples: both tests have to find it.
    UnlikeEvals,
}

impl Test {
    fn of(design: &Design) -> Test {
        let mut samples = design.evals.iter().flatten();
        let unlike = samples.clone().any(|[before, after]| before != after);
        match design.whole_evals {
            true if unlike => Test::UnlikeEvals,
            true => Test::Evals,
            false if samples.all(|of| *of == [1, 1]) => Test::Flips,
            false => Test::Cases,
        }
    }
}

struct Kind {
    /// The figure by passes, of each side.
    figures: [Vec<Option<f64>>; 2],
    /// By passes of both sides together.
    deals: Vec<Deal>,
}

impl Kind {
    fn figure(&self, side: usize, passed: u32) -> Option<f64> {
        self.figures.get(side)?.get(passed as usize).copied().flatten()
    }
}

impl Kinds {
    fn new(design: &Design, figure: CaseFigure<'_>) -> Kinds {
        let test = Test::of(design);
        let deals = matches!(test, Test::Cases | Test::UnlikeEvals);
        let mut known: BTreeMap<Samples, usize> = BTreeMap::new();
        let mut all = Vec::new();
        let mut kind = |samples: &Samples| {
            *known.entry(*samples).or_insert_with(|| {
                let figures = samples.map(|n| (0..=n).map(|c| figure(n, c)).collect());
                let deal =
                    |passed: u32| if deals { Deal::new(*samples, passed, figure) } else { Deal::default() };
                all.push(Kind { figures, deals: (0..=samples[0] + samples[1]).map(deal).collect() });
                all.len() - 1
            })
        };
        let of = design.evals.iter().map(|eval| eval.iter().map(&mut kind).collect()).collect();
        Kinds { test, of, all }
    }

    fn deal(&self, kind: usize, passed: u32) -> Option<(&Kind, &Deal)> {
        let kind = self.all.get(kind)?;
        Some((kind, kind.deals.get(passed as usize)?))
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
        if does(middle) { yes = middle } else { not = middle }
    }
    Some(yes)
}

/// As many cases as find a drop, from the smallest that some number of cases finds: what is found falls with the root of their number.
pub fn guessed(cases: usize, drop: f64, least: Option<f64>) -> f64 {
    let times = least.map_or(4.0, |least| (least / drop).powi(2));
    (cases as f64 * times).max(1.0)
}

/// Cases from which on enough is found, to 5 %, from a first guess. Beyond [`MOST_CASES`] nothing is simulated, and `beyond` says how many it
/// takes. `None`: more than [`MANY`], or no number would.
pub fn fewest_cases(
    guess: f64,
    finds: impl Fn(usize) -> bool,
    beyond: impl FnOnce() -> Option<f64>,
) -> Option<u64> {
    let mut cases = guess.clamp(1.0, MOST_CASES as f64) as usize;
    let (mut not, mut yes) = (0, None);
    loop {
        if finds(cases) {
            yes = Some(cases);
        } else {
            not = cases;
        }
        cases = match yes {
            None if not >= MOST_CASES => break,
            None => MOST_CASES.min(2 * not),
            Some(yes) if yes - not <= (yes / 20).max(1) => return Some(yes as u64),
            Some(yes) => not.midpoint(yes),
        };
    }
    let cases = beyond()?.max(MOST_CASES as f64);
    (cases <= MANY as f64).then_some(cases.ceil() as u64)
}

/// Cases that find a drop, when `least` is the smallest that [`MOST_CASES`] find: as many as make the drop as large in terms of its standard
/// error. `variance` is that of a case's difference under a drop.
pub fn cases_beyond(drop: f64, least: f64, variance: impl Fn(f64) -> f64) -> f64 {
    let of = |drop: f64| variance(drop) / (drop * drop);
    MOST_CASES as f64 * of(drop) / of(least)
}

fn count(draws: &mut Draws, n: u32, p: f64) -> u32 {
    match n {
        1 => u32::from(draws.unit() < p),
        n => binomial(draws, u64::from(n), p) as u32,
    }
}

/// A chance of a case.
fn draw_beta(draws: &mut Draws, population: Population) -> f64 {
    let Population { rate, within } = population;
    if within >= 1.0 - 1e-9 {
        return rate;
    }
    if within <= 1e-9 {
        return f64::from(u8::from(draws.unit() < rate));
    }
    // E p (1 - p) is rate (1 - rate) s / (s + 1).
    let s = within / (1.0 - within);
    let (a, b) = (rate * s, (1.0 - rate) * s);
    if a <= 0.0 || b <= 0.0 {
        return rate;
    }
    let (x, y) = (ln_gamma_draw(draws, a), ln_gamma_draw(draws, b));
    1.0 / (1.0 + (y - x).exp())
}

/// ln of a gamma variable: G. Marsaglia & W. W. Tsang, ACM Trans. Math. Softw. 26:363-372 (2000).
fn ln_gamma_draw(draws: &mut Draws, shape: f64) -> f64 {
    let unit = |draws: &mut Draws| draws.unit() + f64::MIN_POSITIVE;
    if shape < 1.0 {
        let boost = unit(draws).ln() / shape;
        return ln_gamma_draw(draws, shape + 1.0) + boost;
    }
    let d = shape - 1.0 / 3.0;
    loop {
        let (radius, angle) = ((-2.0 * unit(draws).ln()).sqrt(), 2.0 * std::f64::consts::PI * draws.unit());
        let x = radius * angle.cos();
        let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
        if v > 0.0 && unit(draws).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIM: Aim = Aim { alpha: 0.05, power: 0.8, seed: 1, pairs: 600 };
    const MIXED: Population = Population { rate: 0.8, within: 0.5 };

    fn mixed() -> Chances {
        Chances::of(MIXED, 1)
    }

    fn share(n: u32, c: u32) -> Option<f64> {
        (n > 0).then(|| f64::from(c) / f64::from(n))
    }

    fn design(cases: usize, samples: u32) -> Design {
        Design { evals: vec![vec![[samples; 2]; cases]], whole_evals: false }
    }

    #[test]
    fn chances_have_the_mean_and_the_spread_of_their_population() {
        let mut draws = Draws::new(3);
        for population in
            [MIXED, Population { rate: 0.3, within: 0.9 }, Population { rate: 0.95, within: 0.2 }]
        {
            let drawn: Vec<f64> = (0..40_000).map(|_| draw_beta(&mut draws, population)).collect();
            let n = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / n;
            let within = drawn.iter().map(|p| p * (1.0 - p)).sum::<f64>() / n;
            let of = population.rate * (1.0 - population.rate);
            assert!((mean - population.rate).abs() < 0.01, "{population:?} {mean}");
            assert!((within / of - population.within).abs() < 0.02, "{population:?} {within}");
        }
    }

    /// Single samples of cases that are alike: McNemar's test of a binomial number of flips, by exact sums over losses and gains.
    #[test]
    fn single_samples_agree_with_an_exact_sum() {
        let (n, p, drop) = (40u32, 0.8f64, 0.25);
        let (lose, gain) = (p * (1.0 - (p - drop)), (1.0 - p) * (p - drop));
        let ln_choose =
            |n: u32, k: u32| (0..k).map(|i| (f64::from(n - i) / f64::from(i + 1)).ln()).sum::<f64>();
        let mut exact = 0.0;
        for lost in 0..=n {
            for gained in 0..=n - lost {
                if mcnemar_mid_p(u64::from(lost), u64::from(gained)).p_lower < 0.05 {
                    let ways = ln_choose(n, lost) + ln_choose(n - lost, gained);
                    let rest = f64::from(n - lost - gained) * (1.0 - lose - gain).ln();
                    exact +=
                        (ways + f64::from(lost) * lose.ln() + f64::from(gained) * gain.ln() + rest).exp();
                }
            }
        }
        let alike = Population { rate: p, within: 1.0 };
        let found = AIM.chance(&design(40, 1), &Chances::of(alike, 1), &share, drop);
        assert!((found - exact).abs() < 0.03, "{found} {exact}");
    }

    #[test]
    fn whole_evals_too_few_for_any_test_find_nothing() {
        let four = Design { evals: vec![vec![[3; 2]; 10]; 4], whole_evals: true };
        assert_eq!(AIM.detectable(&four, &mixed(), &share), None);
        assert_eq!(AIM.samples(&four, &mixed(), &share, 0.3), None);
        // 8 evals can.
        let eight = Design { evals: vec![vec![[3; 2]; 10]; 8], whole_evals: true };
        assert!(AIM.detectable(&eight, &mixed(), &share).is_some());
    }

    #[test]
    fn more_of_anything_finds_less() {
        let drop = |cases, samples| AIM.detectable(&design(cases, samples), &mixed(), &share).unwrap();
        assert!(drop(20, 3) > drop(80, 3) && drop(80, 3) > drop(80, 10));
        let cases = AIM.cases(&design(20, 3), &mixed(), &share, 0.05, Some(0.16)).unwrap() as usize;
        let found = |cases| AIM.chance(&design(cases, 3), &mixed(), &share, 0.05);
        assert!((found(cases) - 0.8).abs() < 0.07, "{cases} {}", found(cases));
        let samples = AIM.samples(&design(20, 3), &mixed(), &share, 0.1).unwrap();
        assert!((AIM.chance(&design(20, samples), &mixed(), &share, 0.1) - 0.8).abs() < 0.08, "{samples}");
        assert_eq!(AIM.chance(&design(20, 3), &mixed(), &share, 0.9), 0.0);
    }

    /// Of cases that always or never pass a drop shows as losses alone, so that half of it takes twice the cases and not four times.
    #[test]
    fn cases_without_luck_are_needed_in_proportion() {
        let steady = Chances::of(Population { rate: 0.85, within: 0.0 }, 1);
        let cases = |drop| AIM.cases(&design(400, 1), &steady, &share, drop, Some(0.017)).unwrap() as f64;
        // Four losses and no gain are found (mid-p 1/32), which are there with 80 % chance when 5.5 are expected.
        for drop in [0.017, 0.0085, 0.001, 0.0001] {
            assert!((cases(drop) * drop / 5.5 - 1.0).abs() < 0.15, "{drop} {}", cases(drop));
        }
    }

    #[test]
    fn units_find_a_loss_by_their_own_spread() {
        let unit = |i: u32| Unit { difference: f64::from(i % 7) / 6.0 - 0.5, value: 2.0, weight: 1.0 };
        let units: Vec<Unit> = (0..60).map(unit).collect();
        let found = |even: bool, drop: f64| AIM.pairs_of_units(&units, even, drop, 60);
        let least = |even: bool| smallest(2.0, |drop| found(even, drop).reach(0.8)).unwrap();
        // Standard deviation 1/3 by theory of seven equal steps; (1.645 + 0.842) standard errors.
        assert!((least(true) - 2.487 * (1.0f64 / 9.0 / 60.0).sqrt()).abs() < 0.02, "{}", least(true));
        assert!(
            found(true, least(true) * 0.5).chance() < 0.6 && found(true, least(true) * 2.0).chance() > 0.98
        );
        // A few that lose all are harder to see than many that lose a little.
        assert!(least(false) > 1.5 * least(true));
        assert_eq!(AIM.pairs_of_units(&units[..4], true, 0.4, 4).chance(), 0.0);
    }

    /// Outcomes that never flip by chance: four losses are found, which are there with 80 % chance when 5.5 are expected.
    #[test]
    fn outcomes_are_tested_by_their_flips() {
        let steady = Outcomes { rate: 0.5, flips: 0.0 };
        let least = smallest(0.5, |drop| AIM.pairs_of_outcomes(steady, drop, 100).reach(0.8)).unwrap();
        assert!((least - 0.055).abs() < 0.01, "{least}");
        let shaky = Outcomes { rate: 0.5, flips: 0.1 };
        assert!(AIM.pairs_of_outcomes(shaky, least, 100).chance() < 0.5);
        assert_eq!(AIM.pairs_of_outcomes(steady, 0.5, 3).chance(), 0.0);
    }
}
