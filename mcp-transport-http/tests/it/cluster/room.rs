//! Calls that wait until their client has read what they said: at the node that the client is connected to, and at another.

use super::*;
use crate::room::{flood, loggers, settle};

/// Messages of 1 KiB each: more than a reader leaves unread in memory, and than the log of a session takes.
const MANY: usize = 10_000;

async fn floods(through: usize) {
    let memory = memory();
    let tools = Tools::new();
    let log = tools.log();
    let (one, _store) = faulty(&memory, tools);
    let nodes = [one, node(&memory)];
    let session = open(&nodes[0]).await;
    let response = nodes[through].handle(legacy_call(&session, 1, "flood", flood(MANY, true))).await;
    settle().await;
    // Beside what waits for its reader: what is being stored, and over the relay what is on its way.
    assert!((50..=600).contains(&log.said()), "{}", log.said());
    let messages = read(response).await.events();
    assert!(loggers(&messages).into_iter().eq(0..MANY), "all, in order");
    assert_eq!(result_text(messages.last().unwrap()), "flooded");
}

#[tokio::test(start_paused = true)]
async fn what_is_waited_for_is_all_sent_in_order() {
    floods(0).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_waited_for_at_another_node_is_all_sent_in_order() {
    floods(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_without_the_reader_that_it_has_waited_for_http_28() {
    let memory = memory();
    let tools = Tools::new();
    let log = tools.log();
    let (one, _store) = faulty(&memory, tools);
    let session = open(&one).await;
    let unread = one.handle(legacy_call(&session, 1, "flood", flood(2000, true))).await;
    settle().await;
    assert!(log.said() < 600, "{}", log.said());
    drop(unread);
    log.reaches((1, 1, 0)).await;
    assert_eq!(log.said(), 2000);
}
