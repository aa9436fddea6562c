//! `#[app]`: a tool with its page.

use std::sync::Arc;

use mcp_server::testing::{Client, block_on};
use mcp_server::{
    IntoApp as _, Json, Permission, Resource, Server, State, Structured, Tool, Ui, UiApp, Visibility, app, json,
    schemars, tool, tools,
};

const MIME: &str = "text/html;profile=mcp-app";
const PAGE: &str = include_str!("page.html");

#[derive(Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
struct Series {
    values: Vec<f64>,
}

/// Draws a chart.
#[app(
    view = "tests/macros/page.html",
    csp(connect = ["https://api.example.com"], resource = ["https://cdn.example.com"], frame = [FRAMES], base_uri = BASES),
    permissions(camera, clipboard_write, microphone = false),
    visibility = ["model", "app"],
    domain = "chart.example.com",
    prefers_border = false,
    title = "Chart",
    read_only,
    tags(team = "charts")
)]
fn draw_chart(State(factor): State<f64>, #[arg(min = 1)] count: u8) -> Structured<Series> {
    let values = (0..count).map(|n| f64::from(n) * *factor).collect();
    Json(Series { values }).with_text("A chart.")
}

const FRAMES: &str = "https://frames.example.com";
const BASES: [&str; 1] = ["https://base.example.com"];

/// Shows a map.
#[app(view = "tests/macros/page.html", embed)]
async fn show_map() -> &'static str {
    "A map."
}

/// Draws the chart anew.
#[tool(ui = "ui://draw_chart/page.html", visibility = [Visibility::App])]
fn draw_again() -> &'static str {
    "done"
}

fn of_macros() -> Server {
    Server::new("test", "1").state(2.0_f64).app(draw_chart).app(show_map).tool(draw_again)
}

fn by_hand() -> Server {
    #[derive(mcp_server::Arguments)]
    struct Chart {
        #[arg(min = 1)]
        #[allow(dead_code, reason = "read for its schema")]
        count: u8,
    }
    let chart = Tool::new("draw_chart")
        .title("Chart")
        .description("Draws a chart.")
        .read_only(true)
        .visibility([Visibility::Model, Visibility::App])
        .tag("team", "charts")
        .run(|_: Chart| Json(Series { values: Vec::new() }));
    let chart = UiApp::new(chart).view("page.html", PAGE).ui(Ui::new()
        .connect_domains(["https://api.example.com"])
        .resource_domains(["https://cdn.example.com"])
        .frame_domains([FRAMES])
        .base_uri_domains(BASES)
        .permission(Permission::Camera)
        .permission(Permission::ClipboardWrite)
        .domain("chart.example.com")
        .prefers_border(false));
    let map = UiApp::new(Tool::new("show_map").description("Shows a map.").run(|| "")).view("page.html", PAGE);
    let refresh = Tool::new("draw_again")
        .description("Draws the chart anew.")
        .ui("ui://draw_chart/page.html")
        .visibility([Visibility::App])
        .run(|| "");
    Server::new("test", "1").app(chart).app(map).tool(refresh)
}

#[test]
fn an_app_is_what_the_builder_makes_of_the_same_app_3() {
    block_on(async {
        let (mut one, mut other) = (Client::new(of_macros()), Client::new(by_hand()));
        let (tools, by_hand) = (one.list_tools().await, other.list_tools().await);
        assert_eq!(tools.len(), 3);
        assert_eq!(tools, by_hand);
        let link = json!({"ui": {"resourceUri": "ui://draw_chart/page.html", "visibility": ["model", "app"]}, "ui/resourceUri": "ui://draw_chart/page.html"});
        assert_eq!(tools[0].json["_meta"], link);
        let without_size = |mut page: serde_json::Value| {
            page.as_object_mut().expect("an object").remove("size");
            page
        };
        let of = |pages: Vec<mcp_server::testing::ListedResource>| -> Vec<_> {
            pages.into_iter().map(|page| without_size(page.json)).collect()
        };
        assert_eq!(of(one.list_resources().await), of(other.list_resources().await));
    });
}

#[tokio::test]
async fn the_page_is_read_at_the_time_or_is_in_the_program_app_2_app_5() {
    let mut client = Client::new(of_macros());
    for (uri, name) in [("ui://draw_chart/page.html", "draw_chart"), ("ui://show_map/page.html", "show_map")] {
        let answer = client.read(uri).await;
        answer.assert_at("/result/contents/0/mimeType", MIME).assert_text(PAGE);
        let page = client.list_resources().await.into_iter().find(|page| page.uri == uri).expect("it is listed");
        assert_eq!(page.description, Some(format!("UI for {name}")));
    }
    let answer = client.call("draw_chart", json!({"count": 2})).await;
    answer.assert_text("A chart.").assert_structured(json!({"values": [0.0, 2.0]}));
    client.call("draw_chart", json!({"count": 0})).await.assert_error_contains("count");
    client.call("show_map", ()).await.assert_text("A map.");
    client.call("draw_again", ()).await.assert_text("done");
    assert_eq!(draw_chart(State(Arc::new(3.0)), 2), Json(Series { values: vec![0.0, 3.0] }).with_text("A chart."));
    assert!(format!("{:?}", show_map.into_app()).contains("show_map"));
}

struct Desk(&'static str);

#[tools]
impl Desk {
    /// Shows the desk.
    #[app(view = "tests/macros/page.html", embed)]
    async fn show(&self) -> &'static str {
        self.0
    }

    /// Counts.
    #[tool]
    fn count(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn a_method_is_an_app_too() {
    block_on(async {
        let mut client = Client::new(Server::new("test", "1").tools(Desk("A desk.")));
        assert_eq!(client.tool("show").await.json["_meta"]["ui"]["resourceUri"], "ui://show/page.html");
        client.call("show", ()).await.assert_text("A desk.");
        client.call("count", ()).await.assert_text("7");
        client.read("ui://show/page.html").await.assert_text(PAGE);
    });
}

#[test]
fn a_tool_of_a_page_that_is_not_there_is_told_app_2() {
    let error = Server::new("test", "1").tool(draw_again).build().expect_err("there is no page");
    assert_eq!(error.defects()[0].rule, "APP-2");
    let page = Resource::app("ui://draw_chart/page.html").text(PAGE);
    assert!(Server::new("test", "1").tool(draw_again).resource(page).build().is_ok());
}
