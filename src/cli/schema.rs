//! `eval-harness schema`: what is generated from the types, written or checked. The pages of this
//! program's own `docs/` are generated beside the schemas, in the folder of its own source only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::args::SchemaArgs;
use super::console::Console;
use super::{CliFailure, CliResult, reference};
use crate::gate::ExitCode;
use crate::load::{Code, published_schema};
use crate::model::{
    CalibrationReport, CheckReport, Comparisons, Event, PhaseReportFile, PowerReport,
    ProblemReport, ReportFile,
};
use crate::ratings::RatingLine;
use crate::review_page::api_document;
use crate::spec::{SchemaKind, canonical, written_schema_of};

pub fn schema(console: &Console, args: &SchemaArgs) -> CliResult {
    let mut different = Vec::new();
    let mut files = schemas(&args.output);
    if is_own_source(Path::new(".")) {
        files.extend(pages());
    }
    for (path, text) in files {
        let present = std::fs::read_to_string(&path).ok();
        if present.as_deref() == Some(text.as_str()) {
            continue;
        }
        if !args.check {
            let write = |path: &PathBuf| {
                std::fs::create_dir_all(path.parent().unwrap_or(&args.output))?;
                std::fs::write(path, &text)
            };
            write(&path)
                .map_err(|error| CliFailure::wrong(format!("{}: {error}", path.display())))?;
            console.note(&format!("wrote {}", path.display()));
        }
        different.push(path);
    }
    if args.check && !different.is_empty() {
        let names: Vec<String> = different
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(CliFailure {
            code: ExitCode::Fail,
            message: format!("these files differ from the types: {}", names.join(", ")),
            hint: Some("run `eval-harness schema` and commit the files".to_owned()),
        });
    }
    Ok(ExitCode::Pass)
}

/// True when a folder holds the source that this program was built from: this very file. A project
/// of a user, whatever it is called and whatever it keeps in `docs/`, does not.
fn is_own_source(folder: &Path) -> bool {
    let source = std::fs::read(folder.join("src/cli/schema.rs"));
    source.is_ok_and(|source| source == include_bytes!("schema.rs"))
}

/// Every schema, in its folder.
fn schemas(folder: &Path) -> Vec<(PathBuf, String)> {
    SchemaKind::ALL
        .iter()
        .map(|kind| (kind.name(), published_schema(*kind)))
        .chain([
            ("report", written_schema_of::<ReportFile>()),
            ("phase-report", written_schema_of::<PhaseReportFile>()),
            ("comparison", written_schema_of::<Comparisons>()),
            ("power", written_schema_of::<PowerReport>()),
            (
                "calibration-report",
                written_schema_of::<CalibrationReport>(),
            ),
            ("check", written_schema_of::<CheckReport>()),
            ("problems", written_schema_of::<ProblemReport>()),
            ("journal", written_schema_of::<Event>()),
            ("rating", written_schema_of::<RatingLine>()),
        ])
        .map(|(name, schema)| {
            (
                folder.join(format!("{name}.schema.json")),
                format!("{schema:#}\n"),
            )
        })
        .chain([(
            folder.join("review.openapi.json"),
            format!("{:#}\n", api_document()),
        )])
        .collect()
}

/// The pages of `docs/` that are made from the types.
fn pages() -> [(PathBuf, String); 2] {
    let canonical_schemas: BTreeMap<&str, Value> = SchemaKind::ALL
        .iter()
        .map(|kind| (kind.name(), canonical(*kind)))
        .collect();
    let codes: Vec<reference::CodeRow> = Code::ALL
        .iter()
        .map(|code| (code.id(), code.slug(), code.explanation()))
        .collect();
    [
        (
            PathBuf::from("docs/formats.md"),
            reference::formats_markdown(&canonical_schemas),
        ),
        (
            PathBuf::from("docs/validation-codes.md"),
            reference::codes_markdown(&codes),
        ),
    ]
}
