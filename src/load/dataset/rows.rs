//! Rows through a `case:` template: compiled once, filled for each row, then judged like a case
//! that is written.

use std::fmt;
use std::sync::Arc;

use minijinja::{Environment, Value as Jinja};
use serde_json::Value;

use super::cells::{TemplateCell, TemplateRegion, compile, fill, fill_data};
use super::direct::DirectTemplate;
use super::{CaseMaker, CaseRecipe, DatasetSetting, RowMisfit, RowPlace};
use crate::load::evals::finish;
use crate::load::graders::{self, WrittenGraders};
use crate::load::infer::infer_case;
use crate::load::inputs::{row_data_hash, tells_context};
use crate::load::problem::{Code, Problem, Problems, Severity};
use crate::load::schema::SchemaValidator;
use crate::load::scope::SuiteDesk;
use crate::load::session::case_validator;
use crate::load::short;
use crate::load::source::{SourceFiles, Span};
use crate::load::template::{TemplateEngine, is_template, to_jinja};
use crate::load::tree::{Node, NodeValue};
use crate::model::Case;
use crate::spec::CaseSpec;

/// Makes cases of rows by a template.
pub(super) struct RowRecipe {
    setting: DatasetSetting,
    environment: Environment<'static>,
    case: Node,
    /// `input.context`, which the other texts may name.
    context: Option<Node>,
    /// True when the prompt is made of it. Of the template, since filled texts don't tell what they
    /// were.
    context_told: bool,
    validator: &'static SchemaValidator,
}

impl fmt::Debug for RowRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("setting", &self.setting)
            .finish_non_exhaustive()
    }
}

/// The recipe of a `case:` template; `None` after saying what is wrong with it.
pub(super) fn recipe(
    desk: &mut SuiteDesk,
    node: &mut Node,
    setting: DatasetSetting,
) -> Option<Arc<dyn CaseRecipe>> {
    let (validator, case) = (case_validator()?, node.get_mut("case")?);
    if !check_template(desk, validator, case) {
        return None;
    }
    let own = WrittenGraders::of_template(case);
    let has_own = case.get("grader").or(case.get("graders")).is_some();
    let shared = if has_own {
        &own
    } else {
        &setting.header.written
    };
    let kind = case
        .get("expected")
        .and_then(|node| Some((node.get("type")?.as_text()?, node.span)));
    if !graders::tell_doubts(desk, shared, kind.filter(|_| !has_own)) {
        return None;
    }
    let environment = TemplateEngine::new(&desk.suite.templates).environment(true);
    if let Err(problem) = compile(&environment, case) {
        return desk.refuse(*problem);
    }
    let context = case.at_pointer("/input/context").cloned();
    let context_told = case
        .get("input")
        .is_some_and(|input| tells_context(desk, input));
    Some(Arc::new(RowRecipe {
        setting,
        environment,
        case: case.clone(),
        context,
        context_told,
        validator,
    }))
}

impl CaseRecipe for RowRecipe {
    fn open<'a>(
        &'a self,
        sources: &'a SourceFiles,
        checked: bool,
    ) -> Option<Box<dyn CaseMaker + 'a>> {
        Some(Box::new(self.maker(sources, checked)?))
    }
}

impl RowRecipe {
    fn maker<'a>(&'a self, sources: &'a SourceFiles, checked: bool) -> Option<RowMaker<'a>> {
        let cell = compile(&self.environment, &self.case).ok()?;
        let context = self
            .context
            .as_ref()
            .and_then(|context| compile(&self.environment, context).ok());
        let max_latency_ms = self.setting.header.max_latency_ms;
        let direct = DirectTemplate::of(
            &self.case,
            &self.environment,
            context.as_ref(),
            max_latency_ms,
        );
        let judge = CaseValidator {
            recipe: self,
            sources,
            checked,
        };
        Some(RowMaker {
            recipe: self,
            judge,
            cell,
            context,
            direct,
        })
    }
}

struct RowMaker<'a> {
    recipe: &'a RowRecipe,
    judge: CaseValidator<'a>,
    cell: TemplateCell<'a>,
    context: Option<TemplateCell<'a>>,
    direct: Option<DirectTemplate<'a>>,
}

impl CaseMaker for RowMaker<'_> {
    fn case(&mut self, row: Value, place: RowPlace) -> Result<Case, RowMisfit> {
        let line = place.line;
        if let Some(case) = self.direct.as_ref().and_then(|direct| direct.case(&row)) {
            return Ok(Case {
                origin: self.recipe.setting.origin(line),
                ..case
            });
        }
        let mut names = vec![("row", to_jinja(&row))];
        if let Some(cell) = &self.context {
            let context = fill_data(cell, &row, &Jinja::from_pairs(names.clone()))?;
            names.push(("context", to_jinja(&context.to_json())));
        }
        let node = fill(&self.cell, &row, &Jinja::from_pairs(names))?;
        let as_filled = self
            .direct
            .as_ref()
            .filter(|direct| direct.is_open())
            .map(|_| node.clone());
        let case = self.judge.case(node, line)?;
        let case = Case {
            data_hash: row_data_hash(&row, &case.input),
            ..case
        };
        if let (Some(direct), Some(node)) = (&mut self.direct, as_filled) {
            direct.learn(&row, &case, &node, &|node| self.judge.case(node, line).ok());
        }
        Ok(case)
    }
}

/// Judges a filled template like a case that is written.
struct CaseValidator<'a> {
    recipe: &'a RowRecipe,
    sources: &'a SourceFiles,
    /// False when the row was found to fit before.
    checked: bool,
}

impl CaseValidator<'_> {
    fn case(&self, mut node: Node, line: usize) -> Result<Case, RowMisfit> {
        let DatasetSetting {
            suite, dir, header, ..
        } = &self.recipe.setting;
        let mut found = Problems::new();
        // A value of the row may be a literal.
        short::case(&mut node, &mut found);
        // The file's graders hold for a case that has none, whatever its expectation would mean.
        let own = node.get("grader").is_some() || node.get("graders").is_some();
        if own || header.written.is_empty() {
            infer_case(&mut node, &mut found);
        }
        let validator = self.recipe.validator;
        validator.normalise(self.sources, &mut node, &mut found);
        let json = if self.checked {
            validator.validate(&node, &mut found)
        } else {
            Some(node.to_json())
        };
        let mut case = None;
        if let Some(json) = json {
            match serde_json::from_value::<CaseSpec>(json) {
                Ok(spec) => {
                    let mut desk = SuiteDesk {
                        sources: self.sources,
                        problems: &mut found,
                        suite,
                        dir,
                    };
                    let origin = self.recipe.setting.origin(line);
                    case = finish(&mut desk, spec, &node, origin, header);
                }
                Err(error) => {
                    found.push(Problem::error(Code::BadShape, node.span, error.to_string()))
                }
            }
        }
        if let Some(first) = found.iter().find(|p| p.severity == Severity::Error) {
            return Err(RowMisfit {
                at: first.span,
                message: first.message.clone(),
                hint: first.hint.clone(),
            });
        }
        let case = case.ok_or_else(|| RowMisfit::plain("no case can be made from the row"))?;
        Ok(Case {
            context_told: self.recipe.context_told,
            ..case
        })
    }
}

/// Checks the template itself: its keys, and every name that is not the row's.
fn check_template(desk: &mut SuiteDesk, validator: &SchemaValidator, case: &mut Node) -> bool {
    let mut found = Problems::new();
    validator.normalise(desk.sources, case, &mut found);
    validator.validate(case, &mut found);
    let mut templates = Vec::new();
    texts(case, TemplateRegion::Case, &mut templates);
    // What a row will put in is judged with the row.
    let known: Vec<Problem> = found
        .into_iter()
        .filter(|p| {
            p.span
                .is_none_or(|s| !templates.iter().any(|(_, t)| *t == s))
        })
        .collect();
    let mut whole = !known.iter().any(|p| p.severity == Severity::Error);
    desk.problems.extend(known);
    let engine = TemplateEngine::new(&desk.suite.templates);
    for (text, span) in templates {
        whole &= engine.check(
            &text,
            span,
            &["row", "context"],
            desk.sources,
            desk.problems,
        );
    }
    whole
}

fn texts(node: &Node, part: TemplateRegion, out: &mut Vec<(String, Span)>) {
    match &node.value {
        _ if part == TemplateRegion::Asked => {}
        NodeValue::Text(text) if part.is_matcher(text) => {}
        NodeValue::Text(text) if is_template(text) => out.push((text.to_string(), node.span)),
        NodeValue::Seq(items) => items.iter().for_each(|n| texts(n, part, out)),
        NodeValue::Map(entries) => {
            entries
                .iter()
                .for_each(|(key, n)| texts(n, part.under(node, &key.name), out));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::load::evals::EvalHeader;
    use crate::load::scope::SuiteScope;
    use crate::load::tree;

    /// That the short way leads to the same cases is tested elsewhere; here that it is taken at
    /// all.
    #[test]
    fn rows_of_the_usual_templates_take_the_short_way_from_the_second_on() {
        let table = [
            (
                "{id: '{{ row.a }}', input: '{{ row.b }}', expected: {type: exact, value: '{{ row.c }}'}}",
                true,
            ),
            (
                "{id: '{{ row.a }}', input: 'Say {{ row.b }}', expected: '{{ row.b }}', max_latency_ms: 5}",
                true,
            ),
            (
                "{id: '{{ row.a }}', input: '{{ row.b }}', expected: {type: numeric, value: 1}}",
                true,
            ),
            (
                "{id: '{{ row.a }}', input: {type: prompt, content: '{{ row.b }}', context: {k: 1}}, expected: {type: exact, value: '{{ row.c }}'}, grader: {type: human, config: {}}}",
                true,
            ),
            (
                "{id: '{{ row.a }}', input: '{{ row.b }}', expected: {type: contains, value: '{{ row.b }}'}}",
                false,
            ),
        ];
        for (text, short) in table {
            let mut sources = SourceFiles::new();
            let file = sources.add("case", text);
            let case = tree::parse(&sources, file, &mut Problems::new()).unwrap();
            let context = case.at_pointer("/input/context").cloned();
            let (suite, header) = (SuiteScope::default(), EvalHeader::default());
            let setting = DatasetSetting {
                file: "r".into(),
                suite,
                dir: "/".into(),
                header,
            };
            let (environment, validator) =
                (crate::load::environment(true), case_validator().unwrap());
            let rows = RowRecipe {
                setting,
                environment,
                case,
                context,
                context_told: false,
                validator,
            };
            let mut maker = rows.maker(&sources, true).unwrap();
            maker
                .case(json!({ "a": "1", "b": "x", "c": 2 }), RowPlace::default())
                .unwrap();
            let case = maker
                .direct
                .as_ref()
                .and_then(|direct| direct.case(&json!({ "a": "2", "b": "y", "c": 3 })));
            assert_eq!(
                case.map(|case| case.id),
                short.then(|| "2".to_owned()),
                "of {text}"
            );
        }
    }
}
