//! Answers as the revision of a request has them: one neutral model in, one result object out (SHIM-1, SHIM-2, SHIM-4).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::answer::{
    Annotations, Block, Completion, Content, Contents, Embedded, Icon, Implementation, Link, PromptAnswer,
    ResourceAnswer, ResourceBody, Theme, ToolAnswer,
};
use crate::caching::Caching;
use crate::endpoint::Endpoint;
use crate::peer::{Era, Revision};
use crate::wire::write;

pub(crate) mod json;
pub(crate) mod sift;
#[cfg(test)]
mod tests;

pub(crate) use json::is_json;
use json::{Object, is_object, members};

/// The key of the server's own name in the `_meta` of modern results (BASE-16).
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The result object of a tool call.
///
/// `answer.structured` must be JSON ([`is_json`]). What it holds always reaches the peer (TOOL-12, SHIM-2):
/// - as `structuredContent` where the revision can hold it and the tool did not fail;
/// - as a text block where `content` is empty, or where it is not sent as `structuredContent` and no text block of
///   `content` says the same. The content of a failure is left alone: it says what went wrong.
pub(crate) fn tool_result(out: &mut Vec<u8>, revision: Revision, answer: &ToolAnswer, endpoint: &Endpoint) {
    let structured = answer.structured.as_deref().and_then(|json| core::str::from_utf8(json).ok());
    let sent = structured.filter(|json| !answer.is_error && holds(revision, json));
    out.extend_from_slice(match revision.era() {
        Era::Modern => b"{\"resultType\":\"complete\",\"content\":[",
        Era::Legacy => b"{\"content\":[",
    });
    let open = out.len();
    for block in &answer.content {
        comma(out, open);
        content(out, revision, block);
    }
    if let Some(json) = structured.filter(|json| needs_text(answer, json, sent.is_some())) {
        comma(out, open);
        let mut block = Object::open(out);
        text(&mut block, json);
        block.close();
    }
    out.push(b']');
    if let Some(json) = sent {
        out.extend_from_slice(b",\"structuredContent\":");
        write::raw(out, json.as_bytes());
    }
    if answer.is_error {
        out.extend_from_slice(b",\"isError\":true");
    }
    result_meta(out, revision, answer.meta.as_deref(), endpoint);
    out.push(b'}');
}

/// The result object of a read (RES-4). Contents without a URI of their own get the one that was read.
pub(crate) fn resource_result(
    out: &mut Vec<u8>,
    revision: Revision,
    uri: &str,
    answer: &ResourceAnswer,
    caching: Caching,
    endpoint: &Endpoint,
) {
    result_open(out, revision);
    out.extend_from_slice(b"\"contents\":[");
    let open = out.len();
    for Contents { uri: own, mime, body, meta } in &answer.contents {
        comma(out, open);
        resource(out, revision, own.as_deref().unwrap_or(uri), mime.as_deref(), body, meta.as_deref());
    }
    out.push(b']');
    if revision.era() == Era::Modern {
        out.push(b',');
        caching.write(out);
    }
    result_meta(out, revision, answer.meta.as_deref(), endpoint);
    out.push(b'}');
}

/// The result object of a prompt (PROMPT-2).
pub(crate) fn prompt_result(out: &mut Vec<u8>, revision: Revision, answer: &PromptAnswer, endpoint: &Endpoint) {
    result_open(out, revision);
    if let Some(description) = &answer.description {
        out.extend_from_slice(b"\"description\":");
        write::string(out, description);
        out.push(b',');
    }
    out.extend_from_slice(b"\"messages\":[");
    let open = out.len();
    for message in &answer.messages {
        comma(out, open);
        let mut object = Object::open(out);
        object.string("role", message.role.as_str());
        content(object.key("content"), revision, &message.content);
        object.close();
    }
    out.push(b']');
    result_meta(out, revision, answer.meta.as_deref(), endpoint);
    out.push(b'}');
}

/// The result object of a completion: the first 100 proposals, and how many there are (COMP-3).
pub(crate) fn completion(out: &mut Vec<u8>, revision: Revision, answer: &Completion, endpoint: &Endpoint) {
    let known = answer.values.len() as u64;
    let sent = answer.values.len().min(MOST_PROPOSALS);
    // What a completer says must not contradict what it gave: a client would stop, or wait for more.
    let total = match answer.total {
        Some(total) => Some(total.max(known)),
        None => (!answer.has_more).then_some(known),
    };
    let more = answer.has_more || total.is_some_and(|total| total > sent as u64);
    result_open(out, revision);
    let mut object = Object::open({
        out.extend_from_slice(b"\"completion\":");
        out
    });
    strings(object.key("values"), answer.values[..sent].iter().map(|value| &**value));
    if let Some(total) = total.and_then(|total| i64::try_from(total).ok()) {
        write::integer(object.key("total"), total);
    }
    object.boolean("hasMore", more);
    object.close();
    result_meta(out, revision, None, endpoint);
    out.push(b'}');
}

/// Proposals that are sent (COMP-1).
const MOST_PROPOSALS: usize = 100;

/// The brace of a result, and what every modern one begins with (BASE-12).
fn result_open(out: &mut Vec<u8>, revision: Revision) {
    out.push(b'{');
    if revision.era() == Era::Modern {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
}

/// The result object of an extension's method, from its members as JSON text of an object (anything else counts as
/// `{}`).
///
/// On modern, `resultType` is `complete` unless the extension set another (EXT-4), and `_meta` gets the server's name.
pub(crate) fn extension_result(out: &mut Vec<u8>, revision: Revision, result: &[u8], endpoint: &Endpoint) {
    let text = core::str::from_utf8(result).unwrap_or_default();
    let Some(members) = members(text) else {
        return extension_result(out, revision, b"{}", endpoint);
    };
    if revision.era() == Era::Legacy {
        return write::raw(out, result);
    }
    out.push(b'{');
    let open = out.len();
    if !members.iter().any(|(name, _)| name == "resultType") {
        out.extend_from_slice(b"\"resultType\":\"complete\"");
    }
    let mut meta = None;
    for (name, value) in members {
        if name == "_meta" {
            meta = Some(value);
            continue;
        }
        comma(out, open);
        member(out, &name, value);
    }
    result_meta(out, revision, meta, endpoint);
    out.push(b'}');
}

/// Who the server is, with the members that the revision knows (BASE-27).
pub(crate) fn implementation(out: &mut Vec<u8>, revision: Revision, who: &Implementation) {
    let mut object = Object::open(out);
    object.string("name", &who.name);
    object.string("version", &who.version);
    if revision >= Revision::V2025_06_18 {
        object.optional("title", who.title.as_deref());
    }
    if revision >= Revision::V2025_11_25 {
        object.optional("description", who.description.as_deref());
        object.optional("websiteUrl", who.website.as_deref());
        if !who.icons.is_empty() {
            icons(object.key("icons"), &who.icons);
        }
    }
    object.close();
}

/// An array of icons (BASE-28).
pub(crate) fn icons(out: &mut Vec<u8>, icons: &[Icon]) {
    out.push(b'[');
    let open = out.len();
    for icon in icons {
        comma(out, open);
        let mut object = Object::open(out);
        object.string("src", &icon.src);
        object.optional("mimeType", icon.mime.as_deref());
        if !icon.sizes.is_empty() {
            strings(object.key("sizes"), icon.sizes.iter().map(|size| &**size));
        }
        object.optional(
            "theme",
            icon.theme.map(|theme| match theme {
                Theme::Light => "light",
                Theme::Dark => "dark",
            }),
        );
        object.close();
    }
    out.push(b']');
}

/// One block of content, or what stands for it in a revision without such blocks (SHIM-1).
pub(crate) fn content(out: &mut Vec<u8>, revision: Revision, content: &Content) {
    let mut object = Object::open(out);
    match &content.block {
        Block::Text(words) => text(&mut object, words),
        Block::Image { data, mime } => media(&mut object, "image", data, mime),
        Block::Audio { data, mime } if revision >= Revision::V2025_03_26 => media(&mut object, "audio", data, mime),
        Block::Audio { data, mime } => text(
            &mut object,
            &alloc::format!("[{mime}, {} bytes: sound cannot be sent in protocol revision {revision}]", data.len()),
        ),
        Block::Link(link) if revision >= Revision::V2025_06_18 => resource_link(&mut object, revision, link),
        Block::Link(link) => text(&mut object, &link.uri),
        Block::Resource(embedded) => {
            object.string("type", "resource");
            let Embedded { uri, mime, body, meta } = &**embedded;
            resource(object.key("resource"), revision, uri, mime.as_deref(), body, meta.as_deref());
        }
    }
    if let Some(hints) = &content.annotations {
        annotations(&mut object, revision, hints);
    }
    meta(&mut object, revision, content.meta.as_deref());
    object.close();
}

/// Hints about a block, if any is left in this revision (TOOL-19). A priority outside 0 to 1 is moved to the nearer
/// end.
pub(crate) fn annotations(object: &mut Object<'_>, revision: Revision, hints: &Annotations) {
    let modified = hints.last_modified.as_deref().filter(|_| revision >= Revision::V2025_06_18);
    let priority = hints.priority.filter(|priority| !priority.is_nan());
    if hints.audience.is_empty() && priority.is_none() && modified.is_none() {
        return;
    }
    let mut annotations = Object::open(object.key("annotations"));
    if !hints.audience.is_empty() {
        strings(annotations.key("audience"), hints.audience.iter().map(|role| role.as_str()));
    }
    if let Some(priority) = priority {
        write::number(annotations.key("priority"), priority.clamp(0.0, 1.0));
    }
    annotations.optional("lastModified", modified);
    annotations.close();
}

fn text(object: &mut Object<'_>, words: &str) {
    object.string("type", "text");
    object.string("text", words);
}

fn media(object: &mut Object<'_>, kind: &str, data: &[u8], mime: &str) {
    object.string("type", kind);
    write::base64(object.key("data"), data);
    object.string("mimeType", mime);
}

fn resource_link(object: &mut Object<'_>, revision: Revision, link: &Link) {
    object.string("type", "resource_link");
    object.string("uri", &of_uri_characters(&link.uri));
    object.string("name", &link.name);
    object.optional("title", link.title.as_deref());
    object.optional("description", link.description.as_deref());
    object.optional("mimeType", link.mime.as_deref());
    if let Some(size) = link.size.and_then(|size| i64::try_from(size).ok()) {
        write::integer(object.key("size"), size);
    }
    if revision >= Revision::V2025_11_25 && !link.icons.is_empty() {
        icons(object.key("icons"), &link.icons);
    }
}

fn resource(
    out: &mut Vec<u8>,
    revision: Revision,
    uri: &str,
    mime: Option<&str>,
    body: &ResourceBody,
    extra: Option<&str>,
) {
    let mut object = Object::open(out);
    object.string("uri", &of_uri_characters(uri));
    object.optional("mimeType", mime);
    match body {
        ResourceBody::Text(text) => object.string("text", text),
        ResourceBody::Bytes(bytes) => write::base64(object.key("blob"), bytes),
    }
    meta(&mut object, revision, extra);
    object.close();
}

/// The same URI without what cannot stand in one (RFC 3986): blanks, quotes and letters beyond ASCII become percent escapes. A
/// client may read a resource by a URI that was never encoded, and strict ones refuse to take it back so.
fn of_uri_characters(uri: &str) -> Cow<'_, str> {
    if uri.bytes().all(is_uri_character) {
        return Cow::Borrowed(uri);
    }
    let mut encoded = String::with_capacity(uri.len() + 16);
    for c in uri.chars() {
        if c.is_ascii() && is_uri_character(c as u8) {
            encoded.push(c);
        } else {
            percent(&mut encoded, c);
        }
    }
    Cow::Owned(encoded)
}

/// Appends a character as the percent escapes of its UTF-8.
pub(crate) fn percent(out: &mut String, c: char) {
    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| out.push_str(&alloc::format!("%{byte:02X}")));
}

/// Whether a byte may stand in a URI (RFC 3986, 2).
pub(crate) const fn is_uri_character(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// `_meta` of anything but a result, from 2025-06-18 on. Text that is no object is left out: it would break the
/// message.
fn meta(object: &mut Object<'_>, revision: Revision, meta: Option<&str>) {
    if let Some(meta) = meta.filter(|meta| revision >= Revision::V2025_06_18 && members(meta).is_some()) {
        object.json("_meta", meta);
    }
}

/// `_meta` of a result, comma first: the application's, and on modern the server's name, which only we may set
/// (BASE-16).
fn result_meta(out: &mut Vec<u8>, revision: Revision, meta: Option<&str>, endpoint: &Endpoint) {
    let mut own = meta.and_then(members).unwrap_or_default();
    own.retain(|(name, _)| name != SERVER_INFO);
    match (revision.era(), own.is_empty()) {
        (Era::Legacy, true) => {}
        (Era::Modern, true) => {
            out.push(b',');
            out.extend_from_slice(endpoint.result_meta());
        }
        (era, false) => {
            out.extend_from_slice(b",\"_meta\":{");
            let open = out.len();
            for (name, value) in own {
                comma(out, open);
                member(out, &name, value);
            }
            if era == Era::Modern {
                out.push(b',');
                write::string(out, SERVER_INFO);
                out.push(b':');
                out.extend_from_slice(endpoint.server_info());
            }
            out.push(b'}');
        }
    }
}

/// Whether `structuredContent` of this revision can hold the value (TOOL-13).
fn holds(revision: Revision, json: &str) -> bool {
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => false,
        Revision::V2025_06_18 | Revision::V2025_11_25 => is_object(json),
        Revision::V2026_07_28 => true,
    }
}

fn needs_text(answer: &ToolAnswer, json: &str, sent: bool) -> bool {
    let said = |block: &Content| matches!(&block.block, Block::Text(text) if text == json);
    answer.content.is_empty() || (!sent && !answer.is_error && !answer.content.iter().any(said))
}

/// The text of an object with these members.
pub(crate) fn object<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut out = alloc::vec![b'{'];
    for (name, value) in members {
        comma(&mut out, 1);
        member(&mut out, name, value);
    }
    out.push(b'}');
    out
}

fn member(out: &mut Vec<u8>, name: &str, value: &str) {
    write::string(out, name);
    out.push(b':');
    write::raw(out, value.as_bytes());
}

pub(crate) fn strings<'a>(out: &mut Vec<u8>, items: impl Iterator<Item = &'a str>) {
    out.push(b'[');
    let open = out.len();
    for item in items {
        comma(out, open);
        write::string(out, item);
    }
    out.push(b']');
}

/// A comma, unless nothing was written since `open`.
fn comma(out: &mut Vec<u8>, open: usize) {
    if out.len() != open {
        out.push(b',');
    }
}
