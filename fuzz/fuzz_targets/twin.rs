//! Whatever happens to a session, one that sleeps at every moment that it may says the same and sends the same bytes as its twin
//! that never does.
//!
//! The first two bytes of the input are how the two live, the rest what happens to them: see `Input::step`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_core::{Change, Revision};

#[path = "../../mcp-core/tests/snapshot/lives.rs"]
mod lives;

use lives::{Said, Step, World, live};

/// More than this only takes long.
const STEPS: usize = 200;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let (Some(revision), Some(bits)) = (input.byte(), input.byte()) else { return };
    let [able, principal, ping, call, orphan, silent, resumable] =
        [0, 1, 2, 3, 4, 5, 6].map(|bit| bits >> bit & 1 == 1);
    let revision = Revision::ALL[usize::from(revision % 4)];
    let world = World { revision, able, principal, ping, call, orphan, silent, resumable };
    let steps: Vec<Step> = std::iter::from_fn(|| input.step()).take(STEPS).collect();
    live(&world, &steps);
});

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn step(&mut self) -> Option<Step> {
        Some(match self.byte()? % 18 {
            0..=4 => {
                let (what, how) = (self.said()?, self.byte()?);
                Step::Send { what, accept: how % 8, stranger: how >= 248 }
            }
            5 => {
                let members = self.byte()? % 4;
                Step::Batch((0..members).map(|_| self.said()).collect::<Option<_>>()?)
            }
            6 => Step::Attach { accept: self.byte()?, resume: None },
            7 => Step::Attach { accept: self.byte()?, resume: Some((self.byte()? % 6, self.byte()? % 5)) },
            8 => Step::Detach(self.byte()?),
            9 => Step::Note { call: self.byte()?, note: self.byte()? },
            10 | 11 => Step::Done { call: self.byte()?, how: self.byte()? },
            12 => Step::Wait(u64::from(self.byte()?) * 157),
            13 => Step::UntilDue,
            14 => Step::Changed(Change::ALL[usize::from(self.byte()? % 3)]),
            15 => Step::Updated(self.byte()?),
            16 => match self.byte()? {
                how @ 0..=3 => Step::Close(how),
                how @ (4 | 5) => Step::Take(how == 5),
                6 => Step::Unread,
                how => Step::Pull(how % 2 == 0),
            },
            _ => Step::Send { what: Said::Call { id: self.byte()?, token: true }, accept: 2, stranger: false },
        })
    }

    fn said(&mut self) -> Option<Said> {
        Some(match self.byte()? % 16 {
            0 => Said::Initialized,
            1 => Said::Initialize,
            2 => Said::Ping(self.byte()?),
            3 => Said::List(self.byte()?),
            4 => Said::Level(self.byte()?),
            5 | 6 => Said::Subscribe(self.byte()?),
            7 => Said::Unsubscribe(self.byte()?),
            8 | 9 => Said::Call { id: self.byte()?, token: self.byte()? % 2 == 1 },
            10 => Said::Extension(self.byte()?),
            11 => Said::Use { id: self.byte()?, what: self.byte()? },
            12 => Said::Cancel(self.byte()?),
            13 | 14 => Said::Reply { back: self.byte()? % 4, how: self.byte()? },
            _ => Said::Junk,
        })
    }
}
