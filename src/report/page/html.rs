//! Pages as HTML without a script: the content of `<main>`, in which every text stays a text.
//!
//! A section for each title of level 2 and for what is before the first. Classes are those of
//! `document.css`, `case.css` and `base.css` under `report/html/assets`.

use std::fmt::Write as _;

use super::{
    ChoiceBox, DrawnInterval, FailureEvidence, ListItem, ListMark, Page, PageBlock, PageNotice,
    PageSection, PageTable, SpanContent, StyledSpan, StyledText, TextTone, outside, text,
};
use crate::report::limits::phase as limits;
use crate::report::values::{LineKind, ShownValues};
use eval_base::text::{exact_line, plural, sanitize, shortened, truncate_bytes, truncate_width};

/// How much a page holds.
#[derive(Debug, Clone, Copy)]
pub struct HtmlOptions {
    /// Bytes after which no further block, item or row begins.
    pub most: usize,
    /// Bytes of expected and actual values.
    pub evidence: usize,
    /// Where the whole is, in a sentence.
    pub rest: &'static str,
    /// Titles that the document has already: each has a number as its id.
    pub titles: usize,
}

pub fn write(page: &Page, options: HtmlOptions) -> String {
    let mut writer = HtmlWriter {
        options,
        evidence: options.evidence,
        out: String::new(),
        titles: options.titles,
        is_cut: false,
        is_shortened: false,
    };
    let begins = |block: &PageBlock| matches!(block, PageBlock::Heading(2, _));
    for blocks in page.blocks.chunk_by(|_, next| !begins(next)) {
        writer.section(blocks);
    }
    if writer.is_cut {
        let words = "This page is too large; the rest of it is omitted.";
        writer.notice(&PageNotice::loud(format!("{words} {}", options.rest)));
    }
    if writer.is_shortened {
        let words = "Texts that end with … are truncated.";
        writer.small(&format!("{words} {}", options.rest));
    }
    writer.out
}

/// A text between tags or within a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

struct HtmlWriter {
    options: HtmlOptions,
    /// Bytes of expected and actual values that are left.
    evidence: usize,
    out: String,
    /// Titles with an id.
    titles: usize,
    /// Something is omitted because the page is full.
    is_cut: bool,
    /// A text is truncated.
    is_shortened: bool,
}

impl HtmlWriter {
    /// True where nothing more may begin. What is open is closed all the same.
    fn is_full(&mut self) -> bool {
        self.is_cut |= self.out.len() > self.options.most;
        self.is_cut
    }

    fn put(&mut self, html: &str) {
        self.out.push_str(html);
    }

    fn section(&mut self, blocks: &[PageBlock]) {
        if self.is_full() {
            return;
        }
        let titled = matches!(blocks.first(), Some(PageBlock::Heading(1..=2, _)));
        let label = match titled {
            true => format!(" aria-labelledby=\"title-{}\"", self.titles + 1),
            false => String::new(),
        };
        self.put(&format!("<section class=\"card\"{label}>\n"));
        self.blocks(blocks);
        self.put("</section>\n");
    }

    fn blocks(&mut self, blocks: &[PageBlock]) {
        for block in blocks {
            if self.is_full() {
                return;
            }
            self.block(block);
        }
    }

    fn block(&mut self, block: &PageBlock) {
        match block {
            PageBlock::Heading(level @ 1..=2, title) => {
                self.titles += 1;
                let tag = format!("h{level} id=\"title-{}\"", self.titles);
                self.element(&tag, title);
            }
            PageBlock::Heading(_, title) => self.element("h3", title),
            PageBlock::Lead(text) => self.element("p class=\"lead\"", text),
            PageBlock::Words(text) => self.element("p", text),
            PageBlock::Facts(facts) => self.facts(facts),
            PageBlock::Notice(notice) => self.notice(notice),
            PageBlock::Table(table) => self.table(table),
            PageBlock::List(items) => self.list(items),
            PageBlock::Evidence(evidence) => self.evidence(evidence),
            PageBlock::Code { label, text, .. } => {
                let kept = shortened(text, limits::HTML_CODE);
                self.is_shortened |= kept.len() < text.len();
                self.code("said", label, &sanitize(&kept));
            }
            PageBlock::Diff(lines) => {
                self.put("<pre class=\"said\" tabindex=\"0\">\n");
                for line in lines {
                    let line = self.inner(line);
                    self.put(&format!("{line}\n"));
                }
                self.put("</pre>\n");
            }
            // What people copy is neither truncated nor changed.
            PageBlock::Copy(label, text) => self.code("command", &(*label).into(), text),
            PageBlock::Part(part) => self.part(part),
            PageBlock::Fill(blocks, more, noun) => {
                self.blocks(blocks);
                if *more > 0 {
                    let more = plural(*more, &format!("more {noun}"));
                    self.small(&format!("... and {more}. {}", self.options.rest));
                }
            }
            PageBlock::Bounded(blocks) => self.blocks(blocks),
            PageBlock::Bars(label, rates) => self.bars(label, rates),
            PageBlock::Gap => {}
        }
    }

    /// An element with a text, on a line. `tag` may have attributes.
    fn element(&mut self, tag: &str, text: &StyledText) {
        let inner = self.inner(text);
        let name = tag.split(' ').next().unwrap_or(tag);
        self.put(&format!("<{tag}>{inner}</{name}>\n"));
    }

    fn small(&mut self, words: &str) {
        self.put(&format!("<p class=\"soft small\">{}</p>\n", escape(words)));
    }

    fn facts(&mut self, facts: &[(StyledText, StyledText)]) {
        self.put("<dl class=\"facts\">\n");
        for (label, text) in facts {
            let (label, text) = (self.inner(label), self.inner(text));
            self.put(&format!("<div><dt>{label}</dt><dd>{text}</dd></div>\n"));
        }
        self.put("</dl>\n");
    }

    fn notice(&mut self, notice: &PageNotice) {
        let class = if notice.loud { "notice loud" } else { "notice" };
        self.put(&format!("<div class=\"{class}\">\n"));
        self.element("p", &outside(&notice.headline));
        if !notice.notes.is_empty() {
            let notes: Vec<ListItem> = notice.notes.iter().map(ListItem::dash).collect();
            self.list(&notes);
        }
        if let Some(command) = &notice.command {
            self.code("command", &StyledText::default(), command);
        }
        self.put("</div>\n");
    }

    fn list(&mut self, items: &[ListItem]) {
        let numbered = matches!(items.first(), Some(item) if item.mark == ListMark::Number);
        let tag = if numbered { "ol" } else { "ul" };
        self.put(&format!("<{tag} class=\"list\">\n"));
        for item in items {
            if self.is_full() {
                break;
            }
            self.item(item);
        }
        self.put(&format!("</{tag}>\n"));
    }

    fn item(&mut self, item: &ListItem) {
        let sign = match &item.mark {
            ListMark::Dash | ListMark::Number => StyledText::default(),
            ListMark::Box(true) => "☑".into(),
            ListMark::Box(false) => "☐".into(),
            ListMark::Sign(sign) => sign.clone(),
        };
        if sign.is_empty() {
            self.put("<li>");
        } else {
            self.put("<li class=\"signed\">");
            self.element("span class=\"sign\"", &sign);
        }
        let words = self.inner(&item.text);
        let (begin, between, end) = match item.folded && !item.below.is_empty() {
            true => ("<details><summary>", "</summary>", "</details>"),
            false => ("<div><p>", "</p>", "</div>"),
        };
        self.put(&format!("{begin}{words}{between}"));
        self.below(&item.below);
        self.put(&format!("{end}</li>\n"));
    }

    fn below(&mut self, blocks: &[PageBlock]) {
        if !blocks.is_empty() {
            self.put("\n<div class=\"below\">\n");
            self.blocks(blocks);
            self.put("</div>\n");
        }
    }

    fn code(&mut self, class: &str, label: &StyledText, text: &str) {
        if !label.is_empty() {
            self.element("p class=\"soft small\"", label);
        }
        let text = escape(text.trim_end_matches('\n'));
        // A line break right after the tag would not count.
        self.put(&format!(
            "<pre class=\"{class}\" tabindex=\"0\">\n{text}</pre>\n"
        ));
    }

    fn part(&mut self, part: &PageSection) {
        if part.folded {
            self.put("<details>");
            self.element("summary", &part.title);
            self.below(&part.blocks);
            self.put("</details>\n");
        } else {
            self.element("h3", &part.title);
            self.blocks(&part.blocks);
        }
    }

    fn table(&mut self, table: &PageTable) {
        let shown = table.shown();
        let noted = table.rows.iter().any(|row| !row.note.is_empty());
        let label = self.titles.max(1);
        self.put(&format!(
            "<div class=\"scrolls\" tabindex=\"0\" role=\"group\" aria-labelledby=\"title-{label}\"><table>\n<thead><tr>"
        ));
        let mut heads = Vec::new();
        for at in &shown {
            let column = &table.columns[*at];
            let head = self.inner(&column.head);
            let class = if column.right { "number" } else { "" };
            self.put(&format!("<th scope=\"col\" class=\"{class}\">{head}</th>"));
            let name = name_of(&column.head);
            heads.push((format!("class=\"{class}\" data-head=\"{name}\""), *at));
        }
        if noted {
            self.put("<th scope=\"col\">Remark</th>");
        }
        self.put("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            if self.is_full() {
                break;
            }
            if let [title] = row.cells.as_slice() {
                let columns = shown.len() + usize::from(noted);
                let title = self.inner(title);
                self.put(&format!(
                    "<tr><th scope=\"rowgroup\" colspan=\"{columns}\">{title}</th></tr>\n"
                ));
                continue;
            }
            self.put("<tr>");
            for (place, (attributes, at)) in heads.iter().enumerate() {
                let cell = row.cells.get(*at).map(|cell| self.inner(cell));
                let cell = cell.unwrap_or_default();
                self.put(&match place {
                    0 => format!("<th scope=\"row\">{cell}</th>"),
                    _ => format!("<td {attributes}>{cell}</td>"),
                });
            }
            if noted {
                self.element("td data-head=\"Remark\"", &row.note);
            }
            self.put("</tr>\n");
        }
        self.put("</tbody></table></div>\n");
    }

    /// A bar for each rate; their values are in its description.
    fn bars(&mut self, label: &StyledText, rates: &[Option<f64>]) {
        self.put("<figure class=\"bars\">");
        self.element("figcaption", label);
        let value =
            |rate: &Option<f64>| rate.map_or("none".to_owned(), |rate| format!("{rate:.2}"));
        let values: Vec<String> = rates.iter().map(value).collect();
        let (values, wide) = (values.join(", "), rates.len() * 10);
        self.put(&format!(
            "<svg role=\"img\" aria-label=\"{values}\" viewBox=\"0 0 {wide} 30\" width=\"{wide}\" height=\"30\">"
        ));
        for (at, rate) in rates.iter().enumerate() {
            let high = rate.unwrap_or(0.0).clamp(0.0, 1.0) * 29.0 + 1.0;
            let (from, top) = (at * 10, 30.0 - high);
            self.put(&format!(
                "<rect x=\"{from}\" y=\"{top:.1}\" width=\"8\" height=\"{high:.1}\"/>"
            ));
        }
        self.put("</svg></figure>\n");
    }

    // Expected against actual.

    fn evidence(&mut self, evidence: &FailureEvidence) {
        let before = self.out.len();
        match evidence {
            FailureEvidence::ByPath(rows) => {
                self.legend();
                for row in &rows.rows {
                    let path = text![outside(&row.path), " ", outside(&row.note)];
                    let path = self.inner(&path);
                    self.line(LineKind::Gap, &path);
                    let sides = [
                        (LineKind::Missing, &row.expected),
                        (LineKind::Extra, &row.actual),
                    ];
                    for (kind, side) in sides {
                        if let Some(side) = side {
                            self.line(kind, &marked(&side.text, &side.marks));
                        }
                    }
                }
                self.put("</div>\n");
            }
            FailureEvidence::Values(ShownValues::Diff { lines, .. }) => {
                self.legend();
                for line in lines {
                    self.line(line.kind, &marked(&line.text, &line.marks));
                }
                self.put("</div>\n");
            }
            FailureEvidence::Values(ShownValues::Sides { expected, actual }) => {
                self.put("<div class=\"two-sides\">\n");
                let sides = [
                    ("Expected", "missing", expected),
                    ("Actual", "extra", actual),
                ];
                for (label, class, side) in sides {
                    let Some(side) = side else { continue };
                    let text = marked(&side.text, &side.marks);
                    self.put(&format!(
                        "<div class=\"side {class}\"><p class=\"soft small\">{label}</p><pre class=\"said\" tabindex=\"0\">\n{text}</pre>"
                    ));
                    if side.more > 0 {
                        self.small(&format!("and {}", plural(side.more, "more line")));
                    }
                    self.put("</div>\n");
                }
                self.put("</div>\n");
            }
            FailureEvidence::Values(ShownValues::Nothing) => {}
        }
        if let Some(more) = evidence.more() {
            self.small(&format!("and {more}"));
        }
        let size = self.out.len() - before;
        if size > self.evidence {
            self.out.truncate(before);
            let words = "Expected and actual values are omitted to keep this page small.";
            self.small(&format!("{words} {}", self.options.rest));
        } else {
            self.evidence -= size;
        }
    }

    /// Begins a difference.
    fn legend(&mut self) {
        self.put(
            "<p class=\"diff-legend small\"><span class=\"tone-fail\">− expected</span><span class=\"tone-pass\">+ actual</span></p>\n\
             <div class=\"diff\" tabindex=\"0\" role=\"group\" aria-label=\"Difference of expected and actual\">\n",
        );
    }

    fn line(&mut self, kind: LineKind, html: &str) {
        let (class, sign, name) = match kind {
            LineKind::Same => ("same", " ", ""),
            LineKind::Missing => ("missing", "−", "expected: "),
            LineKind::Extra => ("extra", "+", "actual: "),
            LineKind::Gap => ("gap", "", ""),
        };
        let _ = writeln!(
            self.out,
            "<div class=\"line {class}\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span><span class=\"words\">\
             <span class=\"away\">{name}</span>{html}</span></div>"
        );
    }

    // Texts.

    fn inner(&mut self, text: &StyledText) -> String {
        let mut out = String::new();
        for span in &text.0 {
            let piece = match &span.content {
                SpanContent::Own(text) => escape(&sanitize(text)),
                SpanContent::Outside(text) => format!("<bdi>{}</bdi>", self.said(text)),
                SpanContent::Code(text) => format!("<code>{}</code>", self.said(text)),
                SpanContent::Link { text, address } => {
                    let (address, text) = (escape(address), self.said(text));
                    format!("<a href=\"{address}\"><bdi>{text}</bdi></a>")
                }
                SpanContent::Symbol(symbol) => escape(symbol.unicode),
                SpanContent::Break => "<br>".to_owned(),
                SpanContent::Interval(interval) => drawn(interval, span.tone),
                SpanContent::Choice(choice) => ticked(choice),
            };
            let _ = match (span.tone, class_of(span.tone)) {
                (TextTone::Bold, _) => write!(out, "<strong>{piece}</strong>"),
                (TextTone::GoodMark | TextTone::BadMark | TextTone::Alarm, Some(class)) => {
                    write!(out, "<strong class=\"tone {class}\">{piece}</strong>")
                }
                (_, Some(class)) => write!(out, "<span class=\"tone {class}\">{piece}</span>"),
                _ => write!(out, "{piece}"),
            };
        }
        out
    }

    /// A text from outside on one line; characters that nobody sees are named.
    fn said(&mut self, text: &str) -> String {
        let bounded = truncate_bytes(text, 16 * limits::HTML_TEXT);
        let words: Vec<&str> = bounded.split_whitespace().collect();
        let line = exact_line(&words.join(" "));
        let shown = truncate_width(&line, limits::HTML_TEXT);
        self.is_shortened |= shown.len() < line.len() || bounded.len() < text.len();
        escape(&shown)
    }
}

/// The class of a tone in the style of all pages.
fn class_of(tone: TextTone) -> Option<&'static str> {
    match tone {
        TextTone::Plain | TextTone::Bold => None,
        TextTone::Dim => Some("tone-none"),
        TextTone::Good | TextTone::GoodMark => Some("tone-passed"),
        TextTone::Bad | TextTone::BadMark | TextTone::Alarm => Some("tone-failed"),
        TextTone::Warn => Some("tone-errored"),
        TextTone::Wait => Some("tone-pending"),
    }
}

/// What a cell is called where its row has no room beside others.
fn name_of(head: &StyledText) -> String {
    let own = |span: &StyledSpan| match &span.content {
        SpanContent::Own(text) => escape(text),
        _ => String::new(),
    };
    head.0.iter().map(own).collect()
}

/// A clean text whose blanks count.
fn marked(text: &str, marks: &[std::ops::Range<usize>]) -> String {
    let pieces = StyledText::marked(TextTone::Bad, text, marks).0.into_iter();
    let piece = |span: StyledSpan| match (span.content, span.tone) {
        (SpanContent::Own(text), TextTone::BadMark) => format!("<mark>{}</mark>", escape(&text)),
        (SpanContent::Own(text), _) => escape(&text),
        _ => String::new(),
    };
    pieces.map(piece).collect()
}

/// A checkbox of a form, in a cell of its row.
fn ticked(choice: &ChoiceBox) -> String {
    let ChoiceBox { form, name, .. } = choice;
    let [value, label] = [&choice.value, &choice.label].map(|text| escape(&exact_line(text)));
    format!(
        "<input type=\"checkbox\" form=\"{form}\" name=\"{name}\" value=\"{value}\" aria-label=\"{label}\">"
    )
}

/// An interval from 0 to 1. Its figures are also shown as text.
fn drawn(interval: &DrawnInterval, tone: TextTone) -> String {
    let at = |value: f64| format!("{:.1}%", value.clamp(0.0, 1.0) * 100.0);
    let line = |class: &str, [from, to]: [f64; 2], [top, bottom]: [u8; 2]| {
        let (from, to) = (at(from), at(to));
        format!("<line class=\"{class}\" x1=\"{from}\" x2=\"{to}\" y1=\"{top}\" y2=\"{bottom}\"/>")
    };
    let ends = interval.ends.map(|ends| line("ends", ends, [9, 9]));
    let limit = interval.limit.map(|at| line("limit", [at, at], [1, 17]));
    format!(
        "<svg class=\"drawn {}\" width=\"100%\" height=\"18\" aria-hidden=\"true\">{}{}<circle cx=\"{}\" cy=\"9\" r=\"4\"/>{}</svg>",
        class_of(tone).unwrap_or("tone-info"),
        line("track", [0.0, 1.0], [9, 9]),
        ends.unwrap_or_default(),
        at(interval.value),
        limit.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page::{PASSED, TableColumn, TableRow, bold, code, dim, linked, own, span};
    use crate::report::values;
    use proptest::prelude::*;
    use serde_json::json;

    const ROOMY: HtmlOptions = HtmlOptions {
        most: usize::MAX,
        evidence: usize::MAX,
        rest: "See the report.",
        titles: 0,
    };

    /// A page with each block, in which a text stands wherever one from outside may.
    fn everything(said: &str) -> Page {
        let mut page = Page::default();
        page.title(outside(said));
        page.lead(text![
            PASSED,
            " ",
            bold("PASS"),
            span(TextTone::Alarm, " NOT SANDBOXED")
        ]);
        page.facts([
            ("File".into(), outside(said)),
            ("Id".into(), code(said)),
            ("Page".into(), linked(said, Some("a%20b.html#x".to_owned()))),
        ]);
        page.push(PageBlock::Notice(PageNotice {
            notes: vec![said.to_owned()],
            command: Some(said.to_owned()),
            ..PageNotice::loud(said)
        }));
        page.section("Figures");
        let mut table = PageTable::new([
            TableColumn::left("Metric"),
            TableColumn::right("Value"),
            TableColumn::left("0 to 1"),
        ]);
        table.row([outside(said)]);
        let interval = DrawnInterval {
            value: 0.5,
            ends: Some([0.25, 2.0]),
            limit: Some(0.9),
        };
        let drawn = StyledText::from(SpanContent::Interval(interval)).toned(TextTone::Bad);
        table.row([outside(said), own("0.5"), drawn]);
        table.rows.push(TableRow {
            cells: vec![own("b"), StyledText::default()],
            note: outside(said),
        });
        page.table(table);
        page.push(PageBlock::Bars("rates".into(), vec![Some(1.0), None]));
        page.subsection(text!["Lists of ", outside(said)]);
        let mut item = ListItem::new(
            ListMark::Sign(StyledText::from(PASSED).toned(TextTone::Good)),
            outside(said),
        );
        item.below = vec![PageBlock::Code {
            label: "Output".into(),
            language: "text",
            text: said.to_owned(),
        }];
        let folded = ListItem {
            folded: true,
            ..item.clone()
        };
        page.list([
            item,
            folded,
            ListItem::new(ListMark::Box(false), dim(outside(said))),
        ]);
        page.list([ListItem::new(ListMark::Number, outside(said))]);
        page.push(PageBlock::Copy("Run", said.to_owned()));
        for evidence in evidences(said) {
            page.push(PageBlock::Evidence(evidence));
        }
        page.part(outside(said), true, vec![PageBlock::Words(outside(said))]);
        page.push(PageBlock::Fill(vec![PageBlock::Gap], 3, "failure"));
        page
    }

    fn evidences(said: &str) -> Vec<FailureEvidence> {
        let shown = crate::report::page::PageView::html().limits.evidence;
        let pairs = [
            (json!("a"), json!(format!("b{said}"))),
            (json!(format!("a\nb{said}")), json!(format!("a\nc{said}"))),
        ];
        let of = |(expected, actual)| values::compare(Some(&expected), Some(&actual), shown);
        pairs
            .into_iter()
            .map(of)
            .map(FailureEvidence::Values)
            .collect()
    }

    fn tags(html: &str) -> Vec<&str> {
        let tags = html.split('<').skip(1);
        tags.map(|tag| tag.split_once('>').expect("a tag ends").0)
            .collect()
    }

    /// Whether each element that is open is closed in turn.
    fn is_balanced(html: &str) -> bool {
        let mut open = Vec::new();
        for tag in tags(html) {
            let name = tag.split(' ').next().unwrap_or_default();
            match name.strip_prefix('/') {
                Some(name) if open.pop() != Some(name) => return false,
                None if !tag.ends_with('/') && name != "br" => open.push(name),
                _ => {}
            }
        }
        open.is_empty()
    }

    #[test]
    fn blocks_become_elements() {
        insta::assert_snapshot!(write(&everything("<b>&"), ROOMY), @r#"
        <section class="card" aria-labelledby="title-1">
        <h1 id="title-1"><bdi>&lt;b&gt;&amp;</bdi></h1>
        <p class="lead">✓ <strong>PASS</strong><strong class="tone tone-failed"> NOT SANDBOXED</strong></p>
        <dl class="facts">
        <div><dt>File</dt><dd><bdi>&lt;b&gt;&amp;</bdi></dd></div>
        <div><dt>Id</dt><dd><code>&lt;b&gt;&amp;</code></dd></div>
        <div><dt>Page</dt><dd><a href="a%20b.html#x"><bdi>&lt;b&gt;&amp;</bdi></a></dd></div>
        </dl>
        <div class="notice loud">
        <p><bdi>&lt;b&gt;&amp;</bdi></p>
        <ul class="list">
        <li><div><p><bdi>&lt;b&gt;&amp;</bdi></p></div></li>
        </ul>
        <pre class="command" tabindex="0">
        &lt;b&gt;&amp;</pre>
        </div>
        </section>
        <section class="card" aria-labelledby="title-2">
        <h2 id="title-2">Figures</h2>
        <div class="scrolls" tabindex="0" role="group" aria-labelledby="title-2"><table>
        <thead><tr><th scope="col" class="">Metric</th><th scope="col" class="number">Value</th><th scope="col" class="">0 to 1</th><th scope="col">Remark</th></tr></thead>
        <tbody>
        <tr><th scope="rowgroup" colspan="4"><bdi>&lt;b&gt;&amp;</bdi></th></tr>
        <tr><th scope="row"><bdi>&lt;b&gt;&amp;</bdi></th><td class="number" data-head="Value">0.5</td><td class="" data-head="0 to 1"><span class="tone tone-failed"><svg class="drawn tone-failed" width="100%" height="18" aria-hidden="true"><line class="track" x1="0.0%" x2="100.0%" y1="9" y2="9"/><line class="ends" x1="25.0%" x2="100.0%" y1="9" y2="9"/><circle cx="50.0%" cy="9" r="4"/><line class="limit" x1="90.0%" x2="90.0%" y1="1" y2="17"/></svg></span></td><td data-head="Remark"></td>
        </tr>
        <tr><th scope="row">b</th><td class="number" data-head="Value"></td><td class="" data-head="0 to 1"></td><td data-head="Remark"><bdi>&lt;b&gt;&amp;</bdi></td>
        </tr>
        </tbody></table></div>
        <figure class="bars"><figcaption>rates</figcaption>
        <svg role="img" aria-label="1.00, none" viewBox="0 0 20 30" width="20" height="30"><rect x="0" y="0.0" width="8" height="30.0"/><rect x="10" y="29.0" width="8" height="1.0"/></svg></figure>
        <h3>Lists of <bdi>&lt;b&gt;&amp;</bdi></h3>
        <ul class="list">
        <li class="signed"><span class="sign"><span class="tone tone-passed">✓</span></span>
        <div><p><bdi>&lt;b&gt;&amp;</bdi></p>
        <div class="below">
        <p class="soft small">Output</p>
        <pre class="said" tabindex="0">
        &lt;b&gt;&amp;</pre>
        </div>
        </div></li>
        <li class="signed"><span class="sign"><span class="tone tone-passed">✓</span></span>
        <details><summary><bdi>&lt;b&gt;&amp;</bdi></summary>
        <div class="below">
        <p class="soft small">Output</p>
        <pre class="said" tabindex="0">
        &lt;b&gt;&amp;</pre>
        </div>
        </details></li>
        <li class="signed"><span class="sign">☐</span>
        <div><p><span class="tone tone-none"><bdi>&lt;b&gt;&amp;</bdi></span></p></div></li>
        </ul>
        <ol class="list">
        <li><div><p><bdi>&lt;b&gt;&amp;</bdi></p></div></li>
        </ol>
        <p class="soft small">Run</p>
        <pre class="command" tabindex="0">
        &lt;b&gt;&amp;</pre>
        <div class="two-sides">
        <div class="side missing"><p class="soft small">Expected</p><pre class="said" tabindex="0">
        a</pre></div>
        <div class="side extra"><p class="soft small">Actual</p><pre class="said" tabindex="0">
        b&lt;b&gt;&amp;</pre></div>
        </div>
        <p class="diff-legend small"><span class="tone-fail">− expected</span><span class="tone-pass">+ actual</span></p>
        <div class="diff" tabindex="0" role="group" aria-label="Difference of expected and actual">
        <div class="line same"><span class="sign" aria-hidden="true"> </span><span class="words"><span class="away"></span>a</span></div>
        <div class="line missing"><span class="sign" aria-hidden="true">−</span><span class="words"><span class="away">expected: </span>b&lt;b&gt;&amp;</span></div>
        <div class="line extra"><span class="sign" aria-hidden="true">+</span><span class="words"><span class="away">actual: </span>c&lt;b&gt;&amp;</span></div>
        </div>
        <details><summary><bdi>&lt;b&gt;&amp;</bdi></summary>

        <div class="below">
        <p><bdi>&lt;b&gt;&amp;</bdi></p>
        </div>
        </details>
        <p class="soft small">... and 3 more failures. See the report.</p>
        </section>
        "#);
    }

    #[test]
    fn unseen_characters_are_named_and_long_texts_are_shortened() {
        let page = Page {
            blocks: vec![PageBlock::Words(outside("a\u{202e}\n b"))],
        };
        assert!(write(&page, ROOMY).contains("<p><bdi>a⟨U+202E⟩ b</bdi></p>"));
        let page = Page {
            blocks: vec![PageBlock::Words(outside(&"x".repeat(5_000)))],
        };
        let html = write(&page, ROOMY);
        assert!(html.contains("x…</bdi>"), "{html}");
        assert!(
            html.contains("Texts that end with … are truncated. See the report."),
            "{html}"
        );
    }

    #[test]
    fn full_page_ends_balanced_with_a_notice() {
        let page = everything("text");
        let whole = write(&page, ROOMY);
        assert!(is_balanced(&whole), "{whole}");
        for most in (0..whole.len()).step_by(97) {
            let cut = write(&page, HtmlOptions { most, ..ROOMY });
            assert!(is_balanced(&cut), "{cut}");
            assert!(cut.len() < most + 1_500, "{most} {}", cut.len());
            let says = cut.contains("This page is too large");
            assert_eq!(says, !cut.contains("3 more failures"), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn texts_add_no_markup(text in "([<>&\"'/=-]|</pre>|<!--|\\n|\u{2028}|.){0,30}") {
            let hostile = everything(&format!("t{text}"));
            let written = write(&hostile, ROOMY);
            prop_assert!(is_balanced(&written), "{}", written);
            // How sides are compared depends on what they are.
            let [hostile, plain] = [hostile, everything("text")].map(|mut page| {
                page.blocks.retain(|block| !matches!(block, PageBlock::Evidence(_)));
                write(&page, ROOMY)
            });
            prop_assert_eq!(tags(&hostile), tags(&plain));
        }
    }
}
