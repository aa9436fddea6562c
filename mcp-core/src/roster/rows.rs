//! Rows of one width, packed: what leaves gives its place to the last, so that there are never holes.

use alloc::vec::Vec;
use core::mem;

/// Bytes of a segment. 256 KiB: large enough that an allocator takes it from the system by itself and gives it back whole, and
/// small against what a million sleepers need. As rows are moved together, all segments but the last are full at any time: so
/// memory goes back as sleepers do, and those of a second wave fill what is there. (glibc maps such blocks at first; once it has
/// seen one freed, it takes later ones from its heap, and gives back the end of that.)
const SEGMENT: usize = 256 << 10;

/// Rows of `width` values. They are numbered from 0; room grows by one segment, and shrinks by one.
#[derive(Debug)]
pub(super) struct Rows<T> {
    width: usize,
    /// The rows of one segment.
    each: usize,
    /// The first grows with its rows, as few sleepers should not cost a segment; the others are made whole.
    segments: Vec<Vec<T>>,
    len: usize,
}

impl<T: Copy> Rows<T> {
    pub(super) const fn new(width: usize) -> Self {
        Self { width, each: SEGMENT / mem::size_of::<T>() / width, segments: Vec::new(), len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The row that the next [`Rows::push`] makes.
    pub(super) fn next(&self) -> u32 {
        u32::try_from(self.len).unwrap_or(u32::MAX)
    }

    pub(super) fn get(&self, row: u32) -> &[T] {
        let (segment, start) = self.at(row);
        &self.segments[segment][start..start + self.width]
    }

    pub(super) fn get_mut(&mut self, row: u32) -> &mut [T] {
        let (segment, start) = self.at(row);
        &mut self.segments[segment][start..start + self.width]
    }

    /// Adds a row: as much of it as is given, and `rest` to its width.
    pub(super) fn push(&mut self, parts: &[&[T]], rest: T) {
        let segment = self.len / self.each;
        if segment == self.segments.len() {
            self.segments.push(if segment == 0 { Vec::new() } else { Vec::with_capacity(self.each * self.width) });
        }
        let segment = &mut self.segments[segment];
        let end = segment.len() + self.width;
        parts.iter().for_each(|part| segment.extend_from_slice(part));
        segment.resize(end, rest);
        self.len += 1;
    }

    /// Takes a row out. The last one, if that was another, has its number from now on.
    pub(super) fn remove(&mut self, row: u32) {
        let (to, start) = self.at(row);
        self.len -= 1;
        let from = self.len / self.each;
        let (head, tail) = self.segments.split_at_mut(from);
        let last = &mut tail[0];
        let kept = last.len() - self.width;
        match head.get_mut(to) {
            Some(segment) => segment[start..start + self.width].copy_from_slice(&last[kept..]),
            None => last.copy_within(kept.., start),
        }
        last.truncate(kept);
        if last.is_empty() {
            self.segments.pop();
        } else if from == 0 && last.capacity() > 4 * last.len() {
            last.shrink_to(2 * kept);
        }
    }

    fn at(&self, row: u32) -> (usize, usize) {
        let row = row as usize;
        (row / self.each, row % self.each * self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_fills_the_hole_and_empty_segments_go() {
        let mut rows = Rows::new(1000);
        for n in 0..1000_u32 {
            assert_eq!(rows.next(), n);
            rows.push(&[&n.to_le_bytes()], 7);
        }
        assert_eq!((rows.len(), rows.segments.len()), (1000, 4));
        let number = |rows: &Rows<u8>, row| u32::from_le_bytes(rows.get(row)[..4].try_into().unwrap());
        rows.remove(3);
        assert_eq!((rows.len(), number(&rows, 3), number(&rows, 2)), (999, 999, 2));
        rows.remove(998);
        assert_eq!((rows.len(), number(&rows, 997), rows.get(997)[999]), (998, 997, 7));
        while rows.len() > 10 {
            rows.remove(0);
        }
        assert_eq!(rows.segments.len(), 1);
        assert!(rows.segments[0].capacity() <= 40_000, "{}", rows.segments[0].capacity());
        while rows.len() > 0 {
            rows.remove(0);
        }
        assert!(rows.segments.is_empty());
    }
}
