//! What a server takes as a resource, a template and a prompt.

use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};

/// One resource: a [`Resource`], or what [`#[resource]`](macro@crate::resource) made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no resource",
    label = "neither a `Resource` nor a function with `#[resource]`",
    note = "put `#[resource(\"uri\")]` above the function, or build one: `Resource::new(\"app://greeting\").text(\"Good morning!\")`"
)]
pub trait IntoResource {
    /// The resource, as it could have been written by hand.
    fn into_resource(self) -> Resource;
}

impl IntoResource for Resource {
    fn into_resource(self) -> Resource {
        self
    }
}

/// One template of resources: a [`ResourceTemplate`], or what
/// [`#[resource_template]`](macro@crate::resource_template) made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no template of resources",
    label = "neither a `ResourceTemplate` nor a function with `#[resource_template]`",
    note = "put `#[resource_template(\"uri/{{variable}}\")]` above the function, or build one: `ResourceTemplate::new(\"users://{{id}}\").run(|id: u64| ..)`"
)]
pub trait IntoResourceTemplate {
    /// The template, as it could have been written by hand.
    fn into_resource_template(self) -> ResourceTemplate;
}

impl IntoResourceTemplate for ResourceTemplate {
    fn into_resource_template(self) -> ResourceTemplate {
        self
    }
}

/// One prompt: a [`Prompt`], or what [`#[prompt]`](macro@crate::prompt) made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no prompt",
    label = "neither a `Prompt` nor a function with `#[prompt]`",
    note = "put `#[prompt]` above the function, or build one: `Prompt::new(\"name\").description(\"..\").run(|| ..)`"
)]
pub trait IntoPrompt {
    /// The prompt, as it could have been written by hand.
    fn into_prompt(self) -> Prompt;
}

impl IntoPrompt for Prompt {
    fn into_prompt(self) -> Prompt {
        self
    }
}
