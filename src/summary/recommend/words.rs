//! Names, counts and reasons as pieces of a sentence: clean, of one line, and short.

use super::RunFindings;
use crate::model::{CaseResult, Cause, EvalResult};
use eval_base::text;

/// Columns of an id or a name.
const NAME: usize = 48;
/// Columns of a reason: beyond, the report itself tells it.
const REASON: usize = 120;
/// Names that a list shows.
const NAMES: usize = 3;

/// An id or name from outside.
pub fn short(name: &str) -> String {
    let line = text::one_line(text::truncate_bytes(name, 4096));
    if line.is_empty() {
        "(no name)".to_owned()
    } else {
        text::truncate_width(&line, NAME).into_owned()
    }
}

/// A reason from outside, without its full stop.
pub fn reason(reason: &str) -> String {
    let line = text::one_line(text::truncate_bytes(reason, 16 * 1024));
    text::truncate_width(line.trim_end_matches(['.', ':', ';', ' ']), REASON).into_owned()
}

/// `Session timeout (cap-auth-003)`, or the id alone when there is no other name.
pub fn title(eval: &EvalResult) -> String {
    if eval.name.trim().is_empty() || eval.name == eval.id {
        return short(&eval.id);
    }
    format!("{} ({})", short(&eval.name), short(&eval.id))
}

/// `eval / case`, or the one name of both.
pub fn place(eval: &str, case: &str) -> String {
    if eval == case {
        short(eval)
    } else {
        format!("{} / {}", short(eval), short(case))
    }
}

pub fn samples(n: usize) -> String {
    text::plural(n, "sample")
}

/// `a, b and c`, or `a, b, c and 4 more evals`; `total` counts them all.
pub fn listed(names: impl Iterator<Item = String>, total: usize, noun: &str) -> String {
    let mut shown: Vec<String> = names.take(NAMES).collect();
    if total > shown.len() {
        shown.push(text::plural(total - shown.len(), &format!("more {noun}")));
    }
    match shown.pop() {
        Some(last) if shown.is_empty() => last,
        Some(last) => format!("{} and {last}", shown.join(", ")),
        None => String::new(),
    }
}

/// Where something happened: evals in the order of the run, each with its cases.
#[derive(Default)]
pub struct FailurePlaces<'a> {
    evals: Vec<(&'a str, Vec<&'a str>)>,
    /// There may be more than are known here.
    open: bool,
}

impl<'a> FailurePlaces<'a> {
    /// Where `n` samples ended with a cause. A failure tells of the first sample of its case only:
    /// what the samples say goes before that.
    pub fn of_cause(known: &RunFindings<'a>, cause: Cause, n: usize) -> Self {
        let mut places = FailurePlaces::default();
        let mut found = 0;
        for (eval, case) in known
            .evals
            .iter()
            .flat_map(|eval| eval.cases.iter().map(move |case| (eval, case)))
        {
            let of_case = case
                .samples
                .iter()
                .filter(|sample| sample.cause == Some(cause))
                .count();
            if of_case > 0 {
                places.add(&eval.id, &case.id);
            }
            found += of_case;
        }
        if found == n {
            return places;
        }
        let mut places = FailurePlaces {
            open: known.omitted.failures > 0,
            ..FailurePlaces::default()
        };
        let mut most = 0;
        for failure in known
            .failures
            .iter()
            .filter(|failure| failure.cause == Some(cause))
        {
            places.add(&failure.eval_id, &failure.case_id);
            most += failure.samples;
        }
        places.open |= most < n;
        places
    }

    pub fn of_cases(known: &RunFindings<'a>, is_one: impl Fn(&CaseResult) -> bool) -> Self {
        let mut places = FailurePlaces {
            open: known.omitted.cases > 0,
            ..FailurePlaces::default()
        };
        for eval in known.evals {
            eval.cases
                .iter()
                .filter(|case| is_one(case))
                .for_each(|case| places.add(&eval.id, &case.id));
        }
        places
    }

    fn add(&mut self, eval: &'a str, case: &'a str) {
        match self.evals.last_mut() {
            Some((last, cases)) if *last == eval => cases.push(case),
            _ => self.evals.push((eval, vec![case])),
        }
    }

    pub fn evals(&self) -> impl Iterator<Item = &'a str> {
        self.evals.iter().map(|(eval, _)| *eval)
    }

    /// True when these are all of them.
    pub fn are_all(&self) -> bool {
        !self.open
    }

    /// ` of cap-a, cap-b / case-1 and cap-c / case-1 (and 3 more)`; empty when nothing is known.
    pub fn of(&self) -> String {
        if self.evals.is_empty() {
            return String::new();
        }
        let name = |(eval, cases): &(&str, Vec<&str>)| {
            let first = place(eval, cases.first().copied().unwrap_or(eval));
            if cases.len() > 1 {
                format!("{first} (and {} more)", text::group_digits(cases.len() - 1))
            } else {
                first
            }
        };
        let names = listed(self.evals.iter().map(name), self.evals.len(), "eval");
        format!(" of {names}{}", if self.open { " and others" } else { "" })
    }
}
