//! A function as it is written, its body unread: whatever is in there is the compiler's, and half a body while one types is
//! no reason to lose the tool.

use proc_macro2::{Delimiter, Group, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, Pat, PatType, Receiver, ReturnType, Signature, Type, Visibility};

use crate::argument::{self, Argument};
use crate::errors::Errors;
use crate::options::{self, Place};
use crate::subject::Subject;
use crate::types;

/// A function with its attributes.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            // As `group` has it and `token_tree` not: one that came as a macro's `$body:block` is within a group without
            // delimiters.
            body: input.step(|cursor| match cursor.group(Delimiter::Brace) {
                Some((inner, span, rest)) => {
                    let mut body = Group::new(Delimiter::Brace, inner.token_stream());
                    body.set_span(span.join());
                    Ok((body, rest))
                }
                None => Err(cursor.error("expected the function's body")),
            })?,
        })
    }
}

impl Function {
    /// `self`, and the types of the other parameters; `None` if it takes no `self`.
    pub(crate) fn parameters(&self) -> Option<(&Receiver, Vec<&Type>)> {
        let mut inputs = self.sig.inputs.iter();
        let Some(FnArg::Receiver(receiver)) = inputs.next() else { return None };
        let types = inputs.filter_map(|input| match input {
            FnArg::Typed(input) => Some(&*input.ty),
            FnArg::Receiver(_) => None,
        });
        Some((receiver, types.collect()))
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, vis, sig, body } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}

/// Where a parameter's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// From the server or the call.
    Extractor,
    /// From one argument: its place among them.
    Argument(usize),
    /// From all arguments at once: `Args<T>`.
    All,
}

/// What the parameters of a function come to.
#[derive(Default)]
pub(crate) struct Parameters {
    /// In their order, without `self`.
    pub(crate) all: Vec<Parameter>,
    pub(crate) types: Vec<Type>,
    pub(crate) arguments: Vec<Argument>,
}

/// What the macros take for an extractor by its name alone.
const EXTRACTORS: [&str; 10] =
    ["Ctx", "Common", "State", "Assigns", "Caller", "Progress", "Log", "Cancelled", "Head", "HeaderMap"];

impl Parameters {
    /// Reads them, and takes their attributes out of the signature.
    pub(crate) fn take(sig: &mut Signature, subject: Subject, errors: &mut Errors) -> Self {
        let mut parameters = Self::default();
        let taken = Taken::of(subject).unwrap_or(Taken::ARGUMENT);
        for input in &mut sig.inputs {
            let FnArg::Typed(input) = input else { continue };
            let attrs = strip(&mut input.attrs, errors);
            parameters.types.push((*input.ty).clone());
            let parameter = parameters.read(input, &attrs, subject, errors);
            parameters.all.push(parameter);
        }
        argument::check_names(&parameters.arguments, errors);
        if let Some(all) = parameters.whole()
            && let Some(argument) = parameters.arguments.first()
        {
            let Taken { one, all: every, .. } = taken;
            let message = format!(
                "`{}` is {one} of its own, and `{}` takes {every}: put it into that struct, or take each by name",
                argument.ident,
                types::text(all)
            );
            errors.at(&argument.ident, message);
        }
        parameters
    }

    /// The type that takes all arguments, if one does.
    pub(crate) fn whole(&self) -> Option<&Type> {
        self.of(Parameter::All).next()
    }

    pub(crate) fn extractors(&self) -> Vec<&Type> {
        self.of(Parameter::Extractor).collect()
    }

    fn of(&self, kind: Parameter) -> impl Iterator<Item = &Type> {
        self.all.iter().zip(&self.types).filter(move |(parameter, _)| **parameter == kind).map(|(_, ty)| ty)
    }

    fn read(&mut self, input: &PatType, attrs: &[Attribute], subject: Subject, errors: &mut Errors) -> Parameter {
        let has = |name| attrs.iter().find(|attr| options::is(attr, name));
        let ty = &*input.ty;
        check_type(ty, subject, errors);
        if is_extractor(ty) || has("extract").is_some() {
            if let Some(arg) = has("arg") {
                let message = "this comes from the server or the call and is no argument: it takes no `#[arg(..)]`";
                errors.at(arg, message);
            }
            return Parameter::Extractor;
        }
        let Some(Taken { place, one, noun, all }) = Taken::of(subject) else {
            let message = "a resource has no variables, and this is nothing of the server or the call: for many resources \
                           there is `#[resource_template(\"uri/{variable}\")]`; what the server holds is `State<T>`, and an \
                           extractor of your own has `#[extract]` before it";
            errors.at(&input.pat, message);
            return Parameter::Extractor;
        };
        if types::name(ty).as_deref() == Some("Args") && types::argument(ty).is_some() {
            if let Some(arg) = has("arg") {
                errors.at(arg, "put `#[arg(..)]` on the fields of the struct");
            }
            if self.whole().is_some() {
                errors.at(ty, format!("one parameter takes {all} already: keep one `Args<..>`"));
            }
            return Parameter::All;
        }
        let ident = match &*input.pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => pat.ident.clone(),
            pat => {
                let message = format!(
                    "{one} needs a plain name, which callers see: take it apart in the body, or take {all} as one \
                     struct, `Args(MyArgs {{ .. }}): Args<MyArgs>`; if it is no {noun}, put `#[extract]` before it"
                );
                errors.at(pat, message);
                return Parameter::Extractor;
            }
        };
        let argument = Argument::new(&ident, ty, attrs, place, errors);
        self.arguments.push(argument);
        Parameter::Argument(self.arguments.len() - 1)
    }
}

/// What a parameter takes that is no extractor.
struct Taken {
    place: &'static Place,
    one: &'static str,
    noun: &'static str,
    all: &'static str,
}

impl Taken {
    const ARGUMENT: Self =
        Self { place: &argument::PARAMETER, one: "an argument", noun: "argument", all: "all arguments" };
    const VARIABLE: Self =
        Self { place: &argument::VARIABLE, one: "a variable", noun: "variable", all: "all variables" };

    /// `None` if there is nothing but extractors.
    const fn of(subject: Subject) -> Option<Self> {
        match subject {
            Subject::Tool | Subject::App => Some(Self::ARGUMENT),
            Subject::Prompt => Some(Self { place: &argument::TEXT, ..Self::ARGUMENT }),
            Subject::Template => Some(Self::VARIABLE),
            Subject::Resource => None,
        }
    }
}

/// Takes out the attributes that are ours, of all parameters.
pub(crate) fn strip_all(sig: &mut Signature) {
    for input in &mut sig.inputs {
        if let FnArg::Typed(input) = input {
            input.attrs.retain(|attr| !ours(attr));
        }
    }
}

/// The compiler would refuse them on a parameter.
fn ours(attr: &Attribute) -> bool {
    options::is(attr, "arg") || options::is(attr, "extract") || attr.path().is_ident("doc")
}

/// Takes out the attributes that are ours.
fn strip(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> Vec<Attribute> {
    let (taken, left) = std::mem::take(attrs).into_iter().partition(ours);
    *attrs = left;
    for attr in &*attrs {
        if attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr") {
            errors.at(attr, "a parameter cannot be there in some builds only: put `#[cfg(..)]` on two functions");
        }
    }
    for attr in taken.iter().filter(|attr: &&Attribute| options::is(attr, "extract")) {
        if !matches!(attr.meta, syn::Meta::Path(_)) {
            errors.at(attr, "`#[extract]` takes no options");
        }
    }
    taken
}

fn is_extractor(ty: &Type) -> bool {
    let ty = types::optional(ty).unwrap_or(ty);
    types::name(ty).is_some_and(|name| EXTRACTORS.contains(&&*name))
}

fn check_type(ty: &Type, subject: Subject, errors: &mut Errors) {
    let one = subject.one();
    match ty {
        Type::Reference(reference) => {
            let owned = types::owned(&reference.elem);
            errors.at(ty, format!("{one} owns what it takes: write `{owned}` instead of `{}`", types::text(ty)));
        }
        Type::ImplTrait(_) => {
            let schema = if subject.has_schema() { ", from which its schema is made" } else { "" };
            errors.at(ty, format!("{one}'s parameter has one type{schema}: name it instead of `impl ..`"));
        }
        Type::Infer(_) => errors.at(ty, "name the type"),
        _ if types::borrowed(ty) => {
            errors.at(ty, format!("{one} owns what it takes: name a type without references, as `String` for `&str`"));
        }
        _ => {}
    }
}

/// What an entry's function cannot be.
pub(crate) fn check_signature(sig: &Signature, subject: Subject, blocking: bool, errors: &mut Errors) {
    let one = subject.one();
    let generics = &sig.generics;
    if !generics.params.is_empty() {
        let schema = if subject.has_schema() { "one schema and so " } else { "" };
        errors.at(&generics.params, format!("{one} has {schema}no generic parameters: name the types"));
    } else if let Some(bounds) = &generics.where_clause {
        errors.at(bounds, format!("{one} has no generic parameters, and so nothing to bound"));
    }
    if let Some(token) = &sig.constness {
        errors.at(token, format!("{one} cannot be a `const fn`: remove `const`"));
    }
    if let syn::Safety::Unsafe(token) = &sig.safety {
        let message = "cannot be `unsafe`, for its caller is not to be trusted: put the `unsafe` block inside";
        errors.at(token, format!("{one} {message}"));
    }
    if let Some(abi) = &sig.abi {
        errors.at(abi, format!("{one} is a Rust function: remove `extern`"));
    }
    if let Some(variadic) = &sig.variadic {
        errors.at(variadic, format!("{one}'s parameters are counted"));
    }
    if let (true, Some(token)) = (blocking, &sig.asyncness) {
        let message =
            "`blocking` is for plain functions, which run on a pool of threads: remove `async`, or `blocking`";
        errors.at(token, message);
    }
}

/// The type that a function returns.
pub(crate) fn result(sig: &Signature) -> Type {
    match &sig.output {
        ReturnType::Default => syn::parse_quote!(()),
        ReturnType::Type(_, ty) => (**ty).clone(),
    }
}

/// Checks the type of a result that must be written out again.
pub(crate) fn check_result(ty: &Type, subject: Subject, errors: &mut Errors) {
    if types::mentions(ty, "impl") {
        let noun = subject.noun();
        errors.at(
            ty,
            format!("name the type that the {noun} returns: `impl ..` cannot be written where the macro needs it"),
        );
    } else if types::borrowed(ty) {
        let hint = match ty {
            Type::Reference(reference) => {
                format!(": write `{}`, or `&'static {}`", types::owned(&reference.elem), types::text(&reference.elem))
            }
            _ => ": `String` instead of `&str`, or `&'static str`".into(),
        };
        errors.at(ty, format!("{} owns what it returns{hint}", subject.one()));
    }
}
