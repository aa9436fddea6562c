//! What a request knows from one run to the next: answers, results of side effects, data of the handler's own.
//!
//! In the modern era it travels through the client, sealed; in the others the session keeps it. It is written by length, so
//! that it is small, and so that no text in it can be taken for another part.

use mcp_core::question::{Question, Response};
use sha2::{Digest as _, Sha256};

/// The first bytes of a state that is written here; one that a handler gave [`CallError::ask`](crate::CallError::ask) begins
/// otherwise.
const FORMAT: &[u8] = b"\0ask\x01";

/// Bytes of the name of a chain, random: nobody can guess one.
const NAME: usize = 16;

/// What stands for the whole of a question.
pub(super) type Digest = [u8; 16];

/// Everything that is known from earlier runs.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The name of all runs of one request together. Given when it first asks, so a request that never asks has none.
    pub(super) chain: Option<[u8; NAME]>,
    /// How many of its states were used up.
    pub(super) used: u32,
    /// Whether this run has used up the state that it came with. Not kept.
    pub(super) claimed: bool,
    pub(super) answers: Vec<Answered>,
    pub(super) open: Vec<Open>,
    /// JSON texts by key.
    pub(super) effects: Vec<(Box<str>, Box<str>)>,
    /// JSON text.
    pub(super) kept: Option<Box<str>>,
    /// The state of code that asks by itself, behind a question that was asked before it ran.
    pub(super) behind: Option<bytes::Bytes>,
}

/// A question that was answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) key: Box<str>,
    pub(super) digest: Digest,
    pub(super) reply: Response,
}

/// A question that was asked by the run before.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) key: Box<str>,
    pub(super) digest: Digest,
    /// How often it was asked without an answer that could be used.
    pub(super) tries: u8,
    /// Whether it is this run that asks it, so that no reply is one to it. Not kept.
    pub(super) now: bool,
}

impl Memory {
    /// What an earlier run left; nothing if that was not written here.
    pub(crate) fn read(state: &[u8]) -> Self {
        state.strip_prefix(FORMAT).and_then(|state| Reader(state).memory()).unwrap_or_default()
    }

    /// How much of it the client said.
    pub(super) fn answer_bytes(&self) -> usize {
        let bytes = |reply: &Response| match reply {
            Response::Result(result) => result.len(),
            Response::Error { message, .. } => message.len(),
            Response::TimedOut | Response::Unsupported => 0,
        };
        self.answers.iter().map(|answered| bytes(&answered.reply)).sum()
    }

    /// Whether that question was answered.
    pub(super) fn has_answer(&self, key: &str) -> bool {
        self.answers.iter().any(|answered| *answered.key == *key)
    }

    /// Whether a state was written here.
    pub(super) fn wrote(state: &[u8]) -> bool {
        state.starts_with(FORMAT)
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = FORMAT.to_vec();
        out.push(u8::from(self.chain.is_some()));
        out.extend_from_slice(&self.chain.unwrap_or_default());
        out.extend_from_slice(&self.used.to_le_bytes());
        count(&mut out, self.answers.len());
        for Answered { key, digest, reply } in &self.answers {
            bytes(&mut out, key.as_bytes());
            out.extend_from_slice(digest);
            match reply {
                Response::Result(result) => {
                    out.push(0);
                    bytes(&mut out, result);
                }
                Response::Error { code, message } => {
                    out.push(1);
                    out.extend_from_slice(&code.to_le_bytes());
                    bytes(&mut out, message.as_bytes());
                }
                Response::TimedOut => out.push(2),
                Response::Unsupported => out.push(3),
            }
        }
        count(&mut out, self.open.len());
        for Open { key, digest, tries, now: _ } in &self.open {
            bytes(&mut out, key.as_bytes());
            out.extend_from_slice(digest);
            out.push(*tries);
        }
        count(&mut out, self.effects.len());
        for (key, json) in &self.effects {
            bytes(&mut out, key.as_bytes());
            bytes(&mut out, json.as_bytes());
        }
        out.push(u8::from(self.kept.is_some()));
        bytes(&mut out, self.kept.as_deref().unwrap_or_default().as_bytes());
        out.push(u8::from(self.behind.is_some()));
        bytes(&mut out, self.behind.as_deref().unwrap_or_default());
        out
    }
}

/// The digest of a question. What it is called on the wire is no part of it.
pub(super) fn digest(question: &Question) -> Digest {
    let (kind, parts): (u8, [&str; 2]) = match question {
        Question::Form { message, schema } => (0, [message, schema]),
        Question::Url { message, url, .. } => (1, [message, url]),
        Question::Sample { params, .. } => (2, [params, ""]),
        Question::Roots => (3, ["", ""]),
        // One that this library does not ask.
        _ => (u8::MAX, ["", ""]),
    };
    let mut hash = Sha256::new();
    hash.update([kind]);
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut digest = Digest::default();
    digest.copy_from_slice(&hash.finalize()[..size_of::<Digest>()]);
    digest
}

fn count(out: &mut Vec<u8>, count: usize) {
    // Longer ones are over the limit of what may be kept, and never sent.
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, part: &[u8]) {
    count(out, part.len());
    out.extend_from_slice(part);
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn memory(mut self) -> Option<Memory> {
        let named = self.byte()? == 1;
        let chain = self.array::<NAME>()?;
        let used = u32::from_le_bytes(self.array()?);
        let answers = self.list(|from| {
            let (key, digest) = (from.text()?, from.array()?);
            let reply = match from.byte()? {
                0 => Response::Result(bytes::Bytes::copy_from_slice(from.bytes()?)),
                1 => Response::Error { code: i64::from_le_bytes(from.array()?), message: from.text()? },
                2 => Response::TimedOut,
                3 => Response::Unsupported,
                _ => return None,
            };
            Some(Answered { key, digest, reply })
        })?;
        let open =
            self.list(|from| Some(Open { key: from.text()?, digest: from.array()?, tries: from.byte()?, now: false }))?;
        let effects = self.list(|from| Some((from.text()?, from.text()?)))?;
        let has_kept = self.byte()? == 1;
        let kept = self.text()?;
        let has_behind = self.byte()? == 1;
        let behind = bytes::Bytes::copy_from_slice(self.bytes()?);
        let chain = named.then_some(chain);
        let kept = has_kept.then_some(kept);
        let behind = has_behind.then_some(behind);
        self.0.is_empty().then_some(Memory { chain, used, claimed: false, answers, open, effects, kept, behind })
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn text(&mut self) -> Option<Box<str>> {
        std::str::from_utf8(self.bytes()?).ok().map(Into::into)
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = u32::from_le_bytes(self.array()?);
        // No room is made for what is not there: each item reads at least a byte, or ends it.
        (0..length).map(|_| item(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Memory {
        let answer = |key: &str, reply| Answered { key: key.into(), digest: [7; 16], reply };
        Memory {
            chain: Some([9; NAME]),
            used: 3,
            claimed: false,
            answers: vec![
                answer("a", Response::Result("{\"x\":1}".into())),
                answer("b", Response::Error { code: -1, message: "no".into() }),
                answer("c", Response::TimedOut),
                answer("", Response::Unsupported),
            ],
            open: vec![Open { key: "d".into(), digest: [1; 16], tries: 2, now: false }],
            effects: vec![("pay".into(), "17".into())],
            kept: Some("{\"é\":null}".into()),
            behind: Some("step 1".into()),
        }
    }

    #[test]
    fn what_is_kept_comes_back_whole_mrtr_11() {
        for memory in [full(), Memory::default()] {
            assert_eq!(format!("{:?}", Memory::read(&memory.write())), format!("{memory:?}"));
        }
    }

    #[test]
    fn a_state_of_another_kind_is_no_memory_and_no_harm() {
        let nothing = format!("{:?}", Memory::default());
        let whole = full().write();
        for cut in 0..whole.len() {
            assert_eq!(format!("{:?}", Memory::read(&whole[..cut])), nothing);
        }
        let mut longer = whole;
        longer.push(0);
        assert_eq!(format!("{:?}", Memory::read(&longer)), nothing);
        assert_eq!(format!("{:?}", Memory::read(b"step 1")), nothing);
        let mut huge = FORMAT.to_vec();
        huge.extend_from_slice(&[0xFF; 64]);
        assert_eq!(format!("{:?}", Memory::read(&huge)), nothing);
    }

    #[test]
    fn two_questions_have_two_digests_and_the_same_one_has_one() {
        let url = |message: &str, url: &str, id: &str| {
            digest(&Question::Url { message: message.into(), url: url.into(), id: id.into() })
        };
        assert_eq!(url("a", "b", "1"), url("a", "b", "2"));
        assert_ne!(url("ab", "c", "1"), url("a", "bc", "1"));
        let form = digest(&Question::Form { message: "a".into(), schema: "b".into() });
        assert_ne!(form, url("a", "b", "1"));
        assert_ne!(form, digest(&Question::Roots));
    }
}
