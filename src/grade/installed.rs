//! What a run has to grade with: interpreters, their packages, and what became of their processes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::RunGraders;
use eval_sandbox::{Interpreter, Sandbox};

impl RunGraders {
    /// Versions of the interpreters that are ready to run code, by name.
    pub fn interpreters(&self) -> BTreeMap<String, String> {
        let pythons = self.ready_pythons().into_iter();
        let pythons = pythons.map(|(name, python)| (name, python.version));
        pythons.chain(self.languages.versions()).collect()
    }

    /// Packages that are installed for each Python that is ready to run code, as `numpy-1.26.4`.
    pub fn packages(&self) -> BTreeMap<String, BTreeSet<String>> {
        let pythons = self.ready_pythons().into_iter();
        let packages = |(name, python): (String, Interpreter)| {
            let all: BTreeSet<String> = python
                .site
                .iter()
                .flat_map(|folder| packages_in(folder))
                .collect();
            (name, all)
        };
        pythons.map(packages).collect()
    }

    fn ready_pythons(&self) -> Vec<(String, Interpreter)> {
        let isolated = self.sandbox.get().and_then(|opened| opened.as_ref().ok());
        let open = self
            .unsandboxed
            .get()
            .and_then(|opened| opened.as_ref().ok());
        let opened: Vec<&Sandbox> = isolated.into_iter().chain(open).collect();
        let python = opened.iter().find_map(|sandbox| sandbox.python().ok());
        let python = python.map(|python| ("python".to_owned(), python.clone()));
        let named = self
            .pythons
            .get()
            .into_iter()
            .flatten()
            .filter_map(|named| {
                let sandbox = opened.first()?.with_python(&named.path).ok()?;
                let python = sandbox.python().ok()?.clone();
                Some((format!("python ({})", named.name), python))
            });
        python.into_iter().chain(named).collect()
    }

    /// Grace periods of the sandbox that expired so far (`ServerReport::expired_graces`); `None`
    /// when no sandbox was opened.
    pub fn expired_graces(&self) -> Option<u64> {
        let isolated = self.sandbox.get().and_then(|opened| opened.as_ref().ok());
        let open = self
            .unsandboxed
            .get()
            .and_then(|opened| opened.as_ref().ok());
        let expired = |sandbox: &Sandbox| sandbox.servers().expired_graces;
        isolated
            .into_iter()
            .chain(open)
            .map(expired)
            .reduce(|a, b| a + b)
    }
}

/// Names and versions of the packages in a folder, by the records that installers keep.
fn packages_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let package = name
            .strip_suffix(".dist-info")
            .or(name.strip_suffix(".egg-info"))?;
        Some(package.to_owned())
    });
    names.collect()
}
