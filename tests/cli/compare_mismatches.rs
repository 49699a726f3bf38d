//! Runs that are not each other's like: compared where it makes sense and said so, else refused
//! with words.

use std::process::Stdio;

use crate::compared::{Desk, Way, first, number};
use crate::support::eventually;
use eval_harness::internals::find_run;
use serde_json::{Value, json};

fn journal_of(desk: &Desk, run: &str) -> std::path::PathBuf {
    find_run(&desk.project.path().join("results"), run)
        .unwrap()
        .journal()
}

/// The counts of a comparison's kinds of cases.
fn counts(one: &Value) -> String {
    let cases = &one["cases"];
    let kinds = [
        "broken",
        "fixed",
        "still_failing",
        "new",
        "gone",
        "changed",
        "ungraded",
    ];
    let lists = kinds
        .iter()
        .map(|kind| format!("{kind} {}", cases[*kind]["count"]));
    let plain = [
        "compared",
        "still_passing",
        "not_selected",
        "other_samples",
        "changed_input",
        "changed_target",
        "allowed",
    ];
    let plain = plain.iter().map(|kind| format!("{kind} {}", cases[*kind]));
    let all: Vec<String> = plain
        .chain(lists)
        .filter(|text| !text.ends_with(" 0"))
        .collect();
    all.join(", ")
}

/// A page without its line breaks.
fn one_line(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn notes(one: &Value) -> String {
    let all = one["notes"].as_array().cloned().unwrap_or_default();
    all.iter()
        .filter_map(Value::as_str)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn another_suite_is_refused() {
    let desk = Desk::new(1, 6);
    let a = desk.run(1, first(6, 6), &[]);
    desk.write_suite("Other", |_, _| "ok".to_owned());
    let b = desk.run(1, first(6, 6), &[]);
    let call = desk.compare(&[&a, &b]).expect(2);
    assert!(
        call.stderr.contains("Desk") && call.stderr.contains("Other"),
        "{}",
        call.stderr
    );
    assert_eq!(call.stdout, "");
}

#[test]
fn a_changed_expectation_leaves_a_case_unpaired_unless_allowed() {
    let desk = Desk::new(2, 6);
    let a = desk.run(1, first(12, 6), &[]);
    // Two cases of e1 expect something else.
    desk.write_suite("Desk", |e, c| {
        if e == 1 && c < 2 {
            "sure".to_owned()
        } else {
            "ok".to_owned()
        }
    });
    let b = desk.run(1, first(12, 6), &[]);
    let said = desk.compared(&[&a, &b], 0);
    insta::assert_snapshot!(counts(&said["candidates"][0]), @"compared 10, still_passing 10, changed 2");
    assert_eq!(
        said["candidates"][0]["cases"]["changed"]["cases"][0]["changed"],
        json!(["grading"])
    );
    let said = desk.compared(&[&a, &b, "--allow-changed"], 0);
    insta::assert_snapshot!(counts(&said["candidates"][0]), @"compared 12, still_passing 10, allowed 2, broken 2");
    let page = desk.compare(&[&a, &b, "--allow-changed"]).expect(0).stdout;
    let words = "the data or grading of 2 of 12 cases (--allow-changed)";
    assert!(one_line(&page).contains(words), "{page}");
    assert!(page.contains("1/1 → 0/1, grading changed\n"), "{page}");
    // Every case changed: nothing is left to compare, and a gate that asks is open.
    desk.write_suite("Desk", |_, _| "sure".to_owned());
    let c = desk.run(1, first(12, 6), &[]);
    let call = desk.compare(&[&a, &c]);
    assert_eq!(call.code, Some(3), "{}", call.stderr);
    let words =
        "every case on both sides changed in data or grading; `--allow-changed` compares them";
    assert!(one_line(&call.stdout).contains(words), "{}", call.stdout);
}

#[test]
fn a_changed_prompt_is_compared_and_named() {
    let desk = Desk::new(2, 6);
    let a = desk.run(1, first(12, 6), &[]);
    desk.edit(
        "e0.yaml",
        "input: question",
        "input: please answer question",
    );
    let b = desk.run(
        1,
        first(0, 6),
        &["--compare-to", "previous", "--format", "json,markdown,html"],
    );
    let said = desk.compared(&[&a, &b], 1);
    let one = &said["candidates"][0];
    insta::assert_snapshot!(counts(one), @"compared 12, changed_input 6, broken 12");
    assert_eq!(
        (&said["verdict"], &one["sentences"][1]),
        (
            &"regression".into(),
            &"Changed since the reference: the input of 6 of 12 cases.".into()
        )
    );
    // The report of the run says the same, in each of its forms.
    assert_eq!(desk.reported()["cases"]["changed_input"], 6);
    let markdown = std::fs::read_to_string(desk.project.result(".md")).unwrap();
    assert!(
        markdown.contains("Changed since the reference: the input of 6 of 12 cases."),
        "{markdown}"
    );
    assert!(
        markdown.contains("❌ e0 › c0 (**critical**) | 1/1 → 0/1, input changed |"),
        "{markdown}"
    );
    let html = std::fs::read_to_string(desk.project.result(".html")).unwrap();
    assert!(html.contains("1/1 → 0/1, input changed"), "{}", html.len());
    let page = desk.compare(&[&a, &b]).expect(1).stdout;
    assert!(
        page.contains("e0 › c0 (critical) ")
            && page.contains("  1/1 → 0/1, input changed\n")
            && page.contains("e1 › c0 ")
            && page.contains("  1/1 → 0/1\n"),
        "{page}"
    );
}

#[test]
fn a_changed_variable_and_system_text_give_a_verdict() {
    let project = crate::support::Project::new();
    let suite = |system: &str| {
        format!(
            "eval_suite:\n  name: Prompts\n  vars: {{ask: Answer}}\n  target: {{type: command, command: [sh, -c, 'read line; echo \"$line {system}\"']}}\n  \
         evals:\n    - {{id: a, input: \"{{{{ ask }}}} one\", expected: {{type: exact, value: Answer one plain}}}}\n    \
         - {{id: b, input: two, expected: {{type: exact, value: two plain}}}}\n"
        )
    };
    project.write("eval-suite.yaml", &suite("plain"));
    project.call(&["run", "-q"]).expect(0);
    let call = project
        .call(&[
            "run",
            "--var",
            "ask=Say",
            "--compare-to",
            "previous",
            "--fail-on",
            "any",
        ])
        .expect(1);
    assert!(
        call.stdout
            .contains("Changed since the reference: the input of 1 of 2 cases."),
        "{}",
        call.stdout
    );
    project.write("eval-suite.yaml", &suite("otherwise"));
    let call = project
        .call(&["run", "--compare-to", "previous", "--fail-on", "any"])
        .expect(1);
    let page = one_line(&call.stdout);
    assert!(
        page.contains("the input of 1 of 2 cases, the target's settings."),
        "{page}"
    );
}

#[test]
fn a_changed_data_row_is_left_out_and_a_changed_template_is_not() {
    let project = crate::support::Project::new();
    let eval = |ask: &str| {
        format!(
            "metadata: {{id: d, name: D}}\ndataset:\n  path: rows.jsonl\n  format: jsonl\n  case:\n    id: \"{{{{ row.id }}}}\"\n    \
         input: \"{ask}{{{{ row.q }}}}\"\n    expected: {{type: exact, value: \"{{{{ row.a }}}}\"}}\n"
        )
    };
    project.write(
        "rows.jsonl",
        &(0..20)
            .map(|n| format!("{{\"id\": \"r{n}\", \"q\": \"{n}\", \"a\": \"{n}\"}}\n"))
            .collect::<String>(),
    );
    project.write("d.yaml", &eval(""));
    project.write(
        "eval-suite.yaml",
        "eval_suite:\n  name: Rows\n  target: {type: echo}\n  evals: [{$ref: d.yaml}]\n",
    );
    project.call(&["run", "-q"]).expect(0);
    // Another template over the same rows: every case has its pair.
    project.write("d.yaml", &eval("What is "));
    project.call(&["run", "-q"]).expect(1);
    let said = |args: &[&str], code| -> Value {
        let call = project
            .call(&[&["compare", "previous", "--format", "json"], args].concat())
            .expect(code);
        serde_json::from_str(&call.stdout).unwrap()
    };
    let one = said(&[], 1)["candidates"][0].take();
    insta::assert_snapshot!(counts(&one), @"compared 20, changed_input 20, broken 20");
    // Another row under the same id, with the same expectation.
    let rows = std::fs::read_to_string(project.path().join("rows.jsonl")).unwrap();
    project.write(
        "rows.jsonl",
        &rows.replace("\"q\": \"3\"", "\"q\": \"three\""),
    );
    project.call(&["run", "-q"]).expect(1);
    let one = said(&[], 0)["candidates"][0].take();
    insta::assert_snapshot!(counts(&one), @"compared 19, still_failing 19, changed 1");
    assert_eq!(
        one["cases"]["changed"]["cases"][0]["changed"],
        json!(["data"])
    );
    assert_eq!(one["cases"]["changed"]["cases"][0]["case_id"], "r3");
    let one = said(&["--allow-changed"], 0)["candidates"][0].take();
    insta::assert_snapshot!(counts(&one), @"compared 20, allowed 1, still_failing 20");
}

/// Accepted scores and journals of earlier versions know one fingerprint of the whole case.
#[test]
fn journals_without_parts_pair_only_what_is_wholly_the_same() {
    let desk = Desk::new(1, 6);
    let a = desk.run(1, first(6, 6), &[]);
    let text = std::fs::read_to_string(journal_of(&desk, &a)).unwrap();
    let without: String = text
        .lines()
        .map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            for case in event
                .pointer_mut("/cases_planned/cases")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                case.as_object_mut().unwrap().remove("data_hash").unwrap();
            }
            format!("{event}\n")
        })
        .collect();
    desk.project.write("old.journal.jsonl", &without);
    let b = desk.run(1, first(6, 6), &[]);
    assert_eq!(
        desk.compared(&["old.journal.jsonl", &b], 0)["candidates"][0]["cases"]["compared"],
        6
    );
    desk.edit(
        "e0.yaml",
        "input: question 0",
        "input: please answer question 0",
    );
    let c = desk.run(1, first(6, 6), &[]);
    let said = desk.compared(&["old.journal.jsonl", &c], 0);
    let one = &said["candidates"][0];
    insta::assert_snapshot!(counts(one), @"compared 5, still_passing 5, changed 1");
    assert_eq!(
        one["cases"]["changed"]["cases"][0]["changed"],
        json!(["input_or_grading"])
    );
    assert!(
        notes(one).contains("recorded by an earlier version"),
        "{}",
        notes(one)
    );
    assert_eq!(
        desk.compared(&["old.journal.jsonl", &c, "--allow-changed"], 0)["candidates"][0]["cases"]["compared"],
        6
    );
}

#[test]
fn accepted_scores_are_compared_over_a_changed_prompt() {
    let desk = Desk::new(1, 6);
    desk.run(1, first(6, 6), &[]);
    desk.project
        .call(&["baseline", "capture", "--scores"])
        .expect(0);
    desk.project
        .call(&["baseline", "accept", "--scores"])
        .expect(0);
    desk.edit(
        "e0.yaml",
        "input: question",
        "input: please answer question",
    );
    desk.record("outputs.jsonl", 1, first(0, 6));
    let call = desk
        .project
        .call(&[
            "run",
            "--outputs",
            "outputs.jsonl",
            "--baseline",
            "--fail-on",
            "any",
        ])
        .expect(1);
    assert!(
        call.stdout
            .contains("Changed since the reference: the input of all 6 cases."),
        "{}",
        call.stdout
    );
    assert!(
        desk.project
            .call(&["run", "--outputs", "outputs.jsonl", "--allow-changed"])
            .expect(2)
            .stderr
            .contains("`--allow-changed` requires a reference")
    );
}

#[test]
fn no_case_in_common_is_incomplete_and_shown() {
    let desk = Desk::new(2, 6);
    let a = desk.run(1, first(12, 6), &["--eval", "e0"]);
    let b = desk.run(1, first(12, 6), &["--eval", "e1"]);
    for word in ["significant", "any", "critical"] {
        let call = desk.compare(&[&a, &b, "--fail-on", word]).expect(3);
        assert!(
            call.stderr
                .contains("have no case in common (6 and 6 cases)"),
            "{}",
            call.stderr
        );
        assert!(
            call.stderr.contains("hint: cases are matched by eval id"),
            "{}",
            call.stderr
        );
        assert!(
            call.stdout
                .contains("no case is the same on both sides, so a regression can't"),
            "{}",
            call.stdout
        );
    }
    assert!(
        desk.compare(&[&a, &b, "--fail-on", "never"])
            .expect(0)
            .stdout
            .contains("no case is the same")
    );
    let said = desk.compared(&[&a, &b], 3);
    assert_eq!(
        (&said["decision"], &said["exit_code"]),
        (&"incomplete".into(), &3.into())
    );
    // Beside a candidate that can be compared, and is no worse.
    let again = desk.run(1, first(12, 6), &["--eval", "e0"]);
    let both = desk.compared(&[&a, &again, &b], 3);
    assert_eq!(both["candidates"][0]["cases"]["compared"], 6);
    assert_eq!(both["candidates"][1]["cases"]["compared"], 0);
}

#[test]
fn other_numbers_of_samples_are_compared_and_counted() {
    let desk = Desk::new(2, 6);
    let a = desk.run(1, first(10, 6), &[]);
    let b = desk.run(3, first(8, 6), &[]);
    let said = desk.compared(&[&a, &b, "--fail-on", "never"], 0);
    let one = &said["candidates"][0];
    insta::assert_snapshot!(counts(one), @"compared 12, still_passing 8, other_samples 12, broken 2, still_failing 2");
    let names: Vec<&str> = one["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|m| m["name"].as_str())
        .collect();
    assert!(
        names.contains(&"pass_at_1") && !names.contains(&"pass_at_3"),
        "{names:?}"
    );
    // What a verdict is to rest on must be there.
    let call = desk.compare(&[&a, &b, "--metric", "pass@3"]);
    assert!(matches!(call.code, Some(2 | 3)), "{:?}", call.code);
}

#[test]
fn a_part_of_a_suite_is_compared_over_the_cases_of_both() {
    let desk = Desk::new(2, 10);
    let whole = desk.run(1, first(20, 10), &[]);
    let one = desk.run(1, first(20, 10), &["--shard", "1/2"]);
    let two = desk.run(1, first(20, 10), &["--shard", "2/2"]);
    let some = desk.run(1, first(20, 10), &["--eval", "e0"]);
    let said = desk.compared(&[&whole, &one, &two, &some], 0);
    let all = said["candidates"].as_array().unwrap();
    let compared: Vec<f64> = all
        .iter()
        .map(|one| number(&one["cases"]["compared"]))
        .collect();
    assert_eq!(compared[0] + compared[1], 20.0);
    assert_eq!(compared[2], 10.0);
    for one in all {
        assert_eq!(
            number(&one["cases"]["compared"]) + number(&one["cases"]["not_selected"]),
            20.0,
            "{}",
            counts(one)
        );
        assert_eq!(number(&one["cases"]["gone"]["count"]), 0.0);
    }
    assert_eq!(all[0]["candidate"]["shards"].as_array().unwrap().len(), 1);
    // Two shards have no case in common.
    let call = desk.compare(&[&one, &two]).expect(3);
    assert!(
        call.stderr.contains("have no case in common ("),
        "{}",
        call.stderr
    );
    // Joined they are the whole run, in any order, as either side.
    for joined in [format!("{one}+{two}"), format!("{two}+{one}")] {
        let said = desk.compared(&[&joined, &whole], 0);
        let side = &said["candidates"][0]["reference"];
        assert_eq!(number(&said["candidates"][0]["cases"]["compared"]), 20.0);
        assert_eq!(
            (&side["shards"], &side["label"]),
            (&Value::Null, &joined.as_str().into())
        );
        assert_eq!(side["source"]["journals"].as_array().unwrap().len(), 2);
    }
    let call = desk.compare(&[&whole, &format!("{whole}+{one}")]).expect(2);
    assert!(call.stderr.contains("is not a shard"), "{}", call.stderr);
    let call = desk.compare(&[&whole, &format!("{one}+{one}")]).expect(2);
    assert!(
        call.stderr.contains("shard 1 is given twice"),
        "{}",
        call.stderr
    );
    let call = desk.compare(&[&whole, &format!("{one}+eval-1")]).expect(2);
    assert!(
        call.stderr.contains("`eval-1` can't be found"),
        "{}",
        call.stderr
    );
}

#[test]
fn a_shard_that_broke_off_in_its_plan_is_joined_with_none() {
    let desk = Desk::new(2, 10);
    let whole = desk.run(1, first(20, 10), &[]);
    let one = desk.run(1, first(20, 10), &["--shard", "1/2"]);
    let two = desk.run(1, first(20, 10), &["--shard", "2/2"]);
    let text = std::fs::read_to_string(journal_of(&desk, &two)).unwrap();
    let planned = text
        .lines()
        .take_while(|line| !line.starts_with("{\"sample_"))
        .count();
    for (lines, whole_plan) in [
        (1, false),
        (2, false),
        (planned, false),
        (planned + 1, true),
    ] {
        let cut: String = text
            .lines()
            .take(lines)
            .map(|line| format!("{line}\n"))
            .collect();
        desk.project.write("cut.journal.jsonl", &cut);
        let call = desk.compare(&[
            &whole,
            &format!("{one}+cut.journal.jsonl"),
            "--fail-on",
            "any",
        ]);
        // Its other cases are not gone: a gate must not pass without them.
        assert_eq!(
            call.code,
            Some(if whole_plan { 3 } else { 2 }),
            "{lines}: {}",
            call.stdout
        );
        let words = format!("shard 2 ({two}) was interrupted before its first sample");
        assert_eq!(
            call.stderr.contains(&words),
            !whole_plan,
            "{lines}: {}",
            call.stderr
        );
    }
}

#[test]
fn some_of_the_shards_are_joined_and_that_is_said() {
    let desk = Desk::new(3, 10);
    let whole = desk.run(1, first(30, 10), &[]);
    let one = desk.run(1, first(30, 10), &["--shard", "1/3"]);
    let two = desk.run(1, first(30, 10), &["--shard", "2/3"]);
    let said = desk.compared(&[&whole, &format!("{one}+{two}")], 0);
    let one = &said["candidates"][0];
    assert_eq!(one["candidate"]["shards"].as_array().unwrap().len(), 2);
    assert_eq!(
        number(&one["cases"]["compared"]) + number(&one["cases"]["not_selected"]),
        30.0
    );
}

#[test]
fn a_journal_that_breaks_off_counts_with_what_it_has() {
    let desk = Desk::new(2, 10);
    let whole = desk.run(1, first(18, 10), &[]);
    let text = std::fs::read(journal_of(&desk, &whole)).unwrap();
    let at = |needle: &str, nth: usize| {
        let text = String::from_utf8_lossy(&text).into_owned();
        text.match_indices(needle).nth(nth).unwrap().0
    };
    // In the middle of a line, at the end of one, and within the plan.
    for (name, end, fewest) in [
        ("torn", at("{\"sample_finished\"", 12) + 40, 12.0),
        ("cut", at("{\"sample_finished\"", 12), 12.0),
        ("early", at("{\"sample_finished\"", 0), 0.0),
    ] {
        let file = format!("{name}.journal.jsonl");
        std::fs::write(desk.project.path().join(&file), &text[..end]).unwrap();
        let call = desk.compare(&[&whole, &file, "--format", "json"]);
        let said: Value = serde_json::from_str(&call.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", call.stderr));
        let one = &said["candidates"][0];
        assert_eq!(one["candidate"]["interrupted"], true, "{name}");
        assert_eq!(
            number(&one["cases"]["compared"]),
            fewest,
            "{name}: {}",
            counts(one)
        );
        assert_eq!(
            number(&one["cases"]["ungraded"]["count"]),
            20.0 - fewest,
            "{name}"
        );
        assert_eq!(call.code, Some(3), "{name}: {}", call.stdout);
    }
    // Nothing was recorded, or only a part of the first line.
    for (name, bytes) in [("empty", &b""[..]), ("torn-first", &text[..100])] {
        let file = format!("{name}.journal.jsonl");
        std::fs::write(desk.project.path().join(&file), bytes).unwrap();
        let call = desk.compare(&[&whole, &file]).expect(2);
        assert!(
            call.stderr.contains("contains no run"),
            "{name}: {}",
            call.stderr
        );
    }
    // Garbage in the middle is no torn end.
    let broken = [
        &text[..at("{\"sample_finished\"", 3)],
        b"garbage\n",
        &text[at("{\"sample_finished\"", 3)..],
    ]
    .concat();
    std::fs::write(desk.project.path().join("broken.journal.jsonl"), broken).unwrap();
    let call = desk.compare(&[&whole, "broken.journal.jsonl"]).expect(2);
    assert!(
        call.stderr.contains("not a journal line"),
        "{}",
        call.stderr
    );
}

#[test]
fn a_run_that_is_under_way_or_was_killed_counts_with_what_it_has() {
    let desk = Desk::new(1, 6);
    let whole = desk.run(1, first(6, 6), &[]);
    desk.project.write("slow", "");
    let text = std::fs::read_to_string(desk.project.path().join("eval-suite.yaml")).unwrap();
    let suite = text
        .replace("{type: recorded, path: none.jsonl}", "{type: command, command: [sh, -c, \"cat > in.$$; while [ -e slow ] && grep -q 'question 4' in.$$; do touch waiting; sleep 0.05; done; echo ok\"]}");
    assert_ne!(suite, text);
    desk.project.write("eval-suite.yaml", &suite);
    let mut child = desk
        .project
        .command(&["run", "--jobs", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("a sample waits", || {
        desk.project.path().join("waiting").exists()
    });
    eventually("those before it are recorded", || {
        let text = std::fs::read_to_string(desk.journal()).unwrap_or_default();
        text.matches("{\"sample_finished\"").count() == 4
    });
    let running = desk.compared(&[&whole, "latest", "--fail-on", "any"], 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = desk.compared(&[&whole, "latest", "--fail-on", "any"], 3);
    for said in [&running, &killed] {
        let one = &said["candidates"][0];
        assert_eq!(number(&one["cases"]["compared"]), 4.0, "{}", counts(one));
        assert_eq!(number(&one["cases"]["ungraded_samples_candidate"]), 2.0);
        assert_eq!(one["candidate"]["interrupted"], true);
    }
    assert!(!notes(&killed["candidates"][0]).is_empty(), "{killed:#}");
    assert_eq!(running, killed);
}

#[test]
fn a_run_beside_itself_is_refused_and_one_without_grades_is_open() {
    let desk = Desk::new(1, 6);
    let a = desk.run(1, first(6, 6), &[]);
    let call = desk.compare(&[&a, "latest"]).expect(2);
    assert!(
        call.stderr
            .contains(&format!("{a} and latest are the same run")),
        "{}",
        call.stderr
    );
    assert!(
        call.stderr.contains("hint: compare two different runs"),
        "{}",
        call.stderr
    );
    let call = desk.compare(&[&a, &a]).expect(2);
    assert!(
        call.stderr
            .contains(&format!("{a} is both the reference and a candidate")),
        "{}",
        call.stderr
    );
    let way = |e: usize, c: usize, s: usize| {
        if c == 0 {
            Way::Lost
        } else {
            first(6, 6)(e, c, s)
        }
    };
    let b = desk.run(1, way, &[]);
    assert_eq!(
        desk.compared(&[&a, &b, "--fail-on", "any"], 3)["decision"],
        "incomplete"
    );
}

#[test]
fn a_pipe_and_a_suite_that_is_not_there_are_refused() {
    let desk = Desk::new(1, 6);
    let a = desk.run(1, first(6, 6), &[]);
    let pipe = desk.project.path().join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for word in ["pipe", "/dev/null"] {
        let call = desk.compare(&[word]).expect(2);
        assert!(
            call.stderr
                .contains("is not a regular file, so it can't be read twice"),
            "{}",
            call.stderr
        );
    }
    let call = desk.compare(&[&a, "--suite", "no.yaml"]).expect(2);
    assert!(
        call.stderr.contains("there is no suite no.yaml"),
        "{}",
        call.stderr
    );
}

#[test]
fn what_a_metric_lacks_is_said_and_not_that_nothing_was_graded() {
    let desk = Desk::new(1, 6);
    let (a, b) = (desk.run(1, first(6, 6), &[]), desk.run(1, first(6, 6), &[]));
    for (metric, words) in [
        (
            "pass@9",
            "no verdict: pass@9 is undefined: no pair of cases has it on both sides",
        ),
        (
            "tokens_per_sample",
            "no verdict: tokens_per_sample is undefined: no pair of cases has it on both sides",
        ),
    ] {
        let said = desk.compared(&[&a, &b, "--metric", metric], 3);
        assert_eq!(said["candidates"][0]["sentences"][0], words);
    }
}
