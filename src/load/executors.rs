//! `executors:` of a suite, and the names that graders write after `executor:`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::languages::{described, described_languages};
use super::problem::{Code, Problem, Problems};
use super::refs::lexical;
use super::scope::{SuiteDesk, seconds};
use super::session::LoadSession;
use super::source::Span;
use super::tree::Node;
use crate::model::{ConfiguredExecutor, Executor};
use crate::spec::{ExecutorSpec, ExecutorsFile, SchemaKind};

/// Seconds for a compiler.
const COMPILE_TIMEOUT: f64 = 30.0;
/// What compilers get of memory, in MiB: more than the programs that they make.
const COMPILE_MEMORY_MB: u64 = 1024;

/// An executor with the limits that hold where a grader gives none.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChosenExecutor {
    pub executor: Executor,
    pub timeout: Option<Duration>,
    pub memory_mb: Option<u64>,
}

/// The languages that a suite describes.
#[derive(Debug, Clone, Default)]
pub(super) struct ExecutorShelf {
    known: BTreeMap<String, ChosenExecutor>,
    /// True when a suite may still define more.
    pub open: bool,
}

impl ExecutorShelf {
    /// Of a suite whose languages could not be read: any name may be one.
    pub fn unknown() -> ExecutorShelf {
        ExecutorShelf {
            open: true,
            ..ExecutorShelf::default()
        }
    }

    /// The languages of a document, whose folder is `dir`; `None` after reporting that its shape is
    /// wrong.
    pub fn of_document(
        session: &mut LoadSession,
        document: &mut Node,
        dir: &Path,
    ) -> Option<ExecutorShelf> {
        let file: ExecutorsFile = session.read(SchemaKind::Executors, document)?;
        let at = document.get("executors").unwrap_or(document);
        let problems = &mut session.problems;
        Some(ExecutorShelf::of(file.executors, at, dir, problems))
    }

    /// The languages of a map whose node is `node`; those with a fault are told and left out. Paths
    /// are relative to `dir`.
    pub fn of(
        all: BTreeMap<String, ExecutorSpec>,
        node: &Node,
        dir: &Path,
        problems: &mut Problems,
    ) -> ExecutorShelf {
        let mut shelf = ExecutorShelf::default();
        for (name, spec) in all {
            let at = node.get(&name).unwrap_or(node);
            let faults = faults(&name, &spec, node, at);
            // A grader that names it is not told that it does not exist.
            shelf.open |= !faults.is_empty();
            if faults.is_empty() {
                let chosen = chosen(name.clone(), spec, dir);
                if let Some(warning) = missing_probe(&chosen, at) {
                    problems.push(warning);
                }
                shelf.known.insert(name, chosen);
            } else {
                faults.into_iter().for_each(|fault| problems.push(fault));
            }
        }
        shelf
    }

    /// Folders that any of them needs.
    pub fn readable(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = self
            .known
            .values()
            .filter_map(|chosen| match &chosen.executor {
                Executor::Configured(own) => Some(own.readable.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        all.sort();
        all.dedup();
        all
    }
}

fn faults(name: &str, spec: &ExecutorSpec, map: &Node, at: &Node) -> Vec<Problem> {
    let mut faults = Vec::new();
    let key = map.key_span(&format!("/{name}"));
    if let Some(built_in) = Executor::built_in(name) {
        let message = format!(
            "`{name}` is a name of the built-in executor `{}`",
            built_in.name()
        );
        faults.push(Problem::error(Code::BadFormat, key, message).hint("choose another name"));
    } else if name.is_empty()
        || !name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-+#.".contains(c))
    {
        let message = "an executor's name may contain only letters, digits and `_-+#.`";
        faults.push(Problem::error(Code::BadFormat, key, message));
    }
    if spec.file.contains(['/', '\0']) || matches!(spec.file.as_str(), "." | "..") {
        let message = "`file` must be a name without a folder: each program gets a separate folder";
        faults.push(
            Problem::error(Code::BadPath, at.locate("/file"), message).hint("for example `main.c`"),
        );
    }
    for (key, words) in [("compile", &spec.compile), ("run", &spec.run)] {
        if words
            .first()
            .is_some_and(|program| program.trim().is_empty())
            || words.iter().any(|word| word.contains('\0'))
        {
            let message = format!("`{key}` has no program");
            faults.push(Problem::error(
                Code::BadCommand,
                at.locate(&format!("/{key}")),
                message,
            ));
        }
    }
    if let Some(bad) = spec
        .env
        .keys()
        .find(|name| name.is_empty() || name.contains(['=', '\0']))
    {
        let message = format!("{bad:?} is not a valid name of an environment variable");
        faults.push(Problem::error(Code::BadFormat, at.locate("/env"), message));
    }
    faults
}

/// A compiler that lacks a part fails every program, and only a probe shows that. `probe: ""` is a
/// choice.
fn missing_probe(chosen: &ChosenExecutor, at: &Node) -> Option<Problem> {
    let Executor::Configured(own) = &chosen.executor else {
        return None;
    };
    if own.compile.is_empty() || own.probe.is_some() || at.get("probe").is_some() {
        return None;
    }
    let message = format!(
        "the executor `{}` has a compiler but no probe, so a broken compiler would count as a failure of the code",
        own.name
    );
    let hint =
        "set `probe` to a program that compiles and ends with exit code 0, or set `probe: \"\"`";
    Some(Problem::warning(Code::SuspiciousValue, at.locate("/compile"), message).hint(hint))
}

/// An executor whose spec has no fault; its paths are relative to `dir`.
pub(super) fn chosen(name: String, spec: ExecutorSpec, dir: &Path) -> ChosenExecutor {
    let probe = spec.probe.clone().or_else(|| shipped_probe(&name, &spec));
    let languages = if spec.languages.is_empty() {
        vec![name.clone()]
    } else {
        spec.languages
    };
    let executor = ConfiguredExecutor {
        name,
        file: spec.file,
        compile: spec.compile,
        run: spec.run,
        languages,
        compile_timeout: seconds(spec.compile_timeout_seconds.unwrap_or(COMPILE_TIMEOUT)),
        compile_memory_mb: spec.memory_mb.unwrap_or(0).max(COMPILE_MEMORY_MB),
        env: spec.env,
        compiles_alone: false,
        readable: spec
            .readable
            .iter()
            .map(|path| lexical(&dir.join(path)))
            .collect(),
        probe: probe.filter(|text| !text.trim().is_empty()),
        hint: spec.hint,
    };
    ChosenExecutor {
        executor: Executor::Configured(Box::new(executor)),
        timeout: spec.timeout_seconds.map(seconds),
        memory_mb: spec.memory_mb,
    }
}

/// A program that does nothing, in languages that are known by the file's suffix or their name,
/// where the executor runs it as a program of its own.
fn shipped_probe(name: &str, spec: &ExecutorSpec) -> Option<String> {
    let (stem, suffix) = spec.file.rsplit_once('.').unwrap_or((&spec.file, name));
    let text = match suffix.to_lowercase().as_str() {
        "c" => "int main(void) { return 0; }\n",
        "cc" | "cpp" | "cxx" | "c++" => "int main() { return 0; }\n",
        "rs" | "rust" => "fn main() {}\n",
        // `go test` runs functions, and reports a file without any.
        "go" if stem.ends_with("_test") => return None,
        "go" => "package main\n\nfunc main() {}\n",
        "java" => return java_probe(stem, spec),
        "kt" | "kotlin" => "fun main() {}\n",
        "ts" | "typescript" => "const probe: number = 0;\nexport { probe };\n",
        "js" | "mjs" | "cjs" | "javascript" => "const probe = 0;\n",
        "py" | "python" => "probe = 0\n",
        "sh" | "bash" => "exit 0\n",
        "pl" | "perl" => "exit 0;\n",
        "rb" | "ruby" => "exit 0\n",
        "php" => "<?php\nexit(0);\n",
        "lua" => "os.exit(0)\n",
        "hs" | "haskell" => "main :: IO ()\nmain = return ()\n",
        "ml" | "ocaml" => "let () = ()\n",
        "r" => "quit(status = 0)\n",
        "jl" | "julia" => "exit(0)\n",
        "swift" => "let probe = 0\n",
        _ => return None,
    };
    (runs_alone(spec) && !links_others(spec, suffix)).then(|| text.to_owned())
}

/// `./prog`, or an interpreter with the file: other words may run the file as a part of another
/// program.
fn runs_alone(spec: &ExecutorSpec) -> bool {
    match spec.run.as_slice() {
        [program] => program.starts_with("./"),
        [interpreter, file] => {
            !interpreter.starts_with("./") && file.trim_start_matches("./") == spec.file
        }
        _ => false,
    }
}

/// Whether the compiler is given other sources or objects, which may hold a `main`.
fn links_others(spec: &ExecutorSpec, suffix: &str) -> bool {
    let is_other = |word: &str| {
        let word = word.trim_matches(['\'', '"', ';']);
        word.trim_start_matches("./") != spec.file
            && word
                .rsplit_once('.')
                .is_some_and(|(_, end)| [suffix, "o", "a", "so"].contains(&end))
    };
    spec.compile
        .iter()
        .flat_map(|word| word.split_whitespace())
        .any(is_other)
}

/// The class is the one that is run. Words after it are arguments, which only the program of the
/// file's name is known to do without.
fn java_probe(stem: &str, spec: &ExecutorSpec) -> Option<String> {
    let (program, words) = spec.run.split_first()?;
    if Path::new(program).file_name()? != "java" || links_others(spec, "java") {
        return None;
    }
    let (class, arguments) = java_class(words)?;
    let class = if class == spec.file { stem } else { class };
    let mut letters = class.chars();
    let is_class = letters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_');
    let is_known = arguments == 0 || class == stem;
    (is_class && is_known)
        .then(|| format!("class {class} {{\n    public static void main(String[] args) {{}}\n}}\n"))
}

/// The first word that is no flag, and how many follow it.
fn java_class(words: &[String]) -> Option<(&str, usize)> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "-cp" | "-classpath" | "--class-path" | "-p" | "--module-path" | "--add-modules" => {
                rest.next()?;
            }
            // Another program, which is given the file.
            "-jar" | "-m" | "--module" => return None,
            flag if flag.starts_with('-') => {}
            class => return Some((class, rest.len())),
        }
    }
    None
}

/// What a grader means by `executor:`; `None` after saying that there is no such thing.
pub(crate) fn choose(
    desk: &mut SuiteDesk,
    written: Option<&str>,
    at: Span,
) -> Option<ChosenExecutor> {
    let Some(name) = written else {
        return Some(ChosenExecutor::default());
    };
    if let Some(executor) = Executor::built_in(name) {
        return Some(ChosenExecutor {
            executor,
            ..ChosenExecutor::default()
        });
    }
    let shelf = &desk.suite.executors;
    if let Some(chosen) = shelf.known.get(name) {
        return Some(chosen.clone());
    }
    if let Some(mut chosen) = described(name) {
        // What its runtime needs, or more.
        let suites = desk.demands().limits.memory_mb;
        chosen.memory_mb = chosen.memory_mb.map(|own| own.max(suites));
        return Some(chosen);
    }
    let built_in = Executor::NAMES
        .into_iter()
        .flat_map(|(word, others, _)| others.iter().copied().chain([word]));
    let others = described_languages().iter();
    let others = others.flat_map(|(word, language)| {
        let spellings = language.others.iter().map(String::as_str);
        spellings.chain([word.as_str()])
    });
    let names = built_in
        .chain(others)
        .chain(shelf.known.keys().map(String::as_str));
    let mut words: Vec<&str> = Executor::NAMES.iter().map(|(word, ..)| *word).collect();
    words.extend(described_languages().keys().map(String::as_str));
    let words = words.join(", ");
    let problem = Problem::error(
        Code::UnknownExecutor,
        at,
        format!("unknown executor `{name}`"),
    );
    // Letters in another case are the commonest slip.
    let problem = problem.near(&name.to_lowercase(), names).or_hint(format!(
        "the built-in executors are {words}; define others under `executors:` in the suite"
    ));
    desk.refuse(problem.maybe_warning(shelf.open))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shipped_probe_needs_a_run_of_the_file_alone() {
        let probe = |file: &str, compile: &[&str], run: &[&str]| {
            let spec = json!({"file": file, "compile": compile, "run": run});
            let spec: ExecutorSpec = serde_json::from_value(spec).unwrap();
            shipped_probe("own", &spec)
        };
        let class = |run: &[&str]| {
            let text = probe("Main.java", &["javac", "Main.java"], run)?;
            text.split(' ').nth(1).map(str::to_owned)
        };
        assert_eq!(class(&["java", "Main"]).as_deref(), Some("Main"));
        assert_eq!(class(&["java", "Main", "solve"]).as_deref(), Some("Main"));
        assert_eq!(
            class(&["/opt/bin/java", "-Xss64m", "-cp", "classes", "Solution"]).as_deref(),
            Some("Solution")
        );
        assert_eq!(class(&["java", "Main.java"]).as_deref(), Some("Main"));
        assert_eq!(class(&["java", "Harness", "Main"]), None);
        assert_eq!(class(&["java", "-jar", "junit.jar", "Main"]), None);
        assert_eq!(class(&["java", "org.junit.Runner", "Main"]), None);

        assert!(probe("main.py", &[], &["python3", "main.py"]).is_some());
        assert_eq!(
            probe(
                "test_main.py",
                &[],
                &["python3", "-m", "pytest", "test_main.py"]
            ),
            None
        );
        assert_eq!(probe("main.py", &[], &["python3", "harness.py"]), None);
        assert!(
            probe(
                "main.c",
                &["gcc", "-o", "prog", "./main.c", "-lm"],
                &["./prog"]
            )
            .is_some()
        );
        assert_eq!(
            probe(
                "main.c",
                &["gcc", "-o", "prog", "main.c", "/opt/harness.c"],
                &["./prog"]
            ),
            None
        );
        assert_eq!(
            probe(
                "main.c",
                &["sh", "-c", "gcc main.c /opt/harness.o"],
                &["./prog"]
            ),
            None
        );
        assert_eq!(
            probe("main.c", &["gcc", "main.c"], &["/opt/judge", "./a.out"]),
            None
        );
    }
}
