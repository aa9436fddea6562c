//! Tools of which only some are listed, and two that find and call the others: for catalogues too large for a model.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use mcp_core::catalog::{self, Defect};
use mcp_core::fault::reflect;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::answer::Json;
use crate::call_error::CallError;
use crate::check::Judged;
use crate::code::{Entry, Work};
use crate::ctx::Ctx;
use crate::param::Param;
use crate::server::Server;
use crate::tool::Tool;

/// Which tools are listed of a server that has too many for a model; the others are found and called by two tools more: see
/// [`Server::focus`].
///
/// ```
/// use mcp_server::Focus;
///
/// let focus = Focus::new(["search", "read"]).discover_name("find_tools").call_name("use_tool");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a focus does nothing until it is given to a server"]
pub struct Focus {
    pinned: BTreeSet<Box<str>>,
    discover: Box<str>,
    call: Box<str>,
}

/// The most tools that are told of at once.
const MOST: u64 = 50;
/// As many are told of if nothing is said.
const USUAL: u64 = 10;
/// Characters of a query: a sentence or two.
const QUERY: usize = 1000;

impl Focus {
    /// The tools of these names are listed, and no others.
    pub fn new<N: AsRef<str>>(pinned: impl IntoIterator<Item = N>) -> Self {
        let pinned = pinned.into_iter().map(|name| name.as_ref().into()).collect();
        Self { pinned, discover: "discover_tools".into(), call: "call_tool".into() }
    }

    /// The name of the tool that finds others: `discover_tools` if nothing is said.
    pub fn discover_name(mut self, name: impl AsRef<str>) -> Self {
        self.discover = name.as_ref().into();
        self
    }

    /// The name of the tool that calls others: `call_tool` if nothing is said.
    pub fn call_name(mut self, name: impl AsRef<str>) -> Self {
        self.call = name.as_ref().into();
        self
    }

    pub(crate) fn lists(&self, name: &str) -> bool {
        self.pinned.contains(name) || self.is_own(name)
    }

    /// Whether it is one of the two.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        *name == *self.discover || *name == *self.call
    }

    pub(crate) fn call(&self) -> &str {
        &self.call
    }

    /// The pinned tools that there are not.
    pub(crate) fn check<'a>(&'a self, is_there: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = Defect> + 'a {
        self.pinned.iter().filter(move |name| !is_there(name)).map(|name| {
            let message = format!(
                "the focus lists the tool `{}`, which the server does not have: register it, or take its name out of \
                 `Focus::new(..)`",
                reflect(name)
            );
            Defect { entry: "server".into(), rule: "TOOL-8", message: message.into() }
        })
    }
}

impl Server {
    /// Lists a few tools only, for a model that many would confuse, and with them two that find and call the others:
    ///
    /// - `discover_tools {query, limit}` gives names, descriptions and input schemas of the tools that the caller may see, ranked by
    ///   the words of the query that are in their names, titles, descriptions and the names of their parameters.
    /// - `call_tool {name, arguments}` calls one of them, by the very path of a direct call: who may not see it or lacks a scope is told
    ///   the same, and its middleware, schema and questions are its own.
    ///
    /// Tools that are added later are not listed either, unless the focus names them. A tool that is
    /// [unlisted](crate::Tool::unlisted) by itself is not found. All can still be called directly by who knows their names.
    ///
    /// A rule of [`Server::visible`] is asked of the two as well.
    ///
    /// ```
    /// use mcp_server::{Focus, Server, Tool};
    ///
    /// let tool = |name: &str, does: &str| Tool::new(name).description(does).run(|| "done");
    /// let server = Server::new("office", "1.0.0")
    ///     .focus(Focus::new(["search"]))
    ///     .tool(tool("search", "Searches everything."))
    ///     .tool(tool("create_invoice", "Writes an invoice."))
    ///     .tool(tool("send_invoice", "Sends an invoice to a customer."));
    /// # server.build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`build`](Server::build) fails if there is no tool of a name that the focus lists, or another tool has the name of one of the two.
    #[track_caller]
    pub fn focus(self, focus: Focus) -> Self {
        let discover = Tool::new(&focus.discover)
            .title("Discover tools")
            .description(format!(
                "Finds tools that are not listed, by keywords. Call what it finds with `{}`, which takes a tool's name and its \
                 arguments, as its inputSchema says.",
                focus.call
            ))
            .param(Param::string("query").description("What the tool is to do, in a few words").max_length(QUERY))
            .param(Param::integer("limit").description("The most tools to give").min(1).max(MOST).default(USUAL))
            .read_only(true)
            .run(discover);
        let call = Tool::new(&focus.call)
            .title("Call a tool")
            .description(format!("Calls a tool that `{}` has found.", focus.discover))
            .param(Param::string("name").description("The tool's name").required())
            .param(Param::object("arguments").description("Its arguments, as its inputSchema says"))
            // It is the other tool that runs.
            .run(|_: Value| Err::<(), _>(CallError::new("There is nothing to call.")));
        let mut server = self.tool(discover).tool(call);
        server.states.focus = Some(focus);
        server
    }
}

fn discover(ctx: Ctx, arguments: Value) -> Result<Json<Value>, CallError> {
    let app = ctx.app().ok_or_else(|| CallError::new("The server is shutting down."))?;
    let query = arguments["query"].as_str().unwrap_or_default();
    let limit = arguments["limit"].as_u64().unwrap_or(USUAL).clamp(1, MOST);
    Ok(Json(app.discover(&ctx, query, usize::try_from(limit).unwrap_or(usize::MAX))))
}

/// What is found among those tools.
pub(crate) fn found<'a>(tools: impl Iterator<Item = &'a catalog::Tool>, query: &str, limit: usize) -> Value {
    // `a` and `to` are in every description; but two letters are a word in many scripts.
    let says_something = |word: &String| word.len() > 2 || !word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let wanted: BTreeSet<String> = words(query).filter(says_something).take(64).collect();
    let mut ranked: Vec<(u32, &catalog::Tool)> =
        tools.map(|tool| (rank(tool, &wanted), tool)).filter(|(rank, _)| *rank > 0 || wanted.is_empty()).collect();
    // Stable: of those that fit as well, the order of registration decides.
    ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    let more = ranked.len().saturating_sub(limit);
    let shown: Vec<Value> = ranked.into_iter().take(limit).map(|(_, tool)| shown(tool)).collect();
    let note = match (shown.len(), more) {
        (0, _) => "No tool fits: try other words, or none to see what there is.".to_owned(),
        (_, 0) => "These are all that fit.".to_owned(),
        (_, more) => format!("{more} more fit: say more precisely what it is to do, or raise the limit."),
    };
    json!({"tools": shown, "more": more, "note": note})
}

fn shown(tool: &catalog::Tool) -> Value {
    let mut shown = json!({"name": tool.name()});
    for (key, text) in [("title", tool.title()), ("description", tool.description())] {
        if let Some(text) = text {
            shown[key] = text.into();
        }
    }
    shown["inputSchema"] = serde_json::from_str(tool.input_schema()).unwrap_or_default();
    shown
}

/// How well a tool fits: each word counts once, where it counts most. A beginning of a word counts half.
fn rank(tool: &catalog::Tool, wanted: &BTreeSet<String>) -> u32 {
    let schema: Value = serde_json::from_str(tool.input_schema()).unwrap_or_default();
    let params = schema["properties"].as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>().join(" "));
    let fields = [
        (16, tool.name()),
        (8, tool.title().unwrap_or_default()),
        (4, tool.description().unwrap_or_default()),
        (4, params.as_deref().unwrap_or_default()),
    ];
    let mut weights: BTreeMap<String, u32> = BTreeMap::new();
    for (weight, text) in fields {
        for word in words(text) {
            let best = weights.entry(word).or_default();
            *best = weight.max(*best);
        }
    }
    let fit = |wanted: &String| match weights.get(wanted) {
        Some(weight) => *weight,
        None => {
            weights.iter().filter(|(word, _)| are_alike(word, wanted)).map(|(_, weight)| weight / 2).max().unwrap_or(0)
        }
    };
    wanted.iter().map(fit).sum()
}

/// Whether one is the beginning of the other: `invoice` and `invoices`.
fn are_alike(word: &str, wanted: &str) -> bool {
    wanted.len().min(word.len()) >= 3 && (word.starts_with(wanted) || wanted.starts_with(word))
}

/// The words of a text in lower case: `createInvoice`, `create_invoice` and `Create invoice` have the same two.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if (begins || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words.into_iter()
}

/// The tool that is to be called, and its arguments. `None` if they are not as the schema says, which the tool itself then tells.
pub(crate) fn target(entry: &Entry, sent: &[u8]) -> Option<(String, String)> {
    let Work::Tool { rules, .. } = &entry.work else { return None };
    let changed = match rules.judge(sent) {
        Judged::AsSent => None,
        Judged::Changed(value) => Some(value.to_string()),
        Judged::Broken(_) => return None,
    };
    let sent = changed.as_deref().map_or(sent, str::as_bytes);
    let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(sent).ok()?;
    let name = serde_json::from_str(members.get("name")?.get()).ok()?;
    let arguments = members.get("arguments").map_or("{}", |arguments| arguments.get());
    Some((name, if arguments == "null" { "{}" } else { arguments }.to_owned()))
}
