//! What stands in the parentheses of an attribute: `name = "..", read_only, tags(admin)`.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Expr, Ident, Lit, LitStr, Meta, Token, Type, token};

use crate::errors::Errors;
use crate::literal::Literal;
use crate::nearest::nearest;

/// An option that an attribute takes.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    kind: Kind,
}

/// What follows an option's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing, or `= true`, or `= false`.
    Flag,
    /// `= ".."`, which the macro reads.
    Name,
    /// `= EXPR`, a text.
    Text,
    /// `= EXPR`, a number.
    Number,
    /// `= EXPR`, a number of things.
    Count,
    /// `= EXPR`, a list.
    List,
    /// `= EXPR`.
    Any,
    /// `= EXPR`, as often as one likes.
    Many,
    /// Nothing, or `= EXPR`.
    Maybe,
    /// `= TYPE`.
    Type,
    /// `(word, word = EXPR)`, and how that looks.
    Words(&'static str),
}

/// Where options stand, and which.
pub(crate) struct Place {
    /// `#[tool(..)]`.
    pub(crate) attribute: &'static str,
    /// What the text is that stands before the options, if one does.
    pub(crate) first: Option<&'static str>,
    pub(crate) known: &'static [Known],
    /// Options that go elsewhere, and words of other libraries: what to do instead.
    pub(crate) advice: &'static [Advice],
}

/// A word, and what to do instead of writing it.
pub(crate) type Advice = (&'static str, &'static str);

impl Known {
    pub(crate) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind }
    }
}

/// One option as it was given.
pub(crate) struct Given {
    pub(crate) name: Ident,
    value: Value,
}

enum Value {
    Nothing,
    Expr(Expr),
    Type(Type),
    Words(TokenStream),
}

/// The options of one item, all of them known, each of its kind.
#[derive(Default)]
pub(crate) struct Options {
    /// The text that stands before them.
    pub(crate) first: Option<LitStr>,
    given: Vec<(&'static str, Given)>,
}

impl Options {
    /// Those of all attributes of that name.
    pub(crate) fn of(attrs: &[Attribute], name: &str, place: &Place, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        for attr in attrs.iter().filter(|attr| is(attr, name)) {
            match &attr.meta {
                Meta::Path(_) => {}
                Meta::List(list) => options.read(list.tokens.clone(), place, errors),
                Meta::NameValue(value) => {
                    errors.at(value, format!("write its options in parentheses: `{}`", place.attribute));
                }
            }
        }
        options
    }

    /// Adds those that stand in the tokens; what is wrong with one does not hide the others.
    pub(crate) fn read(&mut self, tokens: TokenStream, place: &Place, errors: &mut Errors) {
        let read = |input: ParseStream<'_>| {
            if place.first.is_some() && input.peek(LitStr) {
                self.first = Some(input.parse()?);
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            while !input.is_empty() {
                if let Err(error) = self.read_one(input, place, errors) {
                    errors.add(error);
                    while !input.is_empty() && !input.peek(Token![,]) {
                        input.parse::<proc_macro2::TokenTree>()?;
                    }
                }
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = read.parse2(tokens) {
            errors.add(error);
        }
    }

    fn read_one(&mut self, input: ParseStream<'_>, place: &Place, errors: &mut Errors) -> syn::Result<()> {
        let Ok(name) = input.call(Ident::parse_any) else {
            return Err(input.error(format!("expected the name of an option of `{}`", place.attribute)));
        };
        let Some((canonical, kind)) = place.find(&name.to_string()) else {
            return Err(syn::Error::new(name.span(), place.unknown(&name.to_string())));
        };
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            if input.is_empty() || input.peek(Token![,]) {
                return Err(syn::Error::new(name.span(), format!("there is no value after `{name} =`")));
            }
            if kind == Kind::Type { Value::Type(input.parse()?) } else { Value::Expr(input.parse()?) }
        } else if input.peek(token::Paren) {
            let words;
            syn::parenthesized!(words in input);
            Value::Words(words.parse()?)
        } else {
            Value::Nothing
        };
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error("expected a comma before the next option"));
        }
        if kind != Kind::Many && self.given(canonical).is_some() {
            errors.at(&name, format!("`{canonical}` is given twice: keep one of them"));
            return Ok(());
        }
        check(kind, &name, &value, errors);
        self.given.push((canonical, Given { name, value }));
        Ok(())
    }

    pub(crate) fn given(&self, name: &str) -> Option<&Given> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, given)| given)
    }

    /// All of them, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Given)> {
        self.given.iter().map(|(name, given)| (*name, given))
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.given(name).map(Given::as_bool)
    }

    pub(crate) fn expr(&self, name: &str) -> Option<&Expr> {
        self.given(name)?.expr()
    }

    /// One that the macro reads.
    pub(crate) fn text(&self, name: &str) -> Option<&LitStr> {
        match self.expr(name)? {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Given {
    /// A flag without a value is true.
    pub(crate) fn as_bool(&self) -> bool {
        !matches!(self.expr().and_then(Literal::of), Some(Literal::Bool(false)))
    }

    pub(crate) const fn expr(&self) -> Option<&Expr> {
        match &self.value {
            Value::Expr(expr) => Some(expr),
            _ => None,
        }
    }

    pub(crate) const fn as_type(&self) -> Option<&Type> {
        match &self.value {
            Value::Type(ty) => Some(ty),
            _ => None,
        }
    }

    pub(crate) const fn words(&self) -> Option<&TokenStream> {
        match &self.value {
            Value::Words(words) => Some(words),
            _ => None,
        }
    }

    pub(crate) fn span(&self) -> Span {
        self.name.span()
    }
}

impl ToTokens for Given {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match &self.value {
            Value::Expr(expr) => expr.to_tokens(tokens),
            Value::Type(ty) => ty.to_tokens(tokens),
            Value::Nothing | Value::Words(_) => self.name.to_tokens(tokens),
        }
    }
}

impl Place {
    fn find(&self, name: &str) -> Option<(&'static str, Kind)> {
        // The short form of the design's first example.
        let name = if name == "desc" { "description" } else { name };
        self.known.iter().find(|known| known.name == name).map(|known| (known.name, known.kind))
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.known.iter().map(|known| known.name).collect();
        if names.is_empty() {
            return format!("`{}` takes no options", self.attribute);
        }
        let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let advice = self.advice.iter().find(|(word, _)| *word == name).map(|(_, advice)| format!(": {advice}"));
        let advice = advice.or_else(|| nearest(name, names).map(|name| format!(": did you mean `{name}`?")));
        let advice = advice.unwrap_or_default();
        format!("`{}` has no option `{name}`{advice}\nit takes {list}", self.attribute)
    }
}

/// Whether an attribute has that name, however it is reached: `#[tool]`, `#[mcp_server::tool]`.
pub(crate) fn is(attr: &Attribute, name: &str) -> bool {
    attr.path().segments.last().is_some_and(|segment| segment.ident == name)
}

/// What a literal shows before the compiler sees the types.
fn check(kind: Kind, name: &Ident, value: &Value, errors: &mut Errors) {
    let literal = match value {
        Value::Expr(expr) => Literal::of(expr),
        _ => None,
    };
    let wanted = match (kind, value) {
        (Kind::Flag, Value::Nothing) | (Kind::Maybe, Value::Nothing) => return,
        (Kind::Flag, Value::Expr(_)) if matches!(literal, Some(Literal::Bool(_))) => return,
        (Kind::Flag, _) => format!("write `{name}`, `{name} = true` or `{name} = false`"),
        (Kind::Words(_), Value::Words(_)) => return,
        (Kind::Words(example), _) => format!("list them in parentheses: `{example}`"),
        (Kind::Type, Value::Type(_)) => return,
        (Kind::Type, _) => format!("give it a type: `{name} = Report`"),
        (Kind::Name, Value::Expr(_)) if matches!(literal, Some(Literal::Text(_))) => return,
        (Kind::Name, _) => format!("give it a text in quotes: `{name} = \"..\"`"),
        (Kind::Text, Value::Expr(_)) if matches!(literal, None | Some(Literal::Text(_))) => return,
        (Kind::Text, _) => format!("give it a text: `{name} = \"..\"`"),
        (Kind::Number, Value::Expr(_)) if matches!(literal, None | Some(Literal::Int(_) | Literal::Float(_))) => return,
        (Kind::Number, _) => format!("give it a number: `{name} = 1`"),
        (Kind::Count, Value::Expr(_)) if matches!(literal, None | Some(Literal::Int(0..))) => return,
        (Kind::Count, _) => format!("give it a whole number, 0 or more: `{name} = 1`"),
        (Kind::List, Value::Expr(Expr::Array(list))) if list.elems.is_empty() => {
            errors.at(list, format!("`{name}` allows nothing: list at least one value"));
            return;
        }
        (Kind::List, Value::Expr(_)) if literal.is_none() => return,
        (Kind::List, _) => format!("give it a list: `{name} = [\"a\", \"b\"]`"),
        (Kind::Any | Kind::Many | Kind::Maybe, Value::Expr(_)) => return,
        (Kind::Any | Kind::Many | Kind::Maybe, _) => format!("give it a value: `{name} = ..`"),
    };
    match value {
        Value::Expr(expr) => errors.at(expr, wanted),
        _ => errors.at(name, wanted),
    }
}

/// The words in the parentheses of an attribute that is not ours.
pub(crate) fn words(list: &syn::MetaList) -> Vec<String> {
    list.tokens
        .clone()
        .into_iter()
        .filter_map(|token| match token {
            proc_macro2::TokenTree::Ident(ident) => Some(ident.to_string()),
            _ => None,
        })
        .collect()
}
