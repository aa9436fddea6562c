//! Tools that come and go while a client listens, and what a transport knows of a request.

use mcp_server::testing::{Client, Notice, block_on};
use mcp_server::{App, Revision};

use super::{server, tool};

fn app() -> App {
    server().build().expect("it can be built")
}

#[test]
fn clients_with_a_handshake_hear_of_tools_that_come_and_go_tool_16() {
    for revision in &Revision::ALL[..4] {
        block_on(async {
            let app = app();
            let mut client = Client::builder(&app).revision(*revision).connect();
            assert!(!client.tools_changed());
            app.add_tool(tool("new").run(|| "new")).unwrap();
            assert!(client.tools_changed(), "{revision}");
            assert!(!client.tools_changed(), "it was told of");
            client.call("new", ()).await.assert_text("new");
            assert_eq!(client.tool("new").await.name, "new");
            assert!(app.remove_tool("new"));
            assert_eq!(client.next_notice().await, Notice::ToolsChanged);
            client.call("new", ()).await.assert_fault_contains("Unknown tool: new");
        });
    }
}

#[test]
fn a_modern_client_that_listens_to_nothing_hears_nothing_and_sees_the_change() {
    block_on(async {
        let app = app();
        let mut client = Client::builder(&app).modern().connect();
        app.add_tool(tool("new").run(|| "new")).unwrap();
        assert!(!client.tools_changed());
        client.call("new", ()).await.assert_text("new");
    });
}

#[test]
fn a_client_of_any_revision_that_listens_hears_of_what_it_may_see_tool_16_prompt_5_res_7_res_8_sub_9() {
    for revision in Revision::ALL {
        block_on(async {
            let doc = |uri: &str| mcp_server::Resource::new(uri).name(uri).description("A document.").run(|| "text");
            let app = server().resource(doc("doc://a")).resource(doc("doc://b")).build().expect("it can be built");
            let mut client = Client::builder(&app).revision(revision).connect();
            let listening = client.listen(["doc://a", "doc://none"]).await;
            assert_eq!(listening.uris(), ["doc://a"], "{revision}");
            for uri in ["doc://a", "doc://b", "doc://none"] {
                app.resource_updated(uri);
            }
            assert_eq!(client.take_updates(), ["doc://a"], "{revision}");
            app.add_tool(tool("new").run(|| "new")).unwrap();
            assert!(client.tools_changed() && !client.resources_changed(), "{revision}");
            app.add_resource(doc("doc://c")).unwrap();
            assert!(client.resources_changed() && !client.prompts_changed(), "{revision}");
            client.stop_listening(listening).await;
            app.resource_updated("doc://a");
            assert_eq!(client.take_updates(), Vec::<String>::new(), "{revision}");
            client.call("new", ()).await.assert_text("new");
        });
    }
}

#[test]
fn the_acknowledgement_is_the_clients_own_affair() {
    block_on(async {
        let mut client = Client::builder(app()).modern().connect();
        client.listen([]).await;
        assert!(client.transcript().to_string().contains("notifications/subscriptions/acknowledged"));
        assert!(client.take_notices().is_empty());
    });
}

#[test]
fn a_tool_that_adds_tools_is_heard_before_its_answer_and_by_every_client_tool_16() {
    block_on(async {
        let app = app();
        let inner = app.clone();
        app.add_tool(tool("learn").run(move || {
            let learnt = tool("learnt").run(|| "learnt");
            inner.add_tool(learnt).map_err(|error| error.to_string())
        }))
        .unwrap();
        let (mut one, mut other) = (Client::new(&app), Client::new(&app));
        one.call("learn", ()).await.assert_ok();
        assert!(one.tools_changed() && other.tools_changed());
        let said = one.transcript().to_string();
        let place = |part: &str| said.find(part).expect("it was said");
        assert!(place("list_changed\"") < place("\"id\":2,\"result\""), "{said}");
    });
}

#[test]
fn another_thread_that_adds_tools_is_heard() {
    block_on(async {
        let app = app();
        let mut client = Client::new(&app);
        let thread = std::thread::spawn(move || app.add_tool(tool("new").run(|| ())).unwrap());
        thread.join().unwrap();
        assert_eq!(client.next_notice().await, Notice::ToolsChanged);
    });
}

#[cfg(feature = "http")]
#[test]
fn a_tool_that_looks_at_the_http_request_is_shown_the_tests_http_head() {
    use mcp_server::http::{Head, HeaderMap};

    block_on(async {
        let tenant = tool("tenant").run(|head: Option<Head>, headers: HeaderMap| {
            let uri = head.map(|head| head.uri().to_string());
            format!("{:?} {:?}", uri.as_deref(), headers.get("x-tenant"))
        });
        let app = server().tool(tenant).build().unwrap();
        let mut plain = Client::new(&app);
        plain.call("tenant", ()).await.assert_text("None None");
        let mut over_http = Client::builder(&app).header("X-Tenant", "acme").connect();
        over_http.call("tenant", ()).await.assert_text("Some(\"/mcp\") Some(\"acme\")");
    });
    let text = super::failure(|| Client::builder(app()).header("no header", "x"));
    assert_eq!(text, "`no header: x` is no header");
}

#[test]
fn a_context_of_ones_own_reaches_ones_own_handler() {
    use std::sync::Arc;

    use mcp_core::answer::{Answer, ToolAnswer};
    use mcp_core::drive::{Handler, Link, Running};
    use mcp_core::{Call, Caller, Endpoint, Outcome, View};

    struct Tells(App);

    impl Handler for Tells {
        fn endpoint(&self) -> &Arc<Endpoint> {
            self.0.endpoint()
        }

        fn view(&self, caller: &Caller) -> View {
            self.0.view(caller)
        }

        fn call(&self, _: Call, link: Link) -> Running {
            let context = link.context::<&str>().copied().unwrap_or("none");
            Running::Done(Outcome::Complete(Answer::Tool(ToolAnswer::text(context))))
        }
    }

    block_on(async {
        let tells = Arc::new(Tells(app()));
        Client::new(Arc::clone(&tells)).call("add", ()).await.assert_text("none");
        Client::builder(tells).context("mine").connect().call("add", ()).await.assert_text("mine");
    });
}
