//! Problems for people and for machines. Pure: everything returns text.
//!
//! What comes from files is shown with its control characters made visible, so that no file writes
//! to a terminal.

use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};
use serde_json::json;

use super::problem::{Problem, Problems, Severity};
use super::source::{Position, Sources, Span};
use eval_base::json::escaped;

/// How problems are shown to people.
#[derive(Debug, Clone, Copy)]
pub struct HumanOptions {
    /// Columns.
    pub width: usize,
    pub colour: bool,
    /// Problems beyond this many are only counted.
    pub limit: usize,
}

impl Default for HumanOptions {
    fn default() -> Self {
        HumanOptions {
            width: 80,
            colour: false,
            limit: 50,
        }
    }
}

/// Each problem with the line of its file and a caret, then how many there were.
pub fn human(problems: &Problems, sources: &Sources, options: HumanOptions) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let theme = if options.colour {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(options.width.max(40))
        .with_context_lines(1);
    let mut out = String::new();
    for problem in problems.sorted().into_iter().take(options.limit) {
        let shown = Shown::new(problem, sources, options.width.max(40));
        if handler.render_report(&mut out, &shown).is_err() {
            // The plain form loses the excerpt, never the problem.
            out.push_str(&format!("{}: {}\n", problem.severity.name(), shown));
        }
        out.push('\n');
    }
    let more = problems.len().saturating_sub(options.limit);
    if more > 0 {
        out.push_str(&format!("... and {more} more\n"));
    }
    out.push_str(&count_line(problems));
    out
}

/// `2 errors, 1 warning`.
fn count_line(problems: &Problems) -> String {
    let count = |n: usize, what: &str| {
        if n == 1 {
            format!("1 {what}")
        } else {
            format!("{n} {what}s")
        }
    };
    match (problems.error_count(), problems.warning_count()) {
        (errors, 0) => format!("{}\n", count(errors, "error")),
        (0, warnings) => format!("{}\n", count(warnings, "warning")),
        (errors, warnings) => format!(
            "{}, {}\n",
            count(errors, "error"),
            count(warnings, "warning")
        ),
    }
}

/// A JSON array of
/// `{code, slug, severity, file, line, column, end_line, end_column, message, hint, related}`; what
/// a problem does not have is null. Lines and columns count from 1, columns in characters.
pub fn json(problems: &Problems, sources: &Sources) -> String {
    let list: Vec<_> = problems
        .sorted()
        .into_iter()
        .map(|p| {
            let start = p.span.map(|s| sources.position(s));
            let end = p.span.map(|s| sources.end_position(s));
            let related: Vec<_> = p
                .related
                .iter()
                .map(|r| {
                    let at = sources.position(r.span);
                    let file = sources.display(r.span.file);
                    json!({"file": file, "line": at.line, "column": at.column, "note": r.note})
                })
                .collect();
            json!({
                "code": p.code.id(),
                "slug": p.code.slug(),
                "severity": p.severity.name(),
                "file": file_of(p, sources),
                "line": start.map(|s| s.line),
                "column": start.map(|s| s.column),
                "end_line": end.map(|e| e.line),
                "end_column": end.map(|e| e.column),
                "message": p.message,
                "hint": p.hint,
                "related": related,
            })
        })
        .collect();
    let json = serde_json::to_string_pretty(&list).unwrap_or_else(|_| "[]".to_owned()) + "\n";
    escaped(&json).into_owned()
}

/// Workflow commands that GitHub shows beside the lines of a change.
pub fn github(problems: &Problems, sources: &Sources) -> String {
    let line = |p: &Problem| {
        let mut properties = Vec::new();
        if let Some(file) = file_of(p, sources) {
            properties.push(format!("file={}", escaped_property(&file)));
        }
        if let Some(span) = p.span {
            let (start, end) = (sources.position(span), sources.end_position(span));
            properties.push(format!("line={},col={}", start.line, start.column));
            if end.line == start.line && end.column > start.column {
                properties.push(format!("endColumn={}", end.column));
            }
        }
        properties.push(format!(
            "title={}",
            escaped_property(&format!("{} {}", p.code.id(), p.code.slug()))
        ));
        let hint = p
            .hint
            .as_ref()
            .map(|h| format!("\nhelp: {h}"))
            .unwrap_or_default();
        let message = escaped_data(&format!("{}{hint}", p.message));
        format!(
            "::{} {}::{message}\n",
            p.severity.name(),
            properties.join(",")
        )
    };
    problems.sorted().into_iter().map(line).collect()
}

fn file_of(problem: &Problem, sources: &Sources) -> Option<String> {
    problem
        .span
        .map(|s| sources.display(s.file).to_owned())
        .or_else(|| problem.path.clone())
}

/// The text of a workflow command.
fn escaped_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property of a workflow command.
fn escaped_property(text: &str) -> String {
    escaped_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A text with every character that could steer a terminal, or reorder a line, made visible.
pub fn visible(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            '\r' => {}
            c if steers(c) => out.push_str(&c.escape_unicode().to_string()),
            c => out.push(c),
        }
    }
    out
}

/// A problem as miette takes it.
#[derive(Debug)]
struct Shown<'p> {
    problem: &'p Problem,
    message: String,
    code: String,
    help: Option<String>,
    excerpt: Option<Excerpt>,
}

impl<'p> Shown<'p> {
    fn new(problem: &'p Problem, sources: &Sources, width: usize) -> Shown<'p> {
        let mut help: Vec<String> = problem.hint.iter().map(|h| visible(h)).collect();
        for related in &problem.related {
            help.push(format!(
                "{}: {}",
                visible(&related.note),
                visible(&sources.place(related.span))
            ));
        }
        let path = problem
            .path
            .as_ref()
            .filter(|path| problem.span.is_none() && !problem.message.contains(*path));
        let message = match path {
            Some(path) => format!("{}: {}", visible(path), visible(&problem.message)),
            None => visible(&problem.message),
        };
        Shown {
            problem,
            message,
            code: format!("{} {}", problem.code.id(), problem.code.slug()),
            help: Some(help.join("\n")).filter(|h| !h.is_empty()),
            excerpt: problem.span.map(|span| Excerpt::new(span, sources, width)),
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|e| e as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        let label = LabeledSpan::new_primary_with_span(None, excerpt.label);
        Some(Box::new(std::iter::once(label)))
    }
}

/// The line that a problem is on, with the line before it, cut to what fits and free of control
/// characters.
#[derive(Debug)]
struct Excerpt {
    name: String,
    text: String,
    /// The number of the first line of `text`, from 0.
    first_line: usize,
    /// In bytes of `text`.
    label: SourceSpan,
    /// The true place in the file.
    at: Position,
}

impl Excerpt {
    fn new(span: Span, sources: &Sources, width: usize) -> Excerpt {
        let at = sources.position(span);
        let source = sources.text(span.file);
        let room = width.saturating_sub(12).max(24);
        let line_of = |line: usize| {
            sources
                .line_range(span.file, line)
                .and_then(|r| source.get(r))
                .unwrap_or("")
        };
        let before = at
            .line
            .checked_sub(1)
            .filter(|line| *line > 0)
            .map(line_of)
            .filter(|l| !l.trim().is_empty());
        let mut text = String::new();
        if let Some(before) = before {
            text.push_str(&visible(&before.chars().take(room).collect::<String>()));
            text.push_str(if before.chars().count() > room {
                "…\n"
            } else {
                "\n"
            });
        }
        let line = line_of(at.line);
        let start = at.column.saturating_sub(1);
        let length = sources
            .slice(span)
            .split(['\n', '\r'])
            .next()
            .map_or(0, |s| s.chars().count());
        // Far to the right, the line is shown from a little before the caret on.
        let from = if start + length.min(room / 2) > room {
            start.saturating_sub(room / 3)
        } else {
            0
        };
        let part = |skip: usize, take: usize| {
            visible(&line.chars().skip(skip).take(take).collect::<String>())
        };
        if from > 0 {
            text.push('…');
        }
        text.push_str(&part(from, start - from));
        let offset = text.len();
        let shown = length.min(room.saturating_sub(start - from));
        let marked = part(start, shown);
        text.push_str(&marked);
        let rest = room.saturating_sub(start - from + shown);
        text.push_str(&part(start + shown, rest));
        if line.chars().count() > start + shown + rest {
            text.push('…');
        }
        text.push('\n');
        Excerpt {
            name: visible(sources.display(span.file)),
            text,
            first_line: at.line.saturating_sub(if before.is_some() { 2 } else { 1 }),
            label: SourceSpan::new(offset.into(), marked.len()),
            at,
        }
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        _span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        // Without context lines miette asks for the place that its header names: the true one.
        let (line, column) = match (lines_before, lines_after) {
            (0, 0) => (
                self.at.line.saturating_sub(1),
                self.at.column.saturating_sub(1),
            ),
            _ => (self.first_line, 0),
        };
        let whole = SourceSpan::new(0.into(), self.text.len());
        let lines = self.text.lines().count();
        let data = self.text.as_bytes();
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            data,
            whole,
            line,
            column,
            lines,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::problem::Code;
    use insta::assert_snapshot;

    fn problems_in(
        text: &str,
        at: &[(usize, usize, Code, &str, Option<&str>)],
    ) -> (Problems, Sources) {
        let mut sources = Sources::new();
        let file = sources.add("evals/a.yaml", text);
        let mut problems = Problems::new();
        for (start, end, code, message, hint) in at {
            problems.push(
                Problem::error(*code, Span::new(file, *start, *end), *message).maybe_hint(*hint),
            );
        }
        (problems, sources)
    }

    #[test]
    fn people_see_the_line_and_a_caret() {
        let text = "name: x\ngraders:\n  - method: exact_mach\n";
        let hint = Some("did you mean `exact_match`?");
        let row = (
            29,
            39,
            Code::UnknownValue,
            "`exact_mach` is not a value of `method`",
            hint,
        );
        let (problems, sources) = problems_in(text, &[row]);
        assert_snapshot!(human(&problems, &sources, HumanOptions::default()), @"
        EH0204 unknown-value

          × `exact_mach` is not a value of `method`
           ╭─[evals/a.yaml:3:13]
         2 │ graders:
         3 │   - method: exact_mach
           ·             ──────────
           ╰────
          help: did you mean `exact_match`?

        1 error
        ");
        let coloured = human(
            &problems,
            &sources,
            HumanOptions {
                colour: true,
                ..HumanOptions::default()
            },
        );
        assert!(coloured.contains("\u{1b}["));
    }

    #[test]
    fn a_long_line_is_shown_around_the_caret() {
        let long = format!("a: 1\nb: {} here {}\n", "x".repeat(500), "y".repeat(500));
        let rows = [
            (509, 513, Code::Syntax, "wrong", None),
            (8, 1014, Code::TooDeep, "all of it", None),
        ];
        let (problems, sources) = problems_in(&long, &rows);
        let shown = human(&problems, &sources, HumanOptions::default());
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
        assert_snapshot!(shown, @"
        EH0108 too-deep

          × all of it
           ╭─[evals/a.yaml:2:4]
         1 │ a: 1
         2 │ b: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
           ·    ─────────────────────────────────────────────────────────────────
           ╰────

        EH0105 syntax

          × wrong
           ╭─[evals/a.yaml:2:505]
         1 │ a: 1
         2 │ …xxxxxxxxxxxxxxxxxxxxx here yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
           ·                        ────
           ╰────

        2 errors
        ");
    }

    #[test]
    fn files_do_not_steer_the_terminal() {
        let text = "a: 1\n\u{1b}[2J\tb: é\u{202e}\n";
        let row = (13, 15, Code::Syntax, "w\u{1b}]0;rong\u{7}", Some("h\rint"));
        let (mut problems, mut sources) = problems_in(text, &[row]);
        problems.push(
            Problem::of_file(Code::Unreadable, "x\u{1b}.yaml", "cannot read it").as_warning(),
        );
        let evil = sources.add("\u{1b}c.yaml", "a\n");
        let end = Problem::error(Code::Syntax, Span::new(evil, 1, 1), "at the end");
        problems.push(end.related(Span::new(evil, 0, 0), "other"));
        let shown = human(&problems, &sources, HumanOptions::default());
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']));
        assert_snapshot!(shown, @r#"
        EH0101 unreadable

          ⚠ x\u{1b}.yaml: cannot read it

        EH0105 syntax

          × w\u{1b}]0;rong\u{7}
           ╭─[evals/a.yaml:2:9]
         1 │ a: 1
         2 │ \u{1b}[2J b: é\u{202e}
           ·              ─
           ╰────
          help: hint

        EH0105 syntax

          × at the end
           ╭─[\u{1b}c.yaml:1:2]
         1 │ a
           ·  ▲
           ╰────
          help: other: \u{1b}c.yaml:1:1

        2 errors, 1 warning
        "#);
    }

    #[test]
    fn the_rest_is_counted() {
        let rows: Vec<_> = (0..3)
            .map(|i| (i, i, Code::Syntax, "wrong", None))
            .collect();
        let (problems, sources) = problems_in("abc\n", &rows);
        let shown = human(
            &problems,
            &sources,
            HumanOptions {
                limit: 1,
                ..HumanOptions::default()
            },
        );
        assert!(shown.ends_with("\n... and 2 more\n3 errors\n"), "{shown}");
        assert_eq!(
            human(&Problems::new(), &sources, HumanOptions::default()),
            ""
        );
    }

    #[test]
    fn machines_get_json_and_annotations() {
        let row = (
            5,
            7,
            Code::UnknownKey,
            "100% wrong,\nreally: so",
            Some("fix it"),
        );
        let (mut problems, sources) = problems_in("abc\nd\u{e9}f\n", &[row]);
        problems.push(Problem::of_file(Code::EmptyFile, "b,c:d.yaml", "nothing").as_warning());
        assert_snapshot!(json(&problems, &sources), @r#"
        [
          {
            "code": "EH0104",
            "column": null,
            "end_column": null,
            "end_line": null,
            "file": "b,c:d.yaml",
            "hint": null,
            "line": null,
            "message": "nothing",
            "related": [],
            "severity": "warning",
            "slug": "empty-file"
          },
          {
            "code": "EH0201",
            "column": 2,
            "end_column": 3,
            "end_line": 2,
            "file": "evals/a.yaml",
            "hint": "fix it",
            "line": 2,
            "message": "100% wrong,\nreally: so",
            "related": [],
            "severity": "error",
            "slug": "unknown-key"
          }
        ]
        "#);
        assert_snapshot!(github(&problems, &sources), @"
        ::warning file=b%2Cc%3Ad.yaml,title=EH0104 empty-file::nothing
        ::error file=evals/a.yaml,line=2,col=2,endColumn=3,title=EH0201 unknown-key::100%25 wrong,%0Areally: so%0Ahelp: fix it
        ");
    }
}
