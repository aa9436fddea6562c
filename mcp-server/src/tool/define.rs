//! Tools whose definition is data: read at run time, from a file or from elsewhere.

mod defaults;
mod guards;

use std::sync::Arc;

use mcp_core::answer::{Icon, Theme};
use serde_json::{Map, Value};

use super::Tool;
use super::schemas::{Given, Promised};
use crate::check::{self, kind, nearest};
use crate::error::BuildError;
use crate::extract::States;
use crate::serve::{Edit, Offers};

impl Tool {
    /// A tool from its definition as JSON text, as `tools/list` has it: `name`, `title`, `description`, `inputSchema`,
    /// `outputSchema`, `annotations`, `icons`, `_meta`. The schemas may also be called `input_schema` and `output_schema`; they
    /// are published as they are, in their order, and enforced, which needs the feature `validate`. What follows is for the server
    /// alone, and is not published: `scope`, a text or a list; `cache`, with `ttlMs` and `scope` (`"public"` or `"private"`);
    /// `taskSupport`; `tags`; `sensitive`, which may stand among the `annotations`, too; and `skipDefaultParams`, a list of names:
    /// see [`skip_default_params`](Self::skip_default_params).
    ///
    /// A member that is null is as absent.
    ///
    /// For many tools in one file, see [`Manifest`](crate::Manifest).
    ///
    /// Nothing fails here: what is wrong with it, such as a member that nobody knows, is told when the server is built, with
    /// everything else.
    ///
    /// ```
    /// use mcp_server::{Server, Tool, Value};
    ///
    /// let definition = r#"{
    ///     "name": "weather",
    ///     "description": "Tells the weather.",
    ///     "inputSchema": {
    ///         "type": "object",
    ///         "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
    ///         "required": ["city"]
    ///     }
    /// }"#;
    /// let weather =
    ///     Tool::from_json(definition).run(|args: Value| format!("It rains in {} for {} days.", args["city"], args["days"]));
    /// # #[cfg(feature = "validate")]
    /// Server::new("my-app", "1.0.0").tool(weather).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    #[track_caller]
    pub fn from_json(definition: impl AsRef<str>) -> Self {
        let text = definition.as_ref();
        match serde_json::from_str::<Value>(text) {
            Ok(value) => {
                let twice = check::twice(text.as_bytes());
                let mut tool = Self::from_value(value);
                for violation in twice {
                    tool.wrong.push(("TOOL-3", format!("its definition has `{}` twice", violation.path).into()));
                }
                tool
            }
            Err(error) => Self::unreadable(format!("its definition is not JSON: {error}")),
        }
    }

    /// The same from a JSON value.
    #[track_caller]
    pub fn from_value(definition: Value) -> Self {
        match definition {
            Value::Object(members) => {
                let tool = Self { defined: true, ..Self::new("") };
                Reader::new(members, tool, "its definition").read()
            }
            other => Self::unreadable(format!("its definition must be a JSON object, not {}", kind(&other))),
        }
    }

    /// Checks a definition that is not, or not yet, a tool here: everything that [`from_value`](Self::from_value) and the
    /// building of a server would find wrong with it. Needs the feature `validate`, as they do.
    ///
    /// ```
    /// # #[cfg(feature = "validate")] {
    /// use mcp_server::{Tool, json};
    ///
    /// let error = Tool::validate(&json!({"name": "search", "inputSchema": {"type": "array"}})).unwrap_err();
    /// let rules: Vec<&str> = error.defects().iter().map(|defect| defect.rule).collect();
    /// assert_eq!(rules, ["TOOL-3", "TOOL-4"]); // no description, and arguments are an object
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// All of it, at once.
    #[track_caller]
    pub fn validate(definition: &Value) -> Result<(), BuildError> {
        let mut edit = Edit::new();
        edit.add(Self::from_value(definition.clone()).run(|| ()));
        edit.build(&Arc::new(States::moot()), false, Offers::default()).map(drop).map_err(BuildError::of_definition)
    }

    #[track_caller]
    fn unreadable(why: String) -> Self {
        Self { unreadable: Some(why.into()), ..Self::new("") }
    }
}

/// The members of a definition, taken out one by one.
struct Reader {
    members: Map<String, Value>,
    tool: Tool,
    /// What they are the members of.
    whose: &'static str,
}

impl Reader {
    fn new(members: Map<String, Value>, tool: Tool, whose: &'static str) -> Self {
        Self { members: present(members), tool, whose }
    }

    fn read(mut self) -> Tool {
        if let Some(name) = self.text("name", "TOOL-5") {
            self.tool.name = name;
        }
        self.tool.title = self.text("title", "TOOL-3");
        let is_described = self.members.contains_key("description");
        // What is no text was told as such.
        self.tool.description = self.text("description", "TOOL-3").or_else(|| is_described.then(|| UNREAD.into()));
        self.tool.input = self.schema("inputSchema", "input_schema", "TOOL-4");
        if self.tool.input.is_none() {
            self.wrong(
                "TOOL-4",
                "its definition has no `inputSchema`: without arguments, it is {\"type\": \"object\"}",
            );
            // What else is wrong with it can be told only of a tool that has one.
            self.tool.input = Some(Given::Value(crate::schema::nothing()));
        }
        self.tool.output = self.schema("outputSchema", "output_schema", "TOOL-13").map(Promised::Data);
        self.annotations();
        self.icons();
        self.tool.meta = self.take("_meta");
        self.execution();
        self.guards();
        self.skipped();
        for (name, _) in std::mem::take(&mut self.members) {
            self.unknown("its definition has", &name, &MEMBERS);
        }
        self.tool
    }

    fn wrong(&mut self, rule: &'static str, what: impl Into<Box<str>>) {
        self.tool.wrong.push((rule, what.into()));
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.members.shift_remove(name)
    }

    fn text(&mut self, name: &str, rule: &'static str) -> Option<Box<str>> {
        match self.take(name)? {
            Value::String(text) => Some(text.into()),
            other => {
                self.wrong(rule, format!("the `{name}` of {} must be a string, not {}", self.whose, kind(&other)));
                None
            }
        }
    }

    fn schema(&mut self, name: &str, other: &str, rule: &'static str) -> Option<Given> {
        match (self.take(name), self.take(other)) {
            (Some(schema), None) | (None, Some(schema)) => Some(Given::Value(schema)),
            (Some(schema), Some(_)) => {
                self.wrong(rule, format!("{} has `{name}` and `{other}`, which are the same: keep one", self.whose));
                Some(Given::Value(schema))
            }
            (None, None) => None,
        }
    }

    /// An object of the definition, its members to be taken out.
    fn object(&mut self, name: &str, rule: &'static str) -> Map<String, Value> {
        match self.take(name) {
            None => Map::new(),
            Some(Value::Object(members)) => present(members),
            Some(other) => {
                self.wrong(rule, format!("the `{name}` of {} must be an object, not {}", self.whose, kind(&other)));
                Map::new()
            }
        }
    }

    fn annotations(&mut self) {
        for (name, value) in self.object("annotations", "TOOL-15") {
            let hints = &mut self.tool.annotations;
            let hint = match (name.as_str(), &value) {
                ("title", Value::String(title)) => {
                    hints.title = Some(title.as_str().into());
                    continue;
                }
                ("title", other) => {
                    let what = format!("`annotations.title` of {} must be a string, not {}", self.whose, kind(other));
                    self.wrong("TOOL-15", what);
                    continue;
                }
                ("sensitive", says) => {
                    self.sensitive("annotations.sensitive", says);
                    continue;
                }
                ("readOnlyHint", _) => &mut hints.read_only,
                ("destructiveHint", _) => &mut hints.destructive,
                ("idempotentHint", _) => &mut hints.idempotent,
                ("openWorldHint", _) => &mut hints.open_world,
                _ => {
                    self.unknown(&format!("`annotations` of {} has", self.whose), &name, &ANNOTATIONS);
                    continue;
                }
            };
            match value {
                Value::Bool(says) => *hint = Some(says),
                other => self.wrong(
                    "TOOL-15",
                    format!("`annotations.{name}` of {} must be true or false, not {}", self.whose, kind(&other)),
                ),
            }
        }
    }

    fn icons(&mut self) {
        let icons = match self.take("icons") {
            None => return,
            Some(Value::Array(icons)) => icons,
            Some(other) => {
                return self
                    .wrong("BASE-28", format!("`icons` of its definition must be a list, not {}", kind(&other)));
            }
        };
        for (index, icon) in icons.into_iter().enumerate() {
            match self.icon(index, &icon) {
                Ok(icon) => self.tool.icons.push(icon),
                Err(why) => self.wrong("BASE-28", format!("`icons[{index}]` of its definition: {why}")),
            }
        }
    }

    fn icon(&mut self, index: usize, icon: &Value) -> Result<Icon, String> {
        let members = icon.as_object().ok_or_else(|| format!("an icon is an object, not {}", kind(icon)))?;
        let members = present(members.clone());
        for name in members.keys().filter(|name| !ICON.contains(&name.as_str())) {
            self.unknown(&format!("`icons[{index}]` of its definition has"), name, &ICON);
        }
        let src = members.get("src").and_then(Value::as_str).ok_or("it needs a `src`, a string")?;
        let mut read = Icon::new(src).map_err(|fault| fault.message().to_owned())?;
        match members.get("mimeType") {
            None => {}
            Some(Value::String(mime)) => read = read.mime(mime),
            Some(other) => return Err(format!("`mimeType` must be a string, not {}", kind(other))),
        }
        match members.get("sizes") {
            None => {}
            Some(Value::Array(sizes)) if sizes.iter().all(|size| size.as_str().is_some_and(is_size)) => {
                read.sizes = sizes.iter().filter_map(Value::as_str).map(Into::into).collect();
            }
            Some(_) => return Err("`sizes` must be a list of sizes, such as \"48x48\" or \"any\"".into()),
        }
        read.theme = match members.get("theme").map(|theme| theme.as_str().unwrap_or_default()) {
            None => None,
            Some("light") => Some(Theme::Light),
            Some("dark") => Some(Theme::Dark),
            Some(_) => return Err("`theme` must be \"light\" or \"dark\"".into()),
        };
        Ok(read)
    }

    /// Whether it can be run as a task (TASK-2), in the words of the protocol or in ours.
    fn execution(&mut self) {
        for (name, value) in self.object("execution", "TOOL-3") {
            if name != "taskSupport" {
                self.unknown("`execution` of its definition has", &name, &["taskSupport"]);
                continue;
            }
            self.task_support("execution.taskSupport", &value);
        }
    }

    fn skipped(&mut self) {
        match self.take(SKIP) {
            None => {}
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                self.change(|tool| tool.skip_default_params(names.iter().filter_map(Value::as_str)));
            }
            Some(_) => self.wrong("TOOL-4", format!("`{SKIP}` of its definition must be a list of names")),
        }
    }

    fn unknown(&mut self, has: &str, name: &str, known: &[&str]) {
        let name = mcp_core::fault::reflect(name);
        let meant = nearest(&name, known.iter().copied());
        let meant =
            meant.map_or_else(|| format!("it knows {}", known.join(", ")), |meant| format!("did you mean `{meant}`?"));
        self.wrong("TOOL-3", format!("{has} a member `{name}`, which nobody reads: {meant}"));
    }
}

/// A member that is null says as much as none.
fn present(mut members: Map<String, Value>) -> Map<String, Value> {
    members.retain(|_, value| !value.is_null());
    members
}

fn is_size(size: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    size == "any" || size.split_once('x').is_some_and(|(width, height)| number(width) && number(height))
}

/// Stands for a description that is no text, of a tool that is not built.
const UNREAD: &str = "unread";
const SKIP: &str = "skipDefaultParams";
const MEMBERS: [&str; 17] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "input_schema",
    "outputSchema",
    "output_schema",
    "annotations",
    "icons",
    "_meta",
    "execution",
    "scope",
    "cache",
    "taskSupport",
    "tags",
    "sensitive",
    SKIP,
];
const ANNOTATIONS: [&str; 6] =
    ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "sensitive"];
const ICON: [&str; 4] = ["src", "mimeType", "sizes", "theme"];
