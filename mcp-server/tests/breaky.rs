//! What a hostile reader of this issue's features tries.

#![cfg(all(feature = "http", feature = "validate", feature = "toml"))]
#![allow(
    missing_docs,
    dead_code,
    unused_imports,
    unused_variables,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::restriction
)]

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
    Ability, App, Arguments, Assigns, Authorization, CallError, Caller, Common, Ctx, Focus, Level, Log, Manifest,
    Module, Param, Progress, Prompt, PromptArg, RateLimit, Resource, ResourceTemplate, Revision, Scopes, Server, Shown,
    Tool, UiApp, Value, Viewer, json,
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
        None => {
            body.lines().filter_map(|line| line.strip_prefix("data:")).filter_map(|data| one(data.trim())).collect()
        }
    }
}

async fn open(service: &McpService, token: Option<&str>, revision: &str) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": revision,
        "capabilities": {"elicitation": {}}, "clientInfo": {"name": "x", "version": "1"}}});
    let (status, head, body) = send(service, "POST", token, &[], &body.to_string()).await;
    assert_eq!(status, 200, "{body}");
    let session = head["mcp-session-id"].to_str().unwrap().to_owned();
    let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let (status, ..) = send(
        service,
        "POST",
        token,
        &[("mcp-session-id", &session), ("mcp-protocol-version", revision)],
        &body.to_string(),
    )
    .await;
    assert_eq!(status, 202);
    session
}

fn modern(method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn ask_modern(
    service: &McpService,
    token: Option<&str>,
    method: &str,
    params: Value,
) -> (u16, HeaderMap, String) {
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
    let call =
        |id: u32, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
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
            let (got, _, body) =
                send(&service, "POST", Some(token), &[("mcp-session-id", &session)], &body.to_string()).await;
            assert_eq!(got, status, "{token} {uri} {body}");
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/unsubscribe", "params": {"uri": uri}});
            let (got, _, body) =
                send(&service, "POST", Some(token), &[("mcp-session-id", &session)], &body.to_string()).await;
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
    let through = ask_modern(
        &service,
        Some("ann/low"),
        "tools/call",
        json!({"name": "call_tool", "arguments": {"name": "scoped"}}),
    )
    .await;
    assert_eq!(direct.0, 403);
    assert_eq!(
        (through.0, through.1.get("www-authenticate"), messages(&through.2)),
        (direct.0, direct.1.get("www-authenticate"), messages(&direct.2))
    );
    let session = open(&service, Some("ann/low"), "2025-06-18").await;
    let call = |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let direct =
        send(&service, "POST", Some("ann/low"), &[("mcp-session-id", &session)], &call(json!({"name": "scoped"})))
            .await;
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
            ask_modern(&service, Some("ann/low"), name, json!({"name": "call_tool", "arguments": {"name": "hidden"}}))
                .await;
        let unknown =
            ask_modern(&service, Some("ann/low"), name, json!({"name": "call_tool", "arguments": {"name": "hiddex"}}))
                .await;
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
        Prompt::new(name)
            .description("A prompt.")
            .arg(PromptArg::new("who").required())
            .complete_from("who", ["ann"])
            .run(|| "p")
    };
    let strict =
        |name: &str| Tool::new(name).description("A tool.").param(Param::integer("n").required()).run(|_: Value| "ran");
    Server::new("x", "1")
        .focus(Focus::new(["opened"]))
        .tool(strict("opened"))
        .tool(strict("secret").tag("admin", true))
        .tool(strict("scoped").scope("write").tag("admin", true))
        .resource(Resource::new("a://opened").text("open"))
        .resource(Resource::new("a://secret").text("secret").tag("admin", true))
        .resource_template(
            ResourceTemplate::new("secret://{v}").tag("admin", true).complete_from("v", ["x"]).run(|v: String| v),
        )
        .resource_template(
            ResourceTemplate::new("scoped://{v}")
                .scope("write")
                .tag("admin", true)
                .complete_from("v", ["x"])
                .run(|v: String| v),
        )
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
        all.push((
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": ""}}),
        ));
        for uri in [format!("{name}://{{v}}"), format!("{name}://1"), format!("a://{name}")] {
            all.push((
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": argument, "value": ""}}),
            ));
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
                let mut head: Vec<String> = head
                    .iter()
                    .filter(|(name, _)| *name != "date")
                    .map(|(name, value)| format!("{name}: {value:?}"))
                    .collect();
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
            let legacy = |name: &str| {
                json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": format!("{name}://1")}})
                    .to_string()
            };
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
    let app = everything()
        .tool(promote)
        .tool(demote)
        .init(|| Assigns(User { admin: false }))
        .visible(is_admin)
        .build()
        .unwrap();
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
    let subscribe = |uri: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}}).to_string()
    };
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

/// Word of a resource waits for a stream; the resource is hidden before there is one.
#[tokio::test]
async fn a8_word_that_waits_is_not_told_once_its_resource_is_hidden() {
    let promote = Tool::new("promote").description("Promotes.").run(|ctx: Ctx| ctx.assign(&User { admin: true }));
    let demote = Tool::new("demote").description("Demotes.").run(|ctx: Ctx| ctx.assign(&User { admin: false }));
    let app = everything()
        .tool(promote)
        .tool(demote)
        .init(|| Assigns(User { admin: true }))
        .visible(is_admin)
        .authenticate(by_token)
        .build()
        .unwrap();
    let service = service(&app);
    let session = open(&service, Some("ann/x"), "2025-11-25").await;
    let headers = [("mcp-session-id", &*session)];
    let body = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    let subscribe = body("resources/subscribe", json!({"uri": "a://secret"}));
    assert_eq!(send(&service, "POST", Some("ann/x"), &headers, &subscribe).await.0, 200);
    app.resource_updated("a://secret");
    let demote = body("tools/call", json!({"name": "demote"}));
    assert_eq!(send(&service, "POST", Some("ann/x"), &headers, &demote).await.0, 200);
    let request = Request::get("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session)
        .header("authorization", "Bearer ann/x")
        .body(Body::empty())
        .unwrap();
    let mut stream = Body::new(service.handle(request).await.into_body());
    let mut text = String::new();
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(
        Duration::from_millis(100),
        std::future::poll_fn(|cx| axum::body::HttpBody::poll_frame(std::pin::Pin::new(&mut stream), cx)),
    )
    .await
    {
        text.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
    }
    assert!(!text.contains("a://secret"), "{text}");
}

// ---- (1) sensitive tools ----

const KEY: &str = "mcp-server/approval";

fn counter() -> (Arc<AtomicU32>, impl Fn() -> u32 + Clone + Send + Sync + 'static) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    (runs, move || counted.fetch_add(1, Ordering::SeqCst))
}

fn eraser(name: &str, run: impl Fn() -> u32 + Clone + Send + Sync + 'static) -> Tool {
    Tool::new(name).description("A tool.").param(Param::integer("id").default(1)).run(move |_: Value| {
        run();
        "gone"
    })
}

fn yes() -> Value {
    json!({KEY: {"action": "accept", "content": {"approve": true}}})
}

fn ask_first(ctx: Ctx) -> Authorization {
    Authorization::ask(format!("Run `{}`?", ctx.tool()))
}

#[test]
fn b1_every_way_to_make_a_tool_sensitive_is_guarded() {
    let (runs, run) = counter();
    let manifest = |more: &str| {
        Manifest::json(format!(
            r#"{{"tools": [{{"name": "erase", "description": "A tool.", "inputSchema": {{"type": "object", "properties": {{"id": {{"type": "integer"}}}}}}{more}}}]}}"#
        ))
    };
    let with_defaults = |defaults: &str| {
        Manifest::json(format!(
            r#"{{"defaults": {defaults}, "tools": [{{"name": "erase", "description": "A tool.", "inputSchema": {{"type": "object"}}, "sensitive": false, "annotations": {{"readOnlyHint": true, "sensitive": false}}}}]}}"#
        ))
    };
    let r = run.clone();
    let runner = move |_: Value| {
        r();
        "gone"
    };
    let page = || mcp_server::Resource::app("ui://x/page").text("<p>");
    let _ = page;
    let servers: Vec<(&str, Box<dyn Fn(Server) -> Server>)> = vec![
        (
            "destructive",
            Box::new({
                let run = run.clone();
                move |s| s.tool(eraser("erase", run.clone()).destructive(true))
            }),
        ),
        (
            "sensitive",
            Box::new({
                let run = run.clone();
                move |s| s.tool(eraser("erase", run.clone()).sensitive(true).destructive(false).read_only(true))
            }),
        ),
        (
            "module sensitive",
            Box::new({
                let run = run.clone();
                move |s| {
                    s.module(
                        Module::new("m")
                            .sensitive(true)
                            .tool(eraser("erase", run.clone()).sensitive(false).destructive(false).read_only(true)),
                    )
                }
            }),
        ),
        (
            "module destructive",
            Box::new({
                let run = run.clone();
                move |s| {
                    s.module(Module::new("m").destructive(true).tool(eraser("erase", run.clone()).sensitive(false)))
                }
            }),
        ),
        (
            "outer module",
            Box::new({
                let run = run.clone();
                move |s| {
                    s.module(
                        Module::new("m").sensitive(true).module(
                            Module::new("n").sensitive(false).tool(eraser("erase", run.clone()).sensitive(false)),
                        ),
                    )
                }
            }),
        ),
        (
            "outer module destructive",
            Box::new({
                let run = run.clone();
                move |s| {
                    s.module(
                        Module::new("m").destructive(true).module(Module::new("n").tool(eraser("erase", run.clone()))),
                    )
                }
            }),
        ),
        (
            "server defaults",
            Box::new({
                let run = run.clone();
                move |s| s.tool(eraser("erase", run.clone())).defaults(mcp_server::Defaults::new().sensitive(true))
            }),
        ),
        (
            "manifest",
            Box::new({
                let r = runner.clone();
                move |s| s.tools(manifest(r#", "annotations": {"destructiveHint": true}"#).run("erase", r.clone()))
            }),
        ),
        (
            "manifest sensitive",
            Box::new({
                let r = runner.clone();
                move |s| {
                    s.tools(
                        manifest(r#", "sensitive": true, "annotations": {"sensitive": false}"#).run("erase", r.clone()),
                    )
                }
            }),
        ),
        (
            "manifest hint",
            Box::new({
                let r = runner.clone();
                move |s| {
                    s.tools(
                        manifest(r#", "sensitive": false, "annotations": {"sensitive": true}"#).run("erase", r.clone()),
                    )
                }
            }),
        ),
        (
            "manifest defaults",
            Box::new({
                let r = runner.clone();
                move |s| s.tools(with_defaults(r#"{"sensitive": true}"#).run("erase", r.clone()))
            }),
        ),
        (
            "manifest default hints",
            Box::new({
                let r = runner.clone();
                move |s| s.tools(with_defaults(r#"{"annotations": {"sensitive": true}}"#).run("erase", r.clone()))
            }),
        ),
        (
            "manifest default destructive",
            Box::new({
                let r = runner.clone();
                move |s| s.tools(with_defaults(r#"{"annotations": {"destructiveHint": true}}"#).run("erase", r.clone()))
            }),
        ),
        (
            "manifest in module",
            Box::new({
                let r = runner.clone();
                move |s| s.module(Module::new("m").sensitive(true).tools(manifest("").run("erase", r.clone())))
            }),
        ),
    ];
    for (what, make) in servers {
        let error = make(Server::new("x", "1")).build().expect_err(what);
        assert!(error.to_string().contains("erase") && error.to_string().contains("authorize"), "{what}: {error}");
        let app = make(Server::new("x", "1").focus(Focus::new([""; 0])).authorize(Authorization::deny_all))
            .build()
            .expect(what);
        block_on(async {
            for revision in Revision::ALL {
                let mut client = Client::builder(&app).revision(revision).connect();
                client.call("erase", ()).await.assert_error_contains("Not allowed");
                client.call("call_tool", json!({"name": "erase"})).await.assert_error_contains("Not allowed");
            }
        });
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[test]
fn b2_added_by_edit_and_renamed() {
    let (runs, run) = counter();
    // Allowed by name, and then the name is another's.
    let app = Server::new("x", "1")
        .allow_unguarded(["erase"])
        .tool(eraser("erase", run.clone()).destructive(true))
        .build()
        .unwrap();
    app.edit(|edit| {
        edit.remove("erase");
        edit.add(eraser("erase_all", run.clone()).destructive(true));
    })
    .expect_err("it is another name");
    app.add_module(Module::new("m").sensitive(true).tool(eraser("wipe", run.clone()))).expect_err("sensitive");
    app.edit(|edit| {
        edit.add_all(vec![eraser("wipe", run.clone()).sensitive(true)]);
    })
    .expect_err("sensitive");
    assert_eq!(app.tool_names(), ["erase"]);
    let app = Server::new("x", "1").authorize(Authorization::deny_all).offers_resources().build().unwrap();
    app.edit(|edit| {
        edit.add(eraser("a", run.clone()).destructive(true));
        edit.add_module(Module::new("m").sensitive(true).tool(eraser("b", run.clone())));
        edit.add_all(vec![eraser("c", run.clone()).sensitive(true)]);
    })
    .unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        for name in ["a", "b", "c"] {
            client.call(name, ()).await.assert_error_contains("Not allowed");
        }
    });
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// Sends a call of the modern era as it is, and gives all there is.
async fn raw(
    client: &mut Client,
    name: &str,
    arguments: Value,
    state: Option<&Value>,
    answers: Option<Value>,
) -> Answer {
    let mut params = json!({"name": name, "arguments": arguments});
    if let Some(state) = state {
        params["requestState"] = state.clone();
    }
    if let Some(answers) = answers {
        params["inputResponses"] = answers;
    }
    client.request("tools/call", params).await
}

fn state_of(answer: &Answer) -> Value {
    answer.assert_at("/result/resultType", "input_required");
    answer.json()["result"]["requestState"].clone()
}

fn asking(app: &App, principal: &str) -> Client {
    Client::builder(app).modern().principal(principal).can(Ability::ElicitationForm).connect()
}

#[test]
fn b3_an_approval_is_of_one_principal_one_tool_one_path_and_one_use() {
    let (runs, run) = counter();
    let app = Server::new("x", "1")
        .focus(Focus::new(["erase"]))
        .authorize(|_: Ctx| Authorization::ask("Sure?"))
        .tool(eraser("erase", run.clone()).sensitive(true))
        .tool(eraser("wipe", run.clone()).sensitive(true))
        .build()
        .unwrap();
    let ran = || runs.load(Ordering::SeqCst);
    block_on(async {
        let (mut ann, mut bob) = (asking(&app, "ann"), asking(&app, "bob"));
        let state = state_of(&raw(&mut ann, "erase", json!({"id": 1}), None, None).await);
        raw(&mut bob, "erase", json!({"id": 1}), Some(&state), Some(yes())).await.assert_fault(-32602);
        raw(&mut ann, "wipe", json!({"id": 1}), Some(&state), Some(yes())).await.assert_fault(-32602);
        raw(&mut ann, "erase", json!({"id": 2}), Some(&state), Some(yes())).await.assert_fault(-32602);
        raw(&mut ann, "erase", json!({}), Some(&state), Some(yes())).await.assert_fault(-32602);
        raw(&mut ann, "call_tool", json!({"name": "erase", "arguments": {"id": 1}}), Some(&state), Some(yes()))
            .await
            .assert_fault(-32602);
        // Approvals that nobody asked for.
        state_of(&raw(&mut ann, "erase", json!({"id": 1}), None, Some(yes())).await);
        assert_eq!(ran(), 0);
        raw(&mut ann, "erase", json!({"id": 1}), Some(&state), Some(yes())).await.assert_text("gone");
        assert_eq!(ran(), 1);
        raw(&mut ann, "erase", json!({"id": 1}), Some(&state), Some(yes())).await.assert_fault(-32602);
        // Through the other tool.
        let through = json!({"name": "wipe", "arguments": {"id": 1}});
        let state = state_of(&raw(&mut ann, "call_tool", through.clone(), None, None).await);
        raw(&mut bob, "call_tool", through.clone(), Some(&state), Some(yes())).await.assert_fault(-32602);
        raw(&mut ann, "wipe", json!({"id": 1}), Some(&state), Some(yes())).await.assert_fault(-32602);
        let other = json!({"name": "erase", "arguments": {"id": 1}});
        raw(&mut ann, "call_tool", other, Some(&state), Some(yes())).await.assert_fault(-32602);
        let other = json!({"name": "wipe", "arguments": {"id": 2}});
        raw(&mut ann, "call_tool", other, Some(&state), Some(yes())).await.assert_fault(-32602);
        assert_eq!(ran(), 1);
        raw(&mut ann, "call_tool", through.clone(), Some(&state), Some(yes())).await.assert_text("gone");
        raw(&mut ann, "call_tool", through.clone(), Some(&state), Some(yes())).await.assert_fault(-32602);
        assert_eq!(ran(), 2);
    });
}

#[test]
fn b4_two_at_once_with_one_approval_run_once() {
    let (runs, run) = counter();
    let slow = Tool::new("erase").description("A tool.").sensitive(true).run(move |ctx: Ctx| {
        let run = run.clone();
        async move {
            run();
            ctx.cancelled().await;
            "gone"
        }
    });
    let app = Server::new("x", "1").authorize(ask_first).tool(slow).build().unwrap();
    block_on(async {
        let mut ann = asking(&app, "ann");
        let state = state_of(&raw(&mut ann, "erase", json!({}), None, None).await);
        let params = json!({"name": "erase", "arguments": {}, "requestState": state, "inputResponses": yes()});
        let one = ann.request("tools/call", params.clone()).start();
        let two = ann.request("tools/call", params.clone()).start();
        assert!(!ann.is_answered(&one));
        assert!(ann.is_answered(&two));
        ann.cancel(one);
        // The approval is gone with the call that was cancelled.
        ann.request("tools/call", params).await.assert_fault(-32602);
    });
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[test]
fn b5_an_authorizer_whose_question_differs_each_run_lets_nothing_through() {
    for which in 0..4 {
        for revision in [Revision::V2025_11_25, Revision::MODERN] {
            let (runs, run) = counter();
            let n = Arc::new(AtomicU32::new(0));
            let authorizer = move |_: Ctx| match (which, n.fetch_add(1, Ordering::SeqCst)) {
                (0, n) => Authorization::ask(format!("Run {n}?")),
                (1, 0) => Authorization::ask("Harmless?"),
                (1, _) => Authorization::ask("Everything?"),
                (2, 0) => Authorization::ask("Sure?"),
                (2, _) => Authorization::deny("not any more"),
                (_, n) if n % 2 == 0 => Authorization::ask("Sure?"),
                (_, n) => Authorization::ask(format!("Sure? {n}")),
            };
            let app =
                Server::new("x", "1").authorize(authorizer).tool(eraser("erase", run).sensitive(true)).build().unwrap();
            block_on(async {
                let mut client = Client::builder(&app)
                    .revision(revision)
                    .can(Ability::ElicitationForm)
                    .on_request(|_, _| json!({"action": "accept", "content": {"approve": true}}))
                    .connect();
                let answer = client.call("erase", ()).await;
                assert!(!answer.is_ok(), "{answer:?}");
            });
            assert_eq!(runs.load(Ordering::SeqCst), 0, "{which}");
        }
    }
}

/// First allowed, so that the tool asks; in the run with its answer, the authorizer asks, and all goes on as it should.
#[test]
fn b6_an_authorizer_that_asks_in_a_later_run_only() {
    let n = Arc::new(AtomicU32::new(0));
    let reset = Arc::clone(&n);
    let (runs, run) = counter();
    let authorizer = move |_: Ctx| {
        if n.fetch_add(1, Ordering::SeqCst) == 0 { Authorization::Allow } else { Authorization::ask("Sure?") }
    };
    for raw_ask in [false, true] {
        let run = run.clone();
        let erase = Tool::new("erase").description("A tool.").sensitive(true).run(
            move |ctx: Ctx| -> Result<&'static str, CallError> {
                if raw_ask {
                    match ctx.resume() {
                        None => {
                            let question = mcp_server::question::Question::Form {
                                message: "Own?".into(),
                                schema: r#"{"type":"object","properties":{}}"#.into(),
                            };
                            return Err(CallError::ask([("own", question)], vec![1]));
                        }
                        Some(resume) => {
                            assert!(&resume.state[..] == [1] && resume.reply("own").is_some(), "{resume:?}")
                        }
                    }
                } else {
                    ctx.ask("own", elicit("Own?"))?.required()?;
                }
                run();
                Ok("gone")
            },
        );
        let app = Server::new("x", "1").authorize(authorizer.clone()).tool(erase).build().unwrap();
        block_on(async {
            for revision in [Revision::V2025_11_25, Revision::MODERN] {
                reset.store(0, Ordering::SeqCst);
                let shown = Arc::new(Mutex::new(Vec::new()));
                let kept = Arc::clone(&shown);
                let mut client = Client::builder(&app)
                    .revision(revision)
                    .can(Ability::ElicitationForm)
                    .on_request(move |_, params| {
                        let message = params["message"].as_str().unwrap().to_owned();
                        let content = if message == "Own?" { json!({}) } else { json!({"approve": true}) };
                        kept.lock().unwrap().push(message);
                        json!({"action": "accept", "content": content})
                    })
                    .connect();
                let answer = client.call("erase", ()).await;
                println!("{raw_ask} {revision} {:?} {answer:?}", shown.lock().unwrap());
                answer.assert_text("gone");
            }
        });
    }
    assert_eq!(runs.load(Ordering::SeqCst), 4);
}

/// Middleware, authorizer and tool all ask, with states of two kinds.
#[test]
fn b7_middleware_authorizer_and_tool_all_ask() {
    for raw_ask in [false, true] {
        let (runs, run) = counter();
        let erase = Tool::new("erase").description("A tool.").sensitive(true).run(
            move |ctx: Ctx| -> Result<&'static str, CallError> {
                if raw_ask {
                    let question = |step: &str| mcp_server::question::Question::Form {
                        message: format!("Own {step}?").into(),
                        schema: r#"{"type":"object","properties":{}}"#.into(),
                    };
                    match ctx.resume().map(|resume| resume.state.to_vec()) {
                        None => return Err(CallError::ask([("own", question("1"))], vec![1])),
                        Some(state) if state == [1] && ctx.resume().unwrap().reply("own").is_some() => {
                            return Err(CallError::ask([("own2", question("2"))], vec![2]));
                        }
                        Some(state) if state == [2] && ctx.resume().unwrap().reply("own2").is_some() => {}
                        other => panic!("{other:?}"),
                    }
                } else {
                    ctx.ask("own", elicit("Own 1?"))?.required()?;
                    ctx.ask("own2", elicit("Own 2?"))?.required()?;
                }
                run();
                Ok("gone")
            },
        );
        let around = |ctx: Ctx, next: Next| async move {
            ctx.ask("around", elicit("Around?"))?.required()?;
            let result: CallResult = next.run().await;
            result
        };
        let app = Server::new("x", "1").wrap(around).authorize(ask_first).tool(erase).build().unwrap();
        block_on(async {
            for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN] {
                let shown = Arc::new(Mutex::new(Vec::new()));
                let kept = Arc::clone(&shown);
                let mut client = Client::builder(&app)
                    .revision(revision)
                    .can(Ability::ElicitationForm)
                    .on_request(move |_, params| {
                        let message = params["message"].as_str().unwrap().to_owned();
                        let content = if message.starts_with("Run") { json!({"approve": true}) } else { json!({}) };
                        kept.lock().unwrap().push(message);
                        json!({"action": "accept", "content": content})
                    })
                    .connect();
                let answer = client.call("erase", ()).await;
                assert_eq!(
                    *shown.lock().unwrap(),
                    ["Around?", "Run `erase`?", "Own 1?", "Own 2?"],
                    "{raw_ask} {revision} {answer:?}"
                );
                answer.assert_text("gone");
            }
        });
        assert_eq!(runs.load(Ordering::SeqCst), 3);
    }
}

/// Scope and visibility are looked at again when the approval comes.
#[tokio::test]
async fn b8_an_approval_does_not_outlive_scope_or_sight() {
    let (runs, run) = counter();
    let shows = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&shows);
    let app = Server::new("x", "1")
        .authorize(ask_first)
        .tool(eraser("erase", run.clone()).sensitive(true).scope("erase"))
        .tool(eraser("wipe", run.clone()).sensitive(true).visible(move |_, _| seen.load(Ordering::SeqCst)))
        .authenticate(by_token)
        .build()
        .unwrap();
    let service = service(&app);
    let ask = |name: &'static str, token: &'static str, more: Value| {
        let mut params = json!({"name": name, "arguments": {"id": 1}});
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        ask_modern(&service, Some(token), "tools/call", params)
    };
    let state = |body: &str| messages(body)[0]["result"]["requestState"].clone();
    let (_, _, body) = ask("erase", "ann/erase", json!({})).await;
    let more = json!({"requestState": state(&body), "inputResponses": yes()});
    assert_eq!(ask("erase", "ann/low", more.clone()).await.0, 403);
    let (_, _, body) = ask("erase", "ann/erase", more).await;
    assert!(body.contains("gone"), "{body}");
    let (_, _, body) = ask("wipe", "ann/erase", json!({})).await;
    let more = json!({"requestState": state(&body), "inputResponses": yes()});
    shows.store(false, Ordering::SeqCst);
    let (_, _, body) = ask("wipe", "ann/erase", more).await;
    assert!(body.contains("Unknown tool"), "{body}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

// ---- (2) middleware ----

/// Waits that often, once each time it is polled.
struct Yields(u32);

impl std::future::Future for Yields {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        if self.0 == 0 {
            return std::task::Poll::Ready(());
        }
        self.0 -= 1;
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    }
}

#[tokio::test]
async fn c1_a_call_that_is_dropped_at_each_of_its_waits_leaves_every_limit_free() {
    use std::future::{Future, poll_fn};
    use std::task::Poll;
    let limit = ConcurrencyLimit::new(1);
    let alive = Arc::new(AtomicUsize::new(0));
    struct Alive(Arc<AtomicUsize>);
    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let counted = Arc::clone(&alive);
    let around = move |next: Next| {
        counted.fetch_add(1, Ordering::SeqCst);
        let alive = Alive(Arc::clone(&counted));
        async move {
            Yields(2).await;
            let result: CallResult = next.run().await;
            Yields(2).await;
            drop(alive);
            result
        }
    };
    let slow = Tool::new("slow")
        .description("A tool.")
        .wrap(around.clone())
        .wrap(limit.clone())
        .wrap(around.clone())
        .wrap(CircuitBreaker::new().threshold(1))
        .wrap(TimeLimit::new(Duration::from_secs(5)))
        .wrap(around)
        .run(|| async {
            Yields(3).await;
            "done"
        });
    let app = Server::new("x", "1").tool(slow).build().unwrap();
    let service = service(&app);
    for steps in 0..40 {
        let mut call = Box::pin(ask_modern(&service, None, "tools/call", json!({"name": "slow"})));
        let mut left = steps;
        let ended = poll_fn(|cx| match call.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending if left == 0 => Poll::Ready(false),
            Poll::Pending => {
                left -= 1;
                Poll::Pending
            }
        })
        .await;
        drop(call);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        if !ended {
            assert_eq!(alive.load(Ordering::SeqCst), 0, "{steps}");
        }
    }
    let (status, _, body) = ask_modern(&service, None, "tools/call", json!({"name": "slow"})).await;
    assert!(status == 200 && body.contains("done"), "{body}");
}

#[test]
fn c2_a_panic_anywhere_around_is_one_callers_error_and_frees_everything() {
    let which = Arc::new(AtomicU32::new(0));
    let reads = Arc::clone(&which);
    let stage = move |at: u32| {
        let which = Arc::clone(&reads);
        move |next: Next| {
            let which = Arc::clone(&which);
            if which.load(Ordering::SeqCst) == at {
                panic!("before its future");
            }
            async move {
                if which.load(Ordering::SeqCst) == at + 1 {
                    panic!("before next");
                }
                let result: CallResult = next.run().await;
                if which.load(Ordering::SeqCst) == at + 2 {
                    panic!("after next");
                }
                Yields(1).await;
                if which.load(Ordering::SeqCst) == at + 3 {
                    panic!("after a wait");
                }
                result
            }
        }
    };
    let limit = ConcurrencyLimit::new(1).refuse();
    let tool = Tool::new("t").description("A tool.").wrap(stage(10)).wrap(limit).wrap(stage(20)).run(|| async {
        Yields(1).await;
        "done"
    });
    let app = Server::new("x", "1").wrap(stage(0)).tool(tool).build().unwrap();
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        for revision in Revision::ALL {
            let mut client = Client::builder(&app).revision(revision).connect();
            for at in [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23] {
                which.store(at, Ordering::SeqCst);
                let answer = client.call("t", ()).await;
                assert!(!answer.is_ok() && !format!("{answer:?}").contains("before"), "{answer:?}");
                which.store(99, Ordering::SeqCst);
                client.call("t", ()).await.assert_text("done");
            }
        }
    });
}

/// A breaker's probe that is refused by its schema never reached what had failed.
#[test]
fn c3_a_probe_whose_arguments_are_wrong_proves_nothing() {
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&seconds);
    let breaker = CircuitBreaker::new()
        .threshold(2)
        .recovery(Duration::from_secs(10))
        .clock(move || Duration::from_secs(clock.load(Ordering::SeqCst)));
    let (runs, run) = counter();
    let tool = Tool::new("t").description("A tool.").wrap(breaker).param(Param::integer("n").required()).run(
        move |_: Value| {
            run();
            Err::<(), CallError>(std::io::Error::other("down").into())
        },
    );
    let app = Server::new("x", "1").tool(tool).build().unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        // Four failures with a mistake of the model's between any two: it never opens.
        for _ in 0..2 {
            client.call("t", json!({"n": 1})).await.assert_error();
        }
        client.call("t", json!({"n": 1})).await.assert_error_contains("circuit open");
        seconds.store(10, Ordering::SeqCst);
        client.call("t", json!({"n": "wrong"})).await.assert_error_contains("`n`");
        // It is not known to work: one call alone may find out.
        client.call("t", json!({"n": 1})).await.assert_error();
        client.call("t", json!({"n": 1})).await.assert_error_contains("circuit open");
    });
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[test]
fn c4_a_half_open_probe_that_is_cancelled_leaves_the_next_to_find_out() {
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&seconds);
    let breaker = CircuitBreaker::new()
        .threshold(1)
        .recovery(Duration::from_secs(10))
        .clock(move || Duration::from_secs(clock.load(Ordering::SeqCst)));
    let mode = Arc::new(AtomicU32::new(0));
    let modes = Arc::clone(&mode);
    let tool = Tool::new("t").description("A tool.").wrap(breaker).run(move |ctx: Ctx| {
        let mode = modes.load(Ordering::SeqCst);
        async move {
            match mode {
                0 => Err(CallError::from(std::io::Error::other("down"))),
                1 => {
                    ctx.cancelled().await;
                    Ok("never")
                }
                _ => Ok("up"),
            }
        }
    });
    let app = Server::new("x", "1").tool(tool).build().unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        client.call("t", ()).await.assert_error();
        seconds.store(10, Ordering::SeqCst);
        mode.store(1, Ordering::SeqCst);
        for _ in 0..3 {
            let probe = client.start("t", ());
            assert!(!client.is_answered(&probe));
            client.call("t", ()).await.assert_error_contains("circuit open");
            client.cancel(probe);
        }
        mode.store(2, Ordering::SeqCst);
        client.call("t", ()).await.assert_text("up");
        client.call("t", ()).await.assert_text("up");
    });
}

/// What hangs until the server's own time limit is as bad as what fails.
#[test]
fn c5_calls_that_time_out_for_the_server_open_a_circuit() {
    let (runs, run) = counter();
    let tool = Tool::new("t").description("A tool.").wrap(CircuitBreaker::new().threshold(2)).run(move |ctx: Ctx| {
        run();
        async move {
            ctx.cancelled().await;
            "never"
        }
    });
    let mut policy = mcp_server::Policy::default();
    policy.timing.call = Some(mcp_server::Span::secs(60));
    let app = Server::new("x", "1").policy(policy).tool(tool).build().unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        for _ in 0..4 {
            let call = client.start("t", ());
            if !client.is_answered(&call) {
                client.advance(Duration::from_secs(61)).await;
            }
            println!("{:?}", client.finish(call).await);
        }
    });
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[test]
fn c6_rate_limit_of_200_000_keys_is_quick_and_forgets_no_offender() {
    let limit = RateLimit::new(2, Duration::from_secs(60)).by(|who| who.principal().map(Into::into));
    let tool = tool("t").wrap(limit);
    let app = Server::new("x", "1").tool(tool).authenticate(by_token).build().unwrap();
    let service = service(&app);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        for _ in 0..2 {
            assert_eq!(ask_modern(&service, Some("bad"), "tools/call", json!({"name": "t"})).await.0, 200);
        }
        assert_eq!(ask_modern(&service, Some("bad"), "tools/call", json!({"name": "t"})).await.0, 429);
        let (begin, mut worst) = (Instant::now(), Duration::ZERO);
        for n in 0..if cfg!(debug_assertions) { 200_000 } else { 200_000 } {
            let one = Instant::now();
            let token = format!("p{n}");
            let (status, ..) = ask_modern(&service, Some(&token), "tools/call", json!({"name": "t"})).await;
            assert_eq!(status, 200);
            worst = worst.max(one.elapsed());
        }
        println!("c6: {:?}, the worst {worst:?}", begin.elapsed());
        assert!(worst < Duration::from_millis(250));
        assert_eq!(
            ask_modern(&service, Some("bad"), "tools/call", json!({"name": "t"})).await.0,
            429,
            "who asked too often is remembered"
        );
    });
}

#[tokio::test]
async fn c7_what_panics_before_a_call_is_contained() {
    let app = Server::new("x", "1")
        .tool(tool("t"))
        .rate_limit(RateLimit::new(2, Duration::from_secs(60)).by(|_| panic!("by")))
        .build()
        .unwrap();
    let service1 = service(&app);
    let (status, _, body) = ask_modern(&service1, None, "tools/call", json!({"name": "t"})).await;
    println!("{status} {body}");
    assert!(status >= 500, "{status} {body}");
    let app = Server::new("x", "1")
        .tool(tool("t").wrap(RateLimit::new(2, Duration::from_secs(60)).by(|_| panic!("by"))))
        .build()
        .unwrap();
    let (status, _, body) = ask_modern(&service(&app), None, "tools/call", json!({"name": "t"})).await;
    println!("{status} {body}");
    assert!(body.contains("error"), "{status} {body}");
    let app = Server::new("x", "1")
        .tool(tool("t"))
        .authenticate(|_: &Parts| -> Result<Caller, Rejection> { panic!("who") })
        .build()
        .unwrap();
    let (status, _, body) = ask_modern(&service(&app), None, "tools/call", json!({"name": "t"})).await;
    println!("{status} {body}");
    assert!(status >= 500, "{status} {body}");
    let app =
        Server::new("x", "1").tool(tool("t").wrap(CircuitBreaker::new().clock(|| panic!("clock")))).build().unwrap();
    let (_, _, body) = ask_modern(&service(&app), None, "tools/call", json!({"name": "t"})).await;
    println!("{body}");
    let app = Server::new("x", "1")
        .tool(
            Tool::new("t")
                .description("A tool.")
                .wrap(CircuitBreaker::new().threshold(1).counts(|_| panic!("counts")))
                .run(|| Err::<(), _>("no")),
        )
        .build()
        .unwrap();
    let s = service(&app);
    for _ in 0..3 {
        let (_, _, body) = ask_modern(&s, None, "tools/call", json!({"name": "t"})).await;
        println!("{body}");
    }
}

/// `ctx.ask` of the middleware itself, behind limits, in both eras, and one whose answer is `Next` twice removed.
#[tokio::test]
async fn c8_questions_through_limits() {
    let limit = ConcurrencyLimit::new(1).refuse();
    let around = |ctx: Ctx, next: Next| async move {
        let result: CallResult = next.run().await;
        // Asked after the code has run.
        if result.is_ok() {
            ctx.ask("after", elicit("After?"))?.required()?;
        }
        result
    };
    let t = Tool::new("t")
        .description("A tool.")
        .wrap(around)
        .wrap(limit.clone())
        .wrap(CircuitBreaker::new().threshold(1))
        .wrap(TimeLimit::new(Duration::from_secs(1)))
        .wrap(RateLimit::new(100, Duration::from_secs(1)))
        .run(|ctx: Ctx| {
            ctx.ask("own", elicit("Own?"))?.required()?;
            Ok::<_, CallError>("done")
        });
    let app = Server::new("x", "1").tool(t).build().unwrap();
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN] {
        let mut client = Client::builder(&app)
            .revision(revision)
            .can(Ability::ElicitationForm)
            .on_request(|_, _| json!({"action": "accept", "content": {}}))
            .connect();
        client.call("t", ()).await.assert_text("done");
    }
}

/// What is around hears of a panic further in as an error, wherever that is.
#[tokio::test]
async fn c9_a_panic_of_middleware_further_in_is_an_error_to_what_is_around_it() {
    let heard = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&heard);
    let around = move |next: Next| {
        let heard = Arc::clone(&counted);
        async move {
            let result: CallResult = next.run().await;
            heard.fetch_add(u32::from(result.is_err()), Ordering::SeqCst);
            result
        }
    };
    let breaker = CircuitBreaker::new().threshold(2);
    let panics = |_: Ctx, _: Next| async move { panic!("inner middleware") };
    let t = Tool::new("t").description("A tool.").wrap(around).wrap(breaker).wrap(panics).run(|| "done");
    let app = Server::new("x", "1").tool(t).build().unwrap();
    let mut client = Client::new(&app);
    for _ in 0..2 {
        client.call("t", ()).await.assert_fault(-32603);
    }
    assert_eq!(heard.load(Ordering::SeqCst), 2, "`Next::run`: a panic further in is an error here");
    client.call("t", ()).await.assert_error_contains("circuit open");
}

// ---- (3) long work ----

const MANY: usize = 3000;

fn flooding(name: &str, hangs_up: bool) -> (Tool, Arc<AtomicUsize>) {
    let said = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&said);
    let tool = Tool::new(name).description("A tool.").run(move |ctx: Ctx, log: Log| {
        let said = Arc::clone(&count);
        async move {
            if hangs_up {
                ctx.hang_up();
            }
            for n in 0..MANY {
                log.warning(json!({"n": n, "pad": "x".repeat(1000)})).await;
                ctx.progress().send(n, MANY).await;
                said.fetch_add(1, Ordering::SeqCst);
            }
            "flooded"
        }
    });
    (tool, said)
}

fn get(session: &str) -> Request<Body> {
    Request::get("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", session)
        .body(Body::empty())
        .unwrap()
}

fn post(session: &str, body: &Value) -> Request<Body> {
    Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-session-id", session)
        .body(Body::from(body.to_string()))
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn d1_after_hanging_up_nobody_is_waited_for() {
    let (flood, said) = flooding("flood", true);
    let app = Server::new("x", "1").tool(flood).resumable(true).build().unwrap();
    let service = service(&app);
    let session = open(&service, None, "2025-11-25").await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flood", "_meta": {"progressToken": 1}}});
    let response = service.handle(post(&session, &call)).await;
    // Read to its end, as a client does that is told to come back; and it does not.
    let body = to_bytes(Body::new(response.into_body()), 64 << 20).await.unwrap();
    println!("{}", body.len());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(said.load(Ordering::SeqCst), MANY);
}

#[tokio::test(start_paused = true)]
async fn d2_two_floods_in_one_batch_end_when_it_is_read_and_when_it_is_dropped() {
    let ((one, a), (two, b)) = (flooding("one", false), flooding("two", false));
    let app = Server::new("x", "1").tool(one).tool(two).build().unwrap();
    let service = service(&app);
    let session = open(&service, None, "2025-03-26").await;
    let call = |id: u32, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "_meta": {"progressToken": id}}});
    let batch = json!([call(1, "one"), call(2, "two")]);
    let response = service.handle(post(&session, &batch)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("{} {}", a.load(Ordering::SeqCst), b.load(Ordering::SeqCst));
    let body = to_bytes(Body::new(response.into_body()), 64 << 20).await.unwrap();
    let got = messages(std::str::from_utf8(&body).unwrap());
    let logs = got.iter().filter(|one| one["method"] == "notifications/message").count();
    assert_eq!((a.load(Ordering::SeqCst), b.load(Ordering::SeqCst)), (MANY, MANY));
    println!("{logs} logs of {} messages", got.len());
    let batch = json!([call(3, "one"), call(4, "two")]);
    drop(service.handle(post(&session, &batch)).await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((a.load(Ordering::SeqCst), b.load(Ordering::SeqCst)), (2 * MANY, 2 * MANY));
}

#[tokio::test(start_paused = true)]
async fn d3_init_prompts_resources_and_completions_that_wait_hang_nobody() {
    async fn flood(log: Log) {
        for n in 0..MANY {
            log.error(json!({"n": n, "pad": "x".repeat(1000)})).await;
        }
    }
    let app = Server::new("x", "1")
        .init(|log: Log, ctx: Ctx| async move {
            flood(log).await;
            for n in 0..MANY {
                ctx.progress().send(n, MANY).await;
            }
            Ok::<_, CallError>(User { admin: true })
        })
        .tool(tool("t").logs())
        .resource(Resource::new("a://b").run(|log: Log| async move {
            flood(log).await;
            "read"
        }))
        .prompt(
            Prompt::new("p")
                .description("A prompt.")
                .arg(PromptArg::new("who"))
                .complete("who", |log: Log, _: String| async move {
                    flood(log).await;
                    ["ann"]
                })
                .run(|log: Log| async move {
                    flood(log).await;
                    "prompted"
                }),
        )
        .build()
        .unwrap();
    let service = service(&app);
    let within = Duration::from_secs(30);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = tokio::time::timeout(within, open(&service, None, revision)).await.expect(revision);
        for (method, params) in [
            ("tools/call", json!({"name": "t"})),
            ("resources/read", json!({"uri": "a://b"})),
            ("prompts/get", json!({"name": "p"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "who", "value": ""}}),
            ),
        ] {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let headers = [("mcp-session-id", &*session)];
            let sent = body.to_string();
            let (status, _, body) =
                tokio::time::timeout(within, send(&service, "POST", None, &headers, &sent)).await.expect(method);
            assert!(status == 200 && body.contains("result"), "{revision} {method}");
        }
    }
    for accept in ["application/json", "application/json, text/event-stream"] {
        for (method, mut params) in [
            ("tools/call", json!({"name": "t"})),
            ("resources/read", json!({"uri": "a://b"})),
            ("prompts/get", json!({"name": "p"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "who", "value": ""}}),
            ),
        ] {
            let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
            params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": "x",
                "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/logLevel": "debug"});
            let headers = [
                ("accept", accept),
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", method),
                ("mcp-name", &*name),
            ];
            let headers = if name.is_empty() { &headers[..3] } else { &headers[..] };
            let sent = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
            let (status, _, body) =
                tokio::time::timeout(within, send(&service, "POST", None, headers, &sent)).await.expect(method);
            assert!(status == 200 && body.contains("result"), "{status} {method} {}", &body[..body.len().min(300)]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn d4_what_outlives_its_call_waits_for_nothing_and_blocking_code_may_wait() {
    let done = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&done);
    let spawns = Tool::new("spawns").description("A tool.").run(move |log: Log, progress: Progress| {
        let done = Arc::clone(&counted);
        async move {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                for n in 0..MANY {
                    log.warning("x".repeat(1000)).await;
                    progress.send(n, MANY).await;
                }
                done.fetch_add(1, Ordering::SeqCst);
            });
            "spawned"
        }
    });
    let blocks = Tool::new("blocks").description("A tool.").run_blocking(move |log: Log| {
        for _ in 0..MANY {
            block_on(async { log.warning("x".repeat(1000)).await });
        }
        "blocked"
    });
    let app = Server::new("x", "1").tool(spawns).tool(blocks).build().unwrap();
    let service = service(&app);
    let session = open(&service, None, "2025-11-25").await;
    for name in ["spawns", "blocks"] {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "_meta": {"progressToken": 1}}});
        let response = service.handle(post(&session, &call)).await;
        to_bytes(Body::new(response.into_body()), 64 << 20).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

/// One task of a call waits, another joins; `select` drops a wait and begins another; a wait is polled by two tasks in turn.
#[tokio::test]
async fn d5_waits_that_are_dropped_and_begun_again_lose_no_wake_up() {
    let t = Tool::new("t").description("A tool.").run(|log: Log| async move {
        let log = Arc::new(log);
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    for n in 0..400 {
                        let wait = log.warning("x".repeat(1000));
                        tokio::select! {
                            biased;
                            () = wait => {}
                            () = tokio::time::sleep(Duration::from_millis(1)), if n % 3 == 0 => {}
                        }
                        log.warning("y".repeat(1000)).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        "done"
    });
    let app = Server::new("x", "1").tool(t).build().unwrap();
    let service = service(&app);
    let session = open(&service, None, "2025-11-25").await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}});
    let response = service.handle(post(&session, &call)).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let body = tokio::time::timeout(Duration::from_secs(20), to_bytes(Body::new(response.into_body()), 64 << 20))
        .await
        .expect("it ends")
        .unwrap();
    assert!(String::from_utf8_lossy(&body).contains("done"));
}

// ---- (4) modules, manifests, validators ----

#[derive(Arguments, Debug)]
struct Account {
    /// The account.
    account_id: String,
    /// How many.
    limit: Option<u32>,
}

#[derive(Deserialize, mcp_server::schemars::JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "mcp_server::schemars")]
struct Strict {
    /// The page.
    id: u32,
}

#[derive(Deserialize, mcp_server::schemars::JsonSchema, Debug)]
#[schemars(crate = "mcp_server::schemars")]
struct OwnLimit {
    /// Its own.
    limit: Option<String>,
}

#[derive(Deserialize, mcp_server::schemars::JsonSchema, Debug)]
#[schemars(crate = "mcp_server::schemars")]
struct Flat {
    id: u32,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, Value>,
}

#[test]
fn e1_typed_handlers_with_skipped_and_replaced_params() {
    let t = |name: &str| Tool::new(name).description("A tool.");
    let module = Module::new("m")
        .arguments::<Account>()
        .tool(t("strict").run(|args: Strict| format!("{args:?}")))
        .tool(t("strict_common").run(|common: Common<Account>, args: Strict| format!("{common:?} {args:?}")))
        .tool(t("own").run(|common: Common<Account>, args: OwnLimit| format!("{common:?} {args:?}")))
        .tool(
            t("skips")
                .skip_default_params(["limit"])
                .run(|common: Common<Account>, args: Strict| format!("{common:?} {args:?}")),
        )
        .tool(t("flat").run(|common: Common<Account>, args: Flat| format!("{common:?} {args:?}")))
        .tool(t("none").skip_default_params(["limit", "account_id"]).run(|args: Strict| format!("{args:?}")));
    let app = Server::new("x", "1").module(module).build().unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        client.call("strict", json!({"account_id": "a", "id": 1})).await.assert_text("Strict { id: 1 }");
        client.call("strict", json!({"id": 1})).await.assert_error_contains("account_id");
        client
            .call("strict_common", json!({"account_id": "a", "limit": 3, "id": 1}))
            .await
            .assert_text("Common(Account { account_id: \"a\", limit: Some(3) }) Strict { id: 1 }");
        client
            .call("own", json!({"account_id": "a", "limit": "three"}))
            .await
            .assert_text("Common(Account { account_id: \"a\", limit: None }) OwnLimit { limit: Some(\"three\") }");
        client.call("skips", json!({"account_id": "a", "id": 1, "limit": 3})).await.assert_error_contains("limit");
        client.call("skips", json!({"account_id": "a", "id": 1})).await.assert_ok();
        let flat = client.call("flat", json!({"account_id": "a", "id": 1, "more": 2})).await;
        flat.assert_text(
            "Common(Account { account_id: \"a\", limit: None }) Flat { id: 1, rest: {\"more\": Number(2)} }",
        );
        client.call("none", json!({"id": 1})).await.assert_text("Strict { id: 1 }");
        client.call("none", json!({"id": 1, "account_id": "a"})).await.assert_error_contains("account_id");
    });
}

#[derive(Arguments, Debug)]
struct Other {
    /// Another account.
    account_id: Option<u32>,
    /// More.
    more: Option<u32>,
}

#[test]
fn e2_nested_modules_with_clashing_types() {
    let t = |name: &str| Tool::new(name).description("A tool.");
    let build =
        |inner: Module| Server::new("x", "1").module(Module::new("outer").arguments::<Account>().module(inner)).build();
    // The outer type lost its required field to the inner one's.
    let error = build(Module::new("inner").arguments::<Other>().tool(t("t").run(|_: Common<Account>| "x")))
        .expect_err("it cannot");
    println!("{error}");
    let app =
        build(Module::new("inner").arguments::<Other>().tool(t("t").run(|one: Common<Other>| format!("{one:?}"))))
            .unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        client
            .call("t", json!({"account_id": 3, "more": 1, "limit": 1}))
            .await
            .assert_text("Common(Other { account_id: Some(3), more: Some(1) })");
    });
    // The same type twice, in both.
    let app =
        build(Module::new("inner").arguments::<Account>().tool(t("t").run(|one: Common<Account>| format!("{one:?}"))));
    match app {
        Ok(app) => block_on(async {
            Client::new(&app).call("t", json!({"account_id": "a"})).await.assert_ok();
        }),
        Err(error) => panic!("{error}"),
    }
    let error = Server::new("x", "1")
        .module(
            Module::new("m").arguments::<Account>().arguments::<Account>().tool(t("t").run(|_: Common<Account>| "x")),
        )
        .build()
        .expect_err("twice");
    println!("{error}");
    // Deeper than anybody would.
    let mut module = Module::new("m0").tag("depth", 0).tool(t("deep").run(|ctx: Ctx| ctx.tags()["depth"].to_string()));
    for n in 1..64 {
        module = Module::new(format!("m{n}")).tag("depth", n).scope(format!("s{n}")).module(module);
    }
    let scopes: Vec<String> = (1..64).map(|n| format!("s{n}")).collect();
    let app = Server::new("x", "1").module(module).build().unwrap();
    block_on(async {
        Client::builder(&app).principal("a").scopes(scopes.join(" ")).connect().call("deep", ()).await.assert_text("0");
        Client::builder(&app)
            .principal("a")
            .scopes(scopes[1..].join(" "))
            .connect()
            .call("deep", ())
            .await
            .assert_fault(403);
    });
}

#[test]
fn e3_duplicates_and_skips_of_all_sorts_are_errors_and_never_silent() {
    let t = |name: &str| Tool::new(name).description("A tool.").run(|_: Value| "x");
    let wrong = |server: Server| println!("{}", server.build().expect_err("it is wrong"));
    wrong(Server::new("x", "1").module(Module::new("a").tool(t("t"))).module(Module::new("a").tool(t("t"))));
    wrong(Server::new("x", "1").tool(t("t")).module(Module::new("a").module(Module::new("b").tool(t("t")))));
    wrong(
        Server::new("x", "1")
            .module(Module::new("a").param(Param::string("p")).tool(t("t").skip_default_params(["q"]))),
    );
    wrong(Server::new("x", "1").tool(t("t").skip_default_params(["q"])));
    wrong(
        Server::new("x", "1").module(Module::new("a").param(Param::string("p")).param(Param::string("p")).tool(t("t"))),
    );
    wrong(
        Server::new("x", "1")
            .module(Module::new("a").prompt(Prompt::new("p").description("x").run(|| "x")))
            .prompt(Prompt::new("p").description("x").run(|| "x")),
    );
    wrong(
        Server::new("x", "1")
            .module(Module::new("a").resource(Resource::new("a://b").text("x")))
            .resource(Resource::new("a://b").text("x")),
    );
    // Skipped twice, and replaced as well as skipped: harmless, or told; never a panic.
    let _ = Server::new("x", "1")
        .module(Module::new("a").param(Param::string("p").required()).tool(t("t").skip_default_params(["p", "p"])))
        .build()
        .map_err(|error| println!("{error}"));
    let app = Server::new("x", "1")
        .module(
            Module::new("a")
                .param(Param::string("p").required())
                .tool(t("t").skip_default_params(["p"]).param(Param::integer("p"))),
        )
        .build()
        .map_err(|error| println!("{error}"));
    if let Ok(app) = app {
        block_on(async { Client::new(&app).call("t", json!({"p": 3})).await.assert_text("x").is_ok() });
    }
    // By data: closed, by reference, with conditions.
    for schema in [
        json!({"type": "object", "properties": {"p": {"type": "integer"}}, "required": ["p"], "additionalProperties": false}),
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": "object", "maxProperties": 1, "properties": {"q": {"type": "string"}}}),
        json!({"type": "object", "propertyNames": {"pattern": "^q"}}),
        json!({"type": "object", "allOf": [{"properties": {"q": {}}, "additionalProperties": false}]}),
        json!({"type": "object", "unevaluatedProperties": false, "properties": {"q": {"type": "string"}}}),
    ] {
        let t = Tool::new("t").description("A tool.").input_schema(schema.clone()).run(|args: Value| args.to_string());
        let app = Server::new("x", "1").module(Module::new("a").param(Param::string("acc").required()).tool(t)).build();
        match app {
            Err(error) => println!("{schema}: {error}"),
            Ok(app) => block_on(async {
                let mut client = Client::new(&app);
                println!(
                    "{schema}: {} / {:?}",
                    client.tool("t").await.input_schema,
                    client.call("t", json!({"acc": "a"})).await.text()
                );
                println!("   {:?}", client.call("t", json!({"acc": "a", "q": "q", "p": 1})).await.text());
            }),
        }
    }
}

#[test]
fn e4_manifests_of_every_bad_kind_are_told_and_quickly() {
    let wrong = |what: &str, manifest: Manifest| {
        let begin = Instant::now();
        let error = Server::new("x", "1").tools(manifest).build().expect_err(what).to_string();
        println!(
            "{what}: {} bytes in {:?}: {}",
            error.len(),
            begin.elapsed(),
            error.chars().take(300).collect::<String>()
        );
        assert!(error.len() < 1 << 20, "{what}: an error of {} bytes", error.len());
        assert!(begin.elapsed() < Duration::from_secs(5), "{what}");
    };
    let deep = |open: &str, close: &str, n: usize| format!("{}{}", open.repeat(n), close.repeat(n));
    wrong("deep lists", Manifest::json(deep("[", "]", 1_000_000)));
    wrong(
        "deep objects",
        Manifest::json(format!("{{\"tools\": {}1{}}}", "{\"a\":".repeat(100_000), "}".repeat(100_000))),
    );
    wrong(
        "huge number",
        Manifest::json(
            r#"{"tools": [{"name": "t", "description": "x", "inputSchema": {"type": "object", "properties": {"n": {"type": "number", "maximum": 1e999}}}}]}"#,
        ),
    );
    wrong("twice", Manifest::json(r#"{"tools": [], "tools": [{"name": "t", "name": "u"}]}"#).run("t", || "x"));
    wrong("twice sensitive", Manifest::json(r#"[{"name": "t", "description": "x", "inputSchema": {"type": "object"}, "sensitive": true, "sensitive": false}]"#).run("t", || "x"));
    wrong("bom", Manifest::json("\u{feff}[]").run("t", || "x"));
    wrong("10 MB string", Manifest::json(format!("[\"{}\"]", "x".repeat(10 << 20))));
    wrong(
        "10 MB name",
        Manifest::json(format!(
            r#"[{{"name": "{}", "description": "x", "inputSchema": {{"type": "object"}}}}]"#,
            "x".repeat(10 << 20)
        )),
    );
    wrong(
        "10 MB member",
        Manifest::json(format!(
            r#"[{{"name": "t", "{}": 1, "description": "x", "inputSchema": {{"type": "object"}}}}]"#,
            "x".repeat(10 << 20)
        ))
        .run("t", || "x"),
    );
    wrong("unbound name", Manifest::json("[]").run("x".repeat(1 << 20), || "x"));
    wrong(
        "NaN",
        Manifest::toml(
            "[[tools]]\nname = \"t\"\ndescription = \"x\"\n[tools.inputSchema]\ntype = \"object\"\nmaximum = nan\n",
        )
        .run("t", || "x"),
    );
    wrong("-inf", Manifest::toml("[[tools]]\nname = \"t\"\ndescription = \"x\"\ninputSchema = {type = \"object\", properties = {n = {type = \"number\", minimum = -inf}}}\n").run("t", || "x"));
    wrong("too large", Manifest::toml("[[tools]]\nname = 99999999999999999999999\n"));
    wrong(
        "date as name",
        Manifest::toml(
            "[[tools]]\nname = 1979-05-27T07:32:00Z\ndescription = \"x\"\ninputSchema = {type = \"object\"}\n",
        ),
    );
    wrong("toml twice", Manifest::toml("[[tools]]\nname = \"t\"\nname = \"u\"\n"));
    wrong("toml deep lists", Manifest::toml(format!("a = {}", deep("[", "]", 100_000))));
    wrong("toml deep inline", Manifest::toml(format!("a = {}1{}", "{a = ".repeat(100_000), "}".repeat(100_000))));
    wrong("toml dotted", Manifest::toml(format!("{}a = 1", "a.".repeat(100_000))));
    wrong("toml header", Manifest::toml(format!("[{}a]\nx = 1", "a.".repeat(100_000))));
    wrong(
        "toml dotted within inline",
        Manifest::toml(format!(
            "{}1{}",
            format!("{}a = {{", "a.".repeat(70)).repeat(70).trim_end_matches('{').to_owned() + "{a = ",
            "}".repeat(70)
        )),
    );
    wrong("toml many keys", Manifest::toml((0..5_000).map(|n| format!("k{n} = {n}\n")).collect::<String>()));
}

#[test]
fn e5_manifests_of_10_mb_that_are_right_are_read_in_time() {
    let one = |n: usize| {
        format!(
            r#"{{"name": "t{n}", "description": "{}", "inputSchema": {{"type": "object", "properties": {{"p": {{"type": "string"}}}}}}, "tags": {{"n": {n}}}}}"#,
            "x".repeat(300)
        )
    };
    let mut times = Vec::new();
    for count in [5_000, 10_000] {
        let text = format!("[{}]", (0..count).map(one).collect::<Vec<_>>().join(","));
        let begin = Instant::now();
        let mut manifest = Manifest::json(&text);
        let read = begin.elapsed();
        for n in 0..count {
            manifest = manifest.run(format!("t{n}"), || "x");
        }
        let bound = begin.elapsed();
        let app = Server::new("x", "1").tools(manifest).build().unwrap();
        println!("{count}: {} bytes, read {read:?}, bound {bound:?}, built {:?}", text.len(), begin.elapsed());
        times.push([read, bound - read, begin.elapsed() - bound]);
        assert_eq!(app.tool_names().len(), count);
    }
    for (one, two) in times[0].iter().zip(times[1]) {
        println!("twice as many: {:.1} times as long", two.as_secs_f64() / one.as_secs_f64());
    }
}

#[test]
fn e6_validators_are_linear_on_hostile_megabytes() {
    use mcp_server::validators as v;
    let text = |s: String| Value::from(s);
    let hostile: Vec<(&str, Box<dyn Fn(usize) -> String>)> = vec![
        ("a", Box::new(|n| "a".repeat(n))),
        ("a@", Box::new(|n| format!("a@{}", "a".repeat(n)))),
        ("a@a.a.", Box::new(|n| format!("a@{}", "a.".repeat(n / 2)))),
        ("@", Box::new(|n| "@".repeat(n))),
        ("a@-", Box::new(|n| format!("a@{}", "a-".repeat(n / 2)))),
        ("http://a", Box::new(|n| format!("http://{}", "a".repeat(n)))),
        ("http://@", Box::new(|n| format!("http://{}", "@".repeat(n)))),
        ("http://[", Box::new(|n| format!("http://[{}]", ":".repeat(n)))),
        ("http://[1:", Box::new(|n| format!("http://[{}]", "1:".repeat(n / 2)))),
        ("http://[v1.", Box::new(|n| format!("http://[v1.{}]", "a".repeat(n)))),
        ("http://1.", Box::new(|n| format!("http://{}", "1.".repeat(n / 2)))),
        ("http://a:1", Box::new(|n| format!("http://a:{}", "1".repeat(n)))),
        ("%", Box::new(|n| format!("http://a/{}", "%41".repeat(n / 3)))),
        ("scheme", Box::new(|n| format!("{}://a", "a+".repeat(n / 2)))),
        ("-", Box::new(|n| "-".repeat(n))),
        ("digits", Box::new(|n| "1".repeat(n))),
        ("date", Box::new(|n| format!("2024-02-29{}", " ".repeat(n)))),
        ("blank", Box::new(|n| "\u{2003}".repeat(n / 3))),
        ("nul", Box::new(|n| "\0".repeat(n))),
        ("wide", Box::new(|n| "\u{1F600}".repeat(n / 4))),
        ("combining", Box::new(|n| format!("e{}", "\u{301}".repeat(n / 2)))),
    ];
    let re = v::regex::<Value>("^(a+)+$");
    let re2 = v::regex::<Value>("(.*a){3}b$");
    let of = v::one_of::<Value, _>(["a", "b"]);
    let some = v::any::<Value, _>((v::email::<Value>, v::url::<Value>, v::uuid::<Value>, v::iso_date::<Value>));
    let checks: Vec<(&str, Box<dyn Fn(&Value) -> usize>)> = vec![
        ("email", Box::new(|s| v::email(s).err().map_or(0, str::len))),
        ("url", Box::new(|s| v::url(s).err().map_or(0, str::len))),
        ("uuid", Box::new(|s| v::uuid(s).err().map_or(0, str::len))),
        ("iso_date", Box::new(|s| v::iso_date(s).err().map_or(0, str::len))),
        ("alphanumeric", Box::new(|s| v::alphanumeric(s).err().map_or(0, str::len))),
        ("non_empty", Box::new(|s| v::non_empty(s).err().map_or(0, str::len))),
        ("positive", Box::new(|s| v::positive(s).err().map_or(0, |e| e.len()))),
        ("regex", Box::new(move |s| re(s).err().map_or(0, |e| e.len()))),
        ("regex2", Box::new(move |s| re2(s).err().map_or(0, |e| e.len()))),
        ("one_of", Box::new(move |s| of(s).err().map_or(0, |e| e.len()))),
        ("any", Box::new(move |s| some(s).err().map_or(0, |e| e.len()))),
    ];
    for (what, make) in &hostile {
        let (small, large) = (text(make(1 << 17)), text(make(1 << 20)));
        for (name, check) in &checks {
            let timed = |value: &Value| {
                let begin = Instant::now();
                let length = check(value);
                assert!(length < 1000, "{name} of {what}: a message of {length} bytes");
                begin.elapsed()
            };
            let (small, large) = (timed(&small), timed(&large));
            if large > Duration::from_millis(100) {
                println!("{name} of {what}: {small:?} of 128 KiB, {large:?} of 1 MiB");
            }
            assert!(
                large < Duration::from_millis(20) || large.as_secs_f64() < 24.0 * small.as_secs_f64().max(0.0005),
                "{name} of {what}: {small:?} {large:?}"
            );
        }
    }
    // A long list.
    let list: Value = vec![json!("a@b"); 300_000].into();
    let begin = Instant::now();
    assert!(v::list_of(v::email::<Value>)(&list).is_ok());
    let list: Value = vec![json!("x"); 300_000].into();
    let told = v::list_of(v::email::<Value>)(&list).unwrap_err();
    assert!(told.len() < 1000 && begin.elapsed() < Duration::from_secs(2), "{told}");
}

#[test]
fn e7_numbers_beyond_all_bounds_and_members_twice_reach_no_code() {
    let t = Tool::new("t")
        .description("A tool.")
        .param(Param::number("n"))
        .param(Param::string("s").validate(mcp_server::validators::email))
        .run(|args: Value| args.to_string());
    let typed = Tool::new("u").description("A tool.").run(|args: OwnLimit| format!("{args:?}"));
    let any = Tool::new("v").description("A tool.").run(|args: Value| args.to_string());
    let app = Server::new("x", "1").focus(Focus::new(["t", "u", "v"])).tool(t).tool(typed).tool(any).build().unwrap();
    let service = service(&app);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        for name in ["t", "u", "v", "call_tool"] {
            for arguments in [
                r#"{"n": 1e999}"#,
                r#"{"n": -1e999}"#,
                r#"{"n": 123456789012345678901234567890123456789012345678901234567890}"#,
                r#"{"n": 1, "n": "x"}"#,
                r#"{"n": 1, "\u006e": 2}"#,
                r#"{"name": "t", "name": "v"}"#,
                r#"{"name": "t", "\u006eame": "v"}"#,
                r#"{"name": "t", "arguments": {"n": 1, "n": "x"}}"#,
                r#"{"name": "t", "arguments": {"n": 1e999}}"#,
                r#"{"name": "t", "arguments": null}"#,
                r#"{"name": "t", "arguments": {"s": "x"}}"#,
                r#"{"name": "\ud800"}"#,
                r#"{"name": ""}"#,
                r#"{"s": "\ud800"}"#,
            ] {
                let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
                let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments},"_meta":{meta}}}}}"#);
                let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", name)];
                let (status, _, body) = send(&service, "POST", None, &headers, &body).await;
                println!("{name} {arguments}: {status} {}", &body[..body.len().min(220)]);
                assert!(status < 500 && !body.contains("panicked"), "{name} {arguments} {body}");
            }
        }
    });
}

#[test]
fn b9_apps_are_guarded_too() {
    let (runs, run) = counter();
    let page = |tool: Tool| {
        let name = format!("page-{}", tool_name(&tool));
        UiApp::new(tool).view(name, "<p>hi</p>")
    };
    let _ = Server::new("x", "1")
        .app(page(eraser("erase", run.clone()).destructive(true)))
        .build()
        .expect_err("it is sensitive");
    let app = Server::new("x", "1")
        .authorize(Authorization::deny_all)
        .module(Module::new("m").sensitive(true).app(page(eraser("erase", run.clone()))))
        .app(page(eraser("wipe", run.clone()).sensitive(true)))
        .build()
        .unwrap();
    app.add_app(page(eraser("later", run.clone()).destructive(true))).unwrap();
    block_on(async {
        for revision in Revision::ALL {
            let mut client = Client::builder(&app).revision(revision).connect();
            for name in ["erase", "wipe", "later"] {
                client.call(name, ()).await.assert_error_contains("Not allowed");
            }
        }
    });
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

fn tool_name(tool: &Tool) -> String {
    format!("{tool:?}").split('"').nth(1).unwrap_or_default().to_owned()
}

// ---- more of (1) and (2) ----

/// One request is one request, also where its sender is let in first.
#[test]
fn f1_a_limit_of_the_whole_server_counts_a_modern_request_once_though_there_is_an_init() {
    let app = Server::new("x", "1")
        .init(|| Assigns(User { admin: true }))
        .wrap(RateLimit::new(4, Duration::from_secs(60)))
        .tool(tool("t"))
        .build()
        .unwrap();
    block_on(async {
        let mut client = Client::builder(&app).modern().connect();
        let mut served = 0;
        for _ in 0..4 {
            served += u32::from(client.call("t", ()).await.is_ok());
        }
        assert_eq!(served, 4);
    });
}

#[tokio::test]
async fn f2_nothing_that_anybody_says_gets_into_a_header() {
    let nasty = ["a\"b", "a\r\nx-evil: 1", "\u{1F600}", "\\", "a\0b", ""];
    for text in nasty {
        let text = text.to_owned();
        let kept = text.clone();
        let app = Server::new("x", "1")
            .tool(tool("t"))
            .authenticate(move |_: &Parts| -> Result<Caller, Rejection> {
                Err(Rejection::invalid_token(&kept).realm(&kept).scope(&kept))
            })
            .build()
            .unwrap();
        let (status, head, body) = ask_modern(&service(&app), None, "tools/call", json!({"name": "t"})).await;
        assert!(!head.contains_key("x-evil"));
        println!("{text:?}: {status} {:?} {body}", head.get("www-authenticate"));
        assert_eq!(status, 401);
    }
    // Scopes of entries.
    for scope in ["a\"b", "a\\b", "\u{e9}", "a\0"] {
        let built = Server::new("x", "1").tool(tool("t").scope(scope)).build();
        match built {
            Err(error) => println!("{scope:?}: {error}"),
            Ok(app) => {
                let app2 = Server::new("x", "1").tool(tool("t").scope(scope)).authenticate(by_token).build().unwrap();
                let (status, head, body) =
                    ask_modern(&service(&app2), Some("a/b"), "tools/call", json!({"name": "t"})).await;
                panic!("{scope:?}: {:?} {status} {head:?} {body}", app.tool_names());
            }
        }
    }
}

#[tokio::test]
async fn f3_spans_without_end_overflow_nowhere() {
    for (amount, per) in [
        (1, Duration::MAX),
        (u32::MAX, Duration::from_nanos(1)),
        (u32::MAX, Duration::MAX),
        (1, Duration::from_nanos(1)),
    ] {
        for burst in [None, Some(1), Some(u32::MAX)] {
            let limit = RateLimit::new(amount, per);
            let limit = burst.map_or(limit.clone(), |burst| limit.burst(burst));
            let app = Server::new("x", "1").tool(tool("t").wrap(limit.clone())).rate_limit(limit).build().unwrap();
            let service = service(&app);
            for _ in 0..3 {
                let (status, head, body) = ask_modern(&service, None, "tools/call", json!({"name": "t"})).await;
                assert!(status == 200 || status == 429, "{body}");
                if status == 429 {
                    let after = head["retry-after"].to_str().unwrap();
                    assert!(after.parse::<u64>().is_ok_and(|after| after > 0), "{after}");
                }
            }
        }
    }
    let fails = |breaker: CircuitBreaker| {
        Tool::new("t")
            .description("A tool.")
            .wrap(breaker)
            .wrap(TimeLimit::new(Duration::MAX))
            .run(|| Err::<(), CallError>(std::io::Error::other("x").into()))
    };
    for recovery in [Duration::MAX, Duration::ZERO] {
        let app =
            Server::new("x", "1").tool(fails(CircuitBreaker::new().threshold(1).recovery(recovery))).build().unwrap();
        let service = service(&app);
        for _ in 0..3 {
            let (status, _, body) = ask_modern(&service, None, "tools/call", json!({"name": "t"})).await;
            assert!(status == 200 && !body.contains("panicked"), "{body}");
        }
    }
}

#[derive(Debug)]
struct Broken(u8);

impl mcp_server::ask::UsedStates for Broken {
    fn claim<'a>(&'a self, _: &'a str, _: Duration) -> mcp_server::ask::Claim<'a> {
        match self.0 {
            0 => Box::pin(async { Err("down".into()) }),
            1 => panic!("at once"),
            2 => Box::pin(async { panic!("later") }),
            _ => Box::pin(std::future::pending()),
        }
    }
}

#[test]
fn f4_where_it_cannot_be_known_whether_an_approval_was_used_nothing_runs() {
    for how in 0..4 {
        let (runs, run) = counter();
        let app = Server::new("x", "1")
            .used_states(Broken(how))
            .authorize(ask_first)
            .tool(eraser("erase", run).sensitive(true))
            .build()
            .unwrap();
        block_on(async {
            let mut client = asking(&app, "ann");
            let state = state_of(&raw(&mut client, "erase", json!({}), None, None).await);
            let params = json!({"name": "erase", "arguments": {}, "requestState": state, "inputResponses": yes()});
            let call = client.request("tools/call", params).start();
            if how < 3 {
                let answer = client.finish(call).await;
                println!("{how} {answer:?}");
                assert!(!answer.is_ok());
            } else {
                client.cancel(call);
            }
        });
        assert_eq!(runs.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn f5_nothing_but_a_yes_is_a_yes() {
    let (runs, run) = counter();
    let app = Server::new("x", "1").authorize(ask_first).tool(eraser("erase", run).sensitive(true)).build().unwrap();
    let all = [
        json!({"action": "decline", "content": {"approve": true}}),
        json!({"action": "cancel", "content": {"approve": true}}),
        json!({"action": "ACCEPT", "content": {"approve": true}}),
        json!({"action": "accept", "content": {"approve": 1}}),
        json!({"action": "accept", "content": {"approve": "true"}}),
        json!({"action": "accept", "content": {"approve": [true]}}),
        json!({"action": "accept", "content": {"Approve": true}}),
        json!({"action": "accept", "content": [{"approve": true}]}),
        json!({"action": ["accept"], "content": {"approve": true}}),
        json!({"content": {"approve": true}}),
        json!({"approve": true}),
        json!(true),
        json!(null),
    ];
    block_on(async {
        for says in &all {
            for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN] {
                let says = says.clone();
                let told = says.clone();
                let mut client = Client::builder(&app)
                    .revision(revision)
                    .can(Ability::ElicitationForm)
                    .on_request(move |_, _| told.clone())
                    .connect();
                let call = client.start("erase", ());
                client.settle().await;
                client.advance(Duration::from_secs(3600)).await;
                if client.is_answered(&call) {
                    let answer = client.finish(call).await;
                    assert!(!answer.is_ok(), "{revision} {says} {answer:?}");
                }
                assert_eq!(runs.load(Ordering::SeqCst), 0, "{revision} {says}");
            }
        }
    });
}

#[test]
fn f6_progress_that_is_no_number_breaks_nothing() {
    let t = Tool::new("t").description("A tool.").run(|progress: Progress| async move {
        progress.send(f64::NAN, 1).await;
        progress.send(1, f64::INFINITY).await;
        progress.count(f64::NEG_INFINITY).await;
        progress.send(-1, -2).await;
        progress.say(u64::MAX, u64::MAX, "\0\u{2028}\r\n\r\ndata: x").await;
        progress.count(f64::MAX).await;
        "done"
    });
    let app = Server::new("x", "1").tool(t).build().unwrap();
    block_on(async {
        for revision in Revision::ALL {
            let mut client = Client::builder(&app).revision(revision).connect();
            client.call("t", ()).await.assert_text("done");
            println!("{:?}", client.take_progress());
        }
    });
}

/// `%65` is `e` (RFC 3986, 6.2.2.2): what is hidden or scoped as a resource is not had from a template in another spelling.
#[tokio::test]
async fn f7_another_spelling_of_a_hidden_uri() {
    let app = Server::new("x", "1")
        .resource(Resource::new("a://secret").visible(|_, _| false).text("the secret"))
        .resource(Resource::new("a://scoped").scope("admin").text("the scoped"))
        .resource_template(ResourceTemplate::new("a://{v}").run(|v: String| format!("contents of {v}")))
        .authenticate(by_token)
        .build()
        .unwrap();
    let service = service(&app);
    let mut got = Vec::new();
    for uri in ["a://secret", "a://s%65cret", "a://scoped", "a://sc%6Fped"] {
        let (status, _, body) = ask_modern(&service, Some("ann/low"), "resources/read", json!({"uri": uri})).await;
        println!("{uri} {status} {body}");
        got.push(body.contains("contents of secret") || body.contains("contents of scoped"));
    }
    assert_eq!(got, [false; 4]);
}

#[test]
fn f8_discovery_among_thousands_of_tools_is_quick() {
    let words = |n: usize| (0..200).map(|m| format!("word{}", (n * 31 + m * 7) % 5000)).collect::<Vec<_>>().join(" ");
    let mut server = Server::new("x", "1").focus(Focus::new([""; 0]));
    for n in 0..2000 {
        server = server.tool(
            Tool::new(format!("tool_{n}"))
                .description(words(n))
                .param(Param::string("p").description(words(n + 1)))
                .run(|_: Value| "x"),
        );
    }
    let app = server.build().unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        let query: String = (0..160).map(|n| format!("zz{n:03} ")).collect();
        let begin = Instant::now();
        client.call("discover_tools", json!({"query": query, "limit": 50})).await.assert_ok();
        println!("f8: {:?}", begin.elapsed());
        let begin = Instant::now();
        client.call("discover_tools", json!({"query": "", "limit": 50})).await.assert_ok();
        println!("f8 nothing: {:?}", begin.elapsed());
    });
}

#[test]
fn f9_an_authorizer_that_takes_default_params_is_told() {
    let (runs, run) = counter();
    let module = Module::new("m").arguments::<Account>().tool(eraser("erase", run).sensitive(true));
    let built = Server::new("x", "1")
        .authorize(
            |account: Common<Account>| {
                if account.0.account_id == "a" { Authorization::Allow } else { Authorization::deny_all() }
            },
        )
        .module(module)
        .build();
    match built {
        Err(error) => println!("{error}"),
        Ok(app) => block_on(async {
            let answer = Client::new(&app).call("erase", json!({"account_id": "a"})).await;
            panic!("it is built, and then: {answer:?}");
        }),
    }
}

/// What the schema fills in and coerces is what the code gets, and what the authorizer should judge.
#[test]
fn f10_what_the_authorizer_sees_is_what_runs() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let ran = Arc::new(Mutex::new(Vec::new()));
    let (s, r) = (Arc::clone(&seen), Arc::clone(&ran));
    let t = Tool::new("erase")
        .description("A tool.")
        .sensitive(true)
        .coerce(true)
        .param(Param::boolean("all").default(true))
        .param(Param::integer("n").default(100))
        .run(move |args: Value| r.lock().unwrap().push(args.to_string()));
    let app = Server::new("x", "1")
        .authorize(move |ctx: Ctx| {
            s.lock().unwrap().push(String::from_utf8_lossy(ctx.arguments()).into_owned());
            Authorization::Allow
        })
        .tool(t)
        .build()
        .unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        client.call("erase", json!({})).await.assert_ok();
        client.call("erase", json!({"all": "false", "n": "7"})).await.assert_ok();
    });
    assert_eq!(*seen.lock().unwrap(), *ran.lock().unwrap(), "what was judged, and what ran");
}

#[derive(Arguments, Debug)]
struct Typed {
    /// All of them.
    #[arg(default = true)]
    all: bool,
    /// How many.
    #[arg(default = 100)]
    n: u32,
}

#[derive(Deserialize, mcp_server::schemars::JsonSchema, Debug)]
#[schemars(crate = "mcp_server::schemars")]
struct BySerde {
    #[serde(default = "hundred")]
    n: u32,
}

fn hundred() -> u32 {
    100
}

/// The same with types that fill in defaults by themselves.
#[test]
fn f11_what_the_authorizer_sees_is_what_runs_of_types_too() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let s = Arc::clone(&seen);
    let app = Server::new("x", "1")
        .coerce(true)
        .authorize(move |ctx: Ctx| {
            s.lock().unwrap().push(serde_json::from_slice::<Value>(ctx.arguments()).unwrap());
            Authorization::Allow
        })
        .tool(
            Tool::new("typed")
                .description("A tool.")
                .sensitive(true)
                .run(|args: Typed| format!("{} {}", args.all, args.n)),
        )
        .tool(Tool::new("serde").description("A tool.").sensitive(true).run(|args: BySerde| format!("{}", args.n)))
        .module(
            Module::new("m").arguments::<Typed>().sensitive(true).tool(
                Tool::new("common")
                    .description("A tool.")
                    .run(|args: Common<Typed>| format!("{} {}", args.0.all, args.0.n)),
            ),
        )
        .build()
        .unwrap();
    block_on(async {
        let mut client = Client::new(&app);
        client.call("typed", json!({"n": "7"})).await.assert_text("true 7");
        client.call("typed", json!({})).await.assert_text("true 100");
        client.call("serde", json!({})).await.assert_text("100");
        client.call("common", json!({})).await.assert_text("true 100");
    });
    let seen = seen.lock().unwrap();
    println!("{seen:?}");
    let whole = json!({"all": true, "n": 100});
    assert_eq!(*seen, [json!({"all": true, "n": 7}), whole.clone(), json!({"n": 100}), whole]);
}

/// On a byte stream nobody can be told of scopes: what asks for any is unknown.
#[test]
fn a9_on_a_byte_stream_what_is_scoped_is_unknown_to_nobody_in_particular() {
    let app = everything().build().unwrap();
    let texts = |answer: &Answer| {
        let mut json = answer.json().clone();
        json["id"] = Value::Null;
        json.to_string()
    };
    block_on(async {
        for revision in Revision::ALL {
            let mut client = Client::builder(&app).revision(revision).connect();
            for ((method, scoped), (_, unknown)) in probes("scoped").into_iter().zip(probes("nowher")) {
                let one = client.request(method, scoped.clone()).await;
                let other = client.request(method, unknown).await;
                assert_eq!(texts(&one).replace("scoped", "nowher"), texts(&other), "{revision} {method} {scoped}");
            }
            let listening = client.listen(["scoped://1", "nowher://1", "a://opened"]).await;
            assert_eq!(listening.uris(), ["a://opened"], "{revision}");
            app.resource_updated("scoped://1");
            assert_eq!(client.take_updates(), [""; 0]);
            assert!(client.list_tools().await.iter().all(|tool| tool.name != "scoped"));
            assert!(client.list_prompts().await.iter().all(|prompt| prompt.name != "scoped"));
            assert!(client.list_resource_templates().await.iter().all(|one| !one.uri.starts_with("scoped")));
        }
    });
}

/// An authorizer that asks by itself, in its own words, is not heard: it fails, and so denies.
#[test]
fn g1_an_authorizer_that_asks_by_itself_lets_nobody_through() {
    let (runs, run) = counter();
    let app = Server::new("x", "1")
        .authorize(|ctx: Ctx| -> Result<Authorization, CallError> {
            ctx.ask("pin", elicit("Your PIN?").field("pin", mcp_server::ask::Field::text().required()))?.required()?;
            Ok(Authorization::Allow)
        })
        .tool(eraser("erase", run).sensitive(true))
        .build()
        .unwrap();
    block_on(async {
        let mut client = asking(&app, "ann");
        raw(&mut client, "erase", json!({}), None, None).await.assert_error_contains("Not allowed");
    });
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// Middleware that asks and is answered: the same.
#[test]
fn g2_a_state_sealed_before_the_authorizer_was_asked_approves_nothing() {
    let (runs, run) = counter();
    let around = |ctx: Ctx, next: Next| async move {
        ctx.ask("around", elicit("Around?"))?.required()?;
        let result: CallResult = next.run().await;
        result
    };
    let app = Server::new("x", "1")
        .wrap(around)
        .authorize(ask_first)
        .tool(eraser("erase", run).sensitive(true))
        .build()
        .unwrap();
    block_on(async {
        let mut client = asking(&app, "ann");
        let first = state_of(&raw(&mut client, "erase", json!({}), None, None).await);
        let both = json!({"around": {"action": "accept"}, KEY: {"action": "accept", "content": {"approve": true}}});
        // All answers at once, though one question was asked.
        let second = state_of(&raw(&mut client, "erase", json!({}), Some(&first), Some(both.clone())).await);
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        raw(&mut client, "erase", json!({}), Some(&second), Some(yes())).await.assert_text("gone");
        // The first state, which no approval has used up, leads to a question and not to a run.
        let third = raw(&mut client, "erase", json!({}), Some(&first), Some(both)).await;
        let third = state_of(&third);
        let last = raw(&mut client, "erase", json!({}), Some(&third), Some(yes())).await;
        println!("{last:?}");
    });
    println!("g2 runs {}", runs.load(Ordering::SeqCst));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// "A tool that awaits all that it says loses none of its log messages": also one that says it in many tasks.
#[tokio::test]
async fn d6_many_tasks_of_one_call_that_await_what_they_say_lose_nothing() {
    const TASKS: usize = 50;
    const EACH: usize = 100;
    let t = Tool::new("t").description("A tool.").run(|log: Log| async move {
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let log = log.clone();
                tokio::spawn(async move {
                    for n in 0..EACH {
                        log.warning(json!([task, n])).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        "done"
    });
    let app = Server::new("x", "1").tool(t).build().unwrap();
    let service = service(&app);
    let session = open(&service, None, "2025-11-25").await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}});
    let response = service.handle(post(&session, &call)).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let body = to_bytes(Body::new(response.into_body()), 64 << 20).await.unwrap();
    let logs = messages(std::str::from_utf8(&body).unwrap())
        .iter()
        .filter(|one| one["method"] == "notifications/message")
        .count();
    assert_eq!(logs, TASKS * EACH);
}

/// The session has gone to sleep since.
#[tokio::test(start_paused = true)]
async fn d7_what_outlives_its_session_waits_for_nothing() {
    let done = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&done);
    let t = Tool::new("t").description("A tool.").run(move |log: Log, progress: Progress| {
        let done = Arc::clone(&counted);
        async move {
            tokio::spawn(async move {
                for seconds in [5, 50, 300, 20_000] {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    for n in 0..300 {
                        log.warning("x".repeat(1000)).await;
                        progress.send(n, MANY).await;
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
            "spawned"
        }
    });
    let app = Server::new("x", "1").tool(t).hibernate_after(Duration::from_secs(1)).build().unwrap();
    let service = service(&app);
    let session = open(&service, None, "2025-11-25").await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "_meta": {"progressToken": 1}}});
    to_bytes(Body::new(service.handle(post(&session, &call)).await.into_body()), 64 << 20).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    // A stream of the session that nobody reads, and which is no business of that call.
    let unread = service.handle(get(&session)).await;
    tokio::time::sleep(Duration::from_secs(40_000)).await;
    drop(unread);
    assert_eq!(done.load(Ordering::SeqCst), 4);
}

/// One limit around a server and one of its tools.
#[tokio::test(start_paused = true)]
async fn g3_a_limit_that_is_around_a_call_twice_does_not_wait_for_itself() {
    let limit = ConcurrencyLimit::new(1);
    let app = Server::new("x", "1").wrap(limit.clone()).tool(tool("t").wrap(limit)).build();
    let app = match app {
        Err(error) => return println!("{error}"),
        Ok(app) => app,
    };
    let service = service(&app);
    let answer =
        tokio::time::timeout(Duration::from_secs(60), ask_modern(&service, None, "tools/call", json!({"name": "t"})))
            .await;
    assert!(answer.is_ok(), "it waits for itself");
}

struct PanicsAsItGoes;

impl Drop for PanicsAsItGoes {
    fn drop(&mut self) {
        panic!("as it goes");
    }
}

#[test]
fn j1_what_middleware_holds_panics_as_it_goes_and_nobody_else_is_hurt() {
    let app = {
        let holds = |next: Next| {
            let held = PanicsAsItGoes;
            async move {
                let result: CallResult = next.run().await;
                drop(held);
                result
            }
        };
        let t =
            Tool::new("t").description("A tool.").wrap(ConcurrencyLimit::new(1).refuse()).wrap(holds).run(|| "done");
        let slow = Tool::new("slow").description("A tool.").wrap(ConcurrencyLimit::new(1).refuse()).wrap(holds).run(
            |ctx: Ctx| async move {
                ctx.cancelled().await;
                "never"
            },
        );
        Server::new("x", "1").tool(t).tool(slow).tool(tool("other")).build().unwrap()
    };
    block_on(async {
        for revision in Revision::ALL {
            let mut client = Client::builder(&app).revision(revision).connect();
            for _ in 0..3 {
                client.call("t", ()).await.assert_fault(-32603);
                let slow = client.start("slow", ());
                assert!(!client.is_answered(&slow));
                client.cancel(slow);
                client.call("other", ()).await.assert_text("ran");
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn j2_half_open_lets_one_through_however_many_come_at_once() {
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&seconds);
    let breaker = CircuitBreaker::new()
        .threshold(1)
        .recovery(Duration::from_secs(1))
        .clock(move || Duration::from_secs(clock.load(Ordering::SeqCst)));
    let (inside, most, fails) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
    let (i, m, f) = (Arc::clone(&inside), Arc::clone(&most), Arc::clone(&fails));
    let t = Tool::new("t").description("A tool.").wrap(breaker).run(move || {
        let (inside, most, fails) = (Arc::clone(&i), Arc::clone(&m), Arc::clone(&f));
        async move {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            Yields(20).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            if fails.load(Ordering::SeqCst) { Err(CallError::from(std::io::Error::other("down"))) } else { Ok("up") }
        }
    });
    let app = Server::new("x", "1").tool(t).build().unwrap();
    let service = service(&app);
    ask_modern(&service, None, "tools/call", json!({"name": "t"})).await;
    most.store(0, Ordering::SeqCst);
    for round in 1..30_u64 {
        seconds.store(round * 10, Ordering::SeqCst);
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let service = service.clone();
                tokio::spawn(async move { ask_modern(&service, None, "tools/call", json!({"name": "t"})).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
    fails.store(false, Ordering::SeqCst);
    seconds.store(10_000, Ordering::SeqCst);
    let (_, _, body) = ask_modern(&service, None, "tools/call", json!({"name": "t"})).await;
    assert!(body.contains("up"), "{body}");
}

#[tokio::test]
async fn j4_a_hundred_middlewares_around_one_call() {
    let mut t = Tool::new("t").description("A tool.");
    for _ in 0..100 {
        t = t.wrap(|next: Next| async move {
            let result: CallResult = next.run().await;
            result
        });
    }
    let app = Server::new("x", "1")
        .tool(t.run(|| async {
            Yields(3).await;
            "done"
        }))
        .build()
        .unwrap();
    let (_, _, body) = ask_modern(&service(&app), None, "tools/call", json!({"name": "t"})).await;
    assert!(body.contains("done"), "{body}");
}

/// The tool is another by the time that the person approves.
#[test]
fn b10_an_approval_of_a_tool_that_was_replaced_meanwhile() {
    let ((one, run_one), (two, run_two)) = (counter(), counter());
    let app =
        Server::new("x", "1").authorize(ask_first).tool(eraser("erase", run_one).sensitive(true)).build().unwrap();
    block_on(async {
        for revision in [Revision::V2025_11_25] {
            let edited = app.clone();
            let run_two = run_two.clone();
            let mut client = Client::builder(&app)
                .revision(revision)
                .can(Ability::ElicitationForm)
                .on_request(move |_, _| {
                    let run_two = run_two.clone();
                    edited
                        .edit(|edit| {
                            edit.remove("erase");
                            edit.add(eraser("erase", run_two).sensitive(true));
                        })
                        .unwrap();
                    json!({"action": "accept", "content": {"approve": true}})
                })
                .connect();
            let answer = client.call("erase", ()).await;
            println!("{answer:?} {} {}", one.load(Ordering::SeqCst), two.load(Ordering::SeqCst));
        }
    });
    assert_eq!(two.load(Ordering::SeqCst), 0, "what was approved is gone");
}

/// Scopes and visibility again, by each way to follow a resource, when they change while it is followed: modern.
#[test]
fn a10_modern_listeners_hear_nothing_of_what_is_hidden_or_moved_behind_a_scope() {
    let hides = Arc::new(AtomicBool::new(false));
    let rule = Arc::clone(&hides);
    let app = Server::new("x", "1")
        .resource(Resource::new("a://one").text("1").visible(move |_, _| !rule.load(Ordering::SeqCst)))
        .resource(Resource::new("a://two").text("2"))
        .build()
        .unwrap();
    block_on(async {
        for revision in Revision::ALL {
            hides.store(false, Ordering::SeqCst);
            let mut client = Client::builder(&app).revision(revision).principal("ann").connect();
            client.listen(["a://one", "a://two"]).await;
            app.resource_updated("a://one");
            app.resource_updated("a://two");
            assert_eq!(client.take_updates(), ["a://one", "a://two"], "{revision}");
            hides.store(true, Ordering::SeqCst);
            app.edit(|edit| {
                edit.remove_resource("a://two");
                edit.add_resource(Resource::new("a://two").scope("admin").text("2"));
            })
            .unwrap();
            app.resource_updated("a://one");
            app.resource_updated("a://two");
            assert_eq!(client.take_updates(), [""; 0], "{revision}");
            app.edit(|edit| {
                edit.remove_resource("a://two");
                edit.add_resource(Resource::new("a://two").text("2"));
            })
            .unwrap();
        }
    });
}

#[test]
fn k1_scopes_that_include_one_another_in_circles_and_chains_are_worked_out_quickly() {
    let mut server = Server::new("x", "1").tool(tool("t").scope("s999"));
    for n in 0..1000 {
        server = server.scope_implies(format!("s{n}"), format!("s{} s{}", (n + 1) % 1000, n));
    }
    let begin = Instant::now();
    let app = server.build().unwrap();
    println!("k1: {:?}", begin.elapsed());
    block_on(async {
        Client::builder(&app).principal("a").scopes("s0").connect().call("t", ()).await.assert_text("ran");
        Client::builder(&app).principal("a").scopes("other").connect().call("t", ()).await.assert_fault(403);
    });
    assert!(begin.elapsed() < Duration::from_secs(5));
}

/// Caches: what is scoped or chosen is for nobody else, whatever anybody says by default.
#[tokio::test]
async fn k2_nothing_scoped_or_hidden_is_public_by_default() {
    use mcp_server::CacheHint;
    let hint = || CacheHint::new().ttl(Duration::from_secs(60)).public();
    let built = Server::new("x", "1")
        .module(Module::new("m").cache(hint()).resource(Resource::new("a://s").scope("s").text("x")))
        .build();
    println!("{:?}", built.as_ref().map(|_| ()).map_err(|error| error.to_string()));
    assert!(built.is_err());
    let built = Server::new("x", "1")
        .module(Module::new("m").scope("s").resource(Resource::new("a://s").cache(hint()).text("x")))
        .build();
    assert!(built.is_err());
    let app = Server::new("x", "1")
        .cache(hint())
        .resource(Resource::new("a://open").text("x"))
        .resource(Resource::new("a://scoped").scope("s").text("x"))
        .resource_template(ResourceTemplate::new("b://{v}").scope("s").run(|v: String| v))
        .authenticate(by_token)
        .build()
        .unwrap();
    let service1 = service(&app);
    for (uri, scope) in [("a://open", "public"), ("a://scoped", "private"), ("b://x", "private")] {
        let (_, _, body) = ask_modern(&service1, Some("a/s"), "resources/read", json!({"uri": uri})).await;
        assert_eq!(messages(&body)[0]["result"]["cacheScope"], scope, "{uri} {body}");
    }
    for method in ["resources/list", "resources/templates/list"] {
        let (_, _, body) = ask_modern(&service1, Some("a/s"), method, json!({})).await;
        println!("{method} {body}");
        assert_eq!(messages(&body)[0]["result"]["cacheScope"], "private", "{body}");
    }
    let app = Server::new("x", "1")
        .cache(hint())
        .visible(|_, _| true)
        .resource(Resource::new("a://open").text("x"))
        .build()
        .unwrap();
    for (method, params) in [("resources/list", json!({})), ("resources/read", json!({"uri": "a://open"}))] {
        let (_, _, body) = ask_modern(&service(&app), None, method, params).await;
        assert_eq!(messages(&body)[0]["result"]["cacheScope"], "private", "{body}");
    }
}

/// A state of a template's instance, another's spelling, another's scope.
#[tokio::test]
async fn k3_a_template_whose_variables_reach_into_anothers_space() {
    let app = Server::new("x", "1")
        .resource_template(
            ResourceTemplate::new("f://private/{v}").scope("private").run(|v: String| format!("private {v}")),
        )
        .resource_template(ResourceTemplate::new("f://{+path}").run(|path: String| format!("file {path}")))
        .authenticate(by_token)
        .build()
        .unwrap();
    let service = service(&app);
    let mut reached = Vec::new();
    for uri in [
        "f://private/x",
        "f://privat%65/x",
        "f://%70rivate/x",
        "f://private%2Fx",
        "f://private//x",
        "f://./private/x",
        "f://a/../private/x",
        "f://private/x/",
        "f://private/x?",
        "f://private/x#",
        "F://private/x",
        "f://private/%78",
        "f://private/x/y",
    ] {
        let (status, _, body) = ask_modern(&service, Some("ann/low"), "resources/read", json!({"uri": uri})).await;
        println!("{uri}: {status} {}", &body[..body.len().min(160)]);
        if status == 200 && !body.contains("error") {
            reached.push(uri);
        }
    }
    println!("{reached:?}");
    // Spellings of the same by RFC 3986; the others are other URIs, which who writes such a template has to think of.
    for same in ["f://private/x", "f://privat%65/x", "f://%70rivate/x", "f://private/%78"] {
        assert!(!reached.contains(&same), "{same}");
    }
}
