//! MCP Apps: what the options say of a page.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, LitStr};

use crate::builder::{self, VISIBILITY};
use crate::errors::Errors;
use crate::options::{Kind, Known, Options, Place};
use crate::subject::Subject;

const CSP: Place = Place {
    attribute: "csp(..)",
    first: None,
    known: &[
        Known::new("connect", Kind::List),
        Known::new("resource", Kind::List),
        Known::new("frame", Kind::List),
        Known::new("base_uri", Kind::List),
    ],
    advice: &[],
};

const PERMISSIONS: Place = Place {
    attribute: "permissions(..)",
    first: None,
    known: &[
        Known::new("camera", Kind::Flag),
        Known::new("microphone", Kind::Flag),
        Known::new("geolocation", Kind::Flag),
        Known::new("clipboard_write", Kind::Flag),
    ],
    advice: &[],
};

/// What a page may do and where it is, and who calls its tool.
#[derive(Default)]
pub(crate) struct Page {
    /// The file.
    view: Option<LitStr>,
    /// Whether it is in the program.
    embed: bool,
    /// The URI of a page that is a resource of its own.
    uri: Option<Expr>,
    visibility: Option<TokenStream>,
    /// Calls of `Ui`; empty if nothing is said.
    ui: TokenStream,
}

impl Page {
    pub(crate) fn take(subject: Subject, options: &Options, ident: &Ident, errors: &mut Errors) -> Self {
        let view = options.text("view").cloned();
        if subject == Subject::App {
            match &view {
                None if options.given("view").is_none() => {
                    let message = "an app needs its page: write `#[app(view = \"chart.html\")]`, a file beside your `Cargo.toml`; \
                                   without a page it is a `#[tool]`";
                    errors.at(ident, message);
                }
                Some(view) if base(&view.value()).is_empty() => {
                    errors.at(view, "name the file of the page: `view = \"chart.html\"`")
                }
                _ => {}
            }
        }
        let visibility = options.expr("visibility").map(|who| match who {
            Expr::Array(list) => {
                let who = builder::words(list, &VISIBILITY, errors);
                quote!([#(#who),*])
            }
            who => quote!(#who),
        });
        if let (Subject::Tool, Some(visibility), None) = (subject, options.given("visibility"), options.given("ui")) {
            let message = "`visibility` is for a tool with a page: say which, `ui = \"ui://chart/chart.html\"`";
            errors.span(visibility.span(), message);
        }
        Self {
            view,
            embed: options.flag("embed") == Some(true),
            uri: options.expr("ui").cloned(),
            visibility,
            ui: ui(options, errors),
        }
    }

    /// What the builder of a tool or resource is told.
    pub(crate) fn calls(&self, subject: Subject) -> TokenStream {
        let mut calls = TokenStream::new();
        if let Some(uri) = &self.uri {
            calls.extend(quote!(.ui(__mcp::text(#uri))));
        }
        if let Some(who) = &self.visibility {
            calls.extend(quote!(.visibility(#who)));
        }
        if subject == Subject::Resource && !self.ui.is_empty() {
            let ui = &self.ui;
            calls.extend(quote!(.ui(::mcp_server::Ui::new()#ui)));
        }
        calls
    }

    /// The app of a tool.
    pub(crate) fn around(&self, tool: &TokenStream) -> TokenStream {
        let mut app = quote!(::mcp_server::UiApp::new(#tool));
        if let Some(view) = &self.view {
            let name = base(&view.value()).to_owned();
            let at = Span::mixed_site().located_at(view.span());
            app.extend(if self.embed {
                let path = if std::path::Path::new(&view.value()).is_absolute() {
                    quote!(#view)
                } else {
                    quote_spanned!(at=> ::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #view))
                };
                quote_spanned!(at=> .view(#name, ::core::include_str!(#path)))
            } else {
                quote_spanned!(at=> .view_file(__mcp::beside(::core::option_env!("CARGO_MANIFEST_DIR"), #view)))
            });
        }
        if !self.ui.is_empty() {
            let ui = &self.ui;
            app.extend(quote!(.ui(::mcp_server::Ui::new()#ui)));
        }
        app
    }
}

/// The last part of a path.
fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// The calls of `Ui` that the options come to.
fn ui(options: &Options, errors: &mut Errors) -> TokenStream {
    let mut calls = TokenStream::new();
    if let Some(words) = options.given("csp").and_then(|given| given.words()) {
        let mut csp = Options::default();
        csp.read(words.clone(), &CSP, errors);
        for (name, given) in csp.iter() {
            let method = Ident::new(&format!("{name}_domains"), Span::mixed_site());
            if let Some(domains) = given.expr() {
                calls.extend(quote_spanned!(domains.span()=> .#method(#domains)));
            }
        }
    }
    if let Some(words) = options.given("permissions").and_then(|given| given.words()) {
        let mut permissions = Options::default();
        permissions.read(words.clone(), &PERMISSIONS, errors);
        for (name, _) in permissions.iter().filter(|(_, given)| given.as_bool()) {
            let permission = match name {
                "camera" => quote!(Camera),
                "microphone" => quote!(Microphone),
                "geolocation" => quote!(Geolocation),
                _ => quote!(ClipboardWrite),
            };
            calls.extend(quote!(.permission(::mcp_server::Permission::#permission)));
        }
    }
    if let Some(domain) = options.expr("domain") {
        calls.extend(quote!(.domain(__mcp::text(#domain))));
    }
    if let Some(border) = options.flag("prefers_border") {
        calls.extend(quote!(.prefers_border(#border)));
    }
    calls
}
