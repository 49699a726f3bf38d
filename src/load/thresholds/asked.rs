//! What phase files demand of the suites that they run.

use super::{WrittenSet, read_set};
use crate::load::problem::{Code, Problem, Problems};
use crate::load::source::Span;
use crate::model::{AskedThreshold, Bound, Figure, GateRequirement, Metric, MetricName, Threshold};

/// The thresholds of a step or a trigger, its `max_regressions` and its `require`; what is wrong
/// with them is noted where it is written.
pub(in crate::load) fn resolve_thresholds(
    set: &WrittenSet,
    problems: &mut Problems,
) -> (Vec<AskedThreshold>, Option<u32>, Option<GateRequirement>) {
    let read = read_set(set, problems);
    let asked = |demand: super::ThresholdDemand| AskedThreshold {
        name: demand.name,
        threshold: demand.threshold,
        bare: demand.bare,
    };
    (
        read.demands.into_iter().map(asked).collect(),
        read.max_regressions,
        read.require,
    )
}

/// Puts `required_pass_rate` among the thresholds `asked` of the same step, which `set` holds as
/// they are written. Another demand on `pass_rate` beside it is a contradiction, unless it is the
/// same.
pub(in crate::load) fn required_pass_rate(
    rate: f64,
    at: Option<Span>,
    set: &WrittenSet,
    asked: &mut Vec<AskedThreshold>,
    problems: &mut Problems,
) {
    let metric = Metric::PassRate.to_string();
    let required = Threshold {
        metric: metric.clone(),
        bound: Bound::Min,
        value: rate,
        on: Figure::Value,
    };
    let of_it = |other: &&AskedThreshold| other.threshold.metric == metric;
    if asked.iter().any(|other| other.threshold == required) {
        return;
    }
    let differs = |other: &&AskedThreshold| {
        other.threshold.bound == Bound::Min || other.threshold.value < rate
    };
    if let Some(other) = asked.iter().filter(of_it).find(differs) {
        let Threshold {
            value, bound, on, ..
        } = other.threshold;
        let word = if bound == Bound::Min {
            "at least"
        } else {
            "at most"
        };
        let of = match on {
            Figure::Value => "",
            Figure::CiLower => " for the lower end of its interval",
            Figure::CiUpper => " for the upper end of its interval",
        };
        let message = format!(
            "`required_pass_rate` requires {rate}, but the threshold on `pass_rate` requires {word} {value}{of}"
        );
        let written = set.1.as_ref().and_then(|node| node.key_place("pass_rate"));
        let problem = Problem::error(Code::BothSpellings, at, message)
            .hint("both limit the same rate: keep one of them");
        problems.push(problem.related(written, "the threshold"));
        return;
    }
    asked.push(AskedThreshold {
        name: MetricName {
            metric: Metric::PassRate,
            part: None,
        },
        threshold: required,
        bare: false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::source::SourceFiles;
    use crate::load::tree;
    use crate::spec::Thresholds;

    /// What is asked for with this `required_pass_rate`, or what is wrong.
    fn said(thresholds: &str, rate: Option<f64>) -> String {
        let (mut sources, mut problems) = (SourceFiles::default(), Problems::new());
        let file = sources.add("phase.yaml", thresholds);
        let node = tree::parse(&sources, file, &mut problems).expect("a document");
        let set: Thresholds = serde_json::from_value(node.to_json()).expect("thresholds");
        let at = Some(node.span);
        let set = (set, Some(node));
        let (mut all, most, require) = resolve_thresholds(&set, &mut problems);
        if let Some(rate) = rate {
            required_pass_rate(rate, at, &set, &mut all, &mut problems);
        }
        let mut lines: Vec<String> = all
            .iter()
            .map(|ask| {
                format!(
                    "{} {:?} {} bare={}",
                    ask.threshold.metric, ask.threshold.bound, ask.threshold.value, ask.bare
                )
            })
            .collect();
        lines.extend(most.map(|n| format!("max_regressions {n}")));
        lines.extend(require.map(|word| format!("require {word:?}")));
        for problem in problems.iter() {
            let place = problem.span.map(|span| sources.position(span));
            let place = place.map_or("-".to_owned(), |at| format!("{}:{}", at.line, at.column));
            let also: Vec<String> = problem
                .related
                .iter()
                .map(|other| format!("{}", sources.position(other.span).line))
                .collect();
            lines.push(format!(
                "{place} {}: {} also={also:?}",
                problem.code.slug(),
                problem.message
            ));
        }
        lines.join("\n")
    }

    #[test]
    fn steps_ask_like_suites_and_faults_have_places() {
        insta::assert_snapshot!(said("{pass@1: 0.85, lint_pass: 0.5, max_regressions: 0, require: all_evals, score: {min: 0.5, by_tag: {a: 1}}}", None), @"
        lint_pass Min 0.5 bare=true
        pass_at_1 Min 0.85 bare=true
        score Min 0.5 bare=false
        score[tag=a] Min 1 bare=true
        max_regressions 0
        require AllEvals
        ");
        insta::assert_snapshot!(said("{pass@1: 85, scroe: 0.5}", None), @"
        pass_at_1 Min 85 bare=true
        scroe Min 0.5 bare=true
        1:10 out-of-range: a threshold on `pass@1` must be between 0 and 1, not 85 also=[]
        ");
    }

    #[test]
    fn a_required_pass_rate_is_the_threshold_on_the_pass_rate() {
        insta::assert_snapshot!(said("{score: 0.5, \"pass_rate[tag=a]\": 0.1}", Some(0.9)), @"
        pass_rate[tag=a] Min 0.1 bare=true
        score Min 0.5 bare=true
        pass_rate Min 0.9 bare=false
        ");
        insta::assert_snapshot!(said("{pass_rate: 0.9}", Some(0.9)), @"pass_rate Min 0.9 bare=true");
        insta::assert_snapshot!(said("{pass_rate: {min: 0.9, max: 0.95}}", Some(0.9)), @"
        pass_rate Min 0.9 bare=false
        pass_rate Max 0.95 bare=false
        ");
        insta::assert_snapshot!(said("{pass_rate: {max: 0.95}}", Some(0.9)), @"
        pass_rate Max 0.95 bare=false
        pass_rate Min 0.9 bare=false
        ");
        insta::assert_snapshot!(said("{score: 1,\n pass_rate: {max: 0.8}}", Some(0.9)), @r#"
        pass_rate Max 0.8 bare=false
        score Min 1 bare=true
        1:1 both-spellings: `required_pass_rate` requires 0.9, but the threshold on `pass_rate` requires at most 0.8 also=["2"]
        "#);
        insta::assert_snapshot!(said("{score: 1,\n pass_rate: {min: 0.9, bound: lower}}", Some(0.9)), @r#"
        pass_rate Min 0.9 bare=false
        score Min 1 bare=true
        1:1 both-spellings: `required_pass_rate` requires 0.9, but the threshold on `pass_rate` requires at least 0.9 for the lower end of its interval also=["2"]
        "#);
        insta::assert_snapshot!(said("{score: 1,\n pass_rate: 0.8}", Some(0.9)), @r#"
        pass_rate Min 0.8 bare=true
        score Min 1 bare=true
        1:1 both-spellings: `required_pass_rate` requires 0.9, but the threshold on `pass_rate` requires at least 0.8 also=["2"]
        "#);
    }
}
