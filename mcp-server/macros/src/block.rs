//! `#[tools]` on an `impl` block: its methods with `#[tool]` are tools, those with `#[prompt]` prompts and so on, and the block
//! stays what it was.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprPath, FnArg, Generics, ImplItem, Receiver, ReceiverKind, Token, Type};

use crate::call::{self, Call};
use crate::entry::Entry;
use crate::errors::Errors;
use crate::function::{self, Function};
use crate::guards::Guards;
use crate::options::{self, Options};
use crate::subject::{Subject, TOOLS};
use crate::{builder, entry, free, types};

/// What the block becomes.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut block: Block = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            errors.add(syn::Error::new(error.span(), format!("`#[tools]` goes above an `impl` block ({error})")));
            let errors = errors.emit();
            return quote!(#errors #item);
        }
    };
    let mut given = Options::default();
    given.read(options, &TOOLS, &mut errors);
    let module = Module::take(&given, &mut errors);
    block.check(&mut errors);
    let methods = block.methods(&mut errors);
    methods.iter().for_each(|method| method.entry.guards.check(&module.guards, &mut errors));
    let has_errors = !errors.is_empty();
    let set = if has_errors { block.broken() } else { block.working(&methods, &module) };
    let used = Block::used(&methods);
    let errors = errors.emit();
    quote! {
        #errors
        #block
        #used
        #set
    }
}

/// What the options of the block say of all that is in it.
struct Module {
    /// Calls of `Defaults`.
    defaults: TokenStream,
    guards: Guards,
}

impl Module {
    fn take(options: &Options, errors: &mut Errors) -> Self {
        let mut defaults = TokenStream::new();
        if let Some(ty) = options.given("params").and_then(options::Given::as_type) {
            let call = quote_spanned!(ty.span()=> arguments::<#ty>());
            defaults.extend(quote!(.#call));
        }
        for (option, given) in options.iter() {
            defaults.extend(builder::said(option, given));
        }
        for (tag, value) in entry::tags(options, errors) {
            defaults.extend(quote!(.tag(#tag, #value)));
        }
        let guards = Guards::take(options, errors);
        defaults.extend(guards.calls.clone());
        Self { defaults, guards }
    }
}

/// An `impl` block, the bodies of its functions unread.
struct Block {
    attrs: Vec<Attribute>,
    generics: Generics,
    header: TokenStream,
    of_trait: Option<Token![for]>,
    this: Type,
    inner: Vec<Attribute>,
    items: Vec<Item>,
}

enum Item {
    Function(Box<Function>),
    Other(Box<ImplItem>),
}

/// A method that is a tool or another entry.
struct Method {
    entry: Entry,
    receiver: Option<This>,
    cfg: Vec<Attribute>,
    is_deprecated: bool,
    /// The path of its attribute.
    attribute: syn::Path,
}

/// How a method takes the value whose method it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum This {
    Reference,
    Shared,
    SharedReference,
}

impl Parse for Block {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let unsafety: Option<Token![unsafe]> = input.parse()?;
        let token: Token![impl] = input.parse()?;
        let mut generics: Generics = input.parse()?;
        let first: Type = input.parse()?;
        let of_trait: Option<Token![for]> = input.parse()?;
        let this = if of_trait.is_some() { input.parse()? } else { first.clone() };
        generics.where_clause = input.parse()?;
        let (parameters, bounds) = (&generics, &generics.where_clause);
        let for_this = of_trait.map(|token| quote!(#token #this));
        let header = quote!(#unsafety #token #parameters #first #for_this #bounds);
        let content;
        syn::braced!(content in input);
        let inner = content.call(Attribute::parse_inner)?;
        let mut items = Vec::new();
        while !content.is_empty() {
            items.push(if content.fork().parse::<Function>().is_ok() {
                Item::Function(content.parse()?)
            } else {
                Item::Other(content.parse()?)
            });
        }
        Ok(Self { attrs, generics, header, of_trait, this, inner, items })
    }
}

impl ToTokens for Block {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, header, inner, items, .. } = self;
        let items = items.iter().map(|item| match item {
            Item::Function(function) => function.to_token_stream(),
            Item::Other(other) => other.to_token_stream(),
        });
        tokens.extend(quote!(#(#attrs)* #header { #(#inner)* #(#items)* }));
    }
}

impl Block {
    fn check(&self, errors: &mut Errors) {
        if let Some(token) = &self.of_trait {
            let this = types::text(&self.this);
            errors.at(
                token,
                format!("the methods of a trait are no tools: write a block of its own, `impl {this} {{ .. }}`"),
            );
        }
        for lifetime in self.generics.lifetimes() {
            errors.at(lifetime, "what has tools lives as long as the server, and so holds nothing borrowed");
        }
    }

    /// The methods that are entries; what makes them so is taken out of the block.
    fn methods(&mut self, errors: &mut Errors) -> Vec<Method> {
        let this = self.alias();
        let mut methods: Vec<Method> = Vec::new();
        for item in &mut self.items {
            let Item::Function(function) = item else { continue };
            if let Some(method) = Method::take(function, &this, errors) {
                methods.push(method);
            }
        }
        for (index, method) in methods.iter().enumerate() {
            let (entry, key) = (&method.entry, method.entry.key());
            let same = |other: &&Method| other.entry.key() == key && other.entry.subject.clashes(entry.subject);
            // With a condition, the other one may not be there.
            let twin = methods[..index].iter().find(same).filter(|twin| twin.cfg.is_empty() && method.cfg.is_empty());
            if let Some(twin) = twin {
                let (noun, attribute, ident) = (entry.subject.noun(), entry.subject.attribute(), &twin.entry.ident);
                match &entry.uri {
                    Some(uri) => errors
                        .at(uri, format!("two {noun}s are known by `{key}`, this one and `fn {ident}`: change one")),
                    None => errors.at(
                        &entry.name,
                        format!(
                            "two {noun}s are named `{key}`, this one and `fn {ident}`: rename one, as in \
                             `#[{attribute}(name = \"..\")]`"
                        ),
                    ),
                }
            }
        }
        if methods.is_empty() && errors.is_empty() {
            let message = "no method here is a tool: put `#[tool]` above those that are, or `#[prompt]`, `#[resource(..)]`, \
                           `#[resource_template(..)]` or `#[app(..)]`";
            errors.at(&self.this, message);
        }
        methods
    }

    /// What the type is called in items beside its methods, where `Self` means something else.
    fn alias(&self) -> TokenStream {
        if self.generics.params.is_empty() {
            return quote!(__This);
        }
        self.this.to_token_stream()
    }

    /// Makes imports of the methods' attributes count as used, though those are gone; and without one it is as good.
    fn used(methods: &[Method]) -> Option<TokenStream> {
        let mut attributes: Vec<&syn::Ident> = Vec::new();
        for attribute in methods.iter().filter_map(|method| method.attribute.get_ident()) {
            if !attributes.contains(&attribute) {
                attributes.push(attribute);
            }
        }
        if attributes.is_empty() {
            return None;
        }
        // An import by name goes before one of everything, wherever the block stands.
        Some(quote! {
            #[allow(unused_imports)]
            use ::mcp_server::__private::attributes::*;
            #(
                #[#attributes(__used)]
                const _: () = ();
            )*
        })
    }

    fn parameters(&self) -> Vec<String> {
        self.generics.type_params().map(|parameter| parameter.ident.to_string()).collect()
    }

    fn working(&self, methods: &[Method], module: &Module) -> TokenStream {
        let this = &self.this;
        let name = types::name(this).unwrap_or_else(|| types::text(this));
        let defaults = &module.defaults;
        let (parameters, _, bounds) = self.generics.split_for_impl();
        let entries = methods.iter().map(|method| self.entry(method));
        let alias = self.generics.params.is_empty().then(|| quote!(#[allow(dead_code)] type __This = #this;));
        quote! {
            const _: () = {
                use ::mcp_server::__private as __mcp;
                #alias
                #[automatically_derived]
                impl #parameters ::mcp_server::ToolSet for #this #bounds {
                    #[allow(unused_variables)]
                    fn entries(__this: ::std::sync::Arc<Self>) -> ::mcp_server::Entries {
                        let mut __entries = <::mcp_server::Entries as ::core::default::Default>::default();
                        #(#entries)*
                        __entries.in_module(#name, ::mcp_server::Defaults::new() #defaults)
                    }
                }
            };
        }
    }

    /// The statement that adds a method's entry, with the items that it needs in a scope of their own.
    fn entry(&self, method: &Method) -> TokenStream {
        let Method { entry, receiver, cfg, is_deprecated, .. } = method;
        let call = Call::new(entry, &self.parameters());
        let (takes, values, answer) = (&call.takes, &call.values, &call.answer);
        let items = &call.items;
        let held = receiver.map(|_| quote!(let __this = ::core::clone::Clone::clone(&__this);));
        let ident = &entry.ident;
        let deprecated = is_deprecated.then(|| quote!(#[allow(deprecated)]));
        let (forward, run) = if entry.is_async {
            let (forward, name) = self.forward(method);
            let given = receiver.map(|_| quote!(::core::clone::Clone::clone(&__this),));
            (Some(forward), quote!(run(move |#takes| __mcp::map(#name(#given #(#values),*), #answer))))
        } else {
            let run = if entry.is_blocking() { quote!(run_blocking) } else { quote!(run) };
            let given = receiver.map(|receiver| match receiver {
                This::Shared => quote!(::core::clone::Clone::clone(&__this),),
                This::Reference | This::SharedReference => quote!(&__this,),
            });
            (None, quote!(#run(move |#takes| #answer(Self::#ident(#given #(#values),*)))))
        };
        let (list, build) =
            (entry.subject.list(), entry.build(&run, call.record.as_ref(), |code| self.completer(code)));
        quote! {
            #(#cfg)*
            #deprecated
            {
                #items
                #forward
                #held
                __entries.#list.push(#build);
            }
        }
    }

    /// A closure that calls `Self::method` with the value, if there is such a method here and it takes the value.
    fn completer(&self, code: &Expr) -> Option<TokenStream> {
        let Expr::Path(ExprPath { qself: None, path, .. }) = code else { return None };
        let name = path.segments.last().filter(|_| path.segments.len() == 2 && path.segments[0].ident == "Self")?;
        let function = self.items.iter().find_map(|item| match item {
            Item::Function(function) if function.sig.ident == name.ident => Some(function),
            _ => None,
        })?;
        let (receiver, types) = function.parameters()?;
        let receiver = This::of(receiver, &mut Errors::default())?;
        let names: Vec<Ident> =
            (0..types.len()).map(|index| format_ident!("__p{index}", span = Span::mixed_site())).collect();
        let given = match receiver {
            This::Shared => quote!(::core::clone::Clone::clone(&__this)),
            This::Reference | This::SharedReference => quote!(&__this),
        };
        let call = quote_spanned!(code.span()=> #code(#given, #(#names),*));
        let body = if function.sig.asyncness.is_some() {
            quote!({
                let __this = ::core::clone::Clone::clone(&__this);
                async move { #call.await }
            })
        } else {
            call
        };
        Some(quote!({
            let __this = ::core::clone::Clone::clone(&__this);
            move |#(#names: #types),*| #body
        }))
    }

    /// A function that calls the method and holds the value meanwhile, and how it is called.
    fn forward(&self, method: &Method) -> (TokenStream, TokenStream) {
        let Method { entry, receiver, .. } = method;
        let (this, ident) = (&self.this, &entry.ident);
        let (allowed, names, future) = call::forward(entry);
        let types = &entry.parameters.types;
        let (parameters, arguments, bounds) = self.generics.split_for_impl();
        let turbofish = arguments.as_turbofish();
        let taken = receiver.map(|_| quote!(__this: ::std::sync::Arc<#this>,));
        let body = match receiver {
            None => quote!(<#this>::#ident(#(#names),*)),
            Some(This::Shared) => quote!(<#this>::#ident(__this, #(#names),*)),
            Some(This::Reference | This::SharedReference) => {
                quote!(async move { <#this>::#ident(&__this, #(#names),*).await })
            }
        };
        let forward = quote! {
            #allowed
            fn __call #parameters(#taken #(#names: #types),*) -> #future #bounds { #body }
        };
        (forward, quote!(__call #turbofish))
    }

    fn broken(&self) -> TokenStream {
        if self.of_trait.is_some() || self.generics.lifetimes().next().is_some() {
            return TokenStream::new();
        }
        let this = &self.this;
        let (parameters, _, bounds) = self.generics.split_for_impl();
        quote! {
            impl #parameters ::mcp_server::ToolSet for #this #bounds {
                fn entries(_: ::std::sync::Arc<Self>) -> ::mcp_server::Entries {
                    ::core::unreachable!()
                }
            }
        }
    }
}

impl Method {
    fn take(function: &mut Function, this: &TokenStream, errors: &mut Errors) -> Option<Self> {
        let (subject, attribute) =
            function.attrs.iter().find_map(|attr| Some((subject(attr)?, attr.path().clone())))?;
        let name = subject.attribute();
        let options = Options::of(&function.attrs, name, subject.place(), errors);
        for attr in function.attrs.iter().filter(|attr| self::subject(attr).is_some()).skip(1) {
            match self::subject(attr) {
                Some(other) if other != subject => {
                    let other = other.attribute();
                    errors.at(attr, format!("a method is one thing: keep `#[{name}]`, or `#[{other}]`"));
                }
                _ => errors.at(&attribute, format!("`#[{name}]` stands here twice: keep one")),
            }
        }
        function.attrs.retain(|attr| self::subject(attr).is_none());
        let receiver = match function.sig.inputs.first() {
            Some(FnArg::Receiver(receiver)) => This::of(receiver, errors),
            _ => None,
        };
        let mut sig = syn::parse2(types::without_self(&function.sig, this)).unwrap_or_else(|_| function.sig.clone());
        let entry = Entry::take(subject, &function.attrs, &mut sig, options, errors);
        builder::check(&entry, errors);
        function::strip_all(&mut function.sig);
        if receiver.is_some() && types::borrowed(&entry.result) {
            function::check_result(&entry.result, subject, errors);
        }
        let allowed: TokenStream = free::allowed(function);
        let attrs = syn::parse::Parser::parse2(Attribute::parse_outer, allowed).unwrap_or_default();
        function.attrs.splice(0..0, attrs);
        let cfg = function.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned().collect();
        let is_deprecated = function.attrs.iter().any(|attr| types::mentions(attr, "deprecated"));
        Some(Self { entry, receiver, cfg, is_deprecated, attribute })
    }
}

/// What an attribute makes of a method, if it is one of ours.
fn subject(attr: &Attribute) -> Option<Subject> {
    Subject::ALL.into_iter().find(|subject| options::is(attr, subject.attribute()))
}

impl This {
    fn of(receiver: &Receiver, errors: &mut Errors) -> Option<Self> {
        let how = match &receiver.kind {
            ReceiverKind::Reference(_, _, None) => Some(Self::Reference),
            ReceiverKind::Typed(_, ty) => match &**ty {
                Type::Reference(reference) if reference.mutability.is_none() => {
                    match types::name(&reference.elem).as_deref() {
                        Some("Self") => Some(Self::Reference),
                        Some("Arc") => Some(Self::SharedReference),
                        _ => None,
                    }
                }
                ty => (types::name(ty).as_deref() == Some("Arc")).then_some(Self::Shared),
            },
            _ => None,
        };
        if how.is_none() {
            let message = match &receiver.kind {
                ReceiverKind::Reference(..) => {
                    "calls run at the same time and share the value: take `&self`, and put what changes behind a `Mutex`"
                }
                _ => "calls run at the same time and share the value: take `&self`, or `self: Arc<Self>`",
            };
            errors.at(receiver, message);
        }
        how
    }
}
