//! `#[tool]` on functions: what they may take and be.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use mcp_server::http::{Head, HeaderMap};
use mcp_server::{
    Args, Arguments, CallError, Caller, Cancelled, Ctx, Extract, IntoTool as _, Json, Log, Needs, Progress, Server,
    State, tool,
};
use serde_json::json;

use crate::common::{Client, text};

/// Say hello.
#[tool]
async fn hello(#[arg(desc = "Person's name")] name: String) -> String {
    format!("Hello, {name}!")
}

/// Adds.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn server() -> Server {
    Server::new("test", "1")
}

#[tokio::test]
async fn a_function_is_a_tool_and_can_be_called_as_before() {
    assert_eq!(hello("Ada".into()).await, "Hello, Ada!");
    assert_eq!(add(1, 2), 3);
    let mut client = Client::of(server().tool(hello).tool(add));
    assert_eq!(text(&client.call("hello", json!({"name": "Ada"})).await), "Hello, Ada!");
    assert_eq!(text(&client.call("add", json!({"b": 2, "a": 40})).await), "42");
}

#[tokio::test]
async fn what_is_published_comes_from_the_function() {
    let mut client = Client::of(server().tool(hello));
    let listed = client.listed("hello").await;
    assert_eq!(listed["description"], "Say hello.");
    assert_eq!(
        listed["inputSchema"],
        json!({
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Person's name"}},
            "required": ["name"],
            "additionalProperties": false,
        })
    );
}

/// Goes down the stairs, one call each.
#[tool]
fn stairs(left: u32) -> u32 {
    // Within the function, its name is the function.
    if left == 0 { 0 } else { stairs(left - 1) + 1 }
}

/// The same, waiting.
#[tool]
async fn slow_stairs(left: u32) -> u32 {
    if left == 0 { 0 } else { Box::pin(slow_stairs(left - 1)).await + 1 }
}

#[tokio::test]
async fn a_function_may_call_itself() {
    assert_eq!(stairs(5), 5);
    assert_eq!(slow_stairs(5).await, 5);
}

/// Takes nothing and returns nothing.
#[tool]
fn nothing() {}

#[tokio::test]
async fn a_function_may_take_and_return_nothing() {
    let () = nothing();
    let mut client = Client::of(server().tool(nothing));
    assert_eq!(
        client.listed("nothing").await["inputSchema"],
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
    assert_eq!(client.call("nothing", json!({})).await["result"]["content"], json!([]));
}

#[derive(Default)]
struct Threads(Mutex<Vec<ThreadId>>);

/// Remembers its thread.
#[tool(blocking)]
fn blocking(State(threads): State<Threads>, times: u32) -> u32 {
    threads.0.lock().unwrap().push(std::thread::current().id());
    times
}

#[tokio::test]
async fn blocking_code_runs_on_another_thread() {
    let threads = Arc::new(Threads::default());
    let mut client = Client::of(server().tool(blocking).shared_state(Arc::clone(&threads)));
    assert_eq!(text(&client.call("blocking", json!({"times": 3})).await), "3");
    assert_ne!(*threads.0.lock().unwrap(), [std::thread::current().id()]);
    assert_eq!(blocking(State(Arc::clone(&threads)), 1), 1);
    assert_eq!(threads.0.lock().unwrap()[1], std::thread::current().id());
}

struct Greeting(String);

/// Everything that is no argument, and arguments between.
#[tool]
async fn everything(
    ctx: Ctx,
    first: String,
    State(greeting): State<Greeting>,
    state: State<Greeting>,
    caller: Caller,
    second: u8,
    progress: Progress,
    log: Log,
    cancelled: Cancelled,
    head: Option<Head>,
    headers: HeaderMap,
    missing: Option<State<u64>>,
) -> String {
    log.info("running");
    progress.count(1);
    assert!(!cancelled.is_cancelled() && head.is_none() && headers.is_empty() && missing.is_none());
    assert_eq!(state.0.0, greeting.0);
    format!("{}: {} {first} {second} {:?}", ctx.tool(), greeting.0, caller.principal)
}

#[tokio::test]
async fn parameters_that_are_extractors_by_their_name_are_no_arguments() {
    let mut client = Client::of(server().tool(everything).state(Greeting("hi".into())));
    let listed = client.listed("everything").await;
    let names: Vec<&String> = listed["inputSchema"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["first", "second"]);
    let response = client.call("everything", json!({"first": "a", "second": 2})).await;
    assert_eq!(text(&response), "everything: hi a 2 None");
}

/// A state that a tool's extractor needs.
struct Users(Vec<&'static str>);

/// An extractor of an author's own, and its pattern.
struct User {
    name: &'static str,
}

impl Extract for User {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        let State(users) = State::<Users>::extract(ctx)?;
        users.0.first().map(|name| Self { name }).ok_or_else(|| CallError::new("Sign in first."))
    }

    fn needs(needs: &mut Needs) {
        State::<Users>::needs(needs);
    }
}

/// Tells who you are.
#[tool]
fn me(#[extract] User { name }: User, title: String) -> String {
    format!("{title} {name}")
}

#[tokio::test]
async fn an_extractor_of_ones_own_is_marked() {
    let mut client = Client::of(server().tool(me).state(Users(vec!["Ada"])));
    assert_eq!(text(&client.call("me", json!({"title": "Ms"})).await), "Ms Ada");
    let mut client = Client::of(server().tool(me).state(Users(vec![])));
    let refused = client.call("me", json!({"title": "Ms"})).await;
    assert_eq!((text(&refused), &refused["result"]["isError"]), ("Sign in first.", &json!(true)));
}

#[test]
fn what_an_extractor_needs_is_asked_for_when_the_server_is_built() {
    let error = server().tool(me).tool(everything).build().unwrap_err().to_string();
    assert!(error.contains("`me`: it takes the state") && error.contains("Users"), "{error}");
    assert!(error.contains("`everything`: it takes the state") && error.contains("Greeting"), "{error}");
    assert!(!error.contains("u64"), "{error}");
}

#[derive(Arguments)]
struct Search {
    /// What to look for
    query: String,
    #[arg(default = 10, min = 1, max = 100)]
    limit: u32,
}

/// Searches.
#[tool]
fn search(Args(Search { query, limit }): Args<Search>, State(greeting): State<Greeting>) -> String {
    format!("{} {query} {limit}", greeting.0)
}

/// Searches, in words.
#[tool]
async fn search_slowly(all: Args<Search>) -> String {
    format!("{} {}", all.0.query, all.0.limit)
}

#[tokio::test]
async fn all_arguments_can_be_one_struct() {
    let mut client = Client::of(server().tool(search).tool(search_slowly).state(Greeting("hi".into())));
    assert_eq!(text(&client.call("search", json!({"query": "a"})).await), "hi a 10");
    assert_eq!(text(&client.call("search_slowly", json!({"query": "a", "limit": 5})).await), "a 5");
    let (one, other) = (client.listed("search").await, client.listed("search_slowly").await);
    assert_eq!(one["inputSchema"], other["inputSchema"]);
    assert_eq!(one["inputSchema"]["properties"]["query"]["description"], "What to look for");
    assert_eq!(search_slowly(Args(Search { query: "b".into(), limit: 1 })).await, "b 1");
}

/// Has the name of a keyword.
#[tool]
fn r#type(r#in: String, mut times: u32) -> String {
    times += 1;
    r#in.repeat(times as usize)
}

#[tokio::test]
async fn a_raw_name_is_published_without_its_mark() {
    let mut client = Client::of(server().tool(r#type));
    assert_eq!(text(&client.call("type", json!({"in": "ab", "times": 1})).await), "abab");
    assert_eq!(r#type("a".into(), 0), "a");
}

/// Is not there.
#[cfg(any())]
#[tool]
fn above() -> MissingType {
    missing_function()
}

/// Is not there.
#[tool]
#[cfg(any())]
fn below() -> MissingType {
    missing_function()
}

/// Is there.
#[tool]
#[cfg(not(any()))]
fn there() -> u8 {
    1
}

#[test]
fn conditions_above_and_below_the_attribute_hold_for_the_whole_tool() {
    // `above` and `below` would not compile.
    assert_eq!(there(), 1);
}

mod elsewhere {
    use mcp_server::tool;

    /// Is seen from outside.
    #[tool]
    pub(crate) fn seen(hidden: super::Hidden) -> u8 {
        hidden.0
    }
}

pub(crate) struct Hidden(u8);

impl<'de> serde::Deserialize<'de> for Hidden {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u8::deserialize(deserializer).map(Self)
    }
}

impl mcp_server::schemars::JsonSchema for Hidden {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hidden".into()
    }

    fn json_schema(generator: &mut mcp_server::schemars::SchemaGenerator) -> mcp_server::schemars::Schema {
        generator.subschema_for::<u8>()
    }
}

#[tokio::test]
async fn a_tool_is_as_visible_as_its_function() {
    use elsewhere::seen;
    assert_eq!(seen(Hidden(3)), 3);
    let mut client = Client::of(server().tool(seen));
    assert_eq!(text(&client.call("seen", json!({"hidden": 4})).await), "4");
}

static CALLS: AtomicU32 = AtomicU32::new(0);

#[tokio::test]
async fn a_tool_can_be_made_within_a_function() {
    /// Counts.
    #[tool]
    async fn count() -> u32 {
        CALLS.fetch_add(1, Relaxed) + 1
    }
    let mut client = Client::of(server().tool(count));
    assert_eq!(text(&client.call("count", json!({})).await), "1");
    assert_eq!(count().await, 2);
}

#[derive(serde::Serialize, mcp_server::schemars::JsonSchema)]
#[schemars(crate = "mcp_server::schemars")]
struct Sum {
    sum: i64,
}

/// Adds, and says so.
#[tool]
async fn sum(a: i64, b: i64) -> Result<Json<Sum>, CallError> {
    let sum = a.checked_add(b).ok_or_else(|| CallError::new("too large"))?;
    Ok(Json(Sum { sum }))
}

#[tokio::test]
async fn a_structured_result_has_the_schema_of_its_type() {
    let mut client = Client::of(server().tool(sum));
    assert_eq!(client.listed("sum").await["outputSchema"]["properties"], json!({"sum": {"type": "integer"}}));
    assert_eq!(client.call("sum", json!({"a": 1, "b": 2})).await["result"]["structuredContent"], json!({"sum": 3}));
    let failed = client.call("sum", json!({"a": i64::MAX, "b": 1})).await;
    assert_eq!((text(&failed), &failed["result"]["isError"]), ("too large", &json!(true)));
}

/// Panics.
#[tool]
async fn panics() {
    panic!("secret");
}

#[tokio::test]
async fn a_panic_becomes_an_error_to_this_caller_alone_tool_10() {
    let mut client = Client::of(server().tool(panics).tool(hello));
    let response = client.call("panics", json!({})).await;
    assert_eq!(response["error"]["code"], -32603);
    assert!(!response.to_string().contains("secret"));
    assert_eq!(text(&client.call("hello", json!({"name": "Ada"})).await), "Hello, Ada!");
}

/// Is traced.
#[tool]
#[tracing::instrument]
#[inline]
#[must_use]
async fn traced(a: u8) -> u8 {
    tokio::task::yield_now().await;
    a
}

/// Was better.
#[tool]
#[deprecated = "use `hello`"]
#[allow(dead_code, reason = "it is there to be seen, not used")]
fn old() {}

/// Is traced by an attribute above.
#[tracing::instrument]
#[tool]
async fn traced_above(a: u8) -> u8 {
    a
}

#[tokio::test]
async fn attributes_of_other_crates_go_to_the_code() {
    let mut client = Client::of(server().tool(traced).tool(traced_above));
    assert_eq!(text(&client.call("traced", json!({"a": 1})).await), "1");
    assert_eq!(text(&client.call("traced_above", json!({"a": 1})).await), "1");
}

#[test]
#[expect(deprecated, reason = "the mark is on what one uses")]
fn a_deprecation_is_seen_by_who_uses_the_tool() {
    let _ = old;
}

#[test]
fn a_tool_is_a_value_that_can_be_copied_and_told() {
    let one = hello;
    let (two, three) = (one, one);
    assert_eq!(format!("{two:?}"), "hello");
    assert_eq!(format!("{:?}", three.into_tool()), r#"Tool { name: "hello", has_code: true, .. }"#);
}

/// Has more than tuples and clippy would take.
#[tool]
#[rustfmt::skip]
async fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8, j: u8, k: u8, l: u8, m: u8, ctx: Ctx) -> u32 {
    let _ = ctx;
    [a, b, c, d, e, f, g, h, i, j, k, l, m].into_iter().map(u32::from).sum()
}

#[tokio::test]
async fn the_number_of_arguments_has_no_bound() {
    let mut client = Client::of(server().tool(many));
    let all: serde_json::Map<_, _> = ('a'..='m').map(|name| (name.to_string(), json!(1))).collect();
    assert_eq!(text(&client.call("many", all.into()).await), "13");
}

macro_rules! constant {
    ($(#[$attr:meta])* $vis:vis $name:ident: $result:ty = $body:block) => {
        $(#[$attr])*
        #[tool]
        $vis fn $name() -> $result $body
    };
}

constant! {
    /// The answer.
    pub(crate) answer: u8 = { 42 }
}

#[tokio::test]
async fn a_tool_may_come_from_a_macro_by_example() {
    let mut client = Client::of(server().tool(answer));
    assert_eq!(text(&client.call("answer", json!({})).await), "42");
}
