//! A document as blocks. Its builder says what is in it and in which order; one writer for each
//! medium ([`terminal`], [`markdown`], [`html`]) gives it a form.
//!
//! Texts from outside are put on one line and escaped by the writers, so builders never do.

mod cut;
pub mod escape;
mod evidence;
mod grid;
pub mod html;
pub mod lines;
pub mod markdown;
pub mod terminal;
mod text;
mod view;

use serde::Serialize;

pub use cut::cut;
pub use evidence::FailureEvidence;
pub(crate) use text::text;
pub use text::*;
pub use view::{EvidenceLimits, PageLimits, PageMedium, PageView};

/// Blocks in the order in which they are read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub blocks: Vec<PageBlock>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PageBlock {
    /// A title of level 1 (of the page), 2 or 3.
    Heading(u8, StyledText),
    /// A headline: on a terminal it begins at the edge.
    Lead(StyledText),
    Words(StyledText),
    /// Labels and what they say.
    Facts(Vec<(StyledText, StyledText)>),
    Notice(PageNotice),
    Table(PageTable),
    List(Vec<ListItem>),
    Evidence(FailureEvidence),
    /// Lines that are kept as they are.
    Code {
        label: StyledText,
        language: &'static str,
        text: String,
    },
    /// Lines of a diff with their signs, which are never cut. Their tone says which side they are of.
    Diff(Vec<StyledText>),
    /// A label and what people copy, which is never cut.
    Copy(&'static str, String),
    Part(PageSection),
    /// As many blocks as fit where the size of a page is limited. The second is how many more there
    /// are, with their noun.
    Fill(Vec<PageBlock>, usize, &'static str),
    /// Blocks that take at most a third of a page whose size is limited.
    Bounded(Vec<PageBlock>),
    /// Rates in [0, 1] as bars, behind a label.
    Bars(StyledText, Vec<Option<f64>>),
    /// On a terminal, space between blocks that would follow each other closely.
    Gap,
}

/// A remark that concerns the whole page, or what is around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageNotice {
    /// True for what must not be missed: the numbers can't be trusted as usual.
    pub loud: bool,
    pub headline: String,
    /// Further sentences.
    pub notes: Vec<String>,
    /// What to run next.
    pub command: Option<String>,
}

impl PageNotice {
    pub fn quiet(headline: impl Into<String>) -> Self {
        PageNotice {
            loud: false,
            headline: headline.into(),
            notes: Vec::new(),
            command: None,
        }
    }

    pub fn loud(headline: impl Into<String>) -> Self {
        PageNotice {
            loud: true,
            ..PageNotice::quiet(headline)
        }
    }
}

/// A titled part of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct PageSection {
    pub title: StyledText,
    /// Shown only to who opens it, where the medium can fold.
    pub folded: bool,
    pub blocks: Vec<PageBlock>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ListItem {
    pub mark: ListMark,
    pub text: StyledText,
    pub below: Vec<PageBlock>,
    /// What is below is shown only to who opens it, where the medium can fold.
    pub folded: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ListMark {
    Dash,
    Number,
    Box(bool),
    /// A sign, in its colour.
    Sign(StyledText),
}

impl ListItem {
    pub fn new(mark: ListMark, text: impl Into<StyledText>) -> ListItem {
        ListItem {
            mark,
            text: text.into(),
            below: Vec::new(),
            folded: false,
        }
    }

    pub fn dash(text: impl Into<StyledText>) -> ListItem {
        ListItem::new(ListMark::Dash, text)
    }
}

/// A table. Columns in which every cell is empty are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageTable {
    pub columns: Vec<TableColumn>,
    pub rows: Vec<TableRow>,
    /// What is done where it does not fit beside the edge.
    pub narrow: NarrowLayout,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NarrowLayout {
    /// Each row becomes a sentence.
    #[default]
    Facts,
    /// Tables of some of the columns, each with the first column.
    Split,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    pub head: StyledText,
    /// Aligned to the right.
    pub right: bool,
    /// Columns (of a terminal) that it keeps, at least, of what is cut where there is no room.
    pub least: Option<usize>,
    /// Left out where there is no room.
    pub optional: bool,
    /// What is cut is the beginning of the text, not its end.
    pub keeps_end: bool,
}

/// A row. One with a single cell is a title of those below it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableRow {
    pub cells: Vec<StyledText>,
    /// What is to be said instead of the cells that are empty.
    pub note: StyledText,
}

impl TableColumn {
    pub fn left(head: impl Into<StyledText>) -> TableColumn {
        TableColumn {
            head: head.into(),
            right: false,
            least: None,
            optional: false,
            keeps_end: false,
        }
    }

    pub fn right(head: impl Into<StyledText>) -> TableColumn {
        TableColumn {
            right: true,
            ..TableColumn::left(head)
        }
    }

    /// It may be cut to so many columns.
    pub fn least(self, columns: usize) -> TableColumn {
        TableColumn {
            least: Some(columns),
            ..self
        }
    }

    pub fn optional(self) -> TableColumn {
        TableColumn {
            optional: true,
            ..self
        }
    }
}

impl PageTable {
    pub fn new(columns: impl IntoIterator<Item = TableColumn>) -> PageTable {
        PageTable {
            columns: columns.into_iter().collect(),
            ..PageTable::default()
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = StyledText>) {
        self.rows.push(TableRow {
            cells: cells.into_iter().collect(),
            note: StyledText::default(),
        });
    }

    /// The columns that hold something.
    fn shown(&self) -> Vec<usize> {
        let holds = |at: &usize| {
            let mut rows = self.rows.iter().filter(|row| row.cells.len() > 1);
            *at == 0 || rows.any(|row| row.cells.get(*at).is_some_and(|cell| !cell.is_empty()))
        };
        (0..self.columns.len()).filter(holds).collect()
    }
}

impl Page {
    pub fn push(&mut self, block: PageBlock) {
        self.blocks.push(block);
    }

    pub fn title(&mut self, text: impl Into<StyledText>) {
        self.push(PageBlock::Heading(1, text.into()));
    }

    pub fn section(&mut self, text: impl Into<StyledText>) {
        self.push(PageBlock::Heading(2, text.into()));
    }

    pub fn subsection(&mut self, text: impl Into<StyledText>) {
        self.push(PageBlock::Heading(3, text.into()));
    }

    pub fn lead(&mut self, text: impl Into<StyledText>) {
        self.push(PageBlock::Lead(text.into()));
    }

    /// A paragraph; nothing when there are no words.
    pub fn words(&mut self, text: impl Into<StyledText>) {
        let text = text.into();
        if !text.is_empty() {
            self.push(PageBlock::Words(text));
        }
    }

    /// A text from outside whose lines stay lines: as it is where a line is indented, else in
    /// words.
    pub fn prose(&mut self, text: &str, view: &PageView) {
        let text = text.trim();
        let is_indented = |line: &str| line.starts_with([' ', '\t']);
        if !text.lines().any(is_indented) {
            self.words(outside_lines(text, view.limits.evidence.lines));
            return;
        }
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let lines: Vec<&str> = rest.lines().collect();
        let shown = lines.len().min(view.limits.evidence.lines);
        self.words(outside(first));
        self.push(PageBlock::Code {
            label: StyledText::default(),
            language: "text",
            text: lines[..shown].join("\n"),
        });
        self.more(view, lines.len() - shown, "line");
    }

    /// Facts in a paragraph, with dots between them.
    pub fn line(&mut self, facts: impl IntoIterator<Item = StyledText>) {
        self.words(dim(StyledText::joined(facts, DOT)));
    }

    pub fn table(&mut self, table: PageTable) {
        if !table.rows.is_empty() {
            self.push(PageBlock::Table(table));
        }
    }

    pub fn list(&mut self, items: impl IntoIterator<Item = ListItem>) {
        let items: Vec<ListItem> = items.into_iter().collect();
        if !items.is_empty() {
            self.push(PageBlock::List(items));
        }
    }

    pub fn facts(&mut self, facts: impl IntoIterator<Item = (StyledText, StyledText)>) {
        let facts: Vec<(StyledText, StyledText)> = facts.into_iter().collect();
        if !facts.is_empty() {
            self.push(PageBlock::Facts(facts));
        }
    }

    pub fn part(&mut self, title: impl Into<StyledText>, folded: bool, blocks: Vec<PageBlock>) {
        self.push(PageBlock::Part(PageSection {
            title: title.into(),
            folded,
            blocks,
        }));
    }

    /// How many more there are than a list shows, and where they are.
    pub fn more(&mut self, view: &PageView, hidden: usize, noun: &str) {
        if hidden > 0 {
            self.words(view.more(hidden, noun));
        }
    }
}
