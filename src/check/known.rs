//! Faults of public datasets that are known, each with its reason.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A fault of some records of a dataset: probes that pass there, or references that fail.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnownFault {
    #[allow(dead_code, reason = "for readers of the file")]
    dataset: String,
    formats: Vec<String>,
    /// Ids of records, with the name of the function that each is about: another dataset may have
    /// records with the same ids.
    cases: BTreeMap<String, String>,
    /// The probes whose verdict is wrong; a reference is the probe `reference`.
    pub probes: Vec<String>,
    pub reason: String,
}

/// The record that a case is made of.
#[derive(Debug, Clone, Default)]
pub struct DatasetRecord {
    /// As `dataset.format` names its layout.
    pub format: String,
    /// The function that its tests call.
    pub function: Option<String>,
}

impl KnownFault {
    pub fn is_of(&self, record: &DatasetRecord, case: &str) -> bool {
        self.formats.contains(&record.format)
            && self
                .cases
                .get(case)
                .is_some_and(|function| record.function.as_ref() == Some(function))
    }
}

/// The faults that ship with the program; an error says what is wrong with the file.
pub(super) fn shipped() -> Result<Vec<KnownFault>, serde_json::Error> {
    serde_json::from_str(include_str!("known_faults.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_faults_fit_by_format_id_and_function() {
        let faults = shipped().unwrap();
        let probes = |format: &str, case: &str, function: &str| {
            let record = DatasetRecord {
                format: format.to_owned(),
                function: Some(function.to_owned()),
            };
            let found = faults.iter().find(|fault| fault.is_of(&record, case));
            found.map(|fault| fault.probes.clone()).unwrap_or_default()
        };
        assert_eq!(
            probes("evalplus", "HumanEval/32", "find_zero"),
            ["reference"]
        );
        for (case, function) in [
            ("Mbpp/737", "check_str"),
            ("787", "text_match_three"),
            ("Mbpp/794", "text_starta_endb"),
        ] {
            assert!(!probes("evalplus", case, function).is_empty(), "{case}");
        }
        assert!(!probes("humaneval_pack", "CPP/23", "strlen").is_empty());
        let constant = ["the expected value of the first test"];
        assert_eq!(probes("mbpp", "37", "sort_mixed_list"), constant);
        // Records of others with the same ids.
        assert!(probes("mbpp", "37", "my_function").is_empty());
        assert!(probes("humaneval", "HumanEval/32", "find_zero").is_empty());
        assert!(probes("evalplus", "HumanEval/33", "find_zero").is_empty());
    }
}
