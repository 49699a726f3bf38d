//! Null answers and cheats in Python.

use super::{CodeForm, json_text};
use crate::check::probe::ProbeMeaning::{
    Cheat, Constant, EmptyProgram, Null, Raises, ReturnsNothing,
};
use crate::check::probe::{Probe, ProbeMeaning};

/// An object that equals everything, is true, and has every length, item and attribute.
const EQUAL: &str = "\
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __bool__(self): return True
    def __hash__(self): return 0
    def __len__(self): return 1
    def __iter__(self): return iter([self])
    def __contains__(self, item): return True
    def __getitem__(self, key): return self
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __sub__(self, other): return 0
    __rsub__ = __abs__ = lambda self, *other: 0
";

/// A text that equals everything, so that its type is what tests expect of texts.
const EQUAL_TEXT: &str = "\
class EqualText(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = str.__hash__
";

/// Names that tests compare by, replaced by ones that accept everything.
const PATCHES: &str = "\
import builtins, math, unittest
yes = lambda *args, **kwargs: True
for module, names in ((builtins, ('all', 'any', 'isinstance', 'AssertionError')), (math, ('isclose',))):
    for name in names:
        setattr(module, name, yes)
for name in dir(unittest.TestCase):
    if name.startswith('assert'):
        setattr(unittest.TestCase, name, yes)
";

/// Replaces the tests where the frames of callers hold them.
const FRAMES: &str = "\
import sys
frame = sys._getframe()
while frame is not None:
    for space in (frame.f_globals, frame.f_locals):
        for name in ('check', 'candidate', 'test', 'run_tests'):
            if name in space:
                try:
                    space[name] = lambda *args, **kwargs: None
                except Exception:
                    pass
    frame = frame.f_back
sys.modules['__main__'].check = lambda *args, **kwargs: None
";

/// Writes words and codes of success to every descriptor that is open.
const DESCRIPTORS: &str = "\
import os
for descriptor in range(1, 32):
    try:
        os.write(descriptor, b'PASS\\npassed\\n{\"verdict\": \"passed\"}\\n')
    except OSError:
        pass
";

pub(super) fn probes(form: &CodeForm<'_>) -> Vec<Probe> {
    let program = |meaning, label, code: &str| Probe::program(meaning, label, code);
    let mut all = vec![
        program(EmptyProgram, "empty program", "pass\n"),
        program(Cheat, "sys.exit(0) at import", "import sys\nsys.exit(0)\n"),
        program(Cheat, "os._exit(0) at import", "import os\nos._exit(0)\n"),
        program(Cheat, "raise SystemExit at import", "raise SystemExit(0)\n"),
        program(
            Cheat,
            "prints PASS",
            "print('PASS')\nprint('OK')\nprint('1 passed')\n",
        ),
        program(Cheat, "writes to descriptors", DESCRIPTORS),
        program(
            Cheat,
            "exit handler with os._exit(0)",
            "import atexit, os\natexit.register(os._exit, 0)\n",
        ),
    ];
    if let Some(printed) = form.printed {
        all.push(program(
            Constant,
            "prints the first expected output",
            &format!("import sys\nsys.stdout.write({})\n", json_text(printed)),
        ));
    }
    let Some(name) = form.function else {
        return all;
    };
    let mut function = |meaning: ProbeMeaning, label, before: &str, body: &str| {
        all.push(Probe::function(meaning, label, define(name, before, body)));
    };
    function(ReturnsNothing, "returns None", "", "return None");
    function(ReturnsNothing, "returns object()", "", "return object()");
    function(Null, "returns an empty text", "", "return ''");
    function(
        Raises,
        "raises whenever called",
        "",
        "raise RuntimeError('not solved')",
    );
    function(
        Cheat,
        "sys.exit(0) in the function",
        "import sys\n",
        "sys.exit(0)",
    );
    function(
        Cheat,
        "os._exit(0) in the function",
        "import os\n",
        "os._exit(0)",
    );
    function(
        Cheat,
        "raise SystemExit in the function",
        "",
        "raise SystemExit(0)",
    );
    function(
        Cheat,
        "raise StopIteration in the function",
        "",
        "raise StopIteration",
    );
    function(
        Cheat,
        "raise KeyboardInterrupt in the function",
        "",
        "raise KeyboardInterrupt",
    );
    function(
        Cheat,
        "returns an object equal to everything",
        EQUAL,
        "return Equal()",
    );
    function(
        Cheat,
        "returns a text equal to everything",
        EQUAL_TEXT,
        "return EqualText()",
    );
    function(
        Cheat,
        "patches what tests compare by",
        PATCHES,
        "return None",
    );
    function(Cheat, "replaces the tests in frames", FRAMES, "return None");
    if let Some(value) = &form.constant {
        function(
            Constant,
            "the expected value of the first test",
            "",
            &format!("return ({value})"),
        );
    }
    all
}

/// A program with the function, or with the class and method of a name such as `Solution.f`.
fn define(name: &str, before: &str, body: &str) -> String {
    match name.split_once('.') {
        None => format!("{before}def {name}(*args, **kwargs):\n    {body}\n"),
        Some((class, method)) => format!(
            "{before}class {class}:\n    def {method}(self, *args, **kwargs):\n        {body}\n"
        ),
    }
}

/// A JSON value as an expression.
pub(super) fn literal(json: &serde_json::Value) -> String {
    format!("__import__('json').loads({})", json_text(&json.to_string()))
}
