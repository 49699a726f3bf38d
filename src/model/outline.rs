//! What is kept in memory of every case: about 60 bytes, whatever its size.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::cases::CaseFault;
use super::event::CombineRule;
use super::executor::Executor;
use super::fingerprint::Fingerprint;
use super::grader::{Combine, NamedPython};
use super::judge::Judge;
use super::metric::NumberKind;
use super::plan::Case;
use super::target::{ModelTarget, Target};
use crate::spec::words::{Difficulty, GraderType};
use eval_base::names::TextArena;
use eval_models::Endpoint;

/// Records in a block. Blocks are not moved when there are more, as one long list would be.
const BLOCK: usize = 1024;

/// More cases, or longer ids, than can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the eval has too many cases, or their ids and names are too long")]
pub struct TooMany;

/// A case without its texts.
#[derive(Debug, Clone, Copy)]
pub struct CaseOutline<'a> {
    pub id: &'a str,
    /// An empty name is none.
    pub name: Option<&'a str>,
    /// `None` until the author's silence is settled, see [`super::EvalCases::settle`].
    pub samples: Option<u32>,
    pub input_hash: Fingerprint,
    pub grading_hash: Fingerprint,
    pub data_hash: Fingerprint,
    pub profile: &'a CaseProfile,
}

/// What many cases have in common.
#[derive(Debug, Clone)]
pub struct CaseProfile {
    pub tags: Vec<String>,
    pub difficulty: Option<Difficulty>,
    /// In the order of the case.
    pub graders: Vec<GraderOutline>,
    /// How their grades become a verdict; `None` when all must pass.
    pub combine: Option<CombineRule>,
    /// Over `combine`.
    combine_hash: Option<Fingerprint>,
    /// What runs Python in place of the suite's interpreter.
    pub python: Option<NamedPython>,
    /// The case's own target.
    pub target: Option<Target>,
    /// Over `target`.
    pub target_hash: Option<Fingerprint>,
    pub call: CallSettings,
    pub has_workspace: bool,
}

/// How the target of a case is called, whatever target that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct CallSettings {
    pub timeout: Duration,
    /// Further attempts after a failed grade; `None` where the suite decides.
    pub retries: Option<u32>,
    /// True when the prompt says what the context holds.
    pub context_told: bool,
}

impl CallSettings {
    fn of(case: &Case) -> CallSettings {
        CallSettings {
            timeout: case.timeout,
            retries: case.retries,
            context_told: case.context_told,
        }
    }
}

/// A grader without what it compares with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GraderOutline {
    /// Who judges, when models do.
    pub panel: Option<JudgePanel>,
    pub grader_type: GraderType,
    /// The method of a code grader, else the type's name.
    pub method: &'static str,
    pub inferred: bool,
    pub negate: bool,
    /// Whether the candidate's code runs, and if so whether in the sandbox.
    pub sandbox: Option<bool>,
    /// What runs the candidate's code, if it is run.
    pub executor: Option<Executor>,
    /// A command of the author's that runs inside the sandbox.
    pub sandboxed_command: bool,
    /// It starts no process and calls nothing.
    pub only_looks: bool,
    /// Its verdict is shown and decides nothing.
    pub informative: bool,
    /// The metrics that it measures, by name.
    pub measures: Vec<(String, NumberKind)>,
}

/// The models of a judge, each with how it is asked, and how often.
#[derive(Debug, Clone)]
pub struct JudgePanel {
    pub models: Vec<ModelTarget>,
    /// Of each model.
    pub votes: u32,
    /// Over the models, as they are told apart, and how fast and at what price they are asked.
    hash: Fingerprint,
}

impl JudgePanel {
    fn of(judge: &Judge) -> JudgePanel {
        let models = &judge.models;
        // Two files may say other limits, prices or recordings of the same model.
        let ways: Vec<String> = models
            .iter()
            .map(|model| {
                let Endpoint {
                    key,
                    limits,
                    patience,
                    ca_file,
                    price,
                    replay,
                    ..
                } = &model.endpoint;
                format!(
                    "{:?}",
                    (
                        key.as_ref().map(|key| &key.source),
                        limits,
                        patience,
                        ca_file,
                        price,
                        replay
                    )
                )
            })
            .collect();
        JudgePanel {
            models: models.clone(),
            votes: judge.votes,
            hash: Fingerprint::of(&(models, ways)),
        }
    }
}

// The hash stands for the models.
impl PartialEq for JudgePanel {
    fn eq(&self, other: &JudgePanel) -> bool {
        (self.hash, self.votes) == (other.hash, other.votes)
    }
}

impl Eq for JudgePanel {}

impl Hash for JudgePanel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.hash, self.votes).hash(state);
    }
}

/// What tells profiles apart: the hashes are those of the target and of the rule.
type ProfileKey<'a> = (
    &'a [String],
    Option<Difficulty>,
    &'a [GraderOutline],
    [Option<Fingerprint>; 2],
    Option<&'a NamedPython>,
    CallSettings,
    bool,
);

impl CaseProfile {
    pub fn of(case: &Case) -> CaseProfile {
        let combine = combine_rule(case);
        CaseProfile {
            combine_hash: combine.as_ref().map(Fingerprint::of),
            combine,
            tags: case.tags.clone(),
            difficulty: case.difficulty,
            graders: grader_outlines(case).collect(),
            python: case.grading.python.clone(),
            target: case.target.clone(),
            target_hash: case.target.as_ref().map(Fingerprint::of),
            call: CallSettings::of(case),
            has_workspace: case.workspace.is_some(),
        }
    }

    /// The types of the graders, each once, in the order of the types.
    pub fn grader_types(&self) -> Vec<GraderType> {
        let mut types: Vec<GraderType> = self
            .graders
            .iter()
            .map(|grader| grader.grader_type)
            .collect();
        types.sort_unstable();
        types.dedup();
        types
    }

    /// True when no grader starts a process or calls anything.
    pub fn only_looks(&self) -> bool {
        self.graders.iter().all(|grader| grader.only_looks)
    }

    /// True when this is the profile of the case; `false` also when that would take long to find
    /// out.
    fn is_plainly_of(&self, case: &Case) -> bool {
        self.tags == case.tags
            && self.difficulty == case.difficulty
            && case.target.is_none()
            && self.target.is_none()
            && self.call == CallSettings::of(case)
            && self.combine == combine_rule(case)
            && self.python == case.grading.python
            && self.has_workspace == case.workspace.is_some()
            && self.graders.len() == case.grading.graders.len()
            && grader_outlines(case)
                .zip(&self.graders)
                .all(|(its, ours)| its == *ours)
    }

    fn key(&self) -> ProfileKey<'_> {
        (
            &self.tags,
            self.difficulty,
            &self.graders,
            [self.target_hash, self.combine_hash],
            self.python.as_ref(),
            self.call,
            self.has_workspace,
        )
    }
}

// The hashes stand for the target and the rule.
impl PartialEq for CaseProfile {
    fn eq(&self, other: &CaseProfile) -> bool {
        self.key() == other.key()
    }
}

impl Eq for CaseProfile {}

impl Hash for CaseProfile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The rule of a case whose grades must not all pass.
fn combine_rule(case: &Case) -> Option<CombineRule> {
    let how = case.grading.combine;
    let deciding = case
        .grading
        .graders
        .iter()
        .filter(|grader| !grader.informative);
    (how != Combine::All).then(|| CombineRule {
        how,
        weights: deciding.map(|grader| grader.weight).collect(),
    })
}

fn grader_outlines(case: &Case) -> impl Iterator<Item = GraderOutline> + '_ {
    case.grading.graders.iter().map(|grader| GraderOutline {
        panel: grader.kind.judge().map(JudgePanel::of),
        grader_type: grader.kind.grader_type(),
        method: grader.kind.method(),
        inferred: grader.inferred,
        negate: grader.negate,
        sandbox: grader.kind.sandbox(),
        executor: grader.kind.executor().cloned(),
        sandboxed_command: grader.kind.is_sandboxed_command(),
        only_looks: grader.kind.only_looks(),
        informative: grader.informative,
        measures: grader
            .measures()
            .into_iter()
            .map(|(name, kind)| (name.to_owned(), kind))
            .collect(),
    })
}

#[derive(Debug, Clone, Copy)]
struct OutlineRecord {
    /// 0 is not settled.
    samples: u32,
    profile: u32,
    input_hash: Fingerprint,
    grading_hash: Fingerprint,
    data_hash: Fingerprint,
}

#[derive(Debug, Clone, Default)]
struct OutlineBlock {
    records: Vec<OutlineRecord>,
    /// Id and name of each record, one after the other.
    texts: TextArena,
}

impl OutlineBlock {
    /// Id and name of a record.
    fn texts(&self, at: usize) -> Option<(&str, &str)> {
        Some((self.texts.get(2 * at)?, self.texts.get(2 * at + 1)?))
    }
}

/// The outlines of all cases of an eval, in order.
#[derive(Debug, Clone, Default)]
pub struct CaseOutlines {
    blocks: Vec<OutlineBlock>,
    len: usize,
    profiles: Vec<Arc<CaseProfile>>,
    by_profile: HashMap<Arc<CaseProfile>, u32>,
    last_profile: u32,
}

impl CaseOutlines {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Notes a case.
    ///
    /// # Errors
    /// When places or lengths no longer fit into 32 bits; nothing is noted then.
    pub fn push(&mut self, case: &Case) -> Result<(), TooMany> {
        let profile = self.profile_of(case)?;
        let name = case.name.as_deref().unwrap_or_default();
        let samples = case.samples.unwrap_or(0);
        let record = OutlineRecord {
            samples,
            profile,
            input_hash: case.input_hash,
            grading_hash: case.grading_hash,
            data_hash: case.data_hash,
        };
        self.note((&case.id, name), record)
    }

    /// Notes all of another list behind these.
    ///
    /// # Errors
    /// As [`CaseOutlines::push`]; what came before the one that has no place is noted.
    pub fn append(&mut self, other: CaseOutlines) -> Result<(), TooMany> {
        let mut profiles = Vec::with_capacity(other.profiles.len());
        for profile in &other.profiles {
            profiles.push(self.intern(Arc::clone(profile))?);
        }
        for block in &other.blocks {
            for (at, record) in block.records.iter().enumerate() {
                let profile = profiles.get(record.profile as usize).copied();
                let record = OutlineRecord {
                    profile: profile.unwrap_or_default(),
                    ..*record
                };
                self.note(block.texts(at).unwrap_or_default(), record)?;
            }
        }
        Ok(())
    }

    fn note(&mut self, (id, name): (&str, &str), record: OutlineRecord) -> Result<(), TooMany> {
        u32::try_from(self.len).map_err(|_| TooMany)?;
        if self
            .blocks
            .last()
            .is_none_or(|block| block.records.len() >= BLOCK)
        {
            // The first block grows as needed: most evals are small.
            let capacity = if self.blocks.is_empty() { 0 } else { BLOCK };
            let mut texts = TextArena::default();
            texts.reserve(2 * capacity);
            self.blocks.push(OutlineBlock {
                records: Vec::with_capacity(capacity),
                texts,
            });
        }
        let block = self.blocks.last_mut().ok_or(TooMany)?;
        block.texts.push(id).map_err(|_| TooMany)?;
        block.texts.push(name).map_err(|_| TooMany)?;
        block.records.push(record);
        if block.records.len() == BLOCK {
            block.texts.shrink_to_fit();
        }
        self.len += 1;
        Ok(())
    }

    fn profile_of(&mut self, case: &Case) -> Result<u32, TooMany> {
        if self
            .profiles
            .get(self.last_profile as usize)
            .is_some_and(|last| last.is_plainly_of(case))
        {
            return Ok(self.last_profile);
        }
        self.last_profile = self.intern(Arc::new(CaseProfile::of(case)))?;
        Ok(self.last_profile)
    }

    fn intern(&mut self, profile: Arc<CaseProfile>) -> Result<u32, TooMany> {
        let new = u32::try_from(self.profiles.len()).map_err(|_| TooMany)?;
        let index = *self.by_profile.entry(Arc::clone(&profile)).or_insert(new);
        if index == new {
            self.profiles.push(profile);
        }
        Ok(index)
    }

    pub fn get(&self, at: usize) -> Option<CaseOutline<'_>> {
        let block = self.blocks.get(at / BLOCK)?;
        let record = block.records.get(at % BLOCK)?;
        let (id, name) = block.texts(at % BLOCK)?;
        Some(CaseOutline {
            id,
            name: Some(name).filter(|name| !name.is_empty()),
            samples: (record.samples > 0).then_some(record.samples),
            input_hash: record.input_hash,
            grading_hash: record.grading_hash,
            data_hash: record.data_hash,
            profile: self.profiles.get(record.profile as usize)?,
        })
    }

    pub(super) fn profiles(&self) -> &[Arc<CaseProfile>] {
        &self.profiles
    }

    pub(super) fn profile_index(&self, at: usize) -> Option<usize> {
        Some(
            self.blocks
                .get(at / BLOCK)?
                .records
                .get(at % BLOCK)?
                .profile as usize,
        )
    }

    pub(super) fn set_samples(&mut self, at: usize, samples: u32) {
        if let Some(record) = self
            .blocks
            .get_mut(at / BLOCK)
            .and_then(|block| block.records.get_mut(at % BLOCK))
        {
            record.samples = samples;
        }
    }

    /// The case if it is what its outline says.
    pub(super) fn check(&self, at: usize, case: Arc<Case>) -> Result<Arc<Case>, CaseFault> {
        let same = self.get(at).is_some_and(|outline| {
            outline.id == case.id
                && outline.input_hash == case.input_hash
                && outline.grading_hash == case.grading_hash
        });
        if same {
            return Ok(case);
        }
        let file = case
            .origin
            .rsplitn(3, ':')
            .last()
            .unwrap_or_default()
            .to_owned();
        Err(CaseFault::Changed {
            file,
            what: format!("{} now contains a different case", case.origin),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    /// Bytes on the heap, apart from what profiles hold.
    fn heap_bytes(outlines: &CaseOutlines) -> usize {
        let block = |block: &OutlineBlock| {
            block.records.capacity() * size_of::<OutlineRecord>() + block.texts.bytes()
        };
        let blocks = outlines.blocks.iter().map(block).sum::<usize>();
        outlines.blocks.capacity() * size_of::<OutlineBlock>() + blocks
    }

    #[test]
    fn two_hundred_thousand_outlines_cost_less_than_80_bytes_each() {
        let mut all = CaseOutlines::default();
        let mut case = testing::case("");
        for batch in 0..1_000 {
            let mut outlines = CaseOutlines::default();
            for at in 0..200 {
                case.id = format!("case-{}", batch * 200 + at);
                outlines.push(&case).unwrap();
            }
            all.append(outlines).unwrap();
        }
        assert_eq!(all.len(), 200_000);
        assert_eq!(all.get(199_999).unwrap().id, "case-199999");
        assert_eq!(all.profiles().len(), 1);
        let each = heap_bytes(&all) / all.len();
        assert!(each < 80, "{each} bytes each");
    }

    #[test]
    fn cases_share_the_profiles_that_are_equal() {
        let tagged = |id: &str, tag: &str, target: Option<Target>| Case {
            tags: vec![tag.to_owned()],
            name: Some(format!("n{id}")),
            target,
            ..testing::case(id)
        };
        let all = [
            tagged("a", "x", None),
            tagged("b", "y", None),
            tagged("c", "x", None),
            tagged("d", "x", Some(Target::Echo)),
        ];
        let (mut outlines, mut other) = (CaseOutlines::default(), CaseOutlines::default());
        all.iter()
            .take(2)
            .for_each(|case| outlines.push(case).unwrap());
        all.iter()
            .skip(2)
            .for_each(|case| other.push(case).unwrap());
        outlines.append(other).unwrap();
        assert_eq!(outlines.profiles().len(), 3);
        for (at, case) in all.iter().enumerate() {
            let outline = outlines.get(at).unwrap();
            assert_eq!(
                (outline.id, outline.name),
                (case.id.as_str(), case.name.as_deref())
            );
            assert_eq!(
                (&outline.profile.tags, &outline.profile.target),
                (&case.tags, &case.target)
            );
            assert_eq!(outline.profile.target_hash.is_some(), case.target.is_some());
        }
        assert!(outlines.get(4).is_none());
    }
}
