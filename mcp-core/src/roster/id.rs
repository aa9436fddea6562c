//! What a session is called.

use alloc::string::String;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_22_visible_characters_and_only_those_parse_http_20() {
        let id = SessionId::new([0xA7; 16]);
        let text = id.encode();
        assert_eq!(text.len(), 22);
        assert!(text.bytes().all(|b| (0x21..=0x7E).contains(&b)));
        assert_eq!(SessionId::parse(text.as_bytes()), Some(id));
        for bad in [&b""[..], b"gone", &[b'A'; 23], &[b'A'; 10_000], "é".as_bytes(), b"!!!!!!!!!!!!!!!!!!!!!!"] {
            assert_eq!(SessionId::parse(bad), None);
        }
    }
}
