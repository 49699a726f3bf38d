//! The YAML parser's errors in plain words, each with what to do about it.

use granit_parser::ErrorKind;

use crate::load::problem::{Code, Problem, TextFix};
use crate::load::source::{FileId, SourceFiles, Span};

/// The text from `{{` to the last `}}` of its line, when a template stands at this byte.
pub(super) fn template_at(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    if !rest.starts_with("{{") {
        return None;
    }
    let line = rest.split(['\n', '\r']).next().unwrap_or(rest);
    let end = line
        .rfind("}}")
        .map_or(line.trim_end().len(), |close| close + 2);
    line.get(..end)
}

pub(super) fn unquoted_template(template: &str, span: Span) -> Problem {
    let quoted = if template.contains('"') {
        format!("'{template}'")
    } else {
        format!("\"{template}\"")
    };
    let message = "a value that begins with `{{` needs quotes: YAML reads it as a map inside a map";
    let hint = if template.len() <= 60 {
        format!("write {quoted}")
    } else {
        "put quotes around it".to_owned()
    };
    let fix = TextFix::Value {
        wrong: template.to_owned(),
        right: quoted,
    };
    // In either quotes a text with both kinds, or with escapes, is another one. With more braces,
    // the last `}}` may belong to a map around the template.
    let certain = !template.contains(['\'', '\\'])
        && template.matches("{{").count() == 1
        && template.matches("}}").count() == 1
        && !template.ends_with("}}}");
    Problem::error(Code::UnquotedTemplate, span, message)
        .hint(hint)
        .maybe_fix(certain.then_some(fix))
}

/// What to say of a syntax error at byte `at`; `open` is where the innermost open list or map
/// begins.
pub(super) fn explain(
    kind: &ErrorKind,
    sources: &SourceFiles,
    file: FileId,
    at: usize,
    open: Option<Span>,
) -> Problem {
    let text = sources.text(file);
    if let Some((start, template)) = template_on_line(sources, file, at) {
        return unquoted_template(template, Span::new(file, start, start + template.len()));
    }
    // An end of file is shown at the last character, not on a line that is not there.
    let at = if at >= text.len() {
        text.trim_end().len()
    } else {
        at
    };
    // The parser stands behind the tab that it complains of.
    let at = if is_tab(kind) && text.get(..at).is_some_and(|t| t.ends_with('\t')) {
        at - 1
    } else {
        at
    };
    let width = text
        .get(at..)
        .and_then(|rest| rest.chars().next())
        .filter(|c| *c != '\n' && *c != '\r');
    let span = Span::new(file, at, at + width.map_or(0, char::len_utf8));
    let (code, message, hint) = words(kind, text, at);
    let mut problem = Problem::error(code, span, message).maybe_hint(hint);
    if let (true, Some(open)) = (at_end(kind), open) {
        problem = problem.related(open, "opened here");
    }
    problem
}

/// A value of this line, or of the line before, that begins with `{{` or `{%`.
fn template_on_line(sources: &SourceFiles, file: FileId, at: usize) -> Option<(usize, &str)> {
    let text = sources.text(file);
    let line = sources.position(Span::new(file, at, at)).line;
    [line, line.saturating_sub(1)].into_iter().find_map(|line| {
        let range = sources.line_range(file, line)?;
        let start = range.start;
        let content = text.get(range)?;
        let found = content.find("{{")?;
        let before = content.get(..found)?.trim_end();
        let is_value = before.is_empty() || before.ends_with([':', '-', '[', ',', '?']);
        // In quotes it is fine, and so is it after other text.
        let quoted = before.matches('"').count() % 2 == 1 || before.matches('\'').count() % 2 == 1;
        let comment = before.starts_with('#') || before.contains(" #");
        (is_value && !quoted && !comment)
            .then(|| template_at(text, start + found).map(|t| (start + found, t)))?
    })
}

fn is_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar
    )
}

/// Whether the `:` at this byte ends the first key of its line.
fn first_colon_of_line(text: &str, at: usize) -> bool {
    let line = text
        .get(..at)
        .and_then(|before| before.rsplit('\n').next())
        .unwrap_or("");
    !line.contains([':', '"', '\''])
}

fn at_end(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnexpectedEof
            | ErrorKind::UnexpectedEofFlowSequence
            | ErrorKind::UnexpectedEofFlowMapping
            | ErrorKind::UnexpectedEofImplicitFlowMapping
    )
}

type SyntaxMessage = (Code, String, Option<String>);

fn words(kind: &ErrorKind, text: &str, at: usize) -> SyntaxMessage {
    let syntax = |message: &str, hint: &str| {
        (
            Code::Syntax,
            message.to_owned(),
            Some(hint.to_owned()).filter(|h| !h.is_empty()),
        )
    };
    match kind {
        ErrorKind::RecursionLimitExceeded => {
            let message = format!(
                "lists and maps are nested more than {} deep",
                super::MAX_DEPTH
            );
            (Code::TooDeep, message, None)
        }
        kind if is_tab(kind) => (
            Code::TabIndentation,
            "YAML does not allow a tab for indentation".to_owned(),
            Some("indent with spaces".to_owned()),
        ),
        ErrorKind::UnexpectedEofFlowSequence => syntax("a list (`[`) is not closed", "add the `]`"),
        ErrorKind::UnexpectedEofFlowMapping | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            syntax("a map (`{`) is not closed", "add the `}`")
        }
        ErrorKind::UnclosedFlowCollection { open } => {
            let close = if *open == '{' { '}' } else { ']' };
            syntax(
                &format!("this `{open}` is not closed"),
                &format!("add the `{close}`"),
            )
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            syntax(&format!("`{open}` is closed by `{close}`"), "")
        }
        ErrorKind::MisplacedFlowCollectionEnd => syntax("this bracket closes nothing", ""),
        ErrorKind::UnclosedQuotedScalar => {
            syntax("a quoted text is not closed", "add the closing quote")
        }
        ErrorKind::UnknownQuotedScalarEscape => syntax(
            "a backslash in double quotes begins an escape, but this escape does not exist",
            "write `\\\\` for a backslash, or use single quotes, in which there are no escapes",
        ),
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => syntax(
            "there is text after the closing quote",
            "put the whole value in quotes; inside single quotes, write a quote twice ('')",
        ),
        ErrorKind::ExpectedFlowSequenceSeparator => syntax("expected `,` or `]` in this list", ""),
        ErrorKind::ExpectedFlowMappingSeparator => syntax("expected `,` or `}` in this map", ""),
        ErrorKind::MappingValueNotAllowed if first_colon_of_line(text, at) => syntax(
            "a key is not allowed here",
            "the line above lacks its `:`, or the indentation of this line is wrong",
        ),
        ErrorKind::MappingValueNotAllowed => syntax(
            "a `:` is not allowed here",
            "a text that contains `: ` needs quotes",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => syntax(
            "expected `key: value` here",
            "every line of a map has a `:` after its key",
        ),
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::ExpectedBlockSequenceEntry => syntax(
            "this line does not fit the lines above it",
            "check the indentation of this line",
        ),
        ErrorKind::InvalidIndentation => {
            syntax("the indentation of this line matches no line above it", "")
        }
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => syntax(
            &format!(
                "the control character {} is not allowed",
                character.escape_unicode()
            ),
            "",
        ),
        ErrorKind::UnexpectedCharacter { character: '%' }
            if text.get(..at).is_some_and(|t| t.ends_with('{')) =>
        {
            (
                Code::UnquotedTemplate,
                "a value that begins with `{%` needs quotes: YAML reads it as a map".to_owned(),
                Some("put quotes around the template".to_owned()),
            )
        }
        ErrorKind::UnexpectedCharacter { character } => syntax(
            &format!("a value cannot begin with `{character}`"),
            "put quotes around it",
        ),
        ErrorKind::InvalidQuotedScalarIndent if at >= text.trim_end().len() => {
            syntax("a quoted text is not closed", "add the closing quote")
        }
        ErrorKind::InvalidQuotedScalarIndent => syntax(
            "this line belongs to a quoted text, but is not indented",
            "close the quote above, or indent the line",
        ),
        ErrorKind::InvalidColonPlacement => syntax(
            "a `:` is not allowed here",
            "is a `[` or `{` above not closed?",
        ),
        ErrorKind::BlockSequenceEntryNotAllowed => syntax(
            "a list cannot begin on the line of its key",
            "put `- ...` on the next line",
        ),
        other => syntax(&other.to_string(), ""),
    }
}
