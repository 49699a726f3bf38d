//! Patterns against what Python's `re` gives for the same ones.

use insta::assert_snapshot;

use super::pattern::CompiledPattern;
use crate::options::RegexFlags;

fn compiled(pattern: &str) -> CompiledPattern {
    CompiledPattern::compile(pattern, RegexFlags::default())
        .unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

fn found<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    compiled(pattern)
        .search(text)
        .unwrap()
        .map(|found| found.text())
}

#[test]
fn searches_as_python_does() {
    for (pattern, text, wanted) in [
        (r"\d+", "a12b3", Some("12")),
        ("^b", "ab", None),
        // One final newline is dropped.
        ("b$", "ab\n", Some("b")),
        ("b$", "ab\r\n", Some("b")),
        ("b$", "ab\n\n", None),
        (r"b\Z", "ab", Some("b")),
        (r"\Aa", "ab", Some("a")),
        // Braces that count nothing are plain.
        (r#"{"a": \d+}"#, r#"x {"a": 12} y"#, Some(r#"{"a": 12}"#)),
        (r"x{,2}", "xxx", Some("xx")),
        (r"x{2}", "xxx", Some("xx")),
        (r"x{2,}?y", "xxxy", Some("xxxy")),
        (r"a{b}", "a{b}", Some("a{b}")),
        // No nested classes or set operations.
        (r"[[a]+", "[a[", Some("[a[")),
        (r"[a&&b]+", "a&b", Some("a&b")),
        (r"[]a]+", "a]", Some("a]")),
        (r"[^]a]+", "a]bc", Some("bc")),
        (r"[+--]+", "+,-", Some("+,-")),
        (r"[\b]", "\u{8}", Some("\u{8}")),
        (r"[a~~b]", "~", Some("~")),
        // Escapes.
        (r"\<a\>", "x<a>", Some("<a>")),
        (r"\é\ \#", "é #", Some("é #")),
        (r"\x41é\/\-\:", "Aé/-:", Some("Aé/-:")),
        (r"\p{Greek}+", "abγδ", Some("γδ")),
        // Groups.
        (r"(?P<q>['\x22]).*?(?P=q)", r#"a "b" 'c'"#, Some(r#""b""#)),
        (r"(a)(b)\2\1", "abba", Some("abba")),
        (r"(?P<x>a)\1", "aa", Some("aa")),
        (r"(?#note)a(?#[)b", "ab", Some("ab")),
        (r"foo(?=bar)", "foobar", Some("foo")),
        (r"foo(?!bar)", "foobar foox", Some("foo")),
        (r"(?<=\$)\d+", "$15", Some("15")),
        (r"(?<!\$)\b\d+", "$15 16", Some("16")),
        (r"(?>a+)b", "aab", Some("aab")),
        (r"a++a", "aaa", None),
        (r"a*+a", "aaa", None),
        (r"(?:a|ab)(?:c|bcd)", "abcd", Some("abcd")),
        (r"(?i)ABC", "xabc", Some("abc")),
        (r"(?s)a.b", "a\nb", Some("a\nb")),
        (r"(?x) a b # c ( [", "ab", Some("ab")),
        (r"(?x)[ #]+", "a # b", Some(" # ")),
        ("", "x", Some("")),
    ] {
        assert_eq!(found(pattern, text), wanted, "{pattern} on {text:?}");
    }
}

#[test]
fn flags_mean_what_pythons_do() {
    let flagged = |pattern: &str, flags: RegexFlags, text: &str| {
        CompiledPattern::compile(pattern, flags)
            .unwrap()
            .search(text)
            .unwrap()
            .map(|found| found.text().to_owned())
    };
    let none = RegexFlags::default();
    assert_eq!(
        flagged(
            "A",
            RegexFlags {
                ignorecase: true,
                ..none
            },
            "xa"
        )
        .as_deref(),
        Some("a")
    );
    assert_eq!(
        flagged(
            "^b$",
            RegexFlags {
                multiline: true,
                ..none
            },
            "a\nb\nc"
        )
        .as_deref(),
        Some("b")
    );
    assert_eq!(
        flagged(
            "a.b",
            RegexFlags {
                dotall: true,
                ..none
            },
            "a\nb"
        )
        .as_deref(),
        Some("a\nb")
    );
    assert_eq!(flagged("a.b", none, "a\nb"), None);
    let verbose = RegexFlags {
        verbose: true,
        ..none
    };
    assert_eq!(
        flagged("a  b # (comment\n c [ #]", verbose, "abc#").as_deref(),
        Some("abc#")
    );
    assert_eq!(flagged(r"a\ b", verbose, "a b").as_deref(), Some("a b"));
    // The same with the backtracking engine.
    assert_eq!(
        flagged(
            "(?=^B$).",
            RegexFlags {
                ignorecase: true,
                multiline: true,
                ..none
            },
            "a\nb"
        )
        .as_deref(),
        Some("b")
    );
    assert_eq!(
        flagged(
            "(?=a) a . # (\n b",
            RegexFlags {
                dotall: true,
                ..verbose
            },
            "a\nb"
        )
        .as_deref(),
        Some("a\nb")
    );
}

/// The seeds' example, whose capture group doesn't exist.
#[test]
fn groups_by_name_and_number() {
    let seed = compiled(r"^function\s+\w+\s*\([^)]*\)\s*\{");
    assert_eq!((seed.group_names(), seed.group_count()), (vec![], 0));
    assert!(!seed.has_group("function_name") && seed.has_group("0") && !seed.has_group("1"));
    for pattern in [
        r"(?P<year>\d{4})-(\d\d)(?P<day>-\d\d)?",
        r"(?P<year>\d{4})-(\d\d)(?P<day>-\d\d)?(?!x)",
    ] {
        let dates = compiled(pattern);
        assert_eq!(
            (dates.group_names(), dates.group_count()),
            (vec!["year", "day"], 3)
        );
        let found = dates.search("on 2024-05").unwrap().unwrap();
        assert_eq!(found.whole, 3..10);
        assert_eq!(
            ["year", "2", "1", "0"].map(|g| found.group(g)),
            ["2024", "05", "2024", "2024-05"].map(Some)
        );
        assert_eq!(
            (found.group("day"), found.group("month"), found.group("9")),
            (None, None, None)
        );
    }
}

#[test]
fn finds_all() {
    for pattern in [r"\d+", r"\d+(?!x)"] {
        let all: Vec<String> = compiled(pattern)
            .find_all("1 22 333\n")
            .map(|found| found.unwrap().text().to_owned())
            .collect();
        assert_eq!(all, ["1", "22", "333"]);
    }
    assert_eq!(compiled("x").find_all("abc").count(), 0);
}

#[test]
fn giving_up_is_an_error_and_not_a_mismatch() {
    let catastrophic = compiled(r"(?=x?)(a|a)*b(?<!z)");
    let text = "a".repeat(60);
    assert_snapshot!(catastrophic.search(&text).unwrap_err(), @"the pattern needs too much backtracking on this text, so it is not known whether it matches");
    let mut all = catastrophic.find_all(&text);
    assert!(all.next().unwrap().is_err());
    assert!(all.next().is_none());
}

#[test]
fn errors_point_into_the_pattern() {
    let why = |pattern: &str| {
        let error = CompiledPattern::compile(pattern, RegexFlags::default()).unwrap_err();
        format!("{error} at {:?}", error.offset)
    };
    assert_snapshot!(why("ab(c"), @"unclosed group at Some(2)");
    assert_snapshot!(why(r"{}a{x}\q"), @"unrecognized escape sequence at Some(6)");
    assert_snapshot!(why("*a"), @"repetition operator missing expression at Some(0)");
    assert_snapshot!(why("[a"), @"unclosed character class at Some(0)");
    assert_snapshot!(why("(?=a)("), @"Opening parenthesis without closing parenthesis at Some(5)");
    assert_snapshot!(why(r"(a)\2"), @"Invalid back reference to group 2 at None");
    assert_snapshot!(why(r"(?P=nobody)"), @"Invalid back reference at Some(4)");
    assert_snapshot!(why(r"(?P<x>a)(?P<x>b)"), @"duplicate capture group name at Some(4)");
    assert_snapshot!(why(r"(?P<x>a)(?P<x>b)(?=c)"), @"two groups are named x at Some(8)");
    assert_snapshot!(why(r"a\Kb"), @"unrecognized escape sequence at Some(1)");
}

#[test]
fn bounded_patterns_refuse_long_texts() {
    let bounded =
        |pattern: &str| CompiledPattern::compile_bounded(pattern, RegexFlags::default()).unwrap();
    let long = "x".repeat(200_000);
    for pattern in [
        r"(?=x)x.*y",
        r"(?!.*bad)good\b.*\.$",
        r"(?<=a)(\w+\s?)+$",
        r#"(['"]).*?\1;"#,
    ] {
        let why = bounded(pattern).search(&long).unwrap_err().to_string();
        assert_eq!(
            why,
            "the pattern needs backtracking, which searches texts of up to 16384 bytes here; this one has 200000"
        );
        assert!(
            bounded(pattern).is_in(&long).is_err()
                && bounded(pattern).matches_whole(&long).is_err()
        );
        assert_eq!(
            bounded(pattern)
                .find_all(&long)
                .map(|hit| hit.is_err())
                .collect::<Vec<_>>(),
            [true]
        );
    }
    assert!(
        bounded("x+$")
            .search(&"x".repeat(64 << 10))
            .unwrap()
            .is_some()
    );
    let why = bounded("x+$").search(&long).unwrap_err().to_string();
    assert_eq!(
        why,
        "a pattern of this size searches texts of up to 65536 bytes here; this one has 200000"
    );
    let large = bounded(r"\w{100}");
    let why = large.search(&"x".repeat(5_000)).unwrap_err().to_string();
    assert!(
        why.starts_with("a pattern of this size searches texts of up to "),
        "{why}"
    );
    assert!(large.search(&"x".repeat(100)).unwrap().is_some());
    assert!(bounded(r"(?=x)x.*y").search("xxy").unwrap().is_some());
    assert!(
        bounded(r"(?=x?)(a|a)*b(?<!z)")
            .search(&"a".repeat(60))
            .is_err()
    );
}

#[test]
fn the_size_of_a_pattern_is_known_where_it_is_linear_and_small() {
    let size = |pattern: &str| compiled(pattern).linear_size();
    assert_eq!(size("answer: [a-z]+"), Some(16 << 10));
    assert_eq!(size(r"answer: \w+"), Some(256 << 10));
    assert_eq!(size(r"\w{100}"), None);
    assert_eq!(size(r"(?=x)x.*y"), None);
}
