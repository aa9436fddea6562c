//! Resources and templates: what clients see of them, and what reading them gives.

use mcp_server::testing::{Client, block_on};
use mcp_server::{
    Annotations, CallError, Contents, Ctx, IntoContents, Json, Resource, ResourceTemplate, Revision, Role, Server,
    State, json,
};
use serde::Deserialize;

fn server() -> Server {
    Server::new("test", "1")
}

/// What the rest of a test needs no resources for.
fn built(server: Server) -> Vec<(String, &'static str, String)> {
    let error = server.build().expect_err("something is wrong with it");
    error.defects().iter().map(|d| (d.entry.to_string(), d.rule, d.message.to_string())).collect()
}

async fn read(server: Server, uri: &str) -> mcp_server::testing::Answer {
    Client::new(server).request("resources/read", json!({"uri": uri})).await
}

fn contents<C: IntoContents + 'static>(contents: impl Fn() -> C + Send + Sync + 'static) -> Server {
    server().resource(Resource::new("test://x").run(contents))
}

#[test]
fn a_resource_is_listed_with_all_that_is_said_of_it_and_with_what_the_revision_knows_res_2() {
    block_on(async {
        let app = server()
            .resource(
                Resource::new("test://notes/first")
                    .name("first")
                    .title("The first note")
                    .description("A note.")
                    .mime("text/markdown")
                    .audience([Role::User])
                    .priority(0.5)
                    .icon("https://example.com/i.png")
                    .meta(json!({"example.com/kind": "note"}))
                    .text("é"),
            )
            .resource(Resource::new("test://notes/second").size(9).run(|| "second"))
            .build()
            .expect("it builds");
        let listed = Client::new(&app).request("resources/list", ()).await;
        listed.assert_at(
            "/result/resources",
            json!([
                {
                    "uri": "test://notes/first",
                    "name": "first",
                    "title": "The first note",
                    "description": "A note.",
                    "mimeType": "text/markdown",
                    "annotations": {"audience": ["user"], "priority": 0.5},
                    "size": 2,
                    "icons": [{"src": "https://example.com/i.png"}],
                    "_meta": {"example.com/kind": "note"},
                },
                {"uri": "test://notes/second", "name": "second", "size": 9},
            ]),
        );
        let mut old = Client::builder(&app).revision(Revision::V2024_11_05).connect();
        let first = old.request("resources/list", ()).await;
        for absent in ["title", "icons", "_meta"] {
            assert_eq!(first.json().pointer(&format!("/result/resources/0/{absent}")), None, "{first}");
        }
    });
}

#[test]
fn what_code_returns_becomes_text_or_a_blob_with_the_registered_media_type_res_4() {
    block_on(async {
        let app = server()
            .resource(Resource::new("test://text").mime("text/plain").text("Hello"))
            .resource(Resource::new("test://bytes").mime("image/png").bytes(vec![0, 1, 2]))
            .resource(Resource::new("test://json").run(|| Json(json!({"a": 1}))))
            .resource(Resource::new("test://geo").mime("application/geo+json").run(|| json!({"type": "Point"})))
            .resource(Resource::new("test://directory").mime("text/plain").run(|| {
                [Contents::text("a").with_uri("test://directory/a"), Contents::text("b").with_mime("text/css")]
            }))
            .build()
            .expect("it builds");
        let mut client = Client::new(&app);
        for (uri, expected) in [
            ("test://text", json!([{"uri": "test://text", "mimeType": "text/plain", "text": "Hello"}])),
            ("test://bytes", json!([{"uri": "test://bytes", "mimeType": "image/png", "blob": "AAEC"}])),
            ("test://json", json!([{"uri": "test://json", "mimeType": "application/json", "text": "{\"a\":1}"}])),
            (
                "test://geo",
                json!([{"uri": "test://geo", "mimeType": "application/geo+json", "text": "{\"type\":\"Point\"}"}]),
            ),
            (
                "test://directory",
                json!([
                    {"uri": "test://directory/a", "text": "a"},
                    {"uri": "test://directory", "mimeType": "text/css", "text": "b"},
                ]),
            ),
        ] {
            client.request("resources/read", json!({"uri": uri})).await.assert_at("/result/contents", expected);
        }
    });
}

#[test]
fn what_is_not_there_is_told_with_its_uri_by_era_res_5() {
    block_on(async {
        let app = server()
            .resource(Resource::new("test://none").run(|| None::<String>))
            .resource(Resource::new("test://error").run(|| Err::<String, _>(CallError::not_found())))
            .build()
            .expect("it builds");
        for uri in ["test://unknown", "test://none", "test://error"] {
            let mut client = Client::new(&app);
            let legacy = client.request("resources/read", json!({"uri": uri})).await;
            legacy.assert_fault(-32002).assert_at("/error/data", json!({"uri": uri}));
            let mut client = Client::builder(&app).modern().connect();
            let modern = client.request("resources/read", json!({"uri": uri})).await;
            modern.assert_fault(-32602).assert_at("/error/data", json!({"uri": uri}));
        }
    });
}

#[test]
fn a_failure_inside_says_no_internals_and_one_that_is_meant_to_be_read_is_res_6() {
    block_on(async {
        let hidden = || -> Result<String, CallError> { Ok(std::fs::read_to_string("/secret/path")?) };
        let answer = read(contents(hidden), "test://x").await;
        answer.assert_fault(-32603);
        assert!(!answer.to_string().contains("secret"), "{answer}");
        let shown = || Err::<String, _>("The disk is asleep: try again.");
        read(contents(shown), "test://x").await.assert_fault(-32603).assert_fault_contains("The disk is asleep");
        let panics = || -> String { panic!("secret") };
        let server = contents(panics).resource(Resource::new("test://y").text("y"));
        let mut client = Client::new(server);
        let answer = client.request("resources/read", json!({"uri": "test://x"})).await;
        answer.assert_fault(-32603).assert_fault_contains("the resource panicked");
        assert!(!answer.to_string().contains("secret"), "{answer}");
        client.request("resources/read", json!({"uri": "test://y"})).await.assert_ok();
        let empty = || Vec::<Contents>::new();
        read(contents(empty), "test://x").await.assert_fault(-32603);
        client.request("resources/read", json!({"uri": 1})).await.assert_fault(-32602);
    });
}

#[derive(Debug, Deserialize)]
struct Place {
    owner: String,
    number: u32,
}

#[test]
fn a_template_is_listed_and_an_instance_of_it_is_read_under_its_own_uri_res_1_res_3() {
    block_on(async {
        let template = ResourceTemplate::new("test://{owner}/{number}").description("A place.").mime("text/plain").run(
            |ctx: Ctx, Place { owner, number }: Place| format!("{owner} {number} {}", ctx.uri().unwrap_or_default()),
        );
        let mut client = Client::new(server().resource_template(template));
        client.request("resources/list", ()).await.assert_at("/result/resources", json!([]));
        client.request("resources/templates/list", ()).await.assert_at(
            "/result/resourceTemplates",
            json!([{
                "uriTemplate": "test://{owner}/{number}",
                "name": "test://{owner}/{number}",
                "description": "A place.",
                "mimeType": "text/plain",
            }]),
        );
        let uri = "test://ada%20b/42";
        client.request("resources/read", json!({"uri": uri})).await.assert_at(
            "/result/contents",
            json!([{"uri": uri, "mimeType": "text/plain", "text": format!("ada b 42 {uri}")}]),
        );
        // What the code does not take names nothing.
        client.request("resources/read", json!({"uri": "test://ada/x"})).await.assert_fault(-32002);
    });
}

#[test]
fn a_literal_goes_before_a_template_and_the_first_template_before_others_res_11() {
    block_on(async {
        let template = |uri: &str, said: &'static str| {
            ResourceTemplate::new(uri).run(move |rest: String| format!("{said} {rest}"))
        };
        let app = server()
            .resource_template(template("a://{v}", "one"))
            .resource_template(template("a://{+v}", "many"))
            .resource(Resource::new("a://x").text("literal"));
        let mut client = Client::new(app);
        for (uri, text) in [("a://x", "literal"), ("a://y", "one y"), ("a://y/z", "many y/z"), ("a://a%2Fb", "one a/b")]
        {
            let answer = client.request("resources/read", json!({"uri": uri})).await;
            answer.assert_at("/result/contents/0/text", text);
        }
    });
}

#[test]
fn uris_are_compared_as_they_stand_res_12() {
    block_on(async {
        let app = server().resource(Resource::new("a://x").text("x"));
        read(app, "A://X").await.assert_fault(-32002);
    });
}

struct Greeting(&'static str);

#[tokio::test]
async fn resources_take_what_tools_take_and_may_wait_or_block() {
    let app = server()
        .state(Greeting("Hello"))
        .resource(Resource::new("test://state").run(|greeting: State<Greeting>| greeting.0.0))
        .resource(Resource::new("test://later").run(async |ctx: Ctx| {
            tokio::task::yield_now().await;
            ctx.name().to_owned()
        }))
        .resource(
            Resource::new("test://blocking").tag("team", "storage").run_blocking(|ctx: Ctx| ctx.tags()["team"].clone()),
        )
        .build()
        .expect("it builds");
    let mut client = Client::new(&app);
    for (uri, text) in [("test://state", "Hello"), ("test://later", "test://later"), ("test://blocking", "\"storage\"")]
    {
        let answer = client.request("resources/read", json!({"uri": uri})).await;
        answer.assert_at("/result/contents/0/text", text);
    }
}

#[test]
fn everything_that_is_wrong_is_told_when_the_server_is_built() {
    let wrong = built(
        server()
            .resource(Resource::new("nothing").text("x"))
            .resource(Resource::new("a://code"))
            .resource(Resource::new("a://twice").text("1"))
            .resource(Resource::new("a://twice").text("2"))
            .resource(Resource::new("a://priority").annotations(Annotations::default()).priority(2.0).text("x"))
            .resource(Resource::new("a://state").run(|_: State<Greeting>| "x"))
            .resource(Resource::new("a://meta").meta(json!(1)).icon("ftp://x").text("x"))
            .resource_template(ResourceTemplate::new("a://{b").run(|| "x"))
            .resource_template(ResourceTemplate::new("b://{id}").run(|_: Place| "x"))
            .resource_template(ResourceTemplate::new("d://{a}/{b}").run(|_: u8| "x"))
            .resource_template(ResourceTemplate::new("e://{a}").run(|_: (u8, u8)| "x"))
            .resource_template(ResourceTemplate::new("c://{id}").run(|| "x").complete_from("di", ["x"])),
    );
    let rules: Vec<(&str, &str)> = wrong.iter().map(|(entry, rule, _)| (&**entry, *rule)).collect();
    assert_eq!(
        rules,
        [
            ("a://code", "RES-4"),
            ("a://twice", "RES-2"),
            ("a://state", "RES-4"),
            ("a://meta", "BASE-28"),
            ("a://meta", "BASE-21"),
            ("b://{id}", "RES-3"),
            ("d://{a}/{b}", "RES-3"),
            ("e://{a}", "RES-3"),
            ("c://{id}", "COMP-3"),
            ("nothing", "RES-9"),
            ("a://priority", "TOOL-19"),
            ("a://{b", "RES-3"),
        ]
    );
    let said = |entry: &str| &wrong.iter().find(|(own, ..)| own == entry).expect("it is wrong").2;
    assert_eq!(said("a://twice").matches("tests/resources.rs:").count(), 2, "{}", said("a://twice"));
    assert!(said("b://{id}").contains("`owner`, which is none of its variables: it has `id`"), "{}", said("b://{id}"));
    assert!(said("d://{a}/{b}").contains("a single value, which only one of its variables can be: it has `a`, `b`"));
    assert!(said("e://{a}").contains("takes 2 variables by their places: it has `a`"));
    assert!(said("c://{id}").contains("`di` is completed, but none of its variables: it has `id`"));
}

#[test]
fn what_is_missing_of_a_query_keeps_its_place_res_3() {
    let shown = |(a, b): (Option<String>, Option<u8>)| format!("{a:?} {b:?}");
    let single = ResourceTemplate::new("one://x{?n}").run(|n: Option<u8>| format!("{n:?}"));
    let app = server().resource_template(ResourceTemplate::new("two://x{?a,b}").run(shown)).resource_template(single);
    block_on(async {
        let mut client = Client::new(app);
        for (uri, text) in [
            ("two://x", "None None"),
            ("two://x?b=7", "None Some(7)"),
            ("two://x?a=7", "Some(\"7\") None"),
            ("two://x?b=7&a=x", "Some(\"x\") Some(7)"),
            ("one://x", "None"),
            ("one://x?n=5", "Some(5)"),
        ] {
            client.read(uri).await.assert_text(text);
        }
        client.read("one://x?n=x").await.assert_fault(-32002);
    });
}

mod files {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A directory that goes with the test.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("mcp-server-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("root/sub")).expect("it can be made");
            fs::write(path.join("outside.txt"), "secret").expect("it can be written");
            fs::write(path.join("root/sub/a b.md"), "# A").expect("it can be written");
            fs::write(path.join("root/c.png"), [0, 159]).expect("it can be written");
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[tokio::test]
    async fn files_below_a_directory_are_read_and_nothing_else_res_9() {
        let directory = Directory::new("within");
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(directory.0.join("outside.txt"), directory.0.join("root/link.txt")).expect("a link");
            symlink(&directory.0, directory.0.join("root/up")).expect("a link");
            symlink("circle", directory.0.join("root/circle")).expect("a link");
            symlink(directory.0.join("root/c.png"), directory.0.join("root/inner.png")).expect("a link");
        }
        let app = server().resource_template(ResourceTemplate::files("file:///root", directory.0.join("root")));
        let mut client = Client::new(app);
        let answer = client.request("resources/read", json!({"uri": "file:///root/sub/a%20b.md"})).await;
        answer.assert_at(
            "/result/contents",
            json!([{"uri": "file:///root/sub/a%20b.md", "mimeType": "text/markdown", "text": "# A"}]),
        );
        let answer = client.request("resources/read", json!({"uri": "file:///root/c.png"})).await;
        answer.assert_at("/result/contents/0/blob", "AJ8=").assert_at("/result/contents/0/mimeType", "image/png");
        #[cfg(unix)]
        client.request("resources/read", json!({"uri": "file:///root/inner.png"})).await.assert_ok();
        let absolute = format!("file:///root/{}", directory.0.join("outside.txt").display());
        for escape in [
            "file:///root/../outside.txt",
            "file:///root/sub/../../outside.txt",
            "file:///root/%2e%2e/outside.txt",
            "file:///root/sub/%2E%2E%2F..%2Foutside.txt",
            "file:///root/c.png%00",
            "file:///root/link.txt",
            "file:///root/up/outside.txt",
            "file:///root/circle",
            "file:///root/sub",
            "file:///root/",
            "file:///root//etc/passwd",
            "file:///root/../etc/passwd",
            "file:///root/c.png/x",
            "file:///root/absent",
            &absolute,
        ] {
            let answer = client.request("resources/read", json!({"uri": escape})).await;
            answer.assert_fault(-32002).assert_at("/error/data/uri", escape);
        }
    }

    #[tokio::test]
    async fn a_file_is_read_anew_each_time_and_may_be_gone() {
        let directory = Directory::new("file");
        let path = directory.0.join("outside.txt");
        let app = server().resource(Resource::new("test://file").file(&path));
        let mut client = Client::new(app);
        let answer = client.request("resources/read", json!({"uri": "test://file"})).await;
        answer
            .assert_at("/result/contents/0", json!({"uri": "test://file", "mimeType": "text/plain", "text": "secret"}));
        fs::write(&path, "other").expect("it can be written");
        let answer = client.request("resources/read", json!({"uri": "test://file"})).await;
        answer.assert_at("/result/contents/0/text", "other");
        fs::remove_file(&path).expect("it can be removed");
        client.request("resources/read", json!({"uri": "test://file"})).await.assert_fault(-32002);
    }
}
