//! What is no request: notifications, responses, arrays, GET, DELETE; and what concerns every POST.

use mcp_core::route::{self, Route};
use mcp_core::wire::Unread;
use mcp_core::{Head, Reply, Revision};
use serde_json::{Value, json};
use testkit::{Site, fixture};

use super::*;

// HTTP POST, body is a notification.

fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": {}})
}

#[test]
fn a_notification_with_a_session_is_for_it_and_gets_202_http_8_case_82() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/foo", "ping"] {
        for header in [None, Some("2025-11-25"), Some("2025-06-18"), Some(MODERN)] {
            let headers = heads(header, Some(&live));
            assert_eq!(verdict(&mut site, &notification(method), &headers), "session 202 empty", "{method}");
            assert_eq!(site.post(&notification(method), &headers).reply, Some(Reply::ACCEPTED));
        }
        for (session, route) in [(&*dead(), "session"), ("gone", "-")] {
            let headers = heads(None, Some(session));
            assert_eq!(verdict(&mut site, &notification(method), &headers), format!("{route} 404 -32600 -"));
        }
        let headers = heads(Some("bogus"), Some(&live));
        assert_eq!(verdict(&mut site, &notification(method), &headers), "- 400 -32600 -", "HTTP-31");
    }
}

#[test]
fn a_modern_notification_gets_202_and_has_no_effect_http_49_a40_canc_5() {
    let mut cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    for mut site in [dual(), sessionless(), modern_only()] {
        for method in ["notifications/foo", "notifications/initialized"] {
            let headers = heads(Some(MODERN), None);
            assert_eq!(verdict(&mut site, &notification(method), &headers), "- 202 empty");
        }
        assert_eq!(verdict(&mut site, &cancelled, &heads(Some(MODERN), None)), "- 202 empty");
        // By its meta alone; no header is demanded or compared.
        cancelled["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": MODERN});
        for header in [None, Some("bogus"), Some("2025-11-25")] {
            assert_eq!(verdict(&mut site, &cancelled, &heads(header, None)), "- 202 empty", "{header:?}");
        }
    }
    for header in [None, Some("bogus"), Some("2025-11-25")] {
        let body = notification("notifications/foo");
        assert_eq!(verdict(&mut modern_only(), &body, &heads(header, None)), "- 202 empty", "{header:?}");
    }
}

#[test]
fn a_legacy_notification_without_a_session_is_400_where_they_are_kept_and_202_where_not_case_83() {
    for method in ["notifications/roots/list_changed", "notifications/initialized"] {
        for header in [None, Some("2025-11-25")] {
            let headers = heads(header, None);
            assert_eq!(verdict(&mut dual(), &notification(method), &headers), "- 400 -32600 -", "{method}");
            assert_eq!(verdict(&mut legacy_only(), &notification(method), &headers), "- 400 -32600 -");
            assert_eq!(verdict(&mut sessionless(), &notification(method), &headers), "- 202 empty");
        }
        let headers = heads(Some("1900-01-01"), None);
        assert_eq!(verdict(&mut sessionless(), &notification(method), &headers), "- 400 -32602 -", "HTTP-31");
        let headers = heads(None, Some("gone"));
        assert_eq!(verdict(&mut sessionless(), &notification(method), &headers), "- 404 -32600 -");
    }
}

// HTTP POST, body is a response.

#[test]
fn a_response_is_for_a_session_or_for_nobody_base_24() {
    for response in [
        json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "m"}}),
    ] {
        let mut site = dual();
        let live = site.open(Revision::V2025_11_25, &json!({})).encode();
        assert_eq!(verdict(&mut site, &response, &heads(None, Some(&live))), "session 202 empty");
        assert_eq!(verdict(&mut site, &response, &heads(Some("2025-11-25"), Some(&live))), "session 202 empty");
        assert_eq!(verdict(&mut site, &response, &heads(Some("bogus"), Some(&live))), "- 400 -32600 -");
        assert_eq!(verdict(&mut site, &response, &heads(Some(MODERN), Some(&live))), "- 400 -32600 -", "HTTP-40");
        assert_eq!(verdict(&mut site, &response, &heads(None, Some(&dead()))), "session 404 -32600 -");
        assert_eq!(verdict(&mut sessionless(), &response, &heads(None, Some(&dead()))), "- 404 -32600 -");
        for mut site in [dual(), sessionless(), modern_only(), legacy_only()] {
            for header in [None, Some(MODERN), Some("2025-11-25"), Some("bogus")] {
                assert_eq!(verdict(&mut site, &response, &heads(header, None)), "- 400 -32600 -", "{header:?}");
            }
        }
    }
}

// HTTP POST, body is an array.

#[test]
fn arrays_are_answered_in_2025_03_26_alone_batch_4() {
    let batch =
        json!([plain("ping"), notification("notifications/foo"), fixture::request("b", "tools/list", &json!({}))]);
    let mut site = dual();
    for (revision, date) in Revision::ALL.into_iter().zip(LEGACY) {
        let live = site.open(revision, &json!({})).encode();
        let right = match revision {
            Revision::V2025_03_26 => "session 200 ok 1, ok \"b\"",
            _ => "session 400 -32600 -",
        };
        for header in [None, Some(date)] {
            assert_eq!(verdict(&mut site, &batch, &heads(header, Some(&live))), right, "{date}");
        }
        for header in [MODERN, "bogus", ""] {
            assert_eq!(verdict(&mut site, &batch, &heads(Some(header), Some(&live))), "- 400 -32600 -", "{header}");
        }
    }
    for header in [None, Some("2025-03-26"), Some(MODERN), Some("bogus")] {
        assert_eq!(verdict(&mut site, &batch, &heads(header, None)), "- 400 -32600 -", "{header:?}");
    }
    assert_eq!(verdict(&mut site, &batch, &heads(None, Some(&dead()))), "session 404 -32600 -");
    assert_eq!(verdict(&mut site, &batch, &heads(None, Some("gone"))), "- 404 -32600 -");
}

#[test]
fn arrays_without_sessions_are_2025_03_26_unless_the_header_says_otherwise() {
    let batch = json!([plain("ping"), plain("nope")]);
    let twice = json!([plain("ping"), fixture::request(2, "ping", &json!({}))]);
    let mut site = sessionless();
    for header in [None, Some("2025-03-26")] {
        assert_eq!(verdict(&mut site, &twice, &heads(header, None)), "as 2025-03-26 200 ok 1, ok 2");
        assert_eq!(
            verdict(&mut site, &batch, &heads(header, None)),
            "as 2025-03-26 400 -32600 -",
            "BATCH-5: one id twice"
        );
    }
    for header in ["2024-11-05", "2025-06-18", "2025-11-25", MODERN, "bogus"] {
        assert_eq!(verdict(&mut site, &twice, &heads(Some(header), None)), "- 400 -32600 -", "{header}");
    }
    let mut newer = serving(&Revision::ALL[2..], false);
    assert_eq!(verdict(&mut newer, &twice, &NONE), "- 400 -32600 -");
    assert_eq!(verdict(&mut modern_only(), &twice, &NONE), "- 400 -32600 -");
}

#[test]
fn an_array_with_a_modern_member_or_a_handshake_is_refused_whole_batch_4_life_8() {
    let mut site = dual();
    let live = site.open(Revision::V2025_03_26, &json!({})).encode();
    let headers = heads(None, Some(&live));
    for second in [asking(&json!(MODERN), "tools/list"), fixture::initialize("2025-03-26", &json!({}))] {
        let mut first = plain("tools/call");
        first["id"] = json!(5);
        assert_eq!(verdict(&mut site, &json!([first, second]), &headers), "session 400 -32600 -");
    }
    assert_eq!(verdict(&mut site, &json!([]), &headers), "session 400 -32600 -", "BATCH-3");
    assert_eq!(verdict(&mut site, &json!([1]), &headers), "session 200 -32600 -", "BATCH-3");
    assert_eq!(verdict(&mut site, &json!([notification("notifications/foo")]), &headers), "session 202 empty");
}

// HTTP GET and DELETE.

#[test]
fn get_listens_in_a_session_and_is_refused_elsewhere_http_25_http_48() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    for header in [None, Some("2025-11-25"), Some("2025-03-26")] {
        assert_eq!(site.get(&heads(header, Some(&live))).reply, Some(Reply::EVENTS));
    }
    let refused = |site: &mut Site, headers: &[(&str, &str)]| outcome(&site.get(headers));
    assert_eq!(refused(&mut site, &NONE), "400 -32600 -");
    assert_eq!(refused(&mut site, &heads(None, Some("gone"))), "404 -32600 -", "case 69");
    assert_eq!(refused(&mut site, &heads(None, Some(&dead()))), "404 -32600 -", "case 69");
    assert_eq!(refused(&mut site, &heads(Some("1900-01-01"), Some(&live))), "400 -32600 -", "case 86");
    assert_eq!(refused(&mut site, &heads(Some("1900-01-01"), None)), "400 -32602 -");
    let twice = [("mcp-session-id", &*live), ("mcp-session-id", "gone")];
    assert_eq!(refused(&mut site, &twice), "400 -32600 -");
    let mut headers = heads(None, Some(&live));
    headers.push(("accept", "application/json"));
    assert_eq!(refused(&mut site, &headers), "406 -32600 -", "HTTP-5");
}

#[test]
fn a_modern_get_or_delete_is_405_with_allow_post_even_with_a_live_session_http_48_http_50_a34() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    let mut cases: Vec<(Site, Vec<(&str, &str)>)> = Vec::new();
    let dead = dead();
    for session in [None, Some("gone"), Some(&*dead)] {
        for make in [sessionless, modern_only] {
            cases.extend([None, Some("2025-11-25"), Some(MODERN)].map(|header| (make(), heads(header, session))));
        }
        cases.push((dual(), heads(Some(MODERN), session)));
    }
    let mut headers = heads(Some(MODERN), Some(&live));
    headers.push(("last-event-id", "1"));
    cases.push((site, headers));
    for (mut site, headers) in cases {
        for sent in [site.get(&headers), site.delete(&headers)] {
            assert_eq!(outcome(&sent), "405 empty", "{headers:?}");
            assert!(sent.head().headers().any(|header| header == ("allow", "POST")));
        }
    }
}

#[test]
fn delete_ends_the_session_once_http_23_a22() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    let headers = heads(None, Some(&live));
    assert_eq!(outcome(&site.delete(&NONE)), "400 -32600 -");
    assert_eq!(outcome(&site.delete(&heads(Some("bogus"), Some(&live)))), "400 -32600 -");
    assert_eq!(outcome(&site.delete(&heads(None, Some("gone")))), "404 -32600 -", "case 69");
    assert_eq!(outcome(&site.delete(&headers)), "204 empty");
    assert_eq!(outcome(&site.delete(&headers)), "404 -32600 -");
    assert_eq!(outcome(&site.get(&headers)), "404 -32600 -");
    assert_eq!(verdict(&mut site, &plain("ping"), &headers), "session 404 -32600 1");
    assert_eq!(verdict(&mut site, &notification("notifications/initialized"), &headers), "session 404 -32600 -");
}

#[test]
fn any_other_verb_is_405() {
    let modern_only = fixture::builder().revisions(&[Revision::MODERN]).build().unwrap();
    let cases = [(fixture::endpoint(), "POST, GET, DELETE, OPTIONS"), (modern_only, "POST, OPTIONS")];
    for (endpoint, allowed) in cases {
        let (reply, body) = route::other(&endpoint);
        assert_eq!((reply.status, body.len()), (405, 0));
        assert!(reply.headers().any(|header| header == ("allow", allowed)));
    }
}

// What concerns every POST.

#[test]
fn an_accept_that_takes_neither_form_is_406_without_id_http_5() {
    let mut site = dual();
    let live = site.open(Revision::V2025_03_26, &json!({})).encode();
    let modern = asking(&json!(MODERN), "tools/list");
    let opening = fixture::initialize("2025-11-25", &json!({}));
    let batch = json!([plain("ping")]);
    let cases: [(&Value, Vec<(&str, &str)>); 4] = [
        (&modern, mirrored(&modern, &heads(Some(MODERN), None))),
        (&opening, heads(None, None)),
        (&batch, heads(None, Some(&live))),
        (&batch[0], heads(None, Some(&live))),
    ];
    for (body, headers) in cases {
        for (accept, fits) in [
            ("*/*", true),
            ("application/json", true),
            ("text/event-stream", true),
            ("application/*;q=0.1", true),
            ("text/html, application/json;q=0.5", true),
            ("text/html", false),
            ("application/json;q=0, text/event-stream;q=0", false),
            ("application/xml, image/*", false),
        ] {
            let mut headers = headers.clone();
            headers.push(("accept", accept));
            let sent = site.post(body, &headers);
            match fits {
                true => assert_eq!(sent.status(), 200, "{body} {accept}"),
                false => assert_eq!(outcome(&sent), "406 -32600 -", "{body} {accept}"),
            }
        }
    }
    // What is answered without a body, or with a refusal, fits any client.
    let html = [("accept", "text/html")];
    assert_eq!(
        verdict(&mut site, &notification("notifications/foo"), &[heads(Some(MODERN), None), html.into()].concat()),
        "- 202 empty"
    );
    assert_eq!(
        verdict(&mut site, &plain("ping"), &[heads(None, Some("gone")), html.into()].concat()),
        "- 404 -32600 1"
    );
}

#[test]
fn what_is_no_message_is_400_with_its_id_where_it_has_one_http_12_base_6() {
    let mut site = dual();
    for (body, right) in [
        (&b"{"[..], "unread 400 -32700 -"),
        (b"", "unread 400 -32700 -"),
        (b"\xFF\xFE", "unread 400 -32700 -"),
        (br#"{"id":1}"#, "unread 400 -32600 1"),
        (br#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, "unread 400 -32600 1"),
        (br#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, "unread 400 -32600 -"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#, "unread 400 -32602 1"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":1}}"#, "unread 400 -32602 1"),
        (br#""tools/list""#, "unread 400 -32600 -"),
    ] {
        assert_eq!(verdict_bytes(&mut site, body, &[]), right, "{}", String::from_utf8_lossy(body));
    }
    let (reply, body) = route::unread(&Unread::too_long(4 << 20));
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((reply.status, body["error"]["code"].as_i64(), body.get("id")), (413, Some(-32600), None));
}

#[test]
fn names_of_headers_have_no_case_and_values_lose_their_blanks_http_14() {
    let mut site = dual();
    let live = site.open(Revision::V2025_11_25, &json!({})).encode();
    let padded = format!(" \t{live} ");
    assert_eq!(
        verdict(&mut site, &plain("ping"), &[("MCP-SESSION-ID", &padded), ("Mcp-protocol-VERSION", " 2025-11-25\t")]),
        "session 200 ok 1"
    );
    let body = asking(&json!(MODERN), "tools/list");
    let headers = [("MCP-PROTOCOL-VERSION", " 2026-07-28 "), ("mcp-method", "  tools/list ")];
    assert_eq!(verdict(&mut site, &body, &headers), "modern 200 ok 1");
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "Tools/list")];
    assert_eq!(verdict(&mut site, &body, &headers), "modern 400 -32020 1");
}

#[test]
fn routing_is_pure_the_same_question_has_the_same_answer() {
    let site = dual();
    let body = asking(&json!(MODERN), "tools/list").to_string();
    let message = mcp_core::wire::read(body.into(), site.endpoint.limits()).unwrap();
    let head = Head::read([("mcp-protocol-version", &b"2026-07-28"[..])]);
    let first = route::post(&site.endpoint, &message, &head);
    assert_eq!(first, Route::Modern);
    assert_eq!(route::post(&site.endpoint, &message, &head), first);
}
