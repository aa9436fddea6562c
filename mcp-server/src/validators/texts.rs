//! Forms of texts. Each is read once, from its beginning to its end.

use std::net::Ipv6Addr;

/// By the rule of HTML (valid email address): `local@label.label`, where a label has at most 63 letters, digits and hyphens, and no hyphen
/// at its ends.
pub(super) fn is_email(text: &str) -> bool {
    let Some((local, host)) = text.split_once('@') else { return false };
    let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    !local.is_empty() && local.bytes().all(is_local) && host.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let label = label.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    (1..=63).contains(&label.len())
        && label.iter().all(inner)
        && label.first().is_some_and(u8::is_ascii_alphanumeric)
        && label.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// RFC 3986, 3: `scheme "://" [userinfo "@"] host [":" port] path ["?" query] ["#" fragment]`, with a host of at least one character.
pub(super) fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    is_scheme(scheme)
        && is_authority(authority)
        && is_made_of(path, b"/:@")
        && is_made_of(query, b"/?:@")
        && is_made_of(fragment, b"/?:@")
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_authority(authority: &str) -> bool {
    let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
        Some((address, "")) => (is_literal(address), ""),
        Some((address, after)) => after.strip_prefix(':').map_or((false, ""), |port| (is_literal(address), port)),
        None => {
            let (host, port) = place.split_once(':').unwrap_or((place, ""));
            (!host.is_empty() && is_made_of(host, b""), port)
        }
    };
    host && is_made_of(user, b":") && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// What stands in brackets: an address of IPv6, or of a version to come.
fn is_literal(address: &str) -> bool {
    match address.strip_prefix(['v', 'V']) {
        Some(future) => future.split_once('.').is_some_and(|(version, address)| {
            let fits = |byte: u8| is_unreserved(byte) || is_delimiter(byte) || byte == b':';
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !address.is_empty()
                && address.bytes().all(fits)
        }),
        // A zone of an address is not part of RFC 3986, and `Ipv6Addr` reads none.
        None => address.parse::<Ipv6Addr>().is_ok(),
    }
}

/// Whether these are unreserved characters, percent escapes, delimiters within a part, and `more`.
fn is_made_of(part: &str, more: &[u8]) -> bool {
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        let fits = match byte {
            b'%' => {
                let mut is_digit = || bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit());
                is_digit() && is_digit()
            }
            byte => is_unreserved(byte) || is_delimiter(byte) || more.contains(&byte),
        };
        if !fits {
            return false;
        }
    }
    true
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

const fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
}

pub(super) fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes.len() {
        32 => bytes.iter().all(u8::is_ascii_hexdigit),
        36 => bytes.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        }),
        _ => false,
    }
}

/// `YYYY-MM-DD` in the Gregorian calendar, also before there was one.
pub(super) fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text.as_bytes() else { return false };
    let digits = |digits: &[u8]| {
        digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')))
    };
    let (Some(year), Some(month), Some(day)) = (digits(&[y1, y2, y3, y4]), digits(&[m1, m2]), digits(&[d1, d2])) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}
