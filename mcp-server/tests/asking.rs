//! Asking the client with `Ctx::ask`, in both eras.

#[path = "asking/elsewhere.rs"]
mod elsewhere;
#[path = "asking/forms.rs"]
mod forms;
#[path = "asking/once.rs"]
mod once;
#[path = "asking/others.rs"]
mod others;
#[path = "asking/retries.rs"]
mod retries;
#[path = "asking/runs.rs"]
mod runs;
#[path = "asking/samples.rs"]
mod samples;

use mcp_server::testing::{Builder, Client};
use mcp_server::{Ability, App, Revision, Server, Tool, ToolFn};

/// Everything that a client can declare.
const ABLE: [Ability; 5] =
    [Ability::ElicitationForm, Ability::ElicitationUrl, Ability::Sampling, Ability::SamplingTools, Ability::Roots];

/// The revisions that have forms.
const ASKING: [Revision; 3] = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN];

/// A server whose only tool is that.
fn app<M>(code: impl ToolFn<M>) -> App {
    Server::new("asks", "1.0.0").tool(Tool::new("ask").description("Asks.").run(code)).build().expect("it can be built")
}

/// A client that declares everything.
fn able(app: &App, revision: Revision) -> Builder {
    ABLE.into_iter().fold(Client::builder(app).revision(revision), Builder::can)
}
