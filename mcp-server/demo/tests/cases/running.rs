//! B5: progress.

use std::sync::Mutex;
use std::sync::mpsc::sync_channel;

use mcp_server::Ctx;
use serde_json::{Value, json};

use crate::client::{Site, Wire, call, call_with_token, request, server, text, tool};

#[test]
fn case_61_a_token_comes_back_as_it_was_sent_and_none_is_made_up_prog_1() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let params = |token: &Value| json!({"name": "sleep", "arguments": {"ms": 1}, "_meta": {"progressToken": token}});
    let mut wire = Wire::opened("2025-11-25");
    for token in [json!(5), json!("5"), json!(0), json!("")] {
        wire.send(&request(1, "tools/call", params(&token)));
        let modern = json!({"name": "sleep", "arguments": {"ms": 1}});
        let mut reports = vec![
            session.post(&request(1, "tools/call", params(&token))).messages()[0].clone(),
            site.modern_with("tools/call", modern, json!({"progressToken": token}), &[]).messages()[0].clone(),
        ];
        loop {
            let message = wire.next();
            if message["id"] == 1 {
                break;
            }
            reports.push(message);
        }
        assert!(reports.len() > 2, "{reports:?}");
        for report in reports {
            assert_eq!(report["method"], "notifications/progress");
            assert_eq!(report["params"]["progressToken"], token, "{report}");
        }
    }
    let absent = call(1, "sleep", json!({"ms": 1}));
    assert_eq!(session.post(&absent).messages().len(), 1);
    assert_eq!(site.call("sleep", json!({"ms": 1})).messages().len(), 1);
    wire.ask(&absent);
    wire.stays_silent();
}

#[test]
fn case_62_progress_comes_before_the_answer_and_grows_a_thousand_times_prog_2_prog_3() {
    let report = tool("report").run(|ctx: Ctx| {
        for done in [1.0, 2.0, 3.0] {
            ctx.progress().send(done, 3);
        }
        "reported"
    });
    let site = Site::of(server().tool(report));
    let session = site.session("2025-11-25");
    let right = |messages: Vec<Value>, token: u64| {
        let (answer, reports) = messages.split_last().expect("an answer");
        assert_eq!(text(answer), "reported");
        let done: Vec<f64> = reports.iter().filter_map(|report| report["params"]["progress"].as_f64()).collect();
        assert!(done.windows(2).all(|pair| pair[0] < pair[1]) && done.len() == reports.len(), "{messages:?}");
        // A slow client is told the latest only (PROG-6), which is never lost.
        assert_eq!(done.last(), Some(&3.0));
        assert!(reports.iter().all(|report| report["params"]["progressToken"] == token), "{messages:?}");
    };
    for token in 0..500 {
        right(session.post(&call_with_token(token, "report", json!({}))).messages(), token);
        let meta = json!({"progressToken": token});
        right(site.modern_with("tools/call", json!({"name": "report"}), meta, &[]).messages(), token);
    }
}

#[test]
fn probe_1_text_with_breaks_is_one_event_http_9() {
    let (sender, receiver) = sync_channel::<String>(1);
    let receiver = Mutex::new(receiver);
    let say = tool("say").run(move |ctx: Ctx| {
        let words = receiver.lock().expect("nobody panicked").recv().expect("the test says something");
        ctx.progress().say(1, 2, &*words);
        words
    });
    let site = Site::of(server().tool(say));
    for breaks in ["a\nb\rc\r\nd", "data: x\n\ndata: y\r\r", "\u{2028}\u{2029}\u{85}\u{0}", "\u{FEFF}:\nid: 7\n\n"] {
        sender.send(breaks.into()).expect("the tool listens");
        let response = site.modern_with("tools/call", json!({"name": "say"}), json!({"progressToken": 1}), &[]);
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
        assert!(
            response
                .body
                .lines()
                .all(|line| { line.is_empty() || line.starts_with(':') || line.starts_with("data: {") })
        );
        assert!(!response.body.contains('\r'));
        let messages = response.messages();
        assert_eq!(messages.len(), 2, "{response:?}");
        assert_eq!(messages[0]["params"]["message"], breaks);
        assert_eq!(text(&messages[1]), breaks);
    }
}
