//! What stands between a caller and an entry: the options `scope`, `cache`, `wrap`, `visible`, and those of tools.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, LitStr, Token};

use crate::errors::Errors;
use crate::literal::Literal;
use crate::nearest::nearest;
use crate::options::{Given, Kind, Known, Options, Place};

const CACHE: Place = Place {
    attribute: "cache(..)",
    first: None,
    known: &[Known::new("ttl_ms", Kind::Count), Known::new("public", Kind::Flag), Known::new("private", Kind::Flag)],
    advice: &[
        ("ttl", "write it in milliseconds: `ttl_ms = 5_000`"),
        ("ttl_s", "write it in milliseconds: `ttl_ms = 5_000`"),
        ("scope", "write `public` or `private` alone, as in `cache(ttl_ms = 5_000, private)`"),
    ],
};

const PUBLIC: &str = "what is for callers with a scope is not `public`, which lets anybody keep it and pass it on: write \
                      `private`, or take the scope away";

/// The words for whether a tool can be run as a task.
const TASKS: [(&str, &str); 3] = [("none", "None"), ("supported", "Supported"), ("required", "Required")];

/// What the options say of who may do what with an entry.
#[derive(Default)]
pub(crate) struct Guards {
    /// Calls of the builder.
    pub(crate) calls: TokenStream,
    has_scope: bool,
    /// Whether anybody may keep its answers, and where that is said.
    public: Option<(bool, Span)>,
}

impl Guards {
    pub(crate) fn take(options: &Options, errors: &mut Errors) -> Self {
        let mut guards = Self::default();
        for (option, given) in options.iter() {
            match (option, given.expr()) {
                ("scope", Some(value)) => guards.scope(value, errors),
                ("cache", _) => guards.cache(given, errors),
                ("wrap" | "visible", Some(value)) => {
                    let method = Ident::new(option, Span::mixed_site());
                    let call = quote_spanned!(value.span()=> #method(#value));
                    guards.calls.extend(quote!(.#call));
                }
                ("task_support", Some(value)) => guards.calls.extend(task_support(value, errors)),
                ("skip_default_params", _) => {
                    let names = skipped(given, errors);
                    guards.calls.extend(quote!(.skip_default_params([#(#names),*])));
                }
                ("unlisted", _) if given.as_bool() => guards.calls.extend(quote!(.unlisted())),
                _ => {}
            }
        }
        if let Some(at) = guards.conflict(&Self::default()) {
            errors.span(at, PUBLIC);
        }
        guards
    }

    /// Looks for what cannot be kept of it together with the block around it.
    pub(crate) fn check(&self, around: &Self, errors: &mut Errors) {
        let nothing = Self::default();
        // What one of them says alone was told.
        let told = self.conflict(&nothing).or_else(|| around.conflict(&nothing)).is_some();
        if let Some(at) = self.conflict(around).filter(|_| !told) {
            errors.span(at, PUBLIC);
        }
    }

    /// Where it says that anybody may keep what is for callers with a scope.
    fn conflict(&self, around: &Self) -> Option<Span> {
        let (public, at) = self.public.or(around.public)?;
        (public && (self.has_scope || around.has_scope)).then_some(at)
    }

    fn scope(&mut self, value: &Expr, errors: &mut Errors) {
        if let Some(Literal::Text(text)) = Literal::of(value)
            && text.trim().is_empty()
        {
            errors.at(value, "an empty scope would let everybody in: name one, as in `scope = \"notes:read\"`");
        }
        self.has_scope = true;
        let call = quote_spanned!(value.span()=> scope(#value));
        self.calls.extend(quote!(.#call));
    }

    fn cache(&mut self, given: &Given, errors: &mut Errors) {
        let Some(words) = given.words() else { return };
        let mut cache = Options::default();
        cache.read(words.clone(), &CACHE, errors);
        let mut hint = quote!(::mcp_server::CacheHint::new());
        if let Some(ttl) = cache.expr("ttl_ms") {
            let ttl = quote_spanned!(ttl.span()=> ttl(::core::time::Duration::from_millis(#ttl)));
            hint.extend(quote!(.#ttl));
        }
        for (name, says) in [("public", true), ("private", false)] {
            let Some(given) = cache.given(name) else { continue };
            if !given.as_bool() {
                let other = if says { "private" } else { "public" };
                errors.span(given.span(), format!("write `{other}`, or nothing"));
            } else if self.public.is_some() {
                errors.span(given.span(), "it is `public` or `private`: keep one of them");
            } else {
                self.public = Some((says, given.span()));
                let method = Ident::new(name, Span::mixed_site());
                hint.extend(quote!(.#method()));
            }
        }
        if words.is_empty() {
            errors.span(given.span(), "say for how long, or for whom: `cache(ttl_ms = 5_000, public)`");
        }
        self.calls.extend(quote!(.cache(#hint)));
    }
}

fn task_support(value: &Expr, errors: &mut Errors) -> TokenStream {
    let Some(Literal::Text(text)) = Literal::of(value) else { return quote!(.task_support(#value)) };
    if let Some((_, variant)) = TASKS.iter().find(|(word, _)| *word == text) {
        let variant = Ident::new(variant, Span::mixed_site());
        return quote!(.task_support(::mcp_server::TaskSupport::#variant));
    }
    let meant = match text.as_str() {
        // As one revision of the protocol has it.
        "optional" => Some("supported"),
        "forbidden" => Some("none"),
        text => nearest(text, TASKS.map(|(word, _)| word)),
    };
    let meant = meant.map(|word| format!(": did you mean {word:?}?")).unwrap_or_default();
    errors.at(value, format!("{text:?} is none of \"none\", \"supported\", \"required\"{meant}"));
    TokenStream::new()
}

/// Names of params: words, or texts where they are no words.
fn skipped(given: &Given, errors: &mut Errors) -> Vec<LitStr> {
    let Some(words) = given.words() else { return Vec::new() };
    let parse = |input: syn::parse::ParseStream<'_>| {
        Punctuated::<LitStr, Token![,]>::parse_terminated_with(input, |input| {
            if input.peek(LitStr) {
                return input.parse();
            }
            match input.call(syn::Ident::parse_any) {
                Ok(name) => Ok(LitStr::new(&name.unraw().to_string(), name.span())),
                Err(_) => Err(input.error("name the params: `skip_default_params(account_id)`")),
            }
        })
    };
    let names: Vec<LitStr> = match parse.parse2(words.clone()) {
        Ok(names) => names.into_iter().collect(),
        Err(error) => {
            errors.add(error);
            return Vec::new();
        }
    };
    if names.is_empty() {
        errors.span(given.span(), "it skips nothing: name the params, as in `skip_default_params(account_id)`");
    }
    for (index, name) in names.iter().enumerate() {
        if names[..index].iter().any(|other| other.value() == name.value()) {
            errors.at(name, format!("`{}` is skipped twice: keep one of them", name.value()));
        }
    }
    names
}
