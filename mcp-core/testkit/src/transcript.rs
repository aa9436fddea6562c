//! Everything that a server sends, written down so that it can be held against the published schemas.
//!
//! One file a process in the folder that `MCP_TRANSCRIPT` names, one JSON object a line:
//! `{"revision", "answers", "message"}`, where `answers` is the method of the request that a response answers, or null.
//! Without the variable nothing is written.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use serde_json::{Value, json};

/// Writes one message down.
pub fn write(revision: &str, answers: Option<&str>, message: &Value) {
    let Some(file) = file() else { return };
    let line = json!({"revision": revision, "answers": answers, "message": message});
    if let Ok(mut file) = file.lock() {
        // A transcript that cannot be written would hide what it is for.
        writeln!(file, "{line}").expect("the transcript can be written");
    }
}

fn file() -> Option<&'static Mutex<File>> {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    FILE.get_or_init(|| open("MCP_TRANSCRIPT")).as_ref()
}

/// A file for this process in the folder that the variable names, if it is set.
pub(crate) fn open(variable: &str) -> Option<Mutex<File>> {
    let folder = std::env::var_os(variable)?;
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let program = std::env::args().next().unwrap_or_default();
    let program = Path::new(&program).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = format!("{}-{}.jsonl", program.unwrap_or_default(), std::process::id());
    Some(Mutex::new(File::create(Path::new(&folder).join(name)).expect("the file can be made")))
}
