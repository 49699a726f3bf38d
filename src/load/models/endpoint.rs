//! A model and the way to it, from what the target, its provider and this program say.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::to_value;

use super::name::NamedModel;
use super::providers::{self, ProviderHome, WrittenProvider};
use super::{WrittenModel, key, layered, name, read, request};
use crate::load::prices;
use crate::load::problem::{Code, Problem};
use crate::load::refs::lexical;
use crate::load::scope::{SuiteDesk, seconds};
use crate::load::source::Span;
use crate::load::targets::{authorities, check_base, check_headers};
use crate::load::template::is_template;
use crate::model::{CallLimits, Endpoint, HttpDialect, KeySource, LaneLimits, ProviderApi};
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
    let ModelAddress {
        base_url,
        elsewhere,
        has_usual_key,
        variable,
    } = address(desk, written, &named, of, api)?;
    let headers = headers(desk, written, of, elsewhere)?;
    let provider_here = provider.as_ref().filter(|_| !elsewhere);
    let usual = providers::home_of(api).filter(|_| has_usual_key);
    let key = match key_source(desk, written, provider_here, usual)? {
        Some((source, at)) => Some(key::read(desk, source, at)?),
        None => None,
    };
    let mut below = of.cloned().unwrap_or_default();
    if elsewhere {
        // The rate limits and the trust of one address do not apply to another.
        below.insecure = None;
        below.max_concurrency = None;
        below.requests_per_minute = None;
        below.tokens_per_minute = None;
    }
    let joint = layered([to_value(&below), to_value(written.spec)]);
    let joint = read(desk, written.node, joint)?;
    Some(Endpoint {
        api,
        address_variable: variable.map(str::to_owned),
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
        // The provider's suite is not known; `request` implies a custom API.
        (None, true) if !name::BUILT_IN.contains(&named.provider.as_str()) => ProviderApi::Http,
        _ => providers::api(&named.provider, of),
    };
    match (
        api,
        written.spec.request.is_some(),
        of.is_some_and(|of| of.request.is_some()),
    ) {
        (ProviderApi::Http, false, false) => {
            let message = "`request` is not set, so the API can't be called";
            let hint = "add `request: {body: {prompt: \"{{ prompt }}\"}, answer: \"$.text\"}`";
            desk.refuse(Problem::error(Code::BadRequest, written.at("model"), message).hint(hint))
        }
        (ProviderApi::Openai | ProviderApi::Anthropic, true, _) => {
            let message = format!(
                "`request` is for custom APIs, but the API of `{}` is fixed",
                named.provider
            );
            let at = written.node_of("request").key_span("/request");
            let hint = format!(
                "write `model: \"http:{}\"`, or remove `request`",
                named.model
            );
            desk.refuse(Problem::error(Code::BadRequest, at, message).hint(hint))
        }
        _ => Some(api),
    }
}

/// Where a model is called.
struct ModelAddress {
    base_url: String,
    /// It is not the provider's.
    elsewhere: bool,
    /// The provider's usual variable has the key for it.
    has_usual_key: bool,
    /// The variable that sets it.
    variable: Option<&'static str>,
}

fn address(
    desk: &mut SuiteDesk,
    written: &WrittenModel,
    named: &NamedModel,
    of: Option<&ProviderSpec>,
    api: ProviderApi,
) -> Option<ModelAddress> {
    // A written address is the suite's, whatever the environment sets.
    let set = providers::set_address(desk, &named.provider, of)
        .filter(|_| written.spec.base_url.is_none());
    if let Some(set) = set {
        let variable = Some(set.variable);
        let url = set.read(desk, api, written.at("model"))?;
        desk.suite.secrets.of_endpoint(&url);
        return Some(ModelAddress {
            base_url: url,
            elsewhere: false,
            has_usual_key: true,
            variable,
        });
    }
    let usual = providers::base_url(&named.provider, of);
    let usual = usual.map(|url| url.trim_end_matches('/').to_owned());
    if let Some(url) = of.and_then(|of| of.base_url.as_ref()) {
        desk.suite.secrets.of_endpoint(url);
    }
    let is_home = |url: &str| providers::home_of(api).is_some_and(|home| home.url == url);
    let Some(own) = &written.spec.base_url else {
        if usual.is_none() && !desk.suite.shelf.open {
            let message = format!("`{}` has no `base_url`", named.model);
            desk.push(
                Problem::error(Code::BadRequest, written.at("model"), message)
                    .hint("add `base_url: \"http://...\"`"),
            );
        }
        return usual.map(|url| ModelAddress {
            elsewhere: false,
            has_usual_key: is_home(&url),
            base_url: url,
            variable: None,
        });
    };
    let at = written.at("base_url");
    check_base(desk, own, at)?;
    if !is_template(own) {
        providers::check_end(desk, own, api, at);
    }
    desk.suite.secrets.of_endpoint(own);
    let own = own.trim_end_matches('/').to_owned();
    Some(ModelAddress {
        elsewhere: usual.as_ref() != Some(&own),
        has_usual_key: is_home(&own),
        base_url: own,
        variable: None,
    })
}

/// The headers of both; the second ones override the first. Sensitive headers of the first are
/// omitted when the address differs.
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

/// Where the key is read from, and the place that says so. A key is sent only to the address that it
/// was configured for: a custom address needs its own setting.
fn key_source(
    desk: &mut SuiteDesk,
    written: &WrittenModel,
    provider: Option<&WrittenProvider>,
    usual: Option<ProviderHome>,
) -> Option<Option<(KeySource, Span)>> {
    let own = ["api_key_env", "api_key_file", "api_key_command"]
        .into_iter()
        .any(|key| written.node.get(key).is_some());
    // Settings of the suite's target include its key, whose path starts in the suite's folder.
    let (node, dir) = match written.base.filter(|_| !own) {
        Some(base) => (base, desk.suite.dir.clone()),
        None => (written.node, written.dir.to_owned()),
    };
    if let Some(found) = key::written(desk, written.spec, node, &dir)? {
        return Some(Some(found));
    }
    if let Some((spec, node)) = provider
        && let Some(found) = key::written_like_a_model(desk, spec, node)?
    {
        return Some(Some(found));
    }
    let Some(home) = usual else { return Some(None) };
    let at = written.at("model");
    Some(Some((key::variable(desk, home.key, at)?, at)))
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

/// Targets without limits share those of their provider; a target with limits has a separate lane.
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
        // The name of the lane distinguishes targets with different limits.
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
        // A time limit of the command line overrides this one; it is that of each case.
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
        // The path is in the suite's file.
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
    let message = format!("the folder `{folder}` of recorded exchanges does not exist");
    let hint =
        "the path is relative to the file that contains it; `--record DIR` writes such a folder";
    desk.push_lenient(Problem::error(Code::MissingRef, written.at("replay"), message).hint(hint));
    desk.suite.lenient.then_some(Some(path))
}
