//! Criteria in the text of a rubric: `1. **Clarity** (weight: 0.4)` and what else people write in such a list.
//!
//! Pure. A text is read as criteria only when all of its items are some, so that a list of instructions stays a text. Judges are
//! shown the text as it is: what is read here says what they score, and how much each counts.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;

/// Characters that a name may have.
const LONGEST_NAME: usize = 80;
/// Words that the name of an item without bold print may have; more make a sentence.
const MOST_WORDS: usize = 6;

/// A criterion as the text has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Item {
    pub name: String,
    pub description: String,
    /// `0.4`, also of `40%`.
    pub weight: Option<f64>,
    pub levels: BTreeMap<String, String>,
}

/// What begins an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Heading { level: usize },
    Numbered { number: u32 },
    BoldBullet,
    Bold,
}

impl Mark {
    fn is_like(self, other: Mark) -> bool {
        match (self, other) {
            (Mark::Heading { level }, Mark::Heading { level: other }) => level == other,
            (Mark::Numbered { .. }, Mark::Numbered { .. }) => true,
            _ => self == other,
        }
    }
}

struct Line<'t> {
    raw: &'t str,
    text: &'t str,
    indent: usize,
    /// What it may begin, and what follows the mark; inside of a fence nothing begins.
    mark: Option<(Mark, &'t str)>,
}

/// The first line of an item.
struct Head {
    name: String,
    weight: Option<f64>,
    tail: String,
}

/// The criteria of a text; `None` when it is to be judged as a whole. `is_level` tells the names of levels.
pub(super) fn split(text: &str, is_level: &dyn Fn(&str) -> bool) -> Option<Vec<Item>> {
    let lines = lines(text);
    kinds(&lines).into_iter().find_map(|kind| split_by(&lines, kind, is_level))
}

/// Whether some line gives something a weight.
pub(super) fn mentions_weights(text: &str) -> bool {
    let lines = lines(text);
    let mut heads = lines.iter().filter_map(|line| line.mark.and_then(|(mark, rest)| head(mark, rest)));
    heads.any(|head| head.weight.is_some())
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut fenced = false;
    let mut all = Vec::new();
    for raw in text.lines() {
        let text = raw.trim();
        let is_fence = text.starts_with("```") || text.starts_with("~~~");
        let mark = if fenced || is_fence { None } else { mark(text) };
        fenced ^= is_fence;
        let indent = raw.chars().take_while(|c| c.is_whitespace()).count();
        all.push(Line { raw: raw.trim_end(), text, indent, mark });
    }
    all
}

fn mark(text: &str) -> Option<(Mark, &str)> {
    let is_bold = |rest: &str| rest.starts_with("**") || rest.starts_with("__");
    if text.starts_with('#') {
        let rest = text.trim_start_matches('#');
        let level = text.len() - rest.len();
        return (level <= 6 && rest.starts_with(' ')).then(|| (Mark::Heading { level }, rest.trim()));
    }
    if is_bold(text) {
        return Some((Mark::Bold, text));
    }
    if let Some(rest) = bullet(text) {
        return is_bold(rest).then_some((Mark::BoldBullet, rest));
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = text.get(..text.len() - rest.len()).filter(|digits| digits.len() <= 3)?.parse().ok()?;
    let rest = rest.strip_prefix(['.', ')'])?;
    rest.starts_with(char::is_whitespace).then(|| (Mark::Numbered { number }, rest.trim()))
}

/// What follows the bullet of a line.
fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+', '•'])?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim_start())
}

/// The marks that may part the text, the likeliest first: headings and bold lines only where one of them says a weight.
fn kinds(lines: &[Line]) -> Vec<Mark> {
    let marks = || lines.iter().filter_map(|line| line.mark);
    let weighs = |(mark, rest): &(Mark, &str)| head(*mark, rest).is_some_and(|head| head.weight.is_some());
    let first = |wanted: fn(Mark) -> bool| {
        marks().filter(|(mark, _)| wanted(*mark)).find(weighs).map(|(mark, _)| mark)
    };
    let heading = first(|mark| matches!(mark, Mark::Heading { .. }));
    let bold = first(|mark| mark == Mark::Bold);
    let lists = [Mark::Numbered { number: 1 }, Mark::BoldBullet];
    let all = heading.into_iter().chain(lists).chain(bold);
    all.filter(|kind| marks().any(|(mark, _)| mark.is_like(*kind))).collect()
}

fn split_by(lines: &[Line], kind: Mark, is_level: &dyn Fn(&str) -> bool) -> Option<Vec<Item>> {
    let of_kind = |line: &&Line| line.mark.is_some_and(|(mark, _)| mark.is_like(kind));
    let top = lines.iter().filter(of_kind).map(|line| line.indent).min()?;
    let starts: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(|line| of_kind(&line) && line.indent == top))
        .collect();
    let marked: Vec<(Mark, &str)> =
        starts.iter().filter_map(|at| lines.get(*at).and_then(|line| line.mark)).collect();
    if !numbered_in_order(&marked) {
        return None;
    }
    let heads: Vec<Head> = marked.iter().map(|(mark, rest)| head(*mark, rest)).collect::<Option<_>>()?;
    if heads.len() < 2 && heads.iter().all(|head| head.weight.is_none()) {
        return None;
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let mut items = Vec::new();
    for ((start, end), head) in starts.iter().zip(ends).zip(heads) {
        let body = lines.get(start + 1..end)?;
        let own = own_lines(body, kind, top);
        items.push(item(head, body.get(..own)?, is_level));
    }
    Some(items)
}

/// One list: from its first number upwards, or all 1 as Markdown allows. Two lists would be two things.
fn numbered_in_order(marks: &[(Mark, &str)]) -> bool {
    let numbers: Vec<u32> = marks
        .iter()
        .filter_map(|(mark, _)| match mark {
            Mark::Numbered { number } => Some(*number),
            _ => None,
        })
        .collect();
    let ascending = numbers.iter().zip(numbers.iter().skip(1)).all(|(a, b)| a < b);
    ascending || numbers.iter().all(|number| *number == 1)
}

/// How many of the lines after a head belong to it: of a list those up to a text that stands as far out as the list itself, of a
/// heading those up to the next higher one.
fn own_lines(body: &[Line], kind: Mark, top: usize) -> usize {
    let mut after_blank = false;
    for (at, line) in body.iter().enumerate() {
        let ends = match (kind, line.mark) {
            (Mark::Heading { level }, Some((Mark::Heading { level: other }, _))) => other < level,
            (Mark::Heading { .. }, _) => false,
            (_, Some((Mark::Heading { .. }, _))) => true,
            (Mark::Bold, _) => false,
            _ => after_blank && !line.text.is_empty() && line.indent <= top && bullet(line.text).is_none(),
        };
        if ends {
            return at;
        }
        after_blank = line.text.is_empty();
    }
    body.len()
}

fn item(head: Head, body: &[Line], is_level: &dyn Fn(&str) -> bool) -> Item {
    let mut levels: BTreeMap<String, String> = BTreeMap::new();
    let mut described: Vec<&str> = Vec::new();
    // The level that the line before spoke of, and how far in it stood.
    let mut open: Option<(String, usize)> = None;
    for line in body {
        if let Some((name, text)) = level(line.text, is_level).filter(|(name, _)| !levels.contains_key(*name))
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
    Item { name: head.name, description: description.trim().to_owned(), weight: head.weight, levels }
}

/// `- 5: what it means`.
fn level<'t>(text: &'t str, is_level: &dyn Fn(&str) -> bool) -> Option<(&'t str, &'t str)> {
    let text = bullet(text).unwrap_or(text);
    [":", " = ", " - ", " – ", " — "].into_iter().find_map(|mark| {
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
    let least = lines.iter().filter(|line| !blank(line)).map(indent).min().unwrap_or(0);
    let cut = |line: &&str| line.chars().skip(least).collect::<String>();
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// The criterion that a line begins, if it does.
fn head(mark: Mark, rest: &str) -> Option<Head> {
    let bold = ["**", "__"].into_iter().find_map(|marks| {
        let (inside, after) = rest.strip_prefix(marks)?.split_once(marks)?;
        Some((inside, after))
    });
    let mut said = Said::default();
    let (label, after) = match (bold, mark) {
        (Some((inside, after)), _) => (inside, after),
        (None, Mark::Heading { .. }) => (rest, ""),
        (None, Mark::Numbered { .. }) => label_of(rest)?,
        (None, Mark::BoldBullet | Mark::Bold) => return None,
    };
    let label = said.take_from(label);
    let tail = said.take_leading(after);
    let named = label.trim_end().trim_end_matches(':').trim_matches(['*', '_', '`', ' ']);
    let name = named.split_whitespace().collect::<Vec<_>>().join(" ");
    let tail = said.take_trailing(&tail);
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
    let tail = tail.trim_start_matches([':', '-', '–', '—']).trim().to_owned();
    Some(Head { name, weight: said.weight, tail })
}

/// The name of an item without bold print, and what follows it: up to a colon, or to a dash when there is a weight.
fn label_of(rest: &str) -> Option<(&str, &str)> {
    if let Some((label, after)) = rest.split_once(':').filter(|(label, _)| !is_open(label)) {
        return Some((label, after));
    }
    // The colon may be that of `(weight: 0.4)`.
    let close = rest.find([')', ']'])?;
    let (label, after) = rest.split_at_checked(close + 1)?;
    Said::default().weighs(label).then_some((label, after))
}

/// Whether a bracket is open at the end of a text.
fn is_open(text: &str) -> bool {
    let count = |c: char| text.matches(c).count();
    count('(') > count(')') || count('[') > count(']')
}

/// What brackets say of an item.
#[derive(Default)]
struct Said {
    weight: Option<f64>,
}

impl Said {
    fn weighs(mut self, label: &str) -> bool {
        self.take_from(label);
        self.weight.is_some()
    }

    /// Takes weights and scales in brackets out of a text.
    fn take_from(&mut self, label: &str) -> String {
        let mut kept = String::new();
        let mut here = label;
        while let Some(start) = here.find(['(', '[']) {
            let (before, group) = here.split_at(start);
            kept.push_str(before);
            match bracket(group) {
                Some((_, after)) if self.takes(group) => here = after,
                Some((inside, after)) => {
                    let whole = inside.len() + 2;
                    kept.push_str(group.get(..whole).unwrap_or_default());
                    here = after;
                }
                None => {
                    kept.push_str(group);
                    return kept;
                }
            }
        }
        kept.push_str(here);
        kept
    }

    /// The text behind brackets of weights and scales.
    fn take_leading(&mut self, after: &str) -> String {
        let mut here = after.trim_start();
        while here.starts_with(['(', '[']) && self.takes(here) {
            here = bracket(here).map_or("", |(_, after)| after.trim_start());
        }
        // `**Name**: 40%` and `**Name** - 0.4` are weights as well when nothing else follows.
        let bare = here.trim_start_matches([':', '-', '–', '—']).trim();
        if self.weight.is_none() && bare.ends_with('%') && bare.len() != here.len() && self.reads(bare) {
            return String::new();
        }
        here.to_owned()
    }

    /// The text before a last bracket of weights or scales.
    fn take_trailing(&mut self, tail: &str) -> String {
        let mut here = tail.trim_end();
        while here.ends_with([')', ']'])
            && let Some(start) = here.rfind(['(', '['])
            && let Some(group) = here.get(start..)
            && self.takes(group)
        {
            here = here.get(..start).unwrap_or_default().trim_end();
        }
        here.to_owned()
    }

    /// Whether the bracket that a text begins with says nothing but weights and scales; they are noted then.
    fn takes(&mut self, group: &str) -> bool {
        let Some((inside, _)) = bracket(group) else { return false };
        self.reads(inside)
    }

    fn reads(&mut self, inside: &str) -> bool {
        let parts: Vec<&str> = inside.split([',', ';']).map(str::trim).collect();
        let weights: Vec<Option<f64>> = parts.iter().map(|part| weight(part)).collect();
        if !parts.iter().zip(&weights).all(|(part, weight)| weight.is_some() || is_scale(part)) {
            return false;
        }
        self.weight = self.weight.or(weights.into_iter().flatten().next());
        true
    }
}

/// What stands inside of the bracket that a text begins with, and behind it.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let (inside, after) = text
        .strip_prefix('(')
        .map_or_else(|| text.strip_prefix('[')?.split_once(']'), |t| t.split_once(')'))?;
    Some((inside, after))
}

/// `weight: 0.4`, `40%`, `20 points`, or a bare share such as `0.4`.
fn weight(text: &str) -> Option<f64> {
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    let form = r"(?i)^(weight(?:ing)?\s*(?:of|is|:|=)?\s*)?(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})\s*(%)?\s*(points?|pts|marks|weight(?:ing)?|of (?:the )?(?:total|score|grade))?$";
    let found = FORM.get_or_init(|| Regex::new(form).ok()).as_ref()?.captures(text.trim())?;
    let number: f64 = found.get(2)?.as_str().parse().ok()?;
    let said = found.get(1).is_some() || found.get(3).is_some() || found.get(4).is_some();
    let share = number > 0.0 && number < 1.0;
    (said || share).then_some(if found.get(3).is_some() { number / 100.0 } else { number })
}

fn is_scale(text: &str) -> bool {
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    let form = r"(?i)^(?:scored?|scale|rated?|points)?\s*:?\s*-?\d{1,6}\s*(?:-|–|—|to)\s*\d{1,6}\s*(?:scale|points?|pts)?$";
    FORM.get_or_init(|| Regex::new(form).ok()).as_ref().is_some_and(|form| form.is_match(text))
}

/// The scales that a text names: `(0-5)`, `1-5 scale`, `from 0 to 10`, `out of 10`. Only those that begin with 0 or 1 and end with
/// a number up to 100 are some; `2-4 sentences` is none. Each with the words that name it; the low end of `out of` is not said.
pub(super) fn scales(text: &str) -> Vec<(Option<f64>, f64, String)> {
    static FORMS: OnceLock<Vec<Regex>> = OnceLock::new();
    let forms = FORMS.get_or_init(|| {
        let range = r"([01])\s*(?:-|–|—|to)\s*(\d{1,3})";
        let all = [
            format!(r"(?i)\(\s*{range}\s*(?:scale|points?|pts)?\s*\)"),
            format!(r"(?i)\b{range}[\s-]*(?:points?\s+)?scale\b"),
            format!(r"(?i)\bscale\s+(?:of|from|is|:)?\s*{range}\b"),
            format!(r"(?i)\b(?:score|scored|scores|rate|rated|rating|grade|graded|points?)\b[^.\n]{{0,40}}?\b{range}\b"),
            r"(?i)\b([01])\s+to\s+(5|10|100)(?:[.,;:)]|\s*$)".to_owned(),
            r"(?im)\b([01])\s+to\s+(5|10|100)\s*$".to_owned(),
            r"(?i)\b(?:score|scored|scores|rate|rated|rating|grade|graded|points?|marks?)\b[^.\n]{0,40}?(\b)out\s+of\s+(\d{1,3})\b".to_owned(),
            r"(?i)(\()\s*out\s+of\s+(\d{1,3})\s*\)".to_owned(),
        ];
        all.iter().filter_map(|form| Regex::new(form).ok()).collect()
    });
    let mut found = Vec::new();
    for captures in forms.iter().flat_map(|form| form.captures_iter(text)) {
        let number = |at: usize| captures.get(at).and_then(|text| text.as_str().parse::<f64>().ok());
        let (low, high) = (number(1), number(2));
        let words = captures.get(0).map(|all| all.as_str().trim().to_owned()).unwrap_or_default();
        if let Some(high) = high.filter(|high| (2.0..=100.0).contains(high)) {
            found.push((low, high, words));
        }
    }
    found
}

#[cfg(test)]
mod tests;
