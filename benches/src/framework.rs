//! The same `tools/call` through the framework: a function with `#[tool]`, its arguments checked against what was published.

use std::sync::Arc;

use bytes::Bytes;
use mcp_core::drive::{Handler as _, Link, Running, Uplink};
use mcp_core::{
    CallId, Caller, Exchange, Fault, Head, Input, Machine, MachineId, Note, Outcome, Output, Pipe, Time, wire,
};
use mcp_server::{App, IntoTool as _, State, tool, tools};

use crate::{INITIALIZE, MODERN_HEADERS};

/// Say it again.
#[tool]
fn echo(#[arg(desc = "What to say")] message: String) -> String {
    message
}

/// Say it again, after a look at the shared state.
#[tool]
async fn stateful(State(_prefix): State<String>, message: String) -> String {
    message
}

struct Methods;

#[tools]
impl Methods {
    /// Say it again.
    #[tool]
    fn method(&self, message: String) -> String {
        message
    }
}

/// A server of the framework with that many tools, one of them `echo`.
#[derive(Debug)]
pub struct Framework {
    app: App,
    caller: Caller,
    uplink: Arc<Nowhere>,
}

/// Nobody listens to a call that answers at once.
#[derive(Debug)]
struct Nowhere;

impl Uplink for Nowhere {
    fn note(&self, _: CallId, _: Note) {}

    fn is_abandoned(&self, _: CallId) -> bool {
        false
    }
}

impl Framework {
    /// A server with `tools` tools.
    ///
    /// # Panics
    ///
    /// Never: the definitions are fixed.
    #[must_use]
    pub fn new(tools: u64) -> Self {
        let server = mcp_server::Server::new("bench", "1.0.0").state(String::new()).tool(echo);
        let server = (1..tools).fold(server, |server, n| match n % 3 {
            0 => server.tool(echo.into_tool().renamed(format!("echo_{n}"))),
            1 => server.tool(stateful.into_tool().renamed(format!("stateful_{n}"))),
            _ => server.tools(
                mcp_server::ToolSet::entries(Arc::new(Methods))
                    .tools
                    .into_iter()
                    .map(|tool| tool.renamed(format!("method_{n}")))
                    .collect::<Vec<_>>(),
            ),
        });
        let app = server.build().expect("the definitions are valid");
        Self { app, caller: Caller::anonymous(), uplink: Arc::new(Nowhere) }
    }

    /// One modern request over HTTP: a new machine, its headers checked, its answer in `out`.
    pub fn exchange(&self, body: &Bytes, out: &mut Vec<u8>) {
        let head = Head::read(MODERN_HEADERS);
        let mut exchange = Exchange::new(MachineId(1), Arc::clone(self.app.endpoint()), Time(0));
        self.drive(&mut exchange, body, Some(&head), out);
    }

    /// A byte stream whose legacy handshake is made.
    #[must_use]
    pub fn pipe(&self) -> Pipe {
        let mut pipe = Pipe::new(MachineId(1), Arc::clone(self.app.endpoint()), Time(0));
        self.drive(&mut pipe, &Bytes::from_static(INITIALIZE.as_bytes()), None, &mut Vec::new());
        pipe
    }

    /// One message to a machine, until its answer is in `out`.
    ///
    /// # Panics
    ///
    /// If `body` is no message.
    pub fn drive(&self, machine: &mut impl Machine, body: &Bytes, head: Option<&Head<'_>>, out: &mut Vec<u8>) {
        let message = wire::read(body.clone(), self.app.endpoint().limits()).expect("a valid message");
        let view = self.app.view(&self.caller);
        machine.handle(Time(1), Input::Message { message, head, from: &self.caller, view: &view });
        while let Some(output) = machine.poll_output() {
            match output {
                Output::Call(ticket, call) => {
                    let link = Link::new(call.id, Arc::clone(&self.uplink) as Arc<dyn Uplink>);
                    let outcome = match self.app.call(*call, link) {
                        Running::Done(outcome) => outcome,
                        Running::Later(_) => Outcome::Fail(Fault::internal("the tool is plain")),
                    };
                    machine.handle(Time(1), Input::Done { ticket, outcome });
                }
                Output::Ready(stream) => drop(machine.pull(stream, out, usize::MAX)),
                _ => {}
            }
        }
    }
}
