//! Finding tools that are not listed, and calling them by the path of a direct call.

use std::sync::Arc;

use mcp_core::catalog::{self, View};
use mcp_core::fault::{Code, Fault, reflect};
use mcp_core::{Call, Caller, Kind};
use serde_json::Value;

use super::{App, Table};
use crate::code::Entry;
use crate::ctx::Ctx;
use crate::focus::{self, Focus};

impl App {
    /// What of the tools that this caller may see fits the query.
    pub(crate) fn discover(&self, ctx: &Ctx, query: &str, limit: usize) -> Value {
        let table = self.0.table.load();
        let view = self.seen(&table, ctx.caller(), ctx.raw_assigns());
        let told = is_told_of_scopes(ctx.call());
        let tools = view.tools().filter(|tool| {
            table.is_findable(tool.handle()) && (told || self.0.endpoint.permits(ctx.caller(), tool.scopes()))
        });
        focus::found(tools, query, limit)
    }

    /// If the call is to call another tool: that tool's code, and the call as it would be of it.
    pub(super) fn redirected(&self, table: &Table, call: &mut Call) -> Result<Option<Arc<Entry>>, Fault> {
        let Some(focus) = &self.0.states.focus else { return Ok(None) };
        let Kind::Tool { tool, arguments, .. } = &call.kind else { return Ok(None) };
        // Another tool may have the name by now.
        if table.focus != Some(*tool) {
            return Ok(None);
        }
        let Some((name, arguments)) = table.entry(&call.kind).and_then(|own| focus::target(&own, arguments)) else {
            return Ok(None);
        };
        let view = self.seen(table, &call.caller, &call.assigns);
        let found = self.admitted(&view, focus, &name, call)?;
        call.kind =
            Kind::Tool { tool: found.handle(), name: found.shared_name(), arguments: arguments.into_bytes().into() };
        Ok(table.entry(&call.kind))
    }

    /// As the core looks for the tool of a direct call, and in that order.
    fn admitted<'a>(&self, view: &'a View, focus: &Focus, name: &str, call: &Call) -> Result<&'a catalog::Tool, Fault> {
        let unknown = || Fault::invalid_params(format!("Unknown tool: {}", reflect(name)));
        let tool = view.tool(name).filter(|tool| tool.name() != focus.call()).ok_or_else(unknown)?;
        if !self.0.endpoint.permits(&call.caller, tool.scopes()) {
            let told = is_told_of_scopes(call);
            return Err(if told { Fault::insufficient_scope(tool.scopes()) } else { unknown() });
        }
        match call.peer.capabilities.missing(tool.needs()) {
            None => Ok(tool),
            Some(missing) => {
                let message = format!("Missing required client capability: {missing}");
                let data = format!("{{\"requiredCapabilities\":{missing}}}");
                Err(Fault::new(Code::MISSING_CAPABILITY, message).with_data(data))
            }
        }
    }

    fn seen(&self, table: &Table, caller: &Caller, assigns: &bytes::Bytes) -> View {
        self.view_of(table, caller).with_assigns(assigns.clone())
    }
}

/// On a byte stream nobody without a principal can be told to come back with another token.
const fn is_told_of_scopes(call: &Call) -> bool {
    !call.byte_stream || call.caller.principal.is_some()
}
