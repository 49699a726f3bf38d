//! HumanEval and MBPP as their authors publish them.
//!
//! HumanEval: `prompt + completion`, then `test`, then `check(entry_point)` (`context` is read for
//! `prompt`). MBPP: the solution, then set-up code and imports, then each assert; the sanitized set
//! says `prompt` for `text` and brings `test_imports`.

use std::sync::{Arc, OnceLock};

use minijinja::{Environment, Template};
use serde_json::{Map, Value, json};

use super::{CaseMaker, CaseRecipe, DatasetSetting, RowMisfit};
use crate::graders::programs::allows_in_process;
use crate::load::evals::{ResolvedCase, assemble, set_latency};
use crate::load::scope::{SuiteDesk, seconds};
use crate::load::source::SourceFiles;
use crate::load::template::{self, TemplateEngine, to_jinja};
use crate::load::tree::Node;
use crate::model::{
    Case, CaseGrading, CaseInput, CodeExecution, CodeGrader, CodeLimits, CodeTests, Combine,
    Executor, Fingerprint, Grader, GraderKind, ReferenceSolution,
};
use crate::spec::BenchmarkDataset;

/// One record as a program to test.
struct BenchmarkTask {
    id: String,
    name: Option<String>,
    /// What a model is asked by default.
    prompt: String,
    context: Value,
    prefix: String,
    tests: CodeTests,
    setup: String,
    entry_point: Option<String>,
    reference: Option<ReferenceSolution>,
}

/// Makes cases of the records of a benchmark.
#[derive(Debug)]
pub(super) struct BenchmarkRecipe {
    setting: DatasetSetting,
    environment: Environment<'static>,
    prompt: Option<String>,
    limits: CodeLimits,
    /// How many times its record's own solution a program may take.
    factor: Option<f64>,
    in_process: bool,
    mbpp: bool,
}

/// The recipe of a built-in layout; `None` after saying what is wrong.
pub(super) fn recipe(
    desk: &mut SuiteDesk,
    node: &Node,
    spec: &BenchmarkDataset,
    mbpp: bool,
    setting: DatasetSetting,
) -> Option<Arc<dyn CaseRecipe>> {
    let prompt_at = node.locate("/prompt");
    let engine = TemplateEngine::new(&desk.suite.templates);
    let environment = engine.environment(false);
    if let Some(text) = spec.prompt.as_deref() {
        if !engine.check(text, prompt_at, &["row"], desk.sources, desk.problems) {
            return None;
        }
        if let Err(error) = environment.template_from_named_str("prompt", text) {
            return desk.refuse(template::bad_template(&error, prompt_at));
        }
    }
    let usual = desk.suite.demands.limits;
    let limits = CodeLimits {
        wall: spec.timeout_seconds.map_or(usual.wall, seconds),
        memory_mb: spec.memory_mb.unwrap_or(usual.memory_mb),
        return_mb: spec.max_return_mb.or(desk.suite.demands.return_mb),
        ..usual
    };
    let in_process = spec.trust.is_some();
    if in_process && !allows_in_process(desk, node.key_span("/trust"), "`trust: in_process`") {
        return None;
    }
    let (prompt, factor) = (
        spec.prompt.clone(),
        spec.timeout_factor.filter(|factor| *factor > 1.0),
    );
    Some(Arc::new(BenchmarkRecipe {
        setting,
        environment,
        prompt,
        limits,
        factor,
        in_process,
        mbpp,
    }))
}

impl CaseRecipe for BenchmarkRecipe {
    fn open<'a>(
        &'a self,
        _sources: &'a SourceFiles,
        _checked: bool,
    ) -> Option<Box<dyn CaseMaker + 'a>> {
        let prompt = match self.prompt.as_deref() {
            Some(text) => Some(
                self.environment
                    .template_from_named_str("prompt", text)
                    .ok()?,
            ),
            None => None,
        };
        Some(Box::new(BenchmarkMaker {
            recipe: self,
            prompt,
        }))
    }
}

struct BenchmarkMaker<'a> {
    recipe: &'a BenchmarkRecipe,
    prompt: Option<Template<'a, 'a>>,
}

impl CaseMaker for BenchmarkMaker<'_> {
    fn case(&mut self, row: Value, line: usize) -> Result<Case, RowMisfit> {
        let data_hash = Fingerprint::of(&row);
        let task = self.task(row).map_err(RowMisfit::plain)?;
        Ok(Case {
            data_hash,
            ..self.recipe.case(task, line)
        })
    }
}

impl BenchmarkMaker<'_> {
    fn task(&self, row: Value) -> Result<BenchmarkTask, String> {
        let fields = row.as_object().ok_or("not a JSON object")?;
        let mut task = if self.recipe.mbpp {
            mbpp_task(fields)
        } else {
            humaneval_task(fields)
        }?;
        if let Some(factor) = self.recipe.factor {
            let code = text(
                fields,
                &[if self.recipe.mbpp {
                    "code"
                } else {
                    "canonical_solution"
                }],
            )?
            .to_owned();
            task.reference = Some(ReferenceSolution { code, factor });
        }
        if let Some(template) = &self.prompt {
            let context = minijinja::Value::from_pairs([("row", to_jinja(&row))]);
            task.prompt = template
                .render(context)
                .map_err(|e| format!("the prompt's template: {e}"))?;
        }
        Ok(task)
    }
}

impl BenchmarkRecipe {
    fn case(&self, task: BenchmarkTask, line: usize) -> Case {
        let DatasetSetting { suite, header, .. } = &self.setting;
        let grader = CodeGrader::CodeExecution(CodeExecution {
            executor: Executor::Python,
            prefix: task.prefix,
            tests: task.tests,
            setup: task.setup,
            entry_point: task.entry_point,
            limits: self.limits,
            in_process: self.in_process,
            sandbox: true,
            reference: task.reference,
        });
        let graders = vec![Grader::of(GraderKind::Code(grader))];
        let demands = suite.demands.mark(&graders);
        let grading = CaseGrading {
            graders,
            combine: Combine::All,
            demands,
        };
        let input = CaseInput::Prompt {
            text: task.prompt,
            context: Some(task.context),
        };
        let made = ResolvedCase {
            input,
            grading,
            extract: header.extract.clone(),
            target: None,
        };
        let mut case = assemble(suite, task.id, made, header, self.setting.origin(line));
        set_latency(&mut case, header.max_latency_ms);
        Case {
            name: task.name,
            context_told: true,
            ..case
        }
    }
}

fn text<'r>(row: &'r Map<String, Value>, keys: &[&str]) -> Result<&'r str, String> {
    let found = keys
        .iter()
        .find_map(|key| row.get(*key).map(|value| (key, value)));
    match found {
        Some((_, Value::String(text))) => Ok(text),
        Some((key, _)) => Err(format!("`{key}` is not a text")),
        None => Err(format!(
            "the record has no `{}`",
            keys.first().unwrap_or(&"?")
        )),
    }
}

fn texts(row: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let Some(value) = row.get(key) else {
        return Ok(Vec::new());
    };
    let items = value
        .as_array()
        .ok_or_else(|| format!("`{key}` is not a list"))?;
    items
        .iter()
        .map(|item| {
            item.as_str()
                .map(str::to_owned)
                .ok_or_else(|| format!("`{key}` holds what is not a text"))
        })
        .collect()
}

fn id(row: &Map<String, Value>) -> Result<String, String> {
    match row.get("task_id") {
        Some(Value::String(id)) if !id.is_empty() => Ok(id.clone()),
        Some(Value::Number(n)) => Ok(n.to_string()),
        Some(_) => Err("`task_id` is neither a text nor a number".to_owned()),
        None => Err("the record has no `task_id`".to_owned()),
    }
}

fn humaneval_task(row: &Map<String, Value>) -> Result<BenchmarkTask, String> {
    let id = id(row)?;
    let prompt = text(row, &["prompt", "context"])?;
    let test = text(row, &["test"])?;
    let entry_point = text(row, &["entry_point"])?;
    if !defines_check(test) {
        return Err("`test` does not define `check`, so nothing would be tested".to_owned());
    }
    let end = if prompt.ends_with('\n') { "" } else { "\n" };
    Ok(BenchmarkTask {
        context: json!({ "task_id": id, "prompt": prompt, "entry_point": entry_point }),
        id,
        name: Some(entry_point.to_owned()),
        prompt: format!(
            "Complete this Python function. Answer with the whole function in one fenced code block.\n\n\
             ```python\n{prompt}{end}```\n"
        ),
        prefix: prompt.to_owned(),
        tests: CodeTests::Check {
            code: test.to_owned(),
        },
        setup: String::new(),
        entry_point: Some(entry_point.to_owned()),
        reference: None,
    })
}

fn mbpp_task(row: &Map<String, Value>) -> Result<BenchmarkTask, String> {
    let id = id(row)?;
    let problem = text(row, &["text", "prompt"])?;
    let asserts = texts(row, "test_list")?;
    if asserts.is_empty() {
        return Err("`test_list` is empty, so nothing would be tested".to_owned());
    }
    let mut setup = match row.get("test_setup_code") {
        Some(_) => text(row, &["test_setup_code"])?.to_owned(),
        None => String::new(),
    };
    for import in texts(row, "test_imports")? {
        if !setup.is_empty() && !setup.ends_with('\n') {
            setup.push('\n');
        }
        setup.push_str(&import);
    }
    Ok(BenchmarkTask {
        context: json!({ "task_id": id, "prompt": problem }),
        id,
        name: None,
        prompt: format!(
            "{}\n\nThe code must pass these tests:\n\n```python\n{}\n```\n\nAnswer with the code in one fenced code block.\n",
            problem.trim_end(),
            asserts.join("\n")
        ),
        prefix: String::new(),
        tests: CodeTests::Asserts { asserts },
        setup,
        entry_point: None,
        reference: None,
    })
}

fn defines_check(test: &str) -> bool {
    static CHECK: OnceLock<Option<regex::Regex>> = OnceLock::new();
    let check = CHECK
        .get_or_init(|| regex::Regex::new(r"(?m)^(async\s+)?def\s+check\s*\(|^check\s*=").ok());
    check.as_ref().is_none_or(|check| check.is_match(test))
}
