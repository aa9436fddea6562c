use std::sync::Mutex;

use mcp_server::{Json, Server, tool, tools};
use schemars::JsonSchema;
use serde::Serialize;

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

#[derive(Default)]
struct Notes(Mutex<Vec<Note>>);

#[tools]
impl Notes {
    /// Add a note
    #[tool]
    fn add_note(
        &self,
        #[arg(desc = "What the note is about", min_length = 1, max_length = 80)] title: String,
        #[arg(desc = "Text of the note")] body: String,
        #[arg(desc = "Words to find the note by", default, max_items = 10)] tags: Vec<String>,
    ) -> Json<Note> {
        let mut notes = self.0.lock().unwrap();
        let id = notes.last().map_or(1, |note| note.id + 1);
        notes.push(Note {
            id,
            title,
            body,
            tags,
        });
        Json(notes[notes.len() - 1].clone())
    }

    /// Read one note
    #[tool]
    fn get_note(
        &self,
        #[arg(desc = "Number of the note", min = 1)] id: u64,
    ) -> Result<Json<Note>, String> {
        let notes = self.0.lock().unwrap();
        let note = notes.iter().find(|note| note.id == id);
        let note = note.ok_or_else(|| format!("no note {id}"))?;
        Ok(Json(note.clone()))
    }

    /// List notes
    #[tool]
    fn list_notes(
        &self,
        #[arg(desc = "Only notes with this tag")] tag: Option<String>,
        #[arg(desc = "How many notes at most", default = 20, min = 1, max = 100)] limit: usize,
    ) -> Json<Found> {
        let mut notes = self.0.lock().unwrap().clone();
        notes.retain(|note| tag.as_ref().is_none_or(|tag| note.tags.contains(tag)));
        let total = notes.len();
        notes.truncate(limit);
        Json(Found { notes, total })
    }

    /// Delete a note
    #[tool(destructive)]
    fn delete_note(&self, #[arg(desc = "Number of the note", min = 1)] id: u64) -> Json<Deleted> {
        let mut notes = self.0.lock().unwrap();
        let before = notes.len();
        notes.retain(|note| note.id != id);
        let deleted = notes.len() < before;
        Json(Deleted { deleted })
    }

    /// Count notes and words
    #[tool(read_only)]
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

#[tokio::main]
async fn main() -> mcp_server::Result<()> {
    Server::new("notes", "1.0.0")
        .tools(Notes::default())
        .allow_unguarded(["delete_note"])
        .serve_http("127.0.0.1:8000")
        .await
}
