use std::fmt::Write as _;

use super::*;

/// What real runners wrote, with their colours and their ways to fail.
fn sample(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/runners/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn said(output: &[u8]) -> Option<Said> {
    let mut summaries = Summaries::default();
    // In pieces, as a pipe gives it.
    for piece in output.chunks(977) {
        summaries.hear(piece);
    }
    summaries.finish()
}

/// `cargo-test 5+ 1- 1~` for 5 passed, 1 failed and 1 skipped; what is known beside on lines of its own.
fn told(output: &[u8]) -> String {
    let Some(Said { source, tally, .. }) = said(output) else { return "no summary\n".to_owned() };
    let mut told = format!("{source} {}+ {}- {}~\n", tally.passed, tally.failed, tally.skipped);
    for failure in &tally.failures {
        let _ = writeln!(told, "  [{}] {}: {}", failure.suite, failure.name, failure.message);
    }
    if tally.omitted_failures > 0 {
        let _ = writeln!(told, "  and {} more", tally.omitted_failures);
    }
    for (mark, sentences) in [("!", &tally.broken), ("?", &tally.doubts), ("i", &tally.notes)] {
        for sentence in sentences {
            let _ = writeln!(told, "  {mark} {sentence}");
        }
    }
    told
}

fn told_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name}: {}", told(&sample(name)))).collect()
}

#[test]
fn cargo_test() {
    insta::assert_snapshot!(told_of(&["cargo-mixed", "cargo-good", "cargo-q", "cargo-doc", "cargo-color", "cargo-broken", "cargo-abort"]), @"");
}

#[test]
fn cargo_nextest() {
    insta::assert_snapshot!(told_of(&["nextest-mixed", "nextest-mixed-nff", "nextest-good", "nextest-none", "nextest-color", "nextest-kinds", "nextest-flaky", "nextest-nocapture", "script-both"]), @"");
}

#[test]
fn pytest() {
    insta::assert_snapshot!(told_of(&["pytest-mixed", "pytest-mixed-q", "pytest-mixed-qq", "pytest-good", "pytest-good-q", "pytest-mixed-color", "pytest-broken", "pytest-none", "pytest-none-q", "pytest-desel", "pytest-x", "pytest-xdist"]), @"");
}

#[test]
fn go_test() {
    insta::assert_snapshot!(told_of(&["go-mixed", "go-mixed-v", "go-mixed-json", "go-good", "go-good-v", "go-good-json", "go-broken", "go-broken-json", "go-panic", "go-panic-json", "go-none", "go-none-run"]), @"");
}

#[test]
fn vitest_and_jest() {
    insta::assert_snapshot!(told_of(&["vitest-mixed", "vitest-good", "vitest-coll", "vitest-none", "vitest-color", "jest-mixed", "jest-broken", "jest-good", "jest-none", "jest-color"]), @"");
}
