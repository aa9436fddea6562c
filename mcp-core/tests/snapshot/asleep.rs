//! What a driver does for a sleeper while it sleeps, and what the sleeper makes of it when it wakes.

use mcp_core::catalog::{Catalog, Prompt, Resource, Template, Tool};
use mcp_core::{Generations, Handle, KeepAlives};

use super::*;

fn wake_with(asleep: Asleep, listed: Generations, now: Time) -> Session {
    let Asleep { snapshot, keep_alives, .. } = asleep;
    Session::wake(MachineId(1), &snapshot, keep_alives, fixture::endpoint(), listed, now).expect("it wakes")
}

#[test]
fn a_sleeper_says_when_it_must_wake_and_why_and_leaves_its_comments_to_its_driver_http_45() {
    let mut client = open(Revision::V2025_11_25, &json!({"elicitation": {}}));
    let fell = client.now;
    let (listening, _) = client.attach(&[]);
    client.send(&echo(1, &Value::Null));
    client.done(ask(&["one"]));
    let asking = client.stream();
    client.advance(Span::secs(5));
    let mut asleep = fall_asleep(&mut client);
    assert_eq!(asleep.wake_at, Some((fell.after(Span::secs(300)), Timer::Question(CallId(1)))), "comments aside");
    let silences = &mut asleep.keep_alives;
    assert_eq!(silences.streams().collect::<Vec<_>>(), [listening, asking]);
    assert!(silences.contains(asking) && !silences.contains(StreamId(0)) && !silences.is_empty());
    let due = fell.after(Span::secs(15));
    assert_eq!(silences.deadline(), Some(due));
    assert_eq!(silences.due(Time(due.0 - 1)), None);
    assert_eq!(silences.due(due), Some(listening));
    assert_eq!(silences.due(due.after(Span::secs(2))), Some(asking), "late, so its next one is, too");
    assert_eq!((silences.due(due.after(Span::secs(2))), silences.deadline()), (None, Some(due.after(Span::secs(15)))));
    // Awake, it goes on from there.
    client.now = due.after(Span::secs(14));
    client.machine = wake_with(asleep, LISTED, client.now);
    assert_eq!(client.deadline(), Some((due.after(Span::secs(15)), Timer::KeepAlive(listening))));
    client.sent(listening);
    client.sent(asking);
    client.advance(Span::secs(1));
    assert_eq!(client.sent(listening).text.as_bytes(), KeepAlives::COMMENT);
    assert_eq!(client.sent(asking).text, "");
    client.advance(Span::secs(2));
    assert_eq!(client.sent(asking).text.as_bytes(), KeepAlives::COMMENT);
}

#[test]
fn a_sleeper_without_streams_has_no_comments_and_ends_when_it_is_idle() {
    let mut client = open(Revision::V2025_11_25, &json!({}));
    let fell = client.now;
    let asleep = fall_asleep(&mut client);
    assert_eq!(asleep.wake_at, Some((fell.after(Span::secs(7200)), Timer::Idle)));
    assert!(asleep.keep_alives.is_empty() && asleep.keep_alives.deadline().is_none() && asleep.follows.is_empty());

    // A span of nothing means no comments; the streams are open nonetheless.
    let mut silent = super::client(timed(|timing| timing.keep_alive = Span(0)));
    silent.open(Revision::V2025_11_25, &json!({}));
    let (listening, _) = silent.attach(&[]);
    let mut asleep = fall_asleep(&mut silent);
    assert!(asleep.keep_alives.contains(listening));
    assert_eq!((asleep.keep_alives.deadline(), asleep.keep_alives.due(Time::MAX)), (None, None));
}

#[test]
fn one_woken_by_a_mere_timer_is_drowsy_until_its_client_does_something() {
    let mut client = super::client(timed(|timing| timing.ping = Some(Span::secs(100))));
    client.open(Revision::V2025_11_25, &json!({}));
    assert!(!client.machine.is_drowsy());
    client.advance(Span::secs(60));
    assert!(client.machine.is_drowsy() && client.hibernations == 1);
    let Asleep { snapshot, keep_alives, wake_at, .. } = fall_asleep(&mut client);
    let (at, timer) = wake_at.unwrap();
    assert_eq!(timer, Timer::Ping);
    client.now = at;
    let endpoint = fixture::builder().policy(timed(|timing| timing.ping = Some(Span::secs(100)))).build().unwrap();
    client.machine = Session::wake(MachineId(1), &snapshot, keep_alives, endpoint, LISTED, at).unwrap();
    client.input(Input::Tick);
    assert!(client.machine.is_drowsy() && client.machine.can_sleep(), "it goes back to sleep at once");
    assert_eq!(client.hibernations, 1, "and is not told again that it may");
    client.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
    assert!(client.machine.is_drowsy(), "news from the server is nothing that its client does");
    client.send(&fixture::request(1, "ping", &json!({})));
    assert!(!client.machine.is_drowsy());

    // Who was put to sleep early is not woken to be told that it may sleep.
    let early = fall_asleep(&mut client);
    assert_eq!(early.wake_at.map(|(_, timer)| timer), Some(Timer::Ping));
    assert!(wake_with(early, LISTED, client.now).is_drowsy());
}

#[test]
fn lists_that_changed_while_it_slept_are_told_once_if_word_of_them_was_promised_life_12() {
    let promising = fixture::builder().tools(true).prompts(false).resources(true, true).build().unwrap();
    let later = Generations::new(9, 9, 3);
    for listens in [true, false] {
        let mut client = Script::new(Session::new(MachineId(1), Arc::clone(&promising), ID, Time(1_000_000)));
        client.open(Revision::V2025_11_25, &json!({}));
        let early = listens.then(|| client.attach(&[]).0);
        let Asleep { snapshot, keep_alives, .. } = fall_asleep(&mut client);
        let endpoint = Arc::clone(&promising);
        client.machine = Session::wake(MachineId(1), &snapshot, keep_alives, endpoint, later, client.now).unwrap();
        client.input(Input::Tick);
        let (stream, sent) = match early {
            Some(stream) => (stream, client.sent(stream)),
            None => client.attach(&[]),
        };
        let told: Vec<Value> = sent.messages.iter().map(|message| message["method"].clone()).collect();
        assert_eq!(told, ["notifications/tools/list_changed"], "prompts are not promised, resources are as they were");
        // It knows now, also when it sleeps again.
        let other = Session::new(MachineId(9), fixture::endpoint(), ID, client.now);
        let asleep = std::mem::replace(&mut client.machine, other).sleep(later).unwrap();
        client.machine = wake_with(asleep, later, client.now);
        client.input(Input::Tick);
        assert_eq!(client.sent(stream).messages, [] as [Value; 0]);
    }
}

#[test]
fn what_it_follows_is_told_to_its_driver_and_its_assigns_are_kept() {
    let endpoint = || fixture::builder().resources(true, true).build().unwrap();
    let mut client = Script::new(Session::new(MachineId(1), endpoint(), ID, Time(1_000_000)));
    client.open(Revision::V2025_11_25, &json!({}));
    client.send(&fixture::request(1, "resources/subscribe", &json!({"uri": "notes://today"})));
    client.send(&fixture::request(2, "resources/subscribe", &json!({"uri": "notes://logo.png"})));
    let asleep = fall_asleep(&mut client);
    assert_eq!(asleep.follows, ["notes://logo.png".into(), "notes://today".into()] as [Box<str>; 2]);
    let woken = wake_with(asleep, LISTED, client.now);
    assert_eq!(woken.assigns(), b"");
}

#[test]
fn a_generation_is_that_of_its_list_alone_and_the_same_after_a_restart() {
    let schema = r#"{"type":"object"}"#;
    let of = |builder: mcp_core::catalog::Builder| builder.build().unwrap().generations();
    let none = of(Catalog::builder());
    assert_eq!(none, of(Catalog::builder()));
    let added = [
        (of(Catalog::builder().tool(Tool::new("a", Handle(1), schema))), Change::Tools),
        (of(Catalog::builder().prompt(Prompt::new("a", Handle(1)))), Change::Prompts),
        (of(Catalog::builder().resource(Resource::new("a://b", "a", Handle(1)))), Change::Resources),
        (of(Catalog::builder().template(Template::new("a://{b}", "a", Handle(1)))), Change::Resources),
    ];
    for (with, changed) in added {
        for what in Change::ALL {
            assert_eq!(with.of(what) != none.of(what), what == changed, "{what:?} of {changed:?}");
        }
    }
    assert_ne!(added[2].0, added[3].0, "a resource is no template");
    let titled = of(Catalog::builder().tool(Tool::new("a", Handle(1), schema).with_title("A")));
    assert_ne!(titled, added[0].0);
    assert_eq!(of(Catalog::builder().tool(Tool::new("a", Handle(2), schema))), added[0].0, "a handle is not listed");
}

#[test]
fn a_wake_with_comments_for_streams_that_it_does_not_have_does_no_harm() {
    let mut client = open(Revision::V2025_11_25, &json!({}));
    client.attach(&[]);
    let stranger = fall_asleep(&mut client).keep_alives;
    let mut client = open(Revision::V2025_11_25, &json!({}));
    let mut asleep = fall_asleep(&mut client);
    asleep.keep_alives = stranger;
    client.machine = wake_with(asleep, LISTED, client.now);
    assert_eq!(client.deadline().map(|(_, timer)| timer), Some(Timer::Idle));
}
