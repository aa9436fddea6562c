//! Ids (BASE-2), capabilities (SHIM-11) and client info (BASE-27) as `wire` reads them.

use std::collections::HashSet;

use mcp_core::policy::Limits;
use mcp_core::wire::{self, Id};
use mcp_core::{Ability, Capabilities};
use proptest::prelude::*;

fn id(raw: &str) -> Id {
    Id::parse(raw, 1024).unwrap()
}

fn token(id: &Id) -> String {
    let mut out = Vec::new();
    id.write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn ids_are_strings_or_integers_and_echoed_as_sent_base_2() {
    let kept = [
        "0",
        "1",
        "-1",
        "-0",
        "7",
        "9223372036854775807",
        "-9223372036854775808",
        "9007199254740993",
        "9223372036854775808",
        "123456789012345678901234567890",
        "\"\"",
        "\"7\"",
        "\"a\\u0062\\n\"",
        "\"é😀\"",
        "\"\\ud83d\\ude00\"",
    ];
    for raw in kept {
        assert_eq!(token(&id(raw)), raw);
        let text = format!(r#"{{"jsonrpc":"2.0","id": {raw} ,"method":"m"}}"#);
        let message = wire::read(text.into(), &Limits::default()).unwrap();
        assert_eq!(token(message.id().unwrap()), raw);
    }
    let refused = [
        "",
        "null",
        "true",
        "1.0",
        "1.5",
        "1e3",
        "-",
        "+1",
        "01",
        "-01",
        "{}",
        "[]",
        "\"",
        "\"a",
        "a\"",
        "\"a\"b\"",
        " 1",
        "1 ",
        "\"a\" ",
        "\"\\ud800\"",
        "\"\\x\"",
        "\"\n\"",
        "１",
        "\"\\\"",
    ];
    for raw in refused {
        assert_eq!(Id::parse(raw, 1024), None, "{raw:?}");
    }
    assert_eq!(Id::parse("\"abc\"", 4), None);
    assert_eq!(Id::parse("\"abc\"", 5), Some(Id::string("abc")));
}

#[test]
fn ids_are_compared_by_type_and_value_base_2() {
    assert_ne!(id("1"), id("\"1\""));
    assert_ne!(id("9223372036854775808"), id("\"9223372036854775808\""));
    assert_ne!(id("9007199254740992"), id("9007199254740993"));
    assert_eq!(id("\"\\u0061\""), id("\"a\""));
    assert_eq!(id("18446744073709551615"), Id::from_u64(u64::MAX));
    assert_eq!(id("5"), Id::from_u64(5));
    assert_eq!(id("5").as_i64(), Some(5));
    assert_eq!(id("\"5\"").as_i64(), None);
    assert_eq!(token(&Id::string("a\"\n")), r#""a\"\n""#);
    let ids: HashSet<Id> = ["1", "\"1\"", "\"\\u0031\"", "2", "\"a\"", "\"\\u0061\""].map(id).into();
    assert_eq!(ids.len(), 4);
    assert!(id("2") < id("10") && id("10") < id("\"a\"") && id("\"a\"") < id("\"\\u0062\""));
}

#[test]
fn capabilities_are_read_leniently_shim_11() {
    let of = |abilities: &[Ability]| abilities.iter().fold(Capabilities::none(), |all, ability| all.with(*ability));
    use Ability::{ElicitationForm, ElicitationUrl, Roots, Sampling, SamplingContext, SamplingTools};
    let table = [
        ("{}", of(&[])),
        (r#"{"roots":{"listChanged":true}}"#, of(&[Roots])),
        (r#"{"sampling":{}}"#, of(&[Sampling])),
        (r#"{"sampling":{"tools":{},"context":{},"x":1}}"#, of(&[Sampling, SamplingTools, SamplingContext])),
        (r#"{"sampling":{"tools":null}}"#, of(&[Sampling])),
        (r#"{"elicitation":{}}"#, of(&[ElicitationForm])),
        (r#"{"elicitation":{"form":{}}}"#, of(&[ElicitationForm])),
        (r#"{"elicitation":{"url":{}}}"#, of(&[ElicitationUrl])),
        (r#"{"elicitation":{"url":{},"form":null}}"#, of(&[ElicitationUrl])),
        (r#"{"elicitation":{"schemaValidation":true}}"#, of(&[ElicitationForm])),
        (r#"{"roots":null,"sampling":null,"elicitation":null,"extensions":null}"#, of(&[])),
        (r#"{"roots":true,"sampling":[],"elicitation":"x","extensions":1,"futureThing":{"z":true}}"#, of(&[])),
        (r#"{"elicitation":{},"elicitation":{"url":{}}}"#, of(&[ElicitationForm, ElicitationUrl])),
        (
            r#"{"elicitation":{"form":{},"url":{}},"roots":{},"extensions":{"com.example/x":{"y":1},"a/b":null},"futureThing":{"z":true}}"#,
            of(&[ElicitationForm, ElicitationUrl, Roots]).with_extension("com.example/x", r#"{"y":1}"#),
        ),
    ];
    for (raw, right) in table {
        assert_eq!(wire::read_capabilities(raw), Ok(right), "{raw}");
    }
    for raw in ["[]", "null", "1", "\"{}\"", "{", ""] {
        assert_eq!(wire::read_capabilities(raw), Err("must be an object"), "{raw}");
    }
    let many = |count: usize, settings: &str| {
        let list: Vec<String> = (0..count).map(|n| format!("\"x/{n}\":{settings}")).collect();
        wire::read_capabilities(&format!("{{\"extensions\":{{{}}}}}", list.join(",")))
    };
    assert_eq!(many(64, "{}").unwrap().extensions().len(), 64);
    assert_eq!(many(65, "{}").unwrap().extensions().len(), 64, "a handshake is not refused for it");
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(20_000));
    let mixed = format!("{{\"extensions\":{{\"x/large\":{large},\"x/small\":{{}}}}}}");
    let kept = wire::read_capabilities(&mixed).unwrap();
    assert_eq!((kept.extension("x/large"), kept.extension("x/small")), (None, Some("{}")));
}

#[test]
fn client_info_needs_name_and_version_base_27() {
    let info = wire::read_client_info(r#"{"version":"1","name":"a\u0062","title":"T","icons":[]}"#).unwrap();
    assert_eq!((&*info.name, &*info.version, info.title.as_deref()), ("ab", "1", Some("T")));
    assert_eq!(wire::read_client_info(r#"{"version":"1","name":"a","title":null}"#).unwrap().title, None);
    assert_eq!(wire::read_client_info(r#"{"version":"1"}"#), Err("needs a string `name`"));
    assert_eq!(wire::read_client_info(r#"{"name":"a","version":1}"#), Err("needs a string `version`"));
    assert_eq!(wire::read_client_info("[]"), Err("must be an object"));
    let long = wire::read_client_info(&format!(r#"{{"version":"1","name":"a{}"}}"#, "é".repeat(500))).unwrap();
    assert_eq!(&*long.name, format!("a{}", "é".repeat(127)));
}

proptest! {
    #[test]
    fn ids_round_trip(text in ".*", number: u64, other in ".*") {
        let string = Id::string(&text);
        prop_assert_eq!(&id(&token(&string)), &string);
        prop_assert_eq!(serde_json::from_str::<String>(&token(&string)).unwrap(), &*text);
        prop_assert_eq!(string == Id::string(&other), text == other);
        prop_assert_eq!(id(&number.to_string()), Id::from_u64(number));
        prop_assert_eq!(token(&Id::from_u64(number)), number.to_string());
    }

    #[test]
    fn what_an_id_parses_from_is_json_and_is_kept(raw in "-?[0-9]{0,30}|\"[ -~]{0,6}\"?|[ -~]{0,5}") {
        if let Some(id) = Id::parse(&raw, 64) {
            prop_assert_eq!(token(&id), raw.clone());
            let value: serde_json::Value = serde_json::from_str(&raw).unwrap();
            prop_assert!(value.is_string() || value.is_number());
        }
    }
}
