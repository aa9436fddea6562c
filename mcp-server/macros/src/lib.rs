//! The macros of `mcp-server`: `#[tool]`, `#[tools]` and `#[derive(Arguments)]`. Use them from there; their pages are there, too,
//! where their examples compile.

#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "a page has one author: what stood here would stand below it")]

mod argument;
mod block;
mod call;
mod derive;
mod errors;
mod free;
mod function;
mod literal;
mod nearest;
mod options;
mod record;
mod text;
mod tool;
mod types;

use proc_macro::TokenStream;

#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(options.into(), item.into()).into()
}

#[proc_macro_attribute]
pub fn tools(options: TokenStream, item: TokenStream) -> TokenStream {
    block::expand(options.into(), item.into()).into()
}

#[proc_macro_derive(Arguments, attributes(arg, serde, schemars))]
pub fn arguments(item: TokenStream) -> TokenStream {
    derive::expand(item.into()).into()
}
