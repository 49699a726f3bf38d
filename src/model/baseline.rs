//! Where known-good outputs lie and where they come from.

use std::path::PathBuf;

use super::fingerprint::Fingerprint;
use eval_base::text::escape_path_component;

/// How a suite keeps its baselines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BaselineSettings {
    /// Absolute.
    pub dir: PathBuf,
    pub redact: Vec<Redaction>,
    /// Outputs of more bytes go into a file beside.
    pub inline_bytes: u64,
    /// Names of HTTP response headers that a capture keeps, in lower case.
    pub keep_headers: Vec<String>,
}

/// What a capture replaces in texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// A regular expression that compiles.
    pub pattern: String,
    /// A matcher, such as `{{any_uuid}}`.
    pub placeholder: String,
}

/// Where the known-good output of a regression comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineOrigin {
    pub place: BaselinePlace,
    /// RFC 3339.
    pub captured_at: Option<String>,
    /// What the target was given at capture; `None` when the baseline does not say.
    pub input_hash: Option<String>,
    /// Over the known-good output as written.
    pub fingerprint: Fingerprint,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaselinePlace {
    /// Written beside the eval.
    Inline,
    /// A file of the suite's folder of baselines.
    Store {
        path: PathBuf,
        /// The eval has one of its own, too, which does not count.
        overrides_inline: bool,
    },
}

/// Whether a baseline counts, or waits for somebody to accept it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BaselineStage {
    Accepted,
    Pending,
}

impl BaselineStage {
    fn mark(self) -> &'static str {
        match self {
            BaselineStage::Accepted => "",
            BaselineStage::Pending => ".pending",
        }
    }
}

/// The name of an eval's baseline file: `<escaped id>.yaml` or `<escaped id>.pending.yaml`.
pub fn baseline_file_name(id: &str, standing: BaselineStage) -> String {
    format!("{}{}.yaml", stem(id), standing.mark())
}

/// The name of the file that holds a large output: `<escaped id>.output.json` or
/// `<escaped id>.pending.output.json`.
pub fn output_file_name(id: &str, standing: BaselineStage) -> String {
    format!("{}{}.output.json", stem(id), standing.mark())
}

/// The escaped id. The accepted baseline of an eval `a.pending` must not be the pending one of `a`.
fn stem(id: &str) -> String {
    let name = escape_path_component(id);
    let lower = name.to_ascii_lowercase();
    match [".pending", ".output"]
        .iter()
        .find(|end| lower.ends_with(*end))
    {
        Some(end) => {
            let (front, back) = name.split_at(name.len() - end.len());
            format!("{front}%2E{}", back.get(1..).unwrap_or_default())
        }
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_ids_have_different_files() {
        let ids = [
            "a",
            "a.pending",
            "a.output",
            "a.pending.output",
            "a.PENDING",
            "a%2Epending",
            "é",
            "e\u{301}",
            "",
            "..",
            "a/b",
            "CON",
        ];
        let mut names = std::collections::BTreeSet::new();
        for id in ids {
            for standing in [BaselineStage::Accepted, BaselineStage::Pending] {
                for name in [
                    baseline_file_name(id, standing),
                    output_file_name(id, standing),
                ] {
                    assert!(
                        name.is_ascii() && !name.starts_with('.') && !name.contains('/'),
                        "{name}"
                    );
                    assert!(names.insert(name.clone()), "{id}: {name}");
                }
            }
        }
        assert_eq!(
            baseline_file_name("reg-api-001", BaselineStage::Accepted),
            "reg-api-001.yaml"
        );
        assert_eq!(
            baseline_file_name("reg-api-001", BaselineStage::Pending),
            "reg-api-001.pending.yaml"
        );
        assert_eq!(
            output_file_name("reg-api-001", BaselineStage::Pending),
            "reg-api-001.pending.output.json"
        );
        assert_eq!(
            baseline_file_name("a.pending", BaselineStage::Accepted),
            "a%2Epending.yaml"
        );
        assert_eq!(
            baseline_file_name("a.pending", BaselineStage::Pending),
            "a%2Epending.pending.yaml"
        );
    }
}
