//! The code grader `files`: what is at paths of the workspace that a target left. Contents are
//! graded by the methods that grade outputs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::diff::{fault_grade, listed};
use super::programs::BoxedFuture;
use super::settings::{CaseExpectation, incomplete};
use super::show::{bounded_text, in_reason};
use super::structural_match::{StructuralSpec, check_matchers, warn_of_vacuous};
use super::{
    CodeGrader, CodeMethod, ContainsSpec, ExactMatch, JsonSpec, MethodSettings, RegexSpec,
    ResolvedGraders, TextGrader, WorkspaceBench, WorkspaceCheck,
};
use crate::load::{Code, Node, Problem, Span, SuiteDesk};
use crate::model::limits;
use crate::model::{Cause, Grade, GraderType, Outcome, OutputValue};
use crate::spec::OneOrMany;
use eval_base::text::plural;
use eval_workspace::{EntryNow, WorkspacePath};

const METHOD: &str = "files";

/// Bytes of a file whose content is graded.
const FILE_BYTES: u64 = 8 << 20;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesSpec {
    /// What must hold for each path of the workspace.
    #[schemars(length(min = 1))]
    pub files: BTreeMap<String, FileConditions>,
}

/// Conditions of one file; all of them must hold. A file with a condition on its content must be
/// there, be no symbolic link, and have at most 8 MiB.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileConditions {
    /// `true`: a file or a folder is there. `false`: nothing is.
    pub exists: Option<bool>,
    /// `true`: nothing is there.
    pub absent: Option<bool>,
    /// Whether the file is executable.
    pub executable: Option<bool>,
    /// The content, up to whitespace at both ends and the kind of line breaks.
    pub equals: Option<String>,
    /// Texts that the content contains.
    #[serde(default)]
    pub contains: OneOrMany<String>,
    /// Texts that the content does not contain.
    #[serde(default)]
    pub not_contains: OneOrMany<String>,
    /// A regular expression that matches somewhere in the content (Python's semantics).
    pub matches: Option<String>,
    /// A JSON Schema that the content matches.
    pub json_schema: Option<Value>,
    /// The JSON that the content equals.
    pub json: Option<Value>,
    /// The structure of the content's JSON, with matchers; additional fields are allowed.
    pub structural: Option<Value>,
}

/// These files are as they should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceFiles {
    /// At least one.
    pub files: Vec<FileDemand>,
}

/// What must hold for one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileDemand {
    pub path: WorkspacePath,
    /// Whether something must be there.
    pub exists: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// Graders of the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<CodeGrader>,
}

impl MethodSettings for FilesSpec {
    fn resolve(&self, desk: &mut SuiteDesk, node: &Node, case: CaseExpectation) -> ResolvedGraders {
        case.require_workspace(desk, METHOD, node.span)?;
        if self.files.is_empty() {
            return desk.refuse(incomplete(
                node.locate("/files"),
                "`files` is empty, so every workspace would pass",
                "add a path with a condition, such as `out.txt: {exists: true}`",
            ));
        }
        let mut files = Vec::new();
        let mut whole = true;
        for (path, conditions) in &self.files {
            let own = node.get("files").and_then(|files| files.get(path));
            match conditions.resolve(desk, path, own.unwrap_or(node)) {
                Some(demand) => files.push(demand),
                None => whole = false,
            }
        }
        whole.then(|| vec![CodeGrader::Files(WorkspaceFiles { files })])
    }
}

impl FileConditions {
    fn resolve(&self, desk: &mut SuiteDesk, path: &str, node: &Node) -> Option<FileDemand> {
        let path: WorkspacePath = match path.trim_end_matches('/').parse() {
            Ok(path) => path,
            Err(error) => {
                let problem = Problem::error(Code::BadPath, node.span, error.to_string());
                return desk.refuse(problem.hint("paths are relative to the top of the workspace"));
            }
        };
        let exists = self.presence(desk, &path, node)?;
        let content = self.content(desk, node)?;
        if !exists && (self.executable.is_some() || !content.is_empty()) {
            let message = format!("`{path}` must not exist, so it can't meet the other conditions");
            return desk.refuse(Problem::error(Code::GraderConflict, node.span, message));
        }
        if self.exists.is_none()
            && self.absent.is_none()
            && self.executable.is_none()
            && content.is_empty()
        {
            let message = format!("`{path}` has no condition");
            let hint = "add one, such as `exists: true`";
            return desk.refuse(incomplete(node.span, &message, hint));
        }
        Some(FileDemand {
            path,
            exists,
            executable: self.executable,
            content,
        })
    }

    /// Whether something must be there.
    fn presence(&self, desk: &mut SuiteDesk, path: &WorkspacePath, node: &Node) -> Option<bool> {
        match (self.exists, self.absent.map(|absent| !absent)) {
            (Some(a), Some(b)) if a != b => {
                let message = format!("`exists` and `absent` of `{path}` contradict each other");
                let at = node.key_span("/absent");
                desk.refuse(Problem::error(Code::GraderConflict, at, message))
            }
            (exists, there) => Some(exists.or(there).unwrap_or(true)),
        }
    }

    fn content(&self, desk: &mut SuiteDesk, node: &Node) -> Option<Vec<CodeGrader>> {
        let none = CaseExpectation::default();
        let mut graders = Vec::new();
        if let Some(text) = &self.equals {
            graders.push(CodeGrader::ExactMatch(ExactMatch {
                any_of: vec![Value::from(text.as_str())],
                case_sensitive: true,
                trim_whitespace: true,
                normalize_newlines: true,
            }));
        }
        if !self.contains.0.is_empty() || !self.not_contains.0.is_empty() {
            let spec = ContainsSpec {
                must_include: self.contains.clone(),
                must_not_include: self.not_contains.clone(),
                case_sensitive: None,
            };
            graders.extend(spec.resolve(desk, node, none)?);
        }
        if let Some(pattern) = &self.matches {
            let spec = RegexSpec {
                pattern: Some(pattern.clone()),
                ..RegexSpec::default()
            };
            graders.extend(spec.resolve(desk, node.get("matches").unwrap_or(node), none)?);
        }
        if self.json_schema.is_some() || self.json.is_some() {
            let spec = JsonSpec {
                value: self.json.clone(),
                schema: self.json_schema.clone(),
            };
            let at = node.get("json_schema").unwrap_or(node);
            graders.extend(spec.resolve(desk, at, none)?);
        }
        if let Some(value) = &self.structural {
            let at: Span = node.locate("/structural");
            if let Some(own) = node.get("structural") {
                check_matchers(desk, own);
            }
            let options = StructuralSpec::default().against(value.clone());
            warn_of_vacuous(desk, &options, at);
            graders.push(CodeGrader::StructuralMatch(options));
        }
        Some(graders)
    }
}

impl CodeMethod for WorkspaceFiles {
    fn workspace_check(&self) -> Option<&dyn WorkspaceCheck> {
        Some(self)
    }
}

/// What was found at one path.
struct FileFinding {
    outcome: Outcome,
    cause: Option<Cause>,
    reason: String,
    /// The content that failed.
    content: Option<String>,
}

impl FileFinding {
    fn passed() -> FileFinding {
        FileFinding {
            outcome: Outcome::Passed,
            cause: None,
            reason: String::new(),
            content: None,
        }
    }

    fn failed(reason: impl Into<String>) -> FileFinding {
        FileFinding {
            outcome: Outcome::Failed,
            cause: Some(Cause::WrongAnswer),
            reason: reason.into(),
            content: None,
        }
    }
}

impl WorkspaceCheck for WorkspaceFiles {
    fn grade<'g>(&'g self, bench: &'g WorkspaceBench<'g>) -> BoxedFuture<'g, Grade> {
        Box::pin(async move {
            let mut findings = Vec::new();
            for demand in &self.files {
                let entry = match bench.workspace.file(&demand.path, FILE_BYTES).await {
                    Ok(entry) => entry,
                    Err(fault) => return fault_grade(METHOD, fault),
                };
                findings.push(demand.finding(entry, bench.texts).await);
            }
            self.judge(findings)
        })
    }
}

impl FileDemand {
    async fn finding(&self, entry: EntryNow, texts: &dyn TextGrader) -> FileFinding {
        let (executable, bytes, content) = match entry {
            EntryNow::Absent if !self.exists => return FileFinding::passed(),
            _ if !self.exists => return FileFinding::failed("must not exist"),
            EntryNow::Absent => return FileFinding::failed("does not exist"),
            EntryNow::Link { target } => {
                let target = in_reason(&String::from_utf8_lossy(&target));
                let why = format!("is a symbolic link to `{target}`, which is not followed");
                return FileFinding::failed(why);
            }
            EntryNow::Special => return FileFinding::failed("is a pipe, a socket or a device"),
            EntryNow::Folder if self.executable.is_none() && self.content.is_empty() => {
                return FileFinding::passed();
            }
            EntryNow::Folder => return FileFinding::failed("is a folder, not a file"),
            EntryNow::File {
                executable,
                bytes,
                content,
            } => (executable, bytes, content),
        };
        match self.executable {
            Some(true) if !executable => return FileFinding::failed("is not executable"),
            Some(false) if executable => return FileFinding::failed("is executable"),
            _ if self.content.is_empty() => return FileFinding::passed(),
            _ => {}
        }
        if bytes > FILE_BYTES {
            let most = FILE_BYTES >> 20;
            return FileFinding::failed(format!("is larger than {most} MiB, so it is not read"));
        }
        let Ok(text) = String::from_utf8(content) else {
            return FileFinding::failed("is not UTF-8 text");
        };
        self.content_finding(text, texts).await
    }

    /// Failed if a grader of the content fails; else as the first that does not pass.
    async fn content_finding(&self, text: String, texts: &dyn TextGrader) -> FileFinding {
        let value = OutputValue::Text(text);
        let mut finding = FileFinding::passed();
        for grader in &self.content {
            let grade = texts.grade(grader, &value).await;
            if grade.outcome == Outcome::Passed || finding.outcome == Outcome::Failed {
                continue;
            }
            if grade.outcome == Outcome::Failed || finding.outcome == Outcome::Passed {
                finding = FileFinding {
                    outcome: grade.outcome,
                    cause: grade.cause,
                    reason: format!("{}: {}", grader.method(), grade.reason),
                    content: None,
                };
            }
        }
        if finding.outcome != Outcome::Passed
            && let OutputValue::Text(text) = value
        {
            finding.content = Some(text);
        }
        finding
    }
}

impl WorkspaceFiles {
    fn judge(&self, findings: Vec<FileFinding>) -> Grade {
        let all: Vec<(&FileDemand, &FileFinding)> = self.files.iter().zip(&findings).collect();
        let with = |outcome| {
            all.iter()
                .filter(move |(_, found)| found.outcome == outcome)
        };
        let sentence = |(demand, found): &(&FileDemand, &FileFinding)| {
            format!("`{}` {}", in_reason(&demand.path.to_string()), found.reason)
        };
        let failed: Vec<String> = with(Outcome::Failed).map(sentence).collect();
        let undecided = all
            .iter()
            .find(|(_, found)| !matches!(found.outcome, Outcome::Passed | Outcome::Failed));
        let first = all
            .iter()
            .find(|(_, found)| found.outcome == Outcome::Failed);
        let grade = match (failed.as_slice(), undecided) {
            ([], None) => Grade::passed(GraderType::Code, METHOD),
            ([], Some((demand, found))) => {
                let cause = found.cause.unwrap_or(Cause::Harness);
                let reason = sentence(&(*demand, *found));
                match cause.outcome() {
                    Outcome::Errored => Grade::errored(GraderType::Code, METHOD, cause, reason),
                    outcome => Grade {
                        outcome,
                        cause: Some(cause),
                        ..Grade::errored(GraderType::Code, METHOD, Cause::Harness, reason)
                    },
                }
            }
            ([one], _) => Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, one.clone()),
            (many, _) => {
                let names: Vec<String> = with(Outcome::Failed)
                    .skip(1)
                    .map(|(demand, _)| demand.path.to_string())
                    .collect();
                let rest = plural(names.len(), "other path");
                let reason = format!("{}; and {rest}: {}", many[0], listed(&names));
                Grade::failed(GraderType::Code, METHOD, Cause::WrongAnswer, reason)
            }
        };
        let entries = all
            .iter()
            .take(limits::GRADE_ENTRIES)
            .map(|(demand, found)| {
                let mut entry = Map::new();
                entry.insert(
                    "path".to_owned(),
                    Value::from(in_reason(&demand.path.to_string())),
                );
                entry.insert("outcome".to_owned(), json!(found.outcome));
                if !found.reason.is_empty() {
                    entry.insert("reason".to_owned(), Value::from(in_reason(&found.reason)));
                }
                Value::Object(entry)
            });
        let entries: Vec<Value> = entries.collect();
        let mut grade = grade.with_detail("files", entries);
        if let Some((
            _,
            FileFinding {
                content: Some(text),
                ..
            },
        )) = first
        {
            grade = grade.with_actual(bounded_text(text));
        }
        grade
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graders::patterns::PatternCache;

    struct InPlace(PatternCache);

    impl TextGrader for InPlace {
        fn grade<'g>(
            &'g self,
            grader: &'g CodeGrader,
            value: &'g OutputValue,
        ) -> BoxedFuture<'g, Grade> {
            let check = grader.as_method().check().expect("a check");
            let grade = check.grade(value, &self.0);
            Box::pin(async move { grade })
        }
    }

    fn demand(exists: bool, executable: Option<bool>, content: Vec<CodeGrader>) -> FileDemand {
        FileDemand {
            path: "out.txt".parse().unwrap(),
            exists,
            executable,
            content,
        }
    }

    fn file(text: &str) -> EntryNow {
        EntryNow::File {
            executable: false,
            bytes: text.len() as u64,
            content: text.as_bytes().to_vec(),
        }
    }

    fn json(value: Value) -> CodeGrader {
        CodeGrader::Json(crate::graders::JsonMatch {
            any_of: vec![value],
            schema: None,
        })
    }

    async fn shown(demand: FileDemand, entry: EntryNow) -> String {
        let finding = demand
            .finding(entry, &InPlace(PatternCache::default()))
            .await;
        let grade = WorkspaceFiles {
            files: vec![demand],
        }
        .judge(vec![finding]);
        let outcome = grade.outcome.name();
        let actual = grade
            .actual
            .map_or(String::new(), |text| format!(" {text}"));
        format!("{outcome} {}{actual}", grade.reason)
            .trim_end()
            .to_owned()
    }

    #[tokio::test]
    async fn each_kind_of_entry_is_judged() {
        let link = || EntryNow::Link {
            target: b"/etc/passwd".to_vec(),
        };
        let large = EntryNow::File {
            executable: false,
            bytes: FILE_BYTES + 1,
            content: vec![b'1'; 8],
        };
        let exists = || demand(true, None, Vec::new());
        let absent = || demand(false, None, Vec::new());
        let one = || demand(true, None, vec![json(json!(1))]);
        let table = [
            (exists(), file("x"), "passed"),
            (exists(), EntryNow::Folder, "passed"),
            (
                exists(),
                EntryNow::Absent,
                "failed `out.txt` does not exist",
            ),
            (
                exists(),
                link(),
                "failed `out.txt` is a symbolic link to `/etc/passwd`, which is not followed",
            ),
            (
                exists(),
                EntryNow::Special,
                "failed `out.txt` is a pipe, a socket or a device",
            ),
            (absent(), EntryNow::Absent, "passed"),
            (absent(), link(), "failed `out.txt` must not exist"),
            (one(), file(" 1\n"), "passed"),
            (
                one(),
                EntryNow::Folder,
                "failed `out.txt` is a folder, not a file",
            ),
            (
                one(),
                large,
                "failed `out.txt` is larger than 8 MiB, so it is not read",
            ),
            (
                one(),
                EntryNow::File {
                    executable: false,
                    bytes: 1,
                    content: vec![0xff],
                },
                "failed `out.txt` is not UTF-8 text",
            ),
            (
                one(),
                file("2"),
                "failed `out.txt` json: (root): expected 1, got 2 \"2\"",
            ),
            (
                demand(true, Some(true), Vec::new()),
                file("x"),
                "failed `out.txt` is not executable",
            ),
            (demand(true, Some(false), Vec::new()), file("x"), "passed"),
        ];
        for (demand, entry, expected) in table {
            let rule = format!("{demand:?}");
            assert_eq!(shown(demand, entry).await, expected, "{rule}");
        }
    }

    #[tokio::test]
    async fn failed_condition_counts_before_errored_one() {
        let broken = || {
            CodeGrader::Regex(crate::graders::RegexMatch {
                patterns: vec!["(".to_owned()],
                flags: eval_match::RegexFlags::default(),
                must_match: true,
                capture_groups: Vec::new(),
            })
        };
        let errored = shown(demand(true, None, vec![broken()]), file("1")).await;
        assert!(
            errored.starts_with("errored `out.txt` regex: "),
            "{errored}"
        );
        for content in [
            vec![broken(), json(json!(2))],
            vec![json(json!(2)), broken()],
        ] {
            let failed = shown(demand(true, None, content), file("1")).await;
            assert!(failed.starts_with("failed `out.txt` json: "), "{failed}");
        }
    }
}
