//! URI templates: what a URI gives to each expression, what is refused, and that links come back as they were made.

use mcp_core::uri_template::{TEMPLATE_LIMIT, URI_LIMIT, UriTemplate, VARIABLE_LIMIT};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::prop_assert_eq;

/// A template, values for it, and what comes of them.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The values as `name=value`, in order.
fn found(text: &str, uri: &str) -> Option<String> {
    let found = template(text).matches(uri)?;
    Some(found.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
}

#[track_caller]
fn matches(text: &str, cases: &[(&str, &str)]) {
    for (uri, expected) in cases {
        assert_eq!(found(text, uri).as_deref(), Some(*expected), "{text} on {uri}");
    }
}

#[track_caller]
fn misses(text: &str, uris: &[&str]) {
    for uri in uris {
        assert_eq!(found(text, uri), None, "{text} on {uri}");
    }
}

#[test]
fn a_simple_variable_is_one_segment_decoded_once_res_11() {
    matches(
        "a://{v}",
        &[("a://x", "v=x"), ("a://a%2Fb", "v=a/b"), ("a://a%252Fb", "v=a%2Fb"), ("a://a:b,c", "v=a:b,c")],
    );
    matches("a://{v}", &[("a://100%25", "v=100%"), ("a://%E4%BD%A0", "v=你"), ("a://你 好", "v=你 好")]);
    misses("a://{v}", &["a://", "a://a/b", "a://a?b", "a://a#b", "b://a", "A://a", "a:/", "", "a://{v}", "a://a\n"]);
    matches("a://{v}/p", &[("a://x/p", "v=x"), ("a://%2Fp/p", "v=/p")]);
    misses("a://{v}/p", &["a:///p", "a://x", "a://x/", "a://x/p/", "a://x/y/p"]);
    misses("a://b", &["a://c", "a://bb"]);
    matches("a://b", &[("a://b", "")]);
}

#[test]
fn a_reserved_variable_is_many_segments() {
    matches("f://{+p}", &[("f://a/b%20c/d", "p=a/b c/d"), ("f://a?b#c", "p=a?b#c"), ("f:///", "p=/")]);
    misses("f://{+p}", &["f://", "f:/"]);
    matches("f://{+p}/end", &[("f://a/b/end", "p=a/b"), ("f://end/end", "p=end"), ("f://a/end/end", "p=a/end")]);
    misses("f://{+p}/end", &["f:///end", "f://end"]);
    matches("f://{+p}{?q}", &[("f://a/b?q=1", "p=a/b q=1"), ("f://a/b", "p=a/b")]);
    matches("f://{+p}{#s}", &[("f://a/b#c#d", "p=a/b s=c#d")]);
}

#[test]
fn literals_match_raw_and_encoded_case_68() {
    for text in ["doc:///my files/{n}", "doc:///my%20files/{n}"] {
        matches(text, &[("doc:///my%20files/a", "n=a"), ("doc:///my files/a", "n=a"), ("doc:///my files/%61", "n=a")]);
        misses(text, &["doc:///my%2520files/a", "doc:///my+files/a"]);
    }
    for text in ["doc:///café/{n}", "doc:///caf%c3%a9/{n}"] {
        matches(text, &[("doc:///caf%C3%A9/a", "n=a"), ("doc:///café/a", "n=a"), ("doc:///%63af%c3%A9/a", "n=a")]);
    }
    // To RFC 3986 an encoded slash is no slash, and no part of a path is taken for another.
    misses("a://x/{v}", &["a://x%2Fy", "a%3A//x/y"]);
    matches("a://x%2fy/{v}", &[("a://x%2Fy/z", "v=z")]);
    misses("a://x%2fy/{v}", &["a://x/y/z"]);
    matches("a://50%25/{v}", &[("a://50%25/z", "v=z")]);
}

#[test]
fn no_value_climbs_out_of_a_directory_res_9() {
    let climbing =
        ["../etc/passwd", "a/../../etc", "%2e%2E/etc", "..%2fetc", "a/..", "..", "a%5C..%5Cb", "a%00b", "a\\..\\b"];
    for uri in climbing.map(|path| format!("file:///root/{path}")) {
        misses("file:///root/{+path}", &[&uri]);
        misses("file:///root/{name}", &[&uri]);
        misses("file:///root/x{?q}", &[&uri.replace("root/", "root/x?q=")]);
    }
    matches("file:///root/{+path}", &[("file:///root/a..b/...", "path=a..b/..."), ("file:///root/./a", "path=./a")]);
}

#[test]
fn what_cannot_be_decoded_matches_nothing() {
    let broken = ["a://%", "a://%2", "a://%zz", "a://x%", "a://%ff", "a://%C3", "a://%C3x", "a://%ED%A0%80", "a://%+1"];
    for text in ["a://{v}", "a://{+v}", "a://{v}{?q}"] {
        misses(text, &broken);
    }
    misses("a://x{?q}", &["a://x?q=%", "a://x?q=%ff", "a://x?other=%"]);
    misses("a://{v}%A9", &["a://é"]);
}

#[test]
fn the_first_variable_takes_as_much_as_it_can() {
    matches("a://{n}.{e}", &[("a://a.tar.gz", "n=a.tar e=gz"), ("a://..x", "n=. e=x")]);
    matches("a://{n}{.e}", &[("a://a.tar.gz", "n=a.tar e=gz")]);
    matches("a://{+p}/{n}", &[("a://a/b/c", "p=a/b n=c"), ("a:////c", "p=/ n=c")]);
    // Not so much that the rest finds no place, nor that a later one reaches over a slash.
    matches("a://{a}-{b}/{c}", &[("a://1-2-3/4-5", "a=1-2 b=3 c=4-5")]);
    matches("a://{+a}-{b}", &[("a://1-2/3-4", "a=1-2/3 b=4")]);
    misses("a://{+a}-{b}", &["a://1-2/3", "a://-2"]);
}

#[test]
fn every_operator_of_rfc_6570() {
    matches("a:{/v}", &[("a:/x", "v=x")]);
    matches("a:{/v,w}", &[("a:/x/y", "v=x w=y")]);
    matches("a:{.v,w}", &[("a:.x.y", "v=x w=y")]);
    matches("a:{;v,w}", &[("a:;v=x;w=y", "v=x w=y")]);
    matches("a:{x,y}/z", &[("a:1,2/z", "x=1 y=2"), ("a:1%2C2,3/z", "x=1,2 y=3")]);
    misses("a:{x,y}/z", &["a:1/z", "a:1,2,3/z", "a:,/z"]);
    matches("a:{+x,y}", &[("a:/1,/2", "x=/1 y=/2")]);
    matches("a:b{#f}", &[("a:b#c/d?e", "f=c/d?e")]);
    matches("a:b{#f,g}", &[("a:b#c,d", "f=c g=d")]);
    misses("a:b{#f}", &["a:b", "a:b#"]);
}

#[test]
fn a_query_s_pairs_are_optional_and_in_any_order() {
    matches(
        "s://{n}{?q,limit}",
        &[
            ("s://x", "n=x"),
            ("s://x?", "n=x"),
            ("s://x?limit=5&q=a%26b", "n=x q=a&b limit=5"),
            ("s://x?q=", "n=x q="),
            ("s://x?q", "n=x q="),
            ("s://x?q=a=b/c?d+e", "n=x q=a=b/c?d+e"),
            ("s://x?other=1&&limit=5&Q=2", "n=x limit=5"),
            ("s://x?%71=1", "n=x q=1"),
        ],
    );
    misses("s://{n}{?q,limit}", &["s://x?q=1&q=2", "s://x?q=1#f", "s://?q=1", "s://x/?q=1"]);
    matches("s://x?fixed=1{&q}", &[("s://x?fixed=1&q=2", "q=2"), ("s://x?fixed=1", ""), ("s://x?fixed=1&z=2", "")]);
    misses("s://x?fixed=1{&q}", &["s://x", "s://x?q=2", "s://x?fixed=12", "s://x?q=2&fixed=1"]);
    matches("s://x?a={a}&b={b}{&q}", &[("s://x?a=1&b=2&q=3", "a=1 b=2 q=3"), ("s://x?a=1&b=2", "a=1 b=2")]);
    misses("s://x?a={a}", &["s://x?a=1&b=2"]);
    matches("s://x{?a}{&b}{#f}", &[("s://x?b=1&a=2#g", "a=2 b=1 f=g"), ("s://x#g", "f=g")]);
    misses("s://x{?a}{&b}{#f}", &["s://x?a=1"]);
}

#[test]
fn what_is_no_template_is_told_with_its_place_and_a_way_out() {
    let long = "x".repeat(TEMPLATE_LIMIT + 1);
    let many: String = (0..=VARIABLE_LIMIT).map(|n| format!("/{{v{n}}}")).collect();
    let cases = [
        ("a://{v", 4, "write `}`"),
        ("a://{a{b}}", 6, "letters"),
        ("a://v}", 5, "%7D"),
        ("a://{}", 5, "`{id}`"),
        ("a://{+}", 6, "one at least"),
        ("a://{a,}", 7, "one at least"),
        ("a://{a..b}", 5, "inner dots"),
        ("a://{user-id}", 9, "letters"),
        ("a://{ü}", 5, "letters"),
        ("a://{ v }", 5, "letters"),
        ("a://{v*}", 6, "`{+path}`"),
        ("a://{v:3}", 6, "prefix"),
        ("a://{=v}", 5, "reserves"),
        ("a://{v}/{v}", 9, "named twice"),
        ("a://{v}{?v}", 9, "named twice"),
        ("a://{v}{w}", 8, "`v` ends and `w` begins"),
        ("a://{v}{+w}", 9, "between them"),
        ("a://%zz/{v}", 4, "%25"),
        ("a://é/%4", 7, "%25"),
        ("a://\n{v}", 4, "control"),
        ("a://x{?q}/y", 9, "at the end"),
        ("a://x{?q}{v}", 10, "at the end"),
        ("a://x{?q}{?r}", 10, "`{&..}` instead"),
        ("a://x?y{?q}", 8, "`{&..}` instead"),
        ("a://x{&q}", 6, "`{?..}` instead"),
        ("a://x{#f}y", 9, "end of a URI"),
        ("a://x{#f}{?q}", 10, "before the fragment"),
        ("a://x#y{#f}", 8, "`{+v}`"),
        (&*long, TEMPLATE_LIMIT, "at most 1024 bytes"),
        (&*many, many.len() - 4, "at most 32 variables"),
    ];
    for (text, position, told) in cases {
        let error = UriTemplate::parse(text).map(|_| ()).expect_err(text);
        assert_eq!(error.position(), position, "{text}: {error}");
        assert!(error.to_string().contains(told), "{text}: {error}");
    }
    assert!(UriTemplate::parse(&long[1..]).is_ok());
    assert!(UriTemplate::parse(&many[..many.len() - 6]).is_ok());
}

#[test]
fn a_template_keeps_its_text_and_names_its_variables_in_order() {
    let template = template("a://{z,b}/{+p.q}{?y,a}{&_n}{#f}");
    assert_eq!(template.variables().collect::<Vec<_>>(), ["z", "b", "p.q", "y", "a", "_n", "f"]);
    assert_eq!((template.as_str(), &*template.to_string()), ("a://{z,b}/{+p.q}{?y,a}{&_n}{#f}", template.as_str()));
}

#[test]
fn links_are_made_so_that_they_are_read_as_they_were_meant() {
    let made = |text: &str, values: &[(&str, &str)]| template(text).expand(values).map_err(|error| error.to_string());
    let cases: [Case; 8] = [
        ("a://{v}", &[("v", "a/b 100%é")], "a://a%2Fb%20100%25%C3%A9"),
        ("a://my files/%41{v}", &[("v", "x")], "a://my%20files/Ax"),
        ("a://{+v}", &[("v", "a/b?c%20")], "a://a/b?c%2520"),
        ("a://{+v}{?q}", &[("v", "a?b"), ("q", "")], "a://a%3Fb?q="),
        ("a://x{?q,r}", &[("r", "a&b=c")], "a://x?r=a%26b%3Dc"),
        ("a://x{?q,r}", &[], "a://x"),
        ("a://x?y=1{&q}", &[("q", "2")], "a://x?y=1&q=2"),
        ("a:{x,y}{/s}{;p}{#f}", &[("f", "/"), ("p", "4"), ("s", "3"), ("y", "2"), ("x", ",")], "a:%2C,2/3;p=4#/"),
    ];
    for (text, values, uri) in cases {
        assert_eq!(made(text, values).as_deref(), Ok(uri), "{text}");
    }
    let cases: [Case; 6] = [
        ("a://{v}", &[], "`v` has no value"),
        ("a://{v}", &[("v", "")], "`v` is empty"),
        ("a://{v}", &[("v", "x"), ("w", "y")], "no variable `w`"),
        ("a://{x}-{y}", &[("x", "1"), ("y", "2-3")], "literal text"),
        ("a://{+v}", &[("v", "../x")], "`..`"),
        ("a://{v}", &[("v", "x"), ("v", "y")], "twice"),
    ];
    for (text, values, told) in cases {
        let error = made(text, values).expect_err(text);
        assert!(error.contains(told), "{text}: {error}");
    }
    assert!(made("a://{v}", &[("v", &"é".repeat(URI_LIMIT / 6))]).unwrap_err().contains("longer"));
}

#[test]
fn a_uri_is_matched_up_to_the_limit() {
    let uri = format!("a://{}", "x".repeat(URI_LIMIT - 4));
    assert!(template("a://{v}").matches(&uri).is_some());
    assert!(template("a://{v}").matches(&format!("{uri}x")).is_none());
}

/// Tried one by one, the ways to split these are more than could be tried in the life of the machine.
#[test]
fn a_hostile_uri_costs_no_more_than_any_other() {
    let template_of = |between: &str| {
        let parts: Vec<String> = (0..VARIABLE_LIMIT).map(|n| format!("{{+v{n}}}")).collect();
        template(&format!("a:{}/end", parts.join(between)))
    };
    for (between, fill) in [("-", "-"), ("--", "-"), ("-a", "-a"), ("a", "aa")] {
        let template = template_of(between);
        let filled = fill.repeat((URI_LIMIT - 8) / fill.len());
        assert!(template.matches(&format!("a:{filled}")).is_none());
        assert!(template.matches(&format!("a:{filled}/END")).is_none());
        let found = template.matches(&format!("a:{filled}/end")).unwrap();
        assert_eq!(found.len(), VARIABLE_LIMIT);
        assert!(found[1..].iter().all(|(_, value)| value.len() <= 2));
    }
}

/// An expression, in a place where the next one cannot be taken for a part of its value.
const FORMS: [&str; 9] =
    ["/{$}", "/{+$}?", "/{$a,$b}", "/x y/{$}:", "{/$a,$b}", "{;$a,$b}", "/é{$}!", "/{+$a,$b}?", "/%2F{$}("];
const ENDS: [&str; 6] = ["", "{?p,q}", "{?p}{&q}{#f}", "{#f}", "{#f,g}", "/"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_link_is_read_as_it_was_made_res_11(
        forms in vec(0..FORMS.len(), 0..6), end in 0..ENDS.len(), values in vec("[a-c/?#&=;,.%+~ é{}\\\\\\x01-]{0,4}", 20),
    ) {
        let mut text = "a:".to_owned();
        for (n, form) in forms.iter().enumerate() {
            // The value of a second one could hold what ends the first.
            if !(FORMS[*form].contains('+') && text.contains('+')) {
                text.push_str(&FORMS[*form].replace('$', &format!("v{n}")));
            }
        }
        // A `?` in the path begins a query, where `{?` cannot stand.
        text.push_str(if text.contains('?') { "" } else { ENDS[end] });
        let template = template(&text);
        let values: Vec<(&str, &str)> = template.variables().zip(values.iter().map(String::as_str)).collect();
        let climbs = |value: &str| value.split(['/', '\\']).any(|segment| segment == "..");
        let readable = values.iter().all(|(name, value)| !climbs(value) && (matches!(*name, "p" | "q") || !value.is_empty()));
        match template.expand(&values) {
            Ok(uri) => {
                let found = template.matches(&uri).unwrap();
                let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
                prop_assert_eq!(found, values, "{}", uri);
                prop_assert_eq!(readable, true);
            }
            Err(error) => prop_assert_eq!(readable, false, "{}: {}", text, error),
        }
    }

    #[test]
    fn whatever_matches_makes_a_uri_that_matches_alike(
        text in "a:[a-b{}?&#+/,%2. -]{0,24}", uri in "a:[a-b?&#+/,%2=. -]{0,24}",
    ) {
        if let Ok(template) = UriTemplate::parse(&text)
            && let Some(found) = template.matches(&uri)
        {
            let again = template.expand(&found).unwrap();
            prop_assert_eq!(template.matches(&again), Some(found), "{} on {} and {}", text, uri, again);
        }
    }

    #[test]
    fn no_text_and_no_uri_does_harm(text in "\\PC{0,40}", uri in any::<String>()) {
        if let Ok(template) = UriTemplate::parse(&text) {
            let _ = template.matches(&uri);
            let _ = template.matches(&text);
        }
    }
}
