//! `eval-harness doctor`: what this machine can do.

use serde_json::json;

use super::args::{DoctorArgs, ListFormat};
use super::console::Console;
use super::{Exit, Failure, suite};
use crate::gate::ExitCode;
use crate::run::harness_version;
use crate::sandbox::{Sandbox, SandboxConfig, SandboxError};

pub fn doctor(console: &Console, args: &DoctorArgs) -> Exit {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::incomplete(format!("cannot start: {error}")))?;
    let helper = std::env::current_exe()
        .map_err(|error| Failure::incomplete(format!("cannot find this program's own file: {error}")))?;
    let findings = runtime.block_on(examine(helper));
    let page = match args.format {
        ListFormat::Json => format!("{:#}\n", findings.as_json()),
        ListFormat::Human => findings.as_text(),
    };
    console.result(page.as_bytes())?;
    Ok(if findings.sandbox.is_ok() { ExitCode::Pass } else { ExitCode::Fail })
}

/// The error, and what a user can do about it.
fn reason(error: &SandboxError) -> String {
    match error {
        SandboxError::Unavailable { remedy, .. } => format!("{error}\n{remedy}"),
        other => other.to_string(),
    }
}

struct Findings {
    /// Tier and notes, or why there is none.
    sandbox: Result<(String, Vec<String>), String>,
    /// Path and version, or why there is none.
    python: Result<(String, String), String>,
    git: Option<String>,
}

async fn examine(helper: std::path::PathBuf) -> Findings {
    let config = SandboxConfig { workers: 1, ..SandboxConfig::new(helper) };
    let (sandbox, python) = match Sandbox::open(config).await {
        Ok(sandbox) => {
            let state = sandbox.state();
            let python = match sandbox.python() {
                Ok(python) => Ok((python.path.display().to_string(), python.version.clone())),
                Err(error) => Err(error.to_string()),
            };
            (Ok((state.tier.name().to_owned(), state.notes.clone())), python)
        }
        Err(error) => (Err(reason(&error)), Err("not looked for without a sandbox".to_owned())),
    };
    let git = std::process::Command::new("git").arg("--version").output().ok();
    let git = git.and_then(|output| String::from_utf8(output.stdout).ok()).map(|text| text.trim().to_owned());
    Findings { sandbox, python, git }
}

impl Findings {
    fn as_json(&self) -> serde_json::Value {
        json!({
            "version": harness_version(),
            "os": std::env::consts::OS,
            "arch": std::env::consts::ARCH,
            "cpus": suite::cpus(),
            "sandbox": match &self.sandbox {
                Ok((tier, notes)) => json!({ "tier": tier, "notes": notes }),
                Err(reason) => json!({ "tier": null, "reason": reason }),
            },
            "python": match &self.python {
                Ok((path, version)) => json!({ "path": path, "version": version }),
                Err(reason) => json!({ "path": null, "reason": reason }),
            },
            "git": self.git,
        })
    }

    fn as_text(&self) -> String {
        let mut lines = vec![
            format!("eval-harness  {}", harness_version()),
            format!(
                "machine       {} {}, {} cores",
                std::env::consts::OS,
                std::env::consts::ARCH,
                suite::cpus()
            ),
        ];
        match &self.sandbox {
            Ok((tier, notes)) => {
                lines.push(format!("sandbox       {tier}: model-written code is isolated"));
                lines.extend(notes.iter().map(|note| format!("              {note}")));
            }
            Err(reason) => {
                lines.push("sandbox       none: model-written code will not be run".to_owned());
                lines.extend(reason.lines().map(|line| format!("              {line}")));
            }
        }
        match &self.python {
            Ok((path, version)) => lines.push(format!("python        {version} ({path})")),
            Err(reason) => lines.push(format!("python        none: {reason}")),
        }
        lines.push(format!(
            "git           {}",
            self.git.as_deref().unwrap_or("none: reports can't name the commit")
        ));
        lines.join("\n") + "\n"
    }
}
