//! Markdown as a tree that the page draws from elements of its own list: no markup of a text reaches
//! the page. Links and images are texts with their addresses.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use schemars::JsonSchema;
use serde::Serialize;

/// Bytes of a text beyond which it is not rendered.
const MOST_BYTES: usize = 100_000;
/// Levels of nesting; what is deeper is in the deepest one.
const MOST_LEVELS: usize = 32;

/// A part of rendered Markdown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MarkupNode {
    pub kind: MarkupKind,
    /// The text of `text`, `code` and `code_block`; the address of `link` and `image`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The language of a `code_block`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The level of a `heading`, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// The first number of a `numbered` list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<MarkupNode>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkupKind {
    #[default]
    Text,
    Paragraph,
    Heading,
    List,
    Numbered,
    Item,
    Quote,
    CodeBlock,
    Code,
    Emphasis,
    Strong,
    Struck,
    Table,
    /// The first row of a table.
    Head,
    Row,
    Cell,
    Rule,
    Break,
    Link,
    Image,
}

/// A text as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedMarkdown {
    pub nodes: Vec<MarkupNode>,
    /// Whether it was written as Markdown: it has a fence, a table, or a list of several items.
    pub is_markdown: bool,
}

impl MarkupNode {
    fn of(kind: MarkupKind) -> MarkupNode {
        MarkupNode {
            kind,
            ..MarkupNode::default()
        }
    }

    fn with_text(kind: MarkupKind, text: &str) -> MarkupNode {
        MarkupNode {
            text: Some(text.to_owned()),
            ..MarkupNode::of(kind)
        }
    }

    fn is_prose(&self) -> bool {
        let is_text = |child: &MarkupNode| child.kind == MarkupKind::Text;
        self.kind == MarkupKind::Paragraph && self.children.iter().all(is_text)
    }

    fn is_written_as_markdown(&self) -> bool {
        match self.kind {
            MarkupKind::Table => true,
            MarkupKind::CodeBlock => self.language.is_some(),
            MarkupKind::List | MarkupKind::Numbered => self.children.len() > 1,
            _ => self.children.iter().any(MarkupNode::is_written_as_markdown),
        }
    }
}

/// The tree of a text. `None` where it is too long, or where rendering would change nothing.
pub fn render(text: &str) -> Option<RenderedMarkdown> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut open = vec![MarkupNode::default()];
    // Starts beyond the most levels, whose ends are still to come.
    let mut unopened = 0_usize;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(tag) => match node(&tag) {
                Some(node) if open.len() < MOST_LEVELS && unopened == 0 => open.push(node),
                _ => unopened += 1,
            },
            Event::End(_) if unopened > 0 => unopened -= 1,
            Event::End(_) => {
                if let Some(done) = open.pop() {
                    add(&mut open, done);
                }
            }
            Event::Text(text) => add_text(&mut open, &text),
            Event::Html(text) | Event::InlineHtml(text) => add_text(&mut open, &text),
            Event::FootnoteReference(text) => add_text(&mut open, &text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                add(&mut open, MarkupNode::with_text(MarkupKind::Code, &text));
            }
            Event::SoftBreak => add_text(&mut open, "\n"),
            Event::HardBreak => add(&mut open, MarkupNode::of(MarkupKind::Break)),
            Event::Rule => add(&mut open, MarkupNode::of(MarkupKind::Rule)),
            Event::TaskListMarker(done) => add_text(&mut open, if done { "[x] " } else { "[ ] " }),
        }
    }
    let nodes = open.into_iter().next()?.children;
    if nodes.iter().all(MarkupNode::is_prose) && nodes.len() < 2 {
        return None;
    }
    let is_markdown = nodes.iter().any(MarkupNode::is_written_as_markdown);
    Some(RenderedMarkdown { nodes, is_markdown })
}

fn add(open: &mut [MarkupNode], node: MarkupNode) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(node);
    }
}

fn add_text(open: &mut [MarkupNode], text: &str) {
    let Some(parent) = open.last_mut() else {
        return;
    };
    if parent.kind == MarkupKind::CodeBlock {
        parent.text.get_or_insert_default().push_str(text);
        return;
    }
    match parent.children.last_mut() {
        Some(last) if last.kind == MarkupKind::Text => {
            last.text.get_or_insert_default().push_str(text);
        }
        _ => parent
            .children
            .push(MarkupNode::with_text(MarkupKind::Text, text)),
    }
}

/// The node of a tag; `None` where what is in it belongs to what is around it.
fn node(tag: &Tag<'_>) -> Option<MarkupNode> {
    let kind = match tag {
        Tag::Paragraph => MarkupKind::Paragraph,
        Tag::Heading { level, .. } => {
            return Some(MarkupNode {
                level: Some(*level as u8),
                ..MarkupNode::of(MarkupKind::Heading)
            });
        }
        Tag::BlockQuote(_) => MarkupKind::Quote,
        Tag::CodeBlock(CodeBlockKind::Fenced(language)) => {
            let word = language.split([' ', ',']).next().unwrap_or_default();
            return Some(MarkupNode {
                // Empty: a fence without a language.
                language: Some(word.to_owned()),
                ..MarkupNode::of(MarkupKind::CodeBlock)
            });
        }
        Tag::CodeBlock(CodeBlockKind::Indented) | Tag::HtmlBlock => MarkupKind::CodeBlock,
        Tag::List(None) => MarkupKind::List,
        Tag::List(start) => {
            return Some(MarkupNode {
                start: *start,
                ..MarkupNode::of(MarkupKind::Numbered)
            });
        }
        Tag::Item => MarkupKind::Item,
        Tag::Table(_) => MarkupKind::Table,
        Tag::TableHead => MarkupKind::Head,
        Tag::TableRow => MarkupKind::Row,
        Tag::TableCell => MarkupKind::Cell,
        Tag::Emphasis => MarkupKind::Emphasis,
        Tag::Strong => MarkupKind::Strong,
        Tag::Strikethrough => MarkupKind::Struck,
        Tag::Link { dest_url, .. } => {
            return Some(MarkupNode::with_text(MarkupKind::Link, dest_url));
        }
        Tag::Image { dest_url, .. } => {
            return Some(MarkupNode::with_text(MarkupKind::Image, dest_url));
        }
        _ => return None,
    };
    Some(MarkupNode::of(kind))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The tree in short.
    fn outline(nodes: &[MarkupNode]) -> String {
        let one = |node: &MarkupNode| {
            let mut words = format!("{:?}", node.kind);
            for (name, value) in [("", &node.text), ("lang ", &node.language)] {
                if let Some(value) = value {
                    words.push_str(&format!(" {name}{value:?}"));
                }
            }
            if !node.children.is_empty() {
                words.push_str(&format!("[{}]", outline(&node.children)));
            }
            words
        };
        nodes.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn rendered(text: &str) -> String {
        render(text).map_or("none".to_owned(), |it| {
            format!("{} {}", it.is_markdown, outline(&it.nodes))
        })
    }

    #[test]
    fn markdown_becomes_a_tree_of_known_kinds() {
        insta::assert_snapshot!(rendered("# Title\n\nA *word* and `code`.\n\n- one\n- two\n"),
            @r#"true Heading[Text "Title"], Paragraph[Text "A ", Emphasis[Text "word"], Text " and ", Code "code", Text "."], List[Item[Text "one"], Item[Text "two"]]"#);
        insta::assert_snapshot!(rendered("```python title=x\ndef f():\n    pass\n```\n"),
            @r#"true CodeBlock "def f():\n    pass\n" lang "python""#);
        insta::assert_snapshot!(rendered("|a|b|\n|-|-|\n|1|2|\n"),
            @r#"true Table[Head[Cell[Text "a"], Cell[Text "b"]], Row[Cell[Text "1"], Cell[Text "2"]]]"#);
    }

    #[test]
    fn markup_links_and_images_of_a_text_are_texts() {
        insta::assert_snapshot!(rendered("<img src=x onerror=alert(1)> [a](javascript:alert(1)) ![b](http://x/y.png)"),
            @r#"false Paragraph[Text "<img src=x onerror=alert(1)> ", Link "javascript:alert(1)"[Text "a"], Text " ", Image "http://x/y.png"[Text "b"]]"#);
        insta::assert_snapshot!(rendered("<script>\nalert(1)\n</script>\n"),
            @r#"false CodeBlock "<script>\nalert(1)\n</script>\n""#);
    }

    #[test]
    fn prose_code_and_long_texts_are_not_rendered() {
        assert_eq!(rendered("The capital of France is Paris.\n"), "none");
        assert_eq!(rendered(&"- a\n".repeat(MOST_BYTES / 4 + 1)), "none");
        // Comments of Python are no headings to whom wrote them.
        let code = render("# adds\ndef add(a, b):\n    return a + b\n").unwrap();
        assert!(!code.is_markdown);
    }

    fn depth(nodes: &[MarkupNode]) -> usize {
        let deepest = nodes.iter().map(|node| depth(&node.children)).max();
        deepest.map_or(0, |deepest| deepest + 1)
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = render(&format!("{}word", "> ".repeat(20_000))).unwrap();
        assert!(depth(&deep.nodes) <= MOST_LEVELS);
        assert!(outline(&deep.nodes).contains("word"));
    }

    fn words(nodes: &[MarkupNode], out: &mut String) {
        for node in nodes {
            out.push_str(node.text.as_deref().unwrap_or_default());
            words(&node.children, out);
        }
    }

    proptest! {
        /// No word of a text is lost, however it is marked.
        #[test]
        fn words_stay(text in "([#>*`_~<-]{0,3}[ \n]{0,2}[a-z]{1,6}[*`_~\n]{0,2}){1,20}") {
            if let Some(it) = render(&text) {
                let mut shown = String::new();
                words(&it.nodes, &mut shown);
                let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
                // Words behind a fence name a language.
                if !text.contains("```") && !text.contains("~~~") {
                    prop_assert_eq!(letters(&shown), letters(&text));
                }
            }
        }
    }
}
