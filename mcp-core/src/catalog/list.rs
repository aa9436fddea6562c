//! The entries of one list, encoded for one revision.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::shelf::Entry;
use crate::peer::Revision;

/// Items joined by commas, and where each ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct List {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl List {
    /// All items, joined by commas.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// One item.
    pub(super) fn item(&self, index: usize) -> &[u8] {
        let start = match index.checked_sub(1) {
            Some(before) => self.ends[before] + 1,
            None => 0,
        };
        &self.text[start..self.ends[index]]
    }

    fn of<T: Entry>(items: &[T], revision: Revision) -> Self {
        let mut list = Self { text: Vec::new(), ends: Vec::with_capacity(items.len()) };
        for item in items {
            if !list.ends.is_empty() {
                list.text.push(b',');
            }
            item.encode(&mut list.text, revision);
            list.ends.push(list.text.len());
        }
        list.text.shrink_to_fit();
        list
    }
}

/// The list of each revision, indexed by revision; a revision whose text is that of the one before shares it.
pub(super) fn every_revision<T: Entry>(items: &[T]) -> [Arc<List>; Revision::ALL.len()] {
    let mut last: Option<Arc<List>> = None;
    Revision::ALL.map(|revision| {
        let list = List::of(items, revision);
        let list = match last.take() {
            Some(last) if *last == list => last,
            _ => Arc::new(list),
        };
        last = Some(Arc::clone(&list));
        list
    })
}
