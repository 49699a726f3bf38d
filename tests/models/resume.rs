//! Runs that ask a model and are killed, interrupted or stopped in their middle: what was answered
//! is not asked again.
//!
//! The server's log is the witness. A client that is killed may have had an answer before it could
//! keep it: of the questions that were in flight or just answered at that moment, and of no others,
//! some are asked once more.

use std::collections::BTreeMap;
use std::process::Child;

use crate::model_runs::{Asking, Journal, RESUME, RUN, case_of};
use crate::model_server::{Act, ModelServer, Said, Step};
use crate::support::{Project, eventually};

const IN_FLIGHT: usize = 8;

/// Questions that one kill may lose: those in flight, and those whose answer was there and still on
/// its way into the cache, while their slots asked on.
const LOST: usize = 2 * IN_FLIGHT;

fn asking(rows: usize, samples: usize) -> Asking<'static> {
    Asking {
        rows,
        samples,
        target: "max_concurrency: 8",
        ..Asking::default()
    }
}

/// A run that is in the middle: the server has been asked so often.
fn under_way(project: &Project, server: &ModelServer, args: &[&str], asked: usize) -> Child {
    let child = crate::model_runs::start(project, args);
    eventually("the server is asked", || server.asked() >= asked);
    child
}

fn kill(mut child: Child) {
    child.kill().expect("a child of ours");
    assert_eq!(
        child.wait().expect("a child of ours").code(),
        None,
        "it was alive"
    );
}

/// How things stood when a run had been stopped.
struct Stop {
    journal: Journal,
    /// Questions by case.
    asked: BTreeMap<String, usize>,
}

fn by_case(server: &ModelServer) -> BTreeMap<String, usize> {
    server
        .by_prompt()
        .into_values()
        .map(|log| (case_of(&log[0].ask), log.len()))
        .collect()
}

fn stopped(project: &Project, server: &ModelServer) -> Stop {
    Stop {
        journal: Journal::torn(project),
        asked: by_case(server),
    }
}

/// What holds at the end: every sample has an answer of its own, and beyond that only so many
/// questions were asked; none that the journal held when the run was stopped.
fn check(
    project: &Project,
    server: &ModelServer,
    before: &[Stop],
    whole: usize,
    again: usize,
) -> Journal {
    let journal = Journal::latest(project);
    assert_eq!(journal.samples.len(), whole);
    assert_eq!(journal.count(|sample| sample.outcome == "passed"), whole);
    assert!(journal.finished && journal.skipped.is_empty());
    let asked = server.asked();
    assert!(
        (whole..=whole + again).contains(&asked),
        "{asked} questions for {whole} samples"
    );
    for (case, asked) in by_case(server) {
        let samples = journal.of_case(&case);
        let mut outputs: Vec<String> = samples
            .iter()
            .filter_map(|sample| sample.output.clone())
            .collect();
        outputs.sort();
        outputs.dedup();
        assert_eq!(
            outputs.len(),
            samples.len(),
            "{case}: samples that share an answer"
        );
        for stop in before
            .iter()
            .filter(|stop| stop.journal.of_case(&case).len() == samples.len())
        {
            assert_eq!(
                stop.asked.get(&case),
                Some(&asked),
                "{case} was in the journal and was asked again"
            );
        }
    }
    // What the journal held, it holds still.
    for (place, sample) in before.iter().flat_map(|stop| &stop.journal.samples) {
        assert_eq!(journal.samples[place].output, sample.output);
    }
    journal
}

#[test]
fn a_killed_run_asks_nothing_again_that_was_answered() {
    let server = ModelServer::kind(30);
    let project = asking(160, 1).project(&server);
    kill(under_way(&project, &server, &RUN, 70));
    let before = stopped(&project, &server);
    assert!(!before.journal.samples.is_empty() && before.journal.samples.len() < 160);
    crate::model_runs::call(&project, &RESUME).expect(0);
    let journal = check(&project, &server, &[before], 160, LOST);
    assert_eq!(journal.sessions, 2);
}

#[test]
fn a_run_that_is_killed_twice_keeps_what_both_sessions_were_told() {
    let server = ModelServer::kind(30);
    let project = asking(40, 4).project(&server);
    kill(under_way(&project, &server, &RUN, 50));
    let first = stopped(&project, &server);
    kill(under_way(&project, &server, &RESUME, 110));
    let second = stopped(&project, &server);
    assert!(first.journal.samples.len() < second.journal.samples.len());
    crate::model_runs::call(&project, &RESUME).expect(0);
    let journal = check(&project, &server, &[first, second], 160, 2 * LOST);
    assert_eq!(journal.sessions, 3);
}

#[test]
fn without_a_cache_the_journal_alone_counts() {
    let server = ModelServer::kind(30);
    let project = asking(160, 1).project(&server);
    kill(under_way(
        &project,
        &server,
        &[&RUN[..], &["--cache", "off"]].concat(),
        70,
    ));
    let before = stopped(&project, &server);
    let kept = before.journal.samples.len();
    assert!(kept > 0);
    let asked = server.asked();
    crate::model_runs::call(&project, &RESUME).expect(0);
    // Answered and not in the journal yet: what was in flight, and what was being graded.
    let journal = check(&project, &server, &[before], 160, asked - kept);
    assert!(
        asked - kept <= 3 * IN_FLIGHT,
        "{asked} asked and {kept} kept"
    );
    assert!(
        journal
            .samples
            .values()
            .all(|sample| sample.source != "cache")
    );
    assert!(!project.path().join("answers").exists(), "no cache is made");
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let server = ModelServer::kind(30);
    let project = asking(160, 1).project(&server);
    let mut child = under_way(&project, &server, &RUN, 70);
    let told = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(told.expect("a shell's kill").success());
    assert_eq!(child.wait().expect("a child of ours").code(), Some(130));
    assert!(Journal::latest(&project).finished);
    let before = stopped(&project, &server);
    crate::model_runs::call(&project, &RESUME).expect(0);
    check(&project, &server, &[before], 160, IN_FLIGHT);
}

#[test]
fn answers_that_were_kept_before_the_kill_come_from_the_cache_when_the_journal_is_gone() {
    let server = ModelServer::kind(30);
    let project = asking(160, 1).project(&server);
    kill(under_way(&project, &server, &RUN, 70));
    let before = stopped(&project, &server);
    std::fs::remove_dir_all(project.path().join("results")).expect("a folder");
    crate::model_runs::call(&project, &RUN).expect(0);
    // In the journal was only what the cache had.
    let journal = check(&project, &server, &[], 160, LOST);
    let cached = journal.count(|sample| sample.source == "cache");
    assert!(
        cached >= before.journal.samples.len(),
        "{cached} of {}",
        before.journal.samples.len()
    );
    for (place, sample) in &before.journal.samples {
        assert_eq!(journal.samples[place].output, sample.output);
    }
}

#[test]
fn a_resumed_run_asks_again_what_errored() {
    // Each prompt is refused twice, and the run tries each only once.
    let server = ModelServer::start(|ask| match ask.nth < 2 && ask.prompt.ends_with('7') {
        true => Step::from(Act::Status(500, crate::model_server::After::Unsaid)),
        false => Step::from(Act::Say(Said::right(ask))),
    });
    let project = Asking {
        rows: 40,
        target: "retries: 0",
        ..Asking::default()
    }
    .project(&server);
    for (errored, code) in [(4, 3), (4, 3), (0, 0)] {
        let args = if server.asked() == 0 { RUN } else { RESUME };
        crate::model_runs::call(&project, &args).expect(code);
        let journal = Journal::latest(&project);
        assert_eq!(journal.count(|sample| sample.outcome == "errored"), errored);
    }
    assert_eq!(server.asked(), 40 + 4 + 4);
}
