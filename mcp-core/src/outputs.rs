//! A machine's outputs that were not taken yet. Bounded, however often a call speaks before anybody polls (ARCHITECTURE, rule 6).

use alloc::collections::VecDeque;

use crate::machine::{Event, Output, StreamId};
use crate::reply::Reply;

/// The queue behind [`Machine::poll_output`](crate::Machine::poll_output).
#[derive(Debug, Default)]
pub(crate) struct Outputs(VecDeque<Output>);

impl Outputs {
    pub(crate) fn push(&mut self, output: Output) {
        self.0.push_back(output);
    }

    pub(crate) fn pop(&mut self) -> Option<Output> {
        let output = self.0.pop_front();
        if self.0.is_empty() && self.0.capacity() > ROOM {
            // An idle session keeps no room for the burst that it once had.
            self.0 = VecDeque::new();
        }
        output
    }

    /// The stream begins, if there is a head to say so with.
    pub(crate) fn opened(&mut self, stream: StreamId, reply: Option<Reply>) {
        if let Some(reply) = reply {
            // A driver is to know the head before it pulls; who opens says `ready` after it.
            self.0.retain(|output| !matches!(output, Output::Ready(said) if *said == stream));
            self.push(Output::Open { stream, reply });
        }
    }

    /// Says once that a stream has something to pull.
    pub(crate) fn ready(&mut self, stream: StreamId) {
        let said = self.0.iter().any(|output| matches!(output, Output::Ready(said) if *said == stream));
        if !said {
            self.push(Output::Ready(stream));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.push(Output::Event(event));
    }

    /// The count replaces the one that nobody has taken yet.
    pub(crate) fn logs_dropped(&mut self, count: u64) {
        let waiting = self.0.iter_mut().find_map(|output| match output {
            Output::Event(Event::LogsDropped(before)) => Some(before),
            _ => None,
        });
        match waiting {
            Some(before) => *before = count,
            None => self.event(Event::LogsDropped(count)),
        }
    }

    /// Changes the head of a stream that was opened but not yet said to be.
    pub(crate) fn head_of(&mut self, stream: StreamId) -> Option<&mut Reply> {
        self.0.iter_mut().find_map(|output| match output {
            Output::Open { stream: opened, reply } if *opened == stream => Some(reply),
            _ => None,
        })
    }
}

/// Outputs that a queue keeps room for: what one message usually causes.
const ROOM: usize = 8;
