//! Data files in the layouts of benchmarks: what their records mean, and what is wrong with a file.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use crate::support::{Call, Project};

/// A suite with one eval `b` of a data file, whose outputs are in `out.jsonl`.
pub(super) fn suite(dataset: &str) -> String {
    format!(
        "eval_suite:\n  name: B\n  evals:\n    - metadata: {{id: b}}\n      dataset: {dataset}\n  target: {{type: recorded, path: out.jsonl}}\n"
    )
}

pub(super) fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A project with a data file and answers by case; the run, and the outcomes by case and sample.
pub(super) fn graded(dataset: &str, file: (&str, &str), answers: &[(&str, &str)]) -> Vec<String> {
    let answers: Vec<Value> = answers
        .iter()
        .map(|(case, output)| json!({"case": case, "output": output}))
        .collect();
    let project = Project::with(&[
        ("suite.yaml", &suite(dataset)),
        file,
        ("out.jsonl", &lines(&answers)),
    ]);
    run(&project);
    outcomes(&project)
}

pub(super) fn run(project: &Project) -> Call {
    project.call(&["run", "--suite", "suite.yaml", "--progress", "none"])
}

/// `case outcome` of each sample, with the cause of those that did not pass.
fn outcomes(project: &Project) -> Vec<String> {
    let journal = std::fs::read_to_string(project.result(".journal.jsonl")).unwrap();
    let mut samples: Vec<(String, u64, String)> = journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter_map(|event| event.get("sample_finished").cloned())
        .map(|sample| {
            let verdict = &sample["attempts"][0]["verdict"];
            let cause = verdict["cause"].as_str().map(|cause| format!(" {cause}"));
            let outcome = verdict["outcome"].as_str().unwrap();
            let case = sample["case"].as_str().unwrap();
            (
                case.to_owned(),
                sample["sample"].as_u64().unwrap(),
                format!("{outcome}{}", cause.unwrap_or_default()),
            )
        })
        .collect();
    samples.sort();
    samples
        .into_iter()
        .map(|(case, _, outcome)| format!("{case} {outcome}"))
        .collect()
}

fn fenced(code: &str) -> String {
    format!("Here it is:\n```python\n{code}\n```\n")
}

/// A pickle (protocol 4) of a text.
fn pickled(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"\x80\x04X", &length[..], text.as_bytes(), b"\x94."].concat()
}

fn packed(bytes: &[u8]) -> String {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(bytes).unwrap();
    STANDARD.encode(zlib.finish().unwrap())
}

pub(super) fn contest(
    id: &str,
    date: &str,
    public: Value,
    private: String,
    metadata: Value,
) -> Value {
    json!({
        "question_id": id, "question_title": "Title", "question_content": "Content",
        "platform": "atcoder", "contest_date": date, "difficulty": "easy",
        "starter_code": "", "public_test_cases": public.to_string(),
        "private_test_cases": private, "metadata": metadata.to_string(),
    })
}

pub(super) fn stdin(input: &str, output: &str) -> Value {
    json!({"input": input, "output": output, "testtype": "stdin"})
}

fn functional(input: &str, output: &str) -> Value {
    json!({"input": input, "output": output, "testtype": "functional"})
}

fn contests() -> String {
    let private = json!([stdin("5 6\n", "11.0\n")]).to_string();
    lines(&[
        contest(
            "sum",
            "2024-03-02T00:00:00",
            json!([stdin("1 2\n", "3\n")]),
            packed(&pickled(&private)),
            json!({}),
        ),
        contest(
            "twice",
            "2023-12-02T00:00:00",
            json!([functional("[1, 2]", "[2, 4]")]),
            json!([functional("[]", "[]")]).to_string(),
            json!({"func_name": "twice"}),
        ),
    ])
}

#[test]
fn livecodebench_runs_public_and_private_tests() {
    let half = "class Solution:\n    def twice(self, nums: List[int]):\n        return [2 * n for n in nums] or None";
    let twice = "class Solution:\n    def twice(self, nums: List[int]):\n        return [2 * n for n in nums]";
    let answers = [
        // Decimals are compared by value, and names of the imports are there.
        (
            "sum",
            fenced(
                "a, b = map(Decimal, input().split()) if 0 else map(float, input().split())\nprint(a + b)",
            ),
        ),
        (
            "sum",
            fenced(
                "data = sys.stdin.buffer.read().split()\nprint(reduce(add, map(int, data)))\nexit()",
            ),
        ),
        // The private test is another one.
        ("sum", fenced("print(3)")),
        ("sum", fenced("import os\nos._exit(0)")),
        ("twice", fenced(twice)),
        ("twice", fenced(half)),
        ("twice", fenced("import sys\nsys.exit(0)")),
    ];
    let answers: Vec<(&str, &str)> = answers
        .iter()
        .map(|(case, text)| (*case, text.as_str()))
        .collect();
    let dataset = "{format: livecodebench, path: lcb.jsonl}";
    let found = graded(dataset, ("lcb.jsonl", &contests()), &answers);
    assert_eq!(
        found,
        [
            "sum passed",
            "sum passed",
            "sum failed wrong_answer",
            "sum failed wrong_answer",
            "twice passed",
            "twice failed wrong_answer",
            "twice failed exited",
        ]
    );
    let public = "{format: livecodebench, path: lcb.jsonl, tests: public}";
    let found = graded(
        public,
        ("lcb.jsonl", &contests()),
        &[("sum", "print(3)"), ("twice", &fenced(half))],
    );
    assert_eq!(found, ["sum passed", "twice passed"]);
}

#[test]
fn contests_are_selected_by_date_and_tagged_by_month() {
    let dataset = "{format: livecodebench, path: lcb.jsonl, released: {after: 2024-01-01, before: 2024-04-01}}";
    let project = Project::with(&[
        ("suite.yaml", &suite(dataset)),
        ("lcb.jsonl", &contests()),
        (
            "out.jsonl",
            &lines(&[json!({"case": "sum", "output": "print(sum(map(int, input().split())))"})]),
        ),
    ]);
    run(&project).expect(0);
    assert_eq!(outcomes(&project), ["sum passed"]);
    let by_month = project.call(&[
        "run",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--tag",
        "month:2024-03",
    ]);
    let by_month = by_month.expect(0).stdout;
    assert!(by_month.contains("[tag=month:2024-03]"), "{by_month}");
    let none = suite("{format: livecodebench, path: lcb.jsonl, released: {after: 2025-01-01}}");
    project.write("suite.yaml", &none);
    let refused = run(&project).expect(2);
    let message = "`released` selects none of the 2 records of `lcb.jsonl`";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
}

#[test]
fn wrong_records_are_named_by_line() {
    let good = |private: String, date: &str| {
        contest("x", date, json!([stdin("1", "1")]), private, json!({}))
    };
    // What `pickle` would call when it reads this.
    let hostile = b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.";
    let table = [
        (good(packed(hostile), "2024-01-01"), "it could run code"),
        (good("%%%".into(), "2024-01-01"), "neither JSON nor base64"),
        (
            good(STANDARD.encode(b"no zlib"), "2024-01-01"),
            "can't be unpacked",
        ),
        (
            good("[]".into(), "yesterday"),
            "expected a date such as 2024-03-02",
        ),
        (json!({"question": "?"}), "the record has no `question_id`"),
        (
            contest(
                "m",
                "2024-01-01",
                json!([functional("1", "1")]),
                "[]".into(),
                json!({}),
            ),
            "`metadata` has no `func_name`",
        ),
    ];
    let records: Vec<Value> = table.iter().map(|(record, _)| record.clone()).collect();
    let project = Project::with(&[
        (
            "suite.yaml",
            &suite("{format: livecodebench, path: lcb.jsonl}"),
        ),
        ("lcb.jsonl", &lines(&records)),
        ("out.jsonl", ""),
    ]);
    let refused = run(&project).expect(2);
    for (number, (_, message)) in (1..).zip(&table) {
        let line = format!("lcb.jsonl:{number}: ");
        let said = refused.stderr.replace("\n  ", " ");
        let found = said.split(&line).nth(1).unwrap_or_default();
        let found = found.split("-->").next().unwrap_or_default();
        assert!(
            found.contains(message),
            "{number} {message}: {}",
            refused.stderr
        );
    }
}

#[test]
fn code_contests_run_all_their_tests_and_bring_a_solution() {
    let record = json!({
        "name": "1_A", "description": "Double the number.",
        "public_tests": {"input": ["1\n"], "output": ["2\n"]},
        "private_tests": {"input": [], "output": []},
        "generated_tests": {"input": ["7\n"], "output": ["14\n"]},
        "solutions": {"language": [2, 3], "solution": ["int main(){}", "print(2 * int(input()))"]},
    });
    let file = ("cc.jsonl", lines(&[record]));
    let found = graded(
        "{format: code_contests, path: cc.jsonl}",
        (file.0, &file.1),
        &[
            ("1_A", "print(int(input()) * 2.0)"),
            ("1_A", "print(2)"),
            ("1_A", "pass"),
        ],
    );
    assert_eq!(
        found,
        [
            "1_A passed",
            "1_A failed wrong_answer",
            "1_A failed wrong_answer"
        ]
    );
    let project = Project::with(&[
        (
            "suite.yaml",
            &suite("{format: code_contests, path: cc.jsonl}"),
        ),
        (file.0, &file.1),
        ("out.jsonl", ""),
    ]);
    let checked = project.call(&["check", "--suite", "suite.yaml", "--progress", "none"]);
    checked.expect(0);
}

#[test]
fn bigcodebench_runs_unittest_classes_beside_the_answer() {
    let tests = "\
import os, unittest
from unittest.mock import patch
class TestCases(unittest.TestCase):
    def test_files(self):
        with open('in.txt', 'w') as f:
            f.write('a b')
        self.assertEqual(task_func('in.txt'), 2)
    def test_patched(self):
        with patch('os.path.getsize', return_value=0):
            self.assertEqual(task_func('in.txt'), 0)
";
    let record = json!({
        "task_id": "BigCodeBench/0", "entry_point": "task_func",
        "complete_prompt": "import os\ndef task_func(path):\n    \"\"\"Count words.\"\"\"\n",
        "instruct_prompt": "Count words.", "code_prompt": "import os\ndef task_func(path):\n",
        "canonical_solution": "    if not os.path.getsize(path):\n        return 0\n    return len(open(path).read().split())\n",
        "test": tests,
    });
    let file = lines(&[record]);
    let dataset = "{format: bigcodebench, path: b.jsonl, variant: instruct}";
    let project = Project::with(&[
        ("suite.yaml", &suite(dataset)),
        ("b.jsonl", &file),
        ("out.jsonl", ""),
    ]);
    let checked = project.call(&[
        "check",
        "--suite",
        "suite.yaml",
        "--progress",
        "none",
        "--format",
        "json",
    ]);
    let report: Value = serde_json::from_str(&checked.expect(0).stdout).unwrap();
    assert_eq!(
        (&report["decision"], &report["reference_cases"]),
        (&json!("holds"), &json!(1))
    );
    let found = graded(
        dataset,
        ("b.jsonl", &file),
        &[
            ("BigCodeBench/0", "    return 2\n"),
            ("BigCodeBench/0", "    raise SystemExit(0)\n"),
            ("BigCodeBench/0", "    os._exit(0)\n"),
        ],
    );
    let failed = |cause: &str| format!("BigCodeBench/0 failed {cause}");
    assert_eq!(found[0], failed("wrong_answer"));
    assert!(found[1].starts_with("BigCodeBench/0 failed"), "{found:?}");
    assert_eq!(found[2], failed("exited"));
    let strict = suite(dataset).replace("  evals:", "  sandbox: {trust: split}\n  evals:");
    let project = Project::with(&[
        ("suite.yaml", &strict),
        ("b.jsonl", &file),
        ("out.jsonl", ""),
    ]);
    let refused = run(&project).expect(2);
    assert!(
        refused.stderr.contains("contradicts the suite's"),
        "{}",
        refused.stderr
    );
}

#[test]
fn gsm8k_takes_the_last_number_or_the_marked_one() {
    let record = json!({"question": "How many?", "answer": "He has 3 and 4.\n#### 1,234"});
    let file = lines(&[record]);
    let answers = [
        ("0", "It is $1,234.00 in all"),
        ("0", "#### 1234"),
        ("0", "#### 1234 of 5"),
        ("0", "no number"),
        ("0", "1234 or 5"),
        ("0", "pages 1200-1234"),
    ];
    let of = |answer: &str| {
        let dataset = format!("{{format: gsm8k, path: g.jsonl, answer: {answer}}}");
        graded(&dataset, ("g.jsonl", &file), &answers)
            .iter()
            .map(|line| line.split(' ').nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(of("flexible"), "passed passed failed failed failed passed");
    assert_eq!(of("strict"), "failed passed passed failed failed failed");
}

#[test]
fn mmlu_reads_letters_and_files_without_a_header() {
    let table = "\"2 + 2, exactly?\",3,4,5,6,B\nA planet?,Sun,Moon,Mars,Rome,C\n";
    let answers = [
        ("0", "A number is needed.\nThe answer is (B)."),
        ("1", "**C**"),
        ("1", "Answer: C, because of its orbit"),
        ("1", "A planet is C-shaped"),
        ("1", "The answer is a planet"),
        ("1", "The answer is (C). Answer A is wrong."),
        ("1", "The answer is: I think C"),
    ];
    let found = graded("{format: mmlu, path: m.csv}", ("m.csv", table), &answers);
    assert_eq!(
        found,
        [
            "0 passed",
            "1 passed",
            "1 passed",
            "1 failed wrong_answer",
            "1 failed wrong_answer",
            "1 passed",
            "1 failed wrong_answer"
        ]
    );
    let record =
        json!({"question": "?", "choices": ["a", "b", "c"], "answer": 2, "subject": "law"});
    let found = graded(
        "{format: mmlu, path: m.jsonl}",
        ("m.jsonl", &lines(&[record])),
        &[("0", "C"), ("0", "D")],
    );
    assert_eq!(found, ["0 passed", "0 failed wrong_answer"]);
}

#[test]
fn samples_are_read_as_benchmarks_write_them() {
    let project = Project::with(&[
        (
            "suite.yaml",
            &suite("{format: livecodebench, path: lcb.jsonl, tests: public}"),
        ),
        ("lcb.jsonl", &contests()),
        ("out.jsonl", ""),
    ]);
    let codes = json!([
        {"question_id": "sum", "code_list": ["print(sum(map(int, input().split())))", "print(4)"]},
        {"question_id": "twice", "code_list": ["class Solution:\n    twice = lambda self, n: [2 * x for x in n]"]},
    ]);
    project.write("codes.json", &codes.to_string());
    let args = |outputs: &'static str| {
        [
            "run",
            "--suite",
            "suite.yaml",
            "--progress",
            "none",
            "--outputs",
            outputs,
        ]
    };
    project.call(&args("codes.json")).expect(1);
    assert_eq!(
        outcomes(&project),
        ["sum passed", "sum failed wrong_answer", "twice passed"]
    );

    let task = json!({
        "task_id": "HumanEval/0", "prompt": "def one():\n", "entry_point": "one",
        "test": "def check(candidate):\n    assert candidate() == 1\n",
    });
    let project = Project::with(&[
        ("suite.yaml", &suite("{format: humaneval, path: he.jsonl}")),
        ("he.jsonl", &lines(&[task])),
        ("out.jsonl", ""),
        ("samples/HumanEval_0/10.py", "def one():\n    return 1\n"),
        ("samples/HumanEval_0/2.py", "def one():\n    return 2\n"),
        ("samples/HumanEval_0/.hidden", "x"),
        ("samples/README", "x"),
    ]);
    let graded = project.call(&args("samples"));
    graded.expect(1);
    let found = outcomes(&project);
    assert_eq!(found.len(), 11, "{found:?}");
    assert_eq!(found[2], "HumanEval/0 failed wrong_answer");
    assert_eq!(found[10], "HumanEval/0 passed");
}

/// A record of MultiPL-E whose function doubles a number.
fn doubling(language: &str, prompt: &str, tests: &str, stop: &[&str]) -> Value {
    json!({
        "name": "Doubling_0", "language": language, "prompt": prompt, "tests": tests,
        "stop_tokens": stop,
    })
}

#[test]
fn multipl_e_answer_passes_only_if_its_tests_end() {
    let shell = doubling(
        "sh",
        "#!/bin/bash\n# Doubles $1.\ndouble() {\n",
        "}\n\ncandidate() {\n    double \"$@\"\n}\n\nset -e\nrun_test() {\n    [[ $(candidate \"2\") = \"4\" ]]\n    [[ $(candidate \"-1\") = \"-2\" ]]\n}\n\nrun_test\n",
        &["\n}"],
    );
    let node = doubling(
        "js",
        "//Doubles a number.\nfunction double(n){\n",
        "const assert = require('node:assert');\n\nfunction test() {\n  let candidate = double;\n  assert.deepEqual(candidate(2),4);\n}\n\ntest();",
        &["\nfunction ", "\nconsole.log"],
    );
    let outcome = |record: &Value, answer: &str| {
        graded(
            "{format: multipl_e, path: d.jsonl}",
            ("d.jsonl", &lines(std::slice::from_ref(record))),
            &[("Doubling_0", answer)],
        )
    };
    let cases = [
        (&shell, "    echo $(($1 * 2))\n}\n\ndouble 7\n", "passed"),
        (
            &shell,
            "```bash\ndouble() {\n    echo $(($1 * 2))\n}\n```\n",
            "passed",
        ),
        (&shell, "    echo $1\n", "failed exception"),
        (&shell, "    :\n}\nexit 0\n", "failed exception"),
        (
            &shell,
            "```bash\ndouble() {\n    :\n}\nexit 0\n```\n",
            "failed wrong_answer",
        ),
        (
            &node,
            "  return 2 * n;\n}\nconsole.log(double(1))\n",
            "passed",
        ),
        (
            &node,
            "```js\nfunction double(n) { return 2 * n; }\n```\n",
            "passed",
        ),
        (&node, "  return n;\n}\n", "failed exception"),
        (&node, "  process.exit(0);\n}\n", "failed wrong_answer"),
    ];
    for (record, answer, expected) in cases {
        assert_eq!(
            outcome(record, answer),
            [format!("Doubling_0 {expected}")],
            "{answer}"
        );
    }
}

#[test]
fn multipl_e_samples_are_read_from_its_own_files() {
    let record = doubling(
        "sh",
        "#!/bin/bash\n# Doubles $1.\ndouble() {\n",
        "}\n\ncandidate() {\n    double \"$@\"\n}\n\nset -e\n[[ $(candidate \"2\") = \"4\" ]]\n",
        &["\n}"],
    );
    let mut second = record.clone();
    second["name"] = json!("Doubling_1");
    let project = Project::with(&[
        ("suite.yaml", &suite("{format: multipl_e, path: d.jsonl}")),
        ("d.jsonl", &lines(&[record, second])),
        ("out.jsonl", ""),
    ]);
    let right = "    echo $(($1 * 2))\n";
    let of = |name: &str, completions: Value| {
        json!({"name": name, "language": "sh", "prompt": "", "completions": completions})
            .to_string()
    };
    let (first, second) = (
        of("Doubling_0", json!([right, "    echo 5\n"])),
        of("Doubling_1", json!([right])),
    );
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(first.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    project.write("all.jsonl", &format!("{first}\n{second}\n"));
    project.write("made/Doubling_1.json", &second);
    project.write("made/Doubling_1.results.json", "{\"results\": []}");
    std::fs::write(project.path().join("made/Doubling_0.json.gz"), &packed).unwrap();
    std::fs::write(project.path().join("first.json.gz"), &packed).unwrap();
    let graded = |outputs: &str| {
        project.call(&[
            "run",
            "--suite",
            "suite.yaml",
            "--progress",
            "none",
            "--outputs",
            outputs,
        ])
    };
    let found = |outputs: &str| {
        graded(outputs);
        outcomes(&project)
    };
    let all = [
        "Doubling_0 passed",
        "Doubling_0 failed exception",
        "Doubling_1 passed",
    ];
    assert_eq!(found("all.jsonl"), all);
    assert_eq!(found("made"), all);
    assert_eq!(found("first.json.gz")[..2], all[..2]);
    project.write("made/Doubling_1.json", &second[..second.len() - 2]);
    let cut = graded("made");
    let said = cut.expect(2).stderr.replace("\n  ", " ");
    assert!(said.contains("Doubling_1.json: "), "{said}");
}

/// A record of HumanEval+ with a list of 20,000 numbers among its expected values.
fn plus_record() -> Value {
    json!({
        "task_id": "HumanEval/7", "entry_point": "numbers", "prompt": "def numbers(n):\n    \"\"\"The numbers below n.\"\"\"\n",
        "canonical_solution": "    return list(range(n))\n", "contract": "", "atol": 0,
        "base_input": [[0], [3]], "plus_input": [[20000], [4]]
    })
}

#[test]
fn evalplus_grades_base_and_plus_apart() {
    let record = lines(&[plus_record()]);
    let samples = [
        "    return list(range(n))",
        // Equal, but not in the same bytes.
        "    return [i + 0.0 if i else False for i in range(n)]",
        "    return tuple(range(n))",
        "    return list(range(min(n, 19999)))",
        "    return None",
        "    raise SystemExit(0)",
        "    class Same(list):\n        __eq__ = lambda a, b: True\n        __hash__ = None\n    return Same()",
    ];
    let answers: Vec<Value> = samples
        .iter()
        .map(|body| json!({"task_id": "HumanEval/7", "solution": format!("def numbers(n):\n{body}\n")}))
        .collect();
    let project = Project::with(&[
        ("suite.yaml", &suite("{format: evalplus, path: plus.jsonl}")),
        ("plus.jsonl", &record),
        ("out.jsonl", &lines(&answers)),
    ]);
    let ran = run(&project);
    let found = outcomes(&project);
    let wanted = [
        "passed", "passed", "failed", "failed", "failed", "failed", "failed",
    ];
    let found: Vec<&str> = found
        .iter()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    assert_eq!(found, wanted);
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(project.result(".json")).unwrap()).unwrap();
    let metrics = &report["eval_report"]["metrics"];
    let near = |name: &str, wanted: f64| {
        let value = metrics[name].as_f64().unwrap();
        assert!((value - wanted).abs() < 1e-9, "{name} {value}");
    };
    near("pass_at_1_base", 3.0 / 7.0);
    near("pass_at_1_plus", 2.0 / 7.0);
    near("pass_at_1", 2.0 / 7.0);
    let page = &ran.stdout;
    assert!(
        page.contains("pass@1 (base)") && page.contains("pass@1 (plus)"),
        "{page}"
    );
    let markdown = std::fs::read_to_string(project.result(".md")).unwrap();
    assert!(markdown.contains("pass@1 (base)") && markdown.contains("pass@1 (plus)"));
}

#[test]
fn evalplus_refuses_files_of_other_formats_with_line() {
    let cut = lines(&[plus_record()]);
    for (text, reason) in [
        (
            lines(&[plus_record(), json!({"question_id": 1})]),
            "plus.jsonl:2",
        ),
        (cut[..cut.len() / 2].to_owned(), "plus.jsonl:1"),
    ] {
        let project = Project::with(&[
            ("suite.yaml", &suite("{format: evalplus, path: plus.jsonl}")),
            ("plus.jsonl", &text),
            ("out.jsonl", ""),
        ]);
        let ran = run(&project);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn ifeval_follows_all_instructions_or_fails() {
    let record = json!({
        "key": 7,
        "prompt": "Write two lines without commas.",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [{"num_words": null}, {"num_words": 3, "relation": "at least"}],
    });
    let file = lines(&[record]);
    let found = |answer: &str| {
        graded(
            "{format: ifeval, path: i.jsonl}",
            ("i.jsonl", file.as_str()),
            &[("7", answer)],
        )
    };
    assert_eq!(found("one two three"), ["7 passed"]);
    assert_eq!(found("one, two, three"), ["7 failed wrong_answer"]);
    assert_eq!(found("one two"), ["7 failed wrong_answer"]);
}

#[test]
fn ifeval_unknown_instruction_is_an_error() {
    let record = json!({
        "key": 1,
        "prompt": "Hi",
        "instruction_id_list": ["punctuation:no_dash"],
        "kwargs": [{}],
    });
    let project = Project::with(&[
        ("suite.yaml", &suite("{format: ifeval, path: i.jsonl}")),
        ("i.jsonl", &lines(&[record])),
        ("out.jsonl", ""),
    ]);
    let call = run(&project);
    assert_eq!(call.code, Some(2));
    assert!(
        call.stderr.contains("punctuation:no_dash"),
        "{}",
        call.stderr
    );
}
