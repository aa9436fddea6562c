//! What a server takes as a resource, a template and a prompt.

use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};

/// One resource: a [`Resource`], or what a macro made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no resource",
    label = "no `Resource`",
    note = "build one: `Resource::new(\"app://greeting\").text(\"Good morning!\")`"
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

/// One template of resources: a [`ResourceTemplate`], or what a macro made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no template of resources",
    label = "no `ResourceTemplate`",
    note = "build one: `ResourceTemplate::new(\"users://{{id}}\").run(|id: u64| ..)`"
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

/// One prompt: a [`Prompt`], or what a macro made of a function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no prompt",
    label = "no `Prompt`",
    note = "build one: `Prompt::new(\"name\").description(\"..\").run(|| ..)`"
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
