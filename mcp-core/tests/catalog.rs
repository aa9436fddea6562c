//! The catalogue: what is refused at registration, what each revision sees, pages, cursors, views.

use std::sync::Arc;

use mcp_core::catalog::{Catalog, Defect, Handle, MirrorKind, Tool, ToolAnnotations, View};
use mcp_core::{Capabilities, Code, Revision, answer::Icon};
use serde_json::{Value, json};

const OBJECT: &str = r#"{"type":"object"}"#;

fn tool(name: &str) -> Tool {
    Tool::new(name, Handle(7), OBJECT)
}

fn named(names: &[String]) -> Arc<Catalog> {
    names.iter().fold(Catalog::builder(), |builder, name| builder.tool(tool(name))).build().unwrap()
}

fn many(count: usize) -> Vec<String> {
    // Not in alphabetical order: the order of registration is what counts.
    (0..count).map(|n| format!("tool-{}", (n * 7 + 3) % 1009)).collect()
}

fn defects(tool: Tool) -> Vec<Defect> {
    Catalog::builder().tool(tool).build().err().unwrap_or_default()
}

fn list(view: &View, revision: Revision, cursor: Option<&str>, page: usize) -> (Vec<Value>, Option<String>) {
    let mut out = b"{".to_vec();
    view.write_tools(revision, cursor, page, &mut out).unwrap();
    out.push(b'}');
    let page: Value = serde_json::from_slice(&out).unwrap();
    let next = page.get("nextCursor").map(|cursor| cursor.as_str().unwrap().to_owned());
    assert!(page.as_object().unwrap().keys().all(|key| key == "tools" || key == "nextCursor"));
    (page["tools"].as_array().unwrap().clone(), next)
}

fn walk(view: &View, page: usize) -> Vec<String> {
    let mut names = Vec::new();
    let mut cursor = None;
    loop {
        let (tools, next) = list(view, Revision::MODERN, cursor.as_deref(), page);
        assert!(tools.len() <= page.max(1));
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        match next {
            Some(next) => cursor = Some(next),
            None => return names,
        }
    }
}

#[test]
fn each_revision_sees_the_members_that_it_knows_tool_3_base_28() {
    let full = tool("full")
        .with_title("Full")
        .with_description("All of it")
        .with_output_schema(r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#)
        .with_annotations(ToolAnnotations {
            read_only: Some(true),
            destructive: Some(false),
            title: Some("Hint".into()),
            ..ToolAnnotations::default()
        })
        .with_icon(Icon::new("https://example.com/i.png").unwrap().mime("image/png").size(48, 48))
        .with_meta(r#"{"com.example/x":{"a":1}}"#);
    let view = View::all(Catalog::builder().tool(full).build().unwrap());
    let base = json!({"name":"full","description":"All of it","inputSchema":{"type":"object"}});
    let annotated = json!({"annotations":{"title":"Hint","readOnlyHint":true,"destructiveHint":false}});
    let structured = json!({
        "title":"Full",
        "outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},
        "_meta":{"com.example/x":{"a":1}},
    });
    let icons = json!({"icons":[{"src":"https://example.com/i.png","mimeType":"image/png","sizes":["48x48"]}]});
    let parts = [base, annotated, structured, icons, json!({})];
    let mut right = serde_json::Map::new();
    for (revision, part) in Revision::ALL.into_iter().zip(parts) {
        right.extend(part.as_object().unwrap().clone());
        assert_eq!(list(&view, revision, None, 9).0, [Value::Object(right.clone())], "{revision}");
    }
}

#[test]
fn what_is_not_set_is_not_sent_case_48_tool_15() {
    let bare = tool("bare").with_annotations(ToolAnnotations::default()).with_meta("{}");
    let view = View::all(Catalog::builder().tool(bare).build().unwrap());
    for revision in Revision::ALL {
        assert_eq!(list(&view, revision, None, 9).0, [json!({"name":"bare","inputSchema":{"type":"object"}})]);
    }
}

#[test]
fn output_that_is_no_object_needs_an_opt_in_and_is_for_modern_peers_shim_2() {
    let schema = r#"{"type":"array","items":{"type":"integer"}}"#;
    let refused = defects(tool("t").with_output_schema(schema));
    assert_eq!(refused.len(), 1);
    assert_eq!((&*refused[0].entry, refused[0].rule), ("t", "SCHEMA-6"));
    assert!(refused[0].message.contains(r#"not `"array"`"#), "{}", refused[0]);
    assert!(refused[0].message.contains(r#"{"type":"object","properties":{"items":<schema>}}"#), "{}", refused[0]);

    let built = Catalog::builder().tool(tool("t").with_output_schema(schema).with_any_output()).build().unwrap();
    for revision in Revision::ALL {
        let (tools, _) = list(&View::all(built.clone()), revision, None, 9);
        assert_eq!(tools[0].get("outputSchema").is_some(), revision == Revision::MODERN, "{revision}");
    }
    for schema in ["{}", r#"{"type":["object","null"]}"#, r#"{"oneOf":[]}"#] {
        assert_eq!(defects(tool("t").with_output_schema(schema))[0].rule, "SCHEMA-6", "{schema}");
        assert_eq!(defects(tool("t").with_output_schema(schema).with_any_output()), [], "{schema}");
    }
    for schema in ["true", "[]", "", "{"] {
        assert_eq!(defects(tool("t").with_output_schema(schema).with_any_output())[0].rule, "TOOL-13", "{schema}");
    }
}

#[test]
fn schemas_are_listed_as_they_were_given_tool_14() {
    let text = r##"{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://e.com/s","z":1,"$defs":{"b":{"$anchor":"x"},"a":true},"properties":{"q":{"$ref":"#/$defs/b"},"c":{"$ref":"#x"}},"allOf":[{"not":{"const":null}}],"if":{},"x-own":{"k":[1e2,1.0]},"additionalProperties":false}"##;
    let spaced = text.replace(',', " ,\n\t");
    let built = Catalog::builder().tool(Tool::new("t", Handle(0), &spaced)).build().unwrap();
    let mut out = Vec::new();
    View::all(built).write_tools(Revision::MODERN, None, 9, &mut out).unwrap();
    // Keys in order, numbers as they were written, no line break that would end the message.
    assert_eq!(String::from_utf8(out).unwrap(), format!(r#""tools":[{{"name":"t","inputSchema":{text}}}]"#));
}

#[test]
fn names_are_checked_and_unique_tool_5_case_60() {
    for good in ["a", "get_weather", "A-1.b/c", &"x".repeat(128)] {
        assert_eq!(defects(tool(good)), [], "{good}");
    }
    for (bad, why) in [
        ("", "empty"),
        ("My Tool", "` `"),
        ("a,b", "`,`"),
        ("é", "`é`"),
        ("a\n", "`\u{FFFD}`"),
        (&"x".repeat(129), "129"),
    ] {
        let found = defects(tool(bad));
        assert_eq!(found.len(), 1, "{bad}");
        assert_eq!(found[0].rule, "TOOL-5");
        assert!(found[0].message.contains(why), "{}", found[0]);
    }
    let found = Catalog::builder().tool(tool("a")).tool(tool("b")).tool(tool("a")).build().unwrap_err();
    assert_eq!(found.len(), 1);
    assert!(found[0].message.contains("entry 1 and as entry 3"), "{}", found[0]);
    assert!(Catalog::builder().tool(tool("a")).tool(tool("A")).build().is_ok());
}

#[test]
fn input_schemas_are_those_of_objects_tool_4() {
    for bad in [
        "",
        "{",
        "null",
        "true",
        "[]",
        "{}",
        r#"{"type":"array"}"#,
        r#"{"type":["object"]}"#,
        r#"{"type":"object","properties":[]}"#,
    ] {
        let found = defects(Tool::new("t", Handle(0), bad));
        assert_eq!(found.len(), 1, "{bad}");
        assert_eq!(found[0].rule, "TOOL-4", "{bad}");
    }
    for good in [
        r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        r#"{"type":"object","oneOf":[{"required":["a"]}]}"#,
        r#"{"type":"object","properties":{"a":true}}"#,
    ] {
        assert_eq!(defects(Tool::new("t", Handle(0), good)), [], "{good}");
    }
    let deep = format!(r#"{{"type":"object","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(defects(Tool::new("t", Handle(0), &deep))[0].rule, "TOOL-4");
}

#[test]
fn references_stay_within_their_schema_schema_3_schema_4() {
    let within = |keyword: &str, target: &str| {
        format!(
            r##"{{"type":"object","$defs":{{"a":{{"$anchor":"here"}}}},"properties":{{"p":{{"items":{{"{keyword}":{target}}}}}}}}}"##
        )
    };
    for (keyword, target, rule) in [
        ("$ref", r##""#/$defs/a""##, None),
        ("$ref", r##""#""##, None),
        ("$ref", r##""#here""##, None),
        ("$dynamicRef", r##""#here""##, None),
        ("$ref", r#""http://127.0.0.1:9/x""#, Some("SCHEMA-3")),
        ("$ref", r#""other.json""#, Some("SCHEMA-3")),
        ("$ref", r#""file:///etc/passwd""#, Some("SCHEMA-3")),
        ("$ref", r#""""#, Some("SCHEMA-3")),
        ("$ref", "5", Some("SCHEMA-3")),
        ("$dynamicRef", r#""https://e.com/x""#, Some("SCHEMA-3")),
        ("$ref", r##""#/$defs/b""##, Some("SCHEMA-4")),
    ] {
        let schema = within(keyword, target);
        let rules = |found: Vec<Defect>| found.iter().map(|defect| defect.rule).collect::<Vec<_>>();
        let right: Vec<&str> = rule.into_iter().collect();
        assert_eq!(rules(defects(Tool::new("t", Handle(0), &schema))), right, "{schema}");
        assert_eq!(rules(defects(tool("t").with_output_schema(&schema))), right, "{schema}");
    }
    // Names and data that look like a keyword are none; an embedded resource has places of its own.
    for good in [
        r#"{"type":"object","properties":{"$ref":{"type":"string"}}}"#,
        r#"{"type":"object","default":{"$ref":"http://e.com"},"enum":[{"$ref":"http://e.com"}]}"#,
        r##"{"type":"object","$defs":{"e":{"$id":"https://e.com/e","$defs":{"x":{}},"items":{"$ref":"#/$defs/x"}}}}"##,
    ] {
        assert_eq!(defects(Tool::new("t", Handle(0), good)), [], "{good}");
    }
}

#[test]
fn mirrored_arguments_are_found_by_their_path_hdr_9() {
    let schema = r#"{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "x-mcp-header":{"type":"string"},
        "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Method"},
            "b":{"type":"boolean","x-mcp-header":"X-a!b"}}}},
        "default":{"x-mcp-header":"no"}}"#;
    let built = Catalog::builder().tool(Tool::new("t", Handle(0), schema)).build().unwrap();
    let mut found: Vec<(String, String, MirrorKind)> = built
        .tools()
        .next()
        .unwrap()
        .mirrors()
        .iter()
        .map(|mirror| (mirror.header.to_string(), mirror.path.join("."), mirror.kind))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        found,
        [
            ("Method".into(), "deep.n".into(), MirrorKind::Integer),
            ("Region".into(), "region".into(), MirrorKind::String),
            ("X-a!b".into(), "deep.b".into(), MirrorKind::Boolean),
        ]
    );
}

#[test]
fn bad_mirror_annotations_are_refused_hdr_9_a14() {
    let header = r#""x-mcp-header":"H""#;
    let property = |rest: &str| format!(r#"{{"type":"object","properties":{{"a":{{{rest}}}}}}}"#);
    let elsewhere = |place: &str| format!(r#"{{"type":"object",{place}}}"#);
    let cases = [
        property(&format!(r#""type":"number",{header}"#)),
        property(&format!(r#""type":["string","null"],{header}"#)),
        property(&format!(r#""type":"object",{header}"#)),
        property(header),
        property(r#""type":"string","x-mcp-header":"My Header""#),
        property(r#""type":"string","x-mcp-header":"""#),
        property(r#""type":"string","x-mcp-header":"é""#),
        property(r#""type":"string","x-mcp-header":"a\r\nb""#),
        property(r#""type":"string","x-mcp-header":5"#),
        property(&format!(r#""type":"array","items":{{"type":"string",{header}}}"#)),
        property(&format!(r#""oneOf":[{{"type":"string",{header}}}]"#)),
        property(&format!(r#""not":{{"properties":{{"b":{{"type":"string",{header}}}}}}}"#)),
        elsewhere(header),
        elsewhere(&format!(r#""$defs":{{"a":{{"type":"string",{header}}}}}"#)),
        elsewhere(&format!(r#""patternProperties":{{"^a":{{"type":"string",{header}}}}}"#)),
        elsewhere(&format!(r#""additionalProperties":{{"type":"string",{header}}}"#)),
        elsewhere(&format!(r#""if":{{"properties":{{"a":{{"type":"string",{header}}}}}}}"#)),
        elsewhere(&format!(r#""dependentSchemas":{{"a":{{"type":"string",{header}}}}}"#)),
        elsewhere(&format!(r#""x-own":{{"properties":{{"a":{{"type":"string",{header}}}}}}}"#)),
        elsewhere(
            r#""properties":{"a":{"type":"string","x-mcp-header":"H"},"b":{"type":"string","x-mcp-header":"h"}}"#,
        ),
    ];
    for schema in cases {
        let found = defects(Tool::new("t", Handle(0), &schema));
        assert_eq!(found.len(), 1, "{schema}");
        assert_eq!(found[0].rule, "HDR-9", "{schema}");
    }
    let at_the_root = &defects(Tool::new("t", Handle(0), &elsewhere(header)))[0];
    assert!(at_the_root.message.contains("reached from the root by `properties`"), "{at_the_root}");
}

#[test]
fn public_meta_is_an_object_with_keys_of_ones_own_base_21() {
    for bad in [r#"{"io.modelcontextprotocol/x":1}"#, r#"{"mcp.dev/x":1}"#, r#"{"a b":1}"#, "[]", "null", "{"] {
        let found = defects(tool("t").with_meta(bad));
        assert_eq!((found.len(), found[0].rule), (1, "BASE-21"), "{bad}");
    }
    assert_eq!(defects(tool("t").with_meta(r#"{"ui":{"resourceUri":"ui://x"},"ui/resourceUri":"ui://x"}"#)), []);
}

#[test]
fn every_defect_is_found_at_once_and_says_where() {
    let found = Catalog::builder()
        .tool(Tool::new("a b", Handle(0), "[]").with_meta("1"))
        .tool(tool("ok"))
        .tool(tool("c").with_output_schema("{}"))
        .build()
        .unwrap_err();
    let rules: Vec<_> = found.iter().map(|defect| (&*defect.entry, defect.rule)).collect();
    assert_eq!(rules, [("a b", "TOOL-5"), ("a b", "TOOL-4"), ("a b", "BASE-21"), ("c", "SCHEMA-6")]);
    assert!(found[0].to_string().starts_with("`a b`: ") && found[0].to_string().ends_with(" (TOOL-5)"));
}

#[test]
fn lists_keep_the_order_of_registration_tool_2() {
    let names = many(5);
    let view = View::all(named(&names));
    assert_eq!(walk(&view, 100), names);
    assert_eq!(walk(&view, 100), names);
    assert_eq!(list(&View::all(named(&[])), Revision::MODERN, None, 1), (vec![], None));
}

#[test]
fn pages_hold_every_visible_item_once_page_1() {
    let names = many(130);
    let catalog = named(&names);
    let all = View::all(catalog.clone());
    let some = View::only(catalog.clone(), |item| !item.key().ends_with('3'));
    let shown: Vec<String> = names.iter().filter(|name| !name.ends_with('3')).cloned().collect();
    let none = View::only(catalog, |_| false);
    for page in [0, 1, 2, 7, 64, 65, 129, 130, 131, usize::MAX] {
        assert_eq!(walk(&all, page), names, "{page}");
        assert_eq!(walk(&some, page), shown, "{page}");
        assert_eq!(walk(&none, page), Vec::<String>::new(), "{page}");
    }
    assert_eq!(some.tools().map(|tool| tool.name().to_owned()).collect::<Vec<_>>(), shown);
}

#[test]
fn the_last_page_has_no_cursor_page_1_case_49() {
    let view = View::only(named(&many(5)), |item| item.key() != "tool-31");
    for (page, more) in [(1, true), (2, true), (3, true), (4, false), (5, false)] {
        assert_eq!(list(&view, Revision::MODERN, None, page).1.is_some(), more, "{page}");
    }
    let (_, next) = list(&view, Revision::MODERN, None, 2);
    assert_eq!(list(&view, Revision::MODERN, next.as_deref(), 2).1, None);
}

#[test]
fn cursors_hold_over_a_restart_and_a_change_of_the_list_page_3() {
    let names = many(6);
    let (_, next) = list(&View::all(named(&names)), Revision::MODERN, None, 3);
    let grown: Vec<String> = names.iter().cloned().chain(["late".into()]).collect();
    let rest = |names: &[String]| -> Vec<String> {
        let (tools, _) = list(&View::all(named(names)), Revision::MODERN, next.as_deref(), 9);
        tools.iter().map(|tool| tool["name"].as_str().unwrap().into()).collect()
    };
    assert_eq!(rest(&names), names[3..]);
    assert_eq!(rest(&grown), grown[3..]);
}

#[test]
fn foreign_cursors_are_refused_and_tell_nothing_page_2_page_3() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

    let catalog = named(&many(9));
    let (hidden, shown) = ("tool-3", "tool-10");
    let all = View::all(catalog.clone());
    let mine = View::only(catalog.clone(), |item| item.key() != hidden);
    let other = View::only(catalog.clone(), |item| item.key() != "tool-24");
    let cursor_of = |view: &View| list(view, Revision::MODERN, None, 1).1.unwrap();
    let crafted = |name: &str, kind: u8| {
        let mut plain = BASE64.decode(cursor_of(&mine)).unwrap();
        plain.truncate(6);
        plain[1] = kind;
        plain.extend_from_slice(name.as_bytes());
        BASE64.encode(plain)
    };
    let refused = |cursor: &str| {
        let mut out = b"kept".to_vec();
        let fault = mine.write_tools(Revision::MODERN, Some(cursor), 3, &mut out).unwrap_err();
        assert_eq!(out, b"kept");
        assert_eq!(fault.code(), Code::INVALID_PARAMS);
        assert_eq!(fault.status(), 200);
        fault
    };
    assert!(mine.write_tools(Revision::MODERN, Some(&crafted(shown, b't')), 3, &mut Vec::new()).is_ok());
    let unknown = refused(&crafted("tool-nope", b't'));
    assert_eq!(refused(&crafted(hidden, b't')), unknown);
    for cursor in [
        "",
        "garbage",
        "====",
        "é",
        "AXQ",
        "A",
        &"A".repeat(100_000),
        &cursor_of(&all),
        &cursor_of(&other),
        &crafted(shown, b'p'),
        &crafted("", b't'),
        &format!("{}=", crafted(shown, b't')),
        &format!(" {}", crafted(shown, b't')),
    ] {
        assert_eq!(refused(cursor), unknown, "{cursor}");
    }
    assert!(all.write_tools(Revision::MODERN, Some(&cursor_of(&mine)), 3, &mut Vec::new()).is_err());
    let good = cursor_of(&mine).into_bytes();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] = if bad[at] == b'A' { b'B' } else { b'A' };
        // A cursor that is changed names another entry at most; it never panics and never shows what is hidden.
        let mut out = Vec::new();
        let _ = mine.write_tools(Revision::MODERN, Some(core::str::from_utf8(&bad).unwrap()), 9, &mut out);
        assert!(!String::from_utf8(out).unwrap().contains("\"tool-3\""));
    }
}

#[test]
fn a_hidden_tool_is_not_there() {
    let catalog = named(&many(70));
    let view = View::only(catalog.clone(), |item| item.key() != "tool-10");
    assert!(view.tool("tool-10").is_none() && view.tool("nope").is_none() && view.tool("").is_none());
    assert!(view.tool("tool-17").is_some());
    assert!(view.is_filtered() && !View::all(catalog.clone()).is_filtered());
    // Nor may those who see everything share it with those who do not.
    assert!(View::only(catalog.clone(), |_| true).is_filtered());
    assert!(View::all(catalog).tool("tool-10").is_some());
}

#[test]
fn the_generation_is_a_digest_of_what_is_shown_and_of_what_is_called_all_the_same() {
    let generation = |tools: &[Tool]| {
        tools.iter().cloned().fold(Catalog::builder(), |builder, tool| builder.tool(tool)).build().unwrap().generation()
    };
    let first = generation(&[tool("a"), tool("b")]);
    assert_eq!(first, generation(&[tool("a"), tool("b")]));
    assert_eq!(first, generation(&[Tool::new("a", Handle(1), "{ \"type\": \"object\" }"), tool("b")]));
    for other in [&[tool("a")][..], &[tool("b"), tool("a")], &[tool("a"), tool("b").with_description("x")], &[]] {
        assert_ne!(first, generation(other));
    }
    // A tool that no list shows is one to call: its name and its schema count, and only there.
    let hidden = |name, schema| Tool::new(name, Handle(1), schema).with_unlisted();
    let all = [
        vec![tool("a")],
        vec![tool("a"), hidden("b", OBJECT)],
        vec![tool("a"), hidden("c", OBJECT)],
        vec![tool("a"), hidden("b", r#"{"type":"object","properties":{"x":{}}}"#)],
        vec![tool("a"), tool("b")],
        vec![hidden("a", OBJECT)],
        vec![],
    ];
    let digests: std::collections::BTreeSet<u64> = all.iter().map(|tools| generation(tools)).collect();
    assert_eq!(digests.len(), all.len());
    let as_ever = (6_567_835_879_843_205_094, 9_368_440_803_725_052_685);
    assert_eq!((generation(&[]), first), as_ever, "records that were kept name it");
}

#[test]
fn what_was_registered_can_be_read_back() {
    let needs = Capabilities::none().with(mcp_core::Ability::Sampling);
    let built = Catalog::builder()
        .tool(
            tool("t")
                .with_title("T")
                .with_description("D")
                .with_needs(needs.clone())
                .with_output_schema(OBJECT)
                .with_meta(r#"{"a":1}"#),
        )
        .build()
        .unwrap();
    let view = View::all(built);
    let tool = view.tool("t").unwrap();
    assert_eq!((tool.name(), tool.handle(), tool.needs()), ("t", Handle(7), &needs));
    assert_eq!((tool.title(), tool.description(), tool.meta()), (Some("T"), Some("D"), Some(r#"{"a":1}"#)));
    assert_eq!((tool.input_schema(), tool.output_schema()), (OBJECT, Some(OBJECT)));
    assert_eq!(tool.annotations(), &ToolAnnotations::default());
    assert_eq!(&*tool.shared_name(), "t");
}
