//! What the builder is told of an entry: everything but its code.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprArray};

use crate::entry::Entry;
use crate::errors::Errors;
use crate::literal::Literal;
use crate::nearest::nearest;
use crate::options::Given;
use crate::subject::Subject;
use crate::types;

impl Entry {
    /// The whole entry: `run` is the call that hands it its code, and `record` the struct of its arguments. `method` is how code
    /// that completes is called, where it is a method that takes the value.
    pub(crate) fn build(
        &self,
        run: &TokenStream,
        record: Option<&TokenStream>,
        method: impl Fn(&Expr) -> Option<TokenStream>,
    ) -> TokenStream {
        let (told, completed) = (self.told(record), self.completed(method));
        let entry = quote!(#told #completed.#run);
        if self.subject == Subject::App { self.page.around(&entry) } else { entry }
    }

    fn told(&self, record: Option<&TokenStream>) -> TokenStream {
        let here = Span::mixed_site().located_at(self.ident.span());
        let (name, uri) = (&self.name, &self.uri);
        let mut calls = match self.subject {
            Subject::Tool | Subject::App => quote_spanned!(here=> ::mcp_server::Tool::new(#name)),
            Subject::Prompt => quote_spanned!(here=> ::mcp_server::Prompt::new(#name)),
            Subject::Template => quote_spanned!(here=> ::mcp_server::ResourceTemplate::new(#uri).name(#name)),
            Subject::Resource => {
                let new = if self.is_page() { quote!(app) } else { quote!(new) };
                quote_spanned!(here=> ::mcp_server::Resource::#new(__mcp::text(#uri)).name(#name))
            }
        };
        if let Some(description) = &self.description {
            calls.extend(quote!(.description(__mcp::text(#description))));
        }
        if let Some(ty) = self.options.given("output").and_then(Given::as_type) {
            calls.extend(quote!(.output::<#ty>()));
        }
        if let (Subject::Prompt, Some(record)) = (self.subject, record) {
            calls.extend(quote!(.arguments::<#record>()));
        }
        for (option, given) in self.options.iter() {
            calls.extend(said(option, given));
        }
        calls.extend(self.guards.calls.clone());
        calls.extend(self.page.calls(self.subject));
        for (tag, value) in &self.tags {
            calls.extend(quote!(.tag(#tag, #value)));
        }
        calls
    }

    /// A page has one media type, so nobody has to say it (APP-2).
    fn is_page(&self) -> bool {
        self.key().starts_with("ui://") && self.options.given("mime").is_none()
    }

    /// What proposes values for its arguments.
    fn completed(&self, method: impl Fn(&Expr) -> Option<TokenStream>) -> TokenStream {
        let complete = |argument: &crate::argument::Argument| {
            let (name, code) = (&argument.name, argument.options.expr("complete")?);
            let at = Span::mixed_site().located_at(code.span());
            Some(match code {
                Expr::Array(_) => quote_spanned!(at=> .complete_from(#name, #code)),
                Expr::Reference(_) => quote_spanned!(at=> .complete_from(#name, __mcp::words(#code))),
                _ if is_constant(code) => quote_spanned!(at=> .complete_from(#name, __mcp::words(&#code))),
                _ => {
                    let code = method(code).unwrap_or_else(|| quote!(#code));
                    quote_spanned!(at=> .complete(#name, #code))
                }
            })
        };
        self.parameters.arguments.iter().filter_map(complete).collect()
    }
}

/// By its name, which a function would not have.
fn is_constant(code: &Expr) -> bool {
    let Expr::Path(path) = code else { return false };
    path.path.segments.last().is_some_and(|last| {
        let name = last.ident.to_string();
        name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase)
    })
}

/// What one option comes to.
pub(crate) fn said(option: &str, given: &Given) -> Option<TokenStream> {
    let method = Ident::new(option, Span::mixed_site());
    let flag = || {
        let value = given.as_bool();
        quote!(.#method(#value))
    };
    Some(match (option, given.expr()) {
        ("title" | "mime" | "last_modified", Some(value)) => quote!(.#method(__mcp::text(#value))),
        ("read_only" | "destructive" | "idempotent" | "open_world" | "coerce" | "sensitive", _) => flag(),
        ("icon" | "meta" | "needs" | "size", Some(value)) => {
            let call = quote_spanned!(value.span()=> #method(#value));
            quote!(.#call)
        }
        ("priority", Some(value)) => match Literal::of(value) {
            Some(Literal::Int(number)) => {
                let number = proc_macro2::Literal::f64_unsuffixed(number as f64);
                quote_spanned!(value.span()=> .priority(#number))
            }
            _ => quote_spanned!(value.span()=> .priority(#value)),
        },
        ("audience", Some(Expr::Array(list))) => {
            let list = words(list, &ROLES, &mut Errors::default());
            quote!(.audience([#(#list),*]))
        }
        ("audience", Some(value)) => quote_spanned!(value.span()=> .audience(#value)),
        ("logs", _) if given.as_bool() => quote!(.logs()),
        _ => return None,
    })
}

/// An enum whose variants are written as texts.
pub(crate) struct Words {
    ty: &'static str,
    words: &'static [(&'static str, &'static str)],
}

pub(crate) const ROLES: Words = Words { ty: "Role", words: &[("user", "User"), ("assistant", "Assistant")] };

pub(crate) const VISIBILITY: Words = Words { ty: "Visibility", words: &[("model", "Model"), ("app", "App")] };

/// The variants that a list names; what is no text is left as it is.
pub(crate) fn words(list: &ExprArray, of: &Words, errors: &mut Errors) -> Vec<TokenStream> {
    let ty = Ident::new(of.ty, Span::mixed_site());
    let word = |value: &Expr| {
        let Some(Literal::Text(text)) = Literal::of(value) else { return quote!(#value) };
        if let Some((_, variant)) = of.words.iter().find(|(word, _)| *word == text) {
            let variant = Ident::new(variant, Span::mixed_site());
            return quote!(::mcp_server::#ty::#variant);
        }
        let known = of.words.iter().map(|(word, _)| *word);
        let meant = nearest(&text, known.clone()).map(|word| format!(": did you mean {word:?}?")).unwrap_or_default();
        let known: Vec<String> = known.map(|word| format!("{word:?}")).collect();
        errors.at(value, format!("{text:?} is none of {}{meant}", known.join(", ")));
        TokenStream::new()
    };
    list.elems.iter().map(word).collect()
}

/// Checks what `said` relies on.
pub(crate) fn check(entry: &Entry, errors: &mut Errors) {
    if let Some(Expr::Array(list)) = entry.options.expr("audience") {
        words(list, &ROLES, errors);
    }
    for argument in &entry.parameters.arguments {
        if let Some(Expr::Array(list)) = argument.options.expr("complete") {
            for value in list.elems.iter().filter(|value| !matches!(Literal::of(value), None | Some(Literal::Text(_))))
            {
                errors.at(
                    value,
                    format!("what is proposed is a text: write it in quotes; `{}` reads it", types::text(&argument.ty)),
                );
            }
        }
    }
}
