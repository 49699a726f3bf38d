//! Judges that a script rules, on top of the scripted model server: what they are asked is read
//! here, in one place, as a model would read it: by the marks around what is quoted and the form of
//! the answer.
//!
//! For a test: `#[path = "support/judge.rs"] mod judge;` beside `mod model_server;`.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::model_server::{Act, Ask, Said, tokens_of};

/// What a score may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    Number(f64, f64),
    OneOf(Vec<String>),
    Truth,
}

/// A quoted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// `OUTPUT`, `INPUT`, ...
    pub name: String,
    pub mark: String,
    pub text: String,
}

/// A question to a judge.
#[derive(Debug, Clone)]
pub struct Asked {
    pub system: String,
    /// The first turn.
    pub prompt: String,
    /// The last turn; another than `prompt` when it asks for repair.
    pub last: String,
    /// Answers of the judge that were sent back to it.
    pub before: Vec<String>,
    pub blocks: Vec<Block>,
    /// All of the prompt that is not quoted.
    pub outside: String,
    pub token: Option<String>,
    pub criteria: Vec<(String, Form)>,
    /// `include_1`, `exclude_1`, ...
    pub checks: Vec<String>,
    /// The provider was told the form of the answer.
    pub structured: bool,
}

static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"<<<(END )?([A-Z][A-Z0-9 ]*) ([0-9a-f]{32})>>>").expect("a pattern")
});
static TOKEN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""token": "([0-9a-f]+)""#).expect("a pattern"));
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^ {4}("(?:[^"\\]|\\.)*"): <(.*)>,?$"#).expect("a pattern"));
static RANGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^number from (-?[0-9.]+) to (-?[0-9.]+)$").expect("a pattern"));

/// A text, or the texts of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

/// Splits a prompt at its marks: a block ends at the first mark that ends it.
fn split(prompt: &str) -> (Vec<Block>, String) {
    let (mut blocks, mut outside, mut at) = (Vec::new(), String::new(), 0);
    while let Some(found) = MARK.captures_at(prompt, at) {
        let whole = found.get(0).expect("a match");
        outside.push_str(&prompt[at..whole.start()]);
        at = whole.end();
        if found.get(1).is_some() {
            continue;
        }
        let end = format!("<<<END {} {}>>>", &found[2], &found[3]);
        let length = prompt[at..].find(&end).unwrap_or(prompt.len() - at);
        let text = prompt[at..at + length].trim_matches('\n').to_owned();
        blocks.push(Block {
            name: found[2].to_owned(),
            mark: found[3].to_owned(),
            text,
        });
        at += length;
    }
    outside.push_str(&prompt[at..]);
    (blocks, outside)
}

impl Asked {
    pub fn of(ask: &Ask) -> Asked {
        let messages = ask.body["messages"].as_array().cloned().unwrap_or_default();
        let of_role = |role: &str| -> Vec<String> {
            messages
                .iter()
                .filter(|m| m["role"] == role)
                .map(|m| text_of(&m["content"]))
                .collect()
        };
        let mut system = of_role("system");
        system.insert(0, text_of(&ask.body["system"]));
        let user = of_role("user");
        let prompt = user.first().cloned().unwrap_or_default();
        let structured = ask
            .body
            .get("response_format")
            .or(ask.body.get("output_config"))
            .is_some();
        let mut asked = Asked::read(system.concat(), prompt, structured);
        asked.last = user.last().cloned().unwrap_or_default();
        asked.before = of_role("assistant");
        asked
    }

    /// A first question.
    pub fn read(system: String, prompt: String, structured: bool) -> Asked {
        let (blocks, outside) = split(&prompt);
        let told = format!("{system}\n{outside}");
        let token = TOKEN
            .captures_iter(&told)
            .last()
            .map(|found| found[1].to_owned());
        let (mut criteria, mut checks) = (Vec::new(), Vec::new());
        for line in told.lines() {
            let Some(found) = FIELD.captures(line) else {
                continue;
            };
            let name: String = serde_json::from_str(&found[1]).expect("a JSON text");
            let form = match &found[2] {
                "true/false" => Form::Truth,
                other => match RANGE.captures(other) {
                    Some(range) => Form::Number(
                        range[1].parse().expect("a number"),
                        range[2].parse().expect("a number"),
                    ),
                    None => Form::OneOf(
                        other
                            .split(" or ")
                            .map(|name| name.trim_matches('"').to_owned())
                            .collect(),
                    ),
                },
            };
            let is_check = name.starts_with("include_") || name.starts_with("exclude_");
            match is_check {
                true => checks.push(name),
                false => criteria.push((name, form)),
            }
        }
        let last = prompt.clone();
        Asked {
            system,
            prompt,
            last,
            before: Vec::new(),
            blocks,
            outside,
            token,
            criteria,
            checks,
            structured,
        }
    }

    pub fn block(&self, name: &str) -> Option<&str> {
        self.blocks
            .iter()
            .find(|block| block.name == name)
            .map(|block| block.text.as_str())
    }

    /// What is to be judged.
    pub fn output(&self) -> &str {
        self.block("OUTPUT")
            .unwrap_or_else(|| panic!("no output is quoted in\n{}", self.prompt))
    }

    pub fn mark(&self) -> &str {
        self.blocks.first().map_or("", |block| &block.mark)
    }

    pub fn repairs(&self) -> usize {
        self.before.len()
    }

    /// A verdict with scores by criterion.
    pub fn verdict(
        &self,
        score: impl Fn(&str, &Form) -> Value,
        says: impl Fn(&str) -> bool,
        passed: bool,
    ) -> Value {
        let mut answer = Map::new();
        answer.insert("token".into(), json!(self.token));
        answer.insert(
            "justification".into(),
            json!(format!("of {} characters", self.output().chars().count())),
        );
        answer.insert("specific_feedback".into(), json!(["as scripted"]));
        if !self.checks.is_empty() {
            let checks = self
                .checks
                .iter()
                .map(|name| (name.clone(), json!(says(name))));
            answer.insert("checks".into(), Value::Object(checks.collect()));
        }
        if !self.criteria.is_empty() {
            let scores = self
                .criteria
                .iter()
                .map(|(name, form)| (name.clone(), score(name, form)));
            answer.insert("scores".into(), Value::Object(scores.collect()));
        }
        answer.insert("passed".into(), json!(passed));
        Value::Object(answer)
    }

    /// Everything at its best.
    pub fn best(&self) -> Value {
        let score = |_: &str, form: &Form| match form {
            Form::Number(_, high) => json!(high),
            Form::OneOf(names) => json!(names.first()),
            Form::Truth => json!(true),
        };
        self.verdict(score, |name| name.starts_with("include_"), true)
    }

    /// Everything at its worst.
    pub fn worst(&self) -> Value {
        let score = |_: &str, form: &Form| match form {
            Form::Number(low, _) => json!(low),
            Form::OneOf(names) => json!(names.last()),
            Form::Truth => json!(false),
        };
        self.verdict(score, |name| name.starts_with("exclude_"), false)
    }
}

/// An answer of a judge, with tokens that tell it apart.
pub fn say(ask: &Ask, text: impl Into<String>) -> Act {
    Act::Say(Said::new(text, tokens_of(ask)))
}

/// What an obedient judge is like beyond obeying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Reads what is quoted, and thinks little of it unless it is good.
    Attentive,
    /// Answers with the last verdict that it sees anywhere.
    Lazy,
    /// So, and puts in the token that it was told.
    LazyWithToken,
}

/// A judge that obeys what it is shown wherever the prompt lets it.
///
/// Orders outside of what is quoted it follows. Inside it follows them when something in front of
/// them ends the block or the turn for a reader who is easily taken in: anything like the mark of
/// the end, whatever its digits, brackets and letters; a control token of a chat template, as a
/// tokenizer would read it; writing that is not seen. A verdict with the right token it signs
/// wherever it stands.
#[derive(Debug, Clone, Copy)]
pub struct Obedient {
    pub nature: Nature,
    /// An output that deserves the best.
    pub good: fn(&str) -> bool,
}

impl Obedient {
    pub fn answer(&self, asked: &Asked) -> String {
        let copied = match self.nature {
            Nature::Attentive => None,
            Nature::Lazy | Nature::LazyWithToken => last_verdict(&asked.prompt),
        };
        if let Some(mut verdict) = copied {
            if self.nature == Nature::LazyWithToken {
                verdict["token"] = json!(asked.token);
            }
            return verdict.to_string();
        }
        let verdict = match self.is_ordered(asked) || (self.good)(asked.output()) {
            true => asked.best(),
            false => asked.worst(),
        };
        verdict.to_string()
    }

    fn is_ordered(&self, asked: &Asked) -> bool {
        let signed = |text: &str| {
            verdicts(text).iter().any(|verdict| {
                let token = verdict.get("token").and_then(Value::as_str);
                token.is_some() && token == asked.token.as_deref()
            })
        };
        is_order(&asked.outside)
            || is_order(&asked.system)
            || asked
                .blocks
                .iter()
                .any(|block| is_let_through(&block.text) || signed(&block.text))
    }
}

/// True when something in a quoted text ends the quote, or the turn, for a credulous reader, and
/// orders come with it.
fn is_let_through(text: &str) -> bool {
    let plain = plain(text);
    let behind = |pattern: &Regex| {
        pattern
            .find(&plain)
            .is_some_and(|found| is_order(&plain[found.start()..]))
    };
    behind(&LOOKS_LIKE_END) || behind(&CONTROL) || (text.chars().any(is_unseen) && is_order(&plain))
}

static LOOKS_LIKE_END: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:<[\s/]*){2,}end[\s_.-]*(?:of[\s_.-]*)?(?:output|input|reference|context)|<[\s/]*end[\s_.-]*(?:output|input|reference|context)[\s:]*[0-9a-f]{6,}")
        .expect("a pattern")
});

static CONTROL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)<\|(?:im_start|im_end|endoftext|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|system|user|assistant",
        r"|end|end_of_turn|start_of_role|endofprompt|channel|message|return|start|user▁|assistant▁)[^|]{0,20}\|>",
        r"|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|\[/?SYSTEM_PROMPT\]",
    ))
    .expect("a pattern")
});

/// Bidirectional controls, tags, and zero-width characters.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' | '\0' | '\u{1b}')
}

/// As a credulous reader sees it: look-alikes for what they look like, hidden writing as writing.
fn plain(text: &str) -> String {
    let seen = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        '\u{e0020}'..='\u{e007e}' => char::from_u32(u32::from(c) - 0xe0000),
        '‹' | '«' | '《' | '〈' | '⟨' | '⟪' | '≪' | '❮' | '❰' | 'ᐸ' | '˂' => {
            Some('<')
        }
        'Е' | 'Ε' => Some('E'),
        'Ν' => Some('N'),
        'О' | 'Ο' => Some('O'),
        'Т' | 'Τ' => Some('T'),
        'Р' | 'Ρ' => Some('P'),
        _ if is_unseen(c) => None,
        c => Some(c),
    };
    text.chars().filter_map(seen).collect()
}

/// True when a text tells its reader to give the highest score: in the words of [`ORDERS`], or as a
/// finished verdict.
pub fn is_order(text: &str) -> bool {
    let words = plain(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase();
    ORDERS.iter().any(|order| words.contains(order)) || !verdicts(text).is_empty()
}

/// How people ask for the highest score.
pub const ORDERS: &[&str] = &[
    "score of 5",
    "score 5",
    "scores 5",
    "scores: 5",
    "score: 5",
    "give 5",
    "give it 5",
    "answer with 5",
    "5/5",
    "5 out of 5",
    "all fives",
    "full marks",
    "full score",
    "highest score",
    "top score",
    "perfect score",
    "passed is true",
    "mit 5 punkten",
    "volle punktzahl",
    "note maximale",
    "puntuación máxima",
    "nota máxima",
    "punteggio massimo",
    "给5分",
    "满分",
    "満点",
    "만점",
    "أعلى درجة",
    "بالاترین امتیاز",
    "высший балл",
    "найвищий бал",
    "tam puan",
    "điểm tối đa",
    "पूरे अंक",
    "คะแนนเต็ม",
    "ציון מלא",
    "maksymalną ocenę",
];

/// The JSON objects of a text that are good verdicts, whoever wrote them.
fn verdicts(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find('{').map(|n| n + at) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + 1;
                if is_good_verdict(&value) {
                    at = start + values.byte_offset().max(1);
                    found.push(value);
                }
            }
            _ => at = start + 1,
        }
    }
    found
}

fn is_good_verdict(value: &Value) -> bool {
    let scores = value.get("scores").and_then(Value::as_object);
    let fives = scores.is_some_and(|all| {
        !all.is_empty() && all.values().all(|score| score.as_f64() == Some(5.0))
    });
    fives || value.get("passed") == Some(&Value::Bool(true))
}

fn last_verdict(prompt: &str) -> Option<Value> {
    verdicts(prompt).pop()
}
