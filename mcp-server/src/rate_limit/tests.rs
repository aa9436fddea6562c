use std::sync::atomic::{AtomicU64, Ordering};

use mcp_core::Scopes;
use proptest::prelude::*;

use super::*;

/// A clock that is moved by hand, and a limit by it.
fn with_clock(limit: RateLimit) -> (RateLimit, impl Fn(Duration)) {
    let time = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&time);
    let limit = limit.clock(move || Duration::from_nanos(read.load(Ordering::SeqCst)));
    let jump = move |span: Duration| {
        time.fetch_add(u64::try_from(span.as_nanos()).unwrap(), Ordering::SeqCst);
    };
    (limit, jump)
}

fn ask(limit: &RateLimit, who: &str) -> Result<(), Duration> {
    limit.check(&RateKeyInput::of(&Caller::new(who, Scopes::default())))
}

/// How many of so many requests at once are let through.
fn passed(limit: &RateLimit, who: &str, times: usize) -> usize {
    (0..times).filter(|_| ask(limit, who).is_ok()).count()
}

#[cfg(feature = "http")]
fn from(limit: &RateLimit, address: &str) -> Result<(), Duration> {
    let headers = crate::http::HeaderMap::new();
    limit.check(&RateKeyInput::of_http(&Caller::anonymous(), Some(address.parse().unwrap()), &headers))
}

#[test]
fn a_burst_and_then_a_rate_sec_2() {
    let (limit, jump) = with_clock(RateLimit::new(10, Duration::from_secs(60)));
    assert_eq!(passed(&limit, "ada", 100), 10);
    assert_eq!(ask(&limit, "ada"), Err(Duration::from_secs(6)));
    assert_eq!(passed(&limit, "bob", 100), 10, "each has their own");
    jump(Duration::from_secs(6));
    assert_eq!(passed(&limit, "ada", 100), 1);
    jump(Duration::from_secs(3600));
    assert_eq!(passed(&limit, "ada", 100), 10, "nobody saves more than a burst");
    let (limit, jump) = with_clock(RateLimit::new(60, Duration::from_secs(60)).burst(2));
    assert_eq!(passed(&limit, "ada", 10), 2);
    jump(Duration::from_secs(1));
    assert_eq!(passed(&limit, "ada", 10), 1);
}

#[cfg(feature = "http")]
#[test]
fn those_without_a_principal_are_told_apart_by_address_sec_2() {
    let (limit, _) = with_clock(RateLimit::new(1, Duration::from_secs(60)));
    assert!(from(&limit, "192.0.2.1:5000").is_ok());
    assert!(from(&limit, "192.0.2.1:6000").is_err(), "the port is nobody's name");
    assert!(from(&limit, "[::ffff:192.0.2.1]:7000").is_err(), "the same on a socket for both");
    assert!(from(&limit, "192.0.2.2:5000").is_ok());
    assert!(from(&limit, "[2001:db8:0:1::1]:5000").is_ok());
    assert!(from(&limit, "[2001:db8:0:1:ffff::2]:5000").is_err(), "one network");
    assert!(from(&limit, "[2001:db8:0:2::1]:5000").is_ok());
    let nobody = Caller::anonymous();
    assert!(limit.check(&RateKeyInput::of(&nobody)).is_ok());
    assert!(limit.check(&RateKeyInput::of(&nobody)).is_err(), "all others are one");
    assert!(ask(&limit, "192.0.2.1").is_ok(), "no name is taken for an address");
}

#[test]
fn keys_of_the_hosts_own_count_who_belongs_together() {
    let limit =
        RateLimit::new(2, Duration::from_secs(60)).by(|who| Some(who.principal()?.split('/').next()?.to_owned()));
    let (limit, _) = with_clock(limit);
    assert!(ask(&limit, "a/1").is_ok() && ask(&limit, "a/2").is_ok());
    assert!(ask(&limit, "a/3").is_err());
    assert!(ask(&limit, "b/1").is_ok());
    let nothing = with_clock(RateLimit::new(1, Duration::from_secs(60)).by(|_| None)).0;
    assert!(ask(&nothing, "a").is_ok());
    assert!(ask(&nothing, "b").is_err(), "who has no key is not let through for it");
}

#[test]
fn clones_count_together_and_another_setting_counts_anew() {
    let limit = with_clock(RateLimit::new(1, Duration::from_secs(60))).0;
    let clone = limit.clone();
    assert!(ask(&limit, "ada").is_ok() && ask(&clone, "ada").is_err());
    assert!(ask(&clone.burst(1), "ada").is_ok());
}

#[test]
fn a_flood_of_keys_stays_bounded_and_locks_nobody_out_sec_2() {
    let (limit, jump) = with_clock(RateLimit::new(10, Duration::from_secs(10)).max_keys(1_000));
    assert_eq!(passed(&limit, "greedy", 20), 10);
    for number in 0..100_000 {
        if number % 1_000 == 0 {
            assert!(ask(&limit, "well-behaved").is_ok(), "after {number}");
            jump(Duration::from_millis(1_000));
            assert_eq!(passed(&limit, "greedy", 20), 1, "who asks too often is not forgotten: after {number}");
        }
        assert!(ask(&limit, &format!("flood {number}")).is_ok(), "nor is anybody new locked out");
        assert!(limit.buckets.lock().unwrap().len() <= 1_000);
    }
}

#[test]
fn a_table_of_one_key_and_extreme_rates_hold() {
    let (limit, _) = with_clock(RateLimit::new(1, Duration::from_secs(60)).max_keys(1));
    assert!(ask(&limit, "a").is_ok() && ask(&limit, "a").is_err());
    assert!(ask(&limit, "b").is_ok());
    assert_eq!(limit.buckets.lock().unwrap().len(), 1);
    let (limit, jump) = with_clock(RateLimit::new(u32::MAX, Duration::from_nanos(1)));
    assert_eq!(passed(&limit, "a", 1_000), 1_000);
    jump(Duration::from_secs(1));
    let (limit, _) = with_clock(RateLimit::new(1, Duration::MAX).burst(u32::MAX));
    assert_eq!(passed(&limit, "a", 1_000), 1_000, "more than any span that counts");
}

#[test]
fn mistakes_are_named() {
    let second = Duration::from_secs(1);
    assert_eq!(RateLimit::new(1, second).burst(1).max_keys(1).mistake(), None);
    for wrong in [
        RateLimit::new(0, second),
        RateLimit::new(1, Duration::ZERO),
        RateLimit::new(1, second).burst(0),
        RateLimit::new(1, second).max_keys(0),
    ] {
        assert!(wrong.mistake().is_some(), "{wrong:?}");
    }
}

/// A bucket of tokens, as one would explain it: it fills with the time, and a request takes one out.
struct Model {
    tokens: u128,
    full: u128,
    cost: u128,
    filled_at: u64,
}

impl Model {
    fn take(&mut self, now: u64) -> Result<(), u64> {
        self.tokens = (self.tokens + u128::from(now - self.filled_at)).min(self.full);
        self.filled_at = now;
        match self.tokens.checked_sub(self.cost) {
            Some(rest) => {
                self.tokens = rest;
                Ok(())
            }
            None => Err(u64::try_from(self.cost - self.tokens).unwrap()),
        }
    }
}

proptest! {
    #[test]
    fn it_lets_through_what_a_bucket_of_tokens_would_sec_2(
        amount in 1..50_u32,
        per in 1..10_000_u64,
        burst in 1..20_u32,
        steps in prop::collection::vec((0..4_u8, 0..3_000_u64), 1..200),
    ) {
        let rate = Rate::new(amount, Duration::from_nanos(per), burst);
        let mut buckets = Buckets::new(rate, 100);
        let cost = u128::from((per / u64::from(amount)).max(1));
        let full = cost * u128::from(burst);
        let mut models: Vec<Model> = (0..4).map(|_| Model { tokens: full, full, cost, filled_at: 0 }).collect();
        let mut now = 0;
        for (key, span) in steps {
            now += span;
            let said = buckets.take(key.into(), now);
            prop_assert_eq!(said, models[usize::from(key)].take(now));
            if let Err(wait) = said {
                prop_assert_eq!(buckets.take(key.into(), now + wait - 1), Err(1));
                prop_assert_eq!(buckets.take(key.into(), now + wait), Ok(()));
                now += wait;
                prop_assert_eq!(models[usize::from(key)].take(now), Ok(()));
            }
        }
    }
}
