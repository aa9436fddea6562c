//! A tool and its page, registered as one.

use std::fmt;
use std::path::PathBuf;

use mcp_core::fault::reflect;

use super::Ui;
use crate::guard::guards;
use crate::into_tool::IntoTool;
use crate::resource::Resource;
use crate::tool::Tool;

/// A tool together with its page, to be registered with [`Server::app`](crate::Server::app): MCP Apps in one step.
///
/// The page is a resource at `ui://`, the name of the tool and the name of the file, which the tool links to:
///
/// ```
/// use mcp_server::{Json, Server, Tool, Ui, UiApp, json};
///
/// # #[derive(serde::Serialize, schemars::JsonSchema)]
/// # struct Status { users: u32 }
/// let dashboard = Tool::new("dashboard")
///     .description("Shows how things are.")
///     .run(|| Json(Status { users: 3 }).with_text("Three users are here."));
///
/// // `ui://dashboard/dashboard.html`. In a program, `include_str!("dashboard.html")`, or `.view_file("ui/dashboard.html")`.
/// let app = UiApp::new(dashboard)
///     .view("dashboard.html", "<!doctype html><title>Dashboard</title>")
///     .ui(Ui::new().prefers_border(true));
/// Server::new("my-app", "1.0.0").app(app).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
#[must_use = "an app does nothing until it is registered with `Server::app`"]
pub struct UiApp {
    tool: Tool,
    view: Option<View>,
    ui: Option<Ui>,
}

/// Where the page is.
enum View {
    Text { name: Box<str>, html: String },
    File(PathBuf),
}

impl UiApp {
    /// The tool of an app.
    pub fn new(tool: impl IntoTool) -> Self {
        Self { tool: tool.into_tool(), view: None, ui: None }
    }

    /// Its page: the name of a file, and the HTML.
    pub fn view(mut self, name: impl AsRef<str>, html: impl Into<String>) -> Self {
        self.view = Some(View::Text { name: name.as_ref().into(), html: html.into() });
        self
    }

    /// The file that holds its page, read anew each time.
    pub fn view_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.view = Some(View::File(path.into()));
        self
    }

    /// What the page may do, and how it is shown.
    pub fn ui(mut self, ui: Ui) -> Self {
        self.ui = Some(ui);
        self
    }

    guards!(tool.guards, tool.wrong);

    /// The two of them. Without a page there is the tool alone, which says what it lacks.
    pub(crate) fn split(self) -> (Tool, Option<Resource>) {
        let Self { mut tool, view, ui } = self;
        let name = match &view {
            Some(View::Text { name, .. }) => Some(name.clone()),
            Some(View::File(path)) => path.file_name().and_then(|name| name.to_str()).map(Into::into),
            None => None,
        };
        let (Some(view), Some(name)) = (view, name) else {
            tool.wrong("APP-2", "its app has no page: give it one with `.view(..)` or `.view_file(..)`");
            return (tool, None);
        };
        if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            let name = reflect(&name);
            tool.wrong(
                "APP-2",
                format!("the name of its page is one of a file, such as `page.html`, and `{name}` is none"),
            );
            return (tool, None);
        }
        let uri = format!("ui://{}/{name}", tool.name());
        let page = Resource::app(&uri).made_at(tool.place()).description(format!("UI for {}", tool.name()));
        let page = match view {
            View::Text { html, .. } => page.text(html),
            View::File(path) => page.file(path),
        };
        let page = match ui {
            Some(ui) => page.ui(ui),
            None => page,
        };
        let page = page.guarded_as(&tool);
        (tool.ui(uri), Some(page))
    }
}

impl fmt::Debug for UiApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UiApp")
            .field("tool", &self.tool)
            .field("has_view", &self.view.is_some())
            .finish_non_exhaustive()
    }
}

/// A tool and its page: a [`UiApp`], or what [`#[app]`](macro@crate::app) made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no app",
    label = "neither a `UiApp` nor a function with `#[app]`",
    note = "put `#[app(view = \"page.html\")]` above the function, or build one: `UiApp::new(tool).view(\"page.html\", include_str!(\"page.html\"))`"
)]
pub trait IntoApp {
    /// The app, as it could have been written by hand.
    fn into_app(self) -> UiApp;
}

impl IntoApp for UiApp {
    fn into_app(self) -> UiApp {
        self
    }
}
