//! What people rated in a run, as words: the same in every format. Nothing here is escaped.

use crate::model::{PeopleFigure, PeopleSummary};
use crate::report::figures::{number, plural};

/// Labels with words.
pub type PeopleLine = (String, String);

/// How much is rated, and what is left to do.
pub fn progress(people: &PeopleSummary, run: &str) -> Vec<PeopleLine> {
    let mut lines = vec![("outputs".to_owned(), counted(people))];
    let command = |queue: &str| format!("`eval-harness review {run}{queue}`");
    if people.waiting > 0 {
        let reviews = plural(people.missing_reviews, "review");
        let words = format!("{reviews} missing: {}", command(""));
        lines.push(("waiting".to_owned(), words));
    }
    if people.to_adjudicate > 0 {
        let outputs = plural(people.to_adjudicate, "output");
        let words = format!(
            "reviewers differ on {outputs}, so a further one must decide: {}",
            command(" --queue disagreements")
        );
        lines.push(("adjudication".to_owned(), words));
    }
    if people.over_time > 0 {
        let ratings = plural(people.over_time, "rating");
        lines.push((
            "over time".to_owned(),
            format!("{ratings} took longer than the time limit"),
        ));
    }
    lines
}

fn counted(people: &PeopleSummary) -> String {
    let rated: u64 = people
        .reviewers
        .iter()
        .map(|reviewer| reviewer.ratings)
        .sum();
    let mut words = format!(
        "{} to grade, {} by {}",
        plural(people.outputs, "output"),
        plural(rated, "rating"),
        plural(people.reviewers.len() as u64, "reviewer")
    );
    if people.adjudicated > 0 {
        words.push_str(&format!(
            ", {} decided by a further one",
            number(people.adjudicated)
        ));
    }
    words
}

/// How far people agree with each other, with themselves and with the judge; results of rankings.
pub fn agreement(people: &PeopleSummary) -> Vec<PeopleLine> {
    let mut lines = Vec::new();
    for of in &people.agreement {
        let name = match of.criterion.as_str() {
            "" => of.grader.clone(),
            criterion => format!("{}: {criterion}", of.grader),
        };
        let words = format!(
            "of {} with several ratings: equal {}, alpha {}, Gwet's coefficient {}",
            plural(of.outputs, "output"),
            percent(&of.percent),
            decimal(&of.alpha),
            decimal(&of.gwet)
        );
        lines.push((format!("agreement ({name})"), words));
    }
    for reviewer in &people.reviewers {
        if let Some(share) = reviewer.repeat_agreement {
            let items = plural(reviewer.repeats, "item");
            let words = format!("{:.0} % agree over {items} rated twice", share * 100.0);
            lines.push((format!("{} with themselves", reviewer.name), words));
        }
    }
    if let Some(judge) = &people.with_judge {
        let words = format!(
            "of {} that both graded: equal {}, AC1 {}; they differ on {}",
            plural(judge.outputs, "output"),
            percent(&judge.percent),
            decimal(&judge.gwet),
            number(judge.differ)
        );
        lines.push(("people and judge".to_owned(), words));
    }
    for ranking in &people.rankings {
        for target in &ranking.targets {
            let words = format!(
                "wins {} of comparisons, Bradley-Terry score {}",
                percent(&target.win_rate),
                decimal(&target.score)
            );
            lines.push((target.target.clone(), words));
        }
        let words = format!(
            "the output shown first wins {} of {}",
            percent(&ranking.first),
            plural(ranking.rankings, "ranking")
        );
        lines.push(("order".to_owned(), words));
    }
    lines
}

/// `eval/case: the judge passes it, people don't`.
pub fn differing(people: &PeopleSummary) -> Vec<String> {
    let judge = people.with_judge.iter();
    let cases = judge.flat_map(|judge| &judge.cases).map(|case| {
        let who = match case.judge_passed {
            true => "the judge passes it, people fail it",
            false => "the judge fails it, people pass it",
        };
        match case.sample {
            0 => format!("{}/{}: {who}", case.eval, case.case),
            sample => format!("{}/{} (sample {}): {who}", case.eval, case.case, sample + 1),
        }
    });
    cases.collect()
}

fn percent(figure: &PeopleFigure) -> String {
    with_interval(figure, |value| format!("{:.0} %", value * 100.0))
}

fn decimal(figure: &PeopleFigure) -> String {
    with_interval(figure, |value| format!("{value:.2}"))
}

/// `83 % [60 %, 95 %]`, or why there is none.
fn with_interval(figure: &PeopleFigure, shown: impl Fn(f64) -> String) -> String {
    match (figure.value, figure.ci, &figure.undefined) {
        (Some(value), Some([low, high]), _) => {
            format!("{} [{}, {}]", shown(value), shown(low), shown(high))
        }
        (Some(value), None, Some(why)) => format!("{} (no interval: {why})", shown(value)),
        (Some(value), None, None) => shown(value),
        (None, _, why) => format!("undefined ({})", why.as_deref().unwrap_or("no data")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DifferingCase, JudgeAgreement, PeopleAgreement, ReviewerSummary};

    fn figure(value: f64) -> PeopleFigure {
        PeopleFigure {
            value: Some(value),
            ci: Some([value - 0.1, value + 0.05]),
            undefined: None,
        }
    }

    #[test]
    fn people_are_described_in_words() {
        let few = PeopleFigure {
            value: Some(0.5),
            ci: None,
            undefined: Some("too few".into()),
        };
        let people = PeopleSummary {
            outputs: 12,
            waiting: 2,
            missing_reviews: 3,
            to_adjudicate: 1,
            adjudicated: 1,
            over_time: 1,
            reviewers: vec![ReviewerSummary {
                name: "ana".into(),
                ratings: 10,
                repeats: 4,
                repeat_agreement: Some(0.75),
            }],
            agreement: vec![PeopleAgreement {
                grader: "human".into(),
                criterion: "clear".into(),
                outputs: 9,
                percent: figure(0.8),
                alpha: few,
                gwet: PeopleFigure {
                    value: None,
                    ci: None,
                    undefined: Some("no data".into()),
                },
            }],
            with_judge: Some(JudgeAgreement {
                outputs: 10,
                percent: figure(0.9),
                gwet: figure(0.8),
                differ: 1,
                cases: vec![DifferingCase {
                    eval: "e".into(),
                    case: "c".into(),
                    sample: 0,
                    judge_passed: true,
                    people_passed: false,
                }],
            }),
            rankings: Vec::new(),
        };
        let lines = progress(&people, "eval-1")
            .into_iter()
            .chain(agreement(&people));
        let mut lines: Vec<String> = lines
            .map(|(label, words)| format!("{label}: {words}"))
            .collect();
        lines.extend(differing(&people));
        insta::assert_snapshot!(lines.join("\n"), @r"
        outputs: 12 outputs to grade, 10 ratings by 1 reviewer, 1 decided by a further one
        waiting: 3 reviews missing: `eval-harness review eval-1`
        adjudication: reviewers differ on 1 output, so a further one must decide: `eval-harness review eval-1 --queue disagreements`
        over time: 1 rating took longer than the time limit
        agreement (human: clear): of 9 outputs with several ratings: equal 80 % [70 %, 85 %], alpha 0.50 (no interval: too few), Gwet's coefficient undefined (no data)
        ana with themselves: 75 % agree over 4 items rated twice
        people and judge: of 10 outputs that both graded: equal 90 % [80 %, 95 %], AC1 0.80 [0.70, 0.85]; they differ on 1
        e/c: the judge passes it, people fail it
        ");
    }
}
