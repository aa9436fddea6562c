//! What a Redis that is not there, or is not as it should be, is told as. The contract's own tests run the rest.

use std::time::Duration;

use mcp_core::{EventId, SessionId, Snapshot, StreamId};

use super::Redis;
use crate::store::{EventLog, NodeId, Relay, SessionKey, SessionStore, StoreError};

const SPAN: Duration = Duration::from_secs(60);

fn key() -> SessionKey {
    SessionKey { session: SessionId::new(NodeId::random().unwrap().bytes()), principal: Some("anna".into()) }
}

#[test]
fn what_is_no_address_is_refused_without_quoting_its_password() {
    for address in ["", "127.0.0.1", "http://:hunter2@host/", "redis://:hunter2@host:port/"] {
        let error = Redis::new(address).unwrap_err();
        assert!(matches!(error, StoreError::Down(_)) && !error.to_string().contains("hunter2"), "{error}");
    }
    let store = Redis::new("redis://:hunter2@127.0.0.1/3").unwrap();
    assert!(!format!("{store:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_redis_that_is_not_there_is_down_for_every_operation_and_each_time() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = Redis::new(&format!("redis://127.0.0.1:{port}")).unwrap();
    let (key, node, snapshot) = (key(), NodeId::new([1; 16]), Snapshot::from_bytes("x".into()));
    let id = EventId { stream: StreamId(1), number: 1 };
    for _ in 0..3 {
        let down = [
            store.ping().await.err(),
            store.create(&key, node, SPAN, snapshot.clone(), SPAN).await.err(),
            store.acquire(&key, node, SPAN).await.err(),
            store.renew(node, std::slice::from_ref(&key), SPAN).await.err(),
            store.after(&key, id, 1).await.err(),
            store.send(node, "x".into()).await.err(),
            store.receive(node).await.err(),
            store.leave(node).await.err(),
        ];
        for error in down {
            assert!(matches!(&error, Some(StoreError::Down(_))), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_redis_that_says_nothing_is_down_after_the_time_limit() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("redis://{}", listener.local_addr().unwrap());
    let store = Redis::new(&address).unwrap().timeout(Duration::from_millis(20));
    assert!(matches!(store.ping().await, Err(StoreError::Down(_))));
    assert!(matches!(store.receive(NodeId::new([1; 16])).await, Err(StoreError::Down(_))));
}

#[tokio::test]
#[ignore = "needs a Redis server, whose address is in MCP_REDIS"]
async fn what_others_wrote_under_the_same_names_is_damage_of_that_session_alone() {
    let url = std::env::var("MCP_REDIS").expect("MCP_REDIS is the address of a Redis server");
    let store = Redis::new(&url).unwrap().prefix("damage").timeout(Duration::from_secs(20));
    let (bad, odd, good, node) = (key(), key(), key(), NodeId::random().unwrap());
    let snapshot = Snapshot::from_bytes("x".into());
    let [name, ..] = store.session_keys(&bad);
    store.query::<()>(redis::cmd("SET").arg(&name).arg("other").arg("PX").arg(60_000)).await.unwrap();
    for _ in 0..2 {
        assert!(matches!(store.acquire(&bad, node, SPAN).await, Err(StoreError::Damaged(_))));
        assert!(matches!(store.save(&bad, node, 2, snapshot.clone(), SPAN).await, Err(StoreError::Damaged(_))));
    }
    assert_eq!(store.create(&odd, node, SPAN, snapshot.clone(), SPAN).await, Ok(1));
    let [name, _, tracks, ..] = store.session_keys(&odd);
    store.query::<()>(redis::cmd("HSET").arg(&name).arg("v").arg("many")).await.unwrap();
    assert!(matches!(store.acquire(&odd, node, SPAN).await, Err(StoreError::Damaged(_))));
    store.query::<()>(redis::cmd("HSET").arg(&tracks).arg("1").arg("no track")).await.unwrap();
    let id = EventId { stream: StreamId(1), number: 1 };
    assert!(matches!(store.after(&odd, id, 1).await, Err(StoreError::Damaged(_))));
    assert_eq!(store.create(&good, node, SPAN, snapshot, SPAN).await, Ok(1), "the others go on");
    let keys = [bad.clone(), good.clone()];
    assert_eq!(store.renew(node, &keys, SPAN).await, Ok(vec![false, true]), "nor does it cost them their leases");
    for key in [bad, odd, good] {
        store.query::<()>(redis::cmd("UNLINK").arg(&store.session_keys(&key)[..])).await.unwrap();
    }
}
