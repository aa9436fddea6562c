//! How a run ends: the one place where an outcome becomes bytes for the revision of its request.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::answer::{Answer, Completion, ToolAnswer};
use crate::ask;
use crate::caching::Caching;
use crate::calls::Slot;
use crate::encode;
use crate::encode::sift;
use crate::endpoint::Endpoint;
use crate::fault::{Code, Fault};
use crate::machine::{Change, Event, Kind, Note, Outcome};
use crate::peer::{Ability, Era, Revision};
use crate::question::{Question, Resume};
use crate::reply::Reply;
use crate::time::Time;
use crate::wire::write;

/// What comes of a run.
#[derive(Debug)]
pub(crate) enum Settled {
    /// The request is answered: a whole JSON-RPC response, and the head that fits.
    Answered(Vec<u8>, Reply),
    /// A legacy client must be asked.
    Ask(Vec<(Box<str>, Question)>, Bytes),
    /// The client cannot be asked at all: run again with that for an answer.
    Again(Box<Resume>),
}

/// Turns the outcome of a run into what follows from it.
pub(crate) fn settle(slot: &mut Slot, outcome: Outcome, now: Time, endpoint: &Endpoint) -> Settled {
    match outcome {
        Outcome::Complete(answer) => match complete(slot, &answer, endpoint) {
            Ok(response) => Settled::Answered(response, Reply::json(200)),
            Err(fault) => refuse(slot, fault, endpoint),
        },
        Outcome::Fail(fault) => refuse(slot, fault, endpoint),
        Outcome::Ask { questions, state } => match ask::admit(slot, &questions, &state, endpoint) {
            Err(fault) => refuse(slot, fault, endpoint),
            Ok(()) if slot.era() == Era::Legacy => Settled::Ask(questions, state),
            Ok(()) => match ask::input_required(slot, questions, state, now, endpoint) {
                Ok(settled) => settled,
                Err(fault) => refuse(slot, fault, endpoint),
            },
        },
    }
}

/// What is kept of a client that is let in, or why it is not.
pub(crate) fn let_in(outcome: Outcome, endpoint: &Endpoint) -> Result<Bytes, Fault> {
    match outcome {
        Outcome::Complete(Answer::Init(assigns)) if assigns.len() <= endpoint.limits().assigns => {
            // It outlives the call.
            Ok(Bytes::copy_from_slice(&assigns))
        }
        Outcome::Complete(Answer::Init(_)) => {
            Err(Fault::init_failed("the server has more to keep of this client than it may"))
        }
        Outcome::Fail(fault) => Err(fault),
        Outcome::Ask { .. } => Err(Fault::init_failed("the client cannot be asked yet")),
        Outcome::Complete(_) => Err(Fault::init_failed("the server's answer is of another kind")),
    }
}

/// Takes out of an outcome what may not be sent (BASE-21), and says so.
pub(crate) fn sift(slot: &Slot, outcome: &mut Outcome, endpoint: &Endpoint) -> Option<Event> {
    let Outcome::Complete(answer) = outcome else { return None };
    let keys = sift::sift(answer, &slot.peer, endpoint);
    (!keys.is_empty()).then_some(Event::MetaDropped(slot.call, keys))
}

/// A whole error response.
pub(crate) fn error(id: Option<&crate::wire::Id>, fault: &Fault) -> Vec<u8> {
    let mut out = Vec::with_capacity(96 + fault.message().len());
    write::error(&mut out, id, fault);
    out
}

/// A progress notification, if the note has one that may be sent (PROG-1, PROG-2).
pub(crate) fn progress(slot: &mut Slot, note: &Note) -> Option<Vec<u8>> {
    let Note::Progress { progress, total, message } = note else { return None };
    let token = slot.token.as_ref()?;
    if !progress.is_finite() || *progress <= slot.progress {
        return None;
    }
    slot.progress = *progress;
    let mut out = Vec::with_capacity(128);
    write::notification_open(&mut out, "notifications/progress");
    out.extend_from_slice(b"{\"progressToken\":");
    token.write(&mut out);
    out.extend_from_slice(b",\"progress\":");
    write::number(&mut out, *progress);
    if let Some(total) = total.filter(|total| total.is_finite()) {
        out.extend_from_slice(b",\"total\":");
        write::number(&mut out, total);
    }
    // `message` came with 2025-03-26 (spec 21.6).
    if let Some(message) = message.as_ref().filter(|_| slot.peer.revision > crate::Revision::V2024_11_05) {
        out.extend_from_slice(b",\"message\":");
        write::string(&mut out, message);
    }
    out.extend_from_slice(b"}}");
    Some(out)
}

/// Word that a page was completed, to a client that can have been sent there (ELIC-7).
pub(crate) fn page_done(slot: &Slot, note: &Note) -> Option<Vec<u8>> {
    let Note::PageDone { id } = note else { return None };
    if !takes_pages_by_id(slot) {
        return None;
    }
    let mut out = Vec::with_capacity(128);
    write::notification_open(&mut out, "notifications/elicitation/complete");
    out.extend_from_slice(b"{\"elicitationId\":");
    write::string(&mut out, id);
    out.extend_from_slice(b"}}");
    Some(out)
}

/// One revision names pages, and has an error that asks for them (ELIC-7).
fn takes_pages_by_id(slot: &Slot) -> bool {
    slot.peer.revision == Revision::V2025_11_25 && slot.peer.capabilities.has(Ability::ElicitationUrl)
}

/// A log notification (LOG-1). `data` that is no JSON is sent as a string rather than breaking the message.
pub(crate) fn log(note: &Note) -> Option<Vec<u8>> {
    let Note::Log { level, logger, data } = note else { return None };
    let mut out = Vec::with_capacity(96 + data.len());
    write::notification_open(&mut out, "notifications/message");
    out.extend_from_slice(b"{\"level\":\"");
    out.extend_from_slice(level.as_str().as_bytes());
    out.push(b'"');
    if let Some(logger) = logger {
        out.extend_from_slice(b",\"logger\":");
        write::string(&mut out, logger);
    }
    out.extend_from_slice(b",\"data\":");
    match encode::is_json(data.as_bytes()) {
        true => out.extend(data.bytes().filter(|byte| *byte != b'\n' && *byte != b'\r')),
        false => write::string(&mut out, data),
    }
    out.extend_from_slice(b"}}");
    Some(out)
}

/// The notification that says that a list has changed (TOOL-16, RES-8, PROMPT-5).
pub(crate) const fn list_method(what: Change) -> &'static str {
    match what {
        Change::Tools => "notifications/tools/list_changed",
        Change::Prompts => "notifications/prompts/list_changed",
        Change::Resources => "notifications/resources/list_changed",
    }
}

/// A `list_changed` notification for a legacy client.
pub(crate) fn list_changed(what: Change) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    write::notification_open(&mut out, list_method(what));
    out.extend_from_slice(b"{}}");
    out
}

/// Word of a resource's new contents for a legacy client (RES-7).
pub(crate) fn updated(uri: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(96 + uri.len());
    write::notification_open(&mut out, "notifications/resources/updated");
    out.extend_from_slice(b"{\"uri\":");
    write::string(&mut out, uri);
    out.extend_from_slice(b"}}");
    out
}

/// The answer to a completion that the server has no code for (COMP-3).
pub(crate) fn nothing_to_propose(id: &crate::wire::Id, revision: crate::Revision, endpoint: &Endpoint) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    write::result_open(&mut out, id);
    encode::completion(&mut out, revision, &Completion::default(), endpoint);
    out.push(b'}');
    out
}

fn complete(slot: &Slot, answer: &Answer, endpoint: &Endpoint) -> Result<Vec<u8>, Fault> {
    let revision = slot.peer.revision;
    let (meta, structured) = match answer {
        Answer::Tool(answer) => (&answer.meta, answer.structured.as_deref()),
        Answer::Resource(answer) => (&answer.meta, None),
        Answer::Prompt(answer) => (&answer.meta, None),
        Answer::Complete(_) | Answer::Init(_) => (&None, None),
        Answer::Extension(members) => (&None, Some(&**members)),
    };
    if !structured.is_none_or(encode::is_json) || !meta.as_ref().is_none_or(|meta| encode::is_json(meta.as_bytes())) {
        return Err(Fault::internal("The result is not valid JSON"));
    }
    let mut out = Vec::with_capacity(256);
    write::result_open(&mut out, &slot.id);
    match (answer, &slot.kind) {
        (Answer::Tool(answer), Kind::Tool { .. }) => encode::tool_result(&mut out, revision, answer, endpoint),
        // RES-5: a resource that is not there is an error, and one that is there holds something.
        (Answer::Resource(answer), Kind::Resource { .. }) if answer.contents.is_empty() => {
            return Err(Fault::internal("The resource has no contents"));
        }
        (Answer::Resource(answer), Kind::Resource { uri, .. }) => {
            // MRTR-16: what the client's answers went into is good for this once.
            let said = answer.caching.or(slot.hint).seen_by_one(slot.chosen);
            let caching = if slot.rounds > 0 { Caching::NONE } else { said };
            encode::resource_result(&mut out, revision, uri, answer, caching, endpoint);
        }
        (Answer::Prompt(answer), Kind::Prompt { .. }) => encode::prompt_result(&mut out, revision, answer, endpoint),
        (Answer::Complete(answer), Kind::Complete { .. }) => encode::completion(&mut out, revision, answer, endpoint),
        (Answer::Extension(members), Kind::Extension { .. }) => {
            sift::check_extension(members)?;
            encode::extension_result(&mut out, revision, members, endpoint);
        }
        _ => return Err(Fault::internal("The answer does not fit the request")),
    }
    out.push(b'}');
    Ok(out)
}

/// The error codes of one era are not sent to the other (SHIM-3, SHIM-4, ERR-2).
pub(crate) fn refuse(slot: &Slot, fault: Fault, endpoint: &Endpoint) -> Settled {
    let modern_only =
        matches!(fault.code(), Code::HEADER_MISMATCH | Code::MISSING_CAPABILITY | Code::UNSUPPORTED_VERSION);
    let unknown = fault.code() == Code::URL_REQUIRED && !takes_pages_by_id(slot);
    let fault = match slot.era() {
        _ if unknown && !matches!(slot.kind, Kind::Tool { .. }) => Fault::internal(fault.message().to_owned()),
        Era::Modern if unknown => return as_tool_error(slot, &fault, endpoint),
        Era::Legacy if (modern_only || unknown) && matches!(slot.kind, Kind::Tool { .. }) => {
            return as_tool_error(slot, &fault, endpoint);
        }
        Era::Legacy if modern_only => recode(&fault, Code::INVALID_PARAMS),
        Era::Modern if fault.code() == Code::RESOURCE_NOT_FOUND => recode(&fault, Code::INVALID_PARAMS),
        Era::Legacy | Era::Modern => fault,
    };
    let status = match (slot.era(), fault.status()) {
        // HTTP-11: the code's hint is for modern. What the server means by another status (403, 503) stands.
        (Era::Legacy, 400 | 404) => 200,
        (_, status) => status,
    };
    Settled::Answered(error(Some(&slot.id), &fault), Reply::refusal_of(endpoint, &fault, status))
}

/// A tool's answer in the words of an error that its client does not know.
fn as_tool_error(slot: &Slot, fault: &Fault, endpoint: &Endpoint) -> Settled {
    match complete(slot, &Answer::Tool(ToolAnswer::error(fault.message())), endpoint) {
        Ok(response) => Settled::Answered(response, Reply::json(200)),
        Err(fault) => Settled::Answered(error(Some(&slot.id), &fault), Reply::json(200)),
    }
}

/// HTTP-11: to a legacy client, 404 means that its session is gone, and 400 that there is none, or that the request could
/// not be read; wrong parameters are a method's error, and so a 200.
pub(crate) fn legacy_status(fault: &Fault) -> u16 {
    match (fault.code(), fault.status()) {
        (_, 404) | (Code::INVALID_PARAMS, 400) => 200,
        (_, status) => status,
    }
}

pub(crate) fn recode(fault: &Fault, code: Code) -> Fault {
    let recoded = Fault::new(code, alloc::string::String::from(fault.message()));
    match fault.data() {
        Some(data) => recoded.with_data(data),
        None => recoded,
    }
}
