//! The names in the files of a suite, for completions: read from the trees alone. Nothing is
//! checked or rendered, and no dataset, git revision or program is touched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::kinds::parts;
use super::reach::{tags, text};
use super::refs::{self, PathFence, lexical, project_root};
use super::session::LoadSession;
use super::thresholds::built_in_presets;
use super::tree::Node;

/// What words of a command line can name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteNames {
    pub evals: BTreeSet<String>,
    pub cases: BTreeSet<String>,
    pub tags: BTreeSet<String>,
    pub categories: BTreeSet<String>,
    pub targets: BTreeSet<String>,
    pub prompts: BTreeSet<String>,
    pub presets: BTreeSet<String>,
    pub vars: BTreeSet<String>,
    /// Absolute.
    pub results: PathBuf,
}

/// The names in a suite's files, for completions; of what can't be read there are none.
pub fn suite_names(suite: &Path, cwd: &Path) -> SuiteNames {
    let path = lexical(&cwd.join(suite));
    let dir = path.parent().unwrap_or(cwd).to_path_buf();
    let root = project_root(&dir);
    let mut session = LoadSession {
        cwd: cwd.to_owned(),
        ..LoadSession::default()
    };
    session.fence = PathFence::new([root.as_path(), dir.as_path()]);
    let mut names = SuiteNames {
        results: root.join("results"),
        ..SuiteNames::default()
    };
    names.presets.extend(built_in_presets().map(str::to_owned));
    names
        .categories
        .extend(["capability", "regression"].map(str::to_owned));
    let Some(mut node) = session.parse(&path, None) else {
        return names;
    };
    match node.get_mut("eval_suite") {
        Some(suite) => names.suite(suite, &dir, &mut session),
        None => names.evals(&mut node),
    }
    names
}

impl SuiteNames {
    fn suite(&mut self, suite: &mut Node, dir: &Path, session: &mut LoadSession) {
        if let Some(folder) = suite
            .at_pointer("/reporting/output_dir")
            .and_then(Node::as_text)
        {
            self.results = lexical(&dir.join(folder));
        }
        self.targets.extend(keys(suite.get("targets")));
        self.prompts.extend(keys(suite.get("prompts")));
        self.presets.extend(keys(suite.get("presets")));
        self.vars.extend(keys(suite.get("vars")));
        let presets = suite
            .at_pointer("/thresholds/$ref")
            .and_then(Node::as_text)
            .map(str::to_owned);
        for file in files(presets.iter(), suite, dir, session) {
            let document = session.parse(&file, None);
            self.presets.extend(keys(
                document
                    .as_ref()
                    .and_then(|document| document.get("presets")),
            ));
        }
        let references: Vec<String> = suite
            .seq("evals")
            .iter()
            .filter_map(|eval| eval.get("$ref").and_then(Node::as_text).map(str::to_owned))
            .collect();
        for file in files(references.iter(), suite, dir, session) {
            if let Some(mut document) = session.parse(&file, None) {
                self.evals(&mut document);
            }
        }
        for eval in suite.seq_mut("evals") {
            if eval.get("$ref").is_none() {
                self.evals(eval);
            }
        }
    }

    fn evals(&mut self, document: &mut Node) {
        for part in parts(document) {
            let (node, head) = (part.node(), part.head());
            let about = node.get("metadata");
            let Some(id) = part.id() else { continue };
            self.prompts.extend(keys(node.get("prompts")));
            self.evals.insert(id.to_owned());
            self.categories
                .extend(text(head, "category").map(str::to_owned));
            self.tags.extend(tags(about).map(str::to_owned));
            let dataset = node.get("dataset");
            let is_private = dataset.and_then(|dataset| dataset.get("private"));
            let is_private = is_private.and_then(Node::as_bool) == Some(true);
            let cases = if is_private {
                &[]
            } else {
                node.seq("test_cases")
            };
            self.cases.extend(
                cases
                    .iter()
                    .filter_map(|case| text(Some(case), "id"))
                    .map(str::to_owned),
            );
            self.tags.extend(
                cases
                    .iter()
                    .flat_map(|case| tags(Some(case)))
                    .map(str::to_owned),
            );
            if cases.is_empty() && node.get("dataset").is_none() {
                self.cases.insert(id.to_owned());
            }
        }
    }
}

/// The files that references name; one that names none is of no concern here.
fn files<'r>(
    references: impl Iterator<Item = &'r String>,
    at: &Node,
    dir: &Path,
    session: &LoadSession,
) -> Vec<PathBuf> {
    let resolved =
        references.filter_map(|text| refs::resolve(dir, text, &session.fence, at.span).ok());
    resolved.flat_map(|found| found.files).collect()
}

fn keys(map: Option<&Node>) -> Vec<String> {
    map.and_then(Node::as_map)
        .unwrap_or(&[])
        .iter()
        .map(|(key, _)| key.name.to_string())
        .collect()
}
