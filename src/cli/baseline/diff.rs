//! `eval-harness baseline diff`: what pending baselines would change.

use serde_json::{Value, json};

use super::pending::{PendingBaseline, PendingList, gather};
use super::shown::{PendingEffect, change};
use super::{overview, relative};
use crate::baseline::BaselineStore;
use crate::cli::CliResult;
use crate::cli::args::{DiffArgs, DiffFormat};
use crate::cli::console::Console;
use crate::gate::ExitCode;
use crate::report::differences::DifferenceLimits;
use crate::report::limits;
use crate::report::page::markdown::{self, MarkdownOptions};
use crate::report::page::{Page, PageBlock, PageMedium, code, own, text};
use eval_base::json::escaped;
use eval_match::{DifferenceKind, counted_differences};

pub fn diff(console: &Console, args: &DiffArgs) -> CliResult {
    let suite = overview(console, &args.of)?;
    let store = BaselineStore::new(suite.baselines.dir);
    let gathered = gather(&store, &suite.name, &args.evals)?;
    gathered.refuse_strangers(&store, &args.evals)?;
    let options = console.terminal_options(false);
    let limits = DifferenceLimits {
        rows: limits::terminal::BASELINE_DIFF,
        columns: options.width.saturating_sub(6).max(20),
        unicode: options.unicode,
    };
    let counts = DiffCounts::of(&gathered);
    let page = |medium| page(&gathered, limits, &counts, medium);
    match args.format {
        DiffFormat::Human => console.page(&page(PageMedium::Terminal))?,
        DiffFormat::Markdown => {
            let page = page(PageMedium::Markdown);
            console.result(markdown::write(&page, MarkdownOptions::default()).as_bytes())?;
        }
        DiffFormat::Json => {
            let json = format!("{:#}\n", as_json(&suite.name, &gathered, &counts));
            console.result(escaped(&json).as_bytes())?;
        }
    }
    gathered.tell_broken(console);
    gathered.tell_others(console);
    Ok(match () {
        () if !gathered.broken.is_empty() => ExitCode::Wrong,
        () if args.exit_code && counts.new + counts.changed > 0 => ExitCode::Fail,
        () => ExitCode::Pass,
    })
}

struct DiffCounts {
    new: usize,
    changed: usize,
    same: usize,
    broken: usize,
}

impl DiffCounts {
    fn of(gathered: &PendingList) -> DiffCounts {
        let mut counts = DiffCounts {
            new: 0,
            changed: 0,
            same: 0,
            broken: gathered.broken.len(),
        };
        for pending in &gathered.pending {
            match &pending.accepted {
                None => counts.new += 1,
                Some(_) if pending.is_same() => counts.same += 1,
                Some(_) => counts.changed += 1,
            }
        }
        counts
    }

    fn words(&self) -> String {
        let counts = [
            (self.new, "new"),
            (self.changed, "changed"),
            (self.same, "the same"),
            (self.broken, "broken"),
        ];
        let words: Vec<String> = counts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, word)| format!("{n} {word}"))
            .collect();
        if words.is_empty() {
            "nothing is pending".to_owned()
        } else {
            format!("pending: {}", words.join(", "))
        }
    }
}

/// The pending baselines one by one. A terminal shows how many there are last.
fn page(
    gathered: &PendingList,
    limits: DifferenceLimits,
    counts: &DiffCounts,
    medium: PageMedium,
) -> Page {
    let mut page = Page::default();
    let words = own(counts.words());
    if medium == PageMedium::Markdown {
        page.title("Baselines");
        page.words(words.clone());
    }
    for pending in &gathered.pending {
        let effect = own(PendingEffect::of(pending).words());
        page.section(text![code(&pending.id), ": ", effect]);
        page.push(change(pending, limits));
    }
    if medium == PageMedium::Terminal {
        page.push(PageBlock::Gap);
        page.lead(words);
    }
    page
}

fn as_json(suite: &str, gathered: &PendingList, counts: &DiffCounts) -> Value {
    let baselines: Vec<Value> = gathered.pending.iter().map(one_as_json).collect();
    let broken: Vec<Value> = gathered
        .broken
        .iter()
        .map(
            |(id, broken)| json!({"eval": id, "path": relative(&broken.path), "message": broken.to_string()}),
        )
        .collect();
    json!({
        "suite": suite,
        "baselines": baselines,
        "broken": broken,
        "new": counts.new,
        "changed": counts.changed,
        "same": counts.same,
    })
}

fn one_as_json(pending: &PendingBaseline) -> Value {
    let kept = &pending.pending;
    let mut one = json!({
        "eval": pending.id,
        "effect": PendingEffect::of(pending).word(),
        "path": relative(&kept.path),
        "captured_at": kept.file.captured_at,
    });
    match &pending.accepted {
        Some(Ok(accepted)) => {
            let (found, all) = counted_differences(&accepted.output, &kept.output);
            let places = found.iter().map(|difference| match difference.kind {
                DifferenceKind::Missing => {
                    json!({"path": difference.path, "kind": "removed", "accepted": difference.expected})
                }
                DifferenceKind::Unexpected => {
                    json!({"path": difference.path, "kind": "added", "pending": difference.actual})
                }
                kind => json!({
                    "path": difference.path,
                    "kind": kind.name(),
                    "accepted": difference.expected,
                    "pending": difference.actual,
                }),
            });
            one["differences"] = places.collect();
            one["difference_count"] = all.into();
        }
        None | Some(Err(_)) => one["output"] = kept.output.clone(),
    }
    one
}
