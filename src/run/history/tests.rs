//! Histories of journals that the tests write, against a naive recount of the same outcomes.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::journal::{JournalWriter, RunPaths};
use crate::model::testing::{eval, run_started};
use crate::model::*;
use eval_base::clock::rfc3339;
use eval_base::redact::Redactor;

/// A run to be written: what it says of itself, and how each case ended.
#[derive(Debug, Clone)]
struct Written {
    /// Hours after the beginning of 2026-03-01.
    hour: i64,
    suite: &'static str,
    target: &'static str,
    commit: Option<(&'static str, bool)>,
    filters: Vec<String>,
    shard: Option<Shard>,
    regrade_of: Option<String>,
    capture: bool,
    ended: bool,
    /// By eval the cases with their outcomes.
    cases: Vec<(&'static str, Vec<(&'static str, Outcome)>)>,
}

fn written(hour: i64, cases: &[(&'static str, &[(&'static str, Outcome)])]) -> Written {
    Written {
        hour,
        suite: "Suite",
        target: "solver",
        commit: Some(("c1", false)),
        filters: Vec::new(),
        shard: None,
        regrade_of: None,
        capture: false,
        ended: true,
        cases: cases
            .iter()
            .map(|(eval, cases)| (*eval, cases.to_vec()))
            .collect(),
    }
}

fn cause_of(outcome: Outcome) -> Option<Cause> {
    match outcome {
        Outcome::Failed => Some(Cause::WrongAnswer),
        Outcome::Errored => Some(Cause::TargetTimeout),
        _ => None,
    }
}

impl Written {
    fn started(&self, paths: &RunPaths, timestamp: String) -> RunStarted {
        let git = self.commit.map(|(commit, dirty)| GitState {
            commit: commit.into(),
            dirty,
        });
        let started = run_started();
        RunStarted {
            run: RunIdentity {
                run_id: paths.run_id.clone(),
                timestamp,
                suite_name: self.suite.into(),
                environment: Environment {
                    target: self.target.into(),
                    target_type: "echo".into(),
                    git,
                    ..Environment::default()
                },
                filters: self.filters.clone(),
                shard: self.shard,
                regrade_of: self.regrade_of.clone(),
                ..started.run
            },
            target_hash: self.target.into(),
            whole_hash: "w".into(),
            capture: self.capture,
            ..started
        }
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (id, cases) in &self.cases {
            let info = EvalInfo {
                kind: EvalType::Regression,
                ..eval(id, EvalCases::written(Vec::new())).info
            };
            events.push(Event::EvalPlanned(EvalPlanned {
                eval: info,
                cases: cases.len(),
            }));
            let planned = |(case, _): &(&str, Outcome)| CasePlanned {
                input_hash: "i".into(),
                grading_hash: "g".into(),
                ..testing::planned_case(case, 1)
            };
            let cases = cases.iter().map(planned).collect();
            events.push(Event::CasesPlanned(CasesPlanned {
                eval: (*id).into(),
                cases,
            }));
        }
        for (id, cases) in &self.cases {
            for (case, outcome) in cases
                .iter()
                .filter(|(_, outcome)| *outcome != Outcome::Skipped)
            {
                events.push(finished(id, case, *outcome));
            }
        }
        if self.ended {
            events.push(Event::RunFinished(RunFinished {
                timestamp: String::new(),
                duration_seconds: 1.0,
                interrupted: false,
                history: Vec::new(),
                expired_graces: None,
                changed_files: Vec::new(),
            }));
        }
        events
    }

    fn write(&self, results: &Path) -> RunPaths {
        let start: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        let at = start + jiff::SignedDuration::from_hours(self.hour);
        let paths = RunPaths::create(results, at).unwrap();
        let mut journal = JournalWriter::open(&paths.journal(), Redactor::default()).unwrap();
        let started = self.started(&paths, rfc3339(at));
        journal
            .append(Event::RunStarted(Box::new(started)))
            .unwrap();
        for event in self.events() {
            journal.append(event).unwrap();
        }
        paths
    }
}

fn finished(eval: &str, case: &str, outcome: Outcome) -> Event {
    let score = outcome
        .is_graded()
        .then_some(if outcome == Outcome::Passed { 1.0 } else { 0.0 });
    let verdict = Verdict {
        outcome,
        score,
        cause: cause_of(outcome),
        reason: "said".into(),
        grades: vec![],
        not_run: Vec::new(),
    };
    Event::SampleFinished(Box::new(SampleFinished {
        eval: eval.into(),
        case: case.into(),
        sample: 0,
        attempts: vec![Attempt {
            output: Some(Output::text("an output")),
            latency_ms: Some(10.0),
            duration_ms: 10.0,
            ..testing::attempt(verdict)
        }],
        finished_at: String::new(),
        reused_from: None,
    }))
}

fn read(results: &Path) -> RunHistory {
    history(
        results,
        &HistoryRequest {
            threads: 2,
            ..HistoryRequest::default()
        },
    )
}

/// Outcomes of each eval by run, as `p`, `f`, `e`, `s`; `(` marks a part.
fn outcomes(group: &HistoryGroup) -> BTreeMap<&str, String> {
    let mut rows: BTreeMap<&str, String> = BTreeMap::new();
    for eval in group.runs.iter().flat_map(|run| &run.evals) {
        let row = rows.entry(&eval.id).or_default();
        if eval.partial {
            row.push('(');
        }
        row.push(eval.outcome.name().chars().next().unwrap());
    }
    rows
}

const P: Outcome = Outcome::Passed;
const F: Outcome = Outcome::Failed;

#[test]
fn captures_are_left_out_and_regrades_take_the_place_of_their_runs() {
    let dir = tempfile::tempdir().unwrap();
    let first = written(0, &[("a", &[("1", F)]), ("b", &[("1", P), ("2", F)])]).write(dir.path());
    let capture = Written {
        capture: true,
        ..written(1, &[("a", &[("1", P)])])
    }
    .write(dir.path());
    written(2, &[("a", &[("1", F)]), ("b", &[("1", P), ("2", P)])]).write(dir.path());
    // Of the first run again, eval `b` only in part; and of the capture.
    let of = |paths: &RunPaths| Some(paths.run_id.clone());
    let part = &[("a", &[("1", P)] as &[_]), ("b", &[("2", P)])];
    Written {
        regrade_of: of(&first),
        filters: vec!["x".into()],
        ..written(3, part)
    }
    .write(dir.path());
    Written {
        regrade_of: of(&capture),
        ..written(4, &[("a", &[("1", F)])])
    }
    .write(dir.path());
    let history = read(dir.path());
    assert_eq!(
        (history.left_out.captures, history.warnings.len()),
        (2, 0),
        "{:?}",
        history.warnings
    );
    let [group] = &history.groups[..] else {
        panic!("{:?}", history.groups)
    };
    assert_eq!(
        outcomes(group),
        BTreeMap::from([("a", "pf".into()), ("b", "fp".into())])
    );
    let run = &group.runs[0];
    assert_eq!(
        (run.run_id.as_str(), run.regraded_by.len(), run.gate),
        (first.run_id.as_str(), 1, None)
    );
    assert_eq!((run.counts.passed, run.counts.failed), (1, 1));
    assert!(group.runs.iter().all(PastRun::is_whole));
    let (records, _) = eval_records(dir.path(), "Suite", 1);
    let a = &records["a"];
    assert_eq!((a.runs, a.passes, a.failure_count), (2, 1, 1));
    assert_eq!(a.last_passed.as_deref(), Some("2026-03-01T00:00:00.000Z"));
    assert_eq!(a.last_failed.as_deref(), Some("2026-03-01T02:00:00.000Z"));
}

#[test]
fn a_regrade_whose_run_is_gone_stands_for_itself_and_one_cut_off_counts_not() {
    let dir = tempfile::tempdir().unwrap();
    let gone = Written {
        regrade_of: Some("eval-20200101-000000".into()),
        ..written(0, &[("a", &[("1", P)])])
    };
    gone.write(dir.path());
    let run = written(1, &[("a", &[("1", F)])]).write(dir.path());
    let cut = Written {
        regrade_of: Some(run.run_id.clone()),
        ended: false,
        ..written(2, &[("a", &[("1", P)])])
    };
    cut.write(dir.path());
    let history = read(dir.path());
    assert_eq!(outcomes(&history.groups[0])["a"], "pf");
    insta::assert_snapshot!(history.warnings.join("\n"), @r"
    run eval-20260301-020000 did not finish: it was interrupted or is still running; its recorded samples count
    the regrade eval-20260301-020000 did not finish; the outcomes before it still count
    ");
}

#[test]
fn a_clock_that_was_set_back_turns_nothing_around() {
    let dir = tempfile::tempdir().unwrap();
    let run = written(5, &[("a", &[("1", F)])]).write(dir.path());
    // The regrade, and a regrade of that, bear earlier times than the run.
    let of = |paths: &RunPaths| Some(paths.run_id.clone());
    let first = Written {
        regrade_of: of(&run),
        ..written(3, &[("a", &[("1", F)])])
    }
    .write(dir.path());
    Written {
        regrade_of: of(&first),
        ..written(2, &[("a", &[("1", P)])])
    }
    .write(dir.path());
    let history = read(dir.path());
    assert_eq!(
        (
            outcomes(&history.groups[0])["a"].as_str(),
            history.groups[0].runs.len()
        ),
        ("p", 1)
    );
    assert_eq!(history.groups[0].runs[0].regraded_by.len(), 2);
    // One whose run is gone stands at its own time, and `--last` goes by time.
    let gone = || Some("eval-20200101-000000".to_owned());
    Written {
        regrade_of: gone(),
        ..written(1, &[("a", &[("1", F)])])
    }
    .write(dir.path());
    assert_eq!(outcomes(&read(dir.path()).groups[0])["a"], "fp");
    let request = HistoryRequest {
        last: Some(1),
        threads: 1,
        ..HistoryRequest::default()
    };
    let last = super::history(dir.path(), &request);
    assert_eq!(
        (
            outcomes(&last.groups[0])["a"].as_str(),
            last.left_out.earlier
        ),
        ("p", 1)
    );
}

#[test]
fn shards_count_as_one_run_when_all_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let shard = |hour, index, case, outcome| Written {
        shard: Some(Shard { index, of: 2 }),
        ..written(hour, &[("a", &[(case, outcome)])])
    };
    shard(0, 2, "2", F).write(dir.path());
    shard(1, 1, "1", P).write(dir.path());
    // The second time only one of them.
    shard(2, 1, "1", P).write(dir.path());
    let history = read(dir.path());
    let group = &history.groups[0];
    assert_eq!(outcomes(group)["a"], "f(p");
    let [run, lone] = &group.runs[..] else {
        panic!("{:?}", group.runs)
    };
    assert_eq!(
        (
            run.cases.total,
            run.shard.is_some(),
            run.joined.len(),
            run.gate
        ),
        (2, false, 1, Some(Decision::Fail))
    );
    assert_eq!(run.timestamp, "2026-03-01T00:00:00.000Z");
    assert_eq!(
        (lone.cases.total, lone.shard.is_some(), lone.gate),
        (1, true, Some(Decision::Undecided))
    );
    assert_eq!(group.trend().left_out, 1);
    assert_eq!(group.evals()["a"].partial, 1);
}

#[test]
fn an_eval_of_which_a_filter_took_cases_is_a_part() {
    let dir = tempfile::tempdir().unwrap();
    let filtered = |hour, cases: &[(&'static str, &[(&'static str, Outcome)])]| Written {
        filters: vec!["case 1".into()],
        ..written(hour, cases)
    };
    filtered(0, &[("a", &[("1", P)]), ("b", &[("1", P)])]).write(dir.path());
    written(1, &[("a", &[("1", P), ("2", F)]), ("b", &[("1", P)])]).write(dir.path());
    filtered(2, &[("a", &[("1", P), ("2", P)]), ("b", &[("1", F)])]).write(dir.path());
    let history = read(dir.path());
    assert_eq!(
        outcomes(&history.groups[0]),
        BTreeMap::from([("a", "(pfp".to_owned()), ("b", "ppf".to_owned())])
    );
}

#[test]
fn flaky_needs_one_clean_commit_and_unchanged_conditions() {
    let dir = tempfile::tempdir().unwrap();
    let at = |hour, commit, dirty, outcome| Written {
        commit: Some((commit, dirty)),
        ..written(hour, &[("a", &[("1", outcome)])])
    };
    // Another commit, and a changed tree: no proof.
    at(0, "c1", false, P).write(dir.path());
    at(1, "c2", false, F).write(dir.path());
    at(2, "c1", true, F).write(dir.path());
    at(3, "c3", true, P).write(dir.path());
    let (flaky, unproved) = read(dir.path()).groups[0].flaky();
    assert_eq!((flaky.len(), unproved.len()), (0, 1));
    at(4, "c2", false, P).write(dir.path());
    let (flaky, unproved) = read(dir.path()).groups[0].flaky();
    assert!(unproved.is_empty());
    let [case] = &flaky[..] else {
        panic!("{flaky:?}")
    };
    assert_eq!((&*case.eval, &*case.case), ("a", "1"));
    assert_eq!(
        case.commits,
        [FlakyCommit {
            commit: "c2".into(),
            passed: 1,
            failed: 1
        }]
    );
}

#[test]
fn a_run_that_went_on_at_another_commit_proves_nothing_at_either() {
    let dir = tempfile::tempdir().unwrap();
    let at = |hour, commit, outcome| Written {
        commit: Some((commit, false)),
        ..written(hour, &[("a", &[("1", outcome)])])
    };
    let resumed = Written {
        ended: false,
        ..at(0, "c1", F)
    };
    let paths = resumed.write(dir.path());
    let mut journal = JournalWriter::open(&paths.journal(), Redactor::default()).unwrap();
    let mut session = resumed.started(&paths, "2026-03-01T00:30:00.000Z".into());
    session.run.environment.git = Some(GitState {
        commit: "c2".into(),
        dirty: false,
    });
    journal
        .append(Event::RunResumed(Box::new(session)))
        .unwrap();
    let events = Written {
        ended: true,
        ..at(0, "c1", F)
    }
    .events();
    journal.append(events.into_iter().last().unwrap()).unwrap();
    drop(journal);
    at(1, "c1", P).write(dir.path());
    at(2, "c2", P).write(dir.path());
    let history = read(dir.path());
    assert_eq!(outcomes(&history.groups[0])["a"], "fpp");
    assert_eq!(history.groups[0].flaky(), (Vec::new(), Vec::new()));
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_counts() {
    let dir = tempfile::tempdir().unwrap();
    let run = |hour| written(hour, &[("a", &[("1", P)])]);
    run(0).write(dir.path());
    std::fs::write(run(1).write(dir.path()).journal(), "").unwrap();
    let torn = run(2).write(dir.path()).journal();
    let text = std::fs::read_to_string(&torn).unwrap();
    std::fs::write(&torn, &text[..text.len() - 30]).unwrap();
    let broken = run(3).write(dir.path()).journal();
    let text = std::fs::read_to_string(&broken).unwrap();
    std::fs::write(
        &broken,
        text.replace("{\"eval_planned\"", "{\"evil_planned\""),
    )
    .unwrap();
    let later = run(4).write(dir.path()).journal();
    let text = std::fs::read_to_string(&later).unwrap();
    std::fs::write(
        &later,
        text.replace("\"journal_version\":3", "\"journal_version\":9"),
    )
    .unwrap();
    let folder = run(5).write(dir.path()).journal();
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    let history = read(dir.path());
    assert_eq!(outcomes(&history.groups[0])["a"], "pp");
    let said: Vec<String> = history
        .warnings
        .iter()
        .map(|warning| warning.replace(&dir.path().display().to_string(), "DIR"))
        .map(|warning| {
            warning
                .split(": unknown variant")
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    DIR/2026-03-01/run-010000.journal.jsonl contains no run: it is empty or its first line is incomplete; it is skipped
    DIR/2026-03-01/run-040000.journal.jsonl was written by a later version of eval-harness (journal version 9); it is skipped
    cannot read the journal DIR/2026-03-01/run-050000.journal.jsonl: Is a directory (os error 21); it is skipped
    run eval-20260301-020000 did not finish: it was interrupted or is still running; its recorded samples count
    DIR/2026-03-01/run-030000.journal.jsonl:2: not a journal line
    ");
}

#[test]
fn suites_and_targets_stay_apart_and_what_is_not_asked_for_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    for hour in 0..4 {
        written(hour, &[("a", &[("1", P)])]).write(dir.path());
    }
    Written {
        suite: "Other",
        ..written(4, &[("a", &[("1", F)])])
    }
    .write(dir.path());
    Written {
        target: "mock",
        ..written(5, &[("a", &[("1", F)])])
    }
    .write(dir.path());
    let names = |history: &RunHistory| -> Vec<(String, String, usize)> {
        history
            .groups
            .iter()
            .map(|g| (g.suite.clone(), g.target.clone(), g.runs.len()))
            .collect()
    };
    let all = read(dir.path());
    let name = |suite: &str, target: &str, n| (suite.to_owned(), target.to_owned(), n);
    assert_eq!(
        names(&all),
        [
            name("Other", "solver", 1),
            name("Suite", "mock", 1),
            name("Suite", "solver", 4)
        ]
    );
    let since = "2026-03-01T01:00:00Z".parse().ok();
    let request = HistoryRequest {
        suite: Some("Suite"),
        target: Some("solver"),
        since,
        last: Some(2),
        threads: 1,
    };
    let some = history(dir.path(), &request);
    assert_eq!(names(&some), [name("Suite", "solver", 2)]);
    assert_eq!(some.groups[0].runs[0].timestamp, "2026-03-01T02:00:00.000Z");
    let left = LeftOut {
        captures: 0,
        other_suites: BTreeMap::from([("Other".into(), 1)]),
        other_targets: BTreeMap::from([("mock".into(), 1)]),
        earlier: 2,
    };
    assert_eq!(some.left_out, left);
    assert!(read(&dir.path().join("nowhere")).groups.is_empty());
}

#[test]
fn a_filter_of_evals_takes_no_cases_from_them() {
    let dir = tempfile::tempdir().unwrap();
    let filtered =
        |hour, filter: &str, cases: &[(&'static str, &[(&'static str, Outcome)])]| Written {
            filters: vec![filter.into()],
            ..written(hour, cases)
        };
    // Nobody knows how many cases `a` has but its filter, unless the eval is the case.
    filtered(0, "case 1", &[("a", &[("1", P)]), ("b", &[("b", P)])]).write(dir.path());
    filtered(1, "eval a", &[("a", &[("1", F)])]).write(dir.path());
    assert_eq!(
        outcomes(&read(dir.path()).groups[0]),
        BTreeMap::from([("a", "(pf".to_owned()), ("b", "p".to_owned())])
    );
    // The eval had three cases once, and then two.
    written(2, &[("a", &[("1", P), ("2", P), ("3", P)])]).write(dir.path());
    filtered(
        3,
        "eval a or b",
        &[("a", &[("1", F), ("2", P)]), ("b", &[("b", F)])],
    )
    .write(dir.path());
    assert_eq!(
        outcomes(&read(dir.path()).groups[0]),
        BTreeMap::from([("a", "(pfpf".to_owned()), ("b", "pf".to_owned())])
    );
}

#[test]
fn a_run_without_a_grade_borrows_no_rate() {
    let dir = tempfile::tempdir().unwrap();
    written(0, &[("a", &[("1", P)])]).write(dir.path());
    written(1, &[("a", &[("1", Outcome::Errored)])]).write(dir.path());
    let trend = read(dir.path()).groups[0].trend();
    assert_eq!(
        (trend.first, trend.last, trend.lowest),
        (Some(1.0), None, Some(1.0))
    );
}

fn an_outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![P, P, F, Outcome::Errored, Outcome::Skipped])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// By the book: an eval passes when all its cases pass, fails when one fails, else is errored
    /// or skipped.
    #[test]
    fn counts_are_those_of_a_naive_recount(
        runs in prop::collection::vec(prop::collection::vec(prop::collection::vec(an_outcome(), 1..4), 1..4), 1..6),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (evals, cases) = (["e0", "e1", "e2"], ["c0", "c1", "c2"]);
        let mut expected: BTreeMap<&str, (usize, usize, usize, Option<i64>)> = BTreeMap::new();
        for (hour, run) in runs.iter().enumerate() {
            let of_eval = |outcomes: &Vec<Outcome>| cases.into_iter().zip(outcomes.iter().copied()).collect();
            let written = Written {
                cases: evals.into_iter().zip(run.iter().map(of_eval)).collect(),
                ..written(hour as i64, &[])
            };
            written.write(dir.path());
            for (id, outcomes) in evals.iter().zip(run) {
                let (n, passed, failed, last) = expected.entry(id).or_default();
                *n += 1;
                if outcomes.iter().all(|outcome| *outcome == P) {
                    *passed += 1;
                    *last = Some(hour as i64);
                } else if outcomes.contains(&F) {
                    *failed += 1;
                }
            }
        }
        let history = read(dir.path());
        let group = &history.groups[0];
        let (records, _) = eval_records(dir.path(), "Suite", 2);
        for (id, (n, passed, failed, last)) in &expected {
            let eval = &group.evals()[id];
            prop_assert_eq!((eval.counts.total, eval.counts.passed, eval.counts.failed), (*n, *passed, *failed));
            let at = eval.last(P).map(|run| run.timestamp[11..13].parse::<i64>().unwrap());
            prop_assert_eq!(at, *last);
            prop_assert_eq!((records[*id].runs, records[*id].failure_count), (*n, *failed));
        }
        // What each run came to is what its own report says.
        for run in &group.runs {
            let paths = crate::journal::find_run(dir.path(), &run.run_id).unwrap();
            let summary = crate::run::reread(&paths.journal()).unwrap().summary;
            prop_assert_eq!(run.counts.passed, summary.summary.passed);
            prop_assert_eq!(run.counts.pass_rate, summary.summary.pass_rate);
            prop_assert_eq!(run.cases, summary.summary.cases);
            prop_assert_eq!(run.gate, Some(summary.gate.decision));
        }
    }
}

/// What the report of a run says of those before it.
#[test]
fn a_run_has_the_whole_runs_of_its_suite_and_target_before_it_oldest_first() {
    use Outcome::{Errored, Failed, Passed};
    let dir = tempfile::tempdir().unwrap();
    let at = |hour: i64, cases: &[(&'static str, Outcome)]| written(hour, &[("e", cases)]);
    at(1, &[("a", Passed), ("b", Failed), ("c", Errored)]).write(dir.path());
    Written {
        filters: vec!["tag x".into()],
        ..at(2, &[("a", Failed)])
    }
    .write(dir.path());
    Written {
        suite: "Other",
        ..at(3, &[("a", Failed)])
    }
    .write(dir.path());
    Written {
        target: "other",
        ..at(4, &[("a", Failed)])
    }
    .write(dir.path());
    Written {
        capture: true,
        ..at(5, &[("a", Failed)])
    }
    .write(dir.path());
    Written {
        ended: false,
        ..at(6, &[("a", Failed)])
    }
    .write(dir.path());
    let dirty = Written {
        commit: Some(("c2", true)),
        ..at(7, &[("a", Passed), ("b", Passed)])
    }
    .write(dir.path());
    let graded = at(8, &[("a", Failed)]).write(dir.path());
    let regrade = Written {
        regrade_of: Some(graded.run_id.clone()),
        ..at(9, &[("a", Passed)])
    }
    .write(dir.path());
    std::fs::write(
        dir.path().join("2026-03-01/run-093000.journal.jsonl"),
        "nothing",
    )
    .unwrap();
    let this = at(10, &[("a", Passed)]);
    let own = this.write(dir.path());
    at(11, &[("a", Failed)]).write(dir.path());
    let seen = |this: &Written, paths: &RunPaths, hour: i64| {
        let began = format!("2026-03-01T{hour:02}:00:00Z");
        let started = this.started(paths, began.clone());
        let rates = rates::past_rates(dir.path(), &started.run, &began);
        let line = |rate: &PastRate| {
            let decision = rate.decision.map_or("-", Decision::name);
            let commit = rate.commit.as_deref().unwrap_or("-");
            format!(
                "{} {commit} {decision} {}/{}",
                &rate.timestamp[11..13],
                rate.passed,
                rate.graded
            )
        };
        rates.iter().map(line).collect::<Vec<_>>().join(", ")
    };
    // A regrade takes the place of the run whose outputs it graded.
    assert_eq!(
        seen(&this, &own, 10),
        "01 c1 fail 1/2, 07 - pass 2/2, 08 c1 pass 1/1"
    );
    assert_eq!(seen(&this, &dirty, 7), "01 c1 fail 1/2");
    let again = Written {
        regrade_of: Some(graded.run_id.clone()),
        ..this
    };
    assert_eq!(seen(&again, &regrade, 9), "01 c1 fail 1/2, 07 - pass 2/2");
}
