//! Descriptions: from an option, or else from the doc comment.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta};

use crate::options::Options;

/// The description of an item, as an expression; `None` if there is none.
pub(crate) fn description(options: &Options, attrs: &[Attribute]) -> Option<TokenStream> {
    match options.expr("description") {
        Some(expr) if is_blank(expr) => None,
        Some(expr) => Some(expr.to_token_stream()),
        None => documented(attrs),
    }
}

/// What the doc comments say: a space before each line is dropped, and what is blank at both ends.
///
/// They may come from a file: `#[doc = include_str!("search.md")]`.
pub(crate) fn documented(attrs: &[Attribute]) -> Option<TokenStream> {
    let docs: Vec<&Expr> = attrs.iter().filter_map(doc).collect();
    let lines: Option<Vec<String>> = docs.iter().map(|doc| literal(doc).map(|text| plain(&text.value()))).collect();
    if let Some(lines) = lines {
        let text = lines.join("\n");
        let text = text.trim();
        let span = docs.first().map_or_else(Span::call_site, syn::spanned::Spanned::span);
        let text = LitStr::new(text, span);
        return (!text.value().is_empty()).then(|| text.to_token_stream());
    }
    let parts = docs.iter().map(|doc| match literal(doc) {
        Some(text) => LitStr::new(&plain(&text.value()), text.span()).to_token_stream(),
        None => doc.to_token_stream(),
    });
    // Whatever the macros in it come to, `concat!` joins while compiling.
    Some(quote!(::core::concat!(#(#parts, "\n"),*).trim_ascii()))
}

/// Doc comments of the item that stands for a function, if it has none of its own and the description can be one.
pub(crate) fn as_docs(options: &Options, attrs: &[Attribute], otherwise: &str) -> TokenStream {
    if attrs.iter().any(|attr| doc(attr).is_some()) {
        let docs = attrs.iter().filter(|attr| doc(attr).is_some());
        return quote!(#(#docs)*);
    }
    match options.expr("description") {
        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => quote!(#[doc = #text]),
        _ => quote!(#[doc = #otherwise]),
    }
}

/// What stands behind `#[doc = ..]`.
fn doc(attr: &Attribute) -> Option<&Expr> {
    match &attr.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => Some(&doc.value),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<&LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

fn is_blank(expr: &Expr) -> bool {
    literal(expr).is_some_and(|text| text.value().trim().is_empty())
}

/// One doc comment as it is meant: `/// text` is ` text` to the compiler, and `/** .. */` keeps its stars.
fn plain(doc: &str) -> String {
    if !doc.contains('\n') {
        return doc.strip_prefix(' ').unwrap_or(doc).trim_end().into();
    }
    let lines: Vec<&str> = doc.lines().collect();
    let starred = lines.iter().skip(1).all(|line| line.trim_start().starts_with('*') || line.trim().is_empty());
    let line = |line: &&str| {
        let line = if starred { line.trim_start().strip_prefix('*').unwrap_or(line) } else { line };
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn said(attrs: &[Attribute]) -> String {
        documented(attrs).map(|text| text.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_doc_comment_is_its_lines_without_the_first_space() {
        assert_eq!(
            said(&[parse_quote!(#[doc = " Adds."]), parse_quote!(#[doc = ""]), parse_quote!(#[doc = "   more "])]),
            r#""Adds.\n\n  more""#
        );
        assert_eq!(said(&[parse_quote!(#[doc = "\n * Adds.\n *   more\n "])]), r#""Adds.\n  more""#);
        assert_eq!(said(&[parse_quote!(#[doc = "\n    Adds.\n      code\n"])]), r#""Adds.\n     code""#);
    }

    #[test]
    fn a_blank_doc_comment_is_none() {
        assert!(documented(&[parse_quote!(#[doc = "  "])]).is_none());
        assert!(documented(&[parse_quote!(#[doc(hidden)])]).is_none());
    }

    #[test]
    fn text_from_a_file_is_joined_while_compiling() {
        let docs = [parse_quote!(#[doc = " Adds."]), parse_quote!(#[doc = include_str!("a.md")])];
        assert_eq!(
            said(&docs),
            quote!(::core::concat!("Adds.", "\n", include_str!("a.md"), "\n").trim_ascii()).to_string()
        );
    }
}
