//! Records as JSON, one line each. Members that are absent stand for `None`, empty and `false`.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Record, RecordedView, What};
use crate::answer::{
    Annotations, Answer, Block, Completion, Content, Contents, Embedded, Icon, Link, PromptAnswer, PromptMessage,
    ResourceAnswer, ResourceBody, Theme, ToolAnswer,
};
use crate::caching::CacheHint;
use crate::encode::json::Object;
use crate::fault::{Fault, Remedy};
use crate::headers::HeadBuf;
use crate::machine::{Change, Close, Note, Outcome};
use crate::peer::{Caller, Principal};
use crate::question::Question;
use crate::wire::{Unread, write};

pub(super) fn record(record: &Record) -> String {
    let mut out = Vec::with_capacity(256);
    let mut object = Object::open(&mut out);
    unsigned(object.key("at"), record.at.0);
    what(&mut object, &record.what);
    object.close();
    // Every byte came out of a `str`, or is ASCII: the default is never taken.
    String::from_utf8(out).unwrap_or_default()
}

fn what(object: &mut Object<'_>, what: &What) {
    match what {
        What::Message { body, head, from, view } => {
            let mut object = Object::open(object.key("message"));
            bytes(object.key("body"), body);
            if let Some(head) = head {
                fields(object.key("head"), head);
            }
            caller(object.key("from"), from);
            recorded_view(object.key("view"), view);
            object.close();
        }
        What::Unread(what) => unread(object.key("unread"), what),
        What::Attach { head, from } => {
            let mut object = Object::open(object.key("attach"));
            fields(object.key("head"), head);
            caller(object.key("from"), from);
            object.close();
        }
        What::Detach(stream) => unsigned(object.key("detach"), stream.0),
        What::Note { call, note: said } => {
            let mut object = Object::open(object.key("note"));
            unsigned(object.key("call"), call.0);
            note(&mut object, said);
            object.close();
        }
        What::Sees { call, view } => {
            let mut object = Object::open(object.key("sees"));
            unsigned(object.key("call"), call.0);
            recorded_view(object.key("view"), view);
            object.close();
        }
        What::Done { call, outcome: ended } => {
            let mut object = Object::open(object.key("done"));
            unsigned(object.key("call"), call.0);
            outcome(&mut object, ended);
            object.close();
        }
        What::Stray(call) => unsigned(object.key("stray"), call.0),
        What::Changed { generation, what } => {
            let mut object = Object::open(object.key("changed"));
            unsigned(object.key("generation"), *generation);
            object.string("what", change_name(*what));
            object.close();
        }
        What::Updated { uri, view } => {
            let mut object = Object::open(object.key("updated"));
            object.string("uri", uri);
            recorded_view(object.key("view"), view);
            object.close();
        }
        What::Listen(Ok(())) => object.boolean("listen", true),
        What::Listen(Err(refused)) => fault(object.key("refused"), refused),
        What::Tick => object.boolean("tick", true),
        What::Close(why) => object.string("close", close_name(*why)),
        What::Pull { stream, limit } => {
            let mut object = Object::open(object.key("pull"));
            unsigned(object.key("stream"), stream.0);
            unsigned(object.key("limit"), u64::try_from(*limit).unwrap_or(u64::MAX));
            object.close();
        }
    }
}

pub(super) const fn change_name(what: Change) -> &'static str {
    match what {
        Change::Tools => "tools",
        Change::Prompts => "prompts",
        Change::Resources => "resources",
    }
}

pub(super) const fn close_name(why: Close) -> &'static str {
    match why {
        Close::EndOfInput => "endOfInput",
        Close::Peer => "peer",
        Close::Shutdown => "shutdown",
    }
}

pub(super) const fn theme_name(theme: Theme) -> &'static str {
    match theme {
        Theme::Light => "light",
        Theme::Dark => "dark",
    }
}

fn caller(out: &mut Vec<u8>, caller: &Caller) {
    let mut object = Object::open(out);
    object.optional("principal", caller.principal.as_ref().map(Principal::as_str));
    let scopes: Vec<&str> = caller.scopes.iter().collect();
    if !scopes.is_empty() {
        // No scope has a space in it: they were split at spaces.
        object.string("scopes", &scopes.join(" "));
    }
    object.close();
}

fn recorded_view(out: &mut Vec<u8>, view: &RecordedView) {
    let mut object = Object::open(out);
    unsigned(object.key("generation"), view.generation);
    if let Some(names) = &view.only {
        strings(object.key("only"), names);
    }
    if !view.by.is_empty() {
        list(object.key("by"), &view.by, |out, (assigns, names)| {
            out.push(b'[');
            bytes(out, assigns);
            out.push(b',');
            strings(out, names);
            out.push(b']');
        });
    }
    object.close();
}

fn fields(out: &mut Vec<u8>, head: &HeadBuf) {
    list(out, head.fields(), |out, (name, value)| {
        out.push(b'[');
        write::string(out, name);
        out.push(b',');
        bytes(out, value);
        out.push(b']');
    });
}

fn unread(out: &mut Vec<u8>, unread: &Unread) {
    let mut object = Object::open(out);
    if let Some(id) = &unread.id {
        id.write(object.key("id"));
    }
    fault(object.key("fault"), &unread.fault);
    flag(&mut object, "silent", unread.silent);
    object.close();
}

fn fault(out: &mut Vec<u8>, fault: &Fault) {
    let mut object = Object::open(out);
    write::integer(object.key("code"), fault.code().get());
    object.string("message", fault.message());
    object.optional("data", fault.data());
    unsigned(object.key("status"), fault.status().into());
    match fault.remedy() {
        Some(Remedy::Scopes(scopes)) => object.string("scopes", &scopes.join()),
        Some(Remedy::Wait(span)) => unsigned(object.key("wait"), span.0),
        None => {}
    }
    object.close();
}

fn note(object: &mut Object<'_>, note: &Note) {
    match note {
        Note::Progress { progress, total, message } => {
            let mut object = Object::open(object.key("progress"));
            float(object.key("progress"), *progress);
            if let Some(total) = total {
                float(object.key("total"), *total);
            }
            object.optional("message", message.as_deref());
            object.close();
        }
        Note::PageDone { id } => {
            let mut object = Object::open(object.key("pageDone"));
            object.string("id", id);
            object.close();
        }
        Note::Log { level, logger, data } => {
            let mut object = Object::open(object.key("log"));
            object.string("level", level.as_str());
            object.optional("logger", logger.as_deref());
            object.string("data", data);
            object.close();
        }
        Note::HangUp => object.json("hangUp", "true"),
        Note::Assigns(assigns) => bytes(object.key("assigns"), assigns),
    }
}

fn outcome(object: &mut Object<'_>, outcome: &Outcome) {
    match outcome {
        Outcome::Complete(Answer::Tool(answer)) => tool_answer(object.key("tool"), answer),
        Outcome::Complete(Answer::Resource(answer)) => resource_answer(object.key("contents"), answer),
        Outcome::Complete(Answer::Prompt(answer)) => prompt_answer(object.key("prompt"), answer),
        Outcome::Complete(Answer::Complete(answer)) => completion(object.key("completion"), answer),
        Outcome::Complete(Answer::Extension(result)) => bytes(object.key("extension"), result),
        Outcome::Complete(Answer::Init(assigns)) => bytes(object.key("init"), assigns),
        Outcome::Ask { questions, state } => {
            let mut object = Object::open(object.key("ask"));
            list(object.key("questions"), questions, |out, (key, asked)| {
                out.push(b'[');
                write::string(out, key);
                out.push(b',');
                question(out, asked);
                out.push(b']');
            });
            bytes(object.key("state"), state);
            object.close();
        }
        Outcome::Fail(failed) => fault(object.key("fail"), failed),
    }
}

fn question(out: &mut Vec<u8>, question: &Question) {
    let mut object = Object::open(out);
    match question {
        Question::Form { message, schema } => {
            let mut object = Object::open(object.key("form"));
            object.string("message", message);
            object.string("schema", schema);
            object.close();
        }
        Question::Url { message, url, id } => {
            let mut object = Object::open(object.key("url"));
            object.string("message", message);
            object.string("url", url);
            object.string("id", id);
            object.close();
        }
        Question::Sample { params, tools } => {
            let mut object = Object::open(object.key("sample"));
            object.string("params", params);
            flag(&mut object, "tools", *tools);
            object.close();
        }
        Question::Roots => object.boolean("roots", true),
    }
    object.close();
}

fn tool_answer(out: &mut Vec<u8>, answer: &ToolAnswer) {
    let mut object = Object::open(out);
    list(object.key("content"), &answer.content, content);
    if let Some(json) = &answer.structured {
        bytes(object.key("structured"), json);
    }
    flag(&mut object, "isError", answer.is_error);
    object.optional("meta", answer.meta.as_deref());
    object.close();
}

fn resource_answer(out: &mut Vec<u8>, answer: &ResourceAnswer) {
    let mut object = Object::open(out);
    list(object.key("contents"), &answer.contents, |out, Contents { uri, mime, body, meta }| {
        let mut object = Object::open(out);
        object.optional("uri", uri.as_deref());
        object.optional("mime", mime.as_deref());
        resource_body(&mut object, body);
        object.optional("meta", meta.as_deref());
        object.close();
    });
    if answer.caching != CacheHint::default() {
        let mut object = Object::open(object.key("caching"));
        if let Some(ttl) = answer.caching.ttl {
            unsigned(object.key("ttl"), ttl.0);
        }
        if let Some(public) = answer.caching.public {
            object.boolean("public", public);
        }
        object.close();
    }
    object.optional("meta", answer.meta.as_deref());
    object.close();
}

fn prompt_answer(out: &mut Vec<u8>, answer: &PromptAnswer) {
    let mut object = Object::open(out);
    object.optional("description", answer.description.as_deref());
    list(object.key("messages"), &answer.messages, |out, PromptMessage { role, content: said }| {
        let mut object = Object::open(out);
        object.string("role", role.as_str());
        content(object.key("content"), said);
        object.close();
    });
    object.optional("meta", answer.meta.as_deref());
    object.close();
}

fn completion(out: &mut Vec<u8>, answer: &Completion) {
    let mut object = Object::open(out);
    list(object.key("values"), &answer.values, |out, value| write::string(out, value));
    if let Some(total) = answer.total {
        unsigned(object.key("total"), total);
    }
    flag(&mut object, "more", answer.has_more);
    object.close();
}

fn content(out: &mut Vec<u8>, content: &Content) {
    let mut object = Object::open(out);
    match &content.block {
        Block::Text(text) => object.string("text", text),
        Block::Image { data, mime } => media(object.key("image"), data, mime),
        Block::Audio { data, mime } => media(object.key("audio"), data, mime),
        Block::Link(to) => link(object.key("link"), to),
        Block::Resource(resource) => embedded(object.key("resource"), resource),
    }
    if let Some(hints) = &content.annotations {
        annotations(object.key("annotations"), hints);
    }
    object.optional("meta", content.meta.as_deref());
    object.close();
}

fn media(out: &mut Vec<u8>, data: &[u8], mime: &str) {
    let mut object = Object::open(out);
    bytes(object.key("data"), data);
    object.string("mime", mime);
    object.close();
}

fn link(out: &mut Vec<u8>, link: &Link) {
    let mut object = Object::open(out);
    object.string("uri", &link.uri);
    object.string("name", &link.name);
    object.optional("title", link.title.as_deref());
    object.optional("description", link.description.as_deref());
    object.optional("mime", link.mime.as_deref());
    if let Some(size) = link.size {
        unsigned(object.key("size"), size);
    }
    if !link.icons.is_empty() {
        list(object.key("icons"), &link.icons, icon);
    }
    object.close();
}

fn icon(out: &mut Vec<u8>, icon: &Icon) {
    let mut object = Object::open(out);
    object.string("src", &icon.src);
    object.optional("mime", icon.mime.as_deref());
    if !icon.sizes.is_empty() {
        strings(object.key("sizes"), &icon.sizes);
    }
    object.optional("theme", icon.theme.map(theme_name));
    object.close();
}

fn embedded(out: &mut Vec<u8>, resource: &Embedded) {
    let mut object = Object::open(out);
    object.string("uri", &resource.uri);
    object.optional("mime", resource.mime.as_deref());
    resource_body(&mut object, &resource.body);
    object.optional("meta", resource.meta.as_deref());
    object.close();
}

fn resource_body(object: &mut Object<'_>, body: &ResourceBody) {
    match body {
        ResourceBody::Text(text) => object.string("text", text),
        ResourceBody::Bytes(data) => bytes(object.key("bytes"), data),
    }
}

fn annotations(out: &mut Vec<u8>, hints: &Annotations) {
    let mut object = Object::open(out);
    if !hints.audience.is_empty() {
        list(object.key("audience"), &hints.audience, |out, role| write::string(out, role.as_str()));
    }
    if let Some(priority) = hints.priority {
        float(object.key("priority"), priority);
    }
    object.optional("lastModified", hints.last_modified.as_deref());
    object.close();
}

fn flag(object: &mut Object<'_>, name: &str, value: bool) {
    if value {
        object.boolean(name, true);
    }
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match core::str::from_utf8(bytes) {
        Ok(text) => write::string(out, text),
        Err(_) => {
            let mut object = Object::open(out);
            write::base64(object.key("base64"), bytes);
            object.close();
        }
    }
}

fn strings(out: &mut Vec<u8>, texts: &[Box<str>]) {
    list(out, texts, |out, text| write::string(out, text));
}

fn list<T>(out: &mut Vec<u8>, items: &[T], each: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        each(out, item);
    }
    out.push(b']');
}

fn unsigned(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(alloc::format!("{number}").as_bytes());
}

/// A number that reads back bit for bit. JSON has no text for those that are not finite: they are strings.
fn float(out: &mut Vec<u8>, number: f64) {
    let text = alloc::format!("{number:?}");
    if number.is_finite() { out.extend_from_slice(text.as_bytes()) } else { write::string(out, &text) }
}
