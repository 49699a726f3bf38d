//! A message as a webhook is sent it.
//!
//! What a message holds is only ever a value. In Slack's format it is escaped so that it is no
//! mention, no link and no markup.

use minijinja::Value as Jinja;
use serde_json::{Map, Value, json};

use crate::load::{environment, to_jinja};
use crate::model::limits;
use crate::model::{Decision, Webhook};
use crate::notify::{NotifyFailure, NotifyMessage};
use crate::spec::NotifyFormat;
use eval_base::text;

/// What is sent, and what was wrong with it: a body that can't be filled is replaced by the
/// format's own.
pub fn of(hook: &Webhook, message: &NotifyMessage) -> (Vec<u8>, Vec<String>) {
    let usual = || match hook.format {
        NotifyFormat::Slack => json!({ "text": slack(message) }).to_string().into_bytes(),
        NotifyFormat::Json => serde_json::to_vec(message).unwrap_or_default(),
    };
    let Some(template) = &hook.body else {
        return (usual(), Vec::new());
    };
    match filled(template, hook.format, message) {
        Ok(body) if body.len() <= limits::NOTIFICATION => (body, Vec::new()),
        Ok(_) => {
            let fault = format!(
                "its `body` exceeds {} KiB; the default body was sent",
                limits::NOTIFICATION >> 10
            );
            (usual(), vec![fault])
        }
        Err(error) => {
            let fault = format!("its `body` cannot be filled ({error}); the default body was sent");
            (usual(), vec![fault])
        }
    }
}

fn filled(
    template: &Value,
    format: NotifyFormat,
    message: &NotifyMessage,
) -> Result<Vec<u8>, String> {
    let mut context = serde_json::to_value(message).map_err(|error| error.to_string())?;
    if format == NotifyFormat::Slack {
        context = escaped(context);
    }
    let engine = environment(false);
    Ok(fill(template, &engine, &to_jinja(&context), &context)?
        .to_string()
        .into_bytes())
}

/// All texts of a value, names of metrics included, made harmless for Slack.
fn escaped(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(harmless(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(escaped).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(name, value)| (harmless(&name), escaped(value)))
                .collect(),
        ),
        other => other,
    }
}

fn fill(
    template: &Value,
    engine: &minijinja::Environment,
    names: &Jinja,
    context: &Value,
) -> Result<Value, String> {
    Ok(match template {
        Value::String(text) => match lone_name(text).and_then(|name| context.get(name)) {
            Some(value) => value.clone(),
            None if text.contains("{{") || text.contains("{%") || text.contains("{#") => {
                Value::String(
                    engine
                        .render_str(text, names)
                        .map_err(|error| explain(&error))?,
                )
            }
            None => template.clone(),
        },
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| fill(item, engine, names, context))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(map) => {
            let mut filled = Map::new();
            for (key, value) in map {
                filled.insert(key.clone(), fill(value, engine, names, context)?);
            }
            Value::Object(filled)
        }
        other => other.clone(),
    })
}

/// The name of a text that is `{{ name }}` and nothing else.
fn lone_name(text: &str) -> Option<&str> {
    Some(text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim())
}

/// Without what the engine shows of values.
fn explain(error: &minijinja::Error) -> String {
    text::truncate_width(&text::one_line(&error.to_string()), 200).into_owned()
}

fn sign(decision: Decision) -> &'static str {
    match decision {
        Decision::Pass => "✅",
        Decision::Fail => "❌",
        Decision::Incomplete => "⚠️",
        Decision::Pending => "⏳",
        Decision::Undecided => "➗",
    }
}

/// The message in Slack's markup, at most [`limits::SLACK_TEXT`] characters: what is omitted is counted.
fn slack(message: &NotifyMessage) -> String {
    let mut head = format!(
        "{} *{}*",
        sign(message.decision),
        message.decision.name().to_uppercase()
    );
    for (what, name) in [("phase", &message.phase), ("suite", &message.suite)] {
        if let Some(name) = name {
            head.push_str(&format!(" {what} {}", code(name)));
        }
    }
    head.push_str(&format!(" (exit code {})", message.exit_code));
    let mut foot = String::new();
    for (what, value) in [("Run", &message.run_id), ("Report", &message.report)] {
        if let Some(value) = value {
            foot.push_str(&format!("\n{what} {}", code(value)));
        }
    }
    let mut lines: Vec<String> = message
        .reasons
        .iter()
        .map(|reason| format!("• {}", code(reason)))
        .collect();
    let reasons = lines.len();
    lines.extend(message.failures.iter().map(failed));
    let mut used = head.chars().count() + foot.chars().count() + 60;
    let shown = lines
        .iter()
        .take_while(|line| {
            used += line.chars().count() + 1;
            used <= limits::SLACK_TEXT
        })
        .count();
    let mut text = head;
    for line in lines.iter().take(shown) {
        text.push('\n');
        text.push_str(line);
    }
    let cut = reasons.saturating_sub(shown);
    if cut > 0 {
        text.push_str(&format!("\n... and {}", text::plural(cut, "more reason")));
    }
    let more = message
        .failures
        .len()
        .saturating_sub(shown.saturating_sub(reasons))
        + message.more_failures;
    if more > 0 {
        text.push_str(&format!(
            "\n... and {} that did not pass",
            text::plural(more, "more item")
        ));
    }
    text.push_str(&foot);
    text
}

fn failed(failed: &NotifyFailure) -> String {
    let mut line = format!("• {} {}", failed.outcome, failed.kind);
    let mut names = vec![failed.id.as_str()];
    if !failed.id.split('/').any(|part| part == failed.name) {
        names.push(&failed.name);
    }
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        line.push_str(&format!(" {}", code(name)));
    }
    line
}

/// A text as code, in which Slack and its kin read no markup, link or mention.
fn code(raw: &str) -> String {
    match harmless(raw) {
        text if text.trim().is_empty() => "`(empty)`".to_owned(),
        text => format!("`{text}`"),
    }
}

/// A text without anything that Slack reads: `&`, `<` and `>` as it wants them (what it makes links
/// and mentions of stands between the two), and look-alikes for signs that turn text into markup,
/// links or, elsewhere, mentions.
fn harmless(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len() + 16);
    let mut before: Option<char> = None;
    let mut rest = raw.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let within =
            before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '`' => out.push('ʼ'),
            '*' => out.push('∗'),
            '~' => out.push('∼'),
            '_' if !within => out.push('＿'),
            '@' if next.is_some_and(char::is_alphabetic) => out.push('＠'),
            '/' if before == Some('/') => out.push('∕'),
            _ => out.push(c),
        }
        before = Some(c);
    }
    out
}

#[cfg(test)]
mod tests;
