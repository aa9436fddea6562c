//! All who sleep: 48 bytes of each, beside its snapshot.

use alloc::vec::Vec;

use bytes::Bytes;
use hashbrown::HashTable;

use super::SessionId;
use super::pool::Pool;
use super::rows::Rows;
use super::shares::{SHARDS, Who, shard, shrink};
use super::wheel::{NIL, Wheel};
use crate::time::{Span, Time};

/// What is known of one sleeper. Small on purpose: there may be a million.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) id: SessionId,
    pub(super) who: Option<Who>,
    /// When to look at it; [`Time::MAX`] for never.
    pub(super) at: Time,
    /// Its neighbours in the list of those who fall due at about the same time.
    pub(super) prev: u32,
    pub(super) next: u32,
    /// Where its snapshot is.
    row: u32,
    size: Size,
}

/// The length of a snapshot, in 24 bits, and three marks.
#[derive(Clone, Copy, Debug)]
struct Size(u32);

/// At its deadline it ends, where another would wake.
pub(super) const EXPIRES: u32 = 1 << 24;
/// Its client has sent nothing after the handshake.
pub(super) const OPENING: u32 = 1 << 25;
/// It has open streams, or follows something, or is to be told something: there is more of it elsewhere.
pub(super) const ASIDE: u32 = 1 << 26;

/// The longest snapshot that is kept: 16 MiB. A session with more open questions than fit stays live.
pub(super) const LONGEST: usize = (1 << 24) - 1;

impl Record {
    pub(super) const fn is(&self, mark: u32) -> bool {
        self.size.0 & mark != 0
    }

    pub(super) const fn len(&self) -> usize {
        (self.size.0 & (LONGEST as u32)) as usize
    }
}

/// The table of sleepers. Rows are dense, so a row is good until the next removal.
#[derive(Debug)]
pub(super) struct Sleepers {
    records: Rows<Record>,
    rows: Vec<HashTable<u32>>,
    pool: Pool,
    wheel: Wheel,
}

fn hash(id: SessionId) -> u64 {
    // Random bytes of our own; folded, as ids of tests are not.
    let bytes = u128::from_le_bytes(id.bytes());
    (bytes as u64 ^ (bytes >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)
}

impl Sleepers {
    pub(super) fn new(idle: Span) -> Self {
        Self {
            records: Rows::new(1),
            rows: (0..SHARDS).map(|_| HashTable::new()).collect(),
            pool: Pool::default(),
            wheel: Wheel::new(idle),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn get(&self, row: u32) -> &Record {
        &self.records.get(row)[0]
    }

    pub(super) fn snapshot(&self, row: u32) -> &[u8] {
        let record = self.get(row);
        self.pool.get(record.len(), record.row)
    }

    pub(super) fn find(&self, id: SessionId) -> Option<u32> {
        let hash = hash(id);
        self.rows[shard(hash)].find(hash, |row| self.get(*row).id == id).copied()
    }

    /// Takes one in that is not there yet, with a snapshot of no more than [`LONGEST`].
    pub(super) fn insert(&mut self, id: SessionId, who: Option<Who>, at: Time, marks: u32, snapshot: &[u8]) {
        let row = self.records.next();
        let size = Size(u32::try_from(snapshot.len()).unwrap_or_default() | marks);
        let place = self.pool.put(row, snapshot);
        let record = Record { id, who, at, prev: NIL, next: NIL, row: place, size };
        self.records.push(&[&[record]], record);
        let (hash, records) = (hash(id), &self.records);
        self.rows[shard(hash)].insert_unique(hash, row, |row| self::hash(records.get(*row)[0].id));
        self.wheel.insert(&mut self.records, row);
    }

    /// Takes one out.
    pub(super) fn remove(&mut self, row: u32) -> (Record, Bytes) {
        self.wheel.remove(&mut self.records, row);
        let record = *self.get(row);
        let (bytes, moved) = self.pool.take(record.len(), record.row);
        if let Some(owner) = moved {
            self.records.get_mut(owner)[0].row = record.row;
        }
        self.forget(record.id, row);
        self.records.remove(row);
        if row < self.records.next() {
            self.renamed(row);
        }
        (record, bytes)
    }

    fn forget(&mut self, id: SessionId, row: u32) {
        let (hash, records) = (hash(id), &self.records);
        let table = &mut self.rows[shard(hash)];
        if let Ok(entry) = table.find_entry(hash, |known| *known == row) {
            entry.remove();
        }
        shrink(table, |row| self::hash(records.get(*row)[0].id));
    }

    /// The last record has become this one.
    fn renamed(&mut self, row: u32) {
        let (record, before) = (*self.get(row), self.records.next());
        let hash = hash(record.id);
        if let Some(known) = self.rows[shard(hash)].find_mut(hash, |known| *known == before) {
            *known = row;
        }
        self.pool.rename(record.len(), record.row, row);
        self.wheel.moved(&mut self.records, row);
    }

    /// Looks at it at another time.
    pub(super) fn rearm(&mut self, row: u32, at: Time) {
        self.wheel.remove(&mut self.records, row);
        self.records.get_mut(row)[0].at = at;
        self.wheel.insert(&mut self.records, row);
    }

    pub(super) fn mark(&mut self, row: u32, mark: u32) {
        self.records.get_mut(row)[0].size.0 |= mark;
    }

    /// The time is that now.
    pub(super) fn advance(&mut self, now: Time) {
        self.wheel.advance(now);
    }

    /// One whose time has come.
    pub(super) fn due(&mut self, now: Time) -> Option<u32> {
        let id = self.wheel.due(&mut self.records, now)?;
        self.find(id)
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }
}
