//! The methods that both eras have: what each lists, or runs. Which error code and which members an answer has is the era's.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::caching::Caching;
use crate::catalog::{Found, Listing, Page, Prompt, PromptArgument, Tool, View};
use crate::encode::json::{self, members};
use crate::endpoint::Endpoint;
use crate::fault::{Fault, reflect};
use crate::machine::{Completes, Kind};
use crate::modern::{Court, kept};
use crate::peer::{Peer, Scopes};
use crate::wire::{Param, decode, write};

/// A method that lists or runs what the server offers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Method {
    /// Answered at once, by pages.
    List(Listing),
    Tool,
    Resource,
    Prompt,
    Complete,
}

impl Method {
    /// The method of that name, if what it is for is offered (BASE-9).
    pub(crate) fn of(name: &str, endpoint: &Endpoint) -> Option<Self> {
        let (method, offered) = match name {
            "tools/call" => (Self::Tool, endpoint.has_tools()),
            "tools/list" => (Self::List(Listing::Tools), endpoint.has_tools()),
            "resources/read" => (Self::Resource, endpoint.has_resources()),
            "resources/list" => (Self::List(Listing::Resources), endpoint.has_resources()),
            "resources/templates/list" => (Self::List(Listing::Templates), endpoint.has_resources()),
            "prompts/get" => (Self::Prompt, endpoint.has_prompts()),
            "prompts/list" => (Self::List(Listing::Prompts), endpoint.has_prompts()),
            "completion/complete" => (Self::Complete, endpoint.has_completions()),
            _ => return None,
        };
        offered.then_some(method)
    }
}

impl Court<'_> {
    /// Whether what asks for these scopes is there for the caller. On a byte stream nobody can be told to come back with another
    /// token, so that for a caller without a principal there is nothing that asks for any.
    ///
    /// # Errors
    ///
    /// 403 if it is there, and the caller lacks one of them (AUTH-6).
    pub(crate) fn admits(&self, scopes: &Scopes) -> Result<bool, Fault> {
        if self.endpoint.permits(self.from, scopes) {
            return Ok(true);
        }
        if self.is_told_of_scopes() { Err(Fault::insufficient_scope(scopes)) } else { Ok(false) }
    }

    /// What is listed for the caller.
    fn listed(&self) -> Cow<'_, View> {
        if self.is_told_of_scopes() { Cow::Borrowed(self.view) } else { self.view.unscoped() }
    }

    const fn is_told_of_scopes(&self) -> bool {
        self.head.is_some() || self.from.principal.is_some()
    }
}

/// One page of a list: its items and `nextCursor` (PAGE-1). Returns how long it may be kept, and by whom, as far as the items and
/// the endpoint say it.
pub(crate) fn write_page(out: &mut Vec<u8>, list: Listing, court: &Court<'_>, peer: &Peer) -> Result<Caching, Fault> {
    let cursor = match court.message.param(Param::Cursor) {
        None => None,
        Some(_) => match court.message.param_str(Param::Cursor) {
            Some(cursor) => Some(cursor),
            None => return Err(Fault::invalid_params("`cursor` must be a string that this server sent")),
        },
    };
    let view = court.listed();
    let page = Page {
        revision: peer.revision,
        pageless: !court.endpoint.shows_pages(peer),
        cursor: cursor.as_deref(),
        most: court.endpoint.limits().page,
    };
    let hint = view.write_page(list, page, out)?;
    Ok(hint.or(court.endpoint.caching()).seen_by_one(view.is_filtered()))
}

/// The tool that a `tools/call` names (TOOL-8).
pub(crate) fn tool<'a>(court: &Court<'a>) -> Result<&'a Tool, Fault> {
    let Some(name) = court.message.param_str(Param::Name) else {
        return Err(Fault::invalid_params("`params.name` must be a string that names a tool"));
    };
    match court.view.tool(&name) {
        Some(tool) if court.admits(tool.scopes())? => Ok(tool),
        _ => Err(Fault::invalid_params(alloc::format!("Unknown tool: {}", reflect(&name)))),
    }
}

/// The call of a tool.
pub(crate) fn call_tool(court: &Court<'_>, tool: &Tool) -> Result<Kind, Fault> {
    Ok(Kind::Tool { tool: tool.handle(), name: tool.shared_name(), arguments: arguments(court)? })
}

/// The arguments of a `tools/call` (TOOL-6).
fn arguments(court: &Court<'_>) -> Result<Bytes, Fault> {
    match court.message.param_bytes(Param::Arguments) {
        None => Ok(Bytes::from_static(b"{}")),
        Some(arguments) if arguments.starts_with(b"{") => Ok(kept(&arguments)),
        Some(_) => Err(Fault::invalid_params("`params.arguments` must be an object")),
    }
}

/// A `resources/read` to be run.
pub(crate) struct Read {
    pub(crate) kind: Kind,
    /// For how long what it holds may be kept, and by whom, if the answer does not say that.
    pub(crate) hint: Caching,
    /// Whether not everybody may read it.
    pub(crate) scoped: bool,
}

/// The resource that a `resources/read` names (RES-4, RES-5).
pub(crate) fn read_resource(court: &Court<'_>) -> Result<Read, Fault> {
    let uri = uri(court)?;
    let found = resource(court, &uri)?;
    let hint = found.caching().or(court.endpoint.caching());
    let scoped = !found.scopes().is_empty();
    let (resource, variables) = match found {
        Found::Resource(resource) => (resource.handle(), Vec::new()),
        Found::Template(template, variables) => (template.handle(), variables),
    };
    Ok(Read { kind: Kind::Resource { resource, uri: uri.into(), variables }, hint, scoped })
}

/// What answers for that URI.
pub(crate) fn resource<'a>(court: &Court<'a>, uri: &str) -> Result<Found<'a>, Fault> {
    match court.view.resource(uri) {
        Some(found) if court.admits(found.scopes())? => Ok(found),
        _ => Err(Fault::resource_not_found(uri)),
    }
}

/// `params.uri`, decoded.
pub(crate) fn uri<'a>(court: &Court<'a>) -> Result<Cow<'a, str>, Fault> {
    court
        .message
        .param_str(Param::Uri)
        .ok_or_else(|| Fault::invalid_params("`params.uri` must be a string that names a resource"))
}

/// The prompt that a `prompts/get` names, with its arguments checked (PROMPT-3).
pub(crate) fn get_prompt(court: &Court<'_>) -> Result<Kind, Fault> {
    let Some(name) = court.message.param_str(Param::Name) else {
        return Err(Fault::invalid_params("`params.name` must be a string that names a prompt"));
    };
    let prompt = prompt(court, &name)?;
    let strings = strings(court.message.param(Param::Arguments), "params.arguments")?;
    let given = |argument: &&PromptArgument| strings.iter().any(|(name, _)| **name == *argument.name());
    let missing: Vec<&str> = prompt
        .arguments()
        .iter()
        .filter(|argument| argument.is_required() && !given(argument))
        .map(PromptArgument::name)
        .collect();
    if !missing.is_empty() {
        let many = if missing.len() > 1 { "arguments" } else { "argument" };
        let message = alloc::format!("Missing required {many}: {}", missing.join(", "));
        return Err(Fault::invalid_params(message));
    }
    Ok(Kind::Prompt { prompt: prompt.handle(), name: prompt.shared_name(), arguments: object(&strings) })
}

fn prompt<'a>(court: &Court<'a>, name: &str) -> Result<&'a Prompt, Fault> {
    match court.view.prompt(name) {
        Some(prompt) if court.admits(prompt.scopes())? => Ok(prompt),
        _ => Err(Fault::invalid_params(alloc::format!("Unknown prompt: {}", reflect(name)))),
    }
}

/// What a `completion/complete` asks for: a call, or nothing to propose (COMP-1, COMP-3).
pub(crate) fn complete(court: &Court<'_>) -> Result<Option<Kind>, Fault> {
    let wrong = |what: &str| Fault::invalid_params(alloc::format!("`completion/complete`: {what}"));
    let reference = court.message.param(Param::Ref).and_then(members);
    let reference = reference.ok_or_else(|| wrong("`ref` must be an object"))?;
    let argument = court.message.param(Param::Argument).and_then(members);
    let argument = argument.ok_or_else(|| wrong("`argument` must be an object with `name` and `value`"))?;
    let text = |members: &[(Cow<'_, str>, &str)], name: &str| {
        let (_, value) = members.iter().find(|(own, _)| own == name)?;
        decode(value).map(Cow::into_owned)
    };
    let name = text(&argument, "name").ok_or_else(|| wrong("`argument.name` must be a string"))?;
    let value = text(&argument, "value").ok_or_else(|| wrong("`argument.value` must be a string"))?;
    let context = match court.message.param(Param::Context).filter(|context| *context != "null") {
        None => Vec::new(),
        Some(context) => {
            let context = members(context).ok_or_else(|| wrong("`context` must be an object"))?;
            let known = context.iter().find(|(own, _)| own == "arguments").map(|(_, value)| *value);
            strings(known.filter(|known| *known != "null"), "params.context.arguments")?
        }
    };
    let unknown = |what: &str| wrong(&alloc::format!("{what} has no argument `{}`", reflect(&name)));
    let (of, completes) = match text(&reference, "type").as_deref() {
        Some("ref/prompt") => {
            let named = text(&reference, "name").ok_or_else(|| wrong("`ref.name` must be a string"))?;
            let prompt = prompt(court, &named)?;
            let found = prompt.arguments().iter().find(|argument| argument.name() == name);
            let found = found.ok_or_else(|| unknown("the prompt"))?;
            (Completes::Prompt { prompt: prompt.handle(), name: prompt.shared_name() }, found.is_completed())
        }
        Some("ref/resource") => {
            let uri = text(&reference, "uri").ok_or_else(|| wrong("`ref.uri` must be a string"))?;
            // A client may send the template, or what it made of it (COMP-1).
            let found = court.view.template(&uri).map(|template| Found::Template(template, Vec::new()));
            let template = match found.or_else(|| court.view.resource(&uri)) {
                Some(found) if court.admits(found.scopes())? => match found {
                    Found::Template(template, _) => template,
                    Found::Resource(_) => return Err(unknown("the resource")),
                },
                _ => return Err(wrong(&alloc::format!("unknown resource template `{}`", reflect(&uri)))),
            };
            let known = template.compiled().is_some_and(|compiled| compiled.variables().any(|own| own == name));
            if !known {
                return Err(unknown("the template"));
            }
            let completes = template.is_completed(&name);
            (Completes::Template { template: template.handle(), uri: template.shared_uri() }, completes)
        }
        _ => return Err(wrong("`ref.type` must be `ref/prompt` or `ref/resource`")),
    };
    let context = object(&context);
    Ok(completes.then(|| Kind::Complete { of, argument: name.into(), value: value.into(), context }))
}

/// The members of an object of strings; `null` members are left out.
fn strings(object: Option<&str>, place: &str) -> Result<Vec<(Box<str>, String)>, Fault> {
    let Some(object) = object else { return Ok(Vec::new()) };
    let wrong = |what: &str| Fault::invalid_params(alloc::format!("`{place}{what}"));
    let members = json::members(object).ok_or_else(|| wrong("` must be an object of strings"))?;
    let mut strings: Vec<(Box<str>, String)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        if value == "null" {
            continue;
        }
        let text = decode(value).ok_or_else(|| wrong(&alloc::format!(".{}` must be a string", reflect(&name))))?;
        strings.push((name.into(), text.into_owned()));
    }
    // Sorted, so that a great number of members costs no more to compare than to read.
    let mut names: Vec<&str> = strings.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(wrong(&alloc::format!(".{}` is there twice", reflect(pair[0]))));
    }
    Ok(strings)
}

/// An object of strings, as JSON text.
fn object(strings: &[(Box<str>, String)]) -> Bytes {
    let mut out =
        Vec::with_capacity(2 + strings.iter().map(|(name, value)| name.len() + value.len() + 6).sum::<usize>());
    out.push(b'{');
    for (index, (name, value)) in strings.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write::string(&mut out, name);
        out.push(b':');
        write::string(&mut out, value);
    }
    out.push(b'}');
    out.into_boxed_slice().into()
}
