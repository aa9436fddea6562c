//! A conversation held against another, or had again.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::future::Future;
use std::io::{self, Read as _};
use std::path::Path;

use mcp_core::Span;
use serde_json::Value;

use super::builder::{Builder, IntoHandler};
use super::compare::{Pointer, clipped, differences, masked};
use super::driver::Driver;
use super::transcript::{MOST, Step, Transcript};

/// The variable of the environment that has files written anew.
const BLESS: &str = "MCP_BLESS";

/// Characters of a line that a difference shows.
const LINE: usize = 2000;

/// Characters that are shown of a file that is not there.
const SHOWN: usize = 8000;

impl Transcript {
    /// It is what the file says; or, if the variable `MCP_BLESS` is set to `1`, the file is made to say it.
    ///
    /// A path that is not absolute begins at the package's folder, as `cargo test` has it. JSON is compared by value. Of a file
    /// that is written anew, the remarks at its beginning and what it ignores are kept.
    ///
    /// # Panics
    ///
    /// If there is no such file, if it says something else, or if it cannot be read or written: with the place, and what to do.
    #[track_caller]
    pub fn assert_file(&self, path: impl AsRef<Path>) {
        let bless = std::env::var_os(BLESS).is_some_and(|set| !set.is_empty() && set != OsStr::new("0"));
        if let Err(problem) = self.check_file(path.as_ref(), bless) {
            panic!("{}: {problem}", path.as_ref().display())
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or [is not a transcript](super::TranscriptError): the text then tells the line.
    pub fn read_file(path: impl AsRef<Path>) -> io::Result<Self> {
        read(path.as_ref())?.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Has the conversation again, with the server of today: sends what the client sent, moves the clock as it was moved, and
    /// compares what the server says, message by message.
    ///
    /// What the test did to the server itself, such as adding a tool, is not in the transcript and must be done again by it.
    ///
    /// # Errors
    ///
    /// At the first message of the server's that is another, is missing, or was not there.
    ///
    /// # Panics
    ///
    /// If given a [`Server`](crate::Server) that cannot be built.
    #[track_caller]
    pub fn replay(&self, app: impl IntoHandler) -> impl Future<Output = Result<(), Difference>> + Send {
        self.replay_by(Driver::new(app.into_handler(), self.caller.clone()))
    }

    /// The same as by a client of that kind: for what the code of the server looks at and a transcript does not hold, HTTP headers
    /// and other [context](super::Builder::context). What the client says, and its caller, are the transcript's.
    ///
    /// # Errors
    ///
    /// As [`Transcript::replay`].
    pub fn replay_as(&self, client: Builder) -> impl Future<Output = Result<(), Difference>> + Send {
        self.replay_by(client.into_driver(self.caller.clone()))
    }

    async fn replay_by(&self, mut driver: Driver) -> Result<(), Difference> {
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                Step::Client(bytes) => driver.send(bytes),
                Step::Clock(span) => driver.advance(Span::millis(*span), |_| ()).await,
                Step::End => driver.end(),
                Step::Comment(_) => {}
                Step::Server(_) => {
                    let got = driver.until(Driver::hear).await.map(Step::Server);
                    self.compare(index, Some(step), got.as_ref(), &self.ignored)?;
                }
            }
        }
        let more = driver.hear().map(Step::Server);
        self.compare(self.steps.len(), None, more.as_ref(), &self.ignored)
    }

    fn check_file(&self, path: &Path, bless: bool) -> Result<(), String> {
        let text = match read(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("cannot be read: {error}")),
        };
        let kept = text.as_deref().map(str::parse::<Self>);
        let problem = match &kept {
            None => format!("there is no such file; it would say:\n{}", clipped(&self.shown(), SHOWN)),
            Some(Err(error)) => error.to_string(),
            Some(Ok(kept)) => match kept.differs_from(self) {
                Ok(()) => return Ok(()),
                Err(difference) => difference.to_string(),
            },
        };
        if !bless {
            return Err(format!(
                "{problem}\nif it is to be so, run the test once with {BLESS}=1, which writes the file"
            ));
        }
        let kept = kept.and_then(Result::ok);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("its folder cannot be made: {error}"))?;
        }
        fs::write(path, self.succeeding(kept).shown()).map_err(|error| format!("cannot be written: {error}"))
    }

    /// The text as it is kept: with what is ignored hidden, so that it is the same from run to run.
    fn shown(&self) -> String {
        let mut shown = self.clone();
        for step in &mut shown.steps {
            // What the client says is sent again by a replay, and must stay.
            if let Step::Server(text) = step
                && let Some(masked) = masked(text, &self.ignored)
            {
                *text = masked;
            }
        }
        shown.to_string()
    }

    /// The same, with what people have written into the one before.
    fn succeeding(&self, before: Option<Self>) -> Self {
        let mut next = self.clone();
        let Some(before) = before else { return next };
        next.ignored.extend(before.ignored.into_iter().filter(|pointer| !self.ignored.contains(pointer)));
        let remarks = |steps: &[Step]| steps.iter().take_while(|step| matches!(step, Step::Comment(_))).count();
        if remarks(&self.steps) == 0 {
            next.steps.splice(0..0, before.steps[..remarks(&before.steps)].iter().cloned());
        }
        next
    }

    /// Holds another conversation against this one.
    fn differs_from(&self, got: &Self) -> Result<(), Difference> {
        let ignored: Vec<Pointer> = self.ignored.iter().chain(&got.ignored).cloned().collect();
        if (self.revision, &self.caller) != (got.revision, &got.caller) {
            let shown = |of: &Self| format!("revision {}, {:?}", of.revision, of.caller);
            let places = vec![format!("expected {}, got {}", shown(self), shown(got))];
            return Err(Difference { line: 1, expected: None, got: None, places });
        }
        let said = |step: &&Step| !matches!(step, Step::Comment(_));
        let mut theirs = got.steps.iter().filter(said);
        for (index, step) in self.steps.iter().enumerate().filter(|(_, step)| said(step)) {
            self.compare(index, Some(step), theirs.next(), &ignored)?;
        }
        self.compare(self.steps.len(), None, theirs.next(), &ignored)
    }

    fn compare(
        &self,
        index: usize,
        expected: Option<&Step>,
        got: Option<&Step>,
        ignored: &[Pointer],
    ) -> Result<(), Difference> {
        let json = |step: Option<&Step>| -> Option<Value> {
            match step? {
                Step::Client(bytes) => serde_json::from_slice(bytes).ok(),
                Step::Server(text) => serde_json::from_str(text).ok(),
                _ => None,
            }
        };
        let same_side = matches!(
            (expected, got),
            (Some(Step::Client(_)), Some(Step::Client(_))) | (Some(Step::Server(_)), Some(Step::Server(_)))
        );
        let places = match (json(expected), json(got)) {
            _ if expected == got => return Ok(()),
            (Some(expected), Some(got)) if same_side => match differences(&expected, &got, ignored) {
                places if places.is_empty() => return Ok(()),
                places => places,
            },
            _ => Vec::new(),
        };
        let text = |step: Option<&Step>| step.map(|step| clipped(&step.to_string(), LINE).into());
        Err(Difference { line: self.line(index), expected: text(expected), got: text(got), places })
    }
}

/// No more of a file than tells that it is too long.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(MOST as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Where a conversation is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    line: usize,
    expected: Option<Box<str>>,
    got: Option<Box<str>>,
    places: Vec<String>,
}

impl Difference {
    /// The line of the transcript that was expected, from 1; that after the last if more was said.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the conversation is another from line {} on", self.line)?;
        if self.expected.is_some() || self.got.is_some() {
            write!(f, "\n  expected: {}", self.expected.as_deref().unwrap_or("nothing more"))?;
            write!(f, "\n       got: {}", self.got.as_deref().unwrap_or("nothing more"))?;
        }
        self.places.iter().try_for_each(|place| write!(f, "\n  {place}"))
    }
}

impl std::error::Error for Difference {}
