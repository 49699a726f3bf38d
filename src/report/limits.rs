//! How much of a list, a text or a page is shown, by medium. Every limit is defined here and nowhere
//! else; what is kept of a run at all is in [`crate::model::limits`].
//!
//! Whatever is omitted is counted where it is omitted, with where all of it is: `--verbose`
//! and the JSON report on a terminal, the JSON report in Markdown, the report in a comment, the
//! table of cases and the journal in HTML, the JSON report in JUnit. docs/running.md has the table.

use super::page::{EvidenceLimits, PageLimits};

/// Bytes of a value that are read to show it.
pub const READ: usize = 1 << 20;
/// Lines of each side that are compared, from the first that differs.
pub const COMPARED: usize = 300;
/// Replies of one vote, and bytes of each.
pub const REPLIES: usize = 3;
pub const REPLY: usize = 2_000;
/// Names in a sentence: of cases and probes of a check, of refused requests or models of agents, and
/// of cases that passed although a sample failed.
pub const CHECK_NAMES: usize = 4;
pub const NOTICE_NAMES: usize = 5;
pub const TOLERATED_CASES: usize = 5;
/// Evals and cases of a page that puts several targets side by side.
pub const SIDES_ROWS: usize = 200;

/// Lines and bytes of a value, unchanged lines around a change, places that differ, and columns of
/// one side of a place.
const fn values([lines, bytes, context, places, columns]: [usize; 5]) -> EvidenceLimits {
    EvidenceLimits {
        lines,
        bytes,
        context,
        places,
        columns,
        unicode: true,
    }
}

pub mod terminal {
    use super::{PageLimits, values};

    /// Lines of a list that shares the screen, such as failures; of what does not fit the titles of
    /// so many.
    pub const FILLED: usize = 24;
    pub const NAMED: usize = 10;
    /// Evals of a run that are listed without `--verbose`; of more of them only those
    /// that did not pass.
    pub const EVALS: usize = 10;

    pub const LISTS: PageLimits = PageLimits {
        evals: 40,
        failures: 40,
        named: 0,
        cases: 10,
        eval_cases: 1,
        groups: 12,
        metrics: usize::MAX,
        notes: 8,
        verdict: 12,
        judged: 0,
        evidence: values([12, 4_000, 1, 12, 72]),
    };

    /// With `--verbose`.
    pub const VERBOSE: PageLimits = PageLimits {
        evals: usize::MAX,
        failures: 1_000,
        named: 0,
        cases: usize::MAX,
        eval_cases: 3,
        groups: usize::MAX,
        metrics: usize::MAX,
        notes: usize::MAX,
        verdict: 200,
        judged: 200,
        evidence: values([60, 20_000, 3, 60, 72]),
    };

    /// Lines of a paragraph, without and with `--verbose`.
    pub const LINES: usize = 8;
    pub const LINES_VERBOSE: usize = 20;
    /// Lines of one side of a difference.
    pub const SIDE_LINES: usize = 4;
    /// Lines of a tool's result in a trajectory, without `--verbose`.
    pub const RESULT_LINES: usize = 12;
    /// Outcomes of the last runs of an eval, where there is room.
    pub const HISTORY_RUNS: usize = 40;
    /// Places of a pending baseline, or lines of a new one, in `baseline diff` and in `baseline
    /// review`.
    pub const BASELINE_DIFF: usize = 40;
    pub const BASELINE_REVIEW: usize = 200;
    /// Cases of each kind in `baseline diff --scores`.
    pub const SCORE_CASES: usize = 40;
}

pub mod markdown {
    use super::{PageLimits, values};

    pub const LISTS: PageLimits = PageLimits {
        evals: 100,
        failures: 50,
        named: 200,
        cases: 100,
        eval_cases: 3,
        groups: 50,
        metrics: 100,
        notes: 50,
        verdict: 50,
        judged: 50,
        evidence: values([40, 3_000, 3, 40, 120]),
    };

    /// Columns of a text in a table, in a title, or as code.
    pub const CELL: usize = 160;
    /// Columns of a sentence.
    pub const SENTENCE: usize = 1_000;
    /// Bytes of an escaped text: what must be escaped throughout grows to a multiple of its length.
    pub const ESCAPED: usize = 2_000;
    /// Bytes of a code block.
    pub const CODE: usize = 3_000;
    /// Columns of one side of a difference.
    pub const SIDE: usize = 240;
}

/// A comment on a pull request.
pub mod comment {
    use super::{EvidenceLimits, PageLimits, markdown};

    /// Bytes of a comment. GitHub refuses one of more than 65,536 characters.
    pub const LARGEST: usize = 60_000;
    /// The share of it that folded parts, and bounded ones, may each take: one of so many.
    pub const FOLDS: usize = 8;
    pub const BOUNDED: usize = 3;
    /// Bytes of a command that is repeated.
    pub const COMMAND: usize = 750;

    pub const LISTS: PageLimits = PageLimits {
        evals: 0,
        failures: 10,
        named: 0,
        cases: 10,
        eval_cases: 3,
        groups: 10,
        metrics: 30,
        notes: 10,
        verdict: 0,
        judged: 0,
        evidence: EvidenceLimits {
            places: 20,
            ..markdown::LISTS.evidence
        },
    };
}

/// The interactive page of a run.
pub mod html {
    /// Bytes of all data, which is to stay below 20 MB. What the table of cases holds comes first:
    /// ids of great length leave less room for details.
    pub const DATA: usize = 18 << 20;
    /// Bytes of the table of cases; where ids are so long that this does not suffice, the page
    /// holds fewer cases.
    pub const TABLE: usize = 12 << 20;
    /// Cases that a page holds at most.
    pub const CASES: usize = 10_000;
    /// Bytes of a reason, or of a name, in the table; columns of an output, and of an expected
    /// value, which is shown only when it is not longer.
    pub const TABLE_TEXT: usize = 160;
    pub const TABLE_OUTPUT: usize = 80;
    pub const TABLE_EXPECTED: usize = 40;

    /// Bytes of all blocks of details together.
    pub const DETAILS: usize = 14 << 20;
    /// Bytes of one case, beyond which its own texts are truncated further.
    pub const CASE: usize = 1 << 20;
    /// Samples of one case.
    pub const SAMPLES: usize = 100;
    /// Entries of a list.
    pub const ENTRIES: usize = 50;
    /// Places of a structural difference, and columns of one side.
    pub const PLACES: usize = 40;
    pub const PLACE_SIDE: usize = 160;

    /// Failed cases on the overview, and cases that passed with a failed sample; the table of cases
    /// lists all.
    pub const FAILURES: usize = 10;
    /// Samples that passed on a later attempt only.
    pub const FLAKY: usize = 20;
    /// Models and judges.
    pub const MODELS: usize = 50;
    /// Evals by what they cost.
    pub const COSTLY_EVALS: usize = 100;
    /// Groups of one kind.
    pub const GROUPS: usize = 500;
    /// Evals, and bytes of their ids and categories; the table of cases has the others, too.
    pub const EVALS: usize = 2_000;
    pub const EVAL_NAMES: usize = 1 << 20;
    /// Bytes of a text from outside, and of one side of a failure.
    pub const TEXT: usize = 600;
    pub const SIDE: usize = 1_200;
}

pub mod junit {
    use super::{EvidenceLimits, values};

    pub const VALUES: EvidenceLimits = values([60, 8_000, 3, 40, 160]);
    /// Earlier attempts of a case.
    pub const RERUNS: usize = 20;
    /// Columns of a `message`.
    pub const MESSAGE: usize = 500;
}

pub mod annotations {
    /// GitHub shows ten of each level of a step, and drops the rest.
    pub const SHOWN: usize = 10;
    /// Cases of an eval in a message.
    pub const CASES: usize = 3;
    /// Lines of a message.
    pub const LINES: usize = 6;
    /// Columns of a title and of a line of a message.
    pub const TITLE: usize = 120;
    pub const LINE: usize = 300;
}

/// What the report of a phase adds to the lists of its medium.
pub mod phase {
    use super::{PageLimits, terminal, values};

    /// Files of the implementation, and cases without a human grade.
    pub const FILES: usize = 50;
    /// How much of what a failed command wrote, from its end, without and with `--verbose`.
    pub const TAIL_LINES: usize = 30;
    pub const TAIL_BYTES: usize = 3_000;
    pub const TAIL_LINES_VERBOSE: usize = 100;
    pub const TAIL_BYTES_VERBOSE: usize = 10_000;
    /// Failed tests of a step, and notes.
    pub const FAILURES: usize = 20;
    pub const NOTES: usize = 5;
    /// Bytes of expected and actual values in a document: one that is too long is not shown by
    /// those who host it.
    pub const EVIDENCE: usize = 120_000;

    /// The page for the browser.
    pub const HTML: PageLimits = PageLimits {
        evals: 10_000,
        eval_cases: 10,
        evidence: values([60, 6_000, 3, 40, 200]),
        ..terminal::VERBOSE
    };
    /// Bytes of its expected and actual values, and of the whole page, about.
    pub const HTML_EVIDENCE: usize = 2_000_000;
    pub const HTML_PAGE: usize = 8_000_000;
    /// Columns of a text from outside, and bytes of a code block.
    pub const HTML_TEXT: usize = 4_000;
    pub const HTML_CODE: usize = 20_000;
}

/// The page of `review`.
pub mod review {
    /// Bytes of a text.
    pub const TEXT: usize = 1 << 20;
}

/// Pages of `view`.
pub mod view {
    use super::{PageLimits, terminal, values};

    /// Rows of a page of a list; further ones are on the next page.
    pub const RUNS: usize = 100;
    pub const CASES: usize = 100;
    pub const MATCHES: usize = 50;
    /// Evals of a run that is too large for one page.
    pub const EVALS: usize = 200;
    /// Runs of a trend, the latest.
    pub const TREND: usize = 200;
    /// Runs that are compared with one.
    pub const CANDIDATES: usize = 5;
    /// Bytes of a journal, and cases, of a run that is shown as its HTML report.
    pub const JOURNAL: u64 = 24 << 20;
    pub const REPORT_CASES: usize = 5_000;
    /// Columns of a reason and of an output in a list of cases.
    pub const REASON: usize = 160;
    pub const OUTPUT: usize = 120;

    /// One case in full.
    pub const CASE: PageLimits = PageLimits {
        evidence: values([2_000, 200_000, 5, 200, 200]),
        ..terminal::VERBOSE
    };
    /// Bytes of a page, and of its expected and actual values.
    pub const PAGE: usize = 8_000_000;
    pub const EVIDENCE: usize = 4_000_000;
}
