//! One spelling for each key: the positioned tree is renamed along the schema's `x-aliases` and
//! `x-tag-aliases`, before it is checked, so that errors and everything after them know one name.
//!
//! Spellings that lie at different paths (`metadata.retries` for `config.retries`) are not the
//! schema's business.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Number, Value, json};

use super::problem::{Code, Problem, Problems};
use super::scalar::is_integer;
use super::schema::{aliases, branches, discriminator, flatten, null_is_absent, plain_values};
use super::source::SourceFiles;
use super::tree::{MappingKey, Node, NodeValue};

/// Words of a schema that say nothing about its structure, so that a `$ref` beside them is still
/// only a `$ref`.
const ANNOTATIONS: [&str; 7] = [
    "$ref",
    "title",
    "description",
    "default",
    "deprecated",
    "examples",
    "x-aliases",
];

/// What the normaliser needs to know of a schema, made once.
#[derive(Debug)]
pub struct SchemaShapes {
    shapes: Vec<SchemaShape>,
    root: usize,
}

#[derive(Debug, Default)]
struct SchemaShape {
    /// By every spelling.
    properties: HashMap<String, ShapeProperty>,
    additional: Option<usize>,
    items: Option<usize>,
    tagged: Option<TaggedUnion>,
    /// Other spellings of a plain value, to the canonical one.
    values: HashMap<String, Arc<str>>,
    /// Branches that no discriminator tells apart.
    alternatives: Vec<usize>,
    /// `if`, `then` and `else`.
    choice: Option<ConditionalShape>,
    /// Whether numbers here are whole: JSON Schema takes `3.0` for one, serde does not.
    whole: bool,
}

/// A schema that says by `if` which of two others holds.
#[derive(Debug)]
struct ConditionalShape {
    condition: jsonschema::Validator,
    /// Whether it is of more than the type.
    of_keys: bool,
    then: Option<usize>,
    otherwise: Option<usize>,
}

impl ConditionalShape {
    /// Whether the condition holds, which looks at the node's kind, its keys, and their texts.
    fn holds(&self, node: &Node) -> bool {
        let hollow = |node: &Node| match &node.value {
            NodeValue::Seq(_) => json!([]),
            NodeValue::Map(_) => json!({}),
            NodeValue::Special(_) => json!(0),
            _ => node.to_json(),
        };
        let outline = match &node.value {
            NodeValue::Map(entries) if self.of_keys => entries
                .iter()
                .map(|(key, value)| (key.name.to_string(), hollow(value)))
                .collect(),
            _ => hollow(node),
        };
        self.condition.is_valid(&outline)
    }
}

#[derive(Debug)]
struct ShapeProperty {
    canonical: Arc<str>,
    shape: usize,
    null_is_absent: bool,
}

#[derive(Debug)]
struct TaggedUnion {
    key: String,
    /// By every spelling of the tag: the canonical tag and the branch.
    branches: HashMap<String, usize>,
}

impl SchemaShapes {
    /// `canonical` is what schemars makes of our types.
    pub fn new(canonical: &Value) -> SchemaShapes {
        let mut builder = ShapeBuilder {
            root: canonical,
            shapes: Vec::new(),
            by_ref: HashMap::new(),
        };
        let root = builder.add(canonical);
        SchemaShapes {
            shapes: builder.shapes,
            root,
        }
    }

    /// Renames keys and tags to their canonical spelling and drops explicit nulls of optional keys.
    /// Two spellings of one key at once are an error that names both lines.
    pub fn normalise(&self, sources: &SourceFiles, node: &mut Node, problems: &mut Problems) {
        ShapeWalk {
            shapes: &self.shapes,
            sources,
            problems,
        }
        .node(self.root, node);
    }
}

struct ShapeBuilder<'v> {
    root: &'v Value,
    shapes: Vec<SchemaShape>,
    by_ref: HashMap<String, usize>,
}

impl ShapeBuilder<'_> {
    /// The index of a schema's shape. A `$ref` is built once, which also ends recursion.
    fn add(&mut self, schema: &Value) -> usize {
        let only_ref = schema
            .as_object()
            .filter(|o| o.keys().all(|word| ANNOTATIONS.contains(&word.as_str())))
            .and_then(|o| o.get("$ref"))
            .and_then(Value::as_str);
        if let Some(known) = only_ref.and_then(|r| self.by_ref.get(r)) {
            return *known;
        }
        let at = self.shapes.len();
        self.shapes.push(SchemaShape::default());
        if let Some(reference) = only_ref {
            self.by_ref.insert(reference.to_owned(), at);
        }
        let flat = flatten(self.root, schema);
        let shape = self.shape(&flat);
        if let Some(place) = self.shapes.get_mut(at) {
            *place = shape;
        }
        at
    }

    fn shape(&mut self, flat: &Map<String, Value>) -> SchemaShape {
        let mut shape = SchemaShape {
            properties: self.properties(flat),
            ..SchemaShape::default()
        };
        shape.additional = flat
            .get("additionalProperties")
            .filter(|s| s.is_object())
            .map(|s| self.add(s));
        shape.items = flat
            .get("items")
            .filter(|s| s.is_object())
            .map(|s| self.add(s));
        let condition = flat.get("if").and_then(|schema| {
            let words = schema.as_object()?.len();
            Some((jsonschema::validator_for(schema).ok()?, words > 1))
        });
        shape.choice = condition.map(|(condition, of_keys)| ConditionalShape {
            condition,
            of_keys,
            then: flat.get("then").map(|s| self.add(s)),
            otherwise: flat.get("else").map(|s| self.add(s)),
        });
        shape.whole = match flat.get("type") {
            Some(Value::String(one)) => one == "integer",
            Some(Value::Array(many)) => {
                many.iter().any(|t| t == "integer") && !many.iter().any(|t| t == "number")
            }
            _ => false,
        };
        let Some(branches) = branches(flat) else {
            return shape;
        };
        if let Some(values) = plain_values(self.root, &branches) {
            for (branch, texts) in branches.iter().zip(values) {
                let Some(canonical) = texts.first() else {
                    continue;
                };
                for alias in aliases(branch, "x-tag-aliases") {
                    shape
                        .values
                        .insert(alias.to_owned(), Arc::from(canonical.as_str()));
                }
            }
        } else if let Some(tagged) = discriminator(self.root, &branches) {
            let mut union = TaggedUnion {
                key: tagged.key,
                branches: HashMap::new(),
            };
            for (branch, tags) in branches.iter().zip(tagged.tags) {
                let shape = self.add(branch);
                union
                    .branches
                    .extend(tags.into_iter().map(|tag| (tag, shape)));
            }
            shape.tagged = Some(union);
        } else {
            shape.alternatives = branches.iter().map(|branch| self.add(branch)).collect();
        }
        shape
    }

    fn properties(&mut self, flat: &Map<String, Value>) -> HashMap<String, ShapeProperty> {
        let mut properties = HashMap::new();
        for (name, schema) in flat
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let shape = self.add(schema);
            let null_is_absent = null_is_absent(self.root, flat, name, schema);
            let canonical: Arc<str> = Arc::from(name.as_str());
            for spelling in std::iter::once(name.as_str()).chain(aliases(schema, "x-aliases")) {
                let property = ShapeProperty {
                    canonical: canonical.clone(),
                    shape,
                    null_is_absent,
                };
                // A canonical name wins over an alias of the same spelling.
                if spelling == name || !properties.contains_key(spelling) {
                    properties.insert(spelling.to_owned(), property);
                }
            }
        }
        properties
    }
}

struct ShapeWalk<'w> {
    shapes: &'w [SchemaShape],
    sources: &'w SourceFiles,
    problems: &'w mut Problems,
}

impl ShapeWalk<'_> {
    fn node(&mut self, shape: usize, node: &mut Node) {
        let shapes = self.shapes;
        let Some(shape) = shapes.get(shape) else {
            return;
        };
        if let Some(choice) = &shape.choice {
            let branch = if choice.holds(node) {
                choice.then
            } else {
                choice.otherwise
            };
            branch
                .into_iter()
                .for_each(|branch| self.node(branch, node));
        }
        if let Some(alternative) = self.alternative(shape, node) {
            self.node(alternative, node);
        }
        match &mut node.value {
            NodeValue::Text(text) => {
                if let Some(canonical) = shape.values.get(&**text) {
                    *text = canonical.clone();
                }
            }
            NodeValue::Number(number) if shape.whole && !is_integer(number) => {
                if let Some(whole) = whole(number) {
                    *number = whole;
                }
            }
            NodeValue::Seq(items) => {
                if let Some(inner) = shape.items {
                    items.iter_mut().for_each(|item| self.node(inner, item));
                }
            }
            NodeValue::Map(entries) => {
                if let Some(union) = &shape.tagged
                    && let Some((_, tag)) = entries.iter().find(|(k, _)| *k.name == union.key)
                    && let Some(branch) = tag.as_text().and_then(|tag| union.branches.get(tag))
                {
                    // The branch knows every key of the map, so nothing is left to do here.
                    return self.node(*branch, node);
                }
                self.map(shape, entries);
            }
            _ => {}
        }
    }

    fn map(&mut self, shape: &SchemaShape, entries: &mut Vec<(MappingKey, Node)>) {
        if shape.properties.is_empty() && shape.additional.is_none() {
            return;
        }
        for at in 0..entries.len() {
            let Some((key, _)) = entries.get(at) else {
                break;
            };
            let Some(property) = shape.properties.get(&*key.name) else {
                continue;
            };
            if property.canonical == key.name {
                continue;
            }
            if let Some((other, _)) = entries.iter().find(|(k, _)| k.name == property.canonical) {
                let problem = self.both_spellings(key, other, &property.canonical);
                self.problems.push(problem);
            } else if let Some((key, _)) = entries.get_mut(at) {
                key.name = property.canonical.clone();
            }
        }
        // A second spelling that was reported above is no unknown key as well.
        entries.retain(|(key, value)| match shape.properties.get(&*key.name) {
            Some(property) => {
                property.canonical == key.name && !(property.null_is_absent && value.is_null())
            }
            None => true,
        });
        for (key, value) in entries {
            match shape.properties.get(&*key.name) {
                Some(property) => self.node(property.shape, value),
                None => shape
                    .additional
                    .into_iter()
                    .for_each(|inner| self.node(inner, value)),
            }
        }
    }

    fn both_spellings(&self, key: &MappingKey, other: &MappingKey, canonical: &str) -> Problem {
        let spelled = |key: &MappingKey| {
            self.sources
                .slice(key.span)
                .trim_matches(['"', '\''])
                .to_owned()
        };
        let (first, second) = if key.span <= other.span {
            (key, other)
        } else {
            (other, key)
        };
        let line = |key: &MappingKey| self.sources.position(key.span).line;
        let message = format!(
            "`{}` (line {}) and `{}` (line {}) are two spellings of the same key",
            spelled(first),
            line(first),
            spelled(second),
            line(second)
        );
        Problem::error(Code::BothSpellings, second.span, message)
            .hint(format!("keep one of them, best `{canonical}`"))
            .related(first.span, "the first spelling")
    }

    /// The branch of an untagged union that fits a node best: by the kind of value, then by the
    /// keys it knows.
    fn alternative(&self, shape: &SchemaShape, node: &Node) -> Option<usize> {
        if let [only] = shape.alternatives.as_slice() {
            return Some(*only);
        }
        let fit = |at: &usize| -> usize {
            let Some(shape) = self.shapes.get(*at) else {
                return 0;
            };
            let nested = shape.alternatives.iter().any(|inner| inner != at);
            let own = match &node.value {
                NodeValue::Text(text) => usize::from(shape.values.contains_key(&**text)) * 2,
                NodeValue::Seq(_) => usize::from(shape.items.is_some()) * 2,
                NodeValue::Map(entries) => {
                    let known = |k: &str| {
                        shape.properties.contains_key(k)
                            || shape.tagged.as_ref().is_some_and(|u| u.key == k)
                    };
                    let keys = entries.iter().filter(|(k, _)| known(&k.name)).count();
                    keys * 2 + usize::from(shape.additional.is_some())
                }
                _ => 0,
            };
            own + usize::from(nested)
        };
        // On equal terms the first one, as it is written.
        shape
            .alternatives
            .iter()
            .copied()
            .rev()
            .max_by_key(|at| fit(at))
            .filter(|at| fit(at) > 0)
    }
}

/// `3.0` and `1e3` as integers, digit by digit; `None` for what is no integer, or one with a huge
/// exponent.
fn whole(number: &Number) -> Option<Number> {
    let text = number.as_str();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: usize = exponent
        .trim_start_matches('+')
        .parse()
        .ok()
        .filter(|e| *e <= 30)?;
    let (sign, unsigned) = mantissa
        .strip_prefix('-')
        .map_or(("", mantissa), |rest| ("-", rest));
    let (before, after) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let zeros = "0".repeat(exponent.saturating_sub(after.len()));
    let (moved, left) = after.split_at_checked(exponent.min(after.len()))?;
    let digits = format!("{before}{moved}{zeros}");
    let digits = digits.trim_start_matches('0');
    match (left.bytes().all(|b| b == b'0'), digits) {
        (true, "") => Some(Number::from(0)),
        (true, digits) => format!("{sign}{digits}").parse().ok(),
        (false, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_that_are_whole_become_integers_exactly() {
        let table = [
            ("3.0", Some("3")),
            ("-3.00", Some("-3")),
            ("1e3", Some("1000")),
            ("1.25e2", Some("125")),
            ("1.2e3", Some("1200")),
            ("0.0", Some("0")),
            ("-0.0", Some("0")),
            ("0.5e1", Some("5")),
            ("9007199254740993.0", Some("9007199254740993")),
            ("1.5", None),
            ("3.00000000000000000001", None),
            ("1.25e1", None),
            ("1e-1", None),
            ("1e-999999999", None),
            ("1e999999999", None),
        ];
        for (text, expected) in table {
            let number: Number = text.parse().expect("a number");
            assert_eq!(
                whole(&number).map(|n| n.to_string()).as_deref(),
                expected,
                "of {text}"
            );
        }
    }
}
