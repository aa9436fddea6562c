//! What an author is told of likely mistakes. `TRYBUILD=overwrite cargo test --test messages` writes what is told now.
//!
//! - `messages/fail`: what the macros say, the same with every compiler.
//! - `messages/compiler`: what the compiler says with the help of attributes; compared only with the compiler that it was written with.
//! - `messages/pass`: what is right.

use std::io::Write as _;
use std::process::Command;

/// The compiler whose words are in `messages/compiler`.
const WRITTEN_WITH: &str = "rustc 1.95.0 ";

#[test]
fn mistakes_are_told_where_they_are_and_with_a_remedy() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/messages/pass/*.rs");
    cases.compile_fail("tests/messages/fail/*.rs");
    let version = version();
    if version.starts_with(WRITTEN_WITH) {
        cases.compile_fail("tests/messages/compiler/*.rs");
    } else {
        // Not `eprintln`, which the harness would hide.
        let note = format!(
            "\nNOT COMPARED: tests/messages/compiler was written with {WRITTEN_WITH}and this is {version}: use `cargo +1.95.0 test`\n"
        );
        std::io::stderr().write_all(note.as_bytes()).expect("stderr can be written");
    }
}

fn version() -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("the compiler tells its version");
    String::from_utf8(output.stdout).expect("the version is a text").trim().into()
}
