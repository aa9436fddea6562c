//! What a server takes as a tool, and as several.

use std::sync::Arc;

use crate::defaults::Defaults;
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::tool::Tool;
use crate::ui::UiApp;

/// One tool: a [`Tool`], or what [`#[tool]`](macro@crate::tool) made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    label = "neither a `Tool` nor a function with `#[tool]`",
    note = "put `#[tool]` above the function, or build one: `Tool::new(\"name\").description(\"..\").run(function)`",
    note = "for a value whose methods are tools, put `#[tools]` above its `impl` block and call `.tools(value)`",
    note = "what has another attribute is registered by its name: `#[app]` with `.app(..)`, `#[prompt]` with `.prompt(..)`, `#[resource]` with `.resource(..)`, `#[resource_template]` with `.resource_template(..)`"
)]
pub trait IntoTool {
    /// The tool, as it could have been written by hand.
    fn into_tool(self) -> Tool;
}

impl IntoTool for Tool {
    fn into_tool(self) -> Tool {
        self
    }
}

/// A value whose methods are tools, prompts and resources: what [`#[tools]`](macro@crate::tools) makes of an `impl` block.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use mcp_server::{Entries, Server, Tool, ToolSet};
///
/// #[derive(Default)]
/// struct Notes(Mutex<Vec<String>>);
///
/// // What `#[tools]` writes.
/// impl ToolSet for Notes {
///     fn entries(this: Arc<Self>) -> Entries {
///         let mut entries = Entries::default();
///         let count = Tool::new("count").description("Counts the notes.").run(move || this.0.lock().unwrap().len());
///         entries.tools.push(count);
///         entries
///     }
/// }
///
/// Server::new("my-app", "1.0.0").tools(Notes::default()).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools",
    label = "its methods are no tools",
    note = "put `#[tools]` above its `impl` block, and `#[tool]` above each method that is one",
    note = "for a single tool, call `.tool(..)`"
)]
pub trait ToolSet: Send + Sync + Sized + 'static {
    /// All that its methods are.
    fn entries(this: Arc<Self>) -> Entries;
}

/// What can be registered together: see [`ToolSet`]. Clients see each list in its order, and the tools of apps after the others.
#[derive(Debug, Default)]
#[non_exhaustive]
#[must_use = "entries do nothing until they are registered with `Server::tools`"]
pub struct Entries {
    /// Tools.
    pub tools: Vec<Tool>,
    /// Tools with a page.
    pub apps: Vec<UiApp>,
    /// Resources.
    pub resources: Vec<Resource>,
    /// Templates of resources.
    pub resource_templates: Vec<ResourceTemplate>,
    /// Prompts.
    pub prompts: Vec<Prompt>,
    /// The module that they are, if they are one: its name, and what all of them have.
    pub(crate) module: Option<(Box<str>, Defaults)>,
}

impl Entries {
    /// Makes a [`Module`](crate::Module) of them, as [`#[tools]`](macro@crate::tools) does.
    pub fn in_module(mut self, name: impl AsRef<str>, defaults: Defaults) -> Self {
        self.module = Some((name.as_ref().into(), defaults));
        self
    }
}

impl From<Vec<Tool>> for Entries {
    fn from(tools: Vec<Tool>) -> Self {
        Self { tools, ..Self::default() }
    }
}

/// Several tools: a [`ToolSet`], by value or shared, with all else that it has; or a list of [`Tool`]s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools",
    label = "neither a list of `Tool`s nor a value whose `impl` block has `#[tools]`",
    note = "put `#[tools]` above its `impl` block, and `#[tool]` above each method that is one",
    note = "for a single tool, call `.tool(..)`"
)]
pub trait IntoTools {
    /// All of them.
    fn into_tools(self) -> Entries;
}

#[diagnostic::do_not_recommend]
impl<T: ToolSet> IntoTools for T {
    fn into_tools(self) -> Entries {
        T::entries(Arc::new(self))
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToolSet> IntoTools for Arc<T> {
    fn into_tools(self) -> Entries {
        T::entries(self)
    }
}

impl IntoTools for Entries {
    fn into_tools(self) -> Entries {
        self
    }
}

impl IntoTools for Vec<Tool> {
    fn into_tools(self) -> Entries {
        self.into()
    }
}

impl<const N: usize> IntoTools for [Tool; N] {
    fn into_tools(self) -> Entries {
        Vec::from(self).into()
    }
}
