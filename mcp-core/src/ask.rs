//! Asking the client on modern: `input_required`, sealed `requestState`, and the retry that brings both back (MRTR).
//!
//! The state travels through the client, who may do with it what it likes. So it is sealed, bound to the principal, the
//! method and the parameters of the request, and expires (MRTR-8, MRTR-9). Nothing is kept here (MRTR-6).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;
use serde_json::value::RawValue;

mod form;

pub(crate) use self::form::has_lists;
use crate::calls::Slot;
use crate::encode::json::{compact, members};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::machine::Kind;
use crate::peer::{Caller, Revision};
use crate::question::{Question, Response, Resume};
use crate::reply::Reply;
use crate::settle::Settled;
use crate::time::Time;
use crate::wire::{Message, Param, decode, write};

/// What one byte of the packed state can count.
const MOST_QUESTIONS: usize = 255;

/// Levels of arguments that may be spelled differently in a retry. Each costs a pass over what is in it; 8 are more than the
/// arguments of a tool have.
const RESPELLED: usize = 8;

/// Whether a run may ask that (MRTR-2, MRTR-3; bounds of [`Limits`](crate::policy::Limits)). Counts the round.
pub(crate) fn admit(
    slot: &mut Slot,
    questions: &[(Box<str>, Question)],
    state: &Bytes,
    endpoint: &Endpoint,
) -> Result<(), Fault> {
    let limits = endpoint.limits();
    slot.rounds = slot.rounds.saturating_add(1);
    if slot.rounds > limits.rounds {
        let most = limits.rounds;
        return Err(Fault::internal(alloc::format!("The request was given up: it asked its client {most} times")));
    }
    let most = limits.questions.min(MOST_QUESTIONS);
    if questions.len() > most {
        return Err(Fault::internal(alloc::format!("The request asks its client more than {most} questions at once")));
    }
    if state.len() > limits.state {
        let most = limits.state;
        return Err(Fault::internal(alloc::format!(
            "The request keeps more than {most} bytes while it asks its client"
        )));
    }
    let twice = questions.iter().enumerate().any(|(n, (key, _))| questions[..n].iter().any(|(other, _)| other == key));
    if twice {
        return Err(Fault::internal("The request asks two questions under one key"));
    }
    Ok(())
}

/// The `input_required` result of a modern request. A question that the client cannot answer is not sent: it is answered
/// as unsupported, now if there is no other, else with the retry. No question can be sent but for the core's own methods
/// (MRTR-1), so an extension's are all answered so.
pub(crate) fn input_required(
    slot: &Slot,
    questions: Vec<(Box<str>, Question)>,
    state: Bytes,
    now: Time,
    endpoint: &Endpoint,
) -> Result<Settled, Fault> {
    let carries = matches!(slot.kind, Kind::Tool { .. } | Kind::Resource { .. } | Kind::Prompt { .. });
    let able = |question: &Question| carries && slot.peer.capabilities.missing(&question.needs()).is_none();
    let (open, unsupported): (Vec<_>, Vec<_>) = questions.into_iter().partition(|(_, question)| able(question));
    if open.is_empty() && (!unsupported.is_empty() || !carries) {
        let replies = unsupported.into_iter().map(|(key, _)| (key, Response::Unsupported)).collect();
        return Ok(Settled::Again(Box::new(Resume { state, replies })));
    }
    let Some(seal) = endpoint.seal() else {
        return Err(Fault::internal("The server has no key to seal the state of a question with"));
    };
    let unsupported: Vec<&str> = unsupported.iter().map(|(key, _)| &**key).collect();
    let plain = pack(now.after(endpoint.timing().state), slot.rounds, &unsupported, &state);
    let sealed = seal.seal(&bound(&slot.caller, &slot.kind), &plain);
    let mut out = Vec::with_capacity(256 + sealed.len());
    write::result_open(&mut out, &slot.id);
    out.extend_from_slice(b"{\"resultType\":\"input_required\"");
    if !open.is_empty() {
        out.extend_from_slice(b",\"inputRequests\":{");
        for (n, (key, question)) in open.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            write::string(&mut out, key);
            out.extend_from_slice(b":{\"method\":\"");
            out.extend_from_slice(question.method().as_bytes());
            out.extend_from_slice(b"\",\"params\":");
            params(&mut out, question, slot.peer.revision)?;
            out.push(b'}');
        }
        out.push(b'}');
    }
    out.extend_from_slice(b",\"requestState\":");
    write::string(&mut out, &sealed);
    out.push(b',');
    out.extend_from_slice(endpoint.result_meta());
    out.extend_from_slice(b"}}");
    Ok(Settled::Answered(out, Reply::json(200)))
}

/// The params of a question, in the words of a revision (ELIC-3).
///
/// # Errors
///
/// If what the handler gave is not the JSON that it should be.
pub(crate) fn params(out: &mut Vec<u8>, question: &Question, revision: Revision) -> Result<(), Fault> {
    match question {
        Question::Form { message, schema } => {
            out.push(b'{');
            if revision >= Revision::V2025_11_25 {
                out.extend_from_slice(b"\"mode\":\"form\",");
            }
            out.extend_from_slice(b"\"message\":");
            write::string(out, message);
            out.extend_from_slice(b",\"requestedSchema\":");
            match revision {
                Revision::V2025_06_18 => out.extend_from_slice(form::older(&object(schema)?).as_bytes()),
                _ => out.extend_from_slice(object(schema)?.as_bytes()),
            }
            out.push(b'}');
        }
        Question::Url { message, url, id } => {
            out.extend_from_slice(b"{\"mode\":\"url\",\"message\":");
            write::string(out, message);
            out.extend_from_slice(b",\"url\":");
            write::string(out, url);
            if revision == Revision::V2025_11_25 {
                out.extend_from_slice(b",\"elicitationId\":");
                write::string(out, id);
            }
            out.push(b'}');
        }
        Question::Sample { params, .. } => out.extend_from_slice(object(params)?.as_bytes()),
        Question::Roots => out.extend_from_slice(b"{}"),
    }
    Ok(())
}

fn object(text: &str) -> Result<Cow<'_, str>, Fault> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) if raw.get().starts_with('{') => Ok(one_line(raw.get())),
        _ => Err(Fault::internal("The question to the client is not a JSON object")),
    }
}

/// What a retry brings back.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    /// What the run is handed; `None` if the request is no retry.
    pub(crate) resume: Option<Box<Resume>>,
    /// How often it has asked so far, over all its retries (MRTR-12).
    pub(crate) rounds: u32,
}

/// What a request brings back of an earlier one (MRTR-5, MRTR-7).
pub(crate) fn resume(
    message: &Message,
    caller: &Caller,
    kind: &Kind,
    now: Time,
    endpoint: &Endpoint,
) -> Result<Retry, Fault> {
    let sealed = match message.param(Param::RequestState) {
        None => None,
        Some(_) => match message.param_str(Param::RequestState) {
            Some(sealed) => Some(sealed),
            None => return Err(Fault::invalid_params("`requestState` must be the string that this server sent")),
        },
    };
    let answers = message.param(Param::InputResponses);
    if sealed.is_none() && answers.is_none() {
        return Ok(Retry::default());
    }
    let mut resume = match answers {
        Some(answers) => replies(answers, endpoint.limits().questions)?,
        None => Resume::default(),
    };
    // A retry without a state of ours: nobody knows what it was asked, but what comes of its answers is not for others (MRTR-16).
    let mut rounds = 1;
    if let Some(sealed) = sealed {
        let refused = || Fault::invalid_params("`requestState` is not this server's for this request, or has expired");
        let seal = endpoint.seal().ok_or_else(refused)?;
        let plain = seal.open(&bound(caller, kind), &sealed).ok_or_else(refused)?;
        let packed = unpack(&plain).filter(|packed| packed.expires > now).ok_or_else(refused)?;
        rounds = packed.rounds;
        resume.state = packed.state;
        resume.replies.retain(|(key, _)| !packed.unsupported.contains(key));
        resume.replies.extend(packed.unsupported.into_iter().map(|key| (key, Response::Unsupported)));
    }
    Ok(Retry { resume: Some(Box::new(resume)), rounds })
}

/// `inputResponses`: an object of objects. Keys that nobody asked for are the handler's to ignore (MRTR-7).
fn replies(answers: &str, most: usize) -> Result<Resume, Fault> {
    let malformed =
        || Fault::invalid_params("`inputResponses` must be an object that holds an object for each key, each key once");
    let entries = members(answers).ok_or_else(malformed)?;
    // The client may add keys of its own; what was asked is always fewer.
    let most = most.saturating_mul(4);
    if entries.len() > most {
        return Err(Fault::invalid_params(alloc::format!(
            "`inputResponses` holds more than {most} keys: send those that were asked for"
        )));
    }
    let mut replies: Vec<(Box<str>, Response)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        if !value.starts_with('{') || replies.iter().any(|(other, _)| **other == *key) {
            return Err(malformed());
        }
        replies.push((key.into(), Response::Result(Bytes::copy_from_slice(value.as_bytes()))));
    }
    Ok(Resume { state: Bytes::new(), replies })
}

/// What a state must not be moved away from: principal, method and parameters (MRTR-9).
fn bound(caller: &Caller, kind: &Kind) -> Vec<u8> {
    let none = Bytes::new();
    // By name: the handles of another instance with the same keys may differ (MRTR-6).
    let (name, params) = match kind {
        Kind::Tool { name, arguments, .. } | Kind::Prompt { name, arguments, .. } => (&**name, arguments),
        Kind::Resource { uri, .. } => (&**uri, &none),
        // These may not ask (MRTR-1).
        Kind::Complete { context, .. } => ("", context),
        Kind::Extension { params, .. } => ("", params),
        Kind::Init => ("", &none),
    };
    let method = kind.method();
    let mut bound = Vec::with_capacity(64 + params.len());
    let mut part = |bytes: &[u8]| {
        bound.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        bound.extend_from_slice(bytes);
    };
    part(caller.principal.as_ref().map_or(&[], |principal| principal.as_str().as_bytes()));
    part(&[u8::from(caller.principal.is_some())]);
    part(method.as_bytes());
    part(name.as_bytes());
    let mut spelled = Vec::with_capacity(params.len());
    canonical(&mut spelled, core::str::from_utf8(params).unwrap_or_default(), RESPELLED);
    part(&spelled);
    bound
}

/// The same JSON in one spelling, for a client or a proxy that writes the arguments anew for the retry: blanks, the order of
/// members and escapes are one, to a depth of [`RESPELLED`]. Nothing else is: a member that is there twice stays so, and a
/// number keeps its digits, so that no two arguments that any reader could tell apart are taken for the same.
fn canonical(out: &mut Vec<u8>, json: &str, depth: usize) {
    match json.as_bytes().first() {
        Some(b'{') if depth > 0 => {
            if let Some(mut members) = members(json) {
                members.sort_by(|(a, _), (b, _)| a.cmp(b));
                out.push(b'{');
                for (key, value) in members {
                    write::string(out, &key);
                    out.push(b':');
                    canonical(out, value, depth - 1);
                    out.push(b',');
                }
                return out.push(b'}');
            }
        }
        Some(b'[') if depth > 0 => {
            if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) {
                out.push(b'[');
                for item in items {
                    canonical(out, item.get(), depth - 1);
                    out.push(b',');
                }
                return out.push(b']');
            }
        }
        Some(b'"') => {
            if let Some(text) = decode(json) {
                return write::string(out, &text);
            }
        }
        _ => {}
    }
    out.extend_from_slice(compact(json).as_bytes());
}

/// `expiry, rounds, number of keys, (length, key)…, state`.
fn pack(expires: Time, rounds: u32, unsupported: &[&str], state: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(16 + state.len());
    plain.extend_from_slice(&expires.0.to_le_bytes());
    plain.extend_from_slice(&rounds.to_le_bytes());
    plain.push(u8::try_from(unsupported.len()).unwrap_or(u8::MAX));
    for key in unsupported {
        plain.extend_from_slice(&u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes());
        plain.extend_from_slice(key.as_bytes());
    }
    plain.extend_from_slice(state);
    plain
}

/// What was packed into a state.
struct Packed {
    expires: Time,
    rounds: u32,
    unsupported: Vec<Box<str>>,
    state: Bytes,
}

fn unpack(plain: &[u8]) -> Option<Packed> {
    let (expires, rest) = plain.split_first_chunk::<8>()?;
    let (rounds, rest) = rest.split_first_chunk::<4>()?;
    let (count, mut rest) = rest.split_first()?;
    let mut unsupported = Vec::new();
    for _ in 0..*count {
        let (length, tail) = rest.split_first_chunk::<4>()?;
        let (key, tail) = tail.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        unsupported.push(core::str::from_utf8(key).ok()?.into());
        rest = tail;
    }
    Some(Packed {
        expires: Time(u64::from_le_bytes(*expires)),
        rounds: u32::from_le_bytes(*rounds),
        unsupported,
        state: Bytes::copy_from_slice(rest),
    })
}

/// JSON without raw line breaks: outside of strings they are only white space, and strings have none.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) { Cow::Owned(json.replace(['\n', '\r'], " ")) } else { Cow::Borrowed(json) }
}
