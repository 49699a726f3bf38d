//! The languages that are built in as descriptions, with their real compilers and interpreters.
//! Where one is missing, its test says so and is passed over.

use serde_json::{Value, json};

use crate::support::Project;

/// What a language is tried with.
struct Trial {
    /// As `executor:` names it.
    name: &'static str,
    /// As answers name it.
    fence: &'static str,
    /// Programs of the host that have to be there.
    needs: &'static [&'static str],
    /// Reads how many numbers there are, and the numbers; prints them sorted, and the root of the
    /// least.
    sorts: &'static str,
    prefix: &'static str,
    /// A function that adds two numbers.
    adds: &'static str,
    /// One that ends the program with exit code 0.
    exits: &'static str,
    test: &'static str,
    /// Its compiler takes many seconds for each program.
    slow: bool,
}

pub(super) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// The outcome and cause of each eval, by its id.
fn verdicts(project: &Project, code: i32) -> Vec<(String, String)> {
    let args = ["run", "--suite", "suite.yaml", "--outputs", "outputs.jsonl"];
    project.call(&args).expect(code);
    let report = project.report();
    let evals = report["evals"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    evals
        .map(|eval| {
            let sample = &eval["cases"][0]["samples"][0];
            let (outcome, cause) = (text(&sample["outcome"]), text(&sample["cause"]));
            (text(&eval["id"]), format!("{outcome} {cause}"))
        })
        .collect()
}

fn tried(trial: &Trial) {
    if let Some(missing) = trial.needs.iter().find(|program| !has(program)) {
        eprintln!("skipped: {missing} is missing here");
        return;
    }
    let stdio = json!([
        {"stdin": "3\n9 4 7\n", "stdout": "4 7 9 2.000"},
        {"stdin": "2\n100 9\n", "stdout": "9 100 3.000"},
    ]);
    let grader = |more: Value| {
        let mut config =
            json!({"method": "code_execution", "executor": trial.name, "timeout_seconds": 60});
        let (Some(config_map), Some(more)) = (config.as_object_mut(), more.as_object()) else {
            panic!("maps");
        };
        config_map.extend(more.clone());
        json!({"type": "code", "config": config})
    };
    let tested = json!({"prefix": trial.prefix, "test": trial.test});
    let broken = format!("{} ((", trial.adds);
    // Assertions can't be switched off.
    let switch = match trial.name {
        "c" | "cpp" => "#define NDEBUG\n#include <assert.h>\n",
        _ => "",
    };
    let wrong = format!("{switch}{}", trial.adds.replace("+", "-"));
    let mut evals = vec![
        (
            "sorts",
            grader(json!({"compare": "tokens", "stdio": stdio})),
            trial.sorts,
        ),
        ("adds", grader(tested.clone()), trial.adds),
        ("exits", grader(tested.clone()), trial.exits),
        ("subtracts", grader(tested.clone()), &wrong),
        ("broken", grader(tested), &broken),
    ];
    if trial.slow {
        evals.truncate(3);
    }
    let suite = json!({"eval_suite": {
        "name": "Languages",
        "evals": evals.iter().map(|(id, grader, _)| json!({"id": id, "input": "?", "grader": grader})).collect::<Vec<_>>(),
    }});
    let outputs: Vec<String> = evals
        .iter()
        .map(|(id, _, code)| {
            let output = format!("```{}\n{code}\n```\n", trial.fence);
            json!({"case": id, "output": output}).to_string()
        })
        .collect();
    let project = Project::with(&[
        ("suite.yaml", &suite.to_string()),
        ("outputs.jsonl", &outputs.join("\n")),
    ]);
    let found = verdicts(&project, 1);
    let cause = |id: &str| {
        let found = found.iter().find(|(known, _)| known == id);
        found.map_or_else(String::new, |(_, verdict)| verdict.clone())
    };
    assert_eq!(cause("sorts"), "passed -", "{found:?}");
    assert_eq!(cause("adds"), "passed -", "{found:?}");
    assert_eq!(cause("exits"), "failed wrong_answer", "{found:?}");
    for id in ["subtracts", "broken"].into_iter().filter(|_| !trial.slow) {
        assert!(cause(id).starts_with("failed"), "{found:?}");
    }
}

#[test]
fn c_is_compiled_and_run() {
    tried(&Trial {
        name: "c",
        fence: "c",
        needs: &["gcc"],
        sorts: r#"#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) {
    int n; if (scanf("%d", &n) != 1) return 1;
    int *v = malloc(sizeof(int) * n);
    for (int i = 0; i < n; i++) scanf("%d", &v[i]);
    qsort(v, n, sizeof(int), by_value);
    for (int i = 0; i < n; i++) printf("%d ", v[i]);
    printf("%.3f\n", sqrt(v[0] * 1.0));
}
"#,
        prefix: "",
        adds: "int add(int a, int b) { return a + b; }",
        exits: "#include <stdlib.h>
int add(int a, int b) { exit(0); }",
        test: "#include <assert.h>
int main(void) {
    assert(add(1, 2) == 3);
    END_OF_TESTS
}",
        slow: false,
    });
}

#[test]
fn cpp_is_compiled_and_run() {
    tried(&Trial {
        name: "cpp",
        fence: "c++",
        needs: &["g++"],
        sorts: "#include <bits/stdc++.h>
using namespace std;
int main() { int n; cin >> n; vector<int> v(n); for (auto &x : v) cin >> x; ranges::sort(v);
 map<int,int> m; for (int x : v) { m[x]++; cout << x << ' '; } cout << fixed << setprecision(3) << sqrt(v[0]) << endl; }
",
        prefix: "",
        adds: "int add(int a, int b) { return a + b; }",
        exits: "#include <cstdlib>
int add(int a, int b) { std::exit(0); }",
        test: "#include <cassert>
int main() {
    assert(add(1, 2) == 3);
    END_OF_TESTS
}",
        slow: false,
    });
}

#[test]
fn csharp_is_compiled_and_run() {
    tried(&Trial {
        name: "csharp",
        fence: "cs",
        needs: &["mcs", "mono"],
        sorts: r#"using System;
using System.Collections.Generic;
using System.Linq;
class Program { static void Main() {
 int n = int.Parse(Console.ReadLine());
 var v = Console.ReadLine().Split(' ').Select(int.Parse).OrderBy(x => x).ToList();
 Console.WriteLine(string.Join(" ", v) + " " + Math.Sqrt(v[0]).ToString("F3", System.Globalization.CultureInfo.InvariantCulture)); } }
"#,
        prefix: "",
        adds: "using System;
static class Answer { public static int Add(int a, int b) { return a + b; } }",
        exits: "using System;
static class Answer { public static int Add(int a, int b) { Environment.Exit(0); return 0; } }",
        test: r#"static class Tests {
    static void Main() {
        if (Answer.Add(1, 2) != 3) throw new System.Exception("wrong");
        END_OF_TESTS
    }
}"#,
        slow: false,
    });
}

#[test]
fn go_is_compiled_and_run() {
    tried(&Trial {
        name: "go",
        fence: "golang",
        needs: &["go"],
        sorts: r#"package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"sort"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	var n int
	fmt.Fscan(in, &n)
	v := make([]int, n)
	for i := range v {
		fmt.Fscan(in, &v[i])
	}
	sort.Ints(v)
	for _, x := range v {
		fmt.Print(x, " ")
	}
	fmt.Printf("%.3f\n", math.Sqrt(float64(v[0])))
}
"#,
        prefix: r#"package main

import "os"
"#,
        adds: "func add(a, b int) int { return a + b }",
        exits: "func add(a, b int) int {
	os.Exit(0)
	return 0
}",
        test: r#"func main() {
	if add(1, 2) != 3 {
		panic("wrong")
	}
	END_OF_TESTS
}"#,
        slow: false,
    });
}

#[test]
fn haskell_is_compiled_and_run() {
    tried(&Trial {
        name: "haskell",
        fence: "hs",
        needs: &["ghc"],
        sorts: r#"import Data.List (sort)
import qualified Data.Map as M
import Text.Printf (printf)
main :: IO ()
main = do
  _ <- getLine
  v <- sort . map read . words <$> getLine :: IO [Int]
  let m = M.fromList (zip v [0 :: Int ..])
  putStr (unwords (map show v) ++ " ")
  printf "%.3f\n" (sqrt (fromIntegral (head v)) :: Double)
  if M.null m then error "empty" else return ()
"#,
        prefix: "import qualified Control.Exception
import qualified System.Environment
",
        adds: "add :: Int -> Int -> Int
add a b = a + b",
        exits: "import System.Exit
import System.IO.Unsafe
add :: Int -> Int -> Int
add _ _ = unsafePerformIO exitSuccess",
        test: r#"main :: IO ()
main = do
  Control.Exception.evaluate (Control.Exception.assert (add 1 2 == 3) ())
  END_OF_TESTS"#,
        slow: false,
    });
}

#[test]
fn java_is_compiled_and_run() {
    tried(&Trial {
        name: "java",
        fence: "java",
        needs: &["javac"],
        sorts: r#"import java.util.*;
import java.util.stream.*;
public class Main { static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }
 public static void main(String[] args) { Scanner s = new Scanner(System.in); int n = s.nextInt(); int[] v = new int[n];
 for (int i = 0; i < n; i++) v[i] = s.nextInt(); Arrays.sort(v);
 byte[] much = new byte[300 << 20]; int[] sum = {0}; Thread thread = new Thread(() -> sum[0] = deep(500) + much[7]); thread.start(); try { thread.join(); } catch (InterruptedException e) { } if (deep(50_000) != 50_000) return;
 System.out.print(Arrays.stream(v).mapToObj(String::valueOf).collect(Collectors.joining(" ")) + " "); System.out.println(String.format(Locale.ROOT, "%.3f", Math.sqrt(v[0]))); } }
"#,
        prefix: "",
        adds: "class Answer { static int add(int a, int b) { return a + b; } }",
        exits: "class Answer { static int add(int a, int b) { System.exit(0); return 0; } }",
        test: r#"class Main {
    public static void main(String[] args) {
        assert Answer.add(1, 2) == 3;
        END_OF_TESTS
    }
}"#,
        slow: false,
    });
}

#[test]
fn kotlin_is_compiled_and_run() {
    tried(&Trial {
        name: "kotlin",
        fence: "kt",
        needs: &["kotlinc", "java"],
        sorts: r#"import java.util.Locale
fun main() { readLine(); val v = readLine()!!.trim().split(" ").map { it.toInt() }.sorted()
 println(v.joinToString(" ") + " " + String.format(Locale.ROOT, "%.3f", Math.sqrt(v[0].toDouble()))) }
"#,
        prefix: "",
        adds: "fun add(a: Int, b: Int): Int { return a + b }",
        exits: "fun add(a: Int, b: Int): Int { System.exit(0); return 0 }",
        test: "fun main() {
    assert(add(1, 2) == 3)
    END_OF_TESTS
}",
        slow: true,
    });
}

#[test]
fn lua_is_run() {
    tried(&Trial {
        name: "lua",
        fence: "lua",
        needs: &["lua"],
        sorts: r#"local n = io.read("n") local v = {} for i = 1, n do v[i] = io.read("n") end table.sort(v)
print(table.concat(v, " ") .. string.format(" %.3f", math.sqrt(v[1])))
"#,
        prefix: "",
        adds: "function add(a, b) return a + b end",
        exits: "function add(a, b) os.exit(0) end",
        test: "assert(add(1, 2) == 3)
END_OF_TESTS",
        slow: false,
    });
}

#[test]
fn perl_is_run() {
    tried(&Trial {
        name: "perl",
        fence: "pl",
        needs: &["perl"],
        sorts: r#"use strict; use warnings; use List::Util qw(sum max);
my $n = <STDIN>; my @v = sort { $a <=> $b } split ' ', scalar <STDIN>;
printf "%s %.3f\n", join(' ', @v), sqrt($v[0]);
"#,
        prefix: "",
        adds: "sub add { return $_[0] + $_[1]; }",
        exits: "sub add { exit 0; }",
        test: "die 'wrong' unless add(1, 2) == 3;
END_OF_TESTS",
        slow: false,
    });
}

#[test]
fn php_is_run() {
    tried(&Trial {
        name: "php",
        fence: "php",
        needs: &["php"],
        sorts: r#"<?php
fgets(STDIN); $v = array_map('intval', explode(' ', trim(fgets(STDIN)))); sort($v);
printf("%s %.3f\n", implode(' ', $v), sqrt($v[0]));
"#,
        prefix: "",
        adds: "<?php
function add($a, $b) { return $a + $b; }",
        exits: "<?php
function add($a, $b) { exit(0); }",
        test: "assert(add(1, 2) === 3);
END_OF_TESTS",
        slow: false,
    });
}

#[test]
fn r_is_run() {
    tried(&Trial {
        name: "r",
        fence: "r",
        needs: &["Rscript"],
        sorts: r#"con <- file("stdin"); lines <- readLines(con); close(con)
v <- sort(as.integer(strsplit(lines[2], " ")[[1]]))
cat(paste(v, collapse = " "), sprintf("%.3f", sqrt(v[1])), "\n")
"#,
        prefix: "",
        adds: "add <- function(a, b) a + b",
        exits: "add <- function(a, b) quit(status = 0)",
        test: "stopifnot(add(1, 2) == 3)
END_OF_TESTS",
        slow: false,
    });
}

#[test]
fn ruby_is_run() {
    tried(&Trial {
        name: "ruby",
        fence: "rb",
        needs: &["ruby"],
        sorts: r##"require 'set'
gets; v = gets.split.map(&:to_i).sort
puts "#{v.join(' ')} #{'%.3f' % Math.sqrt(v[0])}"
"##,
        prefix: "",
        adds: "def add(a, b)
  a + b
end",
        exits: "def add(a, b)
  exit(0)
end",
        test: "raise 'wrong' unless add(1, 2) == 3
END_OF_TESTS",
        slow: false,
    });
}

#[test]
fn rust_is_compiled_and_run() {
    tried(&Trial {
        name: "rust",
        fence: "rs",
        needs: &["rustc"],
        sorts: r#"use std::collections::HashMap;
use std::io::Read;
fn main() { let mut s = String::new(); std::io::stdin().read_to_string(&mut s).unwrap();
 let mut v: Vec<i64> = s.split_whitespace().skip(1).map(|x| x.parse().unwrap()).collect(); v.sort();
 let mut m = HashMap::new(); for x in &v { *m.entry(x).or_insert(0) += 1; }
 let t: Vec<String> = v.iter().map(|x| x.to_string()).collect(); println!("{} {:.3}", t.join(" "), (v[0] as f64).sqrt()); }
"#,
        prefix: "",
        adds: "fn add(a: i32, b: i32) -> i32 { a + b }",
        exits: "fn add(_a: i32, _b: i32) -> i32 { std::process::exit(0) }",
        test: "fn main() {
    assert_eq!(add(1, 2), 3);
    END_OF_TESTS
}",
        slow: false,
    });
}

/// The answer has the places that the text around it gives it.
#[test]
fn text_around_an_answer_takes_it_as_code_or_as_a_string() {
    let suite = r#"
eval_suite:
  name: Around
  evals:
    - id: behind
      input: "?"
      grader: {type: code, config: {executor: bash, suffix: "double 4", stdio: [{stdout: "8"}]}}
    - id: inside
      input: "?"
      grader:
        type: code
        config:
          executor: python
          suffix: |
            code = {{ answer | tojson }}
            def area():
            {{ answer }}
            print(len(code.splitlines()), area())
          stdio: [{stdout: "2 12"}]
"#;
    let outputs = [
        json!({"case": "behind", "output": "double() { echo $(($1 * 2)); }"}),
        json!({"case": "inside", "output": "    a = \"3\"\n    return int(a) * 4"}),
    ]
    .map(|record| record.to_string());
    let project = Project::with(&[
        ("suite.yaml", suite),
        ("outputs.jsonl", &outputs.join("\n")),
    ]);
    for (_, verdict) in verdicts(&project, 0) {
        assert_eq!(verdict, "passed -");
    }
}

#[test]
fn tests_that_could_not_fail_are_refused() {
    let grader = |config: Value| json!({"type": "code", "config": config});
    let test = |executor: &str, test: &str| grader(json!({"executor": executor, "test": test}));
    let graders = [
        test("c", "int main(void) { return add(1, 2) != 3; }"),
        test(
            "c",
            "int main(void) {\nassert(add(1, 2));\nEND_OF_TESTS;\nassert(0);\nEND_OF_TESTS\n}",
        ),
        test("c", "int main(void) {\nEND_OF_TESTS\n}"),
        test("csharp", "Debug.Assert(Add(1, 2) == 3);\nEND_OF_TESTS"),
        grader(
            json!({"executor": "perl", "suffix": "print {{ answers }}", "stdio": [{"stdout": "1"}]}),
        ),
    ];
    let evals = graders.iter().enumerate();
    let evals: Vec<Value> = evals
        .map(|(i, grader)| json!({"id": format!("e{i}"), "input": "?", "grader": grader}))
        .collect();
    let suite = json!({"eval_suite": {"name": "Endless", "evals": evals}});
    let project = Project::with(&[("suite.yaml", &suite.to_string())]);
    let call = project
        .call(&["validate", "--suite", "suite.yaml"])
        .expect(2);
    let told = call.stderr.lines();
    let told: Vec<&str> = told
        .filter(|line| line.starts_with("error[") || line.contains("= help"))
        .map(str::trim)
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    error[EH0406]: `test` has no line `END_OF_TESTS`, so a program that exits early would pass
    = help: write it on a line of its own behind the last test
    error[EH0406]: `test` has 2 lines `END_OF_TESTS`, and the first would end the tests
    = help: write it once, behind the last test
    error[EH0406]: `test` neither asserts nor fails, so every output would pass
    error[EH0406]: `Debug.Assert` does nothing when it fails, so every output would pass
    = help: throw an exception where the result is wrong
    error[EH0207]: `{{ answers }}` is not filled with the answer
    = help: write `{{ answer }}` or `{{ answer | tojson }}`
    "#);
}

/// Set-up code stands between the answer and the tests; a whole program of a recording gets what
/// the tests need before it.
#[test]
fn program_of_tests_has_prefix_answer_and_setup() {
    if !has("perl") {
        return;
    }
    let suite = r#"
eval_suite:
  name: Parts
  evals:
    - id: parts
      input: "?"
      grader:
        type: code
        config:
          executor: perl
          prefix: "my $base = 40;"
          setup: "sub two { return 2; }"
          test: |
            die 'wrong' unless sum() + two() == 42;
            END_OF_TESTS
"#;
    let project = Project::with(&[("suite.yaml", suite)]);
    for record in [
        json!({"case": "parts", "output": "```pl\nsub sum { return $base; }\n```"}),
        json!({"task_id": "parts", "solution": "sub sum { return $base; }"}),
        json!({"task_id": "parts", "solution": "my $base = 40;\nsub sum { return $base; }"}),
    ] {
        project.write("outputs.jsonl", &record.to_string());
        let found = verdicts(&project, 0);
        assert_eq!(
            found,
            [("parts".to_owned(), "passed -".to_owned())],
            "{record}"
        );
    }
}

/// Reports name the compiler, and a second run compiles nothing.
#[test]
fn compiler_is_named_and_not_asked_again() {
    if !has("gcc") {
        return;
    }
    let stdio = json!([{"stdout": "7"}]);
    let grader = json!({"type": "code", "config": {"executor": "c", "stdio": stdio}});
    let suite = json!({"eval_suite": {
        "name": "Twice", "evals": [{"id": "seven", "input": "?", "grader": grader}],
    }});
    let code = "#include <stdio.h>\nint main(void) { puts(\"7\"); }\n";
    let project = Project::with(&[
        ("suite.yaml", &suite.to_string()),
        (
            "outputs.jsonl",
            &json!({"case": "seven", "output": code}).to_string(),
        ),
    ]);
    let kept = || {
        let folder = project.path().join("answers/compiled");
        let files = std::fs::read_dir(folder).expect("a folder");
        let files = files.map(|file| file.expect("a file").path());
        files.collect::<Vec<_>>()
    };
    verdicts(&project, 0);
    let version = &project.report()["metadata"]["environment"]["interpreters"]["c"];
    assert!(
        version.as_str().is_some_and(|text| text.contains('.')),
        "{version}"
    );
    let files = kept();
    assert_eq!(files.len(), 1);
    // What the first run kept is what the second one runs.
    let other = Project::with(&[("suite.yaml", &suite.to_string())]);
    let code = code.replace('7', "8");
    other.write(
        "outputs.jsonl",
        &json!({"case": "seven", "output": code}).to_string(),
    );
    verdicts(&other, 1);
    let folder = other.path().join("answers/compiled");
    let file = std::fs::read_dir(folder)
        .expect("a folder")
        .next()
        .expect("a file")
        .expect("a file");
    std::fs::copy(file.path(), &files[0]).expect("copied");
    verdicts(&project, 1);
    assert_eq!(kept(), files);
}
