//! Runs of one suite on several targets, side by side: figures, evals and cases that ended
//! differently.
//!
//! Whether a difference means anything is tested for each pair of runs, over the cases of both.

mod json;
mod page;
mod pairs;

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::journal::RunPaths;
use crate::model::{CaseResult, EvalResult, ReportFormat, Summary};
use crate::report::page::{PageView, markdown, terminal};
use crate::report::{ReportError, TerminalOptions};
use crate::report::{commands, figures, html, page_address, write_file};
use crate::summary::compare::SidePair;
use eval_base::text::plural;

/// Runs that can't be put beside each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SidesError {
    #[error("a side-by-side report needs at least two runs")]
    TooFew,
    #[error("{0} is given twice")]
    Twice(String),
    #[error("the runs are from different suites: {0} and {1}")]
    Suites(String, String),
}

/// Several runs of one suite, in the order in which they were named.
pub struct RunSides<'a> {
    pub(crate) runs: Vec<&'a Summary>,
    /// Empty when nothing was tested.
    pub(crate) pairs: Vec<SidePair>,
    /// Addresses of the runs' own pages, as the page of all links to them; empty where none is known.
    pub(crate) pages: Vec<Option<String>>,
}

impl<'a> RunSides<'a> {
    /// # Errors
    /// When the runs have too little in common.
    pub fn of(runs: impl IntoIterator<Item = &'a Summary>) -> Result<RunSides<'a>, SidesError> {
        let runs: Vec<&Summary> = runs.into_iter().collect();
        let [first, _, ..] = runs.as_slice() else {
            return Err(SidesError::TooFew);
        };
        let mut ids = BTreeSet::new();
        for run in &runs {
            if run.metadata.suite_name != first.metadata.suite_name {
                let names = (&first.metadata.suite_name, &run.metadata.suite_name);
                return Err(SidesError::Suites(names.0.clone(), names.1.clone()));
            }
            if !ids.insert(&run.metadata.run_id) {
                return Err(SidesError::Twice(run.metadata.run_id.clone()));
            }
        }
        Ok(RunSides {
            runs,
            pairs: Vec::new(),
            pages: Vec::new(),
        })
    }

    /// The same with links to the runs' HTML pages that exist, as a page in the folder `from` needs
    /// them.
    pub fn linked(mut self, from: &Path, pages: impl IntoIterator<Item = PathBuf>) -> Self {
        let pages = pages.into_iter().map(|page| page_address(from, &page));
        self.pages = pages.collect();
        self
    }

    /// What each run is called: its prompt where all have one target, else its target; where two
    /// share one also the model, else the run's id.
    pub(crate) fn labels(&self) -> Vec<String> {
        let prompt = |run: &Summary| {
            let prompt = run.metadata.environment.prompt.as_ref();
            prompt.map(|prompt| prompt.name.clone()).unwrap_or_default()
        };
        let is_one_target = !differ(&self.runs, |run| {
            run.metadata.environment.target_alone().to_owned()
        });
        let target = |run: &Summary| run.metadata.environment.target.clone();
        let model = |run: &Summary| {
            let environment = &run.metadata.environment;
            let model = environment.model.as_deref().unwrap_or_default();
            format!("{} {model}", environment.target).trim().to_owned()
        };
        let distinct = |labels: &[String]| {
            labels.iter().collect::<BTreeSet<_>>().len() == labels.len()
                && labels.iter().all(|l| !l.is_empty())
        };
        let prompts: Vec<String> = self.runs.iter().map(|run| prompt(run)).collect();
        if is_one_target && distinct(&prompts) {
            return prompts;
        }
        for label in [target, model] {
            let labels: Vec<String> = self.runs.iter().map(|run| label(run)).collect();
            if distinct(&labels) {
                return labels;
            }
        }
        self.runs
            .iter()
            .map(|run| run.metadata.run_id.clone())
            .collect()
    }

    /// `2 targets`, or `4 runs` where prompts differ, too.
    pub(crate) fn count(&self) -> String {
        let has_prompt = |run: &&Summary| run.metadata.environment.prompt.is_some();
        let noun = match self.runs.iter().any(has_prompt) {
            true => "run",
            false => "target",
        };
        plural(self.runs.len(), noun)
    }

    /// Metrics that tell something of any run, in reading order.
    pub(crate) fn metrics(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self
            .runs
            .iter()
            .flat_map(|run| figures::telling_metrics(run))
            .collect();
        names.sort_by(|a, b| {
            figures::order_of(a)
                .cmp(&figures::order_of(b))
                .then(a.cmp(b))
        });
        names.dedup();
        names.retain(|metric| self.runs.iter().any(|run| tells_of(run, metric)));
        names
    }

    /// Each eval of any run, in the order of the first that has it, with what each run says of it.
    pub(crate) fn evals(&self) -> Vec<EvalLine<'a>> {
        let runs = self.runs.iter();
        let runs = runs.map(|run| run.evals.iter().map(|eval| (eval.id.as_str(), eval)));
        let lines = lined_up(runs).into_iter();
        lines.map(|(id, runs)| EvalLine { id, runs }).collect()
    }

    /// Cases whose outcomes differ; `None` when a run has more cases than its summary lists.
    pub(crate) fn cases(&self) -> Option<Vec<CaseLine<'a>>> {
        if self
            .runs
            .iter()
            .any(|run| run.omitted.is_some_and(|omitted| omitted.cases > 0))
        {
            return None;
        }
        let lines = self
            .evals()
            .into_iter()
            .flat_map(|eval| self.cases_of(&eval))
            .collect();
        Some(lines)
    }

    fn cases_of(&self, eval: &EvalLine<'a>) -> Vec<CaseLine<'a>> {
        let runs = eval.runs.iter();
        let runs = runs.map(|eval| {
            let cases = eval.iter().flat_map(|eval| &eval.cases);
            cases.map(|case| (case.id.as_str(), case))
        });
        let lines = lined_up(runs).into_iter();
        let lines = lines.map(|(case, runs)| CaseLine {
            eval: eval.id,
            case,
            runs,
        });
        lines.filter(CaseLine::differs).collect()
    }

    /// The command that tests the others against the first.
    pub(crate) fn compare(&self) -> Option<String> {
        commands::compare(self.runs.iter().map(|run| run.metadata.run_id.as_str()))
    }

    /// What makes the figures hard to compare, in sentences.
    pub(crate) fn cautions(&self) -> Vec<String> {
        let mut said = Vec::new();
        let extent = |run: &Summary| {
            let evals = run
                .evals
                .iter()
                .map(|eval| (eval.id.clone(), eval.counts.total));
            (evals.collect::<BTreeSet<_>>(), run.metadata.filters.clone())
        };
        if differ(&self.runs, |run| extent(run)) {
            said.push(
                "the runs did not have the same cases, so their figures are not comparable"
                    .to_owned(),
            );
        }
        let labels = self.labels();
        for (run, label) in self.runs.iter().zip(&labels) {
            let samples = &run.summary.samples;
            let open = samples.errored + samples.skipped + samples.pending;
            if open > 0 {
                let of = plural(samples.total, "sample");
                said.push(format!(
                    "{label}: {open} of {of} have no grade, and its figures omit them"
                ));
            }
        }
        said
    }

    pub fn render(&self, options: &TerminalOptions, out: &mut dyn Write) -> io::Result<()> {
        let page = page::page(self, &PageView::terminal(options));
        terminal::write(&page, options, out)
    }

    /// # Errors
    /// [`ReportError::OfOneRun`] for formats that know one run alone.
    pub fn write(&self, format: ReportFormat, out: &mut dyn Write) -> Result<(), ReportError> {
        match format {
            ReportFormat::Terminal => Ok(self.render(&TerminalOptions::default(), out)?),
            ReportFormat::Markdown => {
                let page = page::page(self, &PageView::markdown());
                let page = markdown::write(&page, markdown::MarkdownOptions::default());
                Ok(out.write_all(page.as_bytes())?)
            }
            ReportFormat::Json => json::render(self, out),
            ReportFormat::Html => html::sides(self, out),
            ReportFormat::Junit | ReportFormat::Comment | ReportFormat::Badge => {
                Err(ReportError::OfOneRun)
            }
        }
    }

    /// Writes Markdown and JSON beside the journal of the first run, and the page when it is among
    /// the formats; returns what was written, and why the others were not.
    pub fn write_files(
        &self,
        first: &RunPaths,
        formats: &[ReportFormat],
    ) -> (Vec<PathBuf>, Vec<String>) {
        let (mut written, mut failed) = (Vec::new(), Vec::new());
        let all = [
            (ReportFormat::Markdown, "side-by-side.md"),
            (ReportFormat::Json, "side-by-side.json"),
            (ReportFormat::Html, "side-by-side.html"),
        ];
        let asked = |format| format != ReportFormat::Html || formats.contains(&ReportFormat::Html);
        for (format, extension) in all.into_iter().filter(|(format, _)| asked(*format)) {
            let path = first.report(extension);
            match write_file(&path, |file| self.write(format, file)) {
                Ok(()) => written.push(path),
                Err(error) => failed.push(format!("{}: {error}", path.display())),
            }
        }
        (written, failed)
    }
}

/// Each id that a run has, in the order of their first appearance, with what each run has of it.
fn lined_up<'a, T>(
    runs: impl ExactSizeIterator<Item = impl Iterator<Item = (&'a str, &'a T)>>,
) -> Vec<(&'a str, Vec<Option<&'a T>>)> {
    let all = runs.len();
    let mut lines: Vec<(&str, Vec<Option<&T>>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (run, entries) in runs.enumerate() {
        for (id, entry) in entries {
            let place = *places.entry(id).or_insert_with(|| {
                lines.push((id, vec![None; all]));
                lines.len() - 1
            });
            lines[place].1[run] = Some(entry);
        }
    }
    lines
}

/// True when neighbours differ in something.
fn differ<T, K: PartialEq>(all: &[T], of: impl Fn(&T) -> K) -> bool {
    all.windows(2).any(|pair| of(&pair[0]) != of(&pair[1]))
}

/// True when a run has a number for the metric, or owes one to a threshold.
fn tells_of(run: &Summary, metric: &str) -> bool {
    run.metrics.get(metric).is_some_and(Option::is_some)
        || run
            .gate
            .thresholds
            .iter()
            .any(|threshold| threshold.metric == metric)
}

/// One eval in each run; `None` where it did not run.
pub(crate) struct EvalLine<'a> {
    pub(crate) id: &'a str,
    pub(crate) runs: Vec<Option<&'a EvalResult>>,
}

impl EvalLine<'_> {
    /// True when not every run says the same of it.
    pub(crate) fn differs(&self) -> bool {
        differ(&self.runs, |eval| {
            eval.map(|eval| (eval.outcome, eval.counts.passed, eval.counts.total))
        })
    }
}

/// One case in each run; `None` where it did not run.
pub(crate) struct CaseLine<'a> {
    pub(crate) eval: &'a str,
    pub(crate) case: &'a str,
    pub(crate) runs: Vec<Option<&'a CaseResult>>,
}

impl CaseLine<'_> {
    fn differs(&self) -> bool {
        differ(&self.runs, |case| case.map(|case| case.outcome))
    }
}
