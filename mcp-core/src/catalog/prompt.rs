//! The neutral definition of a prompt.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::about::{About, about};
use super::guard::{Guard, guard};
use super::shelf::{Audience, Entry};
use super::{Defect, Handle, completes_on};
use crate::encode::json::Object;
use crate::fault::reflect;
use crate::peer::Revision;

/// A prompt as it is registered (PROMPT-1). Nothing is checked before [`Builder::build`](super::Builder::build).
#[derive(Clone, Debug)]
pub struct Prompt {
    name: Arc<str>,
    handle: Handle,
    about: About,
    guard: Guard,
    arguments: Vec<PromptArgument>,
}

/// An argument of a prompt. Its value is always a string (PROMPT-2).
#[derive(Clone, Debug)]
pub struct PromptArgument {
    name: Box<str>,
    title: Option<Box<str>>,
    description: Option<Box<str>>,
    required: bool,
    completes: bool,
}

impl Prompt {
    /// A prompt without arguments.
    #[must_use]
    pub fn new(name: &str, handle: Handle) -> Self {
        Self { name: name.into(), handle, about: About::default(), guard: Guard::default(), arguments: Vec::new() }
    }

    /// With one more argument.
    #[must_use]
    pub fn with_argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Its name on the wire.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name, to keep beyond the catalogue.
    #[must_use]
    pub fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Its arguments, in order.
    #[must_use]
    pub fn arguments(&self) -> &[PromptArgument] {
        &self.arguments
    }

    about!("prompt");
    guard!();
}

impl PromptArgument {
    /// An optional argument.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), title: None, description: None, required: false, completes: false }
    }

    /// With a display name. From 2025-06-18 on.
    #[must_use]
    pub fn with_title(mut self, title: &str) -> Self {
        self.title = Some(title.into());
        self
    }

    /// With a description.
    #[must_use]
    pub fn with_description(mut self, description: &str) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The prompt is not run without it (PROMPT-3).
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The server proposes values for it (COMP-1): a completion of it is a call. One of any other argument is answered empty.
    #[must_use]
    pub const fn completes(mut self) -> Self {
        self.completes = true;
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the prompt is not run without it.
    #[must_use]
    pub const fn is_required(&self) -> bool {
        self.required
    }

    /// Whether the server proposes values for it.
    #[must_use]
    pub const fn is_completed(&self) -> bool {
        self.completes
    }
}

impl Entry for Prompt {
    const LIST: &'static str = "prompts";
    const MARK: u8 = b'p';
    const UNIQUE: &'static str = "PROMPT-1";

    fn key(&self) -> &str {
        &self.name
    }

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn check(&mut self, defects: &mut Vec<Defect>) {
        let mut defect = |message: &str| defects.push(Defect::new(&reflect(&self.name), "PROMPT-1", message));
        if self.name.is_empty() {
            defect("a prompt's name is empty: give it one");
        }
        if self.name.chars().any(char::is_control) || self.name.len() > MAX_NAME {
            defect("a prompt's name has at most 128 bytes and no control characters");
        }
        for (index, argument) in self.arguments.iter().enumerate() {
            if argument.name.is_empty() {
                defect("an argument's name is empty: give it one");
            }
            if self.arguments[..index].iter().any(|other| other.name == argument.name) {
                defect(&alloc::format!("the argument `{}` is there twice: rename one", reflect(&argument.name)));
            }
        }
        self.guard.check(&self.name, defects);
        self.about.check(&self.name, defects);
    }

    fn unseen_on(&self, state: u64) -> u64 {
        let completed = self.arguments.iter().filter(|argument| argument.completes);
        completed.fold(state, |state, argument| completes_on(state, &self.name, &argument.name))
    }

    fn encode(&self, out: &mut Vec<u8>, revision: Revision, _: Audience) {
        let mut object = Object::open(out);
        object.string("name", &self.name);
        self.about.words(&mut object, revision);
        if !self.arguments.is_empty() {
            let out = object.key("arguments");
            for (index, argument) in self.arguments.iter().enumerate() {
                out.push(if index == 0 { b'[' } else { b',' });
                argument.encode(out, revision);
            }
            out.push(b']');
        }
        self.about.extras(&mut object, revision);
        object.close();
    }
}

impl PromptArgument {
    fn encode(&self, out: &mut Vec<u8>, revision: Revision) {
        let mut object = Object::open(out);
        object.string("name", &self.name);
        if revision >= Revision::V2025_06_18 {
            object.optional("title", self.title.as_deref());
        }
        object.optional("description", self.description.as_deref());
        if self.required {
            object.boolean("required", true);
        }
        object.close();
    }
}

/// Bytes of a prompt's name: as many as a tool's.
const MAX_NAME: usize = 128;
