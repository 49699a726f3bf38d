use std::fmt::Write as _;

use super::*;

/// What real runners wrote, with their colours and their ways to fail.
fn sample(name: &str) -> Vec<u8> {
    let path = format!(
        "{}/tests/fixtures/runners/{name}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn said(output: &[u8]) -> Option<RunnerResults> {
    let mut summaries = SummaryReader::default();
    // In pieces, as a pipe gives it.
    for piece in output.chunks(977) {
        summaries.hear(piece);
    }
    summaries.finish()
}

/// `cargo-test 5+ 1- 1~` for 5 passed, 1 failed and 1 skipped; what is known beside on lines of its
/// own.
fn told(output: &[u8]) -> String {
    let Some(RunnerResults { source, tally, .. }) = said(output) else {
        return "no summary\n".to_owned();
    };
    let mut told = format!(
        "{source} {}+ {}- {}~\n",
        tally.passed, tally.failed, tally.skipped
    );
    for failure in &tally.failures {
        let _ = writeln!(
            told,
            "  [{}] {}: {}",
            failure.suite, failure.name, failure.message
        );
    }
    if tally.omitted_failures > 0 {
        let _ = writeln!(told, "  and {} more", tally.omitted_failures);
    }
    for (mark, sentences) in [
        ("!", &tally.broken),
        ("?", &tally.doubts),
        ("i", &tally.notes),
    ] {
        for sentence in sentences {
            let _ = writeln!(told, "  {mark} {sentence}");
        }
    }
    told
}

fn told_of(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("{name}: {}", told(&sample(name))))
        .collect()
}

#[test]
fn cargo_test() {
    insta::assert_snapshot!(told_of(&["cargo-mixed", "cargo-good", "cargo-q", "cargo-doc", "cargo-color", "cargo-broken", "cargo-abort"]), @r#"
    cargo-mixed: cargo-test 5+ 1- 1~
      [] tests::bad: assertion `left == right` failed: one is not two
    cargo-good: cargo-test 2+ 0- 0~
    cargo-q: cargo-test 5+ 1- 1~
      [] tests::bad: assertion `left == right` failed: one is not two
    cargo-doc: cargo-test 1+ 0- 0~
    cargo-color: cargo-test 5+ 1- 1~
      [] tests::bad: assertion `left == right` failed: one is not two
    cargo-broken: cargo-test 0+ 0- 0~
      ! cargo says that code did not compile
    cargo-abort: cargo-test 0+ 0- 0~
      ! cargo test says that a test failed
      ? 1 binary of cargo test started and reported no result
    "#);
}

#[test]
fn cargo_nextest() {
    insta::assert_snapshot!(told_of(&["nextest-mixed", "nextest-mixed-nff", "nextest-good", "nextest-none", "nextest-color", "nextest-kinds", "nextest-flaky", "nextest-nocapture", "script-both"]), @r#"
    nextest-mixed: cargo-nextest 2+ 1- 1~
      [sample] tests::bad: assertion `left == right` failed: one is not two
      ? cargo-nextest stopped before 2 tests ran
    nextest-mixed-nff: cargo-nextest 4+ 1- 1~
      [sample] tests::bad: assertion `left == right` failed: one is not two
    nextest-good: cargo-nextest 2+ 0- 0~
    nextest-none: cargo-nextest 0+ 0- 6~
    nextest-color: cargo-nextest 4+ 1- 1~
      [sample] tests::bad: assertion `left == right` failed: one is not two
    nextest-kinds: cargo-nextest 2+ 2- 0~
      [sample::flaky] aborts: 
      [sample::flaky] hangs: 
      i 1 test passed only when run again
    nextest-flaky: cargo-nextest 1+ 0- 3~
      i 1 test passed only when run again
    nextest-nocapture: cargo-nextest 2+ 1- 1~
      [sample] tests::bad: assertion `left == right` failed: one is not two
    script-both: cargo-nextest + cargo-test 3+ 0- 0~
    "#);
}

#[test]
fn pytest() {
    insta::assert_snapshot!(told_of(&["pytest-mixed", "pytest-mixed-q", "pytest-mixed-qq", "pytest-good", "pytest-good-q", "pytest-mixed-color", "pytest-broken", "pytest-none", "pytest-none-q", "pytest-desel", "pytest-x", "pytest-xdist"]), @r#"
    pytest-mixed: pytest 7+ 4- 2~
      [py/test_a.py] test_bad: AssertionError: one is not two
      [py/test_a.py] test_par[c - d]: AssertionError: assert 'c - d' == 'a b'
      [py/test_a.py] test_par[[z]]: AssertionError: assert '[z]' == 'a b'
      [py/test_a.py] test_err: RuntimeError: no fixture
    pytest-mixed-q: pytest 7+ 4- 2~
      [py/test_a.py] test_bad: AssertionError: one is not two
      [py/test_a.py] test_par[c - d]: AssertionError: assert 'c - d' == 'a b'
      [py/test_a.py] test_par[[z]]: AssertionError: assert '[z]' == 'a b'
      [py/test_a.py] test_err: RuntimeError: no fixture
    pytest-mixed-qq: pytest 0+ 4- 0~
      [py/test_a.py] test_bad: AssertionError: one is not two
      [py/test_a.py] test_par[c - d]: AssertionError: assert 'c - d' == 'a b'
      [py/test_a.py] test_par[[z]]: AssertionError: assert '[z]' == 'a b'
      [py/test_a.py] test_err: RuntimeError: no fixture
      i pytest reported no totals; these count the tests that it named (`-qq`)
    pytest-good: pytest 2+ 0- 0~
    pytest-good-q: pytest 2+ 0- 0~
    pytest-mixed-color: pytest 7+ 4- 2~
      [py/test_a.py] test_bad: AssertionError: one is not two
      [py/test_a.py] test_par[c - d]: AssertionError: assert 'c - d' == 'a b'
      [py/test_a.py] test_par[[z]]: AssertionError: assert '[z]' == 'a b'
      [py/test_a.py] test_err: RuntimeError: no fixture
    pytest-broken: pytest 0+ 1- 0~
      [] pybad/test_c.py: 
    pytest-none: pytest 0+ 0- 0~
    pytest-none-q: pytest 0+ 0- 0~
    pytest-desel: pytest 0+ 0- 0~
    pytest-x: pytest 2+ 1- 0~
      [py/test_a.py] test_bad: AssertionError: one is not two
    pytest-xdist: pytest 7+ 4- 2~
      [py/test_a.py] test_bad: AssertionError: one is not two
      [py/test_a.py] test_par[c - d]: AssertionError: assert 'c - d' == 'a b'
      [py/test_a.py] test_par[[z]]: AssertionError: assert '[z]' == 'a b'
      [py/test_a.py] test_err: RuntimeError: no fixture
    "#);
}

#[test]
fn go_test() {
    insta::assert_snapshot!(told_of(&["go-mixed", "go-mixed-v", "go-mixed-json", "go-good", "go-good-v", "go-good-json", "go-broken", "go-broken-json", "go-panic", "go-panic-json", "go-none", "go-none-run"]), @r#"
    go-mixed: go-test 1+ 1- 0~
      [example.org/m/pkg] TestBad: a_test.go:4: want 1, got 2
      [example.org/m/pkg] TestSub: 
      [example.org/m/pkg] TestSub/bad: a_test.go:8: oops
      i the numbers are of packages: without -v or -json, go test does not tell how many tests ran
    go-mixed-v: go-test 4+ 3- 1~
      [example.org/m/pkg] TestBad: a_test.go:4: want 1, got 2
      [example.org/m/pkg] TestSub: 
      [example.org/m/pkg] TestSub/bad: a_test.go:8: oops
    go-mixed-json: go-test 4+ 3- 1~
      [example.org/m/pkg] TestBad: a_test.go:4: want 1, got 2
      [example.org/m/pkg] TestSub/bad: hello
      [example.org/m/pkg] TestSub: 
    go-good: go-test 1+ 0- 0~
      i the numbers are of packages: without -v or -json, go test does not tell how many tests ran
    go-good-v: go-test 2+ 0- 0~
    go-good-json: go-test 2+ 0- 0~
    go-broken: go-test 1+ 1- 0~
      ! the package example.org/m/broken failed [build failed]
      i the numbers are of packages: without -v or -json, go test does not tell how many tests ran
    go-broken-json: go-test 2+ 0- 0~
      ! the package example.org/m/broken failed [build failed]
    go-panic: go-test 0+ 1- 0~
      [example.org/m/pan] TestP: panic: assignment to entry in nil map [recovered]
      i the numbers are of packages: without -v or -json, go test does not tell how many tests ran
    go-panic-json: go-test 0+ 1- 0~
      [example.org/m/pan] TestP: panic: assignment to entry in nil map [recovered]
    go-none: go-test 0+ 0- 0~
      i the numbers are of packages: without -v or -json, go test does not tell how many tests ran
    go-none-run: go-test 0+ 0- 0~
      i the numbers are of packages: without -v or -json, go test does not tell how many tests ran
    "#);
}

#[test]
fn vitest_and_jest() {
    insta::assert_snapshot!(told_of(&["vitest-mixed", "vitest-good", "vitest-coll", "vitest-none", "vitest-color", "jest-mixed", "jest-broken", "jest-good", "jest-none", "jest-color"]), @r#"
    vitest-mixed: vitest 3+ 1- 2~
      [v/a.spec.js] group > fails here: AssertionError: expected 2 to be 3 // Object.is equality
    vitest-good: vitest 2+ 0- 0~
    vitest-coll: vitest 2+ 0- 0~
      ! v/coll/c.spec.js could not be run
    vitest-none: vitest 0+ 0- 0~
    vitest-color: vitest 3+ 1- 2~
      [v/a.spec.js] group > fails here: AssertionError: expected 2 to be 3 // Object.is equality
    jest-mixed: jest 2+ 1- 2~
      [t/a.test.js] group › fails here: expect(received).toBe(expected) // Object.is equality
    jest-broken: jest 1+ 0- 0~
      ! t/c.test.js could not be run
    jest-good: jest 1+ 0- 0~
    jest-none: jest 0+ 0- 0~
    jest-color: jest 1+ 1- 2~
      [t/a.test.js] group › fails here: expect(received).toBe(expected) // Object.is equality
    "#);
}

#[test]
fn several_runs_of_one_runner_and_several_runners_add_up() {
    let twice = [
        sample("pytest-good"),
        sample("pytest-x"),
        sample("jest-good"),
        sample("go-good-v"),
    ]
    .concat();
    insta::assert_snapshot!(told(&twice), @r"
    pytest + go-test + jest 7+ 1- 0~
      [py/test_a.py] test_bad: AssertionError: one is not two
      i 2 summaries of pytest were added up
    ");
}

#[test]
fn what_only_looks_like_a_summary_is_none() {
    for line in [
        "test result: unknown. 5 passed",
        "  test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        "Summary [abc",
        "Summary [   0.1s] many tests run: all passed",
        "5 apples in 0.12s",
        "5 passed in the end",
        "Tests  5 passed (5)",
        "Tests: all passed",
        "ok  example.org/m",
        "{\"Action\":\"pass\"",
        "{\"Action\":\"deploy\",\"Package\":\"x\"}",
        "99999999999999999999999 passed in 0.1s",
    ] {
        assert_eq!(said(format!("{line}\n").as_bytes()), None, "{line}");
    }
}

#[test]
fn a_failing_summary_is_not_outshone_by_a_passing_one() {
    let output = [
        sample("cargo-mixed"),
        b"test result: ok. 500 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n".to_vec(),
    ]
    .concat();
    let tally = said(&output).expect("a summary").tally;
    assert!(tally.is_failing());
    let odd = b"test result: FAILED. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    insta::assert_snapshot!(told(odd), @r"
    cargo-test 5+ 0- 0~
      ! cargo test says that a test failed
    ");
}

#[test]
fn tests_that_began_and_did_not_end_are_told() {
    insta::assert_snapshot!(told(b"=== RUN   TestA\n=== RUN   TestB\n--- PASS: TestA (0.00s)\nok  \tm\t0.1s\n"), @r"
    go-test 1+ 0- 0~
      ? 1 test of go test began and did not end
    ");
}

#[test]
fn unittest() {
    insta::assert_snapshot!(told_of(&["unittest-mixed", "unittest-mixed-v", "unittest-good", "unittest-none", "unittest-broken"]), @r"
    unittest-mixed: unittest 1+ 5- 2~
      [test_mixed.Broken] setUpClass: OSError: no database
      [test_mixed.T] test_error: RuntimeError: no fixture
      [test_mixed.T] test_bad: AssertionError: 1 != 2 : one is not two
      [test_mixed.T] test_sub (n=1): AssertionError: 1 != 0
      and 1 more
    unittest-mixed-v: unittest 1+ 5- 2~
      [test_mixed.Broken] setUpClass: OSError: no database
      [test_mixed.T] test_error: RuntimeError: no fixture
      [test_mixed.T] test_bad: AssertionError: 1 != 2 : one is not two
      [test_mixed.T] test_sub (n=1): AssertionError: 1 != 0
      and 1 more
    unittest-good: unittest 2+ 0- 1~
    unittest-none: unittest 0+ 0- 0~
    unittest-broken: unittest 0+ 1- 0~
      [unittest.loader._FailedTest] no_such: ModuleNotFoundError: No module named 'no_such'
    ");
    // Of Python 3.12, of Twisted's trial, and without a run before it.
    insta::assert_snapshot!(told(b"\nRan 0 tests in 0.000s\n\nNO TESTS RAN (skipped=1)\n"), @"unittest 0+ 0- 1~");
    insta::assert_snapshot!(told(b"Ran 3 tests in 0.003s\n\nPASSED (skips=1, successes=2)\n"), @"unittest 2+ 0- 1~");
    insta::assert_snapshot!(told(b"FAILED (failures=1)\n"), @r"
    unittest 0+ 1- 0~
      and 1 more
    ");
    for words in [
        "OK",
        "OK (fine)",
        "FAILED",
        "Ran 3 tests in 0.003s",
        "Ran away in 3s\nOK",
        "FAILED (all of it)",
    ] {
        assert_eq!(said(format!("{words}\n").as_bytes()), None, "{words}");
    }
}

/// A pipe (`| tee log`) takes the exit code away: a runner that crashed may be known by its silence
/// alone.
#[test]
fn a_runner_that_began_and_told_no_end_is_no_pass() {
    let crashed = [
        (sample("cargo-doc"), &b"\nrunning 3 tests\n"[..]),
        (
            sample("cargo-doc"),
            b"error: test failed, to rerun pass `--lib`\n",
        ),
        (
            sample("pytest-good"),
            b"============ test session starts ============\nFatal Python error\n",
        ),
        (sample("vitest-good"), b"\n RUN  v3.2.7 /home/me/js\n\n"),
        (
            sample("nextest-good"),
            b"    Starting 2 tests across 1 binary\n",
        ),
        (
            sample("cargo-good"),
            b"error: could not compile `sample` (lib) due to 1 previous error\n",
        ),
        (
            sample("pytest-good-q"),
            b"= short test summary info =\nFAILED t.py::test_a - no\n",
        ),
        (
            sample("go-good"),
            b"--- FAIL: TestX (0.00s)\n    x_test.go:4: no\nFAIL\n",
        ),
    ];
    for (passing, rest) in crashed {
        for output in [
            rest.to_vec(),
            [&passing, rest].concat(),
            [rest, &passing].concat(),
        ] {
            let tally = said(&output).expect("something is told").tally;
            assert!(
                tally.is_failing() || !tally.doubts.is_empty(),
                "{}",
                told(&output)
            );
        }
    }
}

#[test]
fn a_word_of_nextests_hides_no_failure_of_cargo_test() {
    let fake = "    Starting 1 test across 1 binary\n";
    let failing =
        "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let end = "     Summary [   0.1s] 1 test run: 1 passed, 0 skipped\n";
    for output in [[fake, failing, ""], [fake, failing, end]] {
        let tally = said(output.concat().as_bytes()).expect("a summary").tally;
        assert_eq!(tally.failed, 1, "{output:?}");
    }
}

#[test]
fn numbers_have_an_end() {
    let line = "Summary [   0.1s] 18446744073709551615 tests run: 1 passed\n";
    assert!(said(line.as_bytes()).is_none_or(|said| said.tally.doubts.len() == 1));
    let mut tally = TestTally {
        passed: usize::MAX,
        failed: usize::MAX,
        skipped: 1,
        ..TestTally::default()
    };
    tally.add(tally.clone());
    assert_eq!((tally.ran(), tally.total()), (usize::MAX, usize::MAX));
}

#[test]
fn a_flood_of_failures_takes_time_in_proportion() {
    let mut summaries = SummaryReader::default();
    for n in 0..300_000 {
        let line = format!("--- FAIL: Test{n:08} (0.00s)\n    x\n5 passed, {n} rerun in 0.1s\n");
        summaries.hear(line.as_bytes());
    }
    summaries.hear(b"FAIL\tm\t0.1s\n");
    let tally = summaries.finish().expect("a summary").tally;
    assert!(
        tally.is_failing() && tally.notes.len() < 30,
        "{}",
        tally.notes.len()
    );
}

#[test]
fn many_failures_are_counted_and_few_are_listed() {
    let mut output = "= short test summary info =\n".to_owned();
    for n in 0..80 {
        let _ = writeln!(output, "FAILED t.py::test_{n} - {}", "x".repeat(2000));
    }
    output.push_str("= 80 failed, 1 passed in 1.00s =\n");
    let tally = said(output.as_bytes()).expect("a summary").tally;
    assert_eq!(
        (tally.failed, tally.failures.len(), tally.omitted_failures),
        (80, 50, 30)
    );
    assert_eq!(tally.failures[0].message.chars().count(), 500);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]
    #[test]
    fn no_output_is_too_odd(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400), cuts in 1usize..50) {
        let words = [&b"\nSummary [ 0.1s] "[..], b"\ntest result: ok. ", b"\n--- FAIL: ", b"\nTests: ", b" passed in 1s\n", b"\n{\"Action\":"];
        let mut summaries = SummaryReader::default();
        for (n, piece) in bytes.chunks(cuts).enumerate() {
            summaries.hear(words[n % words.len()]);
            summaries.hear(piece);
        }
        let _ = summaries.finish();
    }
}
