//! What a target is given, and the steps from its output to what is graded.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::models;
use super::problem::{Code, Problem};
use super::refs::existing_file;
use super::scope::SuiteDesk;
use super::targets;
use super::template::{TemplateEngine, is_template};
use super::tree::Node;
use crate::graders::regex_flags;
use crate::model::{
    CaseGrading, CaseInput, CaseWorkspace, ExtractMethod, Fingerprint, JsonMode, Which,
};
use crate::spec::{
    ApiCallInput, ExtractSpec, ExtractStep, ExtractWord, InputRef, InputSpec, NameOr,
    RegressionInput,
};
use eval_base::percent;
use eval_match::CompiledPattern;

/// A case's input; paths are checked.
pub(super) fn input(desk: &mut SuiteDesk, spec: InputRef, node: &Node) -> Option<CaseInput> {
    match spec {
        NameOr::Name(text) => prompt(desk, text, None, node),
        NameOr::Inline(InputSpec::Prompt(p)) => prompt(desk, p.content, p.context, node),
        NameOr::Inline(InputSpec::File(f)) => {
            let at = node.locate("/content");
            let path = existing_file(desk.dir, &f.content, &desk.suite.fence, at);
            Some(CaseInput::File {
                path: desk.problems.take(path)?,
                context: f.context,
            })
        }
        NameOr::Inline(InputSpec::ApiCall(call)) => api_call(desk, call, node),
        NameOr::Inline(InputSpec::Messages(m)) => Some(CaseInput::Messages {
            messages: m.messages,
            context: m.context,
        }),
    }
}

fn prompt(
    desk: &mut SuiteDesk,
    text: String,
    context: Option<Value>,
    node: &Node,
) -> Option<CaseInput> {
    if text.trim().is_empty() {
        let at = node.locate("/content");
        desk.push(Problem::warning(
            Code::SuspiciousValue,
            at,
            "the prompt is empty",
        ));
    }
    Some(CaseInput::Prompt { text, context })
}

fn api_call(desk: &mut SuiteDesk, call: ApiCallInput, node: &Node) -> Option<CaseInput> {
    let method = call
        .method
        .unwrap_or_else(|| "GET".to_owned())
        .to_uppercase();
    let endpoint = with_query(desk, call.endpoint, &call.query, node)?;
    targets::check_call(desk, &method, &endpoint, &call.headers, node)?;
    let body = call
        .body
        .as_ref()
        .map(|body| models::ordered(body, node.get("body")));
    Some(CaseInput::ApiCall {
        method,
        endpoint,
        headers: call.headers,
        body,
    })
}

/// The endpoint with further parameters; what it says itself stays as it is written.
fn with_query(
    desk: &mut SuiteDesk,
    endpoint: String,
    query: &BTreeMap<String, Value>,
    node: &Node,
) -> Option<String> {
    let mut pairs = Vec::new();
    for (name, value) in query {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null => continue,
                Value::Array(_) | Value::Object(_) => {
                    let at = node
                        .get("query")
                        .and_then(|q| q.get(name))
                        .map_or(node.span, |n| n.span);
                    let message = format!(
                        "`{name}` must be a text, a number, true or false, or a list of these"
                    );
                    return desk.refuse(Problem::error(Code::BadRequest, at, message));
                }
            };
            pairs.push(format!(
                "{}={}",
                percent::encode(name),
                percent::encode(&text)
            ));
        }
    }
    if pairs.is_empty() {
        return Some(endpoint);
    }
    let (path, fragment) = match endpoint.split_once('#') {
        Some((path, fragment)) => (path, format!("#{fragment}")),
        None => (endpoint.as_str(), String::new()),
    };
    let join = match path {
        path if path.ends_with(['?', '&']) => "",
        path if path.contains('?') => "&",
        _ => "?",
    };
    Some(format!("{path}{join}{}{fragment}", pairs.join("&")))
}

/// True when the texts of an input were made of its context, by a template that names it.
pub(super) fn tells_context(desk: &SuiteDesk, node: &Node) -> bool {
    if node.get("context").is_none() {
        return false;
    }
    let written = ["content", "messages"]
        .into_iter()
        .filter_map(|key| node.get(key));
    // Rendered texts don't tell what they were; the file does.
    let mut sources = written.map(|node| desk.sources.slice(node.span));
    sources.any(|text| {
        is_template(text)
            && text.contains("context")
            && TemplateEngine::new(&desk.suite.templates)
                .names(text)
                .contains("context")
    })
}

/// A regression's input: typed, a request, a text, or any data.
pub(super) fn regression_input(
    desk: &mut SuiteDesk,
    written: &RegressionInput,
    node: &Node,
) -> Option<CaseInput> {
    let value = &written.0;
    let words = ["prompt", "file", "api_call", "messages"];
    if value
        .get("type")
        .and_then(Value::as_str)
        .is_some_and(|t| words.contains(&t))
    {
        let spec: InputSpec = serde_json::from_value(value.clone()).ok()?;
        return input(desk, NameOr::Inline(spec), node);
    }
    if value.get("method").is_some() {
        let call: ApiCallInput = serde_json::from_value(value.clone()).ok()?;
        return api_call(desk, call, node);
    }
    match value {
        Value::String(text) => prompt(desk, text.clone(), None, node),
        other => Some(CaseInput::Data {
            value: other.clone(),
        }),
    }
}

/// Extraction steps; `node` is the list (or the one step) that they were read from.
pub(super) fn extract(
    desk: &mut SuiteDesk,
    steps: &[ExtractSpec],
    node: Option<&Node>,
) -> Option<Vec<ExtractMethod>> {
    let mut whole = true;
    let mut out = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let at = node.map(|n| {
            if n.as_seq().is_some() {
                n.locate(&format!("/{i}"))
            } else {
                n.span
            }
        });
        match one_step(step) {
            Ok(step) => out.push(step),
            Err((code, message)) => {
                whole = false;
                desk.push(Problem::error(code, at, message));
            }
        }
    }
    whole.then_some(out)
}

fn one_step(step: &ExtractSpec) -> Result<ExtractMethod, (Code, String)> {
    Ok(match step {
        ExtractSpec::Word(ExtractWord::Trim) => ExtractMethod::Trim,
        ExtractSpec::Word(ExtractWord::Code) => ExtractMethod::CodeBlock {
            language: None,
            which: Which::Last,
        },
        ExtractSpec::Word(ExtractWord::Json) => ExtractMethod::Json {
            mode: JsonMode::Any,
        },
        ExtractSpec::Step(ExtractStep::Code(c)) => ExtractMethod::CodeBlock {
            language: c.language.clone(),
            which: c.which,
        },
        ExtractSpec::Step(ExtractStep::Json(mode)) => ExtractMethod::Json { mode: *mode },
        ExtractSpec::Step(ExtractStep::JsonPath(path)) => {
            serde_json_path::JsonPath::parse(path).map_err(|e| {
                (
                    Code::BadJsonPath,
                    format!("`{path}` is not a JSON path (RFC 9535): {e}"),
                )
            })?;
            ExtractMethod::JsonPath { path: path.clone() }
        }
        ExtractSpec::Step(ExtractStep::AfterLast(marker)) => ExtractMethod::AfterLast {
            marker: marker.clone(),
        },
        ExtractSpec::Step(ExtractStep::Regex(r)) => {
            let flags = regex_flags(&r.flags);
            let pattern = CompiledPattern::compile(&r.pattern, flags)
                .map_err(|e| (Code::BadRegex, format!("not a regular expression: {e}")))?;
            let usual = if pattern.group_count() > 0 { "1" } else { "0" };
            let group = r.group.clone().unwrap_or_else(|| usual.to_owned());
            if !pattern.has_group(&group) {
                return Err((
                    Code::BadCaptureGroup,
                    format!("the pattern has no group `{group}`"),
                ));
            }
            ExtractMethod::Regex {
                pattern: r.pattern.clone(),
                flags,
                group,
                which: r.which,
            }
        }
    })
}

/// Over what a case gives the target: the input, and the content of an input file; not over the
/// values of headers and of parameters that are secrets, which may change from run to run.
pub(super) fn input_hash(input: &CaseInput) -> Fingerprint {
    Fingerprint::of(&input_hashed(input))
}

/// As [`input_hash`], of a case with a workspace: over that, too.
pub(super) fn input_hash_in(input: &CaseInput, workspace: &CaseWorkspace) -> Fingerprint {
    Fingerprint::of(&(input_hash(input).to_string(), workspace))
}

/// Over grading and extraction.
pub(super) fn grading_hash(
    grading: &CaseGrading,
    extract: &[ExtractMethod],
    max_latency_ms: Option<f64>,
) -> Fingerprint {
    Fingerprint::of(&grading_hashed(grading, extract, max_latency_ms))
}

/// Over the data of an input that no dataset's row gave: its context; of a request or a free-form
/// input all of it. What is said in prompts, messages and input files is how one asks.
pub(super) fn data_hash(input: &CaseInput) -> Fingerprint {
    match input {
        CaseInput::Prompt { context, .. }
        | CaseInput::File { context, .. }
        | CaseInput::Messages { context, .. } => Fingerprint::of(context),
        CaseInput::ApiCall { .. } | CaseInput::Data { .. } => Fingerprint::of(input),
    }
}

/// Over the data of an input that a dataset's row gave: the row; with a request or a free-form
/// input also all of that.
pub(super) fn row_data_hash(row: &Value, input: &CaseInput) -> Fingerprint {
    match input {
        CaseInput::ApiCall { .. } | CaseInput::Data { .. } => Fingerprint::of(&(row, input)),
        _ => Fingerprint::of(row),
    }
}

/// What [`input_hash`] is over: of a file its name and content, and not where the project lies.
pub(super) fn input_hashed(input: &CaseInput) -> impl Serialize + '_ {
    let file = match input {
        CaseInput::File { path, context } => file_hash(path).map(|hash| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            (name, context, hash.to_string())
        }),
        _ => None,
    };
    (Some(input).filter(|_| file.is_none()), file)
}

/// What [`grading_hash`] is over.
pub(super) fn grading_hashed<'a>(
    grading: &'a CaseGrading,
    extract: &'a [ExtractMethod],
    max_latency_ms: Option<f64>,
) -> impl Serialize + 'a {
    (grading, extract, max_latency_ms)
}

/// Over the content of a file; `None` when it can't be read.
pub(super) fn file_hash(path: &std::path::Path) -> Option<Fingerprint> {
    let digest = file_digest(path).ok()?;
    Some(Fingerprint::of_digest(&digest))
}

/// The SHA-256 of the content of a file.
pub(super) fn file_digest(path: &std::path::Path) -> std::io::Result<sha2::digest::Output<Sha256>> {
    let mut file = eval_base::files::open_file(path)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digest.finalize()),
            n => digest.update(buffer.get(..n).unwrap_or_default()),
        }
    }
}
