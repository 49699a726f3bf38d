//! What people read on a terminal.

use insta::assert_snapshot;

use super::*;

fn page(candidate: Comparison, decision: Decision, reasons: &[&str]) -> String {
    on_terminal(
        &of(vec![candidate], decision, reasons),
        &TerminalOptions::default(),
    )
}

#[test]
fn a_regression_is_told_whole() {
    let reason = "regression: pass@1 fell from 0.850 to 0.790";
    assert_snapshot!(page(regression(), Decision::Fail, &[reason]), @"
    Parser suite: latest against main
      reference  main · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit 0123456 · 2026-01-02
      candidate  latest · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    ▼ REGRESSION
      pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9], p = 0.0004
      (one-sided, sign flips, 400 cases)
      A true drop of 4.1 points would have been found with 80 % chance.
      ! the suite had version 1.1.0 and has 1.2.0

      Metric               From      To     Difference  95 % interval            p
      pass@1 *            0.850   0.790  ▼ -6.0 points  [-9.1, -2.9]        0.0004
      latency mean       812 ms  934 ms      ▼ +122 ms  [+80 ms, +164 ms]  <0.0001
      pass@5              0.950   0.950   -0.04 points  [-1.0, +0.9]          0.46
      pass^5 (unbiased)   0.614   0.541  ▼ -7.3 points  [-12.0, -2.6]        0.001
      pass@10               n/a  10 samples of a case are needed; there are 5
      pass rate           0.500   0.500              =  [-10.0, +10.0]        0.50
      edits               3.250   3.250        +0.0004  [-0.200, +0.210]      0.50
      paired: 400 cases, pass rate 38 evals
      * the verdict depends on it. ▼ ▲ more than chance, each metric taken alone. p:
      one-sided, in the direction of the difference; several tests are adjusted by
      Holm, other metrics are not.

      By category: pass@1 *
        Group            From     To      Difference  95 % interval        p  Flips
        code            0.900  0.760  ▼ -14.0 points  [-19.0, -9.2]  <0.0001  ✗22 ✓4
        math and ever…  0.810  0.830     +2.0 points  [-2.0, +6.0]      0.57  ✗2 ✓8
        1 more group without a difference; --verbose shows more

      398 cases compared: 24 broken, 12 fixed, 61 still failing, 301 still passing
      not compared: 2 changed (different data or grading), 1 new, 7 gone, 4 omitted
      from one side by filters or shards

      Broken: passed before, fail now (24)   Passed
        ✗ cap-code-002 › case-20 (critical)  5/5 → 1/5
        ✗ cap-code-002 › case-00             5/5 → 1/5
        ✗ cap-code-002 › case-01             5/5 → 1/5
        ✗ cap-code-002 › case-02             5/5 → 1/5
        ✗ cap-code-002 › case-03             5/5 → 1/5
        ✗ cap-code-002 › case-04             5/5 → 1/5
        ✗ cap-code-002 › case-05             5/5 → 1/5
        ✗ cap-code-002 › case-06             5/5 → 1/5
        ✗ cap-code-002 › case-07             5/5 → 1/5
        ✗ cap-code-002 › case-08             5/5 → 1/5
        ... and 14 more cases; --verbose shows more

      Fixed: failed before, pass now (12)  Passed
        ✓ cap-code-002 › case-00           0/5 → 5/5
        ✓ cap-code-002 › case-01           0/5 → 5/5
        ✓ cap-code-002 › case-02           0/5 → 5/5
        ✓ cap-code-002 › case-03           0/5 → 5/5
        ✓ cap-code-002 › case-04           0/5 → 5/5
        ✓ cap-code-002 › case-05           0/5 → 5/5
        ✓ cap-code-002 › case-06           0/5 → 5/5
        ✓ cap-code-002 › case-07           0/5 → 5/5
        ✓ cap-code-002 › case-08           0/5 → 5/5
        ✓ cap-code-002 › case-09           0/5 → 5/5
        ... and 2 more cases; --verbose shows more

      Changed: different data or grading, not compared (2)  Passed
        ~ cap-code-002 › case-00                            5/5 → 4/5
        ~ cap-code-002 › case-01                            5/5 → 4/5

      New: not in the reference (1)  Passed
        + cap-code-002 › case-00     now 3/5

      Gone: not in the candidate (7)  Passed
        – cap-code-002 › case-00      was 5/5
        – cap-code-002 › case-01      was 5/5
        – cap-code-002 › case-02      was 5/5
        – cap-code-002 › case-03      was 5/5
        – cap-code-002 › case-04      was 5/5
        – cap-code-002 › case-05      was 5/5
        – cap-code-002 › case-06      was 5/5

    GATE FAIL (--fail-on significant: a regression fails the gate)
      - regression: pass@1 fell from 0.850 to 0.790
    ");
}

#[test]
fn an_improvement() {
    assert_snapshot!(page(improvement(), Decision::Pass, &[]), @"
    Parser suite: latest against main
      reference  main · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit 0123456 · 2026-01-02
      candidate  latest · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    ▲ IMPROVEMENT
      pass@1 rose from 0.790 to 0.850, +6.0 points [+2.9, +9.1], p = 0.0004
      (one-sided, McNemar with mid-p, 400 cases)

      Metric     From     To     Difference  95 % interval       p
      pass@1 *  0.790  0.850  ▲ +6.0 points  [+2.9, +9.1]   0.0004
      paired: 400 cases
      * the verdict depends on it. ▼ ▲ more than chance, each metric taken alone. p:
      one-sided, in the direction of the difference.

      400 cases compared: 1 broken, 2 fixed, 397 still passing

      Broken: passed before, fail now (1)  Passed
        ✗ cap-code-002 › case-00           1/1 → 0/1

      Fixed: failed before, pass now (2)  Passed
        ✓ cap-code-002 › case-00          0/1 → 1/1
        ✓ cap-code-002 › case-01          0/1 → 1/1

    GATE PASS (--fail-on significant: a regression fails the gate)
    ");
}

#[test]
fn nothing_found_where_it_would_have_been() {
    assert_snapshot!(page(none_with_power(), Decision::Pass, &[]), @"
    Parser suite: latest against main
      reference  main · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit 0123456 · 2026-01-02
      candidate  latest · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    ○ NO EVIDENCE OF A DIFFERENCE
      pass@1 is 0.850 and 0.850, -0.04 points [-1.1, +1.0], p = 0.47 (one-sided,
      McNemar with mid-p, 4000 cases)
      A true drop of 1.6 points would have been found with 80 % chance.

      Metric     From     To    Difference  95 % interval     p
      pass@1 *  0.850  0.850  -0.04 points  [-1.1, +1.0]   0.47
      paired: 4,000 cases
      * the verdict depends on it. p: one-sided, in the direction of the difference;
      for *, in the direction of worse.

      4,000 cases compared: 1 broken, 2 fixed, 3,997 still passing

      Broken: passed before, fail now (1)  Passed
        ✗ cap-code-002 › case-00           1/1 → 0/1

      Fixed: failed before, pass now (2)  Passed
        ✓ cap-code-002 › case-00          0/1 → 1/1
        ✓ cap-code-002 › case-01          0/1 → 1/1

    GATE PASS (--fail-on significant: a regression fails the gate)
    ");
}

#[test]
fn too_few_cases_to_find_anything() {
    assert_snapshot!(page(none_with_few_cases(), Decision::Pass, &[]), @"
    Parser suite: latest against main
      reference  main · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit 0123456 · 2026-01-02
      candidate  latest · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    ○ NO EVIDENCE OF A DIFFERENCE
      pass@1 fell from 0.900 to 0.800, -10.0 points [-41.0, +22.0], p = 0.31
      (one-sided, McNemar with mid-p, 10 cases)
      With 10 cases only a true drop of 47 points would have been found with 80 %
      chance; for the observed 10 points about 220 cases like these would be needed.

      Metric     From     To    Difference  95 % interval      p
      pass@1 *  0.900  0.800  -10.0 points  [-41.0, +22.0]  0.31
      paired: 10 cases
      * the verdict depends on it. p: one-sided, in the direction of the difference;
      for *, in the direction of worse.

      10 cases compared: 1 broken, 2 fixed, 7 still passing

      Broken: passed before, fail now (1)  Passed
        ✗ cap-code-002 › case-00           1/1 → 0/1

      Fixed: failed before, pass now (2)  Passed
        ✓ cap-code-002 › case-00          0/1 → 1/1
        ✓ cap-code-002 › case-01          0/1 → 1/1

    GATE PASS (--fail-on significant: a regression fails the gate)
    ");
}

#[test]
fn what_has_no_grade_can_turn_the_verdict() {
    let reason = "samples without a grade could make it a regression";
    assert_snapshot!(page(undecided(), Decision::Incomplete, &[reason]), @"
    Parser suite: latest against main
      reference  main · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit 0123456 · 2026-01-02
      candidate  latest · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    ! UNDECIDED
      samples without a grade leave it open: at worst a regression, at best an
      improvement
      over what was graded: no evidence of a difference: pass@1 fell from 0.900 to
      0.800, -10.0 points [-41.0, +22.0], p = 0.31 (one-sided, McNemar with mid-p,
      10 cases)
      With 10 cases only a true drop of 47 points would have been found with 80 %
      chance; for the observed 10 points about 220 cases like these would be needed.
      7 samples of the compared cases have no grade (1 of the reference, 6 of the
      candidate): if they counted against the candidate, the verdict would be
      `regression`, and if they counted for it, `improvement`.

      Metric     From     To    Difference  95 % interval      p
      pass@1 *  0.900  0.800  -10.0 points  [-41.0, +22.0]  0.31
      paired: 10 cases
      pass@1 [-40.0, +30.0] if all samples without a grade had counted against, or
      for, the candidate
      * the verdict depends on it. p: one-sided, in the direction of the difference;
      for *, in the direction of worse.

      10 cases compared: 1 broken, 2 fixed, 7 still passing
      not compared: 6 without a grade on one side

      Broken: passed before, fail now (1)  Passed
        ✗ cap-code-002 › case-00           1/1 → 0/1

      Fixed: failed before, pass now (2)  Passed
        ✓ cap-code-002 › case-00          0/1 → 1/1
        ✓ cap-code-002 › case-01          0/1 → 1/1

      Without a grade on one side (6)  Passed
        ! cap-code-002 › case-00       1/1 → no grade
        ! cap-code-002 › case-01       1/1 → no grade
        ! cap-code-002 › case-02       1/1 → no grade
        ! cap-code-002 › case-03       1/1 → no grade
        ! cap-code-002 › case-04       1/1 → no grade
        ! cap-code-002 › case-05       1/1 → no grade

    GATE INCOMPLETE (--fail-on significant: a regression fails the gate)
      - samples without a grade could make it a regression
    ");
}

#[test]
fn nothing_could_be_paired() {
    let reason = "no case could be compared";
    assert_snapshot!(page(all_changed(), Decision::Incomplete, &[reason]), @"
    Parser suite: latest against main
      reference  main · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit 0123456 · 2026-01-02
      candidate  latest · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    ! NOTHING COULD BE TESTED
      every case on both sides changed in data or grading; `--allow-changed`
      compares them anyway

      Metric  From
      pass@1   n/a  no pairs

      no case could be compared
      not compared: 400 changed (different data or grading)

      Changed: different data or grading, not compared (400)  Passed
        ~ cap-code-002 › case-00                              1/1 → 0/1
        ~ cap-code-002 › case-01                              1/1 → 0/1
        ~ cap-code-002 › case-02                              1/1 → 0/1
        ~ cap-code-002 › case-03                              1/1 → 0/1
        ~ cap-code-002 › case-04                              1/1 → 0/1
        ~ cap-code-002 › case-05                              1/1 → 0/1
        ~ cap-code-002 › case-06                              1/1 → 0/1
        ~ cap-code-002 › case-07                              1/1 → 0/1
        ~ cap-code-002 › case-08                              1/1 → 0/1
        ~ cap-code-002 › case-09                              1/1 → 0/1
        ... and 390 more cases; --verbose shows more

    GATE INCOMPLETE (--fail-on significant: a regression fails the gate)
      - no case could be compared
    ");
}

#[test]
fn several_candidates_have_a_column_each() {
    let options = TerminalOptions::default();
    assert_snapshot!(on_terminal(&several(), &options), @"
    Parser suite: 4 candidates against main
      reference  main · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit 0123456 · 2026-01-02
      candidate  small · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03
      candidate  results/2026-01-03/run-093000 · target solver (model) · model
                 openai:gpt-4o-mini · run eval-20260103-093000 · commit fedcba9 with
                 changes · 2026-01-03
      candidate  eval-20260103-093001 · target solver (model) · model
                 openai:gpt-4o-mini · run eval-20260103-093000 · commit fedcba9 with
                 changes · 2026-01-03
      candidate  v2 · target solver (model) · model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit fedcba9 with changes · 2026-01-03

    small
    ▼ REGRESSION
      pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9], p = 0.0004
      (one-sided, sign flips, 400 cases)
      A true drop of 4.1 points would have been found with 80 % chance.
      ! the suite had version 1.1.0 and has 1.2.0

      By category: pass@1 *
        Group            From     To      Difference  95 % interval        p  Flips
        code            0.900  0.760  ▼ -14.0 points  [-19.0, -9.2]  <0.0001  ✗22 ✓4
        math and ever…  0.810  0.830     +2.0 points  [-2.0, +6.0]      0.57  ✗2 ✓8
        1 more group without a difference; --verbose shows more

    results/2026-01-03/run-093000
    ▲ IMPROVEMENT
      pass@1 rose from 0.790 to 0.850, +6.0 points [+2.9, +9.1], p = 0.0004
      (one-sided, McNemar with mid-p, 400 cases)

    eval-20260103-093001
    ! UNDECIDED
      samples without a grade leave it open: at worst a regression, at best an
      improvement
      over what was graded: no evidence of a difference: pass@1 fell from 0.900 to
      0.800, -10.0 points [-41.0, +22.0], p = 0.31 (one-sided, McNemar with mid-p,
      10 cases)
      With 10 cases only a true drop of 47 points would have been found with 80 %
      chance; for the observed 10 points about 220 cases like these would be needed.
      7 samples of the compared cases have no grade (1 of the reference, 6 of the
      candidate): if they counted against the candidate, the verdict would be
      `regression`, and if they counted for it, `improvement`.

    v2
    ○ NO EVIDENCE OF A DIFFERENCE
      pass@1 is 0.850 and 0.850, -0.04 points [-1.1, +1.0], p = 0.47 (one-sided,
      McNemar with mid-p, 4000 cases)
      A true drop of 1.6 points would have been found with 80 % chance.

                         small              results/2026-01-03/run-093000
      verdict            ▼ regression       ▲ improvement
      pass@1 *           0.850 → 0.790      0.790 → 0.850
                         ▼ -6.0 points      ▲ +6.0 points
                         [-9.1, -2.9]       [+2.9, +9.1]
                         p 0.0004           p 0.0004
      latency mean       812 ms → 934 ms    n/a
                         ▼ +122 ms
                         [+80 ms, +164 ms]
                         p <0.0001
      pass@5             0.950 → 0.950      n/a
                         -0.04 points
                         [-1.0, +0.9]
                         p 0.46
      pass^5 (unbiased)  0.614 → 0.541      n/a
                         ▼ -7.3 points
                         [-12.0, -2.6]
                         p 0.001
      pass@10            n/a                n/a
      pass rate          0.500 → 0.500      n/a
                         =
                         [-10.0, +10.0]
                         p 0.50
      edits              3.250 → 3.250      n/a
                         +0.0004
                         [-0.200, +0.210]
                         p 0.50
      cases compared     398                400
      broken             24                 1
      fixed              12                 2
      still failing      61                 0
      without a grade    0                  0
      changed            2                  0
      new                1                  0
      gone               7                  0
      could have found   4.1 points

                         eval-20260103-093001  v2
      verdict            ! undecided           ○ no evidence
      pass@1 *           0.900 → 0.800         0.850 → 0.850
                         -10.0 points          -0.04 points
                         [-41.0, +22.0]        [-1.1, +1.0]
                         p 0.31                p 0.47
      latency mean       n/a                   n/a
      pass@5             n/a                   n/a
      pass^5 (unbiased)  n/a                   n/a
      pass@10            n/a                   n/a
      pass rate          n/a                   n/a
      edits              n/a                   n/a
      cases compared     10                    4,000
      broken             1                     1
      fixed              2                     2
      still failing      0                     0
      without a grade    6                     0
      changed            0                     0
      new                0                     0
      gone               0                     0
      could have found
      * the verdict depends on it. ▼ ▲ more than chance, each metric taken alone. p:
      one-sided, in the direction of the difference; several tests are adjusted by
      Holm, other metrics are not.

    GATE FAIL (--fail-on significant: a regression fails the gate)
      - small: regression: pass@1 fell from 0.850 to 0.790
    ");
}

#[test]
fn all_is_shown_when_it_is_asked_for_and_ascii_where_nothing_else_is() {
    let mut short = regression();
    for list in [
        &mut short.cases.broken,
        &mut short.cases.fixed,
        &mut short.cases.still_failing,
    ] {
        list.cases.truncate(2);
        list.count = list.cases.len();
    }
    short.cases.still_failing.count = 61;
    let options = TerminalOptions {
        verbose: true,
        unicode: false,
        ..TerminalOptions::default()
    };
    let shown = on_terminal(&of(vec![short], Decision::Fail, &[]), &options);
    assert!(shown.is_ascii(), "{shown}");
    assert_snapshot!(shown, @"
    Parser suite: latest against main
      reference  main, target solver (model), model openai:gpt-4o-mini, run
                 eval-20260101-120000, commit 0123456, 2026-01-02
      candidate  latest, target solver (model), model openai:gpt-4o-mini, run
                 eval-20260103-093000, commit fedcba9 with changes, 2026-01-03

    v REGRESSION
      pass@1 fell from 0.850 to 0.790, -6.0 points [-9.1, -2.9], p = 0.0004
      (one-sided, sign flips, 400 cases)
      A true drop of 4.1 points would have been found with 80 % chance.
      ! the suite had version 1.1.0 and has 1.2.0

      Metric               From      To     Difference  95 % interval            p
      pass@1 *            0.850   0.790  v -6.0 points  [-9.1, -2.9]        0.0004
      latency mean       812 ms  934 ms      v +122 ms  [+80 ms, +164 ms]  <0.0001
      pass@5              0.950   0.950   -0.04 points  [-1.0, +0.9]          0.46
      pass^5 (unbiased)   0.614   0.541  v -7.3 points  [-12.0, -2.6]        0.001
      pass@10               n/a  10 samples of a case are needed; there are 5
      pass rate           0.500   0.500              =  [-10.0, +10.0]        0.50
      edits               3.250   3.250        +0.0004  [-0.200, +0.210]      0.50
      paired: 400 cases, pass rate 38 evals
      * the verdict depends on it. v ^ more than chance, each metric taken alone. p:
      one-sided, in the direction of the difference; several tests are adjusted by
      Holm, other metrics are not.

      By category: pass@1 *
        Group           From     To      Difference  95 % interval         p  Flips
        code           0.900  0.760  v -14.0 points  [-19.0, -9.2]   <0.0001  x22 +4
        math and e...  0.810  0.830     +2.0 points  [-2.0, +6.0]       0.57  x2 +8
        chat           0.700  0.700               =  [-10.0, +10.0]

      398 cases compared: 2 broken, 2 fixed, 61 still failing, 301 still passing
      not compared: 2 changed (different data or grading), 1 new, 7 gone, 4 omitted
      from one side by filters or shards

      Broken: passed before, fail now (2)  Passed
        x cap-code-002 > case-00           5/5 -> 1/5
        x cap-code-002 > case-01           5/5 -> 1/5

      Fixed: failed before, pass now (2)  Passed
        + cap-code-002 > case-00          0/5 -> 5/5
        + cap-code-002 > case-01          0/5 -> 5/5

      Changed: different data or grading, not compared (2)  Passed
        ~ cap-code-002 > case-00                            5/5 -> 4/5
        ~ cap-code-002 > case-01                            5/5 -> 4/5

      New: not in the reference (1)  Passed
        + cap-code-002 > case-00     now 3/5

      Gone: not in the candidate (7)  Passed
        - cap-code-002 > case-00      was 5/5
        - cap-code-002 > case-01      was 5/5
        - cap-code-002 > case-02      was 5/5
        - cap-code-002 > case-03      was 5/5
        - cap-code-002 > case-04      was 5/5
        - cap-code-002 > case-05      was 5/5
        - cap-code-002 > case-06      was 5/5

      Still failing (61)          Passed
        x cap-code-002 > case-00  0/5 -> 0/5
        x cap-code-002 > case-01  0/5 -> 0/5
        ... and 59 more cases; the JSON report lists all

      tested: pass@1 at 5 %, one-sided, and by category; intervals at 95 %, 10,000
      resamples, seed 7

    GATE FAIL (--fail-on significant: a regression fails the gate)
    ");
}

#[test]
fn a_narrow_terminal_has_sentences_in_place_of_tables() {
    let mut short = regression();
    short.cases = CaseChanges {
        compared: 398,
        still_passing: 398,
        ..CaseChanges::default()
    };
    let options = TerminalOptions {
        width: 46,
        ..TerminalOptions::default()
    };
    assert_snapshot!(on_terminal(&of(vec![short], Decision::Fail, &[]), &options), @"
    Parser suite: latest against main
      reference  main · target solver (model) ·
                 model openai:gpt-4o-mini · run
                 eval-20260101-120000 · commit
                 0123456 · 2026-01-02
      candidate  latest · target solver (model) ·
                 model openai:gpt-4o-mini · run
                 eval-20260103-093000 · commit
                 fedcba9 with changes · 2026-01-03

    ▼ REGRESSION
      pass@1 fell from 0.850 to 0.790, -6.0 points
      [-9.1, -2.9], p = 0.0004 (one-sided, sign
      flips, 400 cases)
      A true drop of 4.1 points would have been
      found with 80 % chance.
      ! the suite had version 1.1.0 and has 1.2.0

      pass@1 *: from 0.850, to 0.790, difference ▼
        -6.0 points, 95 % interval [-9.1, -2.9], p
        0.0004
      latency mean: from 812 ms, to 934 ms,
        difference ▼ +122 ms, 95 % interval [+80
        ms, +164 ms], p <0.0001
      pass@5: from 0.950, to 0.950, difference
        -0.04 points, 95 % interval [-1.0, +0.9],
        p 0.46
      pass^5 (unbiased): from 0.614, to 0.541,
        difference ▼ -7.3 points, 95 % interval
        [-12.0, -2.6], p 0.001
      pass@10: from n/a, 10 samples of a case are
        needed; there are 5
      pass rate: from 0.500, to 0.500, difference
        =, 95 % interval [-10.0, +10.0], p 0.50
      edits: from 3.250, to 3.250, difference
        +0.0004, 95 % interval [-0.200, +0.210], p
        0.50
      paired: 400 cases, pass rate 38 evals
      * the verdict depends on it. ▼ ▲ more than
      chance, each metric taken alone. p:
      one-sided, in the direction of the
      difference; several tests are adjusted by
      Holm, other metrics are not.

      By category: pass@1 *
        code: from 0.900, to 0.760, difference ▼
          -14.0 points, 95 % interval [-19.0,
          -9.2], p <0.0001, flips ✗22 ✓4, cases
          200
        math and everything else that counts: from
          0.810, to 0.830, difference +2.0 points,
          95 % interval [-2.0, +6.0], p 0.57,
          flips ✗2 ✓8, cases 190
        1 more group without a difference;
        --verbose shows more

      398 cases compared: 398 still passing

    GATE FAIL (--fail-on significant: a regression
      fails the gate)
    ");
}

#[test]
fn colours_are_on_what_matters() {
    let options = TerminalOptions {
        color: true,
        ..TerminalOptions::default()
    };
    let red = on_terminal(&of(vec![regression()], Decision::Fail, &[]), &options);
    for told in [
        "\x1b[1;7;31m▼ REGRESSION\x1b[0m\n",
        "\x1b[1mpass@1\x1b[0m *",
        "\x1b[31m▼ -6.0 points\x1b[0m",
        "\x1b[1mcritical\x1b[0m",
        "\x1b[31mGATE FAIL\x1b[0m (--fail-on significant: a regression fails the gate)",
    ] {
        assert!(red.contains(told), "{told:?} in {red:?}");
    }
    let green = on_terminal(&of(vec![improvement()], Decision::Pass, &[]), &options);
    assert!(
        green.contains("\x1b[1;7;32m▲ IMPROVEMENT\x1b[0m\n"),
        "{green:?}"
    );
    let open = on_terminal(&of(vec![undecided()], Decision::Incomplete, &[]), &options);
    assert!(open.contains("\x1b[33m! UNDECIDED\x1b[0m\n"), "{open:?}");
    let none = on_terminal(&of(vec![none_with_power()], Decision::Pass, &[]), &options);
    assert!(
        none.contains("\x1b[1m○ NO EVIDENCE OF A DIFFERENCE"),
        "{none:?}"
    );
}

/// What never fails a gate says so.
#[test]
fn a_comparison_that_fails_nothing_informs() {
    let never = Comparisons {
        fail_on: FailOn::Never,
        ..of(vec![regression()], Decision::Pass, &[])
    };
    let shown = on_terminal(&never, &TerminalOptions::default());
    assert!(
        shown.ends_with("\nGATE PASS (--fail-on never: nothing here fails the gate)\n"),
        "{shown}"
    );
    let shown = as_markdown(&never);
    assert!(
        shown.contains("\nGate: ✅ **PASS** (`--fail-on never`: nothing here fails the gate)\n"),
        "{shown}"
    );
}

#[test]
fn columns_of_runs_of_one_day_have_their_whole_names() {
    let mut all = several();
    for (at, candidate) in all.candidates.iter_mut().enumerate() {
        candidate.candidate.label = format!("eval-20260103-09300{at}");
    }
    let shown = on_terminal(&all, &TerminalOptions::default());
    assert!(
        shown.contains(" eval-20260103-093000  eval-20260103-093001\n"),
        "{shown}"
    );
    assert!(shown.contains("\neval-20260103-093001\n"), "{shown}");
    let narrow = TerminalOptions {
        width: 34,
        ..TerminalOptions::default()
    };
    for candidate in &mut all.candidates {
        candidate
            .candidate
            .label
            .insert_str(0, "results/2026-01-03/");
    }
    let shown = on_terminal(&all, &narrow);
    for at in 0..all.candidates.len() {
        assert!(shown.contains(&format!("-09300{at}\n")), "{shown}");
    }
}

#[test]
fn a_metric_that_was_asked_for_is_told_when_nothing_is_known_of_it() {
    let mut comparison = regression();
    let nothing = |name: &str| MetricDifference {
        reference: None,
        candidate: None,
        difference: None,
        ci: None,
        test: None,
        undefined: Some("no pair of cases has it on both sides".to_owned()),
        ..metric(name, [0.0, 0.0], [0.0, 0.0], 0.5)
    };
    comparison
        .metrics
        .extend([nothing("latency_mean_ms"), nothing("tokens_per_sample")]);
    comparison
        .settings
        .metrics
        .push("latency_mean_ms".to_owned());
    let shown = on_terminal(
        &of(vec![comparison], Decision::Fail, &[]),
        &TerminalOptions::default(),
    );
    assert!(
        shown
            .lines()
            .any(|line| line.trim_start().starts_with("latency mean  ")
                && line.contains("n/a  no pair of cases has it on both")),
        "{shown}"
    );
    assert!(!shown.contains("tokens"), "{shown}");
}

#[test]
fn cells_without_an_interval_have_no_gap() {
    let mut all = several();
    for candidate in &mut all.candidates {
        candidate
            .metrics
            .iter_mut()
            .for_each(|metric| metric.ci = None);
    }
    let page = as_markdown(&all);
    assert!(
        page.contains("points<br>p ") && !page.contains("<br><br>"),
        "{page}"
    );
}
