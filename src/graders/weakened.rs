//! Whether a change weakened a file of tests: fewer tests or assertions, or more skips, counted by
//! the words of its language outside of comments and texts.

use std::sync::LazyLock;

use eval_base::text::plural;
use regex::Regex;

/// What is counted of a language.
struct TestWords {
    syntax: Syntax,
    asserts: Regex,
    tests: Regex,
    skips: Regex,
}

/// How comments and texts are written.
#[derive(Debug, Clone, Copy)]
struct Syntax {
    line_comment: &'static str,
    block_comment: Option<(&'static str, &'static str)>,
    /// Longer ones first.
    quotes: &'static [&'static str],
    /// The quote in whose texts a backslash is a plain character.
    raw_quote: Option<&'static str>,
    /// Whether `/` begins a regular expression where a value is expected.
    has_regexes: bool,
}

const C_LIKE: Syntax = Syntax {
    line_comment: "//",
    block_comment: Some(("/*", "*/")),
    quotes: &["\"", "'", "`"],
    raw_quote: None,
    has_regexes: false,
};

const ECMASCRIPT: Syntax = Syntax {
    has_regexes: true,
    ..C_LIKE
};

const GOLANG: Syntax = Syntax {
    raw_quote: Some("`"),
    ..C_LIKE
};

/// A `'` also begins a lifetime, so that it is left as it is.
const RUST: Syntax = Syntax {
    quotes: &["\""],
    ..C_LIKE
};

const SCRIPT: Syntax = Syntax {
    line_comment: "#",
    block_comment: None,
    quotes: &["\"\"\"", "'''", "\"", "'"],
    raw_quote: None,
    has_regexes: false,
};

/// A shell's texts hold commands.
const SHELL: Syntax = Syntax {
    quotes: &[],
    ..SCRIPT
};

impl TestWords {
    fn new(syntax: Syntax, [asserts, tests, skips]: [&str; 3]) -> TestWords {
        #[allow(clippy::expect_used, reason = "the patterns are constants")]
        let pattern = |text: &str| Regex::new(text).expect("a pattern");
        TestWords {
            syntax,
            asserts: pattern(asserts),
            tests: pattern(tests),
            skips: pattern(skips),
        }
    }

    /// By the ending of a file's name.
    fn of(path: &str) -> &'static TestWords {
        static PYTHON: LazyLock<TestWords> = LazyLock::new(|| {
            TestWords::new(
                SCRIPT,
                [
                    r"\bassert\w*\b|\bpytest\.(raises|warns|fail)\b|\bself\.fail\w*\(",
                    r"\bdef\s+test\w*",
                    r"(?i)\bpytest\s*\.\s*(skip|importorskip|xfail)\b|\bmark\s*\.\s*(skip\w*|xfail)\b|\b(unittest|case)\s*\.\s*skip\w*|\bself\s*\.\s*skiptest\b|\bskiptest\b|@skip\w*|\bexpectedfailure\b|\bcollect_ignore\w*|\b__test__\b|\bload_tests\b",
                ],
            )
        });
        static JAVASCRIPT: LazyLock<TestWords> = LazyLock::new(|| {
            TestWords::new(
                ECMASCRIPT,
                [
                    r"\bexpect\w*\s*[(.]|\bassert\w*\s*[(.]|\.should\b|\bt\.(is|not|deepEqual|throws|true|false|truthy|falsy|equal|ok)\(",
                    r"\b(it|test)(\.\w+)*\s*\(",
                    r"\b(it|test|describe|suite|context|t)\s*\.\s*(skip|todo|only|fixme|failing)\b|\b[xf](it|describe|test)\b|\b(skip|todo)\s*:\s*(true|['\x22])",
                ],
            )
        });
        static GO: LazyLock<TestWords> = LazyLock::new(|| {
            TestWords::new(
                GOLANG,
                [
                    r"\.(Error|Errorf|Fatal|Fatalf|Fail|FailNow)\s*\(|\b(assert|require)\.\w+\s*\(|\bpanic\(",
                    r"\bfunc\s+(Test|Fuzz|Example)\w*",
                    r"\.(Skip|Skipf|SkipNow)\s*\(",
                ],
            )
        });
        static RUST_WORDS: LazyLock<TestWords> = LazyLock::new(|| {
            TestWords::new(
                RUST,
                [
                    r"\b\w*assert\w*!|\b(panic|unreachable)!|\bshould_panic\b",
                    r"#\[(\w+::)*test\b",
                    r"#\[ignore\b|\bcfg\(any\(\)\)",
                ],
            )
        });
        static SH: LazyLock<TestWords> = LazyLock::new(|| {
            TestWords::new(
                SHELL,
                [
                    r"\bassert\w*|\bexit\s+[1-9]|\[\s|\btest\s|\b(diff|cmp|grep)\b|\bnot ok\b",
                    r"@test\b|\btest_\w+\s*\(\)",
                    r"(?i)\bskip\w*\b|\|\|\s*(true|:)",
                ],
            )
        });
        static OTHER: LazyLock<TestWords> = LazyLock::new(|| {
            TestWords::new(
                C_LIKE,
                [
                    r"(?i)\w*(assert|expect|should|verify)\w*",
                    r"@Test\b|\[(Fact|Test|Theory|TestMethod)\b|\bTEST(_\w+)?\(|\bit\s",
                    r"(?i)@(disabled|ignore)\b|\[ignore|\bskip\w*\b|\bpending\b|\bxit\b|\bassume\w*\(",
                ],
            )
        });
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        match ending {
            "py" | "pyi" => &PYTHON,
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => &JAVASCRIPT,
            "go" => &GO,
            "rs" => &RUST_WORDS,
            "sh" | "bash" | "bats" => &SH,
            _ => &OTHER,
        }
    }
}

/// Build constraints of Go are comments that can leave a file out.
fn build_constraints(path: &str, text: &str) -> usize {
    let is_constraint =
        |line: &&str| line.starts_with("//go:build ") || line.starts_with("// +build ");
    match path.ends_with(".go") {
        true => text.lines().filter(is_constraint).count(),
        false => 0,
    }
}

/// The text without comments, and with texts emptied.
fn code_only(text: &str, syntax: Syntax) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let quote = syntax.quotes.iter().find(|quote| rest.starts_with(**quote));
        if rest.starts_with(syntax.line_comment) && is_comment(&code, syntax) {
            rest = rest.find('\n').map_or("", |at| &rest[at..]);
        } else if let Some((begin, end)) = syntax.block_comment
            && let Some(after) = rest.strip_prefix(begin)
            // Without an end it begins none.
            && let Some((_, after)) = after.split_once(end)
        {
            rest = after;
        } else if let Some(quote) = quote
            && let Some(end) = text_end(&rest[quote.len()..], quote, syntax)
        {
            code.push_str("\"\"");
            rest = &rest[quote.len() + end..];
        } else if letter == '/'
            && syntax.has_regexes
            && expects_value(&code)
            && let Some(end) = regex_end(&rest[1..])
        {
            code.push_str("/ /");
            rest = &rest[1 + end..];
        } else {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    code
}

/// A `#` within a word of a shell begins no comment.
fn is_comment(before: &str, syntax: Syntax) -> bool {
    !syntax.quotes.is_empty() || before.is_empty() || before.ends_with(char::is_whitespace)
}

/// The bytes of a text up to the end of its closing quote; a text of one line ends with the line.
/// `None` if a longer text has no end, so that the quote begins none.
fn text_end(after: &str, quote: &str, syntax: Syntax) -> Option<usize> {
    let is_long = quote.len() > 1 || quote == "`";
    let is_raw = syntax.raw_quote == Some(quote);
    let mut at = 0;
    while let Some(letter) = after[at..].chars().next() {
        if after[at..].starts_with(quote) {
            return Some(at + quote.len());
        }
        if letter == '\n' && !is_long {
            return Some(at);
        }
        at += letter.len_utf8();
        if letter == '\\' && !is_raw {
            at += after[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    (!is_long).then_some(at)
}

/// Whether a `/` after this code of JavaScript begins a regular expression and does not divide. In
/// doubt it divides: otherwise a quote in what is not an expression would show text as code.
fn expects_value(code: &str) -> bool {
    let code = code.trim_end();
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    // In TypeScript a `!` also follows a value.
    if let Some(before) = code.strip_suffix('!') {
        return expects_value(before);
    }
    let before = code.trim_end_matches(is_word);
    match &code[before.len()..] {
        "" => {
            code.is_empty()
                || code.ends_with("=>")
                || code.ends_with(['(', ',', '=', ':', '[', '&', '|', '?', ';', '{'])
        }
        "return" | "typeof" | "case" | "throw" | "void" | "delete" | "in" | "instanceof" => {
            !before.ends_with('.')
        }
        _ => false,
    }
}

/// The bytes of a regular expression up to its closing `/`, which is on the same line.
fn regex_end(after: &str) -> Option<usize> {
    let (mut is_class, mut is_escaped) = (false, false);
    for (at, letter) in after.char_indices() {
        match letter {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// In words, how the tests of a file are fewer or weaker than before; `None` if they are not.
pub(super) fn weakening(path: &str, before: &str, after: &str) -> Option<String> {
    let words = TestWords::of(path);
    let (old, new) = (
        code_only(before, words.syntax),
        code_only(after, words.syntax),
    );
    let count = |pattern: &Regex, text: &str| pattern.find_iter(text).count();
    let mut found = Vec::new();
    for (what, pattern) in [("test", &words.tests), ("assertion", &words.asserts)] {
        let lost = count(pattern, &old).saturating_sub(count(pattern, &new));
        if lost > 0 {
            found.push(format!("{} removed", plural(lost, what)));
        }
    }
    let skips = |code: &str, text: &str| count(&words.skips, code) + build_constraints(path, text);
    let gained = skips(&new, after).saturating_sub(skips(&old, before));
    if gained > 0 {
        found.push(format!("{} added", plural(gained, "skip")));
    }
    (!found.is_empty()).then(|| found.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_assertions_and_added_skips_are_found() {
        let table = [
            (
                "a.py",
                "def test_a():\n    assert f() == 1\n    assert g()\n",
                "def test_a():\n    assert f() == 1\n",
                "1 assertion removed",
            ),
            (
                "a.py",
                "def test_a():\n    assert f()\n",
                "def test_a():\n    # assert f()\n    pass\n",
                "1 assertion removed",
            ),
            (
                "a.py",
                "def test_a():\n    assert f()\n",
                "def test_a():\n    \"\"\"\n    assert f()\n    \"\"\"\n",
                "1 assertion removed",
            ),
            (
                "a.py",
                "def test_a():\n    assert f()\n",
                "def check_a():\n    assert f()\n",
                "1 test removed",
            ),
            (
                "a.py",
                "def test_a():\n    assert f()\n",
                "import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert f()\n",
                "1 skip added",
            ),
            (
                "a.py",
                "def test_a(self):\n    self.assertEqual(1, 2)\n",
                "def test_a(self):\n    self.skipTest('x')\n    self.assertEqual(1, 2)\n",
                "1 skip added",
            ),
            (
                "a.test.ts",
                "it('a', () => { expect(f()).toBe(1); });",
                "it.skip('a', () => { expect(f()).toBe(1); });",
                "1 skip added",
            ),
            (
                "a.test.js",
                "test('a', () => { assert.equal(f(), 1); });",
                "test('a', () => { /* assert.equal(f(), 1); */ });",
                "1 assertion removed",
            ),
            (
                "a.test.js",
                "it('a', () => {}); it('b', () => {});",
                "it.only('a', () => {}); it('b', () => {});",
                "1 skip added",
            ),
            (
                "a_test.go",
                "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal(\"x\")\n\t}\n}\n",
                "func TestA(t *testing.T) {\n\tt.Skip()\n\tif f() != 1 {\n\t}\n}\n",
                "1 assertion removed, 1 skip added",
            ),
            (
                "a_test.go",
                "package a\nfunc TestA(t *testing.T) {}\n",
                "//go:build never\n\npackage a\nfunc TestA(t *testing.T) {}\n",
                "1 skip added",
            ),
            (
                "tests/a.rs",
                "#[test]\nfn a() { assert_eq!(f(), 1); }",
                "#[test]\n#[ignore]\nfn a() { assert_eq!(f(), 1); }",
                "1 skip added",
            ),
            (
                "tests/a.rs",
                "#[test]\nfn a<'x>() { assert_eq!(f(), 1); }",
                "#[test]\nfn a<'x>() { f(); } // assert_eq!",
                "1 assertion removed",
            ),
            (
                "a.js",
                "test('a', () => { assert(f()); });",
                "test('a', () => { x = a / 2; y = b++ /'/ assert(f()) /'/ 1; `assert(1)`; z = a! /'/assert(1)/'/ 1; });",
                "1 assertion removed",
            ),
            (
                "a.js",
                "test('a', () => { assert(f()); });",
                "test('a', () => { x = {} /'/ assert(f()) /'/ 1; y = o.in /'/ assert(1) /'/ 1; });",
                "1 assertion removed",
            ),
            (
                "a_test.go",
                "func TestA(t *testing.T) { t.Fatal(1) }",
                "func TestA(t *testing.T) { x := `\\` + ` t.Fatal(1) ` }",
                "1 assertion removed",
            ),
            (
                "t.sh",
                "grep -q x out || exit 1\n",
                "grep -q x out || true\n",
                "1 assertion removed, 1 skip added",
            ),
            (
                "ATest.java",
                "@Test void a() { assertEquals(1, f()); }",
                "@Disabled @Test void a() { assertEquals(1, f()); }",
                "1 skip added",
            ),
        ];
        for (path, before, after, found) in table {
            assert_eq!(
                weakening(path, before, after).as_deref(),
                Some(found),
                "{path}: {after}"
            );
            assert_eq!(weakening(path, before, before), None, "{path}: {before}");
        }
    }

    #[test]
    fn stronger_and_reworded_tests_are_not_weakened() {
        let table = [
            (
                "a.py",
                "def test_a():\n    assert f() == 1\n",
                "def test_a():\n    assert f() == 2  # skip?\n    assert g() == 'xfail'\n",
            ),
            (
                "a.js",
                "test('a', () => { assert(1); });",
                "test('.skip', () => { assert(1); assert(`skip: ${1}`); });",
            ),
            (
                "a.rs",
                "#[test] fn a() { assert!(x); }",
                "#[test] fn a() { assert!(x, \"#[ignore\"); }",
            ),
            (
                "a.js",
                "test('a', () => { assert(1); });",
                "test('b', () => { assert.ok(/`/.test(f())); });\ntest('a', () => { assert(1); });",
            ),
            (
                "a.js",
                "test('a', () => { assert(1); });",
                "const slash = /[/*'\"]\\//;\ntest('a', () => { assert(1); return /`/; });",
            ),
            (
                "a.ts",
                "test('a', () => { expect(1).toBe(1); });",
                "const half = a! / 2, open = '`', end = !/`/.test(x);\ntest('a', () => { expect(1).toBe(1); });",
            ),
            (
                "a_test.go",
                "func TestA(t *testing.T) { t.Fatal(1) }",
                "func TestB(t *testing.T) { if len(`C:\\`) != 3 { t.Fatal(1) } }\nfunc TestA(t *testing.T) { t.Fatal(1) }",
            ),
            (
                "a.rs",
                "#[test] fn a() { assert!(x); }",
                "// a ` alone\nmacro_rules! m { () => { /* } }\n#[test] fn a() { assert!(x); }",
            ),
            ("a.txt", "anything", "something else"),
        ];
        for (path, before, after) in table {
            assert_eq!(weakening(path, before, after), None, "{path}: {after}");
        }
    }
}
