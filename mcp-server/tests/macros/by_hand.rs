//! What the macros publish is what the builder publishes when it is told the same.

use std::sync::Arc;

use mcp_server::schemars::{self, JsonSchema};
use mcp_server::{Args, Arguments, Ctx, IntoTool as _, Json, Server, Tool, ToolSet as _, tool, tools};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::common::Client;

/// Books a seat.
#[tool(title = "Booking", destructive = false, tags(team = "sales"))]
async fn book(
    ctx: Ctx,
    /// Who sits there
    name: String,
    /// How many
    count: Option<u8>,
    #[arg(name = "class", default = "second", one_of = ["first", "second"])] travel_class: String,
) -> Json<Booking> {
    let _ = (ctx, count, travel_class);
    Json(Booking { name })
}

#[derive(Serialize, JsonSchema)]
struct Booking {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by serde, for its schema")]
struct BookByHand {
    /// Who sits there
    name: String,
    /// How many
    count: Option<u8>,
    #[serde(rename = "class", default = "second")]
    #[schemars(extend("enum" = ["first", "second"]))]
    travel_class: String,
}

fn second() -> String {
    "second".into()
}

#[derive(Arguments)]
#[allow(dead_code, reason = "read for its schema")]
struct Route {
    /// Where it begins
    from: Place,
    via: Vec<Place>,
    how: Option<Vehicle>,
}

/// A place.
#[derive(Arguments)]
#[allow(dead_code, reason = "read for its schema")]
struct Place {
    #[arg(min = -90, max = 90)]
    latitude: f64,
    #[arg(min = -180.0, max = 180.0)]
    longitude: f64,
}

#[derive(Arguments)]
#[arg(rename_all = "snake_case")]
enum Vehicle {
    NightTrain,
    Bus,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by serde, for its schema")]
struct RouteByHand {
    /// Where it begins
    from: PlaceByHand,
    via: Vec<PlaceByHand>,
    how: Option<VehicleByHand>,
}

/// A place.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by serde, for its schema")]
struct PlaceByHand {
    #[schemars(range(min = -90, max = 90))]
    latitude: f64,
    #[schemars(range(min = -180.0, max = 180.0))]
    longitude: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "read by serde, for its schema")]
enum VehicleByHand {
    NightTrain,
    Bus,
}

/// Plans a route.
#[tool(read_only, icon = "https://example.com/a.png", meta = json!({"a": 1}))]
fn plan(Args(route): Args<Route>) -> String {
    let _ = route;
    String::new()
}

struct Desk;

#[tools]
impl Desk {
    /// Adds.
    #[tool(idempotent)]
    fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }

    /// Does nothing.
    #[tool]
    async fn nothing(&self) {}
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by serde, for its schema")]
struct Add {
    a: i64,
    b: i64,
}

#[tokio::test]
async fn a_macro_publishes_what_the_builder_does() {
    let of_macros = [book.into_tool(), plan.into_tool()].into_iter().chain(Desk::entries(Arc::new(Desk)).tools);
    let by_hand = vec![
        Tool::new("book")
            .title("Booking")
            .description("Books a seat.")
            .destructive(false)
            .tag("team", "sales")
            .run(async |_: Ctx, args: BookByHand| Json(Booking { name: args.name })),
        Tool::new("plan")
            .description("Plans a route.")
            .read_only(true)
            .icon("https://example.com/a.png")
            .meta(json!({"a": 1}))
            .run(|_: RouteByHand| String::new()),
        Tool::new("add").description("Adds.").idempotent(true).run(|args: Add| args.a + args.b),
        Tool::new("nothing").description("Does nothing.").run(async || ()),
    ];
    let (of_macros, by_hand) = (published(of_macros.collect()).await, published(by_hand).await);
    assert_eq!(of_macros.as_array().map(Vec::len), Some(4));
    for (one, other) in of_macros.as_array().unwrap().iter().zip(by_hand.as_array().unwrap()) {
        assert_eq!(one, other);
    }
    assert_eq!(of_macros, by_hand);
}

/// The whole list of tools.
async fn published(tools: Vec<Tool>) -> Value {
    let mut client = Client::of(Server::new("test", "1").tools(tools));
    client.request("tools/list", json!({})).await;
    client.next().await["result"]["tools"].clone()
}
