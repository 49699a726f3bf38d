//! Criteria in the text of a rubric: `1. **Clarity** (weight: 0.4)` and what else people write in
//! such a list.
//!
//! Pure. A text is read as criteria only when all of its items are some, so that a list of
//! instructions stays a text. Judges are shown the text as it is: what is read here says what they
//! score, and how much each counts.

mod said;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use regex::Regex;

use said::{ItemRemark, dashed, line_weight, speaks_of_weights};
pub(super) use said::{named_scale, scales};

/// Characters that a name may have.
const LONGEST_NAME: usize = 80;
/// Words that the name of an item without bold print may have; more make a sentence.
const MOST_WORDS: usize = 6;

/// A criterion as the text has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RubricItem {
    pub name: String,
    pub description: String,
    /// `0.4`, also of `40%`.
    pub weight: Option<f64>,
    pub levels: BTreeMap<String, String>,
}

/// What begins an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemMark {
    Heading {
        level: usize,
    },
    Numbered {
        number: u32,
    },
    BoldBullet,
    /// Any bullet.
    Bullet,
    Bold,
}

impl ItemMark {
    /// Whether this kind of mark begins the items of a list of that kind.
    fn takes(self, other: ItemMark) -> bool {
        self.is_like(other) || (self, other) == (ItemMark::Bullet, ItemMark::BoldBullet)
    }

    fn is_like(self, other: ItemMark) -> bool {
        match (self, other) {
            (ItemMark::Heading { level }, ItemMark::Heading { level: other }) => level == other,
            (ItemMark::Numbered { .. }, ItemMark::Numbered { .. }) => true,
            _ => self == other,
        }
    }
}

struct RubricLine<'t> {
    raw: &'t str,
    text: &'t str,
    indent: usize,
    fenced: bool,
    /// What it may begin, and what follows the mark; inside of a fence nothing begins.
    mark: Option<(ItemMark, &'t str)>,
}

/// The first line of an item.
struct ItemHead {
    name: String,
    weight: Option<f64>,
    tail: String,
}

/// The criteria of a text; `None` when it is to be judged as a whole. `is_level` tells the names of
/// levels.
pub(super) fn split(text: &str, is_level: &dyn Fn(&str) -> bool) -> Option<Vec<RubricItem>> {
    let lines = lines(text);
    kinds(&lines)
        .into_iter()
        .find_map(|kind| split_by(&lines, kind, is_level))
}

/// Whether a text speaks of weights, be they read or not.
pub(super) fn mentions_weights(text: &str) -> bool {
    let lines = lines(text);
    let mut heads = lines
        .iter()
        .filter_map(|line| line.mark.and_then(|(mark, rest)| head(mark, rest)));
    let open = || {
        lines
            .iter()
            .filter(|line| !line.fenced)
            .map(|line| line.text)
    };
    heads.any(|head| head.weight.is_some())
        || speaks_of_weights(&open().collect::<Vec<_>>().join("\n"))
}

fn lines(text: &str) -> Vec<RubricLine<'_>> {
    let mut fenced = false;
    let mut all = Vec::new();
    for raw in text.lines() {
        let text = raw.trim();
        let is_fence = text.starts_with("```") || text.starts_with("~~~");
        let inside = fenced || is_fence;
        fenced ^= is_fence;
        all.push(RubricLine {
            raw: raw.trim_end(),
            text,
            indent: raw.chars().take_while(|c| c.is_whitespace()).count(),
            fenced: inside,
            mark: if inside { None } else { mark(text) },
        });
    }
    all
}

fn mark(text: &str) -> Option<(ItemMark, &str)> {
    let is_bold = |rest: &str| rest.starts_with("**") || rest.starts_with("__");
    if text.starts_with('#') {
        let rest = text.trim_start_matches('#');
        let level = text.len() - rest.len();
        return (level <= 6 && rest.starts_with(' '))
            .then(|| (ItemMark::Heading { level }, rest.trim()));
    }
    if is_bold(text) {
        return Some((ItemMark::Bold, text));
    }
    if let Some(rest) = bullet(text) {
        return Some((
            if is_bold(rest) {
                ItemMark::BoldBullet
            } else {
                ItemMark::Bullet
            },
            rest,
        ));
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = text
        .get(..text.len() - rest.len())
        .filter(|digits| digits.len() <= 3)?
        .parse()
        .ok()?;
    let rest = rest.strip_prefix(['.', ')'])?;
    rest.starts_with(char::is_whitespace)
        .then(|| (ItemMark::Numbered { number }, rest.trim()))
}

/// What follows the bullet of a line.
fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+', '•'])?;
    rest.starts_with(char::is_whitespace)
        .then(|| rest.trim_start())
}

/// The marks that may part the text, the likeliest first: headings, bold lines and plain bullets
/// only where one of them says a weight.
fn kinds(lines: &[RubricLine]) -> Vec<ItemMark> {
    let marks = || lines.iter().filter_map(|line| line.mark);
    let weighs = |(mark, rest): &(ItemMark, &str)| {
        head(*mark, rest).is_some_and(|head| head.weight.is_some())
    };
    let first = |wanted: fn(ItemMark) -> bool| {
        marks()
            .filter(|(mark, _)| wanted(*mark))
            .find(weighs)
            .map(|(mark, _)| mark)
    };
    // A line of its own below them may say it.
    let below = lines
        .iter()
        .position(|line| !line.fenced && line_weight(line.text).is_some());
    let above = below.and_then(|at| lines.get(..at)?.iter().rev().find_map(|line| line.mark));
    let above = above.map(|(mark, _)| mark);
    let heading = first(|mark| matches!(mark, ItemMark::Heading { .. }));
    let heading = heading.or(above.filter(|mark| matches!(mark, ItemMark::Heading { .. })));
    let bold =
        first(|mark| mark == ItemMark::Bold).or(above.filter(|mark| *mark == ItemMark::Bold));
    let bullet = first(|mark| mark == ItemMark::Bullet);
    let lists = [ItemMark::Numbered { number: 1 }, ItemMark::BoldBullet];
    let all = heading.into_iter().chain(lists).chain(bold).chain(bullet);
    all.filter(|kind| marks().any(|(mark, _)| mark.is_like(*kind)))
        .collect()
}

fn split_by(
    lines: &[RubricLine],
    kind: ItemMark,
    is_level: &dyn Fn(&str) -> bool,
) -> Option<Vec<RubricItem>> {
    let of_kind = |line: &&RubricLine| line.mark.is_some_and(|(mark, _)| kind.takes(mark));
    let top = lines.iter().filter(of_kind).map(|line| line.indent).min()?;
    let starts: Vec<usize> = (0..lines.len())
        .filter(|at| {
            lines
                .get(*at)
                .is_some_and(|line| of_kind(&line) && line.indent == top)
        })
        .collect();
    let ends: Vec<usize> = starts
        .iter()
        .skip(1)
        .copied()
        .chain([lines.len()])
        .collect();
    let mut lists: Vec<Vec<RubricItem>> = Vec::new();
    let is_weighty = |line: &RubricLine| line.indent == top && stray(line, is_level) == Some(true);
    if kind == ItemMark::BoldBullet && lines.iter().any(is_weighty) {
        return None;
    }
    let before = lines.get(..*starts.first()?)?.iter().rev();
    let mut list_before = before.take_while(|line| !line.text.is_empty() && line.indent >= top);
    let mut strays =
        kind == ItemMark::BoldBullet && list_before.any(|line| stray(line, is_level).is_some());
    let (mut parted, mut last) = (true, None);
    for (start, end) in starts.iter().zip(ends) {
        let (mark, rest) = lines.get(*start)?.mark?;
        let number = if let ItemMark::Numbered { number } = mark {
            Some(number)
        } else {
            None
        };
        // From the first number upwards, or all 1 as Markdown allows.
        parted |= number
            .zip(last)
            .is_some_and(|(number, last)| number <= last && (number, last) != (1, 1));
        last = number;
        let body = lines.get(start + 1..end)?;
        let own = own_lines(body, kind, top);
        let its = body.get(..own)?;
        strays |= kind == ItemMark::BoldBullet
            && its
                .iter()
                .any(|line| line.indent == top && stray(line, is_level).is_some());
        let item = head(mark, rest).map(|head| item(head, its, is_level));
        match lists.last_mut().filter(|_| !parted) {
            Some(list) => list.push(item?),
            None => lists.push(vec![item?]),
        }
        // An item that begins another list (or is none of this one) stands between two bullets.
        parted = own < body.len() && matches!(kind, ItemMark::BoldBullet | ItemMark::Bullet);
    }
    let items = one_of(lists)?;
    let weighs = items.iter().any(|item| item.weight.is_some());
    let all_count = items.len() > 1 && !strays && !are_levels(&items, is_level);
    (weighs || all_count).then_some(items)
}

/// Whether a line is a bullet of its own, and no criterion in bold print; if so, whether it weighs
/// something.
fn stray(line: &RubricLine, is_level: &dyn Fn(&str) -> bool) -> Option<bool> {
    let (mark, rest) = line.mark.filter(|(mark, _)| *mark == ItemMark::Bullet)?;
    let is_part = level(line.text, is_level).is_some() || line_weight(line.text).is_some();
    (!is_part).then(|| head(mark, rest).is_some_and(|head| head.weight.is_some()))
}

/// The list that is one of criteria: the only one, or the only one with weights. Two lists would be
/// two things.
fn one_of(mut lists: Vec<Vec<RubricItem>>) -> Option<Vec<RubricItem>> {
    let has_weight = |item: &RubricItem| item.weight.is_some();
    if lists.len() > 1 && lists.iter().flatten().all(has_weight) {
        return Some(lists.into_iter().flatten().collect());
    }
    if lists.len() > 1 {
        lists.retain(|list| list.iter().any(has_weight));
    }
    lists.pop().filter(|_| lists.is_empty())
}

/// Whether items are the points of a scale: numbers or categories, or what people call such points.
fn are_levels(items: &[RubricItem], is_level: &dyn Fn(&str) -> bool) -> bool {
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    const WORDS: &str = "perfect|outstanding|exceptional|excellent|very good|good|fair|average|mediocre|okay|ok|acceptable|adequate|\
                         satisfactory|sufficient|weak|poor|very poor|bad|very bad|terrible|awful|unacceptable|inadequate|unsatisfactory|\
                         insufficient|pass|fail|passed|failed|yes|no|true|false|high|medium|low|none|partial|partially|\
                         (?:fully |mostly |partially |partly )?(?:correct|incorrect|wrong|met|not met)";
    let form = FORM.get_or_init(|| {
        let points = r"(?:score|level|grade|rating|points?)?\s*\d{1,3}(?:\.\d+)?(?:\s*(?:[-–—:=./(,].*|points?|pts|stars?))?";
        Regex::new(&format!(r"(?i)^(?:{points}|{WORDS})$")).ok()
    });
    let is_point =
        |name: &str| is_level(name) || form.as_ref().is_some_and(|form| form.is_match(name));
    let names: BTreeSet<&str> = items
        .iter()
        .map(|item| item.name.as_str())
        .filter(|name| is_point(name))
        .collect();
    names.len() > 1
}

/// How many of the lines after a head belong to it: of a list those up to a text that stands as far
/// out as the list itself, of a heading those up to the next higher one.
fn own_lines(body: &[RubricLine], kind: ItemMark, top: usize) -> usize {
    let mut after_blank = false;
    for (at, line) in body.iter().enumerate() {
        let ends = match (kind, line.mark) {
            (ItemMark::Heading { level }, Some((ItemMark::Heading { level: other }, _))) => {
                other < level
            }
            (ItemMark::Heading { .. }, _) => false,
            (_, Some((ItemMark::Heading { .. }, _))) => true,
            (ItemMark::Bold, _) => false,
            // The list of something else, or an item that is no criterion.
            (ItemMark::BoldBullet | ItemMark::Bullet, _)
                if !line.text.is_empty() && !line.fenced && line.indent < top =>
            {
                true
            }
            _ => {
                after_blank
                    && !line.text.is_empty()
                    && line.indent <= top
                    && bullet(line.text).is_none()
            }
        };
        if ends {
            return at;
        }
        after_blank = line.text.is_empty();
    }
    body.len()
}

fn item(head: ItemHead, body: &[RubricLine], is_level: &dyn Fn(&str) -> bool) -> RubricItem {
    let mut weight = head.weight;
    let mut levels: BTreeMap<String, String> = BTreeMap::new();
    let mut described: Vec<&str> = Vec::new();
    // The level that the line before spoke of, and how far in it stood.
    let mut open: Option<(String, usize)> = None;
    for line in body {
        if weight.is_none()
            && !line.fenced
            && let Some(said) = line_weight(line.text)
        {
            weight = Some(said);
            continue;
        }
        if let Some((name, text)) =
            level(line.text, is_level).filter(|(name, _)| !levels.contains_key(*name))
        {
            levels.insert(name.to_owned(), text.to_owned());
            open = Some((name.to_owned(), line.indent));
            continue;
        }
        let continued = open.as_ref().filter(|(_, indent)| {
            line.indent > *indent && !line.text.is_empty() && bullet(line.text).is_none()
        });
        if let Some(text) = continued.and_then(|(name, _)| levels.get_mut(name)) {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(line.text);
            continue;
        }
        open = None;
        described.push(line.raw);
    }
    let description = format!("{}\n{}", head.tail, dedent(&described).trim_matches('\n'));
    RubricItem {
        name: head.name,
        description: description.trim().to_owned(),
        weight,
        levels,
    }
}

/// `- 5: what it means`.
fn level<'t>(text: &'t str, is_level: &dyn Fn(&str) -> bool) -> Option<(&'t str, &'t str)> {
    let text = bullet(text).unwrap_or(text);
    [":", " = ", " - ", " – ", " — "]
        .into_iter()
        .find_map(|mark| {
            let (name, meaning) = text.split_once(mark)?;
            let name = name.trim().trim_matches(['*', '_']).trim();
            // The mark may stand inside of the bold print.
            let meaning = meaning.trim_start_matches("**").trim();
            is_level(name).then_some((name, meaning))
        })
}

fn dedent(lines: &[&str]) -> String {
    let blank = |line: &&&str| line.trim().is_empty();
    let indent = |line: &&str| line.chars().take_while(|c| c.is_whitespace()).count();
    let least = lines
        .iter()
        .filter(|line| !blank(line))
        .map(indent)
        .min()
        .unwrap_or(0);
    let cut = |line: &&str| line.chars().skip(least).collect::<String>();
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// The criterion that a line begins, if it does.
fn head(mark: ItemMark, rest: &str) -> Option<ItemHead> {
    let bold = ["**", "__"].into_iter().find_map(|marks| {
        let (inside, after) = rest.strip_prefix(marks)?.split_once(marks)?;
        Some((inside, after))
    });
    let mut said = ItemRemark::default();
    let (label, after) = match (bold, mark) {
        (Some((inside, after)), _) => (inside, after),
        (None, ItemMark::Heading { .. }) => (rest, ""),
        (None, ItemMark::Numbered { .. } | ItemMark::Bullet) => label_of(rest)?,
        (None, ItemMark::BoldBullet | ItemMark::Bold) => return None,
    };
    let label = said.take_from(label);
    let (label, behind) = dashed(&label).unwrap_or((&label, ""));
    let tail = said.take_leading(&format!("{behind}{after}"));
    let named = label
        .trim_end()
        .trim_end_matches(':')
        .trim_matches(['*', '_', '`', ' ']);
    let name = unnumbered(named)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    // A number at the end of a plain bullet may be of what it says.
    let tail = if mark == ItemMark::Bullet {
        tail
    } else {
        said.take_trailing(&tail)
    };
    let is_told_apart = bold.is_none()
        || tail.is_empty()
        || label.trim_end().ends_with(':')
        || tail.starts_with([':', '-', '–', '—'])
        || said.weight.is_some();
    let is_name = !name.is_empty() && name.chars().count() <= LONGEST_NAME;
    let is_short = bold.is_some()
        || said.weight.is_some()
        || (name.split(' ').count() <= MOST_WORDS && !name.contains(['.', '?', '!', ';', ',']));
    if !(is_name && is_told_apart && is_short) {
        return None;
    }
    let tail = tail
        .trim_start_matches([':', '-', '–', '—'])
        .trim()
        .to_owned();
    Some(ItemHead {
        name,
        weight: said.weight,
        tail,
    })
}

/// A name without the number that stands before it: a judge may leave that out.
fn unnumbered(name: &str) -> &str {
    match mark(name) {
        Some((ItemMark::Numbered { .. }, rest)) if !rest.is_empty() => rest,
        _ => name,
    }
}

/// The name of an item without bold print, and what follows it: up to a colon, or to a dash when
/// there is a weight.
fn label_of(rest: &str) -> Option<(&str, &str)> {
    if let Some(parts) = dashed(rest) {
        return Some(parts);
    }
    if let Some((label, after)) = rest.split_once(':').filter(|(label, _)| !is_open(label)) {
        return Some((label, after));
    }
    // The colon may be that of `(weight: 0.4)`.
    let close = rest.find([')', ']'])?;
    let (label, after) = rest.split_at_checked(close + 1)?;
    ItemRemark::default()
        .weighs(label)
        .then_some((label, after))
}

/// Whether a bracket is open at the end of a text.
fn is_open(text: &str) -> bool {
    let count = |c: char| text.matches(c).count();
    count('(') > count(')') || count('[') > count(']')
}

#[cfg(test)]
mod tests;
