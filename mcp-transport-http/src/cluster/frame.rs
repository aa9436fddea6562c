//! What nodes say to each other: a byte of version, the sender, and one of a few kinds.
//!
//! Frames come from the other nodes of the same service. They are believed as far as their form is right; none of them makes
//! this node panic, or take memory out of proportion to its bytes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use mcp_core::{Caller, Form, Principal, Reply, Scopes, SessionId};

use crate::store::{NodeId, SessionKey};

/// Raised with each change of what is written: nodes of another version are not understood, and not obeyed.
const VERSION: u8 = 2;

/// What one node says to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A request for a session that the other one holds.
    Ask(Box<Ask>),
    /// So many bytes of the answer were taken: as many more may come.
    Credit { conversation: u64, bytes: u32 },
    /// The client has gone.
    Gone { conversation: u64 },
    /// Are these being answered?
    Probe { conversations: Vec<u64> },
    /// The answer, all of it.
    Whole { conversation: u64, reply: Reply, bytes: Bytes },
    /// The answer begins.
    Opened { conversation: u64, reply: Reply },
    /// It goes on.
    Bytes { conversation: u64, bytes: Bytes },
    /// It has ended.
    End { conversation: u64 },
    /// The session is not here: nothing was done.
    NotMine { conversation: u64 },
    /// These are not being answered: what became of them is not known.
    Unknown { conversations: Vec<u64> },
    /// What a resource holds has changed.
    Updated { uri: String },
}

/// A request that is handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) conversation: u64,
    pub(super) verb: Verb,
    pub(super) session: SessionId,
    pub(super) caller: Caller,
    /// The path of its URI.
    pub(super) path: String,
    pub(super) headers: Vec<(String, Bytes)>,
    pub(super) body: Bytes,
}

/// What is asked of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Post,
    Get,
    Delete,
}

impl Ask {
    pub(super) fn key(&self) -> SessionKey {
        SessionKey { session: self.session, principal: self.caller.principal.clone() }
    }
}

impl Frame {
    pub(super) fn encode(&self, from: NodeId) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(VERSION);
        out.put_slice(&from.bytes());
        match self {
            Self::Ask(ask) => ask.encode(&mut out),
            Self::Credit { conversation, bytes } => {
                begin(&mut out, 2, *conversation);
                out.put_u32(*bytes);
            }
            Self::Gone { conversation } => begin(&mut out, 3, *conversation),
            Self::Probe { conversations } => put_all(&mut out, 4, conversations),
            Self::Whole { conversation, reply, bytes } => {
                begin(&mut out, 5, *conversation);
                put_reply(&mut out, reply);
                out.put_slice(bytes);
            }
            Self::Opened { conversation, reply } => {
                begin(&mut out, 6, *conversation);
                put_reply(&mut out, reply);
            }
            Self::Bytes { conversation, bytes } => {
                begin(&mut out, 7, *conversation);
                out.put_slice(bytes);
            }
            Self::End { conversation } => begin(&mut out, 8, *conversation),
            Self::NotMine { conversation } => begin(&mut out, 9, *conversation),
            Self::Unknown { conversations } => put_all(&mut out, 10, conversations),
            Self::Updated { uri } => {
                out.put_u8(11);
                out.put_slice(uri.as_bytes());
            }
        }
        out.freeze()
    }

    /// The sender, and what it says; `None` if that is no frame.
    pub(super) fn decode(mut bytes: Bytes) -> Option<(NodeId, Self)> {
        if bytes.try_get_u8().ok()? != VERSION {
            return None;
        }
        let from = NodeId::new(take(&mut bytes, 16)?.as_ref().try_into().ok()?);
        let kind = bytes.try_get_u8().ok()?;
        let frame = match kind {
            1 => Self::Ask(Box::new(Ask::decode(&mut bytes)?)),
            4 => Self::Probe { conversations: take_all(&mut bytes)? },
            10 => Self::Unknown { conversations: take_all(&mut bytes)? },
            11 => Self::Updated { uri: String::from_utf8(rest(&mut bytes).into()).ok()? },
            _ => {
                let conversation = bytes.try_get_u64().ok()?;
                match kind {
                    2 => Self::Credit { conversation, bytes: bytes.try_get_u32().ok()? },
                    3 => Self::Gone { conversation },
                    5 => Self::Whole { conversation, reply: take_reply(&mut bytes)?, bytes: rest(&mut bytes) },
                    6 => Self::Opened { conversation, reply: take_reply(&mut bytes)? },
                    7 => Self::Bytes { conversation, bytes: rest(&mut bytes) },
                    8 => Self::End { conversation },
                    9 => Self::NotMine { conversation },
                    _ => return None,
                }
            }
        };
        bytes.is_empty().then_some((from, frame))
    }
}

impl Ask {
    fn encode(&self, out: &mut BytesMut) {
        begin(out, 1, self.conversation);
        out.put_u8(match self.verb {
            Verb::Post => 0,
            Verb::Get => 1,
            Verb::Delete => 2,
        });
        out.put_slice(&self.session.bytes());
        match &self.caller.principal {
            None => out.put_u8(0),
            Some(principal) => {
                out.put_u8(1);
                put(out, principal.as_str().as_bytes());
            }
        }
        let scopes: Vec<&str> = self.caller.scopes.iter().collect();
        put(out, scopes.join(" ").as_bytes());
        put(out, self.path.as_bytes());
        put_length(out, self.headers.len());
        for (name, value) in &self.headers {
            put(out, name.as_bytes());
            put(out, value);
        }
        out.put_slice(&self.body);
    }

    fn decode(bytes: &mut Bytes) -> Option<Self> {
        let conversation = bytes.try_get_u64().ok()?;
        let verb = match bytes.try_get_u8().ok()? {
            0 => Verb::Post,
            1 => Verb::Get,
            2 => Verb::Delete,
            _ => return None,
        };
        let session = SessionId::new(take(bytes, 16)?.as_ref().try_into().ok()?);
        let principal = match bytes.try_get_u8().ok()? {
            0 => None,
            1 => Some(Principal::from(take_text(bytes)?.as_str())),
            _ => return None,
        };
        let caller = Caller { principal, scopes: Scopes::parse(&take_text(bytes)?) };
        let path = take_text(bytes)?;
        let count = take_length(bytes)?;
        // Each has two lengths at least.
        let mut headers = Vec::with_capacity(count.min(bytes.len() / 8));
        for _ in 0..count {
            headers.push((take_text(bytes)?, take_some(bytes)?));
        }
        Some(Self { conversation, verb, session, caller, path, headers, body: rest(bytes) })
    }
}

fn begin(out: &mut BytesMut, kind: u8, conversation: u64) {
    out.put_u8(kind);
    out.put_u64(conversation);
}

fn put_length(out: &mut BytesMut, length: usize) {
    out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
}

fn put(out: &mut BytesMut, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.put_slice(bytes);
}

fn put_all(out: &mut BytesMut, kind: u8, conversations: &[u64]) {
    out.put_u8(kind);
    conversations.iter().for_each(|conversation| out.put_u64(*conversation));
}

/// Answers within a session allow no other methods.
fn put_reply(out: &mut BytesMut, reply: &Reply) {
    out.put_u16(reply.status);
    out.put_u8(match reply.form {
        Form::Empty => 0,
        Form::Json => 1,
        Form::Events => 2,
    });
    match reply.session {
        None => out.put_u8(0),
        Some(session) => {
            out.put_u8(1);
            out.put_slice(&session.bytes());
        }
    }
    match &reply.challenge {
        None => out.put_u8(0),
        Some(challenge) => {
            out.put_u8(1);
            put(out, challenge.as_bytes());
        }
    }
    // Nobody is told to wait for no time.
    out.put_u32(reply.retry_after.unwrap_or(0));
}

fn take_reply(bytes: &mut Bytes) -> Option<Reply> {
    let status = bytes.try_get_u16().ok().filter(|status| (200..600).contains(status))?;
    let form = match bytes.try_get_u8().ok()? {
        0 => Form::Empty,
        1 => Form::Json,
        2 => Form::Events,
        _ => return None,
    };
    let session = match bytes.try_get_u8().ok()? {
        0 => None,
        1 => Some(SessionId::new(take(bytes, 16)?.as_ref().try_into().ok()?)),
        _ => return None,
    };
    let challenge = match bytes.try_get_u8().ok()? {
        0 => None,
        1 => Some(take_text(bytes)?.into()),
        _ => return None,
    };
    let retry_after = Some(bytes.try_get_u32().ok()?).filter(|seconds| *seconds > 0);
    Some(Reply { session, challenge, retry_after, ..Reply::new(status, form) })
}

fn take_length(bytes: &mut Bytes) -> Option<usize> {
    usize::try_from(bytes.try_get_u32().ok()?).ok()
}

fn take(bytes: &mut Bytes, length: usize) -> Option<Bytes> {
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

fn take_some(bytes: &mut Bytes) -> Option<Bytes> {
    let length = take_length(bytes)?;
    take(bytes, length)
}

fn take_text(bytes: &mut Bytes) -> Option<String> {
    String::from_utf8(take_some(bytes)?.into()).ok()
}

fn take_all(bytes: &mut Bytes) -> Option<Vec<u64>> {
    if !bytes.len().is_multiple_of(8) {
        return None;
    }
    let mut all = Vec::with_capacity(bytes.len() / 8);
    while let Ok(conversation) = bytes.try_get_u64() {
        all.push(conversation);
    }
    Some(all)
}

fn rest(bytes: &mut Bytes) -> Bytes {
    bytes.split_to(bytes.len())
}

#[cfg(test)]
mod tests {
    use mcp_core::{Fault, Span};

    use super::*;

    fn frames() -> Vec<Frame> {
        let session = SessionId::new([7; 16]);
        let reply = Reply { session: Some(session), ..Reply::EVENTS };
        let fault = Fault::insufficient_scope(&Scopes::parse("read"));
        let (scoped, busy) = (Reply::refusal(&fault), Reply::refusal(&Fault::too_many(Span::secs(2))));
        let caller = Caller::new("anna", Scopes::parse("read write"));
        let headers =
            vec![("accept".into(), Bytes::from_static(b"*/*")), ("x-odd".into(), Bytes::from_static(&[0xFF]))];
        let ask =
            Ask { conversation: 9, verb: Verb::Get, session, caller, path: "/mcp".into(), headers, body: "{}".into() };
        vec![
            Frame::Ask(Box::new(ask)),
            Frame::Credit { conversation: 1, bytes: 70_000 },
            Frame::Gone { conversation: 2 },
            Frame::Probe { conversations: vec![1, u64::MAX] },
            Frame::Whole { conversation: 3, reply: Reply::ACCEPTED, bytes: Bytes::new() },
            Frame::Opened { conversation: 3, reply },
            Frame::Whole { conversation: 3, reply: scoped, bytes: "{}".into() },
            Frame::Opened { conversation: 3, reply: busy },
            Frame::Bytes { conversation: 4, bytes: "data: 1\n\n".into() },
            Frame::End { conversation: 5 },
            Frame::NotMine { conversation: 6 },
            Frame::Unknown { conversations: vec![] },
            Frame::Updated { uri: "file:///é".into() },
        ]
    }

    #[test]
    fn every_frame_is_read_as_it_was_written() {
        let from = NodeId::new([3; 16]);
        for frame in frames() {
            assert_eq!(Frame::decode(frame.encode(from)), Some((from, frame.clone())), "{frame:?}");
        }
    }

    #[test]
    fn what_is_cut_or_changed_is_no_frame_or_another_but_never_a_panic() {
        for frame in frames() {
            let whole = frame.encode(NodeId::new([3; 16]));
            for end in 0..whole.len() {
                if let Some((_, other)) = Frame::decode(whole.slice(..end)) {
                    assert_ne!(other, frame, "cut at {end}");
                }
            }
            for at in 0..whole.len() {
                for bit in 0..8 {
                    let mut bytes = whole.to_vec();
                    bytes[at] ^= 1 << bit;
                    drop(Frame::decode(bytes.into()));
                }
            }
            assert_eq!(Frame::decode([&[VERSION + 1], &whole[1..]].concat().into()), None, "another version");
        }
    }
}
