//! `eval-harness init` and `eval-harness new`.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::args::{InitArgs, InitTemplate, NewArgs, NewKind};
use super::baseline::relative;
use super::console::Console;
use super::{CliFailure, CliResult, new_regression, scaffold};
use crate::gate::ExitCode;
use eval_base::text::escape_path_component;
use eval_base::whole_file::write_whole;

pub fn init(console: &Console, args: &InitArgs) -> CliResult {
    if let Some(folder) = &args.skill {
        return install_skill(console, args, folder.as_deref());
    }
    let mut files = scaffold::init_files(args.template);
    // An existing `.gitignore` is kept.
    files.retain(|(path, _)| !path.ends_with(".gitignore") || !args.dir.join(path).exists());
    write_new(console, args, files)?;
    ignore_results(console, &args.dir);
    let suite = args.dir.join("evals/eval-suite.yaml");
    let mut advice = format!("run it: eval-harness run --suite {}\n", suite.display());
    if args.template != InitTemplate::Assistant {
        advice.push_str(&format!(
            "prove it: eval-harness check --suite {}\n\
             then replace the agent (`target` in {}), the project (`workspace`), and the tasks in {}\n",
            suite.display(),
            suite.display(),
            args.dir.join("evals/tasks.yaml").display(),
        ));
    }
    console.result(advice.as_bytes())?;
    Ok(ExitCode::Pass)
}

/// The folder's name is the skill's, as the standard asks.
fn install_skill(console: &Console, args: &InitArgs, folder: Option<&Path>) -> CliResult {
    let folder = folder.unwrap_or_else(|| {
        Path::new(if args.dir.join(".claude").is_dir() {
            ".claude/skills"
        } else {
            ".agents/skills"
        })
    });
    let path = folder.join(scaffold::SKILL_NAME).join("SKILL.md");
    write_new(
        console,
        args,
        vec![(path.display().to_string(), scaffold::SKILL.to_owned())],
    )?;
    console
        .result(b"coding agents that read skills now know how to author, run and read evals\n")?;
    Ok(ExitCode::Pass)
}

/// Writes files below the project's folder; none when one of them is there with another text,
/// unless that was asked for.
fn write_new(
    console: &Console,
    args: &InitArgs,
    files: Vec<(String, String)>,
) -> Result<(), CliFailure> {
    let changed: Vec<PathBuf> = files
        .iter()
        .map(|(path, text)| (args.dir.join(path), text))
        // An identical file does not count as existing.
        .filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(text))
        .map(|(path, _)| path)
        .collect();
    may_write(changed.iter().map(PathBuf::as_path), args.force)?;
    for (path, text) in files {
        write(&args.dir.join(&path), &text)?;
        console.note(&format!("wrote {}", args.dir.join(&path).display()));
    }
    Ok(())
}

pub fn new(console: &Console, args: &NewArgs) -> CliResult {
    if let Some(case) = &args.from {
        return new_regression::from_case(console, args, case);
    }
    let id = args.id.as_deref().unwrap_or_default();
    let folder = match args.kind {
        NewKind::Regression => "regression",
        _ => "capability",
    };
    if id.trim().is_empty() {
        return Err(CliFailure::wrong("an id can't be empty"));
    }
    let default = || {
        PathBuf::from("evals")
            .join(folder)
            .join(format!("{}.yaml", escape_path_component(id)))
    };
    let path = args.output.clone().unwrap_or_else(default);
    let mut files = vec![(path.clone(), scaffold::new_eval(args.kind, id, &path))];
    if args.kind == NewKind::Dataset {
        files.push((scaffold::rows_beside(&path), scaffold::ROWS.to_owned()));
    }
    may_write(files.iter().map(|(path, _)| path.as_path()), args.force)?;
    let mut advice = String::new();
    for (path, text) in &files {
        write(path, text)?;
        advice.push_str(&format!("wrote {}\n", path.display()));
    }
    advice.push_str(&format!(
        "check it: eval-harness validate {}\n",
        path.display()
    ));
    console.result(advice.as_bytes())?;
    Ok(ExitCode::Pass)
}

/// Refuses files that exist, unless they are to be overwritten.
pub fn may_write<'p>(
    paths: impl IntoIterator<Item = &'p Path>,
    force: bool,
) -> Result<(), CliFailure> {
    let taken: Vec<String> = paths
        .into_iter()
        .filter(|path| path.exists())
        .map(|path| path.display().to_string())
        .collect();
    if taken.is_empty() || force {
        return Ok(());
    }
    let them = if taken.len() == 1 { "it" } else { "them" };
    Err(
        CliFailure::wrong(format!("already exists: {}", taken.join(", ")))
            .hint(format!("nothing was written; --force overwrites {them}")),
    )
}

pub fn write(path: &Path, text: &str) -> Result<(), CliFailure> {
    let fail = |error| CliFailure::wrong(format!("cannot write {}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    std::fs::write(path, text).map_err(fail)
}

/// Makes git ignore the results of the new suite, in the repository that holds it; what
/// `.gitignore` says already stays as it is.
fn ignore_results(console: &Console, dir: &Path) {
    // Without links and `..`, so that its ancestors are the folders that hold it.
    let Ok(dir) = dir.canonicalize() else {
        return;
    };
    let Some(root) = dir.ancestors().find(|dir| dir.join(".git").exists()) else {
        return;
    };
    let file = root.join(".gitignore");
    let shown = relative(&file);
    if file.is_symlink() {
        return console.warn(&format!(
            "{shown} is a symbolic link; add `{RESULTS}` to it"
        ));
    }
    let outcome = match std::fs::read(&file) {
        Ok(text) => with_results(&text).map(|text| ("added", text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some(("wrote", format!("{RESULTS}\n").into_bytes()))
        }
        Err(error) => {
            return console.warn(&format!(
                "cannot read {shown}: {error}; add `{RESULTS}` to it"
            ));
        }
    };
    let Some((done, text)) = outcome else { return };
    let written = write_whole(&file, |out| -> std::io::Result<()> {
        if let Ok(there) = file.metadata() {
            out.set_permissions(there.permissions())?;
        }
        out.write_all(&text)
    });
    match written {
        Ok(()) if done == "added" => {
            console.note(&format!("added `{RESULTS}` to {shown}"));
        }
        Ok(()) => console.note(&format!("wrote {shown}")),
        Err(error) => console.warn(&format!(
            "cannot write {shown}: {error}; add `{RESULTS}` to it"
        )),
    }
}

/// The line of `.gitignore` for the results folder, which is in the root of the repository.
const RESULTS: &str = "/results/";

/// A `.gitignore` with the results folder; `None` if a line of it is about that folder.
fn with_results(text: &[u8]) -> Option<Vec<u8>> {
    let is_about = |line: &[u8]| {
        let line = line.trim_ascii();
        let line = line.strip_prefix(b"!").unwrap_or(line);
        let line = line.strip_prefix(b"**").unwrap_or(line);
        let line = line.strip_prefix(b"/").unwrap_or(line);
        let line = line
            .strip_suffix(b"**")
            .or(line.strip_suffix(b"*"))
            .unwrap_or(line);
        line.strip_suffix(b"/").unwrap_or(line) == b"results"
    };
    if text.split(|byte| *byte == b'\n').any(is_about) {
        return None;
    }
    let end: &[u8] = match text.windows(2).any(|pair| pair == b"\r\n") {
        true => b"\r\n",
        false => b"\n",
    };
    let mut with = text.to_owned();
    if !text.is_empty() && !text.ends_with(b"\n") {
        with.extend_from_slice(end);
    }
    with.extend_from_slice(RESULTS.as_bytes());
    with.extend_from_slice(end);
    Some(with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gitignore_gains_the_results_folder_once() {
        let table: [(&str, Option<&str>); 8] = [
            ("", Some("/results/\n")),
            ("target\n", Some("target\n/results/\n")),
            ("target", Some("target\n/results/\n")),
            ("a\r\nb", Some("a\r\nb\r\n/results/\r\n")),
            ("my-results/\n", Some("my-results/\n/results/\n")),
            ("x\nresults\n", None),
            ("**/results/\r\n", None),
            ("!/results/*\n", None),
        ];
        for (text, expected) in table {
            let with = with_results(text.as_bytes());
            assert_eq!(with.as_deref(), expected.map(str::as_bytes), "of {text:?}");
            if let Some(with) = with {
                assert_eq!(with_results(&with), None, "of {text:?}");
            }
        }
        let latin = [0xE9, b'\n'];
        let with = with_results(&latin).unwrap();
        assert_eq!(with, [&latin[..], b"/results/\n"].concat());
    }
}
