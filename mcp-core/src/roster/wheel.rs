//! When each sleeper is to be looked at: a wheel of lists, so that neither setting nor finding a deadline takes longer for all
//! those who sleep beside it.
//!
//! One turn covers the idle time. A list holds those who fall due within the same second or so; when its time has come, those of
//! them are put in order that are not due yet. That is work for who falls due in that second, and for nobody else.

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
/// In place of the record before one that is in no list, but among the near.
const NEAR: u32 = HEAD | LISTS as u32;

#[derive(Debug)]
pub(super) struct Wheel {
    /// Milliseconds of one list: longer if the idle time is, so that one turn covers it.
    grain: u64,
    /// The grain up to which all lists are empty.
    tick: u64,
    heads: Box<[u32]>,
    /// One bit for each list that is not empty.
    marks: Box<[u64]>,
    linked: usize,
    /// In order: those of the grains up to `tick`, of the one that passes now, and what few lie further ahead than one turn.
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
        let at = records.get(row)[0].at;
        if at == Time::MAX {
            return;
        }
        let grain = at.0 / self.grain;
        if grain <= self.tick || grain - self.tick >= LISTS {
            return self.bring_near(records, row);
        }
        let list = (grain % LISTS) as u32;
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
        if prev == NEAR {
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
        if at == Time::MAX || prev == NEAR {
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

    fn bring_near(&mut self, records: &mut Rows<Record>, row: u32) {
        let record = &mut records.get_mut(row)[0];
        record.prev = NEAR;
        self.near.insert((record.at, record.id));
    }

    /// Goes on to now, or to the first list in which there is somebody still.
    pub(super) fn advance(&mut self, now: Time) {
        let target = now.0 / self.grain;
        if target > self.tick {
            let ahead = self.marked(self.tick + 1, (target - self.tick).min(LISTS));
            self.tick = ahead.map_or(target, |ahead| self.tick + ahead);
        }
    }

    /// A sleeper whose deadline has passed: of those that passed in different seconds, whichever is found. It must be removed
    /// or have another deadline before the next is asked for.
    pub(super) fn due(&mut self, records: &mut Rows<Record>, now: Time) -> Option<SessionId> {
        loop {
            self.advance(now);
            if let Some((_, id)) = self.near.first().filter(|(at, _)| *at <= now) {
                return Some(*id);
            }
            if self.tick >= now.0 / self.grain {
                return None;
            }
            let row = self.heads[((self.tick + 1) % LISTS) as usize];
            let Record { at, id, .. } = records.get(row)[0];
            if at <= now {
                return Some(id);
            }
            self.remove(records, row);
            self.bring_near(records, row);
        }
    }

    /// When to look again: not after the next deadline, and less than a grain before it.
    pub(super) fn deadline(&self) -> Option<Time> {
        let near = self.near.first().map(|(at, _)| *at);
        let ahead = if self.linked > 0 { self.marked(self.tick + 1, LISTS) } else { None };
        let list = ahead.map(|ahead| Time((self.tick + 1 + ahead).saturating_mul(self.grain)));
        near.into_iter().chain(list).min()
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
