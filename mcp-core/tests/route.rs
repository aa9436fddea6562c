//! Which machine an HTTP request is for: the decision tables of `spec.md` 2.4, row by row, from request to answer.

use std::sync::Arc;

use mcp_core::route::Route;
use mcp_core::{Endpoint, Reply, Revision, SessionId};
use serde_json::{Value, json};
use testkit::{Sent, Site, fixture};

#[path = "route/rest.rs"]
mod rest;

const MODERN: &str = "2026-07-28";
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const NONE: [(&str, &str); 0] = [];

/// Both eras, with sessions.
fn dual() -> Site {
    Site::new(fixture::endpoint())
}

fn serving(revisions: &[Revision], sessions: bool) -> Site {
    let endpoint: Arc<Endpoint> = fixture::builder().revisions(revisions).sessions(sessions).build().unwrap();
    Site::new(endpoint)
}

fn sessionless() -> Site {
    serving(&Revision::ALL, false)
}

fn modern_only() -> Site {
    serving(&[Revision::MODERN], true)
}

fn legacy_only() -> Site {
    serving(&Revision::ALL[..4], true)
}

/// A request whose `_meta` names that version.
fn asking(version: &Value, method: &str) -> Value {
    let mut request = fixture::modern(1, method, &json!({"name": "echo"}), &json!({}));
    request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = version.clone();
    request
}

/// A request of the legacy era.
fn plain(method: &str) -> Value {
    fixture::request(1, method, &json!({"name": "echo"}))
}

/// A date in the version header, a text in the session header.
fn heads<'a>(version: Option<&'a str>, session: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let version = version.map(|version| ("mcp-protocol-version", version));
    let session = session.map(|session| ("mcp-session-id", session));
    version.into_iter().chain(session).collect()
}

/// The headers that mirror the body, and those.
fn mirrored<'a>(body: &'a Value, headers: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let method = body["method"].as_str().unwrap();
    [("mcp-method", method), ("mcp-name", "echo")].into_iter().chain(headers.iter().copied()).collect()
}

fn dead() -> String {
    SessionId::new([0xDD; 16]).encode()
}

fn routed(site: &Site, body: &[u8], headers: &[(&str, &[u8])]) -> String {
    match site.route(body, headers) {
        Err(_) => "unread".into(),
        Ok(Route::Modern) => "modern".into(),
        Ok(Route::Open) => "open".into(),
        Ok(Route::Session(_)) => "session".into(),
        Ok(Route::Sessionless(revision)) => format!("as {revision}"),
        Ok(Route::Reply(..)) => "-".into(),
    }
}

/// Status, then what is in it: `ok`, an error's code, `empty`, or each of a batch; and the id that it carries.
fn outcome(sent: &Sent) -> String {
    let one = |message: &Value| {
        let what = message["error"]["code"].as_i64().map_or("ok".into(), |code| code.to_string());
        let id = message.get("id").map_or("-".into(), Value::to_string);
        format!("{what} {id}")
    };
    let all: Vec<String> = sent.messages.iter().map(one).collect();
    format!("{} {}", sent.status(), if all.is_empty() { "empty".into() } else { all.join(", ") })
}

fn verdict_bytes(site: &mut Site, body: &[u8], headers: &[(&str, &[u8])]) -> String {
    let routed = routed(site, body, headers);
    format!("{routed} {}", outcome(&site.post_bytes(body, headers)))
}

/// The machine that a POST is for (`-`: none), and its answer.
fn verdict(site: &mut Site, body: &Value, headers: &[(&str, &str)]) -> String {
    let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    verdict_bytes(site, body.to_string().as_bytes(), &headers)
}

/// Every state that a session header can be in.
fn sessions(live: SessionId) -> [Option<String>; 4] {
    [None, Some(live.encode()), Some(dead()), Some("gone".into())]
}

// HTTP POST, body is a request.

#[test]
fn row_1_a_meta_version_and_the_same_header_are_modern_whatever_the_session_http_47() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({}));
    for session in sessions(live) {
        for method in ["server/discover", "tools/list", "tools/call"] {
            let body = asking(&json!(MODERN), method);
            let headers = heads(Some(MODERN), session.as_deref());
            assert_eq!(
                verdict(&mut site, &body, &mirrored(&body, &headers)),
                "modern 200 ok 1",
                "{method} {session:?}"
            );
        }
        let body = asking(&json!(MODERN), "tools/list");
        let mut headers = mirrored(&body, &[("mcp-protocol-version", MODERN), ("last-event-id", "7")]);
        headers.extend(session.as_deref().map(|session| ("mcp-session-id", session)));
        let sent = site.post(&body, &headers);
        assert_eq!(sent.reply.clone(), Some(Reply::json(200)), "no session is minted or echoed");
    }
}

#[test]
fn row_2_a_meta_version_without_the_header_is_a_header_mismatch_hdr_1() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({}));
    for session in sessions(live) {
        for method in ["server/discover", "tools/list", "tools/call", "initialize", "nope"] {
            let body = asking(&json!(MODERN), method);
            let headers = mirrored(&body, &heads(None, session.as_deref()));
            assert_eq!(verdict(&mut site, &body, &headers), "modern 400 -32020 1", "{method} {session:?}");
        }
    }
}

#[test]
fn row_3_a_header_that_differs_is_a_mismatch_before_anybody_asks_whether_it_is_served() {
    let mut site = dual();
    for (meta, header) in [
        (MODERN, "2025-11-25"),
        ("2025-11-25", MODERN),
        ("v999", MODERN),
        (MODERN, "v999"),
        ("v999", "v998"),
        (MODERN, ""),
        (MODERN, "2026-07-28T"),
    ] {
        let body = asking(&json!(meta), "tools/list");
        let headers = mirrored(&body, &heads(Some(header), None));
        assert_eq!(verdict(&mut site, &body, &headers), "modern 400 -32020 1", "{meta} {header}");
    }
}

#[test]
fn row_3_two_copies_of_the_header_are_one_if_they_are_equal_hdr_7() {
    let mut site = dual();
    let body = asking(&json!(MODERN), "tools/list");
    let twice = |other| mirrored(&body, &[("mcp-protocol-version", MODERN), ("MCP-Protocol-Version", other)]);
    assert_eq!(verdict(&mut site, &body, &twice(MODERN)), "modern 200 ok 1");
    assert_eq!(verdict(&mut site, &body, &twice("2025-11-25")), "modern 400 -32020 1");
    // The body is judged before the header (VER-20).
    let body = asking(&json!(7), "tools/list");
    let headers = mirrored(&body, &[("mcp-protocol-version", MODERN), ("MCP-Protocol-Version", "2025-11-25")]);
    assert_eq!(verdict(&mut site, &body, &headers), "modern 400 -32602 1");
}

#[test]
fn row_4_a_version_that_is_not_served_is_named_with_those_that_are_ver_2_ver_8_case_104() {
    let mut site = dual();
    let all = json!([MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    for (version, supported) in [
        ("1900-01-01", all.clone()),
        ("2031-01-01", all.clone()),
        ("2025-06-18", json!([MODERN, "2025-11-25", "2025-03-26", "2024-11-05"])),
        ("2024-11-05", json!([MODERN, "2025-11-25", "2025-06-18", "2025-03-26"])),
    ] {
        for method in ["server/discover", "tools/call", "initialize"] {
            let body = asking(&json!(version), method);
            let headers = mirrored(&body, &heads(Some(version), None));
            assert_eq!(verdict(&mut site, &body, &headers), "modern 400 -32022 1", "{version} {method}");
            let data = site.post(&body, &headers).one()["error"]["data"].clone();
            assert_eq!(data, json!({"supported": supported, "requested": version}));
        }
    }
}

#[test]
fn row_5_a_legacy_method_with_modern_meta_is_unknown_and_opens_no_session() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({}));
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "notifications/initialized",
        "notifications/cancelled",
    ] {
        for session in sessions(live) {
            let body = asking(&json!(MODERN), method);
            let headers = mirrored(&body, &heads(Some(MODERN), session.as_deref()));
            assert_eq!(verdict(&mut site, &body, &headers), "modern 404 -32601 1", "{method} {session:?}");
            assert_eq!(site.post(&body, &headers).head().session, None);
        }
    }
}

#[test]
fn row_6_initialize_opens_a_session_with_any_legacy_date_in_the_header_or_none_http_20_http_31() {
    let mut site = dual();
    for asked in LEGACY {
        for header in LEGACY.iter().copied().map(Some).chain([None]) {
            let body = fixture::initialize(asked, &json!({}));
            assert_eq!(verdict(&mut site, &body, &heads(header, None)), "open 200 ok 0", "{asked} {header:?}");
            let sent = site.post(&body, &heads(header, None));
            assert_eq!(sent.one()["result"]["protocolVersion"], asked);
            let session = sent.head().session.unwrap().encode();
            assert!(session.bytes().all(|byte| (0x21..=0x7E).contains(&byte)), "{session}");
        }
    }
}

#[test]
fn row_6_the_header_of_a_handshake_binds_nobody() {
    // A date that this server does not serve, or nobody yet: the version is negotiated in the body (LIFE-2).
    let mut site = serving(&[Revision::V2025_06_18, Revision::MODERN], true);
    for header in ["2024-11-05", "2025-11-25", "2099-01-01", ""] {
        let body = fixture::initialize("2025-11-25", &json!({}));
        assert_eq!(verdict(&mut site, &body, &heads(Some(header), None)), "open 200 ok 0", "{header}");
        let sent = site.post(&body, &heads(Some(header), None));
        assert_eq!(sent.one()["result"]["protocolVersion"], "2025-06-18");
    }
    let body = fixture::initialize("2025-11-25", &json!({}));
    let twice = [("mcp-protocol-version", "2025-06-18"), ("mcp-protocol-version", "2025-11-25")];
    assert_eq!(verdict(&mut site, &body, &twice), "- 400 -32602 0");
}

#[test]
fn row_6_an_initialize_that_is_refused_opens_nothing_life_1() {
    let mut site = dual();
    let body = fixture::request(0, "initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    assert_eq!(verdict(&mut site, &body, &NONE), "open 200 -32602 0");
    assert_eq!(site.post(&body, &NONE).head().session, None);
}

#[test]
fn row_6_initialize_with_a_session_header_is_for_that_session_life_7() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    let body = fixture::initialize("2025-11-25", &json!({}));
    assert_eq!(verdict(&mut site, &body, &heads(None, Some(&live))), "session 400 -32600 0");
    assert_eq!(verdict(&mut site, &plain("ping"), &heads(None, Some(&live))), "session 200 ok 1");
    assert_eq!(verdict(&mut site, &body, &heads(None, Some(&dead()))), "session 404 -32600 0");
}

#[test]
fn row_7_a_handshake_under_a_modern_header_is_a_modern_request_without_its_meta_a20() {
    for mut site in [dual(), modern_only()] {
        let body = fixture::initialize("2025-11-25", &json!({}));
        assert_eq!(verdict(&mut site, &body, &heads(Some(MODERN), None)), "modern 400 -32602 0");
        let sent = site.post(&body, &heads(Some(MODERN), None));
        let message = sent.one()["error"]["message"].as_str().unwrap();
        assert!(message.contains("io.modelcontextprotocol/protocolVersion"), "{message}");
        assert_eq!(sent.head().session, None);
    }
}

#[test]
fn row_8_any_request_under_a_modern_header_needs_its_meta_case_103() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({}));
    for session in sessions(live) {
        for method in ["tools/list", "ping", "server/discover", "nope"] {
            let headers = heads(Some(MODERN), session.as_deref());
            assert_eq!(verdict(&mut site, &plain(method), &headers), "modern 400 -32602 1", "{method} {session:?}");
        }
    }
}

#[test]
fn row_9_a_legacy_request_is_for_its_session_with_or_without_a_date() {
    let mut site = dual();
    for (revision, date) in Revision::ALL.into_iter().zip(LEGACY) {
        let live = site.open(revision, &json!({})).encode();
        for header in [None, Some(date)] {
            for method in ["ping", "tools/list", "tools/call"] {
                let headers = heads(header, Some(&live));
                assert_eq!(verdict(&mut site, &plain(method), &headers), "session 200 ok 1", "{method} {header:?}");
            }
        }
    }
}

#[test]
fn row_10_another_legacy_date_is_served_in_the_revision_of_the_session_case_88() {
    let mut site = dual();
    let live = site.open(Revision::V2025_03_26, &json!({})).encode();
    for header in LEGACY {
        let headers = heads(Some(header), Some(&live));
        assert_eq!(verdict(&mut site, &plain("tools/list"), &headers), "session 200 ok 1");
        // Arrays are what only the session's revision has.
        let batch = json!([plain("ping")]);
        assert_eq!(verdict(&mut site, &batch, &headers), "session 200 ok 1", "{header}");
    }
    let live = site.open(Revision::V2025_06_18, &json!({})).encode();
    assert_eq!(verdict(&mut site, &plain("tools/call"), &heads(Some("2025-11-25"), Some(&live))), "session 200 ok 1");
}

#[test]
fn row_11_an_unknown_date_is_refused_and_the_right_ones_are_named_http_31_case_86() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    for header in ["1900-01-01", "1999-01-01", "bogus", "", "2026-07-29", "2025-11-25x"] {
        for (session, right) in [(Some(&*live), "- 400 -32600 1"), (None, "- 400 -32602 1")] {
            let headers = heads(Some(header), session);
            assert_eq!(verdict(&mut site, &plain("tools/list"), &headers), right, "{header}");
            let error = site.post(&plain("tools/list"), &headers).one()["error"].clone();
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"), "{message}");
            assert_eq!(error["data"]["supported"].as_array().unwrap().len(), 5);
        }
    }
    let twice = [("mcp-protocol-version", "2025-11-25"), ("mcp-protocol-version", "2025-06-18")];
    assert_eq!(verdict(&mut site, &plain("ping"), &twice), "- 400 -32602 1");
    let bytes: [(&str, &[u8]); 1] = [("mcp-protocol-version", b"2025-11-25\xFF")];
    assert_eq!(verdict_bytes(&mut site, plain("ping").to_string().as_bytes(), &bytes), "- 400 -32602 1");
    // A date that is real and switched off is as unknown as any other.
    let mut site = serving(&[Revision::V2025_11_25], true);
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    for header in ["2024-11-05", MODERN] {
        assert_eq!(verdict(&mut site, &plain("ping"), &heads(Some(header), Some(&live))), "- 400 -32600 1");
    }
}

#[test]
fn row_12_an_unknown_session_is_404_whatever_the_date_http_22_case_69() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    assert_eq!(site.delete(&heads(None, Some(&live))).reply, Some(Reply::DELETED));
    let long = "A".repeat(10_000);
    for version in [None, Some("2025-11-25"), Some("2024-11-05")] {
        for (session, route) in [(&*live, "session"), (&*dead(), "session"), ("gone", "-"), ("", "-"), (&*long, "-")] {
            for method in ["tools/list", "ping", "nope"] {
                let headers = heads(version, Some(session));
                assert_eq!(verdict(&mut site, &plain(method), &headers), format!("{route} 404 -32600 1"));
            }
        }
    }
    let bytes: [(&str, &[u8]); 1] = [("mcp-session-id", b"\xC3\xA9AAAAAAAAAAAAAAAAAAAA")];
    assert_eq!(verdict_bytes(&mut site, plain("ping").to_string().as_bytes(), &bytes), "- 404 -32600 1");
    let twice = [("mcp-session-id", &*live), ("mcp-session-id", "gone")];
    assert_eq!(verdict(&mut site, &plain("ping"), &twice), "- 400 -32600 1");
}

#[test]
fn row_12_a_session_is_there_for_its_principal_alone_http_21() {
    let mut site = dual();
    site.caller = mcp_core::Caller::new("ann", mcp_core::Scopes::default());
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    let headers = heads(None, Some(&live));
    site.caller = mcp_core::Caller::new("bob", mcp_core::Scopes::default());
    let stranger = site.post(&plain("ping"), &headers);
    assert_eq!(stranger.text, site.post(&plain("ping"), &heads(None, Some(&dead()))).text, "as if it were not there");
    assert_eq!(stranger.status(), 404);
    assert_eq!(site.get(&headers).status(), 404);
    assert_eq!(site.delete(&headers).status(), 404);
    site.caller = mcp_core::Caller::new("ann", mcp_core::Scopes::default());
    assert_eq!(verdict(&mut site, &plain("ping"), &headers), "session 200 ok 1");
}

#[test]
fn row_13_a_legacy_date_without_a_session_is_400_where_sessions_are_kept_case_71() {
    for mut site in [dual(), legacy_only()] {
        for header in LEGACY {
            let headers = heads(Some(header), None);
            assert_eq!(verdict(&mut site, &plain("tools/list"), &headers), "- 400 -32600 1", "{header}");
            let sent = site.post(&plain("tools/list"), &headers);
            let message = sent.one()["error"]["message"].as_str().unwrap();
            assert!(message.contains("`Mcp-Session-Id` is missing"), "{message}");
        }
    }
}

#[test]
fn row_14_without_sessions_the_header_is_the_revision() {
    let mut site = sessionless();
    for header in LEGACY {
        for method in ["ping", "tools/list", "tools/call"] {
            let right = format!("as {header} 200 ok 1");
            assert_eq!(verdict(&mut site, &plain(method), &heads(Some(header), None)), right);
        }
    }
}

#[test]
fn row_15_without_sessions_and_header_2025_03_26_is_assumed() {
    assert_eq!(verdict(&mut sessionless(), &plain("tools/list"), &NONE), "as 2025-03-26 200 ok 1");
    // 2024-11-05 knows no such header either.
    let mut site = serving(&[Revision::V2024_11_05, Revision::V2025_11_25], false);
    assert_eq!(verdict(&mut site, &plain("tools/list"), &NONE), "as 2024-11-05 200 ok 1");
}

#[test]
fn row_16_a_request_that_says_nothing_of_its_era_is_told_how_to_open() {
    let opening = |mut site: Site, method: &str| {
        let verdict = verdict(&mut site, &plain(method), &NONE);
        let error = site.post(&plain(method), &NONE).one()["error"].clone();
        (verdict, error["message"].as_str().unwrap().to_owned())
    };
    for method in ["tools/list", "server/discover", "ping"] {
        let (verdict, message) = opening(dual(), method);
        assert_eq!(verdict, "- 400 -32602 1", "{method}");
        for way in
            ["`initialize`", "`Mcp-Session-Id`", "io.modelcontextprotocol/protocolVersion", "`MCP-Protocol-Version`"]
        {
            assert!(message.contains(way), "{message}");
        }
        let (verdict, message) = opening(legacy_only(), method);
        assert_eq!(verdict, "- 400 -32602 1");
        assert!(message.contains("`initialize`") && !message.contains(MODERN), "{message}");
        // No revision that is served goes without the header.
        let (verdict, message) = opening(serving(&Revision::ALL[2..], false), method);
        assert_eq!(verdict, "- 400 -32602 1");
        assert!(!message.contains("Mcp-Session-Id"), "{message}");
        let (verdict, message) = opening(modern_only(), method);
        assert_eq!(verdict, "- 400 -32020 1");
        assert!(message.contains(MODERN), "{message}");
    }
}

// One era alone.

#[test]
fn a_modern_only_server_names_its_version_to_an_old_client_ver_7_a7_case_110() {
    let mut site = modern_only();
    for header in LEGACY.iter().copied().map(Some).chain([None]) {
        let body = fixture::initialize("2025-11-25", &json!({}));
        assert_eq!(verdict(&mut site, &body, &heads(header, None)), "- 400 -32020 0", "{header:?}");
        let error = site.post(&body, &heads(header, None)).one()["error"].clone();
        assert!(error["message"].as_str().unwrap().contains("this server speaks 2026-07-28"), "{error}");
        assert_eq!(error["data"], json!({"supported": [MODERN]}));
    }
    for method in ["initialize", "ping"] {
        let body = asking(&json!(MODERN), method);
        assert_eq!(verdict(&mut site, &body, &mirrored(&body, &heads(Some(MODERN), None))), "modern 404 -32601 1");
    }
    let body = asking(&json!(MODERN), "initialize");
    let sent = site.post(&body, &mirrored(&body, &heads(Some(MODERN), None)));
    assert_eq!(
        sent.one()["error"],
        json!({"code": -32601, "message": "initialize is not supported here; this server speaks 2026-07-28",
            "data": {"supported": [MODERN]}})
    );
}

#[test]
fn a_modern_only_server_knows_no_sessions_and_refuses_other_dates_by_row_11() {
    let mut site = modern_only();
    for header in ["2025-11-25", "1900-01-01", ""] {
        for session in [None, Some("gone"), Some(&*dead())] {
            assert_eq!(verdict(&mut site, &plain("ping"), &heads(Some(header), session)), "- 400 -32602 1", "{header}");
        }
    }
    assert_eq!(verdict(&mut site, &json!([plain("ping")]), &heads(None, Some(&dead()))), "- 400 -32600 -");
    let response = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
    assert_eq!(verdict(&mut site, &response, &heads(None, Some(&dead()))), "- 400 -32600 -");
}

#[test]
fn a_legacy_only_server_shows_a_modern_client_no_modern_error_ver_22() {
    let mut site = legacy_only();
    for method in ["server/discover", "tools/list"] {
        let body = asking(&json!(MODERN), method);
        let headers = mirrored(&body, &heads(Some(MODERN), None));
        assert_eq!(verdict(&mut site, &body, &headers), "- 400 -32602 1", "{method}");
        assert_eq!(verdict(&mut site, &body, &mirrored(&body, &NONE)), "- 400 -32602 1", "{method}");
    }
    // The client falls back.
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    let headers = heads(None, Some(&live));
    assert_eq!(verdict(&mut site, &asking(&json!(MODERN), "tools/list"), &headers), "session 200 ok 1");
    assert_eq!(verdict(&mut site, &plain("server/discover"), &headers), "session 200 -32601 1");
}

#[test]
fn where_no_sessions_are_kept_every_session_id_is_unknown() {
    let mut site = sessionless();
    for (session, route) in [(&*dead(), "-"), ("gone", "-")] {
        for header in [None, Some("2025-11-25")] {
            let headers = heads(header, Some(session));
            assert_eq!(verdict(&mut site, &plain("ping"), &headers), format!("{route} 404 -32600 1"));
        }
        let body = fixture::initialize("2025-11-25", &json!({}));
        assert_eq!(verdict(&mut site, &body, &heads(None, Some(session))), "- 404 -32600 0");
    }
    let body = fixture::initialize("2025-06-18", &json!({}));
    assert_eq!(verdict(&mut site, &body, &NONE), "as 2025-11-25 200 ok 0");
    let sent = site.post(&body, &NONE);
    assert_eq!(sent.one()["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(sent.head().session, None);
}
