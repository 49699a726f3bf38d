//! Variants of the classes, drawn with a fixed seed: other values, containers, protocols and
//! moments. Each batch also holds honest programs for the same tests.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::ahead::{ARGUMENTS, CYCLES, LOOKS};
use crate::classes::PROTOCOLS;
use crate::trials::*;

/// How many attacks are drawn.
const ATTACKS: &str = "EVAL_HARNESS_ATTACKS";
const SEED: &str = "EVAL_HARNESS_ATTACK_SEED";
/// Attacks of one run of the program.
const BATCH: usize = 250;

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A function of whole numbers, its results in a container.
struct Task {
    /// What the function returns for `x`, as Python.
    returns: String,
    arguments: Vec<i64>,
    /// As Python and as JSON; `None` where JSON has no such container.
    expected: Vec<(String, Option<Value>)>,
}

const NAME: &str = "solve";
/// No task has this for an answer.
const WRONG: i64 = 987_654;

impl Task {
    fn draw(draw: &mut Draw) -> Task {
        let (factor, offset) = (2 + draw.below(7) as i64, 1 + draw.below(50) as i64);
        let mut arguments: Vec<i64> = Vec::new();
        while arguments.len() < 3 + draw.below(3) {
            let argument = draw.below(200) as i64 - 100;
            if !arguments.contains(&argument) {
                arguments.push(argument);
            }
        }
        let (open, close, in_json) = *draw.pick(&[
            ("", "", true),
            ("[", "]", true),
            ("[0, [", "]]", true),
            ("{'k': ", "}", true),
            ("(", ",)", false),
            ("{", "}", false),
        ]);
        let expected = arguments.iter().map(|x| {
            let y = factor * x + offset;
            let python = format!("{open}{y}{close}");
            let value =
                in_json.then(|| serde_json::from_str(&python.replace('\'', "\"")).expect("JSON"));
            (python, value)
        });
        Task {
            expected: expected.collect(),
            returns: format!("{open}{factor} * x + {offset}{close}"),
            arguments,
        }
    }

    /// Tests of one of the kinds, and what a verdict over them rests on.
    fn grader(&self, draw: &mut Draw) -> (Value, &'static str) {
        let pairs = || self.arguments.iter().zip(&self.expected);
        let in_json: Option<Vec<(Value, Value)>> = pairs()
            .map(|(x, (_, value))| value.clone().map(|value| (json!(x), value)))
            .collect();
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let xs = list(self.arguments.iter().map(i64::to_string).collect());
        let ys = list(self.expected.iter().map(|(text, _)| text.clone()).collect());
        match (draw.below(4), in_json) {
            (0, Some(cases)) => (calls("python", NAME, &cases), "harness"),
            (0 | 1, _) => {
                let tests: Vec<String> = pairs()
                    .map(|(x, (y, _))| format!("assert {NAME}({x}) == {y}"))
                    .collect();
                (asserts(&tests), "harness")
            }
            _ => {
                let body = *draw.pick(&[
                    "for got, want in zip(map(candidate, XS), YS): assert got == want",
                    "assert list(map(candidate, XS)) == YS",
                    "assert all(a == b for a, b in zip(map(candidate, XS), YS))",
                    "want = iter(YS)\nfor x in XS:\n    got = candidate(x)\n    assert got == next(want)",
                    "wrong = [x for x, got, want in zip(XS, map(candidate, XS), YS) if got != want]\nassert not wrong",
                    "for x, want in zip(XS, YS):\n    try: got = candidate(x)\n    except ValueError: got = None\n    assert got == want",
                    "results = []\nfor x in XS:\n    try: results.append(candidate(x))\n    except Exception as e: results.append(e)\nassert results == YS",
                    "class Seq:\n    def __getitem__(self, i):\n        if i >= len(XS): raise IndexError\n        return candidate(XS[i])\n\
                     for i, got in enumerate(Seq()): assert got == YS[i]",
                    "import itertools\nassert [r for r in itertools.starmap(candidate, [(x,) for x in XS])] == YS",
                    "def items():\n    for x in XS: yield candidate(x)\nassert [g for g in items()] == YS",
                ]);
                (
                    check(NAME, &format!("XS, YS = {xs}, {ys}\n{body}")),
                    "split",
                )
            }
        }
    }

    fn honest(&self, draw: &mut Draw) -> String {
        match draw.below(4) {
            0 => format!("def {NAME}(x):\n    return {}\n", self.returns),
            1 => format!(
                "import time\ntime.sleep(0.005)\ndef {NAME}(x):\n    time.sleep(0.002)\n    return {}\n",
                self.returns
            ),
            2 => format!(
                "def {NAME}(x):\n    try: raise StopIteration\n    except StopIteration: print('{{\"i\": 1}}')\n    return {}\n",
                self.returns
            ),
            _ => {
                format!(
                    "class Kept:\n    def __call__(self, x): return {}\n{NAME} = Kept()\n",
                    self.returns
                )
            }
        }
    }
}

const EXCEPTIONS: [&str; 14] = [
    "StopIteration",
    "StopAsyncIteration",
    "GeneratorExit",
    "IndexError",
    "KeyError",
    "AttributeError",
    "TypeError",
    "KeyboardInterrupt",
    "SystemExit",
    "OverflowError",
    "ValueError",
    "RecursionError",
    "AssertionError",
    "MemoryError",
];

/// Statements, indented for the body of a function, that run before an attack's own.
fn moment(draw: &mut Draw) -> String {
    match draw.below(5) {
        0 => format!("    import time; time.sleep(0.0{:02})\n", draw.below(20)),
        1 => "    print('.' * 100)\n".to_owned(),
        2 => format!(
            "    global calls; calls = globals().get('calls', 0) + 1\n    if calls < {}: return {WRONG}\n",
            draw.below(3)
        ),
        _ => String::new(),
    }
}

fn raising(draw: &mut Draw, exception: &str) -> String {
    let other = *draw.pick(&EXCEPTIONS);
    let raise = match draw.below(7) {
        0 => format!("raise {exception}"),
        1 => format!("raise {exception}({})", draw.below(9)),
        2 => format!("raise type('{other}', ({exception},), {{}})(x)"),
        3 => format!("try: raise {other}\n    except BaseException as e: raise {exception} from e"),
        4 => format!(
            "raise type('Both', tuple(dict.fromkeys([ValueError, LookupError])), {{}})({exception}())"
        ),
        5 => format!(
            "raise globals().get('BaseExceptionGroup', lambda *a: {exception}())('g', [{exception}(), {other}()])"
        ),
        _ => format!("raise getattr(__builtins__, 'x', {exception})"),
    };
    format!("def {NAME}(x):\n{}    {raise}\n", moment(draw))
}

fn ending(draw: &mut Draw) -> String {
    let end = *draw.pick(&[
        "os._exit(0)",
        "sys.exit(0)",
        "os.kill(os.getpid(), 9)",
        "os.abort()",
        "os.execv('/bin/true', ['true'])",
        "os.close(4)",
        "sys.stdout.close(); os._exit(0)",
        "raise SystemExit(0)",
        "quit() if 'quit' in globals() else os._exit(0)",
        "signal.alarm(0); os._exit(0)",
    ]);
    let head = "import os, sys, threading, time, atexit, signal\n";
    match draw.below(4) {
        0 => format!("{head}def {NAME}(x): return {WRONG}\n{end}\n"),
        1 => {
            format!(
                "{head}atexit.register(lambda: os._exit(0))\ndef {NAME}(x):\n{}    {end}\n",
                moment(draw)
            )
        }
        2 => format!(
            "{head}def later():\n    time.sleep(0.0{:02})\n    os._exit(0)\nthreading.Thread(target=later, daemon=True).start()\ndef {NAME}(x):\n    time.sleep(1)\n    {end}\n",
            draw.below(50)
        ),
        _ => format!("{head}def {NAME}(x):\n{}    {end}\n", moment(draw)),
    }
}

/// An object that agrees to everything, with some of the methods that this takes, perhaps within
/// containers.
fn agreeing(draw: &mut Draw) -> String {
    let base = *draw.pick(&[
        "object",
        "int",
        "float",
        "str",
        "bytes",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "complex",
    ]);
    let mut code = format!(
        "class Any({base}):\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\n    __hash__ = lambda s: 0\n"
    );
    for (method, body) in [
        ("bool", "True"),
        ("len", "3"),
        ("iter", "iter([s, s])"),
        ("contains", "True"),
        ("getitem", "s"),
        ("call", "s"),
        ("index", "4"),
        ("int", "4"),
        ("float", "4.0"),
        ("sub", "0"),
        ("rsub", "0"),
        ("abs", "0"),
        ("lt", "True"),
        ("le", "True"),
        ("repr", "'4'"),
        ("str", "'4'"),
        ("getattr", "s"),
        ("reduce", "(int, (4,))"),
        ("instancecheck", "True"),
    ] {
        if draw.chance(35) {
            let _ = writeln!(code, "    __{method}__ = lambda s, *a: {body}");
        }
    }
    if draw.chance(30) {
        let _ = writeln!(
            code,
            "    __class__ = property(lambda s: {})",
            draw.pick(&["int", "list", "dict", "tuple"])
        );
    }
    let made = *draw.pick(&[
        "Any()",
        "[Any()]",
        "[0, [Any()]]",
        "{'k': Any()}",
        "(Any(),)",
        "{Any()}",
        "Any",
        "iter([Any()])",
        "(Any() for _ in [1])",
        "{Any(): Any()}",
    ]);
    format!("{code}def {NAME}(x):\n{}    return {made}\n", moment(draw))
}

/// Lines that answer no question, at some moment.
fn answering(draw: &mut Draw) -> String {
    let index = *draw.pick(&[
        "i", "i + 1", "i - 1", "-i", "str(i)", "float(i)", "True", "1 << 64", "None", "[i]",
    ]);
    let value = *draw.pick(&[
        "v",
        "[v]",
        "{'k': v}",
        "[0, [v]]",
        "{'$tuple': [v]}",
        "{'$set': [v]}",
        "{'$opaque': 'int', 'truth': True}",
        "{'$error': {'n': 0}}",
        "{'$fn': 'check'}",
        "None",
    ]);
    let line = match draw.below(6) {
        0 => "{'i': i, 'left': True}".to_owned(),
        1 => "{'ready': True}".to_owned(),
        2 => "{'verdict': 'passed', 'token': '', 'calls': 3}".to_owned(),
        3 => format!("{{'i': {index}, 'same': i}}"),
        _ => format!("{{'i': {index}, 'v': {value}}}"),
    };
    let (most, guesses) = (1 + draw.below(6), 2 + draw.below(20));
    let write = format!(
        "for i in range({most}):\n        for v in range({WRONG}, {WRONG} + {guesses}): os.write(4, json.dumps({line}).encode() + b'\\n')"
    );
    let head = "import os, json, threading, time\n";
    match draw.below(4) {
        0 => format!("{head}def early():\n    {write}\nearly()\ndef {NAME}(x): return {WRONG}\n"),
        1 => format!(
            "{head}def late():\n    time.sleep(0.0{:02})\n    {write}\ndef {NAME}(x):\n    threading.Thread(target=late).start()\n    return {WRONG}\n",
            draw.below(20)
        ),
        2 => format!(
            "{head}def along():\n    {write}\nthreading.Thread(target=along, daemon=True).start()\ndef {NAME}(x):\n    time.sleep(0.01)\n    return {WRONG}\n"
        ),
        _ => format!(
            "{head}def {NAME}(x):\n{}    {write}\n    return {WRONG}\n",
            moment(draw)
        ),
    }
}

fn large(draw: &mut Draw) -> String {
    let size = 1 + draw.below(4);
    let made = match draw.below(8) {
        0 => format!("range(0, 1 << {size}0000, {size})"),
        1 => format!("1 << {size}00000"),
        2 => format!("[0] * {size}0000"),
        3 => format!("'4' * ({size} << 21)"),
        4 => format!("{{str(i): i for i in range({size}0000)}}"),
        5 => format!("eval('[' * {size}0 + ']' * {size}0)"),
        6 => format!("set(range({size}0000))"),
        _ => format!("__import__('decimal').Decimal('1e{size}00000')"),
    };
    format!(
        "made = {made}\ndef {NAME}(x):\n{}    return made\n",
        moment(draw)
    )
}

/// A walk of frames, and a first answer that may take tests elsewhere.
fn choosing(draw: &mut Draw) -> String {
    let first = match draw.below(4) {
        0 => format!("raise {}(x)", draw.pick(&EXCEPTIONS)),
        1 => "return object()".to_owned(),
        2 => "return type(x)".to_owned(),
        _ => "return iter([x])".to_owned(),
    };
    format!(
        "import sys\ndef walk():\n    frame = sys._getframe()\n    while frame is not None:\n        if 'token' in frame.f_locals:\n            \
         for known in (frame.f_locals, frame.f_globals):\n                if callable(known.get('out')): known['out']('passed')\n        frame = frame.f_back\n\
         walk()\nfirst = True\ndef {NAME}(x):\n    global first\n    if first:\n        first = False\n        {first}\n    return {WRONG}\n"
    )
}

const HANDING: [&str; 5] = [
    "try: r = candidate(X)\nexcept Exception as e: r = e\nassert candidate(r) == 4 * X + 3",
    "rs = []\nfor x in (X, X + 1):\n    try: rs.append(candidate(x))\n    except Exception as e: rs.append(e)\nassert candidate(rs) == 4",
    "try: r = [candidate(X)]\nexcept Exception as e: r = [type(e)]\nassert candidate(r) == 4",
    "r = candidate(X)\nassert candidate(type(r)) == 4",
    "r = {'r': candidate(X)}\nassert candidate((X).__eq__(r['r'])) == 4",
];

/// The attack of this number, with what it is an attack on, and perhaps an honest program for the
/// same tests.
fn drawn(draw: &mut Draw, id: &str) -> Vec<Trial> {
    let class = draw.below(8);
    if class == 0 {
        let cycle = draw.pick(&CYCLES);
        let (_, trust, grader) = cycle.graders()[draw.below(3)].clone();
        let look = format!("{ARGUMENTS}{}", draw.pick(&LOOKS).1);
        return vec![
            Trial::new(
                format!("{id} ahead"),
                &grader,
                cycle.answering_from(&look),
                Ending::Fails,
            ),
            Trial::new(
                format!("{id} honest"),
                &grader,
                cycle.honest(),
                Ending::Passes(trust),
            ),
        ];
    }
    if class == 1 {
        let body = draw
            .pick(&HANDING)
            .replace('X', &draw.below(50).to_string());
        let grader = check(NAME, &body);
        let honest = format!("def {NAME}(x):\n    return 2 * x + 1 if type(x) is int else 4\n");
        return vec![
            Trial::new(
                format!("{id} choosing"),
                &grader,
                choosing(draw),
                Ending::Fails,
            ),
            Trial::new(
                format!("{id} honest"),
                &grader,
                honest,
                Ending::Passes("split"),
            ),
        ];
    }
    if class == 2 {
        let (_, meaningful, body) = *draw.pick(&PROTOCOLS);
        let grader = check(NAME, body);
        let exception = if draw.chance(70) {
            meaningful
        } else {
            *draw.pick(&EXCEPTIONS)
        };
        let code = raising(draw, exception);
        return vec![
            Trial::new(format!("{id} protocol"), &grader, code, Ending::Fails),
            Trial::new(
                format!("{id} honest"),
                &grader,
                format!("def {NAME}(x): return 2 * x"),
                Ending::Passes("split"),
            ),
        ];
    }
    let task = Task::draw(draw);
    let (grader, trust) = task.grader(draw);
    let (name, code) = match class {
        3 => {
            let exception = *draw.pick(&EXCEPTIONS);
            ("raising", raising(draw, exception))
        }
        4 => ("ending", ending(draw)),
        5 => ("agreeing", agreeing(draw)),
        6 => ("answering", answering(draw)),
        _ => ("large", large(draw)),
    };
    let mut trials = vec![Trial::new(
        format!("{id} {name}"),
        &grader,
        code,
        Ending::Fails,
    )];
    if draw.chance(40) {
        trials.push(Trial::new(
            format!("{id} honest"),
            &grader,
            task.honest(draw),
            Ending::Passes(trust),
        ));
    }
    trials
}

fn variable(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => usual,
    }
}

#[test]
fn drawn_attacks_fail_and_their_neighbours_pass() {
    let (attacks, seed) = (variable(ATTACKS, 100) as usize, variable(SEED, 19));
    let (mut wrong, mut honest) = (Vec::new(), 0);
    for first in (0..attacks).step_by(BATCH) {
        let mut trials = Vec::new();
        for n in first..attacks.min(first + BATCH) {
            // Each by itself, so that one of them can be looked at again.
            let mut draw = Draw(seed ^ (n as u64).wrapping_mul(0x2545_f491_4f6c_dd1d));
            trials.extend(drawn(&mut draw, &format!("{seed}-{n}")));
        }
        honest += trials
            .iter()
            .filter(|trial| matches!(trial.ending, Ending::Passes(_)))
            .count();
        wrong.extend(wrong_endings(&trials, None));
        println!(
            "{} of {attacks} attacks, {honest} honest programs, {} wrong",
            attacks.min(first + BATCH),
            wrong.len()
        );
    }
    assert!(
        wrong.is_empty(),
        "{} of {attacks} attacks and {honest} honest programs:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
