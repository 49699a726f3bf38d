//! Commands that a reader may copy: what to run next.

use crate::base::shell;
use crate::model::Summary;

/// Runs the cases that did not pass once more; `None` when there are none, or no one run has them.
pub fn run_failed_again(summary: &Summary) -> Option<String> {
    let metadata = &summary.metadata;
    // Of joined shards no single run knows all that failed.
    if summary.failures.is_empty() || !metadata.joined.is_empty() {
        return None;
    }
    let mut words = vec!["eval-harness", "run"];
    if let Some(suite) = &metadata.suite_path {
        words.extend(["--suite", suite]);
    }
    words.extend(metadata.rerun_arguments.iter().map(String::as_str));
    words.extend(["--failed-in", &metadata.run_id]);
    shell::line(&words)
}

/// Tests runs against the first of them.
pub fn compare<'a>(runs: impl Iterator<Item = &'a str>) -> Option<String> {
    let words: Vec<&str> = ["eval-harness", "compare"].into_iter().chain(runs).collect();
    shell::line(&words)
}

/// Goes on with a run that was ended early, or starts it anew when it graded again; `None` for one that came to its end.
pub fn resume(summary: &Summary) -> Option<String> {
    let metadata = &summary.metadata;
    let words = match &metadata.regrade_of {
        None => ["eval-harness", "run", "--resume", &metadata.run_id],
        Some(other) => ["eval-harness", "regrade", "--run", other],
    };
    metadata.interrupted.then(|| shell::line(&words)).flatten()
}
