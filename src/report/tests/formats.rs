//! What holds for several formats.

use serde_json::{Value, json};

use super::*;

#[test]
fn a_missing_sandbox_is_in_every_format() {
    let summary = unsandboxed();
    let coloured = terminal_text(
        &summary,
        &TerminalOptions {
            color: true,
            ..TerminalOptions::default()
        },
    );
    assert_eq!(
        coloured.matches("\x1b[1;97;41m!! ").count(),
        2,
        "{coloured:?}"
    );
    for format in [
        ReportFormat::Terminal,
        ReportFormat::Markdown,
        ReportFormat::Junit,
    ] {
        assert!(
            rendered(format, &summary).contains("SANDBOX NOT ENFORCED"),
            "{format:?}"
        );
        assert!(
            !rendered(format, &rich()).contains("NOT ENFORCED"),
            "{format:?}"
        );
    }
    let json: Value = serde_json::from_str(&rendered(ReportFormat::Json, &summary)).unwrap();
    assert_eq!(
        json["eval_report"]["metadata"]["environment"]["sandbox"]["enforced"],
        json!(false)
    );
}

#[test]
fn a_grade_without_isolation_warns_although_the_run_declared_none() {
    let mut summary = green(1);
    summary.metadata.environment.sandbox = None;
    summary.summary.by_trust.insert(
        Trust::Unsandboxed,
        TrustCounts {
            samples: 1,
            grades: 1,
        },
    );
    assert!(
        rendered(ReportFormat::Markdown, &summary)
            .contains("# ✅ PASS: Parser suite 1.2.0 (SANDBOX NOT ENFORCED)")
    );
}

#[test]
fn json_reads_back_as_it_was() {
    let summary = rich();
    let written = rendered(ReportFormat::Json, &summary);
    assert!(written.starts_with("{\n  \"eval_report\": {\n") && written.ends_with("}\n"));
    let read: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(read["eval_report"], serde_json::to_value(&summary).unwrap());
}

#[test]
fn formats_have_their_extensions() {
    let all = [
        ReportFormat::Json,
        ReportFormat::Markdown,
        ReportFormat::Html,
        ReportFormat::Junit,
    ];
    assert_eq!(
        all.map(extension),
        [Some("json"), Some("md"), Some("html"), Some("junit.xml")]
    );
    assert_eq!(extension(ReportFormat::Terminal), None);
}

#[test]
fn every_kind_of_remark_is_shown() {
    let mut summary = green(1);
    summary.metadata.interrupted = true;
    summary.metadata.filters = vec!["tag fast".to_owned(), "eval cap-*".to_owned()];
    summary.truncated = true;
    let shown = terminal_text(&summary, &TerminalOptions::default());
    for remark in [
        "!! INTERRUPTED: the run ended early; samples that did not run are skipped, not\n   failed",
        "!  Not the whole suite: tag fast, eval cap-*",
        "!  Only samples that did not pass are listed; the journal has all samples",
    ] {
        assert!(shown.contains(remark), "{shown}");
    }
    // The median of some samples is not that of all.
    assert!(!shown.contains("12 ms"), "{shown}");
    let verbose = TerminalOptions {
        verbose: true,
        ..TerminalOptions::default()
    };
    let shown = terminal_text(&summary, &verbose);
    assert!(
        shown.contains("Cases  Score\n") && !shown.contains("12 ms"),
        "the head of the table is whole: {shown}"
    );
    assert!(
        rendered(ReportFormat::Markdown, &summary)
            .contains("> Not the whole suite: tag fast, eval cap-\\*")
    );
}

#[test]
fn shards_and_regrades_say_what_they_are() {
    let mut summary = green(1);
    summary.metadata.shard = Some(Shard { index: 1, of: 3 });
    summary.metadata.regrade_of = Some("eval-1".to_owned());
    summary.gate.decision = Decision::Undecided;
    for (format, decision) in [
        (ReportFormat::Terminal, "GATE UNDECIDED"),
        (ReportFormat::Markdown, "# ➗ UNDECIDED: Parser suite"),
        (
            ReportFormat::Junit,
            r#"name="gate.decision" value="undecided""#,
        ),
    ] {
        let shown = rendered(format, &summary).replace("\n   ", " ");
        for words in [
            decision,
            "Shard 1 of 3: the gate was not decided; join the shards with eval-harness report --run RUN --run RUN",
            "Regraded the stored outputs of eval-1; the target was not called",
        ] {
            assert!(shown.contains(words), "{format:?} lacks {words:?}: {shown}");
        }
    }
}

/// What graded again can't be resumed.
#[test]
fn a_regrade_that_was_ended_early_names_the_command_that_starts_it_anew() {
    let mut summary = green(1);
    summary.metadata.interrupted = true;
    let shown = rendered(ReportFormat::Terminal, &summary);
    assert!(
        shown.contains(
            "resume   eval-harness run --resume eval-20260102-120000 --suite evals/eval-suite.yaml\n"
        ),
        "{shown}"
    );
    summary.metadata.rerun_arguments = ["--output-dir", "elsewhere"].map(str::to_owned).into();
    let shown = rendered(ReportFormat::Terminal, &summary);
    assert!(
        shown.contains("--resume eval-20260102-120000 --output-dir elsewhere\n"),
        "{shown}"
    );
    summary.metadata.regrade_of = Some("eval-1".to_owned());
    for format in [ReportFormat::Terminal, ReportFormat::Markdown] {
        let shown = rendered(format, &summary);
        assert!(
            shown.contains("eval-harness regrade --run eval-1") && !shown.contains("--resume"),
            "{shown}"
        );
    }
}

#[test]
fn what_the_lists_leave_out_is_counted() {
    let mut summary = red(5, false);
    summary.truncated = true;
    summary.omitted = Some(Omitted {
        cases: 1200,
        samples: 30_000,
        unpassed_samples: 1,
        failures: 70,
    });
    summary.summary.cases.failed = 75;
    let words = "Figures count everything; the lists omit 1,200 cases, 30,000 samples, 70 failures (including 1 sample that did not \
                 pass); the journal has them";
    for format in [
        ReportFormat::Terminal,
        ReportFormat::Markdown,
        ReportFormat::Junit,
    ] {
        let shown = rendered(format, &summary)
            .replace("\n   ", " ")
            .replace("\\", "");
        assert!(shown.contains(words), "{format:?}: {shown}");
    }
    assert!(rendered(ReportFormat::Terminal, &summary).contains("... and 70 more"));
    assert!(rendered(ReportFormat::Markdown, &summary).contains("... and 70 more"));
    summary.metadata.joined = vec!["eval-2".to_owned()];
    let joined = rendered(ReportFormat::Terminal, &summary);
    assert!(
        joined.contains("!  Joined with eval-2") && !joined.contains("--failed-in"),
        "{joined}"
    );
}
