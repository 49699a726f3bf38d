//! `eval-harness init` and `eval-harness new`.

use std::path::{Path, PathBuf};

use super::args::{InitArgs, NewArgs, NewKind};
use super::console::Console;
use super::{CliFailure, CliResult, new_regression, scaffold};
use crate::gate::ExitCode;
use eval_base::text::escape_path_component;

pub fn init(console: &Console, args: &InitArgs) -> CliResult {
    if let Some(folder) = &args.skill {
        return install_skill(console, args, folder.as_deref());
    }
    let mut files = scaffold::init_files();
    // What somebody wishes git to ignore is theirs to say.
    files.retain(|(path, _)| !path.ends_with(".gitignore") || !args.dir.join(path).exists());
    write_new(console, args, files)?;
    let suite = args.dir.join("evals/eval-suite.yaml");
    console.result(format!("run it: eval-harness run --suite {}\n", suite.display()).as_bytes())?;
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
    let taken: Vec<String> = files
        .iter()
        .map(|(path, text)| (args.dir.join(path), text))
        // A file that says the same (a schema, say) is in nobody's way.
        .filter(|(path, text)| {
            path.exists() && std::fs::read_to_string(path).ok().as_ref() != Some(text)
        })
        .map(|(path, _)| path.display().to_string())
        .collect();
    if !taken.is_empty() && !args.force {
        return Err(
            CliFailure::wrong(format!("already exists: {}", taken.join(", ")))
                .hint("nothing was written; --force overwrites them"),
        );
    }
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
        NewKind::Capability => "capability",
        NewKind::Regression => "regression",
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
    may_write(&path, args.force)?;
    write(&path, &scaffold::new_eval(folder, id, &path))?;
    let advice = format!(
        "wrote {path}\ncheck it: eval-harness validate {path}\n",
        path = path.display()
    );
    console.result(advice.as_bytes())?;
    Ok(ExitCode::Pass)
}

/// Refuses a file that exists, unless it is to be overwritten.
pub fn may_write(path: &Path, force: bool) -> Result<(), CliFailure> {
    if path.exists() && !force {
        return Err(
            CliFailure::wrong(format!("already exists: {}", path.display()))
                .hint("nothing was written; --force overwrites it"),
        );
    }
    Ok(())
}

pub fn write(path: &Path, text: &str) -> Result<(), CliFailure> {
    let fail = |error| CliFailure::wrong(format!("cannot write {}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    std::fs::write(path, text).map_err(fail)
}
