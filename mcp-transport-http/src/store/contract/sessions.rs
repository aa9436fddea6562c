//! What a session is promised.

use std::time::Duration;

use mcp_core::Snapshot;

use super::{LATER, LONG, SHORT, Subject, all, give_up, key, node, snapshot};
use crate::store::{Acquired, NodeId, SessionKey, StoreError, Storing};

const FENCED: Result<(), StoreError> = Err(StoreError::Fenced);

/// A session comes back byte for byte, on whatever node, and is clean once it was released.
pub async fn is_there_as_it_was_stored(subject: &Subject<'_>) {
    let (one, two) = (subject.one.store, subject.two.store);
    let every_byte = Snapshot::from_bytes((0..=255).chain(0..=255).collect::<Vec<u8>>().into());
    for principal in [None, Some(""), Some("anna|https://id.example/\r\n\0 {x}"), Some("1")] {
        let (key, a, b) = (key(principal), node(), node());
        assert_eq!(two.acquire(&key, b, LONG).await, Ok(Acquired::Missing), "before it is created");
        assert_eq!(one.create(&key, a, LONG, snapshot("old"), LONG).await, Ok(1));
        assert_eq!(one.save(&key, a, 2, every_byte.clone(), LONG).await, Ok(()));
        assert_eq!(one.release(&key, a, 2, None, LONG).await, Ok(()), "as it was saved");
        assert_ours(two.acquire(&key, b, LONG).await, 3, &every_byte, true);
        assert_eq!(two.release(&key, b, 4, Some(snapshot("")), LONG).await, Ok(()), "with another state");
        assert_ours(one.acquire(&key, a, LONG).await, 5, &snapshot(""), true);
    }
}

/// Nobody creates what is there; who did not hear that it was done does it again.
pub async fn is_created_once(subject: &Subject<'_>) {
    let (one, two) = (subject.one.store, subject.two.store);
    let (key, a, b) = (key(None), node(), node());
    assert_eq!(one.create(&key, a, LONG, snapshot("first"), LONG).await, Ok(1));
    assert_eq!(one.create(&key, a, LONG, snapshot("again"), LONG).await, Ok(1), "by the same node");
    assert_eq!(two.create(&key, b, LONG, snapshot("other"), LONG).await, Err(StoreError::Fenced), "by another node");
    let other = SessionKey { principal: Some("anna".into()), ..key.clone() };
    assert_eq!(
        one.create(&other, a, LONG, snapshot("other"), LONG).await,
        Err(StoreError::Fenced),
        "for another principal"
    );
    assert_eq!(one.save(&key, a, 2, snapshot("saved"), LONG).await, Ok(()));
    assert_eq!(one.create(&key, a, LONG, snapshot("late"), LONG).await, Err(StoreError::Fenced), "after it was saved");
    assert_eq!(one.release(&key, a, 2, None, LONG).await, Ok(()));
    assert_ours(two.acquire(&key, b, LONG).await, 3, &snapshot("saved"), true);
}

/// Of many nodes that try at once one gets it, and the others are told which.
pub async fn is_got_by_one_of_many(subject: &Subject<'_>) {
    for round in 0..12 {
        let (key, first) = (key(Some("anna")), node());
        let lease = if round % 2 == 0 { LONG } else { SHORT };
        assert_eq!(subject.one.store.create(&key, first, lease, snapshot("x"), LONG).await, Ok(1));
        if round % 2 == 0 {
            assert_eq!(subject.one.store.release(&key, first, 1, None, LONG).await, Ok(()));
        } else {
            (subject.pass)(LATER).await;
        }
        let nodes: Vec<NodeId> = (0..24).map(|_| node()).collect();
        let tries = nodes.iter().enumerate().map(|(nth, node)| {
            let handles = if nth % 2 == 0 { subject.one } else { subject.two };
            handles.store.acquire(&key, *node, LONG)
        });
        let answers = all(tries).await;
        let mut winners = Vec::new();
        for (node, answer) in nodes.iter().zip(&answers) {
            if let Ok(Acquired::Ours { version, clean, .. }) = answer {
                assert_eq!((*version, *clean), (2, round % 2 == 0));
                winners.push(*node);
            }
        }
        let [winner] = winners[..] else { panic!("{} nodes hold one session", winners.len()) };
        for answer in answers {
            match answer {
                Ok(Acquired::Ours { .. }) => {}
                Ok(Acquired::Held { node, .. }) => assert_eq!(node, winner, "who is told to hold it"),
                other => panic!("a node that came too late was told {other:?}"),
            }
        }
    }
}

/// A session is taken from nobody before its lease is over, and then it is not clean.
pub async fn is_held_until_its_lease_is_over(subject: &Subject<'_>) {
    let (one, two) = (subject.one.store, subject.two.store);
    let (key, a, b) = (key(None), node(), node());
    assert_eq!(one.create(&key, a, LONG, snapshot("x"), LONG).await, Ok(1));
    match two.acquire(&key, b, LONG).await {
        Ok(Acquired::Held { node, left }) => assert!(node == a && left >= SHORT && left <= LONG, "{node:?} {left:?}"),
        other => panic!("while it is held: {other:?}"),
    }
    assert_ours(one.acquire(&key, a, SHORT).await, 2, &snapshot("x"), false);
    (subject.pass)(LATER).await;
    assert_eq!(one.save(&key, a, 3, snapshot("y"), LONG).await, Ok(()), "whose lease is over, but nobody has taken it");
    assert_ours(two.acquire(&key, b, LONG).await, 4, &snapshot("y"), false);
}

/// Nothing that a node does to a session that another has acquired since has any effect.
pub async fn is_fenced_once_another_node_has_it(subject: &Subject<'_>) {
    let (one, two) = (subject.one.store, subject.two.store);
    let (key, a, b) = (key(Some("anna")), node(), node());
    assert_eq!(one.create(&key, a, SHORT, snapshot("x"), LONG).await, Ok(1));
    (subject.pass)(LATER).await;
    assert_ours(two.acquire(&key, b, LONG).await, 2, &snapshot("x"), false);
    for version in [1, 2, 3, 1000] {
        assert_eq!(one.save(&key, a, version, snapshot("lost"), SHORT).await, FENCED);
        assert_eq!(one.release(&key, a, version, Some(snapshot("lost")), SHORT).await, FENCED);
        assert_eq!(one.release(&key, a, version, None, SHORT).await, FENCED);
    }
    assert_eq!(one.remove(&key, a).await, FENCED);
    assert_eq!(one.renew(a, std::slice::from_ref(&key), LONG).await, Ok(vec![false]));
    assert_eq!(one.create(&key, a, LONG, snapshot("lost"), LONG).await, Err(StoreError::Fenced));
    assert!(matches!(one.acquire(&key, a, LONG).await, Ok(Acquired::Held { node, .. }) if node == b));
    (subject.pass)(LATER).await;
    assert_eq!(two.save(&key, b, 3, snapshot("kept"), LONG).await, Ok(()));
    assert_ours(two.acquire(&key, b, LONG).await, 4, &snapshot("kept"), false);
}

/// A version that was stored is stored again or followed by a later one, never by an earlier one.
pub async fn never_goes_back(subject: &Subject<'_>) {
    let store = subject.one.store;
    let (key, a) = (key(None), node());
    assert_eq!(store.create(&key, a, LONG, snapshot("1"), LONG).await, Ok(1));
    assert_eq!(store.save(&key, a, 2, snapshot("2"), LONG).await, Ok(()));
    assert_eq!(store.save(&key, a, 2, snapshot("2 again"), LONG).await, Ok(()));
    assert_eq!(store.save(&key, a, 3, snapshot("3"), LONG).await, Ok(()));
    assert_eq!(store.save(&key, a, 2, snapshot("2 late"), LONG).await, FENCED);
    assert_ours(store.acquire(&key, a, LONG).await, 4, &snapshot("3"), false);
    assert_eq!(store.save(&key, a, 3, snapshot("3 late"), LONG).await, FENCED, "from before it was acquired again");
    assert_eq!(store.release(&key, a, 3, Some(snapshot("3 late")), LONG).await, FENCED);
    assert_eq!(store.release(&key, a, 5, Some(snapshot("5")), LONG).await, Ok(()));
    assert_ours(store.acquire(&key, a, LONG).await, 6, &snapshot("5"), true);
}

/// Who acquires again what it holds learns the same; who acquires it from a node that died does not rely on it.
pub async fn is_clean_until_something_is_stored(subject: &Subject<'_>) {
    let (one, two) = (subject.one.store, subject.two.store);
    let (key, a, b) = (key(None), node(), node());
    assert_eq!(one.create(&key, a, LONG, snapshot("x"), LONG).await, Ok(1));
    assert_eq!(one.release(&key, a, 1, None, LONG).await, Ok(()));
    assert_ours(one.acquire(&key, a, LONG).await, 2, &snapshot("x"), true);
    assert_ours(one.acquire(&key, a, LONG).await, 3, &snapshot("x"), true);
    assert_eq!(one.save(&key, a, 4, snapshot("y"), LONG).await, Ok(()));
    assert_ours(one.acquire(&key, a, LONG).await, 5, &snapshot("y"), false);
    assert_eq!(one.release(&key, a, 5, None, LONG).await, Ok(()));
    assert_ours(one.acquire(&key, a, SHORT).await, 6, &snapshot("y"), true);
    (subject.pass)(LATER).await;
    assert_ours(two.acquire(&key, b, LONG).await, 7, &snapshot("y"), false);
    assert_ours(two.acquire(&key, b, LONG).await, 8, &snapshot("y"), false);
}

/// With another principal, or with none, there is no such session, and nothing happens to it.
pub async fn is_nothing_to_another_principal(subject: &Subject<'_>) {
    let store = subject.one.store;
    let whose = [None, Some(""), Some("anna"), Some("Anna"), Some("ann")];
    for owner in whose {
        let (owned, a) = (key(owner), node());
        assert_eq!(store.create(&owned, a, LONG, snapshot("x"), LONG).await, Ok(1));
        for other in whose.into_iter().filter(|other| *other != owner) {
            let key = SessionKey { principal: other.map(Into::into), ..owned.clone() };
            assert_eq!(store.acquire(&key, a, LONG).await, Ok(Acquired::Missing), "{owner:?} {other:?}");
            assert_eq!(store.save(&key, a, 2, snapshot("y"), SHORT).await, FENCED);
            assert_eq!(store.release(&key, a, 2, None, SHORT).await, FENCED);
            assert_eq!(store.renew(a, std::slice::from_ref(&key), LONG).await, Ok(vec![false]));
            assert_eq!(store.remove(&key, a).await, Ok(()), "as of an id that never was");
        }
        assert_ours(store.acquire(&owned, a, LONG).await, 2, &snapshot("x"), false);
    }
}

/// What was let go is not held.
pub async fn is_let_go_once(subject: &Subject<'_>) {
    let store = subject.one.store;
    let (key, a) = (key(None), node());
    assert_eq!(store.create(&key, a, LONG, snapshot("x"), LONG).await, Ok(1));
    assert_eq!(store.release(&key, a, 2, Some(snapshot("y")), LONG).await, Ok(()));
    assert_eq!(store.release(&key, a, 2, Some(snapshot("y")), LONG).await, FENCED);
    assert_eq!(store.save(&key, a, 3, snapshot("late"), LONG).await, FENCED);
    assert_eq!(store.renew(a, std::slice::from_ref(&key), LONG).await, Ok(vec![false]));
    assert_eq!(store.remove(&key, a).await, FENCED);
    assert_ours(store.acquire(&key, a, LONG).await, 3, &snapshot("y"), true);
}

/// What was removed is gone for everyone.
pub async fn is_gone_once_removed(subject: &Subject<'_>) {
    let (one, two) = (subject.one.store, subject.two.store);
    let (key, a, b) = (key(Some("anna")), node(), node());
    assert_eq!(one.create(&key, a, LONG, snapshot("x"), LONG).await, Ok(1));
    assert_eq!(two.remove(&key, b).await, FENCED);
    assert_eq!(one.remove(&key, a).await, Ok(()));
    assert_eq!(one.remove(&key, a).await, Ok(()), "again");
    assert_eq!(two.acquire(&key, b, LONG).await, Ok(Acquired::Missing));
    assert_eq!(one.save(&key, a, 2, snapshot("late"), LONG).await, FENCED);
    assert_eq!(one.release(&key, a, 2, None, LONG).await, FENCED);
    assert_eq!(one.renew(a, std::slice::from_ref(&key), LONG).await, Ok(vec![false]));
    assert_eq!(two.acquire(&key, b, LONG).await, Ok(Acquired::Missing));
}

/// Sessions that nobody holds are gone when their time is over; those that are held stay.
pub async fn expires_by_itself(subject: &Subject<'_>) {
    let store = subject.one.store;
    let [left, let_go, saved, held, taken, renewed] = [(); 6].map(|()| key(None));
    let a = node();
    for key in [&left, &saved, &taken] {
        let lease = if *key == saved { SHORT } else { LATER * 20 };
        let (lease, keep) = if *key == left { (SHORT, SHORT) } else { (lease, LATER * 20) };
        assert_eq!(store.create(key, a, lease, snapshot("x"), keep).await, Ok(1));
    }
    assert_eq!(store.create(&let_go, a, LONG, snapshot("x"), LONG).await, Ok(1));
    assert_eq!(store.release(&let_go, a, 1, None, SHORT).await, Ok(()));
    assert_eq!(store.create(&held, a, LONG, snapshot("x"), SHORT).await, Ok(1));
    assert_eq!(store.create(&renewed, a, LATER * 20, snapshot("x"), SHORT).await, Ok(1));
    assert_eq!(store.renew(a, std::slice::from_ref(&renewed), LONG).await, Ok(vec![true]));
    assert_eq!(store.save(&saved, a, 2, snapshot("y"), LONG).await, Ok(()));
    assert_ours(store.acquire(&taken, a, LONG).await, 2, &snapshot("x"), false);
    (subject.pass)(LATER * 21).await;
    assert_eq!(store.acquire(&left, a, LONG).await, Ok(Acquired::Missing), "left");
    assert_eq!(store.save(&left, a, 2, snapshot("late"), LONG).await, FENCED);
    assert_eq!(store.acquire(&let_go, a, LONG).await, Ok(Acquired::Missing), "let go");
    assert_ours(store.acquire(&saved, a, LONG).await, 3, &snapshot("y"), false);
    assert_ours(store.acquire(&held, a, LONG).await, 2, &snapshot("x"), false);
    assert_ours(store.acquire(&taken, a, LONG).await, 3, &snapshot("x"), false);
    assert_ours(store.acquire(&renewed, a, LONG).await, 2, &snapshot("x"), false);
}

/// A lease that is renewed is good for that time, and for no less than before.
pub async fn is_renewed(subject: &Subject<'_>) {
    let (one, two) = (subject.one.store, subject.two.store);
    let [prolonged, not_shortened, foreign, over] = [(); 4].map(|()| key(Some("anna")));
    let (a, b) = (node(), node());
    assert_eq!(one.create(&prolonged, a, LATER * 20, snapshot("x"), LONG).await, Ok(1));
    assert_eq!(one.create(&not_shortened, a, LONG, snapshot("x"), LONG).await, Ok(1));
    assert_eq!(one.create(&foreign, b, LONG, snapshot("x"), LONG).await, Ok(1));
    assert_eq!(one.create(&over, a, SHORT, snapshot("x"), LONG).await, Ok(1));
    let keys = [prolonged.clone(), foreign, key(None), not_shortened.clone()];
    assert_eq!(one.renew(a, &keys[..3], LONG).await, Ok(vec![true, false, false]));
    assert_eq!(one.renew(a, &keys[3..], SHORT).await, Ok(vec![true]));
    assert_eq!(one.renew(a, &[], SHORT).await, Ok(vec![]));
    (subject.pass)(LATER * 21).await;
    for key in [&prolonged, &not_shortened] {
        assert!(matches!(two.acquire(key, b, LONG).await, Ok(Acquired::Held { node, .. }) if node == a));
    }
    assert_eq!(one.renew(a, std::slice::from_ref(&over), LONG).await, Ok(vec![true]), "nobody has taken it");
    assert!(matches!(two.acquire(&over, b, LONG).await, Ok(Acquired::Held { .. })));
}

/// A snapshot may have 8 MiB.
pub async fn may_be_large(subject: &Subject<'_>) {
    let (key, a) = (key(None), node());
    let large = Snapshot::from_bytes((0_u32..2 << 20).flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into());
    assert_eq!(subject.one.store.create(&key, a, LONG, large.clone(), LONG).await, Ok(1));
    assert_ours(subject.two.store.acquire(&key, a, LONG).await, 2, &large, false);
    assert_eq!(subject.one.store.remove(&key, a).await, Ok(()));
}

/// A thousand sessions at once do not meet each other.
pub async fn is_one_of_many(subject: &Subject<'_>) {
    let (one, two) = (subject.one.store, subject.two.store);
    let a = node();
    let keys: Vec<SessionKey> = (0..1000).map(|_| key(Some("anna"))).collect();
    let own = |key: &SessionKey| Snapshot::from_bytes(key.session.bytes().to_vec().into());
    let created = all(keys.iter().map(|key| one.create(key, a, LONG, own(key), LONG))).await;
    assert!(created.iter().all(|version| *version == Ok(1)));
    assert_eq!(two.renew(a, &keys, LONG).await, Ok(vec![true; 1000]));
    let ours = all(keys.iter().map(|key| two.acquire(key, a, LONG))).await;
    for (key, answer) in keys.iter().zip(ours) {
        assert_ours(answer, 2, &own(key), false);
    }
    let removed = all(keys.iter().map(|key| one.remove(key, a))).await;
    assert!(removed.iter().all(Result::is_ok));
}

/// What was begun and given up may have been done or not; doing it again ends the same.
pub async fn survives_a_caller_that_gives_up(subject: &Subject<'_>) {
    let store = subject.one.store;
    for polls in [1, 2, 3] {
        let (key, a) = (key(None), node());
        give_up(store.create(&key, a, LONG, snapshot("x"), LONG), polls).await;
        assert_eq!(store.create(&key, a, LONG, snapshot("x"), LONG).await, Ok(1));
        give_up(store.save(&key, a, 2, snapshot("y"), LONG), polls).await;
        assert_eq!(store.save(&key, a, 2, snapshot("y"), LONG).await, Ok(()));
        give_up(store.acquire(&key, a, LONG), polls).await;
        match store.acquire(&key, a, LONG).await {
            Ok(Acquired::Ours { version: 3 | 4, snapshot: stored, clean: false }) => assert_eq!(stored, snapshot("y")),
            other => panic!("after it was given up: {other:?}"),
        }
        give_up(store.release(&key, a, 5, Some(snapshot("z")), LONG), polls).await;
        let again: Storing<'_, ()> = store.release(&key, a, 5, Some(snapshot("z")), LONG);
        assert!(matches!(again.await, Ok(()) | Err(StoreError::Fenced)));
        assert_ours(store.acquire(&key, a, Duration::from_secs(1)).await, 6, &snapshot("z"), true);
    }
}

fn assert_ours(answer: Result<Acquired, StoreError>, version: u64, snapshot: &Snapshot, clean: bool) {
    match answer {
        Ok(Acquired::Ours { version: v, snapshot: s, clean: c }) => {
            assert_eq!((v, c), (version, clean), "version, and whether it is clean");
            assert!(s == *snapshot, "the snapshot came back as another one: {s:?}, not {snapshot:?}");
        }
        other => panic!("not acquired: {other:?}"),
    }
}
