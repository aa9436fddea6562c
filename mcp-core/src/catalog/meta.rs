//! The grammar of `_meta` keys and extension ids.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Defect;
use crate::encode::json;
use crate::fault::reflect;

/// Whether a key may be used in `_meta` by anybody but the protocol (BASE-21): `[prefix "/"] name`.
///
/// Prefixes that 2025-06-18 or a later revision keeps for the protocol are refused, whatever the revision (A38).
///
/// # Errors
///
/// What is wrong with it.
pub fn meta_key(key: &str) -> Result<(), &'static str> {
    let prefix = key_grammar(key)?;
    if prefix.is_some_and(is_reserved) {
        return Err("the prefix is reserved for the protocol: use one of a domain of your own, such as `com.example/`");
    }
    Ok(())
}

/// Whether a text may be the id of an extension: a `_meta` key with a prefix, reserved ones included (EXT-1).
pub(crate) fn extension_id(id: &str) -> Result<(), &'static str> {
    match key_grammar(id)? {
        Some(_) if id.ends_with('/') => Err("the name after the prefix is empty"),
        Some(_) => Ok(()),
        None => Err("an extension's id needs a prefix, such as `com.example/`"),
    }
}

/// Adds what is wrong with the `_meta` of an entry, and brings it into the form that is sent; an empty one is not sent.
pub(super) fn check_meta(entry: &str, meta: &mut Option<Box<str>>, defects: &mut Vec<Defect>) {
    let Some(text) = meta.take() else { return };
    let Some(members) = json::members(&text) else {
        defects.push(Defect::new(&reflect(entry), "BASE-21", "`_meta` must be the text of a JSON object"));
        return;
    };
    for (key, _) in &members {
        if let Err(why) = meta_key(key) {
            let message = alloc::format!("`_meta` key `{}`: {why}", reflect(key));
            defects.push(Defect::new(&reflect(entry), "BASE-21", message));
        }
    }
    *meta = (!members.is_empty()).then(|| json::compact(&text).into());
}

/// Checks the grammar and returns the prefix.
fn key_grammar(key: &str) -> Result<Option<&str>, &'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if !prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) {
        return Err("the prefix must be labels joined by dots, each a letter, then letters, digits and hyphens, \
                    with a letter or digit at its end");
    }
    let ends = name.bytes().next().into_iter().chain(name.bytes().last());
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if !name.bytes().all(inside) || !ends.into_iter().all(|b| b.is_ascii_alphanumeric()) {
        return Err("the name must have letters, digits, hyphens, underscores and dots only, \
                    with a letter or digit at both ends");
    }
    Ok(prefix)
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

/// 2025-11-25 and later reserve `mcp` and `modelcontextprotocol` as the second label; 2025-06-18 reserved them wherever
/// another label follows.
fn is_reserved(prefix: &str) -> bool {
    let ours = |label: &str| label.eq_ignore_ascii_case("mcp") || label.eq_ignore_ascii_case("modelcontextprotocol");
    let followed = prefix.rsplit('.').skip(1).any(ours);
    followed || prefix.split('.').nth(1).is_some_and(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_ones_own_pass_and_keys_of_the_protocol_do_not_base_21() {
        let good = [
            "ui",
            "ui/resourceUri",
            "com.example/x",
            "com.example.mcp/x",
            "com.example/",
            "traceparent",
            "a",
            "",
            "a.b-c_d",
            "x1/y",
            "mcp/x",
            "com.mcpx.tools/x",
        ];
        for key in good {
            assert_eq!(meta_key(key), Ok(()), "{key}");
        }
        let reserved = [
            "io.modelcontextprotocol/x",
            "dev.mcp/x",
            "com.mcp.tools/x",
            "mcp.dev/x",
            "api.modelcontextprotocol.org/x",
            "a.b.mcp.c/x",
            "modelcontextprotocol.io/x",
            "DEV.MCP/x",
        ];
        for key in reserved {
            assert!(meta_key(key).is_err_and(|why| why.contains("reserved")), "{key}");
        }
        let malformed = [
            "/x", "a//b", "a/b/c", "1a/x", "a-/x", "-a/x", "a..b/x", "a.b./x", "_x", "x_", "a b", "é", "a/é", "a/-",
            ".",
        ];
        for key in malformed {
            assert!(meta_key(key).is_err_and(|why| why.contains("must")), "{key}");
        }
    }

    #[test]
    fn extension_ids_need_a_prefix_and_a_name_ext_1() {
        assert_eq!(extension_id("io.modelcontextprotocol/tasks"), Ok(()));
        assert_eq!(extension_id("com.example/x"), Ok(()));
        for id in ["tasks", "", "com.example/", "/x", "a b/c"] {
            assert!(extension_id(id).is_err(), "{id}");
        }
    }
}
