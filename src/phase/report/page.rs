//! The report of a phase: what was decided, what was changed, and what each step found.
//!
//! The Markdown may be kept in git: two phases with the same results give the same bytes, so it
//! holds no time, duration or run id. The page for the browser has them all.

use super::{PageOfRun, suite};
use crate::model::{
    CaseResult, Implementation, Outcome, PhaseReport, StepResult, StepStatus, TestResults,
};
use crate::report::figures::{decision_label, duration_seconds};
use crate::report::limits::phase as limits;
use crate::report::page::{
    DOT, FAILED, ListItem, ListMark, PENDING, Page, PageBlock, PageMedium, PageNotice, PageTable,
    PageView, SKIPPED, StyledText, Symbol, TableColumn, TextTone, UNKNOWN, WITHIN, bold, code, dim,
    outside, own, place, span, text,
};
use crate::report::{notices, run};
use crate::spec::{FailureAction, StepType};
use eval_base::text::{ELLIPSIS, group_digits, plural, sanitize, short_commit};

/// The whole report. `written` are the paths of what was written, in the order to show them.
pub fn page(report: &PhaseReport, view: &PageView, written: &[String]) -> Page {
    let mut page = Page::default();
    match view.medium {
        PageMedium::Terminal => {
            header(&mut page, report);
            overview(&mut page, &report.steps);
            for step in &report.steps {
                found(&mut page, report, step, view);
            }
            run::recommendations(&mut page, &report.recommendations);
            let reasons = report.gate.reasons.iter();
            let reasons = reasons.map(|reason| by_suite(report, reason)).collect();
            let decision = report.gate.decision;
            run::verdict_of(&mut page, decision, reasons, is_unsandboxed(report));
            run::paths(&mut page, written);
        }
        PageMedium::Html => return html(report, &|_| None),
        PageMedium::Markdown | PageMedium::Comment => {
            page.title("Phase Completion Report");
            decision(&mut page, report, view);
            implementation(&mut page, report, view);
            steps(&mut page, report, view);
            suites(&mut page, report, view, &|_| None);
            pending(&mut page, &report.steps, view);
            run::recommendations(&mut page, &report.recommendations);
        }
    }
    page
}

/// The page for the browser.
pub fn html(report: &PhaseReport, page_of: &PageOfRun<'_>) -> Page {
    let (mut page, view) = (Page::default(), PageView::html());
    page.title(named(report));
    decision(&mut page, report, &view);
    facts(&mut page, report);
    run::recommendations(&mut page, &report.recommendations);
    page.section("Steps");
    page.list(report.steps.iter().map(|step| timed(step, &view)));
    suites(&mut page, report, &view, page_of);
    pending(&mut page, &report.steps, &view);
    implementation(&mut page, report, &view);
    page
}

fn is_unsandboxed(report: &PhaseReport) -> bool {
    let mut evals = report.steps.iter().filter_map(|step| step.eval.as_ref());
    evals.any(|eval| notices::is_unsandboxed(&eval.eval_report))
}

/// The phase's name, and its id where that is not its name.
fn named(report: &PhaseReport) -> StyledText {
    let metadata = &report.metadata;
    let id = match metadata.phase_id == metadata.name {
        true => StyledText::default(),
        false => dim(text![" (", code(&metadata.phase_id), ")"]),
    };
    text![outside(&metadata.name), id]
}

fn interrupted(page: &mut Page, report: &PhaseReport) {
    if report.gate.interrupted {
        let words = "INTERRUPTED: the phase ended early; the remaining steps were not run";
        page.push(PageBlock::Notice(PageNotice::loud(words)));
    }
}

fn header(page: &mut Page, report: &PhaseReport) {
    let metadata = &report.metadata;
    page.title(text!["Phase: ", named(report)]);
    let mut facts = vec![outside(&metadata.file)];
    facts.extend(metadata.when.as_deref().map(outside));
    facts.push(own(duration_seconds(metadata.duration_seconds)));
    facts.extend(report.implementation.as_ref().map(|changed| {
        let [added, removed] = [changed.lines_added, changed.lines_removed].map(group_digits);
        let files = own(plural(changed.files_modified, "file"));
        let lines = own(format!(": +{added} -{removed}"));
        text![files, " since ", outside(&changed.base), lines]
    }));
    page.line(facts);
    interrupted(page, report);
}

fn decision(page: &mut Page, report: &PhaseReport, view: &PageView) {
    let gate = &report.gate;
    let alarm = match is_unsandboxed(report) {
        true => format!(" ({})", notices::NOT_SANDBOXED),
        false => String::new(),
    };
    if view.is_html() {
        let alarm = StyledText::from(span(TextTone::Alarm, alarm));
        page.lead(text![run::decided(gate.decision), alarm]);
    } else {
        let label = bold(own(decision_label(gate.decision)));
        let sign = Symbol::of_decision(gate.decision);
        page.words(text![sign, " ", label, own(alarm), ": ", named(report)]);
    }
    page.words(outside(
        report.metadata.description.as_deref().unwrap_or_default(),
    ));
    interrupted(page, report);
    let reasons = gate.reasons.iter();
    let reasons = reasons.map(|reason| by_suite(report, reason));
    let notes = report.notes.iter();
    page.list(reasons.chain(notes.map(|note| ListItem::dash(text!["Note: ", note]))));
}

/// A reason of the gate; where it is that of a suite, with the suite's own reasons below it.
fn by_suite(report: &PhaseReport, reason: &str) -> ListItem {
    let mut steps = report.steps.iter();
    let found = steps.find_map(|step| {
        let eval = step.eval.as_ref().filter(|_| !step.reason.is_empty())?;
        let rest = reason.strip_suffix(step.reason.as_str())?;
        Some((rest.strip_suffix(": ")?, &eval.eval_report.gate.reasons))
    });
    match found {
        Some((words, reasons)) if reasons.len() > 1 => ListItem {
            below: vec![PageBlock::List(
                reasons.iter().map(ListItem::dash).collect(),
            )],
            ..ListItem::dash(outside(words))
        },
        _ => ListItem::dash(outside(reason)),
    }
}

/// Where and when the phase ran.
fn facts(page: &mut Page, report: &PhaseReport) {
    let metadata = &report.metadata;
    let mut facts = vec![("File".into(), outside(&metadata.file))];
    let when = metadata.when.as_deref();
    facts.extend(when.map(|when| ("When".into(), outside(when))));
    let began = metadata.timestamp.replace('T', " ");
    // Fractions of a second say nothing here.
    let began = began.split(['.', 'Z']).next().unwrap_or_default();
    let began = own(format!("{began} UTC"));
    let took = duration_seconds(metadata.duration_seconds);
    facts.extend([("Began".into(), began), ("Took".into(), own(took))]);
    if let Some(git) = &metadata.git {
        let dirty = if git.dirty { " with changes" } else { "" };
        let commit = text![code(short_commit(&git.commit)), dirty];
        facts.push(("Commit".into(), commit));
    }
    let code = own(report.gate.exit_code.to_string());
    facts.push(("Exit code".into(), code));
    page.facts(facts);
}

fn implementation(page: &mut Page, report: &PhaseReport, view: &PageView) {
    page.section("Implementation Summary");
    match &report.implementation {
        Some(changed) => changes(page, changed, view),
        // The notes say why.
        None if report.notes.is_empty() => {
            page.words("Changes are unknown: there is no commit to compare with.");
        }
        None => page.words("Changes are unknown."),
    }
}

fn changes(page: &mut Page, changed: &Implementation, view: &PageView) {
    let counts = [
        ("Files modified", changed.files_modified),
        ("Lines added", changed.lines_added),
        ("Lines removed", changed.lines_removed),
    ];
    page.facts(counts.map(|(label, n)| (label.into(), own(group_digits(n)))));
    let commit = short_commit(&changed.base_commit);
    let commit = match commit.is_empty() || changed.base_commit.starts_with(&changed.base) {
        true => StyledText::default(),
        false => text![" (commit ", code(commit), ")"],
    };
    let base = code(&changed.base);
    page.words(text![
        "Counted since ",
        base,
        commit,
        ", uncommitted changes included."
    ]);
    let lines = |n: Option<usize>| n.map_or_else(|| "binary".to_owned(), group_digits);
    let [added, removed] = ["Added", "Removed"].map(TableColumn::right);
    let mut table = PageTable::new([TableColumn::left("File"), added, removed]);
    let most = if view.verbose {
        usize::MAX
    } else {
        limits::FILES
    };
    for file in changed.files.iter().take(most) {
        table.row([
            outside(&file.path),
            own(lines(file.added)),
            own(lines(file.removed)),
        ]);
    }
    let mut body = Page::default();
    let any = !table.rows.is_empty();
    body.table(table);
    let more = changed.files.len().saturating_sub(most) + changed.omitted_files;
    body.more(view, more, "file");
    if any {
        page.part("Files", true, body.blocks);
    }
}

/// Cases that wait for people, of all suites.
fn pending(page: &mut Page, steps: &[StepResult], view: &PageView) {
    let suites = || {
        steps
            .iter()
            .filter_map(|step| step.eval.as_ref())
            .map(|eval| &eval.eval_report)
    };
    let samples: usize = suites().map(|suite| suite.summary.samples.pending).sum();
    if samples == 0 {
        return;
    }
    let is_pending = |case: &&CaseResult| case.outcome == Outcome::Pending;
    let evals = suites().flat_map(|suite| &suite.evals);
    let mut cases = evals.flat_map(|eval| {
        let waiting = eval.cases.iter().filter(is_pending);
        waiting.map(move |case| {
            let name = case.name.as_ref().unwrap_or(&eval.name);
            let name = suite::named(name, &[&eval.id, &case.id]);
            ListItem::new(ListMark::Box(false), text![place(&eval.id, &case.id), name])
        })
    });
    page.section("Pending Human Grades");
    let verb = if samples == 1 { "waits" } else { "wait" };
    let samples = plural(samples, "sample");
    page.words(own(format!("{samples} {verb} for a human grade.")));
    let most = if view.verbose {
        usize::MAX
    } else {
        limits::FILES
    };
    page.list(cases.by_ref().take(most));
    page.more(view, cases.count(), "case");
}

// Steps.

/// The sign of a status, in its colour.
fn mark(status: StepStatus) -> StyledText {
    let (symbol, tone) = match status {
        StepStatus::Passed => (Symbol::of(Outcome::Passed), TextTone::Good),
        StepStatus::Failed => (FAILED, TextTone::Bad),
        StepStatus::Incomplete => (Symbol::of(Outcome::Errored), TextTone::Warn),
        StepStatus::Pending => (PENDING, TextTone::Wait),
        StepStatus::NotChecked => (UNKNOWN, TextTone::Warn),
        StepStatus::NotReached => (SKIPPED, TextTone::Dim),
    };
    StyledText::from(symbol).toned(tone)
}

fn tone(status: StepStatus) -> TextTone {
    mark(status)
        .0
        .first()
        .map_or(TextTone::Plain, |span| span.tone)
}

/// A line for each step.
fn overview(page: &mut Page, steps: &[StepResult]) {
    let mut table = PageTable::new([
        TableColumn::left("Step").least(12),
        TableColumn::left("Kind").least(6).optional(),
        TableColumn::left("Status"),
        TableColumn::left("Counts"),
    ]);
    for step in steps {
        let blocks = if blocking(step).is_empty() {
            ""
        } else {
            " (does not block)"
        };
        let status = format!("{}{blocks}", step.status.name().replace('_', " "));
        table.row([
            text![mark(step.status), " ", outside(&step.name)],
            dim(text![own(step.kind.name()), copied(step, " ")]),
            own(status).toned(tone(step.status)),
            own(counts(step)),
        ]);
    }
    page.table(table);
}

/// What a step worked in a copy of, after `before`.
fn copied(step: &StepResult, before: &'static str) -> StyledText {
    let who = match step.kind {
        StepType::Eval => "targets ",
        _ => "",
    };
    match step.copy_of.as_deref() {
        Some(of) => text![before, who, "in a copy of ", code(of)],
        None => StyledText::default(),
    }
}

/// What a step counted.
fn counts(step: &StepResult) -> String {
    match (&step.eval, &step.tests) {
        (Some(eval), _) => {
            let totals = &eval.eval_report.summary;
            let [passed, total] = [totals.passed, totals.total_evals].map(group_digits);
            format!("{passed}/{total} evals")
        }
        (None, Some(tests)) if tests.total > 0 => {
            let [passed, total] = [tests.passed, tests.total].map(group_digits);
            let skipped = match tests.skipped {
                0 => String::new(),
                skipped => format!(", {} skipped", group_digits(skipped)),
            };
            format!("{passed}/{total} tests{skipped}")
        }
        _ => String::new(),
    }
}

/// A step with its time and what it found; suites have a section each.
fn timed(step: &StepResult, view: &PageView) -> ListItem {
    let status = format!("{}{}", status_words(step.status), blocking(step));
    let kind = own(step.kind.name());
    let mut facts = vec![
        bold(outside(&step.name)),
        dim(if step.name == step.kind.name() {
            StyledText::default()
        } else {
            kind
        }),
        own(status).toned(tone(step.status)),
        own(match (step.status, &step.tests) {
            (StepStatus::Passed, None) if step.kind == StepType::Test => {
                "the number of tests is unknown".to_owned()
            }
            _ => counts(step),
        }),
    ];
    facts.push(dim(copied(step, "")));
    let passed = step.status == StepStatus::Passed;
    let code = step.exit_code.filter(|_| !passed);
    facts.extend(code.map(|code| dim(own(format!("exit code {code}")))));
    if !matches!(step.status, StepStatus::NotChecked | StepStatus::NotReached) {
        facts.push(dim(own(duration_seconds(step.duration_seconds))));
    }
    facts.retain(|fact| !fact.is_empty());
    let sign = ListMark::Sign(mark(step.status));
    let mut item = ListItem::new(sign, StyledText::joined(facts, DOT));
    if step.eval.is_none() {
        item.below = below(step, view);
    }
    item
}

/// What is to be said of a step in addition to its line; nothing of most that passed.
fn found(page: &mut Page, report: &PhaseReport, step: &StepResult, view: &PageView) {
    let mut body = Page {
        blocks: below(step, view),
    };
    if let Some(eval) = &step.eval {
        body.blocks.clear();
        suite::section(&mut body, report, eval, view, &|_| None);
    }
    if !body.blocks.is_empty() {
        page.section(outside(&step.name));
        page.blocks.extend(body.blocks);
    }
}

/// Test steps, and steps that are neither tests nor evals, with a box that is ticked only for what
/// passed.
fn steps(page: &mut Page, report: &PhaseReport, view: &PageView) {
    let of = |kinds: fn(StepType) -> bool| report.steps.iter().filter(move |step| kinds(step.kind));
    let mut tests = of(|kind| kind == StepType::Test).peekable();
    if tests.peek().is_some() {
        page.section("Test Results");
    }
    page.list(tests.map(|step| ListItem {
        below: below(step, view),
        ..ListItem::dash(text![
            outside(&step.name),
            ": ",
            own(tested(step)),
            copied(step, ", ")
        ])
    }));
    let mut others = of(|kind| !matches!(kind, StepType::Test | StepType::Eval)).peekable();
    if others.peek().is_some() {
        page.section("Other Steps");
    }
    page.list(others.map(|step| {
        let counts = step.tests.as_ref().filter(|tests| tests.total > 0);
        let counts = counts.map(|tests| format!(", {}", counted(tests)));
        let kind = match step.name == step.kind.name() {
            true => String::new(),
            false => format!(" ({})", step.kind.name()),
        };
        let words = status_words(step.status);
        let counts = counts.unwrap_or_default();
        let status = own(format!("{kind}: {words}{counts}{}", blocking(step)));
        ListItem {
            below: below(step, view),
            ..ListItem::new(
                ListMark::Box(step.status == StepStatus::Passed),
                text![outside(&step.name), status, copied(step, ", ")],
            )
        }
    }));
}

fn suites(page: &mut Page, report: &PhaseReport, view: &PageView, page_of: &PageOfRun<'_>) {
    let is_suite = |step: &&StepResult| step.kind == StepType::Eval;
    let suites: Vec<&StepResult> = report.steps.iter().filter(is_suite).collect();
    for step in &suites {
        // What never ran is among the steps.
        if view.is_html() && step.eval.is_none() {
            continue;
        }
        page.section(match suites.len() {
            1 => StyledText::from("Eval Results"),
            _ => text!["Eval Results: ", outside(&step.name)],
        });
        let Some(eval) = &step.eval else {
            let status = bold(own(status_words(step.status)));
            let reason = outside(&step.reason);
            let between = if reason.is_empty() { "" } else { ": " };
            page.words(text![status, blocking(step), between, reason]);
            continue;
        };
        let decision = eval.eval_report.gate.decision;
        let tone = match view.is_html() {
            true => TextTone::of_decision(decision),
            false => TextTone::Plain,
        };
        let sign = StyledText::from(Symbol::of_decision(decision)).toned(tone);
        let label = bold(own(decision_label(decision)).toned(tone));
        page.words(text![
            sign,
            " ",
            code(&eval.suite),
            ": ",
            label,
            blocking(step),
            copied(step, ", ")
        ]);
        suite::section(page, report, eval, view, page_of);
    }
}

/// What a status means, in words.
fn status_words(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Passed => "passed",
        StepStatus::Failed => "failed",
        StepStatus::Incomplete => "incomplete",
        StepStatus::Pending => "pending",
        StepStatus::NotChecked => "not checked: nothing was run for it",
        StepStatus::NotReached => "not reached: the phase ended before it",
    }
}

/// `45/45 passed`, with what else became of them.
fn counted(tests: &TestResults) -> String {
    let mut words = format!(
        "{}/{} passed",
        group_digits(tests.passed),
        group_digits(tests.total)
    );
    for (n, what) in [(tests.failed, "failed"), (tests.skipped, "skipped")] {
        if n > 0 {
            words.push_str(&format!(", {} {what}", group_digits(n)));
        }
    }
    words
}

/// Counts, where they are known, and how the step ended when they don't say it.
fn tested(step: &StepResult) -> String {
    let label = match step.status {
        StepStatus::Failed => " (FAILED)",
        StepStatus::Incomplete => " (INCOMPLETE)",
        StepStatus::Pending => " (PENDING)",
        _ => "",
    };
    match (&step.tests, step.status) {
        (Some(tests), _) if tests.total > 0 => {
            format!("{}{label}{}", counted(tests), blocking(step))
        }
        (_, StepStatus::Passed) => "passed (the number of tests is unknown)".to_owned(),
        (_, status) => format!("{}{}", status_words(status), blocking(step)),
    }
}

/// What is to be known of a step that did not pass and ends nothing.
fn blocking(step: &StepResult) -> &'static str {
    match step.status {
        StepStatus::Failed | StepStatus::Incomplete | StepStatus::Pending
            if step.action != FailureAction::Block =>
        {
            ", which does not block"
        }
        _ => "",
    }
}

/// Why a step did not pass: its reason, failed tests, notes, and the end of what the command wrote
/// where no test is named (with `--verbose` also where some are).
fn below(step: &StepResult, view: &PageView) -> Vec<PageBlock> {
    let mut page = Page::default();
    let passed = step.status == StepStatus::Passed;
    if !passed && !step.reason.trim().is_empty() {
        page.facts([("Reason".into(), outside(&step.reason))]);
    }
    let none = TestResults::default();
    let tests = step.tests.as_ref().unwrap_or(&none);
    let most = if view.verbose {
        usize::MAX
    } else {
        limits::FAILURES
    };
    page.list(tests.failures.iter().take(most).map(|failure| {
        let name = match failure.name.trim().is_empty() {
            true => StyledText::from("(no name)"),
            false => outside(&failure.name),
        };
        let mut words = name;
        if !failure.suite.trim().is_empty() {
            words = text![outside(&failure.suite), WITHIN, words];
        }
        if !failure.message.trim().is_empty() {
            words.push(text![": ", outside(&failure.message)]);
        }
        ListItem::new(ListMark::Sign(mark(StepStatus::Failed)), words)
    }));
    let listed = tests.failures.len().min(most);
    let failed = tests
        .failed
        .max(tests.failures.len() + tests.omitted_failures);
    if listed > 0 {
        page.more(view, failed - listed, "failed test");
    }
    let most = if view.verbose {
        usize::MAX
    } else {
        limits::NOTES
    };
    let notes = tests.notes.iter().take(most);
    page.facts(notes.map(|note| ("Note".into(), outside(note))));
    page.more(view, tests.notes.len().saturating_sub(most), "note");
    if view.is_html() && !tests.source.is_empty() {
        let files = tests.files.iter().map(|file| outside(file));
        let files = StyledText::joined(files, ", ");
        let between = if files.is_empty() { "" } else { ": " };
        page.facts([(
            "Counted from".into(),
            text![outside(&tests.source), between, files],
        )]);
    }
    let (tail, is_cut) = tail(&step.output_tail, view);
    if !passed && (view.verbose || tests.failures.is_empty()) && !tail.is_empty() {
        let label = match is_cut {
            true => text!["End of its output; ", view.rest()],
            false => "Its output".into(),
        };
        let folded = view.is_html() && !tests.failures.is_empty();
        let tail = PageBlock::Code {
            label: if folded {
                StyledText::default()
            } else {
                label.clone()
            },
            language: "text",
            text: tail,
        };
        match folded {
            true => page.part(label, true, vec![tail]),
            false => page.push(tail),
        }
    }
    page.blocks
}

/// The last lines, sanitised, and whether there are more.
fn tail(written: &str, view: &PageView) -> (String, bool) {
    let (most, bytes) = if view.verbose {
        (limits::TAIL_LINES_VERBOSE, limits::TAIL_BYTES_VERBOSE)
    } else {
        (limits::TAIL_LINES, limits::TAIL_BYTES)
    };
    let from = written.len().saturating_sub(bytes);
    let end = written
        .get(written.ceil_char_boundary(from)..)
        .unwrap_or_default();
    let clean = sanitize(end);
    let lines: Vec<&str> = clean.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(most);
    let kept = lines.get(skipped..).unwrap_or_default().join("\n");
    match from + skipped > 0 && !kept.is_empty() {
        true => (format!("{ELLIPSIS}\n{kept}"), true),
        false => (kept, false),
    }
}
