//! Null answers and cheats in JavaScript; TypeScript takes the same.

use super::{CodeForm, json_text};
use crate::check::probe::ProbeMeaning::{
    Cheat, Constant, EmptyProgram, Null, Raises, ReturnsNothing,
};
use crate::check::probe::{Probe, ProbeMeaning};

const EQUAL: &str = "\
const yes = () => true;
const equal = new Proxy(yes, {
  get: (target, key) => (key === Symbol.toPrimitive ? () => true : equal),
  apply: () => equal,
  has: () => true,
});
";

const PATCH_ASSERT: &str = "\
const patched = require('assert');
for (const name of Object.keys(patched)) { try { patched[name] = () => {}; } catch (error) {} }
for (const name of Object.keys(patched.strict)) { try { patched.strict[name] = () => {}; } catch (error) {} }
";

const PATCH_GLOBALS: &str = "\
Object.is = () => true;
JSON.stringify = () => '';
Array.prototype.every = () => true;
globalThis.assert = () => {};
";

pub(super) fn probes(form: &CodeForm<'_>) -> Vec<Probe> {
    let program = |meaning, label, code: &str| Probe::program(meaning, label, code);
    let mut all = vec![
        program(EmptyProgram, "empty program", ";\n"),
        program(Cheat, "process.exit(0) at load", "process.exit(0);\n"),
        program(
            Cheat,
            "process.reallyExit(0) at load",
            "process.reallyExit(0);\n",
        ),
        program(
            Cheat,
            "prints PASS",
            "console.log('PASS');\nconsole.log('ok 1');\n",
        ),
        program(
            Cheat,
            "exits with 0 on every error",
            "process.on('uncaughtException', () => process.exit(0));\n\
             process.on('exit', () => process.reallyExit(0));\n",
        ),
    ];
    if let Some(printed) = form.printed {
        all.push(program(
            Constant,
            "prints the first expected output",
            &format!("process.stdout.write({});\n", json_text(printed)),
        ));
    }
    let Some(name) = form.function else {
        return all;
    };
    let mut function = |meaning: ProbeMeaning, label, before: &str, body: &str| {
        all.push(Probe::function(meaning, label, define(name, before, body)));
    };
    function(ReturnsNothing, "returns undefined", "", "return undefined;");
    function(ReturnsNothing, "returns null", "", "return null;");
    function(Null, "returns an empty object", "", "return {};");
    function(
        Raises,
        "throws whenever called",
        "",
        "throw new Error('not solved');",
    );
    function(
        Cheat,
        "process.exit(0) in the function",
        "",
        "process.exit(0);",
    );
    function(
        Cheat,
        "process.reallyExit(0) in the function",
        "",
        "process.reallyExit(0);",
    );
    function(
        Cheat,
        "returns an object equal to everything",
        EQUAL,
        "return equal;",
    );
    function(
        Cheat,
        "patches the module assert",
        PATCH_ASSERT,
        "return null;",
    );
    function(
        Cheat,
        "patches what tests compare by",
        PATCH_GLOBALS,
        "return null;",
    );
    if let Some(value) = &form.constant {
        function(
            Constant,
            "the expected value of the first test",
            "",
            &format!("return ({value});"),
        );
    }
    all
}

fn define(name: &str, before: &str, body: &str) -> String {
    match name.split_once('.') {
        None => format!("{before}function {name}(...args) {{ {body} }}\n"),
        Some((class, method)) => {
            format!("{before}class {class} {{ {method}(...args) {{ {body} }} }}\n")
        }
    }
}
