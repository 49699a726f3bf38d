//! Differences path by path, ready to be shown: folded where many elements differ alike, bounded,
//! and cut where the two sides part. The renderers beside the terminal's and Markdown's failures
//! only set them.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::report::emphasis::{self, EmphasisMarks};
use eval_base::text;
use eval_match::{Difference, DifferenceKind};

/// The keys of a grade's details that are shown here.
pub const LISTED: &str = "differences";
pub const COUNTED: &str = "difference_count";

/// As many elements must differ alike to be told as one.
const FOLDED: usize = 4;
/// Characters before the place where two long sides part.
const LEAD: usize = 16;

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub struct DifferenceLimits {
    pub rows: usize,
    /// Columns of one side.
    pub columns: usize,
    /// False where only ASCII can be shown.
    pub unicode: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferenceTable {
    pub rows: Vec<DifferenceRow>,
    /// Differences that no row tells.
    pub more: usize,
}

/// One place, or several that differ alike. All texts are clean and of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferenceRow {
    /// `users[*].email` where several are told as one.
    pub path: String,
    /// What is to be said beside the path; empty where the two sides say it.
    pub note: String,
    pub expected: Option<DifferenceSide>,
    pub actual: Option<DifferenceSide>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferenceSide {
    pub text: String,
    /// Where it differs from the other side.
    pub marks: EmphasisMarks,
}

/// Whether a grade lists differences in its details.
pub fn are_listed(details: &Map<String, Value>) -> bool {
    details
        .get(LISTED)
        .and_then(Value::as_array)
        .is_some_and(|listed| !listed.is_empty())
}

/// The rows of the differences that a grade lists in its details; `None` when it lists none.
pub fn of_details(
    details: &Map<String, Value>,
    limits: DifferenceLimits,
) -> Option<DifferenceTable> {
    let text = |entry: &Value, key: &str| {
        entry
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let listed: Vec<DifferenceEntry> = details
        .get(LISTED)?
        .as_array()?
        .iter()
        .map(|entry| DifferenceEntry {
            path: text(entry, "path"),
            kind: text(entry, "kind"),
            expected: text(entry, "expected"),
            actual: text(entry, "actual"),
        })
        .collect();
    let counted = details
        .get(COUNTED)
        .and_then(Value::as_u64)
        .and_then(|n| usize::try_from(n).ok());
    (!listed.is_empty()).then(|| rows(&listed, counted.unwrap_or(0), limits))
}

/// The rows of differences that were found; `total` counts those that are not listed, too.
pub fn of_differences(
    differences: &[Difference],
    total: usize,
    limits: DifferenceLimits,
) -> DifferenceTable {
    let listed: Vec<DifferenceEntry> = differences
        .iter()
        .map(|d| DifferenceEntry {
            path: d.path.clone(),
            kind: d.kind.name().to_owned(),
            expected: d.expected.clone(),
            actual: d.actual.clone(),
        })
        .collect();
    rows(&listed, total, limits)
}

/// The rows as the body of a diff, for fences and for JUnit; `columns` bound a side.
pub fn as_diff(rows: &DifferenceTable, columns: usize) -> String {
    let mut body = String::new();
    for row in &rows.rows {
        let note = if row.note.is_empty() {
            String::new()
        } else {
            format!(": {}", row.note)
        };
        let _ = writeln!(body, "@@ {}{note} @@", row.path);
        for (sign, side) in [('-', &row.expected), ('+', &row.actual)] {
            if let Some(side) = side {
                let _ = writeln!(body, "{sign} {}", text::truncate_width(&side.text, columns));
            }
        }
    }
    body
}

struct DifferenceEntry {
    path: String,
    kind: String,
    expected: String,
    actual: String,
}

/// Places that differ alike stand where the first of them stands.
fn rows(listed: &[DifferenceEntry], total: usize, limits: DifferenceLimits) -> DifferenceTable {
    let mut groups: Vec<(String, Vec<&DifferenceEntry>)> = Vec::new();
    let mut known: HashMap<(String, &str), usize> = HashMap::new();
    for entry in listed {
        let pattern = any_index(&entry.path);
        let at = *known
            .entry((pattern.clone(), entry.kind.as_str()))
            .or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, group)) => group.push(entry),
            None => groups.push((pattern, vec![entry])),
        }
    }
    let mut told = 0;
    let mut rows = Vec::new();
    for (pattern, group) in &groups {
        let folded = group.len() >= FOLDED;
        for entry in group.iter().take(if folded { 1 } else { group.len() }) {
            if rows.len() == limits.rows {
                return DifferenceTable {
                    rows,
                    more: total.max(listed.len()) - told,
                };
            }
            told += if folded { group.len() } else { 1 };
            rows.push(row(entry, folded.then_some((pattern, group.len())), limits));
        }
    }
    DifferenceTable {
        rows,
        more: total.max(listed.len()) - told,
    }
}

fn row(
    entry: &DifferenceEntry,
    folded: Option<(&String, usize)>,
    limits: DifferenceLimits,
) -> DifferenceRow {
    let is = |kind: DifferenceKind| entry.kind == kind.name();
    let mut note = match () {
        () if is(DifferenceKind::Missing) => "missing".to_owned(),
        () if is(DifferenceKind::Unexpected) => "not expected".to_owned(),
        () if is(DifferenceKind::Order) => "another order".to_owned(),
        () => String::new(),
    };
    let path = match folded {
        None => text::one_line(&entry.path),
        Some((pattern, count)) => {
            let comma = if note.is_empty() { "" } else { ", " };
            note = format!(
                "{note}{comma}{count} elements, the first {}",
                text::one_line(&entry.path)
            );
            text::one_line(pattern)
        }
    };
    let (expected, actual) = (
        text::exact_line(&entry.expected),
        text::exact_line(&entry.actual),
    );
    if is(DifferenceKind::Missing) {
        return DifferenceRow {
            path,
            note,
            expected: Some(DifferenceSide {
                text: expected,
                marks: Vec::new(),
            }),
            actual: None,
        };
    }
    if is(DifferenceKind::Unexpected) {
        return DifferenceRow {
            path,
            note,
            expected: None,
            actual: Some(DifferenceSide {
                text: actual,
                marks: Vec::new(),
            }),
        };
    }
    let (expected, actual) = where_they_part(expected, actual, limits);
    let (in_expected, in_actual) = emphasis::marks(&expected, &actual);
    DifferenceRow {
        path,
        note,
        expected: Some(DifferenceSide {
            text: expected,
            marks: in_expected,
        }),
        actual: Some(DifferenceSide {
            text: actual,
            marks: in_actual,
        }),
    }
}

/// Two sides of which at least one is too long, without most of what they begin with alike.
fn where_they_part(expected: String, actual: String, limits: DifferenceLimits) -> (String, String) {
    let same = expected
        .chars()
        .zip(actual.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let fit = text::width(&expected).max(text::width(&actual)) <= limits.columns;
    if fit || same <= LEAD * 2 {
        return (expected, actual);
    }
    let dots = if limits.unicode {
        text::ELLIPSIS
    } else {
        "..."
    };
    // As much of what is alike as there is room for beside what is not.
    let after = expected.chars().count().max(actual.chars().count()) - same;
    let lead = limits
        .columns
        .saturating_sub(text::width(dots) + after)
        .clamp(LEAD, same);
    let tail = |side: &str| {
        format!(
            "{dots}{}",
            side.chars().skip(same - lead).collect::<String>()
        )
    };
    (tail(&expected), tail(&actual))
}

/// A path with `[*]` for every index. Keys in brackets stand in quotes, so that no key reads as an
/// index.
fn any_index(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('[') {
        let (before, bracket) = rest.split_at(at);
        out.push_str(before);
        let end = match bracket.strip_prefix("[\"") {
            Some(quoted) => end_of_quoted(quoted).map_or(bracket.len(), |end| end + 2),
            None => bracket.find(']').map_or(bracket.len(), |end| end + 1),
        };
        let (step, after) = bracket.split_at(end);
        let index = step[1..].trim_end_matches(']');
        let is_index = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
        out.push_str(if is_index { "[*]" } else { step });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Bytes of a quoted key up to the quote that ends it, and that quote.
fn end_of_quoted(quoted: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            '"' if !escaped => return Some(at + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use eval_match::differences;

    const LIMITS: DifferenceLimits = DifferenceLimits {
        rows: 4,
        columns: 40,
        unicode: true,
    };

    fn shown(rows: DifferenceTable) -> String {
        let mut lines = Vec::new();
        for row in rows.rows {
            lines.push(format!("{} ({})", row.path, row.note));
            lines.extend(
                row.expected
                    .map(|side| format!("- {} {:?}", side.text, side.marks)),
            );
            lines.extend(
                row.actual
                    .map(|side| format!("+ {} {:?}", side.text, side.marks)),
            );
        }
        lines.push(format!("more: {}", rows.more));
        lines.join("\n")
    }

    #[test]
    fn elements_that_differ_alike_are_one_row() {
        let users = |email: &str| -> Vec<Value> {
            (0..20).map(|n| json!({"id": n, "email": email})).collect()
        };
        let found = differences(
            &json!({"users": users("a@b.example"), "n": 1}),
            &json!({"users": users("nobody")}),
        );
        insta::assert_snapshot!(shown(of_differences(&found, found.len(), LIMITS)), @r#"
        n (missing)
        - 1 []
        users[*].email (20 elements, the first users[0].email)
        - "a@b.example" []
        + "nobody" []
        more: 0
        "#);
        // Three are told one by one.
        let found = differences(&json!([1, 2, 3, 4, 5, 6]), &json!([9, 2, 9, 4, 9]));
        insta::assert_snapshot!(shown(of_differences(&found, 12, LIMITS)), @"
        [0] ()
        - 1 []
        + 9 []
        [2] ()
        - 3 []
        + 9 []
        [4] ()
        - 5 []
        + 9 []
        [5] (missing)
        - 6 []
        more: 8
        ");
    }

    #[test]
    fn only_indices_are_folded() {
        for (path, folded) in [
            ("users[0].tags[12]", "users[*].tags[*]"),
            ("[3]", "[*]"),
            (r#"a["[0]"].b[1]"#, r#"a["[0]"].b[*]"#),
            (r#"["q\"[1]"][2]"#, r#"["q\"[1]"][*]"#),
            (r#"["open"#, r#"["open"#),
            ("[x", "[x"),
            ("(root)", "(root)"),
        ] {
            assert_eq!(any_index(path), folded, "{path}");
        }
    }

    #[test]
    fn what_is_left_out_is_counted_and_texts_are_clean() {
        let many: Vec<Value> = (0..9)
            .map(|n| json!({"path": format!("k{n}\u{1b}[31m\n"), "kind": "value", "expected": "a\u{7}", "actual": "b\nc"}))
            .collect();
        let details = Map::from_iter([
            (LISTED.to_owned(), json!(many)),
            (COUNTED.to_owned(), json!(30)),
        ]);
        let rows = of_details(&details, LIMITS).unwrap();
        assert_eq!((rows.rows.len(), rows.more), (4, 26));
        let row = &rows.rows[0];
        let sides = [
            &row.path,
            &row.expected.as_ref().unwrap().text,
            &row.actual.as_ref().unwrap().text,
        ];
        assert!(
            sides
                .iter()
                .all(|side| side.chars().all(|c| !c.is_control())),
            "{sides:?}"
        );
        assert_eq!(of_details(&Map::new(), LIMITS), None);
        let odd = Map::from_iter([(LISTED.to_owned(), json!([1, {}]))]);
        assert_eq!(of_details(&odd, LIMITS).unwrap().rows.len(), 2);
    }
}
