//! The twin test: of two sessions with the same history one sleeps at every moment that it may, the other never. Whatever
//! the history, they say the same and send the same bytes (HTTP-26, CANC-2, PROG-2, LIFE-5, LIFE-10, RES-7 and whatever else counts over time).

use std::cell::Cell;

use mcp_core::{Change, Revision};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, ProptestConfig, Strategy, any};
use proptest::prop_oneof;
use proptest::test_runner::TestRunner;

#[path = "lives.rs"]
mod lives;

use lives::{Counts, Said, Step, World, live};

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        2 => Just(Said::Initialized),
        1 => Just(Said::Initialize),
        1 => any::<u8>().prop_map(Said::Ping),
        1 => any::<u8>().prop_map(Said::List),
        1 => any::<u8>().prop_map(Said::Level),
        3 => any::<u8>().prop_map(Said::Subscribe),
        1 => any::<u8>().prop_map(Said::Unsubscribe),
        8 => (any::<u8>(), any::<bool>()).prop_map(|(id, token)| Said::Call { id, token }),
        2 => any::<u8>().prop_map(Said::Extension),
        6 => (any::<u8>(), any::<u8>()).prop_map(|(id, what)| Said::Use { id, what }),
        2 => any::<u8>().prop_map(Said::Cancel),
        8 => (0..4_u8, any::<u8>()).prop_map(|(back, how)| Said::Reply { back, how }),
        1 => Just(Said::Junk),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let stranger = prop_oneof![9 => Just(false), 1 => Just(true)];
    prop_oneof![
        20 => (said(), 0..8_u8, stranger).prop_map(|(what, accept, stranger)| Step::Send { what, accept, stranger }),
        2 => vec(said(), 0..4).prop_map(Step::Batch),
        1 => Just(Step::Unread),
        4 => (any::<u8>(), option::of((0..6_u8, 0..5_u8))).prop_map(|(accept, resume)| Step::Attach { accept, resume }),
        2 => any::<u8>().prop_map(Step::Detach),
        5 => (any::<u8>(), any::<u8>()).prop_map(|(call, note)| Step::Note { call, note }),
        12 => (any::<u8>(), any::<u8>()).prop_map(|(call, how)| Step::Done { call, how }),
        3 => (0..40_000_u64).prop_map(Step::Wait),
        3 => Just(Step::UntilDue),
        2 => (0..3_usize).prop_map(|what| Step::Changed(Change::ALL[what])),
        3 => any::<u8>().prop_map(Step::Updated),
        1 => any::<bool>().prop_map(Step::Take),
        2 => any::<bool>().prop_map(Step::Pull),
        1 => any::<u8>().prop_map(Step::Close),
    ]
}

fn world() -> impl Strategy<Value = World> {
    (0..4_usize, any::<[bool; 7]>()).prop_map(|(revision, [able, principal, ping, call, orphan, silent, resumable])| {
        World { revision: Revision::ALL[revision], able, principal, ping, call, orphan, silent, resumable }
    })
}

#[test]
fn a_session_that_sleeps_at_each_chance_sends_what_its_twin_sends_that_never_does() {
    let totals = Cell::new(Counts::default());
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = u64::from(config.cases);
    let lived = TestRunner::new(config).run(&(world(), vec(step(), 1..80)), |(world, steps)| {
        let (had, has) = (totals.get(), live(&world, &steps));
        totals.set(Counts {
            naps: had.naps + has.naps,
            resumed: had.resumed + has.resumed,
            returns: had.returns + has.returns,
            comments: had.comments + has.comments,
            changes: had.changes + has.changes,
            late: had.late + has.late,
        });
        Ok(())
    });
    lived.unwrap_or_else(|failed| panic!("{failed}"));
    let Counts { naps, resumed, returns, comments, changes, late } = totals.get();
    assert!(naps > 5 * cases && resumed > cases / 2, "too quiet to mean much: {naps} naps, {resumed} calls ran again");
    assert!(returns > cases / 10, "too few came back: {returns}");
    // 256 cases have about forty of each, and one run in ten has a quarter fewer: what is asked for is far below that.
    let few = cases / 32;
    assert!(comments > few && changes > few && late > few, "{comments}, {changes}, {late}");
}
