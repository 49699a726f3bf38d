//! Documents that stand by themselves: eval files and graders files, from their tree to what they
//! mean.

use std::collections::BTreeMap;
use std::path::Path;

use crate::load::baselines;
use crate::load::evals::{BuiltEval, build};
use crate::load::infer::{infer_evals, infer_named};
use crate::load::problem::{Code, Problem, Problems};
use crate::load::prompts;
use crate::load::reach::{MissingValues, SparePart};
use crate::load::render_pass::RenderPass;
use crate::load::scope::{GraderShelf, NamedGrader, SuiteScope};
use crate::load::session::{BrokenPlaces, LoadSession, validator};
use crate::load::template::{TemplateEngine, TemplateScope};
use crate::load::thresholds::WrittenSet;
use crate::load::tree::Node;
use crate::model::GraderType;
use crate::spec::{GradersFile, SchemaKind};

/// An eval document from its tree to its evals; also for files that are checked alone.
pub(in crate::load) fn eval_document(
    session: &mut LoadSession,
    mut node: Node,
    scope: &SuiteScope,
    dir: &Path,
) -> Vec<BuiltEval> {
    let LoadSession {
        sources, problems, ..
    } = session;
    infer_evals(&mut node, problems);
    let Some(validator) = validator(SchemaKind::Eval) else {
        return Vec::new();
    };
    validator.normalise(sources, &mut node, problems);
    prompts::read_files_of_evals(session, &mut node, dir);
    let LoadSession {
        sources, problems, ..
    } = session;
    let engine = TemplateEngine::new(&scope.templates);
    RenderPass {
        engine: &engine,
        sources,
        problems,
    }
    .evals(&mut node, scope.reach.as_deref());
    validator.validate_filled(&mut node, problems);
    let broken = BrokenPlaces::of(problems);
    let shelf = baselines::fetch(session, scope, &mut node);
    build(&mut session.desk(scope, dir), &mut node, &broken, shelf)
}

/// A graders document: completed, checked, read.
pub(in crate::load) fn graders_file(
    session: &mut LoadSession,
    document: &mut Node,
    scope: &TemplateScope,
    missing: Option<&mut MissingValues>,
) -> Option<GradersFile> {
    let LoadSession {
        sources, problems, ..
    } = session;
    infer_named(document, problems);
    let validator = validator(SchemaKind::Graders)?;
    validator.normalise(sources, document, problems);
    let engine = TemplateEngine::new(scope);
    render_named(
        &mut RenderPass {
            engine: &engine,
            sources,
            problems,
        },
        Some(document),
        missing,
    );
    let json = validator.validate_filled(document, problems)?;
    serde_json::from_value(json).ok()
}

/// Renders named graders. With `missing` what they lack is noted there, for when one of them is
/// used.
pub(super) fn render_named(
    pass: &mut RenderPass,
    graders: Option<&mut Node>,
    mut missing: Option<&mut MissingValues>,
) {
    let Some(document) = graders else { return };
    for (key, grader) in document.map_mut("graders") {
        let part = SparePart::Grader(key.name.to_string());
        match missing.as_deref_mut() {
            Some(missing) => pass.spare(part, missing, |pass| pass.grader(grader)),
            None => pass.grader(grader),
        }
    }
    if let Some(rubrics) = document.get_mut("rubrics") {
        pass.rubrics(rubrics);
    }
}

/// Named graders and their defaults; a default must name a grader of its type. `dir` is the folder
/// of their file.
pub(in crate::load) fn shelf(
    file: GradersFile,
    node: &Node,
    dir: &Path,
    problems: &mut Problems,
) -> GraderShelf {
    let mut shelf = GraderShelf {
        rubrics: file.rubrics,
        prompts: file.prompts,
        ..GraderShelf::default()
    };
    for (name, spec) in file.graders {
        let at = node
            .get("graders")
            .and_then(|g| g.get(&name))
            .unwrap_or(node)
            .clone();
        shelf.graders.insert(
            name,
            NamedGrader {
                spec,
                node: at,
                dir: dir.to_owned(),
            },
        );
    }
    let defaults = [
        (GraderType::Code, "code", file.defaults.code),
        (GraderType::Model, "model", file.defaults.model),
        (GraderType::Human, "human", file.defaults.human),
    ];
    for (kind, word, name) in defaults {
        let Some(name) = name else { continue };
        let at = node.locate(&format!("/defaults/{word}"));
        match shelf.graders.get(&name) {
            None => {
                let known = shelf.graders.keys().map(String::as_str);
                let message = format!("unknown grader `{name}`");
                problems.push(Problem::error(Code::UnknownGrader, at, message).near(&name, known));
            }
            Some(named) if named.spec.grader_type() != kind => {
                let message = format!("`{name}` is not a grader of type `{word}`");
                problems.push(Problem::error(Code::GraderConflict, at, message));
            }
            Some(_) => drop(shelf.defaults.insert(kind, name)),
        }
    }
    shelf
}

pub(in crate::load) fn sets(
    presets: BTreeMap<String, crate::spec::Thresholds>,
    node: Option<&Node>,
) -> impl Iterator<Item = (String, WrittenSet)> {
    presets.into_iter().map(move |(name, set)| {
        let at = node.and_then(|n| n.get(&name)).cloned();
        (name, (set, at))
    })
}
