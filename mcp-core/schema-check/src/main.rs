//! Holds every message of a transcript against the JSON Schema of its revision.
//!
//! ```text
//! schema-check [--whole] TRANSCRIPT SCHEMAS
//! ```
//!
//! `TRANSCRIPT` is the folder that the tests were given as `MCP_TRANSCRIPT`; `SCHEMAS` holds `2024-11-05.json` and so on. A
//! message is checked as what it is: a notification or request by its method, an error by its code, a result by the method
//! that it answers. A message that its revision does not have is a failure. It prints a table of what was checked, then
//! `N passed, N failed`; with `--whole`, nothing may be missing in the table.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod matrix;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::ExitCode;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::matrix::Matrix;

const NEWEST: &str = "2026-07-28";
/// The first revision whose schema allows an error without an id; older ones cannot say "unreadable" at all (A17).
const ID_OPTIONAL: &str = "2025-11-25";

/// What a message is called in the schemas: by method for notifications and requests, by answered method for results.
const NAMES: &[(&str, &str)] = &[
    ("notifications/cancelled", "CancelledNotification"),
    ("notifications/progress", "ProgressNotification"),
    ("notifications/message", "LoggingMessageNotification"),
    ("notifications/tools/list_changed", "ToolListChangedNotification"),
    ("notifications/prompts/list_changed", "PromptListChangedNotification"),
    ("notifications/resources/list_changed", "ResourceListChangedNotification"),
    ("notifications/resources/updated", "ResourceUpdatedNotification"),
    ("notifications/subscriptions/acknowledged", "SubscriptionsAcknowledgedNotification"),
    ("notifications/elicitation/complete", "ElicitationCompleteNotification"),
    ("ping", "PingRequest"),
    ("sampling/createMessage", "CreateMessageRequest"),
    ("elicitation/create", "ElicitRequest"),
    ("roots/list", "ListRootsRequest"),
];

const RESULTS: &[(&str, &str)] = &[
    ("initialize", "InitializeResult"),
    ("server/discover", "DiscoverResult"),
    ("ping", "EmptyResult"),
    ("logging/setLevel", "EmptyResult"),
    ("resources/subscribe", "EmptyResult"),
    ("resources/unsubscribe", "EmptyResult"),
    ("tools/list", "ListToolsResult"),
    ("tools/call", "CallToolResult"),
    ("prompts/list", "ListPromptsResult"),
    ("prompts/get", "GetPromptResult"),
    ("resources/list", "ListResourcesResult"),
    ("resources/templates/list", "ListResourceTemplatesResult"),
    ("resources/read", "ReadResourceResult"),
    ("completion/complete", "CompleteResult"),
    ("subscriptions/listen", "SubscriptionsListenResult"),
];

/// Errors that a revision describes whole.
const ERRORS: &[(i64, &str, &str)] = &[
    (-32020, NEWEST, "HeaderMismatchError"),
    (-32021, NEWEST, "MissingRequiredClientCapabilityError"),
    (-32022, NEWEST, "UnsupportedProtocolVersionError"),
    (-32042, "2025-11-25", "URLElicitationRequiredError"),
];

fn main() -> ExitCode {
    let (flags, folders): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let ([transcript, schemas], [] | ["--whole"]) =
        (folders.as_slice(), &*flags.iter().map(|flag| &**flag).collect::<Vec<_>>())
    else {
        eprintln!("usage: schema-check [--whole] TRANSCRIPT SCHEMAS");
        return ExitCode::from(2);
    };
    match run(Path::new(transcript), Path::new(schemas)) {
        Ok(mut report) => {
            report.print(!flags.is_empty());
            if report.failed == 0 && report.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(why) => {
            eprintln!("schema-check: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(transcript: &Path, schemas: &Path) -> Result<Report, String> {
    let mut schemas = Schemas { folder: schemas.to_path_buf(), texts: HashMap::new(), compiled: HashMap::new() };
    let mut report = Report::default();
    let files = std::fs::read_dir(transcript).map_err(|error| format!("{}: {error}", transcript.display()))?;
    for file in files {
        let path = file.map_err(|error| error.to_string())?.path();
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()))?;
            report.check(&entry, &mut schemas)?;
        }
    }
    Ok(report)
}

/// The schemas, compiled as they are asked for.
struct Schemas {
    folder: std::path::PathBuf,
    texts: HashMap<String, Value>,
    compiled: HashMap<(String, String), Option<Validator>>,
}

impl Schemas {
    /// The definition of that name in that revision; `None` if the revision has none.
    fn definition(&mut self, revision: &str, name: &str) -> Result<Option<&Validator>, String> {
        if !self.texts.contains_key(revision) {
            let path = self.folder.join(format!("{revision}.json"));
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let schema = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
            self.texts.insert(revision.to_owned(), schema);
        }
        let key = (revision.to_owned(), name.to_owned());
        if !self.compiled.contains_key(&key) {
            let compiled = compile(&self.texts[revision], name)?;
            self.compiled.insert(key.clone(), compiled);
        }
        Ok(self.compiled[&key].as_ref())
    }
}

fn compile(schema: &Value, name: &str) -> Result<Option<Validator>, String> {
    let definitions = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
    if schema[definitions].get(name).is_none() {
        return Ok(None);
    }
    let mut root = json!({"$schema": schema["$schema"], "$ref": format!("#/{definitions}/{name}")});
    root[definitions] = schema[definitions].clone();
    jsonschema::validator_for(&root).map(Some).map_err(|error| format!("{name}: {error}"))
}

#[derive(Default)]
struct Report {
    passed: usize,
    failed: usize,
    matrix: Matrix,
    complaints: BTreeSet<String>,
}

impl Report {
    fn check(&mut self, entry: &Value, schemas: &mut Schemas) -> Result<(), String> {
        let message = &entry["message"];
        let revision = entry["revision"].as_str().unwrap_or(NEWEST);
        let mut complaints: Vec<String> =
            self.matrix.count(revision, entry["answers"].as_str(), message).err().into_iter().collect();
        let lacks_id = message.get("error").is_some() && message.get("id").is_none();
        let revision = if lacks_id && revision < ID_OPTIONAL { ID_OPTIONAL } else { revision };
        let mut checks = vec![("JSONRPCMessage".to_owned(), message)];
        checks.extend(classify(message, entry["answers"].as_str(), revision));
        for (name, part) in checks {
            match schemas.definition(revision, &name)? {
                None => complaints.push(format!("{revision} has no {name}")),
                Some(validator) => complaints.extend(
                    validator.iter_errors(part).map(|error| format!("{name}{}: {error}", error.instance_path())),
                ),
            }
        }
        if complaints.is_empty() {
            self.passed += 1;
        } else {
            self.failed += 1;
            self.complaints.insert(format!("{revision}: {message}\n    {}", complaints.join("\n    ")));
        }
        Ok(())
    }

    /// Prints everything; what is missing counts as failed if the table is to be whole.
    fn print(&mut self, whole: bool) {
        self.matrix.print();
        for complaint in self.complaints.iter().take(20) {
            println!("FAILED {complaint}");
        }
        let empty = self.matrix.empty();
        if empty > 0 {
            println!("nothing was checked of {empty} cells");
        }
        if whole {
            self.failed += empty;
        }
        println!("{} passed, {} failed", self.passed, self.failed);
    }
}

/// The definition that describes a message, and the part that it describes. Results of extensions have none.
fn classify<'a>(message: &'a Value, answers: Option<&str>, revision: &str) -> Option<(String, &'a Value)> {
    let find = |table: &[(&str, &str)], key: &str| {
        table.iter().find(|(method, _)| *method == key).map(|(_, name)| (*name).to_owned())
    };
    if let Some(method) = message["method"].as_str() {
        return find(NAMES, method).map(|name| (name, message));
    }
    if message.get("error").is_some() {
        let code = message["error"]["code"].as_i64().unwrap_or(0);
        let known = ERRORS.iter().find(|(number, since, _)| (*number, *since) == (code, revision));
        let generic = if revision < ID_OPTIONAL { "JSONRPCError" } else { "JSONRPCErrorResponse" };
        return Some((known.map_or(generic, |(_, _, name)| name).to_owned(), message));
    }
    let result = &message["result"];
    if result["resultType"] == "input_required" {
        return Some(("InputRequiredResult".to_owned(), result));
    }
    find(RESULTS, answers.unwrap_or_default()).map(|name| (name, result))
}
