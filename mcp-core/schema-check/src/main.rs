//! Holds every message of a transcript against the JSON Schema of its revision.
//!
//! ```text
//! schema-check TRANSCRIPT SCHEMAS
//! ```
//!
//! `TRANSCRIPT` is the folder that the tests were given as `MCP_TRANSCRIPT`; `SCHEMAS` holds `2024-11-05.json` and so on. A
//! message is checked as what it is: a notification or request by its method, an error by its code, a result by the method
//! that it answers. It prints a table of what was checked, then `N passed, N failed`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::ExitCode;

use jsonschema::Validator;
use serde_json::{Value, json};

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

/// Errors that the newest revision describes one by one.
const ERRORS: &[(i64, &str)] = &[
    (-32020, "HeaderMismatchError"),
    (-32021, "MissingRequiredClientCapabilityError"),
    (-32022, "UnsupportedProtocolVersionError"),
];

fn main() -> ExitCode {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    let [transcript, schemas] = folders.as_slice() else {
        eprintln!("usage: schema-check TRANSCRIPT SCHEMAS");
        return ExitCode::from(2);
    };
    match run(Path::new(transcript), Path::new(schemas)) {
        Ok(report) => {
            report.print();
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
    /// What was checked, by revision.
    seen: BTreeMap<String, BTreeMap<String, usize>>,
    complaints: BTreeSet<String>,
}

impl Report {
    fn check(&mut self, entry: &Value, schemas: &mut Schemas) -> Result<(), String> {
        let message = &entry["message"];
        let revision = entry["revision"].as_str().unwrap_or(NEWEST);
        let lacks_id = message.get("error").is_some() && message.get("id").is_none();
        let revision = if lacks_id && revision < ID_OPTIONAL { ID_OPTIONAL } else { revision };
        let mut checks = vec![("JSONRPCMessage".to_owned(), message)];
        let what = match classify(message, entry["answers"].as_str(), revision) {
            Ok((name, part)) => {
                checks.push((name.clone(), part));
                name
            }
            Err(what) => what,
        };
        *self.seen.entry(what).or_default().entry(revision.to_owned()).or_default() += 1;
        let mut complaints = Vec::new();
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

    fn print(&self) {
        println!("{:<42} messages by revision", "checked against the schema");
        for (what, revisions) in &self.seen {
            let counts: Vec<String> =
                revisions.iter().map(|(revision, count)| format!("{revision}: {count}")).collect();
            println!("{what:<42} {}", counts.join(", "));
        }
        for complaint in self.complaints.iter().take(20) {
            println!("FAILED {complaint}");
        }
        println!("{} passed, {} failed", self.passed, self.failed);
    }
}

/// The definition that describes a message, and the part that it describes; else what to call the message.
fn classify<'a>(message: &'a Value, answers: Option<&str>, revision: &str) -> Result<(String, &'a Value), String> {
    let find = |table: &[(&str, &str)], key: &str| {
        table.iter().find(|(method, _)| *method == key).map(|(_, name)| (*name).to_owned())
    };
    if let Some(method) = message["method"].as_str() {
        return find(NAMES, method).map(|name| (name, message)).ok_or_else(|| format!("other: {method}"));
    }
    if message.get("error").is_some() {
        let code = message["error"]["code"].as_i64().unwrap_or(0);
        let known = ERRORS.iter().find(|(number, _)| *number == code && revision == NEWEST);
        let generic = if revision < ID_OPTIONAL { "JSONRPCError" } else { "JSONRPCErrorResponse" };
        return Ok((known.map_or(generic, |(_, name)| name).to_owned(), message));
    }
    let result = &message["result"];
    if result["resultType"] == "input_required" {
        return Ok(("InputRequiredResult".to_owned(), result));
    }
    let method = answers.unwrap_or_default();
    find(RESULTS, method).map(|name| (name, result)).ok_or_else(|| format!("other: result of {method}"))
}
