//! The generic cell rate algorithm: of each key, when all that it has taken is paid back.

use std::collections::HashMap;
use std::time::Duration;

/// How fast buckets fill, and how much they hold. Nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    /// What one request costs.
    interval: u64,
    /// How far a key may be ahead of the time and still be served.
    tolerance: u64,
}

impl Rate {
    pub(super) fn new(amount: u32, per: Duration, burst: u32) -> Self {
        let per = u64::try_from(per.as_nanos()).unwrap_or(u64::MAX);
        let interval = (per / u64::from(amount.max(1))).max(1);
        Self { interval, tolerance: interval.saturating_mul(u64::from(burst.saturating_sub(1))) }
    }
}

/// The buckets of all keys that are remembered.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    rate: Rate,
    most: usize,
    /// The time at which each bucket is full again. One that is full already is as good as none.
    due: HashMap<u64, u64>,
    /// The latest that was seen: a clock that runs back does no harm.
    now: u64,
}

impl Buckets {
    pub(super) fn new(rate: Rate, most: usize) -> Self {
        Self { rate, most: most.max(1), due: HashMap::new(), now: 0 }
    }

    /// Takes one out of the bucket of that key, or says after how long there will be one.
    pub(super) fn take(&mut self, key: u64, now: u64) -> Result<(), u64> {
        self.now = self.now.max(now);
        let now = self.now;
        let known = self.due.get(&key).copied();
        let due = known.unwrap_or_default().max(now);
        if let Some(wait) = (due - now).checked_sub(self.rate.tolerance).filter(|wait| *wait > 0) {
            return Err(wait);
        }
        if known.is_none() && self.due.len() >= self.most {
            self.make_room();
        }
        self.due.insert(key, due.saturating_add(self.rate.interval));
        Ok(())
    }

    /// Forgets full buckets, and if there are few, those that are nearest to it: an eighth at once, so that a flood of keys
    /// costs each of them a look at eight.
    fn make_room(&mut self) {
        let now = self.now;
        self.due.retain(|_, due| *due > now);
        let room = self.most - (self.most / 8).max(1);
        let mut surplus = self.due.len().saturating_sub(room);
        if surplus == 0 {
            return;
        }
        let mut dues: Vec<u64> = self.due.values().copied().collect();
        let (_, last, _) = dues.select_nth_unstable(surplus - 1);
        let last = *last;
        self.due.retain(|_, due| {
            let goes = surplus > 0 && *due <= last;
            surplus -= usize::from(goes);
            !goes
        });
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.due.len()
    }
}
