//! How many sessions each principal has.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hasher as _};
use core::num::NonZeroU64;

use hashbrown::HashTable;

use super::SessionId;
use crate::peer::Principal;

/// How many ways a table of sleepers is split. 64, so that none of its parts grows by more than some thousands at once.
pub(super) const SHARDS: usize = 64;

/// The shard of a hash: by bits that a table itself uses for neither its places nor its tags.
pub(super) const fn shard(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

/// Gives back most of what a table no longer needs.
pub(super) fn shrink<T>(table: &mut HashTable<T>, hash: impl Fn(&T) -> u64) {
    if table.capacity() > 32 && table.len() * 8 < table.capacity() {
        table.shrink_to(table.len() * 2, hash);
    }
}

/// A principal, as a hash under a key that nobody outside knows. Two that were taken for one would share their share, no more.
pub(super) type Who = NonZeroU64;

/// Counts the sessions of each principal that has any, so that nobody who comes and goes leaves a trace.
#[derive(Debug)]
pub(super) struct Shares {
    each: usize,
    /// From the id of the first session, which is random and a secret of one client: the core has no entropy of its own.
    key: Option<Key>,
    /// Hash, in two words, and count: 12 bytes, where a pair of both would be 16.
    shards: Vec<HashTable<[u32; 3]>>,
}

#[derive(Debug)]
struct Key(u64, u64);

impl BuildHasher for Key {
    #[expect(deprecated, reason = "the only keyed hash that `core` has; it is kept as it was")]
    type Hasher = core::hash::SipHasher;

    #[expect(deprecated, reason = "as above")]
    fn build_hasher(&self) -> core::hash::SipHasher {
        core::hash::SipHasher::new_with_keys(self.0, self.1)
    }
}

fn hash([low, high, _]: &[u32; 3]) -> u64 {
    u64::from(*low) | u64::from(*high) << 32
}

impl Shares {
    pub(super) fn new(each: usize) -> Self {
        Self { each, key: None, shards: (0..SHARDS).map(|_| HashTable::new()).collect() }
    }

    /// The principal that opens this session.
    pub(super) fn who(&mut self, principal: &Principal, session: SessionId) -> Who {
        let key = self.key.get_or_insert_with(|| {
            let random = u128::from_le_bytes(session.bytes());
            Key(random as u64, (random >> 64) as u64)
        });
        let mut hasher = key.build_hasher();
        hasher.write(principal.as_str().as_bytes());
        Who::new(hasher.finish()).unwrap_or(Who::MIN)
    }

    /// Whether it may have another.
    pub(super) fn has_room(&self, who: Who) -> bool {
        let own = self.shards[shard(who.get())].find(who.get(), |entry| hash(entry) == who.get());
        own.is_none_or(|[_, _, count]| (*count as usize) < self.each) && self.each > 0
    }

    pub(super) fn add(&mut self, who: Who) {
        let key = who.get();
        let entry = self.shards[shard(key)].entry(key, |entry| hash(entry) == key, hash);
        let mut entry = entry.or_insert([key as u32, (key >> 32) as u32, 0]);
        let [_, _, count] = entry.get_mut();
        *count = count.saturating_add(1);
    }

    pub(super) fn take_off(&mut self, who: Who) {
        let table = &mut self.shards[shard(who.get())];
        let Ok(mut entry) = table.find_entry(who.get(), |entry| hash(entry) == who.get()) else { return };
        let [_, _, count] = entry.get_mut();
        *count -= 1;
        if *count == 0 {
            entry.remove();
            shrink(table, hash);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.shards.iter().all(HashTable::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_who_comes_and_goes_leaves_a_trace() {
        let mut shares = Shares::new(2);
        let who = |shares: &mut Shares, n: u32| {
            let name = alloc::format!("user {n}");
            shares.who(&Principal::from(&*name), SessionId::new([n as u8; 16]))
        };
        for n in 0..10_000 {
            let who = who(&mut shares, n);
            assert!(shares.has_room(who));
            shares.add(who);
            shares.add(who);
            assert!(!shares.has_room(who));
        }
        for n in 0..10_000 {
            let who = who(&mut shares, n);
            shares.take_off(who);
            assert!(shares.has_room(who));
            shares.take_off(who);
            shares.take_off(who);
        }
        assert!(shares.is_empty() && shares.shards.iter().map(HashTable::capacity).sum::<usize>() <= SHARDS * 32);
    }

    #[test]
    fn the_key_is_of_the_first_session_so_nobody_knows_which_principals_collide() {
        let (ann, mut shares, mut others) = (Principal::from("ann"), Shares::new(1), Shares::new(1));
        let who = shares.who(&ann, SessionId::new([1; 16]));
        assert_eq!(shares.who(&ann, SessionId::new([2; 16])), who);
        assert_ne!(shares.who(&Principal::from("bob"), SessionId::new([1; 16])), who);
        assert_ne!(others.who(&ann, SessionId::new([2; 16])), who);
    }
}
