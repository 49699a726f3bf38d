use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::load::{LoadRequest, LoadedPlan, PlanPurpose, load};
use crate::model::{Case, Dependency, Plan, SolutionWork, WorkspaceFile, WorkspaceSource};

/// A project in a folder that is deleted with it.
struct Project {
    _dir: tempfile::TempDir,
    cwd: PathBuf,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let dir = tempfile::tempdir().expect("a folder");
        let cwd = dir.path().canonicalize().expect("a path");
        fs::create_dir(cwd.join(".git")).expect("a folder");
        let project = Project { _dir: dir, cwd };
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.cwd.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }

    fn load(&self, purpose: PlanPurpose) -> LoadedPlan {
        load(&LoadRequest {
            suite: "suite.yaml".into(),
            cwd: self.cwd.clone(),
            env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
            cpus: 1,
            purpose,
            ..LoadRequest::default()
        })
    }

    /// The cases of the first eval.
    fn cases(&self) -> Vec<Case> {
        let loaded = self.load(PlanPurpose::Validate);
        let plan = plan_of(&loaded);
        let cases = plan.evals[0].cases.all().expect("cases");
        cases.iter().map(|case| (**case).clone()).collect()
    }

    /// What the outputs of the first eval depend on.
    fn dependencies(&self) -> Vec<Dependency> {
        let loaded = self.load(PlanPurpose::Run);
        let plan = plan_of(&loaded);
        let info = &plan.evals[0].info;
        info.dependencies.clone().expect("dependencies").found
    }
}

fn plan_of(loaded: &LoadedPlan) -> &Plan {
    let plan = loaded.plan.as_ref();
    plan.unwrap_or_else(|| panic!("{:#?}", messages(loaded)))
}

fn messages(loaded: &LoadedPlan) -> Vec<&str> {
    let all = loaded.problems.iter();
    all.map(|problem| problem.message.as_str()).collect()
}

const SUITE: &str = "eval_suite:\n  name: s\n  target: {type: command, command: [cat]}\n";

/// A level of a suite: no key, null, or a workspace.
fn levels() -> impl Strategy<Value = Option<Value>> {
    let lone = |values: &'static [&'static str]| prop::option::of(prop::sample::select(values));
    let texts = |keys: &'static [&'static str], values: Vec<Value>| {
        let value = prop::sample::select(values);
        prop::option::of(prop::collection::btree_map(
            prop::sample::select(keys),
            value,
            0..3,
        ))
    };
    let list = |values: &'static [&'static str]| {
        prop::option::of(prop::collection::vec(prop::sample::select(values), 0..3))
    };
    let limit = || prop::option::of(16..20_u64);
    let settings = (
        lone(&["a", "b"]),
        texts(
            &["x", "y", "z"],
            vec![json!("1"), json!("2"), json!(null), json!({"file": "a/f"})],
        ),
        texts(&["X", "Y"], vec![json!("1"), json!("2")]),
        (
            list(&["up", "down"]),
            list(&["down"]),
            list(&["h/**", "i"]),
            list(&["p", "q/*"]),
        ),
        (
            lone(&["never", "failed", "always"]),
            lone(&["none", "all"]),
            lone(&["x", "y/z"]),
        ),
        (limit(), limit(), limit(), limit()),
    );
    let own = settings.prop_map(|(dir, files, env, lists, words, limits)| {
        let commands = |names: Option<Vec<&str>>| {
            names.map(|names| names.into_iter().map(|name| json!([name])).collect::<Vec<_>>())
        };
        let all = json!({
            "from": dir.map(|dir| json!({ "dir": dir })), "files": files, "env": env,
            "setup": commands(lists.0), "teardown": commands(lists.1), "hidden": lists.2, "protected": lists.3,
            "keep": words.0, "network": words.1, "cwd": words.2,
            "setup_timeout_seconds": limits.0, "memory_mb": limits.1, "disk_mb": limits.2, "processes": limits.3
        });
        let Value::Object(all) = all else { return all };
        all.into_iter().filter(|(_, value)| !value.is_null()).collect()
    });
    prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 6 => own.prop_map(Some)]
}

/// What a level makes of the workspace of the level above, by what the documentation says of keys.
fn naive(outer: Option<Map<String, Value>>, level: &Option<Value>) -> Option<Map<String, Value>> {
    let Some(level) = level else { return outer };
    let own = level.as_object()?;
    let mut all = outer.unwrap_or_default();
    for (key, value) in own {
        match (all.get_mut(key), value) {
            (Some(Value::Array(there)), Value::Array(own)) => there.extend(own.clone()),
            (Some(Value::Object(there)), Value::Object(own)) if key != "from" => {
                there.extend(own.clone());
            }
            _ => drop(all.insert(key.clone(), value.clone())),
        }
    }
    Some(all)
}

/// The serialised workspace that such a map means.
fn settled(all: &Map<String, Value>) -> Value {
    let or = |key: &str, usual: Value| all.get(key).cloned().unwrap_or(usual);
    let file = |value: &Value| match value {
        Value::Null => json!("absent"),
        Value::String(text) => json!({ "text": text }),
        _ => json!({ "file": { "name": "a/f" } }),
    };
    let files = or("files", json!({}));
    let files = files.as_object().expect("a map").iter();
    let files: Map<String, Value> = files
        .map(|(path, value)| (path.clone(), file(value)))
        .collect();
    json!({
        "source": all.get("from").map(|from| json!({ "dir": { "name": from["dir"] } })),
        "files": files, "env": or("env", json!({})), "cwd": or("cwd", json!("")),
        "setup": or("setup", json!([])), "teardown": or("teardown", json!([])),
        "setup_timeout": { "secs": or("setup_timeout_seconds", json!(600)), "nanos": 0 },
        "hidden": or("hidden", json!([])), "protected": or("protected", json!([])),
        "keep": or("keep", json!("never")), "network": or("network", json!("none")),
        "limits": {
            "memory_mb": or("memory_mb", json!(2048)), "disk_mb": or("disk_mb", json!(2048)),
            "processes": or("processes", json!(512))
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]
    #[test]
    fn levels_merge_as_a_naive_merge_does(suite in levels(), eval in levels(), case in levels()) {
        let with = |mut map: Value, level: &Option<Value>| {
            if let Some(level) = level {
                map["workspace"] = level.clone();
            }
            map
        };
        let case_map = with(json!({"id": "c", "input": "x", "expected": "y"}), &case);
        let eval_map = with(json!({"metadata": {"id": "e"}, "test_cases": [case_map]}), &eval);
        let target = json!({"type": "command", "command": ["cat"]});
        let suite_map = with(json!({"name": "s", "target": target, "evals": [eval_map]}), &suite);
        let project = Project::new(&[("a/f", ""), ("b/f", "")]);
        project.write("suite.yaml", &json!({"eval_suite": suite_map}).to_string());
        let found = project.cases()[0].workspace.as_deref().map(|workspace| json!(workspace));
        let expected = [&suite, &eval, &case].into_iter().fold(None, naive);
        prop_assert_eq!(found, expected.as_ref().map(settled));
    }
}

#[test]
fn paths_are_relative_to_the_file_that_names_them() {
    let project = Project::new(&[
        (
            "suite.yaml",
            &format!(
                "{SUITE}  workspace: {{from: {{dir: app}}, files: {{a: {{file: note.txt}}}}}}\n  evals: [{{$ref: evals/e.yaml}}]\n"
            ),
        ),
        (
            "evals/e.yaml",
            "metadata: {id: e}\nworkspace: {files: {b: {file: note.txt}}}\ntest_cases:\n\
             - {id: c, input: x, expected: y, workspace: {files: {d: {file: ../note.txt}}}}\n\
             - {id: d, input: x, expected: y}\n- {id: e, input: x, expected: y, workspace: ~}\n",
        ),
        ("app/main.py", ""),
        ("note.txt", ""),
        ("evals/note.txt", ""),
    ]);
    let cases = project.cases();
    let workspace = cases[0].workspace.as_ref().expect("a workspace");
    let of_app = WorkspaceSource::Dir {
        name: "app".into(),
        path: project.cwd.join("app"),
    };
    assert_eq!(workspace.source, Some(of_app));
    let file = |name: &str| WorkspaceFile::File {
        name: name.into(),
        path: project.cwd.join(name),
    };
    let named = [
        ("a", "note.txt"),
        ("b", "evals/note.txt"),
        ("d", "note.txt"),
    ];
    let named = named.map(|(path, name)| (path.to_owned(), file(name)));
    assert_eq!(workspace.files, named.into());
    let inherited = cases[1].workspace.as_ref().expect("a workspace");
    assert_eq!(inherited.files.len(), 2);
    assert_eq!(cases[2].workspace, None);
}

#[test]
fn every_shape_of_an_eval_takes_a_workspace() {
    let evals = "  evals:\n\
        \x20   - {id: a, input: x, expected: y, workspace: {files: {a: '{{ vars.v }}'}}}\n\
        \x20   - {id: b, current: {input: x}, baseline: y, workspace: {files: {a: '{{ vars.v }}'}}}\n\
        \x20   - {metadata: {id: c}, baseline: y, current: {input: x}, workspace: {files: {a: '{{ vars.v }}'}}}\n\
        \x20   - {metadata: {id: d}, workspace: {files: {a: '{{ vars.v }}'}}, test_cases: [{id: x, input: x, expected: y}]}\n";
    let project = Project::new(&[("suite.yaml", &format!("{SUITE}  vars: {{v: one}}\n{evals}"))]);
    let loaded = project.load(PlanPurpose::Run);
    let plan = plan_of(&loaded);
    assert_eq!(plan.evals.len(), 4);
    for eval in &plan.evals {
        let case = eval.cases.get(0).expect("a case").expect("whole");
        let files = &case.workspace.as_ref().expect("a workspace").files;
        assert_eq!(
            files["a"],
            WorkspaceFile::Text("one".into()),
            "{}",
            eval.info.id
        );
    }
}

#[test]
fn a_workspace_is_part_of_the_input() {
    let hash = |workspace: &str| {
        let project = Project::new(&[("repo/HEAD", ""), ("repo/objects/x", ""), ("f", "1")]);
        let text = format!(
            "{SUITE}  workspace: {workspace}\n  evals: [{{id: a, input: x, expected: y}}]\n"
        );
        project.write("suite.yaml", &text);
        let case = project.cases().remove(0);
        (case.input_hash, case.grading_hash)
    };
    let git = |commit: &str| format!("{{from: {{git: {{repo: repo, commit: {commit}}}}}}}");
    let all = [
        "~".to_owned(),
        "{}".to_owned(),
        "{files: {a: ''}}".to_owned(),
        "{files: {a: ~}}".to_owned(),
        "{files: {a: {file: f}}}".to_owned(),
        "{env: {A: b}}".to_owned(),
        "{memory_mb: 100}".to_owned(),
        git("abc"),
        git("abd"),
    ];
    let hashes: Vec<_> = all.iter().map(|workspace| hash(workspace)).collect();
    let distinct: std::collections::HashSet<_> = hashes.iter().map(|(input, _)| input).collect();
    assert_eq!(distinct.len(), all.len());
    assert!(hashes.iter().all(|(_, grading)| *grading == hashes[0].1));
    let bare = Project::new(&[(
        "suite.yaml",
        &format!("{SUITE}  evals: [{{id: a, input: x, expected: y}}]\n"),
    )]);
    assert_eq!(bare.cases()[0].input_hash, hashes[0].0);
}

fn of_rows(case: &str, rows: &str) -> Project {
    let project = Project::new(&[("r.jsonl", rows), ("one/f", ""), ("two/f", "")]);
    let evals = format!(
        "  evals:\n    - metadata: {{id: e}}\n      workspace: {{env: {{A: b}}}}\n      dataset:\n        path: r.jsonl\n        format: jsonl\n        case: {case}\n"
    );
    project.write("suite.yaml", &format!("{SUITE}{evals}"));
    project
}

#[test]
fn rows_fill_the_workspace() {
    let project = of_rows(
        "{id: '{{ row.id }}', input: x, expected: y, workspace: {from: {dir: '{{ row.dir }}'}, \
         files: {a: 'say {{ row.q }}', input: '{{ row.n }}', b: '{{ row.q }}', c: ~}, memory_mb: '{{ row.mb }}'}}",
        "{\"id\": 1, \"dir\": \"one\", \"q\": \"{{ x }}\", \"n\": 1.50, \"mb\": 99}\n\
         {\"id\": 2, \"dir\": \"two\", \"q\": \"b\", \"n\": true, \"mb\": 100}\n",
    );
    let cases = project.cases();
    let workspaces: Vec<Value> = cases
        .iter()
        .map(|case| json!(case.workspace.as_deref()))
        .collect();
    let short = |at: usize| {
        let all = &workspaces[at];
        json!([
            all["source"]["dir"]["name"],
            all["files"],
            all["env"],
            all["limits"]["memory_mb"]
        ])
    };
    assert_eq!(
        short(0),
        json!(["one", {"a": {"text": "say {{ x }}"}, "input": {"text": "1.50"}, "b": {"text": "{{ x }}"}, "c": "absent"}, {"A": "b"}, 99])
    );
    assert_eq!(
        short(1),
        json!(["two", {"a": {"text": "say b"}, "input": {"text": "true"}, "b": {"text": "b"}, "c": "absent"}, {"A": "b"}, 100])
    );
    // What rows name is what the eval depends on.
    let names: Vec<String> = project
        .dependencies()
        .into_iter()
        .map(|found| found.name)
        .collect();
    assert_eq!(names, ["one", "two"]);
}

/// Also numbers, which are words of the command.
#[test]
fn rows_fill_the_command_of_a_solution() {
    let project = of_rows(
        "{id: '{{ row.id }}', input: x, expected: y, solution: {command: [sh, '{{ row.s }}', '{{ row.n }}', 'n={{ row.n }}', '{{ row.b }}']}}",
        "{\"id\": 1, \"s\": \"a.sh\", \"n\": 1.50, \"b\": true}\n",
    );
    let cases = project.cases();
    let Some(SolutionWork::Command { argv, dir }) = cases[0].solution_work.as_deref() else {
        panic!("{:?}", cases[0].solution_work);
    };
    assert_eq!(argv, &["sh", "a.sh", "1.50", "n=1.5", "true"]);
    assert_eq!(*dir, project.cwd);
    let project = of_rows(
        "{id: '{{ row.id }}', input: x, expected: y, solution: {command: [sh, '{{ row.s }}']}}",
        "{\"id\": 1, \"s\": null}\n",
    );
    let loaded = project.load(PlanPurpose::Validate);
    let expected = "r.jsonl:1: element 2 of `command`: expected a text, found nothing";
    assert_eq!(messages(&loaded), [expected]);
}

/// A row leaves out no file and names no path, where the template has the content of a file.
#[test]
fn rows_give_texts_of_files_and_nothing_else() {
    let case =
        "{id: '{{ row.id }}', input: x, expected: y, workspace: {files: {a: '{{ row.q }}'}}}";
    for (value, found) in [
        ("null", "nothing"),
        ("{\"file\": \"one/f\"}", "a map"),
        ("[1]", "a list"),
    ] {
        let project = of_rows(case, &format!("{{\"id\": 1, \"q\": {value}}}\n"));
        let loaded = project.load(PlanPurpose::Validate);
        let expected = format!("r.jsonl:1: expected a text, found {found}");
        assert_eq!(messages(&loaded), [expected]);
    }
}

/// A case that is built again, when it is wanted, has the workspace that it had.
#[test]
fn rows_inherit_the_workspace_of_their_eval() {
    let rows: String = (0..20).map(|n| format!("{{\"id\": {n}}}\n")).collect();
    let own = ["", ", workspace: {keep: failed}", ", workspace: ~"];
    for (own, expected) in own.into_iter().zip([Some("never"), Some("failed"), None]) {
        let project = of_rows(
            &format!("{{id: '{{{{ row.id }}}}', input: 'x {{{{ row.id }}}}', expected: y{own}}}"),
            &rows,
        );
        let cases = project.cases();
        assert_eq!(cases.len(), 20);
        for case in cases {
            let keep = case
                .workspace
                .as_ref()
                .map(|workspace| json!(workspace.keep));
            assert_eq!(keep, expected.map(|word| json!(word)), "{own}");
        }
    }
}

#[test]
fn records_of_benchmarks_inherit_the_workspace() {
    let record = "{\"task_id\": \"t/0\", \"prompt\": \"def f():\\n\", \"entry_point\": \"f\", \"canonical_solution\": \"    return 1\\n\", \"test\": \"def check(f):\\n    assert f() == 1\\n\"}\n";
    let project = Project::new(&[("r.jsonl", record)]);
    let evals = "  workspace: {files: {a: b}}\n  evals: [{metadata: {id: e}, dataset: {path: r.jsonl, format: humaneval}}]\n";
    project.write("suite.yaml", &format!("{SUITE}{evals}"));
    let workspace = project.cases()[0].workspace.clone().expect("a workspace");
    assert_eq!(workspace.files["a"], WorkspaceFile::Text("b".into()));
}

fn hash_of<'d>(found: &'d [Dependency], name: &str) -> &'d str {
    let all: Vec<_> = found.iter().filter(|found| found.name == name).collect();
    assert_eq!(all.len(), 1, "{found:?}");
    &all[0].hash
}

#[test]
fn evals_depend_on_what_workspaces_are_made_of() {
    let project = Project::new(&[
        ("app/main.py", "1"),
        ("app/results/old.json", ""),
        ("lib.tar", "1"),
        ("note.txt", "1"),
    ]);
    let suite = format!(
        "{SUITE}  workspace: {{from: {{dir: app}}, files: {{a: {{file: note.txt}}}}}}\n  reporting: {{output_dir: app/results}}\n  \
         evals:\n    - metadata: {{id: e}}\n      config: {{depends_on: [app, note.txt]}}\n      test_cases:\n        \
         - {{id: a, input: x, expected: y}}\n        \
         - {{id: b, input: x, expected: y, workspace: {{from: {{dir: app}}}}}}\n        \
         - {{id: c, input: x, expected: y, workspace: {{from: {{archive: lib.tar}}}}}}\n"
    );
    project.write("suite.yaml", &suite);
    let app = project.cwd.join("app");
    let before = project.dependencies();
    let names: Vec<&str> = before.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["app", "lib.tar", "note.txt"]);
    assert_eq!(project.dependencies(), before);
    // Results of runs change all the time, and the history of the folder itself is not copied.
    project.write("app/results/new.json", "");
    project.write("app/.git/HEAD", "");
    assert_eq!(project.dependencies(), before);
    // A repository below the folder is a part of it.
    project.write("app/vendor/.git/HEAD", "");
    let before = project.dependencies();
    type Change<'c> = (&'c str, &'c dyn Fn());
    let program = |mode| {
        fs::set_permissions(app.join("main.py"), fs::Permissions::from_mode(mode)).expect("set");
    };
    let note = project.cwd.join("note.txt");
    let changes: [Change; 8] = [
        ("app", &|| project.write("app/main.py", "2")),
        ("app", &|| program(0o755)),
        ("app", &|| {
            fs::create_dir(app.join("empty")).expect("a folder")
        }),
        ("app", &|| {
            symlink("main.py", app.join("link")).expect("a link")
        }),
        ("app", &|| {
            fs::remove_file(app.join("link")).expect("removed");
            symlink("other.py", app.join("link")).expect("a link");
        }),
        ("lib.tar", &|| project.write("lib.tar", "2")),
        ("note.txt", &|| project.write("note.txt", "2")),
        ("note.txt", &|| {
            fs::set_permissions(&note, fs::Permissions::from_mode(0o755)).expect("set");
        }),
    ];
    let mut then = before;
    for (at, (name, change)) in changes.into_iter().enumerate() {
        change();
        let now = project.dependencies();
        for known in ["app", "lib.tar", "note.txt"] {
            let is_same = hash_of(&then, known) == hash_of(&now, known);
            assert_eq!(is_same, known != name, "{known} after change {at}");
        }
        then = now;
    }
    // What can't be read equals nothing.
    let fifo = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        app.join("pipe"),
        rustix::fs::FileType::Fifo,
        fifo,
        0,
    )
    .expect("a pipe");
    assert_eq!(hash_of(&project.dependencies(), "app"), "");
}

#[test]
fn templates_are_read_for_runs_only_and_watched() {
    let project = Project::new(&[("app/main.py", "1"), ("suite.yaml", "")]);
    project.write("suite.yaml", &format!("{SUITE}  workspace: {{from: {{dir: app}}}}\n  evals: [{{id: a, input: x, expected: y}}]\n"));
    let validated = project.load(PlanPurpose::Validate);
    let plan = validated.plan.as_ref().expect("a plan");
    assert_eq!(plan.evals[0].info.dependencies, None);
    assert!(plan.dependencies.stamps.0.is_empty());
    let read = project.cwd.join("app/deep/new.py");
    assert!(validated.read.matches(&read) && !validated.read.matches(Path::new("/x")));
    // Files that change while a run goes on are noticed.
    let plan = project.load(PlanPurpose::Run).plan.expect("a plan");
    assert_eq!(crate::load::files_changed_since_load(&plan), [""; 0]);
    project.write("app/main.py", "22");
    assert_eq!(
        crate::load::files_changed_since_load(&plan),
        ["app/main.py"]
    );
}

#[test]
fn the_isolation_of_a_target_is_part_of_it_only_where_it_is_set() {
    let target = |settings: &str| {
        let text = format!(
            "eval_suite:\n  name: s\n  target: {{type: command, command: [cat]{settings}}}\n  evals: [{{id: a, input: x, expected: y}}]\n"
        );
        let project = Project::new(&[("suite.yaml", &text)]);
        let plan = project.load(PlanPurpose::Run).plan.expect("a plan");
        serde_json::to_value(plan.target).expect("JSON")["command"].clone()
    };
    assert_eq!(target("").get("isolation"), None);
    assert_eq!(target(", isolation: none")["isolation"], "none");
    let both = target(", sandbox: true, isolation: sandbox");
    assert_eq!(
        (&both["sandbox"], &both["isolation"]),
        (&json!(true), &json!("sandbox"))
    );
}

#[test]
fn a_skill_inherits_its_isolation() {
    let isolation = |own: &str| {
        let text = format!(
            "eval_suite:\n  name: s\n  target: {{type: skill, skill_name: x{own}}}\n  skill: {{command: [cat], isolation: workspace}}\n  evals: [{{id: a, input: x, expected: y}}]\n"
        );
        let project = Project::new(&[("suite.yaml", &text)]);
        let plan = project.load(PlanPurpose::Run).plan.expect("a plan");
        serde_json::to_value(plan.target).expect("JSON")["skill"]["command"]["isolation"].clone()
    };
    assert_eq!(
        (isolation(""), isolation(", isolation: none")),
        (json!("workspace"), json!("none"))
    );
}
