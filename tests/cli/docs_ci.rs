//! The recipes of `docs/ci.md` can't lie: their YAML is read, and every `eval-harness` command line
//! in them by the program itself.

use std::path::Path;

use crate::support::Project;
use eval_harness::internals::{Problems, SourceFiles, tree};

const PAGES: [&str; 2] = ["docs/ci.md", "docs/notifications.md"];

fn page(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .expect("the page is there")
}

/// The fenced blocks of a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let open = format!("```{language}");
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in page.lines() {
        match &mut block {
            None if line == open => block = Some(String::new()),
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

/// The arguments of every call of the program in a page, with what CI fills in replaced by
/// something of its kind.
fn calls(page: &str) -> Vec<Vec<String>> {
    let filled = page
        .replace("${{ matrix.shard }}", "1")
        .replace("$CI_NODE_INDEX/$CI_NODE_TOTAL", "1/4")
        .replace("\"$RUN_ID\"", "eval-20260304-101500");
    let mut calls = Vec::new();
    for line in filled.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, _) in words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.trim_start_matches('`') == "eval-harness")
        {
            let ends = |word: &&&str| ["||", "&&", "|", ";", "\\"].contains(*word);
            let arguments = words.iter().skip(at + 1).take_while(|word| !ends(word));
            let arguments: Vec<String> = arguments
                .map(|word| word.trim_end_matches(['`', '.', ',', ';']).to_owned())
                .collect();
            if arguments.first().is_some_and(|verb| {
                [
                    "ci", "run", "report", "phase", "validate", "compare", "power",
                ]
                .contains(&verb.as_str())
            }) {
                calls.push(arguments);
            }
        }
    }
    calls
}

#[test]
fn every_recipe_is_yaml() {
    let mut jobs = 0;
    for path in PAGES {
        for block in blocks(&page(path), "yaml") {
            let mut sources = SourceFiles::new();
            let file = sources.add(path, block.as_str());
            let mut problems = Problems::new();
            let value = tree::parse(&sources, file, &mut problems).map(|node| node.to_json());
            let first = problems
                .iter()
                .next()
                .map(|problem| problem.message.clone());
            assert_eq!(first, None, "{path}:\n{block}");
            let value = value.expect("a document");
            assert!(value.is_object(), "{block}");
            jobs += usize::from(value.get("jobs").is_some());
        }
    }
    assert_eq!(jobs, 4);
}

#[test]
fn every_command_line_is_one() {
    let mut seen = 0;
    for path in PAGES {
        for call in calls(&page(path)) {
            // An argument that there is not, at the end: what stands before it is read first, and
            // nothing runs.
            let project = Project::new();
            let mut words: Vec<&str> = call.iter().map(String::as_str).collect();
            words.push("--no-such-argument");
            let refused = project.call(&words).expect(2);
            assert!(
                refused
                    .stderr
                    .contains("unexpected argument '--no-such-argument'"),
                "{path}: {words:?}: {}",
                refused.stderr
            );
            seen += 1;
        }
    }
    assert!(seen >= 9, "{seen}");
}

/// The lines of the recipe's step that joins shards, as a shell gets them.
fn join_script() -> String {
    let page = page("docs/ci.md");
    let (_, after) = page
        .split_once("- name: Join and gate\n        run: |\n")
        .expect("the step");
    let (script, _) = after.split_once("```").expect("its end");
    script
        .lines()
        .map(|line| format!("{}\n", line.trim_start()))
        .collect()
}

#[test]
fn shards_are_joined_as_the_page_says() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let eval = |id: &&str| {
        format!(
            "- id: {id}\n  input: {{type: prompt, content: x}}\n  expected: {{type: exact, value: x}}\n  grader: {{type: code, config: {{method: exact_match}}}}\n"
        )
    };
    let suite = "eval_suite:\n  name: s\n  target: {type: echo}\n  thresholds: {pass_rate: 1.0}\n  evals: [{$ref: evals.yaml}]\n";
    let evals: String = ids.iter().map(eval).collect();
    let mut shards = Vec::new();
    for part in ["1", "2", "3", "4"] {
        // Each shard on a machine of its own.
        let machine = Project::with(&[
            ("evals/eval-suite.yaml", suite),
            ("evals/evals.yaml", &evals),
        ]);
        let shard = format!("{part}/4");
        machine
            .call(&["run", "--suite", "evals/eval-suite.yaml", "--shard", &shard])
            .expect(0);
        shards.push(std::fs::read(machine.result(".journal.jsonl")).expect("a journal"));
    }
    let gate = Project::with(&[
        ("evals/eval-suite.yaml", suite),
        ("evals/evals.yaml", &evals),
    ]);
    for (at, journal) in shards.into_iter().enumerate() {
        let path = gate.write(
            &format!("shards/shard-{}/run-101500.journal.jsonl", at + 1),
            "",
        );
        std::fs::write(path, journal).expect("a file");
    }
    let program = Path::new(crate::support::PROGRAM)
        .parent()
        .expect("a folder");
    let path = format!(
        "{}:{}",
        program.display(),
        std::env::var("PATH").expect("a path")
    );
    let mut shell = std::process::Command::new("bash");
    // As GitHub calls it.
    shell
        .args(["-e", "-c", &join_script()])
        .current_dir(gate.path())
        .env("PATH", path)
        .env_remove("GITHUB_ACTIONS");
    crate::support::Call::of(shell.output().expect("bash starts")).expect(0);
    let joined = std::fs::read_to_string(gate.path().join("joined.md")).expect("the report");
    assert!(
        joined.starts_with("# ✅ PASS: s\n") && joined.contains("| **Evals** | 8 | 100 % | 8 |"),
        "{joined}"
    );
}

#[test]
fn the_channels_of_the_page_load() {
    let page = page("docs/notifications.md");
    let all = blocks(&page, "yaml");
    let suite = all.first().expect("a suite");
    let eval = "- id: a\n  input: {type: prompt, content: x}\n  expected: {type: exact, value: x}\n  grader: {type: code, config: {method: exact_match}}\n";
    let project = Project::with(&[
        ("suite.yaml", suite),
        ("evals/a.yaml", eval),
        ("scripts/page.sh", "#!/bin/sh\n"),
    ]);
    let call = project
        .call(&["validate", "--suite", "suite.yaml"])
        .expect(0);
    assert!(!call.stderr.contains("warning"), "{}", call.stderr);
    let notify = all.get(1).expect("a channel").replace('\n', "\n  ");
    let suite = suite.split("  notify:").next().expect("a head").to_owned();
    let suite = format!(
        "{suite}  {}\n  evals: [{{$ref: evals/a.yaml}}]\n",
        notify.trim_end()
    );
    project.write("other.yaml", &suite);
    project
        .call(&["validate", "--suite", "other.yaml"])
        .expect(0);
}
