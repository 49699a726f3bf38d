//! Coding agents: their program, their model and the files of their home folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{check_program, check_words, find_program};
use crate::load::depends;
use crate::load::inputs::file_hash;
use crate::load::models;
use crate::load::prices;
use crate::load::problem::{Code, Problem};
use crate::load::refs::{existing, expand};
use crate::load::scope::{SuiteDesk, seconds};
use crate::load::tree::Node;
use crate::model::{
    AgentApi, AgentFile, AgentLaunch, AgentLimits, AgentTarget, AgentValues, CommandTarget,
    Endpoint, ProviderApi,
};
use crate::spec::words::{AgentName, OnError, OutputFormat, TargetIsolation};
use crate::spec::{AgentSpec, ModelSpec, WorkspaceFileSpec};
use eval_models::KeySource;
use eval_proxy::AllowedHosts;
use eval_sandbox::languages::{InstalledProgram, installed, locate, version_without_home};
use eval_workspace::WorkspacePath;

/// Google's API has no provider of its own: these stand before its models.
const GOOGLE: [&str; 2] = ["google", "gemini"];
const GOOGLE_URL: &str = "https://generativelanguage.googleapis.com";
const GOOGLE_KEY: &str = "GEMINI_API_KEY";

/// How long an agent may take to print its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(30);

/// An agent with everything in place; `dir` is the folder of the file that says it.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    spec: &AgentSpec,
    node: &Node,
    dir: &Path,
) -> Option<AgentTarget> {
    let errors = desk.problems.error_count();
    check(desk, spec, node);
    let launch = AgentLaunch::of(spec.agent);
    let limits = spec.limits.clone().unwrap_or_default();
    let program = program(desk, spec, node, launch);
    let model = match &spec.model {
        Some(_) => Some(model(desk, spec, node, dir, launch)?),
        None => None,
    };
    let api = model.as_ref().map(|(_, api)| *api);
    let has_price = model.as_ref().is_some_and(|(of, _)| of.price.is_some());
    if limits.cost_usd.is_some() && !has_price {
        let message = "`cost_usd` limits nothing without a price";
        let at = node.locate("/limits/cost_usd");
        let problem = Problem::error(Code::WorkspaceSetting, at, message);
        let hint = match model {
            Some(_) => "add a `price`, or remove it",
            None => "add a `price` and a `model`, or remove it",
        };
        desk.push(problem.hint(hint));
    }
    let endpoint = model.as_ref().map(|(endpoint, _)| endpoint);
    check_variables(desk, spec, node, (api, endpoint));
    let home = files(desk, spec, node, dir);
    if desk.problems.error_count() > errors {
        return None;
    }
    let ProgramFound {
        argv,
        path,
        readable,
        version,
    } = program?;
    let (endpoint, api) = model.unzip();
    Some(AgentTarget {
        agent: spec.agent,
        version,
        endpoint,
        api,
        command: CommandTarget {
            argv,
            dir: desk.suite.dir.clone(),
            env: spec.env.clone(),
            env_file: desk.env_file_for(&spec.env),
            timeout: match desk.suite.timeout {
                // The command line's, which the case has.
                Some(_) => None,
                None => limits.wall_seconds.map(seconds),
            },
            on_error: OnError::default(),
            output: OutputFormat::default(),
            sandbox: false,
            isolation: spec.isolation,
            separate_thoughts: false,
            depends_on: depends::declared(
                desk,
                spec.depends_on.as_ref(),
                node.get("depends_on"),
                dir,
            ),
        },
        stream: spec.stream.unwrap_or(spec.agent),
        args: spec.args.clone(),
        home,
        limits: AgentLimits {
            turns: limits.turns,
            tokens: limits.tokens,
            cost_usd: limits.cost_usd,
        },
        hosts: spec.network.clone().unwrap_or_default().allow,
        provider_tools: spec.provider_tools,
        program: path,
        readable,
    })
}

/// What can be seen without files and programs.
fn check(desk: &mut SuiteDesk, spec: &AgentSpec, node: &Node) {
    let mut wrong = |at, message: String, hint: &str| {
        desk.push(Problem::error(Code::WorkspaceSetting, at, message).hint(hint));
    };
    if spec.isolation == Some(TargetIsolation::None) {
        let message = "an agent cannot run outside of its workspace".to_owned();
        let hint = "use `sandbox` or `workspace`";
        wrong(node.locate("/isolation"), message, hint);
    }
    if spec.model.is_none() {
        let of_model = ["replay", "base_url", "price", "provider_tools"];
        for key in of_model.iter().filter(|key| node.get(key).is_some()) {
            let message = format!("`{key}` needs a `model`");
            let place = node.key_span(&format!("/{key}"));
            wrong(
                place,
                message,
                "add `model: \"PROVIDER:MODEL\"`, or remove it",
            );
        }
    }
    let name = AgentLaunch::of(spec.agent).map(|launch| launch.name);
    if let (Some(name), None) = (name, &spec.model) {
        let message = format!("`{name}` has no `model`");
        wrong(node.span, message, "add `model: \"PROVIDER:MODEL\"`");
    }
    if spec.agent == AgentName::Command && spec.command.is_empty() {
        let message = "`agent: command` has no `command`".to_owned();
        wrong(
            node.locate("/agent"),
            message,
            "add `command: [PROGRAM, ARGUMENT]`",
        );
    }
    if spec.stream.is_some() && spec.agent != AgentName::Command {
        let message = "`stream` is for `agent: command`".to_owned();
        wrong(node.key_span("/stream"), message, "remove it");
    }
    if spec.model.is_some()
        && spec
            .limits
            .as_ref()
            .is_some_and(|limits| limits.cost_usd == Some(0.0))
    {
        let message = "`cost_usd` is 0, so every call exceeds it".to_owned();
        wrong(
            node.locate("/limits/cost_usd"),
            message,
            "remove it, or set a larger limit",
        );
    }
    let allow = spec
        .network
        .as_ref()
        .map_or(&[][..], |network| &network.allow);
    for (at, host) in allow.iter().enumerate() {
        if let Err(error) = AllowedHosts::new([host]) {
            let place = node.locate(&format!("/network/allow/{at}"));
            let hint = "write a name such as `pypi.org`, `*.npmjs.org` or `example.com:8080`";
            wrong(place, error.to_string(), hint);
        }
    }
}

/// Refuses variables that the agent gets in any case, such as one with the real key.
fn check_variables(
    desk: &mut SuiteDesk,
    spec: &AgentSpec,
    node: &Node,
    (api, endpoint): (Option<AgentApi>, Option<&Endpoint>),
) {
    let values = AgentValues {
        api,
        model: "",
        base_url: "",
        token: "",
        home: "",
    };
    let own = AgentLaunch::variables_of(spec.agent, &values);
    let key = endpoint.and_then(|endpoint| endpoint.key.as_ref());
    let key = key.and_then(|key| match &key.source {
        KeySource::Variable(name) => Some(name),
        _ => None,
    });
    let is_own = |name: &&String| {
        let usual = ["HOME", "PATH", "LANG", "TERM", "TMPDIR"];
        usual.contains(&name.as_str()) || key == Some(*name) || own.iter().any(|(of, _)| of == name)
    };
    for name in spec.env.iter().filter(is_own) {
        let message = format!("`env` of an agent cannot contain {name}");
        let problem = Problem::error(Code::WorkspaceSetting, node.locate("/env"), message);
        desk.push(problem.hint("remove it: eval-harness sets it, a key to a token of the sample"));
    }
}

struct ProgramFound {
    argv: Vec<String>,
    path: PathBuf,
    readable: Vec<PathBuf>,
    version: Option<String>,
}

fn program(
    desk: &mut SuiteDesk,
    spec: &AgentSpec,
    node: &Node,
    launch: Option<&AgentLaunch>,
) -> Option<ProgramFound> {
    let at = node.locate("/command");
    let argv = match launch {
        Some(launch) if spec.command.is_empty() => vec![launch.program.to_owned()],
        _ => spec.command.clone(),
    };
    let name = check_words(desk, &argv, at)?.clone();
    let found = find_program(desk.suite, &name, |_| true);
    let Some(found) = found else {
        let lenient = desk.suite.lenient;
        match launch.filter(|_| spec.command.is_empty()) {
            Some(launch) => {
                let message = format!("command not found: {name}");
                let hint = format!("install it with `{}`, or set `command`", launch.install);
                let at = node.locate("/agent");
                desk.push_lenient(Problem::error(Code::BadCommand, at, message).hint(hint));
            }
            None => _ = check_program(desk, &argv, at),
        }
        return lenient.then(|| ProgramFound {
            argv,
            path: PathBuf::new(),
            readable: Vec::new(),
            version: None,
        });
    };
    let search = desk.suite.search_path.clone().unwrap_or_default();
    let search = OsStr::new(&search);
    // Programs of the suite, and those that every sandbox has, are started by their names.
    let is_plain = launch.is_none()
        && (name.contains('/')
            || locate(&name, search, &desk.suite.root)
                .is_none_or(|program| program.readable.is_none()));
    let program = match is_plain {
        true => InstalledProgram::default(),
        false => installed(&found, search, &desk.suite.root),
    };
    let version = launch.filter(|_| !desk.suite.lenient);
    let version = version
        .and_then(|launch| version_without_home(&program.path, launch.version, VERSION_PATIENCE));
    Some(ProgramFound {
        argv,
        path: program.path,
        readable: program.readable,
        version,
    })
}

/// The model, and which API the agent calls.
fn model(
    desk: &mut SuiteDesk,
    spec: &AgentSpec,
    node: &Node,
    dir: &Path,
    launch: Option<&AgentLaunch>,
) -> Option<(Endpoint, AgentApi)> {
    let written = spec.model.as_deref().unwrap_or_default();
    let (provider, name) = match written.split_once(':') {
        Some((provider, name)) => (Some(provider), name),
        None => (None, written),
    };
    let usual = launch.and_then(|launch| match launch.apis {
        [only] => Some(*only),
        _ => None,
    });
    let of_google = match provider {
        Some(provider) => {
            GOOGLE.contains(&provider) && !desk.suite.providers.contains_key(provider)
        }
        None => usual == Some(AgentApi::Gemini),
    };
    let mut of_model = ModelSpec {
        model: Some(written.to_owned()),
        base_url: spec.base_url.clone(),
        api_key_env: spec.api_key_env.clone(),
        api_key_file: spec.api_key_file.clone(),
        api_key_command: spec.api_key_command.clone(),
        headers: spec.headers.clone(),
        ca_file: spec.ca_file.clone(),
        price: spec.price,
        replay: spec.replay.clone(),
        ..ModelSpec::default()
    };
    if of_google {
        of_model.model = Some(format!("openai:{name}"));
        if spec.base_url.is_none() {
            of_model.base_url = Some(GOOGLE_URL.to_owned());
            if !of_model.sets_key() {
                of_model.api_key_env = Some(GOOGLE_KEY.to_owned());
            }
        }
    } else if let (None, Some(api)) = (provider, usual) {
        of_model.model = Some(format!("{}:{name}", api.name()));
    }
    let mut endpoint = models::resolve(desk, &of_model, node, dir)?.endpoint;
    let api = match endpoint.api {
        _ if of_google => AgentApi::Gemini,
        ProviderApi::Anthropic => AgentApi::Anthropic,
        ProviderApi::Openai => AgentApi::Openai,
        ProviderApi::Http => {
            let message = "an agent cannot call a custom API";
            let problem = Problem::error(Code::WorkspaceSetting, node.locate("/model"), message);
            return desk.refuse(problem.hint("use a provider with the API of OpenAI or Anthropic"));
        }
    };
    if of_google {
        endpoint.provider = GOOGLE[0].to_owned();
        if spec.price.is_none() {
            // It was looked for under another provider.
            endpoint.price = prices::price_of(desk, None, GOOGLE[0], name);
        }
    }
    if let Some(launch) = launch.filter(|launch| !launch.apis.contains(&api)) {
        let known: Vec<&str> = launch.apis.iter().map(|api| api.name()).collect();
        let message = format!(
            "`{}` cannot call the API of `{}`",
            launch.name,
            endpoint.name()
        );
        let problem = Problem::error(Code::WorkspaceSetting, node.locate("/model"), message);
        let hint = format!("APIs that it can call: {}", known.join(", "));
        return desk.refuse(problem.hint(hint));
    }
    Some((endpoint, api))
}

/// The files of the home folder, by path.
fn files(
    desk: &mut SuiteDesk,
    spec: &AgentSpec,
    node: &Node,
    dir: &Path,
) -> BTreeMap<String, AgentFile> {
    let mut found = BTreeMap::new();
    let node = node.at_pointer("/home/files").unwrap_or(node);
    for (path, file) in spec.home.iter().flat_map(|home| &home.files) {
        let key = node.key_place(path).unwrap_or(node.span);
        if let Err(error) = WorkspacePath::new(path.as_bytes()) {
            desk.push(
                Problem::error(Code::BadPath, key, error.to_string())
                    .hint("write a path in the home folder, such as `.claude/CLAUDE.md`"),
            );
            continue;
        }
        let copy = match file {
            WorkspaceFileSpec::Text(text) => {
                found.insert(path.clone(), AgentFile::Text(text.clone()));
                continue;
            }
            WorkspaceFileSpec::Absent => {
                let message = format!("`{path}` is null, but the home folder is empty");
                desk.push(Problem::error(Code::WorkspaceSetting, key, message).hint("remove it"));
                continue;
            }
            WorkspaceFileSpec::Copy(copy) => copy,
        };
        let at = node.get(path).map_or(key, |node| node.locate("/file"));
        let copied = existing(dir, &copy.file, &desk.suite.fence, at).and_then(|(from, real)| {
            match real.is_dir() {
                true => Ok((expand(&from, "**", &desk.suite.fence, at)?, Some(from))),
                false => Ok((vec![from], None)),
            }
        });
        let Some((copied, folder)) = desk.problems.take(copied) else {
            continue;
        };
        for file in copied {
            let below = folder
                .as_ref()
                .and_then(|folder| file.strip_prefix(folder).ok());
            let to = below.map_or_else(
                || path.clone(),
                |below| format!("{path}/{}", below.display()),
            );
            let digest = file_hash(&file)
                .map(|hash| hash.to_string())
                .unwrap_or_default();
            let mode = std::fs::metadata(&file).map(|meta| meta.permissions().mode());
            let copy = AgentFile::Copy {
                digest,
                executable: mode.is_ok_and(|mode| mode & 0o100 != 0),
                path: file,
            };
            found.insert(to, copy);
        }
    }
    found
}
