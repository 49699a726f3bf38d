//! What a text says of weights and scales.

use std::sync::OnceLock;

use regex::Regex;

/// What may stand between a name and its weight.
const SEPARATORS: [char; 5] = [':', '-', '–', '—', '|'];
/// Bytes of a line in which the end of a name is looked for.
const NAME_BYTES: usize = 200;

/// What brackets (or words behind a dash) say of an item.
#[derive(Default)]
pub(super) struct ItemRemark {
    pub weight: Option<f64>,
}

impl ItemRemark {
    pub fn weighs(mut self, label: &str) -> bool {
        self.take_from(label);
        self.weight.is_some()
    }

    /// Takes weights and scales in brackets out of a text.
    pub fn take_from(&mut self, label: &str) -> String {
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

    /// The text behind weights and scales.
    pub fn take_leading(&mut self, after: &str) -> String {
        let mut here = after.trim_start();
        while here.starts_with(['(', '[']) && self.takes(here) {
            here = bracket(here).map_or("", |(_, after)| after.trim_start());
        }
        if self.weight.is_none() {
            let bare =
                here.trim_start_matches(|c: char| SEPARATORS.contains(&c) || c.is_whitespace());
            if let Some((weight, rest)) = leading(bare) {
                self.weight = Some(weight);
                return rest.to_owned();
            }
            // `**Name** - 0.4` is a weight as well when nothing else follows.
            if bare.len() != here.len() && self.reads(bare.trim_end()) {
                return String::new();
            }
        }
        here.to_owned()
    }

    /// The text before a last bracket of weights or scales.
    pub fn take_trailing(&mut self, tail: &str) -> String {
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

    /// Whether the bracket that a text begins with says nothing but weights and scales; they are
    /// noted then.
    fn takes(&mut self, group: &str) -> bool {
        let Some((inside, _)) = bracket(group) else {
            return false;
        };
        self.reads(inside)
    }

    fn reads(&mut self, inside: &str) -> bool {
        let parts: Vec<&str> = inside.split([',', ';']).map(str::trim).collect();
        let weights: Vec<Option<f64>> = parts.iter().map(|part| weight(part)).collect();
        if !parts
            .iter()
            .zip(&weights)
            .all(|(part, weight)| weight.is_some() || is_scale(part))
        {
            return false;
        }
        self.weight = self.weight.or(weights.into_iter().flatten().next());
        true
    }
}

/// What stands inside of the bracket that a text begins with, and behind it.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let (inside, after) = text.strip_prefix('(').map_or_else(
        || text.strip_prefix('[')?.split_once(']'),
        |t| t.split_once(')'),
    )?;
    Some((inside, after))
}

/// `weight: 0.4`, `40%`, `20 points`, or a bare share such as `0.4`.
fn weight(text: &str) -> Option<f64> {
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    let form = r"(?i)^(weight(?:ing|age)?\s*(?:of|is|:|=)?\s*)?(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})\s*(%|percent\b)?\s*(points?|pts|marks|weight(?:ing|age)?|of (?:the )?(?:\w{1,20} )?(?:total|score|grade|mark))?$";
    let found = FORM
        .get_or_init(|| Regex::new(form).ok())
        .as_ref()?
        .captures(text.trim())?;
    let number: f64 = found.get(2)?.as_str().parse().ok()?;
    let said = found.get(1).is_some() || found.get(3).is_some() || found.get(4).is_some();
    let share = number > 0.0 && number < 1.0;
    (said || share).then_some(if found.get(3).is_some() {
        number / 100.0
    } else {
        number
    })
}

/// A weight that a text begins with, said to be one, and what follows: `40%: is it so?`,
/// `weight 0.4`.
fn leading(text: &str) -> Option<(f64, &str)> {
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    let form = r"(?i)^(weight(?:ing|age)?\s*(?:of|is|:|=)?\s*)?(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})\s*(%|percent\b)?(?:$|[:;,.|]|\s+[-–—])";
    let found = FORM
        .get_or_init(|| Regex::new(form).ok())
        .as_ref()?
        .captures(text)?;
    let number = found.get(2)?;
    let percent = found.get(3);
    if found.get(1).is_none() && percent.is_none() {
        return None;
    }
    let value: f64 = number.as_str().parse().ok()?;
    let rest = text.get(percent.map_or(number.end(), |percent| percent.end())..)?;
    Some((
        if percent.is_some() {
            value / 100.0
        } else {
            value
        },
        rest.trim_start(),
    ))
}

/// `Name - 40%`, `Name, weight: 0.4`: the name, and all from what parts the two.
pub(super) fn dashed(text: &str) -> Option<(&str, &str)> {
    let before_colon = text
        .char_indices()
        .take_while(|(at, c)| *c != ':' && *at <= NAME_BYTES);
    let parting = before_colon.filter(|(_, c)| *c == ',' || *c != ':' && SEPARATORS.contains(c));
    parting
        .map(|(at, c)| (at, at + c.len_utf8()))
        .find_map(|(at, behind)| {
            let name = text.get(..at).filter(|name| !name.trim().is_empty())?;
            leading(text.get(behind..)?.trim_start())?;
            Some((name, text.get(at..)?.trim_start_matches(',')))
        })
}

/// A line that says nothing but a weight: `Weight: 0.4`, `- **Weight**: 40%`.
pub(super) fn line_weight(text: &str) -> Option<f64> {
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    let form = r"(?i)^(?:[-*+•]\s+)?[*_(\[]*weight(?:ing|age)?[*_]*\s*(?::|=|is|of)?[*_]*\s*(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})\s*(%|percent\b)?[*_)\].]*$";
    let found = FORM
        .get_or_init(|| Regex::new(form).ok())
        .as_ref()?
        .captures(text)?;
    let number: f64 = found.get(1)?.as_str().parse().ok()?;
    Some(if found.get(2).is_some() {
        number / 100.0
    } else {
        number
    })
}

/// Whether a text speaks of weights in whatever form: by the word, as `(x2)`, or by shares that
/// make a whole.
pub(super) fn speaks_of_weights(text: &str) -> bool {
    static WORDS: OnceLock<Option<Regex>> = OnceLock::new();
    static SHARES: OnceLock<Vec<(Regex, f64)>> = OnceLock::new();
    let word = r"(?i)\bweight(?:s|ing|age)?\b[*_]*\s*(?:of|is|are|:|=|\()?[*_]*\s*\.?\d|\d\s*%?\s*weight(?:ing|age)?\b|[(\[]\s*[x×]\s*\d";
    let word = WORDS.get_or_init(|| Regex::new(word).ok());
    let shares = SHARES.get_or_init(|| {
        let all = [
            (r"(?i)(\d{1,3}(?:\.\d{1,3})?)\s*(?:%|percent\b)", 100.0),
            (
                r"(?i)(\d{1,3}(?:\.\d{1,3})?)\s*(?:points\b|pts\b|marks\b)",
                100.0,
            ),
            (r"\b(0\.\d{1,3})\b", 1.0),
        ];
        all.into_iter()
            .filter_map(|(form, whole)| Some((Regex::new(form).ok()?, whole)))
            .collect()
    });
    let make_a_whole = |(form, whole): &(Regex, f64)| {
        let numbers: Vec<f64> = form
            .captures_iter(text)
            .filter_map(|found| found.get(1)?.as_str().parse().ok())
            .collect();
        numbers.len() > 1 && (numbers.iter().sum::<f64>() / whole - 1.0).abs() < 0.005
    };
    word.as_ref().is_some_and(|word| word.is_match(text)) || shares.iter().any(make_a_whole)
}

fn is_scale(text: &str) -> bool {
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    let form = r"(?i)^(?:scored?|scale|rated?|points)?\s*:?\s*-?\d{1,6}\s*(?:-|–|—|to)\s*\d{1,6}\s*(?:scale|points?|pts)?$";
    FORM.get_or_init(|| Regex::new(form).ok())
        .as_ref()
        .is_some_and(|form| form.is_match(text))
}

/// The scales that a text names: `(0-5)`, `1-5 scale`, `from 0 to 10`, `out of 10`. Only those that
/// begin with 0 or 1 and end with a number up to 100 are some; `2-4 sentences` is none. Each with
/// the words that name it; the low end of `out of` is not said.
pub(in super::super) fn scales(text: &str) -> Vec<(Option<f64>, f64, String)> {
    static FORMS: OnceLock<Vec<Regex>> = OnceLock::new();
    let forms = FORMS.get_or_init(|| {
        let range = r"([01])\s*(?:-|–|—|to)\s*(\d{1,3})";
        let all = [
            format!(r"(?i)\(\s*{range}\s*(?:scale|points?|pts)?\s*\)"),
            format!(r"(?i)\b{range}[\s-]*(?:points?\s+)?scale\b"),
            format!(r"(?i)\bscale\s+(?:of|from|is|:)?\s*{range}\b"),
            format!(r"(?i)\b(?:score|scored|scores|rate|rated|rating|grade|graded|points?)\b[^.\n]{{0,40}}?\b{range}\b"),
            r"(?i)\b([01])\s+to\s+(5|10|100)(?:[.,;:)]|\s*$)".to_owned(),
            // `1 (worst) to 10 (best)`, `between 1 and 10`, `10-point scale`, `7/10`
            r"(?i)\b([01])\s*\([^()\n]{1,40}\)\s*(?:-|–|—|to|and)\s*(\d{1,3})\s*\([^()\n]{1,40}\)".to_owned(),
            r"(?i)\b(?:score|scored|scores|rate|rated|rating|grade|graded|number|points?)\b[^.\n]{0,40}?\bbetween\s+([01])\s+and\s+(\d{1,3})\b".to_owned(),
            r"(?i)(\b)(\d{1,3})[\s-]+point\s+scale\b".to_owned(),
            r"(?i)\b(?:score|scored|scores|rate|rated|rating|grade|graded)\b[^.\n]{0,40}?(?:\d|\bx|\s)(/)(5|10|20|100)\b".to_owned(),
            r"(?im)\b([01])\s+to\s+(5|10|100)\s*$".to_owned(),
            r"(?i)\b(?:score|scored|scores|rate|rated|rating|grade|graded|points?|marks?)\b[^.\n]{0,40}?(\b)out\s+of\s+(\d{1,3})\b".to_owned(),
            r"(?i)(\()\s*out\s+of\s+(\d{1,3})\s*\)".to_owned(),
        ];
        all.iter().filter_map(|form| Regex::new(form).ok()).collect()
    });
    let mut found = Vec::new();
    for captures in forms.iter().flat_map(|form| form.captures_iter(text)) {
        let number = |at: usize| {
            captures
                .get(at)
                .and_then(|text| text.as_str().parse::<f64>().ok())
        };
        let (low, high) = (number(1), number(2));
        let words = captures
            .get(0)
            .map(|all| all.as_str().trim().to_owned())
            .unwrap_or_default();
        if let Some(high) = high.filter(|high| (2.0..=100.0).contains(high)) {
            found.push((low, high, words));
        }
    }
    found
}

/// The one scale that a text names with both its ends; `None` when it names none, or several, when
/// a noun says that it may count something else (`points for 1-3 examples`, `sections 1-4`), or
/// when its high end is the worse one (`1 (best) to 10 (worst)`).
pub(in super::super) fn named_scale(text: &str) -> Option<[f64; 2]> {
    const BEHIND: [&str; 19] = [
        "and",
        "as",
        "if",
        "overall",
        "that",
        "using",
        "when",
        "scale",
        "points",
        "pts",
        "where",
        "for",
        "on",
        "based",
        "by",
        "how",
        "depending",
        "according",
        "with",
    ];
    let is_firm = |words: &str| {
        let behind = text
            .split_once(words)
            .map_or("", |(_, behind)| behind)
            .trim_start_matches([' ', '\t']);
        let word: String = behind.chars().take_while(|c| c.is_alphanumeric()).collect();
        let in_brackets = words.starts_with('(') && words.ends_with(')');
        let follows = word.is_empty() || BEHIND.contains(&word.to_lowercase().as_str());
        in_brackets || (follows && !counts_parts(words))
    };
    let named = scales(text);
    let (low, high, _) = named.iter().find(|(low, ..)| low.is_some())?;
    let range = [(*low)?, *high];
    let same = |(low, high, words): &(Option<f64>, f64, String)| {
        *high == range[1] && low.is_none_or(|low| low == range[0]) && is_firm(words)
    };
    (named.iter().all(same) && !is_reversed(text, range)).then_some(range)
}

/// True for the numbers of parts: `sections 1-4`.
fn counts_parts(words: &str) -> bool {
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    let form = r"(?i)\b(?:sections?|parts?|paragraphs?|questions?|steps?|chapters?|pages?|lines?|items?|criteri(?:a|on)|examples?|tasks?|levels?)\s+[01]\s*(?:-|–|—|to)\s*\d{1,3}$";
    FORM.get_or_init(|| Regex::new(form).ok())
        .as_ref()
        .is_some_and(|form| form.is_match(words))
}

/// True when a text says that the high end is the worse one, or the low end the better one.
fn is_reversed(text: &str, [low, high]: [f64; 2]) -> bool {
    let says = |end: f64, words: &str| {
        let form = format!(
            r"(?i)\b{end}\s*(?:\(|=|:|is|means|being)\s*(?:the\s+|very\s+|completely\s+)*(?:{words})\b"
        );
        Regex::new(&form).is_ok_and(|form| form.is_match(text))
    };
    says(high, "worst|poor|lowest|bad|terrible|wrong|unacceptable")
        || says(low, "best|excellent|highest|perfect|flawless")
}
