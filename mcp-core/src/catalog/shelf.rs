//! The entries of one list: found by key, encoded once per revision.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashTable;

use super::guard::Guard;
use super::list::{self, List};
use super::{Defect, digest, digest_on};
use crate::caching::ListHint;
use crate::fault::reflect;
use crate::peer::Revision;

/// What the clients can do that a list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// Whatever there is.
    All,
    /// They show no pages (APP-1).
    Pageless,
}

/// An entry of one of the four lists.
pub(super) trait Entry {
    /// The list, as its result has it.
    const LIST: &'static str;
    /// What its cursors begin with: no other list takes them (PAGE-3).
    const MARK: u8;
    /// The rule that says that keys are unique.
    const UNIQUE: &'static str;

    /// Its name, URI or template.
    fn key(&self) -> &str;

    /// Who may use it, and who may keep its answers.
    fn guard(&self) -> &Guard;

    /// Adds what is wrong with it, and readies it for [`Entry::encode`].
    fn check(&mut self, defects: &mut Vec<Defect>);

    /// Its entry in the list of that revision: no member that the revision does not know, and none that is null.
    fn encode(&self, out: &mut Vec<u8>, revision: Revision, audience: Audience);

    /// Goes on with a digest of what a machine goes by and lists do not show, but its guard: with nothing where there is none.
    fn unseen_on(&self, state: u64) -> u64 {
        state
    }

    /// Whether it belongs to a page, and so is another one where there are no pages.
    fn has_page(&self) -> bool {
        false
    }

    /// Whether these clients find it in the list.
    fn is_listed(&self, audience: Audience) -> bool {
        let _ = audience;
        true
    }
}

/// All entries of one kind, in the order of registration.
pub(super) struct Shelf<T> {
    pub(super) items: Box<[T]>,
    /// From key to index in `items`.
    keys: HashTable<usize>,
    /// Indexed by revision. Revisions with the same text share it.
    lists: [Arc<List>; Revision::ALL.len()],
    /// The same for clients that show no pages, if any entry has one.
    pageless: Option<[Arc<List>; Revision::ALL.len()]>,
    /// Of all entries, by [`Audience`].
    hints: [ListHint; 2],
    /// Whether any entry asks for scopes.
    scoped: bool,
}

impl<T: Entry> Shelf<T> {
    /// Checks and encodes the entries. With defects, nothing may be served of it.
    pub(super) fn new(mut items: Vec<T>, defects: &mut Vec<Defect>) -> Self {
        let before = defects.len();
        let mut keys = HashTable::with_capacity(items.len());
        let hash = |key: &str| digest(key.as_bytes());
        for index in 0..items.len() {
            items[index].check(defects);
            let key = items[index].key();
            match keys.find(hash(key), |&other: &usize| items[other].key() == key) {
                Some(&first) => defects.push(Defect::new(
                    &reflect(key),
                    T::UNIQUE,
                    alloc::format!(
                        "registered twice, as entry {} and as entry {} of the {}: each may be there once in a server, so \
                         rename one",
                        first + 1,
                        index + 1,
                        T::LIST
                    ),
                )),
                None => {
                    keys.insert_unique(hash(key), index, |&other| hash(items[other].key()));
                }
            }
        }
        let items = items.into_boxed_slice();
        let listed = if defects.len() == before { &*items } else { &[] };
        let lists = list::every_revision(listed, Audience::All);
        let apart = listed.iter().any(T::has_page);
        let pageless = apart.then(|| list::every_revision(listed, Audience::Pageless));
        let hints = [Audience::All, Audience::Pageless].map(|audience| hint(&items, audience));
        let scoped = items.iter().any(|item| item.guard().is_scoped());
        Self { items, keys, lists, pageless, hints, scoped }
    }

    pub(super) fn position(&self, key: &str) -> Option<usize> {
        self.keys.find(digest(key.as_bytes()), |&index| self.items[index].key() == key).copied()
    }

    pub(super) fn list(&self, revision: Revision, audience: Audience) -> &List {
        let lists = match audience {
            Audience::All => &self.lists,
            Audience::Pageless => self.pageless.as_ref().unwrap_or(&self.lists),
        };
        &lists[revision as usize]
    }

    /// How long all of it may be kept, and by whom.
    pub(super) const fn hint(&self, audience: Audience) -> ListHint {
        self.hints[audience as usize]
    }

    /// Whether any entry asks for scopes.
    pub(super) const fn has_scopes(&self) -> bool {
        self.scoped
    }

    /// Whether clients that show no pages get another list.
    pub(super) const fn has_pages(&self) -> bool {
        self.pageless.is_some()
    }

    /// Goes on with a digest of what the newest revision shows.
    pub(super) fn digest_on(&self, state: u64) -> u64 {
        digest_on(digest_on(state, self.list(Revision::MODERN, Audience::All).text()), &[T::MARK])
    }

    /// Goes on with a digest of what no list shows: who may use what, and keep its answers, and what else a machine goes by. With
    /// nothing where no entry says anything.
    pub(super) fn unseen_on(&self, state: u64) -> u64 {
        self.items.iter().fold(state, |state, item| {
            let state = match item.guard().says_anything() {
                true => item.guard().digest_on(digest_on(state, item.key().as_bytes())),
                false => state,
            };
            item.unseen_on(state)
        })
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.items.iter().map(T::key).collect()
    }
}

/// What these entries say of how long their list may be kept, and by whom.
pub(super) fn hint<'a, T: Entry + 'a>(items: impl IntoIterator<Item = &'a T>, audience: Audience) -> ListHint {
    let mut hint = ListHint::default();
    for item in items.into_iter().filter(|item| item.is_listed(audience)) {
        hint.add(item.guard().hint, item.guard().is_scoped());
    }
    hint
}
