//! Tools that programs in workspaces use, where this machine has them. Nothing that they call is
//! refused and named.

use std::path::{Path, PathBuf};
use std::time::Duration;

use eval_sandbox::{Tier, WorkspaceJob};

use super::{Bench, stdout};

/// A tool's folders besides `/usr`, the files of a project, and what is run there.
struct ToolRun {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    script: &'static str,
    says: &'static str,
}

const NODE_TEST: &str = "const test = require('node:test'); const assert = require('node:assert');\n\
    const http = require('node:http');\n\
    test('adds', () => assert.equal(1 + 1, 2));\n\
    test('serves', (t, done) => { const s = http.createServer((q, r) => r.end('hi')).listen(0, '127.0.0.1', () =>\n\
    http.get({port: s.address().port}, r => r.on('data', d => { assert.equal(String(d), 'hi'); s.close(done); })));});\n\
    test('spawns', () => assert.equal(require('node:child_process').execSync('echo x').toString(), 'x\\n'));\n";
const GO_TEST: &str = "package x\nimport (\"testing\"; \"net/http\"; \"net/http/httptest\"; \"os/exec\")\n\
    func TestServes(t *testing.T) {\n s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))\n\
    defer s.Close()\n if _, err := http.Get(s.URL); err != nil { t.Fatal(err) }\n if err := exec.Command(\"true\").Run(); err != nil { t.Fatal(err) }\n}\n";
const RUST_LIB: &str = "#[test]\nfn serves() {\n    let server = std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap();\n    \
    std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();\n}\n";
const UNIT_TEST: &str = "import multiprocessing, sqlite3, subprocess, tempfile, unittest\n\
    class T(unittest.TestCase):\n\
    \x20   def test_a(self):\n        with multiprocessing.Pool(2) as pool: self.assertEqual(pool.map(abs, [-1, 2]), [1, 2])\n\
    \x20   def test_b(self):\n        db = sqlite3.connect('x.db'); db.execute('create table t(a)'); db.commit(); db.close()\n\
    \x20   def test_c(self): subprocess.run(['sh', '-c', 'exit 0'], check=True)\n";

const TOOLS: [ToolRun; 7] = [
    ToolRun {
        name: "pytest",
        files: &[("test_x.py", UNIT_TEST)],
        script: "/usr/bin/python3 -m pytest -q -n 2 --junitxml=/results/x.xml 2>&1",
        says: "3 passed",
    },
    ToolRun {
        name: "python3",
        files: &[("test_x.py", UNIT_TEST)],
        script: "/usr/bin/python3 -m unittest 2>&1",
        says: "OK",
    },
    ToolRun {
        name: "node",
        files: &[("x.test.js", NODE_TEST)],
        script: "node --test 2>&1",
        says: "pass 3",
    },
    ToolRun {
        name: "npm",
        files: &[
            (
                "package.json",
                "{\"name\": \"x\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node -e 1\"}, \
                 \"dependencies\": {\"dep\": \"file:./dep\"}}",
            ),
            (
                "dep/package.json",
                "{\"name\": \"dep\", \"version\": \"1.0.0\", \"main\": \"i.js\"}",
            ),
            ("dep/i.js", "module.exports = 1"),
            ("node_modules/old/package.json", "{\"name\": \"old\"}"),
        ],
        script: "npm install --offline --no-audit --no-fund 2>&1 && npm test 2>&1 && node -e \"console.log('dep', require('dep'))\"",
        says: "dep 1",
    },
    ToolRun {
        name: "go",
        files: &[("go.mod", "module x\n\ngo 1.19\n"), ("x_test.go", GO_TEST)],
        script: "go vet . && go test ./... 2>&1",
        says: "ok  \tx",
    },
    ToolRun {
        name: "cargo",
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            ("src/lib.rs", RUST_LIB),
            ("build.rs", "fn main() {}"),
        ],
        script: "cargo test --offline 2>&1 && cargo test --offline 2>&1",
        says: "test serves ... ok",
    },
    ToolRun {
        name: "git",
        files: &[("a/x", "1\n"), ("b", "2\n")],
        script: "git init -q . && git config user.email a@b && git config user.name n && git add -A && git commit -qm one && \
                 echo 3 >> b && git diff --stat && git stash -q && git stash pop -q && git checkout -qb two && git commit -qam two && \
                 git mv b c && git commit -qm three && git log --oneline | wc -l && git gc -q && git fsck 2>&1 && git status --short",
        says: "3\n",
    },
];

/// A folder with pytest and pytest-xdist, as `pip install --target` makes it.
const PYTEST: &str = "WORKSPACE_TEST_PYTEST";

/// Where a tool is: below `/usr`, or a toolchain that has to be shown.
fn folder_of(name: &str) -> Option<PathBuf> {
    if name == "pytest" {
        return std::env::var_os(PYTEST).map(|folder| Path::new(&folder).join("bin"));
    }
    let usual = ["/usr/local/bin", "/usr/bin"].map(|dir| Path::new(dir).join(name));
    if let Some(path) = usual.into_iter().find(|path| path.exists()) {
        return path.parent().map(Path::to_owned);
    }
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    let cargo = cargo.filter(|_| name == "cargo")?;
    let readable = std::fs::read_dir(cargo.parent()?).is_ok();
    readable.then(|| cargo.parent().map(Path::to_owned))?
}

pub(super) async fn tools_work(tier: Tier) {
    for tool in &TOOLS {
        let Some(folder) = folder_of(tool.name) else {
            println!("SKIPPED: {} is not on this machine", tool.name);
            continue;
        };
        let readable = folder.parent().unwrap().to_owned();
        let opened = Bench::open_with(tier, |config| {
            if !readable.starts_with("/usr") {
                config.readable = vec![readable.clone()];
            }
        });
        let Some(bench) = opened.await else { return };
        let base = bench.layer("base", tool.files);
        let root = bench.root(&[&base], "ws").await;
        let mut job = WorkspaceJob::new(["sh", "-c", tool.script].map(str::to_owned).into(), root);
        job.limits.wall = Duration::from_secs(240);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
        job.env = vec![("PATH".to_owned(), path)];
        if tool.name == "pytest" {
            let modules = readable.to_str().unwrap().to_owned();
            job.env.push(("PYTHONPATH".to_owned(), modules));
        }
        let result = bench.sandbox.run_in_workspace(job).await.unwrap();
        let said = stdout(&result);
        let stderr = String::from_utf8_lossy(&result.result.streams.stderr);
        let ending = &result.result.ending;
        let refused = result.result.streams.refused_call;
        println!(
            "tier {tier}: {}: {ending}, {:?}, refused {refused:?}",
            tool.name, result.result.wall
        );
        assert!(
            said.contains(tool.says) && refused.is_none(),
            "{}: {ending} {refused:?}\n{said}\n{stderr}",
            tool.name
        );
    }
}
