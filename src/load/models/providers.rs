//! `providers:` of a suite.

use std::collections::BTreeMap;

use super::{api_of, name, request};
use crate::load::problem::{Code, Problem};
use crate::load::reach::SparePart;
use crate::load::scope::SuiteDesk;
use crate::load::source::Span;
use crate::load::targets::{check_base, check_headers};
use crate::load::tree::Node;
use crate::model::ProviderApi;
use crate::spec::{ApiWord, ProviderSpec};

/// One of them, with where it is written.
pub(in crate::load) type WrittenProvider = (ProviderSpec, Node);

/// By name.
pub(in crate::load) type WrittenProviders = BTreeMap<String, WrittenProvider>;

/// Where an API is, and the variable that usually holds its key.
pub(super) fn home_of(api: ProviderApi) -> Option<(&'static str, &'static str)> {
    match api {
        ProviderApi::Openai => Some(("https://api.openai.com/v1", "OPENAI_API_KEY")),
        ProviderApi::Anthropic => Some(("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")),
        ProviderApi::Http => None,
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
            .map(|(url, _)| url.to_owned())
    })
}

/// Checks what a suite says of its providers, used or not.
pub(in crate::load) fn check_providers(desk: &mut SuiteDesk) {
    let suite = desk.suite;
    for (name, (spec, node)) in suite.providers.iter() {
        let usable = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(usable) {
            let message = "a provider's name is made of letters, digits, `-`, `_` and `.`";
            desk.push(Problem::error(Code::BadFormat, node.span, message));
        }
        if base_url(name, Some(spec)).is_none() {
            let message = format!("nothing says where the provider `{name}` is");
            let hint = "add `base_url: \"http://...\"`, or `api: openai` or `api: anthropic` for the places that these have";
            desk.push(Problem::error(Code::BadRequest, node.span, message).hint(hint));
        }
        if let Some(url) = &spec.base_url {
            let at = node.locate("/base_url");
            if check_base(desk, url, at).is_some() {
                check_end(desk, url, api(name, Some(spec)), at);
            }
        }
        check_headers(desk, &spec.headers, node);
        let api = api(name, Some(spec));
        match &spec.request {
            Some(_) if api != ProviderApi::Http => {
                let message = format!(
                    "`request` describes a custom API; `{}` has a fixed one",
                    api.name()
                );
                desk.push(
                    Problem::error(Code::BadRequest, node.key_span("/request"), message)
                        .hint("leave out `api`, or `request`"),
                );
            }
            Some(spec) => _ = request::dialect(desk, spec, node.get("request").unwrap_or(node)),
            None => {}
        }
    }
}

/// Refuses an address that already ends with what is put behind it.
pub(super) fn check_end(desk: &mut SuiteDesk, url: &str, api: ProviderApi, at: Span) {
    let ends: &[&str] = match api {
        ProviderApi::Openai => &["/chat/completions", "/completions", "/responses"],
        ProviderApi::Anthropic => &["/messages"],
        ProviderApi::Http => &[],
    };
    let trimmed = url.split('?').next().unwrap_or(url).trim_end_matches('/');
    if let Some(end) = ends.iter().find(|end| trimmed.ends_with(**end)) {
        let message = format!("`base_url` ends where the API's own path begins, before `{end}`");
        desk.push(
            Problem::error(Code::BadRequest, at, message)
                .hint("leave the path out: it is put behind the address"),
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
