//! The probes of one case, by what its graders take.

use serde_json::Value;

use super::languages::{self, CodeForm};
use super::probe::Probe;
use super::probe::ProbeMeaning;
use super::probe::ProbeMeaning::{Cheat, Null, ReferenceAgain};
use super::references::Reference;
use super::tests_read::{
    assertions, called_command, called_function, first_compared, first_expected,
};
use crate::graders::programs::CandidateCode;
use crate::model::{
    CallExpectation, Case, CaseInput, CodeGrader, CodeLimits, CodeTests, Executor, ExtractMethod,
    GraderKind, OutputValue, WantedRows,
};

/// The probes of a case, and what their verdicts are measured by.
#[derive(Debug, Default)]
pub(super) struct CaseProbes {
    /// The reference first, if there is one.
    pub probes: Vec<Probe>,
    /// Tests of the case; `None` where they can't be counted.
    pub tests: Option<usize>,
    /// What a program may take.
    pub limits: Option<CodeLimits>,
    /// The function that tests call.
    pub function: Option<String>,
}

/// Of a case that no model and no person judges.
pub(super) fn probes(case: &Case, reference: Option<&Reference>) -> CaseProbes {
    let mut made = CaseProbes::default();
    if let Some(reference) = reference {
        made.probes = twice(reference);
    }
    // What is said beside work in a workspace is not the answer.
    let reference = reference.filter(|reference| !reference.is_work());
    let reference = reference.map(|reference| &reference.output);
    if case.workspace.is_some() && case.grading.is_of_workspace() {
        made.probes.extend(workspace_probes());
        return made;
    }
    made.probes.push(Probe::text(Null, "empty output", ""));
    let graders = case
        .grading
        .graders
        .iter()
        .filter(|grader| !grader.informative);
    let code = graders.clone().find_map(|grader| match &grader.kind {
        GraderKind::Code(code) => Some((code, code.as_method().candidate_code()?)),
        _ => None,
    });
    match code {
        Some((grader, code)) => {
            made.limits = Some(code.settings().limits);
            program_probes(&mut made, case, grader, code, reference);
        }
        None => {
            made.probes
                .push(Probe::text(Null, "no answer in words", "I don't know."));
            let methods = ["json", "structural_match"];
            if graders
                .clone()
                .any(|grader| methods.contains(&grader.kind.method()))
            {
                made.probes
                    .push(Probe::text(Null, "empty JSON object", "{}"));
                made.probes.push(Probe::text(Null, "empty JSON list", "[]"));
            }
        }
    }
    if let Some(prompt) = prompt(&case.input) {
        made.probes
            .push(Probe::text(Cheat, "echo of the prompt", prompt));
    }
    without_right_answers(&mut made.probes, case, reference);
    made
}

/// Of a case whose judges are called alone. A negated judge may be right to pass what does not solve
/// the task, so it gets the reference only.
pub(super) fn judge_probes(reference: Option<&Reference>, negated: bool) -> CaseProbes {
    let mut probes: Vec<Probe> = reference.into_iter().flat_map(twice).take(1).collect();
    if !negated {
        probes.extend(super::judges::probes());
    }
    CaseProbes {
        probes,
        ..CaseProbes::default()
    }
}

/// Files that would decide what tests of several languages report. A template that has one of them
/// refuses it.
fn workspace_probes() -> [Probe; 5] {
    let file = |name: &'static str, path: &str, text: &str| {
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let count = text.lines().count();
        let patch = format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{lines}"
        );
        Probe::text(Cheat, name, patch)
    };
    [
        Probe::text(Null, "unchanged workspace", ""),
        file(
            "exit 0 in sitecustomize.py",
            "sitecustomize.py",
            "import os\nos._exit(0)",
        ),
        file(
            "assertions that hold in usercustomize.py",
            "usercustomize.py",
            "import unittest\nunittest.TestCase.assertEqual = lambda *_: None",
        ),
        file(
            "a conftest.py that passes all tests",
            "conftest.py",
            "def pytest_runtest_makereport(item, call):\n    from _pytest.reports import TestReport\n    call.excinfo = \
             None\n    return TestReport.from_item_and_call(item, call)",
        ),
        file(
            "results that are there already",
            "results/junit.xml",
            "<testsuite tests=\"1\"><testcase classname=\"a\" name=\"b\"/></testsuite>",
        ),
    ]
}

/// None of a reference that could not be made.
fn twice(reference: &Reference) -> Vec<Probe> {
    let probe = |meaning, name| Probe {
        work: reference.work.clone(),
        ..Probe::new(meaning, name, reference.output.clone())
    };
    match reference.not_made.is_some() {
        true => Vec::new(),
        false => vec![
            probe(ProbeMeaning::Reference, "reference"),
            probe(ReferenceAgain, "reference, second run"),
        ],
    }
}

/// A probe that equals the reference, or a literal that is expected, is a right answer.
fn without_right_answers(probes: &mut Vec<Probe>, case: &Case, reference: Option<&OutputValue>) {
    let text = |value: &OutputValue| match value {
        OutputValue::Text(text) | OutputValue::Program(text) => text.trim().to_owned(),
        OutputValue::Json(Value::String(text)) => text.trim().to_owned(),
        OutputValue::Json(json) => json.to_string(),
    };
    let right: Vec<String> = reference
        .map(text)
        .into_iter()
        .chain(
            case.expected
                .clone()
                .map(|value| text(&OutputValue::Json(value))),
        )
        .collect();
    probes.retain(|probe| {
        matches!(
            probe.label.meaning,
            ProbeMeaning::Reference | ReferenceAgain
        ) || !right.contains(&text(&probe.output))
    });
}

fn program_probes(
    made: &mut CaseProbes,
    case: &Case,
    grader: &CodeGrader,
    code: &dyn CandidateCode,
    reference: Option<&OutputValue>,
) {
    let executor = code.settings().executor;
    let solution = reference.and_then(|reference| match reference {
        OutputValue::Text(text) | OutputValue::Program(text) => Some(text.as_str()),
        OutputValue::Json(_) => None,
    });
    let mut form = CodeForm {
        has_prefix: code.continues_prefix(),
        ..CodeForm::default()
    };
    match grader {
        CodeGrader::CodeExecution(execution) => {
            form.function = execution.entry_point.as_deref();
            match &execution.tests {
                CodeTests::Check { code } => {
                    made.tests = assertions(code);
                    if *executor == Executor::Python {
                        form.constant = first_expected(code).map(str::to_owned);
                    }
                }
                // The null answers find out whether the record's program compares anything.
                CodeTests::AnswerText { code } => made.tests = assertions(code),
                CodeTests::Asserts { asserts } => {
                    made.tests = match asserts.as_slice() {
                        [one] if *executor == Executor::Python => assertions(one),
                        all => Some(all.len()),
                    };
                    let is_bash = *executor == Executor::Bash;
                    form.function = form.function.or(match is_bash {
                        true => called_command(asserts),
                        false => called_function(asserts, solution),
                    });
                    let first = asserts.iter().find_map(|test| match is_bash {
                        true => first_compared(test),
                        false => first_expected(test).filter(|_| *executor == Executor::Python),
                    });
                    form.constant = first.map(str::to_owned);
                }
                CodeTests::Stdio { cases, .. } => {
                    made.tests = Some(cases.len());
                    form.printed = cases
                        .first()
                        .map(|case| case.stdout.as_str())
                        .filter(|stdout| !stdout.is_empty());
                }
                // How many tests a program contains is not known.
                CodeTests::Program(tests) => {
                    form.opening = opening(&execution.prefix, &tests.definition);
                }
                CodeTests::Rows(rows) => {
                    made.tests = match &rows.wanted {
                        WantedRows::Rows(_) => Some(1),
                        WantedRows::Reference(_) => None,
                    };
                }
            }
        }
        CodeGrader::FunctionOutput(function) => {
            made.tests = Some(function.cases.len());
            form.function = Some(&function.function_name);
            form.constant = function.cases.iter().find_map(|call| match &call.expected {
                CallExpectation::Value(value) => languages::literal(executor, value),
                CallExpectation::OneOf(values) => languages::literal(executor, values.first()?),
                CallExpectation::Raises(_) | CallExpectation::Reference => None,
            });
        }
        _ => {}
    }
    made.function = form.function.map(str::to_owned);
    let probes = languages::probes(executor, &form);
    let takes_blocks = takes_blocks(&case.extract);
    let language = executor.fences().first().copied().unwrap_or_default();
    made.probes
        .extend(probes.into_iter().map(|probe| match probe.output {
            // What takes a block out of an answer finds none in a bare program.
            OutputValue::Program(code) if takes_blocks => Probe {
                output: OutputValue::Text(format!("```{language}\n{code}```\n")),
                ..probe
            },
            output => Probe { output, ..probe },
        }));
}

/// The end of a prefix, from the line that begins the definition of the function.
fn opening(prefix: &str, definition: &str) -> Option<String> {
    if definition.is_empty() {
        // Of a suite's own tests it is not known; an empty pattern would match any line.
        return None;
    }
    let definition = regex::Regex::new(definition).ok()?;
    let lines: Vec<&str> = prefix.lines().collect();
    let at = lines.iter().rposition(|line| definition.is_match(line))?;
    let mut text = lines.get(at..)?.join("\n");
    text.push('\n');
    Some(text)
}

fn takes_blocks(extract: &[ExtractMethod]) -> bool {
    extract
        .iter()
        .any(|step| matches!(step, ExtractMethod::CodeBlock { .. }))
}

/// What the target is asked, as text.
fn prompt(input: &CaseInput) -> Option<String> {
    match input {
        CaseInput::Prompt { text, .. } => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        CaseInput::Messages { messages, .. } => {
            messages.last().map(|message| message.content.clone())
        }
        CaseInput::Data { value } => Some(match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        }),
        CaseInput::File { .. } | CaseInput::ApiCall { .. } => None,
    }
}
