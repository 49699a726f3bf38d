//! The inputs of cases for the journal, bounded, so that reports can show what a target was given.

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};

use crate::input::request_shown;
use crate::model::limits::{DETAILED_SAMPLES, INPUT_BYTES};
use crate::model::{Case, CaseInput, Eval, InputKind, InputShown, Plan, PromptTemplate, Target};
use crate::target::filled;
use eval_base::files::open_file;
use eval_base::redact::Redactor;

/// Bytes of a text that are looked at: a little more than will be kept, so that it is seen that
/// there is more.
const READ_BYTES: usize = INPUT_BYTES + 8;

/// Bytes of an input file up to which it is shown within its prompt, and not alone.
const MAX_PROMPTED_FILE: u64 = 1 << 20;

/// Shows inputs of a plan's cases, or none of them.
#[derive(Clone, Copy)]
pub(super) struct InputRenderer<'a> {
    /// The project's root; `None` when the journal is to hold none.
    root: Option<&'a Path>,
    redactor: &'a Redactor,
    /// The prompt that replaces the texts of inputs, and the target of cases without their own.
    prompt: Option<(&'a str, Option<&'a Target>)>,
}

impl<'a> InputRenderer<'a> {
    /// Those that reports show: of plans whose samples are listed with all details.
    pub fn of(plan: &'a Plan, samples: usize, redactor: &'a Redactor) -> InputRenderer<'a> {
        let shown = plan.reporting.include_details && samples <= DETAILED_SAMPLES;
        InputRenderer {
            root: shown.then_some(plan.suite.root.as_path()),
            redactor,
            prompt: plan
                .prompt
                .as_deref()
                .map(|name| (name, plan.target.as_ref())),
        }
    }

    pub fn are_kept(self) -> bool {
        self.root.is_some()
    }

    pub fn show(self, eval: &Eval, case: &Case) -> Option<Box<InputShown>> {
        let root = self.root?;
        let under = self.prompt.and_then(|(name, target)| {
            let is_recorded = matches!(
                case.target.as_ref().or(target),
                Some(Target::Recorded { .. })
            );
            let prompt = eval.prompts.get(name).filter(|_| !is_recorded)?;
            under_prompt(prompt, &case.input)
        });
        let input = under.as_ref().unwrap_or(&case.input);
        Some(Box::new(shown(input, root, self.redactor)))
    }
}

/// The input as the target gets it. A prompt that can't be filled is reported by its samples.
fn under_prompt(prompt: &PromptTemplate, input: &CaseInput) -> Option<CaseInput> {
    let (text, context) = match input {
        CaseInput::Prompt { text, context } => (text.clone(), context.clone()),
        CaseInput::Data {
            value: Value::String(text),
        } => (text.clone(), None),
        CaseInput::File { path, context } => {
            let file = open_file(path).ok()?;
            if file.metadata().ok()?.len() > MAX_PROMPTED_FILE {
                return None;
            }
            (std::io::read_to_string(file).ok()?, context.clone())
        }
        _ => return None,
    };
    let text = filled(prompt, text, context.as_ref()).ok()?;
    Some(CaseInput::Prompt { text, context })
}

/// Secrets go before anything is cut: half of one is not found any more.
fn shown(input: &CaseInput, root: &Path, redactor: &Redactor) -> InputShown {
    let bounded = |kind, mut value: Value, path, mut context: Option<Value>| {
        std::iter::once(&mut value)
            .chain(&mut context)
            .for_each(|value| redactor.redact_value(value));
        InputShown::bounded(kind, value, path, context)
    };
    match input {
        CaseInput::Prompt { text, context } => bounded(
            InputKind::Prompt,
            beginning(text, redactor),
            None,
            something(context),
        ),
        CaseInput::File { path, context } => {
            let (text, whole) = read(path, redactor);
            let place = Some(place(path, root));
            let mut shown = bounded(InputKind::File, text, place, something(context));
            shown.truncated |= !whole;
            shown
        }
        CaseInput::ApiCall {
            method,
            endpoint,
            headers,
            body,
        } => {
            let mut request = request_shown(method, endpoint, headers, body);
            if let (Some(fields), None) = (request.as_object_mut(), body) {
                fields.remove("body");
            }
            bounded(InputKind::ApiCall, request, None, None)
        }
        CaseInput::Messages { messages, context } => bounded(
            InputKind::Messages,
            json!(messages),
            None,
            something(context),
        ),
        CaseInput::Data { value } => bounded(InputKind::Data, value.clone(), None, None),
    }
}

/// A text, or a little more than will be kept of it: what is cut off must not be copied first.
fn beginning(text: &str, redactor: &Redactor) -> Value {
    match text.get(..text.floor_char_boundary(READ_BYTES)) {
        Some(kept) if kept.len() < text.len() => redactor.without_begun(kept).into(),
        _ => text.into(),
    }
}

/// An empty context says nothing.
fn something(context: &Option<Value>) -> Option<Value> {
    context.clone().filter(|context| match context {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    })
}

/// The beginning of a file, a little more than will be kept, and whether that is all of it; nothing
/// of one that can't be read, which its samples say.
fn read(path: &Path, redactor: &Redactor) -> (Value, bool) {
    let mut bytes = Vec::new();
    let read =
        open_file(path).and_then(|file| file.take(READ_BYTES as u64).read_to_end(&mut bytes));
    if read.is_err() {
        return (Value::Null, false);
    }
    let whole = bytes.len() < READ_BYTES;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text.to_owned(),
        // A character that was cut in two, at the end of what was read.
        Err(error) if error.error_len().is_none() && !whole => {
            String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default())
                .into_owned()
        }
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let kept = if whole {
        text.as_str()
    } else {
        redactor.without_begun(&text)
    };
    (kept.into(), whole)
}

fn place(path: &Path, root: &Path) -> String {
    let parts: Vec<String> = match path.strip_prefix(root) {
        Ok(below) => below
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect(),
        Err(_) => return path.display().to_string(),
    };
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_shown_without_what_authorises_it() {
        let headers = [("Authorization", "Bearer abcdef"), ("Accept", "text/plain")];
        let input = CaseInput::ApiCall {
            method: "POST".into(),
            endpoint: "/users?api_key=abcdef&page=2".into(),
            headers: headers
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            body: Some(json!({"n": 1}).into()),
        };
        let shown = shown(&input, Path::new("/p"), &Redactor::default());
        assert_eq!(
            serde_json::to_string(&shown).unwrap(),
            r#"{"type":"api_call","value":{"body":{"n":1},"endpoint":"/users?api_key=&page=2","#
                .to_owned()
                + r#""headers":{"Accept":"text/plain","Authorization":"[redacted]"},"method":"POST"}}"#
        );
    }

    #[test]
    fn a_file_is_shown_as_its_text_with_its_place_in_the_project() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("docs")).unwrap();
        let path = dir.path().join("docs/a.txt");
        let say = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            shown(
                &CaseInput::File {
                    path: path.clone(),
                    context: Some(json!({})),
                },
                dir.path(),
                &Redactor::default(),
            )
        };
        let small = say("naïve".as_bytes());
        assert_eq!(
            serde_json::to_string(&small).unwrap(),
            r#"{"type":"file","value":"naïve","path":"docs/a.txt"}"#
        );
        let large = say("é".repeat(INPUT_BYTES).as_bytes());
        assert!(large.truncated && large.value == "é".repeat(INPUT_BYTES / 2));
        assert_eq!(say(b"a\xffb").value, "a\u{fffd}b");
        std::fs::remove_file(&path).unwrap();
        let gone = shown(
            &CaseInput::File {
                path: path.clone(),
                context: None,
            },
            dir.path(),
            &Redactor::default(),
        );
        assert!(gone.truncated && gone.value == Value::Null);
        assert_eq!(
            place(Path::new("/else/where.txt"), dir.path()),
            "/else/where.txt"
        );
    }

    #[test]
    fn a_long_prompt_is_cut_and_says_so() {
        let input = CaseInput::Prompt {
            text: "é".repeat(INPUT_BYTES),
            context: None,
        };
        let shown = shown(&input, Path::new("/"), &Redactor::default());
        assert!(shown.truncated);
        assert_eq!(shown.bytes(), INPUT_BYTES);
    }

    #[test]
    fn a_secret_at_a_cut_leaves_nothing_behind() {
        let secret = "hunter2-hunter2-hunter2";
        let redactor = Redactor::new([secret.to_owned()]);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        // Wherever the cut falls within it, and where others before it have become shorter.
        for before in (INPUT_BYTES - 2 * secret.len()..INPUT_BYTES + 16).step_by(3) {
            let text = format!(
                "{}{}{secret} and more",
                secret.repeat(100),
                "x".repeat(before - 100 * secret.len())
            );
            std::fs::write(&path, &text).unwrap();
            let data = json!([{"text": text.clone(), "zeal": "y".repeat(INPUT_BYTES)}]);
            for input in [
                CaseInput::Prompt {
                    text: text.clone(),
                    context: None,
                },
                CaseInput::Prompt {
                    text: "p".repeat(INPUT_BYTES),
                    context: Some(data.clone()),
                },
                CaseInput::File {
                    path: path.clone(),
                    context: None,
                },
                CaseInput::Data { value: data },
            ] {
                let shown = serde_json::to_string(&shown(&input, dir.path(), &redactor)).unwrap();
                assert!(
                    shown.contains("[redacted][redacted]") && !shown.contains("hun"),
                    "{before}: {shown}"
                );
            }
        }
    }
}
