//! Problems for people and for machines. Pure: everything returns text.
//!
//! What comes from files is shown with its control characters made visible, so that no file writes
//! to a terminal.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::problem::{Problem, Problems, Severity, TextFix};
use super::scalar;
use super::source::{SourceFiles, Span, TextPosition};
use super::tree::NodeValue;
use crate::model::{FixRecord, ProblemRecord, ProblemReport, RelatedRecord, TextRange};
use eval_base::json::escaped;
use eval_base::redact::{masked_addresses, masked_settings};
use eval_base::text::width;

/// Bytes of a line that are shown at most from a problem on, and as many after what is marked.
const MAX_MARKED: usize = 4096;
/// A problem further to the right is shown by its place alone: its line is copied up to there.
const MAX_COLUMN: usize = 16_384;
/// The version of the format of [`json`].
const FORMAT_VERSION: u32 = 1;
/// Columns before a line: its number and the frame.
const GUTTER: usize = 9;

/// How problems are shown to people.
#[derive(Debug, Clone, Copy)]
pub struct HumanOptions {
    /// Columns.
    pub width: usize,
    /// Breaks messages and hints between words to fit `width`; excerpts of files always do.
    pub wrap: bool,
    pub colour: bool,
    /// Problems beyond this many are only counted.
    pub limit: usize,
}

impl Default for HumanOptions {
    fn default() -> Self {
        HumanOptions {
            width: 80,
            wrap: false,
            colour: false,
            limit: 50,
        }
    }
}

/// Each problem with the line of its file and a caret, then how many there were.
pub fn human(problems: &Problems, sources: &SourceFiles, options: HumanOptions) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let renderer = if options.colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let columns = options.width.max(40);
    let renderer = renderer.term_width(columns);
    let mut out = String::new();
    for problem in problems.sorted().into_iter().take(options.limit) {
        out.push_str(&renderer.render(&report(problem, sources, columns, options.wrap)));
        out.push_str("\n\n");
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

/// A [`ProblemReport`].
pub fn json(problems: &Problems, sources: &SourceFiles) -> String {
    let report = ProblemReport {
        format_version: FORMAT_VERSION,
        errors: problems.error_count(),
        warnings: problems.warning_count(),
        problems: problems
            .sorted()
            .into_iter()
            .map(|problem| record(problem, sources))
            .collect(),
    };
    let json = serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
    escaped(&json).into_owned()
}

fn record(problem: &Problem, sources: &SourceFiles) -> ProblemRecord {
    let related = problem.related.iter().map(|related| RelatedRecord {
        file: sources.display(related.span.file).to_owned(),
        range: range(related.span, sources),
        note: related.note.clone(),
    });
    ProblemRecord {
        code: problem.code.id().to_owned(),
        slug: problem.code.slug().to_owned(),
        severity: problem.severity.name().to_owned(),
        file: file_of(problem, sources),
        range: problem.span.map(|span| range(span, sources)),
        message: problem.message.clone(),
        help: problem.hint.clone(),
        fix: fix(problem, sources),
        related: related.collect(),
    }
}

fn range(span: Span, sources: &SourceFiles) -> TextRange {
    let (start, end) = (sources.position(span), sources.end_position(span));
    TextRange {
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
    }
}

/// The fix of a problem, if the text at its place is the one that the fix is for.
fn fix(problem: &Problem, sources: &SourceFiles) -> Option<FixRecord> {
    let (span, fix) = (problem.span?, problem.fix.as_deref()?);
    let found = sources.slice(span);
    let quote = found.chars().next().filter(|c| ['"', '\''].contains(c));
    let inner = match quote {
        Some(quote) => found.strip_prefix(quote)?.strip_suffix(quote)?,
        None => found,
    };
    let replacement = match (fix, quote) {
        (TextFix::Name { wrong, right }, _) if inner == wrong && is_plain(right) => match quote {
            Some(quote) => format!("{quote}{right}{quote}"),
            None => right.clone(),
        },
        (TextFix::Value { wrong, right }, _) if inner == wrong && ends_value(span, sources) => {
            right.clone()
        }
        _ => return None,
    };
    Some(FixRecord {
        range: range(span, sources),
        replacement,
    })
}

/// True for a text that YAML reads as itself, with quotes and without.
fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./@^".contains(c))
        && matches!(scalar::plain(text), NodeValue::Text(_))
}

/// True when nothing of the value follows on its line.
fn ends_value(span: Span, sources: &SourceFiles) -> bool {
    let rest = sources
        .text(span.file)
        .get(span.end as usize..)
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default();
    let next = rest.trim_start();
    next.is_empty()
        || next.starts_with([',', ']', '}'])
        || rest.len() > next.len() && next.starts_with('#')
}

/// Workflow commands that GitHub shows beside the lines of a change.
pub fn github(problems: &Problems, sources: &SourceFiles) -> String {
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

fn file_of(problem: &Problem, sources: &SourceFiles) -> Option<String> {
    problem
        .span
        .map(|s| sources.display(s.file).to_owned())
        .or_else(|| problem.path.as_deref().map(str::to_owned))
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

/// Whether a character could steer a terminal, or reorder a line.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A text with every character that could steer a terminal, or reorder a line, made visible.
pub fn visible(text: &str) -> String {
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

/// The text with line breaks between words, so that a line has at most so many columns, or one word.
fn wrapped(text: &str, columns: usize) -> String {
    let (mut out, mut used) = (String::with_capacity(text.len()), 0);
    for word in text.split(' ') {
        let wide = width(word);
        if used > 0 && used + 1 + wide > columns {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += wide;
    }
    out
}

/// A problem and the places related to it, each with its line.
fn report<'a>(
    problem: &'a Problem,
    sources: &'a SourceFiles,
    columns: usize,
    wrap: bool,
) -> Vec<Group<'a>> {
    // A label, such as `error[E123]: `, indents all lines of its message.
    let wrapped = |text: String, indent: usize| match wrap {
        true => wrapped(&text, columns.saturating_sub(indent)),
        false => text,
    };
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let path = problem
        .path
        .as_deref()
        .filter(|path| problem.span.is_none() && !problem.message.contains(*path));
    let message = match path {
        Some(path) => format!("{}: {}", visible(path), visible(&problem.message)),
        None => visible(&problem.message),
    };
    let label = problem.severity.name().len() + problem.code.id().len() + "[]: ".len();
    let message = wrapped(message, label);
    let mut group = Group::with_title(level.primary_title(message).id(problem.code.id()));
    if let Some(span) = problem.span {
        let is_hidden = problem.is_line_hidden;
        let kind = AnnotationKind::Primary;
        group = group.element(excerpt(span, sources, kind, columns, is_hidden));
    }
    if let Some(hint) = &problem.hint {
        let line = problem.span.map_or(0, |span| sources.position(span).line);
        let indent = line.to_string().len() + " = help: ".len();
        group = group.element(Level::HELP.message(wrapped(visible(hint), indent)));
    }
    let related = problem.related.iter().map(|related| {
        let note = wrapped(visible(&related.note), "note: ".len());
        Group::with_title(Level::NOTE.secondary_title(note)).element(excerpt(
            related.span,
            sources,
            AnnotationKind::Context,
            columns,
            problem.is_line_hidden,
        ))
    });
    std::iter::once(group).chain(related).collect()
}

/// The line that a span starts on, below the line before it. The renderer cuts what is wider than
/// so many columns.
fn excerpt<'a>(
    span: Span,
    sources: &SourceFiles,
    kind: AnnotationKind,
    columns: usize,
    is_hidden: bool,
) -> Element<'a> {
    let path = visible(sources.display(span.file));
    let source = sources.text(span.file);
    let TextPosition { line, column } = sources.position(span);
    if column > MAX_COLUMN || is_hidden {
        return Origin::path(path).line(line).char_column(column).into();
    }
    let start = source.floor_char_boundary(span.start as usize);
    let range = |line| sources.line_range(span.file, line).unwrap_or(start..start);
    let before = range(line - 1);
    // Of the line before one that is cut there may be nothing to see.
    let shown = &source[range(line)];
    let is_cut = shown.len() > MAX_MARKED
        || width(&shown.replace('\t', "    ")).saturating_add(GUTTER) > columns;
    let has_context = line > 1
        && !is_cut
        && before.len() < MAX_MARKED
        && !source[before.clone()].trim().is_empty();
    let from = if has_context {
        before.start
    } else {
        range(line).start
    };
    // A line of megabytes is not handed on whole.
    let cut =
        |at: usize| source.floor_char_boundary(at.min(start + MAX_MARKED).min(range(line).end));
    let end = cut(span.end as usize).max(start);
    let stop = cut(usize::MAX).max(end);
    // Masked before the cut, which may remove what a secret is recognised by.
    let past = (stop + 4 * MAX_MARKED).min(range(line).end.max(stop));
    let masked = masked_lines(source, from..source.floor_char_boundary(past).max(stop));
    // Masking keeps the number of characters, not of bytes.
    let place = |at: usize| {
        let chars = source[from..at].chars().count();
        let found = masked.char_indices().nth(chars);
        found.map_or(masked.len(), |(place, _)| place)
    };
    let (marked_start, marked_end) = (place(start), place(end));
    let mut text = without_controls(&masked[..marked_start]);
    let marked_from = text.len();
    text.push_str(&without_controls(&masked[marked_start..marked_end]));
    let marked = marked_from..text.len();
    text.push_str(&without_controls(&masked[marked_end..place(stop)]));
    Snippet::source(text)
        .path(path)
        .line_start(if has_context { line - 1 } else { line })
        .fold(false)
        .annotation(kind.span(marked))
        .into()
}

/// Lines of a source with asterisks in place of secrets; columns stay the same.
fn masked_lines(source: &str, lines: std::ops::Range<usize>) -> String {
    let mut start = lines.start;
    let mut out = String::with_capacity(lines.len());
    for line in source[lines].split_inclusive('\n') {
        let is_in_notify = line.contains("url") && is_in_notify(source, start);
        out.push_str(&masked_addresses(&masked_settings(line, is_in_notify)));
        start += line.len();
    }
    out
}

/// Whether the line that begins there, or one that contains it by its indent, has the key `notify`.
fn is_in_notify(source: &str, start: usize) -> bool {
    let has_key = |line: &str| {
        let keys = ["notify:", "notify\":", "notify':"];
        keys.iter().any(|key| line.contains(key))
    };
    let content = |line: &str| line.trim_start_matches([' ', '\t', '-']).len();
    let line = source[start..].lines().next().unwrap_or_default();
    if has_key(line) {
        return true;
    }
    let mut indent = line.len() - content(line);
    for above in source[..start].lines().rev() {
        if indent == 0 {
            break;
        }
        let of_above = above.len() - content(above);
        let is_blank = above.trim().is_empty() || above.trim_start().starts_with('#');
        if of_above < indent && !is_blank {
            if has_key(above) {
                return true;
            }
            indent = of_above;
        }
    }
    false
}

/// A source text in which a mark replaces each character that could steer a terminal and that the
/// renderer lets through; columns stay the same.
fn without_controls(text: &str) -> String {
    text.chars()
        .map(|c| {
            if steers(c) && !c.is_ascii() {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::problem::Code;
    use insta::assert_snapshot;

    fn problems_in(
        text: &str,
        at: &[(usize, usize, Code, &str, Option<&str>)],
    ) -> (Problems, SourceFiles) {
        let mut sources = SourceFiles::new();
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
        error[EH0204]: `exact_mach` is not a value of `method`
         --> evals/a.yaml:3:13
          |
        2 | graders:
        3 |   - method: exact_mach
          |             ^^^^^^^^^^
          |
          = help: did you mean `exact_match`?

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
        error[EH0108]: all of it
         --> evals/a.yaml:2:4
          |
        2 | b: xxxxxxxxxxxxxxxxxxxxxxxxx...yyyyyyyyyyyyyyyyyyyyyyyyy
          |    ^^^^^^^^^^^^^^^^^^^^^^^^^...^^^^^^^^^^^^^^^^^^^^^^^^^

        error[EH0105]: wrong
         --> evals/a.yaml:2:505
          |
        2 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx here yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
          |                                     ^^^^

        2 errors
        ");
    }

    #[test]
    fn messages_are_wrapped_at_the_width() {
        let text = "name: x\n";
        let words = ["a word and another word"; 4].join(", ");
        let row = (6, 7, Code::Syntax, words.as_str(), Some(words.as_str()));
        let (mut problems, sources) = problems_in(text, &[row]);
        let span = problems.sorted()[0].span.unwrap();
        let long = format!("日本 {}", "x".repeat(60));
        let noted = Problem::error(Code::Syntax, span, long);
        problems.push(noted.related(Span::new(span.file, 0, 4), words.clone()));
        let options = HumanOptions {
            width: 50,
            wrap: true,
            ..HumanOptions::default()
        };
        assert_snapshot!(human(&problems, &sources, options), @"
        error[EH0105]: a word and another word, a word and
                       another word, a word and another
                       word, a word and another word
         --> evals/a.yaml:1:7
          |
        1 | name: x
          |       ^
          |
          = help: a word and another word, a word and
                  another word, a word and another word, a
                  word and another word

        error[EH0105]: 日本
                       xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
         --> evals/a.yaml:1:7
          |
        1 | name: x
          |       ^
          |
        note: a word and another word, a word and another
              word, a word and another word, a word and
              another word
         --> evals/a.yaml:1:1
          |
        1 | name: x
          | ----

        2 errors
        ");
    }

    #[test]
    fn line_before_one_that_is_cut_is_not_shown() {
        let text = format!("a: 1\nb: {} here {}\n", "x".repeat(70), "y".repeat(30));
        let row = (79, 83, Code::Syntax, "wrong", None);
        let (problems, sources) = problems_in(&text, &[row]);
        let shown = human(&problems, &sources, HumanOptions::default());
        assert!(
            shown.contains(" here ") && !shown.contains("1 | "),
            "{shown}"
        );
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
        assert_snapshot!(shown, @r"
        warning[EH0101]: x\u{1b}.yaml: cannot read it

        error[EH0105]: w\u{1b}]0;rong\u{7}
         --> evals/a.yaml:2:9
          |
        1 | a: 1
        2 | ␛[2J    b: é�
          |            ^
          |
          = help: hint

        error[EH0105]: at the end
         --> \u{1b}c.yaml:1:2
          |
        1 | a
          |  ^
          |
        note: other
         --> \u{1b}c.yaml:1:1
          |
        1 | a
          | -

        2 errors, 1 warning
        ");
    }

    #[test]
    fn secrets_of_addresses_are_not_shown() {
        let text =
            "u: http://me:hunter2@h\nb: \"htp://h?api_key=sk-SECRET\"\nurl: hooks/T0/SECRET\n";
        let row = (27, 52, Code::BadRequest, "no address", None);
        let (mut problems, sources) = problems_in(text, &[row]);
        let file = problems
            .iter()
            .next()
            .and_then(|p| p.span)
            .expect("a place")
            .file;
        let span = Span::new(file, 59, 74);
        problems.push(Problem::error(Code::BadRequest, span, "no webhook").hide_line());
        assert_snapshot!(human(&problems, &sources, HumanOptions::default()), @r#"
        error[EH0427]: no address
         --> evals/a.yaml:2:5
          |
        1 | u: http://**********@h
        2 | b: "htp://h?api_key=*********"
          |     ^^^^^^^^^^^^^^^^^^^^^^^^^

        error[EH0427]: no webhook
        --> evals/a.yaml:3:6

        2 errors
        "#);
    }

    #[test]
    fn secrets_beside_a_problem_are_not_shown() {
        let text = "reporting:\n  notify:\n  - type: webhook\n    url: https://h/SECRET\n    urll: é\n\
                    headers:\n  Authorization: Bearer é-SECRET\n  bad: 1\n";
        let at = |part: &str| text.find(part).expect("a part");
        let rows = [
            (
                at("urll"),
                at("urll") + 4,
                Code::UnknownKey,
                "unknown",
                None,
            ),
            (
                at("é-SEC"),
                at("é-SEC") + 9,
                Code::BadRequest,
                "wrong",
                None,
            ),
            (at("bad"), at("bad") + 3, Code::UnknownKey, "unknown", None),
        ];
        let (problems, sources) = problems_in(text, &rows);
        let shown = human(&problems, &sources, HumanOptions::default());
        assert!(!shown.contains("SECRET"), "{shown}");
        for part in [
            "4 |     url: ****************\n5 |     urll: é\n  |     ^^^^\n",
            "a.yaml:7:25\n",
            "7 |   Authorization: Bearer ********\n  |                         ^^^^^^^^\n",
            "7 |   Authorization: Bearer ********\n8 |   bad: 1\n  |   ^^^\n",
        ] {
            assert!(shown.contains(part), "{part}{shown}");
        }
    }

    #[test]
    fn password_cut_before_its_end_is_not_shown() {
        let text = format!("u: https://me:{}@h/a\n", "p".repeat(5000));
        let (problems, sources) = problems_in(&text, &[(3, 8, Code::Syntax, "wrong", None)]);
        let shown = human(&problems, &sources, HumanOptions::default());
        assert!(
            shown.contains("u: https://***") && !shown.contains("pp"),
            "{shown}"
        );
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
    fn a_problem_far_to_the_right_is_shown_by_its_place() {
        let text = format!("a: {}bad\n", "x".repeat(1 << 20));
        let at = text.len() - 4;
        let row = (at, at + 3, Code::Syntax, "wrong", Some("mend it"));
        let (problems, sources) = problems_in(&text, &[row]);
        let shown = human(&problems, &sources, HumanOptions::default());
        assert!(shown.len() < 200, "{}", shown.len());
        assert!(shown.contains("evals/a.yaml:1:1048580"), "{shown}");
        assert!(shown.contains("help: mend it"), "{shown}");
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
        {
          "format_version": 1,
          "errors": 1,
          "warnings": 1,
          "problems": [
            {
              "code": "EH0104",
              "slug": "empty-file",
              "severity": "warning",
              "file": "b,c:d.yaml",
              "range": null,
              "message": "nothing",
              "help": null,
              "fix": null,
              "related": []
            },
            {
              "code": "EH0201",
              "slug": "unknown-key",
              "severity": "error",
              "file": "evals/a.yaml",
              "range": {
                "line": 2,
                "column": 2,
                "end_line": 2,
                "end_column": 3
              },
              "message": "100% wrong,\nreally: so",
              "help": "fix it",
              "fix": null,
              "related": []
            }
          ]
        }
        "#);
        assert_snapshot!(github(&problems, &sources), @"
        ::warning file=b%2Cc%3Ad.yaml,title=EH0104 empty-file::nothing
        ::error file=evals/a.yaml,line=2,col=2,endColumn=3,title=EH0201 unknown-key::100%25 wrong,%0Areally: so%0Ahelp: fix it
        ");
    }
}
