//! How programs of each language are compiled and run in benchmarks whose tests are a part of the
//! program, and how its definitions look.

use std::time::Duration;

use crate::graders::{END_VARIABLE, ProgramTests};
use crate::load::described_languages;
use crate::model::Executor;

/// A language of programs that end with their own tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramLanguage {
    Cpp,
    Rust,
    Go,
    Java,
    Javascript,
    Typescript,
    Bash,
    Perl,
    Ruby,
    Php,
    Lua,
    R,
}

/// Where Debian puts the library of tuples that Java's tasks use.
const JAVATUPLES: &str = "/usr/share/java/javatuples.jar";
/// What compilers get of memory, in MiB.
const COMPILE_MEMORY_MB: u64 = 4096;

/// Stands before an answer, so that the answer can't replace what its tests compare by.
pub(super) const JAVASCRIPT_GUARD: &str = "\
Object.freeze(require('node:assert'));
for (const name of ['JSON', 'Object', 'console']) {
  Object.freeze(globalThis[name]);
  Object.defineProperty(globalThis, name, { writable: false, configurable: false });
}
";

impl ProgramLanguage {
    /// As MultiPL-E's `language` names it.
    pub fn named(name: &str) -> Option<ProgramLanguage> {
        use ProgramLanguage::*;
        Some(match name {
            "cpp" => Cpp,
            "rs" => Rust,
            "go_test.go" | "go" => Go,
            "java" => Java,
            "js" => Javascript,
            "ts" => Typescript,
            "sh" => Bash,
            "pl" => Perl,
            "rb" => Ruby,
            "php" => Php,
            "lua" => Lua,
            "r" => R,
            _ => return None,
        })
    }

    /// As people write it, and as code fences name it.
    pub fn words(self) -> (&'static str, &'static str) {
        use ProgramLanguage::*;
        match self {
            Cpp => ("C++", "cpp"),
            Rust => ("Rust", "rust"),
            Go => ("Go", "go"),
            Java => ("Java", "java"),
            Javascript => ("JavaScript", "javascript"),
            Typescript => ("TypeScript", "typescript"),
            Bash => ("Bash", "bash"),
            Perl => ("Perl", "perl"),
            Ruby => ("Ruby", "ruby"),
            Php => ("PHP", "php"),
            Lua => ("Lua", "lua"),
            R => ("R", "r"),
        }
    }

    /// `class` is the one whose `main` Java runs; `include` is what a C++ task needs beside the
    /// standard library.
    pub fn executor(self, class: &str, include: Option<&str>) -> Result<Executor, String> {
        use ProgramLanguage::*;
        let name = match self {
            Javascript => return Ok(Executor::Javascript),
            Typescript => return Ok(Executor::Typescript),
            Bash => return Ok(Executor::Bash),
            other => other.words().1,
        };
        let known = described_languages().get(name);
        let Some(Executor::Configured(mut own)) = known.map(|known| known.executor(name).executor)
        else {
            return Err(format!("the harness has no commands for `{name}`"));
        };
        own.compile_timeout = Duration::from_secs(120);
        own.compile_memory_mb = COMPILE_MEMORY_MB;
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        match self {
            // As the benchmarks compile: without optimisation, which would only take time.
            Cpp => {
                own.compile = words("g++ -std=c++17 -w -o prog main.cpp");
                if let Some(path) = include {
                    if path.starts_with("openssl/") {
                        own.compile.push("-lcrypto".to_owned());
                    }
                    own.probe = Some(format!("#include <{path}>\nint main() {{}}\n"));
                    own.hint = Some("`apt install libboost-dev libssl-dev`".to_owned());
                }
            }
            Rust => own.compile = words("rustc --edition 2021 -A warnings -o prog main.rs"),
            Go => {
                own.file = "main_test.go".to_owned();
                own.compile = words("go test -vet=off -c -o prog");
                own.probe = Some("package probe\n".to_owned());
            }
            Java => {
                own.compile.extend(words(&format!("-cp .:{JAVATUPLES}")));
                own.run = words(&format!(
                    "java -ea -Xms16m -Xmx{{heap_mb}}m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp .:{JAVATUPLES} {class}"
                ));
                let import = match class {
                    "Main" => "",
                    _ => "import org.javatuples.*;\n",
                };
                own.probe = Some(format!(
                    "{import}class {class} {{ public static void main(String[] args) {{}} }}\n"
                ));
                let hint = "`apt install default-jdk-headless libjavatuples-java`";
                own.hint = Some(hint.to_owned());
            }
            Perl => {
                own.probe = Some("use Test::Deep;\nexit 0;\n".to_owned());
                own.hint = Some("`apt install perl libtest-deep-perl`".to_owned());
            }
            Ruby => {
                own.probe = Some("require 'test/unit/testcase'\nexit 0\n".to_owned());
                own.hint = Some("`apt install ruby ruby-test-unit`".to_owned());
            }
            Lua => {
                own.probe = Some("require('luaunit')\nos.exit(0)\n".to_owned());
                own.hint = Some("`apt install lua5.4 lua-unit`".to_owned());
            }
            Javascript | Typescript | Bash | Php | R => {}
        }
        Ok(Executor::Configured(own))
    }

    /// How definitions of `name` and imports look.
    pub fn syntax(self, name: &str) -> ProgramTests {
        use ProgramLanguage::*;
        let name = regex::escape(name);
        let typed = |name: &str| {
            format!(
                r"^\s*(?:(?:public|private|protected|static|inline|final|const|constexpr|unsigned|auto|std::|template\s*<[^>]*>)\s*)*(?:void|bool|boolean|int|long|float|double|char|string|size_t|pair|vector|map|[A-Z]\w*|[a-z_]\w*::\w+|[a-z_]\w*<)[\w\s:<>,&*\[\]]*?[\s&*>\]]?{name}\s*\([^;]*$"
            )
        };
        let definition = match self {
            Cpp | Java => typed(&format!(r"\b{name}")),
            Rust => format!(r"\bfn\s+{name}\b"),
            Go => format!(r"^func\s+{name}\b"),
            Javascript | Typescript => {
                format!(r"^\s*(?:export\s+)?(?:async\s+)?(?:function\*?|const|let|var)\s+{name}\b")
            }
            Bash => format!(r"^\s*(?:function\s+{name}\b|{name}\s*\(\))"),
            Perl => format!(r"^\s*sub\s+{name}\b"),
            Ruby => format!(r"^\s*def\s+(?:self\.)?{name}\b"),
            Php => format!(r"^\s*function\s+&?{name}\b"),
            Lua => format!(r"^\s*(?:local\s+)?(?:function\s+{name}\b|{name}\s*=\s*function\b)"),
            R => format!(r"^\s*{name}\s*(?:<-|=)\s*function\b"),
        };
        let imports = match self {
            Cpp => r"^\s*#\s*include|^using namespace ",
            Rust => r"^use ",
            Go => r#"^\s*(?:import\s+)?"[\w/.]+"\s*$"#,
            Java => r"^import ",
            Javascript | Typescript => r"^import |^(?:const|let|var) .*\brequire\(",
            Bash => "^#!",
            Perl => r"^use ",
            Ruby | Lua => r"^require|^local .*\brequire\b",
            Php => r"^<\?php",
            R => r"^library\(",
        };
        let once = match self {
            Go => r"^package ",
            Php => r"^(?:<\?php|\?>)",
            _ => "",
        };
        ProgramTests {
            definition,
            imports: imports.to_owned(),
            once: once.to_owned(),
            ..ProgramTests::default()
        }
    }

    /// The tests with the statement that prints the secret behind the last of them; an error says
    /// what they lack.
    pub fn ended(self, tests: &str) -> Result<String, String> {
        use ProgramLanguage::*;
        let variable = END_VARIABLE;
        let known = described_languages().get(self.words().1);
        let statement = match self {
            Javascript => "console.log('\\n' + process.argv[2]);\n".to_owned(),
            Typescript => "console.log('\\n' + (globalThis as any).process.argv[2]);\n".to_owned(),
            Bash => format!("printf '\\n%s\\n' \"${variable}\"\n"),
            Ruby => format!(
                "Test::Unit::AutoRunner.need_auto_run = false\n\
                 exit(1) unless Test::Unit::AutoRunner.run\n\
                 puts '', ENV['{variable}']\n"
            ),
            Cpp | Rust | Java | Perl | Php | R => {
                let known = known.ok_or("the harness does not know how its programs end")?;
                format!("{}\n", known.end_of_tests)
            }
            // In a file of its own, see `go_end`.
            Go => return Ok(tests.to_owned()),
            Lua => {
                let last = "os.exit(lu.LuaUnit.run())";
                let before = tests.trim_end().strip_suffix(last).ok_or_else(|| {
                    format!("`tests` does not end with `{last}`, so its end is not known")
                })?;
                return Ok(format!(
                    "{before}local code_of_tests = lu.LuaUnit.run()\n\
                     if code_of_tests == 0 then print('\\n' .. os.getenv('{variable}')) end\n\
                     os.exit(code_of_tests)\n"
                ));
            }
        };
        let closing = match self {
            Cpp | Rust => 1,
            Java => 2,
            _ => return Ok(format!("{}\n{statement}", tests.trim_end())),
        };
        let at = tests.rmatch_indices('}').nth(closing - 1);
        let at = at.ok_or("`tests` has no program that ends with `}`")?.0;
        let (before, after) = tests.split_at(at);
        let head = known
            .map(|known| known.end_needs.as_str())
            .unwrap_or_default();
        Ok(format!("{head}{before}\n{statement}{after}"))
    }
}

/// The file that ends the tests of a Go package: they all passed.
pub(super) fn go_end(package: &str, tests: &str) -> Result<String, String> {
    let names = regex::Regex::new(r"(?m)^func (Test\w*)\(")
        .map_err(|error| format!("internal error: invalid pattern: {error}"))?;
    let names: Vec<&str> = names
        .captures_iter(tests)
        .filter_map(|found| found.get(1).map(|name| name.as_str()))
        .collect();
    if names.is_empty() {
        return Err("the tests have no function `Test...`, so nothing would be tested".to_owned());
    }
    Ok(format!(
        "package {package}\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\n\
         var _ = []func(*testing.T){{{}}}\n\n\
         func TestMain(m *testing.M) {{\n\tcode := m.Run()\n\tif code == 0 {{\n\
         \t\tfmt.Println(\"\\n\" + os.Getenv(\"{END_VARIABLE}\"))\n\t}}\n\tos.Exit(code)\n}}\n",
        names.join(", ")
    ))
}
