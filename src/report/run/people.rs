//! The people who graded a run: what is left to review, and how far they agree.

use crate::model::Summary;
use crate::report::page::{ListItem, Page, PageMedium, PageView, outside};
use crate::report::people;

pub fn section(page: &mut Page, summary: &Summary, view: &PageView) {
    let Some(of) = summary
        .people
        .as_deref()
        .filter(|_| view.medium != PageMedium::Comment)
    else {
        return;
    };
    page.section("People");
    let lines = people::progress(of, &summary.metadata.run_id).into_iter();
    let lines = lines.chain(people::agreement(of));
    page.facts(lines.map(|(label, words)| (outside(&label), outside(&words))));
    let differing = people::differing(of);
    page.list(
        differing
            .iter()
            .take(view.limits.notes)
            .map(|case| ListItem::dash(outside(case))),
    );
    page.more(
        view,
        differing.len().saturating_sub(view.limits.notes),
        "case",
    );
}
