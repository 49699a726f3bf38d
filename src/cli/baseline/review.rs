//! `eval-harness baseline review`: pending baselines one after the other, on a screen or through a
//! pipe.

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal, Write};

use super::pending::{Gathered, gather};
use super::screen::{Act, Item, Screen, View, act, frame, furthest, wrapped};
use super::shown::{Effect, lines, painted};
use super::{accept, overview, refuse_in_ci};
use crate::baseline::{Store, StoreError};
use crate::cli::Exit;
use crate::cli::args::ReviewArgs;
use crate::cli::console::Console;
use crate::cli::suite;
use crate::gate::ExitCode;
use crate::load::{self, LoadRequest, Overrides, Purpose};
use crate::model::EvalInfo;
use crate::report::differences::Limits;
use crate::spec::BaselineTarget;
use eval_base::text::{one_line, plural};

/// Places of one baseline that are shown, or lines of a new one: a screen scrolls.
const SHOWN: usize = 2_000;

pub fn review(console: &Console, args: &ReviewArgs) -> Exit {
    refuse_in_ci("review")?;
    let suite = overview(console, &args.of)?;
    let store = Store::new(suite.baselines.dir);
    let gathered = gather(&store, &suite.name, &args.evals)?;
    gathered.refuse_strangers(&store, &args.evals)?;
    gathered.tell_others(console);
    if gathered.pending.is_empty() && gathered.broken.is_empty() {
        console.result(b"nothing is pending\n")?;
        return Ok(ExitCode::Pass);
    }
    if args.accept_all {
        return Ok(accept::all(console, &store, &gathered, false)?.exit());
    }
    gathered.tell_broken(console);
    let options = console.terminal_options(false);
    let limits = Limits {
        rows: SHOWN,
        columns: 400,
        unicode: options.unicode,
    };
    let mut review = Review {
        store: &store,
        gathered: &gathered,
        items: items(&gathered, &names(args), limits),
        decided: BTreeMap::new(),
        interrupted: false,
    };
    let on_screen = io::stdin().is_terminal() && io::stdout().is_terminal();
    if on_screen {
        review.on_screen(options.color, options.unicode)?;
    } else {
        review.through_a_pipe(console, options.color)?;
    }
    review.sum_up(console)?;
    Ok(match () {
        () if review.interrupted => ExitCode::Interrupted,
        () if !gathered.broken.is_empty() => ExitCode::Wrong,
        () => ExitCode::Pass,
    })
}

/// What the suite says of its evals; a suite that does not load costs their names, not the review.
fn names(args: &ReviewArgs) -> BTreeMap<String, EvalInfo> {
    let request = || {
        Some(LoadRequest {
            suite: suite::suite_path(args.of.suite.as_deref()).ok()?,
            purpose: Purpose::List,
            overrides: Overrides {
                vars: args.of.vars.clone(),
                gateless: true,
                without_store: true,
                ..Overrides::default()
            },
            env: suite::environment(),
            cwd: suite::cwd().ok()?,
            cpus: 1,
        })
    };
    let plan = request().and_then(|request| load::load(&request).plan);
    plan.into_iter()
        .flat_map(|plan| plan.evals)
        .map(|eval| (eval.info.id.clone(), eval.info.clone()))
        .collect()
}

fn items(gathered: &Gathered, names: &BTreeMap<String, EvalInfo>, limits: Limits) -> Vec<Item> {
    let item = |pending: &super::pending::Pending| {
        let info = names.get(&pending.id);
        let file = &pending.pending.file;
        let mut facts = Vec::new();
        if let Some(criticality) = info.and_then(|info| info.criticality) {
            facts.push(criticality.name().to_owned());
        }
        if info.is_none() && !names.is_empty() {
            facts.push("no eval of the suite".to_owned());
        }
        facts.push(Effect::of(pending).words());
        facts.extend(
            file.captured_at
                .as_deref()
                .map(|at| format!("captured {}", one_line(at))),
        );
        facts.extend(file.target.as_ref().map(target));
        Item {
            id: pending.id.clone(),
            name: info
                .map(|info| info.name.clone())
                .filter(|name| *name != pending.id)
                .unwrap_or_default(),
            facts,
            lines: lines(pending, limits),
        }
    };
    gathered.pending.iter().map(item).collect()
}

pub(super) fn target(target: &BaselineTarget) -> String {
    match &target.name {
        Some(name) => format!("{} ({})", one_line(name), one_line(&target.kind)),
        None => one_line(&target.kind),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Accepted,
    Rejected,
}

struct Review<'a> {
    store: &'a Store,
    gathered: &'a Gathered,
    /// Of what was gathered, in its order.
    items: Vec<Item>,
    /// By the place of the item.
    decided: BTreeMap<usize, Decision>,
    interrupted: bool,
}

impl Review<'_> {
    /// Does what was decided, with the store ours just for that. An error is what is wrong with
    /// this one, in words.
    fn decide(&mut self, at: usize, decision: Decision) -> Result<(), String> {
        let Some(shown) = self.gathered.pending.get(at) else {
            return Ok(());
        };
        let words = |error: StoreError| match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        let locked = self.store.lock().map_err(words)?;
        match decision {
            Decision::Accepted => drop(locked.accept_shown(&shown.pending, false).map_err(words)?),
            Decision::Rejected => locked.reject_shown(&shown.pending).map_err(words)?,
        }
        self.decided.insert(at, decision);
        Ok(())
    }

    fn next_open(&self, from: usize) -> Option<usize> {
        (from..self.items.len()).find(|at| !self.decided.contains_key(at))
    }

    fn open_before(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|at| !self.decided.contains_key(at))
    }

    fn on_screen(&mut self, color: bool, unicode: bool) -> io::Result<()> {
        let mut screen = Screen::open()?;
        let (mut next, mut scroll, mut message) = (self.next_open(0), 0usize, String::new());
        while let Some(at) = next {
            let Some(item) = self.items.get(at) else {
                break;
            };
            let look = screen.look(color, unicode);
            let lines = wrapped(&item.lines, look.columns);
            let most = furthest(lines.len(), look);
            scroll = scroll.min(most);
            let view = View {
                item,
                n: at + 1,
                of: self.items.len(),
                scroll,
                message: &message,
            };
            screen.draw(&frame(&view, &lines, look))?;
            message.clear();
            let moved = match act(&screen.key()?, look.page()) {
                Act::Nothing => Ok(Some(at)),
                Act::Scroll(by) => {
                    scroll = scroll.saturating_add_signed(by).min(most);
                    continue;
                }
                Act::Top => Err(0),
                Act::Bottom => Err(most),
                Act::Quit => Ok(None),
                Act::Interrupt => {
                    self.interrupted = true;
                    Ok(None)
                }
                Act::Skip => Ok(self.next_open(at + 1)),
                Act::Back => Ok(self.open_before(at).or(Some(at))),
                decision @ (Act::Accept | Act::Reject) => {
                    let decision = if decision == Act::Accept {
                        Decision::Accepted
                    } else {
                        Decision::Rejected
                    };
                    match self.decide(at, decision) {
                        Ok(()) => Ok(self.next_open(at + 1)),
                        Err(why) => {
                            message = why;
                            Ok(Some(at))
                        }
                    }
                }
            };
            match moved {
                Err(to) => scroll = to,
                Ok(Some(to)) if to == at => {}
                Ok(to) => {
                    next = to;
                    scroll = 0;
                }
            }
        }
        Ok(())
    }

    /// One answer a line; the end of the input is the end of the review.
    fn through_a_pipe(&mut self, console: &Console, color: bool) -> io::Result<()> {
        let mut answers = io::stdin().lock().lines();
        'items: for at in 0..self.items.len() {
            let Some(item) = self.items.get(at) else {
                break;
            };
            let mut page = format!("{} of {}  {}", at + 1, self.items.len(), one_line(&item.id));
            if !item.name.is_empty() {
                page.push_str(&format!("  {}", one_line(&item.name)));
            }
            page.push_str(&format!("\n  {}\n", item.facts.join(", ")));
            for line in &item.lines {
                page.push_str(&format!("  {}\n", painted(line, color)));
            }
            console.result(page.as_bytes())?;
            loop {
                console.result(b"accept (a), reject (r), skip (s), quit (q)? ")?;
                let Some(answer) = answers.next().transpose()? else {
                    console.result(b"\n")?;
                    break 'items;
                };
                let answer = answer.trim().to_ascii_lowercase();
                let decision = match answer.as_str() {
                    "a" | "accept" => Decision::Accepted,
                    "r" | "reject" => Decision::Rejected,
                    "s" | "skip" => {
                        console.result(b"skipped\n\n")?;
                        break;
                    }
                    "q" | "quit" => {
                        console.result(b"\n")?;
                        break 'items;
                    }
                    _ => {
                        console.result(b"answer a, r, s or q\n")?;
                        continue;
                    }
                };
                match self.decide(at, decision) {
                    Ok(()) if decision == Decision::Accepted => console.result(b"accepted\n\n")?,
                    Ok(()) => console.result(b"rejected\n\n")?,
                    Err(why) => {
                        console.error(&why, None);
                        continue;
                    }
                }
                break;
            }
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
        let (accepted, rejected) = (count(Decision::Accepted), count(Decision::Rejected));
        let left = self.items.len() - accepted - rejected;
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
