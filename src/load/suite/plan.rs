//! The last step: settings of the files and of the command line become a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::variables::unread_vars;
use super::{SuiteLoader, count};
use crate::load::depends;
use crate::load::metrics;
use crate::load::models;
use crate::load::prices;
use crate::load::problem::{Code, Problem, Problems, Severity};
use crate::load::prompts;
use crate::load::request::{PlanPurpose, SuiteCounts};
use crate::load::scope::{SuiteScope, seconds};
use crate::load::select::{part_of, select};
use crate::load::source::Span;
use crate::load::targets::ChosenTarget;
use crate::load::thresholds::{self, ResolvedDemands};
use crate::load::tree::Node;
use crate::model::{
    Eval, Fingerprint, GateRequirement, GateSpec, ModelSettings, NotifyChannel, NumberKind, Plan,
    PlanSettings, PlannedSamples, ReportFormat, ReportSettings, SuiteInfo, Target,
};
use crate::spec::SuiteSpec;
use eval_base::text::plural;

/// Everything of a plan but what the command line still changes.
pub(super) struct PlanParts {
    pub spec: SuiteSpec,
    pub node: Node,
    pub channels: Vec<NotifyChannel>,
    pub demands: ResolvedDemands,
    pub evals: Vec<Arc<Eval>>,
    pub chosen: ChosenTarget,
    pub scope: SuiteScope,
}

impl SuiteLoader<'_> {
    /// A `config.k` above the samples that cases have, each by its own `samples` or the suite's: an
    /// error where the suite's are too few, else a warning.
    fn check_ks(&mut self, parts: &PlanParts) {
        let Some(k) = parts.spec.config.k.0.iter().copied().max() else {
            return;
        };
        let Some(short) = PlannedSamples::of(&parts.evals, |_, case| case.samples).fewer_than(k)
        else {
            return;
        };
        let (at, why) = (
            parts.node.locate("/config/k"),
            format!("samples per case, but {short}"),
        );
        let hint = format!("raise `samples` to {k}, or lower `k`");
        let problem = match parts.scope.samples.or(parts.spec.config.samples) {
            Some(n) if n < k => {
                Problem::error(Code::KAboveSamples, at, format!("pass@{k} needs {k} {why}"))
            }
            _ => Problem::warning(
                Code::KAboveSamples,
                at,
                format!("pass@{k} has no value: it needs {k} {why}"),
            ),
        };
        self.session.problems.push(problem.hint(hint));
    }

    pub(super) fn plan(&mut self, parts: PlanParts) -> (Option<Plan>, SuiteCounts, SuiteCounts) {
        self.check_ks(&parts);
        let (spec, target) = (&parts.spec, parts.chosen.target.as_ref());
        let overrides = &self.request.overrides;
        let problems = &mut self.session.problems;
        if parts.evals.is_empty() && !problems.has_errors() {
            let message = "the suite has no evals, so it would pass without a test";
            problems.push(Problem::general(Code::EmptyCases, message));
        }
        let weightless =
            !parts.evals.is_empty() && parts.evals.iter().all(|e| e.info.weight == 0.0);
        if weightless {
            let message = "the weights of all evals are 0, so `weighted_score` has no value";
            problems.push(Problem::general(Code::SuspiciousValue, message).as_warning());
        }
        let complete = !problems.has_errors();
        let declared = metrics::declared(&parts.evals, problems);
        let composites = metrics::composites(
            &spec.metrics,
            parts.node.get("metrics"),
            &declared,
            complete,
            problems,
        );
        let ResolvedDemands { set, typed, .. } = &parts.demands;
        let max_regressions = set.max_regressions.or(spec.max_regressions);
        let max_regressions = typed
            .max_regressions
            .or(overrides.max_regressions)
            .or(max_regressions);
        let require = typed.require.or(overrides.require).or(set.require);
        thresholds::check_requirement(require, max_regressions, problems);
        // Faults of thresholds, and equal ids, hide no metric.
        let written = parts.node.get("thresholds").map(|node| node.span);
        let hides = |problem: &Problem| {
            let span = problem
                .span
                .filter(|span| written.is_some_and(|written| written.overlaps(*span)));
            problem.severity == Severity::Error
                && problem.code != Code::DuplicateId
                && span.is_none()
        };
        let is_declared = !problems.iter().any(hides);
        let demands = parts
            .demands
            .settle(&declared, &composites, is_declared, problems);
        if complete {
            thresholds::check_parts(&demands, &parts.evals, problems);
        }
        thresholds::check_producible(&demands, &composites, &parts.evals, target, problems);
        let scope = parts.spec.config.intervals.unwrap_or_default();
        thresholds::check_evals(&demands, &parts.evals, scope, problems);
        let total = count(&parts.evals);
        let errors_before_filters = problems.has_errors();
        let all = parts.evals.clone();
        let mut whole_hash = String::new();
        let evals = if errors_before_filters {
            // Nothing will run; keys are looked for where filters leave a need of them.
            select(parts.evals, &overrides.filters, &mut Problems::new())
        } else {
            let evals = select(parts.evals, &overrides.filters, problems);
            // Not of a shard: it decides no gate, and another one may measure what it does not.
            if count(&evals) != total && !problems.has_errors() {
                let again = overrides.filters.only.is_some() || overrides.gateless;
                metrics::check_selected(&demands, &composites, &evals, again, problems);
                thresholds::check_part_selected(&demands, &evals, again, problems);
            }
            let decides = !(overrides.filters.only.is_some() || overrides.gateless);
            if require.is_none() && decides && !problems.has_errors() {
                thresholds::warn_of_unguarded(&demands, &composites, &evals, problems);
            }
            match overrides.shard {
                Some(shard) => {
                    whole_hash = hash_of_all(&evals).to_string();
                    part_of(evals, shard, problems)
                }
                None => evals,
            }
        };
        problems.extend(lacks_graders(&parts.scope, &evals));
        let selected = count(&evals);
        let config = &spec.config;
        let ks = thresholds::ks(&config.k.0, &overrides.metrics, &demands, &composites);
        warn_of_equal_samples(
            &evals,
            (target, temperature_at(&parts.node, &parts.chosen.name)),
            &ks,
            problems,
        );
        let parallel = config.parallel_execution.unwrap_or(true);
        let max_workers = overrides.jobs.unwrap_or(if parallel {
            config.max_workers.unwrap_or(self.request.cpus)
        } else {
            1
        });
        let mut dependencies = target
            .filter(|_| !parts.scope.lenient)
            .map(|target| depends::of_target(target, &parts.scope))
            .unwrap_or_default();
        // Evals share what workspaces are made of.
        let stamps = parts.scope.workspace_hashes.stamps();
        dependencies.stamps.0.extend(stamps);
        let models = models::AskedModels::of(&evals, target);
        let in_flight = match overrides.jobs.is_some() || !parallel {
            true => max_workers,
            // Those that wait for a model leave room for those that are graded, and for what comes
            // next.
            false => {
                let most = models.most_at_once();
                most.map_or(max_workers, |most| max_workers.max(most + 2 * max_workers))
            }
        };
        let asked = ModelSettings {
            budget: prices::budget(overrides.budget, config.budget),
            ..models::settings(config, self.request, &self.dir)
        };
        // A judge is asked again of outputs that are there already.
        let may_be_asked = if overrides.asks_only_judges {
            models.judges.clone()
        } else {
            models.all()
        };
        let needs_keys = !overrides.asks_nobody && !models::is_offline(&asked);
        if self.session.purpose == PlanPurpose::Run && needs_keys {
            let (places, secrets) = (&parts.scope.key_places, &parts.scope.secrets);
            models::check_keys(&may_be_asked, places, secrets, problems);
        }
        let retries = match config.retry_failed {
            Some(true) => config.retry_count.unwrap_or(1),
            _ => 0,
        };
        if config.retry_count.is_some() && config.retry_failed != Some(true) {
            let message = "`retry_count` has no effect without `retry_failed: true`";
            problems.push(Problem::general(Code::SuspiciousValue, message).as_warning());
        }
        prices::check_budget(&asked, &may_be_asked, problems);
        let plan = Plan {
            suite: SuiteInfo {
                name: spec.name.clone(),
                version: spec.version.clone(),
                description: spec.description.clone(),
                path: self.request.suite.clone(),
                dir: self.dir.clone(),
                root: self.root.clone(),
            },
            target_name: parts.chosen.name,
            target_hash: target
                .map(|target| Fingerprint::of(&located(target, &self.root)).to_string())
                .unwrap_or_default(),
            prompt: None,
            dependencies,
            whole_hash,
            target: parts.chosen.target,
            evals,
            whole: if selected == total { Vec::new() } else { all },
            shard: overrides.shard,
            settings: PlanSettings {
                max_workers: max_workers.max(1),
                in_flight: in_flight.max(1),
                ks,
                interval_scope: config.intervals.unwrap_or_default(),
                seed: config.seed.unwrap_or(0),
                timeout_global: config
                    .timeout_global
                    .map(seconds)
                    .filter(|d| *d > Duration::ZERO),
                grade_timeout: config
                    .grade_timeout_seconds
                    .map_or(PlanSettings::GRADE_TIMEOUT, seconds),
                retry_failed: retries,
                max_fail: overrides.max_fail,
                allow_unsandboxed: overrides.allow_unsandboxed,
                sandbox: parts.scope.demands.sandbox.clone(),
                models: asked,
            },
            gate: GateSpec {
                thresholds: demands.into_iter().map(|d| d.threshold).collect(),
                max_regressions,
                require_all_evals: require == Some(GateRequirement::AllEvals),
            },
            composites,
            score_metrics: declared
                .iter()
                .filter(|(_, kind)| **kind == NumberKind::Score)
                .map(|(name, _)| name.clone())
                .collect(),
            again: overrides.filters.only.is_some(),
            reporting: ReportSettings {
                formats: formats(overrides.formats.as_ref(), &spec.reporting),
                output_dir: parts.scope.output_dir.clone(),
                include_details: spec.reporting.include_details.unwrap_or(true),
                notify_on_failure: spec.reporting.notify_on_failure.unwrap_or(false),
                channels: parts.channels,
            },
            excuses: parts.spec.check.excused.clone(),
            baselines: parts.scope.baselines,
            against: parts.scope.store.against(),
            unread_vars: unread_vars(&overrides.vars, self.session),
            readable: parts.scope.executors.readable(),
            // Short ones are left out where secrets are looked for.
            secrets: {
                let env = parts.scope.templates.env.values().cloned();
                env.chain(parts.scope.secrets.all()).collect()
            },
        };
        let problems = &mut self.session.problems;
        let prompt = prompts::choose(overrides, &plan, problems);
        let plan = match prompt {
            Some(prompt) => plan.under(&prompt),
            None => plan,
        };
        (Some(plan), total, selected)
    }
}

/// Selected cases without a grader of the type that `--grader-type` requires, where the suite has
/// no default of that type.
fn lacks_graders(scope: &SuiteScope, evals: &[Arc<Eval>]) -> Option<Problem> {
    let defaults = &scope.shelf.defaults;
    let wanted = scope
        .grader_type
        .filter(|wanted| !defaults.contains_key(wanted))?;
    let (mut first, mut lacking) = (None, 0);
    for eval in evals {
        for case in eval.cases.outlines() {
            let mut graders = case.profile.graders.iter();
            if !graders.any(|grader| grader.grader_type == wanted) {
                lacking += 1;
                first.get_or_insert_with(|| format!("`{}` of `{}`", case.id, eval.info.id));
            }
        }
    }
    let (first, word) = (first?, wanted.name());
    let have = if lacking == 1 { "has" } else { "have" };
    let cases = plural(lacking, "selected case");
    let message = format!(
        "`--grader-type {word}`: {cases} {have} no {word} grader, and the suite has no default for it: first {first}"
    );
    let hint =
        format!("set one under `graders: {{defaults: {{{word}: NAME}}}}`, or select other evals");
    Some(Problem::general(Code::UnknownGrader, message).hint(hint))
}

/// Where a suite sets the temperature of the target of that name.
fn temperature_at(node: &Node, name: &str) -> Option<Span> {
    let named = node.get("targets").and_then(|targets| targets.get(name));
    named
        .or_else(|| node.get("target"))?
        .key_place("temperature")
}

/// Warns of several samples at temperature 0, where a model repeats its answer: of the suite's target,
/// and of evals with a model of their own unless other cases need the samples. A case that sets no
/// samples has the largest k.
fn warn_of_equal_samples(
    evals: &[Arc<Eval>],
    (target, temperature_at): (Option<&Target>, Option<Span>),
    ks: &[u32],
    problems: &mut Problems,
) {
    let largest = ks.iter().copied().max().unwrap_or(1);
    let mut most: BTreeMap<Option<&str>, u32> = BTreeMap::new();
    let mut some_vary = false;
    for eval in evals {
        for case in eval.cases.outlines() {
            let own = case.profile.target.as_ref();
            let samples = case.samples.unwrap_or(largest);
            let is_fixed = matches!(own.or(target), Some(Target::Model(model)) if model.sampling.temperature == Some(0.0));
            some_vary |= samples > 1 && !is_fixed;
            if is_fixed && samples > 1 {
                let most = most.entry(own.map(|_| eval.info.id.as_str())).or_default();
                *most = samples.max(*most);
            }
        }
    }
    for (eval, samples) in most
        .into_iter()
        .filter(|(eval, _)| eval.is_none() || !some_vary)
    {
        let of = eval.map(|id| format!(" of `{id}`")).unwrap_or_default();
        let message = format!(
            "{samples} samples{of} at `temperature: 0` are no better than one: the model repeats its answer"
        );
        let at = temperature_at.filter(|_| eval.is_none());
        let problem = Problem::warning(Code::SuspiciousValue, at, message);
        problems.push(problem.hint("remove `temperature`, or set `samples: 1`"));
    }
}

/// The target as it is the same wherever the project lies: what a recording holds is told apart by
/// its content.
fn located(target: &Target, root: &Path) -> Target {
    match target {
        Target::Recorded {
            path,
            separate_thoughts,
        } => {
            let outside = || path.file_name().map_or_else(|| path.clone(), PathBuf::from);
            let path = path
                .strip_prefix(root)
                .map_or_else(|_| outside(), Path::to_owned);
            Target::Recorded {
                path,
                separate_thoughts: *separate_thoughts,
            }
        }
        other => other.clone(),
    }
}

/// Over what every case asks and how it is graded, so that shards of two suites are told apart.
fn hash_of_all(evals: &[Arc<Eval>]) -> Fingerprint {
    let mut digest = Sha256::new();
    for eval in evals {
        let header = (eval.info.id.as_str(), eval.cases.len());
        digest.update(Fingerprint::of(&header).to_string());
        for case in eval.cases.outlines() {
            let profile = case.profile;
            // Where a recording lies differs between machines.
            let target = profile
                .target_hash
                .filter(|_| !matches!(profile.target, Some(Target::Recorded { .. })));
            let target = target.unwrap_or_default();
            digest.update(format!("{} {target} {:?} ", case.input_hash, case.samples));
            digest.update(format!(
                "{} {} {}",
                case.grading_hash,
                case.id.len(),
                case.id
            ));
        }
    }
    Fingerprint::of_digest(&digest.finalize())
}

fn formats(
    given: Option<&Vec<ReportFormat>>,
    spec: &crate::spec::ReportingSpec,
) -> Vec<ReportFormat> {
    let mut formats = match (given, &spec.format) {
        (Some(given), _) => given.clone(),
        (None, Some(written)) => written.0.clone(),
        (None, None) => vec![ReportFormat::Json, ReportFormat::Markdown],
    };
    let mut seen = BTreeSet::new();
    formats.retain(|format| seen.insert(*format));
    formats
}
