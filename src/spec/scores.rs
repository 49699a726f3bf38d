//! Score baselines: the results of a whole run, accepted and kept in git.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::words::{Criticality, Difficulty, EvalType, Outcome};

/// The format version of score baselines; readers refuse higher versions.
pub const SCORES_VERSION: u32 = 1;

/// Results of the cases and metrics of a suite for one target:
/// `baselines/scores/<suite>.<target>.json` once accepted, `<suite>.<target>.pending.json` before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreBaselineFile {
    /// The version of this format: 1.
    pub format_version: u32,
    /// The name of the suite.
    pub suite: String,
    /// The suite's `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite_version: Option<String>,
    /// The target of the run.
    pub target: ScoredTarget,
    /// Start of the run (RFC 3339, UTC).
    pub captured_at: String,
    /// The captured run.
    pub run_id: String,
    /// The commit that was checked out during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// True if tracked files had uncommitted changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// The eval-harness version of the run.
    pub harness_version: String,
    /// The environment of the run, such as the operating system and the model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, Value>,
    /// The reported k of pass@k and pass^k.
    pub ks: Vec<u32>,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Pending files only: fingerprint (hex) of the file that was accepted at the time of the
    /// capture, or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Metrics that have a value, by name.
    #[serde(deserialize_with = "once")]
    pub metrics: BTreeMap<String, ScoredMetric>,
    /// Evals by id. All evals and cases passed or failed.
    #[serde(with = "by_id")]
    #[schemars(with = "BTreeMap<String, EvalRecord>")]
    pub evals: Vec<EvalRecord>,
}

/// The target of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoredTarget {
    /// The target's name under `targets:`, or the type of a single `target:`.
    pub name: String,
    /// The target's type, such as `model`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Fingerprint (hex) of the target's settings; absent for recorded outputs and in files of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// The value of a metric in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoredMetric {
    /// The value.
    pub value: f64,
    /// Lower and upper end of the 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
    /// Number of cases (for latencies and costs: samples) in the metric.
    pub n_cases: usize,
}

/// The result of an eval in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalRecord {
    #[serde(skip)]
    pub id: String,
    /// Outcome of the eval.
    pub outcome: Outcome,
    /// Mean score of the graded cases, in [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Weight in weighted metrics; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Mean score from which the eval passes even if cases failed, if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<f64>,
    /// Type of the eval. Comparisons group by it. Files of earlier versions do not contain it, nor
    /// `category` and `tags`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<EvalType>,
    /// Category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Difficulty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<Difficulty>,
    /// Criticality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criticality: Option<Criticality>,
    /// True if the dataset is private: ids of cases are hashes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Cases by id.
    #[serde(with = "by_id")]
    #[schemars(with = "BTreeMap<String, CaseRecord>")]
    pub cases: Vec<CaseRecord>,
}

/// The result of a case in a run: of `n` samples whose first attempt was graded, `c` passed at the
/// first attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseRecord {
    #[serde(skip)]
    pub id: String,
    /// Number of samples whose first attempt was graded.
    pub n: u32,
    /// Number of samples that passed at the first attempt.
    pub c: u32,
    /// Outcome of the case; absent if no sample was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Mean score of the graded samples, in [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Short fingerprint (hex) of the input, the grading and the share of samples that must pass:
    /// outcomes of a case are compared only if it is equal. Absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Fingerprints of the parts of the case; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<CaseContent>,
    /// Number of planned samples, if the first attempt of some has no grade; otherwise `n` is the
    /// number.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub samples: u32,
    /// Tags of the case, without those of its eval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Number of samples without a grade after the last attempt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ungraded: u32,
    /// Mean latency in milliseconds, over the samples that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Mean number of input and output tokens, over the samples that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// Mean cost in US dollars, over the samples that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Means of the numbers that graders measured, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
}

impl CaseRecord {
    /// Number of planned samples.
    pub fn planned(&self) -> u32 {
        self.samples.max(self.n)
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Fingerprints of the parts of a case. The input may change from run to run; the task may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseContent {
    /// Fingerprint of the whole input of the target.
    pub input: ShortPrint,
    /// Fingerprint of the data in the input: the dataset's row, the input's context, a request or a
    /// free-form input.
    pub data: ShortPrint,
    /// Fingerprint of the grading, with the expected output and the share of samples that must
    /// pass.
    pub grading: ShortPrint,
    /// Fingerprint of the case's own target; absent if the suite's target is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<ShortPrint>,
}

impl CaseContent {
    /// True if outcomes of both are outcomes of the same task, also with different inputs.
    pub fn is_task_of(&self, other: &CaseContent) -> bool {
        (self.data, self.grading) == (other.data, other.grading)
    }
}

/// The first 64 bits of a SHA-256, as 16 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct ShortPrint(pub u64);

impl Serialize for ShortPrint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for ShortPrint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ShortPrint, D::Error> {
        let text = String::deserialize(from)?;
        let is_hex = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u64::from_str_radix(&text, 16).ok().filter(|_| is_hex);
        number
            .map(ShortPrint)
            .ok_or_else(|| D::Error::custom("expected 16 hex digits"))
    }
}

/// Lists of records, which are objects by id in JSON.
pub mod by_id {
    use super::{
        CaseRecord, Deserialize, Deserializer, EvalRecord, Serialize, Serializer, entries,
    };

    pub trait KeyedRecord {
        fn id(&self) -> &str;
        fn set_id(&mut self, id: String);
    }

    macro_rules! records {
        ($($name:ident)*) => {$(
            impl KeyedRecord for $name {
                fn id(&self) -> &str {
                    &self.id
                }

                fn set_id(&mut self, id: String) {
                    self.id = id;
                }
            }
        )*};
    }
    records!(EvalRecord CaseRecord);

    pub fn serialize<S: Serializer, T: KeyedRecord + Serialize>(
        records: &[T],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(records.iter().map(|record| (record.id(), record)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>, T: KeyedRecord + Deserialize<'de>>(
        from: D,
    ) -> Result<Vec<T>, D::Error> {
        let record = |(id, mut record): (String, T)| {
            record.set_id(id);
            record
        };
        Ok(entries(from)?.into_iter().map(record).collect())
    }
}

fn once<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    Ok(entries(from)?.into_iter().collect())
}

/// The entries of an object without duplicate keys: a merge that kept the lines of both sides must
/// not be read as one of them.
fn entries<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<(String, T)>, D::Error> {
    struct Entries<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let (mut entries, mut keys) = (Vec::new(), HashSet::new());
            while let Some((key, value)) = map.next_entry::<String, T>()? {
                if !keys.insert(key.clone()) {
                    return Err(A::Error::custom(format!("duplicate key `{key}`")));
                }
                entries.push((key, value));
            }
            Ok(entries)
        }
    }

    from.deserialize_map(Entries(PhantomData))
}
