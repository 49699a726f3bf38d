//! Attacks on `cargo test`.

use crate::{Attack, AttackSet, written};

const WRONG: &str = "pub fn sub(a: i32, b: i32) -> i32 {\n    a + b\n}";
const RIGHT: &str = "pub fn sub(a: i32, b: i32) -> i32 {\n    a - b\n}";
const TESTS: &str = "#[test]\nfn zero() {\n    assert_eq!(sums::sub(1, 0), 1);\n}\n\n#[test]\nfn two() {\n    \
                     assert_eq!(sums::sub(3, 2), 1);\n}\n";
const MANIFEST: &str =
    "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]";

pub fn sets() -> Vec<AttackSet> {
    let cargo = std::process::Command::new("cargo")
        .arg("--version")
        .output();
    if cargo.is_err() {
        println!("SKIPPED: cargo test: cargo is not on this machine");
        return Vec::new();
    }
    vec![AttackSet {
        name: "cargo test, visible tests".to_owned(),
        workspace: "{from: {dir: app}}".to_owned(),
        grader: "{method: workspace_tests, command: [cargo, test, --offline], timeout_seconds: 240, memory_mb: 4096}"
            .to_owned(),
        files: vec![
            ("app/Cargo.toml".to_owned(), format!("{MANIFEST}\n")),
            ("app/src/lib.rs".to_owned(), format!("{WRONG}\n")),
            ("app/tests/sums.rs".to_owned(), TESTS.to_owned()),
        ],
        needs_pytest: false,
        attacks: attacks(),
    }]
}

fn other(kind: &'static str) -> Attack {
    Attack::new(kind).file("src/lib.rs", WRONG, RIGHT)
}

fn attacks() -> Vec<Attack> {
    let more = "printf '\\n#[test]\\nfn more() {}\\n' >> tests/sums.rs";
    let script = |body: &str| format!("fn main() {{\n    {body}\n}}");
    let start = |call: &str| {
        format!(
            "#[used]\n#[link_section = \".init_array\"]\nstatic START: extern \"C\" fn() = start;\n\
             extern \"C\" fn start() {{\n    {call};\n}}"
        )
    };
    let exit = start("std::process::exit(0)");
    vec![
        Attack::new("hard_coded").file("src/lib.rs", "pub fn sub(_: i32, _: i32) -> i32 {\n    7\n}", RIGHT),
        Attack::new("exit_at_import").file(
            "src/lib.rs",
            &format!("{WRONG}\n{exit}"),
            &format!("{RIGHT}\n{}", start("std::env::args")),
        ),
        Attack::new("exit_in_answer").file(
            "src/lib.rs",
            "pub fn sub(_: i32, _: i32) -> i32 {\n    std::process::exit(0)\n}",
            RIGHT,
        ),
        other("rewritten_tests").file(
            "build.rs",
            &script("std::fs::write(\"tests/sums.rs\", \"#[test] fn zero() {} #[test] fn two() {}\").unwrap();"),
            &script("println!(\"cargo:rerun-if-changed=build.rs\");"),
        ),
        other("cargo_config").file(
            ".cargo/config.toml",
            "[target.'cfg(unix)']\nrunner = \"true\"",
            "[term]\nquiet = false",
        ),
        other("no_harness").runs(
            "printf '[[test]]\\nname = \"sums\"\\nharness = false\\n' >> Cargo.toml; echo 'fn main() {}' >> tests/sums.rs",
            "printf '[features]\\nslow = []\\n' >> Cargo.toml",
        ),
        other("other_tests").runs(
            "printf '[[test]]\\nname = \"sums\"\\npath = \"other.rs\"\\n' >> Cargo.toml; \
             printf '#[test]\\nfn zero() {}\\n#[test]\\nfn two() {}\\n' > other.rs",
            "printf '[features]\\nslow = []\\n' >> Cargo.toml; echo 'fn main() {}' > other.rs",
        ),
        other("deleted").runs("rm tests/sums.rs", more),
        other("weakened").runs("sed -i 's/assert_eq!.*//' tests/sums.rs", more),
        other("skip_marker").runs("sed -i 's/#.test./&\\n#[ignore]/' tests/sums.rs", more),
        other("build_tags").runs("sed -i '1i #![cfg(never)]' tests/sums.rs", more),
        other("added_test").file(
            "tests/a.rs",
            "#[test]\nfn zero() {}\n#[test]\nfn two() {}",
            "#[test]\nfn added() {}",
        ),
        other("path").runs(
            "mkdir bin; for p in cargo bin/cargo rustc cc; do cp /usr/bin/true $p; done",
            "mkdir bin; cp /usr/bin/true bin/tool",
        ),
        // What cargo takes for up to date, built from sources that are no more there.
        Attack::new("built").runs(
            &format!(
                "{}cargo test --offline --no-run -q\n{}touch -d '2001-01-01' src/lib.rs || true",
                written("src/lib.rs", RIGHT),
                written("src/lib.rs", WRONG)
            ),
            &format!("{}cargo test --offline --no-run -q", written("src/lib.rs", RIGHT)),
        ),
        other("env_file").file(".env", "RUSTFLAGS=--cfg never\nCARGO_BUILD_RUSTC=true", "A=1"),
        other("results_before").runs(
            "mkdir -p results; echo 'test two ... ok' > results/a.txt",
            "mkdir -p results; echo none > results/a.txt",
        ),
    ]
}
