//! Variables of the `.env` file beside a suite.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

/// Variables of a `.env` file, each used where the process environment does not set it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EnvFile(Arc<BTreeMap<String, String>>);

impl EnvFile {
    pub fn new(variables: BTreeMap<String, String>) -> EnvFile {
        EnvFile(Arc::new(variables))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The environment of a command that lists these names: `PATH`, and of the names those that are
    /// set, in the process or else in the file.
    pub fn environment_of(&self, names: &[String]) -> Vec<(String, OsString)> {
        let listed = names.iter().map(String::as_str).filter(|n| *n != "PATH");
        let path = std::env::var_os("PATH").map(|path| ("PATH".to_owned(), path));
        let value = |name: &str| std::env::var_os(name).or_else(|| Some(self.get(name)?.into()));
        let listed = listed.filter_map(|name| Some((name.to_owned(), value(name)?)));
        path.into_iter().chain(listed).collect()
    }
}

/// Without the values, which may be secrets.
impl fmt::Debug for EnvFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
