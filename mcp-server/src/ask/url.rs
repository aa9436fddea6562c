//! Pages that the person at the client is asked to open (ELIC-3, ELIC-8).

use std::collections::BTreeMap;

use mcp_core::Peer;
use mcp_core::question::Question;
use serde_json::value::RawValue;

use super::flat::{self, Action};
use super::{Ask, Said, sealed};

/// Asks the person to open a page of yours, for what must not go through the client: passwords, keys, payment data, the consent of a
/// third party (ELIC-1). From 2025-11-25 on.
///
/// That it is accepted means that the person agreed to open it, and no more (ELIC-5): whether they are done there only your page
/// knows. [`Ctx::ask_again`](crate::Ctx::ask_again) asks until it does.
///
/// The page must make sure that who opens it is who was asked, or somebody may be tricked into opening another's link: hold the user
/// who is signed in there against [`Ctx::caller`](crate::Ctx::caller) (ELIC-8, ELIC-9). The URL carries nothing that is secret or
/// personal, and signs nobody in by itself.
///
/// A URL that is none, that names a user, or whose scheme is not `https` is an error when it is asked; `http` is let through, with a
/// warning to the log unless it is of this machine.
pub fn elicit_url(message: impl Into<String>, url: impl Into<String>) -> Page {
    Page { message: message.into(), url: url.into() }
}

/// A page to open: see [`elicit_url`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a question is asked with `Ctx::ask`"]
pub struct Page {
    message: String,
    url: String,
}

impl sealed::Sealed for Page {}

impl Ask for Page {
    type Answer = ();

    fn question(&self, peer: Option<&Peer>) -> Result<Question, String> {
        if check(&self.url)? == Safety::Plain && peer.is_some() {
            tracing::warn!("a person is sent to an `http` page: outside development pages are `https` (ELIC-8)");
        }
        Ok(Question::Url { message: self.message.as_str().into(), url: self.url.as_str().into(), id: "".into() })
    }

    fn read(&self, result: &[u8]) -> Said<()> {
        let members: BTreeMap<String, &RawValue> = match serde_json::from_slice(result) {
            Ok(members) => members,
            Err(error) => return Said::Wrong(format!("the answer cannot be read: {error}")),
        };
        match flat::action(&members) {
            Ok(Action::Accept) => Said::Accepted(()),
            Ok(Action::Decline) => Said::Declined,
            Ok(Action::Cancel) => Said::Cancelled,
            Err(why) => Said::Wrong(why),
        }
    }
}

impl Page {
    /// What to say, and where to go.
    pub(crate) fn parts(&self) -> (&str, &str) {
        (&self.message, &self.url)
    }

    /// What is wrong with its URL.
    pub(crate) fn fault(&self) -> Option<String> {
        check(&self.url).err()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Safety {
    /// `https`, or this machine.
    Safe,
    Plain,
}

fn check(url: &str) -> Result<Safety, String> {
    let rule = |what: &str| format!("ELIC-8: its URL {what}");
    if url.contains(|c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}')
    }) {
        return Err(rule("holds characters that no URL may hold"));
    }
    let (scheme, rest) =
        url.split_once("://").ok_or_else(|| rule("is not a web address, as https://example.com/login"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(rule("names a user before the `@`: leave that out"));
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() {
        return Err(rule("names no host"));
    }
    let address = host.parse::<std::net::IpAddr>();
    let local =
        host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback());
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Ok(Safety::Safe),
        "http" if local => Ok(Safety::Safe),
        "http" => Ok(Safety::Plain),
        _ => Err(rule("must be `https`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_https_and_names_no_user_elic_8() {
        for safe in [
            "https://example.com",
            "HTTPS://example.com:8443/a?b#c",
            "http://localhost:3000/x",
            "http://127.0.0.1",
            "http://[::1]:80/",
        ] {
            assert_eq!(check(safe), Ok(Safety::Safe), "{safe}");
        }
        for plain in ["http://example.com/login", "http://127.0.0.1.example.com", "http://10.0.0.1"] {
            assert_eq!(check(plain), Ok(Safety::Plain), "{plain}");
        }
        for wrong in [
            "",
            "example.com",
            "https://",
            "https:///x",
            "https://ada@example.com",
            "https://ada:pw@example.com/x",
            "ftp://example.com",
            "javascript://example.com/%0aalert(1)",
            "https://exa mple.com",
            "https://example.com/\n",
            "data:text/html,x",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
