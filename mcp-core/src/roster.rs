//! Many sessions: their ids, caps and deadlines. The machines themselves are kept by the adapter.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hashbrown::HashMap;

use crate::fault::{Code, Fault};
use crate::peer::Principal;
use crate::policy::Limits;
use crate::time::Time;

/// The id of a session: 16 random bytes from the driver, 22 characters of base64url on the wire (HTTP-20).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId([u8; 16]);

impl SessionId {
    /// An id of bytes that must be random: 128 unguessable bits.
    #[must_use]
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// The id that was written so; `None` for everything that this library never wrote.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        if text.len() != 22 {
            return None;
        }
        let written = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        (written == 16).then_some(Self(bytes))
    }

    /// Its text.
    #[must_use]
    pub fn encode(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

/// Shows the first four characters only: an id is a secret of its client.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({}…)", &self.encode()[..4])
    }
}

/// Which sessions live, and when each must be looked at again.
///
/// A session that is busy costs nothing here: its entry is only moved to an earlier time, never to a later one. When an
/// entry falls due, the driver asks the session for its true deadline and [arms](Roster::arm) it anew.
#[derive(Debug)]
pub struct Roster {
    cap: usize,
    each: usize,
    entries: HashMap<SessionId, Entry, id_hash::State>,
    /// How many each principal has: only of those who have any, so that nobody who comes and goes leaves a trace.
    by: BTreeMap<Principal, usize>,
    due: BTreeSet<(Time, SessionId)>,
}

#[derive(Debug)]
struct Entry {
    armed: Time,
    principal: Option<Principal>,
}

pub(crate) mod id_hash {
    //! Session ids are random bytes of our own, so any hash of them is uniform: the first eight bytes will do.
    use core::hash::{BuildHasher, Hasher};

    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct State;
    #[derive(Debug, Default)]
    pub(crate) struct First(u64);

    impl BuildHasher for State {
        type Hasher = First;
        fn build_hasher(&self) -> First {
            First(0)
        }
    }
    impl Hasher for First {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for chunk in bytes.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
            }
        }
    }
}

impl Roster {
    /// A roster that takes at most [`Limits::sessions`], and [`Limits::sessions_each`] of one principal.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self {
            cap: limits.sessions,
            each: limits.sessions_each,
            entries: HashMap::with_hasher(id_hash::State),
            by: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Takes a new session in, and who opens it. Those without a principal share what all have together.
    ///
    /// # Errors
    ///
    /// At a cap: a fault with status 503. Those that live are never evicted for it.
    pub fn admit(&mut self, session: SessionId, principal: Option<&Principal>) -> Result<(), Fault> {
        let full = |message| Err(Fault::new(Code::INTERNAL, message).with_status(503));
        if self.entries.len() >= self.cap {
            return full("Too many sessions: end one with DELETE, or try again later");
        }
        if let Some(principal) = principal {
            let own = self.by.get(principal).copied().unwrap_or_default();
            if own >= self.each {
                return full("You have too many sessions: end one of them with DELETE");
            }
            self.by.insert(principal.clone(), own + 1);
        }
        self.entries.insert(session, Entry { armed: Time::MAX, principal: principal.cloned() });
        Ok(())
    }

    /// Has the session looked at no later than `at`. Unknown sessions and later times change nothing.
    ///
    /// Returns whether this is now the earliest of all, so that a sleeping driver should wake.
    pub fn arm(&mut self, session: SessionId, at: Time) -> bool {
        let Some(Entry { armed, .. }) = self.entries.get_mut(&session) else { return false };
        if at >= *armed {
            return false;
        }
        self.due.remove(&(*armed, session));
        *armed = at;
        self.due.insert((at, session));
        self.due.first() == Some(&(at, session))
    }

    /// A session whose time has come, disarmed: tick it, then arm it anew or remove it.
    pub fn poll_due(&mut self, now: Time) -> Option<SessionId> {
        let (at, session) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        if let Some(entry) = self.entries.get_mut(&session) {
            entry.armed = Time::MAX;
        }
        Some(session)
    }

    /// Lets a session go.
    pub fn remove(&mut self, session: SessionId) {
        let Some(Entry { armed, principal }) = self.entries.remove(&session) else { return };
        self.due.remove(&(armed, session));
        if let Some(principal) = principal
            && let Some(own) = self.by.get_mut(&principal)
        {
            *own -= 1;
            if *own == 0 {
                self.by.remove(&principal);
            }
        }
    }

    /// When the next session falls due.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// How many sessions live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> SessionId {
        SessionId::new([n; 16])
    }

    fn of(sessions: usize, sessions_each: usize) -> Roster {
        Roster::new(&Limits { sessions, sessions_each, ..Limits::default() })
    }

    #[test]
    fn ids_are_22_visible_characters_and_only_those_parse_http_20() {
        let text = id(0xA7).encode();
        assert_eq!(text.len(), 22);
        assert!(text.bytes().all(|b| (0x21..=0x7E).contains(&b)));
        assert_eq!(SessionId::parse(text.as_bytes()), Some(id(0xA7)));
        for bad in [&b""[..], b"gone", &[b'A'; 23], &[b'A'; 10_000], "é".as_bytes(), b"!!!!!!!!!!!!!!!!!!!!!!"] {
            assert_eq!(SessionId::parse(bad), None);
        }
    }

    #[test]
    fn a_full_roster_refuses_with_503_and_keeps_those_it_has() {
        let mut roster = of(1, 1);
        assert!(roster.admit(id(1), None).is_ok());
        let fault = roster.admit(id(2), None).unwrap_err();
        assert_eq!(fault.status(), 503);
        assert_eq!(roster.len(), 1);
        roster.remove(id(1));
        assert!(roster.admit(id(2), None).is_ok());
    }

    #[test]
    fn one_principal_takes_no_more_than_its_share_and_gets_it_back() {
        let (ann, bob) = (Principal::from("ann"), Principal::from("bob"));
        let mut roster = of(9, 2);
        assert!(roster.admit(id(1), Some(&ann)).is_ok());
        assert!(roster.admit(id(2), Some(&ann)).is_ok());
        assert_eq!(roster.admit(id(3), Some(&ann)).unwrap_err().status(), 503);
        assert!(roster.admit(id(4), Some(&bob)).is_ok(), "the others are not held back");
        (5..9).for_each(|n| assert!(roster.admit(id(n), None).is_ok(), "nobody's share is that of all"));
        roster.remove(id(1));
        roster.remove(id(1));
        assert!(roster.admit(id(3), Some(&ann)).is_ok());
        assert!(roster.admit(id(1), Some(&ann)).is_err(), "and it was given back once");
        (1..9).for_each(|n| roster.remove(id(n)));
        assert!(roster.is_empty() && roster.by.is_empty(), "nobody leaves a trace");
    }

    #[test]
    fn arming_moves_a_deadline_to_earlier_times_only_until_it_fell_due() {
        let mut roster = of(9, 9);
        roster.admit(id(1), None).unwrap();
        roster.admit(id(2), None).unwrap();
        assert!(roster.arm(id(1), Time(50)));
        assert!(!roster.arm(id(1), Time(90)));
        assert!(roster.arm(id(2), Time(20)));
        assert_eq!(roster.deadline(), Some(Time(20)));
        assert_eq!(roster.poll_due(Time(19)), None);
        assert_eq!(roster.poll_due(Time(50)), Some(id(2)));
        assert_eq!(roster.poll_due(Time(50)), Some(id(1)));
        assert_eq!(roster.poll_due(Time(50)), None);
        assert!(roster.arm(id(1), Time(90)));
        roster.remove(id(1));
        assert_eq!(roster.deadline(), None);
    }
}
