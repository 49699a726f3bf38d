//! What the graders of one case measure: well-formed names, each measured once, and one grader at
//! least that decides.

use std::collections::BTreeSet;

use super::super::problem::{Code, Problem};
use super::super::scope::SuiteDesk;
use super::super::tree::Node;
use crate::model::{Grader, GraderKind, name_fault};

/// False after saying what is wrong. `nodes` are those that the graders were read from.
pub(super) fn check(desk: &mut SuiteDesk, graders: &[Grader], nodes: &[&Node]) -> bool {
    let mut whole = true;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (at, grader) in graders.iter().enumerate() {
        // Alternatives of `contains` make several graders of one node.
        let node = nodes.get(at).or(nodes.last());
        for (name, _) in grader.measures() {
            let keys = ["/metric", "/config/metrics", "/config"];
            let written = node.and_then(|node| {
                let pointer = keys
                    .iter()
                    .find(|pointer| node.at_pointer(pointer).is_some());
                pointer.map(|pointer| node.locate(pointer))
            });
            let Some(span) = written.or(node.map(|node| node.span)) else {
                continue;
            };
            if let Some(fault) = name_fault(name) {
                desk.push(Problem::error(
                    Code::BadFormat,
                    span,
                    format!("`{name}` {fault}"),
                ));
                whole = false;
            } else if !seen.insert(name) {
                let message = format!("two graders of this case measure `{name}`");
                let hint = "give one of them another name: `metric: NAME` next to its `type`";
                desk.push(Problem::error(Code::GraderConflict, span, message).hint(hint));
                whole = false;
            }
        }
    }
    if !graders.is_empty()
        && graders.iter().all(|grader| grader.informative)
        && let Some(node) = nodes.first()
    {
        let message = "every grader of this case is `informative`, so none decides";
        let span = if node.get("informative").is_some() {
            node.key_span("/informative")
        } else {
            node.span
        };
        let has_people = graders
            .iter()
            .any(|grader| matches!(grader.kind, GraderKind::Human { .. }));
        let hint = match has_people && node.get("informative").is_none() {
            true => {
                "a ranking by people decides only with a `pass_threshold`; or add another grader"
            }
            false => "at least one grader must decide the verdict",
        };
        desk.push(Problem::error(Code::GraderIncomplete, span, message).hint(hint));
        whole = false;
    }
    whole
}
