//! What an attribute makes of a function: a tool, a resource and so on, and which options it takes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::options::{Advice, Kind, Known, Place};

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Tool,
    /// A tool with a page.
    App,
    Resource,
    Template,
    Prompt,
}

impl Subject {
    pub(crate) const ALL: [Self; 5] = [Self::Tool, Self::App, Self::Resource, Self::Template, Self::Prompt];

    /// The name of its attribute.
    pub(crate) const fn attribute(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::App => "app",
            Self::Resource => "resource",
            Self::Template => "resource_template",
            Self::Prompt => "prompt",
        }
    }

    /// What an author calls one of it.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::App => "app",
            Self::Resource => "resource",
            Self::Template => "resource template",
            Self::Prompt => "prompt",
        }
    }

    /// The same with its article.
    pub(crate) const fn one(self) -> &'static str {
        match self {
            Self::Tool => "a tool",
            Self::App => "an app",
            Self::Resource => "a resource",
            Self::Template => "a resource template",
            Self::Prompt => "a prompt",
        }
    }

    /// Where its options stand, and which.
    pub(crate) const fn place(self) -> &'static Place {
        match self {
            Self::Tool => &TOOL,
            Self::App => &APP,
            Self::Resource => &RESOURCE,
            Self::Template => &TEMPLATE,
            Self::Prompt => &PROMPT,
        }
    }

    /// Whether its arguments have a schema.
    pub(crate) const fn has_schema(self) -> bool {
        matches!(self, Self::Tool | Self::App | Self::Prompt)
    }

    pub(crate) const fn is_tool(self) -> bool {
        matches!(self, Self::Tool | Self::App)
    }

    /// Whether two of them cannot be known by the same.
    pub(crate) fn clashes(self, other: Self) -> bool {
        self == other || self.is_tool() && other.is_tool()
    }

    pub(crate) const fn is_resource(self) -> bool {
        matches!(self, Self::Resource | Self::Template)
    }

    /// The type that builds it.
    pub(crate) fn builder(self) -> Ident {
        let name = match self {
            Self::Tool => "Tool",
            Self::App => "UiApp",
            Self::Resource => "Resource",
            Self::Template => "ResourceTemplate",
            Self::Prompt => "Prompt",
        };
        Ident::new(name, Span::mixed_site())
    }

    /// The trait of what can be registered as one, and its method.
    pub(crate) fn into_trait(self) -> (Ident, Ident) {
        let (name, method) = match self {
            Self::Tool => ("IntoTool", "into_tool"),
            Self::App => ("IntoApp", "into_app"),
            Self::Resource => ("IntoResource", "into_resource"),
            Self::Template => ("IntoResourceTemplate", "into_resource_template"),
            Self::Prompt => ("IntoPrompt", "into_prompt"),
        };
        (Ident::new(name, Span::mixed_site()), Ident::new(method, Span::mixed_site()))
    }

    /// The trait of what its code may return, its method, and what that makes.
    pub(crate) fn answer(self) -> (Ident, Ident, Ident) {
        let (name, method, answer) = match self {
            Self::Tool | Self::App => ("IntoAnswer", "into_answer", "ToolAnswer"),
            Self::Resource | Self::Template => ("IntoContents", "into_contents", "ResourceAnswer"),
            Self::Prompt => ("IntoMessages", "into_messages", "PromptAnswer"),
        };
        let ident = |name| Ident::new(name, Span::mixed_site());
        (ident(name), ident(method), ident(answer))
    }

    /// The list among the entries of a block.
    pub(crate) fn list(self) -> TokenStream {
        match self {
            Self::Tool => quote!(tools),
            Self::App => quote!(apps),
            Self::Resource => quote!(resources),
            Self::Template => quote!(resource_templates),
            Self::Prompt => quote!(prompts),
        }
    }
}

const TAGS: Known = Known::new("tags", Kind::Words("tags(admin, team = \"storage\")"));
const NAME: Known = Known::new("name", Kind::Name);
const TITLE: Known = Known::new("title", Kind::Text);
const DESCRIPTION: Known = Known::new("description", Kind::Text);
const BLOCKING: Known = Known::new("blocking", Kind::Flag);
const OPEN: Known = Known::new("open", Kind::Flag);
const ICON: Known = Known::new("icon", Kind::Many);
const META: Known = Known::new("meta", Kind::Any);
const SCOPE: Known = Known::new("scope", Kind::Text);
const CACHE: Known = Known::new("cache", Kind::Words("cache(ttl_ms = 5_000, private)"));
const WRAP: Known = Known::new("wrap", Kind::Many);
const VISIBLE: Known = Known::new("visible", Kind::Any);
const SENSITIVE: Known = Known::new("sensitive", Kind::Flag);
const TASK_SUPPORT: Known = Known::new("task_support", Kind::Any);
const UNLISTED: Known = Known::new("unlisted", Kind::Flag);
const SKIP: Known = Known::new("skip_default_params", Kind::Words("skip_default_params(account_id)"));
const LOGS: Known = Known::new("logs", Kind::Flag);
const MIME: Known = Known::new("mime", Kind::Text);
const AUDIENCE: Known = Known::new("audience", Kind::List);
const PRIORITY: Known = Known::new("priority", Kind::Number);
const LAST_MODIFIED: Known = Known::new("last_modified", Kind::Text);
const VISIBILITY: Known = Known::new("visibility", Kind::List);
const CSP: Known = Known::new("csp", Kind::Words("csp(connect = [\"https://api.example.com\"])"));
const PERMISSIONS: Known = Known::new("permissions", Kind::Words("permissions(camera, clipboard_write)"));
const DOMAIN: Known = Known::new("domain", Kind::Text);
const PREFERS_BORDER: Known = Known::new("prefers_border", Kind::Flag);

/// Those of a block, which all entries in it have.
pub(crate) const TOOLS: Place = Place {
    attribute: "#[tools(..)]",
    first: None,
    known: &[
        Known::new("params", Kind::Type),
        META,
        TAGS,
        Known::new("read_only", Kind::Flag),
        Known::new("destructive", Kind::Flag),
        Known::new("idempotent", Kind::Flag),
        Known::new("open_world", Kind::Flag),
        SENSITIVE,
        SCOPE,
        CACHE,
        WRAP,
        VISIBLE,
    ],
    advice: &[
        ("annotations", "write its hints alone, as in `#[tools(read_only, open_world = false)]`"),
        TAG,
        ("arguments", "write `params = Account`, a struct whose fields each tool has as arguments"),
        SCOPES,
        MIDDLEWARE,
    ],
};

const SCOPES: Advice = ("scopes", "write them in one text: `scope = \"notes:read notes:write\"`");
const MIDDLEWARE: Advice = ("middleware", "write `wrap = function`, as often as you like");
const ANNOTATIONS: Advice = ("annotations", "write its hints alone, as in `#[tool(read_only, open_world = false)]`");
const ICONS: Advice = ("icons", "write `icon = \"https://..\"`, as often as you like");
const TAG: Advice = ("tag", "write `tags(admin, team = \"storage\")`");
const INPUT: Advice = ("input", "it comes from the parameters");
const INPUT_SCHEMA: Advice =
    ("input_schema", "it comes from the parameters; for one as data there is `Tool::input_schema`");
const OUTPUT_SCHEMA: Advice =
    ("output_schema", "write `output = Type`; for one as data there is `Tool::output_schema`");
const TOOL_VIS: Advice = ("vis", "the tool is as visible as the function");
const VIS: Advice = ("vis", "it is as visible as the function");
const URI: Advice = ("uri", "it stands first, without a name: `#[resource_template(\"users://{id}\")]`");
const MIME_TYPE: Advice = ("mime_type", "write `mime = \"text/plain\"`");
const HINTS: Advice = ("annotations", "write them alone: `audience = [\"user\"], priority = 0.5`");
const ARGUMENTS: Advice = ("arguments", "they are the function's parameters");
const COMPLETE: Advice = ("complete", "write it before the parameter: `#[arg(complete = ..)]`");

const TOOL: Place = Place {
    attribute: "#[tool(..)]",
    first: None,
    known: &[
        NAME,
        TITLE,
        DESCRIPTION,
        Known::new("read_only", Kind::Flag),
        Known::new("destructive", Kind::Flag),
        Known::new("idempotent", Kind::Flag),
        Known::new("open_world", Kind::Flag),
        BLOCKING,
        OPEN,
        Known::new("coerce", Kind::Flag),
        ICON,
        META,
        TAGS,
        Known::new("output", Kind::Type),
        LOGS,
        Known::new("needs", Kind::Many),
        Known::new("ui", Kind::Text),
        VISIBILITY,
        SCOPE,
        CACHE,
        WRAP,
        VISIBLE,
        SENSITIVE,
        TASK_SUPPORT,
        UNLISTED,
        SKIP,
    ],
    advice: &[
        SCOPES,
        MIDDLEWARE,
        ANNOTATIONS,
        ICONS,
        TAG,
        INPUT,
        INPUT_SCHEMA,
        OUTPUT_SCHEMA,
        TOOL_VIS,
        ("view", "a tool with a page of its own is `#[app(view = \"chart.html\")]`"),
    ],
};

const APP: Place = Place {
    attribute: "#[app(..)]",
    first: None,
    known: &[
        Known::new("view", Kind::Name),
        Known::new("embed", Kind::Flag),
        VISIBILITY,
        CSP,
        PERMISSIONS,
        DOMAIN,
        PREFERS_BORDER,
        NAME,
        TITLE,
        DESCRIPTION,
        Known::new("read_only", Kind::Flag),
        Known::new("destructive", Kind::Flag),
        Known::new("idempotent", Kind::Flag),
        Known::new("open_world", Kind::Flag),
        BLOCKING,
        OPEN,
        Known::new("coerce", Kind::Flag),
        ICON,
        META,
        TAGS,
        Known::new("output", Kind::Type),
        LOGS,
        Known::new("needs", Kind::Many),
        SCOPE,
        CACHE,
        WRAP,
        VISIBLE,
        SENSITIVE,
        TASK_SUPPORT,
        UNLISTED,
        SKIP,
    ],
    advice: &[
        SCOPES,
        MIDDLEWARE,
        ANNOTATIONS,
        ICONS,
        TAG,
        INPUT,
        INPUT_SCHEMA,
        OUTPUT_SCHEMA,
        TOOL_VIS,
        (
            "ui",
            "the page is the app's own, `view = \"chart.html\"`; a tool of another page is `#[tool(ui = \"ui://..\")]`",
        ),
        ("include", "write `embed`"),
        ("include_str", "write `embed`"),
        ("html", "write `view = \"chart.html\"`, the name of a file, and `embed` to have it in the program"),
    ],
};

const RESOURCE: Place = Place {
    attribute: "#[resource(\"uri\", ..)]",
    first: Some("the URI"),
    known: &[
        Known::new("uri", Kind::Text),
        NAME,
        TITLE,
        DESCRIPTION,
        MIME,
        Known::new("size", Kind::Count),
        AUDIENCE,
        PRIORITY,
        LAST_MODIFIED,
        BLOCKING,
        ICON,
        META,
        TAGS,
        LOGS,
        CSP,
        PERMISSIONS,
        DOMAIN,
        PREFERS_BORDER,
        SCOPE,
        CACHE,
        WRAP,
        VISIBLE,
    ],
    advice: &[SCOPES, MIDDLEWARE, MIME_TYPE, HINTS, ICONS, TAG, VIS],
};

const TEMPLATE: Place = Place {
    attribute: "#[resource_template(\"uri/{variable}\", ..)]",
    first: Some("the template"),
    known: &[
        NAME,
        TITLE,
        DESCRIPTION,
        MIME,
        AUDIENCE,
        PRIORITY,
        LAST_MODIFIED,
        BLOCKING,
        ICON,
        META,
        TAGS,
        LOGS,
        SCOPE,
        CACHE,
        WRAP,
        VISIBLE,
    ],
    advice: &[
        SCOPES,
        MIDDLEWARE,
        URI,
        MIME_TYPE,
        HINTS,
        ICONS,
        TAG,
        VIS,
        COMPLETE,
        ("size", "each of its resources has its own"),
    ],
};

const PROMPT: Place = Place {
    attribute: "#[prompt(..)]",
    first: None,
    known: &[NAME, TITLE, DESCRIPTION, BLOCKING, OPEN, ICON, META, TAGS, LOGS, SCOPE, CACHE, WRAP, VISIBLE],
    advice: &[SCOPES, MIDDLEWARE, ARGUMENTS, ICONS, TAG, VIS, COMPLETE],
};
