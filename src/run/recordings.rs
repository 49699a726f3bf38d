//! What recordings held when a run read them, so that a run does not go on with other outputs under
//! the same name.

use super::prepare::PreparedRun;
use crate::model::RecordingRead;
use crate::target::RunTargets;

/// What the recordings of a plan hold now.
pub(super) fn recordings(prepared: &PreparedRun) -> Vec<RecordingRead> {
    let root = &prepared.plan.suite.root;
    let all = prepared.targets.recordings().into_iter();
    all.map(|(path, bytes, fingerprint, lost)| RecordingRead {
        path: path.strip_prefix(root).unwrap_or(path).to_owned(),
        bytes,
        sha256: fingerprint.to_string(),
        lost: Some(lost.clone()).filter(|lost| lost.count > 0),
    })
    .collect()
}

/// Why outputs of now don't go with those of then: a sentence for each recording that changed. One
/// that has only grown at its end has not: every output that was taken from it is still there.
pub(super) fn changed(
    prepared: &PreparedRun,
    then: &[RecordingRead],
    now: &[RecordingRead],
) -> Vec<String> {
    let root = &prepared.plan.suite.root;
    let differs = |was: &&RecordingRead| {
        // Another path is another target, and told as such.
        let Some(now) = now.iter().find(|now| now.path == was.path) else {
            return false;
        };
        let grown = || {
            let beginning = RunTargets::beginning(&root.join(&was.path), was.bytes);
            beginning
                .is_ok_and(|(bytes, hash)| bytes == was.bytes && hash.to_string() == was.sha256)
        };
        let same = (now.bytes, &now.sha256) == (was.bytes, &was.sha256);
        !(same || now.bytes > was.bytes && grown())
    };
    let sentence = |was: &RecordingRead| {
        let path = was.path.display();
        format!(
            "the recorded outputs changed: {path} is not what it was, and finished samples came from it (it may grow at its end)"
        )
    };
    then.iter().filter(differs).map(sentence).collect()
}
