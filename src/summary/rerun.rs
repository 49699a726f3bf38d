//! What a further run of the same cases needs of a run's command line.

use crate::model::RunStarted;

/// Flags with a value that say what is asked, how it is judged and where results lie. What only
/// changes how a run goes (`--jobs`, `--progress`, ...) or chooses cases is left out, so that it
/// does not differ between equal runs.
const KEPT: [&str; 9] = [
    "--var",
    "--target",
    "--against",
    "--outputs",
    "--samples",
    "--grader-type",
    "--threshold",
    "--preset",
    "--output-dir",
];
const KEPT_ALONE: &str = "--allow-unsandboxed";

/// The suite file as it was given; `None` when its name is not text.
pub(super) fn suite_path(started: &RunStarted) -> Option<String> {
    started
        .suite_path
        .to_str()
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
}

/// The arguments that are kept, in the order in which they were typed.
pub(super) fn arguments(typed: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = typed.iter();
    while let Some(argument) = rest.next() {
        let (flag, value) = match argument.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (argument.as_str(), None),
        };
        if argument == KEPT_ALONE {
            kept.push(argument.clone());
        } else if KEPT.contains(&flag) {
            let value = value.map(str::to_owned).or_else(|| rest.next().cloned());
            kept.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_further_run_needs_is_kept() {
        let typed = "--suite s.yaml --jobs 4 --outputs=o.jsonl --tag fast -v --var a=b=c --allow-unsandboxed --failed-in x --threshold pass@1=0.9";
        let typed: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        let kept = "--outputs o.jsonl --var a=b=c --allow-unsandboxed --threshold pass@1=0.9";
        assert_eq!(arguments(&typed).join(" "), kept);
        assert_eq!(arguments(&["--target".to_owned()]), Vec::<String>::new());
    }
}
