//! The tool.

use std::sync::Arc;

use mcp_core::answer::{Answer, Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Defect, Handle, Tool, View};
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::{Call, Caller, Endpoint, Fault, Kind, Outcome};

const SCHEMA: &str = r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;

/// A server that says what it is told.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    endpoint: Arc<Endpoint>,
    view: View,
}

impl Echo {
    pub(crate) fn new() -> Result<Self, Defect> {
        let first = |mut defects: Vec<Defect>| defects.remove(0);
        let tool = Tool::new("echo", Handle(1), SCHEMA).with_description("Says what it is told.");
        let catalog = Catalog::builder().tool(tool).build().map_err(first)?;
        let endpoint =
            Endpoint::builder(Implementation::new("on-smol", "0.1.0")).tools(false).build().map_err(first)?;
        Ok(Self { endpoint, view: View::all(catalog) })
    }
}

impl Handler for Echo {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        self.view.clone()
    }

    fn call(&self, call: Call, _: Link) -> Running {
        let Kind::Tool { arguments, .. } = &call.kind else {
            return Running::Done(Outcome::Fail(Fault::internal("There are tools only")));
        };
        let text = serde_json::from_slice(arguments).ok().and_then(|arguments: serde_json::Value| {
            arguments.get("text").and_then(serde_json::Value::as_str).map(str::to_owned)
        });
        let answer = match text {
            Some(text) => ToolAnswer::text(text),
            None => ToolAnswer::error("`text` must be there, and be a string"),
        };
        Running::Done(Outcome::Complete(Answer::Tool(answer)))
    }
}
