//! What was checked, by kind of message and revision.
//!
//! One row for each result, notification and request that a server sends, and for each code of an error; one column a revision. A
//! cell holds how many messages were checked; `-` stands where the protocol has no such message in that revision. Rows of tasks
//! are not here: the library has none.

use std::collections::BTreeMap;

use serde_json::Value;

/// Oldest first.
const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Columns of a row, the first and the last: all, the four with a handshake, and the one without.
const ALL: (usize, usize) = (0, 4);
const LEGACY: (usize, usize) = (0, 3);
const MODERN: (usize, usize) = (4, 4);

/// What exists, and from which column to which.
const ROWS: &[(&str, (usize, usize))] = &[
    ("result of initialize", LEGACY),
    ("result of ping", LEGACY),
    ("result of server/discover", MODERN),
    ("result of tools/list", ALL),
    ("result of tools/call", ALL),
    ("result of resources/list", ALL),
    ("result of resources/templates/list", ALL),
    ("result of resources/read", ALL),
    ("result of resources/subscribe", LEGACY),
    ("result of resources/unsubscribe", LEGACY),
    ("result of subscriptions/listen", MODERN),
    ("result of prompts/list", ALL),
    ("result of prompts/get", ALL),
    ("result of completion/complete", ALL),
    ("result of logging/setLevel", LEGACY),
    ("input required by tools/call", MODERN),
    ("input required by resources/read", MODERN),
    ("input required by prompts/get", MODERN),
    ("request ping", LEGACY),
    // Sent by itself, and within what an `input_required` result asks for.
    ("request sampling/createMessage", ALL),
    ("request roots/list", ALL),
    ("request elicitation/create", (2, 4)),
    // In 2026-07-28 only for a listening request whose result cannot be sent, and it always can (A1, CANC-6).
    ("notifications/cancelled", LEGACY),
    ("notifications/progress", ALL),
    ("notifications/message", ALL),
    ("notifications/tools/list_changed", ALL),
    ("notifications/prompts/list_changed", ALL),
    ("notifications/resources/list_changed", ALL),
    ("notifications/resources/updated", ALL),
    ("notifications/elicitation/complete", (3, 3)),
    ("notifications/subscriptions/acknowledged", MODERN),
    ("error -32700", ALL),
    ("error -32600", ALL),
    ("error -32601", ALL),
    ("error -32602", ALL),
    ("error -32603", ALL),
    ("error -32020", MODERN),
    ("error -32021", MODERN),
    ("error -32022", MODERN),
    ("error -32002", LEGACY),
    ("error -32042", (3, 3)),
    (APPLICATION, ALL),
];

/// A code that a handler chose.
const APPLICATION: &str = "error of the application";

/// The counts.
#[derive(Debug, Default)]
pub(crate) struct Matrix(BTreeMap<String, [usize; REVISIONS.len()]>);

impl Matrix {
    /// Counts one message of a transcript.
    ///
    /// # Errors
    ///
    /// If the protocol has no such message in its revision.
    pub(crate) fn count(&mut self, revision: &str, answers: Option<&str>, message: &Value) -> Result<(), String> {
        let column = REVISIONS.iter().position(|known| *known == revision);
        let column = column.ok_or_else(|| format!("there is no revision {revision}"))?;
        let mut strays = Vec::new();
        for row in rows(answers, message) {
            if !exists(&row, column) {
                strays.push(format!("{revision} has no {row}"));
            }
            self.0.entry(row).or_default()[column] += 1;
        }
        if strays.is_empty() { Ok(()) } else { Err(strays.join(", ")) }
    }

    /// The table; rows that the protocol has not, such as results of an extension, come last.
    pub(crate) fn print(&self) {
        println!(
            "{:<42} {}",
            "checked against the schema",
            REVISIONS.map(|revision| format!("{revision:>11}")).join("")
        );
        let listed = ROWS.iter().map(|(row, _)| *row);
        let others = self.0.keys().map(String::as_str).filter(|row| !ROWS.iter().any(|(known, _)| known == row));
        for row in listed.chain(others) {
            let cells: Vec<String> = (0..REVISIONS.len()).map(|column| self.cell(row, column)).collect();
            println!("{row:<42} {}", cells.concat());
        }
    }

    /// How many cells should hold something and hold nothing.
    pub(crate) fn empty(&self) -> usize {
        let cells = ROWS.iter().flat_map(|(row, (first, last))| (*first..=*last).map(move |column| (*row, column)));
        cells.filter(|(row, column)| self.at(row, *column) == 0).count()
    }

    fn cell(&self, row: &str, column: usize) -> String {
        match (self.at(row, column), exists(row, column)) {
            (0, true) if ROWS.iter().any(|(known, _)| *known == row) => format!("{:>11}", "EMPTY"),
            (0, _) => format!("{:>11}", "-"),
            (count, _) => format!("{count:>11}"),
        }
    }

    fn at(&self, row: &str, column: usize) -> usize {
        self.0.get(row).map_or(0, |counts| counts[column])
    }
}

/// Whether the protocol has it in that revision. Results of extensions exist wherever they were declared; an error that is not
/// listed exists nowhere (ERR-1), nor does the answer to nothing.
fn exists(row: &str, column: usize) -> bool {
    match ROWS.iter().find(|(known, _)| *known == row) {
        Some((_, (first, last))) => (*first..=*last).contains(&column),
        None => row.starts_with("result of ") && row != "result of ?",
    }
}

/// The rows that a message counts for: its own, and one for each request that it carries.
fn rows(answers: Option<&str>, message: &Value) -> Vec<String> {
    if let Some(method) = message["method"].as_str() {
        return vec![if message.get("id").is_some() { format!("request {method}") } else { method.to_owned() }];
    }
    if message.get("error").is_some() {
        let code = message["error"]["code"].as_i64().unwrap_or(0);
        return vec![if (-32768..=-32000).contains(&code) { format!("error {code}") } else { APPLICATION.to_owned() }];
    }
    let method = answers.unwrap_or("?");
    if message["result"]["resultType"] != "input_required" {
        return vec![format!("result of {method}")];
    }
    let asked = message["result"]["inputRequests"].as_object().into_iter().flat_map(serde_json::Map::values);
    let asked = asked.filter_map(|request| request["method"].as_str()).map(|method| format!("request {method}"));
    std::iter::once(format!("input required by {method}")).chain(asked).collect()
}
