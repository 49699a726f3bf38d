//! `notify:` to channels.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::problem::{Code, Problem};
use super::refs::lexical;
use super::scope::{SuiteDesk, seconds};
use super::source::Span;
use super::targets::check_program;
use super::template::{TemplateEngine, TemplateScope, is_template};
use super::tree::{Node, NodeValue};
use crate::model::{
    MESSAGE_NAMES, NotifyChannel, NotifyCommand, NotifyMethod, SecretText, SecretValue, Webhook,
};
use crate::spec::{ChannelSpec, NotifyCommandSpec, SuiteSpec, WebhookSpec};
use eval_base::nearest::did_you_mean;
use eval_base::redact::secrets_of_header;
use eval_models::net;

const TIMEOUT: Duration = Duration::from_secs(10);
const RETRIES: u32 = 3;
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// The channels of a suite; `env` is this process's environment. A channel that is wrong is told
/// and left out.
pub(super) fn channels(
    desk: &mut SuiteDesk,
    spec: &SuiteSpec,
    node: &Node,
    env: &BTreeMap<String, String>,
) -> Vec<NotifyChannel> {
    let wanted = spec.reporting.notify_on_failure;
    let at = || node.key_span("/reporting/notify_on_failure");
    if spec.notify.is_empty() && wanted == Some(true) && desk.suite.lenient {
        let message = "`notify_on_failure` has no channel: only the terminal bell will ring";
        let hint = "add `notify:` to the suite, such as `notify: [{type: webhook, url_env: SLACK_WEBHOOK_URL}]`";
        desk.push(Problem::warning(Code::SuspiciousValue, at(), message).hint(hint));
    }
    if !spec.notify.is_empty() && wanted.is_none() && desk.suite.lenient {
        let message = "no run will notify these channels: `reporting.notify_on_failure` is not set";
        let hint = "set it to true, or to false if only phases with `notification: true` should notify them";
        desk.push(
            Problem::warning(Code::SuspiciousValue, node.key_span("/notify"), message).hint(hint),
        );
    }
    let mut channels = Vec::new();
    for (place, channel) in spec.notify.iter().enumerate() {
        let at = node.at_pointer(&format!("/notify/{place}")).unwrap_or(node);
        channels.extend(match channel {
            ChannelSpec::Webhook(spec) => webhook(desk, spec, at, env).map(|way| NotifyChannel {
                name: named(spec.name.as_ref(), "webhook", place),
                on: spec.on,
                way: NotifyMethod::Webhook(Box::new(way)),
            }),
            ChannelSpec::Command(spec) => command(desk, spec, at).map(|way| NotifyChannel {
                name: named(spec.name.as_ref(), "command", place),
                on: spec.on,
                way: NotifyMethod::Command(way),
            }),
        });
    }
    channels
}

fn named(name: Option<&String>, kind: &str, place: usize) -> String {
    name.cloned()
        .unwrap_or_else(|| format!("{kind} {}", place + 1))
}

fn command(desk: &mut SuiteDesk, spec: &NotifyCommandSpec, node: &Node) -> Option<NotifyCommand> {
    check_program(desk, &spec.command, node.locate("/command"))?;
    Some(NotifyCommand {
        argv: spec.command.clone(),
        dir: desk.suite.dir.clone(),
        timeout: spec.timeout_seconds.map_or(COMMAND_TIMEOUT, seconds),
    })
}

fn webhook(
    desk: &mut SuiteDesk,
    spec: &WebhookSpec,
    node: &Node,
    env: &BTreeMap<String, String>,
) -> Option<Webhook> {
    let given = |desk: &mut SuiteDesk, name: &str| match env
        .get(name)
        .filter(|value| !value.trim().is_empty())
    {
        Some(value) => {
            desk.suite.secrets.add([value.trim().to_owned()]);
            SecretValue::Value(SecretText::new(value.trim()))
        }
        None => SecretValue::Unset(name.to_owned()),
    };
    let url = match (&spec.url, &spec.url_env) {
        (Some(_), Some(_)) => {
            let message = "use `url` or `url_env`, not both";
            return desk.refuse(
                Problem::error(Code::BothSpellings, node.key_span("/url"), message)
                    .hint("keep one"),
            );
        }
        (None, None) => {
            let message = "the webhook has no address";
            let hint = "add `url_env:` with the name of an environment variable that contains it";
            return desk.refuse(Problem::error(Code::BadRequest, node.span, message).hint(hint));
        }
        (None, Some(name)) => given(desk, name),
        (Some(url), None) => {
            check_url(desk, url, node.locate("/url"))?;
            desk.suite.secrets.add([url.clone()]);
            SecretValue::Value(SecretText::new(url))
        }
    };
    let mut headers = Vec::new();
    for (name, value) in &spec.headers {
        check_header(desk, name, value, node, "headers")?;
        desk.suite.secrets.add(secrets_of_header(name, value));
        headers.push((name.clone(), SecretValue::Value(SecretText::new(value))));
    }
    for (name, variable) in &spec.headers_env {
        // What the variable holds is looked at when it is sent.
        check_header(desk, name, "", node, "headers_env")?;
        if spec
            .headers
            .keys()
            .any(|other| other.eq_ignore_ascii_case(name))
        {
            let message = format!("the header `{name}` is in both `headers` and `headers_env`");
            let at = node.key_span("/headers_env");
            return desk.refuse(Problem::error(Code::BothSpellings, at, message).hint("keep one"));
        }
        headers.push((name.clone(), given(desk, variable)));
    }
    check_body(desk, node.get("body"))?;
    Some(Webhook {
        url,
        format: spec.format,
        body: spec.body.clone().filter(|body| *body != Value::Null),
        headers,
        timeout: spec.timeout_seconds.map_or(TIMEOUT, seconds),
        connect_timeout: spec.connect_timeout_seconds.map_or(TIMEOUT, seconds),
        retries: spec.retries.unwrap_or(RETRIES),
        ca_file: match &spec.ca_file {
            None => None,
            Some(file) => Some(authorities(desk, file, node.locate("/ca_file"))?),
        },
    })
}

fn authorities(desk: &mut SuiteDesk, file: &str, at: Span) -> Option<std::path::PathBuf> {
    let path = lexical(&Path::new(desk.dir).join(file));
    if net::certificates(&path).is_err() {
        let message = format!("no certificate can be read from `{file}`");
        let hint = "the path is relative to the file that contains it; certificates in PEM begin with `-----BEGIN CERTIFICATE-----`";
        desk.push_lenient(Problem::error(Code::BadRequest, at, message).hint(hint));
        return desk.suite.lenient.then_some(path);
    }
    Some(path)
}

fn check_url(desk: &mut SuiteDesk, url: &str, at: Span) -> Option<()> {
    let (message, hint) = match net::read_url(url) {
        Ok(_) => return Some(()),
        Err(_) if is_template(url) => (
            "`url` can't be a template",
            "put an address that varies into an environment variable, and set `url_env: NAME`",
        ),
        // The address is not repeated: it may be a secret.
        Err(_) => (
            "this is not an HTTP address",
            "an HTTP address begins with `http://` or `https://` and a host",
        ),
    };
    let problem = Problem::error(Code::BadRequest, at, message).hint(hint);
    desk.refuse(problem.hide_line())
}

fn check_header(
    desk: &mut SuiteDesk,
    name: &str,
    value: &str,
    node: &Node,
    key: &str,
) -> Option<()> {
    let Err(fault) = net::check_header(name, value) else {
        return Some(());
    };
    let map = node.get(key).and_then(Node::as_map);
    let entry = map.and_then(|all| all.iter().find(|(key, _)| *key.name == *name));
    let at = entry.map_or(node.span, |(key, _)| key.span);
    desk.refuse(Problem::error(Code::BadRequest, at, fault.to_string()))
}

/// Checks the templates of a body: only what a message holds can be filled in.
fn check_body(desk: &mut SuiteDesk, body: Option<&Node>) -> Option<()> {
    let Some(body) = body else { return Some(()) };
    let scope = TemplateScope::default();
    let engine = TemplateEngine::new(&scope);
    let mut texts = Vec::new();
    collect(body, &mut texts);
    let mut whole = true;
    for (text, span) in texts {
        let names = engine.names(text);
        let unknown = names
            .iter()
            .find(|name| !MESSAGE_NAMES.contains(&name.as_str()) && *name != "range");
        if let Some(name) = unknown {
            let close =
                did_you_mean(name, MESSAGE_NAMES).map(|known| format!("did you mean `{known}`? "));
            let message = format!("`{name}` is not available in a message");
            let hint = format!(
                "{}a message can use {}",
                close.unwrap_or_default(),
                MESSAGE_NAMES.join(", ")
            );
            desk.push(Problem::error(Code::UndefinedVariable, span, message).hint(hint));
            whole = false;
        } else {
            // What is left is its syntax.
            let later = [MESSAGE_NAMES.as_slice(), &["range"]].concat();
            whole &= engine.check(text, span, &later, desk.sources, desk.problems);
        }
    }
    whole.then_some(())
}

fn collect<'a>(node: &'a Node, texts: &mut Vec<(&'a str, Span)>) {
    match &node.value {
        NodeValue::Text(text) if is_template(text) => texts.push((text, node.span)),
        NodeValue::Seq(items) => items.iter().for_each(|item| collect(item, texts)),
        NodeValue::Map(entries) => entries.iter().for_each(|(_, value)| collect(value, texts)),
        _ => {}
    }
}
