use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::*;
use crate::model::OutputValue;

fn asked(cases: &[(&str, &str)]) -> RecordedCases {
    let mut asked = RecordedCases::default();
    for (eval, case) in cases {
        assert!(asked.add(eval, case));
    }
    asked
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("r.jsonl")
    }

    fn open(&self, content: impl AsRef<[u8]>, cases: &[(&str, &str)]) -> Recording {
        std::fs::write(self.path(), content).unwrap();
        Recording::open(&self.path(), asked(cases), true).unwrap().0
    }

    /// What is said of a file, with small limits.
    fn refused(&self, content: impl AsRef<[u8]>, cases: &[(&str, &str)]) -> String {
        std::fs::write(self.path(), content).unwrap();
        let error =
            Recording::open_within(&self.path(), asked(cases), true, 1 << 20, 2 << 20).unwrap_err();
        error
            .to_string()
            .replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn text(answer: Result<Output, String>) -> Result<String, String> {
    answer.map(|output| match output.value {
        OutputValue::Text(text) => text,
        other => format!("{other:?}"),
    })
}

/// One line of a file, and what the plan may ask for.
#[derive(Debug, Clone)]
struct Written {
    eval: Option<u8>,
    case: u8,
    sample: Option<u8>,
    output: String,
    blank_before: bool,
}

fn written() -> impl proptest::strategy::Strategy<Value = Vec<Written>> {
    use proptest::prelude::*;
    let line = (
        proptest::option::of(0u8..3),
        0u8..6,
        proptest::option::of(0u8..4),
        "[a-c\"\\\\\n\u{e9}]{0,6}",
        any::<bool>(),
    );
    let line = line.prop_map(|(eval, case, sample, output, blank_before)| Written {
        eval,
        case,
        sample,
        output,
        blank_before,
    });
    // Some files say all samples, some none, some mix them.
    (proptest::collection::vec(line, 0..40), 0..3u8).prop_map(|(mut lines, samples)| {
        for line in &mut lines {
            line.sample = match samples {
                0 => None,
                1 => line.sample.or(Some(0)),
                _ => line.sample,
            };
        }
        lines
    })
}

/// Cases 0..4 of the evals; case 5 is in no eval, case 4 in all of them.
const PLAN: [(&str, &[&str]); 3] = [
    ("e0", &["c0", "c1", "c4"]),
    ("e1", &["c4", "c2"]),
    ("e2", &["c3", "c4", "c0"]),
];

/// What the format says, told by maps: outputs by eval, case and sample; or the number of faults and the first lines.
type Told = Result<BTreeMap<(String, String, u32), String>, (usize, Vec<usize>)>;

fn naive(lines: &[(usize, Written)]) -> Told {
    let mut first: HashMap<(String, String), bool> = HashMap::new();
    let mut held: BTreeMap<(String, String, u32), String> = BTreeMap::new();
    let mut faults = Vec::new();
    for (number, line) in lines {
        let case = format!("c{}", line.case);
        let evals: Vec<&str> = PLAN
            .iter()
            .filter(|(_, cases)| cases.contains(&case.as_str()))
            .map(|(eval, _)| *eval)
            .collect();
        let eval = match (line.eval, evals.as_slice()) {
            (Some(eval), evals) => match evals.iter().find(|name| **name == format!("e{eval}")) {
                Some(eval) => *eval,
                None => continue,
            },
            (None, []) => continue,
            (None, [one]) => one,
            (None, _) => {
                faults.push(*number);
                continue;
            }
        };
        let key = (eval.to_owned(), case.clone());
        if *first.entry(key).or_insert(line.sample.is_some()) != line.sample.is_some() {
            faults.push(*number);
            continue;
        }
        let next = held
            .keys()
            .filter(|(e, c, _)| e == eval && *c == case)
            .count() as u32;
        let key = (eval.to_owned(), case, line.sample.map_or(next, u32::from));
        if held.contains_key(&key) {
            faults.push(*number);
            continue;
        }
        held.insert(key, line.output.clone());
    }
    if faults.is_empty() {
        Ok(held)
    } else {
        Err((faults.len(), faults.into_iter().take(20).collect()))
    }
}

fn file_of(lines: &[Written]) -> (String, Vec<(usize, Written)>) {
    let (mut text, mut numbered, mut number) = (String::new(), Vec::new(), 0);
    for line in lines {
        if line.blank_before {
            text.push_str(" \r\n");
            number += 1;
        }
        number += 1;
        let mut record =
            serde_json::json!({"case": format!("c{}", line.case), "output": line.output});
        if let Some(eval) = line.eval {
            record["eval"] = format!("e{eval}").into();
        }
        if let Some(sample) = line.sample {
            record["sample"] = sample.into();
        }
        let _ = writeln!(text, "{record}");
        numbered.push((number, line.clone()));
    }
    (text, numbered)
}

fn plan() -> Vec<(&'static str, &'static str)> {
    PLAN.iter()
        .flat_map(|(eval, cases)| cases.iter().map(|case| (*eval, *case)))
        .collect()
}

proptest::proptest! {
    #[test]
    fn a_recording_holds_exactly_what_maps_would(lines in written(), array in proptest::bool::ANY) {
        let folder = Folder::new();
        let (mut text_of_file, numbered) = file_of(&lines);
        if array {
            let records: Vec<&str> = text_of_file.lines().filter(|line| !line.trim().is_empty()).collect();
            text_of_file = format!(" [{}]\n", records.join(" ,\n"));
        }
        std::fs::write(folder.path(), &text_of_file).unwrap();
        match (Recording::open(&folder.path(), asked(&plan()), true), naive(&numbered)) {
            (Ok((recording, _)), Ok(held)) => {
                for (eval, case) in plan() {
                    let of_case = || held.keys().filter(|(e, c, _)| e == eval && c == case);
                    let samples = of_case().map(|(_, _, sample)| sample + 1).max().unwrap_or(0);
                    proptest::prop_assert_eq!(recording.samples(eval, case), samples);
                    for sample in 0..6 {
                        let key = (eval.to_owned(), case.to_owned(), sample);
                        let answer = text(recording.output(eval, case, sample)).ok();
                        proptest::prop_assert_eq!(answer.as_ref(), held.get(&key));
                    }
                }
            }
            (Err(TargetError::Recording(told)), Err((count, first))) => {
                proptest::prop_assert_eq!(told.problems.len() + told.more, count);
                if !array {
                    let lines: Vec<usize> = told.problems.iter().filter_map(|problem| problem.line).collect();
                    proptest::prop_assert_eq!(lines, first);
                }
            }
            (told, expected) => proptest::prop_assert!(false, "{told:?}\n{expected:?}"),
        }
    }
}

#[test]
fn many_records_of_several_evals_are_found_in_whatever_order_they_lie() {
    let evals: Vec<String> = (0..7).map(|e| format!("eval-{e}")).collect();
    let cases: Vec<String> = (0..40).map(|c| format!("case-{c}")).collect();
    let plan: Vec<(&str, &str)> = evals
        .iter()
        .flat_map(|e| cases.iter().map(move |c| (e.as_str(), c.as_str())))
        .collect();
    // Explicit samples interleaved over the cases, in odd evals from the last one on.
    let mut content = String::new();
    for sample in 0..5u32 {
        for (n, (eval, case)) in plan.iter().enumerate() {
            let explicit = n % 2 == 1;
            let sample = if explicit { 4 - sample } else { sample };
            let said = if explicit {
                format!("\"sample\":{sample},")
            } else {
                String::new()
            };
            let _ = writeln!(
                content,
                "{{\"eval\":\"{eval}\",\"case\":\"{case}\",{said}\"output\":\"{eval}/{case}/{sample}\"}}"
            );
        }
    }
    let folder = Folder::new();
    let recording = folder.open(content, &plan);
    for (eval, case) in plan.iter().rev() {
        assert_eq!(recording.samples(eval, case), 5);
        for sample in 0..5 {
            let expected = format!("{eval}/{case}/{sample}");
            assert_eq!(text(recording.output(eval, case, sample)), Ok(expected));
        }
    }
    assert_eq!(
        text(recording.output("eval-0", "case-0", 5)),
        Err("r.jsonl has 5 of this case's samples, but not sample 5 (counted from 0)".to_owned())
    );
}

#[test]
fn a_file_that_changes_after_it_was_checked_gives_words_and_no_output() {
    let lines = "{\"case\":\"a\",\"output\":\"1\"}\n{\"case\":\"b\",\"output\":\"2\"}\n";
    let swapped = "{\"case\":\"b\",\"output\":\"2\"}\n{\"case\":\"a\",\"output\":\"1\"}\n";
    let cases = [("e", "a"), ("e", "b")];
    for hold in [true, false] {
        for after in [swapped, "", "{\"case\":\"a\",\"output\":\"other\"}\n"] {
            let folder = Folder::new();
            std::fs::write(folder.path(), lines).unwrap();
            let (recording, _) = Recording::open(&folder.path(), asked(&cases), hold).unwrap();
            // The clock of a file system may be too coarse to tell two writes of one moment apart.
            std::fs::write(folder.path(), after).unwrap();
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
            File::options()
                .write(true)
                .open(folder.path())
                .unwrap()
                .set_modified(later)
                .unwrap();
            assert_eq!(
                text(recording.output("e", "a", 0)),
                Err(
                    "r.jsonl has changed since it was checked, so its line 1 is not used"
                        .to_owned()
                )
            );
        }
    }
    let folder = Folder::new();
    std::fs::write(folder.path(), lines).unwrap();
    let (recording, _) = Recording::open(&folder.path(), asked(&cases), false).unwrap();
    std::fs::remove_file(folder.path()).unwrap();
    assert_eq!(
        text(recording.output("e", "b", 0)),
        Err(
            "cannot read line 2 of r.jsonl again: No such file or directory (os error 2)"
                .to_owned()
        )
    );
}

#[test]
fn a_record_of_another_sample_is_not_taken_for_the_one_asked() {
    let is_output = |bytes: &[u8], eval, case, sample| {
        matches!(
            read_again(bytes, eval, case, sample),
            RecordRead::Output(Some(_), _)
        )
    };
    let bytes = br#"{"eval":"e","case":"a","sample":1,"output":"x"}"#;
    assert!(is_output(bytes, "e", "a", 1));
    assert!(!is_output(bytes, "e", "a", 0));
    assert!(!is_output(bytes, "e", "b", 1));
    assert!(!is_output(bytes, "f", "a", 1));
    assert!(!is_output(&bytes[1..], "e", "a", 1));
    assert!(!is_output(b"{\"case\":\"\xff\",\"output\":1}", "e", "a", 1));
}

#[test]
fn what_is_too_large_is_refused_in_words() {
    let folder = Folder::new();
    let long = "x".repeat(1 << 20);
    let lines = format!(
        "{{\"case\":\"a\",\"output\":\"{long}\"}}\n{{}}\n{{\"case\":\"a\",\"output\":\"{long}\"}}"
    );
    let cases = [("e", "a")];
    let array = format!("[{{\"case\":\"a\",\"output\":\"{long}{long}\"}}]");
    insta::assert_snapshot!([folder.refused(lines, &cases), folder.refused(array, &cases)].join("\n"), @r"
    r.jsonl:1: a line may have up to 1 MiB, but this one is longer
    r.jsonl:2: has no case: `case` (or `task_id`) is missing
    r.jsonl:3: a line may have up to 1 MiB, but this one is longer
    r.jsonl: a JSON array is read into memory and may have up to 2 MiB: write one JSON object per line instead
    ");
}

#[test]
fn problems_that_show_late_are_told_in_the_order_of_the_file() {
    let folder = Folder::new();
    let twice = "{\"case\":\"a\",\"sample\":0,\"output\":\"1\"}\n".repeat(3);
    let content = format!(
        "{twice}{{}}\n{twice}{{\"case\":\"a\",\"output\":\"1\"}}\n{}",
        "{}\n".repeat(20)
    );
    let told = folder.refused(content, &[("e", "a")]);
    let lines: Vec<&str> = told.lines().take(7).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    r.jsonl:2: sample 0 of case `a` was already recorded at line 1
    r.jsonl:3: sample 0 of case `a` was already recorded at line 1
    r.jsonl:4: has no case: `case` (or `task_id`) is missing
    r.jsonl:5: sample 0 of case `a` was already recorded at line 1
    r.jsonl:6: sample 0 of case `a` was already recorded at line 1
    r.jsonl:7: sample 0 of case `a` was already recorded at line 1
    r.jsonl:8: line 1 of case `a` has a `sample`, but this one does not: give all of them an index, or none
    ");
    assert!(told.ends_with("\nand 7 more problems"), "{told}");
}

#[test]
fn outputs_of_every_size_come_back_and_a_cut_one_says_so() {
    let folder = Folder::new();
    let sizes = [0, 1, 4095, 70_000, 5_000_000];
    let cases: Vec<String> = sizes.iter().map(|n| format!("c{n}")).collect();
    let plan: Vec<(&str, &str)> = cases.iter().map(|case| ("e", case.as_str())).collect();
    let mut content = String::new();
    for (case, size) in cases.iter().zip(sizes) {
        let _ = writeln!(
            content,
            "{{\"case\":\"{case}\",\"output\":\"{}\",\"truncated\":true}}",
            "y".repeat(size)
        );
    }
    let recording = folder.open(content, &plan);
    for (case, size) in cases.iter().zip(sizes) {
        let output = recording.output("e", case, 0).unwrap();
        assert!(output.truncated);
        assert_eq!(output.value, OutputValue::Text("y".repeat(size)));
    }
    assert_eq!(
        folder.refused(
            "{\"case\":\"a\",\"output\":\"x\",\"truncated\":1}",
            &[("e", "a")]
        ),
        "r.jsonl:1: `truncated` must be true or false"
    );
}

#[test]
fn what_comes_through_an_inherited_pipe_is_kept() {
    use std::os::fd::AsRawFd;
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, b"{\"case\":\"a\",\"output\":\"1\"}\n").unwrap();
    drop(writer);
    let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
    let (recording, _) = Recording::open(&path, asked(&[("e", "a")]), true).unwrap();
    assert_eq!(text(recording.output("e", "a", 0)), Ok("1".to_owned()));
}

#[test]
fn a_named_pipe_and_a_device_are_refused_at_once() {
    let folder = Folder::new();
    let pipe = folder.0.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    for (path, why) in [
        (pipe.as_path(), "a named pipe"),
        (Path::new("/dev/zero"), "a device"),
    ] {
        let error = Recording::open(path, asked(&[("e", "a")]), true)
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with(&format!("it is {why}, not a regular file")),
            "{error}"
        );
    }
}

#[test]
fn escapes_that_can_never_be_read_are_told_when_the_file_is_opened() {
    let folder = Folder::new();
    let told = folder.refused(r#"{"case":"a","output":["\ud800"]}"#, &[("e", "a")]);
    assert_eq!(told, "r.jsonl:1:30: not JSON: unexpected end of hex escape");
}

#[test]
fn a_long_line_is_scanned_and_not_held() {
    let folder = Folder::new();
    let long = "x".repeat(6 << 20);
    // The second is within the limit, the third is not; the others are unreadable after many bytes.
    let lines = [
        r#"{"case":"a","output":"1"}"#.to_owned(),
        format!(r#"{{"output":"{long}","case":"b"}}"#),
        format!(r#"{{"output":"{long}{long}","case":"c"}}"#),
        format!(r#"{{"output":"{long}\ud800","case":"d"}}"#),
        format!(r#"{{"output":"{long}","case":"e"#),
    ];
    std::fs::write(folder.path(), lines.join("\r\n")).unwrap();
    let cases = ["a", "b", "c", "d", "e"].map(|case| ("e", case));
    let opened = Recording::open_within(&folder.path(), asked(&cases), true, 10 << 20, 2 << 20);
    let (recording, warnings) = opened.unwrap();
    assert_eq!(text(recording.output("e", "a", 0)), Ok("1".to_owned()));
    assert_eq!(text(recording.output("e", "b", 0)), Ok(long));
    let reasons = ["c", "d", "e"].map(|case| text(recording.output("e", case, 0)).unwrap_err());
    insta::assert_snapshot!(reasons.join("\n"), @r"
    line 3 of r.jsonl cannot be read: a line may have up to 10 MiB, but this one is longer
    line 4 of r.jsonl cannot be read (column 6291474): not JSON: unexpected end of hex escape
    r.jsonl has no output for this case; its line 5 cannot be read and may contain it
    ");
    assert_eq!(
        recording.records.lost,
        LostRecords {
            first: vec![5],
            count: 1
        }
    );
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:?}")
    };
    assert!(
        warning
            .starts_with("r.jsonl: 3 records that cannot be read are graded as errored: line 3: "),
        "{warning}"
    );
    assert!(
        warning.ends_with("not JSON: EOF while parsing a string"),
        "{warning}"
    );
}

#[test]
fn layouts_that_are_read_into_memory_have_a_limit() {
    let folder = Folder::new();
    let refused = |path: &Path| {
        let cases = asked(&[("e", "a"), ("e", "b")]);
        let opened = Recording::open_within(path, cases, true, 1 << 20, 2 << 20);
        opened.unwrap_err().to_string()
    };
    let long = "x".repeat(1 << 20);
    let lines: String = ["a", "b", "a"]
        .map(|id| {
            format!(
                "{}\n",
                serde_json::json!({"question_id": id, "code_list": [long]})
            )
        })
        .concat();
    std::fs::write(folder.path(), lines).unwrap();
    let told = refused(&folder.path());
    assert!(
        told.contains("a file of `code_list` is read into memory and may have up to 2 MiB"),
        "{told}"
    );
    let samples = folder.path().with_file_name("samples");
    for case in ["a", "b"] {
        std::fs::create_dir_all(samples.join(case)).unwrap();
        for sample in ["0.py", "1.py"] {
            std::fs::write(samples.join(case).join(sample), &long).unwrap();
        }
    }
    let told = refused(&samples);
    assert!(
        told.contains("a folder of samples is read into memory and may have up to 2 MiB"),
        "{told}"
    );
}

proptest::proptest! {
    /// Broken lines change nothing for the samples of readable lines, and each is errored or lost.
    #[test]
    fn broken_lines_leave_the_others_as_they_are(
        broken in proptest::collection::vec((0..6usize, 0..8u32), 1..12),
        good in 1..6u32,
        says in proptest::bool::ANY,
    ) {
        let said = |sample: u32| if says { format!(r#""sample":{sample},"#) } else { String::new() };
        let mut lines: Vec<(u32, String)> =
            (0..good).map(|n| (n * 2, format!(r#"{{"case":"a",{}"output":"{n}"}}"#, said(n)))).collect();
        for (kind, sample) in &broken {
            let line = match kind {
                0 => format!(r#"{{"case":"a",{}"output":NaN}}"#, said(*sample)),
                1 => r#"{"case":"a","output":"\ud800"}"#.to_owned(),
                2 => format!(r#"{{"case":"a","sample":{sample},"output":"#),
                3 => "nothing".to_owned(),
                4 => r#"{"output":"cut"#.to_owned(),
                _ => r#"{"case":"a","output":"1"}{"case":"a","output":"2"}"#.to_owned(),
            };
            lines.push((*sample * 2 + 1, line));
        }
        lines.sort();
        let content: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        let folder = Folder::new();
        let recording = folder.open(content.join("\n"), &[("e", "a")]);
        let samples = recording.samples("e", "a");
        let answers: Vec<Result<String, String>> =
            (0..samples).map(|sample| text(recording.output("e", "a", sample))).collect();
        let sound: Vec<&String> = answers.iter().flatten().collect();
        let expected: Vec<String> = (0..good).map(|n| n.to_string()).collect();
        proptest::prop_assert_eq!(sound, expected.iter().collect::<Vec<_>>());
        let of_case = broken.iter().filter(|(kind, _)| !matches!(kind, 3 | 4)).count();
        let unreadable = answers.iter().filter(|answer| answer.as_ref().is_err_and(|why| why.starts_with("line ")));
        proptest::prop_assert_eq!(unreadable.count(), of_case);
        let lost = broken.iter().filter(|(kind, _)| *kind >= 3).count();
        proptest::prop_assert_eq!(recording.records.lost.count, lost);
    }
}
