//! What the macros write gives no warnings in an author's crate, however strict it is. This file is as if it were one: what is
//! `pub` here can be seen from the root.

#![deny(warnings, missing_docs, unreachable_pub, missing_debug_implementations, missing_copy_implementations)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery, unused, nonstandard_style, rust_2018_idioms)]
#![deny(unused_qualifications, unused_lifetimes, single_use_lifetimes, trivial_casts, redundant_lifetimes)]
#![deny(
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    let_underscore_drop,
    unit_bindings,
    non_local_definitions
)]

use std::sync::Arc;

use mcp_server::{
    Args, Arguments, Completing, Ctx, Json, PromptMessage, State, app, prompt, resource, resource_template, tool, tools,
};

/// Says hello.
#[tool]
pub async fn hello(#[arg(desc = "Person's name")] name: String) -> String {
    format!("Hello, {name}!")
}

#[tool(description = "Has no doc comment.", open, coerce)]
#[must_use]
pub fn described(ctx: Ctx, #[arg(default = "a")] text: String, #[arg(default, min = 0, max = 3)] number: u8) -> String {
    format!("{} {text} {number}", ctx.tool())
}

/// Is found by another name.
#[tool]
#[doc(alias = "found")]
pub fn aliased() {}

/// Is not used.
#[tool]
#[expect(dead_code)]
async fn dead(number: u8) -> u8 {
    number
}

/// What is looked for.
#[derive(Debug, Clone, Arguments)]
pub struct Search {
    /// Words
    #[arg(min_length = 1, validate = is_word)]
    pub words: Vec<String>,
    /// Where
    pub place: Option<Place>,
    /// Others
    #[arg(rest)]
    pub rest: std::collections::BTreeMap<String, u8>,
}

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Arguments)]
pub enum Place {
    /// At home
    Home,
    /// Out there
    World,
}

fn is_word(words: &[String]) -> bool {
    words.iter().all(|word| !word.contains(' '))
}

/// Searches.
#[tool(blocking)]
pub fn search(State(prefix): State<String>, Args(search): Args<Search>) -> String {
    format!("{prefix} {search:?}")
}

/// All of it.
#[resource("all://it", mime = "text/plain", size = 3, audience = ["user"], priority = 1)]
pub fn all(State(prefix): State<String>) -> String {
    prefix.to_string()
}

#[resource("ui://one/page.html", csp(connect = ["https://a.example"]), prefers_border)]
#[must_use]
pub async fn page() -> &'static str {
    "<!doctype html>"
}

/// One of many.
#[resource_template("all://{id}/{name}{?many}")]
pub async fn one(
    #[arg(complete = ["1", "2"])] id: u8,
    #[arg(complete = names)] name: String,
    many: Option<bool>,
) -> Json<u8> {
    Json(if many.unwrap_or(name.is_empty()) { id } else { 0 })
}

#[resource_template("whole://{words}/{place}", blocking)]
pub fn whole(Args(place): Args<Where>) -> String {
    format!("{place:?}")
}

/// Where.
#[derive(Debug, Clone, Copy, Arguments)]
pub struct Where {
    /// Where
    pub words: u8,
    /// There
    pub place: Place,
}

#[allow(clippy::needless_pass_by_value)]
fn names(typed: Completing) -> Vec<String> {
    vec![typed.value]
}

/// Says something.
#[prompt(title = "Say")]
pub fn say(
    ctx: Ctx,
    #[arg(min_length = 1, complete = names)] text: String,
    place: Option<Place>,
) -> [PromptMessage; 1] {
    [PromptMessage::user(format!("{text} {place:?} {}", ctx.tool()))]
}

/// Says where.
#[prompt]
pub async fn say_where(Args(place): Args<Where>) -> String {
    format!("{place:?}")
}

/// Shows something.
#[app(view = "tests/macros/page.html", permissions(camera), visibility = ["model"])]
pub fn show(#[arg(default = 1)] number: u8) -> u8 {
    number
}

/// A desk.
#[derive(Debug, Clone, Copy)]
pub struct Desk {
    /// What is added.
    pub more: u8,
}

#[tools]
impl Desk {
    /// Adds.
    #[tool]
    pub async fn add(&self, number: u8) -> u8 {
        number + self.more
    }

    /// What is added.
    #[resource("desk://more")]
    #[must_use]
    pub fn what_is_added(&self) -> String {
        self.more.to_string()
    }

    /// What is added to.
    #[resource_template("desk://{number}")]
    pub async fn added(&self, number: u8) -> String {
        self.add(number).await.to_string()
    }

    /// Asks to add.
    #[prompt]
    #[must_use]
    pub fn ask(self: Arc<Self>, number: u8) -> String {
        format!("Add {number} to {}.", self.more)
    }

    /// Says nothing any more.
    #[tool]
    #[deprecated]
    pub fn old(&self) {}

    /// Adds, too.
    #[tool]
    #[must_use]
    pub fn add_shared(self: Arc<Self>, number: u8) -> u8 {
        number + self.more
    }
}

#[tokio::test]
async fn the_tools_above_work() {
    assert_eq!(hello("Ada".to_owned()).await, "Hello, Ada!");
    let desk = Arc::new(Desk { more: 1 });
    assert_eq!(desk.add(1).await, desk.clone().add_shared(1));
    let app = mcp_server::Server::new("test", "1").tool(hello).tool(described).tool(search).tool(aliased).tools(desk);
    let app = app.resource(all).resource(page).resource_template(one).resource_template(whole);
    let app = app.prompt(say).prompt(say_where).app(show);
    assert!(app.state("found".to_owned()).build().is_ok());
}
