//! Paths below the project root as seen from there: what steps say is kept in git, and read on
//! other machines.

use std::path::Path;

use crate::model::StepResult;

/// Takes the root out of what a step says. What a target or a candidate said stays as it was
/// judged.
pub fn from_root(result: &mut StepResult, root: &Path) {
    let Some(root) = root
        .to_str()
        .map(|root| root.trim_end_matches('/'))
        .filter(|root| root.len() > 1)
    else {
        return;
    };
    let put = |text: &mut String| {
        if text.contains(root) {
            *text = without(text, root);
        }
    };
    result.texts_mut().for_each(put);
    result
        .eval
        .iter_mut()
        .flat_map(|eval| &mut eval.eval_report.recommendations)
        .for_each(put);
}

/// `/p/src/a.rs` as `src/a.rs`, and `/p` as `.`; another path that only holds or begins with the
/// root's text stays.
fn without(text: &str, root: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "/._-~+@".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(root) {
        let (before, found) = rest.split_at(at);
        let after = found.strip_prefix(root).unwrap_or_default();
        out.push_str(before);
        let begins = !out.chars().next_back().is_some_and(is_part);
        let below = after
            .strip_prefix('/')
            .filter(|below| below.starts_with(|c: char| is_part(c) && c != '/'));
        let ended = after.trim_start_matches(['/', '.']);
        rest = match below {
            Some(below) if begins => below,
            None if begins && !ended.starts_with(is_part) => {
                out.push('.');
                after
            }
            _ => {
                out.push_str(root);
                after
            }
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_project_are_told_from_its_root() {
        for (text, told) in [
            ("at /home/a/p/src/x.rs:3", "at src/x.rs:3"),
            (
                "File \"/home/a/p/t.py\", line 1, /home/a/p/u.py",
                "File \"t.py\", line 1, u.py",
            ),
            ("rootdir: /home/a/p\n", "rootdir: .\n"),
            ("/home/a/p", "."),
            ("cd /home/a/p/ && make", "cd ./ && make"),
            ("/home/a/p.", ".."),
            ("/home/a/p2/x", "/home/a/p2/x"),
            ("/home/a/p-old", "/home/a/p-old"),
            ("/mnt/home/a/p/x", "/mnt/home/a/p/x"),
            (
                "`--suite '/home/a/p/my evals/s.yaml'`",
                "`--suite 'my evals/s.yaml'`",
            ),
            ("/home/a/p//x", "/home/a/p//x"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(without(text, "/home/a/p"), told, "{text}");
        }
    }
}
