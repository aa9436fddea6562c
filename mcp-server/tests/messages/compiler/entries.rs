//! Types that resources, templates and prompts do not take and return, and what is registered as something else.

use mcp_server::{Args, Server, app, prompt, resource, resource_template, tool};

struct Own;

#[resource("a://a")]
fn of_resource() -> Own {
    Own
}

#[resource_template("a://{b}")]
fn of_template(b: Own) -> u8 {
    drop(b);
    1
}

#[resource_template("a://{b}")]
fn of_template_whole(Args(b): Args<Own>) -> String {
    drop(b);
    String::new()
}

#[prompt]
fn of_prompt(b: Own) -> u8 {
    drop(b);
    1
}

#[prompt]
fn of_prompt_whole(Args(b): Args<Own>) -> String {
    drop(b);
    String::new()
}

#[prompt]
fn completed(#[arg(complete = propose)] b: String) -> String {
    b
}

fn propose(number: u8) -> Vec<String> {
    vec![number.to_string()]
}

#[prompt]
fn prompted() -> &'static str {
    ""
}

#[app(view = "a.html")]
#[doc = "Shows."]
fn shown() -> &'static str {
    ""
}

#[tool]
#[doc = "Is a tool."]
fn used() {}

fn main() {
    drop(Server::new("a", "1").tool(shown));
    drop(Server::new("a", "1").prompt(used).resource(prompted).resource_template(of_resource).app(used));
}
