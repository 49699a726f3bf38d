//! Looking ahead for later questions: where an expectation is the argument of another call
//! (inverses, involutions, cycles, truths), a candidate that learns the arguments of later calls
//! passes without solving anything.

use serde_json::{Value, json};

use crate::trials::*;

/// A task whose answers are its arguments: its calls in order, and how an argument's answer is
/// found from the list of all.
pub struct Cycle {
    name: &'static str,
    solution: &'static str,
    calls: &'static [(&'static str, &'static str)],
    /// Python: the place of the answer to the argument at place `i`.
    answer: &'static str,
}

pub const CYCLES: [Cycle; 6] = [
    Cycle {
        name: "an inverse",
        solution: "def turn(x): return {3: 17, 17: 3, 20: 541, 541: 20}[x]",
        calls: &[("3", "17"), ("17", "3"), ("20", "541"), ("541", "20")],
        answer: "i ^ 1",
    },
    Cycle {
        name: "an involution",
        solution: "def turn(x): return {'A': 'T', 'T': 'A', 'C': 'G', 'G': 'C'}[x]",
        calls: &[
            ("\"A\"", "\"T\""),
            ("\"T\"", "\"A\""),
            ("\"C\"", "\"G\""),
            ("\"G\"", "\"C\""),
        ],
        answer: "i ^ 1",
    },
    Cycle {
        name: "a cycle",
        solution: "def turn(x): return {1: 2, 2: 4, 4: 8, 8: 5, 5: 1}[x]",
        calls: &[("1", "2"), ("2", "4"), ("4", "8"), ("8", "5"), ("5", "1")],
        answer: "(i + 1) % len(seen)",
    },
    Cycle {
        name: "truths",
        solution: "def turn(x): return not x",
        calls: &[("true", "false"), ("false", "true")],
        answer: "i ^ 1",
    },
    Cycle {
        name: "directions",
        solution: "def turn(x): return dict(zip('NESW', 'ESWN'))[x]",
        calls: &[
            ("\"N\"", "\"E\""),
            ("\"E\"", "\"S\""),
            ("\"S\"", "\"W\""),
            ("\"W\"", "\"N\""),
        ],
        answer: "(i + 1) % len(seen)",
    },
    Cycle {
        name: "lists",
        solution: "def turn(x): return x[::-1]",
        calls: &[("[1, 2]", "[2, 1]"), ("[2, 1]", "[1, 2]"), ("[7]", "[7]")],
        answer: "min(i ^ 1, len(seen) - 1)",
    },
];

impl Cycle {
    fn values(&self) -> Vec<(Value, Value)> {
        let read = |text: &str| serde_json::from_str(text).expect("JSON");
        self.calls
            .iter()
            .map(|(argument, answer)| (read(argument), read(answer)))
            .collect()
    }

    pub fn honest(&self) -> &'static str {
        self.solution
    }

    /// As asserts that the harness compares, as calls, and as tests that a judge runs.
    pub fn graders(&self) -> [(&'static str, &'static str, Value); 3] {
        let python = |text: &str| text.replace("true", "True").replace("false", "False");
        let tests: Vec<String> = self
            .calls
            .iter()
            .map(|(a, e)| format!("assert turn({}) == {}", python(a), python(e)))
            .collect();
        let pairs: Vec<String> = self
            .calls
            .iter()
            .map(|(a, e)| format!("({}, {})", python(a), python(e)))
            .collect();
        let body = format!(
            "for given, want in [{}]:\n    got = [candidate(given)].pop()\n    assert got == want",
            pairs.join(", ")
        );
        [
            ("asserts", "harness", asserts(&tests)),
            ("calls", "harness", calls("python", "turn", &self.values())),
            ("judged", "split", check("turn", &body)),
        ]
    }

    /// A program that answers from the arguments that `look(x)` finds, in the order of the calls.
    pub fn answering_from(&self, look: &str) -> String {
        format!(
            "import sys, os, json, time, select, socket\n{look}\nseen, at = None, -1\ndef turn(x):\n    global seen, at\n    at += 1\n    \
             if seen is None: seen = [x] + look()\n    i = at\n    return seen[{}]\n",
            self.answer
        )
    }
}

/// Ways to find later questions: each defines `look()`, which gives the first arguments of those
/// that it found.
pub const LOOKS: [(&str, &str); 7] = [
    (
        "the buffers of frames",
        "def look():\n    f = sys._getframe()\n    while f is not None and 'incoming' not in f.f_locals: f = f.f_back\n    \
         os.set_blocking(4, False)\n    return arguments(f.f_locals['incoming'].peek(65536) or b'')",
    ),
    (
        "every buffered reader",
        "import gc, io\ndef look():\n    found = []\n    for known in gc.get_objects():\n        \
         if isinstance(known, io.BufferedReader):\n            os.set_blocking(known.fileno(), False)\n            found += arguments(known.peek(65536) or b'')\n    return found",
    ),
    (
        "a peek at the channel",
        "def look():\n    s = socket.socket(fileno=os.dup(4))\n    s.setblocking(False)\n    \
         return arguments(s.recv(1 << 16, socket.MSG_PEEK))",
    ),
    (
        "a patient peek at the channel",
        "def look():\n    s = socket.socket(fileno=os.dup(4))\n    select.select([s], [], [], 0.1)\n    s.setblocking(False)\n    \
         return arguments(s.recv(1 << 16, socket.MSG_PEEK))",
    ),
    (
        "every descriptor",
        "def look():\n    found = []\n    for fd in map(int, os.listdir('/proc/self/fd')):\n        try:\n            \
         s = socket.socket(fileno=os.dup(fd))\n            s.setblocking(False)\n            found += arguments(s.recv(1 << 16, socket.MSG_PEEK))\n        \
         except OSError: pass\n    return found",
    ),
    (
        "a thread that reads along",
        "import threading\nfound = []\ndef read():\n    s = socket.socket(fileno=os.dup(4))\n    while True:\n        \
         select.select([s], [], [], 5)\n        try: found.extend(a for a in arguments(s.recv(1 << 16, socket.MSG_PEEK | socket.MSG_DONTWAIT)) if a not in found)\n        \
         except OSError: pass\n        time.sleep(0.002)\nthreading.Thread(target=read, daemon=True).start()\ntime.sleep(0.05)\ndef look():\n    time.sleep(0.05)\n    return found[1:]",
    ),
    (
        "what waits while it loads",
        "time.sleep(0.05)\ns = socket.socket(fileno=os.dup(4))\ns.setblocking(False)\ntry: ahead = arguments(s.recv(1 << 16, socket.MSG_PEEK))\nexcept OSError: ahead = []\n\
         def look(): return ahead[1:]",
    ),
];

/// Reads whole questions.
pub const ARGUMENTS: &str = "def arguments(b):\n    found = []\n    for line in b.decode().splitlines():\n        try: q = json.loads(line)\n        \
                             except ValueError: continue\n        if 'a' in q: found.append(q['a'][0])\n    return found\n";

#[test]
fn no_later_question_is_there_to_be_read() {
    let mut trials = Vec::new();
    for cycle in &CYCLES {
        for (place, trust, grader) in cycle.graders() {
            let id = format!("{}, {place}", cycle.name);
            trials.push(Trial::new(
                format!("{id}: honest"),
                &grader,
                cycle.solution,
                Ending::Passes(trust),
            ));
            for (name, look) in LOOKS {
                let code = cycle.answering_from(&format!("{ARGUMENTS}{look}"));
                trials.push(Trial::new(
                    format!("{id}: {name}"),
                    &grader,
                    code,
                    Ending::Fails,
                ));
            }
        }
    }
    assert_endings(&trials);
}

/// Node's program reads its channel without buffers of its own: what a hack reads there is lost for
/// the runner, so that these wait for their time.
#[test]
fn no_later_question_is_there_for_javascript() {
    if !has_node() {
        return;
    }
    let cases = [
        (json!("N"), json!("S")),
        (json!("S"), json!("N")),
        (json!(12), json!(21)),
        (json!(21), json!(12)),
    ];
    let usual = calls("javascript", "turn", &cases);
    let grader = within(usual.clone(), 1.0);
    let answer_all = "const reply = (text) => { const qs = text.trim().split('\\n').map(JSON.parse).filter((q) => q.a); \
                      let out = ''; qs.forEach((q, i) => { out += JSON.stringify({i: q.i, v: qs[i ^ 1].a[0]}) + '\\n' }); files.writeSync(4, out) };";
    let head = format!(
        "const files = require('fs');\nconst store = Buffer.alloc(1 << 16);\n{answer_all}\n"
    );
    let hacks = [
        (
            "while loading",
            "for (const fd of [4, 3, 5, 6, 7]) { try { const n = files.readSync(fd, store, 0, store.length, null); if (n > 0) { files.writeSync(4, '{\"ready\":true}\\n'); reply(store.toString('utf8', 0, n)); process.exit(0) } } catch (e) {} }\nfunction turn(x) { return 0 }",
        ),
        (
            "in the first call",
            "function turn(x) { const n = files.readSync(4, store, 0, store.length, null); return JSON.parse(store.toString('utf8', 0, n).split('\\n')[0]).a[0] }",
        ),
        (
            "in the background",
            "let seen = [];\nfiles.read(4, store, 0, store.length, null, (e, n) => { if (n > 0) reply(store.toString('utf8', 0, n)) })\nfunction turn(x) { return seen[0] }",
        ),
        (
            "by a stream",
            "const sockets = require('net');\nlet text = '';\nfunction turn(x) { return new Promise((done) => { const s = new sockets.Socket({fd: 4}); s.on('data', (d) => { s.pause(); done(JSON.parse(String(d).split('\\n')[0]).a[0]) }); s.on('end', () => done(0)) }) }",
        ),
        (
            "by its name",
            "function turn(x) { for (const fd of files.readdirSync('/proc/self/fd')) { try { const t = files.readFileSync('/proc/self/fd/' + fd, 'utf8'); const q = t.split('\\n').map((l) => { try { return JSON.parse(l) } catch { return {} } }).filter((q) => q.a); if (q.length > 1) return q[1].a[0] } catch (e) {} } return 0 }",
        ),
    ];
    let honest = "function turn(x) { return {N: 'S', S: 'N', 12: 21, 21: 12}[x] }";
    let mut trials = vec![Trial::new(
        "honest",
        &usual,
        honest,
        Ending::Passes("harness"),
    )];
    trials.extend(
        hacks
            .iter()
            .map(|(name, code)| Trial::new(*name, &grader, format!("{head}{code}"), Ending::Fails)),
    );
    assert_endings(&trials);
}
