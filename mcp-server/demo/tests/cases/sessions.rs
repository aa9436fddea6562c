//! B6: sessions of the handshake revisions.

use mcp_server::{Icon, Revision};
use serde_json::json;

use crate::client::{
    LEGACY, Site, call, call_with_token, code, init, initialized, ping, pong, request, server, text, tool,
};

#[test]
fn case_69_an_unknown_session_gets_404_whatever_is_asked_of_it_http_22() {
    let site = Site::demo();
    for id in ["gone", "AAAAAAAAAAAAAAAAAAAAAA", "\u{FFFD}", "a b", ""] {
        let headers = [("mcp-session-id", id)];
        for (verb, body) in [("POST", ping(1).to_string()), ("GET", String::new()), ("DELETE", String::new())] {
            let response = site.send(verb, &headers, &body);
            assert_eq!(response.status, 404, "{verb} {id}");
            assert_eq!(response.header("content-type"), Some("application/json"), "{verb} {id}");
        }
        assert_eq!(site.post(&headers, &initialized()).status, 404, "{id}");
    }
    let session = site.session("2025-11-25");
    assert_eq!(session.send("DELETE", &[], "").status, 204);
    let gone = [session.post(&ping(1)), session.send("GET", &[], ""), session.send("DELETE", &[], "")];
    assert_eq!(gone.map(|response| response.status), [404; 3]);
}

#[test]
fn case_71_a_request_without_its_session_gets_400_http_22() {
    let site = Site::demo();
    site.session("2025-11-25");
    for headers in [&[][..], &[("mcp-protocol-version", "2025-11-25")]] {
        let response = site.post(headers, &request(1, "tools/list", json!({})));
        assert_eq!(response.status, 400, "{response:?}");
        assert_eq!(response.json()["id"], 1);
        assert_eq!(site.send("GET", headers, "").status, 400);
        assert_eq!(site.send("DELETE", headers, "").status, 400);
    }
}

#[test]
fn case_75_an_event_that_cannot_be_resumed_is_refused_for_good_http_29() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    for event in ["999999", "garbage", "", "0"] {
        let response = session.send("GET", &[("last-event-id", event)], "");
        assert_eq!((response.status, code(&response.json())), (400, -32600), "{event}");
    }
    session.listen();
}

#[test]
fn case_82_a_notification_gets_202_and_nothing_else_http_8() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    for message in [
        initialized(),
        json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}),
    ] {
        let response = session.post(&message);
        assert_eq!((response.status, &*response.body), (202, ""), "{message}");
        assert_eq!((response.header("content-type"), response.header("content-length")), (None, Some("0")));
    }
}

#[test]
fn case_83_a_notification_without_a_session_is_refused_and_harms_nobody() {
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    let site = Site::demo();
    assert_eq!(site.post(&[], &changed).status, 400);
    site.still_answers();
    let without = Site::of(server().sessions(false).tool(tool("t").run(|| "ok")));
    assert_eq!(without.post(&[], &changed).status, 202);
    assert_eq!(text(&without.post(&[], &call(1, "t", json!({}))).json()), "ok");
}

#[test]
fn case_86_a_version_header_that_is_not_served_gets_400_http_31() {
    let site = Site::demo();
    for revision in LEGACY {
        let session = site.session(revision);
        for version in ["1900-01-01", "bogus", "", "2025-11-25, 2025-06-18"] {
            let headers = [("mcp-protocol-version", version)];
            let response = session.send("POST", &headers, &ping(1).to_string());
            assert_eq!((response.status, code(&response.json())), (400, -32600), "{version}");
            assert_eq!(session.send("POST", &headers, &initialized().to_string()).status, 400, "{version}");
            assert_eq!(session.send("GET", &headers, "").status, 400, "{version}");
            assert_eq!(session.send("DELETE", &headers, "").status, 400, "{version}");
        }
        assert_eq!(session.post(&ping(1)).json(), pong(1), "none at all is right, too");
    }
}

#[test]
fn case_88_another_version_that_is_served_gets_the_shapes_that_were_agreed_on_a21() {
    let icon = Icon::new("https://example.com/i.png").expect("an icon");
    let site = Site::of(server().tool(tool("t").icon(icon).run(|| ())));
    let list = request(1, "tools/list", json!({})).to_string();
    for (agreed, shown) in [("2025-06-18", false), ("2025-11-25", true)] {
        let session = site.session(agreed);
        for version in LEGACY {
            let response = session.send("POST", &[("mcp-protocol-version", version)], &list);
            assert_eq!(response.status, 200, "{version}");
            let listed = &response.json()["result"]["tools"][0];
            assert_eq!(listed.get("icons").is_some(), shown, "{agreed} {version}: icons are of 2025-11-25");
        }
    }
    let few = Site::of(server().revisions([Revision::V2025_06_18]).tool(tool("t").run(|| ())));
    let session = few.session("2025-06-18");
    assert_eq!(session.send("POST", &[("mcp-protocol-version", "2025-11-25")], &list).status, 400, "not served");
}

#[test]
#[cfg(unix)]
fn case_96_sigterm_ends_open_streams_and_lets_a_call_finish() {
    let mut site = Site::demo();
    let session = site.session("2025-11-25");
    let mut listening = session.listen();
    let mut running = session.start(&call_with_token(1, "sleep", json!({"ms": 1000})));
    let demo = &mut site.demo.as_mut().expect("the demo").demo;
    let kill = std::process::Command::new("kill").args(["-TERM", &demo.child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    let mut last = None;
    while let Some(message) = running.next() {
        last = Some(message);
    }
    assert!(text(&last.expect("an answer")).starts_with("Slept for "));
    assert_eq!(listening.next(), None, "the stream ends as a stream should");
    assert_eq!(demo.code(), Some(0));
}

#[test]
fn case_98_an_open_stream_blocks_no_post() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let _listening = [session.listen(), session.listen()];
    let _running = session.start(&call_with_token(7, "sleep", json!({"ms": 600_000})));
    assert_eq!(session.post(&ping(1)).json(), pong(1));
    assert_eq!(site.session("2025-11-25").post(&ping(1)).json(), pong(1));
    site.still_answers();
}

#[test]
fn case_101_nothing_modern_reaches_a_legacy_peer_base_13() {
    let site = Site::demo();
    for version in LEGACY {
        let opened = site.post(&[], &init(version));
        let session = site.session(version);
        let answers = [
            opened,
            session.post(&request(1, "tools/list", json!({}))),
            session.post(&call(1, "add", json!({"a": 1, "b": 2}))),
            session.post(&call(1, "echo", json!({}))),
            session.post(&ping(1)),
        ];
        for answer in answers {
            for member in ["resultType", "ttlMs", "cacheScope", "io.modelcontextprotocol/"] {
                assert!(!answer.body.contains(member), "{version} {member}: {}", answer.body);
            }
        }
    }
}

#[test]
fn probe_4_delete_ends_what_runs_and_what_listens_http_23() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let mut listening = session.listen();
    let mut running = session.start(&call_with_token(1, "sleep", json!({"ms": 600_000})));
    assert_eq!(session.send("DELETE", &[], "").status, 204);
    assert_eq!(listening.next(), None);
    while let Some(message) = running.next() {
        assert!(message.get("result").is_none(), "{message}");
    }
    for (verb, body) in [("POST", ping(1).to_string()), ("GET", String::new()), ("DELETE", String::new())] {
        assert_eq!(session.send(verb, &[], &body).status, 404, "{verb}");
    }
    assert_eq!(site.session("2025-11-25").post(&ping(1)).json(), pong(1));
}

#[test]
fn probe_5_a_strange_session_header_is_refused_and_harms_nobody() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let id = ("mcp-session-id", &*session.id);
    let ask = |headers: &[(&str, &str)]| site.post(headers, &ping(1)).status;
    assert_eq!(ask(&[id, ("mcp-session-id", "other")]), 400, "which one?");
    assert_eq!(ask(&[("mcp-session-id", "other"), id]), 400);
    assert_eq!(ask(&[id, id]), 200, "the same twice says one thing (HDR-7)");
    assert_eq!(ask(&[("mcp-session-id", &format!("{0}, {0}", session.id))]), 404);
    assert_eq!(ask(&[("mcp-session-id", &"x".repeat(10_000))]), 404);
    assert_eq!(ask(&[("mcp-session-id", "séance")]), 404);
    let head = site.head("POST", "/mcp", &[]);
    let body = ping(1).to_string();
    for byte in [0x80_u8, 0xC3, 0xFF] {
        let mut bytes = format!("{head}content-length: {}\r\nmcp-session-id: a", body.len()).into_bytes();
        bytes.extend([byte, b'b']);
        bytes.extend(format!("\r\n\r\n{body}").as_bytes());
        let status = crate::client::Stream::open(site.raw(&bytes)).status;
        assert!(matches!(status, 400 | 404), "{byte}: {status}");
    }
    assert_eq!(ask(&[("Mcp-Session-ID", &*session.id)]), 200, "names have no case (HTTP-14)");
}
