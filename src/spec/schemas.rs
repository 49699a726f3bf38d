//! The schemas of all kinds of files, generated from the types.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use super::{
    BaselineFile, CalibrationFile, DefaultsFile, EvalShape, ExecutorsFile, GradersFile, PhaseFile,
    PricesFile, RecordedLine, ScoreBaselineFile, SuiteFile, ThresholdsFile, TriggerFile,
};

/// A kind of file that people write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SchemaKind {
    Suite,
    Eval,
    Graders,
    Executors,
    Prices,
    Thresholds,
    Baseline,
    Phase,
    Trigger,
    Recorded,
    Scores,
    Calibration,
    Defaults,
}

impl SchemaKind {
    pub const ALL: [SchemaKind; 13] = [
        SchemaKind::Suite,
        SchemaKind::Eval,
        SchemaKind::Graders,
        SchemaKind::Executors,
        SchemaKind::Prices,
        SchemaKind::Thresholds,
        SchemaKind::Baseline,
        SchemaKind::Phase,
        SchemaKind::Trigger,
        SchemaKind::Recorded,
        SchemaKind::Scores,
        SchemaKind::Calibration,
        SchemaKind::Defaults,
    ];

    /// The file's name below `schemas/` is `<name>.schema.json`.
    pub fn name(self) -> &'static str {
        match self {
            SchemaKind::Suite => "suite",
            SchemaKind::Eval => "eval",
            SchemaKind::Graders => "graders",
            SchemaKind::Executors => "executors",
            SchemaKind::Prices => "prices",
            SchemaKind::Thresholds => "thresholds",
            SchemaKind::Baseline => "baseline",
            SchemaKind::Phase => "phase",
            SchemaKind::Trigger => "trigger",
            SchemaKind::Recorded => "recorded",
            SchemaKind::Scores => "scores",
            SchemaKind::Calibration => "calibration",
            SchemaKind::Defaults => "defaults",
        }
    }
}

/// The schema in which every key has one spelling: what files are checked against after their
/// spellings are normalised.
pub fn canonical(kind: SchemaKind) -> Value {
    match kind {
        SchemaKind::Suite => schema_of::<SuiteFile>(),
        SchemaKind::Eval => schema_of::<EvalShape>(),
        SchemaKind::Graders => schema_of::<GradersFile>(),
        SchemaKind::Executors => schema_of::<ExecutorsFile>(),
        SchemaKind::Prices => schema_of::<PricesFile>(),
        SchemaKind::Thresholds => schema_of::<ThresholdsFile>(),
        SchemaKind::Baseline => schema_of::<BaselineFile>(),
        SchemaKind::Phase => schema_of::<PhaseFile>(),
        SchemaKind::Trigger => schema_of::<TriggerFile>(),
        SchemaKind::Recorded => schema_of::<RecordedLine>(),
        SchemaKind::Scores => schema_of::<ScoreBaselineFile>(),
        SchemaKind::Calibration => schema_of::<CalibrationFile>(),
        SchemaKind::Defaults => schema_of::<DefaultsFile>(),
    }
}

/// The schema of a file that people write, or of a part of it.
pub fn schema_of<T: JsonSchema>() -> Value {
    generated::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what this program writes: `run-<time>.json`, or a line of a journal.
pub fn written_schema_of<T: JsonSchema>() -> Value {
    generated::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generated<T: JsonSchema>(settings: SchemaSettings) -> Value {
    with_joined_lines(settings)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Settings by which the lines of each paragraph of a description are joined.
pub fn with_joined_lines(settings: SchemaSettings) -> SchemaSettings {
    settings.with_transform(RecursiveTransform(join_lines))
}

/// Joins the lines of each paragraph of a description: how a comment is wrapped in the source is
/// not part of the schema.
fn join_lines(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs: Vec<String> = text
            .split("\n\n")
            .map(|paragraph| paragraph.replace('\n', " "))
            .collect();
        *text = paragraphs.join("\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_itself_valid() {
        for kind in SchemaKind::ALL {
            let schema = canonical(kind);
            assert!(jsonschema::meta::is_valid(&schema), "{}", kind.name());
            jsonschema::validator_for(&schema).unwrap_or_else(|e| panic!("{}: {e}", kind.name()));
        }
    }
}
