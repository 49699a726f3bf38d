//! The shell of a page: head, security policy, style, then data and script, or a document. One
//! file, which needs no other file.

use std::io::Write;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::model::Decision;
use crate::report::ReportError;
use crate::report::figures::decision_label;
use crate::report::page::html::escape;
use eval_base::text;

/// The parts of the style, in the order of the cascade.
const STYLES: &[&str] = &[
    include_str!("assets/base.css"),
    include_str!("assets/charts.css"),
    include_str!("assets/overview.css"),
    include_str!("assets/cases.css"),
    include_str!("assets/case.css"),
    include_str!("assets/comparison.css"),
    include_str!("assets/print.css"),
];

/// The parts of the style of documents.
const DOCUMENT_STYLES: &[&str] = &[
    include_str!("assets/base.css"),
    include_str!("assets/case.css"),
    include_str!("assets/document.css"),
    include_str!("assets/print.css"),
];

/// The parts of the script. They share one scope, as the parts of a module; the last one starts the
/// page.
const SCRIPTS: &[&str] = &[
    include_str!("assets/dom.js"),
    include_str!("assets/route.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/measures.js"),
    include_str!("assets/evals.js"),
    include_str!("assets/overview.js"),
    include_str!("assets/cases_data.js"),
    include_str!("assets/cases_grid.js"),
    include_str!("assets/cases.js"),
    include_str!("assets/diff.js"),
    include_str!("assets/grade.js"),
    include_str!("assets/case.js"),
    include_str!("assets/lists.js"),
    include_str!("assets/runs.js"),
    include_str!("assets/comparison.js"),
    include_str!("assets/comparison_view.js"),
    include_str!("assets/sides.js"),
    include_str!("assets/print.js"),
    include_str!("assets/app.js"),
];

/// Elements, texts and differences, for scripts of other pages.
pub const DOM_SCRIPTS: &[&str] = &[
    include_str!("assets/dom.js"),
    include_str!("assets/diff.js"),
];
/// What keeps the theme that [`THEMES`] chooses.
pub const THEME_SCRIPT: &str = include_str!("assets/themes.js");

/// Everything before the data but the title: it is the same on every page.
static SHELL: LazyLock<PageShell> = LazyLock::new(|| PageShell::new(STYLES, SCRIPTS));
/// The same of documents, in which no script may run.
static DOCUMENT: LazyLock<PageShell> = LazyLock::new(|| PageShell::new(DOCUMENT_STYLES, &[]));

/// What all pages of a kind have in common.
pub struct PageShell {
    style: String,
    script: String,
    policy: String,
}

impl PageShell {
    fn new(styles: &[&str], scripts: &[&str]) -> PageShell {
        PageShell::with_policy(styles, scripts, "form-action 'none'")
    }

    /// The shell of documents that a local server shows: their forms and scripts may send requests to
    /// that server only.
    pub fn served(styles: &[&str], scripts: &[&str]) -> PageShell {
        let styles = [DOCUMENT_STYLES, styles].concat();
        PageShell::with_policy(&styles, scripts, "connect-src 'self'; form-action 'self'")
    }

    /// The same as a file, which sends nothing.
    pub fn offline(styles: &[&str], scripts: &[&str]) -> PageShell {
        PageShell::new(&[DOCUMENT_STYLES, styles].concat(), scripts)
    }

    fn with_policy(styles: &[&str], scripts: &[&str], asks: &str) -> PageShell {
        let style = format!("\n{}", styles.concat());
        let script = format!("\n{}", scripts.concat());
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
        let own = match scripts {
            [] => String::new(),
            _ => format!("script-src 'sha256-{}'; ", hash(&script)),
        };
        // No part of the page may ask anybody for anything, and none may turn a text into markup.
        let policy = format!(
            "default-src 'none'; {own}style-src 'sha256-{}'; base-uri 'none'; {asks}; \
             require-trusted-types-for 'script'; trusted-types 'none'",
            hash(&style)
        );
        PageShell {
            style,
            script,
            policy,
        }
    }

    /// The security policy, which is in the page as well.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The script, which ends the body.
    pub fn write_script(&self, out: &mut dyn Write) -> Result<(), ReportError> {
        Ok(writeln!(
            out,
            "<script type=\"module\">{}</script>",
            self.script
        )?)
    }

    /// Up to the beginning of the body.
    pub fn begin(&self, title: &str, out: &mut dyn Write) -> Result<(), ReportError> {
        let PageShell { style, policy, .. } = self;
        let title = escape(&text::one_line(title));
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"generator\" content=\"eval-harness\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        )?;
        Ok(())
    }
}

/// A page that is whole without a script.
#[derive(Debug, Clone)]
pub struct HtmlDocument<'a> {
    pub decision: Decision,
    pub subject: &'a str,
    pub version: &'a str,
    /// HTML, see [`crate::report::page::html`].
    pub main: String,
}

/// The choice of a theme where no script may run; the style reads it.
pub const THEMES: &str = "<fieldset class=\"themes\"><legend class=\"away\">Theme</legend>\
    <label><input type=\"radio\" name=\"theme\" class=\"theme-system\" checked>System</label>\
    <label><input type=\"radio\" name=\"theme\" class=\"theme-light\">Light</label>\
    <label><input type=\"radio\" name=\"theme\" class=\"theme-dark\">Dark</label></fieldset>";

pub fn document(document: &HtmlDocument<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    let label = decision_label(document.decision);
    let title = format!("{label}: {}", document.subject);
    DOCUMENT.begin(&title, out)?;
    let [subject, version] = [document.subject, document.version]
        .map(|text| escape(&text::exact_line(&text::one_line(text))));
    let (tone, main) = (document.decision.name(), &document.main);
    writeln!(
        out,
        "<div id=\"app\">\n<a href=\"#main\" class=\"skip\">Skip to the content</a>\n\
         <header class=\"top\"><div class=\"inner\"><div class=\"title\">\
         <span class=\"badge tone-{tone}\">{label}</span><span class=\"subject\"><bdi>{subject}</bdi></span>\
         </div>{THEMES}</div></header>\n\
         <main id=\"main\" class=\"document tone-{tone}\" tabindex=\"-1\">\n{main}</main>\n\
         <footer class=\"foot\">Written by eval-harness {version}</footer>\n</div>\n</body>\n</html>"
    )?;
    Ok(())
}

/// What is told of a page before any script runs.
#[derive(Debug, Clone)]
pub struct PageHead<'a> {
    /// Shown by the browser's tab.
    pub title: String,
    /// What is to be known where no script runs, in sentences.
    pub sentences: &'a [String],
    /// Pages around this one, as label and address; none where it is a file.
    pub around: &'a [PageLink],
}

/// A link to a page of the server that shows this one.
#[derive(Debug, Clone)]
pub struct PageLink {
    pub label: &'static str,
    pub address: String,
}

/// The security policy of the pages that [`write`] writes.
pub fn policy() -> &'static str {
    SHELL.policy()
}

/// Writes a page; `data` writes its blocks (see [`super::embed::block`]), of which `report` with
/// its `kind` must be one.
pub fn write(
    head: &PageHead<'_>,
    out: &mut dyn Write,
    data: impl FnOnce(&mut dyn Write) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    SHELL.begin(&head.title, out)?;
    if !head.around.is_empty() {
        let link = |link: &PageLink| {
            let [address, label] = [&link.address, link.label].map(escape);
            format!("<a href=\"{address}\">{label}</a>")
        };
        let links: String = head.around.iter().map(link).collect();
        writeln!(
            out,
            "<nav class=\"around\" aria-label=\"Pages\">{links}</nav>"
        )?;
    }
    writeln!(out, "<noscript>")?;
    for sentence in head.sentences {
        writeln!(out, "<p>{}</p>", escape(&text::one_line(sentence)))?;
    }
    write!(
        out,
        "<p>This page needs JavaScript to show its figures. The Markdown report also has them.</p>\n</noscript>\n<div \
         id=\"app\"></div>\n"
    )?;
    data(out)?;
    SHELL.write_script(out)?;
    writeln!(out, "</body>\n</html>")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of the script share one scope, in which a name that stands twice leaves the page
    /// empty.
    #[test]
    fn names_of_the_script_are_unique() {
        let mut names = std::collections::BTreeSet::new();
        for line in SCRIPTS.iter().flat_map(|script| script.lines()) {
            let line = line.strip_prefix("async ").unwrap_or(line);
            let Some(rest) = ["const ", "let ", "function "]
                .iter()
                .find_map(|word| line.strip_prefix(word))
            else {
                continue;
            };
            let name: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
                .collect();
            assert!(
                name.is_empty() || names.insert(name.clone()),
                "{name} stands twice"
            );
        }
        assert!(names.len() > 50, "{names:?}");
    }

    /// Our own script and style must not end their elements, and nothing in them may need what the
    /// policy forbids.
    #[test]
    fn script_and_style_keep_to_the_policy() {
        let PageShell { style, script, .. } = &*SHELL;
        for part in [style, script, &DOCUMENT.style] {
            let lower = part.to_ascii_lowercase();
            for forbidden in ["</script", "</style", "<!--"] {
                assert!(!lower.contains(forbidden), "{forbidden}");
            }
        }
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "fetch(",
            "import ",
        ] {
            assert!(!script.contains(forbidden), "{forbidden}");
        }
        for forbidden in ["url(", "@import", "expression("] {
            assert!(!style.contains(forbidden), "{forbidden}");
        }
    }

    /// A selector's compounds, each as the classes that it names.
    fn compounds(selector: &str) -> Vec<Vec<String>> {
        let classes = |compound: &str| {
            let named = compound.split('.').skip(1);
            named
                .map(|name| {
                    name.chars()
                        .take_while(|c| c.is_alphanumeric() || "-_".contains(*c))
                        .collect()
                })
                .collect()
        };
        selector
            .split([' ', '>', '+', '~'])
            .filter(|part| !part.is_empty())
            .map(classes)
            .collect()
    }

    fn selectors(style: &str) -> Vec<String> {
        let bare: String = style
            .split("/*")
            .enumerate()
            .map(|(at, part)| {
                if at == 0 {
                    part
                } else {
                    part.split_once("*/").map_or("", |(_, rest)| rest)
                }
            })
            .collect();
        let heads = bare.split('{').map(|part| {
            part.rsplit(['}', ';', '{'])
                .next()
                .unwrap_or_default()
                .trim()
        });
        heads
            .filter(|head| !head.is_empty() && !head.starts_with('@'))
            .flat_map(|head| head.split(',').map(|one| one.trim().to_owned()))
            .collect()
    }

    /// A class with which a part of the style begins a selector is its own: another part that did
    /// so, too, or a room whose class stands within another's selector, would dress what it does
    /// not know of. base.css and charts.css may be built upon.
    #[test]
    fn rooms_do_not_dress_each_other() {
        assert!(owned(STYLES, 2) > 100);
        owned(DOCUMENT_STYLES, 1);
    }

    /// How many classes the parts own, of which the first `shared` may be built upon.
    fn owned(styles: &[&str], shared: usize) -> usize {
        // Paper is for all of them.
        let parts: Vec<Vec<String>> = styles[..styles.len() - 1]
            .iter()
            .map(|style| selectors(style))
            .collect();
        let mut owners = std::collections::BTreeMap::new();
        for (at, part) in parts.iter().enumerate() {
            for selector in part {
                let first = compounds(selector).first().cloned().unwrap_or_default();
                if let Some(class) = first.first() {
                    let owner = *owners.entry(class.clone()).or_insert(at);
                    assert_eq!(owner, at, "two parts begin with .{class}: {selector}");
                } else {
                    assert!(
                        at < shared || selector.starts_with('#'),
                        "{selector} is for every room"
                    );
                }
            }
        }
        for (at, part) in parts.iter().enumerate() {
            for class in part
                .iter()
                .flat_map(|selector| compounds(selector))
                .flatten()
            {
                let owner = owners.get(&class).copied().unwrap_or(at);
                assert!(
                    owner < shared || owner == at,
                    "part {at} uses .{class} of part {owner}"
                );
            }
        }
        owners.len()
    }
}
