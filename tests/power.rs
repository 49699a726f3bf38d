//! `power` by the program: what a suite could find, before and after a run.

mod support;

#[path = "support/compared.rs"]
mod compared;

use compared::{Desk, Way, number};
use serde_json::Value;

fn json(desk: &Desk, args: &[&str]) -> Value {
    let call = desk.project.call(&[&["power", "--format", "json"], args].concat()).expect(0);
    serde_json::from_str(&call.stdout).expect("JSON")
}

#[test]
fn a_page_for_people_who_are_no_statisticians() {
    let desk = Desk::new(4, 25);
    let call = desk.project.call(&["power"]).expect(0);
    insta::assert_snapshot!(call.stdout, @"");
    assert_eq!(call.stderr, "");
    assert!(!desk.project.path().join("results").exists(), "nothing ran");
    let enough = desk
        .project
        .call(&["power", "--effect", "0.2", "--samples", "1", "--samples", "5", "--eval", "e0"])
        .expect(0);
    insta::assert_snapshot!(enough.stdout, @"");
}

#[test]
fn a_run_measures_what_else_is_assumed() {
    let desk = Desk::new(2, 20);
    // Half of the cases pass in two of four samples, the others always.
    let id = desk.run(4, |_, c, s| if c % 2 == 0 || s < 2 { Way::Pass } else { Way::Fail }, &[]);
    let said = json(&desk, &["--run", "latest"]);
    assert_eq!(said["basis"]["run"], id.as_str());
    assert!((number(&said["basis"]["rate"]) - 0.75).abs() < 1e-12);
    assert!((number(&said["basis"]["within"]) - 0.5 * 4.0 / 3.0 * 0.25).abs() < 1e-12);
    let page = desk.project.call(&["power", "--run", &id]).expect(0).stdout;
    assert!(page.contains(&format!("as run {id} measured it: 75.0 % of its samples passed")), "{page}");
    assert!(!page.contains("Assumed"), "{page}");
    // A run of one sample a case can't tell how samples differ.
    desk.run(1, |_, c, _| if c % 4 == 0 { Way::Fail } else { Way::Pass }, &[]);
    let page = desk.project.call(&["power", "--run", "latest"]).expect(0).stdout;
    assert!(page.contains("Assumed") && page.contains("75.0 % of samples pass, as in run"), "{page}");
}

#[test]
fn thresholds_on_an_intervals_end_are_told_their_chances() {
    let desk = Desk::new(1, 60);
    let text = std::fs::read_to_string(desk.project.path().join("eval-suite.yaml")).unwrap();
    let gate = "  thresholds: {pass@1: {min: 0.9, bound: lower}, case_pass_rate: {min: 0.7, bound: lower}}\n  evals:\n";
    desk.project.write("eval-suite.yaml", &text.replace("  evals:\n", gate));
    let call = desk.project.call(&["power", "--rate", "0.95"]).expect(0);
    insta::assert_snapshot!(call.stdout, @"");
}

#[test]
fn json_fits_its_schema() {
    let desk = Desk::new(3, 10);
    let schema =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/power.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    desk.run(2, |_, c, s| if c + s > 4 { Way::Pass } else { Way::Fail }, &[]);
    for args in
        [&[][..], &["--run", "latest"], &["--effect", "0.001", "--category", "even"], &["--rate", "0.99"]]
    {
        let said = json(&desk, args);
        let problems: Vec<String> = schema.iter_errors(&said).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?}");
    }
    assert_eq!(json(&desk, &["--effect", "0.0001"])["plans"][0]["cases_needed"], Value::Null);
    assert!(!schema.is_valid(&serde_json::json!({"suite": "x"})));
}

#[test]
fn wrong_words_are_answered() {
    let desk = Desk::new(1, 5);
    for (args, words) in [
        (&["--run", "eval-1"][..], "nothing to compare with is called `eval-1`"),
        (&["--effect", "0"], "write a share above 0 and below 1"),
        (&["--power", "0.3"], "write a chance from 0.5 to below 1"),
        (&["--rate", "1"], "write a share above 0 and below 1"),
        (&["--rate", "0.5", "--run", "latest"], "cannot be used with"),
        (&["--samples", "0"], "0 is not in 1"),
        (&["--eval", "none*"], "problem"),
        (&["--suite", "no.yaml"], "no.yaml"),
    ] {
        let call = desk.project.call(&[&["power"], args].concat()).expect(2);
        assert!(call.stderr.contains(words), "{words}: {}", call.stderr);
        assert_eq!(call.stdout, "");
    }
    desk.run(1, |_, _, _| Way::Pass, &[]);
    desk.write_suite("Other", |_, _| "ok".to_owned());
    let call = desk.project.call(&["power", "--run", "latest"]).expect(2);
    assert!(call.stderr.contains("is one of suite `Desk`, not of `Other`"), "{}", call.stderr);
}
