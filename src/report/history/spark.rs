//! Rows of signs: rates as bars, outcomes as marks.

use super::mark;
use crate::model::Outcome;
use crate::report::terminal::page::{Page, Span, span};
use crate::report::terminal::tone_of;

const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const PLAIN_BARS: [&str; 8] = ["_", ".", ":", "-", "=", "+", "*", "#"];

/// A bar for each rate in [0, 1]; the full one only for 1, so that nothing looks better than it is.
/// A run without a rate is a blank sign.
pub fn bars(rates: &[Option<f64>], page: &Page) -> String {
    let (bars, none) = page.pick((BARS, "·"), (PLAIN_BARS, " "));
    let bar = |rate: &Option<f64>| match rate {
        Some(rate) => bars[((rate.clamp(0.0, 1.0) * 7.0) as usize).min(7)],
        None => none,
    };
    rates.iter().map(bar).collect()
}

/// As many rates as there are columns: of neighbours the mean.
pub fn squeezed(rates: &[Option<f64>], columns: usize) -> Vec<Option<f64>> {
    let columns = columns.max(1);
    if rates.len() <= columns {
        return rates.to_vec();
    }
    (0..columns)
        .map(|column| {
            let bounds = (
                column * rates.len() / columns,
                (column + 1) * rates.len() / columns,
            );
            let known: Vec<f64> = rates
                .get(bounds.0..bounds.1)?
                .iter()
                .copied()
                .flatten()
                .collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        })
        .collect()
}

/// The marks of the last outcomes, neighbours of one colour in one piece, filled up with blanks
/// before them.
pub fn marks(outcomes: &[Outcome], columns: usize, page: &Page) -> Vec<Span<'static>> {
    let last = outcomes
        .get(outcomes.len().saturating_sub(columns)..)
        .unwrap_or_default();
    let mut spans = vec![crate::report::terminal::page::plain(
        " ".repeat(columns - last.len()),
    )];
    for run in last.chunk_by(|a, b| a == b) {
        if let Some(outcome) = run.first() {
            spans.push(span(
                tone_of(*outcome),
                mark(*outcome, page).repeat(run.len()),
            ));
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TerminalOptions;

    #[test]
    fn only_a_whole_pass_fills_the_bar() {
        let (mut out, options) = (Vec::new(), TerminalOptions::default());
        let page = Page::new(&mut out, &options);
        let rates = [
            Some(0.0),
            Some(0.1),
            Some(0.5),
            Some(0.999),
            Some(1.0),
            None,
        ];
        assert_eq!(bars(&rates, &page), "▁▁▄▇█·");
        let (mut out, options) = (
            Vec::new(),
            TerminalOptions {
                unicode: false,
                ..Default::default()
            },
        );
        assert_eq!(bars(&rates, &Page::new(&mut out, &options)), "__-*# ");
    }

    #[test]
    fn many_runs_are_squeezed_and_none_is_lost() {
        let rates: Vec<Option<f64>> = (0..10).map(|n| Some(f64::from(n))).collect();
        assert_eq!(
            squeezed(&rates, 5),
            [Some(0.5), Some(2.5), Some(4.5), Some(6.5), Some(8.5)]
        );
        assert_eq!(squeezed(&rates, 3), [Some(1.0), Some(4.0), Some(7.5)]);
        assert_eq!(squeezed(&rates, 10), rates);
        assert_eq!(
            squeezed(&[None, None, Some(1.0), None], 2),
            [None, Some(1.0)]
        );
    }
}
