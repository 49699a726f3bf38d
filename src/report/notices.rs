//! What every report must say beside the numbers, so that no format forgets it.

use std::collections::{BTreeSet, HashSet};

use crate::model::{
    Cause, Failure, ReuseCounts, SampleResult, Shard, Summary, Trust, private_cases,
};
use crate::report::page::PageNotice;
use crate::report::{commands, figures, limits, models};
use eval_base::text;

/// The headline of a run whose code was not isolated.
pub const NOT_SANDBOXED: &str = "SANDBOX NOT ENFORCED";

/// True when code ran, or may have run, without isolation.
pub fn is_unsandboxed(summary: &Summary) -> bool {
    let declared = summary
        .metadata
        .environment
        .sandbox
        .as_ref()
        .is_some_and(|sandbox| !sandbox.enforced);
    declared || any_trust(summary, Trust::Unsandboxed)
}

/// Remarks on a summary, the loud ones first.
pub fn notices(summary: &Summary) -> Vec<PageNotice> {
    let mut all = Vec::new();
    let metadata = &summary.metadata;
    if is_unsandboxed(summary) {
        let sandbox = metadata.environment.sandbox.as_ref();
        let tier = sandbox
            .map(|s| format!(" (tier: {})", s.tier))
            .unwrap_or_default();
        all.push(PageNotice {
            notes: sandbox.map(|s| s.notes.clone()).unwrap_or_default(),
            ..PageNotice::loud(format!(
                "{NOT_SANDBOXED}: code ran, or may have run, without isolation{tier}"
            ))
        });
    }
    all.extend(
        summary
            .warnings
            .iter()
            .map(|warning| PageNotice::loud(&warning.message)),
    );
    if metadata.interrupted {
        all.push(PageNotice {
            command: commands::resume(summary),
            ..PageNotice::loud(
                "INTERRUPTED: the run ended early; samples that did not run are skipped, not failed",
            )
        });
    }
    all.extend(spent_budget(summary));
    if let Some(Shard { index, of }) = metadata.shard {
        all.push(PageNotice::quiet(format!(
            "Shard {index} of {of}: the gate was not decided; join the shards with eval-harness report --run RUN --run RUN"
        )));
    }
    if !metadata.joined.is_empty() {
        all.push(PageNotice::quiet(format!(
            "Joined with {}",
            metadata.joined.join(", ")
        )));
    }
    if let Some(run) = &metadata.regrade_of {
        all.push(PageNotice::quiet(format!(
            "Regraded the stored outputs of {run}; the target was not called"
        )));
    }
    all.extend(reused(summary).map(|headline| {
        PageNotice {
            notes: metadata
                .reused
                .and_then(|counts| ReuseCounts::unlisted_warning(counts.unlisted_files))
                .into_iter()
                .collect(),
            ..PageNotice::quiet(headline)
        }
    }));
    all.extend(models::kept(summary).map(PageNotice::quiet));
    if let Some(against) = &metadata.against {
        all.push(PageNotice::quiet(format!(
            "Compared with the baselines of {against}, not with those on disk"
        )));
    }
    if !metadata.filters.is_empty() {
        all.push(PageNotice::quiet(format!(
            "Not the whole suite: {}",
            metadata.filters.join(", ")
        )));
    }
    if !summary.list_filters.is_empty() {
        let listed: usize = summary.evals.iter().map(|eval| eval.cases.len()).sum();
        all.push(PageNotice::quiet(format!(
            "Lists {} of {} ({}); figures and gate are those of the whole run",
            text::group_digits(listed),
            text::plural(summary.summary.cases.total, "case"),
            summary.list_filters.join(", ")
        )));
    }
    let private = summary.private_cases();
    if private > 0 {
        let cases = private_cases(private);
        let verb = if private == 1 { "is" } else { "are" };
        all.push(PageNotice::quiet(format!("{cases} {verb} not listed")));
    }
    all.extend(repeated(summary));
    all.extend(empty_passes(summary));
    all.extend(not_requested(summary));
    all.extend(other_models(summary));
    all.extend(denied(summary));
    let sandbox = summary.metadata.environment.sandbox.as_ref();
    // What passed did so in spite of them.
    let cases = &summary.summary.cases;
    let sandbox = sandbox.filter(|_| cases.failed + cases.errored > 0);
    let limits = sandbox.into_iter().flat_map(|sandbox| &sandbox.workspaces);
    all.extend(limits.map(PageNotice::quiet));
    if any_trust(summary, Trust::InProcess) {
        all.push(PageNotice::quiet(
            "Some tests shared an interpreter with the candidate's code (trust: in_process); \
             a determined program could forge their verdict",
        ));
    }
    if summary.truncated {
        all.push(PageNotice::quiet(omitted(summary)));
    }
    all
}

/// What a run with `--changed` took from an earlier one.
pub fn reused(summary: &Summary) -> Option<String> {
    let counts = summary.metadata.reused?;
    let run = match summary.metadata.joined.is_empty() {
        true => summary.metadata.changed_since.as_deref()?,
        false => "earlier runs",
    };
    Some(format!(
        "{} reused from {run}, {} graded again, {} run",
        text::plural(counts.reused, "sample"),
        text::group_digits(counts.graded_again),
        text::group_digits(counts.run)
    ))
}

/// Samples that did not run because nothing was left to pay for them.
fn spent_budget(summary: &Summary) -> Option<PageNotice> {
    let samples = *summary.summary.by_cause.get(Cause::Budget.name())?;
    let headline = format!(
        "BUDGET SPENT: {} did not run; they are skipped, not failed",
        text::plural(samples, "sample")
    );
    let run =
        commands::go_on(summary).unwrap_or_else(|| "eval-harness run --resume RUN".to_owned());
    let more = format!("`{run} --budget usd=AMOUNT` continues the run with a higher limit");
    let notes = match summary.metadata.regrade_of {
        None => vec![more],
        Some(_) => Vec::new(),
    };
    Some(PageNotice {
        notes,
        ..PageNotice::loud(headline)
    })
}

/// Samples that show no more than one of them would.
fn repeated(summary: &Summary) -> Option<PageNotice> {
    let cases = Some(summary.summary.repeated_cases).filter(|cases| *cases > 0)?;
    let headline = format!(
        "Samples repeat: in all {} cases with several samples, the outputs are identical; pass@k and pass^k then equal pass@1",
        text::group_digits(cases)
    );
    let why = "A model at temperature 0, a program without randomness, and a recording with copied lines give identical \
               samples; more samples add information only if they can differ";
    Some(PageNotice {
        notes: vec![why.to_owned()],
        ..PageNotice::quiet(headline)
    })
}

/// Samples that passed with an empty output.
fn empty_passes(summary: &Summary) -> Option<PageNotice> {
    let samples = Some(summary.summary.empty_passes).filter(|samples| *samples > 0)?;
    let headline = format!(
        "{} passed with an empty output: none of their graders requires text",
        text::plural(samples, "sample")
    );
    let why = "Graders that only forbid texts pass an empty output; `must_include` or a further grader requires an answer";
    Some(PageNotice {
        notes: vec![why.to_owned()],
        ..PageNotice::quiet(headline)
    })
}

/// The listed samples; where the lists omit some, a count of them is a lower bound.
fn listed_samples(summary: &Summary) -> impl Iterator<Item = &SampleResult> {
    let cases = summary.evals.iter().flat_map(|eval| &eval.cases);
    cases.flat_map(|case| &case.samples)
}

/// What is listed of each of some samples, all together: in how many samples, and the first names.
fn names_in_samples<'a>(
    summary: &'a Summary,
    names: impl Fn(&'a SampleResult) -> Option<&'a Vec<String>>,
) -> Option<String> {
    let lists: Vec<&Vec<String>> = listed_samples(summary)
        .filter_map(names)
        .filter(|names| !names.is_empty())
        .collect();
    let all: BTreeSet<&String> = lists.iter().copied().flatten().collect();
    if all.is_empty() {
        return None;
    }
    Some(format!(
        "{}: {}",
        samples_at_least(summary, lists.len()),
        text::listed(&all, limits::NOTICE_NAMES, all.len(), ", ")
    ))
}

fn samples_at_least(summary: &Summary, samples: usize) -> String {
    let at_least = if summary.truncated { "at least " } else { "" };
    format!("{at_least}{}", text::plural(samples, "sample"))
}

/// What proxies of agents refused.
fn denied(summary: &Summary) -> Option<PageNotice> {
    let names = names_in_samples(summary, |sample| Some(&sample.trajectory.as_ref()?.denied))?;
    let how = "`network.allow` of the target lists the hosts that an agent may connect to";
    Some(PageNotice {
        notes: vec![how.to_owned()],
        ..PageNotice::quiet(format!("Requests of agents were refused in {names}"))
    })
}

/// Agents that called models other than that of their target.
fn other_models(summary: &Summary) -> Option<PageNotice> {
    let names = names_in_samples(summary, |sample| {
        Some(&sample.call.as_ref()?.agent.as_ref()?.models)
    })?;
    let why = "What is measured is the work of all of them, not only of the target's `model`";
    Some(PageNotice {
        notes: vec![why.to_owned()],
        ..PageNotice::quiet(format!(
            "Other models than that of the target answered in {names}"
        ))
    })
}

/// Recorded answers that agents did not request.
fn not_requested(summary: &Summary) -> Option<PageNotice> {
    let calls = listed_samples(summary).filter_map(|sample| sample.call.as_ref()?.agent.as_ref());
    let counts: Vec<u64> = calls
        .map(|agent| agent.not_requested)
        .filter(|count| *count > 0)
        .collect();
    if counts.is_empty() {
        return None;
    }
    let answers = counts.iter().copied().fold(0, u64::saturating_add);
    let verb = if answers == 1 { "was" } else { "were" };
    let answers = figures::plural(answers, "recorded answer");
    let samples = samples_at_least(summary, counts.len());
    let why = "These agents ended earlier than in their recordings; their samples are graded by what they did now";
    Some(PageNotice {
        notes: vec![why.to_owned()],
        ..PageNotice::quiet(format!("{answers} {verb} not requested in {samples}"))
    })
}

/// Entries of `failures` that the summary does not list.
pub fn unlisted_failures(summary: &Summary) -> usize {
    summary.omitted.map_or(0, |omitted| omitted.failures)
}

/// The number of cases that failures are of: a case with failed and with errored samples has two.
pub fn cases_of<'a>(failures: impl IntoIterator<Item = &'a Failure>) -> usize {
    let places: HashSet<(&str, &str)> = failures
        .into_iter()
        .map(|failure| (failure.eval_id.as_str(), failure.case_id.as_str()))
        .collect();
    places.len()
}

/// The cases that did not pass, of which so many are listed.
pub fn unpassed_cases(summary: &Summary, listed: usize) -> usize {
    let cases = &summary.summary.cases;
    match unlisted_failures(summary) {
        0 if summary.private_cases() == 0 => listed,
        unlisted if !summary.list_filters.is_empty() => listed + unlisted,
        _ => listed.max(cases.failed + cases.errored),
    }
}

/// What the lists leave out; the figures count it all.
fn omitted(summary: &Summary) -> String {
    let Some(omitted) = summary.omitted else {
        return "Only samples that did not pass are listed; the journal has all samples".to_owned();
    };
    let mut parts = Vec::new();
    for (n, noun) in [
        (omitted.cases, "case"),
        (omitted.samples, "sample"),
        (omitted.failures, "failure"),
    ] {
        if n > 0 {
            parts.push(text::plural(n, noun));
        }
    }
    let unpassed = match omitted.unpassed_samples {
        0 => String::new(),
        n => format!(
            " (including {} that did not pass)",
            text::plural(n, "sample")
        ),
    };
    format!(
        "Figures count everything; the lists omit {}{unpassed}; the journal has them",
        parts.join(", ")
    )
}

/// The kinds of second tries, in a sentence each: those of samples whose grade failed, those of
/// calls that did not get through, and those of programs that ran out of time. They are never one
/// number.
pub fn retries(summary: &Summary) -> Vec<String> {
    let totals = &summary.summary;
    let mut all = Vec::new();
    if totals.flaky > 0 {
        all.push(format!(
            "{} passed only on a later attempt (flaky)",
            text::plural(totals.flaky, "sample")
        ));
    }
    if totals.infrastructure_retries > 0 {
        let calls = text::plural(totals.infrastructure_retries, "call");
        all.push(format!(
            "{calls} to the target did not get through and had to be retried"
        ));
    }
    if totals.adjudicated > 0 {
        let samples = text::plural(totals.adjudicated, "sample");
        all.push(format!(
            "{samples} timed out and had to be run again, alone, to confirm the timeout"
        ));
    }
    all
}

fn any_trust(summary: &Summary, trust: Trust) -> bool {
    summary.summary.by_trust.contains_key(&trust)
}

/// What verdicts over candidates' code rest on: `harness 120, split 44`, in samples; `None` when no
/// code ran.
pub fn trust(summary: &Summary) -> Option<String> {
    let by_trust = &summary.summary.by_trust;
    let parts: Vec<String> = by_trust
        .iter()
        .map(|(level, counts)| format!("{} {}", level.name(), text::group_digits(counts.samples)))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What a level of trust means, in a few words.
pub fn trust_meaning(level: Trust) -> &'static str {
    match level {
        Trust::Harness => "results were compared in the harness",
        Trust::Split => "the tests ran in a process without the candidate's code",
        Trust::InProcess => {
            "the tests shared an interpreter with the candidate's code: a determined program could forge the verdict"
        }
        Trust::Unsandboxed => "the code ran without isolation",
    }
}
