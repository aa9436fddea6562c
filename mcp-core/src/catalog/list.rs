//! The entries of one list, encoded for one revision.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::shelf::{Audience, Entry};
use crate::peer::Revision;

/// Items joined by commas, and where each is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct List {
    text: Vec<u8>,
    /// Start and end. One that is not listed has no bytes.
    spans: Vec<(usize, usize)>,
}

impl List {
    /// All items, joined by commas.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// One item.
    pub(super) fn item(&self, index: usize) -> &[u8] {
        let (start, end) = self.spans[index];
        &self.text[start..end]
    }

    /// Whether it is listed.
    pub(super) fn has(&self, index: usize) -> bool {
        !self.item(index).is_empty()
    }

    fn of<T: Entry>(items: &[T], revision: Revision, audience: Audience) -> Self {
        let mut list = Self { text: Vec::new(), spans: Vec::with_capacity(items.len()) };
        for item in items {
            if !item.is_listed(audience) {
                list.spans.push((0, 0));
                continue;
            }
            if !list.text.is_empty() {
                list.text.push(b',');
            }
            let start = list.text.len();
            item.encode(&mut list.text, revision, audience);
            list.spans.push((start, list.text.len()));
        }
        list.text.shrink_to_fit();
        list
    }
}

/// The list of each revision, indexed by revision; a revision whose text is that of the one before shares it.
pub(super) fn every_revision<T: Entry>(items: &[T], audience: Audience) -> [Arc<List>; Revision::ALL.len()] {
    let mut last: Option<Arc<List>> = None;
    Revision::ALL.map(|revision| {
        let list = List::of(items, revision, audience);
        let list = match last.take() {
            Some(last) if *last == list => last,
            _ => Arc::new(list),
        };
        last = Some(Arc::clone(&list));
        list
    })
}
