//! How models are asked, in words.

use crate::report::figures;
use crate::report::page::TextTone;
use eval_base::text;
use eval_models::TrafficNow;

/// What there is to say, the most important first; nothing before a model was asked.
pub fn parts(now: &TrafficNow) -> Vec<(TextTone, String)> {
    let mut parts = Vec::new();
    if now.in_flight > 0 || now.waiting > 0 {
        let (calls, allowed) = (
            text::group_digits(now.in_flight),
            text::group_digits(now.allowed),
        );
        parts.push((TextTone::Plain, format!("{calls}/{allowed} calls")));
    }
    if now.throttled {
        parts.push((TextTone::Wait, "rate limited".to_owned()));
    }
    if now.waiting > 0 {
        parts.push((
            TextTone::Dim,
            format!("{} waiting", text::group_digits(now.waiting)),
        ));
    }
    if now.retries > 0 {
        parts.push((
            TextTone::Wait,
            text::plural(whole(now.retries), "retry").replace("retrys", "retries"),
        ));
    }
    // A price that is not known is no price of 0.
    if now.usd > 0.0 {
        parts.push((TextTone::Plain, figures::cost(now.usd)));
    }
    if now.kept > 0 {
        parts.push((
            TextTone::Dim,
            format!("{} from cache", text::group_digits(whole(now.kept))),
        ));
    }
    if now.tokens > 0 {
        parts.push((TextTone::Dim, format!("{} tokens", short(now.tokens))));
    }
    parts
}

/// `950`, `12.3k`, `4.56M`: three digits are enough for what changes all the time.
fn short(tokens: u64) -> String {
    let (number, unit) = match tokens {
        0..1_000 => return tokens.to_string(),
        1_000..1_000_000 => (tokens as f64 / 1e3, "k"),
        _ => (tokens as f64 / 1e6, "M"),
    };
    // By what is shown: 9.996 is shown with one digit less than 9.99.
    let decimals = match number {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}{unit}")
}

fn whole(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_of_tokens() {
        let shown: Vec<String> = [
            0,
            7,
            999,
            1_000,
            9_994,
            9_996,
            99_949,
            99_951,
            999_499,
            1_000_000,
            123_456_789,
            9_876_000_000,
        ]
        .into_iter()
        .map(short)
        .collect();
        insta::assert_snapshot!(shown.join(" "), @"0 7 999 1.00k 9.99k 10.0k 99.9k 100k 999k 1.00M 123M 9876M");
    }
}
