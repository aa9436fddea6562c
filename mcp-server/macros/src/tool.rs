//! One tool: what its attribute says, and the code that makes it with the builder.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Generics, LitStr, Signature, Token, Type};

use crate::errors::Errors;
use crate::function::{self, Parameters};
use crate::options::{Kind, Known, Options, Place};
use crate::record::Record;
use crate::{text, types};

pub(crate) const TOOL: Place = Place {
    attribute: "#[tool(..)]",
    known: &[
        Known::new("name", Kind::Name),
        Known::new("title", Kind::Text),
        Known::new("description", Kind::Text),
        Known::new("read_only", Kind::Flag),
        Known::new("destructive", Kind::Flag),
        Known::new("idempotent", Kind::Flag),
        Known::new("open_world", Kind::Flag),
        Known::new("blocking", Kind::Flag),
        Known::new("open", Kind::Flag),
        Known::new("coerce", Kind::Flag),
        Known::new("icon", Kind::Many),
        Known::new("meta", Kind::Any),
        Known::new("tags", Kind::Words),
        Known::new("output", Kind::Type),
        Known::new("logs", Kind::Flag),
        Known::new("needs", Kind::Many),
    ],
    advice: &[
        ("annotations", "write its hints alone, as in `#[tool(read_only, open_world = false)]`"),
        ("icons", "write `icon = \"https://..\"`, as often as you like"),
        ("tag", "write `tags(admin, team = \"storage\")`"),
        ("input", "it comes from the parameters"),
        ("input_schema", "it comes from the parameters; for one as data there is `Tool::input_schema`"),
        ("output_schema", "write `output = Type`; for one as data there is `Tool::output_schema`"),
        ("vis", "the tool is as visible as the function"),
    ],
};

/// A function that is a tool.
pub(crate) struct ToolItem {
    /// Its own name.
    pub(crate) ident: Ident,
    /// That of the tool.
    pub(crate) name: LitStr,
    pub(crate) options: Options,
    pub(crate) parameters: Parameters,
    pub(crate) result: Type,
    pub(crate) is_async: bool,
    description: TokenStream,
    tags: Vec<(LitStr, TokenStream)>,
}

impl ToolItem {
    /// Reads the function, and takes the attributes of its parameters out of it.
    pub(crate) fn take(attrs: &[Attribute], sig: &mut Signature, options: Options, errors: &mut Errors) -> Self {
        function::check_signature(sig, options.flag("blocking") == Some(true), errors);
        let name = match options.text("name") {
            Some(name) => name.clone(),
            None => LitStr::new(&sig.ident.unraw().to_string(), sig.ident.span()),
        };
        check_name(&name, errors);
        let description = text::description(&options, attrs).unwrap_or_else(|| {
            let message = "a tool needs a description, or a model would have to guess: write what it does as a doc comment \
                           (`/// ..`) above the function, or as `#[tool(description = \"..\")]`";
            errors.at(&sig.ident, message);
            quote!("")
        });
        let parameters = Parameters::take(sig, errors);
        if let (Some(open), Some(all)) = (options.given("open"), parameters.whole()) {
            let message = format!("`{}` takes all arguments: put `#[arg(open)]` above that struct", types::text(all));
            errors.at(open, message);
        }
        let tags = tags(&options, errors);
        Self {
            ident: sig.ident.clone(),
            name,
            description,
            parameters,
            result: function::result(sig),
            is_async: sig.asyncness.is_some(),
            options,
            tags,
        }
    }

    pub(crate) fn is_blocking(&self) -> bool {
        self.options.flag("blocking") == Some(true)
    }

    /// The struct that takes the arguments by name, if any are taken so: with its impls, and its name.
    pub(crate) fn record(&self) -> Option<(Ident, TokenStream)> {
        let open = self.options.flag("open") == Some(true);
        let arguments = &self.parameters.arguments;
        if arguments.is_empty() && !open || self.parameters.whole().is_some() {
            return None;
        }
        let ident = Ident::new("__Arguments", Span::mixed_site());
        let fields = arguments.iter().map(|argument| {
            let (ident, ty) = (&argument.ident, &argument.ty);
            quote!(#ident: #ty)
        });
        let generics = Generics::default();
        let record = Record {
            ident: &ident,
            title: format!("arguments of {}", self.name.value()),
            generics: &generics,
            description: None,
            arguments,
            open,
        };
        let impls = record.expand();
        let definition = quote! {
            struct #ident { #(#fields),* }
            #impls
        };
        Some((ident, definition))
    }

    /// A struct of the extractors, if there are any: with its impl, and its name. It asks each type where it stands, so that
    /// one that is no extractor is told of there.
    pub(crate) fn extracted(&self) -> Option<(Ident, TokenStream)> {
        let types = self.parameters.extractors();
        if types.is_empty() {
            return None;
        }
        let ident = Ident::new("__Extracted", Span::mixed_site());
        let definition = quote! {
            struct #ident(#(#types),*);
            #[automatically_derived]
            impl ::mcp_server::Extract for #ident {
                fn extract(__ctx: &::mcp_server::Ctx) -> ::core::result::Result<Self, ::mcp_server::CallError> {
                    ::core::result::Result::Ok(Self(#(<#types as ::mcp_server::Extract>::extract(__ctx)?),*))
                }
                fn needs(__needs: &mut ::mcp_server::Needs) {
                    #(<#types as ::mcp_server::Extract>::needs(__needs);)*
                }
            }
        };
        Some((ident, definition))
    }

    /// A struct around the result, for the same reason.
    pub(crate) fn answer(&self) -> (Ident, TokenStream) {
        let ident = Ident::new("__Answer", Span::mixed_site());
        let result = &self.result;
        let definition = quote! {
            struct #ident(#result);
            #[automatically_derived]
            impl ::mcp_server::IntoAnswer for #ident {
                fn into_answer(self) -> ::core::result::Result<::mcp_server::ToolAnswer, ::mcp_server::CallError> {
                    <#result as ::mcp_server::IntoAnswer>::into_answer(self.0)
                }
                fn output_schema() -> ::core::option::Option<__mcp::Value> {
                    <#result as ::mcp_server::IntoAnswer>::output_schema()
                }
            }
        };
        (ident, definition)
    }

    /// What the builder is told before the code.
    pub(crate) fn builder(&self) -> TokenStream {
        let (name, description) = (&self.name, &self.description);
        let new = quote_spanned!(Span::mixed_site().located_at(self.ident.span())=> ::mcp_server::Tool::new);
        let mut calls = quote!(#new(#name).description(__mcp::text(#description)));
        if let Some(ty) = self.options.given("output").and_then(|given| given.as_type()) {
            calls.extend(quote!(.output::<#ty>()));
        }
        for (option, given) in self.options.iter() {
            let value = given.expr();
            let method = Ident::new(option, Span::mixed_site());
            calls.extend(match (option, value) {
                ("title", Some(value)) => quote!(.title(__mcp::text(#value))),
                ("read_only" | "destructive" | "idempotent" | "open_world" | "coerce", _) => {
                    let hint = given.as_bool();
                    quote!(.#method(#hint))
                }
                ("icon" | "meta" | "needs", Some(value)) => {
                    let call = quote_spanned!(value.span()=> #method(#value));
                    quote!(.#call)
                }
                ("logs", _) if given.as_bool() => quote!(.logs()),
                _ => continue,
            });
        }
        for (tag, value) in &self.tags {
            calls.extend(quote!(.tag(#tag, #value)));
        }
        calls
    }
}

/// What the protocol takes as a tool's name (TOOL-5).
fn check_name(name: &LitStr, errors: &mut Errors) {
    let text = name.value();
    let usual = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    if text.is_empty() {
        errors.at(name, "the name of a tool must not be empty");
    } else if text.len() > 128 {
        errors.at(name, format!("the name of a tool has at most 128 letters, and this one has {}", text.len()));
    } else if let Some(wrong) = text.chars().find(|c| !c.is_ascii() || !usual(*c as u8)) {
        let advice = "write `#[tool(name = \"..\")]` with";
        errors.at(
            name,
            format!("the name of a tool cannot have a {wrong:?}: {advice} letters, digits, `_`, `-`, `.` and `/`"),
        );
    }
}

/// `tags(admin, team = "storage")`: a tag without a value is true.
fn tags(options: &Options, errors: &mut Errors) -> Vec<(LitStr, TokenStream)> {
    let Some(words) = options.given("tags").and_then(|given| given.words()) else { return Vec::new() };
    let parse = |input: syn::parse::ParseStream<'_>| {
        Punctuated::<(Ident, Option<Expr>), Token![,]>::parse_terminated_with(input, |input| {
            let Ok(name) = input.call(Ident::parse_any) else {
                return Err(input.error("a tag is a word, or a word and its value: `tags(admin, team = \"storage\")`"));
            };
            let value = input.parse::<Option<Token![=]>>()?.map(|_| input.parse::<Expr>()).transpose()?;
            Ok((name, value))
        })
    };
    let pairs = match parse.parse2(words.clone()) {
        Ok(pairs) => pairs,
        Err(error) => {
            errors.add(error);
            return Vec::new();
        }
    };
    let mut names: Vec<String> = Vec::new();
    let mut tags = Vec::new();
    for (name, value) in pairs {
        let text = name.unraw().to_string();
        if names.contains(&text) {
            errors.at(&name, format!("the tag `{text}` is given twice: keep one of them"));
        }
        tags.push((
            LitStr::new(&text, name.span()),
            value.map_or_else(|| quote!(true), |value| value.to_token_stream()),
        ));
        names.push(text);
    }
    tags
}
