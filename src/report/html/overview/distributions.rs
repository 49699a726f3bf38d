//! How scores, latencies, tokens and cost are spread. Where the summary's lists leave samples out,
//! those that passed go first: what is left would be a picture of the failures, and none is drawn.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::{ModelCall, SampleResult, Summary, Usage};
use crate::report::figures;
use crate::report::limits::html as limits;
use eval_base::text;

/// Fewer numbers than these need no picture.
const FEW: usize = 5;
/// Bins of a picture, about.
const BINS: f64 = 10.0;
/// From this ratio of the longest to the shortest on, each bin is about twice as wide as the one
/// before.
const WIDE: f64 = 25.0;

pub(super) fn of(summary: &Summary) -> Value {
    let left_out = summary.private_cases() > 0
        || summary
            .omitted
            .is_some_and(|omitted| omitted.cases + omitted.samples > 0);
    if summary.truncated || left_out {
        return json!({ "scores": null, "latency": null, "usage": null });
    }
    json!({ "scores": scores(summary), "latency": latency(summary), "usage": usage(summary) })
}

fn samples(summary: &Summary) -> impl Iterator<Item = &SampleResult> {
    summary
        .evals
        .iter()
        .flat_map(|eval| &eval.cases)
        .flat_map(|case| &case.samples)
}

/// Scores of cases: none, ten tenths, and the whole; `null` when there is nothing between none and
/// the whole.
fn scores(summary: &Summary) -> Option<Value> {
    let cases = summary.evals.iter().flat_map(|eval| &eval.cases);
    let scores: Vec<f64> = cases.filter_map(|case| case.score).collect();
    if scores.len() < FEW || !scores.iter().any(|score| *score > 0.0 && *score < 1.0) {
        return None;
    }
    let mut bins = [0_usize; 12];
    for score in &scores {
        let bin = match *score {
            score if score <= 0.0 => 0,
            score if score >= 1.0 => 11,
            score => 1 + ((score * 10.0) as usize).min(9),
        };
        if let Some(count) = bins.get_mut(bin) {
            *count += 1;
        }
    }
    let name = |bin: usize| match bin {
        0 => "0".to_owned(),
        11 => "1".to_owned(),
        1 => "above 0 to below 0.1".to_owned(),
        10 => "0.9 to below 1".to_owned(),
        bin => format!("0.{} to below 0.{bin}", bin - 1),
    };
    let bins: Vec<Value> = bins
        .iter()
        .enumerate()
        .map(|(bin, count)| json!({ "text": name(bin), "count": count }))
        .collect();
    Some(json!({ "bins": bins }))
}

/// How long the target took over samples; `null` when that is known of few.
fn latency(summary: &Summary) -> Option<Value> {
    let measured = samples(summary).filter_map(|sample| sample.latency_ms);
    let mut times: Vec<f64> = measured.filter(|ms| ms.is_finite() && *ms >= 0.0).collect();
    times.sort_by(f64::total_cmp);
    let (Some(shortest), Some(longest)) = (times.first().copied(), times.last().copied()) else {
        return None;
    };
    if times.len() < FEW || shortest >= longest {
        return None;
    }
    let edges = edges(shortest, longest);
    let bins: Vec<Value> = edges
        .windows(2)
        .enumerate()
        .filter_map(|(at, pair)| Some((at, *pair.first()?, *pair.last()?)))
        .map(|(at, from, to)| {
            let last = at + 2 == edges.len();
            let below = |edge: f64, with: bool| times.partition_point(|ms| *ms < edge || with && *ms == edge);
            let count = below(to, last) - below(from, false);
            json!({ "from": figures::duration_ms(from), "to": figures::duration_ms(to), "count": count })
        })
        .collect();
    let edges: Vec<String> = edges
        .iter()
        .map(|edge| figures::duration_ms(*edge))
        .collect();
    Some(json!({ "bins": bins, "edges": edges, "samples": text::plural(times.len(), "sample") }))
}

/// Edges of bins that hold both ends: round steps, or 1, 2, 5, 10 ... when the ends are far apart.
fn edges(low: f64, high: f64) -> Vec<f64> {
    if low > 0.0 && high / low >= WIDE {
        let mut edges = Vec::new();
        let mut decade = 10f64.powf(low.log10().floor());
        while decade <= high * 10.0 && edges.len() < 60 {
            edges.extend([1.0, 2.0, 5.0].map(|step| step * decade));
            decade *= 10.0;
        }
        let first = edges.iter().rposition(|edge| *edge <= low).unwrap_or(0);
        let last = edges
            .iter()
            .position(|edge| *edge >= high)
            .unwrap_or(edges.len() - 1);
        return edges.get(first..=last).unwrap_or_default().to_vec();
    }
    let rough = (high - low) / BINS;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|step| step * decade)
        .into_iter()
        .find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * decade);
    let first = (low / step).floor();
    let count = ((high / step).ceil() - first).max(1.0) as usize;
    (0..=count).map(|n| (first + n as f64) * step).collect()
}

/// Tokens and cost by eval, the dearest first; `null` when no sample tells.
fn usage(summary: &Summary) -> Option<Value> {
    let mut told = 0;
    let mut by_eval: BTreeMap<&str, (Usage, bool)> = BTreeMap::new();
    for eval in &summary.evals {
        for sample in eval.cases.iter().flat_map(|case| &case.samples) {
            let Some(usage) = &sample.usage else { continue };
            told += 1;
            let (sum, priced) = by_eval.entry(&eval.id).or_insert((
                Usage {
                    input_tokens: 0,
                    output_tokens: 0,
                    cost_usd: None,
                },
                true,
            ));
            sum.input_tokens = sum.input_tokens.saturating_add(usage.input_tokens);
            sum.output_tokens = sum.output_tokens.saturating_add(usage.output_tokens);
            match usage.cost_usd {
                Some(usd) => sum.cost_usd = Some(sum.cost_usd.unwrap_or(0.0) + usd),
                None => *priced = false,
            }
            *priced &= !ModelCall::has_lower_bound(sample.call.as_deref());
        }
    }
    let mut rows: Vec<(&str, Usage, bool)> = by_eval
        .into_iter()
        .map(|(eval, (usage, priced))| (eval, usage, priced))
        .collect();
    let tokens = |usage: &Usage| usage.input_tokens.saturating_add(usage.output_tokens);
    rows.sort_by(|(_, a, _), (_, b, _)| {
        let cost = |usage: &Usage| usage.cost_usd.unwrap_or(0.0);
        cost(b)
            .total_cmp(&cost(a))
            .then_with(|| tokens(b).cmp(&tokens(a)))
    });
    let more = rows.len().saturating_sub(limits::COSTLY_EVALS);
    let costly = rows.iter().any(|(_, usage, _)| usage.cost_usd.is_some());
    let told_rows: Vec<Value> = rows
        .iter()
        .take(limits::COSTLY_EVALS)
        .map(|(eval, usage, priced)| {
            let cost = match usage.cost_usd {
                Some(usd) if *priced => figures::cost(usd),
                Some(usd) => format!("at least {}", figures::cost(usd)),
                None => "unknown".to_owned(),
            };
            json!({
                "eval": eval, "input": figures::number(usage.input_tokens), "output": figures::number(usage.output_tokens),
                "tokens": tokens(usage), "cost": cost, "usd": usage.cost_usd,
            })
        })
        .collect();
    (told > 0
        && rows
            .iter()
            .any(|(_, usage, _)| tokens(usage) > 0 || usage.cost_usd.is_some()))
    .then(|| json!({ "rows": told_rows, "more": more, "costly": costly }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bins_have_round_edges() {
        assert_eq!(edges(3.0, 97.0), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(
            edges(100.0, 190.0),
            [
                100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0, 170.0, 180.0, 190.0
            ]
        );
    }

    proptest! {
        /// The edges rise and hold both ends, so that nothing is left out of the picture.
        #[test]
        fn bins_hold_everything(low in 0.0..1e7f64, span in 1e-6..1e9f64) {
            let edges = edges(low, low + span);
            prop_assert!(edges.len() >= 2 && edges.len() <= 64, "{edges:?}");
            prop_assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
            let slack = (low + span) * 1e-9;
            prop_assert!(edges[0] <= low + slack && edges[edges.len() - 1] >= low + span - slack, "{edges:?}");
        }
    }
}
