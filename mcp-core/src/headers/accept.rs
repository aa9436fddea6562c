//! `Accept`, read leniently (HTTP-5).

/// Which forms of an answer the client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accept {
    /// `application/json`
    pub json: bool,
    /// `text/event-stream`
    pub events: bool,
}

impl Accept {
    /// Both forms: also what a request without the header takes.
    pub const ANY: Self = Self { json: true, events: true };

    /// A header value that says the same.
    pub(super) const fn as_str(self) -> &'static str {
        match (self.json, self.events) {
            (true, true) => "application/json, text/event-stream",
            (true, false) => "application/json",
            (false, true) => "text/event-stream",
            (false, false) => "application/json;q=0, text/event-stream;q=0",
        }
    }
}

impl Default for Accept {
    fn default() -> Self {
        Self::ANY
    }
}

/// Reads any number of `Accept` headers as one list.
#[derive(Debug, Default)]
pub(super) struct Reader {
    listed: bool,
    json: Best,
    events: Best,
}

/// The most specific range seen for a type, and whether it is taken: a range with `q=0` refuses (RFC 9110 12.5.1).
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    specific: u8,
    taken: bool,
}

impl Reader {
    pub(super) fn read(&mut self, value: &[u8]) {
        for range in value.split(|byte| *byte == b',') {
            let mut parts = range.split(|byte| *byte == b';').map(super::trim);
            let kind = parts.next().unwrap_or_default();
            if kind.is_empty() {
                continue;
            }
            self.listed = true;
            let taken = !parts.any(is_zero_q);
            self.json.see(kind, b"application/json", taken);
            self.events.see(kind, b"text/event-stream", taken);
        }
    }

    pub(super) const fn finish(self) -> Accept {
        if self.listed { Accept { json: self.json.taken, events: self.events.taken } } else { Accept::ANY }
    }
}

impl Best {
    fn see(&mut self, kind: &[u8], wanted: &[u8], taken: bool) {
        let family = wanted.iter().position(|byte| *byte == b'/').map_or(wanted, |slash| &wanted[..=slash]);
        let specific = if kind.eq_ignore_ascii_case(wanted) {
            3
        } else if kind.strip_suffix(b"*").is_some_and(|start| start.eq_ignore_ascii_case(family)) {
            2
        } else if kind == b"*/*" || kind == b"*" {
            1
        } else {
            return;
        };
        if specific >= self.specific {
            // The same range twice: taken if either says so.
            self.taken = taken || (specific == self.specific && self.taken);
            self.specific = specific;
        }
    }
}

/// `q=0`, `q=0.0`, `Q=0.000`.
fn is_zero_q(parameter: &[u8]) -> bool {
    let Some((name, value)) = parameter.split_first_chunk::<2>() else { return false };
    let value = super::trim(value);
    name.eq_ignore_ascii_case(b"q=") && value.first() == Some(&b'0') && value.iter().all(|b| matches!(b, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_is_read_with_weights_and_wildcards_http_5() {
        let cases: [(&[&str], bool, bool); 18] = [
            (&[], true, true),
            (&[""], true, true),
            (&["*/*"], true, true),
            (&["*"], true, true),
            (&["application/json, text/event-stream"], true, true),
            (&["application/json", "text/event-stream"], true, true),
            (&["application/json"], true, false),
            (&["text/event-stream"], false, true),
            (&["APPLICATION/JSON ; charset=utf-8"], true, false),
            (&["application/*"], true, false),
            (&["text/*;q=0.5"], false, true),
            (&["text/html"], false, false),
            (&["*/*;q=0"], false, false),
            (&["*/*, text/event-stream;q=0"], true, false),
            (&["text/event-stream;q=0.0, */*;q=0.1"], true, false),
            (&["application/json; q=0.000,text/event-stream"], false, true),
            (&["application/json;q=0.001"], true, false),
            (&[" , application/json ,"], true, false),
        ];
        for (values, json, events) in cases {
            let mut reader = Reader::default();
            values.iter().for_each(|value| reader.read(value.as_bytes()));
            assert_eq!(reader.finish(), Accept { json, events }, "{values:?}");
        }
    }

    #[test]
    fn an_accept_survives_being_written_and_read() {
        for accept in [true, false].map(|json| [true, false].map(|events| Accept { json, events })).concat() {
            let mut reader = Reader::default();
            reader.read(accept.as_str().as_bytes());
            assert_eq!(reader.finish(), accept);
        }
    }
}
