//! The table of cases: a column for each of their facts, and what the page of a case shows.

mod select;

use std::collections::{HashMap, HashSet};
use std::io::Write;

use serde::Serialize;
use serde_json::Value;

use super::details;
use crate::model::{CaseResult, EvalResult, EvalType, Outcome, Summary, private_cases};
use crate::report::limits::html as limits;
use crate::report::{ReportError, commands, figures, json, values};
use eval_base::text;

pub(super) use select::PlacedCase;

/// The cases of a run that its page holds.
pub(super) struct PageCases<'a> {
    summary: &'a Summary,
    held: Vec<PlacedCase<'a>>,
}

/// At most so many cases.
pub(super) fn of(summary: &Summary, most: usize) -> PageCases<'_> {
    let evals = summary.evals.iter().enumerate();
    let all = evals.flat_map(|(eval_at, eval)| {
        eval.cases.iter().map(move |case| PlacedCase {
            eval_at,
            eval,
            case,
        })
    });
    PageCases {
        summary,
        held: select::held(all.collect(), most),
    }
}

/// Names in the order of their first appearance, and a number for each.
#[derive(Default, Serialize)]
#[serde(transparent)]
struct NumberedNames<'a> {
    names: Vec<&'a str>,
    #[serde(skip)]
    numbers: HashMap<&'a str, usize>,
}

impl<'a> NumberedNames<'a> {
    fn number(&mut self, name: &'a str) -> usize {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

/// The block `cases`: the evals of which there are cases, and lists of the same length, a case at
/// the same place in each. Numbers beside texts are for sorting.
#[derive(Serialize)]
struct CaseColumns<'a> {
    evals: Vec<EvalShown<'a>>,
    categories: NumberedNames<'a>,
    tags: NumberedNames<'a>,
    causes: NumberedNames<'a>,
    /// Cases of the run; more than there are in the lists when some are left out.
    total: usize,
    /// What is left out, in sentences.
    left_out: Vec<String>,
    /// What commands for one case begin with, and what runs those again that did not pass.
    run: Option<String>,
    run_failed: Option<String>,
    eval: Vec<usize>,
    id: Vec<&'a str>,
    name: Vec<Option<&'a str>>,
    outcome: Vec<&'static str>,
    flaky: Vec<u8>,
    /// Whether some samples passed, and others failed or errored.
    mixed: Vec<u8>,
    /// Only tags that are not the eval's.
    tag: Vec<Vec<usize>>,
    cause: Vec<Option<usize>>,
    reason: Vec<String>,
    /// The beginning of one output, and what was expected in its place where that is short.
    output: Vec<String>,
    expected: Vec<String>,
    score: Vec<Option<f64>>,
    score_text: Vec<String>,
    /// Samples; nothing where it is not known how many.
    passed: Vec<Option<usize>>,
    graded: Vec<Option<usize>>,
    latency: Vec<Option<f64>>,
    latency_text: Vec<String>,
    tokens: Vec<Option<u64>>,
    tokens_text: Vec<String>,
    cost: Vec<Option<f64>>,
    cost_text: Vec<String>,
}

#[derive(Serialize)]
struct EvalShown<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(rename = "type")]
    kind: EvalType,
    category: Option<usize>,
    tags: Vec<usize>,
    /// Names and words, as they are shown.
    facts: Vec<[String; 2]>,
    /// What follows `run` for this eval.
    rerun: Option<String>,
}

impl PageCases<'_> {
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// The block `cases`.
    pub fn columns(&self) -> impl Serialize {
        let (mut categories, mut tags, mut causes) = (
            NumberedNames::default(),
            NumberedNames::default(),
            NumberedNames::default(),
        );
        // In the plan's order, as the cases are.
        let mut shown: Vec<&PlacedCase<'_>> = self.held.iter().collect();
        shown.dedup_by_key(|held| held.eval_at);
        let places: HashMap<usize, usize> = shown
            .iter()
            .enumerate()
            .map(|(place, held)| (held.eval_at, place))
            .collect();
        let evals = shown.iter().map(|held| held.eval).map(|eval| EvalShown {
            id: &eval.id,
            name: text::truncate_bytes(&eval.name, limits::TABLE_TEXT * 4),
            kind: eval.kind,
            category: eval.category.as_deref().map(|name| categories.number(name)),
            tags: eval.tags.iter().map(|name| tags.number(name)).collect(),
            facts: eval_facts(eval),
            rerun: commands::only(&[("--eval", &eval.id)]),
        });
        let evals = evals.collect();
        let numbers: Vec<CaseNumbers> = self
            .held
            .iter()
            .map(|held| CaseNumbers::of(self.summary, held.case))
            .collect();
        // Samples that are not listed may still be told as failures.
        let failures = self.summary.failures.iter();
        let told: HashSet<(&str, &str)> = failures
            .map(|failure| (failure.eval_id.as_str(), failure.case_id.as_str()))
            .collect();
        let mixed = self.held.iter().zip(&numbers).map(|(held, numbers)| {
            let told = told.contains(&(held.eval.id.as_str(), held.case.id.as_str()));
            u8::from(is_mixed(held.case, numbers, told))
        });
        let mixed = mixed.collect();
        let cases = || self.held.iter().map(|held| held.case);
        let text_of =
            |value: Option<f64>, words: fn(f64) -> String| value.map(words).unwrap_or_default();
        CaseColumns {
            evals,
            tag: cases()
                .map(|case| case.tags.iter().map(|tag| tags.number(tag)).collect())
                .collect(),
            cause: cases()
                .map(|case| case.cause.map(|cause| causes.number(cause.name())))
                .collect(),
            categories,
            tags,
            causes,
            total: self.summary.summary.cases.total.max(self.held.len()),
            left_out: self.left_out(),
            run: commands::run_some(self.summary),
            run_failed: commands::run_failed_again(self.summary),
            eval: self
                .held
                .iter()
                .filter_map(|held| places.get(&held.eval_at).copied())
                .collect(),
            id: cases().map(|case| case.id.as_str()).collect(),
            name: cases()
                .map(|case| {
                    case.name
                        .as_deref()
                        .map(|name| text::truncate_bytes(name, limits::TABLE_TEXT))
                })
                .collect(),
            outcome: cases().map(|case| case.outcome.name()).collect(),
            flaky: cases().map(|case| u8::from(case.flaky)).collect(),
            mixed,
            reason: cases().map(reason).collect(),
            output: cases().map(output).collect(),
            expected: cases().map(expected).collect(),
            score: cases().map(|case| case.score).collect(),
            score_text: cases()
                .map(|case| text_of(case.score, figures::rate))
                .collect(),
            passed: numbers.iter().map(|n| n.passed).collect(),
            graded: numbers.iter().map(|n| n.graded).collect(),
            latency: numbers.iter().map(|n| n.latency).collect(),
            latency_text: numbers
                .iter()
                .map(|n| text_of(n.latency, figures::duration_ms))
                .collect(),
            tokens: numbers.iter().map(|n| n.tokens).collect(),
            tokens_text: numbers
                .iter()
                .map(|n| n.tokens.map(figures::number).unwrap_or_default())
                .collect(),
            cost: numbers.iter().map(|n| n.cost).collect(),
            cost_text: numbers
                .iter()
                .map(|n| text_of(n.cost, figures::cost))
                .collect(),
        }
    }

    /// The blocks `details-0`, `details-1`, ..., of at most about `room` bytes.
    pub fn write_details(&self, room: usize, out: &mut dyn Write) -> Result<(), ReportError> {
        details::write(&self.held, limits::DETAILS.min(room), out)
    }

    fn left_out(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let private = self.summary.private_cases();
        if private > 0 {
            sentences.push(format!("{} are not listed.", private_cases(private)));
        }
        let private = |of: fn(&EvalResult) -> usize| -> usize {
            let evals = self.summary.evals.iter().filter(|eval| eval.private);
            evals.map(of).sum()
        };
        let total = self.summary.summary.cases.total - private(|eval| eval.counts.total);
        let here = self.held.len();
        if total > here {
            let matters = self.held.iter().filter(|held| held.matters()).count();
            let [of, kept, bad, passed] =
                [total, here, matters, here - matters].map(text::group_digits);
            sentences.push(format!(
                "This page contains {kept} of {of} cases: {bad} that did not pass or were flaky, and {passed} that passed. \
                 Figures count everything; the journal has all cases."
            ));
            let passed = self.summary.summary.cases.passed - private(|eval| eval.counts.passed);
            let not_passed = total.saturating_sub(passed);
            let told = self
                .held
                .iter()
                .filter(|held| held.case.outcome != Outcome::Passed)
                .count();
            if told < not_passed {
                let [all, missing] = [not_passed, not_passed - told].map(text::group_digits);
                sentences.push(format!(
                    "{missing} of {all} cases that did not pass are not on this page."
                ));
            }
        }
        let lacks = |held: &PlacedCase<'_>| held.case.samples.is_empty();
        let ran = self.held.iter().any(|held| !details::never_ran(held.case));
        if ran && self.held.iter().all(lacks) {
            sentences.push(
                "Samples were not kept for reports (`include_details` is off, or there were too many), so no outputs or \
                 grades are shown here; the journal has them."
                    .to_owned(),
            );
        }
        sentences
    }
}

fn eval_facts(eval: &EvalResult) -> Vec<[String; 2]> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, words: Option<String>| {
        facts.extend(words.map(|words| [name.to_owned(), words]))
    };
    fact("Difficulty", eval.difficulty.as_ref().map(json::word));
    fact("Criticality", eval.criticality.as_ref().map(json::word));
    fact("Weight", Some(figures::count(eval.weight)));
    fact(
        "Defined in",
        eval.source
            .as_ref()
            .map(|place| format!("{}:{}", place.file, place.line)),
    );
    facts
}

/// The first reason among samples with the case's outcome.
fn reason(case: &CaseResult) -> String {
    let told = |outcome: Outcome| outcome != Outcome::Passed;
    let mut samples = case
        .samples
        .iter()
        .filter(|s| s.outcome == case.outcome && told(s.outcome));
    let reason = samples
        .find_map(|s| (!s.reason.trim().is_empty()).then_some(s.reason.as_str()))
        .unwrap_or_default();
    let line = text::one_line(text::truncate_bytes(reason, limits::TABLE_TEXT * 4));
    text::shortened(&line, limits::TABLE_TEXT).into_owned()
}

/// The beginning of what was graded of the sample that is shown, on a line.
fn output(case: &CaseResult) -> String {
    let sample = details::typical(case);
    let graded = sample.and_then(|one| one.extracted.as_ref().or(one.output.as_ref()));
    graded.map_or_else(String::new, |value| on_a_line(value, limits::TABLE_OUTPUT))
}

/// What a grader expected that did not pass the sample.
fn expected(case: &CaseResult) -> String {
    let sample = details::typical(case).filter(|one| one.outcome != Outcome::Passed);
    let grades = sample.into_iter().flat_map(|one| &one.grades);
    let mut failed = grades.filter(|grade| grade.outcome != Outcome::Passed);
    let value = failed.find_map(|grade| grade.expected.as_ref());
    let words = value.and_then(values::alternatives).map(Value::String);
    let value = words.as_ref().or(value);
    let shown = value.map(|value| details::compact(value, limits::TABLE_EXPECTED * 4));
    let is_short = |shown: &details::ShownText<'_>| {
        let fits = text::width(&shown.text) <= limits::TABLE_EXPECTED;
        shown.cut.is_none() && fits && !shown.text.contains('\n')
    };
    let short = shown.filter(is_short);
    short.map_or_else(String::new, |shown| text::one_line(&shown.text))
}

/// The beginning of a value; however long it is, only as much of it is read.
fn on_a_line(value: &Value, columns: usize) -> String {
    let shown = details::compact(value, columns * 4);
    // A fence says nothing of the code within it.
    let fenced = shown.text.trim_start().strip_prefix("```");
    let code = fenced.and_then(|rest| Some(rest.split_once('\n')?.1));
    let line = text::one_line(code.unwrap_or(&shown.text));
    text::truncate_width(&line, columns).into_owned()
}

/// What is known of a case's samples. Nothing is told of all of them that only some of them tell.
struct CaseNumbers {
    passed: Option<usize>,
    graded: Option<usize>,
    /// Mean over samples.
    latency: Option<f64>,
    /// Sums.
    tokens: Option<u64>,
    cost: Option<f64>,
}

impl CaseNumbers {
    fn of(summary: &Summary, case: &CaseResult) -> CaseNumbers {
        if !is_whole(summary, case) {
            // First attempts are counted even where samples are not kept, and in a flaky case they
            // are not what samples came to.
            let first = |n: u32| usize::try_from(n).ok().filter(|_| !case.flaky);
            let (passed, graded) = (first(case.first_passes), first(case.first_graded));
            return CaseNumbers {
                passed,
                graded,
                latency: None,
                tokens: None,
                cost: None,
            };
        }
        let count = |of: fn(Outcome) -> bool| {
            case.samples
                .iter()
                .filter(|sample| of(sample.outcome))
                .count()
        };
        let latencies: Vec<f64> = case
            .samples
            .iter()
            .filter_map(|sample| sample.latency_ms)
            .collect();
        let usages = || case.samples.iter().filter_map(|sample| sample.usage);
        let tokens = usages().map(|usage| usage.input_tokens.saturating_add(usage.output_tokens));
        let tokens = tokens.fold(0u64, u64::saturating_add);
        let costs: Vec<f64> = usages().filter_map(|usage| usage.cost_usd).collect();
        CaseNumbers {
            passed: Some(count(|outcome| outcome == Outcome::Passed)),
            graded: Some(count(Outcome::is_graded)),
            latency: (!latencies.is_empty())
                .then(|| latencies.iter().sum::<f64>() / latencies.len() as f64),
            tokens: (tokens > 0).then_some(tokens),
            cost: (!costs.is_empty()).then(|| costs.iter().sum()),
        }
    }
}

/// Whether some of a case's samples passed, and others failed or errored. `told`: it is among the
/// failures.
fn is_mixed(case: &CaseResult, numbers: &CaseNumbers, told: bool) -> bool {
    let any = |outcome: Outcome| case.samples.iter().any(|one| one.outcome == outcome);
    let counted = numbers.passed.zip(numbers.graded);
    let passed = case.outcome == Outcome::Passed
        || counted.is_some_and(|(passed, _)| passed > 0)
        || any(Outcome::Passed);
    let unpassed = told
        || counted.is_some_and(|(passed, graded)| passed < graded)
        || any(Outcome::Failed)
        || any(Outcome::Errored);
    passed && unpassed
}

/// Whether all samples of a case are listed that ran.
fn is_whole(summary: &Summary, case: &CaseResult) -> bool {
    if case.samples.is_empty() {
        return details::never_ran(case);
    }
    let omitted = summary.omitted.unwrap_or_default();
    omitted.samples == 0
        || omitted.unpassed_samples == 0 && !case.flaky && details::unlisted_passes(case) == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Omitted, SampleResult, Usage};
    use crate::report::tests::{green, sample};

    fn passed(index: u32) -> SampleResult {
        let usage = Usage {
            input_tokens: 100,
            output_tokens: 10,
            cost_usd: Some(0.5),
        };
        SampleResult {
            index,
            latency_ms: Some(5.0),
            usage: Some(usage),
            ..sample(Outcome::Passed, None, "")
        }
    }

    /// What the page says of a run's one case.
    fn told(summary: &Summary, names: &[&str]) -> Vec<Value> {
        let columns = serde_json::to_value(of(summary, limits::CASES).columns()).expect("JSON");
        names.iter().map(|name| columns[name][0].clone()).collect()
    }

    #[test]
    fn what_some_samples_tell_is_not_told_of_all() {
        let mut summary = green(1);
        summary.evals.truncate(1);
        let case = &mut summary.evals[0].cases[0];
        (case.first_passes, case.first_graded, case.outcome) = (2, 3, Outcome::Failed);
        let failed = SampleResult {
            outcome: Outcome::Failed,
            ..passed(2)
        };
        case.samples = vec![passed(0), passed(1), failed.clone()];
        let names = [
            "passed",
            "graded",
            "latency_text",
            "tokens_text",
            "cost_text",
        ];
        let whole = json!([2, 3, "5.0 ms", "330", "$1.50"]);
        assert_eq!(json!(told(&summary, &names)), whole);
        let omitted = Omitted {
            samples: 2,
            ..Omitted::default()
        };
        // Samples of other cases are left out, not of this one.
        summary.omitted = Some(omitted);
        assert_eq!(json!(told(&summary, &names)), whole);
        summary.evals[0].cases[0].samples = vec![failed];
        assert_eq!(json!(told(&summary, &names)), json!([2, 3, "", "", ""]));
        assert_eq!(details::unlisted_passes(&summary.evals[0].cases[0]), 2);
        summary.omitted = Some(Omitted {
            unpassed_samples: 1,
            ..omitted
        });
        summary.evals[0].cases[0].samples = vec![passed(0), passed(1)];
        assert_eq!(json!(told(&summary, &names)), json!([2, 3, "", "", ""]));
    }

    #[test]
    fn a_case_with_an_errored_sample_is_mixed_though_it_passed() {
        let mut summary = green(1);
        summary.evals.truncate(1);
        let case = &mut summary.evals[0].cases[0];
        (case.first_passes, case.first_graded) = (1, 1);
        case.samples = vec![passed(0)];
        assert_eq!(told(&summary, &["mixed"]), [json!(0)]);
        let errored = SampleResult {
            outcome: Outcome::Errored,
            ..passed(1)
        };
        summary.evals[0].cases[0].samples.push(errored);
        assert_eq!(
            told(&summary, &["mixed", "passed", "graded"]),
            [json!(1), json!(1), json!(1)]
        );
        let case = &mut summary.evals[0].cases[0];
        case.outcome = Outcome::Errored;
        case.samples.remove(0);
        (case.first_passes, case.first_graded) = (0, 0);
        assert_eq!(told(&summary, &["mixed"]), [json!(0)]);
    }

    /// A sample that passed on its second attempt is not one that did not pass.
    #[test]
    fn first_attempts_are_not_shown_as_what_samples_came_to() {
        let mut summary = green(1);
        summary.evals.truncate(1);
        let case = &mut summary.evals[0].cases[0];
        (case.first_passes, case.first_graded, case.flaky) = (0, 3, true);
        case.samples = Vec::new();
        assert_eq!(
            told(&summary, &["outcome", "passed", "graded"]),
            [json!("passed"), Value::Null, Value::Null]
        );
        assert_eq!(details::unlisted_passes(&summary.evals[0].cases[0]), 1);
    }

    #[test]
    fn samples_that_never_ran_are_not_said_to_be_in_the_journal() {
        let mut summary = green(1);
        summary.evals.truncate(1);
        let case = &mut summary.evals[0].cases[0];
        (case.first_passes, case.first_graded, case.samples) = (0, 0, Vec::new());
        case.outcome = Outcome::Skipped;
        assert_eq!(of(&summary, limits::CASES).left_out(), [""; 0]);
        assert_eq!(told(&summary, &["passed", "graded"]), [json!(0), json!(0)]);
        summary.evals[0].cases[0].outcome = Outcome::Errored;
        assert_eq!(of(&summary, limits::CASES).left_out().len(), 1);
    }

    /// Beyond 20,000 samples a case lists those that did not pass: their sums would be taken for
    /// the case's.
    #[test]
    fn sums_and_means_are_of_all_samples_or_none() {
        let mut summary = green(1);
        let mut case = summary.evals[0].cases[0].clone();
        let usage = Some(Usage {
            input_tokens: 3,
            output_tokens: 4,
            cost_usd: Some(0.5),
        });
        case.samples = vec![SampleResult {
            usage,
            ..sample(Outcome::Failed, None, "")
        }];
        let numbers = CaseNumbers::of(&summary, &case);
        assert_eq!(
            (numbers.latency, numbers.tokens, numbers.cost),
            (Some(12.0), Some(7), Some(0.5))
        );
        summary.omitted = Some(Omitted {
            samples: 9,
            ..Omitted::default()
        });
        let numbers = CaseNumbers::of(&summary, &case);
        assert_eq!(
            (numbers.latency, numbers.tokens, numbers.cost),
            (None, None, None)
        );
    }
}
