//! What a process holds in memory.

use std::fs;

/// Bytes that are resident, counted page by page: the kernel's quick counters may be off by as much as a thousand sleepers need.
///
/// Those of `Rss` in `/proc/<process>/smaps_rollup`, and so what `statm` says, exactly.
pub(crate) fn resident(process: &str) -> u64 {
    let path = format!("/proc/{process}/smaps_rollup");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}: it needs a Linux of 2017 or later"));
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).expect("a line of Rss");
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kib << 10
}

/// The same of this process.
pub(crate) fn own() -> u64 {
    resident("self")
}
