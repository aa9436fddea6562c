//! The neutral definition of a tool.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::guard::{Guard, guard};
use super::schema::{self, Mirror};
use super::shelf::{Audience, Entry};
use super::{Defect, Handle, check_meta, digest_on};
use crate::answer::Icon;
use crate::encode::json::{self, Object};
use crate::fault::reflect;
use crate::peer::{Capabilities, Revision};

/// A tool as it is registered. Nothing is checked before [`Builder::build`](super::Builder::build).
#[derive(Clone, Debug)]
pub struct Tool {
    name: Arc<str>,
    handle: Handle,
    title: Option<Box<str>>,
    description: Option<Box<str>>,
    input_schema: Box<str>,
    output: Option<Output>,
    any_output: bool,
    unlisted: bool,
    annotations: ToolAnnotations,
    icons: Vec<Icon>,
    meta: Option<Box<str>>,
    page: Page,
    needs: Capabilities,
    guard: Guard,
    task_support: TaskSupport,
    mirrors: Box<[Mirror]>,
}

/// Whether a tool can be run as a task. It is told to nobody as long as tasks are not served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TaskSupport {
    /// It cannot.
    #[default]
    None,
    /// It can, where the client wants it.
    Supported,
    /// It cannot be run otherwise.
    Required,
}

/// What a tool is to clients that show no pages (APP-1).
#[derive(Clone, Debug, Default)]
enum Page {
    /// The same: it has none.
    #[default]
    None,
    /// A tool with this `_meta`.
    Linked(Option<Box<str>>),
    /// Nothing: only its page calls it.
    Caller,
}

#[derive(Clone, Debug)]
struct Output {
    schema: Box<str>,
    /// Whether its root is `"type":"object"`: revisions before 2026-07-28 take no other (SHIM-2).
    object: bool,
}

/// Hints about what a tool does (TOOL-15). What is not set is not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolAnnotations {
    /// It changes nothing. Clients assume `false`.
    pub read_only: Option<bool>,
    /// It may destroy something. Clients assume `true`.
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments changes nothing more. Clients assume `false`.
    pub idempotent: Option<bool>,
    /// It meets the outside world. Clients assume `true`.
    pub open_world: Option<bool>,
    /// A display name; clients prefer the tool's own title.
    pub title: Option<Box<str>>,
}

impl Tool {
    /// A tool with the JSON text of its input schema, whose root must be `"type":"object"` (TOOL-4).
    #[must_use]
    pub fn new(name: &str, handle: Handle, input_schema: &str) -> Self {
        Self {
            name: name.into(),
            handle,
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output: None,
            any_output: false,
            unlisted: false,
            annotations: ToolAnnotations::default(),
            icons: Vec::new(),
            meta: None,
            page: Page::None,
            needs: Capabilities::none(),
            guard: Guard::default(),
            task_support: TaskSupport::None,
            mirrors: Box::default(),
        }
    }

    /// With a display name.
    #[must_use]
    pub fn with_title(mut self, title: &str) -> Self {
        self.title = Some(title.into());
        self
    }

    /// With a description for the model.
    #[must_use]
    pub fn with_description(mut self, description: &str) -> Self {
        self.description = Some(description.into());
        self
    }

    /// With the JSON text of the schema of its structured result, whose root must be `"type":"object"`.
    #[must_use]
    pub fn with_output_schema(mut self, schema: &str) -> Self {
        self.output = Some(Output { schema: schema.into(), object: false });
        self
    }

    /// Lets the output schema be any schema. One whose root is not an object is shown to modern peers only (SHIM-2).
    #[must_use]
    pub fn with_any_output(mut self) -> Self {
        self.any_output = true;
        self
    }

    /// With hints about what it does.
    #[must_use]
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// With one more icon.
    #[must_use]
    pub fn with_icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// With public `_meta`: JSON text of an object, keys by [`meta_key`](super::meta_key). An empty object is not sent.
    #[must_use]
    pub fn with_meta(mut self, meta: &str) -> Self {
        self.meta = Some(meta.into());
        self
    }

    /// With other `_meta`, or none, for clients that show no pages; its own links to a page. Read where
    /// [`EndpointBuilder::pages`](crate::EndpointBuilder::pages) tells clients apart (APP-1).
    #[must_use]
    pub fn with_pageless_meta(mut self, meta: Option<&str>) -> Self {
        self.page = Page::Linked(meta.map(Into::into));
        self
    }

    /// Not in the list of clients that show no pages, since nothing but its page calls it (APP-3). Read as
    /// [`Tool::with_pageless_meta`]. A call is answered all the same.
    #[must_use]
    pub fn for_page(mut self) -> Self {
        self.page = Page::Caller;
        self
    }

    /// In no list of any revision. A call is answered all the same, and it is no secret that there is such a tool.
    #[must_use]
    pub const fn with_unlisted(mut self) -> Self {
        self.unlisted = true;
        self
    }

    /// With abilities that the client must have declared before the tool is called (VER-6).
    #[must_use]
    pub fn with_needs(mut self, needs: Capabilities) -> Self {
        self.needs = needs;
        self
    }

    /// Whether it can be run as a task.
    #[must_use]
    pub const fn with_task_support(mut self, support: TaskSupport) -> Self {
        self.task_support = support;
        self
    }

    guard!();

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

    /// The registrant's name for it.
    #[must_use]
    pub const fn handle(&self) -> Handle {
        self.handle
    }

    /// Its display name.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Its description.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Its input schema: JSON text.
    #[must_use]
    pub fn input_schema(&self) -> &str {
        &self.input_schema
    }

    /// Its output schema: JSON text.
    #[must_use]
    pub fn output_schema(&self) -> Option<&str> {
        self.output.as_ref().map(|output| &*output.schema)
    }

    /// Hints about what it does.
    #[must_use]
    pub const fn annotations(&self) -> &ToolAnnotations {
        &self.annotations
    }

    /// Its public `_meta`: JSON text of an object.
    #[must_use]
    pub fn meta(&self) -> Option<&str> {
        self.meta.as_deref()
    }

    /// What its client must be able to do.
    #[must_use]
    pub const fn needs(&self) -> &Capabilities {
        &self.needs
    }

    /// Whether it can be run as a task.
    #[must_use]
    pub const fn task_support(&self) -> TaskSupport {
        self.task_support
    }

    /// The arguments that clients repeat in headers (HDR-9). Known once the catalogue is built.
    #[must_use]
    pub fn mirrors(&self) -> &[Mirror] {
        &self.mirrors
    }

    fn check_name(&self, defects: &mut Vec<Defect>) {
        // `/` is not in the grammar of 2025-11-25, but in use and in the official suite's.
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let message = match self.name.chars().find(|&c| !known(c)) {
            Some(c) => alloc::format!(
                "`{}` in a tool's name: use letters, digits, `_`, `-`, `.` and `/`",
                reflect(c.encode_utf8(&mut [0; 4]))
            ),
            None if self.name.is_empty() => "a tool's name is empty: give it one".into(),
            None if self.name.len() > MAX_NAME => {
                alloc::format!("a tool's name has {} characters: at most {MAX_NAME} are allowed", self.name.len())
            }
            None => return,
        };
        defects.push(Defect::new(&reflect(&self.name), "TOOL-5", message));
    }
}

impl Entry for Tool {
    const LIST: &'static str = "tools";
    const MARK: u8 = b't';
    const UNIQUE: &'static str = "TOOL-5";

    fn key(&self) -> &str {
        &self.name
    }

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn check(&mut self, defects: &mut Vec<Defect>) {
        self.check_name(defects);
        self.guard.check(&self.name, defects);
        self.mirrors = schema::check_input(&self.name, &self.input_schema, defects);
        self.input_schema = json::compact(&self.input_schema).into();
        if let Some(output) = &mut self.output {
            output.object = schema::check_output(&self.name, &output.schema, self.any_output, defects);
            output.schema = json::compact(&output.schema).into();
        }
        check_meta(&self.name, &mut self.meta, defects);
        if let Page::Linked(meta) = &mut self.page {
            check_meta(&self.name, meta, defects);
        }
    }

    /// TOOL-3.
    fn encode(&self, out: &mut Vec<u8>, revision: Revision, audience: Audience) {
        let mut object = Object::open(out);
        object.string("name", &self.name);
        if revision >= Revision::V2025_06_18 {
            object.optional("title", self.title.as_deref());
        }
        object.optional("description", self.description.as_deref());
        object.json("inputSchema", &self.input_schema);
        if revision >= Revision::V2025_06_18
            && let Some(output) = &self.output
            && (output.object || revision >= Revision::V2026_07_28)
        {
            object.json("outputSchema", &output.schema);
        }
        if revision >= Revision::V2025_03_26 && self.annotations != ToolAnnotations::default() {
            self.annotations.encode(object.key("annotations"));
        }
        if revision >= Revision::V2025_11_25 && !self.icons.is_empty() {
            crate::encode::icons(object.key("icons"), &self.icons);
        }
        if revision >= Revision::V2025_06_18
            && let Some(meta) = self.meta_for(audience)
        {
            object.json("_meta", meta);
        }
        object.close();
    }

    fn unseen_on(&self, state: u64) -> u64 {
        let mut unseen = Vec::new();
        if self.unlisted {
            unseen.extend_from_slice(b"unlisted ");
            self.encode(&mut unseen, Revision::MODERN, Audience::All);
        }
        if let Some(needs) = Capabilities::none().missing(&self.needs) {
            unseen.extend_from_slice(b"needs ");
            unseen.extend_from_slice(self.name.as_bytes());
            unseen.extend_from_slice(needs.as_bytes());
        }
        digest_on(state, &unseen)
    }

    fn has_page(&self) -> bool {
        !matches!(self.page, Page::None)
    }

    fn is_listed(&self, audience: Audience) -> bool {
        !self.unlisted && (audience == Audience::All || !matches!(self.page, Page::Caller))
    }
}

impl Tool {
    fn meta_for(&self, audience: Audience) -> Option<&str> {
        match (audience, &self.page) {
            (Audience::Pageless, Page::Linked(meta)) => meta.as_deref(),
            _ => self.meta.as_deref(),
        }
    }
}

impl ToolAnnotations {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.optional("title", self.title.as_deref());
        let hints = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        for (name, hint) in hints {
            if let Some(hint) = hint {
                object.boolean(name, hint);
            }
        }
        object.close();
    }
}

/// Characters of a tool's name (TOOL-5).
const MAX_NAME: usize = 128;
