//! Who sees what: rules by caller, scopes, state and assigns, in every revision.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mcp_server::testing::{Answer, Client, block_on};
use mcp_server::{
    App, Assigns, CallError, Caller, Ctx, EntryKind, Module, Prompt, PromptArg, Resource, ResourceTemplate, Revision,
    Server, Shown, Tool, Value, Viewer, Visibility, json,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct User {
    name: String,
    #[serde(default)]
    admin: bool,
}

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.").run(|| "ran")
}

/// One open and one secret entry of each kind.
fn server() -> Server {
    let prompt = |name| {
        Prompt::new(name)
            .description("A prompt.")
            .arg(PromptArg::new("who"))
            .complete_from("who", ["ann"])
            .run(|| "prompted")
    };
    Server::new("test", "1")
        .tool(tool("open"))
        .tool(tool("secret").tag("admin", true))
        .resource(Resource::new("a://open").text("open"))
        .resource(Resource::new("a://secret").text("secret").tag("admin", true))
        .resource_template(ResourceTemplate::new("open://{v}").run(|v: String| v))
        .resource_template(
            ResourceTemplate::new("secret://{v}").tag("admin", true).complete_from("v", ["x"]).run(|v: String| v),
        )
        .prompt(prompt("open"))
        .prompt(prompt("secret").tag("admin", true))
}

fn is_admin(entry: &Shown, viewer: &Viewer) -> bool {
    entry.tag("admin") != true || viewer.assigns::<User>().is_some_and(|user| user.admin)
}

/// By a name that its caller has.
fn user(caller: Caller) -> Result<User, CallError> {
    let name = caller.principal.ok_or_else(|| CallError::new("sign in first"))?.as_str().to_owned();
    Ok(User { admin: name == "ann", name })
}

fn client(app: &App, revision: Revision, principal: &str) -> Client {
    Client::builder(app).revision(revision).principal(principal).connect()
}

/// All that is listed, tools first.
async fn listed(client: &mut Client) -> Vec<String> {
    let mut all: Vec<String> = client.list_tools().await.into_iter().map(|tool| tool.name).collect();
    all.extend(client.list_resources().await.into_iter().map(|resource| resource.uri));
    all.extend(client.list_resource_templates().await.into_iter().map(|template| template.uri));
    all.extend(client.list_prompts().await.into_iter().map(|prompt| prompt.name));
    all
}

/// What comes of each use of what is called so.
async fn used(client: &mut Client, name: &str) -> Vec<Answer> {
    vec![
        client.call(name, ()).await,
        client.read(format!("a://{name}")).await,
        client.read(format!("{name}://1")).await,
        client.get_prompt(name, ()).await,
        client.complete_prompt(name, "who", "").await,
        client.complete_template(format!("{name}://{{v}}"), "v", "").await,
    ]
}

const ALL: [&str; 8] = ["open", "secret", "a://open", "a://secret", "open://{v}", "secret://{v}", "open", "secret"];

#[test]
fn a_session_sees_what_its_init_made_of_it_and_what_is_hidden_is_unknown_tool_8_res_5_prompt_3_comp_4() {
    block_on(async {
        let app = server().init(user).visible(is_admin).build().unwrap();
        for revision in Revision::ALL {
            let (mut ann, mut bob) = (client(&app, revision, "ann"), client(&app, revision, "bob"));
            assert_eq!(listed(&mut ann).await, ALL, "{revision}");
            assert_eq!(listed(&mut bob).await, ["open", "a://open", "open://{v}", "open"], "{revision}");
            for answer in used(&mut ann, "secret").await {
                answer.assert_ok();
            }
            let (hidden, unknown) = (used(&mut bob, "secret").await, used(&mut bob, "nowhere").await);
            for (hidden, unknown) in hidden.iter().zip(&unknown) {
                assert!(hidden.fault().is_some() && hidden.fault() == unknown.fault(), "{revision}: {hidden:?}");
                assert_eq!(texts(hidden).replace("secret", "nowhere"), texts(unknown), "{revision}");
            }
        }
        assert_eq!(app.tool_names(), ["open", "secret"], "the server's own view is whole");
    });
}

/// An answer as text, without the request's id, which differs.
fn texts(answer: &Answer) -> String {
    let text = format!("{answer:?}");
    let ids = |c: char| c.is_ascii_digit();
    text.split(ids).collect::<Vec<_>>().join("")
}

#[test]
fn scopes_principal_and_state_decide_as_well() {
    struct Open(AtomicBool);
    let rule = |entry: &Shown, viewer: &Viewer| match entry.name() {
        "open" => viewer.state::<Open>().is_some_and(|open| open.0.load(Ordering::Relaxed)),
        "secret" => viewer.has_scope("secret:use") && viewer.principal() == Some("ann"),
        _ => viewer.state::<String>().is_none() && viewer.caller().scopes.iter().count() == 2,
    };
    let open = Arc::new(Open(AtomicBool::new(false)));
    let app = server().shared_state(Arc::clone(&open)).visible(rule).build().unwrap();
    block_on(async {
        for revision in Revision::ALL {
            let client = |principal, scopes| {
                Client::builder(&app).revision(revision).principal(principal).scopes(scopes).connect()
            };
            let (mut ann, mut bob) = (client("ann", "secret:use other"), client("bob", "secret:use"));
            open.0.store(false, Ordering::Relaxed);
            ann.call("secret", ()).await.assert_ok();
            bob.call("secret", ()).await.assert_fault(-32602);
            ann.call("open", ()).await.assert_fault(-32602);
            open.0.store(true, Ordering::Relaxed);
            ann.call("open", ()).await.assert_ok();
            ann.read("a://open").await.assert_ok();
            assert!(bob.read("a://open").await.fault().is_some());
        }
    });
}

#[test]
fn a_call_that_assigns_changes_what_its_session_sees() {
    let promote = Tool::new("promote")
        .description("Makes an administrator.")
        .run(|ctx: Ctx, user: Assigns<User>| ctx.assign(&User { admin: true, name: user.0.name }));
    let app = server().tool(promote).init(user).visible(is_admin).build().unwrap();
    block_on(async {
        let (mut bob, mut eve) =
            (client(&app, Revision::V2025_11_25, "bob"), client(&app, Revision::V2025_11_25, "eve"));
        bob.call("secret", ()).await.assert_fault(-32602);
        bob.call("promote", ()).await.assert_ok();
        bob.call("secret", ()).await.assert_ok();
        eve.call("secret", ()).await.assert_fault(-32602);
        // There is no session: it was for that request.
        let mut modern = client(&app, Revision::MODERN, "bob");
        modern.call("promote", ()).await.assert_ok();
        modern.call("secret", ()).await.assert_fault(-32602);
    });
}

#[test]
fn all_rules_must_agree_those_of_the_entry_among_them() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    let entry = tool("own").visible(|_, viewer| viewer.has_scope("a")).visible(|_, viewer| viewer.has_scope("b"));
    let app = Server::new("test", "1")
        .tool(entry)
        .tool(tool("other"))
        .visible(|_, viewer| viewer.has_scope("c"))
        .visible(move |_, _| counts.fetch_add(1, Ordering::Relaxed) < usize::MAX)
        .build()
        .unwrap();
    block_on(async {
        for (scopes, own, other) in [
            ("a b c", true, true),
            ("a b", false, false),
            ("a c", false, true),
            ("b c", false, true),
            ("", false, false),
        ] {
            let mut client = Client::builder(&app).principal("ann").scopes(scopes).connect();
            assert_eq!(client.call("own", ()).await.is_ok(), own, "{scopes}");
            assert_eq!(client.call("other", ()).await.is_ok(), other, "{scopes}");
        }
    });
    assert!(asked.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_module_rules_what_is_in_it_and_nothing_else() {
    let module = Module::new("admin")
        .visible(|_, viewer| viewer.has_scope("admin"))
        .tool(tool("purge"))
        .resource(Resource::new("b://log").text("log"))
        .module(Module::new("inner").visible(|_, viewer| viewer.has_scope("inner")).tool(tool("deep")));
    let app = server().module(module).build().unwrap();
    block_on(async {
        for (scopes, purge, deep) in [("admin inner", true, true), ("admin", true, false), ("inner", false, false)] {
            for revision in Revision::ALL {
                let mut client = Client::builder(&app).revision(revision).principal("ann").scopes(scopes).connect();
                assert_eq!(client.call("purge", ()).await.is_ok(), purge, "{scopes}");
                assert_eq!(client.read("b://log").await.is_ok(), purge, "{scopes}");
                assert_eq!(client.call("deep", ()).await.is_ok(), deep, "{scopes}");
                assert!(client.call("secret", ()).await.is_ok());
            }
        }
    });
}

#[test]
fn a_tool_that_only_its_page_calls_is_hidden_from_the_page_too_app_3() {
    let page = Resource::app("ui://p").text("<!doctype html><title>p</title>");
    let refresh = tool("refresh")
        .ui("ui://p")
        .visibility([Visibility::App])
        .visible(|_, viewer| viewer.principal() == Some("ann"));
    let app = Server::new("test", "1").resource(page).tool(refresh).build().unwrap();
    block_on(async {
        client(&app, Revision::MODERN, "ann").call("refresh", ()).await.assert_ok();
        client(&app, Revision::MODERN, "bob").call("refresh", ()).await.assert_fault(-32602);
    });
}

#[test]
fn a_rule_sees_what_an_entry_is() {
    let meta = json!({"com.example/a": 1});
    let erase = tool("erase")
        .title("Erase")
        .meta(meta.clone())
        .tag("team", "storage")
        .destructive(true)
        .scope("a b")
        .scope("c");
    let seen = Arc::new(OnceLock::new());
    let looked = Arc::clone(&seen);
    let rule = move |entry: &Shown, _: &Viewer| {
        if entry.name() == "erase" {
            let scopes: Vec<String> = entry.scopes().map(Into::into).collect();
            let title = entry.title().map(ToOwned::to_owned);
            let _ = looked.set((title, entry.meta(), entry.is_sensitive(), scopes));
            assert!(entry.tag("team") == "storage" && entry.tags().len() == 1 && *entry.tag("none") == Value::Null);
        }
        let kind = match entry.name().split_once("://") {
            Some((_, "{v}")) => EntryKind::ResourceTemplate,
            Some(_) => EntryKind::Resource,
            None if entry.name() == "erase" => EntryKind::Tool,
            // One of each is called so.
            None => entry.kind(),
        };
        entry.kind() == kind && (entry.name() == "erase" || !entry.is_sensitive())
    };
    let app = server().tool(erase).allow_unguarded(["erase"]).visible(rule).build().unwrap();
    block_on(async {
        let listed = listed(&mut Client::builder(&app).principal("ann").scopes("a b c").connect()).await;
        assert_eq!(listed.len(), ALL.len() + 1, "{listed:?}");
    });
    let scopes = ["a", "b", "c"].map(Into::into).into();
    assert_eq!(seen.get(), Some(&(Some("Erase".into()), Some(meta), true, scopes)));
}

#[test]
fn a_panicking_rule_hides_and_the_rest_goes_on() {
    let app =
        server().visible(|entry, _| if entry.tag("admin") == true { panic!("no idea") } else { true }).build().unwrap();
    block_on(async {
        for revision in Revision::ALL {
            let mut client = Client::builder(&app).revision(revision).connect();
            assert_eq!(listed(&mut client).await, ["open", "a://open", "open://{v}", "open"]);
            client.call("secret", ()).await.assert_fault(-32602);
            client.call("open", ()).await.assert_ok();
        }
    });
}

#[test]
fn a_rule_that_changes_the_server_hides_and_holds_nothing_up() {
    static APP: OnceLock<App> = OnceLock::new();
    static SAID: OnceLock<String> = OnceLock::new();
    let rule = |entry: &Shown, _: &Viewer| {
        let Some(app) = APP.get() else { return true };
        let changed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match entry.name() {
            "secret" => drop(app.add_tool(tool("another"))),
            "a://secret" => app.resource_updated("a://open"),
            _ => drop(app.edit(|_| ())),
        }));
        let panic = changed.expect_err("it cannot");
        let _ = SAID.set(panic.downcast_ref::<&str>().copied().unwrap_or_default().to_owned());
        if entry.tag("admin") == true { std::panic::resume_unwind(panic) } else { true }
    };
    let app = server().visible(rule).build().unwrap();
    block_on(async {
        let mut client = Client::builder(&app).revision(Revision::V2025_11_25).connect();
        client.subscribe("a://secret").await.assert_ok();
        APP.set(app.clone()).unwrap();
        assert_eq!(listed(&mut client).await, ["open", "a://open", "open://{v}", "open"]);
        client.call("secret", ()).await.assert_fault(-32602);
        assert!(SAID.get().unwrap().contains("a rule about who sees what cannot change the server"));
        // Elsewhere it can be changed, also from what a rule would have done it in.
        app.add_tool(tool("later")).unwrap();
        client.call("later", ()).await.assert_ok();
    });
    assert_eq!(app.tool_names(), ["open", "secret", "later"]);
}

#[test]
fn what_is_hidden_by_now_is_told_of_no_more_sub_9_res_7() {
    let demote = Tool::new("demote")
        .description("Makes nobody.")
        .run(|ctx: Ctx, user: Assigns<User>| ctx.assign(&User { admin: false, name: user.0.name }));
    let app = server().tool(demote).init(user).visible(is_admin).build().unwrap();
    let uris = ["a://secret", "secret://1", "a://open"];
    block_on(async {
        let mut session = client(&app, Revision::V2025_11_25, "ann");
        for uri in uris {
            session.subscribe(uri).await.assert_ok();
        }
        let (mut ann, mut bob) = (client(&app, Revision::MODERN, "ann"), client(&app, Revision::MODERN, "bob"));
        let (all, some) = (ann.listen(uris).await, bob.listen(uris).await);
        assert_eq!((all.uris().len(), some.uris()), (3, &["a://open".to_owned()][..]));
        session.call("demote", ()).await.assert_ok();
        uris.iter().for_each(|uri| app.resource_updated(uri));
        ann.call("open", ()).await.assert_ok();
        bob.call("open", ()).await.assert_ok();
        session.call("open", ()).await.assert_ok();
        let mut told = ann.take_updates();
        told.sort();
        assert_eq!(told, ["a://open", "a://secret", "secret://1"]);
        assert_eq!((bob.take_updates(), session.take_updates()), (vec!["a://open".into()], vec!["a://open".into()]));
    });
}

#[test]
fn a_rule_looks_for_other_assigns_or_where_there_are_none_in_vain() {
    let finds = |entry: &Shown, viewer: &Viewer| entry.tag("admin") != true || viewer.assigns::<String>().is_some();
    for server in [server().visible(finds), server().visible(finds).init(user)] {
        let app = server.build().unwrap();
        block_on(async {
            for revision in Revision::ALL {
                let mut ann = client(&app, revision, "ann");
                ann.call("secret", ()).await.assert_fault(-32602);
                ann.call("open", ()).await.assert_ok();
            }
        });
    }
}

#[test]
fn entries_that_come_later_are_ruled_too() {
    let app = server().init(user).visible(is_admin).build().unwrap();
    block_on(async {
        let mut bob = client(&app, Revision::V2025_11_25, "bob");
        app.edit(|edit| {
            edit.remove("secret");
            edit.add(tool("new").tag("admin", true));
            edit.add(tool("own").visible(|_, viewer| viewer.principal() == Some("ann")));
        })
        .unwrap();
        for name in ["new", "own"] {
            bob.call(name, ()).await.assert_fault(-32602);
            client(&app, Revision::MODERN, "ann").call(name, ()).await.assert_ok();
        }
        assert_eq!(bob.list_tools().await.len(), 1);
    });
}

#[test]
fn code_knows_who_asks_and_lists_that_differ_by_scope_are_private_auth_17_cache_4() {
    let who = tool("who").tag("admin", true).run(|caller: Caller| {
        let scopes: Vec<String> = caller.scopes.iter().map(str::to_owned).collect();
        format!("{} {}", caller.principal.map_or_else(String::new, |user| user.as_str().to_owned()), scopes.join(","))
    });
    let rule = |entry: &Shown, viewer: &Viewer| entry.tag("admin") != true || viewer.has_scope("admin");
    let app = Server::new("test", "1")
        .cache(mcp_server::CacheHint::new().public())
        .tool(tool("open"))
        .tool(who)
        .visible(rule)
        .build()
        .unwrap();
    block_on(async {
        for (scopes, names) in [("admin other", &["open", "who"][..]), ("other", &["open"])] {
            let of = || Client::builder(&app).revision(Revision::MODERN).principal("ann").scopes(scopes);
            let mut client = of().connect();
            let listed = client.request("tools/list", json!({})).await;
            listed.assert_at("/result/cacheScope", "private");
            let found: Vec<String> = client.list_tools().await.into_iter().map(|tool| tool.name).collect();
            assert_eq!(found, names, "{scopes}");
            let answer = client.call("who", json!({})).await;
            match names.contains(&"who") {
                true => answer.assert_text("ann admin,other"),
                false => answer.assert_fault(-32602),
            };
        }
    });
}
