//! A clock that jumps: durations and the order of events don't come from the time of day.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::support::{PROGRAM, Project};
use eval_base::clock::Clock;
use eval_harness::internals::{
    CancelSwitch, Event, LoadRequest, PlanPurpose, RunInvocation, RunRequest, find_run, load,
    prepare, read, reread, run,
};
use jiff::Timestamp;

/// Every reading is an hour before the last one.
struct Backwards(AtomicI64);

impl Clock for Backwards {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.fetch_sub(3600, Ordering::Relaxed)).expect("a time")
    }
}

#[tokio::test]
async fn a_clock_that_runs_backwards_changes_timestamps_and_nothing_else() {
    let project = Project::with(&[
        (
            "suite.yaml",
            "eval_suite:\n  name: Clock\n  target: {type: echo}\n  evals:\n    - $ref: eval.yaml\n",
        ),
        (
            "eval.yaml",
            "metadata: {id: e}\nconfig: {samples: 3}\ntest_cases:\n  - {id: a, input: x, expected: {type: exact, value: x}}\n  \
             - {id: b, input: y, expected: {type: exact, value: z}}\n",
        ),
    ]);
    let request = LoadRequest {
        suite: project.path().join("suite.yaml"),
        purpose: PlanPurpose::Run,
        cwd: project.path().to_owned(),
        cpus: 2,
        ..LoadRequest::default()
    };
    let plan = load(&request).plan.expect("a plan");
    let clock = Backwards(AtomicI64::new(1_780_000_000));
    let finished = run(RunRequest {
        prepared: prepare(plan).expect("targets"),
        helper: PROGRAM.into(),
        clock: &clock,
        git: None,
        said: RunInvocation::default(),
        cancel: CancelSwitch::default(),
        observers: Vec::new(),
        resume: None,
        changed: None,
    })
    .await
    .expect("a run");
    let metadata = &finished.summary.metadata;
    assert!(
        (0.0..3000.0).contains(&metadata.duration_seconds),
        "{}",
        metadata.duration_seconds
    );
    let samples: Vec<_> = finished
        .summary
        .evals
        .iter()
        .flat_map(|eval| &eval.cases)
        .flat_map(|case| &case.samples)
        .collect();
    assert_eq!(samples.len(), 6);
    assert!(
        samples
            .iter()
            .all(|sample| (0.0..3_000_000.0).contains(&sample.duration_ms))
    );
    assert_eq!(finished.summary.summary.cases.passed, 1);

    // What is read back is the same, and the run is found as the latest though its end lies before
    // its start.
    let again = reread(&finished.paths.journal()).expect("a journal");
    assert_eq!(again.summary, finished.summary);
    let results = project.path().join("results");
    assert_eq!(
        find_run(&results, "latest").expect("a run").run_id,
        metadata.run_id
    );
    let last = read(&finished.paths.journal())
        .expect("a journal")
        .last()
        .expect("an event");
    let Event::RunFinished(end) = last.expect("an event") else {
        panic!("the run did not finish")
    };
    assert!(
        end.timestamp < metadata.timestamp,
        "the clock ran backwards"
    );
}
