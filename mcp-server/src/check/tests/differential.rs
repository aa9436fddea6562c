//! The rules against the `jsonschema` crate, which shares nothing with them: on generated schemas, both let in the same
//! values. What is different is decided and stated: a null for a property that may be left out is as good as nothing, so no
//! generated object has one.

use proptest::collection::{btree_map, hash_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use super::super::node::same;
use super::super::{Judged, Options, Rules, stream};

const NAMES: [&str; 4] = ["a", "b", "c", "ab"];
const TEXTS: [&str; 10] = ["", "a", "ab", "abc", "b", "é", "日本", "1", "true", "2.0"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        4 => (-2_i64..7).prop_map(Value::from),
        2 => select(vec![json!(1.5), json!(2.0), json!(-0.5), json!(3.0), json!(0.25), json!(-0.0), json!(1e20)]),
        1 => select(vec![json!(u64::MAX), json!(i64::MIN), json!(9_007_199_254_740_993_i64)]),
        4 => select(TEXTS.as_slice()).prop_map(Value::from),
    ]
}

/// Any value, of which no object has a null member.
fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            2 => vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => btree_map(select(NAMES.as_slice()), inner.prop_filter("no null", |value| !value.is_null()), 0..4)
                .prop_map(object),
        ]
    })
}

fn object<'n>(members: impl IntoIterator<Item = (&'n str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Two bounds of which neither excludes the other, one of them, or none.
fn bounds(
    least: &'static str,
    most: &'static str,
    of: std::ops::Range<i64>,
) -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    (of.clone(), of, 0..4_u8).prop_map(move |(one, other, which)| {
        let low = (least, json!(one.min(other)));
        let high = (most, json!(one.max(other)));
        match which {
            0 => vec![low],
            1 => vec![high],
            2 => vec![low, high],
            _ => vec![],
        }
    })
}

fn typed(kind: &'static str, keywords: impl IntoIterator<Item = (&'static str, Value)>, says_so: bool) -> Value {
    let kind = says_so.then(|| ("type", Value::from(kind)));
    object(kind.into_iter().chain(keywords))
}

fn leaf() -> impl Strategy<Value = Value> {
    let text = (
        bounds("minLength", "maxLength", 0..4),
        proptest::option::of(select(vec!["^a", "b$", "^[a-c]*$", "."])),
        any::<bool>(),
    )
        .prop_map(|(bounds, pattern, says_so)| {
            typed("string", bounds.into_iter().chain(pattern.map(|pattern| ("pattern", pattern.into()))), says_so)
        });
    let limits = (bounds("minimum", "maximum", -2..6), any::<[bool; 2]>()).prop_map(|(bounds, [low, high])| {
        let exclusive = |(key, bound): (&'static str, Value)| match key {
            "minimum" if low => ("exclusiveMinimum", json!(bound.as_i64().map(|bound| bound - 1))),
            "maximum" if high => ("exclusiveMaximum", json!(bound.as_i64().map(|bound| bound + 1))),
            _ => (key, bound),
        };
        bounds.into_iter().map(exclusive).collect::<Vec<_>>()
    });
    let multiple = proptest::option::weighted(0.2, select(vec![json!(2), json!(0.5), json!(3), json!(0.25)]));
    let number = (limits, multiple, any::<bool>(), select(vec!["integer", "number"])).prop_map(
        |(limits, multiple, says_so, kind)| {
            typed(kind, limits.into_iter().chain(multiple.map(|multiple| ("multipleOf", multiple))), says_so)
        },
    );
    let kinds = hash_set(select(vec!["null", "boolean", "integer", "number", "string", "array", "object"]), 1..4)
        .prop_map(|kinds| json!({"type": kinds.into_iter().collect::<Vec<_>>()}));
    prop_oneof![
        4 => text,
        4 => number,
        2 => kinds,
        2 => vec(scalar(), 1..4).prop_map(|values| json!({"enum": values})),
        1 => value().prop_map(|value| json!({"const": value})),
        1 => select(vec![json!(true), json!({}), json!(false), json!({"type": "boolean"})]),
        2 => select(vec![json!({"$ref": "#/$defs/one"}), json!({"$ref": "#/$defs/two", "description": "d"})]),
    ]
}

fn objects(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let properties = btree_map(select(NAMES.as_slice()), inner.clone(), 0..4);
    let names = proptest::option::weighted(
        0.15,
        inner.clone().prop_filter("for names", |schema| schema.get("type").is_none_or(|kind| kind == "string")),
    );
    let rest = (
        proptest::option::weighted(0.15, inner.clone()),
        names,
        bounds("minProperties", "maxProperties", 0..4),
        proptest::option::weighted(0.15, inner.clone()),
        any::<[bool; 3]>(),
    );
    (
        properties,
        hash_set(select(NAMES.as_slice()), 0..3),
        proptest::option::of(prop_oneof![Just(json!(false)), inner]),
        rest,
    )
        .prop_map(
            |(properties, required, others, (pattern, names, bounds, dependent, [says_so, bounded, needs]))| {
                let closed = others == Some(Value::Bool(false)) && pattern.is_none();
                // A closed object that requires what it does not know is refused.
                let required: Vec<&str> =
                    required.into_iter().filter(|name| !closed || properties.contains_key(name)).collect();
                let mut keywords = vec![("properties", object(properties)), ("required", required.into())];
                keywords.extend(others.map(|others| ("additionalProperties", others)));
                keywords.extend(pattern.map(|pattern| ("patternProperties", json!({"^a": pattern}))));
                keywords.extend(names.map(|names| ("propertyNames", names)));
                keywords.extend(bounds.into_iter().filter(|_| bounded));
                keywords.extend(dependent.map(|dependent| ("dependentSchemas", json!({"b": dependent}))));
                keywords.extend(needs.then(|| ("dependentRequired", json!({"a": ["c"]}))));
                typed("object", keywords, says_so)
            },
        )
}

fn arrays(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let contains = proptest::option::weighted(0.2, (inner.clone(), bounds("minContains", "maxContains", 0..3)));
    (
        proptest::option::of(inner.clone()),
        proptest::option::weighted(0.3, vec(inner, 1..3)),
        contains,
        bounds("minItems", "maxItems", 0..4),
        any::<[bool; 2]>(),
    )
        .prop_map(|(items, first, contains, bounds, [unique, says_so])| {
            let mut keywords = bounds;
            keywords.extend(items.map(|items| ("items", items)));
            keywords.extend(first.map(|first| ("prefixItems", first.into())));
            keywords.extend(unique.then(|| ("uniqueItems", json!(true))));
            if let Some((contains, bounds)) = contains {
                keywords.push(("contains", contains));
                keywords.extend(bounds);
            }
            typed("array", keywords, says_so)
        })
}

fn tagged(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let names = select(vec![["a", "b", "c"], ["a", "b", "b"], ["a", "a", "a"]]);
    (vec(inner, 2..4), select(vec!["anyOf", "oneOf"]), names).prop_map(|(members, key, names)| {
        let form = |(index, member): (usize, Value)| {
            json!({"type": "object", "properties": {"a": {"const": names[index]}, "b": member}, "required": ["a"]})
        };
        json!({key: members.into_iter().enumerate().map(form).collect::<Vec<_>>()})
    })
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 24, 4, |inner| {
        let inner = inner.boxed();
        let several = (vec(inner.clone(), 1..4), select(vec!["anyOf", "oneOf", "allOf"]))
            .prop_map(|(schemas, key)| json!({key: schemas}));
        let conditional =
            (inner.clone(), inner.clone(), inner.clone(), 0..3_u8).prop_map(|(is, then, other, which)| match which {
                0 => json!({"if": is, "then": then}),
                1 => json!({"if": is, "else": other}),
                _ => json!({"if": is, "then": then, "else": other}),
            });
        prop_oneof![
            5 => objects(inner.clone()),
            3 => arrays(inner.clone()),
            2 => several,
            1 => tagged(inner.clone()),
            1 => conditional,
            1 => inner.clone().prop_map(|schema| json!({"not": schema})),
            // Rules of several kinds beside one another.
            1 => (objects(inner.clone()), arrays(inner.clone()), leaf()).prop_map(|(left, right, leaf)| {
                let all = [left, right, leaf].into_iter().filter_map(|schema| schema.as_object().cloned()).flatten();
                Value::Object(all.filter(|(key, _)| key != "type").collect())
            }),
        ]
    })
}

/// A schema with definitions that may lead to themselves.
fn whole() -> impl Strategy<Value = Value> {
    (schema(), schema(), schema()).prop_filter_map("an object", |(root, one, two)| {
        let mut root: Map<String, Value> = root.as_object()?.clone();
        root.insert("$defs".into(), json!({"one": one, "two": two}));
        Some(Value::Object(root))
    })
}

/// A value that the schema may let in: what arbitrary values seldom are.
fn sample(root: &Value, schema: &Value, choices: &[Index], depth: usize) -> Value {
    let (Some((choice, rest)), Some(schema)) = (choices.split_first(), schema.as_object()) else { return json!("a") };
    if depth == 0 {
        return json!(1);
    }
    let below = |schema: &Value, skip: usize| sample(root, schema, &rest[skip.min(rest.len())..], depth - 1);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values[choice.index(values.len())].clone();
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return below(root.pointer(&target[1..]).expect("it is there"), 0);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(schemas) = schema.get(key).and_then(Value::as_array) {
            return below(&schemas[choice.index(schemas.len())], 0);
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let member = |(index, name): (usize, &&str)| {
            let value = below(properties.get(*name).unwrap_or(&json!({"type": "string"})), index + 1);
            let kept = rest.get(index).is_none_or(|choice| choice.index(4) > 0) && !value.is_null();
            kept.then(|| ((*name).to_owned(), value))
        };
        return Value::Object(NAMES.iter().take(1 + choice.index(4)).enumerate().filter_map(member).collect());
    }
    if ["items", "prefixItems", "minItems", "maxItems", "contains"].iter().any(|key| schema.contains_key(*key)) {
        let first = schema.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
        let others = schema.get("items").or(schema.get("contains")).cloned().unwrap_or(json!({}));
        return (0..choice.index(4)).map(|index| below(first.get(index).unwrap_or(&others), index)).collect();
    }
    let kind = match &schema.get("type") {
        Some(Value::Array(kinds)) => kinds[choice.index(kinds.len())].as_str(),
        kind => kind.and_then(Value::as_str),
    };
    let least = |key: &str| schema.get(key).and_then(Value::as_i64).unwrap_or(0);
    match kind.unwrap_or(["string", "integer", "number"][choice.index(3)]) {
        "string" if choice.index(3) == 0 => rest.first().map_or("", |choice| TEXTS[choice.index(TEXTS.len())]).into(),
        "string" => "abc"[..usize::try_from(least("minLength")).unwrap_or(0).min(3)].into(),
        "integer" => json!(least("minimum") + choice.index(3) as i64),
        "number" => json!(least("minimum") as f64 + choice.index(6) as f64 / 2.0),
        "boolean" => json!(choice.index(2) == 0),
        "array" => json!([]),
        "object" => json!({}),
        _ => Value::Null,
    }
}

fn values_for(schema: Value) -> impl Strategy<Value = Vec<Value>> {
    let sampled = vec(any::<Index>(), 12).prop_map(move |choices| sample(&schema, &schema, &choices, 6));
    vec(prop_oneof![1 => value(), 2 => sampled], 8)
}

fn case() -> impl Strategy<Value = (Value, Vec<Value>)> {
    whole().prop_flat_map(|schema| (Just(schema.clone()), values_for(schema)))
}

fn options(coerce: bool) -> Options {
    Options { coerce, ..Options::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_let_in_what_the_jsonschema_crate_lets_in_tool_9((schema, values) in case()) {
        // What contradicts itself is refused when the server is built.
        let Ok(rules) = Rules::compile(&schema, &[], options(false)) else { return Ok(()) };
        let coercing = Rules::compile(&schema, &[], options(true)).expect("it was compiled before");
        let oracle = jsonschema::validator_for(&schema).expect("the schema is valid");
        for value in values {
            let sent = value.to_string();
            let judged = rules.judge(sent.as_bytes());
            let fits = oracle.is_valid(&value);
            prop_assert_eq!(!matches!(judged, Judged::Broken(_)), fits, "{} {} {:?}", schema, value, judged);
            if stream::fits(&rules.tree, sent.as_bytes()) {
                prop_assert!(fits, "the pass over the text let in {} against {}", value, schema);
            }
            if let Judged::Changed(changed) = judged {
                prop_assert!(same(&changed, &value), "{} became {}", value, changed);
            }
            match coercing.judge(sent.as_bytes()) {
                Judged::AsSent => prop_assert!(fits, "{} {}", schema, value),
                Judged::Changed(changed) => {
                    prop_assert!(oracle.is_valid(&changed), "{}: {} became {}", schema, value, changed);
                    prop_assert!(!fits || same(&changed, &value), "{}: {} became {}", schema, value, changed);
                }
                Judged::Broken(_) => prop_assert!(!fits, "{} {}", schema, value),
            }
        }
    }
}

#[test]
fn the_cases_are_worth_something() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let (mut compiled, mut fitting, mut all, mut by_stream) = (0, 0, 0, 0);
    for _ in 0..500 {
        let (schema, values) = case().new_tree(&mut runner).expect("a case").current();
        let Ok(rules) = Rules::compile(&schema, &[], options(false)) else { continue };
        compiled += 1;
        let oracle = jsonschema::validator_for(&schema).expect("the schema is valid");
        for value in values {
            all += 1;
            fitting += usize::from(oracle.is_valid(&value));
            by_stream += usize::from(stream::fits(&rules.tree, value.to_string().as_bytes()));
        }
    }
    assert!(compiled > 250, "{compiled} of 500 schemas");
    assert!((all / 5..4 * all / 5).contains(&fitting), "{fitting} of {all} values fit");
    assert!(by_stream > all / 20, "{by_stream} of {fitting} were told by the pass over the text");
}
