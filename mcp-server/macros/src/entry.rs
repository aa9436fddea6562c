//! One entry: what its attribute says of a function, and the items that its code needs.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::ext::IdentExt as _;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Generics, LitStr, Signature, Token, Type};

use crate::argument::Argument;
use crate::errors::Errors;
use crate::function::{self, Parameters};
use crate::guards::Guards;
use crate::nearest::nearest;
use crate::options::Options;
use crate::page::Page;
use crate::record::Record;
use crate::subject::Subject;
use crate::types::{self, Shape};
use crate::{text, variables};

/// A function that is a tool, a resource or another entry.
pub(crate) struct Entry {
    pub(crate) subject: Subject,
    /// Its own name.
    pub(crate) ident: Ident,
    /// That of the entry.
    pub(crate) name: LitStr,
    /// The URI or template that clients know it by, if they do.
    pub(crate) uri: Option<Expr>,
    pub(crate) options: Options,
    pub(crate) parameters: Parameters,
    pub(crate) result: Type,
    pub(crate) is_async: bool,
    pub(crate) description: Option<TokenStream>,
    pub(crate) tags: Vec<(LitStr, TokenStream)>,
    pub(crate) page: Page,
    pub(crate) guards: Guards,
}

impl Entry {
    /// Reads the function, and takes the attributes of its parameters out of it.
    pub(crate) fn take(
        subject: Subject,
        attrs: &[Attribute],
        sig: &mut Signature,
        options: Options,
        errors: &mut Errors,
    ) -> Self {
        function::check_signature(sig, subject, options.flag("blocking") == Some(true), errors);
        let name = match options.text("name") {
            Some(name) => name.clone(),
            None => LitStr::new(&sig.ident.unraw().to_string(), sig.ident.span()),
        };
        check_name(&name, subject, errors);
        let description = text::description(&options, attrs);
        if description.is_none() && subject.is_tool() {
            let (one, attribute) = (subject.one(), subject.attribute());
            let message = format!(
                "{one} needs a description, or a model would have to guess: write what it does as a doc comment \
                 (`/// ..`) above the function, or as `#[{attribute}(description = \"..\")]`"
            );
            errors.at(&sig.ident, message);
        }
        let uri = uri(subject, &options, &sig.ident, errors);
        // What should have been a template is told of once.
        let meant = match uri.as_ref().and_then(literal) {
            Some(uri) if subject == Subject::Resource && uri.value().contains('{') => Subject::Template,
            _ => subject,
        };
        let parameters = Parameters::take(sig, meant, errors);
        if let (Some(open), Some(all)) = (options.given("open"), parameters.whole()) {
            let message = format!("`{}` takes all arguments: put `#[arg(open)]` above that struct", types::text(all));
            errors.at(open, message);
        }
        match subject {
            Subject::Template => check_variables(&options, &parameters, errors),
            Subject::Prompt => check_texts(&parameters.arguments, errors),
            _ => {}
        }
        let tags = tags(&options, errors);
        let page = Page::take(subject, &options, &sig.ident, errors);
        let guards = Guards::take(&options, errors);
        Self {
            subject,
            ident: sig.ident.clone(),
            name,
            uri,
            description,
            parameters,
            result: function::result(sig),
            is_async: sig.asyncness.is_some(),
            options,
            tags,
            page,
            guards,
        }
    }

    /// What clients know it by, as it is written.
    pub(crate) fn key(&self) -> String {
        self.uri.as_ref().map_or_else(
            || self.name.value(),
            |uri| match literal(uri) {
                Some(uri) => uri.value(),
                None => uri.to_token_stream().to_string(),
            },
        )
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
            described: self.subject.has_schema(),
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
        let (into, method, answer) = self.subject.answer();
        let schema = self.subject.is_tool().then(|| {
            quote! {
                fn output_schema() -> ::core::option::Option<__mcp::Value> {
                    <#result as ::mcp_server::IntoAnswer>::output_schema()
                }
            }
        });
        let definition = quote! {
            struct #ident(#result);
            #[automatically_derived]
            impl ::mcp_server::#into for #ident {
                fn #method(self) -> ::core::result::Result<::mcp_server::#answer, ::mcp_server::CallError> {
                    <#result as ::mcp_server::#into>::#method(self.0)
                }
                #schema
            }
        };
        (ident, definition)
    }
}

/// What the protocol takes as a name (TOOL-5, PROMPT-1); that of a resource may be anything.
fn check_name(name: &LitStr, subject: Subject, errors: &mut Errors) {
    let text = name.value();
    let (noun, attribute) = (if subject.is_tool() { "tool" } else { subject.noun() }, subject.attribute());
    let usual = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    if text.is_empty() {
        errors.at(name, format!("the name of a {noun} must not be empty"));
    } else if subject.is_resource() {
    } else if text.len() > 128 {
        errors.at(name, format!("the name of a {noun} has at most 128 letters, and this one has {}", text.len()));
    } else if let Some(wrong) = text.chars().find(|c| !c.is_ascii() || !usual(*c as u8)).filter(|_| subject.is_tool()) {
        let advice = format!("write `#[{attribute}(name = \"..\")]` with");
        errors.at(
            name,
            format!("the name of a tool cannot have a {wrong:?}: {advice} letters, digits, `_`, `-`, `.` and `/`"),
        );
    }
}

fn literal(expr: &Expr) -> Option<&LitStr> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Str(text) => Some(text),
            _ => None,
        },
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

/// The URI or template, which stands first; a resource may have it as a constant.
fn uri(subject: Subject, options: &Options, ident: &Ident, errors: &mut Errors) -> Option<Expr> {
    if !subject.is_resource() {
        return None;
    }
    let uri = match (&options.first, options.expr("uri")) {
        (Some(first), Some(named)) => {
            errors.at(named, format!("the URI is given twice: keep this one, or {:?}", first.value()));
            return None;
        }
        (Some(first), None) => syn::parse_quote!(#first),
        (None, Some(named)) => named.clone(),
        (None, None) => {
            let message = match subject {
                Subject::Template => {
                    "clients know it by its template: write it first, as in `#[resource_template(\"users://{id}\")]`"
                }
                _ => {
                    "clients know it by its URI: write it first, as in `#[resource(\"notes://all\")]`, or as \
                     `#[resource(uri = CONSTANT)]`"
                }
            };
            errors.at(ident, message);
            return None;
        }
    };
    if let Some(text) = literal(&uri) {
        let has_scheme = text.value().split_once(':').is_some_and(|(scheme, _)| !scheme.is_empty());
        if !has_scheme && !text.value().starts_with('{') {
            errors.at(text, "a URI begins with a scheme, which can be one of your own: `notes://all`");
        }
        if subject == Subject::Resource && text.value().contains('{') {
            errors.at(text, "this is a template, which stands for many resources: write `#[resource_template(..)]`");
        }
    }
    Some(uri)
}

/// Each variable has a parameter, and each parameter is a variable, or comes from the server or the call.
fn check_variables(options: &Options, parameters: &Parameters, errors: &mut Errors) {
    let Some(template) = &options.first else { return };
    let Some(names) = variables::names(template, errors) else { return };
    if names.is_empty() {
        let message =
            "the template has no variables, as `{id}` would be one: for a single resource there is `#[resource(..)]`";
        return errors.at(template, message);
    }
    let listed = match &*names {
        [one] => format!("one variable, `{one}`"),
        several => format!("the variables {}", variables::listed(several)),
    };
    for argument in &parameters.arguments {
        if !names.contains(&argument.name.value()) {
            let meant = nearest(&argument.name.value(), names.iter().map(|name| &**name));
            let meant = meant.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
            let message = format!(
                "the template has {listed}: `{}` is neither a variable of it{meant}, nor anything of the server or the call; \
                 what the server holds is `State<T>`, and an extractor of your own has `#[extract]` before it",
                argument.name.value()
            );
            errors.at(&argument.name, message);
        }
    }
    if parameters.whole().is_some() {
        return;
    }
    for name in &names {
        if !parameters.arguments.iter().any(|argument| argument.name.value() == *name) {
            let written = match syn::parse_str::<Ident>(name) {
                Ok(_) => format!("`{name}: String`"),
                Err(_) => format!("`#[arg(name = \"{name}\")] {}: String`", name.replace(['.', '%'], "_")),
            };
            errors.at(template, format!("the variable `{name}` has no parameter: add {written} to the function"));
        }
    }
}

/// Arguments of prompts are texts (PROMPT-2), and so are single values.
fn check_texts(arguments: &[Argument], errors: &mut Errors) {
    // A name alone may be anybody's.
    let is_list = |ty: &Type| Shape::of(ty) == Shape::List && types::item(ty).is_some();
    for argument in arguments.iter().filter(|argument| is_list(&argument.ty)) {
        let message = format!(
            "the arguments of a prompt are texts, and `{}` is a list: take a `String` and split it, or several arguments",
            argument.name.value()
        );
        errors.at(&argument.ty, message);
    }
}

/// `tags(admin, team = "storage")`: a tag without a value is true.
pub(crate) fn tags(options: &Options, errors: &mut Errors) -> Vec<(LitStr, TokenStream)> {
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
