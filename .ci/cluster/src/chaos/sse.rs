//! Server-sent events, read as the HTML standard says.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

/// Why nothing more came.
#[derive(Debug)]
pub enum Failed {
    /// The connection broke.
    Broken,
    /// Neither a byte nor an end, for longer than anything may take.
    Hung,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: Option<String>,
    pub data: String,
}

pub struct Sse {
    body: Incoming,
    patience: Duration,
    buf: Vec<u8>,
    id: Option<String>,
    data: Vec<String>,
}

impl Sse {
    pub fn new(body: Incoming, patience: Duration) -> Self {
        Self { body, patience, buf: Vec::new(), id: None, data: Vec::new() }
    }

    /// The next event that has come whole; `None` at a proper end. Safe to be dropped.
    pub async fn next(&mut self) -> Result<Option<Event>, Failed> {
        loop {
            while let Some(end) = self.buf.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buf.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
                if let Some(event) = self.line(&line) {
                    return Ok(Some(event));
                }
            }
            match timeout(self.patience, self.body.frame()).await {
                Err(_) => return Err(Failed::Hung),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return Err(Failed::Broken),
                Ok(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.buf.extend_from_slice(&bytes);
                    }
                }
            }
        }
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let (id, data) = (self.id.take(), std::mem::take(&mut self.data));
            return (id.is_some() || !data.is_empty()).then(|| Event { id, data: data.join("\n") });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.id = Some(value.to_owned()),
            "data" => self.data.push(value.to_owned()),
            _ => {}
        }
        None
    }
}
