//! The order of the modules, as `src/lib.rs` documents it: a module uses what stands below it, and nothing else.

use std::collections::BTreeMap;

use crate::source::{Source, blank, is_word, line_of};

/// One use of a top-level module.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Use {
    module: String,
    line: usize,
}

/// Module names by layer (0 is the top), from the text block of `src/lib.rs`.
fn layers(lib: &str) -> BTreeMap<String, usize> {
    let block = lib.split("//! ```text\n").nth(1).expect("lib.rs has a text block");
    let block = block.split("//! ```").next().unwrap();
    let mut layers = BTreeMap::new();
    for (layer, line) in block.lines().enumerate() {
        for name in line.trim_start_matches("//!").split_whitespace() {
            assert!(layers.insert(name.to_owned(), layer).is_none(), "{name} stands in two layers");
        }
    }
    layers
}

/// The module path of a file below `src/`: `a/b/mod.rs` and `a/b.rs` are `a::b`.
fn module_path(file: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    if parts.last() == Some(&"mod") {
        parts.pop();
    }
    parts
}

/// The top-level modules that a file names by `crate::` or by enough `super::`.
fn uses(file: &str, code: &str) -> Vec<Use> {
    let depth = module_path(file).len();
    let inline = inline_modules(code);
    let mut found = Vec::new();
    for (at, word) in words(code) {
        let after = match word {
            "crate" => Some(at + word.len()),
            "super"
                if !code[..at].trim_end().ends_with("super::") && !code[..at].trim_end().ends_with("::") =>
            {
                let (count, end) = supers(code, at);
                let depth = depth + inline.iter().filter(|(from, to)| (*from..*to).contains(&at)).count();
                (count == depth).then_some(end)
            }
            _ => None,
        };
        if let Some(names) = after.and_then(|end| code[end..].trim_start().strip_prefix("::")) {
            let line = line_of(code, at);
            found.extend(first_names(names).into_iter().map(|module| Use { module, line }));
        }
    }
    found
}

/// How many `super` follow each other from `at`, and where the last of them ends.
fn supers(code: &str, at: usize) -> (usize, usize) {
    let (mut count, mut end) = (1, at + "super".len());
    while let Some(rest) = code[end..].strip_prefix("::super") {
        (count, end) = (count + 1, code.len() - rest.len());
    }
    (count, end)
}

/// The first name of a path, or of each path of a group.
fn first_names(path: &str) -> Vec<String> {
    let path = path.trim_start();
    let Some(group) = path.strip_prefix('{') else {
        return vec![path.chars().take_while(|c| is_word(*c)).collect()];
    };
    let (mut names, mut depth, mut fresh, mut name) = (Vec::new(), 0, true, String::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(std::mem::take(&mut name));
                fresh = true;
            }
            c if fresh && is_word(c) => name.push(c),
            c if c.is_whitespace() => {}
            _ => fresh = false,
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// Where the bodies of `mod name { ... }` begin and end.
fn inline_modules(code: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    for (at, word) in words(code).into_iter().filter(|(_, word)| *word == "mod") {
        let rest = code[at + word.len()..].trim_start();
        let name: usize = rest.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum();
        let Some(body) = rest[name..].trim_start().strip_prefix('{') else { continue };
        let start = code.len() - body.len();
        let mut depth = 1;
        let end = body.char_indices().find_map(|(i, c)| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            (depth == 0).then_some(start + i)
        });
        spans.push((start, end.unwrap_or(code.len())));
    }
    spans
}

fn words(code: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in code.char_indices().chain([(code.len(), ' ')]) {
        match (is_word(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from, &code[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// What breaks the order in one file, as text for people.
fn breaches(layers: &BTreeMap<String, usize>, file: &str, code: &str) -> Vec<String> {
    let own = module_path(file)[0];
    let Some(own_layer) = layers.get(own) else {
        return vec![format!("src/{file}: `{own}` stands in no layer of src/lib.rs")];
    };
    uses(file, code)
        .into_iter()
        .filter_map(|u| {
            let layer = layers.get(&u.module)?;
            let wrong = u.module != own && layer <= own_layer;
            let how = if layer == own_layer { "beside" } else { "above" };
            wrong
                .then(|| format!("src/{file}:{}: `{own}` uses `{}`, which stands {how} it", u.line, u.module))
        })
        .collect()
}

#[test]
fn modules_use_only_what_stands_below_them() {
    let sources = crate::source::all();
    let lib = &sources.iter().find(|s| s.path == "lib.rs").unwrap().text;
    let layers = layers(lib);
    let wrong: Vec<String> = sources
        .iter()
        .filter(|s| !["lib.rs", "main.rs"].contains(&s.path.as_str()))
        .flat_map(|Source { path, code, .. }| breaches(&layers, path, code))
        .collect();
    assert!(wrong.is_empty(), "the order of src/lib.rs is broken:\n{}", wrong.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    let sources = crate::source::all();
    let lib = sources.iter().find(|s| s.path == "lib.rs").unwrap();
    let layers = layers(&lib.text);
    let mut declared: Vec<&str> =
        lib.code.lines().filter_map(|l| l.trim().strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    declared.sort_unstable();
    assert_eq!(declared, layers.keys().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_checker_sees_every_way_to_name_a_module() {
    let layers = layers("//! ```text\n//! top\n//! left  right\n//! bottom\n//! ```\n");
    let found = |file: &str, text: &str| breaches(&layers, file, &blank(text));

    let below = "use crate::bottom::x;\nuse crate::left::own;\nuse super::sibling;";
    assert_eq!(found("left/a.rs", below), Vec::<String>::new());

    let above = ["src/left/a.rs:1: `left` uses `top`, which stands above it"];
    assert_eq!(found("left/a.rs", "use crate::top::x;"), above);
    assert_eq!(found("left/a.rs", "fn f() -> crate::top::X {}"), above);
    assert_eq!(found("left/a.rs", "use super::super::top;"), above);
    assert_eq!(found("left/a.rs", "use super::super::{bottom, top::{a, b}};"), above);
    assert_eq!(
        found("left/mod.rs", "use super::top;"),
        ["src/left/mod.rs:1: `left` uses `top`, which stands above it"]
    );
    assert_eq!(found("left.rs", "mod tests { use super::super::top; }").len(), 1);

    let group = "use crate::{\n    bottom::{self, right},\n    right::x,\n    top,\n};";
    assert_eq!(
        found("left/a.rs", group),
        [
            "src/left/a.rs:1: `left` uses `right`, which stands beside it",
            "src/left/a.rs:1: `left` uses `top`, which stands above it",
        ]
    );

    let innocent = "// use crate::top;\n/* crate::top */ const A: &str = \"crate::top\"; const B: &str = r#\"crate::top\"#;";
    assert_eq!(found("left/a.rs", innocent), Vec::<String>::new());
    assert_eq!(found("left/a.rs", "mod tests { use super::top; }"), Vec::<String>::new());
    assert_eq!(found("lost/a.rs", ""), ["src/lost/a.rs: `lost` stands in no layer of src/lib.rs"]);
}
