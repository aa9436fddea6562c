//! Wakes tasks that wait for something to happen.

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use crate::sync::lock;

/// Something that rings. Whoever waits for it hears every ring since it last listened as one.
#[derive(Debug, Default)]
pub(crate) struct Bell(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    rung: u64,
    waiting: Vec<Waker>,
}

impl Bell {
    /// Wakes all that wait.
    pub(crate) fn ring(&self) {
        let waiting = {
            let mut state = lock(&self.0);
            state.rung += 1;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ready if it rang since `heard`, which is then up to date.
    pub(crate) fn poll_ring(&self, heard: &mut u64, cx: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0);
        if state.rung != *heard {
            *heard = state.rung;
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }
}
