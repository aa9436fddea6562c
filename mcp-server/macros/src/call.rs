//! The code of an entry: how what it takes is come by, and how it is run.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Type;

use crate::entry::Entry;
use crate::function::Parameter;
use crate::subject::Subject;
use crate::types;

/// The items that an entry's code needs beside it, and the parameters of the closure that is its code.
pub(crate) struct Call {
    /// Items for the scope where `__mcp` is the support module.
    pub(crate) items: TokenStream,
    /// The closure's parameters, typed.
    pub(crate) takes: TokenStream,
    /// What they hand to the function, in its order.
    pub(crate) values: Vec<TokenStream>,
    /// What is put around the result.
    pub(crate) answer: TokenStream,
    /// The type of all arguments, if there are any.
    pub(crate) record: Option<TokenStream>,
}

impl Call {
    /// `foreign` are names of type parameters, which a struct of its own cannot name.
    pub(crate) fn new(entry: &Entry, foreign: &[String]) -> Self {
        let is_foreign = |ty: &Type| foreign.iter().any(|name| types::mentions(ty, name));
        let (mut items, mut takes, mut record) = (TokenStream::new(), Vec::new(), None);
        let (extracted, arguments, all) = (local("__extracted"), local("__arguments"), local("__all"));
        let extractors = entry.parameters.extractors();
        let apart = extractors.iter().any(|ty| is_foreign(ty));
        let single = |index: usize| format_ident!("__extracted{index}", span = Span::mixed_site());
        if apart {
            takes.extend(extractors.iter().enumerate().map(|(index, ty)| {
                let name = single(index);
                quote!(#name: #ty)
            }));
        } else if let Some((ident, definition)) = entry.extracted() {
            items.extend(definition);
            takes.push(quote!(#extracted: #ident));
        }
        if let Some((ident, definition)) = entry.record() {
            items.extend(definition);
            // Without arguments that are named, it is there for its schema alone.
            let pattern = if entry.parameters.arguments.is_empty() { quote!(_) } else { quote!(#arguments) };
            takes.push(quote!(#pattern: #ident));
            record = Some(quote!(#ident));
        }
        if let Some((ident, definition)) = whole(entry) {
            items.extend(definition);
            takes.push(quote!(#all: #ident));
            record = Some(quote!(#ident));
        }
        let mut index = 0;
        let values = entry.parameters.all.iter().map(|parameter| match parameter {
            Parameter::Extractor => {
                index += 1;
                if apart {
                    let name = single(index - 1);
                    return quote!(#name);
                }
                let index = syn::Index::from(index - 1);
                quote!(#extracted.#index)
            }
            Parameter::Argument(index) => {
                let field = &entry.parameters.arguments[*index].ident;
                quote!(#arguments.#field)
            }
            Parameter::All => quote!(#all.0),
        });
        let values = values.collect();
        let answer = if is_foreign(&entry.result) || types::mentions(&entry.result, "impl") {
            quote!(::core::convert::identity)
        } else {
            let (ident, definition) = entry.answer();
            items.extend(definition);
            quote!(#ident)
        };
        Self { items, takes: quote!(#(#takes),*), values, answer, record }
    }
}

/// A function that hands its parameters on: its attributes, their names, and what it returns. That a future cannot be sent is
/// told here, once, and the compiler shows what in the author's code it holds.
pub(crate) fn forward(entry: &Entry) -> (TokenStream, Vec<Ident>, TokenStream) {
    let count = entry.parameters.types.len();
    let names = (0..count).map(|index| format_ident!("__p{index}", span = Span::mixed_site())).collect();
    let allowed = if count > 6 { quote!(#[allow(clippy::too_many_arguments)]) } else { TokenStream::new() };
    let result = &entry.result;
    let future = quote_spanned! {entry.ident.span()=>
        impl ::core::future::Future<Output = #result> + ::core::marker::Send
    };
    (allowed, names, future)
}

/// A struct around `Args<T>`, so that a type which cannot be arguments is told of where it stands.
fn whole(entry: &Entry) -> Option<(Ident, TokenStream)> {
    let ty = entry.parameters.whole()?;
    let inner = types::argument(ty)?;
    let ident = Ident::new("__All", Span::mixed_site());
    let of = if entry.subject == Subject::Prompt { quote!(__mcp::WholePrompt) } else { quote!(__mcp::Whole) };
    let described = entry.subject.has_schema().then(|| {
        quote! {
            #[automatically_derived]
            impl ::mcp_server::Arguments for #ident {
                fn schema() -> __mcp::Value {
                    <#inner as #of>::schema()
                }
                fn read(__given: &__mcp::Given) -> ::core::result::Result<Self, __mcp::Fault> {
                    <#inner as #of>::read(__given).map(|__value| Self(::mcp_server::Args(__value)))
                }
                fn locate(__sent: &[u8]) -> ::core::option::Option<(::std::string::String, ::std::string::String)> {
                    <#inner as #of>::locate(__sent)
                }
            }
        }
    });
    // Texts are read by the same type.
    let reads = match entry.subject {
        Subject::Prompt => Some(quote!(<#inner as #of>::from_texts)),
        Subject::Template => Some(quote!(<#inner as ::mcp_server::FromTexts>::from_texts)),
        _ => None,
    };
    let read = reads.map(|read| {
        quote! {
            #[automatically_derived]
            impl ::mcp_server::FromTexts for #ident {
                fn from_texts(__texts: &[__mcp::Text<'_>]) -> ::core::result::Result<Self, __mcp::Refused> {
                    #read(__texts).map(|__value| Self(::mcp_server::Args(__value)))
                }
            }
        }
    });
    let definition = quote! {
        struct #ident(#ty);
        #described
        #read
    };
    Some((ident, definition))
}

fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
