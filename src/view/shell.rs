//! What the pages of `view` have around their content: header, navigation, style and script.

use std::io::Write;
use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::Response;

use crate::report::html::PageLink;
use crate::report::html::page::{PageShell, THEME_SCRIPT, THEMES};
use crate::report::limits::view as limits;
use crate::report::page::html::{self, HtmlOptions, escape};
use crate::report::page::{Page, PageBlock};
use crate::server::html_page;

const STYLES: &[&str] = &[include_str!("assets/view.css")];
const SCRIPTS: &[&str] = &[THEME_SCRIPT, include_str!("assets/view.js")];

static SHELL: LazyLock<PageShell> = LazyLock::new(|| PageShell::served(STYLES, SCRIPTS));

/// The pages of the navigation.
const NAVIGATION: [(&str, &str); 2] = [("Runs", "/"), ("Search", "/search")];

/// The links around a page that a report or a comparison is.
pub fn around(more: &[(&'static str, String)]) -> Vec<PageLink> {
    let all = NAVIGATION.map(|(label, address)| (label, address.to_owned()));
    let all = all.into_iter().chain(more.iter().cloned());
    all.map(|(label, address)| PageLink { label, address })
        .collect()
}

/// A page of its parts: blocks, and forms between them.
#[derive(Debug, Default)]
pub struct ViewPage {
    pub title: String,
    /// The address of its entry in the navigation.
    pub entry: &'static str,
    /// Where its script gets events from; none where nothing on it changes.
    pub events: Option<String>,
    main: String,
    /// Titles up to here.
    titles: usize,
}

impl ViewPage {
    pub fn new(title: impl Into<String>, entry: &'static str) -> ViewPage {
        ViewPage {
            title: title.into(),
            entry,
            ..ViewPage::default()
        }
    }

    /// Adds blocks, as cards.
    pub fn blocks(&mut self, page: &Page) {
        let options = HtmlOptions {
            most: limits::PAGE,
            evidence: limits::EVIDENCE,
            rest: "`eval-harness show` prints the rest.",
            titles: self.titles,
        };
        let is_title = |block: &&PageBlock| matches!(block, PageBlock::Heading(1..=2, _));
        self.titles += page.blocks.iter().filter(is_title).count();
        self.main.push_str(&html::write(page, options));
    }

    /// Adds HTML, in which every text from outside is escaped.
    pub fn html(&mut self, html: &str) {
        self.main.push_str(html);
    }

    pub fn response(&self, status: StatusCode) -> Response {
        let mut body = Vec::new();
        // Nothing that writes to memory fails.
        let _ = self.write(&mut body);
        html_page(status, SHELL.policy(), body)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), crate::report::ReportError> {
        SHELL.begin(&self.title, out)?;
        let link = |(label, address): (&str, &str)| {
            let current = match address == self.entry {
                true => " aria-current=\"page\"",
                false => "",
            };
            format!("<a href=\"{address}\"{current}>{label}</a>")
        };
        let links = NAVIGATION.map(link).concat();
        let events = self.events.as_deref().map(escape);
        let events = events.map_or_else(String::new, |events| format!(" data-events=\"{events}\""));
        write!(
            out,
            "<div id=\"app\"{events}>\n<a href=\"#main\" class=\"skip\">Skip to the content</a>\n\
             <header class=\"top\"><div class=\"inner\"><div class=\"title\"><span class=\"subject\">eval-harness</span></div>\
             <nav aria-label=\"Pages\">{links}</nav>{THEMES}</div></header>\n\
             <main id=\"main\" class=\"document view\" tabindex=\"-1\">\n{}</main>\n\
             <footer class=\"foot\">eval-harness {}</footer>\n\
             <div id=\"announcer\" class=\"away\" role=\"status\" aria-live=\"polite\"></div>\n</div>\n",
            self.main,
            env!("CARGO_PKG_VERSION"),
        )?;
        SHELL.write_script(out)?;
        Ok(writeln!(out, "</body>\n</html>")?)
    }
}
