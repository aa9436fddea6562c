//! Where a node can be made to die.

use std::fmt;
use std::str::FromStr;

/// A point that a node passes while it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// An operation of the store is about to be sent.
    Before(Op),
    /// An operation of the store has been confirmed, and nothing has come of it yet.
    After(Op),
    /// Bytes were handed to the socket that the client learns something from.
    Sent(Sent),
}

/// An operation of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    Create,
    Acquire,
    Save,
    Renew,
    Release,
    Remove,
    Append,
    Replay,
    Truncate,
    Forget,
}

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sent {
    /// The head of a response, and with it all of one that is short.
    Response,
    /// An event of a stream.
    Event,
}

impl Op {
    const ALL: [(Self, &'static str); 10] = [
        (Self::Create, "create"),
        (Self::Acquire, "acquire"),
        (Self::Save, "save"),
        (Self::Renew, "renew"),
        (Self::Release, "release"),
        (Self::Remove, "remove"),
        (Self::Append, "append"),
        (Self::Replay, "replay"),
        (Self::Truncate, "truncate"),
        (Self::Forget, "forget"),
    ];
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(op, _)| op == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before(op) => write!(f, "before-{op}"),
            Self::After(op) => write!(f, "after-{op}"),
            Self::Sent(Sent::Response) => f.write_str("sent-response"),
            Self::Sent(Sent::Event) => f.write_str("sent-event"),
        }
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let op = |name: &str| Op::ALL.iter().find(|(_, known)| *known == name).map(|(op, _)| *op);
        let point = match text.split_once('-') {
            Some(("before", name)) => op(name).map(Self::Before),
            Some(("after", name)) => op(name).map(Self::After),
            Some(("sent", "response")) => Some(Self::Sent(Sent::Response)),
            Some(("sent", "event")) => Some(Self::Sent(Sent::Event)),
            _ => None,
        };
        point.ok_or_else(|| format!("no point is called {text}"))
    }
}
