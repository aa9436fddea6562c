//! Word of changes goes to who sees what changed, by what is kept of them when it does (SUB-9).

use mcp_core::{Asleep, Caller, Generations, Input, StreamId};

use super::*;

const SECRET: &str = "notes://today";
const OPEN: &str = "notes://7";

fn listen(id: u64) -> Value {
    let asked = json!({"notifications": {"resourceSubscriptions": [SECRET, OPEN]}});
    fixture::modern(id, "subscriptions/listen", &asked, &json!({}))
}

fn update<M: Machine>(script: &mut Script<M>) {
    let view = script.view.clone();
    for uri in [SECRET, OPEN] {
        script.input(Input::Updated { uri, view: &view });
    }
}

/// The URIs that were honoured, or of which there was word, each with whom it was for.
fn told(sent: &Sent) -> Vec<(u64, String)> {
    let uris = |message: &Value| {
        let id = message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_u64().unwrap_or(0);
        let honoured = message["params"]["notifications"]["resourceSubscriptions"].as_array().cloned();
        let uris = honoured.unwrap_or_else(|| vec![message["params"]["uri"].clone()]);
        uris.into_iter().map(move |uri| (id, uri.as_str().unwrap().to_owned())).collect::<Vec<_>>()
    };
    sent.messages.iter().flat_map(uris).collect()
}

fn of(id: u64, uris: &[&str]) -> Vec<(u64, String)> {
    uris.iter().map(|uri| (id, (*uri).to_owned())).collect()
}

#[test]
fn a_modern_listener_hears_of_what_its_assigns_let_see_sub_9_sub_2() {
    for (who, seen) in [("ann", [OPEN, SECRET].as_slice()), ("bob", &[OPEN])] {
        let mut script = exchange();
        script.send(&listen(1));
        assert!(script.claims.is_empty(), "no room is asked for before");
        script.done(let_in(who));
        assert_eq!(told(&script.received()), of(1, seen), "{who} is told what is honoured");
        update(&mut script);
        let mut heard = told(&script.received());
        heard.sort();
        assert_eq!(heard, of(1, seen), "{who} is told what has changed");
    }
}

#[test]
fn what_is_kept_of_a_listener_counts_as_room_that_it_takes_sub_14() {
    let room = |who: &str| {
        let mut script = exchange();
        script.send(&listen(1));
        script.done(let_in(who));
        script.claims[0].bytes
    };
    assert_eq!(room(&"b".repeat(1000)) - room("b"), 999);
}

#[test]
fn several_on_one_byte_stream_hear_each_by_its_own_assigns_sub_7_sub_9() {
    let mut script = open(pipe(), Revision::V2025_11_25, "bob");
    for (id, who, seen) in [(1, "ann", [OPEN, SECRET].as_slice()), (2, "bob", &[OPEN])] {
        script.send(&listen(id));
        script.done(let_in(who));
        assert_eq!(told(&script.received()), of(id, seen));
    }
    let subscribe = |uri| fixture::request(5, "resources/subscribe", &json!({"uri": uri}));
    assert_eq!((script.send(&subscribe(SECRET)).code(), script.send(&subscribe(OPEN)).code()), (-32002, 0));
    update(&mut script);
    let mut heard = told(&script.received());
    heard.sort();
    assert_eq!(heard, [of(0, &[OPEN]), of(1, &[OPEN, SECRET]), of(2, &[OPEN])].concat());
}

fn get<M: Machine>(script: &mut Script<M>) -> StreamId {
    script.attach(&[("accept", "text/event-stream")]).0
}

#[test]
fn a_session_that_sees_less_than_when_it_subscribed_is_told_no_more_sub_9_res_7() {
    let mut script = open(session(builder()), Revision::V2025_11_25, "ann");
    for uri in [SECRET, OPEN] {
        assert_eq!(script.send(&fixture::request(1, "resources/subscribe", &json!({"uri": uri}))).code(), 0);
    }
    let stream = get(&mut script);
    script.send(&fixture::request(2, "tools/call", &json!({"name": "echo"})));
    for (who, heard) in [("ann", [SECRET, OPEN].as_slice()), ("bob", &[OPEN]), ("ann", &[SECRET, OPEN])] {
        script.note(Note::Assigns(Bytes::from_static(who.as_bytes())));
        update(&mut script);
        assert_eq!(told(&script.sent(stream)), of(0, heard), "{who}");
    }
}

#[test]
fn one_that_slept_sees_by_the_assigns_that_slept_with_it_sub_9() {
    for (who, heard) in [("ann", [SECRET, OPEN].as_slice()), ("bob", &[OPEN])] {
        let endpoint = builder().build().unwrap();
        let fresh = || Session::new(MachineId(1), Arc::clone(&endpoint), SessionId::new([7; 16]), START);
        let mut script = Script::new(fresh());
        script.view = view();
        let mut script = open(script, Revision::V2025_11_25, "ann");
        for uri in [SECRET, OPEN] {
            script.send(&fixture::request(1, "resources/subscribe", &json!({"uri": uri})));
        }
        script.send(&fixture::request(2, "tools/call", &json!({"name": "echo"})));
        script.note(Note::Assigns(Bytes::from_static(who.as_bytes())));
        let call = testkit::done(&script.calls.front().unwrap().1);
        script.done(call);

        let listed = Generations::default();
        let Asleep { snapshot, keep_alives, .. } =
            std::mem::replace(&mut script.machine, fresh()).sleep(listed).expect("it is quiet");
        let woken = Session::wake(MachineId(1), &snapshot, keep_alives, Arc::clone(&endpoint), listed, script.now);
        script.machine = woken.expect("it wakes");
        assert_eq!(script.machine.subscriber(SECRET), Some(&Caller::anonymous()), "its view is asked for");
        // What changed while it slept, as its driver says when it wakes.
        update(&mut script);
        let (_, sent) = script.attach(&[("accept", "text/event-stream")]);
        let mut told = told(&sent);
        told.sort();
        let mut heard = of(0, heard);
        heard.sort();
        assert_eq!(told, heard, "{who}");
        let sent = script.send(&fixture::request(3, "prompts/get", &json!({"name": "greet"})));
        let missing = sent.one()["error"]["message"].as_str().unwrap().contains("Missing required arguments");
        assert_eq!(missing, who == "ann", "{}", sent.text);
    }
}
