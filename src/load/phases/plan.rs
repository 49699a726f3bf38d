//! `phase:` and `phases:`.

use std::collections::BTreeMap;

use super::{PhaseDesk, PlacedPhase, report_path, step};
use crate::load::problem::{Code, Problem};
use crate::load::source::Span;
use crate::load::tree::Node;
use crate::model::{Phase, StepWork};
use crate::spec::{PhaseFile, PhaseSpec};

/// Every phase of a plan that is whole; ids that stand twice are told.
pub(super) fn phases(desk: &mut PhaseDesk, file: PhaseFile, node: &Node) -> Vec<PlacedPhase> {
    if file.phase.is_some() && node.get("phases").is_some() {
        let at = node.key_span("/phases");
        let problem = Problem::error(Code::BothSpellings, at, "use `phase` or `phases`, not both")
            .related(node.key_span("/phase"), "the other one");
        desk.problem(problem.hint("put all of them under `phases:`"));
    } else if file.phase.is_none() && file.phases.is_empty() {
        desk.problem(Problem::error(
            Code::EmptyCases,
            node.key_span("/phases"),
            "the plan has no phase",
        ));
    }
    let one = file
        .phase
        .into_iter()
        .map(|spec| (spec, "/phase".to_owned()));
    let several = file
        .phases
        .into_iter()
        .enumerate()
        .map(|(at, spec)| (spec, format!("/phases/{at}")));
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    let mut phases = Vec::new();
    for (spec, pointer) in one.chain(several).collect::<Vec<_>>() {
        let Some(at) = node.at_pointer(&pointer) else {
            continue;
        };
        let placed = phase(desk, spec, at);
        let id_at = ["id", "name"]
            .iter()
            .find_map(|key| at.get(key))
            .map_or(at.span, |node| node.span);
        let id = placed.phase.id.clone();
        if let Some(first) = seen.get(&id) {
            let message = format!("two phases have the id `{id}`");
            let problem =
                Problem::error(Code::DuplicateId, id_at, message).related(*first, "the other one");
            desk.problem(problem.hint("give one of them another `id:`"));
        } else {
            seen.insert(id, id_at);
        }
        phases.push(placed);
    }
    phases
}

fn phase(desk: &mut PhaseDesk, spec: PhaseSpec, node: &Node) -> PlacedPhase {
    let id = spec.id.clone().unwrap_or_else(|| id_of(&spec.name));
    if id.trim().is_empty() {
        let at = node
            .get("id")
            .or_else(|| node.get("name"))
            .unwrap_or(node)
            .span;
        let problem = Problem::error(Code::WrongLength, at, "the id of the phase is empty");
        desk.problem(problem.hint("write an `id:`, or a name with letters or digits"));
    }
    let notification = node
        .get("notification")
        .map(|n| n.span)
        .filter(|_| spec.notification == Some(true));
    let workspace = desk.workspace(&spec.workspace, node, None);
    let mut steps = Vec::new();
    let mut places = Vec::new();
    let all = spec.steps.len();
    for (at, step) in spec.steps.into_iter().enumerate() {
        let Some(place) = node.at_pointer(&format!("/steps/{at}")) else {
            continue;
        };
        if let Some((step, placed)) =
            step::read(desk, step, place, notification, workspace.as_ref())
        {
            steps.push(step);
            places.extend(placed);
        }
    }
    let report_path = spec.report_path.as_deref().and_then(|text| {
        let at = node.locate("/report_path");
        report_path::resolve(desk, text, &id, at)
    });
    let phase = Phase {
        id,
        name: spec.name,
        description: spec.description,
        path: desk.given.clone(),
        dir: desk.dir.clone(),
        root: desk.root.clone(),
        steps,
        base: spec.base,
        report_path,
        notification: spec.notification.unwrap_or(false),
        archive: spec.archive_results.unwrap_or(false),
        when: None,
    };
    // A step that can't be used is told of already.
    if phase.steps.len() == all
        && phase
            .steps
            .iter()
            .all(|step| step.work == StepWork::Unchecked)
    {
        let message = "no step of the phase runs anything, so it would pass without a check";
        let problem = Problem::error(Code::EmptyCases, node.key_span("/steps"), message);
        desk.problem(problem.hint("give a step a `command:`, or add a step of type `eval`"));
    }
    PlacedPhase { phase, places }
}

/// A name in lower case, with one `-` for all that is no letter or digit between two that are.
pub(super) fn id_of(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

/// The phase with this id, or the only one.
pub(super) fn choose(
    desk: &mut PhaseDesk,
    mut phases: Vec<PlacedPhase>,
    wanted: Option<&str>,
    node: &Node,
) -> Option<PlacedPhase> {
    let ids: Vec<String> = phases
        .iter()
        .map(|placed| placed.phase.id.clone())
        .collect();
    let listed = || {
        let mut seen = std::collections::BTreeSet::new();
        let each = ids
            .iter()
            .filter(|id| seen.insert(id.as_str()))
            .map(|id| format!("`{id}`"));
        each.collect::<Vec<_>>().join(", ")
    };
    let at = node.key_span("/phases");
    match wanted {
        Some(id) => match ids.iter().position(|known| known == id) {
            Some(index) => Some(phases.swap_remove(index)),
            None => {
                let message = format!("no phase has the id `{id}`");
                let problem = Problem::error(Code::UnknownPhase, at, message)
                    .near(id, ids.iter().map(String::as_str))
                    .or_hint(format!("the phases of this plan are {}", listed()));
                desk.problem(problem);
                None
            }
        },
        None if phases.len() > 1 => {
            let message = "the plan has several phases, but `--phase-id` is not set";
            let hint = format!("select one with `--phase-id`: {}", listed());
            desk.problem(Problem::error(Code::UnknownPhase, at, message).hint(hint));
            None
        }
        None => phases.pop(),
    }
}
