use proptest::prelude::*;

use super::*;

const CODE_QUALITY: &str = "Evaluate the generated code on these criteria (1-5 scale):\n\n\
1. **Correctness** (weight: 0.4)\n   - 5: Fully correct, handles all cases\n   - 4: Mostly correct,\n     minor issues\n   - 1: Does not work\n\n\
2. **Readability** (weight: 0.2)\n   - 5: Excellent naming\n\n3. **Best Practices** (weight: 0.4)\n   - Does it follow conventions?\n   - 1: Ignores conventions\n";

fn number(name: &str) -> bool {
    name.parse::<f64>().is_ok_and(f64::is_finite)
}

fn told(text: &str) -> String {
    let Some(items) = split(text, &number) else {
        return "whole".to_owned();
    };
    let one = |item: &RubricItem| {
        let weight = item
            .weight
            .map(|weight| format!(" {weight}"))
            .unwrap_or_default();
        let levels: Vec<String> = item
            .levels
            .iter()
            .map(|(name, text)| format!("{name}={text}"))
            .collect();
        format!(
            "{}{weight} {:?} [{}]",
            item.name,
            item.description,
            levels.join("; ")
        )
    };
    items.iter().map(one).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_seeds_rubrics_are_criteria_with_weights_and_levels() {
    insta::assert_snapshot!(told(CODE_QUALITY), @r#"
    Correctness 0.4 "" [1=Does not work; 4=Mostly correct, minor issues; 5=Fully correct, handles all cases]
    Readability 0.2 "" [5=Excellent naming]
    Best Practices 0.4 "- Does it follow conventions?" [1=Ignores conventions]
    "#);
}

#[test]
fn people_write_criteria_in_many_ways() {
    let all = [
        "Score:\n1. Completeness: Did it find all? (0-5)\n2. Accuracy: Are they correct? (0-5)\n",
        "- **Clarity** (40%)\n- **Depth** (60%): is it deep?\n",
        "### Clarity (weight: 0.3)\nIs it clear?\n1. Names\n2. Order\n\n### Depth (weight 70%)\nDeep.\n# After\nBe kind.",
        "**Clarity** (0.4): clear\n\n**Depth** [weight = 0.6]\ntext",
        "1. **Clarity:** text\n1. **Depth**: more\n\nBe strict.",
        "1) Clarity (weight: 2): short\n2) Depth (weight: 1)\n",
        "1. **Only one** (weight: 1.0)\n   - 5: all",
        "* **A** - 40%\n* **B** - 60%\n",
        "1. **A** (20 points)\n2. **B** (factual) is it true? (80 points)\n",
        "1. **A** - weight 0.5\n2. **B**: 30% - is it?\n3. C - 20%: text",
        "- Accuracy (60%): are at least 90% right (100%)\n- **Tone** - 40%\n",
        "### 1. A\nWeight: 40%\nIs it?\n### 2) B\n**Weight**: 60%\n",
        "1. **A - 40%**: x\n   - Weight: 0.6\n2. B, weight: 0.6\n",
        "- **A** (0.5)\n- **B** (0.5)\n- Be strict.\n\n## Rules\n- **No mercy**: none\n",
        "1. **A** (0.5)\n2. **B** (0.5)\n\nGuide:\n1. Poor: x\n2. Fair: y\n",
        "1. **A** (weight: 0.5, 1-5)\n2. **B** (1-5 scale; weight: 0.5)\n  ```\n  3. **C** (weight: 1)\n  ```\n",
    ];
    insta::assert_snapshot!(all.map(told).join("\n---\n"), @r#"
    Completeness "Did it find all?" []
    Accuracy "Are they correct?" []
    ---
    Clarity 0.4 "" []
    Depth 0.6 "is it deep?" []
    ---
    Clarity 0.3 "Is it clear?\n1. Names\n2. Order" []
    Depth 0.7 "Deep." []
    ---
    Clarity 0.4 "clear" []
    Depth 0.6 "text" []
    ---
    Clarity "text" []
    Depth "more" []
    ---
    Clarity 2 "short" []
    Depth 1 "" []
    ---
    Only one 1 "" [5=all]
    ---
    A 0.4 "" []
    B 0.6 "" []
    ---
    A 20 "" []
    B 80 "(factual) is it true?" []
    ---
    A 0.5 "" []
    B 0.3 "is it?" []
    C 0.2 "text" []
    ---
    Accuracy 0.6 "are at least 90% right (100%)" []
    Tone 0.4 "" []
    ---
    A 0.4 "Is it?" []
    B 0.6 "" []
    ---
    A 0.4 "x\n- Weight: 0.6" []
    B 0.6 "" []
    ---
    A 0.5 "" []
    B 0.5 "- Be strict." []
    ---
    A 0.5 "" []
    B 0.5 "" []
    ---
    A 0.5 "" []
    B 0.5 "```\n3. **C** (weight: 1)\n```" []
    "#);
}

#[test]
fn lists_that_are_no_criteria_stay_a_text() {
    let all = [
        "",
        "Is it clear?",
        "1. Read the output carefully.\n2. Compare it with the reference.",
        "1. **Clarity** (weight: 0.5)\n2. Read all of it twice, please.",
        "1. **Clarity**",
        "1. A: x\n2. B: y\n\nThen:\n1. C: z\n2. D: w\n",
        "- **Never** accept lies.\n- **Always** be kind.",
        "**Input** is above.\n**Output** is below.",
        "# Rubric\n## Clarity\nIs it clear?\n## Depth\nIs it deep?",
        "```\n1. **A** (weight: 1)\n2. **B** (weight: 1)\n```",
        // Levels of one scale.
        "Score the help:\n1. Poor: no use\n2. Fair: some\n3. Good: solves it\n4. Excellent: more",
        "- **5**: Excellent\n- **3**: Fair\n- **1**: Bad",
        "- **Score 5 (best)**: x\n- **Score 1**: y",
        "- **Pass**: it works\n- **Fail**: it does not",
        // Two lists, or parts of several things.
        "## Criteria\n- **Accuracy**: right\n- **Clarity**: readable\n\n## Rules\n- **Be strict**: no 5\n- **Length**: ignore it",
        "- **Accuracy**: right\n\nMind:\n- **Strictness**: no 5",
        "1. Correctness\n   - **Edges**: x\n   - **Core**: y\n2. Style\n   - **Names**: z",
        "- **Accuracy**: right\n- Tone: kind\n- **Style**: good",
    ];
    for text in all {
        assert_eq!(told(text), "whole", "{text}");
    }
    assert!(mentions_weights(
        "1. **Clarity** (weight: 0.5)\n2. Read all of it twice, please."
    ));
    assert!(!mentions_weights("1. Clarity: is it?\n2. Depth: is it?"));
    let unread = [
        "- Clarity counts 40%, depth 60 %.",
        "|Clarity|30 points|\n|Depth|70 points|",
        "1. **A** (weight: 0,4)",
        "|A|0.6|\n|B|0.4|",
        "1. **A** (x2)\n2. **B** (x1)",
    ];
    assert!(unread.iter().all(|text| mentions_weights(text)));
    assert!(
        ![
            "At least 80% of it, not 100%.",
            "the weighted average from 1 to 5"
        ]
        .iter()
        .any(|text| mentions_weights(text))
    );
}

#[test]
fn scales_are_told_from_other_numbers() {
    let all = [
        ("on these criteria (1-5 scale):", "Some(1.0)..5"),
        ("complete? (0-5)", "Some(0.0)..5"),
        ("Score from 0 to 10.", "Some(0.0)..10"),
        ("on a scale of 1 – 7", "Some(1.0)..7"),
        ("Rate it 1-10", "Some(1.0)..10"),
        ("score it out of 100", "None..100"),
        ("(out of 10)", "None..10"),
        ("a number 0 to 10", "Some(0.0)..10"),
        ("a number between 1 and 10", "Some(1.0)..10"),
        ("1 (worst) to 10 (best)", "Some(1.0)..10"),
        ("on a 10-point scale", "None..10"),
        ("score it x/10, at most 24/7", "None..10"),
        (
            "2-4 sentences (2020-2024), 1 to 3 words, tests (3 out of 5)",
            "",
        ),
        ("steps 1-3 are done", ""),
    ];
    for (text, expected) in all {
        let mut found: Vec<String> = scales(text)
            .iter()
            .map(|(low, high, _)| format!("{low:?}..{high}"))
            .collect();
        found.dedup();
        assert_eq!(found.join(" "), expected, "{text}");
    }
}

#[test]
fn named_scale_is_the_only_one_with_both_ends() {
    for (text, expected) in [
        ("1. Complete? (0-5)\n2. Right? (0-5)", Some([0.0, 5.0])),
        ("Score from 0 to 10.", Some([0.0, 10.0])),
        ("Rate it 1-10 for clarity", Some([1.0, 10.0])),
        ("Score 0-10, at most 10 (out of 10)", Some([0.0, 10.0])),
        ("1-5 scale", Some([1.0, 5.0])),
        ("A (0-5)\nB (0-10)", None),
        ("score it out of 100", None),
        (
            "Rate the accuracy (0-5) and clarity (0-5).",
            Some([0.0, 5.0]),
        ),
        ("Score from 0 to 10 overall", Some([0.0, 10.0])),
        ("Score it from 1 to 7 using the criteria", Some([1.0, 7.0])),
        ("Rate it from 1 (worst) to 10 (best).", Some([1.0, 10.0])),
        // What counts something else, and scales whose high end is the worse one.
        ("Give points for 1-3 examples", None),
        ("Grade the essay by sections 1-4.", None),
        ("Rate it from 1 (best) to 10 (worst).", None),
        ("Score from 0 to 5, where 5 is very poor.", None),
        ("Is it clear?", None),
    ] {
        assert_eq!(named_scale(text), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), marks in r"([0-9]\. |- |\*\*|__|[#()\[\]:%.*\n \t-]|weight|5|é|٣|```\n){0,60}") {
        for text in [&text, &marks, &format!("{marks}{text}")] {
            let _ = mentions_weights(text);
            let _ = scales(text);
            if let Some(items) = split(text, &number) {
                prop_assert!(!items.is_empty());
                prop_assert!(items.iter().all(|item| !item.name.is_empty()));
            }
        }
    }

    #[test]
    fn a_generated_rubric_reads_back(
        intro in "[A-Z][a-z ]{0,20}[a-z]",
        items in proptest::collection::vec(("[A-Z][a-z]{1,8}( [A-Z][a-z]{1,8})?", 1u32..100, "[a-z]{1,10}( [a-z]{1,10}){0,3}", "[a-z]{1,10}"), 2..6),
        form in 0usize..5,
    ) {
        let mut text = format!("{intro}\n\n");
        for (i, (name, weight, words, level)) in items.iter().enumerate() {
            let share = f64::from(*weight) / 100.0;
            let head = match form {
                0 => format!("{}. **{name}** (weight: {share})", i + 1),
                1 => format!("- **{name}** ({weight}%)"),
                2 => format!("### {name} (weight: {share})"),
                3 => format!("{}. {name} (weight {weight}%):", i + 1),
                _ => format!("**{name}** [{weight}%]"),
            };
            text.push_str(&format!("{head}\n   {words}\n   - 5: {level}\n   - 1:\n     {level}\n\n"));
        }
        let found = split(&text, &number).ok_or_else(|| TestCaseError::fail(text.clone()))?;
        prop_assert_eq!(found.len(), items.len());
        for (found, (name, weight, words, level)) in found.iter().zip(&items) {
            prop_assert_eq!(&found.name, name);
            prop_assert!((found.weight.unwrap_or_default() - f64::from(*weight) / 100.0).abs() < 1e-12);
            prop_assert_eq!(&found.description, words);
            prop_assert_eq!(&found.levels, &BTreeMap::from([("5".to_owned(), level.clone()), ("1".to_owned(), level.clone())]));
        }
    }
}
