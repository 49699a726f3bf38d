//! What can be wrong with the files that people write: one [`Problem`] each, collected in
//! [`Problems`].
//!
//! Every kind of problem is a [`Code`]; [`Code::ALL`] is the one table from which the documentation
//! is made.

use std::collections::HashSet;
use std::num::NonZeroU32;

use super::source::Span;
use eval_base::nearest::did_you_mean;
use eval_base::redact::Redactor;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal $slug:literal $text:literal;)*) => {
        /// The kind of a problem. Ids and slugs are stable: documentation and people's scripts
        /// use them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $name),* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// `EH` and four digits.
            pub fn id(self) -> &'static str {
                match self { $(Code::$name => $id),* }
            }

            /// A name for people, such as `unknown-key`.
            pub fn slug(self) -> &'static str {
                match self { $(Code::$name => $slug),* }
            }

            /// What the code means and what to do, for the documentation.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }
        }
    };
}

codes! {
    // EH01: reading files and YAML syntax.
    Unreadable = "EH0101" "unreadable" "A file does not exist, is a folder, or can't be read.";
    TooLarge = "EH0102" "too-large" "A YAML or JSON file is larger than 64 MiB. Put many cases into a dataset, whose rows are streamed.";
    Encoding = "EH0103" "encoding" "A file is not UTF-8 text. The message shows the first invalid byte and what the file looks like.";
    EmptyFile = "EH0104" "empty-file" "A file is empty, or contains only comments.";
    Syntax = "EH0105" "syntax" "The text is not YAML. The message shows where the parser stopped, which may be a line after the mistake.";
    TabIndentation = "EH0106" "tab-indentation" "A line is indented with a tab. YAML allows only spaces.";
    DuplicateKey = "EH0107" "duplicate-key" "A map has the same key twice. Remove one of them.";
    TooDeep = "EH0108" "too-deep" "Lists and maps are nested more than 128 deep.";
    ExpansionBomb = "EH0109" "expansion-bomb" "Aliases expand to more than a million values.";
    UnquotedTemplate = "EH0110" "unquoted-template" "A value begins with `{{`, which YAML reads as a map inside a map. Quote the template: \"{{ vars.x }}\".";
    SeveralDocuments = "EH0111" "several-documents" "A file contains several YAML documents (`---` between them). A file must contain one document.";
    UnknownTag = "EH0112" "unknown-tag" "A YAML tag (`!name`) other than the core ones (`!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq`, `!!map`), or one that does not fit its value.";
    ComplexKey = "EH0113" "complex-key" "A key of a map is itself a list or a map. Keys are text.";
    BadAlias = "EH0114" "bad-alias" "An alias (`*name`) has no anchor, or is inside the value of its anchor.";
    BadMergeKey = "EH0115" "bad-merge-key" "The value of a merge key (`<<`) is neither a map nor a list of maps.";
    MergeConflict = "EH0116" "merge-conflict" "The file contains the conflict markers (`<<<<<<<`, `=======`, `>>>>>>>`) of an unfinished merge.";
    BadEnvFile = "EH0117" "bad-env-file" "A line of a `.env` file is neither `NAME=value` nor a comment. Messages do not show its values.";

    // EH02: the shape, checked against the schema.
    UnknownKey = "EH0201" "unknown-key" "A key is not valid at this place; often a typing error, or wrong indentation.";
    MissingKey = "EH0202" "missing-key" "A required key is missing.";
    WrongType = "EH0203" "wrong-type" "A value has the wrong type, such as a text instead of a number.";
    UnknownValue = "EH0204" "unknown-value" "A value is not one of those that are valid for this key.";
    OutOfRange = "EH0205" "out-of-range" "A number is smaller or larger than allowed.";
    WrongLength = "EH0206" "wrong-length" "A text, list or map has fewer or more elements than allowed.";
    BadFormat = "EH0207" "bad-format" "A text does not have the format that the key requires.";
    BothSpellings = "EH0208" "both-spellings" "One map has two spellings of the same key. Keep one.";
    UnknownShape = "EH0209" "unknown-shape" "The document does not match any of the formats that are possible for this file.";
    BadShape = "EH0210" "bad-shape" "A value breaks a rule of the format that no other code covers; the message describes the rule.";

    // EH03: references between files and parts.
    DuplicateId = "EH0301" "duplicate-id" "Two evals of a suite, or two cases of an eval, have the same id.";
    MissingRef = "EH0302" "missing-ref" "A file that a `$ref` or a path refers to does not exist.";
    CircularRef = "EH0303" "circular-ref" "A `$ref` refers back to the file that contains it.";
    EscapingRef = "EH0304" "escaping-ref" "A path is outside the project root.";
    EmptyGlob = "EH0305" "empty-glob" "A glob matches no file.";
    BadFragment = "EH0306" "bad-fragment" "The part after `#` of a `$ref` is not the id of an eval in that file.";
    BadPath = "EH0307" "bad-path" "A path is not valid at this place: for example, it is empty, or a folder instead of a file.";
    BadGlob = "EH0308" "bad-glob" "A glob is not well formed.";

    // EH04: the meaning of what is written.
    BadRegex = "EH0401" "bad-regex" "A regular expression is not well formed.";
    BadCaptureGroup = "EH0402" "bad-capture-group" "The pattern has no capture group of that name.";
    BadTemplate = "EH0403" "bad-template" "A template is not well formed, or fails when it is rendered.";
    UndefinedVariable = "EH0404" "undefined-variable" "A template uses a name that is not defined.";
    SecretNotListed = "EH0405" "secret-not-listed" "A template reads an environment variable that the suite does not list under `env:`.";
    GraderIncomplete = "EH0406" "grader-incomplete" "A grader lacks what its method needs, such as a pattern or an expected value.";
    GraderConflict = "EH0407" "grader-conflict" "Settings of a grader contradict each other, or there are two graders where only one is allowed.";
    CannotInferGrader = "EH0408" "cannot-infer-grader" "A code grader has no method, and its case does not determine one.";
    UnknownGrader = "EH0409" "unknown-grader" "A grader is not defined under `graders:`.";
    UnknownRubric = "EH0410" "unknown-rubric" "A judge's rubric (or prompt) is not defined under `rubrics:` (or `prompts:`).";
    BadMatcher = "EH0411" "bad-matcher" "A `{{any_...}}` matcher does not exist or is not well formed.";
    BadSchema = "EH0412" "bad-schema" "A JSON Schema in the settings of a grader or a model is not a valid schema.";
    BadJsonPath = "EH0413" "bad-json-path" "A JSON path is not well formed.";
    BadCombine = "EH0414" "bad-combine" "`combine` does not fit the graders, such as `at_least: 3` with two graders.";
    BadCommand = "EH0415" "bad-command" "A command is empty, or its program cannot be found.";
    UnknownTarget = "EH0416" "unknown-target" "A target is not defined in the suite.";
    NoTarget = "EH0417" "no-target" "The suite has no target, or several and none is selected.";
    KAboveSamples = "EH0418" "k-above-samples" "pass@k or pass^k is required for a k larger than the number of samples.";
    UnknownMetric = "EH0419" "unknown-metric" "A threshold or a composite uses a metric that this suite cannot produce.";
    UnknownPreset = "EH0420" "unknown-preset" "A preset of thresholds does not exist.";
    EmptyCases = "EH0421" "empty-cases" "An eval has no cases, or a suite has no evals, so it would pass without a test.";
    UnavailableHere = "EH0422" "unavailable-here" "A setting requires something that this machine or version does not support.";
    UnknownExecutor = "EH0424" "unknown-executor" "A grader uses an executor that is neither built in nor defined under the suite's `executors:`.";
    BadRequest = "EH0427" "bad-request" "The settings do not make a valid HTTP request: the address, endpoint, method or headers are wrong, or the input is not a request.";
    UnknownProvider = "EH0430" "unknown-provider" "A model's name has no provider, or its provider is neither built in (`openai`, `anthropic`, `http`) nor defined under the suite's `providers:`.";
    NoApiKey = "EH0431" "no-api-key" "A model needs an API key, but its environment variable is not set, or its file or command gives no key. Only runs that call models over the network need it.";
    UnknownPrice = "EH0432" "unknown-price" "A budget is set in dollars, but a model has no price. An unknown price does not count as 0.";
    AmbiguousPrice = "EH0433" "ambiguous-price" "Two globs under `prices:` match a model equally well but have different prices.";
    UnguardedGate = "EH0434" "unguarded-gate" "No threshold depends on evals that pass, so the gate could pass although every capability eval fails.";
    TooFewEvals = "EH0435" "too-few-evals" "A threshold limits an end of an interval for evals like these, which needs at least 5 evals.";
    UnreadVariable = "EH0440" "unread-variable" "`--var` sets a variable that the suite neither defines nor reads; often a typing error.";
    UnknownPrompt = "EH0441" "unknown-prompt" "A prompt is not defined under the `prompts:` of the suite or of an eval.";
    WorkspaceSetting = "EH0442" "workspace-setting" "A setting of a workspace, or of a target that works in one, is not valid, or contradicts another setting.";
    SuspiciousValue = "EH0423" "suspicious-value" "A value is probably a mistake.";

    // EH05: data.
    DatasetUnreadable = "EH0501" "dataset-unreadable" "A dataset cannot be read, or does not have the format or the hash that is set.";
    DatasetRow = "EH0502" "dataset-row" "A row of a dataset has an error; the message shows its line.";
    RecordedOutputs = "EH0503" "recorded-outputs" "A line in a file of recorded outputs has an error, or matches more than one eval.";

    // EH06: baselines.
    BadBaseline = "EH0601" "bad-baseline" "A file in the baselines folder is not a baseline, or has an unknown format version.";
    NewerBaseline = "EH0602" "newer-baseline" "A baseline was written by a newer eval-harness, in a format that this version does not support.";
    OtherBaseline = "EH0603" "other-baseline" "The eval in a baseline file is not the eval in the file's name.";
    OutputFile = "EH0604" "output-file" "The file that stores a baseline's large output is missing, is not JSON, or does not match the fingerprint in the baseline.";
    OtherTarget = "EH0605" "other-target" "A baseline was captured from a different target than the current one.";
    MisnamedBaseline = "EH0606" "misnamed-baseline" "A file in the baselines folder is not read because of its name, such as `.yml` or `.json` instead of `.yaml`.";
    RevisionUnreadable = "EH0607" "revision-unreadable" "The baselines of a git revision cannot be read: for example, git or the repository is missing, the revision does not exist, or the clone is shallow.";

    // EH07: phases.
    PhaseSetting = "EH0701" "phase-setting" "A setting does not fit the type of its step, such as `suite` on a test step or `command` on an eval step.";
    UnknownPhase = "EH0702" "unknown-phase" "A file has several phases and none is selected, or the selected phase does not exist.";
}

/// Whether a problem stops everything that would follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// Another place that a problem speaks of, such as the first of two equal keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RelatedPlace {
    pub span: Span,
    pub note: String,
}

/// The known name that a mistyped one must have meant: the only one that is near enough.
pub(super) fn only_near<'k>(
    wrong: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let is_near = |name: &&str| did_you_mean(wrong, [*name]).is_some();
    let mut near = known.into_iter().filter(is_near);
    let only = near.next()?;
    near.all(|name| name == only).then_some(only)
}

/// A change of the text at the place of a problem that mends it for certain. It applies only if
/// the place holds exactly the wrong text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TextFix {
    /// Another name, in the quotes that the wrong one has.
    Name { wrong: String, right: String },
    /// Another value, quotes included.
    Value { wrong: String, right: String },
}

/// One thing that is wrong: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    pub code: Code,
    pub severity: Severity,
    pub span: Option<Span>,
    /// The byte at which the part that is wrong begins, from 1, where `span` shows the key before
    /// it.
    pub part: Option<NonZeroU32>,
    /// The file (as shown to people) of a problem that has no span, because the file could not be
    /// read as text.
    pub path: Option<Box<str>>,
    pub message: String,
    pub hint: Option<String>,
    pub fix: Option<Box<TextFix>>,
    pub related: Vec<RelatedPlace>,
    /// The line at the place may contain a secret, so no excerpt shows it.
    pub is_line_hidden: bool,
}

impl Problem {
    /// An error at a place, where it has one.
    pub fn error(code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> Problem {
        Problem {
            code,
            severity: Severity::Error,
            span: span.into(),
            part: None,
            path: None,
            message: message.into(),
            hint: None,
            fix: None,
            related: vec![],
            is_line_hidden: false,
        }
    }

    pub fn warning(
        code: Code,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> Problem {
        Problem {
            severity: Severity::Warning,
            ..Problem::error(code, span, message)
        }
    }

    /// An error of a whole file, named as messages show it.
    pub fn of_file(code: Code, path: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem {
            path: Some(path.into().into_boxed_str()),
            ..Problem::general(code, message)
        }
    }

    /// An error of no file, such as a wrong name on the command line.
    pub fn general(code: Code, message: impl Into<String>) -> Problem {
        Problem::error(code, None::<Span>, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the hint if there is one to set.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<impl Into<String>>) -> Problem {
        self.hint = hint.map(Into::into).or(self.hint);
        self
    }

    /// Hints at the known name that is nearest to a wrong one, if any is near; one that no other is
    /// near to is the fix.
    #[must_use]
    pub fn near<'k>(self, wrong: &str, known: impl IntoIterator<Item = &'k str>) -> Problem {
        let known: Vec<&str> = known.into_iter().collect();
        let near = did_you_mean(wrong, known.iter().copied());
        let fix = only_near(wrong, known).map(|right| TextFix::Name {
            wrong: wrong.to_owned(),
            right: right.to_owned(),
        });
        self.maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
            .maybe_fix(fix)
    }

    #[must_use]
    pub fn maybe_fix(mut self, fix: Option<TextFix>) -> Problem {
        self.fix = fix.map(Box::new).or(self.fix);
        self
    }

    /// Sets the hint if there is none.
    #[must_use]
    pub fn or_hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    #[must_use]
    pub fn related(mut self, span: impl Into<Option<Span>>, note: impl Into<String>) -> Problem {
        let note = note.into();
        let related = span.into().map(|span| RelatedPlace { span, note });
        self.related.extend(related);
        self
    }

    /// Shows the place without its line, which may contain a secret.
    #[must_use]
    pub fn hide_line(mut self) -> Problem {
        self.is_line_hidden = true;
        self
    }

    #[must_use]
    pub fn as_warning(mut self) -> Problem {
        self.severity = Severity::Warning;
        self
    }

    /// A warning where the condition holds.
    #[must_use]
    pub fn maybe_warning(self, warn: bool) -> Problem {
        if warn { self.as_warning() } else { self }
    }

    /// The place for a problem that was made without one, such as a missing file found at a `$ref`.
    #[must_use]
    pub fn at(mut self, span: Span) -> Problem {
        self.span = Some(span);
        self
    }
}

/// Every problem that was found, in the order in which it was found.
#[derive(Debug, Default, Clone)]
pub struct Problems {
    list: Vec<Problem>,
    seen: HashSet<Problem>,
    redactor: Redactor,
    /// Places of missing variables in parts that a run does not use: texts around them are still
    /// templates.
    unfilled: Vec<Span>,
}

impl Problems {
    pub fn new() -> Problems {
        Problems::default()
    }

    /// From now on these stand in no message: what a template was filled with may turn up where it
    /// can't be meant.
    pub fn hide(&mut self, secrets: impl IntoIterator<Item = String>) {
        self.redactor = Redactor::new(secrets);
    }

    /// Adds a problem; one that is already there is dropped.
    pub fn push(&mut self, mut problem: Problem) {
        for text in std::iter::once(&mut problem.message).chain(&mut problem.hint) {
            if let Some(clean) = self.redactor.redact(text) {
                *text = clean;
            }
        }
        if self.seen.insert(problem.clone()) {
            self.list.push(problem);
        }
    }

    /// Takes over the problems of a part that a run does not use, and returns what the part lacks:
    /// variables, of the suite or of the environment. Problems at texts that could not be filled
    /// follow from that, and are dropped.
    pub(super) fn keep_faults(&mut self, found: Problems) -> Vec<Problem> {
        let (lacks, faults): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|problem| problem.code == Code::UndefinedVariable);
        self.unfilled
            .extend(lacks.iter().filter_map(|lack| lack.span));
        let follows = |fault: &Problem| fault.span.is_some_and(|span| self.is_unfilled(span));
        let faults: Vec<Problem> = faults.into_iter().filter(|fault| !follows(fault)).collect();
        self.extend(faults);
        lacks
    }

    /// True for a place in or around a text of an unused part that could not be filled.
    pub(super) fn is_unfilled(&self, span: Span) -> bool {
        self.unfilled
            .iter()
            .any(|unfilled| span.overlaps(*unfilled))
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn has_errors(&self) -> bool {
        self.error_count() > 0
    }

    pub fn error_count(&self) -> usize {
        self.list
            .iter()
            .filter(|p| p.severity == Severity::Error)
            .count()
    }

    pub fn warning_count(&self) -> usize {
        self.list.len() - self.error_count()
    }

    /// In the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// By file (in the order in which files were read; what has no place comes first), then by
    /// place in the file.
    pub fn sorted(&self) -> Vec<&Problem> {
        let mut all: Vec<&Problem> = self.list.iter().collect();
        all.sort_by(|a, b| {
            (a.span, &a.path, a.severity, a.code).cmp(&(b.span, &b.path, b.severity, b.code))
        });
        all
    }
}

impl Problems {
    /// What was found, where nothing is wrong with it.
    pub fn take<T>(&mut self, found: Result<T, Problem>) -> Option<T> {
        found.map_err(|problem| self.push(problem)).ok()
    }
}

impl Extend<Problem> for Problems {
    fn extend<T: IntoIterator<Item = Problem>>(&mut self, problems: T) {
        problems.into_iter().for_each(|p| self.push(p));
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::source::SourceFiles;

    #[test]
    fn ids_and_slugs_are_unique_and_well_formed() {
        let ids: HashSet<_> = Code::ALL.iter().map(|c| c.id()).collect();
        let slugs: HashSet<_> = Code::ALL.iter().map(|c| c.slug()).collect();
        assert_eq!((ids.len(), slugs.len()), (Code::ALL.len(), Code::ALL.len()));
        for code in Code::ALL {
            assert!(
                code.id().len() == 6 && code.id().starts_with("EH"),
                "{}",
                code.id()
            );
            assert!(
                code.slug()
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-'),
                "{}",
                code.slug()
            );
            assert!(
                code.explanation().ends_with(['.', '"']),
                "{}",
                code.explanation()
            );
        }
    }

    #[test]
    fn only_a_single_near_name_is_certain() {
        let two = ["reg-users-001", "reg-users-002"];
        assert_eq!(only_near("reg-users-003", two), None);
        assert_eq!(
            only_near("exact_mach", ["exact_match", "regex"]),
            Some("exact_match")
        );
        assert_eq!(only_near("banana", two), None);
    }

    #[test]
    fn sorted_by_place_and_each_told_once() {
        let mut sources = SourceFiles::new();
        let (a, b) = (sources.add("a", "x"), sources.add("b", "x"));
        let mut problems = Problems::new();
        let at = |file, start| Problem::error(Code::Syntax, Span::new(file, start, start + 1), "m");
        problems.extend([at(b, 0), at(a, 5), at(a, 1), at(a, 5)]);
        problems.push(Problem::general(Code::NoTarget, "g").as_warning());
        assert_eq!(
            (
                problems.len(),
                problems.error_count(),
                problems.warning_count()
            ),
            (4, 3, 1)
        );
        let order: Vec<_> = problems
            .sorted()
            .iter()
            .map(|p| p.span.map(|s| (s.file, s.start)))
            .collect();
        assert_eq!(order, [None, Some((a, 1)), Some((a, 5)), Some((b, 0))]);
    }
}
