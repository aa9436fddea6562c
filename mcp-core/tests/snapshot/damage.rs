//! What damage, truncation, forgery and other releases do to a snapshot: an error, never a panic or a half-right session.

use super::*;

/// A session that lives on: a call runs and two have asked, each on a stream with events, whose questions wait for
/// `initialized`; one stream listens.
fn checkpoint() -> Snapshot {
    let endpoint = fixture::builder().resources(true, true).build().unwrap();
    let session = Session::new(MachineId(1), endpoint, ID, Time(1_000_000)).resumable();
    let mut client = Script::new(session).resumable();
    client.caller = Caller::new("ann@example.com", Scopes::parse("read write"));
    client.send(&fixture::initialize("2025-11-25", &all_capabilities()));
    client.send(&fixture::request(1, "resources/subscribe", &json!({"uri": "notes://today"})));
    client.attach(&[]);
    for id in 2..5 {
        client.send(&echo(id, &json!(id)));
        client.calls.rotate_right(1);
        client.note(Note::Progress { progress: 0.5, total: None, message: None });
    }
    client.done(ask(&["one"]));
    client.done(ask(&["two", "three"]));
    client.send(&reply(2));
    assert!(!client.machine.can_sleep());
    let checkpoint = client.machine.checkpoint(LISTED).expect("it is open").snapshot;
    assert_eq!(checkpoint.session(), Some(ID));
    checkpoint
}

#[test]
fn every_changed_bit_is_damage_and_every_beginning_is_truncated() {
    let slept = sleep(&mut full());
    assert!(wake(&slept).is_ok());
    let lived = checkpoint();
    assert_eq!(wake(&lived).unwrap_err(), SnapshotError::Lived);
    assert!(take_over(&lived, fixture::endpoint()).is_ok());
    for whole in [slept, lived] {
        damage(whole.as_bytes());
    }
}

fn damage(bytes: &[u8]) {
    let wake = |snapshot: &Snapshot| {
        let _ = (snapshot.session(), snapshot.belongs_to(&Caller::anonymous()));
        let error = wake(snapshot).unwrap_err();
        assert_eq!(take_over(snapshot, fixture::endpoint()).unwrap_err(), error);
        error
    };
    for at in 0..bytes.len() {
        let wrong = (0..8).map(|bit| 1 << bit).chain([0xFF, 0x55]);
        for wrong in wrong {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= wrong;
            let error = wake(&Bytes::from(bytes).into());
            assert_ne!(error, SnapshotError::Lived, "byte {at} xor {wrong}");
        }
        let beginning = Snapshot::from_bytes(Bytes::copy_from_slice(&bytes[..at]));
        assert_eq!(wake(&beginning), SnapshotError::Truncated, "{at} bytes");
    }
    let longer = [bytes, b"\0"].concat();
    assert_eq!(wake(&Bytes::from(longer).into()), SnapshotError::Damaged);
}

#[test]
fn versions_and_revisions_of_others_are_told_apart() {
    let mut client = open(Revision::V2024_11_05, &json!({}));
    let snapshot = sleep(&mut client);
    let mut bytes = snapshot.as_bytes().to_vec();
    assert_eq!(bytes[0], 2, "a change of the format needs a new version, and a test that the old one is refused");
    for version in 3..=255 {
        bytes[0] = version;
        let error = wake(&Bytes::from(bytes.clone()).into()).unwrap_err();
        assert_eq!(error, SnapshotError::Version(version));
        assert!(error.to_string().contains(&format!("format {version}")));
    }
    for never_released in [0, 1] {
        bytes[0] = never_released;
        assert_eq!(wake(&Bytes::from(bytes.clone()).into()).unwrap_err(), SnapshotError::Damaged);
    }

    let newer = fixture::builder().revisions(&[Revision::V2025_11_25]).build().unwrap();
    let error = wake_under(&snapshot, newer, Time(0)).unwrap_err();
    assert_eq!(error, SnapshotError::Unserved(Revision::V2024_11_05));
    assert!(error.to_string().contains("2024-11-05"));
    for error in [SnapshotError::Truncated, SnapshotError::Damaged] {
        assert!(error.to_string().contains("drop it"), "{error}");
    }
}

/// A snapshot of that body with a right length and checksum, as only a forger makes it.
fn forge(body: &[u8]) -> Snapshot {
    let mut bytes = vec![2];
    let mut length = body.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7F).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend_from_slice(body);
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Bytes::from(bytes).into()
}

fn body(snapshot: &Snapshot) -> &[u8] {
    let bytes = snapshot.as_bytes();
    let head = 1 + bytes[1..].iter().position(|byte| *byte < 0x80).unwrap() + 1;
    &bytes[head..bytes.len() - 8]
}

/// Wakes whatever it is, or takes it over, and lives its life to the end.
fn live(snapshot: &Snapshot, endpoint: &Arc<Endpoint>) {
    let now = Time(2_000_000);
    wake_under(snapshot, Arc::clone(endpoint), now).into_iter().for_each(|session| live_on(session, endpoint));
    take_over(snapshot, Arc::clone(endpoint)).into_iter().for_each(|session| live_on(session, endpoint));
}

fn take_over(snapshot: &Snapshot, endpoint: Arc<Endpoint>) -> Result<Session, SnapshotError> {
    Session::take_over(MachineId(1), snapshot, endpoint, Generations::new(3, 2, 1), Time(2_000_000))
}

fn live_on(mut session: Session, endpoint: &Arc<Endpoint>) {
    let (view, caller) = (fixture::view(), Caller::new("ann@example.com", Scopes::default()));
    let obey = |session: &mut Session| {
        while let Some(output) = session.poll_output() {
            if let mcp_core::Output::Ready(stream) = output {
                let _ = session.pull(stream, &mut Vec::new(), usize::MAX);
            }
        }
    };
    for message in [reply(3), reply(4), reply(5), echo(2, &json!(1)), fixture::request(9, "tools/list", &json!({}))] {
        let message = wire::read(message.to_string().into(), endpoint.limits()).unwrap();
        session.handle(Time(2_000_000), Input::Message { message, head: None, from: &caller, view: &view });
        obey(&mut session);
    }
    for _ in 0..100 {
        let Some((at, _)) = session.deadline() else { break };
        session.handle(at, Input::Tick);
        obey(&mut session);
    }
    session.handle(Time(2_000_000), Input::Close(Close::Shutdown));
    obey(&mut session);
}

#[test]
fn a_forged_snapshot_that_changes_nothing_wakes() {
    for snapshot in [sleep(&mut full()), checkpoint()] {
        assert_eq!(forge(body(&snapshot)), snapshot, "so the forgeries below reach the decoder");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300)) {
        assert!(wake(&Bytes::from(bytes.clone()).into()).is_err());
        live(&forge(&bytes), &fixture::endpoint());
    }

    #[test]
    fn no_forgery_panics(changes in vec((any::<Index>(), any::<u8>()), 1..4), end in any::<Index>(), [cut, lived] in any::<[bool; 2]>()) {
        let snapshot = if lived { checkpoint() } else { sleep(&mut full()) };
        let mut bytes = body(&snapshot).to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        live(&forge(&bytes), &fixture::endpoint());
    }
}
