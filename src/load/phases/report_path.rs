//! Where the report of a phase may lie: inside the project.

use std::path::{Path, PathBuf};

use super::PhaseDesk;
use crate::load::problem::{Code, Problem};
use crate::load::refs::{PathFence, lexical};
use crate::load::source::Span;
use eval_base::text::escape_path_component;

/// What stands for the id of the phase.
pub(super) const PLACEHOLDER: &str = "{phase_id}";

/// A report path as written, with the id in its place; `None` when it can't be used, which is told.
pub(super) fn resolve(desk: &mut PhaseDesk, text: &str, id: &str, at: Span) -> Option<PathBuf> {
    match judged(text, id, &desk.dir, &desk.root, &desk.path) {
        Ok(path) => Some(path),
        Err((code, message, hint)) => {
            desk.problem(Problem::error(code, at, message).maybe_hint(hint));
            None
        }
    }
}

type PathFault = (Code, String, Option<String>);

fn judged(
    text: &str,
    id: &str,
    dir: &Path,
    root: &Path,
    file: &Path,
) -> Result<PathBuf, PathFault> {
    if text.trim().is_empty() || text.contains('\0') {
        return Err((
            Code::BadPath,
            "the path is empty or holds a NUL".to_owned(),
            None,
        ));
    }
    if let Some(unknown) = placeholders(text)
        .into_iter()
        .find(|word| *word != PLACEHOLDER)
    {
        let message = format!("`{unknown}` stands for nothing in a report path");
        return Err((
            Code::BadTemplate,
            message,
            Some(format!("the id of the phase is `{PLACEHOLDER}`")),
        ));
    }
    if text.ends_with('/') {
        return Err((
            Code::BadPath,
            format!("`{text}` is a folder, not a file"),
            None,
        ));
    }
    let path = lexical(&dir.join(text.replace(PLACEHOLDER, &escape_path_component(id))));
    let escapes = || {
        let hint = "reports stay inside the project: the nearest folder above with a `.git`, else the folder of this file";
        (
            Code::EscapingRef,
            format!("`{text}` leads out of the project"),
            Some(hint.to_owned()),
        )
    };
    if !path.starts_with(root) {
        return Err(escapes());
    }
    // What is a link on the way may lead elsewhere; what is not there yet will lie in the deepest
    // folder that is.
    let fence = PathFence::new([root]);
    let parent = path.parent().unwrap_or(&path);
    let real = parent
        .ancestors()
        .find_map(|above| above.canonicalize().ok());
    if !real.is_some_and(|real| fence.holds(&real))
        || path.canonicalize().is_ok_and(|real| !fence.holds(&real))
    {
        return Err(escapes());
    }
    if path.is_dir() {
        return Err((
            Code::BadPath,
            format!("`{text}` is a folder, not a file"),
            None,
        ));
    }
    if path == file || path.with_extension("json") == file {
        return Err((
            Code::BadPath,
            "the report would take the place of this file".to_owned(),
            None,
        ));
    }
    Ok(path)
}

/// Everything in braces, with its braces.
fn placeholders(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let from = &rest[open..];
        let end = from.find('}').map_or(from.len(), |close| {
            close
                + from[close..]
                    .bytes()
                    .take_while(|byte| *byte == b'}')
                    .count()
        });
        found.push(&from[..end]);
        rest = &from[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, root: &Path) -> String {
        match judged(
            text,
            "Phase 3/a",
            &root.join("plans"),
            root,
            &root.join("plans/plan.yaml"),
        ) {
            Ok(path) => path
                .strip_prefix(root)
                .expect("inside")
                .display()
                .to_string(),
            Err((code, message, _)) => format!("{}: {message}", code.slug()),
        }
    }

    #[test]
    fn a_report_path_is_filled_in_and_stays_inside() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(root.join("plans/kept")).expect("a folder");
        std::os::unix::fs::symlink(elsewhere.path(), root.join("out")).expect("a link");
        std::fs::write(elsewhere.path().join("there.md"), "x").expect("a file");
        std::os::unix::fs::symlink(elsewhere.path().join("there.md"), root.join("link.md"))
            .expect("a link");
        let table = [
            ("./r/phase-{phase_id}.md", "plans/r/phase-Phase%203%2Fa.md"),
            ("{phase_id}/{phase_id}", "plans/Phase%203%2Fa/Phase%203%2Fa"),
            ("../r.md", "r.md"),
            (
                "../../r.md",
                "escaping-ref: `../../r.md` leads out of the project",
            ),
            (
                "/tmp/r.md",
                "escaping-ref: `/tmp/r.md` leads out of the project",
            ),
            (
                "../out/r.md",
                "escaping-ref: `../out/r.md` leads out of the project",
            ),
            (
                "../out/new/r.md",
                "escaping-ref: `../out/new/r.md` leads out of the project",
            ),
            (
                "../link.md",
                "escaping-ref: `../link.md` leads out of the project",
            ),
            (
                "{phaseid}.md",
                "bad-template: `{phaseid}` stands for nothing in a report path",
            ),
            (
                "{{phase_id}}.md",
                "bad-template: `{{phase_id}}` stands for nothing in a report path",
            ),
            (
                "{phase_id",
                "bad-template: `{phase_id` stands for nothing in a report path",
            ),
            ("kept", "bad-path: `kept` is a folder, not a file"),
            ("new/", "bad-path: `new/` is a folder, not a file"),
            (
                "plan.yaml",
                "bad-path: the report would take the place of this file",
            ),
            (" ", "bad-path: the path is empty or holds a NUL"),
        ];
        for (text, expected) in table {
            assert_eq!(said(text, &root), expected, "{text}");
        }
    }
}
