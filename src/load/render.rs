//! Problems for people and for machines. Pure: everything returns text.

use super::problem::Problems;
use super::source::Sources;

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
        HumanOptions { width: 80, colour: false, limit: 50 }
    }
}

/// With the line of the file and a caret.
pub fn human(problems: &Problems, sources: &Sources, options: HumanOptions) -> String {
    let _ = (problems, sources, options);
    String::new()
}

/// A JSON array of `{code, slug, severity, file, line, column, end_line, end_column, message, hint}`.
pub fn json(problems: &Problems, sources: &Sources) -> String {
    let _ = (problems, sources);
    String::new()
}

/// Workflow commands that GitHub shows beside the lines of a change.
pub fn github(problems: &Problems, sources: &Sources) -> String {
    let _ = (problems, sources);
    String::new()
}
