//! What the service needs of an async runtime: to start a task, to sleep, and to tell the time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// A boxed future without a result, as [`Runtime`] takes and gives.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An async runtime, as far as the service needs one. Neither method is called for a request that is answered at once.
///
/// `TokioRuntime` is there with the feature `tokio`, `HyperRuntime` with the feature `hyper`; for another runtime it
/// is a few lines:
///
/// ```
/// use std::time::Duration;
/// use mcp_transport_http::{Runtime, Task};
///
/// #[derive(Debug)]
/// struct Threads;
///
/// impl Runtime for Threads {
///     fn spawn(&self, task: Task) {
/// #       let _ = task;
///         // smol: smol::spawn(task).detach()
///     }
///     fn sleep(&self, span: Duration) -> Task {
/// #       let _ = span;
///         // smol: Box::pin(async move { smol::Timer::after(span).await; })
/// #       Box::pin(std::future::pending())
///     }
/// }
/// ```
pub trait Runtime: Send + Sync + fmt::Debug + 'static {
    /// Runs a task to its end, on its own. A task that panics must not take others down.
    fn spawn(&self, task: Task);

    /// A future that is ready after that time.
    fn sleep(&self, span: Duration) -> Task;

    /// The time now, of a clock that never runs back. Replaced where a runtime has a clock of its own, as in tests with
    /// simulated time.
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// Any pair of hyper's [`Executor`](hyper::rt::Executor) and [`Timer`](hyper::rt::Timer) as a [`Runtime`].
#[cfg(feature = "hyper")]
#[derive(Clone, Copy, Debug)]
pub struct HyperRuntime<E, T> {
    executor: E,
    timer: T,
}

#[cfg(feature = "hyper")]
impl<E, T> HyperRuntime<E, T> {
    /// Tasks on `executor`, sleep by `timer`.
    pub const fn new(executor: E, timer: T) -> Self {
        Self { executor, timer }
    }
}

#[cfg(feature = "hyper")]
impl<E, T> Runtime for HyperRuntime<E, T>
where
    E: hyper::rt::Executor<Task> + Send + Sync + fmt::Debug + 'static,
    T: hyper::rt::Timer + Send + Sync + fmt::Debug + 'static,
{
    fn spawn(&self, task: Task) {
        self.executor.execute(task);
    }

    fn sleep(&self, span: Duration) -> Task {
        self.timer.sleep(span)
    }

    fn now(&self) -> Instant {
        self.timer.now()
    }
}

/// Tokio as a [`Runtime`]. Its methods must be called within a tokio runtime, as hyper, axum and `Server` do.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioRuntime;

#[cfg(feature = "tokio")]
impl Runtime for TokioRuntime {
    fn spawn(&self, task: Task) {
        drop(tokio::spawn(task));
    }

    fn sleep(&self, span: Duration) -> Task {
        Box::pin(tokio::time::sleep(span))
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}
