use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::{Map, json};

use super::*;
use crate::schema::{CHECK, COERCE, NULLABLE};

#[cfg(feature = "validate")]
mod differential;

fn rules(schema: &Value) -> Rules {
    Rules::compile(schema, &[], Options::default()).expect("the schema can be enforced")
}

fn judge(schema: &Value, sent: &Value) -> Judged {
    rules(schema).judge(sent.to_string().as_bytes())
}

/// Each violation as it is told.
fn told(judged: Judged) -> Vec<String> {
    match judged {
        Judged::Broken(found) => report("tool", "t", &found).lines().skip(1).map(|line| line[2..].to_owned()).collect(),
        fits => panic!("it fits: {fits:?}"),
    }
}

fn order() -> Value {
    json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": 255},
            "note": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$"},
            "price": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            "lines": {"type": "array", "maxItems": 3, "items": {
                "type": "object",
                "properties": {"item": {"type": "string", "minLength": 1}, "rush": {"type": "boolean"}},
                "required": ["item"],
                "additionalProperties": false,
            }},
            "size": {"type": "string", "enum": ["small", "large"]},
            "extra": {},
        },
        "required": ["count", "lines"],
        "additionalProperties": false,
    })
}

#[test]
fn what_fits_is_told_by_one_pass_over_the_text() {
    let rules = rules(&order());
    for sent in [
        r#"{"count": 1, "lines": []}"#,
        r#"{"lines": [{"item": "\u0061", "rush": true}, {"item": "日本語"}], "count": 255, "note": "abcde", "price": 2.5}"#,
        r#"{"count": 7, "lines": [], "size": "large", "extra": {"any": [null, {"a": 1, "b": -1.5}], "other": "x"}}"#,
    ] {
        assert!(stream::fits(&rules.tree, sent.as_bytes()), "{sent}");
        assert_eq!(rules.judge(sent.as_bytes()), Judged::AsSent);
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_its_path_tool_9() {
    let sent = json!({
        "count": 0, "note": "TOO LONG", "price": 0.75, "size": "huge", "prise": 1, "sise": null,
        "lines": [{"item": ""}, {"rush": 1, "item": "a"}, "b", {"items": "c"}],
    });
    assert_eq!(
        told(judge(&order(), &sent)),
        [
            "`count`: must be at least 1, is 0",
            "`note`: must have at most 5 characters, has 8",
            "`note`: must match the pattern `^[a-z]*$`, is \"TOO LONG\"",
            "`price`: must be a multiple of 0.5, is 0.75",
            "`lines[0].item`: must have at least 1 character, has 0",
            "`lines[1].rush`: expected a boolean, got an integer",
            "`lines[2]`: expected an object, got a string",
            "`lines[3].item`: is required, and missing",
            "`lines[3].items`: is not a known parameter (did you mean `item`?)",
            "`lines`: must have at most 3 items, has 4",
            "`size`: expected one of \"small\", \"large\", got \"huge\"",
            "`prise`: is not a known parameter (did you mean `price`?)",
            "`sise`: is not a known parameter (did you mean `size`?)",
        ]
    );
    let long = "a".repeat(10_000);
    assert_eq!(
        told(judge(&order(), &json!({"count": 1, "lines": [], "note": long}))),
        ["`note`: must have at most 5 characters, has 10000"]
    );
    assert_eq!(
        told(judge(&order(), &json!({"count": 1, "lines": [], "note": "A"}))),
        ["`note`: must match the pattern `^[a-z]*$`, is \"A\""]
    );
    assert_eq!(told(judge(&order(), &json!([1, []]))), ["expected an object, got an array"]);
}

#[test]
fn a_null_for_what_may_be_left_out_is_as_good_as_nothing() {
    let schema = json!({"type": "object", "properties": {
        "plain": {"type": "integer"},
        "nullable": {"type": "integer", NULLABLE: true},
        "either": {"type": ["integer", "null"]},
        "any": {},
        "again": {"$ref": "#", NULLABLE: true},
        "needed": {"type": ["string", "null"]},
    }, "required": ["needed"]});
    let all = json!({"plain": null, "nullable": null, "either": null, "any": null, "again": null, "needed": null});
    let left = json!({"nullable": null, "either": null, "any": null, "again": null, "needed": null});
    assert_eq!(judge(&schema, &all), Judged::Changed(left.clone()), "a type that reads no null does not see it");
    assert!(stream::fits(&rules(&schema).tree, left.to_string().as_bytes()), "the others cost nothing");
    let required = json!({"type": "object", "properties": {"needed": {"type": "string"}}, "required": ["needed"]});
    assert_eq!(told(judge(&required, &json!({"needed": null}))), ["`needed`: expected a string, got null"]);
}

#[test]
fn an_integer_may_be_written_with_a_fraction_of_zero() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "list": {"type": "array", "items": {"type": ["integer", "string"]}},
        "free": {"type": "number"}, "either": {"anyOf": [{"type": "array"}, {"type": "integer"}]},
        "level": {"enum": [1, 2]},
    }});
    let sent = json!({"n": 5.0, "list": [1.0, "1.0"], "free": 5.0, "either": -2.0, "level": 2.0});
    let read = json!({"n": 5, "list": [1, "1.0"], "free": 5.0, "either": -2, "level": 2});
    assert_eq!(judge(&schema, &sent), Judged::Changed(read));
    for (sent, read) in [
        ("-9007199254740991.0", json!(-9_007_199_254_740_991_i64)),
        ("9e15", json!(9_000_000_000_000_000_u64)),
        ("-0.0", json!(0)),
    ] {
        let judged = rules(&schema).judge(format!("{{\"n\": {sent}}}").as_bytes());
        assert_eq!(judged, Judged::Changed(json!({"n": read})), "{sent}");
    }
    // A float next to what was written is not that: the type that reads it says what it takes.
    for sent in ["9007199254740993.0", "-9223372036854775809", "1e20"] {
        assert_eq!(rules(&schema).judge(format!("{{\"n\": {sent}}}").as_bytes()), Judged::AsSent, "{sent}");
    }
    assert_eq!(told(judge(&schema, &json!({"n": 5.5}))), ["`n`: expected an integer, got a number"]);
}

#[test]
fn a_number_is_the_float_next_to_what_is_written_whatever_the_features() {
    // Read in haste, each is the float next to it; and jsonschema has serde_json take its time wherever it is compiled in.
    for number in ["39.768609969587324", "95.57945128454945", "15.894944750891387"] {
        let value: f64 = number.parse().expect("a number");
        let judged = rules(&json!({"minimum": value, "maximum": value})).judge(number.as_bytes());
        assert_eq!(judged, Judged::AsSent, "{number}");
    }
}

#[test]
fn no_object_may_name_a_member_twice() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}, "any": {}}});
    let rules = rules(&schema);
    let many: String = (0..40).map(|n| format!("\"m{n}\": 1, ")).collect();
    for (sent, paths) in [
        (r#"{"n": 9, "n": 1}"#.into(), vec!["n"]),
        (r#"{"n": 1, "\u006e": 1}"#.into(), vec!["n"]),
        (r#"{"other": 1, "other": 2}"#.into(), vec!["other"]),
        (r#"{"any": [{"a": {"b": 1, "c": 1, "b": 2}}], "n": 1, "n": 2}"#.into(), vec!["any[0].a.b", "n"]),
        (format!("{{{many} \"m7\": 2}}"), vec!["m7"]),
    ] {
        let found = told(rules.judge(sent.as_bytes()));
        let expected: Vec<String> = paths.iter().map(|path| format!("`{path}`: is given twice")).collect();
        assert_eq!(found, expected, "{sent}");
    }
    assert_eq!(rules.judge(format!("{{{many} \"n\": 2}}").as_bytes()), Judged::AsSent);
    assert_eq!(rules.judge(br#"{"any": [{"a": 1}, {"a": 1}], "other": {"n": 1}}"#), Judged::AsSent);
}

#[test]
fn no_member_may_be_named_so_that_a_reader_takes_its_text_for_the_value() {
    // serde_json reads what stands in such a text, to any depth, wherever a `Value` is asked for.
    let hidden = |text: &str| format!("{{\"$serde_json::private::RawValue\": {}}}", json!(text));
    let path = |at: &str| format!("`{at}$serde_json::private::RawValue`: is not a name that an argument can have");
    let text = json!({"type": "object", "properties": {"t": {"type": "string"}, "any": {}}});
    for options in [Options::default(), Options { whole: true, ..Options::default() }] {
        let rules = Rules::compile(&text, &[], options).expect("it can");
        for (sent, at) in [
            (format!("{{\"t\": {}}}", hidden("\"x\"")), "t."),
            (format!("{{\"any\": [{}]}}", hidden("[]")), "any[0]."),
            (format!("{{\"any\": {}}}", hidden("[]").replace('$', "\\u0024")), "any."),
            (format!("{{\"other\": {}}}", hidden("1")), "other."),
            (hidden("{}"), ""),
        ] {
            assert_eq!(told(rules.judge(sent.as_bytes())), [path(at)], "{sent}");
        }
    }
    // Each text within a text would be as deep again as JSON may be.
    let deep = (0..12).fold("1".to_owned(), |text, _| "[".repeat(100) + &hidden(&text) + &"]".repeat(100));
    let rules = rules(&json!({"type": "object"}));
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let judged = thread.spawn(move || rules.judge(format!("{{\"any\": {deep}}}").as_bytes())).expect("a thread").join();
    assert_eq!(told(judged.expect("it has room")).len(), 1);
}

#[test]
fn what_was_meant_is_told_of_a_few_names() {
    let names =
        |end: &'static str| (0..60).map(move |index| (format!("{index:02}{}{end}", "name".repeat(15)), json!(1)));
    let schema = json!({
        "type": "object",
        "properties": names("").map(|(name, _)| (name, json!({}))).collect::<Map<_, _>>(),
        "additionalProperties": false,
    });
    let many = told(judge(&schema, &Value::Object(names("s").collect())));
    let guessed = many.iter().filter(|told| told.contains("did you mean")).count();
    assert!((1..LISTED).contains(&guessed), "comparing all with all would take seconds: {guessed}");
    assert!(many[0].contains("did you mean `00name"), "{}", many[0]);
}

#[test]
fn what_cannot_be_read_is_told_with_its_path() {
    let judged = rules(&order()).judge(br#"{"count": 1, "lines": [], "extra": {"a": [1, 1e400]}}"#);
    assert_eq!(told(judged), ["`extra.a[1]`: number out of range"]);
}

#[test]
fn a_long_path_is_told_by_its_end() {
    let schema = json!({"additionalProperties": {"$ref": "#"}, "type": "object"});
    let mut value = json!(1);
    for _ in 0..100 {
        value = json!({"a name that is not short": value});
    }
    let found = told(judge(&schema, &value));
    assert!(found[0].starts_with("`..") && found[0].ends_with("not short`: expected an object, got an integer"));
    assert!(found[0].len() < 1100, "{}", found[0].len());
}

#[test]
fn a_tagged_form_is_told_by_its_tag() {
    let form = |tag: &str, rest: Value| json!({"type": "object", "required": ["by"], "properties": {"by": {"const": tag}, "rest": rest}});
    let schema = json!({"oneOf": [form("card", json!({"type": "string"})), form("cash", json!({"type": "integer"}))]});
    assert_eq!(judge(&schema, &json!({"by": "cash", "rest": 1})), Judged::AsSent);
    assert_eq!(
        told(judge(&schema, &json!({"by": "cash", "rest": "x"}))),
        ["`rest`: expected an integer, got a string"]
    );
    assert_eq!(told(judge(&schema, &json!({"by": "x"}))), ["`by`: expected one of \"card\", \"cash\", got \"x\""]);
    assert_eq!(told(judge(&schema, &json!({}))), ["`by`: is required, and missing"]);
    assert_eq!(told(judge(&schema, &json!(1))), ["expected an object, got an integer (or another of its 2 forms)"]);
}

#[test]
fn exactly_one_form_must_fit_where_that_is_said() {
    let schema = json!({"oneOf": [{"minimum": 1}, {"multipleOf": 2}]});
    assert_eq!(judge(&schema, &json!(3)), Judged::AsSent);
    assert_eq!(told(judge(&schema, &json!(4))), ["fits more than one of its forms, and must fit exactly one"]);
    assert_eq!(told(judge(&schema, &json!(-1))).len(), 1);
}

#[test]
fn constants_with_descriptions_are_one_list_of_values() {
    let schema = json!({"type": "object", "properties": {"size": {"oneOf": [
        {"type": "string", "enum": ["s", "m"]}, {"const": "l", "description": "Large", "type": "string"},
    ]}}});
    assert!(stream::fits(&rules(&schema).tree, br#"{"size": "l"}"#));
    let said = "`size`: expected one of \"s\", \"m\", \"l\", got \"x\"";
    assert_eq!(told(judge(&schema, &json!({"size": "x"}))), [said]);
}

#[test]
fn a_pattern_is_enforced_in_a_text_of_any_length() {
    let schema = json!({"type": "object", "properties": {"t": {"type": "string", "pattern": "^[ab]*$"}}});
    for length in [1, SHORT, SHORT + 1] {
        assert_eq!(judge(&schema, &json!({"t": "a".repeat(length)})), Judged::AsSent);
        let said = told(judge(&schema, &json!({"t": "a".repeat(length - 1) + "c"})));
        assert!(said[0].starts_with("`t`: must match the pattern `^[ab]*$`, is \""), "{said:?}");
    }
}

/// Bytes of a text in which one pass over the arguments looks for a pattern.
const SHORT: usize = 1 << 16;

#[test]
fn lengths_are_counted_in_characters() {
    let schema = json!({"type": "object", "properties": {"t": {"type": "string", "minLength": 2, "maxLength": 3}}});
    for (text, fits) in [("é", false), ("ü😀", true), ("日本語", true), ("abcd", false), ("日本語日", false)]
    {
        let sent = json!({"t": text});
        assert_eq!(judge(&schema, &sent) == Judged::AsSent, fits, "{text}");
        assert_eq!(stream::fits(&rules(&schema).tree, sent.to_string().as_bytes()), fits, "{text}");
    }
}

#[test]
fn texts_are_taken_for_what_is_asked_for_where_that_is_wanted() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer", "minimum": 18},
        "f": {"type": "number"},
        "b": {"type": "boolean"},
        "t": {"type": "string"},
        "either": {"type": ["integer", "string"]},
        "deep": {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}}},
        "form": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
        "text": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    }});
    let rules = Rules::compile(&schema, &[], Options { coerce: true, ..Options::default() }).expect("it can");
    let settled = |sent: Value| rules.judge(sent.to_string().as_bytes());
    for (sent, read) in [
        (json!({"n": "25"}), json!({"n": 25})),
        (json!({"n": "25.0"}), json!({"n": 25})),
        (json!({"f": "85.5"}), json!({"f": 85.5})),
        (json!({"f": "-1e3"}), json!({"f": -1000.0})),
        (json!({"b": "true"}), json!({"b": true})),
        (json!({"b": "FALSE"}), json!({"b": false})),
        (json!({"b": "1"}), json!({"b": true})),
        (json!({"b": 0}), json!({"b": false})),
        (json!({"deep": {"list": ["1", 2, "3"]}}), json!({"deep": {"list": [1, 2, 3]}})),
        (json!({"form": "7"}), json!({"form": 7})),
        (json!({"form": "true"}), json!({"form": true})),
    ] {
        assert_eq!(settled(sent.clone()), Judged::Changed(read), "{sent}");
    }
    for sent in [json!({"t": "25"}), json!({"either": "25"}), json!({"text": "25"}), json!({"n": 25, "b": true})] {
        assert_eq!(settled(sent.clone()), Judged::AsSent, "{sent}: it fits as it is");
    }
    assert_eq!(told(settled(json!({"n": "5"}))), ["`n`: must be at least 18, is 5"]);
    for sent in ["", " 25", "+25", "0x19", "25.5", "99999999999999999999", "inf", "1_000", "٢٥"] {
        assert_eq!(told(settled(json!({"n": sent}))), ["`n`: expected an integer, got a string"], "{sent}");
    }
    for sent in [json!("inf"), json!("NaN"), json!("1e400"), json!(true)] {
        assert_eq!(told(settled(json!({"f": sent}))).len(), 1, "{sent}");
    }
    for sent in [json!("yes"), json!(2), json!(1.5), json!([])] {
        assert_eq!(told(settled(json!({"b": sent}))).len(), 1, "{sent}");
    }
    assert_eq!(told(settled(json!({"t": 25}))), ["`t`: expected a string, got an integer"]);
    assert_eq!(told(judge(&schema, &json!({"n": "25"}))), ["`n`: expected an integer, got a string"], "off by default");
}

#[test]
fn the_nearest_word_on_coercion_wins() {
    let schema = json!({"type": "object", "properties": {
        "never": {"type": "object", COERCE: false, "properties": {
            "n": {"type": "integer"}, "but": {"type": "integer", COERCE: true},
        }},
        "always": {"type": "object", COERCE: true, "properties": {
            "n": {"type": "integer"}, "but": {"type": "integer", COERCE: false},
        }},
        "as_said": {"type": "integer"},
    }});
    let sent = json!({"never": {"n": "1", "but": "1"}, "always": {"n": "1", "but": "1"}, "as_said": "1"}).to_string();
    let got = |path: &str| format!("`{path}`: expected an integer, got a string");
    let on = Rules::compile(&schema, &[], Options { coerce: true, ..Options::default() }).expect("it can");
    assert_eq!(told(on.judge(sent.as_bytes())), [got("never.n"), got("always.but")]);
    assert_eq!(told(rules(&schema).judge(sent.as_bytes())), [got("never.n"), got("always.but"), got("as_said")]);
}

#[test]
fn what_is_absent_gets_its_default_where_no_type_has_one() {
    let schema = json!({"type": "object", "properties": {
        "limit": {"type": "integer", "default": 10},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean", "default": true}}},
        "whole": {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 1}}},
        "bare": {"type": "string"},
    }});
    let options = Options { defaults: true, ..Options::default() };
    let rules = Rules::compile(&schema, &[], options).expect("it can");
    let judge = |sent: Value| rules.judge(sent.to_string().as_bytes());
    assert_eq!(judge(json!({})), Judged::Changed(json!({"limit": 10, "whole": {"n": 1}})));
    assert_eq!(
        judge(json!({"limit": null, "deep": {}, "whole": {"n": 2}})),
        Judged::Changed(json!({"limit": 10, "deep": {"on": true}, "whole": {"n": 2}}))
    );
    assert_eq!(judge(json!({"limit": 5, "whole": {"n": 2}})), Judged::AsSent);
    assert_eq!(super::Rules::compile(&schema, &[], Options::default()).expect("it can").judge(b"{}"), Judged::AsSent);
}

#[test]
fn what_was_sent_is_judged_without_the_defaults_and_checked_with_them() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let check: Check = Arc::new(move |value| {
        count.fetch_add(1, Relaxed);
        if value["a"] == 1 || value["b"] == 2 { Ok(()) } else { Err(format!("sees {value}")) }
    });
    let schema = json!({"type": "object", "properties": {
        "most": {"type": "object", "maxProperties": 1, "properties": {"a": {"default": 1}, "b": {}}, CHECK: 0},
        "least": {"type": "object", "minProperties": 1, "properties": {"a": {"default": 1}}},
        "list": {"type": "array", "uniqueItems": true, "items": {"properties": {"a": {"default": 1}}}},
        "n": {"type": "integer"},
    }});
    let rules = Rules::compile(&schema, &[check], Options { defaults: true, ..Options::default() }).expect("it can");
    let judge = |sent: Value| {
        asked.store(0, Relaxed);
        (rules.judge(sent.to_string().as_bytes()), asked.load(Relaxed))
    };
    for (sent, read, times) in [
        (json!({"most": {"b": 3}}), json!({"most": {"b": 3, "a": 1}}), 1),
        (json!({"list": [{}, {"a": 1}]}), json!({"list": [{"a": 1}, {"a": 1}]}), 0),
    ] {
        assert_eq!(judge(sent.clone()), (Judged::Changed(read), times), "{sent}");
    }
    for (sent, faults, times) in [
        (json!({"least": {}}), vec!["`least`: must have at least 1 member, has 0"], 0),
        (json!({"most": {"a": 2}}), vec!["`most`: sees {\"a\":2}"], 1),
        (
            json!({"most": {"a": 2}, "least": {"a": 2}, "n": "x"}),
            vec!["`n`: expected an integer, got a string", "`most`: sees {\"a\":2}"],
            1,
        ),
        (json!({"most": {"a": 2, "b": 1}}), vec!["`most`: must have at most 1 member, has 2"], 0),
    ] {
        let (judged, asked) = judge(sent.clone());
        assert_eq!((told(judged), asked), (faults.iter().map(ToString::to_string).collect(), times), "{sent}");
    }
}

#[test]
fn a_check_is_asked_of_what_keeps_all_other_rules() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let even: Check = Arc::new(move |value| {
        count.fetch_add(1, Relaxed);
        let number = value.as_i64().expect("the type is right");
        assert!(number != 4, "a bug");
        if number % 2 == 0 { Ok(()) } else { Err("must be even".into()) }
    });
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer", "maximum": 10, NULLABLE: true, CHECK: 0},
        "list": {"type": "array", "items": {"type": ["integer", "null"], CHECK: 0}},
    }});
    let rules = Rules::compile(&schema, &[even], Options::default()).expect("it can");
    let judge = |sent: Value| {
        asked.store(0, Relaxed);
        (rules.judge(sent.to_string().as_bytes()), asked.load(Relaxed))
    };
    assert_eq!(judge(json!({"n": 2})), (Judged::AsSent, 1));
    for sent in [json!({}), json!({"n": null}), json!({"list": [null]})] {
        assert_eq!(judge(sent.clone()), (Judged::AsSent, 0), "{sent}");
    }
    for (sent, times) in [(json!({"n": "2"}), 0), (json!({"n": 12}), 0), (json!({"n": 3}), 1)] {
        let (judged, asked) = judge(sent.clone());
        assert_eq!((told(judged).len(), asked), (1, times), "{sent}");
    }
    assert_eq!(told(judge(json!({"list": [2, 3]})).0), ["`list[1]`: must be even"]);
    assert_eq!(told(judge(json!({"n": 4})).0), ["`n`: could not be checked: its check failed"]);
}

#[test]
fn a_schema_that_cannot_be_kept_is_refused_with_place_and_remedy_tool_4() {
    let property = |schema: Value| json!({"type": "object", "properties": {"p": schema}});
    for (schema, said) in [
        (
            property(json!({"type": "integer", "minLength": 1})),
            "`p`: `minLength` is a rule for strings, and this can only be an integer: ",
        ),
        (
            property(json!({"type": "string", "minimum": 1})),
            "`p`: `minimum` is a rule for numbers, and this can only be a string: ",
        ),
        (property(json!({"enum": ["a"], "maximum": 1})), "`p`: `maximum` is a rule for numbers"),
        (
            property(json!({"$ref": "#/$defs/d", "maximum": 1})),
            "`p`: refers to `#/$defs/d`, which is not in the schema",
        ),
        (property(json!({"type": "array", "pattern": "a"})), "`p`: `pattern` is a rule for strings"),
        (
            property(json!({"type": "array", "items": {"type": "null", "required": ["a"]}})),
            "`p[]`: `required` is a rule for objects",
        ),
        (property(json!({"type": "string", "pattern": "(?=a)"})), "`p`: the pattern `(?=a)` cannot be enforced ("),
        (
            property(json!({"type": "string", "pattern": "(a{1000}){1000}"})),
            "`p`: the pattern `(a{1000}){1000}` cannot be enforced (",
        ),
        (property(json!({"minLength": -1})), "`p`: `minLength` must be a whole number from 0, and is -1"),
        (
            property(json!({"minLength": 3, "maxLength": 2})),
            "`p`: `minLength` is more than `maxLength`, so that nothing fits",
        ),
        (
            property(json!({"minimum": 3, "exclusiveMaximum": 3})),
            "`p`: its smallest number is above its largest, so that nothing fits",
        ),
        (property(json!({"multipleOf": 0})), "`p`: `multipleOf` must be a number above 0, and is 0"),
        (property(json!({"type": "strin"})), "`p`: `type` is \"strin\", which names no type of JSON"),
        (
            property(json!({"type": "string", "enum": [1]})),
            "`p`: its rules contradict one another, so that nothing fits",
        ),
        (property(json!({"enum": []})), "`p`: `enum` must be a list with at least one value"),
        (
            property(json!({"maxLenght": 1})),
            "`p`: `maxLenght` is not a keyword of JSON Schema: did you mean `maxLength`?",
        ),
        (property(json!({"colour": 1})), "`p`: `colour` is not a keyword of JSON Schema: leave it out, or begin"),
        (
            property(json!({"unevaluatedItems": false})),
            "`p`: `unevaluatedItems` is published and cannot be enforced for a type: ",
        ),
        (
            property(json!({"properties": {"q": {"uniqueItems": 1}}})),
            "`p.q`: `uniqueItems` must be true or false, and is 1",
        ),
        (
            property(json!({"type": "integer", "default": "x"})),
            "`p`: its default \"x\" does not fit: expected an integer, got a string",
        ),
        (
            property(json!({"properties": {"n": {"maximum": 1}}, "default": {"n": 2}})),
            "`p`: its default {\"n\":2} does not fit: `n` must be at most 1, is 2",
        ),
        (property(json!({CHECK: 3})), "`p`: its custom check is not there"),
        (property(json!([])), "`p`: a schema must be an object or a boolean"),
        (
            json!({"required": ["a"], "additionalProperties": false}),
            "the arguments: requires `a`, which it does not let in",
        ),
        (json!({"$ref": "#"}), "the arguments: a definition is nothing but a reference to itself"),
        (
            json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
            "the arguments: a definition asks itself for the same value, without end",
        ),
    ] {
        let faults = Rules::compile(&schema, &[], Options::default()).expect_err("it cannot be kept");
        assert_eq!(faults.len(), 1, "{faults:#?}");
        assert!(faults[0].starts_with(said), "{schema}: {}", faults[0]);
    }
}

#[test]
fn what_says_nothing_of_a_value_is_no_fault_schema_8() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:x", "$comment": "c", "title": "t", "x-own": 1,
        "description": "d", "examples": [1], "deprecated": true, "readOnly": true, "writeOnly": true, "format": "foo",
        "contentEncoding": "base64", "contentMediaType": "image/png", "definitions": {}, "$defs": {"unused": true},
    });
    assert_eq!(judge(&schema, &json!({"any": 1})), Judged::AsSent);
    assert!(stream::fits(&rules(&schema).tree, b"{}"));
}

#[test]
fn references_may_be_escaped_and_lead_back() {
    let schema = json!({
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/a~1b%20c"}},
        "$defs": {"a/b c": {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/a~1b%20c"}}}},
    });
    assert!(stream::fits(&rules(&schema).tree, br#"{"next": {"n": 1, "next": {"n": 2, "next": {}}}}"#));
    let found = told(judge(&schema, &json!({"next": {"next": {"next": {"n": "x"}}}})));
    assert_eq!(found, ["`next.next.next.n`: expected an integer, got a string"]);
}

#[test]
fn large_arguments_are_judged_whatever_their_size() {
    let schema = json!({"type": "object", "properties": {
        "set": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}},
        "map": {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
    }});
    let set: Vec<u32> = (0..300_000).collect();
    assert_eq!(judge(&schema, &json!({"set": set})), Judged::AsSent);
    let twice: Vec<u32> = (0..100_000).chain([7]).collect();
    let said = "`set`: must not hold the same item twice: [7] and [100000] are the same";
    assert_eq!(told(judge(&schema, &json!({"set": twice}))), [said]);
    let map: Value = (0..100_000).map(|n| (n.to_string(), json!(n))).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(judge(&schema, &json!({"map": map})), Judged::AsSent);
    let wrong: Vec<&str> = vec!["x"; 100_000];
    let found = told(judge(&schema, &json!({"set": wrong})));
    assert_eq!((found.len(), &*found[32]), (33, "and at least 168 more"));
}

/// Three ways to read each of many levels: without a bound, each level would be looked at three times as often as the last.
fn branching() -> Value {
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/Nested"}});
    let form =
        |more: &str| json!({"type": "object", "properties": {"a": list, more: {"type": "boolean"}}, "required": ["a"]});
    json!({
        "$ref": "#/$defs/Nested",
        "$defs": {"Nested": {"anyOf": [{"type": "boolean"}, form("b"), form("c"), form("d")]}},
    })
}

fn nested(mut value: Value, levels: usize) -> Value {
    for _ in 0..levels {
        value = json!({"a": [value]});
    }
    value
}

#[test]
fn alternatives_within_alternatives_are_judged_in_bounded_steps_schema_5() {
    // Each list and object is looked at once for each form, so what is wrong deep down is still found.
    let wrong = nested(json!(1), 60);
    let Judged::Broken(found) = judge(&branching(), &wrong) else { panic!("it is wrong") };
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "a[0].".repeat(59) + "a[0]");
    assert_eq!(found[0].fault, "expected a boolean, got an integer (or another of its 4 forms)");
    assert_eq!(judge(&branching(), &nested(json!(true), 60)), Judged::AsSent);
    // Where that does not help, there is a bound, and what could not be told is not let in: a copy is made for each text that
    // may be a number, at each level.
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/L"}});
    let number =
        |more: &str| json!({"type": "object", "properties": {"a": list, more: {"type": "integer"}}, "required": ["a"]});
    let schema = json!({
        "$ref": "#/$defs/L",
        "$defs": {"L": {"anyOf": [{"type": "integer"}, number("b"), number("c"), number("d")]}},
    });
    let coercing = Rules::compile(&schema, &[], Options { coerce: true, ..Options::default() }).expect("it can");
    let sent = nested(json!("7"), 3).to_string();
    assert_eq!(coercing.judge(sent.as_bytes()), Judged::Changed(nested(json!(7), 3)));
    let Judged::Broken(_) = coercing.judge(nested(json!("x"), 60).to_string().as_bytes()) else {
        panic!("it is wrong")
    };
    let opposite = json!({"not": {"$ref": "#/$defs/L"}, "$defs": schema["$defs"]});
    assert_eq!(judge(&opposite, &nested(json!("x"), 60)), Judged::AsSent);
    let few = Walk::new(&rules(&schema).tree, 10).violations(0, &nested(json!(1), 60));
    assert_eq!(few[0].fault, "is too large, or has too many alternatives within one another, to be checked");
    let few = Walk::new(&rules(&opposite).tree, 10).violations(0, &nested(json!("x"), 60));
    assert_eq!(few.len(), 1, "what is not known to be wrong is not known to be right");
}

#[test]
fn deep_arguments_leave_the_stack_of_a_thread_whole() {
    // As deep as the core lets pass, each level with several schemas, on a thread like those of most runtimes.
    let deep = nested(json!(true), 60).to_string();
    let straight = json!({"$ref": "#/$defs/L", "$defs": {"L": {"allOf": [{"anyOf": [{"allOf": [
        {"type": ["object", "array", "boolean"], "properties": {"a": {"$ref": "#/$defs/L"}}, "items": {"$ref": "#/$defs/L"}},
    ]}]}]}}});
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        for schema in [branching(), straight, json!({}), json!({"type": "object"})] {
            rules(&schema).judge(deep.as_bytes());
        }
    });
    thread.expect("a thread").join().expect("it has room");
}
