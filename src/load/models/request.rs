//! How a custom JSON API is called and read.

use super::ordered;
use crate::load::problem::{Code, Problem};
use crate::load::render_pass::OF_MODELS;
use crate::load::scope::SuiteDesk;
use crate::load::targets::{check_method, collect_texts, unfilled};
use crate::load::tree::Node;
use crate::model::HttpDialect;
use crate::spec::RequestSpec;
use eval_base::placeholders;

/// True when the request has a place for one of these.
pub(super) fn holds(dialect: &HttpDialect, names: &[&str]) -> bool {
    let mut texts = vec![dialect.path.as_str()];
    let body = dialect.body.to_value();
    collect_texts(Some(&body), &mut texts);
    texts.into_iter().any(|text| says(text, names))
}

fn says(text: &str, names: &[&str]) -> bool {
    placeholders::fill(text, |name| names.contains(&name).then(String::new)).is_some()
}

/// Paths and placeholders are checked; `None` after saying what is wrong.
pub(super) fn dialect(
    desk: &mut SuiteDesk,
    spec: &RequestSpec,
    node: &Node,
) -> Option<HttpDialect> {
    let errors = desk.problems.error_count();
    let method = spec.method.as_deref().unwrap_or("POST").to_uppercase();
    check_method(desk, &method, node.locate("/method"));
    if matches!(method.as_str(), "GET" | "HEAD") && !spec.body.is_null() {
        let message = format!("a {method} has no body");
        desk.push(
            Problem::error(Code::BadRequest, node.locate("/method"), message)
                .hint("POST is usual; with GET `body` is null and the question stands in `path`"),
        );
    }
    let path = spec.path.clone().unwrap_or_default();
    desk.suite.secrets.of_endpoint(&path);
    let mut texts = vec![path.as_str()];
    collect_texts(Some(&spec.body), &mut texts);
    for (place, text) in texts.iter().enumerate() {
        if let Some(unknown) = unfilled(text, &OF_MODELS) {
            let at = node.locate(if place == 0 { "/path" } else { "/body" });
            let message = format!("`{unknown}` can't be filled when the request is made");
            let names = OF_MODELS
                .map(|name| format!("`{{{{ {name} }}}}`"))
                .join(", ");
            let hint = format!("only {names} are, as they are, without filters");
            desk.push(Problem::error(Code::BadTemplate, at, message).hint(hint));
        }
    }
    if !texts.iter().any(|text| says(text, &["prompt", "messages"])) {
        let message = "the body holds neither `{{ prompt }}` nor `{{ messages }}`, so that the model would not be asked the question";
        desk.push(
            Problem::error(Code::BadRequest, node.locate("/body"), message)
                .hint("write it where the API wants the question"),
        );
    }
    let answer = Some(&spec.answer);
    for (key, written) in [
        ("answer", answer),
        ("input_tokens", spec.input_tokens.as_ref()),
        ("output_tokens", spec.output_tokens.as_ref()),
        ("error", spec.error.as_ref()),
        ("finish", spec.finish.as_ref()),
    ] {
        if let Some(Err(error)) = written.map(|path| serde_json_path::JsonPath::parse(path)) {
            let path = written.map(String::as_str).unwrap_or_default();
            let message = format!("`{path}` is not a JSON path (RFC 9535): {error}");
            desk.push(Problem::error(
                Code::BadJsonPath,
                node.locate(&format!("/{key}")),
                message,
            ));
        }
    }
    (desk.problems.error_count() == errors).then(|| HttpDialect {
        method,
        path,
        body: ordered(&spec.body, node.get("body")),
        answer: spec.answer.clone(),
        input_tokens: spec.input_tokens.clone(),
        output_tokens: spec.output_tokens.clone(),
        error: spec.error.clone(),
        finish: spec.finish.clone(),
    })
}
