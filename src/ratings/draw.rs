//! Names of questions, and the random order in which they are drawn.

use sha2::{Digest, Sha256};

use crate::model::QuestionDigests;

/// A short name of a question.
pub fn question_key(digests: &QuestionDigests) -> String {
    let QuestionDigests {
        input,
        output,
        rubric,
    } = digests;
    let digest = rank(0, &["key", input, output, rubric]);
    eval_base::text::hex(digest.get(..16).unwrap_or_default())
}

/// A number that is random but the same for the same seed and words.
pub fn rank(seed: u64, words: &[&str]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(seed.to_le_bytes());
    for word in words {
        digest.update((word.len() as u64).to_le_bytes());
        digest.update(word.as_bytes());
    }
    digest.finalize().into()
}
