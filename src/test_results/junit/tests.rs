use std::fmt::Write as _;

use proptest::prelude::*;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};

use super::*;

/// `5+ 1- 1~` for 5 passed, 1 failed and 1 skipped; what is known beside on lines of its own.
fn told(xml: &[u8]) -> String {
    let (tally, broken) = read(xml);
    let mut told = format!("{}+ {}- {}~\n", tally.passed, tally.failed, tally.skipped);
    for failure in &tally.failures {
        let _ = writeln!(
            told,
            "  [{}] {}: {}",
            failure.suite, failure.name, failure.message
        );
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
    if let Some(JunitError { line, why }) = broken {
        let _ = writeln!(told, "  :{line}: {why}");
    }
    told
}

#[test]
fn what_real_runners_wrote() {
    let all: String = [
        "pytest",
        "nextest",
        "nextest-kinds",
        "nextest-flaky",
        "vitest",
        "jest",
        "gotestsum",
        "gtest",
    ]
    .iter()
    .map(|name| {
        let path = format!(
            "{}/tests/fixtures/runners/{name}.xml",
            env!("CARGO_MANIFEST_DIR")
        );
        let xml = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        format!("{name}: {}", told(&xml))
    })
    .collect();
    insta::assert_snapshot!(all, @r##"
    pytest: 7+ 4- 2~
      [py.test_a] test_bad: AssertionError: one is not two assert 1 == 2
      [py.test_a] test_err: failed on setup with "RuntimeError: no fixture"
      [py.test_a] test_par[c - d]: AssertionError: assert 'c - d' == 'a b' - a b + c - d
      [py.test_a] test_par[[z]]: AssertionError: assert '[z]' == 'a b' - a b + [z]
    nextest: 4+ 1- 0~
      [sample] tests::bad: assertion `left == right` failed: one is not two
    nextest-kinds: 2+ 2- 0~
      [sample::flaky] aborts: process aborted with signal 6 (SIGABRT)
      [sample::flaky] hangs: test timeout
      i 1 test passed only when run again
    nextest-flaky: 1+ 0- 0~
      i 1 test passed only when run again
    vitest: 3+ 1- 2~
      [v/a.spec.js] group > fails here: expected 2 to be 3 // Object.is equality
    jest: 4+ 1- 1~
      [group fails here] group fails here: Error: expect(received).toBe(expected) // Object.is equality
    gotestsum: 4+ 4- 1~
      [example.org/m/pan] TestP: panic: assignment to entry in nil map [recovered]
      [example.org/m/pkg] TestBad: a_test.go:4: want 1, got 2
      [example.org/m/pkg] TestSub/bad: hello
      [example.org/m/pkg] TestSub: Failed
      ! a suite claims 5 failures, but its test cases have 4
    gtest: 1+ 1- 2~
      [A] bad: g.cc:3 Expected equality of these values: 1 2
    "##);
}

/// As surefire writes tests that it runs again, by its documentation of `rerunFailingTestsCount`.
#[test]
fn surefire_runs_tests_again() {
    insta::assert_snapshot!(told(br#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0.2" name="org.acme.LoginTest" time="0.1" tests="4" errors="1" skipped="1" failures="0">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="flaky" classname="org.acme.LoginTest" time="0.01">
    <flakyFailure message="expected: &lt;1&gt;" type="AssertionError"><stackTrace><![CDATA[at x]]></stackTrace><system-out>o</system-out></flakyFailure>
  </testcase>
  <testcase name="broken" classname="org.acme.LoginTest" time="0.01">
    <error type="java.lang.NullPointerException">java.lang.NullPointerException
	at org.acme.Login.go(Login.java:3)</error>
    <rerunError type="java.lang.NullPointerException"><stackTrace>x</stackTrace></rerunError>
  </testcase>
  <testcase name="later" classname="org.acme.LoginTest" time="0"><skipped message="not yet"/></testcase>
  <testcase name="good" classname="org.acme.LoginTest" time="0"><system-out><![CDATA[<testcase name="not one"><failure/></testcase>]]></system-out></testcase>
</testsuite>"#), @r"
    2+ 1- 1~
      [org.acme.LoginTest] broken: java.lang.NullPointerException
      i 1 test passed only when run again
    ");
}

#[test]
fn what_attributes_claim_beyond_the_cases_is_told_and_never_counted() {
    let nested = br#"<testsuites tests="9" failures="0"><testsuite name="outer" tests="9"><testsuite name="in" tests="2"><testcase name="a"/></testsuite><testcase name="b"/></testsuite></testsuites>"#;
    insta::assert_snapshot!(told(nested), @r#"
    2+ 0- 0~
      ? the suite "in" claims 2 tests, but contains 1
    "#);
    insta::assert_snapshot!(told(br#"<testsuite name="s" tests="1" failures="0" errors="1"><testcase name="a"/></testsuite>"#), @r#"
    1+ 0- 0~
      ! the suite "s" claims 1 failure, but its test cases have 0
    "#);
    insta::assert_snapshot!(told(br#"<testsuite name="s" tests="1" errors="1"><testcase name="a"/><error message="no database">at x</error></testsuite>"#), @r#"
    1+ 0- 0~
      ! the suite "s" failed as a whole: no database
    "#);
    // Fewer than there are is what runners write that count a test and its teardown as one.
    insta::assert_snapshot!(told(br#"<testsuite tests="1" failures="-3" errors="many"><testcase name="a"/><testcase name="b"/></testsuite>"#), @"2+ 0- 0~");
    // Catch2 counts assertions.
    insta::assert_snapshot!(told(br#"<testsuites><testsuite name="c" errors="0" failures="0" tests="40" hostname="tbd"><testcase name="a"/></testsuite></testsuites>"#), @"1+ 0- 0~");
}

#[test]
fn words_in_attributes_count_too() {
    insta::assert_snapshot!(told(br#"<testsuite name="ctest"><testcase name="a" status="run"/><testcase name="b" status="fail"/><testcase name="c" status="disabled"/><testcase name="d" result="suppressed" status="notrun"/><testcase name="e" status=" TimedOut "/></testsuite>"#), @r"
    1+ 2- 2~
      [ctest] b: 
      [ctest] e: 
    ");
}

#[test]
fn a_failure_counts_at_any_depth_but_not_in_what_a_program_wrote() {
    let told = |inner: &str| told(format!("<testsuite name='s'>{inner}</testsuite>").as_bytes());
    insta::assert_snapshot!(told("<testcase name='a'><testcase name='b'><failure message='no'/></testcase></testcase>"), @r"
    0+ 1- 0~
      [s] a: no
    ");
    insta::assert_snapshot!(told("<testcase name='a'><steps><step><error message='no'/></step></steps></testcase>"), @r"
    0+ 1- 0~
      [s] a: no
    ");
    insta::assert_snapshot!(told("<testcase name='b'/><group><testcase name='a'><failure message='no'/></testcase></group>"), @r#"
    1+ 0- 0~
      ! the suite "s" failed as a whole: no
    "#);
    let wrote =
        "<system-out><x><failure message='no'/></x></system-out><properties><error/></properties>";
    insta::assert_snapshot!(told(&format!("<testcase name='a'>{wrote}</testcase>{wrote}")), @"1+ 0- 0~");
    let wrote = "<system-out><![CDATA[</testcase><failure/>]]>&lt;failure/&gt;<!-- <failure/> --></system-out>";
    insta::assert_snapshot!(told(&format!("<testcase name='a'>{wrote}</testcase>")), @"1+ 0- 0~");
}

#[test]
fn cut_and_broken_files_say_where() {
    let whole = "<testsuites>\n<testsuite name=\"s\" tests=\"2\">\n<testcase name=\"a\"/>\n<testcase name=\"b\">\n<failure message=\"m\"/></testcase>\n</testsuite>\n</testsuites>\n";
    let mut seen = String::new();
    for end in [0, 5, 30, 60, 85, 95, 130, 145] {
        let _ = write!(seen, "{end}: {}", told(&whole.as_bytes()[..end]));
    }
    insta::assert_snapshot!(seen, @r##"
    0: 0+ 0- 0~
      :1: it contains no XML element
    5: 0+ 0- 0~
      :1: it is not well-formed XML: syntax error: tag not closed: `>` not found before end of input
    30: 0+ 0- 0~
      :2: it is not well-formed XML: syntax error: attribute value not closed: `"` not found before end of input
    60: 0+ 0- 0~
      :3: it is not well-formed XML: syntax error: attribute value not closed: `"` not found before end of input
    85: 1+ 0- 0~
      :5: it is truncated: elements are still open
    95: 1+ 0- 0~
      :5: it is not well-formed XML: syntax error: tag not closed: `>` not found before end of input
    130: 1+ 1- 0~
      [s] b: m
      :6: it is not well-formed XML: syntax error: tag not closed: `>` not found before end of input
    145: 1+ 1- 0~
      [s] b: m
    "##);
    let mut seen = String::new();
    for xml in [
        "<html>\n<body/></html>",
        "<assemblies/>",
        "no xml",
        "<testsuite><testcase></testsuite>",
        "<testsuite>\n<testcase name=\"a/></testsuite>",
        "<testsuite/><testsuite/>",
        "<!DOCTYPE x [\n<!ENTITY a \"<testcase/>\">]><testsuite>&a;</testsuite>",
        "\n<testsuite><testcase name=b\"/></testsuite>",
        "<?xml version=\"1.0\" encoding=\"UTF-7\"?><testsuite/>",
    ] {
        let _ = write!(seen, "{}", told(xml.as_bytes()));
    }
    insta::assert_snapshot!(seen, @r#"
    0+ 0- 0~
      :1: it is not a JUnit file: its root is <html>, not <testsuites> or <testsuite>
    0+ 0- 0~
      :1: it is not a JUnit file: its root is <assemblies>, not <testsuites> or <testsuite>
    0+ 0- 0~
      :1: it contains no XML element
    0+ 0- 0~
      :1: it is not well-formed XML: ill-formed document: expected `</testcase>`, but `</testsuite>` was found
    0+ 0- 0~
      :2: it is not well-formed XML: syntax error: attribute value not closed: `"` not found before end of input
    0+ 0- 0~
      :1: it contains more than one document
    0+ 0- 0~
      :2: it declares custom entities, which are not expanded
    0+ 0- 0~
      :2: it is not well-formed XML: syntax error: attribute value not closed: `"` not found before end of input
    0+ 0- 0~
      :0: its encoding is utf-7, which can't be read; write UTF-8
    "#);
    let deep = "<testsuite>".repeat(300);
    assert!(
        told(deep.as_bytes()).contains("nested deeper than 200"),
        "{}",
        told(deep.as_bytes())
    );
}

#[test]
fn encodings_are_told_by_the_bytes() {
    let xml = |declared: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"{declared}\"?>\n<testsuite><testcase name=\"prüft €\"><failure message=\"é\"/></testcase></testsuite>"
        )
    };
    let expected = told(xml("UTF-8").as_bytes());
    assert_eq!(expected, "0+ 1- 0~\n  [] prüft €: é\n");
    let units = |text: &str, order: fn(u16) -> [u8; 2]| {
        text.encode_utf16().flat_map(order).collect::<Vec<u8>>()
    };
    let marked = |mark: &[u8], text: Vec<u8>| [mark, &text].concat();
    assert_eq!(
        told(&marked(b"\xef\xbb\xbf", xml("UTF-8").into_bytes())),
        expected
    );
    assert_eq!(
        told(&marked(
            b"\xff\xfe",
            units(&xml("UTF-16"), u16::to_le_bytes)
        )),
        expected
    );
    assert_eq!(
        told(&marked(
            b"\xfe\xff",
            units(&xml("UTF-16"), u16::to_be_bytes)
        )),
        expected
    );
    assert_eq!(
        told(&units(&xml("UTF-16LE"), u16::to_le_bytes)),
        expected,
        "without a mark"
    );
    assert_eq!(
        told(xml("UTF-16").as_bytes()),
        expected,
        "declared as UTF-16 and written as UTF-8"
    );
    let latin: Vec<u8> = xml("windows-1252")
        .chars()
        .map(|c| match c {
            '€' => 0x80,
            c => u8::try_from(u32::from(c)).unwrap(),
        })
        .collect();
    assert_eq!(told(&latin), expected);
    let wrong: Vec<u8> = xml("UTF-8")
        .chars()
        .map(|c| match c {
            '€' => 0x80,
            c => u8::try_from(u32::from(c)).unwrap(),
        })
        .collect();
    assert_eq!(
        told(&wrong),
        "0+ 1- 0~\n  [] pr\u{fffd}ft \u{fffd}: \u{fffd}\n",
        "declared as UTF-8 and written in another"
    );
}

#[test]
fn a_declared_encoding_is_used_when_it_is_known() {
    let xml = |encoding: &str, name: &[u8]| {
        let head =
            format!("<?xml version=\"1.0\" encoding={encoding}?><testsuite><testcase name=\"");
        let end = b"\"><failure message=\"m\"/></testcase></testsuite>";
        told(&[head.as_bytes(), name, end].concat())
    };
    let failed = |name: &str| format!("0+ 1- 0~\n  [] {name}: m\n");
    assert_eq!(xml("\"latin-1\"", b"pr\xfcft"), failed("prüft"));
    assert_eq!(xml("'ISO-8859-15'", b"5 \xa4"), failed("5 €"));
    assert_eq!(xml("\"Shift_JIS\"", b"\x83\x65"), failed("テ"));
    // Read as UTF-8: the names of tests may suffer, the results do not.
    for unknown in ["\"ANSI\"", "\"cp850\"", "UTF-8"] {
        assert_eq!(xml(unknown, b"a"), failed("a"), "{unknown}");
    }
}

#[test]
fn a_file_that_is_too_large_has_no_result() {
    let (tally, broken) = read(std::io::repeat(b' '));
    assert_eq!((tally.passed, tally.failed), (0, 0));
    assert_eq!(broken.expect("a reason").why, "it is larger than 256 MiB");
}

fn status() -> impl Strategy<Value = (u8, u8)> {
    (0u8..5, 0u8..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn what_quick_junit_writes_reads_back(suites in prop::collection::vec(prop::collection::vec((status(), "[ -~é<>&\"']{0,12}"), 0..8), 0..5), at in 0usize..1000) {
        let (mut passed, mut failed, mut skipped, mut names) = (0, 0, 0, Vec::new());
        let mut report = Report::new("r");
        for (n, cases) in suites.iter().enumerate() {
            let mut suite = TestSuite::new(format!("s{n}"));
            for ((kind, reruns), name) in cases {
                let mut status = match kind {
                    0 | 1 => { passed += 1; TestCaseStatus::success() }
                    2 => { skipped += 1; TestCaseStatus::skipped() }
                    kind => {
                        failed += 1;
                        names.push(one_line(name));
                        TestCaseStatus::non_success(if *kind == 3 { NonSuccessKind::Failure } else { NonSuccessKind::Error })
                    }
                };
                for _ in 0..*reruns {
                    if *kind != 2 { status.add_rerun(TestRerun::new(NonSuccessKind::Failure)); }
                }
                suite.add_test_case(TestCase::new(name.clone(), status));
            }
            report.add_test_suite(suite);
        }
        let xml = report.to_string().expect("a report");
        let (tally, broken) = read(xml.as_bytes());
        prop_assert_eq!(broken, None);
        prop_assert_eq!((tally.passed, tally.failed, tally.skipped), (passed, failed, skipped));
        prop_assert!(tally.broken.is_empty() && tally.doubts.is_empty());
        prop_assert_eq!(tally.failures.iter().map(|f| f.name.clone()).collect::<Vec<_>>(), names);

        // However it is cut, it is no pass and nobody panics.
        let whole = xml.trim_end().len();
        for cut in [whole / 2, whole * at / 1000, whole - 1] {
            let (_, broken) = read(&xml.as_bytes()[..cut]);
            prop_assert!(broken.is_some(), "cut at {cut} of {whole}");
        }
    }

    #[test]
    fn no_file_is_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..300), markup in "(<testsuite |<testcase|<!--|-->|<!\\[CDATA\\[|\\]\\]>|&|;|'|\"|=|/>|>|<failure|x| ){0,40}") {
        let _ = read(&bytes[..]);
        let _ = read(markup.as_bytes());
        let _ = read([b"<testsuite>", markup.as_bytes()].concat().as_slice());
    }
}
