//! One answer, five revisions.

use alloc::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::answer::Role;

const MODERN_META: &str = "io.modelcontextprotocol/serverInfo";

fn endpoint() -> Arc<Endpoint> {
    Endpoint::builder(Implementation::new("s", "1")).build().unwrap()
}

fn parsed(out: &[u8]) -> Value {
    assert!(!out.contains(&b'\n') && !out.contains(&b'\r'));
    serde_json::from_slice(out).unwrap()
}

fn result(revision: Revision, answer: &ToolAnswer) -> Value {
    let mut out = Vec::new();
    tool_result(&mut out, revision, answer, &endpoint());
    parsed(&out)
}

/// What is right, with what every modern result has.
fn enveloped(revision: Revision, mut right: Value) -> Value {
    if revision == Revision::MODERN {
        right["resultType"] = json!("complete");
        right["_meta"][MODERN_META] = json!({"name":"s","version":"1"});
    }
    right
}

fn block(revision: Revision, block: &Content) -> Value {
    let mut out = Vec::new();
    content(&mut out, revision, block);
    parsed(&out)
}

fn every(right: impl Fn(Revision) -> Value, answer: &ToolAnswer) {
    for revision in Revision::ALL {
        assert_eq!(result(revision, answer), enveloped(revision, right(revision)), "{revision}");
    }
}

#[test]
fn content_is_always_there_tool_7() {
    every(|_| json!({"content":[]}), &ToolAnswer::default());
    every(|_| json!({"content":[{"type":"text","text":"a\n\"b"}]}), &ToolAnswer::text("a\n\"b"));
}

#[test]
fn a_failure_says_so_and_a_success_says_nothing_tool_10() {
    every(|_| json!({"content":[{"type":"text","text":"no"}],"isError":true}), &ToolAnswer::error("no"));
}

#[test]
fn structured_results_go_where_the_revision_has_room_for_them_shim_2_tool_12_tool_13() {
    for json in ["{\"n\": 1}", "[1,2]", "null", "7", "\"x\"", "{\n\"n\":\r\n1}"] {
        let value: Value = serde_json::from_str(json).unwrap();
        let answer = ToolAnswer::structured(Bytes::from_static(json.as_bytes()));
        let right = |revision| {
            let mut right = json!({"content":[{"type":"text","text":json}]});
            let sent = match revision {
                Revision::V2024_11_05 | Revision::V2025_03_26 => false,
                Revision::V2025_06_18 | Revision::V2025_11_25 => value.is_object(),
                Revision::V2026_07_28 => true,
            };
            if sent {
                right["structuredContent"] = value.clone();
            }
            right
        };
        every(right, &answer);
    }
}

#[test]
fn the_text_of_a_structured_result_is_added_only_if_nothing_else_carries_it() {
    let said = json!({"type":"text","text":"seven"});
    let with = |json: &'static str| ToolAnswer { structured: Some(json.into()), ..ToolAnswer::text("seven") };
    for revision in Revision::ALL {
        let object = result(revision, &with(r#"{"n":7}"#));
        let array = result(revision, &with("[7]"));
        let alone = json!([said]);
        if revision >= Revision::V2025_06_18 {
            assert_eq!(object["content"], alone, "{revision}");
        } else {
            assert_eq!(object["content"], json!([said, {"type":"text","text":"{\"n\":7}"}]), "{revision}");
        }
        if revision == Revision::MODERN {
            assert_eq!(array["content"], alone, "{revision}");
        } else {
            assert_eq!(array["content"], json!([said, {"type":"text","text":"[7]"}]), "{revision}");
        }
        let told = ToolAnswer { structured: Some("[7]".into()), ..ToolAnswer::text("[7]") };
        assert_eq!(result(revision, &told)["content"], json!([{"type":"text","text":"[7]"}]), "{revision}");
    }
}

#[test]
fn a_failure_carries_no_structured_result() {
    let failed = ToolAnswer { structured: Some("{}".into()), ..ToolAnswer::error("no") };
    every(|_| json!({"content":[{"type":"text","text":"no"}],"isError":true}), &failed);
    let mute = ToolAnswer { structured: Some("{}".into()), is_error: true, ..ToolAnswer::default() };
    every(|_| json!({"content":[{"type":"text","text":"{}"}],"isError":true}), &mute);
}

#[test]
fn meta_of_a_result_is_merged_with_the_servers_name_base_16() {
    let meta = |meta: &str| ToolAnswer { meta: Some(meta.into()), ..ToolAnswer::default() };
    every(|_| json!({"content":[],"_meta":{"a":1,"b":{}}}), &meta("{\"a\":1,\n\"b\":{}}"));
    every(|_| json!({"content":[]}), &meta("{}"));
    // Only we say who we are, and what is no object would break the message.
    every(|_| json!({"content":[]}), &meta(r#"{"io.modelcontextprotocol/serverInfo":{"name":"evil"}}"#));
    for bad in ["", "[]", "null", "{", "{\"a\":}", "{} {}"] {
        every(|_| json!({"content":[]}), &meta(bad));
    }
}

#[test]
fn legacy_results_have_nothing_modern_base_13() {
    for revision in &Revision::ALL[..4] {
        let mut out = Vec::new();
        tool_result(&mut out, *revision, &ToolAnswer::structured("{}"), &endpoint());
        let text = alloc::string::String::from_utf8(out).unwrap();
        for modern in ["resultType", "ttlMs", "cacheScope", "io.modelcontextprotocol"] {
            assert!(!text.contains(modern), "{revision}: {text}");
        }
    }
}

#[test]
fn each_block_has_the_shape_of_its_revision_tool_18_shim_1() {
    let mut link = Link::new("file:///a", "a");
    link.title = Some("A".into());
    link.size = Some(7);
    link.icons = alloc::vec![Icon::new("data:image/png;base64,AAAA").unwrap().size(48, 48)];
    link.icons[0].theme = Some(Theme::Dark);
    let mut embedded = Content::resource_bytes("a:b", "x/y", &b"\xFB\xFF"[..]);
    if let Block::Resource(resource) = &mut embedded.block {
        resource.meta = Some(r#"{"k":1}"#.into());
    }
    let text = json!({"type":"text","text":"t"});
    let image = json!({"type":"image","data":"+/8=","mimeType":"image/png"});
    let audio = json!({"type":"audio","data":"+/8=","mimeType":"audio/wav"});
    let note = json!({"type":"text",
        "text":"[audio/wav, 2 bytes: sound cannot be sent in protocol revision 2024-11-05]"});
    let uri = json!({"type":"text","text":"file:///a"});
    let linked = json!({"type":"resource_link","uri":"file:///a","name":"a","title":"A","size":7});
    let icons = json!([{"src":"data:image/png;base64,AAAA","sizes":["48x48"],"theme":"dark"}]);
    let mut pictured = linked.clone();
    pictured["icons"] = icons;
    let resource = json!({"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","blob":"+/8="}});
    let mut tagged = resource.clone();
    tagged["resource"]["_meta"] = json!({"k":1});
    let written = json!({"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","text":"é"}});
    let cases = [
        (Content::text("t"), [&text; 5]),
        (Content::image(&b"\xFB\xFF"[..], "image/png"), [&image; 5]),
        (Content::audio(&b"\xFB\xFF"[..], "audio/wav"), [&note, &audio, &audio, &audio, &audio]),
        (Block::Link(link.into()).into(), [&uri, &uri, &linked, &pictured, &pictured]),
        (embedded, [&resource, &resource, &tagged, &tagged, &tagged]),
        (Content::resource_text("a:b", "x/y", "é"), [&written; 5]),
    ];
    for (content, right) in &cases {
        for (revision, right) in Revision::ALL.into_iter().zip(right) {
            assert_eq!(&block(revision, content), *right, "{revision}");
        }
    }
}

#[test]
fn hints_and_meta_of_a_block_are_those_of_its_revision_tool_19() {
    let hints = |hints: Annotations| Content::text("t").annotated(hints);
    let full = Annotations {
        audience: alloc::vec![Role::User, Role::Assistant],
        priority: Some(0.5),
        last_modified: Some("2025-01-12T15:00:58Z".into()),
    };
    for revision in Revision::ALL {
        let mut right =
            json!({"type":"text","text":"t","annotations":{"audience":["user","assistant"],"priority":0.5}});
        let mut tagged = json!({"type":"text","text":"t"});
        if revision >= Revision::V2025_06_18 {
            right["annotations"]["lastModified"] = json!("2025-01-12T15:00:58Z");
            tagged["_meta"] = json!({"a":1});
        }
        assert_eq!(block(revision, &hints(full.clone())), right, "{revision}");
        let meta = Content { meta: Some("{\"a\"\n:1}".into()), ..Content::text("t") };
        assert_eq!(block(revision, &meta), tagged, "{revision}");
        let bad = Content { meta: Some("[]".into()), ..Content::text("t") };
        assert_eq!(block(revision, &bad), json!({"type":"text","text":"t"}), "{revision}");
        assert_eq!(block(revision, &hints(Annotations::default())), json!({"type":"text","text":"t"}));
    }
    for (priority, right) in [(0.0, true), (1.0, true), (2.0, false), (-0.1, false), (f64::NAN, false)] {
        let made = Annotations::default().with_priority(priority);
        assert_eq!(made.map(|hints| hints.priority).ok(), right.then_some(Some(priority)), "{priority}");
    }
    let dated = Annotations { last_modified: Some("x".into()), ..Annotations::default() };
    assert_eq!(block(Revision::V2025_03_26, &hints(dated)), json!({"type":"text","text":"t"}));
    for (priority, right) in [(2.0, Some(1.0)), (-1.0, Some(0.0)), (f64::INFINITY, Some(1.0)), (f64::NAN, None)] {
        let odd = Annotations { priority: Some(priority), ..Annotations::default() };
        let written = block(Revision::MODERN, &hints(odd));
        assert_eq!(written.pointer("/annotations/priority").and_then(Value::as_f64), right, "{priority}");
    }
}

#[test]
fn extension_results_get_the_modern_envelope_base_12_ext_4() {
    let cases = [
        ("{}", json!({})),
        ("{\"a\":\n1}", json!({"a":1})),
        (r#"{"resultType":"task","a":1}"#, json!({"a":1})),
        (r#"{"_meta":{"k":1},"a":1}"#, json!({"a":1,"_meta":{"k":1}})),
        (r#"{"_meta":null}"#, json!({})),
        ("[]", json!({})),
        ("", json!({})),
    ];
    for (members, right) in cases {
        let mut out = Vec::new();
        extension_result(&mut out, Revision::MODERN, members.as_bytes(), &endpoint());
        let mut right = enveloped(Revision::MODERN, right);
        if members.contains("task") {
            right["resultType"] = json!("task");
        }
        assert_eq!(parsed(&out), right, "{members}");
    }
    let mut out = Vec::new();
    extension_result(&mut out, Revision::V2025_11_25, b"{\"a\":\n1}", &endpoint());
    assert_eq!(parsed(&out), json!({"a":1}));
}

#[test]
fn what_is_sent_as_a_uri_has_the_characters_of_one_res_9() {
    let cases = [
        ("a://b/%C3%A9?c=d&e=[f]#g!$'()*+,;:@~_-.", "a://b/%C3%A9?c=d&e=[f]#g!$'()*+,;:@~_-."),
        ("a://b c/é\"<>\\^`{|}\n\u{7F}", "a://b%20c/%C3%A9%22%3C%3E%5C%5E%60%7B%7C%7D%0A%7F"),
        ("", ""),
    ];
    for (uri, right) in cases {
        assert_eq!(of_uri_characters(uri), right);
        let link = Content::from(crate::answer::Block::Link(alloc::boxed::Box::new(Link::new(uri, "n"))));
        assert_eq!(block(Revision::MODERN, &link)["uri"], right);
        let embedded = Content::resource_text(uri, "text/plain", "x");
        assert_eq!(block(Revision::V2024_11_05, &embedded)["resource"]["uri"], right);
    }
}
