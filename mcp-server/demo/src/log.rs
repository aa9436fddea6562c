//! A log on stderr that never holds up the server: a thread of its own writes, and lines that it cannot take are counted
//! and dropped. No event of the libraries carries what a message said.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Lines that wait for whoever reads stderr.
const WAITING: usize = 256;

/// How long the end of the process waits for that: a screen takes them in no time.
const PATIENCE: Duration = Duration::from_millis(200);

/// Lines that are not written yet.
static QUEUED: AtomicUsize = AtomicUsize::new(0);

/// Sends what is at least as serious as `level` to stderr, and panics as errors.
pub(crate) fn install(level: Option<Level>) {
    // Contained panics are logged with their text by the library, and the usual hook would block on a full pipe.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
    let Some(level) = level else { return };
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::spawn(move || write(&receiver));
    let log = Log { level, sender, dropped: AtomicU64::new(0) };
    tracing::subscriber::set_global_default(log).unwrap_or_default();
}

/// Waits for what was logged to be written, but not for whoever does not read it.
pub(crate) fn flush() {
    let start = Instant::now();
    while QUEUED.load(Relaxed) > 0 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn write(lines: &Receiver<String>) {
    for line in lines {
        // There is nobody to tell that nobody can be told.
        let _ = std::io::stderr().write_all(line.as_bytes());
        QUEUED.fetch_sub(1, Relaxed);
    }
}

struct Log {
    level: Level,
    sender: SyncSender<String>,
    dropped: AtomicU64,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.level.into())
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line { message: String::new(), fields: String::new() };
        event.record(&mut line);
        let dropped = self.dropped.swap(0, Relaxed);
        let mut text = if dropped > 0 { format!("({dropped} lines dropped)\n") } else { String::new() };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{} {}{}", event.metadata().level(), line.message, line.fields);
        QUEUED.fetch_add(1, Relaxed);
        if self.sender.try_send(text).is_err() {
            QUEUED.fetch_sub(1, Relaxed);
            self.dropped.fetch_add(dropped + 1, Relaxed);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// `message key=value ..`, on one line.
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_debug(field, &value.to_string());
    }
}
