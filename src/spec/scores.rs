//! Score baselines: what a whole run came to, accepted and kept in git.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::words::{Criticality, Difficulty, EvalType, Outcome};

/// The version of the format of score baselines; a reader refuses a higher one.
pub const SCORES_VERSION: u32 = 1;

/// What the cases and metrics of a suite came to against one target:
/// `baselines/scores/<suite>.<target>.json` once accepted, `<suite>.<target>.pending.json` before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreBaselineFile {
    /// The version of this format: 1.
    pub format_version: u32,
    /// The suite's name.
    pub suite: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite_version: Option<String>,
    pub target: ScoredTarget,
    /// When the run began. RFC 3339, UTC.
    pub captured_at: String,
    /// The run that this was taken from.
    pub run_id: String,
    /// The commit that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// True when the checkout held changes that no commit has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    pub harness_version: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, Value>,
    /// The k of pass@k and pass^k that were reported.
    pub ks: Vec<u32>,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Only in pending files: the fingerprint (hex) of the accepted file that was there at capture,
    /// or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// By name, those that have a value.
    #[serde(deserialize_with = "once")]
    pub metrics: BTreeMap<String, ScoredMetric>,
    /// By id. All of them passed or failed, and so did their cases.
    #[serde(with = "by_id")]
    #[schemars(with = "BTreeMap<String, EvalRecord>")]
    pub evals: Vec<EvalRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoredTarget {
    /// The name under `targets:`, or the kind of a lone `target:`.
    pub name: String,
    /// The word after `type:`, such as `model`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A fingerprint (hex) of its settings; absent for recorded outputs, and in files of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoredMetric {
    pub value: f64,
    /// Lower and upper end of the 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
    /// Cases (of latencies and costs: samples) that entered it.
    pub n_cases: usize,
}

/// How an eval of a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvalRecord {
    #[serde(skip)]
    pub id: String,
    pub outcome: Outcome,
    /// Mean score of its graded cases, in [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// How much it counts in weighted metrics; absent in files that do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The score at which the eval passes though cases failed, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<f64>,
    /// What comparisons group by; absent in files that do not say it, as all of these.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<EvalType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<Difficulty>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criticality: Option<Criticality>,
    /// By id.
    #[serde(with = "by_id")]
    #[schemars(with = "BTreeMap<String, CaseRecord>")]
    pub cases: Vec<CaseRecord>,
}

/// How a case of a run ended: of `n` samples whose first attempt was graded, `c` passed at it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseRecord {
    #[serde(skip)]
    pub id: String,
    pub n: u32,
    pub c: u32,
    /// Absent when no sample of it was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Mean score of its graded samples, in [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// A short fingerprint (hex) of the input, the grading and the share of samples that must pass:
    /// outcomes of one case are compared only when it is the same. Absent in files that do not say
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The same part by part; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<CaseContent>,
    /// Its planned samples, when some of them have a first attempt without a grade; see
    /// [`CaseRecord::planned`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub samples: u32,
    /// The case's own tags, without those of its eval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Samples that have no grade in the end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ungraded: u32,
    /// Means over the samples that tell: milliseconds, tokens in and out together, US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Means of the numbers that graders measured, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
}

impl CaseRecord {
    /// Its planned samples.
    pub fn planned(&self) -> u32 {
        self.samples.max(self.n)
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What a case is, part by part: what is asked may change from run to run, the task may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseContent {
    /// Over everything that the target is given.
    pub input: ShortPrint,
    /// Over the data that the input is made of: the dataset's row, the input's context, a request
    /// or a free-form input.
    pub data: ShortPrint,
    /// Over the grading, with the expectation, and the share of samples that must pass.
    pub grading: ShortPrint,
    /// Over the case's own target; absent when the suite's is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<ShortPrint>,
}

impl CaseContent {
    /// True when outcomes of both are outcomes of the same task, however it was asked for.
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

/// The entries of an object in which no key stands twice: a merge that kept the lines of both sides
/// must not be read as one of them.
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
                    return Err(A::Error::custom(format!(
                        "the key `{key}` stands here twice"
                    )));
                }
                entries.push((key, value));
            }
            Ok(entries)
        }
    }

    from.deserialize_map(Entries(PhantomData))
}
