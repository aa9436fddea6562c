//! B6: the HTTP endpoint itself: hosts, paths, media types, bodies.

use std::io::Write as _;

use serde_json::json;

use crate::client::{Site, Stream, init, server, tool};

#[test]
fn case_85_a_media_type_is_matched_without_case_and_parameters_http_6() {
    let site = Site::demo();
    let open = init("2025-11-25");
    for (media, status) in [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/json;charset=UTF-8", 200),
        ("application/json ; charset=\"utf-8\"", 200),
        ("Application/JSON", 200),
        ("text/plain", 415),
        ("text/plain; application/json", 415),
        ("application/jsonp", 415),
        ("application/json-seq", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 415),
        ("", 415),
    ] {
        assert_eq!(site.post(&[("content-type", media)], &open).status, status, "{media}");
    }
}

#[test]
fn case_89_only_loopback_hosts_are_answered_to_on_loopback_http_2_sec_3() {
    let site = Site::demo();
    let open = init("2025-11-25");
    for (host, status) in [
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil.example:8000", 403),
        ("[::1]:8000", 200),
        ("[::1]", 200),
        ("LOCALHOST:8000", 200),
        ("localhost", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:1", 200),
    ] {
        for (verb, body) in [("POST", open.to_string()), ("GET", String::new()), ("DELETE", String::new())] {
            let answered = site.send(verb, &[("host", host)], &body).status;
            let expected = if status == 200 && verb != "POST" { 400 } else { status };
            assert_eq!(answered, expected, "{verb} {host}");
        }
    }
    let body = open.to_string();
    let bare = format!("POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    assert_eq!(Stream::open(site.raw(format!("{bare}\r\n{body}").as_bytes())).status, 400, "RFC 9112 section 3.2");
    for origin in ["http://evil.example", "http://localhost.evil.example:1", "null"] {
        assert_eq!(site.post(&[("origin", origin)], &open).status, 403, "{origin}");
    }
    assert_eq!(site.post(&[("origin", "http://localhost:5173")], &open).status, 200);
}

#[test]
fn case_94_both_spellings_of_the_path_are_served_without_a_redirect_http_1() {
    let open = init("2025-11-25").to_string();
    for (site, path) in [
        (Site::demo(), "/mcp"),
        (Site::of(server().http_path("/api/v1/mcp").tool(tool("t").run(|| ()))), "/api/v1/mcp"),
    ] {
        for path in [path.to_owned(), format!("{path}/"), format!("{path}?x=1")] {
            let response = site.begin_at(&path, "POST", &[], &open).whole();
            assert_eq!(response.status, 200, "{path}");
            assert!(response.header("mcp-session-id").is_some() && response.header("location").is_none());
        }
        for path in ["/", "/other", "/mcp/other", "//"] {
            assert_eq!(site.begin_at(path, "POST", &[], &open).status, 404, "{path}");
        }
    }
}

/// Sends what the server takes of that many pieces of 1 MiB; how a client that is refused behaves is not the point.
fn upload(site: &Site, head: &str, pieces: usize, chunked: bool) -> u16 {
    let stream = site.raw(head.as_bytes());
    let mut sender = stream.try_clone().expect("a second handle");
    let piece = "x".repeat(1 << 20);
    let piece = if chunked { format!("{:x}\r\n{piece}\r\n", piece.len()) } else { piece };
    let sending = std::thread::spawn(move || {
        // Refused in the middle: there is nothing more to send then.
        (0..pieces).try_for_each(|_| sender.write_all(piece.as_bytes())).and_then(|()| sender.write_all(b"0\r\n\r\n"))
    });
    let status = Stream::open(stream).status;
    drop(sending);
    status
}

#[test]
fn case_95_a_body_over_the_limit_gets_413_with_a_length_and_without_base_26() {
    let site = Site::demo();
    let head = site.head("POST", "/mcp", &[]);
    assert_eq!(upload(&site, &format!("{head}content-length: {}\r\n\r\n", 50 << 20), 50, false), 413);
    assert_eq!(upload(&site, &format!("{head}transfer-encoding: chunked\r\n\r\n"), 50, true), 413);
    let most = mcp_server::Limits::default().body;
    let fits = init("2025-11-25").to_string();
    let fits = format!("{fits}{}", " ".repeat(most - fits.len()));
    assert_eq!(site.send("POST", &[], &fits).status, 200, "at the limit it is served");
    assert_eq!(site.send("POST", &[], &format!("{fits} ")).status, 413);
    site.still_answers();
}

#[test]
fn case_95_half_a_body_is_a_bad_request_and_harms_nobody() {
    let site = Site::demo();
    let body = init("2025-11-25").to_string();
    let half = format!("{}content-length: {}\r\n\r\n{}", site.head("POST", "/mcp", &[]), body.len(), &body[..20]);
    let stream = site.raw(half.as_bytes());
    stream.shutdown(std::net::Shutdown::Write).expect("the half that is open");
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut &stream, &mut answer).expect("the server hangs up in time");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    drop(site.raw(half.as_bytes()));
    site.still_answers();
    assert_eq!(site.call("echo", json!({"message": "m"})).status, 200);
}
