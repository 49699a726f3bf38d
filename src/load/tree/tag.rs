//! Explicit tags (`!!str 5`): the core ones, and what to say of the rest.

use std::sync::Arc;

use granit_parser::Tag;

use crate::load::problem::{Code, Problem};
use crate::load::scalar;
use crate::load::source::Span;

use super::NodeValue;

/// The value of a scalar with an explicit tag; `None` when the tag is unknown or does not fit.
pub(super) fn tagged(tag: &Tag, text: &str) -> Option<NodeValue> {
    // `! 5`: the non-specific tag makes a text of any scalar.
    if tag.handle().is_empty() && tag.suffix() == "!"
        || tag.handle() == "!" && tag.suffix().is_empty()
    {
        return Some(NodeValue::Text(Arc::from(text)));
    }
    let number = || scalar::number(text);
    match tag.core_suffix()? {
        "str" => Some(NodeValue::Text(Arc::from(text))),
        "null" => scalar::is_null(text).then_some(NodeValue::Null),
        "bool" => scalar::boolean(text).map(NodeValue::Bool),
        "int" => number().filter(|v| matches!(v, NodeValue::Number(n) if scalar::is_integer(n))),
        "float" => number().map(|value| match value {
            NodeValue::Number(n) if scalar::is_integer(&n) => {
                NodeValue::Number(serde_json::Number::from_string_unchecked(format!("{n}.0")))
            }
            other => other,
        }),
        _ => None,
    }
}

/// A tag that is unknown, or that does not fit `text` (empty for a list or a map).
pub(super) fn problem(tag: &Tag, text: &str, span: Span) -> Problem {
    let shown = match tag.core_suffix() {
        Some(core) => format!("!!{core}"),
        None if tag.handle().starts_with('!') => format!("{}{}", tag.handle(), tag.suffix()),
        None => format!("!<{}{}>", tag.handle(), tag.suffix()),
    };
    if tag.core_suffix().is_some() {
        let what = if text.is_empty() {
            "this value".to_owned()
        } else {
            format!("`{text}`")
        };
        return Problem::error(
            Code::UnknownTag,
            span,
            format!("the tag `{shown}` does not fit {what}"),
        );
    }
    Problem::error(Code::UnknownTag, span, format!("unknown tag `{shown}`"))
        .hint("a text that begins with `!` needs quotes")
}
