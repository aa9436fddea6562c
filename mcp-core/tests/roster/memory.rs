//! What a sleeper costs, by what the system says. `cargo test --release --test roster -- --ignored --nocapture memory`

use std::fs;
use std::sync::Arc;

use mcp_core::{Session, View, wire};

use super::*;

fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("a Linux system");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
}

/// As lean a way to a sleeping session as there is: a client of 40 bytes in all, and a principal of its own.
fn reference(endpoint: &Arc<Endpoint>, view: &View, n: u32) -> (Caller, Asleep) {
    let caller = Caller::new(&*format!("user-{n:07}@example"), Scopes::default());
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
        "capabilities":{},"clientInfo":{"name":"a-client-of-thirty-four-characters","version":"1.20.3"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let mut session = Session::new(mcp_core::MachineId(u64::from(n)), Arc::clone(endpoint), id(n), T0);
    for body in [initialize, initialized] {
        let message = wire::read(body.into(), &Limits::default()).expect("a message");
        let input = Input::Message { message, head: None, from: &caller, view };
        mcp_core::Machine::handle(&mut session, T0, input);
        while let Some(output) = mcp_core::Machine::poll_output(&mut session) {
            if let mcp_core::Output::Ready(stream) = output {
                let _ = mcp_core::Machine::pull(&mut session, stream, &mut Vec::new(), 1 << 20);
            }
        }
    }
    (caller, session.sleep(view.catalog().generations()).expect("it is quiet"))
}

/// The goal is 256 bytes, everything included.
#[test]
#[allow(clippy::print_stderr, reason = "the numbers are what it is run for")]
#[ignore = "takes a million sessions; for a release build"]
fn a_million_sleepers_take_256_bytes_each_and_a_second_wave_takes_no_more_memory() {
    const N: u32 = 1_000_000;
    let mut policy = Policy::default();
    (policy.limits.sessions_asleep, policy.timing.hibernate_after) = (2 << 20, Some(Span::secs(60)));
    let (endpoint, view) = (fixture::endpoint(), fixture::view());
    let mut roster = Roster::new(&policy);
    drop(reference(&endpoint, &view, 0));
    let before = resident();
    let wave = |roster: &mut Roster| {
        let mut bytes = 0;
        for n in 0..N {
            let (caller, asleep) = reference(&endpoint, &view, n);
            bytes += asleep.snapshot.as_bytes().len();
            roster.admit(id(n), caller.principal.as_ref()).unwrap();
            roster.established(id(n));
            roster.sleep(id(n), asleep, T0).unwrap();
        }
        bytes
    };
    let bytes = wave(&mut roster);
    let each = |now: usize| now.saturating_sub(before) / N as usize;
    let first = each(resident());
    for n in 0..N {
        roster.remove(id(n));
    }
    let emptied = each(resident());
    wave(&mut roster);
    let second = each(resident());
    eprintln!(
        "a snapshot of {} bytes: {first} bytes each, {emptied} when all have gone, {second} after a second wave",
        bytes / N as usize
    );
    assert!(first <= 256, "{first}");
    // The allocator may lay the segments of the second wave out a little worse.
    assert!(second <= first + first / 50, "{second}");
}
