//! From a target's output to what is graded, in the steps that the author named.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json_path::JsonPath;

use crate::model::{ExtractMethod, JsonMode, OutputValue, Which};
use eval_base::json::is_deeper;
use eval_base::unique_keys::JsonShape;
use eval_match::MAX_DEPTH;

use super::grader_process::TaskFailure;
use crate::graders::output::{as_json, as_text};
use crate::graders::patterns::PatternCache;
use crate::graders::programs::{fences, of_language};

/// Why a step gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ExtractFailure {
    /// The output has no such thing: it fails. `code` when code was asked for.
    Absent { what: String, code: bool },
    /// The step itself is broken: it can't judge any output.
    Broken(String),
    /// The search took more work than it may.
    GivenUp(String),
    /// The grader process gave no answer.
    #[serde(skip)]
    Unfinished(TaskFailure),
}

/// Runs the steps, each on what the one before it gave.
pub(super) fn extract(
    steps: &[ExtractMethod],
    value: &OutputValue,
    patterns: &PatternCache,
) -> Result<OutputValue, ExtractFailure> {
    steps
        .iter()
        .try_fold(value.clone(), |value, step| one(step, value, patterns))
}

fn one(
    step: &ExtractMethod,
    value: OutputValue,
    patterns: &PatternCache,
) -> Result<OutputValue, ExtractFailure> {
    // Whether the text is a whole program stays true of what is cut from it.
    let text_like = |text: String| match &value {
        OutputValue::Program(_) => OutputValue::Program(text),
        _ => OutputValue::Text(text),
    };
    match step {
        ExtractMethod::Trim => Ok(text_like(as_text(&value).trim().to_owned())),
        ExtractMethod::CodeBlock { language, which } => {
            let blocks = fences(&as_text(&value));
            let blocks = of_language(&blocks, language.as_deref());
            match pick(&blocks, *which) {
                Some(block) => Ok(text_like(block.content.clone())),
                None => {
                    let of = language
                        .as_ref()
                        .map(|l| format!(" of {l}"))
                        .unwrap_or_default();
                    Err(ExtractFailure::Absent {
                        what: format!("no code block{of}"),
                        code: true,
                    })
                }
            }
        }
        ExtractMethod::Json { mode } => match &value {
            OutputValue::Json(value) if !value.is_string() => Ok(OutputValue::Json(value.clone())),
            _ => json(&as_text(&value), *mode).map(OutputValue::Json),
        },
        ExtractMethod::Regex {
            pattern,
            flags,
            group,
            which,
        } => {
            let compiled = patterns
                .get(pattern, *flags)
                .map_err(ExtractFailure::Broken)?;
            let text = as_text(&value);
            let mut found = None;
            for hit in compiled.find_all(&text) {
                let hit = hit.map_err(|error| {
                    ExtractFailure::Broken(format!("the pattern `{pattern}` gave up: {error}"))
                })?;
                if let Some(text) = hit.group(group) {
                    found = Some(text.to_owned());
                    if *which == Which::First {
                        break;
                    }
                }
            }
            found.map(text_like).ok_or_else(|| ExtractFailure::Absent {
                what: format!("no match of `{pattern}`"),
                code: false,
            })
        }
        ExtractMethod::JsonPath { path } => json_path(path, &value),
        ExtractMethod::AfterLast { marker } => match as_text(&value).rsplit_once(marker.as_str()) {
            Some((_, after)) => Ok(text_like(after.to_owned())),
            None => Err(ExtractFailure::Absent {
                what: format!("no `{marker}`"),
                code: false,
            }),
        },
    }
}

fn pick<T: Copy>(all: &[T], which: Which) -> Option<T> {
    match which {
        Which::First => all.first().copied(),
        Which::Last => all.last().copied(),
    }
}

fn json(text: &str, mode: JsonMode) -> Result<Value, ExtractFailure> {
    let found = match mode {
        JsonMode::Whole => whole_value(text),
        JsonMode::Fenced => fenced_value(text),
        JsonMode::Embedded => embedded_value(text),
        JsonMode::Any => [whole_value, fenced_value, embedded_value]
            .into_iter()
            .find_map(|search| search(text).transpose())
            .transpose(),
    };
    found?.ok_or_else(|| {
        let what = match mode {
            JsonMode::Any => "no JSON",
            JsonMode::Whole => "something other than one JSON value",
            JsonMode::Fenced => "no JSON in a code block",
            JsonMode::Embedded => "no JSON object or array",
        };
        ExtractFailure::Absent {
            what: what.to_owned(),
            code: false,
        }
    })
}

/// A JSON text as a value; `None` when it is not JSON. A repeated key is an error: readers disagree
/// on which value counts. So is nesting that no comparison reads, and that the journal could not
/// read again.
fn value_of(text: &str) -> Result<Option<Value>, ExtractFailure> {
    let Ok(value) = serde_json::from_str(text) else {
        return Ok(None);
    };
    if is_deeper(&value, MAX_DEPTH) {
        return Err(too_deep());
    }
    match serde_json::from_str::<JsonShape>(text) {
        Ok(_) => Ok(Some(value)),
        Err(error) => Err(ExtractFailure::Absent {
            what: format!("ambiguous JSON ({error})"),
            code: false,
        }),
    }
}

fn too_deep() -> ExtractFailure {
    ExtractFailure::Absent {
        what: format!("JSON that is nested more than {MAX_DEPTH} deep"),
        code: false,
    }
}

fn whole_value(text: &str) -> Result<Option<Value>, ExtractFailure> {
    value_of(text.trim_start_matches('\u{feff}'))
}

/// The last code block that is JSON.
fn fenced_value(text: &str) -> Result<Option<Value>, ExtractFailure> {
    let blocks = fences(text);
    let blocks = of_language(&blocks, Some("json"));
    blocks
        .iter()
        .rev()
        .find_map(|block| value_of(&block.content).transpose())
        .transpose()
}

/// The last object or array that is complete in a text. Bare numbers and words of a sentence are
/// not JSON.
///
/// Each try reads from a bracket to where the text stops being JSON. A text of many brackets that
/// nothing closes would be read once for each level that the parser allows (128), so all tries that
/// find nothing share [`tries`] bytes.
fn embedded_value(text: &str) -> Result<Option<Value>, ExtractFailure> {
    embedded_within(text, tries(text))
}

fn embedded_within(text: &str, mut left: usize) -> Result<Option<Value>, ExtractFailure> {
    let Some(last_close) = text.rfind([']', '}']) else {
        return Ok(None);
    };
    let mut found = None;
    let mut after = 0;
    for (start, _) in text
        .match_indices(['{', '['])
        .take_while(|(start, _)| *start < last_close)
    {
        if start < after {
            continue;
        }
        let here = text.get(start..).unwrap_or_default();
        // As values, although most are thrown away: only values have a bounded depth.
        let mut stream = serde_json::Deserializer::from_str(here).into_iter::<Value>();
        match stream.next() {
            Some(Ok(_)) => {
                let end = start + stream.byte_offset();
                found = Some((start, end));
                after = end;
            }
            Some(Err(error)) => {
                left = left
                    .checked_sub(read_before(&error, here))
                    .ok_or_else(|| search_ended(text))?;
            }
            None => {}
        }
    }
    match found.and_then(|(start, end)| text.get(start..end)) {
        Some(json) => value_of(json),
        None => Ok(None),
    }
}

/// Bytes that the tries of a search for JSON may read. A text of up to 64 KiB can't need more: its
/// bytes are read once for each of the 128 levels that the parser allows, and at most as often
/// again where brackets are in strings.
fn tries(text: &str) -> usize {
    text.len().saturating_mul(4).saturating_add(16 << 20)
}

/// Bytes that a parser read before its error.
fn read_before(error: &serde_json::Error, text: &str) -> usize {
    let lines = error.line().saturating_sub(1);
    let before: usize = text.split_inclusive('\n').take(lines).map(str::len).sum();
    before + error.column()
}

fn search_ended(text: &str) -> ExtractFailure {
    ExtractFailure::GivenUp(format!(
        "the search for JSON in the output was given up after reading {} bytes behind brackets that no JSON follows; narrow it \
         with `after_last`, `code` or `{{json: fenced}}`",
        tries(text)
    ))
}

/// A path that can name one place only gives its value; any other gives the array of what it names,
/// also of one.
fn json_path(path: &str, value: &OutputValue) -> Result<OutputValue, ExtractFailure> {
    let compiled = JsonPath::parse(path)
        .map_err(|error| ExtractFailure::Broken(format!("the path `{path}`: {error}")))?;
    let document = as_json(value).map_err(|error| ExtractFailure::Absent {
        what: format!("no JSON for the path `{path}` ({error})"),
        code: false,
    })?;
    let found = compiled.query(&document).all();
    let value = match found.as_slice() {
        [] => {
            return Err(ExtractFailure::Absent {
                what: format!("nothing at `{path}`"),
                code: false,
            });
        }
        [one] if names_one_place(path) => (*one).clone(),
        all => Value::Array(all.iter().map(|value| (*value).clone()).collect()),
    };
    match value {
        Value::String(text) => Ok(OutputValue::Text(text)),
        // An array of what is found is one level deeper than the output, and may be more than can
        // be read again.
        value if is_deeper(&value, MAX_DEPTH) => Err(too_deep()),
        value => Ok(OutputValue::Json(value)),
    }
}

pub(super) fn names_one_place(path: &str) -> bool {
    let mut quote = None;
    let mut escaped = false;
    let mut before = ' ';
    for c in path.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if matches!(c, '*' | '?' | ':' | ',') || (c == '.' && before == '.') => {
                return false;
            }
            None => {}
        }
        before = c;
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::RegexFlags;

    fn run(step: ExtractMethod, text: &str) -> String {
        match extract(
            &[step],
            &OutputValue::Text(text.into()),
            &PatternCache::default(),
        ) {
            Ok(OutputValue::Text(text)) => format!("text {text:?}"),
            Ok(OutputValue::Json(value)) => format!("json {value}"),
            Ok(OutputValue::Program(text)) => format!("program {text:?}"),
            Err(ExtractFailure::Absent { what, code }) => {
                format!("absent{} {what}", if code { " (code)" } else { "" })
            }
            Err(ExtractFailure::Broken(why)) => format!("broken {why}"),
            Err(ExtractFailure::GivenUp(why)) => format!("given up {why}"),
            Err(ExtractFailure::Unfinished(why)) => format!("{why:?}"),
        }
    }

    fn block(language: Option<&str>, which: Which) -> ExtractMethod {
        ExtractMethod::CodeBlock {
            language: language.map(str::to_owned),
            which,
        }
    }

    #[test]
    fn code_blocks_by_language_and_place() {
        let text = "a\n```py\none\n```\nb\n```python\ntwo\n```\n```bash\nls\n```";
        assert_eq!(
            run(block(Some("python"), Which::First), text),
            r#"text "one\n""#
        );
        assert_eq!(
            run(block(Some("python3"), Which::Last), text),
            r#"text "two\n""#
        );
        assert_eq!(run(block(None, Which::Last), text), r#"text "ls\n""#);
        assert_eq!(
            run(block(Some("rust"), Which::Last), text),
            "absent (code) no code block of rust"
        );
        assert_eq!(
            run(block(None, Which::Last), "none"),
            "absent (code) no code block"
        );
    }

    #[test]
    fn json_whole_fenced_and_embedded() {
        let json = |mode, text: &str| run(ExtractMethod::Json { mode }, text);
        assert_eq!(json(JsonMode::Whole, " {\"a\": 1.0} "), "json {\"a\":1.0}");
        assert_eq!(
            json(JsonMode::Whole, "x {}"),
            "absent something other than one JSON value"
        );
        assert_eq!(
            json(JsonMode::Fenced, "```json\n[1]\n```\n```json\nbad\n```"),
            "json [1]"
        );
        assert_eq!(
            json(JsonMode::Fenced, "[1]"),
            "absent no JSON in a code block"
        );
        assert_eq!(
            json(
                JsonMode::Embedded,
                "so {x} {\"a\": [1, {\"b\": 2}]} then [3] and {\"open\": "
            ),
            "json [3]"
        );
        assert_eq!(
            json(JsonMode::Embedded, "the answer is 42"),
            "absent no JSON object or array"
        );
        assert_eq!(json(JsonMode::Any, "42"), "json 42");
        assert_eq!(
            json(
                JsonMode::Any,
                "I think {\"a\": 265252859812191058636308480000000}."
            ),
            "json {\"a\":265252859812191058636308480000000}"
        );
        assert_eq!(json(JsonMode::Any, "no"), "absent no JSON");
    }

    #[test]
    fn brackets_without_end_are_not_tried() {
        assert_eq!(embedded_value(&"[".repeat(200_000)), Ok(None));
        assert_eq!(embedded_value(&"{\"a\":".repeat(50_000)), Ok(None));
        assert_eq!(
            embedded_value(&format!("{}{}", "[".repeat(2_000), "]")),
            Ok(Some(json!([])))
        );
    }

    #[test]
    fn search_beyond_its_budget_is_given_up_not_absent() {
        let nested = |levels: usize, bytes: usize| {
            format!("{}{}x ]", "[1,".repeat(levels), "1,".repeat(bytes / 2))
        };
        let gives_up = |text: &str| {
            matches!(
                embedded_within(text, 4 * text.len() + (1 << 20)),
                Err(ExtractFailure::GivenUp(_))
            )
        };
        for hostile in [
            nested(120, 1 << 17),
            format!("{} {{\"a\": 1}}", nested(120, 1 << 17)),
            format!("{}{}x ]", "[[],".repeat(100), "[],".repeat(1 << 16)),
            format!("{}1]", "{\"a\":[".repeat(1 << 14)),
            format!("{}{}x ]", "[\n1,".repeat(120), "1,\n".repeat(1 << 16)),
        ] {
            assert!(gives_up(&hostile), "{}", &hostile[..20]);
        }
        // What fails early, or little, costs little.
        assert_eq!(
            embedded_value(&format!("{}[1]", "[note] ".repeat(1 << 16))),
            Ok(Some(json!([1])))
        );
        assert_eq!(
            embedded_value(&format!("{}[1]", nested(120, 4_000))),
            Ok(Some(json!([1])))
        );
        // Each of 64 KiB, once for each of 128 levels, inside and outside of strings.
        assert!(tries("") >= 2 * 128 * (64 << 10));
        let Err(ExtractFailure::GivenUp(why)) = embedded_within(&nested(120, 1 << 17), 1 << 20)
        else {
            panic!("it went on")
        };
        assert!(
            why.starts_with("the search for JSON in the output was given up after reading "),
            "{why}"
        );
    }

    #[test]
    fn deep_json_is_not_found() {
        for text in [
            format!("{}1{}", "[".repeat(101), "]".repeat(101)),
            format!("so {}1{}", "[".repeat(3_000), "]".repeat(3_000)),
            format!("{}1{}", r#"{"a":"#.repeat(120), "}".repeat(120)),
        ] {
            let why = run(
                ExtractMethod::Json {
                    mode: JsonMode::Any,
                },
                &text,
            );
            assert_eq!(why, "absent JSON that is nested more than 100 deep");
        }
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(
            run(
                ExtractMethod::Json {
                    mode: JsonMode::Any
                },
                &deep
            )
            .starts_with("json [[")
        );
    }

    #[test]
    fn repeated_keys_are_ambiguous_wherever_json_is_found() {
        let twice = r#"{"a": 2, "a": 1}"#;
        let why = |mode, text: &str| run(ExtractMethod::Json { mode }, text);
        for (mode, text) in [
            (JsonMode::Any, twice.to_owned()),
            (JsonMode::Whole, format!("[{twice}]")),
            (JsonMode::Fenced, format!("```json\n{twice}\n```")),
            (
                JsonMode::Embedded,
                format!("first {{\"a\": 1}} then {twice}."),
            ),
            (JsonMode::Any, format!("It is {twice}.")),
            (
                JsonMode::Whole,
                r#"{"b": {"a": 1, "\u0061": 2}}"#.to_owned(),
            ),
        ] {
            let why = why(mode, &text);
            assert!(
                why.starts_with("absent ambiguous JSON (the key `a` is there twice"),
                "{text}: {why}"
            );
        }
        let path = run(ExtractMethod::JsonPath { path: "$.a".into() }, twice);
        assert!(
            path.starts_with("absent no JSON for the path `$.a` (the key `a` is there twice"),
            "{path}"
        );
        assert_eq!(
            why(JsonMode::Embedded, &format!("{twice} then {{\"b\": 1}}")),
            r#"json {"b":1}"#
        );
    }

    #[test]
    fn a_long_list_is_found_whole() {
        let list = format!("[{}]", vec!["{}"; 30_000].join(","));
        let found = embedded_value(&format!("Here it is: {list} (done)"));
        assert_eq!(
            found
                .ok()
                .flatten()
                .and_then(|list| list.as_array().map(Vec::len)),
            Some(30_000)
        );
    }

    #[test]
    fn regex_groups() {
        let regex = |pattern: &str, group: &str, which| ExtractMethod::Regex {
            pattern: pattern.into(),
            flags: RegexFlags::default(),
            group: group.into(),
            which,
        };
        let text = "answer: 1\nanswer: 2\n";
        assert_eq!(
            run(regex(r"answer: (\d)", "1", Which::First), text),
            "text \"1\""
        );
        assert_eq!(
            run(regex(r"answer: (?P<n>\d)", "n", Which::Last), text),
            "text \"2\""
        );
        assert_eq!(
            run(regex("nope", "0", Which::Last), text),
            "absent no match of `nope`"
        );
        assert_eq!(
            run(regex("a|(b)", "1", Which::Last), "a"),
            "absent no match of `a|(b)`"
        );
        assert!(run(regex("(", "0", Which::Last), text).starts_with("broken the pattern `(`"));
    }

    #[test]
    fn json_paths_give_a_value_or_all_values() {
        let path =
            |path: &str, text: &str| run(ExtractMethod::JsonPath { path: path.into() }, text);
        let doc = r#"{"a": {"b": "x"}, "list": [{"n": 1}], "k,*": 5}"#;
        assert_eq!(path("$.a.b", doc), "text \"x\"");
        assert_eq!(path("$.list[*].n", doc), "json [1]");
        assert_eq!(path("$.list[0].n", doc), "json 1");
        assert_eq!(path("$['k,*']", doc), "json 5");
        assert_eq!(path("$.none", doc), "absent nothing at `$.none`");
        assert!(path("$.a", "text").starts_with("absent no JSON for the path `$.a`"));
        assert!(path("$[", doc).starts_with("broken the path `$[`"));
    }

    #[test]
    fn steps_follow_each_other_and_a_program_stays_one() {
        let steps = [
            ExtractMethod::AfterLast {
                marker: "####".into(),
            },
            ExtractMethod::Trim,
        ];
        let value = OutputValue::Text("#### 1\nso #### 42 \n".into());
        assert_eq!(
            extract(&steps, &value, &PatternCache::default()),
            Ok(OutputValue::Text("42".into()))
        );
        let program = OutputValue::Program(" x ".into());
        assert_eq!(
            extract(&[ExtractMethod::Trim], &program, &PatternCache::default()),
            Ok(OutputValue::Program("x".into()))
        );
        let value = OutputValue::Json(json!({"a": 1}));
        assert_eq!(
            extract(
                &[ExtractMethod::Json {
                    mode: JsonMode::Any
                }],
                &value,
                &PatternCache::default()
            ),
            Ok(value)
        );
        assert_eq!(
            run(
                ExtractMethod::AfterLast {
                    marker: "@@".into()
                },
                "x"
            ),
            "absent no `@@`"
        );
    }
}
