//! B2: the order of the handshake, and probing for the era.

use mcp_server::Revision;
use serde_json::{Value, json};

use crate::client::{CAPABILITIES, LEGACY, Site, VERSION, Wire, code, init, initialized, request, server, tool};
use crate::common::modern;

/// What tells a client that it met a modern server (VER-22).
const MODERN_ERRORS: [i64; 3] = [-32020, -32021, -32022];

#[test]
fn case_14_a_legacy_only_server_refuses_a_probe_and_the_handshake_works_ver_22() {
    let legacy = [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];
    let site = Site::of(server().revisions(legacy).tool(tool("t").run(|| "ok")));
    let refused = site.modern("server/discover", json!({}));
    assert_eq!(refused.status, 400);
    let error = code(&refused.json());
    assert!(error != 0 && !MODERN_ERRORS.contains(&error), "{error}");
    assert_eq!(site.session("2025-11-25").post(&request(1, "tools/list", json!({}))).status, 200);
}

#[test]
fn case_14_without_a_version_a_probe_is_refused_and_the_handshake_works_ver_23() {
    let mut wire = Wire::open();
    let refused = wire.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}));
    assert_eq!(code(&refused), -32602, "row 6 of the table for stdio: {refused}");
    assert_eq!(wire.ask(&init("2025-11-25"))["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn case_15_a_refused_probe_leaves_the_handshake_open_ver_23() {
    let mut wire = Wire::open();
    let refused = wire.ask(&request(1, "server/discover", json!({"_meta": modern(json!({VERSION: "2099-01-01"}))})));
    assert_eq!(code(&refused), -32022);
    wire.ask(&init("2025-11-25"));
    let list = wire.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    assert!(list["result"]["tools"].is_array() && list["result"].get("resultType").is_none(), "{list}");
    let site = Site::demo();
    let newer = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "server/discover")];
    let probe = request(1, "server/discover", json!({"_meta": modern(json!({VERSION: "2099-01-01"}))}));
    assert_eq!(site.post(&newer, &probe).status, 400);
    let list = site.session("2025-11-25").post(&request(2, "tools/list", json!({}))).json();
    assert!(list["result"]["tools"].is_array() && list["result"].get("resultType").is_none(), "{list}");
}

#[test]
fn case_18_a_log_level_may_come_before_initialized_life_6() {
    let mut wire = Wire::open();
    wire.ask(&init("2025-11-25"));
    let set = wire.ask(&request(1, "logging/setLevel", json!({"level": "error"})));
    assert_eq!(set["result"], json!({}));
    wire.send(&initialized());
    assert!(wire.ask(&request(2, "tools/list", json!({})))["result"]["tools"].is_array());
}

#[test]
fn case_19_an_unknown_version_gets_the_newest_legacy_one_life_2() {
    let site = Site::demo();
    for version in ["2099-01-01", "", "1.0.0", "2026-07-28"] {
        let right = |answer: &Value| assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{version}");
        right(&Wire::open().ask(&init(version)));
        right(&site.post(&[], &init(version)).json());
    }
    for version in LEGACY {
        assert_eq!(Wire::open().ask(&init(version))["result"]["protocolVersion"], version);
    }
    let mut missing = init("");
    missing["params"].as_object_mut().expect("an object").remove("protocolVersion");
    let mut wire = Wire::open();
    assert_eq!(code(&wire.ask(&missing)), -32602);
    assert_eq!(wire.ask(&init("2025-11-25"))["result"]["protocolVersion"], "2025-11-25", "it can be tried again");
    let refused = site.post(&[], &missing);
    assert_eq!((code(&refused.json()), refused.header("mcp-session-id")), (-32602, None));
}

#[test]
fn case_22_capabilities_that_nobody_knows_yet_are_passed_over_base_10() {
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "roots": {},
        "extensions": {"com.example/x": {"y": 1}}, "futureThing": {"z": true}});
    let mut open = init("2025-11-25");
    open["params"]["capabilities"] = capabilities.clone();
    assert_eq!(Wire::open().ask(&open)["result"]["protocolVersion"], "2025-11-25");
    let site = Site::demo();
    assert!(site.post(&[], &open).header("mcp-session-id").is_some());
    let modern = site.modern_with("tools/list", json!({}), json!({CAPABILITIES: capabilities}), &[]);
    assert_eq!(modern.status, 200, "{modern:?}");
}

#[test]
fn case_24_tools_are_listed_and_called_before_initialized_life_6() {
    let mut wire = Wire::open();
    wire.ask(&init("2025-11-25"));
    assert!(wire.ask(&request(1, "tools/list", json!({})))["result"]["tools"].is_array());
    let call = request(2, "tools/call", json!({"name": "echo", "arguments": {"message": "m"}}));
    assert_eq!(wire.ask(&call)["result"]["content"][0]["text"], "m");
    wire.send(&initialized());
    wire.stays_silent();
}
