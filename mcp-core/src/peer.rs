//! Who is at the other end: revision, era, declared capabilities, display data; and who asks: principal and scopes.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::snapshot::{Reader, Writer};

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// How a conversation opens: by a handshake, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// The four handshake revisions.
    Legacy,
    /// The stateless one: each request carries version and capabilities.
    Modern,
}

impl Revision {
    /// Every revision, oldest first. Indexed by `revision as usize`.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest handshake revision: the answer to an `initialize` that asks for something unknown (LIFE-2).
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;
    /// The stateless revision.
    pub const MODERN: Self = Self::V2026_07_28;

    /// The date on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of that date.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// The era it belongs to.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a client declared that it can do, normalised over the eras (SHIM-11): an empty `elicitation` means form mode.
///
/// Also used for what a tool needs of its client: [`Capabilities::missing`] compares the two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    bits: u8,
    extensions: Box<[Extension]>,
}

/// An extension as a peer declared it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its id, `prefix/name`.
    pub id: Box<str>,
    /// Its settings: the text of a JSON object.
    pub settings: Box<str>,
}

/// One thing that a client may be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ability {
    /// `roots`
    Roots = 1,
    /// `sampling`
    Sampling = 1 << 1,
    /// `sampling.tools`
    SamplingTools = 1 << 2,
    /// `sampling.context`
    SamplingContext = 1 << 3,
    /// `elicitation`, form mode
    ElicitationForm = 1 << 4,
    /// `elicitation.url`
    ElicitationUrl = 1 << 5,
}

impl Ability {
    /// The bits of all of them.
    const ALL: u8 = ((Self::ElicitationUrl as u8) << 1) - 1;
}

impl Capabilities {
    /// No capability at all.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// With one more ability. A sub-ability implies its parent.
    #[must_use]
    pub const fn with(mut self, ability: Ability) -> Self {
        self.bits |= ability as u8;
        if matches!(ability, Ability::SamplingTools | Ability::SamplingContext) {
            self.bits |= Ability::Sampling as u8;
        }
        self
    }

    /// With one more extension; `settings` is the text of a JSON object.
    #[must_use]
    pub fn with_extension(mut self, id: &str, settings: &str) -> Self {
        let mut extensions = Vec::from(core::mem::take(&mut self.extensions));
        extensions.push(Extension { id: id.into(), settings: settings.into() });
        self.extensions = extensions.into();
        self
    }

    /// Whether the ability was declared.
    #[must_use]
    pub const fn has(&self, ability: Ability) -> bool {
        self.bits & ability as u8 != 0
    }

    /// The settings of a declared extension.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&str> {
        self.extensions.iter().find(|extension| &*extension.id == id).map(|extension| &*extension.settings)
    }

    /// The extensions that were declared.
    #[must_use]
    pub fn extensions(&self) -> &[Extension] {
        &self.extensions
    }

    /// Whether nothing is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits == 0 && self.extensions.is_empty()
    }

    /// What of `needs` is not here, as the JSON object for `data.requiredCapabilities` (VER-6); `None` if all of it is.
    #[must_use]
    pub fn missing(&self, needs: &Self) -> Option<String> {
        let bits = needs.bits & !self.bits;
        let extensions: Vec<&Extension> =
            needs.extensions.iter().filter(|extension| self.extension(&extension.id).is_none()).collect();
        if bits == 0 && extensions.is_empty() {
            return None;
        }
        let absent = |ability: Ability| bits & ability as u8 != 0;
        let mut members: Vec<String> = Vec::new();
        if absent(Ability::Roots) {
            members.push("\"roots\":{}".into());
        }
        members.extend(object(
            "sampling",
            absent(Ability::Sampling),
            &[("tools", absent(Ability::SamplingTools)), ("context", absent(Ability::SamplingContext))],
        ));
        members.extend(object(
            "elicitation",
            false,
            &[("form", absent(Ability::ElicitationForm)), ("url", absent(Ability::ElicitationUrl))],
        ));
        if !extensions.is_empty() {
            let list: Vec<String> = extensions
                .iter()
                .map(|extension| {
                    let mut text = Vec::new();
                    crate::wire::write::string(&mut text, &extension.id);
                    alloc::format!("{}:{{}}", String::from_utf8_lossy(&text))
                })
                .collect();
            members.push(alloc::format!("\"extensions\":{{{}}}", list.join(",")));
        }
        Some(alloc::format!("{{{}}}", members.join(",")))
    }
}

fn object(name: &str, itself: bool, parts: &[(&str, bool)]) -> Option<String> {
    let parts: Vec<String> =
        parts.iter().filter(|(_, absent)| *absent).map(|(part, _)| alloc::format!("\"{part}\":{{}}")).collect();
    (itself || !parts.is_empty()).then(|| alloc::format!("\"{name}\":{{{}}}", parts.join(",")))
}

/// What a client says of itself: display data, never to be trusted or switched on (BASE-17).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// Programmatic name.
    pub name: Box<str>,
    /// Version.
    pub version: Box<str>,
    /// Display name.
    pub title: Option<Box<str>>,
}

/// The other end of one request (modern) or one session (legacy).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The revision that this request is served in.
    pub revision: Revision,
    /// What the client can do.
    pub capabilities: Capabilities,
    /// What it calls itself. Optional on modern.
    pub info: Option<ClientInfo>,
}

impl Peer {
    pub(crate) fn save(&self, out: &mut Writer) {
        let Self { revision, capabilities: Capabilities { bits, extensions }, info } = self;
        out.byte(*revision as u8);
        out.byte(*bits);
        out.length(extensions.len());
        for Extension { id, settings } in extensions {
            out.text(id);
            out.text(settings);
        }
        out.option(info.as_ref(), |out, ClientInfo { name, version, title }| {
            out.text(name);
            out.text(version);
            out.option(title.as_ref(), |out, title| out.text(title));
        });
    }

    pub(crate) fn load(from: &mut Reader<'_>) -> Option<Self> {
        let revision = *Revision::ALL.get(usize::from(from.byte()?))?;
        let bits = from.byte().filter(|bits| bits & !Ability::ALL == 0)?;
        let extensions = from.list(2, |from| Some(Extension { id: from.text()?, settings: from.text()? }))?.into();
        let info = from.option(|from| {
            Some(ClientInfo { name: from.text()?, version: from.text()?, title: from.option(Reader::text)? })
        })?;
        Some(Self { revision, capabilities: Capabilities { bits, extensions }, info })
    }
}

/// Who asks: an identity that an authenticator found, and what it may do. Made by the adapter, before the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The authenticated identity, if any.
    pub principal: Option<Principal>,
    /// What it may do. Without a principal there are none.
    pub scopes: Scopes,
}

impl Caller {
    /// Nobody in particular, with no scopes.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// An authenticated caller.
    #[must_use]
    pub fn new(principal: impl Into<Principal>, scopes: Scopes) -> Self {
        Self { principal: Some(principal.into()), scopes }
    }
}

/// The id of an authenticated identity; sessions and sealed state are bound to it. Compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Its id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Principal {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl From<&str> for Principal {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

/// A set of OAuth scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes(Option<Arc<[Box<str>]>>);

impl Scopes {
    /// The scopes of a space-separated list.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let scopes: Vec<Box<str>> = text.split_ascii_whitespace().map(Into::into).collect();
        Self((!scopes.is_empty()).then(|| scopes.into()))
    }

    /// Whether the scope was granted.
    #[must_use]
    pub fn has(&self, scope: &str) -> bool {
        self.iter().any(|granted| granted == scope)
    }

    /// All of them, separated by spaces.
    pub(crate) fn join(&self) -> String {
        self.iter().collect::<Vec<&str>>().join(" ")
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a text can be a scope by RFC 6749: visible ASCII without quotes and backslashes.
    pub(crate) fn is_token(text: &str) -> bool {
        !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~'))
    }

    /// The scopes, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|scopes| scopes.iter()).map(|scope| &**scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_names_what_is_absent_as_an_object_ver_6() {
        let none = Capabilities::none();
        let sampling = Capabilities::none().with(Ability::Sampling);
        assert_eq!(none.missing(&sampling).as_deref(), Some(r#"{"sampling":{}}"#));
        assert_eq!(sampling.missing(&sampling), None);
        let tools = Capabilities::none().with(Ability::SamplingTools);
        assert_eq!(sampling.missing(&tools).as_deref(), Some(r#"{"sampling":{"tools":{}}}"#));
        let url = Capabilities::none().with(Ability::ElicitationUrl);
        assert_eq!(none.missing(&url).as_deref(), Some(r#"{"elicitation":{"url":{}}}"#));
        let tasks = Capabilities::none().with_extension("io.modelcontextprotocol/tasks", "{}");
        assert_eq!(none.missing(&tasks).as_deref(), Some(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#));
    }

    #[test]
    fn revisions_parse_only_their_own_dates() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert_eq!(Revision::parse("2026-07-29"), None);
        assert_eq!(Revision::parse(""), None);
        assert_eq!(Revision::ALL[Revision::MODERN as usize], Revision::MODERN);
    }
}
