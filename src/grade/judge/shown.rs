//! What a judge sees of a sample besides the output.

use super::METHOD;
use super::prompt::ShownText;
use crate::grade::{NO_TRAJECTORY, NO_WORKSPACE};
use crate::graders::trajectory_gap;
use crate::model::{Cause, Grade, GraderType, Judge, Output, TrajectoryRecord};
use crate::workspace::FinishedWorkspace;
use eval_workspace::EntryNow;

/// The parts in the order that judges see, unquoted.
///
/// # Errors
/// The grade where there is no workspace or trajectory, steps are missing, or a part is too long to be seen in full: what is left out
/// could be the change that decides.
pub(super) async fn texts(
    judge: &Judge,
    output: &Output,
    workspace: Option<&FinishedWorkspace>,
) -> Result<Vec<ShownText>, Grade> {
    let shown = &judge.shown;
    if shown.is_empty() {
        return Ok(Vec::new());
    }
    let errored = |cause, reason| Grade::errored(GraderType::Model, METHOD, cause, reason);
    let mut parts = Vec::new();
    if shown.trajectory {
        let record = output.trajectory.as_deref();
        let Some(trajectory) = record.and_then(TrajectoryRecord::content) else {
            return Err(errored(Cause::MissingOutput, NO_TRAJECTORY.to_owned()));
        };
        if let Some(why) = trajectory_gap(trajectory) {
            return Err(errored(Cause::MissingOutput, why));
        }
        parts.push(ShownText {
            name: "TRAJECTORY".to_owned(),
            title: "What the agent said and did, step by step:",
            text: trajectory.to_string(),
        });
    }
    if !shown.of_workspace() {
        return Ok(parts);
    }
    let Some(workspace) = workspace else {
        return Err(errored(Cause::MissingOutput, NO_WORKSPACE.to_owned()));
    };
    if shown.diff {
        let diff = &workspace.output().diff;
        if diff.truncated {
            return Err(too_long("DIFF", judge));
        }
        let mut text = diff.text.clone();
        for path in &workspace.changes().special {
            text += &format!("a pipe, a socket or a device was made: {path}\n");
        }
        parts.push(ShownText {
            name: "DIFF".to_owned(),
            title: if text.is_empty() {
                "The diff of its workspace is empty:"
            } else {
                "The diff of its workspace, in git's unified format:"
            },
            text,
        });
    }
    // A character has at most four bytes.
    let most = (judge.max_chars as u64).saturating_mul(4);
    for (at, path) in shown.files.iter().enumerate() {
        let name = format!("FILE {}", at + 1);
        let entry = match workspace.file(path, most).await {
            Ok(entry) => entry,
            Err(fault) => return Err(errored(fault.cause, fault.reason)),
        };
        let text = match entry {
            EntryNow::Absent => format!("{path} (does not exist)"),
            EntryNow::Folder => format!("{path} (is a folder)"),
            EntryNow::Link { .. } => format!("{path} (is a symbolic link, which is not followed)"),
            EntryNow::Special => format!("{path} (is a pipe, a socket or a device)"),
            EntryNow::File { bytes, .. } if bytes > most => {
                return Err(too_long(&name, judge));
            }
            EntryNow::File { content, .. } => match String::from_utf8(content) {
                Ok(content) => format!("{path}\n{content}"),
                Err(_) => format!("{path} (is not UTF-8 text)"),
            },
        };
        parts.push(ShownText {
            name,
            title: "A file of its workspace; the first line is the path:",
            text,
        });
    }
    Ok(parts)
}

/// The grade where the part of this name would be cut.
pub(super) fn too_long(name: &str, judge: &Judge) -> Grade {
    let reason = format!(
        "{name} of `show` is too long to be judged in full: a judge sees up to {} characters (`max_chars`) and 256 KiB of a diff",
        judge.max_chars
    );
    Grade::failed(GraderType::Model, METHOD, Cause::OutputLimit, reason)
}

#[cfg(test)]
mod tests {
    use eval_agents::trajectory::Trajectory;
    use serde_json::json;

    use super::*;
    use crate::model::testing;

    #[tokio::test]
    async fn a_trajectory_that_is_not_whole_is_not_judged() {
        let mut judge = testing::judge();
        judge.shown.trajectory = true;
        let mut whole = Trajectory::from_value(json!({
            "agent": {"name": "a", "version": "1"},
            "steps": [{"step_id": 1, "source": "agent", "message": "Done."}],
        }))
        .expect("a trajectory");
        let mut output = Output::text("Done.");
        output.trajectory = Some(Box::new(TrajectoryRecord::new(whole.clone())));
        let parts = texts(&judge, &output, None).await;
        assert_eq!(parts.map(|parts| parts.len()).ok(), Some(1));
        whole.extra = json!({"incomplete": ["it was cut"]}).as_object().cloned();
        output.trajectory = Some(Box::new(TrajectoryRecord::new(whole)));
        let Err(grade) = texts(&judge, &output, None).await else {
            panic!("it is judged");
        };
        assert_eq!(grade.cause, Some(Cause::MissingOutput));
        assert_eq!(grade.reason, "the trajectory is incomplete: it was cut");
    }
}
