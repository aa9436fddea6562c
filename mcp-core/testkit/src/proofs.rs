//! What a test proves, where its name has no room for it.
//!
//! `.ci/rules` collects the ids of rules and cases from the names of the tests that passed, and from what they said here.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock};

use serde_json::json;

/// Claims rules (`HTTP-41`) and cases (`CASE-76`) for the test that calls it.
///
/// It claims them wherever in the test it stands: `.ci/rules` takes claims of tests that passed only. One file a process in the
/// folder that `MCP_PROOFS` names, one JSON object a line: `{"test", "ids"}`, where `test` is null if the tests run on one
/// thread. Without the variable nothing is written.
///
/// # Panics
///
/// If an id does not read like one, so that a slip is found by the test itself.
pub fn proves(ids: &[&str]) {
    for id in ids {
        let (kind, number) = id.rsplit_once('-').unwrap_or_default();
        let reads =
            !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_uppercase()) && number.parse::<u16>().is_ok();
        assert!(reads, "{id:?} is no id of a rule or case: they read like HTTP-41 or CASE-76");
    }
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let Some(file) = FILE.get_or_init(|| crate::transcript::open("MCP_PROOFS")).as_ref() else { return };
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main");
    if let Ok(mut file) = file.lock() {
        writeln!(file, "{}", json!({"test": test, "ids": ids})).expect("what is proved can be written down");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_like_no_id_is_found_out() {
        proves(&[]);
        for slip in ["HTTP41", "http-41", "HTTP-", "-41", "HTTP-4-1a", ""] {
            assert!(std::panic::catch_unwind(|| proves(&[slip])).is_err(), "{slip}");
        }
    }
}
