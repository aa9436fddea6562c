//! Tools that are defined in a file: names, descriptions and schemas there, code here.

mod read;
#[cfg(feature = "toml")]
mod toml;

use std::fmt;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

use mcp_core::catalog::Defect;
use mcp_core::fault::reflect;

use self::read::Read;
use crate::check::nearest;
#[cfg(feature = "tokio")]
use crate::code::Plain;
use crate::code::ToolFn;
use crate::into_tool::{Entries, IntoTools};
use crate::tool::{Origin, Tool};

/// Definitions of tools in a file or a text, JSON or TOML, to which code is bound by name. Needs the feature `validate`, since
/// the schemas are data; and `toml` for TOML.
///
/// ```
/// use mcp_server::{Manifest, Server, Value};
///
/// let manifest = Manifest::json(
///     r#"{"tools": [{
///         "name": "area",
///         "description": "Computes the area of a rectangle.",
///         "inputSchema": {
///             "type": "object",
///             "properties": {"width": {"type": "number"}, "height": {"type": "number"}},
///             "required": ["width", "height"]
///         },
///         "annotations": {"readOnlyHint": true},
///         "scope": "shapes:read"
///     }]}"#,
/// )
/// .run("area", |args: Value| Some(args["width"].as_f64()? * args["height"].as_f64()?));
/// # #[cfg(feature = "validate")]
/// Server::new("my-app", "1.0.0").tools(manifest).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// A manifest has a list `tools` (in TOML, each is a `[[tools]]`); in JSON, the list alone or a single definition will do. A
/// definition has what [`Tool::from_json`] knows. Beside the list, `defaults` has what is the same for all of them:
///
/// | `defaults` | how it is merged |
/// |---|---|
/// | `inputSchema`, with `properties` and `required` | before the tool's; one that the tool has too is the tool's, and one in its list `skipDefaultParams` is left out. Code that reads a type of its own has them as fields of that, or as [`Common<Value>`](crate::Common) |
/// | `tags`, `_meta`, `annotations`, `cache` | recursively; what the definition says wins |
/// | `scope`, `sensitive` (as destructive tools are) | added: nothing takes an obligation back |
///
/// In a [`Module`](crate::Module), its tools have the module's defaults as well, and may skip its params.
///
/// Nothing fails here. When the server is built, or changed by [`Edit::add_all`](crate::Edit::add_all), everything that is wrong is told
/// at once, and nothing is registered: what cannot be read, by line and column; what is wrong with a definition, by file, index
/// and name; members that nobody knows; names that are there twice; definitions without code, and code without a definition.
#[must_use = "a manifest does nothing until its tools are registered with `Server::tools`"]
pub struct Manifest {
    /// What it is called in errors.
    label: Box<str>,
    place: &'static Location<'static>,
    tools: Vec<Tool>,
    defects: Vec<Defect>,
    /// Whether there may be more tools in it than could be read.
    unread: bool,
}

impl Manifest {
    /// From JSON text.
    #[track_caller]
    pub fn json(text: impl AsRef<str>) -> Self {
        Self::of(&here(), read::json(text.as_ref()))
    }

    /// From TOML text. Dates become texts.
    #[cfg(feature = "toml")]
    #[track_caller]
    pub fn toml(text: impl AsRef<str>) -> Self {
        Self::of(&here(), self::toml::read(text.as_ref()))
    }

    /// From a file whose name ends in `.json` or `.toml`, beside the working directory; it is read here and now. What is to be in
    /// the program itself is given as [`json`](Self::json)`(include_str!("tools.json"))`.
    #[track_caller]
    pub fn file(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let read = match std::fs::read_to_string(path) {
            Err(error) => Err(format!("it cannot be read: {error}")),
            Ok(text) => match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => read::json(&text),
                #[cfg(feature = "toml")]
                Some("toml") => self::toml::read(&text),
                #[cfg(not(feature = "toml"))]
                Some("toml") => Err("to read TOML, give `mcp-server` the feature `toml`".into()),
                _ => Err("its name must end in `.json` or `.toml`".into()),
            },
        };
        Self::of(&path.display().to_string(), read)
    }

    /// Binds code to the tool of that name: as [`Tool::run`] takes it. It takes the arguments as one `serde_json::Value`, which the
    /// schema has judged and filled in, or as a type of its own.
    ///
    /// Such a type is not compared with the schema, neither here nor when the server is built. The schema, which clients see, judges
    /// first; what it lets in is then read by the type. A field that the type needs and the schema does not require, or a value that
    /// the schema allows and the type does not, is found when a call comes: the code does not run, and the model is told what the
    /// type says (TOOL-9). So keep both in step, or take a `Value`. A result that breaks the `outputSchema` is not sent: see
    /// [`Tool::output_schema`].
    #[track_caller]
    pub fn run<F, M>(self, name: impl AsRef<str>, code: F) -> Self
    where
        F: ToolFn<M>,
    {
        self.bind(name.as_ref(), Location::caller(), |tool| tool.run(code))
    }

    /// The same with plain code that blocks: as [`Tool::run_blocking`] takes it.
    #[cfg(feature = "tokio")]
    #[track_caller]
    pub fn run_blocking<F, M>(self, name: impl AsRef<str>, code: F) -> Self
    where
        F: ToolFn<Plain<M>>,
    {
        self.bind(name.as_ref(), Location::caller(), |tool| tool.run_blocking(code))
    }

    #[track_caller]
    fn of(label: &str, read: Result<Read, String>) -> Self {
        let place = Location::caller();
        let mut manifest = Self { label: label.into(), place, tools: Vec::new(), defects: Vec::new(), unread: false };
        match read {
            Err(why) => {
                manifest.unread = true;
                manifest.wrong("TOOL-3", why);
            }
            Ok(Read { definitions, mut defaults, faults }) => {
                manifest.unread = definitions.is_empty() && !faults.is_empty();
                faults.into_iter().for_each(|fault| manifest.wrong("TOOL-3", fault));
                std::mem::take(&mut defaults.wrong).into_iter().for_each(|(rule, what)| manifest.wrong(rule, what));
                let defaults = Arc::new(defaults);
                let tools = definitions.into_iter().map(|definition| Tool::from_value(definition).sharing(&defaults));
                manifest.define(tools.collect());
            }
        }
        manifest
    }

    /// Each with its place; of two with one name, the first.
    fn define(&mut self, tools: Vec<Tool>) {
        let mut indices = std::collections::HashMap::<String, usize>::new();
        for (index, tool) in tools.into_iter().enumerate() {
            let name = tool.name().to_owned();
            let first = if name.is_empty() { index } else { *indices.entry(name.clone()).or_insert(index) };
            if first != index {
                let name = reflect(&name);
                let what = format!("tools[{first}] and tools[{index}] are both called `{name}`: rename one");
                self.wrong("TOOL-5", what);
                continue;
            }
            let place = format!("{}, tools[{index}]", self.label);
            self.tools.push(tool.with_origin(Origin::At(place.into()), self.place));
        }
    }

    fn bind(mut self, name: &str, place: &Location<'_>, give: impl FnOnce(Tool) -> Tool) -> Self {
        let Some(index) = self.tools.iter().position(|tool| tool.name() == name) else {
            if !self.unread {
                let name = reflect(name);
                let what = match nearest(&name, self.tools.iter().map(Tool::name)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "define it, or take the code away".into(),
                };
                self.wrong(
                    "TOOL-6",
                    format!("there is code for `{name}` at {place}, and no such tool is defined: {what}"),
                );
            }
            return self;
        };
        if self.tools[index].has_code() {
            let name = reflect(name);
            self.wrong("TOOL-6", format!("there is code for `{name}` a second time at {place}: keep one"));
            return self;
        }
        let tool = self.tools.remove(index);
        self.tools.insert(index, give(tool));
        self
    }

    fn wrong(&mut self, rule: &'static str, what: impl Into<Box<str>>) {
        self.defects.push(Defect { entry: self.label.clone(), rule, message: what.into() });
    }
}

#[diagnostic::do_not_recommend]
impl IntoTools for Manifest {
    fn into_tools(self) -> Entries {
        let Self { mut tools, defects, place, .. } = self;
        for tool in &mut tools {
            if !tool.has_code() {
                let code = format!("it has no code: bind some with `.run({:?}, ..)`", reflect(tool.name()));
                tool.wrong("TOOL-6", code);
            }
        }
        // They have been told.
        let bound = |tool: Tool| if tool.has_code() { tool } else { tool.run(|| ()) };
        let mut tools: Vec<Tool> = tools.into_iter().map(bound).collect();
        if !defects.is_empty() {
            tools.insert(0, Tool::new("").with_origin(Origin::Faults(defects), place));
        }
        tools.into()
    }
}

impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manifest").field("label", &self.label).field("tools", &self.tools).finish_non_exhaustive()
    }
}

/// What a text without a name is called.
#[track_caller]
fn here() -> String {
    format!("manifest at {}", Location::caller())
}
