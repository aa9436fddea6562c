//! The folders that the client lets a server work in (ROOT-1, ROOT-3).

use std::ops::Deref;
use std::path::{Component, Path, PathBuf};

use mcp_core::Peer;
use mcp_core::question::Question;
use serde_json::Value;

use super::{Ask, Said, sealed};

/// Asks for the client's roots: the folders that it lets servers work in. Deprecated by 2026-07-28, which still has it.
pub const fn roots() -> Roots {
    Roots(())
}

/// The question for the client's roots: see [`roots`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a question is asked with `Ctx::ask`"]
pub struct Roots(());

/// The client's roots. To be asked anew for each call: they change, and folders vanish.
///
/// ```
/// use mcp_server::ask::roots;
/// use mcp_server::{CallError, Ctx};
///
/// fn read(ctx: Ctx) -> Result<String, CallError> {
///     let path = std::fs::canonicalize("notes.txt")?; // a link may lead out
///     if !ctx.ask("roots", roots())?.required()?.contains_path(&path) {
///         return Err(CallError::new("That file is outside of the client's roots."));
///     }
///     Ok(std::fs::read_to_string(path)?)
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientRoots(Vec<Root>);

/// One root.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Root {
    /// Its URI: `file://` by the protocol.
    pub uri: String,
    /// A name for people.
    pub name: Option<String>,
}

impl Root {
    /// The folder, if its URI is one of a file. No look is taken whether it exists.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        path(&self.uri)
    }
}

impl ClientRoots {
    /// Whether a path is within one of the roots, or is one (ROOT-3). It must be absolute, and is taken by its letters: `..` is
    /// followed, links are not. Take [`std::fs::canonicalize`] first where links may lead out.
    #[must_use]
    pub fn contains_path(&self, path: impl AsRef<Path>) -> bool {
        let Some(path) = plain(path.as_ref()) else { return false };
        let within = |root: &Root| root.path().and_then(|root| plain(&root)).is_some_and(|root| path.starts_with(root));
        self.0.iter().any(within)
    }

    /// The same for a `file://` URI; any other is outside.
    #[must_use]
    pub fn contains_uri(&self, uri: &str) -> bool {
        path(uri).is_some_and(|path| self.contains_path(path))
    }
}

impl Deref for ClientRoots {
    type Target = [Root];

    fn deref(&self) -> &[Root] {
        &self.0
    }
}

impl IntoIterator for ClientRoots {
    type Item = Root;
    type IntoIter = std::vec::IntoIter<Root>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl sealed::Sealed for Roots {}

impl Ask for Roots {
    type Answer = ClientRoots;

    fn question(&self, _: Option<&Peer>) -> Result<Question, String> {
        Ok(Question::Roots)
    }

    fn read(&self, result: &[u8]) -> Said<ClientRoots> {
        let read = |root: &Value| {
            let uri = root.get("uri")?.as_str()?.to_owned();
            let name = root.get("name").and_then(Value::as_str).map(ToOwned::to_owned);
            Some(Root { uri, name })
        };
        let result: Value = serde_json::from_slice(result).unwrap_or_default();
        let roots = result.get("roots").and_then(Value::as_array);
        match roots.and_then(|roots| roots.iter().map(read).collect::<Option<Vec<_>>>()) {
            Some(roots) => Said::Accepted(ClientRoots(roots)),
            None => Said::Wrong("`roots` is no list of objects with a `uri`".into()),
        }
    }
}

/// The path of a `file:` URI of this machine.
fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://")).map(|_| &uri[7..])?;
    let local = rest.strip_prefix("localhost").unwrap_or(rest);
    let local = local.split(['?', '#']).next().filter(|path| path.starts_with('/'))?;
    let decoded = decode(local)?;
    // `file:///C:/x` is `C:/x` where there are drives.
    let bytes = decoded.as_bytes();
    let drive = cfg!(windows) && bytes.len() > 2 && bytes[1].is_ascii_alphabetic() && bytes[2] == b':';
    Some(PathBuf::from(if drive { &decoded[1..] } else { &decoded[..] }))
}

/// Without percent encoding. A zero byte is in no path, and what is no text is taken for none.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                (digit()? << 4) | digit()?
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// An absolute path without `.` and `..`.
fn plain(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // At the root, `..` is the root.
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_path_outside_of_the_roots_is_told_from_one_within_root_3() {
        let root = |uri: &str| Root { uri: uri.into(), name: None };
        let roots = ClientRoots(vec![
            root("file:///home/ada/a%20b"),
            root("FILE://localhost/srv/"),
            root("https://example.com/x"),
        ]);
        for within in
            ["/home/ada/a b", "/home/ada/a b/c.txt", "/home/ada/a b/../a b/c", "/srv", "/srv/./x", "/../srv/x"]
        {
            assert!(roots.contains_path(within), "{within}");
        }
        for outside in
            ["/", "/home/ada", "/home/ada/a bc", "/home/ada/a b/../c", "/srv/../etc/passwd", "srv/x", "", "/x"]
        {
            assert!(!roots.contains_path(outside), "{outside}");
        }
        for within in ["file:///srv/a", "file:///srv/%61", "file://localhost/srv"] {
            assert!(roots.contains_uri(within), "{within}");
        }
        for outside in [
            "file:///srv/%2e%2e/etc",
            "file:///srv/../etc",
            "file://host/srv/a",
            "file:srv",
            "https://example.com/x",
            "file:///srv/%zz",
            "file:///srv/%00",
            "file:///srv/%",
        ] {
            assert!(!roots.contains_uri(outside), "{outside}");
        }
        assert!(!ClientRoots::default().contains_path("/"));
    }
}
