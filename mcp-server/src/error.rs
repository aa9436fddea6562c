//! What can go wrong with a server itself, in words that say what to do.

use std::fmt;
use std::io;

use mcp_core::catalog::Defect;
use mcp_core::fault::Fault;

/// What a function that builds or serves a server returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server could not be built, or serves no more.
///
/// `Debug` and `Display` are the same text, so that one returned from `main` reads well.
pub struct Error(Reason);

enum Reason {
    Build(BuildError),
    Io { doing: String, source: io::Error },
    Other(Fault),
}

impl Error {
    /// An IO error, and what was being done: `cannot listen on 127.0.0.1:80`.
    pub(crate) fn io(doing: impl Into<String>, source: io::Error) -> Self {
        Self(Reason::Io { doing: doing.into(), source })
    }

    /// What is wrong with the server, if it could not be built.
    #[must_use]
    pub const fn as_build(&self) -> Option<&BuildError> {
        match &self.0 {
            Reason::Build(error) => Some(error),
            _ => None,
        }
    }

    /// The kind of the IO error, if it was one.
    #[must_use]
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match &self.0 {
            Reason::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Build(error) => error.fmt(f),
            Reason::Io { doing, source } if doing.is_empty() => source.fmt(f),
            Reason::Io { doing, source } => write!(f, "{doing}: {source}"),
            Reason::Other(fault) => f.write_str(fault.message()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            // The others' own text is all of what `Display` writes.
            Reason::Io { doing, source } if !doing.is_empty() => Some(source),
            _ => None,
        }
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        Self(Reason::Build(error))
    }
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self::io(String::new(), source)
    }
}

/// For what the core checks one at a time, such as [`Icon::new`](mcp_core::answer::Icon::new).
impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self(Reason::Other(fault))
    }
}

/// Everything that is wrong with what was to be built, at once: a server, or a change of its tools.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    /// What did not happen.
    what: &'static str,
    defects: Vec<Defect>,
}

impl BuildError {
    pub(crate) fn new(defects: Vec<Defect>) -> Self {
        Self { what: "the server cannot be built", defects }
    }

    pub(crate) fn of_change(defects: Vec<Defect>) -> Self {
        Self { what: "nothing was changed", defects }
    }

    pub(crate) fn of_definition(defects: Vec<Defect>) -> Self {
        Self { what: "the definition is no tool", defects }
    }

    /// What is wrong: which entry, which rule, and what to do.
    #[must_use]
    pub fn defects(&self) -> &[Defect] {
        &self.defects
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.defects.len();
        write!(f, "{}, for {count} reason{}:", self.what, if count == 1 { "" } else { "s" })?;
        self.defects.iter().try_for_each(|defect| write!(f, "\n  {defect}"))
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_returned_from_main_is_a_sentence() {
        let busy = Error::io("cannot listen on 127.0.0.1:80", io::ErrorKind::AddrInUse.into());
        assert_eq!(format!("{busy:?}"), "cannot listen on 127.0.0.1:80: address in use");
        let defect = |entry: &str| Defect { entry: entry.into(), rule: "TOOL-4", message: "do this".into() };
        let build = Error::from(BuildError::new(vec![defect("a"), defect("b")]));
        assert_eq!(
            format!("{build:?}"),
            "the server cannot be built, for 2 reasons:\n  `a`: do this (TOOL-4)\n  `b`: do this (TOOL-4)"
        );
    }
}
