//! The event log by itself: bounds, expiry, and that nothing of another stream or session ever comes out of it.

use std::collections::BTreeMap;

use mcp_core::policy::Policy;
use mcp_core::{EventId, EventLog, SessionId, Span, StreamId, Time};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};

fn log(log_of_session: usize, log: usize, resume: Span) -> EventLog {
    let mut policy = Policy::default();
    (policy.limits.log_of_session, policy.limits.log, policy.timing.resume) = (log_of_session, log, resume);
    EventLog::new(&policy)
}

fn session(n: u8) -> SessionId {
    SessionId::new([n; 16])
}

fn event(stream: u64, number: u64) -> EventId {
    EventId { stream: StreamId(stream), number }
}

/// An event that says whose it is.
fn framed(session: u8, id: EventId, size: usize) -> String {
    format!("id: {id}\ndata: \"{session} {id} {}\"\n\n", "x".repeat(size))
}

#[test]
fn what_is_no_event_of_a_machine_is_not_kept_http_29() {
    let mut log = log(1 << 20, 1 << 20, Span::secs(1));
    for other in [": \n\n", "retry: 5\n\n", "data: {}\n\n", "id: x\ndata: {}\n\n", "id: 03-1\n\n", "{}", "", "id: 3-1"]
    {
        assert_eq!(log.append(session(1), other.as_bytes()), None, "{other:?}");
    }
    assert_eq!((log.bytes(), log.deadline()), (0, None));
}

#[test]
fn a_stream_that_has_sent_its_first_event_costs_no_room_as_nothing_comes_before_it() {
    let mut log = log(1000, 1000, Span::secs(1));
    log.append(session(1), framed(1, event(1, 1), 5000).as_bytes());
    assert_eq!((log.bytes(), log.can_resume(session(1), event(1, 1))), (0, true));
    log.end(session(1), StreamId(1), Time(1));
    assert_eq!((log.deadline(), log.can_resume(session(1), event(1, 1))), (None, false));
}

#[test]
fn a_number_that_comes_again_changes_nothing_and_one_that_is_left_out_makes_no_gap_http_29() {
    let mut log = log(1 << 20, 1 << 20, Span::secs(1));
    for number in [1, 2] {
        log.append(session(1), framed(1, event(3, number), 0).as_bytes());
    }
    log.append(session(1), b"id: 3-2\ndata: other\n\n");
    assert_eq!(log.after(session(1), event(3, 1)).unwrap().1, framed(1, event(3, 2), 0));
    log.append(session(1), framed(1, event(3, 4), 0).as_bytes());
    assert!(!log.can_resume(session(1), event(3, 1)) && !log.can_resume(session(1), event(3, 2)));
    assert_eq!(log.after(session(1), event(3, 2)), None);
    assert!(log.can_resume(session(1), event(3, 3)) && log.can_resume(session(1), event(3, 4)));
}

#[test]
fn one_large_session_takes_nothing_from_the_others_until_all_is_full_http_29() {
    let mut log = log(10_000, 100_000, Span::secs(1));
    for number in [1, 2] {
        log.append(session(1), framed(1, event(1, number), 100).as_bytes());
    }
    for number in 1..=1000 {
        log.append(session(2), framed(2, event(1, number), 1000).as_bytes());
    }
    assert!(log.bytes() <= 10_800, "{}", log.bytes());
    assert!(
        log.can_resume(session(1), event(1, 1))
            && log.after(session(1), event(1, 1)).is_some()
            && log.after(session(2), event(1, 999)).is_some()
    );
    for other in 3..=200 {
        for number in 1..=9 {
            log.append(session(other), framed(other, event(1, number), 900).as_bytes());
        }
    }
    assert!(log.bytes() <= 100_000, "{}", log.bytes());
    assert_eq!(log.after(session(2), event(1, 999)), None, "the oldest go first");
    assert!(log.after(session(200), event(1, 1)).is_some());
}

#[test]
fn an_event_that_is_larger_than_all_the_room_is_a_gap_that_nobody_jumps_over() {
    let mut log = log(1000, 1000, Span::secs(1));
    for (number, size) in [(1, 10), (2, 10), (3, 5000)] {
        log.append(session(1), framed(1, event(1, number), size).as_bytes());
    }
    assert_eq!((log.bytes(), log.can_resume(session(1), event(1, 1))), (0, false));
    assert!(!log.can_resume(session(1), event(1, 2)));
    assert!(log.can_resume(session(1), event(1, 3)), "it goes on after it");
}

#[test]
fn a_finished_stream_goes_when_its_time_has_passed_and_a_running_one_stays_http_29() {
    let mut log = log(1 << 20, 1 << 20, Span::secs(60));
    for stream in [1, 2] {
        for number in [1, 2] {
            log.append(session(1), framed(1, event(stream, number), 0).as_bytes());
        }
    }
    log.end(session(1), StreamId(1), Time(5_000));
    log.end(session(1), StreamId(1), Time(50_000));
    assert_eq!(log.deadline(), Some(Time(65_000)), "it ends once");
    log.expire(Time(64_999));
    assert!(log.can_resume(session(1), event(1, 1)));
    log.expire(Time(65_000));
    assert!(!log.can_resume(session(1), event(1, 1)));
    assert!(log.can_resume(session(1), event(2, 1)) && log.can_resume(session(1), event(2, 2)));
    log.forget(session(1));
    assert_eq!((log.bytes(), log.deadline(), log.can_resume(session(1), event(2, 1))), (0, None, false));
}

#[test]
fn a_session_that_another_driver_goes_on_with_finds_what_it_has_sent_and_nothing_else_http_29() {
    let mut log = log(1 << 20, 1 << 20, Span::secs(60));
    for stream in 1..=4 {
        for number in 1..=4 {
            log.append(session(1), framed(1, event(stream, number), 0).as_bytes());
        }
    }
    log.append(session(2), framed(2, event(4, 1), 0).as_bytes());
    log.end(session(1), StreamId(1), Time(1));
    log.end(session(1), StreamId(2), Time(1));
    assert!(log.ended_with(session(1), event(1, 4)) && !log.ended_with(session(1), event(1, 3)));
    // Stream 1 had ended, 2 and 3 are open, of which the last two events were never sent, and 4 was never opened.
    for _ in 0..2 {
        log.truncate(session(1), &[event(2, 2), event(3, 2)], StreamId(4));
        assert!(log.ended_with(session(1), event(1, 4)) && log.can_resume(session(1), event(1, 3)));
        assert!(log.can_resume(session(1), event(2, 2)) && !log.can_resume(session(1), event(2, 3)));
        assert!(log.after(session(1), event(3, 1)).is_some() && log.after(session(1), event(3, 2)).is_none());
        assert!(!log.can_resume(session(1), event(4, 1)) && log.can_resume(session(2), event(4, 1)));
    }
    assert_eq!(log.deadline(), Some(Time(60_001)));
    log.expire(Time(60_001));
    log.append(session(1), b"id: 2-3\ndata: other\n\n");
    assert_eq!(log.after(session(1), event(2, 2)).unwrap().1, "id: 2-3\ndata: other\n\n");
    log.forget(session(1));
    assert_eq!(log.bytes(), 0);
}

#[test]
fn events_that_are_missing_where_a_session_goes_on_are_a_gap_that_nobody_jumps_over() {
    let mut log = log(1 << 20, 1 << 20, Span::secs(60));
    for number in 1..=3 {
        log.append(session(1), framed(1, event(1, number), 0).as_bytes());
    }
    log.append(session(1), framed(1, event(3, 1), 0).as_bytes());
    log.truncate(session(1), &[event(1, 5), event(2, 1), event(3, 0)], StreamId(9));
    assert!(!log.can_resume(session(1), event(1, 2)) && log.can_resume(session(1), event(1, 5)));
    assert!(log.can_resume(session(1), event(2, 1)), "of a stream that had ended before it was said, and was gone");
    assert!(!log.can_resume(session(1), event(3, 1)));
    assert_eq!(log.bytes(), 0);
    log.append(session(1), framed(1, event(1, 6), 0).as_bytes());
    assert!(log.after(session(1), event(1, 5)).is_some());
}

/// What is done to a log.
#[derive(Clone, Debug)]
enum Step {
    Append { session: u8, stream: u64, size: usize },
    End { session: u8, stream: u64 },
    Truncate { session: u8, stream: u64, back: u64 },
    Forget(u8),
    Expire(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..3_u8, 0..3_u64, 0..300_usize).prop_map(|(session, stream, size)| Step::Append { session, stream, size }),
        2 => (0..3_u8, 0..3_u64).prop_map(|(session, stream)| Step::End { session, stream }),
        2 => (0..3_u8, 0..3_u64, 0..4_u64).prop_map(|(session, stream, back)| Step::Truncate { session, stream, back }),
        1 => (0..3_u8).prop_map(Step::Forget),
        2 => (0..40_u64).prop_map(Step::Expire),
    ]
}

proptest! {
    #[test]
    fn nothing_of_another_stream_or_session_is_ever_replayed_and_there_is_never_a_gap_http_29(
        steps in vec(step(), 1..120),
        small in any::<bool>(),
    ) {
        let mut log = if small { log(900, 1800, Span::millis(50)) } else { log(1 << 20, 1 << 20, Span::millis(50)) };
        let mut now = Time(0);
        // Streams are named anew when theirs has ended, as a session does.
        let mut sent: BTreeMap<(u8, u64), u64> = BTreeMap::new();
        let mut named: BTreeMap<(u8, u64), u64> = BTreeMap::new();
        let mut next = 0;
        for step in steps {
            match step {
                Step::Append { session: of, stream, size } => {
                    let stream = *named.entry((of, stream)).or_insert_with(|| { next += 1; next });
                    let number = sent.entry((of, stream)).or_default();
                    *number += 1;
                    let id = event(stream, *number);
                    prop_assert_eq!(log.append(session(of), framed(of, id, size).as_bytes()), Some(id));
                }
                Step::End { session: of, stream } => {
                    if let Some(stream) = named.remove(&(of, stream)) {
                        log.end(session(of), StreamId(stream), now);
                    }
                }
                Step::Truncate { session: of, stream, back } => {
                    if let Some(stream) = named.get(&(of, stream)).copied() {
                        let number = sent.entry((of, stream)).or_default();
                        *number = number.saturating_sub(back);
                        log.truncate(session(of), &[event(stream, *number)], StreamId(next + 1));
                        prop_assert_eq!(log.can_resume(session(of), event(stream, *number)), *number > 0);
                    }
                }
                Step::Forget(of) => {
                    log.forget(session(of));
                    sent.retain(|(session, _), _| *session != of);
                    named.retain(|(session, _), _| *session != of);
                }
                Step::Expire(ms) => {
                    now = now.after(Span::millis(ms));
                    log.expire(now);
                }
            }
            prop_assert!(!small || log.bytes() <= 1800);
            for of in 0..3 {
                for stream in 0..=next {
                    let last = sent.get(&(of, stream)).copied().unwrap_or(0);
                    for number in 0..=last + 1 {
                        if !log.can_resume(session(of), event(stream, number)) {
                            continue;
                        }
                        prop_assert!((1..=last).contains(&number), "what was never sent is resumed after");
                        for (step, number) in (number..last).enumerate() {
                            let found = log.after(session(of), event(stream, number));
                            let (id, bytes) = found.unwrap_or_else(|| panic!("a gap at {number}, step {step}"));
                            prop_assert_eq!(id, event(stream, number + 1));
                            let own = format!("id: {id}\ndata: \"{of} {id} ");
                            prop_assert!(bytes.starts_with(own.as_bytes()));
                        }
                        prop_assert_eq!(log.after(session(of), event(stream, last)), None);
                    }
                }
            }
        }
    }
}
