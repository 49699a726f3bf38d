//! Files of samples as benchmarks write them, as JSON lines: lists of samples by task
//! (`{question_id, code_list}`, `{name, completions}`), folders of such files, and folders of
//! programs (`HumanEval_0/0.py`) or of workspaces (`CASE/0/`, `CASE/0.tar.gz`, `CASE.tar.gz`).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use eval_base::files::open_file;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use super::asked::RecordedCases;

/// Bytes of the beginning of a file in which a list of samples is looked for.
const BEGINNING: u64 = 4 << 20;

/// How records hold the samples of a task: the key of the list, the keys of the task's id, and the
/// key of a sample in a line.
struct ListLayout {
    list: &'static str,
    ids: [&'static str; 2],
    sample: &'static str,
}

const LAYOUTS: [ListLayout; 2] = [
    // The benchmark puts its imports before the code, as before any answer.
    ListLayout {
        list: "code_list",
        ids: ["question_id", "task_id"],
        sample: "output",
    },
    ListLayout {
        list: "completions",
        ids: ["name", "name"],
        sample: "completion",
    },
];

/// The lines of a file or a folder of another layout; `None` if it has the layout of recorded
/// outputs.
///
/// # Errors
/// When something can't be read, or has more than `most` bytes, which are read into memory.
pub(super) fn as_lines(
    path: &Path,
    asked: &RecordedCases,
    most: u64,
) -> io::Result<Option<Vec<u8>>> {
    let about = fs::metadata(path)?;
    if about.is_dir() {
        return of_folder(path, asked, most).map(Some);
    }
    if !about.is_file() {
        return Ok(None);
    }
    if is_packed(path) {
        let text = unpacked(path, most)?;
        return Ok(Some(of_lists(&text)?.unwrap_or(text)));
    }
    let mut beginning = Vec::new();
    open_file(path)?
        .take(BEGINNING)
        .read_to_end(&mut beginning)?;
    if !LAYOUTS.iter().any(|layout| layout.is_in(&beginning)) {
        return Ok(None);
    }
    if about.len() > most {
        let mut records = serde_json::Deserializer::from_slice(&beginning).into_iter::<Value>();
        let first = records.next().and_then(Result::ok);
        let layout = LAYOUTS.iter().find(|layout| {
            first
                .as_ref()
                .is_some_and(|first| first.get(layout.list).is_some())
        });
        return match layout {
            Some(layout) => Err(too_large(&format!("a file of `{}`", layout.list), most)),
            // An array, which is refused where recorded outputs are read, or another key's text.
            None => Ok(None),
        };
    }
    of_lists(&fs::read(path)?)
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "gz")
}

/// The content of a file, of at most `most` bytes.
fn unpacked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    let mut reader: Box<dyn io::Read> = match is_packed(path) {
        true => Box::new(MultiGzDecoder::new(file)),
        false => Box::new(file),
    };
    let mut text = Vec::new();
    reader.by_ref().take(most + 1).read_to_end(&mut text)?;
    if text.len() as u64 > most {
        return Err(invalid(format!("it has more than {most} bytes")));
    }
    Ok(text)
}

/// Of records with a list of samples, as an array or as lines; `None` if the first record is
/// something else.
fn of_lists(text: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let records: Vec<Value> = match serde_json::from_slice(text) {
        Ok(Value::Array(records)) => records,
        Ok(one) => vec![one],
        Err(_) => {
            let stream = serde_json::Deserializer::from_slice(text).into_iter();
            match stream.collect::<Result<_, _>>() {
                Ok(records) => records,
                Err(_) => return Ok(None),
            }
        }
    };
    let first = records.first();
    let layout = LAYOUTS.iter().find(|layout| {
        let is_output = |first: &Value| first.get("case").or(first.get("task_id")).is_some();
        first.is_some_and(|first| {
            first.get(layout.list).is_some() && (layout.list == "code_list" || !is_output(first))
        })
    });
    let Some(layout) = layout else {
        return Ok(None);
    };
    let mut lines = Vec::new();
    for (number, record) in (1..).zip(&records) {
        layout
            .push_samples(record, &mut lines)
            .map_err(|what| invalid(format!("record {number}: {what}")))?;
    }
    Ok(Some(lines))
}

impl ListLayout {
    /// Whether a text may have such a list.
    fn is_in(&self, text: &[u8]) -> bool {
        let key = format!("\"{}\"", self.list);
        text.windows(key.len()).any(|part| part == key.as_bytes())
    }

    fn push_samples(&self, record: &Value, lines: &mut Vec<u8>) -> Result<(), String> {
        let ListLayout { list, ids, sample } = self;
        let id = ids.iter().find_map(|key| record.get(*key));
        let id = id.ok_or_else(|| format!("`{}` is missing", ids[0]))?;
        let samples = record
            .get(*list)
            .and_then(Value::as_array)
            .ok_or_else(|| format!("`{list}` is not a list"))?;
        for (number, code) in samples.iter().enumerate() {
            let code = code
                .as_str()
                .ok_or_else(|| format!("element {} of `{list}` is not a text", number + 1))?;
            let line = json!({"task_id": id, "sample": number, (*sample): code});
            push(lines, &line);
        }
        Ok(())
    }
}

fn too_large(what: &str, most: u64) -> io::Error {
    let mebibytes = most >> 20;
    let why = format!(
        "{what} is read into memory and may have up to {mebibytes} MiB; write one JSON object per line instead \
         (`{{\"case\": ..., \"sample\": 0, \"solution\": ...}}`)"
    );
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Of a folder with a folder for each task, whose files are samples in the order of their numbers, or
/// with a file of `completions` for each task.
fn of_folder(folder: &Path, asked: &RecordedCases, most: u64) -> io::Result<Vec<u8>> {
    let mut ids: HashMap<String, &str> = HashMap::new();
    for id in asked.cases().iter() {
        let name = id.replace('/', "_");
        if let Some(other) = ids.insert(name, id) {
            let (other, id) = (asked.shown(other), asked.shown(id));
            return Err(invalid(format!(
                "the cases `{other}` and `{id}` would have the same folder"
            )));
        }
    }
    // Folders and files have the names of cases.
    let shown = |path: &Path| match asked.private {
        true => "(private)".to_owned(),
        false => path.display().to_string(),
    };
    let mut tasks = names_in(folder)?;
    tasks.sort();
    let mut lines = Vec::new();
    for task in tasks {
        let inside = folder.join(&task);
        if !inside.is_dir() {
            if task.ends_with(".json") || task.ends_with(".json.gz") {
                push_completions(&inside, most, &mut lines)
                    .map_err(|error| invalid(format!("{}: {error}", shown(&inside))))?;
                if lines.len() as u64 > most {
                    return Err(too_large("a folder of samples", most));
                }
            } else if let Some(name) = archive_stem(&task) {
                let id = ids.get(name).copied().unwrap_or(name);
                push(
                    &mut lines,
                    &json!({"task_id": id, "sample": 0, "workspace": task}),
                );
            }
            continue;
        }
        let id = ids.get(task.as_str()).copied().unwrap_or(&task);
        let mut files = names_in(&inside)?;
        files.sort_by_key(|name| (number_of(name), name.clone()));
        let mut samples = HashSet::new();
        for (place, file) in files.iter().enumerate() {
            let path = inside.join(file);
            let number = number_of(file);
            // A case without a workspace may have folders of other things.
            let known = ids.get(task.as_str());
            let takes_folders = known.is_none_or(|id| asked.in_workspaces.contains(*id));
            let is_tree = path.is_dir() && takes_folders || archive_stem(file).is_some();
            if let (true, Some(sample)) = (is_tree, number) {
                check_first(&mut samples, sample, &shown(&path))?;
                let tree = format!("{task}/{file}");
                push(
                    &mut lines,
                    &json!({"task_id": id, "sample": sample, "workspace": tree}),
                );
                continue;
            }
            let Some(about) = fs::metadata(&path).ok().filter(fs::Metadata::is_file) else {
                continue;
            };
            if (lines.len() as u64).saturating_add(about.len()) > most {
                return Err(too_large("a folder of samples", most));
            }
            let code = fs::read_to_string(&path).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", shown(&path)))
            })?;
            let sample = number.unwrap_or(place as u64);
            check_first(&mut samples, sample, &shown(&path))?;
            push(
                &mut lines,
                &json!({"task_id": id, "sample": sample, "solution": code}),
            );
        }
    }
    Ok(lines)
}

fn check_first(samples: &mut HashSet<u64>, sample: u64, path: &str) -> io::Result<()> {
    match samples.insert(sample) {
        true => Ok(()),
        false => Err(invalid(format!(
            "{path}: another file is sample {sample}, too"
        ))),
    }
}

/// The name of an archive of a workspace without its ending.
fn archive_stem(name: &str) -> Option<&str> {
    let endings = [".tar", ".tar.gz", ".tgz"];
    endings.iter().find_map(|ending| name.strip_suffix(ending))
}

/// Of a file of a folder. One without `completions` is something else, such as the results that the
/// benchmark writes beside them.
fn push_completions(path: &Path, most: u64, lines: &mut Vec<u8>) -> io::Result<()> {
    let text = unpacked(path, most)?;
    if !LAYOUTS.iter().any(|layout| layout.is_in(&text)) {
        return Ok(());
    }
    match of_lists(&text)? {
        Some(more) => lines.extend(more),
        None => return Err(invalid("it is not JSON with `completions`".to_owned())),
    }
    Ok(())
}

/// The number that a file is called, without its ending.
fn number_of(name: &str) -> Option<u64> {
    name.split('.').next()?.parse().ok()
}

/// Names in a folder, without hidden ones.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn push(lines: &mut Vec<u8>, line: &Value) {
    lines.extend_from_slice(line.to_string().as_bytes());
    lines.push(b'\n');
}
