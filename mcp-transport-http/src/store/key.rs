//! Names: of a session in a store, and of a node.

use std::fmt;

use mcp_core::{Principal, SessionId};

/// A session as a store knows it: its id, and whose it is. A session of another principal does not exist.
///
/// The id is a secret of the client; `Debug` shows only its beginning.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// Its id.
    pub session: SessionId,
    /// Who opened it; `None` where nobody is authenticated.
    pub principal: Option<Principal>,
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionKey").field("session", &self.session).finish_non_exhaustive()
    }
}

/// One start of one server process: 16 random bytes, new with each start, so that a process that starts again is another node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId([u8; 16]);

impl NodeId {
    /// A node of bytes that must be random.
    #[must_use]
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// A new one.
    ///
    /// # Errors
    ///
    /// That of the system, if it has no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        Ok(Self(random))
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// The node that was written so by `Display`: 32 hexadecimal digits, lower case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 32 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(|number| Self(number.to_be_bytes()))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_read_as_it_was_written_and_in_no_other_way() {
        let node = NodeId::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(node.to_string(), "000102030405060708090a0b0c0d0eff");
        assert_eq!(NodeId::parse(&node.to_string()), Some(node));
        for text in ["", "000102030405060708090A0B0C0D0EFF", "+00102030405060708090a0b0c0d0eff", "0001"] {
            assert_eq!(NodeId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_does_not_show_its_secret() {
        let key = SessionKey { session: SessionId::new([7; 16]), principal: Some("anna".into()) };
        let shown = format!("{key:?}");
        assert!(!shown.contains("anna") && !shown.contains(&key.session.encode()), "{shown}");
    }
}
