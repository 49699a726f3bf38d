//! What `run --baseline` compares with.

use std::path::Path;

use super::args::RunArgs;
use super::{CliFailure, suite};
use crate::baseline::{ScoreStore, ScoresError, ScoresOf};
use crate::model::{BaselineStage, Plan, ScoreBaselineRead};

/// The score baseline that the arguments ask for: a file, or the accepted one, with `--against` as
/// it was at that revision.
///
/// # Errors
/// When there is none, or when it can't be used: nothing ran.
pub fn asked(args: &RunArgs, plan: &Plan) -> Result<Option<Box<ScoreBaselineRead>>, CliFailure> {
    let Some(file) = &args.compared.baseline else {
        return Ok(None);
    };
    let of = ScoresOf {
        suite: &plan.suite.name,
        target: &plan.target_name,
    };
    let store = ScoreStore::new(&plan.baselines.dir);
    let rev = args.suite.against.as_deref().filter(|_| file.is_none());
    let (path, found) = match (file, rev) {
        (Some(file), _) => {
            let path = suite::cwd()?.join(file);
            (
                path.clone(),
                Some(ScoreStore::read_file(&path).map_err(named)?),
            )
        }
        (None, Some(rev)) => (
            store.path(of, BaselineStage::Accepted),
            store.at(of, rev).map_err(failure)?,
        ),
        (None, None) => (
            store.path(of, BaselineStage::Accepted),
            store.read(of, BaselineStage::Accepted).map_err(failure)?,
        ),
    };
    let shown = shown(&path, &plan.suite.root);
    let Some(file) = found else {
        return Err(missing(of, &shown, rev));
    };
    if file.suite != of.suite {
        let message = format!(
            "{shown} holds the scores of suite `{}`, not of `{}`",
            file.suite, of.suite
        );
        return Err(CliFailure::wrong(message));
    }
    Ok(Some(Box::new(ScoreBaselineRead {
        path: shown,
        rev: rev.map(str::to_owned),
        file,
    })))
}

pub fn missing(of: ScoresOf<'_>, shown: &str, rev: Option<&str>) -> CliFailure {
    let at = rev.map(|rev| format!(" at `{rev}`")).unwrap_or_default();
    let (suite, target) = (of.suite, of.target);
    CliFailure::wrong(format!("suite `{suite}` has no accepted scores against target `{target}`{at}: there is no {shown}")).hint(
        "`eval-harness baseline capture --scores --run RUN` takes those of a finished run, and `eval-harness baseline accept --scores` accepts them",
    )
}

pub fn failure(error: ScoresError) -> CliFailure {
    let failure = if error.is_definition() {
        CliFailure::wrong(&error)
    } else {
        CliFailure::incomplete(&error)
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A file that somebody names and that can't be read is a wrong word, whatever the reason.
pub fn named(error: ScoresError) -> CliFailure {
    let failure = CliFailure::wrong(&error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Relative to the project's root when it lies below, with `/` between its parts.
fn shown(path: &Path, root: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.display().to_string()
}
