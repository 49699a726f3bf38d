//! `power` by the program: what a suite could find, before and after a run.

use crate::compared::{Desk, Way, number};
use serde_json::Value;

fn json(desk: &Desk, args: &[&str]) -> Value {
    let call = desk
        .project
        .call(&[&["power", "--format", "json"], args].concat())
        .expect(0);
    serde_json::from_str(&call.stdout).expect("JSON")
}

#[test]
fn a_page_for_people_who_are_no_statisticians() {
    let desk = Desk::new(4, 25);
    let call = desk.project.call(&["power"]).expect(0);
    insta::assert_snapshot!(call.stdout, @"
    Desk: what a comparison of two of its runs could find
      100 cases in 4 evals · 1 sample planned per case
      if 80.0 % of samples pass (--rate, or --run to measure it)

      ! a true drop of 5 points would be found with a chance of 31 %; the smallest
        drop that would be found with a chance of 80 % is 12.2 points
      to find 5 points with a chance of 80 %: about 500 cases like these, or 5
      samples of each of these cases

      Samples  Found with 80 %  Chance for 5 points  Cases for 5 points
            1      12.2 points                 31 %                 500

      Assumption: most cases nearly always or nearly never pass, so half of the
      variation in outcomes is chance. If all cases were equally hard, the smallest
      detectable drop would be 15.5 points, not 12.2. Use --run to measure it in a
      run with several samples per case.
      The figures are for pass@1, simulated with the test that `compare` uses, for a
      drop by the same share in every case's pass probability. A drop in only some
      cases may need more cases.
      Several metrics, groups or candidates that are compared at once share the 5 %
      false alarm rate, so each needs more data.
    ");
    assert!(!desk.project.path().join("results").exists(), "nothing ran");
    let enough = desk
        .project
        .call(&[
            "power",
            "--effect",
            "0.3",
            "--samples",
            "1",
            "--samples",
            "5",
            "--eval",
            "e0",
        ])
        .expect(0);
    insta::assert_snapshot!(enough.stdout, @"
    Desk: what a comparison of two of its runs could find
      25 cases in 1 eval · 1 sample planned per case · eval e0
      if 80.0 % of samples pass (--rate, or --run to measure it)

      ✓ a true drop of 30 points would be found with a chance of 81 %; the smallest
        drop that would be found with a chance of 80 % is 29.7 points

      Samples  Found with 80 %  Chance for 30 points  Cases for 30 points
            1      29.7 points                  81 %                   25
            5      10.9 points             over 99 %                    6

      Assumption: most cases nearly always or nearly never pass, so half of the
      variation in outcomes is chance. If all cases were equally hard, the smallest
      detectable drop would be 33.8 points, not 29.7. Use --run to measure it in a
      run with several samples per case.
      The figures are for pass@1, simulated with the test that `compare` uses, for a
      drop by the same share in every case's pass probability. A drop in only some
      cases may need more cases.
      Several metrics, groups or candidates that are compared at once share the 5 %
      false alarm rate, so each needs more data.
    ");
}

#[test]
fn a_small_effect_is_written_as_it_was_asked_for() {
    let desk = Desk::new(1, 25);
    for (effect, sentence, head) in [
        (
            "0.0001",
            "to find 0.01 points with a chance of 80 %: more than 10 million cases",
            "Found with 80 %  Chance for that  Cases for that\n",
        ),
        ("0.0125", "to find 1.25 points with", "  Chance for that  "),
        (
            "0.07",
            "a true drop of 7 points would",
            "  Chance for 7 points  Cases for 7 points\n",
        ),
        // A chance that does not suffice is not written as the one that would.
        (
            "0.295",
            "a true drop of 29.5 points would be found with a chance of just under 80 %;",
            "  80 %",
        ),
        (
            "0.000001",
            "a true drop of 0.0001 points would",
            "  Chance for that  ",
        ),
    ] {
        let page = desk
            .project
            .call(&["power", "--effect", effect])
            .expect(0)
            .stdout;
        let line = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            line.contains(sentence) && page.contains(head),
            "{effect}: {page}"
        );
    }
}

#[test]
fn a_run_measures_what_else_is_assumed() {
    let desk = Desk::new(2, 20);
    // Half of the cases pass in two of four samples, the others always.
    let id = desk.run(
        4,
        |_, c, s| {
            if c % 2 == 0 || s < 2 {
                Way::Pass
            } else {
                Way::Fail
            }
        },
        &[],
    );
    let said = json(&desk, &["--run", "latest"]);
    assert_eq!(said["basis"]["run"], id.as_str());
    assert!((number(&said["basis"]["rate"]) - 0.75).abs() < 1e-12);
    assert!((number(&said["basis"]["within"]) - 0.5 * 4.0 / 3.0 * 0.25).abs() < 1e-12);
    let page = desk.project.call(&["power", "--run", &id]).expect(0).stdout;
    assert!(
        page.contains(&format!(
            "as measured by run {id}: 75.0 % of its samples passed"
        )),
        "{page}"
    );
    assert!(!page.contains("Assumption:"), "{page}");
    // A run of one sample a case can't tell how samples differ.
    desk.run(
        1,
        |_, c, _| if c % 4 == 0 { Way::Fail } else { Way::Pass },
        &[],
    );
    let page = desk
        .project
        .call(&["power", "--run", "latest"])
        .expect(0)
        .stdout;
    assert!(
        page.contains("Assumption:") && page.contains("75.0 % of samples pass, as in run"),
        "{page}"
    );
}

#[test]
fn thresholds_on_an_intervals_end_are_told_their_chances() {
    let desk = Desk::new(1, 60);
    let text = std::fs::read_to_string(desk.project.path().join("eval-suite.yaml")).unwrap();
    let gate = "  thresholds: {pass@1: {min: 0.9, bound: lower}, case_pass_rate: {min: 0.7, bound: lower}}\n  evals:\n";
    desk.project
        .write("eval-suite.yaml", &text.replace("  evals:\n", gate));
    let call = desk.project.call(&["power", "--rate", "0.95"]).expect(0);
    assert!(!call.stderr.contains("ends at"), "{}", call.stderr);
    insta::assert_snapshot!(call.stdout, @"
    Desk: what a comparison of two of its runs could find
      60 cases in 1 eval · 1 sample planned per case
      if 95.0 % of samples pass (--rate, or --run to measure it)

      ! a true drop of 5 points would be found with a chance of 29 %; the smallest
        drop that would be found with a chance of 80 % is 12.6 points
      to find 5 points with a chance of 80 %: about 220 cases like these, or 4
      samples of each of these cases

      Samples  Found with 80 %  Chance for 5 points  Cases for 5 points
            1      12.6 points                 29 %                 220

    Thresholds on an interval's end
      lower end of case pass rate at least 0.700, over 60: met with a chance of over
      99 % if the true rate is 0.950
      lower end of pass@1 at least 0.900, over 60: met with a chance of 19 % if the
      true rate is 0.950; 254 would make it 80 %

      Assumption: most cases nearly always or nearly never pass, so half of the
      variation in outcomes is chance. If all cases were equally hard, the smallest
      detectable drop would be 14.6 points, not 12.6. Use --run to measure it in a
      run with several samples per case.
      The figures are for pass@1, simulated with the test that `compare` uses, for a
      drop by the same share in every case's pass probability. A drop in only some
      cases may need more cases.
      Several metrics, groups or candidates that are compared at once share the 5 %
      false alarm rate, so each needs more data.
    ");
}

#[test]
fn a_threshold_out_of_reach_is_warned_of_before_anything_runs() {
    let desk = Desk::new(1, 20);
    let text = std::fs::read_to_string(desk.project.path().join("eval-suite.yaml")).unwrap();
    let gate = "  thresholds: {pass@1: {min: 0.9, bound: lower}}\n  evals:\n";
    desk.project
        .write("eval-suite.yaml", &text.replace("  evals:\n", gate));
    desk.record("none.jsonl", 1, |_, _, _| Way::Pass);
    for args in [&["validate"][..], &["run", "--dry-run"]] {
        let call = desk.project.call(args).expect(0);
        let words = "even if all pass, the interval ends at 0.842; it takes 33 cases";
        assert!(call.stderr.contains(words), "{args:?}: {}", call.stderr);
    }
}

#[test]
fn json_fits_its_schema() {
    let desk = Desk::new(3, 10);
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schemas/power.schema.json"
    ))
    .unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    desk.run(
        2,
        |_, c, s| if c + s > 4 { Way::Pass } else { Way::Fail },
        &[],
    );
    for args in [
        &[][..],
        &["--run", "latest"],
        &["--effect", "0.001", "--category", "even"],
        &["--rate", "0.99"],
    ] {
        let said = json(&desk, args);
        let problems: Vec<String> = schema
            .iter_errors(&said)
            .map(|error| error.to_string())
            .collect();
        assert!(problems.is_empty(), "{problems:?}");
    }
    assert_eq!(
        json(&desk, &["--effect", "0.0001"])["plans"][0]["cases_needed"],
        Value::Null
    );
    assert!(!schema.is_valid(&serde_json::json!({"suite": "x"})));
}

#[test]
fn wrong_words_are_answered() {
    let desk = Desk::new(1, 5);
    for (args, words) in [
        (&["--run", "eval-1"][..], "`eval-1` can't be found"),
        (&["--effect", "0"], "write a share above 0 and below 1"),
        (&["--power", "0.3"], "write a chance from 0.5 to below 1"),
        (&["--rate", "1"], "write a share above 0 and below 1"),
        (&["--rate", "0.5", "--run", "latest"], "cannot be used with"),
        (&["--samples", "0"], "0 is not in 1"),
        (&["--eval", "none*"], "problem"),
        (&["--suite", "no.yaml"], "no.yaml"),
        (
            &["--run", "previous"],
            "`previous` depends on a candidate, but this command has none",
        ),
        (
            &["--run", "eval-1"],
            "pass a run: `latest`, a run id, or the path of a journal",
        ),
    ] {
        let call = desk.project.call(&[&["power"], args].concat()).expect(2);
        assert!(call.stderr.contains(words), "{words}: {}", call.stderr);
        assert_eq!(call.stdout, "");
    }
    desk.run(1, |_, _, _| Way::Pass, &[]);
    desk.write_suite("Other", |_, _| "ok".to_owned());
    let call = desk.project.call(&["power", "--run", "latest"]).expect(2);
    assert!(
        call.stderr.contains("belongs to suite `Desk`, not `Other`"),
        "{}",
        call.stderr
    );
}
