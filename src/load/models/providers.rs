//! `providers:` of a suite.

use std::collections::BTreeMap;

use super::{api_of, key, name, request};
use crate::load::problem::{Code, Problem};
use crate::load::reach::SparePart;
use crate::load::scope::SuiteDesk;
use crate::load::source::Span;
use crate::load::targets::{check_base, check_headers};
use crate::load::tree::Node;
use crate::model::ProviderApi;
use crate::spec::{ApiWord, ProviderSpec};
use eval_models::net;

/// One of them, with where it is written.
pub(in crate::load) type WrittenProvider = (ProviderSpec, Node);

/// By name.
pub(in crate::load) type WrittenProviders = BTreeMap<String, WrittenProvider>;

/// Where an API usually is.
#[derive(Clone, Copy)]
pub(super) struct ProviderHome {
    pub url: &'static str,
    /// The variable that contains its key.
    pub key: &'static str,
    /// The variable that contains another address.
    address: &'static str,
}

pub(super) fn home_of(api: ProviderApi) -> Option<ProviderHome> {
    match api {
        ProviderApi::Openai => Some(ProviderHome {
            url: "https://api.openai.com/v1",
            key: "OPENAI_API_KEY",
            address: "OPENAI_BASE_URL",
        }),
        ProviderApi::Anthropic => Some(ProviderHome {
            url: "https://api.anthropic.com/v1",
            key: "ANTHROPIC_API_KEY",
            address: "ANTHROPIC_BASE_URL",
        }),
        ProviderApi::Http => None,
    }
}

/// An address that the environment sets.
pub(super) struct SetAddress {
    pub variable: &'static str,
    /// As `base_url` would be written.
    pub url: String,
}

/// The address that the environment sets for a built-in provider of which no file says one.
pub(super) fn set_address(
    desk: &SuiteDesk,
    name: &str,
    spec: Option<&ProviderSpec>,
) -> Option<SetAddress> {
    let api = api(name, spec);
    let home = home_of(api).filter(|_| name == api.name())?;
    if spec.is_some_and(|spec| spec.base_url.is_some()) {
        return None;
    }
    let set = desk.suite.environment.get(home.address)?.trim();
    let (path, query) = set.split_at(set.find('?').unwrap_or(set.len()));
    let mut path = path.trim_end_matches('/').to_owned();
    // Anthropic's own clients put `/v1` behind the address. With the API's path it is an error.
    if api == ProviderApi::Anthropic && !path.ends_with("/v1") && api_path(&path, api).is_none() {
        path.push_str("/v1");
    }
    (!set.is_empty()).then(|| SetAddress {
        variable: home.address,
        url: format!("{path}{query}"),
    })
}

impl SetAddress {
    /// The address if it is one.
    pub fn read(self, desk: &mut SuiteDesk, api: ProviderApi, at: Span) -> Option<String> {
        let why = match net::read_base(&self.url) {
            Err(error) => error.to_string(),
            Ok(_) => match api_path(&self.url, api) {
                Some(end) => format!("it must not include the API's path `{end}`"),
                None => return Some(self.url),
            },
        };
        let message = format!("`{}` is not an address of the API: {why}", self.variable);
        let hint = format!(
            "set it to an address such as `{}`, or unset it",
            home_of(api).map_or("http://127.0.0.1:8080", |home| home.url)
        );
        desk.refuse(Problem::error(Code::BadRequest, at, message).hint(hint))
    }
}

/// What is known of a provider by its name alone, or by what the suite says of it.
pub(super) fn api(name: &str, spec: Option<&ProviderSpec>) -> ProviderApi {
    let said = spec.and_then(|spec| spec.api.or(spec.request.as_ref().map(|_| ApiWord::Http)));
    match (said, name) {
        (Some(word), _) => api_of(word),
        (None, "anthropic") => ProviderApi::Anthropic,
        (None, "http") => ProviderApi::Http,
        (None, _) => ProviderApi::Openai,
    }
}

/// The address that a provider has without a target's word; `None` when nobody says one.
pub(super) fn base_url(name: &str, spec: Option<&ProviderSpec>) -> Option<String> {
    let said = spec.and_then(|spec| spec.base_url.clone());
    // Who only calls it by a name has to say where it is.
    let known = name::BUILT_IN.contains(&name) || spec.is_some_and(|spec| spec.api.is_some());
    said.or_else(|| {
        home_of(api(name, spec))
            .filter(|_| known)
            .map(|home| home.url.to_owned())
    })
}

/// Checks what a suite says of its providers, used or not.
pub(in crate::load) fn check_providers(desk: &mut SuiteDesk) {
    let suite = desk.suite;
    for (name, (spec, node)) in suite.providers.iter() {
        let usable = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(usable) {
            let message = "a provider's name may contain only letters, digits, `-`, `_` and `.`";
            desk.push(Problem::error(Code::BadFormat, node.span, message));
        }
        if base_url(name, Some(spec)).is_none() {
            let message = format!("the provider `{name}` has no `base_url`");
            let hint = "add `base_url: \"http://...\"`, or `api: openai` or `api: anthropic` to use that API's address";
            desk.push(Problem::error(Code::BadRequest, node.span, message).hint(hint));
        }
        if let Some(url) = &spec.base_url {
            let at = node.locate("/base_url");
            if check_base(desk, url, at).is_some() {
                check_end(desk, url, api(name, Some(spec)), at);
            }
        }
        key::written_like_a_model(desk, spec, node);
        check_headers(desk, &spec.headers, node);
        let api = api(name, Some(spec));
        match &spec.request {
            Some(_) if api != ProviderApi::Http => {
                let message = format!(
                    "`request` is for custom APIs, but the API of `{}` is fixed",
                    api.name()
                );
                desk.push(
                    Problem::error(Code::BadRequest, node.key_span("/request"), message)
                        .hint("remove `api` or `request`"),
                );
            }
            Some(spec) => _ = request::dialect(desk, spec, node.get("request").unwrap_or(node)),
            None => {}
        }
    }
}

/// The API's path, if an address ends with it: it would be added again.
fn api_path(url: &str, api: ProviderApi) -> Option<&'static str> {
    let ends: &[&'static str] = match api {
        ProviderApi::Openai => &["/chat/completions", "/completions", "/responses"],
        ProviderApi::Anthropic => &["/messages"],
        ProviderApi::Http => &[],
    };
    let trimmed = url.split('?').next().unwrap_or(url).trim_end_matches('/');
    ends.iter().copied().find(|end| trimmed.ends_with(end))
}

/// Refuses an address that already ends with what is put behind it.
pub(super) fn check_end(desk: &mut SuiteDesk, url: &str, api: ProviderApi, at: Span) {
    if let Some(end) = api_path(url, api) {
        let message = format!("`base_url` must not include the API's path `{end}`");
        desk.push(
            Problem::error(Code::BadRequest, at, message)
                .hint("remove the path: it is added to the address"),
        );
    }
}

/// Reports what the provider of a model lacks; `None` when it lacks something. Headers are not sent
/// where the model's answers are recorded, and may lack keys.
pub(super) fn require(desk: &mut SuiteDesk, name: &str, is_replayed: bool) -> Option<()> {
    let suite = desk.suite;
    let part = SparePart::Provider(name.to_owned());
    let headers = find(desk, name)
        .filter(|_| is_replayed)
        .and_then(|(_, node)| node.get("headers"));
    let is_key = |lack: &Problem| {
        headers
            .zip(lack.span)
            .is_some_and(|(node, at)| node.span.overlaps(at))
    };
    match suite.missing.get(&part) {
        Some(lacks) if !lacks.iter().all(is_key) => desk.require(&part),
        _ => Some(()),
    }
}

/// The provider of a model, and its node; `None` for one that only this program knows.
pub(super) fn find<'a>(desk: &SuiteDesk<'a>, name: &str) -> Option<&'a WrittenProvider> {
    desk.suite.providers.get(name)
}
