//! Labels and what they show of a judge.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::model::{JudgeCalibration, LabelDraw};
use crate::spec::{CalibrationFile, LabelOrigin};
use eval_stats::label_order;

fn written(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

fn csv(text: &str, pass_from: Option<f64>) -> Result<LabelsFile, String> {
    let (_dir, path) = written("labels.csv", text);
    read_labels(&path, pass_from).map_err(|error| {
        let message = error.message;
        let message = message.replace(&path.display().to_string(), "labels.csv");
        match error.hint {
            Some(hint) => format!("{message} | {hint}"),
            None => message,
        }
    })
}

#[test]
fn labels_are_read_in_every_spelling() {
    let file = csv(
        "Case,eval,sample,verdict,label,reviewer,output\n"
            .to_lowercase()
            .as_str(),
        None,
    );
    assert!(file.unwrap_err().contains("has no row"));
    let file = csv(
        "case,eval,sample,verdict,label,reviewer,category,output,remark\n\
         a,e,0,pass,1,ana,kind,été,x\n\
         a,e,0,PASS,fail,ben,kind,été,x\n\
         b,e,2,0,no,ana,,,\n\
         c,e,,yes,,,,,\n",
        None,
    )
    .unwrap();
    assert_eq!(file.notes, ["columns not read: remark"]);
    assert!(!file.labels_only);
    let [judge] = file.judges.as_slice() else {
        panic!("one judge")
    };
    assert_eq!(judge.judge, "judge");
    let said: Vec<_> = judge
        .outputs
        .iter()
        .map(|output| {
            let labels: Vec<_> = output
                .labels
                .iter()
                .map(|label| (label.reviewer.as_str(), label.passed))
                .collect();
            let of = &output.output;
            (
                of.case.as_str(),
                of.sample,
                output.passed,
                output.length,
                labels,
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            (
                "a",
                0,
                Some(true),
                Some(3.0),
                vec![("ana", Some(true)), ("ben", Some(false))]
            ),
            ("b", 2, Some(false), None, vec![("ana", Some(false))]),
            ("c", 0, Some(true), None, vec![]),
        ]
    );
    let (_dir, path) = written(
        "labels.jsonl",
        "{\"case\": 7, \"score\": 4.5, \"label\": 3, \"judge\": \"tone\"}\n{\"case\": \"8\", \"score\": 2, \"label\": 4}\n",
    );
    let file = read_labels(&path, Some(4.0)).unwrap();
    let said: Vec<_> = file
        .judges
        .iter()
        .flat_map(|judge| judge.outputs.iter().map(move |output| (judge, output)))
        .map(|(judge, output)| {
            (
                judge.judge.as_str(),
                output.passed,
                output.people_pass(),
                output.people_score(),
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            ("judge", Some(false), Some(true), Some(4.0)),
            ("tone", Some(true), Some(false), Some(3.0)),
        ]
    );
}

#[test]
fn wrong_files_of_labels_are_refused_with_the_line() {
    let told = |text: &str| csv(text, None).unwrap_err();
    let all = [
        "case,lable\na,1\n",
        "id,label\na,1\n",
        "case,label\na,\n",
        "case,verdict,label\na,maybe,1\n",
        "case,verdict,label\na,1,good\n",
        "case,verdict,label\na,1,1\na,1,0\n",
        "case,verdict,label,reviewer\na,1,1,ana\na,1,0,ana\n",
        "case,verdict,label,reviewer\na,1,1,ana\na,0,0,ben\n",
        "case,verdict,label,sample\na,1,1,-1\n",
        "case,verdict,label,doubt\na,1,1,2\n",
        "case,verdict,label\na,1\n",
        "case,verdict,label\n,1,1\n",
    ]
    .map(told);
    insta::assert_snapshot!(all.join("\n"), @r"
    the file of labels has no column `label` | `lable` is not a column; did you mean `label`?
    the file of labels has no column `case` | columns: eval, case, sample, target, judge, verdict, score, label, reviewer, criterion, category, output, length, position, doubt
    every `label` of the file is empty
    labels.csv:2: `verdict` is `maybe`, but must be `pass` or `fail` | also `1` and `0`, `true` and `false`; scores of the judge belong to `score`
    labels.csv:2: `label` is `good`, but must be a number
    labels.csv:3: case `a` already has a label | to give several labels of one output, name their authors in a column `reviewer`
    labels.csv:3: case `a` already has a label by `ana` | to give several labels of one output, name their authors in a column `reviewer`
    labels.csv:3: the judge's verdict on case `a` differs from an earlier row
    labels.csv:2: `sample` is -1, but must be a whole number
    labels.csv:2: `doubt` is 2, but must be from 0 to 1
    cannot read labels from labels.csv: line 2: 2 fields, but the header has 3
    labels.csv:2: the row has no `case`
    ");
}

/// Outputs by number, with the verdict of the judge, the label of a person and a doubt.
fn outputs(rows: &[(bool, Option<bool>, f64)]) -> JudgedOutputs {
    let output = |(at, (passed, label, doubt)): (usize, &(bool, Option<bool>, f64))| JudgedOutput {
        output: LabelledOutput {
            case: format!("c{at:04}"),
            ..LabelledOutput::default()
        },
        passed: Some(*passed),
        doubt: *doubt,
        labels: label
            .map(|passed| PersonLabel {
                reviewer: "ana".to_owned(),
                passed: Some(passed),
                score: None,
            })
            .into_iter()
            .collect(),
        ..JudgedOutput::default()
    };
    JudgedOutputs {
        judge: "tone".to_owned(),
        identity: Some(JudgeIdentity {
            fingerprint: "0".repeat(32),
            models: vec!["openai:judge".to_owned()],
            votes: 1,
        }),
        outputs: rows.iter().enumerate().map(output).collect(),
    }
}

const OPTIONS: MeasureOptions = MeasureOptions {
    seed: 7,
    is_random: false,
    width: 0.1,
    next: 3,
};

fn measured(
    judged: &JudgedOutputs,
    options: &MeasureOptions,
) -> (JudgeCalibration, Option<CalibrationFile>, Vec<String>) {
    calibrate(
        judged,
        &LabelOrigin::default(),
        "2026-03-04T05:06:07.000Z",
        options,
    )
}

#[test]
fn counts_and_rates_of_a_judge_are_those_of_its_labels() {
    // Of 100 labels: 60 and 20 right, 12 passed in vain, 8 failed in vain; 100 more without a label.
    let mut rows = vec![(true, Some(true), 0.0); 60];
    rows.extend(vec![(true, Some(false), 0.0); 12]);
    rows.extend(vec![(false, Some(true), 0.0); 8]);
    rows.extend(vec![(false, Some(false), 0.0); 20]);
    rows.extend(vec![(true, None, 0.0); 72]);
    rows.extend(vec![(false, None, 0.0); 28]);
    let options = MeasureOptions {
        is_random: true,
        ..OPTIONS
    };
    let (judge, file, notes) = measured(&outputs(&rows), &options);
    assert_eq!((notes.len(), judge.undecided), (0, 0));
    let figures = &judge.overall;
    assert_eq!(
        [
            figures.labelled,
            figures.true_passes,
            figures.false_passes,
            figures.true_fails,
            figures.false_fails,
            judge.judged,
            judge.judged_passed,
        ],
        [100, 60, 12, 20, 8, 200, 144]
    );
    assert_eq!(figures.sensitivity.value, Some(60.0 / 68.0));
    assert_eq!(figures.specificity.value, Some(20.0 / 32.0));
    assert_eq!(figures.agreement.value, Some(0.8));
    // kappa: (0.8 - 0.5792) / (1 - 0.5792), with 0.72 x 0.68 + 0.28 x 0.32 by chance.
    let kappa = figures.kappa.value.unwrap();
    assert!(
        (kappa - (0.8 - 0.5792) / (1.0 - 0.5792)).abs() < 1e-12,
        "{kappa}"
    );
    // 0.72 x 60/72 + 0.28 x 8/28
    assert!((judge.corrected_rate.value.unwrap() - 0.68).abs() < 1e-12);
    let [low, high] = judge.corrected_rate.ci.unwrap();
    assert!(low < 0.68 && 0.68 < high && high - low < 0.25);
    assert_eq!(judge.differences.len(), 20);
    let file = file.unwrap();
    assert_eq!(file.labels.draw, LabelDraw::Random);
    assert_eq!((file.labels.judged, file.labels.judged_passed), (200, 144));
    let counts: Vec<_> = file
        .confusion
        .iter()
        .map(|row| (row.judge_passes, row.people_pass, row.count))
        .collect();
    assert_eq!(
        counts,
        [
            (true, true, 60),
            (true, false, 12),
            (false, false, 20),
            (false, true, 8)
        ]
    );
    let needed = &judge.labels_needed;
    assert!(needed.corrected_rate.is_none_or(|labels| labels > 100));
    assert!(
        needed.sensitivity.unwrap() > 100
            && needed.specificity.unwrap() > needed.sensitivity.unwrap()
    );
}

#[test]
fn labels_by_choice_correct_nothing() {
    let mut rows = vec![(true, Some(true), 0.0); 30];
    rows.extend(vec![(false, Some(false), 0.0); 30]);
    rows.extend(vec![(true, None, 0.0); 60]);
    let (judge, file, _) = measured(&outputs(&rows), &OPTIONS);
    assert_eq!(judge.draw, LabelDraw::Chosen);
    assert_eq!(judge.corrected_rate.value, None);
    assert_eq!(
        judge.corrected_rate.undefined.as_deref(),
        Some("the labelled outputs are not known to be a random draw")
    );
    assert_eq!(judge.overall.labelled, 60, "they still describe the judge");
    assert_eq!(file.unwrap().labels.draw, LabelDraw::Chosen);
}

#[test]
fn labels_that_follow_the_order_are_a_weighted_draw() {
    let mut rows: Vec<(bool, Option<bool>, f64)> = (0..200)
        .map(|at| (at % 3 > 0, None, if at % 4 == 0 { 0.8 } else { 0.0 }))
        .collect();
    let doubts: Vec<f64> = rows.iter().map(|row| row.2).collect();
    let order = label_order(&doubts, 0.5, OPTIONS.seed).unwrap();
    for at in &order[..40] {
        rows[*at].1 = Some(rows[*at].0);
    }
    let (judge, file, notes) = measured(&outputs(&rows), &OPTIONS);
    assert_eq!(
        (judge.draw, judge.overall.labelled),
        (LabelDraw::Random, 40)
    );
    assert_eq!(notes, Vec::<String>::new());
    let next: Vec<_> = judge
        .next
        .iter()
        .map(|next| next.output.case.clone())
        .collect();
    let wanted: Vec<_> = order[40..43].iter().map(|at| format!("c{at:04}")).collect();
    assert_eq!(next, wanted);
    let weights: Vec<f64> = file
        .unwrap()
        .confusion
        .iter()
        .map(|row| row.weight)
        .collect();
    let (least, most) = (
        weights.iter().copied().fold(f64::MAX, f64::min),
        weights.iter().copied().fold(0.0, f64::max),
    );
    // A doubtful output is drawn (0.5 + 0.5 x 4) / 0.5 times as often.
    assert!((most / least - 5.0).abs() < 1e-9, "{weights:?}");

    // Others that somebody chose beside them are left out, and said.
    for at in order.iter().rev().take(3) {
        rows[*at].1 = Some(true);
    }
    let (judge, _, notes) = measured(&outputs(&rows), &OPTIONS);
    assert_eq!(
        (judge.draw, judge.overall.labelled),
        (LabelDraw::Random, 40)
    );
    assert_eq!(
        notes,
        ["tone: 3 labelled outputs are left out, since they were not drawn like the others"]
    );
}

#[test]
fn judge_like_a_coin_has_no_corrected_rate() {
    let rows: Vec<_> = (0..120)
        .map(|at| (at % 2 == 0, Some(at % 4 < 2), 0.0))
        .collect();
    let (judge, ..) = measured(&outputs(&rows), &OPTIONS);
    assert_eq!(judge.draw, LabelDraw::Random, "all are labelled");
    assert_eq!(
        judge.corrected_rate.undefined.as_deref(),
        Some("the judge's verdicts can't be distinguished from chance")
    );
    assert_eq!(judge.judged_rate.value, Some(0.5));
}

#[test]
fn people_who_differ_decide_by_majority_and_ties_are_left_out() {
    let mut judged = outputs(&[(true, None, 0.0), (true, None, 0.0), (false, None, 0.0)]);
    let say = |output: &mut JudgedOutput, all: &[bool]| {
        output.labels = all
            .iter()
            .enumerate()
            .map(|(at, passed)| PersonLabel {
                reviewer: format!("r{at}"),
                passed: Some(*passed),
                score: None,
            })
            .collect();
    };
    say(&mut judged.outputs[0], &[true, false, false]);
    say(&mut judged.outputs[1], &[true, false]);
    say(&mut judged.outputs[2], &[false]);
    let (judge, file, _) = measured(&judged, &OPTIONS);
    assert_eq!((judge.undecided, judge.overall.labelled), (1, 2));
    assert_eq!(
        (judge.overall.false_passes, judge.overall.true_fails),
        (1, 1)
    );
    let difference = &judge.differences[0];
    assert_eq!((difference.against, difference.people), (2, 3));
    assert_eq!(judge.people.unwrap().outputs, 2);
    assert_eq!(file.unwrap().labels.reviewers, ["r0", "r1", "r2"]);
}

#[test]
fn leniency_by_length_position_and_target_is_the_difference_of_gaps() {
    let mut judged = outputs(&[(true, Some(true), 0.0); 40]);
    for (at, output) in judged.outputs.iter_mut().enumerate() {
        output.length = Some(at as f64);
        output.position = Some(if at % 2 == 0 { "first" } else { "second" }.to_owned());
        output.output.target = Some(["a", "b", "c"][at % 3].to_owned());
        // Long ones pass in vain, every other one.
        if at >= 20 && at % 2 == 0 {
            output.labels[0].passed = Some(false);
        }
    }
    let (judge, ..) = measured(&judged, &OPTIONS);
    let biases: Vec<_> = judge
        .biases
        .iter()
        .map(|bias| (bias.by.as_str(), bias.of.as_str(), bias.labelled))
        .collect();
    assert_eq!(
        biases,
        [
            ("length", "more than 19 characters", 20),
            ("position", "first", 20),
            ("target", "a", 14),
            ("target", "b", 13),
            ("target", "c", 13),
        ]
    );
    assert_eq!(judge.biases[0].leniency.value, Some(0.5));
    assert_eq!(judge.biases[1].leniency.value, Some(0.5));
    assert!(judge.biases[0].leniency.ci.unwrap()[0] > 0.0);
}

proptest! {
    /// The corrected rate of a plain draw is the share of each verdict times what people pass of it.
    #[test]
    fn corrected_rate_is_that_of_the_formula(
        counts in proptest::array::uniform4(5u64..40),
        more in proptest::array::uniform2(0u64..200),
    ) {
        let [tp, fp, fnn, tn] = counts;
        let mut rows = vec![(true, Some(true), 0.0); tp as usize];
        rows.extend(vec![(true, Some(false), 0.0); fp as usize]);
        rows.extend(vec![(false, Some(true), 0.0); fnn as usize]);
        rows.extend(vec![(false, Some(false), 0.0); tn as usize]);
        rows.extend(vec![(true, None, 0.0); more[0] as usize]);
        rows.extend(vec![(false, None, 0.0); more[1] as usize]);
        let options = MeasureOptions { is_random: true, ..OPTIONS };
        let (judge, ..) = measured(&outputs(&rows), &options);
        let n = rows.len() as f64;
        let q = (tp + fp + more[0]) as f64 / n;
        let wanted = q * tp as f64 / (tp + fp) as f64 + (1.0 - q) * fnn as f64 / (fnn + tn) as f64;
        match judge.corrected_rate.value {
            Some(value) => prop_assert!((value - wanted).abs() < 1e-9, "{value} {wanted}"),
            None => prop_assert!(judge.corrected_rate.undefined.is_some()),
        }
        let figures = &judge.overall;
        prop_assert_eq!(figures.labelled, tp + fp + fnn + tn);
        prop_assert_eq!(figures.agreement.value, Some((tp + tn) as f64 / figures.labelled as f64));
    }
}

#[test]
fn store_keeps_one_file_a_judge_and_refuses_broken_ones() {
    let dir = tempfile::tempdir().unwrap();
    let store = CalibrationStore::of_project(dir.path());
    assert_eq!(store.read().unwrap(), []);
    let (_, file, _) = measured(&outputs(&[(true, Some(true), 0.0)]), &OPTIONS);
    let file = CalibrationFile {
        judge: "kind/tone".to_owned(),
        ..file.unwrap()
    };
    let path = store.write(&file).unwrap();
    assert!(path.ends_with("judges/kind%2Ftone.yaml"), "{path:?}");
    assert_eq!(store.read().unwrap(), [file]);
    std::fs::write(&path, "format_version: 1\n").unwrap();
    assert!(
        store
            .read()
            .unwrap_err()
            .to_string()
            .contains("judges/kind%2Ftone.yaml:1")
    );
}

#[test]
fn ratings_of_input_and_output_are_labels_whichever_grader_asked() {
    use crate::model::ReviewPolicy;
    use crate::ratings::RatingStore;
    use crate::spec::HumanGraderConfig;
    let dir = tempfile::tempdir().unwrap();
    let line = |id: &str, reviewer: &str, rating: serde_json::Value, more: serde_json::Value| {
        let mut line = serde_json::json!({
            "version": 1, "id": id, "at": format!("2026-03-04T05:06:0{id}Z"), "reviewer": reviewer,
            "suite": "s", "eval": "e", "case": "c", "grader": "g", "input": "sha256:i",
            "output": "sha256:o", "rubric": "sha256:r", "rating": rating, "tool": "0.1.0",
        });
        for (key, value) in more.as_object().unwrap() {
            line[key] = value.clone();
        }
        format!("{line}\n")
    };
    let none = serde_json::json!({});
    let binary = |value: bool| serde_json::json!({"type": "binary", "value": value});
    let likert = serde_json::json!({"type": "likert", "scores": {"tone": 5, "style": 2}});
    let other = serde_json::json!({"output": "sha256:p"});
    let text = [
        line("1", "ana", binary(true), none.clone()),
        line("2", "ben", binary(false), none.clone()),
        line(
            "3",
            "ben",
            binary(true),
            serde_json::json!({"repeat": true}),
        ),
        line(
            "4",
            "cyd",
            serde_json::json!({"type": "skip"}),
            none.clone(),
        ),
        line("5", "dee", likert, none.clone()),
        line("6", "ana", binary(false), other),
    ];
    std::fs::write(dir.path().join("all.jsonl"), text.concat()).unwrap();
    let mut judged = outputs(&[(true, None, 0.0), (true, None, 0.0)]);
    let rated = RatedOutput {
        input: "sha256:i".to_owned(),
        output: "sha256:o".to_owned(),
        policies: vec![(
            "sha256:r".to_owned(),
            ReviewPolicy::of(&HumanGraderConfig::default()),
        )],
    };
    judged.outputs[0].rated = Some(rated.clone());
    judged.outputs[1].rated = Some(rated);
    judged.outputs[1].criterion = Some("tone".to_owned());
    let store = RatingStore::read(dir.path()).unwrap();
    assert_eq!(store.problems(), []);
    let said = |output: &JudgedOutput| -> Vec<(String, Option<bool>)> {
        let labels = output.labels.iter();
        labels
            .map(|label| (label.reviewer.clone(), label.passed))
            .collect()
    };
    let mut judges = [judged];
    add_ratings(&mut judges, &store);
    // (5 - 1) / 4 and (2 - 1) / 4 are 0.625 together, which is below 0.7.
    let mut whole = said(&judges[0].outputs[0]);
    whole.sort();
    assert_eq!(
        whole,
        [
            ("ana".to_owned(), Some(true)),
            ("ben".to_owned(), Some(false)),
            ("dee".to_owned(), Some(false))
        ]
    );
    assert_eq!(
        said(&judges[0].outputs[1]),
        [("dee".to_owned(), Some(true))]
    );
}
