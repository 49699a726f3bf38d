//! What a run looks like on its way, at several widths, and what a terminal makes of it.

use std::io;
use std::sync::mpsc::channel;

use insta::assert_snapshot;

use super::lines::{bar, clock, first, heartbeat, last, plain_line, speed};
use super::*;
use crate::model::{
    CasesPlanned, Cause, EvalPlanned, Outcome, RunFinished, SampleFinished, SampleSkipped, Verdict,
    testing,
};
use eval_base::text;

const HOSTILE: &str = "case\x1b[2J\x1b]0;owned\x07\r\n日本語\u{202e}";

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn planned(cases: usize, samples: u32) -> Event {
    let case = |n: usize| testing::planned_case(&format!("c{n}"), samples);
    Event::CasesPlanned(CasesPlanned {
        eval: "math".to_owned(),
        cases: (0..cases).map(case).collect(),
    })
}

fn finished(eval: &str, case: &str, sample: u32, outcome: Outcome) -> Event {
    let mut verdict = Verdict::without_grades(Cause::Harness, "");
    verdict.outcome = outcome;
    let attempt = testing::attempt(verdict);
    Event::SampleFinished(Box::new(SampleFinished {
        eval: eval.to_owned(),
        case: case.to_owned(),
        sample,
        attempts: vec![attempt],
        finished_at: String::new(),
        reused_from: None,
    }))
}

fn skipped(case: &str) -> Event {
    let cause = Cause::MaxFail;
    Event::SampleSkipped(SampleSkipped {
        eval: "math".to_owned(),
        case: case.to_owned(),
        sample: 0,
        cause,
    })
}

/// A run of 10,000 samples, named, before its first one.
fn named() -> ProgressState {
    let mut state = ProgressState::default();
    (state.suite, state.run) = ("Parser suite".to_owned(), "eval-20260102-120000".to_owned());
    (state.evals, state.cases) = (12, 2500);
    state.event(&planned(2500, 4));
    state
}

/// Runs so many samples a second with this outcome, from one time to another.
fn go(state: &mut ProgressState, from: u64, to: u64, per_second: u64, outcome: Outcome) {
    for at in from..to {
        for n in 0..per_second {
            state.started("math", "c", u32::try_from(n).unwrap(), seconds(at));
            state.event(&finished("math", "c", u32::try_from(n).unwrap(), outcome));
        }
        state.tick(seconds(at + 1));
    }
}

/// Five seconds at 240 a second, with something of everything, and four that take long.
fn on_its_way() -> ProgressState {
    let mut state = named();
    state.started("code", "slow-one", 0, seconds(0));
    go(&mut state, 0, 4, 240, Outcome::Passed);
    go(&mut state, 4, 5, 235, Outcome::Passed);
    for (n, outcome) in [(3, Outcome::Failed), (2, Outcome::Errored)] {
        (0..n).for_each(|sample| state.event(&finished("math", "d", sample, outcome)));
    }
    for (case, at) in [(HOSTILE, 1), ("tie", 1), ("math", 2), ("young", 4)] {
        state.started("math", case, 1, seconds(at));
    }
    state
}

fn options(width: usize, unicode: bool, color: bool) -> TerminalOptions {
    TerminalOptions {
        width,
        unicode,
        color,
        verbose: false,
    }
}

fn shown(state: &ProgressState, options: &TerminalOptions, now: Duration) -> String {
    bar(state, options, now).join("\n")
}

#[test]
fn the_bar_at_80_columns() {
    let state = on_its_way();
    assert_snapshot!(shown(&state, &options(80, true, false), seconds(5)), @"
    00:05 ━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 1,200/10,000  12 %  240/s  eta 00:37
      ✓ 1,195 passed  ✗ 3 failed  ! 2 errored  5 running
      code/slow-one#1  5.0 s
      math/case 日本語⟨U+202E⟩#2  4.0 s
      math/tie#2  4.0 s
    ");
    assert_snapshot!(shown(&state, &options(80, false, false), seconds(5)), @"
    00:05 ===--------------------------- 1,200/10,000  12 %  240/s  eta 00:37
      + 1,195 passed  x 3 failed  ! 2 errored  5 running
      code/slow-one#1  5.0 s
      math/case 日本語⟨U+202E⟩#2  4.0 s
      math/tie#2  4.0 s
    ");
}

#[test]
fn the_bar_at_40_columns() {
    let state = on_its_way();
    assert_snapshot!(shown(&state, &options(40, true, false), seconds(5)), @"
    ━╌╌╌╌╌╌╌╌ 1,200/10,000  240/s  eta 00:37
      ✓ 1,195  ✗ 3  ! 2
      code/slow-one#1  5.0 s
      math/case 日本語⟨U+202E⟩#2  4.0 s
      math/tie#2  4.0 s
    ");
    assert_snapshot!(shown(&state, &options(40, false, false), seconds(5)), @"
    =-------- 1,200/10,000  240/s  eta 00:37
      + 1,195  x 3  ! 2
      code/slow-one#1  5.0 s
      math/case 日本語⟨U+202E⟩#2  4.0 s
      math/tie#2  4.0 s
    ");
}

#[test]
fn the_bar_in_colour() {
    let state = on_its_way();
    let coloured = shown(&state, &options(80, true, true), seconds(5));
    assert_snapshot!(coloured.replace('\x1b', "^"), @"
    ^[2m00:05 ^[0m^[32m━━━^[0m^[2m╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌^[0m ^[1m1,200/10,000^[0m  ^[2m12 %^[0m  ^[2m240/s^[0m  ^[2meta 00:37^[0m
      ^[32m✓ 1,195 passed^[0m  ^[31m✗ 3 failed^[0m  ^[33m! 2 errored^[0m^[2m  5 running^[0m
      ^[2mcode/slow-one#1^[0m  ^[36m5.0 s^[0m
      ^[2mmath/case 日本語⟨U+202E⟩#2^[0m  ^[36m4.0 s^[0m
      ^[2mmath/tie#2^[0m  ^[36m4.0 s^[0m
    ");
}

#[test]
fn the_bar_of_nothing_of_a_million_and_of_the_end() {
    assert_snapshot!(shown(&ProgressState::default(), &options(80, true, false), seconds(1)), @"00:01 starting");
    assert_snapshot!(shown(&named(), &options(80, true, false), seconds(1)), @"
    00:01 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 0/10,000  0 %
      ✓ 0 passed
    ");
    let mut state = named();
    (0..99).for_each(|_| state.event(&planned(2500, 4)));
    go(&mut state, 0, 12, 10_000, Outcome::Passed);
    assert_snapshot!(shown(&state, &options(80, true, false), seconds(12)), @"
    00:12 ━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 120,000/1,000,000  12 %  10,000/s  eta 01:28
      ✓ 120,000 passed
    ");
    assert_snapshot!(shown(&state, &options(40, true, false), seconds(12)), @"
    ━╌╌╌╌╌╌╌╌╌╌ 120,000/1,000,000  eta 01:28
      ✓ 120,000 passed
    ");
    let mut state = ProgressState::default();
    state.event(&planned(3, 1));
    go(&mut state, 0, 3, 1, Outcome::Failed);
    assert_snapshot!(shown(&state, &options(80, true, false), seconds(3)), @"
    00:03 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 3/3  100 %  1.0/s
      ✓ 0 passed  ✗ 3 failed
    ");
}

fn traffic() -> TrafficNow {
    TrafficNow {
        waiting: 468,
        in_flight: 22,
        allowed: 22,
        calls: 1694,
        requests: 1238,
        faults: 12,
        retries: 12,
        answers: 1204,
        kept: 3000,
        tokens: 1_234_567,
        usd: 0.4217,
        throttled: true,
    }
}

#[test]
fn the_bar_while_models_are_asked() {
    let mut state = named();
    go(&mut state, 0, 5, 240, Outcome::Passed);
    state.traffic = Some(traffic());
    assert_snapshot!(shown(&state, &options(80, true, false), seconds(5)), @"
    00:05 ━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 1,200/10,000  12 %  240/s  eta 00:37
      ✓ 1,200 passed
      22/22 calls  rate limited  468 waiting  12 retries  $0.4217  3,000 from cache
    ");
    assert_snapshot!(shown(&state, &options(40, true, false), seconds(5)), @"
    ━╌╌╌╌╌╌╌╌ 1,200/10,000  240/s  eta 00:37
      ✓ 1,200 passed
      22/22 calls  rate limited  468 waiting
    ");
    let young = TrafficNow {
        requests: 1,
        in_flight: 1,
        allowed: 32,
        retries: 1,
        ..TrafficNow::default()
    };
    state.traffic = Some(young);
    assert_snapshot!(shown(&state, &options(80, true, false), seconds(5)), @"
    00:05 ━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 1,200/10,000  12 %  240/s  eta 00:37
      ✓ 1,200 passed
      1/32 calls  1 retry
    ");
    let mut said = vec![plain_line(&state, seconds(5))];
    state.traffic = Some(traffic());
    said.extend([
        plain_line(&state, seconds(5)),
        heartbeat(&state, seconds(60)),
    ]);
    state.traffic = Some(TrafficNow {
        kept: 1200,
        ..TrafficNow::default()
    });
    said.push(last(&state, seconds(5)));
    assert_snapshot!(said.join("\n"), @"
    [00:05] 1,200/10,000  1,200 passed  240/s  eta 00:37  models: 1/32 calls, 1 retry
    [00:05] 1,200/10,000  1,200 passed  240/s  eta 00:37  models: 22/22 calls, rate limited, 468 waiting, 12 retries, $0.4217, 3,000 from cache, 1.23M tokens
    [01:00] 1,200/10,000  1,200 passed  models: 22/22 calls, rate limited, 468 waiting, 12 retries, $0.4217, 3,000 from cache, 1.23M tokens
    [00:05] stopped: 1,200/10,000  1,200 passed  240/s  models: 1,200 from cache
    ");
}

#[test]
fn no_line_is_wider_than_asked_and_colour_changes_no_text() {
    let mut state = on_its_way();
    state.traffic = Some(traffic());
    let colour = regex::Regex::new("\x1b\\[[0-9;]*m").unwrap();
    for width in 1..120 {
        for unicode in [true, false] {
            let lines = bar(&state, &options(width, unicode, false), seconds(90_000));
            for line in &lines {
                assert!(text::width(line) <= width, "{width}: {line:?}");
                assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
            }
            let coloured = bar(&state, &options(width, unicode, true), seconds(90_000));
            let bare: Vec<String> = coloured
                .iter()
                .map(|line| colour.replace_all(line, "").trim_end().to_owned())
                .collect();
            assert_eq!(bare, lines, "{width}");
        }
    }
}

#[test]
fn plain_lines_from_start_to_end() {
    let mut plain = PlainProgress::default();
    let mut state = named();
    let mut said: Vec<String> = plain.look(&state, seconds(1));
    state.started("code", "slow-one", 0, seconds(1));
    for at in 1..20 {
        go(&mut state, at, at + 1, 99, Outcome::Passed);
        state.event(&finished("math", "d", 0, Outcome::Failed));
        said.extend(plain.first(&state, seconds(at + 1)));
        said.extend(plain.look(&state, seconds(at + 1)));
    }
    ["one", HOSTILE, "three"]
        .iter()
        .for_each(|case| state.started("math", case, 0, seconds(20)));
    (21..100).for_each(|at| {
        state.tick(seconds(at));
        said.extend(plain.look(&state, seconds(at)));
    });
    state.event(&skipped("one"));
    said.extend(plain.look(&state, seconds(101)));
    state.event(&Event::RunFinished(RunFinished {
        timestamp: String::new(),
        duration_seconds: 101.0,
        interrupted: true,
        history: Vec::new(),
        expired_graces: None,
        changed_files: Vec::new(),
    }));
    said.extend(plain.end(&state, seconds(102)));
    assert!(
        said.iter()
            .all(|line| line.chars().all(|c| !c.is_control())),
        "{said:?}"
    );
    assert_snapshot!(said.join("\n"), @"
    Parser suite: 12 evals, 2,500 cases, 10,000 samples (run eval-20260102-120000)
    [00:07] 600/10,000  594 passed, 6 failed  100/s  eta 01:34
    [00:12] 1,100/10,000  1,089 passed, 11 failed  100/s  eta 01:29
    [00:17] 1,600/10,000  1,584 passed, 16 failed  100/s  eta 01:24
    [00:22] 1,900/10,000  1,881 passed, 19 failed  80/s  eta 01:42
    [00:52] 1,900/10,000  1,881 passed, 19 failed  still running: code/slow-one#1 (51.0 s), math/case 日本語⟨U+202E⟩#1 (32.0 s), math/one#1 (32.0 s) and 1 more
    [01:22] 1,900/10,000  1,881 passed, 19 failed  still running: code/slow-one#1 (1 min 21 s), math/case 日本語⟨U+202E⟩#1 (1 min 02 s), math/one#1 (1 min 02 s) and 1 more
    [01:41] 1,901/10,000  1,881 passed, 19 failed, 1 skipped  1.2/s  eta 1:48:31
    [01:42] interrupted: 1,901/10,000  1,881 passed, 19 failed, 1 skipped  19/s
    ");
}

#[test]
fn a_run_that_is_over_at_once_says_what_ran_and_one_that_never_began_nothing() {
    assert!(
        PlainProgress::default()
            .end(&named(), seconds(1))
            .is_empty()
    );
    let mut state = ProgressState::default();
    state.event(&planned(1, 1));
    state.event(&finished("math", "c0", 0, Outcome::Passed));
    assert_eq!(PlainProgress::default().end(&state, seconds(0)).len(), 2);
}

#[test]
fn samples_of_an_earlier_session_are_not_part_of_the_rate() {
    let mut state = named();
    for n in 0..900 {
        state.event(&finished("math", "c", n, Outcome::Passed));
    }
    state.event(&skipped("left out"));
    state.event(&Event::RunResumed(Box::new(resumed())));
    // Of what is known the plan says nothing again.
    state.resumed(1200, &[(Outcome::Passed, 900)].into());
    assert_eq!(
        (state.done(), state.total(), state.rate(seconds(1))),
        (900, 1200, None)
    );
    go(&mut state, 1, 11, 10, Outcome::Passed);
    assert_eq!(state.before(), 900);
    assert_eq!(state.rate(seconds(11)), Some(10.0));
    assert_eq!(state.left(seconds(11)), Some(seconds(20)));
    assert_snapshot!(first(&state), @"Resumed: 0 evals, 0 cases, 1,200 samples (run eval-1), 900 of them already done");
    assert_snapshot!(shown(&state, &options(80, true, false), seconds(11)), @"
    00:11 ━━━━━━━━━━━━━━━━━━━━━━━━━╌╌╌╌╌ 1,000/1,200  83 %  10/s  eta 00:20
      ✓ 1,000 passed  (900 already done)
    ");
}

fn resumed() -> crate::model::RunStarted {
    let mut started = crate::model::testing::run_started();
    started.run.run_id = "eval-1".into();
    started.run.suite_name = "Resumed".into();
    started
}

#[test]
fn the_rate_follows_what_happens_now() {
    let mut state = named();
    go(&mut state, 0, 60, 100, Outcome::Passed);
    go(&mut state, 60, 80, 2, Outcome::Passed);
    assert_eq!(state.rate(seconds(80)), Some(2.0));
    assert_eq!(state.left(seconds(80)), Some(seconds((10_000 - 6040) / 2)));
    // One sample in two minutes is still a rate, and after ten minutes of nothing there is none.
    let mut slow = named();
    for n in 0..4 {
        slow.started("math", "c", n, seconds(u64::from(n) * 120));
        slow.event(&finished("math", "c", n, Outcome::Passed));
        (0..120).for_each(|second| slow.tick(seconds(u64::from(n) * 120 + second)));
    }
    assert_eq!(
        slow.rate(seconds(480)).map(speed).as_deref(),
        Some("30.0/h")
    );
    (480..1100).for_each(|second| slow.tick(seconds(second)));
    assert_eq!(
        (slow.rate(seconds(1100)), slow.left(seconds(1100))),
        (None, None)
    );
}

#[test]
fn what_runs_is_bounded_by_what_is_in_flight() {
    let mut state = named();
    go(&mut state, 0, 100, 90, Outcome::Passed);
    assert_eq!(state.running(), 0);
    let mut state = on_its_way();
    assert_eq!(state.running(), 5);
    let labels = |state: &ProgressState| -> Vec<String> {
        state
            .slowest(9, seconds(2), seconds(5))
            .into_iter()
            .map(|(label, _)| label)
            .collect()
    };
    assert_eq!(
        labels(&state),
        [
            "code/slow-one#1",
            "math/case 日本語⟨U+202E⟩#2",
            "math/tie#2",
            "math#2"
        ]
    );
    state.event(&finished("code", "slow-one", 0, Outcome::Passed));
    assert_eq!(labels(&state).len(), 3);
}

#[test]
fn speeds_and_times_take_the_unit_that_suits() {
    for (per_second, written) in [
        (72_000.4, "72,000/s"),
        (240.2, "240/s"),
        (9.96, "10/s"),
        (3.21, "3.2/s"),
        (0.5, "30/min"),
        (0.05, "3.0/min"),
        (1.0 / 90.0, "40.0/h"),
    ] {
        assert_eq!(speed(per_second), written);
    }
    for (at, written) in [
        (0, "00:00"),
        (37, "00:37"),
        (3725, "1:02:05"),
        (275_000, "3 d 04 h"),
    ] {
        assert_eq!(clock(seconds(at)), written);
    }
}

#[test]
fn a_plain_line_has_no_guess_where_there_is_nothing_to_go_by() {
    let mut state = named();
    state.started("math", "c", 0, seconds(0));
    state.event(&finished("math", "c", 0, Outcome::Pending));
    assert_snapshot!(plain_line(&state, seconds(0)), @"[00:00] 1/10,000  0 passed, 1 pending");
    assert_snapshot!(heartbeat(&state, seconds(31)), @"[00:31] 1/10,000  0 passed, 1 pending");
    assert_snapshot!(last(&state, seconds(31)), @"[00:31] stopped: 1/10,000  0 passed, 1 pending  1.9/min");
}

/// A stream that breaks after so many writes, and shows what it got.
struct Pipe(mpsc::Sender<Vec<u8>>, usize);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.1 == 0 {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        self.1 -= 1;
        let _ = self.0.send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn screen(writes: usize) -> (ProgressScreen, impl Fn() -> String) {
    let (sender, receiver) = channel();
    let read = move || {
        String::from_utf8(receiver.try_iter().flatten().collect())
            .unwrap()
            .replace('\x1b', "^")
    };
    (ProgressScreen::new(Box::new(Pipe(sender, writes))), read)
}

fn block(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn a_block_is_drawn_over_itself() {
    let (mut screen, read) = screen(99);
    screen.draw(block(&["one", "two"]), 80);
    assert_snapshot!(read().replace('\r', "<"), @"
    <one^[K<
    two^[K^[J
    ");
    screen.draw(block(&["one", "two"]), 80);
    assert_eq!(read(), "", "nothing changed, so nothing is written");
    screen.draw(block(&["three"]), 80);
    assert_snapshot!(read().replace('\r', "<"), @"<^[1Athree^[K^[J");
    screen.line("said", 80);
    assert_snapshot!(read().replace('\r', "<"), @"<^[2K<said");
    screen.draw(
        block(&["a line of 20 columns", "\x1b[32m12345678901\x1b[0m"]),
        80,
    );
    read();
    screen.clear(10);
    assert_snapshot!(read().replace('\r', "<"), @"<^[3A^[2K^[1B^[2K^[1B^[2K^[1B^[2K<^[3A");
    screen.clear(10);
    assert_eq!(read(), "");
}

#[test]
fn a_terminal_that_is_gone_is_left_alone() {
    let (mut screen, read) = screen(1);
    screen.draw(block(&["one"]), 80);
    read();
    screen.draw(block(&["two"]), 80);
    screen.line("three", 80);
    screen.clear(80);
    assert_eq!(read(), "");
}

#[test]
fn the_thread_says_the_last_line_and_ends() {
    let (sender, receiver) = channel();
    let mut progress = RunProgress::start(
        Some(ProgressStyle::Plain(PlainProgress::default())),
        None,
        Box::new(Pipe(sender, usize::MAX)),
    );
    progress.event(&Event::EvalPlanned(EvalPlanned {
        eval: eval_info(),
        cases: 1,
    }));
    progress.event(&planned(1, 1));
    progress.started("math", "c0", 0);
    progress.event(&finished("math", "c0", 0, Outcome::Passed));
    progress.finish();
    let said = String::from_utf8(receiver.try_iter().flatten().collect()).unwrap();
    assert!(
        said.contains("1 eval, 1 case, 1 sample") && said.contains("stopped: 1/1  1 passed"),
        "{said}"
    );
    assert!(!said.contains(['\r', '\x1b']), "{said:?}");
    progress.finish();
    assert_eq!(receiver.try_iter().count(), 0);
}

fn eval_info() -> crate::model::EvalInfo {
    serde_json::from_value(serde_json::json!({
        "id": "math", "name": "Math", "type": "capability", "category": null, "tags": [], "weight": 1.0,
        "difficulty": null, "criticality": null, "pass_rate_threshold": 1.0, "score_threshold": null,
    }))
    .unwrap()
}
