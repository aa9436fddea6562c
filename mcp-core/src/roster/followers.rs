//! What sleepers want to hear of: the lists, if they have a stream open, and the resources that they follow.
//!
//! News is counted, not handed around: each topic has a version, each sleeper the versions that it has seen. So news costs the
//! same however many follow; who has no stream open compares when it wakes, and those who have are visited one by one.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use core::ops::Bound;

use super::SessionId;

/// All topics.
#[derive(Debug, Default)]
pub(super) struct Followers {
    lists: Topic,
    resources: BTreeMap<Arc<str>, Topic>,
    /// Topics with news whose listeners are being visited, each at most once.
    sweeps: VecDeque<Sweep>,
}

#[derive(Debug, Default)]
struct Topic {
    version: u64,
    followers: usize,
    /// Those of them who have a stream open.
    listening: BTreeSet<SessionId>,
    swept: bool,
}

/// A walk over the listeners of one topic, in the order of their ids, so that it can be left and gone on with.
#[derive(Debug)]
struct Sweep {
    /// `None` for the lists.
    topic: Option<Arc<str>>,
    after: Option<SessionId>,
    version: u64,
}

/// What one sleeper follows, and what it knows of it.
#[derive(Debug)]
pub(super) struct Followed {
    listens: bool,
    lists: u64,
    resources: Box<[(Arc<str>, u64)]>,
}

impl Topic {
    fn news(&mut self, topic: Option<Arc<str>>) -> Option<Sweep> {
        self.version += 1;
        let starts = !self.listening.is_empty() && !core::mem::replace(&mut self.swept, !self.listening.is_empty());
        starts.then_some(Sweep { topic, after: None, version: self.version })
    }
}

impl Followers {
    /// Takes in one who goes to sleep knowing all that there is to know.
    pub(super) fn follow(&mut self, session: SessionId, listens: bool, uris: &[Box<str>]) -> Followed {
        if listens {
            self.lists.listening.insert(session);
        }
        let mut follow = |uri: &str| {
            let known = self.resources.get_key_value(uri).map(|(uri, _)| Arc::clone(uri));
            let uri = known.unwrap_or_else(|| uri.into());
            let topic = self.resources.entry(Arc::clone(&uri)).or_default();
            topic.followers += 1;
            if listens {
                topic.listening.insert(session);
            }
            (uri, topic.version)
        };
        let resources = uris.iter().map(|uri| follow(uri)).collect();
        Followed { listens, lists: self.lists.version, resources }
    }

    /// Lets one go, and says which resources it has not heard of.
    pub(super) fn unfollow(&mut self, session: SessionId, followed: &Followed) -> impl Iterator<Item = Box<str>> {
        if followed.listens {
            self.lists.listening.remove(&session);
        }
        followed.resources.iter().filter_map(move |(uri, seen)| {
            let topic = self.resources.get_mut(uri)?;
            let news = topic.version != *seen;
            topic.followers -= 1;
            topic.listening.remove(&session);
            if topic.followers == 0 && !topic.swept {
                self.resources.remove(uri);
            }
            news.then(|| uri.as_ref().into())
        })
    }

    /// Whether there is something that it does not know.
    pub(super) fn has_news(&self, followed: &Followed) -> bool {
        let version = |uri: &Arc<str>| self.resources.get(uri).map(|topic| topic.version);
        followed.listens && followed.lists != self.lists.version
            || followed.resources.iter().any(|(uri, seen)| version(uri) != Some(*seen))
    }

    /// The lists have changed.
    pub(super) fn changed(&mut self) {
        self.sweeps.extend(self.lists.news(None));
    }

    /// A resource has changed.
    pub(super) fn updated(&mut self, uri: &str) {
        if let Some((uri, _)) = self.resources.get_key_value(uri) {
            let uri = Arc::clone(uri);
            let topic = self.resources.get_mut(&uri);
            self.sweeps.extend(topic.and_then(|topic| topic.news(Some(uri))));
        }
    }

    /// Whether somebody is left to be visited.
    pub(super) fn is_sweeping(&self) -> bool {
        !self.sweeps.is_empty()
    }

    /// The next to be visited; topics take turns.
    pub(super) fn visit(&mut self) -> Option<SessionId> {
        loop {
            let mut sweep = self.sweeps.pop_front()?;
            let topic = match &sweep.topic {
                None => &mut self.lists,
                Some(uri) => self.resources.get_mut(uri)?,
            };
            let after = sweep.after.map_or(Bound::Unbounded, Bound::Excluded);
            if let Some(session) = topic.listening.range((after, Bound::Unbounded)).next().copied() {
                sweep.after = Some(session);
                self.sweeps.push_back(sweep);
                return Some(session);
            }
            if sweep.version != topic.version && !topic.listening.is_empty() {
                // There was more news on the way.
                (sweep.after, sweep.version) = (None, topic.version);
                self.sweeps.push_front(sweep);
                continue;
            }
            topic.swept = false;
            if let Some(uri) = sweep.topic.filter(|_| topic.followers == 0) {
                self.resources.remove(&uri);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.lists.listening.is_empty() && self.sweeps.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_topic_is_swept_once_at_a_time_and_forgotten_with_its_last_follower() {
        let mut followers = Followers::default();
        let uris: [Box<str>; 2] = ["a:1".into(), "a:2".into()];
        let ids = [1, 2, 3].map(|n| SessionId::new([n; 16]));
        let followed = ids.map(|id| (id, followers.follow(id, id != ids[2], &uris)));
        for _ in 0..1000 {
            followers.updated("a:1");
            followers.updated("a:3");
            followers.changed();
        }
        assert_eq!(followers.sweeps.len(), 2);
        assert!(followed.iter().all(|(_, followed)| followers.has_news(followed)));
        let visited: Vec<_> = core::iter::from_fn(|| followers.visit()).take(100).collect();
        // Both topics in turn, and the other one once more for the news that came after the first.
        assert_eq!(visited.len(), 8, "{visited:?}");
        assert!(!visited.contains(&ids[2]), "it does not listen");
        followers.updated("a:2");
        for (id, followed) in &followed {
            assert_eq!(followers.unfollow(*id, followed).collect::<Vec<_>>(), uris);
        }
        assert!(!followers.is_empty(), "the sweep knows its topic");
        assert_eq!(followers.visit(), None);
        assert!(followers.is_empty());
    }
}
