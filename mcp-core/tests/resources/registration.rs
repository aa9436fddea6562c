//! What is refused before anything is served.

use super::*;

fn defects(builder: mcp_core::catalog::Builder) -> Vec<Defect> {
    builder.build().err().unwrap_or_default()
}

fn of_resource(resource: Resource) -> Vec<Defect> {
    defects(Catalog::builder().resource(resource))
}

fn of_template(template: Template) -> Vec<Defect> {
    defects(Catalog::builder().template(template))
}

fn resource(uri: &str) -> Resource {
    Resource::new(uri, "name", Handle(1))
}

fn template(uri: &str) -> Template {
    Template::new(uri, "name", Handle(1))
}

fn rules(defects: &[Defect]) -> Vec<&'static str> {
    defects.iter().map(|defect| defect.rule).collect()
}

#[test]
fn a_uri_must_be_one_res_9() {
    for good in ["a:b", "notes://x", "file:///a%20b", "x+y-1.z:q", "ui+x:1", "a://b/%C3%A9?c=d&e=[f]#g'"] {
        assert_eq!(of_resource(resource(good)), [], "{good}");
    }
    for bad in [
        "",
        "a",
        "://x",
        "1a://x",
        "é://x",
        "a b://x",
        "a://b c",
        "a://b\n",
        "a://\u{0}",
        "/etc/passwd",
        "doc://é",
        "a:\"",
        "a:b|c",
    ] {
        assert_eq!(rules(&of_resource(resource(bad))), ["RES-9"], "{bad}");
    }
    assert_eq!(of_resource(resource(&format!("a:{}", "b".repeat(2046)))), []);
    assert_eq!(rules(&of_resource(resource(&format!("a:{}", "b".repeat(2047))))), ["RES-9"]);
    let braces = of_resource(resource("a://{b}"));
    assert!(braces[0].message.contains("templates"), "{braces:?}");
}

#[test]
fn a_name_a_media_type_and_meta_are_checked_and_all_is_said_at_once_res_2_base_21() {
    let wrong = Resource::new("a://b", "", Handle(1)).with_mime("text").with_meta(r#"{"dev.mcp/x":1}"#);
    assert_eq!(rules(&of_resource(wrong)), ["RES-2", "RES-2", "BASE-21"]);
    let wrong = Template::new("a://{b", "", Handle(1)).with_mime("text").with_meta("[]");
    let found = rules(&of_template(wrong));
    assert_eq!(found, ["RES-3", "RES-2", "RES-2", "BASE-21"]);
    assert!(of_resource(resource("a://b").with_meta(r#"{"com.example/x":1}"#)).is_empty());
}

#[test]
fn a_priority_outside_0_to_1_is_refused_tool_19() {
    for (priority, right) in [(0.0, true), (1.0, true), (0.5, true), (2.0, false), (-0.1, false), (f64::NAN, false)] {
        let mut hints = Annotations::default();
        hints.priority = Some(priority);
        let (resource, template) = (resource("a://b"), template("a://{b}"));
        let rule: &[&str] = if right { &[] } else { &["TOOL-19"] };
        assert_eq!(rules(&of_resource(resource.with_annotations(hints.clone()))), rule, "{priority}");
        assert_eq!(rules(&of_template(template.with_annotations(hints))), rule, "{priority}");
    }
}

#[test]
fn a_page_of_an_app_has_its_media_type_app_2_app_7() {
    const APP: &str = "text/html;profile=mcp-app";
    assert_eq!(of_resource(resource("ui://a").with_mime(APP)), []);
    assert_eq!(of_template(template("ui://{a}").with_mime(APP)), []);
    for wrong in [resource("ui://a"), resource("ui://a").with_mime("text/html")] {
        assert_eq!(rules(&of_resource(wrong)), ["APP-2"]);
    }
    assert_eq!(rules(&of_template(template("ui://{a}").with_mime("text/html"))), ["APP-2"]);
    let view = View::all(Catalog::builder().resource(resource("ui://a").with_mime(APP)).build().unwrap());
    let mut talk = Talk::new(Revision::MODERN, &json!({}));
    talk.script.view = view;
    let page = Contents::text("<!doctype html>").with_mime(APP).with_meta(r#"{"ui":{"csp":{"connectDomains":[]}}}"#);
    let answer = talk.run("resources/read", &json!({"uri": "ui://a"}), read(vec![page]));
    let contents = &answer["result"]["contents"][0];
    assert_eq!((&contents["mimeType"], &contents["_meta"]["ui"]["csp"]), (&json!(APP), &json!({"connectDomains": []})));
    assert_eq!(answer["result"]["cacheScope"], "private");
}

#[test]
fn a_uri_or_template_is_there_once_in_a_server() {
    let twice = Catalog::builder().resource(resource("a://b")).resource(resource("A://b")).resource(resource("a://b"));
    let found = defects(twice);
    assert_eq!((rules(&found), &*found[0].entry), (vec!["RES-2"], "a://b"));
    assert!(found[0].message.contains("entry 1 and as entry 3 of the resources"), "{}", found[0]);
    let found = defects(Catalog::builder().template(template("a://{b}")).template(template("a://{b}")));
    assert_eq!(rules(&found), ["RES-3"]);
    // Each kind has names of its own.
    let each = Catalog::builder().resource(resource("a:b")).template(template("a:b{c}"));
    assert_eq!(defects(each.prompt(mcp_core::catalog::Prompt::new("a:b", Handle(1)))), []);
}

#[test]
fn what_is_completed_must_be_a_variable_comp_3() {
    assert_eq!(of_template(template("a://{b}/{+c}").completes("b").completes("c")), []);
    let found = of_template(template("a://{b}").completes("x"));
    assert_eq!(rules(&found), ["COMP-3"]);
    assert!(found[0].message.contains("`x`"), "{}", found[0]);
}

#[test]
fn an_icon_of_a_resource_has_a_web_or_data_address_base_28() {
    assert!(Icon::new("javascript:1").is_err());
    let icon = Icon::new("data:image/png;base64,AAAA").unwrap();
    assert_eq!(of_resource(resource("a:b").with_icon(icon)), []);
}
