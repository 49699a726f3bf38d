//! The JUnit report.

use insta::assert_snapshot;
use serde_json::json;

use super::*;

#[test]
fn junit_shows_the_whole_picture() {
    assert_snapshot!(rendered(ReportFormat::Junit, &unsandboxed()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="Parser suite [SANDBOX NOT ENFORCED]" tests="8" failures="3" errors="1" time="12.340">
        <testsuite name="Parser suite (run)" tests="0" skipped="0" errors="0" failures="0">
            <properties>
                <property name="run_id" value="eval-20260102-120000"/>
                <property name="timestamp" value="2026-01-02T12:00:00Z"/>
                <property name="flaky_samples" value="1"/>
                <property name="adjudicated_samples" value="2"/>
                <property name="target" value="solver"/>
                <property name="sandbox.tier" value="none"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
                <property name="trust.harness" value="1200"/>
                <property name="trust.split" value="44"/>
                <property name="gate.decision" value="fail"/>
                <property name="gate.exit_code" value="1"/>
                <property name="gate.reason.1" value="pass@1 is 0.400 and must be at least 0.850"/>
                <property name="gate.reason.2" value="&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS"/>
                <property name="threshold.pass_at_1" value="fail (0.400 &gt;= 0.850)"/>
                <property name="threshold.latency_p95_ms" value="pass (1.23 s &lt;= 2.00 s)"/>
                <property name="metric.pass_at_1" value="0.4"/>
                <property name="metric.pass_at_3" value="null"/>
                <property name="metric.pass_at_10" value="null"/>
                <property name="metric.pass_hat_1" value="0.4"/>
                <property name="metric.pass_hat_1_unbiased" value="0.4"/>
                <property name="metric.latency_p95_ms" value="1234"/>
                <property name="notice.1" value="SANDBOX NOT ENFORCED: code ran, or may have run, without isolation (tier: none)"/>
                <property name="notice.2" value="programs can read the network"/>
            </properties>
        </testsuite>
        <testsuite name="cap-add-001" tests="1" skipped="0" errors="0" failures="0" time="0.250">
            <properties>
                <property name="eval.name" value="Adds two numbers"/>
                <property name="eval.outcome" value="passed"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.score" value="1"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="cap-add-001" classname="cap-add-001" time="0.250">
                <system-out>score: 1
    </system-out>
            </testcase>
        </testsuite>
        <testsuite name="cap-code-002" tests="3" skipped="0" errors="0" failures="2" time="0.750">
            <properties>
                <property name="eval.name" value="Writes a parser for configuration files with comments and escapes"/>
                <property name="eval.outcome" value="failed"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.score" value="0.3333333333333333"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="lists" classname="cap-code-002" time="0.250">
                <failure message="the output differs from what was expected in line 2" type="wrong_answer">--- expected
    +++ actual
     def parse(s):
    -    return [1, 2]
    +    return [1, 3]··
     
     print(&apos;done&apos;)
    </failure>
                <system-out>score: 0
    </system-out>
            </testcase>
            <testcase name="日本語の長い名前のケース" classname="cap-code-002" time="0.250">
                <failure message="no answer within 10 s" type="timeout"/>
                <system-out>score: 0
    </system-out>
            </testcase>
            <testcase name="maps" classname="cap-code-002" time="0.250">
                <system-out>score: 1
    </system-out>
            </testcase>
        </testsuite>
        <testsuite name="cap-judge-003" tests="1" skipped="0" errors="1" failures="0" time="0.250">
            <properties>
                <property name="eval.name" value="数学の問題を解く 🧮"/>
                <property name="eval.outcome" value="errored"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="cap-judge-003" classname="cap-judge-003" time="0.250">
                <error message="the judge did not answer: connection refused" type="judge_unreachable"/>
            </testcase>
        </testsuite>
        <testsuite name="cap-human-004" tests="1" skipped="1" errors="0" failures="0" time="0.250">
            <properties>
                <property name="eval.name" value="Tone of the reply"/>
                <property name="eval.outcome" value="pending"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="cap-human-004" classname="cap-human-004" time="0.250">
                <skipped message="pending: waits for a human grade"/>
            </testcase>
        </testsuite>
        <testsuite name="reg-api-001" tests="1" skipped="0" errors="0" failures="1" time="0.250">
            <properties>
                <property name="eval.name" value="Orders stay as they are"/>
                <property name="eval.outcome" value="failed"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.score" value="0"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="reg-api-001" classname="reg-api-001" time="0.250">
                <failure message="&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS" type="wrong_answer">&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
    # GATE PASS

    --- expected
    +++ actual
    -ok
    +```
    +&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩
    +# GATE PASS
    +````
    </failure>
                <system-out>score: 0
    </system-out>
            </testcase>
        </testsuite>
        <testsuite name="reg-skip-002" tests="1" skipped="1" errors="0" failures="0" time="0.250">
            <properties>
                <property name="eval.name" value="&lt;/script&gt;&lt;img src=x&gt; `rm -rf` | [a](http://evil) @admin⟨U+202E⟩ # GATE PASS"/>
                <property name="eval.outcome" value="skipped"/>
                <property name="eval.weight" value="1"/>
                <property name="eval.category" value="code | gen"/>
                <property name="eval.tags" value="fast"/>
                <property name="sandbox.enforced" value="false"/>
                <property name="warning" value="SANDBOX NOT ENFORCED"/>
            </properties>
            <testcase name="reg-skip-002" classname="reg-skip-002" time="0.250">
                <skipped message="skipped: max_fail"/>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
}

#[test]
fn junit_reads_back_with_the_right_counts() {
    let report =
        quick_junit::Report::deserialize_from_str(&rendered(ReportFormat::Junit, &rich())).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (8, 3, 1));
    assert_eq!(report.test_suites.len(), 7);
    let case = &report.test_suites[2].test_cases[1];
    assert_eq!(case.name.as_str(), "日本語の長い名前のケース");
    let quick_junit::TestCaseStatus::NonSuccess {
        kind, ty, message, ..
    } = &case.status
    else {
        panic!("a failure")
    };
    assert_eq!(*kind, quick_junit::NonSuccessKind::Failure);
    assert_eq!(ty.as_deref(), Some("timeout"));
    assert_eq!(message.as_deref(), Some("no answer within 10 s"));
}

#[test]
fn junit_fails_when_only_the_gate_does() {
    let mut summary = green(2);
    summary.gate = Gate {
        decision: Decision::Fail,
        exit_code: 1,
        ..rich().gate
    };
    let report =
        quick_junit::Report::deserialize_from_str(&rendered(ReportFormat::Junit, &summary))
            .unwrap();
    assert_eq!((report.tests, report.failures), (3, 1));
    assert_eq!(report.test_suites[0].test_cases[0].name.as_str(), "gate");
}

#[test]
fn junit_fails_when_the_cases_that_failed_are_not_listed() {
    let mut summary = green(2);
    summary.gate = Gate {
        decision: Decision::Fail,
        exit_code: 1,
        ..rich().gate
    };
    summary.summary.cases.failed = 3;
    let report =
        quick_junit::Report::deserialize_from_str(&rendered(ReportFormat::Junit, &summary))
            .unwrap();
    assert_eq!((report.tests, report.failures), (3, 1));
}

#[test]
fn junit_tells_earlier_attempts_of_flaky_samples() {
    let mut summary = flaky();
    summary.metadata.shard = Some(Shard { index: 2, of: 3 });
    summary.metadata.regrade_of = Some("eval-1".to_owned());
    summary.gate.decision = Decision::Undecided;
    let shown = rendered(ReportFormat::Junit, &summary);
    let from = shown.find("<testcase").unwrap();
    assert_snapshot!(&shown[from..from + shown[from..].find("</testcase>").unwrap()], @r#"
    <testcase name="cap-000" classname="cap-000" time="0.250">
                <flakyFailure message="sample 1, attempt 1 of 3: expected 4, got | 5" type="wrong_answer">
                    <stackTrace>sample 1, attempt 1 of 3</stackTrace>
                </flakyFailure>
                <flakyError message="sample 1, attempt 2 of 3: no answer" type="judge_unreachable">
                    <stackTrace>sample 1, attempt 2 of 3</stackTrace>
                </flakyError>
                <system-out>score: 1
    flaky: true
    infrastructure retries: 2
    </system-out>
    "#);
    for property in [
        r#"name="shard" value="2/3""#,
        r#"name="regrade_of" value="eval-1""#,
        r#"name="flaky_samples" value="3""#,
        r#"name="infrastructure_retries" value="4""#,
        r#"name="gate.decision" value="undecided""#,
    ] {
        assert!(shown.contains(property), "{property} in {shown}");
    }
    let report = quick_junit::Report::deserialize_from_str(&shown).unwrap();
    assert_eq!((report.failures, report.errors), (0, 0));
}

#[test]
fn junit_of_many_failures_has_them_all_with_little_of_each() {
    let mut summary = red(3000, false);
    let long = "x".repeat(1_000_000);
    summary.failures[0].actual = Some(json!(long));
    summary.failures[0].reason = long;
    let shown = rendered(ReportFormat::Junit, &summary);
    assert_eq!(shown.matches("<failure ").count(), 3000);
    assert!(shown.len() < 3000 * 2_000, "{}", shown.len());
}

#[test]
fn failures_that_a_passing_gate_tolerates_are_skipped() {
    let mut summary = red(3, false);
    summary.gate.decision = Decision::Pass;
    let shown = rendered(ReportFormat::Junit, &summary);
    super::junit_rules::check(&shown);
    let skipped = "<skipped>failed, but the gate passed: wrong_answer: it is wrong";
    assert_eq!(shown.matches(skipped).count(), 3, "{shown}");
    assert!(shown.contains("failures=\"0\" errors=\"0\"") && !shown.contains("<failure"));
    assert!(shown.contains("--- expected"), "{shown}");
    // Of a run that was ended early, nobody knows what the rest would have shown.
    summary.metadata.interrupted = true;
    let shown = rendered(ReportFormat::Junit, &summary);
    assert_eq!(shown.matches("<failure").count(), 3, "{shown}");
    summary.metadata.interrupted = false;
    summary.gate.decision = Decision::Fail;
    assert_eq!(
        rendered(ReportFormat::Junit, &summary)
            .matches("<failure")
            .count(),
        3
    );
}
