//! What tests say of the answer that they want: the function that they call, and the value that
//! they expect first. A guess: a wrong one makes a probe that fails, never one that passes.

use std::sync::LazyLock;

use regex::Regex;

/// Names that tests call around the answer.
const WRAPPERS: [&str; 32] = [
    "abs",
    "all",
    "any",
    "assert",
    "bool",
    "complex",
    "dict",
    "enumerate",
    "equal",
    "float",
    "frozenset",
    "in",
    "int",
    "isclose",
    "isinstance",
    "len",
    "list",
    "map",
    "max",
    "min",
    "not",
    "print",
    "range",
    "repr",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
];

/// The function that Python or JavaScript tests call. Of those that the solution defines, if it is
/// known.
pub(super) fn called_function<'t>(tests: &'t [String], solution: Option<&str>) -> Option<&'t str> {
    static CALL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"([A-Za-z_$][\w$]*)\s*\(").ok());
    let call = CALL.as_ref()?;
    let names = || {
        let all = tests
            .iter()
            .flat_map(|test| call.captures_iter(test).map(move |found| (test, found)));
        all.filter_map(|(test, found)| {
            let name = found.get(1)?;
            // A method of something is not the answer.
            let before = test.get(..name.start())?;
            (!before.ends_with('.')).then_some(name.as_str())
        })
        .filter(|name| !WRAPPERS.contains(name) || is_defined(name, solution))
    };
    names()
        .find(|name| is_defined(name, solution))
        .or_else(|| names().next())
}

fn is_defined(name: &str, solution: Option<&str>) -> bool {
    let defines = |word: &str| {
        let definition = format!("{word} {name}");
        let ends = |(at, _): (usize, &str)| {
            let after = solution.and_then(|code| code.get(at + definition.len()..));
            after.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        solution.is_some_and(|code| code.match_indices(&definition).any(ends))
    };
    ["def", "class", "function", "const", "let", "var"]
        .into_iter()
        .any(defines)
}

/// The command that a bash test runs in `$(...)`, else the first word of the test.
pub(super) fn called_command(tests: &[String]) -> Option<&str> {
    static INNER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\$\(\s*([A-Za-z_]\w*)").ok());
    static FIRST: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\s*(?:!\s*)?([A-Za-z_]\w*)").ok());
    const SHELL: [&str; 8] = [
        "test", "set", "diff", "echo", "grep", "if", "local", "declare",
    ];
    let found = |pattern: &Option<Regex>| {
        let pattern = pattern.as_ref()?;
        let mut names = tests
            .iter()
            .filter_map(|test| Some(pattern.captures(test)?.get(1)?.as_str()));
        names.find(|name| !SHELL.contains(name))
    };
    found(&INNER).or_else(|| found(&FIRST))
}

/// The right side of the first assertion of an equality in Python, if it is one line.
pub(super) fn first_expected(test: &str) -> Option<&str> {
    let line = test
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("assert"))?;
    let line = line.split_once("#").map_or(line, |(before, comment)| {
        if comment.contains(['\'', '"']) || before.contains(['\'', '"']) {
            line
        } else {
            before
        }
    });
    let begin = outermost(line, "==")? + 2;
    let right = line.get(begin..)?;
    let end = outermost(right, ",").unwrap_or(right.len());
    let right = right.get(..end)?.trim().trim_end_matches(';').trim();
    (!right.is_empty()).then_some(right)
}

/// The text that a bash test compares with, as in `[ "$(add 1 2)" = 3 ]`.
pub(super) fn first_compared(test: &str) -> Option<&str> {
    static COMPARED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"\)"?\s+==?\s+["']?([^"'\]]*?)["']?\s*\]"#).ok());
    Some(COMPARED.as_ref()?.captures(test)?.get(1)?.as_str())
}

/// How many assertions a text has; `None` if it has loops, in which one is made several times.
pub(super) fn assertions(text: &str) -> Option<usize> {
    let begins = |line: &str, words: &[&str]| {
        let line = line.trim_start();
        words.iter().any(|word| line.starts_with(word))
    };
    if text
        .lines()
        .any(|line| begins(line, &["for ", "while ", "async for "]))
    {
        return None;
    }
    Some(
        text.lines()
            .filter(|line| begins(line, &["assert"]))
            .count(),
    )
}

/// Where a sign is outside of brackets and quotes, in bytes.
fn outermost(text: &str, sign: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _)
                if depth == 0 && text.get(at..).is_some_and(|rest| rest.starts_with(sign)) =>
            {
                return Some(at);
            }
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_expected_value_is_the_right_side_of_an_equality() {
        for (test, expected) in [
            ("assert f(1) == [1, 2]", Some("[1, 2]")),
            (
                "assert f('a == b', (1, 2)) == 'x, y', 'wrong'",
                Some("'x, y'"),
            ),
            (
                "import math\n    assert f({1: 2}) == {1: 2} # a set",
                Some("{1: 2}"),
            ),
            ("assert f(\"it's\") == \"it's #1\"", Some("\"it's #1\"")),
            ("assert math.isclose(f(1), 2)", None),
            ("f(1) == 2", None),
        ] {
            assert_eq!(first_expected(test), expected, "{test}");
        }
    }

    #[test]
    fn called_function_is_one_that_the_solution_defines() {
        let tests = vec!["assert set(helper(f(1))) == set([1])".to_owned()];
        assert_eq!(called_function(&tests, Some("def f(n): pass")), Some("f"));
        assert_eq!(called_function(&tests, None), Some("helper"));
        assert_eq!(called_function(&["assert True".to_owned()], None), None);
        let sum = vec!["assert sum(10,15) == 6".to_owned()];
        assert_eq!(called_function(&sum, Some("def sum(a, b):")), Some("sum"));
        assert_eq!(called_function(&sum, Some("def summary(a, b):")), None);
    }

    #[test]
    fn bash_tests_name_their_command_and_text() {
        let tests = vec!["[ \"$(add 1 2)\" = \"3\" ]".to_owned()];
        assert_eq!(called_command(&tests), Some("add"));
        assert_eq!(
            tests.first().and_then(|test| first_compared(test)),
            Some("3")
        );
        assert_eq!(called_command(&["! sub 1".to_owned()]), Some("sub"));
    }
}
