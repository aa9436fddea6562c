//! Whatever bytes come out of a store,
//! 1. waking and taking over end in an error or in a session, and that session does no harm, whatever is said to it;
//! 2. what wakes and sleeps again, wakes again, with the same bytes.
//!
//! The input is a snapshot, and also the body of one that was forged with a right length and checksum.

#![no_main]

use std::sync::Arc;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use mcp_core::{
    Asleep, Caller, Close, Endpoint, Generations, Input, KeepAlives, Machine, MachineId, Output, Scopes, Session,
    Snapshot, Time, wire,
};
use serde_json::json;
use testkit::fixture;

const LISTED: Generations = Generations::new(1, 2, 3);
const NOW: Time = Time(2_000_000);

fuzz_target!(|data: &[u8]| {
    let endpoint = fixture::builder().resources(true, true).build().unwrap();
    for snapshot in [Snapshot::from_bytes(Bytes::copy_from_slice(data)), forge(data)] {
        let _ = (snapshot.session(), snapshot.belongs_to(&Caller::anonymous()));
        if let Ok(session) = wake(&snapshot, &endpoint) {
            again(session, &endpoint);
        }
        if let Ok(session) = wake(&snapshot, &endpoint) {
            live_on(session, &endpoint);
        }
        if let Ok(session) = Session::take_over(MachineId(1), &snapshot, Arc::clone(&endpoint), LISTED, NOW) {
            live_on(session, &endpoint);
        }
    }
});

fn wake(snapshot: &Snapshot, endpoint: &Arc<Endpoint>) -> Result<Session, mcp_core::SnapshotError> {
    Session::wake(MachineId(1), snapshot, KeepAlives::default(), Arc::clone(endpoint), LISTED, NOW)
}

fn again(mut session: Session, endpoint: &Arc<Endpoint>) {
    obey(&mut session);
    if let Ok(Asleep { snapshot, .. }) = session.sleep(LISTED) {
        let session = wake(&snapshot, endpoint).expect("what fell asleep wakes");
        assert_eq!(session.sleep(LISTED).expect("and sleeps again").snapshot, snapshot);
    }
}

fn live_on(mut session: Session, endpoint: &Arc<Endpoint>) {
    let (view, caller) = (fixture::view(), Caller::new("ann@example.com", Scopes::default()));
    obey(&mut session);
    let echo = fixture::request(2, "tools/call", &json!({"name": "echo", "arguments": {}}));
    let replies = (1..6).map(|id| json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    for message in replies.chain([fixture::initialized(), echo, fixture::request(9, "tools/list", &json!({}))]) {
        let message = wire::read(message.to_string().into(), endpoint.limits()).unwrap();
        session.handle(NOW, Input::Message { message, head: None, from: &caller, view: &view });
        obey(&mut session);
    }
    let _ = session.checkpoint(LISTED);
    for _ in 0..20 {
        let Some((at, _)) = session.deadline() else { break };
        session.handle(at, Input::Tick);
        obey(&mut session);
    }
    session.handle(NOW, Input::Close(Close::Shutdown));
    obey(&mut session);
}

fn obey(session: &mut Session) {
    while let Some(output) = session.poll_output() {
        if let Output::Ready(stream) = output {
            let _ = session.pull(stream, &mut Vec::new(), usize::MAX);
        }
    }
}

/// As the library writes it.
fn forge(body: &[u8]) -> Snapshot {
    let mut bytes = vec![2];
    let mut length = body.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(body);
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Bytes::from(bytes).into()
}
