//! What came back, and what a test expects of it.

use std::fmt;

use mcp_core::Revision;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::compare;
use crate::call_error::HIDDEN;

/// The most characters of an answer that a failed assertion shows: images are long, and nobody reads them.
const SHOWN: usize = 16 << 10;

/// The answer to a request.
///
/// There are three kinds of it: a success; an *error*, which the tool returned and a model reads (`isError`); and a *fault*,
/// which is an error of the protocol with a code. Each assertion says which it wants, fails with the whole answer, and returns
/// the answer, so that they can be chained:
///
/// ```
/// # use mcp_server::testing::{Client, block_on};
/// # use mcp_server::{Server, Tool};
/// # block_on(async {
/// # let mut client = Client::new(Server::new("my-app", "1.0.0").tool(Tool::new("hello").description("Say hello.").run(|| "Hello!")));
/// client.call("hello", ()).await.assert_ok().assert_text("Hello!");
/// # });
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "an answer that is not looked at may be an error"]
pub struct Answer {
    /// What was asked, for people.
    asked: Box<str>,
    revision: Revision,
    response: Value,
}

impl Answer {
    pub(super) fn new(asked: &str, revision: Revision, response: Value) -> Self {
        Self { asked: asked.into(), revision, response }
    }

    /// The whole JSON-RPC response.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.response
    }

    /// Its `result`; `None` if it is a fault.
    #[must_use]
    pub fn result(&self) -> Option<&Value> {
        self.response.get("result")
    }

    /// Whether it is a success: neither an error of the tool nor a fault.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.result().is_some() && !self.is_error()
    }

    /// Whether it is an error that the tool returned, for the model to read.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.response.pointer("/result/isError") == Some(&Value::Bool(true))
    }

    /// The code, if it is a fault: an error of the protocol.
    #[must_use]
    pub fn fault(&self) -> Option<i64> {
        self.response.pointer("/error/code").and_then(Value::as_i64)
    }

    /// The message of a fault.
    fn fault_message(&self) -> Option<&str> {
        self.response.pointer("/error/message").and_then(Value::as_str)
    }

    /// All its texts, with line breaks between them: a tool's blocks, of a success and of an error, a resource's contents, a
    /// prompt's messages.
    ///
    /// # Panics
    ///
    /// If it is a fault, or the answer to something else.
    #[must_use]
    #[track_caller]
    pub fn text(&self) -> String {
        let list = |pointer: &str| self.response.pointer(pointer).and_then(Value::as_array);
        let said = |message: &Value| message["content"]["text"].as_str().map(ToOwned::to_owned);
        let text = |block: &Value| block["text"].as_str().map(ToOwned::to_owned);
        let texts: Vec<String> = match (list("/result/contents"), list("/result/messages")) {
            (Some(contents), _) => contents.iter().filter_map(text).collect(),
            (None, Some(messages)) => messages.iter().filter_map(said).collect(),
            (None, None) => self.content().iter().filter_map(text).collect(),
        };
        texts.join("\n")
    }

    /// Its blocks of content, of a success and of an error.
    ///
    /// # Panics
    ///
    /// If it is a fault, or no answer of a tool.
    #[must_use]
    #[track_caller]
    pub fn content(&self) -> &[Value] {
        match self.response.pointer("/result/content").and_then(Value::as_array) {
            Some(content) => content,
            None => self.fail("there is no content"),
        }
    }

    /// The contents of a resource.
    ///
    /// # Panics
    ///
    /// If it is a fault, or no answer of a resource.
    #[must_use]
    #[track_caller]
    pub fn contents(&self) -> &[Value] {
        match self.assert_ok().response.pointer("/result/contents").and_then(Value::as_array) {
            Some(contents) => contents,
            None => self.fail("there are no contents"),
        }
    }

    /// The messages of a prompt.
    ///
    /// # Panics
    ///
    /// If it is a fault, or no answer of a prompt.
    #[must_use]
    #[track_caller]
    pub fn messages(&self) -> &[Value] {
        match self.assert_ok().response.pointer("/result/messages").and_then(Value::as_array) {
            Some(messages) => messages,
            None => self.fail("there are no messages"),
        }
    }

    /// Its structured result, as a type of yours.
    ///
    /// # Panics
    ///
    /// If it is no success, has no structured result, or has one of another shape.
    #[must_use]
    #[track_caller]
    pub fn structured<T: DeserializeOwned>(&self) -> T {
        T::deserialize(self.structured_json()).unwrap_or_else(|error| {
            self.fail(&format!("the structured result is no `{}`: {error}", std::any::type_name::<T>()))
        })
    }

    /// Its structured result.
    ///
    /// # Panics
    ///
    /// If it is no success, or has no structured result. Revisions before 2025-06-18 have none.
    #[must_use]
    #[track_caller]
    pub fn structured_json(&self) -> &Value {
        self.assert_ok();
        match self.response.pointer("/result/structuredContent") {
            Some(structured) => structured,
            None if self.revision < Revision::V2025_06_18 => {
                self.fail("there is no structured result: it came with revision 2025-06-18, and is sent as text before")
            }
            None => self.fail("there is no structured result"),
        }
    }

    /// It is a success.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn assert_ok(&self) -> &Self {
        if let Some(code) = self.fault() {
            self.fail(&format!("expected a success, got the fault {code}"));
        }
        if self.is_error() {
            self.fail("expected a success, got an error");
        }
        if self.result().is_none() {
            self.fail("expected a success, got neither a result nor an error");
        }
        self
    }

    /// It is a success, and its [text](Answer::text) is that.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn assert_text(&self, expected: impl AsRef<str>) -> &Self {
        self.assert_ok().is_text(expected.as_ref())
    }

    /// It is a success, and its [text](Answer::text) contains that.
    ///
    /// # Panics
    ///
    /// If it does not.
    #[track_caller]
    pub fn assert_text_contains(&self, part: impl AsRef<str>) -> &Self {
        self.assert_ok().contains(&self.text(), part.as_ref(), "text")
    }

    /// It is a success, and its structured result is that: JSON, or whatever serde makes the same JSON of. Numbers are compared
    /// by what they are worth.
    ///
    /// # Panics
    ///
    /// If it is not: with each place that differs.
    #[track_caller]
    pub fn assert_structured(&self, expected: impl Serialize) -> &Self {
        self.same("the structured result", self.structured_json(), &self.expected(expected))
    }

    /// It is a success, and its blocks of content are these, in JSON.
    ///
    /// # Panics
    ///
    /// If they are not: with each place that differs.
    #[track_caller]
    pub fn assert_content(&self, expected: impl Serialize) -> &Self {
        let content = Value::from(self.assert_ok().content());
        self.same("the content", &content, &self.expected(expected))
    }

    /// It is what a resource holds, in JSON.
    ///
    /// # Panics
    ///
    /// If it is not: with each place that differs.
    #[track_caller]
    pub fn assert_contents(&self, expected: impl Serialize) -> &Self {
        self.same("the contents", &Value::from(self.contents()), &self.expected(expected))
    }

    /// It is what a prompt says, in JSON.
    ///
    /// # Panics
    ///
    /// If it is not: with each place that differs.
    #[track_caller]
    pub fn assert_messages(&self, expected: impl Serialize) -> &Self {
        self.same("the messages", &Value::from(self.messages()), &self.expected(expected))
    }

    /// It is what a completion proposes.
    ///
    /// # Panics
    ///
    /// If it is not: with each place that differs.
    #[track_caller]
    pub fn assert_values(&self, expected: impl Serialize) -> &Self {
        match self.assert_ok().response.pointer("/result/completion/values") {
            Some(values) => self.same("what is proposed", values, &self.expected(expected)),
            None => self.fail("nothing is proposed"),
        }
    }

    /// At that place of the whole response, a JSON pointer as `/result/content/0/mimeType`, there is that.
    ///
    /// # Panics
    ///
    /// If there is something else, or nothing.
    #[track_caller]
    pub fn assert_at(&self, pointer: &str, expected: impl Serialize) -> &Self {
        match self.response.pointer(pointer) {
            Some(value) => self.same(&format!("what is at `{pointer}`"), value, &self.expected(expected)),
            None => self.fail(&format!("there is nothing at `{pointer}`")),
        }
    }

    /// The tool returned an error.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn assert_error(&self) -> &Self {
        if let Some(code) = self.fault() {
            self.fail(&format!("expected an error of the tool, got the fault {code}"));
        }
        if !self.is_error() {
            self.fail("expected an error of the tool, got a success");
        }
        self
    }

    /// The tool returned an error with that text.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn assert_error_text(&self, expected: impl AsRef<str>) -> &Self {
        self.assert_error().is_text(expected.as_ref())
    }

    /// The tool returned an error whose text contains that.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn assert_error_contains(&self, part: impl AsRef<str>) -> &Self {
        self.assert_error().contains(&self.text(), part.as_ref(), "error")
    }

    /// It is a fault with that code: -32602 for parameters that are not valid, -32603 for a tool that failed inside.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn assert_fault(&self, code: i64) -> &Self {
        match self.fault() {
            Some(got) if got == code => self,
            Some(got) => self.fail(&format!("expected the fault {code}, got the fault {got}")),
            None if self.is_error() => self.fail(&format!("expected the fault {code}, got an error of the tool")),
            None => self.fail(&format!("expected the fault {code}, got a success")),
        }
    }

    /// It is a fault whose message contains that.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn assert_fault_contains(&self, part: impl AsRef<str>) -> &Self {
        match self.fault_message() {
            Some(message) => self.contains(message, part.as_ref(), "fault's message"),
            None => self.fail("expected a fault"),
        }
    }

    /// Where to find what the client was not told, if something was kept from it.
    fn withheld(&self) -> Option<&'static str> {
        let said = self.response.pointer("/result/content/0/text").or_else(|| self.response.pointer("/error/message"));
        match said.and_then(Value::as_str)? {
            HIDDEN => Some(IN_THE_LOG),
            text if text.starts_with("Internal error") && text.ends_with("could not be run") => {
                Some("blocking code needs tokio's pool of threads: use `#[tokio::test]`")
            }
            text if text.starts_with("Internal error") => Some(IN_THE_LOG),
            _ => None,
        }
    }

    #[track_caller]
    fn is_text(&self, expected: &str) -> &Self {
        let got = self.text();
        if got != expected {
            self.fail(&format!("the text is another\n  expected: {expected:?}\n       got: {got:?}"));
        }
        self
    }

    #[track_caller]
    fn contains(&self, text: &str, part: &str, what: &str) -> &Self {
        if !text.contains(part) {
            self.fail(&format!(
                "the {what} does not contain what it should\n  expected: {part:?}\n    within: {text:?}"
            ));
        }
        self
    }

    #[track_caller]
    fn same(&self, what: &str, got: &Value, expected: &Value) -> &Self {
        let differences = compare::differences(expected, got, &[]);
        if !differences.is_empty() {
            self.fail(&format!("{what} is another\n  {}", differences.join("\n  ")));
        }
        self
    }

    #[track_caller]
    fn expected(&self, expected: impl Serialize) -> Value {
        serde_json::to_value(expected)
            .unwrap_or_else(|error| self.fail(&format!("what is expected is no JSON: {error}")))
    }

    #[track_caller]
    fn fail(&self, what: &str) -> ! {
        panic!("{what}\n{self}")
    }
}

/// What was asked, and the whole response.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string_pretty(&self.response).map_err(|_| fmt::Error)?;
        write!(f, "the answer to {} ({}):\n{}", self.asked, self.revision, compare::clipped(&text, SHOWN))?;
        match self.withheld() {
            Some(where_it_is) => write!(f, "\n{where_it_is}"),
            None => Ok(()),
        }
    }
}

const IN_THE_LOG: &str = "why is in the log, and not for the client: `tracing_subscriber::fmt().with_test_writer().init()` in the \
                          test shows it";
