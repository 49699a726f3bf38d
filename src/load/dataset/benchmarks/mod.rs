//! Benchmarks as their authors publish them, one file each: what a record asks, how answers are
//! graded, and its right answer.

mod apps;
mod bigcodebench;
mod code_contests;
mod contest;
mod ds1000;
mod evalplus;
mod fields;
mod gsm8k;
mod humaneval;
mod humaneval_pack;
mod ifeval;
mod languages;
mod livecodebench;
mod mbpp;
mod mbpp_inputs;
pub(super) mod mmlu;
mod multipl_e;
mod released;

use std::fmt;
use std::sync::Arc;

use minijinja::{Environment, Template};
use serde_json::Value;

use super::{CaseMaker, CaseRecipe, DatasetSetting, RowMisfit, RowPlace};
use crate::graders::programs::allows_in_process;
use crate::load::evals::{ResolvedCase, assemble, set_latency};
use crate::load::problem::{Code, Problem};
use crate::load::scope::{SuiteDesk, seconds};
use crate::load::source::SourceFiles;
use crate::load::template::{self, TemplateEngine, to_jinja};
use crate::load::tree::Node;
use crate::model::{
    Case, CaseGrading, CaseInput, CodeExecution, CodeGrader, CodeLimits, CodeTests, Combine,
    Executor, ExtractMethod, Fingerprint, Grader, GraderKind, OutputValue, ReferenceSolution,
};
use crate::spec::{BenchmarkDataset, DatasetSpec};
use fields::Record;
use released::ReleaseWindow;

/// A layout of records.
trait BenchmarkFormat: fmt::Debug + Send + Sync {
    /// What a record asks; an error is a sentence on the record, to which file and line are added.
    /// `index` is its place in the file, from 0.
    fn task(&self, record: &Record, index: usize) -> Result<BenchmarkTask, String>;

    /// Whether the dataset's settings select a record; an error as of [`BenchmarkFormat::task`].
    fn selects(&self, _record: &Record) -> Result<bool, String> {
        Ok(true)
    }
}

/// One record as a case.
struct BenchmarkTask {
    id: String,
    name: Option<String>,
    /// What a model is asked by default.
    prompt: String,
    context: Value,
    /// From an answer to what is graded, unless the eval has steps of its own.
    extract: Vec<ExtractMethod>,
    /// All of them must pass; at least one.
    graders: Vec<CodeGrader>,
    /// The metrics that the scores of the graders are recorded as, if any.
    metrics: Vec<&'static str>,
    /// The record's right answer, as a model would give it.
    solution: Option<OutputValue>,
    /// Such as `month:2024-03`.
    tags: Vec<String>,
}

/// Makes cases of the records of a benchmark.
#[derive(Debug)]
struct BenchmarkRecipe {
    setting: DatasetSetting,
    environment: Environment<'static>,
    /// `prompt:` of the dataset.
    prompt: Option<String>,
    format: Box<dyn BenchmarkFormat>,
    /// The word after `format:`.
    format_name: Option<Arc<str>>,
}

/// The recipe of a benchmark's layout; `None` after reporting what is wrong.
pub(super) fn recipe(
    desk: &mut SuiteDesk,
    node: &Node,
    spec: &DatasetSpec,
    setting: DatasetSetting,
) -> Option<Arc<dyn CaseRecipe>> {
    let (prompt, format): (_, Box<dyn BenchmarkFormat>) = match spec {
        // Rows have a template.
        DatasetSpec::Jsonl(_) | DatasetSpec::Json(_) | DatasetSpec::Csv(_) => return None,
        DatasetSpec::Humaneval(own) => {
            let settings = PythonSettings::of(desk, node, own)?;
            (&own.prompt, Box::new(humaneval::HumanEval(settings)))
        }
        DatasetSpec::Mbpp(own) => {
            let settings = PythonSettings::of(desk, node, own)?;
            (&own.prompt, Box::new(mbpp::Mbpp(settings)))
        }
        DatasetSpec::Livecodebench(own) => {
            let released = match ReleaseWindow::of(own.released.as_ref()) {
                Ok(released) => released,
                Err(why) => {
                    let at = node.locate("/released");
                    return desk.refuse(Problem::error(Code::BadFormat, at, why));
                }
            };
            let usual = desk.suite.demands.limits;
            let format = livecodebench::LiveCodeBench {
                limits: CodeLimits {
                    wall: seconds(own.timeout_seconds.unwrap_or(livecodebench::SECONDS)),
                    memory_mb: own.memory_mb.unwrap_or(livecodebench::MEMORY_MB),
                    ..usual
                },
                tests: own.tests.unwrap_or_default(),
                released,
            };
            (&own.prompt, Box::new(format))
        }
        DatasetSpec::Bigcodebench(own) => {
            // Its tests share the interpreter of the answer.
            let at = node.key_span("/format");
            if !allows_in_process(desk, at, "`format: bigcodebench`") {
                return None;
            }
            let usual = desk.suite.demands.limits;
            let format = bigcodebench::BigCodeBench {
                limits: CodeLimits {
                    wall: seconds(own.timeout_seconds.unwrap_or(bigcodebench::SECONDS)),
                    memory_mb: own.memory_mb.unwrap_or(bigcodebench::MEMORY_MB),
                    ..usual
                },
                variant: own.variant.unwrap_or_default(),
            };
            (&own.prompt, Box::new(format))
        }
        DatasetSpec::MultiplE(own) => {
            // The tests share the process of the answer.
            let at = node.key_span("/format");
            if !allows_in_process(desk, at, "`format: multipl_e`") {
                return None;
            }
            let limits = CodeLimits {
                wall: seconds(own.timeout_seconds.unwrap_or(multipl_e::SECONDS)),
                memory_mb: own.memory_mb.unwrap_or(multipl_e::MEMORY_MB),
                ..desk.suite.demands.limits
            };
            (&own.prompt, Box::new(multipl_e::MultiplE(limits)))
        }
        DatasetSpec::HumanevalPack(own) => {
            let at = node.key_span("/format");
            if !allows_in_process(desk, at, "`format: humaneval_pack`") {
                return None;
            }
            let format = humaneval_pack::HumanEvalPack {
                limits: CodeLimits {
                    wall: seconds(own.timeout_seconds.unwrap_or(multipl_e::SECONDS)),
                    memory_mb: own.memory_mb.unwrap_or(multipl_e::MEMORY_MB),
                    ..desk.suite.demands.limits
                },
                task: own.task.unwrap_or_default(),
            };
            (&own.prompt, Box::new(format))
        }
        DatasetSpec::Ds1000(own) => {
            // Its tests run the answer in their own interpreter.
            if !allows_in_process(desk, node.key_span("/format"), "`format: ds1000`") {
                return None;
            }
            let usual = desk.suite.demands.limits;
            let format = ds1000::Ds1000(CodeLimits {
                wall: seconds(own.timeout_seconds.unwrap_or(ds1000::SECONDS)),
                memory_mb: own.memory_mb.unwrap_or(ds1000::MEMORY_MB),
                ..usual
            });
            (&own.prompt, Box::new(format))
        }
        DatasetSpec::Apps(own) => {
            let usual = desk.suite.demands.limits;
            let limits = CodeLimits {
                wall: seconds(own.timeout_seconds.unwrap_or(apps::SECONDS)),
                memory_mb: own.memory_mb.unwrap_or(usual.memory_mb),
                ..usual
            };
            (&own.prompt, Box::new(apps::Apps(limits)))
        }
        DatasetSpec::CodeContests(own) => {
            let usual = desk.suite.demands.limits;
            let limits = CodeLimits {
                wall: own.timeout_seconds.map_or(usual.wall, seconds),
                memory_mb: own.memory_mb.unwrap_or(usual.memory_mb),
                ..usual
            };
            (&own.prompt, Box::new(code_contests::CodeContests(limits)))
        }
        DatasetSpec::Gsm8k(own) => {
            let answer = own.answer.unwrap_or_default();
            (&own.prompt, Box::new(gsm8k::Gsm8k(answer)))
        }
        DatasetSpec::Mmlu(own) => (&own.prompt, Box::new(mmlu::Mmlu)),
        DatasetSpec::Evalplus(own) => {
            let usual = desk.suite.demands.limits;
            let limits = CodeLimits {
                wall: seconds(own.timeout_seconds.unwrap_or(evalplus::SECONDS)),
                memory_mb: own.memory_mb.unwrap_or(evalplus::MEMORY_MB),
                return_mb: own.max_return_mb.or(Some(evalplus::RETURN_MB)),
                ..usual
            };
            let format = evalplus::Evalplus {
                limits,
                per_call: seconds(own.timeout_per_call.unwrap_or(evalplus::CALL_SECONDS)),
                time_factor: own.timeout_factor.unwrap_or(evalplus::TIME_FACTOR),
            };
            (&own.prompt, Box::new(format))
        }
        DatasetSpec::Ifeval(own) => (&own.prompt, Box::new(ifeval::IfEval)),
    };
    let prompt_at = node.locate("/prompt");
    let engine = TemplateEngine::new(&desk.suite.templates);
    let environment = engine.environment(false);
    if let Some(text) = prompt.as_deref() {
        if !engine.check(text, prompt_at, &["row"], desk.sources, desk.problems) {
            return None;
        }
        if let Err(error) = environment.template_from_named_str("prompt", text) {
            return desk.refuse(template::bad_template(&error, prompt_at));
        }
    }
    Some(Arc::new(BenchmarkRecipe {
        setting,
        environment,
        prompt: prompt.clone(),
        format,
        format_name: format_name(spec),
    }))
}

/// Fields that the records of only one format have.
const OWN_FIELDS: [(&str, &str); 11] = [
    ("evalplus", "plus_input"),
    ("bigcodebench", "complete_prompt"),
    ("livecodebench", "public_test_cases"),
    ("multipl_e", "stop_tokens"),
    ("humaneval_pack", "buggy_solution"),
    ("ds1000", "code_context"),
    ("code_contests", "public_tests"),
    ("apps", "input_output"),
    ("mbpp", "test_list"),
    ("mmlu", "choices"),
    ("ifeval", "instruction_id_list"),
];

/// The format whose records look like a record that does not fit the format of its dataset.
fn other_format(row: &Value, format: Option<&str>) -> Option<String> {
    let (name, field) = OWN_FIELDS
        .iter()
        .find(|(_, field)| row.get(field).is_some())?;
    // MBPP+ as text has the fields of MBPP, too.
    let is_own = format == Some(*name) || (format, *name) == (Some("evalplus"), "mbpp");
    (!is_own).then(|| {
        format!("the record has `{field}`, as those of `format: {name}` have; set that format")
    })
}

fn format_name(spec: &DatasetSpec) -> Option<Arc<str>> {
    let spec = serde_json::to_value(spec).ok()?;
    Some(spec.get("format")?.as_str()?.into())
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
    fn selects(&self, row: &Record) -> Result<bool, RowMisfit> {
        self.recipe.format.selects(row).map_err(RowMisfit::plain)
    }

    fn case(&mut self, row: Value, place: RowPlace) -> Result<Case, RowMisfit> {
        let data_hash = Fingerprint::of(&row);
        let task = self.task(&row, place.index).map_err(|message| RowMisfit {
            hint: other_format(&row, self.recipe.format_name.as_deref()),
            ..RowMisfit::plain(message)
        })?;
        Ok(Case {
            data_hash,
            ..self.recipe.case(task, place.line)
        })
    }
}

impl BenchmarkMaker<'_> {
    fn task(&self, row: &Value, index: usize) -> Result<BenchmarkTask, String> {
        let record = row.as_object().ok_or("not a JSON object")?;
        let mut task = self.recipe.format.task(record, index)?;
        if let Some(template) = &self.prompt {
            let context = minijinja::Value::from_pairs([("row", to_jinja(row))]);
            task.prompt = template
                .render(context)
                .map_err(|e| format!("the prompt's template fails: {e}"))?;
        }
        Ok(task)
    }
}

impl BenchmarkRecipe {
    fn case(&self, task: BenchmarkTask, line: usize) -> Case {
        let DatasetSetting { suite, header, .. } = &self.setting;
        let graders: Vec<Grader> = task
            .graders
            .into_iter()
            .enumerate()
            .map(|(index, grader)| Grader {
                metric: task.metrics.get(index).map(|name| (*name).to_owned()),
                ..Grader::of(GraderKind::Code(grader))
            })
            .collect();
        let demands = suite.demands.mark(&graders);
        let grading = CaseGrading {
            graders,
            combine: Combine::All,
            demands,
            python: None,
        };
        let input = CaseInput::Prompt {
            text: task.prompt,
            context: Some(task.context),
        };
        let made = ResolvedCase {
            input,
            grading,
            extract: match header.extract.is_empty() {
                true => task.extract,
                false => header.extract.clone(),
            },
            target: None,
            workspace: header
                .workspace
                .as_ref()
                .map(|workspace| Arc::clone(&workspace.settled)),
        };
        let mut case = assemble(suite, task.id, made, header, self.setting.origin(line));
        set_latency(&mut case, header.max_latency_ms);
        Case {
            name: task.name,
            context_told: true,
            solution: task.solution,
            tags: task.tags,
            dataset_format: self.format_name.clone(),
            ..case
        }
    }
}

/// How programs in Python are tested, for all records.
#[derive(Debug)]
struct PythonSettings {
    limits: CodeLimits,
    /// How many times its record's own solution a program may take.
    factor: Option<f64>,
    in_process: bool,
}

/// The program of one record.
struct PythonTask<'r> {
    prefix: String,
    tests: CodeTests,
    setup: String,
    entry_point: Option<String>,
    /// The record's own solution, and the key of it.
    solution: (Option<&'r str>, &'static str),
}

impl PythonSettings {
    /// `None` after reporting what is wrong.
    fn of(desk: &mut SuiteDesk, node: &Node, spec: &BenchmarkDataset) -> Option<PythonSettings> {
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
        Some(PythonSettings {
            limits,
            factor: spec.timeout_factor.filter(|factor| *factor > 1.0),
            in_process,
        })
    }

    /// An error says that a time limit needs a solution, and there is none.
    fn grader(&self, task: PythonTask<'_>) -> Result<CodeGrader, String> {
        let reference = match (self.factor, task.solution) {
            (None, _) => None,
            (Some(factor), (Some(code), _)) => Some(ReferenceSolution {
                code: code.to_owned(),
                factor,
            }),
            (Some(_), (None, key)) => return Err(format!("the record has no `{key}`")),
        };
        Ok(CodeGrader::CodeExecution(CodeExecution {
            executor: Executor::Python,
            prefix: task.prefix,
            tests: task.tests,
            setup: task.setup,
            suffix: String::new(),
            entry_point: task.entry_point,
            limits: self.limits,
            in_process: self.in_process,
            sandbox: true,
            reference,
        }))
    }
}
