//! Middleware whose types are erased, and the chain of it around one call.

#[cfg(feature = "tokio")]
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{CallResult, Middleware, Next};
use crate::code::Entry;
use crate::ctx::Ctx;
use crate::extract::Needs;

pub(super) type Running = Pin<Box<dyn Future<Output = CallResult> + Send>>;

/// A middleware of whatever type.
pub(super) trait Erased: Send + Sync {
    fn call(self: Arc<Self>, ctx: Ctx, next: Next) -> Running;

    fn needs(&self, needs: &mut Needs);
}

impl<T: Middleware> Erased for T {
    fn call(self: Arc<Self>, ctx: Ctx, next: Next) -> Running {
        Box::pin(async move { Middleware::call(&*self, ctx, next).await })
    }

    fn needs(&self, needs: &mut Needs) {
        Middleware::needs(self, needs);
    }
}

/// Several, the outermost first. None at all takes no memory.
#[derive(Clone, Default)]
pub(crate) struct Wraps(Vec<Arc<dyn Erased>>);

impl Wraps {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// One more, within the others.
    pub(super) fn push(&mut self, middleware: Arc<dyn Erased>) {
        self.0.push(middleware);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These, and within them the others.
    pub(crate) fn around(&self, inner: &Self) -> Self {
        Self(self.0.iter().chain(&inner.0).cloned().collect())
    }

    /// What they cannot do without.
    pub(crate) fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        self.0.iter().for_each(|middleware| middleware.needs(&mut needs));
        needs
    }
}

impl fmt::Debug for Wraps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wraps").field(&self.0.len()).finish()
    }
}

/// What the code of a call that is wrapped and those around it leave for one another. Nothing is dropped under a lock.
#[derive(Default)]
pub(crate) struct Left {
    /// What came of the code.
    result: Mutex<Option<CallResult>>,
    /// Whether the code was not reached, as its arguments were wrong or its caller may not.
    unentered: AtomicBool,
    /// What those around it hold for as long as it runs.
    #[cfg(feature = "tokio")]
    held: Mutex<Vec<Held>>,
}

/// What goes free once nobody holds it any more.
#[cfg(feature = "tokio")]
pub(crate) type Held = Arc<dyn Any + Send + Sync>;

impl Left {
    pub(crate) fn put(&self, result: CallResult) {
        let before = lock(&self.result).replace(result);
        drop(before);
    }

    pub(crate) fn take(&self) -> Option<CallResult> {
        lock(&self.result).take()
    }

    /// The code is not reached.
    pub(crate) fn not_entered(&self) {
        self.unentered.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_unentered(&self) -> bool {
        self.unentered.load(Ordering::Relaxed)
    }

    /// For code that goes on when those around it have gone, as what blocks does: it [takes](Left::take_held) that along.
    #[cfg(feature = "tokio")]
    pub(super) fn hold(&self, held: &Held) {
        lock(&self.held).push(Arc::clone(held));
    }

    /// Whether something of that kind is held.
    #[cfg(feature = "tokio")]
    pub(super) fn holds<T: Any>(&self, is_it: impl Fn(&T) -> bool) -> bool {
        lock(&self.held).iter().any(|held| held.downcast_ref().is_some_and(&is_it))
    }

    /// Holds it no longer, if it still does.
    #[cfg(feature = "tokio")]
    pub(super) fn let_go(&self, held: &Held) {
        let gone = lock(&self.held).extract_if(.., |one| Arc::ptr_eq(one, held)).collect::<Vec<Held>>();
        drop(gone);
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn take_held(&self) -> Vec<Held> {
        std::mem::take(&mut *lock(&self.held))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics between two writes.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Left(..)")
    }
}

/// The rest of one call.
pub(crate) struct Around {
    pub(crate) entry: Arc<Entry>,
    pub(crate) ctx: Ctx,
    /// How many of the entry's middleware are outside of it.
    pub(crate) passed: usize,
}

impl Around {
    pub(crate) fn run(self) -> Running {
        let Self { entry, ctx, passed } = self;
        match entry.wraps.0.get(passed) {
            Some(middleware) => {
                let next = Next(Self { entry: Arc::clone(&entry), ctx: ctx.clone(), passed: passed + 1 });
                Arc::clone(middleware).call(ctx, next)
            }
            None => Box::pin(async move { entry.raw(ctx).await }),
        }
    }
}

impl fmt::Debug for Around {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around").field("entry", &self.entry.name).field("passed", &self.passed).finish()
    }
}
