//! A runtime whose clock can be moved, so that a session is quiet for a minute without anybody waiting.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mcp_transport_http::{Runtime, Task};

/// A clock that runs as the real one does, and ahead of it as far as it was moved. Its tasks run when they are told to, or
/// on tokio once that was entered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Movable(Arc<Inner>);

#[derive(Default)]
struct Inner {
    ahead: AtomicU64,
    tasks: Mutex<Vec<Task>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("ahead", &self.ahead).finish_non_exhaustive()
    }
}

impl Movable {
    /// Moves the clock. Nobody is woken: [`Movable::turn`] does that.
    pub(crate) fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.0.ahead.fetch_add(millis, Ordering::SeqCst);
    }

    /// Polls every task once.
    pub(crate) fn turn(&self) {
        let tasks = std::mem::take(&mut *self.tasks());
        let mut cx = Context::from_waker(Waker::noop());
        let mut going: Vec<Task> =
            tasks.into_iter().filter_map(|mut task| poll_task(&mut task, &mut cx).then_some(task)).collect();
        self.tasks().append(&mut going);
    }

    /// From now on the tasks run on the tokio runtime that is entered.
    pub(crate) fn hand_over(&self) {
        for task in std::mem::take(&mut *self.tasks()) {
            drop(tokio::spawn(task));
        }
    }

    fn tasks(&self) -> std::sync::MutexGuard<'_, Vec<Task>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it goes on.
fn poll_task(task: &mut Task, cx: &mut Context<'_>) -> bool {
    task.as_mut().poll(cx).is_pending()
}

impl Runtime for Movable {
    fn spawn(&self, task: Task) {
        match tokio::runtime::Handle::try_current() {
            Ok(tokio) => drop(tokio.spawn(task)),
            Err(_) => self.tasks().push(task),
        }
    }

    fn sleep(&self, span: Duration) -> Task {
        Box::pin(Sleep { until: self.now() + span, clock: self.clone(), real: None })
    }

    fn now(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.0.ahead.load(Ordering::SeqCst))
    }
}

struct Sleep {
    until: Instant,
    clock: Movable,
    real: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let left = self.until.saturating_duration_since(self.clock.now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        if tokio::runtime::Handle::try_current().is_err() {
            return Poll::Pending;
        }
        // On tokio the clock is not moved any more.
        self.real.get_or_insert_with(|| Box::pin(tokio::time::sleep(left))).as_mut().poll(cx)
    }
}
