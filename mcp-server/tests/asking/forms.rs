//! Forms: what can be asked, and in which words.

use mcp_server::ask::{Ask, Asked, Field, FormOf, elicit, elicit_as};
use mcp_server::testing::{Client, block_on};
use mcp_server::{Ability, App, Arguments, CallError, Ctx, Revision, Value, json};
use serde::Deserialize;

use super::{able, app};

/// The schema that a client of that revision is asked with.
fn asked(app: &App, revision: Revision) -> Value {
    let (send, heard) = std::sync::mpsc::channel();
    block_on(async {
        let mut client = able(app, revision)
            .on_request(move |_, params| {
                send.send(params.clone()).unwrap();
                json!({"action": "decline"})
            })
            .connect();
        client.call("ask", ()).await.assert_ok();
    });
    heard.recv().expect("it was asked")["requestedSchema"].clone()
}

#[test]
fn every_kind_of_field_in_the_words_of_each_revision_elic_3_elic_4() {
    let app = app(|ctx: Ctx| {
        let form = elicit("All?")
            .field("name", Field::text().title("Name").min_length(1).max_length(50).default("John").required())
            .field("mail", Field::text().email().description("Where to"))
            .field("home", Field::text().uri())
            .field("born", Field::text().date())
            .field("due", Field::text().date_time())
            .field("age", Field::integer().min(0).max(150).default(30))
            .field("score", Field::number().min(0.5).max(99.5).default(95.5))
            .field("verified", Field::boolean().default(true))
            .field("status", Field::choice(["on", "off"]).default("on"))
            .field("plan", Field::choice([("s", "Small"), ("l", "Large")]).default("l"))
            .field("old", Field::choice([("s", "Small"), ("l", "Large")]).enum_names());
        ctx.ask("all", form).map(|asked| format!("{asked:?}"))
    });
    let newer = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "minLength": 1, "maxLength": 50, "default": "John"},
            "mail": {"type": "string", "format": "email", "description": "Where to"},
            "home": {"type": "string", "format": "uri"},
            "born": {"type": "string", "format": "date"},
            "due": {"type": "string", "format": "date-time"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 30},
            "score": {"type": "number", "minimum": 0.5, "maximum": 99.5, "default": 95.5},
            "verified": {"type": "boolean", "default": true},
            "status": {"type": "string", "enum": ["on", "off"], "default": "on"},
            "plan": {
                "type": "string",
                "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
                "default": "l",
            },
            "old": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        },
        "required": ["name"],
    });
    assert_eq!(asked(&app, Revision::MODERN), newer);
    assert_eq!(asked(&app, Revision::V2025_11_25), newer);
    let mut older = newer;
    for property in older["properties"].as_object_mut().unwrap().values_mut() {
        let property = property.as_object_mut().unwrap();
        if property["type"] != "boolean" {
            property.remove("default");
        }
        if property.remove("oneOf").is_some() {
            property.insert("enum".into(), json!(["s", "l"]));
            property.insert("enumNames".into(), json!(["Small", "Large"]));
        }
    }
    assert_eq!(asked(&app, Revision::V2025_06_18), older);
}

#[test]
fn several_choices_are_asked_from_2025_11_25_on_elic_4() {
    let app = app(|ctx: Ctx| {
        let form = elicit("Which?")
            .field("plain", Field::choices(["a", "b"]).min_items(1).max_items(2).default(["a"]).required())
            .field("titled", Field::choices([("a", "A"), ("b", "B")]));
        Ok::<_, CallError>(match ctx.ask("which", form)? {
            Asked::Accepted(values) => values.choices("plain").collect::<Vec<_>>().join("+"),
            other => format!("{other:?}"),
        })
    });
    for revision in [Revision::V2025_11_25, Revision::MODERN] {
        assert_eq!(
            asked(&app, revision),
            json!({
                "type": "object",
                "properties": {
                    "plain": {
                        "type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2,
                        "default": ["a"],
                    },
                    "titled": {
                        "type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
                    },
                },
                "required": ["plain"],
            })
        );
    }
    block_on(async {
        let answer = |_: &str, _: &_| json!({"action": "accept", "content": {"plain": ["b", "a"]}});
        able(&app, Revision::MODERN).on_request(answer).connect().call("ask", ()).await.assert_text("b+a");
        // One of 2025-06-18 has no lists, so it cannot be asked that.
        let answer = able(&app, Revision::V2025_06_18).on_request(answer).connect().call("ask", ()).await;
        answer.assert_text("Unsupported(Lacking(None))");
    });
}

#[test]
fn values_come_typed_and_only_those_that_were_asked_for_elic_5_elic_6() {
    let app = app(|ctx: Ctx| {
        let form = elicit("?")
            .field("t", Field::text().email())
            .field("n", Field::number())
            .field("i", Field::integer())
            .field("b", Field::boolean())
            .field("c", Field::choice([("s", "Small")]));
        Ok::<_, CallError>(match ctx.ask("k", form)? {
            Asked::Accepted(v) => {
                format!(
                    "{:?} {:?} {:?} {:?} {:?} {}",
                    v.text("t"),
                    v.number("n"),
                    v.integer("i"),
                    v.boolean("b"),
                    v.text("c"),
                    v.json().len()
                )
            }
            Asked::Failed { message, .. } => message,
            other => format!("{other:?}"),
        })
    });
    let fill = |content: Value| {
        block_on(async {
            let answer = move |_: &str, _: &_| json!({"action": "accept", "content": content.clone()});
            let mut client = able(&app, Revision::MODERN).on_request(answer).connect();
            client.call("ask", ()).await.text()
        })
    };
    let all = json!({"t": "a@b", "n": 1.5, "i": 5.0, "b": false, "c": "s", "more": {"x": 1}});
    assert_eq!(fill(all), r#"Some("a@b") Some(1.5) Some(5) Some(false) Some("s") 5"#);
    assert_eq!(fill(json!({})), "None None None None None 0");
    for (wrong, said) in [
        (json!({"t": "ab"}), "`t`: must be an e-mail address"),
        (json!({"i": 1.5}), "`i`"),
        (json!({"b": "true"}), "`b`"),
        (json!({"c": "Small"}), "`c`"),
        (json!({"n": "1", "i": true}), "`i`"),
    ] {
        assert!(fill(wrong.clone()).contains(said), "{wrong}: {}", fill(wrong.clone()));
    }
}

#[derive(Debug, Deserialize, schemars::JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Size {
    Small,
    Large,
}

#[derive(Debug, Deserialize, schemars::JsonSchema, PartialEq)]
enum Colour {
    /// Like a rose
    Red,
    Green,
}

#[derive(Arguments, Debug, PartialEq)]
struct Order {
    /// How many?
    #[arg(min = 1, max = 10)]
    pieces: u32,
    #[arg(min_length = 2)]
    street: String,
    express: Option<bool>,
    size: Size,
    colour: Colour,
    extras: Vec<Size>,
    weight: Option<f64>,
}

#[test]
fn a_struct_is_a_form_elic_4() {
    let schema = elicit_as::<Order>("?").schema().unwrap();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "pieces": {"type": "integer", "description": "How many?", "minimum": 1, "maximum": 10},
                "street": {"type": "string", "minLength": 2},
                "express": {"type": "boolean"},
                "size": {"type": "string", "enum": ["small", "large"]},
                "colour": {"type": "string", "oneOf": schema["properties"]["colour"]["oneOf"].clone()},
                "extras": {"type": "array", "items": {"type": "string", "enum": ["small", "large"]}},
                "weight": {"type": "number"},
            },
            "required": ["pieces", "street", "size", "colour", "extras"],
        })
    );
    let colours = schema["properties"]["colour"]["oneOf"].as_array().unwrap();
    assert!(colours.contains(&json!({"const": "Red", "title": "Like a rose"})), "{colours:?}");
    assert!(colours.contains(&json!({"const": "Green", "title": "Green"})), "{colours:?}");
}

#[test]
fn a_struct_is_the_answer_and_keeps_its_rules_elic_6() {
    let app = app(|ctx: Ctx| {
        Ok::<_, CallError>(match ctx.ask("order", elicit_as::<Order>("What may it be?"))? {
            Asked::Accepted(order) => format!("{order:?}"),
            Asked::Failed { message, .. } => message,
            other => format!("{other:?}"),
        })
    });
    let fill = |content: Value| {
        block_on(async {
            let answer = move |_: &str, _: &_| json!({"action": "accept", "content": content.clone()});
            let mut client = able(&app, Revision::MODERN).on_request(answer).connect();
            client.call("ask", ()).await.text()
        })
    };
    let good = json!({"pieces": 2, "street": "Main", "size": "small", "colour": "Red", "extras": ["large"]});
    assert_eq!(
        fill(good.clone()),
        r#"Order { pieces: 2, street: "Main", express: None, size: Small, colour: Red, extras: [Large], weight: None }"#
    );
    for (key, wrong) in
        [("pieces", json!(11)), ("street", json!("x")), ("size", json!("huge")), ("extras", json!("large"))]
    {
        let mut content = good.clone();
        content[key] = wrong;
        assert!(fill(content).contains(key), "{key}");
    }
}

#[test]
fn what_a_form_cannot_ask_for_is_told_with_its_field_elic_4() {
    #[derive(Arguments)]
    #[allow(dead_code)]
    struct Nested {
        order: Order,
        notes: Vec<String>,
        anything: Value,
    }
    #[derive(Arguments)]
    #[allow(dead_code)]
    struct Odd {
        #[arg(description = "fine")]
        name: String,
    }
    let faults = elicit_as::<Nested>("?").schema().unwrap_err();
    for said in ["`order`: ELIC-4", "`notes`: ELIC-4", "`anything`: ELIC-4"] {
        assert!(faults.contains(said), "{faults}");
    }
    assert!(elicit_as::<Odd>("?").schema().is_ok());
    for (form, said) in [
        (elicit("?").field("a", Field::integer().min(3).max(2)), "`a`"),
        (elicit("?").field("a", Field::integer().max(2).default(3)), "default"),
        (elicit("?").field("a", Field::choice(["x"]).default("y")), "default"),
        (elicit("?").field("a", Field::choice(Vec::<String>::new())), "nothing to choose"),
        (elicit("?").field("a", Field::choices(["x", "x"])), "twice"),
        (elicit("?").field("a", Field::text()).field("a", Field::text()), "two fields"),
    ] {
        let faults = form.schema().expect_err(said);
        assert!(faults.contains(said), "{said}: {faults}");
    }
}

#[test]
fn a_form_never_asks_for_secrets_elic_1() {
    #[derive(Arguments)]
    #[allow(dead_code)]
    struct Login {
        user: String,
        #[arg(description = "Yours")]
        password: String,
    }
    let derived = elicit_as::<Login>("?").schema().unwrap_err();
    assert!(derived.contains("`password`: ELIC-1") && derived.contains("elicit_url"), "{derived}");
    for name in ["password", "API_KEY", "access-token", "creditCard", "cvv"] {
        let faults = elicit("?").field(name, Field::text()).schema().unwrap_err();
        assert!(faults.contains("ELIC-1"), "{faults}");
    }
    assert!(elicit("?").field("token_count", Field::integer()).schema().is_ok());
    let app = app(|ctx: Ctx| ctx.ask("login", elicit_as::<Login>("Sign in")).map(drop));
    block_on(async {
        let never = |_: &str, _: &_| -> Value { panic!("it must not be asked") };
        let mut client = Client::builder(&app).can(Ability::ElicitationForm).on_request(never).connect();
        client.call("ask", ()).await.assert_error_contains("internal error");
    });
}

#[test]
fn a_form_is_what_it_says() {
    fn is_ask<T: Ask>() {}
    is_ask::<FormOf<Order>>();
    assert!(format!("{:?}", elicit_as::<Order>("?")).contains("Order"));
    assert_eq!(elicit("Sure?").schema().unwrap(), json!({"type": "object", "properties": {}}));
}
