//! The streams of a session or pipe.

use alloc::vec::Vec;

use crate::machine::{EventId, Pull, StreamId};
use crate::snapshot::{Extent, Reader, Writer};
use crate::stream::Stream;

/// The streams of a session, oldest first, and the counter of their ids.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    streams: Vec<(StreamId, Stream)>,
    next: u64,
    /// One more than the highest id of which an event was sent: no other stream may ever have it.
    told: u64,
}

impl Streams {
    /// Takes a stream in under a new id; the first is [`StreamId::ONLY`].
    pub(crate) fn insert(&mut self, stream: Stream) -> StreamId {
        let id = StreamId(self.next);
        self.next += 1;
        self.streams.push((id, stream));
        id
    }

    /// Appends framed bytes of that stream to `buf`. `None` if there is no such stream.
    pub(crate) fn pull(&mut self, id: StreamId, buf: &mut Vec<u8>, limit: usize) -> Option<Pull> {
        let stream = self.get_mut(id)?;
        let pulled = stream.pull(buf, limit);
        if stream.last_event().is_some_and(|last| last.number > 0) {
            self.told = self.told.max(id.0 + 1);
        }
        Some(pulled)
    }

    /// Goes on after more ids than whoever had these streams can have given out since they were written down. None of those may
    /// be given out again, so this is to be stored, too.
    pub(crate) fn count_anew(&mut self) {
        self.next = (self.next >> LIFE).saturating_add(1) << LIFE;
        self.told = self.next;
    }

    pub(crate) fn get(&self, id: StreamId) -> Option<&Stream> {
        self.streams.iter().find(|(name, _)| *name == id).map(|(_, stream)| stream)
    }

    pub(crate) fn get_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|(name, _)| *name == id).map(|(_, stream)| stream)
    }

    pub(crate) fn remove(&mut self, id: StreamId) {
        self.streams.retain(|(name, _)| *name != id);
        if self.streams.is_empty() {
            // An idle session keeps no room for the streams that it once had.
            self.streams = Vec::new();
        }
    }

    /// Where messages go that belong to no request: one stream, the newest (HTTP-26).
    pub(crate) fn newest_listening(&self) -> Option<StreamId> {
        self.streams.iter().rev().find(|(_, stream)| stream.is_listening()).map(|(id, _)| *id)
    }

    pub(crate) fn listening(&self) -> usize {
        self.streams.iter().filter(|(_, stream)| stream.is_listening()).count()
    }

    /// Listening streams whose readers have gone and can come back, oldest first.
    pub(crate) fn left_listening(&self) -> Vec<StreamId> {
        self.streams.iter().filter(|(_, stream)| stream.listens() && stream.is_left()).map(|(id, _)| *id).collect()
    }

    pub(crate) fn ids(&self) -> Vec<StreamId> {
        self.streams.iter().map(|(id, _)| *id).collect()
    }

    /// The last event of each whose events carry ids.
    pub(crate) fn last_events(&self) -> Vec<EventId> {
        self.streams.iter().filter_map(|(_, stream)| stream.last_event()).collect()
    }

    /// Those that somebody reads, and that need nothing but comments.
    pub(crate) fn read(&self) -> impl Iterator<Item = StreamId> {
        self.streams.iter().filter(|(_, stream)| stream.is_read()).map(|(id, _)| *id)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.streams.iter().map(|(_, stream)| stream.outbox().bytes()).sum()
    }

    /// Whether nothing waits to be pulled from any of them.
    pub(crate) fn are_quiet(&self) -> bool {
        self.streams.iter().all(|(_, stream)| stream.is_quiet())
    }

    /// The id that is given out next.
    pub(crate) const fn next_id(&self) -> StreamId {
        StreamId(self.next)
    }

    /// Whether an id was given out.
    pub(crate) const fn minted(&self, id: StreamId) -> bool {
        id.0 < self.next
    }

    pub(crate) fn save(&self, extent: Extent, out: &mut Writer) {
        let Self { streams, next, told } = self;
        out.loosely(|out| out.number(*next));
        out.number(*told);
        let kept = || streams.iter().filter(|(_, stream)| extent == Extent::All || stream.is_told());
        out.length(kept().count());
        for (id, stream) in kept() {
            out.number(id.0);
            stream.save(extent, out);
        }
    }

    pub(crate) fn load(from: &mut Reader<'_>) -> Option<Self> {
        let next = from.counter()?;
        let told = from.number().filter(|told| *told <= next)?;
        let streams = from.list(5, |from| Some((StreamId(from.number()?), Stream::load(from)?)))?;
        let in_order = streams.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let known = streams.last().is_none_or(|(last, _)| last.0 < next);
        (in_order && known).then_some(Self { streams, next, told })
    }
}

/// Bits of an id that count streams; those above count the nodes that the session has lived on.
const LIFE: u32 = 32;
