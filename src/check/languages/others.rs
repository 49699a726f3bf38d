//! Null answers and cheats in SQL and in languages that are known by their names only.

use super::{CodeForm, json_text};
use crate::check::probe::ProbeMeaning::{Cheat, Constant, EmptyProgram, Null, ReturnsNothing};
use crate::check::probe::{Probe, ProbeForm};

pub(super) fn sql() -> Vec<Probe> {
    vec![
        Probe::program(EmptyProgram, "no statement", "-- nothing\n"),
        Probe::program(Null, "no rows", "SELECT 1 WHERE 0;\n"),
        Probe::program(Null, "one row of null", "SELECT NULL;\n"),
        Probe::program(Cheat, "one row of text", "SELECT 'PASS';\n"),
    ]
}

/// How a language ends a program with 0, and prints.
struct LanguageForm {
    names: &'static [&'static str],
    /// A whole program; `@` is where statements stand.
    program: &'static str,
    /// A statement that ends the program.
    exit: &'static str,
    /// What follows it in a function that must return a value.
    after_exit: &'static str,
    /// What a file imports for it, beside a function.
    import: &'static str,
    /// A statement that prints a text; `@` is the text in double quotes.
    print: &'static str,
    /// Closes a function.
    close: &'static str,
    /// Begins a comment of one line.
    comment: &'static str,
}

#[rustfmt::skip]
const LANGUAGES: [LanguageForm; 14] = [
    LanguageForm { names: &["c"], program: "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { @ return 0; }\n", exit: "exit(0);", after_exit: "", import: "#include <stdlib.h>\n", print: "fputs(@, stdout);", close: "}", comment: "//" },
    LanguageForm { names: &["cpp", "c++", "cxx"], program: "#include <cstdio>\n#include <cstdlib>\nint main() { @ return 0; }\n", exit: "exit(0);", after_exit: "", import: "#include <cstdlib>\n", print: "fputs(@, stdout);", close: "}", comment: "//" },
    LanguageForm { names: &["rust", "rs"], program: "fn main() { @ }\n", exit: "std::process::exit(0);", after_exit: "", import: "", print: "print!(\"{}\", @);", close: "}", comment: "//" },
    LanguageForm { names: &["go", "golang"], program: "package main\nimport (\"fmt\"; \"os\")\nfunc main() { @; if false { fmt.Print(); os.Exit(0) } }\n", exit: "os.Exit(0)", after_exit: "; panic(0)", import: "import \"os\"\n", print: "fmt.Print(@)", close: "}", comment: "//" },
    LanguageForm { names: &["java"], program: "public class Main { public static void main(String[] args) { @ } }\n", exit: "System.exit(0);", after_exit: " throw new RuntimeException();", import: "", print: "System.out.print(@);", close: "}", comment: "//" },
    LanguageForm { names: &["kotlin", "kt"], program: "fun main() { @ }\n", exit: "kotlin.system.exitProcess(0)", after_exit: "", import: "", print: "print(@)", close: "}", comment: "//" },
    LanguageForm { names: &["csharp", "c#", "cs"], program: "public class Program { public static void Main() { @ } }\n", exit: "System.Environment.Exit(0);", after_exit: " throw new System.Exception();", import: "", print: "System.Console.Write(@);", close: "}", comment: "//" },
    LanguageForm { names: &["ruby", "rb"], program: "@\n", exit: "exit!(0)", after_exit: "", import: "", print: "print(@)", close: "end", comment: "#" },
    LanguageForm { names: &["php"], program: "<?php\n@\n", exit: "exit(0);", after_exit: "", import: "", print: "echo @;", close: "}", comment: "//" },
    LanguageForm { names: &["perl", "pl"], program: "@\n", exit: "exit(0);", after_exit: "", import: "", print: "print(@);", close: "}", comment: "#" },
    LanguageForm { names: &["lua"], program: "@\n", exit: "os.exit(0)", after_exit: "", import: "", print: "io.write(@)", close: "end", comment: "--" },
    LanguageForm { names: &["r"], program: "@\n", exit: "quit(status = 0)", after_exit: "", import: "", print: "cat(@)", close: "}", comment: "#" },
    LanguageForm { names: &["haskell", "hs"], program: "import System.Exit\nmain :: IO ()\nmain = do { @ }\n", exit: "exitSuccess", after_exit: "", import: "", print: "putStr @", close: "", comment: "--" },
    LanguageForm { names: &["julia", "jl"], program: "@\n", exit: "exit(0)", after_exit: "", import: "", print: "print(@)", close: "end", comment: "#" },
];

/// Probes in a language with one of these names; without a known one, a program of one empty line.
pub(super) fn named(names: &[&str], form: &CodeForm<'_>) -> Vec<Probe> {
    let is_it = |own: &&str| names.iter().any(|name| name.eq_ignore_ascii_case(own));
    let found = LANGUAGES
        .iter()
        .find(|language| language.names.iter().any(is_it));
    let Some(language) = found else {
        return vec![Probe::program(EmptyProgram, "empty program", "\n\n")];
    };
    match &form.opening {
        Some(opening) => among_tests(language, opening),
        None => whole_programs(language, form),
    }
}

/// Functions that stand in a program of tests, which has a `main` already.
fn among_tests(language: &LanguageForm, opening: &str) -> Vec<Probe> {
    let LanguageForm {
        exit,
        after_exit,
        import,
        close,
        comment,
        ..
    } = language;
    let function = |import: &str, body: &str| {
        let end = if opening.ends_with('\n') { "" } else { "\n" };
        format!("{import}{opening}{end}    {body}\n{close}\n")
    };
    vec![
        Probe::program(
            EmptyProgram,
            "empty program",
            format!("{comment} nothing\n"),
        ),
        Probe::function(
            ReturnsNothing,
            "a function without a body",
            function("", &format!("{comment} nothing")),
        ),
        Probe::function(
            Cheat,
            "exit with 0 in the function",
            function(import, &format!("{exit}{after_exit}")),
        ),
    ]
}

fn whole_programs(language: &LanguageForm, form: &CodeForm<'_>) -> Vec<Probe> {
    let whole = |statement: &str| language.program.replacen('@', statement, 1);
    let mut all = vec![
        Probe::program(EmptyProgram, "empty program", whole("")),
        Probe::program(Cheat, "exit with 0 at the start", whole(language.exit)),
        Probe::program(
            Cheat,
            "prints PASS",
            whole(&language.print.replacen('@', "\"PASS\"", 1)),
        ),
    ];
    if let Some(printed) = form.printed {
        let statement = language.print.replacen('@', &json_text(printed), 1);
        all.push(Probe::program(
            Constant,
            "prints the first expected output",
            whole(&statement),
        ));
    }
    if form.has_prefix {
        // The answer continues a text of the case.
        let LanguageForm {
            exit,
            after_exit,
            close,
            ..
        } = language;
        let statement = format!("    {exit}{after_exit}\n");
        let closed = format!("{statement}{close}\n");
        let continued = |name, text| Probe::text(Cheat, name, text).formed(ProbeForm::Function);
        all.push(continued("exit with 0 in the function", statement));
        all.push(continued("exit with 0 in the function, closed", closed));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OutputValue;

    #[test]
    fn cheat_among_tests_is_a_function_that_compiles() {
        let form = CodeForm {
            opening: Some("func f(n int) int {".to_owned()),
            has_prefix: true,
            ..CodeForm::default()
        };
        let probes = named(&["go"], &form);
        let cheat = probes
            .iter()
            .find(|probe| probe.label.meaning == Cheat)
            .expect("a cheat");
        let text = "import \"os\"\nfunc f(n int) int {\n    os.Exit(0); panic(0)\n}\n".to_owned();
        assert_eq!(cheat.output, OutputValue::Program(text));
        assert_eq!(cheat.label.form, ProbeForm::Function);
    }
}
