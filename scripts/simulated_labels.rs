//! Fills the tables of docs/statistics.md on labels and judges: simulated judges whose sensitivity,
//! specificity and pass rate are known.
//!
//! `cargo run --release -p eval-stats --example simulated_labels -- docs/statistics.md [--check]`.
//! Ends with 1 when a figure lies outside of what the page promises.

use std::fmt::Write as _;

use eval_stats::{
    AgreementMeasure, JudgeConfusion, LabelledShare, LabelledValue, RatingDistance, RatingTable,
    agreement_interval, corrected_mean, in_parallel, inclusion_weights, label_order,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Whether the interval covered, its width, that of the labels alone, and whether the raw mean's
/// interval covered.
type MeanRun = (bool, f64, f64, bool);

const SHARES: [f64; 6] = [0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
const RATES: [f64; 9] = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95];
const LABELS: usize = 100;
const ITEMS: usize = 1_000;
const RUNS: u64 = 2_000;
/// Rows in which figures are given more seldom are reported with their number only.
const OFTEN: f64 = 0.05;

struct Dice(ChaCha8Rng);

impl Dice {
    fn new(seed: u64, stream: u64) -> Dice {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Dice(generator)
    }

    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }
}

/// A judge and the share of items that people pass.
#[derive(Clone, Copy)]
struct Truth {
    sensitivity: f64,
    specificity: f64,
    rate: f64,
}

impl Truth {
    /// (judged, labelled) of items.
    fn items(self, n: usize, dice: &mut Dice) -> Vec<(bool, bool)> {
        (0..n)
            .map(|_| {
                let labelled = dice.unit() < self.rate;
                let right = if labelled {
                    self.sensitivity
                } else {
                    self.specificity
                };
                (labelled == (dice.unit() < right), labelled)
            })
            .collect()
    }
}

/// Intervals of one cell of the grid.
#[derive(Clone, Copy, Default)]
struct Coverage {
    given: u64,
    covered: u64,
    width: f64,
    raw: u64,
}

impl Coverage {
    fn share(&self) -> f64 {
        self.covered as f64 / self.given as f64
    }
}

fn passed(items: &[(bool, bool)]) -> u64 {
    items.iter().filter(|item| item.0).count() as u64
}

fn confusion<'i>(items: impl Iterator<Item = &'i (bool, bool)>) -> JudgeConfusion {
    let mut confusion = JudgeConfusion::default();
    for (judged, labelled) in items {
        confusion
            .push(*judged, *labelled, 1.0)
            .expect("a weight of 1");
    }
    confusion
}

/// Where the labels come from.
#[derive(Clone, Copy)]
enum Design {
    /// A random draw of the items.
    Draw,
    /// Other items of the same pass rate; or of this one.
    Elsewhere(Option<f64>),
    /// Half at random and half by how far five votes differ, weighted.
    Doubts,
}

impl Design {
    fn name(self) -> String {
        match self {
            Design::Draw => "a random draw of the items".to_owned(),
            Design::Elsewhere(None) => "other items, as often passed".to_owned(),
            Design::Elsewhere(Some(rate)) => format!("other items, {:.0} % passed", 100.0 * rate),
            Design::Doubts => "half at random, half where votes differ; weighted".to_owned(),
        }
    }

    fn run(self, truth: Truth, dice: &mut Dice) -> (Option<(f64, f64)>, f64) {
        if matches!(self, Design::Doubts) {
            return by_doubts(truth, dice);
        }
        let items = truth.items(ITEMS, dice);
        let judged = passed(&items);
        let found = match self {
            Design::Elsewhere(rate) => {
                let elsewhere = Truth {
                    rate: rate.unwrap_or(truth.rate),
                    ..truth
                };
                let others = elsewhere.items(LABELS, dice);
                confusion(others.iter()).corrected_elsewhere(judged, ITEMS as u64, 0.95)
            }
            // Items are in random order.
            _ => confusion(items.iter().take(LABELS)).corrected_by_draw(judged, ITEMS as u64, 0.95),
        };
        let found = found
            .ok()
            .map(|rate| (rate.interval.low, rate.interval.high));
        (found, judged as f64 / ITEMS as f64)
    }

    fn cell(self, truth: Truth, stream: u64) -> Coverage {
        let mut dice = Dice::new(28, stream);
        let mut coverage = Coverage::default();
        for _ in 0..RUNS {
            let (found, judged) = self.run(truth, &mut dice);
            let share = LabelledShare::of(judged, ITEMS as f64);
            let raw = share.interval(0.95).expect("an interval");
            coverage.raw += u64::from(raw.low <= truth.rate && truth.rate <= raw.high);
            if let Some((low, high)) = found {
                coverage.given += 1;
                coverage.width += high - low;
                coverage.covered += u64::from(low <= truth.rate && truth.rate <= high);
            }
        }
        coverage
    }
}

/// Labels where five votes of a judge differ, which they do more often where it is wrong.
fn by_doubts(truth: Truth, dice: &mut Dice) -> (Option<(f64, f64)>, f64) {
    let mut doubts = Vec::with_capacity(ITEMS);
    let mut items = Vec::with_capacity(ITEMS);
    for (judged, labelled) in truth.items(ITEMS, dice) {
        let wrong = judged != labelled;
        let split = dice.unit() < if wrong { 0.6 } else { 0.15 };
        doubts.push(if split { 0.4 } else { 0.0 });
        items.push((judged, labelled));
    }
    let seed = (dice.unit() * 1e15) as u64;
    let order = label_order(&doubts, 0.5, seed).expect("doubts");
    let weights = inclusion_weights(&doubts, 0.5, LABELS).expect("doubts");
    let mut drawn = JudgeConfusion::default();
    for at in order.into_iter().take(LABELS) {
        let (judged, labelled) = items[at];
        drawn.push(judged, labelled, weights[at]).expect("a weight");
    }
    let judged = passed(&items);
    let found = drawn.corrected_by_draw(judged, ITEMS as u64, 0.95).ok();
    let found = found.map(|rate| (rate.interval.low, rate.interval.high));
    (found, judged as f64 / ITEMS as f64)
}

fn grid() -> Vec<Truth> {
    let mut grid = Vec::new();
    for sensitivity in SHARES {
        for specificity in SHARES {
            grid.extend(RATES.map(|rate| Truth {
                sensitivity,
                specificity,
                rate,
            }));
        }
    }
    grid
}

fn corrected(wrong: &mut Vec<String>) -> String {
    let mut table = String::from(
        "| Labels are | Figure given | Corrected: covered, mean | least of a cell | cells below 94 % | mean width | Raw: covered, mean |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let designs = [
        Design::Draw,
        Design::Doubts,
        Design::Elsewhere(None),
        Design::Elsewhere(Some(0.5)),
    ];
    for design in designs {
        let cells = grid();
        let count = cells.len();
        let numbered: Vec<(u64, Truth)> = (0..).zip(cells).collect();
        let cells = in_parallel(numbered, |(stream, truth)| design.cell(truth, stream));
        let often: Vec<&Coverage> = cells
            .iter()
            .filter(|cell| cell.given as f64 >= OFTEN * RUNS as f64)
            .collect();
        let mean = often.iter().map(|cell| cell.share()).sum::<f64>() / often.len() as f64;
        let given: u64 = cells.iter().map(|cell| cell.given).sum();
        let width = cells.iter().map(|cell| cell.width).sum::<f64>() / given as f64;
        let raw =
            cells.iter().map(|cell| cell.raw).sum::<u64>() as f64 / (count as f64 * RUNS as f64);
        let least = often.iter().map(|cell| cell.share()).fold(1.0, f64::min);
        // Below by more than 3 standard errors of the simulation.
        let low = |cell: &&&Coverage| {
            cell.share() < 0.94 - 3.0 * (0.94 * 0.06 / cell.given as f64).sqrt()
        };
        let below = often.iter().filter(low).count();
        let _ = writeln!(
            table,
            "| {} | {:.1} % | {:.1} % | {:.1} % | {below} of {} | {:.3} | {:.1} % |",
            design.name(),
            100.0 * given as f64 / (count as f64 * RUNS as f64),
            100.0 * mean,
            100.0 * least,
            often.len(),
            width,
            100.0 * raw,
        );
        // Groups by weight can only widen an interval.
        let most = if matches!(design, Design::Doubts) {
            0.975
        } else {
            0.96
        };
        if below > 0 || !(0.94..=most).contains(&mean) || raw >= 0.5 {
            wrong.push(format!("corrected rates, labels are {}", design.name()));
        }
    }
    table
}

/// Judges by sensitivity and specificity, over all pass rates, labels being a draw of the items.
fn judges(wrong: &mut Vec<String>) -> String {
    let mut table = String::from(
        "| Sensitivity | Specificity | Figure given | Covered, mean | Covered, least | Width | Raw: covered |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (sensitivity, specificity) in [
        (0.6, 0.6),
        (0.6, 0.9),
        (0.7, 0.7),
        (0.8, 0.8),
        (0.9, 0.6),
        (0.9, 0.9),
        (0.99, 0.7),
        (0.99, 0.99),
    ] {
        let rates: Vec<(u64, f64)> = (1_000..).zip(RATES).collect();
        let cells = in_parallel(rates, |(stream, rate)| {
            Design::Draw.cell(
                Truth {
                    sensitivity,
                    specificity,
                    rate,
                },
                stream,
            )
        });
        let given: u64 = cells.iter().map(|cell| cell.given).sum();
        let covered: u64 = cells.iter().map(|cell| cell.covered).sum();
        let least = cells
            .iter()
            .filter(|cell| cell.given > 100)
            .map(Coverage::share)
            .fold(1.0, f64::min);
        let all = RUNS as f64 * RATES.len() as f64;
        let raw = cells.iter().map(|cell| cell.raw).sum::<u64>() as f64;
        let width = cells.iter().map(|cell| cell.width).sum::<f64>();
        let _ = writeln!(
            table,
            "| {sensitivity} | {specificity} | {:.0} % | {:.1} % | {:.1} % | {:.3} | {:.0} % |",
            100.0 * given as f64 / all,
            100.0 * covered as f64 / given as f64,
            100.0 * least,
            width / given as f64,
            100.0 * raw / all,
        );
        if (covered as f64 / given as f64) < 0.935 {
            wrong.push(format!(
                "corrected rates of {sensitivity} and {specificity}"
            ));
        }
    }
    table
}

/// Scores from 1 to 5 of people and of a judge that is too kind by half a point.
fn means(wrong: &mut Vec<String>) -> String {
    let mut table = String::from(
        "| Labels | Correlation | Corrected: covered | width | Labels alone: width | Raw: covered |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    let scale = |x: f64| (x.round()).clamp(1.0, 5.0);
    for labels in [20usize, 50, 100, 300] {
        for noise in [0.4, 1.0, 2.5] {
            let draw = |dice: &mut Dice| {
                let value = 3.4 + 1.2 * dice.normal();
                (scale(value + 0.5 + noise * dice.normal()), scale(value))
            };
            let mut dice = Dice::new(29, 0);
            let many: Vec<(f64, f64)> = (0..400_000).map(|_| draw(&mut dice)).collect();
            let truth = many.iter().map(|pair| pair.1).sum::<f64>() / many.len() as f64;
            let judge = many.iter().map(|pair| pair.0).sum::<f64>() / many.len() as f64;
            let moment = |of: &dyn Fn(&(f64, f64)) -> f64| {
                many.iter().map(of).sum::<f64>() / many.len() as f64
            };
            let correlation = moment(&|p| (p.0 - judge) * (p.1 - truth))
                / (moment(&|p| (p.0 - judge).powi(2)) * moment(&|p| (p.1 - truth).powi(2))).sqrt();
            let runs: Vec<u64> = (1..=RUNS).collect();
            let found = in_parallel(runs, |stream| {
                let mut dice = Dice::new(29, stream);
                let all: Vec<(f64, f64)> = (0..ITEMS).map(|_| draw(&mut dice)).collect();
                let items: Vec<LabelledValue> = all
                    .iter()
                    .take(labels)
                    .map(|(judged, labelled)| LabelledValue {
                        judged: *judged,
                        labelled: *labelled,
                        weight: 1.0,
                    })
                    .collect();
                let judged: Vec<f64> = all.iter().map(|pair| pair.0).collect();
                let mean = corrected_mean(&items, &judged, 0.95).expect("a mean");
                let alone: Vec<LabelledValue> = items
                    .iter()
                    .map(|item| LabelledValue {
                        judged: 0.0,
                        ..*item
                    })
                    .collect();
                let alone = corrected_mean(&alone, &vec![0.0; ITEMS], 0.95).expect("a mean");
                let spread = judged
                    .iter()
                    .map(|j| (j - mean.judged).powi(2))
                    .sum::<f64>()
                    / ITEMS as f64;
                let raw = (mean.judged - truth).abs() <= 1.96 * (spread / ITEMS as f64).sqrt();
                let covered = mean.interval.low <= truth && truth <= mean.interval.high;
                let width = |interval: eval_stats::Interval| interval.high - interval.low;
                (covered, width(mean.interval), width(alone.interval), raw)
            });
            let share =
                |of: &dyn Fn(&MeanRun) -> f64| found.iter().map(of).sum::<f64>() / RUNS as f64;
            let covered = share(&|run| f64::from(u8::from(run.0)));
            let _ = writeln!(
                table,
                "| {labels} | {correlation:.2} | {:.1} % | {:.2} | {:.2} | {:.1} % |",
                100.0 * covered,
                share(&|run| run.1),
                share(&|run| run.2),
                100.0 * share(&|run| f64::from(u8::from(run.3))),
            );
            if !(0.93..=0.97).contains(&covered) {
                wrong.push(format!(
                    "means of {labels} labels and a correlation of {correlation:.2}"
                ));
            }
        }
    }
    table
}

/// Two raters who each err on their own; what the coefficients tend to comes from 200,000 items.
fn agreements(wrong: &mut Vec<String>) -> String {
    let mut table = String::from(
        "| Items | Passed | Raters are right | AC1: covered | no interval | Alpha: covered | no interval |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let alpha = AgreementMeasure::KrippendorffAlpha(RatingDistance::Nominal);
    for items in [20usize, 50, 200] {
        for (rate, right) in [(0.5, 0.8), (0.8, 0.9), (0.95, 0.95), (0.98, 0.95)] {
            let draw = |n: usize, dice: &mut Dice| {
                let mut table = RatingTable::binary();
                for _ in 0..n {
                    let truth = dice.unit() < rate;
                    let ratings = [(); 2].map(|()| usize::from(truth == (dice.unit() < right)));
                    table.push(&ratings).expect("ratings");
                }
                table
            };
            let many = draw(200_000, &mut Dice::new(30, 0));
            let runs: Vec<u64> = (1..=RUNS / 4).collect();
            let mut row = format!(
                "| {items} | {:.0} % | {:.0} % |",
                100.0 * rate,
                100.0 * right
            );
            for measure in [AgreementMeasure::GwetAc1, alpha] {
                let truth = many.agreement(measure).expect("a coefficient").coefficient;
                let found = in_parallel(runs.clone(), |stream| {
                    let table = draw(items, &mut Dice::new(30, stream));
                    agreement_interval(&table, measure, stream, 0.95).ok()
                });
                let given: Vec<_> = found.iter().flatten().collect();
                let held = given
                    .iter()
                    .filter(|i| i.low <= truth && truth <= i.high)
                    .count();
                let covered = held as f64 / given.len() as f64;
                let none = 1.0 - given.len() as f64 / runs.len() as f64;
                let _ = write!(row, " {:.1} % | {:.0} % |", 100.0 * covered, 100.0 * none);
                // Few runs have an interval where one rating is rare.
                if given.len() >= 50 && covered < 0.92 {
                    wrong.push(format!(
                        "{} of {items} items, {rate} passed",
                        measure.name()
                    ));
                }
            }
            let _ = writeln!(table, "{row}");
        }
    }
    table
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let page = arguments.next().expect("the path of docs/statistics.md");
    let check = arguments
        .next()
        .is_some_and(|argument| argument == "--check");
    let mut wrong = Vec::new();
    type Table = fn(&mut Vec<String>) -> String;
    let tables: [(&str, Table); 4] = [
        ("corrected", corrected),
        ("judges", judges),
        ("means", means),
        ("agreements", agreements),
    ];
    for (name, table) in tables {
        let table = table(&mut wrong);
        println!("{name}\n{table}");
        if check {
            continue;
        }
        let mut text = std::fs::read_to_string(&page).expect("the page");
        let (begin, end) = (format!("<!-- simulated: {name} -->\n"), "<!-- end -->");
        let from = text.find(&begin).expect("the marker of a table") + begin.len();
        let to = from + text[from..].find(end).expect("the end of a table");
        text.replace_range(from..to, &table);
        std::fs::write(&page, text).expect("the page");
    }
    if !wrong.is_empty() {
        println!("outside of the promised bounds:\n{}", wrong.join("\n"));
        std::process::exit(1);
    }
}
