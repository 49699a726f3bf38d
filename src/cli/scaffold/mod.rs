//! The files that `init` and `new` write. Pure: paths and texts, nothing touches a disk.

use std::path::{Component, Path, PathBuf};

use crate::cli::args::{InitTemplate, NewKind};
use crate::load::published_schema;
use crate::spec::SchemaKind;

/// The files of a new project with recorded answers, as they are beside this module.
const ASSISTANT: [(&str, &str); 8] = [
    ("evals/eval-suite.yaml", include_str!("eval-suite.yaml")),
    ("evals/config/graders.yaml", include_str!("graders.yaml")),
    (
        "evals/config/thresholds.yaml",
        include_str!("thresholds.yaml"),
    ),
    (
        "evals/capability/arithmetic.yaml",
        include_str!("arithmetic.yaml"),
    ),
    (
        "evals/capability/support-answers.yaml",
        include_str!("support-answers.yaml"),
    ),
    (
        "evals/regression/order-status.yaml",
        include_str!("order-status.yaml"),
    ),
    (
        "evals/recordings/assistant.jsonl",
        include_str!("assistant.jsonl"),
    ),
    // What waits for somebody to accept it, and what a writer that was killed leaves, is nobody
    // else's.
    (
        "baselines/.gitignore",
        "*.pending.yaml\n*.pending.json\n*.pending.output.json\n.eval-harness-*.tmp\n",
    ),
];

/// The files of a new project with a command that edits files.
const WORKSPACE: [(&str, &str); 6] = [
    (
        "evals/eval-suite.yaml",
        include_str!("workspace/eval-suite.yaml"),
    ),
    ("evals/tasks.yaml", include_str!("workspace/tasks.yaml")),
    ("evals/agent.py", include_str!("workspace/agent.py")),
    ("evals/app/slug.py", include_str!("workspace/app/slug.py")),
    (
        "evals/app/tests/test_slug.py",
        include_str!("workspace/app/tests/test_slug.py"),
    ),
    (
        "evals/app/tests/hidden_slug.py",
        include_str!("workspace/app/tests/hidden_slug.py"),
    ),
];

/// The files of a new project with a coding agent: those of the suite `evals/agents`, whose recording
/// is of the same prompt.
const AGENT: [(&str, &str); 9] = [
    (
        "evals/eval-suite.yaml",
        include_str!("agent/eval-suite.yaml"),
    ),
    ("evals/tasks.yaml", include_str!("agent/tasks.yaml")),
    (
        "evals/agent.py",
        include_str!("../../../evals/agents/agent.py"),
    ),
    (
        "evals/recordings/agents/python3-2a8e195c/anthropic%3Aclaude-sonnet-4-5/slugs/repeated-separators/0-0.jsonl",
        include_str!(
            "../../../evals/agents/recordings/agents/python3-2a8e195c/anthropic%3Aclaude-sonnet-4-5/slugs/fixed/0-0.jsonl"
        ),
    ),
    (
        "evals/app/slug.py",
        include_str!("../../../evals/workspaces/python/slug.py"),
    ),
    ("evals/app/tests/__init__.py", ""),
    (
        "evals/app/tests/test_slug.py",
        include_str!("../../../evals/workspaces/python/tests/test_slug.py"),
    ),
    ("evals/app/tests/hidden/__init__.py", ""),
    (
        "evals/app/tests/hidden/test_edges.py",
        include_str!("../../../evals/workspaces/python/tests/hidden/test_edges.py"),
    ),
];

/// Schemas that the first line of a template may name, so that an editor completes and checks the
/// file.
const SCHEMAS: [SchemaKind; 4] = [
    SchemaKind::Suite,
    SchemaKind::Eval,
    SchemaKind::Graders,
    SchemaKind::Thresholds,
];

/// What coding agents are told of this program, and the name of the skill, which its folder has,
/// too.
pub const SKILL: &str = include_str!("../../../skill/SKILL.md");
pub const SKILL_NAME: &str = "eval-harness";

/// The rows of a new dataset.
pub const ROWS: &str = include_str!("new-dataset.jsonl");

/// Every file of a suite that runs offline as it is: paths relative to the project (with `/`) and
/// their texts.
pub fn init_files(template: InitTemplate) -> Vec<(String, String)> {
    let templates: &[_] = match template {
        InitTemplate::Assistant => &ASSISTANT,
        InitTemplate::Workspace => &WORKSPACE,
        InitTemplate::Agent => &AGENT,
    };
    let templates = templates
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let schemas = SCHEMAS.iter().map(|kind| {
        (
            format!("schemas/{}.schema.json", kind.name()),
            format!("{:#}\n", published_schema(*kind)),
        )
    });
    templates.chain(schemas).collect()
}

/// The text of a new eval; `path` is where the file will be.
pub fn new_eval(kind: NewKind, id: &str, path: &Path) -> String {
    let template = match kind {
        NewKind::Capability => include_str!("new-capability.yaml"),
        NewKind::Regression => include_str!("new-regression.yaml"),
        NewKind::Code => include_str!("new-code.yaml"),
        NewKind::Judge => include_str!("new-judge.yaml"),
        NewKind::Dataset => include_str!("new-dataset.yaml"),
    };
    let rows = rows_beside(path);
    let rows = rows.file_name().unwrap_or_default().to_string_lossy();
    let mut text = String::new();
    // Names are filled in one pass: an id is any text, and may hold such a name.
    for (at, part) in template.split("__").enumerate() {
        match part {
            "SCHEMA" if at % 2 == 1 => text.push_str(&schema_beside(path)),
            "ROWS" if at % 2 == 1 => text.push_str(&yaml_text(&rows)),
            "ID" if at % 2 == 1 => text.push_str(&yaml_text(id)),
            other => text.push_str(other),
        }
    }
    text
}

/// The data file of a new dataset, beside its eval file.
pub fn rows_beside(path: &Path) -> PathBuf {
    match path.extension().is_some_and(|end| end == "jsonl") {
        true => path.with_extension("rows.jsonl"),
        false => path.with_extension("jsonl"),
    }
}

/// The way from a file in the project to `schemas/` at its top. Of a path whose depth is not known:
/// from `evals/KIND/`.
pub fn schema_beside(path: &Path) -> String {
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let depth = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .count();
    let up = if plain && depth > 0 { depth - 1 } else { 2 };
    format!("{}schemas/eval.schema.json", "../".repeat(up))
}

/// A double-quoted YAML text.
fn yaml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_that_a_template_names_is_written_too() {
        for (template, all) in [
            (InitTemplate::Assistant, 6),
            (InitTemplate::Workspace, 2),
            (InitTemplate::Agent, 2),
        ] {
            let files = init_files(template);
            let mut named = 0;
            for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".yaml")) {
                let first = text.lines().next().unwrap();
                let schema = first
                    .strip_prefix("# yaml-language-server: $schema=")
                    .expect(path);
                let depth = path.matches('/').count();
                let at_top = schema.strip_prefix(&"../".repeat(depth)).expect(path);
                assert!(
                    files.iter().any(|(path, _)| path == at_top),
                    "{path}: {schema}"
                );
                named += 1;
            }
            assert_eq!(named, all);
        }
    }

    #[test]
    fn a_new_eval_carries_its_id_and_finds_its_schema() {
        let text = new_eval(
            NewKind::Capability,
            "say \"hi\"\n",
            Path::new("evals/capability/x.yaml"),
        );
        assert!(
            text.starts_with("# yaml-language-server: $schema=../../schemas/eval.schema.json\n"),
            "{text}"
        );
        assert!(text.contains("id: \"say \\\"hi\\\"\\u000a\"\n"), "{text}");
        let text = new_eval(NewKind::Regression, "r", Path::new("r.yaml"));
        assert!(
            text.starts_with("# yaml-language-server: $schema=schemas/eval.schema.json\n"),
            "{text}"
        );
        assert!(
            text.contains("id: \"r\"\n") && text.contains("baseline:"),
            "{text}"
        );
        let text = new_eval(NewKind::Regression, "r", Path::new("/elsewhere/r.yaml"));
        assert!(
            text.starts_with("# yaml-language-server: $schema=../../schemas/"),
            "{text}"
        );
        assert!(!text.contains("__"), "{text}");
    }
}
