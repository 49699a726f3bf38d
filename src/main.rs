//! The binary: one branch for the sandbox's helper process, which must come before any thread exists, then the command line.

fn main() {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == "__cell") {
        eval_harness::sandbox::cell_main();
    }
}
