//! Many sessions, in simulated time: caps, deadlines, and who is woken when.

use std::sync::Arc;

use mcp_core::policy::{Limits, Policy};
use mcp_core::{
    Asleep, Caller, Contact, Due, Endpoint, Input, Principal, Revision, Roster, Scopes, Session, SessionId, Sleeper,
    Span, StreamId, Time, Timer,
};
use serde_json::json;
use testkit::{Script, fixture};

#[path = "roster/memory.rs"]
mod memory;
#[path = "roster/model.rs"]
mod model;

const T0: Time = Time(1_700_000_000_000);
const KEEP_ALIVE: Span = Span::secs(15);
const IDLE: Span = Span::secs(7200);
/// Those woken in one batch, and from one batch to the next: as the roster has them.
const BATCH: usize = 256;
const PAUSE: Span = Span::millis(100);

fn id(n: u32) -> SessionId {
    let mut bytes = [0xA5; 16];
    bytes[..4].copy_from_slice(&n.to_le_bytes());
    SessionId::new(bytes)
}

fn limited(change: impl FnOnce(&mut Limits)) -> Roster {
    let mut policy = Policy::default();
    change(&mut policy.limits);
    Roster::new(&policy)
}

fn caller(name: &str) -> Caller {
    if name.is_empty() { Caller::anonymous() } else { Caller::new(name, Scopes::default()) }
}

/// A real session that has just gone to sleep.
fn asleep(endpoint: &Arc<Endpoint>, session: SessionId, name: &str, streams: usize, now: Time) -> Asleep {
    let mut client = Script::new(Session::new(mcp_core::MachineId(1), Arc::clone(endpoint), session, now));
    client.now = now;
    client.caller = caller(name);
    client.open(Revision::V2025_11_25, &json!({}));
    for _ in 0..streams {
        client.attach(&[]);
    }
    let other = Session::new(mcp_core::MachineId(9), Arc::clone(endpoint), session, now);
    std::mem::replace(&mut client.machine, other).sleep(fixture::catalog().generations()).expect("it is quiet")
}

/// A session of somebody, without streams, that is idle.
fn plain(n: u32, name: &str, now: Time) -> Asleep {
    asleep(&fixture::endpoint(), id(n), name, 0, now)
}

/// One that listens on so many streams.
fn listening(n: u32, streams: usize, now: Time) -> Asleep {
    asleep(&fixture::endpoint(), id(n), "", streams, now)
}

/// Takes sleepers in, each as its maker says.
fn put_to_sleep(roster: &mut Roster, numbers: impl IntoIterator<Item = u32>, make: impl Fn(u32) -> Asleep, now: Time) {
    for n in numbers {
        roster.admit(id(n), None).unwrap();
        roster.established(id(n));
        roster.sleep(id(n), make(n), now).unwrap();
    }
}

fn woken(contact: Contact) -> Sleeper {
    match contact {
        Contact::Wake(sleeper) => sleeper,
        other => panic!("{other:?}"),
    }
}

/// Everything that is due, as `kind session`; streams of comments are left out.
fn due(roster: &mut Roster, now: Time) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(due) = roster.poll_due(now) {
        let (kind, session) = match due {
            Due::Tick(session) => ("tick", session),
            Due::Wake(session, _) => ("wake", session),
            Due::Expired(session) => ("expired", session),
            Due::KeepAlive(session, _) => ("comment", session),
        };
        let [a, b, c, d, ..] = session.bytes();
        all.push(format!("{kind} {}", u32::from_le_bytes([a, b, c, d])));
    }
    assert!(
        roster.deadline().is_none_or(|at| at > now),
        "whoever asked until the end has time until the next deadline"
    );
    all
}

/// Looks whenever the roster wants to be looked at, until then, and says when what was due.
fn run(roster: &mut Roster, until: Time) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    let mut looks = 0;
    while let Some(at) = roster.deadline().map(|at| at.max(T0)).filter(|at| *at <= until) {
        all.extend(due(roster, at).into_iter().map(|what| (at.since(T0).0, what)));
        looks += 1;
        assert!(looks < 100_000, "it wants to be looked at all the time");
    }
    all
}

fn refused(result: Result<(), mcp_core::Fault>) -> String {
    let fault = result.unwrap_err();
    assert_eq!(fault.status(), 503);
    fault.message().to_owned()
}

#[test]
fn a_full_roster_refuses_with_503_and_keeps_those_it_has() {
    let mut roster = limited(|limits| limits.sessions = 1);
    assert!(roster.admit(id(1), None).is_ok());
    assert!(refused(roster.admit(id(2), None)).starts_with("Too many sessions: "));
    assert_eq!((roster.len(), roster.live()), (1, 1));
    roster.remove(id(1));
    assert!(roster.admit(id(2), None).is_ok());
    assert!(roster.admit(id(2), None).is_err(), "no two sessions have one id");
}

#[test]
fn one_principal_takes_no_more_than_its_share_and_gets_it_back() {
    let (ann, bob) = (Principal::from("ann"), Principal::from("bob"));
    let mut roster = limited(|limits| (limits.sessions, limits.sessions_each) = (10, 2));
    assert!(roster.admit(id(1), Some(&ann)).is_ok());
    assert!(roster.admit(id(2), Some(&ann)).is_ok());
    assert!(refused(roster.admit(id(3), Some(&ann))).starts_with("You have"));
    roster.sleep(id(2), plain(2, "ann", T0), T0).unwrap();
    assert!(roster.admit(id(3), Some(&ann)).is_err(), "one that sleeps counts");
    assert!(roster.admit(id(4), Some(&bob)).is_ok(), "the others are not held back");
    (5..9).for_each(|n| assert!(roster.admit(id(n), None).is_ok(), "nobody's share is that of all"));
    roster.remove(id(1));
    roster.remove(id(1));
    assert!(roster.admit(id(3), Some(&ann)).is_ok());
    assert!(roster.admit(id(1), Some(&ann)).is_err(), "and it was given back once");
    roster.remove(id(2));
    assert!(roster.admit(id(1), Some(&ann)).is_ok(), "a sleeper gives it back too");
    (1..9).for_each(|n| roster.remove(id(n)));
    assert!(roster.is_empty());
}

#[test]
fn arming_moves_a_deadline_to_earlier_times_only_until_it_fell_due() {
    let mut roster = limited(|_| {});
    roster.admit(id(1), None).unwrap();
    roster.admit(id(2), None).unwrap();
    assert!(roster.arm(id(1), Time(50)));
    assert!(!roster.arm(id(1), Time(90)));
    assert!(roster.arm(id(2), Time(20)));
    assert!(!roster.arm(id(3), Time(1)), "nobody");
    assert_eq!(roster.deadline(), Some(Time(20)));
    assert_eq!(roster.quietest().count(), 0, "who is still opening is not put to sleep");
    roster.established(id(1));
    roster.established(id(2));
    assert_eq!(roster.quietest().collect::<Vec<_>>(), [id(2), id(1)]);
    assert!(due(&mut roster, Time(19)).is_empty());
    assert_eq!(due(&mut roster, Time(50)), ["tick 2", "tick 1"]);
    assert!(roster.arm(id(1), Time(90)));
    roster.remove(id(1));
    assert_eq!(roster.deadline(), None);
}

#[test]
fn a_flood_of_handshakes_takes_the_seats_of_none_who_is_there_and_of_none_who_wakes() {
    let mut roster = limited(|limits| (limits.sessions, limits.sessions_opening) = (100, 20));
    put_to_sleep(&mut roster, 0..5, |n| plain(n, "", T0), T0);
    for n in 100..120 {
        roster.admit(id(n), None).unwrap();
    }
    assert!(refused(roster.admit(id(120), None)).contains("being opened"));
    roster.remove(id(119));
    roster.established(id(118));
    roster.established(id(118));
    assert!(roster.admit(id(120), None).is_ok() && roster.admit(id(121), None).is_ok());
    assert!(roster.admit(id(122), None).is_err(), "one seat for each that was given back");
    // Those that were established share nine tenths with them.
    (100..122).for_each(|n| roster.established(id(n)));
    let more = (200..400).filter(|n| {
        let seated = roster.admit(id(*n), None).is_ok();
        roster.established(id(*n));
        seated
    });
    assert_eq!((more.count(), roster.live()), (69, 90));
    assert!(refused(roster.admit(id(400), None)).starts_with("Too many sessions: "));
    for n in 0..5 {
        woken(roster.contact(id(n), &caller("")));
    }
    for n in 500..505 {
        roster.adopt(id(n), None).unwrap();
    }
    assert_eq!((roster.live(), roster.asleep()), (100, 0));
    roster.sleep(id(200), plain(200, "", T0), T0).unwrap();
    roster.adopt(id(505), None).unwrap();
    assert!(refused(roster.adopt(id(506), None)).contains("yours is kept"));
    assert!(matches!(roster.contact(id(200), &caller("")), Contact::Full(fault) if fault.status() == 503));
    assert_eq!(roster.asleep(), 1, "it sleeps on");
}

#[test]
fn who_has_not_come_back_after_the_handshake_counts_as_opening_also_asleep() {
    let mut roster = limited(|limits| limits.sessions_opening = 2);
    for n in [1, 2] {
        roster.admit(id(n), None).unwrap();
        let mut asleep = plain(n, "", T0);
        asleep.wake_at = Some((T0.after(Span::secs(30)), Timer::Opening));
        roster.sleep(id(n), asleep, T0).unwrap();
    }
    assert!(roster.admit(id(3), None).is_err());
    woken(roster.contact(id(1), &caller("")));
    assert!(roster.admit(id(3), None).is_ok(), "now it has come back");
    assert!(roster.admit(id(4), None).is_err());
    assert_eq!(run(&mut roster, T0.after(IDLE)), [(30_000, "expired 2".into())]);
    assert!(roster.admit(id(4), None).is_ok());
}

#[test]
fn beds_are_counted_too_and_who_finds_none_comes_back_whole() {
    let mut roster = limited(|limits| (limits.sessions_asleep, limits.sessions_asleep_bytes) = (2, 1200));
    (1..=4).for_each(|n| roster.admit(id(n), None).unwrap());
    roster.sleep(id(1), plain(1, "", T0), T0).unwrap();
    assert!(roster.has_room_to_sleep());
    let mut follower = plain(2, "", T0);
    follower.follows = vec!["x".repeat(1000).into()];
    let back = roster.sleep(id(2), follower, T0).unwrap_err();
    assert_eq!((back.follows.len(), back.snapshot.session()), (1, Some(id(2))), "too many bytes");
    roster.sleep(id(2), plain(2, "", T0), T0).unwrap();
    assert!(!roster.has_room_to_sleep());
    assert!(roster.sleep(id(3), plain(3, "", T0), T0).is_err());
    assert_eq!((roster.live(), roster.asleep()), (2, 2));
    assert!(refused(roster.admit(id(5), None)).contains("kept"));
    roster.remove(id(2));
    assert!(roster.admit(id(5), None).is_ok());
    assert!(roster.sleep(id(9), plain(9, "", T0), T0).is_err(), "nobody");
    roster.remove(id(1));
    assert_eq!(roster.bytes(), 0);
}

#[test]
fn a_sleeper_exists_for_its_own_principal_alone_and_is_not_woken_to_ask_http_21() {
    let mut roster = limited(|_| {});
    for (n, name) in [(1, "ann"), (2, "")] {
        let caller = caller(name);
        roster.admit(id(n), caller.principal.as_ref()).unwrap();
        let asleep = plain(n, name, T0);
        roster.sleep(id(n), asleep, T0).unwrap();
    }
    for (n, name) in [(1, ""), (1, "bob"), (1, "an"), (1, "annn"), (2, "ann"), (3, "ann"), (3, "")] {
        assert!(matches!(roster.contact(id(n), &caller(name)), Contact::Unknown), "{n} {name}");
    }
    assert_eq!(roster.asleep(), 2);
    let snapshot = plain(1, "ann", T0).snapshot;
    assert_eq!(woken(roster.contact(id(1), &caller("ann"))).snapshot, snapshot, "as it went to sleep");
    assert!(matches!(roster.contact(id(1), &caller("ann")), Contact::Live), "woken once, whoever comes");
    woken(roster.contact(id(2), &caller("")));
    assert_eq!((roster.live(), roster.asleep(), roster.bytes()), (2, 0, 0));
}

#[test]
fn sleepers_expire_unwoken_each_at_its_millisecond() {
    let mut roster = limited(|_| {});
    // In no order, some within one second, some of them long ago.
    let spans = [7_200_000, 1, 3_600_000, 3_600_001, 3_600_000, 90_000_000, 0, 1023, 1024, 1025];
    for (n, span) in (0..).zip(spans) {
        let make = |n| {
            let mut asleep = plain(n, "", T0);
            asleep.wake_at = Some((T0.after(Span(span)), Timer::Idle));
            asleep
        };
        put_to_sleep(&mut roster, [n], make, T0);
    }
    let mut expected: Vec<(u64, u32)> = spans.into_iter().zip(0..).collect();
    expected.sort_unstable();
    let expired = run(&mut roster, T0.after(Span::secs(100_000)));
    let texts: Vec<_> = expected.into_iter().map(|(span, n)| (span, format!("expired {n}"))).collect();
    assert_eq!(expired, texts);
    assert!(matches!(roster.contact(id(1), &caller("")), Contact::Unknown));
    assert!(roster.is_empty() && roster.bytes() == 0);
}

#[test]
fn other_deadlines_wake_a_sleeper_and_wait_for_a_seat() {
    let mut roster = limited(|limits| limits.sessions = 3);
    let make = |n| {
        let mut asleep = plain(n, "", T0);
        asleep.wake_at = Some((T0.after(Span::secs(u64::from(n))), Timer::Ping));
        asleep
    };
    put_to_sleep(&mut roster, 1..=4, make, T0);
    assert_eq!(
        run(&mut roster, T0.after(Span::secs(3))),
        [(1000, "wake 1".into()), (2000, "wake 2".into()), (3000, "wake 3".into())]
    );
    assert_eq!(run(&mut roster, T0.after(Span::secs(10))), [], "no seat is left");
    assert_eq!((roster.live(), roster.asleep()), (3, 1));
    roster.remove(id(1));
    let later = T0.after(Span::secs(11));
    assert_eq!(due(&mut roster, later), ["wake 4"]);
    assert_eq!(roster.deadline(), None);
}

#[test]
fn comments_keep_the_streams_of_a_sleeper_open_and_do_not_wake_it_http_45() {
    let mut roster = limited(|_| {});
    put_to_sleep(&mut roster, [1], |n| listening(n, 2, T0), T0);
    put_to_sleep(&mut roster, [2], |n| plain(n, "", T0), T0);
    let said = run(&mut roster, T0.after(IDLE));
    let comments = said.iter().filter(|(at, what)| what == "comment 1" && at % KEEP_ALIVE.0 == 0);
    assert_eq!(comments.count(), 2 * 480, "both streams, each 15 s, for two hours");
    assert_eq!(said[said.len() - 2..].iter().map(|(at, _)| *at).collect::<Vec<_>>(), [IDLE.0; 2]);
    assert!(roster.is_empty() && roster.live() == 0);
}

#[test]
fn news_of_the_lists_wakes_who_listens_in_paced_batches_and_nobody_else() {
    let mut roster = limited(|_| {});
    put_to_sleep(&mut roster, 0..600, |n| listening(n, 1, T0), T0);
    put_to_sleep(&mut roster, 600..700, |n| plain(n, "", T0), T0);
    roster.changed();
    roster.changed();
    let said = run(&mut roster, T0.after(Span::secs(10)));
    assert_eq!(said.len(), 600, "each once");
    for (index, (_, what)) in said.iter().enumerate() {
        let number: usize = what.strip_prefix("wake ").expect("woken").parse().unwrap();
        assert!(number < 600 && index / BATCH <= said.len() / BATCH);
    }
    let mut batches: Vec<u64> = said.iter().map(|(at, _)| *at).collect();
    batches.dedup();
    assert_eq!(batches.len(), 3);
    assert!(batches.windows(2).all(|pair| pair[1] - pair[0] == PAUSE.0), "{batches:?}");
    assert_eq!(roster.asleep(), 100);
}

#[test]
fn who_goes_to_sleep_after_the_news_is_not_woken_for_it_and_news_on_the_way_reaches_all() {
    let mut roster = limited(|_| {});
    put_to_sleep(&mut roster, 0..300, |n| listening(n, 1, T0), T0);
    roster.changed();
    let woken = due(&mut roster, T0).len();
    assert_eq!(woken, BATCH);
    // All that were woken are told, and go back to sleep; then the lists change again, before the rest was told of the first.
    for n in 0..300 {
        if matches!(roster.contact(id(n), &caller("")), Contact::Wake(_) | Contact::Live) {
            roster.sleep(id(n), listening(n, 1, T0), T0).unwrap();
        }
    }
    assert_eq!(run(&mut roster, T0.after(Span::secs(5))), [], "they know");
    roster.changed();
    let first: Vec<_> = due(&mut roster, T0.after(Span::secs(6)));
    roster.changed();
    for what in &first {
        let n = what["wake ".len()..].parse().unwrap();
        roster.sleep(id(n), listening(n, 1, T0), T0).unwrap();
    }
    assert_eq!(first.len(), BATCH);
    roster.changed();
    let rest = run(&mut roster, T0.after(Span::secs(14)));
    assert_eq!(rest.len(), 300, "those of the first batch once more, the others once: {rest:?}");
}

#[test]
fn news_of_a_resource_reaches_those_who_follow_it_when_they_wake_and_wakes_who_listens() {
    let mut roster = limited(|_| {});
    let follow = |mut asleep: Asleep, uris: &[&str]| {
        asleep.follows = uris.iter().map(|uri| (*uri).into()).collect();
        asleep
    };
    put_to_sleep(&mut roster, [1], |n| follow(plain(n, "", T0), &["a:1", "a:2", "a:3"]), T0);
    put_to_sleep(&mut roster, [2], |n| follow(listening(n, 1, T0), &["a:2", "a:4"]), T0);
    put_to_sleep(&mut roster, [3], |n| listening(n, 1, T0), T0);
    for uri in ["a:1", "a:3", "a:1", "b:1"] {
        roster.updated(uri);
    }
    assert_eq!(due(&mut roster, T0), Vec::<String>::new());
    roster.updated("a:2");
    let Some(Due::Wake(session, sleeper)) = roster.poll_due(T0) else { panic!("it listens") };
    assert_eq!((session, &sleeper.updated[..]), (id(2), &["a:2".into()][..]));
    assert!(!sleeper.keep_alives.is_empty());
    assert_eq!(due(&mut roster, T0), Vec::<String>::new());
    assert_eq!(woken(roster.contact(id(1), &caller(""))).updated, ["a:1".into(), "a:2".into(), "a:3".into()]);
    // Nothing of before is told to who follows it anew.
    roster.sleep(id(1), follow(plain(1, "", T0), &["a:1"]), T0).unwrap();
    assert_eq!(woken(roster.contact(id(1), &caller(""))).updated, []);
    assert_eq!(
        roster.bytes(),
        {
            roster.remove(id(3));
            roster.bytes()
        } + before(&listening(3, 1, T0))
    );
}

/// What one with an open stream counts for.
fn before(asleep: &Asleep) -> usize {
    asleep.snapshot.as_bytes().len() + 96 + 256
}

#[test]
fn a_reader_that_goes_is_told_to_its_session_when_that_wakes_and_it_wakes_soon() {
    let mut roster = limited(|_| {});
    put_to_sleep(&mut roster, [1], |n| listening(n, 2, T0), T0);
    put_to_sleep(&mut roster, [2], |n| plain(n, "", T0), T0);
    let streams: Vec<StreamId> = {
        let mut keep_alives = listening(1, 2, T0).keep_alives;
        std::iter::from_fn(|| keep_alives.due(T0.after(KEEP_ALIVE))).take(2).collect()
    };
    assert!(roster.detach(id(1), streams[0]) && roster.detach(id(1), streams[0]));
    assert!(roster.detach(id(1), StreamId(99)), "a stream that nobody reads");
    assert!(roster.detach(id(2), streams[0]));
    assert!(!roster.detach(id(7), streams[0]));
    let Some(Due::Wake(session, sleeper)) = roster.poll_due(T0) else { panic!("it is to be woken") };
    assert_eq!((session, &sleeper.detached[..]), (id(1), &streams[..1]));
    assert!(roster.poll_due(T0).is_none() && !roster.detach(id(1), streams[1]), "the session's own from now on");
    roster.rouse(id(1));
    roster.rouse(id(2));
    roster.rouse(id(2));
    assert_eq!(due(&mut roster, T0.after(PAUSE)), ["wake 2"]);
}

#[test]
fn news_leaves_the_seats_to_clients_that_come() {
    let mut roster = limited(|limits| limits.sessions = 10);
    put_to_sleep(&mut roster, 0..20, |n| listening(n, 1, T0), T0);
    roster.changed();
    assert_eq!(run(&mut roster, T0.after(Span::secs(5))).len(), 9);
    assert_eq!((roster.live(), roster.asleep()), (9, 11));
    let asleep = (0..20).find(|n| matches!(roster.contact(id(*n), &caller("")), Contact::Wake(_)));
    assert!(asleep.is_some());
    for n in 0..20 {
        roster.remove(id(n));
    }
    assert!(roster.is_empty() && roster.bytes() == 0 && roster.deadline().is_none_or(|at| at > T0));
    assert!(due(&mut roster, T0.after(Span::secs(6))).is_empty());
    assert_eq!(roster.deadline(), None, "nothing is left to be done for who has gone");
}

#[test]
fn a_driver_that_stops_takes_the_sleepers_along() {
    let mut roster = limited(|_| {});
    put_to_sleep(&mut roster, 0..10, |n| plain(n, "", T0), T0);
    let mut all: Vec<SessionId> = std::iter::from_fn(|| roster.pop_sleeper()).map(|(session, _)| session).collect();
    all.sort_unstable();
    assert_eq!(all, (0..10).map(id).collect::<Vec<_>>());
    assert!(roster.is_empty() && roster.deadline().is_none());
}

#[test]
fn what_the_roster_gives_back_wakes_as_if_it_never_slept() {
    let endpoint = fixture::endpoint();
    let mut roster = limited(|_| {});
    put_to_sleep(&mut roster, [1], |n| asleep(&endpoint, id(n), "", 1, T0), T0);
    let Sleeper { snapshot, keep_alives, .. } = woken(roster.contact(id(1), &caller("")));
    let mut session =
        Session::wake(mcp_core::MachineId(1), &snapshot, keep_alives, endpoint, fixture::catalog().generations(), T0)
            .expect("it wakes");
    let _ = mcp_core::Machine::poll_output(&mut session);
    mcp_core::Machine::handle(&mut session, T0, Input::Tick);
    assert!(session.can_sleep());
}
