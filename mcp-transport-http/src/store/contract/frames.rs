//! What the frames from node to node are promised.

use bytes::Bytes;

use super::{LATER, Subject, all, both, give_up, node, yield_now};
use crate::store::{NodeId, Relay, StoreError};

/// Nobody gets a frame before it receives, after it has left, or a while after it stopped to receive.
pub async fn reach_nobody_who_is_not_alive(subject: &Subject<'_>) {
    let (one, two) = (subject.one.relay, subject.two.relay);
    let a = node();
    assert_eq!(two.send(a, frame(0)).await, Ok(false), "it was never there");
    arrive(one, two, a).await;
    assert_eq!(one.leave(a).await, Ok(()));
    assert_eq!(one.leave(a).await, Ok(()), "again");
    assert_eq!(two.send(a, frame(1)).await, Ok(false), "it has left");
    let b = node();
    arrive(one, two, b).await;
    (subject.pass)(subject.liveness + LATER).await;
    assert_eq!(two.send(b, frame(1)).await, Ok(false), "it has died");
    assert_eq!(two.broadcast(a, frame(2)).await, Ok(()), "which reaches nobody");
}

/// What several nodes send to one comes once each, and in the order of each.
pub async fn come_once_and_in_order(subject: &Subject<'_>) {
    const EACH: u32 = 300;
    let (one, two) = (subject.one.relay, subject.two.relay);
    let a = node();
    arrive(one, two, a).await;
    let sender = |from: u32| async move {
        let relay = if from == 0 { one } else { two };
        for number in 0..EACH {
            assert_eq!(relay.send(a, pair(from, number)).await, Ok(true));
        }
    };
    let (received, _) = both(receive(one, a, 3 * EACH as usize), all((0..3).map(sender))).await;
    for from in 0..3_u32 {
        let own: Vec<Bytes> = received.iter().filter(|frame| frame[..4] == from.to_be_bytes()[..]).cloned().collect();
        assert_eq!(own, (0..EACH).map(|number| pair(from, number)).collect::<Vec<Bytes>>());
    }
    assert_eq!(two.send(a, frame(0)).await, Ok(true));
    assert_eq!(receive(one, a, 1).await, [frame(0)], "and nothing else");
    assert_eq!(one.leave(a).await, Ok(()));
}

/// A node need not wait at the moment: what is sent meanwhile is there when it does, whatever its bytes.
pub async fn wait_for_who_is_alive(subject: &Subject<'_>) {
    let (one, two) = (subject.one.relay, subject.two.relay);
    let a = node();
    arrive(one, two, a).await;
    let frames = [Bytes::new(), Bytes::from((0..=255).collect::<Vec<u8>>()), frame(7)];
    for frame in &frames {
        assert_eq!(two.send(a, frame.clone()).await, Ok(true));
    }
    assert_eq!(receive(one, a, 3).await, frames);
    assert_eq!(one.leave(a).await, Ok(()));
}

/// A receiver that gives up has taken nothing.
pub async fn survive_a_receiver_that_gives_up(subject: &Subject<'_>) {
    let (one, two) = (subject.one.relay, subject.two.relay);
    let a = node();
    arrive(one, two, a).await;
    let mut received = Vec::new();
    for number in 0..40 {
        let polls = 1 + number as usize % 4;
        let (taken, sent) = both(give_up(one.receive(a), polls), two.send(a, frame(number))).await;
        assert_eq!(sent, Ok(true));
        received.extend(taken.into_iter().flat_map(Result::unwrap));
    }
    received.extend(receive(one, a, 40 - received.len()).await);
    assert_eq!(received, (0..40).map(frame).collect::<Vec<Bytes>>());
    assert_eq!(one.leave(a).await, Ok(()));
}

/// What is said to all reaches each that is alive, but not who says it.
pub async fn reach_all_others(subject: &Subject<'_>) {
    let (one, two) = (subject.one.relay, subject.two.relay);
    let nodes = [node(), node(), node()];
    for node in nodes {
        arrive(one, two, node).await;
    }
    // Others may use the store, and hear this, too; and these may hear others.
    let said = Bytes::from(format!("to all from {}", nodes[0]));
    assert_eq!(one.broadcast(nodes[0], said.clone()).await, Ok(()));
    let last = Bytes::from(format!("the last from {}", nodes[0]));
    for (node, times) in [(nodes[0], 0), (nodes[1], 1), (nodes[2], 1)] {
        assert_eq!(two.send(node, last.clone()).await, Ok(true));
        let mut heard = Vec::new();
        while heard.last() != Some(&last) {
            heard.extend(one.receive(node).await.unwrap());
        }
        assert_eq!(heard.iter().filter(|frame| **frame == said).count(), times);
        assert_eq!(one.leave(node).await, Ok(()));
    }
}

/// An inbox that nobody empties is full some time; what it has confirmed is all there.
pub async fn are_bounded(subject: &Subject<'_>) {
    const ALL: u32 = 1 << 20;
    let (one, two) = (subject.one.relay, subject.two.relay);
    let a = node();
    arrive(one, two, a).await;
    let mut sent = 0;
    let full = loop {
        match two.send(a, frame(sent)).await {
            Ok(true) if sent < ALL => sent += 1,
            other => break other,
        }
    };
    assert!(matches!(full, Err(StoreError::Full(_))), "after {sent} frames: {full:?}");
    assert_eq!(receive(one, a, sent as usize).await, (0..sent).map(frame).collect::<Vec<Bytes>>());
    // It may learn only with the next call that these have come.
    let (received, ()) = both(receive(one, a, 1), sent_some_time(two, a, frame(sent))).await;
    assert_eq!(received, [frame(sent)]);
    assert_eq!(one.leave(a).await, Ok(()));
}

/// A frame may have 8 MiB.
pub async fn may_be_large(subject: &Subject<'_>) {
    let (one, two) = (subject.one.relay, subject.two.relay);
    let a = node();
    arrive(one, two, a).await;
    let large: Bytes = (0_u32..2 << 20).flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into();
    for _ in 0..3 {
        assert_eq!(two.send(a, large.clone()).await, Ok(true));
    }
    assert!(receive(one, a, 3).await == [large.clone(), large.clone(), large], "they came as other ones");
    assert_eq!(one.leave(a).await, Ok(()));
}

/// A node that only waits stays alive.
pub async fn reach_who_waits_for_long(subject: &Subject<'_>) {
    let (one, two) = (subject.one.relay, subject.two.relay);
    let a = node();
    arrive(one, two, a).await;
    let (received, ()) = both(receive(one, a, 1), async {
        (subject.pass)(subject.liveness * 2 + LATER).await;
        assert_eq!(two.send(a, frame(1)).await, Ok(true));
    })
    .await;
    assert_eq!(received, [frame(1)]);
    assert_eq!(one.leave(a).await, Ok(()));
}

/// Makes a node known: it receives one frame.
async fn arrive(own: &dyn Relay, other: &dyn Relay, node: NodeId) {
    let hello = Bytes::from_static(b"hello");
    let (received, ()) = both(own.receive(node), sent_some_time(other, node, hello.clone())).await;
    assert_eq!(received, Ok(vec![hello]));
}

/// Sends once the node is alive and has room, which another future sees to.
async fn sent_some_time(relay: &dyn Relay, node: NodeId, frame: Bytes) {
    for _ in 0..TRIES {
        if relay.send(node, frame.clone()).await == Ok(true) {
            return;
        }
        // Let the other one go on, also where nothing ever waits.
        yield_now().await;
    }
    panic!("a node that receives is sent nothing");
}

/// Times that a frame is sent before it is taken for lost. 100,000: seconds.
const TRIES: usize = 100_000;

/// Exactly so many frames.
async fn receive(relay: &dyn Relay, node: NodeId, count: usize) -> Vec<Bytes> {
    let mut received = Vec::new();
    while received.len() < count {
        received.extend(relay.receive(node).await.unwrap());
    }
    assert_eq!(received.len(), count, "more came than were sent");
    received
}

fn frame(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn pair(from: u32, number: u32) -> Bytes {
    [from.to_be_bytes(), number.to_be_bytes()].concat().into()
}
