//! Trace context in `_meta`: which request of whom this one belongs to, for telemetry (BASE-23).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;

use crate::encode::json::{Object, members};

/// The longest `baggage` that is read, and the most members of it. W3C asks for these at least; more is ignored as a whole.
const BAGGAGE: (usize, usize) = (8192, 64);
/// The most members of a `tracestate`.
const STATES: usize = 32;
/// The longest key or value in a `tracestate`.
const STATE: usize = 256;

/// The trace context of a request, by W3C's Trace Context and Baggage. Whatever of it is malformed counts as absent, and the
/// request is served all the same: a telemetry mistake is no reason to fail a call.
///
/// A `tracestate` without a valid `traceparent` counts as absent too, as it would belong to no trace.
///
/// # Examples
///
/// ```
/// use mcp_core::trace::TraceContext;
///
/// let meta = br#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","baggage":"tenant=7"}"#;
/// let trace = TraceContext::read(meta);
/// assert_eq!(trace.trace_id(), Some("0af7651916cd43dd8448eb211c80319c"));
/// assert_eq!(trace.parent_id(), Some("b7ad6b7169203331"));
/// assert!(trace.is_sampled());
/// assert_eq!(trace.baggage(), Some("tenant=7"));
///
/// assert!(TraceContext::read(br#"{"traceparent":"00-0-0-1"}"#).is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: Option<Box<str>>,
    tracestate: Option<Box<str>>,
    baggage: Option<Box<str>>,
}

impl TraceContext {
    /// Reads it from a `_meta`: JSON text of an object. Anything else has none.
    #[must_use]
    pub fn read(meta: &[u8]) -> Self {
        let text = core::str::from_utf8(meta).unwrap_or_default();
        let mut found = Self::default();
        // Most requests have none, and pay no parse for it. A key could be written with escapes, but by nobody who means well.
        if memchr::memmem::find(meta, b"\"traceparent\"").is_none()
            && memchr::memmem::find(meta, b"\"baggage\"").is_none()
        {
            return found;
        }
        for (key, value) in members(text).unwrap_or_default() {
            let Ok(value) = serde_json::from_str::<Cow<'_, str>>(value) else { continue };
            found = match &*key {
                "traceparent" => found.with_parent(&value),
                "tracestate" => Self { tracestate: is_tracestate(&value).then(|| (&*value).into()), ..found },
                "baggage" => found.with_baggage(&value),
                _ => found,
            };
        }
        if found.traceparent.is_none() {
            found.tracestate = None;
        }
        found
    }

    /// The same with that `traceparent`, or with none if it is malformed.
    #[must_use]
    pub fn with_parent(mut self, traceparent: &str) -> Self {
        self.traceparent = is_traceparent(traceparent).then(|| traceparent.into());
        self
    }

    /// The same with that `tracestate`, or with none if it is malformed or there is no `traceparent`.
    #[must_use]
    pub fn with_state(mut self, tracestate: &str) -> Self {
        self.tracestate = (self.traceparent.is_some() && is_tracestate(tracestate)).then(|| tracestate.into());
        self
    }

    /// The same with that `baggage`, or with none if it is malformed.
    #[must_use]
    pub fn with_baggage(mut self, baggage: &str) -> Self {
        self.baggage = is_baggage(baggage).then(|| baggage.into());
        self
    }

    /// Whether there is nothing of it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.traceparent.is_none() && self.baggage.is_none()
    }

    /// `version-trace-parent-flags`, as it was sent: valid.
    #[must_use]
    pub fn traceparent(&self) -> Option<&str> {
        self.traceparent.as_deref()
    }

    /// What vendors say of the trace, as it was sent: valid.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// Values that travel along, as they were sent: valid, and said by the client.
    #[must_use]
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// The trace: 32 hexadecimal digits in lower case.
    #[must_use]
    pub fn trace_id(&self) -> Option<&str> {
        self.traceparent.as_deref().and_then(|text| text.get(3..35))
    }

    /// The span that sent this: 16 hexadecimal digits in lower case.
    #[must_use]
    pub fn parent_id(&self) -> Option<&str> {
        self.traceparent.as_deref().and_then(|text| text.get(36..52))
    }

    /// Whether the caller may have recorded it.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        let flags = self.traceparent.as_deref().and_then(|text| text.get(53..55));
        flags.and_then(|flags| u8::from_str_radix(flags, 16).ok()).is_some_and(|flags| flags & 1 == 1)
    }

    /// The `_meta` that says it: JSON text of an object, for an answer's `meta`.
    #[must_use]
    pub fn to_meta(&self) -> Box<str> {
        let mut out = alloc::vec::Vec::with_capacity(96);
        let mut object = Object::open(&mut out);
        object.optional("traceparent", self.traceparent());
        object.optional("tracestate", self.tracestate());
        object.optional("baggage", self.baggage());
        object.close();
        String::from_utf8(out).unwrap_or_default().into()
    }
}

/// Whether a member of `_meta` may be sent: what is malformed of these three may not (BASE-23).
pub(crate) fn may_be_sent(key: &str, value: &str) -> bool {
    let is: fn(&str) -> bool = match key {
        "traceparent" => is_traceparent,
        "tracestate" => is_tracestate,
        "baggage" => is_baggage,
        _ => return true,
    };
    serde_json::from_str::<Cow<'_, str>>(value).is_ok_and(|value| is(&value))
}

/// Trace Context, 3.2. A later version may have more after another hyphen.
fn is_traceparent(text: &str) -> bool {
    let [version @ .., b'-'] = text.as_bytes().get(..3).unwrap_or_default() else { return false };
    let mut parts = text[3..].splitn(4, '-');
    let (trace, parent, flags) = (parts.next(), parts.next(), parts.next());
    let hex = |part: Option<&str>, length: usize| {
        part.is_some_and(|part| part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
    };
    let nonzero = |part: Option<&str>| part.is_some_and(|part| part.bytes().any(|b| b != b'0'));
    let version = core::str::from_utf8(version).ok();
    hex(version, 2)
        && version != Some("ff")
        && hex(trace, 32)
        && nonzero(trace)
        && hex(parent, 16)
        && nonzero(parent)
        && hex(flags, 2)
        && (version != Some("00") || parts.next().is_none())
}

/// Trace Context, 3.3.
fn is_tracestate(text: &str) -> bool {
    let members = || text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty());
    let key = |member| str::split_once(member, '=').map(|(key, _)| key);
    let valid = |member: &str| member.split_once('=').is_some_and(|(key, value)| is_state_key(key) && is_state(value));
    // At most 32, so that looking at all pairs costs little.
    members().take(STATES + 1).count() <= STATES
        && members().enumerate().all(|(at, member)| valid(member) && !members().take(at).any(|m| key(m) == key(member)))
        && members().next().is_some()
}

fn is_state_key(key: &str) -> bool {
    key.len() <= STATE
        && key.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && key.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@'))
}

fn is_state(value: &str) -> bool {
    (1..=STATE).contains(&value.len()) && value.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'=')
}

/// Baggage, 3.3.1: `key=value;property;key=value, ..`.
fn is_baggage(text: &str) -> bool {
    let blank = [' ', '\t'];
    let token = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    let octets =
        |value: &str| value.bytes().all(|b| matches!(b, b'!'..=b'~') && !matches!(b, b'"' | b',' | b';' | b'\\'));
    let pair = |text: &str| {
        text.split_once('=')
            .is_some_and(|(name, value)| token(name.trim_matches(blank)) && octets(value.trim_matches(blank)))
    };
    let member = |member: &str| {
        let mut parts = member.split(';').map(|part| part.trim_matches(blank));
        parts.next().is_some_and(pair) && parts.all(|property| token(property) || pair(property))
    };
    text.len() <= BAGGAGE.0 && text.split(',').count() <= BAGGAGE.1 && text.split(',').all(member)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_as_w3c_has_it_base_23() {
        let flags = |flags: &str| alloc::format!("{}{flags}", &PARENT[..53]);
        for good in [
            PARENT,
            &flags("00"),
            &flags("ff"),
            &PARENT.replace("00-", "01-"),
            &alloc::format!("cc{}-x-y", &PARENT[2..]),
        ] {
            assert!(is_traceparent(good), "{good}");
        }
        let bad = [
            "",
            "00",
            "00-",
            "é-é",
            &PARENT[..54],
            &alloc::format!("{PARENT}-x"),
            &alloc::format!("{PARENT}0"),
            &alloc::format!("01{}0", &PARENT[2..]),
            &PARENT.replace("00-", "ff-"),
            &PARENT.replace("00-", "0-"),
            &PARENT.to_uppercase(),
            &PARENT.replace("b7ad6b7169203331", "0000000000000000"),
            &PARENT.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &PARENT.replace('-', "_"),
            &flags("0g"),
        ];
        for bad in bad {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }

    #[test]
    fn a_tracestate_and_baggage_are_as_w3c_has_them_base_23() {
        let many = |count| (0..count).map(|n| alloc::format!("k{n}=v")).collect::<alloc::vec::Vec<_>>().join(",");
        for good in ["a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "1a@b=x y , c/d*-_=~,", &many(32)] {
            assert!(is_tracestate(good), "{good}");
        }
        let long = alloc::format!("a={}", "x".repeat(257));
        for bad in ["", ",", "a", "A=1", "a=", "=1", "a=1=2", "a=1,a=2", "a=é", "a=\n", &many(33), &long] {
            assert!(!is_tracestate(bad), "{bad}");
        }
        for good in ["a=1", "a=", "userId=alice , b = %20;p; q=1;r = 2", "A.b!=x=y", &many(64)] {
            assert!(is_baggage(good), "{good}");
        }
        for bad in
            ["", "a", "a=1,", "a b=1", "a=b c", "a=\"b\"", "a=é", "a=1;", "a=\\", "=1", &many(65), &"a=1,".repeat(3000)]
        {
            assert!(!is_baggage(bad), "{bad}");
        }
    }

    #[test]
    fn what_is_malformed_is_absent_and_the_rest_stands_base_23() {
        let read = |meta: &str| TraceContext::read(meta.as_bytes());
        for nothing in
            ["", "{}", "[]", "{\"traceparent\":1}", "{\"traceparent\":\"x\",\"tracestate\":\"a=1\"}", "\"traceparent\""]
        {
            assert!(read(nothing).is_empty() && read(nothing).tracestate().is_none(), "{nothing}");
        }
        let meta = |state: &str, baggage: &str| {
            alloc::format!(r#"{{"x":1,"tracestate":"{state}","traceparent":"{PARENT}","baggage":{baggage}}}"#)
        };
        let whole = read(&meta("a=1", "\"b=2\""));
        let said = (whole.traceparent(), whole.tracestate(), whole.baggage(), whole.is_sampled());
        assert_eq!(said, (Some(PARENT), Some("a=1"), Some("b=2"), true));
        assert_eq!(whole, TraceContext::default().with_parent(PARENT).with_state("a=1").with_baggage("b=2"));
        assert_eq!(
            &*whole.to_meta(),
            alloc::format!(r#"{{"traceparent":"{PARENT}","tracestate":"a=1","baggage":"b=2"}}"#)
        );
        assert_eq!(TraceContext::read(whole.to_meta().as_bytes()), whole);

        let part = read(&meta("A=1", "{}"));
        assert_eq!((part.traceparent(), part.tracestate(), part.baggage()), (Some(PARENT), None, None));
        let unsampled = TraceContext::default().with_parent(&PARENT.replace("-01", "-02"));
        assert!(!unsampled.is_sampled() && !unsampled.is_empty());
        let nothing = TraceContext::default().with_state("a=1").with_parent("x").with_baggage("x");
        assert_eq!((nothing.is_empty(), &*nothing.to_meta()), (true, "{}"));
    }
}
