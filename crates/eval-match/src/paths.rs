//! Paths into JSON as authors write them: `users.*.id`, `users[0].id`, `$.meta.total`,
//! `a["key.with.dots"]`.

use std::fmt;

use serde_json::Value;

/// One step of a path that an author wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// A key, or an array's index in digits.
    Named(String),
    /// `*`: every key or index.
    Any,
}

/// A path that an author wrote; the empty path is the whole value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathPattern(pub Vec<PathStep>);

impl PathPattern {
    /// Reads any text: what has no special meaning is part of a key.
    pub fn parse(text: &str) -> PathPattern {
        let text = text
            .strip_prefix('$')
            .filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            .unwrap_or(text);
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('.').unwrap_or(text);
        while !rest.is_empty() {
            if let Some((step, after)) = bracketed(rest) {
                steps.push(step);
                rest = after;
            } else {
                // A bracket ends a key only where it begins a step.
                let end = rest
                    .char_indices()
                    .skip(1)
                    .find(|(i, c)| *c == '.' || (*c == '[' && bracketed(&rest[*i..]).is_some()))
                    .map_or(rest.len(), |(i, _)| i);
                steps.push(step(&rest[..end]));
                rest = &rest[end..];
            }
            rest = rest.strip_prefix('.').unwrap_or(rest);
        }
        PathPattern(steps)
    }

    /// The path from the top of a value: in an HTTP response (an object with `status` and `body`)
    /// one that leads somewhere in the body means that, and so does one that leads nowhere.
    pub fn within(&self, value: &Value) -> PathPattern {
        let response = value.get("status").is_some() && value.get("body").is_some();
        if !response || self.0.is_empty() {
            return self.clone();
        }
        let in_body = self.under("body");
        if !in_body.exists_in(value) && self.exists_in(value) {
            self.clone()
        } else {
            in_body
        }
    }

    /// The values that it names.
    pub fn values_in<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in &self.0 {
            let mut next = Vec::new();
            for value in found {
                match (step, value) {
                    (PathStep::Named(name), _) => next.extend(named_child(value, name)),
                    (PathStep::Any, Value::Object(map)) => next.extend(map.values()),
                    (PathStep::Any, Value::Array(items)) => next.extend(items),
                    (PathStep::Any, _) => {}
                }
            }
            found = next;
        }
        found
    }

    /// The same path below `prefix`.
    pub fn under(&self, prefix: &str) -> PathPattern {
        let mut steps = vec![PathStep::Named(prefix.to_owned())];
        steps.extend(self.0.iter().cloned());
        PathPattern(steps)
    }

    /// Whether it names exactly this place.
    pub fn names(&self, place: &[PlaceStep]) -> bool {
        self.0.len() == place.len() && self.leads_to(place)
    }

    /// Whether it names this place or one that holds it.
    pub fn covers(&self, place: &[PlaceStep]) -> bool {
        self.0.len() <= place.len() && self.leads_to(place)
    }

    fn leads_to(&self, place: &[PlaceStep]) -> bool {
        self.0
            .iter()
            .zip(place)
            .all(|(step, place)| step.fits(place))
    }

    /// Whether it leads anywhere in a value. An empty container under `*` counts: the path has its
    /// place there.
    pub fn exists_in(&self, value: &Value) -> bool {
        self.missing_in(value, true).is_empty() || self.some_exists(value, 0)
    }

    fn some_exists(&self, value: &Value, from: usize) -> bool {
        match self.0.get(from) {
            None => true,
            Some(PathStep::Named(name)) => {
                named_child(value, name).is_some_and(|child| self.some_exists(child, from + 1))
            }
            Some(PathStep::Any) => children(value)
                .is_some_and(|all| all.iter().any(|(_, c)| self.some_exists(c, from + 1))),
        }
    }

    /// The places that it names in a value's containers but where nothing is. Under `*` every child
    /// must lead on; with `empty_is_fine` a container without children misses nothing.
    pub fn missing_in(&self, value: &Value, empty_is_fine: bool) -> Vec<Vec<PlaceStep>> {
        let mut missing = Vec::new();
        self.collect_missing(value, empty_is_fine, &mut Vec::new(), &mut missing);
        missing
    }

    fn collect_missing(
        &self,
        value: &Value,
        empty_is_fine: bool,
        place: &mut Vec<PlaceStep>,
        missing: &mut Vec<Vec<PlaceStep>>,
    ) {
        let step = match self.0.get(place.len()) {
            None => return,
            Some(step) => step,
        };
        let mut absent = |place: &[PlaceStep], step: &PathStep| {
            let mut place = place.to_vec();
            place.push(match step {
                PathStep::Named(name) => PlaceStep::Key(name.clone()),
                PathStep::Any => PlaceStep::Key("*".to_owned()),
            });
            missing.push(place);
        };
        match step {
            PathStep::Named(name) => match named_child(value, name) {
                Some(child) => {
                    place.push(match value {
                        Value::Array(_) => PlaceStep::Index(name.parse().unwrap_or_default()),
                        _ => PlaceStep::Key(name.clone()),
                    });
                    self.collect_missing(child, empty_is_fine, place, missing);
                    place.pop();
                }
                None => absent(place, step),
            },
            PathStep::Any => match children(value) {
                Some(all) if all.is_empty() && empty_is_fine => {}
                Some(all) if !all.is_empty() => {
                    for (at, child) in all {
                        place.push(at);
                        self.collect_missing(child, empty_is_fine, place, missing);
                        place.pop();
                    }
                }
                _ => absent(place, step),
            },
        }
    }
}

/// As authors write it; what it prints reads back as the same path.
impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Any if i == 0 => f.write_str("*")?,
                PathStep::Any => f.write_str(".*")?,
                PathStep::Named(name) => {
                    let odd = name.is_empty()
                        || name == "*"
                        || name.contains(['.', '[', ']', '"', '$', '\'']);
                    match (odd, i) {
                        (true, _) if name.contains("\"]") => write!(f, "['{name}']")?,
                        (true, _) => write!(f, "[\"{name}\"]")?,
                        (false, 0) => f.write_str(name)?,
                        (false, _) => write!(f, ".{name}")?,
                    }
                }
            }
        }
        Ok(())
    }
}

impl PathStep {
    fn fits(&self, place: &PlaceStep) -> bool {
        match (self, place) {
            (PathStep::Any, _) => true,
            (PathStep::Named(name), PlaceStep::Key(key)) => name == key,
            (PathStep::Named(name), PlaceStep::Index(index)) => name.parse() == Ok(*index),
        }
    }
}

fn step(text: &str) -> PathStep {
    if text == "*" {
        PathStep::Any
    } else {
        PathStep::Named(text.to_owned())
    }
}

/// `[0]`, `[*]`, `["key"]` or `['key']` at the start, and what follows.
fn bracketed(text: &str) -> Option<(PathStep, &str)> {
    let inner = text.strip_prefix('[')?;
    for quote in ['"', '\''] {
        if let Some(quoted) = inner.strip_prefix(quote) {
            let (key, after) = quoted.split_once(&format!("{quote}]"))?;
            return Some((PathStep::Named(key.to_owned()), after));
        }
    }
    let (index, after) = inner.split_once(']')?;
    let plain = index == "*" || (!index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()));
    plain.then(|| (step(index), after))
}

fn named_child<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    }
}

fn children(value: &Value) -> Option<Vec<(PlaceStep, &Value)>> {
    match value {
        Value::Object(map) => Some(
            map.iter()
                .map(|(key, child)| (PlaceStep::Key(key.clone()), child))
                .collect(),
        ),
        Value::Array(items) => Some(
            items
                .iter()
                .enumerate()
                .map(|(i, c)| (PlaceStep::Index(i), c))
                .collect(),
        ),
        _ => None,
    }
}

/// One step to a place in an actual value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PlaceStep {
    Key(String),
    Index(usize),
}

/// A place as people read it: `body.users[0].email`; `(root)` for the whole value.
pub struct ShownPath<'a>(pub &'a [PlaceStep]);

impl fmt::Display for ShownPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(root)");
        }
        for (i, place) in self.0.iter().enumerate() {
            match place {
                PlaceStep::Index(index) => write!(f, "[{index}]")?,
                PlaceStep::Key(key) if key.is_empty() || key.contains(['.', '[', ']', '"']) => {
                    write!(f, "[{key:?}]")?
                }
                PlaceStep::Key(key) if i == 0 => f.write_str(key)?,
                PlaceStep::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spelled(text: &str) -> String {
        let steps = PathPattern::parse(text).0;
        let shown: Vec<String> = steps
            .iter()
            .map(|step| match step {
                PathStep::Named(name) => name.clone(),
                PathStep::Any => "<any>".to_owned(),
            })
            .collect();
        shown.join(" / ")
    }

    #[test]
    fn reads_the_ways_in_which_people_write_paths() {
        for (text, steps) in [
            ("users.*.id", "users / <any> / id"),
            ("users[0].id", "users / 0 / id"),
            ("users[*].id", "users / <any> / id"),
            ("$.meta.total", "meta / total"),
            ("$[0]", "0"),
            ("$price", "$price"),
            ("a[\"b.c\"].d", "a / b.c / d"),
            ("['x']", "x"),
            ("a[b", "a[b"),
            ("a[b].c", "a[b] / c"),
            ("*", "<any>"),
            ("", ""),
            ("$", ""),
            (".a", "a"),
        ] {
            assert_eq!(spelled(text), steps, "{text}");
        }
    }

    #[test]
    fn knows_what_is_missing_where() {
        let value = json!({"users": [{"id": 1}, {}], "none": [], "meta": {"page": 1}});
        let missing = |path: &str, empty_is_fine| {
            let places = PathPattern::parse(path).missing_in(&value, empty_is_fine);
            places
                .iter()
                .map(|place| ShownPath(place).to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(missing("users.*.id", true), "users[1].id");
        assert_eq!(missing("none.*.id", true), "");
        assert_eq!(missing("none.*.id", false), "none.*");
        assert_eq!(missing("meta.total", true), "meta.total");
        assert_eq!(missing("meta.page.x", true), "meta.page.x");
        assert_eq!(missing("gone.*", true), "gone");
        assert!(PathPattern::parse("users.*.id").exists_in(&value));
        assert!(PathPattern::parse("none.*").exists_in(&value));
        assert!(!PathPattern::parse("users.*.name").exists_in(&value));
        assert!(PathPattern::parse("").exists_in(&value));
    }
}
