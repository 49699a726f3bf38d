//! The Python interpreter: found once, asked for its real place, and started with our runners.
//!
//! What is called `python3` may be a shim that takes 0.1 s to find the interpreter. So the
//! interpreter is asked where it really is, and is started from there ever after, without `site`
//! (whose `.pth` files can cost more than a test does) and with the folders of installed packages
//! at the end of its path. The runners are compiled once, by the same interpreter. Where it can, it
//! serves as a fork server (`server.rs`); else each process gets a start of its own.

pub(crate) mod server;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::channel::sealed_file;
use super::error::SandboxError;
use super::launch::{ProcessLaunch, process_limits};
use super::settings::Interpreter;
use super::types::ProgramLimits;
use eval_base::text::unhex;

const VALUES: &str = include_str!("values.py");
const CANDIDATE: &str = include_str!("candidate.py");
const ANALYSIS: &str = include_str!("analysis.py");
const COMPARED: &str = include_str!("compared.py");
const PLAN: &str = include_str!("plan.py");
const RAISED: &str = include_str!("raised.py");
const JUDGE: &str = include_str!("judge.py");
const IN_PROCESS: &str = include_str!("in_process.py");
const SERVER: &str = include_str!("server.py");
const ABOUT: &str = include_str!("about.py");

/// Runs a compiled runner: its length, its code and its request come through descriptor 3.
const START_RUNNER: &str = "import marshal\nf=open(3,'rb')\nn=int(f.readline())\nc=marshal.loads(f.read(n))\n\
                            p=f.read()\nf.close()\ng={'__name__':'runner'}\nexec(c,g)\ng['main'](p)";
/// Runs the compiled fork server: its length, its code and its settings, written as a dict, come
/// through descriptor 4.
const START_SERVER: &str = "import marshal\nf=open(4,'rb')\nn=int(f.readline())\nc=marshal.loads(f.read(n))\n\
                            p=eval(f.read())\nf.close()\nexec(c,{'__name__':'server','SETTINGS':p})";
/// Runs `main.py` as the main program; the arguments are how many folders of packages there are,
/// these, and the program's own. `exit` and `quit` are of `site`, which is not loaded.
const START_SCRIPT: &str = "import sys,posix,builtins,_sitebuiltins\nfor n in ('exit','quit'): setattr(builtins,n,_sitebuiltins.Quitter(n,'Ctrl-D (EOF)'))\n\
                            sys.path[0]=posix.getcwd()\nn=2+int(sys.argv[1])\nsys.path+=sys.argv[2:n]\n\
                            sys.argv[:]=['main.py']+sys.argv[n:]\ndel n,builtins,_sitebuiltins\n\
                            __file__='main.py'\nexec(compile(open('main.py','rb').read(),'main.py','exec'))";
/// The flags of every start: no user site, no site, no bytecode files. Not `-I`, which would ignore
/// PYTHONHASHSEED.
const FLAGS: [&str; 3] = ["-s", "-S", "-B"];

/// What a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunnerKind {
    Candidate,
    Judge,
    InProcess,
    /// Reads tests before any candidate is seen.
    Planner,
    /// A program as it is; its request is its source.
    Script,
}

impl RunnerKind {
    fn name(self) -> &'static str {
        match self {
            RunnerKind::Candidate => "candidate",
            RunnerKind::Judge => "judge",
            RunnerKind::InProcess => "in_process",
            RunnerKind::Planner => "planner",
            RunnerKind::Script => "script",
        }
    }
}

/// A process of a job, whichever way it is started.
#[derive(Debug)]
pub(super) struct PythonJob {
    runner: RunnerKind,
    request: Vec<u8>,
    stdin: Vec<u8>,
    /// Of a script; one that has any is no fork of the server's.
    args: Vec<String>,
    /// Become descriptors 4, 5, ...
    extra: Vec<OwnedFd>,
}

impl PythonJob {
    pub fn new(
        runner: RunnerKind,
        request: &impl serde::Serialize,
        extra: Vec<OwnedFd>,
    ) -> Result<PythonJob, SandboxError> {
        let request = serde_json::to_vec(request)?;
        Ok(PythonJob {
            runner,
            request,
            stdin: Vec::new(),
            args: Vec::new(),
            extra,
        })
    }

    /// A program with its own stdin and stdout.
    pub fn script(code: &str, stdin: &[u8], args: &[String]) -> PythonJob {
        PythonJob {
            runner: RunnerKind::Script,
            request: code.as_bytes().to_vec(),
            stdin: stdin.to_vec(),
            args: args.to_vec(),
            extra: Vec::new(),
        }
    }
}

/// A usable interpreter.
#[derive(Debug, Clone)]
pub(super) struct PythonRuntime {
    pub interpreter: Interpreter,
    /// Host folders it needs.
    pub binds: Vec<String>,
    /// Folders of installed packages.
    site: Vec<String>,
    /// Compiled, by name, as hexadecimal digits.
    runners: BTreeMap<String, String>,
    /// Why it can't be a fork server; empty when it can.
    cold: String,
}

/// What `about.py` prints.
#[derive(Deserialize)]
struct PythonFacts {
    executable: String,
    version: String,
    prefixes: Vec<String>,
    site: Vec<String>,
    runners: BTreeMap<String, String>,
    cold: String,
}

impl PythonRuntime {
    /// Finds the interpreter; the error says in words why there is none.
    pub fn find(wanted: Option<&Path>) -> Result<PythonRuntime, String> {
        let names: Vec<&OsStr> = match wanted {
            Some(path) => vec![path.as_os_str()],
            None => vec![OsStr::new("python3"), OsStr::new("python")],
        };
        let mut reasons = Vec::new();
        for name in names {
            match ask(name).and_then(PythonRuntime::from_about) {
                Ok(python) => return Ok(python),
                Err(reason) => reasons.push(format!("{}: {reason}", name.to_string_lossy())),
            }
        }
        Err(reasons.join("; "))
    }

    fn from_about(about: PythonFacts) -> Result<PythonRuntime, String> {
        for (name, _) in sources() {
            let compiled = about.runners.get(name).and_then(|code| unhex(code));
            compiled.ok_or_else(|| "it compiled the runners to invalid code".to_owned())?;
        }
        Ok(PythonRuntime {
            interpreter: Interpreter {
                path: PathBuf::from(about.executable),
                version: about.version,
                site: about.site.iter().map(PathBuf::from).collect(),
            },
            binds: binds(&about.prefixes, &about.site),
            site: about.site,
            runners: about.runners,
            cold: about.cold,
        })
    }

    /// Whether programs find the same interpreter and packages in both. Two virtual environments
    /// may share an executable.
    pub fn is_same(&self, other: &PythonRuntime) -> bool {
        self.interpreter == other.interpreter && self.site == other.site
    }

    /// Why it can't be a fork server, as far as it knows itself.
    pub fn cold(&self) -> Option<&str> {
        Some(self.cold.as_str()).filter(|reason| !reason.is_empty())
    }

    fn compiled(&self, name: &str) -> Vec<u8> {
        self.runners
            .get(name)
            .and_then(|code| unhex(code))
            .unwrap_or_default()
    }

    fn argv(&self, program: &str, arguments: &[String]) -> Vec<String> {
        let mut argv = vec![self.interpreter.path.to_string_lossy().into_owned()];
        argv.extend(FLAGS.iter().map(|f| (*f).to_owned()));
        argv.extend(["-c".to_owned(), program.to_owned()]);
        argv.extend_from_slice(arguments);
        argv
    }

    /// Folders of installed packages, for the runners' requests.
    pub fn site(&self) -> &[String] {
        &self.site
    }

    /// A process with an interpreter of its own.
    pub fn launch(
        &self,
        job: PythonJob,
        limits: &ProgramLimits,
    ) -> Result<ProcessLaunch, SandboxError> {
        let mut launch = if job.runner == RunnerKind::Script {
            let count = self.site.len().to_string();
            let arguments: Vec<String> = std::iter::once(&count)
                .chain(&self.site)
                .chain(&job.args)
                .cloned()
                .collect();
            let argv = self.argv(START_SCRIPT, &arguments);
            let mut launch = ProcessLaunch::new(argv, &[], process_limits(limits));
            launch.add_file("main.py".to_owned(), job.request);
            launch
        } else {
            let code = self.compiled(job.runner.name());
            let input = [format!("{}\n", code.len()).as_bytes(), &code, &job.request].concat();
            let argv = self.argv(START_RUNNER, &[]);
            let mut launch = ProcessLaunch::new(argv, &[], process_limits(limits));
            launch.extra.push(sealed_file(&input)?);
            launch
        };
        launch.stdin = job.stdin;
        launch.extra.extend(job.extra);
        Ok(launch)
    }
}

/// All that the interpreter compiles for us, by name.
fn sources() -> [(&'static str, String); 5] {
    [
        ("candidate", [VALUES, CANDIDATE].concat()),
        ("judge", [VALUES, RAISED, JUDGE].concat()),
        ("planner", [VALUES, ANALYSIS, COMPARED, PLAN].concat()),
        ("in_process", [VALUES, IN_PROCESS].concat()),
        ("server", SERVER.to_owned()),
    ]
}

fn ask(name: &OsStr) -> Result<PythonFacts, String> {
    let mut child = Command::new(name)
        .args(["-I", "-c", ABOUT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let sources: BTreeMap<&str, String> = sources().into_iter().collect();
    let sources = serde_json::to_vec(&sources).map_err(|e| e.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A python that ends without reading says why on stderr.
        let _ = stdin.write_all(&sources);
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(text
            .lines()
            .last()
            .unwrap_or("it failed without a message")
            .trim()
            .to_owned());
    }
    // Anything before the last line comes from the user's own start-up files.
    let stdout = output.stdout.trim_ascii_end();
    let last = stdout.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    serde_json::from_slice(last).map_err(|e| format!("its output has an unexpected format: {e}"))
}

/// The folders to show: only where executables and libraries lie, not all of a prefix, which may be
/// a home folder.
fn binds(prefixes: &[String], site: &[String]) -> Vec<String> {
    let parts = prefixes.iter().flat_map(|prefix| {
        ["bin", "lib", "lib64"].map(|part| format!("{}/{part}", prefix.trim_end_matches('/')))
    });
    let mut binds: Vec<String> = Vec::new();
    for path in parts.chain(site.iter().cloned()) {
        let path = std::fs::canonicalize(&path)
            .ok()
            .and_then(|p| p.to_str().map(str::to_owned))
            .unwrap_or(path);
        let shown = ["/usr", "/bin", "/lib", "/lib64", "/lib32"]
            .into_iter()
            .chain(binds.iter().map(String::as_str))
            .any(|b| Path::new(&path).starts_with(b));
        if !shown && Path::new(&path).is_dir() {
            binds.push(path);
        }
    }
    binds
}
