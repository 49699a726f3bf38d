//! What filters leave out before it is built: an eval that no filter can select need not have what
//! only it reads.

use std::collections::BTreeMap;

use super::kinds::DocumentPart;
use super::problem::{Problem, Problems};
use super::request::CaseFilters;
use super::scope::SuiteDesk;
use super::select::word;
use super::tree::Node;
use eval_base::globs::IdGlobs;

/// The filters of a request, as far as a part of an eval document tells whether they can select it.
#[derive(Debug, Clone)]
pub(super) struct FilterReach {
    filters: CaseFilters,
    evals: IdGlobs,
}

impl FilterReach {
    /// `None` without filters, and with a pattern that is none, which is said elsewhere.
    pub fn of(filters: &CaseFilters) -> Option<FilterReach> {
        let evals = IdGlobs::new(&filters.eval).ok()?;
        (!filters.is_empty()).then(|| FilterReach {
            filters: filters.clone(),
            evals,
        })
    }

    /// False when the filters leave out every case of this part. Cases that a dataset gives are not
    /// known yet.
    pub fn can_select(&self, part: &DocumentPart<'_>) -> bool {
        let kind = match part {
            DocumentPart::Capability(_) | DocumentPart::File(_) => "capability",
            DocumentPart::Regression(_) | DocumentPart::Document(_) => "regression",
        };
        let (node, head) = (part.node(), part.head());
        let kind = text(Some(node), "eval_type").unwrap_or(kind);
        let about = node.get("metadata");
        let Some(id) = part.id() else {
            return true;
        };
        let CaseFilters {
            category,
            tag,
            case,
            difficulty,
            criticality,
            only,
            ..
        } = &self.filters;
        let cases = node.seq("test_cases");
        let has_rows = node.get("dataset").is_some();
        let own_category = text(head, "category");
        let is_one = |wanted: &[String], own: Option<&str>| {
            own.is_some_and(|own| wanted.iter().any(|w| w == own))
        };
        let difficulties: Vec<String> = difficulty.iter().map(word).collect();
        let fits = [
            category.is_empty() || is_one(category, Some(kind)) || is_one(category, own_category),
            self.filters.eval.is_empty() || self.evals.fit(id),
            criticality.is_empty()
                || is_one(
                    &criticality.iter().map(word).collect::<Vec<_>>(),
                    text(about, "criticality"),
                ),
            only.as_ref()
                .is_none_or(|only| only.iter().any(|(eval, _)| eval == id)),
            // Patterns of cases and words of theirs are looked at only where there are no further
            // ones.
            tag.is_empty()
                || has_rows
                || tags(about)
                    .chain(cases.iter().flat_map(|case| tags(Some(case))))
                    .any(|own| tag.iter().any(|w| w == own)),
            difficulty.is_empty()
                || has_rows
                || std::iter::once(about)
                    .chain(cases.iter().map(Some))
                    .any(|of| is_one(&difficulties, text(of, "difficulty"))),
            case.is_empty()
                || has_rows
                || IdGlobs::new(case).is_ok_and(|globs| match cases {
                    [] => globs.fit(id),
                    cases => cases
                        .iter()
                        .filter_map(|case| text(Some(case), "id"))
                        .any(|id| globs.fit(id)),
                }),
        ];
        fits.iter().all(|fits| *fits)
    }
}

/// Builds a part; of one that no filter selects only what is wrong is reported, and not what it
/// lacks.
pub(super) fn within_reach<T>(
    desk: &mut SuiteDesk<'_>,
    part: DocumentPart<'_>,
    build: impl FnOnce(&mut SuiteDesk<'_>, DocumentPart<'_>) -> Option<T>,
) -> Option<T> {
    if desk
        .suite
        .reach
        .as_ref()
        .is_none_or(|reach| reach.can_select(&part))
    {
        return build(desk, part);
    }
    let mut found = Problems::new();
    let built = build(&mut desk.aside(&mut found), part);
    desk.problems.keep_faults(found);
    built
}

/// A part of a suite's document that a run may leave unused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SparePart {
    Grader(String),
    Target(String),
    Provider(String),
    /// What executions of this kind inherit from: a target of the suite, and skills also its
    /// `skill:`.
    Inherited(InheritedKind),
}

/// A kind of executions that inherit from the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InheritedKind {
    Http,
    Model,
    Skill,
}

/// The variables that spare parts lack: reported where one is used.
pub(super) type MissingValues = BTreeMap<SparePart, Vec<Problem>>;

pub(super) fn text<'n>(node: Option<&'n Node>, key: &str) -> Option<&'n str> {
    node?.get(key)?.as_text()
}

pub(super) fn tags(node: Option<&Node>) -> impl Iterator<Item = &str> {
    node.map_or(&[][..], |node| node.seq("tags"))
        .iter()
        .filter_map(Node::as_text)
}
