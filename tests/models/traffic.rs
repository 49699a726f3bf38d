//! How fast whole runs ask: beyond the workers, within what a target allows.

use crate::model_runs::{Asking, Journal, RESUME, RUN};
use crate::model_server::{Act, ModelServer, Said, Step};

#[test]
fn as_many_calls_are_in_flight_as_the_target_allows_and_no_more() {
    // Nobody is answered before thirty have asked: with fewer at once the run would come to a
    // time-out.
    let server = ModelServer::start(|ask| {
        Step::after(
            if ask.serial < 30 { 1500 } else { 20 },
            Act::Say(Said::right(ask)),
        )
    });
    let asking = Asking {
        rows: 120,
        target: "max_concurrency: 30",
        ..Asking::default()
    };
    let project = asking.project(&server);
    crate::model_runs::call(&project, &RUN).expect(0);
    assert_eq!((server.peak(), server.asked()), (30, 120));
    let journal = Journal::latest(&project);
    assert_eq!(
        journal.count(|sample| sample.outcome == "passed" && sample.retries == 0),
        120
    );
    // Whoever limits the samples at once limits the calls, too.
    let project = asking.project(&server);
    let before = server.asked();
    crate::model_runs::call(
        &project,
        &[&RUN[..], &["--jobs", "3", "--cache", "off"]].concat(),
    )
    .expect(0);
    assert_eq!(server.asked(), before + 120);
}

#[test]
fn a_limit_of_latency_is_not_met_by_an_answer_that_was_kept() {
    let server = ModelServer::start(|ask| Step::after(300, Act::Say(Said::right(ask))));
    let project = Asking {
        rows: 2,
        ..Asking::default()
    }
    .project(&server);
    let eval = std::fs::read_to_string(project.path().join("eval.yaml")).expect("an eval");
    project.write(
        "eval.yaml",
        &eval.replace("expected:", "max_latency_ms: 50, expected:"),
    );
    for asked in [2, 4] {
        crate::model_runs::call(&project, &RUN).expect(1);
        let journal = Journal::latest(&project);
        assert_eq!(
            journal.count(|sample| sample.cause.as_deref() == Some("threshold")),
            2
        );
        assert_eq!(server.asked(), asked, "the model is timed anew");
    }
    // Where nobody may be asked there is nothing to time.
    crate::model_runs::call(&project, &[&RUN[..], &["--cache", "only"]].concat()).expect(0);
    assert_eq!(server.asked(), 4);
}

#[test]
fn a_budget_that_ends_between_two_tries_counts_what_the_first_took_also_when_the_run_goes_on() {
    // Says nothing, and takes seventy tokens for it.
    let server = ModelServer::start(|_| Step::from(Act::Say(Said::new("", (60, 10)))));
    let project = Asking {
        rows: 4,
        target: "max_concurrency: 1, max_tokens: 10",
        config: "budget: {tokens: 200}",
        ..Asking::default()
    }
    .project(&server);
    crate::model_runs::call(&project, &RUN).expect(3);
    let journal = Journal::latest(&project);
    let asked = server.asked() as u64;
    assert!((2..=3).contains(&asked), "{asked} questions");
    assert_eq!(journal.requests(), asked);
    let wasted: u64 = journal
        .samples
        .values()
        .map(|sample| sample.wasted.0 + sample.wasted.1)
        .sum();
    assert_eq!(wasted, asked * 70);
    assert_eq!(journal.samples.len() + journal.skipped.len(), 4);
    crate::model_runs::call(&project, &RESUME).expect(3);
    assert_eq!(server.asked() as u64, asked, "what was spent stays spent");
}
