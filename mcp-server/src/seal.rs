//! Sealing of state that travels through the client: HMAC-SHA256 with keys that can be rotated (MRTR-8, MRTR-9).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use mcp_core::policy::Seal;
use sha2::Sha256;

/// The first byte of what is sealed: another format, or another use of the same key, gets another number.
const FORMAT: u8 = 1;
/// Bytes of an HMAC-SHA256 tag.
const TAG: usize = 32;
/// Bytes that SHA-256 takes at once.
const BLOCK: usize = 64;
/// Bytes of a key: as many as the hash gives out, so that the key is not the weaker part (RFC 2104, 3).
const KEY: usize = 32;

/// The keys that seal state: the first seals, every one of them opens.
///
/// What is sealed can be read by the client, but not changed, moved to another request, or made up. Servers that answer
/// for one another need the same keys; a server alone can do with [`Keys::random`].
#[derive(Clone)]
pub struct Keys {
    sealing: Hmac<Sha256>,
    retired: Vec<Hmac<Sha256>>,
}

impl Keys {
    /// A key made of 32 secret, random bytes.
    #[must_use]
    pub fn new(key: [u8; KEY]) -> Self {
        Self { sealing: keyed(&key), retired: Vec::new() }
    }

    /// A random key of this process: what it sealed is worth nothing after a restart.
    ///
    /// # Errors
    ///
    /// If the operating system gives no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut key = [0; KEY];
        getrandom::fill(&mut key)?;
        Ok(Self::new(key))
    }

    /// The same keys, and one more that only opens: the key of before the last rotation.
    ///
    /// Keep it as long as state lives ([`Timing::state`](mcp_core::policy::Timing)), then leave it out.
    #[must_use]
    pub fn and_retired(mut self, key: [u8; KEY]) -> Self {
        self.retired.push(keyed(&key));
        self
    }
}

/// Shows how many keys there are, never the keys.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("retired", &self.retired.len()).finish_non_exhaustive()
    }
}

impl Seal for Keys {
    fn seal(&self, bound: &[u8], plain: &[u8]) -> String {
        let tag = tagged(&self.sealing, bound, plain).finalize().into_bytes();
        let mut sealed = Vec::with_capacity(1 + plain.len() + TAG);
        sealed.push(FORMAT);
        sealed.extend_from_slice(plain);
        sealed.extend_from_slice(&tag);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    fn open(&self, bound: &[u8], sealed: &str) -> Option<Vec<u8>> {
        // Strict base64url: no padding and no stray bits, so that one state has one text.
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (format, rest) = sealed.split_first()?;
        if *format != FORMAT {
            return None;
        }
        let (plain, tag) = rest.split_last_chunk::<TAG>()?;
        // `verify_slice` takes the same time wherever the tags differ.
        let ours = |key: &Hmac<Sha256>| tagged(key, bound, plain).verify_slice(tag).is_ok();
        (ours(&self.sealing) || self.retired.iter().any(ours)).then(|| plain.to_vec())
    }
}

fn keyed(key: &[u8; KEY]) -> Hmac<Sha256> {
    // What HMAC does with a key that is shorter than the hash's block (RFC 2104, 2).
    let mut block = [0; BLOCK];
    block[..KEY].copy_from_slice(key);
    Hmac::new(&block.into())
}

/// The tag covers the length of `bound`, so that no byte can move between it and `plain`.
fn tagged(key: &Hmac<Sha256>, bound: &[u8], plain: &[u8]) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(&[FORMAT]);
    mac.update(&(bound.len() as u64).to_be_bytes());
    mac.update(bound);
    mac.update(plain);
    mac
}
