//! Markdown, comments and JSON.

use insta::assert_snapshot;

use super::*;

/// A regression with few cases to list.
fn short() -> Comparison {
    let mut short = regression();
    for list in [
        &mut short.cases.broken,
        &mut short.cases.fixed,
        &mut short.cases.still_failing,
    ] {
        list.cases.truncate(2);
        list.count = list.cases.len();
    }
    short.cases.broken.cases[1].criticality = Some(Criticality::Critical);
    short.cases.gone = FlipList::default();
    short
}

#[test]
fn markdown_begins_with_the_verdict() {
    assert_snapshot!(as_markdown(&of(vec![short()], Decision::Fail, &["regression: pass@1 fell"])), @r"
    # ❌ Regression: Parser suite, latest against main

    **pass@1 fell from 0.850 to 0.790, -6.0 points \[-9.1, -2.9\], p = 0.0004 (one-sided, sign flips, 400 cases)**

    A true drop of 4.1 points would have been found with 80 % chance.

    - ⚠️ the suite had version 1.1.0 and has 1.2.0

    Gate: ❌ **FAIL** (`--fail-on significant`: a regression fails the gate)

    - regression: pass@1 fell

    <!-- -->

    - reference: main · target solver (model) · model openai:gpt-4o-mini · run eval-20260101-120000 · commit 0123456 · 2026-01-02
    - candidate: latest · target solver (model) · model openai:gpt-4o-mini · run eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    | Metric | From | To | Difference | 95 % interval | p | Paired | Remark |
    | --- | ---: | ---: | ---: | --- | ---: | --- | --- |
    | **pass@1** * | 0.850 | 0.790 | ▼ -6.0 points | [-9.1, -2.9] | 0.0004 | 400 cases |  |
    | latency mean | 812 ms | 934 ms | ▼ +122 ms | [+80 ms, +164 ms] | &lt;0.0001 | 400 cases |  |
    | pass@5 | 0.950 | 0.950 | -0.04 points | [-1.0, +0.9] | 0.46 | 400 cases |  |
    | pass^5 (unbiased) | 0.614 | 0.541 | ▼ -7.3 points | [-12.0, -2.6] | 0.001 | 400 cases |  |
    | pass@10 | n/a |  |  |  |  | 0 cases | 10 samples of a case are needed; there are 5 |
    | pass rate | 0.500 | 0.500 | = | [-10.0, +10.0] | 0.50 | 38 evals |  |
    | edits | 3.250 | 3.250 | +0.0004 | [-0.200, +0.210] | 0.50 | 400 cases |  |

    \* the verdict depends on it. ▼ ▲ more than chance, each metric taken alone. p: one-sided, in the direction of the difference; several tests are adjusted by Holm, other metrics are not.

    <details><summary>By category: <code>pass@1</code> *, 1 group differs by more than chance</summary>

    | Group | From | To | Difference | 95 % interval | p | Flips | Cases |
    | --- | ---: | ---: | ---: | --- | ---: | --- | ---: |
    | code | 0.900 | 0.760 | ▼ -14.0 points | [-19.0, -9.2] | &lt;0.0001 | ❌22 ✅4 | 200 |
    | math and everything else that counts | 0.810 | 0.830 | +2.0 points | [-2.0, +6.0] | 0.57 | ❌2 ✅8 | 190 |

    1 more group without a difference; the JSON report lists all

    </details>

    **398 cases compared: 2 broken, 2 fixed, 2 still failing, 301 still passing**

    not compared: 2 changed (different data or grading), 1 new, 4 omitted from one side by filters or shards

    <details><summary>Broken: passed before, fail now (2)</summary>

    | Case | Passed |
    | --- | --- |
    | ❌ cap-code-002 › case-01 (**critical**) | 5/5 → 1/5 |
    | ❌ cap-code-002 › case-00 | 5/5 → 1/5 |

    </details>

    <details><summary>Fixed: failed before, pass now (2)</summary>

    | Case | Passed |
    | --- | --- |
    | ✅ cap-code-002 › case-00 | 0/5 → 5/5 |
    | ✅ cap-code-002 › case-01 | 0/5 → 5/5 |

    </details>

    <details><summary>Changed: different data or grading, not compared (2)</summary>

    | Case | Passed |
    | --- | --- |
    | ➖ cap-code-002 › case-00 | 5/5 → 4/5 |
    | ➖ cap-code-002 › case-01 | 5/5 → 4/5 |

    </details>

    <details><summary>New: not in the reference (1)</summary>

    | Case | Passed |
    | --- | --- |
    | ➖ cap-code-002 › case-00 | now 3/5 |

    </details>

    <details><summary>Still failing (2)</summary>

    | Case | Passed |
    | --- | --- |
    | ❌ cap-code-002 › case-00 | 0/5 → 0/5 |
    | ❌ cap-code-002 › case-01 | 0/5 → 0/5 |

    </details>

    tested: pass@1 at 5 %, one-sided, and by category; intervals at 95 %, 10,000 resamples, seed 7
    ");
}

#[test]
fn markdown_says_what_is_undecided() {
    assert_snapshot!(as_markdown(&of(vec![undecided()], Decision::Incomplete, &[])), @r"
    # ⚠️ Undecided: Parser suite, latest against main

    > [!CAUTION]
    > **Undecided: samples without a grade leave it open: at worst a regression, at best an improvement**

    **over what was graded: no evidence of a difference: pass@1 fell from 0.900 to 0.800, -10.0 points \[-41.0, +22.0\], p = 0.31 (one-sided, McNemar with mid-p, 10 cases)**

    With 10 cases only a true drop of 47 points would have been found with 80 % chance; for the observed 10 points about 220 cases like these would be needed.

    7 samples of the compared cases have no grade (1 of the reference, 6 of the candidate): if they counted against the candidate, the verdict would be \`regression\`, and if they counted for it, \`improvement\`.

    Gate: ⚠️ **INCOMPLETE** (`--fail-on significant`: a regression fails the gate)

    - reference: main · target solver (model) · model openai:gpt-4o-mini · run eval-20260101-120000 · commit 0123456 · 2026-01-02
    - candidate: latest · target solver (model) · model openai:gpt-4o-mini · run eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    | Metric | From | To | Difference | 95 % interval | p | Paired |
    | --- | ---: | ---: | ---: | --- | ---: | --- |
    | **pass@1** * | 0.900 | 0.800 | -10.0 points | [-41.0, +22.0] | 0.31 | 10 cases |

    pass@1 [-40.0, +30.0] if all samples without a grade had counted against, or for, the candidate

    \* the verdict depends on it. p: one-sided, in the direction of the difference; for *, in the direction of worse.

    **10 cases compared: 1 broken, 2 fixed, 7 still passing**

    not compared: 6 without a grade on one side

    <details><summary>Broken: passed before, fail now (1)</summary>

    | Case | Passed |
    | --- | --- |
    | ❌ cap-code-002 › case-00 | 1/1 → 0/1 |

    </details>

    <details><summary>Fixed: failed before, pass now (2)</summary>

    | Case | Passed |
    | --- | --- |
    | ✅ cap-code-002 › case-00 | 0/1 → 1/1 |
    | ✅ cap-code-002 › case-01 | 0/1 → 1/1 |

    </details>

    <details><summary>Without a grade on one side (6)</summary>

    | Case | Passed |
    | --- | --- |
    | ⚠️ cap-code-002 › case-00 | 1/1 → no grade |
    | ⚠️ cap-code-002 › case-01 | 1/1 → no grade |
    | ⚠️ cap-code-002 › case-02 | 1/1 → no grade |
    | ⚠️ cap-code-002 › case-03 | 1/1 → no grade |
    | ⚠️ cap-code-002 › case-04 | 1/1 → no grade |
    | ⚠️ cap-code-002 › case-05 | 1/1 → no grade |

    </details>

    tested: pass@1 at 5 %, one-sided, and by category; intervals at 95 %, 10,000 resamples, seed 7
    ");
}

#[test]
fn markdown_has_a_column_for_each_candidate() {
    let mut all = several();
    for candidate in &mut all.candidates {
        candidate.cases = CaseChanges {
            compared: 400,
            still_passing: 400,
            ..CaseChanges::default()
        };
        candidate.metrics.truncate(2);
    }
    assert_snapshot!(as_markdown(&all), @r"
    # ❌ Regression: Parser suite, 4 candidates against main

    Gate: ❌ **FAIL** (`--fail-on significant`: a regression fails the gate)

    - small: regression: pass@1 fell from 0.850 to 0.790

    <!-- -->

    - reference: main · target solver (model) · model openai:gpt-4o-mini · run eval-20260101-120000 · commit 0123456 · 2026-01-02
    - candidate: small · target solver (model) · model openai:gpt-4o-mini · run eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03
    - candidate: results/2026-01-03/run-093000 · target solver (model) · model openai:gpt-4o-mini · run eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03
    - candidate: eval-20260103-093001 · target solver (model) · model openai:gpt-4o-mini · run eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03
    - candidate: v2 · target solver (model) · model openai:gpt-4o-mini · run eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    |  | small | results/2026-01-03/run-093000 | eval-20260103-093001 | v2 |
    | --- | --- | --- | --- | --- |
    | verdict | ❌ regression | ✅ improvement | ⚠️ undecided | ⚪ no evidence |
    | **pass@1** * | 0.850 → 0.790<br>▼ -6.0 points<br>[-9.1, -2.9]<br>p 0.0004 | 0.790 → 0.850<br>▲ +6.0 points<br>[+2.9, +9.1]<br>p 0.0004 | 0.900 → 0.800<br>-10.0 points<br>[-41.0, +22.0]<br>p 0.31 | 0.850 → 0.850<br>-0.04 points<br>[-1.1, +1.0]<br>p 0.47 |
    | latency mean | 812 ms → 934 ms<br>▼ +122 ms<br>[+80 ms, +164 ms]<br>p &lt;0.0001 | n/a | n/a | n/a |
    | cases compared | 400 | 400 | 400 | 400 |
    | could have found | 4.1 points |  |  |  |

    \* the verdict depends on it. ▼ ▲ more than chance, each metric taken alone. p: one-sided, in the direction of the difference; several tests are adjusted by Holm, other metrics are not.

    ## ❌ small: regression

    **pass@1 fell from 0.850 to 0.790, -6.0 points \[-9.1, -2.9\], p = 0.0004 (one-sided, sign flips, 400 cases)**

    A true drop of 4.1 points would have been found with 80 % chance.

    - ⚠️ the suite had version 1.1.0 and has 1.2.0

    <details><summary>By category: <code>pass@1</code> *, 1 group differs by more than chance</summary>

    | Group | From | To | Difference | 95 % interval | p | Flips | Cases |
    | --- | ---: | ---: | ---: | --- | ---: | --- | ---: |
    | code | 0.900 | 0.760 | ▼ -14.0 points | [-19.0, -9.2] | &lt;0.0001 | ❌22 ✅4 | 200 |
    | math and everything else that counts | 0.810 | 0.830 | +2.0 points | [-2.0, +6.0] | 0.57 | ❌2 ✅8 | 190 |

    1 more group without a difference; the JSON report lists all

    </details>

    **400 cases compared: 400 still passing**

    ## ✅ results/2026-01-03/run-093000: improvement

    **pass@1 rose from 0.790 to 0.850, +6.0 points \[+2.9, +9.1\], p = 0.0004 (one-sided, McNemar with mid-p, 400 cases)**

    **400 cases compared: 400 still passing**

    ## ⚠️ eval-20260103-093001: undecided

    > [!CAUTION]
    > **Undecided: samples without a grade leave it open: at worst a regression, at best an improvement**

    **over what was graded: no evidence of a difference: pass@1 fell from 0.900 to 0.800, -10.0 points \[-41.0, +22.0\], p = 0.31 (one-sided, McNemar with mid-p, 10 cases)**

    With 10 cases only a true drop of 47 points would have been found with 80 % chance; for the observed 10 points about 220 cases like these would be needed.

    7 samples of the compared cases have no grade (1 of the reference, 6 of the candidate): if they counted against the candidate, the verdict would be \`regression\`, and if they counted for it, \`improvement\`.

    **400 cases compared: 400 still passing**

    ## ⚪ v2: no evidence of a difference

    **pass@1 is 0.850 and 0.850, -0.04 points \[-1.1, +1.0\], p = 0.47 (one-sided, McNemar with mid-p, 4000 cases)**

    A true drop of 1.6 points would have been found with 80 % chance.

    **400 cases compared: 400 still passing**

    tested: pass@1 at 5 %, one-sided, and by category, 4 candidates at once; intervals at 95 %, 10,000 resamples, seed 7
    ");
}

#[test]
fn a_comment_names_the_targets_and_not_the_runs() {
    let shown = as_comment(&of(vec![short()], Decision::Fail, &[]));
    let mut lines = shown.lines();
    assert_eq!(
        lines.next(),
        Some("<!-- eval-harness comparison: Parser%20suite%20solver -->")
    );
    assert_eq!(
        lines.next(),
        Some("## ❌ Regression: Parser suite, latest against main")
    );
}

#[test]
fn no_comparison_is_too_large_for_a_comment() {
    let mut huge = regression();
    for list in [
        &mut huge.cases.broken,
        &mut huge.cases.fixed,
        &mut huge.cases.gone,
        &mut huge.cases.new,
    ] {
        *list = flips(5_000, [Some([1, 1]), Some([0, 1])]);
        for case in &mut list.cases {
            case.case_id = "|<".repeat(300);
        }
    }
    huge.notes = vec!["é|".repeat(2_000); 100];
    huge.sentences = vec!["regression: |".repeat(500); 9];
    let group = huge.groups[0].clone();
    huge.groups = (0..500)
        .map(|n| GroupDifference {
            group: format!("{n} {}", "日".repeat(500)),
            ..group.clone()
        })
        .collect();
    for candidates in [1, 8] {
        let shown = as_comment(&of(
            vec![huge.clone(); candidates],
            Decision::Fail,
            &["because|".repeat(900).as_str()],
        ));
        assert!(shown.contains("# ❌ Regression: "), "{shown}");
        assert!(shown.contains("**Truncated here: "), "{shown}");
    }
    assert!(as_markdown(&of(vec![huge], Decision::Fail, &[])).contains("... and 4,900 more cases"));
}

#[test]
fn json_is_the_comparison_as_it_is_and_fits_its_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../schemas/comparison.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for comparisons in [
        of(vec![regression()], Decision::Fail, &["worse"]),
        of(vec![undecided(), all_changed()], Decision::Incomplete, &[]),
        several(),
    ] {
        let mut out = Vec::new();
        comparison::json(&comparisons, &mut out).unwrap();
        let written = String::from_utf8(out).unwrap();
        assert!(
            written.starts_with("{\n  \"format_version\": 1,\n") && written.ends_with("}\n"),
            "{written}"
        );
        let value: serde_json::Value = serde_json::from_str(&written).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|fault| fault.to_string())
            .collect();
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(
            serde_json::from_str::<Comparisons>(&written).unwrap(),
            comparisons
        );
    }
}
