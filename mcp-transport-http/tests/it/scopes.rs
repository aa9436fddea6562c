//! What a refusal says in headers: which scopes would help, or how long to wait; from the session's node as well.

use std::sync::Arc;

use mcp_core::catalog::View;
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::{Call, Caller, Endpoint, Fault, Outcome, Span};
use mcp_transport_http::store::Memory;
use mcp_transport_http::{Cluster, McpService};
use serde_json::{Value, json};

use crate::support::*;

const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
const CHALLENGE: &str = "Bearer error=\"insufficient_scope\", scope=\"files:read files:write\", \
                         resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\", \
                         error_description=\"Insufficient scope. Required: files:read files:write\"";

fn guarded() -> Tools {
    Tools::with(|endpoint| endpoint.resource_metadata(METADATA)).asking_for("files:read files:write")
}

/// Every call is one too many.
struct Busy(Tools);

impl Handler for Busy {
    fn endpoint(&self) -> &Arc<Endpoint> {
        self.0.endpoint()
    }

    fn view(&self, caller: &Caller) -> View {
        self.0.view(caller)
    }

    fn call(&self, _: Call, _: Link) -> Running {
        Running::Done(Outcome::Fail(Fault::too_many(Span(1_500))))
    }
}

/// Two nodes of one service, and an answer of each kind: modern, of a session, and of a session that the other node has.
async fn answers<H: Handler>(tools: impl Fn() -> H) -> Vec<Got> {
    let memory = Memory::with_clock(&mcp_core::policy::Policy::default(), || tokio::time::Instant::now().into_std());
    let node = || {
        let all = Arc::new(memory.clone());
        build(McpService::builder(tools()).cluster(Cluster::new(all.clone(), all.clone(), all)))
    };
    let (alone, nodes) = (build(McpService::builder(tools())), [node(), node()]);
    let (session, shared) = (open(&alone).await, open(&nodes[0]).await);
    vec![
        send(&alone, modern_call("echo", json!({}))).await,
        send(&alone, legacy_call(&session, 1, "echo", json!({}))).await,
        send(&nodes[0], legacy_call(&shared, 1, "echo", json!({}))).await,
        send(&nodes[1], legacy_call(&shared, 2, "echo", json!({}))).await,
    ]
}

fn error(got: &Got) -> (Value, Value) {
    let error = &got.json()["error"];
    (error["code"].clone(), error["data"].clone())
}

#[tokio::test(start_paused = true)]
async fn a_missing_scope_is_403_with_a_challenge_in_both_eras_and_through_any_node_auth_4_auth_6() {
    for got in answers(guarded).await {
        assert_eq!((got.status, got.header("www-authenticate")), (403, Some(CHALLENGE)), "{}", got.body);
        assert_eq!(got.header("content-type"), Some("application/json"));
        assert_eq!(error(&got), (json!(403), json!({"requiredScopes": ["files:read", "files:write"]})));
    }
}

#[tokio::test(start_paused = true)]
async fn one_call_too_many_is_429_with_whole_seconds_to_wait_in_both_eras_and_through_any_node() {
    for got in answers(|| Busy(Tools::new())).await {
        assert_eq!((got.status, got.header("retry-after")), (429, Some("2")), "{}", got.body);
        assert_eq!(got.header("www-authenticate"), None);
        assert_eq!(error(&got), (json!(-32603), json!({"retryAfterMs": 1500})));
    }
}

#[tokio::test]
async fn who_has_the_scopes_is_let_through_auth_4() {
    let caller = |scopes: &str| Caller::new("ada", mcp_core::Scopes::parse(scopes));
    let with = |scopes: &'static str| {
        let authenticate = move |_: &http::request::Parts| Ok::<_, mcp_transport_http::Rejection>(caller(scopes));
        build(McpService::builder(guarded()).authenticate(authenticate))
    };
    for (scopes, status) in [("files:read", 403), ("files:write files:read", 200)] {
        let got = send(&with(scopes), modern_call("echo", json!({"text": "hi"}))).await;
        assert_eq!((got.status, got.header("www-authenticate").is_some()), (status, status == 403));
    }
}
