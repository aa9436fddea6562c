//! The server ends a response and goes on with its stream (HTTP-30).

use mcp_core::policy::Policy;
use mcp_core::{Note, Pull, Revision, Span, StreamId};

use super::host::{Host, id_of};
use crate::{BEFORE_PRIMING, call, progress, text};

#[test]
fn a_call_sends_its_reader_away_who_comes_back_for_the_rest_http_30() {
    let mut policy = Policy::default();
    policy.timing.retry = Span::millis(70);
    let mut host = Host::with(Revision::V2025_11_25, policy);
    let (stream, _) = host.post(&call(1));
    host.note(Note::HangUp);
    let sent = host.reading[&stream].clone();
    assert_eq!(sent.text, format!("id: {}-1\nretry: 70\ndata: \n\nretry: 70\n\n", stream.0));
    assert_eq!(sent.ended, Some(Pull::Pause));
    host.note(progress(1));
    host.note(Note::HangUp);
    host.note(progress(2));
    assert_eq!(host.reading[&stream].text, sent.text, "who was sent away gets no more");

    let (_, resumed) = host.resume(&id_of(&sent.events()[0]).to_string());
    assert_eq!((resumed.messages().len(), resumed.ended), (2, None), "nobody was there to be sent away again");
    host.note(Note::HangUp);
    assert_eq!(host.reading[&stream].ended, Some(Pull::Pause), "now there was");
    host.done(text("done"));
    let last = host.reading[&stream].events().last().cloned().unwrap();
    let (_, resumed) = host.resume(&id_of(&last).to_string());
    assert_eq!(resumed.messages()[0]["result"]["content"][0]["text"], "done");
    assert_eq!((resumed.messages().len(), resumed.ended), (1, Some(Pull::End)));
}

#[test]
fn what_was_said_before_is_sent_before_http_30() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    host.note(Note::HangUp);
    assert!(host.reading[&stream].text.ends_with("}\n\nretry: 1000\n\n"));
    assert_eq!(host.reading[&stream].messages().len(), 1);
}

#[test]
fn nobody_is_sent_away_who_could_not_come_back_http_30() {
    for revision in BEFORE_PRIMING {
        let mut host = Host::open(revision);
        let (stream, _) = host.post(&call(1));
        host.note(Note::HangUp);
        host.note(progress(1));
        host.note(Note::HangUp);
        host.done(text("done"));
        let sent = &host.reading[&stream];
        assert_eq!((sent.ended, sent.messages().len()), (Some(Pull::End), 2), "{revision:?}: {}", sent.text);
        assert!(!sent.text.contains("retry"));
    }
    let mut host = Host::open(Revision::V2025_11_25);
    let (stream, _) = host.post_accepting(&call(1), "application/json");
    host.note(Note::HangUp);
    assert_eq!(host.reading[&stream].ended, None, "a client that reads no events");
    host.done(text("done"));
    assert_eq!(host.reading[&stream].status(), 200);
}

#[test]
fn without_a_log_nobody_is_sent_away_and_a_modern_stream_has_neither_ids_nor_retry_http_9_http_30_http_47() {
    use mcp_core::{Exchange, MachineId, Pipe, Session, Time};
    use std::sync::Arc;
    use testkit::{Script, fixture};

    let endpoint = fixture::endpoint();
    let now = Time(1_000_000);
    let session = Session::new(MachineId(1), Arc::clone(&endpoint), super::host::ID, now);
    let mut session = Script::new(session);
    session.open(Revision::V2025_11_25, &serde_json::json!({}));
    session.send(&call(1));
    let stream = session.stream();
    session.note(Note::HangUp);
    session.note(progress(1));
    session.done(text("done"));
    let sent = session.sent(stream);
    assert!(sent.ended && !sent.text.contains("retry:") && !sent.text.contains("id:"), "{}", sent.text);

    let mut exchange = Script::new(Exchange::new(MachineId(1), Arc::clone(&endpoint), now));
    exchange.send(&fixture::modern(1, "tools/call", &call(1)["params"], &serde_json::json!({})));
    exchange.note(Note::HangUp);
    exchange.note(progress(1));
    exchange.note(Note::HangUp);
    exchange.done(text("done"));
    let sent = exchange.received();
    assert!(sent.ended && !sent.text.contains("retry:") && !sent.text.contains("id:"), "{}", sent.text);
    assert_eq!(sent.messages.len(), 2);

    let mut pipe = Script::new(Pipe::new(MachineId(1), endpoint, now));
    pipe.open(Revision::V2025_11_25, &serde_json::json!({}));
    pipe.send(&call(1));
    pipe.note(Note::HangUp);
    pipe.done(text("done"));
    assert_eq!(pipe.sent(StreamId::ONLY).messages.len(), 1);
}
