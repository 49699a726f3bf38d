//! How much of a run is kept at all: in grades, in the journal and in the summary. What of it each
//! report shows is in `crate::report::limits`.
//!
//! A truncated text is marked (`truncated`, an ellipsis, or how much is omitted); an output that is
//! truncated in the journal is stored in full in a file next to it.

// Of targets and steps.

/// Bytes of a command target's stdout that are its output, and of its stderr for a reason.
pub const TARGET_STDOUT: usize = 1 << 20;
pub const TARGET_STDERR: usize = 4 << 10;
/// Bytes of an agent's stdout that are read; the answer in it has the limit of other targets.
pub const AGENT_STDOUT: usize = 64 << 20;
/// Bytes of what a phase's command wrote, from the end, of stdout and stderr together.
pub const STEP_OUTPUT: usize = 64 * 1024;
/// Failed tests of a phase's step, files of results, and characters of a failure's message.
pub const TEST_FAILURES: usize = 50;
pub const TEST_FILES: usize = 20;
pub const TEST_MESSAGE: usize = 500;

/// Bytes of the diff of a workspace, of its changed paths, and of what is known of each.
pub const WORKSPACE_DIFF: usize = 256 << 10;
pub const WORKSPACE_PATH_BYTES: usize = 64 << 10;
/// Bytes of the changed files of one sample that are recorded where the diff does not have all.
pub const WORKSPACE_RECORD: u64 = 64 << 20;
/// The same of all samples of a run.
pub const WORKSPACE_RECORDS: u64 = 8 << 30;

/// Steps of a timeline, and bytes of its texts.
pub const TIMELINE_STEPS: usize = 120;
pub const TIMELINE_BYTES: usize = 32 << 10;
/// Bytes of the file of a recorded trajectory.
pub const TRAJECTORY_FILE: u64 = 64 << 20;

// Of grades.

/// Entries of each list of a grade.
pub const GRADE_ENTRIES: usize = 20;

/// What the proxy of an agent refused, by host or request.
pub const DENIED: usize = 100;
/// Places of a grade in which output and baseline differ.
pub const GRADE_PLACES: usize = 60;
/// Bytes of an expected or actual value.
pub const GRADE_VALUE: usize = 4 << 10;
/// Bytes of a text inside a reason.
pub const REASON_TEXT: usize = 300;
/// Bytes of a grader program's stdout, and of its stderr, from the end. Room for a traceback of
/// several chained exceptions: its head must still be there.
pub const GRADER_STDOUT: usize = 64 << 10;
pub const GRADER_STDERR: usize = 64 << 10;
/// Bytes of a judge's justification, and of one point of its feedback.
pub const JUDGE_TEXT: usize = 8 << 10;
/// Points of feedback, and names of unknown criteria.
pub const JUDGE_POINTS: usize = 20;
/// Bytes of a judge's reply.
pub const JUDGE_REPLY: usize = 64 << 10;

// Of the journal.

/// Bytes above which a line is shortened by all means.
pub const JOURNAL_LINE: usize = 1 << 20;
/// Bytes of an output in the journal, for reports, if the whole output is stored next to it.
pub const OUTPUT_HEAD: usize = 1 << 10;
/// Bytes of a reason, and of each excerpt of a grade, in a line that is too long.
pub const EXCERPT: usize = 4 << 10;
/// Bytes of a sentence of one vote, where there are too many of them.
pub const VOTE_SENTENCE: usize = 256;

// Of the summary.

/// Planned samples up to which everything is listed with its details. Beyond, cases are listed that
/// did not pass in all their samples, at most as many, and details of at most as many samples.
pub const DETAILED_SAMPLES: usize = 20_000;
/// Bytes of text of all details; half is for samples that did not pass, half for those that did.
pub const DETAIL_BYTES: usize = 128 << 20;
/// Bytes of text of one case's input and its context, and what the context may take of it when the
/// two do not fit together.
pub const INPUT_BYTES: usize = 16 << 10;
pub const CONTEXT_BYTES: usize = INPUT_BYTES / 4;
/// Bytes of text of the inputs of all cases.
pub const INPUTS_BYTES: usize = 32 << 20;
/// Entries of `failures` beyond [`DETAILED_SAMPLES`] samples.
pub const LISTED_FAILURES: usize = 1_000;
/// Recommendations.
pub const RECOMMENDATIONS: usize = 7;
/// Groups of one kind that a comparison lists by default.
pub const COMPARED_GROUPS: usize = 200;

// Of a notification.

/// Reasons and failures, and metrics.
pub const NOTIFIED: usize = 20;
pub const NOTIFIED_METRICS: usize = 100;
/// Columns of an id or a name, and of a reason.
pub const NOTIFIED_NAME: usize = 200;
pub const NOTIFIED_REASON: usize = 500;
/// Bytes of what is sent.
pub const NOTIFICATION: usize = 256 << 10;
/// Characters of Slack's text; more than 4,000 are cut off there.
pub const SLACK_TEXT: usize = 3_500;
