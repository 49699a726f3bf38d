//! What a mistyped name may have meant.

/// The known name nearest to a mistyped one, if any is near enough to be meant: at most a third of
/// the longer one's characters apart (Damerau-Levenshtein). Case does not count, and `-`, `_` and a
/// blank are the same.
pub fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = |name: &str| name.to_lowercase().replace(['-', ' '], "_");
    let wrong = folded(wrong);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wrong, &folded(name)), name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(wrong.chars().count()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let known = ["exact_match", "regex", "contains", "id", "reg-users-001"];
        let table = [
            ("exact_mach", Some("exact_match")),
            ("exact-match", Some("exact_match")),
            ("ExactMatch", Some("exact_match")),
            ("regxe", Some("regex")),
            ("reg-user-001", Some("reg-users-001")),
            ("ie", None),
            ("banana", None),
            ("", None),
        ];
        for (wrong, expected) in table {
            assert_eq!(did_you_mean(wrong, known), expected, "of {wrong:?}");
        }
    }
}
