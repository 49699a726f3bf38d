//! Reading a patch in git's format.

use super::{MOST_WRITTEN_BYTES, PatchError};
use crate::base85;
use crate::changes::FileMode;
use crate::path::{WorkspacePath, quoted_prefix};

/// Binary contents are at most this long.
const MOST_BINARY_BYTES: u64 = 64 << 20;

/// What a patch does to one file.
pub(super) struct FilePatch<'p> {
    /// Where it begins in the patch, counted from 1.
    pub(super) line: usize,
    pub(super) old: WorkspacePath,
    pub(super) new: WorkspacePath,
    pub(super) action: FileAction,
    pub(super) old_mode: Option<FileMode>,
    pub(super) new_mode: Option<FileMode>,
    /// Full ids of the content before and after.
    pub(super) ids: Option<(&'p str, &'p str)>,
    pub(super) body: PatchBody<'p>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAction {
    Change,
    Create,
    Delete,
    Rename,
    Copy,
}

pub(super) enum PatchBody<'p> {
    Hunks(Vec<PatchHunk<'p>>),
    Binary(Vec<u8>),
}

/// Lines with their ends.
pub(super) struct PatchHunk<'p> {
    pub(super) line: usize,
    pub(super) old_start: usize,
    pub(super) new_start: usize,
    pub(super) old: Vec<&'p str>,
    pub(super) new: Vec<&'p str>,
    /// Whether the hunk ends with a line that stays.
    pub(super) trailing: bool,
}

/// The files of a patch; text before the first is left out.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch<'_>>, PatchError> {
    let mut lines = PatchLines {
        lines: patch.split_inclusive('\n').collect(),
        at: 0,
        binary: 0,
    };
    let mut files = Vec::new();
    while let Some(line) = lines.peek() {
        if lines.begins_file() {
            files.push(lines.file()?);
        } else if !files.is_empty() && line == "-- \n" {
            // What `git format-patch` adds.
            break;
        } else if files.is_empty() || line.trim().is_empty() {
            lines.at += 1;
        } else {
            return Err(lines.error("a line that is not part of a file's change"));
        }
    }
    if files.is_empty() && !patch.trim().is_empty() {
        return Err(lines.error("no file change in git's format"));
    }
    Ok(files)
}

struct PatchLines<'p> {
    lines: Vec<&'p str>,
    at: usize,
    /// Bytes of binary contents so far.
    binary: u64,
}

/// What the lines above the content say.
#[derive(Default)]
struct FileHeader<'p> {
    old: Option<WorkspacePath>,
    new: Option<WorkspacePath>,
    action: Option<FileAction>,
    old_mode: Option<FileMode>,
    new_mode: Option<FileMode>,
    ids: Option<(&'p str, &'p str)>,
}

impl<'p> PatchLines<'p> {
    fn peek(&self) -> Option<&'p str> {
        self.lines.get(self.at).copied()
    }

    fn starts(&self, prefix: &str) -> bool {
        self.peek().is_some_and(|line| line.starts_with(prefix))
    }

    fn error(&self, reason: impl Into<String>) -> PatchError {
        PatchError {
            file: None,
            hunk: None,
            line: Some(self.lines.len().min(self.at + 1)),
            reason: reason.into(),
        }
    }

    fn begins_file(&self) -> bool {
        let next = self.lines.get(self.at + 1);
        self.starts("diff --git ")
            || self.starts("--- ") && next.is_some_and(|line| line.starts_with("+++ "))
    }

    fn file(&mut self) -> Result<FilePatch<'p>, PatchError> {
        let line = self.at + 1;
        let mut header = FileHeader::default();
        if self.starts("diff --git ") {
            self.header(&mut header)?;
        }
        let body = if self.starts("--- ") {
            self.names(&mut header)?;
            self.hunks()?
        } else if self.starts("GIT binary patch") {
            self.at += 1;
            self.binary()?
        } else if self.starts("Binary files ") {
            return Err(
                self.error("a binary file without its content (`git diff --binary` includes it)")
            );
        } else {
            PatchBody::Hunks(Vec::new())
        };
        let (Some(old), Some(new)) = (header.old, header.new) else {
            self.at = line - 1;
            return Err(self.error("the file name is ambiguous"));
        };
        Ok(FilePatch {
            line,
            old,
            new,
            action: header.action.unwrap_or(FileAction::Change),
            old_mode: header.old_mode,
            new_mode: header.new_mode,
            ids: header.ids,
            body,
        })
    }

    fn header(&mut self, header: &mut FileHeader<'p>) -> Result<(), PatchError> {
        let names = self.peek().unwrap_or_default()["diff --git ".len()..].trim_end_matches('\n');
        if let Some((old, new)) = both_names(names) {
            header.old = Some(self.path(&old)?);
            header.new = Some(self.path(&new)?);
        }
        self.at += 1;
        while let Some(line) = self.peek() {
            let line = line.trim_end_matches('\n');
            let after = |prefix: &str| line.strip_prefix(prefix);
            if let Some(mode) = after("old mode ") {
                header.old_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = after("new mode ") {
                header.new_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = after("new file mode ") {
                header.action = Some(FileAction::Create);
                header.new_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = after("deleted file mode ") {
                header.action = Some(FileAction::Delete);
                header.old_mode = Some(self.mode(mode)?);
            } else if let Some(name) = after("rename from ").or_else(|| after("copy from ")) {
                header.old = Some(self.whole_name(name)?);
            } else if let Some(name) = after("rename to ") {
                header.action = Some(FileAction::Rename);
                header.new = Some(self.whole_name(name)?);
            } else if let Some(name) = after("copy to ") {
                header.action = Some(FileAction::Copy);
                header.new = Some(self.whole_name(name)?);
            } else if let Some(index) = after("index ") {
                let (ids, mode) = match index.split_once(' ') {
                    None => (index, None),
                    Some((ids, mode)) => (ids, Some(self.mode(mode)?)),
                };
                header.old_mode = header.old_mode.or(mode);
                let full = |id: &str| id.len() == 40;
                header.ids = ids
                    .split_once("..")
                    .filter(|(old, new)| full(old) && full(new));
            } else if after("similarity index ")
                .or_else(|| after("dissimilarity index "))
                .is_none()
            {
                break;
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The lines `---` and `+++`.
    fn names(&mut self, header: &mut FileHeader<'p>) -> Result<(), PatchError> {
        let named = |line: &str| {
            let name = line[4..].trim_end_matches('\n');
            match quoted_prefix(name) {
                Some((name, _)) => name,
                None => name
                    .split('\t')
                    .next()
                    .unwrap_or_default()
                    .as_bytes()
                    .to_vec(),
            }
        };
        let old = named(self.peek().unwrap_or_default());
        let (old_at, null) = (self.at, &b"/dev/null"[..]);
        self.at += 1;
        if !self.starts("+++ ") {
            return Err(self.error("a line `+++` is missing"));
        }
        let new = named(self.peek().unwrap_or_default());
        let mut agree = |known: &mut Option<WorkspacePath>, name: &[u8], at: usize| {
            self.at = at;
            let path = self.path(name)?;
            if known.as_ref().is_some_and(|known| *known != path) {
                return Err(self.error("the name differs from that in the lines above"));
            }
            *known = Some(path);
            Ok(())
        };
        if old != null {
            agree(&mut header.old, &old, old_at)?;
        } else {
            header.action.get_or_insert(FileAction::Create);
        }
        if new != null {
            agree(&mut header.new, &new, old_at + 1)?;
        } else {
            header.action.get_or_insert(FileAction::Delete);
        }
        self.at = old_at + 2;
        header.old = header.old.take().or_else(|| header.new.clone());
        header.new = header.new.take().or_else(|| header.old.clone());
        Ok(())
    }

    fn hunks(&mut self) -> Result<PatchBody<'p>, PatchError> {
        let mut hunks = Vec::new();
        while self.starts("@@ ") {
            hunks.push(self.hunk().map_err(|error| PatchError {
                hunk: Some(hunks.len() + 1),
                ..error
            })?);
        }
        if hunks.is_empty() {
            return Err(self.error("a line `@@` is missing"));
        }
        Ok(PatchBody::Hunks(hunks))
    }

    fn hunk(&mut self) -> Result<PatchHunk<'p>, PatchError> {
        let line = self.at + 1;
        let ranges = hunk_ranges(self.peek().unwrap_or_default());
        let Some(((old_start, mut old_left), (new_start, mut new_left))) = ranges else {
            return Err(self.error("not the first line of a hunk"));
        };
        self.at += 1;
        let (mut old, mut new, mut trailing) = (Vec::new(), Vec::new(), false);
        while old_left > 0 || new_left > 0 {
            let Some(line) = self.peek() else {
                return Err(self.error("the hunk ends too early"));
            };
            // Some programs cut the blank from an empty line.
            let (sign, text) = if line == "\n" {
                (" ", line)
            } else {
                line.split_at_checked(1).unwrap_or(("", ""))
            };
            let (takes_old, takes_new) = (sign != "+", sign != "-");
            if !matches!(sign, " " | "+" | "-")
                || takes_old && old_left == 0
                || takes_new && new_left == 0
            {
                return Err(self.error("the number of lines in the hunk differs from its header"));
            }
            self.at += 1;
            let text = if self.starts("\\ ") {
                self.at += 1;
                text.trim_end_matches('\n')
            } else {
                text
            };
            if takes_old {
                old_left -= 1;
                old.push(text);
            }
            if takes_new {
                new_left -= 1;
                new.push(text);
            }
            trailing = sign == " ";
        }
        Ok(PatchHunk {
            line,
            old_start,
            new_start,
            old,
            new,
            trailing,
        })
    }

    fn binary(&mut self) -> Result<PatchBody<'p>, PatchError> {
        let size = self
            .peek()
            .and_then(|line| line.trim_end().strip_prefix("literal "));
        let Some(size) = size.and_then(|size| size.parse().ok()) else {
            return Err(self.error(
                "a binary delta, which is not supported; only whole contents (`literal`) are",
            ));
        };
        self.binary = self.binary.saturating_add(size);
        if size > MOST_BINARY_BYTES || self.binary > MOST_WRITTEN_BYTES {
            return Err(
                self.error("the content exceeds 64 MiB, or all contents together exceed 256 MiB")
            );
        }
        let begin = self.at;
        let mut deflated = Vec::new();
        self.at += 1;
        while let Some(line) = self
            .peek()
            .map(|line| line.trim_end_matches('\n'))
            .filter(|line| !line.is_empty())
        {
            let decoded = base85::decode_line(line, &mut deflated);
            decoded.ok_or_else(|| self.error("not a line of a binary change"))?;
            self.at += 1;
        }
        let Some(bytes) = base85::inflate(&deflated, size) else {
            self.at = begin;
            return Err(self.error("the content does not have the stated size"));
        };
        self.at += 1;
        // The way back, which is not needed.
        if self.starts("literal ") || self.starts("delta ") {
            while self.peek().is_some_and(|line| line != "\n") {
                self.at += 1;
            }
        }
        Ok(PatchBody::Binary(bytes))
    }

    fn mode(&self, text: &str) -> Result<FileMode, PatchError> {
        let mode = FileMode::ALL.into_iter().find(|mode| mode.as_str() == text);
        mode.ok_or_else(|| {
            self.error(format!(
                "the mode `{text}` is not the mode of a file or a link"
            ))
        })
    }

    /// A name that begins with `a/` or `b/`.
    fn path(&self, name: &[u8]) -> Result<WorkspacePath, PatchError> {
        let slash = name.iter().position(|byte| *byte == b'/');
        match slash {
            Some(slash) if slash > 0 => self.inside(&name[slash + 1..]),
            _ => Err(self.error("a name without `a/` or `b/`")),
        }
    }

    fn whole_name(&self, name: &str) -> Result<WorkspacePath, PatchError> {
        match crate::path::unquoted(name) {
            Ok(name) => self.inside(&name),
            Err(error) => Err(self.error(error.to_string())),
        }
    }

    fn inside(&self, name: &[u8]) -> Result<WorkspacePath, PatchError> {
        let path = WorkspacePath::new(name).map_err(|error| self.error(error.to_string()))?;
        if path.parts().any(|part| part.eq_ignore_ascii_case(b".git")) {
            return Err(self.error(format!("`{path}` is inside of `.git`")));
        }
        Ok(path)
    }
}

/// Both names of a line `diff --git`. Unquoted ones are equal but for `a/` and `b/`, or other lines
/// have them.
fn both_names(names: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    if let Some((old, rest)) = quoted_prefix(names) {
        return Some((old, crate::path::unquoted(rest.strip_prefix(' ')?).ok()?));
    }
    if let Some(at) = names.find(" \"") {
        let new = crate::path::unquoted(&names[at + 1..]).ok()?;
        return Some((names[..at].into(), new));
    }
    let middle = names.len() / 2;
    let (old, new) = (
        names.get(..middle)?,
        names.get(middle..)?.strip_prefix(' ')?,
    );
    let rest = |name: &str| name.split_once('/').map(|(_, rest)| rest.to_owned());
    (rest(old)? == rest(new)?).then(|| (old.into(), new.into()))
}

/// Start and length of both ranges of `@@ -1,2 +3,4 @@`.
fn hunk_ranges(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        let number = |text: &str| text.parse::<u32>().ok().map(|number| number as usize);
        Some((number(start)?, number(length)?))
    };
    Some((range(old)?, range(new)?))
}
