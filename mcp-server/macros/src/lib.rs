//! The macros of `mcp-server`: `#[tool]`, `#[tools]`, `#[resource]`, `#[resource_template]`, `#[prompt]`, `#[app]` and
//! `#[derive(Arguments)]`. Use them from there; their pages are there, too, where their examples compile.

#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "a page has one author: what stood here would stand below it")]

mod argument;
mod block;
mod builder;
mod call;
mod derive;
mod entry;
mod errors;
mod free;
mod function;
mod guards;
mod literal;
mod nearest;
mod options;
mod page;
mod record;
mod subject;
mod text;
mod types;
mod variables;

use proc_macro::TokenStream;

use crate::subject::Subject;

#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(Subject::Tool, options.into(), item.into()).into()
}

#[proc_macro_attribute]
pub fn app(options: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(Subject::App, options.into(), item.into()).into()
}

#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(Subject::Resource, options.into(), item.into()).into()
}

#[proc_macro_attribute]
pub fn resource_template(options: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(Subject::Template, options.into(), item.into()).into()
}

#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(Subject::Prompt, options.into(), item.into()).into()
}

#[proc_macro_attribute]
pub fn tools(options: TokenStream, item: TokenStream) -> TokenStream {
    block::expand(options.into(), item.into()).into()
}

#[proc_macro_derive(Arguments, attributes(arg, serde, schemars))]
pub fn arguments(item: TokenStream) -> TokenStream {
    derive::expand(item.into()).into()
}
