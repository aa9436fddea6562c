use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use rmcp::{Json, ServerHandler, schemars, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use validator::Validate;

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

#[derive(Deserialize, JsonSchema, Validate)]
struct AddNote {
    /// What the note is about
    #[validate(length(min = 1, max = 80))]
    title: String,
    /// Text of the note
    body: String,
    /// Words to find the note by
    #[serde(default)]
    #[validate(length(max = 10))]
    tags: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct NoteId {
    /// Number of the note
    id: NonZeroU64,
}

#[derive(Deserialize, JsonSchema, Validate)]
struct ListNotes {
    /// Only notes with this tag
    tag: Option<String>,
    /// How many notes at most
    #[serde(default = "default_limit")]
    #[validate(range(min = 1, max = 100))]
    limit: usize,
}

fn default_limit() -> usize {
    20
}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Note>>>);

#[tool_router]
impl Notes {
    #[tool(description = "Add a note")]
    fn add_note(&self, Parameters(new): Parameters<AddNote>) -> Result<Json<Note>, String> {
        new.validate().map_err(|e| e.to_string())?;
        let AddNote { title, body, tags } = new;
        let mut notes = self.0.lock().unwrap();
        let id = notes.last().map_or(1, |note| note.id + 1);
        notes.push(Note {
            id,
            title,
            body,
            tags,
        });
        Ok(Json(notes[notes.len() - 1].clone()))
    }

    #[tool(description = "Read one note")]
    fn get_note(
        &self,
        Parameters(NoteId { id }): Parameters<NoteId>,
    ) -> Result<Json<Note>, String> {
        let notes = self.0.lock().unwrap();
        let note = notes.iter().find(|note| note.id == id.get());
        let note = note.ok_or_else(|| format!("no note {id}"))?;
        Ok(Json(note.clone()))
    }

    #[tool(description = "List notes")]
    fn list_notes(&self, Parameters(list): Parameters<ListNotes>) -> Result<Json<Found>, String> {
        list.validate().map_err(|e| e.to_string())?;
        let mut notes = self.0.lock().unwrap().clone();
        notes.retain(|note| list.tag.as_ref().is_none_or(|tag| note.tags.contains(tag)));
        let total = notes.len();
        notes.truncate(list.limit);
        Ok(Json(Found { notes, total }))
    }

    #[tool(description = "Delete a note", annotations(destructive_hint = true))]
    fn delete_note(&self, Parameters(NoteId { id }): Parameters<NoteId>) -> Json<Deleted> {
        let mut notes = self.0.lock().unwrap();
        let before = notes.len();
        notes.retain(|note| note.id != id.get());
        let deleted = notes.len() < before;
        Json(Deleted { deleted })
    }

    #[tool(
        description = "Count notes and words",
        annotations(read_only_hint = true)
    )]
    fn stats(&self) -> Json<Stats> {
        let notes = self.0.lock().unwrap();
        let words = notes
            .iter()
            .map(|n| n.body.split_whitespace().count())
            .sum();
        let notes = notes.len();
        Json(Stats { notes, words })
    }
}

#[tool_handler(name = "notes", version = "1.0.0")]
impl ServerHandler for Notes {}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let notes = Notes::default();
    let service = StreamableHttpService::new(
        move || Ok(notes.clone()),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    axum::serve(listener, router).await
}
