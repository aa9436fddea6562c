//! The roster beside one that keeps everything in one list and looks at all of it each time.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any};
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;

const SEATS: usize = 8;
const BEDS: usize = 12;
const URIS: [&str; 3] = ["a:1", "a:2", "a:3"];
const NAMES: [&str; 3] = ["", "ann", "bob"];

#[derive(Clone, Debug)]
enum Op {
    Admit(u32, usize),
    Established(u32),
    Contact(u32, usize),
    Sleep(u32, Bed),
    Arm(u32, u64),
    Changed,
    Updated(usize),
    Detach(u32, u64),
    Rouse(u32),
    Remove(u32),
    /// Time passes, and what is due is done.
    Pass(u64),
}

/// How one goes to sleep.
#[derive(Clone, Debug)]
struct Bed {
    streams: usize,
    wake_in: Option<u64>,
    ends: bool,
    follows: [bool; 3],
}

fn bed() -> impl Strategy<Value = Bed> {
    (prop_oneof![3 => 0..1_usize, 2 => 1..3_usize], any::<Option<u64>>(), any::<bool>(), any::<[bool; 3]>())
        .prop_map(|(streams, wake_in, ends, follows)| Bed { streams, wake_in: wake_in.map(within), ends, follows })
}

/// A span from nothing to a month, all lengths alike.
fn within(random: u64) -> u64 {
    random >> (32 + random % 32) & 0x7FFF_FFFF
}

fn op() -> impl Strategy<Value = Op> {
    let n = || 0..24_u32;
    prop_oneof![
        6 => (n(), 0..3_usize).prop_map(|(n, name)| Op::Admit(n, name)),
        3 => n().prop_map(Op::Established),
        4 => (n(), 0..3_usize).prop_map(|(n, name)| Op::Contact(n, name)),
        9 => (n(), bed()).prop_map(|(n, bed)| Op::Sleep(n, bed)),
        2 => (n(), any::<u64>()).prop_map(|(n, span)| Op::Arm(n, within(span))),
        1 => proptest::strategy::Just(Op::Changed),
        3 => (0..3_usize).prop_map(Op::Updated),
        1 => (n(), 0..6_u64).prop_map(|(n, stream)| Op::Detach(n, stream)),
        1 => n().prop_map(Op::Rouse),
        1 => n().prop_map(Op::Remove),
        5 => any::<u64>().prop_map(|span| Op::Pass(within(span))),
    ]
}

#[derive(Debug)]
enum State {
    Live { armed: Option<Time> },
    Asleep(Box<Sleeping>),
}

#[derive(Debug)]
struct Sleeping {
    asleep: Asleep,
    updated: [bool; 3],
    /// Whether it has to be woken for something that has happened.
    wanted: bool,
    detached: Vec<StreamId>,
}

#[derive(Debug)]
struct Entry {
    name: usize,
    opening: bool,
    state: State,
}

#[derive(Debug, Default)]
struct Model(BTreeMap<u32, Entry>);

impl Model {
    fn live(&self) -> usize {
        self.0.values().filter(|entry| matches!(entry.state, State::Live { .. })).count()
    }

    fn asleep(&self) -> usize {
        self.0.len() - self.live()
    }

    fn opening(&self) -> usize {
        self.0.values().filter(|entry| entry.opening).count()
    }

    fn sleeping(&mut self, n: u32) -> Option<&mut Sleeping> {
        match &mut self.0.get_mut(&n)?.state {
            State::Asleep(sleeping) => Some(sleeping),
            State::Live { .. } => None,
        }
    }

    /// Of a sleeper: it is awake now.
    fn wake(&mut self, n: u32) -> Sleeping {
        let entry = self.0.get_mut(&n).expect("it exists");
        match std::mem::replace(&mut entry.state, State::Live { armed: None }) {
            State::Asleep(sleeping) => *sleeping,
            State::Live { .. } => panic!("{n} was awake"),
        }
    }
}

fn number(session: SessionId) -> u32 {
    let [a, b, c, d, ..] = session.bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// What came out of the roster for a sleeper is what went in, and what has happened since.
fn same(sleeper: &Sleeper, was: &Sleeping) {
    assert_eq!(sleeper.snapshot, was.asleep.snapshot);
    assert_eq!(sleeper.keep_alives.deadline(), was.asleep.keep_alives.deadline());
    assert_eq!(sleeper.detached, was.detached);
    let updated = URIS.iter().zip(was.updated).filter(|(_, updated)| *updated);
    assert_eq!(sleeper.updated, updated.map(|(uri, _)| (*uri).into()).collect::<Vec<Box<str>>>());
}

struct Both {
    roster: Roster,
    model: Model,
    endpoint: Arc<Endpoint>,
    now: Time,
}

impl Both {
    fn new() -> Self {
        let roster = limited(|limits| {
            (limits.sessions, limits.sessions_asleep, limits.sessions_each, limits.sessions_opening) =
                (SEATS, BEDS, 7, 4);
        });
        Self { roster, model: Model::default(), endpoint: fixture::endpoint(), now: T0 }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Admit(n, name) => self.admit(n, name),
            Op::Established(n) => {
                self.roster.established(id(n));
                if let Some(Entry { opening, state: State::Live { .. }, .. }) = self.model.0.get_mut(&n) {
                    *opening = false;
                }
            }
            Op::Contact(n, name) => self.contact(n, name),
            Op::Sleep(n, bed) => self.sleep(n, &bed),
            Op::Arm(n, span) => {
                let at = self.now.after(Span(span));
                self.roster.arm(id(n), at);
                if let Some(Entry { state: State::Live { armed }, .. }) = self.model.0.get_mut(&n) {
                    *armed = Some(armed.map_or(at, |armed| armed.min(at)));
                }
            }
            Op::Changed => {
                self.roster.changed();
                for n in 0..24 {
                    if let Some(sleeping) = self.model.sleeping(n) {
                        sleeping.wanted |= !sleeping.asleep.keep_alives.is_empty();
                    }
                }
            }
            Op::Updated(index) => {
                self.roster.updated(URIS[index]);
                for n in 0..24 {
                    if let Some(sleeping) = self.model.sleeping(n)
                        && sleeping.asleep.follows.iter().any(|uri| **uri == *URIS[index])
                    {
                        sleeping.updated[index] = true;
                        sleeping.wanted |= !sleeping.asleep.keep_alives.is_empty();
                    }
                }
            }
            Op::Detach(n, stream) => {
                let stream = StreamId(stream);
                let told = self.roster.detach(id(n), stream);
                let sleeping = self.model.sleeping(n);
                assert_eq!(told, sleeping.is_some());
                if let Some(sleeping) = sleeping
                    && sleeping.asleep.keep_alives.contains(stream)
                    && !sleeping.detached.contains(&stream)
                {
                    sleeping.detached.push(stream);
                    sleeping.wanted = true;
                }
            }
            Op::Rouse(n) => {
                self.roster.rouse(id(n));
                self.model.sleeping(n).into_iter().for_each(|sleeping| sleeping.wanted = true);
            }
            Op::Remove(n) => {
                self.roster.remove(id(n));
                self.model.0.remove(&n);
            }
            Op::Pass(span) => self.pass(span),
        }
        assert_eq!((self.roster.live(), self.roster.asleep()), (self.model.live(), self.model.asleep()));
    }

    fn admit(&mut self, n: u32, name: usize) {
        let own = self.model.0.values().filter(|entry| entry.name == name && name > 0).count();
        let room = self.model.live() < SEATS
            && self.model.opening() < 4
            && self.model.asleep() < BEDS
            && own < 7
            && !self.model.0.contains_key(&n);
        let admitted = self.roster.admit(id(n), caller(NAMES[name]).principal.as_ref());
        assert_eq!(admitted.is_ok(), room, "{admitted:?}");
        if room {
            self.model.0.insert(n, Entry { name, opening: true, state: State::Live { armed: None } });
        }
    }

    fn contact(&mut self, n: u32, name: usize) {
        let contact = self.roster.contact(id(n), &caller(NAMES[name]));
        let seats = self.model.live() < SEATS;
        match self.model.0.get_mut(&n) {
            None => assert!(matches!(contact, Contact::Unknown)),
            Some(Entry { state: State::Live { .. }, .. }) => assert!(matches!(contact, Contact::Live)),
            Some(entry) if entry.name != name => assert!(matches!(contact, Contact::Unknown)),
            Some(_) if !seats => assert!(matches!(contact, Contact::Full(_))),
            Some(entry) => {
                entry.opening = false;
                same(&woken(contact), &self.model.wake(n));
            }
        }
    }

    fn sleep(&mut self, n: u32, bed: &Bed) {
        let Some(Entry { name, state: State::Live { .. }, .. }) = self.model.0.get(&n) else { return };
        let mut asleep = asleep(&self.endpoint, id(n), NAMES[*name], bed.streams, self.now);
        let timer = if bed.ends { Timer::Idle } else { Timer::Ping };
        asleep.wake_at = bed.wake_in.map(|span| (self.now.after(Span(span)), timer));
        asleep.follows =
            URIS.iter().zip(bed.follows).filter(|(_, follows)| *follows).map(|(uri, _)| (*uri).into()).collect();
        let room = self.model.asleep() < BEDS;
        let slept = self.roster.sleep(id(n), asleep.clone(), self.now);
        assert_eq!(slept.is_ok(), room);
        if room {
            let sleeping = Sleeping { asleep, updated: [false; 3], wanted: false, detached: Vec::new() };
            self.model.0.get_mut(&n).expect("it exists").state = State::Asleep(Box::new(sleeping));
        }
    }

    /// Looks at each deadline on the way, as a driver does, or at the end alone if there are too many.
    fn pass(&mut self, span: u64) {
        let end = self.now.after(Span(span));
        for _ in 0..200 {
            match self.roster.deadline().filter(|at| *at <= end) {
                None => break,
                Some(at) => self.now = self.now.max(at),
            }
            self.look();
        }
        self.now = end;
        self.look();
    }

    fn look(&mut self) {
        let now = self.now;
        while let Some(due) = self.roster.poll_due(now) {
            match due {
                Due::Tick(session) => match &mut self.model.0.get_mut(&number(session)).expect("it exists").state {
                    State::Live { armed } => assert!(armed.take().is_some_and(|at| at <= now)),
                    State::Asleep(_) => panic!("it sleeps"),
                },
                Due::Expired(session) => {
                    let entry = self.model.0.remove(&number(session)).expect("it exists");
                    let State::Asleep(sleeping) = entry.state else { panic!("it lives") };
                    assert!(matches!(sleeping.asleep.wake_at, Some((at, Timer::Idle)) if at <= now));
                }
                Due::KeepAlive(session, stream) => {
                    let sleeping = self.model.sleeping(number(session)).expect("it sleeps");
                    assert!(!sleeping.detached.contains(&stream));
                    while sleeping.asleep.keep_alives.due(now).expect("a comment is due") != stream {}
                }
                Due::Wake(session, sleeper) => {
                    let was = self.model.wake(number(session));
                    let late = |(at, timer)| timer == Timer::Ping && at <= now;
                    assert!(was.wanted || was.asleep.wake_at.is_some_and(late), "it woke for nothing");
                    let mut was = was;
                    // Comments on streams that nobody reads were counted, not said.
                    while was.asleep.keep_alives.deadline() < sleeper.keep_alives.deadline() {
                        was.asleep.keep_alives.due(now);
                    }
                    same(&sleeper, &was);
                }
            }
        }
        assert!(self.roster.deadline().is_none_or(|at| at > now));
        self.nothing_is_overdue();
    }

    /// Whatever the roster should have said by now, it has.
    fn nothing_is_overdue(&self) {
        let (now, seats) = (self.now, self.model.live() < SEATS);
        for (n, entry) in &self.model.0 {
            match &entry.state {
                State::Live { armed } => assert!(armed.is_none_or(|at| at > now), "{n} waits for its tick"),
                State::Asleep(sleeping) => {
                    match sleeping.asleep.wake_at {
                        Some((at, Timer::Idle)) => assert!(at > now, "{n} is idle for too long"),
                        Some((at, _)) => assert!(at > now || !seats, "{n} should be awake"),
                        None => {}
                    }
                    let read = sleeping.detached.is_empty();
                    let comment = sleeping.asleep.keep_alives.deadline().filter(|_| read);
                    assert!(comment.is_none_or(|at| at > now), "{n} waits for a comment");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_roster_does_what_a_list_of_all_sessions_would(ops in vec(op(), 1..120)) {
        let mut both = Both::new();
        for op in ops {
            both.apply(op);
        }
        // In the end all that wanted to be woken are, given seats and time.
        for n in 0..24 {
            if both.model.sleeping(n).is_none() {
                both.apply(Op::Remove(n));
            }
        }
        for _ in 0..4 {
            both.pass(1000);
            for n in 0..24 {
                if both.model.sleeping(n).is_none() {
                    both.apply(Op::Remove(n));
                }
            }
        }
        for n in 0..24 {
            prop_assert!(both.model.sleeping(n).is_none_or(|sleeping| !sleeping.wanted), "{} is forgotten", n);
            both.apply(Op::Remove(n));
        }
        prop_assert_eq!((both.roster.len(), both.roster.bytes()), (0, 0));
        both.pass(1000);
        prop_assert_eq!(both.roster.deadline(), None);
    }
}
