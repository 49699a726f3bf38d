//! A case that code grades.

use std::time::Duration;

use eval_harness::internals::*;

pub fn case(code: CodeGrader) -> Case {
    Case {
        id: "c".into(),
        name: None,
        input: CaseInput::Prompt {
            text: String::new(),
            context: None,
        },
        context_told: false,
        grading: CaseGrading {
            python: None,
            graders: vec![Grader::of(GraderKind::Code(code))],
            combine: Combine::All,
            demands: None,
        },
        extract: vec![],
        samples: None,
        timeout: Duration::from_secs(10),
        retries: None,
        max_latency: None,
        target: None,
        expected: None,
        solution: None,
        solution_work: None,
        dataset_format: None,
        baseline: None,
        workspace: None,
        tags: vec![],
        difficulty: None,
        input_hash: Fingerprint::default(),
        grading_hash: Fingerprint::default(),
        data_hash: Fingerprint::default(),
        origin: String::new(),
    }
}
