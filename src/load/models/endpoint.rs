//! A model and the way to it, from what the target, its provider and this program say.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::name::NamedModel;
use super::providers::{self, WrittenProvider};
use super::{WrittenModel, key, layered, name, request, settings_of};
use crate::load::prices;
use crate::load::problem::{Code, Problem};
use crate::load::refs::lexical;
use crate::load::scope::{SuiteDesk, seconds};
use crate::load::source::Span;
use crate::load::targets::{authorities, check_base, check_headers};
use crate::load::template::is_template;
use crate::model::{CallLimits, Endpoint, HttpDialect, LaneLimits, ProviderApi};
use crate::spec::{ModelSpec, ProviderSpec};
use eval_base::redact::is_sensitive_header;
use eval_models::net;

/// `None` after saying what is wrong.
pub(super) fn resolve(desk: &mut SuiteDesk, written: &WrittenModel) -> Option<Endpoint> {
    let named = name::resolve(desk, written)?;
    providers::require(desk, &named.provider, written.spec.replay.is_some())?;
    let provider = providers::find(desk, &named.provider).cloned();
    let of = provider.as_ref().map(|(spec, _)| spec);
    let api = api(desk, written, &named, of)?;
    let (base_url, elsewhere) = address(desk, written, &named, of, api)?;
    let headers = headers(desk, written, of, elsewhere)?;
    let key = match key_env(written, provider.as_ref(), api, &base_url, elsewhere) {
        Some((env, at)) => Some(key::read(desk, &env, at)?),
        None => None,
    };
    let mut below = of.cloned().unwrap_or_default();
    if elsewhere {
        // An allowance of one place does not hold at another, and who trusts one blindly does not
        // trust every other.
        below.insecure = None;
        below.max_concurrency = None;
        below.requests_per_minute = None;
        below.tokens_per_minute = None;
    }
    let joint = layered([settings_of(&below), settings_of(written.spec)]);
    Some(Endpoint {
        api,
        dialect: dialect(desk, written, provider.as_ref(), api)?,
        headers,
        key,
        limits: limits(desk, written, &joint, &named, &base_url, elsewhere),
        patience: patience(desk, &joint),
        ca_file: ca_file(desk, written, of)?,
        insecure: joint.insecure.unwrap_or(false),
        price: {
            let holder = written.node_of("price");
            let node = holder.get("price").unwrap_or(holder);
            let own = written.spec.price.as_ref().map(|price| (price, node));
            prices::price_of(desk, own, &named.provider, &named.model)
        },
        replay: replay(desk, written)?,
        provider: named.provider,
        model: named.model,
        base_url,
    })
}

fn api(
    desk: &mut SuiteDesk,
    written: &WrittenModel,
    named: &NamedModel,
    of: Option<&ProviderSpec>,
) -> Option<ProviderApi> {
    let api = match (of, written.spec.request.is_some()) {
        // Of a suite that is not known; it will say that its API is one's own.
        (None, true) if !name::BUILT_IN.contains(&named.provider.as_str()) => ProviderApi::Http,
        _ => providers::api(&named.provider, of),
    };
    match (
        api,
        written.spec.request.is_some(),
        of.is_some_and(|of| of.request.is_some()),
    ) {
        (ProviderApi::Http, false, false) => {
            let message = "nothing says how the API is asked";
            let hint = "add `request: {body: {prompt: \"{{ prompt }}\"}, answer: \"$.text\"}`";
            desk.refuse(Problem::error(Code::BadRequest, written.at("model"), message).hint(hint))
        }
        (ProviderApi::Openai | ProviderApi::Anthropic, true, _) => {
            let message = format!(
                "`request` describes a custom API; `{}` has a fixed one",
                named.provider
            );
            let at = written.node_of("request").key_span("/request");
            let hint = format!(
                "write `model: \"http:{}\"`, or leave `request` out",
                named.model
            );
            desk.refuse(Problem::error(Code::BadRequest, at, message).hint(hint))
        }
        _ => Some(api),
    }
}

/// The address, and whether it is another than the provider's.
fn address(
    desk: &mut SuiteDesk,
    written: &WrittenModel,
    named: &NamedModel,
    of: Option<&ProviderSpec>,
    api: ProviderApi,
) -> Option<(String, bool)> {
    let usual = providers::base_url(&named.provider, of);
    let usual = usual.map(|url| url.trim_end_matches('/').to_owned());
    if let Some(url) = of.and_then(|of| of.base_url.as_ref()) {
        desk.suite.secrets.of_endpoint(url);
    }
    let Some(own) = &written.spec.base_url else {
        if usual.is_none() && !desk.suite.shelf.open {
            let message = format!("nothing says where `{}` is", named.model);
            desk.push(
                Problem::error(Code::BadRequest, written.at("model"), message)
                    .hint("add `base_url: \"http://...\"`"),
            );
        }
        return usual.map(|url| (url, false));
    };
    let at = written.at("base_url");
    check_base(desk, own, at)?;
    if !is_template(own) {
        providers::check_end(desk, own, api, at);
    }
    desk.suite.secrets.of_endpoint(own);
    let own = own.trim_end_matches('/').to_owned();
    let elsewhere = usual.as_ref() != Some(&own);
    Some((own, elsewhere))
}

/// Headers of two, the second ones win. Those of the first that open doors stay behind when the
/// address is another.
pub(super) fn joined(
    below: &BTreeMap<String, String>,
    above: &BTreeMap<String, String>,
    elsewhere: bool,
) -> BTreeMap<String, String> {
    let hidden = |name: &String| above.keys().any(|own| own.eq_ignore_ascii_case(name));
    let kept = below
        .iter()
        .filter(|(name, _)| !(hidden(name) || elsewhere && is_sensitive_header(name)));
    kept.chain(above)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn headers(
    desk: &mut SuiteDesk,
    written: &WrittenModel,
    of: Option<&ProviderSpec>,
    elsewhere: bool,
) -> Option<BTreeMap<String, String>> {
    check_headers(desk, &written.spec.headers, written.node_of("headers"))?;
    let none = BTreeMap::new();
    let all = joined(
        of.map_or(&none, |of| &of.headers),
        &written.spec.headers,
        elsewhere,
    );
    desk.suite.secrets.of_headers(&all);
    Some(all)
}

/// The variable that holds the key, and where that is said. A key goes nowhere but where it was
/// written for: to an address of one's own only with a word of one's own.
fn key_env(
    written: &WrittenModel,
    provider: Option<&WrittenProvider>,
    api: ProviderApi,
    base_url: &str,
    elsewhere: bool,
) -> Option<(String, Span)> {
    if let Some(env) = &written.spec.api_key_env {
        return Some((env.clone(), written.at("api_key_env")));
    }
    if let Some((spec, node)) = provider.filter(|_| !elsewhere)
        && let Some(env) = &spec.api_key_env
    {
        return Some((env.clone(), node.locate("/api_key_env")));
    }
    let (home, env) = providers::home_of(api)?;
    (base_url == home).then(|| (env.to_owned(), written.at("model")))
}

fn dialect(
    desk: &mut SuiteDesk,
    written: &WrittenModel,
    provider: Option<&WrittenProvider>,
    api: ProviderApi,
) -> Option<Option<Box<HttpDialect>>> {
    if api != ProviderApi::Http {
        return Some(None);
    }
    let own = written.spec.request.as_ref();
    let (spec, node) = match (own, provider) {
        (Some(own), _) => (own, written.node_of("request")),
        (None, Some((spec, node))) => (spec.request.as_ref()?, node),
        (None, None) => return None,
    };
    let dialect = request::dialect(desk, spec, node.get("request").unwrap_or(node))?;
    Some(Some(Box::new(dialect)))
}

/// Targets that say nothing of it share the allowance of their provider; one that does has a lane
/// of its own.
fn limits(
    desk: &SuiteDesk,
    written: &WrittenModel,
    joint: &ModelSpec,
    named: &NamedModel,
    base_url: &str,
    elsewhere: bool,
) -> LaneLimits {
    let (spec, usual) = (
        written.spec,
        desk.suite.workers.unwrap_or(LaneLimits::CONCURRENCY),
    );
    let max_concurrency = joint.max_concurrency.unwrap_or(usual).max(1);
    let (requests_per_minute, tokens_per_minute) =
        (joint.requests_per_minute, joint.tokens_per_minute);
    let own = spec.max_concurrency.is_some()
        || spec.requests_per_minute.is_some()
        || spec.tokens_per_minute.is_some();
    let mut lane = named.provider.clone();
    if own {
        lane.push_str(&format!(":{}", named.model));
    }
    if elsewhere {
        let place = net::read_base(base_url).ok();
        let host = place
            .as_ref()
            .and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
        lane.push_str(
            &host
                .map(|(host, port)| format!(" at {host}:{port}"))
                .unwrap_or_default(),
        );
    }
    if own {
        // Two targets with different limits are told apart, and nobody else needs to read it.
        lane.push_str(&format!(" ({max_concurrency} at once"));
        let per_minute = [
            ("requests", requests_per_minute),
            ("tokens", tokens_per_minute),
        ];
        for (what, limit) in per_minute
            .into_iter()
            .filter_map(|(what, limit)| Some((what, limit?)))
        {
            lane.push_str(&format!(", {limit} {what} a minute"));
        }
        lane.push(')');
    }
    LaneLimits {
        lane,
        max_concurrency,
        requests_per_minute,
        tokens_per_minute,
    }
}

fn patience(desk: &SuiteDesk, joint: &ModelSpec) -> CallLimits {
    let usual = CallLimits::default();
    let total = joint.timeout_seconds.map(seconds);
    CallLimits {
        connect: joint.connect_timeout_seconds.map_or(usual.connect, seconds),
        first_byte: joint.first_byte_timeout_seconds.map(seconds),
        // The command line's wins, which the case has.
        total: total.filter(|_| desk.suite.timeout.is_none()),
        retries: joint.retries.unwrap_or(usual.retries),
        max_answer_bytes: joint.max_answer_bytes.unwrap_or(usual.max_answer_bytes),
    }
}

fn ca_file(
    desk: &mut SuiteDesk,
    written: &WrittenModel,
    of: Option<&ProviderSpec>,
) -> Option<Option<PathBuf>> {
    let suite_dir = desk.suite.dir.clone();
    match (&written.spec.ca_file, of.and_then(|of| of.ca_file.as_ref())) {
        (Some(own), _) => authorities(desk, own, written.at("ca_file"), written.dir),
        // Said in the suite's file.
        (None, Some(file)) => authorities(desk, file, written.node.span, &suite_dir),
        (None, None) => Some(None),
    }
}

fn replay(desk: &mut SuiteDesk, written: &WrittenModel) -> Option<Option<PathBuf>> {
    let Some(folder) = &written.spec.replay else {
        return Some(None);
    };
    let path = lexical(&written.dir.join(folder));
    if path.is_dir() || is_template(folder) {
        return Some(Some(path));
    }
    let message = format!("there is no folder `{folder}` of recorded exchanges");
    let hint =
        "the path is relative to the file that names it; `--record DIR` writes such a folder";
    desk.push_lenient(Problem::error(Code::MissingRef, written.at("replay"), message).hint(hint));
    desk.suite.lenient.then_some(Some(path))
}
