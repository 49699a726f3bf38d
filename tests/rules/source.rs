//! Reads the house's own source: files, and Rust text with comments and literals blanked.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};

/// A Rust file below `src/`.
pub struct Source {
    /// Relative to `src/`, with `/`.
    pub path: String,
    pub text: String,
    /// The text with comments and the inside of literals as spaces; lines stay where they are.
    pub code: String,
}

/// Every `.rs` file below `src/`, by path.
pub fn all() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    assert!(files.len() > 50, "only {} files below {}", files.len(), root.display());
    files
        .into_iter()
        .map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            let path = file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            let code = blank(&text);
            Source { path, text, code }
        })
        .collect()
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// Replaces comments, texts and characters by spaces.
pub fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end > at {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// The end of the comment or literal that starts at `at`, or `at` when none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let rest = |n: usize| chars.get(at + n).copied().unwrap_or('\0');
    match (rest(0), rest(1)) {
        ('/', '/') => (at..chars.len()).find(|i| chars[*i] == '\n').unwrap_or(chars.len()),
        ('/', '*') => block_comment_end(chars, at),
        ('"', _) => text_end(chars, at + 1),
        ('r', '"' | '#') if !(at > 0 && is_word(chars[at - 1]) && chars[at - 1] != 'b') => {
            raw_text_end(chars, at)
        }
        ('\'', '\\') => (at + 3..chars.len()).find(|i| chars[*i] == '\'').map_or(chars.len(), |i| i + 1),
        ('\'', _) if rest(2) == '\'' => at + 3,
        _ => at,
    }
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (1, at + 2);
    while i + 1 < chars.len() && depth > 0 {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => (depth, i) = (depth + 1, i + 2),
            ('*', '/') => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
    }
    if depth == 0 { i } else { chars.len() }
}

fn text_end(chars: &[char], mut i: usize) -> usize {
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

fn raw_text_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    if chars.get(at + 1 + hashes) != Some(&'"') {
        return at;
    }
    let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let start = at + 2 + hashes;
    (start..chars.len())
        .find(|i| chars[*i..].starts_with(&closing))
        .map_or(chars.len(), |i| i + closing.len())
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The line of a byte position, from 1.
pub fn line_of(text: &str, byte: usize) -> usize {
    text[..byte].matches('\n').count() + 1
}
