//! What one caller may see of a catalogue.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Catalog, Tool, digest, digest_on};
use crate::fault::Fault;
use crate::peer::Revision;
use crate::wire::write;

/// All of a catalogue, or a part of it. Cheap to clone; a list and a call that use the same view agree.
///
/// What is hidden is as good as not there: looked up, listed and named in a cursor, it is unknown.
#[derive(Clone, Debug)]
pub struct View {
    catalog: Arc<Catalog>,
    /// `None`: everything.
    shown: Option<Arc<Shown>>,
}

#[derive(Debug)]
struct Shown {
    /// One bit for each tool.
    bits: Box<[u64]>,
    /// Of the names that are shown. Never of those that are hidden: they could be guessed from it.
    fingerprint: [u8; 4],
}

impl View {
    /// Everything.
    #[must_use]
    pub const fn all(catalog: Arc<Catalog>) -> Self {
        Self { catalog, shown: None }
    }

    /// The tools for which `visible` says so.
    #[must_use]
    pub fn only(catalog: Arc<Catalog>, mut visible: impl FnMut(&Tool) -> bool) -> Self {
        let mut bits = alloc::vec![0_u64; catalog.tools.len().div_ceil(64)].into_boxed_slice();
        let mut names = digest(b"");
        let mut hidden = false;
        for (index, tool) in catalog.tools.iter().enumerate() {
            if visible(tool) {
                bits[index / 64] |= 1 << (index % 64);
                names = digest_on(digest_on(names, tool.name().as_bytes()), b"\0");
            } else {
                hidden = true;
            }
        }
        let [a, b, c, d, ..] = names.to_be_bytes();
        let shown = hidden.then(|| Arc::new(Shown { bits, fingerprint: [a, b, c, d] }));
        Self { catalog, shown }
    }

    /// The catalogue that it is of.
    #[must_use]
    pub const fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Whether it hides anything. A list that does is private to its caller (CACHE-4).
    #[must_use]
    pub const fn is_filtered(&self) -> bool {
        self.shown.is_some()
    }

    /// The tool of that name. A hidden one is not there.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.position(name).map(|index| &self.catalog.tools[index])
    }

    /// The tools that it shows, in the order of registration.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.positions(0).map(|index| &self.catalog.tools[index])
    }

    /// Appends `"tools":[…]` as the revision has it and, if there is more, `,"nextCursor":"…"` (TOOL-2, PAGE-1).
    ///
    /// `page` is the most items to write; 0 counts as 1.
    ///
    /// # Errors
    ///
    /// -32602 if the cursor was not made by this list for this caller (PAGE-2, PAGE-3). Nothing is appended then.
    pub fn write_tools(
        &self,
        revision: Revision,
        cursor: Option<&str>,
        page: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let list = self.catalog.list(revision);
        let page = page.max(1);
        let start = match cursor {
            Some(cursor) => self.after(cursor)?,
            None => 0,
        };
        out.extend_from_slice(b"\"tools\":[");
        if start == 0 && self.shown.is_none() && self.catalog.tools.len() <= page {
            out.extend_from_slice(list.text());
            out.push(b']');
            return Ok(());
        }
        let mut positions = self.positions(start);
        let mut last = None;
        for index in positions.by_ref().take(page) {
            if last.is_some() {
                out.push(b',');
            }
            out.extend_from_slice(list.item(index));
            last = Some(index);
        }
        out.push(b']');
        if let (Some(last), Some(_)) = (last, positions.next()) {
            out.extend_from_slice(b",\"nextCursor\":");
            write::string(out, &self.cursor(self.catalog.tools[last].name()));
        }
        Ok(())
    }

    /// The cursor for what comes after that tool: version, list, who may see what, and the name. No count or offset, so
    /// that it survives a restart and a change of the list.
    fn cursor(&self, name: &str) -> alloc::string::String {
        let mut plain = Vec::with_capacity(CURSOR.len() + 4 + name.len());
        plain.extend_from_slice(&CURSOR);
        plain.extend_from_slice(&self.fingerprint());
        plain.extend_from_slice(name.as_bytes());
        URL_SAFE_NO_PAD.encode(plain)
    }

    /// The position after the tool that a cursor names, which must be one that is shown: a made-up cursor tells
    /// nothing.
    fn after(&self, cursor: &str) -> Result<usize, Fault> {
        let read = || {
            if cursor.len() > MAX_CURSOR {
                return None;
            }
            let plain = URL_SAFE_NO_PAD.decode(cursor).ok()?;
            let name = plain.strip_prefix(&CURSOR)?.strip_prefix(&self.fingerprint())?;
            self.position(core::str::from_utf8(name).ok()?)
        };
        read().map(|last| last + 1).ok_or_else(|| {
            Fault::invalid_params(
                "Invalid cursor: it is not one that this list gave out to you; start again without one",
            )
        })
    }

    fn fingerprint(&self) -> [u8; 4] {
        self.shown.as_ref().map_or([0; 4], |shown| shown.fingerprint)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.catalog.position(name).filter(|&index| self.shows(index))
    }

    fn positions(&self, start: usize) -> impl Iterator<Item = usize> {
        (start..self.catalog.tools.len()).filter(|&index| self.shows(index))
    }

    fn shows(&self, index: usize) -> bool {
        self.shown.as_ref().is_none_or(|shown| shown.bits[index / 64] >> (index % 64) & 1 == 1)
    }
}

/// Format 1 of the cursors of the list of tools.
const CURSOR: [u8; 2] = [1, b't'];

/// Characters of a cursor: a name has at most 128, and base64 makes 4 characters of 3 bytes.
const MAX_CURSOR: usize = 256;
