//! Sessions that sleep: a quiet one turned into about a hundred bytes, which wake anywhere.
//!
//! [`Session::sleep`](crate::Session::sleep) writes a [`Snapshot`], [`Session::wake`](crate::Session::wake) reads it. The session
//! that wakes sends, byte for byte, what one that never slept would have sent. What a snapshot does not hold: the endpoint,
//! which the waking side has; the catalogue, of which [`Generations`](crate::Generations) alone are kept, so that what changed
//! meanwhile is told; bytes that were not sent, as a session with such does not sleep; the readers of its streams, which the
//! driver keeps, and breaks their silences by [`KeepAlives`].
//!
//! [`Session::checkpoint`](crate::Session::checkpoint) writes the same also while calls run, for another node to
//! [take over](crate::Session::take_over) from if this one dies.
//!
//! ```text
//!   version  length of the body  body                                                       FNV-1a of all before
//!   1 byte   varint              session id, principal, peer, times, calls, streams, timers    8 bytes
//! ```
//!
//! The checksum finds accidents, not attackers: who can write into the store owns the sessions in it. Yet no bytes make waking
//! panic, hang, or take memory out of proportion to their number.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use crate::keep_alives::KeepAlives;
use crate::machine::Level;
use crate::peer::{Caller, Principal, Revision};
use crate::roster::SessionId;
use crate::time::Time;
use crate::timers::Timer;

/// A session that sleeps: compact, versioned and self-contained bytes, for memory or any store.
///
/// It holds what the client sent and who it is, and its session id, which is a secret: keep it as safe as those.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot(Bytes);

/// What is left of a session that has gone to sleep.
#[derive(Clone, Debug)]
pub struct Asleep {
    /// All of it that has to be kept.
    pub snapshot: Snapshot,
    /// When it must wake by itself at the latest, to be handed [`Input::Tick`](crate::Input::Tick), and why; comments aside.
    /// [`Timer::Idle`] means that it need not wake: it ends, and so do the streams that somebody reads.
    pub wake_at: Option<(Time, Timer)>,
    /// The open event streams, whose silence is to be broken without waking it. Empty for most.
    pub keep_alives: KeepAlives,
    /// The resources that it follows. Empty for most.
    pub follows: Vec<Box<str>>,
}

/// What another node needs to go on with a session if this one dies.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// To be stored, and handed to [`Session::take_over`](crate::Session::take_over).
    pub snapshot: Snapshot,
    /// Differs whenever something differs that a client can have been told of or that must not be lost: with an equal one there
    /// is no need to store the snapshot again. Times, and counts of what nobody has seen, are not in it.
    pub digest: u64,
}

/// Why a snapshot does not wake. Whatever the reason, its session is lost: answer its client with 404, so that it opens a new
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It is shorter than it says: it was not stored whole.
    Truncated,
    /// It is not what was written, or it was never a snapshot.
    Damaged,
    /// A newer release of this library wrote it, in this version of the format. That release can wake it.
    Version(u8),
    /// Its session was opened in a revision that this endpoint does not serve.
    Unserved(Revision),
    /// It is a [checkpoint](crate::Session::checkpoint) of a session that lived on: to be
    /// [taken over](crate::Session::take_over), not woken.
    Lived,
}

impl Snapshot {
    /// A snapshot that was stored. It is judged only when it wakes.
    #[must_use]
    pub const fn from_bytes(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// Its bytes, to be stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its bytes, handed over.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Whose it is. Cheap: nothing but its beginning is read, and the checksum is not. `None` if that is not a snapshot's.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.head().map(|(session, _)| session)
    }

    /// Whether the caller is who opened the session: for anyone else it does not exist (HTTP-21). As cheap.
    #[must_use]
    pub fn belongs_to(&self, caller: &Caller) -> bool {
        belongs_to(&self.0, caller)
    }

    fn head(&self) -> Option<(SessionId, Option<&str>)> {
        head(&self.0)
    }

    pub(crate) fn seal(body: Writer) -> Self {
        let body = body.written;
        let mut out = Writer { written: Vec::with_capacity(body.len() + HEAD + CHECKSUM), digest: None };
        out.byte(VERSION);
        out.bytes(&body);
        let sum = checksum(&out.written);
        out.raw(&sum.to_le_bytes());
        Self(out.written.into_boxed_slice().into())
    }

    /// The body, once everything about it is known to be as it was written.
    pub(crate) fn open(&self) -> Result<Reader<'_>, SnapshotError> {
        match self.0.first() {
            None => return Err(SnapshotError::Truncated),
            Some(&VERSION) => {}
            Some(&version @ (VERSION..)) => return Err(SnapshotError::Version(version)),
            // No release ever wrote an older one.
            Some(_) => return Err(SnapshotError::Damaged),
        }
        let mut from = Reader(&self.0[1..]);
        let Some(length) = from.number() else {
            // A varint of any number ends within the head.
            return Err(if self.0.len() < HEAD { SnapshotError::Truncated } else { SnapshotError::Damaged });
        };
        let body = usize::try_from(length).ok().and_then(|length| from.take(length)).ok_or(SnapshotError::Truncated)?;
        let Some(sum) = from.array() else { return Err(SnapshotError::Truncated) };
        let end = self.0.len() - CHECKSUM;
        if !from.is_done() || u64::from_le_bytes(sum) != checksum(&self.0[..end]) {
            return Err(SnapshotError::Damaged);
        }
        Ok(Reader(body))
    }
}

impl From<Bytes> for Snapshot {
    fn from(bytes: Bytes) -> Self {
        Self::from_bytes(bytes)
    }
}

/// Shows the length alone: the bytes are the client's secrets.
impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({} bytes)", self.0.len())
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => {
                f.write_str("the snapshot was not stored whole: drop it, its client opens a new session")
            }
            Self::Damaged => f.write_str("the snapshot is damaged: drop it, its client opens a new session"),
            Self::Version(version) => write!(
                f,
                "the snapshot has format {version}, and this release reads {VERSION}: wake it with the release that wrote it, or drop it"
            ),
            Self::Unserved(revision) => write!(
                f,
                "the session speaks {revision}, which this server does not serve: serve it again, or drop the snapshot"
            ),
            Self::Lived => {
                f.write_str("the snapshot was taken while its session lived: take it over in place of waking it")
            }
        }
    }
}

impl core::error::Error for SnapshotError {}

/// How much of a session is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of one that is quiet.
    All,
    /// What its client can have been told of, of one that lives on.
    Told,
}

/// Writes a body.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    written: Vec<u8>,
    /// Of what was not written loosely, if it is wanted.
    digest: Option<u64>,
}

impl Writer {
    /// One that makes a [`Checkpoint::digest`], too.
    pub(crate) fn digesting() -> Self {
        Self { written: Vec::new(), digest: Some(SEED) }
    }

    /// The digest of what was written so far.
    pub(crate) fn digest(&self) -> u64 {
        self.digest.unwrap_or(SEED)
    }

    /// Writes what the digest leaves out: times, and counts of what nobody has seen.
    pub(crate) fn loosely(&mut self, write: impl FnOnce(&mut Self)) {
        let digest = self.digest.take();
        write(self);
        self.digest = digest;
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.raw(&[byte]);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.written.extend_from_slice(bytes);
        if let Some(digest) = &mut self.digest {
            *digest = checksum_on(*digest, bytes);
        }
    }

    /// Seven bits a byte, the lowest first.
    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    pub(crate) fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    /// The digest leaves it out.
    pub(crate) fn time(&mut self, time: Time) {
        self.loosely(|out| out.number(time.0));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.raw(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.byte(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads a body. `None` says that it is damaged; nothing is allocated for what is not there.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// A number in its shortest form.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A counter. What counts on from it never overflows.
    pub(crate) fn counter(&mut self) -> Option<u64> {
        self.number().filter(|number| *number <= LAST_COUNT)
    }

    /// The number of items that follow, each of at least `least` bytes.
    pub(crate) fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len() / least).then_some(count)
    }

    pub(crate) fn time(&mut self) -> Option<Time> {
        self.number().map(Time)
    }

    pub(crate) fn level(&mut self) -> Option<Level> {
        Level::ALL.get(usize::from(self.byte()?)).copied()
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn slice(&mut self) -> Option<&'a [u8]> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// Copied, so that what wakes does not hold its snapshot.
    pub(crate) fn bytes(&mut self) -> Option<Bytes> {
        self.slice().map(|bytes| if bytes.is_empty() { Bytes::new() } else { Bytes::copy_from_slice(bytes) })
    }

    pub(crate) fn str(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.slice()?).ok()
    }

    pub(crate) fn text(&mut self) -> Option<Box<str>> {
        self.str().map(Box::from)
    }

    /// An option: its outer layer says whether it could be read.
    #[allow(clippy::option_option)]
    pub(crate) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }

    /// As many items as were counted.
    pub(crate) fn list<T>(&mut self, least: usize, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count(least)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(read(self)?);
        }
        Some(items)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

fn head(snapshot: &[u8]) -> Option<(SessionId, Option<&str>)> {
    let mut from = Reader(snapshot.strip_prefix(&[VERSION])?);
    from.number()?;
    Some((SessionId::new(from.array()?), from.option(Reader::str)?))
}

/// [`Snapshot::belongs_to`], of bytes that lie elsewhere.
pub(crate) fn belongs_to(snapshot: &[u8], caller: &Caller) -> bool {
    head(snapshot).is_some_and(|(_, principal)| principal == caller.principal.as_ref().map(Principal::as_str))
}

/// FNV-1a: each step is a bijection, so one changed byte is always found.
fn checksum(bytes: &[u8]) -> u64 {
    checksum_on(SEED, bytes)
}

fn checksum_on(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// The version of the format: raised with each change to what is written, so that no release misreads another's.
const VERSION: u8 = 2;
/// Bytes of the longest head: version, and a length of 64 bits.
const HEAD: usize = 1 + 10;
const CHECKSUM: usize = 8;
/// A counter that counts a billion times a second reaches this after a century.
const LAST_COUNT: u64 = 1 << 62;
