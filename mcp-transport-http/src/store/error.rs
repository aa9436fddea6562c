//! Why a store did not do what it was asked.

use std::fmt;

/// Why a store did not do what it was asked.
///
/// The texts are for logs. They hold no session ids, no principals and no credentials of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// It could not be reached, or did not answer in time: whether it was done is not known. Try again after a while.
    Down(Box<str>),
    /// It has no room, or one of its bounds is reached. Nothing was done; try again after a while.
    Full(Box<str>),
    /// The session is not this node's any more: another one has acquired it, it was removed, or it has expired. Nothing was done,
    /// and trying again cannot help.
    Fenced,
    /// What is stored is not what this library stored. Trying again does not help; only this one session, or frame, is affected.
    Damaged(Box<str>),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down(why) => {
                write!(f, "the store cannot be reached: {why}; see that it runs, and that its address is right")
            }
            Self::Full(why) => write!(f, "the store has no room: {why}; give it more, or open fewer sessions"),
            Self::Fenced => {
                f.write_str("the session is not this node's any more: another node goes on with it, or it has ended")
            }
            Self::Damaged(why) => {
                write!(f, "what is stored is damaged: {why}; see that nothing else writes under the same names")
            }
        }
    }
}

impl std::error::Error for StoreError {}
