//! The thin binary: everything is in the library.

fn main() -> std::process::ExitCode {
    eval_harness::cli::main()
}
