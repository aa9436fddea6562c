//! The macros of `mcp-server`, which documents them: use them from there.

#![forbid(unsafe_code)]

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

/// Makes a tool of a function.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    free::expand(options.into(), item.into()).into()
}

/// Makes tools of the methods of an `impl` block.
#[proc_macro_attribute]
pub fn tools(options: TokenStream, item: TokenStream) -> TokenStream {
    block::expand(options.into(), item.into()).into()
}

/// Makes arguments of a struct or an enum.
#[proc_macro_derive(Arguments, attributes(arg, serde, schemars))]
pub fn arguments(item: TokenStream) -> TokenStream {
    derive::expand(item.into()).into()
}
