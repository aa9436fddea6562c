//! What all clients share: where the server is, what they have seen, and what must be true of it in the end.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::client::Client;

/// How long anything may take before it counts as hung: far longer than all leases, kills and queues of a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    pub proxy: SocketAddr,
    pub stats: Stats,
    /// How often a name may have run at most, where that is not once.
    pub most: Mutex<HashMap<String, u64>>,
    /// Names whose answer was received: they have run.
    pub answered: Mutex<Vec<String>>,
    /// Names that were refused with 503: they have not.
    pub refused: Mutex<Vec<String>>,
    /// Calls whose cancellation was acknowledged.
    pub cancelled: Mutex<Vec<String>>,
    pub failures: Mutex<Vec<String>>,
    /// Whether the clients shall come to an end.
    pub settling: AtomicBool,
    /// Sessions that change what others follow.
    pub touchers: Mutex<Vec<Arc<Client>>>,
}

macro_rules! stats {
    ($($name:ident: $text:literal,)*) => {
        #[derive(Default)]
        pub struct Stats { $(pub $name: AtomicU64,)* }

        impl Stats {
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$(($text, self.$name.load(Ordering::Relaxed)),)*]
            }
        }
    };
}

stats! {
    opened: "sessions opened",
    requests: "requests",
    broken: "connections that broke",
    busy: "refused with 503",
    results: "calls answered with their result",
    interrupted: "calls answered as interrupted",
    unknown: "calls whose connection broke before an event",
    events: "events",
    breaks: "streams left on purpose",
    resumed: "streams resumed",
    replayed: "streams read again and compared",
    asked: "questions asked",
    told: "questions answered",
    kept_open: "questions left open for a while",
    cancelled: "calls cancelled",
    subscribed: "subscriptions",
    updates: "updates heard",
    touches: "updates made",
    slept: "pauses long enough to hibernate",
    strangers: "strangers sent away",
    deleted: "sessions ended by DELETE",
}

pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl World {
    pub fn new(proxy: SocketAddr) -> Self {
        Self {
            proxy,
            stats: Stats::default(),
            most: Mutex::default(),
            answered: Mutex::default(),
            refused: Mutex::default(),
            cancelled: Mutex::default(),
            failures: Mutex::default(),
            settling: AtomicBool::new(false),
            touchers: Mutex::default(),
        }
    }

    pub fn is_settling(&self) -> bool {
        self.settling.load(Ordering::Relaxed)
    }

    pub fn fail(&self, failure: String) {
        eprintln!("FAILED: {failure}");
        self.failures.lock().unwrap().push(failure);
    }

    pub fn tell(&self) -> String {
        let mut text = String::new();
        for (name, number) in self.stats.all() {
            let _ = writeln!(text, "{number:>8} {name}");
        }
        text
    }
}
