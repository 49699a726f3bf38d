//! Pages as GitHub-flavoured Markdown.

use std::borrow::Cow;

use super::escape::{self, code_whole, fence};
use super::{
    FailureEvidence, ListItem, ListMark, Page, PageBlock, PageNotice, PageSection, PageTable,
    SpanContent, StyledText, TextTone, cut,
};
use crate::report::annotations::without_commands;
use crate::report::limits;
use crate::report::values::{Excerpt, ShownValues};
use eval_base::text::{ELLIPSIS, one_line, plural, sanitize, truncate_bytes, width};

/// Columns of a value that is written on its line.
const ON_THE_LINE: usize = 100;
/// Bytes kept for the line that says how much was left out.
const MORE: usize = 100;

/// How a page is written.
#[derive(Debug, Clone, Copy)]
pub struct MarkdownOptions {
    /// Number signs that headings have more than their level.
    pub deeper: u8,
    /// Bytes of the page.
    pub most: Option<usize>,
    /// Bytes of expected and actual values.
    pub evidence: Option<usize>,
    /// Where the whole is.
    pub rest: &'static str,
}

impl Default for MarkdownOptions {
    /// A document of any length.
    fn default() -> Self {
        MarkdownOptions {
            deeper: 0,
            most: None,
            evidence: None,
            rest: "the JSON report contains everything",
        }
    }
}

pub fn write(page: &Page, options: MarkdownOptions) -> String {
    let mut writer = MarkdownWriter {
        options,
        evidence: options.evidence.unwrap_or(usize::MAX),
    };
    let mut parts: Vec<String> = Vec::new();
    for block in &page.blocks {
        // What fills the page comes when all else is known.
        parts.push(match (block, options.most) {
            (PageBlock::Fill(..), Some(_)) => String::new(),
            _ => {
                let before = parts.iter().rfind(|part| !part.is_empty());
                writer.next(before.map_or("", String::as_str), block)
            }
        });
    }
    if let Some(most) = options.most {
        let taken: usize = parts.iter().map(String::len).sum();
        for (block, part) in page.blocks.iter().zip(&mut parts) {
            if let PageBlock::Fill(blocks, more, noun) = block {
                *part = writer.filled(blocks, *more, noun, most.saturating_sub(taken));
            }
        }
    }
    let whole = without_commands(parts.concat().trim_end());
    let whole = format!("{whole}\n");
    match options.most {
        Some(most) => cut(&whole, most, options.rest),
        None => whole,
    }
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || number.len() < line.len() && number.starts_with(". ")
}

struct MarkdownWriter {
    options: MarkdownOptions,
    /// Bytes of expected and actual values that are left.
    evidence: usize,
}

impl MarkdownWriter {
    fn blocks(&mut self, blocks: &[PageBlock], tight: bool) -> String {
        blocks.iter().fold(String::new(), |out, block| {
            let written = match tight {
                true => self.block(block, true),
                false => self.next(&out, block),
            };
            out + &written
        })
    }

    /// A block, parted from what was written before it where readers would see two lists as one.
    fn next(&mut self, before: &str, block: &PageBlock) -> String {
        let written = self.block(block, false);
        let of_item = |line: &&str| !line.is_empty() && !line.starts_with(' ');
        let last = before.lines().rev().find(of_item);
        match last.is_some_and(is_item) && is_item(&written) {
            true => format!("<!-- -->\n\n{written}"),
            false => written,
        }
    }

    /// A block with the empty line behind it; below an item of a list (`tight`) an item or some.
    fn block(&mut self, block: &PageBlock, tight: bool) -> String {
        let end = if tight { "" } else { "\n" };
        match block {
            PageBlock::Heading(level, title) => {
                let signs = "#".repeat(usize::from(level + self.options.deeper));
                format!("{signs} {}\n\n", heading(title))
            }
            PageBlock::Lead(text) | PageBlock::Words(text) if tight => {
                format!("- {}\n", words(text))
            }
            PageBlock::Lead(text) | PageBlock::Words(text) => format!("{}\n\n", words(text)),
            PageBlock::Facts(facts) => {
                let lines = facts
                    .iter()
                    .map(|(label, text)| format!("- {}: {}\n", words(label), inner(text)));
                lines.collect::<String>() + end
            }
            PageBlock::Notice(notice) => quote(notice),
            PageBlock::Table(table) => grid(table),
            PageBlock::List(items) => self.list(items) + end,
            PageBlock::Evidence(evidence) => {
                let written = both_sides(evidence, tight, self.options.rest);
                if written.len() > self.evidence {
                    let words = "Expected and actual are in the JSON report";
                    return if tight {
                        format!("- {words}\n")
                    } else {
                        format!("{words}.\n\n")
                    };
                }
                self.evidence -= written.len();
                written
            }
            PageBlock::Code {
                label,
                language,
                text,
            } => {
                let (kept, cut) = bounded(text);
                let more = match cut {
                    true => format!(", truncated; {}", self.options.rest),
                    false => String::new(),
                };
                block_of(&(words(label) + &more), language, &kept, tight)
            }
            PageBlock::Diff(lines) => {
                let lines: Vec<String> = lines.iter().map(diff_line).collect();
                fence("diff", &lines.join("\n")) + end
            }
            // What people copy is neither cut nor changed.
            PageBlock::Copy(label, text) => block_of(label, "sh", text, tight),
            PageBlock::Part(part) => self.part(part, tight),
            PageBlock::Fill(blocks, more, noun) => self.filled(blocks, *more, noun, usize::MAX),
            PageBlock::Bounded(blocks) => {
                let most = self
                    .options
                    .most
                    .map(|most| most / limits::comment::BOUNDED);
                self.limited(most, blocks)
            }
            PageBlock::Bars(..) | PageBlock::Gap => String::new(),
        }
    }

    fn list(&mut self, items: &[ListItem]) -> String {
        let mut out = String::new();
        for (at, item) in items.iter().enumerate() {
            let mark = match &item.mark {
                ListMark::Dash => "- ".to_owned(),
                ListMark::Number => format!("{}. ", at + 1),
                ListMark::Box(true) => "- [x] ".to_owned(),
                ListMark::Box(false) => "- [ ] ".to_owned(),
                ListMark::Sign(sign) => format!("- {} ", inner(sign)),
            };
            out.push_str(&format!("{mark}{}\n", words(&item.text)));
            out.push_str(&indented(&self.blocks(&item.below, true), "  "));
        }
        out
    }

    fn part(&mut self, part: &PageSection, tight: bool) -> String {
        if tight {
            let below = self.blocks(&part.blocks, true);
            return format!("- {}\n{}", words(&part.title), indented(&below, "  "));
        }
        if !part.folded {
            let inside = self.blocks(&part.blocks, false);
            let signs = "#".repeat(usize::from(3 + self.options.deeper));
            return format!("{signs} {}\n\n{inside}", heading(&part.title));
        }
        let inside = self.limited(
            self.options.most.map(|most| most / limits::comment::FOLDS),
            &part.blocks,
        );
        format!(
            "<details><summary>{}</summary>\n\n{inside}</details>\n\n",
            summary(&part.title)
        )
    }

    /// The blocks, cut at `most` bytes.
    fn limited(&mut self, most: Option<usize>, blocks: &[PageBlock]) -> String {
        let whole = self.blocks(blocks, false);
        match most {
            Some(most) if whole.len() > most => cut(&whole, most, self.options.rest) + "\n",
            _ => whole,
        }
    }

    /// As many of the blocks as fit, and how many do not.
    fn filled(&mut self, blocks: &[PageBlock], more: usize, noun: &str, room: usize) -> String {
        let mut out = String::new();
        let mut shown = 0;
        for block in blocks {
            let written = self.block(block, false);
            if (out.len() + written.len()).saturating_add(MORE) > room {
                break;
            }
            out.push_str(&written);
            shown += 1;
        }
        let more = blocks.len() - shown + more;
        if more > 0 {
            let more = plural(more, &format!("more {noun}"));
            out.push_str(&format!("... and {more}; {}\n\n", self.options.rest));
        }
        if out.len() > room { String::new() } else { out }
    }
}

// Texts.

/// How a text is escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkdownPosition {
    /// It begins a line, or the text of an item.
    Begins,
    Within,
    Heading,
    Head,
    Cell,
}

fn words(text: &StyledText) -> String {
    written(text, MarkdownPosition::Begins)
}

fn inner(text: &StyledText) -> String {
    written(text, MarkdownPosition::Within)
}

fn heading(text: &StyledText) -> String {
    written(text, MarkdownPosition::Heading)
}

fn written(text: &StyledText, position: MarkdownPosition) -> String {
    let mut out = String::new();
    let mut strong = false;
    let in_table = matches!(position, MarkdownPosition::Cell | MarkdownPosition::Head);
    let mut at_start = true;
    for span in &text.0 {
        let begins = at_start
            && matches!(
                position,
                MarkdownPosition::Begins | MarkdownPosition::Heading
            );
        let piece = match &span.content {
            SpanContent::Own(text) => own(text, begins, in_table),
            SpanContent::Outside(text) | SpanContent::Link { text, .. } => {
                let short = in_table || position == MarkdownPosition::Heading;
                let columns = if short {
                    limits::markdown::CELL
                } else {
                    limits::markdown::SENTENCE
                };
                escape::outside(text, columns, begins)
            }
            // No backslash keeps a pipe within a code span of a table.
            SpanContent::Code(text) if in_table && text.contains('|') => {
                escape::outside(text, limits::markdown::CELL, false)
            }
            SpanContent::Code(text) => escape::code(text),
            SpanContent::Symbol(symbol) => symbol.emoji.to_owned(),
            SpanContent::Break if position == MarkdownPosition::Heading => " ".to_owned(),
            SpanContent::Break => "<br>".to_owned(),
            SpanContent::Interval(_) | SpanContent::Choice(_) => String::new(),
        };
        let loud = matches!(
            span.tone,
            TextTone::Bold | TextTone::Alarm | TextTone::GoodMark | TextTone::BadMark
        );
        let is_strong =
            loud && !matches!(position, MarkdownPosition::Heading | MarkdownPosition::Head);
        at_start &= piece.is_empty();
        let words = piece.trim_start();
        if is_strong != strong && !words.is_empty() {
            // Markup begins and ends right at a word.
            out.push_str(if is_strong {
                &piece[..piece.len() - words.len()]
            } else {
                ""
            });
            let end = if strong {
                out.trim_end().len()
            } else {
                out.len()
            };
            out.insert_str(end, "**");
            out.push_str(if is_strong { words } else { &piece });
            strong = is_strong;
        } else {
            out.push_str(&piece);
        }
    }
    out.truncate(out.trim_end().len());
    if strong {
        out.push_str("**");
    }
    out
}

/// Words of the program: only what would begin a list, a tag or a cell is escaped.
fn own(text: &str, begins: bool, in_table: bool) -> String {
    let escaped = text.replace('<', "&lt;");
    let escaped = match in_table {
        true => escaped.replace('|', "&#124;"),
        false => escaped,
    };
    match begins && escaped.starts_with(['*', '-', '+', '#']) {
        true => format!("\\{escaped}"),
        false => escaped,
    }
}

/// A text within a line of HTML, which Markdown does not read: no tag, and within `<code>` no
/// mention either.
fn summary(text: &StyledText) -> String {
    let html = |text: &str| {
        let line = one_line(truncate_bytes(text, 64 * 1024));
        let line = eval_base::text::truncate_width(&line, limits::markdown::CELL);
        line.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
    };
    let piece = |span: &super::StyledSpan| match &span.content {
        SpanContent::Own(text) => text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;"),
        SpanContent::Outside(text) | SpanContent::Code(text) | SpanContent::Link { text, .. } => {
            format!("<code>{}</code>", html(text))
        }
        SpanContent::Symbol(symbol) => symbol.emoji.to_owned(),
        SpanContent::Break => " ".to_owned(),
        SpanContent::Interval(_) | SpanContent::Choice(_) => String::new(),
    };
    text.0
        .iter()
        .map(piece)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

// Blocks.

fn quote(notice: &PageNotice) -> String {
    let headline = inner(&super::outside(&notice.headline));
    let mut out = match notice.loud {
        true => format!("> [!CAUTION]\n> **{headline}**\n"),
        false => format!("> [!NOTE]\n> {headline}\n"),
    };
    if !notice.notes.is_empty() {
        out.push_str(">\n");
    }
    for note in &notice.notes {
        out.push_str(&format!("> - {}\n", words(&super::outside(note))));
    }
    if let Some(command) = &notice.command {
        out.push_str(&format!(">\n> {}\n", code_whole(command)));
    }
    out + "\n"
}

fn grid(table: &PageTable) -> String {
    let shown = table.shown();
    let noted = table.rows.iter().any(|row| !row.note.is_empty());
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let cell = |text: &StyledText| written(text, MarkdownPosition::Cell);
    let head = |at: &usize| written(&table.columns[*at].head, MarkdownPosition::Head);
    let mut head: Vec<String> = shown.iter().map(head).collect();
    let rule = shown.iter().map(|at| {
        if table.columns[*at].right {
            "---:"
        } else {
            "---"
        }
    });
    let mut rule: Vec<String> = rule.map(str::to_owned).collect();
    if noted {
        head.push("Remark".to_owned());
        rule.push("---".to_owned());
    }
    let mut out = line(head) + &line(rule);
    for row in &table.rows {
        let bold = row.cells.len() == 1 && shown.len() > 1;
        let of = |at: &usize| match row.cells.get(*at) {
            Some(text) if bold => cell(&super::bold(text.clone())),
            Some(text) => cell(text),
            None => String::new(),
        };
        let mut cells: Vec<String> = shown.iter().map(of).collect();
        if noted {
            cells.push(cell(&row.note));
        }
        out.push_str(&line(cells));
    }
    out + "\n"
}

/// Expected and actual: short values on a line each, others in fences.
fn both_sides(evidence: &FailureEvidence, tight: bool, rest: &str) -> String {
    if let Some((body, more)) = evidence.as_diff(limits::markdown::SIDE) {
        let more = more.map(|more| format!(", and {more}; {rest}"));
        let more = more.unwrap_or_default();
        let label = format!("Expected (`-`) and actual (`+`){more}");
        return block_of(&label, "diff", &body, tight);
    }
    let FailureEvidence::Values(ShownValues::Sides { expected, actual }) = evidence else {
        return String::new();
    };
    let sides = [("Expected", expected), ("Actual", actual)];
    let sides = sides
        .iter()
        .filter_map(|(label, side)| Some((*label, side.as_ref()?)));
    // A list of short values; else a fence for each.
    if tight || sides.clone().all(|(_, side)| is_short(side)) {
        let lines = sides.map(|(label, side)| match is_short(side) {
            true => format!("- {label}: {}\n", escape::code(&side.text)),
            false => one_side(label, side, tight, rest),
        });
        return lines.collect::<String>() + if tight { "" } else { "\n" };
    }
    sides
        .map(|(label, side)| one_side(label, side, tight, rest))
        .collect()
}

fn is_short(side: &Excerpt) -> bool {
    let text = &side.text;
    side.more == 0 && !text.is_empty() && width(text) <= ON_THE_LINE && one_line(text) == *text
}

fn one_side(label: &str, side: &Excerpt, tight: bool, rest: &str) -> String {
    let more = match side.more {
        0 => String::new(),
        more => format!(", and {}; {rest}", plural(more, "more line")),
    };
    block_of(&format!("{label}{more}"), "text", &side.text, tight)
}

fn block_of(label: &str, language: &str, body: &str, tight: bool) -> String {
    let block = fence(language, body);
    match tight {
        _ if label.is_empty() => block + "\n",
        true => format!("- {label}:\n{}", indented(&block, "  ")),
        false => format!("{label}:\n\n{block}\n"),
    }
}

/// The beginning of a text, and whether it is not the whole.
fn bounded(text: &str) -> (String, bool) {
    let kept = truncate_bytes(text, limits::markdown::CODE);
    let cut = kept.len() < text.len();
    let mark = if cut { ELLIPSIS } else { "" };
    (format!("{}{mark}", sanitize(kept)), cut)
}

/// In a diff the sign is the first character of a line.
fn diff_line(line: &StyledText) -> String {
    let pieces = line.0.iter().map(|span| match &span.content {
        SpanContent::Own(text)
        | SpanContent::Outside(text)
        | SpanContent::Code(text)
        | SpanContent::Link { text, .. } => sanitize(text),
        SpanContent::Symbol(_)
        | SpanContent::Break
        | SpanContent::Interval(_)
        | SpanContent::Choice(_) => Cow::Borrowed(""),
    });
    let text: String = pieces.collect();
    match line.0.first().map(|span| span.tone) {
        Some(TextTone::Good | TextTone::Bad) => text,
        _ => format!("  {}", text.trim_start()),
    }
}

/// A block as part of a list item; no line of it can end the item.
fn indented(block: &str, indent: &str) -> String {
    let mut out = String::with_capacity(block.len() * 5 / 4);
    for line in block.lines() {
        if !line.is_empty() {
            out.push_str(indent);
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_adjoin_are_parted() {
        let mut page = Page::default();
        let list = |word: &'static str| PageBlock::List(vec![ListItem::dash(word)]);
        let side = |text: &str| {
            Some(Excerpt {
                text: text.to_owned(),
                more: 0,
                marks: Vec::new(),
            })
        };
        page.push(list("a"));
        page.push(PageBlock::Gap);
        page.push(list("b"));
        page.push(PageBlock::Evidence(FailureEvidence::Values(
            ShownValues::Sides {
                expected: side("1"),
                actual: side("2"),
            },
        )));
        page.push(PageBlock::Words("c".into()));
        page.push(list("d"));
        insta::assert_snapshot!(write(&page, MarkdownOptions::default()), @"
        - a

        <!-- -->

        - b

        <!-- -->

        - Expected: `1`
        - Actual: `2`

        c

        - d
        ");
    }

    #[test]
    fn bounded_blocks_leave_room_for_what_fills_the_page() {
        let mut page = Page::default();
        let lines = |word: &str| -> Vec<PageBlock> {
            let line = |n| PageBlock::Words(StyledText::from(format!("{word} {n}")));
            (0..2_000).map(line).collect()
        };
        page.push(PageBlock::Bounded(lines("compared")));
        page.push(PageBlock::Fill(lines("failed"), 0, "failure"));
        let options = |most| MarkdownOptions {
            most,
            rest: "the report contains everything",
            ..MarkdownOptions::default()
        };
        let cut = write(&page, options(Some(6_000)));
        let compared = cut.find("failed 0").expect("failures are shown");
        assert!(
            compared <= 2_000 && cut.len() <= 6_000,
            "{compared} {}",
            cut.len()
        );
        assert!(
            cut.contains("more lines did not fit; the report contains everything.**\n\nfailed 0\n"),
            "{cut}"
        );
        let whole = write(&page, options(None));
        assert!(whole.contains("compared 1999") && whole.contains("failed 1999"));
    }
}
