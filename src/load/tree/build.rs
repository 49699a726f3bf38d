//! The parser's events to a tree: keys, merges, aliases, tags, and the bounds that keep hostile
//! files small.
//!
//! Problems that leave the structure intact (equal keys, unknown tags, ...) are reported and
//! building goes on, so that one look shows them all; a syntax error ends it.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Span as EventSpan, StructureStyle, Tag, options};

use crate::load::problem::{Code, Problem, Problems};
use crate::load::scalar;
use crate::load::source::{FileId, SourceFiles, Span};

use super::map::{MapInProgress, PendingKey};
use super::{MappingKey, Node, NodeValue};
use super::{syntax, tag};

/// How deep lists and maps may be nested.
pub const MAX_DEPTH: usize = 128;
/// How many values aliases may add to a document.
pub const MAX_EXPANDED: usize = 1_000_000;

/// Parses one document. What is wrong is added to `problems`; `None` when nothing usable came out.
pub fn parse(sources: &SourceFiles, file: FileId, problems: &mut Problems) -> Option<Node> {
    let text = sources.text(file);
    let options = options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        // YAML's 1,024 characters would refuse long keys that JSON allows.
        simple_key_max_lookahead: 1 << 16,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = TreeBuilder::new(sources, file, problems);
    for next in Parser::new_from_str_with_options(text, options) {
        let going_on = match next {
            Ok((event, span)) => builder.event(event, span),
            Err(error) => {
                builder.syntax_error(&error);
                return None;
            }
        };
        if !going_on {
            return None;
        }
    }
    let nothing = builder
        .root
        .as_ref()
        .is_none_or(|root| root.is_null() && root.span.range().is_empty());
    if nothing && !builder.failed {
        let at = Span::new(file, 0, 0);
        builder.problems.push(Problem::error(
            Code::EmptyFile,
            at,
            "the file holds nothing but comments",
        ));
    }
    builder.root.filter(|_| !nothing)
}

/// A list or a map that is not finished.
struct NodeFrame<'s> {
    content: FrameContent,
    start: Span,
    flow: bool,
    anchor: usize,
    tag: Option<Tag>,
    /// The text from `{{` on, when this is a template that was not quoted.
    template: Option<&'s str>,
}

enum FrameContent {
    Seq(Vec<Node>),
    Map(Box<MapInProgress>),
}

struct TreeBuilder<'s, 'p> {
    sources: &'s SourceFiles,
    text: &'s str,
    file: FileId,
    problems: &'p mut Problems,
    stack: Vec<NodeFrame<'s>>,
    anchors: HashMap<usize, Node>,
    expanded: usize,
    root: Option<Node>,
    /// Whether this file has problems already.
    failed: bool,
}

impl<'s, 'p> TreeBuilder<'s, 'p> {
    fn new(sources: &'s SourceFiles, file: FileId, problems: &'p mut Problems) -> Self {
        let text = sources.text(file);
        let (stack, anchors) = (Vec::new(), HashMap::new());
        TreeBuilder {
            sources,
            text,
            file,
            problems,
            stack,
            anchors,
            expanded: 0,
            root: None,
            failed: false,
        }
    }

    fn span(&self, span: EventSpan) -> Span {
        let range = span.byte_range().unwrap_or(0..0);
        Span::new(self.file, range.start, range.end)
    }

    fn report(&mut self, problem: Problem) {
        self.failed = true;
        self.problems.push(problem);
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Problem::error(code, span, message));
    }

    /// Takes one event; false when nothing more is worth reading.
    fn event(&mut self, event: Event<'_>, at: EventSpan) -> bool {
        let span = self.span(at);
        let tag_span = at.tag_span().map_or(span, |tag| self.span(tag));
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                let problem = Problem::error(
                    Code::SeveralDocuments,
                    span,
                    "a second YAML document begins here",
                )
                .hint("a file is one document: remove the `---`, or split the file");
                self.report(problem);
                return false;
            }
            Event::Scalar(text, style, anchor, tag) => {
                if !self.at_key() || tag.is_some() {
                    let node = self.scalar(
                        &text,
                        style,
                        tag.as_deref().map(|tag| (tag, tag_span)),
                        span,
                    );
                    self.finish(node, anchor);
                } else {
                    self.plain_key(&text, style, anchor, span);
                }
            }
            Event::SequenceStart(style, anchor, tag) => {
                return self.open(
                    FrameContent::Seq(Vec::new()),
                    style,
                    anchor,
                    tag.map(std::borrow::Cow::into_owned),
                    span,
                );
            }
            Event::MappingStart(style, anchor, tag) => {
                return self.open(
                    FrameContent::Map(Box::default()),
                    style,
                    anchor,
                    tag.map(std::borrow::Cow::into_owned),
                    span,
                );
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::UnresolvedAlias(name) => {
                let problem = Problem::error(
                    Code::BadAlias,
                    span,
                    format!("the alias `*{name}` names no anchor"),
                )
                .hint(format!(
                    "a text that begins with `*` needs quotes: \"*{name}\""
                ));
                self.report(problem);
                self.finish(
                    Node {
                        span,
                        value: NodeValue::Null,
                    },
                    0,
                );
            }
            _ => {}
        }
        true
    }

    /// Whether the next node is a key.
    fn at_key(&self) -> bool {
        matches!(self.stack.last(), Some(NodeFrame { content: FrameContent::Map(map), .. }) if map.pending.is_none())
    }

    fn open(
        &mut self,
        content: FrameContent,
        style: StructureStyle,
        anchor: usize,
        tag: Option<Tag>,
        start: Span,
    ) -> bool {
        if self.stack.len() >= MAX_DEPTH {
            self.error(Code::TooDeep, start, too_deep());
            return false;
        }
        let flow = style == StructureStyle::Flow;
        let is_map = matches!(content, FrameContent::Map(_));
        let template = if flow && is_map {
            syntax::template_at(self.text, start.start as usize)
        } else {
            None
        };
        self.stack.push(NodeFrame {
            content,
            start,
            flow,
            anchor,
            tag,
            template,
        });
        true
    }

    fn close(&mut self, end: Span) {
        let Some(frame) = self.stack.pop() else {
            return;
        };
        let (value, last) = match frame.content {
            FrameContent::Seq(items) => {
                let last = items.last().map(|n| n.span);
                (NodeValue::Seq(items), last)
            }
            FrameContent::Map(map) => {
                let last = map.entries.last().map(|(k, v)| k.span.to(v.span));
                (NodeValue::Map(map.finish()), last)
            }
        };
        let span = match last {
            _ if frame.flow => frame.start.to(end),
            // What comes through an alias may lie before its place.
            Some(last) => frame.start.to(last),
            None => frame.start,
        };
        let mut node = Node { span, value };
        if let Some(template) = frame.template {
            node = self.unquoted(template, span);
        }
        if let Some(tag) = &frame.tag {
            let fits = match node.value {
                NodeValue::Seq(_) => tag.is_yaml_core_schema_tag("seq"),
                _ => tag.is_yaml_core_schema_tag("map"),
            };
            if !fits {
                self.bad_tag(tag, "", span);
            }
        }
        self.finish(node, frame.anchor);
    }

    /// A template without quotes: reported once, and kept as the text that was meant.
    fn unquoted(&mut self, template: &str, span: Span) -> Node {
        // The closed map tells where the template ends better than the line does.
        let template = self
            .text
            .get(span.range())
            .filter(|t| t.ends_with("}}"))
            .unwrap_or(template);
        let nested = self
            .stack
            .last()
            .is_some_and(|parent| parent.template.is_some());
        if !nested {
            let whole = Span::new(
                self.file,
                span.start as usize,
                span.start as usize + template.len(),
            );
            self.report(syntax::unquoted_template(template, whole));
        }
        Node {
            span,
            value: NodeValue::Text(Arc::from(template)),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<(&Tag, Span)>,
        span: Span,
    ) -> Node {
        let span = if text.is_empty() && style == ScalarStyle::Plain {
            self.empty_place(span)
        } else {
            span
        };
        let plain_text = || NodeValue::Text(Arc::from(text));
        let value = match tag {
            None if style == ScalarStyle::Plain => scalar::plain(text),
            None => plain_text(),
            Some((found, at)) => match tag::tagged(found, text) {
                Some(value) => value,
                None => {
                    self.bad_tag(found, text, at);
                    plain_text()
                }
            },
        };
        Node { span, value }
    }

    /// Where an empty value stands: right after its key, not at the next token that the parser saw.
    fn empty_place(&self, span: Span) -> Span {
        match self.stack.last().map(|f| &f.content) {
            Some(FrameContent::Map(map)) => match &map.pending {
                Some(PendingKey::Key(key)) => Span {
                    start: key.span.end,
                    end: key.span.end,
                    ..key.span
                },
                _ => span.at_start(),
            },
            _ => span.at_start(),
        }
    }

    fn bad_tag(&mut self, tag: &Tag, text: &str, span: Span) {
        self.report(tag::problem(tag, text, span));
    }

    fn plain_key(&mut self, text: &str, style: ScalarStyle, anchor: usize, span: Span) {
        if anchor != 0 {
            self.anchors.insert(
                anchor,
                Node {
                    span,
                    value: NodeValue::Text(Arc::from(text)),
                },
            );
        }
        let pending = if text == "<<" && style == ScalarStyle::Plain {
            self.merge_key(span)
        } else {
            self.key(MappingKey {
                name: Arc::from(text),
                span,
            })
        };
        if let Some(NodeFrame {
            content: FrameContent::Map(map),
            ..
        }) = self.stack.last_mut()
        {
            map.pending = Some(pending);
        }
    }

    fn merge_key(&mut self, span: Span) -> PendingKey {
        let Some(NodeFrame {
            content: FrameContent::Map(map),
            ..
        }) = self.stack.last_mut()
        else {
            return PendingKey::Dropped;
        };
        match map.merge {
            None => {
                map.merge = Some((span, map.entries.len()));
                PendingKey::Merge
            }
            Some((first, _)) => {
                self.duplicate("<<", first, span);
                PendingKey::Dropped
            }
        }
    }

    fn key(&mut self, key: MappingKey) -> PendingKey {
        let Some(NodeFrame {
            content: FrameContent::Map(map),
            ..
        }) = self.stack.last_mut()
        else {
            return PendingKey::Dropped;
        };
        match map.remember(&key) {
            None => PendingKey::Key(key),
            Some(first) => {
                self.duplicate(&key.name, first, key.span);
                PendingKey::Dropped
            }
        }
    }

    fn duplicate(&mut self, name: &str, first: Span, second: Span) {
        let line = self.sources.position(first).line;
        let message = format!("the key `{name}` is there twice: first on line {line}");
        let problem = Problem::error(Code::DuplicateKey, second, message)
            .hint("remove one of the two")
            .related(first, "the first one");
        self.report(problem);
    }

    /// Puts a finished node where it belongs.
    fn finish(&mut self, node: Node, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        if self.at_key() {
            let pending = self.node_as_key(node);
            if let Some(NodeFrame {
                content: FrameContent::Map(map),
                ..
            }) = self.stack.last_mut()
            {
                map.pending = Some(pending);
            }
            return;
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return;
        };
        match &mut frame.content {
            FrameContent::Seq(items) => items.push(node),
            FrameContent::Map(map) => match map.pending.take() {
                Some(PendingKey::Key(key)) => map.entries.push((key, node)),
                Some(PendingKey::Merge) => {
                    if let Err(span) = map.merge_in(node) {
                        self.error(
                            Code::BadMergeKey,
                            span,
                            "a merge key (`<<`) takes a map or a list of maps",
                        );
                    }
                }
                Some(PendingKey::Dropped) | None => {}
            },
        }
    }

    /// A key that is not an untagged scalar: an alias, a tagged scalar, or what cannot be a key.
    fn node_as_key(&mut self, node: Node) -> PendingKey {
        let name: Arc<str> = match node.value {
            NodeValue::Text(text) => text,
            NodeValue::Null => Arc::from("null"),
            NodeValue::Bool(b) => Arc::from(if b { "true" } else { "false" }),
            NodeValue::Number(n) => Arc::from(n.as_str()),
            NodeValue::Special(name) => Arc::from(name),
            NodeValue::Seq(_) | NodeValue::Map(_) => {
                if self
                    .stack
                    .last()
                    .is_none_or(|frame| frame.template.is_none())
                {
                    self.error(
                        Code::ComplexKey,
                        node.span,
                        format!("a key must be text, and this is {}", node.kind()),
                    );
                }
                return PendingKey::Dropped;
            }
        };
        self.key(MappingKey {
            name,
            span: node.span,
        })
    }

    fn alias(&mut self, anchor: usize, span: Span) -> bool {
        let Some(target) = self.anchors.get(&anchor) else {
            self.error(
                Code::BadAlias,
                span,
                "this alias stands inside of what it names",
            );
            self.finish(
                Node {
                    span,
                    value: NodeValue::Null,
                },
                0,
            );
            return true;
        };
        let (count, depth) = measure(target);
        self.expanded = self.expanded.saturating_add(count);
        if self.expanded > MAX_EXPANDED {
            let message = format!("aliases expand to more than {MAX_EXPANDED} values");
            self.error(Code::ExpansionBomb, span, message);
            return false;
        }
        if self.stack.len() + depth > MAX_DEPTH {
            self.error(Code::TooDeep, span, too_deep());
            return false;
        }
        let value = target.value.clone();
        self.finish(Node { span, value }, 0);
        true
    }

    fn syntax_error(&mut self, error: &granit_parser::ScanError) {
        let at = error
            .marker()
            .byte_offset()
            .unwrap_or(self.text.len())
            .min(self.text.len());
        let open = self.stack.last().map(|frame| frame.start);
        let problem = syntax::explain(error.kind(), self.sources, self.file, at, open);
        // A template without quotes often breaks the rest of its line as well.
        let line = |span: Option<Span>| span.map(|s| self.sources.position(s).line);
        let told = self
            .problems
            .iter()
            .any(|p| p.code == Code::UnquotedTemplate && line(p.span) == line(problem.span));
        if !told {
            self.report(problem);
        }
    }
}

fn too_deep() -> String {
    format!("lists and maps are nested more than {MAX_DEPTH} deep")
}

/// How many values a node holds, itself included, and how many levels of lists and maps.
fn measure(node: &Node) -> (usize, usize) {
    let inner = |children: &mut dyn Iterator<Item = &Node>| {
        children
            .map(measure)
            .fold((1, 1), |(count, depth), (c, d)| {
                (count + c, depth.max(d + 1))
            })
    };
    match &node.value {
        NodeValue::Seq(items) => inner(&mut items.iter()),
        NodeValue::Map(entries) => inner(&mut entries.iter().map(|(_, v)| v)),
        _ => (1, 0),
    }
}
