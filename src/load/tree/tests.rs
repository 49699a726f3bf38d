use super::*;
use crate::load::problem::Problems;
use crate::load::source::Sources;

pub(super) fn parsed(text: &str) -> (Option<Node>, Problems, Sources) {
    let mut sources = Sources::new();
    let file = sources.add("t.yaml", text);
    let mut problems = Problems::new();
    let node = parse(&sources, file, &mut problems);
    (node, problems, sources)
}

fn shown(problems: &Problems, sources: &Sources) -> Vec<String> {
    problems
        .sorted()
        .iter()
        .map(|p| {
            let at = p.span.map(|s| sources.position(s));
            let at = at.map_or_else(String::new, |at| format!("{}:{}", at.line, at.column));
            format!("{at} {} {} | {}", p.code.slug(), p.message, p.hint.as_deref().unwrap_or("-"))
        })
        .collect()
}

#[test]
fn explore() {
    for text in [
        "a: \"x\n",
        "a: [1, 2\n",
        "a: {b: 1\n",
        "a:\n\t- x\n",
        "a: 1\na: 2\n",
        "a: {{x}}\n",
        "a: {{ x }} tail\nb: 1\n",
        "- {{ \"q\" ~ x }}\n",
        "a: *x\n",
        "a: !foo 1\n",
        "a: !!int x\n",
        "? [a]\n: 1\n",
        "a: 1\n---\nb: 2\n",
        "---\na: 1\n",
        "a: 1\n b: 2\n",
        "a: b: c\n",
        "a: @x\n",
        "a: `x`\n",
        "a: \"\\d\"\n",
        "a: 'it's'\n",
        "a: \"x\" y\n",
        "key\nb: 1\n",
        "a: 1\nkey\n",
        "a: }\n",
        "a: [1}\n",
        "a:\n  - 1\n b: 2\n",
        "a: %x\n",
        "a: {% if x %}\n",
        "# only\n",
        "---\n",
        "a: &a [*a]\n",
        "<<: 1\n",
        "a: ! 5\n",
        "a: !!str 5\n",
        "a: 1\n...\n",
        "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t1\n\t]\n}\n",
        "a:\nb:\n",
        "a: |\n  x\n\n  y\nb: 1\n",
        "a: \u{1}\n",
        "a: - b\n",
        "a: [1, 2]]\n",
        "a: {b: 1, b: 2}\n",
        "- a\nb: 1\n",
    ] {
        let (node, problems, sources) = parsed(text);
        println!("{text:?}\n   {}", node.as_ref().map_or("-".into(), |n| n.to_json().to_string()));
        for p in shown(&problems, &sources) {
            println!("   {p}");
        }
        if let Some(node) = node {
            if let Some(m) = node.as_map() {
                for (k, v) in m {
                    println!("      {:?} {:?} {:?}", sources.slice(k.span), v.span, sources.slice(v.span));
                }
            }
        }
    }
}
