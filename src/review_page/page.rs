//! The page: its shell, with the items within when it is a file.

use std::io::Write;
use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::report::ReportError;
use crate::report::html::embed;
use crate::report::html::page::{DOM_SCRIPTS, PageShell, THEME_SCRIPT, THEMES};
use crate::report::page::html::escape;
use crate::server::html_page;
use eval_base::text;

const STYLES: &[&str] = &[include_str!("assets/review.css")];
/// The parts of the script share one scope; the last one starts the page.
const SCRIPTS: &[&str] = &[
    THEME_SCRIPT,
    include_str!("assets/highlight.js"),
    include_str!("assets/texts.js"),
    include_str!("assets/source.js"),
    include_str!("assets/rating.js"),
    include_str!("assets/review.js"),
];

static SERVED: LazyLock<PageShell> = LazyLock::new(|| PageShell::served(STYLES, &scripts()));
static OFFLINE: LazyLock<PageShell> = LazyLock::new(|| PageShell::offline(STYLES, &scripts()));

fn scripts() -> Vec<&'static str> {
    [DOM_SCRIPTS, SCRIPTS].concat()
}

/// The page as a server shows it; its script gets everything from the server.
pub fn response() -> Response {
    let mut body = Vec::new();
    // Nothing that writes to memory fails.
    let _ = write(&SERVED, "Review", &mut body, |_| Ok(()));
    html_page(StatusCode::OK, SERVED.policy(), body)
}

/// Writes the page as one file, with everything that its script needs.
///
/// # Errors
/// When it can't be written.
pub fn write_file(
    subject: &str,
    data: &impl Serialize,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    write(&OFFLINE, subject, out, |out| {
        embed::block("review", data, out)
    })
}

fn write(
    shell: &PageShell,
    subject: &str,
    out: &mut dyn Write,
    data: impl FnOnce(&mut dyn Write) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    shell.begin(subject, out)?;
    let subject = escape(&text::exact_line(&text::one_line(subject)));
    write!(
        out,
        "<noscript><p>This page needs JavaScript. `eval-harness review --cli` reviews in a terminal.</p></noscript>\n\
         <div id=\"app\" class=\"review-page\">\n<a href=\"#main\" class=\"skip\">Skip to the content</a>\n\
         <header class=\"top\"><div class=\"inner\"><div class=\"title\"><span class=\"subject\"><bdi>{subject}</bdi></span></div>{THEMES}</div>\n\
         <div class=\"review-bar\"><progress data-place=\"bar\" value=\"0\" max=\"1\" aria-label=\"Progress\"></progress>\
         <span data-place=\"words\"></span><span class=\"review-clock\" data-place=\"clock\" role=\"timer\" aria-label=\"Time on this item\"></span>\
         <span class=\"soft\" data-place=\"saved\" role=\"status\"></span><div class=\"acts\"></div></div></header>\n\
         <div class=\"review-alert\" data-place=\"fault\" role=\"alert\" hidden></div>\n\
         <div class=\"review-alert\" data-place=\"refused\" role=\"alert\" hidden></div>\n\
         <main id=\"main\" tabindex=\"-1\"></main>\n\
         <footer class=\"foot\">eval-harness {}</footer>\n\
         <div id=\"announcer\" class=\"away\" role=\"status\" aria-live=\"polite\"></div>\n</div>\n",
        env!("CARGO_PKG_VERSION"),
    )?;
    data(out)?;
    shell.write_script(out)?;
    writeln!(out, "</body>\n</html>")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The parts share one scope, in which a name that is defined twice leaves the page empty; and
    /// nothing in them may need what the policy forbids.
    #[test]
    fn parts_of_the_script_fit_together() {
        let mut names = BTreeSet::new();
        for line in scripts().iter().flat_map(|script| script.lines()) {
            let line = line.strip_prefix("async ").unwrap_or(line);
            let named = ["const ", "let ", "function ", "class "];
            let Some(rest) = named.iter().find_map(|word| line.strip_prefix(word)) else {
                continue;
            };
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let name = &rest[..end.unwrap_or(rest.len())];
            assert!(names.insert(name.to_owned()), "{name} is defined twice");
        }
        // One script, not a module.
        let mut lines = scripts().into_iter().flat_map(str::lines);
        assert!(!lines.any(|line| line.trim_start().starts_with("import ")));
        assert!(names.len() > 60, "{names:?}");
        let all = scripts().concat();
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "import(",
            "</script",
            "<!--",
        ] {
            assert!(!all.contains(forbidden), "{forbidden}");
        }
        assert!(OFFLINE.policy().contains("default-src 'none'"));
        assert!(!OFFLINE.policy().contains("connect-src"));
    }
}
