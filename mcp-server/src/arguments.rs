//! How a tool's code gets its arguments: as a type of its own, read once from the bytes of the request.

use bytes::Bytes;
use mcp_core::answer::ToolAnswer;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::check::{self, Violation};
use crate::schema;

/// What a tool's code may take as its arguments: a type that derives [`Arguments`](derive@crate::Arguments), or
/// `serde::Deserialize` and `schemars::JsonSchema`; and where a schema or [params](crate::Param) describe them, also
/// [`Value`](crate::Value).
///
/// All that its schema says is enforced before it is read. What serde code of its own does beside that is up to the type: a
/// `try_from` or `deserialize_with` may refuse more, and the caller reads its error's text; an `alias` is taken, and the schema
/// knows nothing of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool's arguments",
    label = "cannot be read from JSON, or has no JSON Schema",
    note = "derive `mcp_server::Arguments` for it, or `serde::Deserialize` and `schemars::JsonSchema`",
    note = "it owns its data (`String`, not `&str`) and can be sent to another thread",
    note = "schemars must be of version 1, the same that this library uses: it is `mcp_server::schemars`"
)]
pub trait Arguments: Sized + Send + 'static {
    /// With the marks that the checker follows, and that are not published.
    #[doc(hidden)]
    fn schema() -> Value;

    /// Reads them; the error is the first that was met.
    #[doc(hidden)]
    fn read(given: &Given) -> Result<Self, serde_json::Error>;

    /// Where reading fails, and why.
    #[doc(hidden)]
    fn locate(sent: &[u8]) -> Option<(String, String)>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Arguments for T {
    fn schema() -> Value {
        schema::input::<T>()
    }

    fn read(given: &Given) -> Result<Self, serde_json::Error> {
        match given {
            // Looked at once: read as bytes, each text in it would be.
            Given::AsSent(sent) => match std::str::from_utf8(sent) {
                Ok(text) => serde_json::from_str(text),
                Err(_) => serde_json::from_slice(sent),
            },
            Given::Changed(value) => T::deserialize(value),
        }
    }

    fn locate(sent: &[u8]) -> Option<(String, String)> {
        // A text is only broken off at a number or a name that its type does not take; a value tells which it is.
        let value: Option<Value> = serde_json::from_slice(sent).ok();
        let by_value = value.and_then(|value| serde_path_to_error::deserialize::<_, T>(value).err());
        let by_text =
            || serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(sent)).err();
        let error = by_value.or_else(by_text)?;
        Some((check::place(error.path()), error.inner().to_string()))
    }
}

/// All arguments of a tool, as one value: the last parameter, where it should be told apart from the others at a glance. In a
/// function with [`#[tool]`](macro@crate::tool), whose other parameters are an argument each, it takes them all instead.
///
/// ```
/// use mcp_server::{Args, Arguments, Server, tool};
///
/// #[derive(Arguments)]
/// struct Search {
///     /// What to look for
///     query: String,
///     #[arg(default = 10, min = 1, max = 100)]
///     limit: u32,
/// }
///
/// /// Searches.
/// #[tool]
/// fn search(Args(search): Args<Search>) -> String {
///     format!("{} hits for {}", search.limit, search.query)
/// }
///
/// Server::new("my-app", "1.0.0").tool(search).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args<T>(pub T);

impl<T: Arguments> Arguments for Args<T> {
    fn schema() -> Value {
        T::schema()
    }

    fn read(given: &Given) -> Result<Self, serde_json::Error> {
        T::read(given).map(Self)
    }

    fn locate(sent: &[u8]) -> Option<(String, String)> {
        T::locate(sent)
    }
}

/// What was sent, once it is known to be right.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// As it came: JSON text of an object.
    AsSent(Bytes),
    /// With what the schema adds or turns into the type that it asks for.
    Changed(Value),
}

/// The answer to arguments that keep the schema, and that the tool's type refused all the same: by a rule of its own, of
/// which only the first that is broken is known (TOOL-9).
pub(crate) fn refused<A: Arguments>(tool: &str, given: &Given) -> ToolAnswer {
    let sent = match given {
        Given::AsSent(sent) => sent.clone(),
        Given::Changed(value) => value.to_string().into(),
    };
    let (path, fault) = A::locate(&sent).unwrap_or_default();
    let mut fault = check::without_place(&fault);
    // An integer of JSON may have any size and spelling, one of Rust has a number of bits.
    let bits = ["64", "128"]
        .into_iter()
        .find(|bits| fault.ends_with(&format!("i{bits}")) || fault.ends_with(&format!("u{bits}")));
    let bits = bits.or_else(|| fault.ends_with("size").then_some("64"));
    if let Some(bits) = bits.filter(|_| fault.contains("floating point")) {
        fault = format!("must be an integer of at most {bits} bits, without fraction and exponent");
    }
    ToolAnswer::error(check::report("tool", tool, &[Violation { path, fault }]))
}
