//! Languages beside Python: where their interpreters are, and how candidates in them are run.

#[cfg(target_os = "linux")]
mod in_process;
#[cfg(target_os = "linux")]
pub(super) mod node;
mod programs;

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
pub(super) use in_process::run_tests;
pub(crate) use programs::SEARCH;
pub use programs::{
    HostProgram, InstalledProgram, installed, locate, version_of, version_without_home,
};

/// A language that is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BuiltinLanguage {
    Python,
    Javascript,
    Typescript,
    Bash,
    Sql,
}

/// What runs a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageRuntime {
    pub language: BuiltinLanguage,
    /// As it is called: the entry of `PATH`. Empty for what is part of this program.
    pub called: PathBuf,
    /// The real executable behind links and shims.
    pub path: PathBuf,
    /// As `20.11.1`.
    pub version: String,
    /// TypeScript's compiler, where node can't read TypeScript by itself.
    pub library: Option<PathBuf>,
}

/// Why a language can't be run here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {hint}")]
pub struct MissingLanguage {
    pub language: BuiltinLanguage,
    pub reason: String,
    /// What to do about it.
    pub hint: String,
}

impl BuiltinLanguage {
    pub const ALL: [BuiltinLanguage; 5] = [
        BuiltinLanguage::Python,
        BuiltinLanguage::Javascript,
        BuiltinLanguage::Typescript,
        BuiltinLanguage::Bash,
        BuiltinLanguage::Sql,
    ];

    pub fn name(self) -> &'static str {
        match self {
            BuiltinLanguage::Python => "python",
            BuiltinLanguage::Javascript => "javascript",
            BuiltinLanguage::Typescript => "typescript",
            BuiltinLanguage::Bash => "bash",
            BuiltinLanguage::Sql => "sql",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            BuiltinLanguage::Python => {
                "install Python 3.6 or newer (Debian, Ubuntu: `apt install python3`)"
            }
            BuiltinLanguage::Javascript => {
                "install Node.js 18 or newer (Debian, Ubuntu: `apt install nodejs`)"
            }
            BuiltinLanguage::Typescript => {
                "install Node.js 22.18 or newer, which runs TypeScript, or install the compiler next to the suite \
                     (`npm install --save-dev typescript`)"
            }
            BuiltinLanguage::Bash => "install bash (Debian, Ubuntu: `apt install bash`)",
            BuiltinLanguage::Sql => "it is built in",
        }
    }

    fn missing(self, reason: impl Into<String>) -> MissingLanguage {
        MissingLanguage {
            language: self,
            reason: reason.into(),
            hint: self.hint().to_owned(),
        }
    }
}

impl LanguageRuntime {
    /// Host folders that must be visible for it, beside those of the system.
    pub fn readable(&self) -> Vec<PathBuf> {
        let program = self.path.parent().map(Path::to_path_buf);
        let library = self
            .library
            .as_deref()
            .and_then(Path::parent)
            .map(Path::to_path_buf);
        program
            .into_iter()
            .chain(library)
            .filter(|path| !is_shown_anyway(path))
            .collect()
    }
}

/// Folders that every cell shows.
fn is_shown_anyway(path: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64"]
        .iter()
        .any(|shown| path.starts_with(shown))
        || path.as_os_str().is_empty()
}

/// Finds what runs a language, in `search` (the value of `PATH`); TypeScript's compiler in
/// `node_modules` of `base` and the folders above it.
pub fn find(
    language: BuiltinLanguage,
    search: &OsStr,
    base: &Path,
) -> Result<LanguageRuntime, MissingLanguage> {
    let on_path = |names: &[&str]| {
        names
            .iter()
            .flat_map(|name| std::env::split_paths(search).map(move |dir| dir.join(name)))
            .find(|path| path.is_absolute() && path.is_file())
    };
    let found = |called: PathBuf, path: PathBuf, version: String| {
        Ok(LanguageRuntime {
            language,
            called,
            path,
            version,
            library: None,
        })
    };
    match language {
        BuiltinLanguage::Sql => {
            let version = if cfg!(target_os = "linux") {
                rusqlite::version()
            } else {
                ""
            };
            found(PathBuf::new(), PathBuf::new(), version.to_owned())
        }
        BuiltinLanguage::Python => {
            let called = on_path(&["python3", "python"])
                .ok_or_else(|| language.missing("python3 is not in PATH"))?;
            let about = "import sys; print(sys.executable); print('.'.join(map(str, sys.version_info[:3])))";
            let (path, version) =
                two_lines(&called, &["-I", "-c", about]).map_err(|why| language.missing(why))?;
            found(called, resolved(Path::new(&path)), version)
        }
        BuiltinLanguage::Bash => {
            let called =
                on_path(&["bash"]).ok_or_else(|| language.missing("bash is not in PATH"))?;
            let about = "echo \"$BASH\"; echo \"${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]}\"";
            let (path, version) = two_lines(&called, &["--norc", "-c", about])
                .map_err(|why| language.missing(why))?;
            found(called, resolved(Path::new(&path)), version)
        }
        BuiltinLanguage::Javascript => {
            let called = on_path(&["node", "nodejs"])
                .ok_or_else(|| language.missing("node is not in PATH"))?;
            let (path, version) = node_at(&called).map_err(|why| language.missing(why))?;
            found(called, path, version)
        }
        BuiltinLanguage::Typescript => {
            let node = find(BuiltinLanguage::Javascript, search, base)
                .map_err(|missing| language.missing(missing.reason))?;
            let strips = at_least(&node.version, (22, 18));
            let library = if strips {
                None
            } else {
                typescript_library(base, on_path(&["tsc"]))
            };
            if !strips && library.is_none() {
                let reason = format!(
                    "node {} can't run TypeScript, and the `typescript` package is not installed",
                    node.version
                );
                return Err(language.missing(reason));
            }
            Ok(LanguageRuntime {
                language,
                library,
                ..node
            })
        }
    }
}

/// The real node and its version. A shim of a version manager is asked for what it would start.
fn node_at(called: &Path) -> Result<(PathBuf, String), String> {
    let path = resolved(called);
    if is_binary(&path) {
        let said = output_of(&path, &["--version"])?;
        return Ok((path, said.trim().trim_start_matches('v').to_owned()));
    }
    let (path, version) = two_lines(
        called,
        &["-p", "process.execPath + '\\n' + process.versions.node"],
    )?;
    Ok((resolved(Path::new(&path)), version))
}

fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_binary(path: &Path) -> bool {
    let mut head = [0u8; 4];
    fs::File::open(path)
        .and_then(|mut f| f.read_exact(&mut head))
        .is_ok()
        && head == *b"\x7fELF"
}

fn output_of(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let said = |why: &dyn std::fmt::Display| format!("{}: {why}", program.display());
    let output = Command::new(program)
        .args(arguments)
        .env_remove("NODE_OPTIONS")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| said(&e))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
        return Err(said(&last.unwrap_or("it failed without a message").trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last two lines that a program prints: where it is, and its version.
fn two_lines(program: &Path, arguments: &[&str]) -> Result<(String, String), String> {
    let text = output_of(program, arguments)?;
    let mut lines = text
        .lines()
        .rev()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(version), Some(path)) => Ok((path.to_owned(), version.to_owned())),
        _ => Err(format!(
            "{}: its output has an unexpected format",
            program.display()
        )),
    }
}

fn at_least(version: &str, wanted: (u64, u64)) -> bool {
    let mut numbers = version.split('.').map(|n| n.parse::<u64>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= wanted
}

/// `typescript.js` of the package nearest to the suite, else of the one that `tsc` belongs to.
fn typescript_library(base: &Path, tsc: Option<PathBuf>) -> Option<PathBuf> {
    let near = base
        .ancestors()
        .map(|dir| dir.join("node_modules/typescript/lib/typescript.js"));
    let global = tsc.into_iter().filter_map(|tsc| {
        let bin = fs::canonicalize(tsc).ok()?;
        Some(bin.parent()?.parent()?.join("lib/typescript.js"))
    });
    near.chain(global)
        .find(|file| file.is_file())
        .map(|file| resolved(&file))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_missing_is_told_with_what_to_do() {
        let nowhere = OsStr::new("/no/such/folder");
        let said = |language| {
            find(language, nowhere, Path::new("/"))
                .unwrap_err()
                .to_string()
        };
        insta::assert_snapshot!(said(BuiltinLanguage::Javascript), @"node is not in PATH; install Node.js 18 or newer (Debian, Ubuntu: `apt install nodejs`)");
        insta::assert_snapshot!(said(BuiltinLanguage::Typescript), @"node is not in PATH; install Node.js 22.18 or newer, which runs TypeScript, or install the compiler next to the suite (`npm install --save-dev typescript`)");
        assert!(find(BuiltinLanguage::Sql, nowhere, Path::new("/")).is_ok());
    }

    #[test]
    fn a_shim_is_asked_for_the_real_program() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let real = put("versions/node", "");
        let shim = put(
            "shims/node",
            &format!(
                "#!/bin/sh\necho noise\necho {}\necho 20.1.0\n",
                real.display()
            ),
        );
        let search = shim.parent().unwrap().as_os_str();
        let found = find(BuiltinLanguage::Javascript, search, dir.path()).unwrap();
        assert_eq!(
            (found.called, found.version.as_str()),
            (shim.clone(), "20.1.0")
        );
        assert_eq!(found.path, fs::canonicalize(&real).unwrap());
        let readable = LanguageRuntime {
            called: shim.clone(),
            path: real.clone(),
            ..find(BuiltinLanguage::Javascript, search, dir.path()).unwrap()
        };
        assert_eq!(readable.readable(), [real.parent().unwrap()]);

        let without = find(BuiltinLanguage::Typescript, search, dir.path()).unwrap_err();
        assert_eq!(
            without.reason,
            "node 20.1.0 can't run TypeScript, and the `typescript` package is not installed"
        );
        let library = put("node_modules/typescript/lib/typescript.js", "");
        let below = dir.path().join("a/b");
        let found = find(BuiltinLanguage::Typescript, search, &below).unwrap();
        assert_eq!(found.library, Some(fs::canonicalize(library).unwrap()));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, strips) in [
            ("22.18.0", true),
            ("22.9.1", false),
            ("24.0.0", true),
            ("9.99", false),
            ("", false),
        ] {
            assert_eq!(at_least(version, (22, 18)), strips, "{version}");
        }
    }
}
