//! Records out of JSON. Each value is looked at by the type that should be there, so that nothing recurses with the text.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::value::RawValue;

use super::write::{change_name, close_name, theme_name};
use super::{Record, RecordError, RecordedView, What};
use crate::answer::{
    Annotations, Answer, Block, Completion, Content, Contents, Embedded, Icon, Link, PromptAnswer, PromptMessage,
    ResourceAnswer, ResourceBody, Role, Theme, ToolAnswer,
};
use crate::caching::CacheHint;
use crate::encode::json;
use crate::fault::{Fault, Remedy};
use crate::headers::HeadBuf;
use crate::machine::{CallId, Change, Close, Level, Note, Outcome, StreamId};
use crate::peer::{Caller, Scopes};
use crate::question::Question;
use crate::time::{Span, Time};
use crate::wire::{Id, Unread, decode};

type Read<T> = Result<T, RecordError>;

pub(super) fn record(line: &str) -> Read<Record> {
    let mut members = Members::of("the line", line)?;
    let at = Time(members.need("at", integer)?);
    let (tag, raw) = members.last()?;
    let what = match &*tag {
        "message" => message(raw)?,
        "unread" => What::Unread(unread(raw)?),
        "attach" => {
            let mut members = Members::of("attach", raw)?;
            let what = What::Attach { head: members.need("head", head)?, from: members.need("from", caller)? };
            members.end(what)?
        }
        "detach" => What::Detach(StreamId(integer("detach", raw)?)),
        "note" => {
            let mut members = Members::of("note", raw)?;
            What::Note { call: CallId(members.need("call", integer)?), note: note(members)? }
        }
        "sees" => {
            let mut members = Members::of("sees", raw)?;
            let what = What::Sees { call: CallId(members.need("call", integer)?), view: members.need("view", view)? };
            members.end(what)?
        }
        "done" => {
            let mut members = Members::of("done", raw)?;
            What::Done { call: CallId(members.need("call", integer)?), outcome: outcome(members)? }
        }
        "stray" => What::Stray(CallId(integer("stray", raw)?)),
        "changed" => {
            let mut members = Members::of("changed", raw)?;
            let generation = members.need("generation", integer)?;
            let what = members.need("what", |place, raw| named(place, raw, &Change::ALL, change_name))?;
            members.end(What::Changed { generation, what })?
        }
        "updated" => {
            let mut members = Members::of("updated", raw)?;
            let what = What::Updated { uri: members.need("uri", boxed)?, view: members.need("view", view)? };
            members.end(what)?
        }
        "listen" => truth("listen", raw, What::Listen(Ok(())))?,
        "refused" => What::Listen(Err(fault("refused", raw)?)),
        "tick" => truth("tick", raw, What::Tick)?,
        "close" => {
            let all = [Close::EndOfInput, Close::Peer, Close::Shutdown];
            What::Close(named("close", raw, &all, close_name)?)
        }
        "pull" => {
            let mut members = Members::of("pull", raw)?;
            let stream = StreamId(members.need("stream", integer)?);
            // A limit that this machine cannot count to is none.
            let limit = members.need("limit", integer::<u64>)?.try_into().unwrap_or(usize::MAX);
            members.end(What::Pull { stream, limit })?
        }
        _ => return Err(RecordError::new("the line", "has a member that is not known")),
    };
    Ok(Record { at, what })
}

fn message(raw: &str) -> Read<What> {
    let mut members = Members::of("message", raw)?;
    let what = What::Message {
        body: members.need("body", bytes)?,
        head: members.may("head", head)?,
        from: members.need("from", caller)?,
        view: members.need("view", view)?,
    };
    members.end(what)
}

fn head(place: &'static str, raw: &str) -> Read<HeadBuf> {
    let fields = list(place, raw, |place, raw| {
        let (name, value) = pair(place, raw)?;
        Ok((text(place, name)?.into_owned(), bytes(place, value)?.to_vec()))
    })?;
    Ok(fields.into_iter().collect())
}

fn caller(place: &'static str, raw: &str) -> Read<Caller> {
    let mut members = Members::of(place, raw)?;
    let principal = members.may("principal", text)?.map(|id| (&*id).into());
    let scopes = members.may("scopes", text)?.map_or_else(Scopes::default, |scopes| Scopes::parse(&scopes));
    members.end(Caller { principal, scopes })
}

fn view(place: &'static str, raw: &str) -> Read<RecordedView> {
    let mut members = Members::of(place, raw)?;
    let generation = members.need("generation", integer)?;
    let only = members.may("only", |place, raw| list(place, raw, boxed))?;
    let by = members.may("by", |place, raw| {
        list(place, raw, |place, raw| {
            let (assigns, names) = pair(place, raw)?;
            Ok((bytes(place, assigns)?, list(place, names, boxed)?))
        })
    })?;
    members.end(RecordedView { generation, only, by: by.unwrap_or_default() })
}

fn unread(raw: &str) -> Read<Unread> {
    let mut members = Members::of("unread", raw)?;
    let id = members.may("id", |place, raw| {
        // It was as long as the limits of its time allowed.
        Id::parse(raw, usize::MAX).ok_or(RecordError::new(place, "is not a request id"))
    })?;
    let fault = members.need("fault", fault)?;
    let silent = members.flag("silent")?;
    members.end(Unread { id, fault, silent })
}

fn fault(place: &'static str, raw: &str) -> Read<Fault> {
    let mut members = Members::of(place, raw)?;
    let code = members.need("code", integer)?;
    let message = members.need("message", text)?.into_owned();
    let data = members.may("data", boxed)?;
    let status = members.need("status", integer)?;
    let scopes = members.may("scopes", text)?.map(|scopes| Remedy::Scopes(Scopes::parse(&scopes)));
    let wait = members.may("wait", integer)?.map(|ms| Remedy::Wait(Span(ms)));
    members.end(Fault::recorded(code, message, data, status, scopes.or(wait)))
}

fn note(members: Members<'_>) -> Read<Note> {
    let (tag, raw) = members.last()?;
    match &*tag {
        "progress" => {
            let mut members = Members::of("progress", raw)?;
            let progress = members.need("progress", float)?;
            let total = members.may("total", float)?;
            let message = members.may("message", boxed)?;
            members.end(Note::Progress { progress, total, message })
        }
        "pageDone" => {
            let mut members = Members::of("pageDone", raw)?;
            let id = members.need("id", boxed)?;
            members.end(Note::PageDone { id })
        }
        "log" => {
            let mut members = Members::of("log", raw)?;
            let level = members.need("level", |place, raw| named(place, raw, &Level::ALL, Level::as_str))?;
            let logger = members.may("logger", boxed)?;
            let data = members.need("data", boxed)?;
            members.end(Note::Log { level, logger, data })
        }
        "hangUp" => truth("hangUp", raw, Note::HangUp),
        "assigns" => Ok(Note::Assigns(bytes("assigns", raw)?)),
        _ => Err(RecordError::new("note", "is of no kind that is known")),
    }
}

fn outcome(members: Members<'_>) -> Read<Outcome> {
    let (tag, raw) = members.last()?;
    Ok(match &*tag {
        "tool" => Outcome::Complete(Answer::Tool(tool_answer(raw)?)),
        "contents" => Outcome::Complete(Answer::Resource(resource_answer(raw)?)),
        "prompt" => Outcome::Complete(Answer::Prompt(prompt_answer(raw)?)),
        "completion" => Outcome::Complete(Answer::Complete(completion(raw)?)),
        "extension" => Outcome::Complete(Answer::Extension(bytes("extension", raw)?)),
        "init" => Outcome::Complete(Answer::Init(bytes("init", raw)?)),
        "ask" => {
            let mut members = Members::of("ask", raw)?;
            let questions = members.need("questions", |place, raw| {
                list(place, raw, |place, raw| {
                    let (key, asked) = pair(place, raw)?;
                    Ok((boxed(place, key)?, question(asked)?))
                })
            })?;
            let state = members.need("state", bytes)?;
            members.end(Outcome::Ask { questions, state })?
        }
        "fail" => Outcome::Fail(fault("fail", raw)?),
        _ => return Err(RecordError::new("done", "is of no kind that is known")),
    })
}

fn question(raw: &str) -> Read<Question> {
    let (tag, raw) = Members::of("questions", raw)?.last()?;
    match &*tag {
        "form" => {
            let mut members = Members::of("form", raw)?;
            let (message, schema) = (members.need("message", boxed)?, members.need("schema", boxed)?);
            members.end(Question::Form { message, schema })
        }
        "url" => {
            let mut members = Members::of("url", raw)?;
            let (message, url) = (members.need("message", boxed)?, members.need("url", boxed)?);
            let id = members.need("id", boxed)?;
            members.end(Question::Url { message, url, id })
        }
        "sample" => {
            let mut members = Members::of("sample", raw)?;
            let (params, tools) = (members.need("params", boxed)?, members.flag("tools")?);
            members.end(Question::Sample { params, tools })
        }
        "roots" => truth("roots", raw, Question::Roots),
        _ => Err(RecordError::new("questions", "has one of no kind that is known")),
    }
}

fn tool_answer(raw: &str) -> Read<ToolAnswer> {
    let mut members = Members::of("tool", raw)?;
    let content = members.need("content", |place, raw| list(place, raw, content))?;
    let structured = members.may("structured", bytes)?;
    let is_error = members.flag("isError")?;
    let meta = members.may("meta", boxed)?;
    members.end(ToolAnswer { content, structured, is_error, meta })
}

fn resource_answer(raw: &str) -> Read<ResourceAnswer> {
    let mut members = Members::of("contents", raw)?;
    let contents = members.need("contents", |place, raw| {
        list(place, raw, |place, raw| {
            let mut members = Members::of(place, raw)?;
            let (uri, mime) = (members.may("uri", boxed)?, members.may("mime", boxed)?);
            let meta = members.may("meta", boxed)?;
            Ok(Contents { uri, mime, body: resource_body(members)?, meta })
        })
    })?;
    let meta = members.may("meta", boxed)?;
    let caching = members.may("caching", |place, raw| {
        let mut members = Members::of(place, raw)?;
        let ttl = members.may("ttl", integer)?.map(Span);
        let public = members.may("public", boolean)?;
        members.end(CacheHint { ttl, public })
    })?;
    members.end(ResourceAnswer { contents, caching: caching.unwrap_or_default(), meta })
}

fn prompt_answer(raw: &str) -> Read<PromptAnswer> {
    let mut members = Members::of("prompt", raw)?;
    let description = members.may("description", boxed)?;
    let messages = members.need("messages", |place, raw| {
        list(place, raw, |place, raw| {
            let mut members = Members::of(place, raw)?;
            let message =
                PromptMessage { role: members.need("role", role)?, content: members.need("content", content)? };
            members.end(message)
        })
    })?;
    let meta = members.may("meta", boxed)?;
    members.end(PromptAnswer { description, messages, meta })
}

fn completion(raw: &str) -> Read<Completion> {
    let mut members = Members::of("completion", raw)?;
    let values =
        members.need("values", |place, raw| list(place, raw, |place, raw| Ok(text(place, raw)?.into_owned())))?;
    let (total, has_more) = (members.may("total", integer)?, members.flag("more")?);
    members.end(Completion { values, total, has_more })
}

fn content(place: &'static str, raw: &str) -> Read<Content> {
    let mut members = Members::of(place, raw)?;
    let annotations = members.may("annotations", annotations)?;
    let meta = members.may("meta", boxed)?;
    let (tag, raw) = members.last()?;
    let block = match &*tag {
        "text" => Block::Text(text("text", raw)?.into_owned()),
        "image" => media("image", raw).map(|(data, mime)| Block::Image { data, mime })?,
        "audio" => media("audio", raw).map(|(data, mime)| Block::Audio { data, mime })?,
        "link" => Block::Link(Box::new(link(raw)?)),
        "resource" => Block::Resource(Box::new(embedded(raw)?)),
        _ => return Err(RecordError::new(place, "has a block of no kind that is known")),
    };
    Ok(Content { block, annotations, meta })
}

fn media(place: &'static str, raw: &str) -> Read<(Bytes, Box<str>)> {
    let mut members = Members::of(place, raw)?;
    let (data, mime) = (members.need("data", bytes)?, members.need("mime", boxed)?);
    members.end((data, mime))
}

fn link(raw: &str) -> Read<Link> {
    let mut members = Members::of("link", raw)?;
    let link = Link {
        uri: members.need("uri", boxed)?,
        name: members.need("name", boxed)?,
        title: members.may("title", boxed)?,
        description: members.may("description", boxed)?,
        mime: members.may("mime", boxed)?,
        size: members.may("size", integer)?,
        icons: members.may("icons", |place, raw| list(place, raw, icon))?.unwrap_or_default(),
    };
    members.end(link)
}

fn icon(place: &'static str, raw: &str) -> Read<Icon> {
    let mut members = Members::of(place, raw)?;
    let themes = [Theme::Light, Theme::Dark];
    let icon = Icon {
        src: members.need("src", boxed)?,
        mime: members.may("mime", boxed)?,
        sizes: members.may("sizes", |place, raw| list(place, raw, boxed))?.unwrap_or_default(),
        theme: members.may("theme", |place, raw| named(place, raw, &themes, theme_name))?,
    };
    members.end(icon)
}

fn embedded(raw: &str) -> Read<Embedded> {
    let mut members = Members::of("resource", raw)?;
    let uri = members.need("uri", boxed)?;
    let mime = members.may("mime", boxed)?;
    let meta = members.may("meta", boxed)?;
    Ok(Embedded { uri, mime, body: resource_body(members)?, meta })
}

fn resource_body(members: Members<'_>) -> Read<ResourceBody> {
    let (tag, raw) = members.last()?;
    Ok(match &*tag {
        "text" => ResourceBody::Text(text("text", raw)?.into_owned()),
        "bytes" => ResourceBody::Bytes(bytes("bytes", raw)?),
        _ => return Err(RecordError::new("resource", "has a body of no kind that is known")),
    })
}

fn role(place: &'static str, raw: &str) -> Read<Role> {
    named(place, raw, &[Role::User, Role::Assistant], Role::as_str)
}

fn annotations(place: &'static str, raw: &str) -> Read<Annotations> {
    let mut members = Members::of(place, raw)?;
    let hints = Annotations {
        audience: members.may("audience", |place, raw| list(place, raw, role))?.unwrap_or_default(),
        priority: members.may("priority", float)?,
        last_modified: members.may("lastModified", boxed)?,
    };
    members.end(hints)
}

/// The members of an object that were not read yet.
struct Members<'a> {
    place: &'static str,
    left: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> Members<'a> {
    fn of(place: &'static str, raw: &'a str) -> Read<Self> {
        let left = json::members(raw).ok_or(RecordError::new(place, "is not a JSON object"))?;
        Ok(Self { place, left })
    }

    fn need<T>(&mut self, name: &'static str, read: impl FnOnce(&'static str, &'a str) -> Read<T>) -> Read<T> {
        self.may(name, read)?.ok_or(RecordError::new(name, "is missing"))
    }

    fn may<T>(&mut self, name: &'static str, read: impl FnOnce(&'static str, &'a str) -> Read<T>) -> Read<Option<T>> {
        let Some(at) = self.left.iter().position(|(key, _)| key == name) else { return Ok(None) };
        let (_, raw) = self.left.remove(at);
        read(name, raw).map(Some)
    }

    fn flag(&mut self, name: &'static str) -> Read<bool> {
        Ok(self.may(name, |place, raw| truth(place, raw, ()))?.is_some())
    }

    /// The one member that is left: its name says of which kind the whole is.
    fn last(mut self) -> Read<(Cow<'a, str>, &'a str)> {
        match (self.left.pop(), self.left.is_empty()) {
            (Some(last), true) => Ok(last),
            (None, _) => Err(RecordError::new(self.place, "does not say of which kind it is")),
            (Some(_), false) => Err(RecordError::new(self.place, "has a member too many")),
        }
    }

    /// Hands out what was read, if nothing is left.
    fn end<T>(self, whole: T) -> Read<T> {
        if self.left.is_empty() { Ok(whole) } else { Err(RecordError::new(self.place, "has a member too many")) }
    }
}

fn list<'a, T>(place: &'static str, raw: &'a str, each: impl Fn(&'static str, &'a str) -> Read<T>) -> Read<Vec<T>> {
    let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(|_| RecordError::new(place, "is not an array"))?;
    items.into_iter().map(|item| each(place, item.get())).collect()
}

fn pair<'a>(place: &'static str, raw: &'a str) -> Read<(&'a str, &'a str)> {
    let [name, value]: [&RawValue; 2] =
        serde_json::from_str(raw).map_err(|_| RecordError::new(place, "has an entry that is not an array of two"))?;
    Ok((name.get(), value.get()))
}

fn text<'a>(place: &'static str, raw: &'a str) -> Read<Cow<'a, str>> {
    decode(raw).ok_or(RecordError::new(place, "is not a string"))
}

fn boxed(place: &'static str, raw: &str) -> Read<Box<str>> {
    Ok(String::from(text(place, raw)?).into())
}

fn bytes(place: &'static str, raw: &str) -> Read<Bytes> {
    if raw.starts_with('"') {
        return Ok(text(place, raw)?.into_owned().into());
    }
    let mut members = Members::of(place, raw)?;
    let bytes = members.need("base64", |_, raw| {
        STANDARD.decode(&*text(place, raw)?).map_err(|_| RecordError::new(place, "is not standard base64 with padding"))
    })?;
    members.end(bytes.into())
}

fn integer<T: FromStr>(place: &'static str, raw: &str) -> Read<T> {
    raw.parse().map_err(|_| RecordError::new(place, "is not an integer of its size"))
}

/// Not by `serde_json`, whose numbers may differ in the last bit.
fn float(place: &'static str, raw: &str) -> Read<f64> {
    let number = match raw {
        "\"NaN\"" => Some(f64::NAN),
        "\"inf\"" => Some(f64::INFINITY),
        "\"-inf\"" => Some(f64::NEG_INFINITY),
        number => number.parse().ok(),
    };
    number.ok_or(RecordError::new(place, "is not a number"))
}

fn truth<T>(place: &'static str, raw: &str, whole: T) -> Read<T> {
    if raw == "true" { Ok(whole) } else { Err(RecordError::new(place, "can only be `true`")) }
}

fn boolean(place: &'static str, raw: &str) -> Read<bool> {
    match raw {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(RecordError::new(place, "is neither `true` nor `false`")),
    }
}

/// The one of `all` that has that name.
fn named<T: Copy>(place: &'static str, raw: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Read<T> {
    let sent = text(place, raw)?;
    let known = all.iter().copied().find(|one| name(*one) == sent);
    known.ok_or(RecordError::new(place, "is not one of the names that are known"))
}
