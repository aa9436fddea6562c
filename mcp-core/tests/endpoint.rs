//! What a server says of itself, by revision.

use std::sync::Arc;

use mcp_core::answer::{Icon, Implementation};
use mcp_core::{Change, Code, Endpoint, EndpointBuilder, ExtensionDecl, Revision};
use serde_json::{Value, json};

fn who() -> Implementation {
    let mut who = Implementation::new("s", "1");
    who.title = Some("S".into());
    who.description = Some("A server".into());
    who.website = Some("https://example.com".into());
    who.icons = vec![Icon::new("https://example.com/i.png").unwrap()];
    who
}

fn plain() -> EndpointBuilder {
    Endpoint::builder(Implementation::new("s", "1"))
}

fn value(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn rules(builder: EndpointBuilder) -> Vec<&'static str> {
    builder.build().err().unwrap_or_default().iter().map(|defect| defect.rule).collect()
}

#[test]
fn the_name_has_the_members_that_the_revision_knows_base_27() {
    let endpoint = Endpoint::builder(who()).build().unwrap();
    let old = json!({"name":"s","version":"1"});
    let titled = json!({"name":"s","version":"1","title":"S"});
    let full = json!({"name":"s","version":"1","title":"S","description":"A server",
        "websiteUrl":"https://example.com","icons":[{"src":"https://example.com/i.png"}]});
    for (revision, right) in Revision::ALL.into_iter().zip([&old, &old, &titled, &full]) {
        assert_eq!(&value(endpoint.initialize_result(revision))["serverInfo"], right, "{revision}");
    }
    assert_eq!(value(endpoint.server_info()), full);
    let meta = format!("{{{}}}", core::str::from_utf8(endpoint.result_meta()).unwrap());
    assert_eq!(value(meta.as_bytes()), json!({"_meta":{"io.modelcontextprotocol/serverInfo":full}}));
}

#[test]
fn the_handshake_result_is_whole_life_1() {
    let endpoint = plain().tools(true).instructions("Be kind").build().unwrap();
    for revision in &Revision::ALL[..4] {
        let right = json!({"protocolVersion":revision.as_str(),"capabilities":{"tools":{"listChanged":true}},
            "serverInfo":{"name":"s","version":"1"},"instructions":"Be kind"});
        assert_eq!(value(endpoint.initialize_result(*revision)), right);
    }
}

#[test]
fn a_handshake_never_ends_in_the_stateless_revision_life_2() {
    let endpoint = plain().build().unwrap();
    assert_eq!(value(endpoint.initialize_result(Revision::MODERN))["protocolVersion"], "2025-11-25");
    let old = plain().revisions(&[Revision::V2025_03_26, Revision::MODERN]).build().unwrap();
    assert_eq!(value(old.initialize_result(Revision::MODERN))["protocolVersion"], "2025-03-26");
    assert_eq!(old.newest_legacy(), Some(Revision::V2025_03_26));
}

#[test]
fn capabilities_are_what_is_served_life_12_dep_1_ext_3_a39() {
    let extension = |id| ExtensionDecl::new(id).with_settings("{\"a\":\n1}").with_method("x/y");
    let cases: Vec<(EndpointBuilder, Value, Value, Value)> = vec![
        (plain(), json!({}), json!({}), json!({})),
        (plain().tools(false), json!({"tools":{}}), json!({"tools":{}}), json!({"tools":{}})),
        (
            plain().tools(true),
            json!({"tools":{"listChanged":true}}),
            json!({"tools":{"listChanged":true}}),
            json!({"tools":{"listChanged":true}}),
        ),
        (
            plain().prompts(true).resources(true, true),
            json!({"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}),
            json!({"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}),
            json!({"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}),
        ),
        (
            plain().prompts(false).resources(false, false),
            json!({"prompts":{},"resources":{}}),
            json!({"prompts":{},"resources":{}}),
            json!({"prompts":{},"resources":{}}),
        ),
        (plain().logging(true), json!({"logging":{}}), json!({"logging":{}}), json!({"logging":{}})),
        (plain().logging(false), json!({}), json!({}), json!({})),
        (
            plain().extension(extension("com.example/e")),
            json!({}),
            json!({}),
            json!({"extensions":{"com.example/e":{"a":1}}}),
        ),
        (
            plain().extension(extension("com.example/e").with_legacy()),
            json!({}),
            json!({"extensions":{"com.example/e":{"a":1}}}),
            json!({"extensions":{"com.example/e":{"a":1}}}),
        ),
    ];
    for (builder, oldest, newest_legacy, modern) in cases {
        let endpoint = builder.build().unwrap();
        let initialize = |revision| value(endpoint.initialize_result(revision))["capabilities"].clone();
        assert_eq!(initialize(Revision::V2024_11_05), oldest);
        assert_eq!(initialize(Revision::V2025_06_18), oldest);
        assert_eq!(initialize(Revision::V2025_11_25), newest_legacy);
        assert_eq!(value(endpoint.discover_result())["capabilities"], modern);
        assert!(!endpoint.discover_result().contains(&b'\n'));
    }
}

#[test]
fn discover_says_everything_ver_3_cache_1() {
    let endpoint = plain().tools(true).instructions("Be kind").build().unwrap();
    let right = json!({
        "resultType":"complete",
        "supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],
        "capabilities":{"tools":{"listChanged":true}},
        "instructions":"Be kind",
        "ttlMs":0,
        "cacheScope":"private",
        "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},
    });
    assert_eq!(value(endpoint.discover_result()), right);
    assert!(value(plain().build().unwrap().discover_result()).get("instructions").is_none());
}

#[test]
fn a_refused_version_is_not_among_those_supported_ver_2_ver_8() {
    let endpoint =
        plain().revisions(&[Revision::V2025_06_18, Revision::MODERN, Revision::V2025_06_18]).build().unwrap();
    assert_eq!(endpoint.supported_text(), "2026-07-28, 2025-06-18");
    assert_eq!(value(endpoint.supported_data().as_bytes()), json!({"supported":["2026-07-28","2025-06-18"]}));
    let long = "x".repeat(100_000);
    let cases = [
        ("1900-01-01", vec!["2026-07-28", "2025-06-18"], "1900-01-01"),
        ("2025-06-18", vec!["2026-07-28"], "2025-06-18"),
        ("2025-11-25", vec!["2026-07-28", "2025-06-18"], "2025-11-25"),
        ("\u{202E}\"\n", vec!["2026-07-28", "2025-06-18"], "\u{202E}\"\n"),
        ("", vec!["2026-07-28", "2025-06-18"], ""),
        (&long, vec!["2026-07-28", "2025-06-18"], &long[..64]),
    ];
    for (requested, supported, echoed) in cases {
        let fault = endpoint.unsupported_version(requested);
        assert_eq!((fault.code(), fault.status()), (Code::UNSUPPORTED_VERSION, 400));
        let data = value(fault.data().unwrap().as_bytes());
        assert_eq!(data, json!({"supported":supported,"requested":echoed}));
        assert!(fault.message().contains("2026-07-28, 2025-06-18") && fault.message().len() < 500);
        assert_eq!(fault.message().contains("initialize"), requested == "2025-06-18");
    }
}

#[test]
fn an_endpoint_tells_what_it_was_told() {
    let endpoint = plain().build().unwrap();
    assert!(endpoint.modern() && endpoint.legacy() && endpoint.sessions());
    assert!(!endpoint.has_tools() && !endpoint.has_logging() && !endpoint.tells_of(Change::Tools));
    assert!(endpoint.seal().is_none() && endpoint.extension_of("tools/list").is_none());
    assert_eq!(endpoint.limits(), &endpoint.policy().limits);
    assert_eq!(endpoint.timing(), &endpoint.policy().timing);

    let modern = plain().revisions(&[Revision::MODERN]).sessions(false).tools(true).logging(true).build().unwrap();
    assert!(modern.modern() && !modern.legacy() && !modern.sessions() && modern.newest_legacy().is_none());
    assert!(modern.has_tools() && modern.tells_of(Change::Tools) && modern.has_logging());
    assert_eq!(modern.revisions(), [Revision::MODERN]);
    assert!(!modern.serves(Revision::V2025_11_25));
    let legacy = plain().revisions(&[Revision::V2024_11_05]).build().unwrap();
    assert!(!legacy.modern() && legacy.legacy());

    let tasks =
        ExtensionDecl::new("io.modelcontextprotocol/tasks").with_method("tasks/get").with_method("tasks/cancel");
    let endpoint: Arc<Endpoint> = plain().extension(tasks.clone()).build().unwrap();
    assert_eq!(endpoint.extension_of("tasks/cancel"), Some(&tasks));
    assert_eq!(endpoint.extension_of("tasks/list"), None);
}

#[test]
fn every_defect_is_found_at_once_base_27_ext_1_ext_4() {
    let declare = |id: &str| plain().extension(ExtensionDecl::new(id));
    assert_eq!(rules(declare("tasks")), ["EXT-1"]);
    assert_eq!(rules(declare("com.example/")), ["EXT-1"]);
    assert_eq!(rules(declare("com.example/a").extension(ExtensionDecl::new("com.example/a"))), ["EXT-1"]);
    for settings in ["", "[]", "null", "{"] {
        let extension = ExtensionDecl::new("com.example/a").with_settings(settings);
        assert_eq!(rules(plain().extension(extension)), ["EXT-1"], "{settings}");
    }
    for method in ["tools/call", "initialize", "notifications/x", ""] {
        let extension = ExtensionDecl::new("com.example/a").with_method(method);
        assert_eq!(rules(plain().extension(extension)), ["EXT-4"], "{method}");
    }
    let twice = ExtensionDecl::new("com.example/a").with_method("a/b").with_method("a/b");
    assert_eq!(rules(plain().extension(twice)), ["EXT-4"]);
    let all = Endpoint::builder(Implementation::default()).revisions(&[]).extension(ExtensionDecl::new("tasks"));
    assert_eq!(rules(all), ["BASE-27", "BASE-27", "VER-2", "EXT-1"]);
}
