//! Values that a macro can read, for what can be told before types are known.

use std::fmt;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, Lit, UnOp};

/// A value written out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Text(String),
    Bool(bool),
    Int(i128),
    Float(f64),
}

impl Literal {
    pub(crate) fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(Self::Text(text.value())),
                Lit::Bool(value) => Some(Self::Bool(value.value)),
                Lit::Int(number) => match number.suffix() {
                    "f32" | "f64" => number.base10_digits().parse().ok().map(Self::Float),
                    _ => number.base10_parse().ok().map(Self::Int),
                },
                Lit::Float(number) => number.base10_parse().ok().map(Self::Float),
                Lit::Char(c) => Some(Self::Text(c.value().into())),
                _ => None,
            },
            Expr::Unary(negative) if matches!(negative.op, UnOp::Neg(_)) => match Self::of(&negative.expr)? {
                Self::Int(number) => Some(Self::Int(-number)),
                Self::Float(number) => Some(Self::Float(-number)),
                Self::Text(_) | Self::Bool(_) => None,
            },
            Expr::Paren(inner) => Self::of(&inner.expr),
            Expr::Group(inner) => Self::of(&inner.expr),
            _ => None,
        }
    }

    /// As a `serde_json::Value`; an integer that fits no type of 64 bits is left to the compiler.
    pub(crate) fn json(&self) -> Option<TokenStream> {
        Some(match self {
            Self::Text(text) => quote!(<__mcp::Value as ::core::convert::From<_>>::from(#text)),
            Self::Bool(value) => quote!(<__mcp::Value as ::core::convert::From<_>>::from(#value)),
            Self::Int(_) | Self::Float(_) => {
                let number = self.number()?;
                quote!(<__mcp::Value as ::core::convert::From<_>>::from(#number))
            }
        })
    }

    /// A number whose type does not depend on where it stands.
    pub(crate) fn number(&self) -> Option<TokenStream> {
        match self {
            Self::Int(number) => match i64::try_from(*number) {
                Ok(number) => Some(quote!(#number)),
                Err(_) => u64::try_from(*number).ok().map(|number| quote!(#number)),
            },
            Self::Float(number) => Some(quote!(#number)),
            Self::Text(_) | Self::Bool(_) => None,
        }
    }

    /// Which is less, of two numbers.
    pub(crate) fn less(&self, than: &Self) -> bool {
        match (self, than) {
            (Self::Int(a), Self::Int(b)) => a < b,
            _ => self.as_f64().zip(than.as_f64()).is_some_and(|(a, b)| a < b),
        }
    }

    /// What it is: `a text`.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Bool(_) => "true or false",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
        }
    }

    const fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Text(_) | Self::Bool(_) => None,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => write!(f, "{number:?}"),
        }
    }
}
