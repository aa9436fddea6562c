//! A conversation as text: what a test keeps in a file.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_core::fault::reflect;
use mcp_core::{Caller, Principal, Revision, Scopes};
use serde_json::{Value, json};

use super::compare::{Pointer, clipped};

/// The most bytes of a conversation. 16 MiB: nobody reads more, and a file of it still fits into a review tool.
pub(super) const MOST: usize = 16 << 20;

/// The most places that a file ignores. 256: each is looked for at every place of every message.
const POINTERS: usize = 256;

/// The first word of a file.
const HEAD: &str = "mcp-conversation";

/// A conversation, word for word: what the client sent, what the server said, and when the clock was moved.
///
/// [`Client::transcript`](super::Client::transcript) gives that of a test, [`assert_file`](Transcript::assert_file) keeps it
/// in a file, and [`replay`](Transcript::replay) has it again with the server of today. `Display` writes and `FromStr`
/// reads a text that is made to be read, reviewed and edited:
///
/// ```text
/// mcp-conversation 2025-11-25
/// caller {"principal":"ada","scopes":["read"]}
/// ignore /result/structuredContent/time
/// # Empty lines and lines like this one are for people.
/// > {"jsonrpc":"2.0","id":1,"method":"ping"}
/// < {"jsonrpc":"2.0","id":1,"result":{}}
/// @ 60000
/// ```
///
/// | a line begins with | and says |
/// |---|---|
/// | `mcp-conversation` | the revision; this is the first line |
/// | `caller` | who the client is, if not anonymous; in the head |
/// | `ignore` | a JSON pointer to what is not compared; in the head |
/// | `>` | what the client sent |
/// | `>>` | the same as a JSON string, where it has control characters or blanks at its ends |
/// | `>=` | the same in base64, where it is no text |
/// | `<` | what the server said |
/// | `@` | by how many milliseconds the clock was moved; what runs has gone on |
/// | `end` | the client's input ended |
/// | `#` | nothing |
#[derive(Clone, Debug)]
pub struct Transcript {
    pub(super) revision: Revision,
    pub(super) caller: Caller,
    pub(super) ignored: Vec<Pointer>,
    pub(super) steps: Vec<Step>,
    /// The line of each step, if they were read.
    lines: Vec<usize>,
}

/// One line of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The client sent that, and a line break.
    Client(Box<[u8]>),
    /// The server said that: JSON text.
    Server(String),
    /// The clock was moved by so many milliseconds.
    Clock(u64),
    /// The client's input ended.
    End,
    /// A remark. One line, with no blanks at its ends.
    Comment(String),
}

/// The steps of a conversation as it goes on.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) steps: Vec<Step>,
    bytes: usize,
}

impl Record {
    /// Keeps a step, unless there is too much already.
    pub(super) fn push(&mut self, step: Step) {
        self.bytes = self.bytes.saturating_add(step.size());
        if !self.is_full() {
            self.steps.push(step);
        }
    }

    /// Whether something was not kept.
    pub(super) const fn is_full(&self) -> bool {
        self.bytes > MOST
    }

    /// The last steps, for people.
    pub(super) fn tail(&self, steps: usize) -> String {
        let from = self.steps.len().saturating_sub(steps);
        let mut text = String::new();
        for step in &self.steps[from..] {
            let _ = writeln!(text, "  {}", clipped(&step.to_string(), WIDTH));
        }
        text
    }
}

/// Characters of a line that is quoted in an error.
const WIDTH: usize = 300;

impl Transcript {
    pub(super) fn new(revision: Revision, caller: Caller, steps: Vec<Step>) -> Self {
        Self { revision, caller, ignored: Vec::new(), steps, lines: Vec::new() }
    }

    /// The revision that was spoken.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Does not compare the value at that place of a message, a JSON pointer (RFC 6901) in which `*` stands for any member or
    /// item: for times, random ids and the like. That there is a value is compared still.
    ///
    /// In the file it reads `"(ignored)"`. A structured result is there twice, as such and as text: see
    /// [`Client::transcript`](super::Client::transcript).
    ///
    /// # Panics
    ///
    /// If it is no JSON pointer.
    #[must_use]
    #[track_caller]
    pub fn ignore(mut self, pointer: &str) -> Self {
        let Some(pointer) = Pointer::parse(pointer) else {
            panic!("`{}` is no JSON pointer: it begins with `/`, as `/result/structuredContent/time`", reflect(pointer))
        };
        self.ignored.push(pointer);
        self
    }

    /// In which line of the text a step is.
    pub(super) fn line(&self, step: usize) -> usize {
        let head = 1 + usize::from(self.caller != Caller::anonymous()) + self.ignored.len();
        self.lines.get(step).copied().unwrap_or(head + step + 1)
    }

    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD} {}", self.revision)?;
        if self.caller != Caller::anonymous() {
            let scopes: Vec<&str> = self.caller.scopes.iter().collect();
            let caller = match &self.caller.principal {
                Some(principal) => json!({"principal": principal.as_str(), "scopes": scopes}),
                None => json!({"scopes": scopes}),
            };
            writeln!(f, "caller {caller}")?;
        }
        self.ignored.iter().try_for_each(|pointer| writeln!(f, "ignore {pointer}"))
    }
}

/// Equal if they say the same, whatever empty lines their texts have.
impl PartialEq for Transcript {
    fn eq(&self, other: &Self) -> bool {
        let Self { revision, caller, ignored, steps, lines: _ } = self;
        (*revision, caller, ignored, steps) == (other.revision, &other.caller, &other.ignored, &other.steps)
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl Step {
    fn size(&self) -> usize {
        // With the room that the shortest takes.
        32 + match self {
            Self::Client(bytes) => bytes.len(),
            Self::Server(text) | Self::Comment(text) => text.len(),
            Self::Clock(_) | Self::End => 0,
        }
    }

    fn parse(line: &str) -> Result<Self, String> {
        if let Some(rest) = line.strip_prefix(">> ") {
            let text: String = serde_json::from_str(rest.trim())
                .map_err(|error| format!("after `>>` comes a JSON string: {error}"))?;
            return Ok(Self::Client(text.into_bytes().into()));
        }
        if let Some(rest) = line.strip_prefix(">=") {
            let bytes = STANDARD.decode(rest.trim()).map_err(|error| format!("after `>=` comes base64: {error}"))?;
            return Ok(Self::Client(bytes.into()));
        }
        if let Some(rest) = line.strip_prefix("> ") {
            return Ok(Self::Client(rest.as_bytes().into()));
        }
        if let Some(rest) = line.strip_prefix('<') {
            let text = rest.trim();
            return match serde_json::from_str::<Value>(text) {
                Ok(_) => Ok(Self::Server(text.into())),
                Err(error) => Err(format!("after `<` comes JSON: {error}")),
            };
        }
        if let Some(rest) = line.strip_prefix('@') {
            let span = rest.trim().parse();
            return span.map(Self::Clock).map_err(|error| format!("after `@` come milliseconds: {error}"));
        }
        if let Some(rest) = line.strip_prefix('#') {
            return Ok(Self::Comment(rest.trim().into()));
        }
        if line.trim() == "end" {
            return Ok(Self::End);
        }
        Err(format!("`{}` begins with none of `> `, `>> `, `>=`, `<`, `@`, `#`, `end`", reflect(line)))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if is_plain(text) => write!(f, "> {text}"),
                Ok(text) => write!(f, ">> {}", Value::from(text)),
                Err(_) => write!(f, ">= {}", STANDARD.encode(bytes)),
            },
            Self::Server(text) => write!(f, "< {text}"),
            Self::Clock(span) => write!(f, "@ {span}"),
            Self::End => f.write_str("end"),
            Self::Comment(text) if text.is_empty() => f.write_str("#"),
            Self::Comment(text) => write!(f, "# {text}"),
        }
    }
}

/// Whether a text is the same after an editor has seen it.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.chars().any(char::is_control)
}

impl FromStr for Transcript {
    type Err = TranscriptError;

    /// Reads what `Display` writes.
    ///
    /// # Errors
    ///
    /// At the first line that is none of the format's, or if it is longer than 16 MiB.
    fn from_str(text: &str) -> Result<Self, TranscriptError> {
        if text.len() > MOST {
            return Err(TranscriptError::new(1, "the conversation is longer than 16 MiB"));
        }
        let mut reader = Reader::default();
        // An editor may have left a byte order mark.
        let lines = text.strip_prefix('\u{FEFF}').unwrap_or(text).lines().enumerate();
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let number = index + 1;
            reader.read(number, line).map_err(|problem| TranscriptError::new(number, problem))?;
        }
        let Reader { revision, caller, ignored, steps, lines, .. } = reader;
        let missing = || TranscriptError::new(1, format!("it must begin with `{HEAD}` and a revision"));
        Ok(Self { revision: revision.ok_or_else(missing)?, caller, ignored, steps, lines })
    }
}

/// A transcript of which the first lines were read.
#[derive(Default)]
struct Reader {
    revision: Option<Revision>,
    caller: Caller,
    ignored: Vec<Pointer>,
    steps: Vec<Step>,
    lines: Vec<usize>,
    /// Whether there was more than remarks and the head.
    begun: bool,
}

impl Reader {
    fn read(&mut self, number: usize, line: &str) -> Result<(), String> {
        if self.revision.is_none() && !line.starts_with('#') {
            let known = || Revision::ALL.map(Revision::as_str).join(", ");
            let revision = line.strip_prefix(HEAD).filter(|rest| rest.starts_with(' ')).map(str::trim);
            let revision = revision.and_then(Revision::parse);
            self.revision = Some(revision.ok_or_else(|| format!("the first line is `{HEAD}` and one of {}", known()))?);
        } else if let Some(caller) = line.strip_prefix("caller ").filter(|_| !self.begun) {
            self.caller = read_caller(caller).ok_or(
                r#"after `caller` comes `{"principal":"..","scopes":[".."]}`, either of which may be left out"#,
            )?;
        } else if let Some(pointer) = line.strip_prefix("ignore ").filter(|_| !self.begun) {
            let pointer =
                Pointer::parse(pointer.trim()).ok_or("after `ignore` comes a JSON pointer, as `/result/x`")?;
            if self.ignored.len() == POINTERS {
                return Err(format!("there are more than {POINTERS} places to ignore"));
            }
            self.ignored.push(pointer);
        } else {
            let step = Step::parse(line)?;
            self.begun |= !matches!(step, Step::Comment(_));
            self.steps.push(step);
            self.lines.push(number);
        }
        Ok(())
    }
}

fn read_caller(text: &str) -> Option<Caller> {
    let value: Value = serde_json::from_str(text).ok()?;
    let members = value.as_object()?;
    if members.keys().any(|key| key != "principal" && key != "scopes") {
        return None;
    }
    let principal = match members.get("principal") {
        None => None,
        Some(principal) => Some(Principal::from(principal.as_str()?)),
    };
    let mut scopes = String::new();
    if let Some(given) = members.get("scopes") {
        for scope in given.as_array()? {
            // One with a blank in it would be read as two.
            let scope = scope.as_str().filter(|scope| !scope.contains(|c: char| c.is_ascii_whitespace()))?;
            scopes.push_str(scope);
            scopes.push(' ');
        }
    }
    Some(Caller { principal, scopes: Scopes::parse(&scopes) })
}

/// Why a text is no [`Transcript`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptError {
    line: usize,
    problem: Box<str>,
}

impl TranscriptError {
    pub(super) fn new(line: usize, problem: impl Into<Box<str>>) -> Self {
        Self { line, problem: problem.into() }
    }

    /// The line that is wrong, from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for TranscriptError {}
