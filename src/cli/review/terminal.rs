//! Reviews in a terminal: one item after the other, keys as words of a line.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use super::failure;
use crate::cli::CliResult;
use crate::cli::console::Console;
use crate::gate::ExitCode;
use crate::model::Rating;
use crate::review::{Decision, ReviewError, ReviewItem, ReviewProgress, ReviewSession};
use crate::spec::{RatingKind, RatingScale};
use eval_base::text::{one_line, plural, sanitize};

/// What was typed.
#[derive(Debug, PartialEq)]
enum ReviewCommand {
    Rate(Rating),
    Comment(String),
    Skip,
    Undo,
    Next,
    Back,
    Quit,
    Help,
}

pub(super) fn review(console: &Console, mut session: ReviewSession) -> CliResult {
    let input = io::stdin().lock();
    let mut out = io::stdout().lock();
    let ended = drive(&mut session, input, &mut out, Instant::now);
    drop(out);
    let progress = session.progress();
    console.note(&ending(&session, progress));
    match ended {
        Ok(()) => Ok(ExitCode::Pass),
        Err(TerminalError::Review(error)) => Err(failure(error)),
        // Closed: what was decided is recorded.
        Err(TerminalError::Terminal(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::Pass)
        }
        Err(TerminalError::Terminal(error)) => Err(error.into()),
    }
}

fn ending(session: &ReviewSession, progress: ReviewProgress) -> String {
    let ReviewProgress { done, total, .. } = progress;
    let file = session.file().display();
    let run = session.run();
    let regrade = format!("`eval-harness regrade --people --run {run}` makes grades of them");
    match done {
        0 => "nothing was rated".to_owned(),
        _ => format!(
            "{done} of {} rated, recorded in {file}; {regrade}",
            plural(total, "item")
        ),
    }
}

#[derive(Debug, thiserror::Error)]
enum TerminalError {
    #[error(transparent)]
    Review(#[from] ReviewError),
    #[error(transparent)]
    Terminal(#[from] io::Error),
}

/// Shows items and reads commands until the queue, the input or the reviewer's patience ends.
fn drive(
    session: &mut ReviewSession,
    mut input: impl BufRead,
    out: &mut impl Write,
    now: impl Fn() -> Instant,
) -> Result<(), TerminalError> {
    let mut at = session.position();
    let mut comment: Option<String> = None;
    while let Some(index) = at {
        let item = session.item(index)?;
        out.write_all(shown(&item, index, session.progress()).as_bytes())?;
        let begun = now();
        at = loop {
            write!(out, "{}> ", keys(&item))?;
            out.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                writeln!(out)?;
                return Ok(());
            }
            let rating = match parsed(line.trim(), &item) {
                Ok(ReviewCommand::Rate(rating)) => rating,
                Ok(ReviewCommand::Skip) => Rating::Skip,
                Ok(ReviewCommand::Comment(text)) => {
                    comment = Some(text);
                    continue;
                }
                Ok(ReviewCommand::Undo) => match session.undo()? {
                    Some(undone) => break Some(undone),
                    None => {
                        writeln!(out, "nothing to undo")?;
                        continue;
                    }
                },
                Ok(ReviewCommand::Next) => break Some((index + 1).min(session.len() - 1)),
                Ok(ReviewCommand::Back) => break Some(index.saturating_sub(1)),
                Ok(ReviewCommand::Quit) => return Ok(()),
                Ok(ReviewCommand::Help) => {
                    writeln!(out, "{}", help(&item))?;
                    continue;
                }
                Err(why) => {
                    writeln!(out, "{why}")?;
                    continue;
                }
            };
            let decision = Decision {
                rating,
                comment: comment.take(),
                seconds: now().duration_since(begun).as_secs_f64(),
            };
            match session.decide(index, decision) {
                Ok(recorded) => {
                    if recorded.over_time {
                        writeln!(out, "recorded; it took longer than the time limit")?;
                    }
                    break session.position();
                }
                Err(ReviewError::Unfit(why)) => writeln!(out, "{why}")?,
                Err(error) => return Err(error.into()),
            }
        };
    }
    Ok(())
}

/// An item as text. What a target or a model wrote can't steer the terminal.
fn shown(item: &ReviewItem, index: usize, progress: ReviewProgress) -> String {
    let mut text = String::new();
    let ReviewProgress { done, total, .. } = progress;
    let mut section = |title: &str, body: &str| {
        let body = sanitize(body.trim_end());
        let end = if body.is_empty() { "" } else { "\n" };
        text.push_str(&format!("--- {title}\n{body}{end}"));
    };
    let title = format!(
        "{} of {total} ({done} done): {}/{}",
        index + 1,
        one_line(&item.eval),
        one_line(&item.case)
    );
    section(&title, "");
    section("Input", &item.input);
    for output in &item.outputs {
        let target = output
            .target
            .as_deref()
            .filter(|_| !output.label.is_empty());
        let target = target.map(|target| format!(" ({})", one_line(target)));
        let label = Some(&output.label).filter(|label| !label.is_empty());
        let label = label.map(|label| format!(" {label}")).unwrap_or_default();
        section(
            &format!("Output{label}{}", target.unwrap_or_default()),
            &output.text,
        );
        if let Some(diff) = &output.diff {
            section(&format!("Changes{label}"), diff);
        }
    }
    if let Some(reference) = &item.reference {
        section("Expected", reference);
    }
    if !item.rubric.trim().is_empty() {
        section("Rubric", &item.rubric);
    }
    let scale = scale_lines(item);
    if item.scale.kind == RatingKind::Likert && !scale.is_empty() {
        section("Scale", &scale);
    }
    if let Some(context) = &item.context {
        let verdicts = context.verdicts.iter().map(|verdict| {
            let score = verdict
                .score
                .map(|score| format!(" {score:.2}"))
                .unwrap_or_default();
            format!(
                "{}: {}{score} {}",
                one_line(&verdict.grader),
                verdict.outcome,
                one_line(&verdict.reason)
            )
        });
        let verdicts: Vec<String> = verdicts.collect();
        let target = format!("target {}", one_line(&context.target));
        section(
            "Context",
            &std::iter::once(target)
                .chain(verdicts)
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    if item.adjudication {
        let others = item.others.iter().map(|other| {
            let rating = serde_json::to_string(&other.rating).unwrap_or_default();
            let comment = other.comment.as_deref().map(one_line).unwrap_or_default();
            format!("{}: {rating} {comment}", one_line(&other.reviewer))
        });
        section(
            "Reviewers differ; your rating decides",
            &others.collect::<Vec<_>>().join("\n"),
        );
    }
    if let Some(decided) = &item.decided {
        section(
            "Your rating",
            &serde_json::to_string(decided).unwrap_or_default(),
        );
    }
    text
}

/// The keys of a prompt.
fn keys(item: &ReviewItem) -> String {
    let rate = match item.scale.kind {
        RatingKind::Binary => "p/f".to_owned(),
        RatingKind::Likert => {
            let [low, high] = range(&item.scale);
            match item.scale.criteria.len() {
                0 | 1 => format!("{low}-{high}"),
                many => format!("{many} numbers {low}-{high}"),
            }
        }
        RatingKind::Ranking => "letters, best first".to_owned(),
    };
    format!("{rate}, s skip, u undo, ? help")
}

/// The criteria and points of the scale, or what the keys stand for.
fn scale_lines(item: &ReviewItem) -> String {
    let option = |value: bool, default: &str| {
        let mut options = item.scale.options.iter();
        let own = options.find(|option| option.value == value);
        own.map_or_else(|| default.to_owned(), |option| one_line(&option.label))
    };
    match item.scale.kind {
        RatingKind::Binary => format!("p  {}\nf  {}", option(true, "pass"), option(false, "fail")),
        RatingKind::Likert => {
            let labels = item.scale.labels.iter();
            let labels = labels.map(|(point, label)| format!("{point}  {}", one_line(label)));
            let criteria: Vec<String> = item
                .scale
                .criteria
                .iter()
                .map(|name| one_line(name))
                .collect();
            let head = match criteria.as_slice() {
                [] => None,
                [only] => Some(only.clone()),
                several => Some(format!("one number for each of: {}", several.join("; "))),
            };
            head.into_iter()
                .chain(labels)
                .collect::<Vec<_>>()
                .join("\n")
        }
        RatingKind::Ranking => {
            let ties = match item.scale.tie_allowed {
                Some(true) => "; B=C are equal",
                _ => "",
            };
            format!("such as B A C: best first{ties}")
        }
    }
}

fn help(item: &ReviewItem) -> String {
    let rate = scale_lines(item);
    format!(
        "{rate}\nc TEXT  comment on your next rating\ns  skip\nu  undo\nn  next item\nb  item before\nq  quit"
    )
}

fn range(scale: &RatingScale) -> [i64; 2] {
    scale.range.unwrap_or(crate::model::ReviewPolicy::RANGE)
}

fn parsed(line: &str, item: &ReviewItem) -> Result<ReviewCommand, String> {
    // Letters may also be commands: `c b a` is a ranking.
    if item.scale.kind == RatingKind::Ranking
        && let Ok(order) = ranking(line, item)
        && order.iter().flatten().count() == item.outputs.len()
    {
        return Ok(ReviewCommand::Rate(Rating::Ranking { order }));
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, rest.trim()) {
        ("c", text) if !text.is_empty() => return Ok(ReviewCommand::Comment(text.to_owned())),
        ("s", "") => return Ok(ReviewCommand::Skip),
        ("u", "") => return Ok(ReviewCommand::Undo),
        ("n", "") => return Ok(ReviewCommand::Next),
        // Of a ranking it is an output.
        ("b", "") if item.scale.kind != RatingKind::Ranking => return Ok(ReviewCommand::Back),
        ("q", "") => return Ok(ReviewCommand::Quit),
        ("?" | "h" | "help", "") => return Ok(ReviewCommand::Help),
        _ => {}
    }
    let rating = match item.scale.kind {
        RatingKind::Binary => match line {
            "p" => Rating::Binary { value: true },
            "f" => Rating::Binary { value: false },
            _ => return Err("type p or f, or ? for help".to_owned()),
        },
        RatingKind::Likert => {
            let numbers: Result<Vec<i64>, _> = line.split_whitespace().map(str::parse).collect();
            let criteria = match item.scale.criteria.as_slice() {
                [] => vec![String::new()],
                criteria => criteria.to_vec(),
            };
            match numbers {
                Ok(numbers) if numbers.len() == criteria.len() => Rating::Likert {
                    scores: criteria.into_iter().zip(numbers).collect(),
                },
                _ => {
                    return Err(format!(
                        "type {}, or ? for help",
                        plural(criteria.len(), "number")
                    ));
                }
            }
        }
        RatingKind::Ranking => Rating::Ranking {
            order: ranking(line, item)?,
        },
    };
    Ok(ReviewCommand::Rate(rating))
}

/// `B A=C` as groups of digests.
fn ranking(line: &str, item: &ReviewItem) -> Result<Vec<Vec<String>>, String> {
    let digest = |label: &str| {
        let label = label.trim().to_uppercase();
        let mut outputs = item.outputs.iter();
        let found = outputs.find(|output| output.label == label);
        let found = found.map(|output| output.digest.clone());
        found.ok_or_else(|| {
            format!(
                "there is no output `{}`; type the letters, best first, or ? for help",
                one_line(&label)
            )
        })
    };
    let group = |group: &str| group.split('=').map(digest).collect::<Result<Vec<_>, _>>();
    line.replace(" =", "=")
        .replace("= ", "=")
        .split_whitespace()
        .map(group)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::ShownOutput;

    fn item(kind: RatingKind, criteria: &[&str]) -> ReviewItem {
        let output = |label: &str| ShownOutput {
            label: label.into(),
            digest: format!("sha256:{label}"),
            text: "done\u{1b}[2J".into(),
            json: false,
            diff: None,
            target: None,
        };
        ReviewItem {
            key: "k".into(),
            eval: "e".into(),
            case: "c".into(),
            input: "question".into(),
            outputs: ["A", "B", "C"].map(output).to_vec(),
            reference: None,
            rubric: "Is it right?".into(),
            scale: RatingScale {
                kind,
                criteria: criteria.iter().map(|name| (*name).to_owned()).collect(),
                ..RatingScale::default()
            },
            time_limit_minutes: None,
            blind: true,
            adjudication: false,
            others: Vec::new(),
            context: None,
            decided: None,
            comment: None,
        }
    }

    #[test]
    fn lines_are_read_as_the_scale_demands() {
        let said = |line: &str, item: &ReviewItem| match parsed(line, item) {
            Ok(command) => format!("{line}: {command:?}"),
            Err(why) => format!("{line}: {why}"),
        };
        let binary = item(RatingKind::Binary, &[]);
        let one = item(RatingKind::Likert, &[]);
        let two = item(RatingKind::Likert, &["clear", "right"]);
        let ranked = item(RatingKind::Ranking, &[]);
        let lines = [
            said("p", &binary),
            said("x", &binary),
            said("c too long", &binary),
            said("4", &one),
            said("4 5", &one),
            said("4 5", &two),
            said("b a = c", &ranked),
            said("c b a", &ranked),
            said("c better", &ranked),
            said("b d", &ranked),
            said("q", &ranked),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        p: Rate(Binary { value: true })
        x: type p or f, or ? for help
        c too long: Comment("too long")
        4: Rate(Likert { scores: {"": 4} })
        4 5: type 1 number, or ? for help
        4 5: Rate(Likert { scores: {"clear": 4, "right": 5} })
        b a = c: Rate(Ranking { order: [["sha256:B"], ["sha256:A", "sha256:C"]] })
        c b a: Rate(Ranking { order: [["sha256:C"], ["sha256:B"], ["sha256:A"]] })
        c better: Comment("better")
        b d: there is no output `D`; type the letters, best first, or ? for help
        q: Quit
        "#);
    }

    #[test]
    fn item_is_shown_without_what_steers_a_terminal() {
        let text = shown(&item(RatingKind::Binary, &[]), 0, ReviewProgress::default());
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("--- Output B\ndone"), "{text}");
    }

    #[test]
    fn criteria_of_a_scale_are_shown_with_the_item() {
        for (criteria, lines) in [
            (
                &["clear", "right"][..],
                "one number for each of: clear; right",
            ),
            (&["clear"][..], "clear"),
        ] {
            let item = item(RatingKind::Likert, criteria);
            let text = shown(&item, 0, ReviewProgress::default());
            assert!(text.contains(&format!("--- Scale\n{lines}\n")), "{text}");
        }
    }
}
