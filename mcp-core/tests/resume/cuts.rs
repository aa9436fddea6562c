//! However often a connection breaks, and wherever, its client has in the end what one has that never lost it.

use mcp_core::{Level, Note, Pull, Revision, Span, StreamId};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::json;

use super::host::{Host, id_of};
use crate::{ask, call, progress, text};

/// What the call does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Progress,
    Log,
    /// It asks, and the client that has the question answers.
    Ask,
    HangUp,
    Wait(u64),
}

/// What becomes of the connection after each act.
#[derive(Clone, Copy, Debug)]
enum Line {
    Holds,
    /// It breaks, and that many events of those that were on their way came through.
    Breaks {
        through: usize,
        noticed: bool,
    },
    /// The client comes back.
    Back,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Progress),
        2 => Just(Act::Log),
        1 => Just(Act::Ask),
        1 => Just(Act::HangUp),
        1 => (0..20_000_u64).prop_map(Act::Wait),
    ]
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        3 => Just(Line::Holds),
        2 => (0..4_usize, any::<bool>()).prop_map(|(through, noticed)| Line::Breaks { through, noticed }),
        2 => Just(Line::Back),
    ]
}

/// A client that reads one call's stream.
struct Client {
    host: Host,
    stream: StreamId,
    /// The events that it has, in the order in which they came.
    has: Vec<String>,
    /// How many of the events of this connection it has.
    read: usize,
    away: bool,
    step: u32,
}

impl Client {
    fn new(revision: Revision) -> Self {
        let mut host = Host::open(revision);
        let (stream, _) = host.post(&call(1));
        Self { host, stream, has: Vec::new(), read: 0, away: false, step: 0 }
    }

    /// Reads what has come, or the first events of it.
    fn read(&mut self, most: usize) {
        let Some(connection) = self.host.reading.get(&self.stream).filter(|_| !self.away) else { return };
        let new: Vec<String> = connection.events().into_iter().skip(self.read).take(most).collect();
        self.read += new.len();
        self.has.extend(new);
    }

    fn is_sent_away(&self) -> bool {
        self.host.reading.get(&self.stream).is_some_and(|connection| connection.ended == Some(Pull::Pause))
    }

    fn breaks(&mut self, through: usize, noticed: bool) {
        if self.away {
            return;
        }
        self.read(through);
        if self.has.is_empty() {
            // Who has nothing cannot come back.
            return;
        }
        self.away = true;
        if noticed {
            self.host.leave(self.stream);
        }
    }

    fn comes_back(&mut self) {
        let Some(last) = self.has.last() else { return };
        let (stream, resumed) = self.host.resume(&id_of(last).to_string());
        assert_eq!((stream, resumed.status()), (self.stream, 200), "after {last:?}: {}", resumed.text);
        (self.away, self.read) = (false, 0);
    }

    fn act(&mut self, act: Act) {
        self.step += 1;
        match act {
            Act::Progress => self.host.note(progress(self.step)),
            Act::Log => {
                let data = self.step.to_string().into();
                self.host.note(Note::Log { level: Level::Error, logger: None, data });
            }
            Act::HangUp => self.host.note(Note::HangUp),
            Act::Wait(ms) => self.host.advance(Span::millis(ms)),
            Act::Ask => {
                self.host.done(ask());
                if self.away || self.is_sent_away() {
                    self.read(usize::MAX);
                    self.comes_back();
                }
                self.read(usize::MAX);
                let question = self.has.last().and_then(|event| event.split_once("data: ")).unwrap().1;
                let question: serde_json::Value = serde_json::from_str(question.trim()).unwrap();
                self.host.post(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}));
            }
        }
    }

    /// The call ends, and the client gets what it has not.
    fn finish(mut self) -> (Vec<String>, Option<Pull>) {
        self.host.done(text("done"));
        self.read(usize::MAX);
        if self.away || self.is_sent_away() {
            self.comes_back();
            self.read(usize::MAX);
        }
        let ended = self.host.reading[&self.stream].ended;
        (self.has, ended)
    }
}

fn run(revision: Revision, acts: &[(Act, Line)], cut: bool) -> (Vec<String>, Option<Pull>) {
    let mut client = Client::new(revision);
    // The stream is one of events from the start in both runs.
    client.act(Act::Progress);
    for (act, line) in acts {
        client.act(*act);
        match line {
            Line::Breaks { through, noticed } if cut => client.breaks(*through, *noticed),
            Line::Back if client.away => client.comes_back(),
            Line::Holds | Line::Breaks { .. } | Line::Back => {}
        }
        if client.is_sent_away() && !client.away {
            client.read(usize::MAX);
            client.comes_back();
        }
        client.read(usize::MAX);
    }
    client.finish()
}

proptest! {
    #[test]
    fn a_cut_run_gives_the_bytes_of_the_uncut_one_http_29_case_76(
        acts in vec((act(), line()), 0..24),
        primed in any::<bool>(),
    ) {
        let revision = if primed { Revision::V2025_11_25 } else { Revision::V2025_06_18 };
        let (uncut, ended) = run(revision, &acts, false);
        prop_assert_eq!(ended, Some(Pull::End));
        prop_assert!(uncut.last().unwrap().contains("\"result\""));
        let (cut, ended) = run(revision, &acts, true);
        prop_assert_eq!(cut, uncut);
        prop_assert_eq!(ended, Some(Pull::End));
    }
}

#[test]
fn each_event_of_a_finished_call_can_be_resumed_after_http_29_case_76() {
    let acts = [Act::Progress, Act::Log, Act::Ask, Act::HangUp, Act::Progress].map(|act| (act, Line::Holds));
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let (uncut, _) = run(revision, &acts, false);
        for after in 0..uncut.len() - 1 {
            let mut client = Client::new(revision);
            client.act(Act::Progress);
            acts.iter().for_each(|(act, _)| client.act(*act));
            client.host.done(text("done"));
            let (_, resumed) = client.host.resume(&id_of(&uncut[after]).to_string());
            assert_eq!(resumed.events(), uncut[after + 1..], "after {}", uncut[after]);
        }
    }
}
