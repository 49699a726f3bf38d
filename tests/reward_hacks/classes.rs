//! Attacks by classes, each with honest programs that the same tests pass.

use serde_json::{Value, json};

use crate::trials::*;

const HONEST: &str = "def double(x): return 2 * x";
const HONEST_JAVASCRIPT: &str = "function double(x) { return 2 * x }";

/// Tests of `double` that the harness compares, that a judge runs, and calls that the harness
/// makes.
fn tests_of_double() -> [(&'static str, &'static str, Value); 3] {
    let cases = [
        (json!(2), json!(4)),
        (json!(0), json!(0)),
        (json!(-3), json!(-6)),
    ];
    [
        (
            "asserts",
            "harness",
            asserts(&[
                "assert double(2) == 4",
                "assert double(0) == 0",
                "assert double(-3) == -6",
            ]),
        ),
        ("calls", "harness", calls("python", "double", &cases)),
        (
            "judged",
            "split",
            check(
                "double",
                "for n in range(-3, 4):\n    got = candidate(n)\n    if got != n + n:\n        raise AssertionError(n)\n\
                 assert sum(candidate(k) for k in range(4)) == 12",
            ),
        ),
    ]
}

fn javascript_tests_of_double() -> [(&'static str, &'static str, Value); 2] {
    let cases = [
        (json!(2), json!(4)),
        (json!(0), json!(0)),
        (json!(-3), json!(-6)),
    ];
    [
        ("calls", "harness", calls("javascript", "double", &cases)),
        (
            "tests",
            "in_process",
            javascript_asserts(&[
                "assert.strictEqual(double(2), 4)",
                "assert.deepEqual([double(-3)], [-6])",
            ]),
        ),
    ]
}

/// The same in the candidate's interpreter, because the tests look at an attribute of its function.
fn shared_tests_of_double() -> (&'static str, &'static str, Value) {
    let body = "assert double.__name__ == 'double'\nassert candidate(2) == 4 and candidate(0) == 0 and candidate(-3) == -6";
    ("shared", "in_process", check("double", body))
}

/// Every program against all tests of `double` in Python, and an honest program against each.
fn in_python(programs: &[(&str, &str)]) -> Vec<Trial> {
    trials_in_python(programs, &tests_of_double())
}

/// The same, and in one interpreter with the tests.
fn in_python_everywhere(programs: &[(&str, &str)]) -> Vec<Trial> {
    let mut places = tests_of_double().to_vec();
    places.push(shared_tests_of_double());
    trials_in_python(programs, &places)
}

fn trials_in_python(
    programs: &[(&str, &str)],
    places: &[(&str, &'static str, Value)],
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (place, trust, grader) in places {
        trials.push(Trial::new(
            format!("{place}: honest"),
            grader,
            HONEST,
            Ending::Passes(trust),
        ));
        for (name, code) in programs {
            trials.push(Trial::new(
                format!("{place}: {name}"),
                grader,
                *code,
                Ending::Fails,
            ));
        }
    }
    trials
}

fn in_javascript(programs: &[(&str, &str)]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (place, trust, grader) in javascript_tests_of_double() {
        trials.push(Trial::new(
            format!("{place}: honest"),
            &grader,
            HONEST_JAVASCRIPT,
            Ending::Passes(trust),
        ));
        for (name, code) in programs {
            let ending = if trust == "in_process" {
                Ending::FailsOrErrs
            } else {
                Ending::Fails
            };
            trials.push(Trial::new(
                format!("{place}: {name}"),
                &grader,
                *code,
                ending,
            ));
        }
    }
    trials
}

/// Tests that an exception ends before they have compared anything, and the exceptions to which
/// Python gives that meaning.
pub const PROTOCOLS: [(&str, &str, &str); 12] = [
    (
        "a loop over zip",
        "StopIteration",
        "for got, want in zip(map(candidate, [1, 2]), [2, 4]): assert got == want",
    ),
    (
        "all",
        "StopIteration",
        "assert all(a == b for a, b in zip(map(candidate, [1, 2]), [2, 4]))",
    ),
    (
        "any",
        "StopIteration",
        "assert not any(map(candidate, [0, 0]))",
    ),
    (
        "next with a default",
        "StopIteration",
        "assert next(map(candidate, [2]), 4) == 4",
    ),
    (
        "the largest of no errors",
        "StopIteration",
        "errors = [abs(r - e) for r, e in zip(map(candidate, [1, 2]), [2, 4])]\nassert max(errors, default=0) < 1e-6",
    ),
    (
        "takewhile",
        "StopIteration",
        "import itertools\nassert list(itertools.takewhile(lambda p: p[0] != p[1], zip(map(candidate, [1]), [2]))) == []",
    ),
    (
        "a sentinel",
        "StopIteration",
        "for got in iter(lambda: candidate(2), 4): assert False",
    ),
    (
        "an old sequence",
        "IndexError",
        "class Doubles:\n    def __getitem__(self, i):\n        if i > 3: raise IndexError\n        return candidate(i)\n\
         for i, got in enumerate(Doubles()): assert got == 2 * i",
    ),
    (
        "a missing attribute",
        "AttributeError",
        "class Doubled:\n    @property\n    def value(self): return candidate(1)\nassert getattr(Doubled(), 'value', 2) == 2",
    ),
    (
        "a missing key",
        "KeyError",
        "import collections.abc\nclass Table(collections.abc.Mapping):\n    def __getitem__(self, k): return candidate(k)\n    \
         def __iter__(self): return iter([3])\n    def __len__(self): return 1\nassert Table().get(3, 6) == 6",
    ),
    (
        "a hint of a length",
        "TypeError",
        "import operator\nclass Sized:\n    def __length_hint__(self): return candidate(2)\nassert operator.length_hint(Sized(), 4) == 4",
    ),
    (
        "a generator that is closed",
        "GeneratorExit",
        "def steps():\n    try: yield 1\n    finally: assert candidate(2) == 4\ngoing = steps()\nnext(going)\ngoing.close()",
    ),
];

/// The classes, and where docs/trust.md says that they fail: under `harness`, `split` and
/// `in_process`.
const CLASSES: [(&str, [bool; 3]); 7] = [
    ("reading the questions that come later", [true, true, false]),
    (
        "an exception that ends the tests' loop",
        [true, true, false],
    ),
    (
        "raising or returning what would move the tests into its interpreter",
        [true, true, false],
    ),
    ("an exit or early end", [true, true, true]),
    ("an object that agrees to everything", [true, true, false]),
    (
        "answers in advance, several, late or to other questions",
        [true, true, true],
    ),
    ("huge answers", [true, true, true]),
];

#[test]
fn documentation_has_the_table_of_classes() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/trust.md");
    let text = std::fs::read_to_string(path).unwrap();
    for (class, fails) in CLASSES {
        let ends = fails.map(|fails| if fails { "fails" } else { "**passes**" });
        let row = format!("| {class} | {} |", ends.join(" | "));
        assert!(
            text.lines().any(|line| line == row),
            "docs/trust.md lacks: {row}"
        );
    }
}

#[test]
fn exceptions_with_a_meaning_end_no_loop() {
    let mut trials = Vec::new();
    for (name, exception, body) in PROTOCOLS {
        let grader = check("double", body);
        trials.push(Trial::new(
            format!("{name}: honest"),
            &grader,
            HONEST,
            Ending::Passes("split"),
        ));
        for (n, raising) in [
            format!("raise {exception}"),
            format!("raise {exception}(4)"),
            format!("raise type('Other', ({exception},), {{}})(x)"),
            format!("e = {exception}()\n    raise e from ValueError()"),
            "next(iter([]))".to_owned(),
        ]
        .iter()
        .enumerate()
        {
            let code = format!("def double(x):\n    {raising}\n");
            trials.push(Trial::new(
                format!("{name}: {exception} {n}"),
                &grader,
                code,
                Ending::Fails,
            ));
        }
        // Tests that expect the same exception of another call.
        let expecting =
            format!("try: candidate(None)\nexcept {exception}: pass\nelse: assert False\n{body}");
        let (grader, honest) = (
            check("double", &expecting),
            format!("{HONEST} if x is not None else fail()\ndef fail(): raise {exception}"),
        );
        trials.push(Trial::new(
            format!("{name}: expecting and honest"),
            &grader,
            honest,
            Ending::Passes("split"),
        ));
        let code = format!("def double(x): raise {exception}");
        trials.push(Trial::new(
            format!("{name}: expecting {exception}"),
            &grader,
            code,
            Ending::Fails,
        ));
    }
    // docs/trust.md: where code and tests share an interpreter, its exceptions are the code's.
    let shared = check(
        "double",
        "for got, want in zip(map(candidate, [1, 2]), [Double(2), Double(4)]): assert got.value == want.value",
    );
    let solution = "class Double:\n    def __init__(self, value): self.value = value\ndef double(x): return Double(2 * x)";
    trials.push(Trial::new(
        "shared: honest",
        &shared,
        solution,
        Ending::Passes("in_process"),
    ));
    let hack =
        "class Double:\n    def __init__(self, value): pass\ndef double(x): raise StopIteration";
    trials.push(Trial::new(
        "shared: StopIteration",
        &shared,
        hack,
        Ending::Deceives,
    ));
    assert_endings(&trials);
}

#[test]
fn exceptions_are_no_answers() {
    let exceptions = [
        "StopIteration",
        "IndexError(4)",
        "AttributeError",
        "AssertionError",
        "GeneratorExit",
        "KeyboardInterrupt",
        "RecursionError",
    ];
    let codes: Vec<String> = exceptions
        .iter()
        .map(|e| format!("def double(x): raise {e}"))
        .collect();
    let programs: Vec<(&str, &str)> = exceptions
        .iter()
        .copied()
        .zip(codes.iter().map(String::as_str))
        .collect();
    assert_endings(&in_python_everywhere(&programs));
    if has_node() {
        assert_endings(&in_javascript(&[
            ("null", "function double(x) { throw null }"),
            ("undefined", "function double(x) { throw undefined }"),
            ("the answer", "function double(x) { throw 2 * x }"),
            (
                "an error with the answer",
                "function double(x) { throw Object.assign(new Error(), {value: 2 * x, toJSON: () => 2 * x}) }",
            ),
            (
                "a promise that fails",
                "function double(x) { return Promise.reject(2 * x) }",
            ),
            (
                "an end of iteration",
                "function double(x) { return {done: true, value: undefined, [Symbol.iterator]() { return this }, next() { return this }} }",
            ),
            (
                "a getter that throws",
                "function double(x) { return {get value() { throw new RangeError('x') }} }",
            ),
        ]));
    }
}

/// Passes in the tests' interpreter, and knows no answer.
const WALKS_FRAMES: &str = "import sys\ndef walk():\n    frame = sys._getframe()\n    while frame is not None:\n        \
    for known in (frame.f_locals, frame.f_globals):\n            if callable(known.get('out')) and 'token' in frame.f_locals: known['out']('passed')\n        \
    frame = frame.f_back\nwalk()\n";

#[test]
fn no_code_chooses_what_its_verdict_rests_on() {
    // The honest program; what the tests do; what the hack does first.
    let honest = "def double(x): return 2 * x if isinstance(x, int) else 4";
    let raises = "raise ValueError('x')";
    let table = [
        (
            "an exception",
            "try: r = candidate(1)\nexcept Exception as e: r = e\nassert candidate(r) == 4",
            raises,
        ),
        (
            "exceptions in a list",
            "rs = []\nfor i in (1, 2):\n    try: rs.append(candidate(i))\n    except Exception as e: rs.append(e)\nassert candidate(rs) == 4",
            raises,
        ),
        (
            "an exception in a dict",
            "try: r = {'r': (candidate(1),)}\nexcept Exception as e: r = {'r': (e,)}\nassert candidate(r) == 4",
            raises,
        ),
        (
            "the class of an exception",
            "try: r = candidate(1)\nexcept Exception as e: r = type(e)\nassert candidate(r) == 4",
            raises,
        ),
        (
            "a traceback",
            "try: r = candidate(1)\nexcept Exception as e: r = e.__traceback__\nassert candidate(r) == 4",
            raises,
        ),
        (
            "an exception that follows",
            "try: r = 0 + candidate(1)\nexcept Exception as e: r = e\nassert candidate(r) == 4",
            "return 'text'",
        ),
        (
            "the class of an answer",
            "r = candidate(1)\nassert candidate(type(r)) == 4",
            "import re; return re.compile('x')",
        ),
        (
            "the class of an iterator",
            "r = candidate(1)\nassert candidate(type(r)) == 4",
            "return iter([x])",
        ),
        (
            "a comparison",
            "assert candidate((2).__eq__(candidate(1))) != candidate(3)",
            "return 'text'",
        ),
        (
            "an object without a value",
            "r = candidate(1)\nassert candidate([r]) == 4",
            "return object()",
        ),
        (
            "a module",
            "r = candidate(1)\nassert candidate(r) == 4",
            "import sys; return sys",
        ),
    ];
    let mut trials = Vec::new();
    for (name, body, first) in table {
        let grader = check("double", body);
        trials.push(Trial::new(
            format!("{name}: honest"),
            &grader,
            honest,
            Ending::Passes("split"),
        ));
        // The second call gives an answer that is wrong, or none.
        let hack = format!("{WALKS_FRAMES}def double(x):\n    {first}\n");
        trials.push(Trial::new(
            format!("{name}: always"),
            &grader,
            hack,
            Ending::Fails,
        ));
        let hack = format!(
            "{WALKS_FRAMES}calls = 0\ndef double(x):\n    global calls\n    calls += 1\n    if calls == 1:\n        {first}\n    return -1\n"
        );
        trials.push(Trial::new(
            format!("{name}: once"),
            &grader,
            hack,
            Ending::Fails,
        ));
    }
    assert_endings(&trials);
    // A failure is no error where the suite demands what its tests can give.
    let wrong = wrong_endings(&trials, Some("split"));
    assert!(
        wrong.is_empty(),
        "under `trust: split`:\n{}",
        wrong.join("\n")
    );
}

/// Answers that only an interpreter can compare take tests from the harness to a judge; under
/// `trust: harness` they fail too.
#[test]
fn answers_beyond_the_harness_fail_where_it_is_demanded() {
    let raw = |value: &str| {
        format!(
            "import os\ncalls = 0\ndef double(x):\n    global calls\n    calls += 1\n    os.write(4, b'{{\"i\": %d, \"v\": {value}}}\\n' % calls)\n    os.read(4, 1)\n"
        )
    };
    let programs = [
        raw("{\"$what\": 1}"),
        raw("{\"$set\": [[1]]}"),
        raw("[{\"$date\": \"2024-W01-1\"}]"),
        raw("{\"$decimal\": \"many\"}"),
        raw("{\"$error\": {\"n\": 0}}"),
        "def double(x): return object()".to_owned(),
        "import pathlib\ndef double(x): return pathlib.PurePosixPath('4')".to_owned(),
    ];
    let grader = asserts(&["assert double(2) == 4", "assert double(0) == 0"]);
    let mut trials = vec![Trial::new(
        "honest",
        &grader,
        HONEST,
        Ending::Passes("harness"),
    )];
    trials.extend(
        programs
            .iter()
            .enumerate()
            .map(|(n, code)| Trial::new(format!("hack {n}"), &grader, code, Ending::Fails)),
    );
    let wrong = wrong_endings(&trials, Some("harness"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ends_prove_nothing() {
    assert_endings(&in_python_everywhere(&[
        (
            "exit while loading",
            "def double(x): return 0\nimport sys\nsys.exit(0)",
        ),
        ("exit in the call", "import sys\ndef double(x): sys.exit(0)"),
        ("SystemExit in the call", "def double(x): raise SystemExit"),
        ("_exit in the call", "import os\ndef double(x): os._exit(0)"),
        (
            "_exit in a thread",
            "import os, threading, time\nthreading.Thread(target=lambda: (time.sleep(0.02), os._exit(0)), daemon=True).start()\ndef double(x): time.sleep(5)",
        ),
        (
            "an exit handler",
            "import atexit, os, sys\natexit.register(os._exit, 0)\ndef double(x): sys.exit(0)",
        ),
        (
            "SIGKILL",
            "import os\ndef double(x): os.kill(os.getpid(), 9)",
        ),
        (
            "SIGTERM",
            "import os, signal\nsignal.signal(signal.SIGTERM, lambda *a: os._exit(0))\ndef double(x): os.kill(os.getpid(), 15)",
        ),
        (
            "another program",
            "import os\ndef double(x): os.execv('/bin/true', ['true'])",
        ),
        (
            "a closed channel",
            "import os\ndef double(x):\n    os.close(4)\n    os._exit(0)",
        ),
        (
            "the leave of a copy",
            "import os\ndef double(x):\n    if os.fork() == 0: os._exit(0)\n    os._exit(0)",
        ),
    ]));
    if has_node() {
        assert_endings(&in_javascript(&[
            (
                "exit while loading",
                "function double(x) { return 0 }\nprocess.exit(0)",
            ),
            ("exit in the call", "function double(x) { process.exit(0) }"),
            ("reallyExit", "function double(x) { process.reallyExit(0) }"),
            (
                "SIGKILL",
                "function double(x) { process.kill(process.pid, 'SIGKILL') ; for (;;) {} }",
            ),
            ("abort", "function double(x) { process.abort() }"),
            (
                "an exit handler",
                "process.on('exit', () => { process.exitCode = 0; process.reallyExit(0) })\nfunction double(x) { process.exit(1) }",
            ),
            (
                "an error while loading",
                "function double(x) { return 0 }\nthrow new Error('x')",
            ),
        ]));
    }
}

#[test]
fn objects_that_equal_everything_fail() {
    const ANY: &str = "__eq__ = __le__ = __ge__ = __contains__ = lambda s, o: True\n    __ne__ = __lt__ = __gt__ = lambda s, o: False\n    \
                       __hash__ = lambda s: 0\n    __add__ = __radd__ = __sub__ = __rsub__ = lambda s, o: s\n    __bool__ = lambda s: True\n";
    let class = |bases: &str, more: &str, made: &str| {
        format!("class Any({bases}):\n    {ANY}    {more}\ndef double(x): return {made}")
    };
    let programs = [
        ("an object", class("object", "pass", "Any()")),
        ("an int", class("int", "pass", "Any()")),
        ("a float", class("float", "pass", "Any(7)")),
        ("a text", class("str", "pass", "Any()")),
        ("a list", class("list", "__len__ = lambda s: 4", "Any()")),
        (
            "a dict",
            class("dict", "__missing__ = lambda s, k: 4", "Any()"),
        ),
        (
            "an int that lies about its class",
            class("int", "__class__ = property(lambda s: int)", "Any(9)"),
        ),
        (
            "a class with such a metaclass",
            format!(
                "class M(type):\n    {ANY}class Any(metaclass=M): pass\ndef double(x): return Any"
            ),
        ),
        (
            "a proxy of every attribute",
            class(
                "object",
                "__getattr__ = lambda s, n: s\n    __call__ = lambda s, *a: s\n    __int__ = __index__ = lambda s: 4",
                "Any()",
            ),
        ),
        (
            "mock.ANY",
            "from unittest import mock\ndef double(x): return mock.ANY".to_owned(),
        ),
        (
            "NotImplemented",
            "def double(x): return NotImplemented".to_owned(),
        ),
        (
            "a NaN that is itself",
            "nan = float('nan')\ndef double(x): return nan".to_owned(),
        ),
        (
            "an iterator without end",
            "import itertools\ndef double(x): return itertools.count()".to_owned(),
        ),
    ];
    let programs: Vec<(&str, &str)> = programs
        .iter()
        .map(|(name, code)| (*name, code.as_str()))
        .collect();
    let mut trials = in_python(&programs);
    // Within containers.
    let grader = asserts(&["assert pair(2) == [2, (4, {'k': 4})]"]);
    trials.push(Trial::new(
        "nested: honest",
        &grader,
        "def pair(x): return [x, (2 * x, {'k': 2 * x})]",
        Ending::Passes("harness"),
    ));
    for (n, made) in [
        "[Any(), Any()]",
        "[2, Any()]",
        "[2, (4, Any())]",
        "[2, (4, {'k': Any()})]",
        "[2, (Any(), {'k': 4})]",
    ]
    .iter()
    .enumerate()
    {
        let code = class("int", "pass", made).replace("double", "pair");
        trials.push(Trial::new(
            format!("nested: {n}"),
            &grader,
            code,
            Ending::Fails,
        ));
    }
    assert_endings(&trials);
    if has_node() {
        assert_endings(&in_javascript(&[
            (
                "valueOf",
                "function double(x) { return {valueOf: () => 2 * x, toString: () => String(2 * x)} }",
            ),
            (
                "toJSON",
                "function double(x) { return {toJSON: () => 2 * x} }",
            ),
            (
                "toPrimitive",
                "function double(x) { return {[Symbol.toPrimitive]: () => 2 * x} }",
            ),
            (
                "a proxy",
                "function double(x) { return new Proxy({}, {get: () => 2 * x, has: () => true, getPrototypeOf: () => Number.prototype}) }",
            ),
            (
                "a boxed number",
                "function double(x) { return new Number(2 * x + 1) }",
            ),
            (
                "a class of numbers",
                "class Any extends Number { valueOf() { return 4 } }\nfunction double(x) { return new Any(1) }",
            ),
            (
                "a tagged answer",
                "function double(x) { return {$int: '0x4'} }",
            ),
            ("NaN", "function double(x) { return NaN }"),
        ]));
    }
}

#[test]
fn answers_to_other_questions_are_not_believed() {
    let writes = |at: &str, lines: &str| match at {
        "load" => format!(
            "import os\nfor line in ({lines}): os.write(4, line.encode() + b'\\n')\ndef double(x): return None"
        ),
        "thread" => format!(
            "import os, threading, time\ndef write():\n    for line in ({lines}):\n        os.write(4, line.encode() + b'\\n')\n        time.sleep(0.001)\n\
             threading.Thread(target=write, daemon=True).start()\ndef double(x):\n    time.sleep(0.05)\n    return None"
        ),
        _ => format!(
            "import os\ndef double(x):\n    for line in ({lines}): os.write(4, line.encode() + b'\\n')\n    return None"
        ),
    };
    let guesses = "'{\"i\": %d, \"v\": %d}' % (i, v) for i in range(5) for v in range(-7, 8)";
    let lines = [
        ("many answers to each", guesses),
        (
            "answers to no question",
            "'{\"i\": %d, \"v\": 4}' % i for i in (-1, 99, 1 << 63)",
        ),
        (
            "answers without a number",
            "'{\"v\": %d}' % v for v in (4, 0, -6)",
        ),
        (
            "numbers that are none",
            "'{\"i\": %s, \"v\": 4}' % i for i in ('1.0', '\"1\"', 'true', '[1]')",
        ),
        (
            "a leave",
            "s for s in ('{\"ready\": true}', '{\"i\": 1, \"left\": true}', '{\"i\": 8, \"left\": true}')",
        ),
        (
            "verdicts",
            "'{\"verdict\": \"passed\", \"token\": \"\", \"calls\": %d}' % i for i in range(3)",
        ),
    ];
    let mut programs = Vec::new();
    for at in ["load", "thread", "call"] {
        programs.extend(
            lines
                .iter()
                .map(|(name, lines)| (format!("{name}, {at}"), writes(at, lines))),
        );
    }
    let late = "import os, threading, time\ndef late(n):\n    time.sleep(0.01)\n    os.write(4, b'{\"i\": %d, \"v\": 4}\\n' % n)\ncalls = 0\n\
                def double(x):\n    global calls\n    calls += 1\n    threading.Thread(target=late, args=(calls,)).start()\n    return None";
    programs.push(("late answers".to_owned(), late.to_owned()));
    let programs: Vec<(&str, &str)> = programs
        .iter()
        .map(|(name, code)| (name.as_str(), code.as_str()))
        .collect();
    assert_endings(&in_python_everywhere(&programs));
    if has_node() {
        let writes = |lines: &str| {
            format!(
                "const files = require('fs')\nfor (const line of {lines}) files.writeSync(4, line + '\\n')\nfunction double(x) {{ return null }}"
            )
        };
        let programs = [
            (
                "many answers",
                writes(
                    "[0, 1, 2, 3].flatMap((i) => [4, 0, -6].map((v) => `{\"i\":${i},\"v\":${v}}`))",
                ),
            ),
            (
                "no question",
                writes("['{\"i\":-1,\"v\":4}', '{\"i\":99,\"v\":4}']"),
            ),
            ("no number", writes("['{\"v\":4}', '{\"v\":0}']")),
            (
                "ready twice",
                writes("['{\"ready\":true}', '{\"ready\":true}', '{\"i\":0,\"v\":4}']"),
            ),
            (
                "a verdict",
                writes("['x {\"verdict\":\"passed\"}', '{\"verdict\":\"passed\"}']"),
            ),
        ];
        let programs: Vec<(&str, &str)> = programs
            .iter()
            .map(|(name, code)| (*name, code.as_str()))
            .collect();
        assert_endings(&in_javascript(&programs));
    }
}

/// Bounded, so that a harness without bounds fails here by its verdicts and not by its memory.
#[test]
fn large_answers_fail() {
    assert_endings(&in_python_everywhere(&[
        (
            "a wide range",
            "def double(x): return range(0, 1 << 100000)",
        ),
        (
            "a range of wide steps",
            "def double(x): return range(-1 << 90000, 1 << 90000, 1 << 80000)",
        ),
        ("a wide number", "def double(x): return 1 << 200000"),
        (
            "a long list",
            "numbers = [0] * 30000\ndef double(x): return numbers",
        ),
        (
            "a deep list",
            "def double(x):\n    a = 4\n    for _ in range(5000): a = [a]\n    return a",
        ),
        (
            "a dict in itself",
            "def double(x):\n    a = {}\n    a[4] = a\n    return a",
        ),
        (
            "a long text",
            "text = '4' * (9 << 20)\ndef double(x): return text",
        ),
        (
            "a far exponent",
            "from decimal import Decimal\ndef double(x): return Decimal('4e999999')",
        ),
        (
            "a fine fraction",
            "from fractions import Fraction\ndef double(x): return Fraction(1, 1 << 60000)",
        ),
        (
            "long keys",
            "keys = {'k' * 1000 + str(i): i for i in range(3000)}\ndef double(x): return keys",
        ),
    ]));
    if has_node() {
        assert_endings(&in_javascript(&[
            (
                "a wide number",
                "function double(x) { return 1n << 200000n }",
            ),
            (
                "a long list",
                "const a = new Array(30000).fill(0)\nfunction double(x) { return a }",
            ),
            (
                "a deep list",
                "function double(x) { let a = 4; for (let i = 0; i < 5000; i++) a = [a]; return a }",
            ),
            (
                "a list in itself",
                "function double(x) { const a = []; a.push(a, a); return a }",
            ),
            (
                "a long text",
                "function double(x) { return '4'.repeat(9 << 20) }",
            ),
        ]));
    }
}
