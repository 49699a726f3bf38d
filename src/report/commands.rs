//! Commands that a reader may copy: what to run next.

use crate::model::Summary;
use eval_base::shell;

/// Runs the cases that did not pass once more; `None` when there are none, or no one run has them.
pub fn run_failed_again(summary: &Summary) -> Option<String> {
    let metadata = &summary.metadata;
    // Of joined shards no single run knows all that failed.
    let cases = &summary.summary.cases;
    if cases.passed == cases.total || !metadata.joined.is_empty() {
        return None;
    }
    let mut words = run_words(summary);
    words.extend(["--failed-in", &metadata.run_id]);
    shell::line(&words)
}

/// Shows the cases that did not pass; `None` if there are none or the run is joined from several.
pub fn show_failed(summary: &Summary) -> Option<String> {
    run_failed_again(summary)?;
    let mut words = vec!["eval-harness", "show"];
    words.extend(results_words(summary));
    words.extend(["--run", &summary.metadata.run_id]);
    shell::line(&words)
}

/// The arguments that select the folder of the run's results.
fn results_words(summary: &Summary) -> Vec<&str> {
    let arguments = &summary.metadata.rerun_arguments;
    let dir = arguments.iter().rposition(|word| word == "--output-dir");
    let dir = dir.and_then(|at| arguments.get(at + 1));
    match (dir, &summary.metadata.suite_path) {
        (Some(dir), _) => vec!["--output-dir", dir],
        (None, Some(suite)) => vec!["--suite", suite],
        (None, None) => Vec::new(),
    }
}

/// Shows everything that the journals of the run contain.
pub fn whole_report(summary: &Summary) -> Option<String> {
    let metadata = &summary.metadata;
    let mut words = vec!["eval-harness", "report"];
    words.extend(results_words(summary));
    for run in [&metadata.run_id].into_iter().chain(&metadata.joined) {
        words.extend(["--run", run]);
    }
    words.push("--verbose");
    shell::line(&words)
}

/// Tests runs against the first of them.
pub fn compare<'a>(runs: impl Iterator<Item = &'a str>) -> Option<String> {
    let words: Vec<&str> = ["eval-harness", "compare"]
        .into_iter()
        .chain(runs)
        .collect();
    shell::line(&words)
}

/// Goes on with a run; `None` if it is joined from several, each of which has its own id.
pub fn go_on(summary: &Summary) -> Option<String> {
    let metadata = &summary.metadata;
    let mut words = vec!["eval-harness", "run", "--resume", &metadata.run_id];
    words.extend(results_words(summary));
    metadata
        .joined
        .is_empty()
        .then(|| shell::line(&words))
        .flatten()
}

/// Goes on with a run that was ended early, or starts it anew when it graded again; `None` for one
/// that came to its end.
pub fn resume(summary: &Summary) -> Option<String> {
    let metadata = &summary.metadata;
    let mut words = match &metadata.regrade_of {
        None => vec!["eval-harness", "run", "--resume", &metadata.run_id],
        Some(other) => vec!["eval-harness", "regrade", "--run", other],
    };
    words.extend(results_words(summary));
    metadata.interrupted.then(|| shell::line(&words)).flatten()
}

/// The beginning of a command that runs some of a run's cases again; what [`only`] gives follows
/// it.
pub fn run_some(summary: &Summary) -> Option<String> {
    shell::line(&run_words(summary))
}

/// What runs the suite as it was run.
fn run_words(summary: &Summary) -> Vec<&str> {
    let metadata = &summary.metadata;
    let mut words = vec!["eval-harness", "run"];
    if let Some(suite) = &metadata.suite_path {
        words.extend(["--suite", suite]);
    }
    words.extend(metadata.rerun_arguments.iter().map(String::as_str));
    words
}

/// Flags that choose by ids, which they take for globs, with globs that fit just these ids.
pub fn only(ids: &[(&str, &str)]) -> Option<String> {
    let words = ids.iter().flat_map(|(flag, id)| {
        let glob = literal_glob(id);
        // What begins with `-` would be taken for a flag.
        if glob.starts_with('-') {
            vec![format!("{flag}={glob}")]
        } else {
            vec![(*flag).to_owned(), glob]
        }
    });
    let words: Vec<String> = words.collect();
    shell::line(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn literal_glob(id: &str) -> String {
    let mut glob = String::with_capacity(id.len());
    for c in id.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use eval_base::globs::IdGlobs;

    #[test]
    fn ids_are_chosen_as_they_are() {
        for (id, words) in [
            ("cap-1", "--case cap-1"),
            ("a b", "--case 'a b'"),
            ("[x]*?{a,b}", r"--case '\[x\]\*\?\{a,b\}'"),
            ("-v", "--case=-v"),
        ] {
            assert_eq!(only(&[("--case", id)]).as_deref(), Some(words));
        }
        assert_eq!(only(&[("--eval", "e"), ("--case", "a\nb")]), None);
    }

    proptest! {
        #[test]
        fn a_literal_glob_fits_its_id_and_nothing_else(id in r"[a-c*?\[\]{}\\,!^/.-]{1,12}", other in "[a-c*.]{1,4}") {
            let globs = IdGlobs::new(&[literal_glob(&id)]).expect("a glob");
            prop_assert!(globs.fit(&id));
            // The text of a glob itself counts as an id, too.
            prop_assert_eq!(globs.fit(&other), other == id || other == literal_glob(&id));
        }
    }
}
