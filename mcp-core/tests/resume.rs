//! Streams of legacy sessions that are resumed: in simulated time, by a driver that keeps an event log.

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::policy::Policy;
use mcp_core::question::Question;
use mcp_core::{
    Caller, Change, Close, EventId, Form, Input, Note, Outcome, Pull, Revision, Scopes, Span, StreamId, Timer,
};
use mcp_core::{EventLog, Machine};
use serde_json::{Value, json};
use testkit::fixture;

mod resume {
    pub(crate) mod cuts;
    pub(crate) mod host;
    mod polling;
}

use resume::host::{Host, id_of};

/// Those that know of no event without data.
const BEFORE_PRIMING: [Revision; 3] = [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18];

fn call(id: u64) -> Value {
    let params = json!({"name": "echo", "arguments": {"message": "hi"}, "_meta": {"progressToken": id}});
    fixture::request(id, "tools/call", &params)
}

fn progress(progress: u32) -> Note {
    Note::Progress { progress: progress.into(), total: None, message: None }
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

fn ask() -> Outcome {
    Outcome::Ask { questions: vec![("roots".into(), Question::Roots)], state: bytes::Bytes::new() }
}

fn changed(host: &mut Host) {
    host.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
}

#[test]
fn the_rest_of_a_stream_and_its_answer_come_after_any_event_and_nothing_of_others_http_29_case_76() {
    let mut host = Host::open(Revision::V2025_06_18);
    let (first, _) = host.post(&call(1));
    host.note(progress(1));
    let (second, _) = host.post(&call(2));
    host.calls.rotate_left(1);
    host.note(progress(5));
    host.done(text("second"));
    host.note(progress(2));
    let sent = host.reading[&first].events();
    assert_eq!(sent.len(), 2);
    host.leave(first);
    host.note(progress(3));
    host.done(text("first"));

    let (stream, resumed) = host.resume(&id_of(&sent[0]).to_string());
    assert_eq!((stream, resumed.status(), resumed.reply.as_ref().unwrap().form), (first, 200, Form::Events));
    let messages = resumed.messages();
    assert_eq!(messages.len(), 3, "{}", resumed.text);
    assert_eq!((&messages[0]["params"]["progress"], &messages[1]["params"]["progress"]), (&json!(2), &json!(3)));
    assert_eq!(messages[2]["result"]["content"][0]["text"], "first");
    assert_eq!(resumed.ended, Some(Pull::End), "HTTP-10: nothing comes after an answer");
    assert!(!resumed.text.contains("second"), "a replay stays within its stream");
    assert_eq!(host.reading[&second].messages().len(), 2);
}

#[test]
fn an_answer_is_kept_until_it_expires_and_then_refused_with_400_http_29_case_76() {
    let mut policy = Policy::default();
    policy.timing.resume = Span::secs(60);
    let mut host = Host::with(Revision::V2025_11_25, policy);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    let id = id_of(&host.reading[&stream].events()[1]).to_string();
    host.leave(stream);
    host.done(text("done"));
    for _ in 0..2 {
        host.advance(Span::secs(29));
        let (_, resumed) = host.resume(&id);
        assert_eq!(resumed.messages()[0]["result"]["content"][0]["text"], "done", "as often as it is asked for");
    }
    host.advance(Span::secs(2));
    let (_, refused) = host.resume(&id);
    assert_eq!((refused.status(), refused.code()), (400, -32600));
    assert_eq!(host.log.bytes(), 0, "what has expired takes no room");
}

#[test]
fn what_was_never_sent_is_refused_with_400_and_opens_nothing_http_29_case_75() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (plain, _) = host.post(&fixture::request(1, "ping", &json!({})));
    let (waiting, _) = host.post(&call(2));
    let (streaming, _) = host.post(&call(3));
    host.calls.rotate_left(1);
    host.note(progress(1));
    assert_eq!(host.reading[&streaming].events().len(), 2);
    let event = |stream: StreamId, number| EventId { stream, number }.to_string();
    for after in [
        "999999".to_owned(),
        "garbage".to_owned(),
        String::new(),
        event(StreamId(999), 1),
        event(plain, 1),
        event(waiting, 1),
        event(streaming, 0),
        event(streaming, 3),
        event(streaming, u64::MAX),
        format!("0{}", event(streaming, 1)),
    ] {
        let (stream, refused) = host.resume(&after);
        assert_eq!((refused.status(), refused.code()), (400, -32600), "{after}");
        assert!(refused.text.contains("Last-Event-ID"), "it says what to do: {}", refused.text);
        host.leave(stream);
    }
    assert!(host.reading[&streaming].ended.is_none(), "who reads is not disturbed");
}

#[test]
fn after_the_last_event_of_a_stream_that_has_ended_nothing_is_opened_case_75() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    host.done(text("done"));
    let events = host.reading[&stream].events();
    let (_, refused) = host.resume(&id_of(events.last().unwrap()).to_string());
    assert_eq!((refused.status(), refused.code()), (400, -32600), "never an empty 200, which would be asked for again");
    let (_, resumed) = host.resume(&id_of(&events[1]).to_string());
    assert_eq!(resumed.messages().len(), 1);
}

#[test]
fn an_event_whose_successor_is_no_longer_kept_is_refused_and_a_later_one_is_not_http_29() {
    let mut policy = Policy::default();
    policy.limits.log_of_session = 3000;
    let mut host = Host::with(Revision::V2025_11_25, policy);
    let (stream, _) = host.post(&call(1));
    for step in 1..=40 {
        host.note(progress(step));
    }
    let events = host.reading[&stream].events();
    host.leave(stream);
    assert!(host.log.bytes() <= 3000);
    let resumes: Vec<bool> = events
        .iter()
        .map(|event| {
            let (stream, resumed) = host.resume(&id_of(event).to_string());
            host.leave(stream);
            assert!(matches!(resumed.status(), 200 | 400));
            resumed.status() == 200
        })
        .collect();
    let first = resumes.iter().position(|resumes| *resumes).expect("the last can be resumed after");
    assert!(first > 5 && resumes[first..].iter().all(|resumes| *resumes), "never a gap: {resumes:?}");
    let (_, resumed) = host.resume(&id_of(&events[first]).to_string());
    assert_eq!(resumed.events(), events[first + 1..]);
}

#[test]
fn for_another_principal_there_is_no_session_to_resume_in_http_21_http_29() {
    let endpoint = fixture::builder().build().unwrap();
    let mut host = Host::fresh(endpoint, EventLog::new(&Policy::default()));
    host.caller = Caller::new("ann", Scopes::default());
    host.handshake(Revision::V2025_11_25);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    let id = id_of(&host.reading[&stream].events()[0]).to_string();
    host.caller = Caller::new("eve", Scopes::default());
    let (_, refused) = host.resume(&id);
    assert_eq!(refused.status(), 404);
    assert!(!refused.text.contains("progress"));
    assert!(host.reading[&stream].ended.is_none(), "ann reads on");
}

#[test]
fn streams_of_2025_11_25_begin_with_an_event_without_data_and_older_ones_do_not_http_30_a18() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (listening, opened) = host.get();
    assert_eq!(opened.text, format!("id: {}-1\nretry: 1000\ndata: \n\n", listening.0), "at once");
    let (stream, waiting) = host.post(&call(1));
    assert_eq!(waiting.text, "", "the answer may still be plain JSON (HTTP-42)");
    host.note(progress(1));
    assert!(host.reading[&stream].text.starts_with(&format!("id: {}-1\nretry: 1000\ndata: \n\nid: ", stream.0)));

    for revision in BEFORE_PRIMING {
        let mut host = Host::open(revision);
        let (_, opened) = host.get();
        assert_eq!(opened.text, ": \n\n");
        let (stream, _) = host.post(&call(1));
        host.note(progress(1));
        host.done(text("done"));
        let sent = &host.reading[&stream];
        assert_eq!((sent.events().len(), sent.messages().len()), (2, 2), "each event is a message: {}", sent.text);
        assert!(!sent.text.contains("retry"));
    }
}

#[test]
fn a_call_goes_on_while_its_reader_is_away_and_has_as_long_after_each_return_http_28_http_32() {
    let mut policy = Policy::default();
    policy.timing.orphan = Some(Span::secs(100));
    let mut host = Host::with(Revision::V2025_11_25, policy);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    let id = id_of(&host.reading[&stream].events()[0]).to_string();
    for _ in 0..3 {
        host.leave(stream);
        assert_eq!(host.calls.len(), 1, "to leave is not to cancel");
        host.advance(Span::secs(99));
        let (_, resumed) = host.resume(&id);
        assert_eq!((resumed.messages().len(), resumed.ended), (1, None));
        host.advance(Span::secs(200));
    }
    host.leave(stream);
    host.advance(Span::secs(100));
    assert!(host.calls.is_empty(), "nobody came back");
    let (_, resumed) = host.resume(&id);
    assert_eq!(resumed.messages()[1]["error"]["code"], -32603, "its answer is there all the same: {}", resumed.text);
}

#[test]
fn a_question_that_was_asked_meanwhile_can_be_answered_after_the_return_http_27_http_29() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    let id = id_of(&host.reading[&stream].events()[1]).to_string();
    host.leave(stream);
    host.done(ask());
    assert!(host.calls.is_empty(), "it waits");
    let (_, resumed) = host.resume(&id);
    let question = &resumed.messages()[0];
    assert_eq!(question["method"], "roots/list");
    host.post(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}));
    host.done(text("asked"));
    assert_eq!(host.reading[&stream].messages().last().unwrap()["result"]["content"][0]["text"], "asked");
}

#[test]
fn a_stream_that_nobody_can_come_back_to_is_kept_nowhere_http_28() {
    let mut host = Host::open(Revision::V2025_06_18);
    let (stream, _) = host.post(&call(1));
    host.advance(Span::secs(15));
    assert_eq!(host.reading[&stream].text, ": \n\n", "it is open, and has sent no id");
    host.leave(stream);
    host.note(progress(1));
    host.done(text("done"));
    assert_eq!(host.log.bytes(), 0);
}

#[test]
fn who_comes_back_before_the_break_was_noticed_takes_the_stream_over_http_29() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    host.note(progress(2));
    let events = host.reading[&stream].events();
    let (again, resumed) = host.resume(&id_of(&events[1]).to_string());
    assert_eq!((again, resumed.events()), (stream, events[2..].to_vec()));
    host.done(text("done"));
    assert_eq!(host.reading[&stream].messages().len(), 2, "one event from the log, and the answer");
}

#[test]
fn a_listening_stream_is_resumed_as_one_and_carries_no_answer_http_25_http_26_http_29() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (listening, opened) = host.get();
    let primed = id_of(&opened.events()[0]).to_string();
    changed(&mut host);
    assert_eq!(host.reading[&listening].messages().len(), 1);
    host.leave(listening);
    changed(&mut host);
    host.post(&fixture::request(1, "ping", &json!({})));
    let (again, resumed) = host.resume(&primed);
    let methods: Vec<Value> = resumed.messages().into_iter().map(|mut message| message["method"].take()).collect();
    let notice = "notifications/tools/list_changed";
    assert_eq!((again, methods), (listening, vec![json!(notice), json!(notice)]), "the lost one, and the new one");
    changed(&mut host);
    assert_eq!(host.reading[&listening].messages().len(), 3, "it goes on");
    assert_eq!(host.reading[&listening].ended, None);
}

#[test]
fn news_go_to_the_next_stream_if_the_one_that_was_to_carry_them_cannot_be_resumed_http_29_res_8() {
    let mut policy = Policy::default();
    policy.limits.log_of_session = 2000;
    let mut host = Host::with(Revision::V2025_11_25, policy);
    let (listening, opened) = host.get();
    changed(&mut host);
    host.leave(listening);
    host.post(&call(1));
    (0..40).for_each(|step| host.note(progress(step)));
    changed(&mut host);
    let (_, refused) = host.resume(&id_of(&opened.events()[0]).to_string());
    assert_eq!(refused.status(), 400, "what came after is not kept any more");
    let (next, sent) = host.get();
    assert_eq!(sent.messages().len(), 1, "{}", sent.text);
    host.leave(next);
    assert_eq!(host.get().1.messages().len(), 0, "once");
}

#[test]
fn a_message_goes_to_the_newest_stream_with_a_reader_and_to_no_other_http_25_http_26() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (old, opened) = host.get();
    let (new, _) = host.get();
    changed(&mut host);
    let count = |host: &Host| [old, new].map(|stream| host.reading.get(&stream).map_or(0, |one| one.messages().len()));
    assert_eq!(count(&host), [0, 1]);
    host.leave(new);
    changed(&mut host);
    assert_eq!(count(&host), [1, 0]);
    host.leave(old);
    changed(&mut host);
    let (_, resumed) = host.resume(&id_of(&opened.events()[0]).to_string());
    assert_eq!(resumed.messages().len(), 2, "what the old one was sent, and what waited; nothing of the new one's");
}

#[test]
fn listening_streams_that_were_left_are_bounded_and_so_are_those_that_are_read_http_25() {
    let mut policy = Policy::default();
    policy.limits.listening = 2;
    let mut host = Host::with(Revision::V2025_11_25, policy);
    let left: Vec<String> = (0..5)
        .map(|_| {
            let (stream, opened) = host.get();
            changed(&mut host);
            host.leave(stream);
            id_of(&opened.events()[0]).to_string()
        })
        .collect();
    let (_, finished) = host.resume(&left[0]);
    assert_eq!((finished.status(), finished.messages().len(), finished.ended), (200, 1, Some(Pull::End)));
    let read: Vec<_> = left[3..].iter().map(|id| host.resume(id)).collect();
    assert!(read.iter().all(|(_, resumed)| resumed.status() == 200 && resumed.ended.is_none()));
    assert_eq!(host.get().1.status(), 409);
    host.leave(read[0].0);
    let (one_more, _) = host.get();
    assert_eq!(host.resume(&left[3]).1.status(), 409, "to come back is to open one more");
    host.leave(one_more);
    assert_eq!(host.resume(&left[3]).1.status(), 200);
}

#[test]
fn a_session_that_ends_ends_its_streams_and_nothing_is_resumed_in_it_http_23_http_29() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (stream, _) = host.post(&call(1));
    host.note(progress(1));
    let id = id_of(&host.reading[&stream].events()[0]).to_string();
    host.leave(stream);
    let (listening, _) = host.get();
    host.input(Input::Close(Close::Peer));
    assert_eq!(host.reading[&listening].ended, Some(Pull::End));
    assert_eq!(host.resume(&id).1.status(), 404);
}

#[test]
fn a_stream_without_a_reader_is_broken_by_no_comments_and_lets_its_session_sleep_http_45() {
    let mut host = Host::open(Revision::V2025_11_25);
    let (listening, _) = host.get();
    host.leave(listening);
    assert!(host.session.can_sleep());
    assert!(!matches!(host.session.deadline(), Some((_, Timer::KeepAlive(_)))));
    let before = host.log.bytes();
    host.advance(Span::secs(600));
    assert_eq!(host.log.bytes(), before);
}
