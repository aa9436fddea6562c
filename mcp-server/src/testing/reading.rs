//! What the client asks of resources and prompts.

use std::future::Future;
use std::panic::Location;

use serde::Serialize;
use serde_json::{Value, json};

use super::calling::Calling;
use super::client::Client;
use super::listed::{ListedPrompt, ListedResource, ListedTemplate};
use super::outgoing::Outgoing;

impl Client {
    /// Reads a resource.
    ///
    /// ```
    /// # use mcp_server::testing::{Client, block_on};
    /// # use mcp_server::{Resource, Server};
    /// # let app = Server::new("my-app", "1.0.0").resource(Resource::new("app://greeting").text("Hello!")).build()?;
    /// # block_on(async {
    /// let mut client = Client::new(&app);
    /// client.read("app://greeting").await.assert_text("Hello!");
    /// client.read("app://farewell").await.assert_fault(-32002);
    /// # });
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When it is awaited, if it can never be answered.
    #[track_caller]
    pub fn read(&mut self, uri: impl AsRef<str>) -> Calling<'_> {
        self.run("resources/read", &json!({"uri": uri.as_ref()}))
    }

    /// Gets a prompt. The arguments are JSON, or whatever serde makes a JSON object of; `()` are none.
    ///
    /// ```
    /// # use mcp_server::testing::{Client, block_on};
    /// # use mcp_server::{Prompt, Server, json};
    /// # let greet = Prompt::new("greet").required("name", "Whom").run(|name: String| format!("Greet {name}."));
    /// # let app = Server::new("my-app", "1.0.0").prompt(greet).build()?;
    /// # block_on(async {
    /// let mut client = Client::new(&app);
    /// client.get_prompt("greet", json!({"name": "Ada"})).await.assert_text("Greet Ada.");
    /// client.get_prompt("greet", ()).await.assert_fault(-32602).assert_fault_contains("name");
    /// # });
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Client::call`].
    #[track_caller]
    pub fn get_prompt(&mut self, name: impl AsRef<str>, arguments: impl Serialize) -> Calling<'_> {
        let name = name.as_ref();
        match serde_json::to_value(arguments) {
            Ok(arguments) => self.run("prompts/get", &json!({"name": name, "arguments": arguments})),
            Err(error) => panic!("the arguments of `{name}` cannot be written as JSON: {error}"),
        }
    }

    /// Asks for proposals for an argument of a prompt, of which that much is typed.
    ///
    /// ```
    /// # use mcp_server::testing::{Client, block_on};
    /// # use mcp_server::{Prompt, Server, json};
    /// # let trip = Prompt::new("trip").argument("country", "Where to").argument("city", "Which").run(|| "x");
    /// # let trip = trip.complete_from("city", ["Lyon", "Paris"]);
    /// # let app = Server::new("my-app", "1.0.0").prompt(trip).build()?;
    /// # block_on(async {
    /// let mut client = Client::new(&app);
    /// let answer = client.complete_prompt("trip", "city", "Pa").context(json!({"country": "France"})).await;
    /// answer.assert_values(["Paris"]);
    /// # });
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When it is awaited, if it can never be answered.
    #[track_caller]
    pub fn complete_prompt(
        &mut self,
        prompt: impl AsRef<str>,
        argument: impl AsRef<str>,
        typed: impl AsRef<str>,
    ) -> Calling<'_> {
        self.complete(&json!({"type": "ref/prompt", "name": prompt.as_ref()}), argument.as_ref(), typed.as_ref())
    }

    /// Asks for proposals for a variable of a template, of which that much is typed.
    ///
    /// # Panics
    ///
    /// When it is awaited, if it can never be answered.
    #[track_caller]
    pub fn complete_template(
        &mut self,
        template: impl AsRef<str>,
        variable: impl AsRef<str>,
        typed: impl AsRef<str>,
    ) -> Calling<'_> {
        self.complete(&json!({"type": "ref/resource", "uri": template.as_ref()}), variable.as_ref(), typed.as_ref())
    }

    /// Wants to hear when what a resource holds has changed: in revisions before 2026-07-28 (RES-7).
    ///
    /// # Panics
    ///
    /// When it is awaited, if it can never be answered.
    #[track_caller]
    pub fn subscribe(&mut self, uri: impl AsRef<str>) -> Calling<'_> {
        self.request("resources/subscribe", json!({"uri": uri.as_ref()}))
    }

    /// Wants to hear of it no more.
    ///
    /// # Panics
    ///
    /// When it is awaited, if it can never be answered.
    #[track_caller]
    pub fn unsubscribe(&mut self, uri: impl AsRef<str>) -> Calling<'_> {
        self.request("resources/unsubscribe", json!({"uri": uri.as_ref()}))
    }

    /// All resources that it may see, in the order of the server.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    #[track_caller]
    pub fn list_resources(&mut self) -> impl Future<Output = Vec<ListedResource>> + Send {
        let listed = self.list("resources/list", "resources");
        async move { listed.await.into_iter().map(ListedResource::read).collect() }
    }

    /// All templates of resources that it may see, in the order of the server.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    #[track_caller]
    pub fn list_resource_templates(&mut self) -> impl Future<Output = Vec<ListedTemplate>> + Send {
        let listed = self.list("resources/templates/list", "resourceTemplates");
        async move { listed.await.into_iter().map(ListedTemplate::read).collect() }
    }

    /// All prompts that it may see, in the order of the server.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    #[track_caller]
    pub fn list_prompts(&mut self) -> impl Future<Output = Vec<ListedPrompt>> + Send {
        let listed = self.list("prompts/list", "prompts");
        async move { listed.await.into_iter().map(ListedPrompt::read).collect() }
    }

    #[track_caller]
    fn complete(&mut self, of: &Value, argument: &str, typed: &str) -> Calling<'_> {
        self.run("completion/complete", &json!({"ref": of, "argument": {"name": argument, "value": typed}}))
    }

    #[track_caller]
    fn run(&mut self, method: &str, params: &Value) -> Calling<'_> {
        Calling::new(self, Outgoing::running(method, params), Location::caller())
    }
}
