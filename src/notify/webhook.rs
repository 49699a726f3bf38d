//! Webhooks: one POST, tried again while that can help.

use crate::model::{SecretValue, Webhook};
use crate::notify::retry::{RetryStep, TryResult, next};
use crate::notify::{NotifyMessage, payload};
use eval_base::redact::{Redactor, secrets_of_header};
use eval_base::text;
use eval_models::net::{self, ClientSettings, HttpClients, NetError, NetworkRequest};

/// Bytes of an answer that are read, and columns of it that a warning shows.
const ANSWER: usize = 4 << 10;
const SHOWN: usize = 200;

/// Sends the message; what went wrong though it was sent. An error says why it was not.
pub async fn send(
    hook: &Webhook,
    message: &NotifyMessage,
    clients: &HttpClients,
) -> Result<Vec<String>, String> {
    let address = revealed(&hook.url)?;
    let url = net::read_url(address).map_err(|_| match &hook.url {
        SecretValue::Value(_) => {
            "its address is not valid: write `http://` or `https://` and a host".to_owned()
        }
        SecretValue::Unset(name) => unset(name),
    })?;
    let redactor = redactor(hook, address);
    let (body, faults) = payload::of(hook, message);
    let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    for (name, value) in &hook.headers {
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        headers.push((name.clone(), revealed(value)?.to_owned()));
    }
    let request = NetworkRequest {
        method: "POST".to_owned(),
        url,
        headers,
        body: Some(body.into()),
        timeout: hook.timeout,
        first_byte: None,
        // A redirect would carry the message, and what the address holds, to somebody who was not
        // asked.
        redirects: 0,
    };
    let settings = ClientSettings {
        connect_timeout: hook.connect_timeout,
        ca_file: hook.ca_file.clone(),
        insecure: false,
        same_origin: false,
        gzip: false,
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let (tried, said) = once(clients, &settings, &request).await;
        match next(&tried, tries, hook.retries) {
            RetryStep::Done => return Ok(faults),
            RetryStep::After(pause) => tokio::time::sleep(pause).await,
            RetryStep::GiveUp(why) => {
                let said = text::one_line(&said);
                let said = redactor.redact(&said).unwrap_or(said);
                let said = text::truncate_width(&said, SHOWN);
                let why = redactor.redact(&why).unwrap_or(why);
                return Err(if said.is_empty() {
                    why
                } else {
                    format!("{why}: {said}")
                });
            }
        }
    }
}

async fn once(
    clients: &HttpClients,
    settings: &ClientSettings,
    request: &NetworkRequest,
) -> (TryResult, String) {
    let mut answer = match clients.open(settings, request).await {
        Ok(answer) => answer,
        Err(fault) => return (Err(fault), String::new()),
    };
    let status = answer.status();
    let retry_after = answer
        .headers()
        .find(|(name, _)| *name == "retry-after")
        .and_then(|(_, value)| std::str::from_utf8(value).ok()?.trim().parse().ok());
    let mut kept = Vec::new();
    // The status has decided; of a body that does not come whole, what came is told.
    if !(200..300).contains(&status) {
        let _: Result<bool, NetError> = answer.read(&mut kept, ANSWER).await;
    }
    (
        Ok((status, retry_after)),
        String::from_utf8_lossy(&kept).into_owned(),
    )
}

fn revealed(value: &SecretValue) -> Result<&str, String> {
    match value {
        SecretValue::Value(value) => Ok(value.reveal()),
        SecretValue::Unset(name) => Err(unset(name)),
    }
}

fn unset(name: &str) -> String {
    format!("the environment variable {name} is not set")
}

/// Finds the address and its parts, and what the headers hold, in what a server says.
fn redactor(hook: &Webhook, address: &str) -> Redactor {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut secrets = vec![address.to_owned(), path.to_owned(), format!("/{path}")];
    secrets.extend(path.split(['/', '?', '&', '=', '#']).map(str::to_owned));
    secrets.extend(
        host.rsplit_once('@')
            .map(|(user, _)| user)
            .into_iter()
            .flat_map(|user| user.split(':').chain([user]).map(str::to_owned)),
    );
    for (name, value) in &hook.headers {
        if let SecretValue::Value(value) = value {
            secrets.push(value.reveal().to_owned());
            secrets.extend(secrets_of_header(name, value.reveal()));
        }
    }
    Redactor::new(secrets)
}
