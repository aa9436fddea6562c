//! The bytes of snapshots, packed by size: an allocator would add 16 to each and keep the holes of those that woke.

use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;

use super::rows::Rows;

/// Sizes grow in steps of 16 bytes, so that 8 are wasted in the mean.
const STEP: usize = 16;
/// Up to 1 KiB. A snapshot is larger only for what its client or its questions brought, and then the cost of a box is small.
const CLASSES: usize = 64;
/// Each row begins with whose it is, so that who is moved can be told.
const OWNER: usize = 4;

/// Snapshots, each found by its length and the row that it was put into.
#[derive(Debug)]
pub(super) struct Pool {
    classes: [Rows<u8>; CLASSES],
    large: Vec<(u32, Box<[u8]>)>,
}

impl Default for Pool {
    fn default() -> Self {
        Self { classes: core::array::from_fn(|class| Rows::new(STEP * (class + 1))), large: Vec::new() }
    }
}

const fn class(len: usize) -> usize {
    (len + OWNER).div_ceil(STEP) - 1
}

impl Pool {
    /// Keeps a snapshot of that owner, and says in which row.
    pub(super) fn put(&mut self, owner: u32, bytes: &[u8]) -> u32 {
        let Some(rows) = self.classes.get_mut(class(bytes.len())) else {
            self.large.push((owner, bytes.into()));
            return u32::try_from(self.large.len() - 1).unwrap_or(u32::MAX);
        };
        let row = rows.next();
        rows.push(&[&owner.to_le_bytes(), bytes], 0);
        row
    }

    pub(super) fn get(&self, len: usize, row: u32) -> &[u8] {
        match self.classes.get(class(len)) {
            Some(rows) => &rows.get(row)[OWNER..OWNER + len],
            None => &self.large[row as usize].1,
        }
    }

    /// The owner of a snapshot has another number.
    pub(super) fn rename(&mut self, len: usize, row: u32, owner: u32) {
        match self.classes.get_mut(class(len)) {
            Some(rows) => rows.get_mut(row)[..OWNER].copy_from_slice(&owner.to_le_bytes()),
            None => self.large[row as usize].0 = owner,
        }
    }

    /// Gives a snapshot out, and says who was moved into its row, if anybody was.
    pub(super) fn take(&mut self, len: usize, row: u32) -> (Bytes, Option<u32>) {
        let Some(rows) = self.classes.get_mut(class(len)) else {
            let (_, bytes) = self.large.swap_remove(row as usize);
            if self.large.capacity() > 4 * self.large.len() {
                self.large.shrink_to(2 * self.large.len());
            }
            return (bytes.into(), self.large.get(row as usize).map(|(owner, _)| *owner));
        };
        let bytes = Bytes::copy_from_slice(&rows.get(row)[OWNER..OWNER + len]);
        rows.remove(row);
        let moved = (row < rows.next()).then(|| rows.get(row));
        (bytes, moved.and_then(|row| row.first_chunk()).map(|owner| u32::from_le_bytes(*owner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_of_any_length_comes_back_and_who_was_moved_is_said() {
        for len in [0, 1, 11, 12, 13, 136, 140, 1019, 1020, 1021, 5000] {
            let mut pool = Pool::default();
            let bytes = |n: u8| alloc::vec![n; len];
            let rows: Vec<u32> = (1..=3).map(|n| pool.put(u32::from(n) * 10, &bytes(n))).collect();
            assert_eq!(rows, [0, 1, 2]);
            pool.rename(len, 2, 77);
            let (taken, moved) = pool.take(len, 0);
            assert_eq!((&taken[..], moved), (&bytes(1)[..], Some(77)), "{len}");
            assert_eq!((pool.get(len, 0), pool.get(len, 1)), (&bytes(3)[..], &bytes(2)[..]));
            assert_eq!(pool.take(len, 1).1, None);
            assert_eq!(pool.take(len, 0), (bytes(3).into(), None));
        }
    }
}
