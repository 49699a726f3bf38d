//! `eval-harness doctor`: what this machine can do, what it can't, why not, and what helps.

mod configuration;
mod findings;
mod isolation;
mod machine;
mod observe;
mod page;
mod programs;

use std::path::Path;

use findings::{CheckGroup, CheckState, DoctorCheck, DoctorFindings};
use programs::FoundPython;

use super::args::{DoctorArgs, ListFormat};
use super::console::Console;
use super::{CliFailure, CliResult, suite};
use crate::gate::ExitCode;
use crate::run::harness_version;
use eval_base::json::escaped;
use eval_sandbox::{ProgramEnding, Sandbox, SandboxConfig, SandboxError, ScriptJob, Tier, probe};

pub fn doctor(console: &Console, args: &DoctorArgs) -> CliResult {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliFailure::incomplete(format!("cannot start: {error}")))?;
    let helper = std::env::current_exe().map_err(|error| {
        CliFailure::incomplete(format!(
            "cannot find the executable of eval-harness: {error}"
        ))
    })?;
    if !args.observe.is_empty() {
        let observed = runtime.block_on(observe::observe(&helper, &args.observe))?;
        match args.format {
            ListFormat::Json => {
                let json = format!("{:#}\n", observe::as_json(&observed));
                console.result(escaped(&json).as_bytes())?;
            }
            ListFormat::Human => console.page(&observe::page(&observed))?,
        }
        return Ok(ExitCode::Pass);
    }
    let mut bytes = Vec::new();
    let findings = runtime.block_on(examine(&helper));
    match args.format {
        ListFormat::Json => bytes.extend(escaped(&format!("{:#}\n", findings.as_json())).bytes()),
        ListFormat::Human => page::write(&findings, &console.terminal_options(false), &mut bytes)?,
    }
    console.result(&bytes)?;
    Ok(if findings.tier.is_some() {
        ExitCode::Pass
    } else {
        ExitCode::Fail
    })
}

async fn examine(helper: &Path) -> DoctorFindings {
    let machine = probe::machine();
    let mut checks = Vec::new();
    let mut chosen: Option<Sandbox> = None;
    let mut notes = Vec::new();
    let mut python = None;
    for tier in SandboxConfig::new(helper.to_owned()).tiers {
        let tried = try_tier(helper, tier).await;
        checks.push(match &tried {
            Ok(_) => isolation::works(tier, chosen.is_none()),
            Err(reason) => isolation::fails(tier, reason, &machine, helper, chosen.is_some()),
        });
        let Ok(sandbox) = tried else { continue };
        if chosen.is_none() {
            python = Some(try_python(&sandbox).await);
            notes = sandbox.state().notes.clone();
            chosen = Some(sandbox);
        }
    }
    checks.push(isolation::landlock(&machine));
    let cgroup = chosen
        .as_ref()
        .and_then(|sandbox| sandbox.state().cgroup.clone());
    checks.push(isolation::cgroup(
        cgroup.map_or_else(|| probe::cgroup(helper), Ok),
    ));
    checks.extend(machine::limits(&machine));
    checks.push(programs::python(python));
    checks.extend(programs::languages());
    checks.extend(programs::described());
    checks.extend(programs::tools());
    checks.extend(configuration::checks());
    DoctorFindings {
        version: harness_version().to_owned(),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        kernel: machine.kernel,
        cpus: suite::cpus(),
        tier: chosen.map(|sandbox| sandbox.state().tier.name().to_owned()),
        notes,
        checks,
    }
}

/// Builds a cell of the tier and runs a job in it.
async fn try_tier(helper: &Path, tier: Tier) -> Result<Sandbox, String> {
    let config = SandboxConfig {
        workers: 1,
        tiers: vec![tier],
        ..SandboxConfig::new(helper.to_owned())
    };
    Sandbox::open(config).await.map_err(|error| match error {
        SandboxError::Unavailable { reasons, .. } => reasons
            .into_iter()
            .map(|(_, reason)| reason)
            .collect::<Vec<_>>()
            .join("; "),
        other => other.to_string(),
    })
}

/// Runs a program in Python; how it was run.
async fn try_python(sandbox: &Sandbox) -> Result<FoundPython, String> {
    let interpreter = sandbox.python().map_err(|error| error.to_string())?.clone();
    let script = ScriptJob {
        code: "print(1)".to_owned(),
        ..ScriptJob::default()
    };
    let result = sandbox
        .run_script(script)
        .await
        .map_err(|error| error.to_string())?;
    if result.ending != ProgramEnding::Exited(0) {
        return Err(format!(
            "{} can't run a program: {}",
            interpreter.path.display(),
            result.ending
        ));
    }
    let servers = sandbox.servers();
    let tier = sandbox.state().tier;
    let cold = match (servers.jobs, servers.given_up) {
        (0, Some(why)) => Some(why),
        (0, None) => Some(format!("the {tier} tier has no warm interpreters")),
        _ => None,
    };
    Ok(FoundPython { interpreter, cold })
}
