//! The models that were called, and how the judges did.

use crate::model::Summary;
use crate::report::page::{
    ListItem, ListMark, Page, PageMedium, PageView, StyledText, Symbol, TextTone, bold, dim,
    outside, own, text,
};
use crate::report::{judges, models};

pub fn section(page: &mut Page, summary: &Summary, view: &PageView) {
    if view.medium == PageMedium::Comment {
        return;
    }
    if let Some(used) = &summary.models {
        page.section("Models");
        let all = models::told(used);
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
    }
}

/// An item with labelled lines below it, and what should make people look.
fn described(mut item: ListItem, lines: &[(&'static str, String)], remarks: &[String]) -> ListItem {
    let mut below = Page::default();
    let lines = lines.iter().filter(|(_, words)| !words.is_empty());
    below.facts(lines.map(|(label, words)| (StyledText::from(*label), outside(words))));
    let warn = StyledText::from(Symbol::of(crate::model::Outcome::Errored)).toned(TextTone::Warn);
    let remark = |words: &String| {
        ListItem::new(
            ListMark::Sign(warn.clone()),
            outside(words).toned(TextTone::Warn),
        )
    };
    below.list(remarks.iter().map(remark));
    item.below = below.blocks;
    item
}
