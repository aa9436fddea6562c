//! Schemas derived from types, in the form in which they are published (TOOL-4).

mod plain;

use std::cell::RefCell;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::Transform as _;
use serde_json::{Map, Value, json};

pub(crate) use self::plain::tighten;
use self::plain::{Plain, Unmarked};

/// A check of an argument's value that no keyword can say; the error is a clause that follows the argument's path. It is asked
/// once the value has its type and keeps its other rules, and never of null.
pub(crate) type Check = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// Marks a schema whose value a [`Check`] is asked of, by its number. Never published, as the other markers are not.
pub(crate) const CHECK: &str = "x-mcp-server-check";
/// Marks whether texts are taken for numbers and booleans, in a value and below it.
pub(crate) const COERCE: &str = "x-mcp-server-coerce";
/// Marks a property whose type reads null, though it is not asked for.
pub(crate) const NULLABLE: &str = "x-mcp-server-null";

/// A schema that was derived from a type.
pub(crate) struct Derived {
    pub(crate) published: Value,
    /// The same with markers, as [`Rules`](crate::check::Rules) take it.
    pub(crate) marked: Value,
    /// What its markers refer to.
    pub(crate) checks: Vec<Check>,
}

/// Adds a check to the schema that this thread is making, and tells its number. `None` while none is made for a tool's
/// arguments: by another generator, or for a result.
#[must_use]
pub(crate) fn register(check: Check) -> Option<usize> {
    CHECKS.with_borrow_mut(|checks| {
        let checks = checks.as_mut()?;
        checks.push(check);
        Some(checks.len() - 1)
    })
}

thread_local! {
    static CHECKS: RefCell<Option<Vec<Check>>> = const { RefCell::new(None) };
}

/// Collects checks for as long as it is there.
struct Collecting(Option<Vec<Check>>);

impl Collecting {
    fn begin() -> Self {
        Self(CHECKS.replace(Some(Vec::new())))
    }

    fn end(mut self) -> Vec<Check> {
        CHECKS.replace(self.0.take()).unwrap_or_default()
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        CHECKS.set(self.0.take());
    }
}

/// Where shared definitions stand: the only references left in a derived schema point there.
const DEFS: &str = "$defs";

/// The schema of a tool's arguments, as data of that type is read; with markers.
pub(crate) fn input<T: JsonSchema>() -> Value {
    rooted(generate::<T>(Contract::Deserialize))
}

/// Runs what makes a schema of arguments, and keeps the checks that it registers.
pub(crate) fn derive(input: fn() -> Value) -> Derived {
    let collecting = Collecting::begin();
    let marked = input();
    let checks = collecting.end();
    Derived { published: unmarked(marked.clone()), marked, checks }
}

/// The same schema without what is not to be published.
pub(crate) fn unmarked(marked: Value) -> Value {
    match schemars::Schema::try_from(marked) {
        Ok(mut schema) => {
            Unmarked.transform(&mut schema);
            schema.to_value()
        }
        // No schema at all: whoever looks at it next says so.
        Err(_) => Value::Null,
    }
}

/// The schema of a tool's result, as data of that type is written; `None` if the type can be anything, for then there
/// is nothing to say.
pub(crate) fn output<T: JsonSchema>() -> Option<Value> {
    let schema = generate::<T>(Contract::Serialize);
    let says_nothing = schema.keys().all(|key| matches!(key.as_str(), "description" | "title"));
    (!says_nothing).then(|| unmarked(rooted(schema)))
}

/// The schema of a tool without arguments.
pub(crate) fn nothing() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// Whether a schema lets nothing in but an empty object.
pub(crate) fn is_nothing(schema: &Value) -> bool {
    *schema == nothing()
}

/// What is wrong with the root of a schema that must describe an object (TOOL-4, TOOL-13).
pub(crate) fn root_fault(schema: &Value) -> Option<String> {
    match schema {
        Value::Object(members) => match members.get("type") {
            Some(Value::String(kind)) if kind == "object" => None,
            Some(kind) => Some(format!("its root has `\"type\": {kind}`")),
            None => Some("its root has no `type`".into()),
        },
        _ => Some("it is not a JSON object".into()),
    }
}

fn generate<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    let is_read = matches!(contract, Contract::Deserialize);
    // `$schema` is left out: without it a schema is 2020-12 for every client that follows the protocol, and each tool
    // in the list costs a model tokens.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.contract = contract;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of a Rust type is no title: schemars puts it there if the author gave none.
    if schema.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
        schema.as_object_mut().map(|members| members.shift_remove("title"));
    }
    Plain { asks: is_read }.transform(&mut schema);
    let members = schema.as_object().cloned().unwrap_or_default();
    without_root_references(members, &T::schema_name())
}

/// Arguments are always an object (TOOL-4): says so where the type leaves it open, and closes an object that has
/// no members. A root of another type stays as it is, and is found when the server is built.
fn rooted(mut schema: Map<String, Value>) -> Value {
    let silent = |key: &str| matches!(key, "description" | "title");
    let bare = schema.keys().all(|key| key == "type" || silent(key));
    if bare && schema.get("type").is_some_and(|kind| kind == "object") {
        // All that schemars says of a struct without fields.
        schema.insert("properties".into(), json!({}));
        schema.insert("additionalProperties".into(), false.into());
    }
    let of_objects = |key: &str| match schema.get(key) {
        Some(Value::Array(forms)) => forms.iter().all(|form| form["type"] == "object"),
        _ => true,
    };
    if !schema.contains_key("type") && of_objects("oneOf") && of_objects("anyOf") {
        schema.insert("type".into(), "object".into());
    }
    schema.into()
}

/// A recursive root refers to itself as `#`, which breaks where a client moves the schema into another: such a root
/// becomes a definition, too.
fn without_root_references(mut schema: Map<String, Value>, name: &str) -> Map<String, Value> {
    let mut name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    while schema.get(DEFS).is_some_and(|definitions| definitions.get(&name).is_some()) {
        name.push('_');
    }
    let mut found = false;
    let target = format!("#/{DEFS}/{name}");
    schema.values_mut().for_each(|value| redirect(value, &target, &mut found));
    if !found {
        return schema;
    }
    let mut itself = schema.clone();
    itself.shift_remove(DEFS);
    let definitions = schema.entry(DEFS).or_insert_with(|| json!({}));
    if let Value::Object(definitions) = definitions {
        definitions.insert(name, itself.into());
    }
    schema
}

fn redirect(value: &mut Value, target: &str, found: &mut bool) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if key == "$ref" && *member == "#" {
                    *member = target.into();
                    *found = true;
                } else {
                    redirect(member, target, found);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, target, found)),
        _ => {}
    }
}
