//! Filters: which cases of a plan are meant.

use super::request::Filters;

impl Filters {
    /// Each kind of filter in words, for the journal and reports; empty when nothing is filtered.
    pub fn describe(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |kind: &str, values: Vec<String>| {
            if !values.is_empty() {
                words.push(format!("{kind} {}", values.join(" or ")));
            }
        };
        say("category", self.category.clone());
        say("tag", self.tag.clone());
        say("eval", self.eval.clone());
        say("case", self.case.clone());
        say("difficulty", self.difficulty.iter().map(|d| word(d)).collect());
        say("criticality", self.criticality.iter().map(|c| word(c)).collect());
        if let Some(only) = &self.only {
            words.push(format!("{} named cases", only.len()));
        }
        words
    }
}

/// A word of a closed list as authors write it.
fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}
