//! The list of runs, with the trend of a suite.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;

use super::cases::brief;
use super::forms::{FilterForm, pages};
use super::{PageSource, remarks, run_address};
use crate::report::history::pass_rates;
use crate::report::limits::view as limits;
use crate::report::page::html::escape;
use crate::report::page::{
    ChoiceBox, Page, PageBlock, PageNotice, PageTable, SpanContent, StyledText, TextTone, bold,
    code, dim, linked, outside, own, text,
};
use crate::report::runs;
use crate::run::history::{HistoryGroup, PastRun, RunTotals};
use crate::server::QueryFields;
use crate::view::folder::{ListedRun, RunList, RunState};
use crate::view::index::TextMatcher;
use crate::view::shell::ViewPage;
use eval_base::text::plural;

/// The form of the boxes beside the runs.
const COMPARE: &str = "compare";

pub fn page(source: &PageSource, query: &QueryFields) -> Response {
    let list = source.folder.list();
    let mut view = ViewPage::new("Runs", "/");
    view.events = Some(format!("/events?version={}", list.version));
    if list.runs.is_empty() {
        nothing(&mut view, source, &list);
        return view.response(StatusCode::OK);
    }
    let filter = RunFilter::of(query, source.suite.as_deref(), &list);
    let shown: Vec<&ListedRun> = list.runs.iter().filter(|run| filter.fits(run)).collect();
    running(&mut view, &list);
    view.html(&filter.form(query, &list));
    if let Some(suite) = filter.suite {
        trends(&mut view, &list, suite, filter.target);
    }
    let from = query
        .get("from")
        .and_then(|from| from.parse().ok())
        .unwrap_or(0);
    let rows = shown.iter().skip(from).take(limits::RUNS);
    let mut table_page = Page::default();
    table_page.title(heading(shown.len(), list.runs.len()));
    remarks(&mut table_page, &list);
    for warning in &list.warnings {
        table_page.push(PageBlock::Notice(PageNotice::quiet(warning)));
    }
    table_page.table(table(rows.copied()));
    if shown.is_empty() {
        table_page.words("No run fits.");
    }
    view.html(&format!(
        "<form id=\"{COMPARE}\" class=\"pages\" action=\"/compare\" method=\"get\">\
         <button>Compare selected runs</button>\
         <a data-live=\"changed\" href=\"{}\" hidden>The list has changed: show it as it is now</a></form>\n",
        escape(&query.address("/"))
    ));
    view.blocks(&table_page);
    let mut links = Vec::new();
    let at = |from: usize| query.with("from", from.to_string()).address("/");
    if from > 0 {
        links.push(("Newer runs", at(from.saturating_sub(limits::RUNS))));
    }
    let next = from.saturating_add(limits::RUNS);
    if next < shown.len() {
        links.push(("Older runs", at(next)));
    }
    view.html(&pages(&links));
    view.response(StatusCode::OK)
}

fn heading(shown: usize, all: usize) -> StyledText {
    match shown == all {
        true => own(plural(all, "run")),
        false => own(format!(
            "{} of {}",
            eval_base::text::group_digits(shown),
            plural(all, "run")
        )),
    }
}

/// A folder without runs.
fn nothing(view: &mut ViewPage, source: &PageSource, list: &RunList) {
    let mut page = Page::default();
    page.title("No runs yet");
    let folder = source.folder.results.display().to_string();
    page.words(text!["There are no runs in ", code(&folder), "."]);
    page.words(text![
        "A run of a suite is listed here as soon as it begins. Without a suite, ",
        code("eval-harness init"),
        " writes one that works offline."
    ]);
    page.push(PageBlock::Copy("", "eval-harness run".to_owned()));
    for warning in &list.warnings {
        page.push(PageBlock::Notice(PageNotice::loud(warning)));
    }
    view.blocks(&page);
}

/// Runs that go on, above everything else.
fn running(view: &mut ViewPage, list: &RunList) {
    let going = list
        .runs
        .iter()
        .filter(|run| matches!(run.state, RunState::Running(_)));
    let item = |run: &ListedRun| {
        let id = escape(&run.paths.run_id);
        let address = escape(&run_address(&run.paths.run_id));
        let suite = run
            .identity()
            .map_or("", |identity| identity.suite_name.as_str());
        let suite = escape(&eval_base::text::one_line(suite));
        format!(
            "<li><a href=\"{address}\">{id}</a> <bdi>{suite}</bdi> <span class=\"soft\" data-run=\"{id}\"></span></li>\n"
        )
    };
    let items: String = going.map(item).collect();
    if !items.is_empty() {
        view.html(&format!(
            "<section class=\"card\" aria-labelledby=\"running\"><h2 id=\"running\">Running now</h2>\
             <ul class=\"list\">\n{items}</ul></section>\n"
        ));
    }
}

/// Which runs are listed.
struct RunFilter<'a> {
    suite: Option<&'a str>,
    target: Option<&'a str>,
    text: TextMatcher,
}

/// The value of a choice that takes every run.
const ALL: &str = "*";

impl<'a> RunFilter<'a> {
    fn of(query: &'a QueryFields, suite: Option<&'a str>, list: &'a RunList) -> RunFilter<'a> {
        let only = only_suite(list);
        RunFilter {
            suite: query
                .get("suite")
                .or(suite)
                .or(only)
                .filter(|suite| *suite != ALL),
            target: query.get("target").filter(|target| *target != ALL),
            text: TextMatcher::new(query.get("q").unwrap_or_default()),
        }
    }

    fn fits(&self, run: &ListedRun) -> bool {
        let identity = run.identity();
        let is_of = |wanted: Option<&str>, of: fn(&crate::model::RunIdentity) -> &str| {
            // What can't be read may be of any suite.
            wanted.is_none_or(|wanted| identity.is_none_or(|identity| of(identity) == wanted))
        };
        is_of(self.suite, |identity| &identity.suite_name)
            && is_of(self.target, |identity| &identity.environment.target)
            && (self.text.is_empty() || self.text.fits(&texts(run)))
    }

    fn form(&self, query: &QueryFields, list: &RunList) -> String {
        let mut form = FilterForm::new("/", query);
        let names = |of: fn(&crate::model::RunIdentity) -> &str, chosen: Option<&str>| {
            let names: BTreeSet<&str> = list
                .runs
                .iter()
                .filter_map(|run| run.identity().map(of))
                .collect();
            // Of a suite without runs as well.
            let without_runs = chosen.filter(|name| !names.contains(name));
            let names = names.iter().copied().chain(without_runs);
            let names = names.map(|name| (name.to_owned(), name.to_owned()));
            std::iter::once((ALL.to_owned(), "All".to_owned()))
                .chain(names)
                .collect::<Vec<_>>()
        };
        let suites = names(|identity| &identity.suite_name, self.suite);
        form.choice("suite", "Suite", &suites, self.suite);
        let targets = names(|identity| &identity.environment.target, self.target);
        form.choice("target", "Target", &targets, self.target);
        form.words("q", "Contains");
        form.html("Show")
    }
}

/// The suite of all runs, when they have one.
fn only_suite(list: &RunList) -> Option<&str> {
    let identities = list.runs.iter().filter_map(ListedRun::identity);
    let mut suites = identities.map(|identity| identity.suite_name.as_str());
    let first = suites.next()?;
    suites.all(|suite| suite == first).then_some(first)
}

/// What a search among runs looks at.
fn texts(run: &ListedRun) -> Vec<&str> {
    let mut texts = vec![run.paths.run_id.as_str()];
    if let Some(identity) = run.identity() {
        let environment = &identity.environment;
        texts.extend([identity.suite_name.as_str(), environment.target.as_str()]);
        texts.extend(environment.model.as_deref());
        texts.extend(environment.git.as_ref().map(|git| git.commit.as_str()));
        texts.extend(identity.filters.iter().map(String::as_str));
        texts.extend(identity.regrade_of.as_deref());
    }
    if let Some(gate) = run.totals().and_then(|totals| totals.gate) {
        texts.push(gate.name());
    }
    if let RunState::Unreadable(why) = &run.state {
        texts.extend(["unreadable", why]);
    }
    texts
}

fn table<'a>(runs: impl Iterator<Item = &'a ListedRun>) -> PageTable {
    let now = Timestamp::now();
    let mut table = PageTable::new(runs::columns());
    for run in runs {
        let mut cells = runs::row(&run.stored(), now);
        let id = &run.paths.run_id;
        let choice = SpanContent::Choice(ChoiceBox {
            form: COMPARE,
            name: "run",
            value: id.clone(),
            label: format!("Select {id}"),
        });
        let link = linked(id, Some(run_address(id)));
        cells[0] = match run.state {
            RunState::Read(_) => text![choice, link],
            _ => link,
        };
        match &run.state {
            RunState::Waiting => cells[1] = dim("to be read"),
            // How many cases it has is not known before it ends.
            RunState::Running(_) => cells[2] = StyledText::default(),
            RunState::Unreadable(why) => {
                cells[1] = own("unreadable").toned(TextTone::Warn);
                cells[6] = dim(brief(why, limits::REASON));
            }
            _ => {}
        }
        table.row(cells);
    }
    table
}

/// The pass rates of a suite over time, each target apart.
fn trends(view: &mut ViewPage, list: &RunList, suite: &str, target: Option<&str>) {
    let mut groups: BTreeMap<(String, String), Vec<PastRun>> = BTreeMap::new();
    for totals in counted(list) {
        let identity = &totals.identity;
        let environment = &identity.environment;
        if identity.suite_name == suite && target.is_none_or(|of| of == environment.target) {
            let key = (environment.target.clone(), environment.target_type.clone());
            groups.entry(key).or_default().push(totals.into_run());
        }
    }
    let mut page = Page::default();
    page.section("Trend of pass rates");
    for ((target, target_type), mut runs) in groups {
        keep_latest(&mut runs, limits::TREND);
        let group = HistoryGroup {
            suite: suite.to_owned(),
            target,
            target_type,
            runs,
        };
        if group.runs.len() > 1 {
            page.subsection(text!["Target ", bold(outside(&group.target))]);
            pass_rates(&mut page, &group);
        }
    }
    if page.blocks.len() > 1 {
        view.blocks(&page);
    }
}

/// Keeps the latest `most` whole runs, and the runs between them.
fn keep_latest(runs: &mut Vec<PastRun>, most: usize) {
    let whole = runs.iter().enumerate().rev();
    let mut whole = whole.filter(|(_, run)| run.is_whole());
    let first = whole.nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
    runs.drain(..first);
}

/// The runs of a history, oldest first: a regrade of all cases counts for the run that it graded
/// again, and captures are omitted together with their regrades.
fn counted(list: &RunList) -> Vec<RunTotals> {
    let read = list.runs.iter().rev().filter_map(ListedRun::totals);
    let mut counted: Vec<RunTotals> = Vec::new();
    // Where the outcomes of a run went; `None` for one that is omitted.
    let mut places: HashMap<&str, Option<usize>> = HashMap::new();
    for totals in read {
        let graded = totals.identity.regrade_of.as_deref();
        let at = match graded.and_then(|of| places.get(of).copied()) {
            Some(Some(at)) => {
                let before = &mut counted[at];
                if !totals.interrupted && totals.cases.total == before.cases.total {
                    (before.counts, before.cases) = (totals.counts, totals.cases);
                    before.gate = totals.gate;
                }
                Some(at)
            }
            Some(None) => None,
            None if totals.capture => None,
            None => {
                counted.push(totals.clone());
                Some(counted.len() - 1)
            }
        };
        places.insert(&totals.identity.run_id, at);
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RunIdentity;

    fn totals(id: &str, regrade_of: Option<&str>, filters: &[&str]) -> RunTotals {
        RunTotals::begun(RunIdentity {
            run_id: id.to_owned(),
            filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
            regrade_of: regrade_of.map(str::to_owned),
            ..RunIdentity::default()
        })
    }

    #[test]
    fn trend_keeps_whole_runs_behind_partial_ones() {
        let runs = [
            ("a", false),
            ("b", false),
            ("c", true),
            ("d", false),
            ("e", true),
            ("f", true),
        ];
        for (most, expected) in [(1, "d e f"), (2, "b c d e f"), (9, "a b c d e f")] {
            let run = |(id, partial): (&str, bool)| {
                let filters: &[&str] = if partial { &["--eval x"] } else { &[] };
                totals(id, None, filters).into_run()
            };
            let mut kept: Vec<PastRun> = runs.map(run).into_iter().collect();
            keep_latest(&mut kept, most);
            let ids: Vec<&str> = kept.iter().map(|run| run.run_id.as_str()).collect();
            assert_eq!(ids.join(" "), expected, "{most}");
        }
    }

    #[test]
    fn regrades_of_captures_are_omitted() {
        let paths = |id: &str| crate::journal::RunPaths {
            run_id: id.to_owned(),
            dir: "2026-03-04".into(),
            stem: id.to_owned(),
        };
        let listed = |totals: RunTotals| ListedRun {
            key: totals.identity.run_id.clone(),
            paths: paths(&totals.identity.run_id),
            journal: crate::view::index::JournalState {
                bytes: 1,
                modified: 1,
            },
            bytes: 1,
            state: RunState::Read(std::sync::Arc::new(totals)),
        };
        let capture = RunTotals {
            capture: true,
            ..totals("a", None, &[])
        };
        let runs = [
            totals("d", Some("c"), &[]),
            totals("c", None, &[]),
            totals("b", Some("a"), &[]),
            capture,
        ];
        let list = RunList {
            runs: runs.map(listed).into_iter().collect(),
            ..RunList::default()
        };
        let counted = counted(&list);
        let ids: Vec<&str> = counted
            .iter()
            .map(|totals| totals.identity.run_id.as_str())
            .collect();
        assert_eq!(ids, ["c"]);
    }
}
