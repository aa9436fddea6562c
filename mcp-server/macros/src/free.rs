//! `#[tool]`, `#[resource]` and so on, on a function: a unit struct of its name that is the entry, and can be called like the
//! function.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Attribute, FnArg, Type};

use crate::call::{self, Call};
use crate::entry::Entry;
use crate::errors::Errors;
use crate::function::{self, Function};
use crate::options::Options;
use crate::subject::Subject;
use crate::{builder, text, types};

/// What the function becomes.
pub(crate) fn expand(subject: Subject, options: TokenStream, item: TokenStream) -> TokenStream {
    // What `#[tools]` leaves of a method's attribute.
    if options.to_string() == USED {
        return TokenStream::new();
    }
    let mut errors = Errors::default();
    let mut function: Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let attribute = subject.attribute();
            errors.add(syn::Error::new(error.span(), format!("`#[{attribute}]` goes above a function ({error})")));
            let errors = errors.emit();
            return quote!(#errors #item);
        }
    };
    if let Some(FnArg::Receiver(this)) = function.sig.inputs.first() {
        let one = subject.one();
        errors.at(
            this,
            format!("a method is {one} where the whole `impl` block has `#[tools]` above it, and it takes `&self`"),
        );
        let errors = errors.emit();
        return quote!(#errors #item);
    }
    let mut given = Options::default();
    given.read(options, subject.place(), &mut errors);
    let entry = Entry::take(subject, &function.attrs, &mut function.sig, given, &mut errors);
    builder::check(&entry, &mut errors);
    function::check_result(&entry.result, subject, &mut errors);
    let attrs = Attributes::of(std::mem::take(&mut function.attrs));
    let definition = definition(&function, &entry, &attrs);
    // The compiler would tell of a result that borrows from nothing once more.
    let inner = (!types::borrowed(&entry.result)).then(|| inner(&function, &attrs));
    let body = if errors.is_empty() { working(&entry, &attrs) } else { broken(&function, &entry) };
    let (cfg, errors) = (&attrs.both, errors.emit());
    quote! {
        #errors
        #definition
        #(#cfg)*
        const _: () = {
            use ::mcp_server::__private as __mcp;
            #inner
            #body
        };
    }
}

/// The attributes of the function, by where they go.
struct Attributes {
    /// On everything: without it, there is nothing.
    both: Vec<Attribute>,
    /// On what is seen.
    shown: Vec<Attribute>,
    /// On the code.
    code: Vec<Attribute>,
}

impl Attributes {
    fn of(attrs: Vec<Attribute>) -> Self {
        let mut sorted = Self { both: Vec::new(), shown: Vec::new(), code: Vec::new() };
        for attr in attrs {
            let name = attr.path().get_ident().map(ToString::to_string).unwrap_or_default();
            let says = |word| types::mentions(&attr, word);
            match &*name {
                "cfg" => sorted.both.push(attr),
                "cfg_attr" if says("cfg") => sorted.both.push(attr),
                "doc" | "deprecated" => sorted.shown.push(attr),
                "cfg_attr" if says("doc") || says("deprecated") => sorted.shown.push(attr),
                "allow" | "warn" | "deny" | "forbid" => {
                    sorted.shown.push(attr.clone());
                    sorted.code.push(attr);
                }
                // An expectation is met in one place.
                "expect" if says("missing_docs") || says("unreachable_pub") => sorted.shown.push(attr),
                _ => sorted.code.push(attr),
            }
        }
        sorted
    }
}

fn definition(function: &Function, entry: &Entry, attrs: &Attributes) -> TokenStream {
    let (vis, ident) = (&function.vis, &function.sig.ident);
    let docs = text::as_docs(&entry.options, &attrs.shown, &format!("The {} `{}`.", entry.subject.noun(), entry.key()));
    let shown = attrs.shown.iter().filter(|attr| !attr.path().is_ident("doc") || attr.meta.require_list().is_ok());
    let cfg = &attrs.both;
    quote! {
        #(#cfg)*
        #docs
        #(#shown)*
        #[allow(non_camel_case_types)]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #vis struct #ident;
    }
}

/// The function itself, where only the entry reaches it.
fn inner(function: &Function, attrs: &Attributes) -> TokenStream {
    let allowed = allowed(function);
    let (code, sig, body) = (&attrs.code, &function.sig, &function.body);
    quote!(#allowed #(#code)* #sig #body)
}

/// Lints against what an entry's function is like for good reason: it owns what it takes, it has as many parameters as there
/// are arguments, whoever calls it may have to await, and it cannot be `const`.
pub(crate) fn allowed(function: &Function) -> TokenStream {
    let unused = function.sig.asyncness.map(|_| quote!(clippy::unused_async,));
    let many = (function.sig.inputs.len() > 7).then(|| quote!(clippy::too_many_arguments,));
    quote!(#[allow(#unused #many clippy::missing_const_for_fn, clippy::needless_pass_by_value)])
}

fn working(entry: &Entry, attrs: &Attributes) -> TokenStream {
    let Call { items, takes, values, answer, record } = Call::new(entry, &[]);
    let (ident, types, result) = (&entry.ident, &entry.parameters.types, &entry.result);
    let deprecated =
        attrs.shown.iter().any(|attr| types::mentions(attr, "deprecated")).then(|| quote!(#[allow(deprecated)]));
    let (allowed, names, future) = call::forward(entry);
    let (forward, target, point, run) = if entry.is_async {
        let boxed = quote!(::core::pin::Pin<::std::boxed::Box<dyn ::core::future::Future<Output = #result> + ::core::marker::Send>>);
        (
            Some(quote! {
                #allowed
                fn __call(#(#names: #types),*) -> #future { #ident(#(#names),*) }
            }),
            quote!(fn(#(#types),*) -> #boxed),
            quote!(|#(#names),*| ::std::boxed::Box::pin(__call(#(#names),*))),
            quote!(run(|#takes| __mcp::map(__call(#(#values),*), #answer))),
        )
    } else {
        let run = if entry.is_blocking() { quote!(run_blocking) } else { quote!(run) };
        (None, quote!(fn(#(#types),*) -> #result), quote!(#ident), quote!(#run(|#takes| #answer(#ident(#(#values),*)))))
    };
    let build = entry.build(&run, record.as_ref(), |_| None);
    let (into, method) = entry.subject.into_trait();
    let built = entry.subject.builder();
    // Where a type that is less visible than the function is told of.
    let exposed = quote_spanned!(ident.span()=> type Target = #target;);
    quote! {
        #items
        #forward
        #[automatically_derived]
        #deprecated
        impl ::core::ops::Deref for #ident {
            #exposed
            fn deref(&self) -> &Self::Target {
                const __TARGET: #target = #point;
                &__TARGET
            }
        }
        #[automatically_derived]
        #deprecated
        impl ::mcp_server::#into for #ident {
            fn #method(self) -> ::mcp_server::#built {
                #build
            }
        }
    }
}

/// What stands in for an entry with errors, so that nothing is told of it but these.
fn broken(function: &Function, entry: &Entry) -> TokenStream {
    let ident = &entry.ident;
    let sig = &function.sig;
    let nameless = |ty: &Type| types::mentions(ty, "impl") || types::mentions(ty, "_");
    let borrowed = types::borrowed(&entry.result);
    let has_pointer = !borrowed
        && sig.generics.params.is_empty()
        && sig.variadic.is_none()
        && !entry.parameters.types.iter().chain([&entry.result]).any(nameless);
    let deref = has_pointer.then(|| {
        let types = &entry.parameters.types;
        let result = &entry.result;
        let result = if entry.is_async {
            quote!(::core::pin::Pin<::std::boxed::Box<dyn ::core::future::Future<Output = #result> + ::core::marker::Send>>)
        } else {
            result.to_token_stream()
        };
        quote! {
            impl ::core::ops::Deref for #ident {
                type Target = fn(#(#types),*) -> #result;
                fn deref(&self) -> &Self::Target {
                    ::core::unreachable!()
                }
            }
        }
    });
    let (into, method) = entry.subject.into_trait();
    let built = entry.subject.builder();
    quote! {
        #deref
        impl ::mcp_server::#into for #ident {
            fn #method(self) -> ::mcp_server::#built {
                ::core::unreachable!()
            }
        }
    }
}

/// See `#[tools]`.
pub(crate) const USED: &str = "__used";
