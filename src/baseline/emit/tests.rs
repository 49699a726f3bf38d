use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::load::stored::{BaselineFolder, BaselineLookup, BaselineReader};
use crate::load::tree::parse;
use crate::load::{Problems, SourceFiles};
use crate::spec::{BASELINE_VERSION, BaselineTarget, OutputFile};

fn file(output: Value) -> BaselineFile {
    BaselineFile {
        format_version: BASELINE_VERSION,
        eval_id: "e".to_owned(),
        baseline_version: None,
        captured_at: None,
        suite: None,
        target: None,
        commit: None,
        dirty: false,
        harness_version: None,
        environment: Default::default(),
        input_hash: None,
        replaces: None,
        output: Some(output),
        output_file: None,
    }
}

fn full() -> BaselineFile {
    BaselineFile {
        baseline_version: Some("v2.3.1".to_owned()),
        captured_at: Some("2026-01-31T12:00:00Z".to_owned()),
        suite: Some("API".to_owned()),
        target: Some(BaselineTarget {
            name: Some("local".to_owned()),
            kind: "http".to_owned(),
        }),
        commit: Some("0123456789012345678901234567890123456789".to_owned()),
        dirty: true,
        harness_version: Some("0.1.0".to_owned()),
        environment: [
            ("node".to_owned(), json!("18.x")),
            ("zones".to_owned(), json!(["a", "b"])),
        ]
        .into(),
        input_hash: Some("00".to_owned()),
        replaces: Some("none".to_owned()),
        output_file: Some(OutputFile {
            name: "x.output.json".to_owned(),
            fingerprint: "ff".to_owned(),
        }),
        ..file(json!({
            "status": 200,
            "body": {"users": [{"id": "{{any_uuid}}", "tags": [["a"], [], {}]}, "{{any_regex(\"a'b\")}}"], "none": null},
            "text": "two\nlines\n",
            "cut": "two\nlines",
            "more": "  indented\n\n\n",
            "answer": "no",
            "version": "1.10",
            "": "empty key",
            "<<": 1.50,
            "ctl": "a\u{7}\r\n\u{2028}\u{1f600}",
        }))
    }
}

#[test]
fn a_file_as_people_review_it() {
    insta::assert_snapshot!(emit(&full()), @r#"
    format_version: 1
    eval_id: e
    baseline_version: v2.3.1
    captured_at: 2026-01-31T12:00:00Z
    suite: API
    target:
      name: local
      type: http
    commit: "0123456789012345678901234567890123456789"
    dirty: true
    harness_version: "0.1.0"
    environment:
      node: 18.x
      zones:
        - a
        - b
    input_hash: "00"
    replaces: none
    output_file:
      name: x.output.json
      fingerprint: ff
    output:
      "": empty key
      "<<": 1.5
      answer: "no"
      body:
        none: null
        users:
          - id: "{{any_uuid}}"
            tags:
              - - a
              - []
              - {}
          - '{{any_regex("a''b")}}'
      ctl: "a\x07\r\n\u2028😀"
      cut: |-
        two
        lines
      more: |2+
          indented


      status: 200
      text: |
        two
        lines
      version: "1.10"
    "#);
}

/// The value under `output:` as the loader reads it.
fn read_back(text: &str) -> Value {
    let (mut sources, mut problems) = (SourceFiles::new(), Problems::new());
    let id = sources.add("f", text);
    let node = parse(&sources, id, &mut problems);
    assert!(
        problems.is_empty(),
        "{text}\n{:?}",
        problems.iter().map(|p| &p.message).collect::<Vec<_>>()
    );
    node.and_then(|node| node.get("output").map(crate::load::tree::Node::to_json))
        .expect("an output")
}

fn same(value: &Value) {
    let text = emit(&file(value.clone()));
    let back = read_back(&text);
    // Numbers compare by their digits here, which is what is promised.
    assert_eq!(&back, value, "{text}");
    assert_eq!(emit(&file(back)), text, "the form is stable");
    let windows = text.replace('\n', "\r\n");
    assert_eq!(
        &read_back(&windows),
        value,
        "with the line ends of Windows: {windows:?}"
    );
    for line in text.lines() {
        assert!(
            !line.starts_with(['<', '>']),
            "nothing looks like a merge: {line}"
        );
    }
}

#[test]
fn nasty_texts_are_read_back() {
    let texts = [
        "",
        " ",
        "\n",
        "\n\n",
        " \n",
        "\t",
        "\ta\nb",
        "a\tb",
        "a\n\tb\n",
        "a\n ",
        "a\n \n",
        "a \nb ",
        " a\nb",
        "\na",
        "a\n\n\nb\n\n\n",
        "null",
        "~",
        "Null",
        "true",
        "False",
        "yes",
        "No",
        "on",
        "y",
        "1",
        "-1",
        "+1",
        "1.0",
        "1e5",
        "0x1F",
        "0o17",
        "0777",
        ".5",
        ".inf",
        "-.INF",
        ".nan",
        "1_000",
        "12:30",
        "12:30:45",
        "2026-01-31",
        "2026-01-31T12:00:00Z",
        "1,000",
        "=",
        "<<",
        "-",
        "--",
        "---",
        "...",
        "- a",
        "? a",
        ": a",
        ":a",
        "a:",
        "a: b",
        "a :b",
        "a #b",
        "#a",
        "a#b",
        "[",
        "]",
        "{a}",
        "{{any_uuid}}",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "|-\n a",
        "'",
        "\"",
        "'a'",
        "\"a\"",
        "a'b\"c",
        "\\",
        "a\\b",
        "%a",
        "@a",
        "`a`",
        "a,b",
        "a\r\nb",
        "a\rb",
        "\u{0}",
        "\u{1b}[31m",
        "\u{7f}",
        "\u{85}",
        "a\u{85}b\nc",
        "\u{2028}",
        "a\nb\u{2029}",
        "\u{feff}",
        "\u{feff}a\nb",
        "\u{200b}",
        "é",
        "e\u{301}",
        "日本語\n二行",
        "👩\u{200d}💻",
        "\u{fffe}",
        "\u{10ffff}",
        "\u{e000}",
        "<<<<<<< HEAD\n=======\n>>>>>>> x",
        "a\n---\nb",
        "a\n...\n",
        "# a\n# b",
        "version https://git-lfs",
    ];
    for text in texts {
        same(&json!(text));
        same(&json!({ text: text, "z": [text, {text: [text]}] }));
    }
    let mut all = Map::new();
    texts
        .iter()
        .for_each(|text| drop(all.insert((*text).to_owned(), json!(text))));
    same(&Value::Object(all));
}

#[test]
fn long_keys_deep_trees_and_large_numbers_are_read_back() {
    for length in [200, 201, 1023, 1025, 70_000] {
        let key = "k".repeat(length);
        same(
            &json!({ key.clone(): 1, format!("{key}: \n"): {"a": [1]}, format!("é{key}"): [{key.clone(): []}] }),
        );
    }
    let mut deep = json!("leaf\nof two lines");
    for n in 0..120 {
        deep = if n % 3 == 0 {
            json!([deep])
        } else {
            json!({ "k": deep })
        };
    }
    same(&deep);
    let numbers = r#"[0, -0, 0.0, -0.0, 1.0, 1.50, 1e+5, 1E-7, 265252859812191058636308480000000, 1e400, 12345678901234567890.123456789]"#;
    same(&serde_json::from_str(numbers).expect("numbers"));
}

#[test]
fn every_field_of_the_file_is_written() {
    let file = full();
    let Value::Object(fields) = serde_json::to_value(&file).expect("JSON") else {
        panic!("no map")
    };
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("e.yaml");
    let text = emit(&BaselineFile {
        replaces: None,
        output_file: None,
        ..file.clone()
    });
    std::fs::write(&path, &text).expect("a file");
    for name in fields.keys() {
        assert!(
            emit(&file).contains(&format!("\n{name}:")) || name == "format_version",
            "{name}"
        );
    }
    let (mut sources, mut problems) = (SourceFiles::new(), Problems::new());
    let folder = BaselineFolder::Disk(dir.path().to_owned());
    let mut reader = BaselineReader {
        folder: &folder,
        sources: &mut sources,
        problems: &mut problems,
        cwd: dir.path(),
    };
    let BaselineLookup::Kept(kept) = reader.of_file("e.yaml") else {
        panic!("{problems:?}")
    };
    assert_eq!(
        kept.file,
        BaselineFile {
            replaces: None,
            output_file: None,
            output: None,
            ..file.clone()
        }
    );
    assert_eq!(Some(kept.output), file.output);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,6}",
        "[ -~]{0,12}",
        "[a #:\\-\\n\\t'\"|>\\[\\]{},&*!%@\\\\~=<.0-9]{0,16}",
        "[ \\n\\ta]{0,8}",
        "\\PC{0,8}",
        any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(|f| {
                serde_json::from_str(&serde_json::to_string(&f).expect("a number"))
                    .expect("a number")
            }),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read_back(value in value()) {
        same(&value);
    }
}
