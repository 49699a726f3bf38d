//! What models cost: `prices:` of a suite or of a file, which price is a model's, and budgets in
//! dollars.
//!
//! There is no built-in list: prices change without notice, and a stale one is a wrong number. What
//! nobody wrote is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::problem::{Code, Problem, Problems};
use super::scope::SuiteDesk;
use super::session::LoadSession;
use super::source::Span;
use super::tree::Node;
use crate::model::{CacheMode, Endpoint, ModelSettings, RunBudget, TokenPrice};
use crate::spec::{BudgetSpec, PriceSpec, PricesFile, SchemaKind};
use eval_base::globs::{GlobMatcher, id_glob, is_glob};

/// Where prices are looked for when a suite does not say, relative to its folder; the first that is
/// there counts.
pub(super) const DEFAULT_FILES: [&str; 2] = ["config/prices.yaml", "prices.yaml"];

/// Dollars for a million tokens above which a price is hardly meant.
const HARDLY_MEANT: f64 = 10_000.0;
/// Dollars for a million tokens below which a price that is not 0 was probably written for one
/// token.
const FOR_ONE_TOKEN: f64 = 0.000_1;

/// The prices of a suite.
#[derive(Debug, Clone, Default)]
pub(super) struct PriceShelf {
    entries: Vec<PriceEntry>,
    /// Told as soon as a model's price is looked for.
    late: Vec<Problem>,
}

#[derive(Debug, Clone)]
struct PriceEntry {
    /// As it is written.
    pattern: String,
    /// One of the patterns that its `{a,b}` stand for.
    single: String,
    /// `None` when that is a name.
    glob: Option<GlobMatcher>,
    /// How much of a name the pattern says.
    exactness: usize,
    price: TokenPrice,
    at: Span,
}

impl PriceShelf {
    /// The prices of a document; `None` after reporting that its shape is wrong.
    pub fn of_document(session: &mut LoadSession, document: &mut Node) -> Option<PriceShelf> {
        let file: PricesFile = session.read(SchemaKind::Prices, document)?;
        let at = document.get("prices").unwrap_or(document);
        Some(PriceShelf::of(file.prices, at, &mut session.problems))
    }

    /// The prices of a map whose node is `node`; what is wrong with them is told.
    pub fn of(
        all: BTreeMap<String, PriceSpec>,
        node: &Node,
        problems: &mut Problems,
    ) -> PriceShelf {
        let mut shelf = PriceShelf::default();
        for (pattern, spec) in all {
            let at = node.key_span(&format!(
                "/{}",
                pattern.replace('~', "~0").replace('/', "~1")
            ));
            problems.extend(doubts(&spec, node.get(&pattern).unwrap_or(node)));
            if !pattern.contains([':', '*', '?', '[', '{']) {
                let message = format!(
                    "`{pattern}` is the price of no model: prices stand under `provider:model`"
                );
                let hint = format!("such as `openai:{pattern}`");
                problems.push(Problem::warning(Code::SuspiciousValue, at, message).hint(hint));
            }
            let entries = problems.take(PriceEntry::all(&pattern, &spec, at));
            shelf.entries.extend(entries.into_iter().flatten());
        }
        shelf
    }

    /// No prices, and why that may not be meant.
    pub fn none_because(problem: Problem) -> PriceShelf {
        PriceShelf {
            entries: Vec::new(),
            late: vec![problem],
        }
    }

    /// The price of a model named `provider:model`: a name before a glob, the glob that says more
    /// before others.
    fn find(&self, name: &str) -> Result<Option<TokenPrice>, Box<Problem>> {
        let fit = self.entries.iter().filter(|entry| entry.fits(name));
        let Some(exactness) = fit.clone().map(|entry| entry.exactness).max() else {
            return Ok(None);
        };
        let mut best = fit.filter(|entry| entry.exactness == exactness);
        let Some(first) = best.next() else {
            return Ok(None);
        };
        match best.find(|other| other.price != first.price) {
            None => Ok(Some(first.price)),
            Some(other) => {
                let message = format!(
                    "two prices fit `{name}` equally well: `{}` and `{}`",
                    first.pattern, other.pattern
                );
                let problem = Problem::error(Code::AmbiguousPrice, other.at, message)
                    .hint(format!("add a price under `{name}` itself"))
                    .related(first.at, "the other one");
                Err(Box::new(problem))
            }
        }
    }
}

impl PriceEntry {
    fn all(pattern: &str, spec: &PriceSpec, at: Span) -> Result<Vec<PriceEntry>, Problem> {
        let refuse = |why: String| {
            Problem::error(Code::BadGlob, at, format!("`{pattern}` is no glob: {why}"))
        };
        let mut singles = Vec::new();
        if !alternatives(pattern, &mut singles) {
            return Err(refuse(format!(
                "it stands for more than {MOST_ALTERNATIVES} patterns"
            )));
        }
        let entry = |single: String| {
            let glob = Some(id_glob(&single).map_err(refuse)?).filter(|_| is_glob(&single));
            let exactness = if glob.is_some() {
                literals(&single)
            } else {
                usize::MAX
            };
            Ok(PriceEntry {
                pattern: pattern.to_owned(),
                single,
                glob,
                exactness,
                price: price(spec),
                at,
            })
        };
        singles.into_iter().map(entry).collect()
    }

    fn fits(&self, name: &str) -> bool {
        self.single == name || self.glob.as_ref().is_some_and(|glob| glob.is_match(name))
    }
}

/// Patterns that one may stand for by its alternatives.
const MOST_ALTERNATIVES: usize = 256;

/// The patterns that one with `{a,b}` stands for, so that each can be told how much of a name it
/// says; one whose braces don't match stays as it is. False when there are too many.
fn alternatives(pattern: &str, all: &mut Vec<String>) -> bool {
    let Some((start, inner, rest)) = braces(pattern) else {
        all.push(pattern.to_owned());
        return all.len() <= MOST_ALTERNATIVES;
    };
    let (mut depth, mut from) = (0usize, 0);
    let mut parts = Vec::new();
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    parts
        .into_iter()
        .all(|part| alternatives(&format!("{start}{part}{rest}"), all))
}

/// What stands before the first braces of a pattern, in them and behind them.
fn braces(pattern: &str) -> Option<(&str, &str, &str)> {
    // Braces that stand for themselves: then the matcher alone knows which.
    let start = pattern
        .find('{')
        .filter(|_| !pattern.contains('\\') && !pattern.contains("[{"))?;
    let mut depth = 0usize;
    for (at, c) in pattern.char_indices().skip_while(|(at, _)| *at < start) {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => {
                return Some((
                    &pattern[..start],
                    &pattern[start + 1..at],
                    &pattern[at + 1..],
                ));
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Characters of a glob that stand for themselves alone.
fn literals(glob: &str) -> usize {
    let mut in_class = false;
    let mut count = 0;
    for c in glob.chars() {
        match c {
            '[' => in_class = true,
            ']' => in_class = false,
            '*' | '?' | '\\' | '{' | '}' | ',' => {}
            _ => count += usize::from(!in_class),
        }
    }
    count
}

fn price(spec: &PriceSpec) -> TokenPrice {
    TokenPrice {
        input: spec.input_per_million,
        output: spec.output_per_million,
        cached_input: spec.cached_input_per_million,
        cache_write: spec.cache_write_per_million,
    }
}

/// Warnings of prices that are allowed but hardly meant.
fn doubts(spec: &PriceSpec, at: &Node) -> Vec<Problem> {
    let fields = [
        ("input_per_million", Some(spec.input_per_million)),
        ("output_per_million", Some(spec.output_per_million)),
        ("cached_input_per_million", spec.cached_input_per_million),
        ("cache_write_per_million", spec.cache_write_per_million),
    ];
    let mut doubts = Vec::new();
    for (key, value) in fields {
        let Some(value) = value else { continue };
        let message = if value > HARDLY_MEANT {
            format!("{value} dollars for a million tokens are hardly meant")
        } else if value > 0.0 && value < FOR_ONE_TOKEN {
            format!(
                "{value} dollars for a million tokens are hardly meant: is it the price of one token?"
            )
        } else {
            continue;
        };
        doubts.push(Problem::warning(
            Code::SuspiciousValue,
            at.locate(&format!("/{key}")),
            message,
        ));
    }
    doubts
}

/// What a model costs: what stands with it (`own`, and its node), else what `prices:` says of
/// `provider:model`. `None`: nobody said, or two said different things, which is then told.
pub(super) fn price_of(
    desk: &mut SuiteDesk,
    own: Option<(&PriceSpec, &Node)>,
    provider: &str,
    model: &str,
) -> Option<TokenPrice> {
    if let Some((spec, node)) = own {
        desk.problems.extend(doubts(spec, node));
        return Some(price(spec));
    }
    let shelf = &desk.suite.prices;
    desk.problems.extend(shelf.late.iter().cloned());
    let found = shelf.find(&format!("{provider}:{model}"));
    desk.problems.take(found.map_err(|problem| *problem))?
}

/// What the run may spend: the command line's, else the suite's.
pub(super) fn budget(typed: Option<RunBudget>, written: Option<BudgetSpec>) -> RunBudget {
    typed.unwrap_or_else(|| {
        let written = written.unwrap_or_default();
        RunBudget {
            usd: written.usd,
            tokens: written.tokens,
        }
    })
}

/// A budget in dollars needs the price of every model that may be asked over the network.
pub(super) fn check_budget(settings: &ModelSettings, asked: &[&Endpoint], problems: &mut Problems) {
    let is_free = settings.replay.is_some() || settings.cache == CacheMode::Only;
    if settings.budget.usd.is_none() || is_free {
        return;
    }
    let unknown: BTreeSet<String> = asked
        .iter()
        .filter(|endpoint| endpoint.price.is_none() && endpoint.replay.is_none())
        .map(|endpoint| format!("`{}`", endpoint.name()))
        .collect();
    if unknown.is_empty() {
        return;
    }
    let names = unknown.into_iter().collect::<Vec<_>>().join(", ");
    let message = format!("the budget is in dollars, and {names} has no price");
    let hint = "write it under `prices:` in dollars for a million tokens (0 for a model of your own), or set a budget of `tokens`";
    problems.push(Problem::general(Code::UnknownPrice, message).hint(hint));
}

/// Whether a file of prices that nobody named lies in the folder of a suite.
pub(super) fn default_file(dir: &Path) -> Option<&'static str> {
    DEFAULT_FILES
        .into_iter()
        .find(|file| dir.join(file).is_file())
}
