//! What other crates find wrong with fields, as a model is told it.

#![cfg(all(feature = "validator", feature = "garde"))]

mod common;

use common::{Client, text};
use garde::Validate as _;
use mcp_server::{CallError, Server, Tool, Value, json};
use serde::Deserialize;
use validator::{Validate as _, ValidationError, ValidationErrors};

mod by_validator {
    use validator::Validate;

    use super::*;

    #[derive(Deserialize, Validate)]
    pub(super) struct Order {
        #[validate(email)]
        pub(super) customer: String,
        #[validate(range(min = 18, max = 120))]
        pub(super) age: u8,
        #[validate(length(min = 3), custom(function = "no_admin"))]
        pub(super) name: String,
        #[validate(length(max = 1, message = "is for one coupon"))]
        pub(super) coupons: Vec<String>,
        #[validate(nested)]
        pub(super) to: Address,
        #[validate(nested)]
        pub(super) lines: Vec<Line>,
    }

    #[derive(Deserialize, Validate)]
    #[validate(schema(function = "has_place", skip_on_field_errors = false))]
    pub(super) struct Address {
        #[validate(url)]
        pub(super) map: Option<String>,
        #[validate(length(equal = 4), does_not_contain(pattern = "x"))]
        pub(super) zip: String,
    }

    #[derive(Deserialize, Validate)]
    pub(super) struct Line {
        #[validate(range(exclusive_min = 0.0))]
        pub(super) copies: f64,
        #[validate(contains(pattern = "-"))]
        pub(super) isbn: String,
    }

    fn no_admin(name: &str) -> Result<(), ValidationError> {
        if name.starts_with("admin") || name == "x" { Err(ValidationError::new("no_admin")) } else { Ok(()) }
    }

    fn has_place(address: &Address) -> Result<(), ValidationError> {
        if address.map.as_deref() == Some("nowhere") {
            return Err(ValidationError::new("place").with_message("it is nowhere".into()));
        }
        Ok(())
    }
}

mod by_garde {
    use garde::Validate;

    use super::*;

    #[derive(Deserialize, Validate)]
    #[garde(allow_unvalidated)]
    pub(super) struct Order {
        #[garde(range(min = 18))]
        pub(super) age: u8,
        #[garde(length(chars, min = 3), custom(no_admin))]
        pub(super) name: String,
        #[garde(dive)]
        pub(super) lines: Vec<Line>,
    }

    #[derive(Deserialize, Validate)]
    pub(super) struct Line {
        #[garde(email)]
        pub(super) to: String,
    }

    fn no_admin(name: &str, (): &()) -> garde::Result {
        if name == "x" { Err(garde::Error::new("is taken")) } else { Ok(()) }
    }
}

#[tokio::test]
async fn a_question_mark_tells_each_field_that_validator_finds_wrong_sorted_by_path() {
    let order = Tool::new("order").description("d").run(|args: Value| -> Result<&'static str, CallError> {
        let order: by_validator::Order = serde_json::from_value(args)?;
        order.validate()?;
        Ok("Done.")
    });
    let mut client = Client::of(Server::new("test", "1").tool(order));
    let wrong = json!({
        "customer": "ada", "age": 5, "name": "x", "coupons": ["a", "b"], "to": {"map": "nowhere", "zip": "12x"},
        "lines": [{"copies": 1.0, "isbn": "1-2"}, {"copies": 0.0, "isbn": "12"}],
    });
    let answer = client.call("order", wrong).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let expected = [
        "age: must be at least 18 and at most 120, is 5",
        "coupons: is for one coupon",
        "customer: must be an email address",
        "lines[1].copies: must be more than 0.0, is 0.0",
        "lines[1].isbn: must contain \"-\"",
        "name: must have at least 3 characters, has 1",
        "name: fails the check `no_admin`",
        "to: it is nowhere",
        "to.map: must be an absolute URL with a host, as in https://example.com/path",
        "to.zip: must have exactly 4 characters, has 3",
        "to.zip: must not contain \"x\"",
    ];
    assert_eq!(text(&answer).split(", ").collect::<Vec<_>>().join(", "), expected.join(", "));
    let right = json!({
        "customer": "a@b.c", "age": 20, "name": "Ada", "coupons": [], "to": {"map": null, "zip": "1234"}, "lines": [],
    });
    assert_eq!(text(&client.call("order", right).await), "Done.");
}

#[tokio::test]
async fn a_question_mark_tells_each_field_that_garde_finds_wrong() {
    let order = Tool::new("order").description("d").run(|args: Value| -> Result<&'static str, CallError> {
        let order: by_garde::Order = serde_json::from_value(args)?;
        order.validate()?;
        Ok("Done.")
    });
    let mut client = Client::of(Server::new("test", "1").tool(order));
    let wrong = json!({"age": 5, "name": "x", "lines": [{"to": "a@b.c"}, {"to": "b"}]});
    let answer = client.call("order", wrong).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let told = text(&answer);
    for part in
        ["age: lower than 18", "name: length is lower than 3", "name: is taken", "lines[1].to: not a valid email"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("lines[0]"), "{told}");
}

#[tokio::test]
async fn the_error_itself_may_stand_in_the_result() {
    let by_validator = Tool::new("a").description("d").run(|| -> Result<(), ValidationErrors> {
        let mut errors = ValidationErrors::new();
        errors.add("name", ValidationError::new("required"));
        Err(errors)
    });
    let by_garde = Tool::new("b").description("d").run(|| -> Result<(), garde::Report> {
        let mut report = garde::Report::new();
        report.append(garde::Path::empty(), garde::Error::new("it is too much"));
        Err(report)
    });
    let mut client = Client::of(Server::new("test", "1").tool(by_validator).tool(by_garde));
    assert_eq!(text(&client.call("a", json!({})).await), "name: is required, and missing");
    assert_eq!(text(&client.call("b", json!({})).await), "it is too much");
}

#[test]
fn all_other_errors_stay_hidden_and_so_does_what_is_hidden_on_purpose() {
    let errors = || {
        let mut errors = ValidationErrors::new();
        errors.add("secret", ValidationError::new("required"));
        errors
    };
    assert_eq!(CallError::from(errors()).to_string(), "secret: is required, and missing");
    assert!(!CallError::hidden(errors()).to_string().contains("secret"));
    assert!(!CallError::from(std::io::Error::other(errors())).to_string().contains("secret"), "within another");
}

#[test]
fn what_a_peer_sent_is_quoted_in_part_and_many_faults_are_counted() {
    let report = (0..1000).fold(garde::Report::new(), |mut report, index| {
        report.append(garde::Path::new("\u{202e}".repeat(9)).join(index), garde::Error::new("x".repeat(100_000)));
        report
    });
    let told = CallError::from(report).to_string();
    assert!(told.len() < 50_000 && told.ends_with(", and 968 more"), "{}", told.len());
    assert!(!told.contains('\u{202e}'), "{told}");
    let mut errors = ValidationErrors::new();
    let mut error = ValidationError::new("contains");
    error.add_param("needle".into(), &"\n".repeat(100_000));
    errors.add("text", error);
    let told = CallError::from(errors).to_string();
    assert!(told.len() < 1000 && !told.contains('\n'), "{told}");
    let fields = CallError::fields((0..40).map(|index| (index, "is wrong"))).to_string();
    assert!(fields.starts_with("0: is wrong, 1: is wrong") && fields.ends_with("31: is wrong, and 8 more"), "{fields}");
}
