//! Who may talk to this server through a browser: allow-lists of `Host` and `Origin` (HTTP-2, SEC-3).
//!
//! A page on a hostile site can make a name of its own resolve to 127.0.0.1 (DNS rebinding), and then send requests to
//! a server there as its own origin. What it cannot do is to change the `Host` and `Origin` that its browser sends.
//!
//! Loopback names are served without being listed: nobody else can make a browser send them.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Version};
use mcp_core::fault::{Code, Fault, reflect};

/// The allow-lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    any_host: bool,
    any_origin: bool,
    hosts: Vec<Site>,
    origins: Vec<Origin>,
}

/// A host, as a `Host` header names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    /// In lower case; an IPv6 address within its brackets.
    name: Box<str>,
    /// `None`: any.
    port: Option<u16>,
}

/// An origin, as an `Origin` header names it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// `null`: of a sandboxed page, or of a local file.
    Opaque,
    Site {
        /// In lower case.
        scheme: Box<str>,
        site: Site,
    },
}

impl Guard {
    /// Serves one more host: a name, with or without a port. Without one, any port will do.
    pub(crate) fn allow_host(&mut self, host: &str) -> Result<(), &'static str> {
        let (name, port) =
            parse_site(host).ok_or("give a host name as in a URL, with or without a port, and nothing else")?;
        self.hosts.push(Site { name: name.to_ascii_lowercase().into(), port });
        Ok(())
    }

    /// Serves pages of one more origin: `scheme://host`, with a port unless it is the scheme's own.
    pub(crate) fn allow_origin(&mut self, origin: &str) -> Result<(), &'static str> {
        if origin == "null" {
            self.origins.push(Origin::Opaque);
            return Ok(());
        }
        let (scheme, name, port) =
            parse_origin(origin).ok_or("give `scheme://host` or `scheme://host:port`, without a path")?;
        let site = Site { name: name.to_ascii_lowercase().into(), port };
        self.origins.push(Origin::Site { scheme: scheme.to_ascii_lowercase().into(), site });
        Ok(())
    }

    pub(crate) const fn allow_any_host(&mut self) {
        self.any_host = true;
    }

    pub(crate) const fn allow_any_origin(&mut self) {
        self.any_origin = true;
    }

    /// Whether no host was allowed but the loopback ones.
    #[cfg(feature = "tokio")]
    pub(crate) fn is_local(&self) -> bool {
        !self.any_host && self.hosts.is_empty()
    }

    /// Checks a request before anything else is done with it (VER-20).
    ///
    /// # Errors
    ///
    /// What is wrong, and what to do about it.
    pub(crate) fn check(&self, head: &Parts) -> Result<(), Fault> {
        if !self.any_host {
            self.check_host(head)?;
        }
        self.check_origin(&head.headers)
    }

    fn check_host(&self, head: &Parts) -> Result<(), Fault> {
        let authority = head.uri.authority().map(http::uri::Authority::as_str);
        let header = match singleton(&head.headers, &HOST) {
            Ok(header) => header,
            Err(()) => return Err(refused(400, "Bad request: more than one `Host` header (RFC 9112 section 3.2)")),
        };
        if authority.is_none() && header.is_some_and(is_usual) {
            return Ok(());
        }
        // A target in absolute form overrides `Host`, but what lies behind a proxy may still look at the header: check
        // both.
        let mut named = authority.is_some();
        for text in [authority, header.map(visible)].into_iter().flatten() {
            named = true;
            let Some((name, port)) = parse_site(text) else {
                return Err(refused(400, format!("Bad request: `Host` is malformed: {}", reflect(text))));
            };
            if !is_loopback(name) && !self.hosts.iter().any(|site| site.is(name, port)) {
                return Err(refused(
                    403,
                    format!(
                        "Forbidden: this server does not answer to the host `{0}`. If it should, its operator has to \
                         allow it: by allow_host(\"{0}\") in its code, or by the flag that it has for that \
                         (--allow-host {0}, usually)",
                        reflect(text)
                    ),
                ));
            }
        }
        // Browsers always name a host, so its lack is no sign of rebinding; but HTTP/1.1 demands it.
        if !named && head.version > Version::HTTP_10 {
            return Err(refused(400, "Bad request: the `Host` header is missing (RFC 9112 section 3.2)"));
        }
        Ok(())
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let origin = match singleton(headers, &ORIGIN) {
            // No browser, or a request that no other site can have made.
            Ok(None) => return Ok(()),
            Ok(Some(origin)) => visible(origin),
            Err(()) => return Err(refused(403, "Forbidden: more than one `Origin` header")),
        };
        if self.any_origin || self.is_allowed(origin) {
            return Ok(());
        }
        Err(refused(
            403,
            format!(
                "Forbidden: this server does not answer to pages of the origin `{0}`. If it should, its operator has \
                 to allow it: allow_origin(\"{0}\")",
                reflect(origin)
            ),
        ))
    }

    fn is_allowed(&self, origin: &str) -> bool {
        if origin == "null" {
            return self.origins.contains(&Origin::Opaque);
        }
        let Some((scheme, name, port)) = parse_origin(origin) else { return false };
        let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let listed = |allowed: &Origin| match allowed {
            Origin::Opaque => false,
            Origin::Site { scheme: s, site } => {
                s.eq_ignore_ascii_case(scheme) && site.name.eq_ignore_ascii_case(name) && site.port == port
            }
        };
        (web && is_loopback(name)) || self.origins.iter().any(listed)
    }
}

impl Site {
    fn is(&self, name: &str, port: Option<u16>) -> bool {
        self.name.eq_ignore_ascii_case(name) && (self.port.is_none() || self.port == port)
    }
}

/// The one value of a header; `Err` if it is there twice.
fn singleton<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(()),
    }
}

/// The text of a value; of one that is not visible ASCII nothing, which no list allows.
fn visible(value: &HeaderValue) -> &str {
    value.to_str().map_or("", str::trim)
}

/// `host`, `host:port`, `[v6]` or `[v6]:port`. A port may be empty (RFC 3986 section 3.2.3).
fn parse_site(text: &str) -> Option<(&str, Option<u16>)> {
    let end = if text.starts_with('[') { text.find(']')? + 1 } else { text.find(':').unwrap_or(text.len()) };
    let (name, port) = text.split_at(end);
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some("") => None,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
        _ => return None,
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    let is_name = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !name.is_empty() && name.bytes().all(plain),
    };
    is_name.then_some((name, port))
}

/// `scheme://host` or `scheme://host:port`; a port that is the scheme's own is as none.
fn parse_origin(text: &str) -> Option<(&str, &str, Option<u16>)> {
    let (scheme, site) = text.split_once("://")?;
    let known = !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let (name, port) = parse_site(site)?;
    let own = match port {
        Some(80) => scheme.eq_ignore_ascii_case("http"),
        Some(443) => scheme.eq_ignore_ascii_case("https"),
        _ => false,
    };
    known.then_some((scheme, name, if own { None } else { port }))
}

/// The spellings that nearly every client of a local server sends. Saves reading them with more care; says no more than
/// that would.
fn is_usual(host: &HeaderValue) -> bool {
    let is_port = |port: &[u8]| port.len() <= 4 && port.iter().all(u8::is_ascii_digit);
    [&b"127.0.0.1"[..], b"localhost"].iter().any(|name| match host.as_bytes().strip_prefix(*name) {
        Some([b':', port @ ..]) => is_port(port),
        Some(rest) => rest.is_empty(),
        None => false,
    })
}

/// Names that every browser takes to its own machine. A literal address cannot be rebound.
fn is_loopback(name: &str) -> bool {
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback()),
        None => name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
    }
}

fn refused(status: u16, message: impl Into<Cow<'static, str>>) -> Fault {
    Fault::new(Code::INVALID_REQUEST, message).with_status(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn guard() -> Guard {
        let mut guard = Guard::default();
        guard.allow_host("mcp.example.com").unwrap();
        guard.allow_host("Ported.example.com:8443").unwrap();
        guard.allow_origin("https://app.example.com").unwrap();
        guard.allow_origin("HTTP://Dev.example.com:3000").unwrap();
        guard
    }

    fn status(guard: &Guard, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        guard.check(&request.body(()).unwrap().into_parts().0).map_or_else(|fault| fault.status(), |()| 200)
    }

    #[test]
    fn loopback_hosts_pass_in_all_spellings_with_and_without_port_http_2() {
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "localhost:",
            "127.0.0.1",
            "127.0.0.1:8000",
            "127.1.2.3",
            "[::1]",
            "[::1]:8000",
            "[0:0:0:0:0:0:0:1]:1",
            " localhost ",
        ] {
            assert_eq!(status(&Guard::default(), &[("host", host)]), 200, "{host}");
        }
    }

    #[test]
    fn foreign_hosts_are_refused_http_2() {
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil.example:80",
            "0.0.0.0",
            "[::2]",
            "192.168.0.1",
            "localhost.",
            "xlocalhost",
            "mcp.example.com.evil.example",
        ] {
            assert_eq!(status(&guard(), &[("host", host)]), 403, "{host}");
        }
    }

    #[test]
    fn malformed_hosts_are_bad_requests() {
        for host in
            ["", "localhost:80:80", "localhost:99999", "a@localhost", "[::1", "[::1]x", "[localhost]", "é", "a b"]
        {
            assert_eq!(status(&guard(), &[("host", host)]), 400, "{host}");
        }
        assert_eq!(status(&guard(), &[("host", "localhost"), ("host", "localhost")]), 400);
    }

    #[test]
    fn listed_hosts_pass_on_any_port_unless_one_was_listed() {
        for (host, expected) in [
            ("mcp.example.com", 200),
            ("MCP.example.com:4711", 200),
            ("ported.example.com:8443", 200),
            ("ported.example.com", 403),
            ("ported.example.com:8444", 403),
        ] {
            assert_eq!(status(&guard(), &[("host", host)]), expected, "{host}");
        }
    }

    #[test]
    fn only_http_1_1_must_name_a_host() {
        assert_eq!(status(&Guard::default(), &[]), 400);
        let old = Request::builder().version(Version::HTTP_10).body(()).unwrap().into_parts().0;
        assert!(Guard::default().check(&old).is_ok());
        let absolute = |uri: &str| Request::builder().uri(uri).body(()).unwrap().into_parts().0;
        assert!(Guard::default().check(&absolute("http://localhost/mcp")).is_ok());
        assert!(Guard::default().check(&absolute("http://evil.example/mcp")).is_err());
        let mut both = absolute("http://localhost/mcp");
        both.headers.insert(HOST, HeaderValue::from_static("evil.example"));
        assert!(Guard::default().check(&both).is_err());
    }

    #[test]
    fn any_host_can_be_allowed_and_origins_are_still_checked() {
        let mut guard = Guard::default();
        guard.allow_any_host();
        assert_eq!(status(&guard, &[("host", "evil.example")]), 200);
        assert_eq!(status(&guard, &[("host", "a"), ("origin", "http://evil.example")]), 403);
        guard.allow_any_origin();
        assert_eq!(status(&guard, &[("host", "a"), ("origin", "http://evil.example")]), 200);
    }

    #[test]
    fn origins_are_loopback_or_listed_and_compared_without_case_or_default_port_http_2() {
        for (origin, expected) in [
            ("http://localhost:3000", 200),
            ("https://127.0.0.1", 200),
            ("http://[::1]:9", 200),
            ("https://app.example.com", 200),
            ("HTTPS://APP.example.com:443", 200),
            ("http://dev.example.com:3000", 200),
            ("http://app.example.com", 403),
            ("https://app.example.com:8443", 403),
            ("http://dev.example.com", 403),
            ("http://evil.example", 403),
            ("http://localhost.evil.example", 403),
            ("chrome-extension://localhost", 403),
            ("https://app.example.com/", 403),
            ("https://a@app.example.com", 403),
            ("null", 403),
            ("", 403),
            ("é", 403),
            ("localhost", 403),
        ] {
            assert_eq!(status(&guard(), &[("host", "localhost"), ("origin", origin)]), expected, "{origin}");
        }
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert_eq!(status(&guard(), &twice), 403);
    }

    #[test]
    fn what_is_allowed_must_be_a_host_or_an_origin() {
        let mut guard = Guard::default();
        for host in ["https://mcp.example.com", "mcp.example.com/mcp", "", "*.example.com", "a b"] {
            assert!(guard.allow_host(host).is_err(), "{host}");
        }
        for origin in ["app.example.com", "https://app.example.com/", "https://", "*", ""] {
            assert!(guard.allow_origin(origin).is_err(), "{origin}");
        }
        assert!(guard.allow_origin("null").is_ok());
        assert_eq!(status(&guard, &[("host", "localhost"), ("origin", "null")]), 200);
    }

    #[test]
    fn a_refusal_says_what_to_do_and_quotes_safely() {
        let head = Request::builder().header("host", "evil.example").body(()).unwrap().into_parts().0;
        let fault = Guard::default().check(&head).unwrap_err();
        assert!(fault.message().contains("allow_host(\"evil.example\")"), "{fault}");
    }
}
