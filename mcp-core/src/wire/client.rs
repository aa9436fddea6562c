//! What a client declares of itself: capabilities and implementation, read leniently.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use core::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::decode;
use crate::peer::{Ability, Capabilities, ClientInfo};

/// The most extensions of one client. 64: there are a handful of them in the world, and a session keeps them.
const EXTENSIONS: usize = 64;

/// The most bytes of ids and settings of all extensions of one client. 4 KiB: a session keeps them, and the settings in use
/// are a short list.
const EXTENSION_BYTES: usize = 4 << 10;

/// The most bytes of a display text. 256: a session keeps it, and nobody reads more.
const DISPLAY_BYTES: usize = 256;

/// The capabilities that a client declares, of the raw text of the object.
///
/// An ability is declared by an object; `null` and other values declare nothing, and unknown members are ignored (BASE-10).
/// An `elicitation` that does not name `url` alone includes form mode (SHIM-11). A member that is there twice counts once;
/// of an extension declared twice the first settings hold. Extensions beyond 64, or that do not fit into 4 KiB with those before
/// them, count as not declared.
///
/// # Errors
///
/// If it is not an object. The text names no member of the peer's.
pub fn read_capabilities(raw: &str) -> Result<Capabilities, &'static str> {
    let mut declared = Declared::default();
    members(raw, |key, value| declared.member(key, value)).map_err(|_| "must be an object")?;
    Ok(declared.capabilities)
}

/// The name and version that a client gives itself, of the raw text of the object. Display data (BASE-17): clamped to 256
/// bytes each; a `title` that is not a string is ignored.
///
/// # Errors
///
/// If it is not an object, or `name` or `version` is not a string (BASE-27).
pub fn read_client_info(raw: &str) -> Result<ClientInfo, &'static str> {
    let (mut name, mut version, mut title) = (None, None, None);
    let display = |value: &str| decode(value).map(|text| Box::from(clamp(&text)));
    members(raw, |key, value| match key {
        "name" => name = display(value),
        "version" => version = display(value),
        "title" => title = display(value),
        _ => {}
    })
    .map_err(|_| "must be an object")?;
    Ok(ClientInfo {
        name: name.ok_or("needs a string `name`")?,
        version: version.ok_or("needs a string `version`")?,
        title,
    })
}

/// Shows each member of the object to `each`: its key, decoded, and the raw text of its value.
pub(super) fn members<'a>(raw: &'a str, each: impl FnMut(&str, &'a str)) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(raw);
    deserializer.deserialize_map(Members(each))?;
    deserializer.end()
}

#[derive(Default)]
struct Declared {
    capabilities: Capabilities,
    extensions: usize,
    extension_bytes: usize,
}

impl Declared {
    fn member(&mut self, key: &str, value: &str) {
        match key {
            "roots" if is_object(value) => self.declare(Ability::Roots),
            "sampling" if is_object(value) => {
                self.declare(Ability::Sampling);
                self.parts(value, &[("tools", Ability::SamplingTools), ("context", Ability::SamplingContext)]);
            }
            "elicitation" if is_object(value) => {
                let mut modes = Self::default();
                modes.parts(value, &[("form", Ability::ElicitationForm), ("url", Ability::ElicitationUrl)]);
                let url = modes.capabilities.has(Ability::ElicitationUrl);
                if url {
                    self.declare(Ability::ElicitationUrl);
                }
                if !url || modes.capabilities.has(Ability::ElicitationForm) {
                    self.declare(Ability::ElicitationForm);
                }
            }
            "extensions" if is_object(value) => {
                let _ = members(value, |id, settings| self.extension(id, settings));
            }
            _ => {}
        }
    }

    fn extension(&mut self, id: &str, settings: &str) {
        if !is_object(settings) {
            return;
        }
        let (extensions, bytes) = (self.extensions + 1, self.extension_bytes + id.len() + settings.len());
        if extensions <= EXTENSIONS && bytes <= EXTENSION_BYTES {
            (self.extensions, self.extension_bytes) = (extensions, bytes);
            self.capabilities = core::mem::take(&mut self.capabilities).with_extension(id, settings);
        }
    }

    fn parts(&mut self, raw: &str, abilities: &[(&str, Ability)]) {
        let _ = members(raw, |key, value| {
            for (_, ability) in abilities.iter().filter(|(name, _)| *name == key && is_object(value)) {
                self.declare(*ability);
            }
        });
    }

    fn declare(&mut self, ability: Ability) {
        self.capabilities = core::mem::take(&mut self.capabilities).with(ability);
    }
}

fn is_object(raw: &str) -> bool {
    raw.starts_with('{')
}

fn clamp(text: &str) -> &str {
    let mut end = text.len().min(DISPLAY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

struct Members<F>(F);

impl<'de, F: FnMut(&str, &'de str)> Visitor<'de> for Members<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            let value: &RawValue = map.next_value()?;
            (self.0)(&key, value.get());
        }
        Ok(())
    }
}

/// A key that is borrowed where it can be: `Cow` itself always deserialises owned.
struct Key<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.into())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
