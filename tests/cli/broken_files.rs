//! One table of broken files: the code, the place and the hint of each stand still, and none panics
//! or hangs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use eval_harness::internals::{
    CheckRequest, Code, LoadOverrides, LoadRequest, LoadedPlan, PlanPurpose, Severity, check_files,
    load,
};

/// A file's name, its text, and what is said of it: `place severity slug: message | hint`.
struct Broken {
    name: &'static str,
    text: &'static str,
    said: &'static [&'static str],
}

fn table() -> Vec<Broken> {
    include!("broken_files/table.rs")
}

fn said(name: &str, bytes: &[u8]) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    fs::write(cwd.join(name), bytes).expect("written");
    fs::write(
        cwd.join("rows.jsonl"),
        "{\"id\": 1, \"q\": \"a\"}\n{\"id\": 1, \"q\": \"b\"}\nnope\n{\"id\": 3}\n",
    )
    .expect("written");
    fs::write(cwd.join("rows.csv"), "id,q\n1,a\n2\n").expect("written");
    fs::write(
        cwd.join("other.yaml"),
        "- id: x\n  input: hi\n  expected: ho\n",
    )
    .expect("written");
    let checked = check_files(&CheckRequest {
        paths: vec![name.into()],
        cwd,
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        ..CheckRequest::default()
    });
    let place = |p: &eval_harness::internals::Problem| match (p.span, &p.path) {
        (Some(span), _) => {
            let at = checked.sources.position(span);
            let file = checked.sources.display(span.file);
            if file == name {
                format!("{}:{}", at.line, at.column)
            } else {
                format!("{file}:{}:{}", at.line, at.column)
            }
        }
        (None, Some(path)) => path.to_string(),
        (None, None) => "-".to_owned(),
    };
    checked
        .problems
        .sorted()
        .iter()
        .map(|p| {
            let hint = p
                .hint
                .as_ref()
                .map(|h| format!(" | {h}"))
                .unwrap_or_default();
            let warns = if p.severity == Severity::Warning {
                "warning "
            } else {
                ""
            };
            format!("{} {warns}{}: {}{hint}", place(p), p.code.slug(), p.message)
        })
        .collect()
}

#[test]
fn every_broken_file_says_what_is_wrong_where_and_what_to_do() {
    let mut wrong = Vec::new();
    let table = table();
    assert!(table.len() >= 60, "{} files", table.len());
    for Broken {
        name,
        text,
        said: expected,
    } in &table
    {
        let found = said(name, text.as_bytes());
        if found != *expected {
            wrong.push(format!("{text}\n=> {found:#?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        table.len(),
        wrong.join("\n---\n")
    );
}

#[test]
fn hostile_bytes_are_refused_without_panic_or_delay() {
    let deep = "[".repeat(20_000);
    let deep_flow = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let deep_block: String = (0..20_000)
        .map(|n| format!("{}a:\n", " ".repeat(n.min(400))))
        .collect();
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let aliases = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{aliases}]\n"));
    }
    let huge = "x".repeat(100 << 20);
    let cases: Vec<(&str, &[u8], &str)> = vec![
        ("empty.yaml", b"", "empty-file"),
        ("space.yaml", b" \n\t\n", "empty-file"),
        ("comment.yaml", b"# nothing\n", "empty-file"),
        (
            "binary.yaml",
            &[0x7f, b'E', b'L', b'F', 0, 1, 2, 3],
            "encoding",
        ),
        ("latin1.yaml", b"- id: caf\xe9\n", "encoding"),
        ("utf16.yaml", b"\xff\xfe-\x00 \x00", "encoding"),
        ("deep.yaml", deep.as_bytes(), "too-deep"),
        ("deep-closed.yaml", deep_flow.as_bytes(), "too-deep"),
        ("deep-block.yaml", deep_block.as_bytes(), "too-deep"),
        ("bomb.yaml", bomb.as_bytes(), "expansion-bomb"),
        ("huge.yaml", huge.as_bytes(), "too-large"),
    ];
    for (name, bytes, slug) in cases {
        let begun = Instant::now();
        let found = said(name, bytes);
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{name} took {:?}",
            begun.elapsed()
        );
        assert!(
            found.iter().any(|line| line.contains(slug)),
            "{name}: {found:?}"
        );
        assert!(found.len() <= 3, "{name}: {found:?}");
    }
}

#[test]
fn a_byte_order_mark_and_other_line_ends_are_no_fault() {
    let text = "\u{feff}- id: a\r\n  input: hello\r\n  expected: ho\r\n  weigth: 1\r\n";
    let found = said("crlf.yaml", text.as_bytes());
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("4:3 unknown-key: "), "{found:?}");
}

fn suite(text: &str, overrides: LoadOverrides, purpose: PlanPurpose) -> LoadedPlan {
    let dir = tempfile::tempdir().expect("a folder");
    let cwd = dir.path().canonicalize().expect("a path");
    fs::create_dir(cwd.join(".git")).expect("a folder");
    fs::write(cwd.join("suite.yaml"), text).expect("written");
    fs::write(
        cwd.join("a.yaml"),
        "- id: a\n  input: hello\n  expected: hello\n  metadata: {tags: [fast]}\n",
    )
    .expect("written");
    fs::write(
        cwd.join("broken.yaml"),
        "- id: b\n  inptu: hello\n  expected: hello\n",
    )
    .expect("written");
    load(&LoadRequest {
        suite: Path::new("suite.yaml").into(),
        purpose,
        overrides,
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        cwd,
        cpus: 1,
        ..LoadRequest::default()
    })
}

/// What a run of a suite refuses, by code and place.
fn refused(text: &str, overrides: LoadOverrides) -> Vec<String> {
    let loaded = suite(text, overrides, PlanPurpose::Run);
    assert!(loaded.plan.is_none(), "a plan came of {text}");
    loaded
        .problems
        .sorted()
        .iter()
        .map(|p| {
            let at = p
                .span
                .map_or_else(|| "-".to_owned(), |s| loaded.sources.place(s));
            format!(
                "{at} {}: {}{}",
                p.code.slug(),
                p.message,
                p.hint
                    .as_ref()
                    .map(|h| format!(" | {h}"))
                    .unwrap_or_default()
            )
        })
        .collect()
}

const HEAD: &str = "eval_suite:\n  name: s\n  target: {type: echo}\n";

#[test]
fn suites_that_cannot_run_are_refused() {
    let with = |rest: &str| format!("{HEAD}{rest}");
    let plain = LoadOverrides::default;
    let mut lines = Vec::new();
    let mut look = |what: &str, text: String, overrides: LoadOverrides| {
        lines.push(format!("## {what}"));
        lines.extend(refused(&text, overrides));
    };
    look(
        "no target",
        "eval_suite:\n  name: s\n  evals: [{$ref: a.yaml}]\n".into(),
        plain(),
    );
    look(
        "two targets",
        "eval_suite:\n  name: s\n  targets: {x: {type: echo}, y: {type: echo}}\n  evals: [{$ref: a.yaml}]\n"
            .into(),
        plain(),
    );
    look(
        "wrong target",
        with("  evals: [{$ref: a.yaml}]\n"),
        LoadOverrides {
            target: Some("ecko".into()),
            ..plain()
        },
    );
    look(
        "missing file",
        with("  evals:\n    - $ref: aa.yaml\n"),
        plain(),
    );
    look(
        "circular",
        with("  evals:\n    - $ref: suite.yaml\n"),
        plain(),
    );
    look(
        "escaping",
        with("  evals:\n    - $ref: ../../etc/passwd\n"),
        plain(),
    );
    look("folder", with("  evals:\n    - $ref: .\n"), plain());
    look(
        "empty glob",
        with("  evals:\n    - $ref: evals/*.yaml\n"),
        plain(),
    );
    look(
        "bad glob",
        with("  evals:\n    - $ref: 'x[.yaml'\n"),
        plain(),
    );
    look(
        "fragment",
        with("  evals:\n    - $ref: a.yaml#b\n"),
        plain(),
    );
    look(
        "twice",
        with("  evals:\n    - $ref: a.yaml\n    - $ref: 'a*.yaml'\n"),
        plain(),
    );
    look(
        "same id",
        with("  evals:\n    - $ref: a.yaml\n    - {id: a, input: x, expected: y}\n"),
        plain(),
    );
    look(
        "broken file and broken suite",
        with("  evls: 1\n  evals:\n    - $ref: broken.yaml\n    - $ref: nope.yaml\n"),
        plain(),
    );
    look("no evals", with("  evals: []\n"), plain());
    look(
        "k above samples",
        with(
            "  config: {samples: 2, k: [1, 3]}\n  thresholds: {pass@3: 0.9}\n  evals: [{$ref: a.yaml}]\n",
        ),
        plain(),
    );
    look(
        "unknown metric",
        with("  thresholds: {pass_rte: 0.9}\n  evals: [{$ref: a.yaml}]\n"),
        plain(),
    );
    look(
        "percent",
        with("  thresholds: {pass_rate: 90}\n  evals: [{$ref: a.yaml}]\n"),
        plain(),
    );
    look(
        "no regressions",
        with("  thresholds: {regression_pass_rate: 0.9}\n  evals: [{$ref: a.yaml}]\n"),
        plain(),
    );
    look(
        "unknown preset",
        with("  preset: produktion\n  evals: [{$ref: a.yaml}]\n"),
        plain(),
    );
    look(
        "threshold option",
        with("  evals: [{$ref: a.yaml}]\n"),
        LoadOverrides {
            thresholds: vec!["pass_at_1".into(), "pas_rate=1".into(), "score=x".into()],
            ..plain()
        },
    );
    look(
        "undefined variable",
        with(
            "  vars: {model: m}\n  evals:\n    - {id: x, input: 'say {{ modle }} {{ vars.nope }}', expected: y}\n",
        ),
        plain(),
    );
    look(
        "secret",
        with("  evals:\n    - {id: x, input: 'say {{ env.HOME }}', expected: y}\n"),
        plain(),
    );
    look(
        "nothing selected",
        with("  evals: [{$ref: a.yaml}]\n"),
        LoadOverrides {
            filters: eval_harness::internals::CaseFilters {
                tag: vec!["fsat".into()],
                ..Default::default()
            },
            ..plain()
        },
    );
    look(
        "no default grader",
        with("  evals: [{$ref: a.yaml}]\n"),
        LoadOverrides {
            grader_type: Some(eval_harness::internals::GraderType::Model),
            ..plain()
        },
    );
    look("program", "eval_suite:\n  name: s\n  target: {type: command, command: [./solve.sh]}\n  evals: [{$ref: a.yaml}]\n".into(), plain());
    look(
        "recording",
        "eval_suite:\n  name: s\n  target: {type: recorded, path: nope.jsonl}\n  evals: [{$ref: a.yaml}]\n"
            .into(),
        plain(),
    );
    look(
        "unknown default",
        with("  graders: {defaults: {code: nope}}\n  evals: [{$ref: a.yaml}]\n"),
        plain(),
    );
    look(
        "unsandboxed",
        with(
            "  evals:\n    - id: x\n      input: y\n      grader: {type: code, config: {method: code_execution, asserts: ['assert f() == 1'], sandbox: false}}\n",
        ),
        plain(),
    );
    insta::assert_snapshot!(lines.join("\n"), @"
    ## no target
    suite.yaml:2:3 no-target: the suite has no target | add `target:`, or run with `--outputs FILE`
    ## two targets
    suite.yaml:3:3 no-target: the suite has several targets, and none has the name `default` | select one with `--target`: x, y; or call one `default`
    ## wrong target
    - unknown-target: `--target`: the suite has no target `ecko` | did you mean `echo`?
    ## missing file
    suite.yaml:5:13 missing-ref: the file `aa.yaml` does not exist | did you mean `a.yaml`?
    ## circular
    suite.yaml:5:13 circular-ref: `suite.yaml` refers back to the file that contains it
    ## escaping
    suite.yaml:5:13 escaping-ref: `../../etc/passwd` is outside the project | if that is intended, list the folder under `allow_paths:` in the suite
    ## folder
    suite.yaml:5:13 bad-path: `.` is a folder, not a file | name the files in it: `./*.yaml`
    ## empty glob
    suite.yaml:5:13 empty-glob: `evals/*.yaml` matches no file | paths are relative to the file that contains them; `**` crosses folders
    ## bad glob
    suite.yaml:5:13 bad-glob: `x[.yaml` is not a glob: unclosed character class; missing ']'
    ## fragment
    suite.yaml:5:13 bad-fragment: the file has no eval `b` | the file's evals are a
    ## twice
    suite.yaml:6:13 duplicate-id: the eval `a` is referenced twice | remove it from one of the references
    ## same id
    suite.yaml:6:12 duplicate-id: two evals have the id `a` | the first one is at a.yaml:1:7
    ## broken file and broken suite
    suite.yaml:4:3 unknown-key: unknown key `evls` | valid keys: `allow_paths`, `baselines`, `check`, `config`, `description`, `env`, `evals`, `executors`, `graders`, `max_regressions`, `metrics`, `name`, `notify`, `preset`, `presets`, `prices`, `prompts`, `providers`, `reporting`, `sandbox`, `skill`, `target`, `targets`, `thresholds`, `vars`, `version`, `workspace`
    suite.yaml:7:13 missing-ref: the file `nope.yaml` does not exist | paths are relative to the file that contains them
    broken.yaml:2:3 unknown-key: unknown key `inptu` | did you mean `input`?
    ## no evals
    suite.yaml:4:3 wrong-length: `evals` must not be empty
    ## k above samples
    suite.yaml:4:27 k-above-samples: pass@3 needs 3 samples per case, but `a` has 2 | raise `samples` to 3, or lower `k`
    suite.yaml:5:16 k-above-samples: `pass@3` needs at least 3 samples per case, but `a` has 2 | raise `samples` to 3, or remove it: the thresholds then determine it
    ## unknown metric
    suite.yaml:4:16 unknown-metric: `pass_rte` is not a metric | did you mean `pass_rate`?
    ## percent
    suite.yaml:4:27 out-of-range: a threshold on `pass_rate` must be between 0 and 1, not 90 | write 0.9 for 90 %
    ## no regressions
    suite.yaml:4:16 unknown-metric: this suite cannot produce `regression_pass_rate`: it has no regression eval
    ## unknown preset
    suite.yaml:4:11 unknown-preset: unknown preset `produktion` | did you mean `production`?
    ## threshold option
    - unknown-metric: `--threshold pass_at_1` is not METRIC=VALUE | for example `pass@1=0.9` or `pass_rate[tag=critical]=1`
    - unknown-metric: `--threshold score=x`: `x` is not a number
    - unknown-metric: `--threshold`: `pas_rate` is not a metric | did you mean `pass_rate`?
    ## undefined variable
    suite.yaml:6:30 undefined-variable: `modle` is not defined | did you mean `model`?
    suite.yaml:6:42 undefined-variable: `vars.nope` is not defined | define it under `vars:` in the suite, or pass `--var`; write `{% raw %}{{ ... }}{% endraw %}` for literal braces
    ## secret
    suite.yaml:5:30 secret-not-listed: `env.HOME` is read, but the suite does not list `HOME` under `env:` | add `env: [HOME]` to the suite
    ## nothing selected
    - empty-cases: `--tag fsat` matches nothing in this suite | did you mean `fast`?
    ## no default grader
    - unknown-grader: `--grader-type model`: 1 selected case has no model grader, and the suite has no default for it: first `a` of `a` | set one under `graders: {defaults: {model: NAME}}`, or select other evals
    ## program
    suite.yaml:3:36 bad-command: the program `./solve.sh` cannot be found | a path with a slash is relative to the suite's folder
    ## recording
    suite.yaml:3:34 missing-ref: the file `nope.jsonl` of recorded outputs does not exist | the path is relative to the file that contains it
    ## unknown default
    suite.yaml:4:30 unknown-grader: unknown grader `nope`
    ## unsandboxed
    suite.yaml:7:91 unavailable-here: `sandbox: false` runs the output's code with your permissions | to allow this, pass `--allow-unsandboxed` to `run`
    ");
}

#[test]
fn what_a_run_would_mind_only_warns_while_files_are_looked_at() {
    let loaded = suite(
        "eval_suite:\n  name: s\n  evals: [{$ref: a.yaml}]\n",
        LoadOverrides::default(),
        PlanPurpose::Validate,
    );
    let codes: Vec<(Code, Severity)> = loaded
        .problems
        .iter()
        .map(|p| (p.code, p.severity))
        .collect();
    assert_eq!(codes, [(Code::NoTarget, Severity::Warning)]);
    assert!(loaded.plan.is_some_and(|plan| plan.target.is_none()));
}
