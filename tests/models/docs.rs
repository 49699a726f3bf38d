//! The recipes of `docs/models.md` load as they stand.

use std::collections::BTreeMap;
use std::path::Path;

use eval_harness::internals::{Code, LoadOverrides, LoadRequest, PlanPurpose, Severity, load};

/// The YAML blocks of the page.
fn blocks() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/models.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in page.lines() {
        match &mut block {
            None if line == "```yaml" => block = Some(String::new()),
            None => {}
            Some(_) if line == "```" => found.extend(block.take()),
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    assert!(block.is_none(), "a block is not closed");
    found
}

/// A block as a suite: whole ones as they are, parts with the least that they lack.
fn suite(block: &str) -> String {
    if block.starts_with("eval_suite:") {
        return block.to_owned();
    }
    let indented: String = block.lines().map(|line| format!("  {line}\n")).collect();
    let mut text = format!("eval_suite:\n  name: s\n{indented}");
    if !block.contains("target:") {
        text.push_str("  target: {type: model, model: gpt-x}\n");
    }
    if !block.contains("evals:") {
        text.push_str("  evals:\n    - {id: e, input: x, expected: y}\n");
    }
    text
}

#[test]
fn every_recipe_loads() {
    let record = concat!(
        r#"{"task_id": "HumanEval/0", "prompt": "def f():\n", "entry_point": "f", "canonical_solution": "    return 1\n", "#,
        r#""test": "def check(candidate):\n    assert candidate() == 1\n"}"#,
    );
    let all = blocks();
    assert!(all.len() >= 16, "{}", all.len());
    for block in all {
        let dir = tempfile::tempdir().expect("a folder");
        let cwd = dir.path().canonicalize().expect("a path");
        std::fs::write(cwd.join("suite.yaml"), suite(&block)).expect("written");
        std::fs::write(cwd.join("humaneval.jsonl"), record).expect("written");
        let loaded = load(&LoadRequest {
            suite: "suite.yaml".into(),
            purpose: PlanPurpose::Validate,
            overrides: LoadOverrides::default(),
            env: BTreeMap::new(),
            cwd,
            cpus: 4,
            ..LoadRequest::default()
        });
        let said: Vec<String> = loaded
            .problems
            .iter()
            // Neither the agents' programs nor the certificates of others are here.
            .filter(|p| {
                p.severity == Severity::Error
                    || !matches!(p.code, Code::BadCommand | Code::MissingRef)
            })
            .map(|p| format!("{}: {}", p.code.slug(), p.message))
            .collect();
        assert!(said.is_empty(), "{block}\n{said:?}");
        assert!(loaded.plan.is_some());
    }
}
