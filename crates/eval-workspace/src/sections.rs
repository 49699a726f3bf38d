//! One file of a diff in git's format.

use std::fmt::Write;

use eval_match::diff::{DiffOp, DiffTag, diff_until, group_diff_ops};
use sha1::{Digest, Sha1};

use crate::base85;
use crate::changes::{ChangedContent, CompareBounds, CompareState, FileMode};
use crate::path::{WorkspacePath, quoted};

/// Lines around a change.
const CONTEXT: usize = 3;

/// The file before or after a change.
pub(crate) struct SectionSide<'p> {
    pub(crate) path: &'p WorkspacePath,
    pub(crate) mode: FileMode,
    pub(crate) content: SideContent,
}

pub(crate) enum SideContent {
    Text(String),
    Binary(Vec<u8>),
    /// Known to be that of the other side; not read.
    Equal,
    LargeBinary,
    TooLarge,
}

impl SideContent {
    pub(crate) fn of(bytes: Vec<u8>, bounds: &CompareBounds) -> SideContent {
        let length = bytes.len() as u64;
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                let lines = text
                    .split_inclusive('\n')
                    .take(bounds.text_lines.saturating_add(1));
                if length > bounds.text_bytes || lines.count() > bounds.text_lines {
                    SideContent::TooLarge
                } else {
                    SideContent::Text(text)
                }
            }
            _ if length > bounds.binary_bytes => SideContent::LargeBinary,
            Ok(text) => SideContent::Binary(text.into_bytes()),
            Err(error) => SideContent::Binary(error.into_bytes()),
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            SideContent::Text(text) => Some(text.as_bytes()),
            SideContent::Binary(bytes) => Some(bytes),
            SideContent::Equal | SideContent::LargeBinary | SideContent::TooLarge => None,
        }
    }
}

/// The part of a diff about one file.
pub(crate) struct Section {
    pub(crate) text: String,
    pub(crate) content: ChangedContent,
    /// Whether the text lacks the change.
    pub(crate) truncated: bool,
}

impl Section {
    pub(crate) fn new(
        old: Option<SectionSide>,
        new: Option<SectionSide>,
        state: &CompareState,
    ) -> Section {
        if let (Some(before), Some(after)) = (&old, &new)
            && (before.mode == FileMode::Link) != (after.mode == FileMode::Link)
        {
            // As git does where a file becomes a link.
            let deleted = Section::new(old, None, state);
            let added = Section::new(None, new, state);
            return deleted.followed_by(added);
        }
        let mut section = Section {
            text: String::new(),
            content: ChangedContent::Unchanged,
            truncated: false,
        };
        section.write_header(old.as_ref(), new.as_ref());
        if let (Some(SideContent::Equal), Some(SideContent::Equal)) = (
            old.as_ref().map(|side| &side.content),
            new.as_ref().map(|side| &side.content),
        ) {
            return section;
        }
        section.write_contents(old.as_ref(), new.as_ref(), state);
        section
    }

    fn followed_by(mut self, next: Section) -> Section {
        use ChangedContent::{Binary, Text, TooLarge};
        self.text.push_str(&next.text);
        self.truncated |= next.truncated;
        self.content = match (self.content, next.content) {
            (Text { removed, .. }, Text { added, .. }) => Text { added, removed },
            (TooLarge, _) | (_, TooLarge) => TooLarge,
            _ => Binary,
        };
        self
    }

    fn line(&mut self, line: std::fmt::Arguments) {
        // Writing to a text does not fail.
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    fn write_header(&mut self, old: Option<&SectionSide>, new: Option<&SectionSide>) {
        let Some(either) = old.or(new) else { return };
        let before = prefixed("a/", old.unwrap_or(either));
        let after = prefixed("b/", new.unwrap_or(either));
        self.line(format_args!("diff --git {before} {after}"));
        match (old, new) {
            (None, Some(new)) => self.line(format_args!("new file mode {}", new.mode.as_str())),
            (Some(old), None) => self.line(format_args!("deleted file mode {}", old.mode.as_str())),
            (Some(old), Some(new)) => {
                if old.mode != new.mode {
                    self.line(format_args!("old mode {}", old.mode.as_str()));
                    self.line(format_args!("new mode {}", new.mode.as_str()));
                }
                if old.path != new.path {
                    self.line(format_args!("similarity index 100%"));
                    self.line(format_args!("rename from {}", old.path));
                    self.line(format_args!("rename to {}", new.path));
                }
            }
            (None, None) => {}
        }
    }

    fn write_contents(
        &mut self,
        old: Option<&SectionSide>,
        new: Option<&SectionSide>,
        state: &CompareState,
    ) {
        let bytes = |side: Option<&SectionSide>| match side {
            None => Some(Vec::new()),
            Some(side) => side.content.bytes().map(<[u8]>::to_vec),
        };
        let null = || "/dev/null".to_owned();
        let before = old.map_or_else(null, |side| prefixed("a/", side));
        let after = new.map_or_else(null, |side| prefixed("b/", side));
        let (Some(old_bytes), Some(new_bytes)) = (bytes(old), bytes(new)) else {
            self.line(format_args!("Binary files {before} and {after} differ"));
            self.truncated = true;
            let sides = [old, new].into_iter().flatten();
            let unknown = sides
                .into_iter()
                .any(|side| matches!(side.content, SideContent::TooLarge));
            self.content = if unknown {
                ChangedContent::TooLarge
            } else {
                ChangedContent::Binary
            };
            return;
        };
        let id = |side: Option<&SectionSide>, bytes: &[u8]| {
            side.map_or("0".repeat(40), |_| object_id(bytes))
        };
        let mode = match (old, new) {
            (Some(old), Some(new)) if old.mode == new.mode => format!(" {}", new.mode.as_str()),
            _ => String::new(),
        };
        self.line(format_args!(
            "index {}..{}{mode}",
            id(old, &old_bytes),
            id(new, &new_bytes)
        ));
        let text = |side: Option<&SectionSide>| {
            side.is_none_or(|side| matches!(side.content, SideContent::Text(_)))
        };
        let texts = (
            std::str::from_utf8(&old_bytes),
            std::str::from_utf8(&new_bytes),
        );
        let (true, true, (Ok(old_text), Ok(new_text))) = (text(old), text(new), texts) else {
            self.line(format_args!(
                "GIT binary patch\nliteral {}",
                new_bytes.len()
            ));
            self.line(format_args!("{}", base85::encode(&new_bytes)));
            self.content = ChangedContent::Binary;
            return;
        };
        let tab = |side: Option<&SectionSide>| match side {
            Some(side) if side.path.as_bytes().contains(&b' ') => "\t",
            _ => "",
        };
        let head = format!("--- {before}{}\n+++ {after}{}\n", tab(old), tab(new));
        self.content = self.write_hunks(&head, old_text, new_text, state);
    }

    fn write_hunks(
        &mut self,
        head: &str,
        old: &str,
        new: &str,
        state: &CompareState,
    ) -> ChangedContent {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let ops = diff_until(&old, &new, Some(state.deadline()));
        let changed = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        let (removed, added) = changed.fold((0, 0), |(removed, added), op| {
            (
                removed + op.old_range().len() as u64,
                added + op.new_range().len() as u64,
            )
        });
        if removed + added > 0 {
            self.text.push_str(head);
        }
        for hunk in group_diff_ops(ops, CONTEXT) {
            self.write_hunk(&hunk, &old, &new);
        }
        ChangedContent::Text { added, removed }
    }

    fn write_hunk(&mut self, hunk: &[DiffOp], old: &[&str], new: &[&str]) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            return;
        };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        self.line(format_args!(
            "@@ -{} +{} @@",
            hunk_range(&old_range),
            hunk_range(&new_range)
        ));
        for op in hunk {
            if op.tag() == DiffTag::Equal {
                self.write_lines(' ', &old[op.old_range()]);
            } else {
                self.write_lines('-', &old[op.old_range()]);
                self.write_lines('+', &new[op.new_range()]);
            }
        }
    }

    fn write_lines(&mut self, sign: char, lines: &[&str]) {
        for line in lines {
            self.text.push(sign);
            self.text.push_str(line);
            if !line.ends_with('\n') {
                self.text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
}

fn prefixed(prefix: &str, side: &SectionSide) -> String {
    quoted(&[prefix.as_bytes(), side.path.as_bytes()].concat())
}

/// Where a hunk is: an empty range is named by the line before it.
fn hunk_range(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        length => format!("{},{length}", range.start + 1),
    }
}

/// Git's id of a file with these bytes.
pub(crate) fn object_id(bytes: &[u8]) -> String {
    let mut digest = Sha1::new();
    digest.update(format!("blob {}\0", bytes.len()));
    digest.update(bytes);
    let digest = digest.finalize();
    digest
        .iter()
        .fold(String::with_capacity(40), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
