//! Requests that ask, as data: what a sleeping session keeps of its calls.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Asking, Calls, Phase, Slot};
use crate::caching::Caching;
use crate::catalog::Handle;
use crate::machine::{CallId, Completes, Kind, MachineId, StreamId};
use crate::peer::{Caller, Peer, Principal, Scopes};
use crate::question::Response;
use crate::snapshot::{Reader, Writer};
use crate::wire::Id;

impl Calls {
    /// Where a slot lies decides which of several comes first, so the free ones between them are kept.
    pub(crate) fn save(&self, out: &mut Writer) {
        // Whoever goes on has machines of its own.
        let Self { machine: _, slots, live: _, next } = self;
        // Names of calls die with their node, but not with a sleep.
        out.loosely(|out| out.number(*next));
        let used = slots.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        out.length(used);
        for slot in &slots[..used] {
            // A session with a running call does not sleep.
            out.option(slot.as_ref().and_then(Slot::asking), |out, (slot, asking)| slot.save(asking, out));
        }
    }

    /// Those that ask, on the streams that are told of.
    pub(crate) fn save_told(&self, is_told: impl Fn(StreamId) -> bool, out: &mut Writer) {
        out.loosely(|out| out.number(self.next));
        let asking: Vec<_> = self.iter().filter_map(Slot::asking).filter(|(slot, _)| is_told(slot.stream)).collect();
        out.length(asking.len());
        for asking in asking {
            out.option(Some(asking), |out, (slot, asking)| slot.save(asking, out));
        }
    }

    /// Every request of a session is of its peer and of its principal.
    pub(crate) fn load(
        from: &mut Reader<'_>,
        machine: MachineId,
        peer: &Arc<Peer>,
        principal: Option<&Principal>,
    ) -> Option<Self> {
        let next = from.counter()?;
        let slots = from.list(1, |from| from.option(|from| Slot::load(from, peer, principal)))?;
        let known = slots.iter().flatten().all(|slot| slot.call.0 < next);
        let ends_with_one = slots.last().is_none_or(Option::is_some);
        let live = slots.iter().flatten().count();
        (known && ends_with_one).then_some(Self { machine, slots, live, next })
    }
}

impl Slot {
    /// The request and its open questions, if it has any.
    pub(crate) fn asking(&self) -> Option<(&Self, &Asking)> {
        if let Phase::Asking(asking) = &self.phase { Some((self, asking)) } else { None }
    }

    fn save(&self, asking: &Asking, out: &mut Writer) {
        let Self {
            call,
            origin,
            id,
            stream,
            peer: _,
            caller,
            kind,
            meta,
            token,
            progress,
            level,
            deadline,
            rounds,
            // Legacy clients are told nothing of caches.
            hint: _,
            chosen: _,
            // The session keeps them.
            assigns: _,
            // Of a run, and one that asks has none.
            queued: _,
            phase: _,
        } = self;
        out.number(call.0);
        out.number(call.0 - origin.0);
        save_id(id, out);
        out.number(stream.0);
        let scopes: Vec<&str> = caller.scopes.iter().collect();
        out.text(&scopes.join(" "));
        save_kind(kind, out);
        out.bytes(meta);
        out.option(token.as_ref(), |out, token| save_id(token, out));
        // Before the first progress it is below every number.
        out.option(Some(*progress).filter(|progress| progress.is_finite()), |out, progress| {
            out.raw(&progress.to_bits().to_le_bytes());
        });
        out.option(*level, |out, level| out.byte(level as u8));
        out.option(*deadline, Writer::time);
        out.number((*rounds).into());
        asking.save(out);
    }

    fn load(from: &mut Reader<'_>, peer: &Arc<Peer>, principal: Option<&Principal>) -> Option<Self> {
        let call = from.number()?;
        let origin = call.checked_sub(from.number()?).filter(|origin| *origin > 0)?;
        let id = load_id(from)?;
        let stream = StreamId(from.number()?);
        let caller = Caller { principal: principal.cloned(), scopes: Scopes::parse(from.str()?) };
        let kind = load_kind(from)?;
        let meta = from.bytes()?;
        let token = from.option(load_id)?;
        let progress = from.option(|from| {
            let progress = f64::from_bits(u64::from_le_bytes(from.array()?));
            progress.is_finite().then_some(progress)
        })?;
        let level = from.option(Reader::level)?;
        let deadline = from.option(Reader::time)?;
        let rounds = u32::try_from(from.number()?).ok()?;
        Some(Self {
            call: CallId(call),
            origin: CallId(origin),
            id,
            stream,
            peer: Arc::clone(peer),
            caller,
            kind,
            meta,
            token,
            progress: progress.unwrap_or(f64::NEG_INFINITY),
            level,
            deadline,
            rounds,
            hint: Caching::NONE,
            chosen: false,
            assigns: None,
            queued: false,
            phase: Phase::Asking(Asking::load(from)?),
        })
    }
}

impl Asking {
    fn save(&self, out: &mut Writer) {
        let Self { state, open, replies } = self;
        out.bytes(state);
        out.length(open.len());
        for (id, key) in open {
            out.number(*id);
            out.text(key);
        }
        out.length(replies.len());
        for (key, response) in replies {
            out.text(key);
            save_response(response, out);
        }
    }

    fn load(from: &mut Reader<'_>) -> Option<Self> {
        let state = from.bytes()?;
        let open = from.list(2, |from| Some((from.number()?, from.text()?)))?;
        let replies = from.list(2, |from| Some((from.text()?, load_response(from)?)))?;
        // Nothing would ever end a request that waits for no answer.
        (!open.is_empty()).then_some(Self { state, open, replies })
    }
}

pub(crate) fn save_id(id: &Id, out: &mut Writer) {
    let mut token = Vec::new();
    id.write(&mut token);
    out.bytes(&token);
}

/// Its length was limited when it came in.
pub(crate) fn load_id(from: &mut Reader<'_>) -> Option<Id> {
    Id::parse(from.str()?, usize::MAX)
}

fn save_kind(kind: &Kind, out: &mut Writer) {
    match kind {
        // It runs, so its session does not sleep.
        Kind::Init => out.byte(u8::MAX),
        Kind::Tool { tool, name, arguments } => {
            out.byte(0);
            out.number(tool.0);
            out.text(name);
            out.bytes(arguments);
        }
        Kind::Extension { method, params } => {
            out.byte(1);
            out.text(method);
            out.bytes(params);
        }
        Kind::Resource { resource, uri, variables } => {
            out.byte(2);
            out.number(resource.0);
            out.text(uri);
            out.length(variables.len());
            for (name, value) in variables {
                out.text(name);
                out.text(value);
            }
        }
        Kind::Prompt { prompt, name, arguments } => {
            out.byte(3);
            out.number(prompt.0);
            out.text(name);
            out.bytes(arguments);
        }
        Kind::Complete { of, argument, value, context } => {
            let (tag, handle, key) = match of {
                Completes::Prompt { prompt, name } => (4, prompt, name),
                Completes::Template { template, uri } => (5, template, uri),
            };
            out.byte(tag);
            out.number(handle.0);
            out.text(key);
            out.text(argument);
            out.text(value);
            out.bytes(context);
        }
    }
}

fn load_kind(from: &mut Reader<'_>) -> Option<Kind> {
    Some(match from.byte()? {
        0 => Kind::Tool { tool: Handle(from.number()?), name: from.str()?.into(), arguments: from.bytes()? },
        1 => Kind::Extension { method: from.text()?, params: from.bytes()? },
        2 => Kind::Resource {
            resource: Handle(from.number()?),
            uri: from.text()?,
            variables: from.list(2, |from| Some((from.text()?, from.text()?)))?,
        },
        3 => Kind::Prompt { prompt: Handle(from.number()?), name: from.str()?.into(), arguments: from.bytes()? },
        tag @ (4 | 5) => {
            let (handle, key) = (Handle(from.number()?), from.str()?.into());
            let of = match tag {
                4 => Completes::Prompt { prompt: handle, name: key },
                _ => Completes::Template { template: handle, uri: key },
            };
            Kind::Complete { of, argument: from.text()?, value: from.text()?, context: from.bytes()? }
        }
        _ => return None,
    })
}

fn save_response(response: &Response, out: &mut Writer) {
    match response {
        Response::Result(json) => {
            out.byte(0);
            out.bytes(json);
        }
        Response::Error { code, message } => {
            out.byte(1);
            out.raw(&code.to_le_bytes());
            out.text(message);
        }
        Response::TimedOut => out.byte(2),
        Response::Unsupported => out.byte(3),
    }
}

fn load_response(from: &mut Reader<'_>) -> Option<Response> {
    Some(match from.byte()? {
        0 => Response::Result(from.bytes()?),
        1 => Response::Error { code: i64::from_le_bytes(from.array()?), message: from.text()? },
        2 => Response::TimedOut,
        3 => Response::Unsupported,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Level;
    use crate::peer::{Capabilities, Revision};
    use alloc::boxed::Box;
    use bytes::Bytes;

    fn slot(of: impl FnOnce(&mut Slot)) -> Slot {
        let peer = Peer { revision: Revision::V2025_11_25, capabilities: Capabilities::none(), info: None };
        let mut slot = Slot {
            call: CallId(7),
            origin: CallId(7),
            id: Id::from_u64(0),
            stream: StreamId(1),
            peer: Arc::new(peer),
            caller: Caller::new("ann", Scopes::default()),
            kind: Kind::Extension { method: "a/b".into(), params: Bytes::from_static(b"{}") },
            meta: Bytes::new(),
            token: None,
            progress: f64::NEG_INFINITY,
            level: None,
            deadline: None,
            rounds: 1,
            hint: Caching::NONE,
            chosen: false,
            assigns: None,
            queued: false,
            phase: Phase::Running,
        };
        of(&mut slot);
        slot
    }

    fn again(calls: &Calls) -> Option<Calls> {
        let mut out = Writer::default();
        calls.save(&mut out);
        let snapshot = crate::Snapshot::seal(out);
        let mut from = snapshot.open().unwrap();
        let slot = calls.iter().next().unwrap();
        let loaded = Calls::load(&mut from, calls.machine, &slot.peer, slot.caller.principal.as_ref());
        loaded.filter(|_| from.is_done())
    }

    #[test]
    fn every_field_of_a_request_that_asks_is_kept_also_those_that_legacy_never_sets() {
        let responses = [
            Response::Result(Bytes::from_static(b"{}")),
            Response::Error { code: i64::MIN, message: "no".into() },
            Response::TimedOut,
            Response::Unsupported,
        ];
        let replies = responses.map(|response| (Box::from("key"), response)).into();
        let asking = Asking { state: Bytes::from_static(b"\0"), open: [(u64::MAX, "ü".into())].into(), replies };
        let mut calls = Calls::new(MachineId(u64::MAX));
        calls.insert(slot(|_| {}));
        calls.insert(slot(|slot| {
            (slot.origin, slot.id, slot.token) = (CallId(1), Id::string("\n"), Some(Id::from_u64(u64::MAX)));
            slot.kind = Kind::Tool { tool: Handle(u64::MAX), name: "t".into(), arguments: Bytes::from_static(b"{}") };
            (slot.meta, slot.caller.scopes) = (Bytes::from_static(b"{\"a\":1}"), Scopes::parse("read write"));
            (slot.progress, slot.level, slot.deadline) = (-0.5, Some(Level::Emergency), Some(crate::Time::MAX));
            (slot.rounds, slot.stream, slot.phase) = (u32::MAX, StreamId(u64::MAX), Phase::Asking(asking.clone()));
        }));
        let handle = Handle(u64::MAX);
        let variables = [("a".into(), "/é".into()), ("b".into(), "".into())].into();
        let (name, uri) = (Arc::from("p"), Arc::from("a://{b}"));
        for kind in [
            Kind::Resource { resource: handle, uri: "a://\u{1}".into(), variables },
            Kind::Prompt { prompt: handle, name: Arc::clone(&name), arguments: Bytes::from_static(b"{}") },
            Kind::Complete {
                of: Completes::Prompt { prompt: handle, name },
                argument: "a".into(),
                value: "".into(),
                context: Bytes::from_static(b"{\"a\":\"b\"}"),
            },
            Kind::Complete {
                of: Completes::Template { template: handle, uri },
                argument: "".into(),
                value: "v".into(),
                context: Bytes::new(),
            },
        ] {
            calls.insert(slot(|slot| (slot.kind, slot.phase) = (kind, Phase::Asking(asking.clone()))));
        }
        calls.next = 8;
        calls.take(0);
        let loaded = again(&calls).expect("it reads back");
        assert_eq!(alloc::format!("{loaded:?}"), alloc::format!("{calls:?}"));
        // The next call would have the name of one that lives.
        calls.next = 7;
        assert!(again(&calls).is_none());
    }
}
