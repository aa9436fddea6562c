//! What the events of a session are promised (HTTP-29).

use std::time::Duration;

use bytes::Bytes;
use mcp_core::{EventId, StreamId};

use super::{LATER, LONG, SHORT, Subject, key, node, snapshot};
use crate::store::{EventLog, NodeId, Replay, SessionKey, StoreError};

const FENCED: Result<(), StoreError> = Err(StoreError::Fenced);

/// Whatever was appended is replayed so, on any node: all of its stream that followed the event, and nothing else.
pub async fn come_in_order_and_as_they_were(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, Some("anna")).await;
    assert_eq!(log.append(&key, a, 2, framed(3, 1..=2), vec![]).await, Ok(()));
    let mixed = [framed(3, 3..=3), framed(7, 1..=2), framed(3, 4..=5), framed(7, 3..=3)].concat();
    assert_eq!(log.append(&key, a, 2, mixed, vec![]).await, Ok(()));
    let two = subject.two.log;
    for number in 1..5 {
        assert_eq!(two.after(&key, id(3, number), usize::MAX).await, Ok(Some(open(framed(3, number + 1..=5)))));
    }
    assert_eq!(two.after(&key, id(7, 1), usize::MAX).await, Ok(Some(open(framed(7, 2..=3)))));
    assert_eq!(two.after(&key, id(3, 5), usize::MAX).await, Ok(Some(open(vec![]))), "nothing more so far");
    for never in
        [id(3, 0), id(3, 6), id(4, 1), id(7, 4), id(0, 0), id(3, u64::MAX), id(u64::MAX, 1), id(1 << 53, 1 << 53)]
    {
        assert_eq!(two.after(&key, never, usize::MAX).await, Ok(None), "{never}");
    }
    assert_eq!(log.append(&key, a, 2, framed(3, 6..=6), vec![]).await, Ok(()));
    assert_eq!(two.after(&key, id(3, 5), usize::MAX).await, Ok(Some(open(framed(3, 6..=6)))));
    let every_byte: Bytes = [b"id: 3-7\n", &(0..=255).collect::<Vec<u8>>()[..]].concat().into();
    assert_eq!(log.append(&key, a, 2, vec![(id(3, 7), every_byte.clone())], vec![]).await, Ok(()));
    assert_eq!(two.after(&key, id(3, 6), 1).await, Ok(Some(open(vec![(id(3, 7), every_byte)]))));
}

/// A replay that is taken in pieces is the whole one.
pub async fn come_in_pieces(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, None).await;
    let all = framed(1, 1..=40);
    assert_eq!(log.append(&key, a, 1, all.clone(), vec![StreamId(1)]).await, Ok(()));
    for bytes in [0, 1, 100, 1000, usize::MAX] {
        let (mut at, mut pieces) = (id(1, 1), Vec::new());
        loop {
            let piece = log.after(&key, at, bytes).await.unwrap().expect("nothing has gone");
            at = piece.events.last().expect("at least one").0;
            let taken: usize = piece.events.iter().map(|(_, framed)| framed.len()).sum();
            assert!(piece.events.len() == 1 || taken < bytes.saturating_add(100), "{taken} of {bytes}");
            pieces.extend(piece.events);
            if piece.ended {
                break;
            }
        }
        assert_eq!(pieces, all[1..]);
    }
}

/// What is appended again is there once, as it was first.
pub async fn are_kept_once(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, None).await;
    for _ in 0..2 {
        assert_eq!(log.append(&key, a, 2, framed(1, 1..=3), vec![]).await, Ok(()));
    }
    let other = Bytes::from_static(b"id: 1-3\ndata: other\n\n");
    assert_eq!(log.append(&key, a, 2, [vec![(id(1, 3), other)], framed(1, 4..=4)].concat(), vec![]).await, Ok(()));
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(Some(open(framed(1, 2..=4)))));
    for _ in 0..2 {
        assert_eq!(log.append(&key, a, 2, framed(1, 4..=5), vec![StreamId(1)]).await, Ok(()));
        assert_eq!(log.append(&key, a, 2, framed(1, 4..=5), vec![]).await, Ok(()), "a stream that ended stays so");
    }
    let all = Replay { events: framed(1, 2..=5), ended: true };
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(Some(all)));
}

/// A stream that has ended is replayed to its end, and nothing can come after its last event.
pub async fn end_with_their_stream(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, None).await;
    assert_eq!(log.append(&key, a, 2, framed(1, 1..=3), vec![StreamId(1)]).await, Ok(()));
    assert_eq!(log.append(&key, a, 2, framed(2, 1..=3), vec![]).await, Ok(()));
    assert_eq!(log.append(&key, a, 2, vec![], vec![StreamId(2), StreamId(9)]).await, Ok(()), "later, by itself");
    assert_eq!(log.append(&key, a, 2, framed(3, 1..=1), vec![StreamId(3)]).await, Ok(()), "with its first event");
    for stream in [1, 2] {
        let ended = |events| Ok(Some(Replay { events, ended: true }));
        assert_eq!(log.after(&key, id(stream, 1), usize::MAX).await, ended(framed(stream, 2..=3)));
        assert_eq!(log.after(&key, id(stream, 1), 1).await, Ok(Some(open(framed(stream, 2..=2)))), "not with this one");
        assert_eq!(log.after(&key, id(stream, 2), 1).await, ended(framed(stream, 3..=3)));
        assert_eq!(log.after(&key, id(stream, 3), usize::MAX).await, Ok(None));
    }
    assert_eq!(log.after(&key, id(3, 1), usize::MAX).await, Ok(None));
}

/// Who does not hold the session, or comes with an earlier version, changes nothing.
pub async fn are_fenced(subject: &Subject<'_>) {
    let (one, two) = (subject.one, subject.two);
    let (key, a, b) = (key(Some("anna")), node(), node());
    assert_eq!(one.log.append(&key, a, 1, framed(1, 1..=2), vec![]).await, FENCED, "there is no session");
    assert_eq!(one.log.truncate(&key, a, 1, vec![id(1, 1)], StreamId(2)).await, FENCED);
    assert_eq!(one.log.after(&key, id(1, 1), usize::MAX).await, Ok(None));
    assert_eq!(one.store.create(&key, a, SHORT, snapshot("x"), LONG).await, Ok(1));
    assert_eq!(one.log.append(&key, a, 2, framed(1, 1..=3), vec![]).await, Ok(()));
    assert_eq!(one.store.save(&key, a, 2, snapshot("y"), LONG).await, Ok(()));
    assert_eq!(one.log.append(&key, a, 1, framed(1, 4..=4), vec![]).await, FENCED, "an earlier version");
    (subject.pass)(LATER).await;
    assert_eq!(one.log.append(&key, a, 2, framed(1, 4..=4), vec![]).await, Ok(()), "nobody has taken it");
    assert!(matches!(two.store.acquire(&key, b, LONG).await, Ok(crate::store::Acquired::Ours { version: 3, .. })));
    for version in [1, 2, 3, 4, 1000] {
        assert_eq!(one.log.append(&key, a, version, framed(1, 5..=5), vec![StreamId(1)]).await, FENCED);
        assert_eq!(one.log.truncate(&key, a, version, vec![id(1, 1)], StreamId(2)).await, FENCED);
    }
    assert_eq!(two.log.append(&key, b, 2, framed(1, 5..=5), vec![]).await, FENCED, "an earlier version");
    assert_eq!(two.log.truncate(&key, b, 2, vec![id(1, 1)], StreamId(2)).await, FENCED);
    assert_eq!(one.log.after(&key, id(1, 1), usize::MAX).await, Ok(Some(open(framed(1, 2..=4)))));
    assert_eq!(two.log.append(&key, b, 4, framed(1, 5..=5), vec![]).await, Ok(()));
    assert_eq!(two.store.release(&key, b, 4, Some(snapshot("z")), LONG).await, Ok(()));
    assert_eq!(two.log.append(&key, b, 5, framed(1, 6..=6), vec![]).await, FENCED, "it was let go");
    assert_eq!(one.log.after(&key, id(1, 4), usize::MAX).await, Ok(Some(open(framed(1, 5..=5)))), "whoever holds it");
}

/// With another principal there are no such events, and nothing happens to them.
pub async fn are_nothing_to_another_principal(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, Some("anna")).await;
    assert_eq!(log.append(&key, a, 2, framed(1, 1..=3), vec![]).await, Ok(()));
    for principal in [None, Some("bob"), Some("")] {
        let other = SessionKey { principal: principal.map(Into::into), ..key.clone() };
        assert_eq!(log.after(&other, id(1, 1), usize::MAX).await, Ok(None));
        assert_eq!(log.append(&other, a, 2, framed(1, 4..=4), vec![]).await, FENCED);
        assert_eq!(log.truncate(&other, a, 2, vec![id(1, 1)], StreamId(2)).await, FENCED);
        assert_eq!(log.forget(&other).await, Ok(()));
    }
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(Some(open(framed(1, 2..=3)))));
}

/// A session that is taken over finds what it has sent, and nothing else.
pub async fn are_cut_back(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, None).await;
    for stream in 1..=5 {
        let ended = if stream < 3 { vec![StreamId(stream)] } else { vec![] };
        assert_eq!(log.append(&key, a, 2, framed(stream, 1..=4), ended).await, Ok(()));
    }
    assert_eq!(log.append(&key, a, 2, framed(6, 1..=1), vec![StreamId(6)]).await, Ok(()));
    // 1 had ended; 2 had not, and of it and 3 two events were never sent; 4 has sent nothing; 5 is new; 6 had sent one.
    for _ in 0..2 {
        let last = vec![id(2, 2), id(3, 2), id(4, 0), id(6, 1)];
        assert_eq!(log.truncate(&key, a, 2, last, StreamId(7)).await, Ok(()));
    }
    assert_eq!(log.after(&key, id(5, 1), usize::MAX).await, Ok(Some(open(framed(5, 2..=4)))), "it was not named");
    for _ in 0..2 {
        let last = vec![id(2, 2), id(3, 2), id(4, 0)];
        assert_eq!(log.truncate(&key, a, 2, last, StreamId(5)).await, Ok(()));
    }
    let ended = Replay { events: framed(1, 2..=4), ended: true };
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(Some(ended)));
    for stream in [2, 3] {
        assert_eq!(log.after(&key, id(stream, 1), usize::MAX).await, Ok(Some(open(framed(stream, 2..=2)))));
        assert_eq!(log.after(&key, id(stream, 2), usize::MAX).await, Ok(Some(open(vec![]))));
        assert_eq!(log.after(&key, id(stream, 3), usize::MAX).await, Ok(None));
    }
    for stream in [4, 5, 6] {
        assert_eq!(log.after(&key, id(stream, 1), usize::MAX).await, Ok(None), "{stream}");
    }
    let others: Vec<(EventId, Bytes)> =
        [id(2, 3), id(5, 1), id(5, 2)].map(|id| (id, format!("id: {id}\ndata: other\n\n").into())).into();
    assert_eq!(log.append(&key, a, 3, others.clone(), vec![]).await, Ok(()));
    assert_eq!(log.after(&key, id(2, 2), usize::MAX).await, Ok(Some(open(others[..1].to_vec()))));
    assert_eq!(log.after(&key, id(5, 1), usize::MAX).await, Ok(Some(open(others[2..].to_vec()))));
    // Events that the log has lost, and a stream whose end it had forgotten: it goes on from there.
    assert_eq!(log.truncate(&key, a, 3, vec![id(3, 9), id(6, 1)], StreamId(7)).await, Ok(()));
    assert_eq!(log.after(&key, id(3, 1), usize::MAX).await, Ok(None));
    for at in [id(3, 9), id(6, 1)] {
        assert_eq!(log.after(&key, at, usize::MAX).await, Ok(Some(open(vec![]))), "{at}");
    }
}

/// The oldest events go first, of whatever stream, and nobody resumes over a gap.
pub async fn are_bounded_and_have_no_gap(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, None).await;
    let room = subject.policy.limits.log_of_session;
    let size = (room / 16).min(1 << 20);
    let sized = |stream, number| {
        let id = id(stream, number);
        (id, Bytes::from(format!("id: {id}\ndata: {}\n\n", "x".repeat(size))))
    };
    assert_eq!(log.append(&key, a, 2, framed(1, 1..=3), vec![]).await, Ok(()));
    for number in 1..=16 {
        assert_eq!(log.append(&key, a, 2, vec![sized(2, number), sized(3, number)], vec![]).await, Ok(()));
    }
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(None), "the oldest have gone");
    assert_eq!(log.after(&key, id(1, 3), usize::MAX).await, Ok(Some(open(vec![]))), "which nobody misses here");
    for stream in [2, 3] {
        assert_eq!(log.after(&key, id(stream, 1), 1).await, Ok(None));
        let mut whole = 0;
        for number in 1..=15 {
            if let Some(replay) = log.after(&key, id(stream, number), usize::MAX).await.unwrap() {
                let numbers: Vec<u64> = replay.events.iter().map(|(id, _)| id.number).collect();
                assert_eq!(numbers, (number + 1..=16).collect::<Vec<u64>>(), "after {number}");
                whole = whole.max(replay.events.len());
            }
        }
        assert!((4..=8).contains(&whole), "about half of its room each, and not {whole} sixteenths");
    }
    let larger = (id(1, 4), Bytes::from(format!("id: 1-4\ndata: {}\n\n", "x".repeat(room))));
    assert_eq!(log.append(&key, a, 2, vec![larger], vec![]).await, Ok(()));
    assert_eq!(log.after(&key, id(1, 3), usize::MAX).await, Ok(None), "it is larger than all the room");
    assert_eq!(log.append(&key, a, 2, framed(1, 5..=5), vec![]).await, Ok(()));
    assert_eq!(log.after(&key, id(1, 4), usize::MAX).await, Ok(Some(open(framed(1, 5..=5)))));
    assert_eq!(log.append(&key, a, 2, framed(1, 8..=8), vec![]).await, Ok(()), "two were left out");
    for number in [4, 5, 6] {
        assert_eq!(log.after(&key, id(1, number), usize::MAX).await, Ok(None), "{number}");
    }
    assert_eq!(log.after(&key, id(1, 7), usize::MAX).await, Ok(Some(open(framed(1, 8..=8)))));
}

/// A stream that ended is dropped after a while, all of it; one that goes on is not.
pub async fn go_when_their_time_is_over(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, None).await;
    assert_eq!(log.append(&key, a, 2, framed(1, 1..=3), vec![StreamId(1)]).await, Ok(()));
    assert_eq!(log.append(&key, a, 2, framed(2, 1..=3), vec![]).await, Ok(()));
    assert_eq!(log.append(&key, a, 2, framed(3, 1..=3), vec![StreamId(3)]).await, Ok(()));
    assert_eq!(
        log.truncate(&key, a, 2, vec![id(2, 3), id(3, 2)], StreamId(4)).await,
        Ok(()),
        "3 has not ended, after all"
    );
    (subject.pass)(Duration::from(subject.policy.timing.resume) + LATER).await;
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(None));
    assert_eq!(log.after(&key, id(2, 1), usize::MAX).await, Ok(Some(open(framed(2, 2..=3)))));
    assert_eq!(log.append(&key, a, 2, framed(2, 4..=4), vec![]).await, Ok(()));
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(None));
    assert_eq!(log.after(&key, id(2, 1), usize::MAX).await, Ok(Some(open(framed(2, 2..=4)))));
    assert_eq!(log.after(&key, id(3, 1), usize::MAX).await, Ok(Some(open(framed(3, 2..=2)))));
}

/// Events are forgotten when they are told to be, and expire with their session.
pub async fn go_with_their_session(subject: &Subject<'_>) {
    let Own { key, a, log } = own(subject, None).await;
    assert_eq!(log.forget(&key).await, Ok(()), "there are none");
    assert_eq!(log.append(&key, a, 2, framed(1, 1..=3), vec![]).await, Ok(()));
    for _ in 0..2 {
        assert_eq!(log.forget(&key).await, Ok(()));
        assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(None));
    }
    assert_eq!(log.append(&key, a, 2, framed(1, 1..=3), vec![]).await, Ok(()));
    assert_eq!(subject.one.store.release(&key, a, 3, None, SHORT).await, Ok(()));
    (subject.pass)(LATER).await;
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(None), "the session has expired");
    let Own { key, a, log } = own(subject, None).await;
    assert_eq!(log.append(&key, a, 2, framed(1, 1..=3), vec![]).await, Ok(()));
    assert_eq!(subject.one.store.remove(&key, a).await, Ok(()));
    assert_eq!(log.forget(&key).await, Ok(()));
    assert_eq!(log.after(&key, id(1, 1), usize::MAX).await, Ok(None));
}

/// A session that a node holds for long.
struct Own<'a> {
    key: SessionKey,
    a: NodeId,
    log: &'a dyn EventLog,
}

async fn own<'a>(subject: &Subject<'a>, principal: Option<&str>) -> Own<'a> {
    let own = Own { key: key(principal), a: node(), log: subject.one.log };
    assert_eq!(subject.one.store.create(&own.key, own.a, LONG, snapshot("x"), LONG).await, Ok(1));
    own
}

const fn id(stream: u64, number: u64) -> EventId {
    EventId { stream: StreamId(stream), number }
}

fn framed(stream: u64, numbers: std::ops::RangeInclusive<u64>) -> Vec<(EventId, Bytes)> {
    let event = |number| (id(stream, number), format!("id: {stream}-{number}\ndata: {{\"n\":{number}}}\n\n").into());
    numbers.map(event).collect()
}

const fn open(events: Vec<(EventId, Bytes)>) -> Replay {
    Replay { events, ended: false }
}
