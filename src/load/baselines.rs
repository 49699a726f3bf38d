//! The known-good outputs of regressions: written beside the eval, or kept in the suite's folder of baselines.

use std::path::Path;

use serde_json::{Value, json};

use super::graders::check_matchers;
use super::problem::{Code, Problem};
use super::refs::lexical;
use super::scope::Desk;
use super::tree::Node;
use crate::base::text::escape_path_component;
use crate::model::{
    BaselineOrigin, BaselinePlace, BaselineSettings, Fingerprint, OutputValue, Redaction,
};
use crate::spec::{BaselineFile, BaselineSpec, BaselinesSpec, ComparisonType, NameOr, SuiteBaselines};

/// Bytes of an output above which it goes into a file beside, when the suite does not say.
const INLINE_BYTES: u64 = 65_536;

/// A known-good output and where it comes from.
pub(super) struct KnownGood {
    pub output: Value,
    pub origin: BaselineOrigin,
}

/// The settings of a suite in `dir`, whose project is `root`.
pub(super) fn settings(written: Option<&SuiteBaselines>, dir: &Path, root: &Path) -> BaselineSettings {
    let usual = BaselinesSpec::default();
    let (folder, spec) = match written {
        None => (None, &usual),
        Some(NameOr::Name(folder)) => (Some(folder), &usual),
        Some(NameOr::Inline(spec)) => (spec.path.as_ref(), spec),
    };
    let redact = spec.redact.iter().map(|rule| Redaction {
        pattern: rule.pattern.clone(),
        placeholder: rule.placeholder.clone().unwrap_or_else(|| "{{any_string}}".to_owned()),
    });
    let keep = spec.keep_headers.clone().unwrap_or_else(|| vec!["content-type".to_owned()]);
    BaselineSettings {
        dir: folder.map_or_else(|| root.join("baselines"), |folder| lexical(&dir.join(folder))),
        redact: redact.collect(),
        inline_bytes: spec.inline_bytes.unwrap_or(INLINE_BYTES),
        keep_headers: keep.iter().map(|name| name.to_ascii_lowercase()).collect(),
    }
}

/// An output as the known-good one of an eval that compares like this: a text that is one JSON object or array stands for
/// that where structures (or nothing else) are compared.
pub(super) fn of_output(output: &OutputValue, comparison: Option<ComparisonType>) -> KnownGood {
    let by_structure =
        matches!(comparison, None | Some(ComparisonType::Structural | ComparisonType::Numeric));
    let output = match output {
        OutputValue::Json(value) => value.clone(),
        OutputValue::Text(text) | OutputValue::Program(text) => {
            let parsed = || serde_json::from_str(text.trim_start_matches('\u{feff}')).ok();
            let parsed = if by_structure { parsed() } else { None };
            parsed.filter(|value: &Value| value.is_object() || value.is_array()).unwrap_or_else(|| json!(text))
        }
    };
    let origin = BaselineOrigin {
        place: BaselinePlace::Inline,
        captured_at: None,
        input_hash: None,
        fingerprint: Fingerprint::of(&output),
    };
    KnownGood { output, origin }
}

/// The known-good output of an eval: of the store, else the one written beside it. `None` when there is none, or after
/// saying what is wrong with it.
pub(super) fn known_good(
    desk: &mut Desk,
    id: &str,
    written: Option<&BaselineSpec>,
    node: &Node,
) -> Option<KnownGood> {
    let inline = written.and_then(|b| b.output.as_ref());
    if let (Some(_), Some(node)) = (inline, node.at_pointer("/baseline/output")) {
        check_matchers(desk, node);
    }
    let path = desk.suite.baselines.dir.join(format!("{}.yaml", escape_path_component(id)));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let output = inline?.clone();
            let origin = BaselineOrigin {
                place: BaselinePlace::Inline,
                captured_at: written.and_then(|b| b.captured_at.clone()),
                input_hash: None,
                fingerprint: Fingerprint::of(&output),
            };
            return Some(KnownGood { output, origin });
        }
        Err(error) => {
            let message = format!("the baseline {} cannot be read: {error}", path.display());
            desk.push(Problem::error(Code::Unreadable, node.locate("/id"), message));
            return None;
        }
    };
    let file = match serde_json::from_str::<BaselineFile>(&text) {
        Ok(file) => file,
        Err(error) => {
            let message = format!("the baseline {} cannot be read: {error}", path.display());
            desk.push(Problem::error(Code::BadShape, node.locate("/id"), message));
            return None;
        }
    };
    if file.eval_id != id {
        let message = format!("{} is the baseline of `{}`, not of `{id}`", path.display(), file.eval_id);
        desk.push(Problem::error(Code::BadShape, node.locate("/id"), message));
        return None;
    }
    let output = file.output?;
    let origin = BaselineOrigin {
        place: BaselinePlace::Store { path, overrides_inline: inline.is_some() },
        captured_at: file.captured_at,
        input_hash: file.input_hash,
        fingerprint: Fingerprint::of(&output),
    };
    Some(KnownGood { output, origin })
}
