//! When each sleeper is to be looked at: a wheel of lists, so that neither setting nor finding a deadline takes longer for all
//! those who sleep beside it.
//!
//! One turn covers the idle time. A list holds those who fall due within the same second or so; when its time has come, they are
//! put in order. That is work for those who fall due in that second, and for nobody else.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec;

use super::SessionId;
use super::rows::Rows;
use super::sleepers::Record;
use crate::time::{Span, Time};

/// Lists of one turn. 8192 of 1.024 s: 2 h 20 min, a little more than the default idle time, in 32 KiB.
const LISTS: u64 = 8192;
const GRAIN: u64 = 1024;
/// The end of a list.
pub(super) const NIL: u32 = u32::MAX;
/// Marks the number of a list in place of the record before the first one. There are never so many records.
const HEAD: u32 = 1 << 31;

#[derive(Debug)]
pub(super) struct Wheel {
    /// Milliseconds of one list: longer if the idle time is, so that one turn covers it.
    grain: u64,
    /// The grain up to which all are in order.
    tick: u64,
    heads: Box<[u32]>,
    /// One bit for each list that is not empty.
    marks: Box<[u64]>,
    linked: usize,
    /// Those of the grains up to `tick`.
    near: BTreeSet<(Time, SessionId)>,
}

impl Wheel {
    pub(super) fn new(idle: Span) -> Self {
        let mut grain = GRAIN;
        while grain < 1 << 40 && idle.0 / grain >= LISTS - 1 {
            grain *= 2;
        }
        Self {
            grain,
            tick: 0,
            heads: vec![NIL; LISTS as usize].into(),
            marks: vec![0; LISTS as usize / 64].into(),
            linked: 0,
            near: BTreeSet::new(),
        }
    }

    /// Sets the deadline that the record says. [`Time::MAX`] is none.
    pub(super) fn insert(&mut self, records: &mut Rows<Record>, row: u32) {
        let Record { at, id, .. } = records.get(row)[0];
        if at == Time::MAX {
            return;
        }
        let grain = at.0 / self.grain;
        if grain <= self.tick {
            self.near.insert((at, id));
            return;
        }
        // What lies further ahead than one turn is looked at again after that turn.
        let list = (grain.min(self.tick.saturating_add(LISTS - 1)) % LISTS) as u32;
        let first = core::mem::replace(&mut self.heads[list as usize], row);
        let record = &mut records.get_mut(row)[0];
        (record.prev, record.next) = (HEAD | list, first);
        if first != NIL {
            records.get_mut(first)[0].prev = row;
        }
        self.marks[list as usize / 64] |= 1 << (list % 64);
        self.linked += 1;
    }

    /// Stops the deadline that the record says.
    pub(super) fn remove(&mut self, records: &mut Rows<Record>, row: u32) {
        let Record { at, id, prev, next, .. } = records.get(row)[0];
        if at == Time::MAX {
            return;
        }
        if !self.is_linked(at) {
            self.near.remove(&(at, id));
            return;
        }
        self.relink(records, prev, next);
        if next != NIL {
            records.get_mut(next)[0].prev = prev;
        } else if prev & HEAD != 0 {
            let list = prev & !HEAD;
            self.marks[list as usize / 64] &= !(1 << (list % 64));
        }
        self.linked -= 1;
    }

    /// A record was moved into this row.
    pub(super) fn moved(&mut self, records: &mut Rows<Record>, row: u32) {
        let Record { at, prev, next, .. } = records.get(row)[0];
        if at == Time::MAX || !self.is_linked(at) {
            return;
        }
        self.relink(records, prev, row);
        if next != NIL {
            records.get_mut(next)[0].prev = row;
        }
    }

    fn relink(&mut self, records: &mut Rows<Record>, prev: u32, next: u32) {
        match prev & HEAD {
            0 => records.get_mut(prev)[0].next = next,
            _ => self.heads[(prev & !HEAD) as usize] = next,
        }
    }

    const fn is_linked(&self, at: Time) -> bool {
        at.0 / self.grain > self.tick
    }

    /// Puts those in order whose grain has come.
    pub(super) fn advance(&mut self, records: &mut Rows<Record>, now: Time) {
        let target = now.0 / self.grain;
        if target <= self.tick {
            return;
        }
        let (mut from, mut left) = (self.tick + 1, (target - self.tick).min(LISTS));
        // First of all: who is put into a list again is put there as seen from the new time.
        self.tick = target;
        while self.linked > 0
            && let Some(ahead) = self.marked(from, left)
        {
            let list = ((from + ahead) % LISTS) as usize;
            (from, left) = (from + ahead + 1, left - ahead - 1);
            self.marks[list / 64] &= !(1 << (list % 64));
            let mut row = core::mem::replace(&mut self.heads[list], NIL);
            while row != NIL {
                let next = records.get(row)[0].next;
                self.linked -= 1;
                self.insert(records, row);
                row = next;
            }
        }
    }

    /// The sleeper whose deadline is the first that has passed. Only after [`Wheel::advance`].
    pub(super) fn due(&self, now: Time) -> Option<SessionId> {
        self.near.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// When to look again: not after the next deadline, and less than a grain before it if that is within one turn.
    pub(super) fn deadline(&self) -> Option<Time> {
        if let Some((at, _)) = self.near.first() {
            return Some(*at);
        }
        if self.linked == 0 {
            return None;
        }
        let ahead = self.marked(self.tick + 1, LISTS)?;
        Some(Time((self.tick + 1 + ahead).saturating_mul(self.grain)))
    }

    /// How many lists after this grain's the first is that is not empty, of so many.
    fn marked(&self, from: u64, within: u64) -> Option<u64> {
        let mut ahead = 0;
        while ahead < within {
            let list = (from + ahead) % LISTS;
            let marks = self.marks[(list / 64) as usize] >> (list % 64);
            if marks != 0 {
                let ahead = ahead + u64::from(marks.trailing_zeros());
                return (ahead < within).then_some(ahead);
            }
            ahead += 64 - list % 64;
        }
        None
    }
}
