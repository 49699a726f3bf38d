//! Skills: the command line that the suite gives once, filled for each eval.

use std::path::Path;

use minijinja::Value as Jinja;
use serde_json::Value;

use super::check_program;
use crate::load::depends;
use crate::load::problem::{Code, Problem};
use crate::load::reach::{InheritedKind, SparePart};
use crate::load::scope::{SuiteDesk, seconds};
use crate::load::template::{TemplateEngine, is_template, to_jinja};
use crate::load::tree::{Node, NodeValue};
use crate::model::{CommandTarget, SkillTarget};
use crate::spec::SkillSpec;
use crate::spec::words::ThoughtsMode;

/// Names that are known when a case is asked.
const LATE: [&str; 4] = ["input", "prompt", "messages", "context"];

/// Names that a part may use beside those.
const BESIDE: [&str; 3] = ["skill_name", "parameters", "input_file"];

/// A skill with everything in place. What the spec leaves out is taken from what the suite says of
/// skills.
pub(super) fn resolve(
    desk: &mut SuiteDesk,
    spec: &SkillSpec,
    node: &Node,
    dir: &Path,
) -> Option<SkillTarget> {
    desk.require(&SparePart::Inherited(InheritedKind::Skill))?;
    let (base, base_node) = desk
        .suite
        .skill
        .clone()
        .unwrap_or_else(|| (SkillSpec::default(), node.clone()));
    let name = spec.skill_name.clone().or_else(|| base.skill_name.clone());
    let mut parameters = base.parameters.clone();
    parameters.extend(spec.parameters.clone());
    let (command, home) = match spec.command.is_empty() {
        true => (&base.command, &base_node),
        false => (&spec.command, node),
    };
    if command.is_empty() && !desk.suite.shelf.open {
        desk.push_lenient(
            Problem::error(Code::BadCommand, node.span, "no command for skills is set").hint(
                "add to the suite: `skill: {command: [\"agent\", \"-p\", \"/{{ skill_name }} {{ parameters | tojson }}\"]}`",
            ),
        );
    }
    if command.is_empty() && !desk.suite.lenient {
        return None;
    }
    let (mut argv, mut late) = (command.clone(), Vec::new());
    if let (Some(name), Some(NodeValue::Seq(parts))) =
        (&name, home.get("command").map(|node| &node.value))
    {
        (argv, late) = fill(desk, parts, name, &parameters)?;
    }
    if !argv.is_empty() {
        check_program(desk, &argv, home.locate("/command"))?;
    }
    let env = if spec.env.is_empty() {
        base.env
    } else {
        spec.env.clone()
    };
    let timeout = spec.timeout_seconds.or(base.timeout_seconds).map(seconds);
    let (list, home, dir) = match &spec.depends_on {
        Some(list) => (Some(list), node, dir.to_path_buf()),
        None => (base.depends_on.as_ref(), &base_node, desk.suite.dir.clone()),
    };
    let depends_on = depends::declared(desk, list, home.get("depends_on"), &dir);
    let command = CommandTarget {
        argv,
        dir: desk.suite.dir.clone(),
        env_file: desk.env_file_for(&env),
        env,
        timeout: if desk.suite.timeout.is_some() {
            None
        } else {
            timeout
        },
        on_error: spec.on_error.or(base.on_error).unwrap_or_default(),
        output: spec.output.or(base.output).unwrap_or_default(),
        sandbox: false,
        isolation: spec.isolation.or(base.isolation),
        separate_thoughts: spec.thoughts.or(base.thoughts) == Some(ThoughtsMode::Separate),
        depends_on,
    };
    Some(SkillTarget {
        skill_name: name,
        parameters,
        command,
        late,
    })
}

type SkillParameters = std::collections::BTreeMap<String, Value>;

/// The words of the command line, and the places of those that are still templates because they
/// hold the input.
fn fill(
    desk: &mut SuiteDesk,
    parts: &[Node],
    name: &str,
    parameters: &SkillParameters,
) -> Option<(Vec<String>, Vec<usize>)> {
    let engine = TemplateEngine::new(&desk.suite.templates);
    let given = Jinja::from_pairs(
        parameters
            .iter()
            .map(|(key, value)| (key.as_str(), to_jinja(value))),
    );
    let extra = [
        ("skill_name", Jinja::from(name)),
        ("parameters", given),
        ("input_file", Jinja::from("{{ input_file }}")),
    ];
    let (mut argv, mut late) = (Vec::new(), Vec::new());
    let errors = desk.problems.error_count();
    for (place, part) in parts.iter().enumerate() {
        let text = part.as_text().unwrap_or_default().to_owned();
        let names = if is_template(&text) {
            engine.names(&text)
        } else {
            Default::default()
        };
        if !names.iter().any(|name| LATE.contains(&name.as_str())) {
            let mut part = part.clone();
            engine.render(&mut part, &extra, desk.sources, desk.problems);
            argv.push(part.as_text().unwrap_or_default().to_owned());
            continue;
        }
        let known = |name: &str| LATE.contains(&name) || BESIDE.contains(&name);
        let problem = match names.iter().find(|name| !known(name)) {
            _ if place == 0 => Some((
                "the program can't be taken from the input".to_owned(),
                "write the name of the program",
            )),
            Some(other) => Some((
                format!("a part that uses the input can't also use `{other}`"),
                "put it into a separate part, or pass it on under `parameters:`",
            )),
            None => None,
        };
        if let Some((message, hint)) = problem {
            desk.push(Problem::error(Code::BadCommand, part.span, message).hint(hint));
        }
        late.push(place);
        argv.push(text);
    }
    (desk.problems.error_count() == errors).then_some((argv, late))
}
