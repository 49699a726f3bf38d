//! How a candidate ended, as a cause and a sentence.

use std::time::Duration;

use crate::model::{Cause, CodeLimits, Grade, GraderType, Outcome};
use eval_sandbox::{
    ProgramEnding, ProgramLimits, RaisedException, RunFailure, SandboxError, signal_name,
};

use crate::graders::show::in_reason;

/// A cause with its sentence.
pub(crate) type CauseReason = (Cause, String);

pub(crate) fn sandbox_limits(limits: &CodeLimits) -> ProgramLimits {
    ProgramLimits {
        wall: limits.wall,
        memory_mb: limits.memory_mb,
        output_bytes: limits.output_bytes,
        return_bytes: limits.return_mb_or_default().saturating_mul(1 << 20),
        ..ProgramLimits::default()
    }
}

/// A time as reports show it: milliseconds, to a hundredth.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 100.0
}

/// `limits` are those that a limit is reported with.
pub(crate) fn explain_failure(failure: &RunFailure, limits: &CodeLimits) -> CauseReason {
    match failure {
        RunFailure::SyntaxError { message, line } => {
            // Python's own text ends with the name that the sandbox gave the file.
            let told = line
                .and_then(|line| Some((message.strip_suffix(&format!(", line {line})"))?, line)));
            let (message, line) =
                match told.and_then(|(text, line)| Some((text.rsplit_once(" (")?.0, line))) {
                    Some((message, line)) => (message, Some(line)),
                    None => (message.as_str(), *line),
                };
            let line = line
                .map(|line| format!(" (line {line})"))
                .unwrap_or_default();
            (
                Cause::SyntaxError,
                format!("the code does not parse: {}{line}", in_reason(message)),
            )
        }
        RunFailure::LoadRaised(raised) => (
            Cause::Exception,
            format!("the code raised {} when it was loaded", exception(raised)),
        ),
        RunFailure::Exited { code: Some(code) } => (
            Cause::Exited,
            format!("the program ended with exit code {code} before its tests did"),
        ),
        RunFailure::Exited { code: None } => (
            Cause::Exited,
            "the program ended before its tests did".to_owned(),
        ),
        RunFailure::Ended(ending) => ending_of(ending, limits.wall, limits.memory_mb),
        RunFailure::ReturnLimit => {
            let most = limits.return_mb_or_default();
            (
                Cause::OutputLimit,
                format!(
                    "the returned value takes more than {most} MB, or is nested too deeply; if a correct answer is larger, \
                     raise `max_return_mb`"
                ),
            )
        }
        RunFailure::ReturnTotal { most_mb } => (
            Cause::OutputLimit,
            format!(
                "the returned values of all calls take more than {most_mb} MB in total; if correct answers do, raise \
                 `max_return_mb` or split the calls"
            ),
        ),
        RunFailure::Forged { evidence } => (
            Cause::Forged,
            format!(
                "the program tampered with the verdict: {}",
                in_reason(evidence)
            ),
        ),
    }
}

pub(crate) fn ending_of(ending: &ProgramEnding, wall: Duration, memory_mb: u64) -> CauseReason {
    match ending {
        ProgramEnding::Exited(code) => (
            Cause::Exited,
            format!("the program ended with exit code {code}"),
        ),
        ProgramEnding::Signaled(signal) => (
            Cause::Crashed,
            format!("the program was ended by {}", signal_name(*signal)),
        ),
        ProgramEnding::TimedOut => (
            Cause::Timeout,
            format!("the program did not end within {} s", wall.as_secs_f64()),
        ),
        ProgramEnding::MemoryLimit => (
            Cause::MemoryLimit,
            format!("the program used more than {memory_mb} MB of memory"),
        ),
        ProgramEnding::OutputLimit => (
            Cause::OutputLimit,
            "the program exceeded the output limit".to_owned(),
        ),
        ProgramEnding::DiskLimit => (
            Cause::OutputLimit,
            "the program exceeded the disk limit".to_owned(),
        ),
        ProgramEnding::Violation(what) => (
            Cause::SandboxViolation,
            format!(
                "the sandbox forbids what the program tried: {}",
                in_reason(what)
            ),
        ),
    }
}

/// `ValueError: bad value`, or the type alone.
pub(crate) fn exception(raised: &RaisedException) -> String {
    let message = in_reason(&raised.message);
    if message.is_empty() {
        raised.type_name.clone()
    } else {
        format!("{}: {message}", raised.type_name)
    }
}

/// A failed grade names the first system call that the sandbox refused the program; so does the
/// reason where the program did not live on.
pub(crate) fn with_refused_call(mut grade: Grade, call: Option<&str>) -> Grade {
    let Some(call) = call.filter(|_| grade.outcome == Outcome::Failed) else {
        return grade;
    };
    if matches!(
        grade.cause,
        Some(Cause::Exception | Cause::Crashed | Cause::Exited)
    ) {
        grade.reason = format!(
            "{} (the sandbox refuses the system call `{call}`)",
            grade.reason
        );
    }
    grade.with_detail("refused_call", call)
}

/// Nothing about the candidate: it could not be run.
pub(crate) fn not_run(method: &str, error: &SandboxError) -> Grade {
    let cause = match error {
        SandboxError::InterpreterMissing(_) | SandboxError::CannotStart { .. } => {
            Cause::ExecutorMissing
        }
        SandboxError::Unavailable { .. } | SandboxError::Lost(_) => Cause::SandboxUnavailable,
        SandboxError::BadRequest(_) | SandboxError::OutputUnwritten(_) => Cause::Harness,
    };
    Grade::errored(GraderType::Code, method, cause, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_call_is_named_where_a_program_failed() {
        let failed = |cause| Grade::failed(GraderType::Code, "m", cause, "it ended");
        let shown = |grade| {
            let grade = with_refused_call(grade, Some("io_setup"));
            let detail = grade
                .details
                .get("refused_call")
                .map_or("-".to_owned(), ToString::to_string);
            format!("{} {detail}", grade.reason)
        };
        let named = "it ended (the sandbox refuses the system call `io_setup`) \"io_setup\"";
        for cause in [Cause::Exception, Cause::Crashed, Cause::Exited] {
            assert_eq!(shown(failed(cause)), named);
        }
        assert_eq!(shown(failed(Cause::WrongAnswer)), "it ended \"io_setup\"");
        assert_eq!(shown(Grade::passed(GraderType::Code, "m")), " -");
        assert_eq!(
            with_refused_call(failed(Cause::Exited), None),
            failed(Cause::Exited)
        );
    }
}
