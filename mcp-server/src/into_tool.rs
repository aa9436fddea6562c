//! What a server takes as a tool, and as several.

use std::sync::Arc;

use crate::tool::Tool;

/// One tool: a [`Tool`], or what [`#[tool]`](macro@crate::tool) made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    label = "neither a `Tool` nor a function with `#[tool]`",
    note = "put `#[tool]` above the function, or build one: `Tool::new(\"name\").description(\"..\").run(function)`",
    note = "for a value whose methods are tools, put `#[tools]` above its `impl` block and call `.tools(value)`"
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

/// A value whose methods are tools: what [`#[tools]`](macro@crate::tools) makes of an `impl` block.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use mcp_server::{Server, Tool, ToolSet};
///
/// #[derive(Default)]
/// struct Notes(Mutex<Vec<String>>);
///
/// // What `#[tools]` writes.
/// impl ToolSet for Notes {
///     fn tools(this: Arc<Self>) -> Vec<Tool> {
///         let count = Tool::new("count").description("Counts the notes.").run(move || this.0.lock().unwrap().len());
///         vec![count]
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
    /// Its tools, in the order in which clients see them.
    fn tools(this: Arc<Self>) -> Vec<Tool>;
}

/// Several tools: a [`ToolSet`], by value or shared, or a list of [`Tool`]s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no tools",
    label = "neither a list of `Tool`s nor a value whose `impl` block has `#[tools]`",
    note = "put `#[tools]` above its `impl` block, and `#[tool]` above each method that is one",
    note = "for a single tool, call `.tool(..)`"
)]
pub trait IntoTools {
    /// The tools, in the order in which clients see them.
    fn into_tools(self) -> Vec<Tool>;
}

#[diagnostic::do_not_recommend]
impl<T: ToolSet> IntoTools for T {
    fn into_tools(self) -> Vec<Tool> {
        T::tools(Arc::new(self))
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToolSet> IntoTools for Arc<T> {
    fn into_tools(self) -> Vec<Tool> {
        T::tools(self)
    }
}

impl IntoTools for Vec<Tool> {
    fn into_tools(self) -> Vec<Tool> {
        self
    }
}

impl<const N: usize> IntoTools for [Tool; N] {
    fn into_tools(self) -> Vec<Tool> {
        self.into()
    }
}
