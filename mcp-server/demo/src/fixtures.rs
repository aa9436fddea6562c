//! What the official conformance suite calls by name, with the texts that it wants.

mod asking;
mod changing;
mod entries;
mod tools;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_server::{Content, Server};

/// The server with all of it.
pub(crate) fn register(server: Server) -> Server {
    changing::register(asking::register(entries::register(tools::register(server))))
}

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

fn image() -> Content {
    Content::image(bytes(PNG), "image/png")
}

fn bytes(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap_or_default()
}
