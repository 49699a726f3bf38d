//! Search over the cases of all runs.
//!
//! Rows are compared one by one: a full-text index of trigrams would take several times the room and
//! the time of the index itself (docs/view.md has the figures), and a page ends after a bounded
//! number of rows.

use regex::{Regex, RegexBuilder};

use super::RunIndex;
use super::rows::{CaseCursor, CaseFilter, CaseRow, case_of, each_case, run_number};

/// Cases that are looked at for one page.
const LOOKED_AT: usize = 250_000;
/// Words of a search.
const WORDS: usize = 8;

/// Words that a case must contain, whatever their case.
#[derive(Debug, Default)]
pub struct TextMatcher(Vec<Regex>);

impl TextMatcher {
    /// Words between blanks. Further ones than the first eight are ignored.
    pub fn new(text: &str) -> TextMatcher {
        let words = text.split_whitespace().take(WORDS);
        let pattern = |word| {
            RegexBuilder::new(&regex::escape(word))
                .case_insensitive(true)
                .build()
        };
        TextMatcher(words.filter_map(|word| pattern(word).ok()).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when each word is in one of the texts.
    pub fn fits(&self, texts: &[&str]) -> bool {
        let contains = |word: &Regex| texts.iter().any(|text| word.is_match(text));
        self.0.iter().all(contains)
    }
}

/// Behind which case a page of a search begins: a run, by its place in the list of runs, and a case
/// of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchCursor {
    pub run: usize,
    pub case: CaseCursor,
}

/// Some matches of a search.
#[derive(Debug, Default, PartialEq)]
pub struct SearchPage {
    /// By the place of the run in the list of runs.
    pub rows: Vec<(usize, CaseRow)>,
    /// Where the search goes on; `None` at its end.
    pub next: Option<SearchCursor>,
    /// Runs whose cases the index does not have.
    pub missing: usize,
}

impl RunIndex {
    /// At most `most` cases that fit, run by run in the order of `keys`.
    pub fn search(
        &self,
        keys: &[String],
        filter: &CaseFilter,
        after: SearchCursor,
        most: usize,
    ) -> rusqlite::Result<SearchPage> {
        self.search_within(keys, filter, after, most, LOOKED_AT)
    }

    pub(super) fn search_within(
        &self,
        keys: &[String],
        filter: &CaseFilter,
        after: SearchCursor,
        most: usize,
        looked_at: usize,
    ) -> rusqlite::Result<SearchPage> {
        self.database.with(|connection| {
            let mut page = SearchPage::default();
            let mut left = looked_at;
            let mut from = after.case;
            for (run, key) in keys.iter().enumerate().skip(after.run) {
                if left == 0 {
                    page.next = Some(SearchCursor { run, case: from });
                    return Ok(page);
                }
                let Some(number) = run_number(connection, key)? else {
                    page.missing += 1;
                    from = CaseCursor::default();
                    continue;
                };
                let seen = each_case(connection, number, filter, from, |row| {
                    if page.rows.len() == most {
                        page.next = page.rows.last().map(|(run, row)| SearchCursor {
                            run: *run,
                            case: CaseCursor::of(row),
                        });
                        return Ok(false);
                    }
                    page.rows.push((run, case_of(row)?));
                    Ok(true)
                })?;
                if page.next.is_some() {
                    return Ok(page);
                }
                left = left.saturating_sub(seen);
                from = CaseCursor::default();
            }
            Ok(page)
        })
    }
}
