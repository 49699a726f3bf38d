//! Rules of the house that the compiler doesn't know. Each has a check of the checker beside it.

use crate::source::{Source, blank, is_word, line_of};

/// Lines of code of the longest file, without blank lines, comments and tests.
const MAX_LINES: usize = 460;

/// Files of tests only: `tests.rs`, `*_tests.rs`, and what a parent declares under `#[cfg(test)]`.
fn is_test_file(sources: &[Source], path: &str) -> bool {
    let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let (parent, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let declared = [format!("{parent}/mod.rs"), format!("{parent}.rs")];
    name == "tests"
        || name.ends_with("_tests")
        || stem.contains("/tests/")
        || sources.iter().filter(|s| declared.contains(&s.path)).any(|s| {
            let lines: Vec<&str> = s.code.lines().map(str::trim).collect();
            lines.windows(2).any(|w| w[0] == "#[cfg(test)]" && w[1].ends_with(&format!("mod {name};")))
        })
}

/// The code without `#[cfg(test)] mod ... { ... }` at its end.
fn without_tests(code: &str) -> &str {
    let mut from = 0;
    while let Some(at) = code[from..].find("#[cfg(test)]").map(|i| from + i) {
        let rest = code[at + "#[cfg(test)]".len()..].trim_start();
        let item = rest.trim_start_matches("#[allow(clippy::unwrap_used)]").trim_start();
        if item.starts_with("mod ") && item.split_once('{').is_some_and(|(head, _)| !head.contains(';')) {
            return &code[..at];
        }
        from = at + 1;
    }
    code
}

/// The lines at which `needle` stands as a word of its own (its first and last character decide where words end).
fn lines_with(code: &str, needle: &str) -> Vec<usize> {
    let edge = |inside: Option<char>, outside: Option<char>| {
        !(inside.is_some_and(is_word) && outside.is_some_and(is_word))
    };
    code.match_indices(needle)
        .filter(|(at, _)| edge(needle.chars().next(), code[..*at].chars().next_back()))
        .filter(|(at, _)| edge(needle.chars().next_back(), code[at + needle.len()..].chars().next()))
        .map(|(at, _)| line_of(code, at))
        .collect()
}

fn report(rule: &str, wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{rule}:\n{}", wrong.join("\n"));
}

/// Every line of production code that holds one of `needles`, except in files that `exempt` names.
fn production(needles: &[&str], exempt: impl Fn(&str) -> bool) -> Vec<String> {
    let sources = crate::source::all();
    let mut wrong = Vec::new();
    for Source { path, code, .. } in &sources {
        if exempt(path) || is_test_file(&sources, path) {
            continue;
        }
        for needle in needles {
            let lines = lines_with(without_tests(code), needle);
            wrong.extend(lines.into_iter().map(|line| format!("src/{path}:{line}: {needle}")));
        }
    }
    wrong
}

/// Attributes whose serde options buffer a value: numbers lose their digits there, since serde_json keeps them as text.
fn buffering_serde(code: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for (at, _) in code.match_indices("#[serde(") {
        let options = &code[at..code[at..].find(")]").map_or(code.len(), |end| at + end)];
        let tagged = !lines_with(options, "tag").is_empty() && derives_deserialize(&code[..at], &code[at..]);
        if !lines_with(options, "untagged").is_empty() || !lines_with(options, "flatten").is_empty() || tagged
        {
            lines.push(line_of(code, at));
        }
    }
    lines
}

/// Whether the item around an attribute derives `Deserialize`: in the attributes just before or after it.
fn derives_deserialize(before: &str, after: &str) -> bool {
    let above: Vec<&str> =
        before.lines().rev().take_while(|line| !line.trim_end().ends_with(['}', ';', '{'])).collect();
    let below: Vec<&str> =
        after.lines().take_while(|line| !line.trim_end().ends_with(['}', ';', '{'])).collect();
    above.iter().chain(&below).any(|line| !lines_with(line, "Deserialize").is_empty())
}

#[test]
fn nothing_is_deserialised_through_a_buffer() {
    let mut wrong = Vec::new();
    for Source { path, code, .. } in crate::source::all() {
        wrong.extend(buffering_serde(&code).into_iter().map(|line| format!("src/{path}:{line}")));
    }
    report(
        "untagged, flattened and internally tagged Deserialize break numbers; see `tagged!` in src/spec",
        wrong,
    );

    let tagged = "#[derive(Serialize, Deserialize)]\n#[serde(tag = \"t\")]\nenum A { B }";
    assert_eq!(buffering_serde(&blank(tagged)), [2]);
    let other_way_round = "#[serde(tag = \"t\")]\n#[derive(Deserialize)]\nenum A { B }";
    assert_eq!(buffering_serde(&blank(other_way_round)), [1]);
    assert_eq!(buffering_serde("struct A {\n    #[serde(flatten)]\n    b: B }"), [2]);
    assert_eq!(buffering_serde("#[derive(Serialize)]\n#[serde(untagged)]\nenum A {}"), [2]);
    let innocent =
        "#[derive(Deserialize)]\nstruct Z;\n#[derive(Serialize)]\n#[serde(tag = \"t\")]\nenum A { B }";
    assert_eq!(buffering_serde(&blank(innocent)), Vec::<usize>::new());
}

#[test]
fn only_the_command_line_prints_and_exits() {
    let printing = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    report(
        "printing belongs to src/cli",
        production(&printing, |path| path.starts_with("cli/") || path == "main.rs"),
    );
    // A cell of the sandbox is a process of its own and ends itself.
    let exits = ["process::exit", "libc::_exit", "abort()"];
    let exempt = |path: &str| path.starts_with("cli/") || path == "main.rs" || path.starts_with("sandbox/");
    report("ending the process belongs to src/cli", production(&exits, exempt));
    assert_eq!(lines_with("a\n  println!(x)\n eprintln!(x)", "println!"), [2]);
}

#[test]
fn nothing_is_left_to_do() {
    let marks = ["todo!", "unimplemented!", "#[ignore"];
    let mut wrong = Vec::new();
    for Source { path, code, .. } in crate::source::all() {
        for mark in marks {
            wrong
                .extend(lines_with(&code, mark).into_iter().map(|line| format!("src/{path}:{line}: {mark}")));
        }
    }
    report("unfinished code, or a test that does not run", wrong);
    assert_eq!(lines_with("#[ignore = \"\"]\n#[ignore]", "#[ignore"), [1, 2]);
}

/// Lines with `unsafe` that no `SAFETY` comment explains within the three lines above or on the line itself.
fn unexplained_unsafe(text: &str, code: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    lines_with(code, "unsafe")
        .into_iter()
        .filter(|line| {
            let mut first = line.saturating_sub(4);
            // A comment of several lines counts as a whole.
            while first > 0 && lines[first].trim_start().starts_with("//") {
                first -= 1;
            }
            let near = &lines[first..*line];
            !near.iter().any(|l| l.contains("SAFETY:") || l.contains("# Safety"))
        })
        .collect()
}

#[test]
fn unsafe_stands_in_the_sandbox_and_is_explained() {
    report("`unsafe` belongs to src/sandbox", production(&["unsafe"], |path| path.starts_with("sandbox/")));
    let mut wrong = Vec::new();
    for Source { path, text, code } in crate::source::all() {
        let lines = unexplained_unsafe(&text, &code);
        wrong.extend(lines.into_iter().map(|line| format!("src/{path}:{line}")));
    }
    report("`unsafe` without a SAFETY comment", wrong);

    let bare = "fn f() {\n    unsafe { g() }\n}";
    assert_eq!(unexplained_unsafe(bare, bare), [2]);
    let said = "fn f() {\n    // SAFETY: g has no demands.\n    unsafe { g() }\n}";
    assert_eq!(unexplained_unsafe(said, &blank(said)), Vec::<usize>::new());
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let sources = crate::source::all();
    let (mut long, mut silent, mut vague) = (Vec::new(), Vec::new(), Vec::new());
    for Source { path, text, code } in &sources {
        let stem = path.trim_end_matches(".rs").trim_end_matches("/mod").rsplit('/').next().unwrap();
        if ["util", "utils", "helper", "helpers", "common", "misc", "manager"].contains(&stem) {
            vague.push(format!("src/{path}"));
        }
        if is_test_file(&sources, path) {
            continue;
        }
        let lines = without_tests(code).lines().filter(|line| !line.trim().is_empty()).count();
        if lines > MAX_LINES {
            long.push(format!("src/{path}: {lines} lines"));
        }
        if path != "main.rs" && !text.trim_start().starts_with("//!") {
            silent.push(format!("src/{path}"));
        }
    }
    report("names that say nothing", vague);
    report("files that begin without `//!`", silent);
    report("files that are too long", long);
}
