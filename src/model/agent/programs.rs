//! The table of coding agents: how each is started without a terminal, how it learns its base URL and
//! token, and what of it must be off. Approvals are off everywhere: the sandbox confines the agent.

use eval_proxy::AgentApi;
use serde_json::{Value, json};

use crate::spec::words::AgentName;

/// How an agent gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentPrompt {
    Stdin,
    /// The path of a file with it, after this option.
    File(&'static str),
    /// A word of its command line, after this option.
    Word(&'static str),
}

/// What an agent prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStream {
    /// Its own form, by the agent's name.
    Own,
    /// Its own form, in this file of its home folder; what it prints is for people.
    File(&'static str),
}

/// What the table fills in.
#[derive(Debug, Clone, Copy)]
pub struct AgentValues<'v> {
    pub api: Option<AgentApi>,
    /// As the API knows it.
    pub model: &'v str,
    /// The base URL of the API, in the form that clients of it are given; without a slash at its
    /// end.
    pub base_url: &'v str,
    /// In place of a key.
    pub token: &'v str,
    /// The home folder.
    pub home: &'v str,
}

impl AgentValues<'_> {
    /// The name that LiteLLM has for the API, and the model.
    fn litellm_model(&self) -> String {
        let provider = match self.api {
            Some(AgentApi::Anthropic) => "anthropic",
            Some(AgentApi::Gemini) => "gemini",
            Some(AgentApi::Openai) | None => "openai",
        };
        format!("{provider}/{}", self.model)
    }

    /// Variables that clients of the API read, LiteLLM among them.
    fn of_api(&self) -> Variables {
        let [urls, key] = match self.api {
            Some(AgentApi::Anthropic) => [
                &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"][..],
                &["ANTHROPIC_API_KEY"],
            ],
            Some(AgentApi::Openai) => [
                &["OPENAI_BASE_URL", "OPENAI_API_BASE"][..],
                &["OPENAI_API_KEY"],
            ],
            Some(AgentApi::Gemini) => [&["GOOGLE_GEMINI_BASE_URL"][..], &["GEMINI_API_KEY"]],
            None => return Vec::new(),
        };
        let urls = urls.iter().map(|name| (*name, self.base_url.to_owned()));
        let keys = key.iter().map(|name| (*name, self.token.to_owned()));
        urls.chain(keys).collect()
    }
}

type Variables = Vec<(&'static str, String)>;

/// How an agent is started.
#[derive(Debug)]
pub struct AgentLaunch {
    pub agent: AgentName,
    /// As authors write it.
    pub name: &'static str,
    pub program: &'static str,
    pub install: &'static str,
    /// Words that make it print its version.
    pub version: &'static [&'static str],
    /// APIs that it can call, the usual one first.
    pub apis: &'static [AgentApi],
    pub prompt: AgentPrompt,
    pub stream: AgentStream,
    pub arguments: fn(&AgentValues<'_>) -> Vec<String>,
    pub variables: fn(&AgentValues<'_>) -> Variables,
    /// A file of the home folder with settings, and these, which the suite's own file overrides.
    pub settings: Option<HomeSettings>,
}

/// A path in the home folder, and what makes the settings there.
pub type HomeSettings = (&'static str, fn() -> Value);

impl AgentLaunch {
    /// `None` for an agent whose program the suite names.
    pub fn of(agent: AgentName) -> Option<&'static AgentLaunch> {
        AGENTS.iter().find(|launch| launch.agent == agent)
    }

    /// Of every agent, also one whose program the suite names.
    pub fn variables_of(agent: AgentName, values: &AgentValues<'_>) -> Variables {
        match AgentLaunch::of(agent) {
            Some(launch) => (launch.variables)(values),
            None => {
                let model = Some(("AGENT_MODEL", values.model.to_owned()));
                let model = model.filter(|_| values.api.is_some());
                values.of_api().into_iter().chain(model).collect()
            }
        }
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn on(names: &[&'static str]) -> Variables {
    names.iter().map(|name| (*name, "1".to_owned())).collect()
}

const AGENTS: [AgentLaunch; 6] = [
    AgentLaunch {
        agent: AgentName::ClaudeCode,
        name: "claude-code",
        program: "claude",
        install: "npm install -g @anthropic-ai/claude-code",
        version: &["--version"],
        apis: &[AgentApi::Anthropic],
        prompt: AgentPrompt::Stdin,
        stream: AgentStream::Own,
        arguments: |values| {
            let mode = ["-p", "--output-format", "stream-json", "--verbose"];
            let rest = ["--permission-mode", "bypassPermissions", "--model"];
            [words(mode), words(rest), words([values.model])].concat()
        },
        variables: |values| {
            // Root may not be without approvals unless the last one is set.
            let off = on(&[
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                "DISABLE_AUTOUPDATER",
                "DISABLE_TELEMETRY",
                "DISABLE_ERROR_REPORTING",
                "IS_SANDBOX",
            ]);
            [values.of_api(), off].concat()
        },
        settings: None,
    },
    AgentLaunch {
        agent: AgentName::Codex,
        name: "codex",
        program: "codex",
        install: "npm install -g @openai/codex",
        version: &["--version"],
        apis: &[AgentApi::Openai],
        prompt: AgentPrompt::Stdin,
        stream: AgentStream::Own,
        arguments: |values| {
            let url = Value::from(values.base_url);
            let settings = [
                "model_provider=\"harness\"".to_owned(),
                "model_providers.harness.name=\"harness\"".to_owned(),
                // JSON's texts are TOML's, too.
                format!("model_providers.harness.base_url={url}"),
                "model_providers.harness.env_key=\"OPENAI_API_KEY\"".to_owned(),
                "model_providers.harness.wire_api=\"responses\"".to_owned(),
                "check_for_update_on_startup=false".to_owned(),
                "analytics.enabled=false".to_owned(),
            ];
            let settings = settings.into_iter().flat_map(|set| ["-c".to_owned(), set]);
            let mut all = words(["exec", "--json", "--skip-git-repo-check"]);
            all.extend(words([
                "--dangerously-bypass-approvals-and-sandbox",
                "-m",
                values.model,
            ]));
            all.extend(settings);
            // The prompt is on stdin.
            all.push("-".to_owned());
            all
        },
        variables: |values| vec![("OPENAI_API_KEY", values.token.to_owned())],
        settings: None,
    },
    AgentLaunch {
        agent: AgentName::GeminiCli,
        name: "gemini-cli",
        program: "gemini",
        install: "npm install -g @google/gemini-cli",
        version: &["--version"],
        apis: &[AgentApi::Gemini],
        prompt: AgentPrompt::Stdin,
        stream: AgentStream::Own,
        arguments: |values| {
            let mode = ["--output-format", "stream-json", "--approval-mode", "yolo"];
            [words(mode), words(["--skip-trust", "-m", values.model])].concat()
        },
        variables: |values| {
            let telemetry = ("GEMINI_TELEMETRY_ENABLED", "false".to_owned());
            [values.of_api(), vec![telemetry]].concat()
        },
        settings: Some((".gemini/settings.json", || {
            json!({
                "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
                "privacy": {"usageStatisticsEnabled": false},
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "telemetry": {"enabled": false},
            })
        })),
    },
    AgentLaunch {
        agent: AgentName::Opencode,
        name: "opencode",
        program: "opencode",
        install: "npm install -g opencode-ai",
        version: &["--version"],
        apis: &[AgentApi::Openai, AgentApi::Anthropic],
        prompt: AgentPrompt::Stdin,
        stream: AgentStream::Own,
        arguments: |values| {
            let model = format!("harness/{}", values.model);
            words(["run", "--format", "json", "-m", &model])
        },
        variables: |values| {
            let (package, end) = match values.api {
                Some(AgentApi::Anthropic) => ("@ai-sdk/anthropic", "/v1"),
                _ => ("@ai-sdk/openai-compatible", ""),
            };
            let base = format!("{}{end}", values.base_url);
            let mut models = serde_json::Map::new();
            models.insert(values.model.to_owned(), json!({"name": values.model}));
            let settings = json!({
                "autoupdate": false,
                "share": "disabled",
                "permission": {"*": "allow"},
                "provider": {"harness": {
                    "npm": package,
                    "name": "harness",
                    "options": {"baseURL": base, "apiKey": values.token},
                    "models": models,
                }},
            });
            let off = on(&[
                "OPENCODE_DISABLE_MODELS_FETCH",
                "OPENCODE_DISABLE_AUTOUPDATE",
                "OPENCODE_DISABLE_LSP_DOWNLOAD",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS",
            ]);
            let settings = vec![("OPENCODE_CONFIG_CONTENT", settings.to_string())];
            [settings, off].concat()
        },
        settings: None,
    },
    AgentLaunch {
        agent: AgentName::Aider,
        name: "aider",
        program: "aider",
        install: "pipx install aider-chat",
        version: &["--version"],
        apis: &[AgentApi::Openai, AgentApi::Anthropic],
        prompt: AgentPrompt::File("--message-file"),
        stream: AgentStream::Own,
        arguments: |values| {
            let off = [
                "--yes-always",
                "--no-check-update",
                "--analytics-disable",
                "--no-show-release-notes",
                "--no-show-model-warnings",
                "--no-gitignore",
                "--no-auto-commits",
                "--no-dirty-commits",
                "--no-pretty",
                "--no-detect-urls",
                // A workspace has no history, and aider would make one.
                "--no-git",
            ];
            let [chat, input] =
                ["chat.md", "input"].map(|name| format!("{}/.aider-{name}", values.home));
            let model = values.litellm_model();
            let rest = [
                "--chat-history-file",
                &chat,
                "--input-history-file",
                &input,
                "--model",
                &model,
            ];
            [words(off), words(rest)].concat()
        },
        variables: |values| {
            let map = [("LITELLM_LOCAL_MODEL_COST_MAP", "True".to_owned())];
            [values.of_api(), map.to_vec()].concat()
        },
        settings: None,
    },
    AgentLaunch {
        agent: AgentName::MiniSweAgent,
        name: "mini-swe-agent",
        program: "mini",
        install: "pipx install mini-swe-agent",
        // It has no option for it, and prints it at the top.
        version: &["--help"],
        apis: &[AgentApi::Openai, AgentApi::Anthropic],
        prompt: AgentPrompt::Word("-t"),
        stream: AgentStream::File("trajectory.json"),
        arguments: |values| {
            let output = format!("{}/trajectory.json", values.home);
            let model = values.litellm_model();
            words(["-y", "--exit-immediately", "-m", &model, "-o", &output])
        },
        variables: |values| {
            let settings = [
                ("LITELLM_LOCAL_MODEL_COST_MAP", "True".to_owned()),
                ("MSWEA_CONFIGURED", "true".to_owned()),
                ("MSWEA_COST_TRACKING", "ignore_errors".to_owned()),
                ("MSWEA_SILENT_STARTUP", "1".to_owned()),
            ];
            [values.of_api(), settings.to_vec()].concat()
        },
        settings: None,
    },
];
