//! Indexes of journals that the tests write.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::journal::{JournalWriter, list_runs};
use crate::model::testing::{eval, run_started};
use crate::model::*;
use crate::view::folder::{ListedRun, RunFolder, RunState};
use eval_base::redact::Redactor;

/// A case with its samples, each an outcome and an output.
type WrittenCase<'a> = (&'a str, &'a [(Outcome, &'a str)]);

/// Writes the journal of a run at a minute; it ends when the writer is dropped.
fn run(results: &Path, minute: u32, cases: &[WrittenCase<'_>], ended: bool) -> JournalWriter {
    let at = format!("2026-03-04T05:{minute:02}:07Z").parse().unwrap();
    let paths = RunPaths::create(results, at).unwrap();
    let mut writer = JournalWriter::open(&paths.journal(), Redactor::default()).unwrap();
    let mut started = run_started();
    started.run.run_id = paths.run_id;
    let mut events = vec![Event::RunStarted(Box::new(started))];
    events.push(Event::EvalPlanned(EvalPlanned {
        eval: eval("e", EvalCases::written(Vec::new())).info,
        cases: cases.len(),
    }));
    events.push(Event::CasesPlanned(CasesPlanned {
        eval: "e".into(),
        cases: cases.iter().map(planned).collect(),
    }));
    for (id, samples) in cases {
        for (number, (outcome, output)) in (0..).zip(*samples) {
            events.push(finished(id, number, *outcome, output));
        }
    }
    if ended {
        events.push(end());
    }
    for event in events {
        writer.append(event).unwrap();
    }
    writer
}

fn end() -> Event {
    Event::RunFinished(RunFinished {
        timestamp: "2026-03-04T06:00:00.000Z".into(),
        duration_seconds: 1.0,
        interrupted: false,
        history: Vec::new(),
        expired_graces: None,
        changed_files: Vec::new(),
    })
}

fn planned((id, samples): &WrittenCase<'_>) -> CasePlanned {
    CasePlanned {
        name: Some(format!("Name of {id}")),
        input_hash: "i".into(),
        grading_hash: "g".into(),
        ..testing::planned_case(id, u32::try_from(samples.len()).unwrap())
    }
}

fn finished(case: &str, sample: u32, outcome: Outcome, output: &str) -> Event {
    let verdict = Verdict {
        outcome,
        score: Some(f64::from(u8::from(outcome == Outcome::Passed))),
        cause: (outcome == Outcome::Failed).then_some(Cause::WrongAnswer),
        reason: format!("because of {output}"),
        grades: Vec::new(),
        not_run: Vec::new(),
    };
    let attempt = Attempt {
        output: Some(Output::text(output)),
        ..testing::attempt(verdict)
    };
    Event::SampleFinished(Box::new(SampleFinished {
        eval: "e".into(),
        case: case.into(),
        sample,
        attempts: vec![attempt],
        finished_at: "2026-03-04T05:06:07.000Z".into(),
        reused_from: None,
    }))
}

const PASSED: &[(Outcome, &str)] = &[(Outcome::Passed, "fine")];
const FAILED: &[(Outcome, &str)] = &[(Outcome::Failed, "Änders")];
const MIXED: &[(Outcome, &str)] = &[(Outcome::Passed, "fine"), (Outcome::Failed, "odd")];

/// The list once every run is read.
fn settled(folder: &RunFolder) -> Arc<crate::view::folder::RunList> {
    for _ in 0..1_000 {
        let list = folder.list();
        if list.waiting == 0 {
            return list;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("runs are never read");
}

/// The list as it is after a change of the folder.
fn changed(folder: &RunFolder) -> Arc<crate::view::folder::RunList> {
    std::thread::sleep(Duration::from_millis(750));
    settled(folder)
}

fn shown(run: &ListedRun) -> String {
    let state = match &run.state {
        RunState::Waiting => "waiting".to_owned(),
        RunState::Running(_) => "running".to_owned(),
        RunState::Read(totals) => {
            let cases = totals.cases;
            let cut = if totals.interrupted {
                ", interrupted"
            } else {
                ""
            };
            format!("{} of {} passed{cut}", cases.passed, cases.total)
        }
        RunState::Unreadable(why) => why.rsplit('/').next().unwrap_or("").to_owned(),
    };
    format!("{} {state}", run.key)
}

fn lines(list: &crate::view::folder::RunList) -> String {
    list.runs.iter().map(shown).collect::<Vec<_>>().join("\n")
}

fn ids(page: &CasePage) -> Vec<&str> {
    page.rows.iter().map(|row| row.id.as_str()).collect()
}

fn index_file(results: &Path) -> PathBuf {
    results.join(".index").join(database::FILE)
}

#[test]
fn runs_are_read_once_and_again_when_their_journals_change() {
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path();
    drop(run(results, 1, &[("a", PASSED), ("b", FAILED)], true));
    drop(run(results, 2, &[("a", PASSED)], false));
    let going = run(results, 3, &[("a", PASSED)], false);
    let day = results.join("2026-03-04");
    fs::write(day.join("run-050407.journal.jsonl"), "").unwrap();
    fs::write(day.join("run-050507.journal.jsonl"), "{\"x\": 1}\n{}\n").unwrap();
    let folder = RunFolder::open(results);
    assert!(!folder.index.is_in_memory());
    insta::assert_snapshot!(lines(&settled(&folder)), @r"
    2026-03-04/run-050507 run-050507.journal.jsonl:1: not a journal line: unknown variant `x`, expected one of `run_started`, `run_resumed`, `eval_planned`, `cases_planned`, `sample_finished`, `sample_skipped`, `run_finished` at line 1 column 4
    2026-03-04/run-050407 run-050407.journal.jsonl contains no run: it is empty or its first line is incomplete
    2026-03-04/run-050307 running
    2026-03-04/run-050207 1 of 1 passed, interrupted
    2026-03-04/run-050107 1 of 2 passed
    ");
    // What did not change is not read again: a second index of the same file knows it at once. Why
    // runs can't be read is not in it.
    let before = folder.index.runs().unwrap();
    assert_eq!(before.runs.len(), 2);
    let second = RunFolder::open(results);
    assert_eq!(second.index.generation().unwrap(), before.generation);
    let list = second.list();
    assert!(list.runs[3..].iter().all(|run| run.totals().is_some()));
    drop(second);

    let mut going = going;
    going.append(end()).unwrap();
    drop(going);
    for gone in [4, 5] {
        fs::remove_file(day.join(format!("run-050{gone}07.journal.jsonl"))).unwrap();
    }
    insta::assert_snapshot!(lines(&changed(&folder)), @r"
    2026-03-04/run-050307 1 of 1 passed
    2026-03-04/run-050207 1 of 1 passed, interrupted
    2026-03-04/run-050107 1 of 2 passed
    ");
    assert_eq!(folder.index.runs().unwrap().runs.len(), 3);
    // No other command takes the index for a run.
    assert_eq!(list_runs(results).len(), 3);
    assert_eq!(
        fs::read_to_string(results.join(".index/.gitignore")).unwrap(),
        "*\n"
    );
}

#[test]
fn cases_come_failures_first_page_by_page() {
    let dir = tempfile::tempdir().unwrap();
    let cases = [
        ("a", PASSED),
        ("b", FAILED),
        ("c", MIXED),
        ("d", PASSED),
        ("f", FAILED),
    ];
    drop(run(dir.path(), 1, &cases, true));
    let folder = RunFolder::open(dir.path());
    let list = settled(&folder);
    let key = &list.runs[0].key;
    let page = |set, text: &str, after, most| {
        let filter = CaseFilter {
            set,
            eval: None,
            text: TextMatcher::new(text),
        };
        let page = folder.index.cases(key, &filter, after, most);
        page.unwrap().unwrap()
    };
    let first = page(CaseSet::All, "", CaseCursor::default(), 2);
    assert_eq!(ids(&first), ["b", "c"]);
    let cursor = CaseCursor::parse(&first.next.unwrap().to_string()).unwrap();
    let second = page(CaseSet::All, "", cursor, 3);
    assert_eq!((ids(&second), second.next), (vec!["f", "a", "d"], None));
    for (set, text, expected) in [
        (CaseSet::NotPassed, "", vec!["b", "c", "f"]),
        (CaseSet::Of(Outcome::Passed), "", vec!["a", "d"]),
        (CaseSet::Of(Outcome::Errored), "", vec![]),
        (CaseSet::Flaky, "", vec!["c"]),
        (CaseSet::All, "ÄNDERS", vec!["b", "f"]),
        (
            CaseSet::All,
            "name b because",
            vec!["b", "c", "f", "a", "d"],
        ),
        (CaseSet::All, "fine odd", vec![]),
        (CaseSet::All, "a%", vec![]),
        (CaseSet::All, "because odd", vec!["c"]),
    ] {
        assert_eq!(
            ids(&page(set, text, CaseCursor::default(), 9)),
            expected,
            "{set:?} {text}"
        );
    }
    let row = folder.index.case(key, 3).unwrap().unwrap();
    let told = (
        row.id.as_str(),
        row.name.as_str(),
        row.output.as_str(),
        row.flaky,
    );
    assert_eq!(told, ("c", "Name of c", "odd", true));
    assert_eq!(folder.index.case(key, 6).unwrap(), None);
    let evals = folder.index.evals(key).unwrap().unwrap();
    assert_eq!((evals.len(), evals[0].counts.passed), (1, 2));
    assert_eq!(CaseCursor::parse("../x"), None);
}

#[test]
fn search_stops_after_matches_or_cases() {
    let dir = tempfile::tempdir().unwrap();
    for minute in 1..4 {
        let cases = [("a", FAILED), ("b", PASSED), ("c", MIXED)];
        drop(run(dir.path(), minute, &cases, true));
    }
    let folder = RunFolder::open(dir.path());
    let list = settled(&folder);
    let keys: Vec<String> = list.runs.iter().map(|run| run.key.clone()).collect();
    // The matches of each page.
    let pages = |set: CaseSet, text: &str, most: usize, looked_at: usize| {
        let filter = CaseFilter {
            set,
            text: TextMatcher::new(text),
            ..CaseFilter::default()
        };
        let (mut pages, mut after) = (Vec::new(), SearchCursor::default());
        loop {
            let page = folder
                .index
                .search_within(&keys, &filter, after, most, looked_at)
                .unwrap();
            let rows = page
                .rows
                .iter()
                .map(|(run, row)| format!("{run}{}", row.id));
            pages.push(rows.collect::<Vec<_>>().join(" "));
            match page.next {
                Some(next) => after = next,
                None => return pages,
            }
        }
    };
    let all = usize::MAX;
    let matches = pages(CaseSet::All, "because", 4, all);
    assert_eq!(matches, ["0a 0c 0b 1a", "1c 1b 2a 2c", "2b"]);
    // A run is looked at as a whole, also where it has no match.
    assert_eq!(pages(CaseSet::All, "änders", all, 4), ["0a 1a", "2a"]);
    assert_eq!(pages(CaseSet::All, "nothing", all, 3), ["", "", ""]);
    assert_eq!(pages(CaseSet::Flaky, "", all, 3), ["0c", "1c", "2c"]);
    assert_eq!(pages(CaseSet::Flaky, "", 2, all), ["0c 1c", "2c"]);
}

#[test]
fn unfit_index_is_replaced_without_a_word() {
    let dir = tempfile::tempdir().unwrap();
    drop(run(dir.path(), 1, &[("a", PASSED)], true));
    let file = index_file(dir.path());
    let expected = "2026-03-04/run-050107 1 of 1 passed";
    assert_eq!(lines(&settled(&RunFolder::open(dir.path()))), expected);
    let whole = fs::read(&file).unwrap();
    let mut torn = whole.clone();
    torn.truncate(whole.len() / 2);
    let foreign = |statements: &str| {
        let path = dir.path().join("other.sqlite");
        let _ = fs::remove_file(&path);
        let other = Connection::open(&path).unwrap();
        other.execute_batch(statements).unwrap();
        drop(other);
        fs::read(&path).unwrap()
    };
    let unfit = [
        b"not a database at all, but long enough to look at".repeat(100),
        torn,
        foreign("CREATE TABLE runs(x); PRAGMA user_version = 1;"),
        foreign("CREATE TABLE about(generation); PRAGMA user_version = 7;"),
        foreign("CREATE TABLE x(y);"),
    ];
    for bytes in unfit {
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", file.display()));
        }
        fs::write(&file, bytes).unwrap();
        let folder = RunFolder::open(dir.path());
        assert_eq!(lines(&settled(&folder)), expected);
        assert_eq!(folder.index.runs().unwrap().runs.len(), 1);
    }
    // Deleted or damaged while it is used.
    let folder = RunFolder::open(dir.path());
    settled(&folder);
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    assert_eq!(lines(&changed(&folder)), expected);
    assert_eq!(folder.index.runs().unwrap().runs.len(), 1);
}

#[test]
fn without_a_place_the_index_is_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let folder = RunFolder::open(&missing);
    assert!(folder.index.is_in_memory());
    assert_eq!(settled(&folder).runs.len(), 0);
    assert!(!missing.exists());
    // As where the folder can't be written.
    drop(run(dir.path(), 1, &[("a", PASSED)], true));
    fs::write(dir.path().join(".index"), "a file").unwrap();
    let folder = RunFolder::open(dir.path());
    assert!(folder.index.is_in_memory());
    assert_eq!(
        lines(&settled(&folder)),
        "2026-03-04/run-050107 1 of 1 passed"
    );
    let page = folder.index.cases(
        "2026-03-04/run-050107",
        &CaseFilter::default(),
        CaseCursor::default(),
        9,
    );
    assert_eq!(ids(&page.unwrap().unwrap()), ["a"]);
}

#[test]
fn index_that_cannot_be_written_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    drop(run(dir.path(), 1, &[("a", PASSED)], true));
    let folder = RunFolder::open(dir.path());
    assert_eq!(settled(&folder).warnings, [""; 0]);
    fs::remove_dir_all(dir.path().join(".index")).unwrap();
    fs::write(dir.path().join(".index"), "a file").unwrap();
    drop(run(dir.path(), 2, &[("a", FAILED)], true));
    let list = changed(&folder);
    assert_eq!(
        lines(&list),
        "2026-03-04/run-050207 0 of 1 passed\n2026-03-04/run-050107 1 of 1 passed"
    );
    let expected = "The index can't be written, so the cases of 1 run can't be listed: ";
    let [warning] = list.warnings.as_slice() else {
        panic!("{:?}", list.warnings)
    };
    assert!(warning.starts_with(expected), "{warning}");
}

#[test]
fn journal_that_cannot_be_followed_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let _going = run(dir.path(), 1, &[("a", PASSED)], false);
    let folder = RunFolder::open(dir.path());
    let list = settled(&folder);
    let state = folder.live(&list.runs[0]).unwrap();
    assert_eq!(state.words, "1 of 1 samples");
    let journal = list.runs[0].paths.journal();
    let whole = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{whole}{{\"x\": 1}}\n")).unwrap();
    // A journal is polled after a pause.
    std::thread::sleep(Duration::from_millis(250));
    let error = folder.live(&list.runs[0]).unwrap_err().to_string();
    let expected = "run-050107.journal.jsonl:5: not a journal line";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn several_views_share_an_index() {
    let dir = tempfile::tempdir().unwrap();
    for minute in 1..40 {
        drop(run(
            dir.path(),
            minute,
            &[("a", PASSED), ("b", FAILED)],
            true,
        ));
    }
    let results = dir.path();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let folder = RunFolder::open(results);
                let list = settled(&folder);
                assert_eq!(list.runs.len(), 39);
                for run in &list.runs {
                    assert_eq!(shown(run), format!("{} 1 of 2 passed", run.key));
                }
            });
        }
    });
    let index = RunIndex::open(results);
    assert_eq!(index.runs().unwrap().runs.len(), 39);
    let cases = index.database.with(|connection| {
        connection.query_row("SELECT count(*) FROM cases", [], |row| row.get::<_, i64>(0))
    });
    assert_eq!(cases.unwrap(), 78);
}

#[test]
fn outputs_that_reports_keep_out_are_not_in_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let at = "2026-03-04T05:01:07Z".parse().unwrap();
    let paths = RunPaths::create(dir.path(), at).unwrap();
    let mut writer = JournalWriter::open(&paths.journal(), Redactor::default()).unwrap();
    let mut started = run_started();
    started.config.include_details = false;
    let case = ("a", FAILED);
    let events = [
        Event::RunStarted(Box::new(started)),
        Event::EvalPlanned(EvalPlanned {
            eval: eval("e", EvalCases::written(Vec::new())).info,
            cases: 1,
        }),
        Event::CasesPlanned(CasesPlanned {
            eval: "e".into(),
            cases: vec![planned(&case)],
        }),
        finished("a", 0, Outcome::Failed, "private"),
        end(),
    ];
    for event in events {
        writer.append(event).unwrap();
    }
    let content = index_run(&paths);
    assert_eq!(content.cases[0].output, "");
}

#[test]
fn runs_that_the_index_lacks_are_not_empty() {
    let dir = tempfile::tempdir().unwrap();
    drop(run(dir.path(), 1, &[("a", FAILED)], true));
    let index = RunIndex::open(dir.path());
    let key = "2026-03-04/run-050107";
    let (filter, first) = (CaseFilter::default(), CaseCursor::default());
    assert_eq!(index.cases(key, &filter, first, 9).unwrap(), None);
    assert_eq!(index.evals(key).unwrap(), None);
    let keys = [key.to_owned()];
    let found = index.search(&keys, &filter, SearchCursor::default(), 9);
    assert_eq!(found.unwrap().missing, 1);
    // Nor does it keep why a run can't be read, which replaces what was read before.
    let paths = list_runs(dir.path()).remove(0);
    let journal = JournalState::of(&paths).unwrap();
    let read = (key.to_owned(), journal, index_run(&paths));
    index.put(&[read]).unwrap();
    assert!(index.run(key).unwrap().is_some());
    let content = IndexedContent::without_cases(Err("denied".to_owned()));
    index.put(&[(key.to_owned(), journal, content)]).unwrap();
    assert_eq!(index.run(key).unwrap(), None);
    assert_eq!(index.cases(key, &filter, first, 9).unwrap(), None);
}

#[test]
fn versions_keep_their_own_index_and_odd_rows_are_read_again() {
    let dir = tempfile::tempdir().unwrap();
    for minute in 1..3 {
        drop(run(dir.path(), minute, &[("a", PASSED)], true));
    }
    let folder = RunFolder::open(dir.path());
    let expected = lines(&settled(&folder));
    drop(folder);
    let other = dir.path().join(".index/view-1-0.0.0.sqlite");
    fs::write(&other, "of another version").unwrap();
    let index = RunIndex::open(dir.path());
    let generation = index.generation().unwrap();
    let odd = "UPDATE runs SET totals = '{}' WHERE key = '2026-03-04/run-050107'";
    let write = |connection: &Connection| connection.execute(odd, []).map(|_| ());
    index.database.write(write).unwrap();
    assert_eq!(index.runs().unwrap().runs.len(), 1);
    assert_eq!(index.run("2026-03-04/run-050107").unwrap(), None);
    let folder = RunFolder::open(dir.path());
    assert_eq!(lines(&settled(&folder)), expected);
    assert_eq!(index.runs().unwrap().runs.len(), 2);
    assert_eq!(index.generation().unwrap(), generation);
    assert_eq!(fs::read_to_string(&other).unwrap(), "of another version");
}

#[test]
fn index_is_private_and_does_not_make_results() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().join("results");
    fs::create_dir(&results).unwrap();
    let index = RunIndex::open(&results);
    assert!(!index.is_in_memory());
    let mode = fs::metadata(results.join(".index")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
    fs::remove_dir_all(&results).unwrap();
    assert!(index.generation().is_err());
    assert!(!results.exists());
    fs::create_dir(&results).unwrap();
    index.generation().unwrap();
    remove_index(&results).unwrap();
    assert!(!results.join(".index").exists());
}
