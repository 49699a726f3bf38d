//! What the headers of an answer say of a server's limits, and of when to come again.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// A server's limits as an answer tells them. What it does not tell is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToldLimits {
    pub requests: RateLimit,
    /// Where tokens of questions and of answers have limits of their own: that of which the
    /// smallest part is left.
    pub tokens: RateLimit,
    /// How long the server asks to wait before the next try.
    pub retry_after: Option<Duration>,
}

/// One limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// For the server's window; headers don't say how long that is. Most often it is a minute.
    pub limit: Option<u64>,
    pub remaining: Option<u64>,
    /// From the answer until all of it is there again.
    pub reset: Option<Duration>,
}

impl RateLimit {
    /// The part that is left, from 0 to 1; 1 when nobody says.
    fn left(&self) -> f64 {
        match (self.remaining, self.limit) {
            (Some(0), _) => 0.0,
            (Some(remaining), Some(limit)) if limit > 0 => remaining as f64 / limit as f64,
            _ => 1.0,
        }
    }
}

/// Reads headers with names in lower case. Dates are told from the server's own `Date` where it has
/// one, since clocks differ.
pub(super) fn read<'a>(
    headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    now: Timestamp,
) -> ToldLimits {
    let known: Vec<(&str, &str)> = headers
        .filter(|(name, _)| {
            *name == "date" || name.contains("ratelimit") || name.contains("retry-after")
        })
        .filter_map(|(name, value)| Some((name, std::str::from_utf8(value).ok()?.trim())))
        .collect();
    if known.is_empty() {
        return ToldLimits::default();
    }
    let get = |wanted: &str| {
        known
            .iter()
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| *value)
    };
    let now = get("date").and_then(http_date).unwrap_or(now);
    let told = |limit: &[&str], remaining: &[&str], reset: &[&str]| RateLimit {
        limit: limit.iter().find_map(|name| count(get(name)?)),
        remaining: remaining.iter().find_map(|name| count(get(name)?)),
        reset: reset.iter().find_map(|name| until(get(name)?, now)),
    };
    let anthropic = |what: &str| {
        let name = |part: &str| format!("anthropic-ratelimit-{what}-{part}");
        told(&[&name("limit")], &[&name("remaining")], &[&name("reset")])
    };
    let openai = |what: &str, plain: [&str; 3]| {
        let name = |part: &str| format!("x-ratelimit-{part}-{what}");
        let [limit, remaining, reset] = plain;
        told(
            &[&name("limit"), limit],
            &[&name("remaining"), remaining],
            &[&name("reset"), reset],
        )
    };
    let fuller = |a: RateLimit, b: RateLimit| {
        if b.left() < a.left() || a == RateLimit::default() {
            b
        } else {
            a
        }
    };
    // Without saying of what, gateways count requests.
    let plain = [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ];
    let requests = fuller(openai("requests", plain), anthropic("requests"));
    let tokens = ["tokens", "input-tokens", "output-tokens"].map(anthropic);
    let tokens = tokens.into_iter().fold(openai("tokens", [""; 3]), fuller);
    let milliseconds = |name| {
        get(name)
            .and_then(seconds)
            .and_then(|ms| duration(ms / 1000.0))
    };
    let asked = milliseconds("retry-after-ms")
        .or_else(|| get("retry-after").and_then(|value| after(value, now)));
    // LiteLLM passes headers of the provider on under names of its own.
    let passed_on = || milliseconds("llm_provider-retry-after-ms");
    let asked = asked
        .or_else(passed_on)
        .or_else(|| get("llm_provider-retry-after").and_then(|value| after(value, now)));
    let spent = [requests, tokens]
        .into_iter()
        .filter(|told| told.remaining == Some(0));
    ToldLimits {
        requests,
        tokens,
        retry_after: asked.or_else(|| spent.filter_map(|told| told.reset).max()),
    }
}

fn count(text: &str) -> Option<u64> {
    // The draft of the header fields allows `100, 100;window=60`.
    text.split([',', ';']).next()?.trim().parse().ok()
}

fn seconds(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|_| plain)
}

fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// `Retry-After`: seconds, which some write with a fraction, or a date.
fn after(text: &str, now: Timestamp) -> Option<Duration> {
    match seconds(text) {
        Some(number) => duration(number),
        None => http_date(text).map(|at| from(now, at)),
    }
}

/// The time of a reset: `1s`, `6m0s`, `120ms`; seconds; a moment in RFC 3339; or one in seconds or
/// milliseconds since 1970.
fn until(text: &str, now: Timestamp) -> Option<Duration> {
    /// Larger numbers are moments and no spans.
    const EPOCH_SECONDS: f64 = 1e9;
    const EPOCH_MILLISECONDS: f64 = 1e12;
    if let Some(number) = seconds(text) {
        let at = |seconds: f64| Timestamp::from_millisecond((seconds * 1000.0) as i64).ok();
        return match number {
            n if n >= EPOCH_MILLISECONDS => at(n / 1000.0).map(|at| from(now, at)),
            n if n >= EPOCH_SECONDS => at(n).map(|at| from(now, at)),
            n => duration(n),
        };
    }
    span(text).or_else(|| text.parse::<Timestamp>().ok().map(|at| from(now, at)))
}

fn from(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

/// The time that a message asks to wait: `try again in 1.2s`, `in 350ms`,
/// `Please retry in 34.07s.`, `in 20 seconds`.
pub(super) fn wait_in(message: &str) -> Option<Duration> {
    let lower = message.to_lowercase();
    let behind = [
        "try again in ",
        "retry in ",
        "retry after ",
        "try again after ",
    ]
    .iter()
    .find_map(|words| Some(lower.split_once(words)?.1))?;
    let mut words = behind
        .split_whitespace()
        .map(|word| word.trim_end_matches(['.', ',', ';', ')', '!']));
    let first = words.next()?;
    if let Some(time) = span(first) {
        return Some(time);
    }
    let scale = match words.next().unwrap_or_default() {
        "ms" | "milliseconds" | "millisecond" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "min" | "mins" | "minute" | "minutes" => 60.0,
        _ => return None,
    };
    duration(seconds(first)? * scale)
}

/// Numbers with units, as Go writes durations.
pub(super) fn span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let (number, after) =
            rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic() || c == 'µ')?);
        let (unit, after) = after.split_at(
            after
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(after.len()),
        );
        let scale = match unit {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        sum += seconds(number)? * scale;
        rest = after;
    }
    duration(sum).filter(|_| !text.is_empty())
}

fn http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(headers: &[(&str, &str)]) -> ToldLimits {
        let now = "2026-03-04T05:06:07Z".parse().unwrap();
        read(
            headers
                .iter()
                .map(|(name, value)| (*name, value.as_bytes())),
            now,
        )
    }

    #[test]
    fn times_to_come_again_are_read_in_every_way_of_writing_them() {
        let mut said = String::new();
        for headers in [
            &[("retry-after", "7")][..],
            &[("retry-after", "0.25")],
            &[("retry-after", "Wed, 04 Mar 2026 05:06:37 GMT")],
            &[("retry-after", "Wed, 04 Mar 2020 05:06:37 GMT")],
            &[
                ("retry-after", "Wed, 04 Mar 2026 05:06:37 GMT"),
                ("date", "Wed, 04 Mar 2026 05:06:35 GMT"),
            ],
            &[("retry-after", "9"), ("retry-after-ms", "1500")],
            &[
                ("llm_provider-retry-after", "60"),
                ("date", "Wed, 04 Mar 2026 05:06:35 GMT"),
            ],
            &[("llm_provider-retry-after", "60"), ("retry-after", "2")],
            &[("retry-after", "-1")],
            &[("retry-after", "1e3")],
            &[("retry-after", "NaN")],
            &[("retry-after", "soon")],
            &[("retry-after", "99999999999999999999999999")],
            &[
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "6m0.5s"),
            ],
            &[
                ("x-ratelimit-remaining-tokens", "5"),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ],
            &[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "120ms"),
                ("retry-after", "3"),
            ],
            &[
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", "2026-03-04T05:06:27Z"),
            ],
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1772600777"),
            ],
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1772600777000"),
            ],
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "12")],
        ] {
            said.push_str(&format!("{headers:?}: {:?}\n", told(headers).retry_after));
        }
        insta::assert_snapshot!(said, @r#"
        [("retry-after", "7")]: Some(7s)
        [("retry-after", "0.25")]: Some(250ms)
        [("retry-after", "Wed, 04 Mar 2026 05:06:37 GMT")]: Some(30s)
        [("retry-after", "Wed, 04 Mar 2020 05:06:37 GMT")]: Some(0ns)
        [("retry-after", "Wed, 04 Mar 2026 05:06:37 GMT"), ("date", "Wed, 04 Mar 2026 05:06:35 GMT")]: Some(2s)
        [("retry-after", "9"), ("retry-after-ms", "1500")]: Some(1.5s)
        [("llm_provider-retry-after", "60"), ("date", "Wed, 04 Mar 2026 05:06:35 GMT")]: Some(60s)
        [("llm_provider-retry-after", "60"), ("retry-after", "2")]: Some(2s)
        [("retry-after", "-1")]: None
        [("retry-after", "1e3")]: None
        [("retry-after", "NaN")]: None
        [("retry-after", "soon")]: None
        [("retry-after", "99999999999999999999999999")]: None
        [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0.5s")]: Some(360.5s)
        [("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "6m0s")]: None
        [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "120ms"), ("retry-after", "3")]: Some(3s)
        [("anthropic-ratelimit-requests-remaining", "0"), ("anthropic-ratelimit-requests-reset", "2026-03-04T05:06:27Z")]: Some(20s)
        [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1772600777")]: Some(10s)
        [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1772600777000")]: Some(10s)
        [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "12")]: Some(12s)
        "#);
    }

    #[test]
    fn messages_say_when_to_come_again() {
        let rate = "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000. ";
        for (message, expected) in [
            (
                format!("{rate}Please try again in 1.2s. Visit https://x for more."),
                Some(1_200),
            ),
            (format!("{rate}Please try again in 350ms."), Some(350)),
            (format!("{rate}Please try again in 6m0s."), Some(360_000)),
            (
                "You exceeded your current quota. Please retry in 34.074824224s.".to_owned(),
                Some(34_074),
            ),
            (
                "Requests are throttled. Please retry after 20 seconds.".to_owned(),
                Some(20_000),
            ),
            ("try again in 2 minutes".to_owned(), Some(120_000)),
            ("Please try again in a while".to_owned(), None),
            ("Please try again in -3s".to_owned(), None),
            ("Too many requests".to_owned(), None),
            ("try again in ".to_owned(), None),
        ] {
            assert_eq!(
                wait_in(&message).map(|time| time.as_millis()),
                expected,
                "{message}"
            );
        }
    }

    #[test]
    fn limits_are_read_and_what_is_no_number_is_not_told() {
        let openai = told(&[
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-tokens", "many"),
            ("x-ratelimit-reset-tokens", "1h2m3s"),
        ]);
        let all = |limit, remaining, reset| RateLimit {
            limit,
            remaining,
            reset,
        };
        assert_eq!(
            openai.requests,
            all(Some(60), Some(59), Some(Duration::from_secs(1)))
        );
        assert_eq!(
            openai.tokens,
            all(Some(150_000), None, Some(Duration::from_secs(3723)))
        );
        assert_eq!(openai.retry_after, None);
        let anthropic = told(&[
            ("anthropic-ratelimit-tokens-limit", "100"),
            ("anthropic-ratelimit-tokens-remaining", "90"),
            ("anthropic-ratelimit-input-tokens-limit", "80"),
            ("anthropic-ratelimit-input-tokens-remaining", "79"),
            ("anthropic-ratelimit-output-tokens-limit", "20"),
            ("anthropic-ratelimit-output-tokens-remaining", "2"),
            (
                "anthropic-ratelimit-output-tokens-reset",
                "2026-03-04T05:06:08Z",
            ),
        ]);
        assert_eq!(
            anthropic.tokens,
            all(Some(20), Some(2), Some(Duration::from_secs(1)))
        );
        assert_eq!(anthropic.requests, RateLimit::default());
        assert_eq!(told(&[("content-type", "x")]), ToldLimits::default());
    }
}
