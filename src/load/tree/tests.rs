use proptest::prelude::*;

use super::*;
use crate::load::problem::Problems;
use crate::load::source::SourceFiles;

fn parsed(text: &str) -> (Option<Node>, Problems, SourceFiles) {
    let mut sources = SourceFiles::new();
    let file = sources.add("t.yaml", text);
    let mut problems = Problems::new();
    let node = parse(&sources, file, &mut problems);
    (node, problems, sources)
}

fn shown(problems: &Problems, sources: &SourceFiles) -> Vec<String> {
    problems
        .sorted()
        .iter()
        .map(|p| {
            let at = p.span.map(|s| sources.position(s));
            let at = at.map_or_else(String::new, |at| format!("{}:{}", at.line, at.column));
            format!(
                "{at} {} {} | {}",
                p.code.slug(),
                p.message,
                p.hint.as_deref().unwrap_or("-")
            )
        })
        .collect()
}

/// Text, the JSON of what comes of it (`-` for nothing), and its problems:
/// `line:column slug message | hint`.
const TABLE: &[(&str, &str, &[&str])] = &[
    (
        "a: \"x\n",
        "-",
        &["1:6 syntax a quoted text is not closed | add the closing quote"],
    ),
    (
        "a: [1, 2\n",
        "-",
        &["1:4 syntax this `[` is not closed | add the `]`"],
    ),
    (
        "a: {b: 1\n",
        "-",
        &["1:4 syntax this `{` is not closed | add the `}`"],
    ),
    (
        "a:\n\t- x\n",
        "-",
        &["2:1 tab-indentation a tab stands where YAML reads indentation | indent with spaces"],
    ),
    (
        "a: 1\na: 2\n",
        "{\"a\":1}",
        &["2:1 duplicate-key the key `a` is there twice: first on line 1 | remove one of the two"],
    ),
    (
        "a: {{x}}\n",
        "{\"a\":\"{{x}}\"}",
        &[
            "1:4 unquoted-template a value that begins with `{{` needs quotes: YAML reads it as a map in a map | write \"{{x}}\"",
        ],
    ),
    (
        "a: {{ x }} tail\nb: 1\n",
        "-",
        &[
            "1:4 unquoted-template a value that begins with `{{` needs quotes: YAML reads it as a map in a map | write \"{{ x }}\"",
        ],
    ),
    (
        "- {{ \"q\" ~ x }}\n",
        "-",
        &[
            "1:3 unquoted-template a value that begins with `{{` needs quotes: YAML reads it as a map in a map | write '{{ \"q\" ~ x }}'",
        ],
    ),
    (
        "a: *x\n",
        "{\"a\":null}",
        &[
            "1:4 bad-alias the alias `*x` names no anchor | a text that begins with `*` needs quotes: \"*x\"",
        ],
    ),
    (
        "a: !foo 1\n",
        "{\"a\":\"1\"}",
        &[
            "1:4 unknown-tag the tag `!foo` is not known here | a text that begins with `!` needs quotes",
        ],
    ),
    (
        "a: !!int x\n",
        "{\"a\":\"x\"}",
        &["1:4 unknown-tag the tag `!!int` does not fit `x` | -"],
    ),
    (
        "? [a]\n: 1\n",
        "{}",
        &["1:3 complex-key a key must be text, and this is a list | -"],
    ),
    (
        "a: 1\n---\nb: 2\n",
        "-",
        &[
            "2:1 several-documents a second YAML document begins here | a file is one document: remove the `---`, or split the file",
        ],
    ),
    ("---\na: 1\n", "{\"a\":1}", &[]),
    (
        "a: 1\n b: 2\n",
        "-",
        &[
            "2:3 syntax a key is not allowed here | the line above lacks its `:`, or the indentation of this line is wrong",
        ],
    ),
    (
        "a: b: c\n",
        "-",
        &["1:5 syntax a `:` is not allowed here | a text that holds `: ` needs quotes"],
    ),
    (
        "a: @x\n",
        "-",
        &["1:4 syntax a value cannot begin with `@` | put quotes around it"],
    ),
    (
        "a: `x`\n",
        "-",
        &["1:4 syntax a value cannot begin with ``` | put quotes around it"],
    ),
    (
        "a: \"\\d\"\n",
        "-",
        &[
            "1:4 syntax a backslash in double quotes begins an escape, and this one is not known | write `\\\\` for a backslash, or use single quotes: in them a backslash is a backslash",
        ],
    ),
    (
        "a: 'it's'\n",
        "-",
        &[
            "1:8 syntax there is text after the closing quote | put the whole value in quotes; a quote inside of single quotes is written twice ('')",
        ],
    ),
    (
        "a: \"x\" y\n",
        "-",
        &[
            "1:8 syntax there is text after the closing quote | put the whole value in quotes; a quote inside of single quotes is written twice ('')",
        ],
    ),
    (
        "key\nb: 1\n",
        "-",
        &[
            "2:2 syntax a key is not allowed here | the line above lacks its `:`, or the indentation of this line is wrong",
        ],
    ),
    (
        "a: 1\nkey\n",
        "-",
        &["2:1 syntax expected `key: value` here | every line of a map has a `:` after its key"],
    ),
    (
        "a: }\n",
        "-",
        &["1:4 syntax this bracket closes nothing | -"],
    ),
    (
        "a: [1}\n",
        "-",
        &["1:4 syntax `}` closes what `[` opened | -"],
    ),
    (
        "a:\n  - 1\n b: 2\n",
        "-",
        &["3:2 syntax this does not fit what stands above it | check the indentation of this line"],
    ),
    (
        "a: %x\n",
        "-",
        &["1:4 syntax a value cannot begin with `%` | put quotes around it"],
    ),
    (
        "a: {% if x %}\n",
        "-",
        &[
            "1:5 unquoted-template a value that begins with `{%` needs quotes: YAML reads it as a map | put quotes around the template",
        ],
    ),
    (
        "# only\n",
        "-",
        &["1:1 empty-file the file holds nothing but comments | -"],
    ),
    (
        "---\n",
        "-",
        &["1:1 empty-file the file holds nothing but comments | -"],
    ),
    (
        "a: &a [*a]\n",
        "{\"a\":[null]}",
        &["1:8 bad-alias this alias stands inside of what it names | -"],
    ),
    (
        "<<: 1\n",
        "{}",
        &["1:5 bad-merge-key a merge key (`<<`) takes a map or a list of maps | -"],
    ),
    ("a: ! 5\n", "{\"a\":\"5\"}", &[]),
    ("a: !!str 5\n", "{\"a\":\"5\"}", &[]),
    ("a: 1\n...\n", "{\"a\":1}", &[]),
    (
        "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t1\n\t]\n}\n",
        "{\"a\":1,\"b\":[1]}",
        &[],
    ),
    ("a:\nb:\n", "{\"a\":null,\"b\":null}", &[]),
    (
        "a: |\n  x\n\n  y\nb: 1\n",
        "{\"a\":\"x\\n\\ny\\n\",\"b\":1}",
        &[],
    ),
    (
        "a: \u{1}\n",
        "-",
        &["1:4 syntax the control character \\u{1} is not allowed | -"],
    ),
    (
        "a: - b\n",
        "-",
        &["1:4 syntax a list cannot begin on the line of its key | put `- ...` on the next line"],
    ),
    (
        "a: [1, 2]]\n",
        "-",
        &["1:10 syntax this bracket closes nothing | -"],
    ),
    (
        "a: {b: 1, b: 2}\n",
        "{\"a\":{\"b\":1}}",
        &["1:11 duplicate-key the key `b` is there twice: first on line 1 | remove one of the two"],
    ),
    (
        "- a\nb: 1\n",
        "-",
        &["2:1 syntax this does not fit what stands above it | check the indentation of this line"],
    ),
    (
        "a: !!seq {b: 1}\n",
        "{\"a\":{\"b\":1}}",
        &["1:10 unknown-tag the tag `!!seq` does not fit this value | -"],
    ),
    (
        "a: {b: 1}}\n",
        "-",
        &["1:10 syntax this bracket closes nothing | -"],
    ),
    (
        "x: &a {p: 1, q: 2}\ny:\n  <<: *a\n  q: 3\n",
        "{\"x\":{\"p\":1,\"q\":2},\"y\":{\"p\":1,\"q\":3}}",
        &[],
    ),
    (
        "x: &a {p: 1}\nb: &b {p: 2, r: 3}\ny: {<<: [*a, *b], s: 4}\n",
        "{\"b\":{\"p\":2,\"r\":3},\"x\":{\"p\":1},\"y\":{\"p\":1,\"r\":3,\"s\":4}}",
        &[],
    ),
    (
        "a: 1\n<<: {b: 2}\n<<: {c: 3}\n",
        "{\"a\":1,\"b\":2}",
        &["3:1 duplicate-key the key `<<` is there twice: first on line 2 | remove one of the two"],
    ),
    ("\"<<\": 1\n", "{\"<<\":1}", &[]),
    (
        "1: a\ntrue: b\n~: c\n0x1F: d\n1.0: e\n",
        "{\"0x1F\":\"d\",\"1\":\"a\",\"1.0\":\"e\",\"true\":\"b\",\"~\":\"c\"}",
        &[],
    ),
    (
        "1: a\n\"1\": b\n",
        "{\"1\":\"a\"}",
        &["2:1 duplicate-key the key `1` is there twice: first on line 1 | remove one of the two"],
    ),
    ("k: &k name\n*k : 1\n", "{\"k\":\"name\",\"name\":1}", &[]),
    (
        "a: [{{ x }}, {{ y }}]\n",
        "{\"a\":[\"{{ x }}\",\"{{ y }}\"]}",
        &[
            "1:5 unquoted-template a value that begins with `{{` needs quotes: YAML reads it as a map in a map | write \"{{ x }}\"",
            "1:14 unquoted-template a value that begins with `{{` needs quotes: YAML reads it as a map in a map | write \"{{ y }}\"",
        ],
    ),
    (
        "{{ x }}: 1\n",
        "{\"{{ x }}\":1}",
        &[
            "1:1 unquoted-template a value that begins with `{{` needs quotes: YAML reads it as a map in a map | write \"{{ x }}\"",
        ],
    ),
    (
        "a: '{{ x }}' y\n",
        "-",
        &[
            "1:14 syntax there is text after the closing quote | put the whole value in quotes; a quote inside of single quotes is written twice ('')",
        ],
    ),
    (
        "a: x {{ y }}: z\n",
        "-",
        &["1:13 syntax a `:` is not allowed here | a text that holds `: ` needs quotes"],
    ),
    (
        "a: 1\r\nb:\r\n  - c\r\n  - c: d\r\n    c: e\r\n",
        "{\"a\":1,\"b\":[\"c\",{\"c\":\"d\"}]}",
        &["5:5 duplicate-key the key `c` is there twice: first on line 4 | remove one of the two"],
    ),
    (
        "a: \"multi\nline\"\n",
        "-",
        &[
            "2:1 syntax this line belongs to a quoted text, but is not indented | close the quote above, or indent the line",
        ],
    ),
    ("a: >\n  x\n  y\n\n", "{\"a\":\"x y\\n\"}", &[]),
    ("a: |-\n  x\n", "{\"a\":\"x\"}", &[]),
    (
        "é: 1\né: 2\n",
        "{\"é\":1}",
        &["2:1 duplicate-key the key `é` is there twice: first on line 1 | remove one of the two"],
    ),
    (
        "a: *.yaml\n",
        "{\"a\":null}",
        &[
            "1:4 bad-alias the alias `*.yaml` names no anchor | a text that begins with `*` needs quotes: \"*.yaml\"",
        ],
    ),
    (
        "a: \"\\ud800\"\n",
        "-",
        &[
            "1:4 syntax while parsing a quoted scalar, found high surrogate without following low surrogate | -",
        ],
    ),
    ("%YAML 1.2\n---\na: 1\n", "{\"a\":1}", &[]),
    (
        "a: 1\n--- \n",
        "-",
        &[
            "2:1 several-documents a second YAML document begins here | a file is one document: remove the `---`, or split the file",
        ],
    ),
    (
        "a: &x 1\nb: *x\nc: [*x, *x]\n",
        "{\"a\":1,\"b\":1,\"c\":[1,1]}",
        &[],
    ),
    (
        "[1, 2\nb: 3\n",
        "-",
        &["2:2 syntax a `:` is not allowed here | is a `[` or `{` above not closed?"],
    ),
    (
        "a: .nan\nb: -.inf\n",
        "{\"a\":{\"$float\":\"nan\"},\"b\":{\"$float\":\"-inf\"}}",
        &[],
    ),
    (
        "a: - \n",
        "-",
        &["1:4 syntax a list cannot begin on the line of its key | put `- ...` on the next line"],
    ),
    ("just text\n", "\"just text\"", &[]),
    ("5\n", "5", &[]),
    (
        "a: \"x\nb: 1\n",
        "-",
        &[
            "2:1 syntax this line belongs to a quoted text, but is not indented | close the quote above, or indent the line",
        ],
    ),
    ("- - 1\n  - 2\n- {}\n- []\n", "[[1,2],{},[]]", &[]),
];

#[test]
fn texts_and_what_comes_of_them() {
    for (text, json, problems) in TABLE {
        let (node, found, sources) = parsed(text);
        assert_eq!(
            &node.map_or("-".to_owned(), |n| n.to_json().to_string()),
            json,
            "of {text:?}"
        );
        assert_eq!(shown(&found, &sources), *problems, "of {text:?}");
    }
}

#[test]
fn hostile_texts_end_soon_and_with_a_reason() {
    let deep_block: String = (0..2_000)
        .map(|i| format!("{}a:\n", " ".repeat(i)))
        .collect();
    let bomb: String = std::iter::once("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned())
        .chain((1..10).map(|i| {
            let inner = vec![format!("*a{}", i - 1); 10].join(", ");
            format!("a{i}: &a{i} [{inner}]\n")
        }))
        .collect();
    let tower: String = std::iter::once("a0: &a0 [x]\n".to_owned())
        .chain((1..200).map(|i| format!("a{i}: &a{i} [*a{}]\n", i - 1)))
        .collect();
    let table: Vec<(String, Option<&str>)> = vec![
        ("[".repeat(20_000), Some("too-deep")),
        ("{a: ".repeat(20_000), Some("too-deep")),
        ("- ".repeat(20_000), Some("too-deep")),
        ("? ".repeat(20_000), Some("too-deep")),
        (deep_block, Some("too-deep")),
        (
            format!("{}{}", "[".repeat(129), "]".repeat(129)),
            Some("too-deep"),
        ),
        (format!("{}{}", "[".repeat(128), "]".repeat(128)), None),
        (
            format!("- {}{}", "[".repeat(128), "]".repeat(128)),
            Some("too-deep"),
        ),
        (bomb, Some("expansion-bomb")),
        (tower, Some("too-deep")),
        ("a".repeat(1_000_000), None),
        ("&a ".repeat(20_000), Some("syntax")),
        ("!".repeat(100_000), Some("syntax")),
        (format!("\"{}", "a\n ".repeat(100_000)), Some("syntax")),
        (
            format!(
                "a: &a {{{}}}\nb: {{<<: *a}}\n",
                (0..20_000)
                    .map(|i| format!("k{i}: 1, "))
                    .collect::<String>()
            ),
            None,
        ),
    ];
    for (text, expected) in table {
        let (node, problems, _) = parsed(&text);
        let head: String = text.chars().take(20).collect();
        assert_eq!(
            problems.iter().next().map(|p| p.code.slug()),
            expected,
            "of {head:?}..."
        );
        assert_eq!(node.is_some(), expected.is_none(), "of {head:?}...");
    }
}

#[test]
fn pointers_find_values_keys_and_the_deepest_that_is_there() {
    let (node, _, sources) = parsed("a:\n  - b/c: 1\n    d~e: {f: g}\n  - 2\n");
    let node = node.expect("a tree");
    let slice = |span| sources.slice(span);
    assert_eq!(slice(node.locate("/a/0/b~1c")), "1");
    assert_eq!(slice(node.locate("/a/0/d~0e")), "{f: g}");
    assert_eq!(slice(node.key_span("/a/0/d~0e/f")), "f");
    assert_eq!(slice(node.key_span("/a/0/d~0e/nope/nope")), "d~e");
    assert_eq!(slice(node.locate("/a/0/d~0e/nope/nope")), "{f: g}");
    assert_eq!(slice(node.key_span("/a/1")), "2");
    assert_eq!(
        slice(node.locate("/a/7")),
        "- b/c: 1\n    d~e: {f: g}\n  - 2"
    );
    assert_eq!(slice(node.key_span("")), "");
    assert!(node.at_pointer("/a/0/x").is_none());
    assert_eq!(
        node.at_pointer("/a/1").map(Node::to_json),
        Some(serde_json::json!(2))
    );
}

/// JSON documents of every kind, with numbers of many forms and texts of every character.
fn json_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        "-?[1-9][0-9]{0,40}",
        "-?(0|[1-9][0-9]{0,5})[.][0-9]{1,8}",
        "(0|[1-9][0-9]{0,3})([.][0-9]{1,3})?[eE][+-]?[0-9]{1,3}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|n| serde_json::from_str(&n).expect("a JSON number")),
        any::<String>().prop_map(Value::String),
        "[a-z:#,{}\\[\\]&*!|>'\"%@`~ ?-]{0,12}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn json_is_read_as_serde_json_reads_it(value in json_value(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.expect("JSON");
        let (node, problems, sources) = parsed(&text);
        if value.is_null() {
            prop_assert!(problems.is_empty());
        }
        prop_assert_eq!(shown(&problems, &sources), Vec::<String>::new());
        // As texts, since equality of numbers is textual here.
        prop_assert_eq!(node.map(|n| n.to_json().to_string()), Some(value.to_string()));
    }

    #[test]
    fn a_span_holds_the_text_of_its_value(value in json_value()) {
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        let (node, _, sources) = parsed(&text);
        let Some(node) = node else { return Err(TestCaseError::fail("no tree")) };
        let mut open = vec![&node];
        while let Some(node) = open.pop() {
            let again: Value = serde_json::from_str(sources.slice(node.span)).expect("the slice is JSON");
            prop_assert_eq!(again.to_string(), node.to_json().to_string());
            for (key, value) in node.as_map().unwrap_or_default() {
                let name: String = serde_json::from_str(sources.slice(key.span)).expect("the key is JSON");
                prop_assert_eq!(name.as_str(), &*key.name);
                open.push(value);
            }
            open.extend(node.as_seq().unwrap_or_default());
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![
        any::<String>(),
        "[-a:\\[\\]{}&*!|>'\"%@#?,<~0-9. \t\n]{0,60}",
    ]) {
        let (node, problems, sources) = parsed(&text);
        prop_assert!(node.is_some() || problems.has_errors());
        let _ = crate::load::render::human(&problems, &sources, Default::default());
    }
}
