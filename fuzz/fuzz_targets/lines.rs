//! Whatever bytes arrive, in whatever chunks,
//! 1. `lines::Splitter` finds the lines that a plain reading of the rules finds, and `sse::Parser` the frames that it finds in the
//!    bytes as one chunk;
//! 2. a line is not empty, has no line break, and is within the limit; so is the data of an event;
//! 3. what is held between chunks is bounded by the limit;
//! 4. each line, written as a line or as an event, comes back.
//!
//! The first byte of the input is the limit, the second the number of cuts that follow; the rest is the stream.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_core::wire::lines::{self, Line, Splitter};
use mcp_core::wire::sse::{self, Frame, Parser};

fuzz_target!(|data: &[u8]| {
    let [limit, cuts, rest @ ..] = data else { return };
    let limit = usize::from(*limit);
    let (cuts, stream) = rest.split_at(usize::from(*cuts % 16).min(rest.len()));
    let chunks = chunks(stream, cuts);

    let found = split(limit, &chunks);
    assert_eq!(found, reference(limit, stream));
    assert_eq!(found, split(limit, &stream.chunks(1).collect::<Vec<_>>()));

    let frames = parse(limit, &chunks);
    assert_eq!(frames, parse(limit, &[stream]));
    assert_eq!(frames, parse(limit, &stream.chunks(1).collect::<Vec<_>>()));
    for frame in &frames {
        if let Frame::Event(event) = frame {
            // A byte that is not UTF-8 becomes three.
            assert!(event.data.len() <= 3 * (limit + 1));
        }
    }

    for line in found.iter().flatten() {
        assert!(!line.is_empty() && line.len() <= limit && !line.contains(&b'\n'));
        if let Ok(text) = core::str::from_utf8(line)
            && !text.contains('\r')
        {
            come_back(text);
        }
    }
});

fn chunks<'a>(mut stream: &'a [u8], cuts: &[u8]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for cut in cuts {
        let (chunk, rest) = stream.split_at(usize::from(*cut).min(stream.len()));
        chunks.push(chunk);
        stream = rest;
    }
    chunks.push(stream);
    chunks
}

/// The lines; `None` is one that is too long.
fn split(limit: usize, chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    let mut splitter = Splitter::new(limit);
    let mut lines = Vec::new();
    for mut chunk in chunks.iter().copied() {
        while let Some(line) = splitter.next(&mut chunk) {
            lines.push(line);
        }
        assert!(chunk.is_empty());
        assert!(splitter.held() <= limit + 4);
    }
    lines.extend(splitter.finish());
    assert_eq!(splitter.finish(), None);
    let bytes = |line| match line {
        Line::Text(text) => Some(text.to_vec()),
        Line::TooLong => None,
    };
    lines.into_iter().map(bytes).collect()
}

fn reference(limit: usize, stream: &[u8]) -> Vec<Option<Vec<u8>>> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let mut lines = Vec::new();
    for line in stream.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > limit {
            lines.push(None);
            continue;
        }
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        if let Some(last) = line.iter().rposition(|byte| !blank(byte)) {
            lines.push(Some(line[..=last].to_vec()));
        }
    }
    lines
}

fn parse(limit: usize, chunks: &[&[u8]]) -> Vec<Frame> {
    let mut parser = Parser::new(limit);
    let mut frames = Vec::new();
    for mut chunk in chunks.iter().copied() {
        while let Some(frame) = parser.next(&mut chunk) {
            frames.push(frame);
        }
        assert!(chunk.is_empty());
    }
    frames
}

fn come_back(text: &str) {
    let mut out = b"\n".to_vec();
    lines::write(&mut out, text.as_bytes());
    assert_eq!(split(text.len(), &[&out]), [Some(text.as_bytes().to_vec())]);

    let mut out = Vec::new();
    sse::event(&mut out, Some("e-1"), text.as_bytes());
    sse::comment(&mut out, text);
    let frames = parse(text.len() + 16, &[&out]);
    let [Frame::Event(event), Frame::Comment(comment)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((event.id.as_deref(), &*event.data, &**comment), (Some("e-1"), text, text));
}
