use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use turbomcp::prelude::*;

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
struct Title(#[schemars(length(min = 1, max = 80))] String);

#[derive(Deserialize, JsonSchema)]
struct Tags(#[schemars(length(max = 10))] Vec<String>);

#[derive(Deserialize, JsonSchema)]
#[schemars(extend("default" = 20))]
struct Limit(#[schemars(range(min = 1, max = 100))] usize);

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Note>>>);

#[server(name = "notes", version = "1.0.0")]
impl Notes {
    #[tool("Add a note")]
    async fn add_note(
        &self,
        #[description("What the note is about")] title: Title,
        #[description("Text of the note")] body: String,
        #[description("Words to find the note by")] tags: Option<Tags>,
    ) -> McpResult<Json<Note>> {
        let (title, tags) = (title.0, tags.map(|tags| tags.0).unwrap_or_default());
        if !(1..=80).contains(&title.chars().count()) {
            return Err(McpError::invalid_params("title has 1 to 80 characters"));
        }
        if tags.len() > 10 {
            return Err(McpError::invalid_params("at most 10 tags"));
        }
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

    #[tool("Read one note")]
    async fn get_note(
        &self,
        #[description("Number of the note")] id: NonZeroU64,
    ) -> McpResult<Json<Note>> {
        let notes = self.0.lock().unwrap();
        let note = notes.iter().find(|note| note.id == id.get());
        let note = note.ok_or_else(|| McpError::invalid_params(format!("no note {id}")))?;
        Ok(Json(note.clone()))
    }

    #[tool("List notes")]
    async fn list_notes(
        &self,
        #[description("Only notes with this tag")] tag: Option<String>,
        #[description("How many notes at most")] limit: Option<Limit>,
    ) -> McpResult<Json<Found>> {
        let limit = limit.map_or(20, |limit| limit.0);
        if !(1..=100).contains(&limit) {
            return Err(McpError::invalid_params("limit is 1 to 100"));
        }
        let mut notes = self.0.lock().unwrap().clone();
        notes.retain(|note| tag.as_ref().is_none_or(|tag| note.tags.contains(tag)));
        let total = notes.len();
        notes.truncate(limit);
        Ok(Json(Found { notes, total }))
    }

    #[tool(description = "Delete a note", destructive = true)]
    async fn delete_note(
        &self,
        #[description("Number of the note")] id: NonZeroU64,
    ) -> Json<Deleted> {
        let mut notes = self.0.lock().unwrap();
        let before = notes.len();
        notes.retain(|note| note.id != id.get());
        let deleted = notes.len() < before;
        Json(Deleted { deleted })
    }

    #[tool(description = "Count notes and words", read_only = true)]
    async fn stats(&self) -> Json<Stats> {
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
async fn main() -> McpResult<()> {
    Notes::default().run_http("127.0.0.1:8000").await
}
