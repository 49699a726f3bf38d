//! `eval-harness new regression --from CASE`: a case that works becomes a regression.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::accept::{ChosenAnswer, ChosenCase, write_in_place};
use super::args::{NewArgs, NewKind};
use super::baseline::{looking_graders, relative};
use super::console::Console;
use super::new::{may_write, write};
use super::suite::way;
use super::{CliFailure, CliResult, ci, scaffold};
use crate::baseline::capture::{CaptureContext, takes_a_baseline};
use crate::baseline::redact::RedactionRules;
use crate::gate::ExitCode;
use crate::grade::RunGraders;
use crate::load::{
    self, LoadOverrides, LoadRequest, PlanPurpose, Severity, WrittenEval, added_reference,
    not_rendered, written_grading, yaml,
};
use crate::model::{Case, CaseInput, CodeGrader, GraderKind, Outcome, OutputValue, Plan};
use eval_base::text::escape_path_component;

pub fn from_case(console: &Console, args: &NewArgs, pattern: &str) -> CliResult {
    if args.kind != NewKind::Regression {
        return Err(CliFailure::wrong("--from makes a regression of a case")
            .hint("`eval-harness new regression --from CASE`"));
    }
    ci::refuse("new regression --from", "a baseline")?;
    let chosen = ChosenCase::of(console, pattern, &args.source)?;
    let graders = looking_graders(&chosen.plan)?;
    let (eval, case) = (&chosen.eval.info, &chosen.case);
    if takes_a_baseline(&case.grading, case.baseline.is_some()) {
        return Err(
            CliFailure::wrong(format!("`{}` is a regression already", eval.id))
                .hint("`eval-harness accept` accepts its output as the baseline"),
        );
    }
    let answer = chosen.answer(console, &graders, args.source.sample())?;
    if answer.outcome != Outcome::Passed {
        let message = format!(
            "sample {} of `{}` {}: a baseline is an output that is known to be good",
            answer.sample,
            case.id,
            answer.outcome.name()
        );
        return Err(CliFailure::wrong(message)
            .hint("select a sample that passed with --sample, or accept the output first"));
    }
    if let Some(missing) = answer.missing_samples() {
        let message = format!("`{}`: {missing}", case.id);
        return Err(CliFailure::wrong(message).hint("select a sample that passed with --sample"));
    }
    let id = match &args.id {
        Some(id) if id.trim().is_empty() => {
            return Err(CliFailure::wrong("an id can't be empty"));
        }
        Some(id) => id.clone(),
        None => regression_id(&eval.id, &case.id),
    };
    if chosen.plan.evals.iter().any(|eval| eval.info.id == id) {
        return Err(
            CliFailure::wrong(format!("the suite has an eval `{id}` already"))
                .hint("pass another id: `eval-harness new regression ID --from CASE`"),
        );
    }
    let cwd = &chosen.request.cwd;
    let path = match &args.output {
        Some(path) => cwd.join(path),
        None => {
            let name = format!("{}.yaml", escape_path_component(&id));
            chosen.plan.suite.dir.join("regression").join(name)
        }
    };
    may_write([path.as_path()], args.force)?;
    let text = RegressionText {
        chosen: &chosen,
        answer: &answer,
        id: &id,
        path: &path,
    }
    .text()?;
    prove(&chosen, &graders, &answer, &path, &text)?;
    write(&path, &text)?;
    console.result(format!("wrote {}\n", relative(&path)).as_bytes())?;
    add_to_suite(console, &chosen, &path, &id)?;
    Ok(ExitCode::Pass)
}

/// `cap-x` becomes `reg-x`; a case of several has the id of its eval before its own.
fn regression_id(eval: &str, case: &str) -> String {
    let stem = eval.strip_prefix("cap-").unwrap_or(eval);
    if eval == case {
        format!("reg-{stem}")
    } else {
        format!("reg-{stem}-{case}")
    }
}

/// The file of the new regression.
struct RegressionText<'a> {
    chosen: &'a ChosenCase,
    answer: &'a ChosenAnswer,
    id: &'a str,
    path: &'a Path,
}

impl RegressionText<'_> {
    fn text(&self) -> Result<String, CliFailure> {
        let (eval, case) = (&self.chosen.eval.info, &self.chosen.case);
        let source = format!("Output of `{}` in {}.", case.id, self.chosen.paths.run_id);
        let name = case.name.clone().unwrap_or_else(|| eval.name.clone());
        let mut entries = vec![("id", json!(self.id)), ("name", json!(name))];
        entries.push(("description", json!(source)));
        if let Some(category) = &eval.category {
            entries.push(("category", json!(category)));
        }
        entries.push(("baseline", json!({ "output": self.output()? })));
        entries.push(("current", json!({ "input": self.input()? })));
        entries.extend(self.grading()?);
        let mut metadata = Map::new();
        if let Some(criticality) = eval.criticality {
            metadata.insert("criticality".to_owned(), json!(criticality.name()));
        }
        if let Some(difficulty) = case.difficulty.or(eval.difficulty) {
            metadata.insert("difficulty".to_owned(), json!(difficulty));
        }
        let tags: Vec<&String> = eval.tags.iter().chain(&case.tags).collect();
        if !tags.is_empty() {
            metadata.insert("tags".to_owned(), json!(tags));
        }
        if !metadata.is_empty() {
            entries.push(("metadata", Value::Object(metadata)));
        }
        let schema = scaffold::schema_beside(
            self.path
                .strip_prefix(&self.chosen.plan.suite.root)
                .unwrap_or(self.path),
        );
        let mut text = format!("# yaml-language-server: $schema={schema}\n\n");
        for (at, (key, value)) in entries.iter().enumerate() {
            text.push_str(if at == 0 { "- " } else { "  " });
            yaml::entry(&mut text, key, value, 1);
        }
        let secrets = &self.chosen.plan.secrets;
        // YAML may escape or wrap a text, so the values are searched and not the file.
        if secrets.iter().any(|secret| {
            secret.len() >= eval_base::redact::SHORTEST_SECRET
                && entries
                    .iter()
                    .any(|(_, value)| has_text(value, secret.as_str()))
        }) {
            return Err(CliFailure::wrong(
                "the case or its output contains a secret, which would be written into the file",
            )
            .hint("write the regression by hand, with the secret as a variable"));
        }
        Ok(text)
    }

    /// The output as `baseline capture` writes it.
    fn output(&self) -> Result<Value, CliFailure> {
        let baselines = &self.chosen.plan.baselines;
        let rules = RedactionRules::new(&baselines.redact).map_err(CliFailure::wrong)?;
        let output = match &self.answer.value {
            OutputValue::Json(value) => value.clone(),
            OutputValue::Text(text) | OutputValue::Program(text) => json!(text),
        };
        CaptureContext {
            rules: &rules,
            keep_headers: &baselines.keep_headers,
            accepted: None,
            structural: None,
        }
        .written(&output, false)
        .map_err(CliFailure::wrong)
    }

    fn input(&self) -> Result<Value, CliFailure> {
        let case = &self.chosen.case;
        if case.context_told {
            let message = format!(
                "the prompt of `{}` is made of its context by a template",
                case.id
            );
            return Err(CliFailure::wrong(message).hint("write the regression by hand"));
        }
        let typed = |kind: &str, fields: Vec<(&str, Option<Value>)>| {
            let fields = fields.into_iter();
            let mut all: Map<String, Value> = fields
                .filter_map(|(key, value)| Some((key.to_owned(), value?)))
                .collect();
            all.insert("type".to_owned(), json!(kind));
            Value::Object(all)
        };
        let input = match &case.input {
            CaseInput::Prompt {
                text,
                context: None,
            } => json!(text),
            CaseInput::Prompt { text, context } => typed(
                "prompt",
                vec![("content", Some(json!(text))), ("context", context.clone())],
            ),
            CaseInput::File { path, context } => {
                let from = self.path.parent().unwrap_or(Path::new(""));
                let path = way(from, path).display().to_string();
                typed(
                    "file",
                    vec![("content", Some(json!(path))), ("context", context.clone())],
                )
            }
            CaseInput::Messages { messages, context } => typed(
                "messages",
                vec![
                    ("messages", Some(json!(messages))),
                    ("context", context.clone()),
                ],
            ),
            CaseInput::ApiCall {
                method,
                endpoint,
                headers,
                body,
            } => typed(
                "api_call",
                vec![
                    ("method", Some(json!(method))),
                    ("endpoint", Some(json!(endpoint))),
                    ("headers", (!headers.is_empty()).then(|| json!(headers))),
                    ("body", body.as_ref().map(|body| json!(body))),
                ],
            ),
            CaseInput::Data { value } => value.clone(),
        };
        Ok(not_rendered(input))
    }

    /// An exact comparison for what was compared with a literal; else the grader of the case.
    fn grading(&self) -> Result<Vec<(&'static str, Value)>, CliFailure> {
        let chosen = self.chosen;
        let source = chosen.eval.info.source.as_ref();
        let written = match source {
            Some(source) => {
                let path = chosen.plan.suite.root.join(&source.file);
                let eval = WrittenEval {
                    id: &chosen.eval.info.id,
                    path: &path,
                    display: &relative(&path),
                    line: source.line,
                };
                let mut written = written_grading(eval, &chosen.case.id)
                    .map_err(|refusal| CliFailure::wrong(refusal.message).hint(refusal.hint))?;
                let folders = [&path, self.path].map(|file| file.parent().unwrap_or(Path::new("")));
                for (_, graders) in written
                    .iter_mut()
                    .filter(|(key, _)| key.starts_with("grader"))
                {
                    move_recordings(graders, folders)?;
                }
                written
            }
            None => BTreeMap::new(),
        };
        let mut entries = Vec::new();
        let mut take = |key: &'static str| {
            entries.extend(written.get(key).map(|value| (key, value.clone())));
        };
        take("extract");
        if is_literal(&chosen.case) {
            entries.push(("comparison", json!({ "type": "exact" })));
            return Ok(entries);
        }
        if written.contains_key("grader") || written.contains_key("graders") {
            ["grader", "graders", "combine"].into_iter().for_each(take);
            return Ok(entries);
        }
        let expected = written.get("expected");
        let grader = expected.and_then(grader_of).ok_or_else(|| {
            let message = format!("the grader of `{}` cannot be copied", chosen.case.id);
            CliFailure::wrong(message).hint("write the regression by hand")
        })?;
        entries.push(("grader", grader));
        Ok(entries)
    }
}

/// Rewrites the folders of recordings that judges name, the only paths in a grader, for a file in
/// the second folder.
fn move_recordings(grading: &mut Value, folders: [&Path; 2]) -> Result<(), CliFailure> {
    match grading {
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| move_recordings(item, folders)),
        Value::Object(fields) => fields.iter_mut().try_for_each(|(key, value)| match value {
            Value::String(text) if key == "replay" => {
                let [from, to] = folders;
                if from != to && text.contains("{{") {
                    let message = format!("`replay: {text}` of the grader is a template");
                    return Err(CliFailure::wrong(message)
                        .hint("write the regression into the folder of the eval, with --output"));
                }
                if Path::new(text).is_relative() {
                    *text = way(to, &from.join(&*text)).display().to_string();
                }
                Ok(())
            }
            value if key == "config" || key == "models" => move_recordings(value, folders),
            _ => Ok(()),
        }),
        _ => Ok(()),
    }
}

/// True if a key or a value somewhere in it contains the text.
fn has_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(value) => value.contains(text),
        Value::Array(items) => items.iter().any(|item| has_text(item, text)),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.contains(text) || has_text(value, text)),
        Value::Number(number) => number.to_string().contains(text),
        Value::Null | Value::Bool(_) => false,
    }
}

/// True when every grader compares with a value.
fn is_literal(case: &Case) -> bool {
    case.grading
        .graders
        .iter()
        .all(|grader| match &grader.kind {
            GraderKind::Code(CodeGrader::Json(json)) => json.schema.is_none() && !grader.negate,
            GraderKind::Code(
                CodeGrader::ExactMatch(_) | CodeGrader::Numeric(_) | CodeGrader::StructuralMatch(_),
            ) => !grader.negate,
            _ => false,
        })
}

/// The grader that an expectation stands for, with its settings.
fn grader_of(expected: &Value) -> Option<Value> {
    let several = expected.get("alternatives").and_then(Value::as_array);
    if several.is_some_and(|several| !several.is_empty()) {
        return None;
    }
    let value = expected.get("value")?.clone();
    let mut config = match (expected.get("type")?.as_str()?, value) {
        ("contains", Value::Object(fields)) => fields,
        ("contains", texts) => Map::from_iter([("must_include".to_owned(), texts)]),
        ("pattern", pattern) => Map::from_iter([("pattern".to_owned(), pattern)]),
        ("functional", Value::Object(fields)) => fields,
        _ => return None,
    };
    let method = match expected.get("type")?.as_str()? {
        "contains" => "contains",
        "pattern" => "regex",
        _ => "function_output",
    };
    config.insert("method".to_owned(), json!(method));
    Some(json!({ "type": "code", "config": config }))
}

/// Loads the new file as a later run would: the input is unchanged and the output passes.
fn prove(
    chosen: &ChosenCase,
    graders: &RunGraders,
    answer: &ChosenAnswer,
    path: &Path,
    text: &str,
) -> Result<(), CliFailure> {
    let refuse = |why: String| {
        CliFailure::wrong(format!(
            "`{}` cannot become a regression: {why}",
            chosen.case.id
        ))
        .hint("nothing was written; write the regression by hand")
    };
    let request = LoadRequest {
        suite: path.to_owned(),
        purpose: PlanPurpose::List,
        overrides: LoadOverrides {
            gateless: true,
            without_store: true,
            texts: Arc::new([(path.to_owned(), text.to_owned())].into()),
            ..LoadOverrides::default()
        },
        ..chosen.request.clone()
    };
    let loaded = load::load(&request);
    let problem = loaded
        .problems
        .iter()
        .find(|p| p.severity == Severity::Error);
    if let Some(problem) = problem {
        return Err(refuse(problem.message.clone()));
    }
    let cases = loaded.plan.into_iter().flat_map(|plan| plan.evals);
    let case = cases.filter_map(|eval| eval.cases.get(0)?.ok()).next();
    let Some(case) = case else {
        return Err(refuse("its file would have no case".to_owned()));
    };
    if case.input_hash != chosen.case.input_hash {
        return Err(refuse("its input cannot be written as it is".to_owned()));
    }
    if !is_literal(&case) {
        // Judges and programs decide in the next run.
        return Ok(());
    }
    match chosen.tried(graders, &case, &answer.value)? {
        (Outcome::Passed, _) => Ok(()),
        (_, reason) => Err(refuse(reason)),
    }
}

/// Adds the file to the suite's list of evals, unless a glob of the list matches it.
fn add_to_suite(
    console: &Console,
    chosen: &ChosenCase,
    path: &Path,
    id: &str,
) -> Result<(), CliFailure> {
    let suite = chosen.request.cwd.join(&chosen.request.suite);
    let shown = relative(&suite);
    let includes = |plan: Option<Plan>| {
        plan.is_some_and(|plan| plan.evals.iter().any(|eval| eval.info.id == id))
    };
    if includes(load::load(&chosen.request).plan) {
        console.note(&format!("{shown} includes it"));
        return Ok(());
    }
    let reference = way(&chosen.plan.suite.dir, path).display().to_string();
    let by_hand = || {
        let line = format!("add `- $ref: {reference}` to `evals:` in {shown}");
        console.note(&line);
        Ok(())
    };
    let Ok(Some(edit)) = added_reference(&suite, &shown, &reference) else {
        return by_hand();
    };
    let mut request = chosen.request.clone();
    request.overrides.texts = Arc::new([(suite.clone(), edit.after.clone())].into());
    if !includes(load::load(&request).plan) {
        return by_hand();
    }
    write_in_place(&suite, &edit)?;
    console.result(format!("added to {shown}: - $ref: {reference}\n").as_bytes())?;
    Ok(())
}
