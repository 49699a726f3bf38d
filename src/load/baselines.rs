//! The known-good outputs of regressions: written beside the eval, or kept in the suite's folder of
//! baselines.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::kinds::{DocumentPart, parts};
use super::problem::{Code, Problem, Problems};
use super::refs::lexical;
use super::scope::{SuiteDesk, SuiteScope};
use super::session::LoadSession;
use super::source::Span;
use super::stored::{BaselineFolder, BaselineLookup, BaselineReader, KeptBaseline};
use super::tree::Node;
use crate::graders::structural_match::check_matchers;
use crate::model::{
    BaselineOrigin, BaselinePlace, BaselineSettings, BaselineStage, Fingerprint, OutputValue,
    Redaction, RegexFlags, Target,
};
use crate::spec::{
    BaselineSpec, BaselineTarget, BaselinesSpec, ComparisonType, NameOr, SuiteBaselines,
};
use eval_base::text::one_line;
use eval_match::{CompiledPattern, validate_matcher};

/// Bytes of an output above which it goes into a file beside, when the suite does not say.
const INLINE_BYTES: u64 = 65_536;

/// A known-good output and where it comes from.
pub(super) struct KnownGood {
    pub output: Value,
    pub origin: BaselineOrigin,
    /// What gave it, when the baseline says.
    pub target: Option<BaselineTarget>,
}

/// The store's baseline of an eval is broken; what is wrong with it has been said.
#[derive(Debug)]
pub(super) struct BrokenBaseline;

/// The settings of a suite in `dir`, whose project is `root`.
pub(super) fn settings(
    written: Option<&SuiteBaselines>,
    dir: &Path,
    root: &Path,
) -> BaselineSettings {
    let usual = BaselinesSpec::default();
    let (folder, spec) = match written {
        None => (None, &usual),
        Some(NameOr::Name(folder)) => (Some(folder), &usual),
        Some(NameOr::Inline(spec)) => (spec.path.as_ref(), spec),
    };
    let redact = spec.redact.iter().map(|rule| Redaction {
        pattern: rule.pattern.clone(),
        placeholder: rule
            .placeholder
            .clone()
            .unwrap_or_else(|| "{{any_string}}".to_owned()),
    });
    let keep = spec
        .keep_headers
        .clone()
        .unwrap_or_else(|| vec!["content-type".to_owned()]);
    BaselineSettings {
        dir: folder.map_or_else(
            || root.join("baselines"),
            |folder| lexical(&dir.join(folder)),
        ),
        redact: redact.collect(),
        inline_bytes: spec.inline_bytes.unwrap_or(INLINE_BYTES),
        keep_headers: keep.iter().map(|name| name.to_ascii_lowercase()).collect(),
    }
}

/// An output as the known-good one of an eval that compares like this: a text that is one JSON
/// object or array stands for that where structures (or nothing else) are compared.
pub(super) fn of_output(output: &OutputValue, comparison: Option<ComparisonType>) -> KnownGood {
    let by_structure = matches!(
        comparison,
        None | Some(ComparisonType::Structural | ComparisonType::Numeric)
    );
    let output = match output {
        OutputValue::Json(value) => value.clone(),
        OutputValue::Text(text) | OutputValue::Program(text) => {
            let parsed = || serde_json::from_str(text.trim_start_matches('\u{feff}')).ok();
            let parsed = if by_structure { parsed() } else { None };
            parsed
                .filter(|value: &Value| value.is_object() || value.is_array())
                .unwrap_or_else(|| json!(text))
        }
    };
    let origin = BaselineOrigin {
        place: BaselinePlace::Inline,
        captured_at: None,
        input_hash: None,
        fingerprint: Fingerprint::of(&output),
    };
    KnownGood {
        output,
        origin,
        target: None,
    }
}

/// The baselines of the store that a document's evals have, by eval id.
#[derive(Default)]
pub(super) struct BaselineShelf {
    found: HashMap<String, BaselineLookup>,
}

/// Reads what the store has for the regressions of a document.
pub(super) fn fetch(
    session: &mut LoadSession,
    scope: &SuiteScope,
    document: &mut Node,
) -> BaselineShelf {
    let mut shelf = BaselineShelf::default();
    let LoadSession {
        sources,
        problems,
        cwd,
        ..
    } = session;
    for part in parts(document) {
        // What is wrong with the files of evals that no filter selects is not reported.
        let mut aside = Problems::new();
        let needed = scope
            .reach
            .as_ref()
            .is_none_or(|reach| reach.can_select(&part));
        if let (DocumentPart::Regression(_) | DocumentPart::Document(_), Some(id)) =
            (&part, part.id())
            && !shelf.found.contains_key(id)
            && !scope.known_good.contains_key(id)
        {
            let mut reader = BaselineReader {
                folder: &scope.store,
                sources: &mut *sources,
                problems: if needed { &mut *problems } else { &mut aside },
                cwd,
            };
            let found = reader.of_eval(id, BaselineStage::Accepted);
            shelf.found.insert(id.to_owned(), found);
        }
    }
    shelf
}

/// The known-good output of an eval: of the store, else the one written beside it.
///
/// # Errors
/// When the store's file is broken, which has been said.
pub(super) fn known_good(
    desk: &mut SuiteDesk,
    id: &str,
    written: Option<&BaselineSpec>,
    node: &Node,
    shelf: &mut BaselineShelf,
) -> Result<Option<KnownGood>, BrokenBaseline> {
    let inline = written.and_then(|b| b.output.as_ref());
    if let (Some(_), Some(node)) = (inline, node.at_pointer("/baseline/output")) {
        check_matchers(desk, node);
    }
    match shelf.found.remove(id) {
        Some(BaselineLookup::Broken) => Err(BrokenBaseline),
        Some(BaselineLookup::Kept(kept)) => {
            let KeptBaseline {
                file,
                output,
                fingerprint,
                path,
            } = *kept;
            if let (Some(inline), Some(at)) = (inline, node.at_pointer("/baseline/output"))
                && *inline != output
            {
                let shown = path.strip_prefix(&desk.suite.root).unwrap_or(&path);
                let shown = shown.display();
                let message = format!("this baseline is not used: `{shown}` overrides it");
                let hint = format!("remove this one, or remove `{shown}` to use it again");
                desk.push(Problem::warning(Code::SuspiciousValue, at.span, message).hint(hint));
            }
            let origin = BaselineOrigin {
                place: BaselinePlace::Store {
                    path,
                    overrides_inline: inline.is_some(),
                },
                captured_at: file.captured_at,
                input_hash: file.input_hash,
                fingerprint,
            };
            Ok(Some(KnownGood {
                output,
                origin,
                target: file.target,
            }))
        }
        Some(BaselineLookup::Nothing) | None => Ok(inline.map(|output| {
            let origin = BaselineOrigin {
                place: BaselinePlace::Inline,
                captured_at: written.and_then(|b| b.captured_at.clone()),
                input_hash: None,
                fingerprint: Fingerprint::of(output),
            };
            KnownGood {
                output: output.clone(),
                origin,
                target: None,
            }
        })),
    }
}

/// Judges what `baselines:` says: patterns compile, placeholders are matchers, header names are
/// names.
pub(super) fn check_settings(session: &mut LoadSession, at: &Node, dir: &Path) {
    let mut wrong = |code, at: &Node, message: String| {
        session
            .problems
            .push(Problem::error(code, at.span, message));
    };
    for rule in at.seq("redact") {
        if let Some(pattern) = rule.get("pattern")
            && let Some(text) = pattern.as_text()
        {
            match CompiledPattern::compile(text, RegexFlags::default()) {
                Err(error) => wrong(Code::BadRegex, pattern, one_line(&error.to_string())),
                Ok(regex) if !matches!(regex.search(""), Ok(None)) => {
                    let message =
                        "this pattern also matches the empty text, so it would match everywhere";
                    wrong(Code::SuspiciousValue, pattern, message.to_owned());
                }
                Ok(_) => {}
            }
        }
        if let Some(placeholder) = rule.get("placeholder")
            && let Some(text) = placeholder.as_text()
        {
            match validate_matcher(text) {
                Some(Ok(())) => {}
                Some(Err(reason)) => wrong(Code::BadMatcher, placeholder, reason),
                None => {
                    let message = format!("`{text}` is not a matcher such as `{{{{any_uuid}}}}`");
                    wrong(Code::BadMatcher, placeholder, message);
                }
            }
        }
    }
    for header in at.seq("keep_headers") {
        if let Some(name) = header.as_text().filter(|name| !is_header_name(name)) {
            wrong(
                Code::BadFormat,
                header,
                format!("`{name}` is not a valid HTTP header name"),
            );
        }
    }
    if dir.is_file() {
        let path = at.get("path").unwrap_or(at);
        let message = format!("the baselines folder `{}` is a file", session.display(dir));
        session
            .problems
            .push(Problem::error(Code::BadPath, path.span, message));
    }
}

/// A token of RFC 9110.
fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Warns of a baseline that another target gave than the one that is asked now.
pub(super) fn check_target(
    desk: &mut SuiteDesk,
    id_at: Span,
    captured: Option<&BaselineTarget>,
    own: Option<&Target>,
) {
    let (Some(captured), Some(now)) = (captured, desk.suite.target.as_ref()) else {
        return;
    };
    let now = match own {
        Some(own) => BaselineTarget {
            name: None,
            kind: own.kind().to_owned(),
        },
        None => now.clone(),
    };
    // A lone target is named after its type.
    let name = |target: &BaselineTarget| target.name.clone().filter(|name| *name != target.kind);
    if captured.kind != now.kind || name(captured) != name(&now) {
        let message = format!(
            "the baseline was captured from {}, not from {}",
            words(captured),
            words(&now)
        );
        let hint = "capture it again if the change of the target is intended";
        desk.push(Problem::warning(Code::OtherTarget, id_at, message).hint(hint));
    }
}

fn words(target: &BaselineTarget) -> String {
    match &target.name {
        Some(name) if *name != target.kind => format!("the target `{name}` ({})", target.kind),
        _ => format!("a target of type `{}`", target.kind),
    }
}

/// Warns of files in the folder of baselines that somebody meant as baselines and nobody reads.
pub(super) fn check_names(session: &mut LoadSession, folder: &BaselineFolder) {
    let names = match folder.names() {
        Ok(names) => names,
        Err(error) => {
            let shown = session.display(folder.dir());
            let message = format!("cannot list the baselines in `{shown}`: {error}");
            session
                .problems
                .push(Problem::of_file(Code::Unreadable, shown, message));
            return;
        }
    };
    for name in names {
        let stem = match name.rsplit_once('.') {
            Some((stem, "yml")) => stem,
            Some((stem, "json")) if !stem.ends_with(".output") => stem,
            _ => continue,
        };
        let shown = session.display(&folder.path(&name));
        let message = format!("`{shown}` is not read: baselines are `.yaml` files");
        let problem = Problem::of_file(Code::MisnamedBaseline, shown, message).as_warning();
        session
            .problems
            .push(problem.hint(format!("rename it to `{stem}.yaml`, or remove it")));
    }
}
