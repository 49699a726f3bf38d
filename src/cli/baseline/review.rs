//! `eval-harness baseline review`: shows pending baselines one after another and asks what to do
//! with each, one answer a line.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use super::pending::{PendingBaseline, PendingList, gather};
use super::shown::{PendingEffect, change};
use super::{NOTHING, accept, overview, refuse_in_ci};
use crate::baseline::{BaselineStore, StoreError};
use crate::cli::CliResult;
use crate::cli::args::ReviewArgs;
use crate::cli::console::Console;
use crate::cli::suite;
use crate::gate::ExitCode;
use crate::load::{self, LoadOverrides, LoadRequest, PlanPurpose};
use crate::model::EvalInfo;
use crate::report::differences::DifferenceLimits;
use crate::report::limits;
use crate::report::page::{DOT, Page, StyledText, bold, outside, own, text};
use crate::spec::BaselineTarget;
use eval_base::text::plural;

pub fn review(console: &Console, args: &ReviewArgs) -> CliResult {
    refuse_in_ci("review")?;
    let suite = overview(console, &args.of)?;
    let store = BaselineStore::new(suite.baselines.dir);
    let gathered = gather(&store, &suite.name, &args.evals)?;
    gathered.refuse_strangers(&store, &args.evals)?;
    gathered.tell_others(console);
    if gathered.pending.is_empty() && gathered.broken.is_empty() {
        console.result(format!("{NOTHING}\n").as_bytes())?;
        return Ok(ExitCode::Pass);
    }
    if args.accept_all {
        return Ok(accept::all(console, &store, &gathered, false)?.exit());
    }
    gathered.tell_broken(console);
    let options = console.terminal_options(false);
    let limits = DifferenceLimits {
        rows: limits::terminal::BASELINE_REVIEW,
        columns: 400,
        unicode: options.unicode,
    };
    let mut review = BaselineReview {
        store: &store,
        gathered: &gathered,
        pages: pages(&gathered, &names(args), limits),
        decided: BTreeMap::new(),
    };
    review.ask(console)?;
    review.sum_up(console)?;
    Ok(if gathered.broken.is_empty() {
        ExitCode::Pass
    } else {
        ExitCode::Wrong
    })
}

/// What the suite says of its evals; a suite that does not load costs their names, not the review.
fn names(args: &ReviewArgs) -> BTreeMap<String, EvalInfo> {
    let request = || {
        Some(LoadRequest {
            suite: suite::suite_path(args.of.suite.as_deref()).ok()?,
            purpose: PlanPurpose::List,
            overrides: LoadOverrides {
                vars: args.of.vars.clone(),
                gateless: true,
                without_store: true,
                ..LoadOverrides::default()
            },
            env: suite::environment(),
            cwd: suite::cwd().ok()?,
            cpus: 1,
            ..LoadRequest::default()
        })
    };
    let plan = request().and_then(|request| load::load(&request).plan);
    plan.into_iter()
        .flat_map(|plan| plan.evals)
        .map(|eval| (eval.info.id.clone(), eval.info.clone()))
        .collect()
}

/// What each baseline is and what accepting it would change.
fn pages(
    gathered: &PendingList,
    names: &BTreeMap<String, EvalInfo>,
    limits: DifferenceLimits,
) -> Vec<Page> {
    let all = gathered.pending.len();
    let page = |(at, pending): (usize, &PendingBaseline)| {
        let info = names.get(&pending.id);
        let file = &pending.pending.file;
        let name = info.map(|info| info.name.as_str());
        let name = name.filter(|name| *name != pending.id).unwrap_or_default();
        let criticality = info.and_then(|info| info.criticality);
        let stranger = info.is_none() && !names.is_empty();
        let captured = file.captured_at.as_deref();
        let facts = [
            criticality.map(|criticality| own(criticality.name())),
            stranger.then(|| "no eval of the suite".into()),
            Some(own(PendingEffect::of(pending).words())),
            captured.map(|at| text!["captured ", outside(at)]),
            file.target.as_ref().map(target),
        ];
        let number = own(format!("{} of {all}  ", at + 1));
        let mut page = Page::default();
        page.lead(text![number, bold(&pending.id), "  ", outside(name)]);
        page.words(StyledText::joined(facts.into_iter().flatten(), DOT));
        page.push(change(pending, limits));
        page
    };
    gathered.pending.iter().enumerate().map(page).collect()
}

pub(super) fn target(target: &BaselineTarget) -> StyledText {
    match &target.name {
        Some(name) => text![name, " (", &target.kind, ")"],
        None => (&target.kind).into(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BaselineDecision {
    Accepted,
    Rejected,
}

impl BaselineDecision {
    fn words(self) -> &'static [u8] {
        match self {
            BaselineDecision::Accepted => b"accepted\n\n",
            BaselineDecision::Rejected => b"rejected\n\n",
        }
    }
}

struct BaselineReview<'a> {
    store: &'a BaselineStore,
    gathered: &'a PendingList,
    /// Of what was gathered, in its order.
    pages: Vec<Page>,
    /// By the place of the page.
    decided: BTreeMap<usize, BaselineDecision>,
}

impl BaselineReview<'_> {
    /// Does what was decided, with the store ours just for that. An error is what is wrong with
    /// this one, in words.
    fn decide(&mut self, at: usize, decision: BaselineDecision) -> Result<(), String> {
        let Some(shown) = self.gathered.pending.get(at) else {
            return Ok(());
        };
        let words = |error: StoreError| match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        let locked = self.store.lock().map_err(words)?;
        match decision {
            BaselineDecision::Accepted => {
                drop(locked.accept_shown(&shown.pending, false).map_err(words)?)
            }
            BaselineDecision::Rejected => locked.reject_shown(&shown.pending).map_err(words)?,
        }
        self.decided.insert(at, decision);
        Ok(())
    }

    fn next_open(&self, from: usize) -> Option<usize> {
        (from..self.pages.len()).find(|at| !self.decided.contains_key(at))
    }

    fn open_before(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|at| !self.decided.contains_key(at))
    }

    /// The end of the input is the end of the review.
    fn ask(&mut self, console: &Console) -> io::Result<()> {
        let mut answers = io::stdin().lock().lines();
        let mut next = self.next_open(0);
        while let Some((at, page)) = next.and_then(|at| Some((at, self.pages.get(at)?))) {
            console.page(page)?;
            next = loop {
                console.result(b"accept (a), reject (r), skip (s), back (b), quit (q)? ")?;
                let Some(answer) = answers.next().transpose()? else {
                    console.result(b"\n")?;
                    break None;
                };
                let decision = match answer.trim().to_ascii_lowercase().as_str() {
                    "a" | "accept" => BaselineDecision::Accepted,
                    "r" | "reject" => BaselineDecision::Rejected,
                    "s" | "skip" => {
                        console.result(b"skipped\n\n")?;
                        break self.next_open(at + 1);
                    }
                    "b" | "back" => break self.open_before(at).or(Some(at)),
                    "q" | "quit" => {
                        console.result(b"\n")?;
                        break None;
                    }
                    _ => {
                        console.result(b"answer a, r, s, b or q\n")?;
                        continue;
                    }
                };
                match self.decide(at, decision) {
                    Ok(()) => {
                        console.result(decision.words())?;
                        break self.next_open(at + 1);
                    }
                    Err(why) => console.error(&why, None),
                }
            };
        }
        io::stdout().flush()
    }

    fn sum_up(&self, console: &Console) -> io::Result<()> {
        let count = |decision| {
            self.decided
                .values()
                .filter(|decided| **decided == decision)
                .count()
        };
        let (accepted, rejected) = (
            count(BaselineDecision::Accepted),
            count(BaselineDecision::Rejected),
        );
        let left = self.pages.len() - accepted - rejected;
        let page = format!(
            "{} accepted, {rejected} rejected, {left} still pending\n",
            plural(accepted, "baseline")
        );
        console.result(page.as_bytes())?;
        if accepted > 0 {
            console.note("commit them with git, so that everybody's runs compare with them");
        }
        Ok(())
    }
}
