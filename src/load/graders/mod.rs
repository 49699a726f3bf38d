//! Graders with everything that they need: names are looked up, expectations merged in, defaults
//! filled in, and what cannot work is refused.

mod comparison;
mod judged;
mod measures;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::infer::was_inferred;
use super::problem::{Code, Problem, Problems, Severity};
use super::reach::SparePart;
use super::scope::{GraderShelf, NamedGrader, SuiteDesk, SuiteScope};
use super::session::LoadSession;
use super::source::Span;
use super::tree::Node;
use crate::graders::check_calls;
use crate::graders::settings::{CaseExpectation, PlacedExpectation};
use crate::model::{
    CaseGrading, CaseWorkspace, CodeGrader, Combine, Grader, GraderKind, GraderType, Target,
};
use crate::spec::{CombineSpec, CombineWord, ExpectedSpec, GraderRef, GraderSpec, NameOr};

pub(super) use comparison::{from_comparison, merged};

/// The graders that a case (or a file, for its cases) names, with the nodes that they were read
/// from.
#[derive(Debug, Clone, Default)]
pub(super) struct WrittenGraders {
    pub graders: Vec<(GraderRef, Node)>,
    pub combine: Option<(CombineSpec, Span)>,
}

impl WrittenGraders {
    /// From `grader`, `graders` and `combine` of a node; both of the first two at once are an
    /// error.
    pub fn of(
        desk: &mut SuiteDesk,
        node: &Node,
        grader: Option<GraderRef>,
        graders: Vec<GraderRef>,
        combine: Option<CombineSpec>,
    ) -> WrittenGraders {
        if let (Some(_), Some(key)) = (
            &grader,
            node.key_place("graders").filter(|_| !graders.is_empty()),
        ) {
            let at = node.key_span("/grader");
            let problem = Problem::error(
                Code::GraderConflict,
                key,
                "use `grader` or `graders`, not both",
            );
            desk.push(
                problem
                    .hint("put all of them under `graders:`")
                    .related(at, "the other one"),
            );
        }
        let mut written: Vec<(GraderRef, Node)> = Vec::new();
        written.extend(grader.and_then(|g| Some((g, node.get("grader")?.clone()))));
        let nodes = node.seq("graders");
        written.extend(graders.into_iter().zip(nodes.iter().cloned()));
        let combine = combine.map(|c| (c, node.key_span("/combine")));
        WrittenGraders {
            graders: written,
            combine,
        }
    }

    /// The graders of a template of cases, as far as they can be read before rows fill it.
    pub fn of_template(case: &Node) -> WrittenGraders {
        let lone = case.get("grader").into_iter();
        let several = case.seq("graders");
        let read = |node: &Node| Some((serde_json::from_value(node.to_json()).ok()?, node.clone()));
        WrittenGraders {
            graders: lone.chain(several).filter_map(read).collect(),
            combine: None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.graders.is_empty()
    }
}

/// What a case's graders may compare with besides an expectation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum CaseBaseline<'a> {
    /// No regression: there is no such thing.
    #[default]
    Nothing,
    /// A regression that has no baseline yet. What needs one is errored when it runs.
    Missing,
    Baseline(&'a Value),
}

impl<'a> CaseBaseline<'a> {
    fn baseline(self) -> Option<&'a Value> {
        match self {
            CaseBaseline::Baseline(value) => Some(value),
            CaseBaseline::Nothing | CaseBaseline::Missing => None,
        }
    }
}

/// What the graders of a case may read besides its output.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GradedCase<'a> {
    pub expected: Option<PlacedExpectation<'a>>,
    pub baseline: CaseBaseline<'a>,
    pub workspace: Option<&'a CaseWorkspace>,
    /// Whose outputs are graded, where that is known.
    pub target: Option<&'a Target>,
}

/// The graders of one case, resolved; `None` after saying what is wrong. `at` is where a case
/// without graders is told.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    written: &WrittenGraders,
    case: GradedCase,
    at: Span,
) -> Option<CaseGrading> {
    let expected = case.expected;
    let mut specs = look_up(desk, written)?;
    specs.extend(default_judge(desk, &specs, expected));
    let overridden = override_type(desk, &mut specs)?;
    if specs.is_empty() {
        let problem = nothing_to_grade_with(expected, at);
        // A suite that is not known may have a default judge.
        let may_have = desk.suite.shelf.open && expected.is_some();
        return desk.refuse(problem.maybe_warning(may_have));
    }
    if let Some(PlacedExpectation {
        spec: ExpectedSpec::Functional(functional),
        span,
        ..
    }) = expected
    {
        check_calls(desk, &functional.value.test_cases, span)?;
    }
    let mut graders = Vec::new();
    let mut combine = Combine::All;
    let lone = specs.len() == 1;
    let mut whole = true;
    for FoundGrader {
        name,
        spec,
        node,
        dir,
        inferred,
    } in &specs
    {
        let (negate, weight, metric, informative) = match spec {
            GraderSpec::Code(c) => (c.negate, c.weight, &c.metric, c.informative),
            GraderSpec::Model(m) => (m.negate, m.weight, &m.metric, m.informative),
            GraderSpec::Human(h) => (h.negate, h.weight, &h.metric, h.is_informative()),
        };
        let Some(kinds) = kinds_of(desk, spec, (node, dir.as_path()), case) else {
            whole = false;
            continue;
        };
        if kinds.len() > 1 {
            if !lone {
                let message =
                    "`alternatives` of `contains` require that the case has no other grader";
                desk.push(Problem::error(Code::GraderConflict, node.span, message));
                whole = false;
            }
            combine = if negate { Combine::All } else { Combine::Any };
        }
        graders.extend(kinds.into_iter().map(|kind| Grader {
            name: name.clone(),
            weight: weight.unwrap_or(1.0),
            // That there is nothing to compare with is true either way.
            negate: negate && !matches!(kind, GraderKind::Code(CodeGrader::NoBaseline)),
            inferred: *inferred || was_inferred(node),
            metric: metric.clone(),
            informative,
            kind,
        }));
    }
    whole &= measures::check(
        desk,
        &graders,
        &specs.iter().map(|found| &found.node).collect::<Vec<_>>(),
    );
    if !whole || graders.is_empty() {
        return None;
    }
    let combine = match &written.combine {
        Some((spec, span)) if !overridden => combined(desk, spec, *span, &graders)?,
        _ => combine,
    };
    let demands = desk.suite.demands.mark(&graders);
    Some(CaseGrading {
        graders,
        combine,
        demands,
        python: None,
    })
}

struct FoundGrader {
    name: Option<String>,
    spec: GraderSpec,
    node: Node,
    /// The folder of the file that says it.
    dir: PathBuf,
    /// Nobody asked for it: an expectation needs it.
    inferred: bool,
}

impl FoundGrader {
    fn named(name: &str, named: &NamedGrader) -> FoundGrader {
        FoundGrader {
            name: Some(name.to_owned()),
            spec: named.spec.clone(),
            node: named.node.clone(),
            dir: named.dir.clone(),
            inferred: false,
        }
    }
}

/// The suite's default judge, where an expectation needs one and no grader is written.
fn default_judge(
    desk: &mut SuiteDesk,
    specs: &[FoundGrader],
    expected: Option<PlacedExpectation>,
) -> Option<FoundGrader> {
    let is_semantic =
        expected.is_some_and(|expected| matches!(expected.spec, ExpectedSpec::Semantic(_)));
    let shelf = &desk.suite.shelf;
    let name = shelf
        .defaults
        .get(&GraderType::Model)
        .filter(|_| specs.is_empty() && is_semantic)?;
    let found = FoundGrader {
        inferred: true,
        ..FoundGrader::named(name, shelf.graders.get(name)?)
    };
    desk.require(&SparePart::Grader(name.clone()));
    Some(found)
}

fn look_up(desk: &mut SuiteDesk, written: &WrittenGraders) -> Option<Vec<FoundGrader>> {
    let mut found = Vec::new();
    let mut whole = true;
    for (grader, node) in &written.graders {
        match grader {
            NameOr::Inline(spec) => found.push(FoundGrader {
                name: None,
                spec: spec.clone(),
                node: node.clone(),
                dir: desk.dir.to_owned(),
                inferred: false,
            }),
            NameOr::Name(name) => match desk.suite.shelf.graders.get(name) {
                Some(named) => {
                    found.push(FoundGrader::named(name, named));
                    desk.require(&SparePart::Grader(name.clone()));
                }
                None => {
                    unknown_grader(desk, name, node.span);
                    whole = false;
                }
            },
        }
    }
    whole.then_some(found)
}

fn unknown_grader(desk: &mut SuiteDesk, name: &str, at: Span) {
    let shelf = &desk.suite.shelf;
    let problem = Problem::error(Code::UnknownGrader, at, format!("unknown grader `{name}`"))
        .near(name, shelf.graders.keys().map(String::as_str))
        .or_hint("define it under `graders:` in the suite");
    desk.push(problem.maybe_warning(shelf.open));
}

/// Applies `--grader-type`: keeps the graders of that type, or takes the suite's default of that
/// type.
fn override_type(desk: &mut SuiteDesk, specs: &mut Vec<FoundGrader>) -> Option<bool> {
    let Some(wanted) = desk.suite.grader_type else {
        return Some(false);
    };
    let before = specs.len();
    let has = specs.iter().any(|f| f.spec.grader_type() == wanted);
    if has {
        specs.retain(|f| f.spec.grader_type() == wanted);
        return Some(before != specs.len());
    }
    let shelf = &desk.suite.shelf;
    let Some(name) = shelf.defaults.get(&wanted) else {
        // Reported for the cases that are selected.
        return Some(false);
    };
    // An unknown default was reported where it is written.
    let named = shelf.graders.get(name)?;
    *specs = vec![FoundGrader::named(name, named)];
    desk.require(&SparePart::Grader(name.clone()));
    Some(true)
}

fn nothing_to_grade_with(expected: Option<PlacedExpectation>, at: Span) -> Problem {
    match expected {
        Some(expected) => no_grader_for(expected.kind(), expected.span),
        None => Problem::error(
            Code::GraderIncomplete,
            at,
            "the case has neither `expected` nor `grader`",
        )
        .hint("describe a good output under `expected:`, or add a `grader:`"),
    }
}

fn no_grader_for(kind: &str, at: Span) -> Problem {
    let message =
        format!("no grader is set, and code cannot judge an expectation of type `{kind}`");
    Problem::error(Code::CannotInferGrader, at, message).hint(
        "add `grader: {type: model, config: {model: ...}}`, or set a default judge in the suite: `graders: {defaults: {model: NAME}}`",
    )
}

/// One grader; several when `contains` has alternatives, any of which is as good. It comes with its
/// place and the folder of its file.
fn kinds_of(
    desk: &mut SuiteDesk,
    spec: &GraderSpec,
    (node, dir): (&Node, &Path),
    case: GradedCase,
) -> Option<Vec<GraderKind>> {
    let known = case.baseline;
    let case = CaseExpectation {
        expected: case.expected,
        baseline: known.baseline(),
        workspace: case.workspace,
        target: case.target,
    };
    match spec {
        GraderSpec::Code(grader)
            if matches!(known, CaseBaseline::Missing) && grader.config.needs_expectation() =>
        {
            Some(vec![GraderKind::Code(CodeGrader::NoBaseline)])
        }
        GraderSpec::Code(grader) => {
            let config = node.get("config").unwrap_or(node);
            let graders = grader.config.resolve(desk, config, case)?;
            Some(graders.into_iter().map(GraderKind::Code).collect())
        }
        GraderSpec::Model(grader)
            if matches!(known, CaseBaseline::Missing)
                && grader.config.rubric.is_none()
                && grader.config.criteria.is_empty() =>
        {
            Some(vec![GraderKind::Code(CodeGrader::NoBaseline)])
        }
        GraderSpec::Model(grader) => {
            let judge = judged::model(desk, &grader.config, node, dir, case)?;
            Some(vec![GraderKind::Model(Box::new(judge))])
        }
        GraderSpec::Human(grader) => {
            let config = judged::human(desk, &grader.config, node)?;
            Some(vec![GraderKind::Human {
                config,
                expected: case.reference(),
            }])
        }
    }
}

/// Checks named graders without a case: what they lack may come from an expectation, all else is
/// judged.
pub(super) fn check_named(
    session: &mut LoadSession,
    scope: &SuiteScope,
    dir: &Path,
    shelf: GraderShelf,
) {
    let mut suite = scope.clone();
    suite.shelf.rubrics = shelf.rubrics.clone();
    suite.shelf.prompts = shelf.prompts.clone();
    // Of providers and the like the suite may have more.
    suite.shelf.texts_known = true;
    for named in shelf.graders.values() {
        let mut found = Problems::new();
        kinds_of(
            &mut session.desk(&suite, dir).aside(&mut found),
            &named.spec,
            (&named.node, &named.dir),
            GradedCase::default(),
        );
        session.problems.extend(
            found
                .into_iter()
                .filter(|p| p.code != Code::GraderIncomplete),
        );
    }
}

/// Tells what is doubtful about the graders that the rows of a dataset share, once: of a row only
/// what is wrong is told. False when no row can make a case, because a suite that is not known
/// defines what grades it. `kind` is the expectations'.
pub(super) fn tell_doubts(
    desk: &mut SuiteDesk,
    written: &WrittenGraders,
    kind: Option<(&str, Span)>,
) -> bool {
    let mut found = Problems::new();
    let mut aside = SuiteDesk {
        problems: &mut found,
        ..*desk
    };
    let graders = look_up(&mut aside, written);
    if desk.suite.shelf.open {
        if graders.is_none() {
            desk.problems.extend(found);
            return false;
        }
        if let Some((kind, at)) = kind.filter(|(kind, _)| *kind == "semantic" && written.is_empty())
        {
            desk.push(no_grader_for(kind, at).as_warning());
            return false;
        }
    }
    for FoundGrader {
        spec, node, dir, ..
    } in graders.unwrap_or_default()
    {
        if matches!(spec, GraderSpec::Model(_)) {
            kinds_of(&mut aside, &spec, (&node, &dir), GradedCase::default());
        }
    }
    desk.problems.extend(
        found
            .into_iter()
            .filter(|problem| problem.severity == Severity::Warning),
    );
    true
}

fn combined(
    desk: &mut SuiteDesk,
    spec: &CombineSpec,
    at: Span,
    graders: &[Grader],
) -> Option<Combine> {
    let graders: Vec<&Grader> = graders
        .iter()
        .filter(|grader| !grader.informative)
        .collect();
    if graders.len() == 1 {
        let message = "`combine` has nothing to combine: only one grader decides";
        desk.push(Problem::warning(Code::BadCombine, at, message));
    }
    let total: f64 = graders.iter().map(|g| g.weight).sum();
    match spec {
        CombineSpec::Word(CombineWord::All) => Some(Combine::All),
        CombineSpec::Word(CombineWord::Any) => Some(Combine::Any),
        CombineSpec::Word(CombineWord::Weighted) => {
            let message = "`combine: weighted` needs a `pass_threshold`";
            desk.refuse(
                Problem::error(Code::BadCombine, at, message)
                    .hint("write `combine: {weighted: {pass_threshold: 0.7}}`"),
            )
        }
        CombineSpec::AtLeast(n) if *n == 0 || *n > graders.len() => {
            let message = format!(
                "`at_least: {n}` is not possible with {} grader(s)",
                graders.len()
            );
            desk.refuse(Problem::error(Code::BadCombine, at, message))
        }
        CombineSpec::AtLeast(n) => Some(Combine::AtLeast { n: *n }),
        CombineSpec::Weighted { pass_threshold } if *pass_threshold <= 0.0 => desk.refuse(
            Problem::error(
                Code::BadCombine,
                at,
                "with `pass_threshold: 0`, every output passes",
            )
            .hint("write a threshold above 0"),
        ),
        CombineSpec::Weighted { .. } if total <= 0.0 => desk.refuse(Problem::error(
            Code::BadCombine,
            at,
            "the weights of all graders are 0",
        )),
        CombineSpec::Weighted { pass_threshold } => Some(Combine::Weighted {
            pass_threshold: *pass_threshold,
        }),
    }
}
