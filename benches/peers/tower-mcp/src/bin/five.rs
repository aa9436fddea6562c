use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tower_mcp::extract::{Json, State};
use tower_mcp::{CallToolResult, Error, HttpTransport, McpRouter, ToolBuilder};

#[derive(Clone, Serialize, JsonSchema)]
struct Note {
    id: u64,
    title: String,
    body: String,
    tags: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    notes: Vec<Note>,
    total: usize,
}

#[derive(Serialize, JsonSchema)]
struct Deleted {
    deleted: bool,
}

#[derive(Serialize, JsonSchema)]
struct Stats {
    notes: usize,
    words: usize,
}

#[derive(Deserialize, JsonSchema)]
struct AddNote {
    /// What the note is about
    #[schemars(length(min = 1, max = 80))]
    title: String,
    /// Text of the note
    body: String,
    /// Words to find the note by
    #[serde(default)]
    #[schemars(length(max = 10))]
    tags: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct NoteId {
    /// Number of the note
    #[schemars(range(min = 1))]
    id: u64,
}

#[derive(Deserialize, JsonSchema)]
struct ListNotes {
    /// Only notes with this tag
    tag: Option<String>,
    /// How many notes at most
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
}

fn default_limit() -> usize {
    20
}

type Notes = Arc<Mutex<Vec<Note>>>;

#[tokio::main]
async fn main() -> tower_mcp::Result<()> {
    let notes = Notes::default();

    let add_note = ToolBuilder::new("add_note")
        .description("Add a note")
        .output_schema_for::<Note>()
        .extractor_handler(
            notes.clone(),
            |State(notes): State<Notes>, Json(new): Json<AddNote>| async move {
                let AddNote { title, body, tags } = new;
                let mut notes = notes.lock().unwrap();
                let id = notes.last().map_or(1, |note| note.id + 1);
                notes.push(Note {
                    id,
                    title,
                    body,
                    tags,
                });
                CallToolResult::from_serialize(&notes[notes.len() - 1])
            },
        )
        .build();

    let get_note = ToolBuilder::new("get_note")
        .description("Read one note")
        .output_schema_for::<Note>()
        .extractor_handler(
            notes.clone(),
            |State(notes): State<Notes>, Json(NoteId { id }): Json<NoteId>| async move {
                let notes = notes.lock().unwrap();
                let note = notes.iter().find(|note| note.id == id);
                let note = note.ok_or_else(|| Error::tool(format!("no note {id}")))?;
                CallToolResult::from_serialize(note)
            },
        )
        .build();

    let list_notes = ToolBuilder::new("list_notes")
        .description("List notes")
        .output_schema_for::<Found>()
        .extractor_handler(
            notes.clone(),
            |State(notes): State<Notes>, Json(list): Json<ListNotes>| async move {
                let mut notes = notes.lock().unwrap().clone();
                notes.retain(|note| list.tag.as_ref().is_none_or(|tag| note.tags.contains(tag)));
                let total = notes.len();
                notes.truncate(list.limit);
                CallToolResult::from_serialize(&Found { notes, total })
            },
        )
        .build();

    let delete_note = ToolBuilder::new("delete_note")
        .description("Delete a note")
        .destructive()
        .output_schema_for::<Deleted>()
        .extractor_handler(
            notes.clone(),
            |State(notes): State<Notes>, Json(NoteId { id }): Json<NoteId>| async move {
                let mut notes = notes.lock().unwrap();
                let before = notes.len();
                notes.retain(|note| note.id != id);
                let deleted = notes.len() < before;
                CallToolResult::from_serialize(&Deleted { deleted })
            },
        )
        .build();

    let stats = ToolBuilder::new("stats")
        .description("Count notes and words")
        .read_only()
        .output_schema_for::<Stats>()
        .extractor_handler(notes, |State(notes): State<Notes>| async move {
            let notes = notes.lock().unwrap();
            let words = notes
                .iter()
                .map(|n| n.body.split_whitespace().count())
                .sum();
            let notes = notes.len();
            CallToolResult::from_serialize(&Stats { notes, words })
        })
        .build();

    let router = McpRouter::new()
        .server_info("notes", "1.0.0")
        .tool(add_note)
        .tool(get_note)
        .tool(list_notes)
        .tool(delete_note)
        .tool(stats);
    HttpTransport::new(router).serve("127.0.0.1:8000").await
}
