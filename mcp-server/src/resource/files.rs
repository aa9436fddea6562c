//! Contents from files, and from nowhere but where they should come from.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};

use mcp_core::answer::Contents;

use crate::call_error::CallError;

/// What a file holds now.
pub(super) fn read(path: &Path, mime: Option<&str>) -> Result<Contents, CallError> {
    let bytes = fs::read(path).map_err(|error| {
        // The file is the server's own: whoever runs it should know.
        tracing::warn!(%error, path = %path.display(), "a resource's file cannot be read");
        why(error)
    })?;
    let contents = match String::from_utf8(bytes) {
        Ok(text) if mime.is_none_or(is_text) => Contents::text(text),
        Ok(text) => Contents::bytes(text.into_bytes()),
        Err(error) => Contents::bytes(error.into_bytes()),
    };
    Ok(match mime {
        Some(mime) => contents.with_mime(mime),
        None => contents,
    })
}

/// What a file below a directory holds now. Everything else is not there (RES-9).
pub(super) fn read_within(directory: &Path, path: &str) -> Result<Contents, CallError> {
    let inside = |part| matches!(part, Component::Normal(_));
    if path.is_empty() || path.contains('\0') || !Path::new(path).components().all(inside) {
        return Err(CallError::not_found());
    }
    let root = fs::canonicalize(directory)?;
    // Without links: a link that leads out is not inside.
    let path = fs::canonicalize(root.join(path)).map_err(|error| {
        // Also links that lead in a circle.
        tracing::debug!(%error, "no file is found by a resource's path");
        CallError::not_found()
    })?;
    // What is no plain file may block whoever opens it.
    if !path.starts_with(&root) || !fs::metadata(&path).map_err(why)?.is_file() {
        return Err(CallError::not_found());
    }
    read(&path, mime_of(&path))
}

/// Nobody learns by the error what lies where.
fn why(error: io::Error) -> CallError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied | ErrorKind::InvalidFilename => {
            tracing::debug!(%error, "a resource's file cannot be read");
            CallError::not_found()
        }
        _ => CallError::hidden(error),
    }
}

/// Whether what has that media type is text.
fn is_text(mime: &str) -> bool {
    let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    mime.starts_with("text/")
        || mime.ends_with("+json")
        || mime.ends_with("+xml")
        || ["application/json", "application/xml", "application/javascript", "application/yaml", "application/toml"]
            .contains(&&*mime)
}

/// The media type that a file's name tells.
pub(super) fn mime_of(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    KNOWN.iter().find(|(known, _)| *known == extension).map(|(_, mime)| *mime)
}

const KNOWN: [(&str, &str); 24] = [
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];
