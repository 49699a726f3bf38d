//! The fields of an address behind its `?`, each of which may occur several times.

use axum::http::Uri;
use form_urlencoded::{Serializer, parse};

/// Names and values in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryFields(Vec<(String, String)>);

impl QueryFields {
    pub fn of(uri: &Uri) -> QueryFields {
        let query = uri.query().unwrap_or_default();
        QueryFields(parse(query.as_bytes()).into_owned().collect())
    }

    /// The first value of a field; `None` also where it is empty, as of a form that is not filled
    /// in.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The values of a field that are not empty.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.0.iter().filter(move |(of, _)| of == name);
        fields
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// The same with a field that has one value.
    pub fn with(&self, name: &str, value: impl Into<String>) -> QueryFields {
        let mut fields = self.without(name);
        fields.0.push((name.to_owned(), value.into()));
        fields
    }

    pub fn without(&self, name: &str) -> QueryFields {
        let kept = self.0.iter().filter(|(of, _)| of != name);
        QueryFields(kept.cloned().collect())
    }

    /// The address of a page with these fields, those that are empty left out.
    pub fn address(&self, path: &str) -> String {
        let filled = self.0.iter().filter(|(_, value)| !value.is_empty());
        let query = Serializer::new(String::new()).extend_pairs(filled).finish();
        match query.as_str() {
            "" => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_from_an_address() {
        let uri: Uri = "/x?run=a&run=b%20c&empty=&q=%E4%BE%8B+%26".parse().unwrap();
        let fields = QueryFields::of(&uri);
        assert_eq!(fields.all("run").collect::<Vec<_>>(), ["a", "b c"]);
        assert_eq!((fields.get("q"), fields.get("empty")), (Some("例 &"), None));
        let other = fields.without("run").with("q", "1=2");
        assert_eq!(other.address("/y"), "/y?q=1%3D2");
        assert_eq!(QueryFields::default().address("/"), "/");
    }
}
