//! MCP Apps: tools that come with a page.

use mcp_server::testing::{Client, ListedTool, block_on};
use mcp_server::{Ctx, Json, Permission, Policy, Resource, Revision, Server, Tool, Ui, UiApp, Value, Visibility, json};

const URI: &str = "ui://dashboard/page.html";
const MIME: &str = "text/html;profile=mcp-app";

fn server() -> Server {
    Server::new("test", "1")
}

fn tool() -> Tool {
    tool_of("dashboard")
}

fn tool_of(name: &str) -> Tool {
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Status {
        users: u32,
    }
    Tool::new(name).description("Shows how things are.").run(|| Json(Status { users: 3 }).with_text("Three users."))
}

fn ui() -> Ui {
    Ui::new()
        .connect_domains(["https://api.example.com"])
        .resource_domains(["https://cdn.example.com"])
        .permission(Permission::ClipboardWrite)
        .domain("dash.example.com")
        .prefers_border(true)
}

fn defects(server: Server) -> Vec<(String, &'static str)> {
    let error = server.build().expect_err("something is wrong with it");
    error.defects().iter().map(|defect| (defect.entry.to_string(), defect.rule)).collect()
}

#[test]
fn an_app_is_a_tool_that_links_to_its_page_in_both_spellings_and_says_the_same_in_words_app_2_app_3_app_5() {
    block_on(async {
        let app = server()
            .app(UiApp::new(tool().meta(json!({"ui": {"example.com/own": 1}}))).view("page.html", "<!doctype html>"))
            .build()
            .expect("it builds");
        let mut client = Client::new(&app);
        let listed = client.tool("dashboard").await;
        assert_eq!(
            listed.json["_meta"],
            json!({"ui": {"example.com/own": 1, "resourceUri": URI}, "ui/resourceUri": URI})
        );
        client.call("dashboard", ()).await.assert_text("Three users.").assert_structured(json!({"users": 3}));
        let page = client.list_resources().await.swap_remove(0);
        assert_eq!((&*page.uri, page.description.as_deref()), (URI, Some("UI for dashboard")));
        client.read(URI).await.assert_contents(json!([{"uri": URI, "mimeType": MIME, "text": "<!doctype html>"}]));
        // Revisions before it have no `_meta` on a tool.
        let mut old = Client::builder(&app).revision(Revision::V2025_03_26).connect();
        assert_eq!(old.tool("dashboard").await.json.get("_meta"), None);
    });
}

#[test]
fn what_a_page_may_do_is_said_where_it_is_listed_and_where_it_is_read_app_4() {
    block_on(async {
        let app = server().resource(Resource::app(URI).text("<!doctype html>").ui(ui()));
        let mut client = Client::new(app);
        let expected = json!({
            "csp": {"connectDomains": ["https://api.example.com"], "resourceDomains": ["https://cdn.example.com"]},
            "permissions": {"clipboardWrite": {}},
            "domain": "dash.example.com",
            "prefersBorder": true,
        });
        assert_eq!(client.list_resources().await[0].json["_meta"]["ui"], expected);
        client.read(URI).await.assert_at("/result/contents/0/_meta/ui", expected);
    });
}

#[test]
fn the_extension_is_declared_with_the_first_page_and_a_tool_can_ask_for_it_app_1() {
    block_on(async {
        let asking = Tool::new("ask").description("Asks.").run(|ctx: Ctx| ctx.client_has_ui());
        let app = server().app(UiApp::new(tool()).view("page.html", "x")).tool(asking).build().expect("it builds");
        for (mimes, expected) in [(json!([MIME]), "true"), (json!(["text/html"]), "false")] {
            let declared = json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": mimes}}});
            let mut client = Client::builder(&app).modern().capabilities(declared).connect();
            assert_eq!(client.server()["capabilities"]["extensions"], json!({"io.modelcontextprotocol/ui": {}}));
            client.call("ask", ()).await.assert_text(expected);
        }
        let mut plain = Client::builder(&app).modern().connect();
        plain.call("ask", ()).await.assert_text("false");
        let without = Client::builder(server().tool(tool())).modern().connect();
        assert_eq!(without.server()["capabilities"].get("extensions"), None);
    });
}

#[test]
fn who_calls_a_tool_is_said_in_its_link_app_3() {
    block_on(async {
        let page = Resource::app(URI).text("x");
        let app = server().resource(page).tool(tool().ui(URI).visibility([Visibility::App]));
        let listed = Client::new(app).tool("dashboard").await;
        assert_eq!(listed.json["_meta"]["ui"], json!({"resourceUri": URI, "visibility": ["app"]}));
    });
}

#[test]
fn a_page_that_is_none_or_is_not_there_is_told_when_the_server_is_built_app_2_app_7() {
    let page = |uri: &str| Resource::app(uri).text("x");
    assert_eq!(defects(server().tool(tool().ui(URI))), [("dashboard".into(), "APP-2")]);
    assert_eq!(defects(server().tool(tool().ui("https://x"))), [("dashboard".into(), "APP-3")]);
    assert_eq!(defects(server().tool(tool().visibility([Visibility::App]))), [("dashboard".into(), "APP-3")]);
    assert_eq!(defects(server().app(UiApp::new(tool()))), [("dashboard".into(), "APP-2")]);
    for name in ["", "..", "a/../b.html", "/b.html"] {
        assert_eq!(defects(server().app(UiApp::new(tool()).view(name, "x"))), [("dashboard".into(), "APP-2")]);
    }
    let twice = server().app(UiApp::new(tool()).view("a", "x")).resource(page("ui://dashboard/a"));
    let message = twice.build().expect_err("the page is there twice").defects()[0].message.clone();
    assert_eq!(message.matches("tests/apps.rs").count(), 2, "{message}");
    assert_eq!(defects(server().resource(page("https://x"))), [("https://x".into(), "APP-2")]);
    assert_eq!(defects(server().resource(Resource::new(URI).mime("text/html").text("x"))), [(URI.into(), "APP-2")]);
}

#[tokio::test]
async fn a_page_in_a_file_is_read_anew_each_time_and_apps_come_while_serving() {
    let path = std::env::temp_dir().join(format!("mcp-server-page-{}.html", std::process::id()));
    std::fs::write(&path, "<!doctype html>1").expect("it can be written");
    let app = server().offers_resources().build().expect("it builds");
    app.add_app(UiApp::new(tool()).view_file(&path)).expect("it can be added");
    let uri = app.resource_uris().swap_remove(0);
    let mut client = Client::new(&app);
    client.read(&uri).await.assert_contents(json!([{"uri": uri, "mimeType": MIME, "text": "<!doctype html>1"}]));
    std::fs::write(&path, "<!doctype html>2").expect("it can be written");
    client.read(&uri).await.assert_text("<!doctype html>2");
    std::fs::remove_file(&path).expect("it can be removed");
}

#[test]
fn what_a_page_says_to_its_host_is_no_method_of_a_server_app_6() {
    block_on(async {
        let app = server().app(UiApp::new(tool()).view("page.html", "x"));
        Client::new(app).request("ui/initialize", ()).await.assert_fault(-32601);
    });
}

/// What a list of tools says of pages: names, links and the keys of `_meta`.
fn linked(listed: &[ListedTool]) -> Vec<(String, Value)> {
    listed.iter().map(|tool| (tool.name.clone(), tool.json.get("_meta").cloned().unwrap_or_default())).collect()
}

#[test]
fn a_client_that_shows_no_pages_finds_tools_without_their_links_if_so_configured_app_1() {
    let by_hand = json!({"ui": {"resourceUri": URI}, "example.com/own": 1});
    let server = || {
        server()
            .resource(Resource::app(URI).text("x"))
            .tool(tool_of("page-only").ui(URI).visibility([Visibility::App]))
            .tool(tool().ui(URI))
            .tool(tool_of("by-hand").meta(by_hand.clone()))
            .tool(tool_of("plain").meta(json!({"example.com/own": 2})))
    };
    let link = json!({"ui": {"resourceUri": URI}, "ui/resourceUri": URI});
    let page_only = json!({"ui": {"resourceUri": URI, "visibility": ["app"]}, "ui/resourceUri": URI});
    let (own, plain) = (json!({"example.com/own": 1}), json!({"example.com/own": 2}));
    let named =
        |list: Vec<(&str, Value)>| -> Vec<_> { list.into_iter().map(|(name, meta)| (name.to_owned(), meta)).collect() };
    let all = named(vec![
        ("page-only", page_only),
        ("dashboard", link),
        ("by-hand", by_hand.clone()),
        ("plain", plain.clone()),
    ]);
    let unlinked = named(vec![("dashboard", json!(null)), ("by-hand", own), ("plain", plain)]);
    let shows = json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": [MIME]}}});
    let shows_others = json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/plain"]}}});
    for page in [1, 2, 100] {
        let mut policy = Policy::default();
        policy.limits.page = page;
        let apart = server().policy(policy).ui_only_where_shown().build().expect("it builds");
        let same = server().build().expect("it builds");
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN] {
            block_on(async {
                for (app, capabilities, expected) in [
                    (&apart, &shows, &all),
                    (&apart, &shows_others, &unlinked),
                    (&apart, &json!({}), &unlinked),
                    (&same, &json!({}), &all),
                ] {
                    let mut client =
                        Client::builder(app).revision(revision).capabilities(capabilities.clone()).connect();
                    assert_eq!(&linked(&client.list_tools().await), expected, "{revision} {capabilities}");
                    client.call("page-only", ()).await.assert_text("Three users.");
                }
            });
        }
    }
}
