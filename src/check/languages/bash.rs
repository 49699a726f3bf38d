//! Null answers and cheats in bash, whose tests run in the shell of the code.

use super::CodeForm;
use crate::check::probe::Probe;
use crate::check::probe::ProbeMeaning::{Cheat, Constant, EmptyProgram, Raises, ReturnsNothing};

pub(super) fn probes(form: &CodeForm<'_>) -> Vec<Probe> {
    let program = |meaning, label, code: &str| Probe::program(meaning, label, code);
    let mut all = vec![
        program(EmptyProgram, "empty program", ":\n"),
        program(Cheat, "exit 0 at load", "exit 0\n"),
        program(Cheat, "exec true at load", "exec true\n"),
        program(
            Cheat,
            "traps that exit with 0",
            "trap 'exit 0' EXIT ERR DEBUG\n",
        ),
        program(
            Cheat,
            "replaces test and [",
            "[() { return 0; }\ntest() { return 0; }\nfalse() { return 0; }\n",
        ),
        program(
            Cheat,
            "every unknown command succeeds",
            "set +e\ncommand_not_found_handle() { return 0; }\n",
        ),
        program(Cheat, "prints PASS", "echo PASS\necho 'ok 1'\n"),
    ];
    if let Some(printed) = form.printed {
        all.push(program(
            Constant,
            "prints the first expected output",
            &format!("printf '%s' '{}'\n", printed.replace('\'', r"'\''")),
        ));
    }
    let Some(name) = form.function else {
        return all;
    };
    let mut function = |meaning, label, body: &str| {
        all.push(Probe::function(
            meaning,
            label,
            format!("{name}() {{ {body}; }}\n"),
        ));
    };
    function(ReturnsNothing, "a function that prints nothing", ":");
    function(Raises, "a function that fails", "return 1");
    function(Cheat, "exit 0 in the function", "exit 0");
    if let Some(value) = &form.constant {
        let value = value.replace('\'', r"'\''");
        function(
            Constant,
            "the expected value of the first test",
            &format!("echo '{value}'"),
        );
    }
    all
}
