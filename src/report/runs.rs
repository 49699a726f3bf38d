//! The list of runs: a table for people, and JSON.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use crate::model::{Counts, Decision, RunIdentity};
use crate::report::TerminalOptions;
use crate::report::figures::percent_or_none;
use crate::report::page::{
    Page, PageTable, StyledText, Symbol, TableColumn, TextTone, dim, outside, own, terminal, text,
};
use crate::run::history::{PastRun, StoredRun, StoredRuns};
use eval_base::text::{byte_size, plural};

/// A run of `--format json`.
#[derive(Serialize)]
struct RunDocument<'a> {
    run_id: &'a str,
    journal: String,
    bytes: u64,
    running: bool,
    /// Absent where the journal can't be read, as is all that follows.
    #[serde(flatten)]
    content: Option<RunContent<'a>>,
}

#[derive(Serialize)]
struct RunContent<'a> {
    gate: Option<Decision>,
    interrupted: bool,
    duration_seconds: f64,
    evals: &'a Counts,
    cases: &'a Counts,
    identity: &'a RunIdentity,
}

pub fn json(stored: &[StoredRun], out: &mut dyn Write) -> io::Result<()> {
    let document = |stored: &StoredRun| {
        let content = stored.run.as_ref().map(|run| RunContent {
            gate: run.gate,
            interrupted: run.interrupted,
            duration_seconds: run.duration_seconds,
            evals: &run.counts,
            cases: &run.cases,
            identity: &run.identity,
        });
        serde_json::to_value(RunDocument {
            run_id: &stored.paths.run_id,
            journal: stored.paths.journal().display().to_string(),
            bytes: stored.bytes,
            running: stored.running,
            content,
        })
    };
    let documents: Result<Vec<_>, _> = stored.iter().rev().map(document).collect();
    eval_base::json::to_writer_pretty(&mut *out, &documents?)?;
    out.write_all(b"\n")
}

/// The newest first.
pub fn write(
    listed: &StoredRuns,
    now: Timestamp,
    options: &TerminalOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = PageTable::new(columns());
    for run in listed.runs.iter().rev() {
        table.row(row(run, now));
    }
    let mut page = Page::default();
    page.table(table);
    if listed.older > 0 {
        page.words(dim(own(format!(
            "... and {}; --all lists them",
            plural(listed.older, "older run")
        ))));
    }
    terminal::write(&page, options, out)
}

/// The columns of a table of runs, the run itself in the first.
pub fn columns() -> [TableColumn; 9] {
    [
        TableColumn::left("Run"),
        TableColumn::left("Gate"),
        TableColumn::right("Cases"),
        TableColumn::right("Passed"),
        TableColumn::left("Suite").least(8),
        TableColumn::left("Target").least(6),
        TableColumn::left("Notes").least(6).optional(),
        TableColumn::right("Age"),
        TableColumn::right("Size").optional(),
    ]
}

/// What a table of runs shows of one.
pub fn row(stored: &StoredRun, now: Timestamp) -> [StyledText; 9] {
    let id = outside(&stored.paths.run_id);
    let size = own(byte_size(stored.bytes));
    let Some(run) = &stored.run else {
        let none = StyledText::default;
        let gate = own("unreadable").toned(TextTone::Warn);
        return [
            id,
            gate,
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
            size,
        ];
    };
    let passed = match run.cases.passed + run.cases.failed {
        0 => StyledText::default(),
        _ => own(percent_or_none(run.cases.pass_rate)),
    };
    [
        id,
        gate(stored, run),
        own(eval_base::text::group_digits(run.cases.total)),
        passed,
        outside(&run.identity.suite_name),
        outside(&run.identity.environment.target),
        notes(run),
        own(age(&run.identity.timestamp, now)),
        size,
    ]
}

/// The decision of a run, or that it goes on.
pub fn gate(stored: &StoredRun, run: &PastRun) -> StyledText {
    if stored.running {
        return own("running").toned(TextTone::Wait);
    }
    match run.gate {
        Some(decision) => {
            let sign = StyledText::from(Symbol::of_decision(decision));
            let words = own(decision.name().to_ascii_uppercase());
            text![sign, " ", words].toned(TextTone::of_decision(decision))
        }
        None => StyledText::default(),
    }
}

/// What makes a run differ from a whole, finished run of its suite.
pub fn notes(run: &PastRun) -> StyledText {
    let mut notes = Vec::new();
    if run.interrupted {
        notes.push(own("interrupted"));
    }
    if let Some(shard) = run.identity.shard {
        notes.push(own(format!("shard {}/{}", shard.index, shard.of)));
    }
    if let Some(graded) = &run.identity.regrade_of {
        notes.push(text!["regrade of ", outside(graded)]);
    }
    if !run.identity.filters.is_empty() {
        notes.push(outside(&run.identity.filters.join(", ")));
    }
    StyledText::joined(notes, "; ")
}

/// `5 min`, `3 h`, `12 d`: the largest unit that fits.
fn age(timestamp: &str, now: Timestamp) -> String {
    let Ok(began) = timestamp.parse::<Timestamp>() else {
        return String::new();
    };
    let seconds = now.as_second().saturating_sub(began.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
