//! Dying at a point that was chosen from outside.

use std::sync::Mutex;

use cluster::point::Point;
use nix::sys::signal::{Signal, raise};

/// The point, and how often it is passed before.
static ARMED: Mutex<Option<(Point, u32)>> = Mutex::new(None);

/// The process will be killed when it has passed that point so many times, and comes there again.
pub fn arm(point: Point, passes: u32) {
    *ARMED.lock().unwrap() = Some((point, passes));
}

/// The process is at that point.
pub fn pass(point: Point) {
    let mut armed = ARMED.lock().unwrap();
    match &mut *armed {
        Some((wanted, 0)) if *wanted == point => loop {
            // The lock is kept: no other thread gets past a point meanwhile.
            let _ = raise(Signal::SIGKILL);
        },
        Some((wanted, passes)) if *wanted == point => *passes -= 1,
        _ => {}
    }
}
