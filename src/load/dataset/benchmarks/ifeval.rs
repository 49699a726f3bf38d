//! IFEval: prompts with instructions that code can verify.

use serde_json::{Map, Value, json};

use super::fields::{Record, text, texts};
use super::{BenchmarkFormat, BenchmarkTask};
use crate::graders::{Instruction, InstructionList};
use crate::model::CodeGrader;

#[derive(Debug)]
pub(super) struct IfEval;

impl BenchmarkFormat for IfEval {
    fn task(&self, record: &Record, index: usize) -> Result<BenchmarkTask, String> {
        let prompt = text(record, &["prompt"])?;
        let id = match record.get("key") {
            Some(Value::String(key)) if !key.is_empty() => key.clone(),
            Some(Value::Number(key)) => key.to_string(),
            Some(_) => return Err("`key` is neither a text nor a number".to_owned()),
            None => index.to_string(),
        };
        let ids = texts(record, "instruction_id_list")?;
        if ids.is_empty() {
            return Err("`instruction_id_list` is absent or empty".to_owned());
        }
        let kwargs = record
            .get("kwargs")
            .and_then(Value::as_array)
            .filter(|kwargs| kwargs.len() == ids.len())
            .ok_or_else(|| {
                format!(
                    "`kwargs` is not a list of {} objects, one for each element of `instruction_id_list`",
                    ids.len()
                )
            })?;
        let none = Map::new();
        let instructions = ids
            .iter()
            .zip(kwargs)
            .map(|(id, kwargs)| match kwargs {
                Value::Object(kwargs) => Instruction::of(id, kwargs),
                Value::Null => Instruction::of(id, &none),
                _ => Err(format!("`kwargs` of `{id}` is not an object")),
            })
            .collect::<Result<Vec<Instruction>, String>>()?;
        let mut tags: Vec<String> = Vec::new();
        for id in &ids {
            let tag = format!("instruction:{id}");
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        Ok(BenchmarkTask {
            metrics: Vec::new(),
            context: json!({ "instruction_id_list": ids, "kwargs": kwargs }),
            id,
            name: None,
            prompt: prompt.to_owned(),
            extract: Vec::new(),
            graders: vec![CodeGrader::Instructions(InstructionList { instructions })],
            solution: None,
            tags,
        })
    }
}
