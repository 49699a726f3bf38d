//! The models that were called, and how the judges did.

use crate::model::{Outcome, Summary};
use crate::report::page::{
    ListItem, ListMark, Page, PageBlock, PageMedium, PageView, StyledText, Symbol, TextTone, bold,
    dim, outside, own, text,
};
use crate::report::{disclosure, judges, models};

pub fn section(page: &mut Page, summary: &Summary, view: &PageView) {
    if view.medium == PageMedium::Comment {
        return;
    }
    if view.is_terminal() && !view.verbose {
        brief(page, summary);
        return;
    }
    if let Some(used) = &summary.models {
        page.section("Models");
        let all = models::model_overviews(used);
        page.list(all.iter().take(view.limits.notes).map(|model| {
            let name = text![bold(outside(&model.name)), dim(own(model.role_words()))];
            described(ListItem::dash(name), &model.lines, &model.remarks)
        }));
        page.more(view, all.len().saturating_sub(view.limits.notes), "model");
    }
    if let Some(health) = &summary.judges {
        page.section("Judges");
        let all = judges::of_all(health);
        let item = described(ListItem::dash(""), &all.lines, &all.remarks);
        page.blocks.extend(item.below);
        let listed = health.by_model.iter().take(view.limits.notes);
        page.list(listed.map(|(name, votes)| {
            let judge = judges::of_judge(votes);
            described(
                ListItem::dash(bold(outside(name))),
                &judge.lines,
                &judge.remarks,
            )
        }));
        let more = health.by_model.len().saturating_sub(view.limits.notes);
        page.more(view, more, "judge");
        if !health.worth.is_empty() {
            page.subsection("Judges and people");
            page.list(health.worth.iter().take(view.limits.notes).map(|worth| {
                let judge = judges::of_worth(worth);
                let name = bold(outside(&worth.judge));
                described(ListItem::dash(name), &judge.lines, &judge.remarks)
            }));
            let more = health.worth.len().saturating_sub(view.limits.notes);
            page.more(view, more, "judge");
        }
    }
}

/// What a benchmark discloses.
pub fn disclosed(page: &mut Page, summary: &Summary, view: &PageView) {
    let Some(disclosure) = summary.disclosure.as_deref() else {
        return;
    };
    page.section("Disclosure");
    let facts = |facts: disclosure::DisclosedFacts| {
        let facts = facts.into_iter();
        facts.map(|(label, words)| (StyledText::from(label), outside(&words)))
    };
    page.facts(facts(disclosure::of_run(disclosure)));
    let all = disclosure::of_datasets(disclosure);
    let hidden = all.len().saturating_sub(view.limits.evals);
    page.list(all.into_iter().take(view.limits.evals).map(|(eval, of)| {
        let mut below = Page::default();
        below.facts(facts(of));
        ListItem {
            below: below.blocks,
            ..ListItem::dash(bold(outside(eval)))
        }
    }));
    page.more(view, hidden, "dataset");
}

/// What the run cost, and what should make people look.
fn brief(page: &mut Page, summary: &Summary) {
    let models = summary.models.as_ref().map(models::model_overviews);
    let total = models.as_ref().and_then(|all| all.last());
    let network = summary
        .models
        .as_ref()
        .map_or(0, |m| m.total.answers.network);
    let costs = total.filter(|_| network > 0).into_iter().flat_map(|total| {
        let lines = total.lines.iter();
        lines.filter(|(label, words)| matches!(*label, "cost" | "spent") && !words.is_empty())
    });
    let costs = StyledText::joined(costs.map(|(_, words)| outside(words)), "; ");
    let mut remarks: Vec<String> = total.map_or(Vec::new(), |total| total.remarks.clone());
    if let Some(health) = &summary.judges {
        remarks.extend(judges::of_all(health).remarks);
        remarks.extend(
            health
                .by_model
                .values()
                .flat_map(|votes| judges::of_judge(votes).remarks),
        );
        let worth = health.worth.iter();
        remarks.extend(worth.flat_map(|worth| judges::of_worth(worth).remarks));
    }
    page.push(PageBlock::Gap);
    page.facts((!costs.is_empty()).then(|| (bold("Cost"), costs)));
    page.list(remarks.iter().map(|words| remark(words)));
}

/// An item with labelled lines below it, and what should make people look.
fn described(mut item: ListItem, lines: &[(&'static str, String)], remarks: &[String]) -> ListItem {
    let mut below = Page::default();
    let lines = lines.iter().filter(|(_, words)| !words.is_empty());
    below.facts(lines.map(|(label, words)| (StyledText::from(*label), outside(words))));
    below.list(remarks.iter().map(|words| remark(words)));
    item.below = below.blocks;
    item
}

fn remark(words: &str) -> ListItem {
    let warn = StyledText::from(Symbol::of(Outcome::Errored)).toned(TextTone::Warn);
    ListItem::new(ListMark::Sign(warn), outside(words).toned(TextTone::Warn))
}
