//! Runs of the sets: one run of the program for a set, a tier and a user.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Call, PROGRAM, Project};
use crate::tier::refuse_namespaces;
use crate::{AttackSet, Layout};

const NOBODY: u32 = 65534;
/// A folder with pytest, as `pip install --target` makes it.
const PYTEST: &str = "WORKSPACE_TEST_PYTEST";
/// Only this tier is tried.
const TIER: &str = "WORKSPACE_ATTACKS_TIER";
const PYTHON: &str = "/usr/bin/python3";

/// A tier, as the program finds it when the kernel refuses the namespaces of stronger ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunTier {
    Userns,
    Rootns,
    Landlock,
}

impl RunTier {
    fn name(self) -> &'static str {
        match self {
            RunTier::Userns => "userns",
            RunTier::Rootns => "rootns",
            RunTier::Landlock => "landlock",
        }
    }

    /// Flags of `unshare` that are refused.
    fn refused(self) -> u32 {
        let (user, mount) = (libc::CLONE_NEWUSER as u32, libc::CLONE_NEWNS as u32);
        match self {
            RunTier::Userns => 0,
            RunTier::Rootns => user,
            RunTier::Landlock => user | mount,
        }
    }
}

/// A tier and whether an ordinary user runs in it.
pub type RunPlace = (RunTier, bool);

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Where everything is tried, or, of these, the tier that the variable names.
fn chosen(mut places: Vec<RunPlace>) -> Vec<RunPlace> {
    if let Ok(name) = std::env::var(TIER) {
        places.retain(|(tier, _)| tier.name() == name);
    }
    places
}

pub fn everywhere() -> Vec<RunPlace> {
    let mut places = vec![(RunTier::Userns, false), (RunTier::Landlock, false)];
    if is_root() {
        let as_nobody = [(RunTier::Userns, true), (RunTier::Landlock, true)];
        places.push((RunTier::Rootns, false));
        places.extend(as_nobody);
    }
    chosen(places)
}

/// For what takes long: each user once, in different tiers.
pub fn heavy() -> Vec<RunPlace> {
    chosen(match is_root() {
        true => vec![(RunTier::Userns, false), (RunTier::Landlock, true)],
        false => vec![(RunTier::Userns, false)],
    })
}

/// One half of [`everywhere`] for visible tests, the other for hidden ones: for frameworks of which most
/// kinds fit both. All of them if the tier is named.
pub fn halves(layout: Layout) -> Vec<RunPlace> {
    if std::env::var_os(TIER).is_some() {
        return everywhere();
    }
    match (layout, is_root()) {
        (Layout::Visible, true) => vec![(RunTier::Userns, false), (RunTier::Landlock, true)],
        (Layout::Hidden, true) => vec![(RunTier::Rootns, false), (RunTier::Userns, true)],
        (Layout::Visible, false) => vec![(RunTier::Userns, false)],
        (Layout::Hidden, false) => vec![(RunTier::Landlock, false)],
    }
}

pub fn hold(sets: &[AttackSet], places: &[RunPlace]) {
    let (mut wrong, mut held) = (Vec::new(), 0);
    let mut can_run = false;
    for set in sets {
        if set.needs_pytest && std::env::var_os(PYTEST).is_none() {
            println!("SKIPPED: {}: pytest is not on this machine", set.name);
            continue;
        }
        can_run |= !places.is_empty();
        for place in places {
            let name = format!("{} in {}{}", set.name, place.0.name(), user_of(place.1));
            match run(set, *place) {
                Ok(report) => {
                    held += 1;
                    let found = judged(set, &report, &name).into_iter();
                    wrong.extend(found.map(|why| format!("{name}: {why}")));
                }
                Err(why) => println!("SKIPPED: {name}: {why}"),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(held > 0 || !can_run, "no tier could be tried");
}

fn user_of(is_ordinary: bool) -> &'static str {
    if is_ordinary { " as nobody" } else { "" }
}

/// What is wrong with the grades: attacks that passed or were not graded, twins that did not pass.
fn judged(set: &AttackSet, report: &Value, name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut causes = std::collections::BTreeMap::<String, usize>::new();
    for attack in &set.attacks {
        for (is_cheat, start) in [(true, "cheat"), (false, "twin")] {
            let id = format!("{start}_{}", attack.kind);
            let sample = sample_of(report, &id);
            let outcome = sample["outcome"].as_str().unwrap_or_default();
            let cause = sample["cause"].as_str().unwrap_or_default();
            let expected = if is_cheat { "failed" } else { "passed" };
            if is_cheat {
                *causes.entry(format!("{outcome} {cause}")).or_default() += 1;
            }
            if outcome != expected {
                let details = &sample["grades"][0]["details"];
                let reason = &sample["reason"];
                wrong.push(format!(
                    "{id}: {outcome} {cause}: {reason}\n  {}\n  {}",
                    details["stdout"], details["stderr"]
                ));
            }
        }
    }
    println!("{name}: {} attacks: {causes:?}", set.attacks.len());
    wrong
}

fn sample_of<'r>(report: &'r Value, id: &str) -> &'r Value {
    let evals = report["evals"].as_array().unwrap().iter();
    let mut cases = evals.flat_map(|eval| eval["cases"].as_array().unwrap());
    let case = cases.find(|case| case["id"] == id);
    &case.unwrap_or_else(|| panic!("no case {id}"))["samples"][0]
}

fn project(set: &AttackSet) -> Project {
    let suite = format!(
        "eval_suite:\n  name: Attacks\n  evals: [{{$ref: cases.yaml}}]\n  target: {{type: command, command: [sh, agent.sh]}}\n  \
         workspace: {}\n  reporting: {{format: [json]}}\n",
        set.workspace
    );
    let mut cases = format!(
        "metadata: {{id: attacks, name: Attacks}}\ngrader: {{type: code, config: {}}}\ntest_cases:\n",
        set.grader
    );
    for attack in &set.attacks {
        for (start, script) in [("cheat", &attack.cheat), ("twin", &attack.twin)] {
            let input = Value::from(script.as_str());
            cases += &format!("  - {{id: {start}_{}, input: {input}}}\n", attack.kind);
        }
    }
    let project = Project::new();
    project.write("suite.yaml", &suite);
    project.write("cases.yaml", &cases);
    project.write("agent.sh", "sh -eu -c \"$(cat)\"\n");
    for (path, text) in &set.files {
        project.write(path, text);
    }
    if set.needs_pytest {
        install_pytest(&project);
    }
    project
}

/// A virtual environment of the workspace with pytest; `setup` links its interpreter.
fn install_pytest(project: &Project) {
    let version = Command::new(PYTHON)
        .args([
            "-c",
            "import sys; print('%d.%d' % sys.version_info[:2], end='')",
        ])
        .output();
    let version = String::from_utf8(version.expect("a Python").stdout).unwrap();
    let site = format!("app/.venv/lib/python{version}");
    project.write(
        "app/.venv/pyvenv.cfg",
        "home = /usr/bin\ninclude-system-site-packages = false\n",
    );
    project.write("app/.venv/bin/activate", "");
    let site = project.path().join(site);
    std::fs::create_dir_all(&site).unwrap();
    let modules = std::env::var_os(PYTEST).expect("a folder");
    let to = site.join("site-packages");
    // Without what no test loads, which a copy of the workspace for each sample would contain.
    let copied = Command::new("sh")
        .arg("-euc")
        .arg(
            "cp -r \"$0\" \"$1\"; cd \"$1\"; rm -rf bin xdist execnet* *.dist-info\n\
             find . -name __pycache__ -prune -exec rm -rf {} +\n\
             cd pygments\nfind lexers -name '[a-z]*.py' ! -name python.py ! -name diff.py -delete\n\
             find lexers -name '_[a-z]*.py' ! -name _mapping.py -delete\n\
             find styles -name '[a-z]*.py' ! -name default.py -delete\n\
             find formatters -name '[a-z]*.py' ! -name 'terminal*.py' -delete\ncd ..\n\
             /usr/bin/python3 -m compileall -q --invalidation-mode checked-hash .",
        )
        .args([modules.as_os_str(), to.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
}

/// The report of a run; `Err`: the tier does not work here.
fn run(set: &AttackSet, (tier, is_ordinary): RunPlace) -> Result<Value, String> {
    let project = project(set);
    let program = project.path().join("program");
    let args = ["run", "--suite", "suite.yaml", "--quiet"];
    let mut command = match is_ordinary {
        false => project.command(&args),
        true => {
            let built = std::env::var_os("EVAL_HARNESS").unwrap_or_else(|| PROGRAM.into());
            std::fs::copy(built, &program).unwrap();
            give_away(project.path());
            // An own list of variables: nothing of the folders of this user.
            let mut command = Command::new(&program);
            command
                .args(args)
                .current_dir(project.path())
                .env_clear()
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .env("HOME", project.path())
                .env("LC_ALL", "C.UTF-8")
                .env("EVAL_HARNESS_CACHE_DIR", project.path().join("answers"))
                .uid(NOBODY)
                .gid(NOBODY);
            command
        }
    };
    refuse_namespaces(&mut command, tier.refused());
    let call = Call::of(command.output().expect("the program starts"));
    if call.code == Some(2) && call.stderr.contains("sandbox") {
        return Err(call.stderr);
    }
    assert!(matches!(call.code, Some(0 | 1 | 3)), "{}", call.stderr);
    let report = project.report();
    let chosen = report.to_string();
    let is_chosen = chosen.contains(&format!("\"tier\":\"{}\"", tier.name()));
    match is_chosen {
        true => Ok(report),
        false => Err("the program chose another tier".to_owned()),
    }
}

fn give_away(folder: &Path) {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let owner = format!("{NOBODY}:{NOBODY}");
    let mut command = Command::new("chown");
    let given = command.arg("-R").arg(owner).arg(folder).status();
    assert!(given.unwrap().success());
}
