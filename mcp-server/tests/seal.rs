//! Sealed state opens only with its key, unchanged, and for what it is bound to (MRTR-8, MRTR-9).

use mcp_server::{Keys, Seal};

const OLD: [u8; 32] = [1; 32];
const NEW: [u8; 32] = [2; 32];

#[test]
fn what_was_sealed_opens_again() {
    let keys = Keys::random().expect("random bytes");
    for plain in [&b""[..], b"x", &[0xFF; 5000]] {
        let sealed = keys.seal(b"bound", plain);
        assert!(sealed.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        assert_eq!(keys.open(b"bound", &sealed).as_deref(), Some(plain));
    }
}

#[test]
fn every_change_of_a_character_is_noticed_case_116() {
    let keys = Keys::new(NEW);
    let sealed = keys.seal(b"bound", b"state");
    for position in 0..sealed.len() {
        for other in ["A", "B", "_", "=", "é", ""] {
            let changed = format!("{}{other}{}", &sealed[..position], &sealed[position + 1..]);
            if changed != sealed {
                assert_eq!(keys.open(b"bound", &changed), None, "{changed}");
            }
        }
    }
    for made_up in ["", "A", "AA", &sealed[1..], &format!("{sealed}A"), &format!(" {sealed}"), &"A".repeat(100_000)] {
        assert_eq!(keys.open(b"bound", made_up), None);
    }
}

#[test]
fn state_cannot_be_moved_to_another_request_mrtr_9() {
    let keys = Keys::new(NEW);
    let sealed = keys.seal(b"tools/call a", b"state");
    for bound in [&b""[..], b"tools/call b", b"tools/call", b"tools/call as"] {
        assert_eq!(keys.open(bound, &sealed), None);
    }
    assert_ne!(keys.seal(b"ab", b"c"), keys.seal(b"a", b"bc"), "no byte moves from what is bound to what is sealed");
}

#[test]
fn keys_can_be_rotated_without_losing_what_is_under_way() {
    let before = Keys::new(OLD).seal(b"b", b"state");
    let during = Keys::new(NEW).and_retired(OLD);
    assert_eq!(during.open(b"b", &before).as_deref(), Some(&b"state"[..]));
    let fresh = during.seal(b"b", b"more");
    assert_eq!(Keys::new(NEW).open(b"b", &fresh).as_deref(), Some(&b"more"[..]), "the new key seals");
    assert_eq!(Keys::new(NEW).open(b"b", &before), None, "the old key is left out at last");
    assert_eq!(Keys::new(OLD).open(b"b", &fresh), None);
}

#[test]
fn keys_are_never_shown() {
    assert_eq!(format!("{:?}", Keys::new([0xAB; 32]).and_retired(OLD)), "Keys { retired: 1, .. }");
}
