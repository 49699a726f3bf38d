//! Finds compilers and interpreters outside of the folders that every sandbox shows.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::is_shown_anyway;

/// Where a program without a slash in its name is searched first. Every sandbox has these folders.
pub(crate) const SEARCH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Longer than this no program takes to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// A program of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProgram {
    /// The file that is started.
    pub path: PathBuf,
    /// What must be visible for it, unless every sandbox shows it: the folder that it was installed
    /// in, or the file alone.
    pub readable: Option<PathBuf>,
}

/// Finds a program that is named without a folder: in [`SEARCH`], else in `search` (the value of
/// `PATH`). `None` for one that is not there or not executable, and for a name with a slash.
/// Nothing that contains `base` is made visible.
pub fn locate(name: &str, search: &OsStr, base: &Path) -> Option<HostProgram> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let usual = SEARCH.iter().map(|dir| Path::new(dir).join(name));
    if let Some(path) = usual.into_iter().find(|path| path.exists()) {
        return Some(HostProgram {
            path,
            readable: None,
        });
    }
    let called = std::env::split_paths(search)
        .map(|dir| dir.join(name))
        .find(|path| path.is_absolute() && is_executable(path))?;
    let path = chosen_by_rustup(&called).unwrap_or_else(|| super::resolved(&called));
    let readable = Some(visible(&path, base)).filter(|folder| !is_shown_anyway(folder));
    Some(HostProgram { path, readable })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The program of the default toolchain, where `called` is one of rustup's stand-ins: those look
/// into the home folder, which no sandbox shows.
fn chosen_by_rustup(called: &Path) -> Option<PathBuf> {
    let folder = called.parent()?;
    if !folder.join("rustup").exists() {
        return None;
    }
    let home = match std::env::var_os("RUSTUP_HOME") {
        Some(home) => PathBuf::from(home),
        None => Path::new(&std::env::var_os("HOME")?).join(".rustup"),
    };
    let settings = fs::read_to_string(home.join("settings.toml")).ok()?;
    let toolchain = settings.lines().find_map(|line| {
        let value = line.strip_prefix("default_toolchain")?.trim_start();
        Some(value.strip_prefix('=')?.trim().trim_matches('"'))
    })?;
    let path = home
        .join("toolchains")
        .join(toolchain)
        .join("bin")
        .join(called.file_name()?);
    path.is_file().then(|| super::resolved(&path))
}

/// What a program needs to be visible: the folder around its `bin`, unless other things may be in
/// it (a home and what is directly in it, a folder of the root, the user's project).
fn visible(path: &Path, base: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.map(|home| super::resolved(&home));
    let base = super::resolved(base);
    let is_wide = |folder: &Path| {
        folder.components().count() < 3
            || folder.parent() == Some(Path::new("/home"))
            || base.starts_with(folder)
            || home.as_ref().is_some_and(|home| {
                home.starts_with(folder) || folder.parent() == Some(home.as_path())
            })
    };
    let bin = path
        .parent()
        .filter(|folder| folder.file_name().is_some_and(|name| name == "bin"));
    match bin.and_then(Path::parent) {
        Some(around) if !is_wide(around) => around.to_owned(),
        _ => path.to_owned(),
    }
}

/// A program that was installed with others that it needs: a script in a folder of packages of npm
/// or in a virtual environment of Python, or a file that needs nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledProgram {
    /// The file that is started: a link is followed.
    pub path: PathBuf,
    /// What must be visible for it, besides what every sandbox shows.
    pub readable: Vec<PathBuf>,
}

/// What the program at `path` consists of. Nothing that contains `base` is made visible.
pub fn installed(path: &Path, search: &OsStr, base: &Path) -> InstalledProgram {
    let path = super::resolved(path);
    let mut readable = vec![package_folder(&path).unwrap_or_else(|| visible(&path, base))];
    let line = crate::process_tree::shebang(&path).unwrap_or_default();
    let mut words = line
        .strip_prefix("#!")
        .unwrap_or_default()
        .split_whitespace();
    let interpreter = words.next().map(PathBuf::from);
    if interpreter
        .as_deref()
        .is_some_and(|path| path.ends_with("env"))
    {
        let name = words.find(|word| !word.starts_with('-') && !word.contains('='));
        let found = name.and_then(|name| locate(name, search, base));
        readable.extend(found.and_then(|program| program.readable));
    } else if let Some(interpreter) = interpreter {
        // A virtual environment has the interpreter as a link, and its packages beside it.
        let around = interpreter.parent().and_then(Path::parent);
        readable.extend(
            around
                .filter(|folder| folder.join("pyvenv.cfg").exists())
                .map(Path::to_owned),
        );
        readable.push(visible(&super::resolved(&interpreter), base));
    }
    readable.retain(|folder| !is_shown_anyway(folder));
    readable.sort();
    readable.dedup_by(|inner, outer| inner.starts_with(outer));
    InstalledProgram { path, readable }
}

/// The outermost folder of npm's packages around a file.
fn package_folder(path: &Path) -> Option<PathBuf> {
    let outermost = path
        .ancestors()
        .filter(|folder| folder.ends_with("node_modules"));
    outermost.last().map(Path::to_owned)
}

/// What a program says of its version; `words` make it say so.
pub fn version_of(program: &Path, words: &[String]) -> Option<String> {
    let mut command = Command::new(program);
    version_said(command.args(words), PATIENCE)
}

/// The same with no environment but PATH and an empty home folder, and within `patience`.
pub fn version_without_home(program: &Path, words: &[&str], patience: Duration) -> Option<String> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let name = format!("eval-harness-home-{}-{serial}", std::process::id());
    let home = std::env::temp_dir().join(name);
    fs::DirBuilder::new().mode(0o700).create(&home).ok()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    let clean = command.args(words).env_clear().env("PATH", path);
    let version = version_said(clean.env("HOME", &home).current_dir(&home), patience);
    let _ = fs::remove_dir_all(&home);
    version
}

fn version_said(command: &mut Command, patience: Duration) -> Option<String> {
    // Some say it on stderr.
    let (mut output, input) = std::io::pipe().ok()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(input.try_clone().ok()?)
        .stderr(input)
        .spawn()
        .ok()?;
    // It holds the writing ends.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // A reader of its own: what the program leaves behind may hold the pipe open.
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = output.by_ref().take(4096).read_to_end(&mut text);
        let _ = said.send(String::from_utf8_lossy(&text).into_owned());
    });
    let text = heard.recv_timeout(patience);
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if text.is_err() || start.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    version_in(&text.ok()?)
}

/// The first word with a digit at its start and a dot within, without a leading `v` or `go` and what
/// stands around it.
fn version_in(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let word = word.strip_prefix('v').unwrap_or(word);
        let word = word.strip_prefix("go").unwrap_or(word);
        let number = word
            .split(|c: char| !(c.is_ascii_digit() || c == '.'))
            .next()?
            .trim_end_matches('.');
        (number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.'))
            .then(|| number.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn installed_programs_need_their_packages_and_interpreters() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let find = |path: &Path| installed(path, OsStr::new("/usr/bin:/bin"), Path::new("/none"));
        let script = write(
            "lib/node_modules/@a/b/node_modules/c/cli.js",
            "#!/usr/bin/env sh\n",
        );
        fs::create_dir(root.join("bin")).unwrap();
        let link = root.join("bin/c");
        symlink(&script, &link).unwrap();
        let packages = vec![root.join("lib/node_modules")];
        assert_eq!(
            find(&link),
            InstalledProgram {
                path: script,
                readable: packages
            }
        );
        write("venv/pyvenv.cfg", "home = /usr/bin\n");
        let python = root.join("venv/bin/python3");
        let own = write("base/bin/python3", "");
        let tool = write("venv/bin/tool", &format!("#!{}\n", python.display()));
        symlink(&own, &python).unwrap();
        let readable = vec![root.join("base"), root.join("venv")];
        assert_eq!(
            find(&tool),
            InstalledProgram {
                path: tool,
                readable
            }
        );
        let alone = write("programs/alone", "");
        assert_eq!(find(&alone).readable, [alone]);
    }

    #[test]
    fn a_program_is_found_with_the_folder_that_it_needs() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let program = root.join("opt/jdk-1/bin/own-compiler");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let shims = root.join("shims");
        fs::create_dir(&shims).unwrap();
        std::os::unix::fs::symlink(&program, shims.join("own-compiler")).unwrap();
        let expected = HostProgram {
            path: program.clone(),
            readable: Some(root.join("opt/jdk-1")),
        };
        let base = root.join("project");
        let found = |name: &str| locate(name, shims.as_os_str(), &base);
        assert_eq!(found("own-compiler"), Some(expected));
        assert_eq!(found("./own-compiler"), None);
        assert_eq!(locate("own-compiler", OsStr::new(""), &base), None);
        let shell = locate("sh", OsStr::new(""), &base).unwrap();
        assert_eq!(shell.readable, None);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(found("own-compiler"), None);
    }

    #[test]
    fn neither_homes_nor_projects_are_shown_for_a_program() {
        let home = fs::canonicalize(std::env::var_os("HOME").unwrap()).unwrap();
        let shown = |path: &Path| visible(path, Path::new("/srv/team/project/evals"));
        for alone in [
            home.join("bin/tool"),
            home.join(".local/bin/tool"),
            "/home/someone/bin/tool".into(),
            "/opt/bin/tool".into(),
            "/srv/team/project/bin/tool".into(),
            "/srv/team/tools/tool".into(),
        ] {
            assert_eq!(shown(&alone), alone);
        }
        let toolchain = home.join(".rustup/toolchains/stable");
        assert_eq!(shown(&toolchain.join("bin/rustc")), toolchain);
        let jdk = Path::new("/opt/jdk-1");
        assert_eq!(shown(&jdk.join("bin/java")), jdk);
    }

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (text, version) in [
            ("v20.11.1\n", "20.11.1"),
            (
                "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)",
                "5.2.15",
            ),
            (
                "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022",
                "12.2.0",
            ),
            ("Version 5.4.5", "5.4.5"),
            ("deno 2.0.1 (stable, release)", "2.0.1"),
            ("git version 2.39.5", "2.39.5"),
            ("go version go1.19.8 linux/amd64", "1.19.8"),
            ("info: kotlinc-jvm 1.3.31 (JRE 17.0.15+6)", "1.3.31"),
        ] {
            assert_eq!(version_in(text).as_deref(), Some(version), "{text}");
        }
        assert_eq!(version_in("nothing of 12 the kind v."), None);
    }
}
