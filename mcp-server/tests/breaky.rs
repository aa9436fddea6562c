//! What a hostile reader of this features tries.

#![cfg(all(feature = "http", feature = "validate", feature = "toml"))]
#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use mcp_server::ask::elicit;
use mcp_server::http::{McpService, Parts, Rejection, bearer};
use mcp_server::middleware::{CallResult, CircuitBreaker, ConcurrencyLimit, Next, TimeLimit};
use mcp_server::testing::{Answer, Client, block_on};
use mcp_server::{
    Ability, App, Arguments, Assigns, Authorization, CallError, Caller, Common, Ctx, Focus, Level, Log, Manifest, Module, Param,
    Progress, Prompt, PromptArg, RateLimit, Resource, ResourceTemplate, Revision, Scopes, Server, Shown, Tool, UiApp, Value,
    Viewer, json,
};
use serde::{Deserialize, Serialize};

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool.").run(|| "ran")
}

// ---- HTTP ----

fn service(app: &App) -> McpService {
    app.http_service().expect("served")
}

/// `Bearer name/scope scope`.
fn by_token(head: &Parts) -> Result<Caller, Rejection> {
    let token = bearer(head)?.ok_or_else(Rejection::unauthorized)?;
    let (name, scopes) = token.split_once('/').unwrap_or((token, ""));
    Ok(Caller::new(name, Scopes::parse(&scopes.replace('+', " "))))
}

async fn send(
    service: &McpService,
    method: &str,
    token: Option<&str>,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, HeaderMap, String) {
    let mut request = Request::builder().method(method).uri("/mcp").header("host", "localhost");
    if method == "POST" {
        request = request.header("content-type", "application/json");
    }
    if !headers.iter().any(|(name, _)| *name == "accept") {
        request = request.header("accept", "application/json, text/event-stream");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = service.handle(request.body(Body::from(body.to_owned())).unwrap()).await;
    let (head, body) = response.into_parts();
    let body = to_bytes(Body::new(body), 64 << 20).await.expect("a body");
    (head.status.as_u16(), head.headers, String::from_utf8(body.to_vec()).unwrap())
}

/// The messages of an answer, in SSE or JSON.
fn messages(body: &str) -> Vec<Value> {
    let one = |text: &str| serde_json::from_str::<Value>(text).ok();
    match one(body) {
        Some(Value::Array(all)) => all,
        Some(value) => vec![value],
        None => body.lines().filter_map(|line| line.strip_prefix("data:")).filter_map(|data| one(data.trim())).collect(),
    }
}

async fn open(service: &McpService, token: Option<&str>, revision: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": revision,
        "capabilities": {"elicitation": {}}, "clientInfo": {"name": "x", "version": "1"}}});
    let (status, head, body) = send(service, "POST", token, &[], &body.to_string()).await;
    assert_eq!(status, 200, "{body}");
    let session = head["mcp-session-id"].to_str().unwrap().to_owned();
    let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let (status, ..) =
        send(service, "POST", token, &[("mcp-session-id", &session), ("mcp-protocol-version", revision)], &body.to_string()).await;
    assert_eq!(status, 202);
    session
}

fn modern(method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn ask_modern(service: &McpService, token: Option<&str>, method: &str, params: Value) -> (u16, HeaderMap, String) {
    let body = modern(method, params);
    let name = body["params"]["name"].as_str().or(body["params"]["uri"].as_str()).unwrap_or_default().to_owned();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", &*name)];
    let headers = if name.is_empty() { &headers[..2] } else { &headers[..] };
    send(service, "POST", token, headers, &body.to_string()).await
}

// ---- (1) scopes ----

#[tokio::test]
async fn a1_scope_in_a_batch_of_2025_03_26_loses_nothing_and_lets_nothing_through() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let scoped = Tool::new("scoped").description("A tool.").scope("admin").run(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        "ran"
    });
    let app = Server::new("x", "1").tool(tool("free")).tool(scoped).authenticate(by_token).build().unwrap();
    let service = service(&app);
    let session = open(&service, Some("ann/low"), "2025-03-26").await;
    let call = |id: u32, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
    for (order, names) in [(0, ["free", "scoped"]), (1, ["scoped", "free"])] {
        let batch = json!([call(1, names[0]), call(2, names[1])]);
        let (status, head, body) =
            send(&service, "POST", Some("ann/low"), &[("mcp-session-id", &session)], &batch.to_string()).await;
        let got = messages(&body);
        println!("{order} {status} {:?} {body}", head.get("www-authenticate"));
        assert_eq!(got.len(), 2, "{body}");
        assert_eq!(status, 200);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    // One alone in a batch.
    let batch = json!([call(1, "scoped")]);
    let (status, head, body) =
        send(&service, "POST", Some("ann/low"), &[("mcp-session-id", &session)], &batch.to_string()).await;
    println!("{status} {:?} {body}", head.get("www-authenticate"));
    let (status, _, body) =
        send(&service, "POST", Some("ann/admin"), &[("mcp-session-id", &session)], &batch.to_string()).await;
    assert!(status == 200 && body.contains("ran"), "{status} {body}");
}

#[tokio::test]
async fn a2_template_and_static_completion_and_subscription_have_the_scope_of_who_serves() {
    let app = Server::new("x", "1")
        .resource(Resource::new("a://free").text("free"))
        .resource(Resource::new("a://closed").scope("closed").text("closed"))
        .resource_template(ResourceTemplate::new("a://{v}").scope("tpl").complete_from("v", ["x"]).run(|v: String| v))
        .resource_template(ResourceTemplate::new("b://{v}").complete_from("v", ["x"]).run(|v: String| v))
        .authenticate(by_token)
        .scope_implies("root", "tpl")
        .scope_implies("tpl", "closed")
        .build()
        .unwrap();
    let service = service(&app);
    for (token, free, closed, tpl) in [
        ("ann/low", 200, 403, 403),
        ("ann/closed", 200, 200, 403),
        ("ann/tpl", 200, 200, 200),
        ("ann/root", 200, 200, 200),
    ] {
        for (uri, status) in [("a://free", free), ("a://closed", closed), ("a://x", tpl), ("b://x", 200)] {
            let (got, head, body) = ask_modern(&service, Some(token), "resources/read", json!({"uri": uri})).await;
            assert_eq!(got, status, "{token} {uri} {body}");
            assert_eq!(head.contains_key("www-authenticate"), status == 403);
            let params = json!({"notifications": {"resourceSubscriptions": [uri]}});
            if status == 403 {
                let (got, _, body) = ask_modern(&service, Some(token), "subscriptions/listen", params).await;
                assert_eq!(got, 403, "{token} {uri} {body}");
            }
            let session = open(&service, Some(token), "2025-11-25").await;
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}});
            let (got, _, body) = send(&service, "POST", Some(token), &[("mcp-session-id", &session)], &body.to_string()).await;
            assert_eq!(got, status, "{token} {uri} {body}");
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/unsubscribe", "params": {"uri": uri}});
            let (got, _, body) = send(&service, "POST", Some(token), &[("mcp-session-id", &session)], &body.to_string()).await;
            println!("unsubscribe {token} {uri} {got} {body}");
        }
        for uri in ["a://{v}", "a://x"] {
            let params = json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": "v", "value": ""}});
            let (got, _, body) = ask_modern(&service, Some(token), "completion/complete", params).await;
            assert_eq!(got, tpl, "{token} {uri} {body}");
        }
    }
}

#[tokio::test]
async fn a3_call_tool_over_http_is_403_as_the_direct_call_in_both_eras() {
    let app = Server::new("x", "1")
        .focus(Focus::new(["free"]))
        .tool(tool("free"))
        .tool(tool("scoped").scope("admin"))
        .tool(tool("hidden").visible(|_, _| false))
        .authenticate(by_token)
        .build()
        .unwrap();
    let service = service(&app);
    let direct = ask_modern(&service, Some("ann/low"), "tools/call", json!({"name": "scoped"})).await;
    let through =
        ask_modern(&service, Some("ann/low"), "tools/call", json!({"name": "call_tool", "arguments": {"name": "scoped"}})).await;
    assert_eq!(direct.0, 403);
    assert_eq!(
        (through.0, through.1.get("www-authenticate"), messages(&through.2)),
        (direct.0, direct.1.get("www-authenticate"), messages(&direct.2))
    );
    let session = open(&service, Some("ann/low"), "2025-06-18").await;
    let call = |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let direct =
        send(&service, "POST", Some("ann/low"), &[("mcp-session-id", &session)], &call(json!({"name": "scoped"}))).await;
    let through = send(
        &service,
        "POST",
        Some("ann/low"),
        &[("mcp-session-id", &session)],
        &call(json!({"name": "call_tool", "arguments": {"name": "scoped"}})),
    )
    .await;
    assert_eq!(direct.0, 403);
    assert_eq!(
        (through.0, through.1.get("www-authenticate"), messages(&through.2)),
        (direct.0, direct.1.get("www-authenticate"), messages(&direct.2))
    );
    // Hidden and unknown, through the meta-tool.
    for name in ["tools/call"] {
        let hidden =
            ask_modern(&service, Some("ann/low"), name, json!({"name": "call_tool", "arguments": {"name": "hidden"}})).await;
        let unknown =
            ask_modern(&service, Some("ann/low"), name, json!({"name": "call_tool", "arguments": {"name": "hiddex"}})).await;
        assert_eq!((hidden.0, hidden.2.replace("hidden", "hiddex")), (unknown.0, unknown.2));
    }
}

#[derive(Serialize, Deserialize)]
struct User {
    admin: bool,
}

fn is_admin(entry: &Shown, viewer: &Viewer) -> bool {
    entry.tag("admin") != true || viewer.assigns::<User>().is_some_and(|user| user.admin)
}

fn everything() -> Server {
    let prompt = |name| {
        Prompt::new(name).description("A prompt.").arg(PromptArg::new("who").required()).complete_from("who", ["ann"]).run(|| "p")
    };
    let strict = |name: &str| {
        Tool::new(name).description("A tool.").param(Param::integer("n").required()).run(|_: Value| "ran")
    };
    Server::new("x", "1")
        .focus(Focus::new(["opened"]))
        .tool(strict("opened"))
        .tool(strict("secret").tag("admin", true))
        .tool(strict("scoped").scope("write").tag("admin", true))
        .resource(Resource::new("a://opened").text("open"))
        .resource(Resource::new("a://secret").text("secret").tag("admin", true))
        .resource_template(ResourceTemplate::new("secret://{v}").tag("admin", true).complete_from("v", ["x"]).run(|v: String| v))
        .resource_template(ResourceTemplate::new("scoped://{v}").scope("write").tag("admin", true).complete_from("v", ["x"]).run(|v: String| v))
        .prompt(prompt("opened"))
        .prompt(prompt("secret").tag("admin", true))
        .prompt(prompt("scoped").scope("write").tag("admin", true))
}

fn probes(name: &str) -> Vec<(&'static str, Value)> {
    let mut all = vec![
        ("tools/call", json!({"name": name})),
        ("tools/call", json!({"name": name, "arguments": [1]})),
        ("tools/call", json!({"name": name, "arguments": {"n": "x"}})),
        ("tools/call", json!({"name": "call_tool", "arguments": {"name": name}})),
        ("tools/call", json!({"name": "call_tool", "arguments": {"name": name, "arguments": {"n": 1}}})),
        ("prompts/get", json!({"name": name})),
        ("prompts/get", json!({"name": name, "arguments": [1]})),
        ("prompts/get", json!({"name": name, "arguments": {"who": 1}})),
        ("resources/read", json!({"uri": format!("a://{name}")})),
        ("resources/read", json!({"uri": format!("{name}://1")})),
        ("tools/call", json!({"name": "discover_tools", "arguments": {"query": name}})),
    ];
    for argument in ["who", "nope", "v"] {
        all.push(("completion/complete", json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": ""}})));
        for uri in [format!("{name}://{{v}}"), format!("{name}://1"), format!("a://{name}")] {
            all.push(("completion/complete", json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": argument, "value": ""}})));
        }
    }
    all
}

#[tokio::test]
async fn a4_hidden_is_unknown_byte_for_byte_with_assigns_over_http_in_both_eras() {
    let init = |caller: Caller| Assigns(User { admin: caller.principal.is_some_and(|name| name.as_str() == "ann") });
    let app = everything().init(init).visible(is_admin).authenticate(by_token).build().unwrap();
    let service = service(&app);
    let session = open(&service, Some("bob/low"), "2025-11-25").await;
    let batched = open(&service, Some("bob/low"), "2025-03-26").await;
    for hidden in ["secret", "scoped"] {
        for ((method, of_hidden), (_, of_unknown)) in probes(hidden).into_iter().zip(probes("nowher")) {
            let shown = |(status, head, body): (u16, HeaderMap, String)| {
                let mut head: Vec<String> =
                    head.iter().filter(|(name, _)| *name != "date").map(|(name, value)| format!("{name}: {value:?}")).collect();
                head.sort();
                (status, head, body.replace(hidden, "nowher"))
            };
            let one = shown(ask_modern(&service, Some("bob/low"), method, of_hidden.clone()).await);
            let other = shown(ask_modern(&service, Some("bob/low"), method, of_unknown.clone()).await);
            assert_eq!(one, other, "{method} {of_hidden}");
            for (session, revision) in [(&session, "2025-11-25"), (&batched, "2025-03-26")] {
                let legacy = |params: &Value| {
                    let one = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                    if revision == "2025-03-26" { json!([one]).to_string() } else { one.to_string() }
                };
                let headers = [("mcp-session-id", &**session), ("mcp-protocol-version", revision)];
                let one = shown(send(&service, "POST", Some("bob/low"), &headers, &legacy(&of_hidden)).await);
                let other = shown(send(&service, "POST", Some("bob/low"), &headers, &legacy(&of_unknown)).await);
                let cut = |(status, head, body): (u16, Vec<String>, String)| {
                    let body: String = body.lines().filter(|line| !line.starts_with("id:")).collect();
                    (status, head, body)
                };
                assert_eq!(cut(one), cut(other), "{revision} {method} {of_hidden}");
            }
        }
        for (method, session) in [("resources/subscribe", &session), ("resources/unsubscribe", &session)] {
            let legacy = |name: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": format!("{name}://1")}}).to_string();
            let headers = [("mcp-session-id", &**session)];
            let one = send(&service, "POST", Some("bob/low"), &headers, &legacy(hidden)).await;
            let other = send(&service, "POST", Some("bob/low"), &headers, &legacy("nowher")).await;
            assert_eq!((one.0, one.2.replace(hidden, "nowher")), (other.0, other.2));
        }
    }
}

#[tokio::test]
async fn a5_who_is_not_let_in_learns_no_names() {
    let app = everything()
        .init(|_: Caller| -> Result<User, CallError> { Err(CallError::new("not you")) })
        .authenticate(by_token)
        .build()
        .unwrap();
    let service = service(&app);
    for name in ["opened", "secret", "scoped"] {
        for ((method, known), (_, unknown)) in probes(name).into_iter().zip(probes("nowher")) {
            let one = ask_modern(&service, Some("bob/low"), method, known.clone()).await;
            let other = ask_modern(&service, Some("bob/low"), method, unknown.clone()).await;
            assert_eq!((one.0, one.2.replace(name, "nowher")), (other.0, other.2), "{method} {known}");
        }
    }
}

#[tokio::test]
async fn a6_assign_changes_visibility_on_modern_only_for_the_request_and_in_a_session_at_once() {
    let promote = Tool::new("promote").description("Promotes.").run(|ctx: Ctx| ctx.assign(&User { admin: true }));
    let demote = Tool::new("demote").description("Demotes.").run(|ctx: Ctx| ctx.assign(&User { admin: false }));
    let app = everything().tool(promote).tool(demote).init(|| Assigns(User { admin: false })).visible(is_admin).build().unwrap();
    block_on(async {
        for revision in Revision::ALL {
            let mut client = Client::builder(&app).revision(revision).connect();
            let _ = client.read("a://secret").await;
            let listening = client.listen(["a://secret", "a://opened"]).await;
            assert_eq!(listening.uris(), ["a://opened"], "{revision}");
            client.call("promote", ()).await.assert_ok();
            let legacy = revision != Revision::MODERN;
            assert_eq!(client.read("a://secret").await.is_ok(), legacy, "{revision}");
            if legacy {
                client.subscribe("a://secret").await.assert_ok();
                app.resource_updated("a://secret");
                assert_eq!(client.take_updates(), ["a://secret"], "{revision}");
                client.call("demote", ()).await.assert_ok();
                app.resource_updated("a://secret");
                assert_eq!(client.take_updates(), [""; 0], "{revision}");
                client.call("call_tool", json!({"name": "secret", "arguments": {"n": 1}})).await.assert_fault(-32602);
                client.call("promote", ()).await.assert_ok();
                client.call("call_tool", json!({"name": "secret", "arguments": {"n": 1}})).await.assert_text("ran");
                app.resource_updated("a://secret");
                assert_eq!(client.take_updates(), ["a://secret"], "{revision}");
            }
        }
    });
}

/// A scope is lost in the middle of a session: by a narrower token of the same principal.
#[tokio::test]
async fn a7_updates_after_a_scope_was_lost() {
    let app = Server::new("x", "1")
        .resource(Resource::new("a://closed").scope("closed").text("closed"))
        .resource(Resource::new("a://free").text("free"))
        .authenticate(by_token)
        .build()
        .unwrap();
    let service = service(&app);
    let session = open(&service, Some("ann/closed"), "2025-11-25").await;
    let subscribe =
        |uri: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}}).to_string();
    let headers = [("mcp-session-id", &*session)];
    assert_eq!(send(&service, "POST", Some("ann/closed"), &headers, &subscribe("a://closed")).await.0, 200);
    // Nobody listens: what is untold waits for the stream.
    app.resource_updated("a://closed");
    // The next token has less; a stream is opened with it.
    let request = Request::get("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session)
        .header("authorization", "Bearer ann/low")
        .body(Body::empty())
        .unwrap();
    let response = service.handle(request).await;
    assert_eq!(response.status(), 200);
    let mut body = Body::new(response.into_body());
    use std::future::poll_fn;
    let mut read = async || {
        let mut text = String::new();
        loop {
            let next = tokio::time::timeout(
                Duration::from_millis(100),
                poll_fn(|cx| {
                    let stream = std::pin::Pin::new(&mut body);
                    axum::body::HttpBody::poll_frame(stream_as_body(stream), cx)
                }),
            )
            .await;
            match next {
                Ok(Some(Ok(frame))) => text.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap())),
                _ => break text,
            }
        }
    };
    let first = read().await;
    println!("waiting before the stream: {first:?}");
    app.resource_updated("a://closed");
    println!("after: {:?}", read().await);
    assert_eq!(send(&service, "POST", Some("ann/low"), &headers, &subscribe("a://free")).await.0, 200);
    app.resource_updated("a://closed");
    app.resource_updated("a://free");
    let told = read().await;
    println!("after a narrower subscription: {told:?}");
    assert!(!told.contains("a://closed"), "{told}");
}

fn stream_as_body<T>(stream: T) -> T {
    stream
}
