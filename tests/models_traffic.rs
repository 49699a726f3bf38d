//! How fast whole runs ask: beyond the workers, within what a target allows.

#[path = "support/model_runs.rs"]
mod model_runs;
#[path = "support/model_server.rs"]
mod model_server;
mod support;

use model_runs::{Asking, Journal, RUN};
use model_server::{Act, ModelServer, Said, Step};

#[test]
fn as_many_calls_are_in_flight_as_the_target_allows_and_no_more() {
    // Nobody is answered before thirty have asked: with fewer at once the run would come to a time-out.
    let server = ModelServer::start(|ask| {
        Step::after(if ask.serial < 30 { 1500 } else { 20 }, Act::Say(Said::right(ask)))
    });
    let asking = Asking { rows: 120, target: "max_concurrency: 30", ..Asking::default() };
    let project = asking.project(&server);
    model_runs::call(&project, &RUN).expect(0);
    assert_eq!((server.peak(), server.asked()), (30, 120));
    let journal = Journal::latest(&project);
    assert_eq!(journal.count(|sample| sample.outcome == "passed" && sample.retries == 0), 120);
    // Whoever limits the samples at once limits the calls, too.
    let project = asking.project(&server);
    let before = server.asked();
    model_runs::call(&project, &[&RUN[..], &["--jobs", "3", "--cache", "off"]].concat()).expect(0);
    assert_eq!(server.asked(), before + 120);
}
