//! What judges said of samples: criteria as a table, checks, why, and the votes.

use crate::model::{JudgeVote, Outcome, SampleResult, Summary};
use crate::report::judged::{self, ReportedVerdict};
use crate::report::limits;
use crate::report::page::{
    ListItem, ListMark, Page, PageBlock, PageMedium, PageTable, PageView, StyledText, TableColumn,
    TableRow, TextTone, bold, dim, mark, outside, outside_lines, own, place, text,
};
use eval_base::text::{plural, shortened};

/// What judges said of cases that did not fail.
pub fn section(page: &mut Page, summary: &Summary, view: &PageView) {
    let total = judged::not_failed(summary).count();
    if total == 0 || view.limits.judged == 0 {
        return;
    }
    page.section("Judged");
    let shown = judged::not_failed(summary).take(view.limits.judged);
    let mut parts = Page::default();
    for (eval, case, sample) in shown {
        let mut body = Page::default();
        verdicts(&mut body, sample, view);
        let title = text![mark(sample.outcome), " ", bold(place(eval, &case.id))];
        parts.part(title, false, body.blocks);
    }
    parts.more(view, total.saturating_sub(view.limits.judged), "case");
    let cases = plural(total, "case");
    let title = own(format!("Judge verdicts on {cases} that did not fail"));
    page.part(title, true, parts.blocks);
}

/// Every verdict on a sample.
pub fn verdicts(page: &mut Page, sample: &SampleResult, view: &PageView) {
    for told in judged::reported_verdicts(sample) {
        verdict(page, &told, view);
    }
}

fn verdict(page: &mut Page, told: &ReportedVerdict, view: &PageView) {
    let (most, judged) = (view.limits.verdict, told.judged);
    let words = [told.outcome.name(), &told.score, &judged.panel];
    let words = words.into_iter().filter(|words| !words.is_empty());
    let words = StyledText::joined(words.map(outside), "; ").toned(TextTone::of(told.outcome));
    page.words(text![
        dim(text!["Judged by ", outside(told.by)]),
        ": ",
        words
    ]);
    criteria(page, told, view);
    let checks = told.checks.iter().take(most).map(|(met, words)| {
        let met = if *met {
            Outcome::Passed
        } else {
            Outcome::Failed
        };
        ListItem::new(ListMark::Sign(mark(met)), outside(words))
    });
    page.list(checks);
    page.more(view, told.checks.len().saturating_sub(most), "check");
    let why = Some(&judged.justification).filter(|why| !why.trim().is_empty());
    let lines = view.limits.evidence.lines;
    let why = why.map(|why| (StyledText::from("Why"), outside_lines(why, lines)));
    let feedback = judged.feedback.iter().take(most);
    let feedback =
        feedback.map(|feedback| (StyledText::from("Feedback"), outside_lines(feedback, lines)));
    let notices = judged.notices.iter().take(most);
    let notices = notices.map(|note| ("Note".into(), outside(note).toned(TextTone::Warn)));
    page.facts(why.into_iter().chain(feedback).chain(notices));
    let lists = [judged.feedback.len(), judged.notices.len()];
    let more = lists.map(|all| all.saturating_sub(most)).iter().sum();
    page.more(view, more, "remark");
    if told.has_telling_votes() || view.verbose {
        votes(page, told, view);
    }
    if view.verbose || view.medium == PageMedium::Markdown {
        for (at, vote) in judged.votes.iter().enumerate() {
            if vote.outcome == Outcome::Errored {
                replies(page, at, vote, view);
            }
        }
    }
}

fn criteria(page: &mut Page, told: &ReportedVerdict, view: &PageView) {
    let mut table = PageTable::new([
        TableColumn::left("Criterion").least(8),
        TableColumn::right("Weight"),
        TableColumn::right("Score"),
        TableColumn::right("Scale"),
        TableColumn::right("Share"),
        TableColumn::right("Votes"),
    ]);
    for row in told.rows.iter().take(view.limits.verdict) {
        table.row([
            outside(row.name),
            own(&*row.weight),
            outside(&row.score),
            own(&*row.scale),
            own(&*row.share),
            outside(&row.spread),
        ]);
    }
    page.table(table);
    let more = told.rows.len().saturating_sub(view.limits.verdict);
    page.more(view, more, "criterion");
}

fn votes(page: &mut Page, told: &ReportedVerdict, view: &PageView) {
    let mut table = PageTable::new([
        TableColumn::left("Vote").least(6),
        TableColumn::left("Outcome"),
        TableColumn::right("Share"),
    ]);
    for vote in told.votes.iter().take(view.limits.verdict) {
        let outcome = text![mark(vote.outcome), " ", own(vote.outcome.name())];
        table.rows.push(TableRow {
            cells: vec![
                outside(vote.model),
                outcome.toned(TextTone::of(vote.outcome)),
                own(&*vote.score),
            ],
            note: outside(&vote.words),
        });
    }
    page.table(table);
    let more = told.votes.len().saturating_sub(view.limits.verdict);
    page.more(view, more, "vote");
}

/// What a judge answered whose answers could not be used, and the request for repair.
fn replies(page: &mut Page, at: usize, vote: &JudgeVote, view: &PageView) {
    let total = vote.replies.len();
    for (turn, reply) in vote.replies.iter().take(limits::REPLIES).enumerate() {
        let fault = reply.fault.map_or("no fault", |fault| fault.name());
        let mut title = own(format!(
            "Reply {} of {total}, vote {}: {fault}",
            turn + 1,
            at + 1
        ));
        if !reply.why.is_empty() {
            title.push(text![" (", outside(&reply.why), ")"]);
        }
        page.push(PageBlock::Code {
            label: title.toned(TextTone::Warn),
            language: "text",
            text: shortened(&reply.text, limits::REPLY).into_owned(),
        });
        if !reply.repair.is_empty() {
            page.words(text![dim("repair request: "), outside(&reply.repair)]);
        }
    }
    page.more(view, total.saturating_sub(limits::REPLIES), "reply");
}
