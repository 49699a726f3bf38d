//! Tests that are a part of the answer's own program, in any language: text before the answer, the
//! answer, text behind it. The last statement behind the tests prints a secret, which only a
//! program that ran to its end prints (the code shares the process and could forge it).

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};

use super::METHOD;
use super::stdio::{StdioProgram, judge_ending, prepare};
use crate::graders::programs::{TestBench, sandbox_limits, source, with_refused_call};
use crate::graders::show::bounded_text;
use crate::model::{Cause, CodeExecution, Grade, GraderType, OutputValue, StdioCase, Trust};
use eval_sandbox::ProgramEnding;

/// The environment variable with the secret; programs in node get it as their first argument.
pub(crate) const END_VARIABLE: &str = "END_OF_TESTS";

/// What stands around an answer. The text before it is the grader's `prefix`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramTests {
    /// An answer that continues the prefix ends before the first of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// A regular expression over a line that begins the definition of the function; empty for an
    /// answer that is always put between the prefix and the suffix.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// A regular expression over lines of the prefix that a program of the answer's own keeps even
    /// if it has the whole file: imports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub imports: String,
    /// A regular expression over lines that an answer must not repeat, such as `package main`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub once: String,
    /// A regular expression over a line that opens the class around the function.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// Closes a function that the answer leaves open.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub close: String,
    /// Closes the class around the function, unless the answer has the class.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub close_class: String,
    /// Whether the text behind the answer closes the class.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open_class: bool,
    /// The tests, then the statement that prints the secret.
    pub suffix: String,
    /// Files beside the program: relative path, text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// A package that the task needs and that can't be had here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// Where a suffix wants the answer.
fn place() -> Option<&'static Regex> {
    static PLACE: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = r"\{\{\s*answer\s*(\|\s*tojson\s*)?\}\}";
    PLACE.get_or_init(|| Regex::new(pattern).ok()).as_ref()
}

/// A placeholder that names the answer and is not supported.
pub(super) fn wrong_place(suffix: &str) -> Option<&str> {
    let any = Regex::new(r"\{\{[^{}]*\banswers?\b[^{}]*\}\}").ok()?;
    let found = any.find_iter(suffix).map(|found| found.as_str());
    let mut wrong = found.filter(|text| place().is_some_and(|place| !place.is_match(text)));
    wrong.next()
}

/// Code followed by a text, or in the places that the text gives it.
pub(super) fn with_suffix(code: String, suffix: &str) -> String {
    match place() {
        Some(place) if place.is_match(suffix) => place
            .replace_all(suffix, |found: &Captures<'_>| match found.get(1) {
                Some(_) => serde_json::Value::from(code.as_str()).to_string(),
                None => code.clone(),
            })
            .into_owned(),
        _ => joined([code.as_str(), suffix]),
    }
}

/// Texts one below the other, without those that are empty.
fn joined<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut whole = String::new();
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(text);
    }
    whole
}

/// The prefix, the answer's code, the set-up and the tests.
pub(super) fn plain_program(
    value: &OutputValue,
    grader: &CodeExecution,
    tests: &ProgramTests,
) -> Result<String, String> {
    let mut code = source(value, &grader.executor, "", grader.entry_point.as_deref())?;
    if !tests.once.is_empty() {
        let once = pattern(&tests.once)?;
        let kept = code.lines().filter(|line| !once.is_match(line));
        code = kept.collect::<Vec<_>>().join("\n");
    }
    let prefix = grader.prefix.as_str();
    let has_prefix = !prefix.trim().is_empty() && code.starts_with(prefix.trim_end());
    let prefix = if has_prefix { "" } else { prefix };
    Ok(joined([prefix, &code, &grader.setup, &tests.suffix]))
}

/// The whole program of an answer, or why there is none.
pub(super) fn program(
    value: &OutputValue,
    grader: &CodeExecution,
    tests: &ProgramTests,
) -> Result<String, String> {
    let definition = pattern(&tests.definition)?;
    let code = source(value, &grader.executor, "", grader.entry_point.as_deref())?;
    let first = code.lines().find(|line| !line.trim().is_empty());
    let continues = !fenced(value) && first.is_some_and(|line| line.starts_with([' ', '\t']));
    let is_whole = matches!(value, OutputValue::Program(_))
        || (!continues && code.lines().any(|line| definition.is_match(line)));
    let prefix = &grader.prefix;
    let text = if is_whole {
        whole(&code, prefix, tests, &definition)?
    } else {
        let end = tests
            .stop
            .iter()
            .filter_map(|stop| code.find(stop.as_str()));
        let body = end.min().and_then(|end| code.get(..end)).unwrap_or(&code);
        format!("{prefix}{body}\n{}", tests.close)
    };
    Ok(format!("{text}\n{}", tests.suffix))
}

fn fenced(value: &OutputValue) -> bool {
    match value {
        OutputValue::Text(text) => text.lines().any(|line| line.starts_with("```")),
        _ => false,
    }
}

/// A program that defines the function itself, behind what the prefix has before the function.
fn whole(
    code: &str,
    prefix: &str,
    tests: &ProgramTests,
    definition: &Regex,
) -> Result<String, String> {
    let imports = pattern(&tests.imports)?;
    let has_class = !tests.class.is_empty() && {
        let class = pattern(&tests.class)?;
        code.lines().any(|line| class.is_match(line))
    };
    let before: Vec<&str> = {
        let lines: Vec<&str> = prefix.lines().collect();
        let at = lines.iter().rposition(|line| definition.is_match(line));
        lines.into_iter().take(at.unwrap_or(usize::MAX)).collect()
    };
    let kept = before
        .iter()
        .filter(|line| !has_class || imports.is_match(line));
    let head: Vec<&str> = kept.copied().collect();
    let once = match tests.once.as_str() {
        "" => None,
        text => Some(pattern(text)?),
    };
    let repeated = |line: &&str| {
        let bare = line.trim();
        once.as_ref().is_some_and(|once| once.is_match(bare))
            || (imports.is_match(line)
                && before.iter().any(|known| imported(known) == imported(line)))
    };
    let body: Vec<&str> = code.lines().filter(|line| !repeated(line)).collect();
    let mut body = body.join("\n");
    if has_class && tests.open_class {
        // The tests continue the class.
        if let Some(end) = body.rfind('}') {
            body.truncate(end);
        }
    }
    let close = if has_class { "" } else { &tests.close_class };
    Ok(format!("{}\n{body}\n{close}", head.join("\n")))
}

/// What a line imports; Go writes some with the keyword and some in a block.
fn imported(line: &str) -> &str {
    let bare = line.trim();
    bare.strip_prefix("import \"")
        .map_or(bare, |_| bare.trim_start_matches("import "))
}

fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| format!("internal error: invalid pattern: {error}"))
}

pub(super) async fn grade(
    grader: &CodeExecution,
    tests: &ProgramTests,
    code: String,
    bench: &TestBench<'_>,
) -> Grade {
    if let Some(package) = &tests.missing {
        let why = format!("the task needs {package}, which is not available here");
        return Grade::errored(GraderType::Code, METHOD, Cause::ExecutorMissing, why);
    }
    let files = tests.files.iter();
    let files = files.map(|(path, text)| (path.clone(), text.clone().into_bytes()));
    let ready = prepare(grader, code, files.collect(), bench.programs()).await;
    let ready: StdioProgram = match ready {
        Ok(ready) => ready,
        Err(grade) => return (*grade).with_trust(Trust::InProcess),
    };
    let secret = format!("{:016x}{:016x}", random(), random());
    let case = StdioCase {
        args: match grader.executor.is_node() {
            true => vec![secret.clone()],
            false => Vec::new(),
        },
        ..StdioCase::default()
    };
    let variable = [(END_VARIABLE.to_owned(), secret.clone())];
    let limits = sandbox_limits(&grader.limits);
    let result = match ready
        .run_with(&case, &variable, limits, bench.sandbox)
        .await
    {
        Ok(result) => result,
        Err(error) => return ready.not_run(&error),
    };
    let stdout = String::from_utf8_lossy(&result.streams.stdout);
    let ended = stdout.lines().any(|line| line.trim() == secret);
    let stdout = stdout.replace(&secret, "");
    let grade = match judge_ending(grader, &case, &result) {
        Ok(()) if ended => Grade::passed(GraderType::Code, METHOD),
        Ok(()) if result.streams.stdout_truncated => {
            let why = "the program wrote more than is kept, so the end of its tests is not known";
            Grade::failed(GraderType::Code, METHOD, Cause::OutputLimit, why)
        }
        Ok(()) => {
            let why = "the program ended with exit code 0 before its tests were through";
            Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, why)
        }
        Err((cause, why)) => Grade::failed(GraderType::Code, METHOD, cause, why),
    };
    let stderr = String::from_utf8_lossy(&result.streams.stderr);
    let grade = match (&result.ending, stdout.trim()) {
        (_, "") => grade,
        (ProgramEnding::Exited(0), _) if ended => grade,
        (_, said) => grade.with_detail("stdout", bounded_text(said)),
    };
    let grade = match stderr.trim() {
        "" => grade,
        said => grade.with_detail("stderr", bounded_text(said)),
    };
    with_refused_call(grade, result.streams.refused_call)
        .with_trust(Trust::InProcess)
        .with_adjudicated(result.adjudicated)
        .with_peak(result.streams.peak_kib)
}

/// Keys of a hash map are random in each process and differ from each other.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
