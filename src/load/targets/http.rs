//! HTTP targets and the calls that are made of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::check_program;
use crate::load::depends;
use crate::load::models;
use crate::load::problem::{Code, Problem};
use crate::load::reach::{InheritedKind, SparePart};
use crate::load::refs::lexical;
use crate::load::render_pass::OF_CALLS;
use crate::load::scope::{SuiteDesk, seconds};
use crate::load::source::Span;
use crate::load::template::is_template;
use crate::load::tree::Node;
use crate::model::{CaseInput, CommandTarget, HttpCall, HttpTarget, Target};
use crate::spec::HttpSpec;
use crate::spec::words::{OnError, OutputFormat, TargetIsolation};
use eval_base::redact::{without_secret_parameters, without_userinfo};
use eval_models::net;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_BODY_BYTES: u64 = 16 << 20;
const REDIRECTS: u32 = 10;
const RETRIES: u32 = 2;
const READY_SECONDS: f64 = 30.0;
/// Of a service in a workspace, without its port.
const SERVED: &str = "http://127.0.0.1";

/// An HTTP target with everything in place; `dir` is the folder of the file that says it.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    spec: &HttpSpec,
    node: &Node,
    dir: &Path,
) -> Option<HttpTarget> {
    let mut target = match (&spec.base_url, &spec.serve) {
        (_, Some(serve)) => HttpTarget {
            base_url: SERVED.to_owned(),
            serve: Some(Box::new(served(desk, spec, node)?)),
            ready_within: seconds(serve.ready_seconds.unwrap_or(READY_SECONDS)),
            ..usual()
        },
        (Some(url), None) => {
            check_base(desk, url, node.locate("/base_url"))?;
            desk.suite.secrets.of_endpoint(url);
            HttpTarget {
                base_url: url.clone(),
                ..usual()
            }
        }
        (None, None) => match desk
            .require(&SparePart::Inherited(InheritedKind::Http))
            .map(|()| desk.suite.http.clone())?
        {
            Some(target) => target,
            None => {
                // A suite that is not known, or is broken, may well have one.
                if !desk.suite.shelf.open {
                    desk.push_lenient(no_address(node.span));
                }
                return desk.suite.lenient.then(usual);
            }
        },
    };
    if target.serve.is_some() {
        let unused = [
            ("retries", spec.retries.is_some()),
            ("insecure", spec.insecure.is_some()),
            ("ca_file", spec.ca_file.is_some()),
        ];
        if let Some((key, _)) = unused.into_iter().find(|(_, is_given)| *is_given) {
            let at = node.key_span(&format!("/{key}"));
            let message = format!("`{key}` has no effect with `serve`");
            let problem = Problem::error(Code::WorkspaceSetting, at, message);
            return desk.refuse(problem.hint(
                "remove it: each service is started for one sample, and called without TLS on 127.0.0.1",
            ));
        }
    }
    check_headers(desk, &spec.headers, node)?;
    desk.suite.secrets.of_headers(&spec.headers);
    for (name, value) in &spec.headers {
        target
            .headers
            .retain(|known, _| !known.eq_ignore_ascii_case(name));
        target.headers.insert(name.clone(), value.clone());
    }
    let set = |given: Option<u32>, to: &mut u32| *to = given.unwrap_or(*to);
    set(spec.retries, &mut target.retries);
    set(spec.redirects, &mut target.redirects);
    target.insecure = spec.insecure.unwrap_or(target.insecure);
    target.max_body_bytes = spec.max_body_bytes.unwrap_or(target.max_body_bytes);
    target.connect_timeout = spec
        .connect_timeout_seconds
        .map_or(target.connect_timeout, seconds);
    target.timeout = match desk.suite.timeout {
        // The command line's, which the case has.
        Some(_) => None,
        None => spec.timeout_seconds.map(seconds).or(target.timeout),
    };
    if let Some(file) = &spec.ca_file {
        target.ca_file = authorities(desk, file, node.locate("/ca_file"), dir)?;
    }
    let depends_on = spec.depends_on.as_ref();
    if let Some(list) = depends::declared(desk, depends_on, node.get("depends_on"), dir) {
        target.depends_on = Some(list);
    }
    if let Some(call) = call(desk, spec, node, &target.base_url)? {
        target.call = Some(call);
    }
    Some(target)
}

/// A file of certificates, absolute. One that can't be read is an error for a run; else it is left
/// out.
pub(in crate::load) fn authorities(
    desk: &mut SuiteDesk,
    file: &str,
    at: Span,
    dir: &Path,
) -> Option<Option<PathBuf>> {
    let path = lexical(&dir.join(file));
    if net::certificates(&path).is_ok() {
        return Some(Some(path));
    }
    let problem = match path.is_file() {
        true => Problem::error(
            Code::BadRequest,
            at,
            format!("no certificate can be read from `{file}`"),
        )
        .hint("certificates in PEM begin with `-----BEGIN CERTIFICATE-----`"),
        false => Problem::error(
            Code::MissingRef,
            at,
            format!("the file `{file}` does not exist"),
        )
        .hint("the path is relative to the file that contains it"),
    };
    desk.push_lenient(problem);
    desk.suite.lenient.then_some(None)
}

/// The program of a service.
fn served(desk: &mut SuiteDesk, spec: &HttpSpec, node: &Node) -> Option<CommandTarget> {
    let serve = spec.serve.as_ref()?;
    let wrong = if spec.base_url.is_some() {
        Some((
            node.key_span("/base_url"),
            "`base_url` and `serve` contradict each other",
            "remove one of them: a service of `serve` receives requests on a port of 127.0.0.1",
        ))
    } else if serve.isolation == Some(TargetIsolation::None) {
        Some((
            node.locate("/serve/isolation"),
            "a service cannot run outside of its workspace",
            "use `sandbox` or `workspace`",
        ))
    } else if serve.env.iter().any(|name| name == "PORT") {
        Some((
            node.locate("/serve/env"),
            "`env` of `serve` cannot contain PORT",
            "remove it: PORT is the port on which the service must listen",
        ))
    } else {
        None
    };
    if let Some((at, message, hint)) = wrong {
        let problem = Problem::error(Code::WorkspaceSetting, at, message);
        return desk.refuse(problem.hint(hint));
    }
    check_program(desk, &serve.command, node.locate("/serve/command"))?;
    Some(CommandTarget {
        argv: serve.command.clone(),
        dir: desk.suite.dir.clone(),
        env: serve.env.clone(),
        env_file: desk.env_file_for(&serve.env),
        timeout: None,
        on_error: OnError::default(),
        output: OutputFormat::default(),
        sandbox: false,
        isolation: serve.isolation,
        separate_thoughts: false,
        depends_on: None,
    })
}

fn usual() -> HttpTarget {
    HttpTarget {
        base_url: String::new(),
        serve: None,
        ready_within: seconds(READY_SECONDS),
        headers: BTreeMap::new(),
        call: None,
        timeout: None,
        redirects: REDIRECTS,
        insecure: false,
        max_body_bytes: MAX_BODY_BYTES,
        connect_timeout: CONNECT_TIMEOUT,
        ca_file: None,
        retries: RETRIES,
        depends_on: None,
    }
}

fn no_address(at: Span) -> Problem {
    Problem::error(Code::BadRequest, at, "the HTTP target has no `base_url`").hint(
        "add `base_url: \"http://...\"`, or add a target of type `http` to the suite; executions without an address use it",
    )
}

pub(in crate::load) fn check_base(desk: &mut SuiteDesk, url: &str, at: Span) -> Option<()> {
    // What a template failed to fill was told.
    if is_template(url) {
        return Some(());
    }
    let Err(error) = net::read_base(url) else {
        return Some(());
    };
    desk.refuse(
        Problem::error(Code::BadRequest, at, error.to_string())
            .hint("an HTTP address begins with `http://` or `https://` and a host, such as `http://127.0.0.1:8080/api`"))
}

pub(in crate::load) fn check_headers(
    desk: &mut SuiteDesk,
    headers: &BTreeMap<String, String>,
    node: &Node,
) -> Option<()> {
    let mut whole = Some(());
    let map = node.get("headers");
    for (name, value) in headers {
        let Err(fault) = net::check_header(name, value) else {
            continue;
        };
        let entry = map
            .and_then(Node::as_map)
            .and_then(|all| all.iter().find(|(key, _)| *key.name == **name));
        let at = match (&fault, entry) {
            (net::HeaderFault::Value(_), Some((_, value))) => value.span,
            (_, Some((key, _))) => key.span,
            (_, None) => node.span,
        };
        let problem = Problem::error(Code::BadRequest, at, fault.to_string());
        desk.push(match fault {
            net::HeaderFault::Value(_) => problem
                .hint("does a variable or a file end with a line break?")
                .hide_line(),
            net::HeaderFault::Own(_) => problem.hint("remove it"),
            net::HeaderFault::Name(_) => problem,
        });
        whole = None;
    }
    whole
}

pub(in crate::load) fn check_method(desk: &mut SuiteDesk, method: &str, at: Span) -> Option<()> {
    let Err(why) = net::check_method(method) else {
        return Some(());
    };
    desk.refuse(Problem::error(Code::BadRequest, at, why))
}

/// The request that is made of inputs that are none; `Some(None)` when the target says nothing of
/// it.
fn call(
    desk: &mut SuiteDesk,
    spec: &HttpSpec,
    node: &Node,
    base: &str,
) -> Option<Option<HttpCall>> {
    let Some(endpoint) = &spec.endpoint else {
        for (key, given) in [
            ("method", spec.method.is_some()),
            ("body", spec.body.is_some()),
        ] {
            if given {
                let message = format!("`{key}` requires an `endpoint`, which is missing");
                let problem =
                    Problem::error(Code::BadRequest, node.key_span(&format!("/{key}")), message);
                return desk.refuse(
                    problem.hint("an `api_call` input has its own method, endpoint and body"),
                );
            }
        }
        return Some(None);
    };
    let method = spec.method.as_deref().unwrap_or("POST").to_uppercase();
    check_method(desk, &method, node.locate("/method"))?;
    desk.suite.secrets.of_endpoint(endpoint);
    if !is_template(endpoint) && !is_template(base) {
        check_endpoint(desk, base, endpoint, node.locate("/endpoint"))?;
    }
    let mut texts = vec![endpoint.as_str()];
    collect_texts(spec.body.as_ref(), &mut texts);
    for text in texts {
        if let Some(unknown) = unfilled(text, &OF_CALLS) {
            let at = if text == endpoint {
                node.locate("/endpoint")
            } else {
                node.locate("/body")
            };
            let message = format!("`{unknown}` can't be filled in when the request is made");
            let names = OF_CALLS
                .map(|name| format!("`{{{{ {name} }}}}`"))
                .join(", ");
            return desk.refuse(
                Problem::error(Code::BadTemplate, at, message)
                    .hint(format!("use only {names}, without filters")),
            );
        }
    }
    let body = match (&spec.body, method.as_str()) {
        (Some(Value::Null), _) | (None, "GET" | "HEAD") => None,
        (Some(body), _) => Some(models::ordered(body, node.get("body"))),
        (None, _) => Some("{{ input }}".into()),
    };
    Some(Some(HttpCall {
        method,
        endpoint: endpoint.clone(),
        body,
    }))
}

pub(in crate::load) fn collect_texts<'a>(value: Option<&'a Value>, texts: &mut Vec<&'a str>) {
    match value {
        Some(Value::String(text)) => texts.push(text),
        Some(Value::Array(items)) => items
            .iter()
            .for_each(|item| collect_texts(Some(item), texts)),
        Some(Value::Object(map)) => map
            .values()
            .for_each(|value| collect_texts(Some(value), texts)),
        _ => {}
    }
}

/// The first `{{ ... }}` of a text that is none of the names that are filled when a request is
/// made.
pub(in crate::load) fn unfilled<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let after = rest.get(start..)?;
        let end = after.find("}}")?;
        if !names.contains(&after.get(2..end)?.trim()) {
            return after.get(..end + 2);
        }
        rest = after.get(end + 2..)?;
    }
    None
}

fn check_endpoint(desk: &mut SuiteDesk, base: &str, endpoint: &str, at: Span) -> Option<()> {
    // The port of a service is only known when it starts.
    let is_served = base == SERVED;
    let Err(error) = net::join(
        if is_served {
            "http://127.0.0.1:0"
        } else {
            base
        },
        endpoint,
    ) else {
        return Some(());
    };
    let problem = Problem::error(Code::BadRequest, at, error.to_string());
    desk.refuse(match error {
        net::JoinError::Elsewhere(_) if is_served => {
            problem.hint("write only the path: the service has another port in each sample")
        }
        net::JoinError::Elsewhere(_) => problem.hint(format!(
            "write only the path; it is appended to {}",
            without_secret_parameters(&without_userinfo(base))
        )),
        _ => problem,
    })
}

/// Checks what an `api_call` says of itself.
pub(in crate::load) fn check_call(
    desk: &mut SuiteDesk,
    method: &str,
    endpoint: &str,
    headers: &BTreeMap<String, String>,
    node: &Node,
) -> Option<()> {
    let method = check_method(desk, method, node.locate("/method"));
    let headers = check_headers(desk, headers, node);
    if endpoint.chars().any(char::is_control) {
        let problem = net::JoinError::Control.to_string();
        return desk.refuse(Problem::error(
            Code::BadRequest,
            node.locate("/endpoint"),
            problem,
        ));
    }
    method.and(headers)
}

/// Checks that the case's target (its own, with where that is written, else the suite's) can be
/// given this input.
pub(in crate::load) fn check_input(
    desk: &mut SuiteDesk,
    input: &CaseInput,
    own: Option<(&Target, Span)>,
    node: &Node,
) -> Option<()> {
    let suite = desk.suite;
    let at = own.map_or(node.span, |(_, span)| span);
    match (own.map(|(target, _)| target).or(suite.asks.as_ref()), input) {
        (Some(Target::Http(http)), CaseInput::ApiCall { endpoint, .. }) => {
            let unknown = is_template(&http.base_url) || http.base_url.is_empty();
            match unknown || is_template(endpoint) {
                true => Some(()),
                false => check_endpoint(desk, &http.base_url, endpoint, node.locate("/endpoint")),
            }
        }
        (Some(Target::Http(http)), _) if http.call.is_none() => {
            let message = "the target is an HTTP service, but this input is not an API call";
            desk.refuse(Problem::error(Code::BadRequest, node.span, message).hint(
                "write `{method: GET, endpoint: /...}` (with `type: api_call` if the input has a `type`), or set the \
                 target's `endpoint`, and a `body` with `{{ prompt }}` or `{{ input }}`",
            ))
        }
        (Some(Target::Model(model)), input) => models::check_input(desk, model, input, node),
        (Some(Target::Skill(skill)), _) if skill.skill_name.is_none() => {
            let message = "no skill is set";
            desk.push_lenient(
                Problem::error(Code::BadCommand, at, message)
                    .hint("add `skill_name` to the suite's target, or to the eval's `execution`"),
            );
            suite.lenient.then_some(())
        }
        _ => Some(()),
    }
}
