//! What all entries of a module have, unless they say otherwise.

use std::any::{TypeId, type_name};
use std::fmt;
use std::sync::Arc;

use mcp_core::catalog::ToolAnnotations;
use mcp_core::fault::reflect;
use serde_json::{Map, Value};

use crate::arguments::Arguments;
use crate::guard::{Guards, guards};
use crate::param::{self, Param};
use crate::schema::{self, Check, Derived};

/// What all entries of a [`Module`](crate::Module) have unless they say otherwise; or, with
/// [`Server::defaults`](crate::Server::defaults), the server's own.
///
/// ```
/// use mcp_server::{Defaults, Param, Server, Tool, Value};
///
/// let defaults = Defaults::new()
///     .param(Param::string("account_id").description("Account ID (see list_accounts)").required())
///     .tag("team", "content")
///     .read_only(true);
///
/// Server::new("my-app", "1.0.0")
///     .defaults(defaults)
///     .tool(
///         Tool::new("get_page")
///             .description("Gets a page.")
///             .param(Param::string("id").required())
///             .run(|args: Value| format!("page {} of {}", args["id"], args["account_id"])),
///     )
///     .tool(
///         Tool::new("list_accounts")
///             .description("Lists the accounts.")
///             .skip_default_params(["account_id"])
///             .run(|| "1, 2"),
///     )
///     .build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// | | how it is merged |
/// |---|---|
/// | params | before the tool's; one that the tool declares too is the tool's, and stands among its own |
/// | tags, `_meta` | recursively; what the entry says wins |
/// | hints | one by one; what the tool says wins |
/// | cache hint | both parts by themselves; what the entry says wins |
/// | scopes, sensitive (as destructive tools are) | added: nothing takes an obligation back |
///
/// Params and hints are for tools; all else is for resources, templates and prompts too. A module within a module has the
/// defaults of both, and the inner one's win.
#[derive(Clone, Default)]
#[must_use = "defaults do nothing until a module or a server has them"]
pub struct Defaults {
    pub(crate) params: Vec<CommonParam>,
    pub(crate) types: Vec<CommonType>,
    pub(crate) tags: Map<String, Value>,
    pub(crate) meta: Option<Value>,
    pub(crate) annotations: ToolAnnotations,
    pub(crate) sensitive: bool,
    pub(crate) guards: Guards,
    /// Whether params were told that cannot be had: what tools make of them is not looked at then.
    pub(crate) unfit: bool,
    /// What was wrong with what it was told, by rule.
    pub(crate) wrong: Vec<(&'static str, Box<str>)>,
}

/// A param that all tools of a module have.
#[derive(Clone)]
pub(crate) struct CommonParam {
    pub(crate) name: Box<str>,
    /// With markers.
    pub(crate) schema: Value,
    pub(crate) required: bool,
    pub(crate) group: Arc<Group>,
}

/// What params that were described together share.
pub(crate) struct Group {
    /// What their markers refer to.
    pub(crate) checks: Vec<Check>,
    /// What they refer to within the schema.
    pub(crate) definitions: Map<String, Value>,
    /// The type whose fields they are.
    pub(crate) of: Option<TypeId>,
}

/// A type whose fields are default params: [`Common`](crate::Common) reads it.
#[derive(Clone)]
pub(crate) struct CommonType {
    pub(crate) id: TypeId,
    pub(crate) required: Arc<[Box<str>]>,
}

/// The methods of a builder with defaults, which are at that place.
macro_rules! defaulting {
    ($($at:ident .)*) => {
        /// One more argument that each tool has, before its own. A tool that declares one of that name has its own instead, and one
        /// that [skips](crate::Tool::skip_default_params) it has none.
        ///
        /// Code that takes its arguments as one `Value` finds it there; other code takes [`Common`](crate::Common).
        pub fn param(mut self, param: $crate::Param) -> Self {
            self.$($at.)*add_param(param);
            self
        }

        /// Several more.
        pub fn params(self, params: impl IntoIterator<Item = $crate::Param>) -> Self {
            params.into_iter().fold(self, Self::param)
        }

        /// The fields of a struct as arguments that each tool has, before its own. The tools' code takes them as
        /// [`Common<A>`](crate::Common).
        pub fn arguments<A: $crate::Arguments>(mut self) -> Self {
            self.$($at.)*add_type::<A>();
            self
        }

        /// A private word about each entry: see [`Ctx::tags`](crate::Ctx::tags). Merged with what the entry says, which wins.
        pub fn tag(mut self, name: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
            self.$($at.)*tags.insert(name.into(), value.into());
            self
        }

        /// Public `_meta` of each entry: a JSON object. Merged with what the entry says, which wins.
        pub fn meta(mut self, meta: serde_json::Value) -> Self {
            self.$($at.)*meta = Some(meta);
            self
        }

        /// Hints that the tools change nothing (TOOL-15), where one does not say otherwise.
        pub const fn read_only(mut self, hint: bool) -> Self {
            self.$($at.)*annotations.read_only = Some(hint);
            self
        }

        /// Hints that the tools may destroy something, where one does not say otherwise. All of them are then
        /// [sensitive](crate::Tool::is_sensitive), also one that publishes another hint.
        pub const fn destructive(mut self, hint: bool) -> Self {
            self.$($at.)*annotations.destructive = Some(hint);
            self
        }

        /// Hints that calling a tool again with the same arguments changes nothing more, where one does not say otherwise.
        pub const fn idempotent(mut self, hint: bool) -> Self {
            self.$($at.)*annotations.idempotent = Some(hint);
            self
        }

        /// Hints that the tools meet the outside world, where one does not say otherwise.
        pub const fn open_world(mut self, hint: bool) -> Self {
            self.$($at.)*annotations.open_world = Some(hint);
            self
        }

        /// Whether all tools are [sensitive](crate::Tool::sensitive). If they are, no tool can say otherwise.
        pub const fn sensitive(mut self, sensitive: bool) -> Self {
            self.$($at.)*sensitive = sensitive;
            self
        }
    };
}

pub(crate) use defaulting;

impl Defaults {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    defaulting!();
    guards!(guards, wrong);

    pub(crate) fn add_param(&mut self, param: Param) {
        let param::Compiled { marked, checks, faults } = param::compile(vec![param], true);
        self.wrong.extend(faults.into_iter().map(|fault| ("TOOL-4", fault.into())));
        self.add(&marked, checks, None);
    }

    pub(crate) fn add_type<A: Arguments>(&mut self) {
        let Derived { marked, checks, .. } = schema::derive(A::schema);
        if let Some(why) = no_struct(&marked) {
            let name = type_name::<A>();
            let what = format!("`{name}` cannot be default params ({why}): take a struct with named fields");
            self.unfit = true;
            return self.wrong.push(("TOOL-4", what.into()));
        }
        let id = TypeId::of::<A>();
        let before = self.params.len();
        self.add(&marked, checks, Some(id));
        let added = &self.params[before..];
        let required = added.iter().filter(|param| param.required).map(|param| param.name.clone()).collect();
        self.types.push(CommonType { id, required });
    }

    /// Params that a schema describes, whose markers refer to the checks.
    pub(crate) fn add(&mut self, marked: &Value, checks: Vec<Check>, of: Option<TypeId>) {
        let required: Vec<&str> = texts(marked.get("required")).collect();
        let definitions = marked.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        let group = Arc::new(Group { checks, definitions, of });
        for (name, schema) in marked.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.params.iter().any(|param| *param.name == **name) {
                let what = format!("the default param `{}` is given twice: keep one of them", reflect(name));
                self.wrong.push(("TOOL-4", what.into()));
                continue;
            }
            self.params.push(CommonParam {
                name: name.as_str().into(),
                schema: schema.clone(),
                required: required.contains(&name.as_str()),
                group: Arc::clone(&group),
            });
        }
    }

    /// Whether all tools are sensitive, whatever they say themselves: an annotation can only add an obligation.
    pub(crate) fn are_sensitive(&self) -> bool {
        self.sensitive || self.annotations.destructive == Some(true)
    }

    /// The same for a module within one that has those.
    pub(crate) fn within(mut self, outer: &Self) -> Self {
        let kept = outer.params.iter().filter(|param| self.params.iter().all(|own| own.name != param.name));
        let kept: Vec<CommonParam> = kept.cloned().collect();
        self.params.splice(0..0, kept);
        self.types.splice(0..0, outer.types.iter().cloned());
        self.unfit |= outer.unfit;
        merge(&mut self.tags, &outer.tags);
        merge_meta(&mut self.meta, outer.meta.as_ref());
        self.sensitive |= outer.are_sensitive();
        merge_annotations(&mut self.annotations, &outer.annotations);
        self.guards.add(&outer.guards);
        self
    }
}

impl fmt::Debug for Defaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<&str> = self.params.iter().map(|param| &*param.name).collect();
        f.debug_struct("Defaults").field("params", &params).field("tags", &self.tags).finish_non_exhaustive()
    }
}

/// The texts in a list.
fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Why the schema is not that of a plain struct.
fn no_struct(schema: &Value) -> Option<String> {
    if let Some(why) = schema::root_fault(schema) {
        return Some(why);
    }
    let has_fields = schema.get("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty());
    let known = |key: &str| {
        matches!(key, "type" | "title" | "description" | "properties" | "required" | "additionalProperties" | "$defs")
    };
    let other = schema.as_object().into_iter().flatten().map(|(key, _)| key).find(|key| !known(key));
    let open = schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false));
    match other {
        _ if !has_fields => Some("it has no fields".into()),
        _ if open => Some("it takes members of any name".into()),
        Some(key) => Some(format!("its schema has `{key}` beside its fields")),
        None => None,
    }
}

/// Adds what is not there, at any depth.
pub(crate) fn merge(own: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (own.get_mut(key), value) {
            (None, _) => drop(own.insert(key.clone(), value.clone())),
            (Some(Value::Object(own)), Value::Object(more)) => merge(own, more),
            (Some(_), _) => {}
        }
    }
}

pub(crate) fn merge_meta(own: &mut Option<Value>, more: Option<&Value>) {
    match (own, more) {
        (own @ None, more) => *own = more.cloned(),
        (Some(Value::Object(own)), Some(Value::Object(more))) => merge(own, more),
        // What is no object is told as such.
        _ => {}
    }
}

pub(crate) fn merge_annotations(own: &mut ToolAnnotations, more: &ToolAnnotations) {
    own.title = own.title.take().or_else(|| more.title.clone());
    own.read_only = own.read_only.or(more.read_only);
    own.destructive = own.destructive.or(more.destructive);
    own.idempotent = own.idempotent.or(more.idempotent);
    own.open_world = own.open_world.or(more.open_world);
}
