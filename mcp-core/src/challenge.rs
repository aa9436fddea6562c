//! The value of `WWW-Authenticate`: what a token must be good for, and where to get one.

use core::fmt::{self, Write as _};

use crate::peer::Scopes;

/// What is said to a client that must come with a token, or with another one, by RFC 6750 and RFC 9728. Its text is the value of
/// `WWW-Authenticate`: printable ASCII, whatever its members hold.
///
/// It names no scope with a `*` (SEC-4), nor `offline_access` (AUTH-8), and nothing that can be no scope; all others are in it,
/// whole. Of other texts it has 1,000 characters.
///
/// ```
/// use mcp_core::{Challenge, Scopes};
///
/// let scope = Scopes::parse("notes:read notes:* offline_access");
/// let challenge = Challenge { scope: Some(&scope), realm: Some("notes"), ..Challenge::default() };
/// assert_eq!(challenge.to_string(), r#"Bearer realm="notes", scope="notes:read""#);
/// assert_eq!(Challenge::default().to_string(), r#"Bearer realm="mcp""#);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Challenge<'a> {
    /// What is protected, in the words of its host.
    pub realm: Option<&'a str>,
    /// One of the error codes of RFC 6750; none if the client did nothing wrong.
    pub error: Option<&'a str>,
    /// All scopes that the request needs (AUTH-5, AUTH-6).
    pub scope: Option<&'a Scopes>,
    /// The URL of the document that says who issues tokens (AUTH-3).
    pub resource_metadata: Option<&'a str>,
    /// What is wrong, for people.
    pub error_description: Option<&'a str>,
}

impl fmt::Display for Challenge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut opening = "Bearer ";
        let mut open =
            |f: &mut fmt::Formatter<'_>, name: &str| write!(f, "{}{name}=\"", core::mem::replace(&mut opening, ", "));
        for (name, value) in [("realm", self.realm), ("error", self.error)] {
            let Some(value) = value else { continue };
            open(f, name)?;
            quoted(f, value)?;
        }
        let mut between = "";
        for scope in self.scope.into_iter().flat_map(named) {
            if between.is_empty() {
                open(f, "scope")?;
            }
            write!(f, "{between}{scope}")?;
            between = " ";
        }
        if !between.is_empty() {
            f.write_char('"')?;
        }
        for (name, value) in
            [("resource_metadata", self.resource_metadata), ("error_description", self.error_description)]
        {
            let Some(value) = value else { continue };
            open(f, name)?;
            quoted(f, value)?;
        }
        // RFC 6750 wants one member at least.
        if opening == ", " { Ok(()) } else { f.write_str("Bearer realm=\"mcp\"") }
    }
}

/// Those of the scopes that a challenge may name, which need no quoting.
pub(crate) fn named(scopes: &Scopes) -> impl Iterator<Item = &str> {
    scopes.iter().filter(|scope| Scopes::is_token(scope) && !scope.contains('*') && *scope != "offline_access")
}

/// The most characters of one member, so that its header stays within what clients read.
const MEMBER: usize = 1_000;

/// A text and its closing quote: RFC 6750 allows visible ASCII and blanks, without quotes and backslashes.
fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars().take(MEMBER) {
        f.write_char(match c {
            '"' => '\'',
            ' '..='~' if c != '\\' => c,
            _ => '?',
        })?;
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn members_stand_in_one_order_and_break_out_of_no_quotes() {
        let scope = Scopes::parse("a b");
        let all = Challenge {
            realm: Some("\", evil=\""),
            error: Some("invalid_token"),
            scope: Some(&scope),
            resource_metadata: Some("https://a/b"),
            error_description: Some("a\\b\r\n\u{e9}\u{0}"),
        };
        let text = "Bearer realm=\"', evil='\", error=\"invalid_token\", scope=\"a b\", \
                    resource_metadata=\"https://a/b\", error_description=\"a?b????\"";
        assert_eq!(all.to_string(), text);
        let long = "x".repeat(1_001);
        let cut = Challenge { error_description: Some(&long), ..Challenge::default() }.to_string();
        assert_eq!(cut.len(), r#"Bearer error_description="""#.len() + 1_000);
    }

    #[test]
    fn scopes_are_named_whole_however_many_there_are_auth_6() {
        let many = Scopes::parse(&"some:scope ".repeat(200));
        let text = Challenge { scope: Some(&many), ..Challenge::default() }.to_string();
        assert_eq!(text.matches("some:scope").count(), 200);
    }
}
