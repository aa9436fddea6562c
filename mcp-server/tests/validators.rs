//! The validators: what they let in, against other libraries; what they say; and where they can stand.

mod common;

use std::collections::{BTreeMap, HashSet};

use common::{Client, text};
use mcp_server::validators::{self, Subject, Validator as _, all, any, list_of, one_of, range, regex};
use mcp_server::{Arguments, Param, Server, Tool, Value, json, tool};
use proptest::prelude::*;

/// The rule of HTML, as it stands in its text.
const HTML_EMAIL: &str = r"^[a-zA-Z0-9.!#$%&'*+\/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$";

fn is_url(text: &str) -> bool {
    let host = |uri: fluent_uri::Uri<&str>| uri.authority().is_some_and(|authority| !authority.host().is_empty());
    fluent_uri::Uri::parse(text).is_ok_and(host)
}

fn is_uuid(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_plain && uuid::Uuid::parse_str(text).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn an_email_address_is_what_html_takes_for_one(
        text in prop_oneof![".*", "[a@.-]{0,12}", "[a-z.+_]{1,9}@[a-z-]{1,5}(\\.[a-z0-9-]{0,4}){0,3}", "a@[a-z]{62,65}"],
    ) {
        let oracle = regex_lite::Regex::new(HTML_EMAIL).expect("a pattern");
        prop_assert_eq!(validators::email(&*text).is_ok(), oracle.is_match(&text), "{}", text);
    }

    #[test]
    fn a_url_is_what_rfc_3986_takes_for_one_with_a_host(
        text in prop_oneof![
            ".*",
            "[a:/?#@%0\\[\\].]{0,16}",
            "[a-z+]{1,4}://[a-z@:0-9.\\[\\]%]{0,9}(/[a-z%4é ]{0,4}){0,2}(\\?[a-z/?%]{0,4})?(#[a-z#%]{0,4})?",
            "h://\\[[0-9a-f:.v]{0,12}\\](:[0-9]{0,5})?",
            "h://\\[[0-9a-f:]{2,40}\\]/?",
            "h://\\[::1\\][^:]{0,3}",
            "(https|x-y\\.z)://(u(:p)?@)?[a-z~!,;=-]{1,9}(:[0-9]{0,5})?(/[a-z:@]{0,4}){0,3}(\\?a=b&c)?(#x)?",
        ],
    ) {
        prop_assert_eq!(validators::url(&*text).is_ok(), is_url(&text), "{}", text);
    }

    #[test]
    fn a_uuid_is_what_the_crate_of_that_name_takes_for_one(
        text in prop_oneof![
            ".*",
            "[0-9a-fA-Fg-]{30,38}",
            "[0-9a-f]{32}",
            "[0-9a-fA-F]{7,9}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{11,13}",
        ],
    ) {
        prop_assert_eq!(validators::uuid(&*text).is_ok(), is_uuid(&text), "{}", text);
    }

    #[test]
    fn a_date_is_a_day_of_the_calendar(year in 0..10_000_i32, month in 0..15_u32, day in 0..34_u32) {
        let text = format!("{year:04}-{month:02}-{day:02}");
        let oracle = chrono::NaiveDate::from_ymd_opt(year, month, day);
        prop_assert_eq!(validators::iso_date(&*text).is_ok(), oracle.is_some(), "{}", text);
    }

    #[test]
    fn what_has_another_form_is_no_date(text in prop_oneof![".*", "[0-9]{1,5}-[0-9]{1,3}-[0-9]{1,3}", "[0-9-]{10}"]) {
        let fits = validators::iso_date(&*text).is_ok();
        let digits: Vec<u32> = text.split('-').filter_map(|part| part.parse().ok()).collect();
        let oracle = match digits[..] {
            [year, month, day] => chrono::NaiveDate::from_ymd_opt(year as i32, month, day),
            _ => None,
        };
        let is_plain = oracle.is_some_and(|date| date.to_string() == text);
        prop_assert_eq!(fits, is_plain, "{}", text);
    }

    #[test]
    fn a_range_holds_what_the_range_of_rust_holds(number: i64, low in -5_i64..5, span in 1_i64..10) {
        let number = number % 20;
        prop_assert_eq!(range(low..low + span).check(&number).is_ok(), (low..low + span).contains(&number));
        prop_assert_eq!(range(low..=low + span).check(&json!(number)).is_ok(), (low..=low + span).contains(&number));
        let (number, low) = (number as f64 / 2.0, low as f64);
        prop_assert_eq!(range(..low).check(&number).is_ok(), number < low);
        prop_assert_eq!(validators::positive(&number).is_ok(), number > 0.0);
        prop_assert_eq!(validators::non_negative(&json!(number)).is_ok(), number >= 0.0);
    }
}

#[test]
fn leap_years_are_those_of_the_gregorian_calendar() {
    for (day, exists) in [
        ("2024-02-29", true),
        ("2023-02-29", false),
        ("1900-02-29", false),
        ("2000-02-29", true),
        ("0000-02-29", true),
        ("2024-04-31", false),
        ("2024-13-01", false),
        ("2024-00-10", false),
        ("2024-01-00", false),
        ("2024-1-01", false),
        ("20240101", false),
        ("+2024-01-1", false),
        ("２024-01-01", false),
    ] {
        assert_eq!(validators::iso_date(day).is_ok(), exists, "{day}");
    }
}

#[test]
fn each_says_what_must_be() {
    let fault = |checked: Result<(), &'static str>| checked.expect_err("it does not fit");
    let value = json!("x y");
    assert_eq!(fault(validators::email(&value)), "must be an email address");
    assert_eq!(fault(validators::url(&value)), "must be an absolute URL with a host, as in https://example.com/path");
    assert_eq!(fault(validators::uuid(&value)), "must be a UUID, as in 123e4567-e89b-12d3-a456-426614174000");
    assert_eq!(fault(validators::iso_date(&value)), "must be a date that exists, as YYYY-MM-DD");
    assert_eq!(fault(validators::alphanumeric(&value)), "must be letters and digits alone: a-z, A-Z, 0-9");
    assert_eq!(fault(validators::non_empty(" \n")), "must not be blank");
    assert_eq!(fault(validators::non_empty(&json!([]))), "must not be empty");
    assert_eq!(fault(validators::non_empty(&json!({}))), "must not be empty");
    let fault = |checked: Result<(), String>| checked.expect_err("it does not fit");
    assert_eq!(fault(validators::positive(&0)), "must be more than 0, is 0");
    assert_eq!(fault(validators::non_negative(&-0.5)), "must be at least 0, is -0.5");
    assert_eq!(fault(range(1..=10).check(&11_u8)), "must be at most 10, is 11");
    assert_eq!(fault(range(0.5..1.0).check(&json!(1))), "must be less than 1.0, is 1");
    assert_eq!(fault(range(1..).check(&value)), "must be a number");
    assert_eq!(fault(regex("^[a-z]+$").check(&value)), "must match the pattern `^[a-z]+$`, is \"x y\"");
    assert_eq!(fault(one_of(["a", "b"]).check(&value)), r#"expected one of "a", "b", got "x y""#);
    assert_eq!(fault(one_of([1, 2]).check(&json!([]))), "expected one of 1, 2, got an array");
    let emails = json!(["a@b", "c", "d@e", 5]);
    let each = "[1] must be an email address; [3] must be an email address";
    assert_eq!(fault(list_of(validators::email::<Value>).check(&emails)), each);
    assert_eq!(
        fault(list_of(list_of(validators::email::<String>)).check(&vec![vec!["a@b".to_owned()], vec!["c".into()]])),
        "[1][0] must be an email address"
    );
    assert_eq!(fault(list_of(validators::positive::<i32>).check(&vec![0; 100])).matches("must be").count(), 5);
    assert_eq!(fault(list_of(validators::email::<Value>).check(&value)), "must be a list");
    let either = "must be an email address, or must match the pattern `^#`, is \"x y\"";
    assert_eq!(fault(any((validators::email, regex("^#"))).check(&value)), either);
    assert_eq!(
        fault(all((validators::non_empty, validators::email, regex("^#"))).check(&value)),
        "must be an email address"
    );
    assert_eq!(
        fault(any((range(..0), range(5..))).check(&3)),
        "must be less than 0, is 3, or must be at least 5, is 3"
    );
}

#[test]
fn typed_values_and_json_are_judged_alike() {
    struct Address(String);
    impl Subject for Address {
        fn seen(&self) -> validators::Seen<'_> {
            self.0.seen()
        }
    }
    impl validators::Textual for Address {}
    assert!(list_of(validators::email).check(&vec![Address("a@b".into())]).is_ok());
    assert!(validators::email(&Some("a@b")).is_ok() && validators::email(&json!(5)).is_err());
    assert!(validators::email(&Box::<str>::from("a@b")).is_ok());
    assert!(one_of([0.5, 1.0]).check(&1_u64).is_ok() && one_of([json!(true)]).check(&true).is_ok());
    assert!(one_of(["a"]).check(&"a".to_owned()).is_ok() && one_of([json!([])]).check(&json!([1])).is_err());
    assert!(range(..=0.1).check(&0.1_f32).is_ok(), "by its decimals");
    assert!(range(..=u64::MAX).check(&u64::MAX).is_ok() && range(..u64::MAX).check(&json!(u64::MAX)).is_err());
    assert!(validators::non_empty(&BTreeMap::from([("a".to_owned(), 1)])).is_ok());
    assert!(validators::non_empty(&HashSet::<u8>::new()).is_err());
    assert!(list_of(validators::uuid).check(&HashSet::from([uuid::Uuid::nil().simple().to_string()])).is_ok());
}

#[test]
fn what_could_never_work_is_told_where_it_is_made() {
    let panic = |make: fn()| {
        let panic = std::panic::catch_unwind(make).expect_err("it panics");
        panic
            .downcast_ref::<String>()
            .cloned()
            .or(panic.downcast_ref::<&str>().map(|said| (*said).to_owned()))
            .expect("a text")
    };
    let pattern = panic(|| drop(regex::<str>("[a")));
    assert!(pattern.starts_with("`validators::regex` cannot read the pattern `[a`: "), "{pattern}");
    let reversed = panic(|| drop(range::<u8, _>((std::ops::Bound::Included(10), std::ops::Bound::Excluded(1)))));
    assert_eq!(reversed, "`validators::range` from 10 to 1 holds no number: exchange its bounds");
    assert!(panic(|| drop(range::<f64, _>(f64::NAN..))).contains("is no finite number"));
    assert!(panic(|| drop(one_of::<str, &str>([]))).contains("has no values"));
}

#[derive(Arguments)]
#[allow(dead_code, reason = "it is judged and no more")]
struct Guest {
    #[arg(validate = validators::email)]
    address: String,
    #[arg(validate = validators::all((validators::non_empty, validators::regex("^[A-Z]"))))]
    name: Option<String>,
}

/// Invites people.
#[tool]
#[allow(unused_variables, reason = "they are judged and no more")]
fn invite(
    #[arg(validate = validators::list_of(validators::email))] addresses: Vec<String>,
    #[arg(validate = validators::range(1..=10))] seats: u8,
    #[arg(validate = validators::iso_date)] day: Value,
    #[arg(validate = validators::any((validators::uuid, validators::one_of(["none"]))))] code: Option<String>,
    host: Option<Guest>,
) -> &'static str {
    "Done."
}

#[tokio::test]
async fn all_that_is_wrong_with_a_call_is_told_at_once_wherever_a_validator_stands_tool_9() {
    let built = Tool::new("built")
        .description("The same by parameters.")
        .param(Param::array("addresses", Param::string("address").validate(validators::email)))
        .param(Param::integer("seats").validate(validators::range(1..=10)))
        .param(Param::any("day").validate(validators::iso_date))
        .param(Param::string("code").validate(validators::any((validators::uuid, validators::one_of(["none"])))))
        .param(
            Param::object("host")
                .field(Param::string("address").validate(validators::email).required())
                .field(Param::string("name").validate(validators::non_empty).validate(validators::regex("^[A-Z]"))),
        )
        .run(|_: Value| "Done.");
    let mut client = Client::of(Server::new("test", "1").tool(invite).tool(built));
    let right = json!({
        "addresses": ["ada@example.com"], "seats": 2, "day": "2024-02-29", "code": "none", "host": {"address": "a@b", "name": "Ada"},
    });
    let wrong = json!({
        "addresses": ["a@b", "ada"], "seats": 11, "day": "2023-02-29", "code": "x", "host": {"address": "@", "name": "ada"},
    });
    for (name, addresses) in [("invite", "`addresses`: [1] must"), ("built", "`addresses[1]`: must")] {
        assert_eq!(text(&client.call(name, right.clone()).await), "Done.");
        let refused = client.call(name, wrong.clone()).await;
        assert_eq!(
            text(&refused),
            format!(
                "Invalid arguments for tool `{name}`:\n\
                 - {addresses} be an email address\n\
                 - `seats`: must be at most 10, is 11\n\
                 - `day`: must be a date that exists, as YYYY-MM-DD\n\
                 - `code`: must be a UUID, as in 123e4567-e89b-12d3-a456-426614174000, or expected \"none\", got \"x\"\n\
                 - `host.address`: must be an email address\n\
                 - `host.name`: must match the pattern `^[A-Z]`, is \"ada\""
            )
        );
    }
    let missing = client.call("invite", json!({"addresses": [], "seats": 1, "day": "2024-01-01"})).await;
    assert_eq!(text(&missing), "Done.", "what is left out is not asked: {missing}");
}
