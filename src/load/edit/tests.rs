use proptest::prelude::*;
use serde_json::json;

use super::*;

fn tree(text: &str) -> Node {
    let mut sources = SourceFiles::new();
    let file = sources.add("a.yaml", text);
    let mut problems = Problems::new();
    let tree = tree::parse(&sources, file, &mut problems);
    assert!(!problems.has_errors(), "{text:?}: {problems:?}");
    tree.expect("a document")
}

fn edited(text: &str, pointer: &str, new: Value) -> Result<String, EditError> {
    let root = tree(text);
    let old = root.at_pointer(pointer).expect("a value");
    let mut wanted = root.to_json();
    *wanted.pointer_mut(pointer).expect("a value") = new.clone();
    DocumentText::new(text, &root).replaced(old, &new, &wanted)
}

#[track_caller]
fn text(text: &str, pointer: &str, new: &str) -> String {
    edited(text, pointer, json!(new)).expect("edited")
}

#[test]
fn a_text_keeps_the_quotes_of_the_old_one() {
    let suite = "\
# before
- a: Paris   # the capital
  b: 'Rome'\t# two
  c: \"Oslo\"
- d: {e: Bern, f: \"x\"}
";
    insta::assert_snapshot!(text(suite, "/0/a", "Lima"), @r#"
    # before
    - a: Lima   # the capital
      b: 'Rome'	# two
      c: "Oslo"
    - d: {e: Bern, f: "x"}
    "#);
    assert!(text(suite, "/0/a", "a: b").contains("- a: \"a: b\"   # the capital\n"));
    assert!(text(suite, "/0/a", "no").contains("- a: \"no\"   #"));
    assert!(text(suite, "/0/a", "say \"x: y\"").contains("- a: 'say \"x: y\"'   #"));
    assert!(text(suite, "/0/b", "it's").contains("  b: 'it''s'\t# two\n"));
    assert!(text(suite, "/0/c", "Lima").contains("  c: \"Lima\"\n"));
    assert!(text(suite, "/1/d/e", "x, y").contains("{e: \"x, y\", f: \"x\"}"));
    assert!(text(suite, "/1/d/e", "x\ny").contains("{e: \"x\\ny\", f: \"x\"}"));
    assert!(text(suite, "/1/d/f", "\u{1b}[31m\u{feff}").contains("f: \"\\x1b[31m\\ufeff\"}"));
}

#[test]
fn a_text_of_several_lines_becomes_a_block() {
    let suite = "\
evals:
  - id: a
    expected: Paris  # keep me
    # and me
  - expected: >+
        folded
         text

    id: b
last: |2
   x
   y
";
    insta::assert_snapshot!(text(suite, "/evals/0/expected", "one\n\n  two"), @r"
    evals:
      - id: a
        expected: |-  # keep me
          one

            two
        # and me
      - expected: >+
            folded
             text

        id: b
    last: |2
       x
       y
    ");
    insta::assert_snapshot!(text(suite, "/evals/1/expected", "one\ntwo\n"), @r"
    evals:
      - id: a
        expected: Paris  # keep me
        # and me
      - expected: |
            one
            two

        id: b
    last: |2
       x
       y
    ");
    insta::assert_snapshot!(text(suite, "/evals/1/expected", "one"), @r"
    evals:
      - id: a
        expected: Paris  # keep me
        # and me
      - expected: one

        id: b
    last: |2
       x
       y
    ");
    assert_eq!(
        text("a: |\n  été\nb: 1\n", "/a", "x\n"),
        "a: |\n  x\nb: 1\n"
    );
    assert_eq!(text("a: |\n\n  # x\n", "/a", "> y\n"), "a: |\n  > y\n");
    assert_eq!(text("a: |", "/a", "x"), "a: x");
    assert!(text(suite, "/last", " a\nb\n").ends_with("last: |2\n   a\n  b\n"));
    assert!(text(suite, "/last", "a\n\n\n").ends_with("last: \"a\\n\\n\\n\"\n"));
}

#[test]
fn line_ends_and_the_end_of_the_file_are_kept() {
    let crlf = "a: x\r\nb: |\r\n  one\r\n  two\r\nc: 3\r\n";
    assert_eq!(
        text(crlf, "/a", "y\nz"),
        "a: |-\r\n  y\r\n  z\r\nb: |\r\n  one\r\n  two\r\nc: 3\r\n"
    );
    assert_eq!(text(crlf, "/b", "1"), "a: x\r\nb: \"1\"\r\nc: 3\r\n");
    assert_eq!(text("a: x", "/a", "z"), "a: z");
    assert_eq!(text("a: x", "/a", "y\nz"), "a: |-\n  y\n  z");
    // Without a line break at the end a block has none either.
    assert_eq!(text("a: x", "/a", "y\nz\n"), "a: \"y\\nz\\n\"");
    assert_eq!(
        text("a: |\n  x\n\n\n", "/a", "y\nz\n"),
        "a: |\n  y\n  z\n\n\n"
    );
}

#[test]
fn of_a_structure_only_the_leaves_that_differ_change() {
    let suite = "\
expected:
  type: json
  value:
    total: 3      # euros
    users: [ada,   bob]
    at:
    - {x: 1}
    - |
      text
next: 1
";
    let value = json!({"total": 4, "users": ["ada", "eve"], "at": [{"x": "1"}, "text\nmore\n"]});
    insta::assert_snapshot!(edited(suite, "/expected/value", value).expect("edited"), @r#"
    expected:
      type: json
      value:
        total: 4      # euros
        users: [ada,   eve]
        at:
        - {x: "1"}
        - |
          text
          more
    next: 1
    "#);
    let other = json!({"total": 4, "more": {"a": [1, "x\ny\n"]}});
    assert_eq!(
        edited(suite, "/expected/value", other.clone()),
        Err(EditError::Comment)
    );
    let list = "a:\n- 1\n- [2]\nb: 1\n";
    assert_eq!(
        edited(list, "/a", json!({"k": 1})),
        Ok("a:\n  k: 1\nb: 1\n".to_owned())
    );
    assert_eq!(text(list, "/a", "x"), "a:\n  x\nb: 1\n");
    assert_eq!(
        edited(list, "/a", json!([3, 4, 5])),
        Ok("a:\n  - 3\n  - 4\n  - 5\nb: 1\n".to_owned())
    );
    let bare = suite.replace("      # euros", "");
    insta::assert_snapshot!(edited(&bare, "/expected/value", other).expect("edited"), @r#"
    expected:
      type: json
      value:
        more:
          a:
            - 1
            - |
              x
              y
        total: 4
    next: 1
    "#);
    assert_eq!(
        edited(
            "a: {type: json, value: [1]}\n",
            "/a/value",
            json!({"k": [true, "a, b"]})
        ),
        Ok("a: {type: json, value: {k: [true, \"a, b\"]}}\n".to_owned())
    );
}

#[test]
fn json_stays_json() {
    let document = "{\"a\": {\"b\": \"x\",\n  \"c\": 1}}\n";
    assert_eq!(
        text(document, "/a/b", "two\nlines \u{202e}"),
        "{\"a\": {\"b\": \"two\\nlines \\u202e\",\n  \"c\": 1}}\n"
    );
    assert_eq!(
        text(document, "/a/c", "one"),
        document.replace('1', "\"one\"")
    );
}

#[test]
fn what_others_share_is_not_changed() {
    let shared = "a: &x one\nb: *x\nc: &m {k: v, l: w}\nd:\n  <<: *m\n  l: z\n";
    assert_eq!(edited(shared, "/a", json!("two")), Err(EditError::Shared));
    assert_eq!(edited(shared, "/c/k", json!("two")), Err(EditError::Shared));
    assert_eq!(edited(shared, "/d/k", json!("two")), Err(EditError::Shared));
    // An anchor that nothing refers to, and a key that overrides a merged one, are no one else's.
    assert_eq!(text("a: &x one\n", "/a", "two"), "a: &x two\n");
    assert!(text(shared, "/d/l", "two").ends_with("  l: two\n"));
}

#[test]
fn a_reference_is_added_at_the_end_of_the_list() {
    let added = |text: &str| {
        let root = tree(text);
        let mut wanted = root.to_json();
        let list = wanted["evals"].as_array_mut().expect("a list");
        list.push(json!({"$ref": "regression/x.yaml"}));
        let list = root.get("evals").expect("a list");
        DocumentText::new(text, &root).with_reference(list, "regression/x.yaml", &wanted)
    };
    insta::assert_snapshot!(added("evals:\n  - $ref: a.yaml   # first\n  # more\nnext: 1\n").expect("added"), @r"
    evals:
      - $ref: a.yaml   # first
      - $ref: regression/x.yaml
      # more
    next: 1
    ");
    assert_eq!(
        added("evals: [{$ref: a.yaml}]\n"),
        Ok("evals: [{$ref: a.yaml}, {$ref: regression/x.yaml}]\n".to_owned())
    );
    assert_eq!(
        added("evals:\n- id: a\n  expected: |\n    x\n"),
        Ok("evals:\n- id: a\n  expected: |\n    x\n- $ref: regression/x.yaml\n".to_owned())
    );
    assert_eq!(
        added("evals: [{id: a, expected: [x]}, {id: b}]\n"),
        Ok("evals: [{id: a, expected: [x]}, {id: b}, {$ref: regression/x.yaml}]\n".to_owned())
    );
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,6}",
        "\\PC{0,6}",
        "[ a-c\\n]{0,8}",
        "[\\-:#,\\[\\]{}&*!|>'\"%@` \\n\\t\\r]{0,5}",
        prop::sample::select(vec![
            "no",
            "1.0",
            "null",
            "a: b",
            "x #y",
            "---",
            "...",
            "- a",
            "\u{85}",
            "\u{2028}x",
            "🙂\n"
        ])
        .prop_map(str::to_owned),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        words().prop_map(Value::from),
        words().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(n, v)| (n.to_string(), v))
            .collect(),
        _ => Vec::new(),
    };
    for (step, child) in children {
        let below = format!("{at}/{step}");
        pointers(child, below.clone(), found);
        found.push(below);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    /// Whatever is replaced in whatever document: the new one has exactly the new value there, and
    /// every line before and after that of the value is as it was.
    #[test]
    fn the_new_value_is_there_and_all_else_stays(
        document in prop::collection::btree_map("[a-z]{1,3}", values(), 1..4),
        new in values(),
        pick: prop::sample::Index,
        as_json: bool,
    ) {
        let document = Value::Object(document.into_iter().collect());
        let text = if as_json { format!("{document:#}\n") } else { yaml::lines(&document) };
        let text = format!("{text}{}", if as_json { "" } else { "# the end\n" });
        let mut all = Vec::new();
        pointers(&document, String::new(), &mut all);
        let pointer = pick.get(&all).clone();
        let root = tree(&text);
        let old = root.at_pointer(&pointer).expect("a value");
        let after = edited(&text, &pointer, new.clone());
        // Where a list at the column of its key would become a map there is no room in its place.
        prop_assume!(as_json || after.is_ok() || !new.is_object());
        let after = after.map_err(|error| TestCaseError::fail(format!("{error:?}: {text}")))?;
        let mut wanted = document;
        *wanted.pointer_mut(&pointer).expect("a value") = new;
        prop_assert_eq!(tree(&after).to_json(), wanted);
        // The lines of a block scalar begin below its header.
        let line = text.get(..old.span.start as usize).expect("a part").rfind('\n').unwrap_or(0);
        let before = text.get(..line).expect("a part");
        let before = before.rsplit_once('\n').map_or("", |(before, _)| before);
        prop_assert!(after.starts_with(before), "{}\n{}", text, after);
        if !as_json {
            prop_assert!(after.ends_with("# the end\n"));
        }
    }
}

#[test]
fn block_scalars_in_lists_of_lists_are_replaced() {
    for (text, pointer) in [
        ("- - |\n    a\n    b\n# end\n", "/0/0"),
        ("a:\n- - >\n    a\n    b\n# end\n", "/a/0/0"),
        ("a:\n  - - |2-\n       a\n      b\n# end\n", "/a/0/0"),
        (
            "a:\n  - - x\n    - |- # why\n      a\n      b\n# end\n",
            "/a/0/1",
        ),
        (
            "a:\n  - - |\n\n      a\n      b\n    - y\n  - z\n# end\n",
            "/a/0/0",
        ),
        ("a:\n  - - - |-\n        a\n        b\n# end\n", "/a/0/0/0"),
        (
            "a:\n  - - x\n    - - |-\n        a\n        b\n      - y\n",
            "/a/0/1/0",
        ),
        ("a:\n  -\n    - |-\n      a\n      b\n  - - z\n", "/a/0/0"),
        ("a:\n  a:\n    - |\n      {\n# end\n", "/a/a/0"),
        ("a:\n  a:\n    - |\n      [ x\n# end\n", "/a/a/0"),
    ] {
        for new in ["one", "x\ny", "x\ny\n", " x\ny", "- |\n z", "x\n\n"] {
            let mut wanted = tree(text).to_json();
            let after = edited(text, pointer, json!(new));
            let after = after.unwrap_or_else(|error| panic!("{error:?}: {new:?} in {text}"));
            *wanted.pointer_mut(pointer).expect("a value") = json!(new);
            assert_eq!(tree(&after).to_json(), wanted, "{after}");
        }
    }
}
