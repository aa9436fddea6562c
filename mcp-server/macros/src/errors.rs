//! Everything that is wrong with one item, told at once.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// Collects errors: an author who sees all of them mends them in one go.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// One at the tokens that are wrong.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn span(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What makes the compiler tell them.
    pub(crate) fn emit(&self) -> TokenStream {
        self.0.as_ref().map(syn::Error::to_compile_error).unwrap_or_default()
    }
}
