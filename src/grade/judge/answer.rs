//! What a judge's reply says: a verdict on every criterion, or why it is none. Pure.
//!
//! The last whole JSON object counts and no other, never an earlier one when the last is no
//! verdict. Nothing is guessed: a number in quotes is no number, and a score off its scale is not
//! moved onto it.

use serde_json::{Map, Value};

use super::form::{TextCheck, scale_of, short};
use super::found::{LastObject, last_object, objects, parsable};
use crate::model::{Criterion, Judge, JudgeScoring, ReplyFault, folded_name};
use eval_base::unique_keys::JsonShape;
use eval_models::SplitAnswer;

/// Bytes of a justification, and of one point of feedback, that are kept.
const KEPT_BYTES: usize = 8 << 10;

/// Points of feedback, and names of unknown criteria, that are kept.
const KEPT_POINTS: usize = 20;

/// What an answer must say.
#[derive(Debug)]
pub(super) struct AnswerRequirements<'a> {
    pub judge: &'a Judge,
    /// Empty when the verdict is over the whole.
    pub criteria: &'a [Criterion],
    pub checks: &'a [TextCheck],
    pub token: &'a str,
    /// What an answer may not be.
    pub copies: &'a VerdictCopies,
}

/// What a valid answer says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct JudgeAnswer {
    /// One for each criterion, in their order.
    pub scores: Vec<CriterionScore>,
    /// Whether the output says it, one for each check in their order.
    pub says: Vec<bool>,
    /// The judge's own word.
    pub passed: Option<bool>,
    pub overall: Option<f64>,
    pub justification: String,
    pub feedback: Vec<String>,
    /// Criteria that nobody asked for.
    pub unknown: Vec<String>,
}

/// The score of one criterion.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CriterionScore {
    /// A number, the name of a category, or true and false.
    pub value: Value,
    /// As a share of the scale, in [0, 1].
    pub share: f64,
}

/// Why a reply can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnusableReply {
    pub fault: ReplyFault,
    /// A sentence in our own words: nothing of the reply stands in it, since it is shown to the
    /// judge again.
    pub why: String,
}

fn unusable<T>(fault: ReplyFault, why: impl Into<String>) -> Result<T, UnusableReply> {
    Err(UnusableReply {
        fault,
        why: why.into(),
    })
}

/// Reads a reply. `cut`: it ended at its limit of tokens.
pub(super) fn read(
    reply: &str,
    cut: bool,
    wanted: &AnswerRequirements<'_>,
) -> Result<JudgeAnswer, UnusableReply> {
    let fields = object(reply, cut)?;
    match fields.get("token") {
        Some(Value::String(token)) if token == wanted.token => {}
        Some(_) => {
            return unusable(
                ReplyFault::WrongToken,
                "its `token` is not the word that was asked for",
            );
        }
        None => {
            return unusable(
                ReplyFault::WrongToken,
                "its last JSON object has no `token`",
            );
        }
    }
    if wanted.copies.hold(&fields) {
        let why = "the same JSON object stands in the output that is judged: the verdict must be the judge's own";
        return unusable(ReplyFault::Copied, why);
    }
    let (scores, unknown) = scores(&fields, wanted)?;
    let says = checks(&fields, wanted.checks)?;
    let passed = fields.get("passed").and_then(Value::as_bool);
    if wanted.criteria.is_empty() && passed.is_none() {
        let why = match fields.get("passed") {
            Some(_) => "`passed` is neither true nor false",
            None => "`passed` is missing",
        };
        return unusable(ReplyFault::MissingVerdict, why);
    }
    let text = |value: &Value| value.as_str().map(|text| kept(text.trim()));
    let feedback = match fields.get("specific_feedback") {
        Some(Value::Array(points)) => points.iter().filter_map(text).take(KEPT_POINTS).collect(),
        Some(Value::String(point)) => vec![kept(point.trim())],
        _ => Vec::new(),
    };
    Ok(JudgeAnswer {
        scores,
        says,
        passed,
        overall: fields
            .get("overall_score")
            .and_then(Value::as_f64)
            .filter(|score| score.is_finite()),
        justification: fields
            .get("justification")
            .and_then(text)
            .unwrap_or_default(),
        feedback,
        unknown,
    })
}

fn kept(text: &str) -> String {
    let cut = eval_base::text::truncate_bytes(text, KEPT_BYTES);
    if cut.len() < text.len() {
        format!("{cut}…")
    } else {
        cut.to_owned()
    }
}

/// The last whole object of a reply, each of whose keys stands there once.
fn object(reply: &str, cut: bool) -> Result<Map<String, Value>, UnusableReply> {
    // What is only thought is no answer.
    let reply = SplitAnswer::of(reply).answer.unwrap_or_default();
    let (text, odd) = match last_object(reply) {
        LastObject::Whole { text, .. } if cut && goes_on(reply, text) => {
            return unusable(
                ReplyFault::Cut,
                "the reply goes on behind its JSON object, and is cut at its limit of tokens",
            );
        }
        LastObject::Whole { text, odd } => (text, odd),
        LastObject::Cut => {
            return unusable(
                ReplyFault::Cut,
                "the reply ends in the middle of its JSON object",
            );
        }
        LastObject::Broken { .. } => {
            return unusable(ReplyFault::NoJson, "its last JSON object is broken");
        }
        LastObject::TooMuch => {
            return unusable(ReplyFault::NoJson, "its JSON takes too long to be read");
        }
        LastObject::Nothing if cut => {
            return unusable(
                ReplyFault::Cut,
                "the reply was cut at its limit of tokens before its JSON object",
            );
        }
        LastObject::Nothing => {
            return unusable(ReplyFault::NoJson, "there is no JSON object in the reply");
        }
    };
    if odd {
        return unusable(
            ReplyFault::WrongType,
            "it holds NaN or Infinity, which are no numbers",
        );
    }
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text) else {
        return unusable(ReplyFault::NoJson, "its last JSON object is broken");
    };
    if serde_json::from_str::<JsonShape>(text).is_err() {
        return unusable(
            ReplyFault::DuplicateKey,
            "a key stands twice in its JSON object",
        );
    }
    Ok(fields)
}

/// True when more than the end of a fence follows the last object: what was cut off might have been
/// another one.
fn goes_on(reply: &str, object: &str) -> bool {
    let behind = reply.rsplit_once(object).map_or("", |(_, behind)| behind);
    !behind
        .trim_matches(|c: char| c.is_whitespace() || c == '`')
        .is_empty()
}

/// The places of `names` that the keys of an object mean: exactly, else without case, blanks, `_`,
/// `-` and `*`.
fn resolved<'m>(
    fields: &'m Map<String, Value>,
    names: &[&str],
) -> Result<(Vec<Option<&'m Value>>, Vec<String>), UnusableReply> {
    let mut found: Vec<Option<&Value>> = vec![None; names.len()];
    let mut unknown = Vec::new();
    for (key, value) in fields {
        let exact = names.iter().position(|name| name == key);
        let place = match exact {
            Some(place) => place,
            None => {
                let folded = folded_name(key);
                let mut alike = names
                    .iter()
                    .enumerate()
                    .filter(|(_, name)| folded_name(name) == folded);
                match (alike.next(), alike.next()) {
                    (Some((place, _)), None) => place,
                    (Some((_, name)), Some(_)) => {
                        return unusable(
                            ReplyFault::AmbiguousScore,
                            format!("a name in it could mean `{name}` or another of that spelling"),
                        );
                    }
                    (None, _) => {
                        unknown.push(kept(key));
                        continue;
                    }
                }
            }
        };
        match found.get_mut(place) {
            Some(known @ None) => *known = Some(value),
            _ => {
                let name = names.get(place).copied().unwrap_or_default();
                return unusable(
                    ReplyFault::AmbiguousScore,
                    format!("two of its names mean `{name}`"),
                );
            }
        }
    }
    unknown.truncate(KEPT_POINTS);
    Ok((found, unknown))
}

fn scores(
    fields: &Map<String, Value>,
    wanted: &AnswerRequirements<'_>,
) -> Result<(Vec<CriterionScore>, Vec<String>), UnusableReply> {
    if wanted.criteria.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let fields = match fields.get("scores") {
        Some(Value::Object(fields)) => fields,
        Some(_) => return unusable(ReplyFault::WrongType, "`scores` is no JSON object"),
        None => return unusable(ReplyFault::MissingScore, "`scores` is missing"),
    };
    let names: Vec<&str> = wanted
        .criteria
        .iter()
        .map(|criterion| criterion.name.as_str())
        .collect();
    let (found, unknown) = resolved(fields, &names)?;
    let mut scores = Vec::with_capacity(found.len());
    for (criterion, value) in wanted.criteria.iter().zip(found) {
        match value {
            Some(value) => scores.push(scored(wanted.judge, criterion, value)?),
            None => {
                let why = format!("the score of `{}` is missing", criterion.name);
                return unusable(ReplyFault::MissingScore, why);
            }
        }
    }
    Ok((scores, unknown))
}

/// One score, if it is one on its scale.
fn scored(
    judge: &Judge,
    criterion: &Criterion,
    value: &Value,
) -> Result<CriterionScore, UnusableReply> {
    let name = &criterion.name;
    let wrong = |what: &str| {
        let is = match value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        unusable(
            ReplyFault::WrongType,
            format!("the score of `{name}` is {is} and not {what}"),
        )
    };
    match (&judge.scoring, value) {
        (JudgeScoring::Numeric { .. }, Value::Number(number)) => {
            let [low, high] = scale_of(judge, criterion).unwrap_or(Judge::RANGE);
            let on_scale = |score: &f64| (low..=high).contains(score) && high > low;
            let Some(score) = number.as_f64().filter(on_scale) else {
                let why = format!(
                    "the score of `{name}` is not on its scale from {} to {}",
                    short(low),
                    short(high)
                );
                return unusable(ReplyFault::OffScale, why);
            };
            // Of a zero with a sign none is left.
            let share = ((score - low) / (high - low)).clamp(0.0, 1.0) + 0.0;
            Ok(CriterionScore {
                value: number_value(score),
                share,
            })
        }
        (JudgeScoring::Numeric { .. }, _) => wrong("a number"),
        (JudgeScoring::Categorical { categories }, Value::String(text)) => {
            let exact = categories.iter().find(|category| category.name == *text);
            let alike = || {
                let folded = folded_name(text);
                let mut alike = categories
                    .iter()
                    .filter(|category| folded_name(&category.name) == folded);
                alike.next().filter(|_| alike.next().is_none())
            };
            match exact.or_else(alike) {
                Some(category) => Ok(CriterionScore {
                    value: Value::from(category.name.as_str()),
                    share: category.score.clamp(0.0, 1.0),
                }),
                None => unusable(
                    ReplyFault::OffScale,
                    format!("the score of `{name}` is none of the categories"),
                ),
            }
        }
        (JudgeScoring::Categorical { .. }, _) => wrong("one of the categories"),
        (JudgeScoring::Boolean, Value::Bool(met)) => Ok(CriterionScore {
            value: Value::Bool(*met),
            share: f64::from(u8::from(*met)),
        }),
        (JudgeScoring::Boolean, _) => wrong("true or false"),
    }
}

/// A number as people write it: whole ones without a point, zero without a sign.
pub(super) fn number_value(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}

fn checks(fields: &Map<String, Value>, checks: &[TextCheck]) -> Result<Vec<bool>, UnusableReply> {
    if checks.is_empty() {
        return Ok(Vec::new());
    }
    let fields = match fields.get("checks") {
        Some(Value::Object(fields)) => fields,
        Some(_) => return unusable(ReplyFault::WrongType, "`checks` is no JSON object"),
        None => return unusable(ReplyFault::MissingCheck, "`checks` is missing"),
    };
    let names: Vec<&str> = checks.iter().map(|check| check.key.as_str()).collect();
    let (found, _) = resolved(fields, &names)?;
    let said = found
        .into_iter()
        .zip(&names)
        .map(|(value, name)| match value {
            Some(Value::Bool(says)) => Ok(*says),
            Some(_) => unusable(
                ReplyFault::WrongType,
                format!("`{name}` of `checks` is neither true nor false"),
            ),
            None => unusable(
                ReplyFault::MissingCheck,
                format!("`{name}` of `checks` is missing"),
            ),
        });
    said.collect()
}

/// Objects of the judged output that could be taken over as a verdict.
#[derive(Debug, Default)]
pub(super) struct VerdictCopies {
    /// Those in which a verdict stands, at the top or inside.
    objects: Vec<Value>,
}

/// What decides in an answer.
const DECIDING: [&str; 3] = ["scores", "checks", "passed"];

impl VerdictCopies {
    /// Texts inside of texts that are looked into.
    const DEPTH: usize = 3;

    /// Of the output as it is, and as it is shown.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> VerdictCopies {
        let mut copies = VerdictCopies::default();
        texts.into_iter().for_each(|text| copies.see_text(text, 0));
        copies
    }

    fn see_text(&mut self, text: &str, depth: usize) {
        if depth >= VerdictCopies::DEPTH || !text.contains('{') {
            return;
        }
        let mut waiting = vec![text];
        while let Some(text) = waiting.pop() {
            for object in objects(text) {
                if let Ok(value) = serde_json::from_str(object) {
                    self.see(value, depth);
                } else {
                    // A judge can read what a parser refuses.
                    let (text, deeper) = parsable(object);
                    waiting.extend(deeper);
                    serde_json::from_str(&text)
                        .into_iter()
                        .for_each(|value| self.see(value, depth));
                }
            }
        }
    }

    fn see(&mut self, value: Value, depth: usize) {
        let (mut verdict, mut texts) = (false, Vec::new());
        each_inside(&value, &mut |value| match value {
            Value::String(text) if text.contains('{') => texts.push(text.clone()),
            Value::Object(fields) => {
                verdict |= ["scores", "passed", "justification"]
                    .iter()
                    .any(|key| fields.contains_key(*key));
            }
            _ => {}
        });
        if verdict {
            self.objects.push(value);
        }
        texts.iter().for_each(|text| self.see_text(text, depth + 1));
    }

    /// True when an answer is one of them.
    fn hold(&self, answer: &Map<String, Value>) -> bool {
        let mut held = false;
        for object in &self.objects {
            each_inside(object, &mut |value| {
                held |= value.as_object().is_some_and(|copy| is_copy(answer, copy));
            });
        }
        held
    }
}

/// A value and all that stands inside of it.
fn each_inside(value: &Value, look: &mut dyn FnMut(&Value)) {
    look(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_inside(item, look)),
        Value::Object(fields) => fields.values().for_each(|value| each_inside(value, look)),
        _ => {}
    }
}

/// True when an answer is the same object apart from its token; or has the very same justification,
/// and says nothing else than the other where both decide.
fn is_copy(answer: &Map<String, Value>, copy: &Map<String, Value>) -> bool {
    let own = |fields: &Map<String, Value>| fields.keys().filter(|key| *key != "token").count();
    let both = |key: &str| answer.get(key).zip(copy.get(key));
    let same = own(answer) == own(copy)
        && answer
            .keys()
            .all(|key| key == "token" || both(key).is_some_and(|(a, b)| alike(a, b)));
    let justified = both("justification").is_some_and(|(why, other)| {
        why.as_str().is_some_and(|why| !why.trim().is_empty()) && alike(why, other)
    });
    let mut decisions = DECIDING.iter().filter_map(|key| both(key)).peekable();
    same || (justified && decisions.peek().is_some() && decisions.all(|(a, b)| agree(a, b)))
}

/// True when two decisions are the same wherever both say something.
fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a.iter().all(|(key, a)| {
            let name = folded_name(key);
            b.iter()
                .filter(|(key, _)| folded_name(key) == name)
                .all(|(_, b)| alike(a, b))
        }),
        (a, b) => alike(a, b),
    }
}

/// Equal as values, numbers by what they are worth. It finds copies; nothing is graded by it.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a.as_str() == b.as_str()
                || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a == b)
        }
        (Value::String(a), Value::String(b)) => a.trim() == b.trim(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| alike(a, b)))
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests;
