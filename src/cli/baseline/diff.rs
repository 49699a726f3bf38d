//! `eval-harness baseline diff`: what pending baselines would change.

use serde_json::{Value, json};

use super::pending::{PendingBaseline, PendingList, gather};
use super::shown::{PendingEffect, PendingLine, PendingTone, lines, painted};
use super::{overview, relative};
use crate::baseline::BaselineStore;
use crate::cli::CliResult;
use crate::cli::args::{DiffArgs, DiffFormat};
use crate::cli::console::Console;
use crate::gate::ExitCode;
use crate::report::differences::DifferenceLimits;
use crate::report::page::escape::{code_whole, fence};
use eval_base::json::escaped;
use eval_base::text::one_line;
use eval_match::{DifferenceKind, counted_differences};

/// Places of one baseline that are shown, or lines of a new one.
const SHOWN: usize = 40;

pub fn diff(console: &Console, args: &DiffArgs) -> CliResult {
    let suite = overview(console, &args.of)?;
    let store = BaselineStore::new(suite.baselines.dir);
    let gathered = gather(&store, &suite.name, &args.evals)?;
    gathered.refuse_strangers(&store, &args.evals)?;
    let options = console.terminal_options(false);
    let limits = DifferenceLimits {
        rows: SHOWN,
        columns: options.width.saturating_sub(6).max(20),
        unicode: options.unicode,
    };
    let counts = DiffCounts::of(&gathered);
    let page = match args.format {
        DiffFormat::Human => human(&gathered, limits, options.color, &counts),
        DiffFormat::Markdown => markdown(&gathered, limits, &counts),
        DiffFormat::Json => {
            escaped(&format!("{:#}\n", as_json(&suite.name, &gathered, &counts))).into_owned()
        }
    };
    console.result(page.as_bytes())?;
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

fn human(
    gathered: &PendingList,
    limits: DifferenceLimits,
    color: bool,
    counts: &DiffCounts,
) -> String {
    let mut page = String::new();
    for pending in &gathered.pending {
        let id = one_line(&pending.id);
        let id = if color {
            format!("\x1b[1m{id}\x1b[0m")
        } else {
            id
        };
        page.push_str(&format!("{id}  {}\n", PendingEffect::of(pending).words()));
        for line in lines(pending, limits) {
            page.push_str(&format!("  {}\n", painted(&line, color)));
        }
        page.push('\n');
    }
    page + &counts.words() + "\n"
}

fn markdown(gathered: &PendingList, limits: DifferenceLimits, counts: &DiffCounts) -> String {
    let mut page = format!("# Baselines\n\n{}\n", counts.words());
    for pending in &gathered.pending {
        let lines = lines(pending, limits);
        let body: Vec<String> = lines.iter().map(fenced).collect();
        let block = fence("diff", &body.join("\n"));
        let (id, words) = (code_whole(&pending.id), PendingEffect::of(pending).words());
        page.push_str(&format!("\n## {id}: {words}\n\n{block}"));
    }
    page
}

/// In a diff the sign is the first character of a line.
fn fenced(line: &PendingLine) -> String {
    match line.tone {
        PendingTone::Old | PendingTone::New => line.text.clone(),
        PendingTone::Plain | PendingTone::Quiet => format!("  {}", line.text.trim_start()),
    }
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
