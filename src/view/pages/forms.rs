//! Filters of a list, as a form that is sent by GET, and links to its next page.

use crate::report::page::html::escape;
use crate::server::QueryFields;
use eval_base::text::{exact_line, one_line};

/// A form of filters.
pub struct FilterForm<'a> {
    path: String,
    query: &'a QueryFields,
    fields: String,
}

impl<'a> FilterForm<'a> {
    pub fn new(path: impl Into<String>, query: &'a QueryFields) -> FilterForm<'a> {
        FilterForm {
            path: path.into(),
            query,
            fields: String::new(),
        }
    }

    /// A choice of values, each with its words; the first is chosen unless the address or `chosen`
    /// names another.
    pub fn choice(
        &mut self,
        name: &'static str,
        label: &str,
        options: &[(String, String)],
        chosen: Option<&str>,
    ) {
        let chosen = self.query.get(name).or(chosen).unwrap_or_default();
        let option = |(value, words): &(String, String)| {
            let selected = if value == chosen { " selected" } else { "" };
            let [value, words] = [escape(value), text(words)];
            format!("<option value=\"{value}\"{selected}>{words}</option>")
        };
        let options: String = options.iter().map(option).collect();
        self.fields.push_str(&format!(
            "<label>{label}<select name=\"{name}\">{options}</select></label>\n"
        ));
    }

    pub fn words(&mut self, name: &'static str, label: &str) {
        let value = escape(self.query.get(name).unwrap_or_default());
        self.fields.push_str(&format!(
            "<label>{label}<input type=\"search\" name=\"{name}\" value=\"{value}\" maxlength=\"200\"></label>\n"
        ));
    }

    pub fn html(self, button: &str) -> String {
        let (path, fields) = (escape(&self.path), self.fields);
        format!(
            "<form class=\"card filters\" action=\"{path}\" method=\"get\" aria-label=\"Filters\">\n{fields}\
             <button>{button}</button></form>\n"
        )
    }
}

/// Links to other parts of a list.
pub fn pages(links: &[(&str, String)]) -> String {
    let link = |(words, address): &(&str, String)| {
        let address = escape(address);
        format!("<a href=\"{address}\">{words}</a>")
    };
    let links: String = links.iter().map(link).collect();
    match links.as_str() {
        "" => String::new(),
        links => format!("<nav class=\"pages\" aria-label=\"More\">{links}</nav>\n"),
    }
}

/// A text from outside in a form.
fn text(words: &str) -> String {
    escape(&exact_line(&one_line(words)))
}
