//! Which texts of an eval are templates: what is given to targets and judges, what is expected of
//! them, and the workspace.
//!
//! Not the known-good outputs of regressions, nor structures (there `{{any_uuid}}` is a matcher),
//! nor test code and the values of function calls, in which braces are data; nor the `case:` of a
//! dataset, which each row fills.

use minijinja::Value as Jinja;

use super::kinds::{DocumentPart, parts};
use super::problem::{Problem, Problems};
use super::reach::{FilterReach, MissingValues, SparePart};
use super::source::SourceFiles;
use super::template::{TemplateEngine, has_template, is_template, to_jinja};
use super::tree::{Node, NodeValue};

/// What a command may name that is only known when it runs.
const AT_RUN: &str = "input_file";
const AT_RUN_PLACEHOLDER: &str = "{{ input_file }}";
/// Of the program that an HTTP target starts.
const PORT_PLACEHOLDER: &str = "{{ port }}";
/// What the command of tests may name, and its environment.
const OF_TESTS: [(&str, &str); 2] = [("results", "{{ results }}"), ("junit", "{{ junit }}")];
/// Names that a skill's command line is filled with: some when it is known which skill, the rest
/// when it runs.
const OF_SKILLS: [&str; 7] = [
    "skill_name",
    "parameters",
    "input",
    "prompt",
    "messages",
    "context",
    "input_file",
];

/// Names that a request of an HTTP target is filled with when it is made.
pub(super) const OF_CALLS: [&str; 4] = ["prompt", "messages", "context", "input"];

/// Names that a request of a model behind an API of one's own is filled with when it is made.
pub(super) const OF_MODELS: [&str; 10] = [
    "prompt",
    "messages",
    "system",
    "model",
    "temperature",
    "top_p",
    "max_tokens",
    "stop",
    "seed",
    "json_schema",
];

pub(super) struct RenderPass<'a> {
    pub engine: &'a TemplateEngine<'a>,
    pub sources: &'a SourceFiles,
    pub problems: &'a mut Problems,
}

impl RenderPass<'_> {
    /// Every part of an eval document. Of one that no filter selects it does not matter what it
    /// lacks.
    pub fn evals(&mut self, document: &mut Node, reach: Option<&FilterReach>) {
        for part in parts(document) {
            match reach.is_none_or(|reach| reach.can_select(&part)) {
                true => self.part(part),
                false => drop(self.lenient(|pass| pass.part(part))),
            }
        }
    }

    /// Renders what this run does not use: what it lacks is returned, not reported.
    fn lenient(&mut self, render: impl FnOnce(&mut RenderPass<'_>)) -> Vec<Problem> {
        let mut found = Problems::new();
        render(&mut RenderPass {
            engine: self.engine,
            sources: self.sources,
            problems: &mut found,
        });
        self.problems.keep_faults(found)
    }

    /// Renders what this run may not use: what it lacks is noted, for when it is used.
    pub fn spare(
        &mut self,
        part: SparePart,
        missing: &mut MissingValues,
        render: impl FnOnce(&mut RenderPass<'_>),
    ) {
        let lacks = self.lenient(render);
        if !lacks.is_empty() {
            missing.insert(part, lacks);
        }
    }

    fn part(&mut self, part: DocumentPart<'_>) {
        match part {
            DocumentPart::Capability(case) => self.case(case),
            DocumentPart::Regression(node) | DocumentPart::Document(node) => self.regression(node),
            DocumentPart::File(node) => {
                self.graders(node);
                self.workspace(node);
                let cases = node.seq_mut("test_cases");
                cases.iter_mut().for_each(|case| self.case(case));
            }
        }
    }

    fn text(&mut self, node: &mut Node, extra: &[(&str, Jinja)]) {
        self.engine.render(node, extra, self.sources, self.problems);
    }

    fn case(&mut self, case: &mut Node) {
        if let Some(input) = case.get_mut("input") {
            self.input(input);
        }
        if let Some(expected) = case.get_mut("expected") {
            let kind = expected.get("type").and_then(Node::as_text);
            if !matches!(kind, Some("structural" | "functional")) {
                self.text(expected, &[]);
            }
        }
        self.workspace(case);
        self.graders(case);
    }

    /// The context is filled first, the rest may read it.
    fn input(&mut self, input: &mut Node) {
        if !has_template(input) {
            return;
        }
        if input.as_map().is_none() {
            return self.text(input, &[]);
        }
        let mut extra = Vec::new();
        if let Some(context) = input.get_mut("context") {
            self.text(context, &[]);
            extra.push(("context", to_jinja(&context.to_json())));
        }
        if let NodeValue::Map(entries) = &mut input.value {
            for (_, value) in entries
                .iter_mut()
                .filter(|(key, _)| &*key.name != "context")
            {
                self.text(value, &extra);
            }
        }
    }

    fn regression(&mut self, node: &mut Node) {
        if let Some(current) = node.get_mut("current") {
            if let Some(input) = current.get_mut("input") {
                self.input(input);
            }
            if let Some(execution) = current.get_mut("execution") {
                self.target(execution);
            }
        }
        self.workspace(node);
        self.graders(node);
    }

    /// The workspace that a suite, an eval or a case may have. What files contain that it names is
    /// not rendered.
    pub fn workspace(&mut self, holder: &mut Node) {
        if let Some(workspace) = holder.get_mut("workspace") {
            self.text(workspace, &[]);
        }
    }

    /// Judges' addresses, the commands of the author's own graders, and what outputs are compared
    /// with.
    fn graders(&mut self, case: &mut Node) {
        if let Some(grader) = case.get_mut("grader") {
            self.grader(grader);
        }
        let several = case.seq_mut("graders");
        several.iter_mut().for_each(|grader| self.grader(grader));
    }

    pub fn grader(&mut self, grader: &mut Node) {
        let is_judge = grader.get("type").and_then(Node::as_text) == Some("model");
        if let Some(config) = grader.get_mut("config").filter(|_| is_judge) {
            return self.model(config);
        }
        let Some(config) = grader.get_mut("config") else {
            return;
        };
        // A value of these may hold matchers such as `{{any_uuid}}`, or the text of a program.
        let literal = config
            .get("method")
            .and_then(Node::as_text)
            .is_none_or(|method| {
                matches!(
                    method,
                    "structural_match" | "json" | "function_output" | "code_execution"
                )
            });
        let compared = ["must_include", "must_not_include", "pattern"];
        for key in compared.into_iter().chain((!literal).then_some("value")) {
            if let Some(node) = config.get_mut(key) {
                self.text(node, &[]);
            }
        }
        let is_of_tests = config.get("method").and_then(Node::as_text) == Some("workspace_tests");
        let filled: &[(&str, &str)] = match is_of_tests {
            true => &OF_TESTS,
            false => &[(AT_RUN, AT_RUN_PLACEHOLDER)],
        };
        let filled = filled
            .iter()
            .map(|(name, text)| (*name, Jinja::from(*text)));
        let filled: Vec<_> = filled.collect();
        for key in ["command"].into_iter().chain(is_of_tests.then_some("env")) {
            if let Some(node) = config.get_mut(key) {
                self.text(node, &filled);
            }
        }
    }

    /// Texts of which only those with `{{` are templates.
    fn prose(&mut self, node: &mut Node) {
        match &mut node.value {
            NodeValue::Text(text) if text.contains("{{") => self.text(node, &[]),
            NodeValue::Seq(items) => items.iter_mut().for_each(|item| self.prose(item)),
            NodeValue::Map(entries) => entries.iter_mut().for_each(|(_, value)| self.prose(value)),
            _ => {}
        }
    }

    /// Rubrics of a graders document.
    pub fn rubrics(&mut self, rubrics: &mut Node) {
        self.prose(rubrics);
    }

    /// A target: all of its texts, except what is only known when it runs.
    pub fn target(&mut self, target: &mut Node) {
        let kind = target
            .get("type")
            .and_then(Node::as_text)
            .map(str::to_owned);
        if kind.as_deref() == Some("skill") {
            return self.skill(target);
        }
        if kind.as_deref() == Some("model") {
            return self.model(target);
        }
        let http = kind.as_deref() == Some("http");
        let idle = self.engine.scope.idle;
        let filled = OF_CALLS.map(|name| (name, Jinja::from(format!("{{{{ {name} }}}}"))));
        let NodeValue::Map(entries) = &mut target.value else {
            return;
        };
        for (key, value) in entries {
            match &*key.name {
                "endpoint" | "body" if http => self.text(value, &filled),
                "serve" if http => self.text(value, &[("port", Jinja::from(PORT_PLACEHOLDER))]),
                "command" => self.text(value, &[(AT_RUN, Jinja::from(AT_RUN_PLACEHOLDER))]),
                // HTTP targets are called also where the answers of models are stored.
                "headers" => self.headers(value, idle),
                _ => self.text(value, &[]),
            }
        }
    }

    /// True when a model is not called: its answers are recorded or cached.
    fn are_answers_stored(&self, model: &Node) -> bool {
        self.engine.scope.keyless || model.get("replay").is_some()
    }

    /// Headers hold keys: where they are not sent, environment variables that are not set are not
    /// needed.
    fn headers(&mut self, headers: &mut Node, unsent: bool) {
        if !unsent {
            return self.text(headers, &[]);
        }
        let NodeValue::Map(entries) = &mut headers.value else {
            return self.text(headers, &[]);
        };
        for (_, value) in entries {
            if !value
                .as_text()
                .is_some_and(|text| self.engine.lacks_only_environment(text, &[]))
            {
                self.text(value, &[]);
            }
        }
    }

    /// A model that is asked or that judges. What is only known at the call stays; a prompt of a
    /// judge is filled then, and examples are data. Of a rubric, in which braces may well be JSON,
    /// only `{{` begins a template.
    pub fn model(&mut self, node: &mut Node) {
        let stored = self.are_answers_stored(node);
        let filled = OF_MODELS.map(|name| (name, Jinja::from(format!("{{{{ {name} }}}}"))));
        let NodeValue::Map(entries) = &mut node.value else {
            return;
        };
        for (key, value) in entries {
            match &*key.name {
                "request" => self.text(value, &filled),
                "headers" => self.headers(value, stored),
                "json_schema" | "stop" | "prompt" | "examples" => {}
                "rubric" | "criteria" => self.prose(value),
                _ => self.text(value, &[]),
            }
        }
    }

    /// How skills are run; the command line is filled when it is known which skill.
    pub fn skill(&mut self, skill: &mut Node) {
        let NodeValue::Map(entries) = &mut skill.value else {
            return;
        };
        for (key, value) in entries {
            match &*key.name {
                "command" => self.skill_command(value),
                _ => self.text(value, &[]),
            }
        }
    }

    /// Paths that the sandbox is given.
    pub fn sandbox(&mut self, sandbox: &mut Node) {
        for key in ["python", "readable"] {
            if let Some(node) = sandbox.get_mut(key) {
                self.text(node, &[]);
            }
        }
    }

    fn skill_command(&mut self, command: &Node) {
        let NodeValue::Seq(parts) = &command.value else {
            return;
        };
        for part in parts {
            let Some(text) = part.as_text().filter(|t| is_template(t)).map(str::to_owned) else {
                continue;
            };
            // Filled here already, what a variable holds would be taken for a template later.
            self.engine
                .check(&text, part.span, &OF_SKILLS, self.sources, self.problems);
        }
    }
}
