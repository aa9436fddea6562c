//! `#[derive(Arguments)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::ext::IdentExt as _;
use syn::{Attribute, Data, DataEnum, DeriveInput, Fields, FieldsNamed, LitStr, Meta};

use crate::argument::{self, Argument};
use crate::errors::Errors;
use crate::options::{self, Kind, Known, Options, Place};
use crate::record::Record;
use crate::text;

const STRUCT: Place = Place {
    attribute: "#[arg(..)]",
    first: None,
    known: &[Known::new("open", Kind::Flag), Known::new("rename_all", Kind::Name)],
    advice: &[
        ("deny_unknown_fields", "unknown members are refused already"),
        ("closed", "it is, unless `open` stands here"),
    ],
};

const ENUM: Place =
    Place { attribute: "#[arg(..)]", first: None, known: &[Known::new("rename_all", Kind::Name)], advice: &[] };

const VARIANT: Place = Place {
    attribute: "#[arg(..)]",
    first: None,
    known: &[Known::new("name", Kind::Name), Known::new("description", Kind::Text)],
    advice: &[],
};

/// Impls of `serde::Deserialize` and `schemars::JsonSchema`.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut errors = Errors::default();
    foreign(&input.attrs, &mut errors);
    for lifetime in input.generics.lifetimes() {
        errors.at(lifetime, "arguments own their data: use `String` instead of `&str`, and no lifetimes");
    }
    let impls = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Some(of_struct(&input, fields, &mut errors)),
            Fields::Unnamed(fields) => {
                errors.at(fields, format!("arguments have names: write fields with names, {INSTEAD}"));
                None
            }
            Fields::Unit => Some(of_struct(
                &input,
                &FieldsNamed { brace_token: Default::default(), named: Default::default() },
                &mut errors,
            )),
        },
        Data::Enum(data) => of_enum(&input, data, &mut errors),
        Data::Union(data) => {
            errors.at(data.union_token, "a union cannot be read from JSON");
            None
        }
    };
    let impls = match impls {
        Some(impls) if errors.is_empty() => impls,
        _ => broken(&input),
    };
    let errors = errors.emit();
    quote! {
        #errors
        const _: () = {
            use ::mcp_server::__private as __mcp;
            #impls
        };
    }
}

const INSTEAD: &str = "or derive `serde::Deserialize` and `schemars::JsonSchema` instead of `Arguments`";

fn of_struct(input: &DeriveInput, fields: &FieldsNamed, errors: &mut Errors) -> TokenStream {
    let options = Options::of(&input.attrs, "arg", &STRUCT, errors);
    let case = case(&options, errors);
    let arguments: Vec<Argument> = fields
        .named
        .iter()
        .filter_map(|field| Some((field, field.ident.as_ref()?)))
        .map(|(field, ident)| {
            foreign(&field.attrs, errors);
            let mut argument = Argument::new(ident, &field.ty, &field.attrs, &argument::FIELD, errors);
            if let (Some(case), None) = (case, argument.options.text("name")) {
                argument.name = LitStr::new(&case.of_field(&argument.name.value()), ident.span());
            }
            argument
        })
        .collect();
    argument::check_names(&arguments, errors);
    let record = Record {
        ident: &input.ident,
        title: input.ident.unraw().to_string(),
        generics: &input.generics,
        description: text::documented(&input.attrs),
        arguments: &arguments,
        open: options.flag("open") == Some(true),
        described: true,
    };
    record.expand()
}

fn of_enum(input: &DeriveInput, data: &DataEnum, errors: &mut Errors) -> Option<TokenStream> {
    let options = Options::of(&input.attrs, "arg", &ENUM, errors);
    let case = case(&options, errors);
    if data.variants.is_empty() {
        errors.at(&input.ident, "an enum without variants has no value: give it one");
    }
    if !input.generics.params.is_empty() {
        errors.at(&input.generics.params, "an enum of names has no generic parameters");
    }
    let mut names: Vec<String> = Vec::new();
    let (mut texts, mut variants) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        foreign(&variant.attrs, errors);
        if !matches!(variant.fields, Fields::Unit) {
            errors.at(
                variant,
                format!("a variant with data has more shapes than `Arguments` knows: leave the data out, {INSTEAD}"),
            );
            continue;
        }
        let options = Options::of(&variant.attrs, "arg", &VARIANT, errors);
        let given = options.text("name").cloned();
        let plain = variant.ident.unraw().to_string();
        let name = given.unwrap_or_else(|| {
            LitStr::new(&case.map_or(plain.clone(), |case| case.of_variant(&plain)), variant.ident.span())
        });
        if names.contains(&name.value()) {
            errors.at(&name, format!("two variants are named {:?}", name.value()));
        }
        names.push(name.value());
        let text = text::description(&options, &variant.attrs);
        let text = text
            .map_or_else(|| quote!(::core::option::Option::None), |text| quote!(::core::option::Option::Some(#text)));
        texts.push(quote!((#name, #plain, #text)));
        variants.push(&variant.ident);
    }
    let ident = &input.ident;
    let title = ident.unraw().to_string();
    let (last, first) = variants.split_last()?;
    let indices = 0..first.len();
    let description = text::documented(&input.attrs)
        .map_or_else(|| quote!(::core::option::Option::None), |text| quote!(::core::option::Option::Some(#text)));
    Some(quote! {
        #[automatically_derived]
        impl<'__de> __mcp::Deserialize<'__de> for #ident {
            fn deserialize<__D: __mcp::Deserializer<'__de>>(__from: __D) -> ::core::result::Result<Self, __D::Error> {
                ::core::result::Result::Ok(match __mcp::read_name(__from, &[#(#names),*])? {
                    #(#indices => Self::#first,)*
                    _ => Self::#last,
                })
            }
        }
        #[automatically_derived]
        impl __mcp::Spelled for #ident {
            fn spelled(&self) -> &'static str {
                match self {
                    #(Self::#variants => #names,)*
                }
            }
        }
        #[automatically_derived]
        impl __mcp::JsonSchema for #ident {
            fn schema_name() -> __mcp::Name {
                __mcp::Name::Borrowed(#title)
            }
            fn schema_id() -> __mcp::Name {
                __mcp::id(::core::module_path!(), #title, Self::schema_name())
            }
            fn json_schema(__generator: &mut __mcp::SchemaGenerator) -> __mcp::Schema {
                __mcp::names_schema(__generator, &[#(#texts),*], #description)
            }
        }
    })
}

/// What stands in for impls that cannot be written, so that nothing is told but why.
fn broken(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (parameters, arguments, bounds) = input.generics.split_for_impl();
    let mut reading = input.generics.clone();
    reading.params.insert(0, syn::parse_quote!('__de));
    let (reading, ..) = reading.split_for_impl();
    quote! {
        impl #reading __mcp::Deserialize<'__de> for #ident #arguments #bounds {
            fn deserialize<__D: __mcp::Deserializer<'__de>>(_: __D) -> ::core::result::Result<Self, __D::Error> {
                ::core::unreachable!()
            }
        }
        impl #parameters __mcp::JsonSchema for #ident #arguments #bounds {
            fn schema_name() -> __mcp::Name {
                ::core::unreachable!()
            }
            fn json_schema(_: &mut __mcp::SchemaGenerator) -> __mcp::Schema {
                ::core::unreachable!()
            }
        }
    }
}

/// Attributes of the derives that this one stands in for: left unread, they would say what is not done.
fn foreign(attrs: &[Attribute], errors: &mut Errors) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde") || attr.path().is_ident("schemars")) {
        let Meta::List(list) = &attr.meta else { continue };
        let advice = options::words(list).iter().find_map(|word| {
            SERDE.iter().find(|(name, _)| name == word).map(|(name, advice)| format!("for `{name}`, {advice}"))
        });
        let advice = advice.unwrap_or_else(|| "there may be an `#[arg(..)]` for it".into());
        let message = format!(
            "`#[derive(Arguments)]` reads no `#[{}(..)]`: {advice}; to keep this, derive `serde::Deserialize` and \
             `schemars::JsonSchema` instead of `Arguments`",
            attr.path().to_token_stream()
        );
        errors.at(attr, message);
    }
}

const SERDE: &[(&str, &str)] = &[
    ("default", "write `#[arg(default)]` or `#[arg(default = ..)]`"),
    ("rename", "write `#[arg(name = \"..\")]`"),
    ("rename_all", "write `#[arg(rename_all = \"..\")]`"),
    ("deny_unknown_fields", "write nothing: unknown members are refused unless there is `#[arg(open)]`"),
    ("flatten", "write `#[arg(rest)]` on a map that takes all other members"),
    ("range", "write `#[arg(min = .., max = ..)]`"),
    ("length", "write `#[arg(min_length = .., max_length = ..)]`"),
    ("regex", "write `#[arg(pattern = \"..\")]`"),
    ("description", "write a doc comment, or `#[arg(desc = \"..\")]`"),
];

/// How names are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

const CASES: [(&str, Case); 8] = [
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("snake_case", Case::Snake),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("kebab-case", Case::Kebab),
    ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab),
];

fn case(options: &Options, errors: &mut Errors) -> Option<Case> {
    let given = options.text("rename_all")?;
    let case = CASES.iter().find(|(name, _)| *name == given.value()).map(|(_, case)| *case);
    if case.is_none() {
        let names: Vec<String> = CASES.iter().map(|(name, _)| format!("{name:?}")).collect();
        errors.at(given, format!("names are written in one of these ways: {}", names.join(", ")));
    }
    case
}

impl Case {
    /// `TwoWords`, as this case has it.
    fn of_variant(self, name: &str) -> String {
        let mut words: Vec<String> = Vec::new();
        for c in name.chars() {
            match words.last_mut() {
                Some(word) if !c.is_uppercase() => word.push(c),
                _ => words.push(c.into()),
            }
        }
        self.join(&words)
    }

    /// `two_words`, as this case has it.
    fn of_field(self, name: &str) -> String {
        self.join(&name.split('_').filter(|word| !word.is_empty()).map(Into::into).collect::<Vec<_>>())
    }

    fn join(self, words: &[String]) -> String {
        let lower = |separator: &str| words.iter().map(|word| word.to_lowercase()).collect::<Vec<_>>().join(separator);
        let capital = |word: &String| {
            let mut chars = word.chars();
            chars
                .next()
                .map(|first| first.to_uppercase().chain(chars.flat_map(char::to_lowercase)).collect::<String>())
                .unwrap_or_default()
        };
        match self {
            Self::Lower => lower(""),
            Self::Upper => lower("").to_uppercase(),
            Self::Pascal => words.iter().map(capital).collect(),
            Self::Camel => match words.split_first() {
                Some((first, others)) => first.to_lowercase() + &others.iter().map(capital).collect::<String>(),
                None => String::new(),
            },
            Self::Snake => lower("_"),
            Self::ScreamingSnake => lower("_").to_uppercase(),
            Self::Kebab => lower("-"),
            Self::ScreamingKebab => lower("-").to_uppercase(),
        }
    }
}
