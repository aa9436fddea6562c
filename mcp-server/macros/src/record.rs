//! An object with members: how it is read, and its schema.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Expr, Generics, TypeParamBound};

use crate::argument::Argument;
use crate::literal::Literal;
use crate::types::{self, Shape};

/// What a struct, or the parameters of a function, come to.
pub(crate) struct Record<'a> {
    pub(crate) ident: &'a Ident,
    /// What its schema is called.
    pub(crate) title: String,
    pub(crate) generics: &'a Generics,
    pub(crate) description: Option<TokenStream>,
    pub(crate) arguments: &'a [Argument],
    /// Whether members of other names are let through.
    pub(crate) open: bool,
    /// Whether there is a schema; without one, it is only read.
    pub(crate) described: bool,
}

impl Record<'_> {
    /// `serde::Deserialize` and `schemars::JsonSchema`, for a scope where `__mcp` is the support module.
    pub(crate) fn expand(&self) -> TokenStream {
        let Self { ident, .. } = self;
        let generics = self.bounded();
        let (parameters, arguments, bounds) = generics.split_for_impl();
        let mut reading = generics.clone();
        reading.params.insert(0, syn::parse_quote!('__de));
        let (reading, ..) = reading.split_for_impl();
        let (names, read) = (self.names(), self.read());
        let defaults = self.defaults();
        let described = self.described.then(|| self.describe());
        quote! {
            #defaults
            #[automatically_derived]
            impl #parameters __mcp::Record for #ident #arguments #bounds {
                const NAMES: &'static [&'static str] = &[#(#names),*];
                #read
            }
            #[automatically_derived]
            impl #reading __mcp::Deserialize<'__de> for #ident #arguments #bounds {
                fn deserialize<__D: __mcp::Deserializer<'__de>>(__from: __D) -> ::core::result::Result<Self, __D::Error> {
                    __mcp::read_record(__from)
                }
            }
            #described
        }
    }

    fn describe(&self) -> TokenStream {
        let Self { ident, title, .. } = self;
        let generics = self.bounded();
        let (parameters, arguments, bounds) = generics.split_for_impl();
        let (name, schema) = (self.schema_name(), self.schema());
        quote! {
            #[automatically_derived]
            impl #parameters __mcp::JsonSchema for #ident #arguments #bounds {
                fn schema_name() -> __mcp::Name {
                    #name
                }
                fn schema_id() -> __mcp::Name {
                    __mcp::id(::core::module_path!(), #title, Self::schema_name())
                }
                fn json_schema(__generator: &mut __mcp::SchemaGenerator) -> __mcp::Schema {
                    #schema
                }
            }
        }
    }

    /// Each type parameter can be an argument.
    fn bounded(&self) -> Generics {
        let mut generics = self.generics.clone();
        for parameter in generics.type_params_mut() {
            // What `__mcp::Argument` comes to: that itself would tell nothing of a `Vec` of the type.
            let bounds = [
                quote!(__mcp::DeserializeOwned),
                quote!(__mcp::JsonSchema),
                quote!(::core::marker::Send),
                quote!('static),
            ];
            parameter.bounds.extend(bounds.into_iter().map(|bound| -> TypeParamBound { syn::parse_quote!(#bound) }));
        }
        generics
    }

    fn schema_name(&self) -> TokenStream {
        let title = &self.title;
        let parameters: Vec<&Ident> = self.generics.type_params().map(|parameter| &parameter.ident).collect();
        if parameters.is_empty() {
            return quote!(__mcp::Name::Borrowed(#title));
        }
        quote!(__mcp::Name::Owned(__mcp::named(#title, &[#(<#parameters as __mcp::Argument>::name()),*])))
    }

    fn members(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.arguments.iter().filter(|argument| !argument.is_rest()).enumerate()
    }

    fn rest(&self) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.is_rest())
    }

    fn names(&self) -> Vec<TokenStream> {
        self.members().map(|(_, argument)| argument.name.to_token_stream()).collect()
    }

    /// `fn read` of `__mcp::Record`.
    fn read(&self) -> TokenStream {
        let of = if self.described { quote!(__mcp::Argument) } else { quote!(__mcp::Variable) };
        let slots: Vec<Ident> = self.members().map(|(index, _)| slot(index)).collect();
        let arms = self.members().map(|(index, argument)| {
            let (ty, slot) = (&argument.ty, slot(index));
            let read = if argument.options.given("default").is_some() { quote!(or_null) } else { quote!(once) };
            quote!(#index => <#ty as #of>::#read(__members, &mut #slot)?,)
        });
        let fields = self.members().map(|(index, argument)| {
            let (field, ty, slot, name) = (&argument.ident, &argument.ty, slot(index), &argument.name);
            match self.default(index, argument) {
                Some(value) => quote!(#field: #slot.unwrap_or_else(|| #value)),
                None => quote!(#field: <#ty as #of>::or_missing(#slot, #name)?),
            }
        });
        let rest = self.rest().map(|argument| {
            let (field, ty) = (&argument.ident, &argument.ty);
            quote!(#field: <#ty as __mcp::Argument>::rest(__members)?,)
        });
        let collect = self.rest().map(|_| quote!(__members.collect();));
        quote! {
            fn read<'__de, __A: __mcp::MapAccess<'__de>>(
                __members: &mut __mcp::Members<__A>,
            ) -> ::core::result::Result<Self, __A::Error> {
                #collect
                #(let mut #slots = ::core::option::Option::None;)*
                while let ::core::option::Option::Some(__index) = __members.next_index()? {
                    match __index {
                        #(#arms)*
                        _ => {}
                    }
                }
                ::core::result::Result::Ok(Self { #(#fields,)* #rest })
            }
        }
    }

    /// The default of an argument, if it has one, as an expression of its type.
    fn default(&self, index: usize, argument: &Argument) -> Option<TokenStream> {
        argument.options.given("default")?;
        if self.generics.params.is_empty() {
            let name = default_fn(index);
            return Some(quote!(#name()));
        }
        let ty = &argument.ty;
        let value = typed_default(argument)?;
        Some(quote!({
            let __default: #ty = #value;
            __default
        }))
    }

    /// A function for each default, which is needed where arguments are read and where they are described. One that has generic
    /// parameters is written out twice, as no function beside the type can name them.
    fn defaults(&self) -> TokenStream {
        if !self.generics.params.is_empty() {
            return TokenStream::new();
        }
        let function = |(index, argument): (usize, &Argument)| {
            let (name, ty, value) = (default_fn(index), &argument.ty, typed_default(argument)?);
            Some(quote!(fn #name() -> #ty { #value }))
        };
        self.members().filter_map(function).collect()
    }

    /// The body of `json_schema`.
    fn schema(&self) -> TokenStream {
        let open = self.open;
        let properties = self.members().map(|(index, argument)| self.property(index, argument));
        let rest = self.rest().map(|argument| {
            let (ty, field) = (&argument.ty, argument.ident.unraw().to_string());
            quote!(<#ty as __mcp::Argument>::others(&mut __object, #field);)
        });
        let description = self.description.as_ref().map(|text| quote!(__object.describe(#text);));
        quote! {
            let mut __object = __mcp::Object::new(__generator, #open);
            #description
            #(#properties)*
            #rest
            __object.finish()
        }
    }

    /// The call that describes a default: as it is written out, or else as its type writes it, if it can.
    fn described_default(&self, index: usize, argument: &Argument) -> TokenStream {
        let written = argument.options.expr("default").and_then(literal_json);
        if let (Some(json), true) = (&written, Shape::of(&argument.ty) != Shape::Unknown) {
            return quote!(.default(::core::option::Option::Some(#json)));
        }
        let value = self.default(index, argument);
        let otherwise = written.map(|json| quote!(.or_else(|| ::core::option::Option::Some(#json))));
        quote! {
            .default({
                use __mcp::{Spelling as _, Unwritten as _, Written as _};
                (&&__mcp::Probe(&#value)).json()#otherwise
            })
        }
    }

    fn property(&self, index: usize, argument: &Argument) -> TokenStream {
        let (ty, name, options) = (&argument.ty, &argument.name, &argument.options);
        let mut calls = TokenStream::new();
        if let Some(text) = &argument.description {
            calls.extend(quote!(.describe(#text)));
        }
        for (option, given) in options.iter() {
            let expr = given.expr();
            calls.extend(match (option, expr) {
                ("min", Some(expr)) => {
                    let value = bound(expr);
                    quote!(.bound("minimum", #value))
                }
                ("max", Some(expr)) => {
                    let value = bound(expr);
                    quote!(.bound("maximum", #value))
                }
                (
                    "min_length" | "max_length" | "min_items" | "max_items" | "pattern" | "title" | "header",
                    Some(expr),
                ) => {
                    let method = Ident::new(option, Span::mixed_site());
                    quote!(.#method(#expr))
                }
                ("unique", _) if given.as_bool() => quote!(.unique()),
                ("one_of", Some(expr)) => {
                    let values = list(expr);
                    quote!(.one_of(#values))
                }
                ("validate", Some(expr)) => validate(argument, expr),
                ("default", _) => self.described_default(index, argument),
                _ => continue,
            });
        }
        if let Some(coerce) = options.flag("coerce") {
            calls.extend(quote!(.coerce(#coerce)));
        }
        let field = argument.ident.unraw().to_string();
        quote!(<#ty as __mcp::Argument>::property(&mut __object, #name, #field)#calls;)
    }
}

fn slot(index: usize) -> Ident {
    Ident::new(&format!("__slot{index}"), Span::mixed_site())
}

fn default_fn(index: usize) -> Ident {
    Ident::new(&format!("__default{index}"), Span::mixed_site())
}

fn typed_default(argument: &Argument) -> Option<TokenStream> {
    let given = argument.options.given("default")?;
    let ty = &argument.ty;
    Some(match given.expr() {
        Some(expr) => typed(expr, ty),
        None => quote_spanned!(given.span()=> <#ty as ::core::default::Default>::default()),
    })
}

/// The default as an expression of its type: a text becomes a `String` or whatever is made from one, a whole number a
/// float, a list a collection.
fn typed(expr: &Expr, ty: &syn::Type) -> TokenStream {
    match (Literal::of(expr), expr, Shape::of(ty)) {
        (Some(Literal::Text(_)), ..) if types::name(ty).as_deref() != Some("char") => {
            quote_spanned!(expr.span()=> ::core::convert::Into::into(#expr))
        }
        // A constant, which can be nothing but a `&str`.
        (None, Expr::Path(_), Shape::Text) => quote_spanned!(expr.span()=> ::core::convert::Into::into(#expr)),
        (Some(Literal::Int(number)), _, Shape::Float) => {
            let number = proc_macro2::Literal::f64_unsuffixed(number as f64);
            quote_spanned!(expr.span()=> #number)
        }
        (None, Expr::Array(list), Shape::List) if !matches!(ty, syn::Type::Array(_)) => {
            let item = types::item(ty);
            let items =
                list.elems.iter().map(|value| item.map_or_else(|| value.to_token_stream(), |ty| typed(value, ty)));
            quote_spanned!(expr.span()=> ::core::iter::FromIterator::from_iter([#(#items),*]))
        }
        _ => expr.to_token_stream(),
    }
}

/// A number of a rule, its type told: alone, one that is written out would be an `i32`.
fn bound(expr: &Expr) -> TokenStream {
    Literal::of(expr).and_then(|literal| literal.number()).unwrap_or_else(|| expr.to_token_stream())
}

/// JSON of a value that is written out.
fn literal_json(expr: &Expr) -> Option<TokenStream> {
    fn value(expr: &Expr) -> Option<TokenStream> {
        match expr {
            Expr::Array(list) => {
                let items: Option<Vec<TokenStream>> = list.elems.iter().map(value).collect();
                items.map(|items| quote!(__mcp::Value::Array(::std::vec![#(#items),*])))
            }
            _ => Literal::of(expr)?.json(),
        }
    }
    value(expr)
}

/// The values of `one_of`: each alone, so that texts and constants mix.
fn list(expr: &Expr) -> TokenStream {
    let Expr::Array(list) = expr else {
        return quote_spanned!(expr.span()=> __mcp::values(&#expr));
    };
    let values = list.elems.iter().map(|value| {
        Literal::of(value)
            .and_then(|literal| literal.json())
            .unwrap_or_else(|| quote_spanned!(value.span()=> __mcp::json(&#value)))
    });
    quote!(::std::vec![#(#values),*])
}

/// Called with the field's value by reference, so `fn(&str)` does for a `String`. What is called to make one is called once.
fn validate(argument: &Argument, path: &Expr) -> TokenStream {
    let inner = argument.inner();
    if matches!(path, Expr::Call(_)) {
        return quote_spanned!(path.span()=> .check_by::<#inner, _>(#path));
    }
    let name = match path {
        Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default(),
        _ => String::new(),
    };
    let call = quote_spanned!(path.span()=> |__value: &#inner| #path(__value));
    quote!(.check(#name, #call))
}
