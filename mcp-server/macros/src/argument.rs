//! One argument: a parameter of a function or a field of a struct, and what its `#[arg(..)]` says.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::{Attribute, Expr, LitStr, Type};

use crate::errors::Errors;
use crate::literal::Literal;
use crate::options::{Advice, Kind, Known, Options, Place};
use crate::text;
use crate::types::{self, Shape};

/// One member of the object that a caller sends.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// What it is called in JSON.
    pub(crate) name: LitStr,
    pub(crate) description: Option<TokenStream>,
    pub(crate) options: Options,
}

/// Where its options stand.
pub(crate) const PARAMETER: Place = Place {
    attribute: "#[arg(..)]",
    first: None,
    known: match FIELDS.split_last() {
        Some((_, parameters)) => parameters,
        None => FIELDS,
    },
    advice: &[
        ("rest", "a parameter is one argument; take a struct that derives `Arguments`, as `Args(all): Args<MyArgs>`"),
        ("open", "it belongs to the tool: `#[tool(open)]`"),
        ("complete", "arguments of tools are not completed, those of prompts are"),
        REQUIRED,
        OPTIONAL,
        ENUM,
        VALUES,
        MINIMUM,
        MAXIMUM,
        VALIDATOR,
        TYPE,
    ],
};

pub(crate) const FIELD: Place = Place {
    attribute: "#[arg(..)]",
    first: None,
    known: FIELDS,
    advice: &[
        ("open", "it belongs above the struct"),
        ("flatten", "`rest` takes all members that are not named"),
        ("skip", "leave the field out of the struct"),
        REQUIRED,
        OPTIONAL,
        ENUM,
        VALUES,
        MINIMUM,
        MAXIMUM,
        VALIDATOR,
        TYPE,
    ],
};

/// Of a prompt, whose arguments are texts.
pub(crate) const TEXT: Place = Place {
    attribute: "#[arg(..)]",
    first: None,
    known: &[
        Known::new("description", Kind::Text),
        Known::new("title", Kind::Text),
        Known::new("name", Kind::Name),
        Known::new("default", Kind::Maybe),
        Known::new("one_of", Kind::List),
        Known::new("complete", Kind::Any),
        Known::new("min", Kind::Number),
        Known::new("max", Kind::Number),
        Known::new("min_length", Kind::Count),
        Known::new("max_length", Kind::Count),
        Known::new("pattern", Kind::Text),
        Known::new("validate", Kind::Any),
    ],
    advice: &[
        ("rest", "a parameter is one argument; take a struct that derives `Arguments`, as `Args(all): Args<MyArgs>`"),
        ("open", "it belongs to the prompt: `#[prompt(open)]`"),
        ("coerce", "arguments of prompts are texts, and are always read as what they spell"),
        ("completion", "write `complete = [..]`, or `complete = path::to::function`"),
        REQUIRED,
        OPTIONAL,
        ENUM,
        VALUES,
        MINIMUM,
        MAXIMUM,
        VALIDATOR,
        TYPE,
    ],
};

/// Of a template.
pub(crate) const VARIABLE: Place = Place {
    attribute: "#[arg(..)]",
    first: None,
    known: &[Known::new("name", Kind::Name), Known::new("default", Kind::Maybe), Known::new("complete", Kind::Any)],
    advice: &[
        ("desc", NO_DESCRIPTION),
        ("description", NO_DESCRIPTION),
        ("title", NO_DESCRIPTION),
        ("one_of", "write `complete = [..]` to propose them; for no others, take an enum that derives `Arguments`"),
        ("completion", "write `complete = [..]`, or `complete = path::to::function`"),
        OPTIONAL,
        TYPE,
    ],
};

const NO_DESCRIPTION: &str = "clients see nothing of a variable but its name: say it in the template's description";
const REQUIRED: Advice = ("required", "every argument is, unless its type is an `Option` or it has a `default`");
const OPTIONAL: Advice = ("optional", "make its type an `Option`, or give it a `default`");
const ENUM: Advice = ("enum", "write `one_of = [..]`, or derive `Arguments` for an enum of your own");
const VALUES: Advice = ("values", "write `one_of = [..]`");
const MINIMUM: Advice = ("minimum", "write `min = ..`");
const MAXIMUM: Advice = ("maximum", "write `max = ..`");
const VALIDATOR: Advice = ("validator", "write `validate = path::to::function`");
const TYPE: Advice = ("type", "the type is that of the parameter or field");

/// `rest` comes last: a parameter does not have it.
const FIELDS: &[Known] = &[
    Known::new("description", Kind::Text),
    Known::new("title", Kind::Text),
    Known::new("name", Kind::Name),
    Known::new("default", Kind::Maybe),
    Known::new("one_of", Kind::List),
    Known::new("min", Kind::Number),
    Known::new("max", Kind::Number),
    Known::new("min_length", Kind::Count),
    Known::new("max_length", Kind::Count),
    Known::new("pattern", Kind::Text),
    Known::new("min_items", Kind::Count),
    Known::new("max_items", Kind::Count),
    Known::new("unique", Kind::Flag),
    Known::new("validate", Kind::Any),
    Known::new("coerce", Kind::Flag),
    Known::new("header", Kind::Name),
    Known::new("rest", Kind::Flag),
];

impl Argument {
    pub(crate) fn new(ident: &Ident, ty: &Type, attrs: &[Attribute], place: &Place, errors: &mut Errors) -> Self {
        let options = Options::of(attrs, "arg", place, errors);
        let name = match options.text("name") {
            Some(name) => name.clone(),
            None => LitStr::new(&ident.unraw().to_string(), ident.span()),
        };
        let description = text::description(&options, attrs);
        let argument = Self { ident: ident.clone(), ty: ty.clone(), name, description, options };
        argument.check(errors);
        argument
    }

    /// The value's type, without the `Option` around it.
    pub(crate) fn inner(&self) -> &Type {
        types::optional(&self.ty).unwrap_or(&self.ty)
    }

    pub(crate) fn is_rest(&self) -> bool {
        self.options.flag("rest") == Some(true)
    }

    fn literal(&self, option: &str) -> Option<Literal> {
        self.options.expr(option).and_then(Literal::of)
    }

    fn check(&self, errors: &mut Errors) {
        if self.name.value().is_empty() {
            errors.at(&self.name, "the name of an argument must not be empty");
        }
        self.check_rules_fit(errors);
        self.check_bounds(errors);
        self.check_values(errors);
        self.check_default(errors);
        self.check_header(errors);
        self.check_rest(errors);
        if let Some(validate) =
            self.options.expr("validate").filter(|expr| !matches!(expr, Expr::Path(_) | Expr::Call(_)))
        {
            errors.at(
                validate,
                "name a function: `validate = is_even`, where `fn is_even(value: &u32) -> bool`, or call one that makes it: \
                 `validate = validators::range(1..=10)`",
            );
        }
    }

    /// Each rule is for some types. In a list, what is no rule of lists goes for its items.
    fn check_rules_fit(&self, errors: &mut Errors) {
        let whole = Shape::of(&self.ty);
        let each = types::item(&self.ty).map_or(whole, Shape::of);
        let ty = types::text(&self.ty);
        for (option, given) in self.options.iter() {
            let fault = match option {
                "min" | "max" if each == Shape::Text => format!("is for numbers: write `{option}_length`"),
                "min" | "max" if each == Shape::Bool => "is for numbers".into(),
                "min_length" | "max_length" if matches!(whole, Shape::Integer | Shape::Float) => {
                    format!("is for texts and lists: write `{}`", option.trim_end_matches("_length"))
                }
                "min_length" | "max_length" if whole == Shape::Bool => "is for texts and lists".into(),
                "pattern" if !matches!(each, Shape::Text | Shape::Unknown) => "is for texts".into(),
                "min_items" | "max_items" if whole == Shape::Text => {
                    format!("is for lists: write `{}`", option.replace("items", "length"))
                }
                "min_items" | "max_items" | "unique" if !matches!(whole, Shape::List | Shape::Unknown) => {
                    "is for lists".into()
                }
                _ => continue,
            };
            errors.span(given.span(), format!("`{option}` {fault}; `{}` is `{ty}`", self.name.value()));
        }
    }

    fn check_bounds(&self, errors: &mut Errors) {
        let pairs = [("min", "max"), ("min_length", "max_length"), ("min_items", "max_items")];
        for (least, most) in pairs {
            if let (Some(low), Some(high)) = (self.literal(least), self.literal(most))
                && high.less(&low)
            {
                let message = format!("`{least} = {low}` is more than `{most} = {high}`: no value would do");
                errors.at(self.options.expr(least), message);
            }
        }
        self.check_range(errors);
    }

    /// What the type cannot be, no bound lets in.
    fn check_range(&self, errors: &mut Errors) {
        let each = types::item(&self.ty).unwrap_or_else(|| self.inner());
        let Some((least, most)) = types::range(each) else { return };
        let (least, most) = (Literal::Int(least), Literal::Int(most));
        let ty = types::text(each);
        if let Some(bound) = self.literal("min").filter(|bound| bound.less(&least)) {
            let message = format!("`min = {bound}` is less than any `{ty}`: leave it out, or change the type");
            errors.at(self.options.expr("min"), message);
        }
        if let Some(bound) = self.literal("max").filter(|bound| most.less(bound)) {
            let message = format!("`max = {bound}` is more than any `{ty}`: leave it out, or change the type");
            errors.at(self.options.expr("max"), message);
        }
    }

    fn check_values(&self, errors: &mut Errors) {
        let each = types::item(&self.ty).map_or(Shape::of(&self.ty), Shape::of);
        let Some(Expr::Array(list)) = self.options.expr("one_of") else { return };
        let mut seen: Vec<Literal> = Vec::new();
        for (value, literal) in list.elems.iter().filter_map(|value| Some((value, Literal::of(value)?))) {
            if !each.takes(&literal) {
                errors.at(
                    value,
                    format!("this is {}, and `{}` is `{}`", literal.kind(), self.name.value(), types::text(&self.ty)),
                );
            } else if seen.contains(&literal) {
                errors.at(value, format!("{literal} is listed twice"));
            }
            seen.push(literal);
        }
    }

    fn check_default(&self, errors: &mut Errors) {
        let Some(given) = self.options.given("default") else { return };
        if types::optional(&self.ty).is_some() {
            let inner = types::text(self.inner());
            let message =
                format!("an `Option` is `None` where nothing is sent: drop the `default`, or make the type `{inner}`");
            return errors.span(given.span(), message);
        }
        let Some((expr, default)) = given.expr().and_then(|expr| Some((expr, Literal::of(expr)?))) else { return };
        if !Shape::of(&self.ty).takes(&default) {
            let message =
                format!("this is {}, and `{}` is `{}`", default.kind(), self.name.value(), types::text(&self.ty));
            return errors.at(expr, message);
        }
        if let Some(Expr::Array(list)) = self.options.expr("one_of") {
            let values: Option<Vec<Literal>> = list.elems.iter().map(Literal::of).collect();
            if values.is_some_and(|values| !values.contains(&default)) {
                errors.at(expr, format!("the default {default} is none of the values in `one_of`"));
            }
        }
        let length = match &default {
            Literal::Text(text) => Literal::Int(text.chars().count() as i128),
            _ => Literal::Int(0),
        };
        let is_text = matches!(default, Literal::Text(_));
        for (option, value) in [("min", &default), ("min_length", &length), ("max", &default), ("max_length", &length)]
        {
            let Some(bound) = self.literal(option).filter(|_| is_text == option.ends_with("length")) else { continue };
            if if option.starts_with("min") { value.less(&bound) } else { bound.less(value) } {
                errors.at(expr, format!("the default {default} breaks `{option} = {bound}`"));
            }
        }
    }

    /// Clients send it as a header of HTTP beside the body (HDR-9).
    fn check_header(&self, errors: &mut Errors) {
        let Some(header) = self.options.text("header") else { return };
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if header.value().is_empty() || !header.value().bytes().all(token) {
            let message = "a header's name is made of letters, digits and `!#$%&'*+-.^_`|~` (RFC 9110): clients send \
                           `Mcp-Param-` and this name";
            errors.at(header, message);
        }
        if matches!(Shape::of(&self.ty), Shape::Float | Shape::List) {
            let message = format!(
                "only a text, a whole number or true and false can be mirrored in a header; `{}` is `{}`",
                self.name.value(),
                types::text(&self.ty)
            );
            errors.at(header, message);
        }
    }

    fn check_rest(&self, errors: &mut Errors) {
        if !self.is_rest() {
            return;
        }
        for (option, given) in self.options.iter().filter(|(option, _)| !matches!(*option, "rest" | "description")) {
            errors.span(given.span(), format!("`{option}` does not go with `rest`, which is no argument of its own"));
        }
    }
}

/// Two of one name cannot be told apart; nor can two headers, whose names know no case.
pub(crate) fn check_names(arguments: &[Argument], errors: &mut Errors) {
    let mut names: Vec<String> = Vec::new();
    let mut headers: Vec<String> = Vec::new();
    for argument in arguments.iter().filter(|argument| !argument.is_rest()) {
        let name = argument.name.value();
        if names.contains(&name) {
            errors.at(&argument.name, format!("two arguments are named `{name}`"));
        }
        names.push(name);
        if let Some(header) = argument.options.text("header") {
            let name = header.value().to_ascii_lowercase();
            if headers.contains(&name) {
                let message =
                    format!("two arguments have the header `{}`: upper and lower case are the same", header.value());
                errors.at(header, message);
            }
            headers.push(name);
        }
    }
    let mut rest = arguments.iter().filter(|argument| argument.is_rest()).skip(1);
    if let Some(second) = rest.next() {
        errors.at(second.ident.to_token_stream(), "one field alone can take the `rest`");
    }
}
