//! `compare` by the program, on runs of chosen quality.

use std::path::Path;
use std::process::Command;

use crate::compared::{Desk, Way, first, number};
use crate::support::Call;
use eval_harness::internals::{ScoreBaselineResult, ScoreStore, ScoresOf, find_run, scores};
use serde_json::Value;

/// What a capture and an accept of the latest run leave.
fn accept(desk: &Desk) {
    let run = find_run(&desk.project.path().join("results"), "latest").unwrap();
    let ScoreBaselineResult::Taken(file) = scores(&run.journal()).unwrap() else {
        panic!("refused")
    };
    let store = ScoreStore::new(&desk.project.path().join("baselines"));
    let of = ScoresOf {
        suite: &file.suite.clone(),
        target: &file.target.name.clone(),
    };
    store.capture(*file).unwrap();
    store.accept(of, false).unwrap();
}

fn git(desk: &Desk, args: &[&str]) {
    let identity = [
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.com",
        "-c",
        "commit.gpgsign=false",
    ];
    let mut command = Command::new("git");
    let output = command
        .arg("-C")
        .arg(desk.project.path())
        .args(identity)
        .args(args)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A desk of 40 cases with a good run (36 pass) and a worse one (26 pass); their ids.
fn two() -> (Desk, String, String) {
    let desk = Desk::new(2, 20);
    let good = desk.run(1, first(36, 20), &[]);
    let bad = desk.run(1, first(26, 20), &[]);
    (desk, good, bad)
}

fn metric<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let metrics = comparison["metrics"].as_array().unwrap();
    metrics
        .iter()
        .find(|metric| metric["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {metrics:#?}"))
}

#[test]
fn a_regression_is_told_from_an_improvement_and_from_noise() {
    let (desk, good, bad) = two();
    let worse = desk.compared(&[&good, &bad], 1);
    assert_eq!(
        (&worse["verdict"], &worse["decision"]),
        (&"regression".into(), &"fail".into())
    );
    let one = &worse["candidates"][0];
    let pass = metric(one, "pass_at_1");
    assert_eq!(
        (number(&pass["reference"]), number(&pass["candidate"])),
        (0.9, 0.65)
    );
    assert!((number(&pass["difference"]) + 0.25).abs() < 1e-9, "{pass}");
    assert_eq!(pass["test"]["method"], "mcnemar_mid_p");
    // Ten flips, all of them lost: 2^-10, of which half counts.
    assert!(
        (number(&pass["test"]["p_worse"]) - 0.5f64.powi(11)).abs() < 1e-9,
        "{pass}"
    );
    assert_eq!(number(&one["cases"]["broken"]["count"]), 10.0);
    assert_eq!(one["cases"]["broken"]["cases"][0]["case_id"], "c6");

    let better = desk.compared(&[&bad, &good], 0);
    assert_eq!(
        (&better["verdict"], &better["decision"]),
        (&"improvement".into(), &"pass".into())
    );
    let same = desk.compared(&[&good, &desk.copy(&good)], 0);
    assert_eq!(
        (&same["verdict"], &same["decision"]),
        (&"none".into(), &"pass".into())
    );
    // The candidate is the latest run when none is named, and `previous` the one before it.
    let again = desk.compared(&["previous"], 1);
    assert_eq!(again["candidates"][0]["reference"]["run_id"], good.as_str());
    assert_eq!(again["candidates"][0]["candidate"]["run_id"], bad.as_str());
    assert_eq!(again["candidates"][0]["candidate"]["label"], "latest");
}

#[test]
fn each_word_of_fail_on_asks_another_question() {
    // Eval e0 is critical. One case of e1 breaks: nothing that chance does not do.
    let desk = Desk::new(2, 20);
    let good = desk.run(1, |_, _, _| Way::Pass, &[]);
    let plain = desk.run(
        1,
        |e, c, _| {
            if (e, c) == (1, 7) {
                Way::Fail
            } else {
                Way::Pass
            }
        },
        &[],
    );
    let critical = desk.run(
        1,
        |e, c, _| {
            if (e, c) == (0, 7) {
                Way::Fail
            } else {
                Way::Pass
            }
        },
        &[],
    );
    let open = desk.run(
        1,
        |e, c, _| {
            if (e, c) == (0, 7) {
                Way::Lost
            } else {
                Way::Pass
            }
        },
        &[],
    );
    let mut table = String::new();
    let same = desk.copy(&good);
    for (name, run) in [
        ("same", &same),
        ("plain", &plain),
        ("critical", &critical),
        ("open", &open),
    ] {
        for word in ["significant", "any", "critical", "never"] {
            let call = desk.compare(&[&good, run, "--fail-on", word, "--format", "json"]);
            let said: Value = serde_json::from_str(&call.stdout).unwrap();
            assert_eq!(
                number(&said["exit_code"]),
                f64::from(call.code.unwrap()),
                "{}",
                call.stdout
            );
            table.push_str(&format!(
                "{name:9} {word:12} {} {}\n",
                call.code.unwrap(),
                said["decision"]
            ));
        }
    }
    insta::assert_snapshot!(table, @r#"
    same      significant  0 "pass"
    same      any          0 "pass"
    same      critical     0 "pass"
    same      never        0 "pass"
    plain     significant  0 "pass"
    plain     any          1 "fail"
    plain     critical     0 "pass"
    plain     never        0 "pass"
    critical  significant  0 "pass"
    critical  any          1 "fail"
    critical  critical     1 "fail"
    critical  never        0 "pass"
    open      significant  0 "pass"
    open      any          3 "incomplete"
    open      critical     3 "incomplete"
    open      never        0 "pass"
    "#);
}

#[test]
fn samples_without_a_grade_on_either_side_leave_the_verdict_open() {
    let desk = Desk::new(2, 20);
    let good = desk.run(1, first(36, 20), &[]);
    // Six cases that passed have no grade now: were they lost, it would be a regression.
    let lost = desk.run(
        1,
        |e, c, _| {
            if e * 20 + c < 8 {
                Way::Lost
            } else {
                first(36, 20)(e, c, 0)
            }
        },
        &[],
    );
    let open = desk.compared(&[&good, &lost], 3);
    let one = &open["candidates"][0];
    assert_eq!(
        (&one["verdict"], &one["verdict_worst"], &open["decision"]),
        (&"none".into(), &"regression".into(), &"incomplete".into())
    );
    assert_eq!(number(&one["cases"]["ungraded"]["count"]), 8.0);
    assert_eq!(number(&one["cases"]["ungraded_samples_candidate"]), 8.0);
    // On the other side the cases were open before: had they failed, the candidate would be better;
    // passed, no worse.
    let open = desk.compared(&[&lost, &good], 0);
    assert_eq!(
        number(&open["candidates"][0]["cases"]["ungraded_samples_reference"]),
        8.0
    );
    let bad = desk.run(
        1,
        |e, c, _| {
            if e * 20 + c < 4 {
                Way::Fail
            } else {
                first(36, 20)(e, c, 0)
            }
        },
        &[],
    );
    let open = desk.compared(&[&lost, &bad], 3);
    assert_eq!(open["decision"], "incomplete");
}

#[test]
fn several_candidates_stand_beside_one_reference_and_share_the_chance_of_a_false_alarm() {
    let (desk, good, bad) = two();
    let alone = desk.compared(&[&good, &bad], 1);
    let both = desk.compared(&[&good, &desk.copy(&good), &bad], 1);
    assert_eq!(both["candidates"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&both["candidates"][0]["verdict"], &both["verdict"]),
        (&"none".into(), &"regression".into())
    );
    let p = |said: &Value, at: usize| {
        number(&metric(&said["candidates"][at], "pass_at_1")["test"]["p_worse_adjusted"])
    };
    assert!(
        (p(&both, 1) - 2.0 * p(&alone, 0)).abs() < 1e-12,
        "Holm over two candidates"
    );
}

#[test]
fn metrics_and_groups_that_are_named_are_tested_and_a_slip_is_answered() {
    let desk = Desk::new(2, 20);
    let good = desk.run(4, first(36, 20), &[]);
    let bad = desk.run(
        4,
        |e, c, s| {
            if e * 20 + c < 30 && s > 0 {
                Way::Pass
            } else {
                Way::Fail
            }
        },
        &[],
    );
    let said = desk.compared(
        &[
            &good, &bad, "--metric", "pass@2", "--metric", "score", "--by", "category",
        ],
        1,
    );
    let one = &said["candidates"][0];
    let decides: Vec<&str> = one["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|metric| metric["test"]["decides"] == true)
        .map(|metric| metric["name"].as_str().unwrap())
        .collect();
    assert_eq!(decides, ["pass_at_2", "score"]);
    let groups = one["groups"].as_array().unwrap();
    let category: Vec<&Value> = groups
        .iter()
        .filter(|group| group["by"] == "category")
        .collect();
    assert_eq!(category.len(), 2);
    assert!(
        category
            .iter()
            .all(|group| group["metric"]["test"]["decides"] == true),
        "{category:#?}"
    );

    for (args, words) in [
        (["--metric", "pas_rate"], "did you mean `pass_rate`?"),
        (
            ["--metric", "edit_rate"],
            "neither side has a metric `edit_rate`",
        ),
        (
            ["--by", "categry"],
            "expected one of `type`, `category`, `tag`, `eval`, `difficulty`",
        ),
        (["--effect", "2"], "write a share above 0 and below 1"),
        (["--resamples", "10"], "from 1000 to 1000000"),
        (
            ["--fail-on", "some"],
            "expected one of `significant`, `any`, `critical`, `never`",
        ),
    ] {
        let call = desk
            .compare(&[&[good.as_str(), &bad], &args[..]].concat())
            .expect(2);
        assert!(call.stderr.contains(words), "{words}: {}", call.stderr);
    }
}

#[test]
fn journals_from_elsewhere_need_no_suite_and_no_project() {
    let (desk, good, bad) = two();
    let elsewhere = tempfile::tempdir().unwrap();
    for (id, name) in [(&good, "base.jsonl"), (&bad, "head.journal.jsonl")] {
        let run = find_run(&desk.project.path().join("results"), id).unwrap();
        std::fs::copy(run.journal(), elsewhere.path().join(name)).unwrap();
    }
    let call = |args: &[&str]| {
        let mut command = desk.project.command(args);
        Call::of(command.current_dir(elsewhere.path()).output().unwrap())
    };
    let said = call(&[
        "compare",
        "base.jsonl",
        "head.journal.jsonl",
        "--format",
        "json",
    ])
    .expect(1);
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["verdict"], "regression");
    assert_eq!(
        said["candidates"][0]["reference"]["source"]["journals"][0],
        "base.jsonl"
    );
    assert_eq!(
        std::fs::read_dir(elsewhere.path()).unwrap().count(),
        2,
        "nothing is written"
    );
}

#[test]
fn accepted_scores_and_revisions_are_sides_like_runs() {
    let desk = Desk::new(2, 20);
    std::fs::remove_dir(desk.project.path().join(".git")).unwrap();
    git(&desk, &["init", "-q", "-b", "main"]);
    desk.project
        .write(".gitignore", "results/\noutputs.jsonl\n");
    let good = desk.run(1, first(36, 20), &[]);
    accept(&desk);
    git(&desk, &["add", "-A"]);
    git(&desk, &["commit", "-qm", "good"]);
    let middle = desk.run(1, first(31, 20), &[]);
    accept(&desk);
    let bad = desk.run(1, first(26, 20), &[]);

    let of = |said: &Value| {
        said["candidates"][0]["reference"]["run_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let revision = desk.compared(&["main"], 1);
    assert_eq!(of(&revision), good);
    let side = &revision["candidates"][0]["reference"];
    assert_eq!(side["source"]["score_baseline"]["rev"], "main");
    assert_eq!(
        side["source"]["score_baseline"]["path"],
        "baselines/scores/Desk.recorded.json"
    );
    assert_eq!(of(&desk.compared(&["HEAD~0"], 1)), good);
    let accepted = desk.compared(&["accepted"], 1);
    assert_eq!(of(&accepted), middle);
    // The same through the file, and through the run that it was taken from.
    let file = desk.compared(&["baselines/scores/Desk.recorded.json", &bad], 1);
    let run = desk.compared(&[&middle, &bad], 1);
    for other in [&file, &run] {
        let (a, b) = (&accepted["candidates"][0], &other["candidates"][0]);
        assert_eq!(metric(a, "pass_at_1"), metric(b, "pass_at_1"));
        assert_eq!(a["cases"]["broken"], b["cases"]["broken"]);
    }
    // Two revisions, and a candidate that is accepted.
    desk.compared(&["main", "accepted", "--fail-on", "never"], 0);
    desk.compared(&["main", "HEAD"], 0);
    // A word that is both is the file, and that is said.
    desk.project
        .write("main", &std::fs::read_to_string(desk.journal()).unwrap());
    let both = desk.compare(&["main", &bad]).expect(0);
    assert!(
        both.stderr
            .contains("`main` is both a file and a revision: the file is read"),
        "{}",
        both.stderr
    );
    assert_eq!(of(&desk.compared(&["main~0"], 1)), good);
    // Of another target nothing is accepted.
    let none = desk.compare(&["HEAD", "--target", "other"]).expect(2);
    assert!(
        none.stderr
            .contains("no accepted scores against target `other` at `HEAD`"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_word_that_means_nothing_is_answered_with_what_was_tried() {
    let desk = Desk::new(1, 3);
    let none = desk.compare(&["previous"]).expect(2);
    assert!(
        none.stderr.contains("there are no runs in"),
        "{}",
        none.stderr
    );
    let run = desk.run(1, first(3, 3), &[]);
    let shown = |args: &[&str]| {
        let call = desk.compare(args).expect(2);
        let root = desk.project.path().display().to_string();
        call.stderr
            .replace(&root, "ROOT")
            .replace(&run, "RUN")
            .replace(&run[..run.len() - 1], "RU")
    };
    insta::assert_snapshot!(shown(&["maim"]), @r"
    error: `maim` can't be found:
      - no file has this name
      - no run in ROOT/results has this id (the latest: RUN)
      - git revisions can't be read: ROOT is not in a git repository
    hint: write `latest`, `previous`, `accepted`, a run id, a path, or a git revision
    ");
    insta::assert_snapshot!(shown(&[&run[..run.len() - 1]]), @r"
    error: `RU` can't be found:
      - no file has this name
      - no run in ROOT/results has this id (the latest: RUN)
      - git revisions can't be read: ROOT is not in a git repository
    hint: did you mean `RUN`?
    ");
    insta::assert_snapshot!(shown(&["prevous"]), @r"
    error: `prevous` can't be found:
      - no file has this name
      - no run in ROOT/results has this id (the latest: RUN)
      - git revisions can't be read: ROOT is not in a git repository
    hint: did you mean `previous`?
    ");
    insta::assert_snapshot!(shown(&["previous"]), @r"
    error: there is no run of suite `Desk` against target `recorded` before RUN in ROOT/results
    hint: runs with different filters, shards and captures are ignored; pass a run id or the path of a journal (`eval-harness history --all-suites` lists the runs)
    ");
    insta::assert_snapshot!(shown(&["latest", "previous"]), @r"
    error: `previous` is the run before the candidate, so it can only be the reference
    hint: pass the candidate's run id; `eval-harness runs` lists them
    ");
    insta::assert_snapshot!(shown(&[&format!("{run}+other")]), @r"
    error: `other` can't be found:
      - no file has this name
      - no run in ROOT/results has this id (the latest: RUN)
    hint: write `latest`, `previous`, `accepted`, a run id, a path, or a git revision
    ");
    insta::assert_snapshot!(shown(&["eval-suite.yaml"]), @r"
    error: eval-suite.yaml is neither a journal nor a score baseline
    hint: a run writes its journal to the results folder (`run-....journal.jsonl`); `baseline accept --scores` writes a score baseline
    ");
    insta::assert_snapshot!(shown(&["results"]), @r"
    error: results is a folder
    hint: pass a journal in it (`run-....journal.jsonl`), or a score baseline
    ");
    insta::assert_snapshot!(shown(&["accepted"]), @r"
    error: suite `Desk` has no accepted scores against target `recorded`: there is no baselines/scores/Desk.recorded.json
    hint: `eval-harness baseline capture --scores --run RUN` captures those of a finished run, and `eval-harness baseline accept --scores` accepts them
    ");
    assert!(shown(&["-x"]).contains("unexpected argument '-x'"));
    let report = desk.project.result(".json");
    let report = report
        .strip_prefix(desk.project.path())
        .unwrap_or(&report)
        .display()
        .to_string();
    let call = desk.compare(&[&report]).expect(2);
    assert!(
        call.stderr.contains("is a report, not a journal"),
        "{}",
        call.stderr
    );
}

#[test]
fn the_same_runs_give_the_same_bytes_on_any_number_of_threads() {
    let desk = Desk::new(12, 10);
    // Groups of cases and several samples, so that everything is drawn that can be.
    let way = |salt: usize| {
        move |e: usize, c: usize, s: usize| match (e * 31 + c * 17 + s * 7 + salt) % 5 {
            0 => Way::Fail,
            _ => Way::Pass,
        }
    };
    let (a, b) = (desk.run(3, way(0), &[]), desk.run(3, way(1), &[]));
    for format in ["json", "human", "markdown", "comment"] {
        let on = |threads: &str| {
            let mut command = desk.project.command(&[
                "compare",
                &a,
                &b,
                "--format",
                format,
                "--by",
                "tag",
                "--metric",
                "score",
                "--resamples",
                "3000",
            ]);
            Call::of(command.env("RAYON_NUM_THREADS", threads).output().unwrap())
        };
        let one = on("1");
        assert!(matches!(one.code, Some(0 | 1)), "{}", one.stderr);
        assert!(!one.stdout.is_empty());
        assert_eq!(on("2").stdout, one.stdout, "{format}");
    }
    let seeded = |seed: &str| {
        desk.compare(&[
            &a,
            &b,
            "--format",
            "json",
            "--resamples",
            "1000",
            "--seed",
            seed,
        ])
        .stdout
    };
    assert_eq!(seeded("3"), seeded("3"));
    assert_ne!(seeded("3"), seeded("4"));
}

#[test]
fn json_fits_its_schema_and_a_file_is_written_whole() {
    let (desk, good, bad) = two();
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schemas/comparison.schema.json"
    ))
    .unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    for args in [
        &[good.as_str(), &bad][..],
        &[&good, &bad, &desk.copy(&good), "--by", "eval"],
        &[&bad, &good, "--fail-on", "never"],
    ] {
        let call = desk.compare(&[args, &["--format", "json"]].concat());
        let said: Value = serde_json::from_str(&call.stdout).unwrap();
        let problems: Vec<String> = schema
            .iter_errors(&said)
            .map(|error| error.to_string())
            .collect();
        assert!(problems.is_empty(), "{problems:?}");
    }
    assert!(!schema.is_valid(&serde_json::json!({"verdict": "none"})));
    for format in ["human", "json", "markdown", "comment"] {
        let shown = desk.compare(&[&good, &bad, "--format", format]).expect(1);
        let file = format!("out.{format}");
        let quiet = desk
            .compare(&[&good, &bad, "--format", format, "--output", &file])
            .expect(1);
        assert_eq!(quiet.stdout, "");
        assert_eq!(
            std::fs::read_to_string(desk.project.path().join(&file)).unwrap(),
            shown.stdout,
            "{format}"
        );
    }
    let call = desk
        .compare(&[&good, &bad, "--output", "no/such/folder/x"])
        .expect(3);
    assert!(call.stderr.contains("cannot write"), "{}", call.stderr);
}

#[test]
fn ten_thousand_cases_are_compared() {
    let desk = Desk::new(1, 10_000);
    let good = desk.run(1, first(9_000, 10_000), &[]);
    // The second run is the first one with 200 cases that failed: another 10,000 samples would take
    // longer to grade.
    let journal = std::fs::read_to_string(desk.journal()).unwrap();
    let worse = |case: usize| (8_800..9_000).contains(&case);
    let lines = journal.lines().map(|line| {
        let case = line
            .strip_prefix("{\"sample_finished\":{\"eval\":\"e0\",\"case\":\"c")
            .and_then(|rest| rest.split('"').next());
        match case.and_then(|case| case.parse().ok()).is_some_and(worse) {
            true => {
                line.replace(
                    "\"outcome\":\"passed\",\"score\":1.0",
                    "\"outcome\":\"failed\",\"score\":0.0",
                ) + "\n"
            }
            false => line.replace(&good, "eval-20300101-000000") + "\n",
        }
    });
    desk.project
        .write("bad.journal.jsonl", &lines.collect::<String>());
    let said = desk.compared(&[&good, "bad.journal.jsonl"], 1);
    assert_eq!(
        number(&said["candidates"][0]["cases"]["broken"]["count"]),
        200.0
    );
    // All of them are listed, not only the first.
    assert_eq!(
        said["candidates"][0]["cases"]["broken"]["cases"]
            .as_array()
            .unwrap()
            .len(),
        200
    );
}

#[test]
fn the_run_before_is_one_of_the_same_suite_and_target() {
    let desk = Desk::new(1, 4);
    let a = desk.run(1, first(4, 4), &[]);
    let shard = desk.run(1, first(4, 4), &["--shard", "1/2"]);
    desk.write_suite("Other", |_, _| "ok".to_owned());
    desk.run(1, first(4, 4), &[]);
    desk.write_suite("Desk", |_, _| "ok".to_owned());
    let b = desk.run(1, first(3, 4), &[]);
    let regrade = desk
        .project
        .call(&["regrade", "--run", &b, "-q", "--progress", "none"]);
    assert_eq!(regrade.code, Some(1), "{}", regrade.stderr);
    let regrade = desk.latest();
    assert!(b != regrade && shard != a);
    let before = |candidate: &str| {
        let said = desk.compared(&["previous", candidate, "--fail-on", "never"], 0);
        said["candidates"][0]["reference"]["run_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(before(&b), a);
    // What was graded again has the same outputs as its source: the run before is the one before
    // both.
    assert_eq!(before(&regrade), a);
    let c = desk.run(1, first(2, 4), &[]);
    assert_eq!(before(&c), regrade);
    let first = desk.compare(&["previous", &a]).expect(2);
    assert!(
        first
            .stderr
            .contains("there is no run of suite `Desk` against target `recorded` before"),
        "{}",
        first.stderr
    );
}

#[test]
fn a_page_of_a_real_comparison() {
    let (desk, good, bad) = two();
    let call = desk.compare(&[&good, &bad]).expect(1);
    assert!(call.stderr.is_empty(), "{}", call.stderr);
    for words in ["regression", "pass@1", "0.900", "0.650", "10 broken"] {
        assert!(call.stdout.contains(words), "{words}:\n{}", call.stdout);
    }
    assert!(
        call.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        call.stdout
    );
    assert!(!Path::new(&good).exists());
}
