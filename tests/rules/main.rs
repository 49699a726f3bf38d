//! Rules of the source that neither the compiler nor clippy knows.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;

/// Lines of code of the longest file, without blank lines, comments and tests.
const MAX_LINES: usize = 650;

/// The module that is cut by subject: each file of it has parts for several layers, so that modules
/// below it may name what they have of a grader.
const SLICE: &str = "graders";

struct Source {
    /// From the repository, as `src/load/mod.rs`.
    path: String,
    text: String,
}

impl Source {
    /// Lines with their numbers, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..)
            .zip(self.text.lines())
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Where each match of `pattern` begins.
    fn places(&self, pattern: &Regex) -> Vec<String> {
        let matches = self.code().filter(|(_, line)| pattern.is_match(line));
        matches
            .map(|(number, line)| format!("{}:{number}: {}", self.path, line.trim()))
            .collect()
    }

    fn is_of_tests(&self) -> bool {
        let stem = self.path.trim_end_matches(".rs").trim_end_matches("/mod");
        stem.ends_with("/tests") || stem.ends_with("_tests") || stem.contains("/tests/")
    }
}

/// Every Rust file of the program and of its crates.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    let mut folders = vec![root.join("src"), root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let path = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                sources.push(Source { path, text });
            }
        }
    }
    assert!(sources.len() > 500, "only {} files", sources.len());
    sources
}

fn report(rule: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{rule}:\n{}", wrong.join("\n"));
}

/// The layer of each module of the program (0 is the top), from the text block of `src/lib.rs`.
fn layers(lib: &str) -> BTreeMap<&str, usize> {
    let block = lib
        .split("//! ```text\n")
        .nth(1)
        .expect("lib.rs has a text block");
    let lines = block.split("//! ```").next().unwrap().lines().enumerate();
    lines
        .flat_map(|(layer, line)| {
            line.trim_start_matches("//!")
                .split_whitespace()
                .map(move |name| (name, layer))
        })
        .collect()
}

/// Crates are kept in order by the compiler; inside the program this does.
#[test]
fn modules_use_only_what_is_below_them() {
    let sources = sources();
    let lib = &sources
        .iter()
        .find(|source| source.path == "src/lib.rs")
        .unwrap()
        .text;
    let layers = layers(lib);
    let declared = Regex::new(r"(?m)^pub mod ([a-z]+);$").unwrap();
    for name in declared
        .captures_iter(lib)
        .map(|found| found.get(1).unwrap().as_str())
    {
        assert!(
            layers.contains_key(name),
            "`{name}` is in no layer of src/lib.rs"
        );
    }
    let used = Regex::new(r"\bcrate::(?:\{|([a-z_]+))").unwrap();
    let climbing = Regex::new(r"(?:^|[^:\w])((?:super::)+)([a-z_]+)").unwrap();
    let mut wrong = Vec::new();
    for source in &sources {
        let own = source
            .path
            .strip_prefix("src/")
            .and_then(|path| path.split(['/', '.']).next());
        let Some(layer) = own.and_then(|own| layers.get(own)) else {
            continue;
        };
        let depth = source
            .path
            .trim_end_matches(".rs")
            .trim_end_matches("/mod")
            .split('/')
            .count()
            - 1;
        for (number, line) in source.code() {
            let climbs = climbing
                .captures_iter(line)
                .filter(|found| found[1].matches("super").count() == depth);
            let names = used
                .captures_iter(line)
                .map(|found| found.get(1))
                .chain(climbs.map(|found| found.get(2)));
            for name in names {
                let name = name.map_or("{", |name| name.as_str());
                let above = layers.get(name).is_some_and(|other| other <= layer)
                    && Some(name) != own
                    && name != SLICE;
                if above || name == "{" {
                    wrong.push(format!("{}:{number}: {}", source.path, line.trim()));
                }
            }
        }
    }
    report(
        "uses of a module beside or above (write one `use crate::` line for each module)",
        &wrong,
    );
}

fn without_comments(text: &str) -> String {
    let kept = text.lines().map(|line| {
        if line.trim_start().starts_with("//") {
            ""
        } else {
            line
        }
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// Lines with serde options that buffer a value: numbers lose their digits there.
fn buffering_serde(text: &str) -> Vec<usize> {
    let options = Regex::new(r"#\[serde\(([^\]]*)\)\]").unwrap();
    let [buffering, flattened, tagged] =
        [r"\buntagged\b", r"\bflatten\b", r"\btag\b"].map(|word| Regex::new(word).unwrap());
    // The attributes just before and after one say whether the item is deserialised, those of the
    // item whether a field is.
    let derives = |before: &str| {
        let derived = before.rfind("#[derive(").map_or("", |at| &before[at..]);
        derived
            .split(")]")
            .next()
            .is_some_and(|all| all.contains("Deserialize"))
    };
    let end = |line: &&str| !line.trim_end().ends_with(['}', ';', '{']);
    let found = options.captures_iter(text).filter(|found| {
        let (all, words) = (found.get(0).unwrap(), &found[1]);
        let above = text[..all.start()].lines().rev().take_while(end);
        let mut around = above.chain(text[all.start()..].lines().take_while(end));
        buffering.is_match(words)
            || flattened.is_match(words) && derives(&text[..all.start()])
            || tagged.is_match(words) && around.any(|line| line.contains("Deserialize"))
    });
    found
        .map(|found| text[..found.get(0).unwrap().start()].lines().count() + 1)
        .collect()
}

#[test]
fn nothing_is_deserialised_through_a_buffer() {
    let mut wrong = Vec::new();
    for source in sources() {
        wrong.extend(
            buffering_serde(&without_comments(&source.text))
                .into_iter()
                .map(|line| format!("{}:{line}", source.path)),
        );
    }
    report(
        "untagged, flattened and internally tagged Deserialize break numbers; see `tagged!` in src/spec",
        &wrong,
    );

    assert_eq!(
        buffering_serde("#[derive(Serialize, Deserialize)]\n#[serde(tag = \"t\")]\nenum A { B }")
            .len(),
        1
    );
    assert_eq!(
        buffering_serde("#[serde(tag = \"t\")]\n#[derive(Deserialize)]\nenum A { B }").len(),
        1
    );
    assert_eq!(
        buffering_serde(
            "#[derive(Deserialize)]\nstruct A {\n    #[serde(\n        default,\n        flatten\n    )]\n    b: B }"
        )
        .len(),
        1
    );
    assert_eq!(
        buffering_serde("#[derive(Serialize)]\n#[serde(untagged)]\nenum A {}").len(),
        1
    );
    let innocent = "#[derive(Deserialize)]\nstruct Z;\n#[derive(Serialize)]\n#[serde(tag = \"t\")]\nenum A { B }";
    assert_eq!(buffering_serde(innocent), [0; 0]);
    let written = "#[derive(Deserialize)]\nstruct Z;\n#[derive(Serialize)]\nstruct A {\n    #[serde(flatten)]\n    b: B }";
    assert_eq!(buffering_serde(written), [0; 0]);
}

#[test]
fn every_test_runs_and_nothing_aborts() {
    let wrong = Regex::new(r"^\s*#\[ignore|process::abort").unwrap();
    let wrong: Vec<String> = sources()
        .iter()
        .flat_map(|source| source.places(&wrong))
        .collect();
    report("a test that does not run, or an abort", &wrong);
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let (mut long, mut silent, mut vague) = (Vec::new(), Vec::new(), Vec::new());
    for source in sources() {
        let stem = source
            .path
            .trim_end_matches(".rs")
            .trim_end_matches("/mod")
            .rsplit('/')
            .next()
            .unwrap();
        if [
            "util", "utils", "helper", "helpers", "common", "misc", "manager",
        ]
        .contains(&stem)
        {
            vague.push(source.path.clone());
        }
        if source.is_of_tests() {
            continue;
        }
        let tests = source
            .text
            .find("\n#[cfg(test)]\nmod tests {")
            .unwrap_or(source.text.len());
        let code = source.code().filter(|(_, line)| !line.trim().is_empty());
        let end = source.text[..tests].lines().count();
        let lines = code.take_while(|(number, _)| *number <= end).count();
        if lines > MAX_LINES {
            long.push(format!("{}: {lines} lines", source.path));
        }
        if source.path != "src/main.rs" && !source.text.starts_with("//!") {
            silent.push(source.path.clone());
        }
    }
    report("names that say nothing", &vague);
    report("files that begin without `//!`", &silent);
    report("files that are too long", &long);
}

/// Words that readers stumble over where a plain one exists (reported, shown, again, different from,
/// is not a). Code in backticks, such as the user `nobody`, is left out.
struct OddWords {
    code: Regex,
    odd: Regex,
}

impl OddWords {
    fn new() -> OddWords {
        let odd = "tell|told|tells|nobody|whoever|anew|once more|another than|comes? to|came to|\
                   of one's own|in place of|held against|nothing says|what is no|is of a|stands (in|side|beside)|\
                   so that it is|(it|that|this|which|value|name|file|text) is no";
        OddWords {
            code: Regex::new(r"`[^`]*`|\{[^}]*\}").unwrap(),
            odd: Regex::new(&format!(r"(?i)\b({odd})\b")).unwrap(),
        }
    }

    fn of(&self, text: &str) -> Vec<String> {
        let plain = self.code.replace_all(text, "");
        let found = self.odd.find_iter(&plain);
        let found = found.filter(|found| !plain[found.end()..].starts_with(" longer"));
        found.map(|found| found.as_str().to_owned()).collect()
    }
}

/// Texts for judges: other words would be another question, which no recording answers.
const FOR_JUDGES: [&str; 4] = [
    "src/grade/judge/answer.rs",
    "src/grade/judge/ask.rs",
    "src/grade/judge/prompt.rs",
    "src/grade/judge/quote.rs",
];

#[test]
fn messages_and_docs_use_plain_words() {
    let odd = OddWords::new();
    assert_eq!(
        odd.of("Nobody was told; run it as `nobody`, which is no longer root"),
        ["Nobody", "told"]
    );
    assert_eq!(odd.of("`a` is there; it is no file"), ["it is no"]);
    // A raw text, a character (which may be a quotation mark), or a text.
    let literal = Regex::new(r##"(?s)r#"(.*?)"#|'(?:\\.|[^'\\\n])'|"((?:[^"\\]|\\.)*)""##).unwrap();
    let tests = Regex::new(r"\n#\[cfg\(test\)\]\n(pub(\(.*?\))? )?mod \w+ \{").unwrap();
    let mut wrong = Vec::new();
    let mut check = |path: &str, text: &str| {
        let words = odd.of(text);
        if !words.is_empty() {
            wrong.push(format!("{path}: {} in {text}", words.join(", ")));
        }
    };
    for source in sources().iter().filter(|source| !source.is_of_tests()) {
        let end = tests.find(&source.text).map(|found| found.start());
        let text = &source.text[..end.unwrap_or(source.text.len())];
        let (docs, code): (Vec<&str>, Vec<&str>) = text
            .lines()
            .partition(|line| line.trim_start().starts_with("//"));
        if !FOR_JUDGES.contains(&source.path.as_str()) {
            let code = code.join("\n");
            for said in literal.captures_iter(&code) {
                let said = said.get(1).or(said.get(2)).map_or("", |text| text.as_str());
                if said.contains(char::is_whitespace) {
                    check(&source.path, said);
                }
            }
        }
        // What `--help` prints, and what the schemas and the reference contain.
        if ["src/cli/args", "src/spec"]
            .iter()
            .any(|room| source.path.starts_with(room))
        {
            for line in docs.iter().map(|line| line.trim_start()) {
                check(&source.path, line.strip_prefix("///").unwrap_or_default());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md"), root.join("CHANGELOG.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    assert!(pages.len() > 20, "only {} pages", pages.len());
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let prose = text.split("```").step_by(2).collect::<String>();
        let words = prose
            .lines()
            .flat_map(|line| odd.of(line))
            .collect::<Vec<_>>();
        if !words.is_empty() {
            wrong.push(format!("{}: {}", page.display(), words.join(", ")));
        }
    }
    report("words that have a plainer one", &wrong);
}
