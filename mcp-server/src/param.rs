//! Arguments that are described at run time, without a type.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::private::Verdict;
use crate::schema::{CHECK, COERCE, Check};

/// An argument of a tool, or a field of one, described at run time: its name, its type, and what its value must be.
///
/// ```
/// use mcp_server::{Param, Server, Tool, Value};
///
/// let order = Tool::new("order")
///     .description("Orders books.")
///     .params([
///         Param::string("customer").description("Who orders").pattern("^[a-z0-9-]+$").required(),
///         Param::string("speed").one_of(["slow", "fast"]).default("slow"),
///         Param::object("address")
///             .field(Param::string("city").required())
///             .field(Param::string("zip").min_length(4).max_length(10)),
///         Param::array("lines", Param::object("line")
///             .field(Param::string("isbn").required())
///             .field(Param::integer("copies").min(1).default(1)))
///             .min_items(1)
///             .required(),
///     ])
///     .run(|args: Value| format!("{} books, {}", args["lines"].as_array().map_or(0, Vec::len), args["speed"]));
/// Server::new("my-app", "1.0.0").tool(order).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// All of it is published as JSON Schema and enforced before the code runs; everything that is wrong with a call is told at
/// once. A rule that does not fit the type, such as a length of a number, is found when the server is built.
#[derive(Clone)]
#[must_use = "a param does nothing until a tool has it: give it to `Tool::param`"]
pub struct Param {
    name: Box<str>,
    kind: Kind,
    required: bool,
    /// Keywords beside the type, in their order.
    rules: Map<String, Value>,
    coerce: Option<bool>,
    checks: Vec<Check>,
}

#[derive(Clone)]
enum Kind {
    Any,
    String,
    Integer,
    Number,
    Boolean,
    Array(Box<Param>),
    /// What it declares, and whether it lets more in, if that was said.
    Object(Vec<Param>, Option<bool>),
    /// Something else that was given fields, or opened or closed: told when the server is built.
    Misused(Box<Kind>, &'static str),
}

impl Param {
    /// A text.
    pub fn string(name: impl Into<Box<str>>) -> Self {
        Self::new(name, Kind::String)
    }

    /// A number without a fraction.
    pub fn integer(name: impl Into<Box<str>>) -> Self {
        Self::new(name, Kind::Integer)
    }

    /// A number.
    pub fn number(name: impl Into<Box<str>>) -> Self {
        Self::new(name, Kind::Number)
    }

    /// True or false.
    pub fn boolean(name: impl Into<Box<str>>) -> Self {
        Self::new(name, Kind::Boolean)
    }

    /// An object with the fields that are declared with [`field`](Self::field), and no others. Without any, it may have all.
    pub fn object(name: impl Into<Box<str>>) -> Self {
        Self::new(name, Kind::Object(Vec::new(), None))
    }

    /// A list. `item` describes each of its items; its name is not published.
    ///
    /// ```
    /// # use mcp_server::Param;
    /// let tags = Param::array("tags", Param::string("tag").max_length(20)).max_items(5).unique();
    /// ```
    pub fn array(name: impl Into<Box<str>>, item: Self) -> Self {
        Self::new(name, Kind::Array(Box::new(item)))
    }

    /// Any JSON.
    pub fn any(name: impl Into<Box<str>>) -> Self {
        Self::new(name, Kind::Any)
    }

    fn new(name: impl Into<Box<str>>, kind: Kind) -> Self {
        Self { name: name.into(), kind, required: false, rules: Map::new(), coerce: None, checks: Vec::new() }
    }

    /// What it means, for the model.
    pub fn description(self, description: impl Into<String>) -> Self {
        self.rule("description", description.into())
    }

    /// Must be there, and not null. Without this it may be left out.
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// What it is if it is left out.
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.rule("default", value)
    }

    /// One of these values.
    pub fn one_of<V: Into<Value>>(self, values: impl IntoIterator<Item = V>) -> Self {
        self.rule("enum", values.into_iter().map(Into::into).collect::<Vec<Value>>())
    }

    /// The least number that it may be.
    pub fn min(self, number: impl Into<Value>) -> Self {
        self.rule("minimum", number)
    }

    /// The greatest number that it may be.
    pub fn max(self, number: impl Into<Value>) -> Self {
        self.rule("maximum", number)
    }

    /// Characters of a text, items of a list, members of an object: at least so many.
    pub fn min_length(self, length: usize) -> Self {
        let key = self.by_kind("minLength", "minItems", "minProperties");
        self.rule(key, length)
    }

    /// The same, at most.
    pub fn max_length(self, length: usize) -> Self {
        let key = self.by_kind("maxLength", "maxItems", "maxProperties");
        self.rule(key, length)
    }

    /// A regular expression that is found in the text; `^` and `$` bind it to its ends. Without look-around, back references
    /// and Unicode classes.
    ///
    /// Give the text a [`max_length`](Self::max_length), too: looking through it takes time in proportion to its length.
    pub fn pattern(self, pattern: impl Into<String>) -> Self {
        self.rule("pattern", pattern.into())
    }

    /// Items of a list: at least so many.
    pub fn min_items(self, count: usize) -> Self {
        self.rule("minItems", count)
    }

    /// Items of a list: at most so many.
    pub fn max_items(self, count: usize) -> Self {
        self.rule("maxItems", count)
    }

    /// No item of a list twice.
    pub fn unique(self) -> Self {
        self.rule("uniqueItems", true)
    }

    /// A check of your own, asked once the value keeps all other rules, and never if it is left out or null. It returns
    /// whether the value is right, or `Err` with what is wrong with it, which the model reads.
    ///
    /// ```
    /// # use mcp_server::{Param, Value};
    /// let even = Param::integer("n").validate(|n: &Value| n.as_i64().is_some_and(|n| n % 2 == 0));
    /// let host = Param::string("host").validate(|host: &Value| match host.as_str() {
    ///     Some("localhost") => Err("must not be this machine"),
    ///     _ => Ok(()),
    /// });
    /// ```
    ///
    /// It must not block. A panic in it counts as a violation, and what it said goes to the log.
    pub fn validate<V: Verdict>(mut self, check: impl Fn(&Value) -> V + Send + Sync + 'static) -> Self {
        self.checks.push(Arc::new(move |value| check(value).told("")));
        self
    }

    /// Whether a text is taken for the number or boolean that it spells, here and in fields and items. Wins over what is said
    /// around it: see [`Tool::coerce`](crate::Tool::coerce).
    pub fn coerce(mut self, coerce: bool) -> Self {
        self.coerce = Some(coerce);
        self
    }

    /// The header in which modern clients repeat the argument, as `Mcp-Param-` and this name: for proxies that look at no body
    /// (HDR-9). For texts, integers and booleans that are reached by fields alone, not in lists. The core compares both.
    pub fn header(self, name: impl Into<String>) -> Self {
        self.rule("x-mcp-header", name.into())
    }

    /// One more field of an object.
    pub fn field(mut self, field: Self) -> Self {
        match &mut self.kind {
            Kind::Object(fields, _) => fields.push(field),
            _ => self.misuse("it has fields, and is no object: make it with `Param::object`"),
        }
        self
    }

    /// Lets an object have fields that are not declared.
    pub fn open(mut self) -> Self {
        self.set_open(true);
        self
    }

    /// Refuses fields that are not declared, also if none is.
    pub fn closed(mut self) -> Self {
        self.set_open(false);
        self
    }

    /// The same, where nothing is asked for: neither it nor any of its fields is required, and none has a default. For tools
    /// that change what another tool makes:
    ///
    /// ```
    /// # use mcp_server::{Param, Tool};
    /// let page = [Param::string("title").required(), Param::string("text").default("")];
    /// let create = Tool::new("create_page").description("Creates a page.").params(page.clone());
    /// let update = Tool::new("update_page")
    ///     .description("Changes a page.")
    ///     .param(Param::string("id").required())
    ///     .params(page.map(Param::optional));
    /// ```
    ///
    /// Items of a list stay as they are: they are given whole.
    pub fn optional(mut self) -> Self {
        self.required = false;
        self.rules.shift_remove("default");
        if let Kind::Object(fields, _) = &mut self.kind {
            *fields = std::mem::take(fields).into_iter().map(Self::optional).collect();
        }
        self
    }

    fn rule(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.rules.insert(key.into(), value.into());
        self
    }

    const fn by_kind(&self, text: &'static str, list: &'static str, object: &'static str) -> &'static str {
        match &self.kind {
            Kind::Array(_) => list,
            Kind::Object(..) => object,
            _ => text,
        }
    }

    fn set_open(&mut self, says: bool) {
        match &mut self.kind {
            Kind::Object(_, open) => *open = Some(says),
            _ => self.misuse("it is open or closed, and no object: make it with `Param::object`"),
        }
    }

    fn misuse(&mut self, how: &'static str) {
        let kind = std::mem::replace(&mut self.kind, Kind::Any);
        self.kind = Kind::Misused(Box::new(kind), how);
    }
}

impl std::fmt::Debug for Param {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Param").field("name", &self.name).field("required", &self.required).finish_non_exhaustive()
    }
}

/// The arguments of a tool, from its params.
pub(crate) struct Compiled {
    /// The schema, with markers.
    pub(crate) marked: Value,
    pub(crate) checks: Vec<Check>,
    /// What is wrong with the params themselves.
    pub(crate) faults: Vec<String>,
}

/// `open` lets arguments through that are not declared.
pub(crate) fn compile(params: Vec<Param>, open: bool) -> Compiled {
    let mut writer = Writer { at: String::new(), checks: Vec::new(), faults: Vec::new() };
    let marked = writer.object(Map::new(), params, open);
    Compiled { marked: marked.into(), checks: writer.checks, faults: writer.faults }
}

struct Writer {
    /// The path of what is being written.
    at: String,
    checks: Vec<Check>,
    faults: Vec<String>,
}

impl Writer {
    fn object(&mut self, mut schema: Map<String, Value>, fields: Vec<Param>, open: bool) -> Map<String, Value> {
        schema.insert("type".into(), "object".into());
        let mut names = HashSet::new();
        let mut required: Vec<Value> = Vec::new();
        let mut properties = Map::new();
        let length = self.at.len();
        for field in fields {
            if !self.at.is_empty() {
                self.at.push('.');
            }
            self.at.push_str(&field.name);
            if field.name.is_empty() {
                self.fault("has a field without a name: give it one");
            }
            if !names.insert(field.name.clone()) {
                self.fault("is declared twice: give one of them another name");
            }
            if field.required {
                required.push((*field.name).into());
                if field.rules.contains_key("default") {
                    self.fault("is required, so its default would never be used: leave one of them out");
                }
            }
            properties.insert(field.name.to_string(), self.value(field).into());
            self.at.truncate(length);
        }
        schema.insert("properties".into(), properties.into());
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        if !open {
            schema.insert("additionalProperties".into(), false.into());
        }
        schema
    }

    fn value(&mut self, param: Param) -> Map<String, Value> {
        let Param { kind, rules, coerce, checks, .. } = param;
        let mut schema = self.kind(kind);
        schema.extend(rules);
        if let Some(coerce) = coerce {
            schema.insert(COERCE.into(), coerce.into());
        }
        if let Some(check) = all_of(checks) {
            schema.insert(CHECK.into(), self.checks.len().into());
            self.checks.push(check);
        }
        schema
    }

    fn kind(&mut self, kind: Kind) -> Map<String, Value> {
        let name = match kind {
            Kind::Any => return Map::new(),
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Array(item) => {
                if item.required || item.rules.contains_key("default") {
                    self.fault("has items that are required or have a default, and an item cannot be left out");
                }
                let length = self.at.len();
                self.at.push_str("[]");
                let items = self.value(*item);
                self.at.truncate(length);
                let mut schema = of_type("array");
                schema.insert("items".into(), items.into());
                return schema;
            }
            Kind::Object(fields, None) if fields.is_empty() => "object",
            Kind::Object(fields, open) => {
                let mut schema = self.object(Map::new(), fields, open.unwrap_or(false));
                if open == Some(true) {
                    // Said in so many words, as it is an exception among objects with fields.
                    schema.insert("additionalProperties".into(), true.into());
                }
                return schema;
            }
            Kind::Misused(kind, how) => {
                self.fault(how);
                return self.kind(*kind);
            }
        };
        of_type(name)
    }

    fn fault(&mut self, what: &str) {
        self.faults.push(format!("`{}`: {what}", self.at));
    }
}

fn of_type(name: &str) -> Map<String, Value> {
    [("type".to_owned(), json!(name))].into_iter().collect()
}

/// One check for several: the first that fails tells why.
fn all_of(mut checks: Vec<Check>) -> Option<Check> {
    if checks.len() < 2 {
        return checks.pop();
    }
    Some(Arc::new(move |value| checks.iter().try_for_each(|check| check(value))))
}
