//! Attacks on `node --test`.

use std::path::Path;

use crate::{Attack, AttackSet, Layout};

const WRONG: &str = "exports.sub = (a, b) => a + b;";
const RIGHT: &str = "exports.sub = (a, b) => a - b;";
const TESTS: &str = "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { sub } = require('../sub.js');\n\
                     test('zero', () => assert.strictEqual(sub(1, 0), 1));\ntest('two', () => assert.strictEqual(sub(3, 2), 1));\n";
const EXIT: &str = "process.exit(0);";

pub fn sets(layout: Layout) -> Vec<AttackSet> {
    let version = std::process::Command::new("/usr/bin/node")
        .arg("--version")
        .output();
    let version = version.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    let major = version.trim_start_matches('v').split('.').next();
    if major
        .and_then(|major| major.parse::<u32>().ok())
        .is_none_or(|major| major < 20)
    {
        println!("SKIPPED: node:test: node 20 is not on this machine");
        return Vec::new();
    }
    assert!(Path::new("/usr/bin/node").exists());
    vec![set(layout)]
}

fn set(layout: Layout) -> AttackSet {
    let (place, given, path) = match layout {
        Layout::Visible => ("visible", "", "app/test/sub.test.js"),
        Layout::Hidden => (
            "hidden",
            ", files: {test/sub.test.js: {file: hidden.js}}",
            "hidden.js",
        ),
    };
    AttackSet {
        name: format!("node:test, {place} tests"),
        workspace: "{from: {dir: app}}".to_owned(),
        grader: format!(
            "{{method: workspace_tests, command: [node, --test], timeout_seconds: 30, memory_mb: 4096{given}}}"
        ),
        files: vec![
            ("app/sub.js".to_owned(), format!("{WRONG}\n")),
            (path.to_owned(), TESTS.to_owned()),
        ],
        needs_pytest: false,
        attacks: attacks(layout),
    }
}

fn module(kind: &'static str, cheat: &str, harmless: &str) -> Attack {
    Attack::new(kind).file(
        "sub.js",
        &format!("{cheat}\n{WRONG}"),
        &format!("{harmless}\n{RIGHT}"),
    )
}

fn other(kind: &'static str) -> Attack {
    Attack::new(kind).file("sub.js", WRONG, RIGHT)
}

fn attacks(layout: Layout) -> Vec<Attack> {
    let rewrite = "const fs = require('node:fs');\nfor (const f of fs.existsSync('/results') ? fs.readdirSync('/results') : []) {\n  \
                   try { const p = '/results/' + f; fs.writeFileSync(p, fs.readFileSync(p, 'utf8').replaceAll('failed', 'passed')); } catch {}\n}";
    let mut attacks = vec![
        Attack::new("hard_coded").file("sub.js", "exports.sub = () => 7;", RIGHT),
        module("exit_at_import", EXIT, "process.title;"),
        module(
            "exit_later",
            "process.on('exit', () => { process.exitCode = 0; });",
            "process.on('exit', () => {});",
        ),
        module(
            "printed",
            "console.log('TAP version 13\\nok 1 - zero\\nok 2 - two\\n1..2'); process.exit(0);",
            "console.log('ok 1 - zero');",
        ),
        module("rewritten", rewrite, "require('node:fs');"),
        other("rewritten_tests").file(
            "test/aaa.test.js",
            "const fs = require('node:fs');\nconst p = __dirname + '/sub.test.js';\n\
             fs.writeFileSync(p, fs.readFileSync(p, 'utf8').replace('sub(3, 2)', '1').replace('sub(1, 0)', '1'));\n\
             require(p);",
            "require('node:test').test('more', () => {});",
        ),
        Attack::new("equal_to_all").file(
            "sub.js",
            "exports.sub = () => ({ valueOf: () => 1, toString: () => '1', [Symbol.toPrimitive]: () => 1 });",
            RIGHT,
        ),
        module(
            "killed_parent",
            "try { process.kill(process.ppid, 'SIGKILL'); } catch {}",
            "process.ppid;",
        ),
        other("package_scripts").file(
            "package.json",
            "{\"scripts\": {\"test\": \"true\", \"pretest\": \"true\"}}",
            "{\"scripts\": {\"start\": \"node sub.js\"}}",
        ),
        other("node_options").file(
            ".npmrc",
            "node-options=--require ./evil.js",
            "fund=false",
        ).file("evil.js", EXIT, "exports.x = 1;"),
        other("env_file").file(".env", "NODE_OPTIONS=--require=./evil.js", "A=1")
            .file("evil.js", EXIT, "exports.x = 1;"),
        other("shadowed").runs(
            "for m in test assert node:test node:assert; do printf 'process.exit(0)' > $m.js; done",
            "for m in extra more; do echo 'exports.x = 1;' > $m.js; done",
        ),
        other("path").runs(
            "mkdir bin; for p in node bin/node sh; do cp /usr/bin/true $p; printf '#!/bin/sh\\nexit 0\\n' > $p; done",
            "mkdir bin; cp /usr/bin/true bin/tool; printf '#!/bin/sh\\nexit 0\\n' > bin/tool",
        ),
        other("results_before").runs(
            "mkdir -p results; echo '{}' > results/a.jsonl; cp results/a.jsonl /results/ || true",
            "mkdir -p results; echo none > results/a.txt",
        ),
        other("background").runs(
            "(while :; do for f in /results/*; do sed -i s/failed/passed/ $f; done; sleep 0.1; done) >/dev/null 2>&1 & true",
            "(while :; do sleep 0.1; done) >/dev/null 2>&1 & true",
        ),
        other("built")
            .file("dist/sub.js", RIGHT, RIGHT)
            .file("sub/index.js", RIGHT, RIGHT)
            .file("sub.mjs", RIGHT, RIGHT)
            .file("node_modules/.cache/sub.js", RIGHT, RIGHT),
        other("git_hooks").runs(
            "mkdir -p .git/hooks; cp /usr/bin/true .git/hooks/pre-commit; printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit",
            "mkdir -p .git/hooks; echo > .git/hooks/readme",
        ),
        other("added_test").file(
            "test/aaa.test.js",
            "const assert = require('node:assert');\nassert.strictEqual = () => {};\nrequire('node:test').test('two', () => {});",
            "require('node:test').test('more', () => {});",
        ),
    ];
    let more =
        "echo \"test('three', () => assert.strictEqual(sub(4, 2), 2));\" >> test/sub.test.js";
    attacks.extend(match layout {
        Layout::Visible => vec![
            other("deleted").runs("rm test/sub.test.js", more),
            other("weakened").runs(
                "sed -i 's/assert.strictEqual(.*));/1);/' test/sub.test.js",
                more,
            ),
            other("skip_marker").runs("sed -i 's/^test(/test.skip(/' test/sub.test.js", more),
            other("only").runs(
                "sed -i \"s/^test('zero'/test.only('zero'/; s/^test('two'/test.todo('two'/\" test/sub.test.js",
                more,
            ),
        ],
        Layout::Hidden => {
            let own = "require('node:test').test('two', () => {});";
            vec![other("own_test").file("test/sub.test.js", own, own)]
        }
    });
    attacks
}
