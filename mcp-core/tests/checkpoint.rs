//! Sessions that outlive their node: what a checkpoint holds, and what another node makes of it. In simulated time, by a driver
//! that keeps an event log, which both nodes reach.

use std::sync::Arc;

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::policy::Policy;
use mcp_core::question::Question;
use mcp_core::wire::Unread;
use mcp_core::{
    Change, Checkpoint, Close, Endpoint, EventId, EventLog, Generations, Input, KeepAlives, MachineId, Note, Outcome,
    Pull, Revision, Session, Snapshot, SnapshotError, Span, StreamId, Time,
};
use serde_json::{Value, json};
use testkit::fixture;

#[path = "checkpoint/histories.rs"]
mod histories;

#[allow(dead_code)]
#[path = "resume/host.rs"]
mod host;

use host::{Host, ID, id_of};

const LISTED: Generations = Generations::new(1, 2, 3);

fn call(id: impl Into<Value>) -> Value {
    let params = json!({"name": "echo", "arguments": {"message": "hi"}, "_meta": {"progressToken": 7}});
    fixture::request(id, "tools/call", &params)
}

fn progress(progress: u32) -> Note {
    Note::Progress { progress: progress.into(), total: None, message: None }
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

fn ask() -> Outcome {
    Outcome::Ask { questions: vec![("roots".into(), Question::Roots)], state: bytes::Bytes::from_static(b"so far") }
}

fn ping(id: u64) -> Value {
    fixture::request(id, "ping", &json!({}))
}

fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

fn subscribe(id: u64, method: &str) -> Value {
    fixture::request(id, &format!("resources/{method}"), &json!({"uri": "notes://today"}))
}

fn endpoint() -> Arc<Endpoint> {
    fixture::builder().resources(true, true).build().unwrap()
}

fn open(revision: Revision) -> Host {
    let mut host = Host::fresh(endpoint(), EventLog::new(&Policy::default()));
    host.handshake(revision);
    host
}

fn checkpoint(host: &Host) -> Checkpoint {
    host.session.checkpoint(LISTED).expect("it is open")
}

fn digest(host: &Host) -> u64 {
    checkpoint(host).digest
}

/// The node dies, and another goes on from what was stored last.
fn take_over(host: &mut Host, stored: &Snapshot) {
    host.session = Session::take_over(MachineId(2), stored, endpoint(), LISTED, host.now).expect("it goes on");
    host.calls.clear();
    host.reading.clear();
    host.input(Input::Tick);
}

type Act = fn(&mut Host);

#[test]
fn whatever_must_not_be_lost_changes_the_digest() {
    let acts: [(&str, Act); 17] = [
        ("a subscription", |host| drop(host.post(&subscribe(1, "subscribe")))),
        ("and its end", |host| drop(host.post(&subscribe(2, "unsubscribe")))),
        ("the level", |host| drop(host.post(&fixture::request(1, "logging/setLevel", &json!({"level": "alert"}))))),
        ("news of a list that nobody was told", |host| {
            host.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
        }),
        ("a stream that listens, primed", |host| drop(host.get())),
        ("news that was told", |host| {
            host.input(Input::Changed { catalog: fixture::catalog(), what: Change::Prompts })
        }),
        ("a stream that opens", |host| {
            host.post(&call(1));
            host.note(progress(1));
        }),
        ("progress", |host| host.note(progress(2))),
        ("a question", |host| host.done(ask())),
        ("its answer", |host| drop(host.post(&json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}})))),
        ("a second question", |host| host.done(ask())),
        ("its end in time", |host| host.advance(Span::secs(300))),
        ("the answer to the request", |host| host.done(text("done"))),
        ("a call that is answered by events at once", |host| {
            host.post_accepting(&call(2), "text/event-stream");
            host.done(text("done"));
        }),
        ("a second one", |host| {
            host.post_accepting(&call(2), "text/event-stream");
            host.done(text("done"));
        }),
        ("a call that is cancelled", |host| {
            host.post(&call(5));
            host.note(progress(1));
        }),
        ("its cancellation", |host| {
            host.post(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}));
        }),
    ];
    let mut host = open(Revision::V2025_11_25);
    let mut before = vec![digest(&host)];
    for (what, act) in acts {
        act(&mut host);
        let now = digest(&host);
        assert_eq!(digest(&host), now, "{what}: it is a function of the session");
        assert_ne!(before.last(), Some(&now), "{what}");
        before.push(now);
    }
    let listed = host.session.checkpoint(Generations::new(1, 2, 4)).unwrap().digest;
    assert_ne!(listed, *before.last().unwrap(), "the lists that it knows of");
}

#[test]
fn the_first_word_after_the_handshake_and_initialized_change_the_digest() {
    let mut host = Host::fresh(endpoint(), EventLog::new(&Policy::default()));
    assert!(host.session.checkpoint(LISTED).is_none(), "it is opening");
    host.post(&fixture::initialize("2025-06-18", &json!({})));
    let opened = digest(&host);
    host.post(&ping(1));
    let spoke = digest(&host);
    assert_ne!(opened, spoke, "or it would be dropped as one that never said a second word");
    host.post(&fixture::initialized());
    assert_ne!(digest(&host), spoke);
    host.input(Input::Close(Close::Peer));
    assert!(host.session.checkpoint(LISTED).is_none(), "it has ended");
    let alone = Session::sessionless(MachineId(1), endpoint(), Revision::V2025_06_18, Time(0));
    assert!(alone.checkpoint(LISTED).is_none(), "nobody comes back to it");
}

#[test]
fn what_nobody_could_come_back_to_changes_no_digest() {
    let acts: [(&str, Act); 13] = [
        ("a ping", |host| drop(host.post(&ping(9)))),
        ("a list", |host| drop(host.post(&fixture::request(9, "tools/list", &json!({}))))),
        ("a call that is answered with plain JSON", |host| {
            host.post(&call(9));
            let ticket = host.calls.pop_back().unwrap();
            host.input(Input::Done { ticket, outcome: text("done") });
        }),
        ("a call that runs, on a stream without a shape", |host| drop(host.post(&call(10)))),
        ("a call of a client that takes no events", |host| drop(host.post_accepting(&call(11), "application/json"))),
        ("its progress", |host| {
            let call = host.calls.back().unwrap().call();
            host.input(Input::Note { call, note: progress(1) });
        }),
        ("a notification that means nothing", |host| drop(host.post(&notification("notifications/whatever")))),
        ("an answer to nothing", |host| drop(host.post(&json!({"jsonrpc": "2.0", "id": 99, "result": {}})))),
        ("what is no message", |host| host.input(Input::Unread(Unread::too_long(5)))),
        ("time", |host| host.now = host.now.after(Span::secs(14))),
        ("a comment", |host| host.advance(Span::secs(2))),
        ("a reader that leaves", |host| {
            let stream = *host.reading.keys().find(|stream| stream.0 == 2).unwrap();
            host.leave(stream);
        }),
        ("a resume that is refused", |host| drop(host.resume("99-9"))),
    ];
    let mut host = open(Revision::V2025_06_18);
    // An open stream with an event, so that a comment and a leaving reader have something to be about.
    host.post(&call(1));
    host.note(progress(1));
    let before = digest(&host);
    for (what, act) in acts {
        act(&mut host);
        assert_eq!(digest(&host), before, "{what}");
    }
}

#[test]
fn a_call_that_ran_is_answered_once_as_interrupted_where_its_client_left_off_http_29() {
    let mut host = open(Revision::V2025_11_25);
    let (stream, _) = host.post(&call("mine"));
    host.post(&call("plain"));
    host.note(progress(1));
    let last = id_of(host.reading[&stream].events().last().unwrap());
    let stored = checkpoint(&host).snapshot;
    // What came after that was not stored, so it was never sent.
    take_over(&mut host, &stored);
    assert!(host.calls.is_empty(), "nothing is run again");
    let (resumed, connection) = host.resume(&last.to_string());
    assert_eq!((resumed, connection.ended), (stream, Some(Pull::End)));
    let events = connection.events();
    assert_eq!(id_of(&events[0]), EventId { number: last.number + 1, ..last });
    let [answer] = &connection.messages()[..] else { panic!("one answer: {}", connection.text) };
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("mine"), &json!(-32603)));
    assert_eq!(answer["error"]["data"], json!({"reason": "interrupted"}));
    assert!(!connection.text.contains("plain"), "nobody could come back to that");
    // As often as it is asked for, and never another.
    let (_, again) = host.resume(&last.to_string());
    assert_eq!(again.events(), events);
    let (fresh, _) = host.post(&call(2));
    assert!(fresh.0 >= 1 << 32, "no stream has the id of one that the other node may have opened: {fresh:?}");
    let (_, after) = host.post_accepting(&ping(3), "text/event-stream");
    assert_eq!(after.messages()[0]["result"], json!({}));
}

#[test]
fn open_questions_stay_open_and_their_answers_are_taken_on_the_other_node_shim_5() {
    let mut host = open(Revision::V2025_06_18);
    let (stream, _) = host.post(&call(1));
    host.done(ask());
    let question = id_of(host.reading[&stream].events().last().unwrap());
    host.advance(Span::secs(100));
    let stored = checkpoint(&host).snapshot;
    take_over(&mut host, &stored);
    let (_, accepted) = host.post(&json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}));
    assert_eq!(accepted.status(), 202);
    assert_eq!(host.calls.len(), 1, "the request goes on");
    host.done(text("done"));
    let (_, connection) = host.resume(&question.to_string());
    assert_eq!(connection.messages()[0]["result"]["content"][0]["text"], "done");
    assert_eq!(connection.messages().len(), 1);

    // Their time limit goes on, too.
    host.post(&call(2));
    host.done(ask());
    let asked = host.now;
    let stored = checkpoint(&host).snapshot;
    host.now = asked.after(Span::secs(299));
    take_over(&mut host, &stored);
    assert!(host.calls.is_empty());
    host.advance(Span::secs(1));
    assert_eq!(host.calls.len(), 1, "BASE-25: not answered in time");
    assert_eq!(host.session.last_events().len(), 1);
}

#[test]
fn questions_that_were_held_are_sent_by_the_other_node_once_the_client_is_initialized() {
    let mut host = Host::fresh(endpoint(), EventLog::new(&Policy::default()));
    host.post(&fixture::initialize("2025-06-18", &json!({"roots": {}})));
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    let last = id_of(host.reading[&stream].events().last().unwrap());
    let before = digest(&host);
    host.done(ask());
    let stored = checkpoint(&host);
    assert_ne!(stored.digest, before);
    take_over(&mut host, &stored.snapshot);
    let (_, nothing) = host.resume(&last.to_string());
    assert_eq!(nothing.messages(), [] as [Value; 0]);
    host.post(&fixture::initialized());
    assert_eq!(host.reading[&stream].messages()[0]["method"], "roots/list");
}

#[test]
fn what_was_taken_over_is_not_idle_for_what_it_did_since_its_checkpoint() {
    let mut host = open(Revision::V2025_11_25);
    host.post(&subscribe(1, "subscribe"));
    let stored = checkpoint(&host);
    // It pings for a day, and is stored no more.
    for id in 0..24 {
        host.advance(Span::secs(3600));
        host.post(&ping(id));
        assert_eq!(digest(&host), stored.digest);
    }
    take_over(&mut host, &stored.snapshot);
    assert!(!host.closed);
    assert!(!host.session.is_drowsy());
    host.get();
    host.input(Input::Updated { uri: "notes://today", view: &fixture::view() });
    let listening = host.reading.values().find(|connection| !connection.messages().is_empty()).unwrap();
    assert_eq!(listening.messages()[0]["method"], "notifications/resources/updated");
    host.advance(Span::secs(7200));
    assert!(host.closed, "HTTP-24: but it ends as others do");
}

#[test]
fn a_listening_stream_goes_on_after_its_last_event_and_a_batch_is_answered_whole() {
    let mut host = open(Revision::V2025_03_26);
    let (listening, _) = host.get();
    host.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
    let told = id_of(&host.reading[&listening].events()[0]);
    let (batch, _) = host.post(&json!([call(1), call(2), call(3)]));
    host.note(progress(1));
    host.done(text("first"));
    host.done(ask());
    let sent = id_of(host.reading[&batch].events().last().unwrap());
    let stored = checkpoint(&host).snapshot;
    let named = [told, sent];
    assert_eq!(host.session.last_events(), named);
    host.session = Session::take_over(MachineId(2), &stored, endpoint(), LISTED, host.now).unwrap();
    assert_eq!(host.session.last_events(), named, "what a log has beyond was never sent");
    take_over(&mut host, &stored);
    host.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
    let (_, listens) = host.resume(&told.to_string());
    assert_eq!(listens.messages()[0]["method"], "notifications/tools/list_changed");
    let (_, answers) = host.resume(&sent.to_string());
    let [answer] = &answers.messages()[..] else { panic!("the third was answered: {}", answers.text) };
    assert_eq!((&answer["id"], &answer["error"]["data"]["reason"]), (&json!(3), &json!("interrupted")));
    assert_eq!(answers.ended, None, "the second asks still");
    host.post(&json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}));
    host.done(text("second"));
    let connection = &host.reading[&batch];
    assert_eq!((&connection.messages()[1]["id"], connection.ended), (&json!(2), Some(Pull::End)));
}

#[test]
fn one_that_slept_is_taken_over_without_its_readers_and_a_checkpoint_is_not_woken() {
    let mut host = open(Revision::V2025_11_25);
    host.post(&call(1));
    host.done(ask());
    let (listening, _) = host.get();
    let checkpoint = checkpoint(&host).snapshot;
    let lived = Session::wake(MachineId(2), &checkpoint, KeepAlives::default(), endpoint(), LISTED, host.now);
    assert_eq!(lived.unwrap_err(), SnapshotError::Lived);
    let other = Session::new(MachineId(9), endpoint(), ID, host.now);
    let slept = std::mem::replace(&mut host.session, other).sleep(LISTED).unwrap();
    assert!(slept.keep_alives.contains(listening));
    take_over(&mut host, &slept.snapshot);
    let later = Generations::new(2, 2, 3);
    host.session = Session::take_over(MachineId(2), &slept.snapshot, endpoint(), later, host.now).unwrap();
    host.input(Input::Tick);
    host.post(&json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}));
    host.done(text("done"));
    let (_, fresh) = host.get();
    let told: Vec<Value> = fresh.messages().iter().map(|message| message["method"].clone()).collect();
    assert_eq!(told, ["notifications/tools/list_changed"], "what changed meanwhile is told");
    let (_, answered) = host.resume(&EventId { stream: StreamId(2), number: 1 }.to_string());
    assert_eq!(answered.messages()[1]["result"]["content"][0]["text"], "done", "{}", answered.text);
}

#[test]
fn a_second_node_dies_and_a_third_goes_on_without_a_second_answer() {
    let mut host = open(Revision::V2025_11_25);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    let last = id_of(host.reading[&stream].events().last().unwrap());
    let stored = checkpoint(&host).snapshot;
    // The second dies before it has stored the answer: the third gives it.
    host.session = Session::take_over(MachineId(2), &stored, endpoint(), LISTED, host.now).unwrap();
    take_over(&mut host, &stored);
    let answered = checkpoint(&host).snapshot;
    take_over(&mut host, &answered);
    assert_eq!(host.session.last_events(), []);
    let (_, connection) = host.resume(&last.to_string());
    assert_eq!(connection.messages().len(), 1, "{}", connection.text);
    let again = host.session.checkpoint(LISTED).unwrap();
    let reread = Session::take_over(MachineId(2), &again.snapshot, endpoint(), LISTED, host.now).unwrap();
    assert_ne!(reread.checkpoint(LISTED).unwrap().digest, again.digest, "to take over is to be stored, too");
}
