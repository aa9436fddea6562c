//! What a type's name tells before the compiler knows types: hints for better errors, never more.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericArgument, PathArguments, Type};

use crate::literal::Literal;

/// What JSON a type is written as, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Integer,
    Float,
    Bool,
    Text,
    List,
    /// A name that tells nothing.
    Unknown,
}

impl Shape {
    /// That of a type, without the `Option` around it.
    pub(crate) fn of(ty: &Type) -> Self {
        let ty = optional(ty).unwrap_or(ty);
        if let Type::Array(_) = ty {
            return Self::List;
        }
        match name(ty).as_deref() {
            Some("u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize") => {
                Self::Integer
            }
            Some("f32" | "f64") => Self::Float,
            Some("bool") => Self::Bool,
            Some("String" | "char" | "PathBuf") => Self::Text,
            Some("Vec" | "VecDeque" | "HashSet" | "BTreeSet") => Self::List,
            _ => Self::Unknown,
        }
    }

    /// Whether a literal can be a value of it.
    pub(crate) const fn takes(self, literal: &Literal) -> bool {
        match self {
            Self::Integer => matches!(literal, Literal::Int(_)),
            Self::Float => matches!(literal, Literal::Int(_) | Literal::Float(_)),
            Self::Bool => matches!(literal, Literal::Bool(_)),
            Self::Text => matches!(literal, Literal::Text(_)),
            Self::List => false,
            Self::Unknown => true,
        }
    }
}

/// The least and the greatest value of an integer of a known size.
pub(crate) fn range(ty: &Type) -> Option<(i128, i128)> {
    Some(match name(ty)?.as_str() {
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "u64" => (0, u64::MAX.into()),
        "i8" => (i8::MIN.into(), i8::MAX.into()),
        "i16" => (i16::MIN.into(), i16::MAX.into()),
        "i32" => (i32::MIN.into(), i32::MAX.into()),
        "i64" => (i64::MIN.into(), i64::MAX.into()),
        "u128" | "usize" => (0, i128::MAX),
        _ => return None,
    })
}

/// The type of what is in a list, in an `Option` or not.
pub(crate) fn item(ty: &Type) -> Option<&Type> {
    let ty = optional(ty).unwrap_or(ty);
    match (Shape::of(ty), ty) {
        (Shape::List, Type::Array(list)) => Some(&list.elem),
        (Shape::List, _) => argument(ty),
        _ => None,
    }
}

/// `T` of `Option<T>`.
pub(crate) fn optional(ty: &Type) -> Option<&Type> {
    (name(ty)? == "Option").then(|| argument(ty)).flatten()
}

/// The last segment of its path.
pub(crate) fn name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last().map(|segment| segment.ident.to_string()),
        Type::Group(group) => name(&group.elem),
        Type::Paren(paren) => name(&paren.elem),
        _ => None,
    }
}

/// The one type in its angle brackets.
pub(crate) fn argument(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Path(path) => match &path.path.segments.last()?.arguments {
            PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            },
            _ => None,
        },
        Type::Group(group) => argument(&group.elem),
        Type::Paren(paren) => argument(&paren.elem),
        _ => None,
    }
}

/// Whether a token of that name is anywhere in it.
pub(crate) fn mentions(tokens: &impl ToTokens, word: &str) -> bool {
    fn within(tokens: TokenStream, word: &str) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => ident == word,
            TokenTree::Group(group) => within(group.stream(), word),
            _ => false,
        })
    }
    within(tokens.to_token_stream(), word)
}

/// The references in it that do not live forever, if any.
pub(crate) fn borrowed(ty: &Type) -> bool {
    fn within(tokens: TokenStream) -> bool {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        tokens.iter().enumerate().any(|(index, token)| match token {
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                !matches!(tokens.get(index + 1), Some(TokenTree::Punct(next)) if next.as_char() == '\'')
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                !matches!(tokens.get(index + 1), Some(TokenTree::Ident(name)) if name == "static")
            }
            TokenTree::Group(group) => within(group.stream()),
            _ => false,
        })
    }
    within(ty.to_token_stream())
}

/// The type that owns what a reference points to.
pub(crate) fn owned(target: &Type) -> String {
    match target {
        Type::Slice(slice) => format!("Vec<{}>", text(&slice.elem)),
        _ => match name(target).as_deref() {
            Some("str") => "String".into(),
            Some("Path") => "PathBuf".into(),
            _ => text(target),
        },
    }
}

/// A type as one writes it.
pub(crate) fn text(ty: &Type) -> String {
    let mut text = String::new();
    spell(ty.to_token_stream(), &mut text);
    text
}

/// Tokens without the spaces that the token printer puts everywhere.
fn spell(tokens: TokenStream, text: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    proc_macro2::Delimiter::Brace => ("{", "}"),
                    proc_macro2::Delimiter::None => ("", ""),
                };
                text.push_str(open);
                spell(group.stream(), text);
                text.push_str(close);
            }
            TokenTree::Ident(ident) => {
                if text.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                    text.push(' ');
                }
                // The author wrote it so; see `without_self`.
                text.push_str(&if ident == "__This" { "Self".into() } else { ident.to_string() });
            }
            TokenTree::Punct(punct) => {
                text.push(punct.as_char());
                if matches!(punct.as_char(), ',' | ';') {
                    text.push(' ');
                }
            }
            TokenTree::Literal(literal) => text.push_str(&literal.to_string()),
        }
    }
}

/// The same tokens with another name for `Self`: they go where it would mean something else. What stands behind `complete =`
/// does not.
pub(crate) fn without_self(tokens: impl ToTokens, this: &TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.to_token_stream().into_iter().collect();
    let stays = |index: usize| {
        let before = tokens[..index].last_chunk();
        matches!(before, Some([TokenTree::Ident(name), TokenTree::Punct(is)]) if name == "complete" && is.as_char() == '=')
    };
    tokens
        .iter()
        .enumerate()
        .map(|(index, token)| match token {
            TokenTree::Ident(ident) if ident == "Self" && !stays(index) => {
                let this = this.clone().into_iter().map(|mut token| {
                    token.set_span(ident.span());
                    token
                });
                this.collect()
            }
            TokenTree::Group(group) => {
                let mut inner = proc_macro2::Group::new(group.delimiter(), without_self(group.stream(), this));
                inner.set_span(group.span());
                quote!(#inner)
            }
            other => quote!(#other),
        })
        .collect()
}
