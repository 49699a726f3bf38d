//! Verdicts on pairs: win rates, Bradley-Terry scores, and how often what is shown first wins.

use super::UndefinedReason;
use super::agreement::MIN_ITEMS;
use super::corrected::ShareEstimate;
use super::distributions::t_quantile;
use super::interval::{Interval, IntervalMethod};
use super::likelihood::{Stratum, StratumUnits, UnseenWeight, ValueLevel, of_shares};

/// One comparison of two players over an item, in the order in which they were shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairVerdict {
    pub item: usize,
    pub first: usize,
    pub second: usize,
    /// 1 if the first won, 0 if the second did, 1/2 for a tie.
    pub to_first: f64,
}

/// The score of a player, and its interval.
pub type ScoreEstimate = (f64, Result<Interval, UndefinedReason>);

/// What verdicts on pairs say; one entry a player.
#[derive(Debug, Clone, PartialEq)]
pub struct PairwiseScores {
    /// Share of comparisons won, ties as one half; fails for a player without any.
    pub win_rates: Vec<Result<ShareEstimate, UndefinedReason>>,
    /// Logarithms of Bradley-Terry strengths, whose mean is 0, with intervals.
    pub scores: Result<Vec<ScoreEstimate>, UndefinedReason>,
    /// How often the one that was shown first won, ties as one half: 1/2 without order bias if each
    /// pair is shown in random or in both orders.
    pub first: Result<ShareEstimate, UndefinedReason>,
}

/// Of verdicts on `players` players, with intervals over items like these.
///
/// # Errors
/// For players that do not exist, pairs of one player, and shares outside of 0 and 1.
pub fn pairwise_scores(
    players: usize,
    verdicts: &[PairVerdict],
    level: f64,
) -> Result<PairwiseScores, UndefinedReason> {
    let is_wrong = |verdict: &PairVerdict| {
        let PairVerdict {
            first,
            second,
            to_first,
            ..
        } = *verdict;
        first >= players || second >= players || first == second || !(0.0..=1.0).contains(&to_first)
    };
    if verdicts.iter().any(is_wrong) {
        return Err(UndefinedReason::Pairs);
    }
    let win_rate = |player: usize| {
        let of_player = verdicts.iter().filter_map(|verdict| {
            if verdict.first == player {
                Some((verdict.item, verdict.to_first))
            } else {
                (verdict.second == player).then_some((verdict.item, 1.0 - verdict.to_first))
            }
        });
        share_over_items(of_player, level)
    };
    let first = verdicts
        .iter()
        .map(|verdict| (verdict.item, verdict.to_first));
    Ok(PairwiseScores {
        win_rates: (0..players).map(win_rate).collect(),
        scores: bradley_terry(players, verdicts, level),
        first: share_over_items(first, level),
    })
}

/// The mean of shares, with an interval over items.
fn share_over_items(
    shares: impl Iterator<Item = (usize, f64)>,
    level: f64,
) -> Result<ShareEstimate, UndefinedReason> {
    let mut items = std::collections::BTreeMap::<usize, (f64, f64)>::new();
    for (item, share) in shares {
        let (sum, size) = items.entry(item).or_default();
        *sum += share;
        *size += 1.0;
    }
    if items.is_empty() {
        return Err(UndefinedReason::NoData);
    }
    let (sum, size) = items.values().fold((0.0, 0.0), |(sum, size), item| {
        (sum + item.0, size + item.1)
    });
    let levels = items
        .values()
        .map(|(sum, size)| ValueLevel {
            sum: *sum,
            size: *size,
            count: 1.0,
        })
        .collect();
    let stratum = Stratum {
        share: 1.0,
        repeats: 1.0,
        units: StratumUnits::Levels(levels),
    };
    Ok(ShareEstimate {
        value: sum / size,
        interval: of_shares(&[stratum], UnseenWeight::Average, level)?,
    })
}

/// R. A. Bradley & M. E. Terry, Biometrika 39:324-345 (1952), by maximum likelihood; a tie is half
/// a win of each. The standard errors are those of items that are drawn, each with all its
/// verdicts: the sandwich estimator of K.-Y. Liang & S. L. Zeger, Biometrika 73:13-22 (1986).
fn bradley_terry(
    players: usize,
    verdicts: &[PairVerdict],
    level: f64,
) -> Result<Vec<ScoreEstimate>, UndefinedReason> {
    if verdicts.is_empty() || players < 2 {
        return Err(UndefinedReason::NoData);
    }
    if !connected(players, verdicts) {
        return Err(UndefinedReason::Separated);
    }
    let scores = strongest_fit(players, verdicts)?;
    let mut items: Vec<usize> = verdicts.iter().map(|verdict| verdict.item).collect();
    items.sort_unstable();
    items.dedup();
    let errors = match items.len() {
        n if n < MIN_ITEMS => Err(UndefinedReason::TooFewItems {
            n,
            needed: MIN_ITEMS,
        }),
        n => {
            let t = t_quantile(0.5 + level / 2.0, n as f64 - 1.0);
            let errors = sandwich(players, verdicts, &scores)?;
            let widened = (n as f64 / (n as f64 - 1.0)).sqrt() * t;
            Ok(errors
                .into_iter()
                .map(|error| error * widened)
                .collect::<Vec<f64>>())
        }
    };
    let interval = |at: usize, score: f64| {
        let half = match &errors {
            Ok(errors) => errors.get(at).copied().unwrap_or(f64::NAN),
            Err(reason) => return Err(*reason),
        };
        Ok(Interval {
            low: score - half,
            high: score + half,
            level,
            method: IntervalMethod::StudentT,
        })
    };
    Ok(scores
        .iter()
        .enumerate()
        .map(|(at, score)| (*score, interval(at, *score)))
        .collect())
}

/// Whether every player beat every other one, in one or more steps: else no finite scores are the
/// most likely ones (L. R. Ford, American Mathematical Monthly 64:28-33, 1957).
fn connected(players: usize, verdicts: &[PairVerdict]) -> bool {
    let reached = |forward: bool| {
        let mut seen = vec![false; players];
        let mut open = vec![0];
        while let Some(player) = open.pop() {
            match seen.get_mut(player) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            for verdict in verdicts {
                let (won, lost) = (verdict.to_first > 0.0, verdict.to_first < 1.0);
                let (leaves, enters) = if forward { (won, lost) } else { (lost, won) };
                if verdict.first == player && leaves {
                    open.push(verdict.second);
                }
                if verdict.second == player && enters {
                    open.push(verdict.first);
                }
            }
        }
        seen.iter().all(|seen| *seen)
    };
    reached(true) && reached(false)
}

fn strength(scores: &[f64], player: usize) -> f64 {
    scores.get(player).copied().unwrap_or(0.0)
}

/// The chance that the first wins.
fn chance(scores: &[f64], verdict: &PairVerdict) -> f64 {
    1.0 / (1.0 + (strength(scores, verdict.second) - strength(scores, verdict.first)).exp())
}

/// Newton's method with halved steps; the likelihood is concave.
fn strongest_fit(players: usize, verdicts: &[PairVerdict]) -> Result<Vec<f64>, UndefinedReason> {
    let likelihood = |scores: &[f64]| {
        let of = |verdict: &PairVerdict| {
            let p = chance(scores, verdict);
            let part = |share: f64, p: f64| if share > 0.0 { share * p.ln() } else { 0.0 };
            part(verdict.to_first, p) + part(1.0 - verdict.to_first, 1.0 - p)
        };
        verdicts.iter().map(of).sum::<f64>()
    };
    let mut scores = vec![0.0; players];
    let mut best = likelihood(&scores);
    for _ in 0..200 {
        let mut gradient = vec![0.0; players];
        for verdict in verdicts {
            add(
                &mut gradient,
                verdict,
                verdict.to_first - chance(&scores, verdict),
            );
        }
        let step = solved(information(players, verdicts, &scores), vec![gradient])?;
        let Some(step) = step.into_iter().next() else {
            return Err(UndefinedReason::NotFinite);
        };
        let largest = step
            .iter()
            .fold(0.0, |most: f64, part| most.max(part.abs()));
        let mut size = 1.0;
        let next = loop {
            let next: Vec<f64> = scores
                .iter()
                .zip(&step)
                .map(|(s, d)| s + size * d)
                .collect();
            let found = likelihood(&next);
            if found >= best || size < 1e-6 {
                best = found;
                break next;
            }
            size /= 2.0;
        };
        scores = next;
        if largest < 1e-12 {
            break;
        }
    }
    let mean = scores.iter().sum::<f64>() / players as f64;
    Ok(scores.iter().map(|score| score - mean).collect())
}

fn add(gradient: &mut [f64], verdict: &PairVerdict, rest: f64) {
    if let Some(part) = gradient.get_mut(verdict.first) {
        *part += rest;
    }
    if let Some(part) = gradient.get_mut(verdict.second) {
        *part -= rest;
    }
}

/// The negative second derivative, with 1 added everywhere: it then has an inverse, which is the
/// one among scores whose sum is 0.
fn information(players: usize, verdicts: &[PairVerdict], scores: &[f64]) -> Vec<Vec<f64>> {
    let mut matrix = vec![vec![1.0; players]; players];
    for verdict in verdicts {
        let p = chance(scores, verdict);
        let (a, b) = (verdict.first, verdict.second);
        for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
            if let Some(cell) = matrix.get_mut(row).and_then(|row| row.get_mut(column)) {
                *cell += sign * p * (1.0 - p);
            }
        }
    }
    matrix
}

/// Standard errors of scores.
fn sandwich(
    players: usize,
    verdicts: &[PairVerdict],
    scores: &[f64],
) -> Result<Vec<f64>, UndefinedReason> {
    let mut gradients = std::collections::BTreeMap::<usize, Vec<f64>>::new();
    for verdict in verdicts {
        let gradient = gradients
            .entry(verdict.item)
            .or_insert_with(|| vec![0.0; players]);
        add(
            gradient,
            verdict,
            verdict.to_first - chance(scores, verdict),
        );
    }
    // What each item moves the scores by.
    let moves = solved(
        information(players, verdicts, scores),
        gradients.into_values().collect(),
    )?;
    let error = |player: usize| {
        let of = |moved: &Vec<f64>| moved.get(player).copied().unwrap_or(0.0).powi(2);
        moves.iter().map(of).sum::<f64>().sqrt()
    };
    Ok((0..players).map(error).collect())
}

/// The solutions of a system for several right sides, by elimination with pivots.
fn solved(
    mut matrix: Vec<Vec<f64>>,
    sides: Vec<Vec<f64>>,
) -> Result<Vec<Vec<f64>>, UndefinedReason> {
    let n = matrix.len();
    for (at, row) in matrix.iter_mut().enumerate() {
        row.extend(
            sides
                .iter()
                .map(|side| side.get(at).copied().unwrap_or(0.0)),
        );
    }
    let cell = |row: &Vec<f64>, at: usize| row.get(at).copied().unwrap_or(0.0);
    for column in 0..n {
        let rest = matrix.iter().enumerate().skip(column);
        let largest =
            rest.max_by(|a, b| cell(a.1, column).abs().total_cmp(&cell(b.1, column).abs()));
        let Some((pivot, _)) = largest else {
            return Err(UndefinedReason::NotFinite);
        };
        matrix.swap(column, pivot);
        let Some(mut leading) = matrix.get(column).cloned() else {
            return Err(UndefinedReason::NotFinite);
        };
        let scale = cell(&leading, column);
        if scale == 0.0 || !scale.is_finite() {
            return Err(UndefinedReason::NotFinite);
        }
        leading.iter_mut().for_each(|value| *value /= scale);
        for (at, row) in matrix.iter_mut().enumerate() {
            if at == column {
                row.clone_from(&leading);
            } else {
                let times = cell(row, column);
                row.iter_mut()
                    .zip(&leading)
                    .for_each(|(value, lead)| *value -= times * lead);
            }
        }
    }
    Ok((0..sides.len())
        .map(|side| matrix.iter().map(|row| cell(row, n + side)).collect())
        .collect())
}

#[cfg(test)]
mod tests;
