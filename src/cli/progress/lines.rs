//! Progress in words: the lines of the bar, and plain lines for logs. Pure: the same state and time
//! give the same text.

use std::time::Duration;

use super::CaseLines;
use super::asking;
use super::state::{ProgressEnding, ProgressState};
use crate::model::Outcome;
use crate::report::TerminalOptions;
use crate::report::annotations::without_commands;
use crate::report::figures;
use crate::report::page::lines::{TerminalLines, width_of};
use crate::report::page::{
    StyledSpan, StyledText, Symbol, TextTone, bold, dim, mark, outside, own, place, plain, span,
    text,
};
use crate::run::EndedCase;
use eval_base::text;
use eval_models::TrafficNow;

/// What runs no longer than this is not worth a line.
const SLOW: Duration = Duration::from_secs(2);
/// Lines of slow samples below the bar.
const SLOWEST: usize = 3;
const WIDEST_BAR: usize = 30;
const NARROWEST_BAR: usize = 6;
/// Columns of an id in a plain line.
const PLAIN_ID: usize = 60;

/// The lines of the bar; none is wider than asked.
pub fn bar(state: &ProgressState, options: &TerminalOptions, now: Duration) -> Vec<String> {
    let mut out = Vec::new();
    let mut page = TerminalLines::new(&mut out, options);
    // Writing to memory can't fail.
    let _ = head(&mut page, state, now);
    if state.total() > 0 {
        let _ = counts(&mut page, state, now);
    }
    if let Some(traffic) = &state.traffic {
        let _ = write_traffic(&mut page, traffic);
    }
    for (label, time) in state.slowest(SLOWEST, SLOW, now) {
        let time = span_of(time);
        let room = options.width.saturating_sub(4 + text::width(&time));
        let label = text::truncate_width_with(&label, room, page.ellipsis()).into_owned();
        let _ = page.line(&[
            plain("  "),
            span(TextTone::Dim, label),
            plain("  "),
            span(TextTone::Wait, time),
        ]);
    }
    String::from_utf8_lossy(&out)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// `00:42 ━━━━━━╌╌╌╌ 1200/10,000  12 %  240/s  eta 00:37`, with what there is room for.
fn head(page: &mut TerminalLines, state: &ProgressState, now: Duration) -> std::io::Result<()> {
    let (done, total) = (state.done(), state.total());
    let elapsed = clock(now);
    if total == 0 {
        return page.line(&[span(TextTone::Dim, elapsed), plain(" starting")]);
    }
    let percent = u128::from(done) * 100 / u128::from(total);
    // What is the first to go stands last.
    let mut parts = vec![
        (0, position(state)),
        (
            3,
            state
                .left(now)
                .map_or_else(String::new, |left| format!("eta {}", clock(left))),
        ),
        (2, state.rate(now).map_or_else(String::new, speed)),
        (1, format!("{percent} %")),
    ];
    parts.retain(|(_, part)| !part.is_empty());
    let needs = |parts: &[(u8, String)]| -> usize {
        parts
            .iter()
            .map(|(_, part)| text::width(part) + 2)
            .sum::<usize>()
    };
    let mut lead = text::width(&elapsed) + 1;
    while needs(&parts) + lead + NARROWEST_BAR > page.width() + 1 {
        if parts.last().is_some_and(|(place, _)| *place == 1) {
            parts.pop();
        } else if lead > 0 {
            lead = 0;
        } else if parts.len() > 1 {
            parts.pop();
        } else {
            break;
        }
    }
    let room = (page.width() + 1).saturating_sub(needs(&parts) + lead);
    parts.sort_by_key(|(place, _)| *place);
    let mut spans = Vec::new();
    if lead > 0 {
        spans.push(span(TextTone::Dim, format!("{elapsed} ")));
    }
    if room >= NARROWEST_BAR {
        spans.extend(track(page, state, room.min(WIDEST_BAR)));
        spans.push(plain(" "));
    }
    for (at, (place, part)) in parts.into_iter().enumerate() {
        let tone = if place == 0 {
            TextTone::Bold
        } else {
            TextTone::Dim
        };
        spans.push(plain(if at == 0 { "" } else { "  " }));
        spans.push(span(tone, part));
    }
    page.line(&spans)
}

/// The bar itself: a stretch for each outcome, and what is left.
fn track(page: &TerminalLines, state: &ProgressState, columns: usize) -> Vec<StyledSpan> {
    let total = state.total().max(1);
    let full = page.pick("━", "=");
    let mut spans = Vec::new();
    let (mut samples, mut filled) = (0u64, 0usize);
    for outcome in Outcome::ALL {
        samples += state.count(outcome);
        // By the sum, so that the stretches together are as long as one bar would be.
        let end = usize::try_from(u128::from(samples) * columns as u128 / u128::from(total))
            .unwrap_or(columns);
        let tone = match state.of_probes {
            true => TextTone::Plain,
            false => TextTone::of(outcome),
        };
        spans.push(span(tone, full.repeat(end - filled)));
        filled = end;
    }
    spans.push(span(
        TextTone::Dim,
        page.pick("╌", "-").repeat(columns - filled),
    ));
    spans
}

/// Counts by outcome; with their words where there is room.
fn counts(page: &mut TerminalLines, state: &ProgressState, now: Duration) -> std::io::Result<()> {
    let with_words = count_spans(page, state, now, true);
    let width = width_of(&page.pieces(&with_words));
    let spans = if width <= page.width() {
        with_words
    } else {
        count_spans(page, state, now, false)
    };
    page.line(&spans)
}

fn count_spans(
    page: &TerminalLines,
    state: &ProgressState,
    now: Duration,
    words: bool,
) -> Vec<StyledSpan> {
    let mut spans = Vec::new();
    if state.of_probes {
        spans.push(plain(format!("  {}", tally(state))));
    }
    let counted = Outcome::ALL.into_iter().filter(|_| !state.of_probes);
    for outcome in counted {
        let n = state.count(outcome);
        if n == 0 && outcome != Outcome::Passed {
            continue;
        }
        let symbol = Symbol::of(outcome);
        let sign = page.pick(symbol.unicode, symbol.ascii);
        let word = if words {
            format!(" {outcome}")
        } else {
            String::new()
        };
        spans.push(plain("  "));
        spans.push(span(
            TextTone::of(outcome),
            format!("{sign} {}{word}", digits(n)),
        ));
    }
    if words && state.before() > 0 {
        spans.push(span(
            TextTone::Dim,
            format!("  ({} already done)", digits(state.before())),
        ));
    }
    if words && !state.slowest(1, SLOW, now).is_empty() {
        spans.push(span(
            TextTone::Dim,
            format!("  {} running", text::group_digits(state.running())),
        ));
    }
    spans
}

/// How models are asked, with what there is room for.
fn write_traffic(page: &mut TerminalLines, now: &TrafficNow) -> std::io::Result<()> {
    let mut spans = Vec::new();
    let mut room = page.width();
    for (tone, part) in asking::parts(now) {
        let width = text::width(&part) + 2;
        if width > room {
            break;
        }
        room -= width;
        spans.push(plain("  "));
        spans.push(span(tone, part));
    }
    if spans.is_empty() {
        Ok(())
    } else {
        page.line(&spans)
    }
}

/// The same at the end of a plain line.
fn asked_plainly(state: &ProgressState) -> String {
    let parts = state
        .traffic
        .as_ref()
        .map(asking::parts)
        .unwrap_or_default();
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("  models: {}", parts.join(", "))
    }
}

/// `✗ 1/3  1.23 s  eval › case  wrong_answer`: a case as it ended.
pub fn case(ended: &EndedCase<'_>, with: &CaseLines) -> String {
    let passed = format!("{}/{}", ended.passed, ended.samples);
    let time = figures::duration_ms(ended.duration_ms);
    let target = with.target.as_deref();
    let target = target.map_or_else(StyledText::default, |target| {
        dim(text![outside(target), "  "])
    });
    let cause = match ended.cause.filter(|_| ended.outcome != Outcome::Passed) {
        Some(cause) => own(format!("  {}", cause.name())).toned(TextTone::of(ended.outcome)),
        None => StyledText::default(),
    };
    let flaky = match ended.flaky {
        true => own("  flaky").toned(TextTone::Warn),
        false => StyledText::default(),
    };
    let reused = match ended.reused {
        true => dim(own("  reused")),
        false => StyledText::default(),
    };
    let line = text![
        "  ",
        mark(ended.outcome),
        own(format!(" {passed:>5}  ")),
        dim(own(format!("{time:>9}  "))),
        target,
        bold(place(ended.eval, ended.case)),
        cause,
        flaky,
        reused,
    ];
    let mut out = Vec::new();
    // Writing to memory can't fail.
    let _ = TerminalLines::new(&mut out, &with.options).line(&line.0);
    without_commands(String::from_utf8_lossy(&out).trim_end())
}

/// What runs, said once at the start.
pub fn first(state: &ProgressState) -> String {
    let mut line = format!(
        "{}: {}, {}, {} (run {})",
        text::truncate_width(&state.suite, PLAIN_ID),
        text::plural(state.evals, "eval"),
        text::plural(state.cases, "case"),
        text::plural(
            usize::try_from(state.total()).unwrap_or(usize::MAX),
            "sample"
        ),
        text::truncate_width(&state.run, PLAIN_ID),
    );
    if state.before() > 0 {
        line.push_str(&format!(
            ", {} of them already done",
            digits(state.before())
        ));
    }
    line
}

/// `[00:05] 1200/10,000  1180 passed, 15 failed, 5 errored  240/s  eta 00:37`.
pub fn plain_line(state: &ProgressState, now: Duration) -> String {
    let mut line = format!("[{}] {}  {}", clock(now), position(state), tally(state));
    if let Some(rate) = state.rate(now) {
        line.push_str(&format!("  {}", speed(rate)));
    }
    if let Some(left) = state.left(now) {
        line.push_str(&format!("  eta {}", clock(left)));
    }
    line.push_str(&asked_plainly(state));
    line
}

/// A sign of life while nothing ends: what runs, the longest first.
pub fn heartbeat(state: &ProgressState, now: Duration) -> String {
    let slowest: Vec<String> = state
        .slowest(SLOWEST, Duration::ZERO, now)
        .iter()
        .map(|(label, time)| {
            format!(
                "{} ({})",
                text::truncate_width_with(label, PLAIN_ID, "..."),
                span_of(*time)
            )
        })
        .collect();
    let more = state.running().saturating_sub(slowest.len());
    let mut line = format!(
        "[{}] {}  {}{}",
        clock(now),
        position(state),
        tally(state),
        asked_plainly(state)
    );
    if !slowest.is_empty() {
        line.push_str(&format!("  still running: {}", slowest.join(", ")));
    }
    if more > 0 {
        line.push_str(&format!(" and {} more", text::group_digits(more)));
    }
    line
}

/// How it ended, said once.
pub fn last(state: &ProgressState, now: Duration) -> String {
    let word = match state.ending {
        Some(ProgressEnding::Finished) => "finished",
        Some(ProgressEnding::Interrupted) => "interrupted",
        None => "stopped",
    };
    let mut line = format!(
        "[{}] {word}: {}  {}",
        clock(now),
        position(state),
        tally(state)
    );
    if let Some(rate) = state.mean_rate(now) {
        line.push_str(&format!("  {}", speed(rate)));
    }
    line.push_str(&asked_plainly(state));
    line
}

fn position(state: &ProgressState) -> String {
    format!("{}/{}", digits(state.done()), digits(state.total()))
}

fn tally(state: &ProgressState) -> String {
    if state.of_probes {
        return format!("{} probed", digits(state.done()));
    }
    let shown = |outcome: &Outcome| *outcome == Outcome::Passed || state.count(*outcome) > 0;
    let parts: Vec<String> = Outcome::ALL
        .into_iter()
        .filter(shown)
        .map(|outcome| format!("{} {outcome}", digits(state.count(outcome))))
        .collect();
    parts.join(", ")
}

fn digits(n: u64) -> String {
    text::group_digits(usize::try_from(n).unwrap_or(usize::MAX))
}

/// `240/s`, `3.2/s`, `12/min` or `20/h`, whichever makes a number that says something.
pub fn speed(per_second: f64) -> String {
    let (per_minute, per_hour) = (per_second * 60.0, per_second * 3600.0);
    if per_second >= 9.95 {
        format!("{}/s", figures::count(per_second.round()))
    } else if per_second >= 0.995 {
        format!("{per_second:.1}/s")
    } else if per_minute >= 9.95 {
        format!("{per_minute:.0}/min")
    } else if per_minute >= 0.995 {
        format!("{per_minute:.1}/min")
    } else {
        format!("{per_hour:.1}/h")
    }
}

/// `12.3 s`, or `2 min 05 s`: with as many digits at each look, so that nothing jumps.
fn span_of(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => figures::duration_seconds(seconds as f64),
    }
}

/// `00:42`, `1:02:05`, or `3 d 04 h`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if days > 0 {
        format!(
            "{} d {:02} h",
            text::group_digits(usize::try_from(days).unwrap_or(usize::MAX)),
            hours % 24
        )
    } else if hours > 0 {
        format!("{hours}:{:02}:{:02}", minutes % 60, seconds % 60)
    } else {
        format!("{minutes:02}:{:02}", seconds % 60)
    }
}
